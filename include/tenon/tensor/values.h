// SPDX-License-Identifier: MIT
// equal, allclose, min_max, mean_std, Summary and to_vector: these compare and summarise a tensor's
// values, or copy them to a std::vector. For tests, tools and statistics.
//
// This is not arithmetic: tenon holds tensors and hands them to the libraries that compute. So
// these functions return numbers, not tensors, and cannot reduce along single dimensions. mean_std
// and allclose compute in double, and the order of sums is fixed.
#pragma once

#include <type_traits>
#include <utility>
#include <vector>

#include "tenon/kernels/cast.h"
#include "tenon/kernels/compare.h"
#include "tenon/kernels/range.h"
#include "tenon/kernels/read_elements.h"
#include "tenon/kernels/summary.h"
#include "tenon/tensor/copy.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// A tensor's elements in host memory: the tensor's own memory, or a copy of a backend's memory.
struct HostValues {
  HeldLocation location;
  HostElements fetched;

  /// Finds the elements. Errors: those of find_source().
  Error open(const TensorArg& tensor, const char* role) noexcept {
    TENON_TRY(find_source(tensor, role, location));
    return location.keep(tensor);  // fetching another tensor may call a backend
  }
  Error fetch() noexcept {
    if (location.backend == nullptr) return Error::Ok;
    TENON_TRY(fetched.make(location.view));
    TENON_TRY(copy(fetched.location, location));
    location.view = fetched.location.view;
    return Error::Ok;
  }
};

/// Plans the comparison of two tensors. If there are no elements, or `result` is already false,
/// there is nothing to compare, and plan.nbytes is 0.
TENON_TEMPLATE_INLINE Error plan_compare(const TensorArg& a, const TensorArg& b,
                                         bool needs_one_type, HostValues (&values)[2],
                                         ElementPlan& plan, bool& result) noexcept {
  TENON_TRY(values[0].open(a, "the first tensor"));
  TENON_TRY(values[1].open(b, "the second tensor"));
  const TensorView& first = values[0].location.view;
  const TensorView& second = values[1].location.view;
  result = first.sizes == second.sizes &&
           (!needs_one_type || own_type(first.type) == own_type(second.type));
  if (!result) return Error::Ok;
  for (HostValues& side : values) TENON_TRY(side.fetch());
  if (begin_plan(plan, first, second, CastMode::Truncate)) merge_dims(plan, -1);
  return Error::Ok;
}

TENON_TEMPLATE_INLINE Error compare(const TensorArg& a, const TensorArg& b, bool& result) noexcept {
  HostValues values[2];
  ElementPlan plan;
  TENON_TRY(plan_compare(a, b, true, values, plan, result));
  if (plan.nbytes == 0) return Error::Ok;
  const ScalarType type = own_type(values[0].location.view.type);
  result = read_tiles(plan, [&](const char* const* sides, int64_t count) noexcept {
    return equal_elements(type, sides[0], sides[1], count);
  });
  return Error::Ok;
}

TENON_TEMPLATE_INLINE Error compare_closely(const TensorArg& a, const TensorArg& b,
                                            const Tolerance& tolerance, bool& result) noexcept {
  const auto is_valid = [](double value) { return !is_nan(value) && value >= 0; };
  if (!is_valid(tolerance.rtol) || !is_valid(tolerance.atol)) {
    return fail(Error::InvalidArgument, "rtol ", tolerance.rtol, " and atol ", tolerance.atol,
                "; expected 0 or more");
  }
  HostValues values[2];
  ElementPlan plan;
  TENON_TRY(plan_compare(a, b, false, values, plan, result));
  if (plan.nbytes == 0) return Error::Ok;
  CloseElements are_close(own_type(values[0].location.view.type),
                          own_type(values[1].location.view.type), tolerance);
  result = read_tiles(plan, [&](const char* const* sides, int64_t count) noexcept {
    return are_close(sides, count);
  });
  return Error::Ok;
}

/// Finds a tensor's values for a summary.
TENON_TEMPLATE_INLINE Error open_real(const TensorArg& tensor, HostValues& values) noexcept {
  TENON_TRY(values.open(tensor, "the tensor"));
  const ScalarType type = own_type(values.location.view.type);
  if (!isComplexType(type)) return Error::Ok;
  return fail(Error::InvalidType, "values of ", type, " have no order and no single deviation");
}

