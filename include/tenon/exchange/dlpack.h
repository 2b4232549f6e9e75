// SPDX-License-Identifier: MIT
// DLPack both ways. docs/dlpack.md: what is given out, and what is taken.
#pragma once

#include "tenon/exchange/dlpack_check.h"
#include "tenon/exchange/dlpack_export.h"
#include "tenon/exchange/dlpack_import.h"
#include "tenon/exchange/dlpack_types.h"
