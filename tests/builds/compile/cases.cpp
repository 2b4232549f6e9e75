// SPDX-License-Identifier: MIT
// Code that must not compile: `#if defined(name)`, with a line `// name: words of the first error`,
// alternatives for GCC and Clang. GOOD is what must compile instead, under CONTROL.
#include <memory>
#include <string>
#include <vector>

#include <tenon/tenon.h>

#if defined(CONTROL)
#define BAD(...)
#define GOOD(...) __VA_ARGS__
#else
#define BAD(...) __VA_ARGS__
#define GOOD(...)
#endif

// An index alone is no device: 0 would be a null text.
// device_from_index: deleted function .*IndexWithoutDeviceType|a device has a type
#if defined(device_from_index)
GOOD(tenon::Device device(tenon::DeviceType::CUDA, 0);)
BAD(tenon::Device device = 0;)
#endif

// Memory of an unknown type has to come as void*, with its dtype.
// blob_of_structs: VoidPointerAndTypeNeeded = Pixel|static_cast<void.>.data., sizes, type
#if defined(blob_of_structs)
struct Pixel {
  float r, g, b;
};
Pixel pixels[2];
GOOD(auto tensor = tenon::from_blob(static_cast<void*>(pixels), {2, 3}, tenon::ScalarType::Float);)
BAD(auto tensor = tenon::from_blob(pixels, {2, 3}, tenon::ScalarType::Float);)
#endif

// Indices in a container are int64_t or int32_t.
// indices_of_size_t: IndicesNeedInt64OrInt32|indices are int64_t or int32_t
#if defined(indices_of_size_t)
std::vector<size_t> places = {0, 2};
GOOD(auto rows = tenon::index_select(tenon::ones({3, 2}), 0,
                                     std::vector<int64_t>(places.begin(), places.end()));)
BAD(auto rows = tenon::index_select(tenon::ones({3, 2}), 0, places);)
#endif

// In make_tensor_ptr too.
// tensor_of_structs: VoidPointerAndTypeNeeded = Pixel|static_cast<void.>.data., type
#if defined(tensor_of_structs)
struct Pixel {
  float r, g, b;
};
Pixel pixels[2];
GOOD(auto t = tenon::make_tensor_ptr({2, 3}, static_cast<void*>(pixels), tenon::ScalarType::Float);)
BAD(auto t = tenon::make_tensor_ptr({2, 3}, pixels, tenon::ScalarType::Float);)
#endif

// An option is given once.
// option_given_twice: an option is given twice
#if defined(option_given_twice)
GOOD(auto tensor = tenon::zeros({2}, tenon::ScalarType::Int);)
BAD(auto tensor = tenon::zeros({2}, tenon::ScalarType::Int, tenon::ScalarType::Double);)
#endif

// And so is the type before a deleter.
// type_given_twice: an option is given twice
#if defined(type_given_twice)
float data[1];
void drop(void*) {}
GOOD(auto tensor = tenon::from_blob(data, {1}, tenon::ScalarType::Float, &drop);)
BAD(auto tensor = tenon::from_blob(data, {1}, tenon::ScalarType::Float, &drop,
                                   tenon::ScalarType::Float);)
#endif

// A blob says its dtype itself.
// blob_with_type: a blob says its dtype
#if defined(blob_with_type)
tenon::Blob blob;
GOOD(auto tensor = tenon::from_blob(blob, tenon::host_backend());)
BAD(auto tensor = tenon::from_blob(blob, tenon::ScalarType::Float);)
#endif

// Raw bytes have no dtype,
// blob_of_bytes: raw bytes need a dtype: Blob::of.data, sizes, ScalarType
// A promise of docs/guarantees.md.
#if defined(blob_of_bytes)
void* data;
GOOD(auto blob = tenon::Blob::of(data, {1}, tenon::ScalarType::Float);)
BAD(auto blob = tenon::Blob::of(data, {1});)
#endif
// but a typed pointer has.
// typed_blob_with_type: the pointer says its dtype; pass a void. to
#if defined(typed_blob_with_type)
int data[1];
GOOD(auto blob = tenon::Blob::of(data, {1});)
BAD(auto blob = tenon::Blob::of(data, {1}, tenon::ScalarType::Float);)
#endif
// A struct's memory is raw bytes.
// described_structs: VoidPointerAndTypeNeeded = |no dtype has such elements: Blob::of.static_cast
#if defined(described_structs)
struct Pixel {
  float r, g;
} data[1];
GOOD(auto blob = tenon::Blob::of(static_cast<void*>(data), {2}, tenon::ScalarType::Float);)
BAD(auto blob = tenon::Blob::of(data, {2});)
#endif
// assign_of_structs: VoidPointerNeeded = |no dtype has such elements: static_cast<void
#if defined(assign_of_structs)
struct Pixel {
  float r, g;
} data[1];
GOOD(bool f(const tenon::Tensor& t) { return tenon::can_assign(t, static_cast<void*>(data), 8); })
BAD(bool f(const tenon::Tensor& t) { return tenon::can_assign(t, data, 8); })
#endif
// A container has a pointer,
// described_container: ContainerNeedsData = |Blob::of.container.data.., sizes
#if defined(described_container)
std::vector<float> data(2);
GOOD(auto blob = tenon::Blob::of(data.data(), {2});)
BAD(auto blob = tenon::Blob::of(data, {2});)
#endif
// and a tensor to_blob().
// described_tensor: TensorNeedsToBlob = |to_blob.t. describes
#if defined(described_tensor)
GOOD(tenon::Blob f(const tenon::TensorPtr& t) { return tenon::to_blob(t); })
BAD(tenon::Blob f(const tenon::TensorPtr& t) { return tenon::Blob::of(t); })
#endif
// A blob keeps what a smart pointer shares.
// described_smart_pointer: SmartPointerNeedsGet = |Blob::of.data.get.., sizes, strides, data. keeps
#if defined(described_smart_pointer)
std::shared_ptr<float> data(new float(1));
GOOD(auto blob = tenon::Blob::of(data.get(), {1}, {}, data);)
BAD(auto blob = tenon::Blob::of(data, {1});)
#endif
// Nothing is written through a pointer to const.
// copy_to_constants: PointerToConst = |copy_to writes to the memory
// A promise of docs/guarantees.md.
#if defined(copy_to_constants)
GOOD(tenon::Error f(const tenon::Tensor& t, float* to) { return tenon::copy_to(t, to, 4); })
BAD(tenon::Error f(const tenon::Tensor& t, const float* to) { return tenon::copy_to(t, to, 4); })
#endif

