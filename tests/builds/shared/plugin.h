// SPDX-License-Identifier: MIT
// What a library exports that is opened while the program runs, and closed again.
#pragma once

#include <tenon/backend/pool.h>
#include <tenon/backend/tracking.h>
#include <tenon/tenon.h>
#include <tenon/tensor/expr.h>

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
  /// Grows a tensor of the program's to so many floats, or makes room for them.
  bool (*grow)(tenon::Tensor& tensor, int64_t count, bool is_reserve);
  /// Reads a tensor in an ExprBackend of the program's in each way, and drops what that gives.
  bool (*read_expression)(const tenon::Tensor& tensor);
  /// Makes and drops a tensor under a tag.
  bool (*track)(tenon::TrackingBackend& tracker);
  /// Makes views, structs and Blobs of a tensor of the program's, imports them, and drops all.
  bool (*exchange)(const tenon::Tensor& tensor);
  /// Resizes, fills and copies within the tensor's room, and deallocates it.
  bool (*change)(tenon::Tensor& tensor);
};
