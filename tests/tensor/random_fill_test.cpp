// SPDX-License-Identifier: MIT
// uniform_, normal_ and random_: what they write, and what they refuse.
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "support/catch.h"
#include "tenon/tensor/random.h"
#include "tenon/tensor/resize.h"
#include "tenon/tensor/tensor_ptr.h"
#include "tenon/tensor/tensor_ptr_maker.h"
#include "tenon/tensor/view.h"
#include "tensor/helpers.h"
#include "tensor/random_helpers.h"

using namespace tenon;
using namespace tests;

namespace {

using Ints = std::vector<int32_t>;
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr Generator kGenerator(5, 1000003);

// The functions, with bounds that suit every type, and what makes the same in a new tensor.
struct Filler {
  const char* name;
  Error (*fill)(const TensorArg& t, Generator& g);
  TensorPtr (*make)(const Vector& sizes, ScalarType type, Generator& g);
};
const Filler kFillers[] = {
    {"uniform_", [](const TensorArg& t, Generator& g) { return uniform_(t, 0, 1.5, g); },
     [](const Vector& sizes, ScalarType type, Generator& g) {
       return tenon::uniform(0, 1.5, sizes, type, g);
     }},
    {"normal_", [](const TensorArg& t, Generator& g) { return normal_(t, 20, 3, g); },
     [](const Vector& sizes, ScalarType type, Generator& g) {
       return tenon::normal(20, 3, sizes, type, g);
     }},
    {"random_", [](const TensorArg& t, Generator& g) { return random_(t, 0, 2, g); },
     [](const Vector& sizes, ScalarType type, Generator& g) {
       return tenon::randint(0, 2, sizes, type, g);
     }},
    {"random_", [](const TensorArg& t, Generator& g) { return random_(t, g); },
     [](const Vector& sizes, ScalarType type, Generator& g) {
       TensorPtr t = tenon::empty(sizes, type);
       CHECK(random_(t, g) == Error::Ok);
       return t;
     }},
};

// Fills the elements of a memory full of noise, at an address that suits its type. Returns whether
// they hold what a new tensor does and the rest is as it was.
bool is_filled(const Filler& filler, ScalarType type, const Vector& sizes, const Vector& strides) {
  Strided memory(type, sizes, strides);
  tests::Rng random{3};
  tests::fill_with_noise(random, memory.bytes);
  Bytes expected = memory.bytes;
  Generator g = kGenerator;
  const Bytes wanted = elements(filler.make(sizes, type, g));
  const size_t size = elementSize(type);
  size_t i = 0;
  for (int64_t offset : offsets_of(sizes, strides)) {
    unsigned char* const element =
        expected.data() + memory.first + offset * static_cast<int64_t>(size);
    for (size_t k = 0; k < size; ++k) element[k] = wanted[i++];
  }
  const Tensor t =
      tenon::for_blob(static_cast<void*>(memory.bytes.data() + memory.first), sizes, type)
          .strides(strides)
          .make_tensor();
  Generator used = kGenerator;
  return filler.fill(t, used) == Error::Ok && memory.bytes == expected &&
         used.offset() == g.offset();
}

// The same for every type and function, with memory of a given shape.
struct Shape {
  const char* name;
  Vector sizes;
  Vector strides;
};
void check_filled(const std::vector<Shape>& shapes) {
  for (const Filler& filler : kFillers) {
    for (const Shape& shape : shapes) {
      for (ScalarType type : tests::kAllTypes) {
        INFO(filler.name << " " << toString(type) << " " << shape.name);
        CHECK(is_filled(filler, type, shape.sizes, shape.strides));
      }
    }
  }
}

// The elements of `t` once one of its views is filled with 39, 88, 73, 60.
Ints filled_base(const TensorPtr& t, const Tensor& view) {
  Generator g(0);
  CHECK(random_(view, 0, 100, g) == Error::Ok);
  return values<int32_t>(t);
}

// The three functions refuse `t`, which keeps its bytes, and their generators do not advance.
void check_refused(Error error, const std::string& words, const TensorArg& t) {
  for (const Filler& filler : kFillers) {
    Generator g = kGenerator;
    CHECK_RETURNS(error, std::string(filler.name) + ": the tensor " + words, filler.fill(t, g));
    CHECK(g.offset() == kGenerator.offset());
  }
}

// An address that faults when it is read or written.
void* const kDevicePointer = reinterpret_cast<void*>(uintptr_t{4096});

}  // namespace

TEST_CASE("uniform_, normal_, random_: fill with what rand, randn and randint make") {
  const TensorPtr t = tenon::full({5, 40}, 7);
  const Generator before = tenon::default_generator();
  const auto check = [&](const auto& fill, const auto& make) {
    tenon::manual_seed(4);
    CHECK(fill() == Error::Ok);
    tenon::manual_seed(4);
    CHECK((elements(t) == elements(make())));
  };
  check([&] { return uniform_(t); }, [] { return tenon::rand({5, 40}); });
  check([&] { return normal_(t); }, [] { return tenon::randn({5, 40}); });
  check([&] { return random_(t, -3, 60); },
        [] {
          return tenon::randint(-3, 60, {5, 40}, ScalarType::Float);
        });
  const TensorPtr same = tenon::zeros({5, 40});
  check([&] { return random_(t); },
        [&] {
          CHECK(random_(same) == Error::Ok);
          return *same;
        });
  tenon::default_generator() = before;
}

