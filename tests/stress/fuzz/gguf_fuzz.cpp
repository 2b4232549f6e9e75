// SPDX-License-Identifier: MIT
// GGUF files in memory: any bytes. Each value of the metadata is read, and each tensor.
#include <tenon/interop/gguf.h>
#include <tenon/tenon.h>

#include "files.h"

using namespace tenon;
using fuzz::Bytes;

// A promise of docs/guarantees.md.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::Input in(data, size);
  const size_t shift = in.choose(4) == 0 ? in.choose(8) : 0;
  Bytes bytes(in.data(), in.data() + in.size());
  const fuzz::MemoryFile memory(bytes, shift);
  const Result<Gguf> file = Gguf::open(memory.blob());
  if (!file.ok()) {
    fuzz::check_error(file);
    return 0;
  }
  fuzz::check_tensors(memory, *file);
  for (const GgufEntry& entry : file->metadata()) {
    FUZZ_CHECK(file->find_metadata(entry.key) == &entry);
    const Result<EValue> value = file->get_metadata(entry.key);
    if (!value.ok()) fuzz::check_error(value);
    const auto texts = file->get_texts(entry.key);
    FUZZ_CHECK(texts.ok() || !value.ok() || entry.type != ScalarType::Undefined);
    size_t total = 0;
    if (texts.ok()) {
      for (const std::string_view text : *texts) total += std::string(text).size();
    }
    FUZZ_CHECK(total <= bytes.size());
  }
  return 0;
}
