// SPDX-License-Identifier: MIT
// Every function that allocates, with its n-th allocation failing, for n = 1, 2, … until it
// completes: the failure is reported as OutOfMemory, nothing leaks, deleters run once.
#include <deque>
#include <memory_resource>
#include <new>

#include "allocation/counting_malloc.h"
#include "support/catch.h"
#include "tenon/backend/pmr.h"
#include "tenon/module/function_module.h"
#include "tenon/tenon.h"
#include "tensor/helpers.h"

using namespace tenon;
using namespace tests;

namespace {

constexpr auto kBound = TensorShapeDynamism::DYNAMIC_BOUND;
constexpr auto kDynamic = TensorShapeDynamism::DYNAMIC;

// The error of what a function returned, which is then dropped.
Error error_of(Error error) { return error; }
template <class T>
Error error_of(const Result<T>& result) {
  return result.error();
}
template <class T>
Error error_of(const T&) {
  return Error::Ok;
}
template <class Managed>
Error error_of(Managed* dlpack) {
  const std::unique_ptr<Managed, DLPackDeleter> drop(dlpack);
  return drop != nullptr ? Error::Ok : Error::Internal;
}
template <class Managed>
Error error_of(const Result<Managed*>& result) {
  return result.ok() ? error_of(*result) : result.error();
}

template <class T>
struct IsResult : std::false_type {};
template <class T>
struct IsResult<Result<T>> : std::true_type {};

// What a call allocates itself (a vector to be moved in, the text of the exception): std::bad_alloc
// is right for that.
struct Foreign {
  int count;
};

// How often deleters run in one call, counted in `calls`.
struct Deleters {
  Deleters(Calls& counted, int n, int foreign_count = 0)
      : calls(&counted), expected(n), foreign(foreign_count) {}
  Deleters(Foreign own = {0}) : foreign(own.count) {}
  Calls* calls = nullptr;
  int expected = 0;
  int foreign = 0;
};

// Fails each allocation of f in turn, which is then OutOfMemory or std::bad_alloc.
template <class F>
void fail_each(const char* what, Deleters deleters, F&& f) {
  if (!heap_is_counted()) {
    WARN("skipped: needs glibc without sanitizers");
    return;
  }
  Calls* const calls = deleters.calls;
  int bad_allocs = 0;
  int64_t n = 1;
  for (bool completed = false; n < 100 && !completed; ++n) {
    if (calls != nullptr) *calls = Calls();
    Error error = Error::Ok;
    bool bad_alloc = false;
    start_counting(n);
    try {
      error = error_of(f());
    } catch (const Exception& e) {
      stop_failing();
      const bool named = std::strstr(e.what(), ": out of memory") != nullptr;
      error = named && !IsResult<decltype(f())>::value ? e.error() : Error::Internal;
    } catch (const std::bad_alloc&) {
      bad_alloc = true;
    }
    completed = failures() == 0;
    const int64_t leaked = live_blocks();
    stop_counting();
    bad_allocs += bad_alloc ? 1 : 0;
    INFO(what << ", allocation " << n << ": " << toString(error) << ", leaked " << leaked
              << ", the deleter ran " << (calls == nullptr ? 0 : calls->count) << " times");
    // A foreign allocation that fails comes before the deleter was handed over.
    const bool released = calls == nullptr || calls->count == deleters.expected ||
                          (bad_alloc && deleters.foreign > 0);
    const bool reported = completed ? error == Error::Ok : bad_alloc || error == Error::OutOfMemory;
    if (!reported || !released || leaked != 0) FAIL_CHECK();
  }
  INFO(what);
  CHECK(n > 2);
  CHECK(n < 100);
  CHECK(bad_allocs <= deleters.foreign);
}

// The same of an expression.
#define FAIL_EACH_WITH(deleters, ...) fail_each(#__VA_ARGS__, deleters, [&] { return __VA_ARGS__; })
#define FAIL_EACH(...) FAIL_EACH_WITH(Deleters(), __VA_ARGS__)

// The same for an f that returns an Error and writes to this memory, which stays when it fails.
template <class F>
void fail_each_write(const char* what, const void* memory, size_t nbytes, F&& f) {
  std::vector<unsigned char> before(nbytes);
  fail_each(what, Deleters(), [&] {
    std::memcpy(before.data(), memory, nbytes);
    const Error error = f();
    const bool changed = std::memcmp(before.data(), memory, nbytes) != 0;
    return error != Error::Ok && changed ? Error::Internal : error;
  });
}

// The same for an f that takes a generator and makes `numel` numbers, which it does once: when it
// fails the generator stays where it is.
template <class F>
void fail_each_random(const char* what, uint64_t numel, F&& f) {
  if (!heap_is_counted()) return;
  Generator g(1);
  fail_each(what, Deleters(), [&] { return f(g); });
  INFO(what);
  CHECK(g.offset() == numel);
}

// Counts its end among the calls, and is too large to be stored inline, or not.
struct Owner {
  explicit Owner(Calls& c) : calls(&c) {}
  Owner(Owner&& other) noexcept : calls(std::exchange(other.calls, nullptr)) {}
  ~Owner() {
    if (calls != nullptr) calls->deleter()(nullptr);
  }
  Calls* calls;
};
struct LargeOwner : Owner {
  using Owner::Owner;
  std::array<char, 100> padding{};
};
auto large_deleter(Calls& calls) {
  return [&calls, padding = std::array<void*, 8>()](void* p) {
    static_cast<void>(padding);
    calls.deleter()(p);
  };
}

float blob[12] = {};
const Vector kDeep(8, 1);

}  // namespace

