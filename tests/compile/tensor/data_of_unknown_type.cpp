// SPDX-License-Identifier: MIT
// A tensor has no elements of a type that has no dtype.
// expect: 'value' .*CppTypeToScalarType<Pixel
#include <tenon/tenon.h>

#if defined(CONTROL)
void f(const tenon::Tensor& t) { t.data_ptr<float>(); }
#else
struct Pixel {};
void f(const tenon::Tensor& t) { t.data_ptr<Pixel>(); }
#endif
