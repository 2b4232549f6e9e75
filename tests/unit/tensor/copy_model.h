// SPDX-License-Identifier: MIT
// Copies between windows of one small memory, where nearly all overlap, checked against a loop that
// reads everything before it writes anything.
#pragma once

#include <algorithm>
#include <functional>
#include <numeric>

#include "kernels/copy_reference.h"
#include "tenon/core/scalar_type.h"
#include "tensor/helpers.h"

namespace tests::copy_model {

/// Elements at strides, somewhere in a memory.
struct Window {
  ScalarType type = ScalarType::Byte;
  Vector sizes;
  Vector strides;
  int64_t first = 0;  ///< byte of element 0

  int64_t item() const { return static_cast<int64_t>(tenon::elementSize(type)); }
  int64_t numel() const {
    return std::accumulate(sizes.begin(), sizes.end(), int64_t{1}, std::multiplies<>());
  }
  /// The bytes from element 0 to the lowest element, 0 or less.
  int64_t low() const { return reach(false); }
  /// The bytes from element 0 to the end of the highest one.
  int64_t high() const { return reach(true) + item(); }

 private:
  int64_t reach(bool up) const {
    int64_t bytes = 0;
    for (size_t d = 0; d < sizes.size() && numel() != 0; ++d) {
      if ((strides[d] > 0) == up) bytes += (sizes[d] - 1) * strides[d] * item();
    }
    return bytes;
  }
};

/// Two windows of one memory.
struct Scene {
  Window dst;
  Window src;  ///< its sizes broadcast to the destination's
  CastMode mode = CastMode::Checked;
  Bytes memory;

  unsigned char* at(const Window& window) { return memory.data() + window.first; }
  /// Whether the stretches of memory that they reach have a byte in common.
  bool meet() const {
    return dst.numel() != 0 && dst.first + dst.low() < src.first + src.high() &&
           src.first + src.low() < dst.first + dst.high();
  }
  /// The memory as it is to be after the copy.
  Bytes expected() const {
    const size_t item = elementSize(dst.type);
    const Vector to = offsets_of(dst.sizes, dst.strides);
    const size_t added = dst.sizes.size() - src.sizes.size();
    Vector steps(dst.sizes.size(), 0);
    for (size_t d = 0; d < src.sizes.size(); ++d) {
      if (src.sizes[d] != 1) steps[d + added] = src.strides[d];
    }
    const Vector from = offsets_of(dst.sizes, steps);
    Bytes made(to.size() * item);
    for (size_t i = 0; i < to.size(); ++i) {
      cast_by_hand(dst.type, made.data() + i * item, src.type,
                   memory.data() + src.first + from[i] * src.item(), mode);
    }
    Bytes after = memory;
    for (size_t i = 0; i < to.size(); ++i) {
      std::memcpy(after.data() + dst.first + to[i] * dst.item(), made.data() + i * item, item);
    }
    return after;
  }
};

/// Which scenes to make.
enum class Variety {
  Any,
  SameSizes,    ///< nothing to broadcast
  DenseSource,  ///< and the same type; the source lies row-major
  DenseTarget,  ///< and the same type; the destination lies row-major
};

/// Which windows may have negative strides. ATen's tensors cannot.
enum class Reversed { Any, OnlySource, OnlyTarget, None };

class Scenes {
 public:
  explicit Scenes(uint64_t seed, Reversed reversed = Reversed::Any)
      : random_{seed}, reversed_(reversed) {}

  Scene make(Variety variety) {
    Scene scene;
    Window& dst = scene.dst;
    Window& src = scene.src;
    dst.type = any_type();
    const bool dense = variety == Variety::DenseSource || variety == Variety::DenseTarget;
    src.type = dense || one_in(2) ? dst.type : any_type();
    scene.mode = any_mode(src.type, dst.type);
    for (int64_t d = any(0, 4); d > 0; --d) {
      dst.sizes.push_back(one_in(40) ? 0 : dst.numel() > 8 ? any(1, 2) : any(1, 4));
    }
    dst.strides = variety == Variety::DenseTarget ? row_major(dst.sizes) : apart(dst.sizes);
    if (reversed_ == Reversed::OnlySource || reversed_ == Reversed::None) turn_upward(dst);
    src.sizes = dst.sizes;
    src.strides = variety == Variety::DenseSource ? row_major(src.sizes) : source_strides(dst);
    if (reversed_ == Reversed::OnlyTarget || reversed_ == Reversed::None) turn_upward(src);
    if (variety == Variety::Any && one_in(3)) shrink(src);
    place(scene);
    return scene;
  }

