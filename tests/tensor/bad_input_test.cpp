// SPDX-License-Identifier: MIT
// Every creator with every kind of bad argument: the right error, by the creator's name, with the
// offending value; what was handed over is released once, what was lent stays as it was.
#include <cstdint>
#include <string>
#include <vector>

#include "support/catch.h"
#include "tenon/tensor/creators.h"
#include "tenon/tensor/tensor_ptr.h"
#include "tenon/tensor/tensor_ptr_maker.h"
#include "tensor/helpers.h"

using namespace tenon;
using namespace tests;

namespace {

constexpr auto kBound = tenon::TensorShapeDynamism::DYNAMIC_BOUND;
constexpr int64_t kLarge = INT64_MAX;
constexpr uint64_t kWrapped = uint64_t{2} - 3;

struct Arguments {
  Dims sizes;
  Dims strides;
  Dims dim_order;
  ScalarType type = ScalarType::Float;
};

struct Given {
  Arguments arguments;
  float* data = nullptr;
  Calls* calls = nullptr;
};

// What a creator can be given.
enum : unsigned { kStrides = 1, kDimOrder = 2, kPointer = 4, kOwning = 8, kReleases = 16 };

struct Creator {
  const char* name;
  unsigned takes;
  void (*call)(const Given&);
};

const Creator kCreators[] = {
    {"make_tensor_ptr", kPointer | kReleases,
     [](const Given& g) {
       const Arguments& a = g.arguments;
       tenon::make_tensor_ptr(a.sizes, static_cast<void*>(g.data), a.type, kBound,
                              g.calls->deleter());
     }},
    {"make_tensor_ptr", kPointer | kStrides | kDimOrder | kReleases,
     [](const Given& g) {
       const Arguments& a = g.arguments;
       tenon::make_tensor_ptr(a.sizes, static_cast<void*>(g.data), a.dim_order, a.strides, a.type,
                              kBound, g.calls->deleter());
     }},
    {"make_tensor_impl_ptr", kPointer | kStrides | kDimOrder | kReleases,
     [](const Given& g) {
       const Arguments& a = g.arguments;
       tenon::make_tensor_impl_ptr(a.sizes, static_cast<void*>(g.data), a.dim_order, a.strides,
                                   a.type, kBound, g.calls->deleter());
     }},
    {"make_tensor", kPointer | kStrides | kDimOrder | kReleases,
     [](const Given& g) {
       const Arguments& a = g.arguments;
       tenon::make_tensor(a.sizes, static_cast<void*>(g.data), a.dim_order, a.strides, a.type,
                          kBound, g.calls->deleter());
     }},
    {"make_tensor_ptr", kStrides | kDimOrder | kOwning | kReleases,
     [](const Given& g) {
       const Arguments& a = g.arguments;
       tenon::make_tensor_ptr(a.sizes, Tracked(*g.calls, 6), a.dim_order, a.strides, a.type);
     }},
    {"make_tensor_ptr", kStrides | kDimOrder | kOwning,
     [](const Given& g) {
       const Arguments& a = g.arguments;
       tenon::make_tensor_ptr(a.sizes, {1.0f, 2.0f, 3.0f, 4.0f, 5.0f, 6.0f}, a.dim_order, a.strides,
                              a.type);
     }},
    {"from_bytes", kOwning,
     [](const Given& g) {
       tenon::from_bytes(g.arguments.sizes, std::vector<uint8_t>(24), g.arguments.type);
     }},
    {"from_blob", kPointer | kReleases,
     [](const Given& g) {
       const Arguments& a = g.arguments;
       tenon::from_blob(static_cast<void*>(g.data), a.sizes, a.type, g.calls->deleter());
     }},
    {"from_blob", kPointer | kStrides | kReleases,
     [](const Given& g) {
       const Arguments& a = g.arguments;
       tenon::from_blob(static_cast<void*>(g.data), a.sizes, a.strides, a.type, g.calls->deleter());
     }},
    {"from_blob", kPointer | kStrides,
     [](const Given& g) {
       const Arguments& a = g.arguments;
       tenon::from_blob(static_cast<void*>(g.data), a.sizes, a.strides, a.type);
     }},
    {"for_blob", kPointer | kStrides | kDimOrder | kReleases,
     [](const Given& g) {
       const Arguments& a = g.arguments;
       tenon::for_blob(static_cast<void*>(g.data), a.sizes, a.type)
           .strides(a.strides)
           .dim_order(a.dim_order)
           .deleter(g.calls->deleter())
           .make_tensor_ptr();
     }},
    {"for_blob", kPointer | kStrides | kDimOrder | kReleases,
     [](const Given& g) {
       const Arguments& a = g.arguments;
       tenon::for_blob(static_cast<void*>(g.data), a.sizes, a.type)
           .owner(Tracked(*g.calls, 1))
           .dim_order(a.dim_order)
           .strides(a.strides)
           .make_tensor();
     }},
    {"empty", kOwning, [](const Given& g) { tenon::empty(g.arguments.sizes, g.arguments.type); }},
    {"full", kOwning, [](const Given& g) { tenon::full(g.arguments.sizes, 1, g.arguments.type); }},
    {"zeros", kOwning, [](const Given& g) { tenon::zeros(g.arguments.sizes, g.arguments.type); }},
    {"ones", kOwning, [](const Given& g) { tenon::ones(g.arguments.sizes, g.arguments.type); }},
    {"empty_strided", kOwning | kStrides,
     [](const Given& g) {
       tenon::empty_strided(g.arguments.sizes, g.arguments.strides, g.arguments.type);
     }},
    {"full_strided", kOwning | kStrides,
     [](const Given& g) {
       tenon::full_strided(g.arguments.sizes, g.arguments.strides, 1, g.arguments.type);
     }},
    {"zeros_strided", kOwning | kStrides,
     [](const Given& g) {
       tenon::zeros_strided(g.arguments.sizes, g.arguments.strides, g.arguments.type);
     }},
    {"ones_strided", kOwning | kStrides,
     [](const Given& g) {
       tenon::ones_strided(g.arguments.sizes, g.arguments.strides, g.arguments.type);
     }},
};

struct BadInput {
  const char* what;
  unsigned needs;
  Arguments arguments;
  Error error;
  std::vector<std::string> words;
};

std::vector<BadInput> bad_inputs() {
  const auto type = [](int number) { return static_cast<ScalarType>(number); };
  const Error argument = Error::InvalidArgument;
  return {
      {"a negative size", 0, {{2, -3}, {}, {}}, argument, {"-3", "dimension 1"}},
      {"the most negative size", 0, {{INT64_MIN}, {}, {}}, argument, {"-9223372036854775808"}},
      {"an unsigned size above int64_t's",
       0,
       {{kWrapped, 3}, {}, {}},
       argument,
       {"sizes", "unsigned"}},
      {"an unsigned stride above int64_t's",
       kStrides,
       {{2, 3}, {kWrapped, 1}, {}},
       argument,
       {"strides", "unsigned"}},
      {"two negative sizes", 0, {{-1, -6}, {}, {}}, argument, {"-1", "dimension 0"}},
      {"an overflowing element count",
       0,
       {{kLarge, 3}, {}, {}},
       argument,
       {"9223372036854775807, 3", "overflow"}},
      {"an overflowing element count beside a 0",
       0,
       {{0, kLarge, kLarge}, {}, {}},
       argument,
       {"0, 9223372036854775807", "overflow"}},
      {"an overflowing byte count",
       0,
       {{kLarge / 2}, {}, {}},
       argument,
       {"4611686018427387903", "4 bytes", "overflow"}},
      {"65 dimensions", 0, {Vector(65, 1), {}, {}}, argument, {"sizes", "64"}},
      {"255 dimensions", 0, {Vector(255, 1), {}, {}}, argument, {"sizes", "64"}},
      {"65 strides", kStrides, {{2, 3}, Vector(65, 1), {}}, argument, {"strides", "64"}},
      {"65 entries in dim_order",
       kDimOrder,
       {{2, 3}, {}, Vector(65, 1)},
       argument,
       {"dim_order", "64"}},
      {"a dim_order with an entry twice",
       kDimOrder,
       {{2, 3}, {}, {1, 1}},
       argument,
       {"dim_order {1, 1}", "permutation"}},
      {"a dim_order that is too short",
       kDimOrder,
       {{2, 3}, {}, {0}},
       argument,
       {"dim_order {0}", "length"}},
      {"a dim_order that is too long",
       kDimOrder,
       {{2, 3}, {}, {0, 1, 2}},
       argument,
       {"dim_order {0, 1, 2}", "length"}},
      {"a dim_order entry out of range",
       kDimOrder,
       {{2, 3}, {}, {0, 2}},
       argument,
       {"dim_order {0, 2}", "permutation"}},
      {"a negative dim_order entry",
       kDimOrder,
       {{2, 3}, {}, {-1, 0}},
       argument,
       {"dim_order {-1, 0}", "permutation"}},
      {"a dim_order entry that is 0 modulo 256",
       kDimOrder,
       {{2, 3}, {}, {256, 1}},
       argument,
       {"dim_order {256, 1}", "permutation"}},
      {"strides against the dim_order",
       kStrides | kDimOrder,
       {{2, 3}, {3, 1}, {1, 0}},
       argument,
       {"strides {3, 1}", "{1, 0}"}},
      {"too few strides", kStrides, {{2, 3}, {1}, {}}, argument, {"strides {1}", "length"}},
      {"too many strides",
       kStrides,
       {{2, 3}, {6, 3, 1}, {}},
       argument,
       {"strides {6, 3, 1}", "length"}},
      {"a stride whose offset overflows",
       kStrides,
       {{3, 2}, {kLarge, 1}, {}},
       argument,
       {"9223372036854775807", "overflow"}},
      {"strides whose offsets overflow together",
       kStrides,
       {{2, 2}, {kLarge, kLarge / 2 + 2}, {}},
       argument,
       {"9223372036854775807", "overflow"}},
      {"strides whose bytes overflow",
       kStrides,
       {{2, 2}, {kLarge / 2, 1}, {}},
       argument,
       {"overflow"}},
      {"the most negative stride",
       kStrides,
       {{3, 2}, {INT64_MIN, 1}, {}},
       argument,
       {"-9223372036854775808", "overflow"}},
      {"overlapping strides for an owner",
       kStrides | kOwning,
       {{2, 3}, {1, 1}, {}},
       argument,
       {"strides {1, 1}", "overlap"}},
      {"strides of 0 for an owner",
       kStrides | kOwning,
       {{2, 3}, {0, 1}, {}},
       argument,
       {"strides {0, 1}", "overlap"}},
      {"negative strides for an owner",
       kStrides | kOwning,
       {{2, 3}, {-3, 1}, {}},
       argument,
       {"strides {-3, 1}", "negative"}},
      {"the type Undefined",
       0,
       {{2, 3}, {}, {}, ScalarType::Undefined},
       Error::InvalidType,
       {"Undefined"}},
      {"a type value between the types", 0, {{2, 3}, {}, {}, type(12)}, Error::InvalidType, {"12"}},
      {"a type value beyond the types", 0, {{2, 3}, {}, {}, type(99)}, Error::InvalidType, {"99"}},
      {"a negative type value", 0, {{2, 3}, {}, {}, type(-1)}, Error::InvalidType, {"-1"}},
  };
}

}  // namespace

