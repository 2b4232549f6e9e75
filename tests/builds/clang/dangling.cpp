// SPDX-License-Identifier: MIT
// Code that refers to a temporary, of which Clang warns thanks to TENON_LIFETIMEBOUND. With -verify it must warn on exactly
// the marked lines: none of those in `good`, which has what to write instead, and other code that is correct.
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
void take_text(std::string_view);

namespace kept {
void f(const Tensor& t) {
  // Sizes, elements and memory are the tensor's; an accessor's sizes are its own.
  const auto strides = make().strides();                           // expected-warning {{temporary}}
  const auto member = make().accessor<float, 1>();                 // expected-warning {{temporary}}
  const auto function = accessor<float, 1>(make());                // expected-warning {{temporary}}
  const auto of_ptr = accessor<float, 1>(zeros({2}));              // expected-warning {{temporary}}
  const auto of_view = view(t, {6}).accessor<float, 1>();          // expected-warning {{temporary}}
  const auto its_sizes = t.accessor<float, 1>().sizes();           // expected-warning {{temporary}}
  const auto its_strides = make().accessor<float, 1>().strides();  // expected-warning {{temporary}}
  const auto elements = data<float>(zeros({2}));                   // expected-warning {{temporary}}
  const float* const pointer = make().const_data_ptr<float>();     // expected-warning {{temporary}}
  const float* const floats = const_data_ptr<float>(make());       // expected-warning {{temporary}}
  const void* const bytes = const_data_ptr(make());                // expected-warning {{temporary}}
  float* const typed = mutable_data_ptr<float>(make());            // expected-warning {{temporary}}
  void* const written = mutable_data_ptr(make());                  // expected-warning {{temporary}}
  const TensorView memory = as_view(zeros({2}));                   // expected-warning {{temporary}}
  const TensorImplPtr& impl = make().impl();                       // expected-warning {{temporary}}
  // An ArrayRef does not keep its list.
  const ArrayRef<int64_t> of_dims = Dims{1, 2};         // expected-warning {{temporary}}
  const ArrayRef<int64_t> of_vector = t.sizes().vec();  // expected-warning {{temporary}}
  const int64_t* const first_size = Dims{1, 2}.data();  // expected-warning {{temporary}}
  const int64_t* const begin = Dims{1, 2}.begin();      // expected-warning {{temporary}}
  const int64_t* const end = Dims{1, 2}.end();          // expected-warning {{temporary}}
  const int64_t& first = Dims{1, 2}[0];                 // expected-warning {{temporary}}
  const int64_t& last = Dims{1, 2}.back();              // expected-warning {{temporary}}
  // Options are copied; inputs refer to their list for the length of a call.
  const auto* const option = BackendOptions({{"limit", 1}}).find("a");  // expected-warning {{temp}}
  const EValues inputs = {t, t};                    // expected-warning {{array backing}}
  const EValues one = make_value();                 // expected-warning {{temporary}}
  const EValues many = std::vector<EValue>(2);      // expected-warning {{temporary}}
  const TensorArgs both = {make(), make()};         // expected-warning {{temporary}}
  const TensorArgs range = std::vector<Tensor>(2);  // expected-warning {{temporary}}
  // Texts and lists are the EValue's, the value and the text the Result's, names the spec's.
  const auto text = make_value().toString();                  // expected-warning {{temporary}}
  const auto tensors = make_value().toTensorList();           // expected-warning {{temporary}}
  const auto optional = make_value().toOptionalTensorList();  // expected-warning {{temporary}}
  const auto doubles = make_value().toDoubleList();           // expected-warning {{temporary}}
  const auto bools = make_value().toBoolList();               // expected-warning {{temporary}}
  const auto tried = make_value().tryToDoubleList();          // expected-warning {{temporary}}
  const char* const message = try_make().message();           // expected-warning {{temporary}}
  const Tensor& value = try_make().value();                   // expected-warning {{temporary}}
  const Tensor& pointed = *try_make();                        // expected-warning {{temporary}}
  const char* const name = ValueSpec(ValueKind::Int).name();  // expected-warning {{temporary}}
  const char* const chars = Text("text").c_str();             // expected-warning {{temporary}}
  const std::string_view viewed = Text("text");               // expected-warning {{temporary}}
  const char* const listed = NameList{"a", "b"}[0];           // expected-warning {{temporary}}
  // A tensor is its TensorPtr's: std::unique_ptr is one of the types that own what they refer to.
  auto& tensor = *make_ptr();        // expected-warning {{object backing the pointer}}
  const Tensor& made = *zeros({2});  // expected-warning {{object backing the pointer}}
}
}  // namespace kept

