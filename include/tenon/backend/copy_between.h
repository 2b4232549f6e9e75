// SPDX-License-Identifier: MIT
// CopyingState: copies between memories of which the host cannot reach one or both, by a backend
// that can, as blocks, or through the host; CopyingState::copy() has the order.
#pragma once

#include "tenon/backend/calls.h"
#include "tenon/backend/interface.h"
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
    if (memory_.base == nullptr) {
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
TENON_TEMPLATE_INLINE Error copy_block_between(Backend* dst_backend, void* dst,
                                               Backend* src_backend, const void* src,
                                               size_t nbytes) noexcept {
  if (src_backend == nullptr) return upload(*dst_backend, dst, src, nbytes);
  if (dst_backend == nullptr) return download(*src_backend, dst, src, nbytes);
  if (dst_backend == src_backend) {
    return call_backend(*dst_backend, "copy_within",
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
  /// Puts host memory in place of one side. A source's elements are fetched; a destination's gaps
  /// are, so that storing the whole range keeps them. The plan is to be finished then.
  TENON_TEMPLATE_INLINE Error begin(CopyPlan& plan, bool is_source, Backend& backend) noexcept {
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
  TENON_TEMPLATE_INLINE Error store() noexcept { return move(false); }

 private:
  /// Copies to the buffer, or from it: at once where the backend does that, else run by run.
  TENON_TEMPLATE_INLINE Error move(bool fetch) noexcept {
    int64_t run = static_cast<int64_t>(runs_.unit);
    size_t inner = 0;
    for (; inner < runs_.rank && runs_.dims[inner].src_stride == run; ++inner) {
      run *= runs_.dims[inner].size;
    }
    // A backend on the CPU could not tell the host's memory from its own.
    if (inner < runs_.rank && !backend_->device().is_cpu()) {
      TensorView host{buffer_.data(), public_type(ScalarType::Byte), Device(), {}, {}};
      TensorView remote{
          const_cast<void*>(runs_.src), public_type(ScalarType::Byte), backend_->device(), {}, {}};
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
      if (call_optional(*backend_, "copy", error, [&] {
            return fetch ? backend_->copy(host, remote, CastMode::Checked)
                         : backend_->copy(remote, host, CastMode::Checked);
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
  // The innermost dimension first. `src` is the backend's side, also when that is written.
  CopyPlan runs_;
};

/// Does what a plan says through host memory.
TENON_TEMPLATE_INLINE Error run_through_host(CopyPlan& plan, Backend* dst, Backend* src,
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
TENON_TEMPLATE_INLINE Error broadcast_to(const Dims& sizes, TensorView& view) noexcept {
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

/// Room in host memory for the elements of a view, row-major.
TENON_TEMPLATE_INLINE Error make_host_location(const TensorView& like, HostBuffer& buffer,
                                               MemoryLocation& here) noexcept {
  Layout dense;
  TENON_TRY(make_layout({like.sizes}, elementSize(own_type(like.type)), dense));
  TENON_TRY(buffer.allocate(static_cast<size_t>(dense.numel) * elementSize(own_type(like.type))));
  here.view = {buffer.data(), like.type, Device(), like.sizes, dense.strides()};
  return check_lists(here.view);
}

/// Whether the source may have elements where the destination has some.
inline bool may_touch(const MemoryLocation& to, const MemoryLocation& from) noexcept {
  if (to.backend != from.backend) return false;  // whose addresses are not this one's
  for (const int64_t size : to.view.sizes) {
    if (size == 0) return false;  // strides may be too large to multiply
  }
  return touch(byte_range(to.view), byte_range(from.view));
}

/// The state of a backend that is more than host memory.
/// A template: else it is compiled with the include. tenon::compiled has it, see compiled.h.
template <class T>
struct CopyingState final : MemoryState<T> {
  using BackendState::backend;
  using BackendState::base;
  using BackendState::device;
  using BackendState::opaque;

  CopyingState() noexcept { this->may_fill = true; }

  /// Copies elements between locations that may overlap, at least one of them a backend's, in the
  /// first way that applies:
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
  Error copy(const MemoryLocation& to, const MemoryLocation& from, CastMode mode,
             CastFunction cast) noexcept override {
    CopyPlan plan;
    plan_elements(plan, to.view, from.view, mode);
    if (plan.kind == CopyKind::Alias) return Error::Ok;
    const bool is_one = to.backend == from.backend;
    if (may_touch(to, from)) {
      return run_through_host(plan, to.backend, from.backend, cast);
    }
    const bool is_block = plan.kind == CopyKind::Memcpy;
    const bool are_two = !is_one && to.backend != nullptr && from.backend != nullptr;
    // copy() would take another backend's memory on the CPU for the host's.
    const bool is_hidden = are_two && (to.view.device.is_cpu() || from.view.device.is_cpu());
    const bool may_copy = is_one || (to.view.device != from.view.device && !is_hidden);
    if (are_two || (!is_block && may_copy)) {
      TensorView source = from.view;
      TENON_TRY(broadcast_to(to.view.sizes, source));
      const TensorView& out = to.view;
      const TensorView& in = source;
      Backend* const backends[] = {to.backend, is_one ? nullptr : from.backend};
      Error error = Error::Ok;
      if (are_two) {
        for (int i = 0; i < 2; ++i) {
          DeviceBackend* const device_backend = backends[i]->as_device();
          if (device_backend != nullptr &&
              call_optional(*device_backend, "copy_between", error, [&] {
                return device_backend->copy_between(out, in, mode, *backends[1 - i]);
              })) {
            return error;
          }
        }
      }
      if (may_copy) {
        for (Backend* asked : backends) {
          if (asked != nullptr &&
              call_optional(*asked, "copy", error, [&] { return asked->copy(out, in, mode); })) {
            return error;
          }
        }
      }
    }
    return is_block ? copy_block_between(to.backend, plan.dst, from.backend, plan.src, plan.nbytes)
                    : run_through_host(plan, to.backend, from.backend, cast);
  }

  Error fill(void* data, ScalarType type, const Layout& layout, int64_t count,
             const char* operation, FillByBackend by_backend,
             FillByHost by_host) noexcept override {
    if (count == 0 || device.type() == DeviceType::Meta) return Error::Ok;
    const bool is_host_accessible = device.is_host_accessible() && !opaque;
    MemoryLocation out{
        {data, public_type(type), device, {}, {}}, is_host_accessible ? nullptr : base, this};
    if (layout.numel == count) {
      out.view.sizes = layout.sizes();
      out.view.strides = layout.strides();
    } else {
      out.view.sizes = {count};
      out.view.strides = {1};
    }
    TENON_TRY(check_lists(out.view));
    Error error = Error::Ok;
    if (by_backend &&
        call_optional(*base, operation, error, [&] { return by_backend(*base, out.view); })) {
      return error;
    }
    if (is_host_accessible) return by_host(out.view);
    HostBuffer buffer;
    MemoryLocation here;
    TENON_TRY(make_host_location(out.view, buffer, here));
    TENON_TRY(by_host(here.view));
    return copy(out, here, CastMode::Checked, nullptr);
  }

  Error copy_within(void* dst, const void* src, size_t nbytes) noexcept override {
    return call_backend(*base, "copy_within", [&] { return base->copy_within(dst, src, nbytes); });
  }

  Error check_memory(const void* data, ScalarType type, const Layout& layout) noexcept override {
    if (data == nullptr || layout.numel == 0) return Error::Ok;
    const size_t size = elementSize(type);
    const size_t below = (uintptr_t{0} - static_cast<uintptr_t>(layout.offsets.min)) * size;
    const size_t nbytes = below + static_cast<uintptr_t>(layout.offsets.max + 1) * size;
    // As integers: it is not known yet that there is memory.
    const auto address = reinterpret_cast<uintptr_t>(data);
    if (below > address || nbytes > UINTPTR_MAX - (address - below)) {
      return fail(Error::InvalidArgument, "sizes ", layout.sizes(), " and strides ",
                  layout.strides(), " lead out of the address space");
    }
    DeviceBackend* const device_backend = backend->as_device();
    if (device_backend == nullptr) return Error::Ok;
    const void* const lowest = static_cast<const char*>(data) - below;
    return call_backend(*device_backend, "check_memory",
                        [&] { return device_backend->check_memory(lowest, nbytes); });
  }
};

/// Calls CopyingState::copy(), which a program without such a backend does not link.
TENON_TEMPLATE_INLINE Error copy_by_backend(const MemoryLocation& to, const MemoryLocation& from,
                                            CastMode mode, CastFunction cast) noexcept {
  BackendState& state = *(to.backend != nullptr ? to : from).state;
  return state.copy(to, from, mode, cast);
}
/// Copies elements whose checks are done, by the host or by a backend; the source is broadcast.
/// Memory of the host's does not overlap, and the destination's elements are distinct. `cast` may
/// be null where the types are equal. copy_checked() does the checks, and allows overlap.
TENON_TEMPLATE_INLINE Error copy(const MemoryLocation& to, const MemoryLocation& from,
                                 CastMode mode, CastFunction cast) noexcept {
  if (to.backend != nullptr || from.backend != nullptr) {
    return copy_by_backend(to, from, mode, cast);
  }
  copy_elements(to.view, from.view, mode, cast);
  return Error::Ok;
}
/// copy() between elements of one type.
TENON_TEMPLATE_INLINE Error copy(const MemoryLocation& to, const MemoryLocation& from) noexcept {
  return copy(to, from, CastMode::Checked, nullptr);
}
/// copy() between elements of one type and equal sizes, without the plan's 2 KB on bare metal.
TENON_TEMPLATE_INLINE Error copy_alike(const MemoryLocation& to,
                                       const MemoryLocation& from) noexcept {
  if (to.backend != nullptr || from.backend != nullptr) {
    return copy_by_backend(to, from, CastMode::Checked, nullptr);
  }
  copy_same_type(to.view, from.view);
  return Error::Ok;
}

}  // namespace detail
TENON_END_NAMESPACE
