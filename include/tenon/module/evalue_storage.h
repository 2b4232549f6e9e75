// SPDX-License-Identifier: MIT
// ValueStorage: the memory of an EValue, and how values get into it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <limits>
#include <new>
#include <type_traits>
#include <utility>

#include "tenon/config.h"
#include "tenon/core/error.h"
#include "tenon/core/scalar.h"
#include "tenon/module/evalue_block.h"
#include "tenon/module/evalue_convert.h"
#include "tenon/tensor/tensor.h"

TENON_BEGIN_NAMESPACE
namespace detail {

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored \
    "-Wmaybe-uninitialized"  // GCC cannot see that kind_ guards the union
#endif

/// None, or a value of one kind. Copies and moves cannot fail.
class ValueStorage {
 protected:
  ValueStorage() noexcept : int_(0) {}
  ValueStorage(const ValueStorage& other) noexcept { copy(other); }
  ValueStorage(ValueStorage&& other) noexcept { take(other); }
  ValueStorage& operator=(const ValueStorage& other) noexcept {
    if (this != &other) {
      ValueStorage old(std::move(*this));  // which may be all that keeps `other`
      copy(other);
    }
    return *this;
  }
  ValueStorage& operator=(ValueStorage&& other) noexcept {
    if (this != &other) {
      ValueStorage old(std::move(*this));
      take(other);
    }
    return *this;
  }
  ~ValueStorage() { clear(); }

  bool has_block() const noexcept { return kind_ >= ValueKind::String; }

  void copy(const ValueStorage& other) noexcept {
    switch (other.kind_) {
      case ValueKind::Tensor: ::new (static_cast<void*>(&tensor_)) Tensor(other.tensor_); break;
      case ValueKind::Double: double_ = other.double_; break;
      case ValueKind::Bool: bool_ = other.bool_; break;
      case ValueKind::None:
      case ValueKind::Int: int_ = other.int_; break;
      default: block_ = other.block_; block_->users.add();
    }
    kind_ = other.kind_;
  }
  void take(ValueStorage& other) noexcept {
    switch (other.kind_) {
      case ValueKind::Tensor:
        ::new (static_cast<void*>(&tensor_)) Tensor(std::move(other.tensor_));
        other.tensor_.~Tensor();
        break;
      case ValueKind::Double: double_ = other.double_; break;
      case ValueKind::Bool: bool_ = other.bool_; break;
      case ValueKind::None:
      case ValueKind::Int: int_ = other.int_; break;
      default: block_ = other.block_;
    }
    kind_ = other.kind_;
    other.kind_ = ValueKind::None;
    other.int_ = 0;
  }
  void clear() noexcept {
    if (kind_ == ValueKind::Tensor) {
      tensor_.~Tensor();
    } else if (has_block()) {
      block_->drop();
    }
    kind_ = ValueKind::None;
    int_ = 0;
  }

