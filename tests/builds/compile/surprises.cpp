// SPDX-License-Identifier: MIT
// What surprised those who read the library for the first time, and what it means now: a case for each,
// `#if defined(name)`, with a line `// name: outcome`:
//   runs               the program compiles, and returns 0
//   a regex            it does not compile, as in cases.cpp; GOOD is what must compile instead
//   does not link      if one of two files has the flags
// Flags, which stand before the outcome, leave out the precompiled headers.
// docs/coming_from.md has them in a table.
#if defined(forward_declaration)
#include <tenon/fwd.h>
void draw(const tenon::Tensor& t);
#elif defined(dlpack_beside)
#if __has_include(<dlpack/dlpack.h>)
#include <dlpack/dlpack.h>
#else
struct DLTensor {
  void* data;
};
#endif
#elif defined(own_names)
#include <string>
struct Random {};
struct Empty {};
struct Iota {};
struct MakeTensor {};
struct Layout {};
struct Text {};
struct Values {};
#endif

#include <functional>
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

using namespace tenon;

// 1. A Blob over a typed pointer has the pointer's dtype; without a dtype it is not Float.
// blob_of_ints: runs
#if defined(blob_of_ints)
int main() {
  int ints[2] = {1, 2};
  auto t = zeros({2});
  const Error error = assign(t, Blob{ints, {2}});
  const std::string text = last_error_message();
  if (error == Error::Ok || text.find("dtype") == text.npos) return 1;
  return assign(t, Blob::of(ints, {2})) != Error::Ok || data<float>(t)[1] != 2.0f;
}
#endif

// 2. So do bytes with a typed pointer.
// assign_ints: runs
#if defined(assign_ints)
int main() {
  int ints[2] = {1, 2};
  auto t = zeros({2});
  if (assign(t, ints, sizeof ints) != Error::InvalidType || data<float>(t)[0] != 0.0f) return 1;
  if (copy_to(t, ints, sizeof ints) != Error::InvalidType || ints[0] != 1) return 2;
  return assign(t, static_cast<void*>(ints), sizeof ints) != Error::Ok;
}
#endif

// 3. A placeholder takes memory of its dtype.
// placeholder_of_ints: runs
#if defined(placeholder_of_ints)
int main() {
  int ints[2] = {1, 2};
  float floats[2] = {1, 2};
  auto t = make_tensor_ptr({2}, nullptr);
  if (set_data(t, ints) != Error::InvalidType || const_data_ptr(t) != nullptr) return 1;
  return set_data(t, floats) != Error::Ok || data<float>(t)[1] != 2.0f;
}
#endif

// 4. Read-only memory needs no const_cast.
// const_blob: runs
#if defined(const_blob)
int main() {
  static const float table[2] = {1, 2};
  const Blob blob = Blob::of(table, {2});
  return !blob.readonly || !is_readonly(from_blob(blob)) || assign(zeros({2}), blob) != Error::Ok;
}
#endif

// 5. Printing a TensorPtr does not print an address.
// cout_of_pointer -std=c++20: NeedsTenonOstreamHeader|include <tenon/ostream.h>, or print to_string
#if defined(cout_of_pointer)
#include <iostream>
GOOD(void f(TensorPtr& t) { std::cout << to_string(t); })
BAD(void f(TensorPtr& t) { std::cout << t; })
#endif

// 6. A reference into a temporary TensorPtr. std::unique_ptr's operator* cannot be forbidden: a value
// keeps the tensor, and reads through a temporary are fine.
// value_of_temporary: runs
#if defined(value_of_temporary)
int main() {
  const Tensor t = *ones({2});
  return data<float>(t)[1] != 1.0f || (*ones({2, 3})).numel() != 6;
}
#endif

// 7. reshape and flatten copy where a view is impossible, as ATen's and NumPy's; view never copies.
// reshape_of_transposed: runs
#if defined(reshape_of_transposed)
int main() {
  auto t = make_tensor_ptr({2, 2}, {1, 2, 3, 4});
  const Tensor turned = transpose(t, 0, 1);
  const Tensor flat = flatten(turned), shaped = reshape(turned, {4});
  if (data<int>(flat)[1] != 3 || data<int>(shaped)[1] != 3 || flat.is_alias_of(*t)) return 1;
  if (!reshape(t, {4}).is_alias_of(*t) || !flatten(t).is_alias_of(*t)) return 2;
  return try_view(turned, {4}).error() != Error::NotSupported;
}
#endif

// 8. flip is a view, as NumPy's; ATen's copies.
// flip_is_a_view: runs
#if defined(flip_is_a_view)
int main() {
  auto t = make_tensor_ptr({1, 2, 3});
  const Tensor mirrored = flip(t, {0});
  accessor<int, 1>(mirrored)[0] = 30;
  return data<int>(t)[2] != 30;
}
#endif