namespace in_a_loop {
void f() {
  for (int64_t size : make().sizes()) sum += size;       // expected-warning {{temporary}}
  for (int64_t size : try_make()->sizes()) sum += size;  // expected-warning {{temporary}}
  for (int64_t i : make_value().toIntList()) sum += i;   // expected-warning {{temporary}}
  for (float x : make().data<float>()) sum += x > 0;     // expected-warning {{temporary}}
  for (int64_t size : make_ptr()->sizes()) sum += size;  // not seen: std::unique_ptr's operators
}
}  // namespace in_a_loop

namespace returned {
ArrayRef<DimOrderType> f() { return make().dim_order(); }  // expected-warning {{temporary}}
// A tensor does not keep borrowed memory.
TensorPtr g() {
  float data[2] = {};
  return from_blob(data, {2});  // expected-warning {{stack}}
}
}  // namespace returned

namespace good {
DimOrder order() { return dim_order(make()); }
TensorPtr of_static() {
  static float data[2] = {};
  return from_blob(data, {2});
}
void sizes(const Tensor& t, const std::vector<int64_t>& list) {
  for (int64_t size : t.sizes()) sum += size;
  for (int64_t size : Dims(make().sizes())) sum += size;
  const Dims strides = make().strides();
  const Dims own{1, 2};
  const ArrayRef<int64_t> of_own = own;
  const ArrayRef<int64_t> of_list = list;
  const ArrayRef<int64_t> of_tensor = t.sizes();
  take(Dims{1, 2});
  take(std::vector<int64_t>{1, 2});
  take(of_own == of_list ? of_tensor : of_list);
  take_dims({1, 2});
  sum += make().strides()[0] + t.accessor<float, 1>().sizes()[0];
}
float elements(const Tensor& t, const TensorPtr& p) {
  const auto a = t.accessor<float, 1>();
  const auto b = accessor<const float, 1>(p);
  const auto row = view(t, {6});
  const auto c = row.accessor<float, 1>();
  const Span<const float> d = p->data<float>();
  const float* const e = t.const_data_ptr<float>();
  const TensorView memory = as_view(t);
  const TensorImplPtr impl = make().impl();
  for (float element : t.data<float>()) sum += element > 0;
  sum += impl->has_data() && memory.data != nullptr;
  return a[0] + b[0] + c[0] + d[0] + e[0] + accessor<float, 1>(make())[0] +
         view(t, {6}).accessor<float, 1>()[0] + data<float>(zeros({2}))[0] +
         *make().const_data_ptr<float>() + *const_data_ptr<float>(make());
}
void values(const ValueSpec& spec) {
  const std::string text(make_value().toString());
  const EValue value = make_value();
  for (int64_t i : value.toIntList()) sum += i;
  const Tensor t = make_value().toTensor();
  const auto result = try_make();
  const char* const message = result.message();
  const Tensor own = try_make().value();
  const TensorPtr p = try_zeros({2}).value();
  for (int64_t size : result->sizes()) sum += size;
  take_text(message);
  take_text(spec.name());
  take_text(try_make().message());
  take_text(make_value().toString());
  take_text(ValueSpec(ValueKind::Int).name());
  sum += make_value().toTensor().numel() + try_make()->numel();
}
Error calls(Backend& backend, Module& module, const Tensor& t) {
  const BackendOptions options = {{"limit", 1}};
  TENON_TRY(backend.init(options));
  TENON_TRY(backend.init({{"limit", 1}, {"mode", "eager"}}));
  const std::vector<EValue> inputs = {t, t};
  TENON_TRY(module.set_inputs(inputs));
  return module.set_inputs({t, make()});
}
void tensors() {
  const Tensor t = *make_ptr();
  const auto p = make_ptr();
  const Tensor& u = *p;
  const float local[2] = {1, 2};
  const TensorPtr borrowed = from_blob(local, {2});
  sum += t.numel() + u.numel() + (*make_ptr()).numel() + borrowed->numel();
  sum += clone_tensor_ptr(from_blob(make_floats().data(), {2}))->numel();
}
}  // namespace good
