// SPDX-License-Identifier: MIT
#include "tenon/interop/libraries/arrow_import.h"

#include "support/catch.h"
#include "tenon/tensor/view.h"
#include "tensor/helpers.h"

namespace arrow_import_test {

using namespace tenon;
using namespace tests;

namespace {

int releases[2];  // of schemas and of arrays

/// A schema and an array as a producer makes them, one child each.
struct Producer {
  ArrowSchema schema{};
  ArrowArray array{};
  const void* buffers[2] = {nullptr, nullptr};
  ArrowSchema* schema_child = nullptr;
  ArrowArray* array_child = nullptr;

  Producer(const char* format, int64_t length, const void* values) {
    schema.format = format;
    schema.release = [](ArrowSchema* self) {
      ++releases[0];
      self->release = nullptr;
    };
    array.length = length;
    buffers[1] = values;
    array.n_buffers = 2;
    array.buffers = buffers;
    array.release = [](ArrowArray* self) {
      ++releases[1];
      self->release = nullptr;
    };
    releases[0] = releases[1] = 0;
  }
  Producer(const char* format, int64_t length, Producer& child)
      : Producer(format, length, nullptr) {
    array.n_buffers = 1;
    schema.n_children = array.n_children = 1;
    schema_child = &child.schema;
    array_child = &child.array;
    schema.children = &schema_child;
    array.children = &array_child;
  }
  Producer(const Producer&) = delete;

