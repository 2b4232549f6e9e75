// SPDX-License-Identifier: MIT
// Window: gives other ranks access to a tensor's memory.
#pragma once

#include <forward_list>
#include <memory>

#include "tenon/interop/processes/mpi_buffer.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// Describes a rank's memory in a window, as numbers that MPI can send.
struct MpiExposed {
  int64_t error;  // an error in the rank's tensor
  int64_t type;
  int64_t reach;   // number of elements from the lowest to the highest address
  int64_t offset;  // bytes from the window's start to the lowest element
};

/// An operation in progress: MPI may still read or write its tensor.
struct MpiAccess {
  int target;
  MpiBuffer buffer;
  MemoryHold hold;
};

/// What a window keeps until MPI has freed the window.
struct MpiKept {
  MemoryHold hold;
  std::forward_list<MpiAccess> accesses;
};

}  // namespace detail

namespace mpi {

class Communicator;

/// Whether several ranks may hold the lock of a target at the same time.
enum class Lock : uint8_t {
  Exclusive,  ///< no other rank holds the lock
  Shared,     ///< others may hold it, to read or accumulate
};

/// Gives every rank access to one tensor of each rank; the tensors may differ in dtype and sizes.
/// Made by Communicator::window(). A Window can be moved, but not assigned to.
///
/// Call put(), get() and accumulate() between two calls of fence(), which all ranks call, or
/// between lock() and unlock() of the target. These operations are done when fence(), unlock() or
/// flush() returns Ok. Until then, do not change the tensor of an operation, and do not read the
/// tensor of a get(). Shapes and units: a displacement counts elements of the target, from its
/// lowest address. An operation accesses consecutive elements of the target, in the row-major order
/// of the operation's tensor.
/// Ownership: keeps this rank's tensor alive, and the tensors of operations until these are done;
/// meanwhile none of the tensors can grow or be deallocated. (The caller keeps memory alive that a
/// tensor borrows by raw pointer.) Destroying a Window is collective, like MPI_Win_free, and not
/// allowed between lock() and unlock(): there, or while operations are not done, MPICH does not
/// free the window, and the tensors are leaked. Destroy it before MPI_Finalize, in which MPICH ends
/// a program that still has a window; after MPI_Finalize the destructor does nothing.
/// Errors: those of Communicator; OutOfBounds (an access beyond the target's memory); InvalidType
/// (a tensor of another dtype than the target's); InvalidState (from MPI, for a call that is not
/// between two fence() or between lock() and unlock()).
/// Threads: one thread at a time.
/// Source: MPI_Win_create; mpi4py.MPI.Win.
class Window {
 public:
  Window(Window&&) noexcept = default;
  ~Window() {
    // MPICH does not free a window during an epoch: memory that MPICH may still access is leaked.
    if (!window_.free()) static_cast<void>(kept_.release());
  }
  /// The window; MPI_WIN_NULL after it was moved from.
  MPI_Win get() const noexcept { return window_ ? window_.get() : MPI_WIN_NULL; }

  /// Writes the tensor's elements to the target's memory.
  /// Source: MPI_Put.
  Error put(ConstTensorArg t, int target, int64_t displacement = 0) noexcept {
    return detail::add_context_if("put", access(Kind::Put, t, target, displacement));
  }
  /// Reads the tensor's elements from the target's memory.
  /// Source: MPI_Get.
  Error get(TensorArg t, int target, int64_t displacement = 0) noexcept {
    return detail::add_context_if("get", access(Kind::Get, t, target, displacement));
  }
  /// Combines the tensor's elements with those in the target's memory. Each element is updated
  /// atomically: several ranks may call this at the same time, all with the same Op.
  /// Errors: NotSupported (Half, BFloat16, Float8 and ComplexHalf, for which MPI has no
  /// operations); InvalidType (Min and Max of complex elements).
  /// Source: MPI_Accumulate.
  Error accumulate(ConstTensorArg t, int target, int64_t displacement = 0,
                   Op op = Op::Sum) noexcept {
    return detail::add_context_if("accumulate",
                                  access(Kind::Accumulate, t, target, displacement, op));
  }

