// SPDX-License-Identifier: MIT
// Memory that Python's objects lend to a tensor: by the buffer protocol and by __array_interface__.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

#include "tenon/config.h"
#include "tenon/core/dims.h"
#include "tenon/core/error.h"
#include "tenon/core/layout.h"
#include "tenon/core/scalar_type.h"
#include "tenon/exchange/dlpack_check.h"
#include "tenon/exchange/dlpack_types.h"
#include "tenon/interop/python_capsule.h"
#include "tenon/interop/python_error.h"
#include "tenon/interop/python_format.h"
#include "tenon/interop/python_gil.h"
#include "tenon/interop/python_state.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// Describes host memory with strides in bytes, null for row-major ones.
template <class Size>
Error describe_memory(void* data, ScalarType type, bool readonly, size_t rank, const Size* sizes,
                      const Size* strides, PythonOffer& offer) noexcept {
  if (TENON_UNLIKELY(rank > kMaxDims)) {
    return fail(Error::InvalidArgument, {rank, " dimensions, expected at most ", kMaxDims});
  }
  DLTensor& t = offer.contents.tensor;
  TENON_TRY(type_to_dlpack(type, t.dtype));
  const auto element_size = static_cast<int64_t>(elementSize(type));
  int64_t* const shape = offer.dims;
  int64_t* const steps = offer.dims + rank;
  bool is_empty = false;
  bool is_dense = true;
  int64_t dense = element_size;
  for (size_t d = rank; d-- > 0;) {
    const auto size = static_cast<int64_t>(sizes[d]);
    shape[d] = size;
    is_empty = is_empty || size == 0;
    // Sizes that overflow are refused by whoever makes the tensor.
    is_dense = is_dense && (strides == nullptr || strides[d] == dense) &&
               (size == 0 || multiply(dense, size, dense));
  }
  for (size_t d = 0; !is_dense && strides != nullptr && d < rank; ++d) {
    const auto bytes = static_cast<int64_t>(strides[d]);
    if (TENON_UNLIKELY(bytes % element_size != 0 && shape[d] > 1 && !is_empty)) {
      return fail(Error::NotSupported,
                  {"a stride of ", bytes, " bytes is no multiple of the ", element_size,
                   element_size == 1 ? " byte" : " bytes", " of an element"});
    }
    steps[d] = bytes / element_size;
  }
  offer.contents.flags = readonly ? kDLPackReadOnly : 0;
  t.data = data;
  t.device = {static_cast<int32_t>(DeviceType::CPU), 0};
  t.ndim = static_cast<int32_t>(rank);
  t.shape = shape;
  t.strides = is_dense || strides == nullptr ? nullptr : steps;
  t.byte_offset = 0;
  return Error::Ok;
}

/// A buffer, where it stays: exporters let their fields point into each other.
struct HeldBuffer {
  Py_buffer buffer;
  unsigned run;  // PythonState's
};

/// What a tensor's deleter does with a buffer. Without an interpreter the exporter is left as it is.
struct ReleaseBuffer {
  HeldBuffer* held;
  void operator()(void*) const noexcept {
    with_gil([this]() noexcept {
      if (the_python_state().run == held->run) PyBuffer_Release(&held->buffer);
    });
    std::free(held);
  }
};

/// The same with a reference.
struct ReleaseObject {
  PyObject* object;
  unsigned run;
  void operator()(void*) const noexcept {
    with_gil([this]() noexcept {
      if (the_python_state().run == run) Py_DECREF(object);
    });
  }
};