  // For an EValue that is None.
  template <class T>
  void put(T&& value) {
    using Type = std::decay_t<T>;
    constexpr Conversion how = conversion<Type>();
    if constexpr (how == Conversion::Same) {
      *this = static_cast<const ValueStorage&>(value);
    } else if constexpr (how == Conversion::Handle) {
      ::new (static_cast<void*>(&tensor_)) Tensor(std::forward<T>(value));
      kind_ = ValueKind::Tensor;
    } else if constexpr (how == Conversion::Impl) {
      if (TENON_UNLIKELY(value.get() == nullptr)) refuse_null("pointer");
      put(Tensor(std::forward<T>(value)));
    } else if constexpr (how == Conversion::Number) {
      put_number(value);
    } else if constexpr (how == Conversion::AnyNumber) {
      put_scalar(value);
    } else if constexpr (how == Conversion::Text) {
      if constexpr (std::is_pointer_v<Type>) {
        put_text(value);
      } else {
        put_text(value.data(), value.size());
      }
    } else if constexpr (how == Conversion::List) {
      put_list(list_kind<typename SizedElement<Type>::type>(), value);
    } else {
      put_pointee(std::forward<T>(value));
    }
  }
  template <class P>
  void put_pointee(P&& pointer) {
    using Type = std::decay_t<P>;
    if constexpr (HasValue<Type>::value) {
      if (!pointer.has_value()) return;
    } else if constexpr (ComparesWithNull<Type>::value) {
      if (TENON_UNLIKELY(pointer == nullptr)) refuse_null("pointer");
    }
    if constexpr (std::is_same_v<P, TensorPtr>) {
      put(std::move(*pointer));
      pointer.reset();
    } else {
      put(*pointer);
    }
  }
  template <class T>
  void put_number(T value) noexcept(is_safe_value_v<T>) {
    constexpr ValueKind kind = number_kind<T>();
    if constexpr (kind == ValueKind::Bool) {
      bool_ = value;
    } else if constexpr (kind == ValueKind::Double) {
      double_ = static_cast<double>(value);
    } else {
      int_ = to_int(value);
    }
    kind_ = kind;
  }
  template <class T>
  static int64_t to_int(T value) noexcept(is_safe_value_v<T>) {
    if constexpr (!is_safe_value_v<T>) {
      TENON_CHECK(value <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max()),
                  Error::InvalidArgument, "EValue: ", value, " does not fit an Int");
    }
    return static_cast<int64_t>(value);
  }
  void put_scalar(const tenon::Scalar& value) {
    if (value.isBoolean()) return put_number(value.to<bool>());
    if (value.isIntegral(false)) return put_number(value.to<int64_t>());
    TENON_CHECK(value.isFloatingPoint(), Error::InvalidArgument,
                "EValue: a complex Scalar is neither an Int nor a Double nor a Bool");
    put_number(value.to<double>());
  }
  template <class T>
  T* start_block(ValueKind kind, size_t count) {
    ValueBlock* const block = ValueBlock::make<T>(count);
    TENON_CHECK(block != nullptr, Error::OutOfMemory, "EValue: out of memory for ", kind, " of ",
                count);
    block->tensors = is_tensor_list(kind);
    block_ = block;
    kind_ = kind;
    return block->elements<T>();
  }
  void put_text(const char* text) {
    if (TENON_UNLIKELY(text == nullptr)) refuse_null("text");
    put_text(text, std::strlen(text));
  }
  void put_text(const char* characters, size_t size) {
    char* const to = start_block<char>(ValueKind::String, size + 1);
    if (size != 0) std::memcpy(to, characters, size);
    to[size] = '\0';
    block_->size = size;
  }
  template <class C>
  void put_list(ValueKind kind, const C& values) {
    using From = typename SizedElement<C>::type;
    constexpr ValueKind found = list_kind<From>();
    const auto count = static_cast<size_t>(std::size(values));
    if constexpr (is_tensor_list(found)) {
      Tensor* const to = start_block<Tensor>(kind, count);
      for (const auto& value : values) {
        // Counted one by one: what is there is dropped when a later one is refused.
        ::new (static_cast<void*>(to + block_->size)) Tensor(tensor_of(value));
        ++block_->size;
      }
    } else if constexpr (found == ValueKind::IntList) {
      int64_t* to = start_block<int64_t>(kind, count);
      for (const auto& value : values) *to++ = to_int(value);
      block_->size = count;
    } else if constexpr (found == ValueKind::DoubleList) {
      double* to = start_block<double>(kind, count);
      for (const auto& value : values) *to++ = static_cast<double>(value);
      block_->size = count;
    } else {
      bool* to = start_block<bool>(kind, count);
      for (const bool value : values) *to++ = value;
      block_->size = count;
    }
  }
  const Tensor& tensor_of(const Tensor& tensor) const noexcept { return tensor; }
  template <class P>
  Tensor tensor_of(const P& pointer) const {
    if constexpr (HasValue<P>::value) {
      if (!pointer.has_value()) return Tensor();
    } else if constexpr (ComparesWithNull<P>::value) {
      TENON_CHECK(pointer != nullptr, Error::InvalidState, "EValue: element ", block_->size,
                  " of the list is a null pointer");
    }
    return *pointer;
  }
  [[noreturn]] TENON_COLD static void refuse_null(const char* what) {
    raise(Error::InvalidState, {"EValue: the ", what, " is null"});
  }

  union {
    int64_t int_;
    double double_;
    bool bool_;
    ValueBlock* block_;
    Tensor tensor_;
  };
  ValueKind kind_ = ValueKind::None;
};

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

}  // namespace detail
TENON_END_NAMESPACE
