// SPDX-License-Identifier: MIT
// What ends the program, each run alone: the failure handler is called with the right error, before
// anything was written. It leaves the program with success; a case that comes to its end is a
// failure.
#include "guarded.h"
#include "tenon/tenon.h"

namespace ends_suite {

using namespace tenon;
using namespace tests;

namespace {

Guarded<64> memory;
Guarded<1024> room;
Error expected;

void leave_if_expected(Error error, const char* message) noexcept {
  const bool has_text = TENON_ERROR_TEXT == 0 || std::strstr(message, ": ") != nullptr;
  CHECK(error == expected);
  CHECK(has_text);
  CHECK(memory.is_untouched());
  CHECK(room.is_intact());
  leave(error == expected && has_text && memory.is_untouched() && room.is_intact());
}

ArenaBackend arena(room.data, sizeof room.data);

/// Has the failure handler expect an error, and tensors be made in the arena.
struct Ends {
  explicit Ends(Error error) : scope(arena) {
    expected = error;
    set_failure_handler(&leave_if_expected);
  }
  BackendScope scope;
};

Tensor borrowed() { return tensor_from_blob(memory.data, {4, 4}, ScalarType::Float); }

}  // namespace

TEST_CASE("ends: negative") {
  const Ends ends(Error::InvalidArgument);
  static_cast<void>(zeros({-1}));
  FAIL("went on");
}

TEST_CASE("ends: overflow_impl") {
  const Ends ends(Error::InvalidArgument);
  const SizesType sizes[] = {int64_t{1} << 32, int64_t{1} << 32};
  const TensorImpl impl(ScalarType::Float, 2, sizes, memory.data);
  FAIL("went on");
}

TEST_CASE("ends: full_arena") {
  const Ends ends(Error::OutOfMemory);
  const NoHeap no_heap;
  static_cast<void>(zeros({1024}));
  FAIL("went on");
}

TEST_CASE("ends: readonly") {
  const Ends ends(Error::InvalidState);
  const Tensor t =
      tensor_from_blob(static_cast<const float*>(static_cast<void*>(memory.data)), {4, 4});
  *t.mutable_data_ptr<float>() = 1;
  FAIL("went on");
}

TEST_CASE("ends: unchecked_result") {
  const Ends ends(Error::OutOfBounds);
  static_cast<void>(try_select(borrowed(), 0, 4).value());
  FAIL("went on");
}

TEST_CASE("ends: returned_error") {
  const Ends ends(Error::InvalidType);
  check(copy_(tensor_from_blob(memory.data, {2}, ScalarType::Int), full({2}, 1.5f)));
  FAIL("went on");
}

// The two that are to fail: CMakeLists.txt says what they print.
TEST_CASE("fails: default_end") {
  set_failure_handler(nullptr);
  static_cast<void>(zeros({-1}));
  leave(true);
}
TEST_CASE("fails: heap") {
  const NoHeap no_heap;
  void* const volatile block = std::malloc(1);
  leave(block != nullptr);
}

}  // namespace ends_suite
