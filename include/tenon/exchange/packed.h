// SPDX-License-Identifier: MIT
// unpack: the numbers of packed bytes as a Float tensor. See docs/packed.md.
#pragma once

#include <cstring>

#include "tenon/core/float_bits.h"
#include "tenon/exchange/packed_type.h"
#include "tenon/tensor/copy.h"
#include "tenon/tensor/creators.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// 2^(code - 127).
inline float scale_number(uint32_t code) noexcept {
  return float_from_bits(code == 255 ? 0x7fc00000u : code == 0 ? 0x00400000u : code << 23);
}

/// The number that a code of fewer than 8 bits represents.
TENON_TEMPLATE_INLINE float packed_number(PackedType type, uint32_t code) noexcept {
  const int bits = packed_bits(type);
  const uint32_t sign = code >> (bits - 1);
  int mantissa = 0;  // its length in bits
  float unit = 0;    // the smallest number above 0
  switch (type) {
    case PackedType::Float4_e2m1fn: mantissa = 1, unit = 0.5f; break;
    case PackedType::Float6_e2m3fn: mantissa = 3, unit = 0.125f; break;
    case PackedType::Float6_e3m2fn: mantissa = 2, unit = 0.0625f; break;
    case PackedType::Int4:
    case PackedType::Int2:
    case PackedType::Int1: return static_cast<float>(code) - static_cast<float>(sign << bits);
    default: return static_cast<float>(code);
  }
  const uint32_t rest = code & ((1u << (bits - 1)) - 1);
  const uint32_t exponent = rest >> mantissa;
  const uint32_t digits = exponent == 0 ? rest : (rest & ((1u << mantissa) - 1)) | 1u << mantissa;
  const float number = static_cast<float>(digits << (exponent == 0 ? 0 : exponent - 1)) * unit;
  return sign != 0 ? -number : number;
}

/// Writes the numbers that `nbytes` bytes hold. For numbers of 6 bits `nbytes` is a multiple of 3.
template <int kBits>
void unpack_numbers(const unsigned char* from, int64_t nbytes, const float* numbers,
                    float* out) noexcept {
  constexpr int kStep = kBits == 6 ? 3 : 1;
  for (const unsigned char* const end = from + nbytes; from != end; from += kStep) {
    uint32_t word = from[0];
    if constexpr (kStep == 3) word |= uint32_t{from[1]} << 8 | uint32_t{from[2]} << 16;
    for (int at = 0; at < 8 * kStep; at += kBits) {
      *out++ = numbers[word >> at & ((1u << kBits) - 1)];
    }
  }
}

/// Takes half the time for numbers of 4 bits: one load and one store for two numbers.
TENON_TEMPLATE_INLINE void unpack_pairs(const unsigned char* from, int64_t nbytes,
                                        const float* numbers, float* out) noexcept {
  float pairs[256][2];
  for (uint32_t byte = 0; byte < 256; ++byte) {
    pairs[byte][0] = numbers[byte & 15];
    pairs[byte][1] = numbers[byte >> 4];
  }
  for (int64_t i = 0; i < nbytes; ++i) std::memcpy(out + 2 * i, pairs[from[i]], sizeof pairs[0]);
}

TENON_TEMPLATE_INLINE void unpack_bytes(const unsigned char* from, int64_t nbytes, PackedType type,
                                        float* out) noexcept {
  const int bits = packed_bits(type);
  if (bits == 8) {
    for (int64_t i = 0; i < nbytes; ++i) out[i] = scale_number(from[i]);
    return;
  }
  float numbers[64];
  for (uint32_t code = 0; code < 1u << bits; ++code) numbers[code] = packed_number(type, code);
  switch (bits) {
    case 1: return unpack_numbers<1>(from, nbytes, numbers, out);
    case 2: return unpack_numbers<2>(from, nbytes, numbers, out);
    case 6: return unpack_numbers<6>(from, nbytes, numbers, out);
    default:
      if (TENON_BARE_METAL || nbytes < 512) return unpack_numbers<4>(from, nbytes, numbers, out);
      return unpack_pairs(from, nbytes, numbers, out);
  }
}

