// SPDX-License-Identifier: MIT
// The Python names that may occur in a file of torch.save: PyTorch's dtypes and storages, and the
// functions that make tensors and containers. A file with any other name is refused. The reader
// calls no Python function: it makes the tensors and containers itself.
#pragma once

#include <cstdint>
#include <string_view>

#include "tenon/core/scalar_type.h"
#include "tenon/exchange/packed_type.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// A dtype of PyTorch.
struct TorchDtype {
  const char* name;      // such as "float32"
  const char* storage;   // its storage class without "Storage"; empty if there is none
  own::ScalarType type;  // Undefined if tenon has no such type
  uint8_t size;          // of an element, in bytes
  PackedType packed = PackedType::Undefined;
};
/// The first row is for UntypedStorage. The last rows are types that tenon lacks: get() returns
/// their bytes.
inline constexpr TorchDtype kTorchDtypes[] = {
    {"uint8", "Untyped", own::ScalarType::Byte, 1},
    {"float32", "Float", own::ScalarType::Float, 4},
    {"float64", "Double", own::ScalarType::Double, 8},
    {"float16", "Half", own::ScalarType::Half, 2},
    {"bfloat16", "BFloat16", own::ScalarType::BFloat16, 2},
    {"int64", "Long", own::ScalarType::Long, 8},
    {"int32", "Int", own::ScalarType::Int, 4},
    {"int16", "Short", own::ScalarType::Short, 2},
    {"int8", "Char", own::ScalarType::Char, 1},
    {"uint8", "Byte", own::ScalarType::Byte, 1},
    {"bool", "Bool", own::ScalarType::Bool, 1},
    {"complex64", "ComplexFloat", own::ScalarType::ComplexFloat, 8},
    {"complex128", "ComplexDouble", own::ScalarType::ComplexDouble, 16},
    {"qint8", "QInt8", own::ScalarType::Undefined, 1},
    {"quint8", "QUInt8", own::ScalarType::Undefined, 1},
    {"qint32", "QInt32", own::ScalarType::Undefined, 4},
    {"quint4x2", "QUInt4x2", own::ScalarType::Undefined, 1},
    {"quint2x4", "QUInt2x4", own::ScalarType::Undefined, 1},
    {"complex32", "", own::ScalarType::ComplexHalf, 4},
    {"bcomplex32", "", own::ScalarType::Undefined, 4},
    {"uint16", "", own::ScalarType::UInt16, 2},
    {"uint32", "", own::ScalarType::UInt32, 4},
    {"uint64", "", own::ScalarType::UInt64, 8},
    {"float8_e5m2", "", own::ScalarType::Float8_e5m2, 1},
    {"float8_e4m3fn", "", own::ScalarType::Float8_e4m3fn, 1},
    {"float8_e5m2fnuz", "", own::ScalarType::Float8_e5m2fnuz, 1},
    {"float8_e4m3fnuz", "", own::ScalarType::Float8_e4m3fnuz, 1},
    {"int1", "", own::ScalarType::Undefined, 1},
    {"int2", "", own::ScalarType::Undefined, 1},
    {"int3", "", own::ScalarType::Undefined, 1},
    {"int4", "", own::ScalarType::Undefined, 1},
    {"int5", "", own::ScalarType::Undefined, 1},
    {"int6", "", own::ScalarType::Undefined, 1},
    {"int7", "", own::ScalarType::Undefined, 1},
    {"uint1", "", own::ScalarType::Undefined, 1},
    {"uint2", "", own::ScalarType::Undefined, 1},
    {"uint3", "", own::ScalarType::Undefined, 1},
    {"uint4", "", own::ScalarType::Undefined, 1},
    {"uint5", "", own::ScalarType::Undefined, 1},
    {"uint6", "", own::ScalarType::Undefined, 1},
    {"uint7", "", own::ScalarType::Undefined, 1},
    {"bits16", "", own::ScalarType::Undefined, 2},
    {"bits1x8", "", own::ScalarType::Undefined, 1},
    {"bits2x4", "", own::ScalarType::Undefined, 1},
    {"bits4x2", "", own::ScalarType::Undefined, 1},
    {"bits8", "", own::ScalarType::Byte, 1},
    {"float8_e8m0fnu", "", own::ScalarType::Byte, 1, PackedType::Float8_e8m0fnu},
    {"float4_e2m1fn_x2", "", own::ScalarType::Byte, 1, PackedType::Float4_e2m1fn},
};

/// What the reader does with a global.
enum class TorchGlobal : uint8_t {
  Unknown,
  Dtype,        // `index` is in kTorchDtypes
  Storage,      // its dtype is at `index` of kTorchDtypes
  Class,        // not called: only an argument of a call
  Dict,         // makes a dict: empty, or of its argument
  DefaultDict,  // makes an empty dict; the argument, the factory of missing entries, is ignored
  Namespace,    // makes an argparse.Namespace, stored as a dict
  List,         // makes a list from a list, a tuple or a set
  Bytes,        // makes bytes from bytes, or from a text and an encoding
  ComplexNumber,
  Device,
  Layout,
  Tensor,  // this and the following make tensors: the functions _rebuild_…
  TensorV3,
  Parameter,
  Subclass,
  CpuTensor,
  Quantized,
  Sparse,
  Nested,
  Meta,
  Wrapper,
};

