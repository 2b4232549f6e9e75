// SPDX-License-Identifier: MIT
// Each backend here is wrong in one place; the case that is there for it says so.
#include "tenon/testing/copy_cases.h"

#include "support/catch.h"
#include "testing/broken_backends.h"

namespace copy_cases_test {

using namespace tenon;
using namespace tenon::testing;
using tests::HonestBackend;

// A promise of docs/guarantees.md.
TEST_CASE("copy_cases: a backend that is wrong in one place is found") {
  struct MovesNothing final : HonestBackend {
    Error copy_within(void*, const void*, size_t) override { return Error::Ok; }
  };
  CHECK_FOUND("elements differ", MovesNothing, large_tensors_are_copied);

  struct IgnoresStrides final : HonestBackend {
    Error copy(const View& dst, const View& src, CastMode mode) override {
      return HonestBackend::copy(WithoutStrides(dst), src, mode);
    }
  };
  CHECK_FOUND("copy_ to a view, Byte {4, 6, 5}", IgnoresStrides, views_are_copied);
  CHECK_FOUND("elements differ", IgnoresStrides, any_strides_are_copied);

  struct TakesStridesForPositive final : HonestBackend {
    Error copy(const View& dst, const View& src, CastMode mode) override {
      tenon::ViewWithLists from;
      View view = src;
      TENON_TRY(tenon::detail::copy_lists(view, from));
      for (int64_t& stride : from.strides) stride = stride < 0 ? 0 : stride;
      return HonestBackend::copy(dst, from, mode);
    }
  };
  CHECK_FOUND("reversed", TakesStridesForPositive, views_are_copied);
  CHECK_FOUND("elements differ", TakesStridesForPositive, any_strides_are_copied);

  struct KnowsNoStrideOf0 final : HonestBackend {
    Error copy(const View& dst, const View& src, CastMode mode) override {
      const bool repeats = std::count(src.strides.begin(), src.strides.end(), 0) != 0;
      const WithoutStrides rows(dst);
      return HonestBackend::copy(dst, repeats ? rows : src, mode);
    }
  };
  CHECK_FOUND("elements differ", KnowsNoStrideOf0, any_strides_are_copied);

  struct IgnoresTheMode final : HonestBackend {
    Error copy(const View& dst, const View& src, CastMode) override {
      return HonestBackend::copy(dst, src, CastMode::Truncate);
    }
  };
  CHECK_FOUND("mode 2", IgnoresTheMode, types_are_converted);

  struct ConvertsNothing final : HonestBackend {
    Error copy(const View& dst, const View& src, CastMode mode) override {
      View from = src;
      if (elementSize(src.type) == elementSize(dst.type)) from.type = dst.type;
      return HonestBackend::copy(dst, from, mode);
    }
  };
  CHECK_FOUND("copy_ of Byte to Char, mode 2", ConvertsNothing, types_are_converted);
}

}  // namespace copy_cases_test