// Counts are integers: 2.9 columns are a mistake, not 2.
// eye_of_fractions: no match for call.*Eye|no matching function.*Eye
#if defined(eye_of_fractions)
GOOD(auto tensor = tenon::eye(2, 2);)
BAD(auto tensor = tenon::eye(2, 2.9);)
#endif

// An axis is an integer: 1.7 is a mistake, not 1.
// iota_along_fraction: no match for call.*Iota|no matching function.*Iota
#if defined(iota_along_fraction)
GOOD(auto tensor = tenon::iota({2, 2}, 1);)
BAD(auto tensor = tenon::iota({2, 2}, 1.7);)
#endif

// A device is a Device, not text alone, as surprises.cpp has it: after other options,
// text_after_type: TextNeedsDevice = \{.*const char|a device is Device.*not text alone
#if defined(text_after_type)
GOOD(auto tensor = tenon::full({2}, 1, tenon::kHalf, tenon::Device("cpu"));)
BAD(auto tensor = tenon::full({2}, 1, tenon::kHalf, "cpu");)
#endif
// with strides,
// text_as_device_strided: TextNeedsDevice = \{.*const char|a device is Device.*not text alone
#if defined(text_as_device_strided)
GOOD(auto tensor = tenon::zeros_strided({2}, {1}, tenon::Device("cpu"));)
BAD(auto tensor = tenon::zeros_strided({2}, {1}, "cpu");)
#endif
// like another tensor,
// text_as_device_like: TextNeedsDevice = \{.*const char|a device is Device.*not text alone
#if defined(text_as_device_like)
tenon::TensorPtr f(const tenon::TensorPtr& t) {
  GOOD(return tenon::zeros_like(t, tenon::Device("cpu"));)
  BAD(return tenon::zeros_like(t, "cpu");)
}
#endif
// of random numbers,
// random_on_text: TextNeedsDevice = \{.*const char|a device is Device.*not text alone
#if defined(random_on_text)
GOOD(auto tensor = tenon::randn({2}, tenon::Device("cpu"));)
BAD(auto tensor = tenon::randn({2}, "cpu");)
#endif
// of sequences,
// range_on_text: TextNeedsDevice = \{const char|a device is Device.*not text alone
#if defined(range_on_text)
GOOD(auto tensor = tenon::arange(10, tenon::Device("cpu"));)
BAD(auto tensor = tenon::arange(10, "cpu");)
#endif
// of values
// values_on_text: TextNeedsDevice = \{const char|a device is Device.*not text alone
#if defined(values_on_text)
GOOD(auto tensor = tenon::make_tensor_ptr({2}, {1, 2}, tenon::Device("cpu"));)
BAD(auto tensor = tenon::make_tensor_ptr({2}, {1, 2}, "cpu");)
#endif
// and over memory.
// blob_on_text: TextNeedsDevice = \{const char|a device is Device.*not text alone
#if defined(blob_on_text)
float data[2];
GOOD(auto tensor = tenon::from_blob(data, {2}, tenon::Device("cuda"));)
BAD(auto tensor = tenon::from_blob(data, {2}, "cuda");)
#endif
// tensor_on_text: TextNeedsDevice = \{const char|a device is Device.*not text alone
#if defined(tensor_on_text)
float data[2];
GOOD(auto tensor = tenon::make_tensor_ptr({2}, data, tenon::Device("cuda"));)
BAD(auto tensor = tenon::make_tensor_ptr({2}, data, "cuda");)
#endif

// A backend says its device.
// backend_and_device: a backend says its device
#if defined(backend_and_device)
GOOD(auto tensor = tenon::zeros({2}, tenon::default_backend());)
BAD(auto tensor = tenon::zeros({2}, tenon::default_backend(), tenon::Device("cpu"));)
#endif
// And so does a blob.
// blob_and_device: a blob says its device
#if defined(blob_and_device)
tenon::Blob blob;
GOOD(auto tensor = tenon::from_blob(blob);)
BAD(auto tensor = tenon::from_blob(blob, tenon::Device("cuda"));)
#endif

// Strides are given once, as a list or as an option.
// strides_given_twice: an option is given twice
#if defined(strides_given_twice)
float data[6];
GOOD(auto tensor = tenon::from_blob(data, {2, 3}, tenon::Strides{3, 1});)
BAD(auto tensor = tenon::from_blob(data, {2, 3}, {3, 1}, tenon::Strides{3, 1});)
#endif
// The order of dimensions too.
// dim_order_given_twice: an option is given twice
#if defined(dim_order_given_twice)
float data[6];
GOOD(auto tensor = tenon::make_tensor_ptr({2, 3}, data, tenon::DimOrder{1, 0});)
BAD(auto tensor = tenon::make_tensor_ptr({2, 3}, data, {1, 0}, tenon::DimOrder{1, 0});)
#endif
// They are not sizes.
// strides_as_sizes: no match for call.*Creator|no matching function.*Creator
#if defined(strides_as_sizes)
GOOD(auto tensor = tenon::zeros({2, 3});)
BAD(auto tensor = tenon::zeros(tenon::Strides{2, 3});)
#endif

// What is no option.
// number_as_option: TypeDynamismBackendOrDevice = \{int|options are types, dynamisms
#if defined(number_as_option)
GOOD(auto tensor = tenon::full({2}, 3);)
BAD(auto tensor = tenon::zeros({2}, 3);)
#endif
// A creator does not keep a temporary backend.
// zeros_in_temporary: TypeDynamismBackendOrDevice = \{.*MetaBackend|backends with a name
#if defined(zeros_in_temporary)
tenon::MetaBackend meta;
GOOD(auto tensor = tenon::zeros({2}, meta);)
BAD(auto tensor = tenon::zeros({2}, tenon::MetaBackend());)
#endif
// random_in_temporary: TypeDynamismBackendDeviceOrGenerator = \{.*MetaBackend|backends with a name
#if defined(random_in_temporary)
GOOD(auto tensor = tenon::rand({2}, tenon::default_backend());)
BAD(auto tensor = tenon::rand({2}, tenon::MetaBackend());)
#endif

