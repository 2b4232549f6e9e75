// SPDX-License-Identifier: MIT
// Conformance cases for a backend's blocks of memory and for copies of bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tenon/backend/backend.h"
#include "tenon/backend/calls.h"
#include "tenon/testing/trial.h"

#if TENON_HAS_THREADS
#include <atomic>
#include <chrono>
#include <thread>
#endif

TENON_BEGIN_NAMESPACE
namespace testing {

/// A block of the backend's memory.
class TrialBlock {
 public:
  TrialBlock(Backend& backend, size_t nbytes, size_t alignment = detail::kDataAlignment) noexcept
      : data_(static_cast<char*>(backend.allocate(nbytes, alignment)), Release{&backend, nbytes}) {}

  char* data() const noexcept { return data_.get(); }
  size_t size() const noexcept { return data_.get_deleter().nbytes; }
  uintptr_t begin() const noexcept { return reinterpret_cast<uintptr_t>(data()); }
  uintptr_t end() const noexcept { return begin() + size(); }

 private:
  struct Release {
    Backend* backend;
    size_t nbytes;
    void operator()(char* data) const noexcept { backend->deallocate(data, nbytes); }
  };
  std::unique_ptr<char, Release> data_;
};

inline std::vector<unsigned char> random_bytes(size_t count, uint64_t seed) {
  Dice dice{seed};
  std::vector<unsigned char> bytes(count);
  for (unsigned char& byte : bytes) byte = static_cast<unsigned char>(dice.between(0, 255));
  return bytes;
}

inline bool write_bytes(Trial& trial, void* to, const std::vector<unsigned char>& bytes) {
  return trial.check_ok(text_of("copy_from_host of ", bytes.size(), " bytes"),
                        detail::upload(trial.backend(), to, bytes.data(), bytes.size()));
}

/// Checks that the memory holds these bytes, and that copy_to_host() writes no other bytes of the
/// host.
inline bool check_bytes(Trial& trial, const std::string& what, const void* from,
                        const std::vector<unsigned char>& expected) {
  constexpr size_t kMargin = 16;
  const size_t count = expected.size();
  std::vector<unsigned char> found(count + 2 * kMargin, 0x5a);
  if (!trial.check_ok(what, detail::download(trial.backend(), &found[kMargin], from, count))) {
    return false;
  }
  for (size_t i = 0; i < found.size(); ++i) {
    const bool is_inside = i - kMargin < count;
    const int wanted = is_inside ? expected[i - kMargin] : 0x5a;
    if (found[i] == wanted) continue;
    return trial.check(false, what.c_str(), is_inside ? "" : ": wrote the host's memory beyond",
                       ": byte ", static_cast<int64_t>(i) - int64_t{kMargin}, " of ", count,
                       ": expected ", wanted, ", found ", int{found[i]});
  }
  return true;
}

inline void names_stay(Trial& trial) {
  Backend& backend = trial.backend();
  const std::string name = backend.name();
  const Device device = backend.device();
  const bool is_opaque = backend.is_opaque();
  const TrialBlock block(backend, 100);
  trial.check(!name.empty() && name == backend.name(), "name(): expected \"", name.c_str(),
              "\" again, found \"", backend.name(), '"');
  trial.check(device == backend.device() && is_opaque == backend.is_opaque(), "device(): expected ",
              device, " and the same is_opaque() again, found ", backend.device());
  Backend& base = backend.base();
  trial.check(&base.base() == &base && base.device() == backend.device(),
              "base(): expected a backend of the same device that wraps none");
}

/// Blocks have any alignment up to that of tensors; a larger alignment is kept or refused. All
/// blocks stay until the end, since the first block in memory may be aligned by chance.
inline void alignments_are_kept(Trial& trial) {
  std::vector<TrialBlock> blocks;
  for (size_t alignment = 1; alignment <= 4096; alignment *= 2) {
    for (size_t nbytes : {size_t{1}, size_t{24}, size_t{1000}, size_t{5000}}) {
      blocks.emplace_back(trial.backend(), nbytes, alignment);
      const TrialBlock& block = blocks.back();
      const bool may_refuse = alignment > detail::kDataAlignment;
      trial.check(block.data() != nullptr || may_refuse, "allocate(", nbytes, ", ", alignment,
                  "): expected memory, found none");
      trial.check(block.begin() % alignment == 0, "allocate(", nbytes, ", ", alignment,
                  "): expected a multiple of ", alignment, ", found an address that is ",
                  block.begin() % alignment, " beyond one");
    }
  }
}

/// Blocks of many sizes do not overlap, whatever was released before.
inline void blocks_are_apart(Trial& trial) {
  Dice dice{trial.traits().seed};
  std::vector<std::pair<TrialBlock, std::vector<unsigned char>>> blocks;
  for (uint64_t i = 0; i < 200; ++i) {
    const bool is_small = dice.between(0, 3) != 0;
    const auto nbytes = static_cast<size_t>(dice.between(1, is_small ? 300 : 9000));
    TrialBlock made(trial.backend(), nbytes);
    if (!trial.check(made.data() != nullptr, "allocate(", nbytes, ", 64): found no memory")) {
      return;
    }
    for (const auto& [other, bytes] : blocks) {
      trial.check(made.end() <= other.begin() || other.end() <= made.begin(), "allocate(", nbytes,
                  ", 64): expected a separate block, found it within a block of ", other.size(),
                  " bytes that is in use");
    }
    blocks.emplace_back(std::move(made), random_bytes(nbytes, i));
    if (!write_bytes(trial, blocks.back().first.data(), blocks.back().second)) return;
    if (dice.between(0, 2) != 0) continue;
    const auto last = static_cast<int64_t>(blocks.size()) - 1;
    std::swap(blocks[static_cast<size_t>(dice.between(0, last))], blocks.back());
    blocks.pop_back();
  }
  for (const auto& [block, bytes] : blocks) {
    if (!check_bytes(trial, "a block, written before others", block.data(), bytes)) return;
  }
}

inline void too_much_is_refused(Trial& trial) {
  for (size_t nbytes : {SIZE_MAX, SIZE_MAX - 63, SIZE_MAX - 4096, size_t{PTRDIFF_MAX}}) {
    const TrialBlock block(trial.backend(), nbytes);
    trial.check(block.data() == nullptr, "allocate(", nbytes,
                ", 64): expected nullptr, found memory");
  }
}

/// Released memory is used again: otherwise a small memory runs out; in a large memory addresses
/// repeat. Sanitizers hold back some 256 MiB of freed memory, so a repetition can take many rounds.
inline void memory_comes_back(Trial& trial) {
  const size_t nbytes = trial.traits().largest / 2;
  bool again = !trial.traits().reuses_addresses;
  std::set<uintptr_t> seen;
  for (size_t i = 0; i < 32 || (!again && i * nbytes < size_t{1} << 30); ++i) {
    const TrialBlock block(trial.backend(), nbytes);
    const TrialBlock another(trial.backend(), nbytes);
    if (!trial.check(block.data() != nullptr && another.data() != nullptr, "allocate(", nbytes,
                     ", 64): found no memory, after ", i, " times two blocks that were released")) {
      return;
    }
    again = !seen.insert(block.begin()).second || !seen.insert(another.begin()).second || again;
  }
  trial.check(again, "deallocate(): expected released memory to be allocated again, found ",
              seen.size(), " blocks at addresses of their own; if those are made up, set ",
              "BackendTraits::reuses_addresses to false");
}

/// Two threads that allocate, write, read and release at once do not get each other's memory.
inline void threads_are_apart(Trial& trial) {
#if TENON_HAS_THREADS
  const detail::BackendState* const state = detail::BackendAccess::state(trial.base());
  if (state == nullptr || state->one_thread) return;
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> arrived{0};
  std::string faults[2];
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(300);
  const auto work = [&](uint64_t thread) {
    Backend& backend = trial.backend();
    // Both threads take each step at the same time, and neither reads before both have written.
    auto meet = [&, count = uint64_t{0}]() mutable {
      count += 2;
      ++arrived;
      while (arrived < count && !stop) std::this_thread::yield();
    };
    for (uint64_t round = 0; !stop; ++round) {
      meet();
      std::vector<TrialBlock> blocks;
      for (uint64_t i = 0; i < 64; ++i) blocks.emplace_back(backend, i % 3 == 0 ? 1000 : 64);
      for (const bool reads : {false, true}) {
        meet();
        uint64_t mark = round << 32 | thread;
        for (const TrialBlock& block : blocks) {
          uint64_t found = mark += 2;
          if (!faults[thread].empty()) break;
          const Error error = block.data() == nullptr
                                  ? detail::fail(Error::OutOfMemory, "allocate() found no memory")
                              : reads
                                  ? detail::download(backend, &found, block.data(), sizeof found)
                                  : detail::upload(backend, block.data(), &mark, sizeof mark);
          if (found != mark) faults[thread] = "expected in a block what its thread wrote";
          if (error != Error::Ok) faults[thread] = last_error_message();
        }
      }
      const bool is_late = round == 5000 || std::chrono::steady_clock::now() > end;
      if (is_late || !faults[thread].empty()) stop = true;
    }
  };
  std::thread other(work, 1);
  work(0);
  other.join();
  for (const std::string& fault : faults) {
    if (!fault.empty()) trial.fail("two threads at once: " + fault);
  }
#else
  static_cast<void>(trial);
#endif
}

inline void bytes_go_there_and_back(Trial& trial) {
  const TrialBlock block(trial.backend(), 5000);
  if (!trial.check(block.data() != nullptr, "allocate(5000, 64): found no memory")) return;
  std::vector<unsigned char> expected = random_bytes(5000, 1);
  if (!write_bytes(trial, block.data(), expected)) return;
  Dice dice{trial.traits().seed};
  for (int i = 0; i < 60; ++i) {
    const auto offset = static_cast<size_t>(dice.between(0, 99));
    const auto count = static_cast<size_t>(dice.between(1, i < 40 ? 40 : 4900));
    std::vector<unsigned char> part = random_bytes(count, static_cast<uint64_t>(i));
    std::memcpy(&expected[offset], part.data(), count);
    if (!write_bytes(trial, block.data() + offset, part)) return;
    std::memset(part.data(), 0, count);  // copy_from_host() has returned: host memory may change
    const auto start = static_cast<size_t>(dice.between(0, 50));
    std::memcpy(part.data(), &expected[start], count);
    if (!check_bytes(trial, text_of("copy_from_host of ", count, " bytes at ", offset),
                     block.data(), expected) ||
        !check_bytes(trial, text_of("copy_to_host of ", count, " bytes at ", start),
                     block.data() + start, part)) {
      return;
    }
  }
}

inline void bytes_move_within(Trial& trial) {
  constexpr size_t kSize = 4000;
  const TrialBlock from(trial.backend(), kSize);
  const TrialBlock to(trial.backend(), kSize);
  if (from.data() == nullptr || to.data() == nullptr) return trial.fail("found no memory");
  const std::vector<unsigned char> source = random_bytes(kSize, 3);
  std::vector<unsigned char> expected = random_bytes(kSize, 4);
  if (!write_bytes(trial, from.data(), source) || !write_bytes(trial, to.data(), expected)) return;
  Dice dice{trial.traits().seed};
  for (int i = 0; i <= 40; ++i) {
    const bool is_inside = i == 40;  // source and destination in one block
    const auto dst = static_cast<size_t>(is_inside ? 0 : dice.between(0, 999));
    const auto src = static_cast<size_t>(is_inside ? 2001 : dice.between(0, 999));
    const auto count = static_cast<size_t>(is_inside ? 1999 : dice.between(1, i < 20 ? 20 : 3000));
    const char* const origin = (is_inside ? to : from).data() + src;
    std::memcpy(&expected[dst], (is_inside ? expected : source).data() + src, count);
    const Error error = detail::call_backend(trial.backend(), "copy_within", [&] {
      return trial.backend().copy_within(to.data() + dst, origin, count);
    });
    const std::string what = text_of("copy_within of ", count, " bytes from ", src, " to ", dst,
                                     is_inside ? " of the same block" : "");
    if (!trial.check_ok(what, error) || !check_bytes(trial, what, to.data(), expected)) return;
  }
  check_bytes(trial, "the source of copy_within", from.data(), source);
}

inline void synchronize_is_ok(Trial& trial) {
  trial.check_ok("synchronize", synchronize(trial.backend()));
}

inline void unknown_options_are_refused(Trial& trial) {
  const auto init = [&](const BackendOptions& options) {
    return detail::call_backend(trial.backend(), "init",
                                [&] { return trial.backend().init(options); });
  };
  const Error found = init({{"no backend has an option of this name", 1}});
  trial.check(found == Error::InvalidArgument,
              "init() with an unknown option: expected InvalidArgument, found ", toString(found));
  trial.check_ok("init({})", init({}));
}

}  // namespace testing
TENON_END_NAMESPACE
