// SPDX-License-Identifier: MIT
// rand, randn, randint, uniform and normal with their _like and _strided forms, and uniform_,
// normal_ and random_, which fill tensors that exist.
//
// Element i in row-major order, wherever it lies, depends on the generator's seed and offset + i
// alone; making n elements advances the generator by n, an error not at all. docs/random.md has the
// definitions.
//
// As in creators.h: what is made owns its memory, aligned to 64 bytes; try_ twins return a Result.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tenon/config.h"
#include "tenon/core/generator.h"
#include "tenon/kernels/random.h"
#include "tenon/tensor/copy.h"
#include "tenon/tensor/creators.h"
#include "tenon/tensor/make.h"
#include "tenon/tensor/tensor.h"
#include "tenon/tensor/tensor_arg.h"

#if TENON_ATEN_MODE
#include "tenon/aten/random.h"
#else
TENON_BEGIN_NAMESPACE
namespace detail {

/// Fills a tensor or a draft as a plan for its type says.
template <class T>
Error fill_random(T& tensor, const RandomPlan& plan, Generator& generator) noexcept {
  return fill_random_fields(fields(tensor), plan, generator);
}

}  // namespace detail
TENON_END_NAMESPACE
#endif

TENON_BEGIN_NAMESPACE

/// A creator's options, and a generator, which may be a temporary one.
class RandomOptions : public CreatorOptions {
 public:
  template <class... Options>
  explicit RandomOptions(Options&... options) noexcept {
    (take(options), ...);
  }

  Generator& generator() const noexcept {
    return generator_ != nullptr ? *generator_ : default_generator();
  }

 private:
  using CreatorOptions::take;
  void take(Generator& given) noexcept { generator_ = &given; }

  Generator* generator_ = nullptr;
};

