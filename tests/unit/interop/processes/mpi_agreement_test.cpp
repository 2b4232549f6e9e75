// SPDX-License-Identifier: MIT
#include "tenon/interop/processes/mpi_buffer.h"

#include "interop/processes/mpi/ranks.h"

namespace mpi_agreement_test {

using namespace tenon;
using detail::MpiCall;
using detail::MpiRecord;
using tests::Longs;

namespace {

MpiRecord record_of(MpiCall call, const TensorPtr& t, int64_t root = MpiRecord::kNone,
                    int64_t dim = MpiRecord::kNone) {
  MpiRecord record(call);
  record.root = root;
  record.dim = dim;
  record.describe(t);
  return record;
}

}  // namespace

TEST_CASE("mpi records: a call of other sizes, dtype, root or name is found, with both calls") {
  const TensorPtr t = zeros({2, 3});
  const MpiRecord known = record_of(MpiCall::Bcast, t, 0);
  const auto with = [&](const MpiRecord& other) {
    const MpiRecord all[] = {known, known, other};
    return detail::compare_records(all, 3);
  };
  CHECK(with(known) == Error::Ok);
  RETURNS(
      InvalidArgument,
      "rank 2 called bcast of Float {3, 2}, root 0; rank 0 called bcast of Float {2, 3}, root 0",
      with(record_of(MpiCall::Bcast, zeros({3, 2}), 0)));
  RETURNS(InvalidArgument, "bcast of Int {2, 3}",
          with(record_of(MpiCall::Bcast, zeros({2, 3}, ScalarType::Int), 0)));
  RETURNS(InvalidArgument, "bcast of Float {2}", with(record_of(MpiCall::Bcast, zeros({2}), 0)));
  RETURNS(InvalidArgument, "root 1; rank 0", with(record_of(MpiCall::Bcast, t, 1)));
  RETURNS(InvalidArgument, "rank 2 called allreduce of Float {2, 3}; rank 0",
          with(record_of(MpiCall::Allreduce, t)));
  MpiRecord sum = record_of(MpiCall::Allreduce, t);
  MpiRecord product = sum;
  sum.op = static_cast<int64_t>(mpi::Op::Sum);
  product.op = static_cast<int64_t>(mpi::Op::Product);
  const MpiRecord both[] = {sum, product};
  RETURNS(InvalidArgument, "Float {2, 3}, Product; rank 0 called allreduce of Float {2, 3}, Sum",
          detail::compare_records(both, 2));
}

TEST_CASE("mpi records: of scatter and gather the root has the whole, the others their parts") {
  for (const MpiCall call : {MpiCall::Scatter, MpiCall::Gather}) {
    MpiRecord all[] = {record_of(call, zeros({2, 2}), 1, -1), record_of(call, zeros({2, 5}), 1, 1),
                       record_of(call, zeros({2, 1}), 1, 1)};
    CHECK(detail::compare_records(all, 3) == Error::Ok);
    all[2] = record_of(call, zeros({2, 2}), 1, 1);
    CHECK(detail::compare_records(all, 3) == Error::InvalidArgument);
    CHECK(tests::contains(last_error_message(), "Float {2, 2}, dim 1, root 1; rank 1 called"));
    all[2] = record_of(call, zeros({2, 1}), 0, 1);
    CHECK(detail::compare_records(all, 3) == Error::InvalidArgument);
  }
}

TEST_CASE("mpi records: an error that one rank found is an error of all") {
  MpiRecord all[] = {record_of(MpiCall::Bcast, zeros({2}), 0), MpiRecord(MpiCall::Bcast)};
  all[1].error = static_cast<int64_t>(Error::InvalidState);
  RETURNS(InvalidArgument, "rank 1 found an error in its arguments: InvalidState",
          detail::compare_records(all, 2));
}

TEST_CASE("mpi records: every rank returns the same error, the one at fault its own") {
  detail::MpiRanks ranks;
  REQUIRE(ranks.make(MPI_COMM_WORLD, true) == Error::Ok);
  const TensorPtr t = zeros({2});
  const MpiRecord record(MpiCall::Bcast, 0);
  CHECK(ranks.agree(Error::Ok, record, t) == Error::Ok);
  const Error own = ranks.rank == 1 ? detail::fail(Error::InvalidType, "mine") : Error::Ok;
  CHECK(ranks.agree(own, record, t) ==
        (ranks.rank == 1 ? Error::InvalidType : Error::InvalidArgument));
  CHECK(tests::contains(last_error_message(), ranks.rank == 1 ? "mine" : "rank 1 found"));
}

TEST_CASE("mpi records: of 64 dimensions too") {
  MpiRecord all[] = {record_of(MpiCall::Allreduce, ones(Longs(64, 1))),
                     record_of(MpiCall::Allreduce, ones(Longs(64, 1)))};
  CHECK(detail::compare_records(all, 2) == Error::Ok);
  all[1].sizes[63] = 2;
  RETURNS(InvalidArgument, "rank 1 called allreduce of Float {1, ",
          detail::compare_records(all, 2));
}

}  // namespace mpi_agreement_test