// 9. set_data means one thing.
// set_data_member: runs
#if defined(set_data_member)
int main() {
  float floats[2] = {5, 6};
  auto owned = zeros({2});
  auto placeholder = make_tensor_ptr({2}, nullptr);
  placeholder->set_data(floats);
  if (data<float>(placeholder)[1] != 6.0f) return 1;
  if (set_data(owned, floats) != Error::Ok || data<float>(owned)[1] != 6.0f) return 2;
  auto other = zeros({2});
  other->set_data(floats);
  return data<float>(other)[1] != 6.0f;
}
#endif

// 10. Room is reserved in bytes, and the name says so.
// reserve_bytes: runs
#if defined(reserve_bytes)
int main() {
  auto t = make_tensor_ptr({2}, {1.0f, 2.0f}, ScalarType::Float, TensorShapeDynamism::DYNAMIC);
  if (reserve_nbytes(t, 100 * sizeof(float)) != Error::Ok) return 1;
  const void* const before = const_data_ptr(t);
  return resize_tensor_ptr(t, {100}) != Error::Ok || const_data_ptr(t) != before;
}
#endif

// 11. A value that does not fit is an error, in a list and in a container.
// values_that_do_not_fit: runs
#if defined(values_that_do_not_fit)
int main() {
  const std::vector<int> values = {300, 1};
  if (try_make_tensor_ptr({300, 1}, ScalarType::Byte).ok()) return 1;
  return try_make_tensor_ptr({2}, values, ScalarType::Byte).ok() ||
         !try_make_tensor_ptr({2}, std::vector<int>{255, 1}, ScalarType::Byte).ok();
}
#endif
// The characters of a text above 127 are negative where char is signed; from_bytes takes the bytes.
// A 2 is no value of full() for a Bool; in a list the type Int is refused, whatever its values.
// values_for_bool_and_bytes: runs
#if defined(values_for_bool_and_bytes)
int main() {
  const std::string text = "\xc3\xa4";
  if (data<uint8_t>(from_bytes({2}, text, kByte))[0] != 0xc3) return 1;
  if (try_full({2}, 2, kBool).error() != Error::InvalidArgument) return 2;
  if (try_make_tensor_ptr(2, kBool).error() != Error::InvalidType) return 3;
  return !data<bool>(full({2}, true, kBool))[1] || !item<bool>(make_tensor_ptr(true));
}
#endif

// 12. CastMode::Checked checks the pair of dtypes, as canCast() does. A tensor's integers wrap, as in
// C++; Saturate clamps them.
// checked_casts: runs
#if defined(checked_casts)
int main() {
  const auto floats = make_tensor_ptr({1.5f, 2.0f});
  const auto integers = make_tensor_ptr({300, 1});
  if (try_to(floats, ScalarType::Int, CastMode::Checked).error() != Error::InvalidType) return 1;
  if (data<uint8_t>(to(integers, ScalarType::Byte, CastMode::Checked))[0] != 44) return 2;
  return data<uint8_t>(to(integers, ScalarType::Byte, CastMode::Saturate))[0] != 255;
}
#endif

// 13. What shares a tensor, and what views it.
// share_or_view: runs
#if defined(share_or_view)
int main() {
  auto t = make_tensor_ptr({2}, {1.0f, 2.0f}, ScalarType::Float, TensorShapeDynamism::DYNAMIC);
  const TensorPtr same = share(t);
  if (resize_tensor_ptr(t, {50}) != Error::Ok || same->size(0) != 50) return 1;
  const Tensor whole = view(t);
  return resize_tensor_ptr(t, {5000}) != Error::InUse || whole.size(0) != 50;
}
#endif

// 14. Lists say what they are: the positional third list is from_blob's strides, as ATen's, and
// make_tensor_ptr's dim order, as ExecuTorch's.
// third_list: runs
#if defined(third_list)
int main() {
  float memory[6] = {0, 1, 2, 3, 4, 5};
  auto by_strides = from_blob(memory, {2, 3}, Strides{1, 2});
  auto by_order = make_tensor_ptr({2, 3}, memory, DimOrder{1, 0});
  auto both_ways = make_tensor_ptr({2, 3}, memory, Strides{1, 2});
  if (from_blob(memory, {2, 3}, {1, 2})->stride(1) != 2) return 1;
  if (make_tensor_ptr({2, 3}, memory, {1, 0})->stride(1) != 2) return 2;
  return by_strides->stride(1) != 2 || by_order->stride(1) != 2 || both_ways->stride(1) != 2;
}
#endif

