// SPDX-License-Identifier: MIT
// Every public name that CHANGELOG.md and the pages promise exists, and means what they say: the
// older names that are still accepted, and the members that other libraries' users know. Names that
// need a partner are in the partner's test.
#include "support/catch.h"
#include "tenon/backend/pmr.h"
#include "tenon/backend/pool.h"
#include "tenon/backend/template.h"
#include "tenon/backend/tracking.h"
#include "tenon/compat/executorch.h"
#include "tenon/interop/npy.h"
#include "tenon/interop/shm.h"
#include "tenon/module/function_module.h"
#include "tenon/tenon.h"
#include "tenon/tensor/expr.h"
#include "tenon/tensor/values.h"
#include "tenon/testing/backend_conformance.h"

namespace promised_names_test {

namespace names {

// Vocabulary.
using tenon::ArrayRef, tenon::BFloat16, tenon::complex, tenon::CppTypeToScalarType, tenon::Device,
    tenon::DeviceType, tenon::DimOrderType, tenon::Dims, tenon::Float8_e4m3fn,
    tenon::Float8_e4m3fnuz, tenon::Float8_e5m2, tenon::Float8_e5m2fnuz, tenon::Half, tenon::Scalar,
    tenon::ScalarType, tenon::ScalarTypeToCppType, tenon::SizesType, tenon::Span,
    tenon::StridesType, tenon::TensorShapeDynamism, tenon::TensorView, tenon::ViewWithLists;
using tenon::canCast, tenon::compute_offset_range, tenon::elementSize, tenon::isComplexType,
    tenon::isFloatingType, tenon::isIntegralType, tenon::OffsetRange, tenon::promoteTypes,
    tenon::toString;
// Errors.
using tenon::check, tenon::Error, tenon::Exception, tenon::FailureHandler,
    tenon::last_error_message, tenon::Result, tenon::set_failure_handler;
// Tensors.
using tenon::clone_tensor_ptr, tenon::clone_tensor_ptr_to, tenon::for_blob, tenon::from_blob,
    tenon::from_bytes, tenon::make_tensor, tenon::make_tensor_impl_ptr, tenon::make_tensor_ptr,
    tenon::tensor_from_blob, tenon::try_clone_tensor_ptr, tenon::try_clone_tensor_ptr_to,
    tenon::try_from_blob, tenon::try_from_bytes, tenon::try_make_tensor, tenon::try_make_tensor_ptr;
using tenon::Deleter, tenon::Ownership, tenon::Tensor, tenon::TensorAccessor, tenon::TensorImpl,
    tenon::TensorImplPtr, tenon::TensorPtr;
// Creators.
using tenon::arange, tenon::empty, tenon::empty_like, tenon::empty_strided, tenon::eye, tenon::full,
    tenon::full_like, tenon::full_strided, tenon::iota, tenon::ones, tenon::ones_like,
    tenon::ones_strided, tenon::scalar_tensor, tenon::zeros, tenon::zeros_like,
    tenon::zeros_strided;
using tenon::default_generator, tenon::Generator, tenon::manual_seed, tenon::normal, tenon::rand,
    tenon::rand_like, tenon::rand_strided, tenon::randint, tenon::randint_like,
    tenon::randint_strided, tenon::randn, tenon::randn_like, tenon::randn_strided, tenon::uniform;
using tenon::dim_names, tenon::make_template;
// Resizing, moving, views.
using tenon::allclose, tenon::equal, tenon::mean_std, tenon::min_max, tenon::Summary,
    tenon::to_vector;
using tenon::as_strided, tenon::expand, tenon::flatten, tenon::flip, tenon::narrow, tenon::permute,
    tenon::reshape, tenon::select, tenon::slice, tenon::squeeze, tenon::transpose, tenon::unsqueeze,
    tenon::view, tenon::view_as_type;
using tenon::assign, tenon::CastMode, tenon::contiguous, tenon::copy_, tenon::copy_to, tenon::fill_,
    tenon::from_binary, tenon::Normalize, tenon::to, tenon::to_binary, tenon::zero_;
using tenon::cat, tenon::cat_out, tenon::chunk, tenon::split, tenon::stack, tenon::stack_out,
    tenon::unbind;
using tenon::FormatOptions, tenon::to_string;
using tenon::reserve_tensor_ptr, tenon::resize_tensor, tenon::resize_tensor_ptr;
using tenon::try_contiguous, tenon::try_permute, tenon::try_reshape, tenon::try_to, tenon::try_view;
// Backends.
using tenon::ArenaBackend, tenon::Backend, tenon::BackendOptions, tenon::BackendScope,
    tenon::CpuBackend, tenon::Deallocation, tenon::DeviceBackend, tenon::ExprBackend,
    tenon::MetaBackend, tenon::PmrBackend, tenon::PoolBackend, tenon::TemplateBackend,
    tenon::TrackingBackend, tenon::WrapperBackend;
using tenon::backend_copy, tenon::backend_deallocate, tenon::backend_for, tenon::backend_transfer,
    tenon::default_backend, tenon::expression, tenon::materialize, tenon::register_backend,
    tenon::to_dot, tenon::unregister_backend;
// Exchange and modules.
using tenon::Blob, tenon::check_dlpack, tenon::DLPackPtr, tenon::from_dlpack, tenon::to_blob,
    tenon::to_dlpack, tenon::to_dlpack_legacy, tenon::to_owned_blob, tenon::try_from_dlpack;
using tenon::EValue, tenon::FunctionModule, tenon::Module, tenon::TensorSpec, tenon::ValueSpec;
using tenon::from_npy, tenon::read_npy, tenon::to_npy, tenon::write_npy;
using tenon::shm_attach, tenon::shm_create;

}  // namespace names

// Before the using-directive.
// A promise of docs/guarantees.md.
TEST_CASE("names: what takes a tensor is found by its argument") {
  const tenon::TensorPtr t = tenon::make_tensor_ptr({1, 2});
  tenon::CpuBackend backend;
  CHECK(equal(clone(t), clone_tensor_ptr(*t)));
  CHECK(equal(backend_copy(t, backend), clone_tensor_ptr_to(t, tenon::Device())));
  CHECK(try_clone_tensor_ptr(t).ok() == try_backend_copy(t, backend).ok());
  CHECK(to_blob(t).data == try_to_blob(*t).value().data);
  CHECK(const_data_ptr(backend_transfer(clone(t), backend)) != nullptr);
}

using namespace tenon;

// A promise of docs/guarantees.md.
TEST_CASE("names: the older ones are still accepted") {
  STATIC_REQUIRE(std::is_same_v<TemplateBackend, MetaBackend>);
  STATIC_REQUIRE(DeviceType::Template == DeviceType::Meta);
  STATIC_REQUIRE(TensorShapeDynamism::DYNAMIC == TensorShapeDynamism::DYNAMIC_UNBOUND);
  CHECK(Device("template") == Device("meta"));
  CHECK(Device("template").to_string() == "meta:0");
  TemplateBackend backend;
  CHECK(std::string(backend.name()) == "meta");
  const TensorPtr t = empty({2, 3}, ScalarType::Half, backend);
  CHECK(t->device() == Device(DeviceType::Template));
}

TEST_CASE("names: to_string names a value of each enumeration, as toString does") {
  const auto names = [](auto value, const std::string& name) {
    CHECK(to_string(value) == name);
    CHECK(toString(value) == name);
  };
  names(Error::InUse, "InUse");
  names(ScalarType::Half, "Half");
  names(DeviceType::CUDA, "cuda");
  names(CastMode::Saturate, "Saturate");
  names(CopyKind::Staged, "staged");
  names(Deallocation::InUse, "InUse");
  names(ValueKind::IntList, "IntList");
  names(ExpressionKind::Iota, "Iota");
  CHECK(EValue("text").toString() == "text");  // its text, not a name
}

TEST_CASE("names: dtype and scalar_type ask a tensor, a view, a blob and a spec") {
  const TensorPtr t = make_tensor_ptr({1, 2});
  const TensorSpec spec{{2}, ScalarType::Int};
  for (const ScalarType type :
       {t->dtype(), t->scalar_type(), t->as_view().dtype(), t->as_view().scalar_type(),
        to_blob(t).dtype, to_blob(t).scalar_type(), to_blob(t).as_view().dtype(),
        to_blob(t).as_view().scalar_type(), spec.dtype(), spec.scalar_type()}) {
    CHECK(type == ScalarType::Int);
  }
}

TEST_CASE("names: a Tensor has ATen's, a TensorImpl ExecuTorch's and c10's") {
  TensorPtr t = make_tensor_ptr({2, 3}, {0, 1, 2, 3, 4, 5});
  CHECK(t->sizes().size() == 2);
  CHECK(t->strides()[0] == 3);
  CHECK(t->dim_order()[0] == 0);
  CHECK(t->size(-1) + t->stride(-1) + t->dim() + t->numel() == 3 + 1 + 2 + 6);
  CHECK(t->nbytes() == 24);
  CHECK(t->element_size() == 4);
  CHECK(t->scalar_type() == t->dtype());
  CHECK(t->device().is_cpu());
  CHECK(t->shape_dynamism() == TensorShapeDynamism::DYNAMIC_BOUND);
  CHECK((t->is_contiguous() && !t->is_readonly() && t->defined() && t->is_aligned(4)));
  CHECK(t->const_data_ptr() == t->mutable_data_ptr());
  CHECK(t->const_data_ptr<int32_t>()[5] == 5);
  CHECK(t->mutable_data_ptr<int32_t>() == t->data_ptr<int32_t>());
  CHECK(t->accessor<int32_t, 2>()[1][2] == 5);
  CHECK(t->data<int32_t>().size() == 6);
  CHECK(make_tensor_ptr(7)->item<int32_t>() == 7);
  CHECK(t->impl().get() == t->unsafeGetTensorImpl());
  CHECK(t->use_count() >= 1);
  CHECK(t->is_alias_of(view(*t, {6})));
  CHECK(t->ownership() == Ownership::Owned);
  TensorImpl& impl = *t->unsafeGetTensorImpl();
  CHECK(impl.dim() + impl.numel() + impl.size(0) == 2 + 6 + 2);
  CHECK(impl.nbytes() == 24);
  CHECK(impl.sizes().size() + impl.strides().size() + impl.dim_order().size() == 6);
  CHECK(impl.scalar_type() == ScalarType::Int);
  CHECK((impl.element_size() == 4 && impl.device().is_cpu()));
  CHECK(impl.shape_dynamism() == TensorShapeDynamism::DYNAMIC_BOUND);
  CHECK(impl.data() == impl.mutable_data());
  CHECK(impl.data<int32_t>() == impl.mutable_data<int32_t>());
  float memory[2] = {1, 2};
  const TensorPtr placeholder = make_tensor_ptr({2}, nullptr);
  placeholder->unsafeGetTensorImpl()->set_data(memory);
  CHECK(placeholder->const_data_ptr() == memory);
}

TEST_CASE("names: members of backends, blobs, results and specs") {
  alignas(64) unsigned char buffer[1024];
  ArenaBackend arena(buffer, sizeof buffer);
  CHECK(arena.used() + arena.high_water() == 0);
  CHECK(arena.reset() == Error::Ok);
  CpuBackend cpu;
  PoolBackend pool(cpu);
  CHECK(pool.cached_bytes() == 0);
  pool.trim();
  TrackingBackend tracker(cpu);
  CHECK(tracker.live_bytes() + tracker.peak_bytes() == 0);
  CHECK(tracker.live_count() + tracker.total_count() == 0);
  CHECK(tracker.leaks().empty());
  CHECK(tracker.summary().size() != 0);
  const Blob blob = to_blob(ones({2}));
  CHECK(blob.nbytes() == 8);
  CHECK(blob.byte_strides()[0] == 4);
  const Result<Tensor> made = try_make_tensor({1, 2});
  CHECK((made.ok() && made && made.error() == Error::Ok && made.value().numel() == 2));
  CHECK(std::string(toString(Error::InUse)) == "InUse");
  CHECK(EValue(3).isInt());
  CHECK(EValue("text").toString() == "text");
  Generator generator(7);
  CHECK(generator.seed() == 7);
  CHECK(generator.offset() == 0);
}

TEST_CASE("names: compat/executorch.h has those of every namespace of ExecuTorch's") {
  namespace et = ::executorch;
  const et::extension::TensorPtr t = et::extension::make_tensor_ptr({1.0f, 2.0f});
  const exec_aten::Tensor& tensor = *t;
  CHECK(tensor.scalar_type() == torch::executor::ScalarType::Float);
  CHECK(et::runtime::Error::Ok == torch::executor::Error::Ok);
  CHECK(et::runtime::etensor::DeviceType::CPU == et::aten::Device().type());
  CHECK(et::extension::clone_tensor_ptr_to(t, "cpu")->numel() == 2);
}

}  // namespace promised_names_test
