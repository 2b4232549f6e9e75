// SPDX-License-Identifier: MIT
#include <png.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <stdexcept>

#include "inspect.h"
#include "tenon/tensor/values.h"

namespace inspect {

using namespace tenon;

namespace {

/// Three bytes a pixel.
struct Picture {
  int64_t width = 0;
  int64_t height = 0;
  std::vector<uint8_t> pixels;
  std::string what;  // which part of the tensor it is, and which values are black and white
};

bool is_channels(int64_t size) { return 1 <= size && size <= 4; }

/// {rows, columns}, or {rows, columns, 2 or 3}: the first of what there is more of.
Tensor find_image(Tensor t, std::string& what) {
  if (isComplexType(t.scalar_type())) throw std::runtime_error("a picture needs real numbers");
  while (t.dim() > 3 || (t.dim() == 3 && !is_channels(t.size(2)) && !is_channels(t.size(0)))) {
    if (t.size(0) == 0) break;
    t = select(t, 0, 0);
    what += what.empty() ? "at 0" : ", 0";
  }
  if (!what.empty()) what += "; ";
  if (t.dim() < 2 || t.numel() == 0) throw std::runtime_error("a picture needs rows and columns");
  if (t.dim() == 2) return t;
  if (!is_channels(t.size(2))) t = permute(t, {1, 2, 0});
  if (t.size(2) == 2) what += "red and green are the two channels; ";
  if (t.size(2) == 1) return select(t, 2, 0);
  return narrow(t, 2, 0, std::min<int64_t>(3, t.size(2)));  // without alpha
}

/// Every n-th column, so that there are at most `most_wide`, and every n * row_step-th row.
Picture make_picture(const Tensor& tensor, int64_t most_wide, int64_t row_step) {
  Picture out;
  Tensor image = find_image(tensor, out.what);
  const int64_t step = (image.size(1) + most_wide - 1) / most_wide;
  image = slice(image, 0, 0, image.size(0), step * row_step);
  image = slice(image, 1, 0, image.size(1), step);
  out.height = image.size(0);
  out.width = image.size(1);
  MinMax range{0, image.scalar_type() == ScalarType::Bool ? 1 : 255};
  if (image.scalar_type() != ScalarType::Byte && image.scalar_type() != ScalarType::Bool) {
    Summary all;
    const Error error = all.add(image);
    if (error != Error::Ok) throw Exception(error, last_error_message());
    range = all.min_max();
  }
  out.what += text(number(range.min)) + " is black, " + text(number(range.max)) + " white";
  const std::vector<double> shades = places(image, range);
  const auto channels = static_cast<size_t>(image.dim() == 3 ? image.size(2) : 1);
  for (size_t i = 0; i < shades.size(); i += channels) {
    const bool is_finite = std::none_of(&shades[i], &shades[i] + channels,
                                        [](double shade) { return std::isnan(shade); });
    for (size_t k = 0; k < 3; ++k) {
      const bool is_missing = channels == 2 && k == 2;  // blue
      const double shade = is_missing ? 0 : shades[i + k % channels] * 255;
      out.pixels.push_back(is_finite ? static_cast<uint8_t>(std::lround(shade)) : k == 0 ? 255 : 0);
    }
  }
  return out;
}

}  // namespace

void print_picture(const Tensor& tensor) {
  const size_t width = terminal_width(STDOUT_FILENO);
  const bool in_color = width != 0;
  const Picture p =
      make_picture(tensor, in_color ? static_cast<int64_t>(width) : 80, in_color ? 1 : 2);
  for (int64_t y = 0; y < p.height; y += in_color ? 2 : 1) {
    for (int64_t x = 0; x < p.width; ++x) {
      const uint8_t* const upper = &p.pixels[static_cast<size_t>(3 * (y * p.width + x))];
      if (!in_color) {
        std::putchar(" .:-=+*#%@"[(2 * upper[0] + 5 * upper[1] + upper[2]) / 8 * 10 / 256]);
        continue;
      }
      std::printf("\33[38;2;%d;%d;%dm", upper[0], upper[1], upper[2]);
      const uint8_t* const lower = upper + 3 * p.width;
      if (y + 1 < p.height) std::printf("\33[48;2;%d;%d;%dm", lower[0], lower[1], lower[2]);
      std::printf("\xe2\x96\x80%s", y + 1 < p.height ? "" : "\33[0m");  // the upper half block
    }
    std::printf(in_color ? "\33[0m\n" : "\n");
  }
  std::printf("  picture     %s\n", p.what.c_str());
}

void write_png(const Tensor& tensor, const std::string& path) {
  const Picture p = make_picture(tensor, INT32_MAX, 1);
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(p.width);
  image.height = static_cast<png_uint_32>(p.height);
  image.format = PNG_FORMAT_RGB;
  std::vector<char> bytes(PNG_IMAGE_PNG_SIZE_MAX(image));
  png_alloc_size_t size = bytes.size();
  if (png_image_write_to_memory(&image, bytes.data(), &size, 0, p.pixels.data(), 0, nullptr) == 0) {
    throw std::runtime_error(path + ": cannot be written: " + image.message);
  }
  const detail::FileTarget target(path);
  detail::OutputFile file;  // an old file stays if this fails
  Error error = file.open(target);
  if (error == Error::Ok) error = file.put(bytes.data(), size);
  if (error == Error::Ok) error = file.commit(false);
  if (error != Error::Ok) {
    // Without the advice for C++ programs.
    const std::string why = last_error_message();
    throw std::runtime_error(path + ": cannot be written: " + why.substr(0, why.find("; ")));
  }
}

}  // namespace inspect
