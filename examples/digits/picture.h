// SPDX-License-Identifier: MIT
// Draws images of digits side by side: in grey where the output is a terminal, with block
// characters where it must do without colour (NO_COLOR, see https://no-color.org), and with plain
// ASCII in a file or a pipe.
#pragma once

#include <string>
#include <vector>

#include "tenon/tenon.h"

struct Picture {
  tenon::TensorAccessor<const uint8_t, 2> pixels;  // 0 is paper, 16 is full ink
  int label;
  int answer;
};

class Screen {
 public:
  /// Looks at stdout and the environment.
  Screen();

  /// One row of pictures, as wide as two characters a pixel, with a caption under each.
  void draw(const std::vector<Picture>& pictures) const;

  /// The text in bold, where that is possible.
  std::string bold(const std::string& text) const;
  const char* microseconds() const { return terminal_ ? "µs" : "us"; }

 private:
  std::string paint(const char* code, const std::string& text) const;

  bool terminal_;
  bool color_;
};
