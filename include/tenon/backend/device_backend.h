// SPDX-License-Identifier: MIT
// DeviceBackend: a backend whose device has streams, shared with other libraries.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tenon/backend/backend.h"
#include "tenon/config.h"

TENON_BEGIN_NAMESPACE

/// A backend that shares its memory and streams with other libraries, as CUDA's does.
///
/// A stream is named by a number, as in DLPack and in CUDA's array interface: 1 for CUDA's legacy
/// default stream, 2 for its per-thread one, any other for a handle.
/// Errors, threads: as Backend's.
class TENON_EXPORT DeviceBackend : public Backend {
 public:
  DeviceBackend* as_device() noexcept override { return this; }

  /// The stream that has the calling thread's next work.
  virtual int64_t stream_number() const noexcept = 0;
  /// Makes work enqueued on `stream` from now on wait for all that this backend has enqueued.
  virtual Error order_before(int64_t stream) = 0;
  /// Makes work that this backend enqueues from now on wait for all that `stream` has been given.
  virtual Error order_after(int64_t stream) = 0;
  /// Makes work enqueued on any of its streams from now on wait for all that was enqueued on them.
  /// Called by PoolBackend before it reuses a block.
  virtual Error join_streams() noexcept = 0;

  /// Checks memory that came as a pointer and is said to be on device(): `nbytes` > 0 bytes from
  /// its lowest element on.
  /// Errors: InvalidArgument where it is not.
  virtual Error check_memory(const void* lowest, size_t nbytes) = 0;

  /// Copies as copy() does; one view is in this backend's memory, the other in `other`'s. What
  /// either enqueues from now on waits for it. Asked of the destination's backend first, then of
  /// the source's; NotSupported for a backend of a kind that this one does not know.
  virtual Error copy_between(const TensorView& dst, const TensorView& src, CastMode mode,
                             Backend& other) = 0;

 protected:
  using Backend::Backend;
};

TENON_END_NAMESPACE
