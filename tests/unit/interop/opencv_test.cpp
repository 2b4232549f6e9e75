// SPDX-License-Identifier: MIT
// Built by interop/libraries/opencv/CMakeLists.txt.
#include "tenon/interop/opencv.h"

#include <opencv2/imgproc.hpp>
#include <thread>

#include "allocation/count_allocations.h"
#include "support/catch.h"
#include "tenon/tensor/copy.h"
#include "tenon/tensor/resize.h"
#include "tenon/tensor/tensor_ptr.h"
#include "tenon/tensor/view.h"
#include "tensor/helpers.h"

using namespace tenon;
using namespace tests;

namespace {

// Rows of 0, 1, 2, ...
cv::Mat counted_mat(int rows, int columns, int type) {
  cv::Mat mat(rows, columns, type);
  uchar value = 0;
  for (int row = 0; row < rows; ++row) {
    for (size_t i = 0; i < mat.elemSize() * static_cast<size_t>(columns); ++i) {
      mat.ptr(row)[i] = value++;
    }
  }
  return mat;
}

}  // namespace

TEST_CASE("from_mat: an image is {rows, columns, channels}, a grey one {rows, columns}") {
  const cv::Mat image = counted_mat(2, 3, CV_8UC3);
  const TensorPtr t = from_mat(image);
  CHECK(sizes(t) == Vector{2, 3, 3});
  CHECK(strides(t) == Vector{9, 3, 1});
  CHECK(t->scalar_type() == ScalarType::Byte);
  CHECK(t->const_data_ptr() == image.data);
  CHECK(const_data_ptr<uint8_t>(*t)[1 * 9 + 2 * 3 + 1] == image.at<cv::Vec3b>(1, 2)[1]);
  const cv::Mat grey = counted_mat(2, 3, CV_8UC1);
  CHECK(sizes(from_mat(grey)) == Vector{2, 3});
  CHECK(sizes(from_mat(grey, MatChannels::Always)) == Vector{2, 3, 1});
  CHECK(sizes(from_mat(grey, MatChannels::Never)) == Vector{2, 3});
  RAISES(InvalidArgument, "from_mat: the cv::Mat has 3 channels",
         from_mat(image, MatChannels::Never));
}

TEST_CASE("from_mat, to_mat: every depth that both have") {
  const struct {
    int depth;
    ScalarType type;
  } rows[] = {{CV_8U, ScalarType::Byte},    {CV_8S, ScalarType::Char}, {CV_16U, ScalarType::UInt16},
              {CV_16S, ScalarType::Short},  {CV_32S, ScalarType::Int}, {CV_32F, ScalarType::Float},
              {CV_64F, ScalarType::Double}, {CV_16F, ScalarType::Half}};
  for (const auto& row : rows) {
    CAPTURE(row.depth);
    const cv::Mat mat(2, 3, CV_MAKETYPE(row.depth, 2));
    const TensorPtr t = from_mat(mat);
    CHECK(t->scalar_type() == row.type);
    CHECK(sizes(t) == Vector{2, 3, 2});
    const cv::Mat back = to_mat(t);
    CHECK(back.type() == mat.type());
    CHECK(back.size == mat.size);
    CHECK(back.data == mat.data);
  }
  for (ScalarType type : {ScalarType::Bool, ScalarType::Long, ScalarType::UInt32,
                          ScalarType::BFloat16, ScalarType::ComplexFloat}) {
    CAPTURE(static_cast<int>(type));
    RAISES(NotSupported, "to_mat: a cv::Mat cannot have elements of", to_mat(zeros({2, 3}, type)));
  }
}

TEST_CASE("from_mat: Mats of more dimensions, of columns, expressions and typed ones") {
  const int sizes3[] = {2, 3, 4};
  CHECK(sizes(from_mat(cv::Mat(3, sizes3, CV_32F))) == Vector{2, 3, 4});
  CHECK(sizes(from_mat(cv::Mat(3, sizes3, CV_32FC2))) == Vector{2, 3, 4, 2});
  const cv::Mat mat = counted_mat(3, 2, CV_8UC1);
  CHECK(strides(from_mat(mat.col(1))) == Vector{2, 1});
  CHECK(tests::values<uint8_t>(from_mat(mat.col(1))) == Bytes{1, 3, 5});
  CHECK(tests::values<uint8_t>(from_mat(mat + mat)) == Bytes{0, 2, 4, 6, 8, 10});
  cv::Mat_<float> typed(1, 2);
  typed << 3.0f, 4.0f;
  CHECK(tests::values<float>(from_mat(typed)) == Floats{3, 4});
}

TEST_CASE("from_mat: empty Mats, and those without dimensions") {
  CHECK(sizes(from_mat(cv::Mat(0, 5, CV_32F))) == Vector{0, 5});
  CHECK(sizes(from_mat(cv::Mat(3, 0, CV_32FC3))) == Vector{3, 0, 3});
  cv::Mat released(2, 3, CV_8U);
  released.release();
  CHECK(sizes(from_mat(released)) == Vector{0, 0});
  RAISES(InvalidState, "from_mat: the cv::Mat has no dimensions, as after cv::imread()",
         from_mat(cv::Mat()));
  cv::Mat odd(2, 2, CV_16U);
  odd.step.p[0] = 5;
  RAISES(InvalidArgument, "step of dimension 0 is 5 bytes", from_mat(odd));
}

