// SPDX-License-Identifier: MIT
// The module tenon_test_pybind11, for python/test_pybind11.py.
#include "tenon/interop/pybind11.h"

#include <pybind11/stl.h>

#include "python/bound_functions.h"

namespace py = pybind11;

PYBIND11_MODULE(tenon_test_pybind11, m) {
  tenon::register_pybind11_exceptions();

  m.def("share", &bound::share);
  m.def("strict", &bound::share, py::arg("t").noconvert());
  m.def("address", &bound::address);
  m.def("share_handle", &bound::share_handle);
  m.def("shape_of", &bound::shape_of);
  m.def("fill", &bound::fill, py::call_guard<py::gil_scoped_release>());

  m.def("which", [](const tenon::TensorPtr&) { return "tensor"; });
  m.def("which", [](const std::string&) { return "text"; });
  m.def("which", [](const py::object&) { return "object"; });
  m.def(
      "which_strict", [](const tenon::Tensor&) { return "tensor"; }, py::arg("t").noconvert());
  m.def("which_strict", [](const py::object&) { return "object"; });
  m.def("number_or_tensor", [](int) { return "number"; });
  m.def("number_or_tensor", [](const tenon::TensorPtr&) { return "tensor"; });

  m.def("count", &bound::count);
  m.def("rows", &bound::rows);
  m.def("maybe", &bound::maybe, py::arg("t") = py::none());
  m.def("cast", [](const py::object& object) {
    auto t = object.cast<tenon::TensorPtr>();
    return py::cast(std::move(t));
  });

  m.def("null_pointer", &bound::null_pointer);
  m.def("undefined", &bound::undefined);
  m.def("fail", &bound::fail);
  m.def("import_and_throw", [](const py::object& object) { tenon::from_python(object.ptr()); });

  m.def("counted", &bound::counted);
  m.def("released", &bound::released);
  m.def("keep", &bound::keep);
  m.def("drop_elsewhere", &bound::drop_elsewhere, py::call_guard<py::gil_scoped_release>());
}
