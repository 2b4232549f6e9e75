// SPDX-License-Identifier: MIT
#include "picture.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#if defined(__unix__) || defined(__APPLE__)
#include <unistd.h>
#endif

namespace {

constexpr int kFullInk = 16;

bool is_terminal() {
#if defined(__unix__) || defined(__APPLE__)
  const char* const kind = std::getenv("TERM");
  return isatty(STDOUT_FILENO) != 0 && (kind == nullptr || std::strcmp(kind, "dumb") != 0);
#else
  return false;
#endif
}

/// The five marks from nothing to full ink.
std::string shade(int ink, bool terminal) {
  constexpr const char* kBlocks[] = {" ", "░", "▒", "▓", "█"};
  constexpr const char* kAscii[] = {" ", ".", "+", "#", "@"};
  const int step = (ink * 4 + kFullInk / 2) / kFullInk;
  return terminal ? kBlocks[step] : kAscii[step];
}

}  // namespace

Screen::Screen() : terminal_(is_terminal()) {
  const char* const no_color = std::getenv("NO_COLOR");
  color_ = terminal_ && (no_color == nullptr || *no_color == '\0');
}

std::string Screen::paint(const char* code, const std::string& text) const {
  return color_ ? std::string("\x1b[") + code + "m" + text + "\x1b[0m" : text;
}

std::string Screen::bold(const std::string& text) const { return paint("1", text); }

void Screen::draw(const std::vector<Picture>& pictures) const {
  const std::string gap = "  ";
  const int64_t rows = pictures.front().pixels.size(0);
  const int64_t columns = pictures.front().pixels.size(1);
  for (int64_t y = 0; y < rows; ++y) {
    std::string line;
    for (const Picture& picture : pictures) {
      line += gap;
      for (int64_t x = 0; x < columns; ++x) {
        const int ink = std::min<int>(picture.pixels[y][x], kFullInk);
        if (color_) {
          // 232 to 255 are the greys of a 256-colour terminal.
          line += "\x1b[48;5;" + std::to_string(233 + ink * 22 / kFullInk) + "m  ";
        } else {
          const std::string mark = shade(ink, terminal_);
          line += mark + mark;
        }
      }
      if (color_) line += "\x1b[0m";
    }
    std::printf("%s\n", line.c_str());
  }
  std::string captions;
  for (const Picture& picture : pictures) {
    const bool right = picture.answer == picture.label;
    const char* const mark = terminal_ ? (right ? "✔" : "✘") : (right ? " " : "X");
    const std::string text = std::string(mark) + " a " + std::to_string(picture.label) +
                             ", read as " + std::to_string(picture.answer);
    captions += gap + paint(right ? "32" : "1;31", text);  // 16 columns, as the picture
  }
  std::printf("%s\n\n", captions.c_str());
}