namespace detail {

/// Random elements to strided memory, by way of pieces in row-major order.
TENON_LAZY void random_strided(const RandomPlan& plan, uint64_t seed, uint64_t first, int64_t numel,
                               const TensorView& dst) noexcept {
  alignas(16) char piece[kRandomPiece * 16];
  const size_t size = elementSize(plan.type);
  const size_t last = dst.sizes.size() - 1;
  const int64_t row = dst.sizes[last];
  const auto step = static_cast<int64_t>(size);
  int64_t index[kMaxDims] = {};
  auto* out = static_cast<char*>(dst.data);
  for (int64_t done = 0, n = 0; done < numel; done += n) {
    const uint64_t element = first + static_cast<uint64_t>(done);
    n = count_in_piece(element, numel - done, kRandomPiece);
    random_elements(plan, seed, element, n, piece);
    for (int64_t i = 0; i < n;) {
      const int64_t left = row - index[last];
      const int64_t count = n - i < left ? n - i : left;
      const int64_t stride = dst.strides[last] * step;
      copy_run(out, stride, piece + i * step, step, count, size);
      i += count;
      index[last] += count;
      out += count * stride;
      for (size_t d = last; d > 0 && index[d] == dst.sizes[d]; --d) {
        out -= index[d] * dst.strides[d] * step;
        index[d] = 0;
        ++index[d - 1];
        out += dst.strides[d - 1] * step;
      }
    }
  }
}

/// The same for memory that the host does not reach, or of which a backend is to be asked first. The
/// generator advances unless that fails.
TENON_LAZY TENON_NOINLINE Error fill_random_in_backend(const TensorFields& tensor,
                                                       const RandomPlan& plan,
                                                       Generator& generator) noexcept {
  if (tensor.is_template()) return Error::Ok;
  const int64_t numel = tensor.layout.numel;
  Place out;
  TENON_TRY(find_place(tensor, "the tensor", out));
  const Generator::State start = generator.state();
  TENON_TRY(produce(
      asked_backend(tensor, out), out,
      plan.distribution == Distribution::Normal ? "random_normal" : "random_uniform",
      [&](Backend& backend, const auto& view) {
        return plan.distribution == Distribution::Uniform
                   ? backend.random_uniform(view, plan.arguments[0], plan.arguments[1], start)
               : plan.distribution == Distribution::Normal
                   ? backend.random_normal(view, plan.arguments[0], plan.arguments[1], start)
                   : Error::NotSupported;
      },
      [&](const TensorView& view) noexcept {
        if (out.backend != nullptr || tensor.layout.is_contiguous()) {
          random_elements(plan, start.seed, start.offset, numel, view.data);
        } else {
          random_strided(plan, start.seed, start.offset, numel, view);
        }
        return Error::Ok;
      }));
  static_cast<void>(generator.advance(static_cast<uint64_t>(numel)));
  return Error::Ok;
}

/// Fills a tensor as a plan for its type says.
TENON_LAZY Error fill_random_fields(const TensorFields& tensor, const RandomPlan& plan,
                                    Generator& generator) noexcept {
  const int64_t numel = tensor.layout.numel;
  if (numel == 0) return Error::Ok;
  if (TENON_UNLIKELY(tensor.backend != nullptr || !tensor.is_host_accessible())) {
    return fill_random_in_backend(tensor, plan, generator);
  }
  const TensorView view = view_of(tensor);
  TENON_TRY(check_dims("sizes", view.sizes));
  TENON_TRY(check_dims("strides", view.strides));
  const uint64_t first = generator.advance(static_cast<uint64_t>(numel));
  if (tensor.layout.is_contiguous()) {
    random_elements(plan, generator.seed(), first, numel, view.data);
  } else {
    random_strided(plan, generator.seed(), first, numel, view);
  }
  return Error::Ok;
}

/// Distributions: how to plan them (which only files that do compile), and the type of their elements
/// unless one is given.
struct StandardUniform {
  static constexpr ScalarType kType = ScalarType::Float;
  template <class = void>
  static Error plan(RandomPlan& plan, ScalarType type) noexcept {
    return plan_uniform(plan, type, 0, 1);
  }
};
struct StandardNormal {
  static constexpr ScalarType kType = ScalarType::Float;
  template <class = void>
  static Error plan(RandomPlan& plan, ScalarType type) noexcept {
    return plan_normal(plan, type, 0, 1);
  }
};
struct UniformBetween {
  using Argument = double;
  static constexpr ScalarType kType = ScalarType::Float;
  template <class = void>
  static Error plan(RandomPlan& plan, ScalarType type, double low, double high) noexcept {
    return plan_uniform(plan, type, low, high);
  }
};
struct NormalAround {
  using Argument = double;
  static constexpr ScalarType kType = ScalarType::Float;
  template <class = void>
  static Error plan(RandomPlan& plan, ScalarType type, double mean, double stddev) noexcept {
    return plan_normal(plan, type, mean, stddev);
  }
};
struct IntegersBetween {
  using Argument = AnyInteger;
  static constexpr ScalarType kType = ScalarType::Int;
  template <class = void>
  static Error plan(RandomPlan& plan, ScalarType type, AnyInteger low, AnyInteger high) noexcept {
    if (TENON_UNLIKELY(!low.fits || !high.fits)) {
      return fail(Error::InvalidArgument, {"an unsigned bound is above int64_t's largest"});
    }
    return plan_integers_below(plan, type, low, high);
  }
};

struct AllIntegers {
  template <class = void>
  static Error plan(RandomPlan& plan, ScalarType type) noexcept {
    return plan_all_integers(plan, type);
  }
};

template <class Kind, class Out, class... Arguments>
Out make_random(const char* function, const Dims& sizes, const Dims& strides,
                const RandomOptions& options, Arguments... arguments) {
  return create<Out>(
      function, options, Kind::kType, [&](const auto& making, auto& made) noexcept -> Error {
        RandomPlan plan;
        TENON_TRY(Kind::plan(plan, making.type, arguments...));
        // Gaps hold no elements: on the host's heap they are zeros.
        const Contents contents = strides.empty() ? Contents::Uninitialized : Contents::Zero;
        TENON_TRY(make_owned(sizes, {}, strides, making, contents, made.draft()));
        TENON_TRY(made.commit());  // before the generator advances
        return fill_random(made.draft(), plan, options.generator());
      });
}

template <class Kind, class Out, class... Arguments>
Out make_random_like(const char* function, const TensorArg& source, const RandomOptions& options,
                     Arguments... arguments) {
  return create_like<Out>(
      function, source, options, [&](const auto& making, auto& made) noexcept -> Error {
        RandomPlan plan;
        TENON_TRY(Kind::plan(plan, making.type, arguments...));
        TENON_TRY(make_like(fields(source), making, Contents::Uninitialized, made.draft()));
        TENON_TRY(made.commit());  // before the generator advances
        return fill_random(made.draft(), plan, options.generator());
      });
}

template <class Kind, class... Arguments>
Error fill_tensor_randomly(const char* function, const TensorArg& tensor, Generator& generator,
                           Arguments... arguments) noexcept {
  RandomPlan plan;
  Place out;
  Error error = find_destination(tensor, "the tensor", out);
  if (error == Error::Ok) error = Kind::plan(plan, fields(tensor).type, arguments...);
  if (error == Error::Ok) error = fill_random(tensor, plan, generator);
  return TENON_UNLIKELY(error != Error::Ok) ? blame(function, error) : error;
}

}  // namespace detail

