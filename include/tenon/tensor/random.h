// SPDX-License-Identifier: MIT
// rand, randn, randint, uniform and normal with their _like and _strided forms, and uniform_,
// normal_ and random_, which fill existing tensors.
//
// In row-major order, element i depends only on the generator's seed and offset + i. Making n
// elements advances the generator by n; an error does not advance it. docs/random.md has the
// definitions.
//
// As in creators.h, the tensors own aligned memory, and try_ forms return a Result.
#pragma once

#include "tenon/kernels/random_plan.h"
#include "tenon/kernels/read_elements.h"
#include "tenon/tensor/copy.h"

TENON_BEGIN_NAMESPACE

namespace detail {

/// Writes elements [begin, end) in row-major order to strided memory, through chunks.
TENON_TEMPLATE_INLINE void random_strided(const RandomPlan& plan, const Generator::State& start,
                                          int64_t begin, int64_t end,
                                          const TensorView& dst) noexcept {
  alignas(16) char chunk[16 * kShortChunk];
  const auto size = static_cast<int64_t>(elementSize(plan.type));
  const auto most = static_cast<int64_t>(sizeof chunk / elementSize(plan.type));
  RowMajorWalk walk(dst, begin);
  for (int64_t n = 0; begin < end; begin += n) {
    const uint64_t element = start.offset + static_cast<uint64_t>(begin);
    const int64_t room = most - static_cast<int64_t>(element % 4);
    n = end - begin < room ? end - begin : room;
    random_elements(plan, start.seed, element, n, chunk);
    for (int64_t i = 0; i < n;) {
      const RowMajorWalk::Run run = walk.next(n - i);
      copy_strided(run.data, run.stride, chunk + i * size, size, run.count,
                   static_cast<size_t>(size));
      i += run.count;
    }
  }
}

/// Writes elements to host memory, which is consecutive if `is_row`.
TENON_TEMPLATE_INLINE Error random_to(const RandomPlan& plan, const Generator::State& start,
                                      int64_t numel, bool is_row, const TensorView& dst) noexcept {
  if (is_row) {
    random_elements(plan, start.seed, start.offset, numel, dst.data);
  } else {
    const size_t nbytes = static_cast<size_t>(numel) * elementSize(plan.type);
    parallel_for(numel, kRandomChunk, nbytes,
                 [&](int64_t begin, int64_t end) { random_strided(plan, start, begin, end, dst); });
  }
  return Error::Ok;
}

/// Fills a backend's memory: by the backend if it can make the numbers, else through host memory.
TENON_TEMPLATE_INLINE TENON_NOINLINE Error fill_random_in_backend(
    const TensorFields& tensor, const RandomPlan& plan, const Generator::State& start) noexcept {
  LocationWithLists out;
  TENON_TRY(find_location(tensor, "the tensor", out));
  TENON_TRY(out.keep_lists());
  const int64_t numel = tensor.layout.numel;  // the backend's code may resize the tensor
  const bool is_row = out.backend != nullptr || tensor.layout.is_contiguous();
  const double* const arguments = plan.arguments;
  constexpr const char* kNames[] = {"random_uniform", "random_normal", "random_integers"};
  return fill_location(
      tensor, out, kNames[static_cast<size_t>(plan.distribution)],
      [&](Backend& backend, const auto& view) {
        if (plan.distribution == Distribution::Uniform) {
          return backend.random_uniform(view, arguments[0], arguments[1], start);
        }
        if (plan.distribution == Distribution::Normal) {
          return backend.random_normal(view, arguments[0], arguments[1], start);
        }
        // Does not use plan.last, which may be rounded to a value of the type.
        const uint64_t last = static_cast<uint64_t>(plan.low) + plan.range - 1;
        return backend.random_integers(view, plan.low, static_cast<int64_t>(last), start);
      },
      [&](const TensorView& view) noexcept { return random_to(plan, start, numel, is_row, view); });
}

/// Fills a tensor by a plan for its type. Advances the generator unless the fill fails.
TENON_TEMPLATE_INLINE Error fill_random_fields(const TensorFields& tensor, const RandomPlan& plan,
                                               Generator& generator) noexcept {
  const Layout& layout = tensor.layout;
  const int64_t numel = layout.numel;
  if (numel == 0 || tensor.is_meta()) return Error::Ok;
  const Generator::State start = generator.state();
  if (tensor.data_backend != nullptr || !tensor.is_host_accessible()) {
    TENON_TRY(fill_random_in_backend(tensor, plan, start));
  } else {
    TENON_TRY(random_to(plan, start, numel, layout.is_contiguous(), view_of(tensor)));
  }
  static_cast<void>(generator.advance(static_cast<uint64_t>(numel)));
  return Error::Ok;
}

/// Fills a tensor by a plan for its type; in ATen mode libtorch fills it, if it can.
template <class Arg>  // TensorArg: plain mode has no fill_random_in_aten()
Error fill_random(const Arg& tensor, const RandomPlan& plan, Generator& generator) noexcept {
  if constexpr (kHasOwnTensors) {
    return fill_random_fields(fields(tensor), plan, generator);
  } else {
    return fill_random_in_aten(tensor, plan, generator);
  }
}

/// The distribution of rand() without a type.
struct UnitFloats {
  template <class = void>
  static Error plan(RandomPlan& plan, ScalarType) noexcept {
    plan_unit_floats(plan);
    return Error::Ok;
  }
};
/// Distributions. Each has a template plan(), the default type, and the distribution that is used
/// if neither arguments nor a type are given.
struct UniformKind {
  using Plain = UnitFloats;
  static constexpr ScalarType kType = ScalarType::Float;
  template <class = void>
  static Error plan(RandomPlan& plan, ScalarType type, double low = 0, double high = 1) noexcept {
    return plan_uniform(plan, type, low, high);
  }
};
struct NormalKind {
  using Plain = NormalKind;
  static constexpr ScalarType kType = ScalarType::Float;
  template <class = void>
  static Error plan(RandomPlan& plan, ScalarType type, double mean = 0, double sd = 1) noexcept {
    return plan_normal(plan, type, mean, sd);
  }
};
struct IntegersKind {
  using Plain = IntegersKind;
  static constexpr ScalarType kType = ScalarType::Int;
  template <class = void>
  static Error plan(RandomPlan& plan, ScalarType type, DimArg low, DimArg high) noexcept {
    if (!low.fits || !high.fits) {
      return fail(Error::InvalidArgument, "an unsigned bound is above int64_t's range");
    }
    return plan_integers_below(plan, type, low, high);
  }
  template <class = void>
  static Error plan(RandomPlan& plan, ScalarType type) noexcept {
    return plan_all_integers(plan, type);
  }
};

/// Makes and fills a tensor. Advances the generator only after all memory is allocated.
template <class Out, class Kind, class Shape, class... Arguments>
Out make_random(const char* function, const Shape& shape, bool zeroed, CreateOptions& opts,
                Arguments... arguments) {
  RandomPlan random;
  NewTensor tensor;
  Error error = Kind::plan(random, opts.type, arguments...);
  if (error == Error::Ok) error = make_owned(shape, opts, zeroed, tensor);
  if (error != Error::Ok) return return_to_user<Out>(function, error);
  const TensorFields& made = fields(tensor);  // the handle keeps the impl
  typename IsResult<Out>::Value handle;
  error = make_first_handle(tensor, handle);
  if (error == Error::Ok) {
    error = fill_random(TensorArg(handle), random,
                        opts.generator != nullptr ? *opts.generator : default_generator());
  }
  if (error == Error::Ok && opts.backend != nullptr) notify_created(*opts.backend, made, function);
  return return_to_user<Out>(function, error, std::move(handle));
}

template <class Kind, class... Arguments>
Error fill_tensor_randomly(const char* function, const TensorArg& tensor, Generator& generator,
                           Arguments... arguments) noexcept {
  RandomPlan plan;
  HeldLocation out;
  Error error = find_destination(tensor, "the tensor", out);
  if (error == Error::Ok) error = Kind::plan(plan, fields(tensor).type, arguments...);
  if (error == Error::Ok) error = out.keep_while_asking(tensor, false);
  if (error == Error::Ok) error = fill_random(tensor, plan, generator);
  clear_after_baseline();  // even without a kernel: making the plan may use them
  return add_context_if(function, error);
}

}  // namespace detail

