// SPDX-License-Identifier: MIT
#include "tenon/interop/aoti_kernels.h"

#include <functional>

#include "allocation/counting_malloc.h"
#include "interop/runtimes/aoti_kernels/peer.h"
#include "tenon/interop/aoti_shim.h"
#include "tenon/interop/runtimes/torch_stable_operators.h"
#include "tenon/tenon.h"
#include "tenon/tensor/values.h"

namespace aoti_kernels_test {

using namespace tenon;
using namespace tenon::detail;
using tests::Arguments;
using Results = AtenTensorHandle*;

using Begin = std::function<void()>;
/// A call of a C function, which makes up to four results.
struct Call {
  const char* name;
  std::function<AOTITorchError(Arguments& side, Results made, const Begin& begin)> run;
};
/// `begin` is called when the arguments are made.
#define CALL(called, ...)                                                         \
  Call {                                                                          \
#called, []([[maybe_unused]] Arguments& side, [[maybe_unused]] Results made,    \
                  const Begin& begin) {                               \
      [[maybe_unused]] const auto t = [&](const Tensor& tensor) {                     \
        return side.pass<AtenTensorHandle>(tensor);                                   \
      };                                                                              \
      const auto given = std::make_tuple(__VA_ARGS__);                                \
      begin();                                                                        \
      return std::apply(&called, given);                                            \
    } \
  }
AOTITorchError run(const Call& call, Arguments& side, Results made) {
  return call.run(side, made, [] {});
}

TEST_CASE("aoti_kernels: the header's own operators are registered before main()",
          "[aoti_kernels]") {
  const auto counts =
      call_torch_operator("aten::bincount", {make_tensor({int64_t{2}, int64_t{0}, int64_t{2}})});
  REQUIRE(counts.ok());
  CHECK((*counts)[0].toTensor().sizes() == ArrayRef<int64_t>({3}));
}

TEST_CASE("aoti_kernels: the program's own operator goes before the header's", "[aoti_kernels]") {
  const auto call = [] {
    return call_torch_operator("aten::bincount", {*ones({1}, ScalarType::Long)});
  };
  REQUIRE(register_torch_operator(
              "aten::bincount(Tensor self, Tensor? weights=None, SymInt minlength=0) -> Tensor",
              [](Span<const EValue>, std::vector<EValue>& outputs) {
                outputs.emplace_back(Tensor(*zeros({7})));
                return Error::Ok;
              }) == Error::Ok);
  CHECK(call().value()[0].toTensor().numel() == 7);
  CHECK(unregister_torch_operator("aten::bincount") == Error::Ok);
  CHECK(call().value()[0].toTensor().numel() == 2);
  CHECK(unregister_torch_operator("aten::bincount") == Error::NotFound);
}

namespace {
const Tensor x = *ones({2, 3});
const Tensor square = *ones({3, 3});
const Tensor place = *zeros({2, 3}, ScalarType::Long);
const Tensor row = *zeros({2}, ScalarType::Long);
constexpr int64_t* kNoDims = nullptr;
constexpr int64_t kSizes[] = {2, 3};
constexpr int64_t kHuge[] = {4, 3, int64_t{1} << 62};
constexpr int64_t kLeast[] = {4, INT64_MIN};
int32_t* const kNone = nullptr;
}  // namespace

