// SPDX-License-Identifier: MIT
// What test_torch_file.py runs:
//   list FILE      a line for each tensor, by number: its place, name, dtype, sizes, strides, where
//                  its first element is, and its elements in hex, row-major; or its error
//   values FILE    a line for each value: its name, its kind and what it is; or its error
#include <tenon/interop/torch_file.h>
#include <tenon/tenon.h>

#include <cstdio>
#include <cstring>
#include <string>

using namespace tenon;

namespace {

std::string join(ArrayRef<int64_t> numbers) {
  std::string text;
  for (const int64_t number : numbers) text += (text.empty() ? "" : ",") + std::to_string(number);
  return text;
}

void list(const TorchFile& file) {
  for (size_t i = 0; i < file.size(); ++i) {
    const TorchTensorInfo& info = file.infos()[i];
    const Result<TensorPtr> got = file.get(i);
    std::printf("%s|%s|", info.name.c_str(), info.dtype);
    if (!got.ok()) {
      std::printf("%s\n", got.message());
      continue;
    }
    const TensorPtr& tensor = *got;
    std::printf("%s|%s|%s|%d|%s|", join(tensor->sizes()).c_str(), join(tensor->strides()).c_str(),
                info.storage.c_str(), info.requires_grad ? 1 : 0,
                info.is_copied ? "copied" : "mapped");
    const Tensor rows = contiguous(*tensor);
    const auto* const bytes = static_cast<const unsigned char*>(rows.const_data_ptr());
    for (size_t k = 0; k < rows.nbytes(); ++k) std::printf("%02x", bytes[k]);
    std::printf("\n");
  }
}

void values(const TorchFile& file) {
  for (const std::string& name : file.value_names()) {
    const Result<EValue> got = file.value(name);
    std::printf("%s|", name.c_str());
    if (!got.ok()) {
      std::printf("%s", got.message());
    } else if (got->isNone()) {
      std::printf("None");
    } else if (got->isInt()) {
      std::printf("%lld", static_cast<long long>(got->toInt()));
    } else if (got->isDouble()) {
      std::printf("%.17g", got->toDouble());
    } else if (got->isBool()) {
      std::printf("%s", got->toBool() ? "True" : "False");
    } else if (got->isString()) {
      for (const char c : got->toString()) std::printf("%02x", static_cast<unsigned char>(c));
    } else if (got->isIntList()) {
      std::printf("[%s]", join(got->toIntList()).c_str());
    } else if (got->isStringList()) {
      for (const auto& text : got->toStringList()) {
        std::printf("%.*s,", static_cast<int>(text.size()), text.data());
      }
    } else if (got->isDoubleList()) {
      for (const double number : got->toDoubleList()) std::printf("%.17g,", number);
    } else {
      for (const bool flag : got->toBoolList()) std::printf("%d", flag ? 1 : 0);
    }
    std::printf("\n");
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const Result<TorchFile> file = TorchFile::open(argv[2]);
  if (!file.ok()) {
    std::printf("%s\n", file.message());
    return 1;
  }
  std::strcmp(argv[1], "list") == 0 ? list(*file) : values(*file);
  return 0;
}
