// SPDX-License-Identifier: MIT
// How many heap blocks each way of making a tensor takes. The numbers are a promise.
#include "allocation/counting_malloc.h"
#include "support/catch.h"
#include "tenon/module/function_module.h"
#include "tenon/tenon.h"

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

float blob[6] = {1, 2, 3, 4, 5, 6};

}  // namespace

TEST_CASE("allocations: from_blob takes 2, with a deleter and with strides too") {
  check_count("from_blob", 2, [] { return from_blob(blob, {2, 3}); });
  int calls = 0;
  check_count("deleter", 2, [&calls] {
    return from_blob(blob, {2, 3}, ScalarType::Float, [&calls](void*) { ++calls; });
  });
  check_count("strides", 2, [] { return from_blob(blob, {2, 3}, {1, 2}); });
  check_count("for_blob", 2, [] {
    return for_blob(blob, {2, 3}, ScalarType::Float).strides({3, 1}).make_tensor_ptr();
  });
  check_count("make_tensor_ptr", 2, [] { return make_tensor_ptr({2, 3}, blob); });
}

TEST_CASE("allocations: a Tensor by value takes 1, and so does an impl") {
  check_count("make_tensor", 1, [] { return make_tensor({2, 3}, blob); });
  check_count("for_blob", 1, [] { return for_blob(blob, {2, 3}).make_tensor(); });
  check_count("list", 1, [] { return make_tensor({1, 2, 3, 4}); });
  check_count("scalar", 1, [] { return make_tensor(3.14); });
  check_count("impl", 1, [] { return make_tensor_impl_ptr({2, 3}, blob); });
}

TEST_CASE("allocations: small data lies beside the metadata, large data takes one more") {
  check_count("list of 4", 2, [] { return make_tensor_ptr({1.0f, 2.0f, 3.0f, 4.0f}); });
  check_count("shape", 2, [] { return make_tensor_ptr({2, 2}, {1, 2, 3, 4}); });
  check_count("cast", 2, [] { return make_tensor_ptr({1, 2, 3}, ScalarType::Double); });
  check_count("scalar", 2, [] { return make_tensor_ptr(3.14); });
  check_count("typed", 2, [] { return make_tensor_ptr(42, ScalarType::Float); });
  check_count("scalar_tensor", 2, [] { return scalar_tensor(1); });
  check_count("moved vector", 3, [] { return make_tensor_ptr({2, 3}, std::vector<float>(6)); });
  check_count("empty", 3, [] { return empty({1024, 1024}); });
  check_count("zeros", 3, [] { return zeros({1024, 1024}); });
}

TEST_CASE("allocations: sharing takes 1, a copied handle 0, a view or a clone 2") {
  const auto source = make_tensor_ptr({2, 3}, {1.0f, 2.0f, 3.0f, 4.0f, 5.0f, 6.0f});
  check_count("share an impl", 1, [&] { return make_tensor_ptr(source->impl()); });
  check_count("share a tensor", 1, [&] { return make_tensor_ptr(source); });
  check_count("copy a handle", 0, [&] { return Tensor(*source); });
  check_count("view", 2, [&] { return make_tensor_ptr(*source); });
  check_count("view by value", 1, [&] { return make_tensor(*source, {1}); });
  check_count("clone", 2, [&] { return clone_tensor_ptr(source); });
  check_count("typed clone", 2, [&] { return clone_tensor_ptr(source, ScalarType::Double); });
}

TEST_CASE("allocations: a random tensor takes as many as an empty one") {
  Generator g(1);
  check_count("rand", 2, [&] { return tenon::rand({2, 3}, g); });
  check_count("randn", 2, [&] { return randn({2, 3}, ScalarType::Double, g); });
  check_count("randint", 2, [&] { return randint(0, 9, {2, 3}, g); });
  check_count("uniform", 2, [&] { return uniform(-1, 1, {2, 3}, ScalarType::Half, g); });
  check_count("strided", 2, [&] { return normal_strided(0, 1, {2, 3}, {1, 4}, g); });
  const auto source = zeros({2, 3});
  check_count("like", 2, [&] { return rand_like(source, g); });
  check_count("large", 3, [&] { return tenon::rand({300, 300}, g); });
  check_count("large strided", 3, [&] { return randn_strided({300, 300}, {1, 300}, g); });
}

