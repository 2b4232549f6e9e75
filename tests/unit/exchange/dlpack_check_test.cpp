// SPDX-License-Identifier: MIT
// check_dlpack, and what element types and devices there are.
#include "tenon/exchange/dlpack_types.h"

#include "exchange/dlpack_helpers.h"
#include "support/catch.h"
#include "tenon/tenon.h"

namespace dlpack_check_test {

using namespace tenon;
using namespace tests;

namespace {

float memory[24] = {};

// What a struct violates: each as "Error: text".
template <class Managed>
Texts found(const Managed* managed) {
  Texts all;
  for (const DLPackViolation& v : check_dlpack(managed)) {
    all.push_back(std::string(toString(v.error)) + ": " + v.message);
  }
  return all;
}

}  // namespace

TEST_CASE(
    "dlpack: each element type has its code and bits, one lane, both ways; there are no others") {
  const struct {
    ScalarType type;
    uint8_t code, bits;
  } rows[] = {
      {ScalarType::Byte, 1, 8},
      {ScalarType::Char, 0, 8},
      {ScalarType::Short, 0, 16},
      {ScalarType::Int, 0, 32},
      {ScalarType::Long, 0, 64},
      {ScalarType::UInt16, 1, 16},
      {ScalarType::UInt32, 1, 32},
      {ScalarType::UInt64, 1, 64},
      {ScalarType::Half, 2, 16},
      {ScalarType::Float, 2, 32},
      {ScalarType::Double, 2, 64},
      {ScalarType::BFloat16, 4, 16},
      {ScalarType::ComplexHalf, 5, 32},
      {ScalarType::ComplexFloat, 5, 64},
      {ScalarType::ComplexDouble, 5, 128},
      {ScalarType::Bool, 6, 8},
      {ScalarType::Float8_e4m3fn, 10, 8},
      {ScalarType::Float8_e4m3fnuz, 11, 8},
      {ScalarType::Float8_e5m2, 12, 8},
      {ScalarType::Float8_e5m2fnuz, 13, 8},
  };
  for (const auto& row : rows) {
    CAPTURE(toString(row.type));
    const TensorPtr t = zeros({2}, row.type);
    DLPackPtr made(to_dlpack(t));
    const dlpack::DLDataType type = made->dl_tensor.dtype;
    CHECK(int{type.code} == int{row.code});
    CHECK(int{type.bits} == int{row.bits});
    CHECK(type.lanes == 1);
    CHECK(from_dlpack(std::move(made))->scalar_type() == row.type);
  }
  Lent<> lent(memory, kFloat32, {2});
  int known = 0;
  for (int i = 0; i < 3 * 65536; ++i) {
    lent.tensor().dtype = {static_cast<uint8_t>(i), static_cast<uint8_t>(i >> 8),
                           static_cast<uint16_t>(i >> 16)};
    if (check_dlpack(lent.get()).empty()) ++known;
  }
  CHECK(known == 20);
}

TEST_CASE("check_dlpack: one violation is named with its values") {
  const auto check = [](const char* expected, dlpack::DLDataType type,
                        void (*change)(dlpack::DLTensor&)) {
    CAPTURE(expected);
    Lent<> lent(memory, type, {2});
    change(lent.tensor());
    CHECK(found(lent.get()) == Texts{expected});
  };
  const auto as_is = [](dlpack::DLTensor&) {};
  check("NotSupported: there is no element type for DLPack's code 3 with 64 bits and 1 lane",
        {3, 64, 1}, as_is);
  check(
      "NotSupported: there is no element type Float8_e8m0fnu, DLPack's code 14 with 8 bits; "
      "from_dlpack_packed(), or a view as uint8, takes the bytes",
      {14, 8, 1}, as_is);
  check("NotSupported: there is no element type for DLPack's code 2 with 32 bits and 0 lanes",
        {2, 32, 0}, as_is);
  check("NotSupported: tenon knows no device type 5", kFloat32,
        [](dlpack::DLTensor& t) { t.device.device_type = 5; });
  check("InvalidArgument: the device index is -1", kFloat32, [](dlpack::DLTensor& t) {
    t.device = {2, -1};
  });
  check("InvalidArgument: ndim is -1, expected 0 to 64", kFloat32,
        [](dlpack::DLTensor& t) { t.ndim = -1; });
  check("InvalidArgument: ndim is 65, expected 0 to 64", kFloat32,
        [](dlpack::DLTensor& t) { t.ndim = 65; });
  check("InvalidArgument: the shape is null, ndim is 1", kFloat32,
        [](dlpack::DLTensor& t) { t.shape = nullptr; });
  check("InvalidArgument: the data is null, sizes are {2}", kFloat32, [](dlpack::DLTensor& t) {
    t.data = nullptr;
    t.byte_offset = 64;
  });
  check("InvalidArgument: the byte offset 18446744073709551615 leads out of the address space",
        kFloat32, [](dlpack::DLTensor& t) { t.byte_offset = UINT64_MAX; });
  check("InvalidArgument: the byte offset 32 leads out of the address space", kFloat32,
        [](dlpack::DLTensor& t) {
          t.data = reinterpret_cast<void*>(UINTPTR_MAX - 15);
          t.byte_offset = 32;
        });
  const dlpack::DLManagedTensorVersioned* nothing = nullptr;
  CHECK(found(nothing) == Texts{"InvalidArgument: the pointer is null"});
}

TEST_CASE("check_dlpack: negative sizes, and counts and bytes that overflow, are violations") {
  const struct {
    Vector sizes, strides;
    const char* words;
  } rows[] = {
      {{2, -1}, {}, "size -1 of dimension 1"},
      {{INT64_MIN}, {}, "size -9223372036854775808 of dimension 0"},
      {{INT64_MAX, 2}, {}, "overflow"},
      {{INT64_MAX / 8 + 1}, {}, "overflow"},
      {{2}, {INT64_MAX}, "overflow"},
      {{2}, {-(INT64_MAX / 8) - 1}, "overflow"},
  };
  for (const auto& row : rows) {
    const auto all = check_dlpack(Lent<>(memory, kFloat64, row.sizes, row.strides).get());
    REQUIRE(all.size() == 1);
    CHECK(all[0].error == Error::InvalidArgument);
    INFO(all[0].message << ", expected " << row.words);
    CHECK(contains(all[0].message, row.words));
  }
}

TEST_CASE("check_dlpack: every violation is there, the first is from_dlpack's error") {
  Lent<> lent(nullptr, {9, 9, 9}, {2, 3}, {INT64_MAX, 1});
  lent.set_device(99, 0);
  lent.tensor().byte_offset = UINT64_MAX;
  const auto all = check_dlpack(lent.get());
  REQUIRE(all.size() == 5);
  CHECK(all[0].error == Error::NotSupported);
  CHECK(contains(all[0].message, "element type"));
  CHECK(contains(all[1].message, "device type 99"));
  CHECK(contains(all[2].message, "byte offset"));
  CHECK(contains(all[3].message, "overflow"));
  CHECK(contains(all[4].message, "the data is null"));
  CHECK(all[4].message == last_error_message());
  CHECK(lent.released == 0);
  const auto refused = try_from_dlpack(lent.get());
  CHECK(refused.error() == all[0].error);
  CHECK(refused.message() == "try_from_dlpack: " + all[0].message);
  CHECK(lent.released == 1);
}

TEST_CASE("check_dlpack: of another major version it reads nothing but that") {
  Lent<> lent(memory, kFloat32, {2});
  lent.tensor().ndim = 64;
  lent.tensor().shape = lent.tensor().strides = reinterpret_cast<int64_t*>(uintptr_t{8});
  for (const dlpack::DLPackVersion version :
       {dlpack::DLPackVersion{2, 7}, dlpack::DLPackVersion{0, 8}}) {
    lent.managed.version = version;
    const std::string text = std::to_string(version.major) + "." + std::to_string(version.minor);
    CHECK(found(lent.get()) ==
          Texts{"NotSupported: the struct is of DLPack " + text + ", expected version 1"});
  }
  CHECK(lent.released == 0);
}

}  // namespace dlpack_check_test
