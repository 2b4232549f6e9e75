// SPDX-License-Identifier: MIT
// Random chains of views, each compared element by element with a model of addresses.
#include "tensor/view_model.h"
#include "support/catch.h"
#include "tenon/tenon.h"
#include "tensor/helpers.h"

namespace view_model_test {

using namespace tenon;
using namespace tests;
using namespace tests::view_model;

namespace {

// What is wrong with a view's elements, or "".
std::string wrong_elements(const Tensor& t, const Model& m, const char* memory) {
  if (tests::sizes(t) != m.sizes) return "sizes";
  if (t.numel() != product(m.sizes)) return "numel";
  if (t.scalar_type() != m.type) return "type";
  if (ownership(t) != Ownership::View) return "ownership";
  const auto* data = static_cast<const char*>(const_data_ptr(t));
  if (data != memory + m.start) return "the address of element 0";
  const Vector offsets = element_offsets(m.sizes, tests::strides(t));
  Vector row_major(offsets.size());
  std::iota(row_major.begin(), row_major.end(), 0);
  for (size_t i = 0; i < offsets.size(); ++i) {
    const int64_t at = offsets[i] * m.item();
    const auto size = static_cast<size_t>(m.item());
    if (m.start + at != m.at[i]) return "the addresses";
    if (std::memcmp(data + at, memory + m.at[i], size) != 0) return "the elements";
  }
  return t.is_contiguous() == (offsets == row_major) ? "" : "is_contiguous";
}

// What is wrong with a copy of a view's elements, or "".
std::string wrong_copy(const Tensor& t, const Model& m, const char* memory) {
  if (tests::sizes(t) != m.sizes) return "sizes of the copy";
  if (t.scalar_type() != m.type) return "type of the copy";
  if (ownership(t) != Ownership::Owned) return "ownership of the copy";
  if (!t.is_contiguous()) return "strides of the copy";
  const auto size = static_cast<size_t>(m.item());
  for (size_t i = 0; i < m.at.size(); ++i) {
    const char* const element = static_cast<const char*>(const_data_ptr(t)) + i * size;
    if (std::memcmp(element, memory + m.at[i], size) != 0) return "the elements of the copy";
  }
  return "";
}

// What is wrong with what the library keeps beside sizes and strides, or "".
std::string wrong_layout(const Tensor& t) {
  const auto& fields = detail::fields(t);
  const Vector sizes = tests::sizes(t);
  const Vector strides = tests::strides(t);
  const Vector order = tests::dim_order(t);
  int64_t low = 0;
  int64_t high = product(sizes) == 0 ? -1 : 0;
  for (int64_t offset : element_offsets(sizes, strides)) {
    low = std::min(low, offset);
    high = std::max(high, offset);
  }
  if (fields.layout.offsets.min != low || fields.layout.offsets.max != high) return "extent";
  if (fields.capacity != (high + 1 < t.numel() ? high + 1 : t.numel())) return "capacity";
  // The dim order holds each dimension once, and nests the strides.
  if (order.size() != sizes.size()) return "dim order";
  Vector seen(order.size(), 0);
  int64_t outer = INT64_MAX;
  bool row_major = true;
  for (size_t i = 0; i < order.size(); ++i) {
    const auto d = static_cast<size_t>(order[i]);
    if (d >= seen.size() || seen[d]++ != 0) return "dim order";
    row_major = row_major && d == i;
    if (sizes[d] == 1 || t.numel() == 0) continue;
    if (std::abs(strides[d]) > outer) return "dim order";
    outer = std::abs(strides[d]);
  }
  int64_t step = 1;
  for (size_t d = strides.size(); d-- > 0;) {
    row_major = row_major && strides[d] == step;
    step *= sizes[d] == 0 ? 1 : sizes[d];
  }
  return fields.layout.row_major == row_major ? "" : "row_major";
}

// ATen has no negative strides.
constexpr int64_t kLowest = 0 ATEN_LACKS(-3);
constexpr size_t kFlip = 5;
constexpr size_t kReshape = 11;
constexpr size_t kFlatten = 12;

constexpr const char* kFunctions[] = {
    "select",  "slice",   "narrow",    "transpose",  "permute",     "flip",
    "squeeze", "squeeze", "unsqueeze", "expand",     "view",        "reshape",
    "flatten", "movedim", "diagonal",  "as_strided", "view_as_type"};
constexpr size_t kCount = sizeof kFunctions / sizeof *kFunctions;

struct Counts {
  int made[kCount] = {};
  int refused[kCount] = {};
  int copied = 0;
};

class Chain {
 public:
  Chain(uint64_t seed, Counts& counts) : random_{seed}, counts_(counts) {}