/// Adds a tensor's values to the summary `found`.
TENON_TEMPLATE_INLINE Error sum_up(const TensorArg& tensor, RunningSummary& found) noexcept {
  HostValues values;
  TENON_TRY(open_real(tensor, values));
  const TensorView& view = values.location.view;
  const ScalarType type = own_type(view.type);
  if (found.type != ScalarType::Undefined && found.type != type) {
    return fail(Error::InvalidType, "values of ", type, " cannot be added to a summary of ",
                found.type);
  }
  TENON_TRY(values.fetch());
  found.type = type;
  Conversion conversion;
  make_conversion(conversion, ScalarType::Double, type, CastMode::Checked);
  ElementPlan plan;
  if (plan_row_major(plan, view) == 0) return Error::Ok;
  alignas(16) char held[kSummaryBlock * 8];  // a block whose elements come in several pieces
  int64_t count = 0;
  read_pieces(plan, false, [&](const char* const* sides, int64_t left) noexcept {
    const int64_t size = conversion.from_size;
    const char* in = *sides;
    for (int64_t n = 0; left != 0; left -= n, in += n * size) {
      const char* blocks = in;
      int64_t ready = n = left & -kSummaryBlock;
      if (count != 0 || n == 0) {
        n = left < kSummaryBlock - count ? left : kSummaryBlock - count;
        std::memcpy(held + count * size, in, static_cast<size_t>(n * size));
        blocks = held;
        ready = (count + n) & -kSummaryBlock;
        count += n - ready;
      }
      found.add(blocks, ready, conversion);
    }
    return true;
  });
  if (count != 0) found.add(held, count, conversion);
  return Error::Ok;
}

/// Prepares a copy of all elements to host memory, as elements of `type` in the layout `dense`.
TENON_TEMPLATE_INLINE Error find_values(const TensorArg& tensor, ScalarType type,
                                        HeldLocation& from, Layout& dense) noexcept {
  TENON_TRY(find_source(tensor, "the tensor", from));
  TENON_TRY(from.keep_while_asking(tensor, false));
  return dense.make_row_major(from.view.sizes, elementSize(type));
}

}  // namespace detail

/// Whether two tensors have equal sizes, dtype and values, whatever their strides and devices.
/// Values are compared as numbers: NaN is not equal to itself, -0 is equal to 0, and any nonzero
/// byte is a true Bool. Memory that the host cannot reach is fetched through its backend. The try_
/// form returns a Result.
///
/// Cost: dense tensors, and others of equal strides, are compared by their bits at the memory's
/// speed, tensors of different strides in tiles at about a third of that speed. Ends at the first
/// block that differs. Each call takes some 60 ns more, which is most of the time for small
/// tensors.
/// Errors: InvalidState (an undefined or deallocated tensor, a placeholder), NotSupported (memory
/// that neither the host nor a registered backend can reach), OutOfMemory (for a copy of fetched
/// elements), and the backend's.
/// Source: torch.equal.
TENON_TEMPLATE_INLINE bool equal(ConstTensorArg a, ConstTensorArg b) {
  bool result = false;
  detail::raise_if("equal", detail::compare(a, b, result));
  return result;
}
TENON_TEMPLATE_INLINE Result<bool> try_equal(ConstTensorArg a, ConstTensorArg b) noexcept {
  bool result = false;
  TENON_TRY(detail::add_context_if("try_equal", detail::compare(a, b, result)));
  return result;
}

/// Whether the sizes are equal and |a - b| <= atol + rtol * |b| for all values. Computed in double;
/// |a - b| of integers of equal sign is exact. Infinities are close only if they are equal; NaN is
/// close to NaN only with `equal_nan`. Tolerances may be infinite, rtol * 0 is 0. The dtypes may
/// differ. The try_ form returns a Result.
///
/// Cost: that of equal(), plus a conversion of types other than Double. In a block with a NaN, or
/// with an element that a first, coarser check does not find close, each number takes 3 ns.
/// Errors: those of equal(), and InvalidArgument for a tolerance that is negative or NaN.
/// Source: torch.allclose, which broadcasts, computes in the dtype and requires equal dtypes.
TENON_TEMPLATE_INLINE bool allclose(ConstTensorArg a, ConstTensorArg b, double rtol = 1e-5,
                                    double atol = 1e-8, bool equal_nan = false) {
  bool result = false;
  detail::raise_if("allclose", detail::compare_closely(a, b, {rtol, atol, equal_nan}, result));
  return result;
}
TENON_TEMPLATE_INLINE Result<bool> try_allclose(ConstTensorArg a, ConstTensorArg b,
                                                double rtol = 1e-5, double atol = 1e-8,
                                                bool equal_nan = false) noexcept {
  bool result = false;
  TENON_TRY(detail::add_context_if("try_allclose",
                                   detail::compare_closely(a, b, {rtol, atol, equal_nan}, result)));
  return result;
}

