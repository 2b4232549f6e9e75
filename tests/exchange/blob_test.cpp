// SPDX-License-Identifier: MIT
// What blobs describe; who keeps their memory is in blob_owner_test.cpp.
#ifndef TENON_CHECKED
#define TENON_CHECKED
#endif
#include "tenon/exchange/blob.h"

#include "support/catch.h"
#include "tenon/tenon.h"
#include "tensor/helpers.h"

using namespace tenon;
using namespace tests;

static_assert(std::is_aggregate_v<Blob>);
static_assert(std::is_nothrow_move_constructible_v<Blob>);
static_assert(std::is_nothrow_copy_constructible_v<Blob>);
static_assert(std::is_same_v<decltype(try_from_blob(Blob())), Result<TensorPtr>>);

namespace {

using Ints = std::vector<int32_t>;

Vector list_of(const Dims& dims) { return Vector(dims.begin(), dims.end()); }

// The elements of a tensor over such a blob.
Ints read(int32_t* data, const Dims& shape, const Dims& steps) {
  return values<int32_t>(from_blob(Blob{data, shape, steps, ScalarType::Int}));
}

// An address that faults when it is read.
void* const kDevicePointer = reinterpret_cast<void*>(uintptr_t{4096});

}  // namespace

TEST_CASE("blob: what is left out is Float on the CPU, contiguous, writable, without an owner") {
  float data[6] = {0, 1, 2, 3, 4, 5};
  const Blob blob{data, {2, 3}};
  CHECK(blob.data == data);
  CHECK(list_of(blob.sizes) == Vector{2, 3});
  CHECK(blob.strides.empty());
  CHECK(blob.dtype == ScalarType::Float);
  CHECK(blob.device == Device());
  CHECK(blob.element_size == 0);
  CHECK_FALSE(blob.readonly);
  CHECK(blob.owner == nullptr);
  CHECK(Blob().data == nullptr);
}

TEST_CASE(
    "blob: its members come in the order data, sizes, strides, dtype, device, element_size, "
    "readonly, owner") {
  double data[2] = {};
  auto owner = std::make_shared<int>(1);
  const Blob blob{data, {2}, {1}, ScalarType::Double, DeviceType::CUDAHost, 8, true, owner};
  CHECK(list_of(blob.strides) == Vector{1});
  CHECK(blob.dtype == ScalarType::Double);
  CHECK(blob.device == Device(DeviceType::CUDAHost));
  CHECK(blob.element_size == 8);
  CHECK(blob.readonly);
  CHECK(blob.owner == owner);
}

// as_view

TEST_CASE("as_view: makes empty strides dense") {
  float data[24] = {};
  const TensorView view = Blob{data, {2, 3, 4}}.as_view();
  CHECK(view.data == data);
  CHECK(view.type == ScalarType::Float);
  CHECK(list_of(view.sizes) == Vector{2, 3, 4});
  CHECK(list_of(view.strides) == Vector{12, 4, 1});
  CHECK(list_of(Blob{data, {2, 0, 3}}.as_view().strides) == Vector{3, 3, 1});
  CHECK(Blob{data, {}}.as_view().strides.empty());
  CHECK(list_of(Blob{data, Vector(8, 2)}.as_view().strides) == Vector{128, 64, 32, 16, 8, 4, 2, 1});
}

TEST_CASE("as_view: keeps strides of any value, the device and null data") {
  float data[24] = {};
  CHECK(list_of(Blob{data, {2, 3, 4}, {0, -7, 2}}.as_view().strides) == Vector{0, -7, 2});
  const TensorView view = Blob{nullptr, {4}, {}, ScalarType::Half, "cuda:1"}.as_view();
  CHECK(view.device == Device("cuda:1"));
  CHECK(view.type == ScalarType::Half);
  CHECK(view.data == nullptr);
}