  // The first step after which a view and its model differ, described; empty if none.
  std::string run(int steps) {
    make_root();
    for (int step = 0; step < steps; ++step) {
      const size_t from = static_cast<size_t>(any(0, static_cast<int64_t>(models_.size()) - 1));
      function_ = static_cast<size_t>(any(0, static_cast<int64_t>(kCount) - 1));
      if (TENON_ATEN_MODE && function_ == kFlip) continue;
      const std::string trouble = apply(Tensor(tensors_[from]), Model(models_[from]));
      if (!trouble.empty()) {
        return "step " + std::to_string(step) + ", " + kFunctions[function_] + ": " + trouble;
      }
    }
    // All borrow from the root, and only they and its handle hold it.
#if !TENON_ATEN_MODE  // whose storages count views
    const detail::ImplFields& root = detail::fields(tensors_[0]);
    if (root.borrows.any() != (tensors_.size() > 1)) return "borrows";
    if (tensors_[0].use_count() != static_cast<long>(tensors_.size())) return "use_count";
    tensors_.resize(1);
    if (root.borrows.any()) return "a borrow is left";
    return tensors_[0].use_count() == 1 ? "" : "an owner is left";
#else
    if (tensors_[0].storage().use_count() != tensors_.size()) return "use_count";
    tensors_.resize(1);
    return tensors_[0].storage().use_count() == 1 ? "" : "an owner is left";
#endif
  }

 private:
  int64_t any(int64_t low, int64_t high) { return random_.between(low, high); }
  bool one_in(int64_t n) { return any(1, n) == 1; }
  // Out of range now and then.
  int64_t any_dim(const Model& m) {
    const int64_t rank = m.rank() == 0 ? 1 : m.rank();
    return any(-rank - (one_in(10) ? 1 : 0), rank - (one_in(10) ? 0 : 1));
  }
  ScalarType any_type() {
    constexpr ScalarType types[] = {ScalarType::Byte,         ScalarType::Bool,
                                    ScalarType::Half,         ScalarType::Int,
                                    ScalarType::ComplexHalf,  ScalarType::Double,
                                    ScalarType::ComplexFloat, ScalarType::ComplexDouble};
    return types[any(0, 7)];
  }

  // A tensor over memory of exactly the bytes that it reaches: dense, or of random strides.
  void make_root() {
    Model root;
    root.type = any_type();
    for (int64_t d = one_in(8) ? any(0, 9) : any(1, 4); d > 0; --d) {
      root.sizes.push_back(one_in(30) ? 0 : product(root.sizes) > 60 ? 1 : any(1, 4));
    }
    Vector strides(root.sizes.size());
    int64_t step = 1;
    for (size_t d = strides.size(); d-- > 0;) {
      strides[d] = step;
      step *= root.sizes[d];
    }
    if (one_in(3)) {
      for (int64_t& stride : strides) stride = one_in(3) ? any(kLowest, 5) : stride;
    }
    int64_t low = 0;
    int64_t high = product(root.sizes) == 0 ? -1 : 0;
    for (size_t d = 0; d < strides.size() && high >= 0; ++d) {
      (strides[d] < 0 ? low : high) += (root.sizes[d] - 1) * strides[d];
    }
    const auto nbytes = static_cast<size_t>((high - low + 1) * root.item());
    memory_.reset(static_cast<char*>(std::malloc(nbytes)));
    for (size_t i = 0; i < nbytes; ++i) memory_.get()[i] = static_cast<char>(any(0, 127));
    root.start = -low * root.item();
    root.at = element_offsets(root.sizes, in_bytes(strides, root), root.start);
    void* const element_0 = memory_.get() + root.start;
    tensors_.push_back(for_blob(element_0, root.sizes, root.type).strides(strides).make_tensor());
    models_.push_back(root);
  }