struct TorchGlobalName {
  const char* module;
  const char* name;
  TorchGlobal global;
};
inline constexpr TorchGlobalName kTorchGlobals[] = {
    {"collections", "OrderedDict", TorchGlobal::Dict},
    {"collections", "Counter", TorchGlobal::Dict},
    {"collections", "defaultdict", TorchGlobal::DefaultDict},
    {"argparse", "Namespace", TorchGlobal::Namespace},
    {"_codecs", "encode", TorchGlobal::Bytes},
    {"builtins", "bytearray", TorchGlobal::Bytes},
    {"builtins", "complex", TorchGlobal::ComplexNumber},
    {"builtins", "set", TorchGlobal::List},
    {"builtins", "frozenset", TorchGlobal::List},
    {"builtins", "list", TorchGlobal::List},
    {"builtins", "tuple", TorchGlobal::List},
    {"builtins", "dict", TorchGlobal::Dict},
    {"builtins", "int", TorchGlobal::Class},
    {"builtins", "float", TorchGlobal::Class},
    {"builtins", "bool", TorchGlobal::Class},
    {"builtins", "str", TorchGlobal::Class},
    {"torch", "Size", TorchGlobal::List},
    {"torch", "Tensor", TorchGlobal::Class},
    {"torch", "device", TorchGlobal::Device},
    {"torch", "per_tensor_affine", TorchGlobal::Class},
    {"torch", "per_tensor_symmetric", TorchGlobal::Class},
    {"torch", "per_channel_affine", TorchGlobal::Class},
    {"torch", "per_channel_symmetric", TorchGlobal::Class},
    {"torch", "per_channel_affine_float_qparams", TorchGlobal::Class},
    {"torch.storage", "TypedStorage", TorchGlobal::Class},
    {"torch.nn.parameter", "Parameter", TorchGlobal::Class},
    {"torch.nn.parameter", "Buffer", TorchGlobal::Class},
    {"torch.serialization", "_get_layout", TorchGlobal::Layout},
    {"torch._utils", "_rebuild_tensor", TorchGlobal::Tensor},
    {"torch._utils", "_rebuild_tensor_v2", TorchGlobal::Tensor},
    {"torch._utils", "_rebuild_tensor_v3", TorchGlobal::TensorV3},
    {"torch._utils", "_rebuild_parameter", TorchGlobal::Parameter},
    {"torch._utils", "_rebuild_parameter_with_state", TorchGlobal::Parameter},
    {"torch._utils", "_rebuild_device_tensor_from_cpu_tensor", TorchGlobal::CpuTensor},
    {"torch._utils", "_rebuild_qtensor", TorchGlobal::Quantized},
    {"torch._utils", "_rebuild_sparse_tensor", TorchGlobal::Sparse},
    {"torch._utils", "_rebuild_nested_tensor", TorchGlobal::Nested},
    {"torch._utils", "_rebuild_meta_tensor_no_storage", TorchGlobal::Meta},
    {"torch._utils", "_rebuild_wrapper_subclass", TorchGlobal::Wrapper},
    {"torch._tensor", "_rebuild_from_type_v2", TorchGlobal::Subclass},
};

struct TorchFound {
  TorchGlobal global = TorchGlobal::Unknown;
  uint8_t index = 0;
};
/// Finds a global. Protocol 2 calls `builtins` `__builtin__`.
inline TorchFound find_torch_global(std::string_view module, std::string_view name) noexcept {
  if (module == "__builtin__") module = "builtins";
  for (const TorchGlobalName& known : kTorchGlobals) {
    if (name == known.name && module == known.module) return {known.global, 0};
  }
  const auto take_end = [&](std::string_view end) {
    const bool has_end = name.size() > end.size() && name.substr(name.size() - end.size()) == end;
    if (has_end) name.remove_suffix(end.size());
    return has_end;
  };
  const bool is_cpu = module == "torch";
  const bool is_cuda = module == "torch.cuda";
  const bool is_sparse = module == "torch.sparse" || module == "torch.cuda.sparse";
  const bool is_storage = (is_cpu || is_cuda || module == "torch.storage") && take_end("Storage");
  // torch.FloatTensor, torch.cuda.sparse.FloatTensor
  const bool is_class = (is_cpu || is_cuda || is_sparse) && take_end("Tensor");
  if (!is_storage && !is_class && !is_cpu) return {};
  for (const TorchDtype& dtype : kTorchDtypes) {
    const auto index = static_cast<uint8_t>(&dtype - kTorchDtypes);
    if (name.empty() || name != (is_storage || is_class ? dtype.storage : dtype.name)) continue;
    if (is_class) return {TorchGlobal::Class, 0};
    return {is_storage ? TorchGlobal::Storage : TorchGlobal::Dtype, index};
  }
  return {};
}

}  // namespace detail
TENON_END_NAMESPACE
