// SPDX-License-Identifier: MIT
// from_arrow, to_arrow: convert between tensors and arrays of Arrow's C data interface, which share
// the memory. Does not need Arrow's library. For record batches and streams see
// interop/arrow_batch.h.
#pragma once

#include "tenon/interop/libraries/arrow_export.h"
#include "tenon/interop/libraries/arrow_import.h"
