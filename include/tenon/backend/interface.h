// SPDX-License-Identifier: MIT
// The classes Backend and DeviceBackend. Programs include backend.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "tenon/backend/state.h"
#include "tenon/core/generator.h"
#include "tenon/core/result.h"
#include "tenon/kernels/cast.h"

TENON_BEGIN_NAMESPACE

class DeviceBackend;

/// A name with a number, or with a text.
/// Ownership: refers to both texts, which outlive the call they are passed to.
struct BackendOption {
  /// A number, or a text, under a name.
  BackendOption(const char* option TENON_LIFETIMEBOUND, const own::Scalar& number) noexcept
      : name(option != nullptr ? option : ""), value(number) {}
  BackendOption(const char* option TENON_LIFETIMEBOUND,
                const char* word TENON_LIFETIMEBOUND) noexcept
      : name(option != nullptr ? option : ""), text(word) {}

  const char* name;            ///< of the option
  own::Scalar value;           ///< the number; 0 for a text
  const char* text = nullptr;  ///< null for a number; a literal 0 is taken as a number
};

/// A list of options: `backend.init({{"limit", 1 << 20}, {"mode", "eager"}})`.
/// Ownership: copies the options into a std::vector, which may throw std::bad_alloc.
class BackendOptions {
 public:
  /// The options of a list.
  BackendOptions(std::initializer_list<BackendOption> list) : list_(list) {}

  /// How many options there are.
  size_t size() const noexcept { return list_.size(); }
  /// The first option.
  const BackendOption* begin() const noexcept TENON_LIFETIMEBOUND { return list_.data(); }
  /// Past the last option.
  const BackendOption* end() const noexcept TENON_LIFETIMEBOUND { return begin() + size(); }

  /// The last option of that name, or null.
  const BackendOption* find(const char* name) const noexcept TENON_LIFETIMEBOUND {
    const BackendOption* found = nullptr;
    for (const BackendOption& option : *this) {
      if (std::strcmp(option.name, name) == 0) found = &option;
    }
    return found;
  }

  /// Reads an integer option, if it is given.
  /// Errors: InvalidArgument if it is not an integer in [least, most].
  Error read(const char* name, int64_t least, int64_t& number,
             int64_t most = INT64_MAX) const noexcept {
    const BackendOption* const option = find(name);
    if (option == nullptr) return Error::Ok;
    const own::Scalar& value = option->value;
    if (option->text == nullptr && value.isIntegral(false) && value.fits<int64_t>() &&
        value.to<int64_t>() >= least && value.to<int64_t>() <= most) {
      number = value.to<int64_t>();
      return Error::Ok;
    }
    const auto fail_kind = [&](const char* kind, const auto& found) noexcept {
      return detail::fail(Error::InvalidArgument, "option \"", name, "\" is ", kind, found,
                          "; expected a whole number from ", least, " to ", most);
    };
    if (option->text != nullptr) return fail_kind("the text ", option->text);
    return fail_kind(value.isFloatingPoint() ? "the floating value " : "", value);
  }

  /// Refuses options that a backend does not know.
  /// Errors: InvalidArgument for an option that is not in `names`.
  Error check_names(std::initializer_list<const char*> names) const noexcept {
    for (const BackendOption& option : *this) {
      bool known = false;
      for (const char* name : names) known = known || std::strcmp(option.name, name) == 0;
      if (!known) {
        return detail::fail(Error::InvalidArgument, "there is no option \"", option.name, '"');
      }
    }
    return Error::Ok;
  }

 private:
  std::vector<BackendOption> list_;
};

namespace detail {

struct BackendAccess;

/// The classes that the library recognises without RTTI.
enum class BackendKind : uint8_t { Other, HostHeap, Expr, Cuda };

}  // namespace detail

/// A tensor that a creator has made; its pointers are valid during the call.
struct MadeTensor {
  void* data;                 ///< element 0; null if there are no elements
  ScalarType type;            ///< the dtype
  ArrayRef<int64_t> sizes;    ///< one size for each dimension
  ArrayRef<int64_t> strides;  ///< in elements
  const char* function;       ///< the creator's name, "zeros"
};