TEST_CASE("aoti_kernels: lists and texts that are null, too short or too long are refused",
          "[aoti_kernels]") {
  const Call calls[] = {
      CALL(aoti_torch_cpu_cat, nullptr, 2, 0, made),
      CALL(aoti_torch_cpu_cat, nullptr, -1, 0, made),
      CALL(aoti_torch_cpu_pad, t(x), kNoDims, 2, "constant", nullptr, made),
      CALL(aoti_torch_cpu_pad, t(x), kSizes, -2, "constant", nullptr, made),
      CALL(aoti_torch_cpu_pad, t(x), kSizes, 2, nullptr, nullptr, made),
      CALL(aoti_torch_cpu_permute, t(x), kNoDims, 2, made),
      CALL(aoti_torch_cpu_permute, t(x), kSizes, -2, made),
      CALL(aoti_torch_cpu_reshape, t(x), kNoDims, 2, made),
      CALL(aoti_torch_cpu_reshape, t(x), kSizes, -2, made),
      CALL(aoti_torch_cpu_resize_, t(x), kNoDims, 1, nullptr),
      CALL(aoti_torch_cpu_resize_, t(x), kSizes, -1, nullptr),
      CALL(aoti_torch_cpu_index_Tensor, t(x), nullptr, 1, made),
      CALL(aoti_torch_cpu_index_put, t(x), nullptr, 1, t(x), 0, made),
      CALL(aoti_torch_index_put_out, t(x), t(x), nullptr, 1, t(x), false),
      CALL(aoti_torch_cpu__trilinear, t(x), t(x), t(x), kNoDims, 1, kNoDims, 1, kNoDims, 1, kNoDims,
           1, 1, made),
      CALL(aoti_torch_cpu__trilinear, t(x), t(x), t(x), kNoDims, 0, kNoDims, 0, kNoDims, 0, kNoDims,
           1, 1, made),
      CALL(aoti_torch_cpu__fused_rms_norm, t(x), kNoDims, 1, nullptr, nullptr, made, made + 1),
      CALL(aoti_torch_cpu__histogramdd_from_bin_cts, t(x), kNoDims, 3, nullptr, 0, nullptr, 0,
           made),
      CALL(aoti_torch_cpu_avg_pool2d, t(x), kNoDims, 2, kSizes, 2, kSizes, 2, 0, 0, nullptr, made),
      CALL(aoti_torch_cpu_rand, kNoDims, 2, kNone, kNone, kNone, 0, kNone, made),
      CALL(aoti_torch_cpu_rand, kSizes, -2, kNone, kNone, kNone, 0, kNone, made),
      CALL(aoti_torch_cpu_rand, kHuge, 3, kNone, kNone, kNone, 0, kNone, made),
      CALL(aoti_torch_cpu_rand, kLeast, 2, kNone, kNone, kNone, 0, kNone, made),
      CALL(aoti_torch_cpu_resize_, t(x), kHuge, 3, nullptr),
      CALL(aoti_torch_cpu_scatter_reduce_two_out, t(x), t(x), 0, t(place), t(x), nullptr, 1),
      CALL(aoti_torch_cpu_index_reduce, t(x), 0, t(row), t(x), nullptr, 1, made),
      CALL(aoti_torch_cpu_segment_reduce, t(x), nullptr, nullptr, nullptr, nullptr, 0, 0, nullptr,
           made),
  };
  for (const Call& call : calls) {
    Arguments side(false);
    AtenTensorHandle made[4] = {};
    CHECK(run(call, side, made) == 1);
    INFO(last_error_message());
    CHECK(std::string(last_error_message()).find(std::string(call.name) + ": ") == 0);
  }
}

TEST_CASE("aoti_kernels: a message names the function that was called", "[aoti_kernels]") {
  const Call calls[] = {
      CALL(aoti_torch_view_dtype, nullptr, 6, made),
      CALL(aoti_torch_view_as_real, nullptr, made),
      CALL(aoti_torch_nonzero, nullptr, made),
      CALL(aoti_torch_repeat_interleave_Tensor, nullptr, nullptr, made),
      CALL(aoti_torch_scatter_out, nullptr, t(x), 0, t(place), t(x)),
      CALL(aoti_torch_scatter_reduce_out, nullptr, t(x), 0, t(place), t(x), "sum", 1),
      CALL(aoti_torch__embedding_bag, nullptr, t(row), t(row), 0, 0, 0, nullptr, 0, -1, made,
           made + 1, made + 2, made + 3),
  };
  for (const Call& call : calls) {
    Arguments side(false);
    AtenTensorHandle made[4] = {};
    CHECK(run(call, side, made) == 1);
    CHECK(last_error_message() == std::string(call.name) + ": the handle is null");
  }
}

