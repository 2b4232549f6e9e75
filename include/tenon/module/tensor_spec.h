// SPDX-License-Identifier: MIT
// TensorSpec, ValueSpec, MethodMeta: what a method takes and gives, and the checks by that.
// Text, NameList: names in them. ListArg: several values as one argument.
#pragma once

#include "tenon/module/evalue.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// Without the C library's functions, which are large where words are compared.
inline bool is_name(std::string_view text, const char* name) noexcept {
  size_t i = 0;
  while (i < text.size() && name[i] != '\0' && text[i] == name[i]) ++i;
  return i == text.size() && name[i] == '\0';
}

}  // namespace detail

/// A name: up to 47 characters in place, one heap block beyond. Unlike std::string it needs no heap
/// for usual names, and never throws: without memory it is empty and error() says so.
class Text {
 public:
  Text() noexcept = default;
  template <class S, std::enable_if_t<std::is_convertible_v<const S&, std::string_view>, int> = 0>
  Text(const S& text) noexcept {
    copy(text);
  }
  Text(const Text& other) noexcept : error_(other.error_) { copy(other); }  // a move, too
  Text& operator=(const Text& other) noexcept {
    if (this == &other) return *this;
    this->~Text();
    return *::new (static_cast<void*>(this)) Text(other);
  }
  ~Text() { detail::heap_release(heap_); }

  const char* c_str() const noexcept TENON_LIFETIMEBOUND {
    return heap_ != nullptr ? heap_ : inline_;
  }
  size_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }
  Error error() const noexcept { return error_; }
  operator std::string_view() const noexcept TENON_LIFETIMEBOUND { return {c_str(), size_}; }

  /// With whatever is text. A template, as two overloads are ambiguous in C++20.
  template <class S>
  friend bool operator==(const Text& a, const S& b) noexcept {
    return std::string_view(a) == std::string_view(b);
  }
  template <class S>
  friend bool operator!=(const Text& a, const S& b) noexcept {
    return !(a == b);
  }
  friend void append(detail::Message& out, const Text& text) noexcept { out.put(text.c_str()); }

 private:
  friend class NameList;
  static constexpr size_t kInline = 47;

  /// Room for `n` characters in an empty Text, all zero; null when memory is out.
  char* make(size_t n) noexcept {
    if (n > kInline) heap_ = static_cast<char*>(detail::heap_allocate_zeroed(n + 1));
    if (TENON_UNLIKELY(n > kInline && heap_ == nullptr)) {
      error_ = Error::OutOfMemory;
      return nullptr;
    }
    size_ = n;
    return heap_ != nullptr ? heap_ : inline_;
  }
  void copy(std::string_view from) noexcept {
    if (char* const to = make(from.size())) from.copy(to, from.size());
  }

  char* heap_ = nullptr;
  size_t size_ = 0;
  char inline_[kInline + 1] = {};
  Error error_ = Error::Ok;
};

/// The names of a tensor's dimensions, "" for one without; each ends at the first zero in it. Up to
/// 47 characters, with a zero behind each name, are stored in place, more in one heap block. Throws
/// only what a range's iterators throw; other errors are in error().
class NameList {
 public:
  NameList() noexcept = default;
  NameList(std::initializer_list<std::string_view> names) noexcept { assign(names); }
  /// From any range of texts.
  template <class C,
            std::enable_if_t<std::is_convertible_v<decltype(*std::declval<const C&>().begin()),
                                                   std::string_view>,
                             int> = 0>
  NameList(const C& names) {
    assign(names);
  }

  size_t size() const noexcept { return count_; }
  bool empty() const noexcept { return count_ == 0; }
  Error error() const noexcept { return joined_.error(); }
  /// The i-th name; "" beyond the last.
  const char* operator[](size_t i) const noexcept TENON_LIFETIMEBOUND {
    if (i >= count_ || joined_.empty()) return "";
    const char* name = joined_.c_str();
    for (; i > 0; --i) name += std::strlen(name) + 1;
    return name;
  }

 private:
  template <class C>
  void assign(const C& names) {
    size_t total = 0;
    for (const std::string_view name : names) total += name.size() + 1;
    char* to = joined_.make(total);
    if (to == nullptr) return;
    for (const std::string_view name : names) {
      for (size_t i = 0; i < name.size() && name[i] != '\0'; ++i) *to++ = name[i];
      ++to;
      ++count_;
    }
  }

  Text joined_;
  size_t count_ = 0;
};

