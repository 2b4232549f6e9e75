// SPDX-License-Identifier: MIT
// Modules of one model on several threads; tests/stress/threads has this under ThreadSanitizer, too.
#include "interop/runtimes/aoti/models.h"

#include "tenon/backend/pool.h"
#include "tensor/helpers.h"
#include "threads/threads.h"

namespace aoti_threads_test {

using namespace tenon;
using namespace tests;

TEST_CASE("AotiModule: threads run modules of one model at once, each with its own errors",
          "[threads][AotiModule][AotiModel]") {
  constexpr int kThreads = 4;
  constexpr int kRuns = 100;
  AotiOptions options;
  options.num_models = 2;
  AotiModel model = AotiModel::load(model_path("fake_model"), options).value();
  give_bias(model);
  PoolBackend pool(host_backend());
  std::vector<Tensor> left(kThreads);
  Ints right(kThreads, 0);
  on_threads(kThreads, [&](int i) {
    const auto t = static_cast<size_t>(i);
    AotiModule module(model, i % 2 == 0 ? &pool : nullptr);
    const TensorPtr x = input_for(Does::HandThrough);
    x->mutable_data_ptr<float>()[1] = static_cast<float>(i);
    const TensorPtr y = zeros({2, 4});
    for (int run = 0; run < kRuns; ++run) {
      if (run == kRuns / 2 && module.set_output(*y) != Error::Ok) return;
      const Result<std::vector<EValue>> outputs = module.forward(*x);
      if (!outputs.ok() || model.constants().error() != Error::Ok) return;
      const Tensor& first = outputs->at(0).toTensor();
      right[t] += first.const_data_ptr<float>()[1] == 2 * static_cast<float>(i) ? 1 : 0;
      if (run == 0) left[t] = first;  // goes on the main thread
    }
    // A model that is made, used and dropped here; the errors are this thread's.
    AotiModule own(model_path("fake_model"));
    const bool fails =
        own.run("forward", *x) == Error::InvalidState &&
        contains(last_error_message(), "layer.bias has no value") &&
        module.run("forward", *input_for(Does::FailAtOnce)) == Error::InvalidArgument &&
        contains(last_error_message(), "nothing was taken");
    if (!fails) right[t] = -1;
  });
  CHECK(right == Ints(kThreads, kRuns));
}

}  // namespace aoti_threads_test
