// SPDX-License-Identifier: MIT
// The work of a soak run: what programs do with tensors, in an order that a seed gives. Each tensor
// holds one number in all its elements, which is checked wherever the tensor goes.
#pragma once

#include <tenon/backend/pmr.h>
#include <tenon/backend/pool.h>
#include <tenon/backend/tracking.h>
#include <tenon/module/function_module.h>
#include <tenon/tenon.h>
#include <tenon/tensor/expr.h>

#include <array>
#include <atomic>
#include <deque>
#include <memory>
#include <memory_resource>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "soak/memory.h"

namespace soak {

using namespace tenon;

constexpr auto kDynamic = TensorShapeDynamism::DYNAMIC;

/// Pieces of memory that were lent with a deleter or an owner, and their releases.
struct Lending {
  std::atomic<int64_t> lent{0};
  std::atomic<int64_t> released{0};
  std::atomic<int64_t> releases{0};
  bool forgets = false;  // one in 1000 is not counted as released: to see that this is found

  int32_t* lend(int64_t count, int32_t value) {
    ++lent;
    auto* const data = new int32_t[static_cast<size_t>(count)];
    std::fill_n(data, count, value);
    return data;
  }
  void release(void* data) noexcept {
    delete[] static_cast<int32_t*>(data);
    if (++releases % 1000 != 0 || !forgets) ++released;
  }
  /// A deleter.
  struct Release {
    Lending& lending;
    void operator()(void* data) const noexcept { lending.release(data); }
  };
};

/// What may go to another thread, with the number in its elements.
struct Parcel {
  std::variant<Tensor, TensorPtr, Blob, DLPackPtr, EValue> thing;
  int32_t value;
};

/// A queue from all threads to all threads. It holds 64 parcels at most.
class Queue {
 public:
  /// Returns the oldest parcel if the queue is full.
  std::optional<Parcel> push(Parcel parcel) {
    const std::lock_guard<std::mutex> lock(mutex_);
    parcels_.push_back(std::move(parcel));
    if (parcels_.size() <= 64) return std::nullopt;
    return take();
  }
  std::optional<Parcel> pop() {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (parcels_.empty()) return std::nullopt;
    return take();
  }
  void clear() {
    const std::lock_guard<std::mutex> lock(mutex_);
    parcels_.clear();
  }

 private:
  Parcel take() {
    Parcel parcel = std::move(parcels_.front());
    parcels_.pop_front();
    return parcel;
  }

  std::mutex mutex_;
  std::deque<Parcel> parcels_;
};

/// What the threads share. The queue is destroyed first, since its tensors are in the backends'
/// memory.
struct Shared {
  explicit Shared(Lending& lending_) : lending(lending_) {
    EXPECT(tracking.init({{"max_events", 1000}}) == Error::Ok);
    EXPECT(pool.init({{"max_cached_bytes", 8 << 20}}) == Error::Ok);
  }
  int64_t live_blocks() const noexcept {
    return pmr.live_blocks() + pool.live_blocks() + tracking.live_blocks() + recorder.live_blocks();
  }

  Lending& lending;
  std::pmr::synchronized_pool_resource resource;
  PmrBackend pmr{&resource};
  PoolBackend pool{host_backend()};
  TrackingBackend tracking{host_backend()};
  ExprBackend recorder;
  MetaBackend meta;
  Queue queue;
};

/// Whether all elements of a tensor of Int, wherever it is, are that number.
inline bool is_all(const Tensor& t, int32_t value) {
  const std::vector<uint8_t> bytes = to_binary(t);
  if (bytes.size() != static_cast<size_t>(t.numel()) * 4) return false;
  for (size_t i = 0; i < bytes.size(); i += 4) {
    int32_t element = 0;
    std::memcpy(&element, &bytes[i], 4);
    if (element != value) return false;
  }
  return true;
}

/// The same of one that came from another thread.
inline bool is_right(const Parcel& parcel) {
  if (const auto* t = std::get_if<Tensor>(&parcel.thing)) return is_all(*t, parcel.value);
  if (const auto* t = std::get_if<TensorPtr>(&parcel.thing)) return is_all(**t, parcel.value);
  if (const auto* blob = std::get_if<Blob>(&parcel.thing))
    return is_all(*from_blob(*blob), parcel.value);
  if (const auto* value = std::get_if<EValue>(&parcel.thing))
    return is_all(value->toTensorList()[0], parcel.value);
  return std::get<DLPackPtr>(parcel.thing)->dl_tensor.ndim == 2;
}

/// One thread's work.
class Worker {
 public:
  Worker(Shared& shared, uint32_t seed, bool leaks)
      : shared_(shared), random_(seed), generator_(seed), leaks_(leaks), room_(256 << 10) {}

