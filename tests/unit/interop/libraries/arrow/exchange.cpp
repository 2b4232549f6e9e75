// SPDX-License-Identifier: MIT
// A library for pyarrow_test.py, which calls it through ctypes with the addresses of structs.
#include <cstdio>

#include "tenon/exchange/assign.h"
#include "tenon/interop/arrow_batch.h"
#include "tenon/tensor/format.h"
#include "tenon/tensor/sequence.h"
#include "tenon/tensor/tensor_ptr.h"
#include "tenon/tensor/view.h"

using namespace tenon;

namespace {

TensorPtr kept;
std::vector<ArrowBatch> batches;
std::vector<NamedTensor> columns;
char text[1000];
std::string table;

const char* say(const char* message) {
  std::snprintf(text, sizeof text, "%s", message);
  return text;
}

/// A line for each column.
const char* describe(ArrayRef<ArrowColumnInfo> infos) {
  table.clear();
  for (const ArrowColumnInfo& info : infos) {
    table += info.name + '\t' + info.arrow_type + '\t' + toString(info.type) + '\n';
  }
  return table.c_str();
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

/// Keeps the batches of a stream, or up to `limit` of them. Returns its columns, or "error: " and
/// the text, beside the batches before it.
__attribute__((visibility("default"))) const char* take_stream(ArrowArrayStream* from, int limit) {
  batches.clear();
  Result<ArrowStream> stream = ArrowStream::open(from);
  if (!stream.ok()) return say((std::string("error: ") + stream.message()).c_str());
  for (int i = 0; i < limit; ++i) {
    Result<std::optional<ArrowBatch>> next = stream->next();
    if (!next.ok()) return say((std::string("error: ") + next.message()).c_str());
    if (!next->has_value()) break;
    batches.push_back(**std::move(next));
  }
  return describe(stream->infos());
}
/// Keeps one batch.
__attribute__((visibility("default"))) const char* take_batch(ArrowArray* array,
                                                              ArrowSchema* schema) {
  batches.clear();
  Result<ArrowBatch> batch = ArrowBatch::open(array, schema);
  if (!batch.ok()) return say((std::string("error: ") + batch.message()).c_str());
  batches.push_back(*std::move(batch));
  return describe(batches[0].infos());
}
__attribute__((visibility("default"))) int count_batches() {
  return static_cast<int>(batches.size());
}
/// Keeps a column as the tensor. Returns "" or the error's text.
__attribute__((visibility("default"))) const char* take_column(int batch, const char* name) {
  Result<TensorPtr> made = batches[static_cast<size_t>(batch)].get(name);
  if (!made.ok()) return say(made.message());
  kept = std::move(*made);
  return "";
}
/// Adds the kept tensor to those of give_batch().
__attribute__((visibility("default"))) void add_column(const char* name) {
  columns.emplace_back(name, kept);
}
__attribute__((visibility("default"))) const char* give_batch(ArrowArray* array,
                                                              ArrowSchema* schema, int lists) {
  const Error error = try_to_arrow_batch(columns, array, schema,
                                         lists != 0 ? ArrowForm::Lists : ArrowForm::Tensors);
  return error == Error::Ok ? "" : say(last_error_message());
}

__attribute__((visibility("default"))) void drop() {
  kept.reset();
  batches.clear();
  columns.clear();
}

/// Keeps 0, 1, 2, ... of a type by its number, in memory of these sizes, permuted.
__attribute__((visibility("default"))) void make(int type, int rank, const int64_t* sizes,
                                                 const int64_t* permutation) {
  const Dims memory(sizes, sizes + rank);
  int64_t numel = 1;
  for (const int64_t size : memory) numel *= size;
  const TensorPtr numbers = arange(numel, static_cast<ScalarType>(type));
  kept = make_tensor_ptr(permute(reshape(numbers, memory), Dims(permutation, permutation + rank)));
}
/// The kept tensor's elements, in row-major order.
__attribute__((visibility("default"))) void copy_out(void* out) {
  check(copy_to(kept, out, kept->nbytes()));
}

}  // extern "C"
