// SPDX-License-Identifier: MIT
// What a library exports that is opened while the program runs, and closed again.
#pragma once

#include <tenon/backend/pmr.h>
#include <tenon/backend/pool.h>
#include <tenon/backend/tracking.h>
#include <tenon/module/function_module.h>
#include <tenon/tenon.h>
#include <tenon/tensor/expr.h>
#include <tenon/tensor/values.h>

/// Other tensors of the program's, in the host's memory: `input` has as many floats as the tensor
/// that is changed had at first, `memory` has room for them.
struct Others {
  tenon::Tensor input;
  float* memory;
};

/// One call, or a few, that change a tensor, whatever they return.
struct TensorChange {
  const char* name;
  void (*apply)(const tenon::TensorPtr& tensor, const Others& others);
};
/// One call, or a few, of a module that takes `input` and gives one like `set`.
struct ModuleChange {
  const char* name;
  void (*apply)(tenon::Module& module, const tenon::TensorPtr& set, const tenon::TensorPtr& input);
};
/// Other objects of the program's.
struct ProgramValues {
  tenon::EValue value;
  tenon::TensorPtr tensor;
  tenon::TensorPtrMaker maker;
  tenon::Result<int64_t> result;
  tenon::PoolBackend& pool;
  tenon::TrackingBackend& tracker;
  tenon::ArenaBackend& arena;
  tenon::Backend& device;
};
struct ValueChange {
  const char* name;
  void (*apply)(ProgramValues& values);
};

/// Where the registry, the host's backend, the thread's generator and its last error are, as seen
/// there.
struct PluginPlaces {
  const void* registry;
  const void* host;
  const void* generator;
  const void* error;
};

struct Plugin {
  PluginPlaces (*places)();
  /// Makes one of each kind: of the heap's memory, of a vector's, of memory with a deleter of the
  /// library's, which counts, and in memory of a backend of the library's.
  void (*make)(std::vector<tenon::Tensor>& tensors);
  int* released;
  /// Makes and drops a tensor in a backend of the program's.
  bool (*use)(tenon::Backend& backend);
  /// Gives the thread an error, a seed and a thread_local tensor of the library's.
  void (*keep_in_thread)();
  /// Registers a static backend of the library's for a device, and leaves it there.
  void (*register_device)(int32_t index);
  /// What the library does with objects of the program's before it is closed.
  tenon::Span<const TensorChange> tensor_changes;
  tenon::Span<const ModuleChange> module_changes;
  tenon::Span<const ValueChange> value_changes;
};
