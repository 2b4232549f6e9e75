// SPDX-License-Identifier: MIT
// Random numbers at any strides: uniform_, normal_, random_ and what they refuse, and the _strided
// and _like creators. They are the same everywhere, in row-major order of the indices.
#include "support/catch.h"
#include "tenon/tensor/random.h"
#include "tenon/tensor/resize.h"
#include "tenon/tensor/tensor_ptr.h"
#include "tenon/tensor/tensor_ptr_maker.h"
#include "tenon/tensor/view.h"
#include "tensor/helpers.h"
#include "tensor/random_helpers.h"

namespace random_fill_test {

using namespace tenon;
using namespace tests;

namespace {

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
       return uniform(0, 1.5, sizes, type, g);
     }},
    {"normal_", [](const TensorArg& t, Generator& g) { return normal_(t, 20, 3, g); },
     [](const Vector& sizes, ScalarType type, Generator& g) {
       return normal(20, 3, sizes, type, g);
     }},
    {"random_", [](const TensorArg& t, Generator& g) { return random_(t, 0, 2, g); },
     [](const Vector& sizes, ScalarType type, Generator& g) {
       return randint(0, 2, sizes, type, g);
     }},
    {"random_", [](const TensorArg& t, Generator& g) { return random_(t, g); },
     [](const Vector& sizes, ScalarType type, Generator& g) {
       TensorPtr t = empty(sizes, type);
       CHECK(random_(t, g) == Error::Ok);
       return t;
     }},
};

struct Shape {
  Vector sizes;
  Vector strides;
  bool is_dense = false;
};
const std::vector<Shape> kShapes = {
    {{20, 30}, {30, 1}, true},
    {{20, 30}, {1, 20}, true},
    {{2, 1000}, {1, 2}, true},
    {{20, 30}, {37, 1}},
    {{400}, {3}},
    {{400, 1}, {3, 9}},
    {{2, 3, 11, 13}, {429, 1, 39, 3}, true},
    {{2, 3, 11, 13}, {600, 1, 52, 4}},
    {Vector(8, 2), {3, 6, 12, 24, 48, 768, 384, 192}},
    {{}, {}, true},
    {{3, 0, 5}, {7, 7, 7}, true},
};
const std::vector<Shape> kReversed = {
    {{500}, {-1}}, {{20, 30}, {-70, -2}}, {Vector(8, 2), {3, -6, 12, -24, 48, 768, -384, 192}}};

// Fills the elements of a memory full of noise. Returns whether they hold what a new tensor does
// and the rest is as it was.
bool is_filled(const Filler& filler, ScalarType type, const Shape& shape) {
  Strided memory(type, shape.sizes, shape.strides);
  Rng random{3};
  fill_with_noise(random, memory.bytes);
  Bytes expected = memory.bytes;
  Generator g = kGenerator;
  const Bytes wanted = elements(filler.make(shape.sizes, type, g));
  const size_t size = elementSize(type);
  size_t i = 0;
  for (int64_t offset : offsets_of(shape.sizes, shape.strides)) {
    unsigned char* const element =
        expected.data() + memory.first + offset * static_cast<int64_t>(size);
    for (size_t k = 0; k < size; ++k) element[k] = wanted[i++];
  }
  const Tensor t =
      for_blob(static_cast<void*>(memory.bytes.data() + memory.first), shape.sizes, type)
          .strides(shape.strides)
          .make_tensor();
  Generator used = kGenerator;
  return filler.fill(t, used) == Error::Ok && memory.bytes == expected &&
         used.offset() == g.offset();
}
void check_filled(const std::vector<Shape>& shapes) {
  for (const Filler& filler : kFillers) {
    for (const Shape& shape : shapes) {
      for (ScalarType type : kAllTypes) {
        INFO(filler.name << " " << toString(type));
        CAPTURE(shape.sizes, shape.strides);
        CHECK(is_filled(filler, type, shape));
      }
    }
  }
}

// Whether what lies between the elements of a tensor that owns its memory is zero.
bool has_zero_gaps(const Tensor& t) {
  const Vector offsets = offsets_of(sizes(t), strides(t));
  if (offsets.empty()) return true;
  const auto reach = static_cast<size_t>(*std::max_element(offsets.begin(), offsets.end()) + 1);
  std::vector<bool> is_element(reach, false);
  for (int64_t offset : offsets) is_element[static_cast<size_t>(offset)] = true;
  const auto* data = static_cast<const unsigned char*>(const_data_ptr(t));
  for (size_t i = 0; i < reach * t.element_size(); ++i) {
    if (!is_element[i / t.element_size()] && data[i] != 0) return false;
  }
  return true;
}

// The functions refuse `t`, and their generators do not advance.
void check_refused(Error error, const std::string& words, const TensorArg& t) {
  for (const Filler& filler : kFillers) {
    Generator g = kGenerator;
    CHECK_RETURNS(error, std::string(filler.name) + ": the tensor " + words, filler.fill(t, g));
    CHECK(g.offset() == kGenerator.offset());
  }
}

}  // namespace

