// SPDX-License-Identifier: MIT
// The vocabulary of executorch::aten and executorch::runtime, which is tenon's.
#pragma once

#include <cstdint>

#include "tenon/tenon.h"

#if TENON_ATEN_MODE
#error "tenon: compat/executorch.h is for plain mode; build without USE_ATEN_LIB"
#endif

namespace executorch {

namespace aten {
using tenon::ArrayRef;
using tenon::BFloat16;
using tenon::canCast;
using tenon::complex;
using tenon::Device;
using tenon::DeviceType;
using tenon::DimOrderType;
using tenon::elementSize;
using tenon::Half;
using tenon::isComplexType;
using tenon::isFloatingType;
using tenon::isIntegralType;
using tenon::promoteTypes;
using tenon::Scalar;
using tenon::ScalarType;
using tenon::SizesType;
using tenon::StridesType;
using tenon::Tensor;
using tenon::TensorImpl;
using tenon::TensorShapeDynamism;
using tenon::toString;
using IntArrayRef = ArrayRef<int64_t>;
}  // namespace aten

namespace runtime {
using tenon::canCast;
using tenon::CppTypeToScalarType;
using tenon::elementSize;
using tenon::Error;
using tenon::isComplexType;
using tenon::isFloatingType;
using tenon::isIntegralType;
using tenon::promoteTypes;
using tenon::ScalarTypeToCppType;
using tenon::toString;

/// tenon::Result with the accessor's older name.
template <class T>
class Result : public tenon::Result<T> {
 public:
  using tenon::Result<T>::Result;
  T& get() { return this->value(); }
  const T& get() const { return this->value(); }
};

/// Nothing needs to be set up.
inline void runtime_init() noexcept {}
}  // namespace runtime

}  // namespace executorch
