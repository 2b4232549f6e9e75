// SPDX-License-Identifier: MIT
// Tensors with known bytes in any layout, for programs that mpirun starts several times.
#pragma once

#include "backend/helpers.h"
#include "support/catch.h"
#include "tenon/interop/mpi.h"
#include "tenon/tenon.h"

namespace tests {

inline const tenon::mpi::Communicator& world() {
  static const tenon::mpi::Communicator comm;
  return comm;
}
/// One that checks shapes.
inline const tenon::mpi::Communicator& checked_world() {
  static const tenon::mpi::Communicator comm(MPI_COMM_WORLD, tenon::mpi::Check::Shapes);
  return comm;
}

inline int next() { return (world().rank() + 1) % world().size(); }
inline int previous() { return (world().rank() + world().size() - 1) % world().size(); }

/// Sends round the ranks, without relying on MPI to copy messages.
inline void send_round(const tenon::mpi::Communicator& comm, const tenon::Tensor& out,
                       const tenon::Tensor& in, int tag = 0) {
  tenon::mpi::Request send = *comm.isend(out, next(), tag);
  REQUIRE(comm.recv(in, previous(), tag) == tenon::Error::Ok);
  REQUIRE(send.wait() == tenon::Error::Ok);
}

enum class Lay { C, Fortran, Gaps, Reversed };
inline constexpr Lay kLays[] = {Lay::C, Lay::Fortran, Lay::Gaps, Lay::Reversed};

inline std::vector<tenon::ScalarType> all_types() {
  return {std::begin(tenon::detail::kScalarTypes), std::end(tenon::detail::kScalarTypes)};
}

/// A tensor of zeros.
inline tenon::Tensor laid(const Longs& sizes, Lay lay,
                          tenon::ScalarType type = tenon::ScalarType::Int) {
  const size_t rank = sizes.size();
  tenon::Dims strides;
  tenon::Dims larger;
  tenon::Dims all;
  int64_t stride = 1;
  for (size_t d = 0; d < rank; ++d) {
    strides.push_back(stride);
    stride *= sizes[d] == 0 ? 1 : sizes[d];
    larger.push_back(sizes[d] + 3);
    all.push_back(static_cast<int64_t>(d));
  }
  if (lay == Lay::Fortran) return *tenon::zeros_strided(sizes, strides, type);
  tenon::Tensor made = *tenon::zeros(lay == Lay::Gaps ? larger : tenon::Dims(sizes), type);
  if (lay == Lay::Reversed && rank != 0) return tenon::flip(made, all);
  if (lay != Lay::Gaps) return made;
  for (size_t d = 0; d < rank; ++d) {
    made = tenon::narrow(made, static_cast<int64_t>(d), 1, sizes[d]);
  }
  return made;
}

/// The bytes of an element with a number.
inline std::vector<unsigned char> element(tenon::ScalarType type, int64_t number) {
  std::vector<unsigned char> bytes(elementSize(type));
  for (size_t k = 0; k < bytes.size(); ++k) {
    const auto mixed = static_cast<uint64_t>(number + 1) * 0x9e3779b97f4a7c15u >> (8 * (k % 8));
    bytes[k] = static_cast<unsigned char>((mixed >> 3) + k);
    if (type == tenon::ScalarType::Bool) bytes[k] &= 1;
  }
  return bytes;
}

/// Writes element(first + i), or what `number(index)` says, to the elements in row-major order.
template <class Number>
void fill_with(const tenon::Tensor& tensor, const Number& number) {
  for_each_element(tensor.as_view(), [&](int64_t, const std::vector<int64_t>& index, void* at) {
    const auto bytes = element(tensor.scalar_type(), number(index));
    std::memcpy(at, bytes.data(), bytes.size());
  });
}
/// Whether they are.
template <class Number>
bool has(const tenon::Tensor& tensor, const Number& number) {
  bool same = true;
  for_each_element(tensor.as_view(), [&](int64_t, const std::vector<int64_t>& index, void* at) {
    const auto bytes = element(tensor.scalar_type(), number(index));
    same = same && std::memcmp(at, bytes.data(), bytes.size()) == 0;
  });
  return same;
}

/// A number of a tensor of small whole numbers, by its row-major index.
inline double number(const tenon::Tensor& t, int64_t i) {
  double value = 0;
  for_each_element(t.as_view(), [&](int64_t at, const auto&, const void* p) {
    if (at == i) value = read_number(t.scalar_type(), p);
  });
  return value;
}

/// Numbers that tell the indices and the rank apart.
inline auto numbers(int64_t seed) {
  return [seed](const std::vector<int64_t>& index) {
    int64_t number = seed;
    for (const int64_t i : index) number = number * 31 + i;
    return number;
  };
}
/// Those of a part whose indices of `dim` begin at `begin`.
inline auto numbers(int64_t seed, size_t dim, int64_t begin) {
  return [=](std::vector<int64_t> index) {
    index[dim] += begin;
    return numbers(seed)(index);
  };
}

}  // namespace tests
