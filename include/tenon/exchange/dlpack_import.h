// SPDX-License-Identifier: MIT
// from_dlpack: a tensor over the memory of a DLPack struct.
#pragma once

#include <memory>
#include <utility>

#include "tenon/backend/cpu.h"
#include "tenon/exchange/dlpack_export.h"
#include "tenon/exchange/dlpack_types.h"
#include "tenon/kernels/byte_order.h"
#include "tenon/tensor/clone.h"
#include "tenon/tensor/location.h"
#include "tenon/tensor/make.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// A tensor's deleter that releases a DLPack struct.
template <class Managed>
struct ReleaseDLPack {
  Managed* managed;
  void operator()(void*) const noexcept { DLPackDeleter()(managed); }
};

/// The address of element 0.
inline void* first_element(const DLTensor& t) noexcept {
  return t.data == nullptr ? nullptr : static_cast<char*>(t.data) + t.byte_offset;
}

/// Whether t.data is a handle and element 0 has an offset from it.
inline bool has_offset_from_handle(const DLTensor& t) noexcept {
  return t.byte_offset != 0 && t.data != nullptr &&
         has_dlpack_handles(static_cast<DeviceType>(t.device.device_type));
}

/// read_dlpack() for an import, which recognises this library's structs.
template <class Managed>
DLPackContents read_import(const Managed& from) noexcept {
  DLPackContents read = read_dlpack(from);
  read.exported = DLPackExport<Managed>::memory_of(from);
  return read;
}

/// How to import a struct. An import by a plan can only fail with OutOfMemory.
struct DLPackPlan {
  NewTensor new_tensor;    // describes the struct's memory, or is the exported tensor
  bool is_export = false;  // whether `new_tensor` is the exported tensor
  bool must_copy = false;
  Backend* target = nullptr;  // the backend of a copy on another device
};

/// If the struct still describes the tensor that this library exported, and the import may share
/// that tensor, makes `new_tensor` that tensor without further checks. A program may have edited
/// the struct: if anything differs from the export, returns false, and the checks decide.
TENON_TEMPLATE_INLINE bool take_back(const DLPackContents& from, const Optional<bool>& copy,
                                     const Optional<Device>& asked, TensorShapeDynamism dynamism,
                                     NewTensor& new_tensor) noexcept {
  const DLTensor& t = from.tensor;
  if (from.exported == nullptr || copy.value_or(false) || t.byte_offset != 0 || t.ndim < 0 ||
      (t.ndim != 0 && (t.shape == nullptr || t.strides == nullptr)) || t.device.device_id < 0) {
    return false;
  }
  const ScalarType type = type_from_dlpack(t.dtype);
  const Device device = device_from_dlpack(t.device);
  if (type == ScalarType::Undefined || asked.value_or(device) != device ||
      reinterpret_cast<uintptr_t>(t.data) % number_size(type) != 0 ||
      from.exported->check("the exported tensor") != Error::Ok) {
    return false;
  }
  const auto rank = static_cast<size_t>(t.ndim);
  return from.exported->share(t.data, type, device, {t.shape, rank}, {t.strides, rank}, dynamism,
                              from.is_readonly(), new_tensor);
}

