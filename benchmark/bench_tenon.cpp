// SPDX-License-Identifier: MIT
//
// The cases on tenon. Names are the same in the programs beside it and in compare.py, except that the
// random cases have one for each instruction set.

#include <tenon/backend/pool.h>
#include <tenon/backend/tracking.h>
#include <tenon/tenon.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "harness.h"

namespace {

using tenon::detail::Isa;

// Null where the processor has no such set.
const char* name_of(Isa set) {
  if (set > tenon::detail::detect_isa()) return nullptr;
  switch (set) {
    case Isa::Avx512: return "avx512";
    case Isa::Avx2: return "avx2";
    case Isa::Baseline: break;
  }
  return TENON_HAS_AVX2 ? "sse2" : "baseline";
}

// Adds a case `name`/set for each set that the processor has.
template <class Body>
void add_for_each_set(bench::Suite& suite, const std::string& name, Body body) {
  for (const Isa set : {Isa::Baseline, Isa::Avx2, Isa::Avx512}) {
    if (name_of(set) == nullptr) break;
    suite.add(name + '/' + name_of(set), [set, body] {
      tenon::detail::isa() = set;
      auto result = body();
      tenon::detail::isa() = tenon::detail::detect_isa();
      return result;
    });
  }
}

}  // namespace

int main(int argc, char** argv) {
  using namespace tenon;
  bench::Suite suite(argc, argv);

  float data[6] = {1, 2, 3, 4, 5, 6};
  int deleted = 0;
  suite.add("from_blob", [&] { return from_blob(data, {2, 3}); });
  suite.add("from_blob/deleter", [&] {
    return from_blob(data, {2, 3}, ScalarType::Float, [&deleted](void*) { ++deleted; });
  });
  suite.add("for_blob/strides", [&] {
    return for_blob(data, {2, 3}).strides({3, 1}).make_tensor_ptr();
  });
  suite.add("make_tensor/blob", [&] { return make_tensor({2, 3}, data); });

  suite.add("make_tensor_ptr/vector", [] {
    std::vector<float> values(6);
    return make_tensor_ptr({2, 3}, std::move(values));
  });
  suite.add("make_tensor_ptr/list", [] { return make_tensor_ptr({1.f, 2.f, 3.f, 4.f}); });
  suite.add("make_tensor_ptr/scalar", [] { return make_tensor_ptr(3.14f); });

  const TensorImplPtr impl = make_tensor_impl_ptr({2, 3}, data);
  suite.add("make_tensor_ptr/share", [&] { return make_tensor_ptr(impl); });
  suite.add("make_tensor_ptr/share_handle", [&] { return make_tensor_ptr(impl); });

  const TensorPtr source = make_tensor_ptr({2, 3}, std::vector<float>(6));
  suite.add("clone_tensor_ptr", [&] { return clone_tensor_ptr(source); });

  TensorPtr resized = make_tensor_ptr({2, 3}, std::vector<float>(6));
  const Dims wide{2, 3};
  const Dims tall{3, 2};
  suite.add("resize_tensor_ptr", [&] {
    bench::require(resize_tensor_ptr(resized, tall) == Error::Ok);
    bench::require(resize_tensor_ptr(resized, wide) == Error::Ok);
    benchmark::DoNotOptimize(resized);
  });
  suite.add("resize_tensor_ptr/braces", [&] {
    bench::require(resize_tensor_ptr(resized, {3, 2}) == Error::Ok);
    bench::require(resize_tensor_ptr(resized, {2, 3}) == Error::Ok);
    benchmark::DoNotOptimize(resized);
  });

  suite.add("stack_tensor", [&] {
    SizesType sizes[] = {2, 3};
    DimOrderType dim_order[] = {0, 1};
    StridesType strides[] = {3, 1};
    TensorImpl stack_impl(ScalarType::Float, 2, sizes, data, dim_order, strides,
                          TensorShapeDynamism::DYNAMIC_BOUND);
    Tensor tensor(&stack_impl);
    benchmark::DoNotOptimize(tensor);
  });

  suite.add("empty/4MiB", [] { return empty({1024, 1024}); });

  const TensorPtr exchanged = make_tensor_ptr({2, 3}, std::vector<float>(6));
  suite.add("dlpack", [&] { return from_dlpack(to_dlpack(exchanged)); });

  // Backends.
  alignas(64) static unsigned char buffer[4096];
  ArenaBackend arena(buffer, sizeof buffer);
  CpuBackend cpu;
  PoolBackend pool(cpu);
  TrackingBackend tracking(cpu);
  bench::require(tracking.init({{"max_events", 0}}) ==
                 Error::Ok);  // which would touch ever new memory
  suite.add("backend/cpu", [&] { return empty({32, 32}, cpu); });
  suite.add("backend/pool", [&] { return empty({32, 32}, pool); });
  suite.add("backend/tracking", [&] { return empty({32, 32}, tracking); });
  suite.add("backend/arena", [&] { return empty({2, 3}, arena); });

  // Moving data. Sources are full of ones, which are exact in every type.
  const auto square = [](ScalarType type) { return ones({1024, 1024}, type); };
  const TensorPtr floats = square(ScalarType::Float);
  const TensorPtr ints = square(ScalarType::Int);
  const TensorPtr halves = square(ScalarType::Half);
  const TensorPtr bfloats = square(ScalarType::BFloat16);
  const TensorPtr bytes = square(ScalarType::Byte);
  const TensorPtr large = ones({4096, 4096});
  suite.add("zeros/4MiB", [] { return zeros({1024, 1024}); });
  suite.add("full/4MiB", [] { return full({1024, 1024}, 42.5f); });
  suite.add("full/64MiB", [] { return full({4096, 4096}, 42.5f); });
  suite.add("fill_/64MiB", [&] { bench::require(fill_(large, 42.5f) == Error::Ok); });
  suite.add("clone/4MiB", [&] { return clone_tensor_ptr(floats); });
  suite.add("clone/64MiB", [&] { return clone_tensor_ptr(large); });
  suite.add("clone/int_float", [&] { return clone_tensor_ptr(ints, ScalarType::Float); });
  suite.add("clone/float_half", [&] { return clone_tensor_ptr(floats, ScalarType::Half); });
  suite.add("clone/half_float", [&] { return clone_tensor_ptr(halves, ScalarType::Float); });
  suite.add("clone/float_bfloat16", [&] { return clone_tensor_ptr(floats, ScalarType::BFloat16); });
  suite.add("clone/bfloat16_float", [&] { return clone_tensor_ptr(bfloats, ScalarType::Float); });
  suite.add("clone/byte_float", [&] { return clone_tensor_ptr(bytes, ScalarType::Float); });
  suite.add("contiguous/transpose", [&] { return contiguous(transpose(floats, 0, 1)); });

  const TensorPtr pixels = ones({1, 1080, 1920, 3}, ScalarType::Byte);
  const TensorPtr float_pixels = ones({1, 1080, 1920, 3});
  const TensorPtr planes = ones({1, 3, 1080, 1920}, ScalarType::Byte);
  suite.add("nhwc_nchw/byte", [&] { return contiguous(permute(pixels, {0, 3, 1, 2})); });
  suite.add("nhwc_nchw/float", [&] { return contiguous(permute(float_pixels, {0, 3, 1, 2})); });
  suite.add("nchw_nhwc/byte", [&] { return contiguous(permute(planes, {0, 2, 3, 1})); });

  const TensorPtr padded = ones({1080, 2048 * 3}, ScalarType::Byte);
  const Tensor image = narrow(padded, 1, 0, 1920 * 3);
  const TensorPtr dense = ones({1080, 1920 * 3}, ScalarType::Byte);
  suite.add("pitch/byte", [&] { bench::require(copy_(dense, image) == Error::Ok); });

  // A batch of images, joined and cut.
  const auto images = [](ScalarType type) {
    std::vector<TensorPtr> made;
    for (int i = 0; i < 32; ++i) made.push_back(ones({3, 224, 224}, type));
    return made;
  };
  const std::vector<TensorPtr> byte_images = images(ScalarType::Byte);
  const std::vector<TensorPtr> float_images = images(ScalarType::Float);
  const TensorPtr byte_batch = stack(byte_images);
  const TensorPtr float_batch = stack(float_images);
  suite.add("stack/byte", [&] { return stack(byte_images); });
  suite.add("stack/float", [&] { return stack(float_images); });
  suite.add("stack_out/byte",
            [&] { bench::require(stack_out(byte_batch, byte_images) == Error::Ok); });
  suite.add("stack_out/float",
            [&] { bench::require(stack_out(float_batch, float_images) == Error::Ok); });
  suite.add("cat/channels", [&] { return cat(float_images, 1); });
  suite.add("unbind", [&] { return unbind(float_batch); });
  // A camera's image into a network's input.
  const TensorPtr input = empty({1, 3, 1080, 1920});
  const TensorPtr input_last = empty({1, 1080, 1920, 3});
  const Blob camera =
      Blob::of(pixels->mutable_data_ptr<uint8_t>(), {1, 3, 1080, 1920}, {0, 1, 5760, 3});
  const Normalize normalize{1 / 255.0f, {0.485f, 0.456f, 0.406f}, {0.229f, 0.224f, 0.225f}, 1};
  const Normalize of_last{1 / 255.0f, normalize.mean, normalize.stddev, -1};
  suite.add("normalize/nchw",
            [&] { bench::require(assign(input, camera, normalize) == Error::Ok); });
  suite.add("assign/nchw", [&] { bench::require(assign(input, camera) == Error::Ok); });
  suite.add("normalize/nhwc",
            [&] { bench::require(copy_(input_last, pixels, of_last) == Error::Ok); });
  suite.add("assign/nhwc", [&] { bench::require(copy_(input_last, pixels) == Error::Ok); });

  // Layouts that cameras and attention have, 480 by 640 pixels.
  const TensorPtr photo = full({480, 640, 4}, 1, ScalarType::Byte);
  auto* const first = photo->mutable_data_ptr<uint8_t>();
  const TensorPtr rgb = empty({480, 640, 3});
  const TensorPtr rgb_planes = empty({3, 480, 640});
  const auto view = [](void* memory, Dims sizes, Dims strides, ScalarType type) {
    return std::shared_ptr<Tensor>(
        for_blob(memory, std::move(sizes), type).strides(std::move(strides)).make_tensor_ptr());
  };
  const auto rgba = view(first, {480, 640, 3}, {2560, 4, 1}, ScalarType::Byte);
  suite.add("layout/rgba", [&] { bench::require(copy_(rgb, *rgba) == Error::Ok); });
  const auto bgr = view(first + 2, {480, 640, 3}, {1920, 3, -1}, ScalarType::Byte);
  suite.add("layout/bgr", [&] { bench::require(copy_(rgb, *bgr) == Error::Ok); });
  const auto bgr_planes = view(first + 2, {3, 480, 640}, {-1, 1920, 3}, ScalarType::Byte);
  const Normalize of_planes{1 / 255.0f, normalize.mean, normalize.stddev, 0};
  suite.add("layout/bgr_planes",
            [&] { bench::require(copy_(rgb_planes, *bgr_planes, of_planes) == Error::Ok); });
  const auto crop = view(first, {3, 224, 224}, {1, 1920, 3}, ScalarType::Byte);
  const TensorPtr cropped = empty({3, 224, 224});
  suite.add("layout/crop", [&] { bench::require(copy_(cropped, *crop) == Error::Ok); });
  const TensorPtr heads = full({512, 12, 64}, 1, ScalarType::Half);
  const TensorPtr by_head = empty({12, 512, 64});
  const Tensor heads_first = transpose(heads, 0, 1);
  suite.add("layout/heads", [&] { bench::require(copy_(by_head, heads_first) == Error::Ok); });
  for (const int64_t length : {8, 16, 64}) {
    const auto rows = view(first, {65536 / length, length}, {length * 3 / 2, 1}, ScalarType::Byte);
    const std::shared_ptr<Tensor> out = empty({65536 / length, length});
    suite.add("layout/rows" + std::to_string(length),
              [rows, out] { bench::require(copy_(*out, *rows) == Error::Ok); });
  }
  const Normalize of_all{1 / 255.0f, {0.45f}, {0.22f}};
  const TensorPtr samples = full({100000, 10}, 1, ScalarType::Byte);
  const TensorPtr scaled = empty({100000, 10});
  suite.add("layout/one_mean",
            [&] { bench::require(copy_(scaled, samples, of_all) == Error::Ok); });
  const struct {
    const char* name;
    ScalarType to, from;
  } pairs[] = {{"cast/int_short", ScalarType::Short, ScalarType::Int},
               {"cast/double_int", ScalarType::Int, ScalarType::Double},
               {"cast/bool_float", ScalarType::Float, ScalarType::Bool},
               {"cast/char_int", ScalarType::Int, ScalarType::Char},
               {"cast/float_byte", ScalarType::Byte, ScalarType::Float},
               {"cast/float_float8", ScalarType::Float8_e4m3fn, ScalarType::Float}};
  for (const auto& pair : pairs) {
    const std::shared_ptr<Tensor> in = full({65536}, 1, pair.from);
    const std::shared_ptr<Tensor> out = empty({65536}, pair.to);
    suite.add(pair.name,
              [in, out] { bench::require(copy_(*out, *in, CastMode::Truncate) == Error::Ok); });
  }

  // What inference programs move: pixels, windows, rows with gaps.
  const auto add_copy = [&](const std::string& name, const Tensor& to, const Tensor& from) {
    suite.add("move/" + name, [to, from] { bench::require(copy_(to, from) == Error::Ok); });
  };
  const TensorPtr vga = ones({480, 640, 3}, ScalarType::Byte);
  const TensorPtr vga4 = ones({480, 640, 4}, ScalarType::Byte);
  const TensorPtr vga_planes = ones({3, 480, 640}, ScalarType::Byte);
  const TensorPtr vga_out = ones({480, 640, 3}, ScalarType::Byte);
  add_copy("bgr_rgb", *vga_out, flip(vga, {2}));
  add_copy("rgba_rgb", *vga_out, narrow(vga4, 2, 0, 3));
  add_copy("mirrored", *vga_out, flip(vga, {1}));
  add_copy("turned", tenon::view(vga_out, {640, 480, 3}), transpose(flip(vga, {1}), 0, 1));
  add_copy("rgbx", permute(narrow(vga4, 2, 0, 3), {2, 0, 1}), *vga_planes);
  const Tensor crop_bytes = narrow(narrow(tenon::select(pixels, 0, 0), 0, 100, 224), 1, 200, 224);
  add_copy("crop", *empty({3, 224, 224}, ScalarType::Byte), permute(crop_bytes, {2, 0, 1}));
  const TensorPtr cache = ones({32, 512, 128});
  add_copy("window", narrow(cache, 1, 0, 511), narrow(cache, 1, 1, 511));
  const TensorPtr boxes = ones({64, 64, 3, 4}, ScalarType::Byte);
  add_copy("small", *empty({64, 4, 64, 3}, ScalarType::Byte), permute(boxes, {1, 3, 0, 2}));
  const TensorPtr doubles = ones({2, 512, 28, 28}, ScalarType::Double);
  add_copy("column", *empty({10000, 100}, ScalarType::Double),
           *full({10000, 1}, 1.5, ScalarType::Double));
  add_copy("nchw_nhwc", *empty({2, 28, 28, 512}, ScalarType::Double),
           permute(doubles, {0, 2, 3, 1}));
  add_copy("second", *empty({100000}), slice(ones({200000}), 0, 0, 200000, 2));
  const TensorPtr gaps = ones({10000, 20});
  const Tensor rows = narrow(gaps, 1, 0, 16);
  suite.add("move/fill_rows", [rows] { bench::require(fill_(rows, 1.5) == Error::Ok); });
  const TensorPtr quarter = ones({65536});
  suite.add("fill_/256KiB",
            [quarter = *quarter] { bench::require(fill_(quarter, 1.5) == Error::Ok); });
  suite.add("arange/long", [] { return arange(100000); });
  suite.add("arange/float", [] { return arange(100000, ScalarType::Float); });

  suite.add("accessor/sum", [&] {
    const auto a = floats->accessor<float, 2>();
    float sum = 0;
    for (int64_t i = 0; i < 1024; ++i) {
      for (int64_t j = 0; j < 1024; ++j) sum += a[i][j];
    }
    benchmark::DoNotOptimize(sum);
  });

  // Random numbers.
  add_for_each_set(suite, "rand", [] { return rand({1024, 1024}); });
  add_for_each_set(suite, "randn", [] { return randn({1024, 1024}); });
  add_for_each_set(suite, "randint", [] { return randint(0, 100, {1024, 1024}); });
  const TensorPtr uniform = ones({1024, 1024});
  suite.add("uniform_", [&] { bench::require(uniform_(uniform, 0, 1) == Error::Ok); });

  return suite.run();
}
