// SPDX-License-Identifier: MIT
// check_dlpack, and what element types and devices are in DLPack.
#include "tenon/exchange/dlpack_check.h"

#include "exchange/dlpack_helpers.h"
#include "support/catch.h"
#include "tenon/tenon.h"

using namespace tenon;
using OwnType = own::ScalarType;  // in ATen mode, c10 has another
using namespace tests;
using tenon::own::ScalarType;  // in ATen mode, c10 has another

namespace {

using Legacy = tenon::DLManagedTensor;

// What one struct breaks: each as "Error: text".
std::vector<std::string> found(const std::vector<DLPackViolation>& violations) {
  std::vector<std::string> all;
  for (const DLPackViolation& v : violations) {
    all.push_back(std::string(toString(v.error)) + ": " + v.message);
  }
  return all;
}
using Texts = std::vector<std::string>;

float memory[24] = {};

struct TypeRow {
  OwnType type;
  uint8_t code, bits;
};
constexpr TypeRow kTypes[] = {
    {OwnType::Byte, 1, 8},
    {OwnType::Char, 0, 8},
    {OwnType::Short, 0, 16},
    {OwnType::Int, 0, 32},
    {OwnType::Long, 0, 64},
    {OwnType::UInt16, 1, 16},
    {OwnType::UInt32, 1, 32},
    {OwnType::UInt64, 1, 64},
    {OwnType::Half, 2, 16},
    {OwnType::Float, 2, 32},
    {OwnType::Double, 2, 64},
    {OwnType::BFloat16, 4, 16},
    {OwnType::ComplexHalf, 5, 32},
    {OwnType::ComplexFloat, 5, 64},
    {OwnType::ComplexDouble, 5, 128},
    {OwnType::Bool, 6, 8},
    {OwnType::Float8_e4m3fn, 10, 8},
    {OwnType::Float8_e4m3fnuz, 11, 8},
    {OwnType::Float8_e5m2, 12, 8},
    {OwnType::Float8_e5m2fnuz, 13, 8},
};

}  // namespace

TEST_CASE("dlpack check: each element type has its code and bits, one lane, both ways") {
  for (const TypeRow& row : kTypes) {
    INFO(toString(row.type));
    DLDataType type{};
    CHECK(detail::type_to_dlpack(row.type, type) == Error::Ok);
    CHECK(int{type.code} == int{row.code});
    CHECK(int{type.bits} == int{row.bits});
    CHECK(type.lanes == 1);
    CHECK(detail::type_from_dlpack({row.code, row.bits, 1}) == row.type);
  }
}

TEST_CASE("dlpack check: of all codes, bits and lanes there are only those of the element types") {
  int known = 0;
  for (int code = 0; code < 256; ++code) {
    for (int bits = 0; bits < 256; ++bits) {
      for (const uint16_t lanes : {uint16_t{0}, uint16_t{1}, uint16_t{4}, uint16_t{65535}}) {
        const DLDataType type{static_cast<uint8_t>(code), static_cast<uint8_t>(bits), lanes};
        if (detail::type_from_dlpack(type) != OwnType::Undefined) ++known;
      }
    }
  }
  CHECK(known == 20);
}

TEST_CASE("dlpack check: what is no element type is no type of DLPack's") {
  DLDataType type{};
  CHECK_RETURNS(Error::NotSupported, "DLPack has no element type Undefined",
                detail::type_to_dlpack(OwnType::Undefined, type));
}

TEST_CASE("dlpack check: devices are DLPack's numbers, without tenon's own two") {
  using detail::is_dlpack_device;
  for (const int32_t type : {1, 2, 3, 4, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17}) {
    INFO(type);
    CHECK(is_dlpack_device(type));
  }
  for (const int32_t type : {INT32_MIN, -1, 0, 5, 6, 99, 126, 127, INT32_MAX}) {
    INFO(type);
    CHECK_FALSE(is_dlpack_device(type));
  }
}

TEST_CASE(
    "dlpack check: the index of memory that the host reads is 0, whatever the producer says") {
  using detail::device_from_dlpack;
  CHECK(device_from_dlpack({1, 3}) == Device());
  CHECK(device_from_dlpack({1, -1}) == Device());
  CHECK(device_from_dlpack({3, 2}) == Device(DeviceType::CUDAHost, 0));
  CHECK(device_from_dlpack({11, 2}) == Device(DeviceType::ROCMHost, 0));
  CHECK(device_from_dlpack({13, 2}) == Device(DeviceType::CUDAManaged, 0));
  CHECK(device_from_dlpack({2, 3}) == Device("cuda:3"));
}

