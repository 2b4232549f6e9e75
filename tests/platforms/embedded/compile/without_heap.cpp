// SPDX-License-Identifier: MIT
// A program without a heap: it links although the linker finds no malloc. See CMakeLists.txt.
#include <tenon/tenon.h>

using namespace tenon;

// Nothing calls these, but the vtables of std::shared_ptr's control blocks and of backends refer to
// them, and libstdc++'s call free().
void operator delete(void*) noexcept { __builtin_trap(); }
void operator delete(void*, std::size_t) noexcept { __builtin_trap(); }

alignas(64) static unsigned char arena_memory[8192];
static float samples[6];

int main() {
  ArenaBackend arena(arena_memory, sizeof arena_memory);
  const BackendScope scope(arena);
  TensorPtr t = make_tensor_ptr({2, 3}, {1.0f, 2.0f, 3.0f, 4.0f, 5.0f, 6.0f});
  check(resize_tensor_ptr(t, {3, 2}));
  const TensorPtr borrowed = from_blob(samples, {2, 3});
  check(copy_(transpose(borrowed, 0, 1), t));
  check(copy_(borrowed, zeros({3}, ScalarType::Byte)));
  Generator generator(1);
  check(uniform_(borrowed, 0, 1, generator));
  SizesType sizes[] = {2, 3};
  TensorImpl impl(ScalarType::Float, 2, sizes, samples);
  return static_cast<int>(Tensor(&impl).accessor<float, 2>()[1][2]);
}