// randint's bounds are integers: 2.9 is a mistake, not 2.
// randint_of_fractions: no match for call.*Random|no matching function.*Random
#if defined(randint_of_fractions)
GOOD(auto tensor = tenon::randint(0, 2, {4});)
BAD(auto tensor = tenon::randint(0, 2.9, {4});)
#endif

// Sizes are integers: 2.5 rows are a mistake, not 2.
// sizes_from_floats: no match for call.*Creator|no matching function.*Creator
#if defined(sizes_from_floats)
GOOD(auto tensor = tenon::zeros({2, 3});)
BAD(auto tensor = tenon::zeros({2.5, 3.0});)
#endif

// `{}` is a list; it does not mean the dtype whose number is 0.
// type_from_braces: could not convert.*TypeArg|no matching constructor.*TypeArg
#if defined(type_from_braces)
GOOD(tenon::detail::TypeArg type = tenon::ScalarType::Byte;)
BAD(tenon::detail::TypeArg type = {};)
#endif

// A dtype is named, not numbered.
// type_from_number: conversion from 'int' to .*TypeArg
#if defined(type_from_number)
GOOD(tenon::detail::TypeArg type = tenon::ScalarType::Float;)
BAD(tenon::detail::TypeArg type = 6;)
#endif

// TENON_CHECK is one statement and steals no else.
// check_takes_an_else: 'else' without a previous 'if'|expected expression
#if defined(check_takes_an_else)
GOOD(void f(bool a) {
  if (a)
    TENON_CHECK(a, tenon::Error::Internal, "x");
  else
    return;
})
BAD(void f(bool a) {
  TENON_CHECK(a, tenon::Error::Internal, "x");
  else return;
})
#endif

// An Error that nobody reads is a bug; reported as a warning, an error here.
// dropped_error: nodiscard
// A promise of docs/guarantees.md.
#if defined(dropped_error)
GOOD(void f(tenon::TensorPtr& t) {
  if (tenon::resize_tensor_ptr(t, {2}) != tenon::Error::Ok) return;
})
BAD(void f(tenon::TensorPtr& t) { tenon::resize_tensor_ptr(t, {2}); })
#endif

// A Result that nobody reads is a bug; reported as a warning, an error here.
// dropped_result: nodiscard
// A promise of docs/guarantees.md.
#if defined(dropped_result)
GOOD(bool f() { return tenon::try_zeros({2}).ok(); })
BAD(void f() { tenon::try_zeros({2}); })
#endif

// A tensor of rank 0 has no index.
// accessor_of_rank_0: a tensor of rank 0 has item
#if defined(accessor_of_rank_0)
GOOD(float f(const tenon::Tensor& t) { return t.accessor<float, 1>()[0]; })
BAD(float f(const tenon::Tensor& t) { return *t.accessor<float, 0>().data(); })
#endif

// An impl is one tensor; handles are copied.
// copy_tensor_impl: use of deleted function.*TensorImpl|call to deleted constructor.*TensorImpl
#if defined(copy_tensor_impl)
GOOD(void f(tenon::TensorImpl& impl) { tenon::Tensor copy(&impl); })
BAD(void f(tenon::TensorImpl& impl) { tenon::TensorImpl copy(impl); })
#endif

// A tensor has no elements of a type that has no dtype.
// data_of_unknown_type: 'value' .*CppTypeToScalarType<Pixel
#if defined(data_of_unknown_type)
GOOD(void f(const tenon::Tensor& t) { t.data_ptr<float>(); })
BAD(struct Pixel{}; void f(const tenon::Tensor& t) { t.data_ptr<Pixel>(); })
#endif

// A borrowing handle is made on purpose.
// implicit_tensor_from_impl: conversion from 'tenon::.*TensorImpl.*to .*Tensor'
#if defined(implicit_tensor_from_impl)
GOOD(void f(tenon::TensorImpl* impl) { tenon::Tensor tensor(impl); })
BAD(void f(tenon::TensorImpl* impl) { tenon::Tensor tensor = impl; })
#endif

// An element is a number.
// item_as_text: 'value' .*CppTypeToScalarType<std::.*basic_string
#if defined(item_as_text)
GOOD(double f(const tenon::Tensor& t) { return t.item<double>(); })
BAD(std::string f(const tenon::Tensor& t) { return t.item<std::string>(); })
#endif

// The elements of an accessor to const are const.
// write_through_const_accessor: assignment of read-only|returns a const value
#if defined(write_through_const_accessor)
GOOD(void f(const tenon::Tensor& t) { t.accessor<float, 1>()[0] = 1; })
BAD(void f(const tenon::Tensor& t) { t.accessor<const float, 1>()[0] = 1; })
#endif

// The rest are mistakes whose first error says what to write: GCC's by the names in the signature of
// a deleted function, Clang's in words.

// An accessor takes an index for each dimension.
// accessor_index_count: an accessor of N dimensions takes N indices
#if defined(accessor_index_count)
GOOD(float f(const tenon::Tensor& t) { return t.accessor<float, 2>()(0, 1); })
BAD(float f(const tenon::Tensor& t) { return t.accessor<float, 2>()(0); })
#endif

// An accessor has a rank.
// accessor_without_rank: NeedsTypeAndRank = float|needs the type and the rank, as in accessor<float, 2>
#if defined(accessor_without_rank)
GOOD(void f(const tenon::Tensor& t) { t.accessor<float, 1>(); })
BAD(void f(const tenon::Tensor& t) { t.accessor<float>(); })
#endif

// The function too.
// accessor_of_ptr_without_rank: NeedsTypeAndRank = float|needs the type and the rank, as in accessor<float, 2>.t.
#if defined(accessor_of_ptr_without_rank)
GOOD(void f(tenon::TensorPtr& t) { tenon::accessor<float, 1>(t); })
BAD(void f(tenon::TensorPtr& t) { tenon::accessor<float>(t); })
#endif

