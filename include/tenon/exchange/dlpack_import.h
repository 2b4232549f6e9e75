// SPDX-License-Identifier: MIT
// from_dlpack: a tensor over the memory of a DLPack struct.
#pragma once

#include <memory>
#include <utility>

#include "tenon/backend/cpu.h"
#include "tenon/core/optional.h"
#include "tenon/exchange/dlpack_check.h"
#include "tenon/kernels/copy_elements.h"
#include "tenon/tensor/clone.h"
#include "tenon/tensor/place.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// A tensor's deleter that releases a struct of any header.
template <class Managed>
struct ReleaseDLPack {
  Managed* managed;
  void operator()(void*) const noexcept { DLPackDeleter()(managed); }
};

/// The address of element 0.
inline void* first_element(const DLTensor& t) noexcept {
  return t.data == nullptr ? nullptr : static_cast<char*>(t.data) + t.byte_offset;
}

/// Whether element 0 lies at an offset in the memory of a handle.
inline bool has_offset_from_handle(const DLTensor& t) noexcept {
  return t.byte_offset != 0 && t.data != nullptr &&
         has_dlpack_handles(static_cast<DeviceType>(t.device.device_type));
}

/// Whether the elements are aligned. So are handles, and tensors without elements.
inline bool is_aligned(const DLPackContents& from, ScalarType type) noexcept {
  const size_t part = elementSize(type) / (isComplexType(type) ? 2 : 1);
  if (reinterpret_cast<uintptr_t>(first_element(from.tensor)) % part == 0) return true;
  for (const int64_t size : from.sizes()) {
    if (size == 0) return true;
  }
  return has_dlpack_handles(static_cast<DeviceType>(from.tensor.device.device_type));
}

/// How to import a struct. Once it is there, only memory can be missing.
struct DLPackPlan {
  DLPackShape shape;
  Device device;  // of the data
  bool aligned = true;
  bool must_copy = false;
  Backend* target = nullptr;  // of a copy on another device
};

TENON_LAZY Error plan_import(const DLPackContents& from, const Optional<bool>& copy,
                             const Optional<Device>& asked, DLPackPlan& plan) noexcept {
  TENON_TRY(check_dlpack_contents(from, plan.shape));
  const DLTensor& t = from.tensor;
  plan.device = device_from_dlpack(t.device);
  const Device device = plan.device;
  if (TENON_UNLIKELY(has_offset_from_handle(t))) {
    Extent extent;
    if (plan.shape.row_major) {
      int64_t numel = 0;
      TENON_TRY(compute_numel(from.sizes(), elementSize(plan.shape.type), numel));
      extent = Extent{0, numel - 1};
    } else {
      TENON_TRY(compute_extent(from.sizes(), from.strides(), extent));
    }
    const auto size = static_cast<int64_t>(elementSize(plan.shape.type));
    const auto offset = static_cast<int64_t>(t.byte_offset);
    if (offset % size != 0 || offset / size + extent.min < 0) {
      return fail(Error::NotSupported, "byte offset ", offset, " of memory on ", device,
                  ", expected a multiple of the ", size,
                  " bytes of an element, and no element before the handle's memory");
    }
    if (offset > PTRDIFF_MAX - (extent.max + 1) * size) {
      return fail(Error::InvalidArgument, "sizes ", from.sizes(), " at byte offset ", offset,
                  " lead out of the address space");
    }
  }
  const bool moves = asked.value_or(device) != device;
  plan.aligned = is_aligned(from, plan.shape.type);
  plan.must_copy = copy.value_or(false) || moves || !plan.aligned;
  if (TENON_UNLIKELY(plan.must_copy && !copy.value_or(true))) {
    return moves ? fail(Error::NotSupported, "the data is on ", device, ", was asked for on ",
                        asked.value_or(device), ", and copy is false")
                 : fail(Error::NotSupported, "the data is not aligned for its elements, of ",
                        plan.shape.type, ", and copy is false");
  }
  if (TENON_UNLIKELY(!plan.aligned && !device.is_host_accessible())) {
    return fail(Error::NotSupported, "the data, on ", device, ", is not aligned for its elements");
  }
  if (!plan.must_copy) return Error::Ok;
  if (!device.is_host_accessible()) {
    TENON_TRY(find_registered(device, "the data", plan.target));
    plan.target = nullptr;
  }
  if (!moves) return Error::Ok;
  plan.target = &host_backend();
  const Device there = asked.value_or(device);
  return there.is_cpu() ? Error::Ok : find_registered(there, "the copy", plan.target);
}

