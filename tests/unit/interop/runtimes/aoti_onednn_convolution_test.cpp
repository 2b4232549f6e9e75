// SPDX-License-Identifier: MIT
#include <vector>

#include "interop/runtimes/aoti_kernels/peer.h"
#include "interop/runtimes/aoti_onednn/kernels.h"

namespace aoti_onednn_convolution_test {

using tenon::Dims;
using tenon::Tensor;
using tests::AotiHandle;
using tests::at;
using tests::contains;
using tests::differs;
using tests::is_close;
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

/// By the definition: each input element meets each weight.
Tensor expected(const Job& job, const Tensor& x, const Tensor& w, const Tensor& bias,
                const Dims& sizes) {
  const Tensor out = *tenon::zeros(sizes);
  float* const data = out.mutable_data_ptr<float>();
  const auto element = [&](int64_t n, int64_t c, int64_t i, int64_t j) -> float& {
    return data[((n * sizes[1] + c) * sizes[2] + i) * sizes[3] + j];
  };
  const int64_t in_group = x.size(1) / job.groups;
  const int64_t out_group = sizes[1] / job.groups;
  for (int64_t n = 0; n < sizes[0]; ++n) {
    for (int64_t g = 0; g < job.groups; ++g) {
      for (int64_t c = 0; c < in_group; ++c) {
        for (int64_t o = 0; o < out_group; ++o) {
          for (int64_t p = 0; p < w.size(2); ++p) {
            for (int64_t q = 0; q < w.size(3); ++q) {
              // the smaller side's i, j meet the larger side's s * i + d * p - padding
              const int64_t rows = job.transposed ? x.size(2) : sizes[2];
              const int64_t columns = job.transposed ? x.size(3) : sizes[3];
              for (int64_t i = 0; i < rows; ++i) {
                for (int64_t j = 0; j < columns; ++j) {
                  const int64_t y = i * job.stride[0] + p * job.dilation[0] - job.padding[0];
                  const int64_t z =
                      j * job.stride.back() + q * job.dilation.back() - job.padding.back();
                  const int64_t ic = g * in_group + c;
                  const int64_t oc = g * out_group + o;
                  if (job.transposed) {
                    if (y < 0 || z < 0 || y >= sizes[2] || z >= sizes[3]) continue;
                    element(n, oc, y, z) += at(x, {n, ic, i, j}) * at(w, {ic, o, p, q});
                  } else {
                    if (y < 0 || z < 0 || y >= x.size(2) || z >= x.size(3)) continue;
                    element(n, oc, i, j) += at(x, {n, ic, y, z}) * at(w, {oc, c, p, q});
                  }
                }
              }
            }
          }
        }
      }
    }
  }
  if (job.has_bias) {
    for (int64_t n = 0; n < sizes[0]; ++n)
      for (int64_t c = 0; c < sizes[1]; ++c)
        for (int64_t i = 0; i < sizes[2]; ++i)
          for (int64_t j = 0; j < sizes[3]; ++j) element(n, c, i, j) += at(bias, {c});
  }
  return out;
}

Tensor channels_last(const Tensor& x) {
  return tenon::permute(
      *tenon::clone_tensor_ptr(tenon::contiguous(tenon::permute(x, {0, 2, 3, 1}))), {0, 3, 1, 2});
}

void check_equal(const Tensor& output, const Tensor& naive) {
  REQUIRE(output.sizes() == naive.sizes());
  for (int64_t n = 0; n < naive.size(0); ++n)
    for (int64_t c = 0; c < naive.size(1); ++c)
      for (int64_t i = 0; i < naive.size(2); ++i)
        for (int64_t j = 0; j < naive.size(3); ++j)
          CHECK(is_close(at(output, {n, c, i, j}), at(naive, {n, c, i, j})));
}

TEST_CASE("aoti_onednn: convolutions are what their definition says") {
  struct Case {
    Job job;
    Dims sizes;  // of the output, by hand
  };
  const std::vector<Case> cases = {
      {{{2, 3, 7, 6}, {4, 3, 3, 3}, {1, 1}, {0, 0}, {1, 1}, {0, 0}, false, 1, true}, {2, 4, 5, 4}},
      {{{2, 3, 7, 6}, {4, 3, 3, 3}, {2}, {1}, {1}, {0}, false, 1, false}, {2, 4, 4, 3}},
      {{{1, 4, 9, 9}, {6, 2, 3, 2}, {2, 1}, {2, 1}, {2, 3}, {0, 0}, false, 2, true}, {1, 6, 5, 8}},
      {{{2, 4, 5, 5}, {4, 1, 3, 3}, {1, 1}, {1, 1}, {1, 1}, {0, 0}, false, 4, true}, {2, 4, 5, 5}},
      {{{2, 16, 4, 4}, {16, 16, 1, 1}, {1, 1}, {0, 0}, {1, 1}, {0, 0}, false, 1, true},
       {2, 16, 4, 4}},
      {{{2, 3, 4, 5}, {3, 2, 3, 3}, {2, 2}, {1, 1}, {1, 1}, {1, 1}, true, 1, true}, {2, 2, 8, 10}},
      {{{1, 4, 3, 3}, {4, 3, 2, 3}, {3, 1}, {0, 1}, {1, 2}, {2, 0}, true, 2, true}, {1, 6, 10, 5}},
      {{{0, 3, 7, 6}, {4, 3, 3, 3}, {1, 1}, {0, 0}, {1, 1}, {0, 0}, false, 1, true}, {0, 4, 5, 4}},
  };
  for (const Case& test : cases) {
    INFO("weights " << test.job.weight[0] << " groups " << test.job.groups << " transposed "
                    << test.job.transposed);
    const Tensor x = numbers(test.job.input, 1);
    const Tensor w = numbers(test.job.weight, 2);
    const Tensor bias = numbers({test.sizes[1]}, 3);
    const Tensor naive = expected(test.job, x, w, bias, test.sizes);
    Tensor output;
    REQUIRE(convolve(test.job, x, w, bias, output) == 0);
    CHECK(output.is_contiguous());
    check_equal(output, naive);
    if (test.job.input[0] == 0) continue;
    Tensor last;
    REQUIRE(convolve(test.job, channels_last(x), w, bias, last) == 0);
    check_equal(last, naive);
    CHECK(last.stride(1) == 1);  // as libtorch makes it
    Tensor last_weight;
    REQUIRE(convolve(test.job, x, channels_last(w), bias, last_weight) == 0);
    check_equal(last_weight, naive);
  }
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

TEST_CASE("aoti_onednn: convolutions that oneDNN has not are what their definition says") {
  const std::vector<Job> jobs = {
      {{2, 2, 3, 4}, {2, 3, 3, 2}, {1, 2}, {1, 0}, {3, 1}, {2, 1}, true, 1, true},
      {{1, 4, 9, 9}, {6, 2, 3, 2}, {2, 1}, {2, 1}, {2, 3}, {0, 0}, false, 2, true},
      {{1, 4, 3, 3}, {4, 3, 2, 3}, {3, 1}, {0, 1}, {1, 2}, {2, 0}, true, 2, false},
  };
  for (const Job& job : jobs) {
    const Tensor x = integers(job.input, tenon::ScalarType::Float);
    const Tensor w = integers(job.weight, tenon::ScalarType::Float);
    const Tensor bias = integers({6}, tenon::ScalarType::Float);
    const Tensor b =
        tenon::narrow(bias, 0, 0, job.transposed ? job.weight[1] * job.groups : job.weight[0]);
    Tensor made;
    REQUIRE(convolve(job, x, w, b, made) == 0);
    const Tensor naive = expected(job, x, w, b, made.sizes());
    check_equal(made, naive);
    for (const auto type : {tenon::ScalarType::Double, tenon::ScalarType::Int,
                            tenon::ScalarType::BFloat16, tenon::ScalarType::Half}) {
      const auto as = [](const Tensor& t, tenon::ScalarType wanted) {
        return tenon::to(t, wanted, tenon::CastMode::Truncate);
      };
      Tensor of_type;
      REQUIRE(convolve(job, as(x, type), as(w, type), as(b, type), of_type) == 0);
      CHECK(of_type.scalar_type() == type);
      CHECK(tests::difference(of_type, as(naive, type), 0) == "");
    }
  }
}

TEST_CASE("aoti_onednn: convolutions of one and three spatial dimensions") {
  const Tensor x = numbers({2, 3, 8}, 1);
  const Tensor w = numbers({4, 3, 3}, 2);
  const Tensor bias = numbers({4}, 3);
  const Job flat = {{2, 3, 1, 8}, {4, 3, 1, 3}, {1, 2}, {0, 1}, {1, 1}, {0, 0}, false, 1, true};
  const Job job = {{2, 3, 8}, {4, 3, 3}, {2}, {1}, {1}, {0}, false, 1, true};
  Tensor output;
  REQUIRE(convolve(job, x, w, bias, output) == 0);
  REQUIRE(output.sizes() == Dims{2, 4, 4});
  check_equal(tenon::view(output, {2, 4, 1, 4}),
              expected(flat, tenon::view(x, {2, 3, 1, 8}), tenon::view(w, {4, 3, 1, 3}), bias,
                       {2, 4, 1, 4}));

  // One layer deep: the same numbers as in two dimensions.
  const Job solid = {{2, 3, 1, 1, 8}, {4, 3, 1, 1, 3}, {1, 1, 2}, {0, 0, 1}, {1, 1, 1},
                     {0, 0, 0},       false,           1,         true};
  Tensor deep;
  REQUIRE(convolve(solid, tenon::view(x, {2, 3, 1, 1, 8}), tenon::view(w, {4, 3, 1, 1, 3}), bias,
                   deep) == 0);
  REQUIRE(deep.sizes() == Dims{2, 4, 1, 1, 4});
  for (int64_t n = 0; n < 2; ++n)
    for (int64_t c = 0; c < 4; ++c)
      for (int64_t i = 0; i < 4; ++i)
        CHECK(is_close(at(deep, {n, c, 0, 0, i}), at(output, {n, c, i})));
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
  fails_with([](Job& job) { job.stride = {0, 1}; }, "stride 0, expected at least 1");
  fails_with([](Job& job) { job.padding = {1, 2, 3}; }, "padding has 3 numbers, expected 2");
  fails_with([](Job& job) { job.stride = {int64_t{1} << 40}; }, "expected at most 2147483647");
  fails_with(
      [](Job& job) {
        job.transposed = true;
        job.weight = {4, 3, 3, 3};
        job.output_padding = {2};
        job.dilation = {2};
      },
      "output_padding 2, expected less than the stride 1 or the dilation 2");
  fails_with([](Job& job) { job.weight = {6, 2, 6, 3}; }, "too large for an input");
  fails_with([](Job& job) { job.weight = {12, 2, 3, 3}; }, "a bias of sizes {6}, expected {12}");
  fails_with([](Job& job) { job.input = {2, 4, 5}; }, "rank 3 and weights of rank 4");
  Tensor output;
  CHECK(convolve(good, *tenon::zeros(good.input, tenon::ScalarType::Double), numbers(good.weight),
                 numbers({6}), output) == 1);
  CHECK(contains(tenon::last_error_message(), "an input of Double and weights of Float"));
}

}  // namespace

}  // namespace aoti_onednn_convolution_test
