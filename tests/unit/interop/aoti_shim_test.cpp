// SPDX-License-Identifier: MIT
// torch's C functions, as generated code calls them. Built by aoti/CMakeLists.txt. The one file of the program that has
// them.
#include "tenon/interop/aoti_shim.h"

#include "allocation/counting_malloc.h"
#include "backend/helpers.h"
#include "support/catch.h"

#include "tenon/backend/arena.h"
#include "tenon/backend/pool.h"
#include "tenon/backend/tracking.h"
#include "tenon/tenon.h"
#include "tensor/helpers.h"

namespace aoti_shim_test {

using namespace tenon;
using namespace tests;
using namespace tenon::detail;

namespace {

// A handle that goes with its scope, as in generated code.
struct Handle {
  AtenTensorHandle handle = nullptr;
  Handle() = default;
  explicit Handle(const Tensor& tensor) { REQUIRE(make_aoti_handle(tensor, handle) == Error::Ok); }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  ~Handle() {
    if (handle != nullptr) CHECK(aoti_torch_delete_tensor_object(handle) == 0);
  }
  AtenTensorHandle* out() { return &handle; }
  const Tensor& operator*() const { return *reinterpret_cast<Tensor*>(handle); }
};

AOTITorchError empty_of(const Longs& sizes, const Longs& strides, AtenTensorHandle* made,
                        int32_t dtype = 6, int32_t device = 0) {
  return aoti_torch_empty_strided(static_cast<int64_t>(sizes.size()), sizes.data(), strides.data(),
                                  dtype, device, -1, made);
}

template <class T>
T get(AOTITorchError (*f)(AtenTensorHandle, T*), const Handle& handle) {
  T value{};
  CHECK(f(handle.handle, &value) == 0);
  return value;
}

// The call fails with this error and text.
#define REFUSES(code, words, ...)                     \
  do {                                                \
    CHECK((__VA_ARGS__) == 1);                        \
    INFO("message: " << last_error_message());        \
    CHECK(detail::last_error().error == Error::code); \
    CHECK(contains(last_error_message(), words));     \
  } while (false)

}  // namespace

TEST_CASE("aoti_shim: dtypes have tenon's numbers and sizes") {
  const std::pair<int32_t, ScalarType> types[] = {
      {aoti_torch_dtype_uint8(), ScalarType::Byte},
      {aoti_torch_dtype_int8(), ScalarType::Char},
      {aoti_torch_dtype_int16(), ScalarType::Short},
      {aoti_torch_dtype_int32(), ScalarType::Int},
      {aoti_torch_dtype_int64(), ScalarType::Long},
      {aoti_torch_dtype_float16(), ScalarType::Half},
      {aoti_torch_dtype_float32(), ScalarType::Float},
      {aoti_torch_dtype_float64(), ScalarType::Double},
      {aoti_torch_dtype_complex32(), ScalarType::ComplexHalf},
      {aoti_torch_dtype_complex64(), ScalarType::ComplexFloat},
      {aoti_torch_dtype_complex128(), ScalarType::ComplexDouble},
      {aoti_torch_dtype_bool(), ScalarType::Bool},
      {aoti_torch_dtype_bfloat16(), ScalarType::BFloat16},
      {aoti_torch_dtype_float8_e5m2(), ScalarType::Float8_e5m2},
      {aoti_torch_dtype_float8_e4m3fn(), ScalarType::Float8_e4m3fn},
      {aoti_torch_dtype_float8_e5m2fnuz(), ScalarType::Float8_e5m2fnuz},
      {aoti_torch_dtype_float8_e4m3fnuz(), ScalarType::Float8_e4m3fnuz},
      {aoti_torch_dtype_uint16(), ScalarType::UInt16},
      {aoti_torch_dtype_uint32(), ScalarType::UInt32},
      {aoti_torch_dtype_uint64(), ScalarType::UInt64}};
  for (const auto& [number, type] : types) {
    CHECK(number == static_cast<int32_t>(type));
    CHECK(aoti_torch_dtype_element_size(number) == elementSize(type));
    Handle made;
    CHECK(empty_of({2, 3}, {3, 1}, made.out(), number) == 0);
    CHECK(get(aoti_torch_get_dtype, made) == number);
  }
  CHECK(aoti_torch_dtype_element_size(aoti_torch_dtype_float4_e2m1fn_x2()) == 1);
  CHECK(aoti_torch_dtype_element_size(12) == 0);
  CHECK(aoti_torch_dtype_element_size(-1) == 0);
  CHECK(!aoti_torch_grad_mode_is_enabled());
  aoti_torch_grad_mode_set_enabled(true);
  CHECK(!aoti_torch_grad_mode_is_enabled());
}

TEST_CASE("aoti_shim: an empty tensor has the shape that was asked for") {
  Handle made;
  SECTION("row-major") { CHECK(empty_of({2, 3}, {3, 1}, made.out()) == 0); }
  SECTION("column-major") { CHECK(empty_of({2, 3}, {1, 2}, made.out()) == 0); }
  SECTION("with gaps") { CHECK(empty_of({2, 3}, {8, 1}, made.out()) == 0); }
  SECTION("with a size-1 dimension of any stride") {
    CHECK(empty_of({1, 3}, {77, 1}, made.out()) == 0);
  }
  SECTION("without elements") { CHECK(empty_of({0, 3}, {3, 1}, made.out()) == 0); }
  SECTION("of rank 0") {
    CHECK(aoti_torch_empty_strided(0, nullptr, nullptr, 6, 0, -1, made.out()) == 0);
  }
  SECTION("of rank 8") {
    CHECK(empty_of({1, 2, 1, 2, 1, 2, 1, 2}, {16, 8, 8, 4, 4, 2, 2, 1}, made.out()) == 0);
  }
  SECTION("pinned") {
    const int64_t size = 3;
    const int64_t stride = 1;
    CHECK(aoti_torch_empty_strided_pinned(1, &size, &stride, 6, 0, -1, made.out()) == 0);
  }
  const Tensor& t = *made;
  CHECK(get(aoti_torch_get_dim, made) == t.dim());
  CHECK(get(aoti_torch_get_numel, made) == t.numel());
  CHECK(get(aoti_torch_get_sizes, made) == t.sizes().data());
  CHECK(get(aoti_torch_get_strides, made) == t.strides().data());
  CHECK(get(aoti_torch_get_data_ptr, made) == t.const_data_ptr());
  CHECK(get(aoti_torch_is_contiguous, made) == t.is_contiguous());
  CHECK(get(aoti_torch_is_defined, made));
  CHECK(get(aoti_torch_get_device_type, made) == 0);
  CHECK(get(aoti_torch_get_device_index, made) == -1);
  CHECK(get(aoti_torch_get_layout, made) == 0);
  CHECK(get(aoti_torch_get_storage_offset, made) == 0);
  for (int64_t d = -t.dim(); d < t.dim(); ++d) {
    int64_t size = -1;
    int64_t stride = -1;
    CHECK(aoti_torch_get_size(made.handle, d, &size) == 0);
    CHECK(aoti_torch_get_stride(made.handle, d, &stride) == 0);
    CHECK(size == t.size(d));
    CHECK(stride == t.stride(d));
  }
  int64_t none = 0;
  REFUSES(OutOfBounds, "aoti_torch_get_size: dimension 8 is outside",
          aoti_torch_get_size(made.handle, 8, &none));
  REFUSES(OutOfBounds, "aoti_torch_get_stride: dimension -9 is outside",
          aoti_torch_get_stride(made.handle, -9, &none));
}

TEST_CASE("aoti_shim: memory whose backend is gone has no address") {
  static char buffer[4096];
  const Reports told;
  auto arena = std::make_unique<ArenaBackend>(buffer, sizeof buffer);
  const TensorPtr t = zeros({2}, *arena);
  const Handle handle(*t);
  CHECK(get(aoti_torch_get_data_ptr, handle) == t->const_data_ptr());
  arena.reset();
  void* data = nullptr;
  REFUSES(InvalidState, "the tensor is in memory of backend arena, which was destroyed",
          aoti_torch_get_data_ptr(handle.handle, &data));
}

TEST_CASE("aoti_shim: the bytes of a storage are those that its strides reach") {
  Handle made;
  REQUIRE(empty_of({2, 3}, {8, 1}, made.out()) == 0);
  CHECK(get(aoti_torch_get_storage_size, made) == 11 * 4);
  CHECK(get(aoti_torch_get_storage_numel, made) == 11);
}

TEST_CASE("aoti_shim: what cannot be made is refused") {
  AtenTensorHandle made = nullptr;
  REFUSES(NotSupported, "torch's device type 1; tenon runs models for the CPU",
          empty_of({1}, {1}, &made, 6, 1));
  REFUSES(NotSupported, "torch's dtype 44 is not one of tenon's", empty_of({1}, {1}, &made, 44));
  REFUSES(NotSupported, "torch's dtype -1 is not", empty_of({1}, {1}, &made, -1));
  REFUSES(InvalidArgument, "may overlap", empty_of({2, 3}, {0, 1}, &made));
  REFUSES(InvalidArgument, "aoti_torch_empty_strided: ", empty_of({-2}, {1}, &made));
  REFUSES(InvalidArgument, "sizes has -1 values, expected 0 or more",
          aoti_torch_empty_strided(-1, nullptr, nullptr, 6, 0, 0, &made));
  REFUSES(InvalidArgument, "sizes is null, expected 2 values",
          aoti_torch_empty_strided(2, nullptr, nullptr, 6, 0, 0, &made));
  REFUSES(OutOfMemory, "out of memory", empty_of({int64_t{1} << 50}, {1}, &made));
  float memory[4] = {};
  const int64_t size = 4;
  const int64_t stride = 1;
  REFUSES(NotSupported,
          "a weight has torch's layout 3, expected 0, strided; export the model without mkldnn",
          aoti_torch_create_tensor_from_blob_v2(memory, 1, &size, &stride, 0, 6, 0, 0, &made, 3,
                                                nullptr, 0));
  REFUSES(InvalidArgument, "the data is null",
          aoti_torch_create_tensor_from_blob(nullptr, 1, &size, &stride, 0, 6, 0, 0, &made));
  REFUSES(
      OutOfBounds, "overflows",
      aoti_torch_create_tensor_from_blob(memory, 1, &size, &stride, INT64_MAX / 2, 6, 0, 0, &made));
  CHECK(made == nullptr);
}

TEST_CASE("aoti_shim: a view reaches all of the storage, keeps it, and no more") {
  const int64_t sizes[] = {2, 2};
  const int64_t strides[] = {4, 1};
  Handle part;
  {
    const Handle whole(*arange(8));
    REQUIRE(aoti_torch__reinterpret_tensor(whole.handle, 2, sizes, strides, 2, part.out()) == 0);
  }
  CHECK(values<int64_t>(*part) == Longs{2, 3, 6, 7});
  CHECK(get(aoti_torch_get_storage_offset, part) == 2);
  CHECK(get(aoti_torch_get_storage_size, part) == 64);
  const int64_t three = 3;
  const int64_t one = 1;
  Handle beyond;  // what the view itself reaches
  REQUIRE(aoti_torch__reinterpret_tensor(part.handle, 1, &three, &one, 3, beyond.out()) == 0);
  CHECK(values<int64_t>(*beyond) == Longs{5, 6, 7});
  Handle same;
  REQUIRE(aoti_torch_as_strided(part.handle, sizes, strides, same.out()) == 0);
  CHECK(values<int64_t>(*same) == Longs{2, 3, 6, 7});
  AtenTensorHandle none = nullptr;
  REFUSES(OutOfBounds, "aoti_torch__reinterpret_tensor: a view of sizes {3}",
          aoti_torch__reinterpret_tensor(part.handle, 1, &three, &one, 4, &none));
  REFUSES(OutOfBounds, "a view of sizes {3}",
          aoti_torch__reinterpret_tensor(part.handle, 1, &three, &one, -3, &none));
  REFUSES(OutOfBounds, "overflows",
          aoti_torch__reinterpret_tensor(part.handle, 1, &three, &one, INT64_MAX, &none));
  REFUSES(InvalidArgument, "sizes has -1 values, expected 0 or more",
          aoti_torch__reinterpret_tensor(part.handle, -1, sizes, strides, 0, &none));
  CHECK(none == nullptr);
}

TEST_CASE("aoti_shim: tensors of any dtype lie in a pool of bytes") {
  const Handle pool(*zeros({64}, ScalarType::Byte));
  const int64_t size = 4;
  const int64_t stride = 1;
  Handle made;
  REQUIRE(aoti_torch__alloc_from_pool(pool.handle, 16, 6, 1, &size, &stride, made.out()) == 0);
  CHECK((*made).scalar_type() == ScalarType::Float);
  CHECK((*made).const_data_ptr() == static_cast<const char*>((*pool).const_data_ptr()) + 16);
  AtenTensorHandle none = nullptr;
  REFUSES(OutOfBounds, "",
          aoti_torch__alloc_from_pool(pool.handle, 56, 6, 1, &size, &stride, &none));
  REFUSES(InvalidArgument, "offset 18 is not a multiple of 4",
          aoti_torch__alloc_from_pool(pool.handle, 18, 6, 1, &size, &stride, &none));
}

TEST_CASE("aoti_shim: copies cast and broadcast as torch's do") {
  const Handle to(*zeros({2, 2}, ScalarType::Int));
  const Handle from(*make_tensor_ptr({2}, {1.75, -2.75}));
  CHECK(aoti_torch_copy_(to.handle, from.handle, 0) == 0);
  CHECK(values<int32_t>(*to) == Ints{1, -2, 1, -2});
  CHECK(aoti_torch_tensor_copy_(to.handle, from.handle) == 1);  // sizes do not broadcast
  CHECK(aoti_torch_zero_(to.handle) == 0);
  CHECK(values<int32_t>(*to) == Ints{0, 0, 0, 0});
}

TEST_CASE("aoti_shim: clones are copies, with the strides where that is asked") {
  const TensorPtr row = make_tensor_ptr({1, 3}, {1.0f, 2.0f, 3.0f});
  const Handle wide(expand(*row, {2, 3}));
  Handle dense;
  Handle same;
  REQUIRE(aoti_torch_clone(wide.handle, dense.out()) == 0);
  REQUIRE(aoti_torch_clone_preserve_strides(wide.handle, same.out()) == 0);
  CHECK((*dense).const_data_ptr() != row->const_data_ptr());
  CHECK(strides(*same) == Longs{0, 1});
  CHECK(values<float>(*dense) == Floats{1, 2, 3, 1, 2, 3});
  CHECK(values<float>(*same) == Floats{1, 2, 3, 1, 2, 3});
  CHECK((*same).const_data_ptr() != row->const_data_ptr());
  const Handle nothing(*zeros({0, 3}));
  Handle none;
  REQUIRE(aoti_torch_clone_preserve_strides(nothing.handle, none.out()) == 0);
  CHECK((*none).numel() == 0);
}

TEST_CASE("aoti_shim: one element is given as any type that holds it") {
  const Handle number(*scalar_tensor(200, ScalarType::Long));
#define GIVES(name, type, expected)                            \
  do {                                                         \
    type value{};                                              \
    CHECK(aoti_torch_item_##name(number.handle, &value) == 0); \
    CHECK(value == (expected));                                \
  } while (false)
  GIVES(float32, float, 200.0f);
  GIVES(float64, double, 200.0);
  GIVES(float16, Half, Half(200.0f));
  GIVES(bfloat16, BFloat16, BFloat16(200.0f));
  GIVES(complex64, complex<float>, complex<float>(200.0f));
  GIVES(uint8, uint8_t, 200);
  GIVES(uint16, uint16_t, 200);
  GIVES(uint32, uint32_t, 200U);
  GIVES(uint64, uint64_t, 200U);
  GIVES(int16, int16_t, 200);
  GIVES(int32, int32_t, 200);
  GIVES(int64, int64_t, 200);
#undef GIVES
  int8_t small = 0;
  REFUSES(InvalidArgument, "aoti_torch_item_int8: 200 does not fit Char",
          aoti_torch_item_int8(number.handle, &small));
  const Handle yes(*scalar_tensor(true, ScalarType::Bool));
  bool value = false;
  CHECK(aoti_torch_item_bool(yes.handle, &value) == 0);
  CHECK(value);
  const Handle two(*zeros({2}));
  REFUSES(InvalidArgument, "a tensor of sizes {2} has 2 elements, expected 1",
          aoti_torch_item_bool(two.handle, &value));
}

TEST_CASE("aoti_shim: a number becomes a tensor of rank 0") {
#define MAKES(name, value, type, T)                                    \
  do {                                                                 \
    Handle made;                                                       \
    CHECK(aoti_torch_scalar_to_tensor_##name(value, made.out()) == 0); \
    CHECK((*made).dim() == 0);                                         \
    CHECK((*made).scalar_type() == ScalarType::type);                  \
    CHECK((*made).item<T>() == (value));                               \
  } while (false)
  MAKES(float32, 1.5f, Float, float);
  MAKES(float64, 2.5, Double, double);
  MAKES(complex64, (complex<float>(1, 2)), ComplexFloat, complex<float>);
  MAKES(complex128, (complex<double>(1, 2)), ComplexDouble, complex<double>);
  MAKES(uint8, uint8_t{1}, Byte, uint8_t);
  MAKES(uint16, uint16_t{2}, UInt16, uint16_t);
  MAKES(uint32, uint32_t{3}, UInt32, uint32_t);
  MAKES(uint64, uint64_t{4}, UInt64, uint64_t);
  MAKES(int8, int8_t{-1}, Char, int8_t);
  MAKES(int16, int16_t{-2}, Short, int16_t);
  MAKES(int32, -3, Int, int32_t);
  MAKES(int64, int64_t{-4}, Long, int64_t);
  MAKES(bool, true, Bool, bool);
#undef MAKES
}

TEST_CASE("aoti_shim: handles share tensors, and may be assigned") {
  Handle undefined;
  REQUIRE(aoti_torch_new_uninitialized_tensor(undefined.out()) == 0);
  CHECK(!get(aoti_torch_is_defined, undefined));
  int64_t number = 0;
  REFUSES(InvalidState, "aoti_torch_get_dim: the tensor is undefined",
          aoti_torch_get_dim(undefined.handle, &number));
  const Handle one(*arange(3));
  Handle two;
  Handle three;
  REQUIRE(aoti_torch_new_tensor_handle(one.handle, two.out()) == 0);
  REQUIRE(aoti_torch_assign_tensors_out(one.handle, three.out()) == 0);
  REQUIRE(aoti_torch_assign_tensors(one.handle, undefined.handle) == 0);
  for (const Handle* handle : {&two, &three, &undefined}) {
    CHECK((**handle).const_data_ptr() == (*one).const_data_ptr());
  }
}

TEST_CASE("aoti_shim: handles that are null, deleted or made up are refused") {
  int64_t number = 0;
  REFUSES(InvalidArgument, "aoti_torch_get_numel: the handle is null",
          aoti_torch_get_numel(nullptr, &number));
  REFUSES(InvalidArgument, "the handle is null", aoti_torch_delete_tensor_object(nullptr));
#if TENON_IS_CHECKED
  AtenTensorHandle made = nullptr;
  REQUIRE(aoti_torch_new_uninitialized_tensor(&made) == 0);
  CHECK(aoti_torch_delete_tensor_object(made) == 0);
  REFUSES(InvalidState, "the handle was deleted, or never made",
          aoti_torch_delete_tensor_object(made));
  REFUSES(InvalidState, "the handle was deleted, or never made", aoti_torch_zero_(made));
#endif
}

TEST_CASE("aoti_shim: a check that fails throws, as the model's code expects") {
  aoti_torch_check(true, "f", "g.cpp", 1, "no");
  RAISES(InvalidArgument, "expected 2 <= n (f at g.cpp:1)",
         aoti_torch_check(false, "f", "g.cpp", 1, "expected 2 <= n"));
  aoti_torch_warn("f", "g.cpp", 1, "a warning that this test makes");
}

TEST_CASE("aoti_shim: without memory each function is an error") {
  if (!heap_is_counted()) return;
  const TensorPtr first = arange(1000);  // is in the seat of its tensor
  const Handle source(*first);
  const int64_t size = 1000;
  const int64_t stride = 1;
  float memory[1000] = {};
  const auto fails = [&](const char* name, auto call) {
    INFO(name);
    int failed = 0;
    for (int64_t n = 1;; ++n) {
      AtenTensorHandle made = nullptr;
      start_counting(n);
      const AOTITorchError code = call(&made);
      stop_counting();
      if (failures() == 0) {
        CHECK(code == 0);
        CHECK(aoti_torch_delete_tensor_object(made) == 0);
        break;
      }
      CHECK(code == 1);
      CHECK(made == nullptr);
      CHECK(detail::last_error().error == Error::OutOfMemory);
      ++failed;
    }
    CHECK(failed > 0);
  };
  fails("empty_strided",
        [&](auto out) { return aoti_torch_empty_strided(1, &size, &stride, 6, 0, -1, out); });
  fails("from_blob", [&](auto out) {
    return aoti_torch_create_tensor_from_blob(memory, 1, &size, &stride, 0, 6, 0, -1, out);
  });
  fails("reinterpret", [&](auto out) {
    return aoti_torch__reinterpret_tensor(source.handle, 1, &size, &stride, 0, out);
  });
  fails("clone", [&](auto out) { return aoti_torch_clone(source.handle, out); });
  fails("clone_preserve_strides",
        [&](auto out) { return aoti_torch_clone_preserve_strides(source.handle, out); });
  fails("new_tensor_handle",
        [&](auto out) { return aoti_torch_new_tensor_handle(source.handle, out); });
  fails("new_uninitialized_tensor",
        [&](auto out) { return aoti_torch_new_uninitialized_tensor(out); });
  fails("scalar", [&](auto out) { return aoti_torch_scalar_to_tensor_float32(1, out); });
}

}  // namespace aoti_shim_test
