// SPDX-License-Identifier: MIT
// Each backend here is wrong in one place; the case that is there for it says so.
#include "tenon/testing/copy_cases.h"

#include "support/catch.h"
#include "testing/broken_backends.h"

using namespace tenon;
using namespace tenon::testing;
using tests::HonestBackend;

TEST_CASE("copy_cases: a backend that is right passes") {
  CHECK_PASSES(HonestBackend, views_are_copied);
  CHECK_PASSES(HonestBackend, any_strides_are_copied);
  CHECK_PASSES(HonestBackend, types_are_converted);
}

TEST_CASE("copy_cases: found: a copy_within that moves nothing") {
  struct Broken final : HonestBackend {
    Error copy_within(void*, const void*, size_t) override { return Error::Ok; }
  };
  CHECK_FOUND("expected", Broken, large_tensors_are_copied);
}

TEST_CASE("copy_cases: found: a copy that ignores the destination's strides") {
  struct Broken final : HonestBackend {
    Error copy(const View& dst, const View& src, CastMode mode) override {
      return HonestBackend::copy(without_strides(dst), src, mode);
    }
  };
  CHECK_FOUND("copy_ to a view, Byte {4, 6, 5}", Broken, views_are_copied);
  CHECK_FOUND("expected", Broken, any_strides_are_copied);
}

TEST_CASE("copy_cases: found: a copy that takes strides for positive") {
  struct Broken final : HonestBackend {
    Error copy(const View& dst, const View& src, CastMode mode) override {
      View from = src;
      for (int64_t& stride : from.strides) stride = stride < 0 ? 0 : stride;
      return HonestBackend::copy(dst, from, mode);
    }
  };
  CHECK_FOUND("reversed", Broken, views_are_copied);
  CHECK_FOUND("expected", Broken, any_strides_are_copied);
}

TEST_CASE("copy_cases: found: a copy that knows no stride of 0") {
  struct Broken final : HonestBackend {
    Error copy(const View& dst, const View& src, CastMode mode) override {
      bool repeats = false;
      for (int64_t stride : src.strides) repeats = repeats || stride == 0;
      return HonestBackend::copy(dst, repeats ? without_strides(dst) : src, mode);
    }
  };
  CHECK_FOUND("elements differ", Broken, any_strides_are_copied);
}

TEST_CASE("copy_cases: found: a copy that ignores the mode") {
  struct Broken final : HonestBackend {
    Error copy(const View& dst, const View& src, CastMode) override {
      return HonestBackend::copy(dst, src, CastMode::Truncate);
    }
  };
  CHECK_FOUND("mode 2", Broken, types_are_converted);
}

TEST_CASE("copy_cases: found: a copy that does not convert") {
  struct Broken final : HonestBackend {
    Error copy(const View& dst, const View& src, CastMode mode) override {
      View from = src;
      if (elementSize(src.type) == elementSize(dst.type)) from.type = dst.type;
      return HonestBackend::copy(dst, from, mode);
    }
  };
  CHECK_FOUND("copy_ of Byte to Char, mode 2", Broken, types_are_converted);
}
