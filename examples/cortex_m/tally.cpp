// SPDX-License-Identifier: MIT
#include "tally.h"

#include <algorithm>

#include "board.h"

using board::print;

namespace {

constexpr uint32_t kMostFlash = 48 * 1024;  // without images and weights
constexpr uint32_t kMostRam = 8 * 1024;     // without buffers

void line(const char* before, size_t number, const char* after) {
  print(before);
  print(static_cast<uint32_t>(number));
  print(after);
}

}  // namespace

void Tally::begin() { begin_ = board::instructions(); }

void Tally::end(int image, const float* scores) {
  instructions_ += board::instructions() - begin_;
  ++images_;
  checksum_.add(scores, kDigits);
  const int digit = static_cast<int>(std::max_element(scores, scores + kDigits) - scores);
  if (digit == labels[image]) {
    ++right_;
    if (count_right_shown_ < 3 && digit == count_right_shown_ + 1) {
      shown_[count_right_shown_++] = {image, digit};
    }
  } else if (images_ - right_ == 1) {
    shown_[3] = {image, digit};
  }
}

int Tally::report() const {
  print("\n  Some of the digits that the network had never seen:\n\n");
  for (int64_t y = 0; y < kSide; ++y) {
    for (const Answer& answer : shown_) {
      print("  ");
      for (int64_t x = 0; x < kSide; ++x) {
        const char mark = " .+#@"[std::min(images[answer.image][y][x] + 2, 16) / 4];
        const char pixel[] = {mark, mark, '\0'};
        print(pixel);
      }
    }
    print("\n");
  }
  for (const Answer& answer : shown_) {
    const uint32_t label = labels[answer.image];
    print(static_cast<uint32_t>(answer.digit) == label ? "    a " : "  X a ");
    print(label);
    line(", read as ", static_cast<uint32_t>(answer.digit), "");
  }
  print("\n\n");

  const auto count = static_cast<uint32_t>(images_);
  const auto right = static_cast<uint32_t>(right_);
  const uint32_t hundredths = (right * 10000 + count / 2) / count;  // of a percent
  line("  ", right, " of ");
  line("", count, " held-out images right: ");
  line("", hundredths / 100, ".");
  line("", hundredths / 10 % 10, "");
  line("", hundredths % 10, " %\n");
  line("  checksum of all scores: ", checksum_.sum(), "\n");
  line("  ", instructions_ / count, " instructions an image\n");

  const size_t flash = board::program_in_flash();
  const size_t ram = board::data_in_ram() + board::stack_in_ram();
  line("  flash: ", flash, " bytes");
  line(", and ", board::digits_in_flash(), " of images and weights\n");
  line("  RAM: ", ram, " bytes");
  line(", ", board::stack_in_ram(), " of them for the stack");
  line(", which used ", board::stack_used(), ";");
  line(" and ", board::buffers_in_ram(), " of buffers\n");
  return hundredths >= 9500 && flash <= kMostFlash && ram <= kMostRam ? 0 : 1;
}

void print_failure(tenon::Error, const char* message) noexcept {
  print(message);
  print("\n");
  board::stop(1);
}
