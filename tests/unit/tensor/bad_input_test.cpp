// SPDX-License-Identifier: MIT
// Every creator with every kind of bad argument: the right error, by the creator's name, with the
// offending value; what was handed over is released once, what was lent stays as it was.
#include "support/catch.h"
#include "tenon/tenon.h"
#include "tensor/helpers.h"

namespace bad_input_test {

using namespace tenon;
using namespace tests;

namespace {

constexpr auto kBound = TensorShapeDynamism::DYNAMIC_BOUND;
constexpr int64_t kLarge = PTRDIFF_MAX;
constexpr const char* kLargeText = sizeof(void*) == 8 ? "9223372036854775807" : "2147483647";
constexpr uint64_t kWrapped = uint64_t{2} - 3;

struct Given {
  Dims sizes, strides, dim_order;
  ScalarType type = ScalarType::Float;
  void* data = nullptr;
  Calls* calls = nullptr;
  auto deleter() const { return calls->deleter(); }
};
using G = const Given&;

// What a creator can be given.
enum : unsigned { kStrides = 1, kDimOrder = 2, kPointer = 4, kOwning = 8, kReleases = 16 };

struct BadCreator {
  const char* name;
  unsigned takes;
  void (*call)(G);
};
constexpr unsigned kAll = kPointer | kStrides | kDimOrder | kReleases;
// clang-format off
const BadCreator kCreators[] = {
    {"make_tensor_ptr", kPointer | kReleases,
     [](G g) { make_tensor_ptr(g.sizes, g.data, g.type, kBound, g.deleter()); }},
    {"make_tensor_ptr", kAll,
     [](G g) {
       make_tensor_ptr(g.sizes, g.data, g.dim_order, g.strides, g.type, kBound, g.deleter());
     }},
    {"make_tensor_impl_ptr", kAll,
     [](G g) {
       make_tensor_impl_ptr(g.sizes, g.data, g.dim_order, g.strides, g.type, kBound, g.deleter());
     }},
    {"make_tensor", kAll,
     [](G g) {
       make_tensor(g.sizes, g.data, g.dim_order, g.strides, g.type, kBound, g.deleter());
     }},
    {"make_tensor_ptr", kStrides | kDimOrder | kOwning | kReleases,
     [](G g) { make_tensor_ptr(g.sizes, Tracked(*g.calls, 6), g.dim_order, g.strides, g.type); }},
    {"make_tensor_ptr", kStrides | kDimOrder | kOwning,
     [](G g) {
       make_tensor_ptr(g.sizes, {1.f, 2.f, 3.f, 4.f, 5.f, 6.f}, g.dim_order, g.strides, g.type);
     }},
    {"from_bytes", kOwning, [](G g) { from_bytes(g.sizes, std::vector<uint8_t>(24), g.type); }},

    {"from_blob", kPointer | kReleases,
     [](G g) { from_blob(g.data, g.sizes, g.type, g.deleter()); }},
    {"from_blob", kPointer | kStrides | kReleases,
     [](G g) { from_blob(g.data, g.sizes, g.strides, g.type, g.deleter()); }},
    {"from_blob", kPointer | kStrides, [](G g) { from_blob(g.data, g.sizes, g.strides, g.type); }},
    {"for_blob", kAll,
     [](G g) {
       for_blob(g.data, g.sizes, g.type).strides(g.strides).dim_order(g.dim_order)
           .deleter(g.deleter()).make_tensor_ptr();
     }},
    {"for_blob", kAll,
     [](G g) {
       for_blob(g.data, g.sizes, g.type).owner(Tracked(*g.calls, 1)).dim_order(g.dim_order)
           .strides(g.strides).make_tensor();
     }},
    {"empty", kOwning, [](G g) { empty(g.sizes, g.type); }},
    {"full", kOwning, [](G g) { full(g.sizes, 1, g.type); }},
    {"zeros", kOwning, [](G g) { zeros(g.sizes, g.type); }},
    {"ones", kOwning, [](G g) { ones(g.sizes, g.type); }},
    {"empty_strided", kOwning | kStrides, [](G g) { empty_strided(g.sizes, g.strides, g.type); }},
    {"full_strided", kOwning | kStrides, [](G g) { full_strided(g.sizes, g.strides, 1, g.type); }},
    {"zeros_strided", kOwning | kStrides, [](G g) { zeros_strided(g.sizes, g.strides, g.type); }},
    {"ones_strided", kOwning | kStrides, [](G g) { ones_strided(g.sizes, g.strides, g.type); }},
};

struct BadInput {
  const char* what;
  unsigned needs;
  Given arguments;
  Texts words;
};

ScalarType type(int number) { return static_cast<ScalarType>(number); }

const BadInput kBadInputs[] = {
    {"a negative size", 0, {{2, -3}, {}, {}}, {"-3", "dimension 1"}},
    {"an unsigned size above int64_t's", 0, {{kWrapped, 3}, {}, {}}, {"sizes", "range"}},
    {"an unsigned stride above int64_t's", kStrides, {{2, 3}, {kWrapped, 1}, {}},
     {"strides", "range"}},
    {"an overflowing element count", 0, {{kLarge, 3}, {}, {}},
     {kLargeText, "overflow"}},
    {"an overflowing byte count", 0, {{kLarge / 2}, {}, {}},
     {sizeof(void*) == 8 ? "4611686018427387903" : "1073741823", "4 bytes", "overflow"}},
    {"65 dimensions", 0, {Vector(65, 1), {}, {}}, {"sizes", "64"}},
    {"65 strides", kStrides, {{2, 3}, Vector(65, 1), {}}, {"strides", "64"}},
    {"65 entries in dim_order", kDimOrder, {{2, 3}, {}, Vector(65, 1)}, {"dim_order", "64"}},
    {"a dim_order entry twice", kDimOrder, {{2, 3}, {}, {1, 1}},
     {"dim_order {1, 1}", "permutation"}},
    {"too short a dim_order", kDimOrder, {{2, 3}, {}, {0}}, {"dim_order {0}", "length"}},
    {"a dim_order entry out of range", kDimOrder, {{2, 3}, {}, {0, 2}},
     {"dim_order {0, 2}", "permutation"}},
    {"a negative dim_order entry", kDimOrder, {{2, 3}, {}, {-1, 0}},
     {"dim_order {-1, 0}", "permutation"}},
    {"strides against the dim_order", kStrides | kDimOrder, {{2, 3}, {3, 1}, {1, 0}},
     {"strides {3, 1}", "{1, 0}"}},
    {"too few strides", kStrides, {{2, 3}, {1}, {}}, {"strides {1}", "length"}},
    {"a stride whose offset overflows", kStrides, {{3, 2}, {kLarge, 1}, {}},
     {kLargeText, "overflow"}},
    {"strides whose offsets overflow together", kStrides, {{2, 2}, {kLarge, kLarge / 2 + 2}, {}},
     {kLargeText, "overflow"}},
    {"the most negative stride", kStrides, {{3, 2}, {INT64_MIN, 1}, {}},
     {"-9223372036854775808", "overflow"}},
    {"overlapping strides for an owner", kStrides | kOwning, {{2, 3}, {1, 1}, {}},
     {"strides {1, 1}", "overlap"}},
    {"negative strides for an owner", kStrides | kOwning, {{2, 3}, {-3, 1}, {}},
     {"strides {-3, 1}", "negative"}},
    {"the type Undefined", 0, {{2, 3}, {}, {}, ScalarType::Undefined}, {"Undefined"}},
    {"a type value beyond the types", 0, {{2, 3}, {}, {}, type(99)}, {"99"}},
    {"a negative type value", 0, {{2, 3}, {}, {}, type(-1)}, {"-1"}},
};
// clang-format on

}  // namespace

// A promise of docs/guarantees.md.
TEST_CASE("bad input: each creator reports each by its own name and releases what it was given") {
  int checked = 0;
  for (const BadInput& bad : kBadInputs) {
    const Error error =
        bad.arguments.type == ScalarType::Float ? Error::InvalidArgument : Error::InvalidType;
    for (const BadCreator& creator : kCreators) {
      if ((bad.needs & ~creator.takes) != 0) continue;
      float data[6] = {1, 2, 3, 4, 5, 6};
      Calls calls;
      const Caught caught = tests::caught([&] {
        Given given = bad.arguments;
        given.data = data;
        given.calls = &calls;
        creator.call(given);
        return 0;
      });
      bool right =
          caught.error == error && caught.message.rfind(std::string(creator.name) + ": ", 0) == 0;
      for (const auto& word : bad.words) right = right && contains(caught.message, word);
      right = right && calls.count == ((creator.takes & kReleases) != 0 ? 1 : 0);
      for (int i = 0; i < 6; ++i) right = right && data[i] == static_cast<float>(i + 1);
      // The owner form of for_blob counts the release of its owner instead.
      const unsigned lent = kPointer | kReleases;
      right = right && ((creator.takes & lent) != lent || calls.argument == data ||
                        std::string(creator.name) == "for_blob");
      ++checked;
      INFO(creator.name << " with " << bad.what << ": " << toString(caught.error) << ", \""
                        << caught.message << "\", released " << calls.count << " times");
      if (!right) FAIL_CHECK();
    }
  }
  CHECK(checked > 250);
}

// A promise of docs/guarantees.md.
TEST_CASE("bad input: a null pointer value for elements is refused, and the deleter runs once") {
  int checked = 0;
  for (const BadCreator& creator : kCreators) {
    if ((creator.takes & kPointer) == 0) continue;
    Calls calls;
    const Caught caught = tests::caught([&] {
      creator.call(Given{{2, 3}, {}, {}, ScalarType::Float, nullptr, &calls});
      return 0;
    });
    INFO(creator.name << ": " << caught.message);
    CHECK(caught.error == Error::InvalidArgument);
    CHECK(contains(caught.message, std::string(creator.name) + ": "));
    CHECK(contains(caught.message, "null"));
    CHECK(contains(caught.message, "{2, 3}"));
    CHECK(calls.count == ((creator.takes & kReleases) != 0 ? 1 : 0));
    ++checked;
  }
  CHECK(checked >= 8);
}

// A promise of docs/guarantees.md.
TEST_CASE("bad input: a typed pointer with another type is refused, raw bytes are not") {
  Calls calls;
  int32_t ints[3] = {};
  RAISES(InvalidType, "from_blob: the data pointer is to Int, the type given is Float",
         from_blob(ints, {3}, ScalarType::Float, calls.deleter()));
  CHECK(calls.count == 1);
  int8_t chars[4] = {};
  RAISES(InvalidType, "Char", from_blob(chars, {1}, ScalarType::Float));
  bool bools[4] = {};
  RAISES(InvalidType, "Bool", from_blob(bools, {1}, ScalarType::Float));
  alignas(8) unsigned char bytes[8] = {};
  CHECK(from_blob(bytes, {2}, ScalarType::Float)->scalar_type() == ScalarType::Float);
}

}  // namespace bad_input_test
