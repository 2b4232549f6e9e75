// SPDX-License-Identifier: MIT
// ArrowBatch, ArrowStream, to_arrow_batch: convert between named tensors and Arrow's record batches
// and streams of record batches, which share the memory. Uses Arrow's C data interface; does not
// need Arrow's library.
#pragma once

#include <optional>

#include "tenon/interop/arrow.h"
#include "tenon/interop/files/name_index.h"
#include "tenon/interop/files/named_tensor.h"
#include "tenon/interop/libraries/arrow_columns.h"

TENON_BEGIN_NAMESPACE

class ArrowStream;

/// Reads a record batch of Arrow: its columns as tensors, by name or by index.
///
/// get() returns read-only tensors over the batch's memory. The tensors keep the batch, so this
/// object may be destroyed before them. Booleans are copied, since Arrow packs eight in a byte.
/// Columns have the types that from_arrow() reads. Columns of other types (texts, lists of varying
/// sizes, dictionaries, decimals) and columns with nulls are listed, but get() refuses them. The
/// fields of a struct are columns, named "point.x"; a struct in a struct is refused.
/// Ownership: copies of this object and its tensors share the batch. The last of them releases the
/// batch, once.
/// Threads: immutable; any number of threads may use it. The release callbacks run on the thread
/// that drops the last object or tensor.
class ArrowBatch {
 public:
  /// Makes a batch without rows and columns.
  ArrowBatch() noexcept = default;

  /// Takes over both structs, also after an error. `meaning`: how to read permutations of tensors.
  /// Checks the schema and the batch's length; get() checks the column that it reads.
  /// Errors: InvalidArgument (a null pointer; a malformed struct); InvalidState (a released struct,
  /// or a released child of the schema); NotSupported (an array that is not a record batch; rows
  /// that are null); OutOfMemory.
  /// Cost: O(columns).
  /// Source: arrow::ImportRecordBatch.
  static Result<ArrowBatch> open(
      ArrowArray* array, ArrowSchema* schema,
      ArrowPermutation meaning = ArrowPermutation::Unambiguous) noexcept {
    detail::ArrowHold<ArrowArray> values(array);
    detail::ArrowHold<ArrowSchema> type(schema);
    Columns shared;  // released after the error's text was copied
    ArrowBatch opened;
    Error error = Error::Ok;
    if (array == nullptr || schema == nullptr) {
      error = detail::fail(Error::InvalidArgument, "the ArrowArray or the ArrowSchema is null");
    } else if (values.value.release == nullptr || type.value.release == nullptr) {
      error = detail::fail(Error::InvalidState, "the ArrowArray or the ArrowSchema was released");
    } else {
      error = read_columns(type, meaning, shared);
      if (error == Error::Ok) error = opened.take(shared, values);
    }
    if (error == Error::Ok) return opened;
    return detail::add_context("ArrowBatch::open", error);
  }

  /// The number of rows of every column; 0 before open().
  int64_t rows() const noexcept { return array_ == nullptr ? 0 : array_->value.length; }
  /// The number of columns.
  size_t size() const noexcept { return infos().size(); }
  /// The descriptions of all columns; valid as long as this object.
  ArrayRef<ArrowColumnInfo> infos() const noexcept TENON_LIFETIMEBOUND {
    if (columns_ == nullptr) return {};
    return columns_->infos();
  }
  /// The description of the first column of that name; null if there is none.
  const ArrowColumnInfo* find(std::string_view name) const noexcept TENON_LIFETIMEBOUND {
    if (columns_ == nullptr) return nullptr;
    const auto found = columns_->names.find(name);
    return found.empty() ? nullptr : &columns_->infos()[found[0].second];
  }

  /// The column of that name. The tensor's first size is rows(); its other sizes are those of one
  /// row.
  /// Ownership: the tensor keeps the batch, and is read-only; a copy of Booleans can be written.
  /// Errors: NotFound; those of from_arrow(), with the column's name; InvalidArgument (also if
  /// several columns have the name).
  Result<TensorPtr> get(std::string_view name) const noexcept {
    size_t i = 0;
    const detail::NameIndex nothing;
    const Error error = (columns_ != nullptr ? columns_->names : nothing).find("column", name, i);
    if (error == Error::Ok) return make(i);
    return detail::add_context("ArrowBatch::get", error);
  }
  /// The column that infos()[i] describes.
  /// Errors: also OutOfBounds.
  Result<TensorPtr> get(size_t i) const noexcept {
    if (i < size()) return make(i);
    return detail::fail(Error::OutOfBounds, "ArrowBatch::get: column ", i, " of ", size());
  }

 private:
  friend class ArrowStream;
  struct NamedColumns : detail::ArrowColumns {
    using ArrowColumns::ArrowColumns;
    detail::NameIndex names;
  };
  using Columns = std::shared_ptr<const NamedColumns>;

