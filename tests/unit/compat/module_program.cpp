// SPDX-License-Identifier: MIT
// A program in the words of ExecuTorch's Module: for each model file of a folder it prints what the
// methods take and give, what they answer, and error codes. It is built against ExecuTorch and
// against tenon; both must print the same. What differs intentionally is left out where it says so,
// and is in docs/executorch.md.

#include <executorch/extension/data_loader/buffer_data_loader.h>
#include <executorch/extension/data_loader/file_data_loader.h>
#include <executorch/extension/data_loader/mmap_data_loader.h>
#include <executorch/extension/module/module.h>
#include <executorch/extension/tensor/tensor.h>
#include <executorch/runtime/platform/runtime.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

using namespace ::executorch::extension;
using executorch::aten::ScalarType;
using executorch::aten::Tensor;
using executorch::runtime::Error;
using executorch::runtime::EValue;
using executorch::runtime::MethodMeta;
using executorch::runtime::Result;
using executorch::runtime::Tag;
using executorch::runtime::TensorInfo;

namespace {

using Values = std::vector<EValue>;

int number(Error error) { return static_cast<int>(error); }

void print(const char* name, Error error) { std::printf("%s: error %d\n", name, number(error)); }

void print(const char* name, const EValue& value) {
  std::printf("%s:", name);
  if (value.isTensor()) {
    const Tensor& tensor = value.toTensor();
    std::printf(" type %d, sizes", static_cast<int>(tensor.scalar_type()));
    for (auto size : tensor.sizes()) std::printf(" %d", static_cast<int>(size));
    std::printf(", order");
    for (auto d : tensor.dim_order()) std::printf(" %d", static_cast<int>(d));
    std::printf(", bytes");
    const auto* bytes = static_cast<const unsigned char*>(tensor.const_data_ptr());
    for (size_t i = 0; i < tensor.nbytes(); ++i) std::printf(" %02x", bytes[i]);
  } else if (value.isInt()) {
    std::printf(" int %lld", static_cast<long long>(value.toInt()));
  } else if (value.isDouble()) {
    std::printf(" double %g", value.toDouble());
  } else if (value.isBool()) {
    std::printf(" bool %d", value.toBool());
  } else if (value.isString()) {
    const auto text = value.toString();
    std::printf(" text %.*s", static_cast<int>(text.size()), text.data());
  } else {
    std::printf(" %s", value.isNone() ? "none" : "a list");
  }
  std::printf("\n");
}
void print(const char* name, const Result<Values>& values) {
  if (!values.ok()) return print(name, values.error());
  std::printf("%s: %zu outputs\n", name, values->size());
  for (const EValue& value : *values) print("  output", value);
}
void print(const char* name, const Result<EValue>& value) {
  value.ok() ? print(name, *value) : print(name, value.error());
}

void print_info(const char* role, size_t index, const Result<Tag>& tag,
                const Result<TensorInfo>& info) {
  std::printf("  %s %zu: ", role, index);
  tag.ok() ? std::printf("tag %d", static_cast<int>(*tag))
           : std::printf("tag error %d", number(tag.error()));
  if (!info.ok()) {
    std::printf(", tensor error %d\n", number(info.error()));
    return;
  }
  // Left out: is_memory_planned(), which tenon does not know.
  std::printf(", type %d, %zu bytes, name \"%.*s\", sizes", static_cast<int>(info->scalar_type()),
              info->nbytes(), static_cast<int>(info->name().size()), info->name().data());
  for (auto size : info->sizes()) std::printf(" %d", static_cast<int>(size));
  std::printf(", order");
  for (auto d : info->dim_order()) std::printf(" %d", static_cast<int>(d));
  std::printf("\n");
}
void print_meta(const MethodMeta& meta) {
  std::printf("  name %s, %zu inputs, %zu outputs\n", meta.name(), meta.num_inputs(),
              meta.num_outputs());
  for (size_t i = 0; i <= meta.num_inputs(); ++i) {  // one too many
    print_info("input", i, meta.input_tag(i), meta.input_tensor_meta(i));
  }
  for (size_t i = 0; i <= meta.num_outputs(); ++i) {
    print_info("output", i, meta.output_tag(i), meta.output_tensor_meta(i));
  }
}

/// A tensor of small numbers that differ: `first`, `first` + 1, up to 6 more.
TensorPtr make_tensor(std::vector<executorch::aten::SizesType> sizes, ScalarType type, int first,
                      std::vector<executorch::aten::DimOrderType> dim_order = {}) {
  size_t count = 1;
  for (auto size : sizes) count *= static_cast<size_t>(size);
  if (type == ScalarType::Bool) {
    std::vector<uint8_t> bytes(count);
    for (size_t i = 0; i < count; ++i) bytes[i] = i % 2 == 0;
    return make_tensor_ptr(std::move(sizes), std::move(bytes), std::move(dim_order), {}, type);
  }
  std::vector<int32_t> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = first + static_cast<int32_t>(i % 7);
  return make_tensor_ptr(std::move(sizes), std::move(values), std::move(dim_order), {}, type);
}
TensorPtr make_tensor(const TensorInfo& info, int first) {
  return make_tensor({info.sizes().begin(), info.sizes().end()}, info.scalar_type(), first,
                     {info.dim_order().begin(), info.dim_order().end()});
}

/// Inputs that fit; `kept` owns the tensors.
Values make_inputs(const MethodMeta& meta, std::vector<TensorPtr>& kept) {
  Values values;
  for (size_t i = 0; i < meta.num_inputs(); ++i) {
    const auto tag = meta.input_tag(i);
    const auto info = meta.input_tensor_meta(i);
    if (info.ok()) {
      kept.push_back(make_tensor(*info, static_cast<int>(i)));
      values.emplace_back(kept.back());
    } else if (tag.ok() && *tag == Tag::Double) {
      values.emplace_back(0.5);
    } else if (tag.ok() && *tag == Tag::Int) {
      values.emplace_back(int64_t{3});
    } else if (tag.ok() && *tag == Tag::Bool) {
      values.emplace_back(true);
    } else {
      values.emplace_back();
    }
  }
  return values;
}

/// Memory for outputs that have none in the program.
void give_outputs(Module& module, const std::string& method, const MethodMeta& meta,
                  std::vector<TensorPtr>& kept) {
  for (size_t i = 0; i < meta.num_outputs(); ++i) {
    const auto info = meta.output_tensor_meta(i);
    if (!info.ok()) continue;
    kept.push_back(make_tensor(*info, 0));
    print("  set_output", module.set_output(method, kept.back(), i));
  }
}

void run_method(Module& module, const std::string& method, bool gives_outputs) {
  std::printf("method %s\n", method.c_str());
  const auto meta = module.method_meta(method);
  if (!meta.ok()) return print("  method_meta", meta.error());
  print_meta(*meta);
  std::printf("  loaded %d\n", module.is_method_loaded(method));
  const Error loaded = module.load_method(method);
  print("  load_method", loaded);
  std::printf("  loaded %d\n", module.is_method_loaded(method));
  if (loaded != Error::Ok) return;

  std::vector<TensorPtr> kept;
  Values inputs = make_inputs(*meta, kept);
  if (gives_outputs) give_outputs(module, method, *meta, kept);
  print("  execute", module.execute(method, inputs));
  print("  get_outputs", module.get_outputs(method));
  print("  get", module.get(method, inputs));
  print("  get_output", module.get_output(method, 0));
  print("  get_output beyond", module.get_output(method, meta->num_outputs()));

  // Each input of another kind, dtype and size.
  for (size_t i = 0; i < inputs.size(); ++i) {
    const auto info = meta->input_tensor_meta(i);
    const EValue right = inputs[i];
    std::printf("  input %zu\n", i);
    inputs[i] = EValue(int64_t{7});
    print("  another kind", module.execute(method, inputs).error());
    if (info.ok()) {
      const auto other =
          info->scalar_type() == ScalarType::Float ? ScalarType::Int : ScalarType::Float;
      std::vector<executorch::aten::SizesType> sizes(info->sizes().begin(), info->sizes().end());
      kept.push_back(make_tensor(sizes, other, 0));
      inputs[i] = kept.back();
      print("  another dtype", module.execute(method, inputs).error());
      sizes.push_back(1);
      kept.push_back(make_tensor(sizes, info->scalar_type(), 0));
      inputs[i] = kept.back();
      print("  another rank", module.execute(method, inputs).error());
      sizes.pop_back();
      if (!sizes.empty()) {
        sizes[0] += 1;
        kept.push_back(make_tensor(sizes, info->scalar_type(), 0));
        inputs[i] = kept.back();
        print("  a larger size", module.execute(method, inputs).error());
        print("  set_input of it", module.set_input(method, kept.back(), i));
      }
    }
    inputs[i] = right;
  }
  inputs.emplace_back(1.0);
  print("  one input more", module.execute(method, inputs).error());
  print("  set one more", module.set_inputs(method, inputs));
  inputs.pop_back();
  if (!inputs.empty()) {
    const Values fewer(inputs.begin(), inputs.end() - 1);
    print("  set one fewer", module.set_inputs(method, fewer));
  }
  print("  set_inputs", module.set_inputs(method, inputs));
  print("  run with them", module.execute(method));
  print("  set_input beyond", module.set_input(method, EValue(1.0), inputs.size()));
  print("  set_output beyond",
        module.set_output(method, make_tensor({1}, ScalarType::Float, 0), meta->num_outputs()));
  print("  set_output of a number", module.set_output(method, EValue(1.0), 0));
  print("  set_outputs of none", module.set_outputs(method, Values()));
  // Left out: a larger tensor, and one for an output that has memory in the program.
  const auto output = meta->output_tensor_meta(0);
  if (gives_outputs && output.ok()) {
    const auto small = make_tensor({1}, output->scalar_type(), 0);
    print("  set_output of another size", module.set_output(method, small, 0));
  }
  std::printf("  unload %d\n", module.unload_method(method));
  std::printf("  unload again %d\n", module.unload_method(method));
  std::printf("  loaded %d\n", module.is_method_loaded(method));
  print("  load again", module.load_method(method));
  if (!inputs.empty()) {
    print("  forgot the inputs", module.execute(method).error());
    print("  set the last", module.set_input(method, inputs.back(), inputs.size() - 1));
    inputs.pop_back();
    if (gives_outputs) give_outputs(module, method, *meta, kept);
    print("  and pass the others", module.execute(method, inputs));
  }
}

void run_file(const std::string& folder, const std::string& name) {
  std::printf("file %s\n", name.c_str());
  Module module(folder + "/" + name);
  std::printf("loaded %d\n", module.is_loaded());
  print("load", module.load());
  std::printf("loaded %d\n", module.is_loaded());
  print("load again", module.load());
  const auto found = module.method_names();
  if (!found.ok()) return print("method_names", found.error());
  std::vector<std::string> names(found->begin(), found->end());
  std::sort(names.begin(), names.end());
  std::printf("%zu methods\n", *module.num_methods());
  for (const std::string& method : names) {
    run_method(module, method, name.find("unplanned") != std::string::npos);
  }
  print("load no method", module.load_method("no method"));
  print("method_meta of none", module.method_meta("no method").error());
  print("execute none", module.execute("no method").error());
  print("set_input of none", module.set_input("no method", EValue(1.0), 0));
  print("get_outputs of none", module.get_outputs("no method").error());
}

void run_without_file(const std::string& path) {
  Module module(path);
  print("load", module.load());
  std::printf("loaded %d\n", module.is_loaded());
  print("load_method", module.load_method("forward"));
  print("method_names", module.method_names().error());
  print("num_methods", module.num_methods().error());
  print("method_meta", module.method_meta("forward").error());
  print("forward", module.forward().error());
  print("FileDataLoader", FileDataLoader::from(path.c_str()).error());
  print("MmapDataLoader", MmapDataLoader::from(path.c_str()).error());
}

/// A file that comes and goes.
void run_late_file(const std::string& from, const std::string& path) {
  std::remove(path.c_str());
  Module module(path);
  print("too early", module.load());
  std::ofstream(path, std::ios::binary) << std::ifstream(from, std::ios::binary).rdbuf();
  print("there now", module.load_forward());
  std::printf("loaded %d\n", module.is_loaded());
  std::remove(path.c_str());
}

/// Programs from loaders, and shared ones.
void run_loaders(const std::string& path) {
  const auto x = make_tensor({2, 3}, ScalarType::Float, 1);
  const Values inputs = {x, x};
  std::ifstream file(path, std::ios::binary);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
  alignas(64) static char aligned[1 << 16];
  std::copy(bytes.begin(), bytes.end(), aligned);
  Module in_memory(std::make_unique<BufferDataLoader>(aligned, bytes.size()));
  print("in memory", in_memory.forward(inputs));
  Module cut(std::make_unique<BufferDataLoader>(aligned, size_t{16}));
  std::printf("cut off: %d\n", cut.load() != Error::Ok);

  auto from_file = FileDataLoader::from(path.c_str());
  Module by_file(std::make_unique<FileDataLoader>(std::move(*from_file)));
  print("by a file's loader", by_file.forward(inputs));
  Module mapped(path, Module::LoadMode::Mmap);
  print("mapped", mapped.forward(inputs));

  Module shared(by_file.program());
  std::printf("shared: loaded %d, method %d\n", shared.is_loaded(),
              shared.is_method_loaded("forward"));
  print("shared", shared.forward(inputs));
}

}  // namespace

/// Arguments: the models' folder, a folder for files, the names of models. Left out are models
/// with lists of tensors, which no export makes, and with operators that are missing: there
/// method_meta() fails in tenon, since it loads the method.
int main(int argc, char** argv) {
  executorch::runtime::runtime_init();
  const std::string models = argv[1];
  const std::string folder = argv[2];
  std::printf("no such file\n");
  run_without_file(folder + "/missing/no_such_file.pte");
  std::printf("not a program\n");
  const std::string path = folder + "/not_a_program.pte";
  // Left out: the code when it is shorter than a program's header.
  std::ofstream(path) << "not a program, and longer than the header of one would have been";
  run_without_file(path);
  std::remove(path.c_str());
  run_late_file(models + "/add.pte", folder + "/late.pte");
  run_loaders(models + "/add.pte");
  for (int i = 3; i < argc; ++i) run_file(models, argv[i]);
}
