// SPDX-License-Identifier: MIT
#include "terms.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <new>
#include <stdexcept>
#include <type_traits>
#include <utility>

using tenon::ScalarType;

namespace {

constexpr size_t kMaxDims = 64;  // as in tenon
// What a slow kernel, or one without optimisation, does in less than 0.1 ms.
constexpr double kLongBytes = 64 * 1024;

struct Atoms {
  ERL_NIF_TERM nil, yes, no, nan, infinity, neg_infinity;
};
Atoms atoms;

/// A number of any kind as a double; false for other terms.
bool read_real(ErlNifEnv* env, ERL_NIF_TERM term, double& value) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  int64_t integer = 0;
  if (enif_get_double(env, term, &value)) return true;
  if (enif_get_int64(env, term, &integer)) {
    value = static_cast<double>(integer);
    return true;
  }
  if (term != atoms.nan && term != atoms.infinity && term != atoms.neg_infinity) return false;
  value = term == atoms.nan ? std::nan("") : term == atoms.infinity ? kInfinity : -kInfinity;
  return true;
}

ERL_NIF_TERM make_real(ErlNifEnv* env, double value) {
  if (std::isfinite(value)) return enif_make_double(env, value);
  return std::isnan(value) ? atoms.nan : value > 0 ? atoms.infinity : atoms.neg_infinity;
}

/// Terms may hold tensors that keep terms, in a chain of any length, so each is released after the
/// one before it, not within that.
void release(const KeptTerm* dropped) noexcept {
  static thread_local KeptTerm* waiting = nullptr;
  static thread_local bool is_releasing = false;
  auto* const term = const_cast<KeptTerm*>(dropped);
  term->next = std::exchange(waiting, term);
  if (is_releasing) return;
  is_releasing = true;
  while (waiting != nullptr) {
    KeptTerm* const first = std::exchange(waiting, waiting->next);
    enif_free_env(first->env);
    delete first;
  }
  is_releasing = false;
}

}  // namespace

bool Call::is_long(double nbytes) const noexcept {
  return nbytes > kLongBytes && enif_thread_type() == ERL_NIF_THR_NORMAL_SCHEDULER;
}

ERL_NIF_TERM Call::reschedule() const noexcept {
  return enif_schedule_nif(env, function->name, ERL_NIF_DIRTY_JOB_CPU_BOUND, function->fptr,
                           static_cast<int>(function->arity), argv);
}

void make_atoms(ErlNifEnv* env) noexcept {
  const auto atom = [&](const char* name) { return enif_make_atom(env, name); };
  atoms = {atom("nil"), atom("true"),     atom("false"),
           atom("nan"), atom("infinity"), atom("neg_infinity")};
}

void refuse(const char* what, ERL_NIF_TERM given, const char* expected) {
  char text[2048];
  enif_snprintf(text, sizeof text, "%s is %.60T; expected %s", what, given, expected);
  // The BEAM writes names in UTF-8 and lists of characters in Latin-1.
  for (char* c = text; *c != '\0'; ++c) *c = (*c & 0x80) == 0 ? *c : '?';
  throw std::invalid_argument(text);
}

bool is_nil(ERL_NIF_TERM term) noexcept { return term == atoms.nil; }

tenon::Dims get_dims(const Call& call, const char* what, ERL_NIF_TERM term) {
  int64_t numbers[kMaxDims];
  size_t count = 0;
  ERL_NIF_TERM head = 0;
  ERL_NIF_TERM tail = 0;
  ERL_NIF_TERM rest = term;
  for (; enif_get_list_cell(call.env, rest, &head, &tail); rest = tail) {
    if (count == kMaxDims || !enif_get_int64(call.env, head, &numbers[count++])) break;
  }
  // An element, or the end of an improper list, that is none.
  if (!enif_is_empty_list(call.env, rest)) refuse(what, term, "at most 64 integers of 64 bits");
  return tenon::Dims(tenon::ArrayRef<int64_t>(numbers, count));
}

ScalarType get_type(const Call& call, ERL_NIF_TERM term) {
  int number = 0;
  if (enif_get_int(call.env, term, &number) && number >= 0 && number <= INT8_MAX) {
    return static_cast<ScalarType>(number);  // whether it is a type tenon checks
  }
  refuse("the type", term, "the number of a type");
}

tenon::Scalar get_scalar(const Call& call, const char* what, ERL_NIF_TERM term) {
  int64_t integer = 0;
  uint64_t natural = 0;
  double real = 0;
  double imaginary = 0;
  int arity = 0;
  const ERL_NIF_TERM* parts = nullptr;
  if (enif_get_int64(call.env, term, &integer)) return integer;
  if (enif_get_uint64(call.env, term, &natural)) return natural;
  if (read_real(call.env, term, real)) return real;
  if (term == atoms.yes || term == atoms.no) return term == atoms.yes;
  if (enif_get_tuple(call.env, term, &arity, &parts) && arity == 2 &&
      read_real(call.env, parts[0], real) && read_real(call.env, parts[1], imaginary)) {
    return tenon::complex<double>(real, imaginary);
  }
  refuse(what, term,
         "a number of 64 bits, true, false, :nan, :infinity, :neg_infinity or {real, imaginary}");
}

