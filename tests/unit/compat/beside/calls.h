// SPDX-License-Identifier: MIT
// Calls in ExecuTorch's words, in a function named by CALLS. One file includes this with
// ExecuTorch's headers, another one with tenon's; both are linked into one program.
#pragma once

#include <executorch/extension/data_loader/file_data_loader.h>
#include <executorch/extension/module/module.h>
#include <executorch/extension/tensor/tensor.h>
#include <executorch/runtime/backend/backend_options_map.h>
#include <executorch/runtime/backend/options.h>
#include <executorch/runtime/core/evalue.h>
#include <executorch/runtime/platform/log.h>
#include <executorch/runtime/platform/runtime.h>

#include <cinttypes>
#include <memory>
#include <string>
#include <utility>
#include <vector>

using namespace executorch::extension;
using namespace executorch::runtime;

/// Runs x + y of a model file in several ways: the sums, and then error codes.
std::vector<float> CALLS(const std::string& path) {
  runtime_init();
  std::vector<float> results;
  const auto add = [&](Module& module, const std::vector<EValue>& inputs) {
    const auto outputs = module.forward(inputs);
    if (!outputs.ok()) return results.push_back(static_cast<float>(outputs.error()));
    const auto& sum = outputs->at(0).toTensor();
    const float* const data = sum.template const_data_ptr<float>();
    results.insert(results.end(), data, data + sum.numel());
  };
  std::vector<float> ones(6, 1.0f);
  const auto x = make_tensor_ptr({2, 3}, {1.0f, 2.0f, 3.0f, 4.0f, 5.0f, 6.0f});
  const auto y = from_blob(ones.data(), {2, 3});
  const auto z = full({2, 3}, 10.0);

  LoadBackendOptionsMap options;
  BackendOptions<2> option;
  if (option.set_option("threads", 1) != Error::Ok) return {};
  if (options.set_options("delegate", option.view()) != Error::Ok) return {};
  Module module(path);
  if (module.load(options) != Error::Ok) return {};
  add(module, {x, y});
  auto loader = FileDataLoader::from(path.c_str());
  if (!loader.ok()) return {};
  Module other(std::make_unique<FileDataLoader>(std::move(*loader)));
  add(other, {x, z});
  add(module, {y, z});
  add(module, {x, EValue(1.0)});
  results.push_back(static_cast<float>(module.method_meta("other").error()));
  ET_LOG(Info, "%s: %" PRId64, path.c_str(), static_cast<int64_t>(results.size()));
  return results;
}
