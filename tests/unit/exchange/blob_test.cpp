// SPDX-License-Identifier: MIT
// What blobs describe, and who keeps their memory, and that of tensors made from them.
#ifndef TENON_CHECKED
#define TENON_CHECKED
#endif
#include "tenon/exchange/blob.h"

#include <stdexcept>
#include <thread>

#include "backend/device_helpers.h"
#include "backend/helpers.h"
#include "support/catch.h"
#include "tenon/backend/arena.h"
#include "tenon/tenon.h"
#include "tensor/helpers.h"

namespace blob_test {

using namespace tenon;
using namespace tests;

static_assert(std::is_aggregate_v<Blob>);
static_assert(std::is_nothrow_move_constructible_v<Blob>);
static_assert(std::is_nothrow_copy_constructible_v<Blob>);
static_assert(std::is_same_v<decltype(try_from_blob(Blob())), Result<TensorPtr>>);
// A callable is no owner, since it would never be called.
using Create = decltype(from_blob);
static_assert(std::is_invocable_v<Create, Blob, int>);
static_assert(std::is_invocable_v<Create, Blob, std::shared_ptr<int>>);
static_assert(!std::is_invocable_v<Create, Blob, void (*)(void*)>);
static_assert(!std::is_invocable_v<Create, Blob, std::nullptr_t>);
// A backend is none either, but whose memory it is: it has to be there, and not const.
static_assert(std::is_invocable_v<Create, Blob, TensorShapeDynamism, Backend&>);
static_assert(!std::is_invocable_v<Create, Blob, const Backend&>);
static_assert(!std::is_invocable_v<Create, Blob, ArenaBackend>);

namespace {

Vector list_of(const Dims& dims) { return Vector(dims.begin(), dims.end()); }

}  // namespace

TEST_CASE("as_view: makes empty strides dense, and keeps others, the device and null data") {
  float data[24] = {};
  const ViewWithLists view = Blob::of(data, {2, 3, 4}).as_view();
  CHECK(view.data == data);
  CHECK(view.type == ScalarType::Float);
  CHECK(list_of(view.sizes) == Vector{2, 3, 4});
  CHECK(list_of(view.strides) == Vector{12, 4, 1});
  CHECK(list_of(Blob::of(data, {2, 3, 4}, {0, -7, 2}).as_view().strides) == Vector{0, -7, 2});
  const ViewWithLists there = Blob{nullptr, {4}, {}, ScalarType::Half, "cuda:1"}.as_view();
  CHECK(there.device == Device("cuda:1"));
  CHECK(there.data == nullptr);
}

TEST_CASE("blob: as_view, from_blob and accessor refuse what is no shape, type or element size") {
  float data[4] = {};
  const std::pair<Blob, const char*> rows[] = {
      {Blob::of(data, {2, -1}), ": size -1 of dimension 1"},
      {Blob::of(data, {2, 2}, {1}), ": strides {1} and sizes {2, 2} differ in length"},
      {Blob::of(data, {INT64_MAX, 2}), ": the element count of sizes"},
      {Blob::of(data, Vector(65, 1)), ": sizes has more than 64 entries"},
      {Blob::of(data, {2}, Vector(65, 1)), ": strides has more than 64 entries"},
      {{data, {2}, {}, ScalarType::Float, {}, 2},
       ": the blob's element_size is 2, but an element of Float has 4 bytes"},
      {{data, {2}, {}, ScalarType::Byte, {}, 2},
       ": the blob's element_size is 2, but an element of Byte has 1 byte"},
  };
  for (const auto& row : rows) {
    const Blob& blob = row.first;
    const std::string words = row.second;
    RAISES(InvalidArgument, "as_view" + words, blob.as_view());
    RAISES(InvalidArgument, "from_blob" + words, from_blob(blob, 1));
    RAISES(InvalidArgument, "accessor" + words, (accessor<float, 1>(blob)));
    FAILS(InvalidArgument, "try_from_blob" + words, try_from_blob(blob));
    FAILS(InvalidArgument, "try_accessor" + words, (try_accessor<float, 1>(blob)));
    FAILS(InvalidArgument, "try_as_view" + words, try_as_view(blob));
  }
  CHECK((*try_accessor<float, 1>(Blob::of(data, {4}))).data() == data);
  CHECK(try_as_view(Blob::of(data, {4}))->data == data);
  CHECK(from_blob(Blob{data, {2}, {}, ScalarType::Float, {}, 4})->nbytes() == 8);
}

// A promise of docs/guarantees.md.
TEST_CASE("Blob::of: takes the dtype of the pointer, read-only for one to const, and the owner") {
  int32_t ints[6] = {1, 2, 3, 4, 5, 6};
  const double doubles[2][3] = {{1, 2, 3}, {4, 5, 6}};
  uint8_t bytes[8] = {};
  const Blob blob = Blob::of(ints, {2, 3});
  CHECK(blob.data == ints);
  CHECK(list_of(blob.sizes) == Vector{2, 3});
  CHECK(blob.strides.empty());
  CHECK(blob.dtype == ScalarType::Int);
  CHECK_FALSE(blob.readonly);
  CHECK(blob.owner == nullptr);
  const auto owner = std::make_shared<int>(1);
  const Blob part = Blob::of(doubles, {2, 2}, {3, 1}, owner);
  CHECK(part.data == doubles);
  CHECK(list_of(part.strides) == Vector{3, 1});
  CHECK(part.dtype == ScalarType::Double);
  CHECK(part.readonly);
  CHECK(owner.use_count() == 2);
  CHECK(Blob::of(bytes, {8}, {}, owner).owner == owner);
  const Blob halves =
      Blob::of(reinterpret_cast<const std::byte*>(bytes), {2}, {2}, ScalarType::Half, owner);
  CHECK(halves.dtype == ScalarType::Half);
  CHECK(list_of(halves.strides) == Vector{2});
  CHECK(halves.readonly);
  CHECK(halves.owner == owner);
  const void* const constants = doubles;
  CHECK(Blob::of(constants, {2}, ScalarType::Float).readonly);
  CHECK_FALSE(Blob::of(nullptr, {0}, ScalarType::Float).readonly);
}

// A promise of docs/guarantees.md.
TEST_CASE("blob: each function refuses one without a dtype, and names the field") {
  int32_t ints[2] = {1, 2};
  const Blob blob{ints, {2}};
  CHECK(blob.scalar_type() == ScalarType::Undefined);
  const TensorPtr t = zeros({2});
  const std::string words =
      ": the blob's dtype is Undefined; fill in the field, or let Blob::of(data, sizes) take the "
      "pointer's";
  RAISES(InvalidType, "from_blob" + words, from_blob(blob, 1));
  RAISES(InvalidType, "from_blob" + words, from_blob(blob, host_backend()));
  RAISES(InvalidType, "tensor_from_blob" + words, tensor_from_blob(blob));
  CHECK(try_from_blob(blob).message() == "try_from_blob" + words);
  RAISES(InvalidType, "as_view" + words, blob.as_view());
  RAISES(InvalidType, "byte_strides" + words, blob.byte_strides());
  RAISES(InvalidType, "nbytes" + words, blob.nbytes());
  RAISES(InvalidType, "accessor" + words, (accessor<int32_t, 1>(blob)));
  RETURNS(InvalidType, "assign" + words, assign(t, blob));
  RETURNS(InvalidType, "assign" + words, assign(t, blob, Normalize()));
  RETURNS(InvalidType, "copy_to" + words, copy_to(t, blob));
  CHECK_FALSE(can_assign(t, blob));
  CHECK(std::string(last_error_message()) == "can_assign" + words);
}

TEST_CASE("nbytes: of a blob is from the lowest element to the end of the highest") {
  const struct {
    Vector sizes, strides;
    ScalarType type;
    size_t nbytes;
  } rows[] = {
      {{2, 3}, {}, ScalarType::Float, 24},
      {{2, 3}, {8, 1}, ScalarType::Float, 44},  // the last row is not padded
      {{2, 3}, {0, 1}, ScalarType::Double, 24},
      {{}, {}, ScalarType::ComplexDouble, 16},
      {{3, 0}, {INT64_MAX, -7}, ScalarType::Float, 0},
      {{2, 2}, {PTRDIFF_MAX - 1, -PTRDIFF_MAX}, ScalarType::Byte, SIZE_MAX - 1},
  };
  for (const auto& row : rows) {
    CAPTURE(row.sizes, row.strides);
    CHECK(Blob{nullptr, row.sizes, row.strides, row.type}.nbytes() == row.nbytes);
  }
}

TEST_CASE("from_byte_strides: counts a camera's pitch in bytes, and strides of any sign") {
  int16_t frame[2 * 5] = {1, 2, 3, -1, -1, 4, 5, 6, -1, -1};  // 3 pixels in rows of 10 bytes
  const Blob blob = *Blob::from_byte_strides(frame, {2, 3}, {10, 2}, ScalarType::Short);
  CHECK(blob.data == frame);
  CHECK(list_of(blob.sizes) == Vector{2, 3});
  CHECK(list_of(blob.strides) == Vector{5, 1});
  CHECK(blob.dtype == ScalarType::Short);
  CHECK(blob.device == Device());
  CHECK_FALSE(blob.readonly);
  CHECK(blob.nbytes() == 16);
  CHECK(values<int16_t>(from_blob(blob)) == std::vector<int16_t>{1, 2, 3, 4, 5, 6});
  const void* const there = frame + 5;
  const Blob turned =
      *Blob::from_byte_strides(there, {2, 2, 3}, {-10, 0, 2}, ScalarType::Short, "cuda:1");
  CHECK(list_of(turned.strides) == Vector{-5, 0, 1});
  CHECK(turned.readonly);
  CHECK(turned.device == Device("cuda:1"));
  CHECK(Blob::from_byte_strides(frame, {2, 5}, {}, ScalarType::Short)->strides.empty());
  CHECK(Blob::from_byte_strides(frame, {}, {}, ScalarType::Short)->nbytes() == 2);
  const Vector shape(8, 1);
  void* const bytes = frame;
  CHECK(list_of(Blob::from_byte_strides(bytes, shape, Vector(8, 4), ScalarType::Int)->strides) ==
        shape);
}

TEST_CASE("byte_strides: are what from_byte_strides takes, of empty strides the dense ones") {
  const uint8_t frame[2 * 64] = {};
  const Blob picture =
      Blob::from_byte_strides(frame, {2, 8, 3}, {64, 6, 2}, ScalarType::Short).value();
  CHECK(picture.byte_strides() == Dims({64, 6, 2}));
  CHECK(Blob{nullptr, {2, 3}, {-3, 0}, ScalarType::ComplexDouble}.byte_strides() == Dims({-48, 0}));
  CHECK(to_blob(transpose(zeros({2, 3}), 0, 1)).byte_strides() == Dims({4, 12}));
  RAISES(InvalidArgument,
         "byte_strides: ", (Blob::of(nullptr, {2, 3}, {1}, ScalarType::Float).byte_strides()));
}

TEST_CASE("from_byte_strides: a stride is a multiple of the element's size, unless it is unused") {
  int32_t data[8] = {};
  double doubles[2] = {};
  FAILS(InvalidType, "", Blob::from_byte_strides(doubles, {2}, {4}, ScalarType::Float));
  const auto make = [&](const Vector& shape, const Vector& steps) {
    return Blob::from_byte_strides(static_cast<void*>(data), shape, steps, ScalarType::Int);
  };
  const struct {
    Vector sizes, strides;
    const char* message;
  } rows[] = {
      {{2, 3},
       {14, 4},
       "the stride of dimension 0 is 14 bytes, which is no multiple of the 4 bytes of an element "
       "of Int"},
      {{2, 3}, {12, -2}, "the stride of dimension 1 is -2 bytes"},
      {{2, 3}, {4}, "byte_strides {4} and sizes {2, 3} differ in length"},
      {{2, -1}, {4, 4}, "size -1 of dimension 1 is negative in sizes {2, -1}"},
      {Vector(65, 1), {}, "sizes has more than 64 entries"},
      {{2}, Vector(65, 1), "byte_strides has more than 64 entries"},
  };
  for (const auto& row : rows) {
    FAILS(InvalidArgument, std::string("from_byte_strides: ") + row.message,
          make(row.sizes, row.strides));
  }
  CHECK(make({1, 2}, {INT64_MAX, 4})->nbytes() == 8);
  CHECK(make({0, 2}, {7, 3})->nbytes() == 0);
}

TEST_CASE("to_blob: describes the tensor's own memory, shape and dtype") {
  auto t = make_tensor_ptr({2, 3}, {1.0, 2.0, 3.0, 4.0, 5.0, 6.0});
  const Blob blob = to_blob(t);
  CHECK(blob.data == const_data_ptr(t));
  CHECK(list_of(blob.sizes) == Vector{2, 3});
  CHECK(list_of(blob.strides) == Vector{3, 1});
  CHECK(blob.dtype == ScalarType::Double);
  CHECK(blob.device == Device());
  CHECK(blob.element_size == 8);
  CHECK_FALSE(blob.readonly);
  CHECK(to_blob(*t).data == blob.data);
}

TEST_CASE("from_blob: of a blob is a DYNAMIC_BOUND tensor over its memory, at any strides") {
  int32_t data[6] = {0, 1, 2, 3, 4, 5};
  const Blob blob{data, {2, 3}, {}, ScalarType::Int};
  const TensorPtr t = from_blob(blob);
  CHECK(const_data_ptr(t) == data);
  CHECK(ownership(t) == Ownership::Borrowed);
  CHECK(shape_dynamism(t) == TensorShapeDynamism::DYNAMIC_BOUND);
  CHECK(shape_dynamism(from_blob(blob, TensorShapeDynamism::STATIC)) ==
        TensorShapeDynamism::STATIC);
}

TEST_CASE("from_blob: null data serves for zero elements and the Meta device, not for elements") {
  CHECK(from_blob(Blob::of(nullptr, {0, 3}, ScalarType::Float))->numel() == 0);
  CHECK_ERROR(Error::InvalidArgument,
              "from_blob: the data is null, but sizes {2, 3} hold 6 elements",
              from_blob(Blob::of(nullptr, {2, 3}, ScalarType::Float)));
  CHECK_ERROR(Error::InvalidArgument, "from_blob: the data is null",
              from_blob(to_blob(make_tensor_ptr({1}, nullptr))));
  CHECK(from_blob(Blob{nullptr, {2, 3}, {}, ScalarType::Half, DeviceType::Meta})->numel() == 6);
}

namespace {

/// The memory of `blob`'s tensors is the backend's, which counts it.
template <class B>
void check_backend(B& backend, const Blob& blob) {
  const TensorPtr tensors[] = {from_blob(blob, backend),
                               from_blob(blob, backend, TensorShapeDynamism::STATIC),
                               from_blob(blob, TensorShapeDynamism::DYNAMIC, backend),
                               from_blob(blob, std::make_shared<int>(), backend)};
  CHECK(try_from_blob(blob, backend).ok());
  CHECK(shape_dynamism(tensors[1]) == TensorShapeDynamism::STATIC);
  CHECK(shape_dynamism(tensors[2]) == TensorShapeDynamism::DYNAMIC);
  for (const TensorPtr& t : tensors) {
    CHECK(&backend_of(t) == &backend);
    CHECK(t->device() == backend.device());
    CHECK(const_data_ptr(t) == blob.data);
    CHECK(values<float>(backend_copy(t, host_backend())) == Floats{3, 4});
  }
  CHECK(backend.live_blocks() >= 4);  // more where it keeps metadata, too
}

}  // namespace

TEST_CASE("from_blob: with a backend it says whose memory that is") {
  MinimalBackend b;
  void* const p = b.allocate(8, 64);
  const float source[2] = {3, 4};
  REQUIRE(b.copy_from_host(p, source, 8) == Error::Ok);
  auto owner = std::make_shared<int>(1);
  const Blob blob{p, {2}, {}, ScalarType::Float, b.device(), 0, false, owner};
  check_backend(b, blob);
  check_backend<Backend>(b, blob);
  CHECK(owner.use_count() == 2);
  alignas(64) unsigned char room[4096];
  ArenaBackend arena(room, sizeof room);
  float* const here = static_cast<float*>(arena.allocate(8, 64));
  std::memcpy(here, source, 8);
  check_backend(arena, Blob::of(here, {2}));
  // Of another device; the owner is dropped.
  Blob elsewhere = blob;
  elsewhere.device = "cuda:1";
  RAISES(InvalidArgument,
         "from_blob: the blob is on cuda:1, memory of backend minimal on ext_dev:0",
         from_blob(elsewhere, b));
  elsewhere.owner = nullptr;
  CHECK(owner.use_count() == 2);
  CHECK(b.live_blocks() == 0);
  b.deallocate(p, 8);
}

TEST_CASE("to_owned_blob: is a copy that outlives tensor, arena and thread; dense strides stay") {
  TensorPtr t = make_tensor_ptr({2, 3}, {0, 1, 2, 3, 4, 5}, TensorShapeDynamism::DYNAMIC);
  Blob copy = to_owned_blob(transpose(t, 0, 1));
  CHECK(list_of(copy.sizes) == Vector{3, 2});
  CHECK(list_of(copy.strides) == Vector{1, 3});
  CHECK(values<int32_t>(from_blob(copy)) == Ints{0, 3, 1, 4, 2, 5});
  CHECK(resize_tensor_ptr(t, {20, 30}) == Error::Ok);  // nothing is borrowed
  Blob kept;
  alignas(64) unsigned char room[4096];
  {
    ArenaBackend arena(room, sizeof room);
    const BackendScope scope(arena);
    {
      const TensorPtr source = full({1000 / 4}, 7.5f);
      const size_t used = arena.used();
      CHECK(used > 1000);
      kept = to_owned_blob(source);
      CHECK(arena.used() == used);
    }
    CHECK(arena.reset() == Error::Ok);
  }
  std::memset(room, 0xee, sizeof room);
  CHECK(accessor<const float, 1>(kept)[249] == 7.5f);
  std::thread([&] { kept = Blob(); }).join();
}

TEST_CASE("to_blob: host memory that only its backend reaches is an error, which retains nothing") {
  MinimalBackend b("own", Device());
  const TensorPtr t = zeros({2}, b);
  RAISES(
      NotSupported,
      "to_blob: the source tensor is in memory on cpu that only its backend reaches, which a Blob "
      "cannot say",
      to_blob(t));
  CHECK(t->use_count() == 1);
}

TEST_CASE("accessor: of a blob checks dtype, rank, alignment, device, data and read-only") {
  int32_t data[6] = {};
  Blob blob{data, {2, 3}, {}, ScalarType::Int};
  RAISES(InvalidType, "accessor: asked for Float, but the blob's dtype is Int",
         (accessor<float, 2>(blob)));
  RAISES(InvalidArgument, "accessor: asked for 1 dimensions, the blob has 2",
         (accessor<int32_t, 1>(blob)));
  blob.readonly = true;
  RAISES(InvalidState, "accessor: the blob is read-only", (accessor<int32_t, 2>(blob)));
  CHECK(accessor<const int32_t, 2>(blob)[1][1] == 0);
  blob.device = "cuda";
  RAISES(NotSupported, "accessor: the blob is on cuda:0, which the host cannot reach",
         (accessor<const int32_t, 2>(blob)));
  RAISES(InvalidState, "accessor: the blob of sizes {2} has no data",
         (accessor<float, 1>(to_blob(make_tensor_ptr({2}, nullptr)))));
  CHECK(accessor<float, 1>(Blob::of(nullptr, {0}, ScalarType::Float)).size(0) == 0);
  auto* const odd = reinterpret_cast<unsigned char*>(data) + 2;
  RAISES(InvalidArgument, "accessor: the data lies 2 bytes after a multiple of 4",
         (accessor<int32_t, 1>(Blob{odd, {2}, {}, ScalarType::Int})));
}

namespace {

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
  Blob blob = Blob::of(memory, {4});
  blob.owner = std::move(owner);
  return blob;
}

}  // namespace