TEST_CASE("bad input: each creator reports each by its own name and releases what it was given") {
  int checked = 0;
  for (const BadInput& bad : bad_inputs()) {
    for (const Creator& creator : kCreators) {
      if ((bad.needs & ~creator.takes) != 0) continue;
      float data[6] = {1, 2, 3, 4, 5, 6};
      Calls calls;
      const tests::Caught caught = tests::caught([&] {
        creator.call(Given{bad.arguments, data, &calls});
        return 0;
      });
      bool right = caught.error == bad.error &&
                   caught.message.rfind(std::string(creator.name) + ": ", 0) == 0;
      for (const std::string& word : bad.words) {
        right = right && tests::contains(caught.message, word);
      }
      const int expected_calls = (creator.takes & kReleases) != 0 ? 1 : 0;
      right = right && calls.count == expected_calls;
      for (int i = 0; i < 6; ++i) right = right && data[i] == static_cast<float>(i + 1);
      if ((creator.takes & (kPointer | kReleases)) == (kPointer | kReleases) &&
          calls.argument != data) {
        // The owner form counts the release of its owner instead.
        right = right && std::string(creator.name) == "for_blob";
      }
      ++checked;
      if (right) continue;
      INFO(creator.name << " with " << bad.what << ": " << toString(caught.error) << ", \""
                        << caught.message << "\", released " << calls.count << " times");
      CHECK(right);
    }
  }
  CHECK(checked > 300);
}

