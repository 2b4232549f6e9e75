// SPDX-License-Identifier: MIT
// What holds while a backend's code runs: a MemoryHold keeps the tensors that it is called for.
#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "backend/calling_backend.h"
#include "backend/helpers.h"
#include "support/catch.h"
#include "tenon/interop/npy.h"
#include "tenon/module/function_module.h"
#include "tenon/tenon.h"
#include "tenon/tensor/values.h"
#include "tensor/helpers.h"

namespace kept_test {

using namespace tenon;
using namespace tests;

namespace {

constexpr auto kDynamic = TensorShapeDynamism::DYNAMIC;

/// Calls `use` once, also in operations that it has not.
struct AskedBackend final : MinimalBackend {
  Error random_uniform(const TensorView&, double, double, const Generator::State&) override {
    call();
    return Error::NotSupported;
  }
  Error inspect(const TensorView&, int64_t, std::string&) override {
    call();
    return Error::NotSupported;
  }
};

/// Has `meanwhile` done in each optional operation, which it then leaves to the host, and checks that
/// the views that it was given stay as they were.
struct LookingBackend final : MinimalBackend {
  Error copy(const TensorView& dst, const TensorView& src, CastMode) override {
    return look({dst, src});
  }
  Error constant(const TensorView& out, const void*) override { return look({out}); }
  Error random_uniform(const TensorView& out, double, double, const Generator::State&) override {
    return look({out});
  }
  Error inspect(const TensorView& in, int64_t, std::string&) override { return look({in}); }
  Error to_binary(const TensorView& in, int64_t, void*) override { return look({in}); }

  std::function<void()> meanwhile;
  int looks = 0;

 private:
  Error look(const std::vector<TensorView>& views) {
    std::vector<Vector> before;
    const auto lists = [&] {
      std::vector<Vector> all;
      for (const TensorView& view : views) {
        all.push_back(view.sizes.vec());
        all.push_back(view.strides.vec());
      }
      return all;
    };
    before = lists();
    meanwhile();
    CHECK(lists() == before);
    ++looks;
    return Error::NotSupported;
  }
};

/// Has a backend call `code` at the call of that number, from 0, of those that call its `use`.
struct CallNumber {
  std::function<void()>& use;
  int left;
  std::function<void()> code;

