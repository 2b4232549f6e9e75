// SPDX-License-Identifier: MIT
// Needs ExecuTorch, and is built with it by interop/runtimes/executorch/CMakeLists.txt.
#include "tenon/interop/runtimes/executorch_tensors.h"

#include <executorch/extension/tensor/tensor.h>
#include <executorch/runtime/core/exec_aten/util/scalar_type_util.h>
#include <executorch/runtime/platform/runtime.h>
#include <optional>
#include <stdexcept>

#include "allocation/counting_malloc.h"
#include "support/catch.h"
#include "tenon/backend/template.h"
#include "tenon/tensor/clone.h"
#include "tenon/tensor/creators.h"
#include "tenon/tensor/resize.h"
#include "tenon/tensor/tensor_ptr.h"
#include "tenon/tensor/tensor_ptr_maker.h"
#include "tenon/tensor/view.h"
#include "tensor/helpers.h"

namespace executorch_tensors_test {

using namespace tenon;
using EEValue = executorch::runtime::EValue;
using Theirs = executorch::runtime::Error;
using executorch::runtime::BoxedEvalueList;
using tenon::detail::check_executorch;
using tenon::detail::ExecutorchLayout;
using tenon::detail::make_executorch_layout;
using tenon::detail::own_error;
using tests::Calls;
using tests::dim_order;
using tests::Floats;
using tests::sizes;
using tests::strides;
using tests::values;
using tests::Vector;

namespace {

float memory[8] = {0, 1, 2, 3, 4, 5, 6, 7};

Error make(const TensorArg& tensor, ExecutorchLayout& layout) {
  return make_executorch_layout(tensor, layout);
}
Error make(const TensorArg& tensor) {
  ExecutorchLayout layout;
  return make(tensor, layout);
}
// Over memory that is never touched, so that there may be any number of elements.
Error make(const Dims& sizes, const Dims& strides = {}) {
  return make(for_blob(memory, sizes).strides(strides).make_tensor());
}

Vector sizes(const ExecutorchLayout& layout) {
  return Vector(layout.sizes, layout.sizes + layout.rank);
}
Vector strides(const ExecutorchLayout& layout) {
  return Vector(layout.strides, layout.strides + layout.rank);
}
Vector dim_order(const ExecutorchLayout& layout) {
  return Vector(layout.dim_order, layout.dim_order + layout.rank);
}

namespace theirs = executorch::aten;
using ETensorPtr = executorch::extension::TensorPtr;

// A tensor of theirs over `memory` whose deleter is counted.
ETensorPtr counted(Calls& calls, std::vector<int32_t> shape) {
  return executorch::extension::for_blob(memory, std::move(shape))
      .deleter([&calls](void* p) { calls.deleter()(p); })
      .make_tensor_ptr();
}

// A 1-d tensor of theirs as a runtime has it: without an owner.
class Raw {
 public:
  explicit Raw(theirs::ScalarType type, void* data = memory,
               theirs::Device device = theirs::DeviceType::CPU)
      : impl_(type, 1, sizes_, data, order_, strides_, theirs::TensorShapeDynamism::STATIC,
              device.type(), device.index()) {}
  theirs::Tensor tensor() { return theirs::Tensor(&impl_); }

