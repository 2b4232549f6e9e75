// SPDX-License-Identifier: MIT
#include "tenon/tensor/tensor_ptr_maker.h"

#include <stdexcept>

#include "backend/device_helpers.h"
#include "support/catch.h"
#include "tenon/tenon.h"
#include "tensor/helpers.h"

namespace tensor_ptr_maker_test {

using namespace tenon;
using namespace tests;

static_assert(std::is_nothrow_move_constructible_v<TensorPtrMaker>);
static_assert(!std::is_copy_constructible_v<TensorPtrMaker>);
static_assert(std::is_convertible_v<TensorPtrMaker, TensorPtr>);

namespace {
constexpr auto kStatic = TensorShapeDynamism::STATIC;

// Every setting, with a device whose memory the host can read.
void check_settings(const char* device) {
  int32_t data[8] = {0, 1, 2, 3, 4, 5, 6, 7};
  Calls calls;
  {
    TensorPtr t = for_blob(static_cast<void*>(data), {2, 3})
                      .deleter(calls.deleter())
                      .device(device)
                      .dynamism(kStatic)
                      .dim_order({1, 0})
                      .strides({1, 3})
                      .type(ScalarType::Int);
    CHECK(t->scalar_type() == ScalarType::Int);
    CHECK(t->device() == Device(device));
    CHECK(shape_dynamism(t) == kStatic);
    CHECK(dim_order(t) == Vector{1, 0});
    CHECK(strides(t) == Vector{1, 3});
    CHECK(ownership(t) == Ownership::Adopted);
    CHECK(values<int32_t>(t) == Ints{0, 3, 6, 1, 4, 7});
    CHECK(calls.count == 0);
  }
  CHECK(calls.count == 1);
  CHECK(calls.argument == data);
}

}  // namespace

TEST_CASE("for_blob: every setting shows in the tensor, whatever their order") {
  check_settings("cpu");
}

TEST_CASE("for_blob: every setting shows in the tensor, a device's pinned memory too", "[plain]") {
  check_settings("cuda_host");
}

TEST_CASE("for_blob: makes a TensorPtr, a TensorImplPtr, a Tensor or a Result") {
  int32_t data[2] = {1, 2};
  const auto make = [&](const Dims& sizes) { return for_blob(data, sizes); };
  CHECK(values<int32_t>(make({2}).make_tensor_ptr()) == Ints{1, 2});
  CHECK(make({2}).make_tensor_impl_ptr()->numel() == 2);
  CHECK(values<int32_t>(make({2}).make_tensor()) == Ints{1, 2});
  CHECK(values<int32_t>(*make({2}).try_make_tensor_ptr()) == Ints{1, 2});
  CHECK(make({2}).try_make_tensor_impl_ptr().value()->numel() == 2);
  CHECK(values<int32_t>(*make({2}).try_make_tensor()) == Ints{1, 2});
  CHECK(make({-2}).try_make_tensor_impl_ptr().error() == Error::InvalidArgument);
  CHECK(make({-2}).try_make_tensor().error() == Error::InvalidArgument);
  CHECK(contains(make({-2}).try_make_tensor_ptr().message(), "for_blob: size -2"));
}

namespace {

// Logs its name when it is dropped.
struct Logged {
  Logged(std::string& l, const char* n) : log(&l), name(n) {}
  Logged(Logged&& other) noexcept : log(std::exchange(other.log, nullptr)), name(other.name) {}
  ~Logged() {
    if (log != nullptr) *log += name;
  }
  std::string* log;
  const char* name;
};
struct LargeLogged : Logged {
  using Logged::Logged;
  std::array<char, 100> padding{};
};

}  // namespace

// A promise of docs/guarantees.md.
TEST_CASE("for_blob: owners are dropped after the deleter, in their order, in every case") {
  std::string log;
  float data[1] = {};
  const auto deleter = [&log](void*) { log += "deleter "; };
  const auto owner = [&log](const char* name) { return LargeLogged(log, name); };
  const auto check = [&](const char* expected) {
    CHECK(log == expected);
    log.clear();
  };
  for_blob(data, {1}).deleter(deleter).owner(owner("owner ")).make_tensor_ptr();
  check("deleter owner ");
  for_blob(data, {1}).owner(owner("owner ")).deleter(deleter).make_tensor_ptr();
  check("deleter owner ");
  RAISES(InvalidArgument, "for_blob: ",
         for_blob(data, {-1}).owner(owner("owner ")).deleter(deleter).make_tensor_ptr());
  check("deleter owner ");
  for_blob(data, {1}).owner(owner("owner ")).deleter(deleter);
  check("deleter owner ");
  for_blob(data, {1})
      .owner(Logged(log, "first "))
      .owner(owner("second "))
      .deleter(deleter)
      .owner(Logged(log, "third "))
      .make_tensor_ptr();
  check("deleter first second third ");
  RAISES(InvalidArgument, "for_blob: ",
         for_blob(data, {-1}).owner(owner("first ")).owner(owner("second ")).make_tensor_ptr());
  check("first second ");
}

TEST_CASE("for_blob: an owner whose move throws is dropped once, wherever it throws") {
  struct Owner {
    Owner(int& d, int moves) : dropped(&d), moves_left(moves) {}
    Owner(Owner&& other) : moves_left(other.moves_left - 1) {
      if (moves_left < 0) throw std::runtime_error("moved too often");
      dropped = std::exchange(other.dropped, nullptr);
    }
    ~Owner() {
      if (dropped != nullptr) ++*dropped;
    }
    int* dropped = nullptr;
    int moves_left;
  };
  float data[1] = {};
  int completed = 0;
  for (int moves = 0; moves < 6; ++moves) {
    Calls calls;
    int dropped = 0;
    try {
      auto t = for_blob(data, {1}).deleter(calls.deleter()).owner(Owner(dropped, moves));
      TensorPtr made = std::move(t);
      CHECK(dropped == 0);
      ++completed;
    } catch (const std::runtime_error&) {
    }
    CHECK(dropped == 1);
    CHECK(calls.count == 1);
  }
  CHECK(completed > 0);
  CHECK(completed < 6);
}

// A promise of docs/guarantees.md.
TEST_CASE("for_blob: device memory is described, never touched") {
  // An address that faults when it is read.
  void* const device_pointer = reinterpret_cast<void*>(uintptr_t{64});
  Calls calls;
  {
    auto t = for_blob(device_pointer, {1 << 20}, ScalarType::Float)
                 .device("cuda:1")
                 .deleter(calls.deleter())
                 .make_tensor_ptr();
    CHECK(t->device() == Device(DeviceType::CUDA, 1));
    CHECK(const_data_ptr(t) == device_pointer);
    CHECK(sizes(t) == Vector{1 << 20});
  }
  CHECK(calls.count == 1);
  CHECK(calls.argument == device_pointer);
}

TEST_CASE("from_blob: a device says where the memory is, in each order of arguments") {
  void* const p = reinterpret_cast<void*>(uintptr_t{4096});
  const ScalarType type = ScalarType::Half;
  const Device cuda1("cuda:1");
  Calls calls;
  const struct {
    TensorPtr t;
    bool strided, is_static, adopted;
  } rows[] = {
      {from_blob(p, {2, 3}, type, cuda1), false, false, false},
      {from_blob(p, {2, 3}, kStatic, type, cuda1), false, true, false},
      {from_blob(p, {2, 3}, {4, 1}, type, cuda1), true, false, false},
      {from_blob(p, {2, 3}, type, calls.deleter(), cuda1), false, false, true},
      {from_blob(p, {2, 3}, {4, 1}, type, calls.deleter(), cuda1, kStatic), true, true, true},
      {*try_from_blob(p, {2, 3}, type, cuda1), false, false, false},
  };
  for (const auto& row : rows) {
    CHECK(row.t->device() == cuda1);
    CHECK(row.t->scalar_type() == type);
    CHECK(const_data_ptr(row.t) == p);
    CHECK(strides(row.t) == (row.strided ? Vector{4, 1} : Vector{3, 1}));
    CHECK(shape_dynamism(row.t) == (row.is_static ? kStatic : TensorShapeDynamism::DYNAMIC_BOUND));
    CHECK(ownership(row.t) == (row.adopted ? Ownership::Adopted : Ownership::Borrowed));
  }
  CHECK(from_blob(p, {2}, DeviceType::CUDA)->device() == Device("cuda:0"));
  CHECK(calls.count == 0);
  using Create = decltype(from_blob);
  static_assert(!std::is_invocable_v<Create, void*, Dims, ScalarType, Device, void (*)(int)>);
}

TEST_CASE("from_blob: strides and a dim order are options, in any order with the others") {
  int32_t data[6] = {0, 1, 2, 3, 4, 5};
  const ScalarType type = ScalarType::Int;
  Calls calls;
  {
    const TensorPtr rows[] = {
        from_blob(data, {2, 3}, Strides{1, 2}),
        from_blob(data, {2, 3}, DimOrder{1, 0}),
        from_blob(data, {2, 3}, {1, 2}, DimOrder{1, 0}),
        from_blob(data, {2, 3}, type, Strides{1, 2}, kStatic),
        from_blob(data, {2, 3}, Strides{1, 2}, type, host_backend(), DimOrder{1, 0}),
        from_blob(data, {2, 3}, Device("cpu"), DimOrder{1, 0}, type),
        from_blob(data, {2, 3}, type, calls.deleter(), Strides{1, 2}, kStatic),
        from_blob(data, {2, 3}, Strides{1, 2}, type, calls.deleter(), DimOrder{1, 0}),
        from_blob(data, {2, 3}, DimOrder{1, 0}, type, calls.deleter()),
        from_blob(data, {2, 3}, {1, 2}, type, calls.deleter(), DimOrder{1, 0}),
        *try_from_blob(data, {2, 3}, Strides{1, 2}),
        for_blob(data, {2, 3}).strides({1, 2}).dim_order({1, 0}).make_tensor_ptr(),
        for_blob(data, {2, 3}).strides(Strides{1, 2}).make_tensor_ptr(),
        for_blob(data, {2, 3}).dim_order(DimOrder{1, 0}).make_tensor_ptr(),
    };
    for (const TensorPtr& t : rows) {
      INFO("row " << &t - rows);
      check_tensor(*t, {2, 3}, {1, 2}, {0, 2, 4, 1, 3, 5});
      CHECK(const_data_ptr(t) == data);
    }
    CHECK(strides(tensor_from_blob(data, {2, 3}, Strides{1, 2})) == Vector{1, 2});
    CHECK(calls.count == 0);
  }
  CHECK(calls.count == 4);
  const std::vector<int64_t> list = {1, 2};
  const Strides named(list);
  CHECK(strides(from_blob(data, {2, 3}, named)) == Vector{1, 2});
  CHECK(strides(from_blob(data, {2, 3}, Strides(list))) == Vector{1, 2});
  CHECK(strides(from_blob(data, {2, 3}, Strides{}, DimOrder{})) == Vector{3, 1});
  // What dim_order() returns is taken as one.
  const TensorPtr source = from_blob(data, {2, 3}, Strides{1, 2});
  CHECK(strides(from_blob(data, {2, 3}, tenon::dim_order(source))) == Vector{1, 2});
  RAISES(InvalidArgument, "from_blob: ", from_blob(data, {2, 3}, Strides{1}));
  RAISES(InvalidArgument, "from_blob: dim_order has a value that is not a dimension",
         from_blob(data, {2, 3}, DimOrder{256, 1}));
  RAISES(InvalidArgument, "for_blob: dim_order has a value that is not a dimension",
         for_blob(data, {2, 3}).dim_order(DimOrder{256, 1}).make_tensor_ptr());
  RAISES(InvalidArgument, "from_blob: dim_order {2, 1} is not a permutation",
         from_blob(data, {2, 3}, DimOrder{2, 1}));
  RAISES(InvalidArgument, "from_blob: dim_order has more than 64",
         from_blob(data, {2, 3}, DimOrder(Dims(std::vector<int>(65)))));
  CHECK(calls.count == 4);
  RAISES(InvalidArgument,
         "from_blob: ", from_blob(data, {2, 3}, Strides{1}, type, calls.deleter()));
  CHECK(calls.count == 5);
}

TEST_CASE("from_blob: memory on a device is checked by its DeviceBackend, and released once") {
  RecordingDevice cuda;
  register_backend(cuda);
  alignas(16) float memory[8] = {};
  alignas(16) float elsewhere[8] = {};
  float* const p = memory + 2;
  cuda.lend(memory, sizeof memory);
  Calls calls;
  CHECK(from_blob(p, {2, 3}, ScalarType::Float, cuda.device())->device() == cuda.device());
  CHECK(for_blob(p, {2, 3}).device(cuda.device()).make_tensor_ptr()->numel() == 6);
  CHECK(for_blob(p, {2, 3}).backend(cuda).make_tensor_ptr()->numel() == 6);
  CHECK(cuda.calls == Texts(3, "check_memory 24"));
  const char* const text =
      "from_blob: backend recording failed in check_memory: the driver knows it as host memory";
  RAISES(InvalidArgument, text,
         from_blob(elsewhere, {2, 3}, ScalarType::Float, calls.deleter(), cuda.device()));
  CHECK(calls.count == 1);
  CHECK(cuda.live_blocks() == 0);
  RAISES(InvalidArgument, "for_blob: backend recording failed in check_memory",
         for_blob(elsewhere, {2, 3}).deleter(calls.deleter()).backend(cuda).make_tensor_ptr());
  CHECK(calls.count == 2);
  RAISES(InvalidArgument, "check_memory", from_blob(p, {7}, cuda));  // an element more
}

TEST_CASE("from_blob: with negative strides the check begins below the data", "[plain]") {
  RecordingDevice cuda;
  float memory[8] = {};
  cuda.lend(memory, sizeof memory);
  CHECK(from_blob(memory + 5, {2, 2}, {-4, -1}, cuda)->numel() == 4);
  CHECK(cuda.calls == Texts{"check_memory 24"});
  RAISES(InvalidArgument, "check_memory", from_blob(memory + 5, {7}, {-1}, cuda));
}

TEST_CASE("from_blob: what has no elements, no data or no DeviceBackend is not checked") {
  RecordingDevice cuda;
  register_backend(cuda);
  float data[2] = {};
  CHECK(from_blob(data, {0, 4}, cuda)->numel() == 0);
  CHECK(from_blob(nullptr, {2}, ScalarType::Float, cuda.device())->numel() == 2);
  CHECK(from_blob(data, {2}, Device("cuda:1"))->device() == Device("cuda:1"));
  CHECK(cuda.calls.empty());
}

// A promise of docs/guarantees.md.
TEST_CASE("try_from_blob, tensor_from_blob: give the value, or the error by their own name") {
  float data[2] = {};
  Calls calls;
  CHECK(try_from_blob(data, {2}).ok());
  Tensor t = tensor_from_blob(data, {1}, {2}, ScalarType::Float, calls.deleter(), kStatic);
  CHECK(t.const_data_ptr() == data);
  t = tensor_from_blob(Blob::of(data, {2}));
  CHECK(calls.count == 1);
  CHECK(sizes(try_tensor_from_blob(data, {2}).value()) == Vector{2});
  RAISES(InvalidArgument, "tensor_from_blob: ", tensor_from_blob(data, {-1}));
  CHECK(contains(try_tensor_from_blob(data, {-1}).message(), "try_tensor_from_blob: "));
  calls = Calls();
  RETURNS(InvalidArgument, "try_from_blob: strides {1, 1}",
          try_from_blob(data, {2}, {1, 1}, ScalarType::Float, calls.deleter()).error());
  CHECK(calls.count == 1);
}

// A promise of docs/guarantees.md.
TEST_CASE("for_blob: a second deleter is an error, the first runs once, the second never") {
  float data[1] = {};
  Calls first;
  Calls second;
  {
    auto maker = for_blob(data, {1}).deleter(first.deleter()).deleter(second.deleter());
    CHECK(first.count == 0);
    RAISES(InvalidArgument, "for_blob: deleter() was called 2 times",
           std::move(maker).make_tensor_ptr());
  }
  CHECK(first.count == 1);
  CHECK(first.argument == data);
  CHECK(second.count == 0);
}

}  // namespace tensor_ptr_maker_test
