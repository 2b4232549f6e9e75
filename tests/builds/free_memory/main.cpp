// SPDX-License-Identifier: MIT
// Uses of free memory, one for each argument: AddressSanitizer must report it. "well" has only
// correct uses, in which it must report nothing.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tenon/backend/arena.h"
#include "tenon/backend/pool.h"
#include "tenon/tenon.h"

#if __has_include(<sanitizer/asan_interface.h>)
#include <sanitizer/asan_interface.h>  // must agree with core/memory.h's declarations
#endif

#if !TENON_MARKS_FREE_MEMORY
#error "compiled without -fsanitize=address"
#endif

using namespace tenon;

namespace {

volatile float sink;
alignas(512) unsigned char buffer[8192];  // so that arena_padding has some wherever it lies

/// Says in the output where f begins and ends, to see that the report is about f.
template <class F>
void find(const F& f) {
  std::fputs("here:\n", stderr);
  f();
  std::fputs("not found\n", stderr);
}
void find_read(const float* p) {
  find([&] { sink = *p; });
}

void require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "false: %s\n", what);
  std::exit(1);
}
#define REQUIRE(...) require(__VA_ARGS__, #__VA_ARGS__)

constexpr int64_t kLarge = 1024;  // elements, whose data has a block of its own

/// Host memory that writes to blocks that are given back, as a backend with a free list does.
class FreeListBackend final : public HostMemoryBackend {
 public:
  const char* name() const noexcept override { return "free list"; }
  void* allocate(size_t nbytes, size_t) noexcept override {
    return std::aligned_alloc(64, (nbytes + 63) / 64 * 64);
  }
  void deallocate(void* p, size_t nbytes) noexcept override {
    volatile auto* const bytes = static_cast<unsigned char*>(p);
    for (size_t i = 0; i < nbytes; ++i) bytes[i] = 0xDD;
    std::free(p);
  }
  Backend* metadata_backend() noexcept override { return this; }
};

// --- Arenas --------------------------------------------------------------------------------------

void arena_not_handed_out() {
  ArenaBackend arena(buffer, sizeof buffer);
  auto t = zeros({4}, arena);
  // Compilers leave out the check of a named array's element.
  unsigned char* volatile const last = buffer + sizeof buffer - 1;
  find([&] { sink = *last; });
}
void arena_behind_a_block_in_a_hole() {
  ArenaBackend arena(buffer, sizeof buffer);
  void* const hole = arena.allocate(64, 64);
  static_cast<void>(arena.allocate(64, 64));
  arena.deallocate(hole, 64);
  void* const block = arena.allocate(12, 64);
  if (block != hole) std::exit(1);
  static_cast<float*>(block)[2] = 1;
  find_read(static_cast<float*>(block) + 3);
}
void arena_padding() {
  ArenaBackend arena(buffer, sizeof buffer);
  auto* const first = static_cast<float*>(arena.allocate(64, 64));
  auto* const aligned = static_cast<float*>(arena.allocate(64, 512));
  if (aligned == first + 16) std::exit(1);
  find_read(first + 16);
}
void arena_first_of_a_hole() {
  ArenaBackend arena(buffer, sizeof buffer);
  auto t = zeros({kLarge}, arena);
  auto stays = zeros({4}, arena);
  const Span<float> elements = t->data<float>();
  t.reset();
  find_read(&elements[0]);
}
void arena_rest_of_a_hole() {
  ArenaBackend arena(buffer, sizeof buffer);
  auto t = zeros({kLarge}, arena);
  auto stays = zeros({4}, arena);
  const Span<float> elements = t->data<float>();
  t.reset();
  auto at_its_end = zeros({kLarge / 2}, arena);
  find_read(&elements[0]);
}
void arena_reset() {
  ArenaBackend arena(buffer, sizeof buffer);
  auto t = zeros({4}, arena);
  const Span<float> elements = t->data<float>();
  t.reset();
  REQUIRE(arena.reset() == Error::Ok);
  find_read(&elements[3]);
}
void arena_handle() {
  ArenaBackend arena(buffer, sizeof buffer);
  auto t = zeros({4}, arena);
  const Tensor& handle = *t;
  t.reset();
  find([&] { sink = static_cast<float>(handle.numel()); });
}
void arena_copy() {
  ArenaBackend arena(buffer, sizeof buffer);
  auto t = zeros({kLarge}, arena);
  auto borrowed = from_blob(t->mutable_data_ptr<float>(), {kLarge});
  t.reset();
  find([&] { auto copy = clone_tensor_ptr(borrowed, host_backend()); });
}

// --- Pools ---------------------------------------------------------------------------------------

void pool_accessor() {
  PoolBackend pool(host_backend());
  auto t = zeros({2, kLarge}, pool);
  const auto a = t->accessor<float, 2>();
  t.reset();
  find([&] { sink = a(1, 0); });
}
void pool_behind_a_block() {
  PoolBackend pool(host_backend());
  auto t = zeros({1030}, pool);  // of 4120 bytes, for which it takes 5120
  find_read(t->const_data_ptr<float>() + 1030);
}
void pool_behind_a_block_again() {
  PoolBackend pool(host_backend());
  zeros({1100}, pool).reset();
  auto t = zeros({1030}, pool);
  REQUIRE(pool.statistics().hits == 1);
  find_read(t->const_data_ptr<float>() + 1030);
}
void pool_trimmed_over_an_arena() {
  ArenaBackend arena(buffer, sizeof buffer);
  PoolBackend pool(arena);
  auto t = zeros({kLarge}, pool);
  const float* const data = t->const_data_ptr<float>();
  t.reset();
  pool.trim();
  find_read(data);
}

// --- Data in one block with the metadata ---------------------------------------------------------

