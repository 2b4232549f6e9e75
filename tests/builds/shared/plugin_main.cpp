// SPDX-License-Identifier: MIT
// What may be done with a library that is opened while the program runs, and closed again; see
// docs/threads.md. Tags name its rows, see check_threads.py.
//
// usage: PROGRAM LIBRARY local|global kept|unloaded shared|alone
// `kept`: dlclose() leaves the library loaded. `alone`: the program exports nothing.
#include <dlfcn.h>

#include <atomic>
#include <cstring>
#include <thread>

#include "../odr/check.h"
#include "plugin.h"

namespace {

const char* path;
int flags;
bool is_kept;
bool is_one;

struct Library {
  void* handle = dlopen(path, RTLD_NOW | flags);
  Library() { ODR_CHECK(handle != nullptr); }
  ~Library() { ODR_CHECK(dlclose(handle) == 0); }
  const Plugin& plugin() const { return *static_cast<const Plugin*>(dlsym(handle, "plugin")); }
};
bool is_loaded() {
  void* const handle = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
  if (handle != nullptr) dlclose(handle);
  return handle != nullptr;
}

void check_elements(const std::vector<tenon::Tensor>& tensors) {
  ODR_CHECK(tensors.size() == 4);
  for (const tenon::Tensor& t : tensors) {
    ODR_CHECK(t.numel() == 3 && t.const_data_ptr<float>()[2] == 3);
  }
}

/// The library and the program have one of each, or each has its own.
void check_places(const PluginPlaces& there) {
  ODR_CHECK((there.registry == &tenon::detail::backend_registry()) == is_one);
  ODR_CHECK((there.host == &tenon::host_backend()) == is_one);
  ODR_CHECK((there.generator == &tenon::default_generator()) == is_one);
  ODR_CHECK((there.error == tenon::last_error_message()) == is_one);
}

// [threads][a library that is closed]
// A promise of docs/guarantees.md.
void drop_all_before_it_is_closed() {
  for (int round = 0; round < 5; ++round) {
    {
      const Library library;
      const int before = *library.plugin().released;
      std::vector<tenon::Tensor> tensors;
      library.plugin().make(tensors);
      check_elements(tensors);
      tenon::DLPackPtr lent(tenon::to_dlpack(tensors[2]));
      std::thread([here = std::move(tensors)]() mutable { here.clear(); }).join();
      ODR_CHECK(*library.plugin().released == before);
      lent.reset();
      ODR_CHECK(*library.plugin().released == before + 1);
      std::thread(library.plugin().keep_in_thread).join();
    }
    ODR_CHECK(is_loaded() == is_kept);
    // The program's own state is as it was.
    tenon::manual_seed(9);
    ODR_CHECK(tenon::default_generator().advance(1) == 0);
    ODR_CHECK(!tenon::try_empty({-1}).ok());
    ODR_CHECK(std::strstr(tenon::last_error_message(), "negative") != nullptr);
  }
}

// [threads][tensors of a library that is closed]
void drop_after_it_is_closed() {
  std::vector<tenon::Tensor> tensors;
  const int* released = nullptr;
  {
    const Library library;
    library.plugin().make(tensors);
    released = library.plugin().released;
  }
  check_elements(tensors);
  const int before = *released;
  std::vector<tenon::Tensor> views;
  for (const tenon::Tensor& t : tensors) views.push_back(tenon::slice(t, 0, 1, 2));
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
  tenon::CpuBackend cpu;
  tenon::PoolBackend pool(cpu);
  alignas(64) static unsigned char memory[8192];
  tenon::ArenaBackend arena(memory, sizeof memory);
  tenon::Backend* const backends[] = {&pool, &arena};
  {
    const Library library;
    for (tenon::Backend* const backend : backends) ODR_CHECK(library.plugin().use(*backend));
  }
  ODR_CHECK(is_loaded() == is_kept);
  for (tenon::Backend* const backend : backends) {
    const tenon::TensorPtr t = tenon::full({3}, 2, *backend);
    const tenon::TensorPtr copy = tenon::clone_tensor_ptr(t);
    ODR_CHECK(copy->const_data_ptr<float>()[1] == 2);
  }
}

// [threads][a backend of such a library]
void close_while_a_backend_of_its_own_is_registered() {
  const tenon::Device device(tenon::DeviceType::ExtDev, 3);
  {
    const Library library;
    library.plugin().register_device(3);
    ODR_CHECK(std::strcmp(tenon::backend_for(device).name(), "plugin's") == 0);
  }
  // Its destructor has taken it out.
  if (!is_kept) ODR_CHECK(tenon::detail::find_backend(device) == nullptr);
}

}  // namespace

int main(int argc, char** argv) {
  ODR_CHECK(argc == 5);
  path = argv[1];
  flags = std::strcmp(argv[2], "local") == 0 ? RTLD_LOCAL : RTLD_GLOBAL;
  is_kept = std::strcmp(argv[3], "kept") == 0;
  is_one = std::strcmp(argv[4], "shared") == 0;
  {
    const Library library;
    check_places(library.plugin().places());
  }
  drop_all_before_it_is_closed();
  if (is_kept) drop_after_it_is_closed();
  close_while_a_thread_has_its_tensors();
  use_a_backend_that_it_used();
  if (!is_one) return 0;
  close_while_a_backend_of_its_own_is_registered();
}
