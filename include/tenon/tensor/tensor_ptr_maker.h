// SPDX-License-Identifier: MIT
// for_blob and from_blob: tensors over memory that the caller provides.
#pragma once

#include "tenon/tensor/make.h"

TENON_BEGIN_NAMESPACE

struct Blob;  // exchange/blob.h
namespace detail {
struct ForBlob;
}

/// A builder for a tensor over existing memory:
/// `for_blob(data, {2, 3}).strides({3, 1}).make_tensor_ptr()`.
///
/// Arguments are checked when the tensor is made.
/// Ownership: owns the deleter that deleter() was given. If the maker is dropped unused, that
/// deleter runs.
/// Threads: one thread at a time.
/// Source: executorch::extension::TensorPtrMaker.
class TensorPtrMaker {
 public:
  TensorPtrMaker(TensorPtrMaker&&) noexcept = default;
  TensorPtrMaker& operator=(TensorPtrMaker&&) noexcept = default;

  /// The dtype; by default that of the pointer.
  TensorPtrMaker&& type(ScalarType type) {
    opts_.take(detail::TypeArg(type));
    return std::move(*this);
  }
  /// Strides, in elements, of any value. By default they are dense.
  TensorPtrMaker&& strides(detail::StridesArg strides) {
    strides_ = std::move(strides);
    return std::move(*this);
  }
  /// The dimensions, outermost in memory first. By default the order that the strides imply, or
  /// row-major.
  TensorPtrMaker&& dim_order(detail::DimOrderArg dim_order) {
    dim_order_ = std::move(dim_order);
    return std::move(*this);
  }
  /// How the shape may change. By default DYNAMIC_BOUND.
  TensorPtrMaker&& dynamism(TensorShapeDynamism dynamism) {
    opts_.take(dynamism);
    return std::move(*this);
  }
  /// Takes the memory: `deleter(data)` will run once. After a second call making the tensor fails
  /// with InvalidArgument: the first deleter runs, the second never does.
  template <class F, std::enable_if_t<detail::is_deleter_v<F>, int> = 0>
  TensorPtrMaker&& deleter(F call) {  // not `deleter`: GCC warns of a function of that name
    if (deleters_ == 0) keep(Deleter(data_.get(), std::move(call)), std::move(release_));
    ++deleters_;
    return std::move(*this);
  }
  template <class DeleterTakesVoidPointer, detail::IfWrongDeleter<DeleterTakesVoidPointer> = 0>
  TensorPtrMaker&& deleter(DeleterTakesVoidPointer)
      TENON_MISTAKE("a deleter takes a void*, as in [](void* data) {}");
  /// The device that the memory is on. Nothing is moved there.
  TENON_TEMPLATE_INLINE TensorPtrMaker&& device(Device device) {
    opts_.take(device);
    check_ = &detail::check_and_attach_backend<>;
    return std::move(*this);
  }
  /// The backend that the memory belongs to, which also sets the device. Nothing is moved there.
  TENON_TEMPLATE_INLINE TensorPtrMaker&& backend(Backend& backend) {
    opts_.take(backend);
    check_ = &detail::check_and_attach_backend<>;
    return std::move(*this);
  }
  /// Keeps a movable value, such as a std::shared_ptr to the memory's owner, while the memory is in
  /// use. Owners are dropped after the deleter has run, in the order in which they were given.
  /// Errors: whatever moving the value throws; the maker is then unchanged.
  template <class Owner>
  TensorPtrMaker&& owner(Owner owner) {
    struct Kept {
      Owner owner;
      // If the owner cannot be kept, Deleter calls this at once; `before` then runs first.
      Deleter* before;
      void operator()(void*) noexcept {
        if (before != nullptr) before->reset();
      }
    };
    Deleter kept(nullptr, Kept{std::move(owner), &release_});
    if (kept) kept.template stored<Kept>()->before = nullptr;
    keep(std::move(release_), std::move(kept));
    return std::move(*this);
  }

