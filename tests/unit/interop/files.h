// SPDX-License-Identifier: MIT
// What the tests of file formats share: a folder that goes away, whole files as bytes, and what is
// mapped.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "support/catch.h"
#include "tests_folder.h"

namespace tests {

/// The path of a file in interop/data.
inline std::string data_path(const std::string& name) {
  return (std::filesystem::path(kTestsFolder) / "unit/interop/data" / name).string();
}

class TempFolder {
 public:
  TempFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "tenon-test-XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~TempFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }
  std::vector<std::string> names() const {
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(path_)) {
      found.push_back(entry.path().filename().string());
    }
    return found;
  }

 private:
  std::filesystem::path path_;
};

inline std::vector<uint8_t> file_bytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  REQUIRE(file.good());
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

inline void put_file(const std::string& path, const std::vector<uint8_t>& bytes) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
  REQUIRE(file.good());
}

/// Whether `address` lies in a mapping of the file, as the kernel sees it. Linux only.
inline bool is_mapped(const std::string& path, const void* address) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    unsigned long long begin = 0;
    unsigned long long end = 0;
    if (line.size() < path.size() ||
        line.compare(line.size() - path.size(), path.size(), path) != 0 ||
        std::sscanf(line.c_str(), "%llx-%llx", &begin, &end) != 2) {
      continue;
    }
    const auto at = static_cast<unsigned long long>(reinterpret_cast<uintptr_t>(address));
    if (at >= begin && at < end) return true;
  }
  return false;
}

}  // namespace tests
