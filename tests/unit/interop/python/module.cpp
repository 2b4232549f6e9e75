// SPDX-License-Identifier: MIT
// tenon_test_module: what the Python tests call, over tenon/interop/python.h and CPython's C API.
#include "tenon/interop/python.h"

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <map>
#include <optional>
#include <thread>
#include <tuple>

#include "backend/device_helpers.h"
#include "tenon/exchange/dlpack_packed.h"
#include "tenon/interop/shm.h"
#include "tenon/tenon.h"

namespace {

using namespace tenon;
using std::optional;

std::atomic<long> live_memories{0};
std::atomic<long> deleter_calls{0};

// What the module keeps without Python, by number.
std::map<int64_t, TensorPtr>& held() {
  static std::map<int64_t, TensorPtr> all;
  return all;
}

// An argument of Python's as one of C++'s; false with Python's error set.
bool read(PyObject* from, PyObject*& to) {
  to = from;
  return true;
}
bool read(PyObject* from, const char*& to) {
  to = from == Py_None            ? nullptr
       : PyBytes_Check(from) != 0 ? PyBytes_AsString(from)
                                  : PyUnicode_AsUTF8(from);
  return from == Py_None || to != nullptr;
}
bool read(PyObject* from, bool& to) {
  to = PyObject_IsTrue(from) == 1;
  return PyErr_Occurred() == nullptr;
}
template <class N>
std::enable_if_t<std::is_integral_v<N>, bool> read(PyObject* from, N& to) {
  to = static_cast<N>(PyLong_AsLongLong(from));
  return PyErr_Occurred() == nullptr;
}
bool read(PyObject* from, double& to) {
  to = PyFloat_AsDouble(from);
  return PyErr_Occurred() == nullptr;
}
bool read(PyObject* from, Dims& to) {
  detail::PyRef list(PySequence_Fast(from, "expected a sequence of integers"));
  if (!list) return false;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(list.get()); ++i) {
    int64_t value = 0;
    if (!read(PySequence_Fast_GET_ITEM(list.get(), i), value)) return false;
    to.push_back(value);
  }
  return true;
}
bool read(PyObject* from, ScalarType& to) {
  const char* name = nullptr;
  if (!read(from, name)) return false;
  for (const auto& row : detail::kPythonTypes) {
    if (std::strcmp(row.name, name) == 0) {
      to = detail::public_type(row.type);
      return true;
    }
  }
  PyErr_Format(PyExc_ValueError, "no type is called %s", name);
  return false;
}
bool read(PyObject* from, PackedType& to) {
  const char* name = nullptr;
  if (!read(from, name)) return false;
  for (int number = 1; number <= static_cast<int>(PackedType::UInt1); ++number) {
    to = static_cast<PackedType>(number);
    if (std::strcmp(toString(to), name) == 0) return true;
  }
  PyErr_Format(PyExc_ValueError, "no packed type is called %s", name);
  return false;
}
bool read(PyObject* from, Device& to) {
  const char* name = nullptr;
  if (!read(from, name)) return false;
  to = Device(name);
  return true;
}
bool read(PyObject* from, TensorPtr& to) {
  to = from_python_or_set_error(from);
  return to != nullptr;
}
template <class T>
bool read(PyObject* from, optional<T>& to) {
  if (from == Py_None) return true;
  T value{};
  const bool is_read = read(from, value);
  to = value;
  return is_read;
}

template <class T>
bool is_optional(const T&) {
  return false;
}
template <class T>
bool is_optional(const optional<T>&) {
  return true;
}

// A result of C++'s as one of Python's.
PyObject* give(PyObject* made) { return made; }
PyObject* give(const TensorPtr& made) { return made != nullptr ? to_python(made) : nullptr; }
PyObject* give(const char* made) { return PyUnicode_FromString(made); }
PyObject* give(bool made) { return PyBool_FromLong(made ? 1 : 0); }
PyObject* give(int64_t made) { return PyLong_FromLongLong(made); }
PyObject* give(const void* made) { return PyLong_FromVoidPtr(const_cast<void*>(made)); }

