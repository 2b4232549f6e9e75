// SPDX-License-Identifier: MIT
// to_dlpack and to_dlpack_legacy: what the struct says. Who keeps the memory is in
// dlpack_test.cpp.
#include "tenon/exchange/dlpack_export.h"

#include "exchange/dlpack_helpers.h"
#include "support/catch.h"
#include "tenon/tenon.h"
#include "tensor/helpers.h"

using namespace tenon;
using namespace tests;

namespace {

using Versioned = tenon::DLManagedTensorVersioned;
using Legacy = tenon::DLManagedTensor;

static_assert(std::is_same_v<decltype(to_dlpack(Tensor())), Versioned*>);
static_assert(std::is_same_v<decltype(try_to_dlpack(Tensor())), Result<Versioned*>>);
static_assert(std::is_same_v<decltype(to_dlpack_legacy(Tensor())), Legacy*>);
static_assert(std::is_same_v<decltype(try_to_dlpack_legacy(Tensor())), Result<Legacy*>>);

// An address that faults when it is read.
void* const kDevicePointer = reinterpret_cast<void*>(uintptr_t{4096});

TensorPtr on_device(const char* device) {
  return for_blob(kDevicePointer, {8}, ScalarType::Half).device(device).make_tensor_ptr();
}

// A contiguous {2, 3} of {0, 1, 2, 3, 4, 5}.
TensorPtr six() { return make_tensor_ptr({2, 3}, {0, 1, 2, 3, 4, 5}); }

// Sizes and strides that both forms state, and where their element 0 is.
void check_shape(const TensorPtr& t, const Vector& sizes, const Vector& strides, const void* data) {
  const auto check = [&](const DLTensor& made) {
    CHECK(made.ndim == static_cast<int32_t>(sizes.size()));
    CHECK(shape_of(made) == sizes);
    CHECK((sizes.empty() || made.strides != nullptr));
    CHECK(strides_of(made) == strides);
    CHECK(made.data == data);
    CHECK(made.byte_offset == 0);
  };
  check(DLPackPtr(to_dlpack(t))->dl_tensor);
  check(DLPackLegacyPtr(to_dlpack_legacy(t))->dl_tensor);
}
void check_shape(const Tensor& t, const Vector& sizes, const Vector& strides, const void* data) {
  check_shape(make_tensor_ptr(t), sizes, strides, data);
}

}  // namespace

TEST_CASE("to_dlpack: describes the tensor's own memory, without a copy") {
  const TensorPtr t = six();
  const DLPackPtr p(to_dlpack(t));
  CHECK(p->dl_tensor.data == const_data_ptr(t));
  static_cast<int32_t*>(p->dl_tensor.data)[4] = 40;
  CHECK(tests::values<int32_t>(t) == std::vector<int32_t>{0, 1, 2, 3, 40, 5});
  CHECK(DLPackPtr(to_dlpack(*t))->dl_tensor.data == const_data_ptr(t));
}

TEST_CASE("to_dlpack: contiguous tensors and ones without elements have strides too") {
  const TensorPtr t = six();
  check_shape(t, {2, 3}, {3, 1}, const_data_ptr(t));
  check_shape(empty({2, 0, 3}), {2, 0, 3}, {3, 3, 1}, nullptr);
}

TEST_CASE("to_dlpack: 0 dimensions are one element, whose data is there") {
  const TensorPtr t = make_tensor_ptr(7.5f);
  check_shape(t, {}, {}, const_data_ptr(t));
  const DLPackPtr p(to_dlpack(t));
  CHECK(*static_cast<const float*>(p->dl_tensor.data) == 7.5f);
}

TEST_CASE("to_dlpack: 64 dimensions fit") {
  const TensorPtr t = make_tensor_ptr(Vector(64, 1), {1.0f});
  check_shape(t, Vector(64, 1), Vector(64, 1), const_data_ptr(t));
}

TEST_CASE("to_dlpack: strides count elements, whatever their size") {
  const TensorPtr t = make_tensor_ptr({2, 3}, {1., 2., 3., 4., 5., 6.});
  const auto* const data = static_cast<const double*>(const_data_ptr(t));
  check_shape(transpose(t, 0, 1), {3, 2}, {1, 3}, data);
  check_shape(slice(t, 1, 0, 3, 2), {2, 2}, {3, 2}, data);
  check_shape(expand(select(t, 0, 0), {4, 3}), {4, 3}, {0, 1}, data);
}

