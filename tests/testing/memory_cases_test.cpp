// SPDX-License-Identifier: MIT
// Each backend here is wrong in one place; the case that is there for it says so.
#include "tenon/testing/memory_cases.h"

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <utility>
#include <vector>

#include "support/catch.h"
#include "testing/broken_backends.h"

using namespace tenon;
using namespace tenon::testing;
using tests::HonestBackend;

TEST_CASE("memory_cases: a backend that is right passes") {
  CHECK_PASSES(HonestBackend, names_stay);
  CHECK_PASSES(HonestBackend, alignments_are_kept);
  CHECK_PASSES(HonestBackend, blocks_are_apart);
  CHECK_PASSES(HonestBackend, too_much_is_refused);
  CHECK_PASSES(HonestBackend, memory_comes_back);
  CHECK_PASSES(HonestBackend, threads_are_apart);
  CHECK_PASSES(HonestBackend, bytes_go_there_and_back);
  CHECK_PASSES(HonestBackend, bytes_move_within);
  CHECK_PASSES(HonestBackend, synchronize_is_ok);
  CHECK_PASSES(HonestBackend, unknown_options_are_refused);
}

TEST_CASE("memory_cases: found: a device that changes") {
  struct Broken final : HonestBackend {
    mutable int32_t calls = 0;
    Device device() const noexcept override { return Device(DeviceType::ExtDev, ++calls); }
  };
  CHECK_FOUND("device(): expected ext_dev:", Broken, names_stay);
}

TEST_CASE("memory_cases: found: an alignment that is forgotten") {
  struct Broken final : HonestBackend {
    void* allocate(size_t nbytes, size_t) noexcept override {
      return HonestBackend::allocate(nbytes, 16);
    }
  };
  CHECK_FOUND("expected a multiple of ", Broken, alignments_are_kept);
}

TEST_CASE("memory_cases: found: an alignment that only the first block has") {
  struct Broken final : HonestBackend {
    unsigned char memory[1 << 20];
    size_t at = (uintptr_t{0} - reinterpret_cast<uintptr_t>(memory)) % 4096;
    void* allocate(size_t nbytes, size_t) noexcept override {
      return memory + std::exchange(at, at + nbytes);
    }
    void deallocate(void*, size_t nbytes) noexcept override { at -= nbytes; }
  };
  CHECK_FOUND("expected a multiple of ", Broken, alignments_are_kept);
}

TEST_CASE("memory_cases: found: blocks that overlap") {
  struct Broken final : HonestBackend {
    unsigned char memory[1 << 20];
    size_t at = 0;
    void* allocate(size_t nbytes, size_t) noexcept override {
      char* const p = reinterpret_cast<char*>(memory) + at;
      at += nbytes / 64 * 64;
      return p;
    }
    void deallocate(void*, size_t) noexcept override {}
  };
  CHECK_FOUND("expected memory of its own", Broken, blocks_are_apart);
}

TEST_CASE("memory_cases: found: a block handed out again while it is in use") {
  struct Broken final : HonestBackend {
    void* last = nullptr;
    bool again = false;
    void* allocate(size_t nbytes, size_t alignment) noexcept override {
      again = !again && last != nullptr && nbytes < 300;
      return again ? last : last = HonestBackend::allocate(nbytes < 300 ? 300 : nbytes, alignment);
    }
    void deallocate(void*, size_t) noexcept override {}
  };
  CHECK_FOUND("that is in use", Broken, blocks_are_apart);
}

TEST_CASE("memory_cases: found: a size that wraps") {
  struct Broken final : HonestBackend {
    void* allocate(size_t nbytes, size_t alignment) noexcept override {
      return HonestBackend::allocate((nbytes + 63) / 64 * 64 % (size_t{1} << 32), alignment);
    }
  };
  CHECK_FOUND("expected nullptr, found memory", Broken, too_much_is_refused);
}

TEST_CASE("memory_cases: found: memory that is never released") {
  struct Broken final : HonestBackend {
    void deallocate(void*, size_t) noexcept override {}
  };
  CHECK_FOUND("found no memory, after 8 times", Broken, memory_comes_back);
}

