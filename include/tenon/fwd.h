// SPDX-License-Identifier: MIT
// Declarations of the public types, for headers that only name them: `void draw(const
// tenon::Tensor&);`, or a class with a TensorPtr member, whose destructor is defined where
// <tenon/tensor_ptr.h> is included. A declaration by hand would be ambiguous, because of the inline
// namespace. To hold or return a Device, Dims or a Result, include its header, which is small.
#pragma once

#include <memory>

#include "tenon/config.h"

#if TENON_ATEN_MODE
#include <c10/core/ScalarType.h>
#include <c10/util/intrusive_ptr.h>

namespace at {
class Tensor;
}
namespace c10 {
class Scalar;
struct TensorImpl;
}  // namespace c10
#endif

TENON_BEGIN_VALUES

// core/
enum class DeviceType : int32_t;
enum class Error : uint8_t;
class Device;
class Dims;
class Strides;
class DimOrder;
struct TensorView;
struct ViewWithLists;
template <class T>
class Span;
template <class T>
using ArrayRef = Span<const T>;
#if !TENON_ATEN_MODE
enum class ScalarType : int8_t;
#endif

TENON_END_NAMESPACE

TENON_BEGIN_NAMESPACE

class Generator;
struct OffsetRange;
template <class T>
class Result;
#if TENON_HAS_EXCEPTIONS
class Exception;
#endif

// kernels/
enum class CastMode : uint8_t;
enum class CopyKind : uint8_t;
struct Normalize;

// backend/
class Backend;
class HostMemoryBackend;
class DeviceBackend;
class WrapperBackend;
class ArenaBackend;
class CpuBackend;
class MetaBackend;
class PmrBackend;
class PoolBackend;
class TrackingBackend;
class BackendOptions;
struct BackendOption;
class BackendScope;
class TrackingScope;
class NoAllocationScope;
struct MadeTensor;
struct MemoryLeak;
struct PoolStatistics;
struct StridedCopy;
struct TagCounts;

// tensor/
class CopyPlan;
enum class CopyPolicy : uint8_t;
enum class Deallocation : uint8_t;
enum class ExpressionKind : uint8_t;
enum class Ownership : uint8_t;
enum class TensorShapeDynamism : uint8_t;
#if TENON_ATEN_MODE
using c10::complex, c10::Scalar, c10::ScalarType;
using Tensor = at::Tensor;
using TensorImpl = c10::TensorImpl;
using TensorImplPtr = c10::intrusive_ptr<TensorImpl>;
class TensorArg;
class ConstTensorArg;
#else
template <class T>
class complex;
class Scalar;
class Tensor;
class TensorImpl;
using TensorImplPtr = std::shared_ptr<TensorImpl>;
class TensorArg;
using ConstTensorArg = TensorArg;
#endif
using TensorPtr = std::unique_ptr<Tensor>;
class TensorArgs;
class IndicesArg;
class TensorPtrMaker;
class Deleter;
class ExprBackend;
struct Expression;
struct FormatOptions;
class Summary;
struct MinMax;
struct MeanStd;
template <class T, size_t N>
class TensorAccessor;

// exchange/
enum class LegacyReadOnly : uint8_t;
enum class PackedType : uint8_t;
struct Blob;
struct DLPackDeleter;
struct DLPackViolation;
struct PackedTensor;

// module/
enum class ValueKind : uint8_t;
class EValue;
class Module;
class FunctionModule;
class Outputs;
struct MethodMeta;
struct ModelFile;
struct TensorSpec;
struct ValueSpec;

namespace detail {
template <class>
TENON_NOINLINE void delete_handle(Tensor* handle) noexcept;
}

TENON_END_NAMESPACE

#if !TENON_ATEN_MODE && !TENON_BARE_METAL
// TensorPtr's deleter: `delete`, but faster. Declared here, so that every unique_ptr<Tensor> uses
// it.
template <>
struct std::default_delete<tenon::Tensor> {
  constexpr default_delete() noexcept = default;
  template <class T, std::enable_if_t<std::is_convertible_v<T*, tenon::Tensor*>, int> = 0>
  default_delete(const std::default_delete<T>&) noexcept {}
  // A template, since Tensor is complete only where it is called.
  template <class Handle = tenon::Tensor>
  void operator()(std::enable_if_t<true, Handle>* handle) const noexcept {
    // NOLINTNEXTLINE(bugprone-sizeof-expression)
    static_assert(sizeof(Handle) > 0, "a TensorPtr is dropped here: include <tenon/tensor_ptr.h>");
    if (handle != nullptr) tenon::detail::delete_handle<void>(handle);
  }
};
#endif
