// SPDX-License-Identifier: MIT
// What users call, for the warnings that compilers give only where code is made. Compiled behind a
// precompiled header of all headers, in which GCC keeps no pragma.
#include <tenon/backend/pool.h>
#include <tenon/compat/executorch_module.h>
#include <tenon/interop/arrow.h>
#include <tenon/interop/arrow_batch.h>
#include <tenon/interop/npy.h>
#include <tenon/interop/shm.h>
#include <tenon/module/function_module.h>
#include <tenon/tenon.h>
#include <tenon/tensor/expr.h>
#include <tenon/tensor/values.h>

namespace warnings_uses {

using namespace tenon;

// Each function has the results of some calls, so that nothing is left out as unused.
Error use_random(double& out);
Error use_shapes(double& out);
Error use_files(double& out);
Error use_modules(double& out);
executorch::runtime::Error use_macros(double& out);

Error use_random(double& out) {
  const auto floats = rand({2, 3});
  const auto doubles = randn({100}, ScalarType::Double);
  const auto longs = randint(0, 100, {1000});
  const auto halves = to(*floats, ScalarType::Half);
  out = min_max(floats).max.to<double>() + min_max(doubles).min.to<double>() +
        min_max(longs).max.to<double>() + min_max(halves).max.to<double>();
  ExprBackend recorder;
  const auto later = rand({1000}, Generator(7), recorder);
  TENON_TRY(copy_(select(later, 0, 1), scalar_tensor(1)));
  return copy_(zeros({3, 2}), transpose(floats, 0, 1));
}

Error use_shapes(double& out) {
  float data[6] = {0, 1, 2, 3, 4, 5};
  auto borrowed = from_blob(data, {2, 3}, ScalarType::Float, [](void*) {});
  auto grown = zeros({2, 2}, ScalarType::Float, TensorShapeDynamism::DYNAMIC_UNBOUND);
  TENON_TRY(resize_tensor_ptr(grown, {20, 3}));
  TENON_TRY(copy_(slice(grown, 0, 0, 2), borrowed));
  const auto joined = cat({borrowed, borrowed}, 0);
  const auto many = stack({borrowed, clone_tensor_ptr(*borrowed)}, 1);
  for (const auto& piece : split(joined, 2, 0)) {
    out += static_cast<double>(piece.accessor<float, 2>()[1][2]);
  }
  TENON_ASSIGN(const Tensor made, try_reshape(many, {-1}));
  out += static_cast<double>(to_string(made).size());
  TENON_ASSIGN(const auto rows, (try_accessor<const float, 2>(borrowed)));
  for (auto row : rows) {
    for (const float& x : row) out += static_cast<double>(x);
  }
  TENON_ASSIGN(out, try_item<double>(scalar_tensor(out)));
  out += try_item<double>(borrowed).value_or(1.5) + try_item<double>(borrowed).value_or(1);
  out += try_data<float>(borrowed)
             .transform([](Span<float> all) { return static_cast<double>(all[0]); })
             .value();
  TENON_TRY(
      try_to(borrowed, ScalarType::Double).and_then([](const Tensor& t) { return fill_(t, 1); }));
  out += static_cast<double>(try_plan_copy(grown, grown).ok());
  out += static_cast<double>(equal(flip(joined, {0}), permute(many, {1, 0, 2})));
  return fill_(borrowed, 2);
}

Error use_files(double& out) {
  PoolBackend pool(default_backend());
  const auto image = zeros({4, 5}, ScalarType::BFloat16, pool);
  TENON_TRY(write_npy("image.npy", image));
  const auto back = try_read_npy("image.npy", NpyMemory::Map);
  if (!back.ok()) return back.error();
  const auto shared = try_shm_attach("/tenon-image");
  if (shared.ok()) out += static_cast<double>((*shared)->numel());
  out += static_cast<double>((*back)->numel());
  return Error::Ok;
}

Error use_modules(double& out) {
  FunctionModule module([](Span<const EValue> inputs) { return Result<EValue>(inputs[0]); });
  const auto given = module.forward({EValue(1.5)});
  if (!given.ok()) return given.error();
  out += (*given)[0].toDouble();
  return Error::Ok;
}

executorch::runtime::Error use_macros(double& out) {
  using executorch::runtime::Result;
  const auto half = [](int n) -> Result<int> {
    ET_CHECK_OR_RETURN_ERROR(n % 2 == 0, InvalidArgument, "%d is odd", n)
    return n / 2;
  };
  const auto quarter = [&](int n) -> Result<int> { return ET_UNWRAP(half(ET_UNWRAP(half(n)))); };
  ET_ASSIGN_OR_RETURN(one, quarter(4), "no quarter");
  ET_CHECK_OK_OR_RETURN_ERROR([&] {
    ET_CHECK_OK_OR_RETURN_ERROR(half(one).error(), "in a lambda");
    return executorch::runtime::Error::Ok;
  }());
  ET_CHECK_MSG(one == 1, "%d", one);
  out += ET_SWITCH_REAL_TYPES(ScalarType::Int, nullptr, "uses", A, [&] {
    return ET_SWITCH_REALHBBF16_TYPES(ScalarType::Half, nullptr, "uses", B,
                                      [&] { return static_cast<double>(sizeof(A) + sizeof(B)); });
  });
  return executorch::runtime::Error::Ok;
}

}  // namespace warnings_uses