  TensorPtr import() { return from_arrow(&array, &schema); }
};

const int32_t kInts[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};

// The import fails, and both structs are released all the same.
#define REFUSES(error, words, producer)        \
  do {                                         \
    RAISES(error, words, producer.import());   \
    CHECK(producer.array.release == nullptr);  \
    CHECK(producer.schema.release == nullptr); \
    CHECK(releases[0] == 1);                   \
    CHECK(releases[1] == 1);                   \
  } while (false)

}  // namespace

TEST_CASE("from_arrow: numbers, without a copy, read-only, from the array's offset") {
  Producer producer("i", 4, kInts);
  producer.array.offset = 3;
  TensorPtr t = producer.import();
  CHECK(producer.array.release == nullptr);
  CHECK(producer.schema.release == nullptr);
  CHECK(releases[0] == 1);
  CHECK(releases[1] == 0);
  CHECK(sizes(t) == Vector{4});
  CHECK(t->const_data_ptr() == kInts + 3);
  CHECK(t->is_readonly());
  CHECK(ownership(*t) == Ownership::Adopted);
  const Tensor view = slice(t, 0, 1, 3);
  t.reset();
  CHECK(releases[1] == 0);
  CHECK(tests::values<int32_t>(view) == Ints{4, 5});
}

TEST_CASE("from_arrow: Booleans are unpacked into a copy") {
  const uint8_t bits[] = {0b10110100, 0b00000101};
  Producer producer("b", 9, bits);
  producer.array.offset = 2;
  const TensorPtr t = producer.import();
  CHECK(releases[1] == 1);
  CHECK(t->scalar_type() == ScalarType::Bool);
  CHECK_FALSE(t->is_readonly());
  const std::vector<bool> expected = {true, false, true, true, false, true, true, false, true};
  for (size_t i = 0; i < 9; ++i) CHECK(const_data_ptr<bool>(*t)[i] == expected[i]);
}

TEST_CASE("from_arrow: fixed-size lists in lists are dimensions, with the offsets of both") {
  Producer values("i", 14, kInts);
  values.array.offset = 2;
  Producer inner("+w:3", 4, values);
  Producer outer("+w:2", 1, inner);
  outer.array.offset = 1;
  const TensorPtr t = outer.import();
  CHECK(sizes(t) == Vector{1, 2, 3});
  CHECK(tests::values<int32_t>(t) == Ints{8, 9, 10, 11, 12, 13});
  Producer none("i", 0, nullptr);
  Producer empty("+w:0", 5, none);
  CHECK(sizes(empty.import()) == Vector{5, 0});
}

TEST_CASE("from_arrow: the extension type of tensors has a shape and a permutation") {
  Producer values("i", 12, kInts);
  Producer tensors("+w:6", 2, values);
  const detail::ArrowTensorShape shape{{2, 3}, {1, 0}};
  std::vector<char> metadata(detail::arrow_tensor_room(2));
  detail::write_arrow_tensor(shape, metadata.data(), metadata.size());
  tensors.schema.metadata = metadata.data();
  const TensorPtr t = tensors.import();
  CHECK(sizes(t) == Vector{2, 3, 2});
  CHECK(strides(t) == Vector{6, 1, 3});
  CHECK(tests::values<int32_t>(t) == Ints{0, 3, 1, 4, 2, 5, 6, 9, 7, 10, 8, 11});

  Producer more("i", 12, kInts);
  Producer wrong("+w:4", 3, more);
  wrong.schema.metadata = metadata.data();
  REFUSES(InvalidArgument, "arrow.fixed_shape_tensor of shape {2, 3} is stored in lists of 4",
          wrong);
}

// A promise of docs/guarantees.md.
TEST_CASE("from_arrow: a permutation that is not its own inverse has the meaning that is said") {
  const detail::ArrowTensorShape shape{{1, 2, 3}, {2, 0, 1}};
  std::vector<char> metadata(detail::arrow_tensor_room(3));
  detail::write_arrow_tensor(shape, metadata.data(), metadata.size());
  const auto import = [&](ArrowPermutation meaning) {
    Producer values("i", 12, kInts);
    Producer tensors("+w:6", 2, values);
    tensors.schema.metadata = metadata.data();
    return from_arrow(&tensors.array, &tensors.schema, meaning);
  };
  const TensorPtr specified = import(ArrowPermutation::Specification);
  CHECK(sizes(specified) == Vector{2, 3, 1, 2});
  CHECK(strides(specified) == Vector{6, 1, 6, 3});
  const TensorPtr of_pyarrow = import(ArrowPermutation::Pyarrow);
  CHECK(sizes(of_pyarrow) == Vector{2, 2, 3, 1});
  CHECK(strides(of_pyarrow) == Vector{6, 3, 1, 6});
  Producer values("i", 12, kInts);
  Producer tensors("+w:6", 2, values);
  tensors.schema.metadata = metadata.data();
  REFUSES(NotSupported,
          "from_arrow: Arrow's specification and pyarrow mean different tensors by the permutation "
          "{2, 0, 1}; pass ArrowPermutation::Specification or ::Pyarrow to choose one",
          tensors);
}

TEST_CASE("from_arrow: dates and times are counts of their unit, lance.bfloat16 is BFloat16") {
  Producer days("tdD", 4, kInts);
  CHECK(days.import()->scalar_type() == ScalarType::Int);
  Producer instants("tsn:UTC", 4, kInts);
  const TensorPtr t = instants.import();
  CHECK(t->scalar_type() == ScalarType::Long);
  CHECK(t->const_data_ptr() == kInts);
  std::string metadata;
  const auto put = [&metadata](size_t value, const char* text) {
    const auto number = static_cast<int32_t>(value);
    metadata.append(reinterpret_cast<const char*>(&number), sizeof number);
    metadata += text;
  };
  put(1, "");
  put(20, "ARROW:extension:name");
  put(14, "lance.bfloat16");
  Producer brains("w:2", 4, kInts);
  brains.schema.metadata = metadata.data();
  CHECK(brains.import()->scalar_type() == ScalarType::BFloat16);
}

TEST_CASE("from_arrow: nulls are refused, where they are among the values") {
  const uint8_t valid[] = {0b11111111, 0b11101111, 0b00001111};
  Producer all("i", 16, kInts);
  all.buffers[0] = valid;
  all.array.null_count = -1;
  REFUSES(NotSupported, "from_arrow: 1 of the array's 16 values are null", all);
  Producer before("i", 12, kInts);
  before.buffers[0] = valid;
  before.array.null_count = 1;
  CHECK(sizes(before.import()) == Vector{12});
  Producer after("i", 3, kInts);
  after.buffers[0] = valid;
  after.array.offset = 13;
  after.array.null_count = -1;
  CHECK(sizes(after.import()) == Vector{3});
  Producer unknown("i", 3, kInts);
  unknown.array.null_count = -1;  // without a bitmap: none
  CHECK(sizes(unknown.import()) == Vector{3});
  Producer claimed("i", 3, kInts);
  claimed.array.null_count = 2;
  REFUSES(NotSupported, "2 of the array's 3 values are null", claimed);
  Producer child("i", 12, kInts);
  Producer lists("+w:4", 3, child);
  const uint8_t second = 0b101;
  lists.buffers[0] = &second;
  lists.array.null_count = 1;
  REFUSES(NotSupported, "1 of the array's 3 values are null", lists);
}

TEST_CASE("from_arrow: other types are refused by their format") {
  for (const char* format :
       {"u", "tin", "+l", "+s", "n", "d:10,2", "w:2", "+w:", "+w:-1", "+w:x", ""}) {
    CAPTURE(format);
    Producer producer(format, 1, kInts);
    REFUSES(NotSupported, "from_arrow: Arrow's format \"", producer);
  }
  Producer text("u", 1, kInts);
  REFUSES(NotSupported,
          "from_arrow: Arrow's format \"u\", string, is not supported; expected numbers", text);
  ArrowSchema words{};
  Producer coded("i", 2, kInts);
  coded.schema.dictionary = &words;
  REFUSES(NotSupported, "dictionary-encoded", coded);
  Producer dictionary("i", 2, kInts);
  ArrowArray keys{};
  dictionary.array.dictionary = &keys;
  REFUSES(NotSupported, "dictionary-encoded", dictionary);
}

TEST_CASE("from_arrow: malformed structs") {
  const auto change = [](auto f, const char* words) {
    Producer values("i", 16, kInts);
    Producer lists("+w:4", 4, values);
    f(lists, values);
    CAPTURE(words);
    REFUSES(InvalidArgument, words, lists);
  };
  change([](Producer& a, Producer&) { a.schema.format = nullptr; }, "no format");
  change([](Producer& a, Producer&) { a.array.length = -1; }, "length -1");
  change([](Producer& a, Producer&) { a.array.offset = -1; }, "offset -1");
  change([](Producer& a, Producer&) { a.array.offset = INT64_MAX; }, "offset 9223372036854775807");
  change([](Producer& a, Producer&) { a.array.length = INT64_MAX / 2; }, "overflow");
  change([](Producer& a, Producer&) { a.array.length = 5; }, "but 20 values from 0 are needed");
  change([](Producer& a, Producer&) { a.array.offset = 1; }, "but 16 values from 4 are needed");
  change([](Producer&, Producer& b) { b.array.length = 15; }, "length 15");
  change([](Producer&, Producer& b) { b.array.offset = INT64_MAX; }, "offset 9223372036854775807");
  change([](Producer&, Producer& b) { b.array.offset = -3; }, "offset -3");
  change([](Producer& a, Producer&) { a.array.n_buffers = 2; }, "2 buffers");
  change([](Producer&, Producer& b) { b.array.n_buffers = 1; }, "1 buffers and 0 children");
  change([](Producer&, Producer& b) { b.array.buffers = nullptr; }, "2 buffers");
  change([](Producer&, Producer& b) { b.buffers[1] = nullptr; }, "no buffer of values");
  change([](Producer& a, Producer&) { a.array.n_children = 2; }, "2 children");
  change([](Producer& a, Producer&) { a.schema.n_children = 0; }, "no child");
  change([](Producer& a, Producer&) { a.schema.n_children = 2; }, "has 2 children");
  change([](Producer& a, Producer&) { a.array_child = nullptr; }, "no child");
  change([](Producer& a, Producer&) { a.schema.children = nullptr; }, "no child");
  change([](Producer&, Producer& b) { b.buffers[1] = reinterpret_cast<const char*>(kInts) + 1; },
         "the data lies 1 bytes after a multiple of 4");
  // Lists in lists without an end.
  Producer values("i", 16, kInts);
  Producer inner("+w:1", 1, values);
  inner.schema_child = &inner.schema;
  inner.array_child = &inner.array;
  Producer lists("+w:1", 1, inner);
  RAISES(InvalidArgument, "sizes", lists.import());
}

// A promise of docs/guarantees.md.
TEST_CASE("from_arrow: a list whose child was moved out does not have its memory") {
  for (const bool is_schema : {false, true}) {
    Producer values("i", 12, kInts);
    Producer inner("+w:2", 6, values);
    Producer lists("+w:3", 2, inner);
    ArrowArray moved = values.array;
    if (is_schema) {
      inner.schema.release = nullptr;
    } else {
      values.array.release = nullptr;
    }
    REFUSES(InvalidState, "from_arrow: a child of the ArrowSchema or the ArrowArray was moved out",
            lists);
    if (is_schema) continue;
    values.schema.release = [](ArrowSchema* self) { self->release = nullptr; };
    const TensorPtr t = from_arrow(&moved, &values.schema);  // the child is an array by itself
    CHECK(t->numel() == 12);
  }
}

TEST_CASE("from_arrow: null and released structs, of which the other is released") {
  Producer producer("i", 4, kInts);
  RAISES(InvalidArgument, "is null", from_arrow(nullptr, &producer.schema));
  CHECK(releases[0] == 1);
  RAISES(InvalidState, "was released", from_arrow(&producer.array, &producer.schema));
  CHECK(releases[1] == 1);
  CHECK(try_from_arrow(nullptr, nullptr).error() == Error::InvalidArgument);
}

}  // namespace arrow_import_test