int64_t get_integer(const Call& call, const char* what, ERL_NIF_TERM term) {
  int64_t value = 0;
  if (!enif_get_int64(call.env, term, &value)) refuse(what, term, "an integer of 64 bits");
  return value;
}

uint64_t get_unsigned(const Call& call, const char* what, ERL_NIF_TERM term) {
  uint64_t value = 0;
  if (!enif_get_uint64(call.env, term, &value)) refuse(what, term, "an integer from 0 to 2^64 - 1");
  return value;
}

double get_double(const Call& call, const char* what, ERL_NIF_TERM term) {
  double value = 0;
  if (!read_real(call.env, term, value)) refuse(what, term, "a float or an integer of 64 bits");
  return value;
}

ErlNifBinary get_binary(const Call& call, ERL_NIF_TERM term) {
  ErlNifBinary binary;
  if (!enif_inspect_binary(call.env, term, &binary)) refuse("the binary", term, "a binary");
  return binary;
}

ERL_NIF_TERM make_binary(ErlNifEnv* env, const void* bytes, size_t nbytes) noexcept {
  ERL_NIF_TERM term = 0;
  unsigned char* const made = enif_make_new_binary(env, nbytes, &term);
  if (nbytes != 0) std::memcpy(made, bytes, nbytes);
  return term;
}

ERL_NIF_TERM make_text(ErlNifEnv* env, const std::string& text) noexcept {
  return make_binary(env, text.data(), text.size());
}

ERL_NIF_TERM make_dims(ErlNifEnv* env, tenon::ArrayRef<int64_t> numbers) noexcept {
  ERL_NIF_TERM list = enif_make_list(env, 0);
  for (size_t i = numbers.size(); i != 0; --i) {
    list = enif_make_list_cell(env, enif_make_int64(env, numbers[i - 1]), list);
  }
  return list;
}

ERL_NIF_TERM make_element(ErlNifEnv* env, ScalarType type, const void* element) {
  const auto make = [&](auto tag) -> ERL_NIF_TERM {
    using T = typename decltype(tag)::type;
    T value;
    std::memcpy(&value, element, sizeof value);
    if constexpr (std::is_same_v<T, bool>) {
      return value ? atoms.yes : atoms.no;
    } else if constexpr (std::is_integral_v<T>) {
      return std::is_signed_v<T> ? enif_make_int64(env, static_cast<int64_t>(value))
                                 : enif_make_uint64(env, static_cast<uint64_t>(value));
    } else if constexpr (std::is_convertible_v<T, double>) {
      return make_real(env, static_cast<double>(value));
    } else {
      return enif_make_tuple2(env, make_real(env, static_cast<double>(value.real())),
                              make_real(env, static_cast<double>(value.imag())));
    }
  };
  return tenon::visit(type, make, [] { return atoms.nil; });
}

ERL_NIF_TERM raise(const Call& call) noexcept {
  bool is_argument = true;
  std::string text;
  try {
    throw;
  } catch (const tenon::Exception& e) {
    is_argument = e.error() != tenon::Error::OutOfMemory && e.error() != tenon::Error::Internal;
    // tenon's name of the function gives way to the one that was called.
    const char* const colon = std::strstr(e.what(), ": ");
    text = colon == nullptr ? e.what() : colon + 2;
  } catch (const std::invalid_argument& e) {
    text = e.what();
  } catch (const std::exception& e) {
    is_argument = false;
    text = e.what();
  }
  const auto atom = [&](const char* name) { return enif_make_atom(call.env, name); };
  ERL_NIF_TERM keys[] = {atom("__struct__"), atom("__exception__"), atom("message")};
  ERL_NIF_TERM values[] = {atom(is_argument ? "Elixir.ArgumentError" : "Elixir.RuntimeError"),
                           atoms.yes,
                           make_text(call.env, std::string(call.function->name) + ": " + text)};
  ERL_NIF_TERM exception = 0;
  enif_make_map_from_arrays(call.env, keys, values, 3, &exception);
  return enif_raise_exception(call.env, exception);
}

std::shared_ptr<const KeptTerm> keep(ERL_NIF_TERM term) {
  ErlNifEnv* const env = enif_alloc_env();
  if (env == nullptr) throw std::bad_alloc();
  auto made = std::make_unique<KeptTerm>(KeptTerm{env, enif_make_copy(env, term), nullptr});
  return std::shared_ptr<const KeptTerm>(made.release(), &release);
}
