// SPDX-License-Identifier: MIT
// Each backend here is wrong in one place; the case that is there for it says so.
#include "tenon/testing/memory_cases.h"

#include <atomic>
#include <chrono>
#include <thread>

#include "support/catch.h"
#include "tenon/backend/arena.h"
#include "testing/broken_backends.h"

namespace memory_cases_test {

using namespace tenon;
using namespace tenon::testing;
using tests::HonestBackend;

// A promise of docs/guarantees.md.
TEST_CASE("memory_cases: a backend whose blocks are wrong is found") {
  struct ForgetsAlignment final : HonestBackend {
    void* allocate(size_t nbytes, size_t) noexcept override {
      return HonestBackend::allocate(nbytes, 16);
    }
  };
  CHECK_FOUND("expected a multiple of ", ForgetsAlignment, alignments_are_kept);

  struct AlignsItsFirstBlock final : HonestBackend {
    unsigned char memory[1 << 20];
    size_t at = (uintptr_t{0} - reinterpret_cast<uintptr_t>(memory)) % 4096;
    void* allocate(size_t nbytes, size_t) noexcept override {
      return memory + std::exchange(at, at + nbytes);
    }
    void deallocate(void*, size_t nbytes) noexcept override { at -= nbytes; }
  };
  CHECK_FOUND("expected a multiple of ", AlignsItsFirstBlock, alignments_are_kept);

  struct Overlaps final : HonestBackend {
    unsigned char memory[1 << 20];
    size_t at = 0;
    void* allocate(size_t nbytes, size_t) noexcept override {
      return memory + std::exchange(at, at + nbytes / 64 * 64);
    }
    void deallocate(void*, size_t) noexcept override {}
  };
  CHECK_FOUND("expected a separate block", Overlaps, blocks_are_apart);

  struct GivesOneTwice final : HonestBackend {
    void* last = nullptr;
    bool again = false;
    void* allocate(size_t nbytes, size_t alignment) noexcept override {
      again = !again && last != nullptr && nbytes < 300;
      return again ? last : last = HonestBackend::allocate(nbytes < 300 ? 300 : nbytes, alignment);
    }
    void deallocate(void*, size_t) noexcept override {}
  };
  CHECK_FOUND("that is in use", GivesOneTwice, blocks_are_apart);

  struct WrapsSizes final : HonestBackend {
    void* allocate(size_t nbytes, size_t alignment) noexcept override {
      return HonestBackend::allocate(static_cast<uint32_t>((nbytes + 63) / 64 * 64), alignment);
    }
  };
  CHECK_FOUND("expected nullptr, found memory", WrapsSizes, too_much_is_refused);

  struct NeverReleases final : HonestBackend {
    void deallocate(void*, size_t) noexcept override {}
  };
  CHECK_FOUND("found no memory, after 8 times", NeverReleases, memory_comes_back);
}

TEST_CASE("memory_cases: memory that is never released is found, though there is much of it") {
  struct Endless : HonestBackend {
    char* next = reinterpret_cast<char*>(size_t{1} << 30);
    void* allocate(size_t nbytes, size_t) noexcept override {
      return std::exchange(next, next + nbytes);
    }
    void deallocate(void*, size_t) noexcept override {}
  };
  CHECK_FOUND("expected released memory to be allocated again", Endless, memory_comes_back);
  Endless backend;
  BackendTraits traits;
  traits.reuses_addresses = false;
  Report report;
  Trial trial(backend, traits, report);
  memory_comes_back(trial);
  CHECK(report.ok());
  for (size_t largest : {size_t{0}, size_t{1}}) {  // ends nevertheless
    traits = BackendTraits();
    traits.largest = largest;
    Trial small(backend, traits, report);
    CHECK(small.traits().largest == 65536);
    memory_comes_back(small);
    CHECK_FALSE(report.ok());
  }
}

TEST_CASE("memory_cases: a backend without a lock is found, one for one thread not asked by two") {
  // Hands out blocks one after another. It waits where the race is, as a test cannot wait for it.
  struct Unlocked final : HonestBackend {
    std::vector<unsigned char> memory = std::vector<unsigned char>(8192 * 1024 + 64);
    std::atomic<size_t> next{0};
    void* allocate(size_t nbytes, size_t alignment) noexcept override {
      if (nbytes > 1024 || alignment > 64) return nullptr;
      const size_t taken = next;
      std::this_thread::sleep_for(std::chrono::microseconds(1));
      next = taken + 1;
      return static_cast<char*>(detail::align_up(memory.data())) + taken % 8192 * 1024;
    }
    void deallocate(void*, size_t) noexcept override {}
  };
  CHECK_FOUND("two threads at once: expected in a block what its thread wrote", Unlocked,
              threads_are_apart);

  alignas(64) static unsigned char buffer[1 << 16];
  static ArenaBackend arena(buffer, sizeof buffer);
  struct Wrapper final : WrapperBackend {
    Wrapper() : WrapperBackend(arena) {}
    const char* name() const noexcept override { return "wrapper"; }
  };
  CHECK_PASSES(Wrapper, threads_are_apart);
  CHECK(arena.high_water() == 0);
}

TEST_CASE("memory_cases: a backend whose copies are wrong is found") {
  struct StopsEarly final : HonestBackend {
    Error copy_from_host(void* dst, const void* src, size_t nbytes) override {
      return HonestBackend::copy_from_host(dst, src, nbytes - 1);
    }
  };
  CHECK_FOUND("copy_from_host of ", StopsEarly, bytes_go_there_and_back);

  struct ReadsLater final : HonestBackend {
    std::function<void()> begun = [] {};
    Error copy_from_host(void* dst, const void* src, size_t nbytes) override {
      begun();
      begun = [=] { std::memcpy(dst, src, nbytes); };
      return Error::Ok;
    }
    Error copy_to_host(void* dst, const void* src, size_t nbytes) override {
      std::exchange(begun, [] {})();
      return HonestBackend::copy_to_host(dst, src, nbytes);
    }
  };
  CHECK_FOUND("copy_from_host of ", ReadsLater, bytes_go_there_and_back);

  struct RoundsOffsets final : HonestBackend {
    Error copy_to_host(void* dst, const void* src, size_t nbytes) override {
      const uintptr_t word = reinterpret_cast<uintptr_t>(src) & ~uintptr_t{3};
      return HonestBackend::copy_to_host(dst, reinterpret_cast<const void*>(word), nbytes);
    }
  };
  CHECK_FOUND("copy_to_host of ", RoundsOffsets, bytes_go_there_and_back);

  struct CopiesWholeWords final : HonestBackend {
    Error copy_to_host(void* dst, const void* src, size_t nbytes) override {
      return HonestBackend::copy_to_host(dst, src, (nbytes + 3) / 4 * 4);
    }
  };
  CHECK_FOUND("wrote the host's memory beyond", CopiesWholeWords, bytes_go_there_and_back);

  struct MovesNothing final : HonestBackend {
    Error copy_within(void*, const void*, size_t) override { return Error::Ok; }
  };
  CHECK_FOUND("copy_within of ", MovesNothing, bytes_move_within);
}

TEST_CASE("memory_cases: what else a backend does wrong is found") {
  struct Changes final : HonestBackend {
    mutable int32_t calls = 0;
    Device device() const noexcept override { return Device(DeviceType::ExtDev, ++calls); }
  };
  CHECK_FOUND("device(): expected ext_dev:", Changes, names_stay);

  struct Fails final : HonestBackend {
    Error synchronize() override { return set_error(Error::AccessFailed, "the queue is lost"); }
    Error init(const BackendOptions&) override { return Error::Ok; }
  };
  CHECK_FOUND("the queue is lost", Fails, synchronize_is_ok);
  CHECK_FOUND("expected InvalidArgument, found Ok", Fails, unknown_options_are_refused);
}

}  // namespace memory_cases_test
