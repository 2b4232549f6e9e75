// SPDX-License-Identifier: MIT
// What session.txt and docs/debugging.md print in gdb: one global of every kind, since those are
// there in optimised programs too. The program stops at stop_here(), and never gets further.

#include <sys/mman.h>
#include <tenon/backend/arena.h>
#include <tenon/backend/pool.h>
#include <tenon/backend/template.h>
#include <tenon/backend/tracking.h>
#include <tenon/exchange/blob.h>
#include <tenon/module/evalue.h>
#include <tenon/tenon.h>
#include <tenon/tensor/clone.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

// Of its own, so that no name here can clash with one of tenon's.
namespace shown {

using namespace tenon;

__attribute__((noinline)) void stop_here() { asm volatile("" ::: "memory"); }

/// What a call's arguments look like from where it is stopped.
__attribute__((noinline)) void resize_all(const TensorPtr& a, TensorPtr& b, TensorPtr&& c,
                                          const Tensor& d, Tensor* e, TensorArg f, Backend& g) {
  stop_here();
  const void* used[] = {&a, &b, &c, &d, e, &f, &g};
  asm volatile("" ::"r"(used) : "memory");
}

constexpr auto DYNAMIC = TensorShapeDynamism::DYNAMIC;
float values[6] = {0, 1, 2, 3, 4, 5};

// docs/debugging.md
TensorPtr image = make_tensor_ptr({2, 3}, {1.0f, 2.0f, 3.0f, 4.0f, 5.0f, 6.0f});
TensorPtr batch = zeros({8, 3, 32, 32}, ScalarType::Half, DYNAMIC);
TensorPtr on_gpu = for_blob(values, {2, 3}).device("cuda:1");
Tensor row = make_tensor(*image, {3}, {}, {}, 3);
Result<TensorPtr> failed = try_zeros({2, -1});
TensorPtr deallocated = zeros({2, 3});
const TensorPtr& reference = image;
Tensor* pointer = &row;
alignas(64) char buffer[4096];
ArenaBackend arena(buffer, sizeof buffer);
TrackingBackend tracker(arena);
TensorPtr logits = zeros({10}, ScalarType::Float, tracker);
Backend& backend = tracker;

// Shapes and strides.
TensorPtr single = make_tensor_ptr(3.5);
TensorPtr no_elements = empty({0, 5});
TensorPtr cube = iota({2, 2, 3});
TensorPtr eight = make_tensor_ptr({1, 1, 2, 1, 1, 1, 1, 2}, {1, 2, 3, 4});
TensorPtr columns = from_blob(values, {2, 3}, {1, 2});
TensorPtr broadcast = from_blob(values + 1, {2, 2, 2}, {0, 2, 0});
TensorPtr counted = arange(1000);
TensorPtr square = iota({30, 30});

// Ownership and what else is unusual about a tensor.
TensorPtr read_only = make_tensor_ptr({3}, static_cast<const float*>(values));
TensorPtr owns_vector = make_tensor_ptr(std::vector<double>{1, 2});
TensorPtr grows = make_tensor_ptr({2}, {1, 2}, ScalarType::Int, DYNAMIC);
TensorPtr has_room = zeros({2, 3});
TensorPtr fixed = ones({2}, ScalarType::Int, TensorShapeDynamism::STATIC);
TensorPtr placeholder = make_tensor_ptr({2, 3}, nullptr);
TensorPtr model_input = for_blob(nullptr, {2, 3}).device(DeviceType::Meta);
TensorPtr null_pointer, points_to_undefined = std::make_unique<Tensor>();
TensorImplPtr impl = make_tensor_impl_ptr({7, 8});
TensorImpl static_impl(ScalarType::Float, 0, nullptr, values);
Tensor viewed = make_tensor(*fixed, {1}, {}, {}, 1);
Tensor shared(impl), undefined, over_static(&static_impl);

// References and pointers to these, whatever they are called.
using Picture = const TensorPtr;
TensorPtr& non_const = image;
TensorPtr&& rvalue = std::move(image);
Picture& picture = image;
const Tensor& handle = row;
const volatile Tensor& volatile_handle = row;
const TensorPtr* to_pointer = &null_pointer;
TensorPtr* to_image = &image;
Tensor** to_pointers = &pointer;
Tensor* no_tensor = nullptr;
const TensorImplPtr& impl_reference = impl;
TensorImpl* raw_impl = impl.get();
std::optional<TensorPtr> optional = make_tensor_ptr({1, 2}), no_optional;
std::vector<TensorPtr> tensors(2);
TensorPtr moved_from = make_tensor_ptr({1, 2}), moved_to = std::move(moved_from);
Tensor moved_handle(make_tensor_impl_ptr({1, 2})), to_handle = std::move(moved_handle);
std::unique_ptr<const Tensor> const_tensor = std::make_unique<Tensor>(to_handle);

/// Memory of the host's that the host is not to read.
class OpaqueBackend : public HostMemoryBackend {
 public:
  const char* name() const noexcept override { return "opaque"; }
  bool is_opaque() const noexcept override { return true; }
  void* allocate(size_t nbytes, size_t) noexcept override { return std::malloc(nbytes); }
  void deallocate(void* p, size_t) noexcept override { std::free(p); }
};

// Backends.
alignas(64) char t_buffer[4096];
ArenaBackend t_arena(t_buffer, sizeof t_buffer);
TrackingBackend t_tracker(t_arena);
PoolBackend pool(t_tracker);
OpaqueBackend opaque;
MetaBackend meta;
TensorPtr hidden = zeros({3}, ScalarType::Byte, opaque);
TensorPtr shape_only = zeros({2, 3}, ScalarType::Half, meta);
Backend& as_base = t_tracker;
Backend* to_base = &opaque;
ArenaBackend& arena_reference = t_arena;

/// The 8-bit codes as elements of an 8-bit type.
TensorPtr codes(ScalarType type) {
  return from_bytes({8}, {0x00, 0x01, 0x08, 0x38, 0x7c, 0x7f, 0x80, 0xff}, type);
}

// The dtypes that gdb has no type for, or shows in a way of its own; as a list and in rows.
TensorPtr t_Byte = make_tensor_ptr({0, 65, 255}, ScalarType::Byte);
TensorPtr t_Char = make_tensor_ptr({-128, 0, 127}, ScalarType::Char);
TensorPtr t_UInt64 = make_tensor_ptr({UINT64_MAX, uint64_t{1}});
TensorPtr t_Bool = make_tensor_ptr({true, false});
TensorPtr t_Half = make_tensor_ptr({0.1f, -65504.0f, 6e-8f, -INFINITY, NAN}, ScalarType::Half);
TensorPtr t_BFloat16 = make_tensor_ptr({0.1f, -3e38f, 1e-40f, INFINITY, NAN}, ScalarType::BFloat16);
TensorPtr t_e5m2 = codes(ScalarType::Float8_e5m2), t_e4m3fn = codes(ScalarType::Float8_e4m3fn);
TensorPtr t_e5m2fnuz = codes(ScalarType::Float8_e5m2fnuz);
TensorPtr t_e4m3fnuz = codes(ScalarType::Float8_e4m3fnuz);
TensorPtr t_ComplexHalf = make_tensor_ptr({complex<Half>(Half(1), Half(-2))});
TensorPtr t_ComplexFloat = make_tensor_ptr({complex<float>(0.5f, 2), complex<float>(-1, -0.25f)});
TensorPtr half_rows = make_tensor_ptr({2, 2}, {0.5f, 0.25f, -1.0f, NAN}, ScalarType::Half);
TensorPtr complex_rows = make_tensor_ptr({1, 2}, {complex<float>(1, 2), complex<float>(3, -4)});

/// A tensor whose internals are as they should never be.
template <class Change>
Tensor broken(Change change) {
  Tensor tensor = make_tensor({2}, {1.0f, 2.0f});
  change(detail::fields(tensor));
  return tensor;
}

/// A TensorImpl of bytes that nobody made one of.
Tensor bytes_as_tensor(int byte) {
  void* block = std::malloc(sizeof(TensorImpl));
  std::memset(block, byte, sizeof(TensorImpl));
  return Tensor(static_cast<TensorImpl*>(block));
}

/// Two rows of three on a page of memory, the last element beyond its end.
TensorPtr beyond_a_page() {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  void* const pages =
      mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  auto* const end = reinterpret_cast<float*>(static_cast<char*>(pages) + page);
  munmap(end, page);
  std::memcpy(end - 5, values + 1, 5 * sizeof(float));
  return from_blob(end - 5, {2, 3});
}

// Broken ones.
void* const nowhere = reinterpret_cast<void*>(uintptr_t{16});
Tensor no_impl(static_cast<TensorImpl*>(nowhere)), garbage = bytes_as_tensor(0xab);
Tensor negative =
    broken([](detail::ImplFields& f) { const_cast<int64_t&>(f.layout.sizes()[0]) = -2; });
Tensor other_type = broken([](detail::ImplFields& f) { f.type = static_cast<ScalarType>(99); });
TensorPtr half_mapped = beyond_a_page();
Tensor* dangling = static_cast<Tensor*>(nowhere);
TensorPtr& dangling_reference = *static_cast<TensorPtr*>(nowhere);
Backend* no_backend = static_cast<Backend*>(nowhere);
Span<const int> bad_span(static_cast<const int*>(nowhere), SIZE_MAX / 4);

// The rest of the vocabulary.
Dims many_dims = {1, 2, 3, 4, 5, 6, 7, 8}, too_many_dims = std::vector<int>(65);
DimOrder order;
ArrayRef<int64_t> sizes = many_dims;
TensorView view = columns->as_view();
Blob lent = Blob::of(values, {2, 3}), owned_blob = Blob::of(values, {2, 2}, {1, 2});
Scalar s_bool = true, s_unsigned = UINT64_MAX, s_complex = complex<double>(1, -2);
Half half = 1.5f;
BFloat16 bfloat = -0.1f;
complex<float> complex_float(1.0f, -2.5f);
Result<int> good = 42;
EValue v_none, v_tensor = to_handle, v_int = 5, v_double = 2.5, v_bool = true, v_text = "text";
EValue v_list = std::vector<int64_t>{1, 2}, v_tensors = std::vector<Tensor>{to_handle};
EValue v_texts = std::vector<std::string>{"one", "two"};
EValue& v_reference = v_int;
Deleter deleter(&many_dims, [](void*) noexcept {});

}  // namespace shown

int main() {
  using namespace shown;
  static_cast<void>(resize_tensor_ptr(has_room, {1, 2}));
  order.push_back(1);
  order.push_back(0);
  owned_blob.readonly = true;
  owned_blob.owner = std::make_shared<int>(1);
  tensors[0] = zeros({1});
  static_cast<void>(backend_deallocate(deallocated));
  // Not tensors, whose metadata is not as large everywhere.
  void* const block = pool.allocate(100, 64);
  static_cast<void>(t_tracker.allocate(64, 64));
  pool.deallocate(pool.allocate(1000, 64), 1000);
  pool.deallocate(block, 100);
  static_cast<void>(pool.allocate(100, 64));
  t_tracker.deallocate(t_tracker.allocate(640, 64), 640);
  resize_all(image, null_pointer, std::move(cube), row, &undefined, image, t_tracker);
  std::_Exit(0);  // the broken ones are not to be destroyed
}
