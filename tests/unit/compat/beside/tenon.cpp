// SPDX-License-Identifier: MIT
#define CALLS call_tenon
#include "calls.h"