// A deleter takes a void*.
// deleter_without_argument: DeleterTakesVoidPointer = |a deleter takes a void.,
#if defined(deleter_without_argument)
float data[1];
GOOD(auto tensor = tenon::from_blob(data, {1}, tenon::ScalarType::Float, [](void*) {});)
BAD(auto tensor = tenon::from_blob(data, {1}, tenon::ScalarType::Float, []() {});)
#endif

// A deleter takes a void*.
// deleter_of_floats: DeleterTakesVoidPointer = |a deleter takes a void.,
#if defined(deleter_of_floats)
float data[1];
GOOD(auto tensor = tenon::from_blob(data, {1}, {1}, tenon::ScalarType::Float, [](void*) {});)
BAD(auto tensor = tenon::from_blob(data, {1}, {1}, tenon::ScalarType::Float, [](float*) {});)
#endif

// A deleter takes a void*.
// deleter_of_maker: DeleterTakesVoidPointer = |a deleter takes a void.,
#if defined(deleter_of_maker)
float data[1];
GOOD(auto tensor = tenon::for_blob(data, {1}).deleter([](void*) {});)
BAD(auto tensor = tenon::for_blob(data, {1}).deleter([] {});)
#endif

// A deleter takes a void*.
// deleter_of_make_tensor: DeleterTakesVoidPointer = |a deleter takes a void.,
#if defined(deleter_of_make_tensor)
float data[1];
GOOD(auto tensor = tenon::make_tensor_ptr({1}, data, tenon::ScalarType::Float,
                                          tenon::TensorShapeDynamism::STATIC, [](void*) {});)
BAD(auto tensor = tenon::make_tensor_ptr({1}, data, tenon::ScalarType::Float,
                                         tenon::TensorShapeDynamism::STATIC, [] {});)
#endif

// In from_blob a deleter comes after the type,
// deleter_before_type: TypeThenDeleterThenOptions = |the type comes before the deleter
// A promise of docs/guarantees.md.
#if defined(deleter_before_type)
float data[1];
GOOD(auto tensor = tenon::from_blob(data, {1}, tenon::ScalarType::Float, [](void*) {});)
BAD(auto tensor = tenon::from_blob(data, {1}, [](void*) {});)
#endif

// also after strides,
// deleter_after_strides: TypeThenDeleterThenOptions = |the type comes before the deleter
#if defined(deleter_after_strides)
float data[1];
GOOD(auto tensor = tenon::from_blob(data, {1}, {1}, tenon::ScalarType::Float, [](void*) {});)
BAD(auto tensor = tenon::from_blob(
        data, {1}, {1}, [](void*) {}, tenon::ScalarType::Float);)
#endif

// and with a device,
// deleter_after_device: TypeThenDeleterThenOptions = |the type comes before the deleter
#if defined(deleter_after_device)
float data[1];
GOOD(auto t = tenon::from_blob(
         data, {1}, tenon::ScalarType::Float, [](void*) {}, tenon::Device());)
BAD(auto t = tenon::from_blob(data, {1}, tenon::Device(), [](void*) {});)
#endif

// in make_tensor_ptr after the dynamism.
// deleter_before_dynamism: TypeDynamismDeleterThenOptions = |type, dynamism, deleter is the order
#if defined(deleter_before_dynamism)
float data[1];
GOOD(auto tensor = tenon::make_tensor_ptr({1}, data, tenon::ScalarType::Float,
                                          tenon::TensorShapeDynamism::STATIC, [](void*) {});)
BAD(auto tensor = tenon::make_tensor_ptr({1}, data, tenon::ScalarType::Float, [](void*) {});)
#endif

// In front of the type only strides or a dim order,
// options_before_deleter: TypeThenDeleterThenOptions = |Strides or DimOrder may stand before the type
#if defined(options_before_deleter)
float data[1];
void drop(void*) {}
GOOD(auto t = tenon::from_blob(data, {1}, tenon::Strides{1}, tenon::kFloat, &drop,
                               tenon::DimOrder{0});)
BAD(auto t = tenon::from_blob(data, {1}, tenon::Strides{1}, tenon::DimOrder{0}, tenon::kFloat,
                              &drop);)
#endif
// and no device;
// device_before_deleter: TypeThenDeleterThenOptions = |other options follow the deleter
#if defined(device_before_deleter)
float data[1];
void drop(void*) {}
GOOD(auto t = tenon::from_blob(data, {1}, tenon::kFloat, &drop, tenon::Device("cpu"));)
BAD(auto t = tenon::from_blob(data, {1}, tenon::Device("cpu"), tenon::kFloat, &drop);)
#endif
// after a list of strides nothing at all,
// order_after_strides: TypeThenDeleterThenOptions = |other options follow the deleter
#if defined(order_after_strides)
float data[1];
void drop(void*) {}
GOOD(auto t = tenon::from_blob(data, {1}, {1}, tenon::kFloat, &drop, tenon::DimOrder{0});)
BAD(auto t = tenon::from_blob(data, {1}, {1}, tenon::DimOrder{0}, tenon::kFloat, &drop);)
#endif
// in make_tensor_ptr too.
// options_before_dynamism: TypeDynamismDeleterThenOptions = |other options follow the deleter
#if defined(options_before_dynamism)
float data[1];
void drop(void*) {}
constexpr auto dynamism = tenon::TensorShapeDynamism::STATIC;
GOOD(auto t = tenon::make_tensor_ptr({1}, data, tenon::Strides{1}, tenon::kFloat, dynamism, &drop,
                                     tenon::DimOrder{0});)
BAD(auto t = tenon::make_tensor_ptr({1}, data, tenon::Strides{1}, tenon::DimOrder{0}, tenon::kFloat,
                                    dynamism, &drop);)
#endif
// An owner is never called.
// deleter_of_blob: DeleterNeedsForBlob = |for_blob.data, sizes..deleter.f. runs a deleter
#if defined(deleter_of_blob)
tenon::Blob blob;
void drop(void*) {}
GOOD(auto t = tenon::from_blob(blob, 5);)
BAD(auto t = tenon::from_blob(blob, &drop);)
#endif

