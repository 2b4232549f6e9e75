// SPDX-License-Identifier: MIT
#include "tenon/interop/runtimes/aoti_kernels_scatter.h"

#include "interop/runtimes/aoti_kernels/random_cases.h"
#include "tenon/tensor/values.h"

namespace aoti_kernels_scatter_test {

using namespace tenon;
using tests::RandomCases;

namespace {

const std::vector<const char*> kReductions = {"sum", "prod", "mean", "amax", "amin"};

}  // namespace

// A promise of docs/guarantees.md.
TEST_CASE("aoti_kernels: scatter and scatter_reduce of random places", "[aoti_kernels_scatter]") {
  RandomCases random(2);
  for (int i = 0; i < tests::random_cases(); ++i) {
    INFO("case " << i);
    const auto sizes = random.sizes(0, 4);
    const auto rank = static_cast<int64_t>(sizes.size());
    const int64_t dim = rank == 0 ? random.between(-1, 0) : random.between(-rank, rank - 1);
    const auto at = static_cast<size_t>(dim < 0 ? dim + std::max<int64_t>(rank, 1) : dim);
    const ScalarType type = random.type();
    const Tensor x = random.tensor(sizes, type);
    const Tensor out = random.distinct(sizes, type);
    std::vector<int64_t> places = sizes;
    for (size_t d = 0; d < places.size(); ++d) {
      places[d] = d == at ? random.below(6) : random.between(0, places[d]);
      if (d != at && random.one_in(2)) places[d] = sizes[d];
    }
    std::vector<int64_t> given = places;
    for (int64_t& size : given) size += random.one_in(4) ? random.below(2) : 0;
    if (random.one_in(40) && rank > 0) --given[0];
    if (random.one_in(40) && rank > 0) places[0] += 3;
    for (int64_t& size : given) size = std::max<int64_t>(size, 0);
    const int64_t last = rank == 0 ? 0 : std::max<int64_t>(sizes[at], 1) - 1;
    const bool is_wrong = random.one_in(30);
    const Tensor index =
        random.tensor(places, random.one_in(4) ? ScalarType::Int : ScalarType::Long,
                      is_wrong ? -1 : 0, is_wrong ? last + 1 : last);
    const Tensor src = random.tensor(given, type);
    INFO(type << ' ' << x.sizes() << " by " << x.strides() << ", dim " << dim << ", index "
              << index.scalar_type() << ' ' << index.sizes() << ", src " << src.sizes()
              << ", out by " << out.strides());
    CHECK_PEER(aoti_torch_cpu_scatter_src_out, 0, out, x, dim, index, src);
    CHECK_PEER(aoti_torch_scatter_out, 0, out, x, dim, index, src);
    const double value = index.numel() == 0 ? 1 : random.one_of<double>({0, 1, 2.5, 7, 300, -1});
    INFO("value " << value);
    CHECK_PEER(aoti_torch_cpu_scatter_value_out, 0, out, x, dim, index, value);
    const char* const reduce = random.one_of(kReductions);
    const int32_t include = random.one_in(2) ? 1 : 0;
    INFO(reduce << ", include_self " << include);
    CHECK_PEER(aoti_torch_cpu_scatter_reduce_two_out, 1e-2, out, x, dim, index, src, reduce,
               include);
  }
}

TEST_CASE("aoti_kernels: index_reduce of random places", "[aoti_kernels_scatter]") {
  RandomCases random(3);
  for (int i = 0; i < tests::random_cases(); ++i) {
    INFO("case " << i);
    const auto sizes = random.sizes(0, 4);
    const auto rank = static_cast<int64_t>(sizes.size());
    const int64_t dim = rank == 0 ? random.between(-1, 0) : random.between(-rank, rank - 1);
    const auto at = static_cast<size_t>(dim < 0 ? dim + std::max<int64_t>(rank, 1) : dim);
    const ScalarType type = random.type();
    const Tensor x = random.tensor(sizes, type);
    const int64_t count = rank == 0 ? 1 : random.below(6);
    std::vector<int64_t> given = sizes;
    if (rank != 0) given[at] = count;
    if (random.one_in(40) && rank > 0) --given[0];
    for (int64_t& size : given) size = std::max<int64_t>(size, 0);
    const int64_t last = rank == 0 ? 0 : std::max<int64_t>(sizes[at], 1) - 1;
    const bool is_wrong = random.one_in(30);
    const std::vector<int64_t> one =
        count == 1 && random.one_in(2) ? std::vector<int64_t>() : std::vector<int64_t>{count};
    const Tensor index = random.tensor(one, random.one_in(4) ? ScalarType::Int : ScalarType::Long,
                                       is_wrong ? -1 : 0, is_wrong ? last + 1 : last);
    const Tensor source = random.tensor(given, type);
    const char* const reduce = random.one_of(kReductions);
    const int32_t include = random.one_in(2) ? 1 : 0;
    // torch takes these in some cases alone.
    if (type == ScalarType::Bool || isComplexType(type)) continue;
    if (elementSize(type) == 2 && isFloatingType(type) && reduce == std::string("prod")) continue;
    INFO(type << ' ' << x.sizes() << " by " << x.strides() << ", dim " << dim << ", index " << index
              << ", source " << source.sizes() << ", " << reduce << ", include_self " << include);
    CHECK_PEER(aoti_torch_cpu_index_reduce, 1e-2, x, dim, index, source, reduce, include);
  }
}

TEST_CASE("aoti_kernels: scatter_reduce takes max and min as torch does",
          "[aoti_kernels_scatter]") {
  const Tensor x = *make_tensor_ptr({3}, {1.0f, 5.0f, 2.0f});
  const Tensor index = *make_tensor_ptr({2}, std::vector<int64_t>{0, 1});
  const Tensor src = *make_tensor_ptr({2}, {4.0f, 3.0f});
  for (const char* const name : {"max", "min", "amax", "amin"}) {
    CHECK_PEER(aoti_torch_cpu_scatter_reduce_two_out, 0, x, x, 0, index, src, name, 1);
    CHECK_PEER(aoti_torch_cpu_index_reduce, 0, x, 0, index, src, name, 1);
  }
}

}  // namespace aoti_kernels_scatter_test
