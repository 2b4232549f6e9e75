// SPDX-License-Identifier: MIT
// What the conformance cases for backends check with, and what they found.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "tenon/backend/backend.h"
#include "tenon/config.h"
#include "tenon/core/array_ref.h"
#include "tenon/core/error.h"
#include "tenon/core/float_bits.h"
#include "tenon/core/result.h"
#include "tenon/core/scalar_type.h"
#include "tenon/core/tensor_view.h"
#include "tenon/exchange/assign.h"
#include "tenon/kernels/cast.h"
#include "tenon/tensor/access.h"
#include "tenon/tensor/transfer.h"
#include "tenon/tensor/tensor.h"
#include "tenon/tensor/tensor_arg.h"

TENON_BEGIN_NAMESPACE
namespace testing {

/// What cases need to know of a backend.
struct BackendTraits {
  /// The largest block that a case asks for and means to get, in bytes, at least 64 KiB. All that a
  /// case has at once is up to four times as much, or 1 MiB if that is more.
  size_t largest = size_t{8} << 20;
  uint64_t seed = 1;  ///< of the random cases
  int rounds = 30;    ///< how many of each
  /// Whether memory that was released is given again sooner or later. False for a backend that
  /// makes its addresses up and uses none twice: then a deallocate() that does not release goes
  /// unnoticed.
  bool reuses_addresses = true;
};

/// The message that the parts make, up to 511 characters.
inline std::string text_of(std::initializer_list<detail::Part> parts) {
  char text[detail::kMessageCapacity];
  detail::Message message(text, sizeof text);
  for (const detail::Part& part : parts) part.append_to(message);
  return text;
}

/// What the cases found: nothing, or texts that say what was expected and what was there instead.
class Report {
 public:
  bool ok() const noexcept { return failures_.empty(); }
  const std::vector<std::string>& failures() const noexcept { return failures_; }
  /// All of them, a line each.
  std::string text() const {
    std::string all;
    for (const std::string& failure : failures_) all += failure + '\n';
    return all;
  }

  /// What follows belongs to this case.
  void begin(const char* name) {
    name_ = name;
    count_ = 0;
  }
  /// After the tenth of a case the others are left out.
  void fail(const std::string& text) {
    constexpr int kMost = 10;
    if (++count_ <= kMost) failures_.push_back(std::string(name_) + ": " + text);
    if (count_ == kMost) failures_.push_back(std::string(name_) + ": and so on");
  }
  /// Failures of this case, those left out too.
  int count() const noexcept { return count_; }

 private:
  std::vector<std::string> failures_;
  const char* name_ = "";
  int count_ = 0;
};

/// Whether one NaN is as good as another: where types are converted, which one comes out is nobody's
/// promise.
enum class Nans : uint8_t { SameBits, Any };

/// One case on its way: the backend, and where what is wrong goes.
class Trial {
 public:
  Trial(Backend& backend, const BackendTraits& traits, Report& report) noexcept
      : backend_(backend), traits_(traits), report_(report) {}

  Backend& backend() const noexcept { return backend_; }
  /// The one that is asked to copy and to make values.
  Backend& base() const noexcept { return backend_.base(); }
  const BackendTraits& traits() const noexcept { return traits_; }

  /// Each says whether it is as it should be, and reports it if not.
  bool check(bool as_expected, std::initializer_list<detail::Part> otherwise) {
    if (!as_expected) report_.fail(text_of(otherwise));
    return as_expected;
  }
  bool check_ok(const std::string& what, Error error) {
    if (error != Error::Ok) {
      report_.fail(what + ": expected Ok, found " + toString(error) + ", " + last_error_message());
    }
    return error == Error::Ok;
  }
  /// An error with this word in its text.
  bool check_refused(const std::string& what, Error expected, const char* word, Error found) {
    if (found == Error::Ok)
      return check(false, {what.c_str(), ": expected ", toString(expected), ", found Ok"});
    return check_error(what, expected, word, found, last_error_message());
  }
  template <class T>
  bool check_refused(const std::string& what, Error expected, const char* word,
                     const Result<T>& found) {
    if (found.ok())
      return check(false, {what.c_str(), ": expected ", toString(expected), ", found a tensor"});
    return check_error(what, expected, word, found.error(), found.message());
  }
  /// The tensor, null when there is none.
  TensorPtr check_made(const std::string& what, Result<TensorPtr> made) {
    if (made.ok()) return std::move(made).value();
    report_.fail(what + ": expected a tensor, found " + toString(made.error()) + ", " +
                 made.message());
    return nullptr;
  }
  /// The same elements, by their bits, and the same sizes and type. `expected` is on the host.
  bool check_same(const std::string& what, const TensorArg& found, const TensorArg& expected,
                  Nans nans = Nans::SameBits);

