// SPDX-License-Identifier: MIT
// Making tensors with what they allocate, call and throw failing.
#include <deque>

#include "allocation/failures.h"
#include "tenon/module/tensor_spec.h"

namespace make_failure_test {

using namespace tenon;
using tenon::detail::Layout;
using tenon::detail::make_layout;
using tenon::detail::NameList;
using tenon::detail::Values;
using namespace tests;

TEST_CASE("out of memory: make_tensor_ptr of containers") {
  static const std::vector<float> source(1000);
  static const std::deque<float> pieces(1000);
  static const std::vector<bool> bits(10);
  FAIL_EACH(make_tensor_ptr(source));
  FAIL_EACH(make_tensor_ptr({10, 100}, source, ScalarType::Double));
  FAIL_EACH(make_tensor_ptr(pieces));
  FAIL_EACH(make_tensor_ptr({5, 2}, bits));
  static const std::vector<std::array<float, 500>> rows(2);
  FAIL_EACH(make_tensor_ptr(rows));
  FAIL_EACH(try_make_tensor_ptr({1000}, rows, ScalarType::Double));
  FAIL_EACH(try_make_tensor_ptr({1000}, pieces));
  FAIL_EACH_WITH(Foreign{1}, make_tensor_ptr(std::vector<float>(6)));
  FAIL_EACH_WITH(Foreign{1}, from_bytes({2}, std::vector<uint8_t>(8), ScalarType::Int));
  FAIL_EACH_WITH(Foreign{1}, from_bytes({25}, std::string(100, 'x'), ScalarType::Int));
}

TEST_CASE("out of memory: a container larger than four pointers is released once") {
  struct Large : Tracked {
    using Tracked::Tracked;
    std::array<char, 100> padding{};
  };
  Calls calls;
  // The container's own buffer is the first allocation.
  FAIL_EACH_WITH(Expected(calls, 1, 1), make_tensor_ptr({4}, Large(calls, 4)));
  FAIL_EACH_WITH(Expected(calls, 1, 1), make_tensor_ptr({4}, Large(calls, 4), ScalarType::Double));
  FAIL_EACH_WITH(Expected(calls, 1, 1), make_tensor_ptr(kDeep, Large(calls, 1)));
}

// A promise of docs/guarantees.md.
TEST_CASE("out of memory: pointers with a deleter, which runs once") {
  Calls calls;
  const auto large = large_deleter(calls);
  FAIL_EACH_WITH(Expected(calls, 1),
                 make_tensor_ptr({2, 3}, blob, ScalarType::Float, kBound, calls.deleter()));
  FAIL_EACH_WITH(Expected(calls, 1),
                 make_tensor_ptr({2, 3}, blob, ScalarType::Float, kBound, large));
  FAIL_EACH_WITH(Expected(calls, 1),
                 make_tensor_impl_ptr({2, 3}, blob, {}, {}, ScalarType::Float, kBound, large));
  FAIL_EACH_WITH(Expected(calls, 1),
                 make_tensor(kDeep, blob, {}, kDeep, ScalarType::Float, kBound, large));
  FAIL_EACH_WITH(Expected(calls, 1), from_blob(blob, {2, 3}, ScalarType::Float, large));
  FAIL_EACH_WITH(Expected(calls, 1),
                 from_blob(blob, kDeep, kDeep, ScalarType::Float, calls.deleter()));
  FAIL_EACH_WITH(Expected(calls, 1), try_from_blob(blob, kDeep, ScalarType::Float, large));
}

TEST_CASE("out of memory: for_blob runs the deleter and drops the owner, once each") {
  Calls calls;
  const auto large = large_deleter(calls);
  FAIL_EACH_WITH(Expected(calls, 1), for_blob(blob, {2, 3}).deleter(large).make_tensor_ptr());
  FAIL_EACH_WITH(Expected(calls, 1), for_blob(blob, {2, 3}).owner(Owner(calls)).make_tensor_ptr());
  FAIL_EACH_WITH(Expected(calls, 1), for_blob(blob, {2, 3}).owner(LargeOwner(calls)).make_tensor());
  FAIL_EACH_WITH(Expected(calls, 2),
                 for_blob(blob, {2, 3}).deleter(calls.deleter()).owner(Owner(calls)).make_tensor());
  FAIL_EACH_WITH(Expected(calls, 2),
                 for_blob(blob, {2, 3}).deleter(large).owner(LargeOwner(calls)).make_tensor_ptr());
  FAIL_EACH_WITH(Expected(calls, 2), for_blob(blob, kDeep)
                                         .owner(Owner(calls))
                                         .deleter(large)
                                         .strides(kDeep)
                                         .try_make_tensor_ptr());
}

TEST_CASE("out of memory: for_blob drops no owner before a deleter that was given before it") {
  struct Owner {
    explicit Owner(bool& a) : alive(&a) { *alive = true; }
    Owner(Owner&& other) noexcept : alive(std::exchange(other.alive, nullptr)) {}
    ~Owner() {
      if (alive != nullptr) *alive = false;
    }
    bool* alive;
    std::array<char, 100> padding{};
  };
  bool alive = false;
  bool in_order = true;
  Calls calls;
  std::array<void*, 8> padding{};
  const auto deleter = [&, padding](void* p) {
    static_cast<void>(padding);
    in_order = in_order && alive;
    calls.deleter()(p);
  };
  fail_each("deleter, owners", Expected{calls, 1}, [&] {
    Owner owner(alive);
    return for_blob(blob, {2, 3})
        .deleter(deleter)
        .owner(std::move(owner))
        .owner(1)
        .make_tensor_ptr();
  });
  CHECK(in_order);
  fail_each("owners, deleter", Expected{calls, 1}, [&] {
    Owner owner(alive);
    return for_blob(blob, {2, 3})
        .owner(1)
        .owner(std::move(owner))
        .deleter(deleter)
        .make_tensor_ptr();
  });
}

TEST_CASE("out of memory: bytes, memory that is lent to a Tensor, and templates") {
  FAIL_EACH_WITH(Foreign{1}, try_from_bytes({2}, std::vector<uint8_t>(8), ScalarType::Int));
  FAIL_EACH(tensor_from_blob(blob, kDeep));
  FAIL_EACH_WITH(Foreign{9}, make_template({2, 3}, ScalarType::Float, {"rows", "columns"}));
  FAIL_EACH_WITH(Foreign{9}, try_make_template(kDeep, ScalarType::Float, {}));
  const auto named = make_template({2}, ScalarType::Float, {std::string(100, 'x')});
  FAIL_EACH_WITH(Foreign{9}, dim_names(named));
}

TEST_CASE("out of memory: what a TensorPtrMaker was given is dropped once") {
  Calls calls;
  FAIL_EACH_OF("TensorPtrMaker::make_tensor_ptr, TensorPtrMaker::strides, TensorPtrMaker::type",
               for_blob(blob, kDeep).strides(kDeep).type(ScalarType::Float).make_tensor_ptr());
  FAIL_EACH_OF("TensorPtrMaker::make_tensor_impl_ptr, TensorPtrMaker::dim_order",
               for_blob(blob, kDeep).dim_order({7, 6, 5, 4, 3, 2, 1, 0}).make_tensor_impl_ptr());
  FAIL_EACH_OF_WITH("TensorPtrMaker::owner, TensorPtrMaker::make_tensor", Expected(calls, 1),
                    for_blob(blob, {2, 3}).owner(LargeOwner(calls)).make_tensor());
  FAIL_EACH_OF_WITH("TensorPtrMaker::try_make_tensor", Expected(calls, 1),
                    for_blob(blob, {2, 3}).owner(LargeOwner(calls)).try_make_tensor());
  FAIL_EACH_OF_WITH(
      "TensorPtrMaker::deleter, TensorPtrMaker::try_make_tensor_impl_ptr", Expected(calls, 1),
      for_blob(blob, {2, 3}).deleter(large_deleter(calls)).try_make_tensor_impl_ptr());
  FAIL_EACH_OF_WITH("TensorPtrMaker::try_make_tensor_ptr, TensorPtrMaker::dynamism",
                    Expected(calls, 1),
                    for_blob(blob, {2, 3})
                        .deleter(large_deleter(calls))
                        .dynamism(kDynamic)
                        .try_make_tensor_ptr());
  const auto converted = [&]() -> TensorPtr { return for_blob(blob, {2, 3}); };
  FAIL_EACH_OF("TensorPtrMaker::operator_Out", converted());
}

// A promise of docs/guarantees.md.
TEST_CASE("failing copies: a deleter or owner that throws has not been taken over") {
  Calls calls;
  const ThrowingCopies release(calls);
  FAIL_EACH_WITH(once(calls), from_blob(blob, {2, 3}, ScalarType::Float, release));
  FAIL_EACH_WITH(once(calls), try_from_blob(blob, kDeep, kDeep, ScalarType::Float, release));
  FAIL_EACH_WITH(once(calls), make_tensor_ptr({2, 3}, blob, ScalarType::Float, kBound, release));
  FAIL_EACH_WITH(once(calls), for_blob(blob, {2, 3}).deleter(release).make_tensor_ptr());
  FAIL_EACH_OF_WITH("Deleter::Deleter", once(calls), Deleter(blob, release).error());
  FAIL_EACH_WITH(Expected(calls, 1), for_blob(blob, {2, 3})
                                         .deleter(calls.deleter())
                                         .owner(ThrowingOwner(calls))
                                         .make_tensor_ptr());
  FAIL_EACH(from_blob(Blob::of(blob, {2, 3}), ThrowingOwner(calls)));
}

// A promise of docs/guarantees.md.
TEST_CASE("failing ranges: what the user's iterators throw leaves nothing behind") {
  const ThrowingRange<int64_t> range{5};
  FAIL_EACH(make_tensor_ptr({5}, range));
  FAIL_EACH(try_make_tensor({5}, range, ScalarType::Double));
  FAIL_EACH_OF("Values::take", [&range] {
    Values values(range);
    values.take();
    return values.error();
  }());
  FAIL_EACH_OF("Dims::Dims", Dims(range).error());
  FAIL_EACH_OF("Dims::Dims", Dims(range.begin(), range.end()).error());
  FAIL_EACH(zeros(range));
  struct Names {
    struct Iterator {
      ThrowingRange<int64_t>::Iterator at;
      std::string_view operator*() const {
        return std::string_view("abcde").substr(0, static_cast<size_t>(*at));
      }
      Iterator& operator++() { return ++at, *this; }
      bool operator!=(const Iterator& other) const { return at != other.at; }
    };
    Iterator begin() const { return {numbers.begin()}; }
    Iterator end() const { return {numbers.end()}; }
    ThrowingRange<int64_t> numbers{5};
  };
  FAIL_EACH_OF("NameList::NameList", NameList(Names()).error());
}

TEST_CASE("out of memory: lists and layouts of more than 6 dimensions are refused") {
  const Dims deep(kDeep);
  const Vector order{7, 6, 5, 4, 3, 2, 1, 0};
  Layout layout;
  FAIL_EACH_OF("Dims::Dims", Dims(kDeep).error());
  FAIL_EACH_OF("Strides::Strides", Strides(kDeep).dims().error());
  FAIL_EACH_OF("DimOrder::DimOrder", DimOrder(Dims(kDeep)).error());
  const auto out = [](auto&& make) {
    Layout made;
    return make(made);
  };
  FAIL_EACH(out([&](Layout& made) { return make_layout(deep, {}, {}, 4, made); }));
  FAIL_EACH(out([&](Layout& made) { return make_layout(deep, Dims(order), deep, 4, made); }));
  FAIL_EACH_OF("Layout::make_row_major",
               out([&](Layout& made) { return made.make_row_major(deep, 1); }));
  FAIL_EACH_OF("Layout::set_sizes", out([&](Layout& made) { return made.set_sizes(deep, 1); }));
  FAIL_EACH_OF("Layout::resize", out([&](Layout& made) { return made.resize(deep, 1); }));
  REQUIRE(make_layout(deep, {}, {}, 4, layout) == Error::Ok);
  FAIL_EACH_OF("Layout::Layout", Layout(layout).check());
  FAIL_EACH_OF("Layout::operator=", out([&](Layout& made) {
                 made = layout;
                 return made.check();
               }));
  FAIL_EACH_OF("TensorImpl::TensorImpl", [&] {
    const TensorImpl impl(ScalarType::Float, 8, kDeep.data(), blob);
    return Error::Ok;
  }());
  const std::vector<int64_t> numbers(9);
  FAIL_EACH_OF_WITH("Span::vec", Foreign{1}, Span<const int64_t>(numbers).vec());
}

TEST_CASE("out of memory: a result keeps its error when even the message has no memory") {
  FAIL_EACH_OF_WITH("Result::Result, Result::message", recovers(), [] {
    const Result<TensorPtr> result = try_make_tensor_ptr({-1}, {1});
    const bool is_kept = result.error() == Error::InvalidArgument && result.message() != nullptr;
    return is_kept ? Error::Ok : result.error();
  }());
}

}  // namespace make_failure_test
