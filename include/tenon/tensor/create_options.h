// SPDX-License-Identifier: MIT
// CreateOptions: a creator's options in one struct, and the types of options.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "tenon/backend/registry.h"
#include "tenon/tensor/data.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// Kinds of the options after a creator's arguments: in any order, each kind at most once. All
/// creators take the first four (a backend must be an lvalue). Creators of random numbers also take
/// a generator; creators that take a shape and data also take strides and a dim order.
enum class Option : uint8_t { Type, Dynamism, Backend, Device, Generator, Strides, DimOrder, None };

/// Lists that ExecuTorch's and ATen's signatures have at fixed positions. They are passed on as
/// options.
struct StridesList {
  const Dims& list;
};
struct DimOrderList {
  const Dims& list;
};

template <class T>
constexpr Option option_of() noexcept {
  using U = std::remove_cv_t<std::remove_reference_t<T>>;
  if (std::is_same_v<U, tenon::ScalarType> || std::is_same_v<U, TypeArg>) return Option::Type;
  if (std::is_same_v<U, TensorShapeDynamism>) return Option::Dynamism;
  if (is_backend_v<U>) return Option::Backend;
  if (std::is_same_v<U, Device> || std::is_same_v<U, DeviceType> || ForeignDevice<U>::value) {
    return Option::Device;
  }
  if (std::is_same_v<U, Strides> || std::is_same_v<U, StridesList>) return Option::Strides;
  if (std::is_same_v<U, DimOrder> || std::is_same_v<U, DimOrderList>) return Option::DimOrder;
  return std::is_same_v<U, Generator> ? Option::Generator : Option::None;
}
template <class... Options>
constexpr int count_of([[maybe_unused]] Option kind) noexcept {
  return (0 + ... + (option_of<Options>() == kind));
}
template <class... Options>
inline constexpr bool has_type_v = count_of<Options...>(Option::Type) != 0;
template <class... Options>
inline constexpr bool has_backend_v = count_of<Options...>(Option::Backend) != 0;
template <class... Options>
inline constexpr bool has_device_v = count_of<Options...>(Option::Device) != 0;

/// Whether T is an option of all creators.
template <class T>
inline constexpr bool is_option_v = option_of<T>() <= Option::Device;
/// Whether T gives strides or a dim order.
template <class T>
inline constexpr bool is_layout_option_v = option_of<T>() == Option::Strides
                                           || option_of<T>() == Option::DimOrder;
template <class... Options>
inline constexpr bool has_layout_v = (... || is_layout_option_v<Options>);

/// Whether a parameter `T&&` is an option of a kind up to `kLast`. A backend must be an lvalue,
/// since the tensor refers to it.
template <class T, Option kLast>
inline constexpr bool is_option_argument_v = option_of<T>() <= kLast &&
                                             !(option_of<T>() == Option::Backend &&
                                               (std::is_rvalue_reference_v<T&&> ||
                                                std::is_const_v<std::remove_reference_t<T>>));
/// Restricts a creator's parameter pack to options.
template <class... Options>
using IfOptions = std::enable_if_t<(... && is_option_argument_v<Options, Option::Device>), int>;
template <class... Options>
using IfOptionsOrGenerator =
    std::enable_if_t<(... && is_option_argument_v<Options, Option::Generator>), int>;
template <class... Options>
using IfOptionsOrLayout =
    std::enable_if_t<(... && (is_option_argument_v<Options, Option::DimOrder> &&
                              option_of<Options>() != Option::Generator)),
                     int>;
template <class... Options>
using IfAnyOptions =
    std::enable_if_t<(... && is_option_argument_v<Options, Option::DimOrder>), int>;
template <class... Options>
using IfLayout =
    std::enable_if_t<sizeof...(Options) != 0 && (... && is_layout_option_v<Options>), int>;

// Conditions of deleted overloads, which only a mistaken call selects.

/// Whether T is text: a device's name must be passed as a Device.
template <class T>
inline constexpr bool is_text_v =
    !std::is_null_pointer_v<std::decay_t<T>> &&
    (std::is_convertible_v<T, const char*> || std::is_same_v<std::decay_t<T>, std::string>);
template <class... Arguments>
using IfText = std::enable_if_t<(... || is_text_v<Arguments>), int>;
template <class... Arguments>
using IfNotOptions =
    std::enable_if_t<!(... && is_option_argument_v<Arguments, Option::DimOrder>)&&!(
                         ... || is_text_v<Arguments>),
                     int>;
template <class Characters>
using IfCharacters = std::enable_if_t<is_char_or_byte_v<std::remove_extent_t<Characters>>, int>;
/// Whether a deleter is at a wrong place. It must follow an option of kind `kBefore`, and no option
/// of a later kind may precede it. Strides or a dim order may, as the first argument, if no list
/// was given.
template <Option kBefore, bool kHasList, class... Arguments>
constexpr bool has_misplaced_deleter() noexcept {
  bool misplaced = false;
  [[maybe_unused]] bool has_others = false;  // unused if there are no arguments
  [[maybe_unused]] bool is_first = !kHasList;
  Option last = Option::None;
  ((misplaced |=
    is_deleter_v<std::remove_reference_t<Arguments>> && (last != kBefore || has_others),
    last = option_of<Arguments>(),
    has_others |= last > kBefore && last != Option::None &&  // a list is not an option here
                  !(is_first && is_layout_option_v<Arguments>),
    is_first = false),
   ...);
  return misplaced;
}
template <Option kBefore, bool kHasList, class... Arguments>
using IfMisplacedDeleter =
    std::enable_if_t<has_misplaced_deleter<kBefore, kHasList, Arguments...>(), int>;
