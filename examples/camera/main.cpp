// SPDX-License-Identifier: MIT
// From a camera to a network without a copy too many and without the heap. Each frame is borrowed
// where the driver has it, cropped and permuted as views, and normalised straight into its place
// in the network's batch: one pass over its bytes. It goes back to the camera when the last view
// is gone. Handles and metadata lie in an arena.
//
//     camera [folder for the pictures]
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <string>

#include "camera.h"
#include "count_allocations.h"
#include "pictures.h"
#include "tenon/module/function_module.h"
#include "tenon/tenon.h"

using tenon::check;
using tenon::CopyPlan;
using tenon::Error;
using tenon::EValue;
using tenon::Normalize;
using tenon::ScalarType;
using tenon::Span;
using tenon::Tensor;

constexpr int64_t kSide = 640;  // of the square in the frame's middle that the network sees
constexpr int64_t kTop = (Camera::kRows - kSide) / 2;
constexpr int64_t kLeft = (Camera::kColumns - kSide) / 2;
constexpr int64_t kBatch = 4;
constexpr int kPasses = 16;
constexpr int kFrames = kPasses * kBatch;
constexpr float kScale = 1 / 255.0f;
constexpr float kMean[] = {0.485f, 0.456f, 0.406f};
constexpr float kStddev[] = {0.229f, 0.224f, 0.225f};

/// The next frame where the driver has it: it goes back when its last view is gone.
Tensor borrow_frame(Camera& camera) {
  return tenon::tensor_from_blob(camera.capture(), {Camera::kRows, Camera::kColumns, 3},
                                 {Camera::kPitch, 3, 1}, ScalarType::Byte,
                                 [&camera](void* data) { camera.give_back(data); });
}

/// What the network sees of the next frame, channels first.
Tensor borrow_square(Camera& camera) {
  const Tensor frame = borrow_frame(camera);
  const Tensor square = narrow(narrow(frame, 0, kTop, kSide), 1, kLeft, kSide);
  return permute(square, {2, 0, 1});
}

/// The same by hand.
void take_frame_by_hand(Camera& camera, float* batch, int64_t slot) {
  const uint8_t* const frame = camera.capture();
  const uint8_t* const square = frame + kTop * Camera::kPitch + 3 * kLeft;
  float* const image = batch + slot * 3 * kSide * kSide;
  for (int64_t c = 0; c < 3; ++c) {
    for (int64_t y = 0; y < kSide; ++y) {
      for (int64_t x = 0; x < kSide; ++x) {
        const auto value = static_cast<float>(square[y * Camera::kPitch + 3 * x + c]);
        image[(c * kSide + y) * kSide + x] = (value * kScale - kMean[c]) / kStddev[c];
      }
    }
  }
  camera.give_back(frame);
}

/// Stands for the network: finds the middle of what is red in each image.
Error find_red(Span<const EValue> inputs, Span<EValue> outputs) {
  const auto images = inputs[0].toTensor().accessor<const float, 4>();
  const auto found = outputs[0].toTensor().accessor<float, 2>();
  for (int64_t n = 0; n < images.size(0); ++n) {
    double rows = 0;
    double columns = 0;
    double count = 0;
    for (int64_t y = 0; y < kSide; ++y) {
      const float* const red = images[n][0][y].data();
      const float* const green = images[n][1][y].data();
      for (int64_t x = 0; x < kSide; ++x) {
        if (red[x] - green[x] < 1.2f) continue;
        rows += static_cast<double>(y);
        columns += static_cast<double>(x);
        ++count;
      }
    }
    found[n][0] = static_cast<float>(rows / count);
    found[n][1] = static_cast<float>(columns / count);
  }
  return Error::Ok;
}

/// How many of the batch's balls were found where they are, when its first frame was `first`.
int count_right(const Tensor& found, int first) {
  const auto middles = found.accessor<const float, 2>();
  int right = 0;
  for (int64_t n = 0; n < kBatch; ++n) {
    const Ball ball = Camera::ball((first + static_cast<int>(n)) % Camera::kFrames);
    const double rows = static_cast<double>(middles[n][0]) + kTop - ball.row;
    const double columns = static_cast<double>(middles[n][1]) + kLeft - ball.column;
    right += std::hypot(rows, columns) < 1 ? 1 : 0;
  }
  return right;
}

