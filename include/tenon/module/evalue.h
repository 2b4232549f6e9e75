// SPDX-License-Identifier: MIT
// EValue: what goes into a model and comes out of it.
#pragma once

#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "tenon/backend/calls.h"
#include "tenon/core/optional.h"
#include "tenon/core/result.h"
#include "tenon/core/scalar.h"
#include "tenon/tensor/tensor_arg.h"

TENON_BEGIN_NAMESPACE

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"  // GCC takes ValueKind::Tensor for a second Tensor
#endif

/// What an EValue holds.
/// Source: executorch::runtime::Tag.
enum class ValueKind : uint8_t {
  None,
  Tensor,
  Int,     ///< int64_t
  Double,  ///< double
  Bool,
  String,
  TensorList,
  OptionalTensorList,  ///< tensors; an undefined one stands for none
  IntList,
  DoubleList,
  BoolList,
};

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

namespace detail {
/// "an Int", "a Tensor"; "None" alone.
constexpr const char* name_with_article(ValueKind kind) noexcept {
  return kind > ValueKind::BoolList
             ? "a value of unknown kind"
             : name_at(
                   "None\0a Tensor\0an Int\0a Double\0a Bool\0a String\0a TensorList\0"
                   "an OptionalTensorList\0an IntList\0a DoubleList\0a BoolList",
                   static_cast<size_t>(kind));
}
}  // namespace detail

/// The enumerator's name, "IntList".
constexpr const char* toString(ValueKind kind) noexcept {
  const char* const name = detail::name_with_article(kind);
  return kind == ValueKind::None ? name : name + (name[1] == 'n' ? 3 : 2);
}

class EValue;

