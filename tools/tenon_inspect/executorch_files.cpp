// SPDX-License-Identifier: MIT
// The inputs and outputs of .pte files.
#include <executorch/runtime/platform/platform.h>

#include "inspect.h"
#include "tenon/interop/executorch.h"

namespace inspect {

using namespace tenon;

namespace {

void add_ports(File& out, const std::string& method, const char* role, ArrayRef<ValueSpec> specs) {
  for (size_t i = 0; i < specs.size(); ++i) {
    const TensorSpec& spec = specs[i].tensor;
    const bool is_tensor = specs[i].kind == ValueKind::Tensor;
    Json shape = is_tensor && !specs[i].is_described ? "?" : Json::array();
    for (size_t d = 0; d < spec.sizes.size() && shape.is_array(); ++d) {
      const bool has_limit = !spec.max_sizes.empty() && spec.max_sizes[d] >= 0;
      shape.push_back(spec.sizes[d] >= 0       ? Json(spec.sizes[d])
                      : *spec.names[d] != '\0' ? Json(spec.names[d])
                      : has_limit              ? Json("<=" + std::to_string(spec.max_sizes[d]))
                                               : Json("?"));
    }
    const char* const given = specs[i].name();
    Json about = {{"name", method + "." + (*given != '\0' ? given : std::to_string(i))},
                  {"role", role},
                  {"dtype", is_tensor ? toString(spec.type) : toString(specs[i].kind)},
                  {"shape", is_tensor ? shape : Json()}};
    if (!is_tensor) about["note"] = "not a tensor";
    if (is_tensor && specs[i].is_optional) about["note"] = "optional";
    out.entries.push_back({about});
  }
}

}  // namespace

void open_pte(File& out, const std::string& path) {
  // Its log says which inputs are not tensors, as the table does.
  executorch::runtime::register_pal(
      executorch::runtime::PalImpl::create([](et_timestamp_t, et_pal_log_level_t, const char*,
                                              const char*, size_t, const char*, size_t) {},
                                           __FILE__));
  ExecuTorchModule module(path);
  const std::vector<std::string> methods = module.method_names().value();
  for (const std::string& method : methods) {
    const MethodMeta meta = module.method_meta(method).value();
    add_ports(out, method, "input", meta.inputs);
    add_ports(out, method, "output", meta.outputs);
  }
}

}  // namespace inspect