TEST_CASE("bad input: a null pointer value for elements is refused, and the deleter runs once") {
  int checked = 0;
  for (const Creator& creator : kCreators) {
    if ((creator.takes & kPointer) == 0) continue;
    Calls calls;
    const tests::Caught caught = tests::caught([&] {
      creator.call(Given{{{2, 3}, {}, {}}, nullptr, &calls});
      return 0;
    });
    INFO(creator.name << ": " << caught.message);
    CHECK(caught.error == Error::InvalidArgument);
    CHECK(tests::contains(caught.message, std::string(creator.name) + ": "));
    CHECK(tests::contains(caught.message, "null"));
    CHECK(tests::contains(caught.message, "{2, 3}"));
    CHECK(calls.count == ((creator.takes & kReleases) != 0 ? 1 : 0));
    ++checked;
  }
  CHECK(checked >= 8);
}

TEST_CASE("bad input: the wrong number of values is refused, and the container is released once") {
  for (size_t count : {size_t{0}, size_t{5}, size_t{7}}) {
    Calls calls;
    CHECK_ERROR(Error::InvalidArgument, "make_tensor_ptr: " + std::to_string(count) + " values",
                tenon::make_tensor_ptr({2, 3}, Tracked(calls, count)));
    CHECK(calls.count == 1);
    CHECK_ERROR(Error::InvalidArgument, "make_tensor_impl_ptr: ",
                tenon::make_tensor_impl_ptr({2, 3}, Tracked(calls, count), {1, 0}));
    CHECK(calls.count == 2);
  }
}

