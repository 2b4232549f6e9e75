// SPDX-License-Identifier: MIT
// What the fuzzers of file formats share: bytes as a file in memory, at any address, and what holds
// of every file that opens.
#pragma once

#include <string>
#include <vector>

#include <tenon/exchange/binary.h>
#include <tenon/interop/files/file_content.h>
#include <tenon/interop/files/named_tensor.h>

#include "naive.h"

namespace fuzz {

/// An error with a text that is not a mistake of tenon's own.
template <class R>
void check_error(const R& result) {
  FUZZ_CHECK(result.error() != tenon::Error::Internal && *result.message() != '\0');
}

/// A file's bytes, `shift` bytes behind an aligned address.
class MemoryFile {
 public:
  MemoryFile(const Bytes& bytes, size_t shift) : block_(shift + bytes.size()), shift_(shift) {
    std::copy(bytes.begin(), bytes.end(), block_.data() + shift);
  }
  const uint8_t* data() const { return block_.data() + shift_; }
  size_t size() const { return block_.size() - shift_; }
  /// Over the memory, without an owner.
  tenon::Blob blob() const { return tenon::Blob::of(data(), {static_cast<int64_t>(size())}); }
  /// Whether a tensor's elements lie in it.
  bool has(const tenon::Tensor& tensor) const {
    const NaiveType& type = *find_type(tensor.scalar_type());
    const NaiveShape shape = compute(
        tensor.sizes().vec(), Numbers(tensor.strides().begin(), tensor.strides().end()), type.size);
    FUZZ_CHECK(shape.valid);
    if (shape.numel == 0) return true;
    const auto* const first = static_cast<const uint8_t*>(tenon::const_data_ptr(tensor));
    if (first < data() || first > data() + size()) return false;
    const auto before = first - data();
    const auto behind = static_cast<int64_t>(size()) - before;
    FUZZ_CHECK(-shape.lowest * type.size <= before);
    FUZZ_CHECK((shape.highest + 1) * type.size <= behind);
    return true;
  }

 private:
  Block block_;
  size_t shift_;
};

/// What a reader's tensor is: read-only, aligned, and of bytes that can be read. `is_over` says
/// whether it is said to be over the file's bytes.
inline void check_tensor(const MemoryFile& file, const tenon::Tensor& tensor, bool is_over) {
  FUZZ_CHECK(tenon::is_readonly(tensor));
  const NaiveType* const type = find_type(tensor.scalar_type());
  FUZZ_CHECK(type != nullptr);
  const auto address = reinterpret_cast<uintptr_t>(tenon::const_data_ptr(tensor));
  FUZZ_CHECK(tensor.numel() == 0 || address % static_cast<size_t>(type->number) == 0);
  FUZZ_CHECK(tensor.numel() == 0 || file.has(tensor) == is_over);
  if (tensor.numel() <= 1 << 16) FUZZ_CHECK(tenon::to_binary(tensor).size() == tensor.nbytes());
}

/// Checks each tensor of an opened file, and returns those that are small.
template <class File>
std::vector<tenon::NamedTensor> check_tensors(const MemoryFile& bytes, const File& file) {
  std::vector<tenon::NamedTensor> small;
  for (size_t i = 0; i < file.size(); ++i) {
    const auto& info = file.infos()[i];
    const auto* const found = file.find(info.name);
    FUZZ_CHECK(found != nullptr && found->name == info.name);
    const tenon::Result<tenon::TensorPtr> tensor = file.get(i);
    const tenon::Result<tenon::TensorPtr> named = file.get(info.name);
    if (!named.ok()) check_error(named);
    if (!tensor.ok()) {
      check_error(tensor);
      continue;
    }
    check_tensor(bytes, **tensor, !info.is_copied);
    // Not of one whose name another has.
    if (named.ok() && (*tensor)->numel() <= 1 << 12) small.emplace_back(info.name, **tensor);
  }
  FUZZ_CHECK(file.get(file.size()).error() == tenon::Error::OutOfBounds);
  return small;
}

/// Checks that a file has these tensors.
template <class File>
void check_equal(const File& file, const std::vector<tenon::NamedTensor>& wanted) {
  FUZZ_CHECK(file.size() == wanted.size());
  for (const tenon::NamedTensor& one : wanted) {
    const tenon::TensorPtr read = file.get(one.name).value();
    FUZZ_CHECK(read->scalar_type() == one.tensor.scalar_type());
    FUZZ_CHECK(read->sizes() == one.tensor.sizes());
    FUZZ_CHECK(tenon::to_binary(read) == tenon::to_binary(one.tensor));
  }
}

inline void append_number(Bytes& out, uint64_t value, int count) {
  for (int i = 0; i < count; ++i) out.push_back(static_cast<uint8_t>(value >> (8 * i)));
}

/// Changes some bytes as hostile files have them.
inline void spoil(Input& in, Bytes& bytes) {
  constexpr uint64_t kEdges[] = {0, 1, 0xffffffff, 0x7fffffff, UINT64_MAX, INT64_MAX, 0x10000, 64};
  for (size_t n = in.choose(6); n > 0 && !bytes.empty(); --n) {
    const size_t at = in.take<uint32_t>() % bytes.size();
    const auto place = bytes.begin() + static_cast<ptrdiff_t>(at);
    switch (in.choose(6)) {
      case 0: bytes[at] = in.take<uint8_t>(); break;
      case 1: bytes[at] = static_cast<uint8_t>(bytes[at] ^ 1u << in.choose(8)); break;
      case 2: bytes.erase(place); break;
      case 3: bytes.insert(place, in.take<uint8_t>()); break;
      case 4: bytes.resize(at); break;
      default: {
        const uint64_t edge = kEdges[in.choose(std::size(kEdges))];
        const size_t width = size_t{1} << in.choose(4);
        for (size_t i = 0; i < width && at + i < bytes.size(); ++i) {
          bytes[at + i] = static_cast<uint8_t>(edge >> (8 * i));
        }
      }
    }
  }
}

}  // namespace fuzz
