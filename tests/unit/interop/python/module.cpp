// SPDX-License-Identifier: MIT
// tenon_test_module: what the Python tests call, over tenon/interop/python.h and CPython's C API.
#include "tenon/interop/python.h"

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <map>
#include <thread>

#include "backend/device_helpers.h"
#include "tenon/exchange/dlpack_packed.h"
#include "tenon/interop/shm.h"
#include "tenon/tenon.h"

namespace {

using namespace tenon;
using tenon::detail::Optional;

std::atomic<long> live_memories{0};
std::atomic<long> deleter_calls{0};

// What the module keeps without Python, by number.
std::map<long, TensorPtr>& held() {
  static std::map<long, TensorPtr> all;
  return all;
}

bool read_dims(PyObject* object, Dims& dims) {
  detail::PyRef list(PySequence_Fast(object, "expected a sequence of integers"));
  if (!list) return false;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(list.get()); ++i) {
    const long long value = PyLong_AsLongLong(PySequence_Fast_GET_ITEM(list.get(), i));
    if (value == -1 && PyErr_Occurred() != nullptr) return false;
    dims.push_back(value);
  }
  return true;
}

bool read_type(const char* name, ScalarType& type) {
  for (const auto& row : detail::kPythonTypes) {
    if (std::strcmp(row.name, name) == 0) {
      type = detail::public_type(row.type);
      return true;
    }
  }
  PyErr_Format(PyExc_ValueError, "no type is called %s", name);
  return false;
}

// A value that fits the type, as fill_() demands.
bool fill_with(const TensorPtr& tensor, double value) {
  const auto type = detail::own_type(tensor->scalar_type());
  const Error error = type == own::ScalarType::Bool ? fill_(tensor, value != 0)
                      : own::isIntegralType(type, false)
                          ? fill_(tensor, static_cast<int64_t>(value))
                          : fill_(tensor, value);
  if (error != Error::Ok) set_python_error(error, last_error_message());
  return error == Error::Ok;
}

// Calls `f`, whose exceptions leave no Python error set.
template <class F>
PyObject* guarded(const F& f) {
  try {
    return f();
  } catch (const Exception& e) {
    if (PyErr_Occurred() != nullptr) std::abort();
    set_python_error(e.error(), e.what());
    return nullptr;
  }
}

// take(object, copy=None, device=None): what from_python() makes of it, as a tenon.Tensor.
// take_capsule() is the same with from_capsule().
template <bool is_capsule>
PyObject* take(PyObject*, PyObject* args, PyObject* keywords) {
  static const char* names[] = {"object", "copy", "device", nullptr};
  PyObject* object = nullptr;
  PyObject* copy_object = Py_None;
  const char* device_name = nullptr;
  if (PyArg_ParseTupleAndKeywords(args, keywords, "O|Oz", const_cast<char**>(names), &object,
                                  &copy_object, &device_name) == 0) {
    return nullptr;
  }
  Optional<bool> copy = none;
  if (copy_object != Py_None) copy = copy_object == Py_True;
  Optional<Device> device = none;
  if (device_name != nullptr) device = Device(device_name);
  const TensorPtr made = is_capsule ? from_capsule_or_set_error(object, copy, device)
                                    : from_python_or_set_error(object, copy, device);
  return made != nullptr ? to_python(made) : nullptr;
}

// messages(object, as_capsule=False): the Error of the throwing form, by name, its text, and that of
// the form with a Result. Neither leaves Python's error set, which would be raised then.
PyObject* messages(PyObject*, PyObject* args) {
  PyObject* object = nullptr;
  int as_capsule = 0;
  if (PyArg_ParseTuple(args, "O|p", &object, &as_capsule) == 0) return nullptr;
  Error error = Error::Ok;
  std::string thrown;
  try {
    static_cast<void>(as_capsule != 0 ? from_capsule(object) : from_python(object));
  } catch (const Exception& e) {
    error = e.error();
    thrown = e.what();
  }
  if (PyErr_Occurred() != nullptr) return nullptr;
  const Result<TensorPtr> result =
      as_capsule != 0 ? try_from_capsule(object) : try_from_python(object);
  if (PyErr_Occurred() != nullptr) return nullptr;
  return Py_BuildValue("(sss)", toString(error), thrown.c_str(), result.message());
}

// capsule(object, versioned=True)
PyObject* capsule(PyObject*, PyObject* args) {
  PyObject* object = nullptr;
  int versioned = 1;
  if (PyArg_ParseTuple(args, "O|p", &object, &versioned) == 0) return nullptr;
  const TensorPtr tensor = from_python_or_set_error(object);
  return tensor != nullptr ? to_capsule(tensor, versioned != 0) : nullptr;
}

