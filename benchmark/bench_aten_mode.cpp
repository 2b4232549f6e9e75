// SPDX-License-Identifier: MIT
//
// tenon in ATen mode beside the calls of ATen's that its creators correspond to, in one program: a
// case "x" is tenon's, and "x@aten" what it is compared with. In inference mode, as bench_aten is,
// which is ATen's cheapest.

#include <tenon/tenon.h>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <c10/core/InferenceMode.h>

#include <string>

#include "harness.h"

#define PAIR(name, ours, theirs)                             \
  suite.add("aten_mode/" name, [&] { return tenon::ours; }); \
  suite.add("aten_mode/" name "@aten", [&] { return theirs; })

int main(int argc, char** argv) {
  at::set_num_threads(1);
  const c10::InferenceMode inference;
  bench::Suite suite(argc, argv);

  PAIR("empty", empty({2, 3}), at::empty({2, 3}));
  PAIR("empty_strided", empty_strided({2, 3}, {1, 2}), at::empty_strided({2, 3}, {1, 2}));
  PAIR("zeros", zeros({2, 3}), at::zeros({2, 3}));
  PAIR("ones", ones({2, 3}), at::ones({2, 3}));
  PAIR("full", full({2, 3}, 4.5), at::full({2, 3}, 4.5, at::kFloat));
  PAIR("scalar_tensor", scalar_tensor(4.5), at::scalar_tensor(4.5, at::kFloat));
  PAIR("arange", arange(10), at::arange(10));
  PAIR("eye", eye(3), at::eye(3));
  PAIR("rand", rand({2, 3}), at::rand({2, 3}));
  PAIR("randn", randn({2, 3}), at::randn({2, 3}));
  PAIR("randint", randint(0, 100, {2, 3}), at::randint(0, 100, {2, 3}, at::kInt));

  const at::Tensor source = at::zeros({2, 3});
  PAIR("empty_like", empty_like(source), at::empty_like(source));
  PAIR("full_like", full_like(source, 4.5), at::full_like(source, 4.5));
  PAIR("rand_like", rand_like(source), at::rand_like(source));
  PAIR("clone_tensor_ptr", clone_tensor_ptr(source), source.clone());
  PAIR("clone_tensor_ptr/half", clone_tensor_ptr(source, at::kHalf), source.to(at::kHalf));

  float data[6] = {1, 2, 3, 4, 5, 6};
  int deleted = 0;
  const auto deleter = [&](void*) { ++deleted; };
  PAIR("from_blob", from_blob(data, {2, 3}), at::from_blob(data, {2, 3}));
  PAIR("from_blob/deleter", from_blob(data, {2, 3}, at::kFloat, deleter),
       at::from_blob(data, {2, 3}, deleter));
  PAIR("for_blob/strides", for_blob(data, {2, 3}).strides({3, 1}).make_tensor_ptr(),
       at::for_blob(data, {2, 3}).strides({{3, 1}}).make_tensor());
  PAIR("make_tensor_ptr/list", make_tensor_ptr({1.f, 2.f, 3.f, 4.f}),
       at::tensor({1.f, 2.f, 3.f, 4.f}));
  PAIR("make_tensor_ptr/view", make_tensor_ptr(source, {6}), source.view({6}));

  PAIR("empty/4MiB", empty({1024, 1024}), at::empty({1024, 1024}));
  PAIR("zeros/4MiB", zeros({1024, 1024}), at::zeros({1024, 1024}));
  PAIR("full/4MiB", full({1024, 1024}, 4.5), at::full({1024, 1024}, 4.5, at::kFloat));
  PAIR("rand/4MiB", rand({1024, 1024}), at::rand({1024, 1024}));
  const at::Tensor large = at::ones({1024, 1024});
  PAIR("clone_tensor_ptr/4MiB", clone_tensor_ptr(large), large.clone());

  return suite.run();
}
