// SPDX-License-Identifier: MIT
// Both modes in one program, side by side: each file has its own tenon, and they exchange memory.
#include <ATen/ops/rand.h>
#include <tenon/tenon.h>

#include <cstring>
#include <stdexcept>
#include <type_traits>

#include "exchange.h"
#include "odr/check.h"

static_assert(TENON_ATEN_MODE == 1, "this file must be compiled with USE_ATEN_LIB");
static_assert(std::is_same_v<tenon::Tensor, at::Tensor>);

using namespace tenon;

at::Tensor increment_in_plain_mode(const at::Tensor& given);  // of bridge.cpp

static bool contains(const char* text, const char* part) {
  return std::strstr(text, part) != nullptr;
}

static void types_and_functions_are_apart() {
  ODR_CHECK(plain_address(0) != reinterpret_cast<const void*>(&tenon::detail::raise_message));
  ODR_CHECK(plain_address(1) != &tenon::make_tensor_ptr);
  ODR_CHECK(plain_address(2) != &tenon::detail::last_error());
  ODR_CHECK(plain_address(3) != &tenon::detail::failure_handler());
  ODR_CHECK(plain_address(4) != &tenon::default_generator());
}

static void errors_are_apart() {
  ODR_CHECK(plain_resize(4, 5) == static_cast<int>(Error::InvalidArgument));
  ODR_CHECK(contains(plain_last_error(), "{5} hold 5 elements"));
  TensorPtr bound = tenon::zeros({6});
  ODR_CHECK(tenon::resize_tensor_ptr(bound, {7}) == Error::InvalidArgument);
  ODR_CHECK(contains(tenon::last_error_message(), "{7} hold 7 elements"));
  ODR_CHECK(contains(plain_last_error(), "{5} hold 5 elements"));

  // What one throws is no tenon::Exception to the other, but a std::runtime_error.
  bool caught = false;
  try {
    plain_raise();
  } catch (const tenon::Exception&) {
    // Not here.
  } catch (const std::runtime_error& e) {
    caught = contains(e.what(), "zeros: ");
  }
  ODR_CHECK(caught);
  caught = false;
  try {
    static_cast<void>(tenon::zeros({-1}));
  } catch (const tenon::Exception& e) {
    caught = e.error() == Error::InvalidArgument;
  }
  ODR_CHECK(caught);
}

static void random_numbers_are_apart() {
  constexpr int64_t kCount = 100;
  float plain[kCount], again[kCount];
  // A generator's numbers are the same in both modes.
  plain_rand(7, plain, kCount);
  const TensorPtr ours = tenon::rand({kCount}, tenon::Generator(7));
  ODR_CHECK(std::memcmp(plain, ours->data_ptr(), sizeof plain) == 0);
  // The default ones are not: tenon's there, libtorch's here, neither disturbed by the other.
  plain_rand_by_default(7, plain, kCount);
  ODR_CHECK(std::memcmp(plain, ours->data_ptr(), sizeof plain) == 0);
  tenon::manual_seed(7);
  plain_rand_by_default(7, again, kCount);
  const TensorPtr of_libtorch = tenon::rand({kCount});
  ODR_CHECK(std::memcmp(plain, again, sizeof plain) == 0);
  ODR_CHECK(std::memcmp(plain, of_libtorch->data_ptr(), sizeof plain) != 0);
  tenon::manual_seed(7);
  ODR_CHECK(at::rand({kCount}).equal(*of_libtorch));
}

static void memory_crosses_to_here() {
  ODR_CHECK(plain_ones(1, -7).data == nullptr);
  ODR_CHECK(contains(plain_last_error(), "-7"));
  const CMatrix theirs = plain_ones(2, 3);
  ODR_CHECK(theirs.data != nullptr);
  int released = 0;
  at::Tensor view;
  {
    const TensorPtr tensor =
        tenon::from_blob(theirs.data, {theirs.sizes[0], theirs.sizes[1]},
                         static_cast<ScalarType>(theirs.scalar_type), [&](void*) {
                           theirs.release(theirs.context);
                           ++released;
                         });
    ODR_CHECK(tensor->sum().item<float>() == 6);
    view = tenon::select(tensor, 0, 1).mul_(3);
    ODR_CHECK(tensor->sum().item<float>() == 12);
  }
  ODR_CHECK(released == 0);
  ODR_CHECK(view.sum().item<float>() == 9);
  view = at::Tensor();
  ODR_CHECK(released == 1);
}

static void memory_crosses_from_here() {
  const TensorPtr tensor = tenon::arange(0, 6, 1, ScalarType::Half);
  Tensor columns = tenon::transpose(tenon::view(tensor, {2, 3}), 0, 1);
  const auto uses = tensor->storage().use_count();
  const CMatrix ours{columns.data_ptr(),
                     {columns.size(0), columns.size(1)},
                     {columns.stride(0), columns.stride(1)},
                     static_cast<int>(columns.scalar_type()),
                     [](void* context) { delete static_cast<Tensor*>(context); },
                     new Tensor(columns)};
  columns = Tensor();
  ODR_CHECK(tensor->storage().use_count() == uses);
  ODR_CHECK(plain_sum(ours) == 15);
  ODR_CHECK(tensor->storage().use_count() == uses - 1);
}

static void at_tensors_cross() {
  const TensorPtr tensor = tenon::arange(0, 4, 1, ScalarType::Float);
  const at::Tensor incremented = increment_in_plain_mode(*tensor);
  ODR_CHECK(incremented.sum().item<float>() == 10);
  ODR_CHECK(tensor->sum().item<float>() == 6);
  // Memory of the other mode's tenon, through a view of this one's.
  ODR_CHECK(tenon::item<float>(tenon::select(incremented, 0, 3)) == 4);
}

int main() {
  types_and_functions_are_apart();
  errors_are_apart();
  random_numbers_are_apart();
  memory_crosses_to_here();
  memory_crosses_from_here();
  at_tensors_cross();
}