  /// Completes the operations of all ranks, and begins the next epoch. Collective.
  /// Source: MPI_Win_fence.
  Error fence() noexcept { return detail::add_context_if("fence", end(kAll, &MPI_Win_fence)); }
  /// Begins an epoch for operations on the target only.
  /// Source: MPI_Win_lock.
  Error lock(int target, Lock kind = Lock::Exclusive) noexcept {
    const int how = kind == Lock::Shared ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE;
    Error error = check_target(target);
    if (error == Error::Ok) error = detail::check_mpi(MPI_Win_lock(how, target, 0, window_.get()));
    return detail::add_context_if("lock", error);
  }
  /// Completes the operations on the target, and ends the epoch that lock() began.
  /// Source: MPI_Win_unlock.
  Error unlock(int target) noexcept {
    return detail::add_context_if("unlock", end(target, &MPI_Win_unlock));
  }
  /// Completes the operations on the target, which stays locked.
  /// Source: MPI_Win_flush.
  Error flush(int target) noexcept {
    return detail::add_context_if("flush", end(target, &MPI_Win_flush));
  }

 private:
  friend class Communicator;
  enum class Kind : uint8_t { Put, Get, Accumulate };
  static constexpr int kAll = -1;

  Window() noexcept = default;

  /// Collective. If one rank's tensor is refused, the call fails on all ranks.
  Error make(const detail::MpiRanks& ranks, const TensorArg& t) noexcept {
    TENON_TRY(ranks.check_usable());
    TENON_TRY(ranks.agree(Error::Ok, detail::MpiRecord(detail::MpiCall::Window), t));
    ranks_ = ranks.size;
    exposed_.reset(new (std::nothrow) detail::MpiExposed[static_cast<size_t>(ranks_)]);
    kept_.reset(new (std::nothrow) detail::MpiKept);
    if (exposed_ == nullptr || kept_ == nullptr) {
      return detail::fail_no_memory("a window");
    }
    const MPI_Comm comm = ranks.comm.get();
    detail::MpiExposed mine{};
    char* base = nullptr;
    const Error error = expose(t, mine, base);
    mine.error = static_cast<int64_t>(error);
    TENON_TRY(detail::check_mpi(
        MPI_Allgather(&mine, 4, MPI_INT64_T, exposed_.get(), 4, MPI_INT64_T, comm)));
    TENON_TRY(error);
    for (int r = 0; r < ranks_; ++r) {
      const auto theirs = static_cast<Error>(exposed_[static_cast<size_t>(r)].error);
      if (theirs == Error::Ok) continue;
      return detail::fail(Error::InvalidArgument, "rank ", r,
                          " found an error in its tensor: ", toString(theirs));
    }
    const auto element = static_cast<int64_t>(elementSize(detail::fields(t).type));
    const MPI_Aint nbytes = mine.reach * element + mine.offset;
    MPI_Win made = MPI_WIN_NULL;
    TENON_TRY(detail::check_mpi(MPI_Win_create(base, nbytes, 1, MPI_INFO_NULL, comm, &made)));
    window_ = detail::MpiHandle<MPI_Win, &MPI_Win_free>(made);
    return detail::check_mpi(MPI_Win_set_errhandler(made, MPI_ERRORS_RETURN));
  }
  /// Keeps this rank's tensor, describes its memory in `mine`, and sets `base` to the window's
  /// start.
  Error expose(const TensorArg& t, detail::MpiExposed& mine, char*& base) noexcept {
    detail::MemoryLocation location;
    TENON_TRY(detail::find_destination(t, "the tensor", location));
    if (location.backend != nullptr) {
      return detail::fail_reach("the tensor", location.view.device, "; a window needs host memory");
    }
    const detail::TensorFields& f = detail::fields(t);
    const OffsetRange& offsets = f.layout.offsets;
    mine.type = static_cast<int64_t>(f.type);
    mine.reach = offsets.max - offsets.min + 1;
    base = static_cast<char*>(f.data) + offsets.min * static_cast<int64_t>(elementSize(f.type));
    // MPICH 4.0 on UCX may take a lower address, by a multiple of 16 bytes, for the window's start.
    mine.offset = static_cast<int64_t>(reinterpret_cast<uintptr_t>(base) % 64);
    base -= mine.offset;
    return kept_->hold.hold(t);
  }

