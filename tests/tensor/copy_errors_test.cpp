// SPDX-License-Identifier: MIT
// What copy_, plan_copy, fill_ and zero_ refuse. All have the same rules for what is written to.
#include <cstdint>
#include <string>
#include <vector>

#include "support/catch.h"
#include "tenon/tensor/copy.h"
#include "tenon/tensor/tensor_ptr.h"
#include "tenon/tensor/tensor_ptr_maker.h"
#include "tenon/tensor/view.h"
#include "tensor/helpers.h"

using namespace tenon;
using namespace tests;

namespace {

using Ints = std::vector<int32_t>;

// An address that faults when it is read or written.
void* const kDevicePointer = reinterpret_cast<void*>(uintptr_t{4096});

Tensor on(const char* device) {
  return tenon::for_blob(kDevicePointer, {3}, ScalarType::Int).device(device).make_tensor();
}

// copy_ and plan_copy refuse the pair with this error, copy_ by its own name, and `dst` stays.
void check_refused(Error error, const std::string& words, const Tensor& dst, const Tensor& src,
                   CastMode mode = CastMode::Checked) {
  CHECK_RETURNS(error, "copy_: " + words, copy_(dst, src, mode));
  CHECK_ERROR(error, "plan_copy: " + words, plan_copy(dst, src, mode));
}

// The four functions refuse to write to `dst`; `role` is what copy_ calls it.
void check_no_destination(Error error, const std::string& words, const Tensor& dst) {
  check_refused(error, "the destination " + words, dst, make_tensor(1));
  CHECK_RETURNS(error, "fill_: the tensor " + words, fill_(dst, 1));
  CHECK_RETURNS(error, "zero_: the tensor " + words, zero_(dst));
}

// Tensors on the device are refused on either side.
void check_no_host_memory(const std::string& device) {
  const Tensor good = make_tensor({1, 2, 3});
  const std::string words = "is on " + device + ", which the host cannot reach";
  check_no_destination(Error::NotSupported, words, on(device.c_str()));
  check_refused(Error::NotSupported, "the source " + words, good, on(device.c_str()));
  CHECK(values<int32_t>(good) == Ints{1, 2, 3});
}

}  // namespace

TEST_CASE("copy_: undefined tensors and null pointers are refused on either side") {
  const Tensor good = make_tensor({1, 2, 3});
  check_no_destination(Error::InvalidState, "is undefined", Tensor());
  check_refused(Error::InvalidState, "the source is undefined", good, Tensor());
  CHECK_RETURNS(Error::InvalidState, "copy_: the destination is undefined",
                copy_(TensorPtr(), good));
  CHECK_RETURNS(Error::InvalidState, "copy_: the source is undefined", copy_(good, TensorPtr()));
  CHECK_RETURNS(Error::InvalidState, "fill_: the tensor is undefined", fill_(TensorPtr(), 1));
  CHECK_RETURNS(Error::InvalidState, "zero_: the tensor is undefined", zero_(TensorPtr()));
  CHECK_ERROR(Error::InvalidState, "plan_copy: the source is undefined",
              plan_copy(good, TensorPtr()));
  CHECK(values<int32_t>(good) == Ints{1, 2, 3});
}

TEST_CASE("copy_: a read-only destination is refused, views of it too", "[plain]") {
  const int32_t data[4] = {1, 2, 3, 4};
  auto t = from_blob(tests::read_only(data), {2, 2});
  check_no_destination(Error::InvalidState, "is read-only", *t);
  check_no_destination(Error::InvalidState, "is read-only", tenon::select(t, 0, 1));
  check_no_destination(Error::InvalidState, "is read-only",
                       tenon::for_blob(tests::read_only<int32_t>(nullptr), {0}).make_tensor());
  CHECK(Ints(data, data + 4) == Ints{1, 2, 3, 4});
}

TEST_CASE("copy_: a placeholder is refused on either side") {
  const Tensor good = make_tensor({1, 2, 3});
  const Tensor placeholder = make_tensor({3}, nullptr, ScalarType::Int);
  check_no_destination(Error::InvalidState, "is a placeholder without data", placeholder);
  check_refused(Error::InvalidState, "the source is a placeholder without data", good, placeholder);
  CHECK(values<int32_t>(good) == Ints{1, 2, 3});
}

TEST_CASE("copy_: memory that the host cannot reach is refused on either side, never touched") {
  for (const char* device : {"cuda:0", "rocm:2", "metal:0"}) check_no_host_memory(device);
  const Tensor nothing = tenon::for_blob(kDevicePointer, {0}).device("cuda:1").make_tensor();
  check_no_destination(Error::NotSupported, "is on cuda:1, which the host cannot reach", nothing);
}

TEST_CASE("copy_: memory of OpenCL is refused on either side, never touched", "[plain]") {
  check_no_host_memory("opencl:0");
}

