// SPDX-License-Identifier: MIT
// A part of compiled_mix.cpp, built in each mode: it uses what tenon::compiled may have.
#include <tenon/tenon.h>

/// TENON_PART names it. Returns what its elements add up to: 22.
double TENON_PART() {
  using tenon::Error;
  const auto from = tenon::try_make_tensor_ptr({2, 3}, {0, 1, 2, 3, 4, 5}, tenon::ScalarType::Half);
  const auto to = tenon::try_zeros({3, 2}, tenon::ScalarType::Double,
                                   tenon::TensorShapeDynamism::DYNAMIC_UNBOUND);
  const auto random = tenon::try_randint(1, 2, {4}, tenon::ScalarType::Int);
  const auto copy = tenon::try_clone_tensor_ptr(*random, tenon::ScalarType::Float);
  double sum = 0;
  if (!from.ok() || !to.ok() || !random.ok() || !copy.ok()) return -1;
  if (tenon::copy_(*to, tenon::transpose(*from, 0, 1)) != Error::Ok) return -2;
  for (const double element : (*to)->data<double>()) sum += element;
  for (const float element : (*copy)->data<float>()) sum += static_cast<double>(element);
  if (tenon::resize_tensor(**to, {1000}) != Error::Ok || tenon::fill_(*to, 0.003) != Error::Ok) {
    return -3;
  }
  for (const double element : (*to)->data<double>()) sum += element;
  return sum;
}