/// Where memory comes from and how bytes move: derive from it for an accelerator, an arena, a pool.
///
/// An address may be a handle instead of a pointer, but address + n must stand for the byte n bytes
/// further: a view's data is the address of its element 0. tenon reads and writes the memory itself
/// if is_opaque() is false and the host can read memory of device().
///
/// The nine pure functions are enough. tenon calls the optional functions first. If one returns
/// NotSupported, as the defaults do, it must have changed nothing; tenon then does the work with
/// the nine and host memory. A backend that was compiled before an optional function was added
/// returns NotSupported too.
///
/// Ownership: a backend outlives the tensors in its memory. If it is destroyed before them, the
/// failure handler is called; dropping them later is safe, but leaks their memory.
/// Errors: functions return an Error, and may leave a text with set_error(). Exceptions become
/// errors.
/// Threads: tenon calls a backend on each thread on which the program uses or drops the backend's
/// tensors, on several at once if the program does so.
/// Source: Nx.Backend's callbacks that move data; rmm::mr::device_memory_resource.
class TENON_EXPORT Backend {
 public:
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;
  inline virtual ~Backend();  // GCC emits the vtable in each file without this "inline"

  /// The name in messages, "opencl". The text is valid as long as the backend.
  virtual const char* name() const noexcept = 0;
  /// The device of the memory. Never changes.
  virtual Device device() const noexcept = 0;
  /// Whether the memory can only be reached through the backend.
  virtual bool is_opaque() const noexcept = 0;

  /// Allocates `nbytes` > 0 bytes at a multiple of `alignment`, a power of two. Returns nullptr on
  /// failure.
  virtual void* allocate(size_t nbytes, size_t alignment) noexcept = 0;
  /// Releases memory that allocate(nbytes, …) returned. Called on the thread that drops the
  /// memory's last tensor.
  virtual void deallocate(void* p, size_t nbytes) noexcept = 0;

  /// Copies bytes from host memory, which the caller may change or free when this returns.
  virtual Error copy_from_host(void* dst, const void* src, size_t nbytes) = 0;
  /// Copies bytes to host memory; done when this returns.
  virtual Error copy_to_host(void* dst, const void* src, size_t nbytes) = 0;
  /// Copies bytes inside of the backend's memory, between ranges that do not overlap. May be
  /// asynchronous, if the backend's later operations wait for it.
  virtual Error copy_within(void* dst, const void* src, size_t nbytes) = 0;
  /// Waits for all enqueued work.
  virtual Error synchronize() = 0;

  // --- Optional functions ---

  /// Sets options. The default implementation knows no option.
  /// Errors: InvalidArgument for a name or a value that the backend does not know; nothing is
  /// changed.
  virtual Error init(const BackendOptions& options) { return options.check_names({}); }

  /// Copies elements between views of the same sizes, at any strides, converting types as `mode`
  /// says. At least one view is in this backend's memory; the other is too, or in host memory (its
  /// device is the CPU), or on another device. They do not overlap. Host memory has been read or
  /// written when this returns.
  virtual Error copy(const TensorView& /*dst*/, const TensorView& /*src*/, CastMode /*mode*/) {
    return Error::NotSupported;
  }
  // The functions of creators. If the host can read the memory, the elements have been written when
  // they return.

