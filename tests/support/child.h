// SPDX-License-Identifier: MIT
// A child process, to see how a program ends. For programs without Catch2, which needs exceptions.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <string>

static int failures = 0;

#define CHECK(...)                                                                  \
  do {                                                                              \
    if (!(__VA_ARGS__)) {                                                           \
      std::fprintf(stderr, "%s:%d: false: %s\n", __FILE__, __LINE__, #__VA_ARGS__); \
      ++failures;                                                                   \
    }                                                                               \
  } while (false)

struct Death {
  int signal = 0;    // that ended it; 0 if it ended well, or never ran
  std::string text;  // what it wrote to stderr

  bool aborted() const { return signal == SIGABRT; }
  // Which signal a trap is depends on the processor: SIGILL on x86-64, SIGTRAP on AArch64.
  bool trapped() const { return signal == SIGILL || signal == SIGTRAP; }
};

/// Runs f in a child process.
template <class F>
static Death death_of(F f) {
  int ends[2];
  if (pipe(ends) != 0) return {};
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], STDERR_FILENO);
    close(ends[0]);
    f();
    _exit(0);
  }
  close(ends[1]);
  Death death;
  char buffer[256];
  for (ssize_t n = 0; (n = read(ends[0], buffer, sizeof buffer)) > 0;)
    death.text.append(buffer, static_cast<size_t>(n));
  close(ends[0]);
  int status = 0;
  if (child > 0 && waitpid(child, &status, 0) == child && WIFSIGNALED(status)) {
    death.signal = WTERMSIG(status);
  }
  return death;
}
