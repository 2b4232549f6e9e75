// SPDX-License-Identifier: MIT
// What tenon asks of a DeviceBackend, and when.
#include "tenon/backend/backend.h"

#include "backend/device_helpers.h"
#include "backend/helpers.h"
#include "support/catch.h"
#include "tenon/backend/pool.h"
#include "tenon/tenon.h"
#include "tensor/helpers.h"

namespace device_backend_test {

using namespace tenon;
using namespace tests;

TEST_CASE("device backend: is found behind those that wrap it, and other backends are none") {
  RecordingDevice cuda;
  PoolBackend pool(cuda);
  MinimalBackend minimal;
  CHECK(static_cast<Backend&>(cuda).as_device() == &cuda);
  CHECK(pool.as_device() == &cuda);
  CHECK(minimal.as_device() == nullptr);
  CHECK(host_backend().as_device() == nullptr);
}

TEST_CASE("device backend: checks a pointer to memory of a backend that wraps it") {
  RecordingDevice cuda;
  PoolBackend pool(cuda);
  register_backend(pool);
  float memory[4] = {};
  float elsewhere[4] = {};
  cuda.lend(memory, sizeof memory);
  CHECK(&backend_of(from_blob(memory, {4}, cuda.device())) == &pool);
  CHECK(&backend_of(from_blob(memory, {4}, pool)) == &pool);
  CHECK(std::count(cuda.calls.begin(), cuda.calls.end(), "check_memory 16") == 2);
  RAISES(InvalidArgument, "from_blob: backend recording failed in check_memory: the driver knows",
         from_blob(elsewhere, {4}, cuda.device()));
}

TEST_CASE(
    "device backend: between two, the destination's copies, then the source's, then the host") {
  RecordingDevice a;
  RecordingDevice b(Device(DeviceType::CUDA, 1));
  const TensorPtr source = backend_copy(make_tensor_ptr({1.f, 2.f, 3.f}), a);
  const auto copied = [&](bool a_knows, bool b_knows) {
    a.calls.clear();
    b.calls.clear();
    a.knows_others = a_knows;
    b.knows_others = b_knows;
    const TensorPtr out = backend_copy(source, b);
    const Texts all[] = {a.calls, b.calls};
    CHECK(values<float>(backend_copy(out, host_backend())) == Floats{1, 2, 3});
    return std::make_pair(all[0], all[1]);
  };
  CHECK(copied(true, true) == std::make_pair(Texts{}, Texts{"copy_between cuda:0"}));
  CHECK(copied(true, false) ==
        std::make_pair(Texts{"copy_between cuda:1"}, Texts{"copy_between cuda:0"}));
  CHECK(copied(false, false) == std::make_pair(Texts{"copy_between cuda:1", "copy_to_host"},
                                               Texts{"copy_between cuda:0", "copy_from_host"}));
}

TEST_CASE("device backend: a pool joins its streams before it keeps a block, else gives it back") {
  RecordingDevice cuda;
  PoolBackend pool(cuda);
  empty({64}, pool).reset();
  CHECK(cuda.calls == Texts{"join_streams"});
  CHECK(pool.cached_bytes() > 0);
  cuda.answer = Error::AccessFailed;
  empty({64}, pool).reset();
  CHECK(pool.cached_bytes() == 0);
  CHECK(cuda.memory.empty());
}

TEST_CASE(
    "device backend: what would lead out of the address space is refused before it is asked") {
  RecordingDevice cuda;
  register_backend(cuda);
  auto* const low = reinterpret_cast<float*>(uintptr_t{8});
  auto* const high = reinterpret_cast<float*>(~uintptr_t{7});
  if constexpr (!TENON_ATEN_MODE) {
    RAISES(InvalidArgument, "sizes {4} and strides {-2} lead out of the address space",
           from_blob(low, {4}, {-2}, cuda.device()));
  }
  RAISES(InvalidArgument, "lead out of the address space", from_blob(high, {6}, cuda.device()));
  CHECK(cuda.calls.empty());
}

TEST_CASE("opaque backend on the CPU: copy() is not asked between it and the host's memory") {
  struct Enclave : RecordingDevice {
    Enclave() : RecordingDevice(Device()) {}
    Error copy(const TensorView&, const TensorView&, CastMode) override {
      calls.push_back("copy");  // could not tell whose memory is whose
      return Error::Ok;
    }
  } enclave;
  const TensorPtr host = iota({4000}, ScalarType::Int);
  const TensorPtr there = backend_copy(host, enclave);
  const TensorPtr out = zeros({4, 10}, ScalarType::Int);
  REQUIRE(copy_(out, as_strided(there, {4, 10}, {1000, 1})) == Error::Ok);
  CHECK(to_binary(out) == to_binary(as_strided(host, {4, 10}, {1000, 1})));
  CHECK(std::count(enclave.calls.begin(), enclave.calls.end(), "copy") == 0);
}

}  // namespace device_backend_test
