// SPDX-License-Identifier: MIT
#include "tenon/interop/aoti.h"

#include "digits.h"
#include "tenon/backend/arena.h"
#include "tenon/interop/aoti_shim.h"
#include "tenon/tenon.h"

namespace {

void check(tenon::Error error) {
  if (error != tenon::Error::Ok) fail(tenon::last_error_message());
}

// What the model computes between: a handle and the hidden layer.
alignas(64) unsigned char room[32 << 10];

struct Network {
  tenon::ArenaBackend arena{room, sizeof room};
  tenon::AotiModule module;
  tenon::TensorPtr output;

  explicit Network(const char* path) : module(path, &arena) { check(module.load_method()); }
};

Network* network = nullptr;

}  // namespace

void open(const char* path) { network = new Network(path); }

void set_rows(int64_t rows) {
  network->output = tenon::from_blob(scores, {rows, kDigits});
  check(network->module.set_input(tenon::from_blob(images, {rows, 8, 8}), 0));
  check(network->module.set_output(network->output, 0));
}

const float* run() {
  check(network->module.run());
  return scores;
}
