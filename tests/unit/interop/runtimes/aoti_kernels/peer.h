// SPDX-License-Identifier: MIT
// One of tenon's C functions beside libtorch's of the same name: both get copies of the same tensors, and what they
// answer is compared. libtorch is opened at run time, from TENON_TORCH_LIBRARY; without, comparisons are skipped.
#pragma once

#include <dlfcn.h>

#include <cmath>
#include <deque>
#include <optional>
#include <sstream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "support/catch.h"
#include "tenon/interop/runtimes/aoti_kernel_tools.h"
#include "tenon/ostream.h"
#include "tenon/tenon.h"

namespace tests {

/// libtorch's function of that name; null where there is no libtorch.
inline void* find_in_torch(const char* name) {
#if defined(TENON_TORCH_LIBRARY)
  static void* const library = ::dlopen(TENON_TORCH_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) FAIL(::dlerror());
  void* const found = ::dlsym(library, name);
  if (found == nullptr) FAIL("libtorch has no " << name);
  return found;
#else
  static_cast<void>(name);
  return nullptr;
#endif
}
inline bool has_torch() {
#if defined(TENON_TORCH_LIBRARY)
  return true;
#else
  return false;
#endif
}

/// Calls libtorch's function of that name.
template <class... A>
void ask_torch(const char* name, A... args) {
  const auto function = reinterpret_cast<AOTITorchError (*)(A...)>(find_in_torch(name));
  REQUIRE(function(args...) == 0);
}

/// The arguments of one side, which own what they point to.
class Arguments {
 public:
  explicit Arguments(bool of_torch) : of_torch_(of_torch) {}
  Arguments(const Arguments&) = delete;
  Arguments& operator=(const Arguments&) = delete;
  ~Arguments() {
    for (const AtenTensorHandle handle : made_) drop(handle);
  }

  /// A value as a parameter of type P takes it: tensors as handles to a copy in the same strides.
  template <class P, class A>
  P pass(const A& value) {
    if constexpr (std::is_same_v<A, tenon::Tensor>) {
      handles_.push_back({make(value)});
      if constexpr (std::is_pointer_v<P> && !std::is_same_v<P, AtenTensorHandle>) {
        return handles_.back().data();
      } else {
        return handles_.back()[0];
      }
    } else if constexpr (std::is_same_v<A, tenon::TensorPtr>) {
      return pass<P>(*value);
    } else if constexpr (std::is_same_v<A, std::vector<tenon::Tensor>>) {
      std::vector<AtenTensorHandle>& list = handles_.emplace_back();
      for (const tenon::Tensor& each : value) list.push_back(make(each));
      return list.data();
    } else if constexpr (std::is_same_v<A, std::vector<std::optional<tenon::Tensor>>>) {
      std::vector<AtenTensorHandle>& list = handles_.emplace_back(value.size());
      std::vector<const AtenTensorHandle*>& pointers = pointers_.emplace_back(value.size());
      for (size_t i = 0; i < value.size(); ++i) {
        if (!value[i]) continue;
        list[i] = make(*value[i]);
        pointers[i] = &list[i];
      }
      return pointers.data();
    } else {
      return static_cast<P>(value);
    }
  }
  const std::vector<AtenTensorHandle>& made() const { return made_; }

  /// What a handle holds, as a tensor of tenon's with the same strides. The handle may be null.
  tenon::Tensor read(AtenTensorHandle handle) const {
    using namespace tenon;
    Tensor made;
    if (handle == nullptr) return made;
    if (!of_torch_) {
      Tensor* found = nullptr;
      REQUIRE(detail::find_aoti_tensor(handle, found) == Error::Ok);
      return *found;
    }
    int64_t rank = 0;
    int64_t* sizes = nullptr;
    int64_t* strides = nullptr;
    int32_t dtype = 0;
    void* data = nullptr;
    ask_torch("aoti_torch_get_dim", handle, &rank);
    ask_torch("aoti_torch_get_sizes", handle, &sizes);
    ask_torch("aoti_torch_get_strides", handle, &strides);
    ask_torch("aoti_torch_get_dtype", handle, &dtype);
    ask_torch("aoti_torch_get_data_ptr", handle, &data);
    const auto count = static_cast<size_t>(rank);
    return *from_blob(data, ArrayRef<int64_t>(sizes, count), ArrayRef<int64_t>(strides, count),
                      static_cast<ScalarType>(dtype));
  }
  void drop(AtenTensorHandle handle) const {
    if (handle == nullptr) return;
    if (of_torch_) {
      ask_torch("aoti_torch_delete_tensor_object", handle);
    } else {
      CHECK(tenon::detail::tenon_aoti_shim.delete_tensor_object(handle) == 0);
    }
  }

