// SPDX-License-Identifier: MIT
// What header_test.cpp cannot see of a dtype: the bytes of one that tenon does not have.
#include "tenon/interop/files/npy_dtype.h"

#include "support/catch.h"

namespace npy_dtype_test {

using namespace tenon;
using tenon::detail::NpyCode;
using tenon::detail::read_npy_code;

TEST_CASE("npy dtype: a spelling says the type, the bytes and the byte order") {
  const struct {
    const char* spelling;
    own::ScalarType type;
    uint64_t item_size;
  } rows[] = {
      {"<f4", own::ScalarType::Float, 4},
      {"float64", own::ScalarType::Double, 8},
      {"?", own::ScalarType::Bool, 1},
      {"<U3", own::ScalarType::Undefined, 12},
      {"|S5", own::ScalarType::Undefined, 5},
      {"<V2", own::ScalarType::Undefined, 2},
      {"<M8[ns]", own::ScalarType::Undefined, 8},
      {"|O", own::ScalarType::Undefined, 0},
      {"", own::ScalarType::Undefined, 0},
      {"<U99999999999", own::ScalarType::Undefined, 0},
  };
  for (const auto& row : rows) {
    INFO(row.spelling);
    const NpyCode code = read_npy_code(row.spelling);
    CHECK(code.type == row.type);
    CHECK(code.item_size == row.item_size);
  }
  const bool is_big = detail::host_is_big_endian();
  CHECK(read_npy_code(">f4").other_order != is_big);
  CHECK(read_npy_code("<f4").other_order == is_big);
  CHECK_FALSE(read_npy_code("=f4").other_order);
}

}  // namespace npy_dtype_test