/// Checks the bytes, and computes the sizes of their numbers.
TENON_TEMPLATE_INLINE Error find_unpacked_sizes(const TensorFields& from, PackedType type,
                                                Dims& sizes) noexcept {
  const int bits = packed_bits(type);
  if (bits == 0) {
    return fail(Error::InvalidArgument, "the packed type is ", type, " (", static_cast<int>(type),
                ")");
  }
  if (from.type != ScalarType::Byte) {
    return fail(Error::InvalidType, "the tensor's dtype is ", from.type,
                ", expected Byte, with packed numbers; view_as_type(t, ScalarType::Byte) has the "
                "same memory");
  }
  sizes = from.layout.sizes();
  TENON_TRY(check_dims("sizes", sizes));
  if (bits == 8) return Error::Ok;
  if (sizes.empty()) {
    return fail(Error::InvalidArgument, "the tensor has no last dimension, along which ", type,
                " are unpacked; reshape(t, {1}) has one");
  }
  int64_t& last = sizes[sizes.size() - 1];
  const int64_t step = bits == 6 ? 3 : 1;
  if (last % step != 0) {
    return fail(Error::InvalidArgument, "the last of sizes ", from.layout.sizes(),
                " is not a multiple of the 3 bytes that hold four ", type);
  }
  const int64_t steps = last / step;
  const int64_t in_step = 8 * step / bits;
  if (steps > INT64_MAX / in_step) {
    return fail(Error::InvalidArgument, "the last of sizes ", from.layout.sizes(), " is too large");
  }
  last = steps * in_step;
  return Error::Ok;
}

TENON_TEMPLATE_INLINE Error make_unpacked(const TensorArg& t, PackedType type, Backend*& backend,
                                          NewTensor& made) noexcept {
  HeldLocation from;
  HostElements fetched;
  Dims sizes;
  TENON_TRY(find_source(t, "the tensor", from));
  TENON_TRY(find_unpacked_sizes(fields(t), type, sizes));
  ptrdiff_t count = 0;
  TENON_TRY(compute_numel(sizes, sizeof(float), count));  // before a copy of the bytes
  const bool is_contiguous = fields(t).layout.is_contiguous();
  const int64_t nbytes = fields(t).layout.numel;
  TENON_TRY(find_backend_like(fields(t), nullptr, backend));
  TENON_TRY(from.keep_while_asking(t, backend != nullptr));
  if (from.backend != nullptr || !is_contiguous) {
    TENON_TRY(fetched.make(from.view));
    TENON_TRY(copy(fetched.location, from));
    from.view = fetched.location.view;
  }
  CreateOptions opts(ScalarType::Float);
  opts.backend = backend;
  TENON_TRY(make_owned_row_major(sizes, opts, false, made));
  const MemoryLocation to = locate_new(fields(made));
  HostElements here;
  if (to.backend != nullptr) TENON_TRY(here.make(to.view));
  const TensorView& out = to.backend != nullptr ? here.location.view : to.view;
  unpack_bytes(static_cast<const unsigned char*>(from.view.data), nbytes, type,
               static_cast<float*>(out.data));
  return to.backend != nullptr ? copy(to, here.location) : Error::Ok;
}

template <class Out>
Out unpack_tensor(const char* function, const TensorArg& t, PackedType type) {
  NewTensor made;
  Backend* backend = nullptr;
  const Error error = make_unpacked(t, type, backend, made);
  return return_to_user<Out>(function, error, made, backend);
}

}  // namespace detail

/// The numbers in packed bytes, as a row-major Float tensor in t's backend; Float represents all of
/// them exactly. Its last size is the count of numbers in a row: t's last size times 2 for numbers
/// of 4 bits, times 4/3 for 6 bits, times 1 for 8 bits. The try_ form returns a Result.
///
/// Ownership: copies. t is a Byte tensor with any strides.
/// Errors: InvalidType (another dtype); InvalidArgument (a `type` that is Undefined or unknown; for
/// fewer than 8 bits, a t of rank 0; for 6 bits, a last size that is not a multiple of 3);
/// InvalidState (an undefined tensor, a placeholder); NotSupported (a meta tensor; memory that
/// neither the host nor a registered backend can reach); OutOfMemory.
/// Cost: one pass on one thread. Bytes that are not contiguous, or not in the host's memory, are
/// copied first.
TENON_TEMPLATE_INLINE TensorPtr unpack(ConstTensorArg t, PackedType type) {
  return detail::unpack_tensor<TensorPtr>("unpack", t, type);
}
TENON_TEMPLATE_INLINE Result<TensorPtr> try_unpack(ConstTensorArg t, PackedType type) {
  return detail::unpack_tensor<Result<TensorPtr>>("try_unpack", t, type);
}

TENON_END_NAMESPACE