TEST_CASE("aoti_kernels: tensors without elements take no time, however large a dimension is",
          "[aoti_kernels]") {
  static constexpr int64_t kMany = int64_t{1} << 40;
  static const Tensor many = *empty({kMany, 0, 2});
  static const Tensor matrices = *empty({kMany, 2, 2, 0});
  static const Tensor no_pivots = *empty({kMany, 2, 0}, ScalarType::Int);
  static const Tensor no_places = *empty({kMany, 0, 2}, ScalarType::Long);
  static constexpr int64_t kPad[] = {1, 1};
  const Call calls[] = {
      CALL(aoti_torch_cpu_cumsum, t(many), 1, nullptr, made),
      CALL(aoti_torch_cpu_cumprod, t(many), 1, nullptr, made),
      CALL(aoti_torch_cpu_logcumsumexp, t(many), 1, made),
      CALL(aoti_torch_cpu_cummax, t(many), 1, made, made + 1),
      CALL(aoti_torch_cpu_cummin, t(many), 1, made, made + 1),
      CALL(aoti_torch_cpu_sort, t(many), 1, 0, made, made + 1),
      CALL(aoti_torch_cpu_pad, t(many), kPad, 2, "constant", nullptr, made),
      CALL(aoti_torch_cpu_geqrf, t(matrices), made, made + 1),
      CALL(aoti_torch_cpu_lu_unpack, t(matrices), t(no_pivots), 1, 0, made, made + 1, made + 2),
      CALL(aoti_torch_cpu_scatter_src_out, t(many), t(many), 0, t(no_places), t(many)),
  };
  for (const Call& call : calls) {
    INFO(call.name);
    Arguments side(false);
    AtenTensorHandle made[4] = {};
    CHECK(run(call, side, made) == 0);
    for (const AtenTensorHandle handle : made) side.drop(handle);
  }
}

TEST_CASE("aoti_kernels: floating numbers are converted to integers as torch does",
          "[aoti_kernels]") {
  const Tensor numbers =
      *make_tensor_ptr({6}, std::vector<double>{-2.75, 300, -1, 70000, 0.5, 2.9});
  for (const ScalarType type :
       {ScalarType::Byte, ScalarType::Char, ScalarType::Short, ScalarType::Int, ScalarType::Long,
        ScalarType::UInt16, ScalarType::UInt32, ScalarType::UInt64, ScalarType::Bool}) {
    for (const ScalarType from : {ScalarType::Double, ScalarType::Float}) {
      INFO(from << " to " << type);
      CHECK_PEER(aoti_torch_copy_, 0, *zeros({6}, type), to(numbers, from), 0);
    }
  }
  const TensorPtr bytes = zeros({6}, ScalarType::Byte);
  REQUIRE(convert(*bytes, numbers) == Error::Ok);
  CHECK(equal(*bytes, *make_tensor_ptr({6}, std::vector<uint8_t>{254, 44, 255, 112, 0, 2})));
  const TensorPtr longs = zeros({3}, ScalarType::UInt64);
  const std::vector<double> large = {-2.75, 0x1p63, INFINITY};
  REQUIRE(convert(*longs, *make_tensor_ptr({3}, large)) == Error::Ok);
  CHECK(equal(*longs, *make_tensor_ptr({3}, std::vector<uint64_t>{UINT64_MAX - 1, uint64_t{1} << 63,
                                                                  UINT64_MAX})));
}

