// SPDX-License-Identifier: MIT
// Reads the index of a model whose tensors are in several safetensors files: {"metadata":
// {"total_size": 8}, "weight_map": {"a": "model-00001-of-00002.safetensors"}}.
// Source: huggingface/transformers, which writes the index.
#pragma once

#include <map>
#include <string>

#include "tenon/interop/files/file.h"
#include "tenon/interop/files/safetensors_header.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// From a tensor's name to the name of its file.
using SafeTensorsMap = std::map<std::string, std::string, std::less<>>;

/// Handles the events of an index. Keys other than weight_map may have any value.
class SafeTensorsIndexReader final : public JsonReader {
 public:
  explicit SafeTensorsIndexReader(SafeTensorsMap& files) noexcept : JsonReader(0), files_(files) {}

  bool has_map() const noexcept { return has_map_; }

  bool start_object(size_t) override {
    if (in_map_ && depth_ >= 2) return refuse("expected a file's name, found an object");
    return deeper();
  }
  bool start_array(size_t) override {
    if (depth_ == 0 || in_map_) return refuse("found an array");
    return deeper();
  }
  bool key(std::string& text) override {
    if (depth_ == 1) {
      in_map_ = text == "weight_map";
      return !in_map_ || !std::exchange(has_map_, true) || refuse("it is there twice");
    }
    if (!in_map_) return true;
    const auto [entry, is_new] = files_.emplace(std::move(text), "");
    entry_ = entry;
    return is_new || refuse("the tensor is there twice");
  }
  bool string(std::string& text) override {
    if (!in_map_) return depth_ != 0 || refuse("found a text");
    if (depth_ != 2) return refuse("found a text", text);
    // The files must be in the index's folder.
    constexpr std::string_view kNotInNames("/\\:\0", 4);
    if (text.empty() || text[0] == '.' || text.find_first_of(kNotInNames) != text.npos) {
      return refuse("expected the name of a file beside the index, found", text);
    }
    entry_->second = std::move(text);
    return true;
  }
  bool end_object() override {
    if (--depth_ == 1) in_map_ = false;
    return true;
  }
  bool end_array() override {
    --depth_;
    return true;
  }
  bool null() override { return skip("found null"); }
  bool boolean(bool) override { return skip("found a boolean"); }
  bool number_integer(int64_t) override { return skip("found a number"); }
  bool number_unsigned(uint64_t) override { return skip("found a number"); }
  bool number_float(double, const std::string&) override { return skip("found a number"); }

 private:
  static constexpr int kMostDeep = 64;

  bool deeper() { return ++depth_ <= kMostDeep || refuse("it is nested more than 64 deep"); }
  bool skip(const char* found) { return (!in_map_ && depth_ != 0) || refuse(found); }
  void describe(Message& where) const noexcept override {
    if (!in_map_) return append(where, "the index");
    append(where, "weight_map");
    if (depth_ < 2 || files_.empty()) return;
    append(where, ", tensor \"");
    append(where, ShownText(entry_->first).text);
    append(where, "\"");
  }

  SafeTensorsMap& files_;
  SafeTensorsMap::iterator entry_;
  int depth_ = 0;
  bool in_map_ = false;
  bool has_map_ = false;
};

/// Reads an index.
/// Errors: InvalidArgument; OutOfMemory.
inline Error read_safetensors_index(std::string_view text, SafeTensorsMap& files) {
  if (text.empty() || text[0] != '{') {
    TENON_TRY(fail_for_kind(text.data(), text.size(), "an index of safetensors files"));
  }
  SafeTensorsIndexReader reader(files);
  TENON_TRY(reader.read(text));
  if (reader.has_map()) return Error::Ok;
  return fail(Error::InvalidArgument, "the index has no weight_map");
}

}  // namespace detail
TENON_END_NAMESPACE
