// SPDX-License-Identifier: MIT
// What creators have in common: where the memory is to be, and how what was made is returned.
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

#include "tenon/backend/backend.h"
#include "tenon/config.h"
#include "tenon/core/error.h"
#include "tenon/core/result.h"
#include "tenon/core/scalar_type.h"
#include "tenon/tensor/draft.h"
#include "tenon/tensor/fields.h"
#include "tenon/tensor/memory.h"
#include "tenon/tensor/options.h"
#include "tenon/tensor/place.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// Where a new tensor's memory is to be. What makes tensors is compiled once for each, so that the
/// host's heap, the usual case, costs nothing for there being backends.
struct OnHost {};
struct InBackend {
  explicit InBackend(Backend& asked) noexcept : backend(&asked), state(known_state(asked)) {}
  Backend* backend;
  BackendState* state;  // null where it has no memory even for that
};

/// What a tensor is to have besides its shape.
template <class Where>
struct Making {
  ScalarType type;
  TensorShapeDynamism dynamism;
  Where where;
};

/// For what a backend is not asked to do.
inline constexpr auto kNotAsked = [](Backend&, const auto&) noexcept {
  return Error::NotSupported;
};

/// Starts a tensor that has memory of its own. That of a backend is never zeroed.
TENON_LAZY Error start_owned(OnHost, size_t nbytes, Contents contents, Draft& draft) noexcept {
  return start_owned_draft(nbytes, contents, draft);
}
TENON_LAZY Error start_owned(InBackend where, size_t nbytes, Contents, Draft& draft) noexcept {
  return start_backend_draft(*where.backend, where.state, nbytes, draft);
}

/// Gives a new tensor its values: `make(data)` writes them to host memory, one after another.
template <class Ask, class Make>
Error produce_new(OnHost, const TensorFields& made, Region, const char*, const Ask&,
                  const Make& make) noexcept {
  return make(made.data);
}
template <class Ask, class Make>
Error produce_new(InBackend, const TensorFields& made, Region region, const char* operation,
                  const Ask& ask, const Make& make) noexcept {
  return produce_in_backend(made, region, operation, ask, make);
}

template <class T>
struct IsResult : std::false_type {};
template <class T>
struct IsResult<Result<T>> : std::true_type {
  using value_type = T;
};

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

/// What a creator returns, in the making: `Made<Out> made; return made.finish(name, make_x(…,
/// made.draft()));`
template <class Out>
class Made {
 public:
  Made() noexcept = default;
  /// With the handle in memory of `metadata`, unless that is null.
  explicit Made(BackendState* metadata) noexcept : slot_(metadata) {}

  Draft& draft() noexcept { return slot_.draft(); }

  /// Makes what is returned of the draft; after that nothing can fail. finish() does so too: for
  /// who must know before.
  Error commit() noexcept { return slot_.commit(); }

  /// The value, or the error under the name of `function`, thrown or as a Result.
  Out finish(const char* function, Error error) {
    if (error == Error::Ok) error = commit();
    return finish_value<Out>(function, error, slot_.take());
  }

 private:
  template <class T, bool = IsResult<T>::value>
  struct Value {
    using type = T;
  };
  template <class T>
  struct Value<T, true> {
    using type = typename T::value_type;
  };
  Slot<typename Value<Out>::type> slot_;
};

/// create() for a backend's memory; the backend is told.
template <class Out, class Make>
TENON_NOINLINE Out create_in_backend(const char* function, const Making<InBackend>& making,
                                     const Make& make) {
  Made<Out> made(metadata_of(making.where.state));
  Error error = make(making, made);
  if (error == Error::Ok) error = made.commit();
  if (error == Error::Ok) {
    const ImplFields& tensor = fields(made.draft());
    making.where.backend->on_made({tensor.data, public_type(tensor.type), tensor.layout.sizes,
                                   tensor.layout.strides, function});
  }
  return made.finish(function, error);
}

/// Makes a tensor in memory of `backend`, or if that is null, on the host's heap, by
/// `make(Making<…>, Made<Out>&)`.
template <class Out, class Make>
Out create(const char* function, ScalarType type, TensorShapeDynamism dynamism, Backend* backend,
           const Make& make) {
  if (TENON_UNLIKELY(backend != nullptr)) {
    return create_in_backend<Out>(function, {type, dynamism, InBackend(*backend)}, make);
  }
  Made<Out> made;
  return made.finish(function, make(Making<OnHost>{type, dynamism, {}}, made));
}
/// The same with a creator's options, and the type unless they give one.
template <class Out, class Make>
Out create(const char* function, const CreatorOptions& options, ScalarType otherwise,
           const Make& make) {
  return create<Out>(function, options.type.value_or(otherwise), options.dynamism,
                     options.backend(), make);
}

}  // namespace detail
TENON_END_NAMESPACE