  /// Takes a failure that is no single check's.
  void fail(const std::string& text) { report_.fail(text); }

 private:
  bool check_error(const std::string& what, Error expected, const char* word, Error found,
                   const char* message) {
    const std::string text = message;
    const bool is_it = found == expected && text.find(word) != std::string::npos;
    if (!is_it) {
      report_.fail(what + ": expected " + toString(expected) + " with \"" + word + "\", found " +
                   toString(found) + ", " + text);
    }
    return is_it;
  }

  Backend& backend_;
  const BackendTraits& traits_;
  Report& report_;
};

/// "Float {2, 3}, strides {3, 1}"
inline std::string describe(const TensorView& view) {
  return text_of({toString(view.type), ' ', view.sizes, ", strides ", view.strides});
}

/// An element's value and its bytes.
inline std::string describe_element(ScalarType type, const unsigned char* element) {
  std::string text = text_of({detail::load_scalar(detail::own_type(type), element), " (bytes"});
  for (size_t i = 0; i < elementSize(type); ++i) {
    constexpr char kDigits[] = "0123456789abcdef";
    text += {' ', kDigits[element[i] / 16], kDigits[element[i] % 16]};
  }
  return text + ')';
}

inline int64_t numel_of(const TensorView& view) {
  int64_t numel = 1;
  for (int64_t size : view.sizes) numel *= size;
  return numel;
}

/// Whether two numbers of a type are the same; a complex element is two of them.
inline bool same_numbers(ScalarType type, const unsigned char* a, const unsigned char* b,
                         Nans nans) {
  bool same = true;
  const size_t size = elementSize(type);
  for (size_t i = 0; i < size; ++i) same = same && a[i] == b[i];
  if (same || nans == Nans::SameBits) return same;
  const auto x = detail::load_scalar(detail::own_type(type), a);
  const auto y = detail::load_scalar(detail::own_type(type), b);
  if (!x.isComplex()) {
    return x.isFloatingPoint() && detail::is_nan(x.template to<double>()) &&
           detail::is_nan(y.template to<double>());
  }
  const auto p = x.template to<detail::complex<double>>();
  const auto q = y.template to<detail::complex<double>>();
  const auto same_part = [](double u, double v) {
    return detail::is_nan(u) || detail::is_nan(v) ? detail::is_nan(u) && detail::is_nan(v) : u == v;
  };
  return same_part(p.real(), q.real()) && same_part(p.imag(), q.imag());
}

/// A tensor's elements, in row-major order; false, reported, when they cannot be had.
TENON_LAZY bool read_elements(Trial& trial, const std::string& what, const TensorArg& t,
                              std::vector<unsigned char>& bytes) {
  const TensorPtr here =
      trial.check_made(what + ", brought to the host", try_backend_copy(t, host_backend()));
  if (here == nullptr) return false;
  const TensorView view = as_view(here);
  const size_t nbytes = static_cast<size_t>(numel_of(view)) * elementSize(view.type);
  bytes.assign(nbytes + 1, 0);  // data() of none may be null
  return trial.check_ok(what + ", read on the host", copy_to(here, bytes.data(), nbytes));
}

inline bool Trial::check_same(const std::string& what, const TensorArg& found,
                              const TensorArg& expected, Nans nans) {
  const TensorView view = as_view(found);
  const TensorView wanted = as_view(expected);
  if (view.type != wanted.type || view.sizes != wanted.sizes) {
    report_.fail(what + ": expected " + describe(wanted) + ", found " + describe(view));
    return false;
  }
  std::vector<unsigned char> a;
  std::vector<unsigned char> b;
  if (!read_elements(*this, what, found, a) || !read_elements(*this, what, expected, b)) {
    return false;
  }
  const int64_t numel = numel_of(view);
  const auto size = static_cast<int64_t>(elementSize(view.type));
  int64_t different = 0;
  int64_t first = 0;
  for (int64_t i = numel; i-- > 0;) {
    if (same_numbers(view.type, &a[static_cast<size_t>(i * size)],
                     &b[static_cast<size_t>(i * size)], nans)) {
      continue;
    }
    ++different;
    first = i;
  }
  if (different == 0) return true;
  Dims index(view.sizes);
  for (size_t d = index.size(), left = static_cast<size_t>(first); d-- > 0;) {
    index[d] = static_cast<int64_t>(left) % view.sizes[d];
    left /= static_cast<size_t>(view.sizes[d]);
  }
  const auto at = static_cast<size_t>(first * size);
  report_.fail(what + ": " + describe(view) +
               text_of({", ", different, " of ", numel, " elements differ; the first is ", index}) +
               ", expected " + describe_element(view.type, &b[at]) + ", found " +
               describe_element(view.type, &a[at]));
  return false;
}

}  // namespace testing
TENON_END_NAMESPACE