  template <class F>
  std::string check(const Expected& expected, F&& make) {
    Tensor t;
    const tests::Caught caught = tests::caught([&] {
      t = make();
      return 0;
    });
    const bool is_between = contains(caught.message, "ATen counts such offsets in elements");
    if (expected.error == Error::NotSupported && caught.error == Error::Ok) {
      if (function_ != kReshape && function_ != kFlatten) return "no error";
      ++counts_.copied;
      const std::string wrong = wrong_copy(t, expected.model, memory_.get());
      return wrong.empty() ? wrong_layout(t) : wrong;
    }
    if (caught.error != expected.error && !is_between) {
      return std::string("expected ") + toString(expected.error) + ", got " +
             toString(caught.error) + ": " + caught.message;
    }
    if (caught.error != Error::Ok) {
      ++counts_.refused[function_];
      return "";
    }
    ++counts_.made[function_];
    const std::string wrong = wrong_elements(t, expected.model, memory_.get());
    if (!wrong.empty()) return wrong;
    tensors_.push_back(t);
    models_.push_back(expected.model);
    return wrong_layout(t);
  }

  std::string apply(const Tensor& t, const Model& m) {
    const int64_t dim = any_dim(m);
    const int64_t dim1 = any_dim(m);
    const int64_t start = any(-6, 6);
    const int64_t end = any(-6, 6);
    const int64_t step = one_in(20) ? any(-1, 0) : any(1, 3);
    switch (function_) {
      case 0: return check(selected(m, dim, start), [&] { return tenon::select(t, dim, start); });
      case 1: {
        if (one_in(4)) {
          return check(sliced(m, dim, start, INT64_MAX, step),
                       [&] { return slice(t, dim, start, none, step); });
        }
        return check(sliced(m, dim, start, end, step),
                     [&] { return slice(t, dim, start, end, step); });
      }
      case 2: {
        const int64_t length = any(-1, 3);
        return check(narrowed(m, dim, start, length),
                     [&] { return narrow(t, dim, start, length); });
      }
      case 3: return check(transposed(m, dim, dim1), [&] { return transpose(t, dim, dim1); });
      case 4: {
        const Vector dims = any_dims(m, true);
        return check(permuted(m, dims), [&] { return permute(t, dims); });
      }
      case 5: {
        const Vector dims = any_dims(m, false);
        return check(flipped(m, dims), [&] { return flip(t, dims); });
      }
      case 6: return check(squeezed(m), [&] { return squeeze(t); });
      case 7: return check(squeezed(m, dim), [&] { return squeeze(t, dim); });
      case 8: {
        const int64_t place = any(-m.rank() - 2, m.rank() + 1);
        return check(unsqueezed(m, place), [&] { return unsqueeze(t, place); });
      }
      case 9: {
        const Vector sizes = any_expansion(m);
        return check(expanded(m, sizes), [&] { return expand(t, sizes); });
      }
      case 10: {
        const Vector sizes = any_sizes_for(m);
        return check(viewed(m, sizes), [&] { return view(t, sizes); });
      }
      case 11: {
        const Vector sizes = any_sizes_for(m);
        return check(viewed(m, sizes), [&] { return reshape(t, sizes); });
      }
      case 12: return check(flattened(m, dim, dim1), [&] { return flatten(t, dim, dim1); });
      case 13: {
        if (one_in(2)) {
          return check(moved(m, {dim}, {dim1}), [&] { return movedim(t, dim, dim1); });
        }
        const Vector source = any_dims(m, false);
        Vector destination = any_dims(m, false);
        if (!one_in(10)) destination.resize(source.size(), dim);
        return check(moved(m, source, destination),
                     [&] { return movedim(t, source, destination); });
      }
      case 14: {
        const int64_t offset = one_in(2) ? 0 : any(-3, 3);
        return check(diagonal_of(m, offset, dim, dim1),
                     [&] { return diagonal(t, offset, dim, dim1); });
      }
      case 15: {
        Vector sizes, strides;
        for (int64_t n = any(0, 3); n > 0; --n) {
          sizes.push_back(one_in(16) ? 0 : any(1, 3));
          strides.push_back(any(kLowest, 3));
        }
        const int64_t offset = one_in(4) ? any(-6, 6) : 0;
        return check(restrided(m, sizes, strides, offset),
                     [&] { return as_strided(t, sizes, strides, offset); });
      }
      default: {
        const ScalarType type = any_type();
        return check(retyped(m, type, memory_.get()), [&] { return view_as_type(t, type); });
      }
    }
  }

