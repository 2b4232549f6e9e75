// SPDX-License-Identifier: MIT
// Who keeps the memory of DLPack structs, and of tensors made from them, and for how long.
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "exchange/dlpack_helpers.h"
#include "support/catch.h"
#include "tenon/exchange/dlpack.h"
#include "tenon/tenon.h"
#include "tensor/helpers.h"

using namespace tenon;
using namespace tests;

namespace {

using Legacy = tenon::DLManagedTensor;
using Versioned = tenon::DLManagedTensorVersioned;
using Ints = std::vector<int32_t>;

static_assert(sizeof(DLPackPtr) == sizeof(void*));
static_assert(std::is_nothrow_move_constructible_v<DLPackPtr>);
static_assert(std::is_nothrow_invocable_v<DLPackDeleter, Versioned*>);
static_assert(std::is_nothrow_invocable_v<DLPackDeleter, Legacy*>);

int32_t memory[4] = {1, 2, 3, 4};

TensorPtr tracked(Calls& calls) { return from_blob(memory, {4}, ScalarType::Int, calls.deleter()); }
TensorPtr growing() {
  return make_tensor_ptr({2}, {1, 2}, ScalarType::Int, TensorShapeDynamism::DYNAMIC);
}

}  // namespace

// to_dlpack

TEST_CASE("to_dlpack: the memory lives until the deleter runs, after the tensor is gone") {
  Calls calls;
  TensorPtr t = tracked(calls);
  Versioned* const p = to_dlpack(t);
  t.reset();
  CHECK(calls.count == 0);
  CHECK(static_cast<const int32_t*>(p->dl_tensor.data)[3] == 4);
  p->deleter(p);
  CHECK(calls.count == 1);
  CHECK(calls.argument == memory);
}

TEST_CASE("to_dlpack: the memory of a released struct lives until the tensor is gone") {
  Calls calls;
  TensorPtr t = tracked(calls);
  Legacy* const p = to_dlpack_legacy(t);
  p->deleter(p);
  CHECK(calls.count == 0);
  CHECK(values<int32_t>(t) == Ints{1, 2, 3, 4});
  t.reset();
  CHECK(calls.count == 1);
}

TEST_CASE("to_dlpack: of a view keeps the memory's owner, not the view") {
  Calls calls;
  TensorPtr t = tracked(calls);
  Tensor view = slice(t, 0, 1, 3);
  DLPackPtr p(to_dlpack(view));
  view = Tensor();
  t.reset();
  CHECK(calls.count == 0);
  CHECK(static_cast<const int32_t*>(p->dl_tensor.data)[0] == 2);
  p.reset();
  CHECK(calls.count == 1);
}

TEST_CASE(
    "to_dlpack: sizes and strides live until the deleter runs, whatever becomes of the source") {
  TensorPtr t =
      make_tensor_ptr({2, 3}, {1, 2, 3, 4, 5, 6}, ScalarType::Int, TensorShapeDynamism::DYNAMIC);
  const DLPackPtr p(to_dlpack(t));
  const DLPackLegacyPtr old(to_dlpack_legacy(t));
  CHECK(resize_tensor_ptr(t, {3, 1}) == Error::Ok);
  CHECK(tests::shape_of(p->dl_tensor) == Vector{2, 3});
  CHECK(tests::strides_of(p->dl_tensor) == Vector{3, 1});
  t.reset();
  CHECK(tests::shape_of(p->dl_tensor) == Vector{2, 3});
  CHECK(tests::strides_of(p->dl_tensor) == Vector{3, 1});
  CHECK(tests::shape_of(old->dl_tensor) == Vector{2, 3});
  CHECK(static_cast<const int32_t*>(p->dl_tensor.data)[5] == 6);
}

TEST_CASE("to_dlpack: of many dimensions they live as long") {
  TensorPtr t = make_tensor_ptr(Vector(20, 1), {7});
  const DLPackPtr p(to_dlpack(t));
  t.reset();
  CHECK(tests::shape_of(p->dl_tensor) == Vector(20, 1));
  CHECK(tests::strides_of(p->dl_tensor) == Vector(20, 1));
}

TEST_CASE("to_dlpack: structs released in any order, the source anywhere among them: one release") {
  // 0 to 2 are structs, 3 is the source.
  Vector order{0, 1, 2, 3};
  int orders = 0;
  do {
    Calls calls;
    TensorPtr t = tracked(calls);
    DLPackPtr first(to_dlpack(t));
    DLPackLegacyPtr second(to_dlpack_legacy(t));
    DLPackPtr third(to_dlpack(select(t, 0, 1)));
    int gone = 0;
    for (const int64_t which : order) {
      CHECK(calls.count == 0);
      if (which == 0) first.reset();
      if (which == 1) second.reset();
      if (which == 2) third.reset();
      if (which == 3) t.reset();
      ++gone;
      CHECK(calls.count == (gone == 4 ? 1 : 0));
    }
    ++orders;
  } while (std::next_permutation(order.begin(), order.end()));
  CHECK(orders == 24);
}

