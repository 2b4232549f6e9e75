// SPDX-License-Identifier: MIT
// make_file_tensor: makes tensors over the bytes of an open file.
#pragma once

#include <memory>

#include "tenon/interop/files/file.h"
#include "tenon/kernels/byte_order.h"
#include "tenon/tensor/make.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// Makes a read-only tensor over bytes of a file; the tensor keeps `file` alive. With `is_copied`,
/// the tensor holds a copy of the bytes, with `is_swapped` in the opposite byte order. Row-major
/// unless strides are given.
inline Error make_file_tensor(const std::shared_ptr<const void>& file, const unsigned char* bytes,
                              size_t nbytes, ScalarType type, const Dims& sizes,
                              const Dims& strides, bool is_copied, bool is_swapped,
                              NewTensor& tensor) noexcept {
  CreateOptions opts(type);
  if (!is_copied) {
    Deleter release(nullptr, [file](void*) noexcept {});
    const DataPtr data(const_cast<unsigned char*>(bytes), kHasReadOnly);
    return borrow_checked(data, sizes, {}, strides, opts, &release, tensor);
  }
  Layout layout;
  TENON_TRY(make_layout(sizes, {}, strides, elementSize(type), layout));
  TENON_TRY(make_owned(layout, opts, false, tensor));
  TensorFields& made = fields(tensor);
  if (nbytes != 0) std::memcpy(made.data, bytes, nbytes);
  if (is_swapped) swap_byte_order(made.data, nbytes, number_size(type));
  made.readonly = kHasReadOnly;
  return Error::Ok;
}

/// Puts a kind and a name before an error's message: tensor "a": ….
inline Error add_name(Error error, const char* what, std::string_view name) noexcept {
  if (error == Error::Ok) return error;
  return fail(error, what, " \"", ShownText(name).text, "\": ", last_error_message());
}

}  // namespace detail
TENON_END_NAMESPACE
