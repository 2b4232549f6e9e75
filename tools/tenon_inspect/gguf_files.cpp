// SPDX-License-Identifier: MIT
// .gguf files, and models in several of them.
#include "inspect.h"
#include "tenon/interop/gguf.h"

namespace inspect {

using namespace tenon;

namespace {

Json metadata_value(const Gguf& file, const GgufEntry& entry) {
  // A tokenizer has some 100,000 texts.
  if (entry.is_array && entry.count > 16) {
    return std::to_string(entry.count) + " of " + entry.dtype;
  }
  if (entry.type == ScalarType::Undefined) {
    Json texts = Json::array();
    const std::vector<std::string_view> found = file.get_texts(entry.key).value();
    for (const std::string_view item : found) texts.push_back(item);
    return entry.is_array ? texts : texts.at(0);
  }
  const EValue value = file.get_metadata(entry.key).value();
  if (value.isTensor()) return first_values(value.toTensor(), value.toTensor().numel());
  if (value.isBool()) return value.toBool();
  return value.isInt() ? Json(value.toInt()) : Json(value.toDouble());
}

}  // namespace

void open_gguf(File& out, const std::string& path) {
  const Gguf file = Gguf::open(path).value();
  for (const GgufEntry& entry : file.metadata()) {
    Json& value = out.about["metadata"][entry.key];
    try {
      value = metadata_value(file, entry);
    } catch (const std::exception& e) {
      value = reason(e);
    }
  }
  for (size_t i = 0; i < file.size(); ++i) {
    const GgufInfo& info = file.infos()[i];
    const char* const note = info.is_copied ? "copied" : "";
    Entry entry{describe_array(info.name, info.type, info.dtype, info.sizes, note)};
    entry.about["nbytes"] = info.nbytes;
    entry.is_mapped = !info.is_copied;
    if (info.type != ScalarType::Undefined) {
      entry.load = [file, i](const ProgressFunction&) { return *file.get(i).value(); };
    } else if (info.block_size != 0) {
      entry.load_bytes = [file, i] { return *file.get(i).value(); };
    }
    out.entries.push_back(entry);
  }
}

}  // namespace inspect
