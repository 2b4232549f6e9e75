// SPDX-License-Identifier: MIT
// A dtype is named, not numbered.
// expect: conversion from 'int' to .*TypeArg
#include <tenon/tenon.h>

#if defined(CONTROL)
tenon::TypeArg type = tenon::ScalarType::Float;
#else
tenon::TypeArg type = 6;
#endif
