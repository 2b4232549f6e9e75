// SPDX-License-Identifier: MIT
#include "tenon/interop/runtimes/aoti_kernels_random.h"

#include <algorithm>
#include <cstdlib>
#include <limits>

#include "interop/runtimes/aoti_kernels/peer.h"

namespace aoti_kernels_random_test {

using namespace tenon;

namespace {

constexpr double kAny = std::numeric_limits<double>::infinity();  // other numbers than torch's

int32_t number(ScalarType type) { return static_cast<int32_t>(type); }

/// What call(&result) makes.
template <class Call>
Tensor made_by(const Call& call) {
  AtenTensorHandle handle = nullptr;
  REQUIRE(call(&handle) == 0);
  Tensor made;
  REQUIRE(detail::take_aoti_tensor(handle, made) == Error::Ok);
  return made;
}
bool equal(const Tensor& a, const Tensor& b) { return tests::difference(a, b, 0).empty(); }

const std::vector<int64_t> kSizes = {2, 3, 4, 5};
constexpr std::nullptr_t kNone = nullptr;

}  // namespace

TEST_CASE("aoti_kernels: random numbers are those of tenon's functions, by the same seed",
          "[aoti_kernels_random]") {
  using namespace detail;
  const int64_t sizes[] = {3, 5};
  int32_t type = number(ScalarType::Double);
  manual_seed(11);
  const Tensor a = made_by([&](AtenTensorHandle* made) {
    return aoti_torch_cpu_rand(sizes, 2, nullptr, nullptr, nullptr, 0, nullptr, made);
  });
  const Tensor b = made_by([&](AtenTensorHandle* made) {
    return aoti_torch_cpu_randn(sizes, 2, &type, nullptr, nullptr, 0, nullptr, made);
  });
  const Tensor c = made_by([&](AtenTensorHandle* made) {
    return aoti_torch_cpu_randint_low(-4, 9, sizes, 2, nullptr, nullptr, nullptr, 0, nullptr, made);
  });
  manual_seed(11);
  CHECK(equal(a, *rand({3, 5})));
  CHECK(equal(b, *randn({3, 5}, ScalarType::Double)));
  CHECK(equal(c, *randint(-4, 9, {3, 5}, ScalarType::Long)));
}

TEST_CASE("aoti_kernels: random tensors have torch's types, sizes and strides",
          "[aoti_kernels_random]") {
  const int64_t* const sizes = kSizes.data();
  const TensorPtr x = randn(kSizes);
  for (const ScalarType type : {ScalarType::Float, ScalarType::Double, ScalarType::Half,
                                ScalarType::BFloat16, ScalarType::ComplexFloat, ScalarType::Long,
                                ScalarType::Int, ScalarType::Byte, ScalarType::Bool}) {
    CAPTURE(type);
    int32_t code = number(type);
    int32_t* const dtype = &code;
    CHECK_PEER(aoti_torch_cpu_rand, kAny, sizes, 4, dtype, kNone, kNone, 0, kNone);
    CHECK_PEER(aoti_torch_cpu_randn_generator, kAny, sizes, 4, kNone, dtype, kNone, kNone, 0,
               kNone);
    CHECK_PEER(aoti_torch_cpu_randint, kAny, 2, sizes, 4, dtype, kNone, kNone, 0, kNone);
    CHECK_PEER(aoti_torch_cpu_randperm, kAny, 7, dtype, kNone, kNone, 0, kNone);
    CHECK_PEER(aoti_torch_cpu_hann_window, 1e-2, 9, dtype, kNone, kNone, 0, kNone);
    for (int32_t format = 0; format < 4; ++format) {
      for (const Tensor& like :
           {Tensor(*x), permute(*x, {3, 1, 0, 2}), expand(*ones({1, 3, 1, 5}), {2, 3, 4, 5})}) {
        CHECK_PEER(aoti_torch_cpu_rand_like, kAny, like, dtype, kNone, kNone, 0, kNone, &format);
        CHECK_PEER(aoti_torch_cpu_randint_like_low_dtype, kAny, like, -1, 1, dtype, kNone, kNone, 0,
                   kNone, &format);
      }
    }
    const Tensor like = to(*ones({2, 3, 4, 5}), type, CastMode::Truncate);
    CHECK_PEER(aoti_torch_cpu_randn_like, kAny, like, kNone, kNone, kNone, 0, kNone, kNone);
    CHECK_PEER(aoti_torch_cpu_randint_like, kAny, like, 1, kNone, kNone, kNone, 0, kNone, kNone);
  }
  int32_t format = 3;
  CHECK_PEER(aoti_torch_cpu_randn_like_generator, kAny, *ones({1, 2, 3, 4, 5}), kNone, kNone, kNone,
             kNone, 0, kNone, &format);
  CHECK_PEER(aoti_torch_cpu_rand_like_generator, kAny, *ones({2}), kNone, kNone, kNone, kNone, 0,
             kNone, kNone);
  CHECK_PEER(aoti_torch_cpu_rand_generator, kAny, sizes, 0, kNone, kNone, kNone, kNone, 0, kNone);
  CHECK_PEER(aoti_torch_cpu_randint_generator, kAny, 0, sizes, 4, kNone, kNone, kNone, kNone, 0,
             kNone);
  for (const int64_t length : {-1, 0, 1, 2, 4096}) {
    CHECK_PEER(aoti_torch_cpu_hann_window, 1e-5, length, kNone, kNone, kNone, 0, kNone);
    CHECK_PEER(aoti_torch_cpu_randperm, kAny, length, kNone, kNone, kNone, 0, kNone);
  }
  int32_t half = number(ScalarType::Half);
  for (const int64_t length : {2048, 2050}) {
    CHECK_PEER(aoti_torch_cpu_randperm, kAny, length, &half, kNone, kNone, 0, kNone);
  }
}

TEST_CASE("aoti_kernels: what random kernels make", "[aoti_kernels_random]") {
  using namespace detail;
  manual_seed(5);
  const auto handle_to = [](const Tensor& tensor) {
    AtenTensorHandle handle = nullptr;
    REQUIRE(make_aoti_handle(tensor, handle) == Error::Ok);
    return handle;
  };
  // Inductor's seeds: Long, filled where they are.
  const TensorPtr seeds = zeros({4}, ScalarType::Long);
  const AtenTensorHandle out = handle_to(*seeds);
  const int64_t sizes[] = {4, 5};
  REQUIRE(aoti_torch_cpu_randint_low_out(out, INT64_MIN, INT64_MAX, sizes, 1) == 0);
  CHECK(seeds->const_data_ptr<int64_t>()[0] != seeds->const_data_ptr<int64_t>()[1]);
  CHECK(aoti_torch_cpu_randint_low_out(out, 0, 9, sizes, 2) != 0);
  CHECK(std::string(last_error_message()) ==
        "aoti_torch_cpu_randint_low_out: out has sizes {4}, expected {4, 5}");
  CHECK(aoti_torch_cpu_randint_low_out(out, 0, 9, sizes, -1) != 0);
  REQUIRE(tenon_aoti_shim.delete_tensor_object(out) == 0);

  const Tensor nothing = made_by([&](auto* made) {
    return aoti_torch_cpu__efficientzerotensor(sizes, 2, nullptr, nullptr, nullptr, 0, nullptr,
                                               made);
  });
  CHECK(equal(nothing, *zeros({4, 5})));
  AtenTensorHandle refused = nullptr;
  AtenGeneratorHandle generator = reinterpret_cast<AtenGeneratorHandle>(&refused);
  CHECK(aoti_torch_cpu_rand_generator(sizes, 2, &generator, nullptr, nullptr, nullptr, 0, nullptr,
                                      &refused) != 0);
  int32_t elsewhere = 1;
  CHECK(aoti_torch_cpu_rand(sizes, 2, nullptr, nullptr, &elsewhere, 0, nullptr, &refused) != 0);
  CHECK(aoti_torch_cpu_rand(sizes, 2, nullptr, &elsewhere, nullptr, 0, nullptr, &refused) != 0);
}

}  // namespace aoti_kernels_random_test
