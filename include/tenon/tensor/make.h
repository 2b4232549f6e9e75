// SPDX-License-Identifier: MIT
// How every tensor is made: a Making says what of, make_over() and make_new() do it. They check
// everything, allocate aside, then commit. They leave the deleter and the values untouched unless
// they succeed, so that the caller's copy of the duty to release is what remains after a failure.
#pragma once

#include "tenon/core/result.h"
#include "tenon/kernels/convert.h"
#include "tenon/tensor/data.h"
#include "tenon/tensor/draft.h"
#include "tenon/tensor/kept.h"
#include "tenon/tensor/place.h"

TENON_BEGIN_NAMESPACE
namespace detail {

enum class Contents : uint8_t { Uninitialized, Zero };

/// Writes an element to all of `count` elements of host memory.
using FillFunction = void (*)(void* out, int64_t count, const void* element,
                              size_t element_size) noexcept;
/// Converts values to elements of `type`.
using ConvertFunction = Error (*)(ScalarType type, void* out, const Values& values) noexcept;

struct Making;
/// Makes the Layout that a Making says.
using LayOutFunction = Error (*)(const Making& making, size_t element_size,
                                 Layout& layout) noexcept;

/// How values become a tensor's elements.
enum class Intake : uint8_t { Copy, Cast, Reinterpret };

/// What a tensor is made of. What it points to is the caller's. What is not asked for is null, and
/// is not linked: functions are here as pointers for that.
struct Making {
  ScalarType type = ScalarType::Float;
  TensorShapeDynamism dynamism = TensorShapeDynamism::DYNAMIC_BOUND;
  Backend* backend = nullptr;  // whose memory a new one gets; null for the heap
  const Dims* sizes = nullptr;
  const Dims* dim_order = nullptr;  // for `lay_out`, as are the next two
  const Dims* strides = nullptr;
  const TensorFields* like = nullptr;  // the source of a _like or a clone
  LayOutFunction lay_out = nullptr;    // null for the row-major Layout of the sizes

  Error (*check_type)(ScalarType) noexcept = nullptr;  // null where the type is known

  // A new tensor's elements: one repeated, values, or none.
  Contents contents = Contents::Uninitialized;  // on the heap only
  const void* element = nullptr;
  FillFunction fill = nullptr;  // null where the element is zero
  Values* values = nullptr;
  Error (*check_values)(const Making&, const Layout&, size_t nbytes) noexcept = nullptr;
  ConvertFunction convert = nullptr;
  Intake intake = Intake::Copy;