/// A list of T as a parameter: `f(x)`, `f({x, y})`, `f(vector_of_T)`, `f()`.
///
/// Ownership: refers to lists and to a single T, converts a single value of another type; for the
/// length of the call. Not copyable, so a named one cannot be passed.
template <class T>
class ListArg {
 public:
  ListArg() noexcept = default;
  /// No list, where that differs from an empty one: see is_given().
  template <class N,
            std::enable_if_t<std::is_same_v<N, None> && !std::is_convertible_v<None, T>, int> = 0>
  ListArg(N) noexcept : is_given_(false) {}
  ListArg(std::initializer_list<T> values TENON_LIFETIMEBOUND) noexcept : size_(values.size()) {
    values_ = values.begin();  // which lives as long as the call: not what GCC warns of
  }
  ListArg(const T& value TENON_LIFETIMEBOUND) noexcept : values_(&value), size_(1) {}
  /// Any contiguous container of T.
  template <class C, std::enable_if_t<
                         std::is_same_v<typename detail::ContiguousElement<const C>::type, const T>,
                         int> = 0>
  ListArg(const C& values TENON_LIFETIMEBOUND) noexcept
      : values_(values.data()), size_(values.size()) {}
  /// One value that converts to T.
  template <class V, std::enable_if_t<std::is_convertible_v<V, T> &&
                                          !std::is_base_of_v<T, std::decay_t<V>> &&
                                          !std::is_same_v<std::decay_t<V>, ListArg>,
                                      int> = 0>
  ListArg(V&& value) : one_(std::forward<V>(value)), values_(&one_), size_(1) {}

  ListArg(const ListArg&) = delete;
  ListArg& operator=(const ListArg&) = delete;

  bool is_given() const noexcept { return is_given_; }
  const T* data() const noexcept TENON_LIFETIMEBOUND { return values_; }
  size_t size() const noexcept { return size_; }
  const T& operator[](size_t i) const noexcept TENON_LIFETIMEBOUND { return values_[i]; }
  const T* begin() const noexcept TENON_LIFETIMEBOUND { return values_; }
  const T* end() const noexcept TENON_LIFETIMEBOUND { return values_ + size_; }

 private:
  T one_;
  const T* values_ = nullptr;
  size_t size_ = 0;
  bool is_given_ = true;
};

/// The inputs of a call.
using EValues = ListArg<EValue>;

/// What a tensor has to be.
///
/// `TensorSpec{{-1, 8, 8}, ScalarType::Float, {"batch", "rows", "columns"}}`
struct TensorSpec {
  /// -1 stands for any size.
  Dims sizes = {};
  /// Undefined stands for any.
  ScalarType type = ScalarType::Float;
  /// Of the dimensions, for messages; as many as sizes, or none.
  NameList names = {};
  /// CPU stands for all memory that the host reads.
  Device device = {};
  /// The name of the whole, "image".
  Text name = {};
  /// The most that each size may be where sizes has -1; -1 for no such bound; empty for none at
  /// all.
  Dims max_sizes = {};

  /// Whether a tensor is that; strides do not matter.
  /// Errors: InvalidType (another dtype); InvalidArgument (another rank or size, "check: dimension
  /// 1 (rows) is 9, expected 8"; another device; a spec that no tensor can meet: names or max_sizes
  /// that are not as many as its sizes, sizes below -1, beyond max_sizes or beyond the address
  /// space); InvalidState (an undefined or deallocated tensor); OutOfMemory (there was none for
  /// the spec itself).
  [[nodiscard]] Error check(const TensorArg& tensor) const noexcept;
};

struct ValueSpec;
namespace detail {
inline Error check_value(const ValueSpec& spec, const EValue& value) noexcept;
template <class = void>
Error check_supported(const ValueSpec& spec, const EValue& value) noexcept;
}  // namespace detail

/// What an input or an output has to be: a tensor by its spec, any tensor, or another kind of
/// value.
struct ValueSpec {
  ValueSpec() noexcept = default;
  ValueSpec(TensorSpec spec) noexcept : tensor(std::move(spec)), is_described(true) {}
  ValueSpec(Text name, TensorSpec spec) noexcept : ValueSpec(std::move(spec)) {
    tensor.name = std::move(name);
  }
  /// Any value of that kind.
  ValueSpec(ValueKind kind_) noexcept : kind(kind_) {}
  ValueSpec(Text name, ValueKind kind_) noexcept : kind(kind_) { tensor.name = std::move(name); }

  ValueKind kind = ValueKind::Tensor;
  /// Of a Tensor, if is_described; the name is there for all kinds.
  TensorSpec tensor;
  bool is_described = false;
  /// Whether None will do as well.
  bool is_optional = false;
  /// Whether the runtime can take it at all. If not, check() accepts any value, and a run of the
  /// method says why it fails.
  bool is_supported = true;

  const char* name() const noexcept TENON_LIFETIMEBOUND { return tensor.name.c_str(); }

