// SPDX-License-Identifier: MIT
// A Python module over a camera's driver (camera.h): its padded rows as views for NumPy, PyTorch
// and whoever else knows DLPack or the buffer protocol, and pictures written to arrays they own.
// Nothing is copied on the way; demo.py shows it.
#include "tenon/interop/pybind11.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <mutex>
#include <stdexcept>

#include "camera.h"
#include "tenon/tenon.h"

namespace py = pybind11;
using tenon::ScalarType;
using tenon::TensorPtr;

namespace {

/// The driver, for several threads: a frame may come back on any of them.
class Camera {
 public:
  Camera(int width, int height) : device_(camera_open(width, height)) {
    if (device_ == nullptr) throw std::invalid_argument("no camera has that many pixels");
  }
  Camera(const Camera&) = delete;
  Camera& operator=(const Camera&) = delete;
  ~Camera() { camera_close(device_); }

  const camera_frame* lend() {
    const std::lock_guard<std::mutex> lock(mutex_);
    const camera_frame* const frame = camera_lend(device_);
    if (frame == nullptr) throw std::runtime_error("all of the camera's buffers are in use");
    return frame;
  }
  void give_back(const camera_frame* frame) {
    const std::lock_guard<std::mutex> lock(mutex_);
    camera_give_back(device_, frame);
  }
  int lent() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return camera_lent(device_);
  }

 private:
  std::mutex mutex_;
  camera* device_;
};

/// A frame on loan. It goes back to the camera, which it keeps open, with the last view of it.
class Frame {
 public:
  explicit Frame(std::shared_ptr<Camera> lender) {
    const camera_frame* const frame = lender->lend();
    frame_ = std::shared_ptr<const camera_frame>(
        frame, [lender = std::move(lender)](const camera_frame* f) { lender->give_back(f); });
  }

  const camera_frame& operator*() const { return *frame_; }

  /// height × width. Strides are in elements, which here are bytes, as the pitch is.
  TensorPtr luma() const {
    return tenon::from_blob(
        {frame_->luma, {frame_->height, frame_->width}, {pitch(), 1}, ScalarType::Byte}, frame_);
  }
  /// height / 2 × width / 2 × 2.
  TensorPtr chroma() const {
    return tenon::from_blob({frame_->chroma,
                             {frame_->height / 2, frame_->width / 2, 2},
                             {pitch(), 2, 1},
                             ScalarType::Byte},
                            frame_);
  }

 private:
  int64_t pitch() const { return static_cast<int64_t>(frame_->pitch); }

  std::shared_ptr<const camera_frame> frame_;
};

uint8_t to_byte(float value) {
  return static_cast<uint8_t>(std::min(255.0f, std::max(0.0f, value + 0.5f)));
}

/// Writes the frame to `out`, height × width × 3 of uint8 in any layout: an array of the caller's,
/// a part of a larger one, or planes that are seen as pixels.
void to_rgb(const Frame& frame, const TensorPtr& out) {
  const camera_frame& from = *frame;
  if (out->dim() != 3 || out->size(0) != from.height || out->size(1) != from.width ||
      out->size(2) != 3) {
    throw std::invalid_argument("out is not of the frame's height × width × 3");
  }
  const auto rgb = out->accessor<uint8_t, 3>();  // checks the dtype, and that it may be written
  const py::gil_scoped_release others_run;
  for (int y = 0; y < from.height; ++y) {
    const uint8_t* const luma = from.luma + static_cast<size_t>(y) * from.pitch;
    const uint8_t* const chroma = from.chroma + static_cast<size_t>(y / 2) * from.pitch;
    for (int x = 0; x < from.width; ++x) {  // BT.601, full range
      const auto brightness = static_cast<float>(luma[x]);
      const auto u = static_cast<float>(chroma[x / 2 * 2] - 128);
      const auto v = static_cast<float>(chroma[x / 2 * 2 + 1] - 128);
      rgb[y][x][0] = to_byte(brightness + 1.402f * v);
      rgb[y][x][1] = to_byte(brightness - 0.344f * u - 0.714f * v);
      rgb[y][x][2] = to_byte(brightness + 1.772f * u);
    }
  }
}

}  // namespace

PYBIND11_MODULE(padded_frames, m) {
  m.doc() = "A camera's padded rows as NumPy's and PyTorch's, without a copy.";
  tenon::register_pybind11_exceptions();

  py::class_<Camera, std::shared_ptr<Camera>>(m, "Camera")
      .def(py::init<int, int>(), py::arg("width"), py::arg("height"))
      .def(
          "capture", [](std::shared_ptr<Camera> self) { return Frame(std::move(self)); },
          "The next picture, in one of the camera's buffers until its last view is gone.")
      .def_property_readonly("lent", &Camera::lent, "How many buffers are in use.");

  py::class_<Frame>(m, "Frame")
      .def_property_readonly("luma", &Frame::luma, "height x width, a view of the buffer")
      .def_property_readonly("chroma", &Frame::chroma, "height / 2 x width / 2 x 2, a view of it")
      .def("to_rgb", &to_rgb, py::arg("out"),
           "Writes the picture to out, height x width x 3 of uint8.");
}
