// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <map>
#include <stdexcept>

#include "inspect.h"

namespace inspect {

using namespace tenon;

namespace {

constexpr int64_t kComparedPiece = int64_t{1}
                                   << 16;  // elements at a time: two pieces fit the cache

bool is_negative(int64_t value) { return value < 0; }
bool is_negative(uint64_t) { return false; }
bool is_nan(double value) { return std::isnan(value); }
bool is_nan(const std::complex<double>& z) { return is_nan(z.real()) || is_nan(z.imag()); }
bool is_finite(double value) { return std::isfinite(value); }
bool is_finite(const std::complex<double>& z) { return is_finite(z.real()) && is_finite(z.imag()); }

Json json_of(double value) { return value; }
Json json_of(int64_t value) { return value; }
Json json_of(uint64_t value) { return value; }
Json json_of(const std::complex<double>& z) {
  return z.imag() == 0 ? Json(z.real()) : Json({z.real(), z.imag()});
}

/// Compares as allclose() with equal_nan does, piece by piece, and notes what differs.
struct Comparison {
  double rtol;
  double atol;
  // What was found:
  int64_t count = 0;
  int64_t first = 0;             // index of the first element that differs, in row-major order
  double largest = 0;            // of the finite differences
  Json exact_largest = nullptr;  // where it is an integer of 64 bits
  Json a = nullptr;              // the values there
  Json b = nullptr;

  /// Whether a distance from a value of that size is allowed, both times `scale`. rtol may be
  /// infinite.
  bool allows(double distance, double size, double scale = 1) const {
    return distance <= atol * scale + (size == 0 ? 0 : rtol * size);
  }
  template <class A, class B>
  void note(int64_t i, const A& x, const B& y) {
    if (count++ != 0) return;
    first = i;
    a = json_of(x);
    b = json_of(y);
  }

