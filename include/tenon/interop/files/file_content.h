// SPDX-License-Identifier: MIT
// FileContent: a file's content that is already in memory, for the functions that open files.
#pragma once

#include "tenon/exchange/blob.h"
#include "tenon/interop/files/file.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// A file's content in memory: a contiguous Blob or tensor, of any dtype, in host memory. Objects
/// that are opened from it keep the Blob's owner or the tensor's memory alive. If a Blob has no
/// owner, the caller keeps the memory alive as long as those objects and their tensors exist.
class FileContent {
 public:
  FileContent(Blob bytes) noexcept : bytes_(std::move(bytes)), is_blob_(true) {}
  FileContent(const Tensor& bytes) noexcept : tensor_(bytes) {}
  FileContent(const TensorPtr& bytes) noexcept : tensor_(bytes != nullptr ? *bytes : Tensor()) {}

  /// Describes the content in `file`.
  /// Errors: InvalidState (undefined; a placeholder); InvalidArgument (not contiguous, or not in
  /// host memory); those of Blob::as_view().
  Error describe(FileBytes& file) const {
    Blob bytes;
    if (is_blob_) {
      bytes = bytes_;
    } else {
      TENON_TRY(make_blob(tensor_, bytes));
    }
    Layout layout;
    TENON_TRY(check_owner(bytes));
    TENON_TRY(make_blob_layout(bytes, layout));
    const size_t size = static_cast<size_t>(layout.numel) * elementSize(own_type(bytes.dtype));
    if (!bytes.device.is_host_accessible() || !layout.is_contiguous() ||
        (bytes.data == nullptr && size != 0)) {
      return fail(Error::InvalidArgument, "the bytes are not contiguous, or not in host memory");
    }
    file.data = static_cast<const unsigned char*>(bytes.data);
    file.size = size;
    file.release = Deleter(nullptr, [owner = std::move(bytes.owner)](void*) noexcept {});
    return Error::Ok;
  }

 private:
  Blob bytes_;
  Tensor tensor_;
  bool is_blob_ = false;
};

inline Error FileBytes::open(const FileContent& content) { return content.describe(*this); }

}  // namespace detail
TENON_END_NAMESPACE
