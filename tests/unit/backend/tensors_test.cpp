// SPDX-License-Identifier: MIT
// Tensors in the memory of each backend behave like those of the host: random programs, and what
// else a tensor of a backend can do.
#include <stdexcept>

#include "backend/helpers.h"
#include "support/catch.h"
#include "tenon/backend/pmr.h"
#include "tenon/backend/pool.h"
#include "tenon/backend/tracking.h"
#include "tenon/tenon.h"
#include "tenon/tensor/expr.h"
#include "tenon/testing/creator_cases.h"
#include "tenon/testing/memory_cases.h"
#include "testing/broken_backends.h"

namespace tensors_test {

using namespace tenon;
using namespace tenon::testing;

namespace {

/// Random views of a tensor, one after another, the same for both twins.
class RandomCut {
 public:
  RandomCut(Dice& dice, Tensor t) {
    for (int64_t i = dice.between(0, 3); i > 0 && t.dim() != 0; --i) {
      const int64_t dim = dice.between(0, t.dim() - 1);
      const int64_t other = dice.between(0, t.dim() - 1);
      const int64_t size = t.size(dim);
      const int64_t kind = dice.between(size == 0 ? 1 : 0, 3);
      const int64_t from = dice.between(0, size);
      const int64_t end = dice.between(from, size);
      const int64_t step = dice.between(1, 3);
      steps_.push_back([=](const Tensor& all) {
        return kind == 0   ? select(all, dim, from == size ? 0 : from)
               : kind == 1 ? reversed(all, {dim})
               : kind == 2 ? transpose(all, dim, other)
                           : slice(all, dim, from, end, step);
      });
      t = steps_.back()(t);
    }
    sizes_ = as_view(t).sizes;
  }

  Tensor of(const Tensor& base) const {
    Tensor t = base;
    for (const auto& step : steps_) t = step(t);
    return t;
  }
  const Dims& sizes() const noexcept { return sizes_; }