TEST_CASE("uniform_, normal_, random_: the thread's own generator counts what they fill with",
          "[plain]") {
  const TensorPtr t = tenon::full({5, 40}, 7);
  const Generator before = tenon::default_generator();
  tenon::manual_seed(4);
  CHECK(uniform_(t) == Error::Ok);
  CHECK(tenon::default_generator().offset() == 200);
  CHECK(normal_(t) == Error::Ok);
  tenon::default_generator().set_offset(200);
  CHECK((elements(t) == elements(tenon::randn({5, 40}))));
  CHECK(random_(t, -3, 60) == Error::Ok);
  tenon::default_generator().set_offset(400);
  CHECK((elements(t) == elements(tenon::randint(-3, 60, {5, 40}, ScalarType::Float))));
  CHECK(random_(t) == Error::Ok);
  CHECK(tenon::default_generator().offset() == 800);
  tenon::default_generator() = before;
}

TEST_CASE("uniform_, normal_, random_: take tensors, pointers and temporary views") {
  const Tensor t = *tenon::zeros({2, 2}, ScalarType::Int);
  const TensorPtr pointer = tenon::zeros({2}, ScalarType::Int);
  Generator g(0);
  CHECK(random_(tenon::select(t, 0, 1), 0, 100, g) == Error::Ok);
  CHECK(values<int32_t>(t) == Ints{0, 0, 39, 88});
  CHECK(random_(pointer, 0, 100, g) == Error::Ok);
  CHECK(values<int32_t>(pointer) == Ints{73, 60});
  g.manual_seed(0);
  CHECK(random_(*pointer, 0, 100, g) == Error::Ok);
  CHECK(values<int32_t>(pointer) == Ints{39, 88});
}

TEST_CASE("random_: views get the numbers in the order of their own indices") {
  const TensorPtr t = tenon::zeros({2, 2}, ScalarType::Int);
  CHECK(filled_base(t, *t) == Ints{39, 88, 73, 60});
  CHECK(filled_base(t, tenon::transpose(t, 0, 1)) == Ints{39, 73, 88, 60});
  CHECK(filled_base(t, tenon::view(t, {4})) == Ints{39, 88, 73, 60});
  CHECK(filled_base(t, tenon::select(t, 1, 1)) == Ints{39, 39, 73, 88});
}

TEST_CASE("random_: views get the numbers in the order of their own indices, reversed", "[plain]") {
  const TensorPtr t = tenon::zeros({2, 2}, ScalarType::Int);
  CHECK(filled_base(t, tenon::flip(t, {0, 1})) == Ints{60, 73, 88, 39});
  CHECK(filled_base(t, tenon::flip(t, {1})) == Ints{88, 39, 60, 73});
}

TEST_CASE(
    "uniform_, normal_, random_: the same numbers at any strides, and no other byte changes") {
  check_filled({
      {"row-major", {20, 30}, {30, 1}},
      {"transposed", {20, 30}, {1, 20}},
      {"padded rows", {20, 30}, {37, 1}},
      {"every third element", {500}, {3}},
      {"one column", {500, 1}, {3, 9}},
      {"channels last", {2, 3, 11, 13}, {429, 1, 39, 3}},
      {"eight dimensions, mixed", Vector(8, 2), {3, 6, 12, 24, 48, 768, 384, 192}},
      {"long rows", {3, 700}, {1, 4}},
      {"rank 0", {}, {}},
      {"one element", {1, 1, 1}, {5, -5, 0}},
      {"none", {4, 0, 3}, {-1, 5, 0}},
  });
}

TEST_CASE("uniform_, normal_, random_: the same numbers at negative strides", "[plain]") {
  check_filled({
      {"reversed", {500}, {-1}},
      {"reversed rows", {20, 30}, {-30, 1}},
      {"both reversed, with gaps", {20, 30}, {-70, -2}},
      {"eight dimensions, mixed", Vector(8, 2), {3, -6, 12, -24, 48, 768, -384, 192}},
  });
}

TEST_CASE("uniform_, normal_, random_: without elements there is nothing to do, data may be null") {
  const Tensor null = make_tensor({0, 4}, static_cast<float*>(nullptr));
  for (const Filler& filler : kFillers) {
    Generator g = kGenerator;
    CHECK(filler.fill(null, g) == Error::Ok);
    CHECK(g.offset() == kGenerator.offset());
  }
}

TEST_CASE("uniform_, normal_, random_: a resized tensor gets as many numbers as it has elements") {
  TensorPtr t = tenon::zeros({4}, ScalarType::Int);
  CHECK(tenon::resize_tensor_ptr(t, {2}) == Error::Ok);
  Generator g(0);
  CHECK(random_(t, 0, 100, g) == Error::Ok);
  CHECK(g.offset() == 2);
  CHECK(values<int32_t>(t) == Ints{39, 88});
}