namespace detail {

inline void append(Message& out, std::string_view text) noexcept {
  for (const char c : text) out.put(c != '\0' ? c : '?');  // a null character would end the message
}
inline void append(Message& out, ValueKind kind) noexcept { out.put(name_with_article(kind)); }

using CopyTensor = FunctionRef<Error(const Tensor& from, Tensor& to)>;

/// A list, or a text.
struct ListHead {
  size_t size = 0;
  Error (*copy)(EValue& list, const CopyTensor& copy) = nullptr;  // of tensors
};
using SharedList = std::shared_ptr<const ListHead>;
/// Its elements or characters, and a zero behind them.
template <class T>
struct ValueList : ListHead {
  std::unique_ptr<T[]> elements;
};

// As an EValue shows what it stores, in the order of ValueKind.
using ShownTypes =
    std::tuple<None, const Tensor&, int64_t, double, bool, std::string_view, ArrayRef<Tensor>,
               ArrayRef<Tensor>, ArrayRef<int64_t>, ArrayRef<double>, ArrayRef<bool>>;
template <ValueKind K>
using Shown = std::tuple_element_t<static_cast<size_t>(K), ShownTypes>;
/// What a list of that kind has.
template <ValueKind K>
using ElementOf =
    std::remove_const_t<std::remove_pointer_t<decltype(std::declval<const Shown<K>&>().data())>>;

// ---- which types convert ----

template <class T>
using Bare = std::remove_cv_t<std::remove_reference_t<T>>;

template <class P, class = void>
struct HasValue : std::false_type {};
template <class P>
struct HasValue<
    P, std::void_t<decltype(*std::declval<const P&>(), std::declval<const P&>().has_value())>>
    : std::true_type {};

/// What a smart pointer, an optional or a Result points to; void for anything else. Raw pointers do
/// not convert: they could mean a flag, a list or data.
template <class P, class = void>
struct Pointee {
  using type = void;
};
template <class P>
struct Pointee<P, std::enable_if_t<std::is_class_v<P> && std::is_constructible_v<bool, const P&>,
                                   std::void_t<decltype(*std::declval<const P&>())>>> {
  using type = Bare<decltype(*std::declval<const P&>())>;
};
template <class P>
using pointee_t = typename Pointee<P>::type;

/// The element type of a range that knows its size; else void.
template <class C, class = void>
struct SizedElement {
  using type = void;
};
template <class C>
struct SizedElement<C, std::void_t<decltype(std::begin(std::declval<const C&>())),
                                   decltype(std::end(std::declval<const C&>())),
                                   decltype(std::size(std::declval<const C&>()))>> {
  using type = std::conditional_t<std::is_same_v<C, std::vector<bool>>, bool,
                                  Bare<decltype(*std::begin(std::declval<const C&>()))>>;
};

/// The kind of value that a T becomes by its type alone, else None.
template <class T>
constexpr ValueKind kind_of() noexcept {
  using E = typename SizedElement<T>::type;
  if (std::is_same_v<T, Tensor> || std::is_same_v<T, TensorImplPtr>) return ValueKind::Tensor;
  if (std::is_same_v<T, bool>) return ValueKind::Bool;
  if (std::is_floating_point_v<T>) return ValueKind::Double;
  if (is_number_v<T>) return ValueKind::Int;
  if (std::is_same_v<T, const char*> || std::is_same_v<T, char*> ||
      std::is_same_v<Bare<typename ContiguousElement<const T>::type>, char>) {
    return ValueKind::String;
  }
  if (std::is_same_v<E, Tensor>) return ValueKind::TensorList;
  if (std::is_same_v<pointee_t<E>, Tensor>) {
    return HasValue<E>::value ? ValueKind::OptionalTensorList : ValueKind::TensorList;
  }
  if (std::is_same_v<E, bool>) return ValueKind::BoolList;
  if (std::is_floating_point_v<E>) return ValueKind::DoubleList;
  return is_number_v<E> ? ValueKind::IntList : ValueKind::None;
}

/// Whether a T, or what it points to, becomes an EValue.
template <class T>
constexpr bool is_value() noexcept {
  if constexpr (kind_of<T>() != ValueKind::None || std::is_same_v<T, tenon::Scalar> ||
                std::is_same_v<T, EValue>) {
    return true;
  } else if constexpr (!std::is_void_v<pointee_t<T>>) {
    return is_value<pointee_t<T>>();
  } else {
    return false;
  }
}
/// Whether a T, given as an argument, becomes an EValue and is none itself.
template <class T>
inline constexpr bool is_value_v =
    !std::is_same_v<std::decay_t<T>, EValue> && is_value<std::decay_t<T>>();

/// Whether a number may be beyond int64_t.
template <class T>
inline constexpr bool may_overflow_v = std::is_unsigned_v<T> && sizeof(T) >= sizeof(int64_t);

/// Whether a T becomes an EValue without a way to fail.
template <class T>
inline constexpr bool is_safe_value_v = std::is_same_v<T, Tensor> || std::is_same_v<T, TensorPtr> ||
                                        std::is_same_v<T, TensorImplPtr> ||
                                        (std::is_arithmetic_v<T> && !may_overflow_v<T>);

}  // namespace detail

