// SPDX-License-Identifier: MIT
// The images and the weights, in flash: the contents of ../digits/data.
#pragma once

#include <cstdint>

#include "network.h"

constexpr int kImages = 1797;
constexpr int kHeldOut = 450;

extern "C" {
extern const uint8_t images[kImages][kSide][kSide];
extern const uint8_t labels[kImages];
extern const int32_t test_index[kHeldOut];  // the images that the network has never seen
extern const float w1[kHidden][kPixels];
extern const float b1[kHidden];
extern const float w2[kDigits][kHidden];
extern const float b2[kDigits];
}
