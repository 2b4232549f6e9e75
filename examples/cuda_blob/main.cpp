// SPDX-License-Identifier: MIT
// Pictures of a decoder that has its own memory and its own stream on the GPU (decoder.h). Each is
// wrapped without a copy, copied into a tensor with padded rows by one call, and given back while
// the GPU is still at it; the tensor is handed on by DLPack. The host does not wait until it fetches.
#include <cuda_runtime_api.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

#include "pictures.h"
#if defined(TENON_CUDA_SIMULATED)
#include "simulated_cuda.h"  // tests/unit/cuda/simulated
#endif

using tenon::Blob;
using tenon::check;
using tenon::CudaBackend;
using tenon::Error;
using tenon::ScalarType;
using tenon::Tensor;
using tenon::TensorPtr;

#if defined(TENON_CUDA_SIMULATED)
constexpr const char* kWhere = "the simulated CUDA runtime: nothing of this is a GPU's work";
int64_t count_waits() {
  return simulated_cuda::calls("cudaStreamSynchronize") +
         simulated_cuda::calls("cudaDeviceSynchronize") +
         simulated_cuda::calls("cudaEventSynchronize");
}
#else
constexpr const char* kWhere = "the first GPU that CUDA lists";
int64_t count_waits() { return -1; }  // not counted
#endif

void expect(bool right, const char* what) {
  if (!right) throw std::runtime_error(std::string("not as expected: ") + what);
}

/// Somebody who knows CUDA and DLPack, not tenon: fetches the pictures on a stream of its own.
std::vector<float> fetch(tenon::dlpack::DLManagedTensorVersioned* exported, cudaStream_t stream) {
  const tenon::dlpack::DLTensor& t = exported->dl_tensor;
  const auto rows = static_cast<size_t>(t.shape[0] * t.shape[1]);
  const auto width = static_cast<size_t>(t.shape[2]);
  std::vector<float> values(rows * width);
  cudaMemcpy2DAsync(values.data(), width * sizeof(float), t.data,
                    static_cast<size_t>(t.strides[1]) * sizeof(float), width * sizeof(float), rows,
                    cudaMemcpyDeviceToHost, stream);
  const cudaError_t error = cudaStreamSynchronize(stream);
  exported->deleter(exported);
  expect(error == cudaSuccess, cudaGetErrorString(error));
  return values;
}

/// Prints what tenon says to a call that is wrong.
void mistake(const char* what, Error error) {
  expect(error != Error::Ok, what);
  std::printf("  %s\n    %s\n", what, tenon::last_error_message());
}

void make_mistakes(CudaBackend& cuda, const Tensor& output) {
  static float on_host[kHeight * kWidth];
  std::printf("\n  The usual mistakes, after which nothing has changed:\n\n");
  mistake("the host's memory, said to be the GPU's",
          tenon::try_from_blob(on_host, {kHeight, kWidth}, cuda).error());
  const Tensor first = tenon::select(output, 0, 0);
  mistake(
      "width before height",
      tenon::assign(
          first,
          Blob{first.mutable_data_ptr(), {kWidth, kHeight}, {}, ScalarType::Float, cuda.device()}));
  mistake("more than the block has",
          tenon::try_from_blob(first.mutable_data_ptr(), {1 << 20}, cuda).error());
}

void run() {
  CudaBackend cuda;
  tenon::register_backend(cuda);  // for blobs, which name a device
  Decoder decoder(kWidth, kHeight);
  cudaStream_t consumer = nullptr;
  expect(cudaStreamCreateWithFlags(&consumer, cudaStreamNonBlocking) == cudaSuccess, "a stream");
  std::printf("\n  On %s.\n", kWhere);

  // The last 3 of each row's 8 floats are nobody's.
  const TensorPtr memory = tenon::zeros({Decoder::kFilm, kHeight, kPitch}, ScalarType::Float, cuda);
  const Tensor output = tenon::narrow(memory, 2, 0, kWidth);
  const int64_t waits = count_waits();
  copy_film(decoder, cuda, *memory);
  expect(decoder.lent() == 0, "every picture was given back");
  check(cuda.order_before(number_of(consumer)));
  tenon::dlpack::DLManagedTensorVersioned* const exported = tenon::to_dlpack(output);
  if (waits >= 0) {
    expect(count_waits() == waits, "nothing waits");
    std::printf("  The host has waited %d times for %d pictures in %d slots.\n",
                static_cast<int>(count_waits() - waits), Decoder::kFilm, Decoder::kSlots);
  }

  const std::vector<float> values = fetch(exported, consumer);
  cudaStreamDestroy(consumer);
  for (int64_t i = 0; i < output.numel(); ++i) {
    const auto [n, pixel] = std::div(i, kHeight * kWidth);
    const float right = Decoder::pixel(static_cast<int>(n), static_cast<int>(pixel / kWidth),
                                       static_cast<int>(pixel % kWidth));
    expect(values[static_cast<size_t>(i)] == right, "a pixel that DLPack's consumer has");
  }
  const Tensor last = tenon::select(memory, 0, Decoder::kFilm - 1);
  std::printf("\n  The last picture and its rows' padding, fetched for this:\n\n%s\n",
              tenon::to_string(last).c_str());
  const Tensor padding = tenon::narrow(memory, 2, kWidth, kPitch - kWidth);
  for (const uint8_t byte : tenon::to_binary(padding)) expect(byte == 0, "the padding");

  make_mistakes(cuda, output);
}

int main() {
  try {
    run();
    return 0;
  } catch (const tenon::Exception& error) {
    // CTest counts 77 as skipped: the runtime is there, a device is not.
    int devices = 0;
    const bool no_device = cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0;
    std::fprintf(stderr, "cuda_blob: %s%s\n", no_device ? "tenon: skipped: " : "", error.what());
    return no_device ? 77 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "cuda_blob: %s\n", error.what());
    return 1;
  }
}
