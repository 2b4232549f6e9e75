// SPDX-License-Identifier: MIT
// A library of operators, built against torch's headers alone.
#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/ops.h>
#include <torch/csrc/stable/tensor.h>

#include <optional>
#include <string>
#include <tuple>
#include <vector>

namespace {

using torch::stable::Tensor;

/// factor x + bias
Tensor scale(Tensor x, double factor, std::optional<Tensor> bias) {
  STD_TORCH_CHECK(x.scalar_type() == torch::headeronly::ScalarType::Float, "scale wants floats");
  STD_TORCH_CHECK(x.is_contiguous(), "scale wants contiguous tensors");
  Tensor made = torch::stable::empty_like(x);
  const float* const from = x.const_data_ptr<float>();
  const float* const plus = bias.has_value() ? bias->const_data_ptr<float>() : nullptr;
  float* const to = made.mutable_data_ptr<float>();
  for (int64_t i = 0; i < x.numel(); ++i) {
    to[i] = static_cast<float>(factor) * from[i] + (plus != nullptr ? plus[i] : 0);
  }
  return made;
}

/// Doubles in place, and gives a view of it and its number of elements.
std::tuple<Tensor, int64_t> double_(Tensor x) {
  float* const data = x.mutable_data_ptr<float>();
  for (int64_t i = 0; i < x.numel(); ++i) data[i] *= 2;
  return {torch::stable::transpose(x, 0, 1), x.numel()};
}

Tensor first_row(Tensor x) { return torch::stable::select(torch::stable::clone(x), 0, 0); }

bool is_negative(int64_t x) { return x < 0; }

/// Gives the tensors of both lists, what the other arguments are, and some lists.
std::tuple<std::vector<Tensor>, std::string, std::vector<int64_t>, std::vector<double>,
           std::optional<torch::headeronly::ScalarType>>
describe(std::vector<Tensor> xs, std::vector<std::optional<Tensor>> ys, std::vector<int64_t> n,
         std::vector<double> f, std::vector<bool> b, std::string mode,
         torch::headeronly::ScalarType type, std::optional<torch::stable::Device> device,
         torch::headeronly::MemoryFormat format, std::optional<std::vector<int64_t>> more) {
  for (const std::optional<Tensor>& y : ys) {
    mode += y.has_value() ? " y" : " none";
    if (y.has_value()) xs.push_back(*y);
  }
  mode += type == torch::headeronly::ScalarType::Double ? " double" : " another type";
  if (device.has_value()) mode += device->is_cpu() ? " cpu" : " another device";
  mode += format == torch::headeronly::MemoryFormat::ChannelsLast ? " channels_last" : "";
  if (more.has_value()) n.insert(n.end(), more->begin(), more->end());
  for (const bool each : b) mode += each ? " true" : " false";
  f.push_back(0.5);
  return {xs, mode, n, f, device.has_value() ? std::make_optional(type) : std::nullopt};
}

/// What the program's "program::add(Tensor x, int n, str? mode=None) -> Tensor" gives.
Tensor call_program(Tensor x, int64_t n) {
  std::vector<StableIValue> stack{
      torch::stable::detail::from(x), torch::stable::detail::from(n),
      torch::stable::detail::from(std::make_optional(std::string("a mode")))};
  STABLE_TORCH_ERROR_CODE_CHECK(
      torch_call_dispatcher("program::add", "", stack.data(), TORCH_ABI_VERSION));
  return torch::stable::detail::to<Tensor>(stack[0]);
}

}  // namespace

STABLE_TORCH_LIBRARY(extension, m) {
  m.def(R"(scale(
      Tensor x,
      float  factor,
	Tensor? bias = None
    ) -> Tensor
  )");
  m.def("double_(Tensor(a!) x) -> (Tensor(a!), int)");
  m.def("first_row(Tensor x) -> Tensor");
  m.def("is_negative(int x) -> bool");
  m.def("on_gpu(Tensor x) -> Tensor");
  m.def(
      "describe(Tensor[] xs, Tensor?[] ys, int[2] n=1, float[] f=[], bool[] b=[False], "
      "str mode='mean', ScalarType type=float, Device? device=None, "
      "MemoryFormat format=contiguous_format, int[]? more=None) -> "
      "(Tensor[], str, int[], float[], ScalarType?)");
  m.def("call_program(Tensor x, int n) -> Tensor");
}
STABLE_TORCH_LIBRARY_IMPL(extension, CPU, m) {
  m.impl("scale", TORCH_BOX(&scale));
  m.impl("double_", TORCH_BOX(&double_));
  m.impl("first_row", TORCH_BOX(&first_row));
  m.impl("describe", TORCH_BOX(&describe));
  m.impl("call_program", TORCH_BOX(&call_program));
}
STABLE_TORCH_LIBRARY_IMPL(extension, CompositeExplicitAutograd, m) {
  m.impl("is_negative", TORCH_BOX(&is_negative));
}
STABLE_TORCH_LIBRARY_IMPL(extension, CUDA, m) { m.impl("on_gpu", TORCH_BOX(&first_row)); }
