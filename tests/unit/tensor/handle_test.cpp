// SPDX-License-Identifier: MIT
#include "tenon/tensor/handle.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "support/catch.h"
#include "tenon/backend/arena.h"
#include "tenon/tensor/clone.h"
#include "tenon/tensor/creators.h"
#include "tenon/tensor/resize.h"
#include "tenon/tensor/tensor_ptr_maker.h"
#include "tenon/tensor/view.h"
#include "tensor/helpers.h"

namespace handle_test {

using namespace tenon;
using namespace tests;

namespace {

#if !TENON_ATEN_MODE

/// Metadata in an arena, which counts it, and memory whose deleter counts.
struct Counted {
  alignas(64) unsigned char bytes[8192];
  ArenaBackend arena{bytes, sizeof bytes};
  float data[6] = {1, 2, 3, 4, 5, 6};
  Calls calls;

  TensorPtr tensor() { return from_blob(data, {2, 3}, ScalarType::Float, calls.deleter(), arena); }
  bool holds(const void* p) const {
    const auto address = reinterpret_cast<uintptr_t>(p);
    return address - reinterpret_cast<uintptr_t>(bytes) < sizeof bytes;
  }
  int64_t blocks() const { return arena.live_blocks(); }
};

/// The ways in which a program ends a handle.
using End = void (*)(TensorPtr);
const End ends[] = {
    [](TensorPtr t) { t.reset(); },
    [](TensorPtr t) { delete t.release(); },
    [](TensorPtr t) { const std::shared_ptr<Tensor> shared(std::move(t)); },
    [](TensorPtr t) { const std::shared_ptr<Tensor> shared(t.release()); },
    [](TensorPtr t) { const std::shared_ptr<const Tensor> read = std::move(t); },
    [](TensorPtr t) { const std::unique_ptr<const Tensor> read = std::move(t); },
    [](TensorPtr t) {
      const auto end = [](Tensor* p) { delete p; };
      const std::unique_ptr<Tensor, decltype(end)> custom(t.release(), end);
    },
    [](TensorPtr t) {
      Tensor* const p = t.release();
      p->~Tensor();
      Tensor::operator delete(p);
    },
};

#endif

}  // namespace

// In ATen mode a TensorPtr and its tensor are blocks of ATen's.
#if !TENON_ATEN_MODE

TEST_CASE("handle: one that was moved from or assigned stays in its block, and no tensor does") {
  for (const End end : ends) {
    INFO("way " << &end - ends);
    Counted counted;
    TensorPtr t = counted.tensor();
    Tensor moved = std::move(*t);
    CHECK_FALSE(t->defined());
    moved = Tensor();
    CHECK(counted.calls.count == 1);
    CHECK(counted.blocks() == 1);
    end(std::move(t));
    CHECK(counted.blocks() == 0);

    t = counted.tensor();
    moved = std::move(*t);
    end(std::move(t));
    CHECK(moved.numel() == 6);
    CHECK(counted.calls.count == 1);
    moved = Tensor();
    CHECK(counted.calls.count == 2);
    CHECK(counted.blocks() == 0);

    t = counted.tensor();
    const TensorPtr other = full({2}, 7);
    *t = *other;
    CHECK(counted.calls.count == 3);
    CHECK(values<float>(t) == Floats{7, 7});
    CHECK(counted.blocks() == 1);
    end(std::move(t));
    CHECK(counted.blocks() == 0);
    CHECK(other->use_count() == 1);

    // In each other's blocks, dropped in both orders.
    for (const bool first : {true, false}) {
      TensorPtr pair[2] = {counted.tensor(), counted.tensor()};
      std::swap(*pair[0], *pair[1]);
      const int calls = counted.calls.count;
      end(std::move(pair[first ? 0 : 1]));
      CHECK(counted.calls.count == calls + 1);
      CHECK(counted.blocks() == 2);
      CHECK(values<float>(pair[first ? 1 : 0]) == Floats{1, 2, 3, 4, 5, 6});
      end(std::move(pair[first ? 1 : 0]));
      CHECK(counted.calls.count == calls + 2);
      CHECK(counted.blocks() == 0);
    }
  }
}

TEST_CASE("handle: an impl of the program's has no seat, and a handle over a raw one takes none") {
  Counted counted;
  const int64_t sizes[] = {2, 3};
  TensorImpl on_stack(ScalarType::Float, 2, sizes, counted.data);
  const auto shared = std::make_shared<TensorImpl>(ScalarType::Float, 2, sizes, counted.data);
  CHECK(make_tensor_ptr(shared)->sizes() == on_stack.sizes());
  TensorPtr second;
  REQUIRE(detail::make_handle(Tensor(&on_stack), second, nullptr) == Error::Ok);
  CHECK(second->unsafeGetTensorImpl() == &on_stack);

  const Tensor t = tensor_from_blob(counted.data, {6}, counted.arena);
  TensorPtr raw;
  REQUIRE(detail::make_handle(Tensor(t.unsafeGetTensorImpl()), raw, nullptr) == Error::Ok);
  CHECK_FALSE(counted.holds(raw.get()));
  CHECK(raw->use_count() == 0);

  // Nor does a handle that is in the seat take the tensor's place there, over the raw impl.
  TensorPtr seated = make_tensor_ptr(t.impl());
  CHECK(counted.holds(seated.get()));
  *seated = Tensor(t.unsafeGetTensorImpl());
  seated.reset();
  CHECK(make_tensor_ptr(t.impl())->numel() == 6);
  CHECK(counted.blocks() == 1);
}

TEST_CASE("handle: one over a shared_ptr that does not own the impl may go last") {
  Counted counted;
  for (const End end : ends) {
    Tensor t = tensor_from_blob(counted.data, {6}, counted.arena);
    TensorPtr lent = make_tensor_ptr(TensorImplPtr(t.unsafeGetTensorImpl(), [](TensorImpl*) {}));
    CHECK(counted.holds(lent.get()));
    t = Tensor();
    CHECK(counted.blocks() == 1);
    end(std::move(lent));
    CHECK(counted.blocks() == 0);
  }
}

TEST_CASE("handle: those of the program's own, by new and in arrays, are as they were") {
  Counted counted;
  const TensorPtr t = counted.tensor();
  struct Named : Tensor {
    using Tensor::Tensor;
    int number = 5;
  };
  {
    const std::unique_ptr<Tensor> one(new Tensor(*t));
    const std::unique_ptr<Tensor> made = std::make_unique<Tensor>(*t);
    const std::unique_ptr<Tensor> quiet(new (std::nothrow) Tensor(*t));
    const std::unique_ptr<Named> named = std::make_unique<Named>(t->impl());
    const auto many = std::make_unique<Tensor[]>(3);
    many[1] = *t;
    const std::shared_ptr<Tensor> shared = std::make_shared<Tensor>(*t);
    alignas(Tensor) unsigned char place[sizeof(Tensor)];
    auto* const placed = ::new (static_cast<void*>(place)) Tensor(*t);
    CHECK(t->use_count() == 8);
    placed->~Tensor();
    std::vector<TensorPtr> list;
    list.push_back(std::make_unique<Tensor>());
    list.push_back(make_tensor_ptr(t));
    std::reverse(list.begin(), list.end());
    CHECK(list[0]->numel() == 6);
  }
  CHECK(t->use_count() == 1);
  CHECK(counted.blocks() == 1);
  std::default_delete<Tensor>()(nullptr);
  const std::shared_ptr<Tensor> none(static_cast<Tensor*>(nullptr), std::default_delete<Tensor>());
  CHECK(none == nullptr);
}

TEST_CASE("handle: a deleter may drop the handle that its own tensor was made with") {
  float data[2] = {};
  int calls = 0;
  auto handle = std::make_shared<TensorPtr>();
  *handle = from_blob(data, {2}, ScalarType::Float, [&calls, handle](void*) {
    ++calls;
    handle->reset();
  });
  TensorImplPtr last = (*handle)->impl();
  **handle = *zeros({1});
  handle.reset();
  CHECK(calls == 0);
  last.reset();
  CHECK(calls == 1);
}

#endif

}  // namespace handle_test