inline Error describe_buffer(const Py_buffer& buffer, PythonOffer& offer) noexcept {
  const auto size = static_cast<size_t>(buffer.itemsize);
  const ScalarType type = type_of_format(buffer.format, size);
  if (TENON_UNLIKELY(type == ScalarType::Undefined)) {
    return fail(Error::NotSupported,
                {"there is no element type for the buffer's format \"",
                 buffer.format == nullptr ? "" : static_cast<const char*>(buffer.format), "\" of ",
                 size, size == 1 ? " byte" : " bytes"});
  }
  if (TENON_UNLIKELY(buffer.suboffsets != nullptr)) {
    return fail(Error::NotSupported, {"the buffer has suboffsets"});
  }
  if (TENON_UNLIKELY(buffer.ndim < 0)) {
    return fail(Error::InvalidArgument, {"the buffer's ndim is ", buffer.ndim});
  }
  const bool readonly = buffer.readonly != 0;
  if (TENON_UNLIKELY(buffer.shape == nullptr && buffer.ndim != 0)) {
    const Py_ssize_t count = buffer.len / buffer.itemsize;
    return describe_memory<Py_ssize_t>(buffer.buf, type, readonly, 1, &count, nullptr, offer);
  }
  return describe_memory(buffer.buf, type, readonly, static_cast<size_t>(buffer.ndim), buffer.shape,
                         buffer.strides, offer);
}

/// Gets the buffer of an object, which the offer releases.
/// Errors: Python's stays set where the exporter gives none.
inline Error hold_buffer(const PythonState& state, PyObject* object, int flags, PythonOffer& offer,
                         const Py_buffer*& buffer) noexcept {
  auto* const held = static_cast<HeldBuffer*>(std::malloc(sizeof(HeldBuffer)));
  if (TENON_UNLIKELY(held == nullptr)) {
    return fail(Error::OutOfMemory, {"out of memory for a buffer"});
  }
  ::new (static_cast<void*>(held)) HeldBuffer;
  held->run = state.run;
  if (TENON_UNLIKELY(PyObject_GetBuffer(object, &held->buffer, flags) != 0)) {
    std::free(held);
    return fail_as_python();
  }
  offer.release.emplace(nullptr, ReleaseBuffer{held});
  buffer = &held->buffer;
  return Error::Ok;
}

/// Takes the buffer of an object that has one. The offer releases it, also after an error.
/// Errors: Python's stays set where the exporter gives none.
inline Error take_buffer(const PythonState& state, PyObject* object, PythonOffer& offer) noexcept {
  const Py_buffer* buffer = nullptr;
  TENON_TRY(hold_buffer(state, object, PyBUF_RECORDS_RO, offer, buffer));
  return describe_buffer(*buffer, offer);
}

/// The integers of a tuple.
/// Errors: Python's stays set.
inline Error read_integers(PyObject* tuple, const char* what, Dims& values) noexcept {
  if (TENON_UNLIKELY(PyTuple_Check(tuple) == 0)) {
    return fail(Error::InvalidType, {"__array_interface__'s ", what, " is no tuple"});
  }
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); ++i) {
    const long long value = PyLong_AsLongLong(PyTuple_GET_ITEM(tuple, i));
    if (TENON_UNLIKELY(value == -1 && PyErr_Occurred() != nullptr)) return fail_as_python();
    values.push_back(value);
  }
  return check_dims(what, values);
}

/// The value of a key; null where there is none or it is None. It is kept: asking a value for an
/// integer calls anything, which may take it out of the dict.
inline PyRef find_value(PyObject* dict, PyObject* key) noexcept {
  PyObject* const value = PyDict_GetItemWithError(dict, key);  // borrowed
  if (value == nullptr) PyErr_Clear();
  return value == nullptr || value == Py_None ? PyRef() : PyRef(new_reference(value));
}

/// Whether the elements that `described` has lie within `nbytes` bytes, element 0 at `offset`.
inline Error check_within(const DLPackContents& described, size_t element_size, int64_t nbytes,
                          int64_t offset) noexcept {
  int64_t numel = 0;
  TENON_TRY(compute_numel(described.sizes(), element_size, numel));
  Extent extent{0, numel - 1};
  if (described.tensor.strides != nullptr) {
    TENON_TRY(compute_extent(described.sizes(), described.strides(), extent));
  }
  const auto size = static_cast<int64_t>(element_size);
  if (offset < 0 || offset > nbytes || extent.min < -(offset / size) ||
      extent.max >= (nbytes - offset) / size) {
    return fail(Error::InvalidArgument,
                {"sizes ", described.sizes(), " at offset ", offset, " do not fit into the ",
                 nbytes, " bytes of __array_interface__'s data"});
  }
  return Error::Ok;
}