TEST_CASE(
    "check_dlpack: says nothing of a struct that is right, and neither consumes nor changes it") {
  Lent<> lent(memory, tests::kFloat32, {2, 3}, {3, 1});
  Lent<Legacy> legacy(memory, tests::kFloat32, {2, 3});
  CHECK(check_dlpack(lent.get()).empty());
  CHECK(check_dlpack(legacy.get()).empty());
  CHECK(lent.released == 0);
  CHECK(legacy.released == 0);
  CHECK(lent.tensor().data == memory);
  CHECK(lent.shape == Vector{2, 3});
  CHECK(lent.strides == Vector{3, 1});
  const DLManagedTensorVersioned* constant = lent.get();
  CHECK(check_dlpack(constant).empty());
}

TEST_CASE("check_dlpack: a null pointer is a violation") {
  const DLManagedTensorVersioned* nothing = nullptr;
  CHECK(found(check_dlpack(nothing)) == Texts{"InvalidArgument: the pointer is null"});
}

TEST_CASE(
    "check_dlpack: a struct without elements, dimensions, strides, deleter or owner is right") {
  CHECK(check_dlpack(Lent<>(nullptr, tests::kFloat32, {0, 3}).get()).empty());
  CHECK(check_dlpack(Lent<>(memory, tests::kFloat32, {}).get()).empty());
  CHECK(
      check_dlpack(Lent<>(nullptr, tests::kFloat32, {3, 0}, {INT64_MIN, INT64_MAX}).get()).empty());
  Lent<> bare(memory, tests::kFloat32, {2});
  bare.managed.deleter = nullptr;
  bare.managed.manager_ctx = nullptr;
  CHECK(check_dlpack(bare.get()).empty());
}

TEST_CASE("check_dlpack: strides of any sign are right, with gaps and overlapping") {
  CHECK(check_dlpack(Lent<>(memory, tests::kFloat32, {2, 3}, {0, 0}).get()).empty());
  CHECK(check_dlpack(Lent<>(memory + 5, tests::kFloat32, {2, 3}, {-3, -1}).get()).empty());
  CHECK(check_dlpack(Lent<>(memory, tests::kFloat32, {2, 3}, {9, 2}).get()).empty());
  CHECK(check_dlpack(Lent<>(memory, tests::kFloat32, {1, 3}, {INT64_MAX, 1}).get()).empty());
}

TEST_CASE("check_dlpack: higher minor versions and unknown flags are right") {
  Lent<> lent(memory, tests::kFloat32, {2});
  lent.managed.version = {1, 4000000000u};
  lent.managed.flags = ~uint64_t{1};
  CHECK(check_dlpack(lent.get()).empty());
}

TEST_CASE("check_dlpack: of another major version it reads nothing but that") {
  Lent<> lent(memory, tests::kFloat32, {2});
  lent.tensor().ndim = 64;
  lent.tensor().shape = reinterpret_cast<int64_t*>(uintptr_t{8});
  lent.tensor().strides = reinterpret_cast<int64_t*>(uintptr_t{8});
  lent.managed.version = {2, 7};
  CHECK(found(check_dlpack(lent.get())) ==
        Texts{"NotSupported: the struct is of DLPack 2.7, expected version 1"});
  lent.managed.version = {0, 8};
  CHECK(found(check_dlpack(lent.get())) ==
        Texts{"NotSupported: the struct is of DLPack 0.8, expected version 1"});
  CHECK(lent.released == 0);
}

TEST_CASE("check_dlpack: an unknown type says its code, bits and lanes") {
  CHECK(
      found(check_dlpack(Lent<>(memory, {3, 64, 1}, {2}).get())) ==
      Texts{"NotSupported: there is no element type for DLPack's code 3 with 64 bits and 1 lane"});
  CHECK(
      found(check_dlpack(Lent<>(memory, {2, 32, 4}, {2}).get())) ==
      Texts{"NotSupported: there is no element type for DLPack's code 2 with 32 bits and 4 lanes"});
  CHECK(check_dlpack(Lent<>(memory, {2, 32, 0}, {2}).get()).size() == 1);
  CHECK(check_dlpack(Lent<>(memory, {17, 4, 1}, {2}).get()).size() == 1);
}

TEST_CASE("check_dlpack: an unknown device and a negative index are violations") {
  Lent<> lent(memory, tests::kFloat32, {2});
  for (const int32_t type : {0, 5, 126, 127}) {
    lent.set_device(type, 0);
    CHECK(found(check_dlpack(lent.get())) ==
          Texts{"NotSupported: tenon knows no device type " + std::to_string(type)});
  }
  lent.set_device(2, -1);
  CHECK(found(check_dlpack(lent.get())) == Texts{"InvalidArgument: the device index is -1"});
  lent.set_device(2, 7);
  CHECK(check_dlpack(lent.get()).empty());
  lent.set_device(3, -1);
  CHECK(check_dlpack(lent.get()).empty());
}

