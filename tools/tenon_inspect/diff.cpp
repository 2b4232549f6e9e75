// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>

#include "inspect.h"
#include "tenon/tensor/values.h"

namespace inspect {

using namespace tenon;

namespace {

struct Comparison {
  double rtol;
  double atol;
  // What was found:
  int64_t count = 0;
  int64_t first = 0;   // index of the first element that differs, in row-major order
  double largest = 0;  // of the finite differences
  std::complex<double> values[2] = {};

  bool holds(const Tensor& a, const Tensor& b) const {
    const bool is_alike =
        a.scalar_type() == b.scalar_type() && a.is_contiguous() && b.is_contiguous();
    if (is_alike && std::memcmp(a.const_data_ptr(), b.const_data_ptr(), a.nbytes()) == 0)
      return true;
    return allclose(a, b, rtol, atol, true);
  }
  /// Of one dimension with elements, the first of which is number `begin`. Halves what differs.
  void compare(const Tensor& a, const Tensor& b, int64_t begin) {
    if (holds(a, b)) return;
    const int64_t n = a.numel();
    if (n > 1) {
      compare(narrow(a, 0, 0, n / 2), narrow(b, 0, 0, n / 2), begin);
      return compare(narrow(a, 0, n / 2, n - n / 2), narrow(b, 0, n / 2, n - n / 2), begin + n / 2);
    }
    const auto x = to_vector<std::complex<double>>(a)[0];
    const auto y = to_vector<std::complex<double>>(b)[0];
    if (count++ == 0) {
      first = begin;
      values[0] = x;
      values[1] = y;
    }
    if (const double distance = std::abs(x - y); distance > largest && std::isfinite(distance)) {
      largest = distance;
    }
  }
};

Json number(const std::complex<double>& value) {
  return value.imag() == 0 ? Json(value.real()) : Json({value.real(), value.imag()});
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
  if (!has_values) return {};
  const ProgressFunction on_progress = progress_bar(a.name());
  const Tensor x = reshape(contiguous(a.load(on_progress)), {-1});
  const Tensor y = reshape(contiguous(b.load(on_progress)), {-1});
  Comparison c{rtol, atol};
  constexpr int64_t kPiece = int64_t{1} << 20;
  for (int64_t i = 0; i < x.numel(); i += kPiece) {
    const int64_t n = std::min(kPiece, x.numel() - i);
    c.compare(narrow(x, 0, i, n), narrow(y, 0, i, n), i);
    const uint64_t size = x.nbytes() / static_cast<uint64_t>(x.numel());
    if (on_progress) on_progress(static_cast<uint64_t>(i + n) * size, x.nbytes());
  }
  if (c.count == 0) return {};
  Json index = Json::array();
  const auto sizes = a.about["shape"].get<std::vector<int64_t>>();
  for (size_t d = sizes.size(); d-- > 0; c.first /= sizes[d]) {
    index.insert(index.begin(), c.first % sizes[d]);
  }
  return {{"what", "values"},    {"a", number(c.values[0])}, {"b", number(c.values[1])},
          {"first", index},      {"count", c.count},         {"of", x.numel()},
          {"largest", c.largest}};
}

}  // namespace

Json differences(const File& a, const File& b, double rtol, double atol) {
  Json out = Json::array();
  const auto add = [&](const Entry& entry, const Json& difference) {
    out.push_back({{"name", entry.name()}, {"role", entry.about["role"]}});
    out.back().update(difference);
  };
  const auto only_in = [](const File& file) {
    return Json{{"what", "only in " + file.about["file"].get<std::string>()}};
  };
  std::vector<Entry> others = b.entries;
  for (const Entry& entry : a.entries) {
    const auto other = std::find_if(others.begin(), others.end(), [&](const Entry& e) {
      return e.about["name"] == entry.about["name"] && e.about["role"] == entry.about["role"];
    });
    if (other == others.end()) {
      add(entry, only_in(a));
      continue;
    }
    const Json difference = compare(entry, *other, rtol, atol);
    if (!difference.is_null()) add(entry, difference);
    others.erase(other);
  }
  for (const Entry& entry : others) add(entry, only_in(b));
  return out;
}

}  // namespace inspect
