// SPDX-License-Identifier: MIT
// ExecuTorch's programs through ExecuTorchModule: files of any content are loaded and described.
//
// None is run. When the adapter loads a program it has ExecuTorch verify it
// (Program::Verification::InternalConsistency), which 1.5.1 survives for any bytes. That does not verify instructions:
// running changed ones sometimes ends in a segmentation fault or an abort of the runtime.
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string>

#include <sys/mman.h>
#include <unistd.h>

#include <tenon/interop/executorch.h>
#include <tenon/tenon.h>

#include <executorch/runtime/platform/platform.h>

#include "interop/models.h"
#include "naive.h"

using namespace tenon;
using fuzz::Bytes;

/// Replaces ExecuTorch's, which would write a line about every error.
void et_pal_emit_log_message(et_timestamp_t, et_pal_log_level_t, const char*, const char*, size_t,
                             const char*, size_t) {}

namespace {

std::vector<Bytes> read_programs() {
  std::vector<Bytes> programs;
  for (const char* name : {"add.pte", "add_unplanned.pte", "aliasing.pte", "aliasing_unplanned.pte",
                           "branch.pte", "fails.pte", "layouts.pte", "methods.pte", "missing.pte",
                           "state.pte", "state_unplanned.pte", "types.pte", "digits.pte"}) {
    const std::string path =
        name == std::string("digits.pte") ? tests::digits_path(name) : tests::model_path(name);
    Bytes bytes(std::filesystem::file_size(path));
    std::FILE* const file = std::fopen(path.c_str(), "rb");
    FUZZ_CHECK(file != nullptr && std::fread(bytes.data(), 1, bytes.size(), file) == bytes.size());
    std::fclose(file);
    programs.push_back(bytes);
  }
  return programs;
}

/// A program's bytes, aligned as they have to be.
Tensor in_memory(const Bytes& bytes) {
  const TensorPtr tensor = empty({static_cast<int64_t>(bytes.size())}, ScalarType::Byte);
  std::copy(bytes.begin(), bytes.end(), tensor->mutable_data_ptr<uint8_t>());
  return *tensor;
}

/// Changes some bytes.
void change(fuzz::Input& in, Bytes& bytes) {
  constexpr int32_t kEdges[] = {0, 1, -1, INT32_MAX, INT32_MIN, 65536, 127, 4};
  for (size_t n = in.choose(6); n > 0; --n) {
    const size_t at = in.take<uint16_t>() % (bytes.size() - 3);
    switch (in.choose(4)) {
      case 0: bytes[at] = in.take<uint8_t>(); break;
      case 1: bytes[at] = static_cast<uint8_t>(bytes[at] ^ 1u << in.choose(8)); break;
      case 2: std::memcpy(&bytes[at], &kEdges[in.choose(std::size(kEdges))], 4); break;
      default: std::copy_n(&bytes[in.take<uint16_t>() % (bytes.size() - 3)], 4, &bytes[at]);
    }
  }
}

/// What is said of a program, or of why it is none.
std::string describe(Module& module) {
  const auto names = module.method_names();
  if (!names.ok()) {
    FUZZ_CHECK(module.run("forward") == names.error());  // it is tried again
    return toString(names.error());
  }
  std::string said;
  for (const std::string& name : *names) {
    const Error error = module.load_method(name);
    said += name + ' ' + toString(error) + '\n';
    if (error != Error::Ok) {
      FUZZ_CHECK(*last_error_message() != '\0' && module.method_meta(name).error() != Error::Ok);
      continue;
    }
    const auto meta = module.method_meta(name);
    FUZZ_CHECK(meta.ok() && name == meta->name && meta->knows_inputs && meta->knows_outputs);
    for (const ArrayRef<ValueSpec> specs : {meta->inputs, meta->outputs}) {
      for (const ValueSpec& spec : specs) {
        said += toString(spec.kind);
        said += spec.name();
        const size_t rank = spec.tensor.sizes.size();
        FUZZ_CHECK(spec.tensor.max_sizes.empty() || spec.tensor.max_sizes.size() == rank);
        for (const int64_t size : spec.tensor.sizes) said += ' ' + std::to_string(size);
      }
    }
  }
  return said;
}

}  // namespace

// A promise of docs/guarantees.md.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::vector<Bytes> programs = read_programs();
  fuzz::Input in(data, size);
  static const int descriptor = ::memfd_create("pte", MFD_CLOEXEC);
  Bytes bytes = programs[in.choose(programs.size())];
  const Bytes exported = bytes;
  if (in.flip()) change(in, bytes);
  if (in.choose(4) == 0) bytes.resize(in.take<uint16_t>() % (bytes.size() + 16));
  // The file says how much memory the program plans to use, which may be gigabytes.
  static std::vector<unsigned char> room(size_t{1} << 20);
  const auto describe_with = [&](const auto& source) {
    ArenaBackend memory(room.data(), room.size());
    ExecuTorchModule module(source, memory);
    return describe(module);
  };
  const std::string said = describe_with(in_memory(bytes));
  // An operator of missing.pte is missing; another program wants a delegate that is not linked.
  FUZZ_CHECK(bytes != exported || said.find(" Ok\n") != said.npos || said == "forward NotFound\n" ||
             said == "forward NotSupported\n");
  if (in.choose(8) != 0) return 0;
  FUZZ_CHECK(::ftruncate(descriptor, 0) == 0);
  FUZZ_CHECK(::pwrite(descriptor, bytes.data(), bytes.size(), 0) ==
             static_cast<ssize_t>(bytes.size()));
  FUZZ_CHECK(describe_with("/proc/self/fd/" + std::to_string(descriptor)) == said);
  return 0;
}
