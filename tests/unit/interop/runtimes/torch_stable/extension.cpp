// SPDX-License-Identifier: MIT
// A library of operators, built against torch's headers alone.
#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/ops.h>
#include <torch/csrc/stable/tensor.h>

#include <optional>
#include <tuple>

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

}  // namespace

STABLE_TORCH_LIBRARY(extension, m) {
  m.def("scale(Tensor x, float factor, Tensor? bias=None) -> Tensor");
  m.def("double_(Tensor(a!) x) -> (Tensor(a!), int)");
  m.def("first_row(Tensor x) -> Tensor");
  m.def("is_negative(int x) -> bool");
  m.def("on_gpu(Tensor x) -> Tensor");
}
STABLE_TORCH_LIBRARY_IMPL(extension, CPU, m) {
  m.impl("scale", TORCH_BOX(&scale));
  m.impl("double_", TORCH_BOX(&double_));
  m.impl("first_row", TORCH_BOX(&first_row));
}
STABLE_TORCH_LIBRARY_IMPL(extension, CompositeExplicitAutograd, m) {
  m.impl("is_negative", TORCH_BOX(&is_negative));
}
STABLE_TORCH_LIBRARY_IMPL(extension, CUDA, m) { m.impl("on_gpu", TORCH_BOX(&first_row)); }
