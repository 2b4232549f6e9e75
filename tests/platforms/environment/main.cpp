// SPDX-License-Identifier: MIT
// What the environment can ask for. It is read once, so that each value needs a process of its own.
//
//   main isa baseline|avx2|avx512   that instruction set is in use, or the best one if it is lower
//   main huge_pages 0|1             whether memory that is about to be written has huge pages
//   main rounding                   what FE_UPWARD changes
//
// Exit status 77: skipped.
#include <cfenv>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "tenon/tenon.h"

using namespace tenon;

namespace {

int check_isa(const char* name) {
  const auto best = static_cast<int>(detail::detect_isa());
  const int named = std::strcmp(name, "baseline") == 0 ? 0 : std::strcmp(name, "avx2") == 0 ? 1 : 2;
  const int expected = named < best ? named : best;
  const auto used = static_cast<int>(detail::isa());
  std::printf("instruction set %d of %d, expected %d\n", used, best, expected);
  return used == expected ? 0 : 1;
}

/// Whether the mapping that holds the tensor's bytes has the flag "hg": huge pages were asked for. -1
/// where the system does not say.
int has_huge_pages(const TensorPtr& tensor) {
  const auto middle = reinterpret_cast<uintptr_t>(tensor->const_data_ptr()) + tensor->nbytes() / 2;
  std::FILE* const maps = std::fopen("/proc/self/smaps", "r");
  if (maps == nullptr) return -1;
  char line[512];
  bool is_inside = false;
  int found = -1;
  while (std::fgets(line, sizeof line, maps) != nullptr) {
    uintptr_t begin = 0;
    uintptr_t end = 0;
    if (std::sscanf(line, "%" SCNxPTR "-%" SCNxPTR " ", &begin, &end) == 2) {
      is_inside = begin <= middle && middle < end;
    } else if (is_inside && std::strncmp(line, "VmFlags:", 8) == 0) {
      found = std::strstr(line, " hg") != nullptr ? 1 : 0;
    }
  }
  std::fclose(maps);
  return found;
}

int check_huge_pages(int expected) {
  constexpr int64_t kCount = 64 << 20;
  const TensorPtr written = empty({kCount}, ScalarType::Byte);
  const TensorPtr zeroed = zeros({kCount}, ScalarType::Byte);
  TensorPtr reserved = empty({1}, ScalarType::Byte, TensorShapeDynamism::DYNAMIC_UNBOUND);
  if (reserve_tensor_ptr(reserved, size_t{kCount}) != Error::Ok) return 1;
  if (resize_tensor_ptr(reserved, {kCount}) != Error::Ok) return 1;
  const int found[] = {has_huge_pages(written), has_huge_pages(zeroed), has_huge_pages(reserved)};
  std::printf("huge pages: written %d, zeroed %d, reserved %d\n", found[0], found[1], found[2]);
  if (found[1] != 0 && found[1] != -1) return 1;
  if (found[2] != 0 && found[2] != -1) return 1;
  if (found[0] == -1 || (expected == 1 && found[0] == 0)) {
    std::puts("skipped: this system has no huge pages on request, or does not say");
    return 77;
  }
  return found[0] == expected ? 0 : 1;
}

/// Whether the elements of a cast to T, made under FE_UPWARD, are the expected ones.
template <class T>
bool casts_upward(const TensorPtr& source, std::vector<T> expected) {
  std::fesetround(FE_UPWARD);
  const Tensor made = to(source, CppTypeToScalarType<T>::value, CastMode::Saturate);
  std::fesetround(FE_TONEAREST);
  const bool is_equal = std::memcmp(made.const_data_ptr(), expected.data(), made.nbytes()) == 0;
  if (!is_equal)
    std::printf("other %s: %s\n", toString(made.scalar_type()), to_string(made).c_str());
  return is_equal;
}

int check_rounding() {
  const auto code = [](uint16_t bits) { return Half(bits, Half::from_bits()); };
  const bool has_f16c = detail::isa() != detail::Isa::Baseline;
  const TensorPtr halves = make_tensor_ptr({0.5f, 1.5f, 2.25f, -0.5f});
  bool is_right = casts_upward<int16_t>(halves, {1, 2, 3, 0});
  is_right &= casts_upward<int16_t>(make_tensor_ptr({0.5, 1.5, 2.25, -0.5}), {0, 2, 2, 0});
  is_right &= casts_upward<float>(make_tensor_ptr({1 + 1e-9, 1.5}), {1 + 1.1920929e-7f, 1.5f});
  // 7e-6 is 117.44 of Half's smallest steps; 1.00001 lies between 1 and Half's next.
  is_right &= casts_upward<Half>(make_tensor_ptr({7e-6f, 1.00001f}),
                                 {code(has_f16c ? 117 : 118), code(0x3c00)});
  return is_right ? 0 : 1;
}

}  // namespace

int main(int count, char** arguments) {
  if (count == 2 && std::strcmp(arguments[1], "rounding") == 0) return check_rounding();
  if (count != 3) return 2;
  if (std::strcmp(arguments[1], "isa") == 0) return check_isa(arguments[2]);
  return check_huge_pages(std::atoi(arguments[2]));
}