TENON_TEMPLATE_INLINE Error plan_import(const DLPackContents& from, const Optional<bool>& copy,
                                        const Optional<Device>& asked, TensorShapeDynamism dynamism,
                                        DLPackPlan& plan) noexcept {
  plan.is_export = take_back(from, copy, asked, dynamism, plan.new_tensor);
  if (plan.is_export) return Error::Ok;
  TENON_TRY(make_impl(plan.new_tensor));
  ImplFields& made = fields(plan.new_tensor);
  TENON_TRY(check_dlpack_contents(from, made.type, made.layout));
  if (from.exported != nullptr) TENON_TRY(from.exported->check("the exported tensor"));
  const DLTensor& t = from.tensor;
  const ScalarType type = made.type;
  const Layout& layout = made.layout;
  const Device device = made.device = device_from_dlpack(t.device);
  made.data = first_element(t);
  made.readonly = from.is_readonly();
  made.finalize(dynamism);
  if (has_offset_from_handle(t)) {
    const auto size = static_cast<int64_t>(elementSize(type));
    const auto offset = static_cast<int64_t>(t.byte_offset);
    if (offset % size != 0 || offset / size + layout.offsets.min < 0) {
      return fail(Error::NotSupported, "byte offset ", offset, " of memory on ", device,
                  ", expected a multiple of the ", size,
                  " bytes of an element, and no element before the handle's memory");
    }
    if (offset > PTRDIFF_MAX - layout.required_span_size() * size) {
      return fail(Error::InvalidArgument, "sizes ", layout.sizes(), " at byte offset ", offset,
                  " lead out of the address space");
    }
  }
  const Device there = asked.value_or(device);
  const bool moves = there != device;
  const bool is_aligned = reinterpret_cast<uintptr_t>(first_element(t)) % number_size(type) == 0 ||
                          layout.numel == 0 || has_dlpack_handles(device.type());
  if (!device.is_cpu()) TENON_TRY(check_device_pointer(device, first_element(t), type, layout));
  plan.must_copy = copy.value_or(false) || moves || !is_aligned;
  if (plan.must_copy && !copy.value_or(true)) {
    return moves ? fail(Error::NotSupported, "the data is on ", device, ", was asked for on ",
                        there, ", and copy is false")
                 : fail(Error::NotSupported, "the data is not aligned for its elements, of ", type,
                        ", and copy is false");
  }
  if (!is_aligned && !device.is_host_accessible()) {
    return fail(Error::NotSupported, "the data, on ", device, ", is not aligned for its elements");
  }
  if (!plan.must_copy) return Error::Ok;
  if (!device.is_host_accessible()) TENON_TRY(check_registered(device, "the data"));
  if (!asked.has_value()) return Error::Ok;
  plan.target = &host_backend();
  return there.is_cpu() ? Error::Ok : find_memory_backend(there, "the copy", plan.target);
}

/// A copy on the plan's device.
template <class Out>
TENON_NOINLINE Out import_copy(const char* function, DLPackPlan& plan,
                               TensorShapeDynamism dynamism) {
  const TensorFields& source =
      fields(plan.new_tensor);  // not a Tensor: ATen has no negative strides
  CreateOptions copy(source.type, dynamism);
  NewTensor new_tensor;
  Error error = find_backend_like(source, plan.target, copy.backend);
  Layout layout;
  if (error == Error::Ok) error = lay_out_like(source.layout, layout);
  if (error == Error::Ok) error = make_owned(layout, copy, false, new_tensor);
  if (error == Error::Ok) {
    error = copy_to_new(fields(new_tensor), source, CastMode::Checked, nullptr);
  }
  return return_to_user<Out>(function, error, new_tensor, copy.backend);
}

/// A view of a tensor that begins where the handle's memory begins, so that an export finds the
/// handle again.
template <class Out>
TENON_NOINLINE Out import_from_handle(const char* function, const DLPackContents& from,
                                      DLPackPlan& plan, TensorShapeDynamism dynamism,
                                      Deleter& release) {
  Tensor memory;  // lives until the view is finished, which reads it in ATen mode
  const auto make = [&]() noexcept -> Error {
    ImplFields& made = fields(plan.new_tensor);
    const auto size = static_cast<int64_t>(elementSize(made.type));
    const int64_t offset = static_cast<int64_t>(from.tensor.byte_offset) / size;
    CreateOptions all(made.type, dynamism);
    all.device = made.device;
    NewTensor whole;
    TENON_TRY(borrow_checked(DataPtr(from.tensor.data, from.is_readonly()),
                             {offset + made.layout.required_span_size()}, {}, {}, all, &release,
                             whole));
    TENON_TRY(make_first_handle(whole, memory));
    return attach_view(memory, made.type, offset, made);
  };
  return return_to_user<Out>(function, make(), plan.new_tensor);
}

