// SPDX-License-Identifier: MIT
// The backends that programs use: all of the library's, wrapped in one another, and one of ours
// whose memory the host cannot touch, which checks what it is told to do, fails, and calls back.
#pragma once

#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>

#include "fuzz/input.h"
#include "kernels/cast_reference.h"
#include "tenon/backend/pool.h"
#include "tenon/backend/tracking.h"
#include "tenon/tenon.h"
#include "tenon/tensor/expr.h"

#if __has_include(<memory_resource>)
#include <memory_resource>

#include "tenon/backend/pmr.h"
#endif

namespace fuzz {

using tenon::Backend;
using tenon::Error;

/// What happens in some later call of a FuzzBackend.
struct Trouble {
  enum class Kind { None, Fails, Throws, CallsBack } kind = Kind::None;
  int calls_before = 0;
  std::function<void(bool in_allocate)> call_back;
  bool happened = false;     // since the program's step began
  bool called_back = false;  // the same

  /// Whether this call is to be the one that fails.
  bool is_due(bool in_allocate) {
    if (kind == Kind::None || calls_before-- > 0) return false;
    const Kind due = kind;
    kind = Kind::None;
    if (due == Kind::CallsBack) {
      called_back = true;
      call_back(in_allocate);
      return false;
    }
    happened = true;
    if (due == Kind::Throws && !in_allocate) throw Thrown();
    return true;
  }
};

/// Memory of the heap. On a device, its addresses are not those of the memory: the host that reads
/// one is stopped by the processor.
class FuzzBackend final : public Backend {
 public:
  FuzzBackend(const char* name, tenon::Device device, Trouble& trouble)
      : name_(name),
        device_(device),
        shift_(device.is_cpu() || sizeof(void*) < 8 ? 0 : uintptr_t{1} << (sizeof(void*) * 8 - 2)),
        trouble_(trouble) {}
  ~FuzzBackend() override { FUZZ_CHECK(blocks_.empty()); }

  bool does_optional = false;  // whether copy() and constant() are there

  const char* name() const noexcept override { return name_; }
  tenon::Device device() const noexcept override { return device_; }
  bool is_opaque() const noexcept override { return !device_.is_cpu(); }
  void* allocate(size_t nbytes, size_t alignment) noexcept override {
    FUZZ_CHECK(nbytes > 0 && (alignment & (alignment - 1)) == 0);
    if (trouble_.is_due(true)) return nullptr;
    void* const memory =
        std::aligned_alloc(alignment, (nbytes + alignment - 1) / alignment * alignment);
    if (memory == nullptr) return nullptr;
    std::memset(memory, 0xcd, nbytes);
    blocks_[reinterpret_cast<uintptr_t>(memory)] = nbytes;
    return reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(memory) + shift_);
  }
  void deallocate(void* p, size_t nbytes) noexcept override {
    const auto block = blocks_.find(reinterpret_cast<uintptr_t>(p) - shift_);
    FUZZ_CHECK(block != blocks_.end() && block->second == nbytes);
    std::free(reinterpret_cast<void*>(block->first));
    blocks_.erase(block);
  }
  Error copy_from_host(void* dst, const void* src, size_t nbytes) override {
    if (trouble_.is_due(false)) return Error::AccessFailed;
    std::memcpy(at(dst, nbytes), src, nbytes);
    return Error::Ok;
  }
  Error copy_to_host(void* dst, const void* src, size_t nbytes) override {
    if (trouble_.is_due(false)) return Error::AccessFailed;
    std::memcpy(dst, at(src, nbytes), nbytes);
    return Error::Ok;
  }
  Error copy_within(void* dst, const void* src, size_t nbytes) override {
    if (trouble_.is_due(false)) return Error::AccessFailed;
    char* const to = at(dst, nbytes);
    const char* const from = at(src, nbytes);
    FUZZ_CHECK(to + nbytes <= from || from + nbytes <= to);
    std::memcpy(to, from, nbytes);
    return Error::Ok;
  }
  Error synchronize() override { return trouble_.is_due(false) ? Error::AccessFailed : Error::Ok; }

