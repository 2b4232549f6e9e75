// SPDX-License-Identifier: MIT
// Tensors over memory from the buffer protocol and from __array_interface__, and how Python and
// NumPy name element types.
#pragma once

#include "tenon/interop/python/capsule.h"  // Python.h first

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>

#include "tenon/kernels/byte_order.h"
#include "tenon/tensor/make.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// How Python names an element type. `format` is null and `kind` '\0' where it has no such type.
struct PythonTypeRow {
  ScalarType type;
  const char* name;    // NumPy's and PyTorch's
  const char* format;  // the buffer protocol's (PEP 3118), native
  char kind;           // the letter of __array_interface__
};
inline constexpr PythonTypeRow kPythonTypes[] = {
    {ScalarType::Float, "float32", "f", 'f'},
    {ScalarType::Byte, "uint8", "B", 'u'},
    {ScalarType::Char, "int8", "b", 'i'},
    {ScalarType::Short, "int16", "h", 'i'},
    {ScalarType::Int, "int32", "i", 'i'},
    {ScalarType::Long, "int64", sizeof(long) == 8 ? "l" : "q", 'i'},
    {ScalarType::Half, "float16", "e", 'f'},
    {ScalarType::Double, "float64", "d", 'f'},
    {ScalarType::ComplexHalf, "complex32", nullptr, '\0'},
    {ScalarType::ComplexFloat, "complex64", "Zf", 'c'},
    {ScalarType::ComplexDouble, "complex128", "Zd", 'c'},
    {ScalarType::Bool, "bool", "?", 'b'},
    {ScalarType::BFloat16, "bfloat16", nullptr, '\0'},
    {ScalarType::Float8_e5m2, "float8_e5m2", nullptr, '\0'},
    {ScalarType::Float8_e4m3fn, "float8_e4m3fn", nullptr, '\0'},
    {ScalarType::Float8_e5m2fnuz, "float8_e5m2fnuz", nullptr, '\0'},
    {ScalarType::Float8_e4m3fnuz, "float8_e4m3fnuz", nullptr, '\0'},
    {ScalarType::UInt16, "uint16", "H", 'u'},
    {ScalarType::UInt32, "uint32", "I", 'u'},
    {ScalarType::UInt64, "uint64", sizeof(long) == 8 ? "L" : "Q", 'u'},
};
static_assert(sizeof(short) == 2 && sizeof(int) == 4 && sizeof(long long) == 8);

inline const PythonTypeRow& python_type(ScalarType type) noexcept {
  const PythonTypeRow* row = kPythonTypes;
  while (row->type != type) ++row;
  return *row;
}

/// The type of a kind of number, 'b', 'i', 'u', 'f' or 'c', of `size` bytes; Undefined for none.
inline ScalarType type_of_kind(char kind, size_t size) noexcept {
  for (const PythonTypeRow& row : kPythonTypes) {
    if (row.kind == kind && elementSize(row.type) == size) return row.type;
  }
  return ScalarType::Undefined;
}

/// The type of a buffer's elements, of `size` bytes; a null format means bytes. Undefined for
/// structs, repeated, swapped and other elements without a ScalarType.
inline ScalarType type_of_format(const char* format, size_t size) noexcept {
  if (format == nullptr) return size == 1 ? ScalarType::Byte : ScalarType::Undefined;
  bool is_native = true;  // with the compiler's size of long; else the standard size
  switch (*format) {
    case '<':
    case '>':
    case '!':
      if ((*format == '<') == host_is_big_endian() && size != 1) return ScalarType::Undefined;
      [[fallthrough]];
    case '=': is_native = false; [[fallthrough]];
    case '@':
    case '^': ++format;  // '^' is NumPy's for packed elements
  }
  const bool is_complex = *format == 'Z';
  if (is_complex) ++format;
  constexpr char kLetters[] = "fdBbhHiIlLqQ?enNFD";  // F, D: complex, in Python 3.14's struct
  constexpr char kKinds[] = "ffuiiuiuiuiubfiucc";
  const size_t of_long = is_native ? sizeof(long) : 4;
  const size_t of_size = is_native ? sizeof(size_t) : 0;
  const size_t sizes[] = {4,       8, 1, 1, 2, 2,       4,       4, of_long,
                          of_long, 8, 8, 1, 2, of_size, of_size, 8, 16};
  const char* const letter = *format == '\0' ? nullptr : std::strchr(kLetters, *format);
  if (letter == nullptr || format[1] != '\0') return ScalarType::Undefined;
  const char kind = kKinds[letter - kLetters];
  const size_t found = sizes[letter - kLetters];
  if (!is_complex) return found == size ? type_of_kind(kind, size) : ScalarType::Undefined;
  return kind == 'f' && 2 * found == size ? type_of_kind('c', size) : ScalarType::Undefined;
}

