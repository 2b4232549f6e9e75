// SPDX-License-Identifier: MIT
// to_dlpack and to_dlpack_legacy: what the struct says. Who keeps the memory is in
// dlpack_test.cpp.
#include "tenon/exchange/dlpack_export.h"

#include "backend/helpers.h"
#include "exchange/dlpack_helpers.h"
#include "support/catch.h"
#include "tenon/tenon.h"
#include "tensor/helpers.h"

namespace dlpack_export_test {

using namespace tenon;
using namespace tests;

namespace {

using Versioned = dlpack::DLManagedTensorVersioned;
using Legacy = dlpack::DLManagedTensor;

static_assert(std::is_same_v<decltype(to_dlpack(Tensor())), Versioned*>);
static_assert(std::is_same_v<decltype(try_to_dlpack(Tensor())), Result<Versioned*>>);
static_assert(std::is_same_v<decltype(to_dlpack_legacy(Tensor())), Legacy*>);
static_assert(std::is_same_v<decltype(try_to_dlpack_legacy(Tensor())), Result<Legacy*>>);

// An address that faults when it is read.
void* const kDevicePointer = reinterpret_cast<void*>(uintptr_t{4096});

TensorPtr on_device(const std::string& device) {
  return for_blob(kDevicePointer, {8}, ScalarType::Half).device(device.c_str()).make_tensor_ptr();
}

// A contiguous {2, 3} of {0, 1, 2, 3, 4, 5}.
TensorPtr six() { return make_tensor_ptr({2, 3}, {0, 1, 2, 3, 4, 5}); }

// Sizes and strides that both forms state, and where their element 0 is.
void check_shape(const TensorArg& t, const Vector& sizes, const Vector& strides, const void* data) {
  const auto check = [&](const dlpack::DLTensor& made) {
    CAPTURE(sizes, strides);
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

}  // namespace

TEST_CASE(
    "to_dlpack: describes the tensor's own memory, of the CPU, by version 1.3 without flags") {
  const TensorPtr t = six();
  const State before(*t);
  {
    const DLPackPtr p(to_dlpack(t));
    CHECK(p->version.major == 1);
    CHECK(p->version.minor == 3);
    CHECK(p->flags == 0);
    CHECK(p->dl_tensor.device.device_type == 1);
    CHECK(p->dl_tensor.device.device_id == 0);
    CHECK(p->dl_tensor.data == const_data_ptr(t));
    static_cast<int32_t*>(p->dl_tensor.data)[4] = 40;
    CHECK(values<int32_t>(t) == Ints{0, 1, 2, 3, 40, 5});
    p->dl_tensor.shape[0] = 1;  // its own to write
    p->dl_tensor.strides[0] = 0;
    CHECK(State(*t) == before);
  }
  CHECK(State(*t) == before);
}

TEST_CASE(
    "to_dlpack: has the sizes and strides of any tensor, in elements, and element 0's address") {
  const TensorPtr t = make_tensor_ptr({2, 3}, {1., 2., 3., 4., 5., 6.});
  const auto* const data = static_cast<const double*>(const_data_ptr(t));
  check_shape(t, {2, 3}, {3, 1}, data);
  check_shape(transpose(t, 0, 1), {3, 2}, {1, 3}, data);
  check_shape(expand(select(t, 0, 0), {4, 3}), {4, 3}, {0, 1}, data);
  check_shape(empty({2, 0, 3}), {2, 0, 3}, {3, 3, 1}, nullptr);
  const TensorPtr scalar = make_tensor_ptr(7.5f);
  check_shape(scalar, {}, {}, const_data_ptr(scalar));
  const TensorPtr deep = make_tensor_ptr(Vector(64, 1), {1.0f});
  check_shape(deep, Vector(64, 1), Vector(64, 1), const_data_ptr(deep));
  // Strides of dimensions of size 1 stay as they are.
  float row[128] = {};
  check_shape(from_blob(row, {128, 1}, {1, 1}), {128, 1}, {1, 1}, row);
}

TEST_CASE("to_dlpack: what lies before a handle's memory is an error, and nothing is borrowed",
          "[plain]") {
  const TensorPtr t = for_blob(kDevicePointer, {6}, ScalarType::Half)
                          .strides({-1})
                          .device("opencl")
                          .make_tensor_ptr();
  CHECK(DLPackPtr(to_dlpack(t))->dl_tensor.data == kDevicePointer);
  RAISES(NotSupported, "to_dlpack: element 0 lies before", to_dlpack(flip(t, {0})));
#if !TENON_ATEN_MODE
  CHECK_FALSE(detail::fields(t).borrows.any());
#endif
}

TEST_CASE("to_dlpack: a copy has flag 2 and memory of its own, which nobody else writes") {
  const TensorPtr t = six();
  const DLPackPtr p(to_dlpack(t, true));
  CHECK(p->flags == 2);
  CHECK(p->dl_tensor.data != const_data_ptr(t));
  mutable_data_ptr<int32_t>(t)[5] = 50;
  CHECK(static_cast<const int32_t*>(p->dl_tensor.data)[5] == 5);
}

// A promise of docs/guarantees.md.
TEST_CASE("to_dlpack: a read-only tensor has flag 1, its views too; a copy may be written") {
  static const float data[2] = {1, 2};
  const TensorPtr t = from_blob(read_only(data), {2});
  CHECK(DLPackPtr(to_dlpack(t))->flags == 1);
  CHECK(DLPackPtr(to_dlpack(select(t, 0, 0)))->flags == 1);
  const DLPackPtr copy(to_dlpack(t, true));
  CHECK(copy->flags == 2);
  RAISES(NotSupported, "to_dlpack_legacy: the tensor is read-only", to_dlpack_legacy(t));
  const DLPackLegacyPtr dropped(to_dlpack_legacy(t, LegacyReadOnly::Drop));
  CHECK(dropped->dl_tensor.data == data);
  const DLPackLegacyPtr other(try_to_dlpack_legacy(t, LegacyReadOnly::Drop).value());
  CHECK(other->dl_tensor.data == data);
}

TEST_CASE("to_dlpack: what has no data is an error by the called name, which retains nothing") {
  const auto check = [](const TensorArg& t, Error error, const std::string& words) {
    CHECK_ERROR(error, "to_dlpack: " + words, to_dlpack(t));
    CHECK_ERROR(error, "to_dlpack: ", to_dlpack(t, true));
    CHECK_ERROR(error, "to_dlpack_legacy: " + words, to_dlpack_legacy(t));
    const auto made = try_to_dlpack(t);
    CHECK(made.error() == error);
    CHECK(contains(made.message(), "try_to_dlpack: " + words));
    CHECK(try_to_dlpack(t, true).error() == error);
    CHECK(contains(try_to_dlpack_legacy(t).message(), "try_to_dlpack_legacy: " + words));
  };
  check(Tensor(), Error::InvalidState, "the tensor is undefined");
  check(TensorPtr(), Error::InvalidState, "the tensor is undefined");
  check(make_tensor_ptr({2}, nullptr), Error::InvalidState, "the tensor is a placeholder");
  const TensorPtr t = make_template({2, 3}, ScalarType::Float);
  check(t, Error::NotSupported, "the tensor is a meta tensor");
#if !TENON_ATEN_MODE
  CHECK_FALSE(detail::fields(t).borrows.any());
  CHECK(t->use_count() == 1);
  check(for_blob(kDevicePointer, {8}).device({DeviceType::Expr, 0}).make_tensor_ptr(),
        Error::NotSupported, "DLPack has no device expr:0");
  MinimalBackend own("own", Device());
  check(zeros({2}, own), Error::NotSupported,
        "the tensor is in memory on cpu that only its backend reaches, which DLPack cannot say");
#endif
  RAISES(NotSupported, "to_dlpack: the source tensor is on cuda:0",
         to_dlpack(on_device("cuda"), true));
}

}  // namespace dlpack_export_test
