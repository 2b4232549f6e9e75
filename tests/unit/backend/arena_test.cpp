// SPDX-License-Identifier: MIT
#include "tenon/backend/arena.h"

#include "backend/helpers.h"
#include "support/catch.h"
#include "tenon/backend/tracking.h"
#include "tenon/exchange/blob.h"
#include "tenon/exchange/dlpack.h"
#include "tenon/tensor/clone.h"
#include "tenon/tensor/copy.h"
#include "tenon/tensor/creators.h"
#include "tenon/tensor/view.h"
#include "tensor/helpers.h"

namespace arena_test {

using namespace tenon;
using tests::Calls;
using tests::contains;

namespace {

// 64, or 16 on bare metal.
constexpr size_t kUnit = detail::kDataAlignment;
constexpr size_t round_up(size_t n, size_t alignment) {
  return (n + alignment - 1) / alignment * alignment;
}
// What the arena takes for itself.
constexpr size_t kState = round_up(sizeof(detail::BackendState), kUnit);

/// An arena with room for so many bytes, at a multiple of 512.
template <size_t room>
struct Arena {
  ArenaBackend& operator*() { return backend; }
  ArenaBackend* operator->() { return &backend; }
  unsigned char* first() { return bytes + 512; }
  bool holds(const void* p) const { return p >= bytes && p < bytes + sizeof bytes; }
  void* take(size_t nbytes) { return backend.allocate(nbytes, kUnit); }
  alignas(512) unsigned char bytes[512 + room];
  ArenaBackend backend{bytes + 512 - kState, kState + room};
};

}  // namespace

TEST_CASE("arena: what does not fit is refused, with what is needed and what is free") {
  Arena<1024> arena;
  REQUIRE(arena.take(640) != nullptr);
  CHECK(arena.take(400) == nullptr);
  CHECK(contains(last_error_message(), "384 of 1024 bytes are free, 400 are needed"));
  for (size_t less = 0; less < 200; ++less) CHECK(arena.take(SIZE_MAX - less) == nullptr);
  CHECK(arena.take(SIZE_MAX / 2) == nullptr);
  CHECK(arena.take(1025) == nullptr);
  CHECK(arena->used() == 640);
  CHECK(arena.take(384) != nullptr);
  CHECK(arena->allocate(1, 1) == nullptr);
  CHECK(contains(last_error_message(), "0 of 1024 bytes are free, 1 are needed"));
}

TEST_CASE("arena: a buffer too small for the arena itself makes nothing, and says so") {
  alignas(64) unsigned char bytes[kState];
  for (size_t nbytes : {size_t{0}, size_t{1}, kState - 1}) {
    ArenaBackend arena(nbytes == 0 ? nullptr : bytes, nbytes);
    CHECK(arena.capacity() == 0);
    CHECK(arena.allocate(1, 1) == nullptr);
    CHECK(contains(last_error_message(), "the buffer is too small for the arena"));
    RAISES(OutOfMemory, "zeros: backend arena has no memory for 8 bytes: 0 of 0 bytes are free",
           zeros({2}, arena));
    CHECK(arena.live_blocks() == 0);
    CHECK(arena.reset() == Error::Ok);
  }
  ArenaBackend small(bytes, kState);
  CHECK(small.capacity() == 0);
  CHECK(small.allocate(1, 1) == nullptr);
  CHECK(contains(last_error_message(), "0 of 0 bytes are free"));
}

TEST_CASE("arena: blocks that are alive never overlap, whatever is released when") {
  Arena<8192> arena;
  struct Block {
    unsigned char* p;
    size_t nbytes;
    unsigned char mark;
  };
  std::vector<Block> alive;
  tests::Rng random{12345};
  for (int step = 0; step < 20000; ++step) {
    if (random.between(0, 99) < 48 || alive.empty()) {
      const auto nbytes = static_cast<size_t>(random.between(1, 300));
      const size_t alignment = random.between(0, 19) == 0 ? 256 : kUnit;
      auto* const p = static_cast<unsigned char*>(arena->allocate(nbytes, alignment));
      if (p == nullptr) continue;
      REQUIRE(reinterpret_cast<uintptr_t>(p) % alignment == 0);
      REQUIRE(p >= arena.first());
      REQUIRE(p + nbytes <= arena.first() + 8192);
      alive.push_back({p, nbytes, static_cast<unsigned char>(step)});
      std::memset(p, step & 255, nbytes);
    } else {
      const auto last = static_cast<ptrdiff_t>(alive.size()) - 1;
      const auto i =
          random.between(0, 1) == 0 ? last : static_cast<ptrdiff_t>(random.between(0, last));
      const Block block = alive[static_cast<size_t>(i)];
      alive.erase(alive.begin() + i);
      REQUIRE(std::count(block.p, block.p + block.nbytes, block.mark) ==
              static_cast<ptrdiff_t>(block.nbytes));
      arena->deallocate(block.p, block.nbytes);
    }
    size_t used = 0;
    for (const Block& block : alive) {
      used = std::max(used, static_cast<size_t>(block.p - arena.first()) + block.nbytes);
    }
    REQUIRE(arena->used() == round_up(used, kUnit));
  }
  for (const Block& block : alive) arena->deallocate(block.p, block.nbytes);
  CHECK(arena->used() == 0);
}

TEST_CASE("arena: reset is refused while blocks are alive; the high-water mark stays") {
  Arena<1024> arena;
  CHECK(arena->reset() == Error::Ok);
  void* const a = arena.take(64);
  void* const b = arena.take(64);
  RETURNS(InUse, "reset: 2 blocks of the arena's memory, 128 bytes, are in use", arena->reset());
  arena->deallocate(a, 64);
  RETURNS(InUse, "reset: 1 block of", arena->reset());
  CHECK(arena->used() == 128);
  arena->deallocate(b, 64);
  CHECK(arena->reset() == Error::Ok);
  CHECK(arena.take(2000) == nullptr);
  CHECK(arena->high_water() == 128);
}

// A promise of docs/guarantees.md.
TEST_CASE("arena: filled with tensors nothing outside of the buffer is written, at any address") {
  constexpr size_t kRoom = 2048;
  alignas(64) unsigned char bytes[64 + kRoom + 64];
  for (size_t offset = 0; offset <= kUnit; ++offset) {
    std::memset(bytes, 0xa5, sizeof bytes);
    unsigned char* const begin = bytes + offset;
    unsigned char* const end = begin + kRoom - offset % 3;
    ArenaBackend arena(begin, static_cast<size_t>(end - begin));
    std::vector<TensorPtr> all;
    Result<TensorPtr> made = try_full({3}, 7, arena);
    for (; made.ok(); made = try_full({3}, 7, arena)) all.push_back(std::move(made).value());
    INFO(offset << ": " << made.message());
    CHECK(made.error() == Error::OutOfMemory);
    CHECK(all.size() >= 3);
    const auto live = static_cast<int64_t>(all.size());
    CHECK(arena.live_blocks() == live);
    CHECK(try_full({3}, 7, arena).error() == Error::OutOfMemory);
    CHECK(arena.live_blocks() == live);
    for (const TensorPtr& t : all) CHECK(tests::values<float>(t) == tests::Floats(3, 7.0f));
    all.clear();
    CHECK(arena.used() == 0);
    std::vector<unsigned char*> aligned;
    while (void* const p = arena.allocate(kUnit, 4 * kUnit)) {
      aligned.push_back(static_cast<unsigned char*>(p));
      REQUIRE(aligned.back() + kUnit <= end);
    }
    for (unsigned char* p : aligned) arena.deallocate(p, kUnit);
    CHECK(arena.used() == 0);
    for (void* p = nullptr; (p = arena.allocate(kUnit, 1)) != nullptr;) std::memset(p, 0, kUnit);
    CHECK(std::count(bytes, begin, 0xa5) == begin - bytes);
    CHECK(std::count(end, bytes + sizeof bytes, 0xa5) == bytes + sizeof bytes - end);
  }
}

// A promise of docs/guarantees.md.
TEST_CASE("arena: reset is refused while a tensor or a view of it is alive") {
  Arena<4096> arena;
  TensorPtr t = zeros({4, 4}, *arena);
  Tensor row = select(t, 0, 1);
  RETURNS(InUse, "reset: ", arena->reset());
  t.reset();
  RETURNS(InUse, "reset: ", arena->reset());
  CHECK(tests::values<float>(row) == tests::Floats(4, 0.0f));
  row = Tensor();
  CHECK(arena->reset() == Error::Ok);
}

TEST_CASE("metadata: what is exported is where the tensor's is, never in the scope") {
  Arena<8192> arena;
  float data[6] = {};
  const Tensor on_heap = tensor_from_blob(data, {6});
  const auto lend = [&](const Tensor& t) {
    const Blob blob = to_blob(t);
    const std::unique_ptr<dlpack::DLManagedTensorVersioned, DLPackDeleter> managed(to_dlpack(t));
    return arena->live_blocks();
  };
  const BackendScope scope(*arena);
  CHECK(lend(on_heap) == 0);
  CHECK(lend(narrow(on_heap, 0, 0, 1)) == 1 + 2);
  CHECK(lend(tensor_from_blob(data, {6})) == 1 + 2);
  CHECK_FALSE(arena.holds(from_dlpack(to_dlpack(on_heap)).get()));
}

// A promise of docs/guarantees.md.
TEST_CASE("metadata: all of it is given back, in whatever order tensors are dropped") {
  Arena<8192> arena;
  float data[6] = {};
  std::array<size_t, 4> order{0, 1, 2, 3};
  do {
    Calls calls;
    const BackendScope scope(*arena);
    TensorPtr t[4] = {from_blob(data, {2, 3}, ScalarType::Float, calls.deleter())};
    t[1] = make_tensor_ptr(t[0]);
    t[2] = make_tensor_ptr(*t[0], {3, 2});
    t[3] = make_tensor_ptr(Tensor(t[2]->impl()), {6});
    CHECK(arena->live_blocks() == 3 + 1);  // two handles share a tensor
    for (size_t i : order) {
      CHECK(calls.count == 0);
      t[i].reset();
    }
    INFO(order[0] << order[1] << order[2] << order[3]);
    CHECK(calls.count == 1);
    CHECK(arena->live_blocks() == 0);
    CHECK(arena->used() == 0);
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST_CASE("metadata: a wrapper counts none of it, but the memory that is said to be its own") {
  Arena<8192> arena;
  TrackingBackend tracking(*arena);
  float data[6] = {};
  Calls calls;
  const BackendScope scope(tracking);
  TensorPtr t = from_blob(data, {2, 3});
  CHECK(arena->live_blocks() == 1);
  CHECK(tracking.live_blocks() == 0);
  t = from_blob(data, {2, 3}, ScalarType::Float, calls.deleter(), tracking);
  CHECK(arena->live_blocks() == 1);
  CHECK(tracking.live_blocks() == 1);
  t.reset();
  CHECK(calls.count == 1);
  CHECK(tracking.live_blocks() == 0);
}

TEST_CASE("arena: one destroyed before its tensors is reported, and dropping those is safe") {
  const tests::Reports told;
  alignas(64) unsigned char bytes[4096];
  float data[4] = {};
  TensorPtr t;
  TensorPtr lent;
  {
    ArenaBackend arena(bytes, sizeof bytes);
    const BackendScope scope(arena);
    t = zeros({4});
    lent = from_blob(data, {4});
  }
  CHECK(contains(told.last(), "backend arena was destroyed with 2 of its blocks"));
  const TensorPtr view = make_tensor_ptr(*lent, {2});  // on the heap
  CHECK(tests::values<float>(view) == tests::Floats(2, 0.0f));
  t.reset();
  lent.reset();
}

TEST_CASE("metadata: whichever block is refused, the error says so, and all is released once") {
  struct Keeper : HostMemoryBackend {
    const char* name() const noexcept override { return "metadata_backend"; }
    Backend* metadata_backend() noexcept override { return this; }
    void* allocate(size_t nbytes, size_t) noexcept override {
      return --until == 0 ? nullptr : std::malloc(nbytes);
    }
    void deallocate(void* p, size_t) noexcept override { std::free(p); }
    int until = 0;
  } metadata_backend;
  float data[6] = {};
  Calls calls;
  const TensorPtr t = from_blob(data, {2, 3}, metadata_backend);
  const BackendScope scope(metadata_backend);
  const std::function<Result<TensorPtr>()> makers[] = {
      [&] {
        return try_from_blob(data, {2, 3}, ScalarType::Float, calls.deleter());
      },
      [&] {
        return try_from_blob(data, {2, 3}, ScalarType::Float, calls.deleter(), metadata_backend);
      },
      [&] { return for_blob(data, {6}).deleter(calls.deleter()).try_make_tensor_ptr(); },
      [&] {
        return try_make_tensor_ptr(*t, {3, 2});
      },
      [&] { return try_make_tensor_ptr(t); },
      [&] { return try_make_tensor_ptr(t->impl()); },
  };
  for (const auto& make : makers) {
    for (int n = 1; n < 4; ++n) {
      calls = Calls();
      metadata_backend.until = n;
      const Result<TensorPtr> made = make();
      INFO("maker " << &make - makers << ", block " << n << ", " << made.message());
      CHECK(made.ok() == (n > 1));
      if (made.ok()) continue;
      CHECK(made.error() == Error::OutOfMemory);
      CHECK(contains(made.message(), ": backend metadata_backend has no memory for "));
      CHECK(calls.count == (&make - makers < 3 ? 1 : 0));
      CHECK(metadata_backend.live_blocks() == 1);
    }
  }
  metadata_backend.until = 0;
}

}  // namespace arena_test
