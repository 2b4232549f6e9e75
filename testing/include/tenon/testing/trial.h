// SPDX-License-Identifier: MIT
// Checks, a report and tensors for the conformance cases of backends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "tenon/backend/backend.h"
#include "tenon/exchange/assign.h"
#include "tenon/kernels/cast.h"
#include "tenon/tensor/access.h"
#include "tenon/tensor/clone.h"
#include "tenon/tensor/random.h"
#include "tenon/tensor/tensor.h"
#include "tenon/tensor/view.h"

TENON_BEGIN_NAMESPACE
namespace testing {

/// Properties of a backend that cases need to know.
struct BackendTraits {
  /// The largest block, in bytes, that a case allocates; less than 64 KiB counts as 64 KiB. A case
  /// holds at most four times as many bytes at once, or 1 MiB if that is more.
  size_t largest = size_t{8} << 20;
  uint64_t seed = 1;  ///< for the random cases
  int rounds = 30;    ///< how often a random case repeats
  /// Whether released memory is allocated again sooner or later. False for a backend that invents
  /// addresses and uses none twice: the cases then cannot notice that deallocate() releases
  /// nothing.
  bool reuses_addresses = true;
};

/// Joins the parts to a message of up to 511 characters.
template <class... Parts>
std::string text_of(const Parts&... parts) {
  using detail::append;
  char text[512];
  detail::Message message(text, sizeof text);
  (append(message, parts), ...);
  return text;
}

/// The failures of cases: texts with the expected and the actual value.
class Report {
 public:
  /// Whether there are no failures.
  bool ok() const noexcept { return failures_.empty(); }
  /// The failures' texts, each with the name of its case.
  const std::vector<std::string>& failures() const noexcept { return failures_; }
  /// All failures, one per line.
  std::string text() const {
    std::string all;
    for (const std::string& failure : failures_) all += failure + '\n';
    return all;
  }

  /// Begins a case: later failures belong to it.
  void begin(const char* name) {
    name_ = name;
    count_ = 0;
  }
  /// Adds a failure. At most ten failures of a case are listed.
  void fail(const std::string& text) {
    constexpr int kMost = 10;
    if (++count_ <= kMost) failures_.push_back(std::string(name_) + ": " + text);
    if (count_ == kMost) failures_.push_back(std::string(name_) + ": and so on");
  }
  /// The number of this case's failures, including those that are not listed.
  int count() const noexcept { return count_; }

 private:
  std::vector<std::string> failures_;
  const char* name_ = "";
  int count_ = 0;
};

/// Whether NaNs must have the same bits. After a conversion of types any NaN equals any other.
enum class Nans : uint8_t { SameBits, Any };

/// One running case: the backend, and the report for its failures.
class Trial {
 public:
  Trial(Backend& backend, const BackendTraits& traits, Report& report) noexcept
      : backend_(backend), traits_(traits), report_(report) {
    if (traits_.largest < kLeast) traits_.largest = kLeast;
  }

  Backend& backend() const noexcept { return backend_; }
  /// The backend whose functions tenon calls to copy and to create.
  Backend& base() const noexcept { return backend_.base(); }
  const BackendTraits& traits() const noexcept { return traits_; }

  void fail(const std::string& text) { report_.fail(text); }
  /// Each check returns whether its condition holds, and reports a failure if it does not.
  template <class... Parts>
  bool check(bool as_expected, const Parts&... otherwise) {
    if (!as_expected) report_.fail(text_of(otherwise...));
    return as_expected;
  }
  bool check_ok(const std::string& what, Error error) {
    return check(error == Error::Ok, what.c_str(), ": expected Ok, found ", toString(error), ", ",
                 last_error_message());
  }
  /// The tensor; null, and a failure in the report, if `made` is an error.
  TensorPtr check_made(const std::string& what, Result<TensorPtr> made) {
    return check_ok(what, made.error()) ? std::move(made).value() : nullptr;
  }
  /// Checks for equal bits, sizes and types. `expected` is on the host.
  bool check_same(const std::string& what, const TensorArg& found, const TensorArg& expected,
                  Nans nans = Nans::SameBits);

 private:
  static constexpr size_t kLeast = size_t{64} << 10;

