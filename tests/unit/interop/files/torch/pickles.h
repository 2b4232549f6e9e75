// SPDX-License-Identifier: MIT
// Files of torch.save made by hand: pickles, of which hostile ones, in archives.
#pragma once

#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "tenon/kernels/byte_order.h"
#include "tenon/tenon.h"

namespace tests {

inline std::string number(uint64_t value, int count) {
  std::string out;
  for (int i = 0; i < count; ++i) out += static_cast<char>(i < 8 ? value >> (8 * i) : 0);
  return out;
}

// Parts of a pickle.
inline std::string text(const std::string& of) { return "X" + number(of.size(), 4) + of; }
inline std::string integer(int64_t of) { return "\x8a\x08" + number(static_cast<uint64_t>(of), 8); }
inline std::string global(const std::string& module, const std::string& name) {
  return "c" + module + "\n" + name + "\n";
}
inline std::string join(std::initializer_list<std::string> parts) {
  std::string out;
  for (const std::string& part : parts) out += part;
  return out;
}
inline std::string tuple(std::initializer_list<std::string> parts) {
  return "(" + join(parts) + "t";
}
inline std::string list(std::initializer_list<std::string> parts) {
  return "](" + join(parts) + "e";
}
/// Keys and values in turn.
inline std::string dict(std::initializer_list<std::string> parts) {
  return "}(" + join(parts) + "u";
}
inline std::string integers(std::initializer_list<int64_t> of) {
  std::string out;
  for (const int64_t i : of) out += integer(i);
  return "(" + out + "t";
}
inline std::string storage(const std::string& key, int64_t numel, const std::string& kind,
                           const std::string& module = "torch", const std::string& device = "cpu") {
  return tuple({text("storage"), global(module, kind), text(key), text(device), integer(numel)}) +
         "Q";
}
inline std::string tensor(const std::string& of_storage, int64_t offset,
                          std::initializer_list<int64_t> sizes,
                          std::initializer_list<int64_t> strides) {
  return global("torch._utils", "_rebuild_tensor_v2") +
         tuple({of_storage, integer(offset), integers(sizes), integers(strides), "\x89",
                global("collections", "OrderedDict") + ")R"}) +
         "R";
}
/// A row of floats: all of the storage "0" of 24 bytes.
inline std::string floats() { return tensor(storage("0", 6, "FloatStorage"), 0, {6}, {1}); }
/// The same, of a dtype that has no class of storage.
inline std::string bytes_as(const std::string& dtype, std::initializer_list<int64_t> sizes,
                            std::initializer_list<int64_t> strides) {
  return global("torch._utils", "_rebuild_tensor_v3") +
         tuple({storage("0", 24, "UntypedStorage", "torch.storage"), integer(0), integers(sizes),
                integers(strides), "\x89", global("collections", "OrderedDict") + ")R",
                global("torch", dtype)}) +
         "R";
}
inline std::string pickle(const std::string& of) { return "\x80\x02" + of + "."; }

/// A zip archive of stored files, each at a multiple of 64 bytes, as PyTorch's.
inline std::string archive(const std::vector<std::pair<std::string, std::string>>& files) {
  std::string out;
  std::string directory;
  for (const auto& [name, bytes] : files) {
    const std::string sizes =
        number(0, 4) + number(bytes.size(), 4) + number(bytes.size(), 4) + number(name.size(), 2);
    directory += std::string("PK\1\2\x14\0", 6) + number(20, 2) + number(0, 8) + sizes +
                 number(0, 12) + number(out.size(), 4) + name;
    const size_t padding = (64 - (out.size() + 30 + name.size()) % 64) % 64;
    out += std::string("PK\3\4", 4) + number(20, 2) + number(0, 8) + sizes + number(padding, 2) +
           name + std::string(padding, '\0') + bytes;
  }
  const size_t begin = out.size();
  out += directory + std::string("PK\5\6", 4) + number(0, 4) + number(files.size(), 2) +
         number(files.size(), 2) + number(directory.size(), 4) + number(begin, 4) + number(0, 2);
  return out;
}
/// A file of torch.save with this object, and a storage "0" of 24 bytes: the floats 1 to 6.
inline std::string file(const std::string& object) {
  std::string bytes;
  for (const float value : {1.f, 2.f, 3.f, 4.f, 5.f, 6.f}) {
    bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  return archive({{"a/data.pkl", pickle(object)},
                  {"a/byteorder", tenon::detail::host_is_big_endian() ? "big" : "little"},
                  {"a/data/0", bytes}});
}

/// The bytes, at an address that fits every number.
inline tenon::TensorPtr memory(const std::string& bytes) {
  tenon::TensorPtr made =
      tenon::empty({static_cast<int64_t>(bytes.size())}, tenon::ScalarType::Byte);
  if (!bytes.empty()) std::memcpy(made->mutable_data_ptr(), bytes.data(), bytes.size());
  return made;
}

}  // namespace tests
