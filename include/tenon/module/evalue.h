// SPDX-License-Identifier: MIT
// EValue: what goes into a model and comes out of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>

#include "tenon/config.h"
#include "tenon/core/array_ref.h"
#include "tenon/core/error.h"
#include "tenon/core/optional.h"
#include "tenon/core/result.h"
#include "tenon/core/scalar.h"
#include "tenon/module/evalue_block.h"
#include "tenon/module/evalue_convert.h"
#include "tenon/module/evalue_storage.h"
#include "tenon/tensor/tensor.h"
#include "tenon/tensor/tensor_arg.h"

TENON_BEGIN_NAMESPACE

/// None, a tensor, a number, a flag, a text, or a list of tensors, numbers or flags.
///
/// Converts implicitly from a Tensor, a TensorPtr, integers (Int), float and double (Double), bool,
/// Scalar, text, ranges of those (std::vector, std::array, Span, Dims: a list), and from any smart
/// pointer, optional or Result that gives one of them; an empty optional is None. A raw pointer is
/// nothing of this. toX() is exact, as in ExecuTorch and ATen: an Int is no Double; toScalar()
/// takes any number.
///
/// Ownership: shares a tensor (its shape too): the TensorPtr may go first. A moved TensorPtr is
/// null afterwards. Texts and lists are copied once, from then on shared by all copies of the
/// EValue and never changed. A tensor over a raw TensorImpl* stays the caller's to keep.
/// Errors: InvalidState (a null smart pointer or text), InvalidArgument (an unsigned integer beyond
/// int64_t, a complex Scalar), OutOfMemory (a text or list), and what an empty Result has; toX():
/// InvalidType.
/// Cost: a tensor takes no allocation, a text or a list takes one. Copies and moves take none and
/// cannot fail.
/// Threads: like std::shared_ptr.
/// Source: executorch::runtime::EValue, which borrows texts and lists; c10::IValue.
class EValue : private detail::ValueStorage {
 public:
  EValue() noexcept = default;
  EValue(None) noexcept : EValue() {}
  template <class T, std::enable_if_t<detail::is_value_v<T>, int> = 0>
  EValue(T&& value) noexcept(detail::is_safe_value_v<T>) : EValue() {
    put(std::forward<T>(value));
  }
  /// Tensors of which the undefined ones stand for none.
  static EValue optional_tensor_list(ArrayRef<Tensor> tensors) {
    EValue value;
    value.put_list(ValueKind::OptionalTensorList, tensors);
    return value;
  }

  ValueKind kind() const noexcept { return kind_; }
  bool isNone() const noexcept { return kind_ == ValueKind::None; }
  bool isTensor() const noexcept { return kind_ == ValueKind::Tensor; }
  bool isInt() const noexcept { return kind_ == ValueKind::Int; }
  bool isDouble() const noexcept { return kind_ == ValueKind::Double; }
  bool isBool() const noexcept { return kind_ == ValueKind::Bool; }
  bool isScalar() const noexcept { return isInt() || isDouble() || isBool(); }
  bool isString() const noexcept { return kind_ == ValueKind::String; }
  bool isTensorList() const noexcept { return kind_ == ValueKind::TensorList; }
  bool isOptionalTensorList() const noexcept { return kind_ == ValueKind::OptionalTensorList; }
  bool isIntList() const noexcept { return kind_ == ValueKind::IntList; }
  bool isDoubleList() const noexcept { return kind_ == ValueKind::DoubleList; }
  bool isBoolList() const noexcept { return kind_ == ValueKind::BoolList; }

  // Each raises InvalidType, "toInt: the EValue is a Tensor, Float {2, 3}", for any other kind.
  // What is returned by reference, as a text or as a list is valid as long as an EValue that shares
  // it.
  Tensor& toTensor() & { return expect("toTensor", ValueKind::Tensor), tensor_; }
  const Tensor& toTensor() const& { return expect("toTensor", ValueKind::Tensor), tensor_; }
  Tensor toTensor() && {
    expect("toTensor", ValueKind::Tensor);
    Tensor tensor(std::move(tensor_));
    clear();
    return tensor;
  }
  int64_t toInt() const { return expect("toInt", ValueKind::Int), int_; }
  double toDouble() const { return expect("toDouble", ValueKind::Double), double_; }
  bool toBool() const { return expect("toBool", ValueKind::Bool), bool_; }
  /// An Int, a Double or a Bool.
  Scalar toScalar() const {
    detail::raise_if("toScalar", check_scalar());
    return scalar();
  }
  /// Zero-terminated.
  std::string_view toString() const { return expect("toString", ValueKind::String), text(); }
  ArrayRef<Tensor> toTensorList() const {
    return list<Tensor>("toTensorList", ValueKind::TensorList);
  }
  ArrayRef<Tensor> toOptionalTensorList() const {
    return list<Tensor>("toOptionalTensorList", ValueKind::OptionalTensorList);
  }
  ArrayRef<int64_t> toIntList() const { return list<int64_t>("toIntList", ValueKind::IntList); }
  ArrayRef<double> toDoubleList() const {
    return list<double>("toDoubleList", ValueKind::DoubleList);
  }
  ArrayRef<bool> toBoolList() const { return list<bool>("toBoolList", ValueKind::BoolList); }

