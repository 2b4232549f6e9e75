// SPDX-License-Identifier: MIT
// A text is no number.
// expect: conversion from 'const char.*Scalar
#include <tenon/tenon.h>

#if defined(CONTROL)
tenon::Scalar scalar = 42;
#else
tenon::Scalar scalar = "42";
#endif
