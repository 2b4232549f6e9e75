// SPDX-License-Identifier: MIT
// Conformance cases: what creators make in a backend's memory is what they make on the host.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tenon/backend/registry.h"
#include "tenon/config.h"
#include "tenon/core/small_float.h"
#include "tenon/exchange/binary.h"
#include "tenon/tensor/creators.h"
#include "tenon/tensor/sequence.h"
#include "tenon/tensor/tensor_ptr.h"
#include "tenon/testing/trial.h"
#include "tenon/testing/twin.h"

TENON_BEGIN_NAMESPACE
namespace testing {

/// Whether a tensor is in the backend's memory, as it says itself.
inline void check_lives_there(Trial& trial, const std::string& what, const TensorArg& t) {
  Backend& backend = trial.backend();
  trial.check(device(t) == backend.device(), {what.c_str(), ": expected a tensor on ",
                                              backend.device(), ", found it on ", device(t)});
  const bool is_host_heap = detail::unless_host_heap(&backend) == nullptr;
  Backend& found = backend_of(t);
  trial.check(&found == (is_host_heap ? &host_backend() : &backend),
              {what.c_str(), ": expected memory of backend ", backend.name(), ", found ",
               found.name(), "'s"});
}

/// The same dtype, sizes and strides as on the host; what the elements are is not looked at.
inline bool check_shape(Trial& trial, const std::string& what, const TensorArg& found,
                        const TensorArg& expected) {
  check_lives_there(trial, what, found);
  const TensorView a = as_view(found);
  const TensorView b = as_view(expected);
  const bool same = a.type == b.type && a.sizes == b.sizes && a.strides == b.strides &&
                    shape_dynamism(found) == shape_dynamism(expected);
  return trial.check(
      same, {what.c_str(), ": expected ", describe(b).c_str(), ", found ", describe(a).c_str()});
}

/// `make(backend)` gives the same with the host's and with the one that is tried.
template <class Make>
void check_creator(Trial& trial, const std::string& what, const Make& make) {
  const TensorPtr here = trial.check_made(what + ", on the host", make(host_backend()));
  const TensorPtr there = trial.check_made(what, make(trial.backend()));
  if (here == nullptr || there == nullptr) return;
  if (check_shape(trial, what, there, here)) trial.check_same(what, there, here);
}
/// The same for `make(source)`, which takes the backend from its source.
template <class Make>
void check_creator_like(Trial& trial, const std::string& what, const TensorArg& here_source,
                        const TensorArg& there_source, const Make& make) {
  const TensorPtr here = trial.check_made(what + ", on the host", make(here_source));
  const TensorPtr there = trial.check_made(what, make(there_source));
  if (here == nullptr || there == nullptr) return;
  if (check_shape(trial, what, there, here)) trial.check_same(what, there, here);
}

inline constexpr int64_t kSizesOfMany[] = {3, 1, 5, 2};

/// empty() in each dtype and rank, none of which is touched.
inline void empty_has_the_shape(Trial& trial) {
  for (const Dims& sizes : {Dims{}, Dims{0}, Dims{7}, Dims{2, 0, 3}, Dims(kSizesOfMany),
                            Dims{1, 2, 1, 2, 1, 2, 1, 2}}) {
    for (ScalarType type : kAllTypes) {
      const std::string what = text_of({"empty ", toString(type), ' ', sizes});
      const TensorPtr here = trial.check_made(what, try_empty(sizes, type, host_backend()));
      const TensorPtr there = trial.check_made(what, try_empty(sizes, type, trial.backend()));
      if (here != nullptr && there != nullptr) check_shape(trial, what, there, here);
    }
  }
}

inline void full_has_the_value(Trial& trial) {
  for (ScalarType type : kAllTypes) {
    for (const Dims& sizes : {Dims{}, Dims{0, 3}, Dims{1}, Dims{67}, Dims(kSizesOfMany)}) {
      const std::string what = text_of({toString(type), ' ', sizes});
      check_creator(trial, "full " + what, [&](Backend& backend) {
        return try_full(sizes, type == ScalarType::Bool ? 1 : 3, type, backend);
      });
      check_creator(trial, "zeros " + what,
                    [&](Backend& backend) { return try_zeros(sizes, type, backend); });
      check_creator(trial, "ones " + what,
                    [&](Backend& backend) { return try_ones(sizes, type, backend); });
    }
    check_creator(trial, text_of({"scalar_tensor ", toString(type)}),
                  [&](Backend& backend) { return try_scalar_tensor(1, type, backend); });
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
      check_creator(trial, text_of({"eye(", sizes[0], ", ", sizes[1], ") ", toString(type)}),
                    [&](Backend& backend) { return try_eye(sizes[0], sizes[1], type, backend); });
    }
  }
  check_creator(trial, "eye(6)", [](Backend& backend) { return try_eye(6, backend); });
}