/// A tensor over the memory, which `release` frees. For a struct that this library exported: the
/// exported tensor, if plan_import() took it back, else a view of that tensor.
template <class Out>
Out import_planned(const char* function, const DLPackContents& from, DLPackPlan& plan,
                   TensorShapeDynamism dynamism, Deleter& release) {
  if (plan.is_export) {
    typename IsResult<Out>::Value handle;
    const Error error = make_handle(plan.new_tensor, handle, nullptr);
    return return_to_user<Out>(function, error, std::move(handle));
  }
  if (plan.must_copy) return import_copy<Out>(function, plan, dynamism);
  if (has_offset_from_handle(from.tensor)) {
    return import_from_handle<Out>(function, from, plan, dynamism, release);
  }
  ImplFields& made = fields(plan.new_tensor);
  if (from.exported == nullptr || !from.exported->attach(made)) {
    made.ownership = Ownership::Adopted;
    made.deleter.take(std::move(release));
  }
  return return_to_user<Out>(function, Error::Ok, plan.new_tensor);
}
template <class Out>
Out import_dlpack(const char* function, const DLPackContents& from, const Optional<bool>& copy,
                  const Optional<Device>& device, TensorShapeDynamism dynamism, Deleter& release) {
  DLPackPlan plan;
  const Error error = plan_import(from, copy, device, dynamism, plan);
  if (error != Error::Ok) return return_to_user<Out>(function, error);
  return import_planned<Out>(function, from, plan, dynamism, release);
}

}  // namespace detail

namespace detail {  // function objects

template <class Out>
struct FromDLPack {
  const char* function;

  /// A tensor over the memory of a DLPack struct of any header, with or without a version: the same
  /// sizes, strides, dtype and device, read-only where the struct says so.
  ///
  /// `copy`: true to copy, false to share or fail, none to copy only if necessary: if the data is
  /// misaligned for its elements, or is on another device than `device`.
  /// `device`: the device that the data is to be on; `none` leaves the data where it is.
  /// Ownership: takes the struct, also on failure: its deleter runs once, after the last view of
  /// the memory is gone, or before this returns if the data was copied or the struct was refused.
  /// For a struct that this library exported, returns the exported tensor, so that later resizes
  /// are shared, if sizes, strides, type, device, READ_ONLY and dynamism still match; else a view
  /// of that tensor. ATen mode does not recognise such structs.
  /// Errors: InvalidArgument and NotSupported for the violations that check_dlpack() lists;
  /// InvalidArgument for memory that is not on its device, if a DeviceBackend is registered for
  /// that device; NotSupported if a copy is needed and `copy` is false, for a copy to or from a
  /// device without a registered backend, for misaligned data on such a device, and for a byte
  /// offset from a handle (OpenCL, Vulkan, Metal, WebGPU) that is not a multiple of the element
  /// size; OutOfMemory. If the major version is not 1, only the struct's deleter is called.
  /// Threads: a struct that this library made may be imported while other threads read its tensor's
  /// shape, but not while a thread resizes the tensor. Streams: nothing is synchronised. Give a
  /// producer that asks for a stream DeviceBackend::stream_number(); for other producers call
  /// order_after(their stream) first.
  /// Source: at::fromDLPackVersioned; the array API's from_dlpack.
  template <class Managed, IfManaged<Managed> = 0>
  Out operator()(Managed* managed, Optional<bool> copy = none, Optional<Device> device = none,
                 TensorShapeDynamism dynamism = TensorShapeDynamism::DYNAMIC_BOUND) const {
    if (managed == nullptr) {
      return return_to_user<Out>(function, fail(Error::InvalidArgument, "the pointer is null"));
    }
    Deleter release(nullptr, ReleaseDLPack<Managed>{managed});
    return import_dlpack<Out>(function, read_import(*managed), copy, device, dynamism, release);
  }
  template <class Managed>
  Out operator()(std::unique_ptr<Managed, DLPackDeleter> managed, Optional<bool> copy = none,
                 Optional<Device> device = none,
                 TensorShapeDynamism dynamism = TensorShapeDynamism::DYNAMIC_BOUND) const {
    return (*this)(managed.release(), copy, device, dynamism);
  }
};

}  // namespace detail

inline constexpr detail::FromDLPack<TensorPtr> from_dlpack{"from_dlpack"};
inline constexpr detail::FromDLPack<Result<TensorPtr>> try_from_dlpack{"try_from_dlpack"};

TENON_END_NAMESPACE
