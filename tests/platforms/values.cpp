// SPDX-License-Identifier: MIT
// Random numbers, casts, copies, views and printing: the same text on every platform.
#include <tenon/tenon.h>

#include <tenon/backend/pool.h>

#include <cstdio>

using namespace tenon;

static int failures = 0;

static void print(const char* what, const Tensor& tensor) {
  std::printf("%s: %s\n", what, to_string(tensor).c_str());
}
static void expect(Error error) {
  if (error == Error::Ok) return;
  std::printf("%s\n", last_error_message());
  ++failures;
}
/// Of the tensor's bytes, so that last bits count (FNV-1a). NaN's bits are the processor's own.
static void print_hash(const char* what, const Tensor& tensor) {
  unsigned long long hash = 0xcbf29ce484222325u;
  const auto* const bytes = static_cast<const unsigned char*>(tensor.const_data_ptr());
  for (size_t i = 0; i < tensor.nbytes(); ++i) hash = (hash ^ bytes[i]) * 0x100000001b3u;
  std::printf("%s: %zu bytes, %016llx\n", what, static_cast<size_t>(tensor.nbytes()), hash);
}

int main() {
  Generator generator(7);
  const ScalarType floats[] = {ScalarType::Float, ScalarType::Double, ScalarType::Half,
                               ScalarType::BFloat16, ScalarType::Float8_e4m3fn};
  for (ScalarType type : floats) {
    std::printf("%s\n", toString(type));
    print("uniform", *rand({2, 3}, type, generator));
    print("normal", *randn({2, 3}, type, generator));
    // Long enough for every instruction set, and not a multiple of a vector's length.
    print_hash("many uniform", *rand({5003}, type, generator));
    print_hash("many normal", *randn({5003}, type, generator));
  }
  for (ScalarType type : {ScalarType::Byte, ScalarType::Int, ScalarType::Long}) {
    print("integers", *randint(0, 100, {8}, type, generator));
    print_hash("many integers", *randint(0, 100, {5003}, type, generator));
  }

  auto wide = empty({67, 45});
  expect(normal_(wide, 0, 300, generator));
  for (ScalarType type : {ScalarType::Half, ScalarType::BFloat16, ScalarType::Float8_e5m2,
                          ScalarType::Double, ScalarType::Int}) {
    const Tensor narrow = to(wide, type, CastMode::Truncate);
    print_hash("cast", narrow);
    print_hash("and back", to(narrow, ScalarType::Float, CastMode::Truncate));
  }
  print_hash("saturated", to(wide, ScalarType::Byte, CastMode::Saturate));

  auto turned = empty({45, 67}, ScalarType::Half);
  expect(copy_(turned, transpose(wide, 0, 1)));
  print_hash("transposed", *turned);
  print("a corner", slice(slice(turned, 0, 0, 9, 3), 1, 60, 67, 2));
  print("flipped", flip(slice(slice(wide, 0, 0, 2), 1, 0, 3), {0, 1}));
  auto pixels = randint(0, 256, {64, 48, 3}, ScalarType::Byte, generator);
  auto channels = empty({3, 64, 48}, ScalarType::Byte);
  expect(copy_(channels, permute(pixels, {2, 0, 1})));
  print_hash("channels", *channels);

  auto numbers =
      make_tensor_ptr({2, 4}, {0.1, -0.0, 1e300, 1.0 / 3, 12345678.9, 5e-324, 1e16, 2.0});
  print("numbers", *numbers);
  print("as float", to(numbers, ScalarType::Float, CastMode::Saturate));
  print("bools", *ones({3}, ScalarType::Bool));
  print("complex", *make_tensor_ptr({2}, {complex<float>{1, -2}, complex<float>{0.5f, 0}}));
  print("range", *arange(0, 1, 0.125));

  PoolBackend pool(host_backend());
  for (int i = 0; i < 3; ++i) print("of a pool", *full({2, 2}, i, pool));
  if (resize_tensor_ptr(numbers, {9, 9}) == Error::Ok) ++failures;
  std::printf("%s\n", last_error_message());
  return failures;
}
