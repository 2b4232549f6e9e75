// SPDX-License-Identifier: MIT
// A model's library without torch: the functions that AOTInductor's have, over torch's C functions. The first element of
// the first input says what a run is to do, see `Does`. FAKE_* make libraries that cannot be loaded.
#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <string>
#include <utility>

#include "fake_model.h"

using tests::Does;

struct AOTInductorModelContainerOpaque {};

extern "C" {

struct AtenTensorOpaque;
using Handle = AtenTensorOpaque*;
struct AOTInductorStreamOpaque;
struct AOTIProxyExecutorOpaque;
struct AOTInductorConstantMapEntry {
  const char* name;
  Handle handle;
};

int32_t aoti_torch_empty_strided(int64_t, const int64_t*, const int64_t*, int32_t, int32_t, int32_t,
                                 Handle*);
int32_t aoti_torch_create_tensor_from_blob(void*, int64_t, const int64_t*, const int64_t*, int64_t,
                                           int32_t, int32_t, int32_t, Handle*);
int32_t aoti_torch__reinterpret_tensor(Handle, int64_t, const int64_t*, const int64_t*, int64_t,
                                       Handle*);
int32_t aoti_torch_new_tensor_handle(Handle, Handle*);
int32_t aoti_torch_scalar_to_tensor_int64(int64_t, Handle*);
int32_t aoti_torch_new_uninitialized_tensor(Handle*);
int32_t aoti_torch_delete_tensor_object(Handle);
int32_t aoti_torch_get_data_ptr(Handle, void**);
int32_t aoti_torch_get_sizes(Handle, int64_t**);
int32_t aoti_torch_get_numel(Handle, int64_t*);
int32_t aoti_torch_dtype_float32();
void aoti_torch_check(bool, const char*, const char*, uint32_t, const char*);

#ifdef FAKE_MISSING
int32_t aoti_torch_cpu_first_missing(Handle);
int32_t aoti_torch_cpu_second_missing(Handle);
#endif
#ifdef FAKE_PROXY
int32_t aoti_torch_proxy_executor_call_function(AOTIProxyExecutorOpaque*, int, int, int64_t*, int,
                                                Handle*);
#endif
#ifdef FAKE_KERNEL  // y is relu(x), and there is nothing else
int32_t aoti_torch_cpu_relu(Handle, Handle*);
#endif
#ifdef FAKE_TORCH  // links to a library named like libtorch
int fake_torch();
#endif
}

