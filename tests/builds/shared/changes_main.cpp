// SPDX-License-Identifier: MIT
// What a library does with the program's objects leaves no pointer to its code there: each change is
// made to each kind of object by a library that is then unloaded; the program goes on to use the
// object, and drops it.
//
// usage: PROGRAM LIBRARY
#include <dlfcn.h>

#include <cstring>
#include <functional>
#include <memory_resource>

#include "../odr/check.h"
#include "changes.h"

namespace {

using namespace tenon;

constexpr auto kDynamic = TensorShapeDynamism::DYNAMIC;
const char* path;
const char* at = "";
const char* kind = "";

#define CHANGE_CHECK(...)                                           \
  do {                                                              \
    if (!(__VA_ARGS__)) std::fprintf(stderr, "%s, %s\n", at, kind); \
    ODR_CHECK(__VA_ARGS__);                                         \
  } while (false)

/// Opens the library, calls f(its changes), and unloads it.
template <class F>
void in_library(const F& f) {
  void* const handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  ODR_CHECK(handle != nullptr);
  f(*static_cast<const Changes*>(dlsym(handle, "changes")));
  ODR_CHECK(dlclose(handle) == 0);
  ODR_CHECK(dlopen(path, RTLD_NOW | RTLD_NOLOAD) == nullptr);
}
Changes counts() {
  Changes found;
  in_library([&](const Changes& changes) { found = changes; });
  return found;  // only its sizes may be asked for
}

float lent[200000];
int released;
void release(void* p) noexcept {
  ++released;
  std::free(p);
}

/// The program's backends, which must have all of their memory back in the end.
struct Backends {
  std::vector<char> buffer = std::vector<char>(size_t{1} << 22);
  std::pmr::unsynchronized_pool_resource resource;
  CpuBackend cpu;
  ArenaBackend arena{buffer.data(), buffer.size() / 2};
  ArenaBackend pooled{buffer.data() + buffer.size() / 2, buffer.size() / 2};
  PmrBackend pmr{&resource};
  PoolBackend pool{cpu};
  PoolBackend pool_of_arena{pooled};
  TrackingBackend tracker{pool};
  ExprBackend expr;

