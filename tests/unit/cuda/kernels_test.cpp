// SPDX-License-Identifier: MIT
// The host form of CUDA's kernels, on the simulated runtime, against the host's library.
#include "cuda/kernel_checks.h"
#include "support/catch.h"
#include "tenon/backend/cuda_kernels.cuh"

const tenon::CudaKernels& device_kernels() { return tenon::cuda_kernels(); }

namespace kernels_test {

TEST_CASE("cuda_kernels: the host form writes what the host's library writes") {
  for (const tests::Check& check : tests::kChecks) {
    SECTION(check.name) {
      simulated_cuda::reset(1);
      tests::Checks checks;
      check.run(checks);
      for (const std::string& text : checks.failures) FAIL_CHECK(text);
      CHECK(simulated_cuda::live_allocations().empty());
      CHECK(simulated_cuda::violations().empty());
    }
  }
}

TEST_CASE("cuda_kernels: a unit of a copy divides its addresses, strides and run") {
  using namespace tenon;
  const auto unit = [](size_t dst, size_t src, size_t run, int64_t dst_step, int64_t src_step) {
    StridedCopy copy;
    copy.dst = reinterpret_cast<void*>(dst);
    copy.src = reinterpret_cast<void*>(src);
    copy.nbytes = run;
    copy.rank = 2;
    copy.dims[0] = {3, dst_step, src_step};
    copy.dims[1] = {5, 4096, 8192};
    return detail::widest_unit(detail::alignment_bits(copy, true));
  };
  CHECK(unit(1024, 2048, 32, 64, 128) == 16);
  CHECK(unit(1024 + 8, 2048, 32, 64, 128) == 8);
  CHECK(unit(1024, 2048 + 4, 32, 64, 128) == 4);
  CHECK(unit(1024, 2048, 34, 64, 128) == 2);
  CHECK(unit(1024, 2048, 32, 60, 128) == 4);
  CHECK(unit(1024, 2048, 32, 64, -129) == 1);
}

TEST_CASE("cuda_kernels: one launch for each call, and none without elements") {
  using namespace tenon;
  simulated_cuda::reset(1);
  tests::Checks checks;
  tests::OnDevice there(checks, tests::Bytes(4096));
  const CudaKernels& kernels = cuda_kernels();
  detail::RandomPlan plan;
  detail::plan_unit_floats(plan);
  constexpr float kOne = 1;
  for (int64_t rows : {0, 7}) {
    const ViewWithLists out{there.data(), ScalarType::Float, Device(), {rows, 5}, {5, 1}};
    const ViewWithLists in{there.data() + 2048, ScalarType::Float, Device(), {rows, 5}, {1, 7}};
    const StridedCopy copy = strided_copy(out, in);
    const auto launches = [&](cudaError_t error) {
      CHECK(error == cudaSuccess);
      CHECK(simulated_cuda::calls("cudaLaunchKernel") == (rows == 0 ? 0 : 1));
      CHECK(simulated_cuda::calls() == (rows == 0 ? 0 : 1));
      simulated_cuda::reset_calls();
    };
    simulated_cuda::reset_calls();
    launches(kernels.copy(copy, out.type, in.type, CastMode::Checked, nullptr));
    launches(kernels.copy(copy, out.type, ScalarType::Int, CastMode::Checked, nullptr));
    launches(kernels.fill(copy, &kOne, nullptr));
    launches(kernels.iota(out, none, nullptr));
    launches(kernels.eye(out, nullptr));
    launches(kernels.random(out, plan, {}, nullptr));
  }
}

TEST_CASE("Offsets: indices beyond 32 bits") {
  using tenon::detail::Offsets;
  tests::Noise noise;
  for (int64_t inner : {int64_t{3}, int64_t{1} << 16, (int64_t{1} << 31) - 1, int64_t{1} << 33}) {
    for (int64_t outer : {int64_t{2}, int64_t{1001}, (int64_t{1} << 28) + 1}) {
      Offsets<2> at;
      at.add(outer, {inner + 8, -1});
      at.add(1, {77, 77});
      at.add(inner, {1, 0});
      REQUIRE(at.rank == 2);
      REQUIRE(at.count == outer * inner);
      CHECK(at.is_short == (at.count <= INT32_MAX));
      for (int i = 0; i < 1000; ++i) {
        const auto number =
            static_cast<int64_t>(noise.next() % static_cast<uint64_t>(outer * inner));
        int64_t offsets[2];
        at.find(i == 0 ? outer * inner - 1 : number, offsets);
        const int64_t asked = i == 0 ? outer * inner - 1 : number;
        const int64_t row = asked / inner;
        REQUIRE(offsets[0] == row * (inner + 8) + asked % inner);
        REQUIRE(offsets[1] == -row);
      }
    }
  }
}

TEST_CASE("ShortDivisor: quotients of all kinds of numbers") {
  using tenon::detail::ShortDivisor;
  tests::Noise noise;
  std::vector<uint32_t> numbers = {1,        2, 3, 5, 7, 641, 65535, 65536, 65537, INT32_MAX - 1,
                                   INT32_MAX};
  for (int i = 0; i < 100; ++i) numbers.push_back(static_cast<uint32_t>(noise.next() >> 33) | 1u);
  for (uint32_t divisor : numbers) {
    const ShortDivisor by(divisor);
    for (uint32_t number : numbers) {
      for (uint32_t n : {number, number - 1, number / divisor * divisor}) {
        REQUIRE(by.quotient(n) == n / divisor);
      }
    }
    REQUIRE(by.quotient(0) == 0);
  }
}

TEST_CASE("Offsets: neighbours that lie like one are one") {
  using tenon::detail::Offsets;
  Offsets<1> at;
  at.add(3, {80});
  at.add(5, {16});
  at.add(4, {4});
  CHECK(at.rank == 1);
  CHECK(at.is_row(4));
  CHECK_FALSE(at.is_row(8));
  Offsets<1> padded;
  padded.add(3, {96});
  padded.add(5, {16});
  CHECK(padded.rank == 2);
}

}  // namespace kernels_test
