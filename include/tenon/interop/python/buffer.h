// SPDX-License-Identifier: MIT
// Reads memory that Python objects share by the buffer protocol.
#pragma once

#include "tenon/interop/python/capsule.h"  // Python.h first

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>

#include "tenon/interop/libraries/element_types.h"
#include "tenon/kernels/byte_order.h"
#include "tenon/tensor/make.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// Whether numbers of `size` bytes are not in the host's byte order. `order`: a character of the
/// struct module; an unknown character means the host's order.
inline bool is_swapped(char order, size_t size) noexcept {
  const bool is_big = order == '>' || order == '!';
  return size != 1 && (is_big || order == '<') && is_big != host_is_big_endian();
}

/// The type of a letter of the struct module, in its native or standard size; Undefined if there is
/// none. F and D are complex types since Python 3.14.
inline ScalarType type_of_letter(char letter, bool is_native) noexcept {
  switch (letter) {
    case 'f': return ScalarType::Float;
    case 'd': return ScalarType::Double;
    case 'e': return ScalarType::Half;
    case 'B': return ScalarType::Byte;
    case 'b': return ScalarType::Char;
    case 'h': return ScalarType::Short;
    case 'i': return ScalarType::Int;
    case 'q': return ScalarType::Long;
    case '?': return ScalarType::Bool;
    case 'H': return ScalarType::UInt16;
    case 'I': return ScalarType::UInt32;
    case 'Q': return ScalarType::UInt64;
    case 'F': return ScalarType::ComplexFloat;
    case 'D': return ScalarType::ComplexDouble;
    case 'l': return type_of_kind('i', is_native ? sizeof(long) : 4);
    case 'L': return type_of_kind('u', is_native ? sizeof(long) : 4);
    case 'n': return type_of_kind('i', is_native ? sizeof(size_t) : 0);
    case 'N': return type_of_kind('u', is_native ? sizeof(size_t) : 0);
    default: return ScalarType::Undefined;
  }
}

/// The type of a buffer's elements, which have `size` bytes; a null format means bytes. Undefined
/// for structs, repeated or byte-swapped elements, and others without a ScalarType. Undefined too
/// if the size of the letter's type differs: ctypes exports packed structures and unions as "B".
inline ScalarType type_of_format(const char* format, size_t size) noexcept {
  if (format == nullptr) return size == 1 ? ScalarType::Byte : ScalarType::Undefined;
  const char order = *format;
  const bool is_standard = order == '<' || order == '>' || order == '!' || order == '=';
  if (is_swapped(order, size)) return ScalarType::Undefined;
  if (is_standard || order == '@' || order == '^') ++format;  // '^' is an extension of NumPy
  const bool is_complex = *format == 'Z';
  if (is_complex) ++format;
  ScalarType type = type_of_letter(*format, !is_standard);
  if (is_complex) {
    type = type == ScalarType::Float    ? ScalarType::ComplexFloat
           : type == ScalarType::Double ? ScalarType::ComplexDouble
                                        : ScalarType::Undefined;
  }
  const bool agrees = type != ScalarType::Undefined && format[1] == '\0';
  return agrees && elementSize(type) == size ? type : ScalarType::Undefined;
}

/// The type of a typestr, such as "<f4"; Undefined if there is none.
inline ScalarType type_of_typestr(const char* text) noexcept {
  if (std::strlen(text) < 3 || std::strchr("<>=|", *text) == nullptr) return ScalarType::Undefined;
  char* end = nullptr;
  const size_t size = std::strtoul(text + 2, &end, 10);
  if (text[2] < '1' || text[2] > '9' || *end != '\0' || is_swapped(*text, size))
    return ScalarType::Undefined;
  return type_of_kind(text[1], size);
}

/// What a tensor holds of Python: a reference and a buffer. The Py_buffer stays at its address,
/// since exporters let its fields point into it. Both are leaked if the interpreter has ended.
struct PythonHold {
  PyObject* object;   // or null
  Py_buffer* buffer;  // or null
  unsigned run;       // PythonState::run when this was made

  void operator()(void*) const noexcept {
    if (is_only_counted()) {
      Py_DECREF(object);
      return;
    }
    with_gil([this]() noexcept {
      if (the_python_state().run != run) return;
      if (buffer != nullptr) PyBuffer_Release(buffer);
      Py_XDECREF(object);
    });
    delete buffer;
  }
  /// Whether dropping the reference only decrements a count, since others hold the object too: then
  /// no code runs, which saves a fifth of a call. Does not access objects of an interpreter that
  /// has ended.
  bool is_only_counted() const noexcept {
    if (buffer != nullptr || the_python_state().run != run) return false;
    PyThreadState* const current = current_state();
    return current != nullptr && is_of_main(current) && Py_REFCNT(object) > 1;
  }
};
template <>
inline constexpr const char* deleter_name_v<PythonHold> = "PythonHold";

/// Describes memory that a Python object shares.
struct LentBuffer {
  void* data = nullptr;
  Device device;
  ScalarType type = ScalarType::Undefined;
  bool readonly = false;
  Dims sizes;
  Dims strides;  // empty for row-major
};