// A function of C++'s as one of Python's: with arguments by place, of which those that are an
// optional may be left out, or by one of `names()`.
template <auto f>
struct Bound;
template <class R, class... A, R (*f)(A...)>
struct Bound<f> {
  static std::vector<std::string>& names() {
    static std::vector<std::string> all;
    return all;
  }

  static PyObject* call(PyObject*, PyObject* const* given, Py_ssize_t count, PyObject* keywords) {
    PyObject* objects[sizeof...(A) + 1] = {};
    if (count > static_cast<Py_ssize_t>(sizeof...(A)))
      return PyErr_Format(PyExc_TypeError, "too many");
    std::copy(given, given + count, objects);
    for (Py_ssize_t k = 0; keywords != nullptr && k < PyTuple_GET_SIZE(keywords); ++k) {
      const char* const name = PyUnicode_AsUTF8(PyTuple_GET_ITEM(keywords, k));
      const auto at = std::find(names().begin(), names().end(), name);
      if (at == names().end()) return PyErr_Format(PyExc_TypeError, "no argument %s", name);
      objects[at - names().begin()] = given[count + k];
    }
    std::tuple<A...> values;
    size_t next = 0;
    const auto take = [&](auto& value) {
      PyObject* const object = objects[next++];
      if (object != nullptr) return read(object, value);
      if (!is_optional(value)) PyErr_SetString(PyExc_TypeError, "an argument is missing");
      return is_optional(value);
    };
    if (!std::apply([&](auto&... all) { return (take(all) && ...); }, values)) return nullptr;
    try {
      if constexpr (std::is_void_v<R>) {
        std::apply(f, std::move(values));
        return PyErr_Occurred() == nullptr ? Py_NewRef(Py_None) : nullptr;
      } else {
        return give(std::apply(f, std::move(values)));
      }
    } catch (const Exception& e) {
      if (PyErr_Occurred() != nullptr) std::abort();  // it leaves no error of Python's set
      set_python_error(e.error(), e.what());
      return nullptr;
    }
  }
};

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

// What from_python() makes of an object, or from_capsule().
template <bool is_capsule>
TensorPtr take(PyObject* object, optional<bool> copy, optional<Device> device) {
  detail::Optional<bool> wants_copy = none;
  detail::Optional<Device> wants_device = none;
  if (copy) wants_copy = *copy;
  if (device) wants_device = *device;
  return is_capsule ? from_capsule_or_set_error(object, wants_copy, wants_device)
                    : from_python_or_set_error(object, wants_copy, wants_device);
}

// The Error of the throwing form, by name, its text, and that of the form with a Result. Neither
// leaves Python's error set, which would be raised then.
PyObject* messages(PyObject* object, optional<bool> as_capsule) {
  const bool is_capsule = as_capsule.value_or(false);
  Error error = Error::Ok;
  std::string thrown;
  try {
    static_cast<void>(is_capsule ? from_capsule(object) : from_python(object));
  } catch (const Exception& e) {
    error = e.error();
    thrown = e.what();
  }
  if (PyErr_Occurred() != nullptr) return nullptr;
  const Result<TensorPtr> result = is_capsule ? try_from_capsule(object) : try_from_python(object);
  if (PyErr_Occurred() != nullptr) return nullptr;
  return Py_BuildValue("(sss)", toString(error), thrown.c_str(), result.message());
}

PyObject* capsule(TensorPtr tensor, optional<bool> versioned) {
  return to_capsule(tensor, versioned.value_or(true));
}

// Of a capsule: the bytes, the packed type's name and the sizes in numbers.
PyObject* take_packed(PyObject* object) {
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
  return Py_BuildValue("(NsN)", to_python(t.bytes), toString(t.type),
                       detail::make_tuple(t.sizes.data(), t.sizes.size()));
}