template <class Out, class Kind>
struct Random {
  const char* function;

  template <class... Options>
  Out operator()(const Dims& sizes, Options&&... options) const {
    return detail::make_random<Kind, Out>(function, sizes, {}, RandomOptions(options...));
  }
};

template <class Out, class Kind>
struct RandomStrided {
  const char* function;

  template <class... Options>
  Out operator()(const Dims& sizes, const Dims& strides, Options&&... options) const {
    return detail::make_random<Kind, Out>(function, sizes, strides, RandomOptions(options...));
  }
};

template <class Out, class Kind>
struct RandomLike {
  const char* function;

  template <class... Options>
  Out operator()(detail::ConstTensorArg source, Options&&... options) const {
    return detail::make_random_like<Kind, Out>(function, source, RandomOptions(options...));
  }
};

template <class Out, class Kind>
struct RandomBetween {
  using Argument = typename Kind::Argument;
  const char* function;

  template <class... Options>
  Out operator()(Argument a, Argument b, const Dims& sizes, Options&&... options) const {
    return detail::make_random<Kind, Out>(function, sizes, {}, RandomOptions(options...), a, b);
  }
};

template <class Out, class Kind>
struct RandomBetweenStrided {
  using Argument = typename Kind::Argument;
  const char* function;

  template <class... Options>
  Out operator()(Argument a, Argument b, const Dims& sizes, const Dims& strides,
                 Options&&... options) const {
    return detail::make_random<Kind, Out>(function, sizes, strides, RandomOptions(options...), a,
                                          b);
  }
};

template <class Out, class Kind>
struct RandomBetweenLike {
  using Argument = typename Kind::Argument;
  const char* function;

  template <class... Options>
  Out operator()(detail::ConstTensorArg source, Argument a, Argument b,
                 Options&&... options) const {
    return detail::make_random_like<Kind, Out>(function, source, RandomOptions(options...), a, b);
  }
};

// Each of these may end in options: a type, a dynamism, a generator, a temporary one too, a backend.
// Without them the type is Float, of randint Int, of _like the source's; the dynamism is
// DYNAMIC_BOUND; the generator is the thread's own; the backend is the thread's default, of _like the
// source's. Backends give the same numbers.