/// A tensor over the memory, which `release` releases.
TENON_LAZY Error make_import(const DLPackContents& from, const DLPackPlan& plan,
                             TensorShapeDynamism dynamism, Deleter& release,
                             Draft& draft) noexcept {
  void* const data = first_element(from.tensor);
  return make_from_pointer(DataPtr(data, from.is_readonly()), Dims(from.sizes()), {},
                           plan.shape.row_major ? Dims() : Dims(from.strides()),
                           public_type(plan.shape.type), dynamism, plan.device, release, draft);
}

/// A copy of elements that are not aligned, byte by byte.
TENON_LAZY Error copy_misaligned(const DLPackContents& from, ScalarType type,
                                 TensorShapeDynamism dynamism, Draft& draft) noexcept {
  const Making making{type, dynamism};
  const Dims sizes(from.sizes());
  TENON_TRY(make_owned(sizes, {}, {}, making, Contents::Uninitialized, draft));
  const Dims& dense = fields(draft).layout.strides;
  const ArrayRef<int64_t> given = from.strides();
  const auto size = static_cast<int64_t>(elementSize(type));
  TensorView to{fields(draft).data, ScalarType::Byte, Device(), {}, {}};
  TensorView in{first_element(from.tensor), ScalarType::Byte, Device(), {}, {}};
  for (size_t d = 0; d < sizes.size(); ++d) {
    // 64 dimensions would leave none for the bytes, and strides of size 1 may be anything.
    if (sizes[d] == 1) continue;
    to.sizes.push_back(sizes[d]);
    to.strides.push_back(dense[d] * size);
    in.strides.push_back((given.empty() ? dense[d] : given[d]) * size);
  }
  to.sizes.push_back(size);
  to.strides.push_back(1);
  in.strides.push_back(1);
  in.sizes = to.sizes;
  for (const Dims* dims : {&to.sizes, &to.strides, &in.sizes, &in.strides}) {
    TENON_TRY(check_dims("a shape", *dims));
  }
  copy_elements(to, in, CastMode::Checked, nullptr);
  return Error::Ok;
}

/// A copy, on the device of the plan.
template <class Out>
TENON_NOINLINE Out import_copy(const char* function, DLPackContents from, const DLPackPlan& plan,
                               TensorShapeDynamism dynamism, Deleter& release) {
  if (!plan.aligned && plan.target == nullptr) {
    Made<Out> made;
    return made.finish(function, copy_misaligned(from, plan.shape.type, dynamism, made.draft()));
  }
  from.flags = 0;  // ATen has no read-only tensors, and the copy is writable anyway
  Made<Tensor> made;
  Error error = plan.aligned ? make_import(from, plan, dynamism, release, made.draft())
                             : copy_misaligned(from, plan.shape.type, dynamism, made.draft());
  if (error == Error::Ok) error = made.commit();
  if (error != Error::Ok) return Made<Out>().finish(function, error);
  const Tensor original = made.finish(function, Error::Ok);
  return clone<Out>(function, original,
                    plan.target == nullptr ? CreatorOptions() : CreatorOptions(*plan.target));
}

