// SPDX-License-Identifier: MIT
#include "tenon/backend/tracking.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include "backend/tracking_helpers.h"
#include "support/catch.h"
#include "tenon/backend/arena.h"
#include "tenon/core/error.h"
#include "tenon/tenon.h"
#include "tenon/tensor/transfer.h"

using namespace tenon;
using namespace tests;

TEST_CASE("tracking: it is the backend that it wraps, under a name of its own") {
  CpuBackend cpu;
  TrackingBackend tracking(cpu);
  CHECK(std::strcmp(tracking.name(), "tracking") == 0);
  CHECK(&tracking.inner() == &cpu);
  CHECK(&tracking.base() == &cpu);
  CHECK(tracking.device() == Device());
  CHECK_FALSE(tracking.is_opaque());
  static_assert(!std::is_copy_constructible_v<TrackingBackend>);
}

TEST_CASE("tracking: it counts what is in use, the most there was, and all there ever was") {
  TrackedBackend tracked;
  const TrackingBackend& backend = tracked.backend;
  CHECK(backend.live_bytes() == 0);
  CHECK(backend.peak_bytes() == 0);
  CHECK(backend.total_count() == 0);
  void* const a = tracked.make({4});
  void* const b = tracked.make({6, 2});
  CHECK(backend.live_bytes() == 16 + 48);
  CHECK(backend.live_count() == 2);
  tracked.drop(a, 16);
  CHECK(backend.live_bytes() == 48);
  CHECK(backend.live_count() == 1);
  CHECK(backend.peak_bytes() == 64);
  void* const c = tracked.make({3});
  CHECK(backend.peak_bytes() == 64);
  CHECK(backend.total_count() == 3);
  CHECK(backend.total_bytes() == 76);
  tracked.drop(b, 48);
  tracked.drop(c, 12);
  CHECK(backend.live_bytes() == 0);
  CHECK(backend.live_count() == 0);
  CHECK(backend.peak_bytes() == 64);
}

TEST_CASE("tracking: tensors made in it are counted and described") {
  CpuBackend cpu;
  TrackingBackend tracking(cpu);
  {
    const TensorPtr a = zeros({2, 3}, tracking);
    CHECK(tracking.live_bytes() == 24);
    const Tensor b = *a;
    CHECK(tracking.live_count() == 1);
    const std::vector<MemoryLeak> leaks = tracking.leaks();
    REQUIRE(leaks.size() == 1);
    CHECK(leaks[0].address == a->const_data_ptr());
    CHECK(leaks[0].nbytes == 24);
    CHECK(leaks[0].type == ScalarType::Float);
    CHECK(leaks[0].sizes == Dims{2, 3});
    CHECK(leaks[0].function == std::string("zeros"));
    CHECK(leaks[0].tag == std::string());
    CHECK(leaks[0].file == nullptr);
    CHECK(leaks[0].stack.empty());
  }
  CHECK(tracking.live_count() == 0);
  CHECK(tracking.leaks().empty());
  CHECK(tracking.leak_report().empty());
}

TEST_CASE("tracking: an allocation that the wrapped backend refuses is not counted") {
  CpuBackend cpu;
  TrackingBackend tracking(cpu);
  CHECK(tracking.allocate(SIZE_MAX - 4096, 64) == nullptr);
  CHECK(tracking.total_count() == 0);
  CHECK(tracking.refused_count() == 0);
}

TEST_CASE("tracking: the leak report has a line for each leak, the largest first") {
  TrackedBackend tracked;
  void* const small = tracked.make({2}, "rand");
  void* large = nullptr;
  int line = 0;
  {
    line = __LINE__ + 1;
    const TrackingScope scope(tracked.backend, "decoder");
    large = tracked.make({32, 32}, "zeros");
  }
  void* const plain = tracked.backend.allocate(100, 64);
  CHECK(tracked.backend.leak_report() ==
        "4096 bytes, Float {32, 32} by zeros in \"decoder\" (tracking_test.cpp:" +
            std::to_string(line) + ")\n100 bytes\n8 bytes, Float {2} by rand\n");
  tracked.drop(small, 8);
  tracked.drop(large, 4096);
  tracked.drop(plain, 100);
}

