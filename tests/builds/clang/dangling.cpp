// SPDX-License-Identifier: MIT
// Code that refers to a temporary, of which Clang warns thanks to TENON_LIFETIMEBOUND. With -verify
// it must warn on exactly the marked lines. `good` has what to write instead, and other code that is
// correct.
#include <string>
#include <string_view>
#include <vector>

#include <tenon/module/module.h>
#include <tenon/tenon.h>

using namespace tenon;
using tenon::detail::NameList;
using tenon::detail::Text;

int64_t sum;
Tensor make();
TensorPtr make_ptr();
Result<Tensor> try_make();
EValue make_value();
std::vector<float> make_floats();
void take(ArrayRef<int64_t>);
void take_dims(const Dims&);

// Sizes are the tensor's.
namespace sizes_in_a_loop {
namespace good {
void f() {
  const Tensor t = make();
  for (int64_t size : t.sizes()) sum += size;
  for (int64_t size : Dims(make().sizes())) sum += size;
}
}  // namespace good
void f() {
  for (int64_t size : make().sizes()) sum += size;  // expected-warning {{temporary}}
}
}  // namespace sizes_in_a_loop

namespace strides_kept {
namespace good {
int64_t f() {
  const Dims strides = make().strides();
  return strides[0] + make().strides()[0];
}
}  // namespace good
int64_t f() {
  const auto strides = make().strides();  // expected-warning {{temporary}}
  return strides[0];
}
}  // namespace strides_kept

namespace dim_order_returned {
namespace good {
DimOrder f() { return dim_order(make()); }
}  // namespace good
ArrayRef<DimOrderType> f() { return make().dim_order(); }  // expected-warning {{temporary}}
}  // namespace dim_order_returned

// An accessor refers to the tensor's memory: the member function's,
namespace accessor_of_a_temporary {
namespace good {
float f() {
  const auto t = make_tensor({1.0f, 2.0f});
  const auto a = t.accessor<float, 1>();
  return a[0] + make_tensor({1.0f, 2.0f}).accessor<float, 1>()[1];
}
}  // namespace good
float f() {
  const auto a = make_tensor({1.0f, 2.0f}).accessor<float, 1>();  // expected-warning {{temporary}}
  return a[0];
}
}  // namespace accessor_of_a_temporary

// the free function's,
namespace accessor_function {
namespace good {
float f(const Tensor& t, const TensorPtr& p) {
  const auto a = accessor<float, 1>(t);
  const auto b = accessor<const float, 1>(p);
  return a[0] + b[0] + accessor<float, 1>(make())[0];
}
}  // namespace good
float f() {
  const auto a = accessor<float, 1>(make());  // expected-warning {{temporary}}
  return a[0];
}
}  // namespace accessor_function

// that of a TensorPtr,
namespace accessor_function_of_a_ptr {
namespace good {
float f(TensorPtr t) { return accessor<float, 1>(t)[0]; }
}  // namespace good
float f() {
  const auto a = accessor<float, 1>(zeros({2}));  // expected-warning {{temporary}}
  return a[0];
}
}  // namespace accessor_function_of_a_ptr

// and that of a view, which needs a name.
namespace accessor_of_a_view {
namespace good {
float f(const Tensor& t) {
  const auto row = view(t, {6});
  const auto a = row.accessor<float, 1>();
  return a[0] + view(t, {6}).accessor<float, 1>()[0];
}
}  // namespace good
float f(const Tensor& t) {
  const auto a = view(t, {6}).accessor<float, 1>();  // expected-warning {{temporary}}
  return a[0];
}
}  // namespace accessor_of_a_view

// An accessor's sizes are its own.
namespace sizes_of_an_accessor {
namespace good {
int64_t f(const Tensor& t) { return t.accessor<float, 1>().sizes()[0]; }
}  // namespace good
int64_t f(const Tensor& t) {
  const auto sizes = t.accessor<float, 1>().sizes();  // expected-warning {{temporary}}
  return sizes[0];
}
}  // namespace sizes_of_an_accessor

// Elements are the tensor's.
namespace data_in_a_loop {
namespace good {
void f(const Tensor& t) {
  for (float element : t.data<float>()) sum += static_cast<int64_t>(element);
}
}  // namespace good
void f() {
  // expected-warning@+1 {{temporary}}
  for (float element : make().data<float>()) sum += static_cast<int64_t>(element);
}
}  // namespace data_in_a_loop

namespace data_function {
namespace good {
float f(const TensorPtr& t) {
  const auto elements = data<float>(t);
  const Span<const float> constant = t->data<float>();
  return elements[0] + constant[1] + data<float>(zeros({2}))[0];
}
}  // namespace good
float f() {
  const auto elements = data<float>(zeros({2}));  // expected-warning {{temporary}}
  return elements[0];
}
}  // namespace data_function

