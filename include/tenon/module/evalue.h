// SPDX-License-Identifier: MIT
// EValue: a model's input or output.
#pragma once

#include <memory>
#include <string_view>

#include "tenon/backend/calls.h"
#include "tenon/module/value_kind.h"

TENON_BEGIN_NAMESPACE
namespace detail {

using CopyTensor = FunctionRef<Error(const Tensor& from, Tensor& to)>;

/// The head of a list or a text.
struct ListHead {
  size_t size = 0;
  Error (*copy)(EValue& list, const CopyTensor& copy) = nullptr;  // for a list of tensors
};
using SharedList = std::shared_ptr<const ListHead>;
/// A list with its elements, or a text's characters and a zero.
template <class T>
struct ValueList : ListHead {
  std::unique_ptr<T[]> elements;
};
/// A text; with `view` it can be read as a list of one text.
struct TextValue : ValueList<char> {
  std::string_view view;
};
inline constexpr size_t kMostBytes = PTRDIFF_MAX;
/// A list of texts: views of `characters`, in which a zero follows each text.
struct TextList : ValueList<std::string_view> {
  std::unique_ptr<char[]> characters;
};

}  // namespace detail

/// None, a tensor, a number, a flag, a text, or a list of tensors, numbers, flags or texts.
///
/// Converts implicitly from a Tensor, a TensorPtr, integers (Int), float and double (Double), bool,
/// Scalar, text, ranges of those (std::vector, std::array, Span, Dims: a list), and from any smart
/// pointer, optional or Result of such a value. An empty optional becomes None; a null TensorPtr
/// becomes an undefined tensor, which modules refuse. A raw pointer does not convert. toX() is
/// exact, as in ExecuTorch and ATen: an Int is not a Double. But toScalar() returns any number, and
/// toStringList() accepts a String too. Texts are bytes of any encoding and may contain zeros.
///
/// Ownership: shares a tensor, its shape too; the TensorPtr may be dropped. A moved TensorPtr is
/// null afterwards. Texts and lists are copied once; all copies of the EValue share that immutable
/// copy. For a tensor over a raw TensorImpl* the caller keeps the impl alive.
/// Errors: InvalidState (a null text, in a list too; a null smart pointer to anything but a
/// tensor), InvalidArgument (an unsigned integer beyond int64_t, a complex Scalar), OutOfMemory (a
/// text or a list), and the error of a failed Result; toX(): InvalidType.
/// Cost: no allocation for a tensor, two for a text or a list, three for a list of texts. Copies
/// and moves allocate nothing and cannot fail.
/// Threads: like std::shared_ptr.
/// Source: executorch::runtime::EValue, which borrows texts and lists; c10::IValue.
class EValue {
 public:
  /// None, or a value of any type that converts.
  EValue() noexcept {}  // NOLINT: None holds nothing
  EValue(None) noexcept {}
  template <class T, std::enable_if_t<detail::is_value_v<T>, int> = 0>
  EValue(T&& value) noexcept(detail::is_safe_value_v<std::decay_t<T>>) : EValue() {
    put(std::forward<T>(value));
  }
  EValue(const EValue& other) noexcept { fill(other); }
  EValue(EValue&& other) noexcept { fill(std::move(other)); }
  /// Destroys the old value last: a deleter may read this EValue.
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
  /// A list of tensors; an undefined tensor means None.
  static EValue optional_tensor_list(ArrayRef<Tensor> tensors) {
    EValue value;
    value.put_list<ValueKind::OptionalTensorList>(tensors);
    return value;
  }
  /// Replaces a list's tensors by copies; does nothing for other values. For tenon's modules. Calls
  /// a pointer in the list, so that a program without lists does not link 2 KB.
  Error copy_tensors(const detail::CopyTensor& copy) {
    return has_list() && list_->copy != nullptr ? list_->copy(*this, copy) : Error::Ok;
  }

  /// The kind of the value.
  ValueKind kind() const noexcept { return kind_; }
  /// Whether the value is of that kind; isScalar(): an Int, a Double or a Bool. @{
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
  bool isStringList() const noexcept { return kind() == ValueKind::StringList; }
  ///@}

