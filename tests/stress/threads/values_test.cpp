// SPDX-License-Identifier: MIT
// Values: copies are each thread's own, one that nobody changes is read and copied by all; and
// errors, whose texts are each thread's own, and go to others in a Result or an Exception.
#include <exception>
#include <future>

#include "support/catch.h"
#include "tenon/module/evalue.h"
#include "tenon/module/tensor_spec.h"
#include "tenon/tenon.h"
#include "threads/threads.h"

namespace values_test {

using namespace tenon;
using namespace tests;

namespace {

constexpr int kThreads = 4;
constexpr int kRounds = 100;

/// Threads copy, read, assign and drop copies of one value that none of them changes.
template <class T, class Read>
void check_value(const T& value, const Read& read) {
  const auto expected = read(value);
  std::vector<int> right(kThreads, 0);
  on_threads(kThreads, [&](int i) {
    for (int n = 0; n < kRounds; ++n) {
      T copy(value);
      T moved(std::move(copy));
      copy = value;
      moved = std::move(copy);
      right[static_cast<size_t>(i)] += read(value) == expected && read(moved) == expected;
    }
  });
  CHECK(right == std::vector<int>(kThreads, kRounds));
}

}  // namespace

TEST_CASE("values: threads copy and read one at once, in place and on the heap",
          "[threads][Dims][Scalar][TensorSpec]") {
  const auto last = [](const Dims& dims) { return dims[dims.size() - 1]; };
  check_value(Dims{2, 3}, last);
  check_value(Dims(std::vector<int64_t>(20, 4)), last);
  check_value(Scalar(2.5), [](const Scalar& s) { return s.to<double>(); });
  check_value(Device("cuda:3"), [](const Device& d) { return d.index(); });
  check_value(EValue("a text that is longer than what most strings have in place"),
              [](const EValue& v) { return std::string(v.toString()); });
  check_value(EValue(std::vector<int64_t>{1, 2, 3}), [](const EValue& v) { return v.isIntList(); });

  TensorSpec spec{{-1, 3}, ScalarType::Float, {"rows", std::string(60, 'c').c_str()}};
  spec.name = std::string(100, 'n').c_str();
  check_value(spec, [](const TensorSpec& s) { return std::string(s.name.c_str()); });
  const TensorPtr t = zeros({2, 4});
  const Error refused = spec.check(t);
  check_value(ValueSpec(spec), [&](const ValueSpec& s) { return s.check(*t) == refused; });
  check_value(as_view(t), [](const TensorView& v) { return v.sizes[1]; });
}

TEST_CASE("Exception: caught, thrown again and dropped on other threads, it keeps its text",
          "[threads][Exception]") {
  std::exception_ptr thrown;
  std::thread([&] {
    try {
      zeros({-5});
    } catch (const Exception&) {
      thrown = std::current_exception();
    }
  }).join();
  REQUIRE(thrown != nullptr);
  std::vector<int> right(kThreads, 0);
  on_threads(kThreads, [&](int i) {
    std::exception_ptr mine = thrown;
    for (int n = 0; n < kRounds; ++n) {
      try {
        std::rethrow_exception(mine);
      } catch (const Exception& e) {
        const Exception copy(e);
        static_cast<void>(try_zeros({-i - 100}));
        right[static_cast<size_t>(i)] +=
            copy.error() == Error::InvalidArgument && contains(copy.what(), "size -5");
      }
    }
  });
  CHECK(right == std::vector<int>(kThreads, kRounds));
}

// A promise of docs/guarantees.md.
TEST_CASE("Result: one that failed has its text on another thread, after errors on both",
          "[threads][Result][last_error_message][set_error]") {
  std::vector<std::promise<Result<TensorPtr>>> promises(kThreads);
  std::vector<std::future<Result<TensorPtr>>> results;
  for (auto& promise : promises) results.push_back(promise.get_future());
  std::vector<int> right(kThreads, 0);
  on_threads(2 * kThreads, [&](int i) {
    const int k = i % kThreads;
    if (i < kThreads) {
      promises[static_cast<size_t>(k)].set_value(try_zeros({-k - 1}));
      static_cast<void>(try_zeros({-99}));
      return;
    }
    static_cast<void>(set_error(Error::InvalidArgument, "size ", -77));
    Result<TensorPtr> result = results[static_cast<size_t>(k)].get();
    const Result<TensorPtr> here = std::move(result);
    right[static_cast<size_t>(k)] += !here.ok() && here.error() == Error::InvalidArgument;
    right[static_cast<size_t>(k)] +=
        contains(here.message(), "size -" + std::to_string(k + 1) + " of");
    right[static_cast<size_t>(k)] += contains(last_error_message(), "size -77");
  });
  CHECK(right == std::vector<int>(kThreads, 3));
}

TEST_CASE("Result: a tensor in it goes to another thread, which drops it", "[threads][Result]") {
  int released = 0;
  float memory[2] = {1, 2};
  std::promise<Result<TensorPtr>> promise;
  auto taken = std::async(std::launch::async, [future = promise.get_future()]() mutable {
    const Result<TensorPtr> result = future.get();
    return (*result)->const_data_ptr<float>()[1];
  });
  promise.set_value(
      try_from_blob(memory, {2}, ScalarType::Float, [&released](void*) noexcept { ++released; }));
  CHECK(taken.get() == 2);
  CHECK(released == 1);
}

TEST_CASE("set_failure_handler: one that was set before serves all threads at once",
          "[threads][set_failure_handler]") {
  static std::atomic<int> reports{0};
  const FailureHandler before = set_failure_handler([](Error error, const char* text) noexcept {
    reports += error == Error::InUse && std::strstr(text, "of its blocks in use") != nullptr;
  });
  static unsigned char memory[kThreads][4096];
  on_threads(kThreads, [&](int i) {
    for (int n = 0; n < 10; ++n) {
      TensorPtr outlives;
      {
        ArenaBackend arena(memory[i], sizeof memory[i]);
        outlives = zeros({3}, arena);
      }
      outlives.reset();
    }
  });
  set_failure_handler(before);
  CHECK(reports == 10 * kThreads);
}

}  // namespace values_test
