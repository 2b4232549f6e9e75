// SPDX-License-Identifier: MIT
// The decoder's pictures as tensors.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "decoder.h"
#include "tenon/backend/cuda.h"
#include "tenon/tenon.h"

constexpr int64_t kHeight = 3;
constexpr int64_t kWidth = 5;
constexpr int64_t kPitch = 8;  // floats from one row of the output to the next

// As DLPack and tenon number streams that are not CUDA's default ones.
inline int64_t number_of(cudaStream_t stream) { return reinterpret_cast<int64_t>(stream); }

/// The next picture as a tensor over the decoder's memory, or null.
///
/// Their work is ordered both ways on the GPU, where no host waits: the backend's stream after the
/// decoder's, and the decoder's after the backend's before it may have the picture again.
tenon::TensorPtr next_picture(Decoder& decoder, tenon::CudaBackend& cuda);

/// Copies the whole film into memory of Decoder::kFilm x kHeight x kPitch floats on the GPU, of
/// which the first kWidth of each row are written.
void copy_film(Decoder& decoder, tenon::CudaBackend& cuda, const tenon::Tensor& memory);
