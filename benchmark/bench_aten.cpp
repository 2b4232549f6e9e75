// SPDX-License-Identifier: MIT
//
// The cases on ATen, each in its cheapest natural form: an at::Tensor by value, except where the
// case is about a handle on the heap, and in inference mode, which spares each tensor autograd's
// version counter (an allocation).

#include <ATen/ATen.h>
#include <ATen/DLConvertor.h>
#include <ATen/Parallel.h>
#include <c10/core/InferenceMode.h>

#include <memory>
#include <vector>

#include "harness.h"

int main(int argc, char** argv) {
  at::set_num_threads(1);
  const c10::InferenceMode inference;
  bench::Suite suite(argc, argv);

  float data[6] = {1, 2, 3, 4, 5, 6};
  int deleted = 0;
  suite.add("from_blob", [&] { return at::from_blob(data, {2, 3}); });
  suite.add("from_blob/deleter", [&] {
    return at::from_blob(data, {2, 3}, [&deleted](void*) { ++deleted; });
  });
  suite.add("for_blob/strides", [&] {
    return at::for_blob(data, {2, 3}).strides({{3, 1}}).make_tensor();
  });

  suite.add("make_tensor_ptr/list", [] { return at::tensor({1.f, 2.f, 3.f, 4.f}); });
  suite.add("make_tensor_ptr/scalar", [] { return at::scalar_tensor(3.14f); });

  const at::Tensor shared = at::from_blob(data, {2, 3});
  // The same as ExecuTorch's: new metadata over the same memory, which it keeps alive.
  suite.add("make_tensor_ptr/share", [&] { return at::alias(shared); });
  // The least that sharing can be: one more handle to the same impl.
  suite.add("make_tensor_ptr/share_handle", [&] { return std::make_unique<at::Tensor>(shared); });

  const at::Tensor source = at::empty({2, 3}).zero_();
  suite.add("clone_tensor_ptr", [&] { return source.clone(); });

  const at::Tensor resized = at::empty({2, 3});
  suite.add("resize_tensor_ptr", [&] {
    resized.resize_({3, 2});
    resized.resize_({2, 3});
    benchmark::DoNotOptimize(resized);
  });
  // A brace list is ATen's natural form already: the same code under the other name.
  suite.add("resize_tensor_ptr/braces", [&] {
    resized.resize_({3, 2});
    resized.resize_({2, 3});
    benchmark::DoNotOptimize(resized);
  });

  suite.add("empty/4MiB", [] { return at::empty({1024, 1024}); });

  const at::Tensor exchanged = at::empty({2, 3}).zero_();
  suite.add("dlpack", [&] { return at::fromDLPack(at::toDLPack(exchanged)); });

  // Moving data.
  const at::Tensor floats = at::ones({1024, 1024});
  const at::Tensor ints = at::ones({1024, 1024}, at::kInt);
  const at::Tensor halves = at::ones({1024, 1024}, at::kHalf);
  const at::Tensor bfloats = at::ones({1024, 1024}, at::kBFloat16);
  const at::Tensor bytes = at::ones({1024, 1024}, at::kByte);
  const at::Tensor large = at::ones({4096, 4096});
  suite.add("zeros/4MiB", [] { return at::zeros({1024, 1024}); });
  suite.add("full/4MiB", [] { return at::full({1024, 1024}, 42.5f); });
  suite.add("full/64MiB", [] { return at::full({4096, 4096}, 42.5f); });
  suite.add("fill_/64MiB", [&] { large.fill_(42.5f); });
  suite.add("clone/4MiB", [&] { return floats.clone(); });
  suite.add("clone/64MiB", [&] { return large.clone(); });
  suite.add("clone/int_float", [&] { return ints.to(at::kFloat); });
  suite.add("clone/float_half", [&] { return floats.to(at::kHalf); });
  suite.add("clone/half_float", [&] { return halves.to(at::kFloat); });
  const at::Tensor heads = at::ones({512, 12, 64}, at::kHalf).transpose(0, 1);
  const at::Tensor by_head = at::empty({12, 512, 64});
  suite.add("layout/heads", [&] { by_head.copy_(heads); });
  suite.add("clone/float_bfloat16", [&] { return floats.to(at::kBFloat16); });
  suite.add("clone/bfloat16_float", [&] { return bfloats.to(at::kFloat); });
  suite.add("clone/byte_float", [&] { return bytes.to(at::kFloat); });
  suite.add("contiguous/transpose", [&] { return floats.transpose(0, 1).contiguous(); });

  const at::Tensor pixels = at::ones({1, 1080, 1920, 3}, at::kByte);
  const at::Tensor float_pixels = at::ones({1, 1080, 1920, 3});
  const at::Tensor planes = at::ones({1, 3, 1080, 1920}, at::kByte);
  suite.add("nhwc_nchw/byte", [&] { return pixels.permute({0, 3, 1, 2}).contiguous(); });
  suite.add("nhwc_nchw/float", [&] { return float_pixels.permute({0, 3, 1, 2}).contiguous(); });
  suite.add("nchw_nhwc/byte", [&] { return planes.permute({0, 2, 3, 1}).contiguous(); });

  const at::Tensor padded = at::ones({1080, 2048 * 3}, at::kByte);
  const at::Tensor image = padded.narrow(1, 0, 1920 * 3);
  const at::Tensor dense = at::ones({1080, 1920 * 3}, at::kByte);
  suite.add("pitch/byte", [&] { dense.copy_(image); });

  const auto images = [](at::ScalarType type) {
    std::vector<at::Tensor> made;
    for (int i = 0; i < 32; ++i) made.push_back(at::ones({3, 224, 224}, type));
    return made;
  };
  const std::vector<at::Tensor> byte_images = images(at::kByte);
  const std::vector<at::Tensor> float_images = images(at::kFloat);
  at::Tensor byte_batch = at::stack(byte_images);
  at::Tensor float_batch = at::stack(float_images);
  suite.add("stack/byte", [&] { return at::stack(byte_images); });
  suite.add("stack/float", [&] { return at::stack(float_images); });
  suite.add("stack_out/byte", [&] { at::stack_out(byte_batch, byte_images); });
  suite.add("stack_out/float", [&] { at::stack_out(float_batch, float_images); });
  suite.add("cat/channels", [&] { return at::cat(float_images, 1); });
  suite.add("unbind", [&] { return at::unbind(float_batch); });

  const auto add_copy = [&](const std::string& name, at::Tensor to, const at::Tensor& from) {
    suite.add("move/" + name, [to, from] { return to.copy_(from); });
  };
  const at::Tensor vga4 = at::ones({480, 640, 4}, at::kByte);
  const at::Tensor rgb = vga4.narrow(2, 0, 3);
  add_copy("rgba_rgb", at::ones({480, 640, 3}, at::kByte), rgb);
  add_copy("rgbx", rgb.permute({2, 0, 1}), at::ones({3, 480, 640}, at::kByte));
  const at::Tensor crop = pixels[0].narrow(0, 100, 224).narrow(1, 200, 224);
  add_copy("crop", at::empty({3, 224, 224}, at::kByte), crop.permute({2, 0, 1}));
  add_copy("small", at::empty({64, 4, 64, 3}, at::kByte),
           at::ones({64, 64, 3, 4}, at::kByte).permute({1, 3, 0, 2}));
  add_copy("column", at::empty({10000, 100}, at::kDouble), at::full({10000, 1}, 1.5, at::kDouble));
  add_copy("nchw_nhwc", at::empty({2, 28, 28, 512}, at::kDouble),
           at::ones({2, 512, 28, 28}, at::kDouble).permute({0, 2, 3, 1}));
  add_copy("second", at::empty({100000}), at::ones({200000}).slice(0, 0, 200000, 2));
  const at::Tensor rows = at::ones({10000, 20}).narrow(1, 0, 16);
  suite.add("move/fill_rows", [rows] { rows.fill_(1.5); });
  const at::Tensor quarter = at::ones({65536});
  suite.add("fill_/256KiB", [&] { quarter.fill_(1.5); });
  suite.add("arange/long", [] { return at::arange(100000); });
  suite.add("arange/float", [] { return at::arange(100000, at::kFloat); });

  suite.add("accessor/sum", [&] {
    const auto a = floats.accessor<float, 2>();
    float sum = 0;
    for (int64_t i = 0; i < 1024; ++i) {
      for (int64_t j = 0; j < 1024; ++j) sum += a[i][j];
    }
    benchmark::DoNotOptimize(sum);
  });

  // Random numbers.
  suite.add("rand", [] { return at::rand({1024, 1024}); });
  suite.add("randn", [] { return at::randn({1024, 1024}); });
  suite.add("randint", [] { return at::randint(0, 100, {1024, 1024}, at::kInt); });
  const at::Tensor uniform = at::ones({1024, 1024});
  suite.add("uniform_", [&] { uniform.uniform_(); });

  return suite.run();
}
