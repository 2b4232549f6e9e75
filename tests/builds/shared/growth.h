// SPDX-License-Identifier: MIT
// A library of today, for a host whose tenon is of a later minor version: it has functions in reserved
// places.
#pragma once

#include <tenon/module/function_module.h>
#include <tenon/tenon.h>

extern "C" {
tenon::Backend* growth_backend();
tenon::DeviceBackend* growth_device();
tenon::Module* growth_module();
int growth_calls();  // of the functions that these classes have beside tenon's
}
