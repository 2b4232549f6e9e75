// SPDX-License-Identifier: MIT
#include "tenon/interop/files/torch_types.h"

#include <string>

#include "support/catch.h"

namespace torch_types_test {

using namespace tenon;
using detail::find_torch_global;
using detail::kTorchDtypes;
using detail::TorchGlobal;

TEST_CASE("torch_types: dtypes and storages are found by PyTorch's names") {
  const auto dtype = find_torch_global("torch", "bfloat16");
  CHECK(dtype.global == TorchGlobal::Dtype);
  CHECK(kTorchDtypes[dtype.index].type == own::ScalarType::BFloat16);
  for (const char* const module : {"torch", "torch.cuda", "torch.storage"}) {
    const auto storage = find_torch_global(module, "BFloat16Storage");
    CHECK(storage.global == TorchGlobal::Storage);
    CHECK(storage.index == dtype.index);
  }
  const auto untyped = find_torch_global("torch.storage", "UntypedStorage");
  CHECK(untyped.global == TorchGlobal::Storage);
  CHECK(kTorchDtypes[untyped.index].size == 1);
}

TEST_CASE("torch_types: classes of tensors are known by name, and integers of few bits") {
  for (const char* const module : {"torch", "torch.cuda", "torch.sparse", "torch.cuda.sparse"}) {
    CHECK(find_torch_global(module, "FloatTensor").global == TorchGlobal::Class);
    CHECK(find_torch_global(module, "EvilTensor").global == TorchGlobal::Unknown);
  }
  CHECK(find_torch_global("torch.sparse", "FloatStorage").global == TorchGlobal::Unknown);
  CHECK(find_torch_global("torch.storage", "FloatTensor").global == TorchGlobal::Unknown);
  CHECK(find_torch_global("torch.storage", "TypedStorage").global == TorchGlobal::Class);
  for (const char* const name : {"int1", "int7", "uint1", "uint4"}) {
    const auto found = find_torch_global("torch", name);
    CHECK(found.global == TorchGlobal::Dtype);
    CHECK(kTorchDtypes[found.index].type == own::ScalarType::Undefined);
  }
}

TEST_CASE("torch_types: what is not known is not found") {
  for (const auto& [module, name] :
       {std::pair("os", "system"), std::pair("torch", "load"), std::pair("torch", "Storage"),
        std::pair("torch", "uint8Storage"), std::pair("builtins", "eval"), std::pair("", ""),
        std::pair("torch.hub", "float32"), std::pair("os", "FloatStorage")}) {
    CHECK(find_torch_global(module, name).global == TorchGlobal::Unknown);
  }
  CHECK(find_torch_global("__builtin__", "set").global == TorchGlobal::List);
}

}  // namespace torch_types_test
