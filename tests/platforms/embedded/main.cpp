// SPDX-License-Identifier: MIT
// main FILE [WORD]: runs the cases of one test file, or those whose names contain a word.
#include <unistd.h>

#include "support/catch.h"

using tests::Case;

static Case* cases;  // the latest first
static const Case* running;
static int failures;
static int no_heap_scopes;

Case::Case(const char* file_, void (*run_)(), const char* name_, const char*)
    : file(file_), name(name_), run(run_), next(cases) {
  cases = this;
}

void tests::print(const char* text) {
  if (write(1, text, std::strlen(text)) < 0) leave(false);
}

void tests::leave(bool success) { _exit(success ? 0 : 1); }

static void print_number(int n) {
  if (n > 9) print_number(n / 10);
  const char digit[] = {static_cast<char>('0' + n % 10), '\0'};
  tests::print(digit);
}

void tests::check_failed(const char* file, int line, const char* what) {
  ++failures;
  print(file);
  print(":");
  print_number(line);
  print(": in \"");
  print(running->name);
  print("\": false: ");
  print(what);
  print("\n");
}

tests::NoHeap::NoHeap(bool watch) : watches(watch) { no_heap_scopes += watch; }
tests::NoHeap::~NoHeap() { no_heap_scopes -= watches; }

/// Of an error that no case expects.
static void report_failure(tenon::Error, const char* message) noexcept {
  tests::check_failed("failure handler", 0, message);
  tests::leave(false);
}

static void use_heap(const char* function) {
  if (no_heap_scopes == 0) return;
  tests::print(function);
  tests::print(" was called, where no heap is promised, in \"");
  tests::print(running->name);
  tests::print("\"\n");
  tests::leave(false);
}

// The linker has every call of these functions end here: see CMakeLists.txt.
extern "C" {
void* __real_malloc(size_t nbytes);
void* __real_calloc(size_t count, size_t nbytes);
void* __real_realloc(void* p, size_t nbytes);
void* __wrap_malloc(size_t nbytes);
void* __wrap_calloc(size_t count, size_t nbytes);
void* __wrap_realloc(void* p, size_t nbytes);
void* __wrap_malloc(size_t nbytes) {
  use_heap("malloc");
  return __real_malloc(nbytes);
}
void* __wrap_calloc(size_t count, size_t nbytes) {
  use_heap("calloc");
  return __real_calloc(count, nbytes);
}
void* __wrap_realloc(void* p, size_t nbytes) {
  use_heap("realloc");
  return __real_realloc(p, nbytes);
}
#if TENON_BARE_METAL
// What newlib's malloc, and its stdio, ask for memory. newlib's own never refuses.
void* _sbrk(ptrdiff_t nbytes);
void* _sbrk(ptrdiff_t nbytes) {
  alignas(8) static char heap[3 << 20];
  static ptrdiff_t used = 0;
  use_heap("_sbrk");
  if (nbytes > static_cast<ptrdiff_t>(sizeof heap) - used) return reinterpret_cast<void*>(-1);
  used += nbytes;
  return heap + used - nbytes;
}
#endif
}

/// "arena" of "…/embedded/arena.cpp", "copy_test" of "…/tensor/copy_test.cpp".
static bool is_stem(const char* file, const char* stem) {
  const char* const slash = std::strrchr(file, '/');
  const char* const name = slash != nullptr ? slash + 1 : file;
  const size_t length = std::strlen(stem);
  return std::strncmp(name, stem, length) == 0 && std::strcmp(name + length, ".cpp") == 0;
}

int main(int argc, char** argv) {
  const tests::NoHeap no_heap(TENON_HEAP == 0);
  int count = 0;
  for (const Case* at = cases; at != nullptr && argc >= 2; at = at->next) {
    if (!is_stem(at->file, argv[1])) continue;
    if (argc >= 3 && std::strstr(at->name, argv[2]) == nullptr) continue;
    running = at;
    tenon::set_failure_handler(&report_failure);
    at->run();
    ++count;
  }
  if (count == 0) tests::print("no such case; usage: FILE [WORD]\n");
  print_number(count);
  tests::print(" cases, ");
  print_number(failures);
  tests::print(" failed checks\n");
  tests::leave(count != 0 && failures == 0);
}