inline void iota_counts(Trial& trial) {
  for (ScalarType type : kAllTypes) {
    const Dims sizes = type == ScalarType::Bool ? Dims{2, 1} : Dims{3, 2, 2};
    check_creator(trial, text_of({"iota ", sizes, ' ', toString(type)}),
                  [&](Backend& backend) { return try_iota(sizes, type, backend); });
    for (int64_t axis = -1; axis < static_cast<int64_t>(sizes.size()); ++axis) {
      check_creator(trial, text_of({"iota ", sizes, " along ", axis, ' ', toString(type)}),
                    [&](Backend& backend) { return try_iota(sizes, axis, type, backend); });
    }
  }
  for (const Dims& sizes : {Dims{}, Dims{0}, Dims{2, 0, 2}, Dims{1000}, Dims{1, 300, 1},
                            Dims{2, 1, 3, 1, 2, 1, 2, 2}}) {
    check_creator(trial, text_of({"iota ", sizes}),
                  [&](Backend& backend) { return try_iota(sizes, backend); });
    for (int64_t axis = 0; axis < static_cast<int64_t>(sizes.size()); ++axis) {
      check_creator(trial, text_of({"iota ", sizes, " along ", axis}),
                    [&](Backend& backend) { return try_iota(sizes, axis, backend); });
    }
  }
}

inline void arange_counts(Trial& trial) {
  check_creator(trial, "arange(100)", [](Backend& backend) { return try_arange(100, backend); });
  check_creator(trial, "arange(0)", [](Backend& backend) { return try_arange(0, backend); });
  check_creator(trial, "arange(9, -4, -3)",
                [](Backend& backend) { return try_arange(9, -4, -3, backend); });
  check_creator(trial, "arange(0.5, 9, 0.25)",
                [](Backend& backend) { return try_arange(0.5, 9, 0.25, backend); });
  check_creator(trial, "arange(0, 50, 7) Byte",
                [](Backend& backend) { return try_arange(0, 50, 7, ScalarType::Byte, backend); });
}

inline void values_arrive(Trial& trial) {
  check_creator(trial, "make_tensor_ptr of ints", [](Backend& backend) {
    return try_make_tensor_ptr({2, 3}, {1, 2, 3, 4, 5, 6}, ScalarType::Int, backend);
  });
  check_creator(trial, "make_tensor_ptr of ints as Half", [](Backend& backend) {
    return try_make_tensor_ptr({2, 3}, {1, 2, 3, 4, 5, 6}, ScalarType::Half, backend);
  });
  check_creator(trial, "make_tensor_ptr of a list", [](Backend& backend) {
    return try_make_tensor_ptr({0.5, 1.5, -2.0}, backend);
  });
  check_creator(trial, "make_tensor_ptr of a moved vector", [](Backend& backend) {
    return try_make_tensor_ptr({3, 2}, std::vector<float>{1, 2, 3, 4, 5, 6}, backend);
  });
  check_creator(trial, "make_tensor_ptr of no values", [](Backend& backend) {
    return try_make_tensor_ptr({0, 5}, std::vector<int32_t>(), backend);
  });
  check_creator(trial, "make_tensor_ptr of one value",
                [](Backend& backend) { return try_make_tensor_ptr(2.5f, backend); });
  check_creator(trial, "make_tensor_ptr with a dim order", [](Backend& backend) {
    return try_make_tensor_ptr({2, 3}, std::vector<int64_t>{1, 2, 3, 4, 5, 6}, {1, 0}, backend);
  });
  check_creator(trial, "make_tensor_ptr with gaps", [](Backend& backend) {
    return try_make_tensor_ptr({2, 2}, std::vector<int16_t>{1, 2, 3, 4, 5}, {}, {3, 1}, backend);
  });
  check_creator(trial, "from_bytes", [](Backend& backend) {
    return try_make_tensor_ptr({2}, std::vector<uint8_t>{1, 2, 3, 4}, ScalarType::Short, backend);
  });
}