/// rand(sizes, …), rand_strided(sizes, strides, …), rand_like(source, …): uniform in [0, 1), in every
/// floating type.
///
/// Shorter types hold the Float value rounded down, so none reaches 1. Integral ones truncate, Bool is
/// true unless the value is 0. The parts of complex elements are independent.
/// Errors of all: as empty()'s and empty_like()'s.
/// Source: at::rand, executorch::extension::rand.
///
/// rand is a function, which after `using namespace tenon` overloads the C library's.
template <class... Options>
TensorPtr rand(const Dims& sizes, Options&&... options) {
  return Random<TensorPtr, detail::StandardUniform>{"rand"}(sizes, options...);
}
inline constexpr RandomLike<TensorPtr, detail::StandardUniform> rand_like{"rand_like"};
inline constexpr RandomStrided<TensorPtr, detail::StandardUniform> rand_strided{"rand_strided"};

/// randn, randn_like, randn_strided: normal with mean 0 and variance 1, by Box and Muller's method.
///
/// Rounded to nearest; integral types truncate, their nearest end in place of what is out of range.
/// A complex element's variance is 1 too, one half in each part.
/// Source: at::randn, executorch::extension::randn.
inline constexpr Random<TensorPtr, detail::StandardNormal> randn{"randn"};
inline constexpr RandomLike<TensorPtr, detail::StandardNormal> randn_like{"randn_like"};
inline constexpr RandomStrided<TensorPtr, detail::StandardNormal> randn_strided{"randn_strided"};

/// randint(low, high, sizes, …), randint_like(source, low, high, …), randint_strided(low, high,
/// sizes, strides, …): each integer of [low, high) with exactly the same probability.
///
/// Floating types hold the nearest value that is within the bounds.
/// Cost: beyond 2^20 integers each takes 64 random bits and a product of 128, one by one: some five
/// times as long.
/// Errors, besides: InvalidArgument when low >= high, or when low or high - 1 is out of the type's
/// range.
/// Source: at::randint, executorch::extension::randint.
inline constexpr RandomBetween<TensorPtr, detail::IntegersBetween> randint{"randint"};
inline constexpr RandomBetweenLike<TensorPtr, detail::IntegersBetween> randint_like{"randint_like"};
inline constexpr RandomBetweenStrided<TensorPtr, detail::IntegersBetween> randint_strided{
    "randint_strided"};

/// uniform(low, high, sizes, …), uniform_like(source, low, high, …), uniform_strided:
/// uniform in [low, high), of which the width too must be finite.
///
/// Values that are rounded are rounded down; integral types truncate towards 0.
/// Errors, besides: InvalidArgument unless low < high, both in the type's range with a value of the
/// type between them.
/// Source: at::Tensor::uniform_, Nx.Random.uniform.
inline constexpr RandomBetween<TensorPtr, detail::UniformBetween> uniform{"uniform"};
inline constexpr RandomBetweenLike<TensorPtr, detail::UniformBetween> uniform_like{"uniform_like"};
inline constexpr RandomBetweenStrided<TensorPtr, detail::UniformBetween> uniform_strided{
    "uniform_strided"};

/// normal(mean, stddev, sizes, …), normal_like(source, mean, stddev, …),
/// normal_strided: mean + stddev * randn.
///
/// Errors, besides: InvalidArgument for a negative standard deviation, or one that, like the mean,
/// is not finite in the type (of floating types up to Float: in Float).
/// Source: at::normal, Nx.Random.normal.
inline constexpr RandomBetween<TensorPtr, detail::NormalAround> normal{"normal"};
inline constexpr RandomBetweenLike<TensorPtr, detail::NormalAround> normal_like{"normal_like"};
inline constexpr RandomBetweenStrided<TensorPtr, detail::NormalAround> normal_strided{
    "normal_strided"};

inline constexpr Random<Result<TensorPtr>, detail::StandardUniform> try_rand{"try_rand"};
inline constexpr RandomLike<Result<TensorPtr>, detail::StandardUniform> try_rand_like{
    "try_rand_like"};
