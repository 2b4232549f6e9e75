// SPDX-License-Identifier: MIT
// What bench_python.py calls, all by the same binder, so that calls cost the same.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <tenon/interop/nanobind.h>
#include <tenon/tenon.h>

namespace nb = nanobind;

NB_MODULE(bench_python_module, m) {
  m.def("nothing", [](nb::handle) {});
  m.def("from_python", [](nb::handle object) { tenon::from_python(object.ptr()); });
  m.def("through", [](const tenon::TensorPtr&) {});
  m.def("through_and_back", [](tenon::TensorPtr tensor) { return tensor; });
  m.def("ndarray", [](const nb::ndarray<>&) {});
  m.def("ndarray_and_back", [](nb::ndarray<nb::numpy> array) { return array; });
}
