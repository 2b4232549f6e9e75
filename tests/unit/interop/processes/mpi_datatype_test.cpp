// SPDX-License-Identifier: MIT
#include "tenon/interop/processes/mpi_datatype.h"

#include "interop/processes/mpi/ranks.h"
#include "support/shapes.h"

namespace mpi_datatype_test {

using namespace tenon;
using detail::MpiElements;
using mpi::Op;
using tenon::detail::Layout;
using tenon::detail::make_layout;
using tests::Longs;

namespace {

/// What MPI takes, in its order, from bytes of which `first` is element 0.
std::vector<float> packed(const MpiElements& elements, const float* first) {
  int nbytes = 0;
  MPI_Type_size(elements.type, &nbytes);
  nbytes *= elements.count;
  std::vector<float> out(static_cast<size_t>(nbytes) / sizeof(float));
  int at = 0;
  MPI_Pack(first, elements.count, elements.type, out.data(), nbytes, &at, MPI_COMM_SELF);
  CHECK(at == nbytes);
  return out;
}

Layout layout_of(const Longs& sizes, const Longs& strides) {
  Layout made;
  REQUIRE(make_layout(sizes, {}, strides, 4, made) == Error::Ok);
  return made;
}

MPI_Count size_of(const MpiElements& elements) {
  MPI_Count size = 0;
  MPI_Type_size_x(elements.type, &size);
  return size;
}
MPI_Count extent_of(const MpiElements& elements) {
  MPI_Count lower = 0;
  MPI_Count extent = 0;
  MPI_Type_get_extent_x(elements.type, &lower, &extent);
  return extent;
}

}  // namespace

TEST_CASE("mpi errors: each class of MPI's is a kind of ours, with its text") {
  CHECK(detail::check_mpi(MPI_SUCCESS) == Error::Ok);
  RETURNS(InvalidArgument, "MPI: ", detail::check_mpi(MPI_ERR_TAG));
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
    Longs sizes(static_cast<size_t>(random.between(0, 5)));
    Longs strides;
    for (int64_t& size : sizes) {
      size = random.between(1, 4);
      // One in three lies like a part of the dimension before.
      const bool nests = !strides.empty() && random.between(0, 2) == 0;
      strides.push_back(nests ? strides.back() / size : random.between(-200, 200));
    }
    MpiElements elements;
    REQUIRE(elements.describe(ScalarType::Float, layout_of(sizes, strides)) == Error::Ok);
    std::vector<float> expected;
    for (const int64_t at : tests::element_offsets(sizes, strides, reach)) {
      expected.push_back(memory[static_cast<size_t>(at)]);
    }
    CHECK(packed(elements, memory.data() + reach) == expected);
  }
}

TEST_CASE("mpi shapes: more elements than MPI counts are a type of types") {
  MpiElements six;
  REQUIRE(six.describe(ScalarType::Float, 6) == Error::Ok);
  CHECK((six.count == 6 && six.type == MPI_FLOAT));
  const int64_t many = int64_t{3} * INT_MAX + 5;
  for (const ScalarType type : {ScalarType::Byte, ScalarType::Short, ScalarType::Double}) {
    MpiElements elements;
    REQUIRE(elements.describe(type, many) == Error::Ok);
    CHECK(elements.count == 1);
    CHECK(size_of(elements) == many * static_cast<int64_t>(elementSize(type)));
    CHECK(extent_of(elements) == many * static_cast<int64_t>(elementSize(type)));
  }
  MpiElements rows;
  REQUIRE(rows.describe(ScalarType::Float, layout_of({2, many}, {-many, 1})) == Error::Ok);
  CHECK(size_of(rows) == 2 * many * 4);
  RETURNS(NotSupported, "6442450946 rows of elements are more than MPI can count",
          rows.describe(ScalarType::Float, layout_of({many, 16}, {0, 1})));
}

TEST_CASE("mpi shapes: MPI walks through runs of 64 bytes and more, but not at a stride of -1") {
  const auto suits = [](const Longs& sizes, const Longs& strides, size_t element_size) {
    return detail::suits_mpi(layout_of(sizes, strides), element_size);
  };
  CHECK(suits({4, 16}, {20, 1}, 4));
  CHECK(suits({4, 16}, {-20, 1}, 4));
  CHECK(suits({4, 16}, {0, 1}, 4));
  CHECK(suits({4, 4, 1, 4}, {40, 4, 9, 1}, 4));
  CHECK(!suits({4, 15}, {20, 1}, 4));
  CHECK(!suits({16, 4}, {1, 16}, 4));
  CHECK(suits({4, 64}, {1, 1}, 1));
  CHECK(!suits({4, 64}, {-1, 1}, 1));
  CHECK(!suits({4, 2, 64}, {-1, 100, 1}, 1));
}

TEST_CASE(
    "mpi reductions: MPI's own operations, of small floats as Float, of Bool the logical ones") {
  const Op ops[] = {Op::Sum, Op::Product, Op::Min, Op::Max};
  const MPI_Op numeric[] = {MPI_SUM, MPI_PROD, MPI_MIN, MPI_MAX};
  const MPI_Op logical[] = {MPI_LOR, MPI_LAND, MPI_LAND, MPI_LOR};
  for (const ScalarType type : tests::all_types()) {
    INFO(toString(type));
    const bool is_small = isFloatingType(type) && elementSize(type) < 4;
    CHECK(detail::reduced_as(type) == (is_small                          ? ScalarType::Float
                                       : type == ScalarType::ComplexHalf ? ScalarType::ComplexFloat
                                                                         : type));
    for (size_t i = 0; i < 4; ++i) {
      MPI_Op found = MPI_OP_NULL;
      const Error error = detail::find_operation(type, ops[i], found);
      if (isComplexType(type) && i >= 2) {
        RETURNS(InvalidType, i == 2 ? "Min of Complex" : "Max of Complex", error);
        CHECK(tests::contains(last_error_message(), "complex numbers have no order"));
      } else {
        CHECK(error == Error::Ok);
        CHECK(found == (type == ScalarType::Bool ? logical : numeric)[i]);
      }
    }
  }
  MPI_Op operation = MPI_OP_NULL;
  RETURNS(InvalidArgument, "Op number 9 does not exist",
          detail::find_operation(ScalarType::Float, static_cast<Op>(9), operation));
}

}  // namespace mpi_datatype_test
