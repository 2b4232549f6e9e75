// SPDX-License-Identifier: MIT
// One tensor that several threads use, without a lock and with one, and what is passed from thread
// to thread.
#include <future>
#include <mutex>
#include <shared_mutex>

#include "backend/helpers.h"
#include "support/catch.h"
#include "tenon/tenon.h"
#include "threads/threads.h"

namespace locks_test {

using namespace tenon;
using namespace tests;

namespace {

constexpr int kThreads = 4;
constexpr int kRounds = 50;
const Ints kRight(kThreads, kRounds);

}  // namespace

// A promise of docs/guarantees.md.
TEST_CASE("a tensor that nobody changes is read, viewed, cloned and exported by all at once",
          "[threads][TensorImpl][TensorMetadata][sizes][const_data_ptr][select][clone_tensor_ptr]"
          "[to_blob][to_dlpack][DLPackDeleter]") {
  const TensorPtr t =
      make_tensor_ptr({2, 3}, {1, 2, 3, 4, 5, 6}, ScalarType::Int, TensorShapeDynamism::DYNAMIC);
  const TensorImpl& impl = *t->unsafeGetTensorImpl();
  Ints right(kThreads, 0);
  on_threads(kThreads, [&](int i) {
    for (int n = 0; n < kRounds; ++n) {
      bool is_right = t->sizes()[1] == 3 && impl.strides()[0] == 3 && impl.numel() == 6;
      is_right = is_right && t->const_data_ptr<int32_t>()[4] == 5 && t->is_contiguous();
      const Tensor row = tenon::select(t, 0, 1);
      is_right = is_right && row.accessor<const int32_t, 1>()[2] == 6;
      const TensorPtr copy = clone_tensor_ptr(t, ScalarType::Float);
      is_right = is_right && copy->const_data_ptr<float>()[5] == 6;
      const Blob blob = to_blob(row);
      is_right = is_right && *static_cast<const int32_t*>(blob.data) == 4;
      const DLPackPtr lent(to_dlpack(t));
      const DLPackLegacyPtr legacy(to_dlpack_legacy(t));
      is_right = is_right && static_cast<int32_t*>(legacy->dl_tensor.data)[1] == 2;
      is_right = is_right && contains(to_string(*t), "[4 5 6]") && to_binary(row)[0] == 4;
      is_right = is_right && t->use_count() >= 1 && make_tensor_ptr(t)->numel() == 6;
      right[static_cast<size_t>(i)] += is_right;
    }
  });
  CHECK(right == kRight);
  CHECK(t->use_count() == 1);
  CHECK_FALSE(detail::fields(t).borrows.any());
}

TEST_CASE("elements: writers that a lock keeps from readers", "[threads][copy_][fill_]") {
  const TensorPtr t = zeros({64}, ScalarType::Int);
  std::shared_mutex mutex;
  Ints right(kThreads, 0);
  on_threads(kThreads, [&](int i) {
    const TensorPtr source = full({64}, i, ScalarType::Int);
    for (int n = 0; n < kRounds; ++n) {
      if (n % 5 == 0) {
        const std::unique_lock<std::shared_mutex> lock(mutex);
        const Error error = n % 2 == 0 ? copy_(t, source) : fill_(t, i);
        right[static_cast<size_t>(i)] += error == Error::Ok;
        continue;
      }
      const std::shared_lock<std::shared_mutex> lock(mutex);
      const auto* const elements = t->const_data_ptr<int32_t>();
      right[static_cast<size_t>(i)] += std::count(elements, elements + 64, elements[0]) == 64;
    }
  });
  CHECK(right == kRight);
}

TEST_CASE("resize_tensor_ptr: under a lock, by any thread and any handle",
          "[threads][resize_tensor_ptr]") {
  TensorPtr t = make_tensor_ptr({1}, {7}, ScalarType::Int, TensorShapeDynamism::DYNAMIC);
  std::mutex mutex;
  Ints right(kThreads, 0);
  on_threads(kThreads, [&](int i) {
    TensorPtr mine = make_tensor_ptr(t);  // the same shape
    for (int n = 0; n < kRounds; ++n) {
      const std::lock_guard<std::mutex> lock(mutex);
      const int64_t size = 1 + 100 * n + i;
      bool is_right = resize_tensor_ptr(mine, {size}) == Error::Ok;
      is_right = is_right && t->size(0) == size && t->const_data_ptr<int32_t>()[0] == 7;
      right[static_cast<size_t>(i)] += is_right;
    }
  });
  CHECK(right == kRight);
}

TEST_CASE("set_data: under a lock, by any thread; views keep the memory that they were made over",
          "[threads][set_data]") {
  int32_t memory[kThreads][2];
  for (int i = 0; i < kThreads; ++i) std::fill_n(memory[i], 2, i);
  const TensorPtr t = from_blob(memory[0], {2}, ScalarType::Int);
  std::mutex mutex;
  Ints right(kThreads, 0);
  on_threads(kThreads, [&](int i) {
    for (int n = 0; n < kRounds; ++n) {
      Tensor view;
      {
        const std::lock_guard<std::mutex> lock(mutex);
        if (set_data(t, memory[i]) == Error::Ok) view = tenon::select(t, 0, 1);
      }
      right[static_cast<size_t>(i)] += view.defined() && view.item<int32_t>() == i;
    }
  });
  CHECK(right == kRight);
}

TEST_CASE("backend_transfer, backend_deallocate: under a lock, by any thread",
          "[threads][backend_transfer][backend_deallocate]") {
  MinimalBackend there;
  TensorPtr t = full({3}, 7, ScalarType::Int);
  std::mutex mutex;
  Ints right(kThreads, 0);
  on_threads(kThreads, [&](int i) {
    for (int n = 0; n < kRounds; ++n) {
      TensorPtr old;
      const std::lock_guard<std::mutex> lock(mutex);
      old = std::move(t);
      t = backend_transfer(old, n % 2 == 0 ? static_cast<Backend&>(there) : host_backend());
      bool is_right = to_binary(t)[4] == 7;
      const TensorPtr other = full({2}, 1, there);
      const TensorPtr handle = make_tensor_ptr(other);
      static_cast<void>(backend_deallocate(other));
      is_right = is_right && try_backend_copy(handle, there).error() == Error::InvalidState;
      right[static_cast<size_t>(i)] += is_right;
    }
  });
  CHECK(right == kRight);
  t.reset();
  CHECK(there.live_blocks() == 0);
  CHECK(there.faults == 0);
}

TEST_CASE("TensorPtrMaker: begun, finished and its tensor dropped on three threads",
          "[threads][TensorPtrMaker]") {
  float memory[3] = {1, 2, 3};
  int released = 0;
  auto owner = std::make_shared<int>(5);
  std::unique_ptr<TensorPtrMaker> maker;
  TensorPtr t;
  std::thread([&] {
    maker = std::make_unique<TensorPtrMaker>(
        for_blob(memory, {3}).deleter([&released](void*) { ++released; }).owner(owner));
  }).join();
  std::thread([&] { t = std::move(*maker).make_tensor_ptr(); }).join();
  const auto last = [&] { return std::exchange(t, nullptr)->const_data_ptr<float>()[2]; };
  CHECK(std::async(std::launch::async, last).get() == 3);
  CHECK(released == 1);
  CHECK(owner.use_count() == 1);
}

TEST_CASE("Deleter: runs on the thread that drops the last tensor, view or export",
          "[threads][Deleter]") {
  float memory[3] = {1, 2, 3};
  std::thread::id on;
  const auto note = [&on](void*) noexcept { on = std::this_thread::get_id(); };
  const auto check_runs_with = [&on](auto last) {  // which a thread is given, and drops
    CHECK(on == std::thread::id());
    std::thread dropping([mine = std::move(last)]() mutable { auto dropped = std::move(mine); });
    const std::thread::id expected = dropping.get_id();
    dropping.join();
    CHECK(on == expected);
    on = std::thread::id();
  };
  TensorPtr t = from_blob(memory, {3}, ScalarType::Float, note);
  DLPackPtr lent(to_dlpack(tenon::select(t, 0, 1)));
  t.reset();
  check_runs_with(std::move(lent));
  Tensor view = slice(from_blob(memory, {3}, ScalarType::Float, note), 0, 1, 2);
  check_runs_with(std::move(view));
  Deleter begun;
  std::thread([&] { begun = Deleter(memory, note); }).join();
  check_runs_with(std::move(begun));
}

}  // namespace locks_test
