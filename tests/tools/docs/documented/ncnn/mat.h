// SPDX-License-Identifier: MIT
// ncnn::Mat: the constructors and fields that ncnn documents and docs/recipes_libraries.md uses.
#pragma once

#include <cstddef>
#include <cstdlib>

namespace ncnn {

class Mat {
 public:
  Mat() = default;
  Mat(int width, int height, int channels, size_t element = 4) {
    create(width, height, channels, element);
  }
  // Memory of somebody else's: no count.
  Mat(int width, int height, int channels, void* memory, size_t element = 4) {
    shape(width, height, channels, element);
    data = memory;
  }
  Mat(const Mat& m) { share(m); }
  ~Mat() { release(); }
  Mat& operator=(const Mat& m) {
    if (m.refcount != nullptr) ++*m.refcount;
    release();
    share(m);
    if (refcount != nullptr) --*refcount;
    return *this;
  }

  void create(int width, int height, int channels, size_t element = 4) {
    release();
    shape(width, height, channels, element);
    data = std::malloc(cstep * static_cast<size_t>(c) * elemsize);
    refcount = new int(1);
  }
  void release() {
    if (refcount != nullptr && --*refcount == 0) {
      std::free(data);
      delete refcount;
    }
    data = nullptr;
    refcount = nullptr;
  }

  void* data = nullptr;
  int* refcount = nullptr;
  size_t elemsize = 0;  // bytes
  int elempack = 0;     // numbers in an element
  int dims = 0;
  int w = 0, h = 0, d = 0, c = 0;
  size_t cstep = 0;  // elements from a channel to the next, a multiple of 16 bytes

 private:
  void shape(int width, int height, int channels, size_t element) {
    elemsize = element, elempack = 1, dims = 3;
    w = width, h = height, d = 1, c = channels;
    const size_t bytes = static_cast<size_t>(w) * static_cast<size_t>(h) * elemsize;
    cstep = (bytes + 15) / 16 * 16 / elemsize;
  }
  void share(const Mat& m) {
    data = m.data, refcount = m.refcount, elemsize = m.elemsize, elempack = m.elempack;
    dims = m.dims, w = m.w, h = m.h, d = m.d, c = m.c, cstep = m.cstep;
    if (refcount != nullptr) ++*refcount;
  }
};

}  // namespace ncnn
