// SPDX-License-Identifier: MIT
// What tenon exported and imports again is the tensor itself, or a view of it. And chains of structs
// of two libraries, which are released without recursion.
#include <pthread.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "backend/device_helpers.h"
#include "exchange/dlpack_helpers.h"
#include "support/catch.h"
#include "tenon/exchange/blob.h"
#include "tenon/exchange/dlpack.h"
#include "tenon/tensor/copy.h"
#include "tenon/tensor/creators.h"
#include "tenon/tensor/resize.h"
#include "tenon/tensor/view.h"
#include "tensor/helpers.h"

namespace dlpack_own_test {

// ATen has no tensor that a storage knows: there a round trip adds a storage.
#if !TENON_ATEN_MODE

using namespace tenon;
using namespace tests;

namespace {

using Managed = tenon::dlpack::DLManagedTensorVersioned;

constexpr int kTrips = 100000;  // 2,000 would do to overflow that stack

/// Runs in a thread with a stack of 256 KiB.
void run_in_small_stack(void* (*run)(void*)) {
  pthread_attr_t attributes;
  REQUIRE(pthread_attr_init(&attributes) == 0);
  REQUIRE(pthread_attr_setstacksize(&attributes, 256 << 10) == 0);
  pthread_t thread;
  REQUIRE(pthread_create(&thread, &attributes, run, nullptr) == 0);
  REQUIRE(pthread_join(thread, nullptr) == 0);
  pthread_attr_destroy(&attributes);
}

/// Another library's struct: it has a tenon struct, which it releases with itself.
struct Foreign {
  Managed managed;
  Managed* from;