TEST_CASE("memory_cases: found: memory that is never released, though there is much of it") {
  struct Broken : HonestBackend {
    char* next = reinterpret_cast<char*>(size_t{1} << 40);
    void* allocate(size_t nbytes, size_t) noexcept override {
      return std::exchange(next, next + nbytes);
    }
    void deallocate(void*, size_t) noexcept override {}
  };
  CHECK_FOUND("expected memory that was released to be given again", Broken, memory_comes_back);
  Broken backend;
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

namespace {
/// Hands out the blocks of a list, one after another, without a lock. It waits where the race is,
/// since a test cannot wait for the race.
struct Unlocked final : HonestBackend {
  std::vector<unsigned char> memory = std::vector<unsigned char>(8192 * 1024 + 64);
  std::atomic<size_t> next{0};
  void* allocate(size_t nbytes, size_t alignment) noexcept override {
    if (nbytes > 1024 || alignment > 64) return nullptr;
    const size_t taken = next;
    std::this_thread::sleep_for(std::chrono::microseconds(1));
    next = taken + 1;
    const uintptr_t first = (reinterpret_cast<uintptr_t>(memory.data()) + 63) / 64 * 64;
    return reinterpret_cast<void*>(first + taken % 8192 * 1024);
  }
  void deallocate(void*, size_t) noexcept override {}
};
}  // namespace

TEST_CASE("memory_cases: found: a backend without a lock") {
  CHECK_FOUND("two threads at once: expected in a block what its thread wrote", Unlocked,
              threads_are_apart);
}

TEST_CASE("memory_cases: a backend for one thread is not asked by two") {
  alignas(64) static unsigned char buffer[1 << 16];
  static ArenaBackend arena(buffer, sizeof buffer);
  struct Wrapper final : WrapperBackend {
    Wrapper() : WrapperBackend(arena) {}
    const char* name() const noexcept override { return "wrapper"; }
  };
  CHECK_PASSES(Wrapper, threads_are_apart);
  CHECK(arena.high_water() == 0);
}

TEST_CASE("memory_cases: found: a copy that is a byte short") {
  struct Broken final : HonestBackend {
    Error copy_from_host(void* dst, const void* src, size_t nbytes) override {
      return HonestBackend::copy_from_host(dst, src, nbytes - 1);
    }
  };
  CHECK_FOUND("copy_from_host of ", Broken, bytes_go_there_and_back);
}

TEST_CASE("memory_cases: found: an upload that reads the host's memory later") {
  struct Broken final : HonestBackend {
    void* to = nullptr;
    const void* from = nullptr;
    size_t size = 0;
    void finish() {
      if (to != nullptr) std::memcpy(to, from, size);
      to = nullptr;
    }
    Error copy_from_host(void* dst, const void* src, size_t nbytes) override {
      finish();
      to = dst;
      from = src;
      size = nbytes;
      return Error::Ok;
    }
    Error copy_to_host(void* dst, const void* src, size_t nbytes) override {
      finish();
      return HonestBackend::copy_to_host(dst, src, nbytes);
    }
  };
  CHECK_FOUND("copy_from_host of ", Broken, bytes_go_there_and_back);
}

TEST_CASE("memory_cases: found: offsets rounded to words") {
  struct Broken final : HonestBackend {
    Error copy_to_host(void* dst, const void* src, size_t nbytes) override {
      const uintptr_t word = reinterpret_cast<uintptr_t>(src) & ~uintptr_t{3};
      return HonestBackend::copy_to_host(dst, reinterpret_cast<const void*>(word), nbytes);
    }
  };
  CHECK_FOUND("copy_to_host of ", Broken, bytes_go_there_and_back);
}

TEST_CASE("memory_cases: found: a download of whole words") {
  struct Broken final : HonestBackend {
    Error copy_to_host(void* dst, const void* src, size_t nbytes) override {
      return HonestBackend::copy_to_host(dst, src, (nbytes + 3) / 4 * 4);
    }
  };
  CHECK_FOUND("wrote the host's memory beyond", Broken, bytes_go_there_and_back);
}

TEST_CASE("memory_cases: found: a copy_within that moves nothing") {
  struct Broken final : HonestBackend {
    Error copy_within(void*, const void*, size_t) override { return Error::Ok; }
  };
  CHECK_FOUND("copy_within of ", Broken, bytes_move_within);
}

TEST_CASE("memory_cases: found: a synchronize() that fails") {
  struct Broken final : HonestBackend {
    Error synchronize() override { return set_error(Error::AccessFailed, "the queue is lost"); }
  };
  CHECK_FOUND("the queue is lost", Broken, synchronize_is_ok);
}

TEST_CASE("memory_cases: found: an init() that takes any option") {
  struct Broken final : HonestBackend {
    Error init(const BackendOptions&) override { return Error::Ok; }
  };
  CHECK_FOUND("expected InvalidArgument, found Ok", Broken, unknown_options_are_refused);
}
