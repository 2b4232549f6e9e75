// SPDX-License-Identifier: MIT
// For scripts/cases.py: writes which blocks of code each case reaches, where the compiler counts them
// (-fsanitize-coverage=inline-8bit-counters,pc-table), to the file that TENON_REACHED_FILE names.
#pragma once

#if __has_include(<catch2/reporters/catch_reporter_event_listener.hpp>)
#include <catch2/catch_test_case_info.hpp>
#include <catch2/reporters/catch_reporter_event_listener.hpp>
#include <catch2/reporters/catch_reporter_registrars.hpp>
using ReachedBase = Catch::EventListenerBase;
#else
using ReachedBase = Catch::TestEventListenerBase;
#endif

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace {

char *first_count, *last_count;
const uintptr_t* places;  // an address and flags for each count

class Reached : public ReachedBase {
 public:
  using ReachedBase::ReachedBase;
  void testCaseStarting(const Catch::TestCaseInfo& info) override {
    ReachedBase::testCaseStarting(info);
    std::fill(first_count, last_count, char{0});
  }
  void testCaseEnded(const Catch::TestCaseStats& stats) override {
    ReachedBase::testCaseEnded(stats);
    static std::FILE* const file = std::fopen(std::getenv("TENON_REACHED_FILE"), "w");
#if CATCH_VERSION_MAJOR >= 3
    const Catch::TestCaseInfo& info = *stats.testInfo;
#else
    const Catch::TestCaseInfo& info = stats.testInfo;
#endif
    std::fprintf(file, "case %s:%zu %s\n", info.lineInfo.file, info.lineInfo.line,
                 info.name.c_str());
    for (const char* count = first_count; count != last_count; ++count) {
      if (*count != 0) std::fprintf(file, "%zx\n", places[2 * (count - first_count)]);
    }
    std::fflush(file);  // before a case forks
  }
};

}  // namespace

extern "C" void __sanitizer_cov_8bit_counters_init(char* first, char* last) {
  first_count = first, last_count = last;
}
extern "C" void __sanitizer_cov_pcs_init(const uintptr_t* first, const uintptr_t*) {
  places = first;
}

CATCH_REGISTER_LISTENER(Reached)
