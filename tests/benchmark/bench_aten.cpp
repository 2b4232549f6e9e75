// SPDX-License-Identifier: MIT
//
// The cases on ATen, each in its cheapest natural form: an at::Tensor by value, except where the
// case is about a handle on the heap, and in inference mode, which spares each tensor autograd's
// version counter (an allocation).

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <c10/core/InferenceMode.h>

#include <memory>

#include "harness.h"

int main(int argc, char** argv) {
  at::set_num_threads(1);
  const c10::InferenceMode inference;
  bench::Suite suite(argc, argv);

  float data[6] = {1, 2, 3, 4, 5, 6};
  int deleted = 0;
  suite.add("from_blob", [&] { return at::from_blob(data, {2, 3}); });
  suite.add("from_blob/deleter", [&] {
    return at::from_blob(data, {2, 3}, [&deleted](void*) { ++deleted; });
  });
  suite.add("for_blob/strides", [&] {
    return at::for_blob(data, {2, 3}).strides({{3, 1}}).make_tensor();
  });

  suite.add("make_tensor_ptr/list", [] { return at::tensor({1.f, 2.f, 3.f, 4.f}); });
  suite.add("make_tensor_ptr/scalar", [] { return at::scalar_tensor(3.14f); });

  const at::Tensor shared = at::from_blob(data, {2, 3});
  // The same as ExecuTorch's: new metadata over the same memory, which it keeps alive.
  suite.add("make_tensor_ptr/share", [&] { return at::alias(shared); });
  // The least that sharing can be: one more handle to the same impl.
  suite.add("make_tensor_ptr/share_handle", [&] { return std::make_unique<at::Tensor>(shared); });

  const at::Tensor source = at::empty({2, 3}).zero_();
  suite.add("clone_tensor_ptr", [&] { return source.clone(); });

  const at::Tensor resized = at::empty({2, 3});
  suite.add("resize_tensor_ptr", [&] {
    resized.resize_({3, 2});
    resized.resize_({2, 3});
    benchmark::DoNotOptimize(resized);
  });
  // A brace list is ATen's natural form already: the same code under the other name.
  suite.add("resize_tensor_ptr/braces", [&] {
    resized.resize_({3, 2});
    resized.resize_({2, 3});
    benchmark::DoNotOptimize(resized);
  });

  suite.add("empty/4MiB", [] { return at::empty({1024, 1024}); });

  return suite.run();
}