TEST_CASE("to_dlpack: while a struct is alive the tensor cannot grow, but shrink") {
  TensorPtr t = growing();
  DLPackPtr p(to_dlpack(t));
  DLPackLegacyPtr old(to_dlpack_legacy(t));
  CHECK_RETURNS(Error::InUse, "resize_tensor_ptr: ", resize_tensor_ptr(t, {100}));
  CHECK(t->numel() == 2);
  CHECK(resize_tensor_ptr(t, {1}) == Error::Ok);
  p.reset();
  CHECK(resize_tensor_ptr(t, {100}) == Error::InUse);
  old.reset();
  CHECK(resize_tensor_ptr(t, {100}) == Error::Ok);
}

TEST_CASE("to_dlpack: a struct of a view stops the growth of the view's source") {
  TensorPtr t = growing();
  DLPackPtr p(to_dlpack(select(t, 0, 0)));
  CHECK(resize_tensor_ptr(t, {100}) == Error::InUse);
  p.reset();
  CHECK(resize_tensor_ptr(t, {100}) == Error::Ok);
}

TEST_CASE("to_dlpack: a copy stops nobody") {
  TensorPtr t = growing();
  const DLPackPtr p(to_dlpack(t, true));
  CHECK(resize_tensor_ptr(t, {100}) == Error::Ok);
  CHECK(static_cast<const int32_t*>(p->dl_tensor.data)[1] == 2);
}