TEST_CASE("to_dlpack: negative strides stay, with data at element 0", "[plain]") {
  const TensorPtr t = six();
  const auto* const data = static_cast<const int32_t*>(const_data_ptr(t));
  check_shape(flip(t, {0, 1}), {2, 3}, {-3, -1}, data + 5);
}

TEST_CASE("to_dlpack: strides of dimensions of size 1 stay as they are") {
  float data[128] = {};
  check_shape(from_blob(data, {1, 128}, {1, 1}), {1, 128}, {1, 1}, data);
  check_shape(from_blob(data, {128, 1}, {1, 1}), {128, 1}, {1, 1}, data);
  check_shape(from_blob(data, {1, 4}, {77, 1}), {1, 4}, {77, 1}, data);
}

TEST_CASE("to_dlpack: a view's offset is in the data pointer, the byte offset is 0") {
  const TensorPtr t = six();
  const auto* const data = static_cast<const int32_t*>(const_data_ptr(t));
  check_shape(select(t, 0, 1), {3}, {1}, data + 3);
  check_shape(narrow(t, 1, 2, 1), {2, 1}, {3, 1}, data + 2);
}

TEST_CASE("to_dlpack: without elements the data is null, and the owner is released all the same") {
  float memory[4] = {};
  tests::Calls calls;
  TensorPtr t = from_blob(memory, {0, 4}, ScalarType::Float, calls.deleter());
  DLPackPtr p(to_dlpack(t));
  CHECK(p->dl_tensor.data == nullptr);
  CHECK(p->dl_tensor.byte_offset == 0);
  t.reset();
  CHECK(calls.count == 0);
  p.reset();
  CHECK(calls.count == 1);
  const TensorPtr some = six();
  check_shape(slice(some, 0, 1, 1), {0, 3}, {3, 1}, nullptr);
}

TEST_CASE("to_dlpack: the CPU is device 1 with index 0") {
  const DLPackPtr p(to_dlpack(six()));
  CHECK(p->dl_tensor.device.device_type == 1);
  CHECK(p->dl_tensor.device.device_id == 0);
}

TEST_CASE("to_dlpack: CUDA memory has its real index, and is not touched") {
  const TensorPtr t = on_device("cuda:3");
  const DLPackPtr p(to_dlpack(t));
  CHECK(p->dl_tensor.device.device_type == 2);
  CHECK(p->dl_tensor.device.device_id == 3);
  CHECK(p->dl_tensor.data == kDevicePointer);
  CHECK(DLPackPtr(to_dlpack(on_device("cuda")))->dl_tensor.device.device_id == 0);
}

TEST_CASE("to_dlpack: pinned memory is device 3 and managed memory 13, with index 0", "[plain]") {
  for (const char* index : {":0", ":2"}) {
    const std::string at = index;
    const DLPackPtr pinned(to_dlpack(on_device(("cuda_host" + at).c_str())));
    CHECK(pinned->dl_tensor.device.device_type == 3);
    CHECK(pinned->dl_tensor.device.device_id == 0);
    const DLPackPtr managed(to_dlpack(on_device(("cuda_managed" + at).c_str())));
    CHECK(managed->dl_tensor.device.device_type == 13);
    CHECK(managed->dl_tensor.device.device_id == 0);
    const DLPackPtr rocm(to_dlpack(on_device(("rocm_host" + at).c_str())));
    CHECK(rocm->dl_tensor.device.device_type == 11);
    CHECK(rocm->dl_tensor.device.device_id == 0);
  }
}

TEST_CASE("to_dlpack: a handle stays what it is, a view of it has a byte offset", "[plain]") {
  const TensorPtr t = on_device("opencl:1");
  const DLPackPtr p(to_dlpack(t));
  CHECK(p->dl_tensor.device.device_type == 4);
  CHECK(p->dl_tensor.device.device_id == 1);
  CHECK(p->dl_tensor.data == kDevicePointer);
  CHECK(p->dl_tensor.byte_offset == 0);
  const DLPackPtr part(to_dlpack(narrow(t, 0, 3, 2)));
  CHECK(part->dl_tensor.data == kDevicePointer);
  CHECK(part->dl_tensor.byte_offset == 6);
  CHECK(shape_of(part->dl_tensor) == Vector{2});
}

