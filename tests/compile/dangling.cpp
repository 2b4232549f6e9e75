// SPDX-License-Identifier: MIT
// Code that refers to a temporary, in the form of cases.cpp: Clang warns of it by
// TENON_LIFETIMEBOUND. GOOD is what to write instead, and what else must not be warned of.
#include <string>
#include <vector>

#include <tenon/module/module.h>
#include <tenon/tenon.h>

#if defined(CONTROL)
#define BAD(...)
#define GOOD(...) __VA_ARGS__
#else
#define BAD(...) __VA_ARGS__
#define GOOD(...)
#endif

using namespace tenon;

int64_t sum;
Tensor make();
TensorPtr make_ptr();
Result<Tensor> try_make();
EValue make_value();
std::vector<float> make_floats();
void take(ArrayRef<int64_t>);
void take_dims(const Dims&);

// Sizes are the tensor's.
// sizes_in_a_loop: temporary implicitly bound to local reference will be destroyed.*-Wdangling
#if defined(sizes_in_a_loop)
GOOD(void f() {
  const Tensor t = make();
  for (int64_t size : t.sizes()) sum += size;
  for (int64_t size : Dims(make().sizes())) sum += size;
})
BAD(void f() {
  for (int64_t size : make().sizes()) sum += size;
})
#endif

// strides_kept: temporary whose address is used as value of local variable 'strides'.*-Wdangling
#if defined(strides_kept)
GOOD(int64_t f() {
  const Dims strides = make().strides();
  return strides[0] + make().strides()[0];
})
BAD(int64_t f() {
  const auto strides = make().strides();
  return strides[0];
})
#endif

// dim_order_returned: returning address of local temporary object|address of stack memory.*-Wreturn-stack-address
#if defined(dim_order_returned)
GOOD(DimOrder f() { return dim_order(make()); })
BAD(ArrayRef<DimOrderType> f() { return make().dim_order(); })
#endif

// An accessor refers to the tensor's memory,
// accessor_of_a_temporary: temporary whose address is used as value of local variable 'a'.*-Wdangling
#if defined(accessor_of_a_temporary)
GOOD(float f() {
  const auto t = make_tensor({1.0f, 2.0f});
  const auto a = t.accessor<float, 1>();
  return a[0] + make_tensor({1.0f, 2.0f}).accessor<float, 1>()[1];
})
BAD(float f() {
  const auto a = make_tensor({1.0f, 2.0f}).accessor<float, 1>();
  return a[0];
})
#endif

// that of a function too,
// accessor_function: temporary whose address is used as value of local variable 'a'.*-Wdangling
#if defined(accessor_function)
GOOD(float f(const Tensor& t, const TensorPtr& p) {
  const auto a = accessor<float, 1>(t);
  const auto b = accessor<const float, 1>(p);
  return a[0] + b[0] + accessor<float, 1>(make())[0];
})
BAD(float f() {
  const auto a = accessor<float, 1>(make());
  return a[0];
})
#endif

// of a TensorPtr,
// accessor_function_of_a_ptr: temporary whose address is used as value of local variable 'a'.*-Wdangling
#if defined(accessor_function_of_a_ptr)
GOOD(float f(TensorPtr t) { return accessor<float, 1>(t)[0]; })
BAD(float f() {
  const auto a = accessor<float, 1>(zeros({2}));
  return a[0];
})
#endif

// and of a view, which has a name then.
// accessor_of_a_view: temporary whose address is used as value of local variable 'a'.*-Wdangling
#if defined(accessor_of_a_view)
GOOD(float f(const Tensor& t) {
  const auto row = view(t, {6});
  const auto a = row.accessor<float, 1>();
  return a[0] + view(t, {6}).accessor<float, 1>()[0];
})
BAD(float f(const Tensor& t) {
  const auto a = view(t, {6}).accessor<float, 1>();
  return a[0];
})
#endif

