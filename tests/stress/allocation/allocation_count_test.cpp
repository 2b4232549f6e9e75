// SPDX-License-Identifier: MIT
// How many heap blocks each way of making a tensor takes. The numbers are a promise.
#include "allocation/counting_malloc.h"
#include "support/catch.h"
#include "tenon/module/function_module.h"
#include "tenon/tenon.h"

namespace allocation_count_test {

using namespace tenon;

namespace {

// Checks the heap allocations of f, whose result is dropped.
template <class F>
void check_count(const char* what, int64_t expected, F&& f) {
  if (!tests::heap_is_counted()) {
    WARN("skipped: needs glibc without sanitizers");
    return;
  }
  tests::start_counting();
  { [[maybe_unused]] auto result = f(); }
  tests::stop_counting();
  const int64_t counted = tests::allocations();
  const int64_t leaked = tests::live_blocks();
  INFO(what);
  CHECK(counted == expected);
  CHECK(leaked == 0);
}

// The same of an expression.
#define ALLOCATES(count, ...) check_count(#__VA_ARGS__, count, [&] { return __VA_ARGS__; })

float blob[6] = {1, 2, 3, 4, 5, 6};

}  // namespace

// A promise of docs/guarantees.md.
TEST_CASE("allocations: from_blob takes 1, with a deleter and with strides too") {
  ALLOCATES(1, from_blob(blob, {2, 3}));
  int calls = 0;
  check_count("deleter", 1, [&calls] {
    return from_blob(blob, {2, 3}, ScalarType::Float, [&calls](void*) { ++calls; });
  });
  ALLOCATES(1, from_blob(blob, {2, 3}, {1, 2}));
  ALLOCATES(1, for_blob(blob, {2, 3}, ScalarType::Float).strides({3, 1}).make_tensor_ptr());
  ALLOCATES(1, make_tensor_ptr({2, 3}, blob));
  // One more for all lists of more than 6 dimensions.
  static const Dims rank_7{1, 1, 1, 1, 1, 2, 3};
  static const Dims rank_9{1, 1, 1, 1, 1, 1, 1, 2, 3};
  ALLOCATES(2, from_blob(blob, rank_7));
  ALLOCATES(2, from_blob(blob, rank_9));
}

// A promise of docs/guarantees.md.
TEST_CASE("allocations: a Tensor by value takes 1, and so does an impl") {
  ALLOCATES(1, make_tensor({2, 3}, blob));
  ALLOCATES(1, for_blob(blob, {2, 3}).make_tensor());
  ALLOCATES(1, make_tensor({1, 2, 3, 4}));
  ALLOCATES(1, make_tensor(3.14));
  ALLOCATES(1, make_tensor_impl_ptr({2, 3}, blob));
}

// A promise of docs/guarantees.md.
TEST_CASE("allocations: small data lies beside the metadata, large data takes one more") {
  ALLOCATES(1, make_tensor_ptr({1.0f, 2.0f, 3.0f, 4.0f}));
  ALLOCATES(1, make_tensor_ptr({2, 2}, {1, 2, 3, 4}));
  ALLOCATES(1, make_tensor_ptr({1, 2, 3}, ScalarType::Double));
  ALLOCATES(1, make_tensor_ptr(3.14));
  ALLOCATES(1, make_tensor_ptr(42, ScalarType::Float));
  ALLOCATES(1, scalar_tensor(1));
  ALLOCATES(2, make_tensor_ptr({2, 3}, std::vector<float>(6)));
  ALLOCATES(2, empty({1024, 1024}));
  ALLOCATES(2, zeros({1024, 1024}));
}

TEST_CASE("allocations: sharing takes 1, a copied handle 0, a view or a clone 1") {
  const auto source = make_tensor_ptr({2, 3}, {1.0f, 2.0f, 3.0f, 4.0f, 5.0f, 6.0f});
  ALLOCATES(1, make_tensor_ptr(source->impl()));
  ALLOCATES(1, make_tensor_ptr(source));
  ALLOCATES(0, Tensor(*source));
  ALLOCATES(1, make_tensor_ptr(*source));
  ALLOCATES(1, make_tensor(*source, {1}));
  ALLOCATES(1, clone_tensor_ptr(source));
  ALLOCATES(1, clone_tensor_ptr(source, ScalarType::Double));
}

// A promise of docs/guarantees.md.
TEST_CASE("allocations: another TensorPtr takes 0 where the first one is gone") {
  auto first = zeros({2, 3});
  const Tensor kept = *first;
  ALLOCATES(1, make_tensor_ptr(kept.impl()));
  first.reset();
  ALLOCATES(0, make_tensor_ptr(kept.impl()));
  ALLOCATES(0, make_tensor_ptr(kept.impl()));
  const auto second = make_tensor_ptr(kept.impl());
  ALLOCATES(1, make_tensor_ptr(kept.impl()));
  ALLOCATES(1, make_tensor_ptr(make_tensor({2, 3}, blob).impl()));  // the tensor by value
}

TEST_CASE("allocations: random numbers for an existing tensor take 0, whatever type and strides") {
  const auto dense = zeros({40, 40});
  const Tensor turned = transpose(dense, 0, 1);
  const auto doubles = zeros({40, 40}, ScalarType::ComplexDouble);
  const auto bytes = zeros({40, 40}, ScalarType::Byte);
  ALLOCATES(0, uniform_(dense) == Error::Ok);
  ALLOCATES(0, normal_(dense) == Error::Ok);
  ALLOCATES(0, random_(bytes) == Error::Ok);
  ALLOCATES(0, normal_(doubles) == Error::Ok);
  ALLOCATES(0, normal_(turned) == Error::Ok);
  ALLOCATES(0, random_(turned, 0, 1 << 22) == Error::Ok);
  ALLOCATES(0, uniform_(dense, 1, 1) != Error::Ok);
}

// A promise of docs/guarantees.md.
TEST_CASE("allocations: resizes within the bound take 0") {
  auto t = make_tensor_ptr({2, 3}, {1, 2, 3, 4, 5, 6});
  check_count("resize", 0, [&] {
    bool ok = resize_tensor_ptr(t, {3, 2}) == Error::Ok;
    ok = ok && resize_tensor_ptr(t, {6}) == Error::Ok;
    ok = ok && resize_tensor_ptr(t, {1, 0, 4}) == Error::Ok;
    return ok && resize_tensor_ptr(t, {2, 3}) == Error::Ok;
  });
}

// A promise of docs/guarantees.md.
TEST_CASE("allocations: copies, casts, transposes and fills take 0, whatever the strides") {
  const auto square = ones({40, 40});
  const auto dst = zeros({40, 40});
  const auto half = zeros({40, 40}, ScalarType::Half);
  const auto bytes = zeros({40, 40}, ScalarType::Byte);
  const Tensor turned = transpose(square, 0, 1);
  const Tensor flipped = flip(square, {0, 1});
  const Tensor inner = slice(dst, 1, 3, 37, 2);
  const Tensor row = tenon::select(square, 0, 1);
  const auto copies = [](const Tensor& to, const Tensor& from, auto... how) {
    return [=] { return copy_(to, from, how...) == Error::Ok; };
  };
  check_count("contiguous", 0, copies(*dst, *square));
  check_count("transposed", 0, copies(*dst, turned));
  check_count("reversed", 0, copies(*dst, flipped));
  check_count("strided", 0, copies(inner, slice(square, 1, 0, 34, 2)));
  check_count("broadcast", 0, copies(*dst, row));
  check_count("itself", 0, copies(turned, turned));
  check_count("cast", 0, copies(*half, *square));
  check_count("transposing cast", 0, copies(*half, turned));
  check_count("saturating cast", 0, copies(*bytes, flipped, CastMode::Saturate));
  check_count("moved within a block", 0, copies(slice(dst, 0, 1, 40), slice(dst, 0, 0, 39)));
  ALLOCATES(0, fill_(inner, 7) == Error::Ok);
  ALLOCATES(0, zero_(flipped) == Error::Ok);
  ALLOCATES(0, plan_copy(dst, dst));
  const Normalize normalize{1, {1, 2, 3, 4}, {2}, 0};
  const Tensor planes = slice(dst, 0, 0, 4);
  const Tensor few = slice(turned, 0, 0, 4);
  ALLOCATES(0, plan_copy(*half, turned).run(*half, turned) == Error::Ok);
  ALLOCATES(0, plan_copy(planes, few, normalize).run(planes, few) == Error::Ok);
  // Nor do more dimensions than lie in a tensor.
  const Dims sizes{2, 1, 1, 1, 1, 1, 1, 3};
  const auto deep = ones(sizes);
  const auto wide = zeros(sizes, ScalarType::Double);
  const Tensor reversed = flip(deep, {0, 7});
  check_count("deep", 0, copies(*zeros(sizes), tenon::select(reversed, 0, 1)));
  check_count("deep cast", 0, copies(*wide, reversed));
  const CopyPlan deep_plan = plan_copy(*wide, reversed);
  ALLOCATES(0, deep_plan.run(*wide, reversed) == Error::Ok);
  ALLOCATES(0, fill_(reversed, 7) == Error::Ok);
  ALLOCATES(0, uniform_(reversed) == Error::Ok);
  ALLOCATES(0, as_view(reversed));
}

TEST_CASE("allocations: a copy of memory that overlaps takes 1, a refused one 0") {
  const auto square = ones({40, 40});
  const Tensor turned = transpose(square, 0, 1);
  ALLOCATES(1, copy_(square, turned) == Error::Ok);
  ALLOCATES(0, copy_(square, turned, CopyPolicy::NoTemporary) == Error::NotSupported &&
                   copy_(square, Tensor()) != Error::Ok);
}

TEST_CASE(
    "allocations: stack_out and cat_out take 0, where they overlap 1; views 1 each, 1 for all") {
  const auto a = ones({40, 40});
  const auto b = ones({40, 40});
  const std::vector<TensorPtr> many = [] {
    std::vector<TensorPtr> made;
    for (int i = 0; i < 100; ++i) made.push_back(ones({40}));
    return made;
  }();
  const auto batch = empty({4, 40, 40});
  const auto rows = empty({100, 40});
  const Tensor flat = view(rows, {4000});
  const Tensor upper = narrow(a, 0, 0, 20);
  const Tensor lower = narrow(a, 0, 20, 20);
  ALLOCATES(0, stack_out(batch, {a, b, a, b}) == Error::Ok);
  ALLOCATES(0, stack_out(batch, {a, b, a, b}, 1) != Error::Ok);
  ALLOCATES(0, stack_out(rows, many) == Error::Ok && cat_out(flat, many) == Error::Ok);
  ALLOCATES(1, cat_out(a, {lower, upper}) == Error::Ok);
  ALLOCATES(2, stack({a, b}));
  ALLOCATES(5, split(batch, 1));
  ALLOCATES(5, unbind(batch));
}

// A promise of docs/guarantees.md.
TEST_CASE("allocations: index_select_out and index_copy_ take 0, where they overlap 1") {
  const auto cache = ones({100, 40});
  const auto rows = ones({3, 40});
  const auto indices = make_tensor_ptr({5, 2, 5}, ScalarType::Long);
  const auto some = make_tensor_ptr({0, 3}, ScalarType::Int);
  const auto halves = ones({100, 3}, ScalarType::Half);
  const Tensor square = transpose(ones({3, 3}), 0, 1);
  const Tensor first = narrow(cache, 0, 0, 3);
  const auto all = arange(40, ScalarType::Long);
  const auto small = ones({2, 3});
  ALLOCATES(0, index_select_out(rows, cache, 0, indices) == Error::Ok);
  ALLOCATES(0, index_copy_(cache, 0, indices, rows) == Error::Ok);
  ALLOCATES(0, index_select_out(rows, cache, 0, {1, 2, 3}) == Error::Ok);
  ALLOCATES(0, index_copy_(halves, 0, {1, 2, 3}, square) == Error::Ok);
  ALLOCATES(0, index_copy_(cache, 0, some, rows) != Error::Ok);
  ALLOCATES(0, index_copy_(cache, 0, {1, 2, 100}, rows) == Error::OutOfBounds);
  ALLOCATES(1, index_copy_(cache, 0, {1, 2, 3}, first) == Error::Ok);
  ALLOCATES(1, index_select_out(cache, cache, 1, all) == Error::Ok);
  ALLOCATES(1, index_select(cache, 0, indices));
  ALLOCATES(2, index_select(cache, 1, indices));
  ALLOCATES(1, index_select(small, 1, {0}));
  ALLOCATES(1, nonzero(small));
}

TEST_CASE("allocations: assign and copy_to take 0, over the tensor's own memory 1") {
  const auto t = zeros({2, 3});
  const Tensor flipped = flip(t, {1});
  float memory[8] = {};
  const Blob padded = Blob::of(memory, {2, 3}, {4, 1});
  const Blob own = Blob::of(t->mutable_data_ptr<float>(), {2, 3});
  ALLOCATES(0, assign(t, memory, 24) == Error::Ok);
  ALLOCATES(0, assign(flipped, memory, 24) == Error::Ok);
  ALLOCATES(0, assign(t, padded) == Error::Ok);
  ALLOCATES(0, assign(t, memory, 23) != Error::Ok);
  ALLOCATES(0, can_assign(t, padded));
  ALLOCATES(0, copy_to(flipped, memory, 24) == Error::Ok);
  ALLOCATES(0, copy_to(t, padded) == Error::Ok);
  ALLOCATES(1, assign(flipped, own) == Error::Ok);
}

TEST_CASE(
    "allocations: a view by its function takes 1, a blob of a tensor 1 and owned 2, a tensor of "
    "one 1") {
  const auto t = ones({2, 3});
  ALLOCATES(1, tenon::select(t, 0, 1));
  ALLOCATES(1, transpose(t, 0, 1));
  ALLOCATES(2, flip(view(t, {6}), {0}));
  ALLOCATES(1, to_blob(t));
  ALLOCATES(2, to_owned_blob(t));
  const Blob padded = Blob::of(blob, {2, 2}, {3, 1});
  ALLOCATES(1, from_blob(padded));
  ALLOCATES(1, from_blob(padded, t->impl()));
}

// A promise of docs/guarantees.md.
TEST_CASE("allocations: a DLPack struct of a tensor takes 1, a tensor of a struct 1") {
  const auto t = ones({2, 3});
  ALLOCATES(1, DLPackPtr(to_dlpack(t)));
  ALLOCATES(2, from_dlpack(to_dlpack(t)));  // the same tensor: the struct and a handle
  ALLOCATES(2, from_dlpack(to_dlpack(t), none, none, TensorShapeDynamism::STATIC));
}

// A promise of docs/guarantees.md.
TEST_CASE("allocations: a tensor over an impl on the stack takes 0, its use and its errors too") {
  check_count("stack", 0, [] {
    const int64_t sizes[] = {2, 3};
    TensorImpl impl(ScalarType::Float, 2, sizes, blob, nullptr, nullptr,
                    TensorShapeDynamism::DYNAMIC_BOUND);
    Tensor t(&impl);
    float sum = t.accessor<float, 2>()[1][2];
    for (float value : t.data<float>()) sum += value;
    const bool refused = resize_tensor(t, {7}) != Error::Ok;
    return refused && sum > 0;
  });
}

// A promise of docs/guarantees.md.
TEST_CASE("allocations: reading a tensor takes 0") {
  const auto t = make_tensor_ptr({2, 3}, {1, 2, 3, 4, 5, 6});
  ALLOCATES(0, t->sizes().size() + t->strides().size() + t->dim_order().size() +
                   static_cast<size_t>(t->numel() + t->size(-1) + t->accessor<int, 2>()[0][0]) +
                   (t->is_contiguous() ? t->nbytes() : 0) + t->data<int>().size());
}

// A promise of docs/guarantees.md.
TEST_CASE("allocations: tensors of an ArenaBackend take none, whatever is done with them") {
  alignas(64) static unsigned char buffer[1 << 16];
  const auto dynamic = TensorShapeDynamism::DYNAMIC;
  bool done = false;  // Catch's own checks would count
  check_count("arena", 0, [&] {
    ArenaBackend arena(buffer, sizeof buffer);
    const BackendScope scope(arena);
    auto t = empty({2, 3}, ScalarType::Float, dynamic, arena);
    auto large = full({32, 32}, 1.5, ScalarType::Double, arena);
    auto listed = make_tensor_ptr({1.0f, 2.0f, 3.0f});
    auto random = tenon::rand({2, 3}, Generator(1));
    auto counted = arange(6, ScalarType::Float);
    auto matrix = eye(3);
    auto like = zeros_like(large);
    auto cloned = clone_tensor_ptr(random);
    auto shared = make_tensor_ptr(t);
    auto view = make_tensor_ptr(*cloned, {3, 2});
    auto slice = tenon::select(random, 0, 1);
    auto turned = contiguous(transpose(random, 0, 1));
    auto described = to_blob(random);
    auto moved = backend_copy(matrix, arena);
    auto batch = stack({random, cloned});
    done = copy_(t, random) == Error::Ok && fill_(slice, 2) == Error::Ok &&
           resize_tensor_ptr(t, {64, 3}) == Error::Ok &&
           backend_deallocate(large) == Deallocation::Ok;
    done = done && accessor<float, 2>(random)[1][2] == 2 &&
           stack_out(batch, {random, cloned}) == Error::Ok;
    return 0;
  });
  if (tests::heap_is_counted()) CHECK(done);
  ArenaBackend arena(buffer, sizeof buffer);
  ALLOCATES(0, scalar_tensor(3, arena));
  CHECK(arena.reset() == Error::Ok);
}

// A promise of docs/guarantees.md.
TEST_CASE(
    "allocations: a loop over a camera's frames takes 0 in an arena, which ends as it began") {
  alignas(64) static unsigned char buffer[1 << 14];
  static uint8_t frames[3][8 * 32];  // rows of 10 pixels of 3 bytes, padded to 32
  ArenaBackend arena(buffer, sizeof buffer);
  const TensorPtr batch = zeros({4, 3, 6, 8}, arena);
  const auto type = ScalarType::Byte;
  const Dims sizes{8, 10, 3};
  const Dims strides{32, 3, 1};
  for (size_t f = 0; f < 3; ++f) std::fill_n(frames[f], sizeof frames[f], uint8_t(f + 1));
  int in_use = 0;
  const auto give_back = [&in_use](void*) { --in_use; };
  const std::shared_ptr<const void> owner(buffer, [](void*) {});
  // Crops a frame, and writes it to a row of the batch as float CHW. Whether all is as it is to be.
  const auto take = [&](int64_t i, const auto& wrap) {
    const size_t used = arena.used();
    bool done = false;
    {
      ++in_use;
      const auto image = wrap(frames[i % 3]);
      const Tensor crop = narrow(slice(image, 0, 1, 7), 1, 2, 8);
      done = copy_(tenon::select(batch, 0, i % 4), permute(crop, {2, 0, 1})) == Error::Ok;
    }
    return done && in_use == 0 && arena.used() == used &&
           batch->const_data_ptr<float>()[i % 4 * 144 + 143] == static_cast<float>(i % 3 + 1);
  };
  const auto check = [&](const char* how, bool scoped, const auto& wrap) {
    bool done = true;
    check_count(how, 0, [&] {
      const BackendScope scope(scoped ? static_cast<Backend&>(arena) : host_backend());
      for (int64_t i = 0; i < 20; ++i) done = take(i, wrap) && done;
      return 0;
    });
    INFO(how);
    if (tests::heap_is_counted()) CHECK(done);
  };
  check("scope", true, [&](uint8_t* p) { return from_blob(p, sizes, strides, type, give_back); });
  check("scope, by value", true,
        [&](uint8_t* p) { return tensor_from_blob(p, sizes, strides, type, give_back); });
  check("given", false,
        [&](uint8_t* p) { return from_blob(p, sizes, strides, type, give_back, arena); });
  check("given, by value", false,
        [&](uint8_t* p) { return tensor_from_blob(p, sizes, strides, type, give_back, arena); });
  check("scope, a maker", true, [&](uint8_t* p) {
    return for_blob(p, sizes).strides(strides).deleter(give_back).make_tensor_ptr();
  });
  check("scope, a blob with two owners", true, [&](uint8_t* p) {
    --in_use;
    return from_blob(Blob{p, sizes, strides, type, {}, 0, false, owner}, owner);
  });
  Tensor image;
  {
    const BackendScope scope(arena);
    image = tensor_from_blob(frames[0], {3, 8, 10, 3}, {256, 32, 3, 1});
  }
  check("views of a tensor in the arena", false, [&](uint8_t* p) {
    --in_use;
    return tenon::select(image, 0, (p - frames[0]) / 256);
  });
  check("handles and placeholders", true, [&](uint8_t* p) {
    const auto handle = make_tensor_ptr(batch);
    const auto other = make_tensor_ptr(handle->impl());
    const auto placeholder = make_tensor_ptr(sizes, nullptr, type);
    placeholder->unsafeGetTensorImpl()->set_data(p);
    return from_blob(p, sizes, strides, type, give_back);
  });
}

// A promise of docs/guarantees.md.
TEST_CASE("allocations: a forward takes the vector of its outputs, a run takes 0") {
  FunctionModule module([](Span<const EValue> in, Span<EValue> out) { out[0] = in[0]; },
                        {ValueKind::Tensor}, {ValueKind::Tensor});
  const auto x = make_tensor_ptr({1.0f, 2.0f});
  CHECK(module.load_method() == Error::Ok);
  CHECK(module.run("forward", x) == Error::Ok);
  ALLOCATES(1, module.forward(x));
  ALLOCATES(1, module.forward({x}));
  ALLOCATES(0, module.run("forward", x) == Error::Ok);
  ALLOCATES(0, module.get_output());

  // docs/module.md, "What a run allocates"
  const auto write = [](Span<const EValue>, Span<EValue> out) {
    return fill_(out[0].toTensor(), 1);
  };
  FunctionModule writes(write, {ValueKind::Tensor}, TensorSpec{{1, 3}});
  CHECK(writes.run(x).ok());
  ALLOCATES(0, writes.run(x));
  ALLOCATES(1, writes.forward(x));
  if (tests::heap_is_counted()) {  // ALLOCATES would refuse a block that the module keeps
    const Tensor held = writes.run(x).value();
    tests::start_counting();
    CHECK(writes.run("forward", x) == Error::Ok);
    tests::stop_counting();
    CHECK(tests::allocations() == 1);
  }
  alignas(64) static unsigned char buffer[1 << 12];
  ArenaBackend arena(buffer, sizeof buffer);
  FunctionModule in_arena(write, {ValueKind::Tensor}, TensorSpec{{1, 3}}, arena);
  ALLOCATES(0, in_arena.run("forward", x) == Error::Ok);
}

// A promise of docs/guarantees.md.
TEST_CASE("allocations: runs of a FunctionModule in an arena take 0 with long names, too") {
  alignas(64) static unsigned char buffer[1 << 14];
  ArenaBackend arena(buffer, sizeof buffer);
  const ValueSpec value(
      "a name of more than 47 characters, which takes a block",
      TensorSpec{
          {1, 1}, ScalarType::Float, {"names of dimensions of more", "than 47 characters in all"}});
  FunctionModule module([](Span<const EValue> in) { return in[0]; }, value, value, arena);
  const auto x = zeros({1, 1});
  CHECK(module.set_output(x) == Error::Ok);
  ALLOCATES(0, module.run("forward", x) == Error::Ok);
}

}  // namespace allocation_count_test
