// SPDX-License-Identifier: MIT
// main() of the test programs, and a check that assertions are made in the test's own thread. From
// two threads they are a race in Catch2, which shows itself once in a thousand runs.
#if __has_include(<catch2/catch_session.hpp>)
#include <catch2/catch_session.hpp>
#include <catch2/reporters/catch_reporter_event_listener.hpp>
#include <catch2/reporters/catch_reporter_registrars.hpp>
int main(int argc, char** argv) { return Catch::Session().run(argc, argv); }
using Listener = Catch::EventListenerBase;
#else
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>
using Listener = Catch::TestEventListenerBase;
#endif

#include <cstdio>
#include <cstdlib>
#include <thread>

namespace {

struct OneThread final : Listener {
  using Listener::Listener;
  void assertionStarting(const Catch::AssertionInfo& assertion) override {
    if (std::this_thread::get_id() == test_thread) return;
    std::fprintf(stderr, "%s:%zu: an assertion outside the test's thread\n",
                 assertion.lineInfo.file, assertion.lineInfo.line);
    std::abort();
  }
  const std::thread::id test_thread = std::this_thread::get_id();
};

}  // namespace

CATCH_REGISTER_LISTENER(OneThread)