inline void from_binary_is_read(Trial& trial) {
  const Dims sizes{3, 5};
  for (ScalarType type : kAllTypes) {
    std::vector<uint8_t> bytes(15 * elementSize(type));
    Dice dice{elementSize(type)};
    for (uint8_t& byte : bytes) {
      byte = static_cast<uint8_t>(dice.between(0, type == ScalarType::Bool ? 1 : 255));
    }
    check_creator(trial, text_of({"from_binary ", toString(type)}),
                  [&](Backend& backend) { return try_from_binary(bytes, sizes, type, backend); });
  }
  check_creator(trial, "from_binary of nothing", [](Backend& backend) {
    return try_from_binary(nullptr, 0, {0, 2}, ScalarType::Int, backend);
  });
}

/// The _like forms keep strides that are dense and the backend.
inline void like_forms_follow(Trial& trial) {
  const Twin twin = random_twin(trial, {4, 6}, ScalarType::Int);
  const Twin other = random_twin(trial, {4, 6}, ScalarType::Int);
  if (!twin || !other) return;
  const Tensor here = transpose(twin.here, 0, 1);
  const Tensor there = transpose(twin.there, 0, 1);
  check_creator_like(trial, "full_like of a transposed tensor", here, there,
                     [](const TensorArg& source) { return try_full_like(source, 7); });
  check_creator_like(trial, "zeros_like", twin.here, twin.there,
                     [](const TensorArg& source) { return try_zeros_like(source); });
  check_creator_like(trial, "ones_like of every other column", slice(other.here, 1, 0, 6, 2),
                     slice(other.there, 1, 0, 6, 2), [](const TensorArg& source) {
                       return try_ones_like(source, ScalarType::Double);
                     });
  const TensorPtr made = trial.check_made("empty_like", try_empty_like(there));
  const TensorPtr wanted = trial.check_made("empty_like", try_empty_like(here));
  if (made != nullptr && wanted != nullptr) check_shape(trial, "empty_like", made, wanted);
  // A backend that is given counts more than the source's.
  check_creator(trial, "full_like of a host tensor",
                [&](Backend& backend) { return try_full_like(twin.here, 5, backend); });
  const TensorPtr back =
      trial.check_made("full_like on the host", try_full_like(twin.there, 5, host_backend()));
  trial.check(back == nullptr || device(back).is_cpu(),
              {"full_like(…, host_backend()): expected a tensor on the CPU"});
}

/// The _strided forms, with gaps; those of full, zeros and ones are filled too.
inline void strided_forms_have_gaps(Trial& trial) {
  const Dims sizes{3, 4};
  const Dims strides{9, 2};
  const auto whole = [](const TensorPtr& t) { return as_strided(t, {25}, {1}); };
  const auto check = [&](const std::string& what, const auto& make) {
    const TensorPtr here = trial.check_made(what + ", on the host", make(host_backend()));
    const TensorPtr there = trial.check_made(what, make(trial.backend()));
    if (here == nullptr || there == nullptr || !check_shape(trial, what, there, here)) return;
    trial.check_same(what, there, here);
    trial.check_same(what + ", gaps included", whole(there), whole(here));
  };
  check("full_strided",
        [&](Backend& backend) { return try_full_strided(sizes, strides, 3, backend); });
  check("zeros_strided", [&](Backend& backend) {
    return try_zeros_strided(sizes, strides, ScalarType::Short, backend);
  });
  check("ones_strided", [&](Backend& backend) {
    return try_ones_strided(sizes, strides, ScalarType::Double, backend);
  });
  const TensorPtr here =
      trial.check_made("empty_strided", try_empty_strided(sizes, strides, host_backend()));
  const TensorPtr there =
      trial.check_made("empty_strided", try_empty_strided(sizes, strides, trial.backend()));
  if (here != nullptr && there != nullptr) check_shape(trial, "empty_strided", there, here);
}

/// A BackendScope makes the backend the creators' default, an inner one takes its place.
inline void scopes_choose(Trial& trial) {
  const Device device_before = default_backend().device();
  {
    const BackendScope scope(trial.backend());
    const TensorPtr t = trial.check_made("zeros in a scope", try_zeros({2, 3}));
    if (t != nullptr) check_lives_there(trial, "zeros in a scope", t);
    const TensorPtr values =
        trial.check_made("make_tensor_ptr in a scope", try_make_tensor_ptr({3}, {1, 2, 3}));
    if (values != nullptr) check_lives_there(trial, "make_tensor_ptr in a scope", values);
    const BackendScope inner(host_backend());
    const TensorPtr other = trial.check_made("zeros in the host's scope", try_zeros({2, 3}));
    trial.check(other == nullptr || device(other).is_cpu(),
                {"zeros in the host's scope: expected a tensor on the CPU"});
  }
  trial.check(default_backend().device() == device_before,
              {"after a BackendScope: expected the default backend of before"});
}

}  // namespace testing
TENON_END_NAMESPACE
