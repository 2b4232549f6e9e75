// SPDX-License-Identifier: MIT
// What a library exports that is opened while the program runs, and closed again.
#pragma once

#include <tenon/backend/pool.h>
#include <tenon/tenon.h>

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
};
