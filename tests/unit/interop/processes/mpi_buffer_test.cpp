// SPDX-License-Identifier: MIT
#include "tenon/interop/processes/mpi_buffer.h"

#include "backend/helpers.h"
#include "interop/processes/mpi/ranks.h"

namespace mpi_buffer_test {

using namespace tenon;
using detail::MpiBuffer;
using detail::MpiForm;
using detail::MpiUse;
using tests::laid;
using tests::Lay;
using tests::MinimalBackend;

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

TEST_CASE("mpi buffer: shorter rows go by way of a contiguous copy") {
  for (const Lay lay : {Lay::Fortran, Lay::Gaps, Lay::Reversed}) {
    const Tensor t = laid({3, 4}, lay);
    tests::fill_with(t, tests::numbers(1));
    MpiBuffer read;
    REQUIRE(read.find(t, "it", MpiUse::Read) == Error::Ok);
    CHECK(read.count == 12);
    CHECK(read.type == MPI_INT32_T);
    CHECK(tests::has(read.copy, tests::numbers(1)));
    tests::fill_with(read.copy, tests::numbers(2));
    REQUIRE(read.store() == Error::Ok);  // what is read is not written
    CHECK(tests::has(t, tests::numbers(1)));
    MpiBuffer written;
    REQUIRE(written.find(t, "it", MpiUse::Write) == Error::Ok);
    tests::fill_with(written.copy, tests::numbers(3));
    REQUIRE(written.store() == Error::Ok);
    CHECK(tests::has(t, tests::numbers(3)));
  }
}

TEST_CASE("mpi buffer: where MPI takes contiguous elements only, others go by way of a copy") {
  const Tensor t = laid({3, 4}, Lay::Fortran);
  tests::fill_with(t, tests::numbers(1));
  MpiBuffer buffer;
  REQUIRE(buffer.find(t, "it", MpiUse::Update, MpiForm::Contiguous) == Error::Ok);
  CHECK(buffer.count == 12);
  REQUIRE(buffer.copy.defined());
  CHECK(buffer.copy.is_contiguous());
  CHECK(tests::has(buffer.copy, tests::numbers(1)));
  tests::fill_with(buffer.copy, tests::numbers(2));
  REQUIRE(buffer.store() == Error::Ok);
  CHECK(tests::has(t, tests::numbers(2)));
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

TEST_CASE("mpi buffer: more elements than MPI counts are a datatype, without memory for them") {
  const int64_t many = int64_t{INT_MAX} + 2;
  uint8_t first = 0;  // nobody touches the others
  const TensorPtr dense = from_blob(&first, {many}, ScalarType::Byte);
  MpiBuffer whole;
  REQUIRE(whole.find(dense, "it", MpiUse::Read) == Error::Ok);
  CHECK(whole.count == 1);
  MPI_Count size = 0;
  MPI_Type_size_x(whole.type, &size);
  CHECK(size == many);
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
  RETURNS(InvalidArgument,
          "the part of rank 1 of sizes {5, 2} along dimension 0 is {2, 2}, its tensor has sizes "
          "{3, 2}",
          detail::check_part(all, zeros({3, 2}), 0, 2, 1));
  RETURNS(InvalidArgument, "is {3, 2}", detail::check_part(all, zeros({6}), 0, 2, 0));
  RETURNS(InvalidType, "the tensors are Float and Int",
          detail::check_part(all, zeros({3, 2}, ScalarType::Int), 0, 2, 0));

  const Tensor part = narrow(*all, 0, 0, 3);
  MpiBuffer whole;
  MpiBuffer piece;
  REQUIRE(whole.find(all, "all", MpiUse::Read) == Error::Ok);
  REQUIRE(piece.find(part, "part", MpiUse::Write) == Error::Ok);
  RETURNS(InvalidArgument, "share memory", detail::check_apart(whole, piece));
}

}  // namespace mpi_buffer_test
