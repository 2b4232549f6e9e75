// SPDX-License-Identifier: MIT
// What test_npz.py runs:
//   copy IN OUT store|deflate    writes the arrays of IN to OUT
//   list IN                      a line for each array: its name, how it is had, its bytes in hex
#include <tenon/interop/npz.h>
#include <tenon/tenon.h>

#include <cstdio>
#include <string>

using namespace tenon;

namespace {

int copy(const char* from, const char* to, bool deflated) {
  const NpzFile file = NpzFile::open(from).value();
  std::vector<NamedTensor> tensors;
  for (const NpzInfo& info : file.infos()) {
    tensors.emplace_back(info.name, file.get(info.name, NpyMemory::Map).value());
  }
  check(write_npz(to, tensors, deflated ? NpzPacking::Deflate : NpzPacking::Store));
  return 0;
}

int list(const char* path) {
  const NpzFile file = NpzFile::open(path).value();
  for (const NpzInfo& info : file.infos()) {
    const Result<TensorPtr> tensor = file.get(info.name);
    std::printf("%s %s ", info.name.c_str(),
                !tensor.ok() ? toString(tensor.error()) : toString(info.type));
    if (tensor.ok()) {
      const Result<TensorPtr> mapped = file.get(info.name, NpyMemory::Map);
      check(to_binary(*tensor) == to_binary(*mapped) ? Error::Ok : Error::Internal);
      std::printf("%s ", info.is_copied ? "copied" : "mapped");
      for (const uint8_t byte : to_binary(*tensor)) std::printf("%02x", byte);
    }
    std::printf("\n");
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 2 ? argv[1] : "";
  if (what == "copy" && argc == 5) {
    return copy(argv[2], argv[3], argv[4] == std::string("deflate"));
  }
  return what == "list" ? list(argv[2]) : 2;
}
