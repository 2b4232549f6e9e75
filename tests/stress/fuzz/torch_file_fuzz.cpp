// SPDX-License-Identifier: MIT
// Files of torch.save in memory: any bytes, which are the old form or an archive, and archives around a pickle of any
// bytes. What opens is written and opened again.
#include <tenon/interop/torch_file.h>
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
    const char* const order = in.choose(16) == 0 ? "big" : "little";
    Bytes elements(in.choose(256));
    for (size_t i = 0; i < elements.size(); ++i) elements[i] = static_cast<uint8_t>(i * 41);
    fuzz::Input changes = in;
    bytes = fuzz::make_zip({{"x/data.pkl", Bytes(in.data(), in.data() + in.size())},
                            {"x/byteorder", Bytes(order, order + std::strlen(order))},
                            {"x/data/0", elements},
                            {"x/data/1", Bytes(24, 1)},
                            {"x/version", Bytes{'3', '\n'}}});
    if (size % 4 == 0) fuzz::spoil(changes, bytes);
  }
  const fuzz::MemoryFile memory(bytes, shift);
  const Result<TorchFile> file = TorchFile::open(memory.blob());
  if (!file.ok()) {
    fuzz::check_error(file);
    return 0;
  }
  for (const std::string& name : file->value_names()) {
    const Result<EValue> value = file->value(name);
    if (!value.ok()) fuzz::check_error(value);
  }
  std::vector<NamedTensor> read;
  for (NamedTensor& tensor : fuzz::check_tensors(memory, *file)) {
    if (detail::is_utf8(tensor.name))
      read.push_back(std::move(tensor));  // Python writes others too
  }
  const TensorPtr out = empty({0}, ScalarType::Byte, TensorShapeDynamism::DYNAMIC_UNBOUND);
  FUZZ_CHECK(write_torch_file(out, read) == Error::Ok);
  fuzz::check_equal(TorchFile::open(out).value(), read);
  return 0;
}