// take_packed(capsule): the bytes, the packed type's name and the sizes in numbers.
PyObject* take_packed(PyObject*, PyObject* object) {
  return guarded([&]() -> PyObject* {
    PackedTensor t;
    if (PyCapsule_IsValid(object, "dltensor_versioned") != 0) {
      void* const managed = PyCapsule_GetPointer(object, "dltensor_versioned");
      PyCapsule_SetName(object, "used_dltensor_versioned");
      t = from_dlpack_packed(static_cast<dlpack::DLManagedTensorVersioned*>(managed));
    } else {
      void* const managed = PyCapsule_GetPointer(object, "dltensor");
      if (managed == nullptr) return nullptr;
      PyCapsule_SetName(object, "used_dltensor");
      t = from_dlpack_packed(static_cast<dlpack::DLManagedTensor*>(managed));
    }
    detail::PyRef sizes(PyTuple_New(static_cast<Py_ssize_t>(t.sizes.size())));
    for (size_t d = 0; sizes && d < t.sizes.size(); ++d) {
      PyTuple_SetItem(sizes.get(), static_cast<Py_ssize_t>(d), PyLong_FromLongLong(t.sizes[d]));
    }
    return Py_BuildValue("(NsN)", to_python(t.bytes), toString(t.type), sizes.release());
  });
}

bool read_packed_type(const char* name, PackedType& type) {
  for (int number = 1; number <= static_cast<int>(PackedType::UInt1); ++number) {
    type = static_cast<PackedType>(number);
    if (std::strcmp(toString(type), name) == 0) return true;
  }
  PyErr_Format(PyExc_ValueError, "no packed type is called %s", name);
  return false;
}

// The arguments of the two below: an object and the packed type of its bytes.
TensorPtr packed_arguments(PyObject* args, PackedType& type) {
  PyObject* object = nullptr;
  const char* name = nullptr;
  if (PyArg_ParseTuple(args, "Os", &object, &name) == 0 || !read_packed_type(name, type)) {
    return nullptr;
  }
  return from_python_or_set_error(object);
}

// give_packed(object, type): a capsule of the bytes in the object, as that packed type.
PyObject* give_packed(PyObject*, PyObject* args) {
  PackedType type{};
  const TensorPtr tensor = packed_arguments(args, type);
  if (tensor == nullptr) return nullptr;
  return guarded(
      [&] { return PyCapsule_New(to_dlpack_packed(tensor, type), "dltensor_versioned", nullptr); });
}

// unpack(object, type): the numbers in the bytes of the object.
PyObject* unpack_numbers(PyObject*, PyObject* args) {
  PackedType type{};
  const TensorPtr tensor = packed_arguments(args, type);
  if (tensor == nullptr) return nullptr;
  return guarded([&] { return to_python(unpack(tensor, type)); });
}

// make(shape, dtype="float32", value=0, readonly=False): memory of the module's own, which is counted.
PyObject* make(PyObject*, PyObject* args, PyObject* keywords) {
  static const char* names[] = {"shape", "dtype", "value", "readonly", nullptr};
  PyObject* shape = nullptr;
  const char* type_name = "float32";
  double value = 0;
  int readonly = 0;
  if (PyArg_ParseTupleAndKeywords(args, keywords, "O|sdp", const_cast<char**>(names), &shape,
                                  &type_name, &value, &readonly) == 0) {
    return nullptr;
  }
  Dims sizes;
  ScalarType type = ScalarType::Undefined;
  if (!read_dims(shape, sizes) || !read_type(type_name, type)) return nullptr;
  size_t nbytes = own::elementSize(detail::own_type(type));
  for (const int64_t size : sizes) nbytes *= static_cast<size_t>(size);
  void* const memory = std::malloc(nbytes + 1);
  ++live_memories;
  const auto release = [](void* data) {
    std::free(data);
    --live_memories;
    ++deleter_calls;
  };
  return guarded([&] {
    TensorPtr tensor = for_blob(memory, sizes, type).deleter(release).make_tensor_ptr();
    if (!fill_with(tensor, value)) return static_cast<PyObject*>(nullptr);
    if (readonly != 0) {
      const void* const data = tensor->const_data_ptr();
      tensor = for_blob(data, sizes, type).owner(std::move(tensor)).make_tensor_ptr();
    }
    return to_python(tensor);
  });
}

