// SPDX-License-Identifier: MIT
// Each backend here is wrong in one place; the case that is there for it says so.
#include "tenon/testing/creator_cases.h"

#include <stdexcept>

#include "support/catch.h"
#include "testing/broken_backends.h"

namespace creator_cases_test {

using namespace tenon;
using namespace tenon::testing;
using tests::HonestBackend;
using State = Generator::State;

TEST_CASE("creator_cases: a backend whose fill is wrong is found") {
  struct FillsFourBytes final : HonestBackend {
    Error constant(const View& out, const void* element) override {
      if (elementSize(out.type) < 4) return HonestBackend::constant(out, element);
      unsigned char word[16];
      for (size_t i = 0; i < 16; ++i) word[i] = static_cast<const unsigned char*>(element)[i % 4];
      return HonestBackend::constant(out, word);
    }
  };
  CHECK_FOUND("full Long", FillsFourBytes, full_has_the_value);

  struct IgnoresStrides final : HonestBackend {
    Error constant(const View& out, const void* element) override {
      return HonestBackend::constant(WithoutStrides(out), element);
    }
  };
  CHECK_FOUND("elements differ", IgnoresStrides, constant_is_written);
}

TEST_CASE("creator_cases: a backend whose eye is wrong is found") {
  struct Throws final : HonestBackend {
    Error eye(const View&) override { throw std::runtime_error("out of kernels"); }
  };
  CHECK_FOUND("out of kernels", Throws, eye_has_a_diagonal);

  struct HasShortRows final : HonestBackend {
    Error eye(const View& out) override {
      const int64_t n = std::min(out.sizes[0], out.sizes[1]);
      const tenon::ViewWithLists square{out.data, out.type, out.device, {n, n}, {n, 1}};
      const unsigned char zero[16] = {};
      TENON_TRY(HonestBackend::constant(out, zero));
      return HonestBackend::eye(square);
    }
  };
  CHECK_FOUND("eye(3, 7)", HasShortRows, eye_has_a_diagonal);

  struct WritesNoZeros final : HonestBackend {
    Error eye(const View& out) override {
      const tenon::ViewWithLists diagonal{out.data,
                                          out.type,
                                          out.device,
                                          {std::min(out.sizes[0], out.sizes[1])},
                                          {out.strides[0] + out.strides[1]}};
      return fill_(on_host(diagonal), 1);
    }
  };
  CHECK_FOUND("eye(5, 5)", WritesNoZeros, eye_has_a_diagonal);
}

TEST_CASE("creator_cases: a backend whose iota is wrong is found") {
  struct TakesAnotherAxis final : HonestBackend {
    Error iota(const View& out, OptionalIndex axis) override {
      const auto last = static_cast<int64_t>(out.sizes.size()) - 1;
      return HonestBackend::iota(out, axis.has_value() ? last - axis.value_or(0) : axis);
    }
  };
  CHECK_FOUND("along ", TakesAnotherAxis, iota_counts);
  CHECK_FOUND("elements differ", TakesAnotherAxis, iota_is_written);

  struct StartsOverInEachRow final : HonestBackend {
    Error iota(const View& out, OptionalIndex axis) override {
      const auto last = static_cast<int64_t>(out.sizes.size()) - 1;
      return HonestBackend::iota(out, axis.has_value() || last < 0 ? axis : OptionalIndex(last));
    }
  };
  CHECK_FOUND("iota {3, 2, 2} Byte along -1", StartsOverInEachRow, iota_counts);

  struct WorksBeforeItRefuses final : HonestBackend {
    Error iota(const View& out, OptionalIndex axis) override {
      TENON_TRY(HonestBackend::iota(out, axis));
      return Error::NotSupported;
    }
  };
  CHECK_FOUND("is NotSupported, after that", WorksBeforeItRefuses, iota_is_written);
}

TEST_CASE("creator_cases: a backend whose random numbers are wrong is found") {
  struct IgnoresTheOffset final : HonestBackend {
    Error random_uniform(const View& out, double min, double max, const State& start) override {
      return HonestBackend::random_uniform(out, min, max, {start.seed, 0, start.version});
    }
  };
  CHECK_FOUND("from offset 1:", IgnoresTheOffset, uniform_is_the_hosts);
  CHECK_FOUND("elements differ", IgnoresTheOffset, random_numbers_are_written);

  struct HasOffsetsOf32Bits final : HonestBackend {
    Error random_normal(const View& out, double mu, double sigma, const State& start) override {
      return HonestBackend::random_normal(out, mu, sigma,
                                          {start.seed, start.offset & 0xffffffffu, start.version});
    }
  };
  CHECK_FOUND("from offset 8589934594", HasOffsetsOf32Bits, normal_is_the_hosts);

  struct ExchangesItsArguments final : HonestBackend {
    Error random_normal(const View& out, double mu, double sigma, const State& start) override {
      return HonestBackend::random_normal(out, sigma, mu, start);
    }
  };
  CHECK_FOUND("normal(10, 2.5)", ExchangesItsArguments, normal_is_the_hosts);

  struct IgnoresStrides final : HonestBackend {
    Error random_uniform(const View& out, double min, double max, const State& start) override {
      return HonestBackend::random_uniform(WithoutStrides(out), min, max, start);
    }
  };
  CHECK_FOUND("elements differ", IgnoresStrides, random_numbers_are_written);
}

TEST_CASE("creator_cases: a backend whose binary form is wrong is found") {
  struct WritesAtNoStrides final : HonestBackend {
    Error from_binary(const View& out, const void* bytes, size_t nbytes) override {
      std::memcpy(out.data, bytes, nbytes);
      return Error::Ok;
    }
  };
  CHECK_FOUND("from_binary on ", WritesAtNoStrides, binary_is_written_and_read);

  struct ReadsAtNoStrides final : HonestBackend {
    Error to_binary(const View& in, int64_t count, void* bytes) override {
      return HonestBackend::to_binary(WithoutStrides(in), count, bytes);
    }
  };
  CHECK_FOUND("expected the bytes of the host's", ReadsAtNoStrides, binary_is_written_and_read);
}

}  // namespace creator_cases_test
