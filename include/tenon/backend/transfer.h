// SPDX-License-Identifier: MIT Copies between memories of which the host cannot reach one or both:
// as blocks where they lie alike, else by a backend that can, else by way of the host.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <utility>

#include "tenon/backend/backend.h"
#include "tenon/backend/calls.h"
#include "tenon/config.h"
#include "tenon/core/error.h"
#include "tenon/core/layout.h"
#include "tenon/core/memory.h"
#include "tenon/core/tensor_view.h"
#include "tenon/kernels/copy.h"
#include "tenon/kernels/copy_plan.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// Memory and who moves it: null for memory that the host reads and writes.
struct Place {
  TensorView view;
  Backend* backend = nullptr;
};

/// Host memory for the length of a copy.
class HostBuffer {
 public:
  HostBuffer() noexcept = default;
  HostBuffer(const HostBuffer&) = delete;
  HostBuffer& operator=(const HostBuffer&) = delete;
  ~HostBuffer() { std::free(memory_.base); }

  Error allocate(size_t nbytes) noexcept {
    memory_ = detail::allocate(nbytes);
    if (TENON_UNLIKELY(memory_.base == nullptr)) {
      return fail(Error::OutOfMemory, {"out of memory for a temporary of ", nbytes, " bytes"});
    }
    return Error::Ok;
  }
  char* data() const noexcept { return static_cast<char*>(memory_.data); }

 private:
  Allocation memory_{nullptr, nullptr};
};

/// Above this, what goes from one backend to another by way of the host goes in pieces.
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

/// The consecutive pieces of a copy between memories of one type.
struct Runs {
  size_t nbytes;  // of one
  size_t rank;    // dimensions of the plan around one
  int64_t count;
};
TENON_LAZY Runs runs_of(const CopyPlan& plan) noexcept {
  Runs runs{plan.unit, plan.rank, 1};
  if (plan.rank != 0) {
    const CopyPlan::Dim& inner = plan.dims[plan.rank - 1];
    const auto unit = static_cast<int64_t>(plan.unit);
    if (inner.dst_stride == unit && inner.src_stride == unit) {
      runs.nbytes *= static_cast<size_t>(inner.size);
      --runs.rank;
    }
  }
  for (size_t d = 0; d < runs.rank; ++d) runs.count *= plan.dims[d].size;
  return runs;
}

/// Calls copy(dst, src, nbytes) for each.
template <class Copy>
Error for_each_run(const CopyPlan& plan, const Runs& runs, const Copy& copy) noexcept {
  int64_t index[kMaxDims] = {};
  auto* dst = static_cast<char*>(plan.dst);
  auto* src = static_cast<const char*>(plan.src);
  for (int64_t i = 0; i < runs.count; ++i) {
    TENON_TRY(copy(dst, src, runs.nbytes));
    for (size_t d = runs.rank; d-- > 0;) {
      const CopyPlan::Dim& dim = plan.dims[d];
      dst += dim.dst_stride;
      src += dim.src_stride;
      if (++index[d] < dim.size) break;
      index[d] = 0;
      dst -= dim.size * dim.dst_stride;
      src -= dim.size * dim.src_stride;
    }
  }
  return Error::Ok;
}

/// Elements of a backend's on their way through host memory.
class Staged {
 public:
  explicit Staged(const Place& place) noexcept : place_(place), range_(byte_range(place.view)) {}

  /// The elements in host memory, at other strides maybe.
  const TensorView& view() const noexcept { return view_; }

  /// Fetches them.
  TENON_LAZY Error fetch() noexcept {
    TENON_TRY(plan(true));
    if (!by_runs_) return download(*place_.backend, buffer_.data(), begin(), size());
    return for_each_run(plan_, runs_, [&](void* dst, const void* src, size_t nbytes) noexcept {
      return download(*place_.backend, dst, src, nbytes);
    });
  }

  /// Makes room for them, to be written to view().
  TENON_LAZY Error prepare() noexcept {
    TENON_TRY(plan(false));
    // What lies between the elements is uploaded with them, as it was.
    if (by_runs_ || is_full()) return Error::Ok;
    return download(*place_.backend, buffer_.data(), begin(), size());
  }
  /// Stores them.
  TENON_LAZY Error store() noexcept {
    if (!by_runs_) return upload(*place_.backend, begin(), buffer_.data(), size());
    return for_each_run(plan_, runs_, [&](void* dst, const void* src, size_t nbytes) noexcept {
      return upload(*place_.backend, dst, src, nbytes);
    });
  }

