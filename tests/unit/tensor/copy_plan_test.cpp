// SPDX-License-Identifier: MIT
#include "tenon/tensor/copy_plan.h"

#include <functional>
#include <memory>
#include <thread>

#include "backend/helpers.h"
#include "kernels/helpers.h"
#include "support/catch.h"
#include "tenon/tensor/creators.h"
#include "tenon/tensor/tensor_ptr.h"
#include "tenon/tensor/tensor_ptr_maker.h"
#include "tenon/tensor/view.h"
#include "tensor/copy_model.h"
#include "tensor/helpers.h"

namespace copy_plan_test {

using namespace tenon;
using namespace tests;
using namespace tests::copy_model;

namespace {

std::string plan_text(const Tensor& dst, const Tensor& src) {
  return to_string(plan_copy(dst, src));
}

}  // namespace

TEST_CASE("plan_copy: its text") {
  const Tensor dst = *zeros({32, 64});
  const Tensor square = *zeros({4, 4}, ScalarType::Int);
  const Tensor bytes = slice(view_as_type(square, ScalarType::Byte), 1, 0, 4);
  const struct {
    Tensor dst, src;
    const char* expected;
  } cases[] = {
      {dst, *ones({32, 64}), "memcpy {2048} of 4 bytes, Float, 8192 bytes in all"},
      {dst, slice(zeros({32, 70}), 1, 3, 67), "rows {32, 64} of 4 bytes, Float, 8192 bytes in all"},
      {dst, transpose(zeros({64, 32}), 0, 1),
       "transpose {32, 64} of 4 bytes, Float, 8192 bytes in all"},
      {dst, slice(ones({32, 130}), 1, 0, 128, 2),
       "general {32, 64} of 4 bytes, Float, 8192 bytes in all"},
      {dst, *zeros({32, 64}, ScalarType::Half),
       "cast {2048} of 4 bytes, Half to Float, 8192 bytes in all"},
      {dst, dst, "alias {2048} of 4 bytes, Float, 8192 bytes in all"},
      {square, transpose(square, 0, 1),
       "staged {4, 4} of 4 bytes, Int, 64 bytes in all, by way of a temporary of 64"},
      // A broadcast source is staged as it is, and in its own type.
      {square, tenon::select(square, 0, 1),
       "staged {4} of 16 bytes, Int, 64 bytes in all, by way of a temporary of 16"},
      {square, bytes,
       "staged {4, 4} of 4 bytes, Byte to Int, 64 bytes in all, by way of a temporary of 16"},
  };
  for (const auto& c : cases) CHECK(plan_text(c.dst, c.src) == c.expected);
  ATEN_LACKS(CHECK(plan_text(dst, flip(ones({32, 64}), {1})) ==
                   "general {32, 64} of 4 bytes, Float, 8192 bytes in all");)
}

namespace {

// A scene's two windows over one memory, or over one memory each.
struct Place {
  Place(const Scene& scene, bool apart, size_t shift)
      : memory(shift + scene.memory.size()),
        other(apart ? memory.size() : 0),
        dst(window(scene.dst, memory, shift)),
        src(window(scene.src, apart ? other : memory, shift)) {
    restore(scene);
  }
  static Tensor window(const Window& w, Bytes& bytes, size_t shift) {
    return tenon::for_blob(bytes.data() + static_cast<int64_t>(shift) + w.first, w.sizes, w.type)
        .strides(w.strides)
        .make_tensor();
  }
  void restore(const Scene& scene) {
    for (Bytes* bytes : {&memory, &other}) {
      if (bytes->empty()) continue;
      std::copy(scene.memory.begin(), scene.memory.end(),
                bytes->end() - static_cast<ptrdiff_t>(scene.memory.size()));
    }
  }