TEST_CASE("out of memory: make_tensor_ptr and its siblings, of values, lists and scalars") {
  FAIL_EACH(make_tensor_ptr(1.0f));
  FAIL_EACH(make_tensor(1.0f));
  FAIL_EACH(make_tensor_impl_ptr(1.0f));
  FAIL_EACH(make_tensor_ptr(1, ScalarType::Half));
  FAIL_EACH(make_tensor_ptr({1, 2, 3}));
  FAIL_EACH(make_tensor_ptr({3}, {1, 2, 3}, ScalarType::Float));
  FAIL_EACH(make_tensor_ptr({2, 2}, {1, 2, 3, 4}, {1, 0}));
  FAIL_EACH(make_tensor_ptr(kDeep, {1}));
  FAIL_EACH(make_tensor_ptr(kDeep, {1}, {7, 6, 5, 4, 3, 2, 1, 0}, kDeep));
}

TEST_CASE("out of memory: make_tensor_ptr of containers") {
  static const std::vector<float> source(1000);
  static const std::deque<float> pieces(1000);
  static const std::vector<bool> bits(10);
  FAIL_EACH(make_tensor_ptr(source));
  FAIL_EACH(make_tensor_ptr({10, 100}, source, ScalarType::Double));
  FAIL_EACH(make_tensor_ptr(pieces));
  FAIL_EACH(make_tensor_ptr({5, 2}, bits));
  FAIL_EACH(try_make_tensor_ptr({1000}, pieces));
  FAIL_EACH_WITH(Foreign{1}, make_tensor_ptr(std::vector<float>(6)));
  FAIL_EACH_WITH(Foreign{1}, from_bytes({2}, std::vector<uint8_t>(8), ScalarType::Int));
}

TEST_CASE("out of memory: a container larger than four pointers is released once") {
  struct Large : Tracked {
    using Tracked::Tracked;
    std::array<char, 100> padding{};
  };
  Calls calls;
  // The container's own buffer is the first allocation.
  FAIL_EACH_WITH(Deleters(calls, 1, 1), make_tensor_ptr({4}, Large(calls, 4)));
  FAIL_EACH_WITH(Deleters(calls, 1, 1), make_tensor_ptr({4}, Large(calls, 4), ScalarType::Double));
  FAIL_EACH_WITH(Deleters(calls, 1, 1), make_tensor_ptr(kDeep, Large(calls, 1)));
}