  /// Does one thing.
  void step() {
    constexpr void (Worker::*kSteps[])() = {
        &Worker::make,   &Worker::make,   &Worker::borrow, &Worker::borrow,  &Worker::view_some,
        &Worker::resize, &Worker::copy,   &Worker::blobs,  &Worker::structs, &Worker::transfer,
        &Worker::hand,   &Worker::hand,   &Worker::take,   &Worker::run,     &Worker::arena,
        &Worker::record, &Worker::errors, &Worker::fill,
    };
    (this->*kSteps[below(std::size(kSteps))])();
    if (leaks_ && operations.load(std::memory_order_relaxed) % 1000 == 0)
      static_cast<void>(new Tensor(*kept().tensor));
    operations.fetch_add(1, std::memory_order_relaxed);
  }

  /// Runs until told to stop, and drops what it has.
  void work(const std::atomic<bool>& stop) {
    manual_seed(random_());
    while (!stop.load(std::memory_order_relaxed)) step();
    kept_.clear();
    EXPECT(arena_.live_blocks() == 0 && arena_.used() == 0 && arena_.reset() == Error::Ok);
  }

  std::atomic<int64_t> operations{0};

 private:
  struct Kept {
    TensorPtr tensor;
    int32_t value;
  };

  size_t below(size_t count) { return random_() % count; }
  int64_t side() { return static_cast<int64_t>(1 + below(48)); }
  int32_t number() { return static_cast<int32_t>(below(1000)); }
  Backend& backend() {
    Backend* const backends[] = {&host_backend(), &shared_.pmr, &shared_.pool, &shared_.tracking};
    return *backends[below(std::size(backends))];
  }

  /// Keeps a tensor for a while: until its place is needed.
  void keep(TensorPtr tensor, int32_t value) {
    EXPECT(tensor != nullptr && is_all(*tensor, value));
    if (kept_.size() < 12) {
      kept_.push_back({std::move(tensor), value});
    } else {
      kept_[below(kept_.size())] = {std::move(tensor), value};
    }
  }
  Kept& kept() {
    if (kept_.empty()) make();
    return kept_[below(kept_.size())];
  }

  void make() {
    const int32_t value = number();
    // One in 200 is so large that malloc maps it.
    const int64_t rows = below(200) == 0 ? 4096 : side();
    const int64_t columns = side();
    if (below(2) == 0) {
      std::vector<int32_t> numbers(static_cast<size_t>(rows * columns), value);
      return keep(make_tensor_ptr({rows, columns}, std::move(numbers), ScalarType::Int, kDynamic),
                  value);
    }
    keep(full({rows, columns}, value, ScalarType::Int, kDynamic, backend()), value);
  }

  /// Memory of this program, with each kind of what releases it.
  void borrow() {
    const int32_t value = number();
    const int64_t rows = side(), columns = side();
    int32_t* const data = shared_.lending.lend(rows * columns, value);
    const Lending::Release release{shared_.lending};
    switch (below(4)) {
      case 0: return keep(from_blob(data, {rows, columns}, ScalarType::Int, release), value);
      case 1: {  // too large to be kept in place
        const std::array<int64_t, 8> ballast{};
        const auto large = [release, ballast](void* p) noexcept {
          EXPECT(ballast[7] == 0);
          release(p);
        };
        return keep(from_blob(data, {rows, columns}, ScalarType::Int, large, kDynamic), value);
      }
      case 2: {
        const std::shared_ptr<int32_t> owner(data, release);
        return keep(for_blob(data, {rows, columns}).owner(owner).make_tensor_ptr(), value);
      }
      default: {  // taken, although nothing is made
        const Result<TensorPtr> made = try_from_blob(data, {-1, columns}, ScalarType::Int, release);
        EXPECT(made.error() == Error::InvalidArgument);
      }
    }
  }

  void view_some() {
    const Kept& of = kept();
    const int64_t row = static_cast<int64_t>(below(static_cast<size_t>(of.tensor->size(0))));
    Tensor seen = tenon::select(of.tensor, 0, row);
    EXPECT(is_all(flip(seen, {0}), of.value));
    seen = unsqueeze(seen, 0);
    if (below(2) == 0) seen = transpose(of.tensor, 0, 1);
    if (below(2) == 0) seen = slice(of.tensor, 1, 0, of.tensor->size(1), 2);
    keep(make_tensor_ptr(below(2) == 0 ? contiguous(seen) : seen), of.value);
  }