// shm_create(name, shape, dtype, strides): a tensor in shared memory, and its descriptor. The name is
// None for memory without one.
PyObject* make_shm(PyObject*, PyObject* args) {
  const char* name = nullptr;
  const char* type_name = nullptr;
  PyObject* shape = nullptr;
  PyObject* strides_object = nullptr;
  if (PyArg_ParseTuple(args, "zOsO", &name, &shape, &type_name, &strides_object) == 0) {
    return nullptr;
  }
  Dims sizes;
  Dims strides;
  ScalarType type = ScalarType::Undefined;
  if (!read_dims(shape, sizes) || !read_dims(strides_object, strides) ||
      !read_type(type_name, type)) {
    return nullptr;
  }
  return guarded([&] {
    const TensorPtr t =
        name != nullptr ? shm_create(name, sizes, type, strides) : shm_create(sizes, type, strides);
    return Py_BuildValue("(Ni)", to_python(t), shm_fd(t));
  });
}

// shm_attach(name): a tensor over shared memory, to read and write.
PyObject* attach_shm(PyObject*, PyObject* args) {
  const char* name = nullptr;
  if (PyArg_ParseTuple(args, "s", &name) == 0) return nullptr;
  return guarded([&] { return to_python(shm_attach(name, ShmAccess::ReadWrite)); });
}

// as_strided(object, sizes, strides, offset=0): a view, strides in elements.
PyObject* as_strided(PyObject*, PyObject* args) {
  PyObject* object = nullptr;
  PyObject* sizes_object = nullptr;
  PyObject* strides_object = nullptr;
  long long offset = 0;
  if (PyArg_ParseTuple(args, "OOO|L", &object, &sizes_object, &strides_object, &offset) == 0) {
    return nullptr;
  }
  Dims sizes;
  Dims strides;
  if (!read_dims(sizes_object, sizes) || !read_dims(strides_object, strides)) return nullptr;
  return guarded([&] {
    const TensorPtr tensor = from_python(object);
    return to_python(as_strided(tensor, sizes, strides, offset));
  });
}

// fill(object, value): writes through from_python().
PyObject* fill(PyObject*, PyObject* args) {
  PyObject* object = nullptr;
  double value = 0;
  if (PyArg_ParseTuple(args, "Od", &object, &value) == 0) return nullptr;
  const TensorPtr tensor = from_python_or_set_error(object);
  if (tensor == nullptr) return nullptr;
  if (!fill_with(tensor, value)) return nullptr;
  Py_RETURN_NONE;
}

PyObject* data_pointer(PyObject*, PyObject* object) {
  const TensorPtr tensor = from_python_or_set_error(object);
  if (tensor == nullptr) return nullptr;
  return PyLong_FromVoidPtr(const_cast<void*>(tensor->const_data_ptr()));
}

// hold(object): the number under which the module keeps a tensor over it, without Python.
PyObject* hold(PyObject*, PyObject* object) {
  static long last = 0;
  TensorPtr tensor = from_python_or_set_error(object);
  if (tensor == nullptr) return nullptr;
  held()[++last] = std::move(tensor);
  return PyLong_FromLong(last);
}

enum class How { WithGil, WithoutGil, OnThread, WithError };

// drop(number): lets go of what is held; in other forms without the GIL, on a thread that Python has
// not started, or with an exception in flight, which has to survive.
template <How how>
PyObject* drop(PyObject*, PyObject* number) {
  const auto found = held().find(PyLong_AsLong(number));
  if (found == held().end()) return PyErr_Format(PyExc_KeyError, "nothing is held under that");
  TensorPtr tensor = std::move(found->second);
  held().erase(found);
  if (how == How::WithError) PyErr_SetString(PyExc_ZeroDivisionError, "in flight");
  const bool has_gil = how == How::WithGil || how == How::WithError;
  PyThreadState* const saved = has_gil ? nullptr : PyEval_SaveThread();
  if (how == How::OnThread) {
    std::thread([kept = std::move(tensor)]() mutable { kept = nullptr; }).join();
  }
  tensor = nullptr;
  if (!has_gil) PyEval_RestoreThread(saved);
  if (how == How::WithError) return nullptr;
  Py_RETURN_NONE;
}

// drop_later(object, milliseconds): on a thread that nobody waits for.
PyObject* drop_later(PyObject*, PyObject* args) {
  PyObject* object = nullptr;
  int milliseconds = 0;
  if (PyArg_ParseTuple(args, "Oi", &object, &milliseconds) == 0) return nullptr;
  TensorPtr tensor = from_python_or_set_error(object);
  if (tensor == nullptr) return nullptr;
  std::thread([kept = std::move(tensor), milliseconds]() mutable {
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
    kept = nullptr;
  }).detach();
  Py_RETURN_NONE;
}

