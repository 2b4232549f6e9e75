// SPDX-License-Identifier: MIT
// NamedTensor, of which files of several tensors are made, and a tensor's elements in the order in
// which files have them.
#pragma once

#include <string>

#include "tenon/tensor/cat.h"
#include "tenon/tensor/location.h"

TENON_BEGIN_NAMESPACE

/// A tensor and its name in a file: {"weight", w}.
/// Ownership: another handle to the tensor, so that its memory stays.
/// Threads: as a plain value.
struct NamedTensor {
  NamedTensor(std::string name_in_file, const detail::ListedTensor& t)
      : name(std::move(name_in_file)), tensor(t.tensor) {}
  std::string name;
  Tensor tensor;  ///< undefined for a null TensorPtr
};

namespace detail {

/// A tensor's elements in row-major order in the host's memory: its own, or those of `copy`.
struct HostBytes {
  const void* data = nullptr;
  size_t nbytes = 0;
  Draft copy;
};

/// Copies the elements at `there`, which may be in a backend's memory.
inline Error copy_to_host(const TensorFields& from, const MemoryLocation& there,
                          HostBytes& out) noexcept {
  TENON_TRY(make_row_major(there.view.sizes, Plan(from.type, from.dynamism), false, out.copy));
  MemoryLocation here;
  TENON_TRY(locate_new(fields(out.copy), here));
  TENON_TRY(copy(here, there));
  out.data = here.view.data;
  out.nbytes = fields(out.copy).nbytes();
  return Error::Ok;
}

/// With `copies` always those of a copy.
/// Errors: InvalidState (undefined; deallocated; a placeholder); NotSupported (memory that no
/// backend reads); OutOfMemory.
inline Error find_host_bytes(const TensorArg& tensor, HostBytes& out,
                             bool copies = false) noexcept {
  TENON_TRY(check_defined(tensor, "the tensor"));
  const TensorFields& from = fields(tensor);
  MemoryLocation there;
  TENON_TRY(find_location(from, "the tensor", there));
  MemoryHold hold;
  TENON_TRY(hold_while_asking(tensor, false, hold));
  if (copies || there.backend != nullptr || !from.layout.is_contiguous()) {
    return copy_to_host(from, there, out);
  }
  out.data = from.data;
  out.nbytes = from.nbytes();
  return Error::Ok;
}

}  // namespace detail
TENON_END_NAMESPACE
