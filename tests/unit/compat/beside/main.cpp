// SPDX-License-Identifier: MIT
// ExecuTorch and tenon's names for it in one program: both are used by turns, and answer the same.
#include <cstdio>
#include <string>
#include <vector>

std::vector<float> call_executorch(const std::string& path);
std::vector<float> call_tenon(const std::string& path);

/// Arguments: a model of x + y.
int main(int, char** argv) {
  for (int i = 0; i < 3; ++i) {
    const std::vector<float> theirs = call_executorch(argv[1]);
    const std::vector<float> ours = call_tenon(argv[1]);
    if (theirs.size() != 20 || theirs[1] != 3 || ours != theirs) {
      std::fprintf(stderr, "they differ in round %d: %zu and %zu results\n", i, theirs.size(),
                   ours.size());
      return 1;
    }
  }
  std::puts("20 results, the same in each round");
}