void inline_growth() {
  auto t = make_tensor_ptr({1.0f, 2.0f, 3.0f}, TensorShapeDynamism::DYNAMIC);
  const float* const data = t->const_data_ptr<float>();
  REQUIRE(resize_tensor_ptr(t, {1000}) == Error::Ok);
  find_read(data + 2);
}
void inline_transfer() {
  PoolBackend pool(host_backend());
  auto t = zeros({256});
  const Span<float> elements = t->data<float>();
  auto moved = backend_transfer(t, pool);
  find_read(&elements[255]);
}

// --- A tensor's block that its first handle still needs, and the other way round -----------------

void seat_of_another_tensor() {
  auto t = zeros({4});
  const TensorImpl* const impl = t->unsafeGetTensorImpl();
  *t = Tensor();
  find([&] { sink = static_cast<float>(impl->numel()); });
}
void seat_with_inline_data() {
  auto t = zeros({256});
  const float* const data = t->const_data_ptr<float>();
  *t = Tensor();
  find_read(data + 255);
}
void seat_left() {
  auto t = zeros({4});
  const Tensor kept = *t;
  const Tensor& handle = *t;
  t.reset();
  find([&] { sink = static_cast<float>(handle.numel()); });
}

// --- Correct uses --------------------------------------------------------------------------------

void use_all(const Tensor& t) {
  for (float& element : t.data<float>()) element = 1;
}
void well() {
  {
    ArenaBackend arena(buffer, sizeof buffer);
    auto stays = zeros({4}, arena);
    auto t = zeros({kLarge}, arena, TensorShapeDynamism::DYNAMIC);
    use_all(*t);
    REQUIRE(resize_tensor_ptr(t, {3}) == Error::Ok);
    REQUIRE(resize_tensor_ptr(t, {kLarge}) == Error::Ok);  // still its own
    use_all(*t);
    auto between = zeros({4}, arena);
    auto last = zeros({4}, arena);
    t.reset();
    for (int64_t count : {5, 100, 700, 1}) use_all(*zeros({count}, arena));  // in the hole
    t = zeros({kLarge}, arena);
    use_all(*t);
    use_all(*between);
    use_all(*last);
  }
  std::memset(buffer, 1, sizeof buffer);  // the caller's again
  {
    ArenaBackend arena(buffer + 5, sizeof buffer - 13);
    use_all(*zeros({kLarge}, arena));
    {
      PoolBackend pool(arena);
      use_all(*zeros({5}, pool));
      use_all(*zeros({kLarge - 10}, pool));
      use_all(*zeros({kLarge}, pool));
      pool.trim();
      use_all(*zeros({kLarge - 10}, pool));
      REQUIRE(pool.init({{"max_cached_bytes", 0}}) == Error::Ok);
      use_all(*zeros({kLarge - 10}, pool));
    }
    REQUIRE(arena.live_blocks() == 0);
    use_all(*zeros({kLarge}, arena));
  }
  std::memset(buffer, 1, sizeof buffer);
  {
    alignas(64) unsigned char on_stack[2048];
    ArenaBackend arena(on_stack, sizeof on_stack);
    use_all(*zeros({4}, arena));
  }
  FreeListBackend backend;  // no byte is marked when a block is given back
  for (Backend* const pooled : {static_cast<Backend*>(&backend), &host_backend()}) {
    PoolBackend pool(*pooled);
    for (Backend* const from : {static_cast<Backend*>(&pool), pooled}) {
      auto t = zeros({3}, TensorShapeDynamism::DYNAMIC, *from);
      REQUIRE(resize_tensor_ptr(t, {1000}) == Error::Ok);
      use_all(*t);
      auto other = zeros({7}, *from);
      REQUIRE(backend_deallocate(other) == Deallocation::Ok);
    }
  }
  for (Backend* const from : {&host_backend(), static_cast<Backend*>(&backend)}) {
    auto t = zeros({7}, *from);
    const TensorImplPtr kept = t->impl();
    for (int i = 0; i < 3; ++i) {
      t.reset();
      t = make_tensor_ptr(kept);  // in the seat again
      use_all(*t);
    }
    *t = Tensor();
    *t = *zeros({3}, *from);
    use_all(*t);
  }
  for (int i = 0; i < 100; ++i) {  // blocks of the heap that were left, and what gets them next
    auto t = zeros({256}, TensorShapeDynamism::DYNAMIC);
    REQUIRE(resize_tensor_ptr(t, {257}) == Error::Ok);
    use_all(*t);
    t.reset();
    void* const p = std::malloc(1300);
    std::memset(p, 1, 1300);
    std::free(p);
  }
}

struct Case {
  const char* name;
  void (*run)();
};
constexpr Case kCases[] = {
#define CASE(name) \
  { #name, &name }
    CASE(arena_not_handed_out),
    CASE(arena_behind_a_block_in_a_hole),
    CASE(arena_padding),
    CASE(arena_first_of_a_hole),
    CASE(arena_rest_of_a_hole),
    CASE(arena_reset),
    CASE(arena_handle),
    CASE(arena_copy),
    CASE(pool_accessor),
    CASE(pool_behind_a_block),
    CASE(pool_behind_a_block_again),
    CASE(pool_trimmed_over_an_arena),
    CASE(inline_growth),
    CASE(inline_transfer),
    CASE(seat_of_another_tensor),
    CASE(seat_with_inline_data),
    CASE(seat_left),
    CASE(well),
};

}  // namespace

int main(int argc, char** argv) {
  for (const Case& each : kCases) {
    if (argc != 2 || std::strcmp(argv[1], each.name) != 0) continue;
    each.run();
    return 0;
  }
  std::fprintf(stderr, "usage: %s CASE\n", argv[0]);
  return 2;
}