namespace pointer_kept {
namespace good {
float f(const Tensor& t) {
  const float* const data = t.const_data_ptr<float>();
  return data[0] + *make().const_data_ptr<float>();
}
}  // namespace good
float f() {
  const float* const data = make().const_data_ptr<float>();  // expected-warning {{temporary}}
  return data[0];
}
}  // namespace pointer_kept

namespace pointer_function {
namespace good {
float f(const Tensor& t) {
  float* const data = mutable_data_ptr<float>(t);
  return data[0] + *const_data_ptr<float>(make());
}
}  // namespace good
float f() {
  float* const data = mutable_data_ptr<float>(make());  // expected-warning {{temporary}}
  return data[0];
}
}  // namespace pointer_function

namespace view_of_a_temporary {
namespace good {
void* f(const Tensor& t) {
  const TensorView memory = as_view(t);
  return memory.data;
}
}  // namespace good
void* f() {
  const TensorView memory = as_view(zeros({2}));  // expected-warning {{temporary}}
  return memory.data;                             // expected-warning {{temporary}}
}
}  // namespace view_of_a_temporary

namespace impl_of_a_temporary {
namespace good {
bool f() {
  const TensorImplPtr impl = make().impl();
  return impl->has_data();
}
}  // namespace good
bool f() {
  const TensorImplPtr& impl = make().impl();  // expected-warning {{temporary}}
  return impl->has_data();
}
}  // namespace impl_of_a_temporary

// An ArrayRef does not keep its list.
namespace array_ref_of_dims {
namespace good {
void f(const Tensor& t, const std::vector<int64_t>& list) {
  const Dims own{1, 2};
  const ArrayRef<int64_t> sizes = own;
  const ArrayRef<int64_t> more = list;
  const ArrayRef<int64_t> others = t.sizes();
  take(Dims{1, 2});
  take(std::vector<int64_t>{1, 2});
  take(sizes == more ? others : more);
  take_dims({1, 2});
}
}  // namespace good
void f() {
  const ArrayRef<int64_t> sizes = Dims{1, 2};  // expected-warning {{temporary}}
  take(sizes);
}
}  // namespace array_ref_of_dims

namespace array_ref_of_a_vector {
namespace good {
void f(const Tensor& t) {
  const std::vector<int64_t> own = t.sizes().vec();
  const ArrayRef<int64_t> sizes = own;
  take(sizes);
}
}  // namespace good
void f(const Tensor& t) {
  const ArrayRef<int64_t> sizes = t.sizes().vec();  // expected-warning {{temporary}}
  take(sizes);
}
}  // namespace array_ref_of_a_vector

// Options are copied.
namespace options_kept {
namespace good {
Error f(Backend& backend) {
  const BackendOptions options = {{"limit", 1}};
  const Error error = backend.init(options);
  return error != Error::Ok ? error : backend.init({{"limit", 1}, {"mode", "eager"}});
}
}  // namespace good
bool f() {
  const auto* const found =
      BackendOptions({{"limit", 1}}).find("a");  // expected-warning {{temporary}}
  return found != nullptr;
}
}  // namespace options_kept

// Inputs refer to their list for the length of a call.
namespace inputs_kept {
namespace good {
Error f(Module& module, const Tensor& t) {
  const std::vector<EValue> inputs = {t, t};
  const Error error = module.set_inputs(inputs);
  return error != Error::Ok ? error : module.set_inputs({t, make()});
}
}  // namespace good
Error f(Module& module, const Tensor& t) {
  const EValues inputs = {t, t};  // expected-warning {{array backing}}
  return module.set_inputs(Span<const EValue>(inputs));
}
}  // namespace inputs_kept

// Texts and lists are the EValue's.
namespace text_of_a_temporary {
namespace good {
size_t f() {
  const std::string text(make_value().toString());
  return text.size() + make_value().toString().size();
}
}  // namespace good
size_t f() {
  const auto text = make_value().toString();  // expected-warning {{temporary}}
  return text.size();
}
}  // namespace text_of_a_temporary

namespace list_of_a_temporary {
namespace good {
void f() {
  const EValue value = make_value();
  for (int64_t i : value.toIntList()) sum += i;
  const Tensor t = make_value().toTensor();
  sum += t.numel() + make_value().toTensor().numel();
}
}  // namespace good
void f() {
  for (int64_t i : make_value().toIntList()) sum += i;  // expected-warning {{temporary}}
}
}  // namespace list_of_a_temporary

// The value and the text are the Result's.
namespace message_of_a_temporary {
namespace good {
std::string f() {
  const auto result = try_make();
  const char* const text = result.message();
  return std::string(text) + try_make().message();
}
}  // namespace good
std::string f() {
  const char* const text = try_make().message();  // expected-warning {{temporary}}
  return text;
}
}  // namespace message_of_a_temporary