/// The type of a typestr, "<f4"; Undefined for none.
inline ScalarType type_of_typestr(const char* text) noexcept {
  const bool has_size = std::strlen(text) > 2 && text[2] >= '1' && text[2] <= '9';
  if (!has_size || std::strchr("<>=|", *text) == nullptr) return ScalarType::Undefined;
  char* end = nullptr;
  const size_t size = std::strtoul(text + 2, &end, 10);
  const bool is_swapped = *text == (host_is_big_endian() ? '<' : '>') && size != 1;
  return is_swapped || *end != '\0' ? ScalarType::Undefined : type_of_kind(text[1], size);
}

/// A buffer that a tensor holds. It stays where it is: exporters let its fields point into itself.
struct HeldBuffer {
  Py_buffer buffer;
  unsigned run;  // PythonState's
};

/// Releases a buffer. After the interpreter's end the exporter is left as it is.
struct ReleaseBuffer {
  HeldBuffer* held;
  void operator()(void*) const noexcept {
    with_gil([this]() noexcept {
      if (the_python_state().run == held->run) PyBuffer_Release(&held->buffer);
    });
    delete held;
  }
};

/// Releases a reference, in the same way.
struct ReleaseObject {
  PyObject* object;
  unsigned run;
  void operator()(void*) const noexcept {
    with_gil([this]() noexcept {
      if (the_python_state().run == run) Py_DECREF(object);
    });
  }
};

/// Host memory that a Python object lends.
struct LentMemory {
  void* data;
  ScalarType type;
  bool readonly;
  Dims sizes;
  Dims strides;  // in bytes; empty for row-major
};

/// Makes strides in bytes strides in elements.
inline Error divide_strides(LentMemory& from) noexcept {
  TENON_TRY(check_dims("sizes", from.sizes));
  TENON_TRY(check_dims("strides", from.strides));
  const auto element_size = static_cast<int64_t>(elementSize(from.type));
  int shift = 0;  // a division by shift, which shows in the time of an import
  while (int64_t{1} << shift < element_size) ++shift;
  for (size_t d = 0; d < from.strides.size(); ++d) {
    const int64_t bytes = from.strides[d];
    from.strides[d] = bytes >> shift;
    if ((bytes & (element_size - 1)) == 0 || from.sizes[d] <= 1) continue;
    bool is_empty = false;
    for (const int64_t size : from.sizes) is_empty = is_empty || size == 0;
    if (is_empty) continue;
    return fail(Error::NotSupported, "a stride of ", bytes, " bytes is no multiple of the ",
                element_size, element_size == 1 ? " byte" : " bytes", " of an element");
  }
  return Error::Ok;
}

/// A tensor over lent memory, which `release` gives back, or a copy of it.
inline Result<TensorPtr> make_from_lent(LentMemory& from, Deleter& release,
                                        const ImportArgs& args) noexcept {
  Made<Result<TensorPtr>> made;
  Error error = divide_strides(from);
  if (TENON_UNLIKELY(error != Error::Ok)) return made.finish(args.function, error);
  const size_t alignment = elementSize(from.type) / (isComplexType(from.type) ? 2 : 1);
  if (TENON_UNLIKELY(args.copy.value_or(false) || args.device.has_value() || from.data == nullptr ||
                     reinterpret_cast<uintptr_t>(from.data) % alignment != 0)) {
    DLPackContents contents;
    contents.flags = from.readonly ? kDLPackReadOnly : 0;
    contents.tensor.data = from.data;
    contents.tensor.device.device_type = static_cast<int32_t>(DeviceType::CPU);
    contents.tensor.ndim = static_cast<int32_t>(from.sizes.size());
    contents.tensor.shape = from.sizes.data();
    contents.tensor.strides = from.strides.empty() ? nullptr : from.strides.data();
    static_cast<void>(type_to_dlpack(from.type, contents.tensor.dtype));  // has all of Python's
    return import_dlpack<Result<TensorPtr>>(args.function, contents, args.copy, args.device,
                                            args.dynamism, release);
  }
  error = make_from_pointer(DataPtr(from.data, from.readonly), from.sizes, {}, from.strides,
                            public_type(from.type), args.dynamism, Device(), release, made.draft());
  return made.finish(args.function, error);
}

