// SPDX-License-Identifier: MIT
// What C++20 has for ranges beside tenon's: only compiled.
#include <tenon/tenon.h>

// Clang before 16 cannot compile libstdc++'s <ranges>.
#if !defined(__clang__) || __clang_major__ >= 16
#include <algorithm>
#include <ranges>
#include <span>
#include <vector>

static_assert(std::ranges::borrowed_range<tenon::Span<float>>);
static_assert(std::ranges::view<tenon::ArrayRef<int64_t>>);
static_assert(std::ranges::contiguous_range<const tenon::Span<float>>);
static_assert(std::ranges::forward_range<tenon::TensorAccessor<float, 1>>);
static_assert(std::ranges::input_range<tenon::TensorAccessor<float, 3>>);

int64_t spans(const tenon::Tensor& t) {
  const std::span<float> elements = t.data<float>();
  const std::span<const int64_t> sizes = t.sizes();
  return *std::ranges::max_element(t.sizes()) +
         static_cast<int64_t>(elements.size() + sizes.size());
}

tenon::TensorPtr views(const std::vector<float>& all) {
  auto large = all | std::views::filter([](float value) { return value > 2; });
  auto squares = all | std::views::transform([](float value) { return value * value; });
  return tenon::cat({*tenon::make_tensor_ptr(large), *tenon::make_tensor_ptr(squares),
                     *tenon::make_tensor_ptr(std::views::iota(0, 3), tenon::ScalarType::Float)});
}
#endif
