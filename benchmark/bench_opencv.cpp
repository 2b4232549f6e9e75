// SPDX-License-Identifier: MIT
//
// The cases on OpenCV's dnn module, in one thread.

#include <opencv2/core.hpp>
#include <opencv2/dnn/dnn.hpp>

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

  return suite.run();
}