TEST_CASE("to_dlpack: after an error nothing is borrowed") {
  TensorPtr t = make_tensor_ptr({2}, nullptr, ScalarType::Float, TensorShapeDynamism::DYNAMIC);
  CHECK(try_to_dlpack(t).error() == Error::InvalidState);
  CHECK(try_to_dlpack_legacy(t).error() == Error::InvalidState);
#if TENON_ATEN_MODE
  CHECK(t->storage().use_count() == 1);
#else
  CHECK(t->use_count() == 1);
  CHECK_FALSE(detail::fields(t).borrows.any());
#endif
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

// Backends

namespace {

struct Buffer {
  alignas(64) unsigned char bytes[4096];
  bool holds(const void* p) const { return p >= bytes && p < bytes + sizeof bytes; }
};

}  // namespace

TEST_CASE("to_dlpack: an arena is in use while a struct of a tensor in it is alive") {
  Buffer buffer;
  ArenaBackend arena(buffer.bytes, sizeof buffer.bytes);
  TensorPtr t = full({2, 3}, 7, ScalarType::Int, arena);
  DLPackPtr p(to_dlpack(t));
  CHECK(buffer.holds(p->dl_tensor.data));
  t.reset();
  CHECK_RETURNS(Error::InUse, "reset: ", arena.reset());
  CHECK(static_cast<const int32_t*>(p->dl_tensor.data)[5] == 7);
  p.reset();
  CHECK(arena.live_blocks() == 0);
  CHECK(arena.reset() == Error::Ok);
}

#if !TENON_ATEN_MODE
TEST_CASE("to_dlpack: a struct of a tensor in an arena lies in the arena") {
  Buffer buffer;
  ArenaBackend arena(buffer.bytes, sizeof buffer.bytes);
  const TensorPtr t = zeros({2, 3}, arena);
  const int64_t blocks = static_cast<int64_t>(arena.live_blocks());
  const DLPackPtr p(to_dlpack(t));
  CHECK(buffer.holds(p.get()));
  CHECK(buffer.holds(p->dl_tensor.shape));
  CHECK(buffer.holds(p->dl_tensor.strides));
  CHECK(static_cast<int64_t>(arena.live_blocks()) == blocks + 1);
  const DLPackLegacyPtr old(to_dlpack_legacy(select(t, 0, 1)));
  CHECK(buffer.holds(old.get()));
}

TEST_CASE(
    "to_dlpack: an arena without room for the struct is OutOfMemory, and nothing is borrowed") {
  alignas(64) unsigned char bytes[1024];
  ArenaBackend arena(bytes, sizeof bytes);
  TensorPtr t = zeros({2}, ScalarType::Byte, arena);
  std::vector<DLPackPtr> structs;
  for (int i = 0; i < 100; ++i) {
    const auto made = try_to_dlpack(t);
    if (!made.ok()) {
      CHECK(made.error() == Error::OutOfMemory);
      CHECK(tests::contains(made.message(), "try_to_dlpack: "));
      break;
    }
    structs.emplace_back(*made);
  }
  CHECK(structs.size() < 100);
  structs.clear();
  CHECK_FALSE(detail::fields(t).borrows.any());
  t.reset();
  CHECK(arena.reset() == Error::Ok);
}
#endif

TEST_CASE("to_dlpack: of a deallocated tensor is an error") {
  Buffer buffer;
  ArenaBackend arena(buffer.bytes, sizeof buffer.bytes);
  const TensorPtr t = zeros({2, 3}, arena);
  backend_deallocate(t);
  CHECK_ERROR(Error::InvalidState, "was deallocated", to_dlpack(t));
}

TEST_CASE("to_dlpack: memory cannot be deallocated under a struct") {
  Buffer buffer;
  ArenaBackend arena(buffer.bytes, sizeof buffer.bytes);
  const TensorPtr t = full({2}, 7, ScalarType::Int, arena);
  DLPackPtr p(to_dlpack(t));
  CHECK(backend_deallocate(t) == Deallocation::InUse);
  CHECK(static_cast<const int32_t*>(p->dl_tensor.data)[1] == 7);
  p.reset();
  CHECK(backend_deallocate(t) == Deallocation::Ok);
}

// from_dlpack

TEST_CASE("from_dlpack: the deleter runs once, after the last view, Blob and struct is gone") {
  Lent<> lent(memory, kInt32, {4}, {1});
  TensorPtr t = from_dlpack(lent.get());
  Tensor view = slice(t, 0, 2, 4);
  TensorPtr shared = make_tensor_ptr(t);
  Blob blob = to_blob(view);
  DLPackPtr again(to_dlpack(view));
  t.reset();
  CHECK(lent.released == 0);
  shared.reset();
  CHECK(lent.released == 0);
  view = Tensor();
  CHECK(lent.released == 0);
  blob = Blob();
  CHECK(lent.released == 0);
  CHECK(static_cast<const int32_t*>(again->dl_tensor.data)[1] == 4);
  again.reset();
  CHECK(lent.released == 1);
}

TEST_CASE("from_dlpack: structs passed on through tensors release the first one once, at the end") {
  Lent<> lent(memory, kInt32, {4}, {1});
  TensorPtr t = from_dlpack(lent.get());
  for (int i = 0; i < 5; ++i) t = from_dlpack(to_dlpack(t));
  for (int i = 0; i < 5; ++i) t = from_dlpack(to_dlpack_legacy(t));
  CHECK(lent.released == 0);
  CHECK(const_data_ptr(t) == memory);
  t.reset();
  CHECK(lent.released == 1);
}

TEST_CASE("from_dlpack: a tensor of a tensor's struct holds the first one back in its stead") {
  TensorPtr t = growing();
  TensorPtr other = from_dlpack(to_dlpack(t));
  CHECK(const_data_ptr(other) == const_data_ptr(t));
  CHECK(resize_tensor_ptr(t, {100}) == Error::InUse);
  other.reset();
  CHECK(resize_tensor_ptr(t, {100}) == Error::Ok);
}

TEST_CASE("from_dlpack: the deleter runs on the thread that drops the last tensor") {
  Lent<> lent(memory, kInt32, {4}, {1});
  TensorPtr t = from_dlpack(lent.get());
  std::thread([mine = std::move(t)]() mutable { mine.reset(); }).join();
  CHECK(lent.released == 1);
}

TEST_CASE("from_dlpack: a copy releases the struct before it returns") {
  Lent<> lent(memory, kInt32, {4}, {1});
  const TensorPtr t = from_dlpack(lent.get(), true);
  CHECK(lent.released == 1);
  CHECK(values<int32_t>(t) == Ints{1, 2, 3, 4});
}

TEST_CASE("DLPackPtr: releases its struct once, unless it is passed on") {
  Lent<> lent(memory, kInt32, {4}, {1});
  { const DLPackPtr p(lent.get()); }
  CHECK(lent.released == 1);
  Lent<> passed(memory, kInt32, {4}, {1});
  {
    DLPackPtr p(passed.get());
    CHECK(p.release() == passed.get());
  }
  CHECK(passed.released == 0);
  Lent<Legacy> bare(memory, kInt32, {4}, {1});
  bare.managed.deleter = nullptr;
  { const DLPackLegacyPtr p(bare.get()); }
  CHECK(bare.released == 0);
}

// Static destruction

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

TEST_CASE("from_dlpack: a static tensor's struct is released at static destruction") {
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
  ending.expected = 1;
  CHECK(ending.count == 0);
  CHECK(values<int32_t>(view) == Ints{2, 3});
}

TEST_CASE("to_dlpack: a static struct is released at static destruction") {
  static Ending ending;
  TensorPtr t = from_blob(memory, {4}, ScalarType::Int, [](void*) noexcept { ++ending.count; });
  static const DLPackPtr p(to_dlpack(t));
  static const DLPackLegacyPtr old(to_dlpack_legacy(t));
  ending.expected = 1;
  t.reset();
  CHECK(ending.count == 0);
}
