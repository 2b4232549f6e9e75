// SPDX-License-Identifier: MIT
// ONNX Runtime's C API, whether there is one (TENON_HAS_ONNXRUNTIME), and its errors as tenon's.
#pragma once

#include <memory>

#include "tenon/config.h"
#include "tenon/core/error.h"

#if defined(__has_include)
#if __has_include(<onnxruntime_c_api.h>)
#define TENON_HAS_ONNXRUNTIME 1
#include <onnxruntime_c_api.h>
#endif
#endif

#if defined(TENON_HAS_ONNXRUNTIME)

TENON_BEGIN_NAMESPACE
namespace detail {

/// The library's functions, as the header at hand lists them; null from a library that is older.
/// Cost: asking is as cheap as keeping what it says.
inline const OrtApi* onnx_api() noexcept { return OrtGetApiBase()->GetApi(ORT_API_VERSION); }

/// The kind of error that it is here. Of a model that is broken: InvalidArgument; of a run that
/// went wrong, for which the library has no finer kinds: NotSupported.
constexpr Error own_error(OrtErrorCode code) noexcept {
  switch (code) {
    case ORT_OK: return Error::Ok;
    case ORT_INVALID_ARGUMENT:
    case ORT_NO_MODEL:
    case ORT_INVALID_PROTOBUF:
    case ORT_INVALID_GRAPH: return Error::InvalidArgument;
    case ORT_NO_SUCHFILE: return Error::NotFound;
    case ORT_MODEL_LOADED: return Error::InvalidState;
    default: return Error::NotSupported;
  }
}

/// The status of a call, which is released: Ok, or the error with the message "ONNX Runtime: <its
/// text>".
inline Error check_onnx(const OrtApi& api, OrtStatus* status) noexcept {
  if (status == nullptr) return Error::Ok;
  const Error error =
      fail(own_error(api.GetErrorCode(status)), {"ONNX Runtime: ", api.GetErrorMessage(status)});
  api.ReleaseStatus(status);
  return error;
}

template <class T>
struct OnnxRelease {
  void(ORT_API_CALL* release)(T*) = nullptr;
  void operator()(T* object) const noexcept { release(object); }
};

/// Owns one of the library's objects.
template <class T>
using OnnxHandle = std::unique_ptr<T, OnnxRelease<T>>;

/// Puts what `create(&object)` makes into `made`, which is to be released by `release`.
template <class T, class Create>
Error make_onnx(const OrtApi& api, void(ORT_API_CALL* release)(T*), OnnxHandle<T>& made,
                const Create& create) noexcept {
  T* object = nullptr;
  TENON_TRY(check_onnx(api, create(&object)));
  made = OnnxHandle<T>(object, OnnxRelease<T>{release});
  return Error::Ok;
}

}  // namespace detail
TENON_END_NAMESPACE

#endif
