// SPDX-License-Identifier: MIT
// Catch2's session, which takes seconds to compile: once, for main() and for programs with their own.
#pragma once

namespace tests {

/// Runs the cases that the arguments choose and returns how many failed, or stops at the first
/// failure.
int run_cases(int argc, char** argv, bool stops_at_failure);

}  // namespace tests
