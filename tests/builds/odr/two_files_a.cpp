// SPDX-License-Identifier: MIT
// Two files include tenon.h and are one library: one type, one failure handler, one error text.
#include <tenon/tenon.h>

#include "check.h"

// Of two_files_b.cpp.
tenon::TensorPtr counting_tensor(int& deleted);
float last_element(const tenon::TensorPtr& tensor);
tenon::Error refuse_to_resize(tenon::TensorPtr& tensor);
tenon::FailureHandler exchange_handler(tenon::FailureHandler handler);
const void* address_of_make();
const void* address_of_last_error();
const void* address_of_failure_handler();

static void handler_of_a(tenon::Error, const char*) noexcept {}

int main() {
  int deleted = 0;
  {
    tenon::TensorPtr tensor = counting_tensor(deleted);
    tensor->accessor<float, 2>()[1][1] = 9.0f;
    ODR_CHECK(last_element(tensor) == 9.0f);
    ODR_CHECK(deleted == 0);
  }
  ODR_CHECK(deleted == 1);

  tenon::TensorPtr scalar = tenon::scalar_tensor(1.0);
  ODR_CHECK(refuse_to_resize(scalar) == tenon::Error::NotSupported);
  ODR_CHECK(std::strstr(tenon::last_error_message(), "resize_tensor_ptr: ") != nullptr);

  bool caught = false;
  try {
    last_element(tenon::zeros({0, 2}));
  } catch (const tenon::Exception& e) {
    caught = e.error() == tenon::Error::OutOfBounds;
  }
  ODR_CHECK(caught);

  exchange_handler(&handler_of_a);
  ODR_CHECK(tenon::set_failure_handler(nullptr) == &handler_of_a);
  ODR_CHECK(address_of_make() == &tenon::make_tensor_ptr);
  ODR_CHECK(address_of_last_error() == &tenon::detail::last_error());
  ODR_CHECK(address_of_failure_handler() == &tenon::detail::failure_handler());
}
