// SPDX-License-Identifier: MIT
// Prints the way of calls through the library, for budgets.py: of each call a line with its name, then a line with the
// address of each function that is entered, "-" where one returns. Needs -finstrument-functions and -no-pie.
#include <cstdio>
#include <utility>

#include <tenon/tenon.h>

#define NOT_RECORDED __attribute__((no_instrument_function))

static constexpr int kMost = 100000;
static void* events[kMost];  // null: a return
static int count = 0;
static bool is_on = false;

extern "C" {
NOT_RECORDED void __cyg_profile_func_enter(void* function, void* /*caller*/) {
  if (is_on && count < kMost) events[count++] = function;
}
NOT_RECORDED void __cyg_profile_func_exit(void* /*function*/, void* /*caller*/) {
  if (is_on && count < kMost) events[count++] = nullptr;
}
}

/// Calls it twice: the first call may set up what later ones find. What the call returns is not part of its way.
template <class Call>
NOT_RECORDED void record(const char* name, Call call) {
  static_cast<void>(call());
  count = 0;
  is_on = true;
  auto returned = call();
  is_on = false;
  static_cast<void>(returned);
  std::printf("%s\n", name);
  for (int i = 0; i < count; ++i) {
    if (events[i]) {
      std::printf("%p\n", events[i]);
    } else {
      std::puts("-");
    }
  }
  if (count == kMost) std::puts("too long");
}

static float numbers[6];

int main() {
  using namespace tenon;
  auto source = make_tensor_ptr({2, 3}, {1.f, 2.f, 3.f, 4.f, 5.f, 6.f});
  auto dense = zeros({4, 6}), other_dense = zeros({4, 6});
  auto wide = zeros({4, 6}, ScalarType::Double);
  auto upright = zeros({6, 4});
  Tensor turned = transpose(*upright, 0, 1);
  int64_t rows = 2;
  record("from_blob", []() NOT_RECORDED { return from_blob(numbers, {2, 3}); });
  record("list", []() NOT_RECORDED { return make_tensor_ptr({1, 2, 3, 4}); });
  record("clone", [&]() NOT_RECORDED { return clone_tensor_ptr(source); });
  record("zeros", []() NOT_RECORDED { return zeros({2, 3}); });
  record("view", [&]() NOT_RECORDED { return transpose(*source, 0, 1); });
  record("copy_dense", [&]() NOT_RECORDED { return copy_(*dense, *other_dense); });
  record("copy_strided_cast", [&]() NOT_RECORDED { return copy_(*wide, turned); });
  record("to_dlpack", [&]() NOT_RECORDED { return to_dlpack(*source); });
  record("resize", [&]() NOT_RECORDED { return resize_tensor_ptr(source, {rows--, 3}); });
}
