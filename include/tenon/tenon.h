// SPDX-License-Identifier: MIT
// Tensors in memory: making, copying, viewing, resizing and exchanging them, and three backends.
// Include the other backends, expressions, values.h, module/, interop/, compat/ and ostream.h
// separately.
#pragma once

#include "tenon/config.h"

#include "tenon/core/array_ref.h"
#include "tenon/core/device.h"
#include "tenon/core/dims.h"
#include "tenon/core/error.h"
#include "tenon/core/generator.h"
#include "tenon/core/layout.h"
#include "tenon/core/numbers.h"
#include "tenon/core/result.h"
#include "tenon/core/scalar.h"
#include "tenon/core/scalar_type.h"
#include "tenon/core/tensor_view.h"

#include "tenon/backend/arena.h"
#include "tenon/backend/backend.h"
#include "tenon/backend/cpu.h"
#include "tenon/backend/registry.h"
#include "tenon/backend/template.h"

#include "tenon/tensor/access.h"
#include "tenon/tensor/accessor.h"
#include "tenon/tensor/cat.h"
#include "tenon/tensor/clone.h"
#include "tenon/tensor/contiguous.h"
#include "tenon/tensor/copy_plan.h"
#include "tenon/tensor/creators.h"
#include "tenon/tensor/data.h"
#include "tenon/tensor/deleter.h"
#include "tenon/tensor/dim_names.h"
#include "tenon/tensor/format.h"
#include "tenon/tensor/index.h"
#include "tenon/tensor/nonzero.h"
#include "tenon/tensor/random.h"
#include "tenon/tensor/resize.h"
#include "tenon/tensor/sequence.h"
#include "tenon/tensor/tensor.h"
#include "tenon/tensor/tensor_impl.h"
#include "tenon/tensor/tensor_ptr.h"
#include "tenon/tensor/tensor_ptr_maker.h"
#include "tenon/tensor/view.h"

#include "tenon/exchange/assign.h"
#include "tenon/exchange/binary.h"
#include "tenon/exchange/blob.h"
#include "tenon/exchange/dlpack.h"

#include "tenon/compiled.h"
#include "tenon/tensor_ptr.h"
