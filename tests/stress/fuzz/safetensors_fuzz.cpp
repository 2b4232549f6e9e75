// SPDX-License-Identifier: MIT
// Safetensors files in memory: any bytes, and a header of any text before elements. What opens is written and opened
// again.
#include <tenon/interop/safetensors.h>
#include <tenon/tenon.h>

#include "files.h"

using namespace tenon;
using fuzz::Bytes;

// A promise of docs/guarantees.md.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::Input in(data, size);
  const size_t shift = in.choose(4) == 0 ? in.choose(8) : 0;
  Bytes bytes;
  if (in.flip()) {
    bytes.assign(in.data(), in.data() + in.size());
  } else {
    const size_t count = in.choose(256);
    fuzz::append_number(bytes, in.size(), 8);
    bytes.insert(bytes.end(), in.data(), in.data() + in.size());
    for (size_t i = 0; i < count; ++i) bytes.push_back(static_cast<uint8_t>(i * 41));
  }
  const fuzz::MemoryFile memory(bytes, shift);
  const Result<SafeTensors> file = SafeTensors::open(memory.blob());
  if (!file.ok()) {
    fuzz::check_error(file);
    return 0;
  }
  const std::vector<NamedTensor> read = fuzz::check_tensors(memory, *file);
  const TensorPtr out = empty({0}, ScalarType::Byte, TensorShapeDynamism::DYNAMIC_UNBOUND);
  FUZZ_CHECK(write_safetensors(out, read, file->metadata()) == Error::Ok);
  const SafeTensors again = SafeTensors::open(out).value();
  fuzz::check_equal(again, read);
  FUZZ_CHECK(again.metadata() == file->metadata());
  return 0;
}