// A promise of docs/guarantees.md.
TEST_CASE("out of memory: pointers with a deleter, which runs once") {
  Calls calls;
  const auto large = large_deleter(calls);
  FAIL_EACH_WITH(Deleters(calls, 1),
                 make_tensor_ptr({2, 3}, blob, ScalarType::Float, kBound, calls.deleter()));
  FAIL_EACH_WITH(Deleters(calls, 1),
                 make_tensor_ptr({2, 3}, blob, ScalarType::Float, kBound, large));
  FAIL_EACH_WITH(Deleters(calls, 1),
                 make_tensor_impl_ptr({2, 3}, blob, {}, {}, ScalarType::Float, kBound, large));
  FAIL_EACH_WITH(Deleters(calls, 1),
                 make_tensor(kDeep, blob, {}, kDeep, ScalarType::Float, kBound, large));
  FAIL_EACH_WITH(Deleters(calls, 1), from_blob(blob, {2, 3}, ScalarType::Float, large));
  FAIL_EACH_WITH(Deleters(calls, 1),
                 from_blob(blob, kDeep, kDeep, ScalarType::Float, calls.deleter()));
  FAIL_EACH_WITH(Deleters(calls, 1), try_from_blob(blob, kDeep, ScalarType::Float, large));
}

TEST_CASE("out of memory: for_blob runs the deleter and drops the owner, once each") {
  Calls calls;
  const auto large = large_deleter(calls);
  FAIL_EACH_WITH(Deleters(calls, 1), for_blob(blob, {2, 3}).deleter(large).make_tensor_ptr());
  FAIL_EACH_WITH(Deleters(calls, 1), for_blob(blob, {2, 3}).owner(Owner(calls)).make_tensor_ptr());
  FAIL_EACH_WITH(Deleters(calls, 1), for_blob(blob, {2, 3}).owner(LargeOwner(calls)).make_tensor());
  FAIL_EACH_WITH(Deleters(calls, 2),
                 for_blob(blob, {2, 3}).deleter(calls.deleter()).owner(Owner(calls)).make_tensor());
  FAIL_EACH_WITH(Deleters(calls, 2),
                 for_blob(blob, {2, 3}).deleter(large).owner(LargeOwner(calls)).make_tensor_ptr());
  FAIL_EACH_WITH(Deleters(calls, 2), for_blob(blob, kDeep)
                                         .owner(Owner(calls))
                                         .deleter(large)
                                         .strides(kDeep)
                                         .try_make_tensor_ptr());
}

TEST_CASE("out of memory: for_blob drops no owner before a deleter that was given before it") {
  struct Owner {
    explicit Owner(bool& a) : alive(&a) { *alive = true; }
    Owner(Owner&& other) noexcept : alive(std::exchange(other.alive, nullptr)) {}
    ~Owner() {
      if (alive != nullptr) *alive = false;
    }
    bool* alive;
    std::array<char, 100> padding{};
  };
  bool alive = false;
  bool in_order = true;
  Calls calls;
  std::array<void*, 8> padding{};
  const auto deleter = [&, padding](void* p) {
    static_cast<void>(padding);
    in_order = in_order && alive;
    calls.deleter()(p);
  };
  fail_each("deleter, owners", Deleters{calls, 1}, [&] {
    Owner owner(alive);
    return for_blob(blob, {2, 3})
        .deleter(deleter)
        .owner(std::move(owner))
        .owner(1)
        .make_tensor_ptr();
  });
  CHECK(in_order);
  fail_each("owners, deleter", Deleters{calls, 1}, [&] {
    Owner owner(alive);
    return for_blob(blob, {2, 3})
        .owner(1)
        .owner(std::move(owner))
        .deleter(deleter)
        .make_tensor_ptr();
  });
}