namespace {

#ifdef FAKE_KERNEL
[[maybe_unused]] constexpr size_t kOutputs = 1;
[[maybe_unused]] constexpr size_t kConstants = 0;
#else
[[maybe_unused]] constexpr size_t kOutputs = 2;
[[maybe_unused]] constexpr size_t kConstants = 3;
#endif

const int32_t cached_dtype =
    aoti_torch_dtype_float32();  // as in generated code, when the library is loaded
thread_local std::string last_error;

struct Failure {
  const char* text;
};
void check(int32_t code) {
  if (code != 0) throw Failure{"a call failed"};
}
float* data(Handle handle) {
  void* found = nullptr;
  check(aoti_torch_get_data_ptr(handle, &found));
  return static_cast<float*>(found);
}
// As torch's RAIIAtenTensorHandle.
struct Owned {
  Handle handle = nullptr;
  explicit Owned(Handle given) : handle(given) {}
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  ~Owned() {
    if (handle != nullptr) static_cast<void>(aoti_torch_delete_tensor_object(handle));
  }
  Handle release() { return std::exchange(handle, nullptr); }
};
Handle empty(int64_t rows, int64_t columns) {
  const int64_t sizes[] = {rows, columns};
  const int64_t strides[] = {columns, 1};
  Handle made = nullptr;
  check(aoti_torch_empty_strided(2, sizes, strides, cached_dtype, 0, -1, &made));
  return made;
}

struct Container : AOTInductorModelContainerOpaque {
  float scale_of_its_own[4] = {2, 2, 2, 2};
  Handle scale = nullptr;
  Handle bias = nullptr;  // without a value at first
};

template <class F>
[[maybe_unused]] int32_t answer(const F& f) {
  try {
    last_error.clear();
    f();
  } catch (const Failure& failure) {
    last_error = failure.text;
    return 1;
  } catch (const std::exception& e) {
    last_error = e.what();
    return 1;
  } catch (...) {
    last_error = "Unknown exception";
    return 1;
  }
  return 0;
}

using Opaque = AOTInductorModelContainerOpaque;
[[maybe_unused]] Container& of(Opaque* container) { return *static_cast<Container*>(container); }

#ifdef FAKE_PROXY
// Calls operator x[0] with x[1] integers 3, 4, ..., and with x[2] tensors: x as often as needed, y and z.
void call_operator(AOTIProxyExecutorOpaque* proxy, Handle* inputs, Handle* outputs) {
  Owned x(std::exchange(inputs[0], nullptr));
  Handle made = nullptr;
  check(aoti_torch_new_uninitialized_tensor(&made));
  Owned y(made);
  check(aoti_torch_new_uninitialized_tensor(&made));
  Owned z(made);
  const auto at = [&](int i) { return static_cast<int>(data(x.handle)[i]); };
  int64_t ints[] = {3, 4, 5, 6};
  Handle tensors[] = {x.handle, x.handle, x.handle, y.handle, z.handle};
  check(aoti_torch_proxy_executor_call_function(proxy, at(0), at(1), ints, at(2),
                                                tensors + 5 - at(2)));
  outputs[0] = y.release();
  outputs[1] = z.release();
}
#endif

// y = x * scale + bias, z as `Does` has it.
[[maybe_unused]] void run(Container& model, Handle* inputs, Handle* outputs) {
  const auto does = static_cast<Does>(static_cast<int>(data(inputs[0])[0]));
  if (does == Does::FailAtOnce) throw Failure{"nothing was taken"};
  Owned x(std::exchange(inputs[0], nullptr));
  int64_t* sizes = nullptr;
  check(aoti_torch_get_sizes(x.handle, &sizes));
  const int64_t rows = sizes[0];
  Owned between(empty(rows, 4));
  Owned y(empty(rows, 4));
  if (does == Does::FailACheck) {
    aoti_torch_check(false, "run", "fake_model.cpp", 7, "index out of bounds: 0 <= row < 4");
  }
  for (int64_t i = 0; i < rows * 4; ++i) {
    data(between.handle)[i] = data(x.handle)[i] * data(model.scale)[i % 4];
    data(y.handle)[i] =
        data(between.handle)[i] + (model.bias != nullptr ? data(model.bias)[i % 4] : 0);
  }
  const int64_t size = does == Does::AskForTooMuch ? INT64_C(1) << 50 : 4;
  const int64_t stride = 1;
  switch (does) {
    case Does::FailWithOutputs: outputs[0] = y.release(); throw Failure{"with an output made"};
    case Does::HandThrough: check(aoti_torch_new_tensor_handle(x.handle, &outputs[1])); break;
    case Does::Constant: check(aoti_torch_new_tensor_handle(model.scale, &outputs[1])); break;
    case Does::ViewOfOutput:
      check(aoti_torch__reinterpret_tensor(y.handle, 1, &size, &stride, 0, &outputs[1]));
      break;
    case Does::SwapOutputs: {
      Owned other(empty(rows, 4));
      for (int64_t i = 0; i < rows * 4; ++i) data(other.handle)[i] = -data(y.handle)[i];
      outputs[1] = y.release();
      y.handle = other.release();
      break;
    }
    case Does::AskForTooMuch:
      check(aoti_torch_empty_strided(1, &size, &stride, cached_dtype, 0, -1, &outputs[1]));
      break;
    case Does::DeleteTwice:
      check(aoti_torch_delete_tensor_object(between.handle));
      check(aoti_torch_delete_tensor_object(between.release()));
      break;
    case Does::Leak:
      between.release();
      x.release();
      break;
    case Does::InputTaken: outputs[1] = x.release(); break;
    case Does::InputLeft: outputs[1] = inputs[0] = x.release(); break;
    case Does::ConstantItself: outputs[1] = model.scale; break;
    case Does::Number: check(aoti_torch_scalar_to_tensor_int64(3, &outputs[1])); break;
    case Does::UndefinedOutput: check(aoti_torch_new_uninitialized_tensor(&outputs[1])); break;
    default: break;
  }
  outputs[0] = y.release();
  if (does == Does::SameHandleTwice || does == Does::FailWithTwice) outputs[1] = outputs[0];
  if (does == Does::FailWithTwice) throw Failure{"with both outputs made"};
}

}  // namespace

