// SPDX-License-Identifier: MIT
#include "tenon/tensor/tensor.h"

#include "support/catch.h"
#include "tenon/tenon.h"
#include "tensor/helpers.h"

namespace tensor_test {

using namespace tenon;
using namespace tests;

ATEN_LACKS(static_assert(sizeof(Tensor) == 2 * sizeof(void*));)
static_assert(std::is_nothrow_default_constructible_v<Tensor>);
static_assert(std::is_nothrow_move_constructible_v<Tensor>);
static_assert(std::is_nothrow_move_assignable_v<Tensor>);
static_assert(std::is_same_v<TensorPtr, std::unique_ptr<Tensor>>);
static_assert(sizeof(TensorPtr) == sizeof(void*));
#if !TENON_ATEN_MODE  // whose types these are not
static_assert(std::is_nothrow_copy_constructible_v<Tensor>);
static_assert(std::is_same_v<TensorImplPtr, std::shared_ptr<TensorImpl>>);
static_assert(!std::is_convertible_v<TensorImpl*, Tensor>);
static_assert(std::is_same_v<Tensor::SizesType, int64_t>);
static_assert(std::is_same_v<Tensor::StridesType, int64_t>);
static_assert(std::is_same_v<Tensor::DimOrderType, uint8_t>);
#endif

TEST_CASE("tensor: metadata has ATen's names and meanings") {
  auto t = make_tensor({2, 3, 4}, std::vector<double>(24), {2, 0, 1});
  CHECK(sizes(t) == Vector{2, 3, 4});
  CHECK(strides(t) == Vector{3, 1, 6});
  CHECK(dim_order(t) == Vector{2, 0, 1});
  CHECK(t.numel() == 24);
  CHECK(t.nbytes() == 192);
  CHECK(t.scalar_type() == ScalarType::Double);
  CHECK(t.device() == Device());
  ATEN_LACKS(CHECK(t.shape_dynamism() == TensorShapeDynamism::DYNAMIC_BOUND);
             CHECK_FALSE(t.is_readonly());)
  CHECK_FALSE(t.is_contiguous());
  CHECK(t.defined());
}

TEST_CASE("tensor: size and stride count negative dimensions from the end") {
  auto t = make_tensor({2, 3}, {1, 2, 3, 4, 5, 6});
  CHECK(t.size(0) == 2);
  CHECK(t.size(-1) == 3);
  CHECK(t.stride(1) == 1);
  CHECK(t.stride(-2) == 3);
#if !TENON_ATEN_MODE  // whose members throw c10::Error
  RAISES(OutOfBounds, "size: dimension 2 is out of range", t.size(2));
  RAISES(OutOfBounds, "size: dimension -3", t.size(-3));
  RAISES(OutOfBounds, "0 dimensions", make_tensor(1).size(-1));
#endif
}

#if !TENON_ATEN_MODE  // whose tensors lack members, and check less
// A promise of docs/guarantees.md.
TEST_CASE("tensor: an undefined one says so in every member") {
  CHECK_FALSE(Tensor(TensorImplPtr()).defined());
  CHECK_FALSE(Tensor(static_cast<TensorImpl*>(nullptr)).defined());
  const Tensor t;
  CHECK_FALSE(t.defined());
  CHECK(t.impl() == nullptr);
  CHECK(t.unsafeGetTensorImpl() == nullptr);
  CHECK(t.use_count() == 0);
  CHECK_FALSE(t.is_alias_of(t));
  const struct {
    const char* name;
    void (*ask)(const Tensor&);
  } members[] = {
      {"sizes", [](const Tensor& x) { x.sizes(); }},
      {"strides", [](const Tensor& x) { x.strides(); }},
      {"dim_order", [](const Tensor& x) { x.dim_order(); }},
      {"size", [](const Tensor& x) { x.size(0); }},
      {"stride", [](const Tensor& x) { x.stride(0); }},
      {"dim", [](const Tensor& x) { x.dim(); }},
      {"numel", [](const Tensor& x) { x.numel(); }},
      {"nbytes", [](const Tensor& x) { x.nbytes(); }},
      {"element_size", [](const Tensor& x) { x.element_size(); }},
      {"scalar_type", [](const Tensor& x) { x.scalar_type(); }},
      {"dtype", [](const Tensor& x) { x.dtype(); }},
      {"device", [](const Tensor& x) { x.device(); }},
      {"shape_dynamism", [](const Tensor& x) { x.shape_dynamism(); }},
      {"ownership", [](const Tensor& x) { x.ownership(); }},
      {"is_contiguous", [](const Tensor& x) { x.is_contiguous(); }},
      {"is_readonly", [](const Tensor& x) { x.is_readonly(); }},
      {"is_aligned", [](const Tensor& x) { x.is_aligned(4); }},
      {"const_data_ptr", [](const Tensor& x) { x.const_data_ptr(); }},
      {"const_data_ptr", [](const Tensor& x) { x.const_data_ptr<float>(); }},
      {"mutable_data_ptr", [](const Tensor& x) { x.mutable_data_ptr(); }},
      {"mutable_data_ptr", [](const Tensor& x) { x.mutable_data_ptr<float>(); }},
      {"data_ptr", [](const Tensor& x) { x.data_ptr<float>(); }},
      {"data", [](const Tensor& x) { x.data<float>(); }},
      {"accessor", [](const Tensor& x) { x.accessor<float, 1>(); }},
      {"item", [](const Tensor& x) { x.item<float>(); }},
      {"as_view", [](const Tensor& x) { x.as_view(); }},
  };
  for (const auto& member : members) {
    RAISES(InvalidState, std::string(member.name) + ": the tensor is undefined", member.ask(t));
  }
}

TEST_CASE("tensor: what is read-only is not written, other devices' memory is not touched") {
  const float data[2] = {1, 2};
  float device_data[1] = {};
  const Tensor t = *from_blob(data, {2});
  const Tensor device = for_blob(device_data, {1}).device("cuda:1").make_tensor();
  CHECK(t.is_readonly());
  CHECK(t.data_ptr<const float>() == data);
  CHECK((t.accessor<const float, 1>()[1] == 2));
  RAISES(InvalidState, "mutable_data_ptr: the tensor is read-only", t.mutable_data_ptr());
  CHECK(device.device() == Device(DeviceType::CUDA, 1));
  CHECK(device.const_data_ptr() == device_data);
  CHECK(device.mutable_data_ptr() == device_data);
  const struct {
    const char* name;
    void (*write)(const Tensor&);
  } members[] = {
      {"mutable_data_ptr", [](const Tensor& x) { x.mutable_data_ptr<float>(); }},
      {"data_ptr", [](const Tensor& x) { x.data_ptr<float>(); }},
      {"data", [](const Tensor& x) { x.data<float>(); }},
      {"accessor", [](const Tensor& x) { x.accessor<float, 1>(); }},
  };
  for (const auto& member : members) {
    const std::string name = member.name;
    RAISES(InvalidState, name + ": the tensor is read-only", member.write(t));
    RAISES(NotSupported, name + ": the tensor is on cuda:1", member.write(device));
  }
  RAISES(NotSupported, "const_data_ptr: the tensor is on cuda:1", device.const_data_ptr<float>());
  RAISES(NotSupported, "item: the tensor is on cuda:1", device.item<float>());
}

#endif

TEST_CASE("tensor: item converts what fits and refuses what does not") {
  CHECK(make_tensor(3).item<int>() == 3);
  CHECK(make_tensor(0.1, ScalarType::Float).item<double>() == 0.1f);
  CHECK(make_tensor(true).item<bool>());
#if !TENON_ATEN_MODE  // whose members throw c10::Error
  RAISES(InvalidArgument, "item: 300 does not fit Byte", make_tensor(300).item<uint8_t>());
  RAISES(InvalidArgument, "item: 2.5", make_tensor(2.5).item<int>());
  RAISES(InvalidArgument, "-1", make_tensor(-1).item<uint64_t>());
  RAISES(InvalidArgument, "item: a tensor of sizes {2} has 2 elements",
         make_tensor({1, 2}).item<int>());
#endif
}

#if !TENON_ATEN_MODE  // whose tensors have no data<T>()
#endif

TEST_CASE("tensor: is_contiguous ignores size-1 dimensions, and all strides without elements") {
  float data[8] = {};
  CHECK(from_blob(data, {2, 1, 2}, {2, 77, 1})->is_contiguous());
  CHECK(from_blob(data, {2, 0}, {5, 9})->is_contiguous());
  CHECK_FALSE(from_blob(data, {2, 2}, {3, 1})->is_contiguous());
  ATEN_LACKS(CHECK_FALSE(from_blob(data + 1, {2}, {-1})->is_contiguous());)
  CHECK_FALSE(from_blob(data, {2}, {0})->is_contiguous());
}

TEST_CASE("tensor: is_alias_of is true for the same impl and for views of one owner") {
  auto a = make_tensor({4}, {1, 2, 3, 4});
  const Tensor copy = a;
  auto view = make_tensor(a, {2});
  auto b = make_tensor({4}, {1, 2, 3, 4});
  CHECK(a.is_alias_of(a));
  CHECK(a.is_alias_of(copy));
  CHECK(a.is_alias_of(view));
  CHECK(view.is_alias_of(a));
  CHECK_FALSE(a.is_alias_of(b));
  ATEN_LACKS(CHECK_FALSE(a.is_alias_of(Tensor()));)
}

// A promise of docs/guarantees.md.
TEST_CASE("tensor: ownership says where the memory came from") {
  float data[2] = {};
  ATEN_LACKS(CHECK(make_tensor({1, 2}).ownership() == Ownership::Owned);)
  CHECK(ownership(zeros({5000})) == Ownership::Owned);
  CHECK(ownership(make_tensor(Floats{1, 2})) == Ownership::Adopted);
  CHECK(ownership(from_blob(data, {2}, ScalarType::Float, [](void*) {})) == Ownership::Adopted);
  CHECK(ownership(from_blob(data, {2})) == Ownership::Borrowed);
  CHECK(ownership(make_tensor(make_tensor({1, 2}), {1})) == Ownership::View);
  // They are the tensors that were exported.
  ATEN_LACKS(CHECK(ownership(from_dlpack(to_dlpack(zeros({2})))) == Ownership::Owned);
             CHECK(ownership(from_blob(to_blob(zeros({2})))) == Ownership::Owned);)
  CHECK(ownership(from_dlpack(to_dlpack(zeros({2})), true)) == Ownership::Owned);
}

#if !TENON_ATEN_MODE  // whose tensors have another set_data()
#endif

// A promise of docs/guarantees.md.
TEST_CASE("tensor: a deleter that runs when a handle is assigned to sees what it now holds") {
  const Tensor other = make_tensor({3}, {1, 2, 3});
  float data[2] = {};
  for (const bool moves : {false, true}) {
    Tensor t;
    int released = 0;
    t = *from_blob(data, {2}, ScalarType::Float, [&](void*) {
      ++released;
      const Tensor seen = t;
      CHECK(seen.is_alias_of(other));
      CHECK(seen.use_count() == other.use_count());
    });
    if (moves) {
      t = Tensor(other);
    } else {
      t = other;
    }
    CHECK(released == 1);
    CHECK(other.use_count() == 2);
  }
  Tensor same = other;
  const Tensor& itself = same;
  same = itself;
  CHECK(same.is_alias_of(other));
}

TEST_CASE("tensor: nbytes counts the elements, not gaps; is_aligned looks at element 0") {
  alignas(64) float data[32] = {};
  CHECK(is_aligned(from_blob(data, {2}), 64));
  CHECK(is_aligned(from_blob(data + 1, {2}), 4));
  CHECK_FALSE(is_aligned(from_blob(data + 1, {2}), 8));
  ATEN_LACKS(RAISES(InvalidArgument, "is_aligned: 0", from_blob(data, {2})->is_aligned(0));)
  CHECK(from_blob(data, {2, 2}, {4, 1})->nbytes() == 16);
  CHECK(from_blob(data, {100, 2}, {0, 1})->nbytes() == 800);
}

TEST_CASE("tensor: a handle on the heap works with new and delete") {
  auto* t = new Tensor(make_tensor({1, 2}));
  CHECK(t->numel() == 2);
  delete t;
  t = new (std::nothrow) Tensor(make_tensor({1, 2, 3}));
  REQUIRE(t != nullptr);
  CHECK(t->numel() == 3);
  delete t;
  alignas(Tensor) unsigned char place[sizeof(Tensor)];
  t = new (place) Tensor(make_tensor({1, 2, 3, 4}));
  CHECK(static_cast<void*>(t) == place);
  CHECK(t->numel() == 4);
  t->~Tensor();
}

}  // namespace tensor_test
