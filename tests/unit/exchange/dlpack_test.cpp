// SPDX-License-Identifier: MIT
// Who keeps the memory of DLPack structs, and of tensors made from them, and for how long.
#include "tenon/exchange/dlpack.h"

#include <cstdio>

#include "exchange/dlpack_helpers.h"
#include "support/catch.h"
#include "tenon/tenon.h"
#include "tensor/helpers.h"

namespace dlpack_test {

using namespace tenon;
using namespace tests;

namespace {

using Legacy = dlpack::DLManagedTensor;
using Versioned = dlpack::DLManagedTensorVersioned;

static_assert(sizeof(DLPackPtr) == sizeof(void*));
static_assert(std::is_nothrow_move_constructible_v<DLPackPtr>);
static_assert(std::is_nothrow_invocable_v<DLPackDeleter, Versioned*>);
static_assert(std::is_nothrow_invocable_v<DLPackDeleter, Legacy*>);

int32_t memory[4] = {1, 2, 3, 4};

TensorPtr tracked(Calls& calls) { return from_blob(memory, {4}, ScalarType::Int, calls.deleter()); }
TensorPtr growing() {
  return make_tensor_ptr({2}, {1, 2}, ScalarType::Int, TensorShapeDynamism::DYNAMIC);
}
template <class Managed>
int32_t element(const Managed& p, int64_t i) {
  return static_cast<const int32_t*>(p->dl_tensor.data)[i];
}

}  // namespace

// A promise of docs/guarantees.md.
TEST_CASE(
    "to_dlpack: structs and the source go in any order; the memory goes with the last, once") {
  Vector order{0, 1, 2, 3};  // 0 to 2 are structs, 3 is the source
  int orders = 0;
  do {
    Calls calls;
    TensorPtr t = tracked(calls);
    DLPackPtr first(to_dlpack(t));
    DLPackLegacyPtr second(to_dlpack_legacy(t));
    DLPackPtr of_view(to_dlpack(slice(t, 0, 1, 3)));
    for (const int64_t which : order) {
      CHECK(calls.count == 0);
      CHECK((first == nullptr || element(first, 3) == 4));
      CHECK((of_view == nullptr || element(of_view, 0) == 2));
      CHECK((t == nullptr || values<int32_t>(t) == Ints{1, 2, 3, 4}));
      if (which == 0) first.reset();
      if (which == 1) second.reset();
      if (which == 2) of_view.reset();
      if (which == 3) t.reset();
    }
    CHECK(calls.count == 1);
    CHECK(calls.argument == memory);
    ++orders;
  } while (std::next_permutation(order.begin(), order.end()));
  CHECK(orders == 24);
}

// A promise of docs/guarantees.md.
TEST_CASE(
    "to_dlpack: under a struct, a view's too, the tensor cannot grow, but shrink; not a copy") {
  TensorPtr t = growing();
  DLPackPtr p(to_dlpack(t));
  DLPackLegacyPtr old(to_dlpack_legacy(t));
  DLPackPtr of_view(to_dlpack(select(t, 0, 0)));
  const DLPackPtr copy(to_dlpack(t, true));
  RETURNS(InUse, "resize_tensor_ptr: ", resize_tensor_ptr(t, {100}));
  CHECK(t->numel() == 2);
  CHECK(resize_tensor_ptr(t, {1}) == Error::Ok);
  p.reset();
  CHECK(resize_tensor_ptr(t, {100}) == Error::InUse);
  old.reset();
  CHECK(resize_tensor_ptr(t, {100}) == Error::InUse);
  of_view.reset();
  CHECK(resize_tensor_ptr(t, {100}) == Error::Ok);
  CHECK(element(copy, 1) == 2);
}

#if !TENON_ATEN_MODE
TEST_CASE("to_dlpack: of a raw TensorImpl borrows the caller's memory, and keeps nothing") {
  Calls calls;
  TensorImplPtr impl = make_tensor_impl_ptr({4}, memory, {}, {}, ScalarType::Int,
                                            TensorShapeDynamism::STATIC, calls.deleter());
  {
    const DLPackPtr p(to_dlpack(Tensor(impl.get())));
    CHECK(p->dl_tensor.data == memory);
    CHECK(impl.use_count() == 1);
  }
  CHECK(calls.count == 0);
  impl = nullptr;
  CHECK(calls.count == 1);
}
#endif

namespace {

struct Buffer {
  alignas(64) unsigned char bytes[4096];
  bool holds(const void* p) const { return p >= bytes && p < bytes + sizeof bytes; }
};

}  // namespace

TEST_CASE("to_dlpack: under a struct an arena is in use, and its memory cannot be deallocated") {
  Buffer buffer;
  ArenaBackend arena(buffer.bytes, sizeof buffer.bytes);
  TensorPtr t = full({2, 3}, 7, ScalarType::Int, arena);
  DLPackPtr p(to_dlpack(t));
  CHECK(buffer.holds(p->dl_tensor.data));
  CHECK(backend_deallocate(t) == Deallocation::InUse);
  t.reset();
  RETURNS(InUse, "reset: ", arena.reset());
  CHECK(element(p, 5) == 7);
  p.reset();
  CHECK(arena.live_blocks() == 0);
  CHECK(arena.reset() == Error::Ok);
  t = full({2}, 7, ScalarType::Int, arena);
  CHECK(backend_deallocate(t) == Deallocation::Ok);
  RAISES(InvalidState, "was deallocated", to_dlpack(t));
}

#if !TENON_ATEN_MODE
TEST_CASE("to_dlpack: an arena without room for the struct is OutOfMemory, nothing is borrowed") {
  alignas(64) unsigned char bytes[1024];
  ArenaBackend arena(bytes, sizeof bytes);
  TensorPtr t = zeros({2}, ScalarType::Byte, arena);
  std::vector<DLPackPtr> structs;
  auto made = try_to_dlpack(t);
  for (; made.ok() && structs.size() < 100; made = try_to_dlpack(t)) structs.emplace_back(*made);
  CHECK(structs.size() < 100);
  CHECK(made.error() == Error::OutOfMemory);
  CHECK(contains(made.message(), "try_to_dlpack: "));
  structs.clear();
  CHECK_FALSE(detail::fields(t).borrows.any());
  t.reset();
  CHECK(arena.reset() == Error::Ok);
}
#endif

// A promise of docs/guarantees.md.
TEST_CASE("from_dlpack: the deleter runs once, after the last view, Blob and struct is gone") {
  Lent<> lent(memory, kInt32, {4}, {1});
  TensorPtr t = from_dlpack(lent.get());
  Tensor view = slice(t, 0, 2, 4);
  TensorPtr shared = make_tensor_ptr(t);
  Blob blob = to_blob(view);
  DLPackPtr again(to_dlpack(view));
  t.reset();
  shared.reset();
  view = Tensor();
  blob = Blob();
  CHECK(lent.released == 0);
  CHECK(element(again, 1) == 4);
  again.reset();
  CHECK(lent.released == 1);
}

TEST_CASE("DLPackPtr: releases its struct once, unless it is passed on") {
  Lent<> lent(memory, kInt32, {4}, {1});
  { const DLPackPtr p(lent.get()); }
  CHECK(lent.released == 1);
  Lent<> passed(memory, kInt32, {4}, {1});
  CHECK(DLPackPtr(passed.get()).release() == passed.get());
  CHECK(passed.released == 0);
  Lent<Legacy> bare(memory, kInt32, {4}, {1});
  bare.managed.deleter = nullptr;
  { const DLPackLegacyPtr p(bare.get()); }
  CHECK(bare.released == 0);
}

namespace {

// Ends the program with an error unless the memory was released once, in time.
struct Ending {
  ~Ending() {
    if (count == expected) return;
    std::fprintf(stderr, "%d releases at static destruction, expected %d\n", count, expected);
    std::_Exit(1);
  }
  int count = 0;
  int expected = 0;
};

}  // namespace

TEST_CASE("dlpack: what is static is released at static destruction, a tensor and structs") {
  static Ending ending;
  struct Counted {
    static void release(Versioned* self) { ++static_cast<Ending*>(self->manager_ctx)->count; }
  };
  static int64_t shape[1] = {4};
  static int64_t stride[1] = {1};
  static Versioned managed{
      {1, 3}, &ending, &Counted::release, 0, {memory, {1, 0}, 1, kInt32, shape, stride, 0}};
  static const TensorPtr t = from_dlpack(&managed);
  static const Tensor view = slice(t, 0, 1, 3);
  CHECK(values<int32_t>(view) == Ints{2, 3});
  TensorPtr other = from_blob(memory, {4}, ScalarType::Int, [](void*) noexcept { ++ending.count; });
  static const DLPackPtr p(to_dlpack(other));
  static const DLPackLegacyPtr old(to_dlpack_legacy(other));
  other.reset();
  CHECK(ending.count == 0);
  ending.expected = 2;
}

}  // namespace dlpack_test
