// SPDX-License-Identifier: MIT
#include "tenon/interop/aoti.h"
#include "runtimes.h"
#include "tenon/backend/arena.h"
#include "tenon/interop/aoti_shim.h"

namespace {

/// Room for what the network computes between: a handle and the hidden layer of kMostImages.
struct Room {
  alignas(64) unsigned char bytes[32 << 10];
  tenon::ArenaBackend arena{bytes, sizeof bytes};
};

}  // namespace

std::unique_ptr<tenon::Module> open_aoti(const std::string& folder) {
#if defined(DIGITS_PT2)
  const std::string path = DIGITS_PT2;  // the build made it
  static_cast<void>(folder);
#else
  const std::string path = folder + "/digits.pt2";
#endif
  static Room room;
  return std::make_unique<tenon::AotiModule>(path, &room.arena);
}
