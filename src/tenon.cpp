// SPDX-License-Identifier: MIT
// The one file of tenon::compiled.
#define TENON_COMPILING
#include "tenon/compiled.h"