  /// The tensor. References to tensors, texts and lists are valid while an EValue shares them.
  /// Errors: InvalidType, "toInt: the EValue is a Tensor, Float {2, 3}", for another kind.
  Tensor& toTensor() & TENON_LIFETIMEBOUND {
    return const_cast<Tensor&>(std::as_const(*this).toTensor());
  }
  const Tensor& toTensor() const& TENON_LIFETIMEBOUND { return get<ValueKind::Tensor>(); }
  /// The EValue becomes None.
  Tensor toTensor() && {
    Tensor tensor(std::move(toTensor()));
    kind_ = ValueKind::None;  // a moved-from EValue holds nothing
    return tensor;
  }
  /// The number. @{
  int64_t toInt() const { return get<ValueKind::Int>(); }
  double toDouble() const { return get<ValueKind::Double>(); }
  bool toBool() const { return get<ValueKind::Bool>(); }
  ///@}
  /// An Int, a Double or a Bool.
  Scalar toScalar() const {
    if (!isScalar()) raise_kind("Scalar");
    return scalar();
  }
  /// The text, zero-terminated.
  std::string_view toString() const TENON_LIFETIMEBOUND { return get<ValueKind::String>(); }
  /// The tensors.
  ArrayRef<Tensor> toTensorList() const TENON_LIFETIMEBOUND { return get<ValueKind::TensorList>(); }
  /// The tensors; an undefined tensor means None.
  ArrayRef<Tensor> toOptionalTensorList() const TENON_LIFETIMEBOUND {
    return get<ValueKind::OptionalTensorList>();
  }
  /// The numbers. @{
  ArrayRef<int64_t> toIntList() const TENON_LIFETIMEBOUND { return get<ValueKind::IntList>(); }
  ArrayRef<double> toDoubleList() const TENON_LIFETIMEBOUND { return get<ValueKind::DoubleList>(); }
  ArrayRef<bool> toBoolList() const TENON_LIFETIMEBOUND { return get<ValueKind::BoolList>(); }
  ///@}
  /// The texts of a StringList, or a String as a list of one text. Each text is zero-terminated.
  ArrayRef<std::string_view> toStringList() const TENON_LIFETIMEBOUND {
    return get<ValueKind::StringList>();
  }

  Result<Tensor> tryToTensor() const { return attempt<ValueKind::Tensor>(); }
  Result<int64_t> tryToInt() const { return attempt<ValueKind::Int>(); }
  Result<double> tryToDouble() const { return attempt<ValueKind::Double>(); }
  Result<bool> tryToBool() const { return attempt<ValueKind::Bool>(); }
  Result<Scalar> tryToScalar() const {
    if (!isScalar()) return fail_kind("tryTo", "Scalar");
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
  Result<ArrayRef<std::string_view>> tryToStringList() const TENON_LIFETIMEBOUND {
    return attempt<ValueKind::StringList>();
  }

  /// "a Tensor, Float {2, 3}", "an Int, 5", "a String, "abc"", "an IntList of 2", "None".
  friend TENON_COLD void append(detail::Message& out, const EValue& from) noexcept {
    detail::append(out, from.kind());
    if (from.isNone()) return;
    // On bare metal a text is described by its size, and a Double without its digits, which would
    // take 5 KB of software arithmetic.
    if (from.kind() > ValueKind::String || (TENON_BARE_METAL && from.isString())) {
      out.put(" of ");
      return out.put_unsigned(from.list_->size);
    }
    if (TENON_BARE_METAL && from.isDouble()) return;
    if (from.isTensor() && !detail::is_described(TensorArg(from.tensor_))) return;
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
      if constexpr (K == ValueKind::StringList) {
        if (isString()) return {&static_cast<const detail::TextValue&>(*list_).view, 1};
      }
      const auto& list = static_cast<const detail::ValueList<detail::ElementOf<K>>&>(*list_);
      return {list.elements.get(), list.size};
    }
  }
  template <ValueKind K>
  bool is() const noexcept {
    return kind_ == K || (K == ValueKind::StringList && isString());
  }
  template <ValueKind K>
  detail::Shown<K> get() const {
    if (!is<K>()) raise_kind(tenon::toString(K));
    return stored<K>();
  }
  template <ValueKind K>
  Result<std::decay_t<detail::Shown<K>>> attempt() const {
    if (!is<K>()) return fail_kind("tryTo", tenon::toString(K));
    return std::decay_t<detail::Shown<K>>(stored<K>());
  }
  Scalar scalar() const noexcept {
    if (isInt()) return stored<ValueKind::Int>();
    if (isDouble()) return stored<ValueKind::Double>();
    return stored<ValueKind::Bool>();
  }