// held_object(number): the tensor that is held, as a Python object.
PyObject* held_object(PyObject*, PyObject* number) {
  const auto found = held().find(PyLong_AsLong(number));
  if (found == held().end()) Py_RETURN_NONE;
  return to_python(found->second);
}

// release_with_error(list): empties it with an exception in flight, which has to survive.
PyObject* release_with_error(PyObject*, PyObject* list) {
  PyObject* const last = PySequence_GetItem(list, 0);
  if (last == nullptr || PySequence_DelItem(list, 0) != 0) return nullptr;
  PyErr_SetString(PyExc_ZeroDivisionError, "in flight");
  Py_DECREF(last);
  return nullptr;
}

PyObject* live(PyObject*, PyObject*) { return PyLong_FromLong(live_memories.load()); }
PyObject* deleted(PyObject*, PyObject*) { return PyLong_FromLong(deleter_calls.load()); }

PyObject* is_ours(PyObject*, PyObject* object) {
  return PyBool_FromLong(is_python_tensor(object) ? 1 : 0);
}

// raise_error(name): set_python_error() for tenon's error of that name.
PyObject* raise_error(PyObject*, PyObject* args) {
  const char* name = nullptr;
  const char* text = nullptr;
  if (PyArg_ParseTuple(args, "sy", &name, &text) == 0) return nullptr;
  for (int i = 1; i <= static_cast<int>(Error::Internal); ++i) {
    const auto error = static_cast<Error>(i);
    if (std::strcmp(toString(error), name) == 0) set_python_error(error, text);
  }
  if (PyErr_Occurred() == nullptr) PyErr_SetString(PyExc_SystemError, "no such error");
  return nullptr;
}

// undefined(): to_python() of a tensor that is undefined.
PyObject* undefined(PyObject*, PyObject*) { return to_python(Tensor()); }

// placeholder(shape): a tensor without data.
PyObject* placeholder(PyObject*, PyObject* shape) {
  Dims sizes;
  if (!read_dims(shape, sizes)) return nullptr;
  return guarded([&] { return to_python(make_tensor_ptr(sizes, nullptr)); });
}

// get_buffer(object, flags): what PyObject_GetBuffer() gives: ndim, shape, strides, format, len,
// itemsize and readonly, with None for what is null.
PyObject* get_buffer(PyObject*, PyObject* args) {
  PyObject* object = nullptr;
  int flags = 0;
  if (PyArg_ParseTuple(args, "Oi", &object, &flags) == 0) return nullptr;
  Py_buffer view;
  if (PyObject_GetBuffer(object, &view, flags) != 0) return nullptr;
  const auto list = [&](const Py_ssize_t* values) {
    return values == nullptr ? Py_NewRef(Py_None)
                             : detail::make_tuple(values, static_cast<size_t>(view.ndim));
  };
  PyObject* const all = Py_BuildValue("(iNNznni)", view.ndim, list(view.shape), list(view.strides),
                                      view.format, view.len, view.itemsize, view.readonly);
  PyBuffer_Release(&view);
  return all;
}

// exporter(format, itemsize): an object whose buffer is two elements of zeros, said to have that
// format and that size.
struct Exporter {
  PyObject_HEAD PyObject* format;
  Py_ssize_t shape;
  Py_ssize_t itemsize;
};
int export_buffer(PyObject* self, Py_buffer* view, int) {
  alignas(16) static char zeros[64];
  auto& from = *reinterpret_cast<Exporter*>(self);
  *view = Py_buffer{};
  view->obj = Py_NewRef(self);
  view->buf = zeros;
  view->len = from.shape * from.itemsize;
  view->itemsize = from.itemsize;
  view->ndim = 1;
  view->format = PyBytes_AS_STRING(from.format);
  view->shape = &from.shape;
  view->strides = &from.itemsize;
  return 0;
}
void destroy_exporter(PyObject* self) {
  PyTypeObject* const type = Py_TYPE(self);
  Py_DECREF(reinterpret_cast<Exporter*>(self)->format);
  type->tp_free(self);
  Py_DECREF(type);
}
PyObject* exporter(PyObject*, PyObject* args) {
  static PyType_Slot slots[] = {{Py_bf_getbuffer, reinterpret_cast<void*>(&export_buffer)},
                                {Py_tp_dealloc, reinterpret_cast<void*>(&destroy_exporter)},
                                {0, nullptr}};
  static PyType_Spec spec{"tenon_test_module.Exporter", sizeof(Exporter), 0, Py_TPFLAGS_DEFAULT,
                          slots};
  static PyObject* const type = PyType_FromSpec(&spec);
  PyObject* format = nullptr;
  Py_ssize_t itemsize = 0;
  if (type == nullptr || PyArg_ParseTuple(args, "Sn", &format, &itemsize) == 0) return nullptr;
  auto* const plain = reinterpret_cast<PyTypeObject*>(type);
  auto* const made = reinterpret_cast<Exporter*>(plain->tp_alloc(plain, 0));
  if (made == nullptr) return nullptr;
  made->format = Py_NewRef(format);
  made->shape = 2;
  made->itemsize = itemsize;
  return reinterpret_cast<PyObject*>(made);
}

