// SPDX-License-Identifier: MIT
// What the tests of the random functions share: every creator in one table, naive reading.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

#include "kernels/copy_reference.h"
#include "tenon/tensor/access.h"
#include "tenon/tensor/random.h"
#include "tensor/helpers.h"

namespace tests {

/// The bytes of the elements, in row-major order of their indices.
inline Bytes elements(const tenon::Tensor& t) {
  const size_t size = t.element_size();
  const auto* data = static_cast<const unsigned char*>(tenon::const_data_ptr(t));
  Bytes bytes;
  for (int64_t offset : offsets_of(sizes(t), strides(t))) {
    const unsigned char* element = data + offset * static_cast<int64_t>(size);
    bytes.insert(bytes.end(), element, element + size);
  }
  return bytes;
}
inline Bytes elements(const tenon::TensorPtr& t) { return elements(*t); }

template <class T>
double number(T value) {
  if constexpr (std::is_arithmetic_v<T>) {
    return static_cast<double>(value);
  } else {
    return static_cast<double>(static_cast<float>(value));
  }
}

/// The elements in that order as numbers, of complex ones the real part and then the imaginary one.
inline std::vector<double> numbers(const tenon::Tensor& t) {
  const Bytes bytes = elements(t);
  std::vector<double> out;
  tenon::visit(
      t.scalar_type(),
      [&](auto tag) {
        using T = typename decltype(tag)::type;
        for (size_t at = 0; at < bytes.size(); at += sizeof(T)) {
          T value;
          std::memcpy(static_cast<void*>(&value), bytes.data() + at, sizeof(T));
          if constexpr (tenon::detail::IsComplexLike<T>::value) {
            out.push_back(number(value.real()));
            out.push_back(number(value.imag()));
          } else {
            out.push_back(number(value));
          }
        }
      },
      [] {});
  return out;
}
inline std::vector<double> numbers(const tenon::TensorPtr& t) { return numbers(*t); }

/// A way to make a random tensor, with bounds that suit every element type. What it has no
/// parameter for is ignored; strides of {} are dense.
struct RandomCreator {
  using Make = tenon::TensorPtr (*)(const tenon::Dims& sizes, const tenon::Dims& strides,
                                    tenon::ScalarType type, tenon::Generator& generator);
  enum Kind { kPlain, kStrided, kLike };

  const char* name;
  Kind kind;
  Make make;
};

/// A source for the _like creators, of another type than they are to make.
inline tenon::TensorPtr source(const tenon::Dims& sizes, const tenon::Dims& strides) {
  return tenon::zeros_strided(sizes, strides, tenon::ScalarType::Byte);
}

#define TESTS_MAKE(...)                                                            \
  [](const tenon::Dims& sizes, const tenon::Dims& strides, tenon::ScalarType type, \
     tenon::Generator& g) {                                                        \
    static_cast<void>(strides);                                                    \
    return tenon::__VA_ARGS__;                                                     \
  }
inline const RandomCreator kCreators[] = {
    {"rand", RandomCreator::kPlain, TESTS_MAKE(rand(sizes, type, g))},
    {"rand_strided", RandomCreator::kStrided, TESTS_MAKE(rand_strided(sizes, strides, type, g))},
    {"rand_like", RandomCreator::kLike, TESTS_MAKE(rand_like(source(sizes, strides), type, g))},
    {"randn", RandomCreator::kPlain, TESTS_MAKE(randn(sizes, type, g))},
    {"randn_strided", RandomCreator::kStrided, TESTS_MAKE(randn_strided(sizes, strides, type, g))},
    {"randn_like", RandomCreator::kLike, TESTS_MAKE(randn_like(source(sizes, strides), type, g))},
    {"randint", RandomCreator::kPlain, TESTS_MAKE(randint(0, 2, sizes, type, g))},
    {"randint_strided", RandomCreator::kStrided,
     TESTS_MAKE(randint_strided(0, 2, sizes, strides, type, g))},
    {"randint_like", RandomCreator::kLike,
     TESTS_MAKE(randint_like(source(sizes, strides), 0, 2, type, g))},
    {"uniform", RandomCreator::kPlain, TESTS_MAKE(uniform(0, 2, sizes, type, g))},
    {"uniform_strided", RandomCreator::kStrided,
     TESTS_MAKE(uniform_strided(0, 2, sizes, strides, type, g))},
    {"uniform_like", RandomCreator::kLike,
     TESTS_MAKE(uniform_like(source(sizes, strides), 0, 2, type, g))},
    {"normal", RandomCreator::kPlain, TESTS_MAKE(normal(3, 2, sizes, type, g))},
    {"normal_strided", RandomCreator::kStrided,
     TESTS_MAKE(normal_strided(3, 2, sizes, strides, type, g))},
    {"normal_like", RandomCreator::kLike,
     TESTS_MAKE(normal_like(source(sizes, strides), 3, 2, type, g))},
};
#undef TESTS_MAKE

}  // namespace tests
