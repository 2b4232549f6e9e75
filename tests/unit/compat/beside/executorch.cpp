// SPDX-License-Identifier: MIT
#define CALLS call_executorch
#include "calls.h"
