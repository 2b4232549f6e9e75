// SPDX-License-Identifier: MIT
#include "tenon/interop/python/interpreter.h"

#include <functional>
#include <thread>

#include "support/catch.h"
#include "tenon/interop/python.h"
#include "tenon/tenon.h"

namespace interpreter_test {

namespace {

// An interpreter for the length of a test.
class Interpreter {
 public:
  Interpreter() { Py_InitializeEx(0); }
  Interpreter(const Interpreter&) = delete;
  Interpreter& operator=(const Interpreter&) = delete;
  ~Interpreter() { Py_FinalizeEx(); }
};

// Runs Python statements; false, with the error printed, when they fail.
bool run(const char* statements) { return PyRun_SimpleString(statements) == 0; }

// A variable of __main__, borrowed.
PyObject* variable(const char* name) {
  PyObject* const main = PyImport_AddModule("__main__");
  return PyDict_GetItemString(PyModule_GetDict(main), name);
}

// A tensor whose memory is counted while it lives.
tenon::TensorPtr counted(int& live) {
  static float memory[3] = {1, 2, 3};
  ++live;
  return tenon::for_blob(memory, {3}).deleter([&live](void*) { --live; }).make_tensor_ptr();
}

// Lets the n-th of Python's allocations fail during its life.
class FailingAllocations {
 public:
  explicit FailingAllocations(int n) : left_(n) {
    for (Hook& hook : hooks_) {
      PyMem_GetAllocator(hook.domain, &hook.original);
      PyMemAllocatorEx failing = hook.original;
      failing.ctx = &hook;
      failing.malloc = [](void* h, size_t size) {
        return fails(h) ? nullptr : of(h).malloc(of(h).ctx, size);
      };
      failing.calloc = [](void* h, size_t count, size_t size) {
        return fails(h) ? nullptr : of(h).calloc(of(h).ctx, count, size);
      };
      failing.realloc = [](void* h, void* old, size_t size) {
        return fails(h) ? nullptr : of(h).realloc(of(h).ctx, old, size);
      };
      failing.free = [](void* h, void* old) { of(h).free(of(h).ctx, old); };
      PyMem_SetAllocator(hook.domain, &failing);
    }
  }
  FailingAllocations(const FailingAllocations&) = delete;
  FailingAllocations& operator=(const FailingAllocations&) = delete;
  ~FailingAllocations() {
    for (Hook& hook : hooks_) PyMem_SetAllocator(hook.domain, &hook.original);
  }
  bool has_failed() const { return left_ < 0; }

 private:
  struct Hook {
    PyMemAllocatorDomain domain;
    FailingAllocations* self;
    PyMemAllocatorEx original;
  };
  static PyMemAllocatorEx& of(void* hook) { return static_cast<Hook*>(hook)->original; }
  static bool fails(void* hook) { return static_cast<Hook*>(hook)->self->left_-- == 0; }