TEST_CASE("out of memory: sharing and viewing leave the source as it was") {
  const auto source = make_tensor_ptr({1, 2, 3, 4});
  FAIL_EACH(make_tensor_ptr(source));
  FAIL_EACH(make_tensor_ptr(*source));
  FAIL_EACH(make_tensor(*source, kDeep, {}, kDeep, 1));
  CHECK(source->use_count() == 1);
  FAIL_EACH(clone_tensor_ptr(source));
  FAIL_EACH(clone_tensor_ptr(source, ScalarType::Double));
  CHECK(values<int32_t>(source) == std::vector<int32_t>{1, 2, 3, 4});
  const auto deep = make_tensor_ptr(kDeep, {1});
  FAIL_EACH(clone_tensor_ptr(deep));
  FAIL_EACH(empty_like(deep));
  const auto placeholder = make_tensor_ptr(kDeep, nullptr);
  FAIL_EACH(make_tensor_ptr({2}, nullptr));
  FAIL_EACH(clone_tensor_ptr(placeholder));
}

TEST_CASE("out of memory: the creators") {
  const auto source = make_tensor_ptr({2}, {1, 2});
  FAIL_EACH(empty({2}));
  FAIL_EACH(empty({5000}));
  FAIL_EACH(empty(kDeep));
  FAIL_EACH(zeros({5000}));
  FAIL_EACH(ones({5000, 1, 1, 1, 1, 1, 1, 1, 1}));
  FAIL_EACH(full({2}, 1));
  FAIL_EACH(try_full({5000}, 1));
  FAIL_EACH(empty_strided({2, 2}, {3, 1}));
  FAIL_EACH(full_strided({2, 2}, {1, 2}, 1));
  FAIL_EACH(zeros_strided(kDeep, kDeep));
  FAIL_EACH(ones_strided({2}, {1}));
  FAIL_EACH(empty_like(source));
  FAIL_EACH(full_like(*source, 1, ScalarType::Float));
  FAIL_EACH(zeros_like(source));
  FAIL_EACH(try_ones_like(source));
  FAIL_EACH(scalar_tensor(1));
  FAIL_EACH(arange(0, 1000));
  FAIL_EACH(arange(0.0, 1.0, 0.25));
  FAIL_EACH(iota({2, 3}, 1));
  FAIL_EACH(try_iota(kDeep));
  FAIL_EACH(eye(3));
}

TEST_CASE("out of memory: the random creators leave their generator where it was") {
  const auto source = zeros({2, 3});
  fail_each_random("rand", 6, [](auto& g) { return tenon::rand({2, 3}, g); });
  fail_each_random("large rand", 5000, [](auto& g) { return tenon::rand({5000}, g); });
  fail_each_random("deep rand", 1, [](auto& g) { return tenon::rand(kDeep, g); });
  fail_each_random("try_randn", 6, [](auto& g) { return try_randn({2, 3}, g); });
  fail_each_random("randint_strided", 6, [](auto& g) {
    return randint_strided(0, 9, {2, 3}, {1, 4}, g);
  });
  fail_each_random("rand_like", 6, [&](auto& g) { return rand_like(source, g); });
  fail_each_random("try_uniform_like", 6,
                   [&](auto& g) { return try_uniform_like(source, 0, 1, g); });
}

TEST_CASE("out of memory: random numbers for more than 6 dimensions change nothing") {
  const auto t = full({2, 1, 1, 1, 1, 1, 1, 2}, 7);
  const Tensor turned = transpose(t, 0, 7);
  float before[4] = {7, 7, 7, 7};
  const auto fill = [&](auto& g) {
    const Error error = uniform_(turned, 0, 1, g);
    const bool changed = std::memcmp(before, t->const_data_ptr(), sizeof before) != 0;
    return error != Error::Ok && changed ? Error::Internal : error;
  };
  fail_each_random("uniform_", 4, fill);
}

