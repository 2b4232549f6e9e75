// SPDX-License-Identifier: MIT
// The types of executorch::aten and executorch::runtime.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "tenon/tenon.h"

#if TENON_ATEN_MODE
#error "tenon: compat/executorch.h is for plain mode; build without USE_ATEN_LIB"
#endif

namespace executorch {

namespace aten {
using std::nullopt, std::nullopt_t, std::optional, std::string_view;
using tenon::ArrayRef, tenon::BFloat16, tenon::complex, tenon::Device, tenon::DeviceType,
    tenon::DimOrderType, tenon::Half, tenon::Scalar, tenon::ScalarType, tenon::SizesType,
    tenon::StridesType, tenon::Tensor, tenon::TensorImpl, tenon::TensorShapeDynamism;
using tenon::canCast, tenon::elementSize, tenon::isComplexType, tenon::isFloatingType,
    tenon::isIntegralType, tenon::promoteTypes, tenon::toString;
using IntArrayRef = ArrayRef<int64_t>;
using TensorList = ArrayRef<Tensor>;
using DeviceIndex = int32_t;
}  // namespace aten

namespace runtime {
inline namespace tenon_compat {
namespace etensor = executorch::aten;
using aten::IntArrayRef;
using tenon::ArrayRef, tenon::CppTypeToScalarType, tenon::ScalarTypeToCppType, tenon::Span;
using tenon::canCast, tenon::elementSize, tenon::isComplexType, tenon::isFloatingType,
    tenon::isIntegralType, tenon::promoteTypes, tenon::toString;

inline bool tensor_is_contiguous(const aten::Tensor& tensor) { return tensor.is_contiguous(); }

/// The kinds of values, with the numbers that ExecuTorch gives them.
enum class Tag : uint32_t {
  None,
  Tensor,
  String,
  Double,
  Int,
  Bool,
  ListBool,
  ListDouble,
  ListInt,
  ListTensor,
  ListScalar,
  ListOptionalTensor,
};
constexpr const char* tag_to_string(Tag tag) noexcept {
  constexpr const char* kNames[] = {"None",    "Tensor",     "String",     "Double",
                                    "Int",     "Bool",       "ListBool",   "ListDouble",
                                    "ListInt", "ListTensor", "ListScalar", "ListOptionalTensor"};
  const auto number = static_cast<size_t>(tag);
  return number < sizeof kNames / sizeof *kNames ? kNames[number] : "Unknown";
}

// ExecuTorch's errors by name and number, for the enumeration and to_string().
#define TENON_COMPAT_ERRORS(_)             \
  _(Ok, 0x00)                              \
  _(Internal, 0x01)                        \
  _(InvalidState, 0x02)                    \
  _(EndOfMethod, 0x03)                     \
  _(AlreadyLoaded, 0x04)                   \
  _(NotSupported, 0x10)                    \
  _(NotImplemented, 0x11)                  \
  _(InvalidArgument, 0x12)                 \
  _(InvalidType, 0x13)                     \
  _(OperatorMissing, 0x14)                 \
  _(RegistrationExceedingMaxKernels, 0x15) \
  _(RegistrationAlreadyRegistered, 0x16)   \
  _(NotFound, 0x20)                        \
  _(MemoryAllocationFailed, 0x21)          \
  _(AccessFailed, 0x22)                    \
  _(InvalidProgram, 0x23)                  \
  _(InvalidExternalData, 0x24)             \
  _(OutOfResources, 0x25)                  \
  _(DelegateInvalidCompatibility, 0x30)    \
  _(DelegateMemoryAllocationFailed, 0x31)  \
  _(DelegateInvalidHandle, 0x32)

enum class Error : uint32_t {
#define TENON_COMPAT_ERROR(name, number) name = number,
  TENON_COMPAT_ERRORS(TENON_COMPAT_ERROR)
#undef TENON_COMPAT_ERROR
};

constexpr const char* to_string(Error error) noexcept {
  switch (error) {
#define TENON_COMPAT_ERROR(name, number) \
  case Error::name: return "Error::" #name;
    TENON_COMPAT_ERRORS(TENON_COMPAT_ERROR)
#undef TENON_COMPAT_ERROR
  }
  return "Error::Unknown";
}
#undef TENON_COMPAT_ERRORS

namespace internal {
constexpr Error error_of(tenon::Error error) noexcept {
  switch (error) {
    case tenon::Error::Ok: return Error::Ok;
    case tenon::Error::InvalidArgument:
    case tenon::Error::OutOfBounds: return Error::InvalidArgument;
    case tenon::Error::InvalidType: return Error::InvalidType;
    case tenon::Error::InvalidState:
    case tenon::Error::InUse: return Error::InvalidState;
    case tenon::Error::NotSupported: return Error::NotSupported;
    case tenon::Error::OutOfMemory: return Error::MemoryAllocationFailed;
    case tenon::Error::NotFound: return Error::NotFound;
    case tenon::Error::AccessFailed: return Error::AccessFailed;
    case tenon::Error::Internal: break;
  }
  return Error::Internal;
}
}  // namespace internal

/// A value or an error. Reading a missing value raises InvalidState.
template <class T>
class [[nodiscard]] Result {
 public:
  using value_type = T;

  Result(T value) : value_(std::move(value)), error_(Error::Ok) {}
  Result(Error error) noexcept : error_(error == Error::Ok ? Error::Internal : error) {}
  /// From tenon's Result, such as that of EValue::tryToInt().
  Result(tenon::Result<T> result) : error_(internal::error_of(result.error())) {
    if (result.ok()) value_ = std::move(*result);
  }

  bool ok() const noexcept { return error_ == Error::Ok; }
  Error error() const noexcept { return error_; }
  T& get() { return check(), *value_; }
  const T& get() const { return check(), *value_; }
  T& operator*() & { return get(); }
  const T& operator*() const& { return get(); }
  T&& operator*() && { return std::move(get()); }
  T* operator->() { return &get(); }
  const T* operator->() const { return &get(); }

 private:
  void check() const {
    TENON_CHECK(ok(), tenon::Error::InvalidState, "Result: no value, but ", to_string(error_));
  }
  std::optional<T> value_;
  Error error_;
};

/// Does nothing: tenon needs no initialisation.
inline void runtime_init() noexcept {}
}  // namespace tenon_compat
}  // namespace runtime

}  // namespace executorch
