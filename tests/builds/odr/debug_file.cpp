// SPDX-License-Identifier: MIT
// Files built with and without NDEBUG in one program: they share tensors, and each keeps its own
// bounds checking, whichever copies the linker took.
#include <tenon/interop/runtimes/aoti_handles.h>
#include <tenon/tenon.h>

#include "check.h"

static_assert(TENON_IS_CHECKED == 1, "this file must be built without NDEBUG");

// Of release_file.cpp.
AtenTensorHandle make_handle();
float element_unchecked(const tenon::Tensor& tensor, int64_t i, int64_t j);

template <class F>
static tenon::Error error_of(F f) {
  try {
    static_cast<void>(f());
  } catch (const tenon::Exception& e) {
    return e.error();
  }
  return tenon::Error::Ok;
}

int main() {
  // Six elements of which the tensor shows four: row 2 is out of range, and yet in memory.
  float data[6] = {0, 1, 2, 3, 4, 5};
  auto tensor = tenon::from_blob(data, {2, 2});
  ODR_CHECK(element_unchecked(*tensor, 1, 1) == 6.0f);
  ODR_CHECK(element_unchecked(*tensor, 2, 1) == 10.0f);

  auto elements = tensor->accessor<float, 2>();
  ODR_CHECK(elements[1][1] == 3.0f);
  ODR_CHECK(error_of([&] { return elements[2][1]; }) == tenon::Error::OutOfBounds);
  ODR_CHECK(error_of([&] { return elements[1][2]; }) == tenon::Error::OutOfBounds);
  ODR_CHECK(error_of([&] { return elements(2, 1); }) == tenon::Error::OutOfBounds);
  ODR_CHECK(error_of([&] { return elements[-1][0]; }) == tenon::Error::OutOfBounds);

  // A handle of the other file, in this one, which looks for handles in a list if they are listed.
  const AtenTensorHandle handle = make_handle();
  ODR_CHECK(handle != nullptr);
  tenon::Tensor* found = nullptr;
  ODR_CHECK(tenon::detail::find_aoti_tensor(handle, found) == tenon::Error::Ok);
  ODR_CHECK(found->size(1) == 3);
  tenon::Tensor taken;
  ODR_CHECK(tenon::detail::take_aoti_tensor(handle, taken) == tenon::Error::Ok);
  ODR_CHECK(taken.numel() == 6);
}
