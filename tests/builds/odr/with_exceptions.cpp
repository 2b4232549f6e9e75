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

  // Value types are the same, on the heap too. What they raise is each file's.
  const Values values{{2, 3}, {}, "cpu", tenon::ScalarType::Float, tenon::Error::Ok};
  const Values reversed = reverse_without_exceptions(values, tenon::Dims{4, 5, 6, 7, 8, 9});
  ODR_CHECK(reversed.sizes == tenon::Dims({9, 8, 7, 6, 5, 4, 2, 3}));
  ODR_CHECK(reversed.order.size() == 8 && reversed.order[0] == 7 && reversed.order[7] == 0);
  ODR_CHECK(reversed.device == tenon::Device("cuda:3") && reversed.device.to_string() == "cuda:3");
  ODR_CHECK(reversed.type == tenon::ScalarType::Half);
  ODR_CHECK(reversed.error == tenon::Error::OutOfBounds);
  ODR_CHECK(last_without_exceptions == tenon::Error::OutOfBounds);
  const tenon::TensorView view{nullptr, tenon::ScalarType::Int, "cpu", values.sizes, {}};
  ODR_CHECK(numel_without_exceptions(view, {1, 2, 1, 1, 1, 1, 1, 5}) == 60);
  const auto error_of = [](auto make) {
    try {
      static_cast<void>(make());
    } catch (const tenon::Exception& e) {
      return e.error();
    }
    return tenon::Error::Ok;
  };
  ODR_CHECK(error_of([] { return tenon::Device("gpu"); }) == tenon::Error::InvalidArgument);
  ODR_CHECK(error_of([] { return tenon::Device(std::string("x")); }) ==
            tenon::Error::InvalidArgument);
  ODR_CHECK(error_of([] { return tenon::Device(tenon::DeviceType::CPU, 2); }) ==
            tenon::Error::InvalidArgument);

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
