// SPDX-License-Identifier: MIT
// A library for pyarrow_test.py, which calls it through ctypes with the addresses of structs.
#include <cstdio>

#include "tenon/exchange/assign.h"
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
__attribute__((visibility("default"))) const char* take(ArrowArray* array, ArrowSchema* schema,
                                                        int meaning) {
  Result<TensorPtr> made = try_from_arrow(array, schema, static_cast<ArrowPermutation>(meaning));
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
                                                        int lists, int meaning) {
  const ArrowForm form = lists != 0 ? ArrowForm::Lists : ArrowForm::Tensors;
  const Error error =
      try_to_arrow(kept, array, schema, form, static_cast<ArrowPermutation>(meaning));
  return error == Error::Ok ? "" : say(last_error_message());
}

__attribute__((visibility("default"))) void drop() { kept.reset(); }

/// Keeps 0, 1, 2, ... of a type by its number, in memory of these sizes, permuted.
__attribute__((visibility("default"))) void make(int type, int rank, const int64_t* sizes,
                                                 const int64_t* permutation) {
  const Dims memory(sizes, sizes + rank);
  int64_t numel = 1;
  for (const int64_t size : memory) numel *= size;
  const TensorPtr numbers = arange(numel, static_cast<ScalarType>(type));
  kept = make_tensor_ptr(permute(reshape(numbers, memory), Dims(permutation, permutation + rank)));
}
/// The kept tensor's elements of Int, in row-major order.
__attribute__((visibility("default"))) void read(int32_t* out) {
  check(copy_to(kept, out, kept->nbytes()));
}

}  // extern "C"
