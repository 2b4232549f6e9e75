// SPDX-License-Identifier: MIT
// ATen mode: read-only memory, which ATen copies before it writes.
#include "tenon/aten/handle.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/softmax.h>

#include <atomic>
#include <thread>

#include "support/catch.h"
#include "tenon/exchange/dlpack.h"
#include "tenon/tenon.h"
#include "tensor/helpers.h"

namespace storage_test {

using namespace tenon;
using namespace tests;

namespace {

const float frame[6] = {1, 2, 3, 4, 5, 6};
const Floats kFrame(frame, frame + 6);

const void* data_of(const at::Tensor& t) { return tenon::const_data_ptr(t); }

}  // namespace

#if __has_include(<c10/core/StorageMaterializer.h>)

// A promise of docs/guarantees.md.
TEST_CASE("ATen mode: every way to read-only memory makes a tensor that ATen's writes do not reach",
          "[readonly]") {
  const Blob blob = Blob::of(frame, {2, 3});
  const void* const bytes = frame;
  const auto back = [&blob] { return tenon::from_dlpack(tenon::to_dlpack(from_blob(blob))); };
  const at::Tensor tensors[] = {
      *from_blob(frame, {2, 3}),
      *from_blob(bytes, {2, 3}, {3, 1}),
      *from_blob(frame, {2, 3}, ScalarType::Float, [](void*) {}),
      tenon::tensor_from_blob(frame, {2, 3}),
      *for_blob(frame, {2, 3}).owner(std::make_shared<int>(1)).make_tensor_ptr(),
      *tenon::make_tensor_ptr({2, 3}, frame),
      *from_blob(blob),
      *from_blob(blob, std::make_shared<int>(1)),
      *back(),
  };
  for (const at::Tensor& t : tensors) {
    INFO("tensor " << &t - tensors);
    CHECK(tenon::is_readonly(t));
    CHECK(data_of(t) == frame);
    CHECK(contains(tenon::to_string(t), ", read-only"));
    t.add_(1);
    CHECK_FALSE(tenon::is_readonly(t));
    CHECK(values<float>(t) == Floats{2, 3, 4, 5, 6, 7});
    CHECK(tenon::fill_(t, 9) == Error::Ok);
    CHECK(values<float>(t) == Floats(6, 9));
    CHECK(Floats(frame, frame + 6) == kFrame);
  }
}

TEST_CASE("ATen mode: operators that read share read-only memory, and what writes copies it once",
          "[readonly]") {
  const TensorPtr t = from_blob(frame, {2, 3});
  CHECK(t->add(1).sum().item<float>() == 27);
  CHECK(at::mm(*t, at::ones({3, 1})).sum().item<float>() == 21);
  CHECK(at::softmax(*t, 1).numel() == 6);
  CHECK(at::cat({*t, *t}).numel() == 12);
  CHECK(t->t().contiguous().const_data_ptr<float>()[1] == 4);
  CHECK(t->const_data_ptr<float>() == frame);
  CHECK(tenon::is_readonly(t));
  float* const own = t->data_ptr<float>();  // for writing, in ATen
  CHECK(own != frame);
  CHECK(t->data_ptr<float>() == own);
  CHECK(tenon::mutable_data_ptr<float>(t) == own);
  CHECK(values<float>(t) == kFrame);
}

TEST_CASE("ATen mode: views of read-only memory are read-only, and see the copy", "[readonly]") {
  const TensorPtr t = from_blob(frame, {2, 3});
  const Tensor row = tenon::select(t, 0, 1);
  const at::Tensor column = t->select(1, 2);
  CHECK(tenon::is_readonly(row));
  CHECK(tenon::is_readonly(column));
  CHECK(data_of(row) == frame + 3);
  row.fill_(7);
  CHECK(values<float>(t) == Floats{1, 2, 3, 7, 7, 7});
  CHECK(values<float>(column) == Floats{3, 7});
  CHECK_FALSE(tenon::is_readonly(t));
  CHECK(Floats(frame, frame + 6) == kFrame);
}

// A promise of docs/guarantees.md.
TEST_CASE("ATen mode: read-only memory is released once, when nobody can read it any more",
          "[readonly]") {
  Calls calls;
  const auto lend = [&calls] {
    calls = Calls();
    return from_blob(frame, {2, 3}, ScalarType::Float, calls.deleter());
  };
  TensorPtr t = lend();
  t.reset();
  CHECK(calls.count == 1);

  t = lend();
  Blob blob = tenon::to_blob(t);
  t->zero_();
  CHECK(calls.count == 0);
  CHECK(tenon::to_blob(t).data != frame);
  t.reset();
  CHECK(calls.count == 0);
  CHECK(static_cast<const float*>(blob.data)[5] == 6);
  blob = Blob();
  CHECK(calls.count == 1);
  CHECK(calls.argument == frame);

  t = lend();
  t->zero_();
  at::Tensor view = t->view({6});
  t.reset();
  CHECK(calls.count == 0);
  view = at::Tensor();
  CHECK(calls.count == 1);

  t = lend();
  CHECK(tenon::backend_deallocate(t) == Deallocation::Ok);  // copies nothing
  CHECK(calls.count == 1);
}

TEST_CASE("ATen mode: a tensor of read-only memory that grows has memory to write to",
          "[readonly]") {
  Calls calls;
  const TensorPtr t =
      from_blob(frame, {6}, ScalarType::Float, calls.deleter(), TensorShapeDynamism::DYNAMIC);
  REQUIRE(tenon::resize_tensor_ptr(t, {8}) == Error::Ok);
  CHECK(calls.count == 1);
  const void* const own = data_of(*t);
  CHECK_FALSE(tenon::is_readonly(t));
  CHECK(values<float>(t->slice(0, 0, 6)) == kFrame);
  t->zero_();  // needs no copy
  CHECK(data_of(*t) == own);

  const TensorPtr other =
      from_blob(frame, {6}, ScalarType::Float, calls.deleter(), TensorShapeDynamism::DYNAMIC);
  other->resize_({8});
  CHECK_FALSE(tenon::is_readonly(other));
  CHECK(calls.count == 2);
  CHECK(values<float>(other->slice(0, 0, 6)) == kFrame);
  other->zero_();
  CHECK(Floats(frame, frame + 6) == kFrame);
}

TEST_CASE("ATen mode: set_data of a pointer to const makes a read-only tensor, of another none",
          "[readonly]") {
  float next[6] = {6, 5, 4, 3, 2, 1};
  const float constants[6] = {6, 5, 4, 3, 2, 1};
  const TensorPtr t = from_blob(frame, {2, 3});
  REQUIRE(tenon::set_data(t, next) == Error::Ok);
  CHECK_FALSE(tenon::is_readonly(t));
  t->zero_();
  CHECK(next[0] == 0);
  REQUIRE(tenon::set_data(t, constants) == Error::Ok);
  CHECK(tenon::is_readonly(t));
  CHECK(data_of(*t) == constants);
  t->zero_();
  CHECK(constants[0] == 6);
  CHECK_FALSE(tenon::is_readonly(t));
}

TEST_CASE("ATen mode: threads that use read-only memory at once take one copy",
          "[readonly][threads][a read-only tensor in ATen mode]") {
  for (int round = 0; round < 50; ++round) {
    Calls calls;
    TensorPtr t = from_blob(frame, {1, 1, 2, 3}, ScalarType::Float, calls.deleter());
    const at::Tensor weight = at::ones({1, 1, 1, 1});
    std::atomic<int> wrong{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        // Reads, but asks for a pointer to write.
        if (at::conv2d(*t, weight).sum().item<float>() != 21) ++wrong;
        if (t->sum().item<float>() != 21) ++wrong;
      });
    }
    for (std::thread& thread : threads) thread.join();
    CHECK(wrong == 0);
    CHECK(values<float>(t) == kFrame);
    CHECK(calls.count == 0);
    t.reset();
    CHECK(calls.count == 1);
  }
}

TEST_CASE("ATen mode: read-only memory without elements, and of Meta, is not copied",
          "[readonly]") {
  const TensorPtr nothing = from_blob(frame, {0, 3});
  CHECK(tenon::is_readonly(nothing));
  nothing->zero_();
  const TensorPtr meta = for_blob(static_cast<const float*>(nullptr), {2, 3})
                             .device(Device(DeviceType::Meta))
                             .make_tensor_ptr();
  CHECK(meta->add_(1).is_meta());
}

#else

TEST_CASE("ATen mode: read-only memory is refused, with what to do, and released once") {
  Calls calls;
  RAISES(NotSupported, "from_blob: read-only memory needs libtorch 2.13",
         from_blob(frame, {2, 3}, ScalarType::Float, calls.deleter()));
  CHECK(calls.count == 1);
  auto owner = std::make_shared<int>(0);
  Blob blob = Blob::of(frame, {2, 3}, {}, owner);
  RAISES(NotSupported, "a const_cast lends them to be written", from_blob(std::move(blob)));
  CHECK(owner.use_count() == 1);
}

#endif

}  // namespace storage_test
