// SPDX-License-Identifier: MIT
// Built by interop/libraries/arrow/CMakeLists.txt.
#include "tenon/interop/arrow_batch.h"

#include <cerrno>
#include <deque>
#include <thread>

#include "allocation/counting_malloc.h"
#include "support/catch.h"
#include "tenon/tensor/creators.h"
#include "tenon/tensor/sequence.h"
#include "tenon/tensor/tensor_ptr.h"
#include "tenon/tensor/view.h"
#include "tensor/helpers.h"

namespace arrow_batch_test {

using namespace tenon;
using namespace tests;

namespace {

int releases[3];  // of schemas, arrays, streams

template <class T>
void count_release(T* self) {
  ++releases[std::is_same_v<T, ArrowArray> ? 1 : 0];
  for (int64_t i = 0; i < self->n_children; ++i) {
    T* const child = self->children[i];
    if (child != nullptr && child->release != nullptr) child->release(child);
  }
  self->release = nullptr;
}
template <class T>
void release_child(T* self) {
  self->release = nullptr;
}

/// A record batch as a producer makes it. A column with columns is a struct.
struct Column {
  const char* name;
  const char* format;
  const void* values;
  int64_t offset = 0;
  const void* valid = nullptr;
  std::vector<Column> fields = {};
};
struct Batch {
  ArrowSchema schema{};
  ArrowArray array{};
  std::deque<ArrowSchema> schemas;
  std::deque<ArrowArray> arrays;
  std::deque<std::vector<ArrowSchema*>> schema_lists;
  std::deque<std::vector<ArrowArray*>> array_lists;
  std::deque<std::vector<const void*>> buffers;

  Batch(int64_t rows, const std::vector<Column>& columns) {
    releases[0] = releases[1] = releases[2] = 0;
    fill(schema, array, rows, {"", "+s", nullptr, 0, nullptr, columns});
    schema.release = &count_release<ArrowSchema>;
    array.release = &count_release<ArrowArray>;
  }
  Batch(const Batch&) = delete;

  void fill(ArrowSchema& type, ArrowArray& values, int64_t rows, const Column& column) {
    type.name = column.name;
    type.format = column.format;
    type.release = &release_child<ArrowSchema>;
    values.release = &release_child<ArrowArray>;
    values.length = rows;
    values.offset = column.offset;
    values.null_count = column.valid == nullptr ? 0 : -1;
    const bool is_struct = std::string(column.format) == "+s";
    buffers.push_back({column.valid});
    if (!is_struct) buffers.back().push_back(column.values);
    values.buffers = buffers.back().data();
    values.n_buffers = is_struct ? 1 : 2;
    schema_lists.emplace_back();
    array_lists.emplace_back();
    std::vector<ArrowSchema*>& types = schema_lists.back();
    std::vector<ArrowArray*>& children = array_lists.back();
    for (const Column& field : column.fields) {
      types.push_back(&schemas.emplace_back());
      children.push_back(&arrays.emplace_back());
      fill(*types.back(), *children.back(), rows + column.offset, field);
    }
    type.n_children = values.n_children = static_cast<int64_t>(types.size());
    type.children = types.data();
    values.children = children.data();
  }

  Result<ArrowBatch> open() { return ArrowBatch::open(&array, &schema); }
};

const int32_t kInts[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};

/// A stream of batches as a producer makes it.
struct Producer {
  ArrowArrayStream stream{};
  Batch first{0, columns()};  // the schema
  std::deque<Batch> batches;
  size_t at = 0;
  int schema_code = 0;
  size_t fails_at = SIZE_MAX;
  int code = EIO;
  const char* text = "disk on fire";
  ArrowStream* calls_again = nullptr;  // in get_next