 private:
  int64_t any(int64_t low, int64_t high) { return random_.between(low, high); }
  bool one_in(int64_t n) { return any(1, n) == 1; }

  ScalarType any_type() {
    constexpr ScalarType types[] = {
        ScalarType::Byte,  ScalarType::Half,   ScalarType::Short,        ScalarType::Int,
        ScalarType::Float, ScalarType::Double, ScalarType::ComplexFloat, ScalarType::ComplexDouble};
    return types[any(0, 7)];
  }
  CastMode any_mode(ScalarType from, ScalarType to) {
    if (one_in(2) && canCast(from, to)) return CastMode::Checked;
    return one_in(2) ? CastMode::Truncate : CastMode::Saturate;
  }

  static Vector row_major(const Vector& sizes) {
    return dense_strides(sizes, tests::row_major(sizes.size()));
  }
  static void turn_upward(Window& window) {
    for (int64_t& stride : window.strides) stride = stride < 0 ? -stride : stride;
  }
  /// Strides at which no two elements share memory: nested in any order, with gaps, reversed.
  Vector apart(const Vector& sizes) {
    Vector order;
    for (size_t d = 0; d < sizes.size(); ++d) {
      const int64_t place = one_in(2) ? static_cast<int64_t>(d) : any(0, static_cast<int64_t>(d));
      order.insert(order.begin() + static_cast<ptrdiff_t>(place), static_cast<int64_t>(d));
    }
    Vector strides(sizes.size());
    int64_t reach = 0;
    for (size_t i = order.size(); i-- > 0;) {
      const auto d = static_cast<size_t>(order[i]);
      strides[d] = reach + 1 + (one_in(4) ? any(1, 3) : 0);
      reach += (sizes[d] == 0 ? 0 : sizes[d] - 1) * strides[d];
      if (one_in(5)) strides[d] = -strides[d];
    }
    return strides;
  }
  Vector source_strides(const Window& dst) {
    Vector strides = dst.strides;
    switch (any(0, 4)) {
      case 0: return strides;
      case 1: return apart(dst.sizes);
      case 2:
        for (int64_t& stride : strides) stride = any(-4, 4);
        return strides;
      case 3:
        for (int64_t& stride : strides) stride = one_in(2) ? -stride : stride;
        return strides;
      default:
        for (size_t d = 1; d < strides.size(); ++d) {
          if (one_in(2)) std::swap(strides[d - 1], strides[d]);
        }
        return strides;
    }
  }
  /// Makes some sizes 1 and leaves out some dimensions on the left.
  void shrink(Window& src) {
    for (int64_t& size : src.sizes) size = one_in(2) ? 1 : size;
    while (!src.sizes.empty() && src.sizes.front() == 1 && one_in(2)) {
      src.sizes.erase(src.sizes.begin());
      src.strides.erase(src.strides.begin());
    }
  }
  /// Gives both a place in memory of little more than the longer one needs.
  void place(Scene& scene) {
    const auto align = [](int64_t bytes, int64_t item) { return (bytes + item - 1) / item * item; };
    const int64_t dst_bytes = scene.dst.high() - scene.dst.low();
    const int64_t src_bytes = scene.src.high() - scene.src.low();
    const int64_t larger = std::max(scene.dst.item(), scene.src.item());
    int64_t nbytes = align(std::max(dst_bytes, src_bytes), larger);
    nbytes += larger * (one_in(3) ? 0 : any(1, one_in(3) ? 60 : 4));
    scene.memory = random_elements(random_, one_in(2) ? scene.src.type : scene.dst.type,
                                   static_cast<size_t>(nbytes / larger * larger));
    scene.memory.resize(static_cast<size_t>(nbytes));
    scene.memory.shrink_to_fit();
    for (Window* window : {&scene.dst, &scene.src}) {
      const int64_t room = nbytes - (window->high() - window->low());
      window->first = any(0, room / window->item()) * window->item() - window->low();
    }
    const bool same = scene.dst.type == scene.src.type && scene.dst.low() == scene.src.low() &&
                      scene.dst.high() == scene.src.high();
    if (same && one_in(4)) scene.src.first = scene.dst.first;
  }

  Rng random_;
  Reversed reversed_;
};

}  // namespace tests::copy_model