/// A tensor over the buffer of an object that has one.
/// Errors: Python's stays set where the exporter gives no buffer.
inline Result<TensorPtr> import_buffer(const PythonState& state, PyObject* object,
                                       const ImportArgs& args) noexcept {
  auto* const held = new (std::nothrow) HeldBuffer;
  if (TENON_UNLIKELY(held == nullptr)) {
    return blame(args.function, fail(Error::OutOfMemory, "out of memory for a buffer"));
  }
  held->run = state.run;
  const Py_buffer& buffer = held->buffer;
  if (TENON_UNLIKELY(PyObject_GetBuffer(object, &held->buffer, PyBUF_RECORDS_RO) != 0)) {
    delete held;
    return blame(args.function, fail_as_python());
  }
  Deleter release(nullptr, ReleaseBuffer{held});
  const auto size = static_cast<size_t>(buffer.itemsize);
  const ScalarType type = type_of_format(buffer.format, size);
  Error error = Error::Ok;
  if (TENON_UNLIKELY(type == ScalarType::Undefined)) {
    error = fail(Error::NotSupported, "there is no element type for the buffer's format \"",
                 buffer.format == nullptr ? "" : buffer.format, "\" of ", size,
                 size == 1 ? " byte" : " bytes");
  } else if (TENON_UNLIKELY(buffer.suboffsets != nullptr)) {
    error = fail(Error::NotSupported, "the buffer has suboffsets");
  } else if (TENON_UNLIKELY(buffer.ndim < 0 || buffer.ndim > static_cast<int>(kMaxDims))) {
    error = fail(Error::InvalidArgument, "the buffer has ", buffer.ndim,
                 " dimensions, expected 0 to ", kMaxDims);
  }
  if (TENON_UNLIKELY(error != Error::Ok)) return blame(args.function, error);
  LentMemory lent{buffer.buf, type, buffer.readonly != 0, {}, {}};
  for (int d = 0; buffer.shape != nullptr && d < buffer.ndim; ++d) {
    lent.sizes.push_back(buffer.shape[d]);
    if (buffer.strides != nullptr) lent.strides.push_back(buffer.strides[d]);
  }
  if (TENON_UNLIKELY(buffer.shape == nullptr && buffer.ndim != 0)) {
    lent.sizes.push_back(buffer.len / buffer.itemsize);
  }
  return make_from_lent(lent, release, args);
}

/// Reads a tuple of integers.
/// Errors: Python's stays set where it comes from an integer.
inline Error read_integers(PyObject* tuple, const char* what, Dims& values) noexcept {
  if (TENON_UNLIKELY(tuple == nullptr || PyTuple_Check(tuple) == 0)) {
    return fail(Error::InvalidType, "__array_interface__'s ", what, " is no tuple");
  }
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); ++i) {
    const long long value = PyLong_AsLongLong(PyTuple_GET_ITEM(tuple, i));
    if (TENON_UNLIKELY(value == -1 && PyErr_Occurred() != nullptr)) return fail_as_python();
    values.push_back(value);
  }
  return check_dims(what, values);
}