  static Error read_columns(detail::ArrowHold<ArrowSchema>& schema, ArrowPermutation meaning,
                            Columns& out) noexcept {
    return detail::call_safely([&] {
      auto shared = std::make_shared<NamedColumns>(std::move(schema), meaning);
      out = shared;
      TENON_TRY(shared->read());
      for (const ArrowColumnInfo& info : shared->infos()) shared->names.add(info.name);
      shared->names.sort();
      return Error::Ok;
    });
  }
  /// Takes over an array that has these columns.
  Error take(const Columns& shared, detail::ArrowHold<ArrowArray>& array) noexcept {
    TENON_TRY(shared->check_batch(array.value));
    TENON_TRY(detail::call_safely([&] {
      array_ = std::make_shared<detail::ArrowHold<ArrowArray>>(std::move(array));
      return Error::Ok;
    }));
    columns_ = shared;
    return Error::Ok;
  }

  Result<TensorPtr> make(size_t i) const noexcept {
    detail::NewTensor new_tensor;
    detail::ArrowPlan plan;
    Error error = columns_->plan(i, array_->value, plan);
    if (error == Error::Ok) {
      const auto keep = [array = array_](void*) noexcept {};
      error = detail::make_from_arrow(plan, keep, new_tensor);
    }
    if (error != Error::Ok) {
      error = detail::fail(error, "column \"", detail::ShownText(columns_->infos()[i].name).text,
                           "\": ", last_error_message());
    }
    return detail::return_to_user<Result<TensorPtr>>("ArrowBatch::get", error, new_tensor);
  }

  Columns columns_;
  std::shared_ptr<const detail::ArrowHold<ArrowArray>> array_;
};

/// Reads a stream of record batches of one schema, such as Python's libraries export by
/// __arrow_c_stream__().
///
/// Ownership: the stream is released when it ends, when it fails, or with this object; batches that
/// were read stay valid.
/// Threads: one thread at a time. Batches that were read may be used on other threads.
class ArrowStream {
 public:
  /// Makes a stream that has ended.
  ArrowStream() noexcept = default;

  /// Takes over the stream, also after an error, and reads its schema, but no batch.
  /// Errors: those of ArrowBatch::open() about the schema; if the stream fails, those of next().
  /// Source: arrow::ImportRecordBatchReader.
  static Result<ArrowStream> open(
      ArrowArrayStream* stream, ArrowPermutation meaning = ArrowPermutation::Unambiguous) noexcept {
    Hold held(stream);
    ArrowStream opened;
    detail::ArrowHold<ArrowSchema> type(nullptr);
    Error error = Error::Ok;
    if (stream == nullptr) {
      error = detail::fail(Error::InvalidArgument, "the ArrowArrayStream is null");
    } else if (held.value.release == nullptr) {
      error = detail::fail(Error::InvalidState, "the ArrowArrayStream was released");
    } else if (held.value.get_schema == nullptr || held.value.get_next == nullptr) {
      error = detail::fail(Error::InvalidArgument, "the ArrowArrayStream lacks a function");
    } else {
      error = check_call("get_schema", held.value.get_schema(&held.value, &type.value), held.value);
      if (error != Error::Ok) type.value.release = nullptr;  // nothing to release
      if (error == Error::Ok && type.value.release == nullptr) {
        error = detail::fail(Error::InvalidArgument, "get_schema returned a released ArrowSchema");
      }
      if (error == Error::Ok) error = ArrowBatch::read_columns(type, meaning, opened.columns_);
      if (error == Error::Ok) {
        error = detail::call_safely([&] {
          opened.stream_ = std::make_unique<Hold>(std::move(held));
          return Error::Ok;
        });
      }
    }
    if (error == Error::Ok) return opened;
    return detail::add_context("ArrowStream::open", error);
  }

  /// The number of columns.
  size_t size() const noexcept { return infos().size(); }
  /// The schema's description of each batch's columns; valid as long as this object.
  ArrayRef<ArrowColumnInfo> infos() const noexcept TENON_LIFETIMEBOUND {
    if (columns_ == nullptr) return {};
    return columns_->infos();
  }

  /// Reads the next batch; std::nullopt once the stream has ended.
  /// Errors: if the stream fails, AccessFailed with the stream's text and errno (OutOfMemory for
  /// ENOMEM, NotSupported for ENOSYS); the stream is then released, and later calls return
  /// InvalidState. If a batch is invalid, the errors of ArrowBatch::open(); later calls read the
  /// next batches.
  Result<std::optional<ArrowBatch>> next() noexcept {
    if (has_failed_) {
      return detail::fail(Error::InvalidState,
                          "ArrowStream::next: the stream failed in an earlier call");
    }
    if (is_reading_) {
      return detail::fail(Error::InvalidState,
                          "ArrowStream::next: the stream's get_next called it again");
    }
    if (stream_ == nullptr) return std::optional<ArrowBatch>();
    std::unique_ptr<Hold> ended;
    detail::ArrowHold<ArrowArray> array(nullptr);
    is_reading_ = true;
    Error error = check_call("get_next", stream_->value.get_next(&stream_->value, &array.value),
                             stream_->value);
    is_reading_ = false;
    if (error != Error::Ok) {
      array.value.release = nullptr;  // nothing to release
      has_failed_ = true;
      ended = std::move(stream_);  // released after the error's text was copied
    } else if (array.value.release == nullptr) {
      ended = std::move(stream_);
      return std::optional<ArrowBatch>();
    } else {
      ArrowBatch batch;
      error = batch.take(columns_, array);
      if (error == Error::Ok) return std::optional<ArrowBatch>(std::move(batch));
    }
    return detail::add_context("ArrowStream::next", error);
  }