  /// Writes one element, given in host memory, to all of `out`.
  virtual Error constant(const TensorView& /*out*/, const void* /*element*/) {
    return Error::NotSupported;
  }
  /// Writes ones to the main diagonal of a matrix, zeros elsewhere.
  virtual Error eye(const TensorView& /*out*/) { return Error::NotSupported; }
  /// Writes each element's index along an axis; without an axis, its row-major index.
  virtual Error iota(const TensorView& /*out*/, OptionalIndex /*axis*/) {
    return Error::NotSupported;
  }
  /// Writes the elements that `nbytes` bytes hold: row-major, little-endian.
  virtual Error from_binary(const TensorView& /*out*/, const void* /*bytes*/, size_t /*nbytes*/) {
    return Error::NotSupported;
  }
  /// Writes the first `count` elements to host memory: row-major, little-endian.
  virtual Error to_binary(const TensorView& /*in*/, int64_t /*count*/, void* /*bytes*/) {
    return Error::NotSupported;
  }
  /// Writes random values, uniform in [min, max). Element i in row-major order gets the value that
  /// the host computes for element start.offset + i with start.seed, see docs/random.md.
  virtual Error random_uniform(const TensorView& /*out*/, double /*min*/, double /*max*/,
                               const Generator::State& /*start*/) {
    return Error::NotSupported;
  }
  /// As random_uniform(), but normal with a mean and a standard deviation.
  virtual Error random_normal(const TensorView& /*out*/, double /*mu*/, double /*sigma*/,
                              const Generator::State& /*start*/) {
    return Error::NotSupported;
  }
  /// As random_uniform(), but integers from `low` to `last` with equal probability.
  virtual Error random_integers(const TensorView& /*out*/, int64_t /*low*/, int64_t /*last*/,
                                const Generator::State& /*start*/) {
    return Error::NotSupported;
  }
  /// Appends the elements as text for to_string(), about `limit` of them at most.
  virtual Error inspect(const TensorView& /*in*/, int64_t /*limit*/, std::string& /*text*/) {
    return Error::NotSupported;
  }

  /// The backend that owns the memory: itself, or the innermost backend of a wrapper. tenon calls
  /// base()'s functions to copy and to fill. Never changes.
  virtual Backend& base() noexcept { return *this; }
  /// This backend, or the backend that it wraps, as a DeviceBackend; null if neither is a
  /// DeviceBackend.
  virtual DeviceBackend* as_device() noexcept { return nullptr; }
  /// The backend in whose memory this backend's tensors keep their metadata, so that they need no
  /// heap: this backend, or one that it wraps. Borrowed tensors and views that are made with this
  /// backend keep their metadata there too. Null: the metadata is on the heap. In ATen mode only
  /// modules use that memory.
  virtual Backend* metadata_backend() noexcept { return nullptr; }
  /// Called for each tensor that is made in this backend's memory. For bookkeeping.
  virtual void on_made(const MadeTensor&) noexcept {}

  /// The memory blocks of this backend that tensors hold, for data and for metadata.
  int64_t live_blocks() const noexcept {
    return state_ == nullptr ? 0 : int64_t{state_->get()} - 1 - state_->wrappers.get();
  }

 protected:
  // Templates, so that a program compiles and links CopyingState only if it constructs a backend
  // that is more than host memory.

  /// With TENON_HEAP=0 the backend cannot make tensors: use the constructor below.
  template <class T = void>
  Backend() noexcept : Backend(detail::make_state<detail::CopyingState<T>>()) {}
  /// Without the heap: `place` is memory for a detail::BackendState, and outlives the backend's
  /// tensors and wrappers. If `place` is null, the backend cannot make tensors. If `one_thread` is
  /// true, all tensors of the backend must be made, used and dropped on one thread at a time.
  template <class T = void>
  Backend(void* place, bool one_thread) noexcept
      : Backend(detail::make_state<detail::CopyingState<T>>(place, one_thread)) {}
  /// With a state from make_state(). If `state` is null, the backend cannot make tensors.
  explicit Backend(detail::BackendState* state) noexcept : state_(state) {
    if (state == nullptr) return;
    state->backend = this;
    state->add();
  }

 private:
  friend struct detail::BackendAccess;

#if !TENON_BARE_METAL  // bare metal loads no libraries
  // Reserved for further optional functions, which return Error: see docs/versions.md.
  virtual Error reserved1() { return Error::NotSupported; }
  virtual Error reserved2() { return Error::NotSupported; }
  virtual Error reserved3() { return Error::NotSupported; }
  virtual Error reserved4() { return Error::NotSupported; }
#endif

  detail::BackendState* state_ = nullptr;
  Backend* next_ = nullptr;   // the registry's next backend
  Device registered_device_;  // stored: ~Backend() cannot call device()
  detail::BackendKind kind_ = {};
};