// A promise of docs/guarantees.md.
TEST_CASE("out of memory: copies leave the destination as it was") {
  const auto t = make_tensor_ptr({2, 2}, {1, 2, 3, 4});
  const auto check = [&](const char* what, auto&& f) {
    fail_each_write(what, t->const_data_ptr(), t->nbytes(), f);
  };
  const Tensor turned = transpose(t, 0, 1);
  check("staged copy_", [&] { return copy_(t, turned); });
  check("temporary views", [&] { return copy_(tenon::select(t, 0, 0), tenon::select(t, 1, 1)); });
  int32_t* const data = t->mutable_data_ptr<int32_t>();
  check("assign of its own memory", [&] { return assign(turned, data, 16); });
  check("assign of a blob of its own", [&] {
    return assign(t, {data + 3, {2, 2}, {-2, -1}, ScalarType::Int});
  });
  check("copy_to its own memory", [&] { return copy_to(turned, data, 16); });
  check("copy_to a blob of its own", [&] {
    return copy_to(t, {data, {2, 2}, {1, 2}, ScalarType::Int});
  });
}

TEST_CASE("out of memory: the lists and temporaries of normalising copies change nothing") {
  const auto t = make_tensor_ptr({5, 5}, std::vector<float>(25, 7));
  const auto check = [&](const char* what, auto&& f) {
    fail_each_write(what, t->const_data_ptr(), t->nbytes(), f);
  };
  check("lists", [&] { return copy_(t, t, {1, {1, 2, 3, 4, 5}, {}, 0}); });
  check("copied lists", [&] {
    const Normalize normalize{1, {}, {1, 2, 3, 4, 5}, 0};
    Normalize other;
    other = normalize;
    return copy_(t, t, other);
  });
  check("staged", [&] { return copy_(t, transpose(t, 0, 1), {1, {1}, {}, 0}); });
}

TEST_CASE("out of memory: copies of more than 6 dimensions leave the destination as it was") {
  const Vector sizes{2, 1, 1, 1, 1, 1, 1, 2};
  const auto t = make_tensor_ptr(sizes, {1, 2, 3, 4});
  const auto other = make_tensor_ptr(sizes, {5, 6, 7, 8}, {7, 6, 5, 4, 3, 2, 1, 0});
  const auto check = [&](const char* what, auto&& f) {
    fail_each_write(what, t->const_data_ptr(), t->nbytes(), f);
  };
  const Tensor turned = transpose(t, 0, 7);
  const auto row = make_tensor_ptr({7, 9});
  int32_t data[6] = {5, 6, 0, 7, 8, 0};
  const Blob own{t->mutable_data_ptr<int32_t>() + 3, sizes, turned.strides(), ScalarType::Int};
  const Blob padded{data, sizes, {3, 1, 1, 1, 1, 1, 1, 1}, ScalarType::Int};
  check("copy_", [&] { return copy_(t, other); });
  check("broadcast", [&] { return copy_(t, row); });
  check("staged", [&] { return copy_(t, turned); });
  check("staged broadcast", [&] { return copy_(t, tenon::select(turned, 0, 1)); });
  check("fill_", [&] { return fill_(t, 5); });
  check("zero_", [&] { return zero_(t); });
  check("assign", [&] { return assign(turned, data, 16); });
  check("assign of a blob", [&] { return assign(t, padded); });
  fail_each_write("copy_to", data, sizeof data, [&] { return copy_to(t, data, 16); });
  fail_each_write("copy_to a blob", data, sizeof data, [&] { return copy_to(t, padded); });
  FAIL_EACH(plan_copy(t, other).nbytes == 16 ? Error::Ok : Error::Internal);
}

