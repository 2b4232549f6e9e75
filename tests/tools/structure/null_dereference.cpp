// SPDX-License-Identifier: MIT
// What GCC warned of with -Wnull-dereference when it optimises.
#include <tenon/tenon.h>
#include <tenon/tensor/expr.h>

int main() {
  tenon::ExprBackend recorder;
  const auto later = tenon::rand({1000}, tenon::Generator(7), recorder);
  const auto now = tenon::materialize(later, tenon::default_backend());
  return tenon::copy_(tenon::select(later, 0, 1), now) == tenon::Error::Ok ? 1 : 0;
}
