// SPDX-License-Identifier: MIT
// A program that has libtorch too, which has functions of the same names. Also: the declarations of both, one beside the
// other, so that a function whose parameters changed is not compiled.
#include <ATen/ops/ones.h>
#include <c10/core/Layout.h>
#include <c10/core/MemoryFormat.h>
#include <torch/csrc/inductor/aoti_torch/c/shim.h>

#include "tenon/interop/aoti.h"
#include "tenon/interop/aoti_shim.h"

#include "interop/runtimes/aoti/models.h"

namespace aoti_libtorch_test {

using namespace tenon;
using namespace tests;

TEST_CASE("AotiModule: with libtorch in the process the program's own functions are called") {
  CHECK(at::ones({2}).sum().item<float>() == 2);
  AotiModel model = AotiModel::load(model_path("fake_model")).value();
  give_bias(model);
  AotiModule module(model);
  float memory[] = {static_cast<float>(Does::HandThrough), 1, 2, 3};
  const TensorPtr x = from_blob(memory, {1, 4});
  const std::vector<EValue> outputs = module.forward(*x).value();
  CHECK(outputs[1].toTensor().const_data_ptr() == memory);
  CHECK(at::ones({2}).sum().item<float>() == 2);
}

TEST_CASE("AotiModule: a kernel that only libtorch has is missing") {
  detail::AotiNeeds needs;
  needs.functions = {"aoti_torch_cpu_addmm_out", "aoti_torch_empty_strided"};
  CHECK(::dlsym(RTLD_DEFAULT, "aoti_torch_cpu_addmm_out") != nullptr);
  CHECK(detail::missing_aoti_functions(needs) == Texts{"aoti_torch_cpu_addmm_out"});
}

TEST_CASE("aoti_shim: the numbers are c10's") {
  using namespace tenon::detail;
  CHECK(aoti_torch_device_type_cpu() == static_cast<int32_t>(c10::DeviceType::CPU));
  CHECK(aoti_torch_device_type_cuda() == static_cast<int32_t>(c10::DeviceType::CUDA));
  CHECK(aoti_torch_device_type_meta() == static_cast<int32_t>(c10::DeviceType::Meta));
  CHECK(aoti_torch_device_type_xpu() == static_cast<int32_t>(c10::DeviceType::XPU));
  CHECK(aoti_torch_device_type_mps() == static_cast<int32_t>(c10::DeviceType::MPS));
  CHECK(aoti_torch_device_type_privateuse1() == static_cast<int32_t>(c10::DeviceType::PrivateUse1));
  CHECK(aoti_torch_dtype_float8_e8m0fnu() == static_cast<int32_t>(c10::ScalarType::Float8_e8m0fnu));
  CHECK(aoti_torch_dtype_float4_e2m1fn_x2() ==
        static_cast<int32_t>(c10::ScalarType::Float4_e2m1fn_x2));
  CHECK(aoti_torch_layout_strided() == static_cast<int32_t>(c10::Layout::Strided));
  CHECK(aoti_torch_layout_sparse_coo() == static_cast<int32_t>(c10::Layout::Sparse));
  CHECK(aoti_torch_layout_sparse_csr() == static_cast<int32_t>(c10::Layout::SparseCsr));
  CHECK(aoti_torch_layout_sparse_csc() == static_cast<int32_t>(c10::Layout::SparseCsc));
  CHECK(aoti_torch_layout_sparse_bsr() == static_cast<int32_t>(c10::Layout::SparseBsr));
  CHECK(aoti_torch_layout_sparse_bsc() == static_cast<int32_t>(c10::Layout::SparseBsc));
  CHECK(aoti_torch_layout__mkldnn() == static_cast<int32_t>(c10::Layout::Mkldnn));
  CHECK(aoti_torch_layout_jagged() == static_cast<int32_t>(c10::Layout::Jagged));
  CHECK(aoti_torch_memory_format_contiguous_format() ==
        static_cast<int32_t>(c10::MemoryFormat::Contiguous));
  CHECK(aoti_torch_memory_format_channels_last() ==
        static_cast<int32_t>(c10::MemoryFormat::ChannelsLast));
  CHECK(aoti_torch_memory_format_channels_last_3d() ==
        static_cast<int32_t>(c10::MemoryFormat::ChannelsLast3d));
  CHECK(aoti_torch_memory_format_preserve_format() ==
        static_cast<int32_t>(c10::MemoryFormat::Preserve));
}

}  // namespace aoti_libtorch_test
