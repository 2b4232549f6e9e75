// SPDX-License-Identifier: MIT
// The functions of torch/csrc/inductor/aoti_torch/generated/c_shim_cpu.h, as plain loops on tenon's
// tensors. Compiled models call them for operators for which AOTInductor generates no code:
// indexing, sorting, scans, pooling, random numbers and others. Matrix products and convolutions
// are in interop/aoti_onednn.h, Fourier transforms in interop/aoti_fft.h.
//
// Include this header in one source file of the program, beside interop/aoti_shim.h, and export the
// functions when you link it, as that header says. Kernels run on the calling thread.
#pragma once

#include "tenon/interop/runtimes/aoti_kernels_attention.h"
#include "tenon/interop/runtimes/aoti_kernels_bags.h"
#include "tenon/interop/runtimes/aoti_kernels_complex.h"
#include "tenon/interop/runtimes/aoti_kernels_copies.h"
#include "tenon/interop/runtimes/aoti_kernels_counting.h"
#include "tenon/interop/runtimes/aoti_kernels_distributions.h"
#include "tenon/interop/runtimes/aoti_kernels_eigenvalues.h"
#include "tenon/interop/runtimes/aoti_kernels_grouped_products.h"
#include "tenon/interop/runtimes/aoti_kernels_indexing.h"
#include "tenon/interop/runtimes/aoti_kernels_linalg.h"
#include "tenon/interop/runtimes/aoti_kernels_linear_algebra.h"
#include "tenon/interop/runtimes/aoti_kernels_masks.h"
#include "tenon/interop/runtimes/aoti_kernels_moving.h"
#include "tenon/interop/runtimes/aoti_kernels_norm.h"
#include "tenon/interop/runtimes/aoti_kernels_operators.h"
#include "tenon/interop/runtimes/aoti_kernels_order.h"
#include "tenon/interop/runtimes/aoti_kernels_pointwise.h"
#include "tenon/interop/runtimes/aoti_kernels_products.h"
#include "tenon/interop/runtimes/aoti_kernels_random.h"
#include "tenon/interop/runtimes/aoti_kernels_resize.h"
#include "tenon/interop/runtimes/aoti_kernels_sampling.h"
#include "tenon/interop/runtimes/aoti_kernels_scan.h"
#include "tenon/interop/runtimes/aoti_kernels_scatter.h"
#include "tenon/interop/runtimes/aoti_kernels_search.h"
#include "tenon/interop/runtimes/aoti_kernels_solve.h"
#include "tenon/interop/runtimes/aoti_kernels_views.h"
#include "tenon/interop/runtimes/aoti_kernels_windows.h"

TENON_BEGIN_NAMESPACE
namespace detail {

inline Error provide_aoti_operators() {
  TENON_TRY(provide_operators(kAotiOperators));
  TENON_TRY(provide_operators(kCopyOperators));
  TENON_TRY(provide_operators(kLinalgOperators));
  TENON_TRY(provide_operators(kResizeOperators));
  return provide_complex_operators();
}
/// Initialised before main(), so that a model finds the operators when it is loaded.
[[maybe_unused]] const Error kProvidedAotiOperators = provide_aoti_operators();

}  // namespace detail
TENON_END_NAMESPACE
