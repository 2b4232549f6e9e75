// SPDX-License-Identifier: MIT
// ExecuTorch's ET_SWITCH macros: they call a lambda, in which `alias` (here T) is the C++ type of a
// dtype:
//
//     ET_SWITCH_FLOAT_TYPES(t.scalar_type(), nullptr, "sum", T, [&] { return sum<T>(t); })
//
// Any other dtype raises InvalidState, as a failed ET_CHECK does. `context` is not used.
#pragma once

#include "tenon/compat/executorch_platform.h"

#define TENON_DETAIL_ET_SWITCH(type, name, ...)                                          \
  [&] {                                                                                  \
    switch (static_cast<int>(type)) { /* -Wswitch-enum wants all enumerators */          \
      __VA_ARGS__                                                                        \
      default:                                                                           \
        TENON_DETAIL_ET_LOG_AT(Fatal).fail(#type, "Unhandled dtype %s for %s",           \
                                           ::executorch::runtime::toString(type), name); \
    }                                                                                    \
  }()
#define TENON_DETAIL_ET_CASE(dtype, alias, ...)                                                  \
  case static_cast<int>(::executorch::aten::ScalarType::dtype): {                                \
    using alias =                                                                                \
        ::executorch::runtime::ScalarTypeToCppType<::executorch::aten::ScalarType::dtype>::type; \
    return __VA_ARGS__();                                                                        \
  }
// Below, `...` is `alias, lambda`.
#define TENON_DETAIL_ET_2(a, b, ...) \
  TENON_DETAIL_ET_CASE(a, __VA_ARGS__) TENON_DETAIL_ET_CASE(b, __VA_ARGS__)
#define TENON_DETAIL_ET_3(a, b, c, ...) \
  TENON_DETAIL_ET_2(a, b, __VA_ARGS__) TENON_DETAIL_ET_CASE(c, __VA_ARGS__)
#define TENON_DETAIL_ET_INTS(...) \
  TENON_DETAIL_ET_3(Byte, Char, Short, __VA_ARGS__) TENON_DETAIL_ET_2(Int, Long, __VA_ARGS__)
#define TENON_DETAIL_ET_REALS(...) \
  TENON_DETAIL_ET_INTS(__VA_ARGS__) TENON_DETAIL_ET_2(Float, Double, __VA_ARGS__)

#define ET_SWITCH_REAL_TYPES(type, context, name, ...) \
  TENON_DETAIL_ET_SWITCH(type, name, TENON_DETAIL_ET_REALS(__VA_ARGS__))
#define ET_SWITCH_REAL_TYPES_AND(a, type, context, name, ...) \
  TENON_DETAIL_ET_SWITCH(type, name,                          \
                         TENON_DETAIL_ET_REALS(__VA_ARGS__) TENON_DETAIL_ET_CASE(a, __VA_ARGS__))
#define ET_SWITCH_REAL_TYPES_AND2(a, b, type, context, name, ...) \
  TENON_DETAIL_ET_SWITCH(type, name,                              \
                         TENON_DETAIL_ET_REALS(__VA_ARGS__) TENON_DETAIL_ET_2(a, b, __VA_ARGS__))
#define ET_SWITCH_REAL_TYPES_AND3(a, b, c, type, context, name, ...) \
  TENON_DETAIL_ET_SWITCH(                                            \
      type, name, TENON_DETAIL_ET_REALS(__VA_ARGS__) TENON_DETAIL_ET_3(a, b, c, __VA_ARGS__))
#define ET_SWITCH_INT_TYPES(type, context, name, ...) \
  TENON_DETAIL_ET_SWITCH(type, name, TENON_DETAIL_ET_INTS(__VA_ARGS__))
#define ET_SWITCH_FLOAT_TYPES(...) ET_SWITCH_TWO_TYPES(Float, Double, __VA_ARGS__)
#define ET_SWITCH_FLOAT_TYPES_AND(a, ...) ET_SWITCH_THREE_TYPES(Float, Double, a, __VA_ARGS__)
#define ET_SWITCH_FLOAT_TYPES_AND2(a, b, ...) ET_SWITCH_FOUR_TYPES(Float, Double, a, b, __VA_ARGS__)
#define ET_SWITCH_TWO_TYPES(a, b, type, context, name, ...) \
  TENON_DETAIL_ET_SWITCH(type, name, TENON_DETAIL_ET_2(a, b, __VA_ARGS__))
#define ET_SWITCH_THREE_TYPES(a, b, c, type, context, name, ...) \
  TENON_DETAIL_ET_SWITCH(type, name, TENON_DETAIL_ET_3(a, b, c, __VA_ARGS__))
#define ET_SWITCH_FOUR_TYPES(a, b, c, d, type, context, name, ...) \
  TENON_DETAIL_ET_SWITCH(                                          \
      type, name, TENON_DETAIL_ET_2(a, b, __VA_ARGS__) TENON_DETAIL_ET_2(c, d, __VA_ARGS__))

#define ET_SWITCH_REALH_TYPES(...) ET_SWITCH_REAL_TYPES_AND(Half, __VA_ARGS__)
#define ET_SWITCH_REALB_TYPES(...) ET_SWITCH_REAL_TYPES_AND(Bool, __VA_ARGS__)
#define ET_SWITCH_REALHB_TYPES(...) ET_SWITCH_REAL_TYPES_AND2(Half, Bool, __VA_ARGS__)
#define ET_SWITCH_REALHBF16_TYPES(...) ET_SWITCH_REAL_TYPES_AND2(Half, BFloat16, __VA_ARGS__)
#define ET_SWITCH_REALHBBF16_TYPES(...) ET_SWITCH_REAL_TYPES_AND3(Half, Bool, BFloat16, __VA_ARGS__)
#define ET_SWITCH_FLOATH_TYPES(...) ET_SWITCH_FLOAT_TYPES_AND(Half, __VA_ARGS__)
#define ET_SWITCH_FLOATHBF16_TYPES(...) ET_SWITCH_FLOAT_TYPES_AND2(Half, BFloat16, __VA_ARGS__)