TEST_CASE("to_dlpack: what lies before a handle's memory is an error, and nothing is borrowed",
          "[plain]") {
  const TensorPtr t = for_blob(kDevicePointer, {6}, ScalarType::Half)
                          .strides({-1})
                          .device("opencl")
                          .make_tensor_ptr();
  CHECK(DLPackPtr(to_dlpack(t))->dl_tensor.data == kDevicePointer);
  CHECK_ERROR(Error::NotSupported, "to_dlpack: element 0 lies before", to_dlpack(flip(t, {0})));
#if !TENON_ATEN_MODE
  CHECK_FALSE(detail::fields(t).borrows.any());
#endif
}

TEST_CASE("to_dlpack: a bool is code 6 with 8 bits, and other types have theirs, in one lane") {
  const auto check = [](ScalarType type, int code, int bits) {
    INFO(toString(type));
    const DLPackPtr p(to_dlpack(zeros({2}, type)));
    CHECK(int{p->dl_tensor.dtype.code} == code);
    CHECK(int{p->dl_tensor.dtype.bits} == bits);
    CHECK(p->dl_tensor.dtype.lanes == 1);
    const DLPackLegacyPtr old(to_dlpack_legacy(zeros({2}, type)));
    CHECK(int{old->dl_tensor.dtype.code} == code);
    CHECK(int{old->dl_tensor.dtype.bits} == bits);
    CHECK(old->dl_tensor.dtype.lanes == 1);
  };
  check(ScalarType::Bool, 6, 8);
  check(ScalarType::Byte, 1, 8);
  check(ScalarType::Long, 0, 64);
  check(ScalarType::Half, 2, 16);
  check(ScalarType::BFloat16, 4, 16);
  check(ScalarType::ComplexFloat, 5, 64);
  check(ScalarType::ComplexDouble, 5, 128);
}

TEST_CASE("to_dlpack: the version is 1.3, and the flags are 0") {
  const DLPackPtr p(to_dlpack(six()));
  CHECK(p->version.major == 1);
  CHECK(p->version.minor == 3);
  CHECK(p->flags == 0);
}

TEST_CASE("to_dlpack: a read-only tensor has flag 1, and so have its views", "[plain]") {
  static const float data[2] = {1, 2};
  const TensorPtr t = from_blob(tests::read_only(data), {2});
  CHECK(DLPackPtr(to_dlpack(t))->flags == 1);
  CHECK(DLPackPtr(to_dlpack(select(t, 0, 0)))->flags == 1);
}

TEST_CASE("to_dlpack: a copy has flag 2 and memory of its own, which nobody else writes") {
  const TensorPtr t = six();
  const DLPackPtr p(to_dlpack(t, true));
  CHECK(p->flags == 2);
  CHECK(p->dl_tensor.data != const_data_ptr(t));
  CHECK(shape_of(p->dl_tensor) == Vector{2, 3});
  mutable_data_ptr<int32_t>(t)[5] = 50;
  CHECK(static_cast<const int32_t*>(p->dl_tensor.data)[5] == 5);
  CHECK(DLPackPtr(to_dlpack(t, false))->flags == 0);
  CHECK(DLPackPtr(try_to_dlpack(t, true).value())->flags == 2);
}

TEST_CASE("to_dlpack: a copy of a broadcast tensor is dense, in the same dim order") {
  const TensorPtr t = six();
  const DLPackPtr p(to_dlpack(expand(select(t, 0, 1), {2, 3}), true));
  CHECK(strides_of(p->dl_tensor) == Vector{1, 2});
  const auto* const data = static_cast<const int32_t*>(p->dl_tensor.data);
  CHECK(std::vector<int32_t>(data, data + 6) == std::vector<int32_t>{3, 3, 4, 4, 5, 5});
}

TEST_CASE("to_dlpack: a copy of a read-only tensor may be written", "[plain]") {
  static const float data[2] = {1, 2};
  const DLPackPtr p(to_dlpack(from_blob(tests::read_only(data), {2}), true));
  CHECK(p->flags == 2);
  CHECK(p->dl_tensor.data != data);
}

