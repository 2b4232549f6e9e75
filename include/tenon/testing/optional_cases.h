// SPDX-License-Identifier: MIT
// Conformance cases: the optional functions of a backend, called directly. Each does what it is for at
// any strides, or returns NotSupported and has changed nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tenon/backend/calls.h"
#include "tenon/config.h"
#include "tenon/exchange/binary.h"
#include "tenon/tensor/copy.h"
#include "tenon/tensor/creators.h"
#include "tenon/tensor/random.h"
#include "tenon/tensor/sequence.h"
#include "tenon/testing/trial.h"
#include "tenon/testing/twin.h"

TENON_BEGIN_NAMESPACE
namespace testing {

/// `ask(backend, out)` is the function, called on a view; `make(sizes)` gives what it is to write.
template <class Ask, class Make>
void check_optional(Trial& trial, const std::string& what, ScalarType type, const NamedView& view,
                    const Ask& ask, const Make& make) {
  const Twin base = random_twin(trial, base_sizes(), type);
  if (!base) return;
  const TensorView out = as_view(view.of(*base.there));
  if (numel_of(out) == 0) return;  // tenon does not ask then
  const std::string where =
      text_of({what.c_str(), " on ", describe(out).c_str(), " (", view.name, ')'});
  const Error error = detail::ask_unblamed([&] { return ask(trial.base(), out); });
  if (error == Error::NotSupported) {
    trial.check_same(where + " is NotSupported, after that", base.there, base.here);
    return;
  }
  if (!trial.check_ok(where, error)) return;
  const TensorPtr values = trial.check_made(what + ", on the host", make(out.sizes));
  if (values == nullptr || !trial.check_ok("copy_", copy_(view.of(*base.here), values))) return;
  trial.check_same(where, base.there, base.here);
}

inline constexpr ScalarType kTypesToMake[] = {
    ScalarType::Byte, ScalarType::Half, ScalarType::BFloat16,     ScalarType::Float,
    ScalarType::Int,  ScalarType::Long, ScalarType::ComplexDouble};

inline void constant_is_written(Trial& trial) {
  for (const NamedView& view : kViews) {
    for (ScalarType type : kTypesToMake) {
      alignas(16) unsigned char element[16] = {};
      trial.check_ok("store_scalar",
                     detail::store_scalar(detail::own_type(type), own::Scalar(6), element));
      check_optional(
          trial, "constant", type, view,
          [&](Backend& backend, const TensorView& out) { return backend.constant(out, element); },
          [&](const Dims& sizes) { return try_full(sizes, 6, type, host_backend()); });
    }
  }
}

inline void eye_is_written(Trial& trial) {
  constexpr NamedView kMatrixViews[] = {
      {"rows", [](const Tensor& t) { return select(t, 0, 2); }},
      {"rows apart", [](const Tensor& t) { return select(t, 1, 2); }},
      {"transposed", [](const Tensor& t) { return transpose(select(t, 0, 1), 0, 1); }},
      {"reversed with steps",
       [](const Tensor& t) {
         return reversed(slice(select(t, 2, 1), 1, 0, 6, 2), {0, 1});
       }},
  };
  for (const NamedView& view : kMatrixViews) {
    for (ScalarType type : kTypesToMake) {
      check_optional(
          trial, "eye", type, view,
          [](Backend& backend, const TensorView& out) { return backend.eye(out); },
          [&](const Dims& sizes) { return try_eye(sizes[0], sizes[1], type, host_backend()); });
    }
  }
}

inline void iota_is_written(Trial& trial) {
  for (const NamedView& view : kViews) {
    for (ScalarType type : kTypesToMake) {
      for (int64_t axis = -1; axis < 3; ++axis) {
        const OptionalIndex along = axis < 0 ? OptionalIndex(none) : OptionalIndex(axis);
        const Twin probe = random_twin(trial, base_sizes(), type);
        if (!probe) return;
        const auto rank = static_cast<int64_t>(as_view(view.of(*probe.here)).sizes.size());
        if (axis >= rank) continue;
        check_optional(
            trial, axis < 0 ? std::string("iota") : text_of({"iota along ", axis}), type, view,
            [&](Backend& backend, const TensorView& out) { return backend.iota(out, along); },
            [&](const Dims& sizes) { return try_iota(sizes, along, type, host_backend()); });
      }
    }
  }
}

inline void binary_is_written_and_read(Trial& trial) {
  for (const NamedView& view : kViews) {
    for (ScalarType type : kTypesToMake) {
      const auto make = [&](const Dims& sizes) {
        return try_randint(0, 99, sizes, type, Generator(3), host_backend());
      };
      check_optional(
          trial, "from_binary", type, view,
          [&](Backend& backend, const TensorView& out) {
            const std::vector<uint8_t> bytes = to_binary(make(out.sizes).value());
            return backend.from_binary(out, bytes.data(), bytes.size());
          },
          make);
      const Twin twin = random_twin(trial, base_sizes(), type);
      if (!twin) return;
      const TensorView in = as_view(view.of(*twin.there));
      for (int64_t count : {int64_t{1}, numel_of(in) / 2, numel_of(in)}) {
        if (count < 1 || count > numel_of(in)) continue;
        const std::vector<uint8_t> expected = to_binary(view.of(*twin.here), count);
        std::vector<uint8_t> found(expected.size());
        const Error error =
            detail::ask_unblamed([&] { return trial.base().to_binary(in, count, found.data()); });
        if (error == Error::NotSupported) break;
        const std::string what =
            text_of({"to_binary of ", count, " of ", describe(in).c_str(), " (", view.name, ')'});
        if (!trial.check_ok(what, error)) break;
        trial.check(found == expected, {what.c_str(), ": expected the bytes of the host's"});
      }
    }
  }
}

inline void random_numbers_are_written(Trial& trial) {
  for (const NamedView& view : kViews) {
    for (ScalarType type : kTypesToMake) {
      for (uint64_t offset : {uint64_t{0}, uint64_t{5}, (uint64_t{1} << 40) + 3}) {
        const Generator::State start{42, offset, Generator::kVersion};
        check_optional(
            trial, text_of({"random_uniform from offset ", offset}), type, view,
            [&](Backend& backend, const TensorView& out) {
              return backend.random_uniform(out, 1, 50, start);
            },
            [&](const Dims& sizes) {
              return try_uniform(1, 50, sizes, type, Generator(42, offset), host_backend());
            });
        check_optional(
            trial, text_of({"random_normal from offset ", offset}), type, view,
            [&](Backend& backend, const TensorView& out) {
              return backend.random_normal(out, 30, 4, start);
            },
            [&](const Dims& sizes) {
              return try_normal(30, 4, sizes, type, Generator(42, offset), host_backend());
            });
      }
    }
  }
}

}  // namespace testing
TENON_END_NAMESPACE