// Strides come before the type.
// strides_after_type: StridesComeBeforeType = |strides come before the type
#if defined(strides_after_type)
float data[1];
GOOD(auto tensor = tenon::from_blob(data, {1}, {1}, tenon::ScalarType::Float);)
BAD(auto tensor = tenon::from_blob(data, {1}, tenon::ScalarType::Float, {1});)
#endif

// from_blob takes the data first,
// blob_sizes_first: DataComesBeforeSizes = |the data comes before the sizes
#if defined(blob_sizes_first)
float data[1];
GOOD(auto tensor = tenon::from_blob(data, {1});)
BAD(auto tensor = tenon::from_blob({1}, data);)
#endif

// make_tensor_ptr the sizes.
// data_first: SizesComeBeforeData = |the sizes come before the data
#if defined(data_first)
float data[1];
GOOD(auto tensor = tenon::make_tensor_ptr({1}, data);)
BAD(auto tensor = tenon::make_tensor_ptr(data, {1});)
#endif

// also without sizes.
// data_alone: SizesComeBeforeData = |the sizes come before the data
#if defined(data_alone)
float data[1];
float* pointer = data;
GOOD(auto tensor = tenon::make_tensor_ptr({1}, pointer);)
BAD(auto tensor = tenon::make_tensor_ptr(pointer);)
#endif

// A pointer to a struct has no dtype with sizes or without,
// struct_alone: VoidPointerAndTypeNeeded = |no dtype has such elements: make_tensor_ptr.sizes
#if defined(struct_alone)
struct Pixel {
  float r, g;
};
Pixel* pixels = nullptr;
GOOD(auto t = tenon::make_tensor_ptr({2}, static_cast<void*>(pixels), tenon::kFloat);)
BAD(auto t = tenon::make_tensor_ptr(pixels);)
#endif
// and one to a container is not needed:
// container_pointer: PointeeNeeded = |make_tensor_ptr..pointer
#if defined(container_pointer)
std::vector<float> data(2);
GOOD(auto t = tenon::make_tensor_ptr(data);)
BAD(auto t = tenon::make_tensor_ptr(&data);)
#endif
// container_pointer_with_sizes: PointeeNeeded = |make_tensor_ptr.sizes, .pointer
#if defined(container_pointer_with_sizes)
std::vector<float> data(2);
GOOD(auto t = tenon::make_tensor_ptr({2}, data);)
BAD(auto t = tenon::make_tensor_ptr({2}, &data);)
#endif
// tensor_pointer: PointeeNeeded = |make_tensor_ptr..pointer
#if defined(tensor_pointer)
GOOD(tenon::TensorPtr f(tenon::Tensor& t) { return tenon::make_tensor_ptr(t); })
BAD(tenon::TensorPtr f(tenon::Tensor& t) { return tenon::make_tensor_ptr(&t); })
#endif
// blob_of_container_pointer: PointeeNeedsData = |takes a pointer to elements
#if defined(blob_of_container_pointer)
std::vector<float> data(2);
GOOD(auto t = tenon::from_blob(data.data(), {2});)
BAD(auto t = tenon::from_blob(&data, {2});)
#endif

// One number for all elements is full()'s.
// number_with_sizes: NumberNeedsFull = float|full.*makes a tensor of one number
#if defined(number_with_sizes)
GOOD(auto t = tenon::full({3}, 5.0f);)
BAD(auto t = tenon::make_tensor_ptr({3}, 5.0f);)
#endif
// value_first: SizesComeBeforeValue = |the sizes come before the value
#if defined(value_first)
GOOD(auto t = tenon::full({3}, 5);)
BAD(auto t = tenon::full(5, {3});)
#endif
// fraction_first: SizesComeBeforeValue = |the sizes come before the value
#if defined(fraction_first)
GOOD(auto t = tenon::full({2, 3}, 1.5);)
BAD(auto t = tenon::full(1.5, {2, 3});)
#endif
// A second list is not an option,
// list_as_option: ListNeedsStrides = int|strides are Strides.*takes values
#if defined(list_as_option)
GOOD(auto t = tenon::zeros({2, 3}, tenon::Strides{1, 2});)
BAD(auto t = tenon::zeros({2, 3}, {1, 2});)
#endif
// a tensor not sizes.
// ones_of_tensor: TensorNeedsLike = |ones_like.t. makes
#if defined(ones_of_tensor)
GOOD(tenon::TensorPtr f(const tenon::TensorPtr& t) { return tenon::ones_like(t); })
BAD(tenon::TensorPtr f(const tenon::TensorPtr& t) { return tenon::ones(t); })
#endif
// full_of_tensor: TensorNeedsLike = |ones_like.t. makes
#if defined(full_of_tensor)
GOOD(tenon::TensorPtr f(const tenon::Tensor& t) { return tenon::full_like(t, 2); })
BAD(tenon::TensorPtr f(const tenon::Tensor& t) { return tenon::full(t, 2); })
#endif
// randn_of_tensor: TensorNeedsLike = |randn_like.t. makes
#if defined(randn_of_tensor)
GOOD(tenon::TensorPtr f(const tenon::TensorPtr& t) { return tenon::randn_like(t); })
BAD(tenon::TensorPtr f(const tenon::TensorPtr& t) { return tenon::randn(t); })
#endif
// rand_of_tensor: TensorNeedsLike = |rand_like.t. makes
#if defined(rand_of_tensor)
GOOD(tenon::TensorPtr f(const tenon::TensorPtr& t) { return tenon::rand_like(t); })
BAD(tenon::TensorPtr f(const tenon::TensorPtr& t) { return tenon::rand(t); })
#endif