namespace value_of_a_temporary {
namespace good {
int64_t f() {
  const Tensor t = try_make().value();
  const TensorPtr p = try_zeros({2}).value();
  return t.numel() + p->numel() + try_make()->numel();
}
}  // namespace good
int64_t f() {
  const Tensor& t = try_make().value();  // expected-warning {{temporary}}
  return t.numel();
}
}  // namespace value_of_a_temporary

namespace sizes_of_a_result {
namespace good {
void f() {
  const auto t = try_make();
  for (int64_t size : t->sizes()) sum += size;
}
}  // namespace good
void f() {
  for (int64_t size : try_make()->sizes()) sum += size;  // expected-warning {{temporary}}
}
}  // namespace sizes_of_a_result

// The names are the spec's.
namespace name_of_a_temporary {
namespace good {
size_t f(const ValueSpec& spec) {
  const char* const name = spec.name();
  return std::string(name).size() + std::string(ValueSpec(ValueKind::Int).name()).size();
}
}  // namespace good
size_t f() {
  const char* const name = ValueSpec(ValueKind::Int).name();  // expected-warning {{temporary}}
  return std::string(name).size();
}
}  // namespace name_of_a_temporary

// All other attributes, each by itself.
namespace kept {
void f() {
  const auto tensors = make_value().toTensorList();            // expected-warning {{temporary}}
  const auto optional = make_value().toOptionalTensorList();   // expected-warning {{temporary}}
  const auto doubles = make_value().toDoubleList();            // expected-warning {{temporary}}
  const auto bools = make_value().toBoolList();                // expected-warning {{temporary}}
  const auto strides = make().accessor<float, 1>().strides();  // expected-warning {{temporary}}
  const void* const bytes = const_data_ptr(make());            // expected-warning {{temporary}}
  const float* const floats = const_data_ptr<float>(make());   // expected-warning {{temporary}}
  void* const written = mutable_data_ptr(make());              // expected-warning {{temporary}}
  const int64_t* const sizes = Dims{1, 2}.data();              // expected-warning {{temporary}}
  const int64_t* const begin = Dims{1, 2}.begin();             // expected-warning {{temporary}}
  const int64_t* const end = Dims{1, 2}.end();                 // expected-warning {{temporary}}
  const int64_t& first = Dims{1, 2}[0];                        // expected-warning {{temporary}}
  const int64_t& last = Dims{1, 2}.back();                     // expected-warning {{temporary}}
  const Tensor& value = *try_make();                           // expected-warning {{temporary}}
  const char* const text = Text("text").c_str();               // expected-warning {{temporary}}
  const std::string_view view = Text("text");                  // expected-warning {{temporary}}
  const char* const name = NameList{"a", "b"}[0];              // expected-warning {{temporary}}
  const EValues one = make_value();                            // expected-warning {{temporary}}
  const EValues many = std::vector<EValue>(2);                 // expected-warning {{temporary}}
  const TensorArgs both = {make(), make()};                    // expected-warning {{temporary}}
  const TensorArgs range = std::vector<Tensor>(2);             // expected-warning {{temporary}}
  const auto tried = make_value().tryToDoubleList();           // expected-warning {{temporary}}
}
}  // namespace kept

// A tensor does not keep borrowed memory.
namespace blob_of_a_local {
namespace good {
TensorPtr f() {
  static float data[2] = {};
  const float local[2] = {1, 2};
  const TensorPtr borrowed = from_blob(local, {2});
  sum += borrowed->numel() + clone_tensor_ptr(from_blob(make_floats().data(), {2}))->numel();
  return from_blob(data, {2});
}
}  // namespace good
TensorPtr f() {
  float data[2] = {};
  return from_blob(data, {2});  // expected-warning {{stack}}
}
}  // namespace blob_of_a_local

// A tensor is its TensorPtr's: std::unique_ptr is one of the types that own what they refer to.
namespace tensor_of_a_temporary {
namespace good {
int64_t f() {
  const Tensor t = *make_ptr();
  const auto p = make_ptr();
  const Tensor& u = *p;
  return t.numel() + u.numel() + (*make_ptr()).numel();
}
}  // namespace good
int64_t f() {
  auto& t = *make_ptr();          // expected-warning {{object backing the pointer}}
  const Tensor& u = *zeros({2});  // expected-warning {{object backing the pointer}}
  return t.numel() + u.numel();
}
}  // namespace tensor_of_a_temporary

// Clang does not see this: std::unique_ptr's operators do not have the attribute.
namespace not_seen {
int64_t f() {
  for (int64_t size : make_ptr()->sizes()) sum += size;
  return sum;
}
}  // namespace not_seen
