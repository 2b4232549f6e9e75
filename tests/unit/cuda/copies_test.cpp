// SPDX-License-Identifier: MIT
// Strided copies between the host and a device, and within it: their elements, and their calls.
#include "cuda_helpers.h"
#include "support/shapes.h"
#include "tenon/core/layout.h"

namespace copies_test {

using namespace tests;
using namespace tenon;

namespace {

/// Sizes, and strides in elements, of both sides, with the offsets of their first elements.
struct Case {
  const char* name;
  Vector sizes;
  Vector dst;
  Vector src;
  int64_t dst_offset;
  int64_t src_offset;
  const char* call;  // null where CUDA has none
};

const Case kCases[] = {
    {"a block", {6, 5}, {5, 1}, {5, 1}, 0, 0, "cudaMemcpyAsync"},
    {"a block in another order", {6, 5}, {1, 6}, {1, 6}, 3, 5, "cudaMemcpyAsync"},
    {"rows with padding", {6, 5}, {8, 1}, {5, 1}, 1, 0, "cudaMemcpy2DAsync"},
    {"a crop", {3, 4}, {4, 1}, {9, 1}, 0, 12, "cudaMemcpy2DAsync"},
    {"a column", {7}, {1}, {9}, 0, 2, "cudaMemcpy2DAsync"},
    {"both reversed", {7}, {-2}, {-3}, 20, 30, "cudaMemcpy2DAsync"},
    {"four dimensions that are two",
     {2, 3, 4, 5},
     {60, 20, 5, 1},
     {96, 32, 8, 1},
     0,
     0,
     "cudaMemcpy2DAsync"},
    {"four dimensions that are three",
     {2, 3, 4, 5},
     {60, 20, 5, 1},
     {240, 80, 8, 1},
     0,
     0,
     "cudaMemcpy3DAsync"},
    {"slices of rows, all padded", {2, 3, 5}, {40, 8, 1}, {42, 7, 1}, 2, 3, "cudaMemcpy3DAsync"},
    {"slices that are not whole rows", {2, 3, 5}, {15, 5, 1}, {33, 8, 1}, 0, 0, nullptr},
    {"a transpose", {4, 5}, {5, 1}, {1, 4}, 0, 0, nullptr},
    {"a repeated row", {4, 5}, {5, 1}, {0, 1}, 0, 0, nullptr},
    {"one side reversed", {7}, {1}, {-1}, 0, 10, nullptr},
    {"four dimensions, all padded", {2, 3, 4, 2}, {150, 40, 4, 1}, {80, 24, 6, 1}, 0, 0, nullptr},
};
constexpr int64_t kRoom = 512;  // elements of each memory

Ints numbers(int32_t first) {
  Ints out(kRoom);
  std::iota(out.begin(), out.end(), first);
  return out;
}

/// Memory of a device, or of the host.
struct Memory {
  Backend& backend;
  int32_t* data;
  explicit Memory(Backend& b, const Ints& values)
      : backend(b), data(static_cast<int32_t*>(b.allocate(kRoom * 4, 64))) {
    REQUIRE(backend.copy_from_host(data, values.data(), kRoom * 4) == Error::Ok);
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory() { backend.deallocate(data, kRoom * 4); }
  Ints values() const {
    Ints out(kRoom);
    REQUIRE(backend.copy_to_host(out.data(), data, kRoom * 4) == Error::Ok);
    return out;
  }
  ViewWithLists view(const Vector& sizes, const Vector& strides, int64_t offset) const {
    return {data + offset, ScalarType::Int, backend.device(), sizes, strides};
  }
};

/// Copies by dst_backend or src_backend, whichever is a CudaBackend, and checks calls and elements.
void check_copy(const Case& c, Backend& dst_backend, Backend& src_backend, CudaBackend& cuda) {
  INFO(c.name);
  const Memory dst(dst_backend, numbers(1000));
  const Memory src(src_backend, numbers(0));
  const ViewWithLists to = dst.view(c.sizes, c.dst, c.dst_offset);
  const ViewWithLists from = src.view(c.sizes, c.src, c.src_offset);
  REQUIRE(cuda.synchronize() == Error::Ok);
  Error error = Error::Ok;
  const bool to_host = to.device.is_host_accessible();
  const bool from_host = from.device.is_host_accessible();
  const Texts calls = calls_of([&] { error = cuda.copy(to, from, CastMode::Checked); });
  if (c.call == nullptr) {
    CHECK(error == Error::NotSupported);
    CHECK(calls == Texts());
  } else {
    CHECK(error == Error::Ok);
    Texts expected{c.call};
    if (from_host) {
      expected = {"cudaStreamIsCapturing", "cudaGetDevice", "cudaPointerGetAttributes", c.call};
    }
    const bool waits = to_host || (from_host && !from.device.is_cpu());
    if (waits) expected.push_back("cudaStreamSynchronize");
    CHECK(calls == expected);
  }
  // As tensors: all copies are done, by some way.
  const auto tensor = [](const Memory& memory, const Case& k, bool is_dst) {
    return from_blob(memory.data + (is_dst ? k.dst_offset : k.src_offset), k.sizes,
                     is_dst ? k.dst : k.src, ScalarType::Int, memory.backend);
  };
  REQUIRE(copy_(tensor(dst, c, true), tensor(src, c, false)) == Error::Ok);
  Ints expected = numbers(1000);
  const Vector to_at = element_offsets(c.sizes, c.dst, c.dst_offset);
  const Vector from_at = element_offsets(c.sizes, c.src, c.src_offset);
  for (size_t i = 0; i < to_at.size(); ++i) {
    expected[static_cast<size_t>(to_at[i])] = static_cast<int32_t>(from_at[i]);
  }
  CHECK(dst.values() == expected);
}

}  // namespace

TEST_CASE("cuda copy: strided, from the host to the device: one call") {
  const Simulation simulation;
  CudaBackend cuda;
  for (const Case& c : kCases) check_copy(c, cuda, host_backend(), cuda);
}

TEST_CASE("cuda copy: strided, from the device to the host: one call") {
  const Simulation simulation;
  CudaBackend cuda;
  for (const Case& c : kCases) check_copy(c, host_backend(), cuda, cuda);
}

TEST_CASE("cuda copy: strided, between pinned or managed memory and the device: one call") {
  const Simulation simulation;
  CudaBackend cuda(0, nullptr);
  PinnedBackend pinned;
  ManagedBackend managed;
  REQUIRE(cudaSetDevice(0) == cudaSuccess);
  for (Backend* host : {static_cast<Backend*>(&pinned), static_cast<Backend*>(&managed)}) {
    TensorPtr device = iota({40}, ScalarType::Int, cuda);
    TensorPtr column = zeros({40, 3}, ScalarType::Int, *host);
    REQUIRE(copy_(select(column, 1, 1), device) == Error::Ok);
    CHECK(to_binary(select(column, 1, 1)) == to_binary(iota({40}, ScalarType::Int)));
    REQUIRE(copy_(device, select(column, 1, 0)) == Error::Ok);
    REQUIRE(fill_(column, 7) == Error::Ok);  // not too early
    CHECK(to_binary(device) == to_binary(zeros({40}, ScalarType::Int)));
  }
}

TEST_CASE("cuda copy: strided, within the device: one call and no waiting") {
  const Simulation simulation;
  CudaBackend cuda;
  for (const Case& c : kCases) check_copy(c, cuda, cuda, cuda);
}

TEST_CASE("cuda copy: pitches above CUDA's largest are left to the host") {
  const Simulation simulation;
  CudaBackend cuda;
  void* const p = cuda.allocate(64, 64);
  const ViewWithLists far{p, ScalarType::Int, cuda.device(), {2, 4}, {int64_t{1} << 30, 1}};
  const ViewWithLists near{
      static_cast<char*>(p) + 32, ScalarType::Int, cuda.device(), {2, 4}, {4, 1}};
  CHECK(cuda.copy(near, far, CastMode::Checked) == Error::NotSupported);
  const int32_t zero = 0;
  CHECK(cuda.constant(far, &zero) == Error::NotSupported);
  cuda.deallocate(p, 64);
}

TEST_CASE("cuda constant: one byte for all is memset, in one call") {
  const Simulation simulation;
  CudaBackend cuda;
  const TensorPtr t = zeros({4, 5, 6}, ScalarType::Int, cuda);
  const auto filled = [&](const auto& view, const own::Scalar& value) {
    Texts calls = calls_of([&] { REQUIRE(fill_(view, value) == Error::Ok); });
    calls.erase(std::remove(calls.begin(), calls.end(), "cudaGetDevice"), calls.end());
    return calls;
  };
  CHECK(filled(t, -1) == Texts{"cudaMemsetAsync"});
  CHECK(filled(select(t, 2, 1), 0) == Texts{"cudaMemset2DAsync"});
  CHECK(filled(narrow(t, 1, 1, 2), 0x01010101) == Texts{"cudaMemset2DAsync"});
  CHECK(filled(select(select(t, 0, 0), 0, 0), 0) == Texts{"cudaMemsetAsync"});
  const TensorPtr expected = full({4, 5, 6}, -1, ScalarType::Int);
  REQUIRE(fill_(select(expected, 2, 1), 0) == Error::Ok);
  REQUIRE(fill_(narrow(expected, 1, 1, 2), 0x01010101) == Error::Ok);
  REQUIRE(fill_(select(select(expected, 0, 0), 0, 0), 0) == Error::Ok);
  CHECK(to_binary(t) == to_binary(expected));

  REQUIRE(fill_(narrow(narrow(t, 1, 0, 2), 2, 0, 3), 0) == Error::Ok);  // slices of rows
  REQUIRE(fill_(select(t, 0, 3), 5) == Error::Ok);                      // bytes that differ
  REQUIRE(fill_(narrow(narrow(expected, 1, 0, 2), 2, 0, 3), 0) == Error::Ok);
  REQUIRE(fill_(select(expected, 0, 3), 5) == Error::Ok);
  CHECK(to_binary(t) == to_binary(expected));
}

TEST_CASE("cuda copy: a conversion from rows of the device fetches them in one call") {
  const Simulation simulation;
  CudaBackend cuda;
  const TensorPtr image = iota({100, 50}, ScalarType::Float, cuda);
  const Tensor crop = narrow(image, 1, 10, 5);
  TensorPtr host = zeros({100, 5}, ScalarType::Double);
  Texts calls = calls_of([&] { REQUIRE(copy_(host, crop) == Error::Ok); });
  CHECK(std::count(calls.begin(), calls.end(), "cudaMemcpyAsync") +
            std::count(calls.begin(), calls.end(), "cudaMemcpy2DAsync") ==
        1);
  CHECK(to_binary(host) == to_binary(narrow(iota({100, 50}, ScalarType::Double), 1, 10, 5)));

  const TensorPtr wide = zeros({20, 3000}, ScalarType::Int, cuda);
  const Tensor part = narrow(wide, 1, 100, 2000);
  calls = calls_of([&] { REQUIRE(copy_(part, ones({20, 2000}, ScalarType::Int)) == Error::Ok); });
  CHECK(calls == Texts{"cudaStreamIsCapturing", "cudaGetDevice", "cudaPointerGetAttributes",
                       "cudaMemcpy2DAsync"});
  const TensorPtr expected = zeros({20, 3000}, ScalarType::Int);
  REQUIRE(fill_(narrow(expected, 1, 100, 2000), 1) == Error::Ok);
  CHECK(to_binary(wide) == to_binary(expected));
}

TEST_CASE("cuda copy: windows that overlap in the source are no box, and are copied all the same") {
  const Simulation simulation;
  CudaBackend backend(0, with_kernels(GENERATE(false, true)));
  const TensorPtr host = iota({64}, ScalarType::Int);
  const TensorPtr there = backend_copy(host, backend);
  const Dims sizes{3, 4, 2};
  const Dims strides{4, 3, 1};  // slices begin in the rows of the one before
  const TensorPtr out = zeros(sizes, ScalarType::Int, backend);
  REQUIRE(copy_(out, as_strided(there, sizes, strides)) == Error::Ok);
  CHECK(to_binary(out) == to_binary(as_strided(host, sizes, strides)));
}

}  // namespace copies_test
