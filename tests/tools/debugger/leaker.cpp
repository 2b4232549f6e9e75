// SPDX-License-Identifier: MIT
// Prints a leak report with stacks as deep as the argument says. Each leak's tag is the line of the
// call that allocated.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "tenon/backend/tracking.h"
#include "tenon/tenon.h"

#define HERE std::to_string(__LINE__).c_str()

using namespace tenon;

namespace {

TensorPtr make_in(Backend& backend, TrackingBackend& tracking) {
  TrackingScope scope(tracking, std::to_string(__LINE__ + 1).c_str());
  return rand({16, 16}, backend);
}

constexpr int kLineOfCopy = __LINE__ + 3;
template <class T>
TensorPtr copy(const T& tensor) {
  return clone_tensor_ptr(tensor);
}

}  // namespace

int main(int, char** argv) {
  TrackingBackend tracking(default_backend());
  if (tracking.init({{"stack_depth", std::atoi(argv[1])}}) != Error::Ok)
    return 77;  // no backtrace()
  const TensorPtr a = (TrackingScope(tracking, HERE), zeros({32, 32}, tracking));
  const TensorPtr b = make_in(tracking, tracking);
  TrackingScope scope(tracking, std::to_string(kLineOfCopy).c_str());
  const TensorPtr c = copy(a);
  const TensorPtr d = (TrackingScope(tracking, HERE), full({3}, 7, tracking));
  std::fputs(tracking.leak_report().c_str(), stdout);
}
