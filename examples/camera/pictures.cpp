// SPDX-License-Identifier: MIT
#include "pictures.h"

#include <cstdint>
#include <cstdio>
#include <memory>
#include <stdexcept>

#if defined(__unix__) || defined(__APPLE__)
#include <unistd.h>
static bool is_terminal() { return isatty(STDOUT_FILENO) != 0; }
#else
static bool is_terminal() { return false; }
#endif

using tenon::Tensor;

void write_ppm(const std::string& path, const Tensor& picture) {
  const Tensor pixels = tenon::contiguous(picture);
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "wb"),
                                                             &std::fclose);
  const bool is_written =
      file != nullptr &&
      std::fprintf(file.get(), "P6\n%d %d\n255\n", static_cast<int>(pixels.size(1)),
                   static_cast<int>(pixels.size(0))) > 0 &&
      std::fwrite(pixels.const_data_ptr(), 1, pixels.nbytes(), file.get()) == pixels.nbytes() &&
      std::fflush(file.get()) == 0;
  if (!is_written) throw std::runtime_error("cannot write " + path);
}

void show(const char* caption, const Tensor& picture) {
  constexpr int64_t kWidth = 80;
  const int64_t step = (picture.size(1) + kWidth - 1) / kWidth;
  // A character is about twice as high as it is wide.
  const Tensor small =
      slice(slice(picture, 0, step, INT64_MAX, 2 * step), 1, step / 2, INT64_MAX, step);
  const auto pixels = small.accessor<const uint8_t, 3>();
  const bool in_colour = is_terminal();
  std::printf("\n  %s\n\n", caption);
  for (int64_t y = 0; y < pixels.size(0); ++y) {
    std::printf("  ");
    for (int64_t x = 0; x < pixels.size(1); ++x) {
      const int red = pixels[y][x][0];
      const int green = pixels[y][x][1];
      const int blue = pixels[y][x][2];
      if (in_colour) {
        std::printf("\x1b[48;2;%d;%d;%dm ", red, green, blue);
      } else {
        std::printf("%c", "@%#*+=-:. "[(3 * red + 6 * green + blue) / 256]);
      }
    }
    std::printf(in_colour ? "\x1b[0m\n" : "\n");
  }
}
