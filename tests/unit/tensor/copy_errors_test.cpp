// SPDX-License-Identifier: MIT
// What copy_, plan_copy, fill_ and zero_ refuse. All have the same rules for what is written to.
#include "support/catch.h"
#include "tenon/tensor/copy_plan.h"
#include "tenon/tensor/tensor_ptr.h"
#include "tenon/tensor/tensor_ptr_maker.h"
#include "tenon/tensor/view.h"
#include "tensor/helpers.h"

namespace copy_errors_test {

using namespace tenon;
using namespace tests;

namespace {

Tensor on(const char* device, int64_t size) {
  void* const address = reinterpret_cast<void*>(uintptr_t{4096});  // faults when it is touched
  return for_blob(address, {size}, ScalarType::Int).device(device).make_tensor();
}

// copy_ and plan_copy refuse the pair with this error.
void check_refused(Error error, const std::string& words, const Tensor& dst, const Tensor& src,
                   CastMode mode = CastMode::Checked) {
  CHECK_RETURNS(error, "copy_: " + words, copy_(dst, src, mode));
  CHECK_ERROR(error, "plan_copy: " + words, plan_copy(dst, src, mode));
  const Result<CopyPlan> plan = try_plan_copy(dst, src, mode);
  CHECK(plan.error() == error);
  CHECK(contains(plan.message(), "try_plan_copy: " + words));
}

// The four functions refuse to write to `dst`; `role` is what copy_ calls it.
void check_no_destination(Error error, const std::string& words, const Tensor& dst) {
  check_refused(error, "the destination " + words, dst, make_tensor(1));
  CHECK_RETURNS(error, "fill_: the tensor " + words, fill_(dst, 1));
  CHECK_RETURNS(error, "zero_: the tensor " + words, zero_(dst));
}
void check_neither(Error error, const std::string& words, const Tensor& tensor) {
  check_no_destination(error, words, tensor);
  const Tensor good = make_tensor({1, 2, 3});
  check_refused(error, "the source " + words, good, tensor);
  CHECK(values<int32_t>(good) == Ints{1, 2, 3});
}

}  // namespace

// A promise of docs/guarantees.md.
TEST_CASE("copy_: undefined tensors and null pointers are refused on either side") {
  check_neither(Error::InvalidState, "is undefined", Tensor());
  const Tensor good = make_tensor({1, 2, 3});
  RETURNS(InvalidState, "copy_: the destination is undefined", copy_(TensorPtr(), good));
  RETURNS(InvalidState, "copy_: the source is undefined", copy_(good, TensorPtr()));
  RETURNS(InvalidState, "fill_: the tensor is undefined", fill_(TensorPtr(), 1));
  RETURNS(InvalidState, "zero_: the tensor is undefined", zero_(TensorPtr()));
  RAISES(InvalidState, "plan_copy: the source is undefined", plan_copy(good, TensorPtr()));
}

// A promise of docs/guarantees.md.
TEST_CASE("copy_: a read-only destination is refused, views of it too") {
  const int32_t data[4] = {1, 2, 3, 4};
  const TensorPtr t = from_blob(read_only(data), {2, 2});
  for (const Tensor& dst :
       {*t, tenon::select(t, 0, 1), for_blob(read_only<int32_t>(nullptr), {0}).make_tensor()}) {
    check_no_destination(Error::InvalidState, "is read-only", dst);
  }
  CHECK(Ints(data, data + 4) == Ints{1, 2, 3, 4});
}

// A promise of docs/guarantees.md.
TEST_CASE("copy_: a placeholder, and memory that the host cannot reach, are refused") {
  check_neither(Error::InvalidState, "is a placeholder without data",
                make_tensor({3}, nullptr, ScalarType::Int));
  for (const char* device : {"cuda:0", "rocm:2", "metal:0" ATEN_LACKS(, "opencl:0")}) {
    check_neither(Error::NotSupported,
                  std::string("is on ") + device + ", which the host cannot reach", on(device, 3));
  }
  check_no_destination(Error::NotSupported, "is on cuda:1", on("cuda:1", 0));
}

// A promise of docs/guarantees.md.
TEST_CASE("copy_: a destination whose elements share memory is refused, with its strides") {
  int32_t data[4] = {1, 2, 3, 4};
  check_no_destination(Error::InvalidArgument,
                       "has strides {0} for sizes {2}, at which elements may share memory",
                       expand(from_blob(data, {1}), {2}));
  check_no_destination(Error::InvalidArgument, "has strides {1, 1} for sizes {2, 3}",
                       *from_blob(data, {2, 3}, {1, 1}));
  CHECK(Ints(data, data + 4) == Ints{1, 2, 3, 4});
  // One element, or none, has nothing to share with.
  CHECK(fill_(from_blob(data, {1, 1}, {0, 0}), 9) == Error::Ok);
  CHECK(fill_(from_blob(data, {0, 3}, {0, 0}), 9) == Error::Ok);
  CHECK(data[0] == 9);
}

// A promise of docs/guarantees.md.
TEST_CASE("copy_: sizes that do not broadcast are named, and nothing changes") {
  const struct {
    Vector src, dst;
    const char* words;
  } cases[] = {
      {{2}, {2, 3}, "sizes {2} of the source do not broadcast to sizes {2, 3} of the destination"},
      {{3, 2}, {2, 3}, "sizes {3, 2} of the source do not broadcast to sizes {2, 3}"},
      {{1, 2, 3}, {2, 3}, "sizes {1, 2, 3} of"},  // as in ATen: no more dimensions
      {{1}, {}, "sizes {1} of the source do not broadcast to sizes {}"},
      {{2}, {1}, "sizes {2} of the source do not broadcast to sizes {1}"},
  };
  for (const auto& c : cases) {
    const TensorPtr dst = zeros(c.dst);
    check_refused(Error::InvalidArgument, c.words, *dst, *ones(c.src));
    CHECK(tests::values<float>(dst) == Floats(static_cast<size_t>(dst->numel())));
  }
}

// A promise of docs/guarantees.md.
TEST_CASE("copy_: casts that canCast forbids are refused by default and named") {
  const Tensor ints = make_tensor({1, 2, 3});
  const Tensor floats = make_tensor({4.0f, 5.0f, 6.0f});
  const struct {
    Tensor dst, src;
    const char* words;
  } cases[] = {
      {ints, floats,
       "values of Float cannot be cast to Int here: give a CastMode, as in to(t, "
       "ScalarType::Int, CastMode::Saturate)"},
      {floats, *zeros({3}, ScalarType::ComplexFloat),
       "values of ComplexFloat cannot be cast to Float"},
      {*zeros({3}, ScalarType::Bool), ints, "values of Int cannot be cast to Bool"},
      // Also without elements, so that the program is wrong whatever its data.
      {ints, tenon::select(floats, 0, 0), "values of Float cannot be cast to Int"},
  };
  for (const auto& c : cases) check_refused(Error::InvalidType, c.words, c.dst, c.src);
  CHECK(values<int32_t>(ints) == Ints{1, 2, 3});
}

// A promise of docs/guarantees.md.
TEST_CASE("fill_: a value that the type cannot hold is refused and changes nothing") {
  const Tensor bytes = *make_tensor_ptr({3}, {1, 2, 3}, ScalarType::Byte);
  RETURNS(InvalidArgument, "fill_: the value 300 does not fit Byte", fill_(bytes, 300));
  RETURNS(InvalidArgument, "fill_: the value -1 does not fit Byte", fill_(bytes, -1));
  RETURNS(InvalidType, "fill_: the floating value 1.5 cannot be cast to Byte", fill_(bytes, 1.5));
  RETURNS(InvalidType, "cannot be cast to Float",
          fill_(make_tensor({1.0f}), tenon::complex<double>(1, 2)));
  CHECK(values<uint8_t>(bytes) == Bytes{1, 2, 3});
}

}  // namespace copy_errors_test