TEST_CASE("tracking: leaks of many dimensions and of long ones keep their sizes") {
  TrackedBackend tracked;
  const int64_t long_size = int64_t{1} << 40;
  TensorView view;
  view.type = ScalarType::Bool;
  view.data = tracked.backend.allocate(64, 64);
  view.sizes = {1, 2, 3, 4, 1, 2, 1, 1};
  tracked.backend.on_made({view.data, view.type, view.sizes, view.strides, "ones"});
  CHECK(tracked.backend.leaks()[0].sizes == Dims{1, 2, 3, 4, 1, 2, 1, 1});
  view.sizes = {long_size, 0};
  tracked.backend.on_made({view.data, view.type, view.sizes, view.strides, "full"});
  CHECK(tracked.backend.leaks()[0].sizes == Dims{long_size, 0});
  view.sizes = {};
  tracked.backend.on_made({view.data, view.type, view.sizes, view.strides, "full"});
  CHECK(tracked.backend.leak_report() == "64 bytes, Bool {} by full\n");
  tracked.drop(view.data, 64);
}

TEST_CASE("tracking: a tag that is used twice is one entry, and the innermost scope counts") {
  TrackedBackend tracked;
  void* p[5] = {};
  p[0] = tracked.make({1});
  {
    const TrackingScope model(tracked.backend, "model");
    p[1] = tracked.make({2});
    {
      std::string name = "layer";
      const TrackingScope layer(tracked.backend, name.c_str());
      name = "gone!";  // the text was copied
      p[2] = tracked.make({3});
    }
    p[3] = tracked.make({4});
    tracked.drop(p[1], 8);
  }
  {
    const TrackingScope again(tracked.backend, "layer");
    p[4] = tracked.make({5});
  }
  const std::vector<TagCounts> tags = tracked.backend.tags();
  REQUIRE(tags.size() == 3);
  CHECK(tags[0].tag.empty());
  CHECK(tags[0].live_bytes == 4);
  CHECK(tags[1].tag == "model");
  CHECK(tags[1].live_bytes == 16);
  CHECK(tags[1].peak_bytes == 24);
  CHECK(tags[1].live_count == 1);
  CHECK(tags[1].total_count == 2);
  CHECK(tags[2].tag == "layer");
  CHECK(tags[2].live_bytes == 12 + 20);
  CHECK(tags[2].total_count == 2);
  tracked.drop(p[0], 4);
  tracked.drop(p[2], 12);
  tracked.drop(p[3], 16);
  tracked.drop(p[4], 20);
  CHECK(tracked.backend.tags()[2].live_bytes == 0);
  CHECK(tracked.backend.tags()[2].peak_bytes == 32);
}

TEST_CASE("tracking: a scope is for its own backend and thread") {
  TrackedBackend tracked;
  CpuBackend cpu;
  TrackingBackend other(cpu);
  const TrackingScope scope(tracked.backend, "mine");
  const TrackingScope foreign(other, "theirs");
  void* const p = tracked.make({1});
  CHECK(tracked.backend.leaks()[0].tag == std::string("mine"));
  tracked.drop(p, 4);
  void* q = nullptr;
  std::thread([&] { q = tracked.make({1}); }).join();
  CHECK(tracked.backend.leaks()[0].tag == std::string());
  tracked.drop(q, 4);
}

TEST_CASE("tracking: in a NoAllocationScope allocations are refused with the place of the scope") {
  CpuBackend cpu;
  TrackingBackend tracking(cpu);
  const TensorPtr before = zeros({4}, tracking);
  {
    const int line = __LINE__ + 1;
    const NoAllocationScope guard(tracking);
    const std::string words =
        "no allocation is allowed here (tracking_test.cpp:" + std::to_string(line) + ")";
    CHECK_ERROR(Error::OutOfMemory, words, zeros({4}, tracking));
    CHECK(tracking.refused_count() == 1);
    CHECK(tracking.total_count() == 1);
    CHECK(fill_(before, 1) == Error::Ok);
    TrackingBackend other(cpu);
    CHECK_NOTHROW(zeros({4}, other));
    std::thread([&] { CHECK(zeros({4}, tracking)->numel() == 4); }).join();
  }
  CHECK_NOTHROW(zeros({4}, tracking));
  CHECK(tracking.refused_count() == 1);
}