/// None, a tensor, a number, a flag, a text, or a list of tensors, numbers or flags.
///
/// Converts implicitly from a Tensor, a TensorPtr, integers (Int), float and double (Double), bool,
/// Scalar, text, ranges of those (std::vector, std::array, Span, Dims: a list), and from any smart
/// pointer, optional or Result that gives one of them; an empty optional is None, a null TensorPtr
/// an undefined tensor, which modules refuse. A raw pointer does not convert. toX() is exact, as in
/// ExecuTorch and ATen: an Int is no Double; toScalar() takes any number.
///
/// Ownership: shares a tensor (its shape too): the TensorPtr may go first. A moved TensorPtr is
/// null afterwards. Texts and lists are copied once; all copies of the EValue share them, and they
/// never change. A tensor over a raw TensorImpl* stays the caller's to keep.
/// Errors: InvalidState (a null text or smart pointer, unless to a tensor), InvalidArgument (an
/// unsigned integer beyond int64_t, a complex Scalar), OutOfMemory (a text or list), and what an
/// empty Result has; toX(): InvalidType.
/// Cost: a tensor takes no allocation, a text or a list takes two. Copies and moves take none and
/// cannot fail.
/// Threads: like std::shared_ptr.
/// Source: executorch::runtime::EValue, which borrows texts and lists; c10::IValue.
class EValue {
 public:
  EValue() noexcept {}  // NOLINT: None holds nothing
  EValue(None) noexcept {}
  template <class T, std::enable_if_t<detail::is_value_v<T>, int> = 0>
  EValue(T&& value) noexcept(detail::is_safe_value_v<std::decay_t<T>>) : EValue() {
    put(std::forward<T>(value));
  }
  EValue(const EValue& other) noexcept { fill(other); }
  EValue(EValue&& other) noexcept { fill(std::move(other)); }
  /// The old value goes last: its deleter may look at this EValue.
  EValue& operator=(EValue other) noexcept {
    const EValue old(std::move(*this));
    fill(std::move(other));
    return *this;
  }
  ~EValue() {
    if (isTensor()) {
      tensor_.~Tensor();
    } else if (has_list()) {
      list_.~shared_ptr();
    }
  }
  /// Tensors of which the undefined ones stand for none.
  static EValue optional_tensor_list(ArrayRef<Tensor> tensors) {
    EValue value;
    value.put_list<ValueKind::OptionalTensorList>(tensors);
    return value;
  }
  /// Makes a list of tensors one of copies; other values stay. For modules that come with tenon:
  /// reached through the list, so that a program without one does not link it.
  Error copy_tensors(const detail::CopyTensor& copy) {
    return has_list() && list_->copy != nullptr ? list_->copy(*this, copy) : Error::Ok;
  }

  ValueKind kind() const noexcept { return kind_; }
  bool isNone() const noexcept { return kind() == ValueKind::None; }
  bool isTensor() const noexcept { return kind() == ValueKind::Tensor; }
  bool isInt() const noexcept { return kind() == ValueKind::Int; }
  bool isDouble() const noexcept { return kind() == ValueKind::Double; }
  bool isBool() const noexcept { return kind() == ValueKind::Bool; }
  bool isScalar() const noexcept { return isInt() || isDouble() || isBool(); }
  bool isString() const noexcept { return kind() == ValueKind::String; }
  bool isTensorList() const noexcept { return kind() == ValueKind::TensorList; }
  bool isOptionalTensorList() const noexcept { return kind() == ValueKind::OptionalTensorList; }
  bool isIntList() const noexcept { return kind() == ValueKind::IntList; }
  bool isDoubleList() const noexcept { return kind() == ValueKind::DoubleList; }
  bool isBoolList() const noexcept { return kind() == ValueKind::BoolList; }

  // Each raises InvalidType, "toInt: the EValue is a Tensor, Float {2, 3}", for any other kind.
  // References, texts and lists are valid as long as an EValue that shares them.
  Tensor& toTensor() & TENON_LIFETIMEBOUND {
    return const_cast<Tensor&>(std::as_const(*this).toTensor());
  }
  const Tensor& toTensor() const& TENON_LIFETIMEBOUND { return get<ValueKind::Tensor>(); }
  /// Leaves None.
  Tensor toTensor() && {
    Tensor tensor(std::move(toTensor()));
    kind_ = ValueKind::None;  // what is moved from holds nothing
    return tensor;
  }
  int64_t toInt() const { return get<ValueKind::Int>(); }
  double toDouble() const { return get<ValueKind::Double>(); }
  bool toBool() const { return get<ValueKind::Bool>(); }
  /// An Int, a Double or a Bool.
  Scalar toScalar() const {
    if (TENON_UNLIKELY(!isScalar())) raise_kind("Scalar");
    return scalar();
  }
  /// Zero-terminated.
  std::string_view toString() const TENON_LIFETIMEBOUND { return get<ValueKind::String>(); }
  ArrayRef<Tensor> toTensorList() const TENON_LIFETIMEBOUND { return get<ValueKind::TensorList>(); }
  ArrayRef<Tensor> toOptionalTensorList() const TENON_LIFETIMEBOUND {
    return get<ValueKind::OptionalTensorList>();
  }
  ArrayRef<int64_t> toIntList() const TENON_LIFETIMEBOUND { return get<ValueKind::IntList>(); }
  ArrayRef<double> toDoubleList() const TENON_LIFETIMEBOUND { return get<ValueKind::DoubleList>(); }
  ArrayRef<bool> toBoolList() const TENON_LIFETIMEBOUND { return get<ValueKind::BoolList>(); }

