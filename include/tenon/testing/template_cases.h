// SPDX-License-Identifier: MIT
// Conformance cases for backends of the device "template", whose tensors have no data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "tenon/backend/registry.h"
#include "tenon/config.h"
#include "tenon/exchange/assign.h"
#include "tenon/exchange/binary.h"
#include "tenon/tensor/format.h"
#include "tenon/tensor/resize.h"
#include "tenon/testing/creator_cases.h"
#include "tenon/testing/trial.h"
#include "tenon/testing/twin.h"

TENON_BEGIN_NAMESPACE
namespace testing {

/// Each creator gives the host's type, sizes and strides.
inline void templates_have_shapes(Trial& trial) {
  const auto check = [&](const char* what, const auto& make) {
    const TensorPtr here = trial.check_made(what, make(host_backend()));
    const TensorPtr there = trial.check_made(what, make(trial.backend()));
    if (here != nullptr && there != nullptr) check_shape(trial, what, there, here);
    trial.check(there == nullptr || as_view(there).data == nullptr,
                {what, ": expected no data, found some"});
  };
  check("empty", [](Backend& backend) { return try_empty({2, 3}, backend); });
  check("empty of no elements", [](Backend& backend) { return try_empty({0, 3}, backend); });
  check("zeros", [](Backend& backend) { return try_zeros({2, 3}, ScalarType::Half, backend); });
  check("full", [](Backend& backend) { return try_full({4}, 2, ScalarType::Byte, backend); });
  check("ones_strided", [](Backend& backend) { return try_ones_strided({2, 3}, {5, 1}, backend); });
  check("eye", [](Backend& backend) { return try_eye(3, 4, backend); });
  check("iota", [](Backend& backend) { return try_iota({3, 4}, 1, backend); });
  check("arange", [](Backend& backend) { return try_arange(9, backend); });
  check("rand", [](Backend& backend) { return try_rand({3, 4}, Generator(1), backend); });
  check("randint", [](Backend& backend) { return try_randint(0, 5, {3}, Generator(1), backend); });
  check("scalar_tensor", [](Backend& backend) { return try_scalar_tensor(3, backend); });
  check("make_tensor_ptr", [](Backend& backend) {
    return try_make_tensor_ptr({2, 2}, {1, 2, 3, 4}, backend);
  });
}

/// What needs data says that there is none.
inline void templates_have_no_data(Trial& trial) {
  const TensorPtr t = trial.check_made("zeros", try_zeros({2, 3}, trial.backend()));
  const TensorPtr host = trial.check_made("zeros", try_zeros({2, 3}, host_backend()));
  if (t == nullptr || host == nullptr) return;
  const char* const word = "template, Float {2, 3}, which has no data";
  const Error error = Error::NotSupported;
  float values[6] = {};
  Generator generator(1);
  trial.check_refused("copy_ from a template", error, word, copy_(host, t));
  trial.check_refused("copy_ to a template", error, word, copy_(t, host));
  trial.check_refused("fill_ of a template", error, word, fill_(t, 1));
  trial.check_refused("zero_ of a template", error, word, zero_(t));
  trial.check_refused("uniform_ of a template", error, word, uniform_(t, 0, 1, generator));
  trial.check_refused("assign to a template", error, word, assign(t, values, sizeof values));
  trial.check_refused("copy_to from a template", error, word, copy_to(t, values, sizeof values));
  trial.check_refused("backend_copy of a template to the host", error, word,
                      try_backend_copy(t, host_backend()));
#if TENON_HAS_EXCEPTIONS
  const auto check_raises = [&](const char* what, const auto& action) {
    try {
      action();
      trial.check(false, {what, ": expected NotSupported, found data"});
    } catch (const Exception& e) {
      trial.check(e.error() == error && std::string(e.what()).find(word) != std::string::npos,
                  {what, ": expected NotSupported and \"", word, "\", found ", toString(e.error()),
                   ", ", e.what()});
    }
  };
  check_raises("const_data_ptr", [&] { return const_data_ptr(t); });
  check_raises("const_data_ptr<float>", [&] { return const_data_ptr<float>(t); });
  check_raises("mutable_data_ptr<float>", [&] { return mutable_data_ptr<float>(t); });
  check_raises("data<float>", [&] { return data<float>(t); });
  check_raises("to_binary", [&] { return to_binary(t); });
#endif
}

/// What needs only the shape works.
inline void templates_are_described(Trial& trial) {
  const TensorPtr t =
      trial.check_made("zeros", try_zeros({2, 3}, TensorShapeDynamism::DYNAMIC, trial.backend()));
  const TensorPtr host =
      trial.check_made("ones", try_ones({4, 2}, ScalarType::Int, host_backend()));
  if (t == nullptr || host == nullptr) return;
  trial.check(as_view(transpose(t, 0, 1)).sizes == Dims{3, 2},
              {"transpose of a template: expected sizes {3, 2}"});
  const TensorPtr described =
      trial.check_made("backend_copy to a template", try_backend_copy(host, trial.backend()));
  if (described != nullptr) check_shape(trial, "backend_copy to a template", described, host);
  const TensorPtr clone = trial.check_made("clone_tensor_ptr", try_clone_tensor_ptr(t));
  trial.check(clone == nullptr || device(clone) == trial.backend().device(),
              {"clone_tensor_ptr of a template: expected a template"});
  const TensorPtr like = trial.check_made("ones_like", try_ones_like(t));
  if (like != nullptr) check_lives_there(trial, "ones_like of a template", like);
  trial.check_ok("resize_tensor of a template", resize_tensor(*t, {100, 7}));
  trial.check(as_view(t).sizes == Dims{100, 7},
              {"resize_tensor of a template: expected sizes {100, 7}, found ", as_view(t).sizes});
  const std::string text = to_string(t);
  trial.check(
      text.find("Float {100, 7} on template") != std::string::npos,
      {"to_string of a template: expected \"Float {100, 7} on template\", found ", text.c_str()});
  const Deallocation outcome = backend_deallocate(t);
  trial.check(outcome == Deallocation::Ok,
              {"backend_deallocate of a template: expected Ok, found ", toString(outcome)});
}

}  // namespace testing
TENON_END_NAMESPACE
