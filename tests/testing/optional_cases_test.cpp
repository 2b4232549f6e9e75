// SPDX-License-Identifier: MIT
// Each backend here is wrong in one place; the case that is there for it says so.
#include "tenon/testing/optional_cases.h"

#include <cstring>

#include "support/catch.h"
#include "testing/broken_backends.h"

using namespace tenon;
using namespace tenon::testing;
using tests::HonestBackend;

TEST_CASE("optional_cases: a backend that is right passes") {
  CHECK_PASSES(HonestBackend, constant_is_written);
  CHECK_PASSES(HonestBackend, eye_is_written);
  CHECK_PASSES(HonestBackend, iota_is_written);
  CHECK_PASSES(HonestBackend, binary_is_written_and_read);
  CHECK_PASSES(HonestBackend, random_numbers_are_written);
}

TEST_CASE("optional_cases: found: a fill that ignores strides") {
  struct Broken final : HonestBackend {
    Error constant(const View& out, const void* element) override {
      return HonestBackend::constant(without_strides(out), element);
    }
  };
  CHECK_FOUND("expected", Broken, constant_is_written);
}

TEST_CASE("optional_cases: found: an iota along the wrong axis") {
  struct Broken final : HonestBackend {
    Error iota(const View& out, OptionalIndex axis) override {
      const auto last = static_cast<int64_t>(out.sizes.size()) - 1;
      return HonestBackend::iota(out, axis.has_value() ? last - axis.value_or(0) : axis);
    }
  };
  CHECK_FOUND("expected", Broken, iota_is_written);
}

TEST_CASE("optional_cases: found: NotSupported after half of the work") {
  struct Broken final : HonestBackend {
    Error iota(const View& out, OptionalIndex axis) override {
      TENON_TRY(HonestBackend::iota(out, axis));
      return Error::NotSupported;
    }
  };
  CHECK_FOUND("is NotSupported, after that", Broken, iota_is_written);
}

TEST_CASE("optional_cases: found: from_binary that ignores strides") {
  struct Broken final : HonestBackend {
    Error from_binary(const View& out, const void* bytes, size_t nbytes) override {
      std::memcpy(out.data, bytes, nbytes);
      return Error::Ok;
    }
  };
  CHECK_FOUND("from_binary on ", Broken, binary_is_written_and_read);
}

TEST_CASE("optional_cases: found: to_binary in the order of memory") {
  struct Broken final : HonestBackend {
    Error to_binary(const View& in, int64_t count, void* bytes) override {
      return HonestBackend::to_binary(without_strides(in), count, bytes);
    }
  };
  CHECK_FOUND("expected", Broken, binary_is_written_and_read);
}
