// SPDX-License-Identifier: MIT
// Each backend here is wrong in one place; the case that is there for it says so.
#include "tenon/testing/creator_cases.h"

#include <cstring>
#include <stdexcept>

#include "support/catch.h"
#include "testing/broken_backends.h"

using namespace tenon;
using namespace tenon::testing;
using tests::HonestBackend;

TEST_CASE("creator_cases: a backend that is right passes") {
  CHECK_PASSES(HonestBackend, full_has_the_value);
  CHECK_PASSES(HonestBackend, eye_has_a_diagonal);
  CHECK_PASSES(HonestBackend, iota_counts);
  CHECK_PASSES(HonestBackend, uniform_is_the_hosts);
  CHECK_PASSES(HonestBackend, normal_is_the_hosts);
  CHECK_PASSES(HonestBackend, constant_is_written);
  CHECK_PASSES(HonestBackend, eye_is_written);
  CHECK_PASSES(HonestBackend, iota_is_written);
  CHECK_PASSES(HonestBackend, binary_is_written_and_read);
  CHECK_PASSES(HonestBackend, random_numbers_are_written);
}

TEST_CASE("creator_cases: found: a function that throws") {
  struct Broken final : HonestBackend {
    Error eye(const View&) override { throw std::runtime_error("out of kernels"); }
  };
  CHECK_FOUND("out of kernels", Broken, eye_has_a_diagonal);
}

TEST_CASE("creator_cases: found: a fill of four bytes, whatever the type") {
  struct Broken final : HonestBackend {
    Error constant(const View& out, const void* element) override {
      if (elementSize(out.type) < 4) return HonestBackend::constant(out, element);
      unsigned char word[16];
      for (size_t i = 0; i < 16; ++i) word[i] = static_cast<const unsigned char*>(element)[i % 4];
      return HonestBackend::constant(out, word);
    }
  };
  CHECK_FOUND("full Long", Broken, full_has_the_value);
}

TEST_CASE("creator_cases: found: an eye of rows that are as long as the matrix is high") {
  struct Broken final : HonestBackend {
    Error eye(const View& out) override {
      View square = without_strides(out);
      const int64_t n = out.sizes[0] < out.sizes[1] ? out.sizes[0] : out.sizes[1];
      square.sizes = {n, n};
      square.strides = {n, 1};
      const unsigned char zero[16] = {};
      TENON_TRY(HonestBackend::constant(out, zero));
      return HonestBackend::eye(square);
    }
  };
  CHECK_FOUND("eye(3, 7)", Broken, eye_has_a_diagonal);
}

TEST_CASE("creator_cases: found: an eye without its zeros") {
  struct Broken final : HonestBackend {
    Error eye(const View& out) override {
      View diagonal = out;
      diagonal.sizes = {out.sizes[0] < out.sizes[1] ? out.sizes[0] : out.sizes[1]};
      diagonal.strides = {out.strides[0] + out.strides[1]};
      return fill_(on_host(diagonal), 1);
    }
  };
  CHECK_FOUND("eye(5, 5)", Broken, eye_has_a_diagonal);
}

TEST_CASE("creator_cases: found: an iota along the wrong axis") {
  struct Broken final : HonestBackend {
    Error iota(const View& out, OptionalIndex axis) override {
      const auto last = static_cast<int64_t>(out.sizes.size()) - 1;
      return HonestBackend::iota(out, axis.has_value() ? last - axis.value_or(0) : axis);
    }
  };
  CHECK_FOUND("along ", Broken, iota_counts);
}

TEST_CASE("creator_cases: found: an iota that starts over in each row") {
  struct Broken final : HonestBackend {
    Error iota(const View& out, OptionalIndex axis) override {
      const auto last = static_cast<int64_t>(out.sizes.size()) - 1;
      return HonestBackend::iota(out, axis.has_value() || last < 0 ? axis : OptionalIndex(last));
    }
  };
  CHECK_FOUND("iota {3, 2, 2} Byte along -1", Broken, iota_counts);
}

TEST_CASE("creator_cases: found: random numbers from the beginning, whatever the offset") {
  struct Broken final : HonestBackend {
    Error random_uniform(const View& out, double min, double max,
                         const Generator::State& start) override {
      return HonestBackend::random_uniform(out, min, max, {start.seed, 0, start.version});
    }
  };
  CHECK_FOUND("from offset 1:", Broken, uniform_is_the_hosts);
  CHECK_FOUND("expected", Broken, random_numbers_are_written);
}

TEST_CASE("creator_cases: found: an offset of 32 bits") {
  struct Broken final : HonestBackend {
    Error random_normal(const View& out, double mu, double sigma,
                        const Generator::State& start) override {
      return HonestBackend::random_normal(out, mu, sigma,
                                          {start.seed, start.offset & 0xffffffffu, start.version});
    }
  };
  CHECK_FOUND("from offset 8589934594", Broken, normal_is_the_hosts);
}

TEST_CASE("creator_cases: found: a mean and a deviation exchanged") {
  struct Broken final : HonestBackend {
    Error random_normal(const View& out, double mu, double sigma,
                        const Generator::State& start) override {
      return HonestBackend::random_normal(out, sigma, mu, start);
    }
  };
  CHECK_FOUND("normal(10, 2.5)", Broken, normal_is_the_hosts);
}

TEST_CASE("creator_cases: found: random numbers in the order of memory") {
  struct Broken final : HonestBackend {
    Error random_uniform(const View& out, double min, double max,
                         const Generator::State& start) override {
      return HonestBackend::random_uniform(without_strides(out), min, max, start);
    }
  };
  CHECK_FOUND("elements differ", Broken, random_numbers_are_written);
}

TEST_CASE("creator_cases: found: a fill that ignores strides") {
  struct Broken final : HonestBackend {
    Error constant(const View& out, const void* element) override {
      return HonestBackend::constant(without_strides(out), element);
    }
  };
  CHECK_FOUND("expected", Broken, constant_is_written);
}

TEST_CASE("creator_cases: found: an iota along the wrong axis, in views") {
  struct Broken final : HonestBackend {
    Error iota(const View& out, OptionalIndex axis) override {
      const auto last = static_cast<int64_t>(out.sizes.size()) - 1;
      return HonestBackend::iota(out, axis.has_value() ? last - axis.value_or(0) : axis);
    }
  };
  CHECK_FOUND("expected", Broken, iota_is_written);
}

TEST_CASE("creator_cases: found: NotSupported after half of the work") {
  struct Broken final : HonestBackend {
    Error iota(const View& out, OptionalIndex axis) override {
      TENON_TRY(HonestBackend::iota(out, axis));
      return Error::NotSupported;
    }
  };
  CHECK_FOUND("is NotSupported, after that", Broken, iota_is_written);
}

TEST_CASE("creator_cases: found: from_binary that ignores strides") {
  struct Broken final : HonestBackend {
    Error from_binary(const View& out, const void* bytes, size_t nbytes) override {
      std::memcpy(out.data, bytes, nbytes);
      return Error::Ok;
    }
  };
  CHECK_FOUND("from_binary on ", Broken, binary_is_written_and_read);
}

TEST_CASE("creator_cases: found: to_binary in the order of memory") {
  struct Broken final : HonestBackend {
    Error to_binary(const View& in, int64_t count, void* bytes) override {
      return HonestBackend::to_binary(without_strides(in), count, bytes);
    }
  };
  CHECK_FOUND("expected", Broken, binary_is_written_and_read);
}
