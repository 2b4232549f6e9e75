// SPDX-License-Identifier: MIT
// Writes the traces that check_memory.py reads: traced TRACE, or traced TRACE BELOW for a pool
// between two trackers.
#include "tenon/backend/pool.h"
#include "tenon/backend/tracking.h"
#include "tenon/tenon.h"

using namespace tenon;

/// Three tensors of 1000 bytes one after the other, for which the pool takes one block of 1024, and
/// another for the last.
static int trace_pool(const char* trace, const char* below_trace) {
  TrackingBackend below(default_backend());
  PoolBackend pool(below);
  TrackingBackend tracking(pool);
  for (int step = 0; step < 3; ++step) zeros({1000}, ScalarType::Byte, tracking);
  const TensorPtr a = zeros({1000}, ScalarType::Byte, tracking);
  const TensorPtr b = zeros({1000}, ScalarType::Byte, tracking);
  const bool is_written = tracking.write_chrome_trace(trace) == Error::Ok &&
                          below.write_chrome_trace(below_trace) == Error::Ok;
  return is_written ? 0 : 1;
}

int main(int argc, char** argv) {
  if (argc == 3) return trace_pool(argv[1], argv[2]);
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