// A capsule of the bytes in the object, as that packed type.
PyObject* give_packed(TensorPtr tensor, PackedType type) {
  return PyCapsule_New(to_dlpack_packed(tensor, type), "dltensor_versioned", nullptr);
}
TensorPtr unpack_numbers(TensorPtr tensor, PackedType type) { return unpack(tensor, type); }

// Memory of the module's own, which is counted.
TensorPtr make(Dims sizes, optional<ScalarType> dtype, optional<double> value,
               optional<bool> readonly) {
  const ScalarType type = dtype.value_or(ScalarType::Float);
  size_t nbytes = own::elementSize(detail::own_type(type));
  for (const int64_t size : sizes) nbytes *= static_cast<size_t>(size);
  void* const memory = std::malloc(nbytes + 1);
  ++live_memories;
  const auto release = [](void* data) {
    std::free(data);
    --live_memories;
    ++deleter_calls;
  };
  TensorPtr tensor = for_blob(memory, sizes, type).deleter(release).make_tensor_ptr();
  if (!fill_with(tensor, value.value_or(0))) return nullptr;
  if (!readonly.value_or(false)) return tensor;
  const void* const data = tensor->const_data_ptr();
  return for_blob(data, sizes, type).owner(std::move(tensor)).make_tensor_ptr();
}

// A tensor in shared memory, and its descriptor. The name is None for memory without one.
PyObject* make_shm(const char* name, Dims sizes, ScalarType type, Dims strides) {
  const TensorPtr t =
      name != nullptr ? shm_create(name, sizes, type, strides) : shm_create(sizes, type, strides);
  return Py_BuildValue("(Ni)", to_python(t), shm_fd(t));
}
TensorPtr attach_shm(const char* name) { return shm_attach(name, ShmAccess::ReadWrite); }

// A view, strides in elements.
PyObject* view_strided(TensorPtr tensor, Dims sizes, Dims strides, optional<int64_t> offset) {
  return to_python(as_strided(tensor, sizes, strides, offset.value_or(0)));
}

void fill(TensorPtr tensor, double value) { fill_with(tensor, value); }

const void* data_pointer(TensorPtr tensor) { return tensor->const_data_ptr(); }

// The number under which the module keeps a tensor, without Python.
int64_t hold(TensorPtr tensor) {
  static int64_t last = 0;
  held()[++last] = std::move(tensor);
  return last;
}
PyObject* held_object(int64_t number) { return to_python(held().at(number)); }

enum class How { WithGil, WithoutGil, OnThread, WithError };

// Lets go of what is held; in other forms without the GIL, on a thread that Python has not started,
// or with an exception in flight, which has to survive.
template <How how>
void drop(int64_t number) {
  TensorPtr tensor = std::move(held().at(number));
  held().erase(number);
  if (how == How::WithError) PyErr_SetString(PyExc_ZeroDivisionError, "in flight");
  const bool has_gil = how == How::WithGil || how == How::WithError;
  PyThreadState* const saved = has_gil ? nullptr : PyEval_SaveThread();
  if (how == How::OnThread) {
    std::thread([kept = std::move(tensor)]() mutable { kept = nullptr; }).join();
  }
  tensor = nullptr;
  if (!has_gil) PyEval_RestoreThread(saved);
}

// Drops it on a thread that nobody waits for.
void drop_later(TensorPtr tensor, int64_t milliseconds) {
  std::thread([kept = std::move(tensor), milliseconds]() mutable {
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
    kept = nullptr;
  }).detach();
}

// Empties a list with an exception in flight, which has to survive.
void release_with_error(PyObject* list) {
  const detail::PyRef last(PySequence_GetItem(list, 0));
  if (!last || PySequence_DelItem(list, 0) != 0) return;
  PyErr_SetString(PyExc_ZeroDivisionError, "in flight");
}

int64_t live() { return live_memories.load(); }
int64_t deleted() { return deleter_calls.load(); }

bool is_ours(PyObject* object) { return is_python_tensor(object); }

