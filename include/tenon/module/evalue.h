// SPDX-License-Identifier: MIT
// EValue: what goes into a model and comes out of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

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

/// The enumerator's name, "IntList".
constexpr const char* toString(ValueKind kind) noexcept {
  constexpr const char* kNames[] = {"None",    "Tensor",     "Int",        "Double",
                                    "Bool",    "String",     "TensorList", "OptionalTensorList",
                                    "IntList", "DoubleList", "BoolList"};
  return kind <= ValueKind::BoolList ? kNames[static_cast<size_t>(kind)] : "unknown kind";
}

class EValue;

namespace detail {

/// With its article: "an Int", "a Tensor"; "None" alone.
inline void append(Message& out, ValueKind kind) noexcept {
  const char* const name = tenon::toString(kind);
  if (kind != ValueKind::None) out.put(*name == 'I' || *name == 'O' ? "an " : "a ");
  out.put(name);
}

/// The elements of a list.
template <class T>
struct ValueList {
  std::unique_ptr<T[]> elements;
  size_t size = 0;
};
using SharedText = std::shared_ptr<const std::string>;
template <class T>
using SharedList = std::shared_ptr<const ValueList<T>>;

// As an EValue shows what it stores.
template <class T>
const T& shown(const T& value) noexcept {
  return value;
}
inline std::string_view shown(const SharedText& text) noexcept { return *text; }
template <class T>
ArrayRef<T> shown(const SharedList<T>& list) noexcept {
  return {list->elements.get(), list->size};
}

// In the order of ValueKind.
using ValueStorage =
    std::variant<std::monostate, Tensor, int64_t, double, bool, SharedText, SharedList<Tensor>,
                 SharedList<Tensor>, SharedList<int64_t>, SharedList<double>, SharedList<bool>>;
template <ValueKind K>
using ValueOf = std::variant_alternative_t<static_cast<size_t>(K), ValueStorage>;
template <ValueKind K>
using Shown = decltype(shown(std::declval<const ValueOf<K>&>()));

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
  using type = Bare<decltype(*std::begin(std::declval<const C&>()))>;
};

template <class T>
constexpr ValueKind number_kind() noexcept {
  return std::is_same_v<T, bool>       ? ValueKind::Bool
         : std::is_floating_point_v<T> ? ValueKind::Double
         : is_number_v<T>              ? ValueKind::Int
                                       : ValueKind::None;
}

/// The list that a range becomes; None for anything else.
template <class C>
constexpr ValueKind list_kind() noexcept {
  using E = typename SizedElement<C>::type;
  if (!std::is_class_v<C>) return ValueKind::None;
  if (std::is_same_v<pointee_t<E>, Tensor> && HasValue<E>::value) {
    return ValueKind::OptionalTensorList;
  }
  if (std::is_same_v<E, Tensor> || std::is_same_v<pointee_t<E>, Tensor>) {
    return ValueKind::TensorList;
  }
  switch (number_kind<E>()) {
    case ValueKind::Int: return ValueKind::IntList;
    case ValueKind::Double: return ValueKind::DoubleList;
    case ValueKind::Bool: return ValueKind::BoolList;
    default: return ValueKind::None;
  }
}

template <class T>
inline constexpr bool is_text_v =
    std::is_same_v<T, const char*> || std::is_same_v<T, char*> ||
    std::is_same_v<Bare<typename ContiguousElement<const T>::type>, char>;