namespace detail {  // function objects

// Out is TensorPtr or, in the try_ forms, Result<TensorPtr>; Arguments are the distribution's.

/// Options: in any order, a type, by default Float (Int for randint()); a dynamism, by default
/// DYNAMIC_BOUND; a generator, which may be a temporary, by default the thread's; a backend or a
/// device, by default the thread's; `Strides{3, 1}` and `DimOrder{1, 0}`. The numbers are the same
/// in all backends.
/// Ownership: owns its memory.
/// Errors: those of empty().
/// Cost: that of empty(), and O(elements).
template <class Out, class Kind, class... Arguments>
struct Random {
  const char* function;
  template <class... Options, IfAnyOptions<Options...> = 0>
  Out operator()(Arguments... arguments, const Dims& sizes, Options&&... options) const {
    CreateOptions opts = create_options_of(Kind::kType, options...);
    if constexpr (has_layout_v<Options...>) {
      Layout layout;
      const OrderAndStrides given = order_and_strides_of(options...);
      const Error error = lay_out_new(sizes, given, opts.type, layout);
      if (error != Error::Ok) return return_to_user<Out>(function, error);
      // Gaps are zeros on the host's heap.
      const bool zeroed = given.strides != nullptr && !given.strides->empty();
      return make_random<Out, Kind>(function, layout, zeroed, opts, arguments...);
    } else {
      constexpr bool kIsPlain = sizeof...(Arguments) == 0 && !has_type_v<Options...>;
      using Planned = std::conditional_t<kIsPlain, typename Kind::Plain, Kind>;
      return make_random<Out, Planned>(function, sizes, false, opts, arguments...);
    }
  }
  template <class NumberNeedsBraces, class... More, IfInteger<NumberNeedsBraces> = 0>
  Out operator()(Arguments..., NumberNeedsBraces, More&&...) const
      TENON_MISTAKE("sizes need braces, as in rand({3})");
  template <class TensorNeedsLike, class... More, IfTensor<TensorNeedsLike> = 0>
  Out operator()(Arguments..., const TensorNeedsLike&, const More&...) const
      TENON_MISTAKE("randn_like(t) makes a tensor of t's sizes; so do the others");
  template <class... TextNeedsDevice, IfText<TextNeedsDevice...> = 0>
  Out operator()(Arguments..., const Dims&, TextNeedsDevice&&...) const
      TENON_MISTAKE("a device is Device(\"cuda\"), not text alone");
  template <class... TypeDynamismBackendDeviceOrGenerator,
            IfNotOptions<TypeDynamismBackendDeviceOrGenerator...> = 0>
  Out operator()(Arguments..., const Dims&, TypeDynamismBackendDeviceOrGenerator&&...) const
      TENON_MISTAKE(
          "options are types, dynamisms, backends with a name, generators, and Device(\"cuda\")");
};
/// Gaps between the elements are zeros on the host's heap.
/// Options: those of randn(), but for the layout.
/// Ownership: owns its memory.
/// Errors: those of the form with sizes alone.
template <class Out, class Kind, class... Arguments>
struct RandomStrided {
  const char* function;
  template <class... Options, IfAnyOptions<Options...> = 0>
  Out operator()(Arguments... arguments, const Dims& sizes, const StridesArg& strides,
                 Options&&... options) const {
    const StridesList list{strides};
    return Random<Out, Kind, Arguments...>{function}(arguments..., sizes, list, options...);
  }
};
/// Options: in any order, a type, by default the source's; a dynamism; a generator, which may be a
/// temporary, by default the thread's; a backend or a device, by default the source's.
/// Ownership: owns its memory.
/// Errors: those of the form with sizes, and those of empty_like().
template <class Out, class Kind, class... Arguments>
struct RandomLike {
  const char* function;
  template <class... Options, IfOptionsOrGenerator<Options...> = 0>
  Out operator()(ConstTensorArg source, Arguments... arguments, Options&&... options) const {
    CreateOptions opts = create_options_of(own::ScalarType::Undefined, options...);
    NewTensor placeholder;
    Layout layout;
    const Error error = begin_like(source, opts, layout, placeholder);
    if (error != Error::Ok || placeholder != nullptr) {
      return return_to_user<Out>(function, error, placeholder);
    }
    return make_random<Out, Kind>(function, layout, false, opts, arguments...);
  }
};

}  // namespace detail

