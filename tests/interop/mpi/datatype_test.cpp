// SPDX-License-Identifier: MIT
#include "tenon/interop/mpi/datatype.h"

#include "interop/mpi/ranks.h"
#include "support/shapes.h"

using namespace tenon;
using detail::MpiType;
using tests::Longs;

namespace {

/// What MPI takes, in its order, from bytes of which `first` is element 0.
std::vector<float> packed(const MpiType& type, const float* first) {
  REQUIRE(detail::commit_mpi_type(type) == Error::Ok);
  int nbytes = 0;
  MPI_Type_size(type.get(), &nbytes);
  std::vector<float> out(static_cast<size_t>(nbytes) / sizeof(float));
  int at = 0;
  MPI_Pack(first, 1, type.get(), out.data(), nbytes, &at, MPI_COMM_SELF);
  CHECK(at == nbytes);
  return out;
}

MPI_Count size_of(const MpiType& type) {
  MPI_Count size = 0;
  MPI_Type_size_x(type.get(), &size);
  return size;
}
MPI_Count extent_of(const MpiType& type) {
  MPI_Count lower = 0;
  MPI_Count extent = 0;
  MPI_Type_get_extent_x(type.get(), &lower, &extent);
  return extent;
}

}  // namespace

TEST_CASE("mpi errors: each class of MPI's is a kind of ours, with its text") {
  CHECK(detail::check_mpi(MPI_SUCCESS) == Error::Ok);
  RETURNS(InvalidArgument, "MPI: ", detail::check_mpi(MPI_ERR_RANK));
  CHECK(std::strlen(last_error_message()) > std::strlen("MPI: "));
  RETURNS(InvalidArgument, "", detail::check_mpi(MPI_ERR_TRUNCATE));
  RETURNS(OutOfMemory, "", detail::check_mpi(MPI_ERR_NO_MEM));
  RETURNS(InvalidState, "", detail::check_mpi(MPI_ERR_RMA_SYNC));
  RETURNS(NotSupported, "", detail::check_mpi(MPI_ERR_UNSUPPORTED_OPERATION));
  RETURNS(AccessFailed, "", detail::check_mpi(MPI_ERR_OTHER));
}

TEST_CASE("mpi elements: every dtype has a type of MPI's of the same size") {
  for (const ScalarType type : tests::all_types()) {
    int size = 0;
    REQUIRE(MPI_Type_size(detail::mpi_element(type), &size) == MPI_SUCCESS);
    CHECK(static_cast<size_t>(size) == elementSize(type));
  }
}

TEST_CASE("mpi shapes: any strides, negative and zero ones too, are taken in row-major order") {
  tests::Rng random{7};
  const int64_t reach = 4000;
  std::vector<float> memory(2 * reach);
  std::iota(memory.begin(), memory.end(), 0.0f);
  for (int round = 0; round < 300; ++round) {
    tests::Vector sizes(static_cast<size_t>(random.between(0, 5)));
    tests::Vector strides;
    for (int64_t& size : sizes) {
      size = random.between(1, 4);
      // One in three lies like a part of the dimension before.
      const bool nests = !strides.empty() && random.between(0, 2) == 0;
      strides.push_back(nests ? strides.back() / size : random.between(-200, 200));
    }
    MpiType type;
    REQUIRE(detail::make_mpi_shape(sizes, strides, ScalarType::Float, type) == Error::Ok);
    std::vector<float> expected;
    for (const int64_t at : tests::element_offsets(sizes, strides, reach)) {
      expected.push_back(memory[static_cast<size_t>(at)]);
    }
    CHECK(packed(type, memory.data() + reach) == expected);
  }
}

TEST_CASE("mpi shapes: more elements than MPI counts are a type of types") {
  const int64_t many = int64_t{3} * INT_MAX + 5;
  MpiType row;
  const Longs two = {2};
  REQUIRE(detail::make_mpi_shape({&many, 1}, two, ScalarType::Byte, row) == Error::Ok);
  CHECK(size_of(row) == many);
  CHECK(extent_of(row) == 2 * many - 1);
  const Longs one = {1};
  REQUIRE(detail::make_mpi_shape({&many, 1}, one, ScalarType::Double, row) == Error::Ok);
  CHECK(size_of(row) == many * 8);
  CHECK(extent_of(row) == many * 8);
  const Longs sizes = {2, many};
  const Longs back = {-many, 1};
  REQUIRE(detail::make_mpi_shape(sizes, back, ScalarType::Short, row) == Error::Ok);
  CHECK(size_of(row) == 2 * many * 2);
  CHECK(extent_of(row) == 2 * many * 2);
  // Of nothing but one element.
  const Longs zero = {0};
  REQUIRE(detail::make_mpi_shape({&many, 1}, zero, ScalarType::Long, row) == Error::Ok);
  CHECK(size_of(row) == many * 8);
}

TEST_CASE("mpi slabs: the next follows by the extent, backward too, or is the same again") {
  for (const int64_t step : {24, -24, 0}) {
    MpiType slab;
    const Longs sizes = {3};
    const Longs strides = {2};
    REQUIRE(detail::make_mpi_shape(sizes, strides, ScalarType::Float, slab) == Error::Ok);
    REQUIRE(detail::resize_mpi_type(step, slab) == Error::Ok);
    CHECK(extent_of(slab) == step);
    CHECK(size_of(slab) == 12);
  }
}

TEST_CASE("mpi types: what MPI refuses is not made") {
  const int before_size = 5;
  MPI_Errhandler before;
  MPI_Comm_get_errhandler(MPI_COMM_WORLD, &before);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MpiType made;
  CHECK(detail::repeat_mpi_type(MPI_DATATYPE_NULL, 1, before_size, 4, made) != Error::Ok);
  CHECK(tests::contains(last_error_message(), "MPI: "));
  CHECK(!made);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, before);
  MPI_Errhandler_free(&before);
}
