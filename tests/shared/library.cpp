// SPDX-License-Identifier: MIT
// Either library: LIBRARY is its name.
#include "library.h"

#include <tenon/tenon.h>

namespace LIBRARY {

const void* generator() { return &tenon::default_generator(); }

uint64_t take() { return tenon::default_generator().advance(1); }

void seed(uint64_t value) { tenon::manual_seed(value); }

}  // namespace LIBRARY
