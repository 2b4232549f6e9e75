// SPDX-License-Identifier: MIT
// Operators of the wheels of torchvision and torchaudio, which are built for CUDA too, on tenon alone: make_torch_operators.py
// wrote what PyTorch gives.
#include "tenon/interop/torch_stable_no_cuda.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "support/catch.h"
#include "tenon/interop/aoti_kernels.h"
#include "tenon/interop/aoti_shim.h"
#include "tenon/interop/npy.h"
#include "tenon/interop/torch_stable_shim.h"
#include "tenon/tenon.h"
#include "tensor/helpers.h"

namespace torch_stable_no_cuda_test {

using namespace tenon;

TEST_CASE("no_cuda: registrations do nothing, all else has no device") {
  CHECK(__cudaRegisterFatBinary(nullptr) == nullptr);
  __cudaRegisterFatBinaryEnd();
  __cudaRegisterFunction();
  __cudaRegisterVar();
  __cudaUnregisterFatBinary();
  CHECK(cudaGetDevice() == 100);
  CHECK(cudaGetLastError() == 100);
  CHECK(cudaMemcpyAsync() == 100);
  CHECK(std::string(cudaGetErrorName()) == "cudaErrorNoDevice");
}

#if defined(TENON_TORCH_WHEELS)
namespace {

/// The largest difference of two tensors' elements, relative where they are large; -1 if their bytes are equal, infinity for
/// other sizes or types.
double difference(const Tensor& ours, const Tensor& theirs) {
  if (ours.sizes() != theirs.sizes() || ours.scalar_type() != theirs.scalar_type()) {
    return INFINITY;
  }
  const Tensor dense = contiguous(ours);
  if (dense.nbytes() == 0 ||
      std::memcmp(dense.const_data_ptr(), theirs.const_data_ptr(), dense.nbytes()) == 0) {
    return -1;
  }
  const Tensor a = to(dense, ScalarType::Double);
  const Tensor b = to(theirs, ScalarType::Double);
  double most = 0;
  for (int64_t i = 0; i < a.numel(); ++i) {
    const double x = a.const_data_ptr<double>()[i];
    const double y = b.const_data_ptr<double>()[i];
    if (std::isnan(x) && std::isnan(y)) continue;
    const double d = std::abs(x - y) / (std::max)(1.0, std::abs(y));
    most = d <= most ? most : d;
  }
  return most;
}

/// Runs each line of <library>.txt; the number of them.
int check_calls(const std::string& library) {
  std::ifstream lines(std::string(TENON_TORCH_CALLS) + "/" + library + ".txt");
  std::string line;
  int count = 0;
  for (; std::getline(lines, line); ++count) {
    INFO(line);
    std::istringstream words(line);
    std::string name;
    std::string match;
    words >> name >> match;
    const auto file = [&](const char* what, size_t i) {
      return std::string(TENON_TORCH_CALLS) + "/" + library + "." + std::to_string(count) + "." +
             what + std::to_string(i) + ".npy";
    };
    std::vector<EValue> inputs;
    std::string word;
    while (words >> word && word != "->") {
      const std::string text = word.substr(word.find(':') + 1);
      if (word == "tensor") {
        inputs.push_back(*read_npy(file("in", inputs.size())));
      } else if (word[0] == 'i') {
        inputs.push_back(int64_t{std::stoll(text)});
      } else if (word[0] == 'f') {
        inputs.push_back(std::stod(text));
      } else {
        inputs.push_back(text == "True");
      }
    }
    const auto check = [&](const EValue& ours, const std::string& path) {
      INFO(path);
      const double d = difference(ours.toTensor(), *read_npy(path));
      CHECK(d <= (match == "exact" ? -1 : std::stod(match)));
    };
    const Result<std::vector<EValue>> made = call_torch_operator(name, inputs);
    INFO((made.ok() ? "" : last_error_message()));
    REQUIRE(made.ok());
    for (size_t i = 0; words >> word; ++i) {
      REQUIRE(i < made->size());
      if (word == "tensor") {
        check((*made)[i], file("out", i));
      } else if ((*made)[i].isInt()) {
        CHECK("int:" + std::to_string((*made)[i].toInt()) == word);
      }
    }
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i].isTensor()) check(inputs[i], file("after", i));
    }
  }
  return count;
}

bool is_mapped(const char* library) {
  std::ifstream maps("/proc/self/maps");
  const std::string all((std::istreambuf_iterator<char>(maps)), std::istreambuf_iterator<char>());
  return all.find(library) != std::string::npos;
}

}  // namespace

TEST_CASE("torchvision: each operator gives what it gives in PyTorch") {
  REQUIRE(load_torch_library(TENON_TORCH_WHEELS "/torchvision/_C_stable.so") == Error::Ok);
  CHECK(check_calls("torchvision") > 30);
  CHECK(!is_mapped("libtorch_cpu"));
  const Result<std::vector<EValue>> refused =
      call_torch_operator("torchvision::nms", {*zeros({3, 5}), *zeros({3}), 0.5});
  CHECK(!refused.ok());
  CHECK(tests::contains(last_error_message(), "boxes should have 4 elements"));
}

TEST_CASE("torchaudio: each operator gives what it gives in PyTorch") {
  REQUIRE(load_torch_library(TENON_TORCH_WHEELS "/torchaudio/lib/libtorchaudio.so") == Error::Ok);
  CHECK(check_calls("torchaudio") > 8);
}
#endif

}  // namespace torch_stable_no_cuda_test
