// SPDX-License-Identifier: MIT
// CopyingState: copies elements where the host cannot access one or both memories. A backend copies
// them, or they go through host memory. CopyingState::copy() lists the cases in order.
#pragma once

#include "tenon/backend/calls.h"
#include "tenon/backend/interface.h"
#include "tenon/kernels/copy_elements.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// A temporary host buffer of a copy.
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

/// The piece size of copies from one backend to another through the host.
inline constexpr size_t kTransferPiece = size_t{4} << 20;

/// Copies bytes between two ranges that do not overlap. At least one range is in a backend's
/// memory.
TENON_TEMPLATE_INLINE Error copy_bytes_between(Backend* dst_backend, void* dst,
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

/// Stages one side of a plan, source or destination, in host memory.
class HostSide {
 public:
  /// Replaces one side by host memory. Fetches the elements of a source, and the whole range of a
  /// destination with gaps, since store() writes the gaps too. The caller then finishes the plan.
  TENON_TEMPLATE_INLINE Error begin(ElementPlan& plan, bool is_source, Backend& backend) noexcept {
    backend_ = &backend;
    const auto stride = is_source ? &ElementPlan::Dim::src_stride : &ElementPlan::Dim::dst_stride;
    const int64_t unit = is_source ? source_unit(plan) : static_cast<int64_t>(plan.unit);
    int64_t low = 0;
    int64_t high = unit;
    int64_t dense = unit;
    int64_t run = unit;  // consecutive bytes, along the inner dimensions
    for (size_t d = plan.rank; d-- > 0;) {
      const ElementPlan::Dim& dim = plan.dims[d];
      const int64_t reach = (dim.size - 1) * dim.*stride;
      (reach < 0 ? low : high) += reach;
      if (dim.*stride != 0) dense *= dim.size;
      if (dim.*stride == run) run *= dim.size;
    }
    const int64_t whole = high - low;
    // Copying the gaps too is faster than many short runs, unless the gaps are much larger.
    constexpr int64_t kFewRuns = 16;
    constexpr int64_t kLongRun = 4096;
    if (whole > dense && (dense <= kFewRuns * run || run >= kLongRun || whole / 64 > dense)) {
      TENON_TRY(buffer_.allocate(static_cast<size_t>(dense)));
      stage_side(plan, is_source, buffer_.data(), runs_);
      return is_source ? fetch() : Error::Ok;
    }
    TENON_TRY(buffer_.allocate(static_cast<size_t>(whole)));
    char* const here = buffer_.data() - low;
    const void* there = nullptr;
    if (is_source) {
      there = std::exchange(plan.src, here);
    } else {
      there = std::exchange(plan.dst, here);
    }
    runs_.dst = buffer_.data();
    runs_.src = static_cast<const char*>(there) + low;  // the whole range is one run
    runs_.unit = runs_.nbytes = static_cast<size_t>(whole);
    return is_source || whole > dense ? fetch() : Error::Ok;
  }
  /// Stores the elements of a destination.
  TENON_TEMPLATE_INLINE Error store() noexcept { return transfer(false); }

 private:
  TENON_TEMPLATE_INLINE Error fetch() noexcept { return transfer(true); }
  /// Copies to or from the buffer: in one call if the backend can, else run by run.
  TENON_TEMPLATE_INLINE Error transfer(bool to_host) noexcept {
    auto run = static_cast<int64_t>(runs_.unit);
    size_t outer = runs_.rank;  // dimensions around a run
    while (outer > 0 && runs_.dims[outer - 1].src_stride == run) run *= runs_.dims[--outer].size;
    // A backend on the CPU could not tell host memory from memory of its own device.
    if (outer > 0 && !backend_->device().is_cpu()) {
      int64_t sizes[kMaxLongDims + 1];
      int64_t here[kMaxLongDims + 1];
      int64_t there[kMaxLongDims + 1];
      for (size_t d = 0; d < outer; ++d) {
        sizes[d] = runs_.dims[d].size;
        here[d] = runs_.dims[d].dst_stride;
        there[d] = runs_.dims[d].src_stride;
      }
      sizes[outer] = run;
      here[outer] = there[outer] = 1;
      const auto byte = public_type(ScalarType::Byte);
      const size_t rank = outer + 1;
      const TensorView host{runs_.dst, byte, Device(), {sizes, rank}, {here, rank}};
      const TensorView remote{
          const_cast<void*>(runs_.src), byte, backend_->device(), {sizes, rank}, {there, rank}};
      Error error = Error::Ok;
      if (call_optional(*backend_, "copy", error, [&] {
            return to_host ? backend_->copy(host, remote, CastMode::Checked)
                           : backend_->copy(remote, host, CastMode::Checked);
          })) {
        return error;
      }
    }
    BlockWalk at(runs_, runs_.rank - outer);
    do {
      char* const here = at.plane.out;
      auto* const there = const_cast<char*>(at.plane.in);
      TENON_TRY(to_host ? download(*backend_, here, there, static_cast<size_t>(run))
                        : upload(*backend_, there, here, static_cast<size_t>(run)));
    } while (at.next());
    return Error::Ok;
  }

  Backend* backend_ = nullptr;
  HostBuffer buffer_;
  // `src` is the backend's side, even if it is written.
  ElementPlan runs_;
};

/// Executes a plan through host memory.
TENON_TEMPLATE_INLINE Error run_through_host(ElementPlan& plan, Backend* dst, Backend* src,
                                             CastFunction cast) noexcept {
  HostSide from;
  if (src != nullptr) TENON_TRY(from.begin(plan, true, *src));
  HostSide to;
  if (dst != nullptr) TENON_TRY(to.begin(plan, false, *dst));
  finish_plan(plan);
  run_plan(plan, cast);
  return dst != nullptr ? to.store() : Error::Ok;
}

/// `view` broadcast to `sizes`: stride 0 where its size is 1.
TENON_TEMPLATE_INLINE Error broadcast_to(ArrayRef<int64_t> sizes, const TensorView& view,
                                         ViewWithLists& out) noexcept {
  out = {view.data, view.type, view.device, sizes, sizes};
  TENON_TRY(check_lists(out));
  const size_t leading = sizes.size() - view.sizes.size();
  for (size_t d = 0; d < sizes.size(); ++d) {
    out.strides[d] = d < leading || view.sizes[d - leading] == 1 ? 0 : view.strides[d - leading];
  }
  return Error::Ok;
}

/// A temporary of row-major elements in host memory, with a view's type and sizes.
class HostElements {
 public:
  TENON_TEMPLATE_INLINE Error make(const TensorView& like) noexcept {
    const size_t size = elementSize(own_type(like.type));
    TENON_TRY(layout_.make_row_major(like.sizes, size));
    TENON_TRY(buffer_.allocate(static_cast<size_t>(layout_.numel) * size));
    location.view = {buffer_.data(), like.type, Device(), layout_.sizes(), layout_.strides()};
    return Error::Ok;
  }
  MemoryLocation location;

 private:
  HostBuffer buffer_;
  Layout layout_;
};

/// The state of a backend that is not plain host memory. A template, so that a program that only
/// includes it compiles no code. tenon::compiled contains that code, see compiled.h.
template <class T>
struct CopyingState final : MemoryState<T> {
  using BackendState::backend;
  using BackendState::base;
  using BackendState::device;
  using BackendState::opaque;

  CopyingState() noexcept { this->may_fill = true; }

  /// Copies elements between locations that may overlap, at least one in a backend's memory. The
  /// first case that applies; after NotSupported, the next one:
  ///
  ///     no elements                                 nothing
  ///     overlapping in one backend's memory         through the host
  ///     one dense block, from or to the host        copy_from_host(), copy_to_host()
  ///     one dense block, in one backend's memory    copy_within()
  ///     between two backends                        copy_between() of the destination's backend,
  ///                                                 then of the source's
  ///     within one backend, or between devices      copy() of the destination's backend, then of
  ///                                                 the source's
  ///     one dense block, between two backends       through the host, in pieces
  ///     otherwise                                   through the host
  Error copy(const MemoryLocation& to, const MemoryLocation& from, CastMode mode,
             CastFunction cast) noexcept override {
    ElementPlan plan;
    plan_elements(plan, to.view, from.view, mode);
    if (plan.kind == CopyKind::Alias) return Error::Ok;
    const bool is_one = to.backend == from.backend;
    if (is_one && sides_may_overlap(plan)) {
      return run_through_host(plan, to.backend, from.backend, cast);
    }
    const bool is_block = plan.kind == CopyKind::Memcpy;
    const bool are_two = !is_one && to.backend != nullptr && from.backend != nullptr;
    // copy() would mistake another CPU backend's memory for host memory.
    const bool is_hidden = are_two && (to.view.device.is_cpu() || from.view.device.is_cpu());
    const bool may_copy = is_one || (to.view.device != from.view.device && !is_hidden);
    if (are_two || (!is_block && may_copy)) {
      // Copies of the lists: a backend may resize a tensor before it returns NotSupported.
      ViewWithLists lists[2];
      TENON_TRY(broadcast_to(to.view.sizes, from.view, lists[1]));
      TensorView out = to.view;
      TENON_TRY(copy_lists(out, lists[0]));
      const TensorView in = lists[1];
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
    return is_block ? copy_bytes_between(to.backend, plan.dst, from.backend, plan.src, plan.nbytes)
                    : run_through_host(plan, to.backend, from.backend, cast);
  }

  Error fill(void* data, ScalarType type, const Layout& layout, int64_t count,
             const char* operation, const FillByBackend& by_backend,
             const FillByHost& by_host) noexcept override {
    if (count == 0 || device.type() == DeviceType::Meta) return Error::Ok;
    const bool is_host_accessible = device.is_host_accessible() && !opaque;
    // Uses copies of the lists: the backend's code may resize the tensor.
    ViewWithLists lists{data, public_type(type), device, {count}, {1}};
    if (by_backend && layout.numel == count) {
      lists.sizes = layout.sizes();
      lists.strides = layout.strides();
    }
    TENON_TRY(check_lists(lists));
    const MemoryLocation out{lists, is_host_accessible ? nullptr : base, this};
    Error error = Error::Ok;
    if (by_backend &&
        call_optional(*base, operation, error, [&] { return by_backend(*base, out.view); })) {
      return error;
    }
    if (is_host_accessible) return by_host(out.view);
    HostElements here;
    TENON_TRY(here.make(out.view));
    TENON_TRY(by_host(here.location.view));
    return copy(out, here.location, CastMode::Checked, nullptr);
  }

  Error copy_within(void* dst, const void* src, size_t nbytes) noexcept override {
    return call_backend(*base, "copy_within", [&] { return base->copy_within(dst, src, nbytes); });
  }

  Error check_pointer(const void* data, ScalarType type, const Layout& layout) noexcept override {
    if (data == nullptr || layout.numel == 0) return Error::Ok;
    const size_t size = elementSize(type);
    const size_t below = (uintptr_t{0} - static_cast<uintptr_t>(layout.offsets.min)) * size;
    const size_t nbytes = below + static_cast<uintptr_t>(layout.offsets.max + 1) * size;
    // Compared as integers: the memory may not exist.
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

/// Calls CopyingState::copy(), which only programs with such a backend link.
TENON_TEMPLATE_INLINE Error copy_by_backend(const MemoryLocation& to, const MemoryLocation& from,
                                            CastMode mode, CastFunction cast) noexcept {
  BackendState& state = *(to.backend != nullptr ? to : from).state;
  return state.copy(to, from, mode, cast);
}
/// Copies elements, on the host or by a backend, and broadcasts the source. Unchecked: host memory
/// must not overlap, and the destination's elements must be distinct; copy_checked() checks that.
/// `cast` may be null if the types are equal.
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
/// Copies the dimensions from `d` on, in order.
TENON_TEMPLATE_INLINE void copy_from_dim(const TensorView& dst, const TensorView& src, size_t d,
                                         char* to, const char* from) noexcept {
  const auto unit = static_cast<ptrdiff_t>(elementSize(own_type(dst.type)));
  const size_t rank = dst.sizes.size();
  const int64_t size = d < rank ? dst.sizes[d] : 1;
  const auto count = static_cast<ptrdiff_t>(size);
  if (d == rank || (d + 1 == rank && dst.strides[d] == 1 && src.strides[d] == 1)) {
    std::memcpy(to, from, static_cast<size_t>(count * unit));
    return;
  }
  const ptrdiff_t dst_step = static_cast<ptrdiff_t>(dst.strides[d]) * unit;
  const ptrdiff_t src_step = static_cast<ptrdiff_t>(src.strides[d]) * unit;
  for (ptrdiff_t i = 0; i < count; ++i) {
    copy_from_dim(dst, src, d + 1, to + i * dst_step, from + i * src_step);
  }
}
/// copy() between elements of one type and equal sizes, on bare metal without the plan's 2.9 KB of
/// code: a program with a module that copies its output has to fit into 14 KB.
TENON_TEMPLATE_INLINE Error copy_alike(const MemoryLocation& to,
                                       const MemoryLocation& from) noexcept {
  if (to.backend != nullptr || from.backend != nullptr) {
    return copy_by_backend(to, from, CastMode::Checked, nullptr);
  }
  if constexpr (TENON_BARE_METAL) {
    if (to.view.data == nullptr) return Error::Ok;  // no elements
    copy_from_dim(to.view, from.view, 0, static_cast<char*>(to.view.data),
                  static_cast<const char*>(from.view.data));
  } else {
    copy_elements(to.view, from.view, CastMode::Checked, nullptr);
  }
  return Error::Ok;
}

}  // namespace detail
TENON_END_NAMESPACE
