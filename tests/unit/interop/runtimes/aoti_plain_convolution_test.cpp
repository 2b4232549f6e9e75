// SPDX-License-Identifier: MIT
// Beside libtorch's: aoti_onednn_convolution_test.cpp.
#include "tenon/interop/runtimes/aoti_plain_convolution.h"

#include <vector>

#include "support/catch.h"
#include "tenon/tenon.h"

namespace aoti_plain_convolution_test {

using namespace tenon;

TEST_CASE("aoti_plain_convolution: rows with strides, padding and dilation, transposed too",
          "[aoti_plain_convolution]") {
  detail::PlainConvolution job;
  job.batches = 1;
  job.groups = 2;
  job.inputs = job.outputs = 1;
  job.in[2] = 4;
  job.kernel[2] = 2;
  job.out[2] = 3;
  job.stride[2] = 2;
  job.padding[2] = 2;
  job.dilation[2] = 2;
  const double x[] = {1, 2, 3, 4, 5, 6, 7, 8};
  const double w[] = {1, 10, 100, 1000};
  const double bias[] = {0.5, 0};
  std::vector<double> y(6, 7.0);
  job.run(x, w, bias, y.data());
  CHECK(y == std::vector<double>{10.5, 31.5, 3.5, 5000, 7500, 700});

  job.transposed = true;  // from 3 to 4
  std::swap(job.in, job.out);
  std::vector<double> back(8, 7.0);
  job.run(y.data(), w, static_cast<const double*>(nullptr), back.data());
  CHECK(back ==
        std::vector<double>{31.5 + 105, 0, 3.5 + 315, 0, 750000 + 5000000, 0, 70000 + 7500000, 0});
}

}  // namespace aoti_plain_convolution_test