// A promise of docs/guarantees.md.
TEST_CASE("from_mat: a UMat that is mapped may go before the tensor") {
  const TensorPtr t = from_mat(cv::UMat(20, 30, CV_8UC1, cv::Scalar(9)).getMat(cv::ACCESS_RW));
  CHECK(tests::values<uint8_t>(t) == Bytes(600, 9));
  const auto mapped = [](cv::InputArray array) { return from_mat(array.getMat()); };
  TensorPtr part;
  {
    const cv::UMat whole(20, 30, CV_8UC1, cv::Scalar(8));
    part = mapped(whole(cv::Rect(1, 2, 3, 4)));
  }
  CHECK(strides(part) == Vector{30, 1});
  CHECK(tests::values<uint8_t>(part) == Bytes(12, 8));
  // A Mat whose memory a UMat maps: whichever of the three goes last.
  for (int last = 0; last < 3; ++last) {
    cv::Mat mat(20, 30, CV_8UC1, cv::Scalar(7));
    cv::UMat on_device = mat.getUMat(cv::ACCESS_RW);
    TensorPtr from = from_mat(mat);
    TensorPtr other = from_mat(on_device.getMat(cv::ACCESS_RW));
    if (last != 0) from.reset();
    if (last != 1) on_device = cv::UMat();
    if (last != 2) mat = cv::Mat();
    if (last == 0) CHECK(tests::values<uint8_t>(from) == Bytes(600, 7));
    CHECK(tests::values<uint8_t>(other) == Bytes(600, 7));
    if (last == 2) CHECK(mat.at<uchar>(19, 29) == 7);
  }
  const std::vector<float> memory = {1, 2, 3};
  const TensorPtr borrowed = mapped(memory);  // a vector has no reference count
  CHECK(ownership(*borrowed) == Ownership::Borrowed);
  CHECK(borrowed->const_data_ptr() == memory.data());
  const TensorPtr copied = from_mat(cv::Mat(cv::Matx22f(1, 2, 3, 4)));
  CHECK(tests::values<float>(copied) == Floats{1, 2, 3, 4});
  static_assert(!std::is_invocable_v<decltype(from_mat), int>);
#if !defined(__clang__)  // which selects the overload and then says that it is unavailable
  static_assert(!std::is_invocable_v<decltype(from_mat), cv::InputArray>);
  static_assert(!std::is_invocable_v<decltype(from_mat), cv::UMat&>);
#endif
}

TEST_CASE("to_mat: an image's channels are its type, rows keep their step") {
  Bytes memory(2 * 16);
  std::iota(memory.begin(), memory.end(), uint8_t{0});
  const TensorPtr t = from_blob(memory.data(), {2, 4, 3}, {16, 3, 1});
  const cv::Mat mat = to_mat(t);
  CHECK(mat.type() == CV_8UC3);
  CHECK(mat.size() == cv::Size(4, 2));
  CHECK(mat.step[0] == 16);
  CHECK(mat.data == memory.data());
  CHECK(mat.at<cv::Vec3b>(1, 3) == cv::Vec3b(25, 26, 27));
  CHECK(!mat.isContinuous());
  const cv::Mat volume = to_mat(t, MatChannels::Never);
  CHECK(volume.dims == 3);
  CHECK(volume.size[2] == 3);
  CHECK(volume.at<uchar>(1, 3, 2) == 27);
  const cv::Mat one_channel = to_mat(make_tensor_ptr({2, 2, 1}, {1.0f, 2.0f, 3.0f, 4.0f}));
  CHECK(one_channel.type() == CV_32FC1);
  CHECK(one_channel.size() == cv::Size(2, 2));
}

TEST_CASE("to_mat: ranks other than images'") {
  const cv::Mat scalar = to_mat(make_tensor_ptr(7));
  CHECK(scalar.size() == cv::Size(1, 1));
  CHECK(scalar.at<int>(0, 0) == 7);
  int32_t memory[6] = {0, 1, 2, 3, 4, 5};
  const cv::Mat column = to_mat(from_blob(memory, {3}, {2}));
  CHECK(column.size() == cv::Size(1, 3));
  CHECK(column.at<int>(2, 0) == 4);
  const cv::Mat points = to_mat(from_blob(memory, {3, 2}), MatChannels::Always);
  CHECK(points.type() == CV_32SC2);
  CHECK(points.size() == cv::Size(1, 3));
  CHECK(points.at<cv::Vec2i>(2, 0) == cv::Vec2i(4, 5));
  const cv::Mat batch = to_mat(zeros({2, 3, 4, 5}, ScalarType::Float), MatChannels::Always);
  CHECK(batch.dims == 3);
  CHECK(batch.channels() == 5);
  const cv::Mat row = to_mat(from_blob(memory, {1, 6}, {-9, 1}));  // a stride that says nothing
  CHECK(row.isContinuous());
  CHECK(row.at<int>(0, 5) == 5);
  CHECK(to_mat(zeros(Vector(32, 1), ScalarType::Byte)).dims == 32);
}

