// SPDX-License-Identifier: MIT
// Access to the elements of a tenon.Tensor: as Python's numbers by item(), tolist() and the
// conversions of a single element; as views by [] and iteration.
#pragma once

#include "tenon/interop/python/tensor_object.h"  // Python.h first

#include "tenon/kernels/cast.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// Makes a number of the element at `element`; null with Python's error set.
inline PyObject* make_number(ScalarType type, const char* element) {
  const Scalar value = load_scalar(type, element);
  if (value.isBoolean()) return PyBool_FromLong(value.to<bool>() ? 1 : 0);
  if (value.type() == ScalarType::UInt64) return PyLong_FromUnsignedLongLong(value.to<uint64_t>());
  if (value.isIntegral(false)) return PyLong_FromLongLong(value.to<int64_t>());
  if (value.isFloatingPoint()) return PyFloat_FromDouble(value.to<double>());
  const auto both = value.to<complex<double>>();
  return PyComplex_FromDoubles(both.real(), both.imag());
}

/// The only element of a tensor. Null with Python's error set: of type `kind` if the tensor does
/// not have exactly one element.
inline PyObject* only_number(PythonTensor& object, PyObject* kind) {
  const TensorArg t = object.arg();
  const TensorFields& tensor = fields(t);
  if (tensor.layout.numel != 1) {
    return PyErr_Format(kind, "expected one element, but the tensor has %lld",
                        static_cast<long long>(tensor.layout.numel));
  }
  if (finish_status(check_shareable(tensor)) != 0) return nullptr;
  return make_number(tensor.type, static_cast<const char*>(tensor.data));
}
inline PyRef only_number(PyObject* self) {
  return PyRef(only_number(python_tensor(self), PyExc_TypeError));
}

/// item()
inline PyObject* python_item(PyObject* self, PyObject*) {
  return only_number(python_tensor(self), PyExc_ValueError);
}

// The slots of conversions. Each lets Python convert the element.

inline int python_bool(PyObject* self) {
  const PyRef number = only_number(self);
  return number ? PyObject_IsTrue(number.get()) : -1;
}
inline PyObject* python_int(PyObject* self) {
  const PyRef number = only_number(self);
  return number ? PyNumber_Long(number.get()) : nullptr;
}
inline PyObject* python_float(PyObject* self) {
  const PyRef number = only_number(self);
  return number ? PyNumber_Float(number.get()) : nullptr;
}
inline PyObject* python_complex(PyObject* self, PyObject*) {
  const PyRef number = only_number(self);
  return !number ? nullptr
                 : PyObject_CallOneArg(reinterpret_cast<PyObject*>(&PyComplex_Type), number.get());
}
/// As in NumPy, only for an integer without dimensions: bytes() and bytearray() try __index__
/// first, and would make that many zeros of a tensor of one byte.
inline PyObject* python_index(PyObject* self) {
  PythonTensor& object = python_tensor(self);
  const TensorArg t = object.arg();
  if (object.rank() != 0 || !isIntegralType(fields(t).type, false)) {
    return PyErr_Format(PyExc_TypeError,
                        "a tensor of %s with %zu dimensions is not an index; expected an integer "
                        "without dimensions",
                        python_type(fields(t).type).name, object.rank());
  }
  return only_number(object, PyExc_TypeError);
}

/// Makes nested lists of the dimensions from `d` on, or a number if there are none; null with
/// Python's error set.
inline PyObject* make_list(PythonTensor& object, size_t d, const char* element) {
  if (d == object.rank()) return make_number(fields(object.arg()).type, element);
  const Py_ssize_t size = object.shape()[d];
  PyRef list(PyList_New(size));
  for (Py_ssize_t i = 0; list && i < size; ++i) {
    PyObject* const entry = make_list(object, d + 1, element + i * object.byte_strides()[d]);
    if (entry == nullptr) return nullptr;
    PyList_SET_ITEM(list.get(), i, entry);
  }
  return list.release();
}

