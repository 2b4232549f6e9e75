// SPDX-License-Identifier: MIT
// A program: a table of tensors with their models, how its bytes choose, and what is compared after
// each step.
#pragma once

#include <array>
#include <deque>
#include <optional>

#include "fuzz/fuzz_backends.h"
#include "fuzz/model.h"

namespace fuzz {

using tenon::Result;
using tenon::Tensor;
using tenon::TensorPtr;

/// A handle and its model. Both are null in an empty slot.
struct Slot {
  TensorPtr tensor;
  std::shared_ptr<Impl> impl;
};

/// Memory that a tensor lends out: a Blob, or a DLPack struct of either kind.
struct Export {
  std::shared_ptr<Impl> impl;  // as of a view; the hold that the owner is
  const void* real = nullptr;  // the TensorImpl that was lent, unless it was a view's
  tenon::Blob blob;
  tenon::dlpack::DLManagedTensorVersioned* managed = nullptr;
  tenon::dlpack::DLManagedTensor* legacy = nullptr;
};

/// Whether each stride, from the smallest on, is larger than the reach of all smaller ones.
inline bool nests(const Vector& sizes, const Vector& strides) {
  std::vector<std::pair<int64_t, int64_t>> dims;
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] == 0) return true;
    if (sizes[d] > 1) dims.emplace_back(std::abs(strides[d]), sizes[d]);
  }
  std::sort(dims.begin(), dims.end());
  int64_t reach = 0;
  for (const auto& dim : dims) {
    if (dim.first <= reach) return false;
    reach += dim.first * (dim.second - 1);
  }
  return true;
}

inline constexpr ScalarType kTypes[] = {
#define TENON_FUZZ_NAME(cpp_type, name) ScalarType::name,
    TENON_FORALL_SCALAR_TYPES(TENON_FUZZ_NAME)
#undef TENON_FUZZ_NAME
};