/// Whether a T, or what it points to, becomes an EValue.
template <class T>
constexpr bool is_value() noexcept {
  if constexpr (number_kind<T>() != ValueKind::None || is_text_v<T> ||
                list_kind<T>() != ValueKind::None || std::is_same_v<T, Tensor> ||
                std::is_same_v<T, TensorImplPtr> || std::is_same_v<T, tenon::Scalar> ||
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

/// Whether it does so without a way to fail.
template <class T>
inline constexpr bool is_safe_value_v = std::is_same_v<T, Tensor> ||
                                        (number_kind<T>() != ValueKind::None &&
                                         !(std::is_unsigned_v<T> && !std::is_same_v<T, bool> &&
                                           sizeof(T) >= sizeof(int64_t)));

}  // namespace detail

/// None, a tensor, a number, a flag, a text, or a list of tensors, numbers or flags.
///
/// Converts implicitly from a Tensor, a TensorPtr, integers (Int), float and double (Double), bool,
/// Scalar, text, ranges of those (std::vector, std::array, Span, Dims: a list), and from any smart
/// pointer, optional or Result that gives one of them; an empty optional is None. A raw pointer
/// does not convert. toX() is exact, as in ExecuTorch and ATen: an Int is no Double; toScalar()
/// takes any number.
///
/// Ownership: shares a tensor (its shape too): the TensorPtr may go first. A moved TensorPtr is
/// null afterwards. Texts and lists are copied once; all copies of the EValue share them, and they
/// never change. A tensor over a raw TensorImpl* stays the caller's to keep.
/// Errors: InvalidState (a null smart pointer or text), InvalidArgument (an unsigned integer beyond
/// int64_t, a complex Scalar), OutOfMemory (a text or list), and what an empty Result has; toX():
/// InvalidType.
/// Cost: a tensor takes no allocation, a text or a list takes two. Copies and moves take none and
/// cannot fail.
/// Threads: like std::shared_ptr.
/// Source: executorch::runtime::EValue, which borrows texts and lists; c10::IValue.
class EValue {
 public:
  EValue() noexcept = default;
  EValue(None) noexcept {}
  template <class T, std::enable_if_t<detail::is_value_v<T>, int> = 0>
  EValue(T&& value) noexcept(detail::is_safe_value_v<std::decay_t<T>>) {
    put(std::forward<T>(value));
  }
  EValue(const EValue&) noexcept = default;
  EValue(EValue&& other) noexcept { value_.swap(other.value_); }
  /// The old value goes last: its deleter may look at this EValue.
  EValue& operator=(EValue other) noexcept {
    value_.swap(other.value_);
    return *this;
  }
  ~EValue() = default;
  /// Tensors of which the undefined ones stand for none.
  static EValue optional_tensor_list(ArrayRef<Tensor> tensors) {
    EValue value;
    value.put_list<ValueKind::OptionalTensorList>(tensors);
    return value;
  }

  ValueKind kind() const noexcept { return static_cast<ValueKind>(value_.index()); }
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
  Tensor& toTensor() & { return const_cast<Tensor&>(std::as_const(*this).toTensor()); }
  const Tensor& toTensor() const& { return get<ValueKind::Tensor>("toTensor"); }
  /// Leaves None.
  Tensor toTensor() && {
    Tensor tensor(std::move(toTensor()));
    value_.emplace<0>();
    return tensor;
  }
  int64_t toInt() const { return get<ValueKind::Int>("toInt"); }
  double toDouble() const { return get<ValueKind::Double>("toDouble"); }
  bool toBool() const { return get<ValueKind::Bool>("toBool"); }
  /// An Int, a Double or a Bool.
  Scalar toScalar() const {
    if (TENON_UNLIKELY(!isScalar())) detail::raise_if("toScalar", fail_kind());
    return scalar();
  }
  /// Zero-terminated.
  std::string_view toString() const { return get<ValueKind::String>("toString"); }
  ArrayRef<Tensor> toTensorList() const { return get<ValueKind::TensorList>("toTensorList"); }
  ArrayRef<Tensor> toOptionalTensorList() const {
    return get<ValueKind::OptionalTensorList>("toOptionalTensorList");
  }
  ArrayRef<int64_t> toIntList() const { return get<ValueKind::IntList>("toIntList"); }
  ArrayRef<double> toDoubleList() const { return get<ValueKind::DoubleList>("toDoubleList"); }
  ArrayRef<bool> toBoolList() const { return get<ValueKind::BoolList>("toBoolList"); }

  Result<Tensor> tryToTensor() const { return attempt<ValueKind::Tensor>("tryToTensor"); }
  Result<int64_t> tryToInt() const { return attempt<ValueKind::Int>("tryToInt"); }
  Result<double> tryToDouble() const { return attempt<ValueKind::Double>("tryToDouble"); }
  Result<bool> tryToBool() const { return attempt<ValueKind::Bool>("tryToBool"); }
  Result<Scalar> tryToScalar() const {
    if (TENON_UNLIKELY(!isScalar())) return detail::blame("tryToScalar", fail_kind());
    return scalar();
  }
  Result<std::string_view> tryToString() const { return attempt<ValueKind::String>("tryToString"); }
  Result<ArrayRef<Tensor>> tryToTensorList() const {
    return attempt<ValueKind::TensorList>("tryToTensorList");
  }
  Result<ArrayRef<Tensor>> tryToOptionalTensorList() const {
    return attempt<ValueKind::OptionalTensorList>("tryToOptionalTensorList");
  }
  Result<ArrayRef<int64_t>> tryToIntList() const {
    return attempt<ValueKind::IntList>("tryToIntList");
  }
  Result<ArrayRef<double>> tryToDoubleList() const {
    return attempt<ValueKind::DoubleList>("tryToDoubleList");
  }
  Result<ArrayRef<bool>> tryToBoolList() const {
    return attempt<ValueKind::BoolList>("tryToBoolList");
  }

  /// "a Tensor, Float {2, 3}", "an Int, 5", "a String, "abc"", "an IntList of 2", "None".
  friend void append(detail::Message& out, const EValue& value) noexcept { value.describe(out); }

 private:
  TENON_COLD Error fail_kind() const noexcept {
    return detail::fail(Error::InvalidType, "the EValue is ", *this);
  }
  template <ValueKind K>
  const detail::ValueOf<K>& stored() const noexcept {
    return *std::get_if<static_cast<size_t>(K)>(&value_);
  }
  template <ValueKind K>
  detail::Shown<K> get(const char* function) const {
    if (TENON_UNLIKELY(kind() != K)) detail::raise_if(function, fail_kind());
    return detail::shown(stored<K>());
  }
  template <ValueKind K>
  Result<std::decay_t<detail::Shown<K>>> attempt(const char* function) const {
    if (TENON_UNLIKELY(kind() != K)) return detail::blame(function, fail_kind());
    return std::decay_t<detail::Shown<K>>(detail::shown(stored<K>()));
  }
  Scalar scalar() const noexcept {
    if (isInt()) return stored<ValueKind::Int>();
    if (isDouble()) return stored<ValueKind::Double>();
    return stored<ValueKind::Bool>();
  }

  template <ValueKind K, class T>
  void set(T&& value) noexcept {
    value_.template emplace<static_cast<size_t>(K)>(std::forward<T>(value));
  }
  template <class T>
  void put(T&& value) {
    using Type = std::decay_t<T>;
    constexpr ValueKind kNumber = detail::number_kind<Type>();
    if constexpr (std::is_same_v<Type, EValue>) {
      *this = std::forward<T>(value);
    } else if constexpr (std::is_same_v<Type, Tensor>) {
      set<ValueKind::Tensor>(std::forward<T>(value));
    } else if constexpr (std::is_same_v<Type, TensorImplPtr>) {
      if (TENON_UNLIKELY(value.get() == nullptr)) refuse_null("pointer");
      set<ValueKind::Tensor>(Tensor(std::forward<T>(value)));
    } else if constexpr (kNumber != ValueKind::None) {
      set<kNumber>(element<detail::ValueOf<kNumber>>(value));
    } else if constexpr (std::is_same_v<Type, Scalar>) {
      TENON_CHECK(!value.isComplex(), Error::InvalidArgument,
                  "EValue: a complex Scalar is neither an Int nor a Double nor a Bool");
      if (value.isBoolean()) return put(value.template to<bool>());
      if (value.isIntegral(false)) return put(value.template to<int64_t>());
      put(value.template to<double>());
    } else if constexpr (std::is_pointer_v<Type>) {
      if (TENON_UNLIKELY(value == nullptr)) refuse_null("text");
      put_text(value);
    } else if constexpr (detail::is_text_v<Type>) {
      put_text({value.data(), value.size()});
    } else if constexpr (detail::list_kind<Type>() != ValueKind::None) {
      put_list<detail::list_kind<Type>()>(value);
    } else {
      put_pointee(std::forward<T>(value));
    }
  }
  template <class P>
  void put_pointee(P&& pointer) {
    using Type = std::decay_t<P>;
    if constexpr (detail::HasValue<Type>::value) {
      if (!pointer.has_value()) return;
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
  /// Calls `make`, which allocates.
  template <class Make>
  static void allocate(ValueKind kind, size_t count, const Make& make) {
    if (TENON_UNLIKELY(detail::call_safely(make) != Error::Ok)) {
      detail::raise(Error::OutOfMemory, "EValue: out of memory for ", kind, " of ", count);
    }
  }
  void put_text(std::string_view text) {
    allocate(ValueKind::String, text.size(), [&] {
      set<ValueKind::String>(std::make_shared<const std::string>(text));
      return Error::Ok;
    });
  }
  template <ValueKind K, class C>
  void put_list(const C& values) {
    using List = std::remove_const_t<typename detail::ValueOf<K>::element_type>;
    using T = typename decltype(List::elements)::element_type;
    const auto count = static_cast<size_t>(std::size(values));
    std::shared_ptr<List> list;
    allocate(K, count, [&] {
      list = std::make_shared<List>();
      list->elements.reset(new T[count]);
      return Error::Ok;
    });
    for (const auto& value : values) {
      list->elements[list->size] = element<T>(value, list->size);
      ++list->size;
    }
    set<K>(std::move(list));
  }
  template <class T, class From>
  static T element(const From& from, size_t index = 0) noexcept(detail::is_safe_value_v<From>) {
    if constexpr (std::is_same_v<From, Tensor>) {
      return from;
    } else if constexpr (std::is_same_v<T, Tensor> && detail::HasValue<From>::value) {
      return from.has_value() ? Tensor(*from) : Tensor();
    } else if constexpr (std::is_same_v<T, Tensor>) {
      if constexpr (!detail::IsResult<From>::value) {
        TENON_CHECK(static_cast<bool>(from), Error::InvalidState, "EValue: element ", index,
                    " of the list is a null pointer");
      }
      return *from;
    } else {
      if constexpr (!detail::is_safe_value_v<From>) {
        TENON_CHECK(from <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max()),
                    Error::InvalidArgument, "EValue: ", from, " does not fit an Int");
      }
      return static_cast<T>(from);
    }
  }
  [[noreturn]] TENON_COLD static void refuse_null(const char* what) {
    detail::raise(Error::InvalidState, "EValue: the ", what, " is null");
  }

  TENON_COLD void describe(detail::Message& out) const noexcept {
    detail::append(out, kind());
    const auto add = [&](const auto& value) {
      using T = std::decay_t<decltype(value)>;
      if constexpr (std::is_same_v<T, Tensor>) {
        describe_tensor(out, value);
      } else if constexpr (std::is_arithmetic_v<T>) {
        out.put(", ");
        detail::append(out, value);
      } else if constexpr (std::is_same_v<T, detail::SharedText>) {
        constexpr size_t kShown = 40;
        out.put(", \"");
        for (const char c : std::string_view(*value).substr(0, kShown)) out.put(c);
        out.put(value->size() > kShown ? "\"..." : "\"");
      } else if constexpr (!std::is_same_v<T, std::monostate>) {
        out.put(" of ");
        detail::append(out, value->size);
      }
    };
    std::visit(add, value_);
  }
  static void describe_tensor(detail::Message& out, const Tensor& value) noexcept {
    const TensorArg tensor(value);
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

  detail::ValueStorage value_;
};

static_assert(std::is_nothrow_move_constructible_v<EValue>);
static_assert(std::is_nothrow_copy_constructible_v<EValue>);

TENON_END_NAMESPACE
