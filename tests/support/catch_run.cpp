// SPDX-License-Identifier: MIT
#if __has_include(<catch2/catch_session.hpp>)
#include <catch2/catch_session.hpp>
#else
#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>
#endif

#include "support/catch_run.h"
#include "support/one_thread.h"

#if defined(TENON_REACHED)
#include "support/reached.h"
#endif

int tests::run_cases(int argc, char** argv, bool stops_at_failure) {
  Catch::Session session;
  if (stops_at_failure) session.configData().abortAfter = 1;
  return session.run(argc, argv);
}
