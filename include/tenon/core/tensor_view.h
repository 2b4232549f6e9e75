// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/config.h"
#include "tenon/core/device.h"
#include "tenon/core/dims.h"
#include "tenon/core/scalar_type.h"

TENON_BEGIN_NAMESPACE

/// Memory described, not owned: what kernels and backends work on.
///
/// Ownership: none; whoever makes a view keeps the memory alive. `data` is element 0, which with a
/// negative stride is not the lowest address. Strides are in elements.
struct TensorView {
  void* data = nullptr;
  ScalarType type = ScalarType::Undefined;
  Device device;
  Dims sizes;
  Dims strides;
};

TENON_END_NAMESPACE