 private:
  std::vector<std::function<Tensor(const Tensor&)>> steps_;
  Dims sizes_;
};

void apply(Error error) {
  if (error != Error::Ok) throw std::runtime_error(last_error_message());
}

/// Three tensors to which random things happen, in both memories at once.
void programs_run_alike(Trial& trial) {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    Dice dice{seed};
    Twin tensors[3];
    for (int step = -3; step < 40; ++step) {  // the first three make the tensors
      Twin& twin = tensors[step < 0 ? step + 3 : dice.between(0, 2)];
      const int64_t action = step < 0 ? dice.between(0, 4) : dice.between(0, 14);
      const int64_t value = dice.between(0, 100);
      const ScalarType type = kTypeOfEachSize[dice.between(1, 4)];
      const auto dynamism = TensorShapeDynamism::DYNAMIC;
      Dims sizes;
      for (int64_t d = dice.between(0, 4); d > 0; --d) sizes.push_back(dice.between(1, 6));
      const RandomCut cut(dice, step < 0 ? *zeros({}, host_backend()) : *twin.here);
      const RandomView from(dice, cut.sizes(), true);
      const Twin source = random_twin(trial, from.base_sizes(), type, seed);
      const auto run = [&](TensorPtr t, Backend& backend, const TensorPtr& other) -> TensorPtr {
        Generator generator(seed, static_cast<uint64_t>(value));
        switch (action) {
          case 0: return full(sizes, 3, type, dynamism, backend);
          case 1: return zeros(sizes, type, dynamism, backend);
          case 2: return rand(sizes, type, dynamism, generator, backend);
          case 3: return randint(0, 100, sizes, type, dynamism, generator, backend);
          case 4: return iota(sizes, ScalarType::Long, dynamism, backend);
          case 5: apply(fill_(cut.of(*t), value)); return t;
          case 6: apply(uniform_(cut.of(*t), 0, 60, generator)); return t;
          case 7: return clone_tensor_ptr(cut.of(*t));
          case 8: return backend_transfer(backend_transfer(t, host_backend()), backend);
          case 9: {  // to one dimension, in which the elements stay in order
            const int64_t kept = t->numel();
            if (t->dim() == 0 || !t->is_contiguous()) return t;
            apply(resize_tensor(*t, {value}));
            if (value > kept) apply(fill_(narrow(t, 0, kept, value - kept), 1));
            return t;
          }
          default: apply(copy_(cut.of(*t), from.of(*other), CastMode::Saturate)); return t;
        }
      };
      const TensorPtr& other = dice.between(0, 2) != 0 ? source.there : source.here;
      twin.here = run(std::move(twin.here), host_backend(), source.here);
      twin.there = run(std::move(twin.there), trial.backend(), other);
      const std::string what = text_of("program ", seed, ", step ", step, ", action ", action);
      if (!trial.check_same(what, twin.there, twin.here)) return;
    }
  }
}

struct Maker {
  const char* what;
  std::function<Result<TensorPtr>(Backend&)> make;
};

const Maker kMakers[] = {
    {"empty",
     [](Backend& b) {
       return try_empty({0, 3}, b);
     }},
    {"full", [](Backend& b) { return try_full({4}, 2, ScalarType::Byte, b); }},
    {"ones_strided",
     [](Backend& b) {
       return try_ones_strided({2, 3}, {5, 1}, b);
     }},
    {"eye", [](Backend& b) { return try_eye(3, 4, b); }},
    {"iota",
     [](Backend& b) {
       return try_iota({3, 4}, 1, b);
     }},
    {"arange", [](Backend& b) { return try_arange(0.5, 9, 0.25, b); }},
    {"rand",
     [](Backend& b) {
       return try_rand({3, 4}, Generator(1), b);
     }},
    {"scalar_tensor", [](Backend& b) { return try_scalar_tensor(3, b); }},
    {"values",
     [](Backend& b) {
       return try_make_tensor_ptr({2, 2}, {1, 2, 3, 4}, b);
     }},
    {"values as Half",
     [](Backend& b) {
       return try_make_tensor_ptr({2, 3}, {1, 2, 3, 4, 5, 6}, ScalarType::Half, b);
     }},
    {"a moved vector in a dim order",
     [](Backend& b) {
       return try_make_tensor_ptr({2, 3}, std::vector<int64_t>{1, 2, 3, 4, 5, 6}, {1, 0}, b);
     }},
    {"values with gaps",
     [](Backend& b) {
       return try_make_tensor_ptr({2, 2}, std::vector<int16_t>{1, 2, 3, 4, 5}, {}, {3, 1}, b);
     }},
    {"no values",
     [](Backend& b) {
       return try_make_tensor_ptr({0, 5}, std::vector<int32_t>(), b);
     }},
    {"one value", [](Backend& b) { return try_make_tensor_ptr(2.5f, b); }},
    {"zeros_strided",
     [](Backend& b) {
       return try_zeros_strided({3, 4}, {9, 2}, ScalarType::Short, b);
     }},
    {"normal_strided",
     [](Backend& b) {
       return try_normal_strided(1, 2, {3, 4}, {1, 3}, ScalarType::BFloat16, Generator(8, 1), b);
     }},
    {"randint",
     [](Backend& b) { return try_randint(-5, 99, {41}, ScalarType::Char, Generator(8, 1), b); }},
    {"full_like and randn_like of a transposed tensor",
     [](Backend& b) {
       const TensorPtr t = try_zeros({4, 6}, ScalarType::Double, b).value();
       Result<TensorPtr> like = try_randn_like(transpose(t, 0, 1), Generator(3));
       return try_full_like(like.value(), 7, ScalarType::Float);
     }},
    {"a scope",
     [](Backend& b) {
       const BackendScope scope(b);
       return try_rand({3, 4}, Generator(2));
     }},
    {"backend_copy",
     [](Backend& b) {
       return try_backend_copy(ones({4, 2}), b);
     }},
};

/// What is made is as on the host in all but the address.
void creators_keep_strides_and_backends(Trial& trial) {
  const bool is_heap = detail::null_if_heap(&trial.backend()) == nullptr;
  const Backend& expected = is_heap ? host_backend() : trial.backend();
  for (const auto& [what, make] : kMakers) {
    const TensorPtr here = trial.check_made(what, make(host_backend()));
    const TensorPtr there = trial.check_made(what, make(trial.backend()));
    if (here == nullptr || there == nullptr) return;
    trial.check(&backend_of(there) == &expected, what, ": is in memory of ",
                backend_of(there).name());
    trial.check(as_view(here).strides == as_view(there).strides &&
                    shape_dynamism(here) == shape_dynamism(there),
                what, ": expected other strides or dynamism");
    trial.check_same(what, there, here);
  }
}

void copies_within_a_tensor_are_safe(Trial& trial) {
  for (ScalarType type : kTypeOfEachSize) {
    const Twin twin = random_twin(trial, {8, 8}, type);
    const auto check = [&](const char* what, const auto& to, const auto& from) {
      check_both(trial, what, twin, [&](const Tensor& t) { return copy_(to(t), from(t)); });
    };
    const auto all = [](const Tensor& t) { return t; };
    const auto upper = [](const Tensor& t) { return narrow(t, 0, 0, 7); };
    const auto lower = [](const Tensor& t) { return narrow(t, 0, 1, 7); };
    const auto even = [](const Tensor& t) { return slice(t, 1, 0, 8, 2); };
    const auto odd = [](const Tensor& t) { return slice(t, 1, 1, 8, 2); };
    check("one row down", lower, upper);
    check("one row up", upper, lower);
    check("columns", even, odd);
    check("reversed", all, [](const Tensor& t) { return reversed(t, {0, 1}); });
    check("transposed", all, [](const Tensor& t) { return transpose(t, 0, 1); });
    check("its first row", all, [](const Tensor& t) { return select(t, 0, 0); });
  }
}

void memory_is_lent_and_registered(Trial& trial) {
  Backend& backend = trial.backend();
  const TrialBlock block(backend, 24);
  const TensorPtr values = iota({2, 3}, ScalarType::Int, host_backend());
  const TensorPtr lent = trial.check_made(
      "make_tensor_ptr of a pointer",
      try_make_tensor_ptr({2, 3}, static_cast<void*>(block.data()), ScalarType::Int, backend));
  if (lent == nullptr) return;
  trial.check_ok("copy_ to lent memory", copy_(lent, values));
  trial.check_same("lent memory", lent, values);
  if (backend.device().is_cpu()) return;
  const TensorPtr target = zeros({2, 3}, ScalarType::Int, host_backend());
  const Blob blob = to_blob(lent);
  if (!backend.device().is_host_accessible()) {
    trial.check(assign(target, blob) == Error::NotSupported, "a blob of no registered backend");
  }
  register_backend(backend);
  trial.check_ok("assign of a blob", assign(target, blob));
  trial.check_same("assign of a blob", target, values);
  const TensorPtr borrowed = trial.check_made("from_blob", try_from_blob(blob));
  if (borrowed != nullptr) trial.check_same("from_blob", borrowed, values);
  unregister_backend(backend);
}

void check_tensors(Backend& backend, size_t largest = size_t{8} << 20) {
  Report report;
  BackendTraits traits;
  traits.largest = largest;
  Trial trial(backend, traits, report);
  const int64_t blocks = backend.live_blocks();
  for (const auto run : {programs_run_alike, creators_keep_strides_and_backends,
                         copies_within_a_tensor_are_safe, memory_is_lent_and_registered}) {
    report.begin("");
    run(trial);
    INFO(report.text());
    CHECK(report.ok());
  }
  CHECK(backend.live_blocks() == blocks);
}

}  // namespace