// lender(object): an object that lends the buffer of another one.
struct Lender {
  PyObject_HEAD PyObject* from;
};
int lend_other(PyObject* self, Py_buffer* view, int flags) {
  return PyObject_GetBuffer(reinterpret_cast<Lender*>(self)->from, view, flags);
}
void destroy_lender(PyObject* self) {
  PyTypeObject* const type = Py_TYPE(self);
  Py_DECREF(reinterpret_cast<Lender*>(self)->from);
  type->tp_free(self);
  Py_DECREF(type);
}
PyObject* lender(PyObject*, PyObject* object) {
  static PyType_Slot slots[] = {{Py_bf_getbuffer, reinterpret_cast<void*>(&lend_other)},
                                {Py_tp_dealloc, reinterpret_cast<void*>(&destroy_lender)},
                                {0, nullptr}};
  static PyType_Spec spec{"tenon_test_module.Lender", sizeof(Lender), 0, Py_TPFLAGS_DEFAULT, slots};
  static PyObject* const type = PyType_FromSpec(&spec);
  if (type == nullptr) return nullptr;
  auto* const plain = reinterpret_cast<PyTypeObject*>(type);
  PyObject* const made = plain->tp_alloc(plain, 0);
  if (made != nullptr) reinterpret_cast<Lender*>(made)->from = Py_NewRef(object);
  return made;
}

// A struct that a hostile producer makes, in a capsule; its deleter is counted.
struct Hostile {
  dlpack::DLManagedTensorVersioned managed;
  int64_t shape[2];
  float data[6];
};

// A struct that breaks one rule, or is otherwise out of the ordinary.
dlpack::DLManagedTensorVersioned* make_hostile(const char* what) {
  const auto is = [what](const char* other) { return std::strcmp(what, other) == 0; };
  auto* const made = new Hostile{{{1, 3}, nullptr, nullptr, 0, {}}, {2, 3}, {1, 2, 3, 4, 5, 6}};
  ++live_memories;
  dlpack::DLManagedTensorVersioned& managed = made->managed;
  managed.manager_ctx = made;
  managed.deleter = [](dlpack::DLManagedTensorVersioned* self) {
    delete static_cast<Hostile*>(self->manager_ctx);
    --live_memories;
    ++deleter_calls;
  };
  managed.dl_tensor = {made->data, {1, 0}, 2, {2, 32, 1}, made->shape, nullptr, 0};
  if (is("version")) managed.version.major = 2;
  if (is("minor")) managed.version.minor = 99;
  if (is("dtype")) managed.dl_tensor.dtype.bits = 17;
  if (is("lanes")) managed.dl_tensor.dtype.lanes = 4;
  if (is("device")) managed.dl_tensor.device.device_type = 99;
  if (is("cuda")) managed.dl_tensor.device = {2, 1};
  if (is("ndim")) managed.dl_tensor.ndim = -1;
  if (is("shape")) managed.dl_tensor.shape = nullptr;
  if (is("size")) made->shape[0] = -2;
  if (is("data")) managed.dl_tensor.data = nullptr;
  if (is("readonly")) managed.flags = dlpack::kDLPackReadOnly;
  if (is("misaligned")) {
    managed.dl_tensor.byte_offset = 2;
    made->shape[1] = 2;
  }
  return &managed;
}

// hostile(what): a capsule with such a struct.
PyObject* hostile(PyObject*, PyObject* text) {
  const char* const what = PyUnicode_AsUTF8(text);
  return what == nullptr ? nullptr : detail::make_capsule(Result(make_hostile(what)));
}

// named_capsule(name): one that is no DLPack's.
PyObject* named_capsule(PyObject*, PyObject* text) {
  static int something = 0;
  return PyCapsule_New(&something, PyUnicode_AsUTF8(text), nullptr);
}

dlpack::DLManagedTensorVersioned* in_capsule(PyObject* capsule) {
  return static_cast<dlpack::DLManagedTensorVersioned*>(
      PyCapsule_GetPointer(capsule, "dltensor_versioned"));
}

