// SPDX-License-Identifier: MIT
// What the tests of include/tenon/kernels share: every instruction set in turn, all element types,
// how much to try.
#pragma once

#include <cstddef>

#include "support/catch.h"
#include "support/shapes.h"
#include "tenon/core/scalar_type.h"
#include "tenon/kernels/dispatch.h"
#include "tensor/helpers.h"

namespace tests {

/// Whether to try all there is. Unoptimised and sanitised builds are some twenty times slower, and
/// try a sample.
#if defined(__OPTIMIZE__)
inline constexpr bool kThorough = true;
#else
inline constexpr bool kThorough = false;
#endif

/// Has the kernels use an instruction set until the end of the scope.
class IsaScope {
 public:
  explicit IsaScope(tenon::detail::Isa level) noexcept : before_(tenon::detail::isa()) {
    tenon::detail::isa() = level;
  }
  IsaScope(const IsaScope&) = delete;
  IsaScope& operator=(const IsaScope&) = delete;
  ~IsaScope() { tenon::detail::isa() = before_; }

 private:
  tenon::detail::Isa before_;
};

/// Calls f() with each instruction set of this build that the processor has.
template <class F>
void for_each_isa(F&& f) {
  using tenon::detail::Isa;
  [[maybe_unused]] constexpr const char* kNames[] = {"Baseline", "Avx2", "Avx512"};
  for (Isa level : {Isa::Baseline, Isa::Avx2, Isa::Avx512}) {
    if (level > tenon::detail::detect_isa()) return;  // dispatch_test.cpp says which
    const IsaScope scope(level);
    INFO("instruction set: " << kNames[static_cast<int>(level)]);
    f();
  }
}

inline constexpr size_t kElementSizes[] = {1, 2, 4, 8, 16};

inline constexpr tenon::ScalarType kAllTypes[] = {
#define TENON_TESTS_NAME(cpp_type, name) tenon::ScalarType::name,
    TENON_FORALL_SCALAR_TYPES(TENON_TESTS_NAME)
#undef TENON_TESTS_NAME
};

}  // namespace tests
