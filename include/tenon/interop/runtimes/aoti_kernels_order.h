// SPDX-License-Identifier: MIT
// Kernels that sort, search, count and scan along a dimension.
#pragma once

#include "tenon/interop/runtimes/aoti_kernel_tools.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// Replaces each element of a row by `next(so far, element)`.
template <class Next>
AOTITorchError scan_rows(const char* function, AtenTensorHandle self, int64_t dim,
                         const int32_t* dtype, AtenTensorHandle* ret, const Next& next) noexcept {
  return aoti_answer(function, [&] {
    Tensor given;
    TENON_TRY(read_aoti(self, "the input", given));
    size_t d = 0;
    TENON_TRY(read_dim(dim, given.sizes().size(), d));
    const ScalarType own = given.scalar_type();
    const ScalarType type = dtype != nullptr            ? type_of_torch_number(*dtype)
                            : isIntegralType(own, true) ? ScalarType::Long
                                                        : own;
    if (type == ScalarType::Undefined) {
      return fail(Error::NotSupported, "torch's dtype ", *dtype, " is not one of tenon's");
    }
    Tensor dense;
    TENON_TRY(make_dense(given, computed_type(type), dense));
    AotiResult result;
    TENON_TRY(result.make(given.sizes(), type, computed_type(type)));
    TENON_TRY(on_computed_type(type, [&](auto zero) {
      using T = decltype(zero);
      const DenseRows rows(given.sizes(), d);
      const T* const from = dense_data<T>(dense);
      T* const to = result.data<T>();
      rows.each([&](int64_t begin) {
        for (int64_t i = 0; i < rows.count; ++i) {
          const int64_t at = begin + i * rows.inner;
          to[at] = i == 0 ? from[at] : next(to[at - rows.inner], from[at]);
        }
      });
      return Error::Ok;
    }));
    return result.finish(ret);
  });
}

#pragma GCC visibility push(default)
extern "C" {

AOTITorchError aoti_torch_cpu_cumsum(AtenTensorHandle self, int64_t dim, int32_t* dtype,
                                     AtenTensorHandle* ret0) {
  return scan_rows(__func__, self, dim, dtype, ret0, [](auto sum, auto x) { return sum + x; });
}

}  // extern "C"
#pragma GCC visibility pop

}  // namespace detail
TENON_END_NAMESPACE