TEST_CASE("tracking: memory may be dropped in a NoAllocationScope, and guards nest") {
  TrackedBackend tracked;
  void* const p = tracked.make({4});
  {
    const NoAllocationScope outer(tracked.backend, "src/outer.cpp", 7);
    {
      const NoAllocationScope inner(tracked.backend, "src/inner.cpp", 8);
      CHECK(tracked.make({1}) == nullptr);
      CHECK(std::strcmp(last_error_message(), "no allocation is allowed here (inner.cpp:8)") == 0);
    }
    CHECK(tracked.make({1}) == nullptr);
    CHECK(std::strcmp(last_error_message(), "no allocation is allowed here (outer.cpp:7)") == 0);
    tracked.drop(p, 16);
  }
  CHECK(tracked.backend.live_count() == 0);
  CHECK(tracked.backend.refused_count() == 2);
}

TEST_CASE("tracking: init refuses what it does not know, and changes nothing then") {
  CpuBackend cpu;
  TrackingBackend tracking(cpu);
  CHECK_RETURNS(Error::InvalidArgument, "there is no option \"depth\"",
                tracking.init({{"depth", 3}}));
  CHECK_RETURNS(Error::InvalidArgument, "option \"stack_depth\" is 17; expected a whole number up",
                tracking.init({{"max_events", 0}, {"stack_depth", 17}}));
  CHECK_RETURNS(Error::InvalidArgument, "option \"max_events\" is -1",
                tracking.init({{"max_events", -1}}));
  void* const p = tracking.allocate(8, 8);
  CHECK(tracking.dropped_events() == 0);
  tracking.deallocate(p, 8);
}

TEST_CASE("tracking: with max_events the timeline is bounded, the counts are not") {
  TrackedBackend tracked;
  REQUIRE(tracked.backend.init({{"max_events", 4}}) == Error::Ok);
  for (int i = 0; i < 100; ++i) tracked.drop(tracked.make({1}), 4);
  CHECK(tracked.backend.dropped_events() == 196);
  CHECK(tracked.backend.total_count() == 100);
  void* const p = tracked.make({9}, "zeros");
  CHECK(tracked.backend.leak_report() == "36 bytes, Float {9} by zeros\n");
  tracked.drop(p, 36);
}

#if TENON_HAS_BACKTRACE
TEST_CASE("tracking: with stack_depth leaks have return addresses, shown below their line") {
  TrackedBackend tracked;
  REQUIRE(tracked.backend.init({{"stack_depth", 3}}) == Error::Ok);
  for (int i = 0; i < 3; ++i) tracked.drop(tracked.make({1}), 4);  // whose places are used again
  void* const p = tracked.make({2});
  CHECK(tracked.backend.leaks()[0].stack.size() == 3);
  const std::string report = tracked.backend.leak_report();
  CHECK(contains(report, "8 bytes, Float {2} by empty\n    "));
  CHECK(std::count(report.begin(), report.end(), '\n') == 4);
  tracked.drop(p, 8);
}
#endif

TEST_CASE("tracking: files that cannot be written are an error that names them") {
  CpuBackend cpu;
  TrackingBackend tracking(cpu);
  CHECK_RETURNS(Error::AccessFailed, "write_svg: cannot open no/such/folder/a.svg: No such file",
                tracking.write_svg("no/such/folder/a.svg"));
  CHECK_RETURNS(Error::AccessFailed, "write_chrome_trace: cannot open no/such/folder/a.json: ",
                tracking.write_chrome_trace("no/such/folder/a.json"));
#if defined(__linux__)
  CHECK_RETURNS(Error::AccessFailed, "write_svg: cannot write /dev/full: No space left",
                tracking.write_svg("/dev/full"));
  CHECK_RETURNS(Error::AccessFailed, "write_chrome_trace: cannot write /dev/full: No space left",
                tracking.write_chrome_trace(std::string("/dev/full")));
#endif
}

