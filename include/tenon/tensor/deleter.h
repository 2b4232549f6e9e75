// SPDX-License-Identifier: MIT
// Deleter: a callable that releases memory, once, with the pointer that it was created with.
//
// Deleters, destructors of owners and containers, and backends are foreign code, which may call
// back into the library, even on the same tensor. The rule: a function checks everything, allocates
// what it needs, sets all fields and only then calls foreign code. Afterwards it does not touch the
// tensor, which may have been destroyed. This list says where foreign code is called, and what the
// tensor's state then is:
// - ~TensorImpl, after the last handle, view or Blob: the deleter, then the base's. No handle is
//   left; an assigned handle already holds the new tensor.
// - replace_memory(), in growth: the old memory's deleter. The tensor has grown.
// - drop_memory(), in backend_deallocate() and backend_transfer(): the deleter, then the base's.
//   The tensor is deallocated.
// - grow(): a backend's allocate and copy_within. The tensor is unchanged; afterwards grow() checks
//   again whether it may grow.
// - Views and exports: a backend's allocate, for their metadata. The source is unchanged; a
//   SourceGuard holds the source and its memory, and its shape is read after the call.
// - Copies, fills, clones and texts: a backend's functions. A MemoryHold keeps the memory.
// - notify_created(): on_made. The tensor is finished and not shared.
// - A failing creator, ~TensorPtrMaker: the deleter, then the owners; ~Values: the container;
//   Deleter's constructor when out of memory: the callable. There is no tensor.
#pragma once

#include <cstring>
#include <new>

#include "tenon/backend/calls.h"
#include "tenon/core/memory.h"

TENON_BEGIN_NAMESPACE

namespace detail {

/// Whether F can be a deleter.
template <class F>
inline constexpr bool is_deleter_v =
    std::is_invocable_v<F&, void*> || std::is_same_v<F, std::nullptr_t>;

/// A compile error inside a generic lambda that is passed as an owner or deleter shows this name.
struct AnOwnerIsKeptAndNeverCalled {};
/// Whether F is a deleter and cannot be an owner: a callable that takes any argument may be either.
template <class F>
inline constexpr bool is_only_deleter_v =
    std::conjunction_v<std::bool_constant<is_deleter_v<F>>,
                       std::negation<std::is_invocable<F&, AnOwnerIsKeptAndNeverCalled>>>;

struct AnyPointer {
  template <class T>
  operator T*() const;
};
/// Whether F looks like a deleter, but takes no argument or a pointer of another type.
template <class F>
inline constexpr bool is_wrong_deleter_v =  // lazy: it compiles a generic lambda's body
    std::conjunction_v<std::bool_constant<!is_deleter_v<F>>,
                       std::disjunction<std::is_invocable<F&>, std::is_invocable<F&, AnyPointer>>>;
template <class... Arguments>
using IfWrongDeleter =
    std::enable_if_t<(... || is_wrong_deleter_v<std::remove_reference_t<Arguments>>), int>;

template <class F, class = void>
struct HasBoolOperator : std::false_type {};
template <class F>
struct HasBoolOperator<F, std::void_t<decltype(std::declval<const F&>().operator bool())>>
    : std::true_type {};

/// A null function pointer or an empty std::function. A lambda without captures also converts to
/// bool, through a function pointer, but is never empty: hence the check for a member operator.
template <class F>
bool is_empty_callable(const F& f) noexcept {
  if constexpr (std::is_pointer_v<F> || HasBoolOperator<F>::value) return !static_cast<bool>(f);
  return false;
}

/// The name by which target() recognises a callable; null if its type has no specialisation. A
/// name, since an address would differ between shared libraries.
template <class F>
inline constexpr const char* deleter_name_v = nullptr;

}  // namespace detail

