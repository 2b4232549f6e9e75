// SPDX-License-Identifier: MIT
// What the tests of GGUF files share: their bytes, piece by piece.
#pragma once

#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <string>
#include <vector>

namespace tests {

/// A number as the format has it.
template <class T>
std::string little(T number) {
  std::string bytes(sizeof number, '\0');
  std::memcpy(bytes.data(), &number, sizeof number);  // of a little-endian machine
  return bytes;
}
inline std::string gguf_text(const std::string& text) {
  return little(uint64_t{text.size()}) + text;
}

/// The types of metadata.
struct Kind {
  enum : uint32_t {
    Uint8,
    Int8,
    Uint16,
    Int16,
    Uint32,
    Int32,
    Float32,
    Bool,
    String,
    Array,
    Uint64,
    Int64,
    Float64
  };
};

/// A key, a type and a value, as it is.
inline std::string gguf_key(const std::string& key, uint32_t type, const std::string& value) {
  return gguf_text(key) + little(type) + value;
}
inline std::string gguf_array(uint32_t type, uint64_t count, const std::string& elements) {
  return little(type) + little(count) + elements;
}
/// A tensor's entry, `sizes` with the fastest first.
inline std::string gguf_tensor(const std::string& name, const std::vector<uint64_t>& sizes,
                               uint32_t type, uint64_t offset) {
  std::string bytes = gguf_text(name) + little(static_cast<uint32_t>(sizes.size()));
  for (const uint64_t size : sizes) bytes += little(size);
  return bytes + little(type) + little(offset);
}

/// A file of these keys, tensors and `data` bytes of 0, 1, 2, ...
struct GgufContent {
  std::vector<std::string> keys;
  std::vector<std::string> tensors;
  size_t data = 0;
  size_t alignment = 32;
  uint32_t version = 3;

  std::string bytes() const {
    std::string file =
        "GGUF" + little(version) + little(uint64_t{tensors.size()}) + little(uint64_t{keys.size()});
    for (const std::string& key : keys) file += key;
    for (const std::string& tensor : tensors) file += tensor;
    file.resize((file.size() + alignment - 1) / alignment * alignment);
    for (size_t i = 0; i < data; ++i) file += static_cast<char>(i);
    return file;
  }
};

}  // namespace tests