TEST_CASE("check_dlpack: ndim below 0 or above 64, and sizes that are not there, end the list") {
  Lent<> lent(memory, tests::kFloat32, {2});
  lent.tensor().ndim = -1;
  CHECK(found(check_dlpack(lent.get())) == Texts{"InvalidArgument: ndim is -1, expected 0 to 64"});
  lent.tensor().ndim = 65;
  CHECK(found(check_dlpack(lent.get())) == Texts{"InvalidArgument: ndim is 65, expected 0 to 64"});
  lent.tensor().ndim = INT32_MIN;
  CHECK(check_dlpack(lent.get()).size() == 1);
  lent.tensor().ndim = 3;
  lent.tensor().shape = nullptr;
  CHECK(found(check_dlpack(lent.get())) == Texts{"InvalidArgument: the shape is null, ndim is 3"});
  CHECK(check_dlpack(Lent<>(memory, tests::kFloat32, Vector(64, 1), Vector(64, 1)).get()).empty());
}

TEST_CASE("check_dlpack: negative sizes, and counts and bytes that overflow, are violations") {
  const auto check = [](const Vector& sizes, const Vector& strides, const char* words) {
    const auto violations = check_dlpack(Lent<>(memory, tests::kFloat64, sizes, strides).get());
    REQUIRE(violations.size() == 1);
    CHECK(violations[0].error == Error::InvalidArgument);
    INFO(violations[0].message);
    CHECK(tests::contains(violations[0].message, words));
  };
  check({2, -1}, {}, "size -1 of dimension 1");
  check({INT64_MIN}, {}, "size -9223372036854775808 of dimension 0");
  check({INT64_MAX, 2}, {}, "overflow");
  check({INT64_MAX / 8, 2}, {}, "overflow");
  check({INT64_MAX / 8 + 1}, {}, "overflow");
  check({2}, {INT64_MAX}, "overflow");
  check({2}, {INT64_MIN}, "overflow");
  check({2}, {INT64_MAX / 8}, "overflow");
  check({2}, {-(INT64_MAX / 8) - 1}, "overflow");
  check({3, 3}, {INT64_MAX / 2, INT64_MAX / 2}, "overflow");
  CHECK(check_dlpack(Lent<>(memory, tests::kFloat64, {2}, {INT64_MAX / 8 - 1}).get()).empty());
}

TEST_CASE("check_dlpack: null data is a violation where there are elements") {
  CHECK(found(check_dlpack(Lent<>(nullptr, tests::kFloat32, {2, 3}).get())) ==
        Texts{"InvalidArgument: the data is null, sizes are {2, 3}"});
  CHECK(check_dlpack(Lent<>(nullptr, tests::kFloat32, {}).get()).size() == 1);
  Lent<> offset(nullptr, tests::kFloat32, {2});
  offset.tensor().byte_offset = 64;
  CHECK(check_dlpack(offset.get()).size() == 1);
}

TEST_CASE("check_dlpack: a byte offset that no pointer takes is a violation") {
  Lent<> lent(memory, tests::kFloat32, {2});
  lent.tensor().byte_offset = UINT64_MAX;
  CHECK(found(check_dlpack(lent.get())) ==
        Texts{"InvalidArgument: the byte offset 18446744073709551615 leads out of the address "
              "space"});
}

TEST_CASE("check_dlpack: every violation is there, the first is from_dlpack's error") {
  Lent<> lent(nullptr, {9, 9, 9}, {2, 3}, {INT64_MAX, 1});
  lent.set_device(99, 0);
  lent.tensor().byte_offset = UINT64_MAX;
  const auto all = check_dlpack(lent.get());
  REQUIRE(all.size() == 5);
  CHECK(all[0].error == Error::NotSupported);
  CHECK(tests::contains(all[0].message, "element type"));
  CHECK(tests::contains(all[1].message, "device type 99"));
  CHECK(tests::contains(all[2].message, "byte offset"));
  CHECK(tests::contains(all[3].message, "overflow"));
  CHECK(tests::contains(all[4].message, "the data is null"));
  CHECK(all[4].message == last_error_message());
  CHECK(lent.released == 0);
  const auto refused = try_from_dlpack(lent.get());
  CHECK(refused.error() == all[0].error);
  CHECK(refused.message() == "try_from_dlpack: " + all[0].message);
  CHECK(lent.released == 1);
}