TEST_CASE("tensors of each backend behave like the host's") {
  CpuBackend cpu;
  tests::HonestBackend honest;
  tests::MinimalBackend device;
  std::vector<char> buffer(size_t{16} << 20);
  ArenaBackend arena(buffer.data(), buffer.size());
  PmrBackend pmr;
  ExprBackend recorder;
  for (Backend* backend : {static_cast<Backend*>(&cpu), static_cast<Backend*>(&honest),
                           static_cast<Backend*>(&device), static_cast<Backend*>(&arena),
                           static_cast<Backend*>(&pmr), static_cast<Backend*>(&recorder)}) {
    INFO(backend->name());
    check_tensors(*backend);
  }
}

TEST_CASE("tensors of a tracker over a pool, over an arena and a device, behave like the host's") {
  std::vector<char> buffer(size_t{32} << 20);
  ArenaBackend arena(buffer.data(), buffer.size());
  tests::MinimalBackend device;
  for (Backend* memory : {static_cast<Backend*>(&arena), static_cast<Backend*>(&device)}) {
    PoolBackend pool(*memory);
    TrackingBackend backend(pool);
    check_tensors(backend);
    CHECK(backend.live_bytes() == 0);
  }
  CHECK(arena.used() == 0);
  CHECK(device.used() == 0);
  CHECK(device.faults == 0);
}

TEST_CASE("meta tensors: creators give the host's shapes, what needs data says so") {
  MetaBackend backend;
  for (const auto& [what, make] : kMakers) {
    INFO(what);
    const TensorPtr here = make(host_backend()).value();
    const TensorPtr there = make(backend).value();
    CHECK(as_view(there).type == as_view(here).type);
    CHECK(as_view(there).sizes == as_view(here).sizes);
    CHECK(as_view(there).strides == as_view(here).strides);
    CHECK(as_view(there).data == nullptr);
    CHECK(device(there) == backend.device());
  }
  const TensorPtr t = zeros({2, 3}, TensorShapeDynamism::DYNAMIC, backend);
  const TensorPtr host = zeros({2, 3});
  const char* const words = "meta tensor, Float {2, 3}, which has no data";
  float values[6] = {};
  Generator generator(1);
  RETURNS(NotSupported, words, copy_(host, t));
  RETURNS(NotSupported, words, copy_(t, host));
  RETURNS(NotSupported, words, fill_(t, 1));
  RETURNS(NotSupported, words, uniform_(t, 0, 1, generator));
  RETURNS(NotSupported, words, assign(t, values, sizeof values));
  RETURNS(NotSupported, words, copy_to(t, values, sizeof values));
  RAISES(NotSupported, words, backend_copy(t, host_backend()));
  RAISES(NotSupported, words, const_data_ptr<float>(t));
  RAISES(NotSupported, words, to_binary(t));
  CHECK(as_view(transpose(t, 0, 1)).sizes == Dims{3, 2});
  CHECK(device(clone_tensor_ptr(t)) == backend.device());
  CHECK(device(ones_like(t)) == backend.device());
  CHECK(resize_tensor(*t, {100, 7}) == Error::Ok);
  CHECK(tests::contains(to_string(t), "Float {100, 7} on meta"));
  CHECK(backend_deallocate(t) == Deallocation::Ok);
}

}  // namespace tensors_test