TEST_CASE("to_mat: layouts that a Mat cannot have are refused, and it is said what to do") {
  uint8_t memory[64] = {};
  const int64_t far = int64_t{1} << 62;
  const struct {
    Vector sizes;
    Vector strides;
    const char* words;
  } rows[] = {
      {{4, 3}, {1, 4}, "to_mat: strides {1, 4} of sizes {4, 3}: a cv::Mat is in row-major order"},
      {{4, 3}, {6, 2}, "contiguous(t) makes a copy"},
      {{4, 3}, {0, 1}, "not dimension 0"},
      {{4, 3}, {3, -1}, "not dimension 1"},
      {{4, 3}, {-3, 1}, "not dimension 0"},
      {{3}, {-1}, "not dimension 0"},
      {{2, 2, 3}, {2, 1, 4}, "a cv::Mat's channels are neighbours, not dimension 2"},
      {{2, 2, 3}, {12, 6, 1}, "not dimension 1"},
      {{int64_t{1} << 31, 0}, {1, 1}, "those of a cv::Mat are int"},
      {{1, 2, 2, 1}, {1, 1, far, 1}, "not dimension 1"}};
  for (const auto& row : rows) {
    RAISES(NotSupported, row.words, to_mat(from_blob(memory + 30, row.sizes, row.strides)));
  }
  CHECK(to_mat(from_blob(memory, {2, 2}, {far, 1})).rows == 2);
  RAISES(InvalidArgument, "to_mat: sizes {1, 1, 513} do not end with a size of 1 to 512",
         to_mat(zeros({1, 1, 513}, ScalarType::Byte)));
  CHECK(to_mat(zeros({1, 1, 512}, ScalarType::Byte)).channels() == 512);
  RAISES(InvalidArgument, "channels", to_mat(zeros({2, 2, 0}, ScalarType::Byte)));
  RAISES(InvalidArgument, "channels", to_mat(make_tensor_ptr(1), MatChannels::Always));
  RAISES(NotSupported, "33 dimensions", to_mat(zeros(Vector(33, 1), ScalarType::Byte)));
  const uint8_t constant[4] = {};
  RAISES(NotSupported, "to_mat: the tensor is read-only", to_mat(from_blob(constant, {2, 2})));
  RAISES(InvalidState, "to_mat: the tensor is undefined", to_mat(TensorPtr()));
  FAILS(InvalidState, "try_to_mat: the tensor is undefined", try_to_mat(TensorPtr()));
  FAILS(InvalidState, "try_from_mat: the cv::Mat has no dimensions", try_from_mat(cv::Mat()));
}

TEST_CASE("to_mat: empty tensors are empty Mats") {
  const cv::Mat mat = to_mat(zeros({0, 5}, ScalarType::Float));
  CHECK(mat.empty());
  CHECK(mat.rows == 0);
  CHECK(mat.cols == 5);
  CHECK(mat.type() == CV_32F);
  CHECK(sizes(from_mat(mat)) == Vector{0, 5});
  float* const null = nullptr;
  CHECK(to_mat(from_blob(null, {3, 0}, {-1, 0})).cols == 0);
  CHECK(to_mat(from_blob(null, {0, 0, 3})).channels() == 3);
}

TEST_CASE("to_mat: an output of the right size is written in place, and the tensor cannot grow") {
  TensorPtr t = zeros({2, 2}, ScalarType::Byte, TensorShapeDynamism::DYNAMIC_UNBOUND);
  {
    cv::Mat out = to_mat(t);
    cv::resize(counted_mat(4, 4, CV_8UC1), out, out.size(), 0, 0, cv::INTER_NEAREST);
    CHECK(out.data == t->const_data_ptr());
    CHECK(tests::values<uint8_t>(t) == Bytes{0, 2, 8, 10});
    CHECK(resize_tensor_ptr(t, {9, 9}) == Error::InUse);
  }
  CHECK(resize_tensor_ptr(t, {9, 9}) == Error::Ok);
}

TEST_CASE("from_mat, to_mat: two allocations at most, and errors when there is no memory") {
  if (!heap_is_counted()) {
    WARN("skipped: needs glibc without sanitizers");
    return;
  }
  const cv::Mat mat(4, 4, CV_32FC3);
  const int sizes3[] = {2, 3, 4};
  const cv::Mat volume(3, sizes3, CV_32F);
  const TensorPtr t = from_mat(mat);
  const TensorPtr deep = from_mat(volume);
  const int before = mat.u->refcount;
  CHECK(count_allocations([&] { return try_from_mat(mat); }) == 1);
  CHECK(count_allocations([&] { return try_to_mat(t); }) == 1);
  CHECK(count_allocations([&] { return try_to_mat(deep, MatChannels::Never); }) == 2);
  CHECK(mat.u->refcount == before);
}
