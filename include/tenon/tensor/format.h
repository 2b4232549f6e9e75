// SPDX-License-Identifier: MIT
// to_string: a tensor as text, laid out as NumPy does.
//
// Walks the shown elements up to three times, to measure columns and then to write them, so that
// only the text takes memory.
#pragma once

#include <cstring>
#include <iosfwd>
#include <string>
#include <type_traits>

#include "tenon/tensor/format_numbers.h"
#include "tenon/tensor/location.h"
#include "tenon/tensor/tensor.h"

TENON_BEGIN_NAMESPACE

/// How much of a tensor to_string() shows, and how. Negative values count as 0.
/// Source: NumPy's edgeitems, threshold, precision and linewidth.
struct FormatOptions {
  int edge_items = 3;    ///< elements shown at each end of a shortened dimension
  int64_t limit = 1000;  ///< a tensor with more elements than this is shortened
  int precision = 4;     ///< the most digits after the point; values above 24 count as 24
  int width = 80;        ///< characters in a line, unless a single element needs more
};

namespace detail {

/// Formats a tensor.
struct TensorText {
  enum class Pass { LookAt, Measure, Write };

  TensorText(const TensorFields& source, const FormatOptions& asked, std::string& text) noexcept
      : tensor(source), out(text), options(asked) {
    for (int* option : {&options.edge_items, &options.precision, &options.width}) {
      if (*option < 0) *option = 0;
    }
    shortened = tensor.layout.numel > (asked.limit < 0 ? 0 : asked.limit);
    const ScalarType type = tensor.type;
    real.type = isIntegralType(type, true) ? ScalarType::Double : part_type_of(type);
    real.precision = options.precision > 24 ? 24 : options.precision;
    imaginary = real;
    imaginary.plus = true;
    // A column is always wide enough for False.
    if (type == ScalarType::Bool && tensor.layout.rank() != 0) word_width = 5;
  }

  /// The number of indices shown of dimension d; fewer than its size if shortened.
  int64_t shown(size_t d) const noexcept {
    const int64_t size = tensor.layout.sizes()[d];
    const int64_t most = 2 * static_cast<int64_t>(options.edge_items);
    return shortened && size > most ? most : size;
  }