// capsule_flags(capsule) and capsule_address(capsule): those of a versioned one.
PyObject* capsule_flags(PyObject*, PyObject* object) {
  return PyLong_FromUnsignedLongLong(in_capsule(object)->flags);
}
PyObject* capsule_address(PyObject*, PyObject* object) {
  return PyLong_FromVoidPtr(in_capsule(object)->dl_tensor.data);
}

PyObject* capsule_name(PyObject*, PyObject* object) {
  return PyUnicode_FromString(PyCapsule_GetName(object));
}

// The exchange API of an object's type, as a consumer finds it.
const dlpack::DLPackExchangeAPI* api_of(PyObject* object) {
  const detail::PyRef found(PyObject_GetAttrString(reinterpret_cast<PyObject*>(Py_TYPE(object)),
                                                   "__dlpack_c_exchange_api__"));
  if (!found) return nullptr;
  return static_cast<const dlpack::DLPackExchangeAPI*>(
      PyCapsule_GetPointer(found.get(), "dlpack_exchange_api"));
}

// api_version(object)
PyObject* api_version(PyObject*, PyObject* object) {
  const dlpack::DLPackExchangeAPI* const api = api_of(object);
  if (api == nullptr) return nullptr;
  return Py_BuildValue("(II)", api->header.version.major, api->header.version.minor);
}

PyObject* api_import(const dlpack::DLPackExchangeAPI& api,
                     dlpack::DLManagedTensorVersioned* managed) {
  void* made = nullptr;
  if (api.managed_tensor_to_py_object_no_sync(managed, &made) != 0) return nullptr;
  return static_cast<PyObject*>(made);
}

// api_round_trip(object): out of the object and into another one of its type.
PyObject* api_round_trip(PyObject*, PyObject* object) {
  const dlpack::DLPackExchangeAPI* const api = api_of(object);
  dlpack::DLManagedTensorVersioned* managed = nullptr;
  if (api == nullptr || api->managed_tensor_from_py_object_no_sync(object, &managed) != 0) {
    return nullptr;
  }
  return api_import(*api, managed);
}

// api_from_hostile(object, what): a struct of hostile(what) for the exchange API of the object's
// type, released by whoever has it in the end.
PyObject* api_from_hostile(PyObject*, PyObject* args) {
  PyObject* object = nullptr;
  const char* what = nullptr;
  if (PyArg_ParseTuple(args, "Os", &object, &what) == 0) return nullptr;
  const dlpack::DLPackExchangeAPI* const api = api_of(object);
  if (api == nullptr) return nullptr;
  dlpack::DLManagedTensorVersioned* const managed = make_hostile(what);
  const auto deleter = managed->deleter;
  PyObject* const made = api_import(*api, managed);
  if (made != nullptr) return made;
  if (managed->deleter != deleter) return PyErr_Format(PyExc_SystemError, "another deleter");
  const detail::KeepPythonError keep;
  managed->deleter(managed);
  return nullptr;
}

// api_describe(object): address, device, ndim, dtype, shape and strides.
PyObject* api_describe(PyObject*, PyObject* object) {
  const dlpack::DLPackExchangeAPI* const api = api_of(object);
  dlpack::DLTensor t;
  if (api == nullptr || api->dltensor_from_py_object_no_sync(object, &t) != 0) return nullptr;
  void* stream = &t;
  if (api->current_work_stream(t.device.device_type, t.device.device_id, &stream) != 0) {
    return nullptr;
  }
  const auto rank = static_cast<size_t>(t.ndim);
  return Py_BuildValue("(N(ii)(iii)NNO)", PyLong_FromVoidPtr(t.data), t.device.device_type,
                       t.device.device_id, int{t.dtype.code}, int{t.dtype.bits}, int{t.dtype.lanes},
                       detail::make_tuple(t.shape, rank), detail::make_tuple(t.strides, rank),
                       stream == nullptr ? Py_True : Py_False);
}

// api_allocate(object, shape, code, bits, device=(1, 0)): a new tensor from the API of an object's type.
PyObject* api_allocate(PyObject*, PyObject* args) {
  PyObject* object = nullptr;
  PyObject* shape = nullptr;
  unsigned char code = 0;
  unsigned char bits = 0;
  dlpack::DLDevice device{1, 0};
  if (PyArg_ParseTuple(args, "OObb|(ii)", &object, &shape, &code, &bits, &device.device_type,
                       &device.device_id) == 0) {
    return nullptr;
  }
  Dims sizes;
  const dlpack::DLPackExchangeAPI* const api = api_of(object);
  if (api == nullptr || !read_dims(shape, sizes)) return nullptr;
  dlpack::DLTensor prototype{};
  prototype.device = device;
  prototype.ndim = static_cast<int32_t>(sizes.size());
  prototype.dtype = {code, bits, 1};
  prototype.shape = sizes.data();
  dlpack::DLManagedTensorVersioned* managed = nullptr;
  const auto set_error = [](void*, const char* kind, const char* message) {
    PyErr_Format(PyExc_RuntimeError, "%s: %s", kind, message);
  };
  if (api->managed_tensor_allocator(&prototype, &managed, nullptr, set_error) != 0) return nullptr;
  return api_import(*api, managed);
}