/// The least and the largest value: bools, integers or doubles, depending on the dtype.
struct MinMax {
  detail::Scalar min;  ///< the least; tenon's own Scalar in ATen mode too
  detail::Scalar max;  ///< the largest
};
/// The mean, and the standard deviation of the whole population: the square root of the mean of the
/// squared distances from the mean.
struct MeanStd {
  double mean;  ///< the sum divided by the count
  double std;   ///< the standard deviation
};

/// Sums up the finite values of a tensor, or of several tensors of the same dtype, in one pass, and
/// counts NaN and infinities.
///
/// Sums are computed in double, pairwise, and in an order that depends only on the element count of
/// each tensor: the bits are the same on every processor and instruction set, for any compiler
/// options and layout. (A program that is linked with -ffast-math makes the processor take doubles
/// below 2.2e-308 for 0. With TENON_PORTABLE the last bits depend on the compiler's options:
/// docs/platforms.md.) A tensor that is added in pieces gives the same bits as one that is added at
/// once, if each piece but the last has a multiple of 1024 elements. A zero is never negative. If
/// the sum exceeds a double's range, mean and deviation are infinite or NaN; if only the sum of
/// squared distances does, the deviation is.
/// Ownership: keeps no tensor. Threads: as a plain value.
class Summary {
 public:
  /// Adds a tensor's values. Strided elements are read in place; memory that the host cannot reach
  /// is fetched through its backend.
  /// Cost: a conversion to double, then two passes over blocks in the cache. Sums are in row-major
  /// order, so transposed tensors take two to three times as long as dense ones.
  /// Errors: those of equal(); InvalidType for complex numbers (add views of their parts instead),
  /// and for a dtype other than that of earlier tensors. After an error the summary is unchanged.
  [[nodiscard]] Error add(ConstTensorArg t) noexcept {
    return detail::add_context_if("Summary::add", detail::sum_up(t, found_));
  }

  /// How many values were added.
  int64_t numel() const noexcept { return found_.numel; }
  /// How many values are NaN.
  int64_t nans() const noexcept { return found_.nans; }
  /// How many values are +infinity.
  int64_t positive_infinities() const noexcept { return found_.positive_infinities; }
  /// How many values are -infinity.
  int64_t negative_infinities() const noexcept { return found_.negative_infinities; }
  /// How many values are finite.
  int64_t finite() const noexcept { return found_.finite(); }
  /// Computed from the finite values; NaN if there are none.
  MinMax min_max() const noexcept { return {found_.least_value(), found_.largest_value()}; }
  /// Computed from the finite values; NaN if there are none.
  MeanStd mean_std() const noexcept {
    const detail::Moments all = found_.moments();
    return {all.mean(), all.deviation()};
  }

 private:
  detail::RunningSummary found_;
};

namespace detail {

TENON_TEMPLATE_INLINE Error find_min_max(const TensorArg& t, MinMax& result) noexcept {
  HostValues values;
  TENON_TRY(open_real(t, values));
  TENON_TRY(values.fetch());
  const TensorView& view = values.location.view;
  ElementPlan plan;
  if (!begin_plan(plan, view, view, CastMode::Checked)) {
    return fail(Error::InvalidArgument, "a tensor of sizes ", view.sizes, " has no elements");
  }
  merge_dims(plan, -1);
  ValueRange range(own_type(view.type));
  read_pieces(plan, false, [&](const char* const* sides, int64_t count) noexcept {
    range.add(*sides, count);
    return true;
  });
  result = {range.least_value(), range.largest_value()};
  return Error::Ok;
}

TENON_TEMPLATE_INLINE Error find_mean_std(const TensorArg& t, MeanStd& result) noexcept {
  RunningSummary found;
  TENON_TRY(sum_up(t, found));
  const Moments all = found.moments();
  result = {all.mean(), all.deviation()};
  if (found.finite() == found.numel) return Error::Ok;
  const double infinity = double_from_bits(kDoubleInfinity);
  const bool is_nan =
      found.nans != 0 || (found.positive_infinities != 0) == (found.negative_infinities != 0);
  result = {is_nan ? kNan : found.positive_infinities != 0 ? infinity : -infinity, kNan};
  return Error::Ok;
}

}  // namespace detail

