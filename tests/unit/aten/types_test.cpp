// SPDX-License-Identifier: MIT
#include "tenon/aten/types.h"

#include "support/catch.h"
#include "tenon/tenon.h"

namespace types_test {

using tenon::detail::foreign_scalar_type;
using tenon::detail::own_type;
using tenon::detail::public_type;
using tenon::detail::PublicElement;
namespace own = tenon::own;

// The public names are c10's; the library's own stay beside them.
static_assert(std::is_same_v<tenon::ScalarType, c10::ScalarType>);
static_assert(std::is_same_v<tenon::Scalar, c10::Scalar>);
static_assert(std::is_same_v<tenon::Half, c10::Half>);
static_assert(std::is_same_v<tenon::BFloat16, c10::BFloat16>);
static_assert(std::is_same_v<tenon::complex<float>, c10::complex<float>>);
static_assert(!std::is_same_v<own::Half, c10::Half>);
static_assert(!std::is_same_v<own::Scalar, c10::Scalar>);

// at's constants, so that both namespaces may be opened at once.
namespace both_opened {
using namespace at;
using namespace tenon;
static_assert(kFloat == at::kFloat && kByte == ScalarType::Byte && kBFloat16 == at::kBFloat16);
static_assert(static_cast<int>(tenon::kUInt64) == 29);
#if __has_include(<c10/util/Float8_e8m0fnu.h>)
static_assert(kFloat8_e5m2 == at::kFloat8_e5m2 && kUInt16 == at::kUInt16);
#endif
}  // namespace both_opened

static_assert(foreign_scalar_type<c10::Half>() == 5);
static_assert(foreign_scalar_type<c10::BFloat16>() == 15);
static_assert(foreign_scalar_type<float>() == -1);
static_assert(foreign_scalar_type<own::Half>() == -1);
static_assert(foreign_scalar_type<void*>() == -1);

static_assert(std::is_same_v<PublicElement<own::Half, 5>::type, c10::Half>);
static_assert(std::is_same_v<PublicElement<own::complex<double>, 10>::type, c10::complex<double>>);
static_assert(std::is_same_v<PublicElement<float, 6>::type, float>);
static_assert(
    std::is_same_v<tenon::CppTypeToScalarType<c10::Half>, tenon::CppTypeToScalarType<tenon::Half>>);

TEST_CASE("ATen types: dtypes have the same numbers, sizes and names as tenon's own") {
  for (int number : {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 15}) {
    const auto type = static_cast<c10::ScalarType>(number);
    INFO(c10::toString(type));
    CHECK(static_cast<int>(own_type(type)) == number);
    CHECK(public_type(own_type(type)) == type);
    CHECK(c10::elementSize(type) == own::elementSize(own_type(type)));
    CHECK(std::strcmp(c10::toString(type), own::toString(own_type(type))) == 0);
  }
  CHECK(own_type(c10::ScalarType::Undefined) == own::ScalarType::Undefined);
  CHECK(public_type(own::ScalarType::Undefined) == c10::ScalarType::Undefined);
}

TEST_CASE("ATen types: a dtype that tenon lacks is valid on neither side of the border") {
  for (const c10::ScalarType type : {c10::ScalarType::QInt8, c10::ScalarType::QUInt4x2}) {
    CHECK_FALSE(own::isValidType(own_type(type)));
  }
}

TEST_CASE("ATen types: Half, BFloat16 and complex have the bytes of tenon's own") {
  const auto bytes_of = [](const auto& value) {
    uint64_t bytes[2] = {};
    std::memcpy(bytes, &value, sizeof value);
    return bytes[0] + 31 * bytes[1];
  };
  for (const float value : {0.0f, 1.0f, -2.5f, 0.1f, 65504.0f, 1e-7f}) {
    CHECK(bytes_of(c10::Half(value)) == bytes_of(own::Half(value)));
    CHECK(bytes_of(c10::BFloat16(value)) == bytes_of(own::BFloat16(value)));
  }
  CHECK(bytes_of(c10::complex<double>(1.5, -2)) == bytes_of(own::complex<double>(1.5, -2)));
}

TEST_CASE("ATen types: Scalars of c10's keep their kind and value in a tensor") {
  CHECK(tenon::item<int64_t>(tenon::scalar_tensor(c10::Scalar(int64_t{1} << 62),
                                                  c10::ScalarType::Long)) == int64_t{1} << 62);
  CHECK(tenon::item<bool>(tenon::scalar_tensor(c10::Scalar(true), c10::ScalarType::Bool)));
  CHECK(tenon::item<double>(tenon::scalar_tensor(c10::Scalar(0.1), c10::ScalarType::Double)) ==
        0.1);
  const auto complex =
      tenon::full({1}, c10::Scalar(c10::complex<double>(1, 2)), c10::ScalarType::ComplexDouble);
  CHECK(tenon::const_data_ptr<c10::complex<double>>(complex)[0] == c10::complex<double>(1, 2));
  CHECK_ERROR(tenon::Error::InvalidType, "complex",
              tenon::full({1}, c10::Scalar(c10::complex<double>(1, 2))));
}

TEST_CASE("ATen types: elements of c10's types are taken by value, list and pointer") {
  const auto halves = tenon::make_tensor_ptr({c10::Half(1.5f), c10::Half(-2.0f)});
  CHECK(halves->scalar_type() == c10::ScalarType::Half);
  CHECK(halves->data_ptr<c10::Half>()[1] == c10::Half(-2.0f));
  c10::BFloat16 memory[2] = {1.0f, 3.0f};
  const auto borrowed = tenon::from_blob(memory, {2});
  CHECK(borrowed->scalar_type() == c10::ScalarType::BFloat16);
  CHECK(tenon::accessor<c10::BFloat16, 1>(borrowed)[1] == c10::BFloat16(3.0f));
  CHECK(tenon::item<float>(tenon::select(borrowed, 0, 1)) == 3);
}

TEST_CASE("ATen types: c10's devices are options of creators, copies and borrowed memory") {
  float memory[2] = {1, 2};
  const auto t = tenon::zeros({2}, at::kCPU);
  CHECK(tenon::zeros({2}, t->device())->device() == at::kCPU);
  CHECK(tenon::zeros_like(t, t->device())->device() == at::kCPU);
  CHECK(tenon::full({2}, 1, tenon::kInt, t->device())->scalar_type() == tenon::kInt);
  CHECK(tenon::rand({2}, t->device())->numel() == 2);
  CHECK(tenon::arange(2, t->device())->numel() == 2);
  CHECK(tenon::make_tensor_ptr({1.0f, 2.0f}, t->device())->numel() == 2);
  CHECK(tenon::make_tensor_ptr({2}, memory, t->device())->const_data_ptr() == memory);
  CHECK(tenon::from_blob(memory, {2}, t->device())->const_data_ptr() == memory);
  CHECK(tenon::from_blob(memory, {2}, at::kCPU, tenon::Strides{1})->const_data_ptr() == memory);
  CHECK(tenon::clone(t, t->device())->numel() == 2);
  CHECK(tenon::to(*t, at::kCPU).is_same(*t));
  CHECK(tenon::to(*t, t->device()).is_same(*t));
  CHECK(tenon::from_blob(nullptr, {2}, at::kMeta)->device() == at::kMeta);
}

TEST_CASE("ATen types: c10's devices that tenon lacks are errors of the creator") {
  float memory[2] = {1, 2};
  CHECK_ERROR(tenon::Error::NotSupported, "no device for libtorch's \"xla\"",
              tenon::zeros({2}, at::kXLA));
  CHECK_ERROR(tenon::Error::NotSupported, "no device for libtorch's \"xla\"",
              tenon::from_blob(memory, {2}, tenon::kFloat, at::Device(at::kXLA, 0)));
  CHECK(tenon::try_zeros({2}, at::kXLA).error() == tenon::Error::NotSupported);
  CHECK(tenon::try_make_tensor_ptr({1.0f}, at::kXLA).error() == tenon::Error::NotSupported);
  CHECK(tenon::try_arange(3, at::kXLA).error() == tenon::Error::NotSupported);
}

TEST_CASE("ATen types: to_string of c10's devices and Scalars") {
  CHECK(tenon::to_string(tenon::zeros({2})->device()) == "cpu");
  CHECK(tenon::to_string(at::Device("cuda:1")) == "cuda:1");
  CHECK(tenon::to_string(at::kCPU) == "cpu");
  CHECK(tenon::to_string(tenon::Scalar(1)) == "1");
  CHECK(tenon::to_string(tenon::Scalar(true)) == tenon::to_string(tenon::own::Scalar(true)));
  CHECK(tenon::to_string(tenon::Scalar(c10::complex<double>(1, 2))) == "1 + 2i");
}

}  // namespace types_test
