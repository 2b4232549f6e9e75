// SPDX-License-Identifier: MIT
// The header of a tensor in shared memory, and a check of a header that another process may have
// written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "tenon/tensor/make.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// The position of the elements in bytes: a page boundary.
inline constexpr size_t kShmOffset = 4096;

/// The start of shared memory, in this host's byte order.
struct ShmHeader {
  char magic[8] = {'T', 'E', 'N', 'O', 'N', 'S', 'H', 'M'};
  uint32_t version = 1;
  int32_t type = 0;  // a ScalarType
  uint64_t rank = 0;
  uint64_t offset = kShmOffset;
  int64_t sizes[kMaxDims] = {};
  int64_t strides[kMaxDims] = {};  // in elements
};
static_assert(sizeof(ShmHeader) == 32 + 16 * kMaxDims && sizeof(ShmHeader) <= kShmOffset);

/// The contents of a header that was checked.
struct ShmLayout {
  ScalarType type;
  Layout layout;
  size_t length;  // of the mapping, in bytes

  /// Fails unless the strides are positive and no two elements overlap, as in a tensor that owns
  /// its memory.
  Error set(ScalarType new_type, const Dims& sizes, const Dims& strides) noexcept {
    type = new_type;
    TENON_TRY(check_type(type));
    CreateOptions plan(type);
    TENON_TRY(lay_out_new(sizes, {nullptr, &strides}, type, layout));
    TENON_TRY(count_elements(layout, plan));
    length = kShmOffset + plan.nbytes();
    return Error::Ok;
  }
};

/// Checks the header of shared memory that has `total` bytes.
inline Error parse_shm_header(const ShmHeader& header, uint64_t total, ShmLayout& shm) noexcept {
  const ShmHeader expected;
  if (std::memcmp(header.magic, expected.magic, sizeof header.magic) != 0) {
    return fail(Error::InvalidArgument, "it does not begin with the header of a tensor");
  }
  if (header.version != expected.version) {
    return fail(Error::NotSupported, "format version ", header.version, "; expected 1");
  }
  const auto type = static_cast<ScalarType>(header.type);
  if (static_cast<int32_t>(type) != header.type || header.rank > kMaxDims ||
      header.offset != kShmOffset) {
    return fail(Error::InvalidArgument, "the header is invalid: dtype number ", header.type, ", ",
                header.rank, " dimensions, elements from byte ", header.offset);
  }
  const auto rank = static_cast<size_t>(header.rank);
  TENON_TRY(shm.set(type, ArrayRef<int64_t>(header.sizes, rank),
                    ArrayRef<int64_t>(header.strides, rank)));
  if (total < shm.length) {
    return fail(Error::InvalidArgument, "sizes ", shm.layout.sizes(), " of ", type, " need ",
                shm.length, " bytes, but the memory has ", total);
  }
  return Error::Ok;
}

}  // namespace detail
TENON_END_NAMESPACE
