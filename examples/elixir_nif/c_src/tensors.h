// SPDX-License-Identifier: MIT
// Backends and tensors as resources: terms that hold them until the last one is collected.
#pragma once

#include <tenon/backend/tracking.h>

#include <memory>
#include <mutex>

#include "terms.h"

/// An arena for tensors that any scheduler drops. tenon's own ArenaBackend is for one thread at a
/// time, with the tensors in it; here their metadata is on the heap, and a lock is held while a
/// block is found or given back.
class SharedArena final : public tenon::HostMemoryBackend {
 public:
  explicit SharedArena(size_t nbytes)
      : buffer_(new unsigned char[nbytes]), arena_(buffer_.get(), nbytes) {}

  const char* name() const noexcept override { return "arena"; }
  void* allocate(size_t nbytes, size_t alignment) noexcept override {
    const std::lock_guard<std::mutex> lock(mutex_);
    return arena_.allocate(nbytes, alignment);
  }
  void deallocate(void* p, size_t nbytes) noexcept override {
    const std::lock_guard<std::mutex> lock(mutex_);
    arena_.deallocate(p, nbytes);
  }

  /// Bytes in use, the most there were, and all.
  tenon::Dims statistics() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return {arena_.used(), arena_.high_water(), arena_.capacity()};
  }

 private:
  mutable std::mutex mutex_;
  std::unique_ptr<unsigned char[]> buffer_;
  tenon::ArenaBackend arena_;
};

/// Where tensors are: a backend, which stays while tensors are in it.
struct Home {
  std::shared_ptr<const Home> inner;  // of the backend that this one wraps, and goes after it
  std::unique_ptr<tenon::Backend> backend;
  const SharedArena* arena = nullptr;  // the backend, where it is one
  const tenon::TrackingBackend* tracking = nullptr;
};

using HomePtr = std::shared_ptr<const Home>;

/// A tensor, which never changes, and what it needs. Shared by its term, by binaries over its
/// memory, by tensors that were made of its blob, and by calls that work on it.
struct Held {
  HomePtr home;  // the first: it goes last
  tenon::Tensor tensor;
  std::shared_ptr<const Held> root = nullptr;        // whose memory it is, if that is another's
  std::shared_ptr<const KeptTerm> binary = nullptr;  // whose bytes it is
  bool is_trusted = false;                           // memory of which we know nothing

  bool is_host() const { return tensor.device().is_cpu(); }
  double nbytes() const { return static_cast<double>(tensor.nbytes()); }
  /// The system needs some 10 ms to take 1 GiB back.
  bool is_long_to_release() const {
    return root == nullptr && binary == nullptr && is_host() && nbytes() > 16 * 1024 * 1024;
  }
};
using HeldPtr = std::shared_ptr<const Held>;

/// Makes the types of resources. False when the BEAM refuses.
bool open_resource_types(ErlNifEnv* env) noexcept;

/// The backend of a handle: :cpu, :template, :expr, or a term by make_home().
HomePtr get_home(const Call& call, ERL_NIF_TERM term);
ERL_NIF_TERM make_home(const Call& call, Home home);
HomePtr cpu_home();

/// The tensor of a term by make_tensor(). Throws when it is deallocated.
HeldPtr get_held(const Call& call, ERL_NIF_TERM term);
ERL_NIF_TERM make_tensor(const Call& call, Held held);
/// Lets go of a term's tensor: :ok, or :already_deallocated.
ERL_NIF_TERM drop_tensor(const Call& call, ERL_NIF_TERM term);

/// A binary over memory of a tensor, which stays while the binary does.
ERL_NIF_TERM make_shared_binary(const Call& call, HeldPtr held, const void* bytes, size_t nbytes);

/// What begins the arguments of all that make tensors: backend, type, shape.
struct Target {
  explicit Target(const Call& call)
      : home(get_home(call, call.argv[0])),
        type(get_type(call, call.argv[1])),
        sizes(get_dims(call, "the shape", call.argv[2])) {}

  tenon::Backend& backend() const noexcept { return *home->backend; }
  /// To be written. Of a shape that is an error, any number.
  double nbytes() const;
  ERL_NIF_TERM finish(const Call& call, const tenon::TensorPtr& made) const {
    return make_tensor(call, {home, *made});
  }

  HomePtr home;
  tenon::ScalarType type;
  tenon::Dims sizes;
};