 private:
  int32_t sizes_[1] = {4};
  uint8_t order_[1] = {0};
  int32_t strides_[1] = {1};
  theirs::TensorImpl impl_;
};

// The heap allocations of f, whose result is dropped.
template <class F>
int64_t allocations_of(const F& f) {
  tests::start_counting();
  { [[maybe_unused]] const auto result = f(); }
  tests::stop_counting();
  CHECK(tests::live_blocks() == 0);
  return tests::allocations();
}

// Calls f with the n-th allocation failing, for every n until it succeeds; returns how many failed.
template <class F>
int fail_each(const F& f) {
  for (int n = 0;; ++n) {
    tests::start_counting(n + 1);
    const auto made = f();
    const bool failed = tests::failures() != 0;
    tests::stop_counting();
    CHECK(made.ok() != failed);
    if (!failed) return n;
    CHECK(made.error() == Error::OutOfMemory);
  }
}

float four[4] = {1, 2, 3, 4};
int32_t shape[1] = {4};
uint8_t order[1] = {0};
int32_t one[1] = {1};

// A tensor of theirs over `four`, as a method has it.
struct Planned {
  theirs::TensorImpl impl{theirs::ScalarType::Float, 1, shape, four, order, one};
  theirs::Tensor tensor{&impl};
};

// An owner whose end is counted.
std::shared_ptr<int> counter(Calls& calls) {
  return std::shared_ptr<int>(new int(0), [&calls](int* p) {
    calls.deleter()(p);
    delete p;
  });
}

}  // namespace

TEST_CASE("executorch errors: each is of the kind that a caller can act on") {
  const std::pair<Error, std::vector<Theirs>> rows[] = {
      {Error::Ok, {Theirs::Ok}},
      {Error::Internal, {Theirs::Internal}},
      {Error::InvalidState,
       {Theirs::InvalidState, Theirs::EndOfMethod, Theirs::AlreadyLoaded,
        Theirs::RegistrationAlreadyRegistered, Theirs::DelegateInvalidHandle}},
      {Error::NotSupported,
       {Theirs::NotSupported, Theirs::NotImplemented, Theirs::OperatorMissing,
        Theirs::RegistrationExceedingMaxKernels, Theirs::DelegateInvalidCompatibility}},
      {Error::InvalidArgument,
       {Theirs::InvalidArgument, Theirs::InvalidProgram, Theirs::InvalidExternalData}},
      {Error::InvalidType, {Theirs::InvalidType}},
      {Error::NotFound, {Theirs::NotFound}},
      {Error::AccessFailed, {Theirs::AccessFailed}},
      {Error::OutOfMemory,
       {Theirs::MemoryAllocationFailed, Theirs::OutOfResources,
        Theirs::DelegateMemoryAllocationFailed}},
  };
  for (const auto& [own, theirs] : rows) {
    CAPTURE(toString(own));
    for (const Theirs error : theirs) CHECK(own_error(error) == own);
  }
}

TEST_CASE("executorch errors: the message has what was done and the runtime's name; Ok leaves it") {
  RETURNS(InvalidArgument, "set_input of input 0: ExecuTorch says InvalidArgument",
          check_executorch(Theirs::InvalidArgument, "set_input of input ", 0));
  CHECK(check_executorch(Theirs::Ok, "execute") == Error::Ok);
  CHECK(tests::contains(last_error_message(), "set_input of input 0"));
  RETURNS(Internal, "execute: ExecuTorch says Unknown",
          check_executorch(static_cast<Theirs>(0x7e5), "execute"));
}

TEST_CASE("ExecutorchLayout: sizes, strides and dim order of what is dense in any order") {
  const struct {
    Tensor tensor;
    Vector sizes, strides, dim_order;
  } rows[] = {
      {for_blob(memory, {2, 3, 4}).make_tensor(), {2, 3, 4}, {12, 4, 1}, {0, 1, 2}},
      {transpose(for_blob(memory, {2, 3}).make_tensor(), 0, 1), {3, 2}, {1, 3}, {1, 0}},
      {for_blob(memory, {1, 2, 3, 4}).dim_order({0, 2, 3, 1}).make_tensor(),
       {1, 2, 3, 4},
       {24, 1, 8, 2},
       {0, 2, 3, 1}},
      {*scalar_tensor(3), {}, {}, {}},
      {*empty({2, 0, 3}), {2, 0, 3}, {3, 3, 1}, {0, 1, 2}},
      {for_blob(memory, {1, 2, 1, 3}).strides({-7, 3, 50, 1}).make_tensor(),
       {1, 2, 1, 3},
       {6, 3, 3, 1},
       {0, 1, 2, 3}},
      {for_blob(memory, {0, 4}).strides({9, 9}).make_tensor(), {0, 4}, {4, 1}, {0, 1}},
      {*empty(Vector(16, 1)),
       Vector(16, 1),
       Vector(16, 1),
       {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}},
      {for_blob(memory, {4, 65536, 32767}).make_tensor(),  // more elements than 32 bits count
       {4, 65536, 32767},
       {2147418112, 32767, 1},
       {0, 1, 2}},
  };
  for (const auto& row : rows) {
    ExecutorchLayout layout;
    CAPTURE(row.sizes);
    REQUIRE(make(row.tensor, layout) == Error::Ok);
    CHECK(sizes(layout) == row.sizes);
    CHECK(strides(layout) == row.strides);
    CHECK(dim_order(layout) == row.dim_order);
    const executorch::aten::TensorImpl impl = layout.make_impl();
    CHECK(impl.numel() == row.tensor.numel());
    CHECK(impl.strides().data() == layout.strides);
    CHECK(impl.dim_order().data() == layout.dim_order);
    CHECK(layout.data == row.tensor.const_data_ptr());
    CHECK(layout.device_type == executorch::aten::DeviceType::CPU);
  }
}

TEST_CASE("ExecutorchLayout: gaps, broadcasts, reversed dimensions and what is too large") {
  RETURNS(NotSupported,
          "strides {4, 1} of sizes {2, 3} are not dense, but ExecuTorch's have to be; "
          "contiguous() makes a copy",
          make({2, 3}, {4, 1}));
  RETURNS(NotSupported, "strides {0, 1}", make({2, 3}, {0, 1}));
  RETURNS(NotSupported, "strides {2}", make({3}, {2}));
  RETURNS(NotSupported, "strides {-1}", make(flip(for_blob(memory, {3}).make_tensor(), {0})));
  RETURNS(NotSupported, "the tensor has 17 dimensions, but ExecuTorch's tensors have at most 16",
          make(empty(Vector(17, 1))));
  CHECK(make({2147483647}) == Error::Ok);
  RETURNS(NotSupported, "sizes {2147483648} or their strides do not fit ExecuTorch's 32 bits",
          make({2147483648}));
  RETURNS(NotSupported, "sizes {2, 65536, 32768} or their strides", make({2, 65536, 32768}));
  RETURNS(NotSupported, "do not fit ExecuTorch's 32 bits", make({0, 65536, 65536}));
}

TEST_CASE("ExecutorchLayout: every dtype has its number, name and size in ExecuTorch") {
  int count = 0;
  for (int number = 0; number < static_cast<int>(ScalarType::Undefined); ++number) {
    const auto type = static_cast<ScalarType>(number);
    if (!isValidType(type)) continue;
    INFO(toString(type));
    ExecutorchLayout layout;
    REQUIRE(make(for_blob(static_cast<void*>(memory), {2}, type).make_tensor(), layout) ==
            Error::Ok);
    CHECK(std::string(executorch::runtime::toString(layout.type)) == toString(type));
    CHECK(layout.make_impl().nbytes() == 2 * elementSize(type));
    CHECK(from_executorch(Raw(layout.type).tensor()).scalar_type() == type);
    ++count;
  }
  CHECK(count == 20);
  for (const auto asked : {TensorShapeDynamism::STATIC, TensorShapeDynamism::DYNAMIC_BOUND,
                           TensorShapeDynamism::DYNAMIC_UNBOUND}) {
    ExecutorchLayout layout;
    REQUIRE(make(empty({2}, ScalarType::Float, asked), layout) == Error::Ok);
    CHECK(static_cast<int>(layout.dynamism) == static_cast<int>(asked));
  }
}

TEST_CASE("ExecutorchLayout: CUDA's devices stay, pinned memory is the host's") {
  const auto on = [](Device device, ExecutorchLayout& layout) {
    return make(for_blob(memory, {2}).device(device).make_tensor(), layout);
  };
  ExecutorchLayout layout;
  REQUIRE(on("cuda:3", layout) == Error::Ok);
  CHECK(layout.device_type == executorch::aten::DeviceType::CUDA);
  CHECK(layout.device_index == 3);
  CHECK(layout.make_impl().device_index() == 3);
  for (const int8_t index : {int8_t{0}, int8_t{2}, int8_t{-1}}) {
    Raw raw(theirs::ScalarType::Float, memory, {theirs::DeviceType::CUDA, index});
    CHECK(from_executorch(raw.tensor()).device() == Device(DeviceType::CUDA, std::max(0, +index)));
  }
  REQUIRE(on("cuda_host:3", layout) == Error::Ok);
  CHECK(layout.device_type == executorch::aten::DeviceType::CPU);
  CHECK(layout.device_index == 0);
  RETURNS(NotSupported, "ExecuTorch has no device cuda:128", on("cuda:128", layout));
  RETURNS(NotSupported, "ExecuTorch has no device opencl:0", on("opencl", layout));
}

TEST_CASE("ExecutorchLayout: a tensor without memory is refused") {
  RETURNS(InvalidState, "the tensor is undefined", make(Tensor()));
  RETURNS(InvalidState, "the tensor is undefined", make(TensorPtr()));
  RETURNS(InvalidState, "the tensor is a placeholder without data",
          make(make_tensor_ptr({2, 3}, nullptr)));
  MetaBackend meta;
  RETURNS(NotSupported, "is a meta tensor", make(empty({2}, meta)));
  TensorPtr gone = zeros({2});
  CHECK(backend_deallocate(gone) == Deallocation::Ok);
  RETURNS(InvalidState, "was deallocated", make(gone));
}

TEST_CASE("to_executorch: the TensorPtr has the tensor's memory, sizes, dim order and dtype") {
  const TensorPtr t = make_tensor_ptr({2, 3}, {1, 2, 3, 4, 5, 6});
  const ETensorPtr e = to_executorch(t);
  CHECK(e->const_data_ptr() == t->const_data_ptr());
  CHECK(e->scalar_type() == theirs::ScalarType::Int);
  CHECK(e.use_count() == 1);
  const ETensorPtr last =
      to_executorch(for_blob(memory, {1, 2, 2, 2}).dim_order({0, 2, 3, 1}).make_tensor());
  CHECK(tests::list(last->strides()) == Vector{8, 1, 4, 2});
  CHECK(tests::list(last->dim_order()) == Vector{0, 2, 3, 1});
  const int64_t shape_one[] = {2, 2};
  TensorImpl impl(ScalarType::Float, 2, shape_one, memory);  // stays the caller's
  CHECK(to_executorch(Tensor(&impl))->const_data_ptr() == memory);
}

TEST_CASE("to_executorch: the memory, viewed or not, lives until the last TensorPtr is dropped") {
  Calls calls;
  TensorPtr t = from_blob(memory, {2, 4}, ScalarType::Float, calls.deleter());
  to_executorch(t).reset();
  CHECK(t->use_count() == 1);
  ETensorPtr e = to_executorch(select(t, 0, 1));
  ETensorPtr other = e;
  t.reset();
  e.reset();
  CHECK(calls.count == 0);
  CHECK(other->const_data_ptr() == memory + 4);
  CHECK(tests::list(other->sizes()) == Vector{4});
  other.reset();
  CHECK(calls.count == 1);
  CHECK(calls.argument == memory);
}

TEST_CASE("to_executorch: what ExecuTorch cannot have is refused, and not borrowed") {
  static const float constants[3] = {1, 2, 3};
  Calls calls;
  TensorPtr padded = from_blob(memory, {2, 3}, {4, 1}, ScalarType::Float, calls.deleter());
  RAISES(NotSupported, "to_executorch: the tensor is read-only",
         to_executorch(for_blob(constants, {3}).make_tensor()));
  RAISES(NotSupported, "to_executorch: strides {4, 1} of sizes {2, 3} are not dense",
         to_executorch(padded));
  padded.reset();
  CHECK(calls.count == 1);
  RETURNS(InvalidState, "try_to_executorch: the tensor is undefined",
          try_to_executorch(TensorPtr()).error());
  CHECK((*try_to_executorch(zeros({2})))->numel() == 2);
}

TEST_CASE("from_executorch: the tensor has the memory, sizes, strides, dim order and dtype") {
  const ETensorPtr e =
      executorch::extension::make_tensor_ptr({2, 3}, {1.f, 2.f, 3.f, 4.f, 5.f, 6.f});
  const Tensor t = from_executorch(e);
  CHECK(t.const_data_ptr() == e->const_data_ptr());
  CHECK(t.shape_dynamism() == TensorShapeDynamism::DYNAMIC_BOUND);
  CHECK(t.device() == Device());
  CHECK(t.ownership() == Ownership::Adopted);
  CHECK_FALSE(t.is_readonly());
  const Tensor last = from_executorch(
      executorch::extension::make_tensor_ptr({1, 2, 2, 2}, memory, {0, 2, 3, 1}, {8, 1, 4, 2}));
  CHECK(strides(last) == Vector{8, 1, 4, 2});
  CHECK(dim_order(last) == Vector{0, 2, 3, 1});
  CHECK(values<float>(last) == Floats{0, 2, 4, 6, 1, 3, 5, 7});
  const Tensor scalar = from_executorch(executorch::extension::make_tensor_ptr(7.f));
  CHECK(scalar.shape_dynamism() == TensorShapeDynamism::STATIC);
  CHECK(scalar.item<float>() == 7);
  CHECK(strides(from_executorch(executorch::extension::empty({2, 0, 3}))) == Vector{3, 3, 1});
}

TEST_CASE("from_executorch: the TensorPtr lives until the tensor is gone, or one of the two") {
  Calls calls;
  ETensorPtr e = counted(calls, {2, 3});
  static_cast<void>(from_executorch(e));
  CHECK(e.use_count() == 1);
  Tensor t = from_executorch(e);
  CHECK(e.use_count() == 2);
  e.reset();
  Tensor view = select(t, 0, 1);
  t = Tensor();
  CHECK(calls.count == 0);
  CHECK(values<float>(view) == Floats{3, 4, 5});
  view = Tensor();
  CHECK(calls.count == 1);
  e = counted(calls, {2, 3});
  t = from_executorch(*e);  // borrowed
  CHECK(t.ownership() == Ownership::Borrowed);
  CHECK(t.const_data_ptr() == memory);
  CHECK(e.use_count() == 1);
  e.reset();
  CHECK(calls.count == 2);
}

TEST_CASE("from_executorch: of a refused tensor the owners are dropped") {
  Calls calls;
  Raw quantised(theirs::ScalarType::QInt8);
  CHECK_FALSE(try_from_executorch(quantised.tensor(), counter(calls)).ok());
  CHECK(calls.count == 1);
  Raw unbound(theirs::ScalarType::Float, nullptr);
  RAISES(InvalidState, "from_executorch: ExecuTorch's tensor has no memory yet",
         from_executorch(unbound.tensor(), counter(calls)));
  CHECK(calls.count == 2);
  RAISES(InvalidState, "from_executorch: ExecuTorch's tensor is null",
         from_executorch(ETensorPtr()));
  RAISES(InvalidState, "ExecuTorch's tensor is null",
         from_executorch(theirs::Tensor(nullptr), counter(calls)));
  CHECK(calls.count == 3);
}

#if defined(NDEBUG)  // else assertions of ExecuTorch's end the program
TEST_CASE("from_executorch: a TensorImpl without strides or dim order has those that are implied") {
  int32_t shape[] = {2, 3};
  uint8_t order[] = {1, 0};
  int32_t steps[] = {1, 2};
  const auto taken = [&](uint8_t* dim_order, int32_t* strides) {
    theirs::TensorImpl impl(theirs::ScalarType::Float, 2, shape, memory, dim_order, strides);
    return from_executorch(theirs::Tensor(&impl));
  };
  CHECK(strides(taken(nullptr, nullptr)) == Vector{3, 1});
  CHECK(strides(taken(order, nullptr)) == Vector{1, 2});
  CHECK(dim_order(taken(nullptr, steps)) == Vector{1, 0});
  CHECK(strides(taken(order, steps)) == Vector{1, 2});
}
#endif

TEST_CASE("from_executorch: padded strides are kept, those beside the dim order refused") {
  int32_t shape_one[] = {2, 3};
  uint8_t order_one[] = {0, 1};
  int32_t padded[] = {4, 1};
  int32_t transposed[] = {1, 2};
  theirs::TensorImpl rows(theirs::ScalarType::Float, 2, shape_one, memory, order_one, padded);
  CHECK(values<float>(from_executorch(theirs::Tensor(&rows))) == Floats{0, 1, 2, 4, 5, 6});
  theirs::TensorImpl wrong(theirs::ScalarType::Float, 2, shape_one, memory, order_one, transposed);
  RAISES(InvalidArgument, "strides {1, 2} do not nest in the order of dim_order {0, 1}",
         from_executorch(theirs::Tensor(&wrong)));
}

TEST_CASE("to_executorch, from_executorch: one allocation, and when that fails nothing is kept") {
  if (!tests::heap_is_counted()) return;  // sanitizers have their own heap
  const TensorPtr t = zeros({2, 3});
  const ETensorPtr e = executorch::extension::from_blob(memory, {2, 3});
  CHECK(allocations_of([&] { return to_executorch(t); }) == 1);
  CHECK(fail_each([&] { return try_to_executorch(t); }) == 1);
  CHECK(t->use_count() == 1);
  CHECK(allocations_of([&] { return from_executorch(e); }) == 1);
  CHECK(fail_each([&] { return try_from_executorch(e); }) == 1);
  CHECK(e.use_count() == 1);
  double doubles[] = {0.5, 1.5};
  theirs::ArrayRef<double> double_list(doubles, 2);
  const EEValue list(&double_list);
  CHECK(fail_each([&] { return try_from_executorch(list); }) == 2);
  Planned planned;
  const EEValue tensor(planned.tensor);
  CHECK(fail_each([&] { return try_from_executorch(tensor); }) == 1);
}

TEST_CASE("from_executorch: None, numbers and flags of an EValue, texts and lists copied") {
  CHECK(from_executorch(EEValue()).isNone());
  CHECK(from_executorch(EEValue(int64_t{-5})).toInt() == -5);
  CHECK(from_executorch(EEValue(0.5)).toDouble() == 0.5);
  CHECK(from_executorch(EEValue(true)).toBool());
  std::string text = "nchw";
  theirs::ArrayRef<char> characters(text.data(), text.size());
  const EValue value = from_executorch(EEValue(&characters));
  text = "nhwc";
  CHECK(value.toString() == "nchw");
  double doubles[] = {0.5, 1.5};
  bool bools[] = {true, false, true};
  theirs::ArrayRef<double> double_list(doubles, 2);
  theirs::ArrayRef<bool> bool_list(bools, 3);
  const EValue a = from_executorch(EEValue(&double_list));
  const EValue b = from_executorch(EEValue(&bool_list));
  doubles[0] = 9;
  bools[0] = false;
  CHECK(a.toDoubleList().vec() == tests::Doubles{0.5, 1.5});
  CHECK(b.toBoolList().vec() == std::vector<bool>{true, false, true});
  EEValue elements[] = {EEValue(int64_t{7}), EEValue(int64_t{8})};
  EEValue* pointers[] = {&elements[0], &elements[1]};
  int64_t room[2] = {};
  BoxedEvalueList<int64_t> ints(pointers, room, 2);
  CHECK(from_executorch(EEValue(&ints)).toIntList().vec() == Vector{7, 8});
}

TEST_CASE("from_executorch: lists of tensors, optional ones too") {
  Calls calls;
  Planned planned;
  EEValue elements[] = {EEValue(planned.tensor), EEValue()};
  EEValue* pointers[] = {&elements[0], &elements[0]};
  std::vector<theirs::Tensor> room(2, theirs::Tensor(nullptr));
  BoxedEvalueList<theirs::Tensor> tensors(pointers, room.data(), 2);
  EValue list = from_executorch(EEValue(&tensors), counter(calls));
  REQUIRE(list.toTensorList().size() == 2);
  CHECK(list.toTensorList()[0].const_data_ptr() == four);
  CHECK(values<float>(list.toTensorList()[1]) == Floats{1, 2, 3, 4});
  CHECK(calls.count == 0);
  list = EValue();
  CHECK(calls.count == 1);

  EEValue* mixed[] = {&elements[1], &elements[0]};
  std::vector<std::optional<theirs::Tensor>> optional_room(2);
  BoxedEvalueList<std::optional<theirs::Tensor>> optionals(mixed, optional_room.data(), 2);
  const EValue some = from_executorch(EEValue(&optionals));
  REQUIRE(some.toOptionalTensorList().size() == 2);
  CHECK_FALSE(some.toOptionalTensorList()[0].defined());
  CHECK(some.toOptionalTensorList()[1].const_data_ptr() == four);
  CHECK(some.toOptionalTensorList()[1].ownership() == Ownership::Borrowed);
}

TEST_CASE("from_executorch: what an EValue cannot give is an error, and the owner is dropped") {
  Calls calls;
  Planned planned;
  theirs::TensorImpl unbound(theirs::ScalarType::Float, 1, shape, nullptr);
  RAISES(InvalidState, "from_executorch: ExecuTorch's tensor has no memory yet",
         from_executorch(EEValue(theirs::Tensor(&unbound)), counter(calls)));
  CHECK(calls.count == 1);

  EEValue elements[] = {EEValue(planned.tensor), EEValue(theirs::Tensor(&unbound)), EEValue(0.5)};
  std::vector<theirs::Tensor> room(2, theirs::Tensor(nullptr));
  EEValue* second[] = {&elements[0], &elements[1]};
  BoxedEvalueList<theirs::Tensor> one_bad(second, room.data(), 2);
  RETURNS(InvalidState,
          "try_from_executorch: element 1 of a ListTensor: ExecuTorch's tensor has no memory yet",
          try_from_executorch(EEValue(&one_bad), counter(calls)).error());
  CHECK(calls.count == 2);

  EEValue* other_type[] = {&elements[0], &elements[2]};
  BoxedEvalueList<theirs::Tensor> mistyped(other_type, room.data(), 2);
  RETURNS(InvalidType, "try_from_executorch: reading a ListTensor: ExecuTorch says InvalidType",
          try_from_executorch(EEValue(&mistyped)).error());

  EEValue scalars;
  scalars.tag = executorch::runtime::Tag::ListScalar;
  RAISES(NotSupported, "tag number 10", from_executorch(scalars));
}

}  // namespace executorch_tensors_test