  int left_;
  Hook hooks_[2] = {{PYMEM_DOMAIN_MEM, this, {}}, {PYMEM_DOMAIN_OBJ, this, {}}};
};

TEST_CASE("python: memory of the program's own is released after the interpreter's end") {
  int live = 0;
  tenon::TensorPtr taken;
  {
    const Interpreter python;
    PyObject* const object = tenon::to_python(counted(live));
    REQUIRE(object != nullptr);
    taken = tenon::from_python(object);
    Py_DECREF(object);
    CHECK(live == 1);
  }
  CHECK(live == 1);
  CHECK(taken->const_data_ptr<float>()[2] == 3);
  taken = nullptr;
  CHECK(live == 0);
}

TEST_CASE(
    "python: an interpreter that is started again works, and old tensors let go of nothing in it") {
  tenon::TensorPtr old;
  for (int round = 0; round < 3; ++round) {
    const Interpreter python;
    int live = 0;
    REQUIRE(run("memory = bytearray(b'abc')"));
    tenon::TensorPtr tensor = tenon::from_python(variable("memory"));
    REQUIRE(
        run("try:\n  memory.append(1)\n  locked = False\nexcept BufferError:\n  locked = True"));
    CHECK(variable("locked") == Py_True);
    old = nullptr;  // the buffer of an interpreter that is gone
    old = std::move(tensor);
    PyObject* const object = tenon::to_python(counted(live));
    REQUIRE(object != nullptr);
    CHECK(tenon::is_python_tensor(object));
    CHECK(std::string(Py_TYPE(object)->tp_name) == "tenon.Tensor");
    CHECK(PyObject_SetAttrString(PyImport_AddModule("__main__"), "t", object) == 0);
    Py_DECREF(object);
    CHECK(run("assert memoryview(t).tolist() == [1, 2, 3] and t.shape == (3,)"));
    CHECK(run("del t"));
    CHECK(live == 0);
  }
}

TEST_CASE(
    "python: a sub-interpreter is refused with an ImportError, before and after the main one") {
  for (const bool is_first : {true, false}) {
    const Interpreter python;
    int live = 0;
    PyObject* const object = is_first ? nullptr : tenon::to_python(counted(live));
    PyThreadState* const outer = PyThreadState_Get();
    PyThreadState* const inner = Py_NewInterpreter();
    REQUIRE(inner != nullptr);
    CHECK(tenon::to_python(counted(live)) == nullptr);
    CHECK(PyErr_ExceptionMatches(PyExc_ImportError) != 0);
    PyErr_Clear();
    PyObject* const memory = PyByteArray_FromStringAndSize("abc", 3);
    CHECK(tenon::from_python_or_set_error(memory) == nullptr);
    CHECK(PyErr_ExceptionMatches(PyExc_ImportError) != 0);
    PyErr_Clear();
    CHECK(tenon::try_from_python(memory).error() == tenon::Error::AccessFailed);
    CHECK(PyErr_Occurred() == nullptr);
    Py_DECREF(memory);
    PyObject* const capsule =
        tenon::to_capsule(counted(live));  // keeps nothing of an interpreter's
    REQUIRE(capsule != nullptr);
    CHECK(tenon::from_capsule(capsule)->numel() > 0);
    Py_DECREF(capsule);
    CHECK(live == (is_first ? 0 : 1));
    Py_EndInterpreter(inner);
    PyThreadState_Swap(outer);
    PyObject* const after = tenon::to_python(counted(live));
    REQUIRE(after != nullptr);
    CHECK(tenon::is_python_tensor(after));
    Py_XDECREF(object);
    Py_DECREF(after);
    CHECK(live == 0);
  }
}

// Where an object of the class Noted is released.
constexpr const char* kNoted =
    "import sys\n"
    "class Noted(bytearray):\n"
    "  places = []\n"
    "  def __del__(self): self.places.append('sub' if 'marker' in sys.modules else 'main')\n";

// Calls `f` on a thread, without the GIL here.
template <class F>
void on_thread(const F& f) {
  PyThreadState* const state = PyEval_SaveThread();
  std::thread(f).join();
  PyEval_RestoreThread(state);
}

TEST_CASE("python: what is dropped in a sub-interpreter is released in the main one") {
  // Each begins and ends in a sub-interpreter, with its GIL.
  const std::function<void(tenon::TensorPtr&)> drops[] = {
      [](tenon::TensorPtr& t) { t = nullptr; },
      [](tenon::TensorPtr& t) {
        PyErr_SetString(PyExc_KeyError, "in flight");
        t = nullptr;
        CHECK(PyErr_ExceptionMatches(PyExc_KeyError) != 0);
        PyErr_Clear();
      },
      [](tenon::TensorPtr& t) {
        PyThreadState* const state = PyEval_SaveThread();
        t = nullptr;
        PyEval_RestoreThread(state);
      },
      [](tenon::TensorPtr& t) { on_thread([&t] { t = nullptr; }); },
      [](tenon::TensorPtr& t) {  // a thread of the sub-interpreter, with its GIL and without
        PyInterpreterState* const inner = PyInterpreterState_Get();
        bool is_back = true;
        for (const bool has_gil : {true, false}) {
          on_thread([&] {
            PyThreadState* const state = PyThreadState_New(inner);
            PyEval_RestoreThread(state);
            if (!has_gil) PyEval_SaveThread();
            t = nullptr;
            if (!has_gil) PyEval_RestoreThread(state);
            is_back = is_back && PyThreadState_Get() == state;
            PyThreadState_Clear(state);
            PyThreadState_DeleteCurrent();
          });
        }
        CHECK(is_back);
      }};
  const Interpreter python;
  for (const auto& drop : drops) {
    for (const bool shares_gil : {true, false}) {
      REQUIRE(run(kNoted));
      REQUIRE(run("noted = Noted(b'abc')"));
      tenon::TensorPtr t = tenon::from_python(variable("noted"));
      REQUIRE(run("del noted"));
      PyThreadState* const outer = PyThreadState_Get();
      PyThreadState* inner = nullptr;
      if (shares_gil) {
        inner = Py_NewInterpreter();
      } else {
#if PY_VERSION_HEX >= 0x030C0000
        PyInterpreterConfig config{};
        config.allow_threads = 1;
        config.check_multi_interp_extensions = 1;
        config.gil = PyInterpreterConfig_OWN_GIL;
        Py_NewInterpreterFromConfig(&inner, &config);
#else
        continue;
#endif
      }
      REQUIRE(inner != nullptr);
      REQUIRE(run("import sys\nsys.modules['marker'] = sys"));
      drop(t);
      CHECK(t == nullptr);
      CHECK(PyThreadState_Get() == inner);
      CHECK(run("import sys\nassert 'marker' in sys.modules"));
      Py_EndInterpreter(inner);
      PyThreadState_Swap(outer);
      CHECK(run("assert Noted.places == ['main'], Noted.places"));
    }
  }
}

TEST_CASE("python: with_gil calls with the GIL on any thread, and keeps an exception in flight") {
  const Interpreter python;
  REQUIRE(tenon::detail::python_state() != nullptr);
  int calls = 0;
  const auto work = [&calls] {
    calls += PyGILState_Check();
    PyErr_SetString(PyExc_ValueError, "of the call");
  };
  PyErr_SetString(PyExc_KeyError, "in flight");
  tenon::detail::with_gil(work);
  CHECK(PyErr_ExceptionMatches(PyExc_KeyError) != 0);
  PyErr_Clear();
  PyThreadState* const saved = PyEval_SaveThread();
  tenon::detail::with_gil(work);
  std::thread([&] { tenon::detail::with_gil(work); }).join();
  PyEval_RestoreThread(saved);
  CHECK(calls == 3);
  CHECK(PyErr_Occurred() == nullptr);
}

TEST_CASE("python: without memory the first object is a MemoryError, and a later one works") {
  int n = 0;
  for (bool has_failed = true; has_failed;) {
    const Interpreter python;
    int live = 0;
    PyObject* object = nullptr;
    while (object == nullptr) {
      INFO("allocation " << n);
      {
        const FailingAllocations failing(n++);
        object = tenon::to_python(counted(live));
        has_failed = failing.has_failed();
      }
      if (object != nullptr) break;  // some can be done without
      REQUIRE(has_failed);
      CHECK(PyErr_ExceptionMatches(PyExc_MemoryError) != 0);
      PyErr_Clear();
      CHECK(live == 0);
    }
    CHECK(tenon::detail::gil_gate().is_open);
    Py_DECREF(object);
    CHECK(live == 0);
  }
  CHECK(n > 20);
}

TEST_CASE("python: with_gil does nothing where there is no interpreter") {
  bool was_called = false;
  tenon::detail::with_gil([&] { was_called = true; });
  CHECK_FALSE(was_called);
}

}  // namespace

}  // namespace interpreter_test
