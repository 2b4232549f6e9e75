// SPDX-License-Identifier: MIT
// Files of torch.save, and models in several of them.
#include <set>
#include <stdexcept>

#include "inspect.h"
#include "tenon/interop/files/safetensors_shards.h"
#include "tenon/interop/torch_file.h"

namespace inspect {

using namespace tenon;

namespace {

Json value_of(const TorchFile& file, const std::string& name) {
  const EValue value = file.value(name).value();
  if (value.isBool()) return value.toBool();
  if (value.isInt()) return value.toInt();
  if (value.isDouble()) return value.toDouble();
  if (value.isString()) return std::string(value.toString());
  Json items = Json::array();
  if (value.isIntList()) {
    for (const int64_t item : value.toIntList()) items.push_back(item);
    return items;
  }
  if (value.isDoubleList()) {
    for (const double item : value.toDoubleList()) items.push_back(item);
    return items;
  }
  if (value.isBoolList()) {
    for (const bool item : value.toBoolList()) items.push_back(item);
    return items;
  }
  if (value.isStringList()) {
    for (const std::string_view item : value.toStringList()) items.push_back(std::string(item));
    return items;
  }
  return value.isNone() ? "None" : toString(value.kind());
}

}  // namespace

void open_torch(File& out, const std::string& path) {
  const TorchFile file = TorchFile::open(path).value();
  for (const std::string& name : file.value_names()) {
    Json& value = out.about["metadata"][name];
    try {
      value = value_of(file, name);
    } catch (const std::exception& e) {
      value = reason(e);
    }
  }
  for (size_t i = 0; i < file.size(); ++i) {
    const TorchTensorInfo& info = file.infos()[i];
    const char* const note = info.is_copied ? "copied" : "";
    Entry entry{describe_array(info.name, info.type, info.dtype, info.sizes, note)};
    if (info.refused != nullptr) {
      const std::string refused = info.refused;
      entry.about["note"] = refused.substr(0, refused.find("; "));
    } else {
      entry.about["nbytes"] = info.nbytes;
      entry.about["strides"] = std::vector<int64_t>(info.strides.begin(), info.strides.end());
      entry.load = [file, i](const ProgressFunction&) { return *file.get(i).value(); };
    }
    entry.is_mapped = !info.is_copied;
    out.entries.push_back(entry);
  }
}

void open_torch_index(File& out, const std::string& path) {
  detail::FileBytes bytes;
  detail::SafeTensorsMap files;  // by the tensors' names
  Error error = bytes.open(path.c_str());
  if (error == Error::Ok) {
    const std::string_view text(reinterpret_cast<const char*>(bytes.data), bytes.size);
    error = detail::read_safetensors_index(text, files);
  }
  if (error != Error::Ok) throw std::runtime_error(path + ": " + last_error_message());
  const std::string folder = path.substr(0, path.rfind('/') + 1);  // npos + 1 is 0
  std::set<std::string> paths;
  for (const auto& [tensor, file] : files) paths.insert(folder + file);
  open_parts(out, {paths.begin(), paths.end()});
}

}  // namespace inspect
