// SPDX-License-Identifier: MIT
#pragma once
#include "tenon/compat/executorch_platform.h"
