// SPDX-License-Identifier: MIT
// Declares the large functions that the library tenon::compiled contains; its source file defines
// TENON_COMPILING. This header is empty without TENON_COMPILED, which the target tenon::compiled
// defines. The large functions use OpenMP if the library was built with it. The library is built in
// plain mode with exceptions and error texts. Files in another mode have another inline namespace
// and compile the functions themselves.
#pragma once

#include "tenon/backend/copy_between.h"
#include "tenon/config.h"
#include "tenon/kernels/convert.h"
#include "tenon/kernels/copy_elements.h"
#include "tenon/kernels/random_plan.h"
#include "tenon/tensor/copy.h"
#include "tenon/tensor/from_values.h"
#include "tenon/tensor/make.h"
#include "tenon/tensor/resize.h"

/// TENON_COMPILED: the large functions are declared, not defined. The target tenon::compiled
/// defines this macro, and its library contains these functions.
#if defined(TENON_COMPILING) || \
    (defined(TENON_COMPILED) && TENON_HAS_EXCEPTIONS && TENON_ERROR_TEXT && !TENON_ATEN_MODE)
#if defined(TENON_COMPILING)
#define TENON_DETAIL_INSTANCE template
#else
#define TENON_DETAIL_INSTANCE extern template
#endif

TENON_BEGIN_NAMESPACE
namespace detail {

TENON_DETAIL_INSTANCE void load_exact<void>(ScalarType, const void*, int64_t, void*) noexcept;
TENON_DETAIL_INSTANCE void store_exact<void>(ScalarType, void*, int64_t, ScalarType,
                                             const void*) noexcept;
TENON_DETAIL_INSTANCE void convert_elements<void>(ScalarType, void*, ScalarType, const void*,
                                                  int64_t, CastMode) noexcept;
TENON_DETAIL_INSTANCE void cast_elements<void>(const ElementPlan&) noexcept;
TENON_DETAIL_INSTANCE void fill_rows<void>(const FilledRows&) noexcept;
TENON_DETAIL_INSTANCE bool copy_plane<void>(const Plane&, size_t, PixelShuffle&) noexcept;
TENON_DETAIL_INSTANCE void run_plan<void>(const ElementPlan&, CastFunction) noexcept;
TENON_DETAIL_INSTANCE void fill_reals<UniformKernel<float>>(const RandomPlan&, const WordStream&,
                                                            uint64_t, int64_t, void*) noexcept;
TENON_DETAIL_INSTANCE void fill_reals<UniformKernel<double>>(const RandomPlan&, const WordStream&,
                                                             uint64_t, int64_t, void*) noexcept;
TENON_DETAIL_INSTANCE void fill_reals<NormalKernel<float>>(const RandomPlan&, const WordStream&,
                                                           uint64_t, int64_t, void*) noexcept;
TENON_DETAIL_INSTANCE void fill_reals<NormalKernel<double>>(const RandomPlan&, const WordStream&,
                                                            uint64_t, int64_t, void*) noexcept;
TENON_DETAIL_INSTANCE void fill_small_integers<void>(const RandomPlan&, const WordStream&, uint64_t,
                                                     int64_t, void*) noexcept;
TENON_DETAIL_INSTANCE void fill_integers<void>(const RandomPlan&, const WordStream&, uint64_t,
                                               int64_t, void*) noexcept;
TENON_DETAIL_INSTANCE void random_elements<void>(const RandomPlan&, uint64_t, uint64_t, int64_t,
                                                 void*) noexcept;

TENON_DETAIL_INSTANCE void plan_elements<void>(ElementPlan&, const TensorView&, const TensorView&,
                                               CastMode) noexcept;
TENON_DETAIL_INSTANCE struct CopyingState<void>;
TENON_DETAIL_INSTANCE Error allocate_in_backend<void>(const CreateOptions&, NewTensor&) noexcept;
TENON_DETAIL_INSTANCE Error allocate_owned<void>(const CreateOptions&, bool, NewTensor&) noexcept;
TENON_DETAIL_INSTANCE Error keep_values<void>(Values&, ConvertValues, const CreateOptions&,
                                              NewTensor&) noexcept;
TENON_DETAIL_INSTANCE Error of_element<void>(const void*, const CreateOptions&,
                                             NewTensor&) noexcept;
TENON_DETAIL_INSTANCE Error make_view<void>(const TensorArg&, const Dims&, const Dims&, const Dims&,
                                            int64_t, NewView&) noexcept;
TENON_DETAIL_INSTANCE Error grow<void>(const Tensor&, Resizable&, ptrdiff_t, ptrdiff_t, ptrdiff_t,
                                       const ArrayRef<int64_t>*) noexcept;
TENON_DETAIL_INSTANCE Error resize_slowly<void>(const Tensor&, Resizable&,
                                                ArrayRef<int64_t>) noexcept;
TENON_DETAIL_INSTANCE Error copy_checked<void>(const MemoryLocation&, const MemoryLocation&,
                                               CastMode, CopyPolicy, CastFunction) noexcept;
TENON_DETAIL_INSTANCE Error copy_normalized<void>(const MemoryLocation&, const MemoryLocation&,
                                                  const Normalize&, CastMode) noexcept;

}  // namespace detail
TENON_END_NAMESPACE

#undef TENON_DETAIL_INSTANCE
#endif