 private:
  void* begin() const noexcept {
    void* const data = place_.view.data;
    return static_cast<char*>(data) - (reinterpret_cast<uintptr_t>(data) - range_.begin);
  }
  size_t size() const noexcept { return range_.end - range_.begin; }
  bool is_full() const noexcept { return size() == nbytes_; }

  /// Decides between the whole range of bytes, gaps included, and run by run.
  TENON_LAZY Error plan(bool fetching) noexcept {
    const TensorView& from = place_.view;
    Layout dense;
    TENON_TRY(make_dense_layout(from.sizes, nullptr, elementSize(from.type), dense));
    nbytes_ = static_cast<size_t>(dense.numel) * elementSize(from.type);
    view_ = {nullptr, from.type, Device(), from.sizes, from.strides};
    TENON_TRY(check_dims("sizes", view_.sizes));
    TENON_TRY(check_dims("strides", view_.strides));
    TensorView rows{nullptr, from.type, Device(), std::move(dense.sizes), std::move(dense.strides)};
    plan_views(fetching, rows);
    runs_ = runs_of(plan_);
    // Many short runs cost more than the bytes between them, unless there are many more of those.
    constexpr int64_t kFewRuns = 16;
    constexpr size_t kLongRun = 4096;
    by_runs_ = !is_full() && size() > nbytes_ &&
               (runs_.count <= kFewRuns || runs_.nbytes >= kLongRun || size() / 64 > nbytes_);
    if (!by_runs_) {
      TENON_TRY(buffer_.allocate(size()));
      view_.data = buffer_.data() + (reinterpret_cast<uintptr_t>(from.data) - range_.begin);
      return Error::Ok;
    }
    TENON_TRY(buffer_.allocate(nbytes_));
    rows.data = buffer_.data();
    plan_views(fetching, rows);
    view_ = std::move(rows);
    return Error::Ok;
  }
  TENON_LAZY void plan_views(bool fetching, const TensorView& rows) noexcept {
    plan_ = CopyPlan();
    const TensorView& there = place_.view;
    plan_elements(plan_, fetching ? rows : there, fetching ? there : rows, CastMode::Checked);
  }

  const Place& place_;
  ByteRange range_;
  TensorView view_;
  HostBuffer buffer_;
  CopyPlan plan_;
  Runs runs_{};
  size_t nbytes_ = 0;  // of the elements
  bool by_runs_ = false;
};

/// Copies elements between places of the same sizes, at least one of them a backend's, that do not
/// overlap. The destination's elements are distinct.
TENON_LAZY Error copy_between(const Place& dst, const Place& src, CastMode mode) noexcept {
  CopyPlan plan;
  plan_elements(plan, dst.view, src.view, mode);
  if (plan.kind == CopyKind::Alias) return Error::Ok;
  const bool is_block = plan.kind == CopyKind::Memcpy;
  const bool is_direct =
      dst.backend == nullptr || src.backend == nullptr || dst.backend == src.backend;
  if (is_block && is_direct) {
    return copy_block_between(dst.backend, plan.dst, src.backend, plan.src, plan.nbytes);
  }
  if (dst.backend == src.backend || dst.view.device != src.view.device) {
    Error error = Error::Ok;
    for (Backend* backend : {dst.backend, dst.backend == src.backend ? nullptr : src.backend}) {
      if (backend != nullptr && ask_optional(*backend, "copy", error, [&] {
            return backend->copy(public_view(dst.view), public_view(src.view), mode);
          })) {
        return error;
      }
    }
  }
  if (is_block) {
    return copy_block_between(dst.backend, plan.dst, src.backend, plan.src, plan.nbytes);
  }
  Staged from(src);
  if (src.backend != nullptr) TENON_TRY(from.fetch());
  const TensorView& source = src.backend != nullptr ? from.view() : src.view;
  if (dst.backend == nullptr) {
    copy_elements(dst.view, source, mode);
    return Error::Ok;
  }
  Staged to(dst);
  TENON_TRY(to.prepare());
  copy_elements(to.view(), source, mode);
  return to.store();
}

}  // namespace detail
TENON_END_NAMESPACE