// A creator and its try_ form, which returns a Result.
#define TENON_RANDOM(name, Form, ...)                                \
  inline constexpr detail::Form<TensorPtr, __VA_ARGS__> name{#name}; \
  inline constexpr detail::Form<Result<TensorPtr>, __VA_ARGS__> try_##name { "try_" #name }

/// Numbers that are uniform in [0, 1).
///
/// In floating types shorter than Float the values are rounded down, so none reaches 1. Integral
/// types truncate the values; Bool is true unless the value is 0. The two parts of a complex
/// element are independent.
/// Options: those of randn().
/// Ownership: owns its memory.
/// Errors: those of empty().
/// Source: at::rand, executorch::extension::rand.
///
/// A function, unlike the others: after `using namespace tenon` it overloads the C library's.
template <class... Options, detail::IfAnyOptions<Options...> = 0>
TensorPtr rand(const Dims& sizes, Options&&... options) {
  return detail::Random<TensorPtr, detail::UniformKind>{"rand"}(sizes, options...);
}
template <class NumberNeedsBraces, class... More, detail::IfInteger<NumberNeedsBraces> = 0>
TensorPtr rand(NumberNeedsBraces, More&&...) TENON_MISTAKE("sizes need braces, as in rand({3})");
template <class TensorNeedsLike, class... More, detail::IfTensor<TensorNeedsLike> = 0>
TensorPtr rand(const TensorNeedsLike&, const More&...)
    TENON_MISTAKE("rand_like(t) makes a tensor of t's sizes");
template <class... TextNeedsDevice, detail::IfText<TextNeedsDevice...> = 0>
TensorPtr rand(const Dims&, TextNeedsDevice&&...)
    TENON_MISTAKE("a device is Device(\"cuda\"), not text alone");
template <class... TypeDynamismBackendDeviceOrGenerator,
          detail::IfNotOptions<TypeDynamismBackendDeviceOrGenerator...> = 0>
TensorPtr rand(const Dims&, TypeDynamismBackendDeviceOrGenerator&&...) TENON_MISTAKE(
    "options are types, dynamisms, backends with a name, generators, and Device(\"cuda\")");
inline constexpr detail::Random<Result<TensorPtr>, detail::UniformKind> try_rand{"try_rand"};
/// rand() of the sizes of `source`.
/// Source: at::rand_like.
TENON_RANDOM(rand_like, RandomLike, detail::UniformKind);
/// rand() with the strides after the sizes, as in ATen.
TENON_RANDOM(rand_strided, RandomStrided, detail::UniformKind);

/// Normal numbers of mean 0 and variance 1, by Box and Muller's method.
///
/// Values are rounded to nearest. Integral types truncate and clamp. A complex element has variance
/// 1, one half in each part.
/// Source: at::randn, executorch::extension::randn.
TENON_RANDOM(randn, Random, detail::NormalKind);
/// randn() of the sizes of `source`.
/// Source: at::randn_like.
TENON_RANDOM(randn_like, RandomLike, detail::NormalKind);
/// randn() with the strides after the sizes, as in ATen.
TENON_RANDOM(randn_strided, RandomStrided, detail::NormalKind);

/// randint(low, high, sizes): each integer of [low, high) with exactly the same probability.
///
/// Floating types hold the nearest value that is within the bounds.
/// Cost: for a range of more than 2^20 integers, each element takes 64 random bits and a 128-bit
/// product, without vector instructions: some five times as long.
/// Errors, besides: InvalidArgument when low >= high, or when low or high - 1 is out of the type's
/// range.
/// Source: at::randint, executorch::extension::randint.
TENON_RANDOM(randint, Random, detail::IntegersKind, detail::DimArg, detail::DimArg);
/// randint() of the sizes of `source`.
/// Source: at::randint_like.
TENON_RANDOM(randint_like, RandomLike, detail::IntegersKind, detail::DimArg, detail::DimArg);
/// randint() with the strides after the sizes, as in ATen.
TENON_RANDOM(randint_strided, RandomStrided, detail::IntegersKind, detail::DimArg, detail::DimArg);

/// uniform(low, high, sizes): uniform in [low, high). high - low must be finite too.
///
/// A value that the type cannot represent is rounded down; integral types truncate towards 0.
/// Errors, besides: InvalidArgument unless low < high, both in the type's range with a value of the
/// type between them.
/// Source: at::Tensor::uniform_, Nx.Random.uniform.
TENON_RANDOM(uniform, Random, detail::UniformKind, double, double);
/// uniform() of the sizes of `source`.
TENON_RANDOM(uniform_like, RandomLike, detail::UniformKind, double, double);
/// uniform() with the strides after the sizes, as in ATen.
TENON_RANDOM(uniform_strided, RandomStrided, detail::UniformKind, double, double);

/// normal(mean, stddev, sizes): mean + stddev * randn.
///
/// Errors, besides: InvalidArgument for a negative standard deviation, and for a mean or a standard
/// deviation that is not finite in the type (for floating types shorter than Float: in Float).
/// Source: at::normal, Nx.Random.normal.
TENON_RANDOM(normal, Random, detail::NormalKind, double, double);
/// normal() of the sizes of `source`.
TENON_RANDOM(normal_like, RandomLike, detail::NormalKind, double, double);
/// normal() with the strides after the sizes, as in ATen.
TENON_RANDOM(normal_strided, RandomStrided, detail::NormalKind, double, double);

#undef TENON_RANDOM

/// Fills a tensor, whatever its strides, with the values of uniform().
///
/// Errors: those of uniform(); InvalidState (an undefined or read-only tensor, a placeholder),
/// InvalidArgument (elements that may share memory), NotSupported (memory that the host cannot
/// reach). Nothing is changed then, and the generator does not advance.
/// Threads: the caller locks out other users of the tensor and of the generator.
/// Source: at::Tensor::uniform_.
template <class = void>
[[nodiscard]] Error uniform_(TensorArg tensor, double low = 0, double high = 1,
                             Generator& generator = default_generator()) noexcept {
  return detail::fill_tensor_randomly<detail::UniformKind>("uniform_", tensor, generator, low,
                                                           high);
}

/// Fills a tensor with the values of normal().
/// Errors: those of normal() and uniform_(). Source: at::Tensor::normal_.
template <class = void>
[[nodiscard]] Error normal_(TensorArg tensor, double mean = 0, double stddev = 1,
                            Generator& generator = default_generator()) noexcept {
  return detail::fill_tensor_randomly<detail::NormalKind>("normal_", tensor, generator, mean,
                                                          stddev);
}

/// Fills a tensor with the values of randint().
/// Errors: those of randint() and uniform_(). Source: at::Tensor::random_(from, to).
template <class = void>
[[nodiscard]] Error random_(TensorArg tensor, detail::DimArg low, detail::DimArg high,
                            Generator& generator = default_generator()) noexcept {
  return detail::fill_tensor_randomly<detail::IntegersKind>("random_", tensor, generator, low,
                                                            high);
}

/// Fills a tensor with integers from 0 to the largest that the dtype and int64_t hold; for floating
/// types, up to the last integer before the first that they cannot represent.
/// Errors: those of uniform_(). Source: at::Tensor::random_().
template <class = void>
[[nodiscard]] Error random_(TensorArg tensor, Generator& generator = default_generator()) noexcept {
  return detail::fill_tensor_randomly<detail::IntegersKind>("random_", tensor, generator);
}

TENON_END_NAMESPACE
