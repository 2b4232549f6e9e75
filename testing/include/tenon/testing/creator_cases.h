// SPDX-License-Identifier: MIT
// Conformance cases: a backend makes the same tensors as the host, with equal bits of random
// numbers. Each of the backend's functions writes to any strides, or returns NotSupported and has
// changed nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tenon/backend/calls.h"
#include "tenon/exchange/binary.h"
#include "tenon/tensor/copy.h"
#include "tenon/tensor/creators.h"
#include "tenon/tensor/random.h"
#include "tenon/tensor/sequence.h"
#include "tenon/testing/trial.h"

TENON_BEGIN_NAMESPACE
namespace testing {

/// Checks that `make(backend)` returns equal tensors for the host's backend and for the backend
/// under test.
template <class Make>
void check_creator(Trial& trial, const std::string& what, const Make& make) {
  const TensorPtr here = trial.check_made(what + ", on the host", make(host_backend()));
  const TensorPtr there = trial.check_made(what, make(trial.backend()));
  if (here == nullptr || there == nullptr) return;
  trial.check(device(there) == trial.backend().device(), what.c_str(), ": expected a tensor on ",
              trial.backend().device(), ", found it on ", device(there));
  trial.check_same(what, there, here);
}

inline void full_has_the_value(Trial& trial) {
  for (ScalarType type : kAllTypes) {
    for (const Dims& sizes : {Dims{}, Dims{0, 3}, Dims{1}, Dims{67}, Dims{3, 1, 5, 2}}) {
      for (int64_t value = 0; value < (type == ScalarType::Bool ? 2 : 4); ++value) {
        check_creator(trial, text_of("full ", toString(type), ' ', sizes, ", ", value),
                      [&](Backend& backend) { return try_full(sizes, value, type, backend); });
      }
    }
  }
  check_creator(trial, "full of a complex value", [](Backend& backend) {
    return try_full({2, 3}, ScalarTypeToCppType<ScalarType::ComplexFloat>::type(1.5f, -2.0f),
                    ScalarType::ComplexFloat, backend);
  });
  check_creator(trial, "full of a negative value",
                [](Backend& backend) { return try_full({9}, -2.25, ScalarType::Half, backend); });
}

inline void eye_has_a_diagonal(Trial& trial) {
  constexpr int64_t kMatrices[][2] = {{1, 1}, {5, 5}, {3, 7}, {7, 3},
                                      {1, 4}, {4, 1}, {0, 3}, {3, 0}};
  for (const auto& sizes : kMatrices) {
    for (ScalarType type : kAllTypes) {
      check_creator(trial, text_of("eye(", sizes[0], ", ", sizes[1], ") ", toString(type)),
                    [&](Backend& backend) { return try_eye(sizes[0], sizes[1], type, backend); });
    }
  }
}

/// No axis, then each axis of `sizes`.
inline std::vector<OptionalIndex> axes_of(const Dims& sizes) {
  std::vector<OptionalIndex> axes{none};
  for (size_t d = 0; d < sizes.size(); ++d) axes.emplace_back(static_cast<int64_t>(d));
  return axes;
}

inline void iota_counts(Trial& trial) {
  const auto check = [&](const Dims& sizes, ScalarType type) {
    for (const OptionalIndex& axis : axes_of(sizes)) {
      check_creator(trial,
                    text_of("iota ", sizes, ' ', toString(type), " along ", axis.value_or(-1)),
                    [&](Backend& backend) { return try_iota(sizes, axis, type, backend); });
    }
  };
  for (ScalarType type : kAllTypes) {
    check(type == ScalarType::Bool ? Dims{2, 1} : Dims{3, 2, 2}, type);
  }
  for (const Dims& sizes : {Dims{}, Dims{0}, Dims{2, 0, 2}, Dims{1000}, Dims{1, 300, 1},
                            Dims{2, 1, 3, 1, 2, 1, 2, 2}}) {
    check(sizes, ScalarType::Long);
  }
}

/// Offsets at which a sequence may start: within a Philox block, above 2^32, near the end.
inline constexpr uint64_t kOffsets[] = {0, 1, 3, 1000, (uint64_t{1} << 33) + 2, UINT64_MAX - 5};

/// Checks `make(sizes, generator, type, backend)` for each type, each offset and several sizes.
template <class Make>
void check_random(Trial& trial, const char* what, const Make& make) {
  for (ScalarType type : kAllTypes) {
    for (uint64_t offset : kOffsets) {
      for (const Dims& sizes : {Dims{}, Dims{0, 3}, Dims{41}, Dims{7, 143}}) {
        if (offset != 0 && sizes.size() != 1) continue;
        check_creator(trial,
                      text_of(what, ' ', toString(type), ' ', sizes, " from offset ", offset),
                      [&](Backend& backend) {
                        return make(sizes, Generator(77 + offset, offset), type, backend);
                      });
      }
    }
  }
}

inline void uniform_is_the_hosts(Trial& trial) {
  check_random(trial, "rand",
               [](const Dims& sizes, Generator g, ScalarType type, Backend& backend) {
                 return try_rand(sizes, type, g, backend);
               });
  check_random(trial, "uniform(-1e4, 100)",
               [](const Dims& sizes, Generator g, ScalarType type, Backend& backend) {
                 const bool is_float = isFloatingType(type) && elementSize(type) >= 2;
                 return is_float ? try_uniform(-1e4, 100, sizes, type, g, backend)
                                 : try_uniform(0, 2, sizes, type, g, backend);
               });
}

inline void normal_is_the_hosts(Trial& trial) {
  check_random(trial, "normal(10, 2.5)",
               [](const Dims& sizes, Generator g, ScalarType type, Backend& backend) {
                 return try_normal(10, 2.5, sizes, type, g, backend);
               });
}

// Direct calls of the optional functions, on views.

/// Calls check(type, view, sizes) for some types and each view that has elements.
template <class Check>
void for_each_view(const Check& check) {
  const TensorPtr base = zeros(base_sizes(), host_backend());
  for (const NamedView& view : kViews) {
    const Dims sizes = as_view(view.of(*base)).sizes;
    if (numel_of(sizes) == 0) continue;  // tenon does not call a backend then
    for (ScalarType type :
         {ScalarType::Byte, ScalarType::Half, ScalarType::BFloat16, ScalarType::Float,
          ScalarType::Int, ScalarType::Long, ScalarType::ComplexDouble}) {
      check(type, view, sizes);
    }
  }
}

/// Checks an optional function: `call(backend, out)` calls it, `values` are the expected elements.
template <class Call>
void check_optional(Trial& trial, const std::string& what, const NamedView& view,
                    const TensorPtr& values, const Call& call) {
  const Twin base = random_twin(trial, base_sizes(), as_view(values).type);
  if (!base) return;
  const auto viewed = view.of(*base.there);
  const TensorView out = as_view(viewed);
  const std::string where = what + " on " + describe(out) + " (" + view.name + ")";
  const Error error = detail::call_backend(
      trial.base(), what.c_str(), [&] { return call(trial.base(), out); }, true);
  if (error == Error::NotSupported) {
    trial.check_same(where + " is NotSupported, after that", base.there, base.here);
  } else if (trial.check_ok(where, error) &&
             trial.check_ok("copy_", copy_(view.of(*base.here), values))) {
    trial.check_same(where, base.there, base.here);
  }
}

inline void constant_is_written(Trial& trial) {
  for_each_view([&](ScalarType type, const NamedView& view, const Dims& sizes) {
    const TensorPtr values = full(sizes, 6, type, host_backend());
    check_optional(trial, "constant", view, values, [&](Backend& backend, const TensorView& out) {
      return backend.constant(out, as_view(values).data);
    });
  });
}

inline void eye_is_written(Trial& trial) {
  for_each_view([&](ScalarType type, const NamedView& view, const Dims& sizes) {
    if (sizes.size() != 2) return;
    check_optional(trial, "eye", view, eye(sizes[0], sizes[1], type, host_backend()),
                   [](Backend& backend, const TensorView& out) { return backend.eye(out); });
  });
}

inline void iota_is_written(Trial& trial) {
  for_each_view([&](ScalarType type, const NamedView& view, const Dims& sizes) {
    for (const OptionalIndex& axis : axes_of(sizes)) {
      check_optional(
          trial, text_of("iota along ", axis.value_or(-1)), view,
          iota(sizes, axis, type, host_backend()),
          [&](Backend& backend, const TensorView& out) { return backend.iota(out, axis); });
    }
  });
}

inline void binary_is_written_and_read(Trial& trial) {
  for_each_view([&](ScalarType type, const NamedView& view, const Dims& sizes) {
    const TensorPtr values = randint(0, 99, sizes, type, Generator(3), host_backend());
    const std::vector<uint8_t> bytes = to_binary(values);
    check_optional(trial, "from_binary", view, values,
                   [&](Backend& backend, const TensorView& out) {
                     return backend.from_binary(out, bytes.data(), bytes.size());
                   });
    const Twin twin = random_twin(trial, base_sizes(), type);
    if (!twin) return;
    const auto viewed = view.of(*twin.there);
    const TensorView in = as_view(viewed);
    for (int64_t count : {int64_t{1}, (numel_of(sizes) + 1) / 2, numel_of(sizes)}) {
      const std::vector<uint8_t> expected = to_binary(view.of(*twin.here), count);
      std::vector<uint8_t> found(expected.size());
      const auto read = [&] { return trial.base().to_binary(in, count, found.data()); };
      const Error error = detail::call_backend(trial.base(), "to_binary", read, true);
      if (error == Error::NotSupported) return;
      const std::string what =
          text_of("to_binary of ", count, " of ", describe(in).c_str(), " (", view.name, ')');
      if (!trial.check_ok(what, error)) return;
      trial.check(found == expected, what.c_str(), ": expected the bytes of the host's");
    }
  });
}

inline void random_numbers_are_written(Trial& trial) {
  for_each_view([&](ScalarType type, const NamedView& view, const Dims& sizes) {
    for (uint64_t offset : {uint64_t{5}, (uint64_t{1} << 40) + 3}) {
      const Generator::State start{42, offset, Generator::kVersion};
      check_optional(trial, text_of("random_uniform from offset ", offset), view,
                     uniform(1, 50, sizes, type, Generator(42, offset), host_backend()),
                     [&](Backend& backend, const TensorView& out) {
                       return backend.random_uniform(out, 1, 50, start);
                     });
      check_optional(trial, text_of("random_normal from offset ", offset), view,
                     normal(30, 4, sizes, type, Generator(42, offset), host_backend()),
                     [&](Backend& backend, const TensorView& out) {
                       return backend.random_normal(out, 30, 4, start);
                     });
      check_optional(trial, text_of("random_integers from offset ", offset), view,
                     randint(3, 91, sizes, type, Generator(42, offset), host_backend()),
                     [&](Backend& backend, const TensorView& out) {
                       return backend.random_integers(out, 3, 90, start);
                     });
    }
  });
}

}  // namespace testing
TENON_END_NAMESPACE
