// SPDX-License-Identifier: MIT
// Exits with 0 when tenon and ExecuTorch's runtime work together, kernels included.
#include <tenon/interop/executorch.h>
#include <tenon/tenon.h>

int main(int, char** argv) {
  tenon::ExecuTorchModule network(argv[1]);
  const auto scores = network.forward(tenon::zeros({3, 8, 8}));
  return scores.ok() && scores->at(0).toTensor().size(0) == 3 ? 0 : 1;
}