TEST_CASE("allocations: random numbers for an existing tensor take 0, whatever type and strides") {
  const auto dense = zeros({40, 40});
  const Tensor turned = transpose(dense, 0, 1);
  const auto doubles = zeros({40, 40}, ScalarType::ComplexDouble);
  const auto bytes = zeros({40, 40}, ScalarType::Byte);
  check_count("uniform_", 0, [&] { return uniform_(dense) == Error::Ok; });
  check_count("normal_", 0, [&] { return normal_(dense) == Error::Ok; });
  check_count("random_", 0, [&] { return random_(bytes) == Error::Ok; });
  check_count("double", 0, [&] { return normal_(doubles) == Error::Ok; });
  check_count("strided", 0, [&] { return normal_(turned) == Error::Ok; });
  check_count("integers", 0, [&] { return random_(turned, 0, 1 << 22) == Error::Ok; });
  check_count("refused", 0, [&] { return uniform_(dense, 1, 1) != Error::Ok; });
}

TEST_CASE("allocations: resizes within the bound take 0") {
  auto t = make_tensor_ptr({2, 3}, {1, 2, 3, 4, 5, 6});
  check_count("resize", 0, [&] {
    bool ok = resize_tensor_ptr(t, {3, 2}) == Error::Ok;
    ok = ok && resize_tensor_ptr(t, {6}) == Error::Ok;
    ok = ok && resize_tensor_ptr(t, {1, 0, 4}) == Error::Ok;
    return ok && resize_tensor_ptr(t, {2, 3}) == Error::Ok;
  });
}

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
  check_count("fill_", 0, [&] { return fill_(inner, 7) == Error::Ok; });
  check_count("zero_", 0, [&] { return zero_(flipped) == Error::Ok; });
  check_count("plan_copy", 0, [&] { return plan_copy(dst, dst); });
}

TEST_CASE("allocations: a copy of memory that overlaps takes 1, a refused one 0") {
  const auto square = ones({40, 40});
  const Tensor turned = transpose(square, 0, 1);
  check_count("staged", 1, [&] { return copy_(square, turned) == Error::Ok; });
  check_count("refused", 0, [&] {
    return copy_(square, turned, CopyPolicy::NoTemporary) == Error::NotSupported &&
           copy_(square, Tensor()) != Error::Ok;
  });
}

TEST_CASE("allocations: assign and copy_to take 0, over the tensor's own memory 1") {
  const auto t = zeros({2, 3});
  const Tensor flipped = flip(t, {1});
  float memory[8] = {};
  const Blob padded{memory, {2, 3}, {4, 1}};
  const Blob own{t->mutable_data_ptr(), {2, 3}};
  check_count("assign", 0, [&] { return assign(t, memory, 24) == Error::Ok; });
  check_count("strided", 0, [&] { return assign(flipped, memory, 24) == Error::Ok; });
  check_count("blob", 0, [&] { return assign(t, padded) == Error::Ok; });
  check_count("refused", 0, [&] { return assign(t, memory, 23) != Error::Ok; });
  check_count("can_assign", 0, [&] { return can_assign(t, padded); });
  check_count("copy_to", 0, [&] { return copy_to(flipped, memory, 24) == Error::Ok; });
  check_count("to blob", 0, [&] { return copy_to(t, padded) == Error::Ok; });
  check_count("own", 1, [&] { return assign(flipped, own) == Error::Ok; });
}

TEST_CASE("allocations: contiguous and to take 1, and 0 where there is nothing to do") {
  const auto t = ones({2, 3});
  const Tensor turned = transpose(t, 0, 1);
  check_count("contiguous", 0, [&] { return contiguous(t); });
  check_count("contiguous copy", 1, [&] { return contiguous(turned); });
  check_count("to", 0, [&] { return to(t, ScalarType::Float); });
  check_count("to copy", 1, [&] { return to(turned, ScalarType::Half); });
}

TEST_CASE(
    "allocations: a view by its function takes 1, a blob of a tensor 1, a tensor of a blob 2") {
  const auto t = ones({2, 3});
  check_count("select", 1, [&] { return tenon::select(t, 0, 1); });
  check_count("transpose", 1, [&] { return transpose(t, 0, 1); });
  check_count("view of a view", 2, [&] { return flip(view(t, {6}), {0}); });
  check_count("to_blob", 1, [&] { return to_blob(t); });
  const Blob padded{blob, {2, 2}, {3, 1}};
  check_count("from_blob", 2, [&] { return from_blob(padded); });
  check_count("owner", 2, [&] { return from_blob(padded, t->impl()); });
}

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

