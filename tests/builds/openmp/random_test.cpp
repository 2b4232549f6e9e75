// SPDX-License-Identifier: MIT
// Large random fills give the numbers that small ones give, which stay in one thread.
#include "openmp/helpers.h"
#include "tenon/tenon.h"
#include "tensor/random_helpers.h"

namespace random_test {

using namespace tenon;
using tenon::detail::kParallelBytes;
using namespace tests;

namespace {

// From the middle of a block of words.
constexpr Generator kGenerator(3, 1000001);

struct Filler {
  const char* name;
  Error (*fill)(const Tensor& t, Generator& g);
};
const Filler kFillers[] = {
    {"uniform_", [](const Tensor& t, Generator& g) { return uniform_(t, 0, 1, g); }},
    {"normal_", [](const Tensor& t, Generator& g) { return normal_(t, 20, 3, g); }},
    {"random_", [](const Tensor& t, Generator& g) { return random_(t, 0, 100, g); }},
    {"random_ of all", [](const Tensor& t, Generator& g) { return random_(t, g); }},
};

Tensor tensor_over(Strided& memory) {
  return for_blob(static_cast<void*>(memory.bytes.data() + memory.first), memory.sizes, memory.type)
      .strides(memory.strides)
      .make_tensor();
}

// The numbers in row-major order, made by as many fills as none of them is shared among threads.
Bytes made_in_parts(const Filler& filler, ScalarType type, int64_t numel) {
  Bytes bytes;
  bool made = true;
  Generator g = kGenerator;
  for (int64_t done = 0, n = 0; done < numel; done += n) {
    n = numel - done < 5003 ? numel - done : 5003;
    const TensorPtr part = empty({n}, type);
    made = made && filler.fill(*part, g) == Error::Ok && part->nbytes() < kParallelBytes;
    const auto* data = static_cast<const unsigned char*>(part->const_data_ptr());
    bytes.insert(bytes.end(), data, data + part->nbytes());
  }
  CHECK(made);
  return bytes;
}

// Fills memory with any number of threads.
void check_fill(const Filler& filler, Strided memory) {
  INFO(filler.name << " " << toString(memory.type));
  tests::Rng random{1};
  tests::fill_with_noise(random, memory.bytes);
  const Tensor t = tensor_over(memory);
  CHECK(t.nbytes() >= kParallelBytes);
  const Bytes numbers = made_in_parts(filler, memory.type, t.numel());
  const Bytes before = memory.bytes;
  Bytes expected = before;
  const auto size = static_cast<int64_t>(t.element_size());
  const unsigned char* from = numbers.data();
  for (int64_t offset : tests::offsets_of(memory.sizes, memory.strides)) {
    std::memcpy(expected.data() + static_cast<int64_t>(memory.first) + offset * size, from,
                static_cast<size_t>(size));
    from += size;
  }
  CHECK(count_wrong(memory.bytes, before, expected, [&] {
          Generator g = kGenerator;
          const Error error = filler.fill(tensor_over(memory), g);
          const bool advanced =
              g.offset() == kGenerator.offset() + static_cast<uint64_t>(t.numel());
          if (error != Error::Ok || !advanced) memory.bytes.clear();
        }) == 0);
}

int64_t large_numel(ScalarType type) {
  return static_cast<int64_t>(kParallelBytes / elementSize(type)) + 1234;
}

}  // namespace

TEST_CASE("random: elements of every type") {
  for (ScalarType type : tests::kAllTypes) {
    if (type == ScalarType::Bool) continue;  // has no 20 and no 99
    const bool is_sampled =
        type == ScalarType::Float || type == ScalarType::Half || type == ScalarType::ComplexDouble;
    if (!tests::kThorough && !is_sampled) continue;
    for (const Filler& filler : kFillers) {
      check_fill(filler, Strided(type, {large_numel(type)}, {1}));
    }
  }
}

TEST_CASE("random: numbers that are tried again") {
  const Filler often = {"randint of 65537 numbers",
                        [](const Tensor& t, Generator& g) { return random_(t, -32768, 32769, g); }};
  const Filler half = {"randint of half of all 64 bits and one", [](const Tensor& t, Generator& g) {
                         return random_(t, INT64_MIN / 2, INT64_MAX / 2 + 2, g);
                       }};
  check_fill(often, Strided(ScalarType::Int, {large_numel(ScalarType::Int)}, {1}));
  check_fill(half, Strided(ScalarType::Long, {large_numel(ScalarType::Long)}, {1}));
}

TEST_CASE("random: transposed matrices, padded rows and reversed elements") {
  for (ScalarType type : {ScalarType::Float, ScalarType::Double, ScalarType::Half}) {
    if (!tests::kThorough && type != ScalarType::Double) continue;
    const int64_t columns = large_numel(type) / 601 + 1;
    for (const Filler& filler : kFillers) {
      check_fill(filler, Strided(type, {601, columns}, {1, 601}));
      check_fill(filler, Strided(type, {601, columns}, {columns + 5, 1}));
      check_fill(filler, Strided(type, {601 * columns}, {-2}));
    }
  }
}

// A promise of docs/guarantees.md.
TEST_CASE("random: tensors are made by several threads, of one generator") {
  static_assert(400 * 701 * sizeof(float) > kParallelBytes);
  static_assert(400 * 701 * sizeof(float) > kParallelBytes);
  const auto check = [](const Filler& filler, auto&& make, ScalarType type) {
    INFO(filler.name << " " << toString(type));
    const Bytes expected = made_in_parts(filler, type, 400 * 701);
    int wrong = 0;
    for (int threads : {1, 2, 3, 7}) {
      const ThreadsScope scope(threads);
      default_generator() = kGenerator;
      const TensorPtr t = make(type);
      if (tests::elements(t) != expected) ++wrong;
      if (default_generator().offset() != kGenerator.offset() + 400 * 701) ++wrong;
    }
    CHECK(wrong == 0);
  };
#define CHECK_MADE(filler, tensor) \
  check(                           \
      kFillers[filler], [](ScalarType t) { return tensor; }, type)
  const Generator before = default_generator();
  for (ScalarType type : {ScalarType::Float, ScalarType::Double}) {
    CHECK_MADE(0, (rand({400, 701}, t)));
    CHECK_MADE(1, (normal(20, 3, {400, 701}, t)));
    CHECK_MADE(2, (randint(0, 100, {400, 701}, t)));
    CHECK_MADE(0, (rand_strided({400, 701}, {1, 400}, t)));
  }
  default_generator() = before;
}

}  // namespace random_test
