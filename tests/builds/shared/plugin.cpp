// SPDX-License-Identifier: MIT
// The library.
#include "plugin.h"

namespace {

using namespace tenon;

class DeviceBackend final : public WrapperBackend {
 public:
  DeviceBackend() : WrapperBackend(host_backend()) {}
  const char* name() const noexcept override { return "plugin's"; }
  Device device() const noexcept override { return Device(DeviceType::ExtDev, index); }
  int32_t index = 0;
} device_backend;

float memory[3] = {1, 2, 3};
int released = 0;

PluginPlaces places() {
  return {&detail::backend_registry(), &host_backend(), &default_generator(), last_error_message()};
}

void make(std::vector<Tensor>& tensors) {
  tensors.push_back(make_tensor({1.0f, 2.0f, 3.0f}));
  tensors.push_back(make_tensor({3}, std::vector<float>{1, 2, 3}));
  tensors.push_back(*from_blob(memory, {3}, ScalarType::Float, [](void*) noexcept { ++released; }));
  static PoolBackend pool(host_backend());
  tensors.push_back(*arange(1, 4, 1, ScalarType::Float, pool));
}

bool use(Backend& backend) {
  const TensorPtr t = full({3}, 7, backend);
  const TensorPtr on_heap = backend_copy(t, host_backend());
  PoolBackend wrapper(backend);
  const TensorPtr wrapped = full({3}, 7, wrapper);
  return on_heap->const_data_ptr<float>()[2] == 7 && wrapped->const_data_ptr<float>()[2] == 7;
}

void keep_in_thread() {
  static thread_local TensorPtr kept;
  kept = zeros({3});
  manual_seed(5);
  static_cast<void>(try_empty({-1}));
}

void register_device(int32_t index) {
  device_backend.index = index;
  register_backend(device_backend);
}

// Each public function that could leave a pointer to the library's code in an object of the program's.
// Those that must are in the second table of docs/threads.md.

constexpr int64_t kMany = 5000;
constexpr size_t kManyBytes = kMany * sizeof(float);

/// Drops results, of calls in order.
struct ignore {
  template <class... T>
  explicit ignore(T&&...) {}
};

const TensorChange tensor_changes[] = {
    {"nothing", [](const TensorPtr&, const Others&) {}},
    {"resize_tensor, grows", [](const TensorPtr& t, auto&) { ignore{resize_tensor(*t, {kMany})}; }},
    {"resize_tensor_ptr, grows twice",
     [](const TensorPtr& t, auto&) {
       ignore{resize_tensor_ptr(t, {kMany})};
       ignore{resize_tensor_ptr(t, {2, 3 * kMany})};
     }},
    {"resize_tensor, grows to many dimensions",
     [](const TensorPtr& t, auto&) {
       ignore{resize_tensor(*t, {1, 1, 1, 1, 1, 1, 1, 1, kMany})};
     }},
    {"resize_tensor, within its room",
     [](const TensorPtr& t, auto&) {
       ignore{resize_tensor(*t, {2, 1})};
     }},
    {"resize_tensor, to a scalar",
     [](const TensorPtr& t, auto&) { ignore{resize_tensor(*t, {})}; }},
    {"reserve_tensor", [](const TensorPtr& t, auto&) { ignore{reserve_tensor(*t, kManyBytes)}; }},
    {"reserve_tensor_ptr, then resize_tensor",
     [](const TensorPtr& t, auto&) {
       ignore{reserve_tensor_ptr(t, kManyBytes)};
       ignore{resize_tensor(*t, {kMany})};
     }},
    {"grows in a BackendScope",
     [](const TensorPtr& t, auto&) {
       PoolBackend pool(host_backend());
       const BackendScope scope(pool);
       ignore{resize_tensor(*t, {kMany})};
     }},
    {"backend_deallocate", [](const TensorPtr& t, auto&) { ignore{backend_deallocate(t)}; }},
    {"grows, then backend_deallocate",
     [](const TensorPtr& t, auto&) {
       ignore{resize_tensor(*t, {kMany})};
       ignore{backend_deallocate(t)};
     }},
    {"backend_transfer",
     [](const TensorPtr& t, auto&) { ignore{try_backend_transfer(t, host_backend())}; }},
    {"set_data", [](const TensorPtr& t, const Others& o) { ignore{set_data(t, o.memory)}; }},
    {"Tensor::set_data", [](const TensorPtr& t, const Others& o) { t->set_data(o.memory); }},
    {"copy_, fill_, assign, random elements",
     [](const TensorPtr& t, const Others& o) {
       ignore{copy_(t, o.input), copy_(t, try_clone_tensor_ptr(o.input, ScalarType::Half).value())};
       ignore{fill_(t, 3), zero_(t), uniform_(t), normal_(t), random_(t, 0, 9)};
       ignore{assign(t, Blob::of(o.memory, t->sizes())), assign(t, o.memory, t->nbytes())};
     }},
    {"copies from it",
     [](const TensorPtr& t, const Others& o) {
       ignore{copy_(o.input, t), copy_to(t, o.memory, t->nbytes())};
       ignore{try_clone_tensor_ptr(t), try_backend_copy(t, host_backend()), tenon::to_string(t)};
       ignore{try_equal(t, o.input), try_empty_like(t), try_zeros_like(t)};
       ignore{try_materialize(t, host_backend())};
     }},
    {"cat_out, stack_out",
     [](const TensorPtr& t, const Others& o) {
       ignore{cat_out(t, {o.input}), cat_out(t, {*t, *t})};
       ignore{stack_out(t, {o.input})};
     }},
    {"views",
     [](const TensorPtr& t, auto&) {
       const Result<Tensor> views[] = {try_slice(t, 0, 0, 1), try_view(t, {-1, 1}),
                                       try_unsqueeze(t, 0), try_make_tensor(*t)};
       for (const auto& view : views) ignore{view.ok() && fill_(*view, 1) == Error::Ok};
     }},
    {"Blobs",
     [](const TensorPtr& t, auto&) {
       const Result<Blob> blob = try_to_blob(t);
       if (blob.ok()) ignore{try_from_blob(*blob), try_from_blob(*blob, 5)};
       ignore{try_to_owned_blob(t)};
     }},
    {"DLPack",
     [](const TensorPtr& t, auto&) {
       const Result<dlpack::DLManagedTensorVersioned*> managed = try_to_dlpack(t);
       if (managed.ok()) ignore{try_from_dlpack(*managed)};
     }},
    {"a Module", [](const TensorPtr& t, const Others& o) {
       FunctionModule module([](Span<const EValue> in) { return in[0]; });
       ignore{module.set_output(t), module.run("forward", EValue(o.input))};
     }}};

/// What is set or given is the program's.
const ModuleChange module_changes[] = {
    {"nothing", [](Module&, const TensorPtr&, const TensorPtr&) {}},
    {"load_method",
     [](Module& m, auto&, auto&) {
       ignore{m.load_method(), m.method_meta()};
     }},
    {"describe_inputs",
     [](Module& m, auto&, auto&) {
       TensorSpec spec{{-1}, ScalarType::Float};
       spec.name = "a name that is so long that it needs a block of its own, on the heap";
       ignore{m.describe_inputs(spec)};
     }},
    {"set_input", [](Module& m, auto&, const TensorPtr& x) { ignore{m.set_input(*x)}; }},
    {"set_input of a number, then of none",
     [](Module& m, auto&, auto&) {
       ignore{m.set_input(5), m.set_input(none)};
     }},
    {"set_inputs", [](Module& m, auto&, const TensorPtr& x) { ignore{m.set_inputs({*x})}; }},
    {"set_output", [](Module& m, const TensorPtr& t, auto&) { ignore{m.set_output(*t)}; }},
    {"set_output, set_output(none)",
     [](Module& m, const TensorPtr& t, auto&) {
       ignore{m.set_output(*t), m.set_output(none)};
     }},
    {"set_input, unload_method",
     [](Module& m, auto&, const TensorPtr& x) {
       ignore{m.set_input(*x), m.unload_method()};
     }},
    {"run", [](Module& m, auto&, const TensorPtr& x) { ignore{m.run("forward", *x)}; }},
    {"run, get_output",
     [](Module& m, auto&, const TensorPtr& x) {
       ignore{m.run("forward", *x), m.get_output(), m.get_outputs()};
     }},
    {"forward, execute",
     [](Module& m, auto&, const TensorPtr& x) {
       ignore{m.forward(*x), m.execute("forward", *x)};
     }},
    {"set_output, run",
     [](Module& m, const TensorPtr& t, const TensorPtr& x) {
       ignore{m.set_output(*t), m.run("forward", *x)};
     }},
    {"set_output of the input, run",  // in place of which the module makes one
     [](Module& m, auto&, const TensorPtr& x) {
       ignore{m.set_output(*x), m.set_input(*x), m.run()};
     }},
    {"set_output, run, which grows it", [](Module& m, const TensorPtr& t, const TensorPtr& x) {
       ignore{resize_tensor(*t, {1}), m.set_output(*t), m.run("forward", *x)};
     }}};

const ValueChange value_changes[] = {
    {"nothing", [](ProgramValues&) {}},
    {"EValue = a number", [](ProgramValues& v) { v.value = 5; }},
    {"EValue = none", [](ProgramValues& v) { v.value = EValue(); }},
    {"EValue = a tensor of the program's", [](ProgramValues& v) { v.value = *v.tensor; }},
    {"EValue = a copy",
     [](ProgramValues& v) {
       const EValue copy = v.value;
       v.value = copy;
     }},
    {"EValue::toTensor() &&",
     [](ProgramValues& v) {
       if (v.value.isTensor()) ignore{std::move(v.value).toTensor()};
     }},
    {"TensorPtr = another handle",
     [](ProgramValues& v) { v.tensor = std::make_unique<Tensor>(*v.tensor); }},
    {"TensorPtrMaker::device",
     [](ProgramValues& v) { v.maker = std::move(v.maker).device(DeviceType::CPU); }},
    {"TensorPtrMaker::backend",
     [](ProgramValues& v) { v.maker = std::move(v.maker).backend(v.arena); }},
    {"TensorPtrMaker::strides, dim_order, type, dynamism",
     [](ProgramValues& v) {
       v.maker = std::move(v.maker)
                     .type(ScalarType::Float)
                     .strides({1})
                     .dim_order({0})
                     .dynamism(TensorShapeDynamism::DYNAMIC);
     }},
    {"Result = an error", [](ProgramValues& v) { v.result = Error::NotFound; }},
    {"options",
     [](ProgramValues& v) {
       ignore{v.pool.init(BackendOptions{{"max_cached_bytes", 1000}})};
       ignore{v.tracker.init(BackendOptions{{"max_events", 1000}})};
     }},
    {"scopes, and tensors in them",
     [](ProgramValues& v) {
       for (Backend* backend : {static_cast<Backend*>(&v.pool), static_cast<Backend*>(&v.tracker),
                                static_cast<Backend*>(&v.arena)}) {
         const BackendScope scope(*backend);
         const TrackingScope tag(v.tracker, "the library's");
         ignore{zeros({4}), zeros({kMany}), view(*v.tensor, {-1, 1}),
                backend_copy(v.tensor, v.pool)};
         const NoAllocationScope refuses(v.tracker);
         ignore{try_zeros({4}, v.tracker), v.tracker.leak_report(), v.tracker.tags()};
       }
       v.pool.trim();
       ignore{v.arena.reset()};
     }},
    {"register_backend, unregister_backend", [](ProgramValues& v) {
       register_backend(v.device);
       unregister_backend(v.device);
     }}};

}  // namespace

extern "C" __attribute__((visibility("default")))
const Plugin plugin{&places,          &make,          &released,      &use,         &keep_in_thread,
                    &register_device, tensor_changes, module_changes, value_changes};