TEST_CASE("allocations: reading a tensor takes 0") {
  const auto t = make_tensor_ptr({2, 3}, {1, 2, 3, 4, 5, 6});
  check_count("read", 0, [&] {
    return t->sizes().size() + t->strides().size() + t->dim_order().size() +
           static_cast<size_t>(t->numel() + t->size(-1) + t->accessor<int, 2>()[0][0]) +
           (t->is_contiguous() ? t->nbytes() : 0) + t->data<int>().size();
  });
}

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
    done = copy_(t, random) == Error::Ok && fill_(slice, 2) == Error::Ok &&
           resize_tensor_ptr(t, {64, 3}) == Error::Ok &&
           backend_deallocate(large) == Deallocation::Ok;
    done = done && accessor<float, 2>(random)[1][2] == 2;
    return 0;
  });
  if (tests::heap_is_counted()) CHECK(done);
  ArenaBackend arena(buffer, sizeof buffer);
  check_count("scalar", 0, [&] { return scalar_tensor(3, arena); });
  CHECK(arena.reset() == Error::Ok);
}

TEST_CASE(
    "allocations: an EValue of a tensor or a number takes 0, of a text "
    "or a list 2, a copy 0") {
  const auto x = make_tensor_ptr({1.0f, 2.0f});
  check_count("tensor", 0, [&] { return EValue(x); });
  check_count("number", 0, [] { return EValue(5); });
  check_count("text", 2,
              [] { return EValue("a text that is longer than what fits into a string"); });
  const std::vector<int> numbers(100);
  check_count("list", 2, [&] { return EValue(numbers); });
  const EValue list(numbers);
  check_count("copy of a list", 0, [&] { return EValue(list); });
  check_count("wrong kind", 0, [&] { return list.kind() == ValueKind::Int; });
}

TEST_CASE("allocations: a forward takes the vector of its outputs, a run takes 0") {
  FunctionModule module([](Span<const EValue> in, Span<EValue> out) { out[0] = in[0]; },
                        {ValueKind::Tensor}, {ValueKind::Tensor});
  const auto x = make_tensor_ptr({1.0f, 2.0f});
  CHECK(module.load_method() == Error::Ok);
  CHECK(module.run("forward", x) == Error::Ok);
  check_count("forward", 1, [&] { return module.forward(x); });
  check_count("forward of braces", 1, [&] { return module.forward({x}); });
  check_count("run", 0, [&] { return module.run("forward", x) == Error::Ok; });
  check_count("get_output", 0, [&] { return module.get_output(); });
}

TEST_CASE(
    "allocations: a FunctionModule in an arena takes 0, from its making "
    "to its end") {
  alignas(64) static unsigned char buffer[1 << 15];
  bool done = false;
  check_count("module", 0, [&] {
    ArenaBackend arena(buffer, sizeof buffer);
    const BackendScope scope(arena);
    const ValueSpec pair("x", TensorSpec{{2}, ScalarType::Float, {"items"}});
    FunctionModule module(
        [](Span<const EValue> in, Span<EValue> out) {
          const float* x = in[0].toTensor().const_data_ptr<float>();
          const float* y = in[1].toTensor().const_data_ptr<float>();
          float* sum = out[0].toTensor().mutable_data_ptr<float>();
          for (int i = 0; i < 2; ++i) sum[i] = x[i] + y[i];
        },
        {pair, pair}, pair, arena);
    const auto x = make_tensor_ptr({1.0f, 2.0f});
    const auto out = zeros({2});
    done = module.run("forward", {x, x}) == Error::Ok && module.set_input(x, 1) == Error::Ok &&
           module.run("forward", x) == Error::Ok &&
           module.get_output()->toTensor().const_data_ptr<float>()[1] == 4.0f &&
           module.set_output(out) == Error::Ok && module.run("forward", x) == Error::Ok &&
           out->const_data_ptr<float>()[0] == 2.0f && module.method_meta().ok() &&
           module.set_output(x) == Error::Ok && module.run("forward", x) == Error::Ok &&
           x->const_data_ptr<float>()[1] == 4.0f;  // copied aside, in the arena
    return 0;
  });
  if (tests::heap_is_counted()) CHECK(done);
}

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
  check_count("run", 0, [&] { return module.run("forward", x) == Error::Ok; });
}
