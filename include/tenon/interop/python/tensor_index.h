// SPDX-License-Identifier: MIT
// Indexing of a tenon.Tensor, by views: len(), [], and iteration.
#pragma once

#include "tenon/interop/python/tensor_object.h"  // Python.h first

TENON_BEGIN_NAMESPACE
namespace detail {

/// One entry of an index, read from Python.
struct IndexEntry {
  enum Kind : uint8_t { Integer, Slice, Ellipsis, NewDimension } kind;
  Py_ssize_t start;  // or the integer
  Py_ssize_t stop;
  Py_ssize_t step;
};

/// An index, read from Python before anything is made of it: reading it may call anything.
struct TensorIndex {
  static constexpr size_t kMost = 2 * kMaxDims + 1;
  IndexEntry entries[kMost];
  size_t count = 0;
  size_t taken = 0;    // dimensions that integers and slices take
  size_t dropped = 0;  // dimensions that an integer indexes
  size_t added = 0;    // by None
  bool has_ellipsis = false;

  /// Reads an entry; false with an error set.
  bool read_entry(PyTypeObject* type, PyObject* key) {
    if (count == kMost) return PyErr_SetString(PyExc_IndexError, "too many indices"), false;
    IndexEntry& entry = entries[count++];
    if (key == Py_None) {
      entry.kind = IndexEntry::NewDimension;
      ++added;
    } else if (key == Py_Ellipsis) {
      if (has_ellipsis) {
        return PyErr_SetString(PyExc_IndexError, "an index has one ellipsis at most"), false;
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
                   "numpy.asarray(tensor) has more",
                   type->tp_name, Py_TYPE(key)->tp_name);
      return false;
    }
    return true;
  }

  /// Reads what is between the brackets; false with an error set.
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
    PyErr_Format(PyExc_IndexError, "the index makes %zu dimensions, a tensor has %zu at most", made,
                 size_t{kMaxDims});
    return false;
  }

  /// Edits the tensor's shape: from the last dimension on, so that the numbers of those that are
  /// left stay; what None adds comes after what integers drop, so that there is room.
  /// Errors: that of the first index that is wrong.
  Error apply(ViewShape& shape) const noexcept {
    const size_t skipped = shape.rank() - taken;
    size_t end = shape.rank();  // dimensions before it are still to be indexed
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

/// The object for an index, a view; null with an error set.
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

/// Whether there is a dimension to go along; false with an error set.
inline bool check_not_scalar(PyObject* self, const char* what) {
  if (Py_SIZE(self) != 0) return true;
  PyErr_Format(PyExc_TypeError, "%s of a tensor without dimensions", what);
  return false;
}

/// mp_length and sq_length.
inline Py_ssize_t python_length(PyObject* self) {
  return check_not_scalar(self, "len()") ? python_tensor(self).shape()[0] : -1;
}

/// sq_item of the type, by which it is iterated. CPython has added len() to what was negative.
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
