// SPDX-License-Identifier: MIT
// Conformance cases: random numbers in a backend's memory are the host's, bit for bit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "tenon/config.h"
#include "tenon/core/generator.h"
#include "tenon/tensor/random.h"
#include "tenon/testing/creator_cases.h"
#include "tenon/testing/trial.h"
#include "tenon/testing/twin.h"

TENON_BEGIN_NAMESPACE
namespace testing {

/// Positions from which a sequence goes on: within a block of Philox's, above 32 bits, at the end.
inline constexpr uint64_t kOffsets[] = {0, 1, 3, 1000, (uint64_t{1} << 33) + 2, UINT64_MAX - 5};

/// `make(backend, generator)` gives the same, and takes as many numbers from the generator.
template <class Make>
void check_random(Trial& trial, const std::string& what, const Generator& start, const Make& make) {
  Generator here = start;
  Generator there = start;
  check_creator(
      trial, text_of({what.c_str(), " from offset ", start.offset()}),
      [&](Backend& backend) { return make(backend, &backend == &trial.backend() ? there : here); });
  trial.check(here.offset() == there.offset(),
              {what.c_str(), ": expected the generator to go on to ", here.offset(), ", found ",
               there.offset()});
}

inline void uniform_is_the_hosts(Trial& trial) {
  for (ScalarType type : kAllTypes) {
    const std::string name = toString(type);
    for (uint64_t offset : kOffsets) {
      const Generator start(77 + offset, offset);
      check_random(trial, "rand " + name, start, [&](Backend& backend, Generator& generator) {
        return try_rand({3, 29}, type, generator, backend);
      });
      if (type == ScalarType::Bool) continue;
      check_random(trial, "uniform(2, 100) " + name, start,
                   [&](Backend& backend, Generator& generator) {
                     return try_uniform(2, 100, {41}, type, generator, backend);
                   });
    }
  }
  check_random(trial, "uniform(-1e30, 3)", Generator(5), [](Backend& backend, Generator& g) {
    return try_uniform(-1e30, 3, {64}, g, backend);
  });
  check_random(trial, "rand of 1001 Double", Generator(6), [](Backend& backend, Generator& g) {
    return try_rand({7, 143}, ScalarType::Double, g, backend);
  });
  check_random(trial, "rand of no elements", Generator(6), [](Backend& backend, Generator& g) {
    return try_rand({0, 3}, g, backend);
  });
  check_random(trial, "rand of one element", Generator(6, 5),
               [](Backend& backend, Generator& g) { return try_rand({}, g, backend); });
}

inline void normal_is_the_hosts(Trial& trial) {
  for (ScalarType type : kAllTypes) {
    const std::string name = toString(type);
    for (uint64_t offset : kOffsets) {
      const Generator start(1234567890123 + offset, offset);
      check_random(trial, "randn " + name, start, [&](Backend& backend, Generator& generator) {
        return try_randn({5, 13}, type, generator, backend);
      });
      check_random(trial, "normal(10, 2.5) " + name, start,
                   [&](Backend& backend, Generator& generator) {
                     return try_normal(10, 2.5, {41}, type, generator, backend);
                   });
    }
  }
  check_random(trial, "randn of 1001 Float", Generator(6), [](Backend& backend, Generator& g) {
    return try_randn({7, 143}, g, backend);
  });
}

inline void randint_is_the_hosts(Trial& trial) {
  for (ScalarType type : kAllTypes) {
    for (uint64_t offset : kOffsets) {
      const int64_t high = type == ScalarType::Bool ? 2 : 100;
      check_random(trial, std::string("randint ") + toString(type), Generator(9, offset),
                   [&](Backend& backend, Generator& generator) {
                     return try_randint(0, high, {2, 31}, type, generator, backend);
                   });
    }
  }
  check_random(trial, "randint of all Long", Generator(9, 2), [](Backend& backend, Generator& g) {
    return try_randint(INT64_MIN, INT64_MAX, {50}, ScalarType::Long, g, backend);
  });
}

inline void random_like_forms_follow(Trial& trial) {
  const Twin twin = random_twin(trial, {4, 6}, ScalarType::Float);
  if (!twin) return;
  const Tensor here = transpose(twin.here, 0, 1);
  const Tensor there = transpose(twin.there, 0, 1);
  check_creator_like(trial, "rand_like of a transposed tensor", here, there,
                     [](const TensorArg& source) { return try_rand_like(source, Generator(3)); });
  check_creator_like(trial, "randn_like", here, there, [](const TensorArg& source) {
    return try_randn_like(source, ScalarType::Double, Generator(4, 2));
  });
  check_creator_like(trial, "randint_like", here, there, [](const TensorArg& source) {
    return try_randint_like(source, -5, 50, ScalarType::Char, Generator(5));
  });
  check_creator(trial, "rand_strided", [](Backend& backend) {
    return try_rand_strided({3, 4}, {10, 2}, Generator(8, 1), backend);
  });
  check_creator(trial, "normal_strided", [](Backend& backend) {
    return try_normal_strided(1, 2, {3, 4}, {1, 3}, ScalarType::BFloat16, Generator(8, 1), backend);
  });
}

/// uniform_, normal_ and random_ fill views and leave what lies between alone.
inline void views_are_filled_randomly(Trial& trial) {
  for (const NamedView& view : kViews) {
    for (ScalarType type : {ScalarType::Float, ScalarType::Double, ScalarType::Half,
                            ScalarType::Int, ScalarType::Byte}) {
      const std::string where = text_of({' ', toString(type), ", ", view.name});
      const Twin twin = random_twin(trial, base_sizes(), type);
      check_both(trial, "uniform_" + where, twin, [&](const Tensor& base) {
        Generator generator(11, 7);
        return uniform_(view.of(base), 1, 90, generator);
      });
      check_both(trial, "normal_" + where, twin, [&](const Tensor& base) {
        Generator generator(12, 1);
        return normal_(view.of(base), 20, 5, generator);
      });
      check_both(trial, "random_" + where, twin, [&](const Tensor& base) {
        Generator generator(13, 2);
        return random_(view.of(base), 1, 100, generator);
      });
      check_both(trial, "random_ without bounds" + where, twin, [&](const Tensor& base) {
        Generator generator(14, 3);
        return random_(view.of(base), generator);
      });
    }
  }
}

}  // namespace testing
TENON_END_NAMESPACE
