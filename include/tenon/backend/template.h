// SPDX-License-Identifier: MIT
// MetaBackend: meta tensors, which have a type and a shape but no data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "tenon/backend/backend.h"

TENON_BEGIN_NAMESPACE

/// Makes meta tensors: shapes that a model expects, or tensors to allocate later. Their data is
/// null; this backend is never asked for memory.
/// Errors: NotSupported whenever data would be needed.
/// Threads: any.
/// Source: the meta device of PyTorch; Nx.template.
class TENON_EXPORT MetaBackend final : public Backend {
 public:
  const char* name() const noexcept override { return "meta"; }
  Device device() const noexcept override { return Device(DeviceType::Meta); }
  bool is_opaque() const noexcept override { return true; }

  void* allocate(size_t, size_t) noexcept override {
    static_cast<void>(fail_data());
    return nullptr;
  }
  void deallocate(void*, size_t) noexcept override {}

  Error copy_from_host(void*, const void*, size_t) override { return fail_data(); }
  Error copy_to_host(void*, const void*, size_t) override { return fail_data(); }
  Error copy_within(void*, const void*, size_t) override { return fail_data(); }
  Error synchronize() override { return Error::Ok; }

  /// "Meta Float {2, 3}"
  Error inspect(const TensorView& in, int64_t, std::string& text) override {
    char buffer[256];
    detail::Message message(buffer, sizeof buffer);
    message.put("Meta ");
    message.put(toString(in.type));
    message.put(' ');
    detail::append(message, in.sizes);
    text += buffer;
    return Error::Ok;
  }

 private:
  static Error fail_data() noexcept {
    return set_error(Error::NotSupported, "a meta tensor has a type and a shape, no data");
  }
};
/// The old name.
using TemplateBackend = MetaBackend;

TENON_END_NAMESPACE