  // Not an aggregate, which the compiler would clear with one slow instruction.
  explicit Making(ScalarType made = ScalarType::Float,
                  TensorShapeDynamism asked = TensorShapeDynamism::DYNAMIC_BOUND) noexcept
      : type(made), dynamism(asked) {}
};

/// A Making of a creator's options, of the given type unless they have one.
inline Making making_of(const CreatorOptions& options, ScalarType otherwise) noexcept {
  Making making;
  making.type = options.type.value_or(otherwise);
  making.dynamism = options.dynamism;
  making.backend = options.backend();
  making.check_type = options.check_type();
  return making;
}

/// Lays out the sizes by strides and dim order; row-major without them.
TENON_LAZY Error lay_out_given(const Making& making, size_t element_size, Layout& layout) noexcept {
  const Dims none;
  return make_layout(*making.sizes, making.dim_order == nullptr ? none : *making.dim_order,
                     making.strides == nullptr ? none : *making.strides, element_size, layout);
}
/// For a tensor that owns its memory: refuses negative and overlapping strides.
TENON_LAZY Error lay_out_owned(const Making& making, size_t element_size, Layout& layout) noexcept {
  TENON_TRY(lay_out_given<>(making, element_size, layout));
  if (TENON_UNLIKELY(!layout.row_major && (layout.offsets.min < 0 || layout.may_overlap()))) {
    return fail(Error::InvalidArgument, "strides ", layout.strides(), " for sizes ", layout.sizes(),
                layout.offsets.min < 0 ? " are negative" : " may overlap",
                "; a tensor that owns its memory needs distinct elements at positive strides");
  }
  return Error::Ok;
}
/// The source's layout, made dense.
TENON_LAZY Error lay_out_like(const Making& making, size_t element_size, Layout& layout) noexcept {
  const Layout& from = making.like->layout;
  if (from.row_major) return Layout::dense(from.sizes(), nullptr, element_size, layout);
  TENON_TRY(Layout::dense(from.sizes(), from.dim_order().data(), element_size, layout));
  // Dense strides can still differ from these in dimensions of size 1 and in shapes without
  // elements.
  if (from.is_dense()) layout = from;
  return layout.check(element_size);
}
inline Error lay_out(const Making& making, size_t element_size, Layout& layout) noexcept {
  if (making.lay_out != nullptr) return making.lay_out(making, element_size, layout);
  TENON_TRY(check_dims("sizes", *making.sizes));
  return Layout::dense(*making.sizes, nullptr, element_size, layout);
}

/// The lists that an overload has: nothing, or those.
struct Strides {
  const Dims* dim_order;
  const Dims* strides;
};
inline void set_strides(Making&, LayOutFunction, std::nullptr_t) noexcept {}
inline void set_strides(Making& making, LayOutFunction lay_out, const Strides& given) noexcept {
  making.dim_order = given.dim_order;
  making.strides = given.strides;
  making.lay_out = lay_out;
}

/// Existing memory.
struct Memory {
  const DataPtr& data;
  Device device;
  Deleter& deleter;
  BackendState* metadata;  // where the tensor's metadata goes; null for the heap
};

inline Error check_cast(ScalarType from, ScalarType to,
                        CastMode mode = CastMode::Checked) noexcept {
  TENON_TRY(check_type(to));
  if (TENON_UNLIKELY(mode == CastMode::Checked && from != to && !canCast(from, to))) {
    return fail(Error::InvalidType, "values of ", from, " cannot be cast to ", to,
                " here: convert explicitly with to(t, ScalarType::", to, ", CastMode::Truncate)");
  }
  return Error::Ok;
}

// --- What is returned ---------------------------------------------------------------------------

/// The value, or the error under the name of `function`, thrown or as a Result.
template <class Out, class T>
Out finish_value(const char* function, Error error, T&& value) {
  if constexpr (IsResult<Out>::value) {
    if (TENON_UNLIKELY(error != Error::Ok)) return blame(function, error);
  } else {
    raise_if(function, error);
  }
  return Out(std::forward<T>(value));
}

/// Where tensors in a backend's memory keep their metadata; null for the heap.
inline BackendState* metadata_in(Backend* backend) noexcept {
  return TENON_UNLIKELY(backend != nullptr) ? BackendAccess::hooks(*backend).metadata(*backend)
                                            : nullptr;
}
TENON_LAZY TENON_NOINLINE void tell_made(Backend& backend, const TensorFields& made,
                                         const char* function) noexcept {
  backend.on_made(
      {made.data, public_type(made.type), made.layout.sizes(), made.layout.strides(), function});
}

template <class Out>
struct ReturnedValue {
  using type = Out;
};
template <class T>
struct ReturnedValue<Result<T>> {
  using type = T;
};

/// What a creator returns, in the making: `Made<Out> made; return made.finish(name, make_x(…,
/// made.draft()));` commit() says before that whether anything is left that can fail.
template <class Out>
class Made : public Slot<typename ReturnedValue<Out>::type> {
 public:
  using Slot<typename ReturnedValue<Out>::type>::Slot;
  /// With the handle where a new tensor in the memory of `backend` has it, unless that is null.
  explicit Made(Backend* backend) noexcept : Made(metadata_in(backend)) {}

