// SPDX-License-Identifier: MIT
#include "tenon/module/function_module.h"

#include "guarded.h"
#include "tenon/tenon.h"

namespace function_module_suite {

using namespace tenon;
using namespace tests;

namespace {

Error add_bias(Span<const EValue> inputs, Span<EValue> outputs) {
  const auto from = inputs[0].toTensor().accessor<float, 1>();
  const auto to = outputs[0].toTensor().accessor<float, 1>();
  const auto bias = static_cast<float>(inputs[1].toDouble());
  for (int64_t i = 0; i < from.size(0); ++i) to[i] = from[i] + bias;
  return from[0] < 0 ? Error::OutOfBounds : Error::Ok;
}

}  // namespace

TEST_CASE("EValue: what it holds, and what it is not, without the heap") {
  static Guarded<2048> room;
  const NoHeap no_heap(TENON_HEAP == 0);  // else the text of a failed Result is there
  {
    ArenaBackend arena(room.data, sizeof room.data);
    const EValue none;
    const EValue integer = 5;
    const EValue real = 2.5;
    const EValue truth = true;
    CHECK(none.isNone());
    CHECK((integer.isInt() && integer.toInt() == 5));
    CHECK((real.isDouble() && real.toDouble() == 2.5));
    CHECK((truth.isBool() && truth.toBool()));
    CHECK(integer.tryToDouble().error() == Error::InvalidType);
    CHECK(none.tryToTensor().error() == Error::InvalidType);
    TensorPtr t = ones({3}, arena);
    const EValue value = t;
    t = nullptr;
    const EValue copy = value;  // NOLINT(performance-unnecessary-copy-initialization)
    CHECK(copy.toTensor().use_count() == 2);
    CHECK(copy.toTensor().const_data_ptr<float>()[2] == 1);
  }
  CHECK(room.is_intact());
}

// A promise of docs/guarantees.md.
TEST_CASE("FunctionModule: in an arena, runs and errors included, without the heap") {
  static Guarded<16384> room;
  const NoHeap no_heap;
  {
    ArenaBackend arena(room.data, sizeof room.data);
    const ValueSpec pair = TensorSpec{{2}, ScalarType::Float, {"side"}};
    FunctionModule module(&add_bias, {pair, ValueKind::Double}, pair, arena);
    const TensorPtr in = full({2}, 1.5f, arena);
    CHECK(module.run("forward", {in, 0.25}) == Error::Ok);
    CHECK(module.get_output()->toTensor().const_data_ptr<float>()[1] == 1.75f);
    const size_t used = arena.used();
    for (int i = 0; i < 10; ++i) {
      CHECK(fill_(in, i) == Error::Ok);
      CHECK(module.run("forward", {in, 1.0}) == Error::Ok);
      CHECK(module.get_output()->toTensor().const_data_ptr<float>()[0] ==
            static_cast<float>(i + 1));
    }
    CHECK(arena.used() == used);

    const TensorPtr large = zeros({3}, arena);
    CHECK(module.run("forward", {large, 1.0}) == Error::InvalidArgument);
    CHECK(module.run("forward", {in, in}) == Error::InvalidType);
    CHECK(module.run("backward", {in, 1.0}) == Error::NotFound);
    CHECK(fill_(in, -1) == Error::Ok);
    CHECK(module.run("forward", {in, 1.0}) == Error::OutOfBounds);
    CHECK(module.run("forward", {full({2}, 3, arena), 1.0}) == Error::Ok);
    CHECK(module.get_output()->toTensor().const_data_ptr<float>()[0] == 4);
  }
  CHECK(room.is_intact());
}

TEST_CASE("FunctionModule: an arena that is too small for it is an error, not a crash") {
  static Guarded<16384> room;
  const NoHeap no_heap(TENON_HEAP == 0);  // else the text of a failed Result is there
  int failed = 0;
  for (size_t nbytes = 512; nbytes <= 16384; nbytes += 64) {
    ArenaBackend arena(room.data, nbytes);
    const ValueSpec pair = TensorSpec{{2}, ScalarType::Float, {"side"}};
    FunctionModule module(arena);
    Error error = module.add_method("forward", &add_bias, {pair, ValueKind::Double}, pair);
    if (error == Error::Ok) {
      auto in = try_ones({2}, arena);
      error = in.ok() ? module.run("forward", {*in, 1.0}) : in.error();
    }
    CHECK((error == Error::Ok || error == Error::OutOfMemory));
    if (error != Error::Ok) ++failed;
  }
  CHECK(failed > 0);
  CHECK(failed < 248);
  CHECK(room.is_intact());
}

}  // namespace function_module_suite