// Elements come in a tensor, a blob or by a pointer.
// assign_container: ContainerNeedsBlob = |assign.t, Blob::of.values.data.., sizes
#if defined(assign_container)
std::vector<float> v(2);
GOOD(bool f(tenon::TensorPtr& t) {
  return tenon::assign(t, tenon::Blob::of(v.data(), {2})) == tenon::Error::Ok;
})
BAD(bool f(tenon::TensorPtr& t) { return tenon::assign(t, v) == tenon::Error::Ok; })
#endif
// copy_container: ContainerNeedsTensor = |copy_.t, make_tensor_ptr.sizes, values
#if defined(copy_container)
std::vector<float> v(2);
GOOD(bool f(tenon::TensorPtr& t) {
  return tenon::copy_(t, tenon::make_tensor_ptr({2}, v)) == tenon::Error::Ok;
})
BAD(bool f(tenon::TensorPtr& t) { return tenon::copy_(t, v) == tenon::Error::Ok; })
#endif
// set_container: ContainerNeedsData = |set_data.t, values.data
#if defined(set_container)
std::vector<float> v(2);
GOOD(bool f(tenon::TensorPtr& t) { return tenon::set_data(t, v.data()) == tenon::Error::Ok; })
BAD(bool f(tenon::TensorPtr& t) { return tenon::set_data(t, v) == tenon::Error::Ok; })
#endif

// Containers come second there too.
// container_first: SizesComeBeforeData = |the sizes come before the data
#if defined(container_first)
std::vector<float> data(2);
GOOD(auto tensor = tenon::make_tensor_ptr({1, 2}, data);)
BAD(auto tensor = tenon::make_tensor_ptr(data, {1, 2});)
#endif

// A smart pointer is not the data.
// blob_of_smart_pointer: SmartPointerNeedsGet = |data.get.., sizes..owner.data. keeps
// A promise of docs/guarantees.md.
#if defined(blob_of_smart_pointer)
std::shared_ptr<float> data(new float(1));
GOOD(tenon::TensorPtr tensor = tenon::for_blob(data.get(), {1}).owner(data);)
BAD(tenon::TensorPtr tensor = tenon::from_blob(data, {1});)
#endif
// for_blob_of_smart_pointer: SmartPointerNeedsGet = |data.get.., sizes..owner.data. keeps
#if defined(for_blob_of_smart_pointer)
std::unique_ptr<float[]> data(new float[2]);
GOOD(tenon::TensorPtr tensor = tenon::for_blob(data.get(), {2}).owner(std::move(data));)
BAD(tenon::TensorPtr tensor = tenon::for_blob(data, {2});)
#endif
// tensor_of_smart_pointer: SmartPointerNeedsGet = |data.get.., sizes..owner.data. keeps
#if defined(tensor_of_smart_pointer)
std::unique_ptr<float[]> data(new float[2]);
GOOD(tenon::TensorPtr tensor = tenon::make_tensor_ptr({2}, data.get());)
BAD(tenon::TensorPtr tensor = tenon::make_tensor_ptr({2}, std::move(data));)
#endif

// from_blob borrows through a pointer.
// blob_of_container: ContainerNeedsData = |takes a pointer, container.data
#if defined(blob_of_container)
std::vector<float> data(1);
GOOD(auto tensor = tenon::from_blob(data.data(), {1});)
BAD(auto tensor = tenon::from_blob(data, {1});)
#endif

// The values of a list have one type.
// mixed_list: ValuesNeedOneType|all values of a list need one type
// A promise of docs/guarantees.md.
#if defined(mixed_list)
GOOD(auto tensor = tenon::make_tensor_ptr({1.0, 2.0});)
BAD(auto tensor = tenon::make_tensor_ptr({1, 2.0});)
#endif

// Those with sizes too.
// mixed_list_with_sizes: ValuesNeedOneType|all values of a list need one type
#if defined(mixed_list_with_sizes)
GOOD(auto tensor = tenon::make_tensor_ptr({2, 3}, {1.0f, 2.5f});)
BAD(auto tensor = tenon::make_tensor_ptr({2, 3}, {1, 2.5f});)
#endif

// NAN is a float.
// nan_among_doubles: ValuesNeedOneType|all values of a list need one type.*NAN is a float
#if defined(nan_among_doubles)
#include <cmath>
GOOD(auto tensor = tenon::make_tensor_ptr({1.0f, NAN});)
BAD(auto tensor = tenon::make_tensor_ptr({1.0, NAN});)
#endif

// Characters are elements in a string.
// characters_with_sizes: CharactersNeedStdString = char|characters are elements in a std::string
#if defined(characters_with_sizes)
GOOD(auto tensor = tenon::make_tensor_ptr({2}, std::string("ab"));)
BAD(auto tensor = tenon::make_tensor_ptr({2}, {'a', 'b'});)
#endif
// list_of_texts: CharactersNeedStdString = const char.|characters are elements in a std::string
#if defined(list_of_texts)
GOOD(auto tensor = tenon::make_tensor_ptr(std::string("ab"));)
BAD(auto tensor = tenon::make_tensor_ptr({"a", "b"});)
#endif
// character: CharactersNeedStdString = char|characters are elements in a std::string
#if defined(character)
GOOD(auto tensor = tenon::make_tensor_ptr(int8_t{'a'});)
BAD(auto tensor = tenon::make_tensor_ptr('a');)
#endif
// text_as_values: CharactersNeedStdString = char|characters are elements in a std::string
#if defined(text_as_values)
GOOD(auto tensor = tenon::make_tensor_ptr(std::string("ab"));)
BAD(auto tensor = tenon::make_tensor_ptr("ab");)
#endif

// from_bytes takes bytes.
// bytes_of_floats: BytesNeeded = |from_bytes takes a container of bytes
#if defined(bytes_of_floats)
std::vector<float> data(2);
GOOD(auto tensor = tenon::make_tensor_ptr({2}, data);)
BAD(auto tensor = tenon::from_bytes({2}, data, tenon::kFloat);)
#endif

// Values are one list.
// nested_list: SizesThenOneList = int|nested lists need sizes and one list
#if defined(nested_list)
GOOD(auto tensor = tenon::make_tensor_ptr({2, 2}, {1, 2, 3, 4});)
BAD(auto tensor = tenon::make_tensor_ptr({{1, 2}, {3, 4}});)
#endif

// Lists that refer to what is in the braces cannot be kept for later: inputs,
// named_inputs: use of deleted function.*ListArg|array backing local initializer list
// A promise of docs/guarantees.md.
#if defined(named_inputs)
#include <tenon/module/module.h>
tenon::Error f(tenon::Module& module, const tenon::EValue& value) {
  GOOD(return module.set_inputs({value, value});)
  BAD(const tenon::EValues inputs = {value, value}; return module.set_inputs(inputs);)
}
#endif

