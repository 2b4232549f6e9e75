// SPDX-License-Identifier: MIT
// What fails: each CUDA call of each operation in turn, labels that are wrong, a device that is
// lost.
#include "cuda_helpers.h"

namespace errors_test {

using namespace tests;
using namespace tenon;

namespace {

/// What the operations work with, made before calls fail.
struct Parts {
  Parts() : borrowed(1, nullptr), malloc(0, with_malloc()) {}

  UserStream stream;
  CudaBackend own;
  CudaBackend borrowed;  // the legacy stream of a device that is not current
  CudaBackend malloc;
  PinnedBackend pinned;
  ManagedBackend managed{1};
  TensorPtr a = full({4, 6}, 1, own);
  TensorPtr b = full({4, 6}, 2, own);
  TensorPtr on_other = full({4, 6}, 3, borrowed);
  TensorPtr from_malloc = full({4, 6}, 4, malloc);
  TensorPtr in_pinned = full({4, 6}, 5, pinned);
  TensorPtr in_managed = full({4, 6}, 6, managed);
  TensorPtr host = full({4, 6}, 7);
};

struct Operation {
  const char* name;
  void (*run)(Parts& p);
  /// Whether it swallows errors: it releases memory, ends a scope, or has them in its text.
  bool may_hide = false;
};

/// Has an Error thrown.
void must(Error error) { detail::raise_if("", error); }

const Operation kOperations[] = {
    {"making a backend", [](Parts&) { CudaBackend(1); }, true},
    {"making a backend of a stream", [](Parts& p) { CudaBackend(0, p.stream); }, true},
    {"making a backend of the legacy stream", [](Parts&) { CudaBackend(1, nullptr); }, true},
    {"an allocation", [](Parts& p) { empty({100}, p.own); }, true},
    {"an allocation by a legacy stream", [](Parts& p) { empty({100}, p.borrowed); }, true},
    {"an allocation by cudaMalloc", [](Parts& p) { empty({100}, p.malloc); }, true},
    {"pinned memory", [](Parts& p) { empty({100}, p.pinned); }, true},
    {"managed memory", [](Parts& p) { empty({100}, p.managed); }, true},
    {"a release", [](Parts& p) { p.a.reset(); }, true},
    {"a release by a legacy stream", [](Parts& p) { p.on_other.reset(); }, true},
    {"a release by cudaFree", [](Parts& p) { p.from_malloc.reset(); }, true},
    {"a release in a scope",
     [](Parts& p) {
       const StreamScope scope(p.own, p.stream);
       must(fill_(p.a, 0));
       p.a.reset();
     },
     true},
    {"scopes in scopes",
     [](Parts& p) {
       const StreamScope scope(p.own, p.stream);
       const StreamScope inner(p.own, cudaStreamLegacy);
       must(copy_(p.a, p.b));
     },
     true},
    {"a creator",
     [](Parts& p) {
       full({3, 4}, 2.5, p.own);
     },
     true},
    {"an upload", [](Parts& p) { must(copy_(p.a, p.host)); }},
    {"an upload from pinned memory", [](Parts& p) { must(copy_(p.a, p.in_pinned)); }},
    {"an upload from managed memory", [](Parts& p) { must(copy_(p.on_other, p.in_managed)); }},
    {"an upload of columns",
     [](Parts& p) { must(copy_(narrow(p.a, 1, 0, 2), narrow(p.host, 1, 1, 2))); }},
    {"a download", [](Parts& p) { must(copy_(p.host, p.a)); }},
    {"a download of columns",
     [](Parts& p) { must(copy_(narrow(p.host, 1, 0, 2), narrow(p.a, 1, 1, 2))); }},
    {"a download that converts",
     [](Parts& p) {
       must(copy_(zeros({4, 6}, ScalarType::Double), p.a));
     }},
    {"a copy within", [](Parts& p) { must(copy_(p.a, p.b)); }},
    {"a copy of rows within",
     [](Parts& p) { must(copy_(narrow(p.a, 1, 0, 2), narrow(p.b, 1, 1, 2))); }},
    {"a copy that overlaps",
     [](Parts& p) { must(copy_(narrow(p.a, 0, 0, 2), narrow(p.a, 0, 1, 2))); }},
    {"a transpose",
     [](Parts& p) {
       must(copy_(p.a, transpose(full({6, 4}, 1, p.own), 0, 1)));
     },
     true},
    {"a copy between devices", [](Parts& p) { must(copy_(p.a, p.on_other)); }},
    {"a copy back", [](Parts& p) { must(copy_(p.on_other, p.a)); }},
    {"a copy of rows between devices",
     [](Parts& p) { must(copy_(narrow(p.on_other, 1, 0, 2), narrow(p.a, 1, 1, 2))); }},
    {"a copy between backends", [](Parts& p) { must(copy_(p.from_malloc, p.a)); }},
    {"a fill", [](Parts& p) { must(fill_(p.a, 0)); }},
    {"a fill of columns", [](Parts& p) { must(fill_(narrow(p.a, 1, 0, 2), 0)); }},
    {"text", [](Parts& p) { static_cast<void>(to_string(p.a)); }, true},
    {"order",
     [](Parts& p) {
       must(p.own.order_before(1));
       must(p.own.order_after(reinterpret_cast<int64_t>(cudaStream_t{p.stream})));
     }},
    {"a join of streams",
     [](Parts& p) {
       const StreamScope scope(p.own, p.stream);
       must(p.own.join_streams());
     },
     true},
    {"waiting",
     [](Parts& p) {
       const StreamScope scope(p.own, p.stream);
       must(p.own.synchronize());
       must(p.borrowed.synchronize());
       must(p.managed.synchronize());
     },
     true},
    {"memory that came as a pointer",
     [](Parts& p) { must(p.own.check_memory(as_view(p.a).data, 96)); }},
};

}  // namespace

// A promise of docs/guarantees.md.
TEST_CASE("cuda errors: each call of each operation fails in turn, and nothing leaks") {
  for (const Operation& operation : kOperations) {
    int64_t n = 0;
    for (bool is_through = false; !is_through; ++n) {
      const Reports reports;
      INFO(operation.name << ", call " << n + 1);
      const Simulation simulation;
      {
        Parts parts;
        REQUIRE(parts.own.synchronize() == Error::Ok);
        sim::fail_at(n + 1, cudaErrorLaunchTimeout);
        const Caught outcome = caught([&] {
          operation.run(parts);
          return 0;
        });
        is_through = !sim::failed();
        sim::fail_at(0, cudaSuccess);
        INFO("message: " << outcome.message);
        if (is_through) {
          CHECK(outcome.error == Error::Ok);
        } else if (outcome.error != Error::Ok) {
          CHECK(contains(outcome.message, ": cudaErrorLaunchTimeout (the launch timed out"));
        } else if (!operation.may_hide) {
          CHECK(contains(reports.last(), "could not be made current again"));
        }
        // What failed did no harm: all goes on.
        CHECK(caught([&] {
                must(copy_(full({4, 6}, 1, parts.own), full({4, 6}, 1, parts.borrowed)));
                return 0;
              }).error == Error::Ok);
        CHECK(cudaPeekAtLastError() == cudaSuccess);
        cudaSetDevice(0);
      }
      CHECK(reports.count() <= 1);
    }
    CHECK(n >= 2);
  }
}

TEST_CASE("cuda errors: an error names the call, and CUDA's own is cleared") {
  const Simulation simulation;
  CudaBackend backend;
  const TensorPtr t = zeros({3}, backend);
  sim::fail_next("cudaMemcpyAsync", cudaErrorLaunchFailure);
  RETURNS(AccessFailed,
          "backend cuda failed in copy_to_host: cudaMemcpyAsync: cudaErrorLaunchFailure "
          "(unspecified launch failure)",
          copy_(zeros({3}), t));
  CHECK(cudaPeekAtLastError() == cudaSuccess);
  RAISES(InvalidArgument, "CudaBackend: cudaSetDevice: cudaErrorInvalidDevice", CudaBackend(7));
  RAISES(InvalidArgument, "index -2 of cuda", CudaBackend(-2));
}

// A promise of docs/guarantees.md.
TEST_CASE("cuda errors: an error of the program's own stays for its cudaGetLastError") {
  const Simulation simulation;
  CudaKernels kernels = device_kernels();
  kernels.iota = [](const TensorView&, OptionalIndex, cudaStream_t) {
    return cudaErrorInvalidConfiguration;  // found without a call
  };
  CudaOptions options;
  options.kernels = &kernels;
  CudaBackend backend(1, options);
  const TensorPtr t = zeros({3}, backend);
  const TensorPtr host = zeros({3});
  REQUIRE(cudaSetDevice(99) == cudaErrorInvalidDevice);
  CHECK(copy_(t, host) == Error::Ok);
  CHECK(copy_(host, t) == Error::Ok);
  CHECK(fill_(t, 2) == Error::Ok);
  CHECK(empty({3}, backend)->numel() == 3);
  CHECK(backend.iota(as_view(t), None()) == Error::AccessFailed);
  CHECK(cudaPeekAtLastError() == cudaErrorInvalidDevice);
  // One that CUDA itself has put in its place is tenon's, and is cleared.
  sim::fail_next("cudaMemcpyAsync", cudaErrorLaunchFailure);
  CHECK(copy_(t, host) == Error::AccessFailed);
  CHECK(cudaGetLastError() == cudaSuccess);
}

// A promise of docs/guarantees.md.
TEST_CASE("cuda errors: memory that is said to be the device's is checked") {
  const Simulation simulation;
  CudaBackend backend;
  CudaBackend other(1);
  void* const p = backend.allocate(1000, 64);
  void* const q = other.allocate(1000, 64);
  CHECK(backend.check_memory(p, 1000) == Error::Ok);
  RETURNS(InvalidArgument, "the memory is said to be on cuda:0, but begins on cuda:1",
          backend.check_memory(q, 1000));
  RETURNS(InvalidArgument,
          "the memory is said to be on cuda:0, but ends where CUDA knows no memory",
          backend.check_memory(p, size_t{1} << 29));
  float here[4] = {};
  RETURNS(InvalidArgument, "said to be on cuda:0, but begins where CUDA knows no memory",
          backend.check_memory(here, sizeof here));
  PinnedBackend pinned;
  void* const host = pinned.allocate(100, 64);
  RETURNS(InvalidArgument, "said to be on cuda:0, but begins in pinned memory of the host",
          backend.check_memory(host, 100));
  pinned.deallocate(host, 100);
  ManagedBackend managed;
  void* const both = managed.allocate(100, 64);
  CHECK(backend.check_memory(both, 100) == Error::Ok);
  managed.deallocate(both, 100);
  other.deallocate(q, 1000);

  CudaBackend malloc(0, with_malloc());
  void* const freed = malloc.allocate(1000, 64);
  malloc.deallocate(freed, 1000);
  RETURNS(InvalidArgument, "where CUDA knows no memory", backend.check_memory(freed, 1000));
  backend.deallocate(p, 1000);
}

TEST_CASE("cuda errors: device memory that is said to be the host's is refused by copies") {
  const Simulation simulation;
  CudaBackend backend;
  const TensorPtr t = zeros({4}, backend);
  const TensorPtr wrong = from_blob(as_view(t).data, {4}, ScalarType::Float);
  const TensorPtr out = zeros({4}, backend);
  RETURNS(InvalidArgument, "the source is said to be the host's memory, but is that of cuda:0",
          copy_(out, wrong));
  RETURNS(InvalidArgument, "cudaMemcpyAsync: cudaErrorInvalidValue", copy_(wrong, out));
}

TEST_CASE("cuda errors: host memory that is said to be the device's is refused by copies") {
  const Simulation simulation;
  CudaBackend backend;
  float here[4] = {};
  const ViewWithLists wrong{here, ScalarType::Float, backend.device(), {4}, {1}};
  const TensorPtr t = zeros({4}, backend);
  RETURNS(InvalidArgument, "cudaMemcpyAsync: cudaErrorInvalidValue",
          backend.copy(wrong, as_view(t), CastMode::Checked));
  RETURNS(InvalidArgument, "cudaMemcpyAsync: cudaErrorInvalidValue",
          backend.copy(as_view(t), wrong, CastMode::Checked));
  const float zero = 0;
  RETURNS(InvalidArgument, "cudaMemsetAsync: cudaErrorInvalidValue",
          backend.constant(wrong, &zero));
}

// A promise of docs/guarantees.md.
TEST_CASE("cuda errors: with a lost device all fails, and deleters run once") {
  const Reports reports;
  sim::reset(2);
  int deleted = 0;
  {
    const UserStream stream;
    CudaBackend backend;
    const TensorPtr made = zeros({4}, backend);
    const TensorPtr host = zeros({4});
    void* const p = backend.allocate(16, 64);
    TensorPtr foreign = from_blob(
        p, {4}, ScalarType::Float,
        [&](void* q) {
          ++deleted;
          backend.deallocate(q, 16);
        },
        backend);
    sim::make_sticky(cudaErrorDevicesUnavailable);
    const char* const text = "cudaErrorDevicesUnavailable (";
    RETURNS(AccessFailed, text, copy_(made, foreign));
    RETURNS(AccessFailed, text, copy_(host, foreign));
    RETURNS(AccessFailed, text, copy_(foreign, host));
    RETURNS(AccessFailed, text, fill_(foreign, 0));
    RETURNS(AccessFailed, text, backend.synchronize());
    RETURNS(AccessFailed, text, backend.order_before(1));
    RETURNS(AccessFailed, text, backend.check_memory(p, 16));
    RAISES(AccessFailed, text, StreamScope(backend, stream));
    RAISES(AccessFailed, text, CudaBackend());
    RAISES(OutOfMemory, text, zeros({4}, backend));
    foreign.reset();
    CHECK(deleted == 1);
    sim::make_sticky(cudaSuccess);
    backend.deallocate(p, 16);
  }
  CHECK(reports.count() == 1);
  sim::reset();
}

}  // namespace errors_test