  bool has_list() const noexcept { return kind_ >= ValueKind::String; }
  /// Takes `other`'s value. This must be None; an rvalue `other` is None afterwards.
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
  /// Stores a value. This must be None.
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
    } else if constexpr (kKind == ValueKind::String) {
      put_list<kKind>(text_of(value));
    } else if constexpr (kKind == ValueKind::StringList) {
      put_texts(value);
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
      if (!pointer) raise_null("pointer");
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
    auto* const elements = make_list<K>(static_cast<size_t>(std::size(values)));
    size_t i = 0;
    for (const auto& value : values) elements[i++] = element<detail::ElementOf<K>>(value);
  }
  template <class C>
  void put_texts(const C& texts) {
    size_t bytes = 0;
    for (const auto& each : texts) {
      const size_t size = text_of(each).size();
      bytes = size < detail::kMostBytes - bytes ? bytes + size + 1 : detail::kMostBytes;
    }
    std::string_view* view =
        make_list<ValueKind::StringList>(static_cast<size_t>(std::size(texts)), bytes);
    char* to = static_cast<const detail::TextList&>(*list_).characters.get();
    for (const auto& each : texts) {
      const std::string_view text = text_of(each);
      text.copy(to, text.size());
      to[text.size()] = '\0';
      *view++ = {to, text.size()};
      to += text.size() + 1;
    }
  }
  template <class T>
  static std::string_view text_of(const T& text) {
    if constexpr (std::is_pointer_v<std::decay_t<T>>) {
      const char* const characters = text;  // GCC 11 warns about comparing an array
      if (characters == nullptr) raise_null("text");
      return characters;
    } else {
      return {text.data(), text.size()};
    }
  }
  /// Stores a list of `count` elements T(); for texts, `bytes` is the room for characters and
  /// zeros. This must be None.
  template <ValueKind K>
  detail::ElementOf<K>* make_list(size_t count, size_t bytes = 0) {
    using T = detail::ElementOf<K>;
    using List = std::conditional_t<
        K == ValueKind::String, detail::TextValue,
        std::conditional_t<K == ValueKind::StringList, detail::TextList, detail::ValueList<T>>>;
    std::shared_ptr<List> list;
    const Error error = detail::call_safely([&] {
      if (count == SIZE_MAX || bytes == detail::kMostBytes) return Error::OutOfMemory;
      if constexpr (TENON_HEAP) {
        list = std::make_shared<List>();
        list->elements.reset(new T[count + 1]());
        if constexpr (K == ValueKind::StringList) list->characters.reset(new char[bytes]);
        if constexpr (K == ValueKind::String) list->view = {list->elements.get(), count};
      }
      return list != nullptr ? Error::Ok : Error::OutOfMemory;
    });
    if (error != Error::Ok) {
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
    Tensor* const copies = to.make_list<K>(from.list_->size);
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
  [[noreturn]] TENON_COLD static void raise_null(const char* what) {
    detail::raise(Error::InvalidState, "EValue: the ", what, " is null");
  }

  union Number {
    int64_t integer;  // 0 or 1 for a Bool
    double real;
  };

  ValueKind kind_ = ValueKind::None;
  // Not a std::variant, whose copies and moves take a function for each kind.
  union {
    void* zeros_[2] = {};  // set only for GCC's -Wmaybe-uninitialized at -O3
    Number number_;
    Tensor tensor_;
    detail::SharedList list_;
  };
};

static_assert(std::is_nothrow_move_constructible_v<EValue>);
static_assert(std::is_nothrow_copy_constructible_v<EValue>);

TENON_END_NAMESPACE