// A promise of docs/guarantees.md.
TEST_CASE("to_blob: the owner keeps the memory alive, a view's owner the memory, not the view") {
  Calls calls;
  TensorPtr t = from_blob(memory, {4}, ScalarType::Float, calls.deleter());
  TensorPtr view = make_tensor_ptr(*t, {2}, {}, {}, 2);
  Blob blob = to_blob(t);
  Blob copy = blob;
  Blob of_view = to_blob(view);
  CHECK(view->use_count() == 1);
  t.reset();
  view.reset();
  blob = Blob();
  copy.owner.reset();
  CHECK(calls.count == 0);
  CHECK(static_cast<float*>(of_view.data)[1] == 4);
  of_view = Blob();
  CHECK(calls.count == 1);
  CHECK(calls.argument == memory);
  blob = to_blob(make_tensor_ptr({2, 2}, {1.0f, 2.0f, 3.0f, 4.0f}));
  CHECK(values<float>(from_blob(blob)) == Floats{1, 2, 3, 4});
}

// A promise of docs/guarantees.md.
TEST_CASE("from_blob: blob.owner is kept as long as the memory is in use, the blob is not needed") {
  std::string log;
  Blob blob = blob_with(named("a", log));
  TensorPtr t = from_blob(blob);
  CHECK(ownership(t) == Ownership::Adopted);
  CHECK(blob.owner.use_count() == 2);
  TensorPtr view = make_tensor_ptr(*t);
  t.reset();
  blob = Blob();
  CHECK(log.empty());
  view.reset();
  CHECK(log == "a");
  // Also one that points to nothing.
  int calls = 0;
  t = from_blob(blob_with({static_cast<const void*>(nullptr), [&](const void*) { ++calls; }}));
  CHECK(ownership(t) == Ownership::Adopted);
  CHECK(calls == 0);
  t.reset();
  CHECK(calls == 1);
}