  // A permutation or some of the dimensions, and now and then neither.
  Vector any_dims(const Model& m, bool all) {
    Vector dims;
    for (int64_t d = 0; d < m.rank(); ++d) {
      if (!all && one_in(2)) continue;
      const int64_t place = any(0, static_cast<int64_t>(dims.size()));
      dims.insert(dims.begin() + static_cast<ptrdiff_t>(place), d);
    }
    for (int64_t& d : dims) d -= one_in(2) ? m.rank() : 0;
    if (one_in(10)) dims.push_back(any(-2, 2));
    if (one_in(10) && !dims.empty()) dims.back() = any_dim(m);
    return dims;
  }

  Vector any_expansion(const Model& m) {
    Vector sizes = m.sizes;
    int64_t numel = product(sizes);
    for (int64_t& size : sizes) {
      if (one_in(3)) {
        size = -1;
      } else if (size == 1 && numel < 40) {
        size = any(0, 3);
        numel *= size;
      }
    }
    for (int64_t n = any(-1, 2); n > 0 && numel < 40; --n) {
      sizes.insert(sizes.begin(), any(1, 3));
      numel *= sizes.front();
    }
    if (one_in(10) && !sizes.empty()) sizes.front() = any(-2, 2);
    if (one_in(10) && !sizes.empty()) sizes.pop_back();
    return sizes;
  }

  // Sizes of the same element count, with a -1 or a mistake now and then.
  Vector any_sizes_for(const Model& m) {
    if (one_in(8)) return m.sizes;
    Vector sizes;
    int64_t left = product(m.sizes);
    for (int64_t n = any(0, 4); n > 0; --n) {
      int64_t size = left == 0 ? any(0, 3) : any(1, left);
      while (left != 0 && left % size != 0) --size;
      sizes.push_back(size);
      left = size == 0 ? 0 : left / size;
    }
    if (left != 1 || one_in(4)) sizes.push_back(left);
    for (int64_t& size : sizes) {
      if (one_in(10)) size = one_in(5) ? any(-2, 3) : -1;
    }
    return sizes;
  }

  struct Free {
    void operator()(char* p) const { std::free(p); }
  };
  tests::Rng random_;
  Counts& counts_;
  size_t function_ = 0;
  std::unique_ptr<char, Free> memory_;
  std::vector<Tensor> tensors_;  // the first is the root, the others are views
  std::vector<Model> models_;
};

}  // namespace

// A promise of docs/guarantees.md.
TEST_CASE("view: random chains of views have the elements of a model, and none beyond them") {
  Counts counts;
  for (uint64_t seed = 1; seed <= 1700; ++seed) {
    const std::string trouble = Chain(seed, counts).run(30);
    if (!trouble.empty()) {
      INFO("seed " << seed << ", " << trouble);
      FAIL();
    }
  }
  // Enough of each function; squeeze without a dimension has nothing to refuse.
  for (size_t i = 0; i < kCount; ++i) {
    INFO(kFunctions[i]);
    if (TENON_ATEN_MODE && i == kFlip) continue;
    CHECK(counts.made[i] > 500);
    // Errors of reshape and flatten are the rarer, as they copy.
    if (i != 6) CHECK(counts.refused[i] > 50);
  }
  CHECK(counts.copied > 100);
}

}  // namespace view_model_test
