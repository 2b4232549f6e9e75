// SPDX-License-Identifier: MIT
// to_string: a tensor as text, laid out as NumPy does.
//
// The elements shown are gone through up to three times, to learn how wide a column is and then to
// write it, so that nothing but the text takes memory. Floating numbers go through snprintf and
// strtod, which come with <string>: <charconv> would add a tenth to its compile time, lacks the
// floating conversions in some libraries, and knows nothing of the 8- and 16-bit types.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "tenon/config.h"
#include "tenon/core/complex.h"
#include "tenon/core/layout.h"
#include "tenon/core/message.h"
#include "tenon/core/scalar_type.h"
#include "tenon/kernels/cast.h"
#include "tenon/tensor/format_numbers.h"
#include "tenon/tensor/place.h"
#include "tenon/tensor/tensor_arg.h"
#include "tenon/tensor/tensor_impl.h"

TENON_BEGIN_NAMESPACE

/// How much of a tensor to_string() shows, and how. Negative values count as 0.
/// Source: NumPy's edgeitems, threshold, precision and linewidth.
struct FormatOptions {
  int edge_items = 3;    ///< elements shown at each end of a shortened dimension
  int64_t limit = 1000;  ///< a tensor of more elements is shortened
  int precision = 4;     ///< digits after the point, at most; above 24 as 24
  int width = 80;        ///< characters in a line, unless a single element needs more
};

namespace detail {

/// A tensor on its way to text.
struct TensorText {
  enum class Pass { LookAt, Measure, Write };

  TensorText(const TensorFields& source, const FormatOptions& asked, std::string& text) noexcept
      : tensor(source), out(text), options(asked) {
    options.edge_items = asked.edge_items < 0 ? 0 : asked.edge_items;
    options.width = asked.width < 0 ? 0 : asked.width;
    shortened = tensor.layout.numel > (asked.limit < 0 ? 0 : asked.limit);
    const ScalarType type = tensor.type;
    real.type = type == ScalarType::ComplexHalf    ? ScalarType::Half
                : type == ScalarType::ComplexFloat ? ScalarType::Float
                : isFloatingType(type)             ? type
                                                   : ScalarType::Double;
    real.precision = asked.precision < 0 ? 0 : asked.precision > 24 ? 24 : asked.precision;
    imaginary.type = real.type;
    imaginary.precision = real.precision;
    imaginary.plus = true;
  }

  /// Of a dimension's indices, how many are shown; less than there are where it is shortened.
  int64_t shown(size_t d) const noexcept {
    const int64_t size = tensor.layout.sizes[d];
    const int64_t most = 2 * static_cast<int64_t>(options.edge_items);
    return shortened && size > most ? most : size;
  }

