// SPDX-License-Identifier: MIT
// Files and folders: which format a file has, and which of its entries are shown in which order.
#include <fnmatch.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <stdexcept>

#include "inspect.h"
#include "tenon/interop/files/file.h"

namespace inspect {

using namespace tenon;

namespace {

namespace fs = std::filesystem;

constexpr struct {
  const char* ending;
  void (*open)(File& out, const std::string& path);
} kFormats[] = {
    {".npy", &open_npy},
    {".npz", &open_npz},
    {".safetensors", &open_safetensors},
    {".safetensors.index.json", &open_safetensors},
    {".pt", &open_torch},
    {".pth", &open_torch},
    {".bin", &open_torch},
    {".ckpt", &open_torch},
    {".bin.index.json", &open_torch_index},
    {".gguf", &open_gguf},
    {".onnx", &open_onnx},
#if TENON_INSPECT_EXECUTORCH
    {".pte", &open_pte},
#endif
};

bool ends_with(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.npos, end) == 0;
}

bool is_supported(const std::string& path) {
  return std::any_of(std::begin(kFormats), std::end(kFormats),
                     [&](const auto& format) { return ends_with(path, format.ending); });
}

/// Whether a name ends with "-00001-of-00003" before its ending.
bool is_part(const std::string& path, bool but_the_first = false) {
  constexpr char kPattern[] = "*-[0-9][0-9][0-9][0-9][0-9]-of-[0-9][0-9][0-9][0-9][0-9].*";
  return fnmatch(kPattern, path.c_str(), 0) == 0 &&
         (!but_the_first || fnmatch("*-00001-of-*", path.c_str(), 0) != 0);
}

File open_one(const std::string& path) {
  for (const auto& format : kFormats) {
    if (!ends_with(path, format.ending)) continue;
    File file{{{"file", path}, {"format", format.ending}}, {}, {}};
    format.open(file, path);
    return file;
  }
  detail::FileBytes bytes;
  std::string kind;
  if (bytes.open(path.c_str()) == Error::Ok) {
    const detail::FileKind found = detail::file_kind(bytes.data, bytes.size);
    const std::string hint = found.hint;
    const bool is_for_programs = hint.find(".h ") != hint.npos;
    if (found.name != nullptr) kind = found.name + (is_for_programs ? "" : hint) + "; ";
  }
  throw std::runtime_error(
      path + ": " + kind +
      "not among the formats that this program was built for: " + supported_formats());
}

/// The files of a folder, as one. Parts of a model are opened by its index, or the first of them.
File open_folder(const std::string& path) {
  std::vector<std::string> paths;
  for (const fs::directory_entry& entry : fs::directory_iterator(path)) {
    const std::string name = entry.path().string();
    std::error_code error;
    if (is_supported(name) && entry.is_regular_file(error)) paths.push_back(name);
  }
  if (paths.empty()) {
    throw std::runtime_error(path +
                             ": a folder without files of these formats: " + supported_formats());
  }
  std::sort(paths.begin(), paths.end());
  const auto has_index = [&](const char* ending) {
    return std::any_of(paths.begin(), paths.end(),
                       [&](const auto& name) { return ends_with(name, ending); });
  };
  const bool has[] = {has_index(".safetensors.index.json"), has_index(".bin.index.json")};
  const auto is_of_another = [&](const std::string& name) {
    return (has[0] && ends_with(name, ".safetensors") && is_part(name)) ||
           (has[1] && ends_with(name, ".bin") && is_part(name)) ||
           (ends_with(name, ".gguf") && is_part(name, true));
  };
  paths.erase(std::remove_if(paths.begin(), paths.end(), is_of_another), paths.end());
  File file{{{"file", path}, {"format", "folder"}}, {}, {}};
  open_parts(file, paths);
  return file;
}

/// As people count: "layers.2" is before "layers.10".
bool is_before(const std::string& a, const std::string& b) {
  const auto is_digit = [](char c) { return '0' <= c && c <= '9'; };
  for (size_t i = 0, k = 0; i < a.size() && k < b.size(); ++i, ++k) {
    if (is_digit(a[i]) && is_digit(b[k])) {
      const auto number_at = [&](const std::string& text, size_t& at) {
        const size_t begin = std::min(text.find_first_not_of('0', at), text.size());
        size_t end = begin;
        while (end < text.size() && is_digit(text[end])) ++end;
        at = std::max(at, end - 1);
        return text.substr(begin, end - begin);
      };
      const std::string x = number_at(a, i);
      const std::string y = number_at(b, k);
      if (x != y) return x.size() != y.size() ? x.size() < y.size() : x < y;
    } else if (a[i] != b[k]) {
      return static_cast<unsigned char>(a[i]) < static_cast<unsigned char>(b[k]);
    }
  }
  return a.size() < b.size();
}

uint64_t numel_of(const Json& about) {
  uint64_t numel = 1;
  for (const Json& size : about.value("shape", Json(0))) {
    numel *= size.is_number() ? size.get<uint64_t>() : 0;
  }
  return about.contains("shape") ? numel : 0;
}

}  // namespace

