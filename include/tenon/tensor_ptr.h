// SPDX-License-Identifier: MIT
// Tensors over the caller's memory and values, with views, resizing, clones and copies: enough for
// many programs, and faster to compile than tenon.h, which includes it.
//
// For creators such as zeros(), random numbers, cat(), lists of tensors, printing, Blob and DLPack
// include tenon.h. Even with TENON_COMPILED each file compiles the large functions that it uses.
#pragma once

#include "tenon/config.h"

#include "tenon/core/dims.h"
#include "tenon/core/error.h"
#include "tenon/core/result.h"
#include "tenon/core/scalar_type.h"

#include "tenon/tensor/access.h"
#include "tenon/tensor/accessor.h"
#include "tenon/tensor/clone.h"
#include "tenon/tensor/contiguous.h"
#include "tenon/tensor/copy_plan.h"
#include "tenon/tensor/data.h"
#include "tenon/tensor/resize.h"
#include "tenon/tensor/tensor.h"
#include "tenon/tensor/tensor_impl.h"
#include "tenon/tensor/tensor_ptr.h"
#include "tenon/tensor/tensor_ptr_maker.h"
#include "tenon/tensor/view.h"
