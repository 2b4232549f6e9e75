// SPDX-License-Identifier: MIT
// PyTorch's and JAX's structs: interop/python/test_torch.py and test_jax.py.
#include "tenon/exchange/dlpack_packed.h"

#include "exchange/dlpack_helpers.h"
#include "support/catch.h"
#include "tenon/tenon.h"
#include "tensor/helpers.h"

namespace dlpack_packed_test {

using namespace tenon;
using namespace tests;

namespace {

using Legacy = dlpack::DLManagedTensor;

constexpr dlpack::DLDataType kPairs{17, 4, 2}, kFloat4{17, 4, 1}, kScales{14, 8, 1};
uint8_t memory[24] = {0x10, 0x32, 0x54, 0x76, 0x98, 0xba, 0xdc, 0xfe, 1, 2, 3, 4};

// Imports a struct of either version, and checks what it becomes.
void check(dlpack::DLDataType type, const Vector& shape, const Vector& steps, PackedType packed,
           const Vector& numbers, const Vector& bytes, const Vector& byte_steps) {
  CAPTURE(int{type.code}, int{type.bits}, int{type.lanes}, shape, steps);
  const auto is_right = [&](auto& lent) {
    const PackedTensor t = from_dlpack_packed(lent.get());
    CHECK(t.type == packed);
    CHECK(list(t.sizes) == numbers);
    CHECK(sizes(t.bytes) == bytes);
    CHECK(strides(t.bytes) == byte_steps);
    CHECK(t.bytes->scalar_type() == ScalarType::Byte);
    CHECK(const_data_ptr(t.bytes) == memory);
    CHECK(lent.released == 0);
  };
  Lent<> lent(memory, type, shape, steps);
  is_right(lent);
  CHECK(lent.released == 1);
  Lent<Legacy> legacy(memory, type, shape, steps);
  is_right(legacy);
  CHECK(legacy.released == 1);
}

template <class Managed>
void check_refused(Lent<Managed>& lent, Error error, const std::string& words) {
  const auto failed = try_from_dlpack_packed(lent.get());
  CHECK(failed.error() == error);
  INFO(failed.message() << ", expected " << words);
  CHECK(contains(failed.message(), "try_from_dlpack_packed: "));
  CHECK(contains(failed.message(), words));
  CHECK(lent.released == 1);
}

}  // namespace

// A promise of docs/guarantees.md.
TEST_CASE(
    "from_dlpack_packed: bytes as elements, with any strides, and numbers that are contiguous") {
  check(kPairs, {2, 3}, {3, 1}, PackedType::Float4_e2m1fn, {2, 6}, {2, 3}, {3, 1});
  check(kPairs, {2, 3}, {1, 4}, PackedType::Float4_e2m1fn, {2, 6}, {2, 3}, {1, 4});
  check(kPairs, {2, 3}, {}, PackedType::Float4_e2m1fn, {2, 6}, {2, 3}, {3, 1});
  check(kPairs, {}, {}, PackedType::Float4_e2m1fn, {2}, {1}, {1});
  check(kScales, {2, 3}, {3, 1}, PackedType::Float8_e8m0fnu, {2, 3}, {2, 3}, {3, 1});
  check({0, 4, 2}, {4}, {2}, PackedType::Int4, {8}, {4}, {2});
  check({1, 1, 8}, {4}, {1}, PackedType::UInt1, {32}, {4}, {1});

  check(kFloat4, {2, 4}, {4, 1}, PackedType::Float4_e2m1fn, {2, 4}, {2, 2}, {2, 1});
  check(kFloat4, {2, 3}, {3, 1}, PackedType::Float4_e2m1fn, {2, 3}, {3}, {1});
  check(kFloat4, {1, 5}, {77, 1}, PackedType::Float4_e2m1fn, {1, 5}, {3}, {1});
  check({15, 6, 1}, {2, 4}, {4, 1}, PackedType::Float6_e2m3fn, {2, 4}, {2, 3}, {3, 1});
  check({1, 2, 1}, {2, 8}, {8, 1}, PackedType::UInt2, {2, 8}, {2, 2}, {2, 1});
}

TEST_CASE("from_dlpack_packed: without elements, read-only, with an offset") {
  Lent<> none_there(nullptr, kFloat4, {0, 3});
  CHECK(sizes(from_dlpack_packed(none_there.get()).bytes) == Vector{0});
  Lent<> constant(memory, kPairs, {3});
  constant.managed.flags = 1;
  CHECK(is_readonly(from_dlpack_packed(constant.get()).bytes));
  Lent<> shifted(memory, kFloat4, {4});
  shifted.tensor().byte_offset = 2;
  CHECK(values<uint8_t>(from_dlpack_packed(shifted.get()).bytes) == Bytes{0x54, 0x76});
  // A byte each is meant of fewer bits alone.
  Lent<> scales(memory, kScales, {3});
  scales.managed.flags = dlpack::kDLPackIsSubbyteTypePadded;
  CHECK(values<uint8_t>(from_dlpack_packed(scales.get()).bytes) == Bytes{0x10, 0x32, 0x54});
}

TEST_CASE("from_dlpack_packed: what it refuses is released once") {
  const auto refused = [](dlpack::DLDataType type, const Vector& shape, const Vector& steps,
                          Error error, const std::string& words) {
    Lent<> lent(memory, type, shape, steps);
    check_refused(lent, error, words);
    Lent<Legacy> legacy(memory, type, shape, steps);
    check_refused(legacy, error, words);
  };
  refused({2, 32, 1}, {3}, {}, Error::NotSupported,
          "DLPack's code 2 with 32 bits and 1 lanes is not a packed type; from_dlpack() takes");
  refused({17, 8, 1}, {3}, {}, Error::NotSupported, "code 17 with 8 bits");
  refused({0, 3, 1}, {3}, {}, Error::NotSupported, "code 0 with 3 bits");
  refused({17, 4, 0}, {3}, {}, Error::NotSupported, "0 lanes");
  refused({17, 4, 4}, {3}, {}, Error::NotSupported,
          "4 lanes of Float4_e2m1fn, expected 1, or as many as are in a byte");
  refused({15, 6, 4}, {3}, {}, Error::NotSupported, "4 lanes of Float6_e2m3fn");
  refused(kFloat4, {2, 4}, {8, 1}, Error::NotSupported, "which are not contiguous");
  refused(kFloat4, {2, 4}, {1, 2}, Error::NotSupported, "which are not contiguous");
  refused(kFloat4, {2}, {-1}, Error::NotSupported, "which are not contiguous");
  refused(kFloat4, {-1}, {}, Error::InvalidArgument, "size -1 of dimension 0 is negative");
  refused(kPairs, {INT64_MAX}, {}, Error::InvalidArgument, "overflow");
  refused(kPairs, {0, INT64_MAX}, {}, Error::InvalidArgument, "overflow");

  Lent<> padded(memory, kFloat4, {4});
  padded.managed.flags = dlpack::kDLPackIsSubbyteTypePadded;
  check_refused(padded, Error::NotSupported,
                "each Float4_e2m1fn has a byte (IS_SUBBYTE_TYPE_PADDED), expected packed numbers");
  Lent<> version(memory, kPairs, {3});
  version.managed.version.major = 2;
  version.managed.dl_tensor.ndim = -9;
  check_refused(version, Error::NotSupported, "DLPack 2.");
  Lent<> rank(memory, kPairs, {3});
  rank.tensor().ndim = -1;
  check_refused(rank, Error::InvalidArgument, "ndim is -1");
  Lent<> many(memory, kPairs, {3});
  many.tensor().ndim = 65;
  check_refused(many, Error::InvalidArgument, "ndim is 65");
  Lent<> shape(memory, kPairs, {3});
  shape.tensor().shape = nullptr;
  check_refused(shape, Error::InvalidArgument, "the shape is null");
  Lent<> data(nullptr, kFloat4, {3});
  check_refused(data, Error::InvalidArgument, "the data is null");
  RAISES(InvalidArgument, "from_dlpack_packed: the pointer is null",
         from_dlpack_packed(static_cast<Legacy*>(nullptr)));
  Lent<> thrown(memory, kFloat32, {3});
  RAISES(NotSupported, "from_dlpack_packed: DLPack's code 2", from_dlpack_packed(thrown.get()));
  CHECK(thrown.released == 1);
}

TEST_CASE("to_dlpack_packed: the bytes' memory, sizes and strides, with the type of the numbers") {
  const TensorPtr t = from_binary(Bytes(12, 0x21), {4, 3}, ScalarType::Byte);
  const struct {
    PackedType type;
    Vector type_of;
  } rows[] = {
      {PackedType::Float4_e2m1fn, {17, 4, 2}},
      {PackedType::Float8_e8m0fnu, {14, 8, 1}},
      {PackedType::Int4, {0, 4, 2}},
      {PackedType::UInt4, {1, 4, 2}},
  };
  for (const auto& row : rows) {
    CAPTURE(toString(row.type));
    const Tensor turned = transpose(t, 0, 1);
    const DLPackPtr p(to_dlpack_packed(turned, row.type));
    const auto& made = p->dl_tensor;
    CHECK(Vector{made.dtype.code, made.dtype.bits, made.dtype.lanes} == row.type_of);
    CHECK(shape_of(made) == Vector{3, 4});
    CHECK(strides_of(made) == Vector{1, 3});
    CHECK(made.data == const_data_ptr(t));
  }
  for (const PackedType type : {PackedType::Float6_e2m3fn, PackedType::Float6_e3m2fn}) {
    const DLPackPtr p(to_dlpack_packed(t, type));
    CHECK(shape_of(p->dl_tensor) == Vector{4, 4});
    CHECK(strides_of(p->dl_tensor) == Vector{4, 1});
    CHECK(int{p->dl_tensor.dtype.lanes} == 1);
    RAISES(NotSupported, "which are not contiguous; contiguous(t) makes a contiguous copy",
           to_dlpack_packed(narrow(zeros({2, 4}, ScalarType::Byte), 1, 0, 3), type));
  }
}

TEST_CASE("to_dlpack_packed: from_dlpack_packed gives the tensor again") {
  const TensorPtr t = from_binary(Bytes(12, 0x21), {2, 6}, ScalarType::Byte);
  for (int type = 1; type <= 10; ++type) {
    CAPTURE(toString(static_cast<PackedType>(type)));
    const PackedTensor again =
        from_dlpack_packed(to_dlpack_packed(t, static_cast<PackedType>(type)));
    CHECK(static_cast<int>(again.type) == type);
    CHECK(const_data_ptr(again.bytes) == const_data_ptr(t));
    CHECK(again.sizes[1] == 48 / packed_bits(again.type));
  }
#if !TENON_ATEN_MODE
  CHECK_FALSE(tenon::detail::fields(t).borrows.any());
#endif
}

TEST_CASE("to_dlpack_packed: errors") {
  const TensorPtr nothing;
  RAISES(InvalidState, "to_dlpack_packed: the tensor is undefined",
         to_dlpack_packed(nothing, PackedType::Int4));
  RAISES(InvalidType, "dtype is Float, expected Byte, with packed numbers",
         to_dlpack_packed(ones({2}), PackedType::Int4));
  RAISES(InvalidArgument, "the packed type is Undefined",
         to_dlpack_packed(zeros({2}, ScalarType::Byte), PackedType::Undefined));
  RAISES(InvalidArgument, "a multiple of the 3 bytes",
         to_dlpack_packed(zeros({2}, ScalarType::Byte), PackedType::Float6_e2m3fn));
  CHECK(try_to_dlpack_packed(nothing, PackedType::Int4).message() ==
        std::string("try_to_dlpack_packed: the tensor is undefined"));
}

}  // namespace dlpack_packed_test
