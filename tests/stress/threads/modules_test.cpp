// SPDX-License-Identifier: MIT
// Several modules on several threads, one that is passed from thread to thread, and their outputs.
#include <mutex>

#include "support/catch.h"
#include "tenon/module/function_module.h"
#include "tenon/tenon.h"
#include "threads/threads.h"

namespace modules_test {

using namespace tenon;
using namespace tests;

namespace {

constexpr int kThreads = 4;
constexpr int kRounds = 50;

Error add_one(Span<const EValue> in, Span<EValue> out) {
  TENON_TRY(resize_tensor(out[0].toTensor(), in[0].toTensor().sizes()));
  auto sums = accessor<float, 1>(out[0].toTensor());
  const auto x = accessor<const float, 1>(in[0].toTensor());
  for (int64_t i = 0; i < x.size(0); ++i) sums[i] = x[i] + 1;
  return Error::Ok;
}
TensorSpec any_row() {
  TensorSpec spec{{-1}, ScalarType::Float, {"items"}};
  spec.max_sizes = {8};
  return spec;
}

}  // namespace

TEST_CASE("FunctionModule: several run at once, with inputs and specs in common",
          "[threads][Module][FunctionModule]") {
  const ValueSpec spec = any_row();
  const TensorPtr shared = make_tensor_ptr({1.0f, 2.0f, 3.0f});
  Ints right(kThreads, 0);
  on_threads(kThreads, [&](int i) {
    FunctionModule module(add_one, spec, spec);
    for (int n = 0; n < kRounds; ++n) {
      const auto outputs = module.forward(shared);
      bool is_right = outputs.ok() && outputs->size() == 1;
      is_right = is_right && const_data_ptr<float>((*outputs)[0].toTensor())[2] == 4;
      is_right = is_right && module.forward(zeros({i + 9})).error() == Error::InvalidArgument;
      is_right = is_right && contains(last_error_message(), std::to_string(i + 9));
      right[static_cast<size_t>(i)] += is_right;
    }
  });
  CHECK(right == Ints(kThreads, kRounds));
  CHECK(shared->use_count() == 1);
}

TEST_CASE("FunctionModule: one goes from thread to thread, and calls on the one that runs it",
          "[threads][Module][FunctionModule][Outputs]") {
  int calls = 0;
  FunctionModule module(
      [&calls, before = std::thread::id()](Span<const EValue> in, Span<EValue> out) mutable {
        calls += before != std::this_thread::get_id();
        before = std::this_thread::get_id();
        return add_one(in, out);
      },
      any_row(), any_row());
  std::mutex mutex;
  std::vector<Tensor> outputs;  // dropped by other threads than made them
  Ints right(kThreads, 0);
  on_threads(kThreads, [&](int i) {
    for (int n = 0; n < kRounds; ++n) {
      const auto value = static_cast<float>(n + i);
      Tensor mine;
      {
        const std::lock_guard<std::mutex> lock(mutex);
        auto made = module.forward(full({2}, value));
        if (made.ok()) outputs.push_back((*made)[0].toTensor());
        if (outputs.size() > 3) {
          mine = std::move(outputs.front());
          outputs.erase(outputs.begin());
        }
        right[static_cast<size_t>(i)] +=
            !outputs.empty() && const_data_ptr<float>(outputs.back())[1] == value + 1;
      }
      // The next run of another thread leaves it alone.
      if (mine.defined() && const_data_ptr<float>(mine)[0] != const_data_ptr<float>(mine)[1]) {
        right[static_cast<size_t>(i)] = -1;
      }
    }
  });
  CHECK(right == Ints(kThreads, kRounds));
  CHECK(calls >= kThreads);
}

}  // namespace modules_test
