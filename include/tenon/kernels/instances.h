// SPDX-License-Identifier: MIT
// Compiling the kernels once, for programs of many files.
//
// The kernels are templates, so every file that uses one compiles it: some seconds. Include this
// header after tenon.h in all files to compile them in one file only, the one that defines
// TENON_INSTANTIATE_KERNELS before, and whose options say whether the kernels use OpenMP.
#pragma once

#include "tenon/config.h"
#include "tenon/kernels/convert.h"
#include "tenon/kernels/copy_elements.h"
#include "tenon/kernels/random_plan.h"

#if defined(TENON_INSTANTIATE_KERNELS)
#define TENON_DETAIL_INSTANCE template
#else
#define TENON_DETAIL_INSTANCE extern template
#endif

TENON_BEGIN_NAMESPACE
namespace detail {

TENON_DETAIL_INSTANCE void load_exact<void>(ScalarType, const void*, int64_t, void*) noexcept;
TENON_DETAIL_INSTANCE void store_exact<void>(ScalarType, void*, int64_t, ScalarType,
                                             const void*) noexcept;
TENON_DETAIL_INSTANCE void cast_elements<void>(ScalarType, void*, ScalarType, const void*, int64_t,
                                               CastMode) noexcept;
TENON_DETAIL_INSTANCE void fill_elements<void>(void*, int64_t, const void*, size_t) noexcept;
TENON_DETAIL_INSTANCE void transpose_plane<void>(const Plane&, size_t) noexcept;
TENON_DETAIL_INSTANCE void run_plan<void>(const CopyPlan&, CastFunction) noexcept;
TENON_DETAIL_INSTANCE void fill_uniform<void>(const RandomPlan&, const WordStream&, uint64_t,
                                              int64_t, void*) noexcept;
TENON_DETAIL_INSTANCE void fill_normal<void>(const RandomPlan&, const WordStream&, uint64_t,
                                             int64_t, void*) noexcept;
TENON_DETAIL_INSTANCE void fill_integers<void>(const RandomPlan&, const WordStream&, uint64_t,
                                               int64_t, void*) noexcept;
TENON_DETAIL_INSTANCE void random_elements<void>(const RandomPlan&, uint64_t, uint64_t, int64_t,
                                                 void*) noexcept;

}  // namespace detail
TENON_END_NAMESPACE

#undef TENON_DETAIL_INSTANCE