  /// Errors: InvalidType (another kind), and those of TensorSpec::check().
  [[nodiscard]] Error check(const EValue& value) const noexcept {
    return detail::blame_if("check", detail::check_value(*this, value));
  }

 private:
  friend Error detail::check_value(const ValueSpec& spec, const EValue& value) noexcept;

  // By a pointer, so that a module without specs does not link it: 4 KB at -Os.
  Error (*check_)(const ValueSpec&, const EValue&) noexcept = &detail::check_supported<>;
};

using ValueSpecs = ListArg<ValueSpec>;

/// A method of a module: a view of what the module knows, valid as long as the module, its inputs
/// until describe_inputs() adds to them.
/// Source: executorch::runtime::MethodMeta.
struct MethodMeta {
  const char* name = "";
  ArrayRef<ValueSpec> inputs;
  ArrayRef<ValueSpec> outputs;
  /// Whether the module knows them. If not, the lists are empty and nothing is checked.
  bool knows_inputs = false;
  bool knows_outputs = false;
};

namespace detail {

/// "1 (rows)", or "1" without a name.
struct Numbered {
  size_t index;
  const char* name;
  friend void append(Message& out, Numbered part) noexcept {
    detail::append(out, part.index);
    if (*part.name == '\0') return;
    out.put(" (");
    out.put(part.name);
    out.put(')');
  }
};

/// Whether a spec can be met at all.
inline Error check_spec(const TensorSpec& spec) noexcept {
  TENON_TRY(check_dims("the spec's sizes", spec.sizes));
  TENON_TRY(check_dims("the spec's max_sizes", spec.max_sizes));
  if (TENON_UNLIKELY(spec.names.error() != Error::Ok || spec.name.error() != Error::Ok)) {
    return fail(Error::OutOfMemory, "out of memory for a spec");
  }
  const size_t rank = spec.sizes.size();
  if (TENON_UNLIKELY((!spec.names.empty() && spec.names.size() != rank) ||
                     (!spec.max_sizes.empty() && spec.max_sizes.size() != rank))) {
    return fail(Error::InvalidArgument, "the spec has ", spec.names.size(), " names and max_sizes ",
                spec.max_sizes, " for sizes ", spec.sizes);
  }
  DensePass known;
  for (size_t d = 0; d < rank; ++d) {
    const int64_t size = spec.sizes[d];
    const int64_t most = spec.max_sizes.empty() ? -1 : spec.max_sizes[d];
    if (TENON_UNLIKELY(size < -1 || most < -1 || (most >= 0 && size > most))) {
      return fail(Error::InvalidArgument, "the spec's dimension ", Numbered{d, spec.names[d]},
                  " has size ", size, " and max_size ", most);
    }
    if (size >= 0) known.take(size);
  }
  if (TENON_UNLIKELY(!known.valid(elementSize(own_type(spec.type))))) {
    return fail(Error::InvalidArgument, "the spec's sizes ", spec.sizes, " of ",
                own_type(spec.type), " overflow the address space");
  }
  return Error::Ok;
}

/// The most that dimension d may be, exactly that if sizes says so; -1 for any size.
inline int64_t limit_of(const TensorSpec& spec, size_t d) noexcept {
  return spec.sizes[d] >= 0 || spec.max_sizes.empty() ? spec.sizes[d] : spec.max_sizes[d];
}

/// Whether a dimension may be of any size.
inline bool is_open(const TensorSpec& spec) noexcept {
  for (size_t d = 0; d < spec.sizes.size(); ++d) {
    if (limit_of(spec, d) < 0) return true;
  }
  return false;
}

/// Whether dimension d may be `size`.
inline bool allows(const TensorSpec& spec, size_t d, int64_t size) noexcept {
  const int64_t limit = limit_of(spec, d);
  return limit < 0 || size == limit || (spec.sizes[d] < 0 && size < limit);
}

TENON_LAZY Error check_tensor(const TensorSpec& spec, const TensorArg& tensor) noexcept {
  TENON_TRY(check_spec(spec));
  TENON_TRY(check_defined(tensor, "the tensor"));
  const TensorFields& found = fields(tensor);
  if (TENON_UNLIKELY(spec.type != tenon::ScalarType::Undefined &&
                     found.type != own_type(spec.type))) {
    return fail(Error::InvalidType, "it is ", found.type, ", expected ", own_type(spec.type));
  }
  const ArrayRef<int64_t> sizes = found.layout.sizes();
  if (TENON_UNLIKELY(sizes.size() != spec.sizes.size())) {
    return fail(Error::InvalidArgument, "it has sizes ", sizes, ", expected ", spec.sizes);
  }
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (TENON_UNLIKELY(!allows(spec, d, sizes[d]))) {
      return fail(Error::InvalidArgument, "dimension ", Numbered{d, spec.names[d]}, " is ",
                  sizes[d], spec.sizes[d] < 0 ? ", expected at most " : ", expected ",
                  limit_of(spec, d));
    }
  }
  const bool here = spec.device.is_cpu() ? found.is_host_accessible() : found.device == spec.device;
  if (TENON_UNLIKELY(!here)) {
    return fail(Error::InvalidArgument, "it is on ", found.device, ", expected ", spec.device,
                found.device == spec.device ? " memory that the host reads without a backend" : "");
  }
  return Error::Ok;
}