/// Converts the strides from bytes to elements.
inline Error divide_strides(LentBuffer& from) noexcept {
  TENON_TRY(check_dims("sizes", from.sizes));
  TENON_TRY(check_dims("strides", from.strides));
  const auto size = static_cast<int64_t>(elementSize(from.type));  // a power of two
  int shift = 0;
  while (size >> shift > 1) ++shift;  // for a shift, since `/` takes 10 ns
  const bool is_empty = std::find(from.sizes.begin(), from.sizes.end(), 0) != from.sizes.end();
  for (size_t d = 0; d < from.strides.size(); ++d) {
    const int64_t bytes = from.strides[d];
    from.strides[d] = bytes >> shift;
    if ((bytes & (size - 1)) != 0 && from.sizes[d] > 1 && !is_empty) {
      return fail(Error::NotSupported, "a stride of ", bytes, " bytes is not a multiple of the ",
                  size, " bytes of an element");
    }
  }
  return Error::Ok;
}

/// Makes a tensor over shared memory, which `release` releases, or over a copy of it.
inline Result<TensorPtr> make_from_lent(LentBuffer& from, Deleter& release,
                                        const ImportArgs& args) noexcept {
  const bool readonly = from.readonly || (args.flags & kDLPackReadOnly) != 0;
  const size_t alignment = elementSize(from.type) / (isComplexType(from.type) ? 2 : 1);
  if (args.copy.value_or(false) || args.device.has_value() ||
      (reinterpret_cast<uintptr_t>(from.data) & (alignment - 1)) != 0) {
    DLPackContents contents;
    contents.flags = readonly ? kDLPackReadOnly : 0;
    contents.tensor.data = from.data;
    contents.tensor.device = {static_cast<int32_t>(from.device.type()), from.device.index()};
    contents.tensor.ndim = static_cast<int32_t>(from.sizes.size());
    contents.tensor.shape = from.sizes.data();
    contents.tensor.strides = from.strides.empty() ? nullptr : from.strides.data();
    static_cast<void>(type_to_dlpack(
        from.type, contents.tensor.dtype));  // cannot fail: DLPack has every type that Python has
    return import_dlpack<Result<TensorPtr>>(args.function, contents, args.copy, args.device,
                                            args.dynamism, release);
  }
  CreateOptions opts(from.type, args.dynamism);
  opts.device = from.device;
  NewTensor new_tensor;
  const Error error = borrow_checked(DataPtr(from.data, readonly), from.sizes, {}, from.strides,
                                     opts, &release, new_tensor);
  return return_to_user<Result<TensorPtr>>(args.function, error, new_tensor);
}

/// Gets an object's buffer, which `release` releases. The Py_buffer is in `place` if releasing it
/// only drops a reference, else in a heap block.
/// Errors: if the exporter has no buffer, Python's error stays set.
inline Error get_buffer(const PythonState& state, PyObject* object, int flags, Py_buffer& place,
                        Py_buffer*& buffer, Deleter& release) {
  const PyBufferProcs* const exporter = Py_TYPE(object)->tp_as_buffer;
  if (exporter != nullptr && exporter->bf_releasebuffer == nullptr) {  // for example NumPy's arrays
    buffer = &place;
    if (PyObject_GetBuffer(object, buffer, flags) != 0) return fail_as_python();
    if (buffer->obj == object) {
      release.emplace(nullptr, PythonHold{object, nullptr, state.run});
      return Error::Ok;
    }
    PyBuffer_Release(buffer);  // the buffer of another object, whose exporter must release it
  }
  buffer = new (std::nothrow) Py_buffer;
  if (buffer == nullptr) return fail(Error::OutOfMemory, "out of memory for a buffer");
  if (PyObject_GetBuffer(object, buffer, flags) != 0) {
    delete buffer;
    return fail_as_python();
  }
  release.emplace(nullptr, PythonHold{nullptr, buffer, state.run});
  return Error::Ok;
}

/// Whether the strides are row-major, which is the usual case.
inline bool is_row_major(const Py_buffer& buffer) noexcept {
  size_t nbytes =
      static_cast<size_t>(buffer.itemsize);  // may overflow: such a shape is refused later
  bool is_dense = true;
  for (int d = buffer.ndim; d-- > 0;) {
    is_dense = is_dense && static_cast<size_t>(buffer.strides[d]) == nbytes;
    if (buffer.shape[d] != 0) nbytes *= static_cast<size_t>(buffer.shape[d]);
  }
  return is_dense;
}

/// Reads the buffer of an object that has one.
inline Error read_buffer(const PythonState& state, PyObject* object, LentBuffer& lent,
                         Deleter& release) {
  Py_buffer place;
  Py_buffer* buffer = nullptr;
  TENON_TRY(get_buffer(state, object, PyBUF_RECORDS_RO, place, buffer, release));
  const auto size = static_cast<size_t>(buffer->itemsize);
  lent.type = type_of_format(buffer->format, size);
  if (lent.type == ScalarType::Undefined) {
    return fail(Error::NotSupported, "there is no element type for the buffer's format \"",
                buffer->format == nullptr ? "" : buffer->format, "\" of ", size,
                size == 1 ? " byte" : " bytes");
  }
  if (buffer->suboffsets != nullptr || (buffer->ndim > 0 && buffer->shape == nullptr)) {
    return fail(Error::NotSupported, "the buffer has suboffsets, or no shape");
  }
  lent.data = buffer->buf;
  lent.readonly = buffer->readonly != 0;
  const auto rank = static_cast<size_t>(buffer->ndim);
  for (size_t d = 0; d < rank; ++d) lent.sizes.push_back(buffer->shape[d]);
  if (buffer->strides == nullptr || is_row_major(*buffer)) return check_dims("sizes", lent.sizes);
  for (size_t d = 0; d < rank; ++d) lent.strides.push_back(buffer->strides[d]);
  return divide_strides(lent);
}

}  // namespace detail
TENON_END_NAMESPACE
