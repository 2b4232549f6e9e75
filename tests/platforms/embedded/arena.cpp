// SPDX-License-Identifier: MIT
// What needs no heap: an arena, the caller's TensorImpl, borrowed memory.
#include "tenon/backend/arena.h"

#include "guarded.h"
#include "tenon/tenon.h"

namespace arena_suite {

using namespace tenon;
using namespace tests;

// A promise of docs/guarantees.md.
TEST_CASE("arena: tensors, views and a resize, without the heap") {
  static Guarded<4096> room;
  const NoHeap no_heap;
  {
    ArenaBackend arena(room.data, sizeof room.data);
    size_t most = 0;
    {
      TensorPtr t = full({2, 3}, 1.5f, arena);
      const TensorPtr ints = arange(6, ScalarType::Int, arena);
      CHECK(t->is_aligned(TENON_DATA_ALIGNMENT));
      const Tensor row = select(t, 0, 1);
      const Tensor turned = transpose(t, 0, 1);
      CHECK(copy_(turned, reshape(ints, {3, 2})) == Error::Ok);
      const auto a = t->accessor<float, 2>();
      CHECK(a[0][0] == 0 && a[1][0] == 1 && a[0][1] == 2 && a[1][2] == 5);
      CHECK(row.const_data_ptr<float>()[2] == 5);
      CHECK(resize_tensor_ptr(t, {5}) == Error::Ok);
      most = arena.used();
      CHECK(arena.reset() == Error::InUse);
    }
    CHECK(arena.used() == 0);
    CHECK(arena.high_water() >= most && most > 0);
    CHECK(arena.reset() == Error::Ok);
  }
  CHECK(room.is_intact());
}

// A promise of docs/guarantees.md.
TEST_CASE("arena: one that is full says so, again and again, and goes on") {
  static Guarded<2048> room;
  const NoHeap no_heap(TENON_HEAP == 0);  // else the text of a failed Result is there
  {
    ArenaBackend arena(room.data, sizeof room.data);
    const TensorPtr kept = full({8}, 7, ScalarType::Int, arena);
    const size_t used = arena.used();
    for (int64_t n : {int64_t{512}, int64_t{1} << 20, int64_t{1} << 29, int64_t{1} << 40}) {
      const auto refused = try_empty({n}, arena);
      CHECK(refused.error() ==
            (n <= PTRDIFF_MAX / 4 ? Error::OutOfMemory : Error::InvalidArgument));
      CHECK(arena.used() == used);
    }
    for (int i = 0; i < 3; ++i) {
      TensorPtr parts[16];
      int made = 0;
      for (TensorPtr& part : parts) {
        auto result = try_full({16}, i, ScalarType::Int, arena);
        if (!result.ok()) break;
        part = std::move(*result);
        ++made;
      }
      CHECK(made > 0);
      CHECK(made < 16);
      CHECK(parts[made - 1]->const_data_ptr<int32_t>()[15] == i);
      Tensor views[64];
      Error error = Error::Ok;
      for (Tensor& view : views) {
        auto result = try_select(parts[0], 0, 0);
        error = result.error();
        if (!result.ok()) break;
        view = std::move(*result);
      }
      CHECK(error == Error::OutOfMemory);
    }
    CHECK(arena.used() == used);
    CHECK(kept->const_data_ptr<int32_t>()[7] == 7);
  }
  CHECK(room.is_intact());
}

TEST_CASE("stack: a TensorImpl over static memory, without the heap") {
  static Guarded<64> room;
  const NoHeap no_heap;
  const SizesType sizes[] = {2, 3};
  TensorImpl impl(ScalarType::Float, 2, sizes, room.data, nullptr, nullptr,
                  TensorShapeDynamism::DYNAMIC_BOUND);
  Tensor t(&impl);
  CHECK(fill_(t, 2) == Error::Ok);
  const auto a = t.accessor<float, 2>();
  a[1][2] = 5;
  CHECK(t.const_data_ptr<float>()[5] == 5);
  CHECK(resize_tensor(t, {3}) == Error::Ok);
  CHECK(t.numel() == 3);
  CHECK(resize_tensor(t, {7}) == Error::InvalidArgument);
  CHECK(t.numel() == 3);
  CHECK(room.is_intact());
  CHECK(room.data[24] == 0x5a);
}

TEST_CASE("borrowed: memory of the caller's with its metadata in an arena, without the heap") {
  static Guarded<64> memory;
  static Guarded<2048> room;
  const NoHeap no_heap;
  {
    ArenaBackend arena(room.data, sizeof room.data);
    const BackendScope scope(arena);
    int deleted = 0;
    {
      const TensorPtr t = from_blob(memory.data, {2, 2}, ScalarType::Int,
                                    [&deleted](void*) noexcept { ++deleted; });
      CHECK(zero_(t) == Error::Ok);
      const Tensor column = select(t, 1, 1);
      CHECK(fill_(column, -1) == Error::Ok);
      CHECK(t->const_data_ptr<int32_t>()[3] == -1);
      CHECK(arena.used() > 0);
    }
    CHECK(deleted == 1);
    CHECK(arena.used() == 0);
  }
  CHECK(room.is_intact());
  CHECK(memory.is_intact());
  CHECK(memory.data[15] == 0xff && memory.data[16] == 0x5a);
}

}  // namespace arena_suite