  /// Makes the tensor. Afterwards the maker owns nothing, even after an error.
  /// Errors: those of tenon::make_tensor_ptr(); InvalidArgument for a second deleter.
  TENON_TEMPLATE_INLINE TensorPtr make_tensor_ptr() && { return make<TensorPtr>(); }
  /// The same as make_tensor_ptr(), but returns an impl, which several handles can share.
  TENON_TEMPLATE_INLINE TensorImplPtr make_tensor_impl_ptr() && { return make<TensorImplPtr>(); }
  /// The same as make_tensor_ptr(), but returns a Tensor by value.
  TENON_TEMPLATE_INLINE Tensor make_tensor() && { return make<Tensor>(); }
  TENON_TEMPLATE_INLINE Result<TensorPtr> try_make_tensor_ptr() && {
    return make<Result<TensorPtr>>();
  }
  TENON_TEMPLATE_INLINE Result<TensorImplPtr> try_make_tensor_impl_ptr() && {
    return make<Result<TensorImplPtr>>();
  }
  TENON_TEMPLATE_INLINE Result<Tensor> try_make_tensor() && { return make<Result<Tensor>>(); }
  /// Makes the tensor where a TensorPtr is expected.
  template <class Out, std::enable_if_t<std::is_same_v<Out, TensorPtr>, int> = 0>
  operator Out() && {
    return make<Out>();
  }

 private:
  friend struct detail::ForBlob;

  TensorPtrMaker(const detail::DataPtr& data, Dims&& sizes, const detail::TypeArg& type) noexcept
      : data_(data), opts_(type.value_or(data.type())), sizes_(std::move(sizes)) {}

  /// Takes the deleter and the owners. The deleter runs first, since an owner may hold things that
  /// the deleter needs.
  void keep(Deleter&& first, Deleter&& second) noexcept {
    if (first.error() != Error::Ok || second.error() != Error::Ok) error_ = Error::OutOfMemory;
    release_ = detail::chain(std::move(first), std::move(second));
  }

  template <class Out>
  Out make() {
    detail::NewTensor tensor;
    const Error error = make(tensor);
    return detail::return_to_user<Out>("for_blob", error, tensor);
  }
  TENON_TEMPLATE_INLINE Error make(detail::NewTensor& tensor) noexcept {
    if (deleters_ > 1) {
      return detail::fail(Error::InvalidArgument, "deleter() was called ", deleters_,
                          " times; memory is released once");
    }
    if (error_ != Error::Ok || release_.error() != Error::Ok) {
      return detail::fail_no_memory("the deleter or owner");
    }
    opts_.choose_backend();
    if (opts_.requested != nullptr) opts_.device = opts_.requested->device();
    TENON_TRY(
        detail::borrow_checked(data_, sizes_, dim_order_, strides_, opts_, &release_, tensor));
    if (check_ == nullptr) return Error::Ok;
    return detail::call_stored<&detail::check_and_attach_backend<>>(check_, opts_.requested,
                                                                    tensor);
  }

  detail::DataPtr data_;
  detail::CreateOptions opts_;
  Dims sizes_;
  Dims strides_;
  Dims dim_order_;
  // check_and_attach_backend() if a device was set: its 5 KB are not linked otherwise.
  Error (*check_)(Backend* requested, detail::NewTensor&) noexcept = nullptr;
  int deleters_ = 0;
  Error error_ = Error::Ok;
  Deleter release_;
};

namespace detail {  // function objects

struct ForBlob {
  /// Starts a tensor over the memory at `data`, which holds elements of `type`, by default the
  /// pointer's type: `for_blob(data, {2, 3}).owner(frame).make_tensor_ptr()`.
  /// Ownership: borrows `data`, unless TensorPtrMaker::deleter() or owner() is called.
  /// Errors: none; make_tensor_ptr() checks the arguments.
  /// Cost: no allocation. Making the tensor takes one.
  /// Source: executorch::extension::for_blob.
  TensorPtrMaker operator()(DataPtr data, Dims sizes, TypeArg type = TypeArg::deduced()) const {
    return TensorPtrMaker(data, std::move(sizes), type);
  }
  template <class SmartPointerNeedsGet, class... More, IfSmartPointer<SmartPointerNeedsGet> = 0>
  TensorPtrMaker operator()(const SmartPointerNeedsGet&, const Dims&, const More&...) const
      TENON_MISTAKE("for_blob(data.get(), sizes).owner(data) keeps data alive");
};

}  // namespace detail

inline constexpr detail::ForBlob for_blob{};