 private:
  using Hold = detail::ArrowHold<ArrowArrayStream>;

  /// Converts the result of a stream's function, an errno, to an Error.
  static Error check_call(const char* function, int code, ArrowArrayStream& stream) noexcept {
    if (code == 0) return Error::Ok;
    const char* text = stream.get_last_error == nullptr ? nullptr : stream.get_last_error(&stream);
    const Error error = code == ENOMEM   ? Error::OutOfMemory
                        : code == ENOSYS ? Error::NotSupported
                                         : Error::AccessFailed;
    const bool has_text = text != nullptr && *text != '\0';
    return detail::fail(error, "the stream's ", function, " returned ", code,
                        has_text ? ": " : ", without a text", has_text ? text : "");
  }

  ArrowBatch::Columns columns_;
  std::unique_ptr<Hold> stream_;
  bool has_failed_ = false;
  bool is_reading_ = false;
};

namespace detail {

inline Error make_arrow_batch(const std::vector<NamedTensor>& tensors, ArrowForm form,
                              ArrowPermutation meaning, ArrowArray* array, ArrowSchema* schema) {
  if (array == nullptr || schema == nullptr) {
    return fail(Error::InvalidArgument, "the ArrowArray or the ArrowSchema is null");
  }
  TENON_TRY(check_names(tensors));
  ArrowHold<ArrowSchema> type(nullptr);
  ArrowHold<ArrowArray> values(nullptr);
  ArrowSchema* types = nullptr;
  ArrowArray* arrays = nullptr;
  char* more = nullptr;
  TENON_TRY(make_arrow_struct(tensors.size(), 0, type.value, types, more));
  TENON_TRY(make_arrow_struct(tensors.size(), sizeof(void*), values.value, arrays, more));
  for (size_t i = 0; i < tensors.size(); ++i) {
    const NamedTensor& from = tensors[i];
    Error error = Error::Ok;
    if (from.name.find('\0') != std::string::npos) {
      error =
          fail(Error::InvalidArgument, "the name has a zero character, which ends Arrow's names");
    } else {
      error = make_arrow(from.tensor, form, meaning, arrays + i, types + i, from.name);
    }
    if (error == Error::Ok && arrays[i].length != arrays[0].length) {
      error = fail(Error::InvalidArgument, "it has ", arrays[i].length, " rows, but tensor \"",
                   ShownText(tensors[0].name).text, "\" has ", arrays[0].length);
    }
    if (error == Error::Ok) continue;
    return fail(error, "tensor \"", ShownText(from.name).text, "\": ", last_error_message());
  }
  type.value.format = "+s";
  type.value.name = "";
  auto* const buffers = static_cast<const void**>(static_cast<void*>(more));
  buffers[0] = nullptr;  // no nulls
  values.value.n_buffers = 1;
  values.value.buffers = buffers;
  values.value.length = tensors.empty() ? 0 : arrays[0].length;
  *schema = std::exchange(type.value, ArrowSchema{});
  *array = std::exchange(values.value, ArrowArray{});
  return Error::Ok;
}

}  // namespace detail

/// Exports tensors to the two structs as a record batch: each tensor becomes a column, as in
/// to_arrow(). The first sizes of all tensors must be equal; they are the number of rows. Without
/// tensors there are no rows.
///
/// Ownership: as for to_arrow(). Columns may be moved out.
/// Errors: those of to_arrow(), with the tensor's name; InvalidArgument (also first sizes that
/// differ; a name that occurs twice, is not UTF-8, or has a zero character).
/// Threads: the release callbacks may run on any thread.
/// Cost: two allocations, and those of to_arrow() for each tensor.
/// Source: arrow::ExportRecordBatch.
[[nodiscard]] inline Error try_to_arrow_batch(
    const std::vector<NamedTensor>& tensors, ArrowArray* array, ArrowSchema* schema,
    ArrowForm form = ArrowForm::Tensors,
    ArrowPermutation meaning = ArrowPermutation::Unambiguous) noexcept {
  return detail::add_context_if("try_to_arrow_batch", detail::call_safely([&] {
                                  return detail::make_arrow_batch(tensors, form, meaning, array,
                                                                  schema);
                                }));
}
inline void to_arrow_batch(const std::vector<NamedTensor>& tensors, ArrowArray* array,
                           ArrowSchema* schema, ArrowForm form = ArrowForm::Tensors,
                           ArrowPermutation meaning = ArrowPermutation::Unambiguous) {
  detail::raise_if("to_arrow_batch", detail::call_safely([&] {
                     return detail::make_arrow_batch(tensors, form, meaning, array, schema);
                   }));
}

TENON_END_NAMESPACE