  void resize() {
    Kept& of = kept();
    const bool grows = below(2) == 0;
    const int64_t rows = grows ? side() * 2 : 1;
    const Error error = resize_tensor_ptr(of.tensor, {rows, side()});
    if (error != Error::Ok) {  // borrowed memory; a bound; a view or an export elsewhere
      EXPECT(error == Error::NotSupported || error == Error::InvalidArgument ||
             error == Error::InUse);
      EXPECT(is_all(*of.tensor, of.value));
      return;
    }
    // What came with the growth holds what it held.
    const Error filled = fill_(of.tensor, of.value);
    EXPECT(filled == Error::Ok);
    if (below(2) == 0) static_cast<void>(reserve_tensor_ptr(of.tensor, 8192));
    EXPECT(is_all(*of.tensor, of.value));
  }

  void copy() {
    const Kept& of = kept();
    const Tensor wide = to(of.tensor, ScalarType::Double);
    TensorPtr t = make_tensor_ptr(to(wide, ScalarType::Int, CastMode::Truncate));
    EXPECT(copy_(t, flip(t, {0})) == Error::Ok);  // overlapping
    TensorPtr all = empty({2, t->size(0), t->size(1)}, ScalarType::Int, backend());
    EXPECT(copy_(all, t) == Error::Ok);  // broadcast
    const Tensor half = chunk(t, 2)[0];
    keep(below(2) == 0 ? cat({half, half}) : make_tensor_ptr(tenon::select(all, 0, 1)), of.value);
  }

  void blobs() {
    const Kept& of = kept();
    const Blob blob = below(2) == 0 ? to_blob(of.tensor) : to_owned_blob(of.tensor);
    TensorPtr back = from_blob(blob, std::string("with something that it keeps alive"));
    EXPECT(copy_to(back, blob) == Error::Ok);
    if (below(4) == 0) keep(std::move(back), of.value);
  }

  void structs() {
    const Kept& of = kept();
    TensorPtr back;
    switch (below(3)) {
      case 0: return DLPackPtr(to_dlpack(of.tensor)).reset();  // which nobody takes
      case 1: back = from_dlpack(to_dlpack_legacy(of.tensor)); break;
      default: back = from_dlpack(to_dlpack(of.tensor, below(2) == 0));
    }
    keep(make_tensor_ptr(*back), of.value);  // a view: it may be the tensor itself, which is kept
  }

  void transfer() {
    Kept& of = kept();
    Backend& target = backend();
    if (below(2) == 0) return keep(backend_copy(of.tensor, target), of.value);
    Result<TensorPtr> moved = try_backend_transfer(of.tensor, target);
    if (moved.ok()) {
      of.tensor = std::move(*moved);
      EXPECT(is_all(*of.tensor, of.value));
      return;
    }
    EXPECT(moved.error() == Error::InUse);
    EXPECT(is_all(*of.tensor, of.value));
    // A clone is nobody else's.
    const TensorPtr gone = clone_tensor_ptr(of.tensor);
    EXPECT(backend_deallocate(gone) == Deallocation::Ok);
    EXPECT(backend_deallocate(gone) == Deallocation::AlreadyDeallocated);
    EXPECT(copy_(gone, of.tensor) == Error::InvalidState);
  }

  /// To another thread. What this thread keeps is another tensor then, so that none is written to
  /// by one and read by another.
  void hand() {
    const Kept& of = kept();
    TensorPtr t = clone_tensor_ptr(of.tensor);
    if (below(2) == 0) {
      const Lending::Release release{shared_.lending};
      t = from_blob(shared_.lending.lend(12, of.value), {3, 4}, ScalarType::Int, release);
    }
    Parcel parcel{Tensor(), of.value};
    switch (below(5)) {
      case 0: parcel.thing = tenon::select(t, 0, 0); break;
      case 1: parcel.thing = to_blob(t); break;
      case 2: parcel.thing = DLPackPtr(to_dlpack(t)); break;
      case 3: parcel.thing = EValue(std::vector<Tensor>{*t, *t}); break;
      default: parcel.thing = std::move(t);
    }
    std::optional<Parcel> oldest = shared_.queue.push(std::move(parcel));
    if (oldest) EXPECT(is_right(*oldest));
  }
  void take() {
    std::optional<Parcel> parcel = shared_.queue.pop();
    if (!parcel) return;
    EXPECT(is_right(*parcel));
    if (auto* t = std::get_if<TensorPtr>(&parcel->thing)) return keep(std::move(*t), parcel->value);
    if (auto* managed = std::get_if<DLPackPtr>(&parcel->thing))
      keep(from_dlpack(std::move(*managed)), parcel->value);
  }