// The registered backends of devices, by name.
std::map<std::string, std::unique_ptr<tests::RecordingDevice>>& devices() {
  static std::map<std::string, std::unique_ptr<tests::RecordingDevice>> all;
  return all;
}

// device_begin(name, stream=1): registers a DeviceBackend for a device, whose work goes to a stream.
PyObject* device_begin(PyObject*, PyObject* args) {
  const char* name = nullptr;
  long long stream = 1;
  if (PyArg_ParseTuple(args, "s|L", &name, &stream) == 0) return nullptr;
  return guarded([&] {
    auto& device = devices()[name];
    device = std::make_unique<tests::RecordingDevice>(Device(name));
    device->stream = stream;
    register_backend(*device);
    return Py_NewRef(Py_None);
  });
}
PyObject* device_end(PyObject*, PyObject*) {
  devices().clear();
  Py_RETURN_NONE;
}
tests::RecordingDevice* find_device(const char* name) {
  const auto found = devices().find(name);
  if (found != devices().end()) return found->second.get();
  PyErr_Format(PyExc_KeyError, "no device %s", name);
  return nullptr;
}
// device_calls(name): what it was told since, a list of texts.
PyObject* device_calls(PyObject*, PyObject* args) {
  const char* name = nullptr;
  if (PyArg_ParseTuple(args, "s", &name) == 0) return nullptr;
  tests::RecordingDevice* const device = find_device(name);
  if (device == nullptr) return nullptr;
  detail::PyRef list(PyList_New(0));
  for (const std::string& call : std::exchange(device->calls, {})) {
    const detail::PyRef text(PyUnicode_FromString(call.c_str()));
    if (PyList_Append(list.get(), text.get()) != 0) return nullptr;
  }
  return list.release();
}
// device_fail(name): its streams are lost.
PyObject* device_fail(PyObject*, PyObject* args) {
  const char* name = nullptr;
  if (PyArg_ParseTuple(args, "s", &name) == 0) return nullptr;
  tests::RecordingDevice* const device = find_device(name);
  if (device == nullptr) return nullptr;
  device->answer = Error::AccessFailed;
  Py_RETURN_NONE;
}
// device_lend(name, address, nbytes): the device takes such memory for its own.
PyObject* device_lend(PyObject*, PyObject* args) {
  const char* name = nullptr;
  unsigned long long address = 0;
  unsigned long long nbytes = 0;
  if (PyArg_ParseTuple(args, "sKK", &name, &address, &nbytes) == 0) return nullptr;
  tests::RecordingDevice* const device = find_device(name);
  if (device == nullptr) return nullptr;
  device->lend(reinterpret_cast<void*>(static_cast<uintptr_t>(address)),
               static_cast<size_t>(nbytes));
  Py_RETURN_NONE;
}
// device_make(name, shape, dtype="float32"): a tensor in its memory, of zeros.
PyObject* device_make(PyObject*, PyObject* args) {
  const char* name = nullptr;
  PyObject* shape = nullptr;
  const char* type_name = "float32";
  if (PyArg_ParseTuple(args, "sO|s", &name, &shape, &type_name) == 0) return nullptr;
  Dims sizes;
  ScalarType type = ScalarType::Undefined;
  tests::RecordingDevice* const device = find_device(name);
  if (device == nullptr || !read_dims(shape, sizes) || !read_type(type_name, type)) return nullptr;
  return guarded([&] { return to_python(zeros(sizes, type, *device)); });
}
// over(address, shape, device, readonly=False): a tensor over memory of nobody's.
PyObject* over(PyObject*, PyObject* args) {
  unsigned long long address = 0;
  PyObject* shape = nullptr;
  const char* device = nullptr;
  int readonly = 0;
  if (PyArg_ParseTuple(args, "KOs|p", &address, &shape, &device, &readonly) == 0) return nullptr;
  Dims sizes;
  if (!read_dims(shape, sizes)) return nullptr;
  auto* const p = reinterpret_cast<float*>(static_cast<uintptr_t>(address));
  return guarded([&] {
    return to_python(readonly != 0 ? from_blob(const_cast<const float*>(p), sizes, Device(device))
                                   : from_blob(p, sizes, Device(device)));
  });
}
// api_stream(object, type, index): the current stream that the exchange API of its type says.
PyObject* api_stream(PyObject*, PyObject* args) {
  PyObject* object = nullptr;
  int type = 0;
  int index = 0;
  if (PyArg_ParseTuple(args, "Oii", &object, &type, &index) == 0) return nullptr;
  const dlpack::DLPackExchangeAPI* const api = api_of(object);
  void* stream = &type;
  if (api == nullptr || api->current_work_stream(type, index, &stream) != 0) return nullptr;
  return PyLong_FromVoidPtr(stream);
}

