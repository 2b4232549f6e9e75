// SPDX-License-Identifier: MIT
// Who keeps the memory of blobs, and of tensors made from them, and for how long.
#include <array>
#include <stdexcept>

#include "support/catch.h"
#include "tenon/tenon.h"
#include "tensor/helpers.h"

using namespace tenon;
using namespace tests;

namespace {

using Floats = std::vector<float>;
using Create = decltype(from_blob);

float memory[4] = {1, 2, 3, 4};

// Writes its name to a log when it goes; a moved-from one is silent.
struct Named {
  Named(const char* n, std::string& l) : name(n), log(&l) {}
  Named(Named&& other) noexcept : name(other.name), log(std::exchange(other.log, nullptr)) {}
  ~Named() {
    if (log != nullptr) *log += name;
  }
  const char* name;
  std::string* log;
};

// The same, of a size that no Deleter holds inline.
struct LargeNamed : Named {
  using Named::Named;
  std::array<char, 100> padding{};
};

// The same, aligned as malloc's memory is not.
struct alignas(64) AlignedNamed : Named {
  using Named::Named;
  bool aligned() const { return reinterpret_cast<uintptr_t>(this) % 64 == 0; }
};

// The same, whose n-th move throws; a throwing move leaves the source as it was.
struct ThrowingNamed {
  ThrowingNamed(const char* n, std::string& l, int moves) : name(n), log(&l), moves_left(moves) {}
  ThrowingNamed(ThrowingNamed&& other) : name(other.name), moves_left(other.moves_left - 1) {
    if (moves_left < 0) throw std::runtime_error("moved too often");
    log = std::exchange(other.log, nullptr);
  }
  ~ThrowingNamed() {
    if (log != nullptr) *log += name;
  }
  const char* name;
  std::string* log = nullptr;
  int moves_left;
};

std::shared_ptr<const void> named(const char* name, std::string& log) {
  return std::make_shared<Named>(name, log);
}

Blob blob_with(std::shared_ptr<const void> owner) {
  Blob blob{memory, {4}};
  blob.owner = std::move(owner);
  return blob;
}

Blob bad_blob_with(std::shared_ptr<const void> owner) {
  Blob blob = blob_with(std::move(owner));
  blob.sizes = {-1};
  return blob;
}

}  // namespace

// to_blob

TEST_CASE("to_blob: the owner keeps the memory alive after the tensor is gone") {
  Calls calls;
  auto t = from_blob(memory, {4}, ScalarType::Float, calls.deleter());
  Blob blob = to_blob(t);
  Blob copy = blob;
  t.reset();
  blob = Blob();
  CHECK(calls.count == 0);
  copy.owner.reset();
  CHECK(calls.count == 1);
  CHECK(calls.argument == memory);
}

TEST_CASE("to_blob: of a view keeps the memory's owner, not the view") {
  Calls calls;
  auto t = from_blob(memory, {4}, ScalarType::Float, calls.deleter());
  auto view = make_tensor_ptr(*t, {2}, {}, {}, 2);
  Blob blob = to_blob(view);
  CHECK(view->use_count() == 1);
  t.reset();
  view.reset();
  CHECK(calls.count == 0);
  CHECK(static_cast<float*>(blob.data)[1] == 4);
  blob = Blob();
  CHECK(calls.count == 1);
}

TEST_CASE("to_blob: while it lives the tensor cannot grow, but shrink") {
  auto t = make_tensor_ptr({2}, {1.0f, 2.0f}, ScalarType::Float, TensorShapeDynamism::DYNAMIC);
  Blob blob = to_blob(t);
  Blob copy = blob;
  CHECK_RETURNS(Error::InUse, "resize_tensor_ptr: ", resize_tensor_ptr(t, {100}));
  CHECK(t->numel() == 2);
  CHECK(resize_tensor_ptr(t, {1}) == Error::Ok);
  CHECK(blob.sizes[0] == 2);
  blob = Blob();
  CHECK(resize_tensor_ptr(t, {100}) == Error::InUse);
  copy = Blob();
  CHECK(resize_tensor_ptr(t, {100}) == Error::Ok);
}

