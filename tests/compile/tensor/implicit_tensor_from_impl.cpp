// SPDX-License-Identifier: MIT
// A borrowing handle is made on purpose.
// expect: conversion from 'tenon::.*TensorImpl.*to .*Tensor'
#include <tenon/tenon.h>

#if defined(CONTROL)
void f(tenon::TensorImpl* impl) { tenon::Tensor tensor(impl); }
#else
void f(tenon::TensorImpl* impl) { tenon::Tensor tensor = impl; }
#endif