TEST_CASE("as_view: bad sizes, strides, dtypes and element sizes are errors by its name") {
  float data[4] = {};
  CHECK_ERROR(Error::InvalidArgument, "as_view: size -1 of dimension 1",
              Blob{data, {2, -1}}.as_view());
  CHECK_ERROR(Error::InvalidArgument, "as_view: strides {1} and sizes {2, 2} differ in length",
              Blob{data, {2, 2}, {1}}.as_view());
  CHECK_ERROR(Error::InvalidArgument, "overflow", Blob{data, {INT64_MAX, 2}}.as_view());
  CHECK_ERROR(Error::InvalidArgument, "overflow", Blob{data, {3}, {INT64_MAX}}.as_view());
  CHECK_ERROR(Error::InvalidArgument, "as_view: sizes has more than 64 entries",
              Blob{data, Vector(65, 1)}.as_view());
  CHECK_ERROR(Error::InvalidType, "as_view: Undefined is not an element type",
              Blob{data, {2}, {}, ScalarType::Undefined}.as_view());
  CHECK_ERROR(Error::InvalidArgument,
              "as_view: the blob's element_size is 2, but an element of Float has 4 bytes",
              Blob{data, {2}, {}, ScalarType::Float, {}, 2}.as_view());
}

// to_blob

TEST_CASE("to_blob: describes the tensor's own memory, shape and dtype") {
  auto t = make_tensor_ptr({2, 3}, {1.0, 2.0, 3.0, 4.0, 5.0, 6.0});
  const Blob blob = to_blob(t);
  CHECK(blob.data == const_data_ptr(t));
  CHECK(list_of(blob.sizes) == Vector{2, 3});
  CHECK(list_of(blob.strides) == Vector{3, 1});
  CHECK(blob.dtype == ScalarType::Double);
  CHECK(blob.device == Device());
  CHECK(blob.element_size == 8);
  CHECK_FALSE(blob.readonly);
  CHECK(blob.owner != nullptr);
  CHECK(to_blob(*t).data == blob.data);
}

TEST_CASE("to_blob: carries any strides, 0-d and high ranks") {
  int32_t data[6] = {0, 1, 2, 3, 4, 5};
  CHECK(list_of(to_blob(from_blob(data, {2, 3}, {1, 2})).strides) == Vector{1, 2});
  CHECK(list_of(to_blob(from_blob(data, {4, 3}, {0, 1})).strides) == Vector{0, 1});
  CHECK(to_blob(from_blob(data + 1, {3}, {2})).data == data + 1);
  const Blob scalar = to_blob(make_tensor_ptr(7));
  CHECK(scalar.sizes.empty());
  CHECK(scalar.strides.empty());
  const Blob deep = to_blob(make_tensor_ptr(Vector(8, 1), {1.0f}));
  CHECK(list_of(deep.sizes) == Vector(8, 1));
  CHECK(deep.strides.size() == 8);
}

TEST_CASE("to_blob: carries negative strides, data is element 0's", "[plain]") {
  int32_t data[6] = {0, 1, 2, 3, 4, 5};
  CHECK(list_of(to_blob(from_blob(data + 5, {2, 3}, {-3, -1})).strides) == Vector{-3, -1});
  CHECK(to_blob(from_blob(data + 5, {6}, {-1})).data == data + 5);
}

TEST_CASE("to_blob: carries read-only", "[plain]") {
  const float data[2] = {1, 2};
  CHECK(to_blob(from_blob(tests::read_only(data), {2})).readonly);
}

TEST_CASE("to_blob: carries the device") {
  auto on_device =
      for_blob(kDevicePointer, {8}, ScalarType::Half).device("cuda:1").make_tensor_ptr();
  const Blob blob = to_blob(on_device);
  CHECK(blob.device == Device("cuda:1"));
  CHECK(blob.data == kDevicePointer);
  CHECK(blob.element_size == 2);
}

TEST_CASE("to_blob: of a placeholder has null data") {
  const Blob blob = to_blob(make_tensor_ptr({2, 3}, nullptr));
  CHECK(blob.data == nullptr);
  CHECK(list_of(blob.sizes) == Vector{2, 3});
}

TEST_CASE("to_blob: of an undefined tensor is an error by the called name") {
  CHECK_ERROR(Error::InvalidState, "to_blob: the source tensor is undefined", to_blob(Tensor()));
  CHECK_ERROR(Error::InvalidState, "to_blob: the source tensor is undefined", to_blob(TensorPtr()));
  auto failed = try_to_blob(Tensor());
  CHECK(failed.error() == Error::InvalidState);
  CHECK(tests::contains(failed.message(), "try_to_blob: the source tensor is undefined"));
  CHECK(try_to_blob(make_tensor_ptr(1)).ok());
}

// from_blob

