// SPDX-License-Identifier: MIT
// What may be done with a library that is opened while the program runs, and closed again; see
// docs/threads.md. Tags name its rows, see check_threads.py.
//
// usage: PROGRAM LIBRARY kept|unloaded shared|alone
// `kept`: dlclose() leaves the library loaded. `alone`: the program exports nothing.
#include <dlfcn.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory_resource>
#include <string>
#include <thread>

#include "../odr/check.h"
#include "plugin.h"

namespace {

using namespace tenon;

const char* path;
bool is_kept;
bool is_one;

constexpr auto kDynamic = TensorShapeDynamism::DYNAMIC;

struct Library {
  void* handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  Library() { ODR_CHECK(handle != nullptr); }
  ~Library() { ODR_CHECK(dlclose(handle) == 0); }
  const Plugin& plugin() const { return *static_cast<const Plugin*>(dlsym(handle, "plugin")); }
};
bool is_loaded() {
  void* const handle = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
  if (handle != nullptr) dlclose(handle);
  return handle != nullptr;
}

void check_elements(const std::vector<Tensor>& tensors) {
  ODR_CHECK(tensors.size() == 4);
  for (const Tensor& t : tensors) {
    ODR_CHECK(t.numel() == 3 && t.const_data_ptr<float>()[2] == 3);
  }
}

/// The library and the program have one of each, or each has its own.
void check_places(const PluginPlaces& there) {
  ODR_CHECK((there.registry == &tenon::detail::backend_registry()) == is_one);
  ODR_CHECK((there.host == &host_backend()) == is_one);
  ODR_CHECK((there.generator == &default_generator()) == is_one);
  ODR_CHECK((there.error == last_error_message()) == is_one);
}

// [threads][a library that is closed]
// A promise of docs/guarantees.md.
void drop_all_before_it_is_closed() {
  for (int round = 0; round < 5; ++round) {
    {
      const Library library;
      const int before = *library.plugin().released;
      std::vector<Tensor> tensors;
      library.plugin().make(tensors);
      check_elements(tensors);
      DLPackPtr lent(to_dlpack(tensors[2]));
      std::thread([here = std::move(tensors)]() mutable { here.clear(); }).join();
      ODR_CHECK(*library.plugin().released == before);
      lent.reset();
      ODR_CHECK(*library.plugin().released == before + 1);
      std::thread(library.plugin().keep_in_thread).join();
    }
    ODR_CHECK(is_loaded() == is_kept);
    // The program's own state is as it was.
    manual_seed(9);
    ODR_CHECK(default_generator().advance(1) == 0);
    ODR_CHECK(!try_empty({-1}).ok());
    ODR_CHECK(std::strstr(last_error_message(), "negative") != nullptr);
  }
}

// [threads][tensors of a library that is closed]
void drop_after_it_is_closed() {
  std::vector<Tensor> tensors;
  const int* released = nullptr;
  {
    const Library library;
    library.plugin().make(tensors);
    released = library.plugin().released;
  }
  check_elements(tensors);
  const int before = *released;
  std::vector<Tensor> views;
  for (const Tensor& t : tensors) views.push_back(slice(t, 0, 1, 2));
  tensors.clear();
  std::thread([&] { views.clear(); }).join();
  ODR_CHECK(*released == before + 1);
}

// [threads][thread_local tensors of a library that is closed]
void close_while_a_thread_has_its_tensors() {
  std::atomic<int> step{0};
  std::thread thread;
  {
    const Library library;
    thread = std::thread([&step, work = library.plugin().keep_in_thread] {
      work();
      step = 1;
      while (step != 2) std::this_thread::yield();
    });
    while (step != 1) std::this_thread::yield();
  }
  ODR_CHECK(is_loaded());  // as long as that thread runs
  step = 2;
  thread.join();
}

// [threads][a backend that such a library used]
void use_a_backend_that_it_used() {
  CpuBackend cpu;
  PoolBackend pool(cpu);
  alignas(64) static unsigned char memory[8192];
  ArenaBackend arena(memory, sizeof memory);
  Backend* const backends[] = {&pool, &arena};
  {
    const Library library;
    for (Backend* const backend : backends) ODR_CHECK(library.plugin().use(*backend));
  }
  ODR_CHECK(is_loaded() == is_kept);
  for (Backend* const backend : backends) {
    const TensorPtr t = full({3}, 2, *backend);
    const TensorPtr copy = clone_tensor_ptr(t);
    ODR_CHECK(copy->const_data_ptr<float>()[1] == 2);
  }
}

// [threads][a backend of such a library]
void close_while_a_backend_of_its_own_is_registered() {
  const Device device(DeviceType::ExtDev, 3);
  {
    const Library library;
    library.plugin().register_device(3);
    ODR_CHECK(std::strcmp(backend_for(device).name(), "plugin's") == 0);
  }
  // Its destructor has taken it out.
  if (!is_kept) ODR_CHECK(detail::find_backend(device) == nullptr);
}

std::string at;  // what a library of which nothing may be left is asked to do
const char* kind = "";

#define CHANGE_CHECK(...)                                                   \
  do {                                                                      \
    if (!(__VA_ARGS__)) std::fprintf(stderr, "%s, %s\n", at.c_str(), kind); \
    ODR_CHECK(__VA_ARGS__);                                                 \
  } while (false)

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
      {
        const Library library;
        const TensorChange& change = library.plugin().tensor_changes[i];
        at = change.name;
        for (size_t k = 0; k < tensors.size(); ++k) {
          kind = kinds[k].name;
          change.apply(tensors[k], others);
        }
      }
      CHANGE_CHECK(is_loaded() == is_kept);
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
      {
        const Library library;
        const ModuleChange& change = library.plugin().module_changes[i];
        at = change.name;
        change.apply(*module, set, input);
      }
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
                           for_blob(lent, {4}), int64_t{1},
                           backends.pool,       backends.tracker,
                           backends.arena,      device};
      {
        const Library library;
        const ValueChange& change = library.plugin().value_changes[i];
        at = change.name;
        change.apply(values);
      }
      kind = "values";
      EValue copy = values.value;
      copy = std::move(values.value);
      const TensorPtr made = std::move(values.maker).make_tensor_ptr();
      CHANGE_CHECK(made->numel() == 4);
      use(values.tensor);
      static_cast<void>(values.result.message());
      for (Backend* const backend : backends.all()) static_cast<void>(zeros({400}, *backend));
      static_cast<void>(backends.tracker.leak_report());
      CHANGE_CHECK(backends.tracker.write_chrome_trace("/dev/null") == Error::Ok);
      bool is_tagged = false;
      for (const TagCounts& tag : backends.tracker.tags()) is_tagged |= tag.tag == "the library's";
      CHANGE_CHECK(is_tagged == (is_one && at == "scopes, and tensors in them"));
    }
    for (Backend* backend : backends.all()) CHANGE_CHECK(backend->live_blocks() == 0);
  }
}

}  // namespace

int main(int argc, char** argv) {
  ODR_CHECK(argc == 4);
  path = argv[1];
  is_kept = std::strcmp(argv[2], "kept") == 0;
  is_one = std::strcmp(argv[3], "shared") == 0;
  size_t counts[3];
  {
    const Library library;
    const Plugin& plugin = library.plugin();
    check_places(plugin.places());
    counts[0] = plugin.tensor_changes.size();
    counts[1] = plugin.module_changes.size();
    counts[2] = plugin.value_changes.size();
  }
  ODR_CHECK(counts[0] > 20 && counts[1] > 10 && counts[2] > 10);
  drop_all_before_it_is_closed();
  if (is_kept) drop_after_it_is_closed();
  close_while_a_thread_has_its_tensors();
  change_tensors(counts[0]);
  change_modules(counts[1]);
  change_values(counts[2]);
  use_a_backend_that_it_used();
  if (is_one) close_while_a_backend_of_its_own_is_registered();
}
