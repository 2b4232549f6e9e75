// SPDX-License-Identifier: MIT
// Conformance cases: copies to a backend, from it and within it, at any strides and between types.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "tenon/tensor/clone.h"
#include "tenon/tensor/copy.h"
#include "tenon/tensor/creators.h"
#include "tenon/tensor/tensor_ptr.h"
#include "tenon/testing/trial.h"

TENON_BEGIN_NAMESPACE
namespace testing {

/// One side of a copy: a tensor, and the part of it that is copied.
template <class View>
struct Side {
  const Twin& twin;
  View view;
};
template <class View>
Side(const Twin&, View) -> Side<View>;

inline constexpr auto kAll = [](const Tensor& t) { return t; };

/// Copies to the backend, from it and within it. Checks that each copy leaves the same elements in
/// the whole destination as a copy on the host. Overwrites the destination.
template <class To, class From>
bool check_copy(Trial& trial, const std::string& what, const Side<To>& dst, const Side<From>& src,
                CastMode mode = CastMode::Checked, Nans nans = Nans::SameBits) {
  if (!dst.twin || !src.twin) return false;
  const TensorPtr expected =
      trial.check_made("clone_tensor_ptr", try_clone_tensor_ptr(dst.twin.here));
  if (expected == nullptr) return false;
  const auto copy = [&](const TensorPtr& to, const TensorPtr& from) {
    return copy_(dst.view(*to), src.view(*from), mode);
  };
  if (!trial.check_ok(what + ", on the host", copy(expected, src.twin.here))) return false;
  for (const char* way : {", within the backend", ", from the host", ", to the host"}) {
    const bool to_there = std::strcmp(way, ", to the host") != 0;
    const bool from_there = std::strcmp(way, ", from the host") != 0;
    const TensorPtr to = trial.check_made(
        "clone_tensor_ptr", try_clone_tensor_ptr(to_there ? dst.twin.there : dst.twin.here));
    if (to == nullptr ||
        !trial.check_ok(what + way, copy(to, from_there ? src.twin.there : src.twin.here)) ||
        !trial.check_same(what + way, to, expected, nans)) {
      return false;
    }
  }
  return true;
}

inline Dims sizes_of(const Tensor& t) { return as_view(t).sizes; }

inline void views_are_copied(Trial& trial) {
  for (const NamedView& view : kViews) {
    for (ScalarType type : kTypeOfEachSize) {
      const std::string what = text_of(toString(type), ' ', base_sizes(), ", ", view.name);
      const Twin base = random_twin(trial, base_sizes(), type, 1);
      if (!base) return;
      const Twin rows = random_twin(trial, sizes_of(view.of(*base.here)), type, 2);
      check_copy(trial, "copy_ to a view, " + what, Side{base, view.of}, Side{rows, kAll});
      check_copy(trial, "copy_ of a view, " + what, Side{rows, kAll}, Side{base, view.of});
      check_copy(trial, "copy_ of a view to another of the same shape, " + what,
                 Side{random_twin(trial, base_sizes(), type, 3), view.of}, Side{base, view.of});
    }
  }
}

/// Copies between views with random strides; some copies convert.
inline void any_strides_are_copied(Trial& trial) {
  Dice dice{trial.traits().seed};
  for (int i = 0; i < trial.traits().rounds * 4; ++i) {
    Dims sizes;
    for (int64_t d = dice.between(0, 8); d > 0; --d) {
      sizes.push_back(dice.between(0, 30) == 0 ? 0 : dice.between(1, d > 4 ? 2 : 5));
    }
    const RandomView to(dice, sizes, false);
    const RandomView from(dice, sizes, true);
    // A case must not need more memory than BackendTraits allow.
    if (to.extent > 16384 || from.extent > 16384) continue;
    const ScalarType type = kTypeOfEachSize[dice.between(0, 4)];
    const bool converts = dice.between(0, 3) == 0;
    const ScalarType other = converts ? ScalarType::Double : type;
    const std::string what = text_of("copy_ number ", i, " of seed ", trial.traits().seed, ", ",
                                     toString(other), " to ", toString(type), ' ', sizes);
    check_copy(trial, what,
               Side{random_twin(trial, to.base_sizes(), type, 1),
                    [&](const Tensor& t) { return to.of(t); }},
               Side{random_twin(trial, from.base_sizes(), other, 2),
                    [&](const Tensor& t) { return from.of(t); }},
               CastMode::Saturate);
  }
}

/// Values at the limits of types, values halfway between two integers, and values that integers
/// cannot have.
TENON_TEMPLATE_INLINE TensorPtr values_to_convert(ScalarType type) {
  const double huge = 1e300;
  const TensorPtr values = make_tensor_ptr(
      {0.0,    -0.0,    1.0,     -1.0,         0.5,           1.5,
       2.5,    -2.5,    0.499,   100.0,        127.0,         127.5,
       128.0,  -128.5,  -129.0,  255.0,        255.5,         256.0,
       300.0,  32767.5, 65504.0, 65520.0,      -65536.0,      448.0,
       464.0,  57344.0, 61440.0, 2147483647.0, -2147483649.0, 4294967296.0,
       9.3e18, -9.3e18, 1.9e19,  1e-8,         1e-40,         3.4028235e38,
       3.5e38, huge,    -huge,   huge * huge,  -huge * huge,  huge * huge - huge * huge},
      host_backend());
  return clone_tensor_ptr(to(values, type, CastMode::Truncate));
}

inline void types_are_converted(Trial& trial) {
  for (ScalarType from : kAllTypes) {
    const Twin source = twin_of(trial, values_to_convert(from));
    if (!source) return;
    for (ScalarType to : kAllTypes) {
      const Twin target = random_twin(trial, sizes_of(*source.here), to);
      for (CastMode mode : {CastMode::Checked, CastMode::Truncate, CastMode::Saturate}) {
        if (mode == CastMode::Checked && !canCast(from, to)) continue;
        const std::string what = text_of("copy_ of ", toString(from), " to ", toString(to),
                                         ", mode ", static_cast<int>(mode));
        if (!check_copy(trial, what, Side{target, kAll}, Side{source, kAll}, mode, Nans::Any))
          break;
      }
    }
  }
}

/// Tensors that are large enough to be copied in pieces.
inline void large_tensors_are_copied(Trial& trial) {
  const size_t most = trial.traits().largest;
  const size_t nbytes = most < (size_t{9} << 19) ? most : size_t{9} << 19;  // 4.5 MiB
  const auto rows = static_cast<int64_t>(nbytes / 4 / 512);
  const Twin from = random_twin(trial, {rows, 512}, ScalarType::Int, 1);
  if (!from) return;
  trial.check_same("backend_copy of a large tensor", from.there, from.here);
  const TensorPtr within = trial.check_made("clone_tensor_ptr", try_clone_tensor_ptr(from.there));
  if (within == nullptr) return;
  trial.check_same("clone_tensor_ptr of a large tensor", within, from.here);
  check_both(trial, "copy_ of a large tensor, rows reversed", from, [](const Tensor& t) {
    const int64_t half = as_view(t).sizes[0] / 2;
    return copy_(reversed(narrow(t, 0, 0, half), {0}), narrow(t, 0, half, half));
  });
  check_both(trial, "copy_ of a large tensor, every other column", from,
             [](const Tensor& t) { return copy_(slice(t, 1, 0, 512, 2), slice(t, 1, 1, 512, 2)); });
}

}  // namespace testing
TENON_END_NAMESPACE