  explicit Producer(size_t count) {
    for (size_t i = 0; i < count; ++i) batches.emplace_back(4, columns());
    stream.private_data = this;
    stream.get_schema = [](ArrowArrayStream* self, ArrowSchema* out) {
      auto& p = *static_cast<Producer*>(self->private_data);
      if (p.schema_code != 0) return p.schema_code;
      *out = p.first.schema;
      return 0;
    };
    stream.get_next = [](ArrowArrayStream* self, ArrowArray* out) {
      auto& p = *static_cast<Producer*>(self->private_data);
      if (p.calls_again != nullptr) {
        FAILS(InvalidState, "the stream's get_next called it again", p.calls_again->next());
      }
      if (p.at == p.fails_at) {
        out->release = reinterpret_cast<void (*)(ArrowArray*)>(1);  // not to be called
        return p.code;
      }
      *out = p.at < p.batches.size() ? p.batches[p.at].array : ArrowArray{};
      ++p.at;
      return 0;
    };
    stream.get_last_error = [](ArrowArrayStream* self) {
      return static_cast<Producer*>(self->private_data)->text;
    };
    stream.release = [](ArrowArrayStream* self) {
      ++releases[2];
      self->release = nullptr;
    };
    releases[0] = releases[1] = releases[2] = 0;
  }
  Producer(const Producer&) = delete;
  static std::vector<Column> columns() { return {{"a", "i", kInts}, {"word", "u", kInts}}; }
};

}  // namespace

TEST_CASE("ArrowStream: get_next may not ask for the next batch itself") {
  Producer producer(1);
  ArrowStream stream = ArrowStream::open(&producer.stream).value();
  producer.calls_again = &stream;
  CHECK(stream.next().value().has_value());
  producer.fails_at = 1;
  FAILS(AccessFailed, "disk on fire", stream.next());
  CHECK(releases[2] == 1);
}

TEST_CASE("ArrowBatch: columns by name and number, over the batch's memory") {
  Batch made(4, {{"id", "i", kInts}, {"when", "tsn:UTC", kInts, 2}, {"word", "u", kInts}});
  ArrowBatch batch = made.open().value();
  CHECK(made.array.release == nullptr);
  CHECK(made.schema.release == nullptr);
  CHECK(batch.rows() == 4);
  CHECK(batch.size() == 3);
  CHECK(batch.infos()[1].name == "when");
  CHECK(batch.infos()[1].arrow_type == "timestamp[ns, tz=UTC]");
  CHECK(batch.infos()[1].type == tenon::ScalarType::Long);
  CHECK(batch.infos()[2].arrow_type == "string");
  CHECK(batch.infos()[2].type == tenon::ScalarType::Undefined);
  CHECK(batch.find("id") == &batch.infos()[0]);
  CHECK(batch.find("i") == nullptr);
  TensorPtr id = batch.get("id").value();
  CHECK(id->const_data_ptr() == kInts);
  CHECK(id->is_readonly());
  CHECK(ownership(*id) == Ownership::Adopted);
  CHECK(sizes(id) == Vector{4});
  CHECK(batch.get(1).value()->const_data_ptr() == kInts + 4);
  FAILS(NotSupported,
        "ArrowBatch::get: column \"word\": Arrow's format \"u\", string, is not supported",
        batch.get("word"));
  FAILS(NotFound, "ArrowBatch::get: there is no column \"x\" among the 3", batch.get("x"));
  FAILS(OutOfBounds, "ArrowBatch::get: column 3 of 3", batch.get(3));
  batch = ArrowBatch();
  CHECK(releases[0] == 1);
  CHECK(releases[1] == 0);  // the tensor has all of it
  id.reset();
  CHECK(releases[1] == 1);
}

// A promise of docs/guarantees.md.
TEST_CASE("ArrowBatch: a batch is released once, by its last user, tensor or batch") {
  for (const bool tensor_is_last : {false, true}) {
    Batch made(4, {{"a", "i", kInts}, {"b", "b", kInts}});
    {
      std::optional<ArrowBatch> batch(made.open().value());
      std::optional<ArrowBatch> other(*batch);
      TensorPtr a = batch->get("a").value();
      const TensorPtr copied = batch->get("b").value();  // does not keep it
      batch.reset();
      if (tensor_is_last) {
        other.reset();
      } else {
        a.reset();
      }
      CHECK(releases[1] == 0);
      other.reset();
      a.reset();
      CHECK(releases[1] == 1);
      CHECK(copied->scalar_type() == ScalarType::Bool);
    }
    CHECK(releases[0] == 1);
    CHECK(releases[1] == 1);
  }
}

TEST_CASE("ArrowBatch: offsets of the batch, of structs and of columns add up") {
  const uint8_t bits[] = {0b10100000, 0b1};
  Batch made(2, {{"a", "i", kInts, 3},
                 {"point", "+s", nullptr, 4, nullptr, {{"x", "i", kInts, 1}, {"y", "b", bits}}}});
  made.array.offset = 1;
  for (ArrowArray& child : made.arrays) child.length += 1;
  const ArrowBatch batch = made.open().value();
  CHECK(batch.size() == 3);
  CHECK(tests::values<int32_t>(batch.get("a").value()) == Ints{4, 5});
  CHECK(tests::values<int32_t>(batch.get("point.x").value()) == Ints{6, 7});
  const TensorPtr y = batch.get("point.y").value();
  CHECK(const_data_ptr<bool>(*y)[0]);
  CHECK_FALSE(const_data_ptr<bool>(*y)[1]);
}

TEST_CASE("ArrowBatch: a struct in a struct is listed and refused, by name") {
  const Column inner{"in", "+s", nullptr, 0, nullptr, {{"x", "i", kInts}}};
  Batch made(2, {{"out", "+s", nullptr, 0, nullptr, {inner, {"y", "i", kInts}}}});
  const ArrowBatch batch = made.open().value();
  CHECK(batch.infos()[0].name == "out.in");
  CHECK(batch.infos()[0].arrow_type == "struct");
  FAILS(NotSupported, "column \"out.in\": Arrow's format \"+s\", struct", batch.get(0));
  CHECK(batch.get("out.y").value()->numel() == 2);
}

// A promise of docs/guarantees.md.
TEST_CASE("ArrowBatch: nulls are refused by column, with their count; others can be had") {
  const uint8_t valid[] = {0b11111010};
  Batch made(4, {{"full", "i", kInts},
                 {"holes", "i", kInts, 0, valid},
                 {"behind", "i", kInts, 3, valid},
                 {"s", "+s", nullptr, 0, valid, {{"x", "i", kInts}}}});
  const ArrowBatch batch = made.open().value();
  CHECK(batch.get("full").ok());
  CHECK(batch.get("behind").ok());
  FAILS(NotSupported, "ArrowBatch::get: column \"holes\": 2 of the array's 4 values are null",
        batch.get("holes"));
  FAILS(NotSupported, "column \"s.x\": 2 of the array's 4 values are null", batch.get("s.x"));
  Batch rows(4, {{"a", "i", kInts}});
  rows.buffers[0][0] = valid;
  rows.array.null_count = 2;
  FAILS(NotSupported, "ArrowBatch::open: 2 of the array's 4 values are null", rows.open());
  CHECK(releases[1] == 1);
}

TEST_CASE("ArrowBatch: columns of one name are had by number") {
  Batch made(2, {{"a", "i", kInts}, {"b", "i", kInts}, {"a", "i", kInts + 2}});
  const ArrowBatch batch = made.open().value();
  CHECK(batch.find("a") == &batch.infos()[0]);
  FAILS(InvalidArgument, "columns 0 and 2 are both named \"a\"; ask by index", batch.get("a"));
  CHECK(batch.get(2).value()->const_data_ptr() == kInts + 2);
  Batch nameless(2, {{nullptr, "i", kInts}});
  CHECK(nameless.open().value().get("").ok());
}

TEST_CASE("ArrowBatch: without rows, without columns, with 10,000 columns") {
  Batch no_rows(0, {{"a", "i", nullptr}});
  CHECK(sizes(no_rows.open().value().get("a").value()) == Vector{0});
  Batch no_columns(3, {});
  CHECK(no_columns.open().value().size() == 0);
  CHECK(ArrowBatch().size() == 0);
  CHECK(ArrowBatch().rows() == 0);
  FAILS(NotFound, "among the 0", ArrowBatch().get("a"));
  std::vector<NamedTensor> tensors;
  const TensorPtr numbers = arange(20'000, ScalarType::Int);
  for (int64_t i = 0; i < 10'000; ++i) {
    tensors.emplace_back("column " + std::to_string(i), slice(numbers, 0, 2 * i, 2 * i + 2));
  }
  ArrowArray array;
  ArrowSchema schema;
  to_arrow_batch(tensors, &array, &schema);
  const ArrowBatch batch = ArrowBatch::open(&array, &schema).value();
  REQUIRE(batch.size() == 10'000);
  bool same = true;
  for (const NamedTensor& from : tensors) {
    same = same && batch.get(from.name).value()->const_data_ptr() == from.tensor.const_data_ptr();
  }
  CHECK(same);
}

TEST_CASE("ArrowBatch: malformed structs") {
  const auto change = [](auto f, Error error, const char* words) {
    Batch made(2, {{"a", "i", kInts}, {"b", "i", kInts}});
    f(made);
    CAPTURE(words);
    const Result<ArrowBatch> opened = made.open();
    CHECK(opened.error() == error);
    CHECK(contains(opened.message(), words));
    CHECK(releases[0] == 1);
    CHECK(releases[1] == 1);
  };
  const Error invalid = Error::InvalidArgument;
  change([](Batch& b) { b.schema.format = nullptr; }, Error::NotSupported,
         "not that of a record batch");
  change([](Batch& b) { b.schema.format = "i"; }, Error::NotSupported,
         "is not that of a record batch, but of int32; from_arrow() takes a single array");
  change(
      [](Batch& b) {
        b.schema.children = nullptr;
        b.schema.n_children = 0;
      },
      invalid, "2 children, but its format has 1 and 0");
  change([](Batch& b) { b.schema_lists[0][1] = nullptr; }, invalid, "has no child 1");
  change([](Batch& b) { b.schemas[1].format = nullptr; }, invalid,
         "column 1 of the schema: the ArrowSchema has no format");
  change([](Batch& b) { b.schemas[1].release = nullptr; }, Error::InvalidState, "moved out");
  change([](Batch& b) { b.array.length = -1; }, invalid, "length -1");
  change([](Batch& b) { b.array.offset = INT64_MAX; }, invalid, "offset 9223372036854775807");
  change([](Batch& b) { b.array.n_buffers = 2; }, invalid, "2 buffers");
  // What concerns a column alone.
  const auto change_column = [](auto f, Error error, const char* words) {
    Batch made(2, {{"a", "i", kInts}, {"b", "i", kInts}});
    f(made);
    CAPTURE(words);
    const ArrowBatch batch = made.open().value();
    const Result<TensorPtr> b = batch.get("b");
    CHECK(b.error() == error);
    CHECK(contains(b.message(), words));
    CHECK(contains(b.message(), "ArrowBatch::get: column \"b\": "));
    CHECK(batch.get("a").ok());
  };
  change_column([](Batch& b) { b.array_lists[0][1] = nullptr; }, invalid, "has no child 1");
  change_column([](Batch& b) { b.arrays[1].release = nullptr; }, Error::InvalidState, "moved out");
  change_column([](Batch& b) { b.arrays[1].length = 1; }, invalid, "2 values from 0 are needed");
  change_column([](Batch& b) { b.arrays[1].offset = INT64_MAX; }, invalid, "9223372036854775807");
  change_column([](Batch& b) { b.arrays[1].offset = -1; }, invalid, "offset -1");
  change_column([](Batch& b) { b.buffers[2][1] = nullptr; }, invalid, "no buffer of values");
  Batch made(2, {});
  FAILS(InvalidArgument, "ArrowBatch::open: the ArrowArray or the ArrowSchema is null",
        ArrowBatch::open(nullptr, &made.schema));
  CHECK(releases[0] == 1);
  FAILS(InvalidState, "was released", made.open());
  CHECK(releases[1] == 1);
}

TEST_CASE("to_arrow_batch: a round trip, without tensors and with each form") {
  ArrowArray array;
  ArrowSchema schema;
  to_arrow_batch({}, &array, &schema);
  CHECK(ArrowBatch::open(&array, &schema).value().rows() == 0);
  for (const ArrowForm form : {ArrowForm::Tensors, ArrowForm::Lists}) {
    const Tensor t = counted({2, 3, 4});
    to_arrow_batch({{"t", t}, {"", zeros({2})}}, &array, &schema, form);
    const ArrowBatch batch = ArrowBatch::open(&array, &schema).value();
    CHECK(batch.infos()[0].row_sizes == Vector{3, 4});
    CHECK(batch.infos()[0].arrow_type == (form == ArrowForm::Lists
                                              ? "fixed_size_list<fixed_size_list<int32>[4]>[3]"
                                              : "arrow.fixed_shape_tensor"));
    const TensorPtr back = batch.get("t").value();
    CHECK(sizes(back) == Vector{2, 3, 4});
    CHECK(back->const_data_ptr() == t.const_data_ptr());
    CHECK(batch.get("").value()->scalar_type() == ScalarType::Float);
  }
}

TEST_CASE("to_arrow_batch: refuses by the tensor's name, and leaves the structs and tensors") {
  const TensorPtr three = zeros({3});
  ArrowArray array{};
  ArrowSchema schema{};
  const auto refuses = [&](const std::vector<NamedTensor>& tensors, Error error,
                           const char* words) {
    CAPTURE(words);
    CHECK_RETURNS(error, words, try_to_arrow_batch(tensors, &array, &schema));
    CHECK(array.release == nullptr);
    CHECK(schema.release == nullptr);
    CHECK_FALSE(detail::fields(*three).borrows.any());
  };
  refuses({{"a", three}, {"b", zeros({2})}}, Error::InvalidArgument,
          "try_to_arrow_batch: tensor \"b\": it has 2 rows, but tensor \"a\" has 3");
  refuses({{"a", three}, {"mask", zeros({3}, ScalarType::Bool)}}, Error::NotSupported,
          "tensor \"mask\": Arrow has no arrays of Bool");
  refuses({{"a", three}, {"b", zeros({})}}, Error::NotSupported, "the tensor has no dimensions");
  refuses({{"a", three}, {"b", Tensor()}}, Error::InvalidState, "tensor \"b\": the tensor");
  refuses({{"a", three}, {"a", three}}, Error::InvalidArgument, "two tensors are named \"a\"");
  refuses({{"\xff", three}}, Error::InvalidArgument, "is not UTF-8");
  refuses({{std::string("a\0b", 3), three}}, Error::InvalidArgument, "has a zero character");
  RETURNS(InvalidArgument, "is null", try_to_arrow_batch({}, nullptr, &schema));
  RAISES(InvalidArgument, "to_arrow_batch: the ArrowArray or the ArrowSchema is null",
         to_arrow_batch({}, &array, nullptr));
}

TEST_CASE("ArrowStream: batches until the end, which stay when the stream is released") {
  Producer producer(3);
  TensorPtr kept;
  {
    ArrowStream stream = ArrowStream::open(&producer.stream).value();
    CHECK(producer.stream.release == nullptr);
    CHECK(producer.at == 0);
    CHECK(stream.size() == 2);
    CHECK(stream.infos()[1].arrow_type == "string");
    int batches = 0;
    while (std::optional<ArrowBatch> batch = stream.next().value()) {
      kept = batch->get("a").value();
      CHECK(batch->infos().data() == stream.infos().data());
      ++batches;
    }
    CHECK(batches == 3);
    CHECK(releases[2] == 1);
    CHECK_FALSE(stream.next().value().has_value());
    CHECK(producer.at == 4);
  }
  CHECK(releases[2] == 1);
  CHECK(releases[1] == 2);
  CHECK(kept->const_data_ptr() == kInts);
  kept.reset();
  CHECK(releases[1] == 3);
}

// A promise of docs/guarantees.md.
TEST_CASE("ArrowStream: is released once, where it is left early, moved, or fails") {
  {
    Producer producer(3);
    ArrowStream stream = ArrowStream::open(&producer.stream).value();
    ArrowStream other = std::move(stream);
    const ArrowBatch batch = *other.next().value();
    other = ArrowStream();
    CHECK(releases[2] == 1);
    CHECK(releases[1] == 0);
    CHECK(batch.get("a").ok());
  }
  CHECK(releases[1] == 1);
  CHECK(releases[2] == 1);
  Producer producer(3);
  producer.fails_at = 1;
  ArrowStream stream = ArrowStream::open(&producer.stream).value();
  CHECK(stream.next().value().has_value());
  FAILS(AccessFailed, "ArrowStream::next: the stream's get_next returned 5: disk on fire",
        stream.next());
  CHECK(releases[2] == 1);
  FAILS(InvalidState, "ArrowStream::next: the stream failed in an earlier call", stream.next());
  CHECK(producer.at == 1);
}

TEST_CASE("ArrowStream: kinds of errors, without a text, and of the schema") {
  const struct {
    int code;
    Error error;
  } rows[] = {
      {ENOMEM, Error::OutOfMemory}, {ENOSYS, Error::NotSupported}, {EINVAL, Error::AccessFailed}};
  for (const auto& row : rows) {
    Producer producer(1);
    producer.fails_at = 0;
    producer.code = row.code;
    producer.text = nullptr;
    ArrowStream stream = ArrowStream::open(&producer.stream).value();
    const auto next = stream.next();
    CHECK(next.error() == row.error);
    CHECK(contains(next.message(), ", without a text"));
  }
  Producer producer(1);
  producer.schema_code = EIO;
  producer.stream.get_last_error = nullptr;
  FAILS(AccessFailed, "ArrowStream::open: the stream's get_schema returned 5",
        ArrowStream::open(&producer.stream));
  CHECK(releases[2] == 1);
  FAILS(InvalidState, "the ArrowArrayStream was released", ArrowStream::open(&producer.stream));
  FAILS(InvalidArgument, "the ArrowArrayStream is null", ArrowStream::open(nullptr));
  Producer lacking(1);
  lacking.stream.get_next = nullptr;
  FAILS(InvalidArgument, "lacks a function", ArrowStream::open(&lacking.stream));
  CHECK(releases[2] == 1);
  Producer released(1);
  released.stream.get_schema = [](ArrowArrayStream*, ArrowSchema* out) {
    *out = ArrowSchema{};
    return 0;
  };
  FAILS(InvalidArgument, "returned a released ArrowSchema", ArrowStream::open(&released.stream));
  CHECK(releases[2] == 1);
}

TEST_CASE("ArrowStream: a batch that does not fit the schema is released, and the stream goes on") {
  Producer producer(2);
  producer.batches[0].array.n_children = 1;
  ArrowStream stream = ArrowStream::open(&producer.stream).value();
  FAILS(InvalidArgument,
        "ArrowStream::next: the ArrowArray has 1 buffers and 1 children, but its format has",
        stream.next());
  CHECK(releases[1] == 1);
  CHECK(stream.next().value().has_value());
  CHECK_FALSE(stream.next().value().has_value());
}

TEST_CASE("ArrowBatch: any number of threads take columns of one batch",
          "[threads][ArrowBatch][ArrowColumnInfo]") {
  std::vector<NamedTensor> tensors;
  for (int i = 0; i < 50; ++i) tensors.emplace_back(std::to_string(i), full({10}, i));
  ArrowArray array;
  ArrowSchema schema;
  to_arrow_batch(tensors, &array, &schema);
  ArrowBatch batch = ArrowBatch::open(&array, &schema).value();
  std::vector<std::thread> threads;
  std::vector<int> wrong(4);
  for (size_t k = 0; k < wrong.size(); ++k) {
    threads.emplace_back([&, k, copy = batch] {
      for (int i = 0; i < 50; ++i) {
        const std::string name = std::to_string(i);
        const Result<TensorPtr> t = copy.get(name);
        wrong[k] += t.ok() && const_data_ptr<float>(*t)[9] == static_cast<float>(i) &&
                            copy.find(name)->name == name
                        ? 0
                        : 1;
      }
    });
  }
  batch = ArrowBatch();
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == std::vector<int>(4));
}

TEST_CASE("ArrowStream: goes to another thread, where its batches may outlive it",
          "[threads][ArrowStream]") {
  Producer producer(3);
  ArrowStream stream = ArrowStream::open(&producer.stream).value();
  std::vector<ArrowBatch> batches;
  std::thread reader([&batches, own = std::move(stream)]() mutable {
    while (std::optional<ArrowBatch> batch = own.next().value()) batches.push_back(*batch);
  });
  reader.join();
  CHECK(batches.size() == 3);
  CHECK(releases[2] == 1);
  CHECK(batches[2].get("a").ok());
}

TEST_CASE("ArrowBatch, ArrowStream: what happens without memory") {
  if (!heap_is_counted()) {
    WARN("skipped: needs glibc without sanitizers");
    return;
  }
  const std::vector<NamedTensor> tensors = {{"a", zeros({2})}, {"another column", zeros({2, 3})}};
  const auto is_borrowed = [&] { return detail::fields(tensors[0].tensor).borrows.any(); };
  for (int64_t n = 1;; ++n) {
    ArrowArray array{};
    ArrowSchema schema{};
    start_counting(n);
    const Error error = try_to_arrow_batch(tensors, &array, &schema);
    stop_counting();
    CHECK((error == Error::Ok || error == Error::OutOfMemory));
    CHECK((array.release == nullptr) == (error != Error::Ok));
    if (error == Error::Ok) {
      array.release(&array);
      schema.release(&schema);
      CHECK(n > 2 + 2 * 2);
      break;
    }
    CHECK_FALSE(is_borrowed());
  }
  for (int64_t n = 1;; ++n) {
    ArrowArray array{};
    ArrowSchema schema{};
    to_arrow_batch(tensors, &array, &schema);
    start_counting(n);
    Result<ArrowBatch> batch = ArrowBatch::open(&array, &schema);
    Result<TensorPtr> t = batch.ok() ? batch->get("another column") : batch.error();
    stop_counting();
    CHECK(array.release == nullptr);
    CHECK(schema.release == nullptr);
    const bool done = t.ok();
    if (!done) CHECK(t.error() == Error::OutOfMemory);
    batch = Error::InvalidState;
    CHECK(is_borrowed() == done);
    if (done) break;
  }
  CHECK_FALSE(is_borrowed());
  for (int64_t n = 1;; ++n) {
    Producer producer(1);
    start_counting(n);
    Result<ArrowStream> stream = ArrowStream::open(&producer.stream);
    const Error error = stream.ok() ? stream->next().error() : stream.error();
    stop_counting();
    stream = Error::InvalidState;
    CHECK(releases[0] == 1);
    CHECK(releases[2] == 1);
    if (error == Error::Ok) break;
    CHECK(error == Error::OutOfMemory);
  }
}

}  // namespace arrow_batch_test
