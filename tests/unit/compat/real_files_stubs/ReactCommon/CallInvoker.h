// SPDX-License-Identifier: MIT
// For real_files.py: what react-native-executorch uses of React Native's CallInvoker.
#pragma once

#include <functional>
#include <memory>

#include "jsi/jsi.h"

namespace facebook::react {

using CallFunc = std::function<void(jsi::Runtime&)>;

class CallInvoker {
 public:
  virtual ~CallInvoker() = default;
  virtual void invokeAsync(CallFunc&& function) noexcept = 0;
  virtual void invokeSync(CallFunc&& function) = 0;
  void invokeAsync(std::function<void()>&& function) noexcept;
};

}  // namespace facebook::react