  Result<Tensor> tryToTensor() const { return attempt<ValueKind::Tensor>(); }
  Result<int64_t> tryToInt() const { return attempt<ValueKind::Int>(); }
  Result<double> tryToDouble() const { return attempt<ValueKind::Double>(); }
  Result<bool> tryToBool() const { return attempt<ValueKind::Bool>(); }
  Result<Scalar> tryToScalar() const {
    if (TENON_UNLIKELY(!isScalar())) return fail_kind("tryTo", "Scalar");
    return scalar();
  }
  Result<std::string_view> tryToString() const TENON_LIFETIMEBOUND {
    return attempt<ValueKind::String>();
  }
  Result<ArrayRef<Tensor>> tryToTensorList() const TENON_LIFETIMEBOUND {
    return attempt<ValueKind::TensorList>();
  }
  Result<ArrayRef<Tensor>> tryToOptionalTensorList() const TENON_LIFETIMEBOUND {
    return attempt<ValueKind::OptionalTensorList>();
  }
  Result<ArrayRef<int64_t>> tryToIntList() const TENON_LIFETIMEBOUND {
    return attempt<ValueKind::IntList>();
  }
  Result<ArrayRef<double>> tryToDoubleList() const TENON_LIFETIMEBOUND {
    return attempt<ValueKind::DoubleList>();
  }
  Result<ArrayRef<bool>> tryToBoolList() const TENON_LIFETIMEBOUND {
    return attempt<ValueKind::BoolList>();
  }

  /// "a Tensor, Float {2, 3}", "an Int, 5", "a String, "abc"", "an IntList of 2", "None".
  friend TENON_COLD void append(detail::Message& out, const EValue& from) noexcept {
    detail::append(out, from.kind());
    if (from.isNone()) return;
    // On bare metal a text's size is enough, and the digits of a Double would take 5 KB of software
    // arithmetic.
    if (from.kind() > ValueKind::String || (TENON_BARE_METAL && from.isString())) {
      out.put(" of ");
      return out.put_unsigned(from.list_->size);
    }
    if (TENON_BARE_METAL && from.isDouble()) return;
#if TENON_ATEN_MODE
    if (from.isTensor() && from.tensor_.defined() &&
        detail::ArgAccess::refusal(TensorArg(from.tensor_)).error != Error::Ok) {
      return;
    }
#endif
    out.put(", ");
    if (!TENON_BARE_METAL && from.isString()) {
      constexpr size_t kShown = 40;
      const std::string_view text = from.stored<ValueKind::String>();
      out.put('"');
      detail::append(out, text.substr(0, kShown));
      out.put(text.size() > kShown ? "\"..." : "\"");
    } else if (!TENON_BARE_METAL && from.isBool()) {
      detail::append(out, from.number_.integer != 0);
    } else if (from.isInt() || from.isBool()) {
      out.put_signed(from.number_.integer);
    } else if (!TENON_BARE_METAL && from.isDouble()) {
      detail::append(out, from.number_.real);
    } else if (const TensorArg tensor(from.tensor_); tensor.defined()) {
      detail::append(out, detail::fields(tensor).type);
      out.put(' ');
      detail::append(out, detail::fields(tensor).layout.sizes());
    } else {
      out.put("undefined");
    }
  }

