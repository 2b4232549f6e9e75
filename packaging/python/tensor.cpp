// SPDX-License-Identifier: MIT
// The module tenon._tensor: the type tenon.Tensor, and tenon.asarray.
#include <tenon/interop/python.h>
#include <tenon/tenon.h>

namespace {

PyObject* asarray(PyObject*, PyObject* arguments, PyObject* named) {
  static const char* names[] = {"", "copy", nullptr};
  PyObject* object = nullptr;
  PyObject* copy = Py_None;
  if (PyArg_ParseTupleAndKeywords(arguments, named, "O|$O:asarray", const_cast<char**>(names),
                                  &object, &copy) == 0) {
    return nullptr;
  }
  tenon::detail::Optional<bool> wanted = tenon::none;
  if (copy != Py_None) {
    const int is_true = PyObject_IsTrue(copy);
    if (is_true < 0) return nullptr;
    wanted = is_true != 0;
  }
  const tenon::TensorPtr tensor = tenon::from_python_or_set_error(object, wanted);
  return tensor == nullptr ? nullptr : tenon::to_python(tensor);
}

PyMethodDef methods[] = {
    {"asarray", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(&asarray)),
     METH_VARARGS | METH_KEYWORDS,
     "asarray($module, object, /, *, copy=None)\n--\n\n"
     "A tensor over the memory of an object that has DLPack, the buffer protocol or an array "
     "interface."},
    {nullptr, nullptr, 0, nullptr}};
PyModuleDef definition = {PyModuleDef_HEAD_INIT,
                          "tenon._tensor",
                          nullptr,
                          -1,
                          methods,
                          nullptr,
                          nullptr,
                          nullptr,
                          nullptr};

/// Adds the type, which is made with the first object.
bool add_type(PyObject* module) noexcept {
  const auto empty = tenon::try_empty({0});
  if (!empty.ok()) {
    PyErr_NoMemory();
    return false;
  }
  PyObject* const object = tenon::to_python(*empty);
  if (object == nullptr) return false;
  const int added =
      PyModule_AddObjectRef(module, "Tensor", reinterpret_cast<PyObject*>(Py_TYPE(object)));
  Py_DECREF(object);
  return added == 0;
}

}  // namespace

PyMODINIT_FUNC PyInit__tensor() {
  PyObject* const module = PyModule_Create(&definition);
  if (module == nullptr) return nullptr;
  if (!add_type(module)) {
    Py_DECREF(module);
    return nullptr;
  }
  return module;
}