// An accessor's sizes are its own.
// sizes_of_an_accessor: temporary whose address is used as value of local variable 'sizes'.*-Wdangling
#if defined(sizes_of_an_accessor)
GOOD(int64_t f(const Tensor& t) { return t.accessor<float, 1>().sizes()[0]; })
BAD(int64_t f(const Tensor& t) {
  const auto sizes = t.accessor<float, 1>().sizes();
  return sizes[0];
})
#endif

// Elements are the tensor's.
// data_in_a_loop: temporary implicitly bound to local reference will be destroyed.*-Wdangling
#if defined(data_in_a_loop)
GOOD(void f(const Tensor& t) {
  for (float element : t.data<float>()) sum += static_cast<int64_t>(element);
})
BAD(void f() {
  for (float element : make().data<float>()) sum += static_cast<int64_t>(element);
})
#endif

// data_function: temporary whose address is used as value of local variable 'elements'.*-Wdangling
#if defined(data_function)
GOOD(float f(const TensorPtr& t) {
  const auto elements = data<float>(t);
  const Span<const float> constant = t->data<float>();
  return elements[0] + constant[1] + data<float>(zeros({2}))[0];
})
BAD(float f() {
  const auto elements = data<float>(zeros({2}));
  return elements[0];
})
#endif

// pointer_kept: temporary whose address is used as value of local variable 'data'.*-Wdangling
#if defined(pointer_kept)
GOOD(float f(const Tensor& t) {
  const float* const data = t.const_data_ptr<float>();
  return data[0] + *make().const_data_ptr<float>();
})
BAD(float f() {
  const float* const data = make().const_data_ptr<float>();
  return data[0];
})
#endif

// pointer_function: temporary whose address is used as value of local variable 'data'.*-Wdangling
#if defined(pointer_function)
GOOD(float f(const Tensor& t) {
  float* const data = mutable_data_ptr<float>(t);
  return data[0] + *const_data_ptr<float>(make());
})
BAD(float f() {
  float* const data = mutable_data_ptr<float>(make());
  return data[0];
})
#endif

// view_of_a_temporary: temporary whose address is used as value of local variable 'memory'.*-Wdangling
#if defined(view_of_a_temporary)
GOOD(void* f(const Tensor& t) {
  const TensorView memory = as_view(t);
  return memory.data;
})
BAD(void* f() {
  const TensorView memory = as_view(zeros({2}));
  return memory.data;
})
#endif

// impl_of_a_temporary: temporary bound to local reference 'impl' will be destroyed.*-Wdangling
#if defined(impl_of_a_temporary)
GOOD(bool f() {
  const TensorImplPtr impl = make().impl();
  return impl->has_data();
})
BAD(bool f() {
  const TensorImplPtr& impl = make().impl();
  return impl->has_data();
})
#endif

// A list that is referred to has to stay.
// array_ref_of_dims: temporary whose address is used as value of local variable 'sizes'.*-Wdangling
#if defined(array_ref_of_dims)
GOOD(void f(const Tensor& t, const std::vector<int64_t>& list) {
  const Dims own{1, 2};
  const ArrayRef<int64_t> sizes = own;
  const ArrayRef<int64_t> more = list;
  const ArrayRef<int64_t> others = t.sizes();
  take(Dims{1, 2});
  take(std::vector<int64_t>{1, 2});
  take(sizes == more ? others : more);
  take_dims({1, 2});
})
BAD(void f() {
  const ArrayRef<int64_t> sizes = Dims{1, 2};
  take(sizes);
})
#endif

// array_ref_of_a_vector: temporary whose address is used as value of local variable 'sizes'.*-Wdangling
#if defined(array_ref_of_a_vector)
GOOD(void f(const Tensor& t) {
  const std::vector<int64_t> own = t.sizes().vec();
  const ArrayRef<int64_t> sizes = own;
  take(sizes);
})
BAD(void f(const Tensor& t) {
  const ArrayRef<int64_t> sizes = t.sizes().vec();
  take(sizes);
})
#endif