/// Smart pointers to elements. (A DataPtr has get() too.)
template <class P>
using IfSmartPointer =
    std::enable_if_t<std::is_class_v<P> && !std::is_same_v<P, DataPtr> &&
                         std::is_constructible_v<DataPtr, decltype(std::declval<P&>().get())>,
                     int>;
/// Containers and tensors, which are passed themselves, not by pointer.
template <class T>
inline constexpr bool is_pointee_v =
    is_container_v<T> || std::is_same_v<T, Tensor> || std::is_same_v<T, TensorPtr>;
template <class T>
using IfPointee = std::enable_if_t<is_pointee_v<std::remove_cv_t<T>>, int>;
/// Types that are neither elements, containers nor tensors.
template <class T>
using IfStruct =
    std::enable_if_t<!std::is_constructible_v<DataPtr, T*> && !is_pointee_v<std::remove_cv_t<T>>,
                     int>;
/// Types that are not element types.
template <class T>
using IfNoElement = std::enable_if_t<!std::is_constructible_v<DataPtr, T*>, int>;
/// Pointers to and containers of elements, except integers, which may be sizes.
template <class P>
using IfData = std::enable_if_t<std::is_pointer_v<std::decay_t<P>>
                                    ? !std::is_integral_v<std::remove_extent_t<P>>
                                    : is_container_v<P> && !std::is_constructible_v<Dims, const P&>,
                                int>;
template <class Number>
using IfInteger = std::enable_if_t<std::is_integral_v<Number>, int>;
template <class Number>
using IfNumber = std::enable_if_t<std::is_arithmetic_v<Number>, int>;
template <class T>
using IfTensor = std::enable_if_t<std::is_same_v<T, Tensor> || std::is_same_v<T, TensorPtr>, int>;
template <class C>
using IfContainer = std::enable_if_t<is_container_v<C>, int>;

/// A creator's strides and dim order; null if not given. Calls that pass only sizes do not link the
/// code for strides.
struct OrderAndStrides {
  const Dims* dim_order = nullptr;
  const Dims* strides = nullptr;
  const DimOrder* order = nullptr;  // the dim order as an option

  template <class T>
  void take([[maybe_unused]] const T& option) noexcept {
    if constexpr (std::is_same_v<T, Strides>) strides = &option.dims();
    if constexpr (std::is_same_v<T, StridesList>) strides = &option.list;
    if constexpr (std::is_same_v<T, DimOrder>) order = &option;
    if constexpr (std::is_same_v<T, DimOrderList>) dim_order = &option.list;
  }
};
template <class... Options>
OrderAndStrides order_and_strides_of(Options&... options) noexcept {
  OrderAndStrides given;
  (given.take(options), ...);
  return given;
}

/// The options of a new tensor, and the number of elements to allocate.
struct CreateOptions {
  ScalarType type;
  TensorShapeDynamism dynamism;
  bool has_type = false;           // whether an option gives the type
  Error error = Error::Ok;         // if the device is unknown or has no backend
  Device device;                   // where existing memory is; for new memory see `backend`
  Backend* requested = nullptr;    // the backend option; may be the host's heap
  Backend* backend = nullptr;      // allocates memory and metadata; null: heap
  Generator* generator = nullptr;  // null for the thread's default
  ptrdiff_t count = 1;             // elements to allocate, gaps included; see count_elements()

  /// Default options: on the heap, not the BackendScope's backend.
  explicit CreateOptions(ScalarType t,
                         TensorShapeDynamism d = TensorShapeDynamism::DYNAMIC_BOUND) noexcept
      : type(t), dynamism(d) {}

  size_t nbytes() const noexcept { return static_cast<size_t>(count) * elementSize(type); }

  void take(const TypeArg& option) noexcept {
    type = option.value_or(type);
    has_type = option.is_given();
  }
  void take(TensorShapeDynamism option) noexcept { dynamism = option; }
  void take(Device option) noexcept { device = option; }
  template <class D, std::enable_if_t<ForeignDevice<D>::value, int> = 0>
  void take(const D& option) noexcept {
    error = ForeignDevice<D>::convert(option, device);
  }
  void take(Generator& option) noexcept { generator = &option; }
  void take(Backend& option) noexcept { requested = &option; }
  template <class T, std::enable_if_t<is_layout_option_v<T>, int> = 0>
  void take(const T&) noexcept {}  // for OrderAndStrides
  /// New memory on a device comes from the backend registered for it; on the CPU, from the heap.
  TENON_TEMPLATE_INLINE void choose_device_backend() noexcept {
    if (error == Error::Ok) error = find_registered(device, requested);
    // After an error this must not be null, which would mean the heap: allocate_in_backend() then
    // returns the error.
    backend = error == Error::Ok ? null_if_heap(requested) : &host_backend();
  }
  void choose_backend() noexcept {
    backend = null_if_heap(requested != nullptr ? requested : current_backend());
  }
};

/// Reads the options. By default the type is `type`, the dynamism is DYNAMIC_BOUND, and the backend
/// is the one of the thread's innermost BackendScope, else the host's heap. A device option selects
/// the backend registered for the device; with kIsNew = false it says where existing memory is.
template <bool kIsNew = true, class... Options>
CreateOptions create_options_of(ScalarType type, Options&... options) noexcept {
  static_assert((... && (count_of<Options...>(option_of<Options>()) == 1)),
                "an option is given twice");
  static_assert(!(has_backend_v<Options...> && has_device_v<Options...>),
                "a backend says its device");
  CreateOptions opts(type);
  (opts.take(options), ...);
  if constexpr (kIsNew && has_device_v<Options...>) {
    opts.choose_device_backend();
  } else {
    opts.choose_backend();
  }
  return opts;
}

}  // namespace detail
TENON_END_NAMESPACE
