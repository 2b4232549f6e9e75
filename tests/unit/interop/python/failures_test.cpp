// SPDX-License-Identifier: MIT
// Imports and exports with each allocation failing, tenon's and Python's, which PYTHONMALLOC=malloc
// lets come from malloc too.
#include "allocation/failures.h"
#include "tenon/interop/python.h"

namespace failures_test {

using namespace tenon;
using namespace tests;

namespace {

class Interpreter {
 public:
  Interpreter() { Py_InitializeEx(0); }
  Interpreter(const Interpreter&) = delete;
  Interpreter& operator=(const Interpreter&) = delete;
  ~Interpreter() { Py_FinalizeEx(); }
};

/// Drops what a function returned. Null must come with a MemoryError, which is cleared.
Error error_of_object(PyObject* object) {
  if (object != nullptr) {
    Py_DECREF(object);
    return Error::Ok;
  }
  const bool is_memory = PyErr_ExceptionMatches(PyExc_MemoryError) != 0;
  PyErr_Clear();
  return is_memory ? Error::OutOfMemory : Error::Internal;
}
struct DropObject {
  void operator()(PyObject* object) const noexcept { Py_DECREF(object); }
};
Error error_of_tensor(const TensorPtr& tensor) {
  return tensor != nullptr ? Error::Ok : error_of_object(nullptr);
}

}  // namespace

TEST_CASE("python: without memory imports and exports keep nothing, and the next one works") {
  const Interpreter python;
  PyObject* const bytes = PyByteArray_FromStringAndSize("abcdef", 6);
  REQUIRE(PyRun_SimpleString("class Lender:\n"
                             "  def __dlpack__(self, **options):\n"
                             "    return self.tensor.__dlpack__(**options)\n"
                             "  def __dlpack_device__(self):\n"
                             "    return 1, 0\n") == 0);
  PyObject* const lender = PyObject_GetAttrString(PyImport_AddModule("__main__"), "Lender");
  PyObject* const with_dlpack = PyObject_CallNoArgs(lender);
  REQUIRE(with_dlpack != nullptr);
  const auto source = make_tensor_ptr({2, 3}, {1, 2, 3, 4, 5, 6});
  const auto deep = make_tensor_ptr(kDeep, {1});
  PyObject* const exported = to_python(source);
  REQUIRE(bytes != nullptr);
  REQUIRE(exported != nullptr);
  REQUIRE(PyObject_SetAttrString(with_dlpack, "tensor", exported) == 0);
  // What Python keeps once it was needed, or once code has run some times.
  for (int i = 0; i < 20; ++i) {
    static_cast<void>(error_of_object(to_python(deep)));
    static_cast<void>(from_python(bytes));
    static_cast<void>(from_python(exported));
    static_cast<void>(from_python(with_dlpack));
    static_cast<void>(error_of_object(to_capsule(source)));
    static_cast<void>(error_of_object(PyObject_CallMethod(exported, "tolist", nullptr)));
    static_cast<void>(error_of_object(PyObject_CallMethod(exported, "__copy__", nullptr)));
  }
  PyObject* const reversed = PySlice_New(nullptr, nullptr, PyLong_FromLong(-1));
  REQUIRE(reversed != nullptr);
  Expected python_code;
  python_code.keeps = true;
  Calls calls;
  const auto lent = [&] { return try_from_blob(blob, {2, 3}, ScalarType::Float, calls.deleter()); };
  {
    const Unchanged given(source, deep);
    FAIL_EACH(error_of_object(to_python(source)));
    FAIL_EACH(error_of_object(to_python(deep)));
    FAIL_EACH(error_of_object(to_capsule(source)));
    FAIL_EACH(error_of_object(to_capsule(deep, false)));
    FAIL_EACH_WITH(Expected(calls, 1), [&] {
      const auto mine = lent();
      return mine.ok() ? error_of_object(to_python(*mine)) : mine.error();
    }());
    // Where there is no memory to ask in one way, another is tried.
    FAIL_EACH_WITH(recovers(), from_python(bytes));
    FAIL_EACH_WITH(recovers(), try_from_python(bytes));
    FAIL_EACH_WITH(recovers(), error_of_tensor(from_python_or_set_error(bytes)));
    FAIL_EACH_WITH(python_code, try_from_python(with_dlpack));
    FAIL_EACH_WITH(python_code, from_python(with_dlpack));
    FAIL_EACH_WITH(python_code, error_of_tensor(from_python_or_set_error(with_dlpack)));
    FAIL_EACH(try_from_python(exported));
    // Of the object itself.
    FAIL_EACH(error_of_object(PySequence_GetItem(exported, 1)));
    FAIL_EACH(error_of_object(PyObject_GetItem(exported, Py_None)));
    FAIL_EACH(error_of_object(PyObject_GetItem(exported, reversed)));
    // Python keeps lists that are free, and names of methods.
    FAIL_EACH_WITH(python_code, error_of_object(PyObject_CallMethod(exported, "tolist", nullptr)));
    FAIL_EACH_WITH(python_code,
                   error_of_object(PyObject_CallMethod(exported, "__copy__", nullptr)));
    FAIL_EACH([&] {
      PyObject* const capsule = to_capsule(source);
      if (capsule == nullptr) return error_of_object(nullptr);
      const Error error = try_from_capsule(capsule).error();
      Py_DECREF(capsule);
      return error;
    }());
    FAIL_EACH([&] {
      PyObject* const capsule = to_capsule(source, false);
      if (capsule == nullptr) return error_of_object(nullptr);
      const Error error = error_of_tensor(from_capsule_or_set_error(capsule));
      Py_DECREF(capsule);
      return error;
    }());
    FAIL_EACH([&] {
      const std::unique_ptr<PyObject, DropObject> capsule(to_capsule(source));
      return capsule == nullptr ? error_of_object(nullptr) : error_of(from_capsule(capsule.get()));
    }());
    // Where there is no memory for the error, there is one that says so.
    FAIL_EACH_WITH(recovers(), [] {
      set_python_error(Error::InvalidArgument, "a text");
      const bool is_set = PyErr_ExceptionMatches(PyExc_ValueError) != 0;
      if (!is_set) return error_of_object(nullptr);
      PyErr_Clear();
      return Error::Ok;
    }());
    CHECK(Py_REFCNT(bytes) == 1);
  }
  Py_DECREF(reversed);
  Py_DECREF(with_dlpack);
  Py_DECREF(lender);
  Py_DECREF(exported);
  CHECK(source->use_count() == 1);
  Py_DECREF(bytes);
}

}  // namespace failures_test
