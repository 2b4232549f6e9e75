// SPDX-License-Identifier: MIT
// A DLPack export, taken back at once.
#include "tenon/exchange/dlpack.h"
#include "tenon/tenon.h"

alignas(16) unsigned char arena_memory[2048];
alignas(16) float data[6] = {1, 2, 3, 4, 5, 6};
volatile float sink;

int main() {
  tenon::ArenaBackend arena(arena_memory, sizeof arena_memory);
  const tenon::BackendScope scope(arena);
  const auto tensor = tenon::from_blob(data, {2, 3});
  tenon::dlpack::DLManagedTensorVersioned* const managed = tenon::to_dlpack(tensor);
  sink = static_cast<float*>(managed->dl_tensor.data)[5];
  managed->deleter(managed);
  return 0;
}
