// SPDX-License-Identifier: MIT
#include "tenon/interop/runtimes/aoti_kernels_views.h"

#include "interop/runtimes/aoti_kernels/random_cases.h"
#include "tenon/tensor/values.h"

namespace aoti_kernels_views_test {

using namespace tenon;
using tests::RandomCases;

TEST_CASE("aoti_kernels: views of random tensors", "[aoti_kernels_views]") {
  RandomCases random(8);
  for (int i = 0; i < tests::random_cases(); ++i) {
    const auto sizes = random.sizes(0, 5);
    const auto rank = static_cast<int64_t>(sizes.size());
    const ScalarType type = random.type();
    const Tensor x = random.tensor(sizes, type);
    const int64_t dim = random.between(-rank - 1, rank);
    INFO("case " << i << ": " << type << ' ' << x.sizes() << " by " << x.strides() << ", dim "
                 << dim);
    std::vector<int64_t> order(sizes.size());
    for (size_t d = 0; d < order.size(); ++d)
      order[d] = static_cast<int64_t>(d) - (random.one_in(3) ? rank : 0);
    for (size_t d = 1; d < order.size(); ++d)
      std::swap(order[d], order[static_cast<size_t>(random.below(static_cast<int64_t>(d) + 1))]);
    if (random.one_in(30) && rank > 1) order[0] = order[1];
    CHECK_PEER(aoti_torch_cpu_permute, 0, x, order.data(), rank);
    // Other sizes: neighbours joined, ones added, one left open.
    std::vector<int64_t> shape;
    for (const int64_t size : sizes) {
      if (!shape.empty() && random.one_in(3)) {
        shape.back() *= size;
      } else if (size == 4 && random.one_in(2)) {
        shape.insert(shape.end(), {2, 2});
      } else {
        shape.push_back(size);
      }
      if (random.one_in(6)) shape.push_back(1);
    }
    if (random.one_in(4) && !shape.empty())
      shape[static_cast<size_t>(random.below(static_cast<int64_t>(shape.size())))] =
          random.one_in(8) ? 3 : -1;
    INFO("shape " << ArrayRef<int64_t>(shape));
    CHECK_PEER(aoti_torch_cpu_reshape, 0, x, shape.data(), shape.size());
    int64_t start = random.between(-6, 6);
    int64_t end = random.between(-6, 6);
    int64_t step = random.between(random.one_in(30) ? -1 : 1, 3);
    INFO("start " << start << ", end " << end << ", step " << step);
    CHECK_PEER(aoti_torch_cpu_slice_Tensor, 0, x, dim, random.one_in(4) ? nullptr : &start,
               random.one_in(4) ? nullptr : &end, step);
    CHECK_PEER(aoti_torch_cpu_narrow, 0, x, dim, start, end / 2);
    CHECK_PEER(aoti_torch_cpu_squeeze_dim, 0, x, dim);
    // torch also checks the strides of dimensions that have one element or none.
    if (x.numel() == 0) continue;
    const Tensor bytes = *zeros(sizes, type);
    const auto dtype = static_cast<int32_t>(random.type());
    INFO("dtype " << dtype);
    CHECK_PEER(aoti_torch_cpu_view_dtype, INFINITY, bytes, dtype);
    CHECK_PEER(aoti_torch_view_dtype, INFINITY, bytes, dtype);
    CHECK_PEER(aoti_torch_cpu_view_as_real, 0, x);
    CHECK_PEER(aoti_torch_view_as_real, 0, x);
    CHECK_PEER(aoti_torch_cpu_view_as_complex, 0, x);
    std::vector<int64_t> pairs = sizes;
    pairs.push_back(2);
    const Tensor y = random.tensor(
        pairs,
        random.one_of<ScalarType>({ScalarType::Float, ScalarType::Double, ScalarType::Half}));
    INFO("pairs " << y.sizes() << " by " << y.strides());
    if (y.numel() != 0) CHECK_PEER(aoti_torch_cpu_view_as_complex, 0, y);
  }
}

TEST_CASE("aoti_kernels: resize_, set_ and fill_ change their argument", "[aoti_kernels_views]") {
  RandomCases random(9);
  const char* const name = "x";
  for (int i = 0; i < tests::random_cases(); ++i) {
    const auto sizes = random.sizes(0, 5);
    const ScalarType type = random.type();
    const Tensor x = random.distinct(sizes, type);
    std::vector<int64_t> smaller;
    int64_t count = 1;
    for (int64_t rank = random.below(6); rank > 0; --rank) {
      smaller.push_back(random.between(0, 3));
      count *= smaller.back();
    }
    int32_t format = static_cast<int32_t>(random.between(0, 3));
    int32_t* const given = random.one_in(2) ? &format : nullptr;
    INFO("case " << i << ": " << type << ' ' << x.sizes() << " by " << x.strides() << ", to "
                 << ArrayRef<int64_t>(smaller) << ", format " << (given == nullptr ? -1 : format));
    if (count <= x.numel()) {
      CHECK_PEER(aoti_torch_cpu_resize_, 0, x, smaller.data(), smaller.size(), given);
      const Tensor like = random.tensor(smaller, type);
      INFO("template by " << like.strides());
      CHECK_PEER(aoti_torch_cpu_resize_as_, 0, x, like, given);
    }
    CHECK_PEER(aoti_torch_cpu_set__source_Tensor, 0, x, random.tensor(smaller, type));
    CHECK_PEER(aoti_torch_cpu_fill__Scalar, 1e-3, x, random.one_of<double>({0, 1, -1, 2.7, 300}));
    CHECK_PEER(aoti_torch_check_inf_and_nan, 0, name, x);
  }
}

}  // namespace aoti_kernels_views_test
