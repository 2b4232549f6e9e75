// SPDX-License-Identifier: MIT
// Writes the trace that check_memory.py reads: traced TRACE.
#include "tenon/backend/tracking.h"
#include "tenon/tenon.h"

using namespace tenon;

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  TrackingBackend tracking(default_backend());
  TensorPtr kept;
  {
    const TrackingScope scope(tracking, "weights", "src/model.cpp", 57);
    kept = zeros({64, 64}, tracking);
  }
  for (int step = 0; step < 3; ++step) {
    const TrackingScope scope(tracking, "h\xc3\xb6he <\"&\xff");
    const TensorPtr a = ones({32, 32}, tracking);
    const TensorPtr b = clone_tensor_ptr(a);
  }
  const TensorPtr last = full({10}, 1, tracking);
  return tracking.write_chrome_trace(argv[1]) == Error::Ok ? 0 : 1;
}
