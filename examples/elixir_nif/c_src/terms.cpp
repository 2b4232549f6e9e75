// SPDX-License-Identifier: MIT
#include "terms.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <new>
#include <stdexcept>
#include <type_traits>
#include <vector>

using tenon::Dims;
using tenon::Scalar;
using tenon::ScalarType;

namespace {

constexpr size_t kMaxDims = 64;  // as in tenon
// What a slow kernel, or one without optimisation, does in less than 0.1 ms.
constexpr double kLongBytes = 64 * 1024;

/// Nx's names, and the like for what Nx lacks.
struct TypeName {
  ScalarType type;
  const char* kind;
  int bits;
};
constexpr TypeName kTypes[] = {{ScalarType::Byte, "u", 8},
                               {ScalarType::UInt16, "u", 16},
                               {ScalarType::UInt32, "u", 32},
                               {ScalarType::UInt64, "u", 64},
                               {ScalarType::Char, "s", 8},
                               {ScalarType::Short, "s", 16},
                               {ScalarType::Int, "s", 32},
                               {ScalarType::Long, "s", 64},
                               {ScalarType::Half, "f", 16},
                               {ScalarType::Float, "f", 32},
                               {ScalarType::Double, "f", 64},
                               {ScalarType::BFloat16, "bf", 16},
                               {ScalarType::ComplexHalf, "c", 32},
                               {ScalarType::ComplexFloat, "c", 64},
                               {ScalarType::ComplexDouble, "c", 128},
                               {ScalarType::Bool, "bool", 8},
                               {ScalarType::Float8_e5m2, "f", 8},
                               {ScalarType::Float8_e4m3fn, "f8_e4m3fn", 8},
                               {ScalarType::Float8_e5m2fnuz, "f8_e5m2fnuz", 8},
                               {ScalarType::Float8_e4m3fnuz, "f8_e4m3fnuz", 8}};
constexpr size_t kTypeCount = sizeof kTypes / sizeof *kTypes;

struct Atoms {
  ERL_NIF_TERM nil, yes, no, nan, infinity, neg_infinity;
  ERL_NIF_TERM kinds[kTypeCount];
};
Atoms atoms;

/// A number of any kind as a double; false for other terms.
bool read_real(ErlNifEnv* env, ERL_NIF_TERM term, double& value) {
  int64_t integer = 0;
  if (enif_get_double(env, term, &value)) return true;
  if (enif_get_int64(env, term, &integer)) {
    value = static_cast<double>(integer);
  } else if (term == atoms.nan) {
    value = std::numeric_limits<double>::quiet_NaN();
  } else if (term == atoms.infinity || term == atoms.neg_infinity) {
    value = std::numeric_limits<double>::infinity();
    if (term == atoms.neg_infinity) value = -value;
  } else {
    return false;
  }
  return true;
}

ERL_NIF_TERM make_real(ErlNifEnv* env, double value) {
  if (std::isfinite(value)) return enif_make_double(env, value);
  return std::isnan(value) ? atoms.nan : value > 0 ? atoms.infinity : atoms.neg_infinity;
}

/// An exception of Elixir's, as a struct of that module.
ERL_NIF_TERM raise_struct(ErlNifEnv* env, const char* module, const std::string& message) {
  ERL_NIF_TERM keys[] = {make_atom(env, "__struct__"), make_atom(env, "__exception__"),
                         make_atom(env, "message")};
  ERL_NIF_TERM values[] = {make_atom(env, module), atoms.yes, make_text(env, message)};
  ERL_NIF_TERM exception = 0;
  enif_make_map_from_arrays(env, keys, values, 3, &exception);
  return enif_raise_exception(env, exception);
}

bool is_fault_of_arguments(tenon::Error error) noexcept {
  return error != tenon::Error::OutOfMemory && error != tenon::Error::Internal &&
         error != tenon::Error::AccessFailed;
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
  atoms = {make_atom(env, "nil"),
           make_atom(env, "true"),
           make_atom(env, "false"),
           make_atom(env, "nan"),
           make_atom(env, "infinity"),
           make_atom(env, "neg_infinity"),
           {}};
  for (size_t i = 0; i < kTypeCount; ++i) atoms.kinds[i] = make_atom(env, kTypes[i].kind);
}

void refuse(const char* what, ERL_NIF_TERM given, const char* expected) {
  char text[512];
  enif_snprintf(text, sizeof text, "%s is %.60T; expected %s", what, given, expected);
  throw std::invalid_argument(text);
}

bool is_nil(ERL_NIF_TERM term) noexcept { return term == atoms.nil; }

bool is_atom(ErlNifEnv* env, ERL_NIF_TERM term, const char* name) noexcept {
  return term == make_atom(env, name);
}

Dims get_dims(const Call& call, const char* what, ERL_NIF_TERM term) {
  constexpr const char* kExpected = "a tuple or a list of at most 64 integers of 64 bits";
  int64_t numbers[kMaxDims];
  size_t count = 0;
  int arity = 0;
  const ERL_NIF_TERM* elements = nullptr;
  if (enif_get_tuple(call.env, term, &arity, &elements)) {
    if (static_cast<size_t>(arity) > kMaxDims) refuse(what, term, kExpected);
    for (; count < static_cast<size_t>(arity); ++count) {
      if (!enif_get_int64(call.env, elements[count], &numbers[count])) {
        refuse(what, term, kExpected);
      }
    }
  } else {
    ERL_NIF_TERM head = 0;
    ERL_NIF_TERM rest = term;
    for (; enif_get_list_cell(call.env, rest, &head, &rest); ++count) {
      if (count == kMaxDims || !enif_get_int64(call.env, head, &numbers[count])) {
        refuse(what, term, kExpected);
      }
    }
    if (!enif_is_empty_list(call.env, rest)) refuse(what, term, kExpected);
  }
  return Dims(tenon::ArrayRef<int64_t>(numbers, count));
}

ScalarType get_type(const Call& call, ERL_NIF_TERM term) {
  int arity = 0;
  int bits = 0;
  const ERL_NIF_TERM* elements = nullptr;
  if (enif_get_tuple(call.env, term, &arity, &elements) && arity == 2 &&
      enif_get_int(call.env, elements[1], &bits)) {
    for (size_t i = 0; i < kTypeCount; ++i) {
      if (atoms.kinds[i] == elements[0] && kTypes[i].bits == bits) return kTypes[i].type;
    }
  }
  refuse("the type", term,
         "{:s | :u, 8 | 16 | 32 | 64}, {:f, 8 | 16 | 32 | 64}, {:bf, 16}, {:c, 32 | 64 | 128}, "
         "{:bool, 8} or {:f8_e4m3fn | :f8_e5m2fnuz | :f8_e4m3fnuz, 8}");
}

Scalar get_scalar(const Call& call, const char* what, ERL_NIF_TERM term) {
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

int64_t get_integer(const Call& call, const char* what, ERL_NIF_TERM term, int64_t least) {
  int64_t value = 0;
  if (enif_get_int64(call.env, term, &value) && value >= least) return value;
  refuse(what, term, least == 0 ? "an integer from 0 to 2^63 - 1" : "an integer of 64 bits");
}

double get_double(const Call& call, const char* what, ERL_NIF_TERM term) {
  double value = 0;
  if (!read_real(call.env, term, value)) refuse(what, term, "a number");
  return value;
}

uint64_t get_unsigned(const Call& call, const char* what, ERL_NIF_TERM term) {
  uint64_t value = 0;
  if (!enif_get_uint64(call.env, term, &value)) refuse(what, term, "an integer from 0 to 2^64 - 1");
  return value;
}

ERL_NIF_TERM make_atom(ErlNifEnv* env, const char* name) noexcept {
  return enif_make_atom(env, name);
}

ERL_NIF_TERM make_text(ErlNifEnv* env, const std::string& text) noexcept {
  ERL_NIF_TERM term = 0;
  std::memcpy(enif_make_new_binary(env, text.size(), &term), text.data(), text.size());
  return term;
}

ERL_NIF_TERM make_type(ErlNifEnv* env, ScalarType type) noexcept {
  size_t i = 0;
  while (kTypes[i].type != type) ++i;
  return enif_make_tuple2(env, atoms.kinds[i], enif_make_int(env, kTypes[i].bits));
}

static std::vector<ERL_NIF_TERM> make_numbers(ErlNifEnv* env, tenon::ArrayRef<int64_t> numbers) {
  std::vector<ERL_NIF_TERM> terms;
  terms.reserve(numbers.size());
  for (const int64_t number : numbers) terms.push_back(enif_make_int64(env, number));
  return terms;
}

ERL_NIF_TERM make_tuple(ErlNifEnv* env, tenon::ArrayRef<int64_t> numbers) {
  const std::vector<ERL_NIF_TERM> terms = make_numbers(env, numbers);
  return enif_make_tuple_from_array(env, terms.data(), static_cast<unsigned>(terms.size()));
}

ERL_NIF_TERM make_list(ErlNifEnv* env, tenon::ArrayRef<int64_t> numbers) {
  const std::vector<ERL_NIF_TERM> terms = make_numbers(env, numbers);
  return enif_make_list_from_array(env, terms.data(), static_cast<unsigned>(terms.size()));
}

ERL_NIF_TERM make_element(ErlNifEnv* env, ScalarType type, const void* element) {
  return tenon::visit(
      type,
      [&](auto tag) -> ERL_NIF_TERM {
        using T = typename decltype(tag)::type;
        T value;
        std::memcpy(&value, element, sizeof value);
        if constexpr (std::is_same_v<T, bool>) {
          return value ? atoms.yes : atoms.no;
        } else if constexpr (std::is_integral_v<T> && std::is_signed_v<T>) {
          return enif_make_int64(env, value);
        } else if constexpr (std::is_integral_v<T>) {
          return enif_make_uint64(env, value);
        } else if constexpr (std::is_convertible_v<T, double>) {
          return make_real(env, static_cast<double>(value));
        } else {
          return enif_make_tuple2(env, make_real(env, static_cast<double>(value.real())),
                                  make_real(env, static_cast<double>(value.imag())));
        }
      },
      [] { return atoms.nil; });
}

ERL_NIF_TERM raise(const Call& call) noexcept {
  constexpr const char* kArgument = "Elixir.ArgumentError";
  constexpr const char* kRuntime = "Elixir.RuntimeError";
  const auto text = [&](const char* what) {
    return std::string(call.function->name) + ": " + what;
  };
  try {
    throw;
  } catch (const tenon::Exception& e) {
    // tenon's name of the function gives way to the one that was called.
    const char* const colon = std::strstr(e.what(), ": ");
    return raise_struct(call.env, is_fault_of_arguments(e.error()) ? kArgument : kRuntime,
                        text(colon == nullptr ? e.what() : colon + 2));
  } catch (const std::invalid_argument& e) {
    return raise_struct(call.env, kArgument, text(e.what()));
  } catch (const std::exception& e) {
    return raise_struct(call.env, kRuntime, text(e.what()));
  }
}

/// Terms may hold tensors that keep terms, in a chain of any length, so each is released after the
/// one before it, not within that.
static void release(const KeptTerm* dropped) noexcept {
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

std::shared_ptr<const KeptTerm> keep(ERL_NIF_TERM term) {
  ErlNifEnv* const env = enif_alloc_env();
  if (env == nullptr) throw std::bad_alloc();
  auto made = std::make_unique<KeptTerm>(KeptTerm{env, enif_make_copy(env, term), nullptr});
  return std::shared_ptr<const KeptTerm>(made.release(), &release);
}