Json describe_array(const std::string& name, ScalarType type, const std::string& in_file,
                    ArrayRef<int64_t> sizes, const char* note) {
  const bool is_known = type != ScalarType::Undefined;
  Json about = {{"name", name},
                {"role", "array"},
                {"dtype", is_known ? toString(type) : in_file},
                {"in file", in_file},
                {"shape", std::vector<int64_t>(sizes.begin(), sizes.end())}};
  if (is_known) about["nbytes"] = numel_of(about) * elementSize(type);
  if (*note != '\0') about["note"] = note;
  return about;
}

void open_parts(File& out, const std::vector<std::string>& paths) {
  std::map<std::string, int> uses;
  std::vector<std::string> origins;  // of the entries
  Json metadata = Json::object();
  for (const std::string& path : paths) {
    const std::string name = fs::path(path).filename().string();
    try {
      File part = open_one(path);
      for (Entry& entry : part.entries) {
        if (entry.name().empty()) entry.about["name"] = fs::path(path).stem().string();
        if (!entry.about.contains("file")) entry.about["file"] = name;
        origins.push_back(name);
        ++uses[entry.name()];
        out.entries.push_back(std::move(entry));
      }
      if (!part.about.contains("metadata")) continue;
      for (const auto& [key, value] : part.about["metadata"].items()) {
        if (!metadata.contains(key)) metadata[key] = value;
      }
    } catch (const std::exception& e) {
      out.troubles.push_back(reason(e));
    }
  }
  if (!metadata.empty()) out.about["metadata"] = metadata;
  for (size_t i = 0; i < origins.size(); ++i) {
    Json& name = out.entries[i].about["name"];
    const auto plain = name.get<std::string>();
    if (uses[plain] > 1) name = origins[i] + ":" + plain;
  }
}

std::string supported_formats() {
  std::string out;
  for (const auto& format : kFormats) out += (out.empty() ? "" : ", ") + std::string(format.ending);
  return out;
}

File open_file(const std::string& path) {
  std::error_code error;
  return fs::is_directory(path, error) ? open_folder(path) : open_one(path);
}

void choose(File& file, const std::vector<std::string>& patterns) {
  std::vector<Entry> chosen;
  std::vector<bool> is_chosen(file.entries.size());
  for (const std::string& pattern : patterns) {
    bool is_found = false;
    for (size_t i = 0; i < file.entries.size(); ++i) {
      const std::string name = file.entries[i].name();
      if (name != pattern && fnmatch(pattern.c_str(), name.c_str(), 0) != 0) continue;
      is_found = true;
      if (!is_chosen[i]) chosen.push_back(file.entries[i]);
      is_chosen[i] = true;
    }
    if (!is_found) {
      throw std::runtime_error(file.about["file"].get<std::string>() + ": nothing is named \"" +
                               pattern + "\"");
    }
  }
  if (!patterns.empty()) file.entries = std::move(chosen);
}

void sort(File& file, const std::string& by) {
  const auto is_less = [&](const Entry& a, const Entry& b) {
    if (by == "name") return is_before(a.name(), b.name());
    if (by == "dtype") {
      return a.about.value("dtype", std::string()) < b.about.value("dtype", std::string());
    }
    return a.about.value("nbytes", uint64_t{0}) > b.about.value("nbytes", uint64_t{0});
  };
  std::stable_sort(file.entries.begin(), file.entries.end(), is_less);
}

Json totals(const std::vector<Entry>& entries) {
  const Json none = {{"arrays", 0}, {"elements", 0}, {"nbytes", 0}};
  Json out = none;
  out["dtypes"] = Json::object();
  for (const Entry& entry : entries) {
    const Json dtype = entry.about.value("dtype", Json());
    if (!entry.is_array() || !dtype.is_string()) continue;
    Json& of_dtype = out["dtypes"][dtype.get<std::string>()];
    if (of_dtype.is_null()) of_dtype = none;
    for (Json* const sum : {&out, &of_dtype}) {
      const auto add = [&](const char* key, uint64_t count) {
        (*sum)[key] = (*sum)[key].get<uint64_t>() + count;
      };
      add("arrays", 1);
      add("elements", numel_of(entry.about));
      add("nbytes", entry.about.value("nbytes", uint64_t{0}));
    }
  }
  return out;
}

}  // namespace inspect
