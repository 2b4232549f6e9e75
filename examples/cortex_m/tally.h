// SPDX-License-Identifier: MIT
// What the two programs have in common: they count the right answers, draw some digits and print
// what they took of the board.
#pragma once

#include <cstdint>

#include "checksum.h"
#include "digits.h"

class Tally {
 public:
  /// Before and after an image is read.
  void begin();
  void end(int image, const float* scores);

  /// Prints everything. The program's exit status: 0 if 95 % are right and the program is as small
  /// as it should be.
  int report() const;

 private:
  struct Answer {
    int image;
    int digit;
  };

  int images_ = 0;
  int right_ = 0;
  uint32_t instructions_ = 0;
  uint32_t begin_ = 0;
  Checksum checksum_;
  // To be drawn: the first 1, 2 and 3 that were read right, and the first that was not.
  Answer shown_[4] = {};
  int count_right_shown_ = 0;
};

/// The failure handler: prints the message, and ends the program.
void print_failure(tenon::Error error, const char* message) noexcept;