  const TensorFields& tensor;
  std::string& out;
  FormatOptions options;
  bool shortened = false;
  const void* data = nullptr;  // element 0
  ArrayRef<int64_t> strides;
  bool is_compact = false;  // whether `data` contains only the shown elements
  Pass pass = Pass::LookAt;
  FloatColumn real;  // of floating numbers; of the real parts of complex numbers
  FloatColumn imaginary;
  int word_width = 0;  // of integers and Bool
  size_t line = 0;     // where the last line starts in `out`
};

TENON_TEMPLATE_INLINE void take_float(TensorText& t, FloatColumn& column, double value,
                                      const char* unit) {
  switch (t.pass) {
    case TensorText::Pass::LookAt: return look_at(column, value);
    case TensorText::Pass::Measure: return measure(column, value);
    case TensorText::Pass::Write: return write_float(column, value, unit, t.out);
  }
}

/// Inspects, measures or writes the element at an offset.
TENON_TEMPLATE_INLINE void take_element(TensorText& t, int64_t offset) {
  const ScalarType type = t.tensor.type;
  alignas(16) unsigned char exact[16] = {};
  const int64_t at = offset * static_cast<int64_t>(elementSize(type));
  load_exact(type, static_cast<const char*>(t.data) + at, 1, exact);
  char word[24];
  Message message(word, sizeof word);
  const ScalarType kind = exact_type(type);
  if (kind == ScalarType::ComplexDouble) {
    const auto value = load_element<complex<double>>(exact, 0);
    take_float(t, t.real, value.real(), "");
    return take_float(t, t.imaginary, value.imag(), "j");
  }
  if (kind == ScalarType::Double) {
    return take_float(t, t.real, load_element<double>(exact, 0), "");
  }
  if (type == ScalarType::Bool) {
    append(message, load_element<int64_t>(exact, 0) != 0 ? "True" : "False");
  } else if (kind == ScalarType::UInt64) {
    append(message, load_element<uint64_t>(exact, 0));
  } else {
    append(message, load_element<int64_t>(exact, 0));
  }
  const size_t size = std::strlen(word);
  if (t.pass == TensorText::Pass::Write) {
    pad(t.out, size, t.word_width);
    t.out += word;
  } else if (size > static_cast<size_t>(t.word_width)) {
    t.word_width = static_cast<int>(size);
  }
}

/// Writes the separator between two elements of dimension d.
TENON_TEMPLATE_INLINE void write_separator(TensorText& t, size_t d) {
  const size_t rank = t.tensor.layout.rank();
  if (d + 1 == rank) {
    t.out += ' ';
    return;
  }
  t.out.append(rank - d - 1, '\n');
  t.line = t.out.size();
  t.out.append(d + 1, ' ');
}

/// Breaks the line before `begin` if the line would otherwise be too long and has other elements.
TENON_TEMPLATE_INLINE void wrap_row(TensorText& t, size_t begin) {
  const size_t rank = t.tensor.layout.rank();
  const bool fits = t.out.size() - t.line + rank <= static_cast<size_t>(t.options.width);
  if (fits || begin - t.line == rank) return;
  size_t end = begin;
  while (t.out[end - 1] == ' ') --end;
  t.out.replace(end, begin - end, "\n" + std::string(rank, ' '));
  t.line = end + 1;
}

/// Walks the shown elements, from dimension d on.
TENON_TEMPLATE_INLINE void walk_shown(TensorText& t, size_t d, int64_t offset) {
  const Layout& layout = t.tensor.layout;
  if (d == layout.rank()) return take_element(t, offset);
  const bool is_writing = t.pass == TensorText::Pass::Write;
  const int64_t shown = t.shown(d);
  const int64_t hidden = layout.sizes()[d] - shown;
  const int64_t gap = hidden == 0 ? -1 : shown / 2;  // where the ellipsis is
  if (is_writing) t.out += '[';
  for (int64_t k = 0; k < shown + (hidden == 0 ? 0 : 1); ++k) {
    if (is_writing && k != 0) write_separator(t, d);
    const size_t begin = t.out.size();
    if (k != gap) {
      const bool is_behind = hidden != 0 && k > gap;
      const int64_t at = !is_behind ? k : k - 1 + (t.is_compact ? 0 : hidden);
      walk_shown(t, d + 1, offset + at * t.strides[d]);
    } else if (is_writing) {
      t.out += "...";
    }
    if (is_writing && d + 1 == layout.rank()) wrap_row(t, begin);
  }
  if (is_writing) t.out += ']';
}

/// Fetches the shown elements (the corners of a shortened tensor) from a backend's memory, by one
/// copy.
TENON_TEMPLATE_INLINE Error fetch_shown(TensorText& t, const MemoryLocation& from,
                                        HostBuffer& buffer, Layout& compact) noexcept {
  const TensorView& whole = from.view;
  const size_t size = elementSize(own_type(whole.type));
  Dims sizes(whole.sizes);
  for (size_t d = 0; d < sizes.size(); ++d) sizes[d] = t.shown(d);
  TENON_TRY(check_dims("sizes", sizes));
  TENON_TRY(compact.make_row_major(sizes, size));
  TENON_TRY(buffer.allocate(static_cast<size_t>(compact.numel) * size));
  t.data = buffer.data();
  t.strides = compact.strides();
  t.is_compact = true;
  if (compact.numel == 0) return Error::Ok;
  ViewWithLists there{whole.data, whole.type, whole.device, {}, {}};
  ViewWithLists here{buffer.data(), whole.type, Device(), {}, {}};
  const auto add = [&](int64_t n, int64_t from_stride, int64_t to_stride) {
    if (n == 1) return;  // keeps the rank within kMaxDims
    for (Dims* dims : {&there.sizes, &here.sizes}) dims->push_back(n);
    there.strides.push_back(from_stride);
    here.strides.push_back(to_stride);
  };
  for (size_t d = 0; d < sizes.size(); ++d) {
    const int64_t hidden = whole.sizes[d] - sizes[d];
    const int64_t edge = sizes[d] / 2;
    // A shortened dimension becomes two dimensions: which end, and the index within that end.
    if (hidden != 0) add(2, (edge + hidden) * whole.strides[d], edge * compact.strides()[d]);
    add(hidden != 0 ? edge : sizes[d], whole.strides[d], compact.strides()[d]);
  }
  TENON_TRY(check_lists(here));
  TENON_TRY(check_lists(there));
  return copy_by_backend({here, nullptr, nullptr}, {there, from.backend, from.state},
                         CastMode::Checked, nullptr);
}

/// Writes the elements of a tensor, at least one.
TENON_TEMPLATE_INLINE Error print_elements(const TensorFields& tensor, const FormatOptions& options,
                                           std::string& out) {
  TENON_TRY(check_data_backend(tensor, "the tensor"));
  TensorText t(tensor, options, out);
  HostBuffer buffer;
  Layout compact;
  t.data = tensor.data;
  t.strides = tensor.layout.strides();
  if (!tensor.is_host_accessible()) {
    LocationWithLists location;
    TENON_TRY(find_location(tensor, "the tensor", location));
    TENON_TRY(location.keep_lists());
    Error error = Error::Ok;
    const size_t begin = out.size();
    if (call_optional(*location.backend, "inspect", error, [&] {
          return location.backend->inspect(location.view, options.limit < 0 ? 0 : options.limit,
                                           out);
        })) {
      if (error != Error::Ok) out.resize(begin);
      return error;
    }
    const auto check_same_shape = [&]() noexcept -> Error {
      const bool is_same = tensor.layout.sizes() == location.view.sizes &&
                           tensor.layout.strides() == location.view.strides;
      return is_same ? Error::Ok : fail(Error::InvalidState, "the tensor was changed meanwhile");
    };
    TENON_TRY(check_same_shape());
    TENON_TRY(fetch_shown(t, location, buffer, compact));
    TENON_TRY(check_same_shape());
  }
  using Pass = TensorText::Pass;
  for (const Pass pass : {Pass::LookAt, Pass::Measure, Pass::Write}) {
    t.pass = pass;
    if (pass != Pass::Measure || !isIntegralType(tensor.type, true)) walk_shown(t, 0, 0);
  }
  return Error::Ok;
}

}  // namespace detail