TEST_CASE("from_blob: of a blob is a DYNAMIC_BOUND tensor over its memory") {
  int32_t data[6] = {0, 1, 2, 3, 4, 5};
  auto t = from_blob(Blob{data, {2, 3}, {}, ScalarType::Int});
  CHECK(const_data_ptr(t) == data);
  CHECK(t->scalar_type() == ScalarType::Int);
  CHECK(strides(t) == Vector{3, 1});
  CHECK(t->is_contiguous());
  CHECK(shape_dynamism(t) == TensorShapeDynamism::DYNAMIC_BOUND);
  CHECK(values<int32_t>(t) == Ints{0, 1, 2, 3, 4, 5});
  mutable_data_ptr<int32_t>(t)[0] = 7;
  CHECK(data[0] == 7);
}

TEST_CASE("from_blob: of a blob takes a dynamism") {
  float data[2] = {};
  const Blob blob{data, {2}};
  CHECK(shape_dynamism(from_blob(blob, TensorShapeDynamism::STATIC)) ==
        TensorShapeDynamism::STATIC);
  CHECK(shape_dynamism(from_blob(blob, 1, TensorShapeDynamism::DYNAMIC)) ==
        TensorShapeDynamism::DYNAMIC);
}

TEST_CASE("from_blob: a blob may be given in braces") {
  float data[2] = {1, 2};
  CHECK(values<float>(from_blob({data, {2}, {}, ScalarType::Float})) == std::vector<float>{1, 2});
}

TEST_CASE("from_blob: a blob's strides may have gaps or be 0") {
  int32_t data[6] = {0, 1, 2, 3, 4, 5};
  CHECK(read(data, {2, 2}, {4, 1}) == Ints{0, 1, 4, 5});
  CHECK(read(data, {2, 3}, {0, 1}) == Ints{0, 1, 2, 0, 1, 2});
  CHECK(read(data, {2, 3}, {1, 2}) == Ints{0, 2, 4, 1, 3, 5});
  CHECK(read(data, {}, {}) == Ints{0});
  CHECK(read(data, {1, 1, 1, 1, 1, 2, 1, 3}, {}) == Ints{0, 1, 2, 3, 4, 5});
}

TEST_CASE("from_blob: a blob's strides may be negative", "[plain]") {
  int32_t data[6] = {0, 1, 2, 3, 4, 5};
  CHECK(read(data + 5, {2, 3}, {-3, -1}) == Ints{5, 4, 3, 2, 1, 0});
}

TEST_CASE("from_blob: a read-only blob makes a read-only tensor", "[plain]") {
  const int32_t data[2] = {1, 2};
  Blob blob{const_cast<int32_t*>(data), {2}, {}, ScalarType::Int};
  blob.readonly = true;
  auto t = from_blob(blob);
  CHECK(is_readonly(t));
  CHECK_ERROR(Error::InvalidState, "read-only", mutable_data_ptr<int32_t>(t));
  CHECK(values<int32_t>(t) == Ints{1, 2});
}

TEST_CASE("from_blob: a blob on a device is described, never touched") {
  Blob blob{kDevicePointer, {1 << 20}, {}, ScalarType::BFloat16, "cuda:1"};
  auto t = from_blob(blob);
  CHECK(t->device() == Device("cuda:1"));
  CHECK(const_data_ptr(t) == kDevicePointer);
  CHECK(sizes(t) == Vector{1 << 20});
}

TEST_CASE("from_blob: a blob's element_size is 0 or the dtype's, another one is named") {
  double data[2] = {};
  Blob blob{data, {2}, {}, ScalarType::Double, {}, 8};
  CHECK(from_blob(blob)->nbytes() == 16);
  blob.element_size = 4;
  CHECK_ERROR(Error::InvalidArgument,
              "from_blob: the blob's element_size is 4, but an element of Double has 8 bytes",
              from_blob(blob));
  blob = Blob{data, {2}, {}, ScalarType::Byte, {}, 2};
  CHECK_ERROR(Error::InvalidArgument,
              "from_blob: the blob's element_size is 2, but an element of Byte has 1 byte",
              from_blob(blob, 1));
}

