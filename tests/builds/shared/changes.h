// SPDX-License-Identifier: MIT
// What a library does with objects of the program's, before it is closed and unloaded.
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
/// ProgramValues of the program's.
struct ProgramValues {
  tenon::EValue value;
  tenon::TensorPtr tensor;
  tenon::TensorPtrMaker maker;
  tenon::ValueSpec spec;
  tenon::Blob blob;
  tenon::Result<int64_t> result;
  tenon::Generator generator;
  tenon::Dims dims;
  tenon::PoolBackend& pool;
  tenon::TrackingBackend& tracker;
  tenon::ArenaBackend& arena;
  tenon::Backend& device;
};
struct ValueChange {
  const char* name;
  void (*apply)(ProgramValues& values);
};

struct Changes {
  tenon::Span<const TensorChange> tensor;
  tenon::Span<const ModuleChange> module;
  tenon::Span<const ValueChange> value;
};
