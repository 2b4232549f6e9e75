// SPDX-License-Identifier: MIT
// What a function writes to stderr.
#pragma once

#include <unistd.h>

#include <cstdio>
#include <string>

namespace tests {

template <class F>
std::string log_of(F&& f) {
  std::fflush(stderr);
  std::FILE* const file = std::tmpfile();
  const int before = ::dup(2);
  ::dup2(::fileno(file), 2);
  f();
  std::fflush(stderr);
  ::dup2(before, 2);
  ::close(before);
  std::string log(static_cast<size_t>(::lseek(::fileno(file), 0, SEEK_CUR)), '\0');
  std::rewind(file);
  log.resize(std::fread(&log[0], 1, log.size(), file));
  std::fclose(file);
  return log;
}

}  // namespace tests