TEST_CASE("from_blob: null data serves for zero elements and Template memory, not for elements") {
  CHECK(from_blob(Blob{nullptr, {0, 3}})->numel() == 0);
  CHECK_ERROR(Error::InvalidArgument,
              "from_blob: the data pointer is null, but sizes {2, 3} hold 6 elements",
              from_blob(Blob{nullptr, {2, 3}}));
  CHECK_ERROR(Error::InvalidArgument, "from_blob: the data pointer is null",
              from_blob(to_blob(make_tensor_ptr({1}, nullptr))));
  CHECK(from_blob(Blob{nullptr, {2, 3}, {}, ScalarType::Half, DeviceType::Template})->numel() == 6);
}

TEST_CASE("from_blob: bad sizes, strides and dtypes of a blob are errors by the called name") {
  float data[4] = {};
  CHECK_ERROR(Error::InvalidArgument, "from_blob: size -2", from_blob(Blob{data, {-2}}));
  CHECK_ERROR(Error::InvalidArgument, "from_blob: strides {1, 1, 1}",
              from_blob(Blob{data, {2, 2}, {1, 1, 1}}));
  CHECK_ERROR(Error::InvalidArgument, "from_blob: sizes has more than 64",
              from_blob(Blob{data, Vector(65, 1)}));
  CHECK_ERROR(Error::InvalidArgument, "from_blob: strides has more than 64",
              from_blob(Blob{data, {2}, Vector(65, 1)}));
  CHECK_ERROR(Error::InvalidType, "from_blob: Undefined",
              from_blob(Blob{data, {2}, {}, ScalarType::Undefined}));
  auto failed = try_from_blob(Blob{data, {-2}});
  CHECK(failed.error() == Error::InvalidArgument);
  CHECK(tests::contains(failed.message(), "try_from_blob: size -2"));
  CHECK(try_from_blob(Blob{data, {4}}).ok());
  CHECK(try_from_blob(Blob{data, {4}}, 1).ok());
}

// accessor

TEST_CASE("accessor: of a blob reads and writes through any strides, also empty ones") {
  int32_t data[6] = {0, 1, 2, 3, 4, 5};
  auto a = accessor<int32_t, 2>(Blob{data, {2, 3}, {}, ScalarType::Int});
  CHECK(a[1][2] == 5);
  a(0, 1) = 10;
  CHECK(data[1] == 10);
  auto reversed = accessor<int32_t, 1>(Blob{data + 5, {6}, {-1}, ScalarType::Int});
  CHECK(reversed[5] == 0);
  CHECK_ERROR(Error::OutOfBounds, "accessor: index 6", reversed[6]);
}

TEST_CASE("accessor: of a blob checks dtype, rank, device, data and read-only by its own name") {
  int32_t data[6] = {};
  Blob blob{data, {2, 3}, {}, ScalarType::Int};
  CHECK_ERROR(Error::InvalidType, "accessor: asked for Float, but the blob's dtype is Int",
              (accessor<float, 2>(blob)));
  CHECK_ERROR(Error::InvalidArgument, "accessor: asked for 1 dimensions, the blob has 2",
              (accessor<int32_t, 1>(blob)));
  blob.readonly = true;
  CHECK_ERROR(Error::InvalidState, "accessor: the blob is read-only", (accessor<int32_t, 2>(blob)));
  CHECK(accessor<const int32_t, 2>(blob)[1][1] == 0);
  blob.device = "cuda";
  CHECK_ERROR(Error::NotSupported, "accessor: memory on cuda:0 cannot be read by the host",
              (accessor<const int32_t, 2>(blob)));
  const Blob placeholder = to_blob(make_tensor_ptr({2}, nullptr));
  CHECK_ERROR(Error::InvalidState, "accessor: the blob of sizes {2} has no data",
              (accessor<float, 1>(placeholder)));
  const Blob bad{data, {2, -3}, {}, ScalarType::Int};
  CHECK_ERROR(Error::InvalidArgument, "accessor: size -3", (accessor<int32_t, 2>(bad)));
  CHECK(accessor<float, 1>(Blob{nullptr, {0}}).size(0) == 0);
}

TEST_CASE("accessor: of a blob refuses data that is not aligned for its dtype") {
  alignas(8) unsigned char memory[16] = {};
  CHECK_ERROR(Error::InvalidArgument, "accessor: the data lies 2 bytes after a multiple of 4",
              (accessor<int32_t, 1>(Blob{memory + 2, {2}, {}, ScalarType::Int})));
}
