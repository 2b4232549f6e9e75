// SPDX-License-Identifier: MIT
// A library for pyarrow_test.py, which calls it through ctypes with the addresses of structs.
#include <cstdio>

#include "tenon/interop/arrow.h"
#include "tenon/tensor/format.h"
#include "tenon/tensor/sequence.h"
#include "tenon/tensor/tensor_ptr.h"
#include "tenon/tensor/view.h"

using namespace tenon;

namespace {

TensorPtr kept;
char text[1000];

const char* say(const char* message) {
  std::snprintf(text, sizeof text, "%s", message);
  return text;
}

}  // namespace

extern "C" {

/// Keeps an array as a tensor. Returns its sizes, strides and dtype, or the error's text.
__attribute__((visibility("default"))) const char* take(ArrowArray* array, ArrowSchema* schema) {
  Result<TensorPtr> made = try_from_arrow(array, schema);
  if (!made.ok()) return say(made.message());
  kept = std::move(*made);
  detail::Message out(text, sizeof text);
  append(out, ArrayRef<int64_t>(kept->sizes()));
  out.put(' ');
  append(out, ArrayRef<int64_t>(kept->strides()));
  out.put(' ');
  append(out, detail::own_type(kept->scalar_type()));
  return text;
}

/// Writes the kept tensor to the structs, as lists or as tensors. Returns "" or the error's text.
__attribute__((visibility("default"))) const char* give(ArrowArray* array, ArrowSchema* schema,
                                                        int lists) {
  const ArrowForm form = lists != 0 ? ArrowForm::Lists : ArrowForm::Tensors;
  return try_to_arrow(kept, array, schema, form) == Error::Ok ? "" : say(last_error_message());
}

__attribute__((visibility("default"))) void drop() { kept.reset(); }

/// Keeps 0, 1, 2, ... of a type by its number, in sizes {2, 3, 4}, of which the last two are turned
/// if that is asked.
__attribute__((visibility("default"))) void make(int type, int turned) {
  const TensorPtr numbers = arange(24, static_cast<ScalarType>(type));
  const Tensor shaped = reshape(numbers, {2, 3, 4});
  kept = make_tensor_ptr(turned != 0 ? transpose(shaped, 1, 2) : shaped);
}

}  // extern "C"
