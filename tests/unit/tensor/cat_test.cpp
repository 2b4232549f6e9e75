// SPDX-License-Identifier: MIT
#include "tenon/tensor/cat.h"

#include <deque>
#include <list>
#include <vector>

#include "backend/helpers.h"
#include "support/catch.h"
#include "tenon/tenon.h"
#include "tensor/helpers.h"

namespace cat_test {

using namespace tenon;
using namespace tests;

namespace {

constexpr auto kInt = ScalarType::Int;

/// What cat() and stack() along `dim` have in row-major order: in turn, of each tensor, what lies
/// behind one index of the dimensions before.
Ints joined(const std::vector<Tensor>& tensors, size_t dim) {
  size_t outer = 1;
  for (size_t d = 0; d < dim; ++d) outer *= static_cast<size_t>(sizes(tensors[0])[d]);
  Ints out;
  for (size_t i = 0; i < outer; ++i) {
    for (const Tensor& t : tensors) {
      const Ints row = values<int32_t>(t);
      const auto length = static_cast<std::ptrdiff_t>(row.size() / outer);
      const auto begin = row.begin() + static_cast<std::ptrdiff_t>(i) * length;
      out.insert(out.end(), begin, begin + length);
    }
  }
  return out;
}

/// Tensors to be joined, and where to.
struct Scene {
  std::vector<Tensor> tensors;
  bool is_stack;
  int64_t dim;  // as the call is given it
  size_t wrapped;
  Vector result;
};

/// A window of `pool`, whose dimensions are all of size 8.
Tensor window(Rng& random, Tensor pool, const Vector& shape) {
  for (size_t d = 0; d < shape.size(); ++d) {
    const auto other = random.between(0, static_cast<int64_t>(shape.size()) - 1);
    pool = transpose(pool, static_cast<int64_t>(d), other);
    if (!TENON_ATEN_MODE && random.between(0, 3) == 0) pool = flip(pool, {d});
  }
  for (size_t d = 0; d < shape.size(); ++d) {
    const auto dim = static_cast<int64_t>(d);
    pool = narrow(pool, dim, random.between(0, 8 - shape[d]), shape[d]);
  }
  return pool;
}

/// With tensors of rank `rank` in windows of the pools that `pool(i)` gives.
template <class Pool>
Scene make_scene(Rng& random, int64_t rank, bool is_stack, const Pool& pool) {
  Scene scene{{}, is_stack, 0, 0, {}};
  Vector shape;
  for (int64_t d = 0; d < rank; ++d) {
    shape.push_back(random.between(0, 9) == 0 ? 0 : random.between(1, 3));
  }
  const int64_t count = random.between(1, is_stack ? 8 : 3);
  const int64_t dims = rank + (is_stack ? 1 : 0);
  scene.wrapped = static_cast<size_t>(random.between(0, dims - 1));
  scene.dim = static_cast<int64_t>(scene.wrapped) - random.between(0, 1) * dims;
  scene.result = shape;
  const auto at = scene.result.begin() + static_cast<std::ptrdiff_t>(scene.wrapped);
  int64_t& joined_size = is_stack ? *scene.result.insert(at, count) : *at;
  if (!is_stack) joined_size = 0;
  for (int64_t i = 0; i < count; ++i) {
    if (!is_stack) {
      shape[scene.wrapped] = random.between(0, 2);
      joined_size += shape[scene.wrapped];
    }
    scene.tensors.push_back(window(random, pool(i), shape));
  }
  return scene;
}

}  // namespace

TEST_CASE("cat, stack: take brace lists of handles and temporaries, and ranges") {
  const TensorPtr a = make_tensor_ptr({1, 2}, {1, 2});
  const Tensor b = make_tensor({1, 2}, {3, 4});
  const Ints both = {1, 2, 3, 4};
  check_tensor(*cat({a, b}), {2, 2}, {2, 1}, both);
  check_tensor(*stack({a, b}), {2, 1, 2}, {2, 2, 1}, both);
  check_tensor(*cat({make_tensor_ptr({1, 2}, {1, 2}), tenon::select(stack({a, b}), 0, 1)}), {2, 2},
               {2, 1}, both);
  check_tensor(*cat({a}), {1, 2}, {2, 1}, {1, 2});

  std::vector<TensorPtr> pointers;
  pointers.push_back(clone_tensor_ptr(a));
  pointers.push_back(clone_tensor_ptr(b));
  std::array<TensorPtr, 2> array = {clone_tensor_ptr(a), clone_tensor_ptr(b)};
  const TensorPtr old_array[] = {clone_tensor_ptr(a), clone_tensor_ptr(b)};
  const std::vector<Tensor> tensors = {*a, b};
  const TensorPtr results[] = {
      cat(pointers),
      cat(array),
      cat(old_array),
      cat(tensors),
      cat(std::vector<Tensor>{*a, b}),
      cat(std::deque<Tensor>{*a, b}),
      cat(std::list<Tensor>{*a, b}),
      cat(Span<const Tensor>(tensors)),
      cat(split(cat({a, b}), 1)),
  };
  for (const TensorPtr& result : results) CHECK(values<int32_t>(result) == both);
  const TensorPtr out = zeros({2, 2}, kInt);
  CHECK(cat_out(out, pointers) == Error::Ok);
  CHECK(values<int32_t>(out) == both);

  static_assert(!std::is_convertible_v<std::vector<int>, TensorArgs>);
  static_assert(!std::is_convertible_v<Tensor, TensorArgs>);
}

TEST_CASE("cat, stack: a list is walked a few times, however long it is") {
  static int64_t steps = 0;
  struct Iterator : std::list<Tensor>::const_iterator {
    using Base = std::list<Tensor>::const_iterator;
    explicit Iterator(Base at) : Base(at) {}
    Iterator& operator++() {
      ++steps;
      Base::operator++();
      return *this;
    }
  };
  struct Range {
    Iterator begin() const { return Iterator(list.begin()); }
    Iterator end() const { return Iterator(list.end()); }
    std::list<Tensor> list;
  };
  const Range range{std::list<Tensor>(1000, *ones({2}))};
  const Tensor out = *zeros({2000});
  CHECK(cat(range)->numel() == 2000);
  CHECK(stack(range)->numel() == 2000);
  CHECK(cat_out(out, range) == Error::Ok);
  CHECK(const_data_ptr<float>(out)[1999] == 1.0f);
  CHECK(steps <= 3 * 4 * 1000);
}

TEST_CASE("cat, stack: without elements; ATen's legacy {0} is skipped") {
  const TensorPtr a = make_tensor_ptr({2, 2}, {1, 2, 3, 4});
  const TensorPtr nothing = empty({0}, kInt);
  const TensorPtr flat = empty({0, 2}, kInt);
  check_tensor(*cat({nothing, a, nothing}, 1), {2, 2}, {2, 1}, {1, 2, 3, 4});
  check_tensor(*cat({flat, a, flat}), {2, 2}, {2, 1}, {1, 2, 3, 4});
  check_tensor(*stack({nothing, nothing}, 1), {0, 2}, {2, 1});
  RAISES(InvalidArgument,
         "cat: tensor 1 has sizes {0, 2}, tensor 0 has {2, 2}; they have to be equal "
         "but for dimension 1",
         cat({a, flat}, 1));
  CHECK(cat_out(nothing, {nothing, nothing}) == Error::Ok);
}

TEST_CASE("cat, stack: any strides and dimensions, as by a plain loop") {
  for (uint64_t seed = 1; seed <= 2000; ++seed) {
    Rng random{seed};
    const bool is_stack = random.between(0, 1) == 0;
    const int64_t rank = random.between(is_stack ? 0 : 1, 4);
    const Vector all(static_cast<size_t>(rank), 8);
    // The output is a window like the tensors, in memory of its own or in theirs.
    const bool overlaps = random.between(0, 2) == 0;
    const Tensor pool = counted(all);
    Scene scene = make_scene(random, rank, is_stack, [&](int64_t) { return pool; });
    const Ints expected = joined(scene.tensors, scene.wrapped);
    CAPTURE(seed, is_stack, rank, scene.dim, scene.result, scene.tensors.size(), overlaps);
    const TensorPtr made =
        is_stack ? stack(scene.tensors, scene.dim) : cat(scene.tensors, scene.dim);
    const bool is_right =
        sizes(made) == scene.result && made->is_contiguous() && values<int32_t>(made) == expected;
    if (!is_right) FAIL_CHECK("made");

    const bool shares = overlaps && !is_stack;  // of the pool's rank
    const Tensor board = shares ? pool : counted(Vector(scene.result.size(), 8));
    const Tensor out = window(random, board, scene.result);
    Ints after = values<int32_t>(board);
    const auto first = out.numel() == 0 ? 0
                                        : static_cast<const int32_t*>(const_data_ptr(out)) -
                                              static_cast<const int32_t*>(const_data_ptr(board));
    const Vector places = element_offsets(sizes(out), strides(out), first);
    for (size_t i = 0; i < expected.size(); ++i) {
      after[static_cast<size_t>(places[i])] = expected[i];
    }
    const Error error = is_stack ? stack_out(out, scene.tensors, scene.dim)
                                 : cat_out(out, scene.tensors, scene.dim);
    if (error != Error::Ok || values<int32_t>(board) != after) FAIL_CHECK("written");
  }
}

TEST_CASE("cat_out, stack_out: an output that is among the tensors") {
  const TensorPtr out = make_tensor_ptr({2, 2}, {1, 2, 3, 4});
  const Tensor first = tenon::select(out, 0, 0);
  const Tensor second = tenon::select(out, 0, 1);
  CHECK(stack_out(out, {second, first}) == Error::Ok);
  CHECK(values<int32_t>(out) == Ints{3, 4, 1, 2});
  CHECK(stack_out(out, {first, second}, 1) == Error::Ok);
  CHECK(values<int32_t>(out) == Ints{3, 1, 4, 2});
}

TEST_CASE("cat, stack: errors name the tensor in the list, before anything is made") {
  const TensorPtr a = ones({2, 3});
  const TensorPtr nothing;
  const TensorPtr placeholder = make_tensor_ptr({2, 3}, nullptr);
  RAISES(InvalidArgument, "cat: the list has no tensors", cat({}));
  RAISES(InvalidState, "cat: tensor 1 is undefined", cat({a, nothing}));
  RAISES(InvalidState, "cat: tensor 1 is a placeholder without data", cat({a, placeholder}));
  RAISES(InvalidArgument,
         "stack: tensor 2 has sizes {3, 4}, tensor 0 has {2, 3}; they have to be equal",
         stack({a, a, ones({3, 4})}));
  RAISES(InvalidArgument,
         "cat: tensor 1 has sizes {3, 3}, tensor 0 has {2, 3}; they have to be equal but for "
         "dimension 1",
         cat({a, ones({3, 3})}, 1));
  RAISES(InvalidType, "cat: tensor 1 is Int, tensor 0 is Float", cat({a, ones({2, 3}, kInt)}));
  RAISES(OutOfBounds, "cat: dimension 2 is out of range for a result of 2 dimensions", cat({a}, 2));
  const TensorPtr scalar = make_tensor_ptr(1);
  RAISES(OutOfBounds, "cat: tensor 1 has no dimensions to join along; stack() adds one",
         cat({empty({0}, kInt), scalar, scalar}));
  RAISES(OutOfBounds, "stack: dimension -4", stack({a}, -4));
  const TensorPtr deallocated = ones({2, 3});
  CHECK(backend_deallocate(deallocated) == Deallocation::Ok);
  RAISES(InvalidState, "stack: tensor 1, of sizes {2, 3}, was deallocated",
         stack({a, deallocated}));

  const Tensor endless = expand(zeros({1}, ScalarType::Byte), {PTRDIFF_MAX / 2});
  RAISES(InvalidArgument,
         sizeof(void*) == 8 ? "cat: the sizes of dimension 0 overflow the address space"
                            : "overflows the address space",
         cat({endless, endless, endless}));
  RAISES(InvalidArgument, "overflow", stack({endless, endless, endless}));
  CHECK(try_cat({a, nothing}).message() == std::string("try_cat: tensor 1 is undefined"));
  CHECK(try_stack({a, nothing}).message() == std::string("try_stack: tensor 1 is undefined"));
}

TEST_CASE("cat_out, stack_out: what the output has to be; after an error it is as it was") {
  const TensorPtr a = make_tensor_ptr({2}, {1, 2});
  const TensorPtr out = make_tensor_ptr({2, 2}, {5, 6, 7, 8});
  RETURNS(InvalidArgument,
          "stack_out: the output has sizes {2, 2}, the result has {3, 2}; they have to be equal",
          stack_out(out, {a, a, a}));
  RETURNS(InvalidArgument, "cat_out: the output has sizes {2, 2}, the result has {4}",
          cat_out(out, {a, a}));
  RETURNS(InvalidType, "stack_out: the output is Float, the tensors are Int",
          stack_out(zeros({2, 2}), {a, a}));
  RETURNS(InvalidArgument, "stack_out: the output has strides {0, 1} for sizes {2, 2}, at which",
          stack_out(expand(a, {2, 2}), {a, a}));
  RETURNS(InvalidState, "stack_out: tensor 1 is undefined", stack_out(out, {a, TensorPtr()}));
  CHECK(values<int32_t>(out) == Ints{5, 6, 7, 8});
}

TEST_CASE("cat, stack: up to 64 dimensions") {
  const TensorPtr a = ones(Dims(Vector(64, 1)), kInt);
  CHECK(cat({a, a}, 63)->size(63) == 2);
  RAISES(InvalidArgument, "stack: sizes has more than 64 entries", stack({a, a}));
  static const int32_t table[2] = {1, 2};
  RETURNS(InvalidState, "cat_out: the output is read-only",
          cat_out(from_blob(read_only(table), {2}), {a}));
}

TEST_CASE("cat, stack: the result is in the memory of the first one's backend") {
  MinimalBackend b;
  const TensorPtr x = make_tensor_ptr({2}, {1, 2}, b);
  const TensorPtr y = make_tensor_ptr({2}, {3, 4}, b);
  const auto fetched = [](const TensorArg& t) {
    return values<int32_t>(backend_copy(t, host_backend()));
  };
  for (const TensorPtr& made : {cat({x, y}), stack({x, y})}) {
    CHECK(&backend_of(made) == &b);
    CHECK(fetched(made) == Ints{1, 2, 3, 4});
  }
  CHECK(fetched(stack({x, y}, 1)) == Ints{1, 3, 2, 4});

  // An output may be elsewhere: images of the host's become a batch on a device, and back.
  const TensorPtr frame = make_tensor_ptr({2}, {5, 6});
  const TensorPtr device = zeros({2, 2}, kInt, b);
  const TensorPtr host = zeros({2, 2}, kInt);
  b.uploaded = b.downloaded = 0;
  CHECK(stack_out(device, {frame, frame}) == Error::Ok);
  CHECK(fetched(device) == Ints{5, 6, 5, 6});
  CHECK(b.uploaded == 16);
  CHECK(stack_out(host, {y, x}) == Error::Ok);
  CHECK(values<int32_t>(host) == Ints{3, 4, 1, 2});
  CHECK(b.faults == 0);

  RAISES(InvalidArgument, "cat: tensor 1 is on cpu, tensor 0 is on ext_dev:0", cat({x, frame}));
  b.will["copy_to_host"] = Answer::Fails;
  RETURNS(AccessFailed, "stack_out: backend minimal failed in copy_to_host: the cable is out",
          stack_out(host, {x, y}));
}

TEST_CASE("cat_out, stack_out: a backend's code may change what is being joined") {
  MinimalBackend b;
  const TensorPtr x = make_tensor_ptr({2}, {1, 2}, b);
  const TensorPtr y = make_tensor_ptr({2}, {3, 4}, b);
  TensorPtr out = zeros({2, 2}, kInt, TensorShapeDynamism::DYNAMIC);
  b.use = [&] { CHECK(resize_tensor_ptr(out, {100}) == Error::InUse); };
  CHECK(stack_out(out, {x, y}) == Error::Ok);
  CHECK(values<int32_t>(out) == Ints{1, 2, 3, 4});
  for (const Dims& shape : {Dims{1}, Dims{1, 2}, Dims{1, 1, 1}}) {
    TensorPtr changed = make_tensor_ptr({2}, {3, 4}, b);
    b.use = [&] { CHECK(resize_tensor_ptr(changed, shape) == Error::Ok); };
    RETURNS(InvalidState, "stack_out: tensor 1 was changed", stack_out(out, {x, changed}));
  }
  TensorPtr longer = make_tensor_ptr({2}, {3, 4}, b);
  CHECK(resize_tensor_ptr(longer, {1}) == Error::Ok);
  b.use = [&] { CHECK(resize_tensor_ptr(longer, {2}) == Error::Ok); };
  RETURNS(InvalidState, "cat_out: tensor 1 was changed", cat_out(zeros({3}, kInt), {x, longer}));
  b.use = [&] { CHECK(resize_tensor_ptr(longer, {1}) == Error::Ok); };
  RETURNS(InvalidState, "cat_out: a tensor was resized", cat_out(zeros({4}, kInt), {x, longer}));
  std::vector<Tensor> retyped = {*x, *y};
  b.use = [&] { retyped[1] = make_tensor({2}, {3.0f, 4.0f}, b); };
  RETURNS(InvalidState, "cat_out: tensor 1 was changed", cat_out(zeros({4}, kInt), retyped));
  b.use = [&] { CHECK(backend_deallocate(y) == Deallocation::Ok); };
  RETURNS(InvalidState, "cat_out: tensor 1, of sizes {2}, was deallocated",
          cat_out(zeros({4}, kInt), {x, y}));
}

}  // namespace cat_test