 private:
  TENON_COLD Error fail_kind(const char* to, const char* kind) const noexcept {
    return detail::fail(Error::InvalidType, to, kind, ": the EValue is ", *this);
  }
  [[noreturn]] TENON_COLD void raise_kind(const char* kind) const {
    const Error error = fail_kind("to", kind);
    detail::raise_message(error, last_error_message());
  }
  template <ValueKind K>
  detail::Shown<K> stored() const noexcept {
    if constexpr (K == ValueKind::Tensor) {
      return tensor_;
    } else if constexpr (K == ValueKind::Double) {
      return number_.real;
    } else if constexpr (K == ValueKind::Int || K == ValueKind::Bool) {
      return static_cast<detail::Shown<K>>(number_.integer);
    } else {
      const auto& list = static_cast<const detail::ValueList<detail::ElementOf<K>>&>(*list_);
      return {list.elements.get(), list.size};
    }
  }
  template <ValueKind K>
  detail::Shown<K> get() const {
    if (TENON_UNLIKELY(kind_ != K)) raise_kind(tenon::toString(K));
    return stored<K>();
  }
  template <ValueKind K>
  Result<std::decay_t<detail::Shown<K>>> attempt() const {
    if (TENON_UNLIKELY(kind_ != K)) return fail_kind("tryTo", tenon::toString(K));
    return std::decay_t<detail::Shown<K>>(stored<K>());
  }
  Scalar scalar() const noexcept {
    if (isInt()) return stored<ValueKind::Int>();
    if (isDouble()) return stored<ValueKind::Double>();
    return stored<ValueKind::Bool>();
  }