/// tolist()
inline PyObject* python_tolist(PyObject* self, PyObject*) {
  PythonTensor& object = python_tensor(self);
  const TensorArg t = object.arg();
  if (finish_status(check_shareable(fields(t))) != 0) return nullptr;
  return make_list(object, 0, static_cast<const char*>(fields(t).data));
}

/// An entry of an index that was read from Python.
struct IndexEntry {
  enum Kind : uint8_t { Integer, Slice, Ellipsis, NewDimension } kind;
  Py_ssize_t start;  // of a slice; or the integer
  Py_ssize_t stop;
  Py_ssize_t step;
};

/// An index. It is read from Python before it is applied, since reading it may run any code.
struct TensorIndex {
  static constexpr size_t kMost = 2 * kMaxDims + 1;
  IndexEntry entries[kMost];
  size_t count = 0;
  size_t taken = 0;    // number of dimensions that integers and slices use
  size_t dropped = 0;  // number of dimensions that integers remove
  size_t added = 0;    // number of dimensions that None adds
  bool has_ellipsis = false;

  /// Reads an entry; false with Python's error set.
  bool read_entry(PyTypeObject* type, PyObject* key) {
    if (count == kMost) return PyErr_SetString(PyExc_IndexError, "too many indices"), false;
    IndexEntry& entry = entries[count++];
    if (key == Py_None) {
      entry.kind = IndexEntry::NewDimension;
      ++added;
    } else if (key == Py_Ellipsis) {
      if (has_ellipsis) {
        return PyErr_SetString(PyExc_IndexError, "an index may have only one ellipsis"), false;
      }
      has_ellipsis = true;
      entry.kind = IndexEntry::Ellipsis;
    } else if (PySlice_Check(key)) {
      entry.kind = IndexEntry::Slice;
      ++taken;
      return PySlice_Unpack(key, &entry.start, &entry.stop, &entry.step) == 0;
    } else if (PyIndex_Check(key) != 0 && PyBool_Check(key) == 0) {
      entry.kind = IndexEntry::Integer;
      ++taken;
      ++dropped;
      entry.start = PyNumber_AsSsize_t(key, PyExc_IndexError);
      return entry.start != -1 || PyErr_Occurred() == nullptr;
    } else {
      PyErr_Format(PyExc_TypeError,
                   "a %s is indexed by integers, slices, ... and None, not by '%s'; "
                   "numpy.asarray(tensor) supports more",
                   type->tp_name, Py_TYPE(key)->tp_name);
      return false;
    }
    return true;
  }