  static Managed* make(Managed* from) {
    auto* const made = new Foreign{*from, from};
    made->managed.manager_ctx = made;
    made->managed.deleter = [](Managed* self) {
      const auto* const foreign = static_cast<Foreign*>(self->manager_ctx);
      DLPackDeleter()(foreign->from);
      delete foreign;
    };
    return &made->managed;
  }
};

int released = 0;
/// A tensor whose release is counted.
TensorPtr lend() {
  return from_blob(&released, {1}, ScalarType::Int, [](void* p) { ++*static_cast<int*>(p); });
}

}  // namespace

TEST_CASE("round trip: a tensor of a tensor's own struct or blob is that tensor") {
  const TensorPtr t = make_tensor_ptr({2, 2}, {1, 2, 3, 4}, ScalarType::Int);
  CHECK(from_dlpack(to_dlpack(t))->impl() == t->impl());
  CHECK(from_dlpack(to_dlpack_legacy(t))->impl() == t->impl());
  CHECK(from_blob(to_blob(t))->impl() == t->impl());
  const Tensor scalar = make_tensor(5);
  CHECK(from_dlpack(to_dlpack(scalar))->impl() == scalar.impl());
  // A copy's struct is the only one to have it.
  const TensorPtr copy = from_dlpack(to_dlpack(t, true));
  CHECK(ownership(copy) == Ownership::Owned);
}

TEST_CASE("round trip: what is not just the tensor is a view of it, as the export says") {
  TensorPtr t = make_tensor_ptr({2, 2}, {1, 2, 3, 4}, ScalarType::Int);
  const Tensor column = select(t, 1, 1);
  for (const Tensor& back : {*from_dlpack(to_dlpack(column)), *from_blob(to_blob(column))}) {
    CHECK(ownership(back) == Ownership::View);
    CHECK(back.is_alias_of(*t));
  }
  CHECK(ownership(from_dlpack(to_dlpack(t), none, none, TensorShapeDynamism::STATIC)) ==
        Ownership::View);
  // The source is another shape by now.
  DLPackPtr exported(to_dlpack(t));
  Blob blob = to_blob(t);
  REQUIRE(resize_tensor_ptr(t, {3}) == Error::Ok);
  const TensorPtr of_struct = from_dlpack(std::move(exported));
  for (const Tensor& back : {*of_struct, *from_blob(blob)}) {
    CHECK(sizes(back) == Vector{2, 2});
    CHECK(ownership(back) == Ownership::View);
    CHECK(values<int32_t>(back) == std::vector<int32_t>{1, 2, 3, 4});
  }
  // A read-only struct of a tensor that may be written, and the other way round.
  exported.reset(to_dlpack(t));
  exported->flags |= 1;
  const TensorPtr readonly = from_dlpack(std::move(exported));
  CHECK(readonly->is_readonly());
  CHECK_FALSE(t->is_readonly());
  CHECK_FALSE(from_dlpack(to_dlpack_legacy(readonly, LegacyReadOnly::Drop))->is_readonly());
  // What somebody changed in a struct or blob.
  exported.reset(to_dlpack(t));
  exported->dl_tensor.byte_offset = 4;
  exported->dl_tensor.shape[0] = 1;
  CHECK(from_dlpack(std::move(exported))->const_data_ptr<int32_t>()[0] == 2);
  blob = to_blob(t);
  blob.data = static_cast<int32_t*>(blob.data) + 1;
  blob.sizes = {2};
  blob.strides = {};
  CHECK(values<int32_t>(from_blob(blob)) == std::vector<int32_t>{2, 3});
  // A copied struct is not tenon's, its deleter is all that is called.
  const TensorPtr of_copy = from_dlpack(Foreign::make(to_dlpack(t)));
  CHECK(ownership(of_copy) == Ownership::Adopted);
}

TEST_CASE("round trip: an edited struct is checked as any other, and released once") {
  struct Edited {
    const char* words;  // of the error; empty where there is none
    void (*edit)(Managed&);
    Error error;
    bool is_tensor;  // the exported one
  };
  const Edited rows[] = {
      {"", [](Managed&) {}, Error::Ok, true},
      {"", [](Managed& m) { m.dl_tensor.device.device_id = 7; }, Error::Ok, true},  // of the host
      {"index is -5",
       [](Managed& m) {
         m.dl_tensor.device = {2, -5};
       },
       Error::InvalidArgument, false},
      {"device type 0",
       [](Managed& m) {
         m.dl_tensor.device = {0, 0};
       },
       Error::NotSupported, false},
      {"ndim is -1", [](Managed& m) { m.dl_tensor.ndim = -1; }, Error::InvalidArgument, false},
      {"ndim is 65", [](Managed& m) { m.dl_tensor.ndim = 65; }, Error::InvalidArgument, false},
      {"", [](Managed& m) { m.dl_tensor.ndim = 1; }, Error::Ok, false},
      {"shape is null", [](Managed& m) { m.dl_tensor.shape = nullptr; }, Error::InvalidArgument,
       false},
      {"", [](Managed& m) { m.dl_tensor.strides = nullptr; }, Error::Ok, false},
      {"is negative", [](Managed& m) { m.dl_tensor.shape[1] = -2; }, Error::InvalidArgument, false},
      {"overflow", [](Managed& m) { m.dl_tensor.strides[0] = INT64_MAX; }, Error::InvalidArgument,
       false},
      {"", [](Managed& m) { std::swap(m.dl_tensor.strides[0], m.dl_tensor.strides[1]); }, Error::Ok,
       false},
      {"",
       [](Managed& m) {
         m.dl_tensor.byte_offset = 8;
         m.dl_tensor.ndim = 1;
       },
       Error::Ok, false},
      {"byte offset", [](Managed& m) { m.dl_tensor.byte_offset = UINT64_MAX; },
       Error::InvalidArgument, false},
      {"data is null", [](Managed& m) { m.dl_tensor.data = nullptr; }, Error::InvalidArgument,
       false},
      {"", [](Managed& m) { m.dl_tensor.dtype.code = 2; }, Error::Ok, false},  // float
      {"no element type", [](Managed& m) { m.dl_tensor.dtype.lanes = 2; }, Error::NotSupported,
       false},
      {"no element type", [](Managed& m) { m.dl_tensor.dtype = {}; }, Error::NotSupported, false},
      {"", [](Managed& m) { m.flags = dlpack::kDLPackReadOnly; }, Error::Ok, false},
      {"DLPack 2.", [](Managed& m) { m.version.major = 2; }, Error::NotSupported, false},
  };
  for (const Edited& row : rows) {
    INFO("row " << &row - rows << ", " << row.words);
    int32_t memory[] = {1, 2, 3, 4};
    released = 0;
    TensorPtr t = from_blob(memory, {2, 2}, ScalarType::Int, [](void*) { ++released; });
    Managed* const exported = to_dlpack(t);
    row.edit(*exported);
    {
      const Result<TensorPtr> made = try_from_dlpack(exported);
      CHECK(made.error() == row.error);
      CHECK(std::string(made.message()).find(row.words) != std::string::npos);
      if (made.ok()) CHECK(((*made)->impl() == t->impl()) == row.is_tensor);
      t.reset();
      CHECK(released == (made.ok() ? 0 : 1));
    }
    CHECK(released == 1);
  }
  // Another deleter is another library's.
  static Managed* inner = nullptr;
  static int calls = 0;
  TensorPtr t = make_tensor_ptr({1, 2});
  inner = to_dlpack(t);
  Managed copy = *inner;
  copy.deleter = [](Managed*) {
    ++calls;
    DLPackDeleter()(inner);
  };
  TensorPtr back = from_dlpack(&copy);
  CHECK(ownership(back) == Ownership::Adopted);
  back.reset();
  CHECK(calls == 1);
  // What is not aligned for its elements is copied, tenon's own too.
  alignas(8) char bytes[12] = {};
  const TensorPtr odd = from_blob(static_cast<void*>(bytes + 1), {2}, ScalarType::Int);
  CHECK(ownership(from_dlpack(to_dlpack(odd))) == Ownership::Owned);
  CHECK(try_from_dlpack(to_dlpack(odd), false).error() == Error::NotSupported);
  // And what is asked for elsewhere, or as a copy.
  CHECK(from_dlpack(to_dlpack(t), true)->impl() != t->impl());
  CHECK(try_from_dlpack(to_dlpack(t), none, Device(DeviceType::CUDA)).error() ==
        Error::NotSupported);
}

TEST_CASE("round trip: other memory in a blob or struct is not the tensor's, which is its owner") {
  RecordingDevice backend;
  TensorPtr t = full({2}, 2, backend);
  float mirror[] = {5, 6};
  Blob blob = to_blob(t);
  blob.data = mirror;
  blob.device = Device();
  DLPackPtr exported(to_dlpack(t));
  exported->dl_tensor.data = mirror;
  exported->dl_tensor.device = {1, 0};
  // On the same device, but in none of the tensor's memory.
  Blob elsewhere = to_blob(t);
  elsewhere.data = mirror;
  backend.lend(mirror, sizeof mirror);
  backend.calls.clear();
  TensorPtr of_blob = from_blob(std::move(blob));
  TensorPtr of_struct = from_dlpack(std::move(exported));
  CHECK(ownership(from_blob(std::move(elsewhere))) == Ownership::Adopted);
  t.reset();
  for (const TensorPtr* const back : {&of_blob, &of_struct}) {
    CHECK(ownership(*back) == Ownership::Adopted);
    CHECK(values<float>(*back) == std::vector<float>{mirror[0], mirror[1]});
    CHECK(fill_(*back, 7) == Error::Ok);
  }
  CHECK(mirror[1] == 7);
  CHECK(backend.calls.empty());
  CHECK(backend.memory.size() == 2);  // the tensor's is kept
  of_blob.reset();
  of_struct.reset();
  CHECK(backend.memory.size() == 1);
}

TEST_CASE("round trip: a view keeps the memory and holds growth back, a growing one grows alone") {
  TensorPtr t = make_tensor_ptr({2}, {1.0f, 2.0f}, TensorShapeDynamism::DYNAMIC);
  TensorPtr view = from_dlpack(to_dlpack(t));
  CHECK(resize_tensor_ptr(t, {100}) == Error::InUse);
  view = from_blob(to_blob(view));
  CHECK(resize_tensor_ptr(t, {100}) == Error::InUse);
  const TensorPtr bound = make_tensor_ptr({2}, {1.0f, 2.0f});
  TensorPtr grown = from_dlpack(to_dlpack(bound), none, none, TensorShapeDynamism::DYNAMIC);
  CHECK(ownership(grown) == Ownership::Adopted);
  REQUIRE(resize_tensor_ptr(grown, {3}) == Error::Ok);
  CHECK(bound->numel() == 2);
  // An owner of the caller's is kept.
  int dropped = 0;
  TensorPtr owning =
      from_blob(to_blob(bound), std::shared_ptr<int>(&dropped, [](int* p) { ++*p; }));
  owning = from_blob(to_blob(owning));
  CHECK(dropped == 0);
  owning.reset();
  CHECK(dropped == 1);
}

// A promise of docs/guarantees.md.
TEST_CASE("round trip: many take no more memory than one, and no more stack") {
  static long layers = 0;
  released = 0;
  run_in_small_stack([](void*) -> void* {
    TensorPtr state = lend();
    const Tensor first = *state;
    for (int i = 0; i < kTrips; ++i) {
      state = i % 3 == 0   ? from_dlpack(to_dlpack(state))
              : i % 3 == 1 ? from_blob(to_blob(state))
                           : from_dlpack(to_dlpack_legacy(slice(state, 0, 0, 1)));
    }
    layers = first.use_count() - 1 - released;  // by what there is now
    return nullptr;
  });
  CHECK(layers == 1);
  CHECK(released == 1);
}

// A promise of docs/guarantees.md.
TEST_CASE("round trip: a long chain of structs of two libraries is released in little stack") {
  static bool is_early = false;
  released = 0;
  run_in_small_stack([](void*) -> void* {
    TensorPtr state = lend();
    for (int i = 0; i < kTrips; ++i) state = from_dlpack(Foreign::make(to_dlpack(state)));
    is_early = released != 0;
    return nullptr;
  });
  CHECK_FALSE(is_early);
  CHECK(released == 1);
}

TEST_CASE("round trip: a release inside a deleter is done when it returns") {
  // Each deleter checks that what it released itself was released at once.
  static int order[3] = {};
  static int count = 0;
  const auto keeping = [](Managed* inner, int number) {
    return from_blob(&released, {1}, ScalarType::Int, [inner, number](void*) {
      DLPackDeleter()(inner);
      CHECK(count == number);
      order[count++] = number;
    });
  };
  Managed* exported = to_dlpack(keeping(nullptr, 0));
  for (int number : {1, 2}) exported = to_dlpack(keeping(exported, number));
  DLPackDeleter()(exported);
  CHECK(count == 3);
  CHECK(order[2] == 2);
}

#endif

}  // namespace dlpack_own_test