/// Releases memory: calls `f(argument)` exactly once, in its destructor.
///
/// The argument is fixed at creation and may be null. The callable is any move-constructible type,
/// such as a lambda that owns a vector. A callable of up to the size of four pointers, aligned like
/// a pointer, is stored inline; a larger one, or one whose move may throw, in a heap block. If that
/// block cannot be allocated, `f(argument)` is called at once and error() is OutOfMemory: the
/// memory is released, and the function that got the deleter reports the error. If copying or
/// moving f throws, the caller still owns the memory. An empty std::function, a null function
/// pointer and nullptr make an empty Deleter. f may call back into the library: assignment runs the
/// old f last, after storing the new one.
/// Threads: not synchronised; may be destroyed on any thread. f must not throw.
/// Source: std::shared_ptr's deleter; ExecuTorch's std::function, which gets the tensor's current
/// pointer.
class Deleter {
 public:
  Deleter() noexcept = default;
  /// Calls `f(argument)` once. A null `f` makes an empty Deleter.
  Deleter(void*, std::nullptr_t) noexcept {}
  // Not named F: Arduino.h defines a macro F(x).
  template <class Function, std::enable_if_t<std::is_invocable_v<Function&, void*>, int> = 0>
  Deleter(void* argument, Function f) noexcept(std::is_nothrow_move_constructible_v<Function>) {
    if (detail::is_empty_callable(f)) return;
    argument_ = argument;
    if constexpr (kFitsInline<Function>) {
      store<Function>(std::move(f));
    } else {
      const detail::Allocation memory = detail::allocate(sizeof(Function));
      if (memory.base == nullptr) {
        static_cast<void>(f(argument));
        argument_ = this;
        return;
      }
      OnHeap<Function> block(memory.base);
      block.f = ::new (memory.data) Function(std::move(f));
      store<Function>(std::move(block));
    }
  }
  Deleter(Deleter&& other) noexcept { take(std::move(other)); }
  Deleter& operator=(Deleter&& other) noexcept {
    if (this != &other) {
      const Deleter old(std::move(*this));
      take(std::move(other));
    }
    return *this;
  }
  ~Deleter() {
    const Ops* const ops = std::exchange(ops_, nullptr);
    if (ops == nullptr) return;
    if (ops == heap_block()) {
      detail::heap_release(argument_);
    } else if (ops == backend_block()) {
      const BackendBlock block = backend_block_in(storage_);
      detail::release_to(*block.state, argument_, block.nbytes);
    } else {
      ops->run_and_destroy(storage_, argument_);
    }
  }

  /// Takes over `other`'s callable. This Deleter must be empty.
  void take(Deleter&& other) noexcept {
    ops_ = std::exchange(other.ops_, nullptr);
    argument_ = std::exchange(other.argument_, nullptr);
    if (has_code()) {
      ops_->relocate(storage_, other.storage_);
    } else if (ops_ == backend_block()) {
      ::new (static_cast<void*>(storage_)) BackendBlock(backend_block_in(other.storage_));
    }
  }
  /// Runs the callable, then holds `f`, which must fit inline.
  template <class F>
  void emplace(void* argument, F f) noexcept {
    static_assert(kFitsInline<F>);
    reset();
    argument_ = argument;
    store<F>(std::move(f));
  }
  // Blocks that tenon allocated. The code that drops the Deleter releases them by its own copy of
  // tenon: if a library has grown the program's tensor, the tensor then has no pointer into the
  // library, which may be closed.

  /// Runs the callable, then owns a heap block.
  void own_block(void* base) noexcept {
    reset();
    ops_ = heap_block();
    argument_ = base;
  }
  /// Runs the callable, then owns a backend's block: see release_to().
  void own_block(void* data, detail::BackendState& state, size_t nbytes) noexcept {
    reset();
    ::new (static_cast<void*>(storage_)) BackendBlock{&state, nbytes};
    ops_ = backend_block();
    argument_ = data;
  }

  /// False if empty.
  explicit operator bool() const noexcept { return ops_ != nullptr; }
  /// OutOfMemory if there was no memory for the callable, which has then run already.
  Error error() const noexcept {
    return ops_ == nullptr && argument_ != nullptr ? Error::OutOfMemory : Error::Ok;
  }

