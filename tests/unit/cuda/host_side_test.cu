// SPDX-License-Identifier: MIT
// tenon.h in a .cu file, on the host's side: nvcc's front end changes nothing of what is made. No
// device is needed.
#include <cstdio>

#include "tenon/tenon.h"

namespace {

using namespace tenon;

/// FNV-1a of all bytes, little-endian.
uint64_t hash = 0xcbf29ce484222325u;
template <class T>
void add(const T& tensor) {
  for (const uint8_t byte : to_binary(tensor)) hash = (hash ^ byte) * 0x100000001b3u;
}

}  // namespace

int main() {
  Generator generator(42, 7);
  for (const ScalarType type : detail::kScalarTypes) {
    add(tenon::rand({1001}, type, generator));
    add(randn({1003}, type, generator));
    add(randint(0, 2, {1009}, type, generator));
    for (const ScalarType other : detail::kScalarTypes) {
      const TensorPtr values = randn({33, 65}, type, generator);
      const TensorPtr copy = empty({65, 33}, other);
      if (copy_(copy, transpose(values, 0, 1), CastMode::Saturate) != Error::Ok) return 1;
      add(copy);
      add(transpose(copy, 0, 1));
    }
  }
  add(randint(0, int64_t{1} << 40, {1000}, ScalarType::Long, generator));
  add(full({5000}, 3));
  add(tenon::iota({3, 4}));
  add(eye(4, 4));
  constexpr uint64_t kOfGcc = 0x0e699c7e263f186du;  // what g++ and clang++ make of this file
  std::printf("%016llx, %s\n", static_cast<unsigned long long>(hash), to_string(arange(5)).c_str());
  return hash == kOfGcc ? 0 : 1;
}
