// SPDX-License-Identifier: MIT
// The module tenon_test_nanobind, for python/test_nanobind.py.
#include "tenon/interop/nanobind.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

namespace binder = nanobind;
#include "python/bound_functions.h"

NB_MODULE(tenon_test_nanobind, m) {
  tenon::register_nanobind_exceptions();
  bound::bind(m, nanobind::arg("t").none());
}
