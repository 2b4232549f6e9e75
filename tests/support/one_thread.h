// SPDX-License-Identifier: MIT
// A check for each program with Catch2 that assertions are made in the test's own thread. From two
// threads they are a race in Catch2, which shows itself once in a thousand runs. To include after
// Catch2, in the file that has its session.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <thread>
#if __has_include(<catch2/catch_session.hpp>)
#include <catch2/reporters/catch_reporter_event_listener.hpp>
#include <catch2/reporters/catch_reporter_registrars.hpp>
namespace tests {
using Listener = Catch::EventListenerBase;
}
#else
namespace tests {
using Listener = Catch::TestEventListenerBase;
}
#endif

namespace tests {

struct OneThread final : Listener {
  using Listener::Listener;
  void assertionStarting(const Catch::AssertionInfo& assertion) override {
    if (std::this_thread::get_id() == test_thread) return;
    std::fprintf(stderr, "%s:%zu: an assertion outside the test's thread\n",
                 assertion.lineInfo.file, assertion.lineInfo.line);
    std::_Exit(1);
  }
  const std::thread::id test_thread = std::this_thread::get_id();
};

CATCH_REGISTER_LISTENER(OneThread)

}  // namespace tests
