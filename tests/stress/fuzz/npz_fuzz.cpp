// SPDX-License-Identifier: MIT
// .npz archives in memory: any bytes, and archives of arrays of any bytes, of which some are changed.
#include <tenon/interop/npz.h>
#include <tenon/tenon.h>

#include "zip.h"

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
    fuzz::Input changes = in;
    bytes = fuzz::make_zip({{"a.npy", to_npy(arange(5))},
                            {"b/c.npy", Bytes(in.data(), in.data() + in.size())},
                            {"d.npy", to_npy(ones({2, 3}))}});
    if (size % 2 == 0) fuzz::spoil(changes, bytes);
  }
  const fuzz::MemoryFile memory(bytes, shift);
  const Result<NpzFile> file = NpzFile::open(memory.blob());
  if (!file.ok()) {
    fuzz::check_error(file);
    return 0;
  }
  for (const NpzInfo& info : file->infos()) {
    FUZZ_CHECK(file->find(info.name) == &info);
    const Result<TensorPtr> copied = file->get(info.name);
    if (copied.ok()) FUZZ_CHECK(to_binary(*copied).size() == (*copied)->nbytes());
    const Result<TensorPtr> mapped = file->get(info.name, NpyMemory::Map);
    if (!mapped.ok()) {
      fuzz::check_error(mapped);
      FUZZ_CHECK(!copied.ok());
      continue;
    }
    fuzz::check_tensor(memory, **mapped, !info.is_copied);
    // The checksum is of copied ones alone.
    if (copied.ok()) FUZZ_CHECK(to_binary(*copied) == to_binary(*mapped));
  }
  return 0;
}