  bool has_list() const noexcept { return kind_ >= ValueKind::String; }
  /// Makes None what `other` is, which becomes None if it is an rvalue.
  template <class From>
  void fill(From&& other) noexcept {
    kind_ = other.kind_;
    if constexpr (!std::is_lvalue_reference_v<From>) other.kind_ = ValueKind::None;
    if (isTensor()) {
      ::new (static_cast<void*>(&tensor_)) Tensor(std::forward<From>(other).tensor_);
    } else if (has_list()) {
      ::new (static_cast<void*>(&list_)) detail::SharedList(std::forward<From>(other).list_);
    } else if (!isNone()) {
      number_ = other.number_;
    }
  }
  /// Makes None a value.
  template <ValueKind K, class T>
  void set(T&& value) noexcept {
    if constexpr (K == ValueKind::Tensor) {
      ::new (static_cast<void*>(&tensor_)) Tensor(std::forward<T>(value));
    } else if constexpr (K == ValueKind::Double) {
      number_.real = value;
    } else {
      number_.integer = value;
    }
    kind_ = K;
  }
  template <class T>
  void put(T&& value) {
    using Type = std::decay_t<T>;
    constexpr ValueKind kKind = detail::kind_of<Type>();
    if constexpr (std::is_same_v<Type, EValue>) {
      *this = std::forward<T>(value);
    } else if constexpr (std::is_same_v<Type, Tensor>) {
      set<kKind>(std::forward<T>(value));
    } else if constexpr (std::is_same_v<Type, TensorImplPtr>) {
      set<kKind>(value.get() == nullptr ? Tensor() : Tensor(std::forward<T>(value)));
    } else if constexpr (std::is_arithmetic_v<Type>) {
      set<kKind>(element<detail::Shown<kKind>>(value));
    } else if constexpr (std::is_same_v<Type, Scalar>) {
      TENON_CHECK(!value.isComplex(), Error::InvalidArgument,
                  "EValue: a complex Scalar is neither an Int nor a Double nor a Bool");
      if (value.isBoolean()) return put(value.template to<bool>());
      if (value.isIntegral(false)) return put(value.template to<int64_t>());
      put(value.template to<double>());
    } else if constexpr (std::is_pointer_v<Type>) {
      const Type text = value;  // GCC 11 warns where an array is compared
      if (TENON_UNLIKELY(text == nullptr)) refuse_null("text");
      put_list<kKind>(std::string_view(text));
    } else if constexpr (kKind != ValueKind::None) {
      put_list<kKind>(value);
    } else {
      put_pointee(std::forward<T>(value));
    }
  }
  template <class P>
  void put_pointee(P&& pointer) {
    using Type = std::decay_t<P>;
    if constexpr (detail::HasValue<Type>::value) {
      if (!pointer.has_value()) return;
    } else if constexpr (std::is_same_v<detail::pointee_t<Type>, Tensor> &&
                         !detail::IsResult<Type>::value) {
      if (!pointer) return set<ValueKind::Tensor>(Tensor());
    } else if constexpr (!detail::IsResult<Type>::value) {
      if (TENON_UNLIKELY(!pointer)) refuse_null("pointer");
    }
    if constexpr (std::is_same_v<P, TensorPtr>) {
      put(std::move(*pointer));
      pointer.reset();
    } else {
      put(*pointer);
    }
  }
  template <ValueKind K, class C>
  void put_list(const C& values) {
    if constexpr (std::is_same_v<C, Dims>) {
      detail::raise_if("EValue", detail::check_dims("the list", values));
    }
    auto* const elements = new_list<K>(static_cast<size_t>(std::size(values)));
    size_t i = 0;
    for (const auto& value : values) elements[i++] = element<detail::ElementOf<K>>(value);
  }
  /// Makes None a list of `count` elements, which are T().
  template <ValueKind K>
  detail::ElementOf<K>* new_list(size_t count) {
    using T = detail::ElementOf<K>;
    std::shared_ptr<detail::ValueList<T>> list;
    const Error error = detail::call_safely([&] {
      if (count == SIZE_MAX) return Error::OutOfMemory;
      if constexpr (TENON_HEAP) {
        list = std::make_shared<detail::ValueList<T>>();
        list->elements.reset(new T[count + 1]());
      }
      return list != nullptr ? Error::Ok : Error::OutOfMemory;
    });
    if (TENON_UNLIKELY(error != Error::Ok)) {
      detail::raise(error, "EValue: " TENON_OUT_OF_MEMORY " for ", K, " of ", count);
    }
    list->size = count;
    if constexpr (std::is_same_v<T, Tensor>) list->copy = &copy_list<K>;
    T* const elements = list->elements.get();
    ::new (static_cast<void*>(&list_)) detail::SharedList(std::move(list));
    kind_ = K;
    return elements;
  }
  template <ValueKind K>
  static Error copy_list(EValue& list, const detail::CopyTensor& copy) {
    const EValue from = list;
    EValue to;
    Tensor* const copies = to.new_list<K>(from.list_->size);
    for (size_t i = 0; i < from.list_->size; ++i) {
      const Tensor& tensor = from.stored<K>()[i];
      if (tensor.defined()) TENON_TRY(copy(tensor, copies[i]));
    }
    list = std::move(to);
    return Error::Ok;
  }
  /// An element of a list, or a number.
  template <class T, class From>
  static T element(const From& from) {
    if constexpr (detail::may_overflow_v<From>) {
      TENON_CHECK(from <= uint64_t{INT64_MAX}, Error::InvalidArgument, "EValue: ", from,
                  " does not fit an Int");
    } else if constexpr (std::is_same_v<T, Tensor> && !std::is_same_v<From, Tensor> &&
                         !detail::IsResult<From>::value) {
      if (!from) return T();
    }
    if constexpr (std::is_same_v<T, From> || std::is_arithmetic_v<T>) {
      return static_cast<T>(from);
    } else {
      return *from;
    }
  }
  [[noreturn]] TENON_COLD static void refuse_null(const char* what) {
    detail::raise(Error::InvalidState, "EValue: the ", what, " is null");
  }

  union Number {
    int64_t integer;  // 0 and 1 for a flag
    double real;
  };

  ValueKind kind_ = ValueKind::None;
  // Not a std::variant, whose copies and moves are a function for each kind.
  union {
    void* zeros_[2] = {};  // GCC at -O3 takes what no branch reads for uninitialised
    Number number_;
    Tensor tensor_;
    detail::SharedList list_;
  };
};

static_assert(std::is_nothrow_move_constructible_v<EValue>);
static_assert(std::is_nothrow_copy_constructible_v<EValue>);

TENON_END_NAMESPACE