  Error check_target(int target) const noexcept {
    if (!window_) return detail::fail(Error::InvalidState, "the window was moved from");
    TENON_TRY(detail::check_rank("rank", target, ranks_));
    return detail::check_mpi_runs();
  }

  Error access(Kind kind, const TensorArg& t, int target, int64_t displacement,
               Op op = Op::Sum) noexcept {
    TENON_TRY(check_target(target));
    const auto use = kind == Kind::Get ? detail::MpiUse::Write : detail::MpiUse::Read;
    detail::MpiAccess made{target, {}, {}};
    const detail::MpiBuffer& here = made.buffer;
    TENON_TRY(made.buffer.find(t, "the tensor", use));
    const detail::MpiExposed& exposed = exposed_[static_cast<size_t>(target)];
    if (static_cast<int64_t>(here.scalar_type) != exposed.type) {
      return detail::fail(Error::InvalidType, "the tensor is ", here.scalar_type,
                          ", but the target is ", static_cast<detail::ScalarType>(exposed.type));
    }
    if (here.numel == 0) return Error::Ok;
    if (displacement < 0 || displacement > exposed.reach - here.numel) {
      return detail::fail(Error::OutOfBounds, here.numel, " elements from displacement ",
                          displacement, " are beyond the memory of rank ", target, ", which has ",
                          exposed.reach);
    }
    MPI_Op operation = MPI_OP_NULL;
    TENON_TRY(detail::find_operation(here.scalar_type, op, operation));
    if (kind == Kind::Accumulate && detail::reduced_as(here.scalar_type) != here.scalar_type) {
      return detail::fail(Error::NotSupported, "MPI has no operations for ", here.scalar_type);
    }
    detail::MpiElements there;
    TENON_TRY(there.describe(here.scalar_type, here.numel));
    TENON_TRY(made.hold.hold(t));
    const auto element = static_cast<int64_t>(elementSize(here.scalar_type));
    const MPI_Aint at = displacement * element + exposed.offset;
    const MPI_Win w = window_.get();
    if (!detail::has_memory_for([&] { kept_->accesses.push_front(std::move(made)); })) {
      return detail::fail_no_memory("an operation");
    }
    const detail::MpiBuffer& b = kept_->accesses.front().buffer;
    const Error error = detail::check_mpi(
        kind == Kind::Put ? MPI_Put(b.data, b.count, b.type, target, at, there.count, there.type, w)
        : kind == Kind::Get
            ? MPI_Get(b.data, b.count, b.type, target, at, there.count, there.type, w)
            : MPI_Accumulate(b.data, b.count, b.type, target, at, there.count, there.type,
                             operation, w));
    if (error != Error::Ok) kept_->accesses.pop_front();
    return error;
  }

  /// Completes the operations on one target or on all by calling `call`, and releases their
  /// tensors. MPI_Win_fence takes assertions in the place of a target: 0, none.
  Error end(int target, int (*call)(int, MPI_Win)) noexcept {
    const int argument = target == kAll ? 0 : target;
    TENON_TRY(check_target(argument));
    TENON_TRY(detail::check_mpi(call(argument, window_.get())));
    Error error = Error::Ok;
    kept_->accesses.remove_if([&](detail::MpiAccess& done) noexcept {
      if (target != kAll && done.target != target) return false;
      if (error == Error::Ok) error = done.buffer.store();
      return true;
    });
    return error;
  }

  int ranks_ = 0;
  std::unique_ptr<detail::MpiExposed[]> exposed_;  // one for each rank
  std::unique_ptr<detail::MpiKept> kept_;
  detail::MpiHandle<MPI_Win, &MPI_Win_free> window_;  // destroyed first
};

}  // namespace mpi
TENON_END_NAMESPACE