/// Whether a value is what a spec says.
inline Error check_value(const ValueSpec& spec, const EValue& value) noexcept {
  return spec.is_supported ? spec.check_(spec, value) : Error::Ok;
}
template <class>
Error check_supported(const ValueSpec& spec, const EValue& value) noexcept {
  if (spec.is_optional && value.isNone()) return Error::Ok;
  if (TENON_UNLIKELY(value.kind() != spec.kind)) {
    return fail(Error::InvalidType, "it is ", value, ", expected ", spec.kind);
  }
  if (spec.kind != ValueKind::Tensor) return Error::Ok;
  const TensorArg tensor(value.toTensor());
  return spec.is_described ? check_tensor(spec.tensor, tensor)
                           : check_metadata(tensor, "the tensor");
}

/// Puts "input 0 (image): " in front of the message of an error that a check left.
TENON_COLD inline Error blame_value(const char* role, size_t index, const char* name,
                                    Error error) noexcept {
  return fail(error, role, ' ', Numbered{index, name}, ": ", message_of(error));
}
inline Error blame_unless_ok(const char* role, size_t index, const char* name,
                             Error error) noexcept {
  return TENON_UNLIKELY(error != Error::Ok) ? blame_value(role, index, name, error) : error;
}

/// Makes `spec`, a user's description that can be met, what passes both: what a module knows,
/// `own`, with more names, and sizes where that has -1.
/// Errors: InvalidArgument, InvalidType when nothing can pass both.
TENON_LAZY Error narrow_spec(const ValueSpec& own, ValueSpec& spec) noexcept {
  const TensorSpec& known = own.tensor;
  TensorSpec& to = spec.tensor;
  if (TENON_UNLIKELY(spec.kind != own.kind)) {
    return fail(Error::InvalidType, "the spec is for ", spec.kind, ", the module takes ", own.kind);
  }
  if (to.name.empty()) to.name = known.name;
  spec.is_optional = own.is_optional;
  spec.is_supported = own.is_supported;
  if (!own.is_described) return check_spec(to);
  if (!spec.is_described) {
    const Text name = to.name;
    to = known;
    to.name = name;
    spec.is_described = true;
    return check_spec(to);
  }
  if (to.type == tenon::ScalarType::Undefined) to.type = known.type;
  if (TENON_UNLIKELY(known.type != tenon::ScalarType::Undefined && to.type != known.type)) {
    return fail(Error::InvalidType, "the spec is for ", own_type(to.type), ", the module takes ",
                own_type(known.type));
  }
  if (TENON_UNLIKELY(to.device != known.device)) {
    return fail(Error::InvalidArgument, "the spec is for ", to.device, ", the module takes ",
                known.device);
  }
  if (TENON_UNLIKELY(to.sizes.size() != known.sizes.size())) {
    return fail(Error::InvalidArgument, "the spec has sizes ", to.sizes, ", the module's are ",
                known.sizes);
  }
  if (to.names.empty()) to.names = known.names;
  if (to.max_sizes.empty()) to.max_sizes = known.max_sizes;
  TENON_TRY(check_spec(to));
  for (size_t d = 0; d < to.sizes.size(); ++d) {
    const int64_t limit = limit_of(known, d);
    if (TENON_UNLIKELY(to.sizes[d] >= 0 && !allows(known, d, to.sizes[d]))) {
      return fail(Error::InvalidArgument, "the spec's dimension ", Numbered{d, to.names[d]}, " is ",
                  to.sizes[d], ", the module's is ", known.sizes[d] < 0 ? "at most " : "", limit);
    }
    if (to.sizes[d] < 0) to.sizes[d] = known.sizes[d];
    if (to.sizes[d] < 0 && limit >= 0 && (to.max_sizes[d] < 0 || to.max_sizes[d] > limit)) {
      to.max_sizes[d] = limit;
    }
  }
  return check_spec(to);
}

}  // namespace detail

inline Error TensorSpec::check(const TensorArg& tensor) const noexcept {
  return detail::blame_if("check", detail::check_tensor(*this, tensor));
}

TENON_END_NAMESPACE
