// SPDX-License-Identifier: MIT
// The module tenon_test_pybind11, for python/test_pybind11.py.
#include "tenon/interop/pybind11.h"

#include <pybind11/stl.h>

namespace binder = pybind11;
#include "python/bound_functions.h"

PYBIND11_MODULE(tenon_test_pybind11, m) {
  tenon::register_pybind11_exceptions();
  bound::bind(m, pybind11::arg("t"));
}