TEST_CASE("out of memory: contiguous, to and the views leave their source as it was") {
  const Vector sizes{2, 1, 1, 1, 1, 1, 1, 3};
  const auto flat = make_tensor_ptr({2, 3}, {1, 2, 3, 4, 5, 6});
  const auto deep = make_tensor_ptr(sizes, {1, 2, 3, 4, 5, 6});
  for (const TensorPtr& t : {std::cref(flat), std::cref(deep)}) {
    const State before(*t);
    Tensor turned = transpose(t, 0, -1);
    FAIL_EACH(contiguous(turned));
    FAIL_EACH(to(t, ScalarType::Half));
    FAIL_EACH(to(flip(t, {0}), ScalarType::Half));
    FAIL_EACH(view(t, {1, 1, 1, 1, 1, 1, 6}));
    FAIL_EACH(reshape(t, {-1}));
    FAIL_EACH(flatten(t, 0, 1));
    FAIL_EACH(tenon::select(t, 0, 1));
    FAIL_EACH(slice(t, 0, 0, 1));
    FAIL_EACH(narrow(t, 0, 1, 1));
    FAIL_EACH(transpose(t, 0, 1));
    FAIL_EACH(flip(t, {0, 1}));
    FAIL_EACH(squeeze(t));
    FAIL_EACH(unsqueeze(t, 0));
    FAIL_EACH(expand(t, t->sizes()));
    FAIL_EACH(as_strided(t, kDeep, kDeep));
    FAIL_EACH(view_as_type(t, ScalarType::Byte));
    CHECK(State(*t) == before);
    CHECK(values<int32_t>(t) == std::vector<int32_t>{1, 2, 3, 4, 5, 6});
    turned = Tensor();
    CHECK_FALSE(detail::fields(t).borrows.any());
  }
  FAIL_EACH(permute(deep, {7, 6, 5, 4, 3, 2, 1, 0}));
  FAIL_EACH(flatten(deep, 6, 7));
}

TEST_CASE("out of memory: joined tensors and lists of views leave nothing behind") {
  const Vector sizes{2, 1, 1, 1, 1, 1, 1, 3};
  const auto flat = make_tensor_ptr({2, 3}, {1, 2, 3, 4, 5, 6});
  const auto deep = make_tensor_ptr(sizes, {1, 2, 3, 4, 5, 6});
  for (const TensorPtr& t : {std::cref(flat), std::cref(deep)}) {
    FAIL_EACH(cat({t, t}, -1));
    FAIL_EACH(stack({t, t}, 1));
    FAIL_EACH(try_cat({t, t}));
    FAIL_EACH(try_stack({t, t}, -1));
    FAIL_EACH(split(t, 1));
    FAIL_EACH(chunk(t, 2, -1));
    FAIL_EACH(unbind(t));
    FAIL_EACH(try_split(t, 1));
    FAIL_EACH(try_chunk(t, 2));
    FAIL_EACH(try_unbind(t, -1));
    fail_each_write("overlap", t->const_data_ptr(), t->nbytes(),
                    [&] { return cat_out(t, {flip(t, {0})}); });
    CHECK_FALSE(detail::fields(t).borrows.any());
  }
  const auto out = empty({2, 2, 1, 1, 1, 1, 1, 1, 3}, ScalarType::Int);
  fail_each_write("deep", out->const_data_ptr(), out->nbytes(), [&] {
    return stack_out(out, {deep, deep});
  });
}

TEST_CASE("out of memory: blobs drop their owners once, and borrow nothing") {
  const auto flat = make_tensor_ptr({1, 2});
  const auto deep = make_tensor_ptr(kDeep, {1});
  FAIL_EACH(to_blob(flat));
  FAIL_EACH(to_blob(deep));
  FAIL_EACH(to_owned_blob(flat));
  FAIL_EACH(try_to_owned_blob(deep));
  CHECK(flat->use_count() == 1);
  CHECK(deep->use_count() == 1);
  CHECK_FALSE(detail::fields(flat).borrows.any());
  CHECK_FALSE(detail::fields(deep).borrows.any());
  FAIL_EACH(Blob::from_byte_strides(blob, kDeep, kDeep, ScalarType::Float));
  Calls calls;
  PmrBackend backend(std::pmr::new_delete_resource());
  const auto shared = std::make_shared<int>(1);
  for (const Dims& sizes : {Dims{2, 3}, Dims(kDeep)}) {
    const Blob lent{blob, sizes};
    FAIL_EACH(from_blob(lent));
    Blob owned = lent;
    owned.owner = shared;
    FAIL_EACH(from_blob(owned, backend));
    FAIL_EACH(try_from_blob(owned, backend));
    FAIL_EACH_WITH(Deleters(calls, 1), from_blob(lent, LargeOwner(calls)));
    FAIL_EACH_WITH(Deleters(calls, 1), try_from_blob(lent, LargeOwner(calls)));
  }
  CHECK(shared.use_count() == 1);
  CHECK(backend.live_blocks() == 0);
}