template <class F>
constexpr PyCFunction with_keywords(F* function) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function));
}

PyMethodDef methods[] = {
    {"take", with_keywords(&take<false>), METH_VARARGS | METH_KEYWORDS, nullptr},
    {"messages", &messages, METH_VARARGS, nullptr},
    {"capsule", &capsule, METH_VARARGS, nullptr},
    {"take_capsule", with_keywords(&take<true>), METH_VARARGS | METH_KEYWORDS, nullptr},
    {"take_packed", &take_packed, METH_O, nullptr},
    {"give_packed", &give_packed, METH_VARARGS, nullptr},
    {"unpack", &unpack_numbers, METH_VARARGS, nullptr},
    {"make", with_keywords(&make), METH_VARARGS | METH_KEYWORDS, nullptr},
    {"shm_create", &make_shm, METH_VARARGS, nullptr},
    {"shm_attach", &attach_shm, METH_VARARGS, nullptr},
    {"as_strided", &as_strided, METH_VARARGS, nullptr},
    {"fill", &fill, METH_VARARGS, nullptr},
    {"data_pointer", &data_pointer, METH_O, nullptr},
    {"hold", &hold, METH_O, nullptr},
    {"drop", &drop<How::WithGil>, METH_O, nullptr},
    {"drop_without_gil", &drop<How::WithoutGil>, METH_O, nullptr},
    {"drop_on_thread", &drop<How::OnThread>, METH_O, nullptr},
    {"drop_later", &drop_later, METH_VARARGS, nullptr},
    {"drop_with_error", &drop<How::WithError>, METH_O, nullptr},
    {"release_with_error", &release_with_error, METH_O, nullptr},
    {"held_object", &held_object, METH_O, nullptr},
    {"live", &live, METH_NOARGS, nullptr},
    {"deleted", &deleted, METH_NOARGS, nullptr},
    {"is_ours", &is_ours, METH_O, nullptr},
    {"raise_error", &raise_error, METH_VARARGS, nullptr},
    {"undefined", &undefined, METH_NOARGS, nullptr},
    {"placeholder", &placeholder, METH_O, nullptr},
    {"get_buffer", &get_buffer, METH_VARARGS, nullptr},
    {"exporter", &exporter, METH_VARARGS, nullptr},
    {"lender", &lender, METH_O, nullptr},
    {"hostile", &hostile, METH_O, nullptr},
    {"named_capsule", &named_capsule, METH_O, nullptr},
    {"capsule_flags", &capsule_flags, METH_O, nullptr},
    {"capsule_address", &capsule_address, METH_O, nullptr},
    {"capsule_name", &capsule_name, METH_O, nullptr},
    {"api_version", &api_version, METH_O, nullptr},
    {"api_round_trip", &api_round_trip, METH_O, nullptr},
    {"api_from_hostile", &api_from_hostile, METH_VARARGS, nullptr},
    {"api_describe", &api_describe, METH_O, nullptr},
    {"api_allocate", &api_allocate, METH_VARARGS, nullptr},
    {"api_stream", &api_stream, METH_VARARGS, nullptr},
    {"device_begin", &device_begin, METH_VARARGS, nullptr},
    {"device_end", &device_end, METH_NOARGS, nullptr},
    {"device_calls", &device_calls, METH_VARARGS, nullptr},
    {"device_fail", &device_fail, METH_VARARGS, nullptr},
    {"device_lend", &device_lend, METH_VARARGS, nullptr},
    {"device_make", &device_make, METH_VARARGS, nullptr},
    {"over", &over, METH_VARARGS, nullptr},
    {nullptr, nullptr, 0, nullptr}};

PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "tenon_test_module", nullptr, -1, methods, {}, {}, {}, {}};

}  // namespace

PyMODINIT_FUNC PyInit_tenon_test_module() { return PyModule_Create(&definition); }
