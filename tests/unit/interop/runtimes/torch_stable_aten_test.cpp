// SPDX-License-Identifier: MIT
// Torch's own operators beside libtorch's: both get the same arguments by their dispatchers.
#include "tenon/interop/runtimes/torch_stable_aten.h"

#include "interop/runtimes/aoti_kernels/peer.h"
#include "tenon/interop/aoti_shim.h"
#include "tenon/interop/torch_stable_shim.h"

namespace torch_stable_aten_test {

using namespace tenon;
using detail::from_stack;
using detail::to_stack;
using tests::ask_torch;

namespace {

/// A value on the stack of libtorch.
StableIValue push_torch(std::string_view type, const EValue& value, tests::Arguments& side) {
  if (detail::take_optional(type)) {
    if (value.isNone()) return 0;
    StableIValue* made = nullptr;
    ask_torch("torch_new_stable_ivalue", &made);
    *made = push_torch(type, value, side);
    return to_stack(made);
  }
  if (detail::take_list(type)) {
    StableListHandle list = nullptr;
    ask_torch("torch_new_list_reserve_size", size_t{0}, &list);
    const auto add = [&](const EValue& each) {
      ask_torch("torch_list_push_back", list, push_torch(type, each, side));
    };
    if (value.isIntList()) {
      for (const int64_t each : value.toIntList()) add(each);
    } else {
      for (const Tensor& each : value.toTensorList()) add(each);
    }
    return to_stack(list);
  }
  if (type == "Tensor") {
    AtenTensorHandle handle = nullptr;
    ask_torch("aoti_torch_new_tensor_handle", side.pass<AtenTensorHandle>(value.toTensor()),
              &handle);
    return to_stack(handle);
  }
  if (type == "str") {
    StringHandle handle = nullptr;
    const std::string text(value.toString());
    ask_torch("torch_new_string_handle", text.data(), text.size(), &handle);
    return to_stack(handle);
  }
  if (type == "Device") return 0xffffffff;  // cpu
  if (type == "bool") return to_stack(value.toBool());
  return type == "int" ? to_stack(value.toInt()) : to_stack(static_cast<int32_t>(value.toInt()));
}
/// A value on ours, with tensors from the side's memory.
StableIValue push_ours(std::string_view type, const EValue& value, tests::Arguments& side) {
  StableIValue made = 0;
  const auto own = [&](const Tensor& tensor) {
    Tensor* found = nullptr;
    REQUIRE(detail::find_aoti_tensor(side.pass<AtenTensorHandle>(tensor), found) == Error::Ok);
    return *found;
  };
  EValue given = value;
  if (value.isTensor()) given = EValue(own(value.toTensor()));
  if (value.isTensorList()) {
    std::vector<Tensor> list;
    for (const Tensor& each : value.toTensorList()) list.push_back(own(each));
    given = EValue(list);
  }
  REQUIRE(detail::push_stable(std::string(type), given, made) == Error::Ok);
  return made;
}

/// Bytes from the first argument's element 0 to a result's; -1 if it has other memory.
int64_t offset_in(const Tensor& result, const Tensor& from) {
  const auto begin = reinterpret_cast<uintptr_t>(from.const_data_ptr());
  const auto at = reinterpret_cast<uintptr_t>(result.const_data_ptr());
  const auto size =
      static_cast<uintptr_t>(detail::fields(TensorArg(from)).layout.required_span_size() *
                             static_cast<ptrdiff_t>(elementSize(from.scalar_type())));
  return at >= begin && at < begin + size ? static_cast<int64_t>(at - begin) : -1;
}

/// How torch's operator differs here: "" if not. Results may be views of the first argument.
std::string dispatch_differs(const char* name, double tolerance, std::vector<EValue> values) {
  if (!tests::has_torch()) return "";
  REQUIRE(detail::register_aten_operators() == Error::Ok);
  const detail::StableCall own = detail::look_up_stable(std::string("aten::") + name);
  if (own.schema == nullptr) return "tenon has none";
  const detail::StableSchema& schema = *own.schema;
  tests::Arguments sides[] = {tests::Arguments(false), tests::Arguments(true)};
  const std::string full = schema.name;
  const size_t dot = full.find('.');
  const std::string overload = dot == std::string::npos ? "" : full.substr(dot + 1);
  const std::string base = full.substr(0, dot);
  AOTITorchError codes[2] = {};
  std::string ours_says;
  std::vector<StableIValue> stacks[2];
  for (const size_t side : {size_t{0}, size_t{1}}) {
    std::vector<StableIValue>& stack = stacks[side];
    stack.resize((std::max)(schema.inputs.size(), schema.outputs.size()));
    for (size_t i = 0; i < schema.inputs.size(); ++i) {
      const EValue& value = i < values.size() ? values[i] : schema.inputs[i].default_value;
      stack[i] = (side == 0 ? push_ours : push_torch)(schema.inputs[i].type, value, sides[side]);
    }
    if (side == 0) {
      codes[0] = detail::dispatch_stable(base.c_str(), overload.c_str(), stack.data());
      ours_says = last_error_message();
    } else {
      const auto call =
          reinterpret_cast<AOTITorchError (*)(const char*, const char*, StableIValue*, uint64_t)>(
              tests::find_in_torch("torch_call_dispatcher"));
      codes[1] = call(base.c_str(), overload.c_str(), stack.data(),
                      uint64_t{2} << 56 | uint64_t{15} << 48);
    }
  }
  if (codes[0] != codes[1]) {
    return codes[0] != 0 ? "refused: " + ours_says : std::string("torch refuses it");
  }
  if (codes[0] != 0) return "";
  std::string text;
  for (size_t i = 0; i < schema.outputs.size(); ++i) {
    if (schema.outputs[i].type != "Tensor") {
      if (stacks[0][i] != stacks[1][i]) text = "another value";
      continue;
    }
    Tensor made[2];
    int64_t offset[2] = {};
    for (const size_t side : {size_t{0}, size_t{1}}) {
      const auto handle = from_stack<AtenTensorHandle>(stacks[side][i]);
      made[side] = sides[side].read(handle);
      if (!sides[side].made().empty() && made[side].numel() != 0) {
        offset[side] = offset_in(made[side], sides[side].read(sides[side].made()[0]));
      }
    }
    if (text.empty()) text = tests::difference(made[0], made[1], tolerance);
    if (text.empty() && offset[0] != offset[1]) {
      text = "the view begins at byte " + std::to_string(offset[0]) + ", torch's at " +
             std::to_string(offset[1]);
    }
    for (const size_t side : {size_t{0}, size_t{1}}) {
      sides[side].drop(from_stack<AtenTensorHandle>(stacks[side][i]));
    }
  }
  for (size_t i = 0; i < sides[0].made().size() && text.empty(); ++i) {
    text = tests::difference(sides[0].read(sides[0].made()[i]), sides[1].read(sides[1].made()[i]),
                             tolerance);
    if (!text.empty()) text = "argument " + std::to_string(i) + ": " + text;
  }
  return text;
}

using Ints = std::vector<int64_t>;
constexpr double kAny = std::numeric_limits<double>::infinity();

/// {2, 3, 4}: row-major, permuted, padded, beginning late, expanded, flat.
std::vector<Tensor> layouts(ScalarType type = ScalarType::Float) {
  const auto numbers = [&](const Dims& sizes) {
    return to(*randint(-9, 9, sizes, ScalarType::Double), type, CastMode::Truncate);
  };
  return {numbers({2, 3, 4}),
          permute(numbers({4, 2, 3}), {1, 2, 0}),
          narrow(numbers({2, 3, 6}), 2, 0, 4),
          slice(numbers({4, 3, 4}), 0, 1, 4, 2),
          expand(numbers({2, 1, 4}), {2, 3, 4}),
          expand(numbers({1, 1, 1}), {2, 3, 4}),
          transpose(narrow(numbers({2, 6, 3}), 1, 1, 4), 1, 2)};
}

}  // namespace

TEST_CASE("aten: new tensors have torch's sizes, strides and dtype") {
  const std::vector<EValue> dtypes = {EValue(), EValue(int64_t{7}), EValue(int64_t{1}),
                                      EValue(int64_t{15})};
  for (const EValue& dtype : dtypes) {
    for (const Ints& sizes : {Ints{}, Ints{0}, Ints{2, 3}, Ints{2, 0, 3}, Ints{2, 3, 4, 5}}) {
      CHECK(dispatch_differs("empty.memory_format", kAny, {sizes, dtype}) == "");
      CHECK(dispatch_differs("zeros", 0, {sizes, dtype}) == "");
      CHECK(dispatch_differs("ones", 0, {sizes, dtype}) == "");
      for (const Tensor& x : layouts(ScalarType::Short)) {
        CHECK(dispatch_differs("new_empty", kAny, {x, sizes, dtype}) == "");
        CHECK(dispatch_differs("new_zeros", 0, {x, sizes, dtype}) == "");
      }
    }
    for (const int64_t format : {0, 2, 3}) {
      for (const Ints& sizes : {Ints{2, 3}, Ints{2, 3, 4, 5}, Ints{2, 3, 4, 5, 6}}) {
        CHECK(dispatch_differs("empty.memory_format", kAny,
                               {sizes, dtype, EValue(), EValue(), EValue(), format}) == "");
      }
    }
  }
  CHECK(dispatch_differs("zeros", 0, {Ints{-1}}) == "");
  CHECK(dispatch_differs("zeros", 0, {Ints{2}, int64_t{6}, int64_t{0}, "cpu", false}) == "");
}

TEST_CASE("aten: copies have torch's strides, of each layout and in each memory format") {
  std::vector<Tensor> all = layouts();
  for (const Tensor& x : layouts()) all.push_back(unsqueeze(x, 1));
  all.push_back(permute(*rand({2, 5, 4, 3}), {0, 3, 1, 2}));
  all.push_back(*rand({1, 3, 4, 1}));
  all.push_back(*rand({2, 3, 1, 2, 2}));
  all.push_back(*zeros({2, 0, 3}));
  all.push_back(*scalar_tensor(5));
  all.push_back(transpose(expand(*rand({1, 4}), {3, 4}), 0, 1));
  all.push_back(expand(permute(*rand({3, 1, 2}), {2, 0, 1}), {2, 3, 5}));
  for (const Tensor& x : all) {
    for (const EValue& format : {EValue(), EValue(0), EValue(1), EValue(2), EValue(3)}) {
      CHECK(dispatch_differs("empty_like", kAny,
                             {x, EValue(), EValue(), EValue(), EValue(), format}) == "");
      CHECK(dispatch_differs("clone", 0, {x, format}) == "");
      if (!format.isNone()) CHECK(dispatch_differs("contiguous", 0, {x, format}) == "");
      for (const EValue& dtype : {EValue(), EValue(6), EValue(7), EValue(3)}) {
        for (const bool copies : {false, true}) {
          INFO(x.sizes() << x.strides() << " " << copies);
          CHECK(dispatch_differs("to.dtype_layout", 0,
                                 {x, dtype, EValue(), EValue(), EValue(), false, copies, format}) ==
                "");
        }
      }
    }
    CHECK(dispatch_differs("to.dtype", 0, {x, 7}) == "");
    CHECK(dispatch_differs("to.device", 0, {x, "cpu", 6}) == "");
    CHECK(dispatch_differs("to.other", 0, {x, *zeros({1}, ScalarType::Double)}) == "");
  }
}

TEST_CASE("aten: views are torch's, and begin where torch's do") {
  for (const Tensor& x : layouts()) {
    for (const Ints& sizes : {Ints{24}, Ints{2, 12}, Ints{6, 4}, Ints{-1, 2}, Ints{2, 3, 4, 1},
                              Ints{2, 3, 2, 2}, Ints{5, 5}, Ints{2, 3, 4}, Ints{-1, -1}}) {
      INFO(x.strides());
      CHECK(dispatch_differs("view", 0, {x, sizes}) == "");
      CHECK(dispatch_differs("reshape", 0, {x, sizes}) == "");
    }
    for (const int64_t a : {0, 1, 2, -1, -3, 3}) {
      for (const int64_t b : {0, 1, 2, -1, -4}) {
        CHECK(dispatch_differs("flatten.using_ints", 0, {x, a, b}) == "");
        CHECK(dispatch_differs("transpose.int", 0, {x, a, b}) == "");
        CHECK(dispatch_differs("select.int", 0, {x, a, b}) == "");
        CHECK(dispatch_differs("narrow", 0, {x, a, 1, b}) == "");
        CHECK(dispatch_differs("slice.Tensor", 0, {x, a, EValue(), b}) == "");
        CHECK(dispatch_differs("slice.Tensor", 0, {x, a, b, EValue(), 2}) == "");
      }
      CHECK(dispatch_differs("unsqueeze", 0, {x, a}) == "");
      CHECK(dispatch_differs("squeeze.dim", 0, {unsqueeze(x, 1), a}) == "");
      CHECK(dispatch_differs("squeeze.dim", 0, {x, a}) == "");
    }
    CHECK(dispatch_differs("squeeze", 0, {unsqueeze(unsqueeze(x, 1), -1)}) == "");
    CHECK(dispatch_differs("permute", 0, {x, Ints{2, 0, 1}}) == "");
    CHECK(dispatch_differs("permute", 0, {x, Ints{0, 0, 1}}) == "");
    CHECK(dispatch_differs("expand", 0, {x, Ints{5, 2, 3, -1}}) == "");
    CHECK(dispatch_differs("view.dtype", 0, {x, 3}) == "");
  }
  CHECK(dispatch_differs("view.dtype", 0, {*rand({3, 4}), 7}) == "");
  CHECK(dispatch_differs("view.dtype", 0, {*rand({3, 4}), 1}) == "");
  CHECK(dispatch_differs("flatten.using_ints", 0, {*scalar_tensor(1), 0, -1}) == "");
  CHECK(dispatch_differs("transpose.int", 0, {*scalar_tensor(1), 0, -1}) == "");
  CHECK(dispatch_differs("reshape", 0, {*zeros({0, 3}), Ints{3, 0}}) == "");
  CHECK(dispatch_differs("view", 0, {*zeros({0, 3}), Ints{0, -1}}) == "");
  CHECK(dispatch_differs("is_pinned", 0, {*zeros({3})}) == "");
}

TEST_CASE("aten: elements that are set and moved") {
  const std::vector<Tensor> sources = layouts(ScalarType::Double);
  for (const Tensor& x : layouts()) {
    if (!detail::fields(TensorArg(x)).layout.may_overlap()) {
      for (const Tensor& y : sources) CHECK(dispatch_differs("copy_", 0, {x, y}) == "");
      CHECK(dispatch_differs("copy_", 0, {x, *ones({4})}) == "");
      CHECK(dispatch_differs("copy_", 0, {x, *ones({5})}) == "");
      CHECK(dispatch_differs("zero_", 0, {x}) == "");
      CHECK(dispatch_differs("fill_.Tensor", 0, {x, *scalar_tensor(7)}) == "");
      CHECK(dispatch_differs("fill_.Tensor", 0, {x, *ones({1})}) == "");
    }
    for (const Ints& dims : {Ints{0}, Ints{1, -1}, Ints{}, Ints{0, 0}, Ints{5}}) {
      CHECK(dispatch_differs("flip", 0, {x, dims}) == "");
    }
    for (const int64_t k : {0, 1, 2, 3, -1, 5}) {
      CHECK(dispatch_differs("rot90", 0, {x, k, Ints{0, 1}}) == "");
      CHECK(dispatch_differs("rot90", 0, {x, k, Ints{2, 0}}) == "");
    }
    CHECK(dispatch_differs("cat", 0, {std::vector<Tensor>{x, *rand({2, 3, 4})}, -1}) == "");
    CHECK(dispatch_differs("cat", 0,
                           {std::vector<Tensor>{x, x, *zeros({2, 3, 4}, ScalarType::Double)}, 1}) ==
          "");
    for (const int64_t dim : {0, 1, -1, 3}) {
      const TensorPtr index = make_tensor_ptr({4}, {1, 0, 1, 1}, ScalarType::Long);
      CHECK(dispatch_differs("index_select", 0, {x, dim, *index}) == "");
      CHECK(dispatch_differs("index_select", 0, {x, dim, slice(*index, 0, 0, 4, 2)}) == "");
      CHECK(dispatch_differs("index_select", 0, {x, dim, *scalar_tensor(1, ScalarType::Int)}) ==
            "");
      CHECK(dispatch_differs("index_select", 0, {x, dim, *zeros({0}, ScalarType::Long)}) == "");
      CHECK(dispatch_differs("index_select", 0,
                             {x, dim, *make_tensor_ptr({1}, {9}, ScalarType::Long)}) == "");
      CHECK(dispatch_differs("index_select", 0,
                             {x, dim, *make_tensor_ptr({1}, {-1}, ScalarType::Long)}) == "");
      CHECK(dispatch_differs("index_select", 0, {x, dim, *zeros({1})}) == "");
    }
  }
  CHECK(dispatch_differs("index_select", 0,
                         {*scalar_tensor(3), 0, *zeros({1}, ScalarType::Long)}) == "");
}

TEST_CASE("aten: sums and largest elements") {
  for (const ScalarType type :
       {ScalarType::Float, ScalarType::Double, ScalarType::Half, ScalarType::Byte, ScalarType::Int,
        ScalarType::Bool, ScalarType::ComplexFloat}) {
    for (const Tensor& x : layouts(type)) {
      for (const EValue& dims : {EValue(), EValue(Ints{}), EValue(Ints{0}), EValue(Ints{-1, 0}),
                                 EValue(Ints{1, 1}), EValue(Ints{7})}) {
        for (const bool keeps : {false, true}) {
          CHECK(dispatch_differs("sum.dim_IntList", 1e-3, {x, dims, keeps}) == "");
          if (dims.isNone() || isComplexType(type)) continue;
          CHECK(dispatch_differs("amax", 0, {x, dims, keeps}) == "");
        }
      }
      CHECK(dispatch_differs("sum.dim_IntList", 1e-3, {x, Ints{1}, false, 7}) == "");
      CHECK(dispatch_differs(
                "sum.IntList_out", 1e-3,
                {x, Ints{1}, false, EValue(),
                 *zeros({2, 4}, isIntegralType(type, true) ? ScalarType::Long : type)}) == "");
    }
  }
  CHECK(dispatch_differs("sum.dim_IntList", 0, {*zeros({2, 0}), Ints{1}}) == "");
  CHECK(dispatch_differs("sum.dim_IntList", 0, {*scalar_tensor(4), Ints{0}}) == "");
  CHECK(dispatch_differs("amax", 0, {*zeros({2, 0}), Ints{1}}) == "");
  CHECK(dispatch_differs("amax", 0, {*zeros({0, 2}), Ints{1}}) == "");
  CHECK(dispatch_differs("amax", 0, {*scalar_tensor(4), Ints{-1}}) == "");
  CHECK(dispatch_differs("amax", 0, {*make_tensor_ptr({3}, {1.0f, NAN, 2.0f}), Ints{0}}) == "");
}

TEST_CASE("aten: products of all ranks") {
  for (const ScalarType type :
       {ScalarType::Float, ScalarType::Double, ScalarType::Long, ScalarType::ComplexDouble}) {
    const auto numbers = [&](const Dims& sizes) {
      return to(*randint(-9, 9, sizes, ScalarType::Double), type, CastMode::Truncate);
    };
    const std::vector<Tensor> left = {numbers({4}),
                                      numbers({3, 4}),
                                      numbers({2, 3, 4}),
                                      transpose(numbers({4, 3}), 0, 1),
                                      numbers({5, 2, 3, 4}),
                                      numbers({0, 4}),
                                      expand(numbers({1, 3, 4}), {2, 3, 4})};
    const std::vector<Tensor> right = {numbers({4}),       numbers({4, 6}),
                                       numbers({2, 4, 6}), transpose(numbers({6, 4}), 0, 1),
                                       numbers({1, 4, 6}), numbers({3, 6})};
    for (const Tensor& a : left) {
      for (const Tensor& b : right) {
        INFO(a.sizes() << a.strides() << b.sizes() << b.strides());
        CHECK(dispatch_differs("matmul", 1e-4, {a, b}) == "");
        CHECK(dispatch_differs("mm", 1e-4, {a, b}) == "");
      }
    }
    CHECK(dispatch_differs("mm.out", 1e-4,
                           {numbers({3, 4}), numbers({4, 2}), transpose(numbers({2, 3}), 0, 1)}) ==
          "");
  }
  CHECK(dispatch_differs("matmul", 0, {*ones({2, 2}), *ones({2, 2}, ScalarType::Double)}) == "");
  CHECK(dispatch_differs("matmul", 0, {*scalar_tensor(2), *ones({2})}) == "");
}

TEST_CASE("aten: quotients and bits, broadcast, of promoted types") {
  const std::vector<ScalarType> types = {ScalarType::Float, ScalarType::Double, ScalarType::Half,
                                         ScalarType::Byte,  ScalarType::Char,   ScalarType::Long,
                                         ScalarType::Bool};
  for (const ScalarType first : types) {
    const std::vector<Tensor> all = layouts(first);
    for (const ScalarType second : types) {
      std::vector<Tensor> others = {to(*randint(1, 6, {2, 3, 4}), second, CastMode::Truncate),
                                    to(*randint(1, 6, {3, 1}), second, CastMode::Truncate),
                                    to(*scalar_tensor(3), second, CastMode::Truncate)};
      for (const char* name :
           {"div.Tensor", "floor_divide", "bitwise_and.Tensor", "bitwise_or.Tensor",
            "bitwise_left_shift.Tensor", "bitwise_right_shift.Tensor"}) {
        for (const Tensor& y : others) {
          for (const Tensor& x : {all[0], all[1], all[4]}) {
            INFO(name << " " << first << x.strides() << " " << second << y.sizes());
            CHECK(dispatch_differs(name, 1e-3, {x, y}) == "");
          }
        }
      }
    }
  }
  CHECK(dispatch_differs("floor_divide", 0,
                         {*ones({2}, ScalarType::Int), *zeros({2}, ScalarType::Int)}) == "");
  CHECK(dispatch_differs("floor_divide", 0, {*ones({2}), *zeros({2})}) == "");
  CHECK(dispatch_differs("div.Tensor", 0, {*ones({2}), *zeros({3})}) == "");
}

TEST_CASE("aten: C functions that do not go by the dispatcher") {
  using tests::differs;
  const std::vector<int64_t> two_three = {2, 3};
  const int64_t* const sizes = two_three.data();
  const char* const mode = "constant";
  int32_t types[] = {7, 1, 11, 0, 15};
  for (const double value : {0.0, 2.5, -1.0, 300.7}) {
    CHECK(differs(TENON_PEER(aoti_torch_aten_full), 0, sizes, 2, value, nullptr, nullptr, nullptr,
                  0, nullptr) == "");
    for (int32_t& type : types) {
      CHECK(differs(TENON_PEER(aoti_torch_aten_full), 1e-2, sizes, 2, value, &type, nullptr,
                    nullptr, 0, nullptr) == "");
    }
  }
  for (const ScalarType type : {ScalarType::Float, ScalarType::Byte, ScalarType::Char,
                                ScalarType::Long, ScalarType::Half, ScalarType::Bool}) {
    for (const Tensor& x : layouts(type)) {
      const bool overlaps = detail::fields(TensorArg(x)).layout.may_overlap();
      for (const double value : {1.0, -3.7, 300.7, 200.0, -129.0, -128.5, 1e30, -1e30}) {
        if (overlaps) continue;
        INFO(type << " " << value);
        CHECK(differs(TENON_PEER(aoti_torch_aten_fill__Scalar), 0, x, value) == "");
      }
      for (const std::vector<int64_t>& dims : {std::vector<int64_t>{0}, {-1, 1}, {}, {4}}) {
        const auto count = static_cast<int64_t>(dims.size());
        CHECK(differs(TENON_PEER(aoti_torch_aten_amax), 0, x, dims.data(), count, 1) == "");
      }
      for (const std::vector<int64_t>& pad :
           {std::vector<int64_t>{1, 2}, {0, 0, 2, 1}, {-1, 1, 1, -1}, {-3, -2}, {1}, {}}) {
        const auto count = static_cast<int64_t>(pad.size());
        double value = 4;
        INFO(type << x.strides() << count);
        CHECK(differs(TENON_PEER(aoti_torch_aten_pad), 0, x, pad.data(), count, mode, &value) ==
              "");
        CHECK(differs(TENON_PEER(aoti_torch_aten_pad), 0, x, pad.data(), count, mode, nullptr) ==
              "");
      }
      CHECK(differs(TENON_PEER(aoti_torch_aten_narrow), 0, x, 1, 1, 2) == "");
      CHECK(differs(TENON_PEER(aoti_torch_aten_new_zeros), 0, x, sizes, 2, nullptr, nullptr,
                    nullptr, 0, nullptr) == "");
      for (const ScalarType other : {ScalarType::Float, ScalarType::Long, ScalarType::Byte}) {
        const Tensor y = to(*randint(0, 9, {3, 1}), other, CastMode::Truncate);
        for (const double alpha : {1.0, 2.0, 0.5}) {
          INFO(type << " " << other << " " << alpha);
          CHECK(differs(TENON_PEER(aoti_torch_aten_subtract_Tensor), 1e-3, x, y, alpha) == "");
        }
      }
    }
  }
}

}  // namespace torch_stable_aten_test
