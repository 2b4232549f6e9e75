// SPDX-License-Identifier: MIT
// ATen mode: the public names of element types, ScalarType and Scalar stand for c10's types; random
// seeds come from libtorch's default generator.
#pragma once

#include <ATen/CPUGeneratorImpl.h>
#include <c10/core/Scalar.h>
#include <c10/core/ScalarType.h>
#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>
#include <c10/util/complex.h>

#include <cstdint>
#include <mutex>
#include <type_traits>

#include "tenon/config.h"

#if __has_include(<c10/util/Float8_e4m3fnuz.h>)
#define TENON_C10_HAS_FLOAT8 1  // libtorch 1.13 lacks these types, and UInt16, UInt32, UInt64
#else
#define TENON_C10_HAS_FLOAT8 0
#endif

TENON_BEGIN_NAMESPACE

using c10::BFloat16, c10::Half, c10::complex, c10::Scalar, c10::ScalarType;
#if TENON_C10_HAS_FLOAT8
using c10::Float8_e4m3fn, c10::Float8_e4m3fnuz, c10::Float8_e5m2, c10::Float8_e5m2fnuz;
#endif
using c10::canCast, c10::elementSize, c10::isComplexType, c10::isFloatingType, c10::isIntegralType,
    c10::promoteTypes, c10::toString;

using c10::kByte, c10::kChar, c10::kShort, c10::kInt, c10::kLong, c10::kHalf, c10::kFloat,
    c10::kDouble, c10::kComplexHalf, c10::kComplexFloat, c10::kComplexDouble, c10::kBool,
    c10::kBFloat16;
#if __has_include(<c10/util/Float8_e8m0fnu.h>)  // since libtorch 2.7, which has UInt16 too
using c10::kFloat8_e5m2, c10::kFloat8_e4m3fn, c10::kFloat8_e5m2fnuz, c10::kFloat8_e4m3fnuz,
    c10::kUInt16, c10::kUInt32, c10::kUInt64;
#else
inline constexpr ScalarType kFloat8_e5m2 = static_cast<ScalarType>(23),
                            kFloat8_e4m3fn = static_cast<ScalarType>(24),
                            kFloat8_e5m2fnuz = static_cast<ScalarType>(25),
                            kFloat8_e4m3fnuz = static_cast<ScalarType>(26),
                            kUInt16 = static_cast<ScalarType>(27),
                            kUInt32 = static_cast<ScalarType>(28),
                            kUInt64 = static_cast<ScalarType>(29);
#endif

namespace detail {

template <class T, class = void>
struct C10ScalarType {
  static constexpr int kNumber = -1;
};
template <class T>
struct C10ScalarType<T, std::void_t<decltype(c10::CppTypeToScalarType<T>::value)>> {
  static constexpr int kNumber = static_cast<int>(c10::CppTypeToScalarType<T>::value);
};

/// The ScalarType, as a number, of c10's Half, BFloat16 and Float8 types; -1 for other types.
template <class T>
constexpr int foreign_scalar_type() noexcept {
  constexpr int number = C10ScalarType<T>::kNumber;
  return number == 5 || number == 15 || (number >= 23 && number <= 26) ? number : -1;
}

/// The public C++ type of elements that tenon stores as T: c10's type if libtorch has it.
template <class T, int kScalarType, class = void>
struct PublicElement {
  using type = T;
};
template <class T, int kScalarType>
struct PublicElement<T, kScalarType,
                     std::void_t<typename c10::impl::ScalarTypeToCPPType<
                         static_cast<c10::ScalarType>(kScalarType)>::type>> {
  using type =
      typename c10::impl::ScalarTypeToCPPType<static_cast<c10::ScalarType>(kScalarType)>::type;
};

/// Seeds libtorch's default CPU generator, which all threads share.
/// Source: at::manual_seed, which also seeds the GPUs' generators.
inline void seed_aten(uint64_t seed) noexcept {
  at::Generator generator = at::detail::getDefaultCPUGenerator();
  const std::lock_guard<std::mutex> lock(generator.mutex());
  generator.set_current_seed(seed);
}

/// 64 random bits of that generator.
inline uint64_t draw_from_aten() noexcept {
  at::Generator generator = at::detail::getDefaultCPUGenerator();
  const std::lock_guard<std::mutex> lock(generator.mutex());
  return at::check_generator<at::CPUGeneratorImpl>(generator)->random64();
}

}  // namespace detail
TENON_END_NAMESPACE