  std::vector<Backend*> all() { return {&arena, &pmr, &pool, &pool_of_arena, &tracker, &expr}; }
};

struct Kind {
  const char* name;
  std::function<TensorPtr(Backends&, int64_t count)> make;
};
TensorPtr made_in(Backend& backend, int64_t count) {
  return full({count}, 1, ScalarType::Float, kDynamic, backend);
}
void* block_of(int64_t count) { return std::calloc(static_cast<size_t>(count), sizeof(float)); }
const Kind kinds[] = {
    {"the heap", [](Backends&, int64_t n) { return full({n}, 1, ScalarType::Float, kDynamic); }},
    {"an arena", [](Backends& b, int64_t n) { return made_in(b.arena, n); }},
    {"a pool", [](Backends& b, int64_t n) { return made_in(b.pool, n); }},
    {"a pool of an arena", [](Backends& b, int64_t n) { return made_in(b.pool_of_arena, n); }},
    {"a pmr resource", [](Backends& b, int64_t n) { return made_in(b.pmr, n); }},
    {"a tracker", [](Backends& b, int64_t n) { return made_in(b.tracker, n); }},
    {"expressions", [](Backends& b, int64_t n) { return made_in(b.expr, n); }},
    {"a container",
     [](Backends&, int64_t n) {
       return make_tensor_ptr({n}, std::vector<float>(static_cast<size_t>(n), 1), kDynamic);
     }},
    {"a container in an arena's scope",
     [](Backends& b, int64_t n) {
       const BackendScope scope(b.arena);
       return make_tensor_ptr({n}, std::vector<float>(static_cast<size_t>(n), 1), kDynamic);
     }},
    {"adopted",
     [](Backends&, int64_t n) {
       return from_blob(block_of(n), {n}, ScalarType::Float, release, kDynamic);
     }},
    {"adopted, with a large deleter",
     [](Backends&, int64_t n) {
       const auto large = [padding = std::array<void*, 8>()](void* p) noexcept {
         static_cast<void>(padding);
         release(p);
       };
       return from_blob(block_of(n), {n}, ScalarType::Float, large, kDynamic);
     }},
    {"adopted in an arena",
     [](Backends& b, int64_t n) {
       return from_blob(block_of(n), {n}, ScalarType::Float, release, kDynamic, b.arena);
     }},
    {"adopted in a pool",
     [](Backends& b, int64_t n) {
       return from_blob(block_of(n), {n}, ScalarType::Float, release, kDynamic, b.pool);
     }},
    {"adopted, with an owner",
     [](Backends& b, int64_t n) -> TensorPtr {
       return for_blob(block_of(n), {n})
           .type(ScalarType::Float)
           .deleter(release)
           .owner(std::make_shared<int>(1))
           .dynamism(kDynamic)
           .backend(b.pmr);
     }},
    {"borrowed", [](Backends&, int64_t n) { return from_blob(lent, {n}, kDynamic); }},
    {"borrowed in an arena",
     [](Backends& b, int64_t n) { return from_blob(lent, {n}, kDynamic, b.arena); }},
    {"a view of an arena's",
     [](Backends& b, int64_t n) {
       return make_tensor_ptr(slice(made_in(b.arena, n + 1), 0, 1, n + 1));
     }},
    {"of a Blob",
     [](Backends& b, int64_t n) { return from_blob(to_blob(made_in(b.pool, n)), kDynamic); }},
    {"of DLPack",
     [](Backends& b, int64_t n) { return from_dlpack(to_dlpack(made_in(b.pmr, n))); }}};

void use(const TensorPtr& t) {
  static_cast<void>(tenon::to_string(t));
  static_cast<void>(try_clone_tensor_ptr(t));
  static_cast<void>(fill_(t, 2));
  static_cast<void>(try_to_blob(t));
  if (resize_tensor_ptr(t, {7000}) == Error::Ok) CHANGE_CHECK(fill_(t, 3) == Error::Ok);
  static_cast<void>(resize_tensor_ptr(t, {20000}));
  static_cast<void>(reserve_tensor_ptr(t, 200000));
}

// [threads][the program's tensors and backends that such a library used]
// A promise of docs/guarantees.md.
void change_tensors(size_t count) {
  for (size_t i = 0; i < count; ++i) {
    for (const int64_t n : {4, 1000}) {  // beside the metadata, and in a block
      Backends backends;
      released = 0;
      int adopted = 0;
      std::vector<TensorPtr> tensors;
      for (const Kind& row : kinds) {
        adopted += std::strncmp(row.name, "adopted", 7) == 0;
        tensors.push_back(row.make(backends, n));
      }
      const Others others{*ones({n}, ScalarType::Float), lent + 100000};
      in_library([&](const Changes& changes) {
        static std::string name;
        at = (name = changes.tensor[i].name).c_str();
        for (size_t k = 0; k < tensors.size(); ++k) {
          kind = kinds[k].name;
          changes.tensor[i].apply(tensors[k], others);
        }
      });
      for (size_t k = 0; k < tensors.size(); ++k) {
        kind = kinds[k].name;
        use(tensors[k]);
        tensors[k].reset();
      }
      CHANGE_CHECK(released == adopted);
      for (Backend* backend : backends.all()) {
        kind = backend->name();
        CHANGE_CHECK(backend->live_blocks() == 0);
      }
    }
  }
}

// [threads][the program's tensors and backends that such a library used]
void change_modules(size_t count) {
  const auto add = [](Span<const EValue> in, Span<EValue> out) {
    const auto from = !in.empty() && in[0].isTensor() ? in[0].toTensor() : *ones({4});
    if (!out[0].isTensor()) out[0] = make_tensor({0.0f, 0.0f, 0.0f, 0.0f});
    Tensor to = out[0].toTensor();
    static_cast<void>(resize_tensor(to, from.sizes()));
    return copy_(to, from);
  };
  const auto give = [](Span<const EValue> in) {
    return !in.empty() && in[0].isTensor() ? clone_tensor_ptr(in[0].toTensor()) : ones({4});
  };
  for (size_t i = 0; i < count; ++i) {
    for (int row = 0; row < 6; ++row) {
      Backends backends;
      TensorSpec open{{-1}, ScalarType::Float};
      open.max_sizes = {100};
      const std::unique_ptr<Module> module = [&]() -> std::unique_ptr<Module> {
        switch (row) {
          case 0: return std::make_unique<FunctionModule>(add);
          case 1: return std::make_unique<FunctionModule>(give);
          case 2: return std::make_unique<FunctionModule>(add, open, open);
          case 3: return std::make_unique<FunctionModule>(give, open, open);
          case 4: return std::make_unique<FunctionModule>(add, open, open, backends.arena);
          default: return std::make_unique<FunctionModule>(give, backends.pool);
        }
      }();
      TensorPtr set = full({4}, 1, ScalarType::Float, kDynamic);
      TensorPtr input = full({4}, 5, ScalarType::Float, kDynamic, backends.pmr);
      in_library([&](const Changes& changes) {
        static std::string name;
        at = (name = changes.module[i].name).c_str();
        changes.module[i].apply(*module, set, input);
      });
      kind = "a module";
      static_cast<void>(module->get_outputs());
      static_cast<void>(module->method_meta());
      CHANGE_CHECK(module->set_input(*input) == Error::Ok);
      CHANGE_CHECK(row == 0 || module->run() == Error::Ok);
      CHANGE_CHECK(module->set_output(*set) == Error::Ok);
      CHANGE_CHECK(module->run() == Error::Ok);
      CHANGE_CHECK(set->const_data_ptr<float>()[3] == 5);
      static_cast<void>(module->forward(*input));
      set.reset();
      input.reset();
    }
  }
}

class DeviceMemory final : public WrapperBackend {
 public:
  DeviceMemory() : WrapperBackend(host_backend()) {}
  const char* name() const noexcept override { return "program's"; }
  Device device() const noexcept override { return Device(DeviceType::ExtDev, 5); }
};

// [threads][the program's tensors and backends that such a library used]
void change_values(size_t count) {
  for (size_t i = 0; i < count; ++i) {
    Backends backends;
    DeviceMemory device;
    {
      ProgramValues values{*ones({4}),          full({4}, 1, ScalarType::Float, kDynamic),
                           for_blob(lent, {4}), TensorSpec{{4}, ScalarType::Float},
                           Blob::of(lent, {4}), int64_t{1},
                           Generator(1),        Dims{1},
                           backends.pool,       backends.tracker,
                           backends.arena,      device};
      in_library([&](const Changes& changes) {
        static std::string name;
        at = (name = changes.value[i].name).c_str();
        changes.value[i].apply(values);
      });
      kind = "values";
      EValue copy = values.value;
      copy = std::move(values.value);
      CHANGE_CHECK(values.spec.check(*values.tensor) == Error::Ok);
      const TensorPtr made = std::move(values.maker).make_tensor_ptr();
      CHANGE_CHECK(made->numel() == 4);
      CHANGE_CHECK(from_blob(values.blob)->numel() == 4);
      use(values.tensor);
      static_cast<void>(values.result.message());
      static_cast<void>(rand({5}, values.generator));
      values.dims.push_back(5);
      for (Backend* const backend : backends.all()) static_cast<void>(zeros({400}, *backend));
      static_cast<void>(backends.tracker.leak_report());
      CHANGE_CHECK(backends.tracker.write_chrome_trace("/dev/null") == Error::Ok);
    }
    for (Backend* backend : backends.all()) CHANGE_CHECK(backend->live_blocks() == 0);
  }
}

}  // namespace

int main(int argc, char** argv) {
  ODR_CHECK(argc == 2);
  path = argv[1];
  const Changes all = counts();
  ODR_CHECK(all.tensor.size() > 20 && all.module.size() > 10 && all.value.size() > 15);
  change_tensors(all.tensor.size());
  change_modules(all.module.size());
  change_values(all.value.size());
}
