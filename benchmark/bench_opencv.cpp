// SPDX-License-Identifier: MIT
//
// The cases on OpenCV, in one thread.

#include <opencv2/core.hpp>
#include <opencv2/dnn/dnn.hpp>
#include <opencv2/imgproc.hpp>
#include <vector>

#include "harness.h"

int main(int argc, char** argv) {
  bench::Suite suite(argc, argv);
  cv::setNumThreads(1);

  // It subtracts the mean first, and has one factor for all channels.
  const cv::Mat image(1080, 1920, CV_8UC3, cv::Scalar(1, 1, 1));
  const cv::Scalar mean(0.485 * 255, 0.456 * 255, 0.406 * 255);
  cv::Mat blob;  // the first call allocates it
  suite.add("normalize/nchw", [&] {
    cv::dnn::blobFromImage(image, blob, 1 / (255 * 0.226), cv::Size(), mean, false, false, CV_32F);
    benchmark::DoNotOptimize(blob.data);
  });

  // Blue, green, red; the cast is a pass of its own.
  const cv::Mat photo(480, 640, CV_8UC3, cv::Scalar(1, 1, 1));
  cv::Mat rgb;
  cv::Mat floats;
  suite.add("layout/bgr", [&] {
    cv::cvtColor(photo, rgb, cv::COLOR_BGR2RGB);
    rgb.convertTo(floats, CV_32F);
    benchmark::DoNotOptimize(floats.data);
  });
  cv::Mat planes;
  suite.add("layout/bgr_planes", [&] {
    cv::dnn::blobFromImage(photo, planes, 1 / (255 * 0.226), cv::Size(), mean, true, false, CV_32F);
    benchmark::DoNotOptimize(planes.data);
  });

  const cv::Mat vga(480, 640, CV_8UC3, cv::Scalar(1, 1, 1));
  const cv::Mat vga4(480, 640, CV_8UC4, cv::Scalar(1, 1, 1, 1));
  cv::Mat out;
  suite.add("move/bgr_rgb", [&] { cv::cvtColor(vga, out, cv::COLOR_BGR2RGB); });
  suite.add("move/rgba_rgb", [&] { cv::cvtColor(vga4, out, cv::COLOR_RGBA2RGB); });
  suite.add("move/mirrored", [&] { cv::flip(vga, out, 1); });
  cv::Mat turned;
  suite.add("move/turned", [&] { cv::rotate(vga, turned, cv::ROTATE_90_COUNTERCLOCKWISE); });
  const cv::Mat crop = image(cv::Rect(200, 100, 224, 224));
  std::vector<cv::Mat> crop_planes;
  suite.add("move/crop", [&] { cv::split(crop, crop_planes); });

  return suite.run();
}
