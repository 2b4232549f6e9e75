// SPDX-License-Identifier: MIT
// What the test modules of both binders bind. Included after the binder's header of tenon's.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "tenon/tenon.h"

namespace bound {

using namespace tenon;

inline TensorPtr share(TensorPtr t) { return t; }

inline uintptr_t address(const TensorPtr& t) {
  return reinterpret_cast<uintptr_t>(t->const_data_ptr());
}

inline Tensor share_handle(Tensor t) { return t; }
inline std::vector<int64_t> shape_of(const Tensor& t) {
  return {t.sizes().begin(), t.sizes().end()};
}
inline void fill(Tensor& t, double value) {
  if (tenon::fill_(t, value) != tenon::Error::Ok) {
    throw tenon::Exception(tenon::Error::InvalidState, tenon::last_error_message());
  }
}

inline int64_t count(const std::vector<TensorPtr>& tensors) {
  int64_t numel = 0;
  for (const TensorPtr& t : tensors) numel += t->numel();
  return numel;
}
inline std::vector<TensorPtr> rows(const TensorPtr& t) {
  std::vector<TensorPtr> made;
  for (int64_t i = 0; i < t->size(0); ++i) {
    made.push_back(tenon::make_tensor_ptr(tenon::select(t, 0, i)));
  }
  return made;
}
inline std::optional<TensorPtr> maybe(std::optional<TensorPtr> t) { return t; }

inline TensorPtr null_pointer() { return nullptr; }
inline Tensor undefined() { return Tensor(); }
inline void fail(int error) {
  throw tenon::Exception(static_cast<tenon::Error>(error), "as asked");
}

inline std::atomic<int> releases{0};
/// Three floats 1, 2, 3 that count their release.
inline TensorPtr counted() {
  auto* const data = new float[3]{1, 2, 3};
  return tenon::from_blob(data, {3}, tenon::ScalarType::Float, [](void* p) {
    delete[] static_cast<float*>(p);
    ++releases;
  });
}
inline int released() { return releases; }

inline std::vector<TensorPtr> kept;
inline void keep(TensorPtr t) { kept.push_back(std::move(t)); }
/// Drops what was kept, on a thread of its own. Called without the GIL, which that thread needs.
inline void drop_elsewhere() {
  std::thread([dropped = std::move(kept)]() mutable { dropped.clear(); }).join();
  kept.clear();
}

}  // namespace bound