  Bytes memory;
  Bytes other;
  Tensor dst;
  Tensor src;
};

// Plans made in one place give in every other what copy_ gives there.
void check_places(Reversed reversed) {
  int planned = 0;
  int normalized = 0;
  int overlapping = 0;
  constexpr int kSeeds = kThorough ? 6000 : 2000;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    Scene scene = Scenes(seed, reversed).make(Variety::Any);
    const bool can_normalize =
        (isFloatingType(scene.dst.type) ||
         (isIntegralType(scene.dst.type, false) && scene.mode == CastMode::Saturate)) &&
        !isComplexType(scene.src.type) && !scene.dst.sizes.empty();
    const bool normalizes = can_normalize && seed % 2 == 0;
    const CopyPolicy policy =
        seed % 3 == 0 && !normalizes ? CopyPolicy::NoTemporary : CopyPolicy::AllowTemporary;
    Normalize normalize{0.5f, {}, {}, 0};
    if (normalizes) {
      const auto dim = static_cast<size_t>(seed / 2 % scene.dst.sizes.size());
      normalize.dim = static_cast<int64_t>(dim);
      Floats means;
      for (int64_t c = 0; c < scene.dst.sizes[dim]; ++c) means.push_back(static_cast<float>(c) - 7);
      if (seed % 8 < 4) normalize.mean = means;
      normalize.stddev = {3};
    }
    const size_t shift = 16;
    std::unique_ptr<Place> places[] = {
        std::make_unique<Place>(scene, false, 0), std::make_unique<Place>(scene, true, 0),
        std::make_unique<Place>(scene, true, shift), std::make_unique<Place>(scene, false, shift)};
    for (const auto& from : places) {
      Result<CopyPlan> plan = normalizes
                                  ? try_plan_copy(from->dst, from->src, normalize, scene.mode)
                                  : try_plan_copy(from->dst, from->src, scene.mode, policy);
      if (!plan.ok()) {
        REQUIRE(plan.error() == Error::NotSupported);
        REQUIRE(from->other.empty());
        continue;
      }
      ++planned;
      normalized += normalizes;
      const CopyPlan kept = *plan;
      for (const auto& to : places) {
        const auto result_of = [&](const std::function<Error()>& copy) {
          to->restore(scene);
          const Error error = copy();
          return std::make_pair(error, to->memory);
        };
        const auto expected = result_of([&] {
          return normalizes ? copy_(to->dst, to->src, normalize, scene.mode)
                            : copy_(to->dst, to->src, scene.mode, policy);
        });
        const auto made = result_of([&] { return kept.run(to->dst, to->src); });
        const auto again = result_of([&] { return plan->run(to->dst, to->src); });
        overlapping += to->other.empty() && scene.meet();
        if (made == expected && again == expected) continue;
        FAIL("seed " << seed << ": " << to_string(kept) << ", " << toString(scene.mode)
                     << (normalizes ? ", normalized" : "") << ": " << toString(made.first)
                     << ", not " << toString(expected.first));
      }
    }
  }
  CHECK(planned > kSeeds * 5 / 2);
  CHECK(normalized > kSeeds / 2);
  CHECK(overlapping > kSeeds * 5 / 3);
}

Tensor ints(const Vector& sizes) { return *zeros(sizes, ScalarType::Int); }

}  // namespace

// A promise of docs/guarantees.md.
TEST_CASE("CopyPlan::run: on other memory, and memory that overlaps, it gives what copy_ gives") {
  check_places(tenon::detail::kHasOwnTensors ? Reversed::Any : Reversed::None);
}

// A promise of docs/guarantees.md.
TEST_CASE("CopyPlan::run: another dtype, sizes or strides are refused and named") {
  const Tensor dst = ints({2, 3});
  const Tensor src = transpose(ints({3, 2}), 0, 1);
  const CopyPlan plan = plan_copy(dst, src);
  RETURNS(InvalidArgument,
          "CopyPlan::run: the destination has dtype Float, the plan is for Int: make another with "
          "plan_copy()",
          plan.run(*zeros({2, 3}), src));
  RETURNS(InvalidArgument, "the source has dtype Short, the plan is for Int",
          plan.run(dst, *zeros({2, 3}, ScalarType::Short)));
  RETURNS(InvalidArgument, "the destination has sizes {3, 2}, the plan is for {2, 3}",
          plan.run(ints({3, 2}), src));
  RETURNS(InvalidArgument, "the source has sizes {3}, the plan is for {2, 3}",
          plan.run(dst, ints({3})));
  RETURNS(InvalidArgument, "the destination has strides {1, 2}, the plan is for {3, 1}",
          plan.run(src, src));
  RETURNS(InvalidArgument, "the source has strides {3, 1}, the plan is for {1, 2}",
          plan.run(dst, dst));
  CHECK(values<int32_t>(dst) == Ints(6));
  // A plan that plan_copy() did not make is for nothing.
  const char* const empty =
      "CopyPlan::run: the plan is empty: it was moved from, or not made by plan_copy()";
  RETURNS(InvalidArgument, empty, CopyPlan().run(dst, src));
  CopyPlan first = plan;
  CopyPlan second = std::move(first);
  RETURNS(InvalidArgument, empty, first.run(dst, src));
  CHECK(to_string(first) == std::string(empty).substr(15));
  CHECK(second.run(dst, src) == Error::Ok);
  first = std::move(second);
  RETURNS(InvalidArgument, empty, second.run(dst, src));
  CHECK(first.run(dst, src) == Error::Ok);
}