  void run() {
    const Kept& of = kept();
    const int64_t rows = of.tensor->size(0);
    if (rows <= 96) {
      EXPECT(writes_.run("forward", EValue(tenon::select(transpose(of.tensor, 0, 1), 0, 0))) ==
             Error::Ok);
      EXPECT(is_all(writes_.get_output()->toTensor(), 2 * of.value));
    }
    const Result<std::vector<EValue>> made = makes_.forward(EValue(of.tensor));
    EXPECT(made.ok() && is_all(made->at(0).toTensor(), of.value));
    EXPECT(writes_.run("forward", EValue(1)) == Error::InvalidType);
  }

  /// In a buffer of this thread's, which nothing may leave.
  void arena() {
    const int32_t value = number();
    const BackendScope scope(arena_);
    std::vector<TensorPtr> tensors;
    for (size_t i = 0; i < 6; ++i) {
      Result<TensorPtr> made = try_full({side(), side()}, value, ScalarType::Int, kDynamic, arena_);
      EXPECT(made.ok());
      if (made.ok()) tensors.push_back(std::move(*made));
    }
    EXPECT(try_empty({1 << 20}, arena_).error() == Error::OutOfMemory);
    const Tensor seen = flip(tensors.back(), {0, 1});
    tensors.erase(tensors.begin() + static_cast<std::ptrdiff_t>(below(tensors.size())));
    EXPECT(is_all(seen, value));
    keep(backend_copy(seen, host_backend()), value);
    FunctionModule module(&Worker::double_all, input_spec(), output_spec(), arena_);
    EXPECT(module.run("forward", EValue(tenon::select(seen, 0, 0))) == Error::Ok);
    EXPECT(is_all(module.get_output()->toTensor(), 2 * value));
  }

  /// Tensors without memory: expressions and meta tensors.
  void record() {
    const int32_t value = number();
    const TensorPtr later = full({side(), side()}, value, ScalarType::Int, shared_.recorder);
    EXPECT(is_all(tenon::select(later, 0, 0), value));
    if (below(2) == 0) EXPECT(fill_(tenon::select(later, 0, 0), value) == Error::Ok);
    EXPECT(!to_dot(later).empty());
    keep(materialize(later, backend()), value);
    const TensorPtr expected = empty({3, 4}, ScalarType::Int, shared_.meta);
    EXPECT(copy_(expected, later) == Error::NotSupported);
  }

  void errors() {
    const std::string size = "-" + std::to_string(1 + below(100));
    EXPECT(try_zeros({std::stoll(size)}).error() == Error::InvalidArgument);
    EXPECT(std::string(last_error_message()).find(size) != std::string::npos);
    try {
      const Tensor none = view(*kept().tensor, {-1, -1});
      EXPECT(none.defined() && false);
    } catch (const Exception& e) {
      EXPECT(e.error() == Error::InvalidArgument);
    }
    const Result<TensorPtr> huge = try_zeros({INT64_MAX / 2, 8});
    EXPECT(!huge.ok());
  }

  void fill() {
    const TensorPtr t = rand({side(), side()}, ScalarType::Float, kDynamic, generator_, backend());
    EXPECT(uniform_(t, 3, 4, generator_) == Error::Ok);
    keep(randint(7, 8, {side(), side()}, ScalarType::Int), 7);  // by the thread's own generator
  }

  static Error double_all(Span<const EValue> in, Span<EValue> out) {
    const auto from = accessor<const int32_t, 1>(in[0].toTensor());
    TENON_TRY(resize_tensor(out[0].toTensor(), {from.size(0)}));
    auto to = accessor<int32_t, 1>(out[0].toTensor());
    for (int64_t i = 0; i < from.size(0); ++i) to[i] = 2 * from[i];
    return Error::Ok;
  }
  static TensorSpec input_spec() { return {{-1}, ScalarType::Int}; }
  static TensorSpec output_spec() {
    TensorSpec spec = input_spec();
    spec.max_sizes = {96};
    return spec;
  }

  Shared& shared_;
  std::minstd_rand random_;
  Generator generator_;
  const bool leaks_;
  std::vector<unsigned char> room_;
  ArenaBackend arena_{room_.data(), room_.size()};
  FunctionModule writes_{&Worker::double_all, input_spec(), output_spec()};
  FunctionModule makes_{[](Span<const EValue> in) {
    return std::vector<EValue>{EValue(clone_tensor_ptr(in[0].toTensor()))};
  }};
  std::vector<Kept> kept_;
};

}  // namespace soak