 private:
  AtenTensorHandle make(const tenon::Tensor& tensor) {
    using namespace tenon;
    AtenTensorHandle handle = nullptr;
    if (!tensor.defined()) return handle;
    // Memory with the gaps and repeated elements of the tensor's own.
    const detail::TensorFields& from = detail::fields(TensorArg(tensor));
    const size_t size =
        static_cast<size_t>(from.layout.required_span_size()) * elementSize(from.type);
    std::vector<char>& bytes = memory_.emplace_back((std::max)(size, size_t{1}));
    if (size != 0) std::memcpy(bytes.data(), from.data, size);
    if (of_torch_) {
      ask_torch("aoti_torch_create_tensor_from_blob", static_cast<void*>(bytes.data()),
                static_cast<int64_t>(tensor.dim()), tensor.sizes().data(), tensor.strides().data(),
                int64_t{0}, static_cast<int32_t>(from.type), int32_t{0}, int32_t{0}, &handle);
    } else {
      const TensorPtr copy = from_blob(bytes.data(), tensor.sizes(), tensor.strides(), from.type);
      REQUIRE(detail::make_aoti_handle(*copy, handle) == Error::Ok);
    }
    made_.push_back(handle);
    return handle;
  }

  bool of_torch_;
  std::deque<std::vector<AtenTensorHandle>> handles_;
  std::deque<std::vector<const AtenTensorHandle*>> pointers_;
  std::deque<std::vector<char>> memory_;
  std::vector<AtenTensorHandle> made_;
};

/// How `ours` differs from `theirs`: by sizes, strides of dimensions that have more than one element, dtype, or an element
/// by more than `tolerance` of it, or of 1. NaN equals NaN. "" if not.
inline std::string difference(const tenon::Tensor& ours, const tenon::Tensor& theirs,
                              double tolerance) {
  using namespace tenon;
  std::ostringstream text;
  if (ours.defined() != theirs.defined())
    return ours.defined() ? "defined, theirs is not" : "undefined";
  if (!ours.defined()) return "";
  if (ours.scalar_type() != theirs.scalar_type()) {
    text << ours.scalar_type() << ", torch " << theirs.scalar_type();
    return text.str();
  }
  if (ours.sizes() != theirs.sizes()) {
    text << "sizes " << ours.sizes() << ", torch " << theirs.sizes();
    return text.str();
  }
  for (size_t d = 0; d < ours.sizes().size() && ours.numel() != 0; ++d) {
    if (ours.sizes()[d] == 1 || ours.strides()[d] == theirs.strides()[d]) continue;
    text << "sizes " << ours.sizes() << ", strides " << ours.strides() << ", torch "
         << theirs.strides();
    return text.str();
  }
  const ScalarType type = ours.scalar_type();
  const bool is_exact = isIntegralType(type, true);
  const ScalarType wide = is_exact              ? type
                          : isComplexType(type) ? ScalarType::ComplexDouble
                                                : ScalarType::Double;
  Tensor a;
  Tensor b;
  REQUIRE(detail::make_dense(ours, wide, a) == Error::Ok);
  REQUIRE(detail::make_dense(theirs, wide, b) == Error::Ok);
  if (is_exact) {
    const auto size = static_cast<size_t>(ours.numel()) * elementSize(type);
    if (std::isinf(tolerance) || size == 0 ||
        std::memcmp(a.const_data_ptr(), b.const_data_ptr(), size) == 0)
      return "";
  } else {
    const auto* const x = static_cast<const double*>(a.const_data_ptr());
    const auto* const y = static_cast<const double*>(b.const_data_ptr());
    const int64_t count = ours.numel() * (isComplexType(type) ? 2 : 1);
    int64_t i = 0;
    while (i < count && (x[i] == y[i] || (std::isnan(x[i]) && std::isnan(y[i])) ||
                         std::abs(x[i] - y[i]) <= tolerance * (std::max)(1.0, std::abs(y[i])) ||
                         std::isinf(tolerance))) {
      ++i;
    }
    if (i == count) return "";
    text << "number " << i << " is " << x[i] << ", torch " << y[i] << "; ";
  }
  text << "ours " << ours << ", torch " << theirs;
  return text.str();
}

template <class P, class... Params, class Call, size_t... I>
void with_arguments(Arguments& side, const P& values, AOTITorchError (*)(Params...),
                    AtenTensorHandle* results, const Call& call, std::index_sequence<I...>) {
  using All = std::tuple<Params...>;
  constexpr size_t kGiven = std::tuple_size_v<P>;
  const auto one = [&](auto index) {
    constexpr size_t kAt = decltype(index)::value;
    using Param = std::tuple_element_t<kAt, All>;
    if constexpr (kAt < kGiven) {
      return side.pass<Param>(std::get<kAt>(values));
    } else {
      return static_cast<Param>(results + (kAt - kGiven));
    }
  };
  call(one(std::integral_constant<size_t, I>())...);
}

/// How a function of ours answers otherwise than libtorch's: other results, another change of its arguments, an error of one
/// alone. "" if not; where there is no libtorch, ours is called alone, as the sanitizers want it. The parameters that are
/// not given are the results.
template <class... Params, class... Values>
std::string differs(const char* name, AOTITorchError (*ours)(Params...), double tolerance,
                    const Values&... values) {
  constexpr size_t kResults = sizeof...(Params) - sizeof...(Values);
  const size_t count = has_torch() ? 2 : 1;
  const auto theirs = reinterpret_cast<AOTITorchError (*)(Params...)>(find_in_torch(name));
  const std::tuple<const Values&...> all(values...);
  Arguments sides[] = {Arguments(false), Arguments(true)};
  AtenTensorHandle results[2][kResults + 1] = {};
  AOTITorchError codes[2] = {};
  for (size_t side = 0; side < count; ++side) {
    std::tuple<Values...> copies(values...);
    with_arguments(
        sides[side], copies, ours, results[side],
        [&](auto... args) { codes[side] = (side == 0 ? ours : theirs)(args...); },
        std::index_sequence_for<Params...>());
  }
  std::string text;
  if (count == 2 && codes[0] != codes[1]) {
    text =
        codes[0] != 0 ? std::string("refused: ") + tenon::last_error_message() : "torch refuses it";
  } else if (count == 2 && codes[0] == 0) {
    for (size_t i = 0; i < kResults && text.empty(); ++i) {
      text = difference(sides[0].read(results[0][i]), sides[1].read(results[1][i]), tolerance);
      if (!text.empty()) text = "result " + std::to_string(i) + ": " + text;
    }
    for (size_t i = 0; i < sides[0].made().size() && text.empty(); ++i) {
      text = difference(sides[0].read(sides[0].made()[i]), sides[1].read(sides[1].made()[i]),
                        tolerance);
      if (!text.empty()) text = "tensor argument " + std::to_string(i) + ": " + text;
    }
  }
  for (size_t side = 0; side < count; ++side) {
    for (const AtenTensorHandle handle : results[side]) sides[side].drop(handle);
  }
  return text;
}

/// What a function of ours answers; no results where it refuses the arguments, with tenon::last_error_message().
template <class... Params, class... Values>
std::vector<tenon::Tensor> answer(AOTITorchError (*ours)(Params...), const Values&... values) {
  constexpr size_t kResults = sizeof...(Params) - sizeof...(Values);
  Arguments side(false);
  AtenTensorHandle results[kResults + 1] = {};
  AOTITorchError code = 0;
  with_arguments(
      side, std::tuple<const Values&...>(values...), ours, results,
      [&](auto... args) { code = ours(args...); }, std::index_sequence_for<Params...>());
  std::vector<tenon::Tensor> read;
  for (size_t i = 0; i < kResults && code == 0; ++i) {
    read.push_back(*tenon::clone(side.read(results[i])));
    side.drop(results[i]);
  }
  return read;
}

/// A function's name and address, for differs().
#define TENON_PEER(function) #function, &tenon::detail::function
#define CHECK_PEER(function, ...) CHECK(tests::differs(TENON_PEER(function), __VA_ARGS__) == "")

}  // namespace tests
