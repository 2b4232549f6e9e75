// SPDX-License-Identifier: MIT
//
// What the programs share that run the networks of networks.py, each on one runtime, on one
// thread:
//
//     tenon FOLDER NAME [LIBRARY]
//
// opens FOLDER/NAME.pt2 (.onnx, .pte), runs it once on the inputs that export.py wrote beside it, and compares what it
// gives with PyTorch's: a float by 1e-4 of it or of 1, of bfloat16 by 3e-2. LIBRARY has the operators
// of torchvision, for a program that takes one. Where NAME.tokens.npy is, it also generates that many tokens, each the best after
// the one before, and compares them. Prints how long opening took, in nanoseconds; then, for each number of runs in its
// input, their processor time.
#pragma once

#include <tenon/interop/npy.h>
#include <tenon/module/evalue.h>
#include <tenon/ostream.h>
#include <tenon/tenon.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <iostream>
#include <string>
#include <vector>

[[noreturn]] inline void fail(const std::string& what) {
  std::cerr << what << '\n';
  std::exit(1);
}

inline int64_t now(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return int64_t{time.tv_sec} * 1000000000 + time.tv_nsec;
}

/// NAME.input0.npy and so on.
inline std::vector<tenon::TensorPtr> read_all(const std::string& begin) {
  std::vector<tenon::TensorPtr> tensors;
  for (;;) {
    tenon::Result<tenon::TensorPtr> read =
        tenon::try_read_npy(begin + std::to_string(tensors.size()) + ".npy");
    if (read.error() == tenon::Error::NotFound) return tensors;
    tensors.push_back(std::move(read).value());
  }
}

inline void compare(const tenon::Tensor& given, const tenon::Tensor& expected, size_t number) {
  using namespace tenon;
  const std::string output = "output " + std::to_string(number);
  if (given.sizes() != expected.sizes()) fail(output + " has other sizes");
  const double tolerance = given.scalar_type() == ScalarType::BFloat16 ? 3e-2 : 1e-4;
  const Tensor a = contiguous(to(given, ScalarType::Double));
  const Tensor b = to(expected, ScalarType::Double);
  const auto* const x = a.const_data_ptr<double>();
  const auto* const y = b.const_data_ptr<double>();
  for (int64_t i = 0; i < a.numel(); ++i) {
    if (std::abs(x[i] - y[i]) <= tolerance * (std::max)(1.0, std::abs(y[i]))) continue;
    fail(output + ": element " + std::to_string(i) + " is " + std::to_string(x[i]) +
         ", PyTorch's " + std::to_string(y[i]));
  }
}

/// A network on one of tenon's modules. libtorch.cpp has another with these functions.
template <class M>
struct ModuleNetwork {
  M module;
  std::vector<tenon::EValue> inputs;
  tenon::Result<std::vector<tenon::EValue>> results = std::vector<tenon::EValue>();

  template <class... Options>
  explicit ModuleNetwork(const std::string& path, Options... options) : module(path, options...) {
    if (module.load_method("forward") != tenon::Error::Ok) fail(tenon::last_error_message());
  }
  void set_inputs(const std::vector<tenon::TensorPtr>& tensors) {
    for (const tenon::TensorPtr& tensor : tensors) inputs.emplace_back(*tensor);
  }
  void run() {
    results = module.forward(inputs);
    if (!results.ok()) fail(tenon::last_error_message());
  }
  std::vector<tenon::TensorPtr> outputs() const {
    std::vector<tenon::TensorPtr> tensors;
    for (const tenon::EValue& value : *results) {
      tensors.push_back(tenon::make_tensor_ptr(value.toTensor()));
    }
    return tensors;
  }
};

/// A decoder with a cache: inputs are a token and its position.
template <class Network>
void generate(Network& network, const std::vector<tenon::TensorPtr>& inputs,
              const tenon::Tensor& tokens) {
  const auto* const expected = tokens.const_data_ptr<int64_t>();
  for (int64_t i = 0; i + 1 < tokens.numel(); ++i) {
    *inputs[0]->mutable_data_ptr<int64_t>() = expected[i];
    *inputs[1]->mutable_data_ptr<int64_t>() = i;
    network.run();
    const tenon::TensorPtr scores = std::move(network.outputs()[0]);
    const auto* const first = scores->const_data_ptr<float>();
    const int64_t best = std::max_element(first, first + scores->numel()) - first;
    if (best != expected[i + 1]) {
      fail("token " + std::to_string(i + 1) + " is another than PyTorch's");
    }
  }
}

template <class Network>
int run_network(int argc, char** argv, const char* suffix) {
  using namespace tenon;
  if (argc < 3) fail("usage: PROGRAM FOLDER NAME [LIBRARY]");
  const std::string name = argv[2];
  const std::string path = std::string(argv[1]) + '/' + name;
  std::vector<TensorPtr> inputs = read_all(path + ".input");
  if (name.rfind("bf16", 0) == 0) {
    for (TensorPtr& input : inputs) input = clone_tensor_ptr(*input, ScalarType::BFloat16);
  }
  const int64_t start = now(CLOCK_MONOTONIC);
  Network network(path + suffix);
  std::cout << now(CLOCK_MONOTONIC) - start << std::endl;
  network.set_inputs(inputs);
  network.run();
  const std::vector<TensorPtr> expected = read_all(path + ".output");
  const std::vector<TensorPtr> given = network.outputs();
  if (given.size() != expected.size() || given.empty()) fail("another number of outputs");
  for (size_t i = 0; i < given.size(); ++i) compare(*given[i], *expected[i], i);
  const Result<TensorPtr> tokens = try_read_npy(path + ".tokens.npy");
  if (tokens.ok()) generate(network, inputs, **tokens);
  int runs = 0;
  while (std::cin >> runs) {
    const int64_t begin = now(CLOCK_PROCESS_CPUTIME_ID);
    for (int i = 0; i < runs; ++i) network.run();
    std::cout << now(CLOCK_PROCESS_CPUTIME_ID) - begin << std::endl;
  }
  return 0;
}