// set_python_error() for tenon's error of that name.
void raise_error(const char* name, const char* text) {
  for (int i = 1; i <= static_cast<int>(Error::Internal); ++i) {
    const auto error = static_cast<Error>(i);
    if (std::strcmp(toString(error), name) == 0) set_python_error(error, text);
  }
}

PyObject* undefined() { return to_python(Tensor()); }
TensorPtr placeholder(Dims sizes) { return make_tensor_ptr(sizes, nullptr); }

// What PyObject_GetBuffer() gives: ndim, shape, strides, format, len, itemsize and readonly, with
// None for what is null.
PyObject* get_buffer(PyObject* object, int flags) {
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

// Lends the buffer of another object; or, where an itemsize is given, two elements of zeros, said to
// have that size and the format that the object says.
struct Lender {
  PyObject_HEAD PyObject* from;
  Py_ssize_t shape;
  Py_ssize_t itemsize;
};
int lend_buffer(PyObject* self, Py_buffer* view, int flags) {
  alignas(16) static char zeros[64];
  auto& lender = *reinterpret_cast<Lender*>(self);
  if (lender.itemsize == 0) return PyObject_GetBuffer(lender.from, view, flags);
  *view = Py_buffer{};
  view->obj = Py_NewRef(self);
  view->buf = zeros;
  view->len = lender.shape * lender.itemsize;
  view->itemsize = lender.itemsize;
  view->ndim = 1;
  view->format = PyBytes_AsString(lender.from);
  view->shape = &lender.shape;
  view->strides = &lender.itemsize;
  return 0;
}
void destroy_lender(PyObject* self) {
  PyTypeObject* const type = Py_TYPE(self);
  Py_DECREF(reinterpret_cast<Lender*>(self)->from);
  type->tp_free(self);
  Py_DECREF(type);
}
PyObject* lender(PyObject* object, optional<int64_t> itemsize) {
  static PyType_Slot slots[] = {{Py_bf_getbuffer, reinterpret_cast<void*>(&lend_buffer)},
                                {Py_tp_dealloc, reinterpret_cast<void*>(&destroy_lender)},
                                {0, nullptr}};
  static PyType_Spec spec{"tenon_test_module.Lender", sizeof(Lender), 0, Py_TPFLAGS_DEFAULT, slots};
  static auto* const type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  auto* const made = reinterpret_cast<Lender*>(type->tp_alloc(type, 0));
  if (made == nullptr) return nullptr;
  made->from = Py_NewRef(object);
  made->shape = 2;
  made->itemsize = itemsize.value_or(0);
  return reinterpret_cast<PyObject*>(made);
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

// A capsule with such a struct.
PyObject* hostile(const char* what) { return detail::make_capsule(Result(make_hostile(what))); }

// One that is no DLPack's.
PyObject* named_capsule(PyObject* name) {
  static int something = 0;
  return PyCapsule_New(&something, PyUnicode_AsUTF8(name), nullptr);
}
const char* capsule_name(PyObject* object) { return PyCapsule_GetName(object); }

// Of a versioned one.
dlpack::DLManagedTensorVersioned& in_capsule(PyObject* capsule) {
  return *static_cast<dlpack::DLManagedTensorVersioned*>(
      PyCapsule_GetPointer(capsule, "dltensor_versioned"));
}
int64_t capsule_flags(PyObject* object) { return static_cast<int64_t>(in_capsule(object).flags); }
const void* capsule_address(PyObject* object) { return in_capsule(object).dl_tensor.data; }

// The exchange API of an object's type, as a consumer finds it.
const dlpack::DLPackExchangeAPI& api_of(PyObject* object) {
  const detail::PyRef found(PyObject_GetAttrString(reinterpret_cast<PyObject*>(Py_TYPE(object)),
                                                   "__dlpack_c_exchange_api__"));
  return *static_cast<const dlpack::DLPackExchangeAPI*>(
      PyCapsule_GetPointer(found.get(), "dlpack_exchange_api"));
}
PyObject* api_version(PyObject* object) {
  const auto& version = api_of(object).header.version;
  return Py_BuildValue("(II)", version.major, version.minor);
}

PyObject* api_import(PyObject* like, dlpack::DLManagedTensorVersioned* managed) {
  void* made = nullptr;
  const int failed = api_of(like).managed_tensor_to_py_object_no_sync(managed, &made);
  return failed != 0 ? nullptr : static_cast<PyObject*>(made);
}

// Out of the object and into another one of its type.
PyObject* api_round_trip(PyObject* object) {
  dlpack::DLManagedTensorVersioned* managed = nullptr;
  const int failed = api_of(object).managed_tensor_from_py_object_no_sync(object, &managed);
  return failed != 0 ? nullptr : api_import(object, managed);
}

// A struct of hostile(what) for the exchange API of the object's type, released by whoever has it in
// the end.
PyObject* api_from_hostile(PyObject* object, const char* what) {
  dlpack::DLManagedTensorVersioned* const managed = make_hostile(what);
  const auto deleter = managed->deleter;
  PyObject* const made = api_import(object, managed);
  if (made != nullptr) return made;
  if (managed->deleter != deleter) return PyErr_Format(PyExc_SystemError, "another deleter");
  const detail::KeepPythonError keep;
  managed->deleter(managed);
  return nullptr;
}

// The current stream that the exchange API of its type says.
const void* api_stream(PyObject* object, int type, int index) {
  void* stream = &type;
  return api_of(object).current_work_stream(type, index, &stream) == 0 ? stream : nullptr;
}

// Address, device, dtype, shape, strides and whether there is no stream.
PyObject* api_describe(PyObject* object) {
  dlpack::DLTensor t;
  if (api_of(object).dltensor_from_py_object_no_sync(object, &t) != 0) return nullptr;
  const auto rank = static_cast<size_t>(t.ndim);
  const void* const stream = api_stream(object, t.device.device_type, t.device.device_id);
  return Py_BuildValue("(N(ii)(iii)NNN)", PyLong_FromVoidPtr(t.data), t.device.device_type,
                       t.device.device_id, int{t.dtype.code}, int{t.dtype.bits}, int{t.dtype.lanes},
                       detail::make_tuple(t.shape, rank), detail::make_tuple(t.strides, rank),
                       give(stream == nullptr));
}

// A new tensor from the API of an object's type.
PyObject* api_allocate(PyObject* object, Dims sizes, uint8_t code, uint8_t bits,
                       optional<Dims> device) {
  dlpack::DLTensor prototype{};
  prototype.device = {1, 0};
  if (device) prototype.device = {static_cast<int>((*device)[0]), static_cast<int>((*device)[1])};
  prototype.ndim = static_cast<int32_t>(sizes.size());
  prototype.dtype = {code, bits, 1};
  prototype.shape = sizes.data();
  dlpack::DLManagedTensorVersioned* managed = nullptr;
  const auto set_error = [](void*, const char* kind, const char* message) {
    PyErr_Format(PyExc_RuntimeError, "%s: %s", kind, message);
  };
  const int failed =
      api_of(object).managed_tensor_allocator(&prototype, &managed, nullptr, set_error);
  return failed != 0 ? nullptr : api_import(object, managed);
}

// The registered backends of devices, by name.
std::map<std::string, std::unique_ptr<tests::RecordingDevice>>& devices() {
  static std::map<std::string, std::unique_ptr<tests::RecordingDevice>> all;
  return all;
}

// Registers a DeviceBackend for a device, whose work goes to a stream.
void device_begin(const char* name, optional<int64_t> stream) {
  auto& device = devices()[name];
  device = std::make_unique<tests::RecordingDevice>(Device(name));
  device->stream = stream.value_or(1);
  register_backend(*device);
}
void device_end() { devices().clear(); }
// What it was told since, a list of texts.
PyObject* device_calls(const char* name) {
  detail::PyRef list(PyList_New(0));
  for (const std::string& call : std::exchange(devices().at(name)->calls, {})) {
    const detail::PyRef text(PyUnicode_FromString(call.c_str()));
    if (PyList_Append(list.get(), text.get()) != 0) return nullptr;
  }
  return list.release();
}
// Its streams are lost.
void device_fail(const char* name) { devices().at(name)->answer = Error::AccessFailed; }
// The device takes such memory for its own.
void device_lend(const char* name, int64_t address, int64_t nbytes) {
  devices().at(name)->lend(reinterpret_cast<void*>(address), static_cast<size_t>(nbytes));
}
// A tensor in its memory, of zeros.
TensorPtr device_make(const char* name, Dims sizes, optional<ScalarType> type) {
  return zeros(sizes, type.value_or(ScalarType::Float), *devices().at(name));
}
// A tensor over memory of nobody's.
TensorPtr over(int64_t address, Dims sizes, Device device, optional<bool> readonly) {
  auto* const p = reinterpret_cast<float*>(address);
  return readonly.value_or(false) ? from_blob(const_cast<const float*>(p), sizes, device)
                                  : from_blob(p, sizes, device);
}

template <auto f>
PyMethodDef method(const char* name, std::vector<std::string> names = {}) {
  Bound<f>::names() = std::move(names);
  auto* const function =
      reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(&Bound<f>::call));
  return {name, function, METH_FASTCALL | METH_KEYWORDS, nullptr};
}

PyMethodDef methods[] = {method<&take<false>>("take", {"object", "copy", "device"}),
                         method<&take<true>>("take_capsule", {"object", "copy", "device"}),
                         method<&messages>("messages"),
                         method<&capsule>("capsule"),
                         method<&take_packed>("take_packed"),
                         method<&give_packed>("give_packed"),
                         method<&unpack_numbers>("unpack"),
                         method<&make>("make", {"shape", "dtype", "value", "readonly"}),
                         method<&make_shm>("shm_create"),
                         method<&attach_shm>("shm_attach"),
                         method<&view_strided>("as_strided"),
                         method<&fill>("fill"),
                         method<&data_pointer>("data_pointer"),
                         method<&hold>("hold"),
                         method<&held_object>("held_object"),
                         method<&drop<How::WithGil>>("drop"),
                         method<&drop<How::WithoutGil>>("drop_without_gil"),
                         method<&drop<How::OnThread>>("drop_on_thread"),
                         method<&drop<How::WithError>>("drop_with_error"),
                         method<&drop_later>("drop_later"),
                         method<&release_with_error>("release_with_error"),
                         method<&live>("live"),
                         method<&deleted>("deleted"),
                         method<&is_ours>("is_ours"),
                         method<&raise_error>("raise_error"),
                         method<&undefined>("undefined"),
                         method<&placeholder>("placeholder"),
                         method<&get_buffer>("get_buffer"),
                         method<&lender>("lender"),
                         method<&hostile>("hostile"),
                         method<&named_capsule>("named_capsule"),
                         method<&capsule_name>("capsule_name"),
                         method<&capsule_flags>("capsule_flags"),
                         method<&capsule_address>("capsule_address"),
                         method<&api_version>("api_version"),
                         method<&api_round_trip>("api_round_trip"),
                         method<&api_from_hostile>("api_from_hostile"),
                         method<&api_describe>("api_describe"),
                         method<&api_stream>("api_stream"),
                         method<&api_allocate>("api_allocate"),
                         method<&device_begin>("device_begin"),
                         method<&device_end>("device_end"),
                         method<&device_calls>("device_calls"),
                         method<&device_fail>("device_fail"),
                         method<&device_lend>("device_lend"),
                         method<&device_make>("device_make"),
                         method<&over>("over"),
                         {nullptr, nullptr, 0, nullptr}};

PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "tenon_test_module", nullptr, -1, methods, {}, {}, {}, {}};

}  // namespace

PyMODINIT_FUNC PyInit_tenon_test_module() { return PyModule_Create(&definition); }
