// SPDX-License-Identifier: MIT
// What the test modules of both binders bind. Included after tenon's header of the binder, and after
// `namespace binder = ` that binder.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tenon/tenon.h"

namespace bound {

using namespace tenon;

/// Cannot be copied.
struct OnlyMoved {
  std::unique_ptr<int64_t> number;
};

inline TensorPtr share(TensorPtr t) { return t; }
inline void fill(Tensor& t, double value) {
  if (tenon::fill_(t, value) != Error::Ok) {
    throw Exception(Error::InvalidState, last_error_message());
  }
}
inline int64_t count(const std::vector<TensorPtr>& tensors) {
  int64_t numel = 0;
  for (const TensorPtr& t : tensors) numel += t->numel();
  return numel;
}
inline std::vector<TensorPtr> rows(const TensorPtr& t) {
  std::vector<TensorPtr> made;
  for (int64_t i = 0; i < t->size(0); ++i) made.push_back(make_tensor_ptr(select(t, 0, i)));
  return made;
}
inline TensorPtr counted() { return make_tensor_ptr({3}, {1.0f, 2.0f, 3.0f}); }
/// Binds everything. `may_be_none` is the binder's argument that None is passed for.
template <class Argument>
void bind(binder::module_& m, const Argument& may_be_none) {
  using Unlocked = binder::call_guard<binder::gil_scoped_release>;
  m.def("share", &share);
  m.def("strict", &share, binder::arg("t").noconvert());
  m.def("share_handle", [](Tensor t) { return t; });
  m.def(
      "maybe", [](std::optional<TensorPtr> t) { return t; }, binder::arg("t") = binder::none());
  m.def("cast",
        [](const binder::object& object) { return binder::cast(binder::cast<TensorPtr>(object)); });
  m.def("address",
        [](const TensorPtr& t) { return reinterpret_cast<uintptr_t>(t->const_data_ptr()); });
  m.def("fill", &fill, Unlocked());

  m.def("which", [](const TensorPtr&) { return "tensor"; });
  m.def("which", [](const std::string&) { return "text"; });
  m.def(
      "which", [](const binder::object&) { return "object"; }, may_be_none);
  m.def(
      "which_strict", [](const Tensor&) { return "tensor"; }, binder::arg("t").noconvert());
  m.def(
      "which_strict", [](const binder::object&) { return "object"; }, may_be_none);
  m.def("number_or_tensor", [](int) { return "number"; });
  m.def("number_or_tensor", [](const TensorPtr&) { return "tensor"; });
  // Overloads for what is converted.
  m.def("tensor_or_list", [](const TensorPtr&) { return "tensor"; });
  m.def("tensor_or_list", [](const std::vector<double>&) { return "list"; });
  m.def("tensor_or_list", [](double) { return "number"; });

  m.def("count", &count);
  m.def("rows", &rows);
  m.def("null_pointer", []() -> TensorPtr { return nullptr; });
  m.def("undefined", [] { return Tensor(); });
  m.def("fail", [](int error) { throw Exception(static_cast<Error>(error), "as asked"); });
  m.def("import_and_throw", [](const binder::object& object) { from_python(object.ptr()); });

  m.def("share_pointer", [](std::shared_ptr<Tensor> t) { return t; });
  m.def("null_shared", [] { return std::shared_ptr<Tensor>(); });
  m.def("try_handle", [](int64_t n) { return try_reshape(arange(n), {-1, 2}); });
  m.def("try_pointer", [](int64_t n) { return try_empty({n}, ScalarType::Float); });
  binder::class_<OnlyMoved>(m, "OnlyMoved").def("number", [](const OnlyMoved& o) {
    return *o.number;
  });
  m.def("try_moved", [](int64_t n) -> Result<OnlyMoved> {
    if (n < 0) return detail::fail(Error::NotFound, "there is no ", n);
    return OnlyMoved{std::make_unique<int64_t>(n)};
  });
  m.def("try_unique", [](int64_t n) -> Result<std::unique_ptr<OnlyMoved>> {
    if (n < 0) return detail::fail(Error::NotFound, "there is no ", n);
    return std::make_unique<OnlyMoved>(OnlyMoved{std::make_unique<int64_t>(n)});
  });
  m.def("try_number", [](int64_t n) -> Result<int64_t> {
    if (n < 0) return detail::fail(Error::NotFound, "there is no ", n);
    return n;
  });

  m.def("counted", &counted);
}

}  // namespace bound