  /// Reads the index between the brackets; false with Python's error set.
  bool read(PythonTensor& object, PyObject* key) {
    PyTypeObject* const type = Py_TYPE(&object);
    if (PyTuple_Check(key) == 0) {
      if (!read_entry(type, key)) return false;
    } else {
      for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(key); ++i) {
        if (!read_entry(type, PyTuple_GET_ITEM(key, i))) return false;
      }
    }
    const size_t rank = object.rank();
    if (taken > rank) {
      PyErr_Format(PyExc_IndexError, "%zu indices for a tensor of %zu dimensions", taken, rank);
      return false;
    }
    const size_t made = rank - dropped + added;
    if (made <= kMaxDims) return true;
    PyErr_Format(PyExc_IndexError, "the index makes %zu dimensions, but a tensor has at most %zu",
                 made, size_t{kMaxDims});
    return false;
  }

  /// Applies the index to the tensor's shape. Goes from the last dimension to the first, so that
  /// the numbers of the dimensions still to be indexed do not change; removes dimensions before it
  /// adds others, so that there is room.
  /// Errors: the error of the first wrong entry.
  Error apply(ViewShape& shape) const noexcept {
    const size_t skipped = shape.rank() - taken;
    size_t end = shape.rank();  // the dimensions before `end` are still to be indexed
    if (!has_ellipsis) end -= skipped;
    Error error = Error::Ok;
    for (size_t i = count; i-- > 0;) {
      const IndexEntry& entry = entries[i];
      if (entry.kind == IndexEntry::Ellipsis) end -= skipped;
      if (entry.kind != IndexEntry::Integer && entry.kind != IndexEntry::Slice) continue;
      const auto d = static_cast<int64_t>(--end);
      const Error of_entry =
          entry.kind == IndexEntry::Integer ? shape.select(d, entry.start) : slice(shape, d, entry);
      if (of_entry != Error::Ok) error = of_entry;
    }
    TENON_TRY(error);
    int64_t d = 0;
    for (size_t i = 0; i < count; ++i) {
      const IndexEntry::Kind kind = entries[i].kind;
      if (kind == IndexEntry::NewDimension) TENON_TRY(shape.unsqueeze(d));
      if (kind != IndexEntry::Integer) {
        d += kind == IndexEntry::Ellipsis ? static_cast<int64_t>(skipped) : 1;
      }
    }
    return Error::Ok;
  }

  static Error slice(ViewShape& shape, int64_t d, const IndexEntry& entry) noexcept {
    Py_ssize_t start = entry.start;
    Py_ssize_t stop = entry.stop;
    const int64_t extent = shape.sizes[static_cast<size_t>(d)];
    const auto size = static_cast<Py_ssize_t>(extent);
    const Py_ssize_t length = PySlice_AdjustIndices(size, &start, &stop, entry.step);
    if (length == 0) return shape.narrow(d, 0, 0);
    if (entry.step > 0) return shape.slice(d, start, stop, entry.step);
    TENON_TRY(shape.slice(d, start + (length - 1) * entry.step, start + 1, -entry.step));
    return shape.flip({d});
  }
};

/// Makes the view that an index selects; null with Python's error set.
inline PyObject* make_indexed(PyObject* self, const TensorIndex& index) {
  const TensorArg& t = python_tensor(self).arg();
  ViewShape shape(t);
  if (shape.error == Error::Ok) shape.error = index.apply(shape);
  Result<Tensor> view = view_of_shape<Result<Tensor>>(kForPython, t, shape);
  if (view.error() == Error::OutOfBounds) {
    return PyErr_SetString(PyExc_IndexError, view.message()), nullptr;
  }
  return wrap_view(Py_TYPE(self), std::move(view));
}

/// mp_subscript of the type.
inline PyObject* python_subscript(PyObject* self, PyObject* key) {
  TensorIndex index;
  return index.read(python_tensor(self), key) ? make_indexed(self, index) : nullptr;
}

/// Checks that the tensor has dimensions; false with Python's error set.
inline bool check_not_scalar(PyObject* self, const char* what) {
  if (Py_SIZE(self) != 0) return true;
  PyErr_Format(PyExc_TypeError, "%s of a tensor without dimensions", what);
  return false;
}

/// mp_length and sq_length.
inline Py_ssize_t python_length(PyObject* self) {
  return check_not_scalar(self, "len()") ? python_tensor(self).shape()[0] : -1;
}

/// sq_item of the type, which iteration uses. CPython has already added len() to a negative index.
inline PyObject* python_entry(PyObject* self, Py_ssize_t i) {
  if (!check_not_scalar(self, "an entry")) return nullptr;
  if (i < 0) return PyErr_SetString(PyExc_IndexError, "index out of range"), nullptr;
  TensorIndex index;
  index.entries[index.count++] = {IndexEntry::Integer, i, 0, 0};
  index.taken = 1;
  return make_indexed(self, index);
}

/// tp_iter of the type.
inline PyObject* python_iterator(PyObject* self) {
  return check_not_scalar(self, "iteration") ? PySeqIter_New(self) : nullptr;
}

}  // namespace detail
TENON_END_NAMESPACE