TEST_CASE("bad input: an lvalue container is unchanged by the failure") {
  std::vector<float> source = {1, 2, 3};
  CHECK_ERROR(Error::InvalidArgument, "3 values", tenon::make_tensor_ptr({2}, source));
  CHECK(source == std::vector<float>{1, 2, 3});
}

TEST_CASE("bad input: a typed pointer with another type is refused, raw bytes are not") {
  Calls calls;
  int32_t ints[3] = {};
  CHECK_ERROR(Error::InvalidType, "from_blob: the data pointer is to Int, the type given is Float",
              tenon::from_blob(ints, {3}, ScalarType::Float, calls.deleter()));
  CHECK(calls.count == 1);
  int8_t chars[4] = {};
  CHECK_ERROR(Error::InvalidType, "Char", tenon::from_blob(chars, {1}, ScalarType::Float));
  bool bools[4] = {};
  CHECK_ERROR(Error::InvalidType, "Bool", tenon::from_blob(bools, {1}, ScalarType::Float));
  alignas(8) unsigned char bytes[8] = {};
  CHECK(tenon::from_blob(bytes, {2}, ScalarType::Float)->scalar_type() == ScalarType::Float);
}

TEST_CASE("bad input: a null impl, a null TensorPtr and an undefined Tensor are refused") {
  CHECK_ERROR(Error::InvalidState,
              "make_tensor_ptr: ", tenon::make_tensor_ptr(tenon::TensorImplPtr()));
  CHECK_ERROR(Error::InvalidState, "make_tensor: ", tenon::make_tensor(tenon::TensorPtr()));
  CHECK_ERROR(Error::InvalidState,
              "make_tensor_impl_ptr: ", tenon::make_tensor_impl_ptr(tenon::Tensor()));
  CHECK_ERROR(Error::InvalidState,
              "make_tensor_ptr: ", tenon::make_tensor_ptr(tenon::TensorPtr(), {2}));
  CHECK_ERROR(Error::InvalidState, "empty_like: ", tenon::empty_like(tenon::Tensor()));
  CHECK_ERROR(Error::InvalidState, "zeros_like: ", tenon::zeros_like(tenon::TensorPtr()));
}