TEST_CASE("tracking: over an arena it counts what tensors ask for, and the memory is the arena's") {
  alignas(64) static unsigned char buffer[8192];
  ArenaBackend arena(buffer, sizeof buffer);
  TrackingBackend tracking(arena);
  {
    const TensorPtr a = zeros({10}, tracking);
    const auto* const p = static_cast<const unsigned char*>(a->const_data_ptr());
    CHECK(p >= buffer);
    CHECK(p < buffer + sizeof buffer);
    CHECK(tracking.live_bytes() == 40);
    CHECK(tracking.live_count() == 1);
    CHECK_ERROR(Error::OutOfMemory, "backend tracking has no memory for 40000 bytes",
                zeros({10000}, tracking));
    CHECK(tracking.total_count() == 1);
  }
  CHECK(tracking.live_bytes() == 0);
}

TEST_CASE("tracking: the timeline has each block in order, at times of their own") {
  TrackedBackend tracked;
  TrackedBackend::wait(10);
  void* const a = tracked.make({25}, "first");
  void* const b = tracked.backend.allocate(200, 8);  // at the same moment
  TrackedBackend::wait(10);
  tracked.drop(a, 100);
  const tests::TemporaryFile file("tracking_test.json");
  REQUIRE(tracked.backend.write_chrome_trace(file.path) == Error::Ok);
  const std::string text = file.read();
  size_t at = 0;
  for (const char* event :
       {"\"ph\":\"b\",\"pid\":1,\"tid\":", "\"ts\":10,", "Float {25}", "\"ph\":\"b\"",
        "\"ts\":10.001,", "block", "\"ph\":\"e\"", "\"ts\":20,", "Float {25}", "still alive"}) {
    at = text.find(event, at);
    REQUIRE(at != std::string::npos);
  }
  tracked.drop(b, 200);
}

TEST_CASE("tracking: the timeline ends with the first allocation that has no room") {
  TrackedBackend tracked;
  REQUIRE(tracked.backend.init({{"max_events", 5}}) == Error::Ok);
  void* p[4] = {tracked.make({1}), tracked.make({1}), nullptr, nullptr};
  p[2] = tracked.make({1});
  tracked.drop(p[2], 4);
  tracked.drop(p[0], 4);
  REQUIRE(tracked.backend.init({{"max_events", 1000}}) == Error::Ok);
  p[3] = tracked.make({1});  // which would be out of place
  CHECK(tracked.backend.dropped_events() == 3);
  CHECK(tracked.backend.leaks().size() == 2);
  tracked.drop(p[1], 4);
  tracked.drop(p[3], 4);
}

TEST_CASE("tracking: one wraps another, and both count") {
  CpuBackend cpu;
  TrackingBackend tracker(cpu);
  TrackingBackend outer(tracker);
  CHECK(&outer.inner() == &tracker);
  const TensorPtr t = zeros({4}, outer);
  CHECK(outer.live_bytes() == 16);
  CHECK(tracker.live_bytes() == 16);
  CHECK(tracker.leaks()[0].function == std::string("zeros"));
}

TEST_CASE("tracking: a report has what was there when it began, and allocations go on beside it") {
  CpuBackend cpu;
  TrackingBackend tracking(cpu);
  std::vector<void*> blocks;
  for (int i = 0; i < 20000; ++i) blocks.push_back(tracking.allocate(8, 8));
  std::atomic<bool> stop{false};
  std::atomic<int> made{0};
  std::thread other([&] {
    for (; !stop; ++made) tracking.deallocate(tracking.allocate(8, 8), 8);
  });
  bool is_beside = false;
  for (int tries = 0; tries < 1000 && !is_beside; ++tries) {
    const int before = made;
    CHECK(tracking.leaks().size() >= 20000);
    is_beside = made > before + 1;
  }
  CHECK(tracking.write_svg("/dev/null") == Error::Ok);
  stop = true;
  other.join();
  CHECK(is_beside);
  for (void* p : blocks) tracking.deallocate(p, 8);
  CHECK(tracking.live_count() == 0);
}
