// SPDX-License-Identifier: MIT
// The conformance suite for backends: what every Backend has to do, as cases that any test framework
// can run. docs/backends.md has an example.
//
//     MyBackend backend;
//     const tenon::testing::Report report = tenon::testing::check_backend(backend);
//     if (!report.ok()) std::puts(report.text().c_str());
//
// Or a case at a time, so that the framework names them:
//
//     for (const auto& test : tenon::testing::backend_cases(backend)) {
//       SECTION(test.name) {
//         const tenon::testing::Report report = tenon::testing::run_case(test, backend);
//         INFO(report.text());
//         CHECK(report.ok());
//       }
//     }
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>

#include "tenon/backend/backend.h"
#include "tenon/config.h"
#include "tenon/core/array_ref.h"
#include "tenon/testing/copy_cases.h"
#include "tenon/testing/creator_cases.h"
#include "tenon/testing/memory_cases.h"
#include "tenon/testing/optional_cases.h"
#include "tenon/testing/program_cases.h"
#include "tenon/testing/random_cases.h"
#include "tenon/testing/template_cases.h"
#include "tenon/testing/tensor_cases.h"
#include "tenon/testing/trial.h"

#if TENON_HAS_EXCEPTIONS
#include <exception>
#endif

TENON_BEGIN_NAMESPACE
namespace testing {

struct BackendCase {
  const char* name;
  void (*run)(Trial& trial);
};

/// For backends that hold data.
inline constexpr BackendCase kDataCases[] = {
    {"name, device and kind stay", names_stay},
    {"allocate keeps alignments", alignments_are_kept},
    {"allocate gives blocks apart", blocks_are_apart},
    {"allocate refuses too much", too_much_is_refused},
    {"deallocate gives memory back", memory_comes_back},
    {"threads do not share blocks", threads_are_apart},
    {"bytes go there and back", bytes_go_there_and_back},
    {"copy_to_host writes what was asked for", host_memory_is_respected},
    {"copy_within copies bytes", bytes_move_within},
    {"synchronize is Ok", synchronize_is_ok},
    {"init refuses unknown options", unknown_options_are_refused},
    {"empty", empty_has_the_shape},
    {"full, zeros, ones", full_has_the_value},
    {"eye", eye_has_a_diagonal},
    {"iota", iota_counts},
    {"arange", arange_counts},
    {"make_tensor_ptr", values_arrive},
    {"from_binary", from_binary_is_read},
    {"_like", like_forms_follow},
    {"_strided", strided_forms_have_gaps},
    {"BackendScope", scopes_choose},
    {"rand and uniform", uniform_is_the_hosts},
    {"randn and normal", normal_is_the_hosts},
    {"randint", randint_is_the_hosts},
    {"random _like and _strided", random_like_forms_follow},
    {"uniform_, normal_, random_ on views", views_are_filled_randomly},
    {"copy_ of views", views_are_copied},
    {"copy_ at any strides", any_strides_are_copied},
    {"copy_ that repeats", sources_are_repeated},
    {"copy_ that converts", types_are_converted},
    {"copy_ that converts views", views_are_converted},
    {"copy_ that overlaps", overlapping_copies_are_safe},
    {"copy_ of much", large_tensors_are_copied},
    {"fill_ and zero_", views_are_filled},
    {"clone_tensor_ptr, contiguous, to", clones_are_alike},
    {"resize", growing_keeps_elements},
    {"views", views_share_memory},
    {"backend_transfer", transfers_move},
    {"backend_deallocate", deallocation_is_final},
    {"assign and copy_to", foreign_memory_is_exchanged},
    {"memory that is lent", lent_memory_is_used},
    {"registered", registered_memory_is_found},
    {"to_binary", binary_is_limited},
    {"to_string", text_is_the_hosts},
    {"pointers for the host", host_pointers_are_guarded},
    {"constant, asked directly", constant_is_written},
    {"eye, asked directly", eye_is_written},
    {"iota, asked directly", iota_is_written},
    {"from_binary and to_binary, asked directly", binary_is_written_and_read},
    {"random numbers, asked directly", random_numbers_are_written},
    {"random programs", programs_run_alike},
};

/// For those of the device "template".
inline constexpr BackendCase kTemplateCases[] = {
    {"name, device and kind stay", names_stay},
    {"synchronize is Ok", synchronize_is_ok},
    {"templates have shapes", templates_have_shapes},
    {"templates have no data", templates_have_no_data},
    {"templates are described", templates_are_described},
};

/// The cases that a backend has to pass.
inline Span<const BackendCase> backend_cases(const Backend& backend) noexcept {
  return backend.device().type() == DeviceType::Template ? Span<const BackendCase>(kTemplateCases)
                                                         : Span<const BackendCase>(kDataCases);
}

/// Runs one case, and adds what is wrong to the report. All the memory that it takes it gives back.
///
/// Any number of cases may run on one backend, in any order. None runs in parallel to others on a
/// backend of its device: one of them registers it for a moment.
/// Errors: none; a case that throws has failed.
inline void run_case(const BackendCase& test, Backend& backend, const BackendTraits& traits,
                     Report& report) {
  report.begin(test.name);
  const int64_t blocks = backend.live_blocks();
  Trial trial(backend, traits, report);
#if TENON_HAS_EXCEPTIONS
  try {
    test.run(trial);
  } catch (const std::exception& e) {
    report.fail(std::string("unexpectedly thrown: ") + e.what());
  } catch (...) {
    report.fail("something that is no std::exception was thrown");
  }
#else
  test.run(trial);
#endif
  if (report.count() != 0) return;  // what a failed case left is no fault of its own
  trial.check(backend.live_blocks() == blocks,
              {"live_blocks(): expected ", blocks, " as before, found ", backend.live_blocks()});
}
inline Report run_case(const BackendCase& test, Backend& backend,
                       const BackendTraits& traits = BackendTraits()) {
  Report report;
  run_case(test, backend, traits, report);
  return report;
}

/// Runs all of them. Each case's name goes to stderr before it runs: a broken backend may end the
/// program there.
inline Report check_backend(Backend& backend, const BackendTraits& traits = BackendTraits()) {
  Report report;
  for (const BackendCase& test : backend_cases(backend)) {
    std::fprintf(stderr, "backend %s: %s\n", backend.name(), test.name);
    run_case(test, backend, traits, report);
  }
  return report;
}

}  // namespace testing
TENON_END_NAMESPACE