TEST_CASE("to_blob: a blob of a view stops the growth of the view's source") {
  auto t = make_tensor_ptr({2}, {1.0f, 2.0f}, ScalarType::Float, TensorShapeDynamism::DYNAMIC);
  Blob blob = to_blob(make_tensor_ptr(*t));
  CHECK(resize_tensor_ptr(t, {100}) == Error::InUse);
  blob = Blob();
  CHECK(resize_tensor_ptr(t, {100}) == Error::Ok);
}

TEST_CASE("to_blob: of an owned tensor is read after the tensor is gone") {
  Blob blob = to_blob(make_tensor_ptr({2, 2}, {1.0f, 2.0f, 3.0f, 4.0f}));
  CHECK(values<float>(from_blob(blob)) == Floats{1, 2, 3, 4});
}

TEST_CASE("to_blob: a tensor made of the blob holds the first one back in its stead") {
  auto t = make_tensor_ptr({2}, {1.0f, 2.0f}, ScalarType::Float, TensorShapeDynamism::DYNAMIC);
  auto other = from_blob(to_blob(t));
  CHECK(const_data_ptr(other) == const_data_ptr(t));
  CHECK(ownership(other) == Ownership::Adopted);
  CHECK(resize_tensor_ptr(t, {100}) == Error::InUse);
  other.reset();
  CHECK(resize_tensor_ptr(t, {100}) == Error::Ok);
}

// from_blob

TEST_CASE("from_blob: without an owner the blob's memory is borrowed") {
  CHECK(ownership(from_blob(Blob{memory, {4}})) == Ownership::Borrowed);
}

TEST_CASE("from_blob: blob.owner is kept as long as the memory is in use") {
  std::string log;
  auto t = from_blob(blob_with(named("a", log)));
  CHECK(ownership(t) == Ownership::Adopted);
  auto view = make_tensor_ptr(*t);
  t.reset();
  CHECK(log.empty());
  view.reset();
  CHECK(log == "a");
}

TEST_CASE("from_blob: the blob itself is not needed afterwards, and keeps its own share") {
  std::string log;
  Blob blob = blob_with(named("a", log));
  auto t = from_blob(blob);
  CHECK(blob.owner.use_count() == 2);
  t.reset();
  CHECK(blob.owner.use_count() == 1);
  CHECK(log.empty());
}

TEST_CASE("from_blob: an owner that points to nothing is kept too") {
  int calls = 0;
  {
    std::shared_ptr<const void> owner(static_cast<const void*>(nullptr),
                                      [&](const void*) { ++calls; });
    auto t = from_blob(blob_with(std::move(owner)));
    CHECK(ownership(t) == Ownership::Adopted);
    CHECK(calls == 0);
  }
  CHECK(calls == 1);
}

TEST_CASE("from_blob: a further owner of any movable type is kept with the tensor") {
  std::string log;
  {
    auto t = from_blob(Blob{memory, {4}}, Named("a", log));
    CHECK(ownership(t) == Ownership::Adopted);
    CHECK(log.empty());
  }
  CHECK(log == "a");
  log.clear();
  { auto t = from_blob(Blob{memory, {4}}, LargeNamed("large", log)); }
  CHECK(log == "large");
  log.clear();
  { auto t = from_blob(Blob{memory, {4}}, std::make_unique<Named>("unique", log)); }
  CHECK(log == "unique");

  auto vector = std::make_unique<Floats>(Floats{5, 6});
  float* const data = vector->data();
  CHECK(values<float>(from_blob(Blob{data, {2}}, std::move(*vector))) == Floats{5, 6});
  auto shared = std::make_shared<Floats>(Floats{7, 8});
  auto t = from_blob(Blob{shared->data(), {2}}, shared);
  CHECK(shared.use_count() == 2);
}