TEST_CASE("random_: pinned memory of a device") {
  int32_t data[4] = {};
  Generator g(0);
  CHECK(random_(tenon::for_blob(data, {4}).device("cuda_host").make_tensor(), 0, 100, g) ==
        Error::Ok);
  CHECK(Ints(data, data + 4) == Ints{39, 88, 73, 60});
}

TEST_CASE("uniform_, normal_, random_: undefined tensors and null pointers are refused") {
  check_refused(Error::InvalidState, "is undefined", Tensor());
  check_refused(Error::InvalidState, "is undefined", TensorPtr());
}

TEST_CASE("uniform_, normal_, random_: read-only tensors and their views are refused", "[plain]") {
  const int32_t data[4] = {1, 2, 3, 4};
  const TensorPtr t = from_blob(tests::read_only(data), {2, 2});
  check_refused(Error::InvalidState, "is read-only", t);
  check_refused(Error::InvalidState, "is read-only", tenon::select(t, 0, 1));
  CHECK(Ints(data, data + 4) == Ints{1, 2, 3, 4});
}

TEST_CASE("uniform_, normal_, random_: a placeholder is refused") {
  check_refused(Error::InvalidState, "is a placeholder without data",
                make_tensor({3}, nullptr, ScalarType::Int));
}

TEST_CASE("uniform_, normal_, random_: memory that the host cannot reach is refused, untouched") {
  for (const char* device : {"cuda:0", "rocm:2", "metal:0"}) {
    check_refused(
        Error::NotSupported, std::string("is on ") + device + ", which the host cannot reach",
        tenon::for_blob(kDevicePointer, {3}, ScalarType::Int).device(device).make_tensor());
  }
  check_refused(Error::NotSupported, "is on cuda:1",
                tenon::for_blob(kDevicePointer, {0}).device("cuda:1").make_tensor());
}

TEST_CASE("uniform_, normal_, random_: memory of OpenCL is refused, untouched", "[plain]") {
  check_refused(
      Error::NotSupported, "is on opencl:0, which the host cannot reach",
      tenon::for_blob(kDevicePointer, {3}, ScalarType::Int).device("opencl:0").make_tensor());
}

TEST_CASE("uniform_, normal_, random_: elements that share memory are refused, with the strides") {
  int32_t data[4] = {1, 2, 3, 4};
  check_refused(Error::InvalidArgument,
                "has strides {0} for sizes {2}, at which elements may share memory",
                tenon::expand(from_blob(data, {1}), {2}));
  check_refused(Error::InvalidArgument, "has strides {1, 1} for sizes {2, 3}",
                from_blob(data, {2, 3}, {1, 1}));
  CHECK(Ints(data, data + 4) == Ints{1, 2, 3, 4});
}

TEST_CASE("uniform_, normal_, random_: arguments that the type cannot hold change nothing") {
  const Tensor floats = make_tensor({1.0f, 2.0f, 3.0f});
  const Tensor bytes = *tenon::full({3}, 7, ScalarType::Byte);
  const auto check = [](const char* message, auto&& fill) {
    Generator g = kGenerator;
    CHECK_RETURNS(Error::InvalidArgument, message, fill(g));
    CHECK(g.offset() == kGenerator.offset());
  };
  check("uniform_: [1, 1) holds no numbers", [&](auto& g) { return uniform_(floats, 1, 1, g); });
  check("uniform_: [nan, 1) holds no numbers",
        [&](auto& g) { return uniform_(floats, kNan, 1, g); });
  check("uniform_: [0, 257) is beyond the range of Byte",
        [&](auto& g) { return uniform_(bytes, 0, 257, g); });
  check("normal_: the standard deviation -1 is no finite Float",
        [&](auto& g) { return normal_(floats, 0, -1, g); });
  check("normal_: the mean inf is no finite Float",
        [&](auto& g) { return normal_(bytes, kInfinity, 1, g); });
  check("random_: [5, 5) holds no integers", [&](auto& g) { return random_(floats, 5, 5, g); });
  check("random_: 0 to 256 are not integers of Byte",
        [&](auto& g) { return random_(bytes, 0, 257, g); });
  check("random_: -1 to 9 are not integers of Byte",
        [&](auto& g) { return random_(bytes, -1, 10, g); });
  CHECK(values<float>(floats) == std::vector<float>{1, 2, 3});
  CHECK(values<uint8_t>(bytes) == std::vector<uint8_t>{7, 7, 7});
  // Also without elements, so that the program is wrong whatever its data.
  check("random_: [5, 5) holds no integers",
        [](auto& g) { return random_(tenon::empty({0}), 5, 5, g); });
}

TEST_CASE("uniform_: the thread's own generator does not advance on an error either") {
  const uint64_t offset = tenon::default_generator().offset();
  CHECK(uniform_(Tensor()) == Error::InvalidState);
  CHECK(uniform_(tenon::zeros({3}), 1, 0) == Error::InvalidArgument);
  CHECK(tenon::default_generator().offset() == offset);
}
