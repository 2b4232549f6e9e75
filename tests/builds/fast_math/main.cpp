// SPDX-License-Identifier: MIT
// Prints a hash of what each cast gives, NaN, infinities and the edges of all types among it, of
// random numbers, of normalised bytes and of summaries. Built with and without -ffast-math, it
// prints the same.
//
// Not among them: floats and doubles below the normal ones, which the processor takes for 0 in
// programs linked with -ffast-math, and what docs/random.md names.
#include <cinttypes>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

#include "tenon/tenon.h"
#include "tenon/tensor/values.h"

using namespace tenon;

namespace {

constexpr ScalarType kTypes[] = {
#define TENON_TESTS_NAME(cpp_type, name) ScalarType::name,
    TENON_FORALL_SCALAR_TYPES(TENON_TESTS_NAME)
#undef TENON_TESTS_NAME
};

/// FNV-1a.
uint64_t hash(const std::vector<unsigned char>& bytes) {
  uint64_t result = 0xcbf29ce484222325u;
  for (unsigned char byte : bytes) result = (result ^ byte) * 0x100000001b3u;
  return result;
}

double from_bits(uint64_t bits) {
  double value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

/// NaN, infinity, integers' limits, ties and their neighbours.
std::vector<double> hard_values() {
  std::vector<double> values = {from_bits(0x7ff8000000000000u), from_bits(0x7ff4000000000000u),
                                from_bits(0x7fffffffffffffffu), from_bits(0x7ff0000000000000u)};
  for (double value :
       {0.0, 0.25, 0.5, 0.75, 1.5, 2.5, 3.5, 100.49, 1e10, 1e20, 1e38, 1e39, 1e300}) {
    values.push_back(value);
  }
  for (int bits : {7, 8, 11, 15, 16, 24, 31, 32, 51, 52, 53, 63, 64}) {
    const double power = std::ldexp(1.0, bits);
    for (double delta : {-1.5, -1.0, -0.5, 0.0, 0.5, 1.0, 1.5}) values.push_back(power + delta);
  }
  for (double value : {240.0, 448.0, 57344.0, 65504.0, 65520.0, 1.0 + 0x1p-8 + 0x1p-40}) {
    for (double factor : {0.999, 1.0, 1.001, 1.04, 1.07}) values.push_back(value * factor);
  }
  for (int bits = 2; bits < 26; ++bits) values.push_back(std::ldexp(1.37, -bits));
  const size_t positive = values.size();
  for (size_t i = 0; i < positive; ++i) {
    uint64_t code;
    std::memcpy(&code, &values[i], sizeof code);
    values.push_back(from_bits(code | uint64_t{1} << 63));
  }
  return values;
}

void print_casts() {
  const std::vector<double> values = hard_values();
  const auto count = static_cast<int64_t>(values.size());
  for (ScalarType from : kTypes) {
    std::vector<unsigned char> in(values.size() * elementSize(from));
    detail::convert_elements(from, in.data(), ScalarType::Double, values.data(), count,
                             CastMode::Truncate);
    for (ScalarType to : kTypes) {
      for (CastMode mode : {CastMode::Truncate, CastMode::Saturate}) {
        std::vector<unsigned char> out(values.size() * elementSize(to));
        detail::convert_elements(to, out.data(), from, in.data(), count, mode);
        std::printf("%s to %s, %s: %016" PRIx64 "\n", toString(from), toString(to), toString(mode),
                    hash(out));
      }
    }
  }
}

void print_tensor(const char* what, const TensorPtr& tensor) {
  const auto* data = static_cast<const unsigned char*>(tensor->const_data_ptr());
  std::printf("%s of %s: %016" PRIx64 "\n", what, toString(tensor->scalar_type()),
              hash(std::vector<unsigned char>(data, data + tensor->nbytes())));
}

void print_random() {
  for (ScalarType type : kTypes) {
    Generator generator(7);
    print_tensor("rand", rand({2000}, generator, type));
    print_tensor("randint", randint(0, 2, {2000}, generator, type));
  }
  Generator generator(7);
  print_tensor("randint", randint(-5, int64_t{1} << 40, {2000}, generator, ScalarType::Long));
}

void print_normalized() {
  std::vector<uint8_t> bytes(256);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i);
  const TensorPtr out = empty({3, 256});
  for (const float scale : {1 / 255.0f, 1e36f}) {
    Normalize normalize;
    normalize.scale = scale;
    normalize.mean = {0.485f, 1e36f, 1e37f};
    normalize.stddev = {0.229f, 1e37f, 2e38f};
    check(copy_(out, from_blob(bytes.data(), {256}), normalize));
    print_tensor("normalised", out);
  }
}

/// Numbers of the LCG: those of rand() are hashed above.
void print_summaries() {
  uint64_t state = 1;
  std::vector<double> values;
  for (size_t i = 0; i < 5000; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    values.push_back(static_cast<double>(state >> 11) / 1099511627776.0);
    if (i % 1500 == 700) values.back() = from_bits(0x7ff8000000000000u);
    if (i % 1500 == 800) values.back() = from_bits(0xfff0000000000000u);
  }
  for (const int64_t count : {1, 17, 701, 1025, 5000}) {
    Summary found;
    check(found.add(from_blob(values.data(), {count})));
    const double numbers[] = {found.mean_std().mean,
                              found.mean_std().std,
                              found.min_max().min.to<double>(),
                              found.min_max().max.to<double>(),
                              static_cast<double>(found.nans()),
                              static_cast<double>(found.negative_infinities())};
    print_tensor("summary", make_tensor_ptr({6}, std::vector<double>(numbers, numbers + 6)));
  }
}

}  // namespace

int main() {
  for (int level = 0; level <= static_cast<int>(detail::detect_isa()); ++level) {
    detail::isa() = static_cast<detail::Isa>(level);
    std::printf("instruction set %d\n", level);
    print_casts();
    print_random();
    print_normalized();
    print_summaries();
  }
}