// A promise of docs/guarantees.md.
TEST_CASE("from_blob: after an error each owner has been dropped once") {
  std::string log;
  const auto check = [&](const char* expected, auto&&... owner) {
    Blob blob = blob_with(named("blob ", log));
    blob.sizes = {-1};
    CHECK(try_from_blob(std::move(blob), std::move(owner)...).error() == Error::InvalidArgument);
    CHECK(log == expected);
    log.clear();
  };
  check("blob ");
  check("further blob ", Named("further ", log));
  check("further blob ", LargeNamed("further ", log));
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

TEST_CASE("to_owned_blob: fetches what only a backend reaches, and says what it cannot") {
  MinimalBackend b;
  const Blob copy = to_owned_blob(make_tensor_ptr({2, 2}, {1, 2, 3, 4}, b));
  CHECK(copy.device == Device());
  CHECK(values<int32_t>(from_blob(copy)) == Ints{1, 2, 3, 4});
  CHECK(b.live_blocks() == 0);
  b.will["copy_to_host"] = Answer::Fails;
  RAISES(AccessFailed, "to_owned_blob: backend minimal failed in copy_to_host",
         to_owned_blob(zeros({2}, b)));
  RAISES(InvalidState, "to_owned_blob: the source tensor is undefined", to_owned_blob(TensorPtr()));
  RAISES(InvalidState, "to_owned_blob: the source tensor is a placeholder without data",
         to_owned_blob(make_tensor({2}, nullptr)));
  RETURNS(InvalidState, "try_to_owned_blob: the source tensor is undefined",
          try_to_owned_blob(Tensor()).error());
  const TensorPtr far = from_blob(
      Blob{reinterpret_cast<void*>(uintptr_t{4096}), {2}, {}, ScalarType::Float, "cuda:1"});
  CHECK(try_to_owned_blob(far).error() == Error::NotSupported);
  CHECK(to_owned_blob(zeros({0, 3})).nbytes() == 0);
}

#if !TENON_ATEN_MODE  // where strides are not negative
#endif

}  // namespace blob_test
