// SPDX-License-Identifier: MIT
// main() of the test programs.
#include "support/catch_run.h"

int main(int argc, char** argv) { return tests::run_cases(argc, argv, false); }
