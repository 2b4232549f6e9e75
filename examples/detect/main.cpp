// SPDX-License-Identifier: MIT
// Finds shapes in a picture: a model that AOTInductor compiled gives boxes, torchvision's own nms, from its wheel, drops
// those that overlap a better one. No file of libtorch is loaded.
//
//   detect detector.pt2 torchvision/_C_stable.so picture.ppm found.ppm
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include <tenon/interop/aoti.h>
// In one file of the program: what the model and the library of operators call.
#include <tenon/interop/aoti_kernels.h>
#include <tenon/interop/aoti_shim.h>
#include <tenon/interop/torch_stable_no_cuda.h>
#include <tenon/interop/torch_stable_shim.h>
#include <tenon/tenon.h>

namespace {

using namespace tenon;

/// The pixels of a .ppm file, {height, width, 3}.
Result<TensorPtr> read_picture(const char* path) {
  std::ifstream file(path, std::ios::binary);
  std::string kind;
  int64_t width = 0;
  int64_t height = 0;
  int most = 0;
  file >> kind >> width >> height >> most;
  file.get();
  if (!file || kind != "P6" || most != 255 || width < 1 || height < 1) {
    std::fprintf(stderr, "%s is not a binary .ppm of 8 bits\n", path);
    return Error::InvalidArgument;
  }
  TensorPtr pixels = empty({height, width, 3}, ScalarType::Byte);
  file.read(pixels->mutable_data_ptr<char>(), static_cast<std::streamsize>(pixels->nbytes()));
  return file ? Result<TensorPtr>(std::move(pixels)) : Error::AccessFailed;
}

bool write_picture(const char* path, const Tensor& pixels) {
  std::ofstream file(path, std::ios::binary);
  file << "P6\n" << pixels.size(1) << ' ' << pixels.size(0) << "\n255\n";
  file.write(pixels.const_data_ptr<char>(), static_cast<std::streamsize>(pixels.nbytes()));
  return file.good();
}

/// Each pixel as a square of `times` by `times`.
TensorPtr enlarge(const Tensor& pixels, int64_t times) {
  const Tensor repeated = expand(unsqueeze(unsqueeze(pixels, 1), 3), {-1, times, -1, times, 3});
  return clone_tensor_ptr(reshape(repeated, {pixels.size(0) * times, pixels.size(1) * times, 3}));
}

/// A frame of two pixels, inside the picture.
void draw_box(const Tensor& pixels, const float* box, const uint8_t (&color)[3], float times) {
  const auto corner = [&](int side) {
    const auto most = static_cast<float>(pixels.size(side % 2 == 0 ? 1 : 0) - 2);
    return static_cast<int64_t>((std::min)((std::max)(box[side] * times, 0.0f), most));
  };
  const int64_t left = corner(0);
  const int64_t top = corner(1);
  const int64_t width = corner(2) - left + 2;
  const int64_t height = corner(3) - top + 2;
  const Tensor inside = narrow(narrow(pixels, 0, top, height), 1, left, width);
  const TensorPtr paint = make_tensor_ptr({3}, {color[0], color[1], color[2]});
  for (const Tensor& edge : {narrow(inside, 0, 0, 2), narrow(inside, 0, height - 2, 2),
                             narrow(inside, 1, 0, 2), narrow(inside, 1, width - 2, 2)}) {
    if (copy_(edge, *paint) != Error::Ok) std::fprintf(stderr, "%s\n", last_error_message());
  }
}

int fail_with(const char* what) {
  std::fprintf(stderr, "%s: %s\n", what, last_error_message());
  return 1;
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 5) {
    std::fputs("detect detector.pt2 torchvision/_C_stable.so picture.ppm found.ppm\n", stderr);
    return 2;
  }
  AotiModule detector(arguments[1]);
  if (load_torch_library(arguments[2]) != Error::Ok) return fail_with("the operators");
  const Result<TensorPtr> pixels = read_picture(arguments[3]);
  if (!pixels.ok()) return fail_with("the picture");

  // {height, width, 3} of bytes to {1, 3, height, width} of 0 to 1.
  const TensorPtr picture = empty({1, 3, (*pixels)->size(0), (*pixels)->size(1)});
  Normalize to_unit;
  to_unit.scale = 1.0f / 255;
  if (copy_(select(*picture, 0, 0), permute(**pixels, {2, 0, 1}), to_unit) != Error::Ok) {
    return fail_with("the picture");
  }
  const Result<std::vector<EValue>> found = detector.forward(picture);
  if (!found.ok()) return fail_with("the model");
  const Tensor& boxes = (*found)[0].toTensor();
  const Tensor& scores = (*found)[1].toTensor();
  const Tensor& kinds = (*found)[2].toTensor();

  // Boxes in order of their scores, those dropped that overlap a better one by more than 0.4.
  const Result<std::vector<EValue>> kept =
      call_torch_operator("torchvision::nms", {boxes, scores, 0.4});
  if (!kept.ok()) return fail_with("nms");
  const Tensor& order = (*kept)[0].toTensor();

  constexpr const char* kNames[] = {"circle", "square", "triangle"};
  constexpr uint8_t kColors[][3] = {{255, 40, 40}, {40, 255, 40}, {60, 120, 255}};
  constexpr int64_t kTimes = 4;
  const TensorPtr drawn = enlarge(**pixels, kTimes);
  int shapes = 0;
  for (int64_t i = 0; i < order.numel(); ++i) {
    const int64_t at = order.const_data_ptr<int64_t>()[i];
    const float score = scores.const_data_ptr<float>()[at];
    if (score < 0.5f) break;
    const float* const box = boxes.const_data_ptr<float>() + 4 * at;
    const int64_t kind = kinds.const_data_ptr<int64_t>()[at];
    std::printf("%-8s %.2f  %5.1f %5.1f %5.1f %5.1f\n", kNames[kind], score, box[0], box[1], box[2],
                box[3]);
    draw_box(*drawn, box, kColors[kind], kTimes);
    ++shapes;
  }
  std::printf("%d shapes\n", shapes);
  if (!write_picture(arguments[4], *drawn)) {
    std::fprintf(stderr, "cannot write %s\n", arguments[4]);
    return 1;
  }
  return 0;
}