/// The least and the largest value; both are NaN if an element is NaN, as in NumPy. Integers are
/// exact. The try_ form returns a Result.
///
/// Cost: elements are read in the order of addresses, at the memory's speed if they are
/// consecutive. Each call takes some 60 ns more, which is most of the time for small tensors.
/// Errors: those of Summary::add(); InvalidArgument for a tensor without elements.
/// Source: numpy.min and numpy.max, torch.aminmax.
TENON_TEMPLATE_INLINE MinMax min_max(ConstTensorArg t) {
  MinMax result;
  detail::raise_if("min_max", detail::find_min_max(t, result));
  return result;
}
TENON_TEMPLATE_INLINE Result<MinMax> try_min_max(ConstTensorArg t) noexcept {
  MinMax result;
  TENON_TRY(detail::add_context_if("try_min_max", detail::find_min_max(t, result)));
  return result;
}

/// The mean and the population's standard deviation, computed in double as Summary does. Both are
/// NaN if there are no elements, or if an element is NaN, as in NumPy. With an infinite element the
/// mean is infinite, and the deviation NaN. The try_ form returns a Result.
///
/// Cost: that of Summary::add().
/// Errors: those of Summary::add().
/// Source: numpy.mean and numpy.std with dtype=float64; torch.std(correction=0).
TENON_TEMPLATE_INLINE MeanStd mean_std(ConstTensorArg t) {
  MeanStd result{};
  detail::raise_if("mean_std", detail::find_mean_std(t, result));
  return result;
}
TENON_TEMPLATE_INLINE Result<MeanStd> try_mean_std(ConstTensorArg t) noexcept {
  MeanStd result{};
  TENON_TRY(detail::add_context_if("try_mean_std", detail::find_mean_std(t, result)));
  return result;
}

namespace detail {

template <class T>
Error write_vector(const TensorArg& t, CastMode mode, std::vector<T>& values) {
  static_assert(is_element_v<T>, "to_vector<T>() needs an element type, such as float");
  constexpr bool is_bool = std::is_same_v<T, bool>;
  constexpr auto kType = scalar_type_of<T>();
  HeldLocation from;
  Layout dense;
  TENON_TRY(find_values(t, kType, from, dense));
  if constexpr (!is_bool) {
    const auto* const elements = static_cast<const T*>(from.view.data);
    const bool is_aligned = reinterpret_cast<uintptr_t>(elements) % alignof(T) == 0;
    if (from.backend == nullptr && own_type(from.view.type) == kType && is_aligned &&
        fields(t).layout.is_contiguous()) {
      values.assign(elements, elements + dense.numel);  // does not fill it with zeros first
      return Error::Ok;
    }
  }
  std::vector<std::conditional_t<is_bool, unsigned char, T>> out(static_cast<size_t>(dense.numel));
  MemoryLocation to;
  to.view = {out.data(), public_type(kType), Device(), dense.sizes(), dense.strides()};
  TENON_TRY(check_cast(own_type(from.view.type), kType, mode));
  TENON_TRY(copy(to, from, mode, &cast_elements<>));
  if constexpr (is_bool) {
    values.assign(out.begin(), out.end());  // any byte but 0 is true
  } else {
    values = std::move(out);
  }
  return Error::Ok;
}

}  // namespace detail

/// The elements in row-major order, whatever the strides and the device: `to_vector<float>(t)`. The
/// try_ form returns a Result.
///
/// T is the dtype's C++ type, or any other element type: values are then cast as copy_() casts
/// them.
/// Ownership: copies.
/// Cost: for a dense tensor of T, one copy. Otherwise the cost of copy_(), to memory that
/// std::vector first fills with zeros.
/// Errors: those of equal(); InvalidType for a cast that canCast() refuses, with
/// CastMode::Checked; std::bad_alloc.
/// Source: torch.Tensor.tolist, without nesting.
template <class T>
std::vector<T> to_vector(ConstTensorArg t, CastMode mode = CastMode::Checked) {
  std::vector<T> values;
  detail::raise_if("to_vector", detail::write_vector(t, mode, values));
  return values;
}
template <class T>
Result<std::vector<T>> try_to_vector(ConstTensorArg t, CastMode mode = CastMode::Checked) noexcept {
  std::vector<T> values;
  const Error error = detail::call_safely([&] { return detail::write_vector(t, mode, values); });
  TENON_TRY(detail::add_context_if("try_to_vector", error));
  return values;
}

TENON_END_NAMESPACE
