// SPDX-License-Identifier: MIT
// What the tests of ExprBackend share: blocks of its memory, and what they hold.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "support/catch.h"
#include "tenon/backend/expr.h"

namespace tests {

using Floats = std::vector<float>;
using Ints = std::vector<int32_t>;

/// Memory of the backend, as a row-major view.
class Block {
 public:
  Block(tenon::ExprBackend& backend, tenon::ScalarType type, tenon::Dims sizes)
      : backend_(backend), view_{nullptr, type, backend.device(), sizes, sizes} {
    int64_t step = 1;
    for (size_t d = sizes.size(); d-- > 0; step *= sizes[d]) view_.strides[d] = step;
    nbytes_ = static_cast<size_t>(step) * elementSize(type);
    view_.data = backend.allocate(nbytes_, 64);
    backend.on_made({view_.data, type, view_.sizes, view_.strides, "empty"});
  }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;
  ~Block() { backend_.deallocate(view_.data, nbytes_); }

  const tenon::TensorView& view() const { return view_; }
  /// Another view, whose element 0 is `offset` elements further.
  tenon::TensorView part(tenon::Dims sizes, tenon::Dims strides, int64_t offset) const {
    tenon::TensorView part{view_.data, view_.type, view_.device, sizes, strides};
    part.data =
        static_cast<char*>(part.data) + offset * static_cast<int64_t>(elementSize(view_.type));
    return part;
  }
  size_t nbytes() const { return nbytes_; }

 private:
  tenon::ExprBackend& backend_;
  tenon::TensorView view_;
  size_t nbytes_ = 0;
};

inline tenon::ExpressionPtr expression(tenon::ExprBackend& backend, const tenon::TensorView& view) {
  tenon::ExpressionPtr result;
  REQUIRE(backend.expression(view, result) == tenon::Error::Ok);
  return result;
}
inline std::string text(tenon::ExprBackend& backend, const tenon::TensorView& view) {
  return to_string(*expression(backend, view));
}

/// The elements, evaluated, in row-major order.
template <class T>
std::vector<T> values(tenon::ExprBackend& backend, const tenon::TensorView& view) {
  std::vector<T> result(static_cast<size_t>(tenon::detail::numel_of(view.sizes)));
  tenon::TensorView host{result.data(), view.type, tenon::Device(), view.sizes, view.sizes};
  int64_t step = 1;
  for (size_t d = view.sizes.size(); d-- > 0; step *= view.sizes[d]) host.strides[d] = step;
  REQUIRE(backend.copy(host, view, tenon::CastMode::Checked) == tenon::Error::Ok);
  return result;
}

template <class T>
void fill(tenon::ExprBackend& backend, const tenon::TensorView& view, T value) {
  REQUIRE(backend.constant(view, &value) == tenon::Error::Ok);
}

}  // namespace tests
