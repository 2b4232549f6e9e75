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

constexpr auto DYNAMIC = TensorShapeDynamism::DYNAMIC;

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

TEST_CASE("handle: a draft that is finished is the handle's, with its memory") {
  detail::NewTensor draft;
  const detail::CreateOptions plan(own::ScalarType::Float, DYNAMIC);
  REQUIRE(detail::make_owned_row_major({2, 3}, plan, true, draft) == Error::Ok);
  const void* const memory = detail::fields(draft).data;
  TensorPtr t;
  REQUIRE(detail::make_first_handle(draft, t) == Error::Ok);
  CHECK(draft == nullptr);
  CHECK(t->const_data_ptr() == memory);
  CHECK(values<float>(t) == Floats(6));
  CHECK(sizes(t) == Vector{2, 3});
  CHECK(resize_tensor_ptr(t, {7}) == Error::Ok);
}

TEST_CASE("handle: while memory is held a tensor neither grows nor lets it go") {
  const TensorPtr t = full({2}, 3, ScalarType::Float, DYNAMIC);
  {
    detail::MemoryHold hold;
    CHECK(hold.tensor() == nullptr);
    REQUIRE(hold.hold(t) == Error::Ok);
    const detail::MemoryHold copy = hold.copy();
    CHECK(copy.origin() == t->const_data_ptr());
    CHECK(detail::is_borrowed(detail::resizable(t)));
    CHECK(resize_tensor_ptr(t, {3}) == Error::InUse);
    CHECK(backend_deallocate(t) == Deallocation::InUse);
    CHECK(resize_tensor_ptr(t, {1}) == Error::Ok);
  }
  CHECK_FALSE(detail::is_borrowed(detail::resizable(t)));
  CHECK(resize_tensor_ptr(t, {3}) == Error::Ok);
  CHECK(backend_deallocate(t) == Deallocation::Ok);
}

TEST_CASE("handle: held memory outlives its tensor, and its deleter runs once, after that") {
  float data[2] = {1, 2};
  Calls deleter;
  {
    TensorPtr t = from_blob(data, {2}, ScalarType::Float, deleter.deleter());
    detail::MemoryHold hold;
    REQUIRE(hold.hold(t) == Error::Ok);
    t.reset();
    CHECK(deleter.count == 0);
    CHECK(hold.origin() == data);
  }
  CHECK(deleter.count == 1);
}

TEST_CASE("handle: another handle shares the tensor") {
  const TensorPtr t = zeros({2}, ScalarType::Float, DYNAMIC);
  TensorPtr other;
  REQUIRE(detail::make_handle(Tensor(*t), other, nullptr) == Error::Ok);
  CHECK(other->unsafeGetTensorImpl() == t->unsafeGetTensorImpl());
  CHECK(resize_tensor_ptr(t, {5}) == Error::Ok);
  CHECK(sizes(other) == Vector{5});
}

// In ATen mode a TensorPtr and its tensor are blocks of ATen's.
#if !TENON_ATEN_MODE

TEST_CASE("handle: a TensorPtr and its tensor are one block, whose last piece gives it back") {
  for (const End end : ends) {
    INFO("way " << &end - ends);
    Counted counted;
    end(counted.tensor());
    CHECK(counted.blocks() == 0);
    CHECK(counted.calls.count == 1);

    TensorPtr t = counted.tensor();
    CHECK(counted.blocks() == 1);
    CHECK(counted.holds(t.get()));
    TensorImplPtr impl = t->impl();
    end(std::move(t));
    CHECK(counted.calls.count == 1);
    CHECK(impl->data() == counted.data);
    impl.reset();
    CHECK(counted.calls.count == 2);
    CHECK(counted.blocks() == 0);

    t = counted.tensor();
    std::weak_ptr<TensorImpl> weak = t->impl();
    end(std::move(t));
    CHECK(counted.calls.count == 3);
    CHECK(weak.lock() == nullptr);
    CHECK(counted.blocks() == 1);
    weak.reset();
    CHECK(counted.blocks() == 0);
  }
}

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

    t = counted.tensor();
    *t = Tensor(t->impl());
    end(std::move(t));
    CHECK(counted.calls.count == 4);
    CHECK(counted.blocks() == 0);

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

TEST_CASE("handle: another TensorPtr takes the seat that is free, one of them") {
  for (const End end : ends) {
    INFO("way " << &end - ends);
    Counted counted;
    TensorPtr first = counted.tensor();
    const Tensor* const seat = first.get();
    TensorPtr second = make_tensor_ptr(first);
    CHECK(second.get() != seat);
    CHECK(counted.blocks() == 2);
    end(std::move(first));
    TensorPtr third = make_tensor_ptr(second);
    CHECK(third.get() == seat);
    CHECK(third->impl() == second->impl());
    const TensorPtr fourth = make_tensor_ptr(second->impl());
    CHECK(fourth.get() != seat);
    CHECK(counted.blocks() == 3);
    // A handle that refers elsewhere is still there.
    *third = Tensor();
    CHECK(make_tensor_ptr(second).get() != seat);
    end(std::move(third));
    CHECK(make_tensor_ptr(second).get() == seat);
    CHECK(make_tensor_ptr(view(second, {6})).get() != seat);  // another tensor
    CHECK(counted.calls.count == 0);
  }
}

TEST_CASE("handle: the tensor of a view or of a Tensor by value has a free seat") {
  Counted counted;
  {
    const BackendScope scope(counted.arena);
    const TensorPtr t = make_tensor_ptr(tensor_from_blob(counted.data, {6}).impl());
    CHECK(counted.blocks() == 1);
    const TensorPtr viewed = make_tensor_ptr(view(t, {2, 3}).impl());
    CHECK(counted.blocks() == 2);
    CHECK(counted.holds(viewed.get()));
  }
  CHECK(counted.blocks() == 0);
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

  TensorPtr undefined;
  REQUIRE(detail::make_handle(Tensor(), undefined, nullptr) == Error::Ok);
  CHECK_FALSE(undefined->defined());

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