  /// Of integers of 64 bits with or without sign, exactly.
  template <class A, class B>
  void compare_integers(const std::vector<A>& xs, const std::vector<B>& ys, int64_t begin) {
    for (size_t i = 0; i < xs.size(); ++i) {
      const auto x = static_cast<uint64_t>(xs[i]);
      const auto y = static_cast<uint64_t>(ys[i]);
      const bool is_below = is_negative(xs[i]);
      if (x == y && is_below == is_negative(ys[i])) continue;
      const bool is_one_sign = is_below == is_negative(ys[i]);
      // Below zero the bits are 2^64 less; a sum may be beyond 2^64.
      const uint64_t exact = (is_one_sign ? x < y : is_below) ? y - x : x - y;
      const double size = std::abs(static_cast<double>(ys[i]));
      // The one that is not below zero is in the sum.
      const bool is_exact = is_one_sign || exact >= (is_below ? y : x);
      const double distance =
          is_exact ? static_cast<double>(exact) : std::abs(static_cast<double>(xs[i])) + size;
      if (allows(distance, size)) continue;
      note(begin + static_cast<int64_t>(i), xs[i], ys[i]);
      const bool is_more = distance > largest || (distance == largest && exact_largest < exact);
      if (!is_more) continue;
      largest = distance;
      exact_largest = is_exact ? Json(exact) : Json();
    }
  }
  /// Of doubles, or of complex ones.
  template <class T>
  void compare_floats(const std::vector<T>& xs, const std::vector<T>& ys, int64_t begin) {
    for (size_t i = 0; i < xs.size(); ++i) {
      const T x = xs[i];
      const T y = ys[i];
      if (x == y || (is_nan(x) && is_nan(y))) continue;
      if (is_finite(x) && is_finite(y)) {
        const double distance = std::abs(x - y);
        const double size = std::abs(y);
        const bool is_small = std::isfinite(distance) && std::isfinite(size);
        if (is_small ? allows(distance, size)
                     : allows(std::abs(x * 0.25 - y * 0.25), std::abs(y * 0.25), 0.25)) {
          continue;
        }
        if (is_small && distance > largest) largest = distance;
      }
      note(begin + static_cast<int64_t>(i), x, y);
    }
  }
  /// Pieces of one dimension, the first elements of which are number `begin`.
  void compare(const Tensor& x, const Tensor& y, int64_t begin) {
    const ScalarType types[] = {x.scalar_type(), y.scalar_type()};
    if (types[0] == types[1] &&
        std::memcmp(x.const_data_ptr(), y.const_data_ptr(), x.nbytes()) == 0) {
      return;
    }
    if (isComplexType(types[0]) || isComplexType(types[1])) {
      using Complex = std::complex<double>;
      return compare_floats(to_vector<Complex>(x), to_vector<Complex>(y), begin);
    }
    if (isFloatingType(types[0]) || isFloatingType(types[1])) {
      return compare_floats(to_vector<double>(x), to_vector<double>(y), begin);
    }
    const auto with = [&](const auto& xs) {
      types[1] == ScalarType::UInt64 ? compare_integers(xs, to_vector<uint64_t>(y), begin)
                                     : compare_integers(xs, to_vector<int64_t>(y), begin);
    };
    types[0] == ScalarType::UInt64 ? with(to_vector<uint64_t>(x)) : with(to_vector<int64_t>(x));
  }
};

Json index_in(const Json& shape, int64_t flat) {
  Json index = Json::array();
  const auto sizes = shape.get<std::vector<int64_t>>();
  for (size_t d = sizes.size(); d-- > 0; flat /= sizes[d]) {
    index.insert(index.begin(), flat % sizes[d]);
  }
  return index;
}

/// Of arrays of a dtype that tenon does not have: elements differ where their bytes do. Of packed
/// numbers, the bytes that differ.
Json compare_bytes(const Entry& a, const Entry& b) {
  if (!a.load_bytes || !b.load_bytes) {
    throw std::runtime_error("elements of dtype " + text(a.about.value("dtype", Json())) +
                             " cannot be compared");
  }
  const Tensor x = contiguous(a.load_bytes());
  const Tensor y = contiguous(b.load_bytes());
  int64_t numel = 1;
  for (const Json& size : a.about["shape"]) numel *= size.get<int64_t>();
  if (numel == 0) return {};
  const size_t nbytes = x.nbytes();
  if (y.nbytes() != nbytes) {
    return {{"what", "bytes"}, {"a", x.nbytes()}, {"b", y.nbytes()}};
  }
  // Blocks of packed numbers are compared byte by byte.
  const bool is_packed = nbytes % static_cast<size_t>(numel) != 0;
  const size_t size = is_packed ? 1 : nbytes / static_cast<size_t>(numel);
  const auto parts = static_cast<int64_t>(nbytes / size);
  const auto* const p = static_cast<const char*>(x.const_data_ptr());
  const auto* const q = static_cast<const char*>(y.const_data_ptr());
  int64_t count = 0;
  int64_t first = 0;
  for (int64_t i = 0; i < parts; ++i) {
    const size_t at = static_cast<size_t>(i) * size;
    if (std::memcmp(p + at, q + at, size) != 0 && count++ == 0) first = i;
  }
  if (count == 0) return {};
  return {{"what", is_packed ? "bytes" : "values"},
          {"first", is_packed ? Json({first}) : index_in(a.about["shape"], first)},
          {"count", count},
          {"of", parts}};
}

/// What differs between two entries of one name; null if nothing does.
Json compare(const Entry& a, const Entry& b, double rtol, double atol) {
  const bool has_values = a.load && b.load;
  const bool is_exact = !has_values || (rtol == 0 && atol == 0);
  for (const char* key : {"shape", "dtype"}) {
    const Json x = a.about.value(key, Json());
    const Json y = b.about.value(key, Json());
    if (x != y && (*key == 's' || is_exact)) return {{"what", key}, {"a", x}, {"b", y}};
  }
  if (!has_values) return a.about["role"] == "array" ? compare_bytes(a, b) : Json();
  const ProgressFunction on_progress = progress_bar(a.name());
  const Tensor x = reshape(contiguous(a.load(on_progress)), {-1});
  const Tensor y = reshape(contiguous(b.load(on_progress)), {-1});
  Comparison c{rtol, atol};
  for (int64_t i = 0; i < x.numel(); i += kComparedPiece) {
    const int64_t n = std::min(kComparedPiece, x.numel() - i);
    c.compare(narrow(x, 0, i, n), narrow(y, 0, i, n), i);
    const uint64_t size = x.nbytes() / static_cast<uint64_t>(x.numel());
    if (on_progress) on_progress(static_cast<uint64_t>(i + n) * size, x.nbytes());
  }
  if (c.count == 0) return {};
  return {{"what", "values"},
          {"a", c.a},
          {"b", c.b},
          {"first", index_in(a.about["shape"], c.first)},
          {"count", c.count},
          {"of", x.numel()},
          {"largest", c.exact_largest.is_null() ? Json(c.largest) : c.exact_largest}};
}

}  // namespace

Json differences(const File& a, const File& b, double rtol, double atol,
                 std::vector<std::string>& troubles) {
  Json out = Json::array();
  const auto add = [&](const Entry& entry, const Json& difference) {
    out.push_back({{"name", entry.name()}, {"role", entry.about["role"]}});
    out.back().update(difference);
  };
  const auto only_in = [](const File& file) {
    return Json{{"what", "only in " + file.about["file"].get<std::string>()}};
  };
  const auto key = [](const Entry& entry) {
    return std::make_pair(entry.name(), entry.about["role"].get<std::string>());
  };
  std::map<std::pair<std::string, std::string>, size_t> others;
  for (size_t i = 0; i < b.entries.size(); ++i) others.emplace(key(b.entries[i]), i);
  std::vector<bool> is_found(b.entries.size());
  for (const Entry& entry : a.entries) {
    const auto other = others.find(key(entry));
    if (other == others.end()) {
      add(entry, only_in(a));
      continue;
    }
    is_found[other->second] = true;
    try {
      const Json difference = compare(entry, b.entries[other->second], rtol, atol);
      if (!difference.is_null()) add(entry, difference);
    } catch (const std::exception& e) {
      troubles.push_back((entry.name().empty() ? "" : entry.name() + ": ") + reason(e));
      add(entry, {{"what", "cannot be compared"}});
    }
  }
  for (size_t i = 0; i < b.entries.size(); ++i) {
    if (!is_found[i]) add(b.entries[i], only_in(b));
  }
  return out;
}

}  // namespace inspect
