// SPDX-License-Identifier: MIT
// The C++20 module tenon: what these headers declare in namespace tenon, outside of detail.
//
// Using-declarations, as in the module files of the standard libraries and of nlohmann/json: the
// headers stay as they are, and what they declare is the same to importing and including files.
// Macros cannot be exported.
// The test cxx_module.names compares the lists with the headers, in their order.
module;

#include <tenon/backend/pmr.h>
#include <tenon/backend/pool.h>
#include <tenon/backend/strided_copy.h>
#include <tenon/backend/tracking.h>
#include <tenon/exchange/dlpack_packed.h>
#include <tenon/module/function_module.h>
#include <tenon/module/runtimes.h>
#include <tenon/ostream.h>
#include <tenon/tenon.h>
#include <tenon/tensor/expr.h>
#include <tenon/tensor/values.h>

export module tenon;

export namespace tenon::dlpack {

// exchange/dlpack_types.h
using tenon::dlpack::DLPackVersion, tenon::dlpack::kDLPackVersion, tenon::dlpack::DLDevice,
    tenon::dlpack::DLDataType, tenon::dlpack::DLDataTypeCode, tenon::dlpack::kDLInt,
    tenon::dlpack::kDLUInt, tenon::dlpack::kDLFloat, tenon::dlpack::kDLBfloat,
    tenon::dlpack::kDLComplex, tenon::dlpack::kDLBool, tenon::dlpack::kDLFloat8_e4m3fn,
    tenon::dlpack::kDLFloat8_e4m3fnuz, tenon::dlpack::kDLFloat8_e5m2,
    tenon::dlpack::kDLFloat8_e5m2fnuz, tenon::dlpack::kDLFloat8_e8m0fnu,
    tenon::dlpack::kDLFloat6_e2m3fn, tenon::dlpack::kDLFloat6_e3m2fn,
    tenon::dlpack::kDLFloat4_e2m1fn, tenon::dlpack::DLTensor, tenon::dlpack::DLManagedTensor,
    tenon::dlpack::kDLPackReadOnly, tenon::dlpack::kDLPackIsCopied,
    tenon::dlpack::kDLPackIsSubbyteTypePadded, tenon::dlpack::DLManagedTensorVersioned,
    tenon::dlpack::DLPackExchangeAPIHeader, tenon::dlpack::DLPackExchangeAPI;

}  // namespace tenon::dlpack