// A promise of docs/guarantees.md.
TEST_CASE("CopyPlan::run: refuses what copy_ refuses") {
  const Tensor dst = ints({2, 2});
  const Tensor src = make_tensor({2, 2}, Ints{1, 2, 3, 4});
  const CopyPlan plan = plan_copy(dst, transpose(src, 0, 1));
  const Tensor turned = transpose(src, 0, 1);
  RETURNS(InvalidState, "CopyPlan::run: the destination is undefined", plan.run(Tensor(), turned));
  RETURNS(InvalidState, "CopyPlan::run: the source is undefined", plan.run(dst, TensorPtr()));
  RETURNS(InvalidState, "the destination is a placeholder without data",
          plan.run(make_tensor({2, 2}, nullptr, ScalarType::Int), turned));
  RETURNS(NotSupported, "is on cuda:0, which the host cannot reach",
          plan.run(for_blob(reinterpret_cast<void*>(uintptr_t{4096}), {2, 2}, ScalarType::Int)
                       .device("cuda:0")
                       .make_tensor(),
                   turned));
  const Tensor gone = ints({2, 2});
  CHECK(backend_deallocate(gone) == Deallocation::Ok);
  RETURNS(InvalidState, "the destination, of sizes {2, 2}, was deallocated",
          plan.run(gone, turned));
  CHECK(values<int32_t>(dst) == Ints(4));
  CHECK(plan.run(dst, turned) == Error::Ok);
  CHECK(values<int32_t>(dst) == Ints{1, 3, 2, 4});
  RAISES(NotSupported, "plan_copy: the tensors overlap, so the copy needs a temporary of 16 bytes",
         plan_copy(src, turned, CopyPolicy::NoTemporary));
  const CopyPlan apart = plan_copy(dst, turned, CopyPolicy::NoTemporary);
  RETURNS(NotSupported,
          "CopyPlan::run: the tensors overlap, so the copy needs a temporary of 16 bytes",
          apart.run(src, turned));
  CHECK(values<int32_t>(src) == Ints{1, 2, 3, 4});
}

// A promise of docs/guarantees.md.
TEST_CASE("CopyPlan::run: a read-only destination is refused", "[readonly]") {
  const int32_t data[4] = {1, 2, 3, 4};
  const Tensor src = ints({2, 2});
  for (const Tensor& from : {src, transpose(src, 0, 1)}) {
    RETURNS(InvalidState, "CopyPlan::run: the destination is read-only",
            plan_copy(ints({2, 2}), from).run(from_blob(read_only(data), {2, 2}), from));
  }
  CHECK(Ints(data, data + 4) == Ints{1, 2, 3, 4});
}

TEST_CASE("CopyPlan::run: with a Normalize, whose lists the plan owns") {
  const TensorPtr pixels =
      make_tensor_ptr({2, 6}, {10, 12, 20, 24, 30, 36, 40, 48, 50, 60, 60, 72}, ScalarType::Byte);
  const TensorPtr planes = zeros({6, 2});
  auto normalize = std::make_unique<Normalize>();
  normalize->mean = {10, 12, 20, 24, 30, 36};
  normalize->stddev = {2};
  const CopyPlan plan = plan_copy(planes, transpose(pixels, 0, 1), *normalize);
  CHECK(plan.kind == CopyKind::Cast);
  CHECK(plan.nbytes == 48);
  normalize.reset();
  CHECK(plan.run(planes, transpose(pixels, 0, 1)) == Error::Ok);
  CHECK(values<float>(planes) == Floats{0, 15, 0, 18, 0, 15, 0, 18, 0, 15, 0, 18});
  RAISES(InvalidArgument, "plan_copy: stddev[1] is 0",
         plan_copy(planes, transpose(pixels, 0, 1), Normalize{1, {}, {1, 0, 1, 1, 1, 1}, 0}));
  const Tensor shared = *make_tensor_ptr({2, 2}, {1.0f, 2.0f, 3.0f, 4.0f});
  CHECK(to_string(plan_copy(shared, transpose(shared, 0, 1), Normalize())) ==
        "staged {2, 2} of 4 bytes, Float, 16 bytes in all, by way of a temporary of 16");
}

TEST_CASE("CopyPlan::run: a backend's code may drop the plan") {
  MinimalBackend backend;
  const Tensor there = *ones({6, 2}, ScalarType::Byte, backend);
  const TensorPtr here = zeros({6, 2});
  const Floats list{1, 2, 3, 4, 5, 6};
  auto plan = std::make_unique<CopyPlan>(plan_copy(here, there, Normalize{1, list, list, 0}));
  backend.use = [&] { plan.reset(); };  // when the source is read
  CHECK(plan->run(here, there) == Error::Ok);
  CHECK(plan == nullptr);
  CHECK(values<float>(here)[0] == 0);
  CHECK(values<float>(here)[2] == -0.5f);
}

// A promise of docs/threads.md.
TEST_CASE("CopyPlan::run: several threads run one plan", "[threads][CopyPlan]") {
  const CopyPlan plan =
      plan_copy(ints({64, 3}), transpose(*zeros({3, 64}, ScalarType::Byte), 0, 1));
  bool right[4] = {};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      const Tensor dst = ints({64, 3});
      const Tensor src = transpose(*full({3, 64}, i + 1, ScalarType::Byte), 0, 1);
      bool all = true;
      for (int k = 0; k < 200; ++k) {
        all = all && fill_(dst, 0) == Error::Ok && plan.run(dst, src) == Error::Ok &&
              values<int32_t>(dst) == Ints(192, i + 1);
      }
      right[i] = all;
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const bool is_right : right) CHECK(is_right);
}

}  // namespace copy_plan_test
