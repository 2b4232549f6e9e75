// SPDX-License-Identifier: MIT
#include "tenon/tensor/access.h"

#include "support/catch.h"
#include "tenon/tenon.h"
#include "tensor/helpers.h"

namespace access_test {

using namespace tenon;
using tenon::detail::DataPtr;
using namespace tests;

// A promise of docs/guarantees.md.
TEST_CASE("access: the try_ forms give the elements, or the error by their own names") {
  const TensorPtr t = make_tensor_ptr({2, 3}, {0, 1, 2, 3, 4, 5});
  CHECK(try_data<int32_t>(t)->data() == const_data_ptr(t));
  CHECK((*try_accessor<int32_t, 2>(t))[1][2] == 5);
  CHECK(try_item<int64_t>(make_tensor_ptr(7)).value() == 7);
  CHECK(*try_const_data_ptr(t) == t->const_data_ptr());
  CHECK(*try_mutable_data_ptr(t) == t->const_data_ptr());
  CHECK(*try_const_data_ptr<int32_t>(t) == t->const_data_ptr());
  CHECK(*try_mutable_data_ptr<std::byte>(t) == t->const_data_ptr());
  CHECK(try_as_view(t)->sizes.data() == t->sizes().data());

  FAILS(InvalidType, "try_data: asked for Float, but the tensor's dtype is Int",
        try_data<float>(t));
  FAILS(InvalidState, "try_data: strides {1, 3} of sizes {3, 2} are not contiguous",
        try_data<int32_t>(transpose(t, 0, 1)));
  FAILS(InvalidType, "try_accessor: asked for Long", (try_accessor<int64_t, 2>(t)));
  FAILS(InvalidArgument, "try_accessor: asked for 3 dimensions, the tensor has 2",
        (try_accessor<int32_t, 3>(t)));
  FAILS(InvalidArgument, "try_item: a tensor of sizes {2, 3} has 6 elements, expected 1",
        try_item<int32_t>(t));
  FAILS(InvalidArgument, "try_item: 300 does not fit Byte",
        try_item<uint8_t>(make_tensor_ptr(300)));
  FAILS(InvalidType, "try_const_data_ptr: asked for Double", try_const_data_ptr<double>(t));
  FAILS(InvalidType, "try_mutable_data_ptr: asked for Double", try_mutable_data_ptr<double>(t));

  const int32_t constant[] = {1};
  const TensorPtr readonly = from_blob(constant, {1});
  CHECK(try_data<const int32_t>(readonly).ok());
  FAILS(InvalidState, "try_data: the tensor is read-only", try_data<int32_t>(readonly));
  FAILS(InvalidState, "try_accessor: the tensor is read-only",
        (try_accessor<int32_t, 1>(readonly)));
  FAILS(InvalidState, "try_mutable_data_ptr: the tensor is read-only",
        try_mutable_data_ptr(readonly));
  FAILS(InvalidState, "try_mutable_data_ptr: the tensor is read-only",
        try_mutable_data_ptr<int32_t>(readonly));
  const TensorPtr none;
  FAILS(InvalidState, "try_data: the tensor is undefined", try_data<float>(none));
  FAILS(InvalidState, "try_accessor: the tensor is undefined", (try_accessor<float, 1>(none)));
  FAILS(InvalidState, "try_item: the tensor is undefined", try_item<float>(Tensor()));
  FAILS(InvalidState, "try_const_data_ptr: the tensor is undefined", try_const_data_ptr(none));
  FAILS(InvalidState, "try_const_data_ptr: the tensor is undefined",
        try_const_data_ptr<float>(none));
  FAILS(InvalidState, "try_mutable_data_ptr: the tensor is undefined", try_mutable_data_ptr(none));
  FAILS(InvalidState, "try_as_view: the tensor is undefined", try_as_view(none));
  const TensorPtr placeholder = make_tensor_ptr({2}, nullptr);
  CHECK(*try_const_data_ptr(placeholder) == nullptr);
  FAILS(InvalidState, "try_data: the tensor is a placeholder without data",
        try_data<float>(placeholder));
  FAILS(InvalidState, "try_item: the tensor is a placeholder", try_item<float>(placeholder));
}

// A promise of docs/guarantees.md.
TEST_CASE("set_data: takes pointers to the dtype and raw bytes, in each of its forms") {
  int32_t ints[2] = {};
  double doubles[2] = {};
  uint16_t bits[2] = {};
  unsigned char bytes[8] = {};
  const TensorPtr t = make_tensor_ptr({2}, nullptr, ScalarType::Float);
  const auto refuses = [&t](DataPtr data, const std::string& name) {
    const std::string words =
        "set_data: the data pointer is to " + name +
        ", the tensor's dtype is Float; pass a void* to reinterpret the bytes";
    RETURNS(InvalidType, words, set_data(t, data));
    ATEN_LACKS(RAISES(InvalidType, words, (t->set_data(data), 0));
               RAISES(InvalidType, words, (t->unsafeGetTensorImpl()->set_data(data), 0));)
    CHECK(const_data_ptr(t) == nullptr);
  };
  refuses(ints, "Int");
  refuses(doubles, "Double");
  refuses(bits, "UInt16");
  refuses(static_cast<const int32_t*>(ints), "Int");
  for (const DataPtr data :
       {DataPtr(bytes), DataPtr(reinterpret_cast<char*>(bytes)),
        DataPtr(reinterpret_cast<std::byte*>(bytes)), DataPtr(static_cast<void*>(ints))}) {
    CHECK(set_data(t, data) == Error::Ok);
    CHECK(const_data_ptr(t) == data.get());
    ATEN_LACKS(t->set_data(nullptr); CHECK(const_data_ptr(t) == nullptr); t->set_data(data);
               CHECK(const_data_ptr(t) == data.get()); t->unsafeGetTensorImpl()->set_data(nullptr);
               CHECK(const_data_ptr(t) == nullptr); t->unsafeGetTensorImpl()->set_data(data);
               CHECK(const_data_ptr(t) == data.get());)
  }
  RETURNS(InvalidType, "the data pointer is to Int, the tensor's dtype is Half",
          set_data(zeros({2}, ScalarType::Half), ints));
}

// A promise of docs/guarantees.md.
TEST_CASE(
    "set_data: replaces memory of any ownership alike in each form; the old one is released once") {
  float data[2] = {1, 2};
  const float constants[2] = {3, 4};
  float other[2] = {5, 6};
  using Bind = Error (*)(const TensorPtr&, const DataPtr&);
  const Bind forms[] = {[](const TensorPtr& t, const DataPtr& p) { return set_data(t, p); },
                        ATEN_LACKS(
                            [](const TensorPtr& t, const DataPtr& p) {
                              t->set_data(p);
                              return Error::Ok;
                            },
                            [](const TensorPtr& t, const DataPtr& p) {
                              t->unsafeGetTensorImpl()->set_data(p);
                              return Error::Ok;
                            })};
  for (const Bind bind : forms) {
    Calls calls;
    const TensorPtr whole = full({2}, 7.0f);
    TensorPtr adopted =
        from_blob(data, {2}, ScalarType::Float, calls.deleter(), TensorShapeDynamism::DYNAMIC);
    TensorPtr tensors[] = {full({2}, 7.0f, ScalarType::Float, TensorShapeDynamism::DYNAMIC),
                           make_tensor_ptr(Floats{1, 2}), from_blob(data, {2}),
                           make_tensor_ptr(*whole), std::move(adopted)};
    for (const TensorPtr& t : tensors) {
      CHECK(bind(t, other) == Error::Ok);
      CHECK(values<float>(t) == Floats{5, 6});
      CHECK(ownership(t) == Ownership::Borrowed);
      CHECK_FALSE(is_readonly(t));
      CHECK(resize_tensor(*t, {1000}) != Error::Ok);
      if (!detail::kHasReadOnly) continue;
      CHECK(bind(t, constants) == Error::Ok);
      CHECK(values<float>(t) == Floats{3, 4});
      CHECK(is_readonly(t));
      CHECK(fill_(t, 1) == Error::InvalidState);
      CHECK(bind(t, other) == Error::Ok);
      CHECK(fill_(t, 1) == Error::Ok);
      other[0] = 5, other[1] = 6;
    }
    CHECK(values<float>(whole) == Floats{7, 7});
    for (TensorPtr& t : tensors) t.reset();
    CHECK(calls.count == 1);
    CHECK(calls.argument == data);
  }
  CHECK(constants[0] == 3);
}

// A promise of docs/guarantees.md.
TEST_CASE("access: a pointer's type is the dtype's, its bits' or a byte's") {
  const auto half = make_tensor_ptr({1.0f, -2.0f}, ScalarType::Half);
  const auto brain = make_tensor_ptr({1.0f, -2.0f}, ScalarType::BFloat16);
  const auto small = make_tensor_ptr({1.0f, -2.0f}, ScalarType::Float8_e5m2);
  const auto whole = make_tensor_ptr({1.0f, -2.0f});
  CHECK(const_data_ptr<uint16_t>(half)[0] == 0x3c00);
  CHECK(mutable_data_ptr<uint16_t>(brain)[1] == 0xc000);
  CHECK(data<uint16_t>(brain).size() == 2);
  CHECK((accessor<const uint16_t, 1>(half)[1] == 0xc000));
  CHECK(const_data_ptr<uint8_t>(small)[0] == 0x3c);
  CHECK(const_data_ptr<std::byte>(half) == static_cast<const std::byte*>(const_data_ptr(half)));
  CHECK(mutable_data_ptr<char>(whole) == static_cast<char*>(mutable_data_ptr(whole)));
  const float constant[2] = {1, 2};
  const auto other_types = [&](const auto& t, const char* words) {
    RAISES(InvalidType, words, const_data_ptr<uint8_t>(t));
    RAISES(InvalidType, words, const_data_ptr<int16_t>(t));
    RAISES(InvalidType, words, const_data_ptr<uint32_t>(t));
  };
  other_types(half, "const_data_ptr: asked for");
  other_types(whole, "but the tensor's dtype is Float");
  RAISES(InvalidType, "asked for UInt16", const_data_ptr<uint16_t>(small));
  RAISES(InvalidType, "asked for Half", const_data_ptr<Half>(brain));
  RAISES(InvalidType, "asked for UInt16",
         const_data_ptr<uint16_t>(make_tensor_ptr({1}, ScalarType::Short)));
  CHECK(const_data_ptr<char>(from_blob(constant, {2})) != nullptr);
  RAISES(InvalidState, "mutable_data_ptr: the tensor is read-only",
         mutable_data_ptr<std::byte>(from_blob(constant, {2})));
#if !TENON_ATEN_MODE
  CHECK(half->data_ptr<uint16_t>() == half->mutable_data_ptr<uint16_t>());
  CHECK(half->impl()->data<uint16_t>() == half->const_data_ptr<uint16_t>());
  CHECK(half->impl()->mutable_data<std::byte>() == half->data_ptr<std::byte>());
#endif
  RAISES(NotSupported, "the tensor is on cuda:0",
         const_data_ptr<std::byte>(
             for_blob(mutable_data_ptr(whole), {2}).device("cuda").make_tensor_ptr()));
  RAISES(InvalidState, "undefined", const_data_ptr<char>(TensorPtr()));
}

#if TENON_HAS_FLOAT16
TEST_CASE("access: elements of Half are the compiler's _Float16 too") {
  _Float16 memory[2] = {_Float16(1), _Float16(0.5f)};
  const TensorPtr lent = from_blob(memory, {2});
  CHECK(lent->scalar_type() == ScalarType::Half);
  CHECK(float(data<_Float16>(lent)[1]) == 0.5f);
  CHECK(float(data<Half>(lent)[1]) == 0.5f);
  CHECK(float(accessor<_Float16, 1>(lent)[0]) == 1.0f);
  RAISES(InvalidType, "data: ", data<_Float16>(make_tensor_ptr({1.0f})));
}
#endif

}  // namespace access_test
