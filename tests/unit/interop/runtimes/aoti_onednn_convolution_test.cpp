// SPDX-License-Identifier: MIT
#include <vector>

#include "interop/runtimes/aoti_kernels/peer.h"
#include "interop/runtimes/aoti_onednn/kernels.h"

namespace aoti_onednn_convolution_test {

using tenon::Dims;
using tenon::Tensor;
using tests::AotiHandle;
using tests::contains;
using tests::differs;
using tests::numbers;

namespace {

/// A convolution of two spatial dimensions.
struct Job {
  Dims input;
  Dims weight;
  std::vector<int64_t> stride;
  std::vector<int64_t> padding;
  std::vector<int64_t> dilation;
  std::vector<int64_t> output_padding;
  bool transposed;
  int64_t groups;
  bool has_bias;
};

AOTITorchError convolve(const Job& job, const Tensor& input, const Tensor& weight,
                        const Tensor& bias, Tensor& output) {
  const AotiHandle x(input);
  const AotiHandle w(weight);
  AotiHandle b(bias);
  AtenTensorHandle made = nullptr;
  const auto count = [](const std::vector<int64_t>& list) {
    return static_cast<int64_t>(list.size());
  };
  const AOTITorchError code = aoti_torch_cpu_convolution(
      x, w, job.has_bias ? b.address() : nullptr, job.stride.data(), count(job.stride),
      job.padding.data(), count(job.padding), job.dilation.data(), count(job.dilation),
      job.transposed ? 1 : 0, job.output_padding.data(), count(job.output_padding), job.groups,
      &made);
  CHECK((made != nullptr) == (code == 0));
  if (made != nullptr) REQUIRE(tenon::detail::take_aoti_tensor(made, output) == tenon::Error::Ok);
  return code;
}

/// Small integers.
Tensor integers(const Dims& sizes, tenon::ScalarType type) {
  return tenon::to(*tenon::randint(-9, 9, sizes, tenon::ScalarType::Float), type,
                   tenon::CastMode::Truncate);
}
/// The channels, the outermost dimension, or a row laid innermost in memory; or gaps, or one row for
/// all.
std::vector<Tensor> layouts(const Tensor& t) {
  const auto rank = static_cast<size_t>(t.dim());
  std::vector<Tensor> made{t};
  for (const size_t inner : {size_t{1}, size_t{0}, size_t{2}}) {
    Dims order;
    for (size_t d = 0; d < rank; ++d) {
      if (d != inner) order.push_back(static_cast<int64_t>(d));
    }
    order.push_back(static_cast<int64_t>(inner));
    Dims back = order;
    for (size_t d = 0; d < rank; ++d) back[static_cast<size_t>(order[d])] = static_cast<int64_t>(d);
    made.push_back(tenon::permute(
        *tenon::clone_tensor_ptr(tenon::contiguous(tenon::permute(t, order))), back));
  }
  const int64_t last = t.dim() - 1;
  Dims wide = t.sizes();
  wide[rank - 1] += 3;
  const Tensor memory = *tenon::zeros(wide, t.scalar_type());
  const Tensor gaps = tenon::narrow(memory, last, 2, t.size(last));
  REQUIRE(tenon::copy_(gaps, t) == tenon::Error::Ok);
  made.push_back(gaps);
  made.push_back(tenon::expand(tenon::narrow(t, 2, 0, 1), t.sizes()));
  return made;
}

TEST_CASE("aoti_onednn: convolutions of each type and layout, as libtorch's, in its strides") {
  using tenon::ScalarType;
  struct Case {
    Dims input;
    Dims weight;
    std::vector<int64_t> stride;
    std::vector<int64_t> padding;
    std::vector<int64_t> dilation;
    std::vector<int64_t> output_padding;
    bool transposed;
    int64_t groups;
  };
  const std::vector<Case> cases = {
      {{2, 3, 9}, {4, 3, 3}, {2}, {1}, {2}, {0}, false, 1},
      {{2, 1, 7}, {4, 1, 2}, {2}, {1}, {1}, {0}, false, 1},
      {{1, 8, 1}, {6, 4, 1}, {1}, {2}, {3}, {0}, false, 2},
      {{2, 4, 5}, {4, 3, 4}, {2}, {1}, {2}, {1}, true, 2},
      {{2, 3, 7, 6}, {4, 3, 3, 2}, {1, 2}, {1, 0}, {1, 1}, {0, 0}, false, 1},
      {{1, 4, 5, 6}, {8, 1, 3, 3}, {1, 1}, {1, 1}, {2, 1}, {0, 0}, false, 4},
      {{1, 16, 5, 5}, {8, 16, 1, 1}, {1, 1}, {0, 0}, {1, 1}, {0, 0}, false, 1},
      {{1, 4, 3, 3}, {4, 3, 2, 3}, {3, 1}, {0, 1}, {1, 2}, {2, 0}, true, 2},
      {{1, 2, 3, 4}, {2, 3, 3, 2}, {1, 2}, {0, 0}, {3, 1}, {2, 1}, true, 1},  // not oneDNN's
      {{2, 3, 4, 5, 3}, {4, 3, 3, 2, 1}, {1, 2, 1}, {1, 0, 2}, {1, 1, 2}, {0, 0, 0}, false, 1},
      {{1, 3, 4, 5, 3}, {4, 3, 3, 2, 1}, {1, 2, 1}, {1, 0, 2}, {1, 1, 2}, {0, 0, 0}, false, 1},
      {{2, 4, 2, 3, 3}, {4, 2, 2, 3, 2}, {2, 1, 2}, {0, 1, 1}, {1, 1, 1}, {1, 0, 1}, true, 2},
      {{1, 2, 3, 4, 3}, {2, 3, 3, 2, 2}, {1, 2, 1}, {0, 0, 0}, {3, 1, 1}, {1, 1, 0}, true, 1},
  };
  for (const ScalarType type : {ScalarType::Float, ScalarType::BFloat16, ScalarType::Half,
                                ScalarType::Double, ScalarType::Long}) {
    for (const Case& c : cases) {
      // Which of these libtorch gives channels last depends on the processor.
      if (type == ScalarType::BFloat16 && c.stride.size() == 3) continue;
      const int64_t channels = c.transposed ? c.weight[1] * c.groups : c.weight[0];
      const Tensor bias = integers({channels}, type);
      const Tensor one = tenon::expand(integers({1}, type), bias.sizes());
      const auto count = static_cast<int64_t>(c.stride.size());
      const auto check = [&](const Tensor& x, const Tensor& w, const auto& b) {
        INFO(type << " input " << x.sizes() << x.strides() << " weights " << w.sizes()
                  << w.strides());
        CHECK(differs("aoti_torch_cpu_convolution", &aoti_torch_cpu_convolution,
                      type == ScalarType::BFloat16 ? 0.05 : 0.002, x, w, b, c.stride.data(), count,
                      c.padding.data(), count, c.dilation.data(), count, c.transposed,
                      c.output_padding.data(), count, c.groups) == "");
      };
      for (const Tensor& x : layouts(integers(c.input, type))) {
        for (const Tensor& w : layouts(integers(c.weight, type))) check(x, w, bias);
        check(x, integers(c.weight, type), one);
        check(x, integers(c.weight, type), static_cast<AtenTensorHandle*>(nullptr));
      }
      Dims empty = c.input;
      empty[0] = 0;
      check(integers(empty, type), integers(c.weight, type), bias);
    }
  }
}

TEST_CASE("aoti_onednn: a convolution that is none is an error that says why") {
  const Job good = {{2, 4, 5, 5}, {6, 2, 3, 3}, {1, 1}, {0, 0}, {1, 1}, {0, 0}, false, 2, true};
  const auto fails_with = [&](const auto& change, const char* text) {
    Job job = good;
    change(job);
    Tensor output;
    CHECK(convolve(job, numbers(job.input), numbers(job.weight), numbers({6}), output) == 1);
    INFO(tenon::last_error_message());
    CHECK(contains(tenon::last_error_message(), text));
  };
  fails_with([](Job& job) { job.groups = 3; }, "weights of sizes {6, 2, 3, 3} in 3 groups");
  fails_with([](Job& job) { job.groups = 0; }, "0 groups");
  fails_with([](Job& job) { job.input = {2, 5, 5, 5}; }, "an input of sizes {2, 5, 5, 5}");
  fails_with([](Job& job) { job.stride = {0, 1}; }, "stride has 0, expected at least 1");
  fails_with([](Job& job) { job.padding = {1, 2, 3}; }, "padding has 3 numbers, expected 2");
  fails_with([](Job& job) { job.stride = {int64_t{1} << 40}; }, "expected at most 2147483647");
  fails_with(
      [](Job& job) {
        job.transposed = true;
        job.weight = {4, 3, 3, 3};
        job.output_padding = {2};
        job.dilation = {2};
      },
      "output_padding has 2, expected less than the stride 1 or the dilation 2");
  fails_with([](Job& job) { job.weight = {6, 2, 6, 3}; }, "too large for an input");
  fails_with([](Job& job) { job.weight = {12, 2, 3, 3}; }, "the bias has sizes {6}, expected {12}");
  fails_with([](Job& job) { job.input = {2, 4, 5}; }, "rank 3 and the weights have rank 4");
  Tensor output;
  CHECK(convolve(good, *tenon::zeros(good.input, tenon::ScalarType::Double), numbers(good.weight),
                 numbers({6}), output) == 1);
  CHECK(contains(tenon::last_error_message(), "the input has type Double, the weights type Float"));
}

}  // namespace

}  // namespace aoti_onednn_convolution_test