  void arm() {
    use = [this] { left-- == 0 ? code() : arm(); };
  }
};

#if !TENON_ATEN_MODE  // where no backend has metadata
/// The host's memory, and metadata in it. Calls `use` also when it is asked where its metadata is.
struct MetadataBackend final : CallingBackend {
  Backend* metadata_backend() noexcept override {
    call();
    return this;
  }
};

/// Makes views and exports of a tensor of `ones`, and reads what it gets; the error otherwise.
const std::vector<std::function<Error(const TensorPtr&)>> kViews = [] {
  const auto read = [](const auto& view) {
    const Floats seen = values<float>(view);
    CHECK(seen == Floats(seen.size(), 1));
  };
  const auto take = [read](const auto& made) {
    if (made.ok()) read(*made);
    return made.error();
  };
  const auto take_parts = [read](const Result<std::vector<Tensor>>& made) {
    if (!made.ok()) return made.error();
    for (const Tensor& part : *made) read(part);
    return Error::Ok;
  };
  return std::vector<std::function<Error(const TensorPtr&)>>{
      [=](const TensorPtr& t) { return take(try_select(t, 0, 0)); },
      [=](const TensorPtr& t) { return take(try_transpose(t, 0, 1)); },
      [=](const TensorPtr& t) { return take(try_as_strided(t, {2}, {1})); },
      [=](const TensorPtr& t) { return take(try_make_tensor(*t)); },
      [=](const TensorPtr& t) { return take(try_make_tensor_ptr(*t)); },
      [=](const TensorPtr& t) {
        return take(try_make_tensor_ptr(t, {2, 1}, {}, {}, 1));
      },
      [=](const TensorPtr& t) { return take_parts(try_split(t, 1)); },
      [=](const TensorPtr& t) { return take_parts(try_unbind(t, 1)); },
      // Exports, whose metadata is never in the memory of a backend in scope.
      [=](const TensorPtr& t) {
        const auto made = try_to_dlpack(t);
        if (made.ok()) read(from_dlpack(*made));
        return made.error();
      },
      [=](const TensorPtr& t) {
        const auto made = try_to_blob(t);
        if (made.ok()) read(from_blob(*made));
        return made.error();
      },
  };
}();
constexpr size_t kCountOfViews = 8;
#endif

}  // namespace

// A promise of docs/guarantees.md.
TEST_CASE("kept: a backend may drop, grow or deallocate the tensor that it is called for",
          "[plain]") {
  AskedBackend backend;
  TensorPtr t;
  TensorPtr source;
  TensorPtr made;
  float floats[36] = {};
  const Blob columns{floats, {6, 6}, {1, 6}, ScalarType::Float};
  // InvalidState where the tensor was changed before there was memory.
  const auto take = [&](Result<TensorPtr> result) {
    if (result.ok()) made = std::move(*result);
    CHECK((result.ok() ? made->numel() == 36 : result.error() == Error::InvalidState));
  };
  const std::vector<std::function<void()>> calls = {
      [&] { take(try_clone_tensor_ptr(t)); },
      [&] { take(try_clone_tensor_ptr(t, ScalarType::Double)); },
      [&] { take(try_backend_copy(t, backend)); },
      [&] { take(try_backend_transfer(t, host_backend())); },
      [&] { static_cast<void>(try_to(t, ScalarType::Half).ok()); },
      [&] { static_cast<void>(copy_(t, transpose(source, 0, 1)) == Error::Ok); },
      [&] { static_cast<void>(uniform_(t) == Error::Ok); },
      [&] { static_cast<void>(to_binary(t)); },
      [&] {
        const std::string text = tenon::to_string(t);
        CHECK((contains(text, "[[3. 3. 3. 3. 3. 3.]") || contains(text, "changed meanwhile")));
      },
      [&] {
        const Bytes file = to_npy(t);
        CHECK(from_npy(file.data(), file.size())->numel() == 36);
      },
      [&] { static_cast<void>(assign(t, floats, sizeof floats) == Error::Ok); },
      [&] { static_cast<void>(assign(t, columns) == Error::Ok); },
      [&] { static_cast<void>(assign(t, columns, Normalize{}) == Error::Ok); },
      [&] { static_cast<void>(copy_to(t, floats, sizeof floats) == Error::Ok); },
      [&] { static_cast<void>(copy_to(t, columns) == Error::Ok); },
      [&] {
        static_cast<void>(tenon::try_cat({source, t}, 1).ok());
      },
      [&] {
        static_cast<void>(tenon::try_stack({t, source}, 1).ok());
      },
  };
  const std::vector<std::function<void()>> uses = {
      [&] { t.reset(); },
      [&] { *t = Tensor(); },
      [&] {
        static_cast<void>(resize_tensor_ptr(t, {100, 100}) == Error::Ok);
      },
      [&] {
        static_cast<void>(resize_tensor_ptr(t, {2, 2}) == Error::Ok);
      },
      [&] { static_cast<void>(backend_deallocate(t)); },
  };
  for (const auto& call : calls) {
    for (const auto& use : uses) {
      t = full({6, 6}, 3, kDynamic, backend);
      source = ones({6, 6}, backend);
      backend.use = use;
      call();
      CHECK(backend.use == nullptr);  // it was called
      CHECK(backend.faults == 0);
    }
  }
  t.reset();
  source.reset();
  made.reset();
  CHECK(backend.live_blocks() == 0);
}

// A promise of docs/guarantees.md.
TEST_CASE("kept: a backend may drop the tensors of a list, and shorten a vector of them",
          "[plain]") {
  AskedBackend backend;
  TensorPtr a;
  TensorPtr b;
  TensorPtr out;
  std::vector<TensorPtr> pointers;
  std::vector<Tensor> tensors;
  const auto read = [](const Result<TensorPtr>& made, const Floats& expected) {
    if (made.ok()) CHECK(values<float>(clone_tensor_ptr(*made, host_backend())) == expected);
    return made.error();
  };
  const Floats row = {1, 1, 2, 2};
  struct Case {
    std::function<Error()> call;
    bool keeps;  // a brace list does
  };
  const std::vector<Case> cases = {
      {[&] {
         return read(try_cat({*a, *b}), row);
       },
       true},
      {[&] {
         return read(try_cat({a, b}), row);
       },
       true},
      {[&] {
         return read(try_stack({*a, b}), row);
       },
       true},
      {[&] {
         return cat_out(out, {*a, *b});
       },
       true},
      {[&] { return read(try_cat(tensors), row); }, false},
      {[&] { return read(try_stack(pointers), row); }, false},
      {[&] { return cat_out(out, pointers); }, false},
  };
  for (const Case& at : cases) {
    bool was_called = true;
    for (int calls = 0; was_called; ++calls) {
      a = ones({2}, backend);
      b = full({2}, 2, backend);
      out = zeros({4}, backend);
      tensors = {*ones({2}, backend), *full({2}, 2, backend)};
      pointers.clear();
      pointers.push_back(ones({2}, backend));
      pointers.push_back(full({2}, 2, backend));
      was_called = false;
      CallNumber call{backend.use, calls, [&] {
                        was_called = true;
                        a.reset();
                        *b = Tensor();
                        pointers.pop_back();
                        tensors.clear();
                      }};
      call.arm();
      const Error error = at.call();
      backend.use = nullptr;
      CHECK((error == Error::Ok || (was_called && !at.keeps && error == Error::InvalidState)));
      CHECK(backend.faults == 0);
    }
  }
}

// A promise of docs/guarantees.md.
TEST_CASE("kept: a backend's views stay as they were, though its code resizes the tensors",
          "[plain]") {
  LookingBackend backend;
  TensorPtr t;
  TensorPtr host;
  backend.meanwhile = [&] {
    CHECK(resize_tensor_ptr(t, {2, 3}) == Error::Ok);
    CHECK(resize_tensor_ptr(host, {3, 1}) == Error::Ok);
  };
  const std::vector<std::function<Error()>> calls = {
      [&] { return copy_(transpose(host, 0, 1), t); },
      [&] { return copy_(t, transpose(host, 0, 1)); },
      [&] { return fill_(t, 1); },
      [&] { return uniform_(t); },
      [&] { return tenon::to_string(t).empty() ? Error::Internal : Error::Ok; },
      [&] { return tenon::to_binary(t).size() == 36 * 4 ? Error::Ok : Error::Internal; },
      [&] {
        return copy_to(t, Blob::of(host->mutable_data_ptr<float>(), {6, 6}, {1, 6}));
      },
      [&] {
        return assign(t, Blob::of(host->mutable_data_ptr<float>(), {6, 6}, {1, 6}));
      },
  };
  for (const auto& call : calls) {
    t = ones({6, 6}, ScalarType::Float, host_backend());
    t = backend_copy(t, backend);
    host = ones({6, 6}, host_backend());
    backend.looks = 0;
    CHECK(call() == Error::Ok);
    CHECK(backend.looks != 0);
    CHECK(t->sizes() == Dims{2, 3});
    CHECK(backend.faults == 0);
  }
}

// A promise of docs/guarantees.md.
TEST_CASE(
    "kept: values are compared and normalised as they were, though a backend's code resizes a "
    "tensor",
    "[plain]") {
  MinimalBackend backend;
  for (const auto& [before, meanwhile] :
       {std::pair(Dims{2, 2}, Dims{6, 6}), std::pair(Dims{6, 6}, Dims{2, 2})}) {
    const TensorPtr there = zeros({6, 6}, backend);
    const TensorPtr here = zeros({6, 6});
    REQUIRE(resize_tensor_ptr(there, before) == Error::Ok);
    REQUIRE(resize_tensor_ptr(here, before) == Error::Ok);
    const auto resize_both = [&, sizes = meanwhile] {
      CHECK(resize_tensor_ptr(there, sizes) == Error::Ok);
      CHECK(resize_tensor_ptr(here, sizes) == Error::Ok);
    };
    backend.use = resize_both;
    CHECK(equal(there, here));
    CHECK(backend.use == nullptr);
    REQUIRE(resize_tensor_ptr(there, before) == Error::Ok);
    REQUIRE(resize_tensor_ptr(here, before) == Error::Ok);
    REQUIRE(fill_(there, 5) == Error::Ok);
    backend.use = resize_both;
    CHECK(copy_(here, there, Normalize{}) == Error::Ok);
    CHECK(backend.use == nullptr);
    const float* const first = here->const_data_ptr<float>();
    CHECK(std::count(first, first + 36, 5.0f) == before[0] * before[1]);
    CHECK(backend.faults == 0);
  }
}

#if !TENON_ATEN_MODE  // where no backend has metadata
// A promise of docs/guarantees.md.
TEST_CASE("kept: a backend may drop the tensor of which it allocates a view or an export") {
  MetadataBackend backend;
  // More dimensions than lie in a tensor are in a block that goes with it.
  for (const Dims& sizes : {Dims{2, 3}, Dims{2, 3, 1, 1, 1, 1, 1, 2}}) {
    for (const auto& view : kViews) {
      TensorPtr t = ones(sizes, backend);
      backend.use = [&] { t.reset(); };
      CHECK(view(t) == Error::Ok);
      CHECK(t == nullptr);
      CHECK(backend.blocks == 0);
    }
  }
}

TEST_CASE("kept: a backend may drop a tensor when it is first asked where its metadata is") {
  const auto read = [](const Result<TensorPtr>& made) {
    CHECK(values<float>(*made) == Floats(6, 1));
    return made.error();
  };
  std::vector<std::function<Error(const TensorPtr&, Backend&)>> calls = {
      [&](const TensorPtr& t, Backend& backend) { return read(try_backend_transfer(t, backend)); },
      [&](const TensorPtr& t, Backend& backend) { return read(try_clone_tensor_ptr(t, backend)); },
  };
  const auto add_in_scope = [&](const std::function<Error(const TensorPtr&)>& call) {
    calls.emplace_back([&](const TensorPtr& t, Backend& backend) {
      const BackendScope scope(backend);
      return call(t);
    });
  };
  for (size_t i = 0; i < kCountOfViews; ++i) add_in_scope(kViews[i]);
  const std::function<Error(const TensorPtr&)> transfer = [&](const TensorPtr& t) {
    return read(try_backend_transfer(t, host_backend()));
  };
  add_in_scope(transfer);
  for (const auto& call : calls) {
    MetadataBackend backend;  // a new one: it is asked once
    TensorPtr t = ones({2, 3});
    backend.use = [&] { t.reset(); };
    CHECK(call(t, backend) == Error::Ok);
    CHECK(t == nullptr);
    CHECK(backend.blocks == 0);
  }
}

// A promise of docs/guarantees.md.
TEST_CASE("kept: what a backend does to the source of a view or an export is an error at worst") {
  MetadataBackend backend;
  for (const Dims& sizes : {Dims{2, 3}, Dims{2, 3, 1, 1, 1, 1, 1, 2}}) {
    for (const Dims& meanwhile : {Dims{1, 2}, Dims{1, 1, 1, 1, 2, 3}, Dims{0, 1}}) {
      for (const auto& view : kViews) {
        TensorPtr t = ones(sizes, kDynamic, backend);
        backend.use = [&] { CHECK(resize_tensor_ptr(t, meanwhile) == Error::Ok); };
        const Error error = view(t);
        CHECK((error == Error::Ok || error == Error::OutOfBounds || error == Error::InvalidState));
        CHECK(t->sizes() == meanwhile);
        t.reset();
        CHECK(backend.blocks == 0);
      }
    }
  }
}

// A promise of docs/guarantees.md.
TEST_CASE("kept: the source of a view or an export can neither grow nor be deallocated meanwhile") {
  MetadataBackend backend;
  for (const auto& view : kViews) {
    const TensorPtr t = ones({2, 3}, kDynamic, backend);
    int tried = 0;
    backend.use = [&] {
      CHECK(resize_tensor_ptr(t, {100, 100}) == Error::InUse);
      CHECK(backend_deallocate(t) == Deallocation::InUse);
      ++tried;
    };
    CHECK(view(t) == Error::Ok);
    CHECK(tried == 1);
    CHECK(resize_tensor_ptr(t, {100, 100}) == Error::Ok);  // nothing is held afterwards
  }
}

#endif

}  // namespace kept_test