/// Reads an __array_interface__, whose data is an address, or an object with a row-major buffer, as
/// PIL's images have it, which `owner` keeps.
/// Errors: Python's stays set where it comes from there.
inline Error read_array_interface(PyObject* dict, LentMemory& lent, PyRef& owner) noexcept {
  if (TENON_UNLIKELY(PyDict_Check(dict) == 0)) {
    return fail(Error::InvalidType, "__array_interface__ is '", Py_TYPE(dict)->tp_name,
                "', expected a dict");
  }
  // Values are kept: reading an integer may call anything, which may change the dict.
  const auto find = [dict](const char* key) noexcept {
    PyObject* const value = PyDict_GetItemString(dict, key);  // borrowed
    return value == nullptr || value == Py_None ? PyRef() : PyRef(new_reference(value));
  };
  const PyRef typestr = find("typestr");
  const char* const text =
      typestr && PyUnicode_Check(typestr.get()) != 0 ? PyUnicode_AsUTF8(typestr.get()) : nullptr;
  if (TENON_UNLIKELY(text == nullptr)) {
    PyErr_Clear();
    return fail(Error::InvalidType, "__array_interface__ has no typestr");
  }
  lent.type = type_of_typestr(text);
  if (TENON_UNLIKELY(lent.type == ScalarType::Undefined)) {
    return fail(Error::NotSupported, "there is no element type for the typestr \"", text, "\"");
  }
  const PyRef data = find("data");
  const PyRef shape = find("shape");
  const PyRef strides = find("strides");
  const bool has_address =
      data && PyTuple_Check(data.get()) != 0 && PyTuple_GET_SIZE(data.get()) == 2;
  if (TENON_UNLIKELY(find("mask") || (!has_address && (strides || find("offset"))))) {
    return fail(Error::NotSupported,
                "__array_interface__ has a mask, or strides or an offset without an address");
  }
  TENON_TRY(read_integers(shape.get(), "shape", lent.sizes));
  if (strides) TENON_TRY(read_integers(strides.get(), "strides", lent.strides));
  if (TENON_UNLIKELY(strides && lent.strides.size() != lent.sizes.size())) {
    return fail(Error::InvalidArgument, "__array_interface__'s shape ", lent.sizes, " and strides ",
                lent.strides, " differ in length");
  }
  if (has_address) {
    PyObject* address = nullptr;
    int readonly = 0;
    if (PyArg_ParseTuple(data.get(), "Op", &address, &readonly) == 0) return fail_as_python();
    lent.readonly = readonly != 0;
    lent.data = PyLong_AsVoidPtr(address);
    return lent.data == nullptr && PyErr_Occurred() != nullptr ? fail_as_python() : Error::Ok;
  }
  if (TENON_UNLIKELY(!data || PyObject_CheckBuffer(data.get()) == 0)) {
    return fail(Error::NotSupported,
                "__array_interface__'s data is neither a pair of an address "
                "and whether it is read-only nor an object with a buffer");
  }
  owner = PyRef(PyMemoryView_FromObject(data.get()));
  if (TENON_UNLIKELY(!owner)) return fail_as_python();
  const Py_buffer& buffer = *PyMemoryView_GET_BUFFER(owner.get());
  int64_t numel = 0;
  TENON_TRY(compute_numel(lent.sizes, elementSize(lent.type), numel));
  if (TENON_UNLIKELY(PyBuffer_IsContiguous(&buffer, 'C') == 0 ||
                     static_cast<size_t>(numel) * elementSize(lent.type) >
                         static_cast<size_t>(buffer.len))) {
    return fail(Error::InvalidArgument, "sizes ", lent.sizes, " do not fit into the ", buffer.len,
                " bytes of __array_interface__'s data");
  }
  lent.data = buffer.buf;
  lent.readonly = buffer.readonly != 0;
  return Error::Ok;
}

inline Result<TensorPtr> import_array_interface(const PythonState& state, PyObject* object,
                                                PyObject* dict, const ImportArgs& args) noexcept {
  LentMemory lent{};
  PyRef owner;
  const Error error = read_array_interface(dict, lent, owner);
  if (TENON_UNLIKELY(error != Error::Ok)) return blame(args.function, error);
  PyObject* const kept = owner ? owner.release() : new_reference(object);
  Deleter release(nullptr, ReleaseObject{kept, state.run});
  return make_from_lent(lent, release, args);
}

}  // namespace detail
TENON_END_NAMESPACE