/// Takes the memory that the __array_interface__ of `object` describes. The offer releases what
/// holds it, also after an error.
/// Errors: Python's stays set where it comes from there.
inline Error take_array_interface(const PythonState& state, PyObject* object, PyObject* dict,
                                  PythonOffer& offer) noexcept {
  if (TENON_UNLIKELY(PyDict_Check(dict) == 0)) {
    return fail(Error::InvalidType,
                {"__array_interface__ is '", Py_TYPE(dict)->tp_name, "', expected a dict"});
  }
  const PyRef typestr = find_value(dict, state.name(PythonName::Typestr));
  const char* const text =
      typestr && PyUnicode_Check(typestr.get()) != 0 ? PyUnicode_AsUTF8(typestr.get()) : nullptr;
  if (TENON_UNLIKELY(text == nullptr)) {
    PyErr_Clear();
    return fail(Error::InvalidType, {"__array_interface__ has no typestr"});
  }
  const ScalarType type = type_of_typestr(text);
  if (TENON_UNLIKELY(type == ScalarType::Undefined)) {
    return fail(Error::NotSupported, {"there is no element type for the typestr \"", text, "\""});
  }
  if (TENON_UNLIKELY(static_cast<bool>(find_value(dict, state.name(PythonName::Mask))))) {
    return fail(Error::NotSupported, {"__array_interface__ has a mask"});
  }
  const PyRef data = find_value(dict, state.name(PythonName::Data));
  void* address = nullptr;
  int readonly = 0;
  const Py_buffer* buffer = nullptr;
  if (data && PyTuple_Check(data.get()) != 0 && PyTuple_GET_SIZE(data.get()) == 2) {
    address = PyLong_AsVoidPtr(PyTuple_GET_ITEM(data.get(), 0));
    if (TENON_UNLIKELY(address == nullptr && PyErr_Occurred() != nullptr)) return fail_as_python();
    readonly = PyObject_IsTrue(PyTuple_GET_ITEM(data.get(), 1));
    if (TENON_UNLIKELY(readonly < 0)) return fail_as_python();
    offer.release.emplace(nullptr, ReleaseObject{new_reference(object), state.run});
  } else if (data && PyObject_CheckBuffer(data.get()) != 0) {  // PIL's images: bytes
    TENON_TRY(hold_buffer(state, data.get(), PyBUF_SIMPLE, offer, buffer));
    address = buffer->buf;
    readonly = buffer->readonly;
  } else {
    return fail(Error::NotSupported, {"__array_interface__'s data is neither a pair of an address "
                                      "and whether it is read-only nor an object with a buffer"});
  }
  const PyRef shape = find_value(dict, state.name(PythonName::Shape));
  if (TENON_UNLIKELY(!shape)) {
    return fail(Error::InvalidType, {"__array_interface__ has no shape"});
  }
  Dims sizes;
  Dims strides;
  TENON_TRY(read_integers(shape.get(), "shape", sizes));
  const PyRef given = find_value(dict, state.name(PythonName::Strides));
  if (given) {
    TENON_TRY(read_integers(given.get(), "strides", strides));
    if (TENON_UNLIKELY(strides.size() != sizes.size())) {
      return fail(Error::InvalidArgument, {"__array_interface__'s shape ", sizes, " and strides ",
                                           strides, " differ in length"});
    }
  }
  TENON_TRY(describe_memory<int64_t>(address, type, readonly != 0, sizes.size(), sizes.data(),
                                     given ? strides.data() : nullptr, offer));
  if (buffer == nullptr) return Error::Ok;
  const PyRef start = find_value(dict, state.name(PythonName::Offset));
  const long long offset = start ? PyLong_AsLongLong(start.get()) : 0;
  if (TENON_UNLIKELY(offset == -1 && PyErr_Occurred() != nullptr)) return fail_as_python();
  TENON_TRY(check_within(offer.contents, elementSize(type), buffer->len, offset));
  offer.contents.tensor.data = static_cast<char*>(address) + offset;
  return Error::Ok;
}

}  // namespace detail
TENON_END_NAMESPACE
