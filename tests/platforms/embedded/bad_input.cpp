// SPDX-License-Identifier: MIT
// Bad input on a machine of 32 bits, the forms that return an Error: nothing is written, inside or
// outside, and what was there stays. What ends the program is in ends.cpp.
#include "guarded.h"
#include "tenon/tenon.h"

namespace bad_input_suite {

using namespace tenon;
using namespace tests;

namespace {

constexpr int64_t k2To30 = int64_t{1} << 30;
constexpr int64_t k2To32 = int64_t{1} << 32;

}  // namespace

TEST_CASE("bad input: sizes, products, bytes and strides beyond the address space") {
  static Guarded<64> room;
  const struct {
    Dims sizes;
    Dims strides;
    ScalarType type;
  } rows[] = {
    {{INT64_MAX}, {}, ScalarType::Short},
    {{INT64_MIN}, {}, ScalarType::Byte},
    {{-1}, {}, ScalarType::Byte},
    {{int64_t{1} << 61}, {}, ScalarType::Double},
    {{k2To32, k2To32}, {}, ScalarType::Byte},
    {{k2To32 + 1, k2To32 - 1, 2}, {}, ScalarType::Byte},
    {{INT64_MAX, INT64_MAX, 0, -1}, {}, ScalarType::Byte},
    {{2, 2}, {INT64_MAX, 1}, ScalarType::Byte},
    {{2, 2}, {INT64_MAX, INT64_MAX}, ScalarType::Byte},
    {{3, 2}, {INT64_MIN, 1}, ScalarType::Float},
    {{2, 1 << 30}, {int64_t{1} << 62, int64_t{1} << 33}, ScalarType::Byte},
#if SIZE_MAX == UINT32_MAX
    // These would fit on a desktop.
    {{k2To32}, {}, ScalarType::Byte},
    {{k2To32 + 1}, {}, ScalarType::Byte},              // cut off: 1
    {{1 << 16, 1 << 16}, {}, ScalarType::Byte},        // the product: 0
    {{(1 << 16) + 1, 1 << 16}, {}, ScalarType::Byte},  // 65536
    {{k2To30}, {}, ScalarType::Float},                 // bytes: 0
    {{k2To30 + 1}, {}, ScalarType::Float},             // 4
    {{k2To30}, {}, ScalarType::ComplexDouble},
    {{2}, {k2To32}, ScalarType::Byte},  // the stride: 0
    {{2}, {k2To32 + 1}, ScalarType::Byte},
    {{2, 2}, {k2To30, 1}, ScalarType::Float},  // the stride's bytes: 0
    {{5}, {k2To30}, ScalarType::Byte},         // the extent: 1
    {{3}, {-k2To30}, ScalarType::Float},
#endif
  };
  for (const auto& row : rows) {
    const bool dense = row.strides.empty();
    const auto made = dense ? try_from_blob(room.data, row.sizes, row.type)
                            : try_from_blob(room.data, row.sizes, row.strides, row.type);
    CHECK(!made.ok());
    CHECK(made.error() != Error::OutOfMemory);
    if (dense) CHECK(!try_zeros(row.sizes, row.type).ok());
    if (dense) CHECK(!try_rand(row.sizes, row.type).ok());
    if (!dense) CHECK(!try_empty_strided(row.sizes, row.strides, row.type).ok());
    TensorPtr t = from_blob(room.data, {64}, ScalarType::Byte);
    if (dense) CHECK(resize_tensor_ptr(t, row.sizes) != Error::Ok);
    CHECK(t->numel() == 64);
    CHECK(room.is_untouched());
  }
}

TEST_CASE("bad input: views beyond the memory") {
  static Guarded<64> room;
  const Tensor t = tensor_from_blob(room.data, {4, 4}, ScalarType::Float);
  for (const int64_t far : {int64_t{16}, int64_t{1} << 28, k2To30, k2To32, k2To32 + 1, INT64_MAX,
                            int64_t{-1}, int64_t{-(1 << 30)}, -k2To32, INT64_MIN}) {
    CHECK(!try_select(t, 0, far == -1 ? -5 : far).ok());
    CHECK(!try_narrow(t, 0, 1, far == -1 ? 4 : far).ok());
    CHECK(!try_as_strided(t, {1}, {1}, far).ok());
    CHECK(!try_as_strided(t, {2}, {far}, 0).ok());
    CHECK(!try_as_strided(t, {2, 2}, {1, far}, 0).ok());
    CHECK(!try_make_tensor(t, {4}, {}, {}, far).ok());
    if (far > 0) CHECK(!try_reshape(t, {far + 1}).ok());
  }
  CHECK(!try_expand(t, {INT64_MAX, 4, 4}).ok());
  CHECK(room.is_untouched());
}

TEST_CASE("bad input: memory that is not aligned is read and written all the same") {
  static Guarded<128> room;
  Generator generator(1);
#define TENON_TESTS_MISALIGN(cpp_type, name)                                \
  for (size_t skipped = 1; skipped < 8; skipped += 2) {                     \
    void* const data = room.data + skipped;                                 \
    const Tensor t = tensor_from_blob(data, {5}, ScalarType::name);         \
    CHECK(fill_(t, 1) == Error::Ok);                                        \
    CHECK(to_string(t) == to_string(ones({5}, ScalarType::name)));          \
    const TensorPtr copy = clone_tensor_ptr(t);                             \
    const TensorPtr floats = clone_tensor_ptr(t, ScalarType::ComplexFloat); \
    CHECK(floats->const_data_ptr<complex<float>>()[4].real() == 1);         \
    CHECK(copy_(t, floats, CastMode::Truncate) == Error::Ok);               \
    CHECK(copy_(flip(t, {0}), copy) == Error::Ok);                          \
    CHECK(std::memcmp(data, copy->const_data_ptr(), t.nbytes()) == 0);      \
    CHECK(random_(t, 0, 2, generator) == Error::Ok);                        \
  }
  TENON_FORALL_SCALAR_TYPES(TENON_TESTS_MISALIGN)
#undef TENON_TESTS_MISALIGN
  CHECK(room.is_intact());
  CHECK(room.data[0] == 0x5a);
  CHECK(room.data[127] == 0x5a);
}

}  // namespace bad_input_suite