  Error copy(const tenon::TensorView& dst, const tenon::TensorView& src,
             tenon::CastMode mode) override {
    if (!does_optional || !reaches(dst) || !reaches(src)) return Error::NotSupported;
    if (trouble_.is_due(false)) return Error::AccessFailed;
    FUZZ_CHECK(list(dst.sizes) == list(src.sizes));
    const auto to = addresses(dst);
    const auto from = addresses(src);
    const size_t item = tenon::elementSize(src.type);
    for (size_t i = 0; i < to.size(); ++i) {
      tests::cast_by_hand(
          dst.type,
          reinterpret_cast<unsigned char*>(reach(dst, to[i], tenon::elementSize(dst.type))),
          src.type, reinterpret_cast<unsigned char*>(reach(src, from[i], item)), mode);
    }
    return Error::Ok;
  }
  Error constant(const tenon::TensorView& out, const void* element) override {
    if (!does_optional) return Error::NotSupported;
    if (trouble_.is_due(false)) return Error::AccessFailed;
    const size_t item = tenon::elementSize(out.type);
    for (const char* p : addresses(out)) std::memcpy(at(p, item), element, item);
    return Error::Ok;
  }

  /// The real address of the memory that a tensor's address stands for.
  char* at(const void* p, size_t nbytes) {
    const uintptr_t address = reinterpret_cast<uintptr_t>(p) - shift_;
    auto block = blocks_.upper_bound(address);
    FUZZ_CHECK(block != blocks_.begin());
    --block;
    FUZZ_CHECK(address + nbytes <= block->first + block->second);
    return reinterpret_cast<char*>(address);
  }

 private:
  static tests::Vector list(const tenon::Dims& dims) { return {dims.begin(), dims.end()}; }
  static std::vector<const char*> addresses(const tenon::TensorView& view) {
    std::vector<const char*> out;
    const auto item = static_cast<int64_t>(tenon::elementSize(view.type));
    for (int64_t i : tests::element_offsets(list(view.sizes), list(view.strides))) {
      out.push_back(static_cast<const char*>(view.data) + i * item);
    }
    return out;
  }
  bool reaches(const tenon::TensorView& view) const {
    return view.device == device_ || view.device.is_cpu();
  }
  char* reach(const tenon::TensorView& view, const char* p, size_t nbytes) {
    const bool is_mine = view.device == device_ && shift_ != 0;
    return is_mine ? at(p, nbytes) : const_cast<char*>(p);
  }

  const char* name_;
  const tenon::Device device_;
  const uintptr_t shift_;
  Trouble& trouble_;
  std::map<uintptr_t, size_t> blocks_;
};

/// All backends of a program.
struct Backends {
  Trouble trouble;
  // Made once, as that takes time; enough for all tensors of a program.
  static tests::Bytes& arena_memory() {
    static tests::Bytes memory(size_t{1} << 21);
    return memory;
  }
  tenon::ArenaBackend arena{arena_memory().data(), arena_memory().size()};
#if __has_include(<memory_resource>)
  std::pmr::unsynchronized_pool_resource resource;
  tenon::PmrBackend pmr{&resource};
#else
  FuzzBackend pmr{"pmr", tenon::Device(), trouble};
#endif
  tenon::MetaBackend templates;
  tenon::ExprBackend expr;
  FuzzBackend device{"device", tenon::Device(tenon::DeviceType::ExtDev, 0), trouble};
  FuzzBackend other{"other", tenon::Device(tenon::DeviceType::ExtDev, 1), trouble};
  FuzzBackend host{"host", tenon::Device(), trouble};
  tenon::TrackingBackend tracked_device{device};
  tenon::PoolBackend pooled_device{device};
  tenon::PoolBackend pooled_host{host};
  tenon::TrackingBackend tracked_pool{pooled_host};
  tenon::TrackingBackend tracked_arena{arena};

  static constexpr size_t kCount = 14;
  /// Null for none.
  Backend* operator[](size_t i) {
    Backend* const all[kCount] = {nullptr,         &tenon::host_backend(),
                                  &arena,          &pmr,
                                  &templates,      &device,
                                  &other,          &host,
                                  &tracked_device, &pooled_device,
                                  &pooled_host,    &tracked_pool,
                                  &tracked_arena,  &expr};
    return all[i];
  }
};

}  // namespace fuzz
