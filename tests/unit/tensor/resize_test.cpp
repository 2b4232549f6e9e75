// SPDX-License-Identifier: MIT
#include "tenon/tensor/resize.h"

#include "backend/calling_backend.h"
#include "support/catch.h"
#include "tenon/tenon.h"
#include "tensor/helpers.h"

namespace resize_test {

using namespace tenon;
using namespace tests;

namespace {

constexpr auto kStatic = TensorShapeDynamism::STATIC;
constexpr auto kBound = TensorShapeDynamism::DYNAMIC_BOUND;
constexpr auto kDynamic = TensorShapeDynamism::DYNAMIC;

TensorPtr counting(int32_t count, TensorShapeDynamism dynamism) {
  Ints numbers(static_cast<size_t>(count));
  std::iota(numbers.begin(), numbers.end(), 0);
  return make_tensor_ptr({count}, numbers, ScalarType::Int, dynamism);
}

// The first `count` elements in memory.
Ints memory(const TensorPtr& t, size_t count) {
  const auto* data = static_cast<const int32_t*>(const_data_ptr(t));
  return Ints(data, data + count);
}

Error grow(TensorPtr& t, bool by_reserve, int64_t numel) {
  return by_reserve ? reserve_tensor_ptr(t, static_cast<size_t>(numel) * t->element_size())
                    : resize_tensor_ptr(t, {numel});
}

// The error is as said, and nothing about the tensor changed.
void check_refused(TensorPtr& t, const Dims& shape, Error error, const std::string& words) {
  const State before(*t);
  CHECK_RETURNS(error, words, resize_tensor_ptr(t, shape));
  CHECK(contains(last_error_message(), "resize_tensor_ptr: "));
  CHECK((State(*t) == before));
}

}  // namespace

TEST_CASE("resize: agrees with a naive rule on thousands of random shapes") {
  Rng random{1};
  int counts[3] = {};  // within the room, grown, refused
  for (int i = 0; i < 8000; ++i) {
    const auto dynamism = static_cast<TensorShapeDynamism>(random.between(0, 2));
    const int64_t room = random.between(0, 60);
    TensorPtr t = zeros({room}, ScalarType::Int, dynamism);
    Vector shape(static_cast<size_t>(random.between(1, 7)));
    for (int64_t& size : shape) size = random.between(random.between(0, 40) == 0 ? -1 : 0, 5);
    int64_t numel = 1;
    for (int64_t size : shape) numel *= size;
    const bool negative = std::count(shape.begin(), shape.end(), -1) != 0;
    const State before(*t);
    Error expected = Error::Ok;
    if (dynamism == kStatic) {
      expected = Error::NotSupported;
    } else if (negative || (dynamism == kBound && numel > room)) {
      expected = Error::InvalidArgument;
    }
    CAPTURE(i, dynamism, room, shape);
    const bool as_expected = resize_tensor_ptr(t, shape) == expected;
    if (expected != Error::Ok) {
      if (!as_expected || !(State(*t) == before)) FAIL_CHECK();
      ++counts[2];
      continue;
    }
    if (!as_expected || sizes(t) != shape) FAIL_CHECK();
    if (numel <= room) {
      if (const_data_ptr(t) != before.data) FAIL_CHECK();
      ++counts[0];
      continue;
    }
    // At least double, so that many small growths cost few reallocations; and no more than needed.
    const int64_t new_room = std::max(numel, 2 * room);
    const void* const data = const_data_ptr(t);
    if (resize_tensor_ptr(t, {new_room}) != Error::Ok || const_data_ptr(t) != data ||
        resize_tensor_ptr(t, {new_room + 1}) != Error::Ok || const_data_ptr(t) == data) {
      FAIL_CHECK();
    }
    ++counts[1];
  }
  for (int count : counts) CHECK(count > 100);
}

// A promise of docs/guarantees.md.
TEST_CASE("resize: a STATIC shape is NotSupported, even for the same sizes") {
  auto t = counting(6, kStatic);
  check_refused(t, {6}, Error::NotSupported, "sizes {6} of this tensor are STATIC");
  float data[1] = {};
  auto scalar = from_blob(data, {}, ScalarType::Float, kDynamic);
  CHECK(shape_dynamism(scalar) == kStatic);
  check_refused(scalar, {1}, Error::NotSupported,
                "sizes {} of this tensor are STATIC, as rank 0 always is");
  auto becomes = counting(4, kDynamic);
  REQUIRE(resize_tensor_ptr(becomes, {}) == Error::Ok);
  CHECK(item<int32_t>(becomes) == 0);
  check_refused(becomes, {2}, Error::NotSupported, "STATIC");
}

// A promise of docs/guarantees.md.
TEST_CASE("resize: DYNAMIC_BOUND takes any shape up to its element count, in the same memory") {
  auto t = make_tensor_ptr({2, 3}, {1, 2, 3, 4, 5, 6});
  const void* const data = const_data_ptr(t);
  for (const Vector& shape : {Vector{3, 2}, {6}, {2, 2}, {0, 9}, {1}, {2, 1, 3}, {2, 3}}) {
    REQUIRE(resize_tensor_ptr(t, shape) == Error::Ok);
    CHECK(sizes(t) == shape);
    CHECK(const_data_ptr(t) == data);
  }
  check_tensor(*t, {2, 3}, {3, 1}, {1, 2, 3, 4, 5, 6});
  REQUIRE(resize_tensor_ptr(t, {1}) == Error::Ok);
  check_refused(
      t, {4, 4}, Error::InvalidArgument,
      "resize_tensor_ptr: sizes {4, 4} hold 16 elements, this DYNAMIC_BOUND tensor has room for 6");
}

// A promise of docs/guarantees.md.
TEST_CASE("resize: bad sizes are refused, whatever the dynamism, and nothing changes") {
  const struct {
    Dims sizes;
    const char* words;
  } rows[] = {{{2, -3}, "-3"},
              {{0, -3}, "-3"},
              {{INT64_MAX, 2}, "overflow"},
              {{INT64_MAX / 2}, "overflow"},
              {Vector(65, 1), "64"}};
  for (TensorShapeDynamism dynamism : {kBound, kDynamic}) {
    auto t = counting(6, dynamism);
    for (const auto& row : rows) check_refused(t, row.sizes, Error::InvalidArgument, row.words);
    CHECK(values<int32_t>(t) == Ints{0, 1, 2, 3, 4, 5});
  }
}

// A promise of docs/guarantees.md.
TEST_CASE("resize: growth keeps the elements in memory order") {
  for (int32_t count : {3, 300}) {  // beside the metadata, and in a block of its own
    auto t = counting(count, kDynamic);
    const Ints before = memory(t, static_cast<size_t>(count));
    REQUIRE(resize_tensor_ptr(t, {3, count}) == Error::Ok);
    CHECK(memory(t, static_cast<size_t>(count)) == before);
    CHECK(is_aligned(t, 64));
    const void* const data = const_data_ptr(t);
    REQUIRE(resize_tensor_ptr(t, {3 * count}) == Error::Ok);
    CHECK(const_data_ptr(t) == data);
    CHECK(memory(t, static_cast<size_t>(count)) == before);
  }
}

// A promise of docs/guarantees.md.
TEST_CASE("resize: growth is refused while a view is alive, and nothing changes") {
  auto t = counting(4, kDynamic);
  auto view = make_tensor_ptr(*t);
  auto second = make_tensor_ptr(*view, {2});
  check_refused(t, {5}, Error::InUse, "view");
  CHECK(resize_tensor_ptr(t, {2, 2}) == Error::Ok);
  view.reset();
  check_refused(t, {5}, Error::InUse, "view");
  const State before(*t);
  RETURNS(InUse, "reserve_tensor_ptr: ", reserve_tensor_ptr(t, 4096));
  CHECK((State(*t) == before));
  second.reset();
  REQUIRE(resize_tensor_ptr(t, {5}) == Error::Ok);
  CHECK(memory(t, 4) == Ints{0, 1, 2, 3});
}

// A promise of docs/guarantees.md.
TEST_CASE("resize: borrowed memory and views do not grow") {
  int32_t data[4] = {0, 1, 2, 3};
  auto borrowed = from_blob(data, {4}, ScalarType::Int, kDynamic);
  check_refused(borrowed, {5}, Error::NotSupported,
                "room for 4 elements cannot grow to 5: it is borrowed");
  auto owned = counting(4, kDynamic);
  auto view = make_tensor_ptr(*owned, {2});
  check_refused(view, {3}, Error::NotSupported, "view");
}

// A promise of docs/guarantees.md.
TEST_CASE("resize: adopted memory that grows is released through its deleter, once") {
  Calls calls;
  int32_t data[4] = {0, 1, 2, 3};
  auto t = from_blob(data, {4}, ScalarType::Int, calls.deleter(), kDynamic);
  REQUIRE(resize_tensor_ptr(t, {2}) == Error::Ok);
  CHECK(calls.count == 0);
  REQUIRE(resize_tensor_ptr(t, {6}) == Error::Ok);
  CHECK(calls.count == 1);
  CHECK(calls.argument == data);
  CHECK(ownership(t) == Ownership::Owned);
  // Elements beyond the current size of 2 are not kept: the first min(old, new) are.
  CHECK(memory(t, 2) == Ints{0, 1});
  auto vector = make_tensor_ptr({4}, Tracked(calls, 4), ScalarType::Float, kDynamic);
  REQUIRE(resize_tensor_ptr(vector, {5}) == Error::Ok);
  CHECK(calls.count == 2);
  CHECK(const_data_ptr<float>(vector)[3] == 3);
}

// A promise of docs/guarantees.md.
TEST_CASE("resize: growth that no memory can hold is OutOfMemory, and nothing changes") {
  auto t = counting(4, kDynamic);
  constexpr int64_t kMost = PTRDIFF_MAX / 4;
  check_refused(t, {kMost}, Error::OutOfMemory, std::to_string(kMost * 4) + " bytes");
  RETURNS(OutOfMemory, "reserve_tensor_ptr: ", reserve_tensor_ptr(t, size_t{kMost} * 4));
}

TEST_CASE("resize: the dim order stays with the rank, otherwise it becomes row-major") {
  auto t = make_tensor_ptr({2, 3}, {1, 2, 3, 4, 5, 6}, {1, 0});
  REQUIRE(resize_tensor_ptr(t, {3, 2}) == Error::Ok);
  CHECK(dim_order(t) == Vector{1, 0});
  CHECK(strides(t) == Vector{1, 3});
  CHECK(values<int32_t>(t) == Ints{1, 4, 2, 5, 3, 6});
  REQUIRE(resize_tensor_ptr(t, {1, 2, 3}) == Error::Ok);
  CHECK(dim_order(t) == Vector{0, 1, 2});
  CHECK(strides(t) == Vector{6, 3, 1});
  REQUIRE(resize_tensor_ptr(t, {2, 3}) == Error::Ok);
  CHECK(dim_order(t) == Vector{0, 1});
  auto ordered = make_tensor_ptr({2, 2}, {1, 2, 3, 4}, {1, 0}, {}, ScalarType::Int, kDynamic);
  REQUIRE(resize_tensor_ptr(ordered, {2, 4}) == Error::Ok);
  CHECK(dim_order(ordered) == Vector{1, 0});
  auto gaps = make_tensor_ptr({2, 2}, {1, 2, 0, 3, 4}, {}, {3, 1}, ScalarType::Int, kDynamic);
  REQUIRE(reserve_tensor_ptr(gaps, 40) == Error::Ok);
  REQUIRE(resize_tensor_ptr(gaps, {4, 4}) == Error::Ok);
  CHECK(memory(gaps, 5) == Ints{1, 2, 0, 3, 4});
  CHECK(strides(gaps) == Vector{4, 1});
}

TEST_CASE("resize: to more than six dimensions and back") {
  auto t = counting(8, kDynamic);
  REQUIRE(resize_tensor_ptr(t, {1, 2, 1, 2, 1, 2, 1, 1}) == Error::Ok);
  check_tensor(*t, {1, 2, 1, 2, 1, 2, 1, 1}, {8, 4, 4, 2, 2, 1, 1, 1}, {0, 1, 2, 3, 4, 5, 6, 7});
  REQUIRE(resize_tensor_ptr(t, {2, 1, 1, 1, 1, 1, 1, 2}) == Error::Ok);
  CHECK(values<int32_t>(t) == Ints{0, 1, 2, 3});
  REQUIRE(resize_tensor_ptr(t, Vector(64, 1)) == Error::Ok);
  CHECK(t->dim() == 64);
  REQUIRE(resize_tensor_ptr(t, {2, 4}) == Error::Ok);
  CHECK(dim_order(t) == Vector{0, 1});
  CHECK(values<int32_t>(t) == Ints{0, 1, 2, 3, 4, 5, 6, 7});
  REQUIRE(resize_tensor_ptr(t, {1, 1, 1, 1, 1, 1, 16}) == Error::Ok);
  CHECK(memory(t, 8) == Ints{0, 1, 2, 3, 4, 5, 6, 7});
}

TEST_CASE("resize: to its own sizes a strided tensor stays as it is, to others it becomes dense") {
  int32_t data[8] = {0, 1, 2, 3, 4, 5, 6, 7};
  auto t = from_blob(data, {2, 3}, {4, 1});
  REQUIRE(resize_tensor_ptr(t, {2, 3}) == Error::Ok);
  CHECK(strides(t) == Vector{4, 1});
  REQUIRE(resize_tensor_ptr(t, {3, 2}) == Error::Ok);
  CHECK(strides(t) == Vector{2, 1});
  CHECK(values<int32_t>(t) == Ints{0, 1, 2, 3, 4, 5});
}

// A promise of docs/guarantees.md.
TEST_CASE("reserve: later growth within it moves no memory, and values are kept") {
  auto t = counting(4, kDynamic);
  REQUIRE(reserve_tensor_ptr(t, 4000) == Error::Ok);
  const void* const data = const_data_ptr(t);
  REQUIRE(resize_tensor_ptr(t, {1000}) == Error::Ok);
  CHECK(const_data_ptr(t) == data);
  REQUIRE(resize_tensor_ptr(t, {1001}) == Error::Ok);
  CHECK(const_data_ptr(t) != data);
  CHECK(memory(t, 4) == Ints{0, 1, 2, 3});
}

TEST_CASE("reserve: never shrinks, and rounds up to whole elements") {
  auto t = counting(4, kDynamic);
  const State before(*t);
  CHECK(reserve_tensor_ptr(t, 16) == Error::Ok);
  CHECK((State(*t) == before));
  REQUIRE(reserve_tensor(*t, 17) == Error::Ok);
  const void* const data = const_data_ptr(t);
  REQUIRE(resize_tensor_ptr(t, {5}) == Error::Ok);
  CHECK(const_data_ptr(t) == data);
}

// A promise of docs/guarantees.md.
TEST_CASE("reserve: what cannot grow is refused beyond its room, and nothing changes") {
  int32_t data[4] = {};
  auto fixed = counting(4, kStatic);
  auto bound = counting(4, kBound);
  auto borrowed = from_blob(data, {4}, ScalarType::Int, kDynamic);
  for (TensorPtr* t : {&fixed, &bound, &borrowed}) {
    const State before(**t);
    CHECK(reserve_tensor_ptr(*t, 16) == Error::Ok);
    RETURNS(NotSupported, "reserve_tensor_ptr: ", reserve_tensor_ptr(*t, 17));
    CHECK((State(**t) == before));
  }
  auto dynamic = counting(4, kDynamic);
  RETURNS(InvalidArgument, std::to_string(SIZE_MAX), reserve_tensor_ptr(dynamic, SIZE_MAX));
}

// In ATen mode the gap is room already.
// A promise of docs/guarantees.md.
TEST_CASE("reserve: adopted rows with a gap of more than is asked for move as a whole", "[plain]") {
  Ints data(1004);
  std::iota(data.begin(), data.end(), 0);
  Calls calls;
  auto t = from_blob(data.data(), {2, 4}, {1000, 1}, ScalarType::Int, calls.deleter(), kDynamic);
  REQUIRE(reserve_tensor_ptr(t, 36) == Error::Ok);  // one element more than the 8 it has room for
  CHECK(calls.count == 1);
  CHECK(strides(t) == Vector{1000, 1});
  REQUIRE(resize_tensor_ptr(t, {1004}) == Error::Ok);  // all that was copied is room
  CHECK((values<int32_t>(t) == data));
}

TEST_CASE("resize: what has elements below element 0 does not grow, and loses none", "[plain]") {
  Ints data = {0, 1, 2, 3, 4, 5};
  auto t = from_blob(
      &data[3], {2, 3}, {-3, 1}, ScalarType::Int, [](void*) {}, kDynamic);
  check_refused(t, {3, 3}, Error::NotSupported, "strides reach below element 0");
  RETURNS(NotSupported, "strides reach below element 0", reserve_tensor_ptr(t, 400));
  CHECK(values<int32_t>(t) == Ints{3, 4, 5, 0, 1, 2});
}

TEST_CASE("resize: memory of another device does not grow from the heap") {
  for (const char* device : {"cuda:1", "cuda_managed:1" ATEN_LACKS(, "cuda_host", "rocm_host")}) {
    Calls calls;
    int32_t data[4] = {1, 2, 3, 4};
    auto t = for_blob(data, {4})
                 .device(device)
                 .dynamism(kDynamic)
                 .deleter(calls.deleter())
                 .make_tensor_ptr();
    check_refused(t, {5}, Error::NotSupported, "neither the host's nor given by a backend");
    RETURNS(NotSupported, "neither the host's", reserve_tensor_ptr(t, 400));
    CHECK(resize_tensor_ptr(t, {2, 2}) == Error::Ok);
    CHECK(calls.count == 0);
  }
}

namespace {

// A tensor of 0 and 1 in memory of its own. Its deleter calls `use` with the handle, then frees.
template <class Use>
void adopt(TensorPtr& t, int& released, Use use) {
  auto* const memory = static_cast<int32_t*>(std::malloc(2 * sizeof(int32_t)));
  REQUIRE(memory != nullptr);
  memory[0] = 0;
  memory[1] = 1;
  t = from_blob(
      memory, {2}, ScalarType::Int,
      [&t, &released, use](void* p) {
        ++released;
        if (t != nullptr) use(t);
        std::free(p);
      },
      kDynamic);
}

}  // namespace

// A promise of docs/guarantees.md.
TEST_CASE("resize: a deleter that runs at growth may resize or deallocate the tensor") {
  TensorPtr t;
  int released = 0;
  adopt(t, released, [](TensorPtr& seen) { CHECK(resize_tensor_ptr(seen, {1000}) == Error::Ok); });
  REQUIRE(resize_tensor_ptr(t, {400}) == Error::Ok);
  CHECK(released == 1);
  REQUIRE(sizes(t) == Vector{1000});
  for (int64_t i = 2; i < 1000; ++i) mutable_data_ptr<int32_t>(t)[i] = 7;
  CHECK(memory(t, 2) == Ints{0, 1});
  adopt(t, released, [](TensorPtr& seen) { CHECK(backend_deallocate(seen) == Deallocation::Ok); });
  REQUIRE(resize_tensor_ptr(t, {400}) == Error::Ok);
  CHECK(released == 2);
  RAISES(InvalidState, "was deallocated", const_data_ptr<int32_t>(t));
}

// A promise of docs/guarantees.md.
TEST_CASE("resize: a deleter that runs at growth may drop the tensor") {
  for (const bool reserve : {false, true}) {
    TensorPtr t;
    int released = 0;
    adopt(t, released, [](TensorPtr& seen) { seen.reset(); });
    CHECK(grow(t, reserve, 1000) == Error::Ok);
    CHECK(t == nullptr);
    CHECK(released == 1);
  }
}

TEST_CASE("resize: a view that a backend makes while it allocates stops the growth") {
  CallingBackend backend;
  auto t = full({400}, 7, ScalarType::Int, kDynamic, backend);
  Tensor view;
  backend.use = [&] { view = make_tensor(*t, {400}); };
  check_refused(t, {1000}, Error::InUse, "alive");
  CHECK(values<int32_t>(view) == Ints(400, 7));
}

// A promise of docs/guarantees.md.
TEST_CASE("resize: a backend may drop the tensor while it allocates") {
  CallingBackend backend;
  for (const bool reserve : {false, true}) {
    auto t = full({400}, 7, ScalarType::Int, kDynamic, backend);
    backend.use = [&] { t.reset(); };
    CHECK(grow(t, reserve, 1000) == Error::Ok);
    CHECK(t == nullptr);
  }
}

// A promise of docs/guarantees.md.
TEST_CASE("resize: a backend can neither grow nor deallocate the tensor while it allocates") {
  for (const bool opaque : {false, true}) {
    CallingBackend backend;
    backend.opaque = opaque;
    for (const bool reserve : {false, true}) {
      auto t = full({400}, 7, ScalarType::Int, kDynamic, backend);
      backend.use = [&] { CHECK(resize_tensor_ptr(t, {100000}) == Error::InUse); };
      CHECK(grow(t, reserve, 1000) == Error::Ok);
      CHECK(backend.use == nullptr);
      backend.use = [&] { CHECK(backend_deallocate(t) == Deallocation::InUse); };
      CHECK(grow(t, reserve, 10000) == Error::Ok);
      CHECK(backend.use == nullptr);
      CHECK(values<int32_t>(clone_tensor_ptr(narrow(t, 0, 0, 400), host_backend())) ==
            Ints(400, 7));
      backend.use = [&] { CHECK(resize_tensor_ptr(t, {2}) == Error::Ok); };
      CHECK(grow(t, reserve, 100000) == Error::InvalidState);
      CHECK(values<int32_t>(clone_tensor_ptr(t, host_backend())) == Ints(2, 7));
    }
    CHECK(backend.live_blocks() == 0);
  }
}

TEST_CASE("resize: a tensor that a backend makes STATIC while it allocates does not grow") {
  CallingBackend backend;
  auto t = full({1}, 7, ScalarType::Int, kDynamic, backend);
  backend.use = [&] { CHECK(resize_tensor_ptr(t, {}) == Error::Ok); };
  CHECK_RETURNS(Error::InvalidState, "changed meanwhile", resize_tensor_ptr(t, {1000}));
  CHECK(t->dim() == 0);
  CHECK(values<int32_t>(t) == Ints{7});
}

}  // namespace resize_test