// tensors
// named_tensors: use of deleted function.*TensorArgs|temporary whose address is used
#if defined(named_tensors)
tenon::TensorPtr f(const tenon::Tensor& a, const tenon::Tensor& b) {
  GOOD(return tenon::stack({a, b});)
  BAD(const tenon::TensorArgs both = {a, b}; return tenon::stack(both);)
}
#endif

// sizes,
// span_of_numbers: use of deleted function.*Span|deleted constructor|deleted function
#if defined(span_of_numbers)
int64_t sum(tenon::ArrayRef<int64_t> sizes);
const int64_t list[] = {0, 2};
GOOD(int64_t n = sum(list);)
BAD(int64_t n = sum({0, 2});)
#endif

// and values.
// named_values: use of deleted function.*Values|array backing local initializer list
#if defined(named_values)
tenon::TensorPtr f() {
  GOOD(return tenon::make_tensor_ptr({1.0f, 2.0f});)
  BAD(tenon::detail::Values values = {1.0f, 2.0f};
      return tenon::make_tensor_ptr(std::move(values));)
}
#endif

// Sizes are a list,
// size_without_braces: NumberNeedsBraces = int|needs? braces, as in
// A promise of docs/guarantees.md.
#if defined(size_without_braces)
GOOD(auto tensor = tenon::ones({3});)
BAD(auto tensor = tenon::ones(3);)
#endif

// for every function,
// blob_size_without_braces: NumberNeedsBraces = int|needs braces, as in
#if defined(blob_size_without_braces)
float data[6];
GOOD(auto tensor = tenon::from_blob(data, {6});)
BAD(auto tensor = tenon::from_blob(data, 6);)
#endif
// size_and_type: NumberNeedsBraces = int|need braces, as in ones
#if defined(size_and_type)
GOOD(auto tensor = tenon::zeros({2}, tenon::ScalarType::Int);)
BAD(auto tensor = tenon::zeros(2, tenon::ScalarType::Int);)
#endif
// random_size_and_type: NumberNeedsBraces = int|need braces, as in rand
#if defined(random_size_and_type)
GOOD(auto tensor = tenon::randint(0, 10, {2}, tenon::ScalarType::Int);)
BAD(auto tensor = tenon::randint(0, 10, 2, tenon::ScalarType::Int);)
#endif
// rand_sizes: NumberNeedsBraces = int|need braces, as in rand
#if defined(rand_sizes)
GOOD(auto tensor = tenon::rand({2, 3});)
BAD(auto tensor = tenon::rand(2, 3);)
#endif
// strided_size_without_braces: NumberNeedsBraces = int|needs braces, as in
#if defined(strided_size_without_braces)
GOOD(auto tensor = tenon::zeros_strided({2}, {1});)
BAD(auto tensor = tenon::zeros_strided(2, 1);)
#endif
// iota_size_without_braces: NumberNeedsBraces = int|needs braces, as in
#if defined(iota_size_without_braces)
GOOD(auto tensor = tenon::iota({3});)
BAD(auto tensor = tenon::iota(3);)
#endif
// new_size_without_braces: NumberNeedsBraces = int|needs braces, as in
#if defined(new_size_without_braces)
tenon::Error resize(tenon::TensorPtr& tensor) {
  GOOD(return tenon::resize_tensor_ptr(tensor, {3});)
  BAD(return tenon::resize_tensor_ptr(tensor, 3);)
}
#endif
// sizes_before_values: SizesNeedBraces = int|sizes need braces: make_tensor_ptr
#if defined(sizes_before_values)
std::vector<float> data(6);
GOOD(auto tensor = tenon::make_tensor_ptr({2, 3}, data);)
BAD(auto tensor = tenon::make_tensor_ptr(2, 3, data);)
#endif

// of any length,
// sizes_without_braces: NumberNeedsBraces = int|need braces, as in ones
#if defined(sizes_without_braces)
GOOD(auto tensor = tenon::zeros({2, 3});)
BAD(auto tensor = tenon::zeros(2, 3);)
#endif

// in every creator
// value_after_size: NumberNeedsBraces = int|need braces, as in ones
#if defined(value_after_size)
GOOD(auto tensor = tenon::full({3}, 1);)
BAD(auto tensor = tenon::full(3, 1.0f);)
#endif

// and elsewhere.
// random_sizes: NumberNeedsBraces = int|need braces, as in rand
#if defined(random_sizes)
GOOD(auto tensor = tenon::randint(0, 10, {3, 4});)
BAD(auto tensor = tenon::randint(0, 10, 3, 4);)
#endif

// A Result is read with value().
// result_as_value: UseValueOrCheckOk = |use .value.., which raises its error, or check ok
#if defined(result_as_value)
GOOD(tenon::TensorPtr tensor = tenon::try_zeros({3}).value();)
BAD(tenon::TensorPtr tensor = tenon::try_zeros({3});)
#endif

// Printing is a header of its own.
// print_tensor: NeedsTenonOstreamHeader|include <tenon/ostream.h>, or print to_string
#if defined(print_tensor)
#include <iostream>
#if defined(CONTROL)
#include <tenon/ostream.h>
#endif
void f(tenon::TensorPtr& t) { std::cout << *t; }
#endif

// From C++20 on the standard's operator for any unique_ptr would print the address.
// print_tensor_ptr: NeedsTenonOstreamHeader|include <tenon/ostream.h>, or print to_string
#if defined(print_tensor_ptr)
#include <iostream>
#if defined(CONTROL)
#include <tenon/ostream.h>
#endif
void f(tenon::TensorPtr& t) { std::cout << t; }
#endif

// To a wide stream too, for which <tenon/ostream.h> has no operator.
// print_wide: NeedsTenonOstreamHeader|include <tenon/ostream.h>, or print to_string
#if defined(print_wide)
#include <iostream>
void f(tenon::TensorPtr& t) {
  GOOD(std::wcout << tenon::to_string(t).c_str();)
  BAD(std::wcout << t;)
}
#endif