class Program {
 public:
  Program(const uint8_t* data, size_t size) : in(data, size) {
    if (in.flip()) {
      tenon::register_backend(backends.device);
      is_registered = true;
    }
    backends.device.does_optional = in.flip();
    backends.other.does_optional = in.flip();
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  ~Program() {
    backends.trouble.kind = Trouble::Kind::None;
    is_over = true;
    scope.reset();
    for (Slot& slot : slots) drop(slot);
    for (Export& out : exports) drop(out);
    check();
    for (size_t i = 0; i < Backends::kCount; ++i) {
      if (i != 1 && backends[i] != nullptr) FUZZ_CHECK(backends[i]->live_blocks() == 0);
    }
    FUZZ_CHECK(backends.arena.reset() == Error::Ok);
  }

  Input in;
  Backends backends;
  bool is_registered = false;  // whether backends.device is
  std::array<Slot, 10> slots;
  std::array<Export, 4> exports;
  std::deque<Release> releases;  // of all deleters so far
  std::deque<Bytes> lent;        // memory that tensors borrow, which stays
  bool is_over = false;          // from then on nothing is made
  bool is_quiet = false;         // for as long as nothing is to interfere
  Backend* current = nullptr;    // that of the BackendScope
  std::optional<tenon::BackendScope> scope;

  // --- Choices ----------------------------------------------------------------------------------

  Slot& any_slot() { return slots[in.choose(slots.size())]; }
  Export& any_export() { return exports[in.choose(exports.size())]; }
  ScalarType any_type() { return kTypes[in.choose(std::size(kTypes))]; }
  TensorShapeDynamism any_dynamism() { return static_cast<TensorShapeDynamism>(in.choose(3)); }
  CastMode any_mode() { return static_cast<CastMode>(in.choose(3)); }
  /// Null for none given.
  Backend* any_backend() { return backends[in.choose(Backends::kCount)]; }
  /// 0 to 5 dimensions, or seven, which do not fit inline; each small.
  Vector any_sizes() {
    const size_t rank = in.choose(8);
    Vector sizes(rank);
    for (int64_t& size : sizes) {
      const size_t chosen = in.choose(rank > 4 ? 4 : 7);
      size = static_cast<int64_t>(rank > 4 ? chosen % 3 : chosen);
    }
    while (product(sizes) > 256) sizes.pop_back();
    return sizes;
  }
  /// Mostly small, sometimes far out.
  int64_t any_number() {
    const auto n = in.take<int8_t>();
    if (n == 127) return int64_t{1} << 40;
    if (n == -128) return -(int64_t{1} << 40);
    return n % 8;
  }
  Vector any_strides(size_t rank) {
    Vector strides(rank);
    for (int64_t& stride : strides) stride = in.take<int8_t>() % 9;
    return strides;
  }
  Vector any_order(size_t rank) {
    Vector order = row_major(rank);
    for (size_t i = rank; i > 1; --i) std::swap(order[i - 1], order[in.choose(i)]);
    return order;
  }

  // --- Places -----------------------------------------------------------------------------------

  /// The backend in whose memory a creator makes a tensor; null for the heap.
  Backend* where(Backend* given) const {
    Backend* const chosen = given != nullptr ? given : current;
    return chosen == &tenon::host_backend() ? nullptr : chosen;
  }
  /// Makes the memory of `impl` a backend's; null for the heap.
  void place(Impl& impl, Backend* owner) const {
    impl.owner = owner;
    impl.device = owner == nullptr ? tenon::Device() : owner->device();
    impl.host = impl.device.is_cpu() && (owner == nullptr || !owner->is_opaque());
  }
  std::shared_ptr<Memory> new_memory(const Impl& impl, int64_t nbytes) const {
    auto memory = std::make_shared<Memory>(static_cast<size_t>(nbytes));
    if (!impl.host) memory->reader = impl.owner != nullptr ? &impl.owner->base() : nullptr;
    return memory;
  }
  /// A new tensor that owns its memory, whose contents are unknown.
  std::shared_ptr<Impl> make_owned(Shape shape, TensorShapeDynamism dynamism,
                                   Backend* owner) const {
    auto impl = std::make_shared<Impl>();
    impl->shape = std::move(shape);
    impl->settle(dynamism);
    place(*impl, owner);
    if (!impl->is_meta()) impl->memory = new_memory(*impl, impl->reach() * impl->shape.item());
    return impl;
  }
  /// The tensor's dim order, which the model takes as it is.
  static Vector order_of(const Slot& slot) { return list(slot.tensor->dim_order()); }
  template <class Range>
  static Vector list(const Range& range) {
    return Vector(range.begin(), range.end());
  }

  // --- Errors that many functions have ----------------------------------------------------------

  static Error check_defined(const Slot& slot) {
    return slot.impl == nullptr || slot.impl->deallocated ? Error::InvalidState : Error::Ok;
  }
  /// For a tensor whose elements are read.
  Error check_source(const Slot& slot) const {
    if (check_defined(slot) != Error::Ok) return Error::InvalidState;
    const Impl& impl = *slot.impl;
    if (impl.is_meta()) return Error::NotSupported;
    if (!impl.host && impl.owner == nullptr && registered(impl.device) == nullptr) {
      return Error::NotSupported;
    }
    return impl.is_placeholder() ? Error::InvalidState : Error::Ok;
  }
  /// For a tensor whose elements are written. Strides that do not nest may be refused even if no
  /// elements collide: sets `is_unsure` then.
  Error check_destination(const Slot& slot, bool& is_unsure) const {
    if (check_defined(slot) != Error::Ok) return Error::InvalidState;
    if (slot.impl->readonly) return Error::InvalidState;
    const Error error = check_source(slot);
    if (error != Error::Ok) return error;
    if (has_overlap(slot.impl->shape)) return Error::InvalidArgument;
    is_unsure = is_unsure || !nests(slot.impl->shape.sizes, list(slot.tensor->strides()));
    return Error::Ok;
  }
  /// The row-major copy of a tensor in other sizes, or null and the error.
  std::shared_ptr<Impl> row_major_copy(const Slot& source, const Vector& sizes,
                                       Error& expected) const {
    const bool is_meta = check_defined(source) == Error::Ok && source.impl->is_meta();
    expected = is_meta ? Error::Ok : check_source(source);
    if (expected != Error::Ok) return nullptr;
    const Impl& from = *source.impl;
    Backend* owner = from.owner;
    if (owner == nullptr && !from.device.is_cpu()) owner = registered(from.device);
    auto impl = make_owned(dense_shape(from.shape.type, sizes), from.dynamism, owner);
    if (!is_meta) write(*impl, read(from));
    return impl;
  }
  Backend* registered(tenon::Device device) const {
    const bool is_there = is_registered && device == backends.device.device();
    return is_there ? const_cast<FuzzBackend*>(&backends.device) : nullptr;
  }
  // --- What came of a call ----------------------------------------------------------------------

  /// Whether the call succeeded. It may fail otherwise than expected only if a backend of ours
  /// failed, or changed something, in it.
  bool settle(Error expected, Error got) const {
    const Trouble& trouble = backends.trouble;
    if (got != expected && (trouble.happened || trouble.called_back)) {
      FUZZ_CHECK(got != Error::Ok);
      return false;
    }
    if (got != expected) {
      std::fprintf(stderr, "expected %s, got %s: %s\n", tenon::toString(expected),
                   tenon::toString(got), tenon::last_error_message());
    }
    FUZZ_CHECK(got == expected);
    return got == Error::Ok;
  }
  /// Puts what was made into a slot.
  void add(Error expected, Result<TensorPtr>&& made, std::shared_ptr<Impl> impl) {
    if (!settle(expected, made.error())) return;
    add(std::move(*made), std::move(impl));
  }
  void add(Error expected, Result<Tensor>&& made, std::shared_ptr<Impl> impl) {
    if (!settle(expected, made.error())) return;
    add(std::make_unique<Tensor>(std::move(*made)), std::move(impl));
  }
  void add(TensorPtr made, std::shared_ptr<Impl> impl) {
    Slot& to = slots[in.choose(slots.size())];
    // A deleter that looked at tensors now would not find the new one, which shares memory already.
    const bool was_quiet = std::exchange(is_quiet, true);
    drop(to);
    is_quiet = was_quiet;
    to.tensor = std::move(made);
    to.impl = std::move(impl);
    learn_address(to);
  }
  /// Records where memory really is, once there is a tensor over it.
  static void learn_address(const Slot& slot) {
    if (slot.impl == nullptr || slot.impl->deallocated) return;
    const Impl& impl = *slot.impl;
    if (impl.memory == nullptr || impl.memory->real != nullptr || impl.numel() == 0) return;
    const void* const data = slot.tensor->const_data_ptr();
    impl.memory->real = static_cast<const char*>(data) - impl.shape.start;
  }

  void drop(Slot& slot) {
    const TensorPtr gone = std::move(slot.tensor);
    slot.impl = nullptr;  // first: what its deleter does finds the slot empty
  }
  void drop(Export& out) {
    Export gone = std::exchange(out, Export());
    gone.impl = nullptr;
    if (gone.managed != nullptr) gone.managed->deleter(gone.managed);
    if (gone.legacy != nullptr) gone.legacy->deleter(gone.legacy);
  }

  /// What a deleter or a backend does in the middle of a call. The table is consistent then.
  void interfere(size_t what, size_t which, bool may_change);

  // --- The comparison ---------------------------------------------------------------------------

  void check() {
    for (const Slot& slot : slots) {
      learn_address(slot);  // where the handle that grew it is gone
      FUZZ_CHECK((slot.tensor == nullptr) == (slot.impl == nullptr));
      if (slot.impl != nullptr) check(slot);
    }
    for (const Release& release : releases) FUZZ_CHECK(release.done == release.due);
  }
  void check(const Slot& slot) {
    const Tensor& t = *slot.tensor;
    const Impl& impl = *slot.impl;
    const Shape& shape = impl.shape;
    FUZZ_CHECK(list(t.sizes()) == shape.sizes);
    FUZZ_CHECK(t.scalar_type() == shape.type);
    FUZZ_CHECK(t.numel() == impl.numel());
    FUZZ_CHECK(t.shape_dynamism() == impl.dynamism);
    FUZZ_CHECK(t.ownership() == impl.ownership);
    FUZZ_CHECK(t.is_readonly() == impl.readonly);
    FUZZ_CHECK(t.device() == impl.device);
    FUZZ_CHECK(t.is_contiguous() == impl.is_contiguous());
    const Shape real = shape_of(shape.type, shape.sizes, list(t.strides()), shape.start);
    FUZZ_CHECK(real.at == shape.at);
    if (impl.deallocated || impl.is_meta()) return;
    const void* const data = t.const_data_ptr();
    if (impl.memory == nullptr) {
      FUZZ_CHECK(data == nullptr);
      return;
    }
    if (impl.numel() == 0) return;
    FUZZ_CHECK(impl.memory->real + shape.start == data);
    check_elements(impl);
  }
  void check_elements(const Impl& impl) {
    const Memory& memory = *impl.memory;
    const auto item = static_cast<size_t>(impl.shape.item());
    unsigned char element[16];
    for (const int64_t at : impl.shape.at) {
      const char* const p = memory.real + at;
      if (impl.host) {
        std::memcpy(element, p, item);
      } else if (memory.reader == &backends.expr) {
        FUZZ_CHECK(backends.expr.copy_to_host(element, p, item) == Error::Ok);
      } else {
        std::memcpy(element, static_cast<FuzzBackend*>(memory.reader)->at(p, item), item);
      }
      for (size_t b = 0; b < item; ++b) {
        const size_t i = static_cast<size_t>(at) + b;
        const bool is_right = memory.known[i] == 0 || memory.bytes[i] == element[b];
        if (!is_right) {
          std::fprintf(stderr, "byte %zu of an element of %s at %lld is %02x, not %02x\n", b,
                       tenon::toString(impl.shape.type), static_cast<long long>(at), element[b],
                       memory.bytes[i]);
        }
        FUZZ_CHECK(is_right);
      }
    }
  }
};

}  // namespace fuzz
