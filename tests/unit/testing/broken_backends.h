// SPDX-License-Identifier: MIT
// A backend that does everything itself, rightly, and is easy to break in one place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>

#include "support/catch.h"
#include "tenon/backend/backend.h"
#include "tenon/exchange/binary.h"
#include "tenon/tenon.h"
#include "tenon/testing/trial.h"

namespace tests {

/// A bounded device in host memory that pretends to be out of the host's reach. Its optional
/// functions are those of the library on the host.
class HonestBackend : public tenon::HostMemoryBackend {
 public:
  using Error = tenon::Error;
  using View = tenon::TensorView;

  ~HonestBackend() override {
    for (const auto& block : blocks_) std::free(block.second);
  }
  const char* name() const noexcept override { return "honest"; }
  tenon::Device device() const noexcept override {
    return tenon::Device(tenon::DeviceType::ExtDev, 1);
  }
  bool is_opaque() const noexcept override { return true; }

  void* allocate(size_t nbytes, size_t alignment) noexcept override {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (nbytes > kLimit - used_ || alignment > kLimit) return nullptr;
    auto* const base = static_cast<char*>(std::malloc(nbytes + alignment + 2 * kMargin));
    if (base == nullptr) return nullptr;
    std::memset(base, 0xa5, nbytes + alignment + 2 * kMargin);
    char* const first = base + kMargin;
    char* const data = first + (uintptr_t{0} - reinterpret_cast<uintptr_t>(first)) % alignment;
    blocks_[data] = base;
    used_ += nbytes;
    return data;
  }
  void deallocate(void* p, size_t nbytes) noexcept override {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = blocks_.find(p);
    used_ -= nbytes;
    std::free(found->second);
    blocks_.erase(found);
  }

  Error copy(const View& dst, const View& src, tenon::CastMode mode) override {
    return tenon::copy_(*on_host(dst), *on_host(src), mode);
  }
  Error constant(const View& out, const void* element) override {
    const View one{const_cast<void*>(element), out.type, tenon::Device(), {}, {}};
    return tenon::copy_(on_host(out), on_host(one));
  }
  Error eye(const View& out) override {
    return tenon::copy_(on_host(out),
                        tenon::eye(out.sizes[0], out.sizes[1], out.type, tenon::host_backend()));
  }
  Error iota(const View& out, tenon::OptionalIndex axis) override {
    return tenon::copy_(on_host(out),
                        tenon::iota(out.sizes, axis, out.type, tenon::host_backend()));
  }
  Error from_binary(const View& out, const void* bytes, size_t nbytes) override {
    return tenon::copy_(on_host(out), tenon::from_binary(bytes, nbytes, out.sizes, out.type,
                                                         tenon::host_backend()));
  }
  Error to_binary(const View& in, int64_t count, void* bytes) override {
    const auto binary = tenon::to_binary(on_host(in), count);
    std::memcpy(bytes, binary.data(), binary.size());
    return Error::Ok;
  }
  Error random_uniform(const View& out, double min, double max,
                       const tenon::Generator::State& start) override {
    tenon::Generator generator(start.seed, start.offset);
    return tenon::uniform_(on_host(out), min, max, generator);
  }
  Error random_normal(const View& out, double mu, double sigma,
                      const tenon::Generator::State& start) override {
    tenon::Generator generator(start.seed, start.offset);
    return tenon::normal_(on_host(out), mu, sigma, generator);
  }
  Error random_integers(const View& out, int64_t low, int64_t last,
                        const tenon::Generator::State& start) override {
    tenon::Generator generator(start.seed, start.offset);
    return tenon::random_(on_host(out), low, last + 1, generator);
  }

 protected:
  static tenon::TensorPtr on_host(const View& view) {
    return tenon::make_tensor_ptr(view.sizes, view.data, {}, view.strides, view.type);
  }
  /// A view with row-major strides, for what is to ignore its own.
  struct WithoutStrides : View {
    explicit WithoutStrides(const View& view) : View(view) {
      int64_t step = 1;
      for (size_t d = sizes.size(); d-- > 0; step *= sizes[d]) rows_[d] = step;
      strides = {rows_, sizes.size()};
    }
    WithoutStrides(const WithoutStrides&) = delete;
    WithoutStrides& operator=(const WithoutStrides&) = delete;

   private:
    int64_t rows_[tenon::kMaxDims] = {};
  };

 private:
  static constexpr size_t kLimit = size_t{64} << 20;
  static constexpr size_t kMargin = 4096;  // on both sides, for those that miss a block
  std::mutex mutex_;
  size_t used_ = 0;
  std::map<void*, void*> blocks_;
};

/// What a case finds in a new backend of that class.
template <class Broken>
std::string found_in(void (*run)(tenon::testing::Trial& trial)) {
  Broken backend;
  tenon::testing::BackendTraits traits;
  tenon::testing::Report report;
  tenon::testing::Trial trial(backend, traits, report);
  run(trial);
  return report.text();
}

}  // namespace tests

/// The case finds something, and says these words of it.
#define CHECK_FOUND(words, Broken, run)                       \
  do {                                                        \
    const std::string text_ = ::tests::found_in<Broken>(run); \
    INFO("found: " << text_);                                 \
    CHECK(::tests::contains(text_, words));                   \
  } while (false)

/// The case finds nothing.
#define CHECK_PASSES(Honest, run) CHECK(::tests::found_in<Honest>(run) == "")
