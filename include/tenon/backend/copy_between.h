// SPDX-License-Identifier: MIT
// Copies between memories of which the host cannot reach one or both: as blocks where they lie
// alike, else by a backend that can, else through the host.
#pragma once

#include "tenon/backend/calls.h"
#include "tenon/backend/device_backend.h"
#include "tenon/core/layout.h"
#include "tenon/kernels/copy_elements.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// Host memory for the length of a copy.
class HostBuffer {
 public:
  HostBuffer() noexcept = default;
  HostBuffer(const HostBuffer&) = delete;
  HostBuffer& operator=(const HostBuffer&) = delete;
  ~HostBuffer() { heap_release(memory_.base); }

  Error allocate(size_t nbytes) noexcept {
    memory_ = detail::allocate(nbytes);
    if (TENON_UNLIKELY(memory_.base == nullptr)) {
      return fail(Error::OutOfMemory, TENON_OUT_OF_MEMORY " for a temporary of ", nbytes, " bytes");
    }
    return Error::Ok;
  }
  char* data() const noexcept { return static_cast<char*>(memory_.data); }

 private:
  Allocation memory_{nullptr, nullptr};
};

/// Larger copies from one backend to another through the host go in pieces of this size.
inline constexpr size_t kTransferPiece = size_t{4} << 20;

/// Copies bytes between two ranges that do not overlap, at least one of them a backend's.
TENON_LAZY Error copy_block_between(Backend* dst_backend, void* dst, Backend* src_backend,
                                    const void* src, size_t nbytes) noexcept {
  if (src_backend == nullptr) return upload(*dst_backend, dst, src, nbytes);
  if (dst_backend == nullptr) return download(*src_backend, dst, src, nbytes);
  if (dst_backend == src_backend) {
    return ask(*dst_backend, "copy_within",
               [&] { return dst_backend->copy_within(dst, src, nbytes); });
  }
  HostBuffer piece;
  TENON_TRY(piece.allocate(nbytes < kTransferPiece ? nbytes : kTransferPiece));
  for (size_t done = 0; done < nbytes;) {
    const size_t n = nbytes - done < kTransferPiece ? nbytes - done : kTransferPiece;
    TENON_TRY(download(*src_backend, piece.data(), static_cast<const char*>(src) + done, n));
    TENON_TRY(upload(*dst_backend, static_cast<char*>(dst) + done, piece.data(), n));
    done += n;
  }
  return Error::Ok;
}

/// A plan's source, or its destination, in a backend's memory, on its way through the host's.
class HostSide {
 public:
  /// Gives the side host memory, which has the elements, if it is the source, and else what lies
  /// between them. The plan is to be finished then.
  TENON_LAZY Error begin(CopyPlan& plan, bool is_source, Backend& backend) noexcept {
    backend_ = &backend;
    const auto stride = is_source ? &CopyPlan::Dim::src_stride : &CopyPlan::Dim::dst_stride;
    const int64_t unit = is_source ? source_unit(plan) : static_cast<int64_t>(plan.unit);
    int64_t low = 0;
    int64_t high = unit;
    int64_t dense = unit;
    int64_t run = unit;  // the bytes that are consecutive, along the inner dimensions
    for (size_t d = plan.rank; d-- > 0;) {
      const CopyPlan::Dim& dim = plan.dims[d];
      const int64_t reach = (dim.size - 1) * dim.*stride;
      (reach < 0 ? low : high) += reach;
      if (dim.*stride != 0) dense *= dim.size;
      if (dim.*stride == run) run *= dim.size;
    }
    const int64_t whole = high - low;
    // Many short runs cost more than the bytes between them, unless there are many more of those.
    constexpr int64_t kFewRuns = 16;
    constexpr int64_t kLongRun = 4096;
    if (whole > dense && (dense <= kFewRuns * run || run >= kLongRun || whole / 64 > dense)) {
      TENON_TRY(buffer_.allocate(static_cast<size_t>(dense)));
      detach(plan, is_source, buffer_.data(), runs_);
      return is_source ? move(true) : Error::Ok;
    }
    TENON_TRY(buffer_.allocate(static_cast<size_t>(whole)));
    char* const here = buffer_.data() - low;
    const void* there = nullptr;
    if (is_source) {
      there = std::exchange(plan.src, here);
    } else {
      there = std::exchange(plan.dst, here);
    }
    runs_.src = static_cast<const char*>(there) + low;  // one run
    runs_.unit = runs_.nbytes = static_cast<size_t>(whole);
    return is_source || whole > dense ? move(true) : Error::Ok;
  }
  /// Stores the elements of a destination.
  TENON_LAZY Error store() noexcept { return move(false); }

