// SPDX-License-Identifier: MIT
// What session.txt and docs/debugging.md print in gdb: one global of every kind, since those are
// there in optimised programs too. The program stops at stop_here(), and never gets further.

#include <sys/mman.h>
#include <tenon/exchange/blob.h>
#include <tenon/tenon.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

// Of its own, so that no name here can clash with one of tenon's.
namespace shown {

using namespace tenon;

__attribute__((noinline)) void stop_here() { asm volatile("" ::: "memory"); }

// docs/debugging.md
TensorPtr image, batch, on_gpu;
Tensor row;
Result<TensorPtr> failed = Error::Internal;

// Shapes and strides.
TensorPtr single, no_elements, cube, eight, columns, broadcast, counted, square;

// Ownership and what else is unusual about a tensor.
TensorPtr read_only, owns_vector, grows, has_room, fixed, placeholder, model_input;
Tensor viewed, shared, undefined, over_static;
TensorPtr null_pointer, points_to_undefined;
TensorImplPtr impl;

// Every dtype, as a list and in rows: these are shown by different means.
TensorPtr t_Byte, t_Char, t_Long, t_UInt64, t_Bool, t_ComplexHalf, t_ComplexFloat;
TensorPtr t_Half, t_BFloat16, t_e5m2, t_e4m3fn, t_e5m2fnuz, t_e4m3fnuz;
TensorPtr half_rows, complex_rows;

// Broken ones.
Tensor no_impl, garbage, negative, other_type;
TensorPtr half_mapped;
Span<const int> bad_span;

// The rest of the vocabulary.
Dims many_dims, too_many_dims;
DimOrder order;
ArrayRef<int64_t> sizes;
TensorView view;
Blob lent, owned_blob;
Scalar s_bool = true, s_unsigned = UINT64_MAX, s_complex = complex<double>(1, -2);
Half half = 1.5f;
BFloat16 bfloat = -0.1f;
complex<float> complex_float(1.0f, -2.5f);
Result<int> good = 42;
Deleter deleter(&many_dims, [](void*) noexcept {});
TensorImpl static_impl(ScalarType::Float, 0, nullptr);

float values[6] = {0, 1, 2, 3, 4, 5};

/// The 8-bit codes as elements of an 8-bit type.
TensorPtr codes(ScalarType type) {
  return from_bytes({8}, {0x00, 0x01, 0x08, 0x38, 0x7c, 0x7f, 0x80, 0xff}, type);
}

void make_shapes() {
  single = make_tensor_ptr(3.5);
  no_elements = empty({0, 5});
  cube = iota({2, 2, 3});
  eight = make_tensor_ptr({1, 1, 2, 1, 1, 1, 1, 2}, {1, 2, 3, 4});
  columns = from_blob(values, {2, 3}, {1, 2});
  broadcast = from_blob(values + 1, {2, 2, 2}, {0, 2, 0});
  counted = arange(1000);
  square = iota({30, 30});
}

void make_kinds() {
  read_only = make_tensor_ptr({3}, static_cast<const float*>(values));
  owns_vector = make_tensor_ptr(std::vector<double>{1, 2});
  grows = make_tensor_ptr({2}, {1, 2}, ScalarType::Int, TensorShapeDynamism::DYNAMIC);
  has_room = zeros({2, 3});
  static_cast<void>(resize_tensor_ptr(has_room, {1, 2}));
  fixed = ones({2}, ScalarType::Int, TensorShapeDynamism::STATIC);
  placeholder = make_tensor_ptr({2, 3}, nullptr);
  model_input = for_blob(nullptr, {2, 3}).device(DeviceType::Template);
  viewed = make_tensor(*fixed, {1}, {}, {}, 1);
  impl = make_tensor_impl_ptr({7, 8});
  shared = Tensor(impl);
  points_to_undefined = std::make_unique<Tensor>();
  static_impl.set_data(values);
  over_static = Tensor(&static_impl);
}

void make_types() {
  t_Byte = make_tensor_ptr({0, 65, 255}, ScalarType::Byte);
  t_Char = make_tensor_ptr({-128, 0, 127}, ScalarType::Char);
  t_Long = make_tensor_ptr({INT64_MIN, INT64_MAX});
  t_UInt64 = make_tensor_ptr({UINT64_MAX, uint64_t{1}});
  t_Bool = make_tensor_ptr({true, false});
  t_Half = make_tensor_ptr({0.1f, -65504.0f, 6e-8f, -INFINITY, NAN}, ScalarType::Half);
  t_BFloat16 = make_tensor_ptr({0.1f, -3e38f, 1e-40f, INFINITY, NAN}, ScalarType::BFloat16);
  t_e5m2 = codes(ScalarType::Float8_e5m2);
  t_e4m3fn = codes(ScalarType::Float8_e4m3fn);
  t_e5m2fnuz = codes(ScalarType::Float8_e5m2fnuz);
  t_e4m3fnuz = codes(ScalarType::Float8_e4m3fnuz);
  t_ComplexHalf = make_tensor_ptr({complex<Half>(Half(1), Half(-2))});
  t_ComplexFloat = make_tensor_ptr({complex<float>(0.5f, 2), complex<float>(-1, -0.25f)});
  half_rows = make_tensor_ptr({2, 2}, {0.5f, 0.25f, -1.0f, NAN}, ScalarType::Half);
  complex_rows = make_tensor_ptr({1, 2}, {complex<float>(1, 2), complex<float>(3, -4)});
}

/// A tensor whose internals are as they should never be.
template <class Change>
Tensor broken(Change change) {
  Tensor tensor = make_tensor({2}, {1.0f, 2.0f});
  change(detail::ImplAccess::fields(*tensor.unsafeGetTensorImpl()));
  return tensor;
}

/// A TensorImpl of bytes that nobody made one of.
Tensor bytes_as_tensor(int byte) {
  void* block = std::malloc(sizeof(TensorImpl));
  std::memset(block, byte, sizeof(TensorImpl));
  return Tensor(static_cast<TensorImpl*>(block));
}

void make_broken() {
  void* const nowhere = reinterpret_cast<void*>(uintptr_t{16});
  no_impl = Tensor(static_cast<TensorImpl*>(nowhere));
  garbage = bytes_as_tensor(0xab);
  negative = broken([](detail::ImplFields& f) { f.layout.sizes[0] = -2; });
  other_type = broken([](detail::ImplFields& f) { f.type = static_cast<ScalarType>(99); });
  bad_span = Span<const int>(static_cast<const int*>(nowhere), SIZE_MAX / 4);
  // Two rows of three on a page of memory, the last element beyond its end.
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  void* const pages =
      mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  auto* const end = reinterpret_cast<float*>(static_cast<char*>(pages) + page);
  munmap(end, page);
  std::memcpy(end - 5, values + 1, 5 * sizeof(float));
  half_mapped = from_blob(end - 5, {2, 3});
}

void make_others() {
  many_dims = {1, 2, 3, 4, 5, 6, 7, 8};
  too_many_dims = std::vector<int>(65);
  order.push_back(1);
  order.push_back(0);
  sizes = many_dims;
  view = columns->as_view();
  lent = Blob{values, {2, 3}};
  owned_blob.data = values;
  owned_blob.sizes = {2, 2};
  owned_blob.strides = {1, 2};
  owned_blob.readonly = true;
  owned_blob.owner = std::make_shared<int>(1);
}

void make_documented() {
  image = make_tensor_ptr({2, 3}, {1.0f, 2.0f, 3.0f, 4.0f, 5.0f, 6.0f});
  row = make_tensor(*image, {3}, {}, {}, 3);
  batch = zeros({8, 3, 32, 32}, ScalarType::Half, TensorShapeDynamism::DYNAMIC);
  on_gpu = for_blob(values, {2, 3}).device("cuda:1");
  failed = try_zeros({2, -1});
}

}  // namespace shown

int main() {
  shown::make_documented();
  shown::make_shapes();
  shown::make_kinds();
  shown::make_types();
  shown::make_broken();
  shown::make_others();
  shown::stop_here();
  std::_Exit(0);  // the broken ones are not to be destroyed
}