  const TensorFields& tensor;
  std::string& out;
  FormatOptions options;
  bool shortened = false;
  const void* data = nullptr;  // element 0
  const Dims* strides = nullptr;
  bool is_compact = false;  // whether it holds nothing but what is shown
  Pass pass = Pass::LookAt;
  FloatColumn real;  // all floating numbers, where they are not complex
  FloatColumn imaginary;
  size_t word_width = 0;  // of integers and Bool
  size_t line = 0;        // where the last line begins in `out`
};

TENON_LAZY void take_word(TensorText& t, const char* word) {
  const size_t size = std::char_traits<char>::length(word);
  if (t.pass == TensorText::Pass::Write) {
    pad(t.out, size, t.word_width);
    t.out += word;
  } else if (size > t.word_width) {
    t.word_width = size;
  }
}
template <class T>
void take_integer(TensorText& t, T value) {
  char text[24];
  Message message(text, sizeof text);
  append(message, value);
  take_word(t, text);
}
TENON_LAZY void take_bool(TensorText& t, bool value) {
  // Wide enough for both, whatever the tensor holds.
  if (!t.tensor.layout.sizes.empty()) t.word_width = 5;
  take_word(t, value ? "True" : "False");
}
TENON_LAZY void take_float(TensorText& t, FloatColumn& column, double value, const char* unit) {
  switch (t.pass) {
    case TensorText::Pass::LookAt: return look_at(column, value);
    case TensorText::Pass::Measure: return measure(column, value);
    case TensorText::Pass::Write: return write_float(column, value, unit, t.out);
  }
}

/// Looks at, measures or writes the element at an offset.
TENON_LAZY void take_element(TensorText& t, int64_t offset) {
  const ScalarType type = t.tensor.type;
  alignas(16) unsigned char exact[16] = {};
  const int64_t at = offset * static_cast<int64_t>(elementSize(type));
  load_exact(type, static_cast<const char*>(t.data) + at, 1, exact);
  switch (exact_type(type)) {
    case ScalarType::ComplexDouble: {
      const auto value = load_element<complex<double>>(exact, 0);
      take_float(t, t.real, value.real(), "");
      return take_float(t, t.imaginary, value.imag(), "j");
    }
    case ScalarType::Double: return take_float(t, t.real, load_element<double>(exact, 0), "");
    case ScalarType::UInt64: return take_integer(t, load_element<uint64_t>(exact, 0));
    default: break;
  }
  const auto value = load_element<int64_t>(exact, 0);
  return type == ScalarType::Bool ? take_bool(t, value != 0) : take_integer(t, value);
}

/// Writes what stands between two elements of dimension d.
TENON_LAZY void write_separator(TensorText& t, size_t d) {
  const size_t rank = t.tensor.layout.sizes.size();
  if (d + 1 == rank) {
    t.out += ' ';
    return;
  }
  t.out.append(rank - d - 1, '\n');
  t.line = t.out.size();
  t.out.append(d + 1, ' ');
}

/// Moves what was written since `begin` to a line of its own, if it stands behind others and does
/// not fit beside them and the closing brackets.
TENON_LAZY void wrap_row(TensorText& t, size_t begin) {
  const size_t rank = t.tensor.layout.sizes.size();
  const bool fits = t.out.size() - t.line + rank <= static_cast<size_t>(t.options.width);
  if (fits || begin - t.line == rank) return;
  size_t end = begin;
  while (t.out[end - 1] == ' ') --end;
  t.out.replace(end, begin - end, "\n" + std::string(rank, ' '));
  t.line = end + 1;
}

/// Goes through the elements to be shown, from dimension d on.
TENON_LAZY void walk_shown(TensorText& t, size_t d, int64_t offset) {
  const Layout& layout = t.tensor.layout;
  if (d == layout.sizes.size()) return take_element(t, offset);
  const bool writing = t.pass == TensorText::Pass::Write;
  const bool is_row = d + 1 == layout.sizes.size();
  const int64_t size = layout.sizes[d];
  const int64_t edge = t.options.edge_items;
  const bool has_gap = t.shown(d) != size;
  if (writing) t.out += '[';
  for (int64_t i = 0; i < size; ++i) {
    if (writing && i != 0) write_separator(t, d);
    if (has_gap && i == edge) {
      i = size - edge;
      const size_t begin = t.out.size();
      if (writing) t.out += "...";
      if (writing && is_row) wrap_row(t, begin);
      if (i == size) break;
      if (writing) write_separator(t, d);
    }
    const size_t begin = t.out.size();
    const int64_t at = t.is_compact && i >= edge ? i - (size - t.shown(d)) : i;
    walk_shown(t, d + 1, offset + at * (*t.strides)[d]);
    if (writing && is_row) wrap_row(t, begin);
  }
  if (writing) t.out += ']';
}

TENON_LAZY void write_elements(TensorText& t) {
  const TensorFields& tensor = t.tensor;
  walk_shown(t, 0, 0);
  if (!isIntegralType(tensor.type, true)) {
    t.pass = TensorText::Pass::Measure;
    walk_shown(t, 0, 0);
  }
  t.pass = TensorText::Pass::Write;
  walk_shown(t, 0, 0);
}

/// Fetches what is shown of a backend's memory, and nothing else: the corners of a shortened
/// tensor.
TENON_LAZY Error fetch_shown(TensorText& t, const Place& from, HostBuffer& buffer,
                             Layout& compact) noexcept {
  const size_t rank = from.view.sizes.size();
  Dims sizes = from.view.sizes;
  for (size_t d = 0; d < rank; ++d) sizes[d] = t.shown(d);
  const size_t size = elementSize(from.view.type);
  TENON_TRY(make_dense_layout(sizes, nullptr, size, compact));
  TENON_TRY(buffer.allocate(static_cast<size_t>(compact.numel) * size));
  t.data = buffer.data();
  t.strides = &compact.strides;
  t.is_compact = true;
  if (compact.numel == 0) return Error::Ok;
  bool at_end[kMaxDims] = {};  // of each shortened dimension
  for (;;) {
    Place to{{buffer.data(), from.view.type, Device(), compact.sizes, compact.strides}, nullptr};
    Place corner = from;
    int64_t to_offset = 0;
    int64_t from_offset = 0;
    for (size_t d = 0; d < rank; ++d) {
      const int64_t whole = from.view.sizes[d];
      if (sizes[d] == whole) continue;
      const int64_t edge = sizes[d] / 2;
      to.view.sizes[d] = corner.view.sizes[d] = edge;
      if (!at_end[d]) continue;
      to_offset += edge * compact.strides[d];
      from_offset += (whole - edge) * from.view.strides[d];
    }
    const auto move = [size](void*& data, int64_t offset) {
      data = static_cast<char*>(data) + offset * static_cast<int64_t>(size);
    };
    move(to.view.data, to_offset);
    move(corner.view.data, from_offset);
    TENON_TRY(copy_between(to, corner, CastMode::Checked, nullptr));
    size_t d = 0;
    for (; d < rank; ++d) {
      if (sizes[d] == from.view.sizes[d]) continue;
      at_end[d] = !at_end[d];
      if (at_end[d]) break;
    }
    if (d == rank) return Error::Ok;
  }
}

/// Writes the elements of a tensor that has some.
TENON_LAZY Error print_elements(const TensorFields& tensor, const FormatOptions& options,
                                std::string& out) {
  TensorText t(tensor, options, out);
  if (tensor.is_host_accessible()) {
    t.data = tensor.data;
    t.strides = &tensor.layout.strides;
    write_elements(t);
    return Error::Ok;
  }
  Place place;
  TENON_TRY(find_place(tensor, "the tensor", place));
  Error error = Error::Ok;
  const size_t begin = out.size();
  if (ask_optional(*place.backend, "inspect", error, [&] {
        return place.backend->inspect(public_view(place.view),
                                      options.limit < 0 ? 0 : options.limit, out);
      })) {
    if (error != Error::Ok) out.resize(begin);
    return error;
  }
  HostBuffer buffer;
  Layout compact;
  TENON_TRY(fetch_shown(t, place, buffer, compact));
  write_elements(t);
  return Error::Ok;
}

}  // namespace detail