 private:
  /// Copies to the buffer, or from it: at once where the backend does that, else run by run.
  TENON_LAZY Error move(bool fetch) noexcept {
    int64_t run = static_cast<int64_t>(runs_.unit);
    size_t inner = 0;
    for (; inner < runs_.rank && runs_.dims[inner].src_stride == run; ++inner) {
      run *= runs_.dims[inner].size;
    }
    // A backend on the CPU could not tell the host's memory from its own.
    if (inner < runs_.rank && !backend_->device().is_cpu()) {
      TensorView host{buffer_.data(), ScalarType::Byte, Device(), {}, {}};
      TensorView remote{const_cast<void*>(runs_.src), ScalarType::Byte, backend_->device(), {}, {}};
      for (size_t d = runs_.rank; d-- > inner;) {
        host.sizes.push_back(runs_.dims[d].size);
        host.strides.push_back(runs_.dims[d].dst_stride);
        remote.strides.push_back(runs_.dims[d].src_stride);
      }
      host.sizes.push_back(run);
      host.strides.push_back(1);
      remote.strides.push_back(1);
      remote.sizes = host.sizes;
      TENON_TRY(check_lists(host));
      TENON_TRY(check_lists(remote));
      Error error = Error::Ok;
      if (ask_optional(*backend_, "copy", error, [&] {
            return fetch
                       ? backend_->copy(public_view(host), public_view(remote), CastMode::Checked)
                       : backend_->copy(public_view(remote), public_view(host), CastMode::Checked);
          })) {
        return error;
      }
    }
    ptrdiff_t index[kMaxLongDims] = {};
    char* there = static_cast<char*>(const_cast<void*>(runs_.src));
    for (size_t done = 0; done < runs_.nbytes; done += static_cast<size_t>(run)) {
      char* const here = buffer_.data() + done;
      TENON_TRY(fetch ? download(*backend_, here, there, static_cast<size_t>(run))
                      : upload(*backend_, there, here, static_cast<size_t>(run)));
      for (size_t d = inner; d < runs_.rank; ++d) {
        const CopyPlan::Dim& dim = runs_.dims[d];
        there += dim.src_stride;
        if (++index[d] < dim.size) break;
        index[d] = 0;
        there -= dim.size * dim.src_stride;
      }
    }
    return Error::Ok;
  }

  Backend* backend_ = nullptr;
  HostBuffer buffer_;
  CopyPlan runs_;  // what to copy from the backend's memory, the innermost dimension first
};

/// Does what a plan says through host memory.
TENON_COMPILED_ONCE Error run_through_host(CopyPlan& plan, Backend* dst, Backend* src,
                                           CastFunction cast) noexcept {
  HostSide from;
  if (src != nullptr) TENON_TRY(from.begin(plan, true, *src));
  HostSide to;
  if (dst != nullptr) TENON_TRY(to.begin(plan, false, *dst));
  finish_plan(plan);
  run_plan(plan, cast);
  return dst != nullptr ? to.store() : Error::Ok;
}

/// Gives `view` the sizes that it is to be broadcast to: strides of 0 where it has a size of 1.
TENON_LAZY Error broadcast_to(const Dims& sizes, TensorView& view) noexcept {
  TENON_TRY(check_lists(view));
  Dims strides = sizes;
  TENON_TRY(check_dims("strides", strides));
  const size_t leading = sizes.size() - view.sizes.size();
  for (size_t d = 0; d < sizes.size(); ++d) {
    strides[d] = d < leading || view.sizes[d - leading] == 1 ? 0 : view.strides[d - leading];
  }
  view.strides = std::move(strides);
  view.sizes = sizes;
  return check_dims("sizes", view.sizes);
}

