// SPDX-License-Identifier: MIT
// NamedTensor: an argument of functions that write several tensors to a file. HostBytes: a tensor's
// elements in the order of the file.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/interop/files/file.h"
#include "tenon/tensor/cat.h"
#include "tenon/tensor/location.h"

TENON_BEGIN_NAMESPACE

/// A tensor and its name in a file: {"weight", w}.
/// Ownership: holds a handle to the tensor, which keeps the tensor's memory alive.
/// Threads: as a plain value.
struct NamedTensor {
  /// Shares the tensor's memory. The tensor is a `Tensor` or a `TensorPtr`.
  NamedTensor(std::string name_in_file, const detail::ListedTensor& t)
      : name(std::move(name_in_file)), tensor(t.tensor) {}
  std::string name;  ///< in the file
  Tensor tensor;     ///< undefined for a null TensorPtr
};

namespace detail {

/// Whether a text is UTF-8, which the formats require for names.
inline bool is_utf8(std::string_view text) noexcept {
  for (size_t i = 0; i < text.size();) {
    const auto first = static_cast<unsigned char>(text[i++]);
    const int more = first < 0x80 ? 0 : first >= 0xf0 ? 3 : first >= 0xe0 ? 2 : 1;
    if ((first >= 0x80 && first < 0xc2) || first > 0xf4) return false;
    uint32_t code = first & (0x7fu >> (more == 0 ? 0 : more + 1));
    for (int k = 0; k < more; ++k, ++i) {
      if (i == text.size() || (text[i] & 0xc0) != 0x80) return false;
      code = code << 6 | (static_cast<unsigned char>(text[i]) & 0x3f);
    }
    constexpr uint32_t kLeast[] = {0, 0x80, 0x800, 0x10000};
    if (code < kLeast[more] || (code >= 0xd800 && code < 0xe000) || code > 0x10ffff) return false;
  }
  return true;
}

/// Checks that the names are UTF-8, and that no name occurs twice.
inline Error check_names(const std::vector<NamedTensor>& tensors) {
  std::vector<std::string_view> names;
  for (const NamedTensor& tensor : tensors) {
    if (!is_utf8(tensor.name)) {
      return fail(Error::InvalidArgument, "the name \"", ShownText(tensor.name).text,
                  "\" is not UTF-8");
    }
    names.emplace_back(tensor.name);
  }
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  if (twice == names.end()) return Error::Ok;
  return fail(Error::InvalidArgument, "two tensors are named \"", ShownText(*twice).text, "\"");
}

/// A tensor's elements in row-major order in host memory: the tensor's own memory, or `copy`'s.
struct HostBytes {
  MemoryHold hold;  // else on_progress could resize the tensor, or a backend's code drop it
  const void* data = nullptr;
  size_t nbytes = 0;
  NewTensor copy;
};

/// Copies elements to the host; they may be in a backend's memory.
inline Error copy_to_host(const TensorFields& from, const MemoryLocation& there,
                          HostBytes& out) noexcept {
  TENON_TRY(make_owned_row_major(there.view.sizes, CreateOptions(from.type, from.dynamism), false,
                                 out.copy));
  const MemoryLocation here = locate_new(fields(out.copy));
  TENON_TRY(copy(here, there));
  out.data = here.view.data;
  out.nbytes = fields(out.copy).nbytes();
  return Error::Ok;
}

/// Finds a tensor's elements: in place if they are row-major in host memory, else in a copy. With
/// `copies`, always makes a copy.
/// Errors: InvalidState (undefined; deallocated; a placeholder); NotSupported (memory that no
/// backend can read); OutOfMemory.
inline Error find_host_bytes(const TensorArg& tensor, HostBytes& out,
                             bool copies = false) noexcept {
  TENON_TRY(check_defined(tensor, "the tensor"));
  const TensorFields& from = fields(tensor);
  MemoryLocation there;
  TENON_TRY(find_location(from, "the tensor", there));
  TENON_TRY(out.hold.hold(tensor));
  if (copies || there.backend != nullptr || !from.layout.is_contiguous()) {
    return copy_to_host(from, there, out);
  }
  out.data = from.data;
  out.nbytes = from.nbytes();
  return Error::Ok;
}

}  // namespace detail
TENON_END_NAMESPACE
