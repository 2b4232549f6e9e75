// SPDX-License-Identifier: MIT
// DLPack exports and imports: see docs/dlpack.md.
#pragma once

#include "tenon/exchange/dlpack_export.h"
#include "tenon/exchange/dlpack_import.h"
#include "tenon/exchange/dlpack_types.h"