namespace detail {  // function objects

/// Makes a tensor over existing memory, `from_blob(frame.data(), {480, 640, 3})`: the tensor reads
/// and writes the caller's elements, and nothing is copied.
///
/// Options: in any order, a type, by default the pointer's; a dynamism; the device that the memory
/// is on, or the backend that the memory belongs to (nothing is moved there); `Strides{3, 1}`,
/// which may also be a list after the sizes, as in ATen; `DimOrder{1, 0}`.
/// Shapes: strides may have any value. They may leave gaps, be 0 or be negative.
/// Ownership: borrows `data`, which the caller keeps alive. With a deleter, takes `data`:
/// `deleter(data)` runs once, when the tensor releases the memory, or before this call returns if
/// it fails.
/// Errors: those of make_tensor_ptr(); those of DeviceBackend::check_memory() if the backend, or
/// the one that is registered for the device, is a DeviceBackend.
/// Cost: one allocation. docs/ownership.md says when there are more.
/// Threads: a tensor whose metadata is in an arena belongs to the arena's thread.
/// Source: executorch::extension::from_blob, at::from_blob.
template <class Out>
struct FromBlob {
  const char* function;

  template <class... Options, IfOptionsOrLayout<Options...> = 0>
  Out operator()(DataPtr data TENON_LIFETIMEBOUND, const Dims& sizes, Options&&... options) const {
    return make_borrowed<Out>(function, data, sizes, nullptr, options...);
  }
  template <class... Options, IfOptionsOrLayout<Options...> = 0>
  Out operator()(DataPtr data TENON_LIFETIMEBOUND, const Dims& sizes, const Dims& strides,
                 Options&&... options) const {
    const StridesList list{strides};
    return make_borrowed<Out>(function, data, sizes, nullptr, list, options...);
  }
  template <class F, class... Options, std::enable_if_t<is_deleter_v<F>, int> = 0,
            IfOptionsOrLayout<Options...> = 0>
  Out operator()(DataPtr data, const Dims& sizes, TypeArg type, F deleter,
                 Options&&... options) const {
    Deleter release(data.get(), std::move(deleter));
    return make_borrowed<Out>(function, data, sizes, &release, type, options...);
  }
  template <class F, class... Options, std::enable_if_t<is_deleter_v<F>, int> = 0,
            IfOptionsOrLayout<Options...> = 0>
  Out operator()(DataPtr data, const Dims& sizes, const Dims& strides, TypeArg type, F deleter,
                 Options&&... options) const {
    Deleter release(data.get(), std::move(deleter));
    const StridesList list{strides};
    return make_borrowed<Out>(function, data, sizes, &release, list, type, options...);
  }

  template <class StridesOrOrder, class F, class... Options,
            std::enable_if_t<is_deleter_v<F>, int> = 0, IfLayout<StridesOrOrder> = 0,
            IfOptionsOrLayout<Options...> = 0>
  Out operator()(DataPtr data, const Dims& sizes, const StridesOrOrder& layout, TypeArg type,
                 F deleter, Options&&... options) const {
    return (*this)(data, sizes, type, std::move(deleter), layout, options...);
  }

