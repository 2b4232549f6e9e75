// SPDX-License-Identifier: MIT
// The header by which the Arduino tools find the library; tenon/... can be included after it.
#pragma once

#include "tenon/tenon.h"
