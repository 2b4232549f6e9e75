// SPDX-License-Identifier: MIT
#include "tensors.h"

#include <tenon/tensor/expr.h>

#include <atomic>
#include <cstdio>
#include <new>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <utility>

namespace {

ErlNifResourceType* home_type = nullptr;
ErlNifResourceType* tensor_type = nullptr;
// What a binary has of a tensor: a type of its own, so that a binary is no tensor to deallocate.
ErlNifResourceType* bytes_type = nullptr;

/// The object of a resource. Of a tensor null once it is deallocated; read and changed atomically.
template <class T>
using Object = std::shared_ptr<const T>;

template <class T>
void destroy(ErlNifEnv*, void* object) {
  static_cast<Object<T>*>(object)->~Object<T>();
}

/// Of a tensor or a binary, on whichever thread collects it. A scheduler leaves a large block to a
/// thread that does nothing else.
void destroy_held(ErlNifEnv* env, void* object) {
  auto& held = *static_cast<Object<Held>*>(object);
  if (held != nullptr && held.use_count() == 1 && held->is_long_to_release() &&
      enif_thread_type() == ERL_NIF_THR_NORMAL_SCHEDULER) {
    try {
      std::thread([held = std::move(held)]() mutable noexcept { held.reset(); }).detach();
    } catch (const std::system_error&) {  // no thread: `held` was dropped here
    }
  }
  destroy<Held>(env, object);
}

/// The term of a new resource.
template <class T>
ERL_NIF_TERM make(const Call& call, ErlNifResourceType* type, Object<T> object,
                  const void* bytes = nullptr, size_t nbytes = 0) {
  void* const resource = enif_alloc_resource(type, sizeof object);
  if (resource == nullptr) throw std::bad_alloc();
  ::new (resource) Object<T>(std::move(object));
  const ERL_NIF_TERM term = bytes == nullptr
                                ? enif_make_resource(call.env, resource)
                                : enif_make_resource_binary(call.env, resource, bytes, nbytes);
  enif_release_resource(resource);
  return term;
}

/// A type for the objects of this library as it is loaded. When the module is loaded again from the
/// same file it is the same library, which takes its objects over; those of another one stay with
/// that, which stays loaded.
ErlNifResourceType* open_type(ErlNifEnv* env, const char* name, ErlNifResourceDtor* destroy) {
  char text[64];
  std::snprintf(text, sizeof text, "%s %p", name, static_cast<void*>(&tensor_type));
  constexpr auto kFlags = static_cast<ErlNifResourceFlags>(ERL_NIF_RT_CREATE | ERL_NIF_RT_TAKEOVER);
  return enif_open_resource_type(env, nullptr, text, destroy, kFlags, nullptr);
}

/// One for all, since it has no state of its own, or none that its users see.
template <class B>
HomePtr home_of() {
  static const auto home = std::make_shared<const Home>(Home{nullptr, std::make_unique<B>()});
  return home;
}

Object<Held>& get_object(const Call& call, ERL_NIF_TERM term) {
  void* resource = nullptr;
  if (!enif_get_resource(call.env, term, tensor_type, &resource)) {
    refuse("the tensor", term, "a tensor of tenon's");
  }
  return *static_cast<Object<Held>*>(resource);
}

}  // namespace

bool open_resource_types(ErlNifEnv* env) noexcept {
  home_type = open_type(env, "backend", &destroy<Home>);
  tensor_type = open_type(env, "tensor", &destroy_held);
  bytes_type = open_type(env, "bytes", &destroy_held);
  return home_type != nullptr && tensor_type != nullptr && bytes_type != nullptr;
}

HomePtr cpu_home() { return home_of<tenon::CpuBackend>(); }

HomePtr get_home(const Call& call, ERL_NIF_TERM term) {
  void* resource = nullptr;
  if (enif_get_resource(call.env, term, home_type, &resource)) {
    return *static_cast<Object<Home>*>(resource);
  }
  if (term == enif_make_atom(call.env, "cpu")) return cpu_home();
  if (term == enif_make_atom(call.env, "template")) return home_of<tenon::MetaBackend>();
  if (term == enif_make_atom(call.env, "expr")) return home_of<tenon::ExprBackend>();
  refuse("the backend", term, ":cpu, :template, :expr, or the handle of an arena or a tracker");
}

ERL_NIF_TERM make_home(const Call& call, Home home) {
  return make<Home>(call, home_type, std::make_shared<const Home>(std::move(home)));
}

HeldPtr get_held(const Call& call, ERL_NIF_TERM term) {
  HeldPtr held = std::atomic_load(&get_object(call, term));
  if (held == nullptr) throw std::invalid_argument("the tensor is deallocated");
  return held;
}

ERL_NIF_TERM make_tensor(const Call& call, Held held) {
  return make<Held>(call, tensor_type, std::make_shared<const Held>(std::move(held)));
}

ERL_NIF_TERM drop_tensor(const Call& call, ERL_NIF_TERM term) {
  Object<Held>& object = get_object(call, term);
  HeldPtr held = std::atomic_load(&object);
  if (held != nullptr && held->is_long_to_release() && call.is_long(held->nbytes())) {
    return call.reschedule();
  }
  held = std::atomic_exchange(&object, HeldPtr());  // of two calls, one has it
  return enif_make_atom(call.env, held != nullptr ? "ok" : "already_deallocated");
}

ERL_NIF_TERM make_shared_binary(const Call& call, HeldPtr held, const void* bytes, size_t nbytes) {
  return make<Held>(call, bytes_type, std::move(held), bytes, nbytes);
}

double Target::nbytes() const {
  if (!home->backend->device().is_cpu()) return 0;
  auto count = static_cast<double>(elementSize(type));
  for (const int64_t size : sizes) count *= static_cast<double>(size);
  return count;
}
