// SPDX-License-Identifier: MIT
// The module tenon_test_nanobind, for python/test_nanobind.py.
#include "tenon/interop/nanobind.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>

#include "python/bound_functions.h"

namespace nb = nanobind;

NB_MODULE(tenon_test_nanobind, m) {
  tenon::register_nanobind_exceptions();

  m.def("share", &bound::share);
  m.def("strict", &bound::share, nb::arg("t").noconvert());
  m.def("address", &bound::address);
  m.def("share_handle", &bound::share_handle);
  m.def("shape_of", &bound::shape_of);
  m.def("fill", &bound::fill, nb::call_guard<nb::gil_scoped_release>());

  m.def("which", [](const tenon::TensorPtr&) { return "tensor"; });
  m.def("which", [](const std::string&) { return "text"; });
  m.def(
      "which", [](const nb::object&) { return "object"; }, nb::arg("t").none());
  m.def(
      "which_strict", [](const tenon::Tensor&) { return "tensor"; }, nb::arg("t").noconvert());
  m.def(
      "which_strict", [](const nb::object&) { return "object"; }, nb::arg("t").none());
  m.def("number_or_tensor", [](int) { return "number"; });
  m.def("number_or_tensor", [](const tenon::TensorPtr&) { return "tensor"; });

  m.def("count", &bound::count);
  m.def("rows", &bound::rows);
  m.def("maybe", &bound::maybe, nb::arg("t") = nb::none());
  m.def("cast", [](const nb::object& object) {
    auto t = nb::cast<tenon::TensorPtr>(object);
    return nb::cast(std::move(t));
  });

  m.def("null_pointer", &bound::null_pointer);
  m.def("undefined", &bound::undefined);
  m.def("fail", &bound::fail);
  m.def("import_and_throw", [](const nb::object& object) { tenon::from_python(object.ptr()); });

  m.def("counted", &bound::counted);
  m.def("released", &bound::released);
  m.def("keep", &bound::keep);
  m.def("drop_elsewhere", &bound::drop_elsewhere, nb::call_guard<nb::gil_scoped_release>());
}
