// SPDX-License-Identifier: MIT
#include "camera.h"

#include <cmath>
#include <cstring>
#include <stdexcept>

constexpr double kPi = 3.14159265358979;
constexpr double kRadius = 90;

Ball Camera::ball(int frame) noexcept {
  const double t = static_cast<double>(frame) / kFrames;
  return {700 - 300 * std::fabs(std::sin(2 * kPi * t)), 760 + 400 * t};
}

/// A wall of grey tiles, lit from the left, a floor of boards, and the ball with its shadow.
static void draw(uint8_t* pixels, const Ball& ball) {
  constexpr int64_t kFloor = 780;
  for (int64_t y = 0; y < Camera::kRows; ++y) {
    uint8_t* const row = pixels + y * Camera::kPitch;
    for (int64_t x = 0; x < Camera::kColumns; ++x) {
      const double light = 1.1 - 0.5 * static_cast<double>(x) / Camera::kColumns;
      const bool is_joint = y < kFloor ? x % 120 < 4 || y % 120 < 4 : (x + 3 * y) % 240 < 6;
      double red = y < kFloor ? 175 : 150;
      double green = y < kFloor ? 175 : 120;
      double blue = y < kFloor ? 190 : 85;
      double shade = light * (is_joint ? 0.6 : 1);
      const double dy = static_cast<double>(y) - ball.row;
      const double dx = static_cast<double>(x) - ball.column;
      const double below = (static_cast<double>(y) - 830) / 22;
      if (dx * dx / (kRadius * kRadius) + below * below < 1) shade *= 0.5;
      const double distance = std::sqrt(dx * dx + dy * dy) / kRadius;
      if (distance < 1) {
        red = 225, green = 35, blue = 30;
        shade = light * (1.1 - 0.5 * distance * distance);
      }
      const double colors[] = {red, green, blue};
      for (int64_t c = 0; c < 3; ++c) {
        row[3 * x + c] = static_cast<uint8_t>(std::fmin(255, colors[c] * shade));
      }
    }
    std::memset(row + 3 * Camera::kColumns, Camera::kPadding,
                Camera::kPitch - 3 * Camera::kColumns);
  }
}

Camera::Camera() {
  for (int i = 0; i < kFrames; ++i) draw(frame(i), ball(i));
}

uint8_t* Camera::capture() {
  if (is_lent_[next_]) throw std::runtime_error("the camera's ring is empty: a frame was kept");
  is_lent_[next_] = true;
  ++lent_;
  uint8_t* const lent = frame(next_);
  next_ = (next_ + 1) % kFrames;
  return lent;
}

void Camera::give_back(const void* given) noexcept {
  for (int i = 0; i < kFrames; ++i) {
    if (frame(i) != given || !is_lent_[i]) continue;
    is_lent_[i] = false;
    --lent_;
  }
}

bool Camera::padding_is_intact() const noexcept {
  for (int64_t y = 0; y < kFrames * kRows; ++y) {
    for (int64_t x = 3 * kColumns; x < kPitch; ++x) {
      if (frames_[static_cast<size_t>(y * kPitch + x)] != kPadding) return false;
    }
  }
  return true;
}
