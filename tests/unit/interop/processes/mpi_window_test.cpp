// SPDX-License-Identifier: MIT
#include "tenon/interop/processes/mpi_window.h"

#include <future>

#include "backend/helpers.h"
#include "interop/processes/mpi/ranks.h"
#include "support/calls.h"

namespace mpi_window_test {

using namespace tenon;
using mpi::Lock;
using mpi::Op;
using mpi::Window;
using tests::laid;
using tests::Lay;
using tests::Longs;
using tests::next;
using tests::previous;
using tests::world;

namespace {

int32_t at(const TensorPtr& t, int64_t i) { return t->const_data_ptr<int32_t>()[i]; }

}  // namespace

TEST_CASE("Window: what is put from any layout comes back in any, row after row, of every dtype") {
  for (const ScalarType type : tests::all_types()) {
    const TensorPtr memory = zeros({100}, type);
    const Tensor before = narrow(*memory, 0, 0, 6);
    Window window = *world().window(memory);
    REQUIRE(window.fence() == Error::Ok);
    for (const Longs& sizes : {Longs{2, 3}, Longs{3, 20}}) {  // short runs, and long ones
      for (const Lay lay : tests::kLays) {
        const Tensor out = laid(sizes, lay, type);
        tests::fill_with(out, tests::numbers(world().rank()));
        REQUIRE(window.put(out, next(), 6) == Error::Ok);
        REQUIRE(window.fence() == Error::Ok);
        CHECK(tests::has(view(narrow(*memory, 0, 6, out.numel()), sizes),
                         tests::numbers(previous())));
        for (int64_t i = 0; i < 6; ++i) CHECK(tests::number(before, i) == 0);
        const Tensor in = laid(sizes, lay, type);
        REQUIRE(window.get(in, next(), 6) == Error::Ok);
        REQUIRE(window.fence() == Error::Ok);
        CHECK(tests::has(in, tests::numbers(world().rank())));
      }
    }
  }
}

TEST_CASE("Window: accumulate combines what several ranks add at once") {
  const TensorPtr memory = full({4}, 10, ScalarType::Int);
  Window window = *world().window(memory);
  REQUIRE(window.fence() == Error::Ok);
  const TensorPtr mine = full({2}, world().rank() + 1, ScalarType::Int);
  REQUIRE(window.accumulate(mine, 0) == Error::Ok);
  REQUIRE(window.accumulate(mine, 0, 2, Op::Max) == Error::Ok);
  REQUIRE(window.fence() == Error::Ok);
  const int n = world().size();
  CHECK(at(memory, 1) == (world().rank() == 0 ? 10 + n * (n + 1) / 2 : 10));
  CHECK(at(memory, 3) == 10);
  RETURNS(NotSupported, "MPI has no operations for Half", [&] {
    Window halves = *world().window(zeros({2}, ScalarType::Half));
    static_cast<void>(halves.fence());
    const Error error = halves.accumulate(ones({2}, ScalarType::Half), 0);
    const std::string text = last_error_message();
    static_cast<void>(halves.fence());
    return detail::fail(error, text.c_str());
  }());
}

TEST_CASE("Window: with the target's lock, operations are done at flush and unlock") {
  const TensorPtr memory = zeros({4}, ScalarType::Int);
  {
    Window window = *world().window(memory);
    const TensorPtr mine = full({1}, world().rank() + 1, ScalarType::Int);
    REQUIRE(window.lock(next()) == Error::Ok);
    REQUIRE(window.put(mine, next(), 1) == Error::Ok);
    REQUIRE(window.flush(next()) == Error::Ok);
    const TensorPtr back = zeros({1}, ScalarType::Int);
    REQUIRE(window.get(back, next(), 1) == Error::Ok);
    REQUIRE(window.unlock(next()) == Error::Ok);
    CHECK(at(back, 0) == world().rank() + 1);
    REQUIRE(window.lock(next(), Lock::Shared) == Error::Ok);
    REQUIRE(window.get(back, next(), 0) == Error::Ok);
    REQUIRE(window.unlock(next()) == Error::Ok);
    CHECK(at(back, 0) == 0);
  }
  CHECK(at(memory, 1) == previous() + 1);
}

// A promise of docs/guarantees.md.
TEST_CASE("Window: keeps its tensor, and those of operations until they are done") {
  tests::Calls calls;
  tests::Calls sent;
  int32_t memory[2] = {};
  int32_t number = 3;
  {
    Window window = *world().window(from_blob(memory, {2}, ScalarType::Int, calls.deleter()));
    REQUIRE(window.fence() == Error::Ok);
    REQUIRE(window.put(from_blob(&number, {1}, ScalarType::Int, sent.deleter()), next()) ==
            Error::Ok);
    CHECK(sent.count == 0);
    REQUIRE(window.fence() == Error::Ok);
    CHECK(sent.count == 1);
    CHECK(memory[0] == 3);
    Window moved = std::move(window);
    CHECK(window.get() == MPI_WIN_NULL);  // NOLINT(bugprone-use-after-move)
    RETURNS(InvalidState, "moved from", window.fence());
    CHECK(calls.count == 0);
  }
  CHECK(calls.count == 1);
}

// A promise of docs/guarantees.md.
TEST_CASE("Window: an end that MPI refuses ends nothing") {
  const int64_t n = 1 << 20;
  const TensorPtr memory = full({n}, world().rank(), ScalarType::Int);
  Window window = *world().window(memory);
  REQUIRE(window.fence() == Error::Ok);
  tests::Calls calls;
  std::vector<int32_t> got(static_cast<size_t>(n));
  const Tensor column = laid({3, 1}, Lay::Gaps);  // which goes by way of a copy
  REQUIRE(window.get(from_blob(got.data(), {n}, ScalarType::Int, calls.deleter()), next()) ==
          Error::Ok);
  REQUIRE(window.get(column, next()) == Error::Ok);
  CHECK(window.flush(next()) == Error::InvalidState);
  CHECK(window.unlock(next()) == Error::InvalidState);
  CHECK(calls.count == 0);
  REQUIRE(window.fence() == Error::Ok);
  CHECK(calls.count == 1);
  CHECK(got.back() == next());
  CHECK(select(column, 0, 2).item<int32_t>() == next());
}

// A promise of docs/guarantees.md.
TEST_CASE("Window: one that is dropped before its operations are done keeps their tensors") {
  const int64_t n = 1 << 20;
  const TensorPtr memory = zeros({n}, ScalarType::Int);
  std::vector<int32_t> sent(static_cast<size_t>(n), world().rank());
  tests::Calls calls;
  [[maybe_unused]] MPI_Win left = MPI_WIN_NULL;
  {
    Window window = *world().window(memory);
    left = window.get();
    REQUIRE(window.fence() == Error::Ok);
    REQUIRE(window.put(from_blob(sent.data(), {n}, ScalarType::Int, calls.deleter()), next()) ==
            Error::Ok);
  }
#if defined(MPICH_VERSION)  // It does not free it, and may have lost the operation.
  CHECK(calls.count == 0);
  REQUIRE(MPI_Win_fence(0, left) == MPI_SUCCESS);
  REQUIRE(MPI_Win_free(&left) == MPI_SUCCESS);
  MPI_Barrier(world().get());
#else
  CHECK(calls.count == 1);
  MPI_Barrier(world().get());
  CHECK(at(memory, n - 1) == previous());
#endif
}

TEST_CASE("Window: memory of a device is put and got by way of the host, but is no window") {
  tests::MinimalBackend device;
  const TensorPtr memory = zeros({2}, ScalarType::Int);
  Window window = *world().window(memory);
  REQUIRE(window.fence() == Error::Ok);
  const TensorPtr there = full({2}, world().rank() + 1, ScalarType::Int, device);
  REQUIRE(window.put(there, next()) == Error::Ok);
  REQUIRE(window.fence() == Error::Ok);
  CHECK(at(memory, 1) == previous() + 1);
  REQUIRE(window.get(there, world().rank()) == Error::Ok);
  REQUIRE(window.fence() == Error::Ok);
  CHECK(device.get<int32_t>(there->const_data_ptr(), 0) == previous() + 1);
  CHECK(device.faults == 0);
  RETURNS(NotSupported, "window: the tensor is on ext_dev:0", world().window(there).error());
}

TEST_CASE("Window: begins at the lowest element, wherever that lies") {
  for (int64_t first = 0; first < 20; ++first) {
    const TensorPtr all = zeros({40}, ScalarType::Byte);
    const Tensor memory = narrow(*all, 0, first, 20);
    Window window = *world().window(memory);
    REQUIRE(window.fence() == Error::Ok);
    REQUIRE(window.put(ones({1}, ScalarType::Byte), next()) == Error::Ok);
    REQUIRE(window.fence() == Error::Ok);
    for (int64_t i = 0; i < 40; ++i) CHECK(all->const_data_ptr<uint8_t>()[i] == (i == first));
  }
}

TEST_CASE("Window: what is wrong with one rank's tensor, all ranks find out") {
  const Result<Window> window = world().window(world().rank() == 1 ? TensorPtr() : zeros({2}));
  CHECK(window.error() == (world().rank() == 1 ? Error::InvalidState : Error::InvalidArgument));
  // Each rank's has a dtype of its own, which what is put there has to have.
  const TensorPtr own = zeros({2}, world().rank() == 1 ? ScalarType::Int : ScalarType::Float);
  Window mixed = *world().window(own);
  REQUIRE(mixed.fence() == Error::Ok);
  RETURNS(InvalidType, "the tensor is Float, but the target is Int", mixed.put(ones({1}), 1));
  CHECK(mixed.put(ones({1}), 0) == Error::Ok);
  REQUIRE(mixed.fence() == Error::Ok);
}

TEST_CASE("Window: what leaves the target's memory, or is of another dtype, is refused") {
  const TensorPtr memory = zeros({6}, ScalarType::Int);
  Window window = *world().window(memory);
  const TensorPtr two = ones({2}, ScalarType::Int);
  REQUIRE(window.fence() == Error::Ok);
  RETURNS(OutOfBounds, "put: 2 elements from displacement 5", window.put(two, 0, 5));
  RETURNS(OutOfBounds, "", window.get(two, 0, -1));
  RETURNS(OutOfBounds, "", window.get(two, 0, INT64_MAX));
  RETURNS(InvalidType, "the tensor is Float, but the target is Int", window.put(ones({2}), 0));
  RETURNS(InvalidArgument, "rank 99 is not one of", window.put(two, 99));
  RETURNS(InvalidArgument, "rank -1 is not one of", window.lock(-1));
  RETURNS(InvalidState, "undefined", window.put(Tensor(), 0));
  CHECK(window.put(zeros({0}, ScalarType::Int), 0, 99) == Error::Ok);
  REQUIRE(window.fence() == Error::Ok);
  CHECK(at(memory, 5) == 0);
}

TEST_CASE("Window: one thread at a time", "[threads][Window][Lock]") {
  const TensorPtr memory = zeros({1}, ScalarType::Int);
  Window window = *world().window(memory);
  const TensorPtr one = ones({1}, ScalarType::Int);
  REQUIRE(window.lock(next()) == Error::Ok);
  CHECK(std::async(std::launch::async, [&] { return window.put(one, next()); }).get() == Error::Ok);
  REQUIRE(window.unlock(next()) == Error::Ok);
  MPI_Barrier(world().get());
  CHECK(at(memory, 0) == 1);
}

TEST_CASE("Window: where shapes are checked, a rank that makes one and one that reduces find out") {
  const TensorPtr t = zeros({3});
  const Error error = world().rank() == 0 ? tests::checked_world().window(t).error()
                                          : tests::checked_world().allreduce(t);
  CHECK(error == Error::InvalidArgument);
  CHECK(tests::contains(last_error_message(), "rank 0 called window"));
}

}  // namespace mpi_window_test
