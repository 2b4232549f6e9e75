// SPDX-License-Identifier: MIT
// The conformance suite for backends: cases that every Backend has to pass and that any test
// framework can run. docs/backends.md has an example.
//
//     MyBackend backend;
//     const tenon::testing::Report report = tenon::testing::check_backend(backend);
//     if (!report.ok()) std::puts(report.text().c_str());
//
// Or one case at a time, so that the framework names the cases:
//
//     for (const auto& test : tenon::testing::backend_cases(backend)) {
//       SECTION(test.name) {
//         const tenon::testing::Report report = tenon::testing::run_case(test, backend);
//         INFO(report.text());
//         CHECK(report.ok());
//       }
//     }
#pragma once

#include <cstdint>
#include <cstdio>
#include <utility>

#include "tenon/backend/backend.h"
#include "tenon/testing/copy_cases.h"
#include "tenon/testing/creator_cases.h"
#include "tenon/testing/memory_cases.h"
#include "tenon/testing/trial.h"

TENON_BEGIN_NAMESPACE
namespace testing {

/// A case of the suite, for run_case().
struct BackendCase {
  const char* name;           ///< says what the case checks
  void (*run)(Trial& trial);  ///< runs the case; run_case() calls this
};

inline constexpr BackendCase kCases[] = {
    {"name, device and kind stay", names_stay},
    {"synchronize is Ok", synchronize_is_ok},
    {"allocate keeps alignments", alignments_are_kept},
    {"allocate gives blocks apart", blocks_are_apart},
    {"allocate refuses too much", too_much_is_refused},
    {"deallocate gives memory back", memory_comes_back},
    {"threads do not share blocks", threads_are_apart},
    {"bytes go there and back", bytes_go_there_and_back},
    {"copy_within copies bytes", bytes_move_within},
    {"init refuses unknown options", unknown_options_are_refused},
    {"full", full_has_the_value},
    {"eye", eye_has_a_diagonal},
    {"iota", iota_counts},
    {"rand and uniform", uniform_is_the_hosts},
    {"normal", normal_is_the_hosts},
    {"copy_ of views", views_are_copied},
    {"copy_ at any strides", any_strides_are_copied},
    {"copy_ that converts", types_are_converted},
    {"copy_ of much", large_tensors_are_copied},
    {"constant, asked directly", constant_is_written},
    {"eye, asked directly", eye_is_written},
    {"iota, asked directly", iota_is_written},
    {"from_binary and to_binary, asked directly", binary_is_written_and_read},
    {"random numbers, asked directly", random_numbers_are_written},
};

/// The cases that a backend has to pass; two for a backend of the Meta device, which has no data.
inline Span<const BackendCase> backend_cases(const Backend& backend) noexcept {
  const Span<const BackendCase> all = kCases;
  return {all.data(), backend.device().type() == DeviceType::Meta ? 2 : all.size()};
}

/// Runs one case, and adds its failures to the report. A case releases all memory that it
/// allocates.
///
/// Any number of cases may run on one backend, in any order.
/// Errors: none; an exception counts as a failure of the case.
inline Report run_case(const BackendCase& test, Backend& backend,
                       const BackendTraits& traits = BackendTraits(), Report report = Report()) {
  report.begin(test.name);
  const int64_t blocks = backend.live_blocks();
  Trial trial(backend, traits, report);
  trial.check_ok("a function that throws", detail::call_safely([&] {
                   test.run(trial);
                   return Error::Ok;
                 }));
  if (report.count() != 0) return report;  // a failed case may not release its blocks
  trial.check(backend.live_blocks() == blocks, "live_blocks(): expected ", blocks,
              " as before, found ", backend.live_blocks());
  return report;
}

/// Runs all cases. Prints each case's name to stderr before the case runs: a broken backend may end
/// the program there.
inline Report check_backend(Backend& backend, const BackendTraits& traits = BackendTraits()) {
  Report report;
  for (const BackendCase& test : backend_cases(backend)) {
    std::fprintf(stderr, "backend %s: %s\n", backend.name(), test.name);
    report = run_case(test, backend, traits, std::move(report));
  }
  return report;
}

}  // namespace testing
TENON_END_NAMESPACE