TEST_CASE("to_dlpack_legacy: a read-only tensor is an error unless its word is dropped",
          "[plain]") {
  static const float data[2] = {1, 2};
  const TensorPtr t = from_blob(tests::read_only(data), {2});
  CHECK_ERROR(Error::NotSupported, "to_dlpack_legacy: the tensor is read-only",
              to_dlpack_legacy(t));
  CHECK_ERROR(Error::NotSupported, "read-only", to_dlpack_legacy(t, LegacyReadOnly::Refuse));
  CHECK(try_to_dlpack_legacy(t).error() == Error::NotSupported);
  const DLPackLegacyPtr p(to_dlpack_legacy(t, LegacyReadOnly::Drop));
  CHECK(p->dl_tensor.data == data);
  const DLPackLegacyPtr other(try_to_dlpack_legacy(t, LegacyReadOnly::Drop).value());
  CHECK(other->dl_tensor.data == data);
}

TEST_CASE("to_dlpack: the source is what it was, while the struct is alive and after") {
  const TensorPtr t = six();
  const tests::State before(*t);
  {
    const DLPackPtr p(to_dlpack(t));
    const DLPackLegacyPtr old(to_dlpack_legacy(t));
    CHECK(tests::State(*t) == before);
    CHECK(tests::values<int32_t>(t) == std::vector<int32_t>{0, 1, 2, 3, 4, 5});
  }
  CHECK(tests::State(*t) == before);
}

TEST_CASE("to_dlpack: the struct's shape is its own to write, the tensor's stays") {
  const TensorPtr t = six();
  const DLPackPtr p(to_dlpack(t));
  p->dl_tensor.shape[0] = 1;
  p->dl_tensor.strides[0] = 0;
  CHECK(tests::sizes(t) == Vector{2, 3});
  CHECK(tests::strides(t) == Vector{3, 1});
}

TEST_CASE("to_dlpack: undefined tensors and placeholders are errors by the called name") {
  CHECK_ERROR(Error::InvalidState, "to_dlpack: the tensor is undefined", to_dlpack(Tensor()));
  CHECK_ERROR(Error::InvalidState, "to_dlpack: ", to_dlpack(Tensor(), true));
  CHECK_ERROR(Error::InvalidState, "to_dlpack_legacy: the tensor is undefined",
              to_dlpack_legacy(TensorPtr()));
  auto failed = try_to_dlpack(Tensor());
  CHECK(failed.error() == Error::InvalidState);
  CHECK(tests::contains(failed.message(), "try_to_dlpack: the tensor is undefined"));
  CHECK(try_to_dlpack(Tensor(), true).error() == Error::InvalidState);
  failed = try_to_dlpack(make_tensor_ptr({2}, nullptr));
  CHECK(tests::contains(failed.message(), "try_to_dlpack: the tensor is a placeholder"));
  const auto old = try_to_dlpack_legacy(Tensor());
  CHECK(tests::contains(old.message(), "try_to_dlpack_legacy: the tensor is undefined"));
  CHECK_ERROR(Error::InvalidState, "to_dlpack: the tensor is a placeholder",
              to_dlpack(make_tensor_ptr({2}, nullptr)));
  CHECK_ERROR(Error::InvalidState, "to_dlpack: the tensor is a placeholder",
              to_dlpack(make_tensor_ptr({2}, nullptr), true));
}

TEST_CASE("to_dlpack: a template is an error, which retains nothing") {
  const TensorPtr t = make_template({2, 3}, ScalarType::Float);
  CHECK_ERROR(Error::NotSupported, "to_dlpack: the tensor is a template", to_dlpack(t));
  CHECK_ERROR(Error::NotSupported, "to_dlpack: the tensor is a template", to_dlpack(t, true));
  CHECK_ERROR(Error::NotSupported, "to_dlpack_legacy: the tensor is a template",
              to_dlpack_legacy(t));
#if !TENON_ATEN_MODE
  CHECK_FALSE(detail::fields(t).borrows.any());
  CHECK(t->use_count() == 1);
#endif
}

TEST_CASE("to_dlpack: a copy from a device needs a backend that reads it") {
  CHECK_ERROR(Error::NotSupported, "to_dlpack: the source tensor is on cuda:0",
              to_dlpack(on_device("cuda"), true));
}