  /// The callable if it is an F, which has a deleter_name_v; else null.
  /// Source: std::get_deleter.
  template <class F>
  F* target() noexcept {
    static_assert(detail::deleter_name_v<F> != nullptr);
    if (!has_code() || ops_->name == nullptr) return nullptr;
    return std::strcmp(ops_->name, detail::deleter_name_v<F>) == 0 ? stored<F>() : nullptr;
  }
  /// The callable, which must be an F.
  template <class F>
  F* stored() noexcept {
    void* const place = storage_;
    if constexpr (kFitsInline<F>) return static_cast<F*>(place);
    return static_cast<OnHeap<F>*>(place)->f;
  }

  /// Empties this, then calls f. Does not use this afterwards: f may destroy its owner.
  void reset() noexcept { const Deleter old(std::move(*this)); }

 private:
  struct Ops {
    void (*run_and_destroy)(void* storage, void* argument) noexcept;
    void (*relocate)(void* to, void* from) noexcept;
    const char* name;
  };

  template <class F>
  static constexpr bool kFitsInline =
      sizeof(F) <= 4 * sizeof(void*) &&
      alignof(F) <= alignof(void*) && std::is_nothrow_move_constructible_v<F>;

  /// A callable on the heap.
  template <class Function>
  struct OnHeap {
    static_assert(alignof(Function) <= detail::kDataAlignment, "more alignment than tenon gives");
    void* base;
    Function* f = nullptr;

    explicit OnHeap(void* block) noexcept : base(block) {}
    OnHeap(OnHeap&& other) noexcept
        : base(std::exchange(other.base, nullptr)), f(std::exchange(other.f, nullptr)) {}
    ~OnHeap() {
      if (f != nullptr) f->~Function();
      detail::heap_release(base);
    }
    void operator()(void* p) noexcept { static_cast<void>((*f)(p)); }
  };

  /// `Stored` is F, or OnHeap<F>.
  template <class Stored>
  static void run_and_destroy(void* storage, void* argument) noexcept {
    Stored& f = *static_cast<Stored*>(storage);
    static_cast<void>(f(argument));
    f.~Stored();
  }
  template <class Stored>
  static void relocate(void* to, void* from) noexcept {
    Stored& f = *static_cast<Stored*>(from);
    ::new (to) Stored(std::move(f));
    f.~Stored();  // NOLINT(bugprone-use-after-move): the moved-from object
  }
  template <class F, class Stored>
  static constexpr Ops kOps{&run_and_destroy<Stored>, &relocate<Stored>, detail::deleter_name_v<F>};
  template <class F, class Stored>
  void store(Stored&& f) noexcept(std::is_nothrow_move_constructible_v<Stored>) {
    ::new (static_cast<void*>(storage_)) Stored(std::forward<Stored>(f));
    ops_ = &kOps<F, Stored>;
  }

  struct BackendBlock {
    detail::BackendState* state;
    size_t nbytes;
  };
  static BackendBlock backend_block_in(const unsigned char* storage) noexcept {
    BackendBlock block;
    std::memcpy(&block, storage, sizeof block);
    return block;
  }

  // These mark a heap block, or a backend's block. They are numbers, not pointers into a library.
  // NOLINTBEGIN(performance-no-int-to-ptr)
  static const Ops* heap_block() noexcept { return reinterpret_cast<const Ops*>(uintptr_t{1}); }
  static const Ops* backend_block() noexcept { return reinterpret_cast<const Ops*>(uintptr_t{2}); }
  // NOLINTEND(performance-no-int-to-ptr)
  bool has_code() const noexcept { return reinterpret_cast<uintptr_t>(ops_) > 2; }

  const Ops* ops_ = nullptr;
  void* argument_ = nullptr;  // if ops_ is null, non-null means out of memory
  alignas(void*) unsigned char storage_[4 * sizeof(void*)];
};

namespace detail {

/// Two deleters; `first` runs first.
struct DeleterChain {
  Deleter first;
  Deleter second;
  void operator()(void*) noexcept {
    first.reset();
    second.reset();
  }
};

/// Makes one Deleter of both.
inline Deleter chain(Deleter&& first, Deleter&& second) noexcept {
  if (!first) return std::move(second);
  if (!second) return std::move(first);
  return Deleter(nullptr, DeleterChain{std::move(first), std::move(second)});
}

}  // namespace detail
TENON_END_NAMESPACE