export namespace tenon {

// core/array_ref.h
using tenon::Span, tenon::ArrayRef;
// core/device.h
using tenon::DeviceType, tenon::toString, tenon::Device;
// core/dims.h
using tenon::SizesType, tenon::StridesType, tenon::DimOrderType, tenon::kMaxDims, tenon::Dims,
    tenon::Strides, tenon::DimOrder;
// core/error.h
using tenon::Error, tenon::toString, tenon::to_string, tenon::FailureHandler;
#if TENON_HAS_EXCEPTIONS
using tenon::Exception;
#endif
using tenon::last_error_message, tenon::set_error, tenon::check, tenon::set_failure_handler;
// core/generator.h
using tenon::Generator, tenon::default_generator, tenon::manual_seed;
// core/numbers.h
using tenon::Half, tenon::BFloat16, tenon::Float8_e5m2, tenon::Float8_e4m3fn,
    tenon::Float8_e5m2fnuz, tenon::Float8_e4m3fnuz, tenon::complex;
// core/result.h
using tenon::None, tenon::none, tenon::OptionalIndex, tenon::Result;
// core/scalar.h
using tenon::Scalar;
// core/scalar_type.h
using tenon::ScalarType, tenon::ScalarTypeToCppType, tenon::CppTypeToScalarType, tenon::kByte,
    tenon::kChar, tenon::kShort, tenon::kInt, tenon::kLong, tenon::kHalf, tenon::kFloat,
    tenon::kDouble, tenon::kComplexHalf, tenon::kComplexFloat, tenon::kComplexDouble, tenon::kBool,
    tenon::kBFloat16, tenon::kFloat8_e5m2, tenon::kFloat8_e4m3fn, tenon::kFloat8_e5m2fnuz,
    tenon::kFloat8_e4m3fnuz, tenon::kUInt16, tenon::kUInt32, tenon::kUInt64, tenon::visit,
    tenon::elementSize, tenon::isValidType, tenon::toString, tenon::isIntegralType,
    tenon::isFloatingType, tenon::isComplexType, tenon::canCast, tenon::promoteTypes;
// core/strides.h
using tenon::OffsetRange, tenon::compute_numel, tenon::compute_nbytes, tenon::compute_offset_range,
    tenon::dim_order_from_strides, tenon::is_dense, tenon::is_contiguous, tenon::may_overlap;
// core/tensor_view.h
using tenon::TensorView, tenon::ViewWithLists;
// kernels/cast.h
using tenon::CastMode, tenon::toString;
// kernels/element_plan.h
using tenon::CopyKind, tenon::toString, tenon::kMaxLongDims;
// kernels/normalize.h
using tenon::Normalize;
// backend/arena.h
using tenon::ArenaBackend;
// backend/backend.h
using tenon::HostMemoryBackend, tenon::WrapperBackend;
// backend/cpu.h
using tenon::CpuBackend, tenon::host_backend;
// backend/interface.h
using tenon::BackendOption, tenon::BackendOptions, tenon::MadeTensor, tenon::Backend,
    tenon::DeviceBackend;
// backend/pmr.h
using tenon::PmrBackend;
// backend/pool.h
using tenon::PoolStatistics, tenon::PoolBackend;
// backend/registry.h
using tenon::register_backend, tenon::try_register_backend, tenon::unregister_backend,
    tenon::try_unregister_backend, tenon::backend_for, tenon::try_backend_for,
    tenon::default_backend, tenon::BackendScope;
// backend/strided_copy.h
using tenon::StridedCopy, tenon::strided_copy;
// backend/template.h
using tenon::MetaBackend, tenon::TemplateBackend;
// backend/tracking.h
using tenon::TrackingBackend, tenon::TrackingScope, tenon::NoAllocationScope;
// backend/tracking_report.h
using tenon::MemoryLeak, tenon::TagCounts;
// tensor/access.h
using tenon::shape_dynamism, tenon::ownership, tenon::is_readonly, tenon::dim_order, tenon::device,
    tenon::as_view, tenon::try_as_view, tenon::is_aligned, tenon::const_data_ptr,
    tenon::try_const_data_ptr, tenon::mutable_data_ptr, tenon::try_mutable_data_ptr, tenon::data,
    tenon::try_data, tenon::accessor, tenon::try_accessor, tenon::item, tenon::try_item,
    tenon::set_data;
// tensor/accessor.h
using tenon::TensorAccessor, tenon::accessor, tenon::try_accessor;
// tensor/cat.h
using tenon::TensorArgs, tenon::cat, tenon::try_cat, tenon::stack, tenon::try_stack, tenon::cat_out,
    tenon::stack_out;
// tensor/clone.h
using tenon::clone_tensor_ptr, tenon::try_clone_tensor_ptr, tenon::clone, tenon::try_clone,
    tenon::Deallocation, tenon::toString, tenon::backend_of, tenon::try_backend_of,
    tenon::backend_copy, tenon::try_backend_copy, tenon::clone_tensor_ptr_to,
    tenon::try_clone_tensor_ptr_to, tenon::backend_transfer, tenon::try_backend_transfer,
    tenon::backend_deallocate, tenon::try_backend_deallocate, tenon::synchronize;
// tensor/contiguous.h
using tenon::contiguous, tenon::try_contiguous, tenon::to, tenon::try_to, tenon::reshape,
    tenon::try_reshape, tenon::flatten, tenon::try_flatten;
// tensor/copy.h
using tenon::CopyPolicy, tenon::copy_, tenon::fill_, tenon::zero_;
// tensor/copy_plan.h
using tenon::CopyPlan, tenon::plan_copy, tenon::try_plan_copy, tenon::to_string;
// tensor/creators.h
using tenon::empty, tenon::try_empty, tenon::empty_strided, tenon::try_empty_strided,
    tenon::empty_like, tenon::try_empty_like, tenon::full, tenon::try_full, tenon::full_strided,
    tenon::try_full_strided, tenon::full_like, tenon::try_full_like, tenon::zeros, tenon::try_zeros,
    tenon::zeros_strided, tenon::try_zeros_strided, tenon::zeros_like, tenon::try_zeros_like,
    tenon::ones, tenon::try_ones, tenon::ones_strided, tenon::try_ones_strided, tenon::ones_like,
    tenon::try_ones_like, tenon::scalar_tensor, tenon::try_scalar_tensor;
// tensor/deleter.h
using tenon::Deleter;
// tensor/dim_names.h
using tenon::make_template, tenon::try_make_template, tenon::dim_names;
// tensor/expr.h
using tenon::ExpressionKind, tenon::toString, tenon::Expression, tenon::ExpressionPtr,
    tenon::to_string, tenon::ExprBackend, tenon::expression, tenon::try_expression,
    tenon::materialize, tenon::try_materialize, tenon::to_dot;
// tensor/fields.h
using tenon::TensorShapeDynamism, tenon::Ownership;
// tensor/format.h
using tenon::FormatOptions, tenon::to_string, tenon::operator<<;
// tensor/index.h
using tenon::IndicesArg, tenon::index_select, tenon::try_index_select, tenon::index_select_out,
    tenon::index_copy_;
// tensor/nonzero.h
using tenon::nonzero, tenon::try_nonzero;
// tensor/random.h
using tenon::rand, tenon::try_rand, tenon::rand_like, tenon::try_rand_like, tenon::rand_strided,
    tenon::try_rand_strided, tenon::randn, tenon::try_randn, tenon::randn_like,
    tenon::try_randn_like, tenon::randn_strided, tenon::try_randn_strided, tenon::randint,
    tenon::try_randint, tenon::randint_like, tenon::try_randint_like, tenon::randint_strided,
    tenon::try_randint_strided, tenon::uniform, tenon::try_uniform, tenon::uniform_like,
    tenon::try_uniform_like, tenon::uniform_strided, tenon::try_uniform_strided, tenon::normal,
    tenon::try_normal, tenon::normal_like, tenon::try_normal_like, tenon::normal_strided,
    tenon::try_normal_strided, tenon::uniform_, tenon::normal_, tenon::random_;
// tensor/resize.h
using tenon::resize_tensor, tenon::resize_tensor_ptr, tenon::reserve_nbytes, tenon::reserve_tensor,
    tenon::reserve_tensor_ptr;
// tensor/sequence.h
using tenon::arange, tenon::iota, tenon::eye, tenon::try_arange, tenon::try_iota, tenon::try_eye;
// tensor/tensor.h
using tenon::operator<<, tenon::Tensor, tenon::TensorPtr, tenon::TensorArg, tenon::ConstTensorArg;
// tensor/tensor_impl.h
using tenon::TensorImplPtr, tenon::TensorMetadata, tenon::TensorImpl;
// tensor/tensor_ptr.h
using tenon::make_tensor_ptr, tenon::make_tensor_impl_ptr, tenon::make_tensor,
    tenon::try_make_tensor_ptr, tenon::try_make_tensor_impl_ptr, tenon::try_make_tensor,
    tenon::share, tenon::try_share, tenon::from_bytes, tenon::try_from_bytes;
// tensor/tensor_ptr_maker.h
using tenon::TensorPtrMaker, tenon::for_blob, tenon::from_blob, tenon::try_from_blob,
    tenon::tensor_from_blob, tenon::try_tensor_from_blob;
// tensor/values.h
using tenon::equal, tenon::try_equal, tenon::allclose, tenon::try_allclose, tenon::MinMax,
    tenon::MeanStd, tenon::Summary, tenon::min_max, tenon::try_min_max, tenon::mean_std,
    tenon::try_mean_std, tenon::to_vector, tenon::try_to_vector;
// tensor/view.h
using tenon::view, tenon::try_view, tenon::select, tenon::try_select, tenon::slice,
    tenon::try_slice, tenon::narrow, tenon::try_narrow, tenon::transpose, tenon::try_transpose,
    tenon::permute, tenon::try_permute, tenon::movedim, tenon::try_movedim, tenon::diagonal,
    tenon::try_diagonal, tenon::squeeze, tenon::try_squeeze, tenon::unsqueeze, tenon::try_unsqueeze,
    tenon::expand, tenon::try_expand, tenon::flip, tenon::try_flip, tenon::as_strided,
    tenon::try_as_strided, tenon::view_as_type, tenon::try_view_as_type, tenon::split,
    tenon::try_split, tenon::chunk, tenon::try_chunk, tenon::unbind, tenon::try_unbind;
// exchange/assign.h
using tenon::assign, tenon::can_assign, tenon::copy_to;
// exchange/binary.h
using tenon::kAllElements, tenon::to_binary, tenon::try_to_binary, tenon::from_binary,
    tenon::try_from_binary;
// exchange/blob.h
using tenon::Blob, tenon::to_blob, tenon::try_to_blob, tenon::to_owned_blob,
    tenon::try_to_owned_blob, tenon::accessor, tenon::try_accessor, tenon::try_as_view;
// exchange/dlpack_export.h
using tenon::LegacyReadOnly, tenon::to_dlpack, tenon::try_to_dlpack, tenon::to_dlpack_legacy,
    tenon::try_to_dlpack_legacy;
// exchange/dlpack_import.h
using tenon::from_dlpack, tenon::try_from_dlpack;
// exchange/dlpack_packed.h
using tenon::PackedTensor, tenon::from_dlpack_packed, tenon::try_from_dlpack_packed,
    tenon::to_dlpack_packed, tenon::try_to_dlpack_packed;
// exchange/packed.h
using tenon::unpack, tenon::try_unpack;
// exchange/packed_type.h
using tenon::PackedType, tenon::toString, tenon::packed_bits;
// exchange/dlpack_types.h
using tenon::DLPackDeleter, tenon::DLPackPtr, tenon::DLPackLegacyPtr, tenon::DLPackViolation,
    tenon::check_dlpack;
// module/evalue.h
using tenon::EValue;
// module/function_module.h
using tenon::FunctionModule;
// module/module.h
using tenon::Module;
// module/outputs.h
using tenon::Outputs;
// module/runtimes.h
using tenon::ModelFile, tenon::ModuleMaker, tenon::register_runtime, tenon::open_module;
// module/tensor_spec.h
using tenon::EValues, tenon::TensorSpec, tenon::ValueSpec, tenon::ValueSpecs, tenon::MethodMeta;
// module/value_kind.h
using tenon::ValueKind, tenon::toString;
// ostream.h
using tenon::operator<<;

}  // namespace tenon
