// SPDX-License-Identifier: MIT
#include "tenon/backend/tracking_records.h"

#include <cstdint>
#include <cstdlib>
#include <map>
#include <vector>

#include "support/catch.h"

using namespace tenon;
using namespace tenon::detail;

TEST_CASE("tracking records: counts know the most there was at once") {
  MemoryCounts counts;
  counts.add(10);
  counts.add(5);
  counts.remove(10);
  counts.add(7);
  CHECK(counts.live_bytes() == 12);
  CHECK(counts.peak_bytes() == 15);
  CHECK(counts.live_count() == 2);
  CHECK(counts.total_count == 3);
  CHECK(counts.total_bytes == 22);
}

TEST_CASE("tracking records: a copy of a record has its own sizes") {
  TrackingRecord record;
  CHECK_FALSE(record.knows_tensor());
  CHECK(record.dims() == Dims{});
  record.set_tensor(own::ScalarType::Int, {1, 2, 3, 4, 5}, &std::malloc);
  const TrackingRecord copy(record);
  record.forget_tensor();
  CHECK_FALSE(record.knows_tensor());
  CHECK(copy.knows_tensor());
  CHECK(copy.type == own::ScalarType::Int);
  CHECK(copy.dims() == Dims{1, 2, 3, 4, 5});
  CHECK_FALSE(TrackingRecord(record).knows_tensor());
}

TEST_CASE("tracking records: without memory for its sizes a record knows no tensor") {
  TrackingRecord record;
  record.set_tensor(own::ScalarType::Int, {1, 2, 3, 4, 5}, [](size_t) -> void* { return nullptr; });
  CHECK_FALSE(record.knows_tensor());
  record.set_tensor(own::ScalarType::Int, {1, 2}, [](size_t) -> void* { return nullptr; });
  CHECK(record.dims() == Dims{1, 2});
}

TEST_CASE("tracking records: the table finds what was inserted and not erased") {
  TrackingTable table;
  const TrackingSources sources;
  CHECK(table.find(64) == nullptr);
  std::map<uintptr_t, TrackingRecord*> model;
  std::vector<TrackingRecord> records(16);
  uint64_t state = 1;
  for (int i = 0; i < 20000; ++i) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    const auto address = static_cast<uintptr_t>(64 * (1 + (state >> 40) % 1500));
    TrackingRecord* const record = &records[(state >> 20) % 16];
    TrackingTable::Entry* const entry = table.find(address);
    const auto known = model.find(address);
    REQUIRE((entry != nullptr) == (known != model.end()));
    if (entry != nullptr) {
      REQUIRE(entry->record == known->second);
      table.erase(entry);
      model.erase(known);
    } else {
      REQUIRE(table.reserve(sources));
      table.insert({address, record, nullptr});
      model[address] = record;
    }
    REQUIRE(table.size() == model.size());
  }
  size_t seen = 0;
  table.for_each([&](const TrackingTable::Entry& entry) {
    ++seen;
    CHECK(model.at(entry.address) == entry.record);
  });
  CHECK(seen == model.size());
}

TEST_CASE("tracking records: chunks keep the order of their records") {
  TrackingChunks chunks;
  const TrackingSources sources;
  for (uint64_t i = 0; i < 5000; ++i) {
    TrackingRecord* const record = chunks.make(sources);
    REQUIRE(record != nullptr);
    REQUIRE(reinterpret_cast<uintptr_t>(record) % 64 == 0);
    record->born = i;
  }
  uint64_t next = 0;
  chunks.for_each([&](const TrackingRecord& record) { REQUIRE(record.born == next++); });
  CHECK(next == 5000);
}

TEST_CASE("tracking records: the clock goes on, in nanoseconds") {
  const TrackingClock clock{TrackingSources()};
  const uint64_t start = steady_nanoseconds();
  while (steady_nanoseconds() - start < 2'000'000) {
  }
  const double passed =
      static_cast<double>(clock.now() - clock.first()) * clock.nanoseconds_per_tick();
  CHECK(passed >= 1.9e6);
  CHECK(passed < 1e9);
}
