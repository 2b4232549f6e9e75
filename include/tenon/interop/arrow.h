// SPDX-License-Identifier: MIT
// from_arrow, to_arrow: arrays of Arrow's C data interface from and to tensors, over the same
// memory. Needs no Arrow. interop/arrow_batch.h has record batches and streams.
#pragma once

#include "tenon/interop/libraries/arrow_export.h"
#include "tenon/interop/libraries/arrow_import.h"
