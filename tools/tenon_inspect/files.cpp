// SPDX-License-Identifier: MIT
#include <algorithm>
#include <stdexcept>

#include "inspect.h"
#include "tenon/interop/files/file.h"
#include "tenon/interop/npy.h"
#include "tenon/interop/npz.h"
#include "tenon/interop/safetensors.h"
#include "tenon/module/module.h"
#if TENON_INSPECT_EXECUTORCH
#include <executorch/runtime/platform/platform.h>

#include "tenon/interop/executorch.h"
#endif
#if TENON_INSPECT_ONNXRUNTIME
#include "tenon/interop/onnxruntime.h"
#endif

namespace inspect {

using namespace tenon;

namespace {

Json list(ArrayRef<int64_t> sizes) { return std::vector<int64_t>(sizes.begin(), sizes.end()); }

Json describe_array(const std::string& name, const std::string& dtype, Json shape,
                    const char* note) {
  Json about = {{"name", name}, {"role", "array"}, {"dtype", dtype}, {"shape", std::move(shape)}};
  if (*note != '\0') about["note"] = note;
  return about;
}

/// `dtype` is NumPy's.
Json describe_npy(const std::string& name, const std::string& dtype, ScalarType type,
                  ArrayRef<int64_t> sizes, const char* note) {
  const bool is_known = type != ScalarType::Undefined;
  Json about = describe_array(name, is_known ? toString(type) : dtype, list(sizes), note);
  if (dtype.empty()) {  // a file in the archive that is not an array
    about.erase("dtype");
    about.erase("shape");
  }
  const char other_order = detail::host_is_big_endian() ? '<' : '>';
  if (is_known && dtype[0] == other_order && elementSize(type) > 1) about["in file"] = dtype;
  return about;
}

void open_npy(File& out, const std::string& path) {
  const NpyInfo info = npy_info(path).value();
  const char* const note = info.is_copied ? "copied" : "";
  Entry entry{describe_npy("", info.dtype, info.type, info.sizes, note)};
  entry.is_mapped = !info.is_copied;
  if (info.type != ScalarType::Undefined) {
    entry.load = [path](const ProgressFunction&) { return *read_npy(path, NpyMemory::Map); };
  } else if (info.nbytes != 0) {
    entry.load_bytes = [path] { return *read_npy(path, ScalarType::Byte, NpyMemory::Map); };
  }
  out.entries.push_back(entry);
}

void open_npz(File& out, const std::string& path) {
  const NpzFile file = NpzFile::open(path).value();
  for (size_t i = 0; i < file.size(); ++i) {
    const NpzInfo& info = file.infos()[i];
    const char* const note = info.is_deflated ? "deflated" : info.is_copied ? "copied" : "";
    Entry entry{describe_npy(info.name, info.dtype, info.type, info.sizes, note)};
    entry.is_mapped = !info.is_copied;
    if (info.type != ScalarType::Undefined || info.dtype.empty()) {  // get() says what is wrong
      entry.load = [file, i](const ProgressFunction& on_progress) {
        return *file.get(i, NpyMemory::Map, on_progress).value();
      };
    } else {
      entry.load_bytes = [file, i] {
        return *file.get(i, ScalarType::Byte, NpyMemory::Map).value();
      };
    }
    out.entries.push_back(entry);
  }
}

void open_safetensors(File& out, const std::string& path) {
  const SafeTensors file = SafeTensors::open(path).value();
  if (const auto texts = file.metadata(); !texts.empty()) out.about["metadata"] = texts;
  for (const SafeTensorInfo& info : file.infos()) {
    const bool is_known = info.type != ScalarType::Undefined;
    const char* const dtype = is_known ? toString(info.type) : info.dtype;
    const char* const note = info.is_copied ? "copied" : "";
    Entry entry{describe_array(info.name, dtype, list(info.sizes), note)};
    entry.is_mapped = !info.is_copied;
    if (is_known) {
      entry.load = [file, name = info.name](const ProgressFunction&) {
        return *file.get(name).value();
      };
    }
    out.entries.push_back(entry);
  }
}

[[maybe_unused]] void add_ports(File& out, const std::string& method, const char* role,
                                ArrayRef<ValueSpec> specs) {
  for (size_t i = 0; i < specs.size(); ++i) {
    const TensorSpec& spec = specs[i].tensor;
    const bool is_tensor = specs[i].kind == ValueKind::Tensor;
    Json shape = is_tensor && !specs[i].is_described ? "?" : Json::array();
    for (size_t d = 0; d < spec.sizes.size() && shape.is_array(); ++d) {
      const bool has_limit = !spec.max_sizes.empty() && spec.max_sizes[d] >= 0;
      shape.push_back(spec.sizes[d] >= 0       ? Json(spec.sizes[d])
                      : *spec.names[d] != '\0' ? Json(spec.names[d])
                      : has_limit              ? Json("<=" + std::to_string(spec.max_sizes[d]))
                                               : Json("?"));
    }
    const char* const given = specs[i].name();
    Json about = describe_array(method + "." + (*given != '\0' ? given : std::to_string(i)),
                                is_tensor ? toString(spec.type) : toString(specs[i].kind),
                                is_tensor ? shape : Json(),
                                !is_tensor             ? "not a tensor"
                                : specs[i].is_optional ? "optional"
                                                       : "");
    about["role"] = role;
    out.entries.push_back({about});
  }
}

template <class ModelModule>
void open_model(File& out, const std::string& path) {
  ModelModule module(path);
  const std::vector<std::string> methods = module.method_names().value();
  for (const std::string& method : methods) {
    const MethodMeta meta = module.method_meta(method).value();
    add_ports(out, method, "input", meta.inputs);
    add_ports(out, method, "output", meta.outputs);
  }
}

#if TENON_INSPECT_EXECUTORCH
void open_pte(File& out, const std::string& path) {
  // Its log says which inputs are not tensors, as the table does.
  executorch::runtime::register_pal(
      executorch::runtime::PalImpl::create([](et_timestamp_t, et_pal_log_level_t, const char*,
                                              const char*, size_t, const char*, size_t) {},
                                           __FILE__));
  open_model<ExecuTorchModule>(out, path);
}
#endif

constexpr struct {
  const char* ending;
  void (*open)(File& out, const std::string& path);
} kFormats[] = {
    {".npy", &open_npy},
    {".npz", &open_npz},
    {".safetensors", &open_safetensors},
    {".safetensors.index.json", &open_safetensors},
#if TENON_INSPECT_EXECUTORCH
    {".pte", &open_pte},
#endif
#if TENON_INSPECT_ONNXRUNTIME
    {".onnx", &open_model<OnnxModule>},
#endif
};

}  // namespace

std::string supported_formats() {
  std::string out;
  for (const auto& format : kFormats) out += (out.empty() ? "" : ", ") + std::string(format.ending);
  return out;
}

File open_file(const std::string& path, const std::vector<std::string>& names) {
  for (const auto& format : kFormats) {
    const std::string ending = format.ending;
    if (path.size() < ending.size() || path.substr(path.size() - ending.size()) != ending) continue;
    File file{{{"file", path}, {"format", ending}}, {}};
    format.open(file, path);
    std::vector<Entry> chosen;
    for (const std::string& name : names) {
      const auto at = std::find_if(file.entries.begin(), file.entries.end(),
                                   [&](const Entry& entry) { return entry.name() == name; });
      if (at == file.entries.end()) {
        throw std::runtime_error(path + ": nothing is named \"" + name + "\"");
      }
      chosen.push_back(*at);
    }
    if (!names.empty()) file.entries = chosen;
    return file;
  }
  detail::FileBytes bytes;
  std::string kind;
  if (bytes.open(path.c_str()) == Error::Ok) {
    const detail::FileKind found = detail::file_kind(bytes.data, bytes.size);
    if (found.name != nullptr) kind = found.name + std::string(found.hint) + "; ";
  }
  throw std::runtime_error(
      path + ": " + kind +
      "not among the formats that this program was built for: " + supported_formats());
}

}  // namespace inspect
