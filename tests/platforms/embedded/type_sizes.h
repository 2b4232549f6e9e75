// SPDX-License-Identifier: MIT
// What the types weigh, in bytes, as in the table of docs/embedded.md.
#pragma once

#include <cstddef>
#include <utility>

#include "tenon/module/evalue.h"
#include "tenon/tenon.h"

namespace tests {

struct TypeSize {
  const char* name;
  size_t bytes;
  size_t expected;
};

constexpr size_t either(size_t with_32_bits, size_t with_64_bits) {
  return sizeof(void*) == 4 ? with_32_bits : with_64_bits;
}

// On bare metal lists of dimensions hold fewer inline.
inline constexpr TypeSize kTypeSizes[] = {
    {"Tensor", sizeof(tenon::Tensor), 2 * sizeof(void*)},
    {"TensorPtr", sizeof(tenon::TensorPtr), sizeof(void*)},
    {"TensorImpl", sizeof(tenon::TensorImpl), TENON_BARE_METAL ? 152 : either(184, 256)},
    {"Dims", sizeof(tenon::Dims), 8 * TENON_INLINE_DIMS + either(8, 16)},
    {"Deleter", sizeof(tenon::Deleter), either(24, 48)},
    {"EValue", sizeof(tenon::EValue), 8 + 2 * sizeof(void*)},
    {"TensorView", sizeof(tenon::TensorView), either(32, 56)},
    {"Scalar", sizeof(tenon::Scalar), 32},
    {"Blob", sizeof(tenon::Blob), TENON_BARE_METAL ? 120 : either(152, 184)},
};

}  // namespace tests