TEST_CASE("out of memory: to_dlpack borrows nothing, and leaves the source as it was") {
  const auto flat = make_tensor_ptr({1, 2});
  const auto deep = make_tensor_ptr(kDeep, {1});
  for (const TensorPtr& t : {std::cref(flat), std::cref(deep)}) {
    FAIL_EACH(to_dlpack(t));
    FAIL_EACH(try_to_dlpack(t));
    FAIL_EACH(to_dlpack_legacy(t));
    FAIL_EACH(try_to_dlpack_legacy(t));
    FAIL_EACH(to_dlpack(t, true));
    FAIL_EACH(try_to_dlpack(t, true));
    CHECK(t->use_count() == 1);
    CHECK_FALSE(detail::fields(t).borrows.any());
  }
}

// A promise of docs/guarantees.md.
TEST_CASE("out of memory: from_dlpack runs the deleter once") {
  Calls calls;
  alignas(8) static unsigned char memory[64] = {};
  int64_t numbers[2][8] = {{1, 1, 1, 1, 1, 1, 2, 3}, {99, 99, 99, 99, 99, 99, 1, 2}};
  for (const int rank : {2, 8}) {
    for (const int offset : {0, 1}) {
      DLManagedTensorVersioned lent{{1, 3},
                                    &calls,
                                    [](DLManagedTensorVersioned* self) {
                                      static_cast<Calls*>(self->manager_ctx)->deleter()(nullptr);
                                    },
                                    0,
                                    {memory + offset,
                                     {1, 0},
                                     rank,
                                     {0, 32, 1},
                                     numbers[0] + 8 - rank,
                                     numbers[1] + 8 - rank,
                                     0}};
      FAIL_EACH_WITH(Deleters(calls, 1), from_dlpack(&lent));
      FAIL_EACH_WITH(Deleters(calls, 1), try_from_dlpack(&lent));
      FAIL_EACH_WITH(Deleters(calls, 1), from_dlpack(&lent, true));
      FAIL_EACH_WITH(Deleters(calls, 1), try_from_dlpack(&lent, true));
    }
  }
}

TEST_CASE("out of memory: to_binary and to_string raise, from_binary makes nothing") {
  const auto t = make_tensor_ptr({2, 3}, {1, 2, 3, 4, 5, 6});
  const auto deep = make_tensor_ptr({2, 1, 1, 1, 1, 1, 1, 2}, {1, 2, 3, 4});
  const Tensor turned = transpose(deep, 0, 7);
  FAIL_EACH_WITH(Foreign{1}, to_binary(t));
  FAIL_EACH_WITH(Foreign{1}, to_binary(turned, 3));
  static const std::vector<uint8_t> bytes(24);
  FAIL_EACH(from_binary(bytes, {2, 3}, ScalarType::Int));
  FAIL_EACH(try_from_binary(bytes.data(), 4, kDeep, ScalarType::Int));
  FAIL_EACH_WITH(Foreign{100}, tenon::to_string(t));
  FAIL_EACH_WITH(Foreign{100}, tenon::to_string(turned));
}

