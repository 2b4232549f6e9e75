// SPDX-License-Identifier: MIT
// An element is a number.
// expect: 'value' .*CppTypeToScalarType<std::.*basic_string
#include <tenon/tenon.h>

#include <string>

#if defined(CONTROL)
double f(const tenon::Tensor& t) { return t.item<double>(); }
#else
std::string f(const tenon::Tensor& t) { return t.item<std::string>(); }
#endif
