// SPDX-License-Identifier: MIT
// Hands a list to a file that may have been built with another switch: then the two do not link.
#include <tenon/core/dims.h>

size_t rank_of(const tenon::Dims& sizes);

int main() { return rank_of({2, 3}) == 2 ? 0 : 1; }
