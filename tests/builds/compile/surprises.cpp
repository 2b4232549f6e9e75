// SPDX-License-Identifier: MIT
// What surprised those who read the library for the first time (docs/coming_from.md), where it is about compiling or linking:
// `#if defined(name)`, with a line `// name: outcome`:
//   runs               the program compiles, and returns 0
//   a regex            it does not compile, as in cases.cpp; GOOD is what must compile instead
//   does not link      if one of two files has the flags
// Flags, which stand before the outcome, leave out the precompiled headers.
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

// Printing a TensorPtr does not print an address.
// cout_of_pointer -std=c++20: NeedsTenonOstreamHeader|include <tenon/ostream.h>, or print to_string
#if defined(cout_of_pointer)
#include <iostream>
GOOD(void f(TensorPtr& t) { std::cout << to_string(t); })
BAD(void f(TensorPtr& t) { std::cout << t; })
#endif

// A program's own names stay its own after `using namespace tenon`.
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

// dlpack.h's structs beside tenon's.
// dlpack_beside -O0: runs
#if defined(dlpack_beside)
int main() {
  DLTensor theirs{};
  tenon::dlpack::DLTensor ours{};
  return theirs.data != ours.data;
}
#endif

// Functions are called, not stored: a lambda stores a call, as for the standard library's.
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

// clone(t) copies the tensor; Linux has a clone(2) too.
// clone_of_tensor: runs
#if defined(clone_of_tensor)
#include <sched.h>
int main() {
  auto t = ones({2});
  const TensorPtr copy = clone(t);
  return copy->is_alias_of(*t) || data<float>(copy)[1] != 1.0f;
}
#endif

// A slice without bounds is everything.
// slice_without_bounds: runs
#if defined(slice_without_bounds)
int main() {
  auto t = zeros({5, 2});
  return slice(t, 0).size(0) != 5 || slice(t, 0, 2).size(0) != 3 ||
         slice(t, 0, 0, 5, 2).size(0) != 3;
}
#endif

// Files that differ in TENON_INLINE_DIMS do not link.
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

// Nor do files of another epoch, in which Backend may have another virtual function.
// other_epoch -DOTHER_EPOCH: does not link
#if defined(other_epoch)
Error fill(Backend& backend);
#if defined(PART)
Error fill(Backend& backend) { return fill_(zeros({2}, backend), 1); }
#else
int main() { return fill(host_backend()) != Error::Ok; }
#endif
#endif

// Calls that nearly compile say what to write: a deleter without a type,
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

// A header names tenon's types without including the library.
// forward_declaration -O0: runs
#if defined(forward_declaration)
void draw(const Tensor& t) { (void)t.numel(); }
int main() {
  draw(*zeros({2}));
  return 0;
}
#endif
