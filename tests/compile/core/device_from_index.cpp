// SPDX-License-Identifier: MIT
// An index alone is no device: 0 would be a null text.
// expect: deleted function .*IndexWithoutDeviceType|invokes a deleted function
#include <tenon/core/device.h>

#if defined(CONTROL)
tenon::Device device(tenon::DeviceType::CUDA, 0);
#else
tenon::Device device = 0;
#endif
