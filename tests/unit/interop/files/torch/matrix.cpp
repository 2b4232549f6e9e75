// SPDX-License-Identifier: MIT
// What test_matrix.py runs:
//   list IN         a line for each tensor: its name in hex, dtype, sizes, strides, address (0 of a
//                   copy), and the checksum of its elements in row-major order
//   copy IN OUT     writes the tensors of IN to OUT
#include <tenon/interop/torch_file.h>
#include <tenon/tenon.h>

#include <cinttypes>
#include <cstdio>
#include <string>

using namespace tenon;

namespace {

void print_numbers(ArrayRef<int64_t> numbers) {
  for (size_t i = 0; i < numbers.size(); ++i) {
    std::printf("%s%" PRId64, i == 0 ? "" : ",", numbers[i]);
  }
  std::printf(" ");
}

int list(const char* path) {
  const TorchFile file = TorchFile::open(path).value();
  for (size_t i = 0; i < file.size(); ++i) {
    const TensorPtr t = file.get(i).value();
    for (const char c : file.infos()[i].name) std::printf("%02x", static_cast<unsigned char>(c));
    std::printf(" %s ", toString(t->scalar_type()));
    print_numbers(t->sizes());
    print_numbers(t->strides());
    const std::vector<uint8_t> bytes = to_binary(t);
    const unsigned long checksum = ::crc32_z(0, nullptr, 0);
    const bool is_copied = file.infos()[i].is_copied;
    std::printf("%" PRIuPTR " %lu\n",
                is_copied ? 0 : reinterpret_cast<uintptr_t>(const_data_ptr(t)),
                bytes.empty() ? checksum : ::crc32_z(checksum, bytes.data(), bytes.size()));
  }
  return 0;
}

int copy(const char* from, const char* to) {
  const TorchFile file = TorchFile::open(from).value();
  std::vector<NamedTensor> tensors;
  for (size_t i = 0; i < file.size(); ++i) {
    tensors.emplace_back(file.infos()[i].name, file.get(i).value());
  }
  check(write_torch_file(to, tensors));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 2 ? argv[1] : "";
  if (what == "list" && argc == 3) return list(argv[2]);
  if (what == "copy" && argc == 4) return copy(argv[2], argv[3]);
  std::fprintf(stderr, "matrix list IN | copy IN OUT\n");
  return 2;
}