  Backend& backend_;
  BackendTraits traits_;
  Report& report_;
};

/// "Float {2, 3}, strides {3, 1}"
inline std::string describe(const TensorView& view) {
  return text_of(toString(view.type), ' ', view.sizes, ", strides ", view.strides);
}

/// An element's value and its bytes.
inline std::string describe_element(ScalarType type, const unsigned char* element) {
  std::string text = text_of(detail::load_scalar(detail::own_type(type), element), " (bytes");
  for (size_t i = 0; i < elementSize(type); ++i) {
    text += {' ', "0123456789abcdef"[element[i] / 16], "0123456789abcdef"[element[i] % 16]};
  }
  return text + ')';
}

inline int64_t numel_of(const Dims& sizes) {
  int64_t numel = 1;
  for (int64_t size : sizes) numel *= size;
  return numel;
}

/// Whether two elements of a type are equal.
inline bool same_elements(ScalarType type, const unsigned char* a, const unsigned char* b,
                          Nans nans) {
  if (std::memcmp(a, b, elementSize(type)) == 0) return true;
  if (nans == Nans::SameBits || (!isFloatingType(type) && !isComplexType(type))) return false;
  const auto numbers = [&](const unsigned char* element) {
    return detail::load_scalar(detail::own_type(type), element).to<detail::complex<double>>();
  };
  const auto same = [](double u, double v) {
    return u == v || (detail::is_nan(u) && detail::is_nan(v));
  };
  const auto x = numbers(a);
  const auto y = numbers(b);
  return same(x.real(), y.real()) && same(x.imag(), y.imag());
}

/// Reads a tensor's elements in row-major order. Returns false, with a failure in the report, if
/// they cannot be read.
TENON_TEMPLATE_INLINE bool read_elements(Trial& trial, const std::string& what, const TensorArg& t,
                                         std::vector<unsigned char>& bytes) {
  const TensorPtr here =
      trial.check_made(what + ", brought to the host", try_backend_copy(t, host_backend()));
  if (here == nullptr) return false;
  const TensorView view = as_view(here);
  const size_t nbytes = static_cast<size_t>(numel_of(view.sizes)) * elementSize(view.type);
  bytes.resize(nbytes);
  if (nbytes == 0) return true;
  return trial.check_ok(what + ", read on the host", copy_to(here, bytes.data(), nbytes));
}

inline bool Trial::check_same(const std::string& what, const TensorArg& found,
                              const TensorArg& expected, Nans nans) {
  const TensorView view = as_view(found);
  const TensorView wanted = as_view(expected);
  if (!check(view.type == wanted.type && view.sizes == wanted.sizes, what.c_str(), ": expected ",
             describe(wanted).c_str(), ", found ", describe(view).c_str())) {
    return false;
  }
  std::vector<unsigned char> a;
  std::vector<unsigned char> b;
  if (!read_elements(*this, what, found, a) || !read_elements(*this, what, expected, b)) {
    return false;
  }
  if (a == b) return true;
  const size_t size = elementSize(view.type);
  int64_t different = 0;
  size_t first = 0;
  for (size_t i = a.size() / size; i-- > 0;) {
    if (same_elements(view.type, &a[i * size], &b[i * size], nans)) continue;
    ++different;
    first = i;
  }
  if (different == 0) return true;
  Dims index(view.sizes);
  for (size_t d = index.size(), left = first; d-- > 0;) {
    index[d] = static_cast<int64_t>(left) % view.sizes[d];
    left /= static_cast<size_t>(view.sizes[d]);
  }
  report_.fail(what + ": " + describe(view) +
               text_of(", ", different, " elements differ; at ", index, " expected ") +
               describe_element(view.type, &b[first * size]) + ", found " +
               describe_element(view.type, &a[first * size]));
  return false;
}

#define TENON_DETAIL_TYPE(cpp_type, name) ScalarType::name,
inline constexpr ScalarType kAllTypes[] = {TENON_FORALL_SCALAR_TYPES(TENON_DETAIL_TYPE)};
#undef TENON_DETAIL_TYPE

/// A type for each element size.
inline constexpr ScalarType kTypeOfEachSize[] = {ScalarType::Byte, ScalarType::BFloat16,
                                                 ScalarType::Float, ScalarType::Long,
                                                 ScalarType::ComplexDouble};

/// A fixed sequence of numbers, made by SplitMix64 (Steele, Lea, Flood 2014).
struct Dice {
  uint64_t state;
  int64_t between(int64_t low, int64_t high) {
    uint64_t z = state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return low + static_cast<int64_t>((z >> 33) % static_cast<uint64_t>(high - low + 1));
  }
};

/// A tensor in the backend's memory, and an equal one on the host.
struct Twin {
  TensorPtr here;
  TensorPtr there;
  explicit operator bool() const noexcept { return here != nullptr && there != nullptr; }
};

/// Makes the twin of a host tensor.
TENON_TEMPLATE_INLINE Twin twin_of(Trial& trial, TensorPtr here) {
  if (here == nullptr) return {};
  TensorPtr there = trial.check_made("backend_copy", try_backend_copy(here, trial.backend()));
  return {std::move(here), std::move(there)};
}

/// Integers of a few bits, which every type can hold. Each `seed` makes other integers.
TENON_TEMPLATE_INLINE Twin random_twin(Trial& trial, const Dims& sizes, ScalarType type,
                                       uint64_t seed = 0) {
  const int64_t end = type == ScalarType::Bool ? 2 : 128;
  return twin_of(trial, trial.check_made("randint", try_randint(0, end, sizes, type,
                                                                Generator(seed), host_backend())));
}

/// Calls `action(tensor)` for both tensors of the twin, and compares the tensors afterwards.
template <class Action>
bool check_both(Trial& trial, const std::string& what, const Twin& twin, const Action& action) {
  if (!twin || !trial.check_ok(what + ", on the host", action(*twin.here))) return false;
  return trial.check_ok(what, action(*twin.there)) && trial.check_same(what, twin.there, twin.here);
}

/// flip(). ATen mode has no negative strides: there the view is not reversed.
inline Tensor reversed(const TensorArg& t, const Dims& dims) {
  return detail::kHasOwnTensors ? flip(t, dims) : slice(t, 0, 0, INT64_MAX);
}

/// A view of a tensor of base_sizes().
struct NamedView {
  const char* name;
  Tensor (*of)(const Tensor& base);
};
inline Dims base_sizes() { return {4, 6, 5}; }

// clang-format off
inline constexpr NamedView kViews[] = {
    {"all", [](const Tensor& t) { return narrow(t, 0, 0, 4); }},
    {"rows in the middle", [](const Tensor& t) { return narrow(t, 0, 1, 2); }},
    {"columns in the middle", [](const Tensor& t) { return narrow(t, 2, 1, 3); }},
    {"transposed", [](const Tensor& t) { return transpose(t, 0, 2); }},
    {"permuted", [](const Tensor& t) { return permute(t, {1, 2, 0}); }},
    {"with steps", [](const Tensor& t) { return slice(slice(t, 1, 1, 6, 2), 2, 0, 5, 3); }},
    {"reversed", [](const Tensor& t) { return reversed(t, {0, 1, 2}); }},
    {"reversed with steps", [](const Tensor& t) {
       return reversed(slice(slice(t, 0, 0, 4, 3), 2, 1, 5, 2), {0, 2}); }},
    {"transposed and reversed", [](const Tensor& t) { return reversed(transpose(t, 1, 2), {1}); }},
    {"a matrix", [](const Tensor& t) { return select(t, 1, 2); }},
    {"a matrix, reversed with steps", [](const Tensor& t) {
       return reversed(slice(select(t, 2, 1), 1, 0, 6, 2), {0, 1}); }},
    {"a column", [](const Tensor& t) { return select(select(t, 2, 1), 0, 3); }},
    {"one element", [](const Tensor& t) { return select(select(select(t, 0, 1), 0, 2), 0, 3); }},
    {"no elements", [](const Tensor& t) { return narrow(t, 1, 3, 0); }},
    {"sizes of 1", [](const Tensor& t) { return unsqueeze(narrow(t, 1, 4, 1), 0); }},
    {"eight dimensions", [](const Tensor& t) {
       return permute(view(t, {2, 2, 3, 2, 1, 5, 1, 1}), {7, 5, 3, 1, 0, 2, 4, 6}); }},
};
// clang-format on

/// Random strides for a view of given sizes, whose elements are in a row of memory.
struct RandomView {
  Dims sizes, strides;
  int64_t offset = 0;
  int64_t extent = 1;  // the row's length in elements

  /// `repeats`: whether dimensions may have stride 0. A destination's must not.
  RandomView(Dice& dice, const Dims& view_sizes, bool repeats)
      : sizes(view_sizes), strides(view_sizes) {
    std::vector<size_t> order;
    for (size_t d = 0; d < sizes.size(); ++d) {
      const int64_t at = dice.between(0, static_cast<int64_t>(d));
      order.insert(order.begin() + static_cast<ptrdiff_t>(at), d);
    }
    for (size_t d : order) {
      const int64_t step = extent * dice.between(1, 3);
      const bool is_reversed = detail::kHasOwnTensors && dice.between(0, 2) == 0;
      const bool is_repeated = repeats && dice.between(0, 4) == 0;
      strides[d] = is_repeated ? 0 : is_reversed ? -step : step;
      const int64_t reach = is_repeated || sizes[d] == 0 ? 0 : (sizes[d] - 1) * step;
      extent += reach;
      if (is_reversed) offset += reach;
    }
    offset += 1;
    extent += 2;
  }

  Dims base_sizes() const { return {extent}; }
  Tensor of(const Tensor& base) const { return as_strided(base, sizes, strides, offset); }
};

}  // namespace testing
TENON_END_NAMESPACE
