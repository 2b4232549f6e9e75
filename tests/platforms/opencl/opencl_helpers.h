// SPDX-License-Identifier: MIT
// What the tests of examples/opencl_backend share: the device, and memory on it.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "opencl_backend.h"
#include "support/catch.h"
#include "support/shapes.h"
#include "tenon/core/tensor_view.h"

namespace tests {

/// The first device. Without one the program ends as skipped.
inline OpenClBackend& opencl() {
  static OpenClBackend* const backend = [] {
    try {
      return new OpenClBackend;  // not destroyed: the runtime's own statics may be gone by then
    } catch (const tenon::Exception& e) {
      std::printf("tenon: skipped: %s\n", e.what());
      std::exit(77);
    }
  }();
  return *backend;
}

/// Bytes that differ from their neighbours.
inline Bytes pattern(size_t nbytes, unsigned seed) {
  Bytes bytes(nbytes);
  for (size_t i = 0; i < nbytes; ++i) {
    bytes[i] = static_cast<unsigned char>((i * 2654435761u + seed * 40503u) >> 7);
  }
  return bytes;
}

/// Device memory with contents, for as long as a test needs it.
class Memory {
 public:
  explicit Memory(const Bytes& bytes) : nbytes_(bytes.size()) {
    data_ = opencl().allocate(nbytes_, 64);
    REQUIRE(data_ != nullptr);
    REQUIRE(opencl().copy_from_host(data_, bytes.data(), nbytes_) == tenon::Error::Ok);
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory() { opencl().deallocate(data_, nbytes_); }

  char* data() const { return static_cast<char*>(data_); }
  Bytes bytes() const {
    Bytes copy(nbytes_);
    REQUIRE(opencl().copy_to_host(copy.data(), data_, nbytes_) == tenon::Error::Ok);
    return copy;
  }

 private:
  void* data_;
  size_t nbytes_;
};

}  // namespace tests