TEST_CASE("aoti_kernels: where an allocation fails, nothing is changed and no handle is left",
          "[aoti_kernels]") {
  if (!tests::heap_is_counted()) return;
  // More dimensions than fit a list without an allocation, and strides that are not kept.
  static const Tensor high = permute(*ones({2, 1, 2, 1, 2, 1, 2, 1}), {2, 0, 4, 6, 1, 3, 5, 7});
  static const Tensor gaps = narrow(*ones({2, 1, 2, 1, 2, 1, 2, 4}), 7, 0, 2);
  static const Tensor whole = to(high, ScalarType::Long, CastMode::Truncate);
  static const Tensor at = *zeros({2, 2, 2, 2, 1, 1, 1, 1}, ScalarType::Long);
  static const Tensor pivots = *ones({3}, ScalarType::Int);
  static const Tensor stack = *ones({2, 1, 1, 2, 1, 1, 3, 3});
  static constexpr int64_t kPad[] = {1, 1};
  static constexpr int64_t kOrder[] = {7, 6, 5, 4, 3, 2, 1, 0};
  const Call calls[] = {
      CALL(aoti_torch_cpu_abs, t(high), made),
      CALL(aoti_torch_cpu_abs, t(gaps), made),
      CALL(aoti_torch_cpu_add_Tensor, t(high), t(whole), 1, made),
      CALL(aoti_torch_cpu_add_Tensor, t(gaps), t(high), 1, made),
      CALL(aoti_torch_cpu_cumsum, t(high), 1, kNone, made),
      CALL(aoti_torch_cpu_sort, t(gaps), 1, 0, made, made + 1),
      CALL(aoti_torch_cpu_pad, t(high), kPad, 2, "constant", nullptr, made),
      CALL(aoti_torch_cpu_permute, t(high), kOrder, 8, made),
      CALL(aoti_torch_cpu_rand_like, t(gaps), kNone, kNone, kNone, 0, kNone, kNone, made),
      CALL(aoti_torch_cpu_native_dropout, t(gaps), 0.5, kNone, made, made + 1),
      CALL(aoti_torch_cpu_triangular_solve, t(stack), t(stack), 1, 0, 0, made, made + 1),
      CALL(aoti_torch_cpu_geqrf, t(stack), made, made + 1),
      CALL(aoti_torch_cpu_cholesky_inverse, t(stack), 1, made),
      CALL(aoti_torch_cpu_lu_unpack, t(square), t(pivots), 1, 1, made, made + 1, made + 2),
      CALL(aoti_torch_cpu__cdist_forward, t(stack), t(stack), 2, nullptr, made),
      CALL(aoti_torch_cpu_scatter_value_out, t(x), t(x), 0, t(place), 7),
      CALL(aoti_torch_cpu_scatter_src_out, t(x), t(*zeros({2, 3})), 0, t(place), t(x)),
      CALL(aoti_torch_cpu_scatter_reduce_two_out, t(x), t(*zeros({2, 3})), 0, t(place), t(x),
           "mean", 0),
      CALL(aoti_torch_cpu_scatter_reduce_two_out, t(high), t(high), 0, t(at), t(high), "sum", 0),
      CALL(aoti_torch__mm_plus_mm_out, t(square), t(square), t(square), t(square), t(square)),
      CALL(aoti_torch_cpu_view_as_real, t(to(high, ScalarType::ComplexFloat)), made),
  };
  for (const Call& call : calls) {
    bool is_hit = true;
    for (int64_t allowed = 0; is_hit; ++allowed) {
      INFO(call.name << ", allocation " << allowed);
      Arguments side(false);
      AtenTensorHandle made[4] = {};
      std::vector<Tensor> before;
      size_t handles = 0;
      const AOTITorchError code = call.run(side, made, [&] {
        for (const AtenTensorHandle handle : side.made())
          before.push_back(*clone(side.read(handle)));
        handles = aoti_handles().owners.size();
        tests::start_counting(allowed + 1);
      });
      is_hit = tests::failures() != 0;
      tests::stop_counting();
      if (code == 0) {
        for (const AtenTensorHandle handle : made) side.drop(handle);
        continue;
      }
      CHECK(is_hit);
      INFO(last_error_message());
      CHECK(aoti_handles().owners.size() == handles);
      for (size_t i = 0; i < before.size(); ++i) {
        CHECK(equal(before[i], side.read(side.made()[i])));
      }
    }
  }
}

}  // namespace aoti_kernels_test
