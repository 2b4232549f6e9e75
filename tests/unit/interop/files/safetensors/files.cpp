// SPDX-License-Identifier: MIT
// What test_safetensors.py runs:
//   copy IN OUT    writes the tensors and the metadata of IN, a file or an index, to OUT
//   list IN        a line for each tensor: its name, dtype, sizes, how it is had, its bytes in hex
//   open IN...     a line for each file: ok, or the error
#include <tenon/interop/safetensors.h>
#include <tenon/tenon.h>

#include <cstdio>
#include <string>

using namespace tenon;

namespace {

int copy(const char* from, const char* to) {
  const SafeTensors file = SafeTensors::open(from).value();
  std::vector<NamedTensor> tensors;
  for (const SafeTensorInfo& info : file.infos()) {
    tensors.emplace_back(info.name, file.get(info.name).value());
  }
  check(write_safetensors(to, tensors, file.metadata()));
  return 0;
}

int list(const char* path) {
  const SafeTensors file = SafeTensors::open(path).value();
  for (const SafeTensorInfo& info : file.infos()) {
    std::printf("%s %s [", info.name.c_str(), info.dtype);
    for (size_t d = 0; d < info.sizes.size(); ++d) {
      std::printf("%s%lld", d == 0 ? "" : ",", static_cast<long long>(info.sizes[d]));
    }
    const Result<TensorPtr> tensor = file.get(info.name);
    std::printf("] %s ", !tensor.ok()     ? toString(tensor.error())
                         : info.is_copied ? "copied"
                                          : "mapped");
    if (tensor.ok()) {
      for (const uint8_t byte : to_binary(*tensor)) std::printf("%02x", byte);
    }
    std::printf("\n");
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 2 ? argv[1] : "";
  if (what == "copy" && argc == 4) return copy(argv[2], argv[3]);
  if (what == "list") return list(argv[2]);
  for (int i = 2; i < argc; ++i) {
    const Result<SafeTensors> file = SafeTensors::open(argv[i]);
    std::printf("%s\n", file.ok() ? "ok" : file.message());
  }
  return what == "open" ? 0 : 2;
}