/// An image of the batch as bytes again, with a cross where the ball was found.
Tensor picture_of(const Tensor& image, const float* middle) {
  // The way back is a normalisation too: (x + mean / stddev) * stddev * 255.
  Normalize back;
  back.mean = {-kMean[0] / kStddev[0], -kMean[1] / kStddev[1], -kMean[2] / kStddev[2]};
  back.stddev = {kScale / kStddev[0], kScale / kStddev[1], kScale / kStddev[2]};
  back.dim = 2;
  const Tensor picture = *tenon::empty({kSide, kSide, 3}, ScalarType::Byte);
  check(copy_(picture, permute(image, {1, 2, 0}), back, tenon::CastMode::Saturate));
  const auto row = static_cast<int64_t>(middle[0]);
  const auto column = static_cast<int64_t>(middle[1]);
  check(fill_(narrow(narrow(picture, 0, row - 8, 16), 1, column - 60, 120), 255));
  check(fill_(narrow(narrow(picture, 0, row - 60, 120), 1, column - 8, 16), 255));
  return picture;
}

/// Microseconds a frame.
template <class Loop>
double measure(const Loop& take_batch) {
  const auto start = std::chrono::steady_clock::now();
  for (int pass = 0; pass < kPasses; ++pass) take_batch();
  const std::chrono::duration<double, std::micro> time = std::chrono::steady_clock::now() - start;
  return time.count() / kFrames;
}

int run(const std::string& folder) {
  Camera camera;
  const Tensor batch = *tenon::empty({kBatch, 3, kSide, kSide});
  const Tensor found = *tenon::empty({kBatch, 2});
  tenon::FunctionModule model(find_red, tenon::TensorSpec{{kBatch, 3, kSide, kSide}},
                              tenon::TensorSpec{{kBatch, 2}});
  check(model.set_input(batch, 0));
  check(model.set_output(found, 0));
  Normalize normalize;
  normalize.scale = kScale;
  normalize.mean = kMean;
  normalize.stddev = kStddev;

  // All frames have one shape, so the copy is planned once, with the first of them.
  const CopyPlan plan = plan_copy(select(batch, 0, 0), borrow_square(camera), normalize);

  // Room for the metadata of one frame and its views.
  alignas(64) static unsigned char memory[8192];
  tenon::ArenaBackend arena(memory, sizeof memory);
  const auto take_batch = [&] {
    const tenon::BackendScope scope(arena);
    for (int64_t n = 0; n < kBatch; ++n) {
      check(plan.run(select(batch, 0, n), borrow_square(camera)));
    }
  };
  int right = 0;
  const auto run_batch = [&] {
    const int first = camera.next();
    take_batch();
    check(model.run());
    right += count_right(found, first);
  };

  run_batch();  // for whatever gets ready at the first use
  right = 0;
  const long allocations_before = count_allocations();
  for (int pass = 0; pass < kPasses; ++pass) run_batch();
  const long allocations = count_allocations() - allocations_before;

  const double time = measure(take_batch);
  const Tensor by_hand = *tenon::full({kBatch, 3, kSide, kSide}, 0);  // which touches its memory
  const double time_by_hand = measure([&] {
    for (int64_t n = 0; n < kBatch; ++n) {
      take_frame_by_hand(camera, by_hand.mutable_data_ptr<float>(), n);
    }
  });
  // Both took the same frames, the last batch included.
  const bool is_equal =
      std::memcmp(batch.const_data_ptr(), by_hand.const_data_ptr(), batch.nbytes()) == 0;

  // One more batch, for the pictures, and its first frame once more, a ring later.
  take_batch();
  check(model.run());
  for (int64_t n = kBatch; n < Camera::kFrames; ++n) camera.give_back(camera.capture());
  const Tensor before = borrow_frame(camera);
  const Tensor after = picture_of(select(batch, 0, 0), found.const_data_ptr<float>());
  write_ppm(folder + "/before.ppm", before);
  write_ppm(folder + "/after.ppm", after);
  show("A frame of the camera:", before);
  show("What the network saw of it, and where it found the ball:", after);

  std::printf("\n  the ball found in %d of %d frames\n", right, kFrames);
  std::printf("  %.0f us a frame into the batch, %.0f us by hand: %.2f; the same elements: %s\n",
              time, time_by_hand, time / time_by_hand, is_equal ? "yes" : "no");
  if (allocations_before < 0) {
    std::printf("  heap allocations: not counted on this platform\n");
  } else {
    std::printf("  heap allocations: %ld\n", allocations);
  }
  std::printf("  pictures: before.ppm and after.ppm in %s\n", folder.c_str());
  const bool is_right = right == kFrames && is_equal && camera.lent() == 1 &&
                        camera.padding_is_intact() && arena.used() == 0;
  return is_right && allocations == 0 ? 0 : 1;
}

int main(int argc, char** argv) {
  try {
    return run(argc > 1 ? argv[1] : ".");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "camera: %s\n", error.what());
    return 1;
  }
}
