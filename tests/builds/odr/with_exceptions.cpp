// SPDX-License-Identifier: MIT
// Files built with and without exceptions in one program: each has its own tenon, which throws or
// aborts as that file expects, and they exchange tensors through plain C.
#include <tenon/tenon.h>

#include "c_tensor.h"
#include "check.h"

static_assert(TENON_HAS_EXCEPTIONS == 1, "this file must be built with exceptions");

int main() {
  // The copies are apart. Were they not, the other file's would be linked, and abort below.
  ODR_CHECK(address_without_exceptions() !=
            reinterpret_cast<const void*>(&tenon::detail::raise_message));
  bool caught = false;
  try {
    static_cast<void>(tenon::zeros({-1}));
  } catch (const tenon::Exception& e) {
    caught = e.error() == tenon::Error::InvalidArgument;
  }
  ODR_CHECK(caught);

  // So are the error texts.
  ODR_CHECK(make_without_exceptions(1, -7).data == nullptr);
  ODR_CHECK(std::strstr(last_error_without_exceptions(), "-7") != nullptr);
  ODR_CHECK(std::strstr(tenon::last_error_message(), "-7") == nullptr);

  // Memory of the other file's tenon, under a handle of this one's.
  const CTensor theirs = make_without_exceptions(2, 3);
  ODR_CHECK(theirs.data != nullptr);
  int released = 0;
  {
    auto tensor = tenon::from_blob(theirs.data, {theirs.sizes[0], theirs.sizes[1]},
                                   tenon::ScalarType::Float, [&](void*) {
                                     theirs.release(theirs.context);
                                     ++released;
                                   });
    auto elements = tensor->accessor<float, 2>();
    ODR_CHECK(elements[0][0] == 0.5f && elements[1][2] == 0.5f);
  }
  ODR_CHECK(released == 1);

  // And the other way. The context is a heap handle; the other file releases it once.
  auto ours = tenon::make_tensor_ptr({1, 3}, {1.0f, 2.0f, 4.0f});
  tenon::TensorImplPtr kept = ours->impl();
  const CTensor lent{ours->mutable_data_ptr<float>(),
                     {1, 3},
                     [](void* context) { delete static_cast<tenon::Tensor*>(context); },
                     ours.get()};
  static_cast<void>(ours.release());
  ODR_CHECK(kept.use_count() == 2);
  ODR_CHECK(sum_without_exceptions(lent) == 7.0f);
  ODR_CHECK(kept.use_count() == 1);
}
