// SPDX-License-Identifier: MIT
#include "tenon/interop/processes/mpi_messages.h"

#include <cmath>
#include <thread>

#include "backend/helpers.h"
#include "interop/processes/mpi/ranks.h"

namespace mpi_collective_test {

using namespace tenon;
using mpi::Communicator;
using mpi::Op;
using tests::kLays;
using tests::laid;
using tests::Lay;
using tests::Longs;
using tests::number;
using tests::numbers;
using tests::send_round;
using tests::world;

namespace {

Longs with_size(Longs sizes, size_t dim, int64_t size) {
  sizes[dim] = size;
  return sizes;
}

void set_numbers(const Tensor& t, const std::function<double(int64_t)>& value) {
  tests::for_each_element(t.as_view(), [&](int64_t at, const auto&, void* p) {
    tests::write_number(t.scalar_type(), p, value(at));
  });
}

/// The combination of one number of each rank.
double combined(Op op, const std::function<double(int)>& of_rank) {
  double all = of_rank(0);
  for (int r = 1; r < world().size(); ++r) {
    const double one = of_rank(r);
    all = op == Op::Sum       ? all + one
          : op == Op::Product ? all * one
          : op == Op::Min     ? std::min(all, one)
                              : std::max(all, one);
  }
  return all;
}

constexpr Op kOps[] = {Op::Sum, Op::Product, Op::Min, Op::Max};

}  // namespace

TEST_CASE("bcast: the root's elements are everywhere, of every dtype and layout") {
  for (const ScalarType type : tests::all_types()) {
    for (int root = 0; root < world().size(); ++root) {
      for (const Lay lay : kLays) {
        // Another layout on each rank.
        const Tensor t =
            laid({3, 4},
                 kLays[(static_cast<size_t>(lay) + static_cast<size_t>(world().rank())) % 4], type);
        if (world().rank() == root) tests::fill_with(t, numbers(root));
        REQUIRE(world().bcast(t, root) == Error::Ok);
        CHECK(tests::has(t, numbers(root)));
      }
    }
  }
  CHECK(world().bcast(zeros({0})) == Error::Ok);
  const float constant = 4;  // the root's may be read-only
  const TensorPtr t = world().rank() == 0 ? from_blob(&constant, {1}) : zeros({1});
  REQUIRE(world().bcast(t) == Error::Ok);
  CHECK(number(*t, 0) == 4);
}

TEST_CASE(
    "scatter, gather, allgather: parts of any dimension and dtype, even or not, of all layouts") {
  const int ranks = world().size();
  const int rank = world().rank();
  const std::vector<ScalarType> types = tests::all_types();
  size_t round = 0;
  for (const int64_t n : {int64_t{8}, int64_t{5}, int64_t{1}, int64_t{0}}) {
    for (size_t dim = 0; dim < 3; ++dim) {
      for (const Lay whole : kLays) {
        for (const Lay piece : kLays) {
          const int root = ranks - 1;
          const mpi::Part mine = mpi::part(n, ranks, rank);
          const Longs sizes = with_size({2, 3, 2}, dim, n);
          const auto along = static_cast<int64_t>(dim) - (n == 5 ? 3 : 0);  // from the end too
          const ScalarType type = types[round++ % types.size()];
          const Tensor all = laid(sizes, whole, type);
          const Tensor part = laid(with_size(sizes, dim, mine.size), piece, type);
          tests::fill_with(all, numbers(9));
          REQUIRE(world().scatter(rank == root ? all : Tensor(), part, root, along) == Error::Ok);
          REQUIRE(tests::has(part, numbers(9, dim, mine.begin)));

          const Tensor gathered = laid(sizes, whole, type);
          REQUIRE(world().gather(part, rank == root ? gathered : Tensor(), root, along) ==
                  Error::Ok);
          if (rank == root) REQUIRE(tests::has(gathered, numbers(9)));

          const Tensor everywhere = laid(sizes, whole, type);
          REQUIRE(world().allgather(part, everywhere, along) == Error::Ok);
          REQUIRE(tests::has(everywhere, numbers(9)));
        }
      }
    }
  }
}

TEST_CASE(
    "scatter, gather, allgather, reduce_scatter: without elements, and of broadcast sources") {
  const int last = world().size() - 1;
  const int64_t mine = mpi::part(7, world().size(), world().rank()).size;
  const TensorPtr all = ones({1}, ScalarType::Int);
  const TensorPtr one = ones({1}, ScalarType::Int);
  const struct {
    Tensor all;
    Tensor part;
  } rows[] = {{*zeros({7, 0}), *zeros({mine, 0})},  // and a part within the whole
              {*all, world().rank() == 0 ? *one : narrow(*all, 0, 0, 0)}};
  for (const auto& row : rows) {
    CHECK(world().scatter(row.all, row.part, last) == Error::Ok);
    CHECK(world().gather(row.part, row.all, last) == Error::Ok);
    CHECK(world().allgather(row.part, row.all) == Error::Ok);
    CHECK(world().reduce_scatter(row.all, row.part) == Error::Ok);
  }
  CHECK(number(*one, 0) == (world().rank() == 0 ? world().size() : 1));
  const TensorPtr part = zeros({mine, 2}, ScalarType::Int);
  REQUIRE(world().scatter(expand(*full({1, 2}, 6, ScalarType::Int), {7, 2}), part) == Error::Ok);
  for (int64_t i = 0; i < part->numel(); ++i) CHECK(number(*part, i) == 6);
}

TEST_CASE("allreduce: every dtype and operation, in place, of all layouts") {
  for (const ScalarType type : tests::all_types()) {
    for (const Op op : kOps) {
      if (isComplexType(type) && op >= Op::Min) continue;
      for (const Lay lay : kLays) {
        // Small enough for 8 bits: of floats too.
        const auto value = [&](int rank, int64_t i) {
          return static_cast<double>(type == ScalarType::Bool ? (rank + i) % 2 : (rank + i) % 3);
        };
        const Tensor t = laid({2, 3}, lay, type);
        set_numbers(t, [&](int64_t i) { return value(world().rank(), i); });
        REQUIRE(world().allreduce(t, op) == Error::Ok);
        for (int64_t i = 0; i < 6; ++i) {
          double expected = combined(op, [&](int r) { return value(r, i); });
          if (type == ScalarType::Bool) expected = expected != 0;
          CHECK(number(t, i) == expected);
        }
      }
    }
  }
  CHECK(world().allreduce(zeros({0})) == Error::Ok);
}

TEST_CASE("allreduce, reduce_scatter: small floats are rounded once, after all are combined") {
  // Halfs from 2048 on are 2 apart: 2048 + 1 is 2048 again if it is rounded at once.
  const int n = world().size();
  const auto numbers_of_rank = [&] {
    return full({n}, world().rank() == 0 ? 2048 : 1, ScalarType::Half);
  };
  const float expected = n == 2 ? 2048.0f : 2052.0f;  // of 2049 and 2051, to even
  REQUIRE((n == 2 || n == 4));
  const TensorPtr sums = numbers_of_rank();
  REQUIRE(world().allreduce(sums) == Error::Ok);
  CHECK(number(*sums, n - 1) == expected);
  const TensorPtr one = zeros({1}, ScalarType::Half);
  REQUIRE(world().reduce_scatter(numbers_of_rank(), one) == Error::Ok);
  CHECK(number(*one, 0) == expected);
}

TEST_CASE("reduce_scatter: parts of any dimension, even or not") {
  const int ranks = world().size();
  for (const ScalarType type : {ScalarType::Float, ScalarType::Half, ScalarType::BFloat16,
                                ScalarType::Bool, ScalarType::ComplexFloat, ScalarType::Long}) {
    for (const int64_t n : {int64_t{8}, int64_t{5}, int64_t{1}, int64_t{0}}) {
      for (size_t dim = 0; dim < 2; ++dim) {
        for (const Lay lay : kLays) {
          const mpi::Part mine = mpi::part(n, ranks, world().rank());
          const Longs sizes = with_size({3, 3}, dim, n);
          const Tensor source = laid(sizes, lay, type);
          const Tensor out = laid(with_size(sizes, dim, mine.size), lay, type);
          const auto value = [&](int rank, int64_t i) {
            return static_cast<double>(type == ScalarType::Bool ? 1 : (rank + i) % 5);
          };
          set_numbers(source, [&](int64_t i) { return value(world().rank(), i); });
          REQUIRE(world().reduce_scatter(source, out, Op::Sum, static_cast<int64_t>(dim)) ==
                  Error::Ok);
          tests::for_each_element(out.as_view(), [&](int64_t, const auto& index, const void* p) {
            const int64_t row = index[0] + (dim == 0 ? mine.begin : 0);
            const int64_t column = index[1] + (dim == 1 ? mine.begin : 0);
            const int64_t i = row * sizes[1] + column;
            double expected = combined(Op::Sum, [&](int r) { return value(r, i); });
            if (type == ScalarType::Bool) expected = 1;
            CHECK(tests::read_number(type, p) == expected);
          });
        }
      }
    }
  }
}

TEST_CASE("allgather, reduce_scatter: more elements than MPI counts are refused") {
  const Communicator alone(MPI_COMM_SELF);
  uint8_t bytes[2] = {};  // nobody touches the others
  const int64_t many = int64_t{1} << 31;
  const TensorPtr part = from_blob(&bytes[0], {many}, ScalarType::Byte);
  const TensorPtr all = from_blob(&bytes[1], {many}, ScalarType::Byte);
  RETURNS(NotSupported, "allgather: 2147483648 elements are more than MPI can count",
          alone.allgather(part, all));
  RETURNS(NotSupported, "are more than MPI can count", alone.reduce_scatter(all, part));
}

TEST_CASE("collectives: every function refuses what it cannot do by its own name, on all ranks") {
  const TensorPtr two = zeros({2, 2});
  const int n = world().size();
  const std::string root = "root " + std::to_string(n) + " is not one of the";
  RETURNS(InvalidArgument, "bcast: " + root, world().bcast(two, n));
  RETURNS(InvalidArgument, "scatter: " + root, world().scatter(two, two, n));
  RETURNS(InvalidArgument, "gather: root -1", world().gather(two, two, -1));
  RETURNS(OutOfBounds, "scatter: dimension 2", world().scatter(two, two, 0, 2));
  RETURNS(OutOfBounds, "gather: dimension -3", world().gather(two, two, 0, -3));
  RETURNS(OutOfBounds, "allgather: dimension 0", world().allgather(zeros({}), two));
  RETURNS(OutOfBounds, "reduce_scatter: dimension 0", world().reduce_scatter(two, zeros({})));
  RETURNS(InvalidState, "bcast: the tensor is undefined", world().bcast(TensorPtr()));
  RETURNS(InvalidState, "allgather: the whole is undefined", world().allgather(two, Tensor()));
  RETURNS(InvalidArgument, "allgather: the part of rank", world().allgather(two, two));
  RETURNS(InvalidType, "the tensors are Float and Int",
          world().allgather(zeros({1}, ScalarType::Int), zeros({n})));
  RETURNS(InvalidType, "allreduce: Max of ComplexFloat: complex numbers have no order",
          world().allreduce(zeros({1}, ScalarType::ComplexFloat), Op::Max));
  RETURNS(InvalidArgument, "share memory", world().allreduce(expand(*zeros({1}), {2})));
  const TensorPtr all = zeros({n});
  RETURNS(InvalidArgument, "share memory",
          world().allgather(narrow(*all, 0, world().rank(), 1), all));
  RETURNS(InvalidArgument, "share memory",
          world().reduce_scatter(all, narrow(*all, 0, world().rank(), 1)));
  const float constant[1] = {};
  RETURNS(InvalidState, "read-only", world().allreduce(from_blob(constant, {1})));
}

TEST_CASE("collectives: memory of a device goes by way of the host") {
  tests::MinimalBackend device;
  const int n = world().size();
  const TensorPtr one = full({1, 2}, world().rank() + 1, ScalarType::Float, device);
  const TensorPtr all = zeros({n, 2}, device);
  REQUIRE(world().allgather(one, all) == Error::Ok);
  CHECK(device.get<float>(all->const_data_ptr(), 2 * n - 1) == static_cast<float>(n));
  REQUIRE(world().scatter(all, one, n - 1) == Error::Ok);
  REQUIRE(world().gather(one, all) == Error::Ok);
  REQUIRE(world().bcast(all) == Error::Ok);
  CHECK(device.get<float>(all->const_data_ptr(), 2 * n - 1) == static_cast<float>(n));
  REQUIRE(world().allreduce(all) == Error::Ok);
  CHECK(device.get<float>(all->const_data_ptr(), 1) == static_cast<float>(n));
  REQUIRE(world().reduce_scatter(all, one) == Error::Ok);
  CHECK(device.get<float>(one->const_data_ptr(), 1) ==
        static_cast<float>(n * n * (world().rank() + 1)));
  send_round(world(), *one, *one);
  CHECK(device.faults == 0);
}

TEST_CASE("allgather: an output that is reversed along the dimension") {
  for (const int64_t columns : {1, 200}) {
    const auto ranks = static_cast<int64_t>(world().size());
    const Tensor out = flip(full({3 * ranks, columns}, -1, ScalarType::Int), {0});
    REQUIRE(world().allgather(full({3, columns}, world().rank(), ScalarType::Int), out) ==
            Error::Ok);
    for (int64_t row = 0; row < 3 * ranks; ++row) {
      CHECK(select(select(out, 0, row), 0, columns - 1).item<int32_t>() == row / 3);
    }
  }
}

}  // namespace mpi_collective_test