  /// The value, or the error under the name of `function`, thrown or as a Result.
  Out finish(const char* function, Error error) {
    if (error == Error::Ok) error = this->commit();
    return finish_value<Out>(function, error, this->take());
  }
  /// The same, and tells `backend`, unless that is null.
  Out finish(const char* function, Error error, Backend* backend) {
    if (error == Error::Ok) error = this->commit();
    if (TENON_UNLIKELY(backend != nullptr) && error == Error::Ok) {
      tell_made(*backend, fields(this->draft()), function);
    }
    return finish_value<Out>(function, error, this->take());
  }
};

/// Makes a tensor with memory of its own by `make(making, made)`. A backend is told.
template <class Out, class Make>
Out create(const char* function, Making& making, const Make& make) {
  Made<Out> made(making.backend);
  const Error error = make(making, made);
  return made.finish(function, error, making.backend);
}
/// The same with a creator's options, and the type unless they give one.
template <class Out, class Make>
Out create(const char* function, const CreatorOptions& options, ScalarType otherwise,
           const Make& make) {
  Making making = making_of(options, otherwise);
  return create<Out>(function, making, make);
}

// --- Over memory that is there ------------------------------------------------------------------

/// Whether memory that came as a pointer may hold elements of `type`.
TENON_LAZY Error check_pointer_type(const DataPtr& data, ScalarType type) noexcept {
  TENON_TRY(check_type(type));
  if (TENON_UNLIKELY(!data.is_raw() && type != data.type())) {
    return fail(Error::InvalidType, "the data pointer is to ", data.type(), ", the type given is ",
                type, "; pass a void* to reinterpret the bytes");
  }
  return Error::Ok;
}

/// A tensor over memory that came as a pointer, with or without a deleter.
TENON_COMPILED_ONCE Error make_over(const Making& making, const Memory& memory,
                                    Draft& draft) noexcept {
  const DataPtr& data = memory.data;
  if (TENON_UNLIKELY(memory.deleter.error() != Error::Ok)) {
    return fail_no_memory("the deleter");
  }
  TENON_TRY(new_impl(draft, memory.metadata));
  ImplFields& made = fields(draft);
  TENON_TRY(lay_out(making, elementSize(making.type), made.layout));
  if (TENON_UNLIKELY(data.get() == nullptr && made.layout.numel != 0 && !data.is_placeholder() &&
                     memory.device.type() != DeviceType::Template)) {
    return fail(Error::InvalidArgument, "the data is null, but sizes ", made.layout.sizes(),
                " hold ", made.layout.numel, " elements; a literal nullptr makes a placeholder");
  }
  made.data = data.get();
  made.type = making.type;
  made.device = memory.device;
  made.readonly = data.is_readonly();
  made.settle(making.dynamism);
  if (memory.deleter) {
    made.ownership = Ownership::Adopted;
    made.deleter.fill(std::move(memory.deleter));
  }
  return Error::Ok;
}
/// make_over() of what an importer found: a pointer, lists, and a type or the pointer's.
TENON_LAZY Error make_from_pointer(const DataPtr& data, const Dims& sizes, const Dims& dim_order,
                                   const Dims& strides, const TypeArg& type,
                                   TensorShapeDynamism dynamism, const Device& device,
                                   Deleter& deleter, Draft& draft,
                                   BackendState* metadata = nullptr) noexcept {
  Making making;
  making.type = type.value_or(data.type());
  making.dynamism = dynamism;
  making.sizes = &sizes;
  making.dim_order = &dim_order;
  making.strides = &strides;
  making.lay_out = &lay_out_given<>;
  TENON_TRY(check_pointer_type(data, making.type));
  return make_over(making, {data, device, deleter, metadata}, draft);
}

/// Says that memory is a backend's.
inline void set_backend(BackendState& state, TensorFields& made) noexcept {
  made.backend = &state;
  made.device = state.device;
  made.opaque = state.opaque;
}

/// Registers borrowed memory with its backend, so that the backend counts it.
TENON_LAZY TENON_NOINLINE Error name_backend(Backend& backend, Draft& draft) noexcept {
  if (BackendAccess::is_host_heap(backend)) return Error::Ok;
  BackendState* const state = known_state(backend);
  ImplFields& made = fields(draft);
  // The block of the metadata already counts as one in use.
  if (state != nullptr && made.metadata == state) {
    set_backend(*state, made);
    return Error::Ok;
  }
  void* nothing = nullptr;
  TENON_TRY(allocate_from(backend, state, 0, nothing));
  Deleter release(nullptr, ReleaseToBackend{state, 0});
  set_backend(*state, made);
  made.deleter = chain(std::move(made.deleter), std::move(release));
  if (TENON_UNLIKELY(made.deleter.error() != Error::Ok)) {
    return fail_no_memory("the deleter");
  }
  return Error::Ok;
}

/// Checks borrowed memory with its device's backend, and registers it with `given`, unless null.
/// Called only where a device may be named, so that who names no device links no check.
TENON_LAZY Error check_and_name_backend(Backend* given, Draft& draft) noexcept {
  const TensorFields& made = fields(draft);
  TENON_TRY(check_memory(made.device, made.data, made.type, made.layout, given));
  return given == nullptr ? Error::Ok : name_backend(*given, draft);
}

/// A tensor over memory of the caller's, which `deleter` releases. A backend among the options is
/// whose memory it is, a device where it is; the thread's default backend may keep the metadata, no
/// more.
template <class Out, class Given, class F, class... Options>
Out create_over(const char* function, const DataPtr& data, const Dims& sizes, Given strides,
                F deleter, Options&... options) {
  static_assert(!(has_device_v<Options...> && has_backend_v<Options...>),
                "a backend says its device");
  Deleter release(data.get(), std::move(deleter));
  const OptionsWithDevice asked(options...);
  Making making;
  making.type = asked.type.value_or(data.type());
  making.dynamism = asked.dynamism;
  making.sizes = &sizes;
  set_strides(making, &lay_out_given<>, strides);
  BackendState* const metadata = metadata_in(asked.backend());
  Made<Out> made(metadata);
  if constexpr (has_type_v<Options...>) {
    const Error error = check_pointer_type(data, making.type);
    if (TENON_UNLIKELY(error != Error::Ok)) return made.finish(function, error);
  }
  Backend* const backend = asked.given_backend();
  Device device = asked.device;
  if constexpr (has_backend_v<Options...>) device = backend->device();
  Error error = make_over(making, {data, device, release, metadata}, made.draft());
  if constexpr (may_be_on_device_v<Options...>) {
    if (error == Error::Ok) error = check_and_name_backend(backend, made.draft());
  } else if constexpr (has_backend_v<Options...>) {
    if (error == Error::Ok) error = name_backend(*backend, made.draft());
  }
  return made.finish(function, error);
}

// --- With memory of its own ---------------------------------------------------------------------

/// Checks that the values are as many as `reach` elements of `nbytes` need.
TENON_LAZY Error check_values(const Making& making, const Layout& layout, size_t nbytes) noexcept {
  const Values& values = *making.values;
  if (TENON_UNLIKELY(values.error() != Error::Ok)) {
    return fail(values.error(), TENON_OUT_OF_MEMORY " to keep ", values.count(), " values");
  }
  const auto reach = static_cast<size_t>(layout.required_span_size());
  const bool bytes = making.intake == Intake::Reinterpret;
  const size_t needed = bytes ? nbytes : reach;
  if (TENON_UNLIKELY(values.count() != needed)) {
    // As many as elements: values were meant.
    const bool meant = bytes && values.count() == reach;
    return fail(Error::InvalidArgument, values.count(), bytes ? " bytes" : " values",
                " were given, sizes ", layout.sizes(),
                making.strides == nullptr || making.strides->empty() ? "" : " with these strides",
                " need ", needed,
                meant ? "; with sizes and a type, bytes are memory of that type: to convert "
                        "values, make the tensor without a type, and call to()"
                      : "");
  }
  return Error::Ok;
}

/// Writes what a Making says to `nbytes` bytes of host memory.
TENON_LAZY Error write_elements(const Making& making, void* out, size_t nbytes) noexcept {
  if (making.values != nullptr) {
    if (making.values->count() == 0) return Error::Ok;  // nothing to copy, and data() may be null
    if (making.intake == Intake::Cast) return making.convert(making.type, out, *making.values);
    std::memcpy(out, making.values->data(), nbytes);
  } else if (making.fill != nullptr) {
    const size_t size = elementSize(making.type);
    making.fill(out, static_cast<int64_t>(nbytes / size), making.element, size);
  } else {
    std::memset(out, 0, nbytes);
  }
  return Error::Ok;
}

/// make_new() in a backend's memory.
TENON_COMPILED_ONCE TENON_NOINLINE Error make_in_backend(const Making& making, Layout&& layout,
                                                         size_t nbytes, Draft& draft) noexcept {
  Backend& backend = *making.backend;
  BackendState* const state = BackendAccess::hooks(backend).state(backend);
  BackendState* const metadata = metadata_of(state);
  const bool is_small = metadata != nullptr && metadata == state && is_inline_size(nbytes);
  TENON_TRY(new_impl(draft, metadata, is_small ? inline_room(nbytes) : 0));
  ImplFields& made = fields(draft);
  if (is_small) {
    made.data = inline_data(draft);
  } else {
    const bool has_memory = state == nullptr || state->device.type() != DeviceType::Template;
    const size_t taken = has_memory ? nbytes : 0;
    TENON_TRY(BackendAccess::hooks(backend).allocate(backend, state, taken, made.data));
    made.deleter.emplace(made.data, ReleaseToBackend{state, taken});
  }
  made.ownership = Ownership::Owned;
  set_backend(*state, made);
  made.set_layout(std::move(layout));
  made.type = making.type;
  made.settle(making.dynamism);
  if ((making.element == nullptr && making.values == nullptr) || made.is_template()) {
    return Error::Ok;
  }
  return BackendAccess::hooks(backend).write(
      backend,
      {made.data, made.type, made.is_host_accessible(), made.device,
       made.layout.required_span_size()},
      making.element, [&](void* out) noexcept { return write_elements(making, out, nbytes); });
}

/// A tensor with memory of its own: the heap's or a backend's, or the values', which are adopted.
TENON_COMPILED_ONCE Error make_new(const Making& making, Draft& draft) noexcept {
  if (making.check_type != nullptr) TENON_TRY(making.check_type(making.type));
  Values* const values = making.values;
  const size_t element_size = elementSize(making.type);
  Layout layout;
  TENON_TRY(lay_out(making, element_size, layout));
  const size_t nbytes = static_cast<size_t>(layout.required_span_size()) * element_size;
  if (making.check_values != nullptr) TENON_TRY(making.check_values(making, layout, nbytes));
  if (TENON_UNLIKELY(making.backend != nullptr)) {
    return make_in_backend(making, std::move(layout), nbytes, draft);
  }
  const bool adopts =
      values != nullptr && values->is_adoptable() && making.intake != Intake::Cast &&
      reinterpret_cast<uintptr_t>(values->data()) % (element_size < 16 ? element_size : 16) == 0;
  const bool is_small = is_inline_size(nbytes);
  const bool zeroed = making.contents == Contents::Zero;
  Allocation memory{nullptr, nullptr};
  if (!adopts && !is_small) {
    memory = zeroed ? allocate_zeroed(nbytes) : allocate(nbytes);
    if (TENON_UNLIKELY(memory.base == nullptr)) return fail_memory(nbytes);
  }
  const Error error = new_impl(draft, nullptr, is_small && !adopts ? inline_room(nbytes) : 0);
  if (TENON_UNLIKELY(error != Error::Ok)) {
    heap_release(memory.base);
    return error;
  }
  ImplFields& made = fields(draft);
  made.set_layout(std::move(layout));
  made.type = making.type;
  made.settle(making.dynamism);
  if (adopts) {
    made.data = const_cast<void*>(values->data());
    made.ownership = Ownership::Adopted;
    made.deleter.fill(std::move(values->owner()));
    return Error::Ok;
  }
  if (is_small) {
    made.data = inline_data(draft);
    made.ownership = Ownership::Owned;
    if (zeroed) std::memset(made.data, 0, nbytes);
  } else {
    own_block(memory, made);
  }
  if (values == nullptr && making.fill == nullptr) return Error::Ok;
  return write_elements(making, made.data, nbytes);
}

/// create() of what a Making says.
template <class Out>
Out create_new(const char* function, const Making& making) {
  Made<Out> made(making.backend);
  const Error error = make_new(making, made.draft());
  return made.finish(function, error, making.backend);
}

/// A dense tensor of these lists with memory of its own.
TENON_LAZY Error make_owned(const Dims& sizes, const Dims& dim_order, Making making,
                            Contents contents, Draft& draft) noexcept {
  making.sizes = &sizes;
  making.dim_order = &dim_order;
  making.lay_out = &lay_out_owned<>;
  making.contents = contents;
  making.check_type = &check_type;
  return make_new(making, draft);
}

/// Decides how values become elements of the type that was given.
TENON_LAZY Error plan_intake(Making& making, bool flat, bool type_is_given) noexcept {
  const Values& values = *making.values;
  if (values.is_bytes() && !flat && type_is_given) {
    // A container of bytes with a shape and a type is memory to be taken as that type.
    making.intake = Intake::Reinterpret;
    return Error::Ok;
  }
  if (making.type == values.type()) return Error::Ok;
  making.intake = Intake::Cast;
  return check_cast(values.type(), making.type);
}

/// Converts values; each one of a list must fit.
TENON_LAZY Error convert_values(ScalarType type, void* out, const Values& values) noexcept {
  if (!values.is_checked()) {
    convert_elements(type, out, values.type(), values.data(), static_cast<int64_t>(values.count()),
                     CastMode::Checked);
    return Error::Ok;
  }
  auto* to = static_cast<char*>(out);
  auto* from = static_cast<const char*>(values.data());
  for (size_t i = 0; i < values.count(); ++i) {
    TENON_TRY(store_scalar(type, load_scalar(values.type(), from), to));
    to += elementSize(type);
    from += elementSize(values.type());
  }
  return Error::Ok;
}

/// A tensor of values. A `flat` one has the values' own sizes; `strides` may be null.
template <class Out, class Given, class... Options>
Out create_of_values(const char* function, Values& values, const Dims& sizes, bool flat,
                     const Given& strides, Options&... options) {
  values.take();
  const CreatorOptions asked(options...);
  Making making = making_of(asked, values.type());
  making.sizes = &sizes;
  set_strides(making, &lay_out_owned<>, strides);
  making.values = &values;
  // A flat tensor has as many values as its size says.
  if (!flat || values.error() != Error::Ok) making.check_values = &check_values<>;
  // Without a type, values are elements as they are.
  if constexpr (has_type_v<Options...>) {
    making.convert = &convert_values<>;
    const Error error = plan_intake(making, flat, asked.type.is_given());
    if (TENON_UNLIKELY(error != Error::Ok)) return Made<Out>().finish(function, error);
  }
  return create_new<Out>(function, making);
}

/// Copies one element.
inline void copy_element(void* out, int64_t count, const void* element, size_t size) noexcept {
  if (count == 1) std::memcpy(out, element, size);
}
/// A 0-d tensor of the element at `element`, 16 bytes of which can be read.
template <class Out>
Out create_of_element(const char* function, const void* element, const CreatorOptions& options,
                      ScalarType otherwise) {
  const Dims rank_0;
  Making making = making_of(options, otherwise);
  making.sizes = &rank_0;
  making.element = element;
  making.fill = &copy_element;
  return create_new<Out>(function, making);
}
/// A 0-d tensor of a value, which must fit the type.
template <class Out>
Out create_scalar(const char* function, const Scalar& value, const CreatorOptions& options,
                  ScalarType otherwise) {
  alignas(16) unsigned char element[16] = {};
  const Error error = store_scalar(options.type.value_or(otherwise), value, element);
  if (TENON_UNLIKELY(error != Error::Ok)) return Made<Out>().finish(function, error);
  return create_of_element<Out>(function, element, options, otherwise);
}

// --- Views --------------------------------------------------------------------------------------

/// Makes `made`, whose layout is there, a view of `source` as elements of `type`; its element 0 is
/// `storage_offset` of those from the source's. Keeps the memory alive, and counts as a borrow.
TENON_LAZY Error attach_view(const TensorArg& source, ScalarType type, int64_t storage_offset,
                             ImplFields& made) noexcept {
  const TensorFields& from = fields(source);
  const OffsetRange& old = from.layout.offsets;
  const OffsetRange& offsets = made.layout.offsets;  // without elements min, which may be the end
  const auto old_size = static_cast<int64_t>(elementSize(from.type));
  const auto size = static_cast<int64_t>(elementSize(type));
  int64_t start = 0;  // in bytes from the source's element 0, like what follows
  int64_t begin = 0;
  int64_t end = 0;
  if (TENON_UNLIKELY(!multiply(storage_offset, size, start) ||
                     !add(start, offsets.min * size, begin) ||
                     !add(start, (offsets.max + 1) * size, end) || begin < old.min * old_size ||
                     end > (old.max + 1) * old_size)) {
    return fail(Error::OutOfBounds, "a view of sizes ", made.layout.sizes(), ", strides ",
                made.layout.strides(), " at offset ", storage_offset,
                " reaches beyond the source's elements at offsets ", old.min, " to ", old.max);
  }
  if (from.data != nullptr) made.data = static_cast<char*>(from.data) + start;
  made.type = type;
  made.device = from.device;
  made.opaque = from.opaque;
  made.backend = from.backend;
  made.ownership = Ownership::View;
  made.readonly = from.readonly;
  made.settle(from.dynamism);
  keep_memory(source, made);
  return Error::Ok;
}

/// Where a view of a tensor, or a handle to it, lies: where its metadata does; if that is the heap,
/// where the thread's default backend keeps metadata.
TENON_LAZY BackendState* metadata_like(const TensorArg& source) noexcept {
  BackendState* const own = source.defined() ? metadata_beside(fields(source)) : nullptr;
  return own != nullptr ? own : metadata_in(current_backend());
}

/// A tensor of its own metadata over the memory of `source`. Empty lists stand for the source's.
TENON_COMPILED_ONCE Error make_view(const TensorArg& source, const Dims& sizes,
                                    const Dims& dim_order, const Dims& strides,
                                    int64_t storage_offset, Draft& draft) noexcept {
  TENON_TRY(check_defined(source, "the source tensor"));
  TENON_TRY(check_dims("sizes", sizes));
  TENON_TRY(check_dims("dim_order", dim_order));
  TENON_TRY(check_dims("strides", strides));
  const TensorFields& from = fields(source);
  const Layout& old = from.layout;
  TENON_TRY(new_impl(draft, metadata_like(source)));
  Layout& layout = fields(draft).layout;
  const size_t element_size = elementSize(from.type);
  const bool has_old_sizes = sizes.empty() || sizes == old.sizes();
  const ArrayRef<int64_t> new_sizes = sizes.empty() ? old.sizes() : ArrayRef<int64_t>(sizes);
  if (!dim_order.empty() || !strides.empty() || new_sizes.size() != old.rank()) {
    TENON_TRY(
        Layout::strided(new_sizes, ArrayRef<int64_t>(dim_order), strides, element_size, layout));
  } else if (has_old_sizes) {
    layout = old;
    TENON_TRY(layout.check(element_size));
  } else {
    TENON_TRY(Layout::dense(sizes, old.dim_order().data(), element_size, layout));
  }
  return attach_view(source, from.type, storage_offset, fields(draft));
}

}  // namespace detail
TENON_END_NAMESPACE