#if !defined(FAKE_OTHER)
extern "C" {
int32_t AOTInductorGetLastError(const char** text) {
  *text = last_error.c_str();
  return 0;
}
int32_t AOTInductorModelContainerCreateWithDevice(Opaque** made, size_t num_models,
                                                  const char* device, const char*) {
  return answer([&] {
#ifdef FAKE_MISSING
    aoti_torch_cpu_first_missing(nullptr);
    aoti_torch_cpu_second_missing(nullptr);
#endif
#ifdef FAKE_TORCH
    fake_torch();
#endif
    if (num_models == 13) throw Failure{"13 is unlucky"};
    if (std::strcmp(device, "cpu") != 0) throw Failure{"not the CPU"};
    auto made_here = std::make_unique<Container>();
    const int64_t size = 4;
    const int64_t stride = 1;
    check(aoti_torch_create_tensor_from_blob(made_here->scale_of_its_own, 1, &size, &stride, 0,
                                             cached_dtype, 0, -1, &made_here->scale));
    *made = made_here.release();
  });
}
int32_t AOTInductorModelContainerDelete(Opaque* container) {
  return answer([&] {
    check(aoti_torch_delete_tensor_object(of(container).scale));
    if (of(container).bias != nullptr) check(aoti_torch_delete_tensor_object(of(container).bias));
    delete &of(container);
  });
}
int32_t AOTInductorModelContainerRun([[maybe_unused]] Opaque* container, Handle* inputs,
                                     size_t num_inputs, Handle* outputs, size_t num_outputs,
                                     AOTInductorStreamOpaque*,
                                     [[maybe_unused]] AOTIProxyExecutorOpaque* proxy) {
  return answer([&] {
    if (num_inputs != 1 || num_outputs != kOutputs) throw Failure{"other numbers of tensors"};
#if defined(FAKE_PROXY)
    call_operator(proxy, inputs, outputs);
#elif defined(FAKE_KERNEL)
    Owned x(std::exchange(inputs[0], nullptr));
    check(aoti_torch_cpu_relu(x.handle, outputs));
#else
    run(of(container), inputs, outputs);
#endif
  });
}
int32_t AOTInductorModelContainerGetNumInputs(Opaque*, size_t* count) {
  *count = 1;
  return 0;
}
int32_t AOTInductorModelContainerGetNumOutputs(Opaque*, size_t* count) {
  *count = kOutputs;
  return 0;
}
int32_t AOTInductorModelContainerGetInputName(Opaque*, size_t, const char** name) {
  *name = "arg0_1";
  return 0;
}
int32_t AOTInductorModelContainerGetOutputName(Opaque*, size_t i, const char** name) {
  *name = i == 0 ? "output0" : "output1";
  return 0;
}
int32_t AOTInductorModelContainerGetNumConstants(Opaque*, size_t* count) {
  *count = kConstants;
  return 0;
}
int32_t AOTInductorModelContainerGetConstantName(Opaque*, size_t i, const char** name) {
  constexpr const char* kNames[] = {"scale", "bias", "folded"};
  *name = kNames[i];
  return 0;
}
int32_t AOTInductorModelContainerGetConstantOriginalFQN(Opaque*, size_t i, const char** name) {
  constexpr const char* kNames[] = {"layer.scale", "layer.bias", ""};
  *name = kNames[i];
  return 0;
}
int32_t AOTInductorModelContainerGetConstantDtype(Opaque*, size_t, int32_t* type) {
  *type = cached_dtype;
  return 0;
}
int32_t AOTInductorModelContainerGetConstantDataSize(Opaque*, size_t, size_t* size) {
  *size = 16;
  return 0;
}
int32_t AOTInductorModelContainerGetConstantFromFolded(Opaque*, size_t i, bool* is_folded) {
  *is_folded = i == 2;
  return 0;
}
int32_t AOTInductorModelContainerExtractConstantsMapEntries(
    Opaque* container, const AOTInductorConstantMapEntry** entries, size_t* count, bool) {
  static thread_local AOTInductorConstantMapEntry found[2];
  found[0] = {"layer.scale", of(container).scale};
  found[1] = {"layer.bias", of(container).bias};
  *entries = found;
  *count = kConstants == 0 ? 0 : of(container).bias != nullptr ? 2 : 1;
  return 0;
}
int32_t AOTInductorModelContainerUpdateUserManagedConstantBufferPairs(
    Opaque* container, const AOTInductorConstantMapEntry* pairs, size_t count, bool, bool) {
  return answer([&] {
    for (size_t i = 0; i < count; ++i) {
      Handle& to =
          std::strcmp(pairs[i].name, "scale") == 0 ? of(container).scale : of(container).bias;
      if (data(pairs[i].handle)[0] == 13) throw Failure{"13 is unlucky"};
      Handle kept = nullptr;
      check(aoti_torch_new_tensor_handle(pairs[i].handle, &kept));
      if (to != nullptr) check(aoti_torch_delete_tensor_object(to));
      to = kept;
    }
  });
}
int32_t AOTInductorModelUpdateConstantsFromBlob(Opaque* container, const uint8_t* blob) {
  return answer([&] { std::memcpy(data(of(container).scale), blob, 16); });
}
}
#endif