/// The elements in NumPy's layout, and a last line with dtype and sizes, the device unless it is
/// the CPU, the strides unless they are contiguous, and whether the tensor is read-only:
///
///     [[1.   2.5 ]
///      [3.   0.25]]
///     Float {2, 2}, strides {1, 2}, read-only
///
/// A floating number has the fewest digits after the point that identify it in its dtype, at most
/// options.precision. All have exponents, and equally many digits, if one is 1e8 or larger, one is
/// below 1e-4, or the largest is over 1000 times the smallest; signs, zeros, nan and inf aside.
/// The parts of complex numbers are two columns in this.
///
/// Every tensor has a text, and printing raises nothing. An undefined one gives "undefined tensor";
/// a placeholder, a deallocated one, and memory that nobody can read give the last line alone,
/// which says so. What is in a backend's memory is fetched from there, unless its inspect() shows
/// it. Reads and writes nothing but the elements shown; on the host's memory takes memory for the
/// text alone. Does not depend on the C locale.
/// Source: numpy.array2string, up to 2.2: later versions write Half and Float with exponents
/// sooner. Other differences: with 0 edge items a shortened dimension shows none, where NumPy shows
/// the last; a power of two may have a digit more, where its fewest digits are not the nearest.
TENON_LAZY std::string to_string(detail::ConstTensorArg t, const FormatOptions& options = {}) {
  if (!t.defined()) return "undefined tensor";
  if (detail::check_metadata(t, "the tensor") != Error::Ok) {
    return std::string("not shown: ") + last_error_message();
  }
  const detail::TensorFields& tensor = detail::fields(t);
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
  detail::append_text(out, tensor.type);
  out += ' ';
  detail::append_list(out, tensor.layout.sizes);
  if (!tensor.device.is_cpu()) {
    out += " on ";
    detail::append_text(out, tensor.device);
  }
  if (!tensor.layout.is_contiguous()) {
    out += ", strides ";
    detail::append_list(out, tensor.layout.strides);
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

TENON_END_NAMESPACE