namespace detail {

/// The registered backends: an intrusive list, which needs neither heap nor constructor and works
/// before and after main().
struct BackendRegistry {
  SpinLock lock;
  Backend* first = nullptr;
};
TENON_EXPORT inline BackendRegistry& backend_registry() noexcept {
  static BackendRegistry registry;
  return registry;
}

template <class T>
inline constexpr bool is_backend_v = std::is_base_of_v<Backend, T>;

/// The library's access to a Backend's private members.
struct BackendAccess {
  static BackendState* state(const Backend& backend) noexcept { return backend.state_; }
  static Backend*& next(Backend& backend) noexcept { return backend.next_; }
  static Device& registered_device(Backend& backend) noexcept { return backend.registered_device_; }
  static BackendKind& kind(Backend& backend) noexcept { return backend.kind_; }
  /// Whether the backend is the host's heap.
  static bool is_host_heap(const Backend& backend) noexcept {
    return backend.kind_ == BackendKind::HostHeap;
  }
};

/// Removes a backend from the registry. Returns false if it is not registered.
inline bool remove_from_registry(Backend& backend) noexcept {
  BackendRegistry& registry = backend_registry();
  const LockGuard<SpinLock> guard(registry.lock);
  Backend** at = &registry.first;
  while (*at != nullptr && *at != &backend) at = &BackendAccess::next(**at);
  if (*at == nullptr) return false;
  *at = BackendAccess::next(backend);
  return true;
}

}  // namespace detail

inline Backend::~Backend() {
  detail::remove_from_registry(*this);
  if (state_ == nullptr) return;
  state_->backend = nullptr;
  if (const int64_t left = live_blocks()) {
    detail::report(Error::InUse, "backend ", static_cast<const char*>(state_->name),
                   " was destroyed with ", left, " of its blocks in use");
  }
  if (state_->wrappers.any()) {
    detail::report(Error::InUse, "backend ", static_cast<const char*>(state_->name),
                   " was destroyed before a backend that wraps it");
  }
  if (detail::BackendState* const inner = std::exchange(state_->inner, nullptr)) {
    inner->wrappers.remove();
    detail::drop_state(inner);
  }
  detail::drop_state(state_);
}

/// A backend whose memory and streams other libraries share, such as CUDA's.
///
/// A stream is named by a number, as in DLPack and in CUDA's array interface: 1 is CUDA's legacy
/// default stream, 2 its per-thread default stream, any other number a handle.
/// Errors, threads: as Backend's.
class TENON_EXPORT DeviceBackend : public Backend {
 public:
  DeviceBackend* as_device() noexcept override { return this; }

  /// The stream for the calling thread's next work.
  virtual int64_t stream_number() const noexcept = 0;
  /// Makes later work on `stream` wait for all that this backend has enqueued.
  virtual Error order_before(int64_t stream) = 0;
  /// Makes this backend's later work wait for all that was enqueued on `stream`.
  virtual Error order_after(int64_t stream) = 0;
  /// Makes later work on each stream of this backend wait for all work enqueued on the others.
  /// PoolBackend calls it before it reuses a block.
  virtual Error join_streams() noexcept = 0;

  /// Checks that `nbytes` > 0 bytes from the lowest element on are memory of device().
  /// Errors: InvalidArgument if they are not.
  virtual Error check_memory(const void* lowest, size_t nbytes) = 0;

  /// As copy(), between a view in this backend's memory and a view in `other`'s. Later work of both
  /// backends waits for the copy. tenon asks the destination's backend first, then the source's.
  /// Returns NotSupported if this backend does not know `other`'s kind of backend.
  virtual Error copy_between(const TensorView& dst, const TensorView& src, CastMode mode,
                             Backend& other) = 0;

 protected:
  using Backend::Backend;

 private:
#if !TENON_BARE_METAL
  virtual Error reserved_device1() { return Error::NotSupported; }
  virtual Error reserved_device2() { return Error::NotSupported; }
  virtual Error reserved_device3() { return Error::NotSupported; }
  virtual Error reserved_device4() { return Error::NotSupported; }
#endif
};

TENON_END_NAMESPACE