TEST_CASE("from_blob: the further owner is dropped before blob.owner") {
  std::string log;
  { auto t = from_blob(blob_with(named("blob ", log)), Named("further ", log)); }
  CHECK(log == "further blob ");
  log.clear();
  { auto t = from_blob(blob_with(named("blob ", log)), LargeNamed("further ", log)); }
  CHECK(log == "further blob ");
  log.clear();
  { auto t = from_blob(blob_with(named("blob ", log)), ThrowingNamed("further ", log, 9)); }
  CHECK(log == "further blob ");
}

TEST_CASE("from_blob: an owner keeps its alignment") {
  std::string log;
  struct Watching : AlignedNamed {
    Watching(std::string& l, bool& o) : AlignedNamed("a", l), ok(&o) {}
    Watching(Watching&& other) noexcept : AlignedNamed(std::move(other)), ok(other.ok) {}
    ~Watching() { *ok = *ok && aligned(); }
    bool* ok;
  };
  bool ok = true;
  { auto t = from_blob(Blob{memory, {4}}, Watching(log, ok)); }
  CHECK(ok);
  CHECK(log == "a");
}

TEST_CASE("from_blob: after an error each owner has been dropped once") {
  std::string log;
  CHECK_ERROR(Error::InvalidArgument, "from_blob: size -1",
              from_blob(bad_blob_with(named("blob ", log))));
  CHECK(log == "blob ");
  log.clear();
  CHECK_ERROR(Error::InvalidArgument, "from_blob: size -1",
              from_blob(bad_blob_with(named("blob ", log)), Named("further ", log)));
  CHECK(log == "further blob ");
  log.clear();
  CHECK_ERROR(Error::InvalidArgument, "from_blob: size -1",
              from_blob(bad_blob_with(named("blob ", log)), LargeNamed("further ", log)));
  CHECK(log == "further blob ");
  log.clear();
  auto failed = try_from_blob(bad_blob_with(named("blob ", log)), Named("further ", log));
  CHECK(failed.error() == Error::InvalidArgument);
  CHECK(log == "further blob ");
}

TEST_CASE("from_blob: an owner whose move throws is dropped once, wherever it throws") {
  int completed = 0;
  for (int moves = 0; moves < 6; ++moves) {
    std::string log;
    try {
      auto t = from_blob(blob_with(named("b", log)), ThrowingNamed("f", log, moves));
      CHECK(log.empty());
      ++completed;
    } catch (const std::runtime_error&) {
    }
    INFO(moves << " moves: " << log);
    CHECK((log == "fb" || log == "bf"));
  }
  CHECK(completed > 0);
  CHECK(completed < 6);
}

TEST_CASE("from_blob: a callable is no owner, since it would never be called") {
  const auto deleter = [](void*) {};
  static_assert(std::is_invocable_v<decltype(from_blob), Blob, int>);
  static_assert(std::is_invocable_v<decltype(from_blob), Blob, std::shared_ptr<int>>);
  static_assert(!std::is_invocable_v<decltype(from_blob), Blob, decltype(deleter)>);
  static_assert(!std::is_invocable_v<decltype(from_blob), Blob, void (*)(void*)>);
  static_assert(!std::is_invocable_v<decltype(from_blob), Blob, std::nullptr_t>);
  SUCCEED();
}

TEST_CASE("from_blob: adopted memory that grows is released, and the owners with it") {
  std::string log;
  auto t = from_blob(blob_with(named("a", log)), TensorShapeDynamism::DYNAMIC);
  CHECK(resize_tensor_ptr(t, {8}) == Error::Ok);
  CHECK(log == "a");
  CHECK(ownership(t) == Ownership::Owned);
  CHECK(data<float>(t)[3] == 4);
}