// 15. Another T is an error that a program without exceptions can handle.
// wrong_element_type -fno-exceptions: runs
#if defined(wrong_element_type)
int main() {
  auto t = zeros({2});
  if (try_data<int>(t).error() != Error::InvalidType) return 1;
  return !try_data<float>(t).ok() || try_item<float>(t).error() != Error::InvalidArgument ||
         try_accessor<float, 2>(t).error() != Error::InvalidArgument;
}
#endif

// 16. A Result has another value in place of an error.
// result_value_or: runs
#if defined(result_value_or)
int main() {
  const TensorPtr t = try_zeros({-1}).value_or(ones({3}));
  return t->numel() != 3;
}
#endif

// 17. A program's own names stay its own after `using namespace tenon`.
// own_names -O0: runs
#if defined(own_names)
int main() {
  Random random;
  Empty empty_one;
  Iota iota_one;
  MakeTensor maker;
  Layout layout;
  Text text;
  Values values;
  (void)random, (void)empty_one, (void)iota_one, (void)maker, (void)layout, (void)text,
      (void)values;
  return zeros({2})->numel() != 2;
}
#endif

// 18. dlpack.h's structs beside tenon's.
// dlpack_beside -O0: runs
#if defined(dlpack_beside)
int main() {
  DLTensor theirs{};
  tenon::dlpack::DLTensor ours{};
  return theirs.data != ours.data;
}
#endif

// 19. Functions are called, not stored: a lambda stores a call, as for the standard library's.
// stored_function: runs
#if defined(stored_function)
int main() {
  const std::function<TensorPtr(int64_t)> make = [](int64_t n) { return rand({n}); };
  const std::function<Tensor(const Tensor&)> first = [](const Tensor& t) {
    return select(t, 0, 0);
  };
  return make(3)->numel() != 3 || first(*zeros({2, 3})).numel() != 3;
}
#endif

// 20. clone(t) copies the tensor; Linux has a clone(2) too.
// clone_of_tensor: runs
#if defined(clone_of_tensor)
#include <sched.h>
int main() {
  auto t = ones({2});
  const TensorPtr copy = clone(t);
  return copy->is_alias_of(*t) || data<float>(copy)[1] != 1.0f;
}
#endif

// 21. A slice without bounds is everything.
// slice_without_bounds: runs
#if defined(slice_without_bounds)
int main() {
  auto t = zeros({5, 2});
  return slice(t, 0).size(0) != 5 || slice(t, 0, 2).size(0) != 3 ||
         slice(t, 0, 0, 5, 2).size(0) != 3;
}
#endif

// 22. Files that differ in TENON_INLINE_DIMS do not link.
// inline_dims -DTENON_INLINE_DIMS=8: does not link
#if defined(inline_dims)
Blob make_blob(float* data);
#if defined(PART)
Blob make_blob(float* data) { return Blob{data, {1, 2}, {}, ScalarType::Float}; }
#else
int main() {
  float memory[2] = {};
  return make_blob(memory).sizes.size() != 2;
}
#endif
#endif

// 23. Nor do files of another epoch, in which Backend may have another virtual function.
// other_epoch -DOTHER_EPOCH: does not link
#if defined(other_epoch)
Error fill(Backend& backend);
#if defined(PART)
Error fill(Backend& backend) { return fill_(zeros({2}, backend), 1); }
#else
int main() { return fill(host_backend()) != Error::Ok; }
#endif
#endif

// 24. Calls that nearly compile say what to write: a deleter without a type,
// deleter_after_pointer: TypeDynamismDeleterThenOptions|type, dynamism, deleter is the order
#if defined(deleter_after_pointer)
float memory[2];
GOOD(auto t = make_tensor_ptr({2}, memory, ScalarType::Float, TensorShapeDynamism::STATIC,
                              [](void*) {});)
BAD(auto t = make_tensor_ptr({2}, memory, [](void*) {});)
#endif
// characters,
// list_of_characters: CharactersNeedStdString|characters are elements in a std::string
#if defined(list_of_characters)
GOOD(auto t = make_tensor_ptr({int8_t('a'), int8_t('b')});)
BAD(auto t = make_tensor_ptr({'a', 'b'});)
#endif
// and a device by its name.
// device_by_name: TextNeedsDevice|and Device.*cuda|a device is Device
#if defined(device_by_name)
GOOD(auto t = zeros({2}, Device("cpu"));)
BAD(auto t = zeros({2}, "cpu");)
#endif

// 25. A header names tenon's types without including the library.
// forward_declaration -O0: runs
#if defined(forward_declaration)
void draw(const Tensor& t) { (void)t.numel(); }
int main() {
  draw(*zeros({2}));
  return 0;
}
#endif
