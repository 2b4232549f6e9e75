// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <complex>

#include "inspect.h"

namespace inspect {

using namespace tenon;

namespace {

constexpr int64_t kPiece = int64_t{1} << 20;   // elements between two calls of on_progress
constexpr int64_t kSample = int64_t{1} << 20;  // most elements of a histogram
constexpr int64_t kRun = 4096;                 // consecutive ones of a sample

/// The elements as one dimension: in the order of memory where that is Fortran's, else row-major.
Tensor flat(const Tensor& tensor) {
  Dims order;
  for (int64_t d = tensor.dim(); d-- > 0;) order.push_back(d);
  const Tensor reversed = permute(tensor, order);
  return reshape(reversed.is_contiguous() ? reversed : contiguous(tensor), {-1});
}

/// After the range is known: a second pass, over a sample.
Json histogram(const Tensor& values, const Summary& summary, int bins) {
  const MinMax range = summary.min_max();
  const bool is_bool = values.scalar_type() == ScalarType::Bool;
  const Json low = is_bool ? Json(range.min.to<int>()) : number(range.min);
  const Json high = is_bool ? Json(range.max.to<int>()) : number(range.max);
  // Not <: JSON takes integers beyond 2^63 for negative ones then.
  std::vector<int64_t> counts(low != high ? static_cast<size_t>(bins) : 1);
  const int64_t runs = (values.numel() + kRun - 1) / kRun;
  const int64_t step = (runs + kSample / kRun - 1) / (kSample / kRun);
  int64_t sampled = 0;
  for (int64_t at = 0; at < values.numel(); at += step * kRun) {
    const Tensor run = narrow(values, 0, at, std::min(kRun, values.numel() - at));
    sampled += run.numel();
    for (const double place : places(run, range)) {
      if (std::isnan(place)) continue;
      const auto bin = static_cast<size_t>(place * static_cast<double>(counts.size()));
      ++counts[std::min(bin, counts.size() - 1)];
    }
  }
  return {{"low", low}, {"high", high}, {"sampled", sampled}, {"counts", counts}};
}

Json sum_up(const Tensor& values, int bins, const std::function<void(int64_t)>& add_done) {
  Summary s;
  for (int64_t i = 0; i < values.numel(); i += kPiece) {
    const Tensor piece = narrow(values, 0, i, std::min(kPiece, values.numel() - i));
    const Error error = s.add(piece);
    if (error != Error::Ok) throw Exception(error, last_error_message());
    add_done(static_cast<int64_t>(piece.nbytes()));
  }
  Json out = {{"count", s.numel()},
              {"nan", s.nans()},
              {"inf", s.positive_infinities()},
              {"-inf", s.negative_infinities()},
              {"min", number(s.min_max().min)},
              {"max", number(s.min_max().max)},
              {"mean", s.mean_std().mean},
              {"std", s.mean_std().std}};
  if (bins > 0 && s.finite() != 0) out["histogram"] = histogram(values, s, bins);
  return out;
}

}  // namespace

Json number(const Scalar& value) {
  if (value.isBoolean()) return value.to<bool>();
  if (!value.isIntegral(false)) return value.to<double>();
  return value.fits<int64_t>() ? Json(value.to<int64_t>()) : Json(value.to<uint64_t>());
}

std::vector<double> places(const Tensor& tensor, const MinMax& range) {
  std::vector<double> out;
  if (isIntegralType(tensor.scalar_type(), true)) {
    // The distance from the least one: exact in 64 bits, whatever the sign.
    const bool is_unsigned = tensor.scalar_type() == ScalarType::UInt64;
    const auto bits = [&](const Scalar& v) {
      return is_unsigned ? v.to<uint64_t>() : static_cast<uint64_t>(v.to<int64_t>());
    };
    const uint64_t low = bits(range.min);
    const auto width = static_cast<double>(std::max<uint64_t>(1, bits(range.max) - low));
    const auto add = [&](const auto& values) {
      for (const auto value : values) {
        out.push_back(static_cast<double>(static_cast<uint64_t>(value) - low) / width);
      }
    };
    is_unsigned ? add(to_vector<uint64_t>(tensor)) : add(to_vector<int64_t>(tensor));
    return out;
  }
  const auto low = range.min.to<double>();
  const double width = range.max.to<double>() / 2 - low / 2;  // halves: it may overflow
  for (const double value : to_vector<double>(tensor)) {
    const double place = width > 0 ? (value / 2 - low / 2) / width : 0;
    out.push_back(std::isfinite(value) ? place : std::nan(""));
  }
  return out;
}

Json first_values(const Tensor& tensor, int64_t count) {
  Tensor t = tensor;
  int64_t inner = t.numel();
  count = std::min(count, inner);
  Json out = Json::array();
  if (count == 0) return out;
  // The rows that have them, so that no more is copied.
  for (int64_t d = 0; d < t.dim(); ++d) {
    inner /= t.size(d);
    const int64_t rows = std::min(t.size(d), (count + inner - 1) / inner);
    t = narrow(t, d, 0, rows);
    if (rows > 1) break;
  }
  t = narrow(reshape(contiguous(t), {-1}), 0, 0, count);
  if (isComplexType(t.scalar_type())) {
    for (const auto& z : to_vector<std::complex<double>>(t)) out.push_back({z.real(), z.imag()});
  } else if (isFloatingType(t.scalar_type())) {
    for (const double value : to_vector<double>(t)) out.push_back(value);
  } else if (t.scalar_type() == ScalarType::UInt64) {
    for (const uint64_t value : to_vector<uint64_t>(t)) out.push_back(value);
  } else {
    const bool is_bool = t.scalar_type() == ScalarType::Bool;
    for (const int64_t value : to_vector<int64_t>(t)) {
      out.push_back(is_bool ? Json(value != 0) : Json(value));
    }
  }
  return out;
}

Json describe(const Tensor& tensor, int bins, const ProgressFunction& on_progress) {
  const auto strides = tensor.strides();
  Json out = {{"strides", std::vector<int64_t>(strides.begin(), strides.end())},
              {"nbytes", tensor.nbytes()}};
  if (bins < 0) return out;
  int64_t done = 0;
  const auto add_done = [&](int64_t nbytes) {
    done += nbytes;
    if (on_progress) on_progress(static_cast<uint64_t>(done), tensor.nbytes());
  };
  const Tensor values = flat(tensor);
  const ScalarType type = tensor.scalar_type();
  if (!isComplexType(type)) {
    out["statistics"] = sum_up(values, bins, add_done);
    return out;
  }
  const Tensor numbers =
      view_as_type(values, type == ScalarType::ComplexDouble  ? ScalarType::Double
                           : type == ScalarType::ComplexFloat ? ScalarType::Float
                                                              : ScalarType::Half);
  out["real"] = sum_up(slice(numbers, 0, 0, numbers.numel(), 2), bins, add_done);
  out["imaginary"] = sum_up(slice(numbers, 0, 1, numbers.numel(), 2), bins, add_done);
  return out;
}

}  // namespace inspect