/// Copies elements between locations that may overlap, at least one of them a backend's, the first
/// way that applies:
///
///     no elements                                 nothing
///     overlapping in one backend's memory         through the host
///     a block, from the host or to it             copy_from_host(), copy_to_host()
///     a block, in one backend's memory            copy_within()
///     of two backends                             copy_between() of the destination's, or of
///                                                 the source's, if one of them does it
///     in one's memory, or of different devices    copy() of the destination's backend, or of the
///                                                 source's, if one of them does it
///     a block, from one backend to another        through the host, in pieces
///     all else                                    through the host
TENON_COMPILED_ONCE Error copy_with_backend(const MemoryLocation& to, const MemoryLocation& from,
                                            CastMode mode, CastFunction cast) noexcept {
  CopyPlan plan;
  plan_elements(plan, to.view, from.view, mode);
  if (plan.kind == CopyKind::Alias) return Error::Ok;
  const bool is_one = to.backend == from.backend;
  if (is_one && touch(byte_range(to.view), byte_range(from.view))) {
    return run_through_host(plan, to.backend, from.backend, cast);
  }
  const bool is_block = plan.kind == CopyKind::Memcpy;
  const bool are_two = !is_one && to.backend != nullptr && from.backend != nullptr;
  const bool may_copy = is_one || to.view.device != from.view.device;
  if (are_two || (!is_block && may_copy)) {
    TensorView source = from.view;
    TENON_TRY(broadcast_to(to.view.sizes, source));
    const tenon::TensorView& out = public_view(to.view);
    const tenon::TensorView& in = public_view(source);
    Backend* const backends[] = {to.backend, is_one ? nullptr : from.backend};
    Error error = Error::Ok;
    if (are_two) {
      for (int i = 0; i < 2; ++i) {
        DeviceBackend* const backend = backends[i]->as_device();
        if (backend != nullptr && ask_optional(*backend, "copy_between", error, [&] {
              return backend->copy_between(out, in, mode, *backends[1 - i]);
            })) {
          return error;
        }
      }
    }
    if (may_copy) {
      for (Backend* backend : backends) {
        if (backend != nullptr &&
            ask_optional(*backend, "copy", error, [&] { return backend->copy(out, in, mode); })) {
          return error;
        }
      }
    }
  }
  return is_block ? copy_block_between(to.backend, plan.dst, from.backend, plan.src, plan.nbytes)
                  : run_through_host(plan, to.backend, from.backend, cast);
}

/// Calls copy_with_backend(), which a program without backends does not link.
inline Error copy_by_backend(const MemoryLocation& to, const MemoryLocation& from, CastMode mode,
                             CastFunction cast) noexcept {
  const Backend& mover = *(to.backend != nullptr ? to.backend : from.backend);
  return BackendAccess::hooks(mover).copy(to, from, mode, cast);
}
/// The copy that every function ends in. Copies elements, by the host or by a backend; the source
/// is broadcast. Memory of the host's does not overlap, and the destination's elements are
/// distinct. `cast` may be null where the types are equal.
inline Error copy(const MemoryLocation& to, const MemoryLocation& from, CastMode mode,
                  CastFunction cast) noexcept {
  if (TENON_UNLIKELY(to.backend != nullptr || from.backend != nullptr)) {
    return copy_by_backend(to, from, mode, cast);
  }
  copy_elements(to.view, from.view, mode, cast);
  return Error::Ok;
}
/// copy() between elements of one type.
inline Error copy(const MemoryLocation& to, const MemoryLocation& from) noexcept {
  return copy(to, from, CastMode::Checked, nullptr);
}
/// copy() between elements of one type and equal sizes, without the plan's 2 KB on bare metal.
inline Error copy_alike(const MemoryLocation& to, const MemoryLocation& from) noexcept {
  if (TENON_UNLIKELY(to.backend != nullptr || from.backend != nullptr)) {
    return copy_by_backend(to, from, CastMode::Checked, nullptr);
  }
  copy_same_type(to.view, from.view);
  return Error::Ok;
}