inline constexpr RandomStrided<Result<TensorPtr>, detail::StandardUniform> try_rand_strided{
    "try_rand_strided"};
inline constexpr Random<Result<TensorPtr>, detail::StandardNormal> try_randn{"try_randn"};
inline constexpr RandomLike<Result<TensorPtr>, detail::StandardNormal> try_randn_like{
    "try_randn_like"};
inline constexpr RandomStrided<Result<TensorPtr>, detail::StandardNormal> try_randn_strided{
    "try_randn_strided"};
inline constexpr RandomBetween<Result<TensorPtr>, detail::IntegersBetween> try_randint{
    "try_randint"};
inline constexpr RandomBetweenLike<Result<TensorPtr>, detail::IntegersBetween> try_randint_like{
    "try_randint_like"};
inline constexpr RandomBetweenStrided<Result<TensorPtr>, detail::IntegersBetween>
    try_randint_strided{"try_randint_strided"};
inline constexpr RandomBetween<Result<TensorPtr>, detail::UniformBetween> try_uniform{
    "try_uniform"};
inline constexpr RandomBetweenLike<Result<TensorPtr>, detail::UniformBetween> try_uniform_like{
    "try_uniform_like"};
inline constexpr RandomBetweenStrided<Result<TensorPtr>, detail::UniformBetween>
    try_uniform_strided{"try_uniform_strided"};
inline constexpr RandomBetween<Result<TensorPtr>, detail::NormalAround> try_normal{"try_normal"};
inline constexpr RandomBetweenLike<Result<TensorPtr>, detail::NormalAround> try_normal_like{
    "try_normal_like"};
inline constexpr RandomBetweenStrided<Result<TensorPtr>, detail::NormalAround> try_normal_strided{
    "try_normal_strided"};

/// Fills a tensor with what uniform() makes. At any strides, the same numbers.
///
/// Errors: as uniform()'s; InvalidState (an undefined tensor, a placeholder, a read-only one),
/// InvalidArgument (elements that may share memory), NotSupported (memory that the host cannot
/// reach).
/// Nothing is changed then, and the generator does not advance.
/// Threads: the caller locks out other users of the tensor and of the generator.
/// Source: at::Tensor::uniform_.
template <class = void>
[[nodiscard]] Error uniform_(TensorArg tensor, double low = 0, double high = 1,
                             Generator& generator = default_generator()) noexcept {
  return detail::fill_tensor_randomly<detail::UniformBetween>("uniform_", tensor, generator, low,
                                                              high);
}

/// Fills a tensor with what normal() makes.
/// Errors: as normal()'s and uniform_()'s. Source: at::Tensor::normal_.
template <class = void>
[[nodiscard]] Error normal_(TensorArg tensor, double mean = 0, double stddev = 1,
                            Generator& generator = default_generator()) noexcept {
  return detail::fill_tensor_randomly<detail::NormalAround>("normal_", tensor, generator, mean,
                                                            stddev);
}

/// Fills a tensor with what randint() makes.
/// Errors: as randint()'s and uniform_()'s. Source: at::Tensor::random_(from, to).
template <class = void>
[[nodiscard]] Error random_(TensorArg tensor, detail::AnyInteger low, detail::AnyInteger high,
                            Generator& generator = default_generator()) noexcept {
  return detail::fill_tensor_randomly<detail::IntegersBetween>("random_", tensor, generator, low,
                                                               high);
}

/// Fills a tensor with integers from 0 to the largest that the dtype and int64_t hold; for floating
/// types, to the largest below which they hold all.
/// Errors: as uniform_()'s. Source: at::Tensor::random_().
template <class = void>
[[nodiscard]] Error random_(TensorArg tensor, Generator& generator = default_generator()) noexcept {
  return detail::fill_tensor_randomly<detail::AllIntegers>("random_", tensor, generator);
}

TENON_END_NAMESPACE
