// SPDX-License-Identifier: MIT
#include "tenon/interop/processes/mpi_buffer.h"

#include "backend/helpers.h"
#include "interop/processes/mpi/ranks.h"

namespace mpi_buffer_test {

using namespace tenon;
using detail::MpiBuffer;
using detail::MpiCall;
using detail::MpiForm;
using detail::MpiRecord;
using detail::MpiUse;
using tests::laid;
using tests::Lay;
using tests::Longs;
using tests::MinimalBackend;

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

TEST_CASE("mpi buffer: a contiguous tensor is its data, its elements and their basic type") {
  const TensorPtr t = zeros({3, 4}, ScalarType::Half);
  MpiBuffer buffer;
  REQUIRE(buffer.find(t, "it", MpiUse::Update) == Error::Ok);
  CHECK(buffer.data == t->mutable_data_ptr());
  CHECK(buffer.count == 12);
  CHECK(buffer.type == MPI_UINT16_T);
  CHECK(!buffer.made);
  CHECK(!buffer.copy.defined());
  CHECK(buffer.at(2) == t->mutable_data_ptr<Half>() + 2);
  // More than MPI counts are one of a datatype. Nobody touches the others.
  const int64_t many = int64_t{INT_MAX} + 2;
  uint8_t first = 0;
  MpiBuffer whole;
  REQUIRE(whole.find(from_blob(&first, {many}), "it", MpiUse::Read) == Error::Ok);
  CHECK(whole.count == 1);
  MPI_Count size = 0;
  MPI_Type_size_x(whole.type, &size);
  CHECK(size == many);
}

TEST_CASE("mpi buffer: sizes of 1, rank 0 and no elements are contiguous, whatever the strides") {
  for (const Tensor& t :
       {narrow(laid({4, 4}, Lay::Reversed), 0, 0, 0), laid({1, 1}, Lay::Gaps), laid({}, Lay::C)}) {
    MpiBuffer buffer;
    REQUIRE(buffer.find(t, "it", MpiUse::Write) == Error::Ok);
    CHECK(buffer.count == t.numel());
    CHECK(buffer.type == MPI_INT32_T);
  }
}

TEST_CASE("mpi buffer: rows of 64 bytes and more are one of a datatype, of the same memory") {
  const Tensor wide = *zeros({3, 30}, ScalarType::Int);
  for (const Tensor& t : {narrow(wide, 1, 2, 16), flip(narrow(wide, 1, 2, 16), {0})}) {
    MpiBuffer buffer;
    REQUIRE(buffer.find(t, "it", MpiUse::Write) == Error::Ok);
    CHECK(buffer.data == t.mutable_data_ptr());
    CHECK(buffer.count == 1);
    int size = 0;
    MPI_Type_size(buffer.type, &size);
    CHECK(size == 192);
    CHECK(!buffer.copy.defined());
  }
}

TEST_CASE("mpi buffer: shorter rows, and all where MPI takes no others, go by way of a copy") {
  for (const MpiForm form : {MpiForm::Any, MpiForm::Contiguous}) {
    for (const Lay lay : {Lay::Fortran, Lay::Gaps, Lay::Reversed}) {
      const Tensor t = laid({3, form == MpiForm::Any ? 4 : 40}, lay);
      tests::fill_with(t, tests::numbers(1));
      for (const MpiUse use : {MpiUse::Read, MpiUse::Update, MpiUse::Write}) {
        MpiBuffer buffer;
        REQUIRE(buffer.find(t, "it", use, form) == Error::Ok);
        CHECK(buffer.count == t.numel());
        CHECK(buffer.type == MPI_INT32_T);
        REQUIRE(buffer.copy.defined());
        CHECK(buffer.copy.is_contiguous());
        if (use != MpiUse::Write) CHECK(tests::has(buffer.copy, tests::numbers(1)));
        tests::fill_with(buffer.copy, tests::numbers(2));
        REQUIRE(buffer.store() == Error::Ok);  // what is read is not written
        CHECK(tests::has(t, tests::numbers(use == MpiUse::Read ? 1 : 2)));
        tests::fill_with(t, tests::numbers(1));
      }
    }
  }
}

TEST_CASE("mpi buffer: memory that only a backend reaches goes by way of the host") {
  MinimalBackend device;
  const TensorPtr t = full({2, 3}, 7, ScalarType::Int, device);
  MpiBuffer buffer;
  REQUIRE(buffer.find(t, "it", MpiUse::Read) == Error::Ok);
  REQUIRE(buffer.copy.defined());
  CHECK(buffer.copy.device() == Device());
  CHECK(static_cast<const int32_t*>(buffer.data)[5] == 7);
  CHECK(device.downloaded == 24);

  device.downloaded = 0;
  MpiBuffer target;
  REQUIRE(target.find(t, "it", MpiUse::Write) == Error::Ok);
  CHECK(device.downloaded == 0);  // what is written is not read
  static_cast<int32_t*>(target.data)[5] = 9;
  REQUIRE(target.store() == Error::Ok);
  CHECK(device.get<int32_t>(t->const_data_ptr(), 5) == 9);
  CHECK(device.faults == 0);

  device.will["copy_to_host"] = tests::Answer::Fails;
  RETURNS(AccessFailed, "the cable is out", MpiBuffer().find(t, "it", MpiUse::Read));
}

TEST_CASE("mpi buffer: what cannot be read or written is refused by name") {
  const TensorPtr t = zeros({2});
  MpiBuffer buffer;
  RETURNS(InvalidState, "the source is undefined",
          buffer.find(Tensor(), "the source", MpiUse::Read));
  RETURNS(InvalidState, "the source is a placeholder",
          buffer.find(from_blob(nullptr, {2}), "the source", MpiUse::Read));
  const float constant[2] = {};
  RETURNS(InvalidState, "the output is read-only",
          buffer.find(from_blob(constant, {2}), "the output", MpiUse::Write));
  CHECK(buffer.find(from_blob(constant, {2}), "the source", MpiUse::Read) == Error::Ok);
  RETURNS(InvalidArgument, "share memory",
          buffer.find(expand(*zeros({1}), {2}), "the output", MpiUse::Write));
  RETURNS(NotSupported, "it is a meta tensor",
          buffer.find(make_template({2}, ScalarType::Float), "it", MpiUse::Read));
}

TEST_CASE("mpi buffer: a dimension comes first in a view") {
  const TensorPtr t = zeros({2, 3, 4});
  Tensor turned;
  REQUIRE(detail::put_dim_first(t, "it", 0, turned) == Error::Ok);
  CHECK(turned.sizes() == Dims{2, 3, 4});
  REQUIRE(detail::put_dim_first(t, "it", -1, turned) == Error::Ok);
  CHECK(turned.sizes() == Dims{4, 3, 2});
  CHECK(turned.strides() == Dims{1, 4, 12});
  RETURNS(OutOfBounds, "dimension 3", detail::put_dim_first(t, "it", 3, turned));
  RETURNS(OutOfBounds, "0 dimensions", detail::put_dim_first(zeros({}), "it", 0, turned));
  RETURNS(InvalidState, "it is undefined", detail::put_dim_first(Tensor(), "it", 0, turned));
}

TEST_CASE(
    "mpi buffer: a part has the sizes that part() says, and shares no memory with the whole") {
  const TensorPtr all = zeros({5, 2});
  CHECK(detail::check_part(all, zeros({3, 2}), 0, 2, 0) == Error::Ok);
  CHECK(detail::check_part(all, zeros({5, 1}), -1, 2, 1) == Error::Ok);
  RETURNS(
      InvalidArgument,
      "the part of rank 1 of sizes {5, 2} along dimension 0 has sizes {2, 2}, but its tensor has "
      "{3, 2}",
      detail::check_part(all, zeros({3, 2}), 0, 2, 1));
  RETURNS(InvalidArgument, "has sizes {3, 2}", detail::check_part(all, zeros({6}), 0, 2, 0));
  RETURNS(InvalidType, "the tensors are Float and Int",
          detail::check_part(all, zeros({3, 2}, ScalarType::Int), 0, 2, 0));

  const Tensor part = narrow(*all, 0, 0, 3);
  MpiBuffer whole;
  MpiBuffer piece;
  REQUIRE(whole.find(all, "all", MpiUse::Read) == Error::Ok);
  REQUIRE(piece.find(part, "part", MpiUse::Write) == Error::Ok);
  RETURNS(InvalidArgument, "share memory", detail::check_apart(whole, piece));
}

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
  MpiRecord deep[] = {record_of(MpiCall::Allreduce, ones(Longs(64, 1))),
                      record_of(MpiCall::Allreduce, ones(Longs(64, 1)))};
  CHECK(detail::compare_records(deep, 2) == Error::Ok);
  deep[1].sizes[63] = 2;
  RETURNS(InvalidArgument, "rank 1 called allreduce of Float {1, ",
          detail::compare_records(deep, 2));
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

TEST_CASE("mpi records: every rank returns the same error, the one at fault its own") {
  detail::MpiRanks ranks;
  REQUIRE(ranks.make(MPI_COMM_WORLD, true) == Error::Ok);
  const TensorPtr t = zeros({2});
  const MpiRecord record(MpiCall::Bcast, 0);
  CHECK(ranks.agree(Error::Ok, record, t) == Error::Ok);
  const Error own = ranks.rank == 1 ? detail::fail(Error::InvalidType, "mine") : Error::Ok;
  CHECK(ranks.agree(own, record, t) ==
        (ranks.rank == 1 ? Error::InvalidType : Error::InvalidArgument));
  const char* const words = "rank 1 found an error in its arguments: InvalidType";
  CHECK(tests::contains(last_error_message(), ranks.rank == 1 ? "mine" : words));
}

TEST_CASE("part: as in NumPy's array_split, parts follow one another, longer ones first") {
  for (int64_t n = 0; n < 20; ++n) {
    for (int ranks = 1; ranks < 9; ++ranks) {
      int64_t next = 0;
      for (int r = 0; r < ranks; ++r) {
        const mpi::Part p = mpi::part(n, ranks, r);
        CHECK(p.begin == next);
        CHECK(p.size == n / ranks + (r < n % ranks));
        next += p.size;
      }
      CHECK(next == n);
    }
  }
  CHECK(mpi::part(INT64_MAX, 2, 1).size == INT64_MAX / 2);
}

TEST_CASE("part: ranks that are not there, and negative counts, are errors") {
  RAISES(InvalidArgument, "part: rank 4 of 4 has no part of 10", mpi::part(10, 4, 4));
  RAISES(InvalidArgument, "rank -1", mpi::part(10, 4, -1));
  RAISES(InvalidArgument, "part of -1", mpi::part(-1, 4, 0));
  RAISES(InvalidArgument, "rank 0 of 0", mpi::part(1, 0, 0));
}

TEST_CASE("part: a plain value", "[threads][Part]") {
  CHECK(std::is_trivially_copyable_v<mpi::Part>);
}

}  // namespace mpi_buffer_test
