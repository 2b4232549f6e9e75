// SPDX-License-Identifier: MIT
#include "tenon/interop/runtimes/aoti_kernels_indexing.h"

#include "interop/runtimes/aoti_kernels/random_cases.h"
#include "tenon/tensor/values.h"

namespace aoti_kernels_indexing_test {

using namespace tenon;
using tests::RandomCases;

namespace {

using Indices = std::vector<std::optional<Tensor>>;

/// Indices of all kinds for a tensor of these sizes; some are wrong.
Indices random_indices(RandomCases& random, const std::vector<int64_t>& sizes) {
  Indices indices;
  const auto shape = random.sizes(0, 3);
  const auto shape_of_one = [&] {
    std::vector<int64_t> own = shape;
    for (int64_t& size : own) size = random.one_in(4) ? 1 : size;
    if (!own.empty() && random.one_in(4)) own.erase(own.begin());
    return own;
  };
  for (size_t d = 0; d < sizes.size();) {
    if (random.one_in(8)) break;
    if (random.one_in(3)) {
      indices.push_back(std::nullopt);
      ++d;
    } else if (random.one_in(5)) {
      const auto rank = static_cast<size_t>(random.below(3));
      std::vector<int64_t> covered;
      for (size_t k = d; k < sizes.size() && k < d + rank; ++k) covered.push_back(sizes[k]);
      if (random.one_in(40) && !covered.empty()) ++covered[0];
      const ScalarType type = random.one_in(50) ? ScalarType::Byte : ScalarType::Bool;
      indices.push_back(random.tensor(covered, type, 0, 1));
      d += covered.empty() ? 1 : covered.size();
    } else {
      const ScalarType type = random.one_in(4) ? ScalarType::Int : ScalarType::Long;
      const int64_t size = std::max<int64_t>(sizes[d], 1);
      const int64_t past = random.one_in(40) ? 1 : 0;
      indices.push_back(random.tensor(shape_of_one(), type, -size - past, size - 1 + past));
      ++d;
    }
  }
  return indices;
}

std::string described(const Tensor& tensor) {
  std::ostringstream text;
  text << tensor.scalar_type() << ' ' << tensor.sizes() << " by " << tensor.strides();
  return text.str();
}
std::string described(const Indices& indices) {
  std::string text;
  for (const auto& index : indices) text += (index ? described(*index) : ":") + ", ";
  return text;
}

/// Of x[indices]; {} if that is refused.
std::vector<int64_t> indexed_sizes(const Tensor& x, const Indices& indices) {
  std::vector<AtenTensorHandle> handles;
  for (const auto& index : indices) {
    AtenTensorHandle handle = nullptr;
    if (index) REQUIRE(detail::make_aoti_handle(*index, handle) == Error::Ok);
    handles.push_back(handle);
  }
  detail::AotiIndexing indexing;
  const Error error = indexing.read(x, handles);
  for (const AtenTensorHandle handle : handles) {
    if (handle != nullptr) CHECK(detail::tenon_aoti_shim.delete_tensor_object(handle) == 0);
  }
  return error == Error::Ok ? ArrayRef<int64_t>(indexing.sizes).vec() : std::vector<int64_t>();
}

}  // namespace

// A promise of docs/guarantees.md.
TEST_CASE("aoti_kernels: index_Tensor and index_put of random indices", "[aoti_kernels_indexing]") {
  RandomCases random(1);
  for (int i = 0; i < tests::random_cases(); ++i) {
    INFO("case " << i);
    const auto sizes = random.sizes(0, 5);
    const ScalarType type = random.type();
    const Tensor x = random.tensor(sizes, type);
    const Indices indices = random_indices(random, sizes);
    const auto count = static_cast<int64_t>(indices.size());
    INFO(described(x) << " [" << described(indices) << ']');
    if (indices.empty()) continue;  // torch refuses these of a tensor without elements
    CHECK_PEER(aoti_torch_cpu_index_Tensor, 0, x, indices, count);
    // Of Byte masks alone torch makes a masked_fill(), which refuses them.
    if (!std::any_of(indices.begin(), indices.end(), [](const auto& index) {
          return index && index->scalar_type() != ScalarType::Byte &&
                 (index->dim() != 0 || index->scalar_type() != ScalarType::Bool);
        })) {
      continue;
    }
    // Values of the indexed sizes, which broadcast.
    const std::vector<int64_t> shape = indexed_sizes(x, indices);
    std::vector<int64_t> given = shape;
    for (int64_t& size : given) size = random.one_in(5) ? 1 : size;
    while (!given.empty() && random.one_in(5)) given.erase(given.begin());
    const Tensor values = random.tensor(given, type);
    const int32_t accumulate = random.one_in(2) ? 1 : 0;
    CHECK_PEER(aoti_torch_cpu_index_put, 0, x, indices, count, values, accumulate);
    std::vector<Tensor> list;
    for (const auto& index : indices) list.push_back(index ? *index : Tensor());
    const Tensor out = random.distinct(sizes, type);
    CHECK_PEER(aoti_torch_index_put_out, 0, out, x, list, list.size(), values, accumulate != 0);
  }
}

}  // namespace aoti_kernels_indexing_test