/// The elements in NumPy's layout. The last line shows dtype and sizes, the device unless it is the
/// CPU, the strides unless they are contiguous, and whether the tensor is read-only:
///
///     [[1.   2.5 ]
///      [3.   0.25]]
///     Float {2, 2}, strides {1, 2}, read-only
///
/// A floating number has the fewest digits after the point that identify it in its dtype, at most
/// options.precision. All numbers have exponents, and equally many digits, if one is 1e8 or larger
/// (1e6 in Float, 1e3 in Half), if one is below 1e-4, or if the largest is over 1000 times the
/// smallest. For this, numbers count by their magnitude, and zeros, nan and inf do not count. Real
/// and imaginary parts are separate columns.
///
/// Never raises an error. An undefined tensor gives "undefined tensor"; placeholders, deallocated
/// tensors and unreadable memory give only the last line, which says so. Elements in a backend's
/// memory, those that are shown and small gaps between them, are fetched, unless the backend's
/// inspect() shows them. In host memory only the shown elements are read, and only the text takes
/// memory. The text does not depend on the C locale.
/// Source: numpy.array2string of NumPy 2.3 and later. Difference: with 0 edge items a shortened
/// dimension shows none, where NumPy shows the last.
TENON_TEMPLATE_INLINE std::string to_string(ConstTensorArg t, const FormatOptions& options = {}) {
  if (!t.defined()) return "undefined tensor";
  if (detail::check_metadata(t, "the tensor") != Error::Ok) {
    return std::string("not shown: ") + last_error_message();
  }
  const detail::TensorFields& tensor = detail::fields(t);
  // The tensor is held: a backend's code may drop it, or try to grow or deallocate it.
  const Tensor handle = t.tensor();  // NOLINT(performance-unnecessary-copy-initialization)
  detail::MemoryHold hold;
  if (detail::is_backend_asked(tensor, false)) static_cast<void>(hold.hold(t));
  const bool has_data = tensor.has_data() && !tensor.deallocated;
  std::string out;
  std::string refusal;
  if (has_data && tensor.layout.numel == 0) {
    out += "[]\n";
  } else if (has_data) {
    const Error error = detail::print_elements(tensor, options, out);
    if (error == Error::Ok) {
      out += '\n';
    } else if (error == Error::NotSupported) {
      refusal = "not readable by the host";
    } else {
      refusal = std::string("not shown: ") + last_error_message();
    }
  }
  detail::append_text(out, tensor.type, ' ', tensor.layout.sizes());
  if (!tensor.device.is_cpu()) detail::append_text(out, " on ", tensor.device);
  if (!tensor.layout.is_contiguous()) {
    detail::append_text(out, ", strides ", tensor.layout.strides());
  }
  if (tensor.readonly) out += ", read-only";
  if (tensor.deallocated) {
    out += ", deallocated";
  } else if (!has_data) {
    out += ", a placeholder without data";
  } else if (!refusal.empty()) {
    out += ", " + refusal;
  }
  return out;
}

namespace detail {

/// Lists of sizes, strides and dimension numbers.
template <class T>
inline constexpr bool is_printed_list_v = std::is_base_of_v<Dims, T> || std::is_same_v<T, DimOrder>;

}  // namespace detail

/// The value as error texts show it and <tenon/ostream.h> prints it: "cuda:1", "1 + 2i", "{2, 3}".
/// A template, since many types convert to these.
template <class T, std::enable_if_t<std::is_same_v<T, Device> || std::is_same_v<T, own::Scalar> ||
                                        detail::is_printed_list_v<T> ||
                                        std::is_same_v<T, ArrayRef<int64_t>> ||
                                        std::is_same_v<T, ArrayRef<DimOrderType>>,
                                    int> = 0>
std::string to_string(const T& value) {
  std::string out;
  detail::append_text(out, value);
  return out;
}

namespace detail {

/// The types with an operator in <tenon/ostream.h>.
template <class T>
struct IsPrinted
    : std::bool_constant<
          (kHasOwnTensors && (std::is_same_v<T, Tensor> || std::is_same_v<T, TensorPtr>)) ||
          std::is_same_v<T, own::ScalarType> || std::is_same_v<T, own::Scalar> ||
          std::is_same_v<T, Device> || is_printed_list_v<T> || std::is_same_v<T, Error>> {};
template <class T>
struct IsPrinted<Span<T>> : std::true_type {};

/// GCC's error message shows this name.
struct NeedsTenonOstreamHeader {
  template <class T, std::enable_if_t<IsPrinted<T>::value, int> = 0>
  NeedsTenonOstreamHeader(const T&);
};

}  // namespace detail

/// An operator that takes the type itself wins over this one, which converts.
std::ostream& operator<<(std::ostream&, detail::NeedsTenonOstreamHeader)
    TENON_MISTAKE("include <tenon/ostream.h>, or print to_string(tensor)");

TENON_END_NAMESPACE
