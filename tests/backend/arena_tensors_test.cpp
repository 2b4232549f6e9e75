// SPDX-License-Identifier: MIT
// Tensors in an ArenaBackend.
#include <utility>
#include <vector>

#include "support/catch.h"
#include "tenon/backend/arena.h"
#include "tenon/tensor/creators.h"
#include "tenon/tensor/transfer.h"
#include "tenon/tensor/view.h"
#include "tensor/helpers.h"

using namespace tenon;

namespace {

struct Buffer {
  alignas(64) unsigned char bytes[4096];
  bool holds(const void* p) const { return p >= bytes && p < bytes + sizeof bytes; }
};

std::string reported;
void report(Error, const char* message) noexcept { reported = message; }

}  // namespace

TEST_CASE("arena: a tensor's handle, impl and data lie in the buffer") {
  Buffer buffer;
  ArenaBackend arena(buffer.bytes, sizeof buffer.bytes);
  {
    const TensorPtr t = full({2, 3}, 7, ScalarType::Int, arena);
    CHECK(tests::values<int32_t>(t) == std::vector<int32_t>(6, 7));
    CHECK(buffer.holds(const_data_ptr(t)));
#if !TENON_ATEN_MODE
    CHECK(buffer.holds(t.get()));
    CHECK(buffer.holds(t->impl().get()));
    CHECK(arena.live_blocks() == 2);  // small data lies with the impl
#endif
    CHECK(&backend_of(t) == &arena);
    CHECK(arena.used() > 0);
  }
  CHECK(arena.live_blocks() == 0);
  CHECK(arena.used() == 0);
}

TEST_CASE(
    "arena: tensors dropped in the reverse order give everything back, above one that stays") {
  Buffer buffer;
  ArenaBackend arena(buffer.bytes, sizeof buffer.bytes);
  const TensorPtr keep = zeros({3}, arena);
  const size_t used = arena.used();
  for (int i = 0; i < 100; ++i) {
    const TensorPtr a = ones({5, 5}, arena);
    const TensorPtr b = ones({7}, ScalarType::Byte, arena);
    CHECK(a->numel() + b->numel() == 32);
  }
  CHECK(arena.used() == used);
  CHECK(tests::values<float>(keep) == std::vector<float>(3, 0.0f));
}

TEST_CASE("arena: a tensor for which there is no room is OutOfMemory, with the numbers") {
  Buffer buffer;
  ArenaBackend arena(buffer.bytes, sizeof buffer.bytes);
  CHECK_ERROR(Error::OutOfMemory,
              "empty: backend arena has no memory for 40000 bytes: ", empty({10000}, arena));
  CHECK_ERROR(Error::OutOfMemory, "bytes are free, 40000 are needed", empty({10000}, arena));
  CHECK(arena.used() == 0);
  CHECK(arena.live_blocks() == 0);
}

TEST_CASE("arena: reset is refused while a tensor or a view of it is alive") {
  Buffer buffer;
  ArenaBackend arena(buffer.bytes, sizeof buffer.bytes);
  TensorPtr t = zeros({4, 4}, arena);
  Tensor row = select(t, 0, 1);
  CHECK_RETURNS(Error::InUse, "reset: ", arena.reset());
  t.reset();
  CHECK_RETURNS(Error::InUse, "reset: ", arena.reset());
  CHECK(tests::values<float>(row) == std::vector<float>(4, 0.0f));
  row = Tensor();
  CHECK(arena.reset() == Error::Ok);
}

TEST_CASE("arena: one destroyed before its tensors is reported, and dropping those is safe") {
  Buffer buffer;
  const FailureHandler before = set_failure_handler(report);
  TensorPtr t;
  {
    ArenaBackend arena(buffer.bytes, sizeof buffer.bytes);
    t = zeros({4}, arena);
  }
  set_failure_handler(before);
  CHECK(tests::contains(reported, "backend arena was destroyed while"));
  t.reset();
}
