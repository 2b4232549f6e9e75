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

namespace {

template <class Ours, class Theirs>
void add_pair(bench::Suite& suite, const std::string& name, Ours ours, Theirs theirs) {
  suite.add("aten_mode/" + name, ours);
  suite.add("aten_mode/" + name + "@aten", theirs);
}

}  // namespace

int main(int argc, char** argv) {
  at::set_num_threads(1);
  const c10::InferenceMode inference;
  bench::Suite suite(argc, argv);

  add_pair(
      suite, "empty",
      [] {
        return tenon::empty({2, 3});
      },
      [] {
        return at::empty({2, 3});
      });
  add_pair(
      suite, "empty_strided",
      [] {
        return tenon::empty_strided({2, 3}, {1, 2});
      },
      [] {
        return at::empty_strided({2, 3}, {1, 2});
      });
  add_pair(
      suite, "zeros",
      [] {
        return tenon::zeros({2, 3});
      },
      [] {
        return at::zeros({2, 3});
      });
  add_pair(
      suite, "ones",
      [] {
        return tenon::ones({2, 3});
      },
      [] {
        return at::ones({2, 3});
      });
  add_pair(
      suite, "full",
      [] {
        return tenon::full({2, 3}, 4.5);
      },
      [] {
        return at::full({2, 3}, 4.5, at::kFloat);
      });
  add_pair(
      suite, "scalar_tensor", [] { return tenon::scalar_tensor(4.5); },
      [] { return at::scalar_tensor(4.5, at::kFloat); });
  add_pair(
      suite, "arange", [] { return tenon::arange(10); }, [] { return at::arange(10); });
  add_pair(
      suite, "eye", [] { return tenon::eye(3); }, [] { return at::eye(3); });
  add_pair(
      suite, "rand",
      [] {
        return tenon::rand({2, 3});
      },
      [] {
        return at::rand({2, 3});
      });
  add_pair(
      suite, "randn",
      [] {
        return tenon::randn({2, 3});
      },
      [] {
        return at::randn({2, 3});
      });
  add_pair(
      suite, "randint",
      [] {
        return tenon::randint(0, 100, {2, 3});
      },
      [] {
        return at::randint(0, 100, {2, 3}, at::kInt);
      });

  const at::Tensor source = at::zeros({2, 3});
  add_pair(
      suite, "empty_like", [&] { return tenon::empty_like(source); },
      [&] { return at::empty_like(source); });
  add_pair(
      suite, "full_like", [&] { return tenon::full_like(source, 4.5); },
      [&] { return at::full_like(source, 4.5); });
  add_pair(
      suite, "rand_like", [&] { return tenon::rand_like(source); },
      [&] { return at::rand_like(source); });
  add_pair(
      suite, "clone_tensor_ptr", [&] { return tenon::clone_tensor_ptr(source); },
      [&] { return source.clone(); });
  add_pair(
      suite, "clone_tensor_ptr/half", [&] { return tenon::clone_tensor_ptr(source, at::kHalf); },
      [&] { return source.to(at::kHalf); });

  float data[6] = {1, 2, 3, 4, 5, 6};
  int deleted = 0;
  add_pair(
      suite, "from_blob",
      [&] {
        return tenon::from_blob(data, {2, 3});
      },
      [&] {
        return at::from_blob(data, {2, 3});
      });
  add_pair(
      suite, "from_blob/deleter",
      [&] {
        return tenon::from_blob(data, {2, 3}, at::kFloat, [&](void*) { ++deleted; });
      },
      [&] {
        return at::from_blob(data, {2, 3}, [&](void*) { ++deleted; });
      });
  add_pair(
      suite, "for_blob/strides",
      [&] {
        return tenon::for_blob(data, {2, 3}).strides({3, 1}).make_tensor_ptr();
      },
      [&] {
        return at::for_blob(data, {2, 3}).strides({{3, 1}}).make_tensor();
      });
  add_pair(
      suite, "make_tensor_ptr/list",
      [] {
        return tenon::make_tensor_ptr({1.f, 2.f, 3.f, 4.f});
      },
      [] {
        return at::tensor({1.f, 2.f, 3.f, 4.f});
      });
  add_pair(
      suite, "make_tensor_ptr/view", [&] { return tenon::make_tensor_ptr(source, {6}); },
      [&] { return source.view({6}); });

  add_pair(
      suite, "empty/4MiB",
      [] {
        return tenon::empty({1024, 1024});
      },
      [] {
        return at::empty({1024, 1024});
      });
  add_pair(
      suite, "zeros/4MiB",
      [] {
        return tenon::zeros({1024, 1024});
      },
      [] {
        return at::zeros({1024, 1024});
      });
  add_pair(
      suite, "full/4MiB",
      [] {
        return tenon::full({1024, 1024}, 4.5);
      },
      [] {
        return at::full({1024, 1024}, 4.5, at::kFloat);
      });
  add_pair(
      suite, "rand/4MiB",
      [] {
        return tenon::rand({1024, 1024});
      },
      [] {
        return at::rand({1024, 1024});
      });
  const at::Tensor large = at::ones({1024, 1024});
  add_pair(
      suite, "clone_tensor_ptr/4MiB", [&] { return tenon::clone_tensor_ptr(large); },
      [&] { return large.clone(); });

  return suite.run();
}