// Options and inputs are for the length of a call.
// options_kept: array backing local initializer list 'options' will be destroyed.*-Wdangling
#if defined(options_kept)
GOOD(Error f(Backend& backend) { return backend.init({{"limit", 1}, {"mode", "eager"}}); })
BAD(Error f(Backend& backend) {
  const BackendOptions options = {{"limit", 1}};
  return backend.init(options);
})
#endif

// inputs_kept: array backing local initializer list 'inputs' will be destroyed.*-Wdangling
#if defined(inputs_kept)
GOOD(Error f(Module& module, const Tensor& t) {
  const std::vector<EValue> inputs = {t, t};
  const Error error = module.set_inputs(inputs);
  return error != Error::Ok ? error : module.set_inputs({t, make()});
})
BAD(Error f(Module& module, const Tensor& t) {
  const EValues inputs = {t, t};
  return module.set_inputs(inputs);
})
#endif

// Texts and lists are the EValue's.
// text_of_a_temporary: temporary whose address is used as value of local variable 'text'.*-Wdangling
#if defined(text_of_a_temporary)
GOOD(size_t f() {
  const std::string text(make_value().toString());
  return text.size() + make_value().toString().size();
})
BAD(size_t f() {
  const auto text = make_value().toString();
  return text.size();
})
#endif

// list_of_a_temporary: temporary implicitly bound to local reference will be destroyed.*-Wdangling
#if defined(list_of_a_temporary)
GOOD(void f() {
  const EValue value = make_value();
  for (int64_t i : value.toIntList()) sum += i;
  const Tensor t = make_value().toTensor();
  sum += t.numel() + make_value().toTensor().numel();
})
BAD(void f() {
  for (int64_t i : make_value().toIntList()) sum += i;
})
#endif

// What a Result has is its own.
// message_of_a_temporary: temporary whose address is used as value of local variable 'text'.*-Wdangling
#if defined(message_of_a_temporary)
GOOD(std::string f() {
  const auto result = try_make();
  const char* const text = result.message();
  return std::string(text) + try_make().message();
})
BAD(std::string f() {
  const char* const text = try_make().message();
  return text;
})
#endif

// value_of_a_temporary: temporary bound to local reference 't' will be destroyed.*-Wdangling
#if defined(value_of_a_temporary)
GOOD(int64_t f() {
  const Tensor t = try_make().value();
  const TensorPtr p = try_zeros({2}).value();
  return t.numel() + p->numel() + try_make()->numel();
})
BAD(int64_t f() {
  const Tensor& t = try_make().value();
  return t.numel();
})
#endif

// sizes_of_a_result: temporary implicitly bound to local reference will be destroyed.*-Wdangling
#if defined(sizes_of_a_result)
GOOD(void f() {
  const auto t = try_make();
  for (int64_t size : t->sizes()) sum += size;
})
BAD(void f() {
  for (int64_t size : try_make()->sizes()) sum += size;
})
#endif

// The names of a spec are its own.
// name_of_a_temporary: temporary whose address is used as value of local variable 'name'.*-Wdangling
#if defined(name_of_a_temporary)
GOOD(size_t f(const ValueSpec& spec) {
  const char* const name = spec.name();
  return std::string(name).size() + std::string(ValueSpec(ValueKind::Int).name()).size();
})
BAD(size_t f() {
  const char* const name = ValueSpec(ValueKind::Int).name();
  return std::string(name).size();
})
#endif

// Borrowed memory has to stay.
// blob_of_a_local: address of stack memory associated with local variable 'data'.*-Wreturn-stack-address
#if defined(blob_of_a_local)
GOOD(TensorPtr f() {
  static float data[2] = {};
  const float local[2] = {1, 2};
  const TensorPtr borrowed = from_blob(local, {2});
  sum += borrowed->numel() + clone_tensor_ptr(from_blob(make_floats().data(), {2}))->numel();
  return from_blob(data, {2});
})
BAD(TensorPtr f() {
  float data[2] = {};
  return from_blob(data, {2});
})
#endif