/// Room in host memory for the elements of a view, row-major.
TENON_LAZY Error make_host_location(const TensorView& like, HostBuffer& buffer,
                                    MemoryLocation& here) noexcept {
  Layout dense;
  TENON_TRY(Layout::dense(like.sizes, nullptr, elementSize(like.type), dense));
  TENON_TRY(buffer.allocate(static_cast<size_t>(dense.numel) * elementSize(like.type)));
  here.view = {buffer.data(), like.type, Device(), like.sizes, dense.strides()};
  return check_lists(here.view);
}

/// Makes values: `ask(backend, out)` is the backend's way, and where it has none `make(out)`, which
/// writes to host memory, the library's.
TENON_COMPILED_ONCE Error
produce_elements(Backend* asked, const MemoryLocation& out, const char* operation,
                 FunctionRef<Error(Backend&, const tenon::TensorView&)> ask,
                 FunctionRef<Error(const TensorView&)> make) noexcept {
  Error error = Error::Ok;
  if (asked != nullptr && ask &&
      ask_optional(*asked, operation, error, [&] { return ask(*asked, public_view(out.view)); })) {
    return error;
  }
  if (out.backend == nullptr) return make(out.view);
  HostBuffer buffer;
  MemoryLocation here;
  TENON_TRY(make_host_location(out.view, buffer, here));
  TENON_TRY(make(here.view));
  return copy_with_backend(out, here, CastMode::Checked, nullptr);
}

/// Copies bytes inside of the memory that `backend` hands out.
TENON_LAZY Error copy_within_base(Backend& backend, void* dst, const void* src,
                                  size_t nbytes) noexcept {
  return copy_block_between(&backend.base(), dst, &backend.base(), src, nbytes);
}

/// Writes new memory from the element at `first` on: `element` to all `count` elements or, where
/// that is null, those that `make(data)` writes to host memory.
TENON_COMPILED_ONCE Error write_row(Backend& backend, MemoryLocation&& first, int64_t count,
                                    const void* element, FunctionRef<Error(void*)> make) noexcept {
  if (count == 0) return Error::Ok;
  first.view.sizes = {count};
  first.view.strides = {1};
  const auto write = [&](const TensorView& out) noexcept { return make(out.data); };
  const auto ask = [&](Backend& asked, const tenon::TensorView& out) {
    return asked.constant(out, element);
  };
  return produce_elements(element == nullptr ? nullptr : &backend.base(), first, "constant", ask,
                          write);
}

/// Has a DeviceBackend check memory that came as a pointer.
TENON_LAZY Error ask_check_memory(Backend& backend, const void* lowest, size_t nbytes) noexcept {
  DeviceBackend* const device = backend.as_device();
  if (device == nullptr) return Error::Ok;
  return ask(*device, "check_memory", [&] { return device->check_memory(lowest, nbytes); });
}

/// T makes it dependent: else it is compiled with the include.
template <class T = void>
TENON_EXPORT inline constexpr BackendHooks kAllHooks{
    &known_state,          &known_metadata,         &allocate_from,
    &release_to,           &allocate_metadata_from, &release_metadata_to,
    &produce_elements<T>,  &copy_within_base<T>,    &write_row<T>,
    &copy_with_backend<T>, &ask_check_memory<T>};

template <class T = void>  // as above
void enlist_all(Backend& backend) noexcept {
  if (BackendAccess::has_hooks(backend) && BackendAccess::hooks(backend).copy != nullptr) return;
  const BackendState* const state = BackendAccess::state(backend);
  if (state == nullptr || state->find() != nullptr) {  // one that it wraps may be gone
    BackendAccess::set_hooks(backend.base(), &kAllHooks<T>);
  }
  BackendAccess::set_hooks(backend, &kAllHooks<T>);
}
/// Gives a backend what tensors in its memory need. Called in templates, where a program names a
/// backend, so that what has no backend does not compile it.
template <class B>
void enlist(B& backend) noexcept {
  if constexpr (is_host_memory_only_v<B>) {
    BackendAccess::set_first_hooks(backend, &kMemoryHooks);
  } else {
    enlist_all<>(backend);
  }
}

}  // namespace detail
TENON_END_NAMESPACE