// A promise of docs/guarantees.md.
TEST_CASE("out of memory: growth leaves the tensor as it was, and it can grow afterwards") {
  const auto unchanged = [](const TensorPtr& t, const State& before) {
    return State(*t) == before && values<int32_t>(t) == std::vector<int32_t>{1, 2, 3, 4};
  };
  for (bool reserve : {false, true}) {
    for (const Vector& shape : {Vector{5000}, Vector{2, 1, 1, 1, 1, 1, 1, 2500}}) {
      if (!heap_is_counted()) return;
      bool completed = false;
      int failed = 0;
      for (int64_t n = 1; n < 20 && !completed; ++n) {
        auto t = make_tensor_ptr({4}, {1, 2, 3, 4}, ScalarType::Int, kDynamic);
        const State before(*t);
        const Dims target(shape);
        start_counting(n);
        const Error error = reserve ? reserve_tensor_ptr(t, 20000) : resize_tensor_ptr(t, target);
        completed = failures() == 0;
        stop_counting();
        if (completed) {
          CHECK(error == Error::Ok);
          CHECK(t->numel() == (reserve ? 4 : 5000));
        } else if (error != Error::Ok) {
          // Growth falls back to what is needed when twice the size cannot be had.
          ++failed;
          CHECK(error == Error::OutOfMemory);
          CHECK(unchanged(t, before));
          CHECK(resize_tensor_ptr(t, target) == Error::Ok);
        }
      }
      CHECK(completed);
      CHECK(failed >= 1);
    }
  }
}

TEST_CASE("out of memory: growth without room for twice the size takes what it needs") {
  if (!heap_is_counted()) return;
  auto t = make_tensor_ptr({4}, {1, 2, 3, 4}, ScalarType::Int, kDynamic);
  start_counting(1);
  const Error error = resize_tensor_ptr(t, {5});
  stop_counting();
  CHECK(failures() == 1);
  CHECK(error == Error::Ok);
  CHECK(t->numel() == 5);
}

TEST_CASE("out of memory: a result keeps its error when even the message has no memory") {
  if (!heap_is_counted()) return;
  start_counting(2);  // the handle comes first; then the message
  auto result = try_make_tensor_ptr({-1}, {1});
  const int64_t failures = tests::failures();
  stop_counting();
  CHECK(result.error() == Error::InvalidArgument);
  CHECK(result.message() != nullptr);
  CHECK(failures <= 1);
}

TEST_CASE("out of memory: EValues of texts and lists") {
  const std::vector<int> numbers(100);
  const std::vector<Tensor> tensors(3);
  const auto kind = [](const EValue& value) {
    return value.isNone() ? Error::Internal : Error::Ok;
  };
  FAIL_EACH(kind("a text"));
  FAIL_EACH(kind(numbers));
  FAIL_EACH(kind(tensors));
}

TEST_CASE("out of memory: a FunctionModule is made, used and dropped") {
  const auto x = make_tensor_ptr({1.0f, 2.0f});
  const std::string name(100, 'x');
  fail_each("module", Deleters(), [&] {
    const ValueSpec pair(
        name,
        TensorSpec{{2}, ScalarType::Float, {"a dimension with a long name, far beyond its place"}});
    FunctionModule module([kept = *x](Span<const EValue>, Span<EValue>) {}, {pair, pair},
                          {pair, pair});
    const auto twice = [](Span<const EValue>, Span<EValue>) {};
    TENON_TRY(module.add_method("a method with a long name, too long for its place", twice));
    TENON_TRY(module.set_input(x, 1));
    TENON_TRY(module.run("forward", x));
    const auto outputs = module.forward(x);
    TENON_TRY(outputs.error());
    // Outputs that share memory: copied aside, one, and one in a list.
    FunctionModule shared([](Span<const EValue> in) {
      return std::vector<EValue>{*zeros({2}), in[0], std::vector<Tensor>{in[0].toTensor()}};
    });
    TENON_TRY(shared.set_output(x));
    return shared.run("forward", x);
  });
  CHECK(x->use_count() == 1);
}