/// A view of all the memory of a handle, so that an export finds the handle again.
template <class Out>
TENON_NOINLINE Out import_from_handle(const char* function, const DLPackContents& from,
                                      const DLPackPlan& plan, TensorShapeDynamism dynamism,
                                      Deleter& release) {
  Made<Out> made;
  Tensor memory;  // stays until made.finish(), which looks at it in ATen mode
  const auto make = [&]() noexcept -> Error {
    const ScalarType type = plan.shape.type;
    Layout layout;
    TENON_TRY(make_layout(Dims(from.sizes()), {},
                          plan.shape.row_major ? Dims() : Dims(from.strides()), elementSize(type),
                          layout));
    const int64_t offset =
        static_cast<int64_t>(from.tensor.byte_offset) / static_cast<int64_t>(elementSize(type));
    Made<Tensor> whole;
    TENON_TRY(make_from_pointer(DataPtr(from.tensor.data, from.is_readonly()),
                                {offset + layout.reach()}, {}, {}, public_type(type), dynamism,
                                plan.device, release, whole.draft()));
    TENON_TRY(whole.commit());
    TENON_TRY(new_impl(made.draft()));
    fields(made.draft()).layout = layout;
    memory = whole.finish(function, Error::Ok);
    return attach_view(memory, type, offset, fields(made.draft()));
  };
  return made.finish(function, make());
}

template <class Out>
Out import_dlpack(const char* function, const DLPackContents& from, const Optional<bool>& copy,
                  const Optional<Device>& device, TensorShapeDynamism dynamism, Deleter& release) {
  DLPackPlan plan;
  Error error = plan_import(from, copy, device, plan);
  if (TENON_UNLIKELY(error == Error::Ok && plan.must_copy)) {
    return import_copy<Out>(function, from, plan, dynamism, release);
  }
  if (TENON_UNLIKELY(error == Error::Ok && has_offset_from_handle(from.tensor))) {
    return import_from_handle<Out>(function, from, plan, dynamism, release);
  }
  Made<Out> made;
  if (error == Error::Ok) error = make_import(from, plan, dynamism, release, made.draft());
  return made.finish(function, error);
}

}  // namespace detail

template <class Out>
struct FromDLPack {
  const char* function;

  /// A tensor over the memory of a DLPack struct of any header, with or without a version: the same
  /// sizes, strides, dtype and device, read-only where the struct says so.
  ///
  /// `copy`: true to copy, false to share or fail, none to copy only where it must: data that is
  /// not aligned for its elements, or asked for on another `device`.
  /// Ownership: takes the struct, also on failure: its deleter runs once, after the last view of
  /// the memory is gone, or before this returns if it was copied or refused.
  /// Errors: InvalidArgument, NotSupported: what check_dlpack() says; NotSupported where a copy is
  /// needed and `copy` is false, for a device without a registered backend to copy to or from, for
  /// data there that is not aligned, and for a byte offset from a handle (OpenCL, Vulkan, Metal,
  /// WebGPU) that is no whole number of elements; OutOfMemory. Of a struct of another major
  /// version, only the deleter is called.
  /// Threads: nothing is synchronised with a device's streams.
  /// Source: at::fromDLPackVersioned; the array API's from_dlpack.
  template <class Managed, detail::IfManaged<Managed> = 0>
  Out operator()(Managed* managed, Optional<bool> copy = none, Optional<Device> device = none,
                 TensorShapeDynamism dynamism = TensorShapeDynamism::DYNAMIC_BOUND) const {
    static_assert(detail::is_same_layout_v<Managed>, "this is another struct than DLPack's");
    if (managed == nullptr) {
      return detail::Made<Out>().finish(
          function, detail::fail(Error::InvalidArgument, "the pointer is null"));
    }
    Deleter release(nullptr, detail::ReleaseDLPack<Managed>{managed});
    return detail::import_dlpack<Out>(function, detail::read_dlpack(*managed), copy, device,
                                      dynamism, release);
  }
  template <class Managed>
  Out operator()(std::unique_ptr<Managed, DLPackDeleter> managed, Optional<bool> copy = none,
                 Optional<Device> device = none,
                 TensorShapeDynamism dynamism = TensorShapeDynamism::DYNAMIC_BOUND) const {
    return (*this)(managed.release(), copy, device, dynamism);
  }
};

inline constexpr FromDLPack<TensorPtr> from_dlpack{"from_dlpack"};
inline constexpr FromDLPack<Result<TensorPtr>> try_from_dlpack{"try_from_dlpack"};

TENON_END_NAMESPACE
