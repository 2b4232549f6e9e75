// SPDX-License-Identifier: MIT
// Runs a fuzzer's function once for each file of a folder: its corpus, as a unit test, for compilers that have no
// libFuzzer. By functions of C, whose results MemorySanitizer knows.
#include <dirent.h>

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

int main(int argc, char** argv) {
  DIR* const folder = argc == 2 ? ::opendir(argv[1]) : nullptr;
  if (folder == nullptr) {
    std::fprintf(stderr, "usage: %s FOLDER, which can be read\n", argv[0]);
    return 1;
  }
  int count = 0;
  while (const dirent* const entry = ::readdir(folder)) {
    if (entry->d_name[0] == '.') continue;
    std::FILE* const file = std::fopen((argv[1] + std::string("/") + entry->d_name).c_str(), "rb");
    std::vector<uint8_t> bytes;
    uint8_t piece[4096];
    while (const size_t n = file == nullptr ? 0 : std::fread(piece, 1, sizeof piece, file)) {
      bytes.insert(bytes.end(), piece, piece + n);
    }
    if (file == nullptr || std::ferror(file) != 0) {
      std::fprintf(stderr, "cannot read %s\n", entry->d_name);
      return 1;
    }
    std::fclose(file);
    std::fprintf(stderr, "%s\n", entry->d_name);  // the last one is the culprit
    LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
    ++count;
  }
  ::closedir(folder);
  std::printf("%d inputs\n", count);
  return count > 0 ? 0 : 1;
}
