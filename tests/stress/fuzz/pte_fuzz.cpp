// SPDX-License-Identifier: MIT
// ExecuTorch's programs through ExecuTorchModule: files of any content are loaded and described, and programs as they
// were exported are run on any inputs, with any outputs set.
//
// No changed program is run. When the adapter loads a program it has ExecuTorch verify it
// (Program::Verification::InternalConsistency), which 1.5.1 survives for any bytes. That does not verify instructions:
// running changed ones sometimes ends in a segmentation fault or an abort of the runtime. In programs that run, only the
// constants behind the program are changed.
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
using fuzz::Numbers;

/// Replaces ExecuTorch's, which would write a line about every error.
void et_pal_emit_log_message(et_timestamp_t, et_pal_log_level_t, const char*, const char*, size_t,
                             const char*, size_t) {}

namespace {

struct Program {
  std::string name;
  Bytes bytes;
  size_t code;  // bytes of the flatbuffer; what follows are constants
};

std::vector<Program> read_programs() {
  std::vector<Program> programs;
  for (const char* name : {"add.pte", "add_unplanned.pte", "aliasing.pte", "aliasing_unplanned.pte",
                           "branch.pte", "fails.pte", "layouts.pte", "methods.pte", "missing.pte",
                           "state.pte", "state_unplanned.pte", "types.pte", "digits.pte"}) {
    const std::string path =
        name == std::string("digits.pte") ? tests::digits_path(name) : tests::model_path(name);
    Program program{name, Bytes(std::filesystem::file_size(path)), 0};
    std::FILE* const file = std::fopen(path.c_str(), "rb");
    FUZZ_CHECK(file != nullptr);
    FUZZ_CHECK(std::fread(program.bytes.data(), 1, program.bytes.size(), file) ==
               program.bytes.size());
    std::fclose(file);
    program.code = program.bytes.size();
    if (std::memcmp(&program.bytes[8], "eh00", 4) == 0) {
      uint64_t code = 0;
      std::memcpy(&code, &program.bytes[16], sizeof code);
      program.code = static_cast<size_t>(code);
    }
    programs.push_back(program);
  }
  return programs;
}

/// A program's bytes, aligned as they have to be.
Tensor in_memory(const Bytes& bytes) {
  const TensorPtr tensor = empty({static_cast<int64_t>(bytes.size())}, ScalarType::Byte);
  std::copy(bytes.begin(), bytes.end(), tensor->mutable_data_ptr<uint8_t>());
  return *tensor;
}

/// Changes some bytes from `begin` on.
void change(fuzz::Input& in, Bytes& bytes, size_t begin) {
  constexpr int32_t kEdges[] = {0, 1, -1, INT32_MAX, INT32_MIN, 65536, 127, 4};
  for (size_t n = in.choose(6); n > 0 && begin + 4 <= bytes.size(); --n) {
    const size_t at = begin + in.take<uint16_t>() % (bytes.size() - begin - 3);
    switch (in.choose(4)) {
      case 0: bytes[at] = in.take<uint8_t>(); break;
      case 1: bytes[at] = static_cast<uint8_t>(bytes[at] ^ 1u << in.choose(8)); break;
      case 2: std::memcpy(&bytes[at], &kEdges[in.choose(std::size(kEdges))], 4); break;
      default:
        std::copy_n(&bytes[begin + in.take<uint16_t>() % (bytes.size() - begin - 3)], 4,
                    &bytes[at]);
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

void load_changed(fuzz::Input& in, const Program& program) {
  static const int descriptor = ::memfd_create("pte", MFD_CLOEXEC);
  Bytes bytes = program.bytes;
  change(in, bytes, 0);
  if (in.choose(4) == 0) bytes.resize(in.take<uint16_t>() % (bytes.size() + 16));
  // The file says how much memory the program plans to use, which may be gigabytes.
  static std::vector<unsigned char> room(size_t{1} << 20);
  const auto describe_with = [&](const auto& source) {
    ArenaBackend memory(room.data(), room.size());
    ExecuTorchModule module(source, memory);
    return describe(module);
  };
  const std::string said = describe_with(in_memory(bytes));
  if (in.choose(8) != 0) return;
  FUZZ_CHECK(::ftruncate(descriptor, 0) == 0);
  FUZZ_CHECK(::pwrite(descriptor, bytes.data(), bytes.size(), 0) ==
             static_cast<ssize_t>(bytes.size()));
  FUZZ_CHECK(describe_with("/proc/self/fd/" + std::to_string(descriptor)) == said);
}

/// A tensor like the spec says, or another one, over a block of its own.
TensorPtr take_tensor(fuzz::Input& in, const TensorSpec& spec, std::vector<fuzz::Block>& blocks) {
  Numbers sizes(spec.sizes.begin(), spec.sizes.end());
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] < 0)
      sizes[d] = spec.max_sizes.empty() ? 1 : 1 + static_cast<int64_t>(in.choose(4));
  }
  if (in.choose(6) == 0) sizes = fuzz::take_sizes(in);
  if (in.choose(6) == 0 && !sizes.empty())
    sizes[in.choose(sizes.size())] = static_cast<int64_t>(in.choose(20));
  const ScalarType type = in.choose(8) == 0 ? fuzz::take_type(in).type : spec.type;
  const Numbers strides =
      in.choose(4) == 0 ? fuzz::take_strides(in, sizes) : fuzz::dense_strides(sizes);
  const int64_t size = fuzz::find_type(type)->size;
  const fuzz::NaiveShape shape = fuzz::compute(sizes, strides, size);
  const fuzz::Wide reach = fuzz::Wide{shape.highest} - shape.lowest + 1;
  if (!shape.valid || reach * size > 100000 || shape.numel > 100000) return nullptr;
  blocks.emplace_back(static_cast<size_t>(reach * size), in.take<uint8_t>());
  if (type == ScalarType::Float) {
    for (int64_t i = 0; i < static_cast<int64_t>(reach); ++i) {
      const auto value = static_cast<float>((i * 7 + in.take<int8_t>()) % 50);
      std::memcpy(blocks.back().data() + i * 4, &value, 4);
    }
  }
  return from_blob(blocks.back().data() - shape.lowest * size, sizes, strides, type,
                   static_cast<TensorShapeDynamism>(in.choose(3)));
}

void run_unchanged(fuzz::Input& in, const Program& program) {
  Bytes bytes = program.bytes;
  if (in.flip()) change(in, bytes, program.code);
  std::vector<fuzz::Block> blocks;
  ExecuTorchModule module(in_memory(bytes));
  const auto names = module.method_names();
  FUZZ_CHECK(names.ok());
  const std::string& name = names->at(in.choose(names->size()));
  const auto meta = module.method_meta(name);
  if (!meta.ok()) return;  // an operator is missing
  if (program.name == "add_unplanned.pte") {
    const TensorPtr x = ones({static_cast<int64_t>(1 + in.choose(16)), 3});
    const auto sum = module.forward({x, x});
    FUZZ_CHECK(sum.ok() && to_binary(sum->at(0).toTensor()) == to_binary(full(x->sizes(), 2.0f)));
  }
  for (size_t turn = 1 + in.choose(3); turn > 0; --turn) {
    std::vector<EValue> inputs;
    for (const ValueSpec& spec : meta->inputs) {
      const size_t other = in.choose(16);
      if (other == 0) {
        inputs.push_back(in.flip() ? EValue(in.take<int64_t>()) : EValue("text"));
      } else if (spec.kind == ValueKind::Tensor) {
        inputs.push_back(take_tensor(in, spec.tensor, blocks));
      } else {
        const EValue exported[] = {0.5, 3, true, EValue()};
        inputs.push_back(exported[in.choose(4)]);
      }
    }
    if (in.choose(16) == 0) inputs.push_back(1);
    for (size_t i = 0; i < meta->outputs.size(); ++i) {
      if (in.choose(3) != 0 || meta->outputs[i].kind != ValueKind::Tensor) continue;
      const bool shares = in.choose(4) == 0 && !inputs.empty() && inputs[0].isTensor() &&
                          inputs[0].toTensor().defined();
      const TensorPtr target = shares ? make_tensor_ptr(inputs[0].toTensor())
                                      : take_tensor(in, meta->outputs[i].tensor, blocks);
      static_cast<void>(module.set_output(name, target, i));  // which may refuse it
    }
    bool accepted = inputs.size() <= meta->inputs.size();
    for (size_t i = 0; i < meta->inputs.size() && accepted; ++i) {
      accepted = meta->inputs[i].check(inputs[i]) == Error::Ok;
    }
    // Copied before the run, as an output may be written there.
    std::vector<Bytes> operands;
    for (const EValue& input : inputs) {
      if (input.isTensor() && input.toTensor().defined())
        operands.push_back(to_binary(input.toTensor()));
    }
    const Error error = module.run(name, inputs);
    FUZZ_CHECK(error != Error::Ok || accepted);
    if (error != Error::Ok) continue;
    const auto outputs = module.get_outputs(name);
    FUZZ_CHECK(outputs.ok() && outputs->size() == meta->outputs.size());
    for (size_t i = 0; i < outputs->size(); ++i) {
      FUZZ_CHECK(meta->outputs[i].check(outputs->at(i)) == Error::Ok);
    }
    // Other shapes are broadcast.
    if (program.name.substr(0, 3) != "add" ||
        inputs[0].toTensor().sizes() != inputs[1].toTensor().sizes()) {
      continue;
    }
    const Bytes sum = to_binary(outputs->at(0).toTensor());
    FUZZ_CHECK(sum.size() == operands[0].size());
    for (size_t at = 0; at < sum.size(); at += 4) {
      float x = 0;
      float y = 0;
      float z = 0;
      std::memcpy(&x, &operands[0][at], 4);
      std::memcpy(&y, &operands[1][at], 4);
      std::memcpy(&z, &sum[at], 4);
      FUZZ_CHECK(z == x + y);
    }
  }
}

}  // namespace

// A promise of docs/guarantees.md.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::vector<Program> programs = read_programs();
  fuzz::Input in(data, size);
  const Program& program = programs[in.choose(programs.size())];
  if (in.flip()) {
    load_changed(in, program);
  } else {
    run_unchanged(in, program);
  }
  return 0;
}
