// SPDX-License-Identifier: MIT
// A range of floating values is no shape.
// expect: conversion from 'std::vector<float>'.*Dims|no viable conversion from 'std::vector<float>'
// to 'tenon::Dims'
#include <tenon/tenon.h>

#include <vector>

#if defined(CONTROL)
tenon::Dims dims = std::vector<int>{2, 3};
#else
tenon::Dims dims = std::vector<float>{2, 3};
#endif