  Result<Tensor> tryToTensor() const {
    return attempt<Tensor>("tryToTensor", ValueKind::Tensor, [this] { return tensor_; });
  }
  Result<int64_t> tryToInt() const {
    return attempt<int64_t>("tryToInt", ValueKind::Int, [this] { return int_; });
  }
  Result<double> tryToDouble() const {
    return attempt<double>("tryToDouble", ValueKind::Double, [this] { return double_; });
  }
  Result<bool> tryToBool() const {
    return attempt<bool>("tryToBool", ValueKind::Bool, [this] { return bool_; });
  }
  Result<Scalar> tryToScalar() const {
    const Error error = check_scalar();
    if (error != Error::Ok) return detail::blame("tryToScalar", error);
    return scalar();
  }
  Result<std::string_view> tryToString() const {
    return attempt<std::string_view>("tryToString", ValueKind::String, [this] { return text(); });
  }
  Result<ArrayRef<Tensor>> tryToTensorList() const {
    return try_list<Tensor>("tryToTensorList", ValueKind::TensorList);
  }
  Result<ArrayRef<Tensor>> tryToOptionalTensorList() const {
    return try_list<Tensor>("tryToOptionalTensorList", ValueKind::OptionalTensorList);
  }
  Result<ArrayRef<int64_t>> tryToIntList() const {
    return try_list<int64_t>("tryToIntList", ValueKind::IntList);
  }
  Result<ArrayRef<double>> tryToDoubleList() const {
    return try_list<double>("tryToDoubleList", ValueKind::DoubleList);
  }
  Result<ArrayRef<bool>> tryToBoolList() const {
    return try_list<bool>("tryToBoolList", ValueKind::BoolList);
  }

  /// "a Tensor, Float {2, 3}", "an Int, 5", "a String, "abc"", "an IntList of 2", "None".
  friend void append(detail::Message& out, const EValue& value) noexcept { value.describe(out); }

 private:
  friend class detail::ValueStorage;

  TENON_COLD Error fail_kind() const noexcept {
    return detail::fail(Error::InvalidType, {"the EValue is ", *this});
  }
  void expect(const char* function, ValueKind kind) const {
    if (TENON_UNLIKELY(kind_ != kind)) detail::raise_if(function, fail_kind());
  }
  Error check_scalar() const noexcept { return isScalar() ? Error::Ok : fail_kind(); }
  Scalar scalar() const noexcept {
    return isInt() ? Scalar(int_) : isDouble() ? Scalar(double_) : Scalar(bool_);
  }
  std::string_view text() const noexcept { return {block_->elements<char>(), block_->size}; }
  template <class T>
  ArrayRef<T> list(const char* function, ValueKind kind) const {
    expect(function, kind);
    return {block_->elements<T>(), block_->size};
  }
  template <class T, class Get>
  Result<T> attempt(const char* function, ValueKind kind, const Get& get) const {
    if (TENON_UNLIKELY(kind_ != kind)) return detail::blame(function, fail_kind());
    return get();
  }
  template <class T>
  Result<ArrayRef<T>> try_list(const char* function, ValueKind kind) const {
    return attempt<ArrayRef<T>>(
        function, kind, [this] { return ArrayRef<T>(block_->elements<T>(), block_->size); });
  }

  TENON_COLD void describe(detail::Message& out) const noexcept {
    detail::append(out, kind_);
    switch (kind_) {
      case ValueKind::None: return;
      case ValueKind::Tensor: return describe_tensor(out);
      case ValueKind::Int: out.put(", "); return detail::append(out, int_);
      case ValueKind::Double: out.put(", "); return detail::append(out, double_);
      case ValueKind::Bool: out.put(", "); return detail::append(out, bool_);
      case ValueKind::String: {
        constexpr size_t kShown = 40;
        const std::string_view shown = text().substr(0, kShown);
        out.put(", \"");
        for (const char c : shown) out.put(c);
        return out.put(block_->size > kShown ? "\"..." : "\"");
      }
      default: out.put(" of "); return detail::append(out, block_->size);
    }
  }
  void describe_tensor(detail::Message& out) const noexcept {
    const TensorArg tensor(tensor_);
    if (!tensor.defined()) return out.put(", undefined");
#if TENON_ATEN_MODE
    if (detail::ArgAccess::refusal(tensor).error != Error::Ok) return;
#endif
    const detail::TensorFields& fields = detail::fields(tensor);
    out.put(", ");
    detail::append(out, fields.type);
    out.put(' ');
    detail::append(out, fields.layout.sizes);
  }
};

static_assert(std::is_nothrow_move_constructible_v<EValue>);
static_assert(std::is_nothrow_copy_constructible_v<EValue>);

TENON_END_NAMESPACE