TEST_CASE("copy_: a destination whose elements share memory is refused, with its strides") {
  int32_t data[4] = {1, 2, 3, 4};
  check_no_destination(Error::InvalidArgument,
                       "has strides {0} for sizes {2}, at which elements may share memory",
                       tenon::expand(from_blob(data, {1}), {2}));
  check_no_destination(Error::InvalidArgument, "has strides {1, 1} for sizes {2, 3}",
                       *from_blob(data, {2, 3}, {1, 1}));
  CHECK(Ints(data, data + 4) == Ints{1, 2, 3, 4});
  // One element, or none, has nothing to share with.
  CHECK(fill_(from_blob(data, {1, 1}, {0, 0}), 9) == Error::Ok);
  CHECK(fill_(from_blob(data, {0, 3}, {0, 0}), 9) == Error::Ok);
  CHECK(data[0] == 9);
}

TEST_CASE("copy_: sizes that do not broadcast are named, and nothing changes") {
  const Tensor dst = make_tensor({2, 3}, {1, 2, 3, 4, 5, 6});
  const auto check = [&](const Vector& sizes, const char* text) {
    check_refused(Error::InvalidArgument,
                  std::string("sizes ") + text +
                      " of the source do not broadcast to sizes {2, 3} of the destination",
                  dst, *tenon::ones(sizes, ScalarType::Int));
  };
  check({2}, "{2}");
  check({3, 2}, "{3, 2}");
  check({4, 3}, "{4, 3}");
  check({0, 3}, "{0, 3}");
  check({1, 2, 3}, "{1, 2, 3}");  // ATen's rule: no more dimensions than the destination's
  CHECK(values<int32_t>(dst) == Ints{1, 2, 3, 4, 5, 6});
  check_refused(Error::InvalidArgument,
                "sizes {1} of the source do not broadcast to sizes {} of the destination",
                make_tensor(1), make_tensor({1}));
  check_refused(Error::InvalidArgument, "sizes {2} of the source do not broadcast to sizes {0}",
                *tenon::zeros({0}, ScalarType::Int), make_tensor({1, 2}));
  check_refused(Error::InvalidArgument, "sizes {2} of the source do not broadcast to sizes {1}",
                make_tensor({1}), make_tensor({1, 2}));
}

TEST_CASE("copy_: casts that canCast forbids are refused by default and named") {
  const Tensor ints = make_tensor({1, 2, 3});
  const Tensor floats = make_tensor({4.0f, 5.0f, 6.0f});
  const Tensor complexes = *tenon::zeros({3}, ScalarType::ComplexFloat);
  const Tensor bools = *tenon::zeros({3}, ScalarType::Bool);
  check_refused(
      Error::InvalidType,
      "values of Float cannot be cast to Int here: convert explicitly with to(t, ScalarType::Int, "
      "CastMode::Truncate)",
      ints, floats);
  check_refused(Error::InvalidType, "values of ComplexFloat cannot be cast to Float", floats,
                complexes);
  check_refused(Error::InvalidType, "values of Int cannot be cast to Bool", bools, ints);
  CHECK(values<int32_t>(ints) == Ints{1, 2, 3});
  // Also without elements, so that the program is wrong whatever its data.
  check_refused(Error::InvalidType, "values of Float cannot be cast to Int",
                *tenon::zeros({0}, ScalarType::Int), *tenon::zeros({0}));
  check_refused(Error::InvalidType, "values of Float cannot be cast to Int", ints,
                tenon::select(floats, 0, 0));
}

TEST_CASE("copy_: a mode allows no shape, device or state that would else be refused") {
  const Tensor dst = make_tensor({1, 2, 3});
  check_refused(Error::InvalidArgument, "sizes {2} of the source do not broadcast", dst,
                make_tensor({1.0f, 2.0f}), CastMode::Saturate);
  check_refused(Error::NotSupported, "the source is on cuda:0", dst, on("cuda:0"),
                CastMode::Truncate);
  check_refused(Error::InvalidState, "the destination is undefined", Tensor(), dst,
                CastMode::Truncate);
}

TEST_CASE("fill_: a value that the type cannot hold is refused and changes nothing") {
  const Tensor bytes = *make_tensor_ptr({3}, {1, 2, 3}, ScalarType::Byte);
  CHECK_RETURNS(Error::InvalidArgument, "fill_: the value 300 does not fit Byte",
                fill_(bytes, 300));
  CHECK_RETURNS(Error::InvalidArgument, "fill_: the value -1 does not fit Byte", fill_(bytes, -1));
  CHECK_RETURNS(Error::InvalidType, "fill_: the floating value 1.5 cannot be cast to Byte",
                fill_(bytes, 1.5));
  CHECK_RETURNS(Error::InvalidType, "cannot be cast to Float",
                fill_(make_tensor({1.0f}), tenon::complex<double>(1, 2)));
  CHECK(values<uint8_t>(bytes) == std::vector<uint8_t>{1, 2, 3});
}