// A promise of docs/guarantees.md.
TEST_CASE("random creators: the same numbers at any strides, and zeros in the gaps") {
  for (const RandomCreator& creator : kCreators) {
    if (creator.kind == RandomCreator::kPlain) continue;
    for (const Shape& shape : kShapes) {
      for (ScalarType type : {ScalarType::Float, ScalarType::Int, ScalarType::Byte,
                              ScalarType::Half, ScalarType::Double, ScalarType::ComplexDouble}) {
        INFO(creator.name << " " << toString(type));
        CAPTURE(shape.sizes, shape.strides);
        Generator g = kGenerator;
        const TensorPtr t = creator.make(shape.sizes, shape.strides, type, g);
        Generator again = kGenerator;
        CHECK((elements(t) == elements(creator.make(shape.sizes, {}, type, again))));
        CHECK(sizes(t) == shape.sizes);
        CHECK(g.offset() == kGenerator.offset() + static_cast<uint64_t>(t->numel()));
        const bool is_like = creator.kind == RandomCreator::kLike;
        if (!is_like || shape.is_dense) CHECK(strides(t) == shape.strides);
        if (is_like) CHECK(dim_order(t) == dim_order(source(shape.sizes, shape.strides)));
        CHECK(has_zero_gaps(*t));
      }
    }
  }
}

TEST_CASE("uniform_, normal_, random_: the same at any strides, and no other byte changes") {
  check_filled(kShapes);
}

TEST_CASE("uniform_, normal_, random_: the same numbers at negative strides", "[plain]") {
  check_filled(kReversed);
}

TEST_CASE("uniform_, normal_, random_: their defaults are what rand, randn and randint make") {
  const TensorPtr t = full({5, 40}, 7);
  const TensorPtr same = zeros({5, 40});
  const Generator before = default_generator();
  const auto check = [&](const auto& fill, const auto& make) {
    manual_seed(4);
    CHECK(fill() == Error::Ok);
    manual_seed(4);
    CHECK((elements(t) == elements(make())));
    ATEN_LACKS(CHECK(default_generator().offset() == 200);)
  };
  check([&] { return uniform_(t); }, [] { return tenon::rand({5, 40}); });
  check([&] { return normal_(t); }, [] { return randn({5, 40}); });
  check([&] { return random_(t, -3, 60); },
        [] {
          return randint(-3, 60, {5, 40}, ScalarType::Float);
        });
  check([&] { return random_(t); },
        [&] {
          CHECK(random_(same) == Error::Ok);
          return *same;
        });
  default_generator() = before;
}

TEST_CASE("random_: views in the order of their indices, pinned memory") {
  const TensorPtr t = zeros({2, 2}, ScalarType::Int);
  Generator g(0);
  CHECK(random_(transpose(t, 0, 1), 0, 100, g) == Error::Ok);
  CHECK(values<int32_t>(t) == Ints{39, 73, 88, 60});
  int32_t data[4] = {};
  g = Generator(0);
  CHECK(random_(for_blob(data, {4}).device("cuda_host").make_tensor(), 0, 100, g) == Error::Ok);
  CHECK(Ints(data, data + 4) == Ints{39, 88, 73, 60});
}

// A promise of docs/guarantees.md.
TEST_CASE("uniform_, normal_, random_: read-only tensors and their views are refused") {
  const int32_t data[4] = {1, 2, 3, 4};
  const TensorPtr t = from_blob(read_only(data), {2, 2});
  check_refused(Error::InvalidState, "is read-only", t);
  check_refused(Error::InvalidState, "is read-only", tenon::select(t, 0, 1));
  CHECK(Ints(data, data + 4) == Ints{1, 2, 3, 4});
}

// A promise of docs/guarantees.md.
TEST_CASE("uniform_, normal_, random_: arguments that the type cannot hold change nothing") {
  const Tensor floats = make_tensor({1.0f, 2.0f, 3.0f});
  const Tensor bytes = *full({3}, 7, ScalarType::Byte);
  const Tensor nothing = *empty({0});  // the program is wrong whatever its data
  Generator g = kGenerator;
  RETURNS(InvalidArgument, "uniform_: [1, 1) holds no numbers", uniform_(floats, 1, 1, g));
  RETURNS(InvalidArgument, "uniform_: [nan, 1) holds no numbers",
          uniform_(floats, std::numeric_limits<double>::quiet_NaN(), 1, g));
  RETURNS(InvalidArgument, "uniform_: [0, 257) is beyond the range of Byte",
          uniform_(bytes, 0, 257, g));
  RETURNS(InvalidArgument, "normal_: the standard deviation -1 is not a finite Float",
          normal_(floats, 0, -1, g));
  RETURNS(InvalidArgument, "normal_: the mean inf is not a finite Float",
          normal_(bytes, std::numeric_limits<double>::infinity(), 1, g));
  RETURNS(InvalidArgument, "random_: [5, 5) holds no integers", random_(nothing, 5, 5, g));
  RETURNS(InvalidArgument, "random_: integers from 0 to 256 do not fit Byte",
          random_(bytes, 0, 257, g));
  CHECK(g.offset() == kGenerator.offset());
  CHECK(values<float>(floats) == Floats{1, 2, 3});
  CHECK(values<uint8_t>(bytes) == Bytes{7, 7, 7});
  const uint64_t offset = default_generator().offset();
  CHECK(uniform_(Tensor()) == Error::InvalidState);
  CHECK(uniform_(floats, 1, 0) == Error::InvalidArgument);
  CHECK(default_generator().offset() == offset);
}

}  // namespace random_fill_test
