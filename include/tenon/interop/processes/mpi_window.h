// SPDX-License-Identifier: MIT
// Window: a tensor's memory, which other ranks read and write.
#pragma once

#include <forward_list>
#include <memory>

#include "tenon/interop/processes/mpi_buffer.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// A rank's part of a window. Plain numbers that MPI can send.
struct MpiExposed {
  int64_t error;  // of the rank's tensor
  int64_t type;
  int64_t reach;   // elements from the lowest to the highest one
  int64_t offset;  // bytes before the lowest one
};

/// An operation whose tensor MPI may still read or write.
struct MpiAccess {
  int target;
  MpiBuffer buffer;
  MemoryHold hold;
};

/// Objects that a window keeps until MPI has freed it.
struct MpiKept {
  MemoryHold hold;
  std::forward_list<MpiAccess> accesses;
};

}  // namespace detail

namespace mpi {

class Communicator;

/// Whether others may hold the lock of a target at the same time.
enum class Lock : uint8_t {
  Exclusive,  ///< no other rank holds it
  Shared,     ///< others may hold it, to read or accumulate
};

/// The tensors of all ranks, each with its own dtype and sizes, as memory that every rank reads and
/// writes. Made by Communicator::window(). It can be moved, but not assigned to.
///
/// Call put(), get() and accumulate() between two calls of fence(), which all ranks call, or
/// between lock() and unlock() of the target. They are done when fence(), unlock() or flush()
/// returns Ok; until then the tensor must not be changed, and that of a get() must not be read.
/// Shapes and units: a displacement counts the target's elements, from its lowest one. The tensor's
/// elements are consecutive there, in row-major order.
/// Ownership: keeps the window's tensor alive, and the tensors of operations until these are done;
/// none of them can grow or be deallocated meanwhile. (The caller keeps memory alive that was lent
/// by raw pointer.) Destroying it is collective, as MPI_Win_free is, and must be outside of lock():
/// inside, or with operations that are not done, MPICH does not free the window, and the tensors
/// are leaked. Destroy it before MPI_Finalize, in which MPICH ends a program that has a window;
/// later its destruction does nothing.
/// Errors: as Communicator's; OutOfBounds for an access beyond the target's memory, InvalidType for
/// a tensor of another dtype than the target's, InvalidState from MPI outside of fence() and
/// lock().
/// Threads: one thread at a time.
/// Source: MPI_Win_create; mpi4py.MPI.Win.
class Window {
 public:
  Window(Window&&) noexcept = default;
  ~Window() {
    // MPICH frees no window within fence() or lock(): memory that it may still access is leaked.
    if (!window_.free()) static_cast<void>(kept_.release());
  }
  /// MPI_WIN_NULL after it was moved from.
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
  /// atomically, so that several ranks may call this at once, all with the same Op.
  /// Errors: NotSupported for Half, BFloat16, Float8 and ComplexHalf, for which MPI has no
  /// operations; InvalidType for Min and Max of complex elements.
  /// Source: MPI_Accumulate.
  Error accumulate(ConstTensorArg t, int target, int64_t displacement = 0,
                   Op op = Op::Sum) noexcept {
    return detail::add_context_if("accumulate",
                                  access(Kind::Accumulate, t, target, displacement, op));
  }

  /// Collective: ends the operations of all ranks, and begins the next epoch.
  /// Source: MPI_Win_fence.
  Error fence() noexcept { return detail::add_context_if("fence", end(kAll, &MPI_Win_fence)); }
  /// Begins an epoch for the target alone.
  /// Source: MPI_Win_lock.
  Error lock(int target, Lock kind = Lock::Exclusive) noexcept {
    const int how = kind == Lock::Shared ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE;
    Error error = check_target(target);
    if (error == Error::Ok) error = detail::check_mpi(MPI_Win_lock(how, target, 0, window_.get()));
    return detail::add_context_if("lock", error);
  }
  /// Ends it: all operations on the target are done.
  /// Source: MPI_Win_unlock.
  Error unlock(int target) noexcept {
    return detail::add_context_if("unlock", end(target, &MPI_Win_unlock));
  }
  /// Ends the operations on the target, which stays locked.
  /// Source: MPI_Win_flush.
  Error flush(int target) noexcept {
    return detail::add_context_if("flush", end(target, &MPI_Win_flush));
  }

 private:
  friend class Communicator;
  enum class Kind : uint8_t { Put, Get, Accumulate };
  static constexpr int kAll = -1;

  Window() noexcept = default;

  /// Collective. If one rank's tensor is refused, all ranks get the error.
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
  /// Keeps this rank's tensor, and describes its memory, which begins at `base`.
  Error expose(const TensorArg& t, detail::MpiExposed& mine, char*& base) noexcept {
    detail::MemoryLocation location;
    TENON_TRY(detail::find_destination(t, "the tensor", location));
    if (location.backend != nullptr) {
      return detail::fail_reach("the tensor", location.view.device,
                                "; a window is the host's memory");
    }
    const detail::TensorFields& f = detail::fields(t);
    const OffsetRange& offsets = f.layout.offsets;
    mine.type = static_cast<int64_t>(f.type);
    mine.reach = offsets.max - offsets.min + 1;
    base = static_cast<char*>(f.data) + offsets.min * static_cast<int64_t>(elementSize(f.type));
    // MPICH 4.0 on UCX takes an address that is a multiple of 16 bytes lower for the window's
    // start.
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
                          ", the target's is ", static_cast<detail::ScalarType>(exposed.type));
    }
    if (here.numel == 0) return Error::Ok;
    if (displacement < 0 || displacement > exposed.reach - here.numel) {
      return detail::fail(Error::OutOfBounds, here.numel, " elements from displacement ",
                          displacement, " leave the memory of rank ", target, ", which has ",
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

  /// Ends the operations on one target or on all, by the given function, and releases their
  /// tensors. A fence takes assertions (none here) instead of a target.
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
