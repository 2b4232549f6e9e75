// SPDX-License-Identifier: MIT
// Terms of the BEAM as tenon's values, and back.
#pragma once

#include <erl_nif.h>
#include <tenon/tenon.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

// A binary is shared as its bytes lie, and they are little-endian.
static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "elixir_nif: this host is big-endian");

/// A call from Elixir. Its functions, and all that take a `call`, throw what raise() raises.
struct Call {
  ErlNifEnv* env;
  const ERL_NIF_TERM* argv;
  const ErlNifFunc* function;

  /// Whether work on so many bytes would keep a scheduler from its processes for long: it is done
  /// on a dirty one, by `return call.reschedule();`.
  bool is_long(double nbytes) const noexcept;
  ERL_NIF_TERM reschedule() const noexcept;
};

/// Makes the atoms that the functions below compare with. Before all of them, once.
void make_atoms(ErlNifEnv* env) noexcept;

/// Throws "`what` is `given`; expected `expected`".
[[noreturn]] void refuse(const char* what, ERL_NIF_TERM given, const char* expected);

bool is_nil(ERL_NIF_TERM term) noexcept;

/// A list of integers, at most 64. That sizes are valid is tenon's to check.
tenon::Dims get_dims(const Call& call, const char* what, ERL_NIF_TERM term);
/// By its number, see lib/tenon/type.ex.
tenon::ScalarType get_type(const Call& call, ERL_NIF_TERM term);
/// A number, true, false, :nan, :infinity, :neg_infinity, or `{real, imaginary}`.
tenon::Scalar get_scalar(const Call& call, const char* what, ERL_NIF_TERM term);
int64_t get_integer(const Call& call, const char* what, ERL_NIF_TERM term);
uint64_t get_unsigned(const Call& call, const char* what, ERL_NIF_TERM term);
double get_double(const Call& call, const char* what, ERL_NIF_TERM term);
ErlNifBinary get_binary(const Call& call, ERL_NIF_TERM term);

ERL_NIF_TERM make_binary(ErlNifEnv* env, const void* bytes, size_t nbytes) noexcept;
ERL_NIF_TERM make_text(ErlNifEnv* env, const std::string& text) noexcept;
ERL_NIF_TERM make_dims(ErlNifEnv* env, tenon::ArrayRef<int64_t> numbers) noexcept;
/// What get_scalar() takes, of one element.
ERL_NIF_TERM make_element(ErlNifEnv* env, tenon::ScalarType type, const void* element);

/// Raises what a function of a call has thrown: an ArgumentError, or a RuntimeError where not the
/// arguments are at fault, with the message "<the function>: <the text>". In a catch block.
ERL_NIF_TERM raise(const Call& call) noexcept;

/// A term that stays, with all that it refers to, until the last copy of this is dropped, on
/// whichever thread. `term` is a copy in `env`: of a binary of more than 64 bytes the bytes are the
/// same ones, all else is copied. Tensors in it are the same tensors.
struct KeptTerm {
  ErlNifEnv* env;
  ERL_NIF_TERM term;
  KeptTerm* next;  // once it is dropped

  /// Whether it is a binary.
  bool get_binary(ErlNifBinary& binary) const noexcept {
    return enif_inspect_binary(env, term, &binary) != 0;
  }
};
std::shared_ptr<const KeptTerm> keep(ERL_NIF_TERM term);
