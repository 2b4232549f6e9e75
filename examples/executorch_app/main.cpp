// SPDX-License-Identifier: MIT
// Reads handwritten digits with a model.
//
//     executorch_app MODEL [IMAGES]
//
// IMAGES is a .npy file of images × rows × columns bytes; 1797 scanned digits by default. What fails
// is logged, and the exit status is the code of the error.
#include <algorithm>
#include <cctype>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <executorch/extension/data_loader/file_data_loader.h>
#include <executorch/extension/module/module.h>
#include <executorch/extension/tensor/tensor.h>
#include <executorch/runtime/platform/log.h>
#include <executorch/runtime/platform/runtime.h>

#include "classifier.h"

using executorch::aten::ScalarType;
using executorch::aten::SizesType;
using executorch::extension::FileDataLoader;
using executorch::extension::from_blob;
using executorch::extension::Module;
using executorch::runtime::DataLoader;
using executorch::runtime::Error;
using executorch::runtime::Result;

namespace {

struct Images {
  std::vector<SizesType> sizes;  // images × rows × columns
  std::vector<uint8_t> pixels;
};

/// Reads a .npy file of version 1: ten bytes, of which the last two are the length of a text such as
/// {'descr': '|u1', 'fortran_order': False, 'shape': (1797, 8, 8), }; then the elements.
Result<Images> read_images(const char* path) {
  auto loader = ET_UNWRAP(FileDataLoader::from(path));
  const size_t length = ET_UNWRAP(loader.size());
  const auto file = ET_UNWRAP(
      loader.load(0, length, DataLoader::SegmentInfo(DataLoader::SegmentInfo::Type::External)));
  const auto* const bytes = static_cast<const uint8_t*>(file.data());
  const size_t start = length < 10 ? length : 10u + bytes[8] + 256u * bytes[9];
  const std::string header(bytes, bytes + std::min(start, length));
  const size_t shape = header.find("'shape': (");
  ET_CHECK_OR_RETURN_ERROR(header.find("|u1") != std::string::npos && shape != std::string::npos,
                           InvalidExternalData, "%s is not a .npy file of bytes", path);
  Images images;
  size_t numel = 1;
  const char* at = header.c_str() + shape + 10;
  while (std::isdigit(static_cast<unsigned char>(*at))) {
    char* end = nullptr;
    images.sizes.push_back(static_cast<SizesType>(std::strtol(at, &end, 10)));
    numel *= static_cast<size_t>(images.sizes.back());
    at = end + std::strspn(end, ", ");
  }
  ET_CHECK_OR_RETURN_ERROR(!images.sizes.empty() && start + numel == length, InvalidExternalData,
                           "%s has other than %zu bytes after its header", path, numel);
  images.pixels.assign(bytes + start, bytes + length);
  return images;
}

Error run(const char* model, const char* file) {
  Classifier classifier(std::make_unique<Module>(model));
  ET_CHECK_OK_OR_RETURN_ERROR(classifier.load());
  auto images = ET_UNWRAP(read_images(file));
  const std::vector<SizesType> sizes(images.sizes.begin() + 1, images.sizes.end());
  const auto count = static_cast<size_t>(images.sizes[0]);
  for (size_t i = 0; i < count; ++i) {
    uint8_t* const pixels = images.pixels.data() + i * (images.pixels.size() / count);
    const Answer answer =
        ET_UNWRAP(classifier.classify(from_blob(pixels, sizes, ScalarType::Byte)));
    std::printf("image %zu: %d, score %.2f\n", i, answer.digit, static_cast<double>(answer.score));
  }
  return Error::Ok;
}

}  // namespace

int main(int argc, char** argv) {
  executorch::runtime::runtime_init();
  if (argc < 2) {
    std::fprintf(stderr, "usage: executorch_app MODEL [IMAGES]\n");
    return static_cast<int>(Error::InvalidArgument);
  }
  const Error error = run(argv[1], argc > 2 ? argv[2] : DIGITS_IMAGES);
  if (error != Error::Ok) ET_LOG(Error, "%s", executorch::runtime::to_string(error));
  return static_cast<int>(error);
}