// A Result is read first.
// print_result: UseValueOrCheckOk|a Result is not a value|no match for
#if defined(print_result)
#include <tenon/ostream.h>
#include <iostream>
void f() {
  GOOD(std::cout << tenon::try_zeros({3}).value();)
  BAD(std::cout << tenon::try_zeros({3});)
}
#endif

// The condition would ask whether there is a value.
// result_of_bool: OkOrValueNeeded|the value, result.ok
#if defined(result_of_bool)
#include <tenon/tensor/values.h>
int f(tenon::TensorPtr& t) {
  GOOD(return *tenon::try_equal(t, t) ? 1 : 0;)
  BAD(if (tenon::try_equal(t, t)) return 1;)
  return 0;
}
#endif

// What only an explicit conversion takes, such as an address that a TensorPtr would delete.
// value_or_of_an_address: other converts to the value's type
#if defined(value_or_of_an_address)
tenon::TensorPtr f([[maybe_unused]] tenon::Tensor& t) {
  GOOD(return tenon::try_zeros({3}).value_or(nullptr);)
  BAD(return tenon::try_zeros({3}).value_or(&t);)
}
#endif

// Two statements are not one.
// assign_without_braces: tenon_result_
#if defined(assign_without_braces)
tenon::Error f(bool again) {
  TENON_ASSIGN(auto t, tenon::try_zeros({2}));
  GOOD(if (again) { TENON_ASSIGN(t, tenon::try_zeros({3})); })
  BAD(if (again) TENON_ASSIGN(t, tenon::try_zeros({3}));)
  return t == nullptr ? tenon::Error::Internal : tenon::Error::Ok;
}
#endif

// The number would be the index, the text a value of `forward`.
// input_without_index: TextNeedsEValueNumberNeedsIndex|a number for a method needs its index
#if defined(input_without_index)
#include <tenon/module/module.h>
tenon::Error f(tenon::Module& m) {
  GOOD(return m.set_input("encode", 5, 0);)
  BAD(return m.set_input("encode", 5);)
}
#endif

// A module's function is not called with its inputs one by one.
// callable_of_tensors: CallableNeedsSpanOfEValue = |takes Span<const EValue>
#if defined(callable_of_tensors)
#include <tenon/module/function_module.h>
GOOD(auto f = [](tenon::Span<const tenon::EValue> in) { return in[0]; };)
BAD(auto f = [](tenon::Tensor image) { return image; };)
tenon::FunctionModule module(f, tenon::TensorSpec{{2}});
#endif

// For what describes a tensor too.
// print_sizes: NeedsTenonOstreamHeader|include <tenon/ostream.h>, or print to_string
#if defined(print_sizes)
#include <iostream>
#if defined(CONTROL)
#include <tenon/ostream.h>
#endif
void f(tenon::TensorPtr& t) { std::cout << t->sizes(); }
#endif

// A dim order is not sizes.
// dim_order_as_sizes: deleted function .*OrderIsAnOption|a DimOrder is neither sizes nor strides
#if defined(dim_order_as_sizes)
GOOD(auto t = tenon::zeros({1, 2}, tenon::DimOrder{1, 0});)
BAD(auto t = tenon::zeros(tenon::DimOrder{1, 2});)
#endif

// Nor strides, wherever those are given.
// dim_order_as_blob_strides: deleted function .*OrderIsAnOption|a DimOrder is neither
#if defined(dim_order_as_blob_strides)
float p[6];
GOOD(auto blob = tenon::Blob::of(p, {2, 3}, tenon::Strides{1, 2});)
BAD(auto blob = tenon::Blob::of(p, {2, 3}, tenon::DimOrder{1, 0});)
#endif
// dim_order_as_maker_strides: deleted function .*OrderIsAnOption|a DimOrder is neither
#if defined(dim_order_as_maker_strides)
float p[6];
GOOD(auto t = tenon::for_blob(p, {2, 3}).dim_order(tenon::DimOrder{1, 0}).make_tensor_ptr();)
BAD(auto t = tenon::for_blob(p, {2, 3}).strides(tenon::DimOrder{1, 0}).make_tensor_ptr();)
#endif
// dim_order_as_view_strides: deleted function .*OrderIsAnOption|a DimOrder is neither
#if defined(dim_order_as_view_strides)
tenon::TensorPtr t;
GOOD(auto v = as_strided(t, {2, 3}, tenon::Strides{1, 2});)
BAD(auto v = as_strided(t, {2, 3}, tenon::DimOrder{1, 0});)
#endif
// dim_order_as_creator_strides: deleted function .*OrderIsAnOption|a DimOrder is neither
#if defined(dim_order_as_creator_strides)
GOOD(auto t = tenon::empty_strided({2, 3}, tenon::Strides{1, 2});)
BAD(auto t = tenon::empty_strided({2, 3}, tenon::DimOrder{1, 0});)
#endif

// A list needs braces, for strides and dimensions too.
// number_as_strides: NumberNeedsBraces|a list of strides needs braces
#if defined(number_as_strides)
tenon::TensorPtr t;
GOOD(auto v = as_strided(t, {2}, {1});)
BAD(auto v = as_strided(t, {2}, 1);)
#endif
// number_as_dimensions: NumberNeedsBraces|a list of dimensions needs braces
#if defined(number_as_dimensions)
tenon::TensorPtr t;
GOOD(auto v = permute(t, {0});)
BAD(auto v = permute(t, 0);)
#endif

// Strides are not sizes.
// strides_as_sizes: no match for call|no matching function
#if defined(strides_as_sizes)
GOOD(auto t = tenon::zeros({2, 3}, tenon::Strides{1, 2});)
BAD(auto t = tenon::zeros(tenon::Strides{2, 3});)
#endif

// A system without what shared memory takes.
// shm_on_another_system: interop/shm.h needs Linux
#if defined(shm_on_another_system)
#if !defined(CONTROL)
#undef __linux__
#endif
#include <tenon/interop/shm.h>
#endif

// A partner's header without the partner.
// executorch_missing: interop/executorch.h needs ExecuTorch
#if defined(executorch_missing)
#if !defined(CONTROL)
#include <tenon/interop/executorch.h>
#endif
#endif