  template <class... DeleterTakesVoidPointer, IfWrongDeleter<DeleterTakesVoidPointer...> = 0>
  Out operator()(DataPtr, const Dims&, DeleterTakesVoidPointer&&...) const
      TENON_MISTAKE("a deleter takes a void*, as in [](void* data) {}");
  template <class... DeleterTakesVoidPointer, IfWrongDeleter<DeleterTakesVoidPointer...> = 0>
  Out operator()(DataPtr, const Dims&, const Dims&, DeleterTakesVoidPointer&&...) const
      TENON_MISTAKE("a deleter takes a void*, as in [](void* data) {}");
  template <class... TypeThenDeleterThenOptions,
            IfMisplacedDeleter<Option::Type, false, TypeThenDeleterThenOptions...> = 0>
  Out operator()(DataPtr, const Dims&, TypeThenDeleterThenOptions&&...) const TENON_MISTAKE(
      "the type comes before the deleter: from_blob(data, sizes, type, deleter); "
      "Strides or DimOrder may stand before the type, other options follow the deleter");
  template <class... TypeThenDeleterThenOptions,
            IfMisplacedDeleter<Option::Type, true, TypeThenDeleterThenOptions...> = 0>
  Out operator()(DataPtr, const Dims&, const Dims&, TypeThenDeleterThenOptions&&...) const
      TENON_MISTAKE(
          "the type comes before the deleter: from_blob(data, sizes, strides, type, deleter); "
          "other options follow the deleter");
  template <class SmartPointerNeedsGet, class... More, IfSmartPointer<SmartPointerNeedsGet> = 0>
  Out operator()(const SmartPointerNeedsGet&, const Dims&, const More&...) const TENON_MISTAKE(
      "from_blob takes data.get(); for_blob(data.get(), sizes).owner(data) keeps data alive");
  template <class VoidPointerAndTypeNeeded, class... More, IfStruct<VoidPointerAndTypeNeeded> = 0>
  Out operator()(const VoidPointerAndTypeNeeded*, const Dims&, More&&...) const
      TENON_MISTAKE("no dtype has such elements: from_blob(static_cast<void*>(data), sizes, type)");
  template <class PointeeNeedsData, class... More, IfPointee<PointeeNeedsData> = 0>
  Out operator()(const PointeeNeedsData*, const Dims&, More&&...) const
      TENON_MISTAKE("from_blob takes a pointer to elements: container->data(), t->data_ptr()");
  template <class DataComesBeforeSizes, class... Options, IfData<DataComesBeforeSizes> = 0>
  Out operator()(const Dims&, const DataComesBeforeSizes&, Options&&...) const
      TENON_MISTAKE("the data comes before the sizes: from_blob(data, sizes)");
  template <class ContainerNeedsData, class... Options,
            std::enable_if_t<is_container_v<std::remove_reference_t<ContainerNeedsData>>, int> = 0>
  Out operator()(ContainerNeedsData&&, const Dims&, Options&&...) const TENON_MISTAKE(
      "from_blob takes a pointer, container.data(); make_tensor_ptr takes containers");
  template <class... TextNeedsDevice, IfText<TextNeedsDevice...> = 0>
  Out operator()(DataPtr, const Dims&, TextNeedsDevice&&...) const
      TENON_MISTAKE("a device is Device(\"cuda\"), not text alone");
  template <class... StridesComeBeforeType>
  Out operator()(DataPtr, const Dims&, TypeArg, const Dims&, StridesComeBeforeType&&...) const
      TENON_MISTAKE("strides come before the type: from_blob(data, sizes, strides, type)");

  // This overload and the next one are defined in exchange/blob.h.
  /// A tensor over the memory that a Blob describes, on any device. Empty strides stand for
  /// contiguous ones. A read-only blob makes a read-only tensor. Needs exchange/blob.h.
  /// Ownership: keeps blob.owner until the tensor releases the memory. If this call fails, drops
  /// blob.owner before it returns. Without an owner the memory is borrowed.
  /// Options: a dynamism, and the backend that the memory belongs to.
  /// Errors: those of make_tensor_ptr(), and InvalidArgument for an element_size that is neither 0
  /// nor the dtype's, and for a device that is not the backend's; those of
  /// DeviceBackend::check_memory(), as above. A null pointer is an error unless there are no
  /// elements or the device is Meta: it does not make a placeholder.
  template <class... Options, IfOptions<Options...> = 0>
  Out operator()(Blob blob, Options&&... options) const;
  /// The same as from_blob(blob), but also keeps a movable value, such as the memory's owner.
  /// Options: those of from_blob(blob).
  /// Ownership: drops `owner` when the memory's last user releases it, before blob.owner.
  /// Errors: those above, and whatever moving the value throws: the tensor is then not made, and
  /// all owners are dropped.
  template <class Owner, class... Options,
            std::enable_if_t<!is_only_deleter_v<Owner> && !is_option_v<Owner>, int> = 0,
            IfOptions<Options...> = 0>
  Out operator()(Blob blob, Owner owner, Options&&... options) const;
  // Refuses a deleter: an owner is kept, and never called.
  template <class DeleterNeedsForBlob, class... More,
            std::enable_if_t<is_only_deleter_v<DeleterNeedsForBlob>, int> = 0>
  Out operator()(const Blob&, DeleterNeedsForBlob, const More&...) const
      TENON_MISTAKE("for_blob(data, sizes).deleter(f) runs a deleter; blob.owner keeps an owner");
};

}  // namespace detail

inline constexpr detail::FromBlob<TensorPtr> from_blob{"from_blob"};
inline constexpr detail::FromBlob<Result<TensorPtr>> try_from_blob{"try_from_blob"};
/// The same as from_blob(), but returns a Tensor by value: the handle can be on the stack.
inline constexpr detail::FromBlob<Tensor> tensor_from_blob{"tensor_from_blob"};
inline constexpr detail::FromBlob<Result<Tensor>> try_tensor_from_blob{"try_tensor_from_blob"};

TENON_END_NAMESPACE
