// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

/// Where the ball is in a frame, in pixels.
struct Ball {
  double row;
  double column;
};

/// A camera as its driver shows it: 1080p frames of RGB bytes in a ring of buffers, whose rows are
/// padded. The frames are drawn when the camera is opened: a red ball that bounces along.
class Camera {
 public:
  static constexpr int64_t kRows = 1080;
  static constexpr int64_t kColumns = 1920;
  static constexpr int64_t kPitch = 6144;  // bytes from a row to the next, 384 more than its pixels
  static constexpr int kFrames = 8;
  static constexpr uint8_t kPadding = 0xA5;

  Camera();
  /// Lends the next frame. It is the caller's until it is given back.
  uint8_t* capture();
  void give_back(const void* frame) noexcept;
  int lent() const noexcept { return lent_; }

  /// What capture() will lend next.
  int next() const noexcept { return next_; }
  static Ball ball(int frame) noexcept;
  bool padding_is_intact() const noexcept;

 private:
  uint8_t* frame(int i) const noexcept { return frames_.get() + i * kRows * kPitch; }

  std::unique_ptr<uint8_t[]> frames_{new uint8_t[kFrames * kRows * kPitch]};
  bool is_lent_[kFrames] = {};
  int next_ = 0;
  int lent_ = 0;
};
