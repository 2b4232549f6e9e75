// SPDX-License-Identifier: MIT
// Archives of stored files, for the fuzzers of formats that are archives: the bytes in them are any,
// the checksums right.
#pragma once

#include <zlib.h>

#include <string>
#include <vector>

#include "files.h"

namespace fuzz {

struct ZipFile {
  std::string name;
  Bytes bytes;
};

inline Bytes make_zip(const std::vector<ZipFile>& files) {
  Bytes out;
  Bytes directory;
  for (const ZipFile& file : files) {
    const size_t begin = out.size();
    const auto add_header = [&](Bytes& to, bool in_directory) {
      const char* const mark = in_directory ? "PK\1\2" : "PK\3\4";
      to.insert(to.end(), mark, mark + 4);
      append_number(to, 20, in_directory ? 4 : 2);
      append_number(to, 0, 4);         // flags, stored
      append_number(to, 33 << 16, 4);  // 1980
      append_number(to, ::crc32_z(::crc32_z(0, nullptr, 0), file.bytes.data(), file.bytes.size()),
                    4);
      append_number(to, file.bytes.size(), 4);
      append_number(to, file.bytes.size(), 4);
      append_number(to, file.name.size(), 2);
    };
    // Elements begin at a multiple of 64 bytes.
    const size_t extra = (64 - (begin + 30 + file.name.size()) % 64) % 64;
    add_header(out, false);
    append_number(out, extra, 2);
    out.insert(out.end(), file.name.begin(), file.name.end());
    out.resize(out.size() + extra);
    out.insert(out.end(), file.bytes.begin(), file.bytes.end());
    add_header(directory, true);
    append_number(directory, 0, 8);
    append_number(directory, 0, 4);
    append_number(directory, begin, 4);
    directory.insert(directory.end(), file.name.begin(), file.name.end());
  }
  const size_t begin = out.size();
  out.insert(out.end(), directory.begin(), directory.end());
  const char end[] = "PK\5\6\0\0\0";
  out.insert(out.end(), end, end + 8);
  append_number(out, files.size(), 2);
  append_number(out, files.size(), 2);
  append_number(out, directory.size(), 4);
  append_number(out, begin, 4);
  append_number(out, 0, 2);
  return out;
}

}  // namespace fuzz
