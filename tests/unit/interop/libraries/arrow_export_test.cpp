// SPDX-License-Identifier: MIT
#include "tenon/interop/libraries/arrow_export.h"

#include "support/catch.h"
#include "tenon/tensor/creators.h"
#include "tenon/tensor/resize.h"
#include "tenon/tensor/sequence.h"
#include "tenon/tensor/tensor_ptr.h"
#include "tenon/tensor/tensor_ptr_maker.h"
#include "tenon/tensor/view.h"
#include "tensor/helpers.h"

namespace arrow_export_test {

using namespace tenon;
using namespace tests;

namespace {

struct Exported {
  ArrowArray array{};
  ArrowSchema schema{};

  explicit Exported(const Tensor& t, ArrowForm form = ArrowForm::Tensors,
                    ArrowPermutation meaning = ArrowPermutation::Unambiguous) {
    to_arrow(t, &array, &schema, form, meaning);
  }
  Exported(const Exported&) = delete;
  ~Exported() {
    if (array.release != nullptr) array.release(&array);
    if (schema.release != nullptr) schema.release(&schema);
  }
  /// Of tensors.
  const void* values() const { return array.children[0]->buffers[1]; }
  std::string tensor_json() const {
    bool found = false;
    std::string_view value;
    REQUIRE(detail::find_arrow_metadata(schema.metadata, "ARROW:extension:metadata", found,
                                        value) == Error::Ok);
    return std::string(value);
  }
};

}  // namespace

TEST_CASE("to_arrow: more dimensions are tensors or lists in lists") {
  const TensorPtr t = zeros({2, 3, 4}, ScalarType::Long);
  const Exported tensors(*t);
  CHECK(std::string(tensors.schema.format) == "+w:12");
  CHECK(tensors.tensor_json() == R"({"shape":[3,4]})");
  CHECK(tensors.array.length == 2);
  CHECK(tensors.array.n_buffers == 1);
  REQUIRE(tensors.array.n_children == 1);
  CHECK(tensors.array.children[0]->length == 24);
  CHECK(std::string(tensors.schema.children[0]->format) == "l");
  CHECK(std::string(tensors.schema.children[0]->name) == "item");
  const Exported lists(*t, ArrowForm::Lists);
  CHECK(lists.schema.metadata == nullptr);
  CHECK(std::string(lists.schema.format) == "+w:3");
  CHECK(std::string(lists.schema.children[0]->format) == "+w:4");
  CHECK(std::string(lists.schema.children[0]->children[0]->format) == "l");
  CHECK(lists.array.children[0]->length == 6);
  CHECK(lists.array.children[0]->children[0]->length == 24);
  CHECK(lists.array.children[0]->children[0]->buffers[1] == t->const_data_ptr());
}

TEST_CASE("to_arrow: the order in memory is the type's permutation") {
  const TensorPtr t = zeros({5, 100, 200, 50}, ScalarType::Byte);
  // Arrow's own example: shape {100, 200, 50}, permutation {2, 0, 1}, logically {50, 100, 200}.
  const Exported specified(permute(t, {0, 3, 1, 2}), ArrowForm::Tensors,
                           ArrowPermutation::Specification);
  CHECK(specified.tensor_json() == R"({"shape":[100,200,50],"permutation":[2,0,1]})");
  CHECK(specified.values() == t->const_data_ptr());
  const Exported of_pyarrow(permute(t, {0, 3, 1, 2}), ArrowForm::Tensors,
                            ArrowPermutation::Pyarrow);
  CHECK(of_pyarrow.tensor_json() == R"({"shape":[100,200,50],"permutation":[1,2,0]})");
  CHECK(of_pyarrow.values() == t->const_data_ptr());
  RAISES(NotSupported,
         "to_arrow: strides {1000000, 1, 10000, 50} of sizes {5, 50, 100, 200} are "
         "not contiguous; contiguous(t) makes a copy",
         Exported(permute(t, {0, 3, 1, 2}), ArrowForm::Lists));
  RAISES(NotSupported, "another dimension before the first", Exported(transpose(t, 0, 1)));
}

// A promise of docs/guarantees.md.
TEST_CASE("to_arrow: where readers differ about a permutation, a row-major copy goes out") {
  const Tensor nhwc = reshape(arange(48, ScalarType::Int), {2, 2, 3, 4});
  TensorPtr nchw = make_tensor_ptr(permute(nhwc, {0, 3, 1, 2}));
  const Ints expected = tests::values<int32_t>(nchw);
  Exported copied(*nchw);
  CHECK(copied.tensor_json() == R"({"shape":[4,2,3]})");
  const auto* const out = static_cast<const int32_t*>(copied.values());
  CHECK(out != nhwc.const_data_ptr());
  CHECK_FALSE(detail::fields(*nchw).borrows.any());  // the copy is the array's own
  nchw.reset();
  CHECK(Ints(out, out + 48) == expected);
  // Those that are their own inverse mean one thing, those of size 1 may be anywhere.
  for (const Vector& order : {Vector{0, 2, 1, 3}, Vector{0, 3, 2, 1}, Vector{0, 1, 3, 2}}) {
    const Exported kept(permute(nhwc, order));
    CHECK(kept.values() == nhwc.const_data_ptr());
    CHECK(kept.tensor_json().find("permutation") != std::string::npos);
  }
  const Tensor grey = reshape(nhwc, {2, 4, 6, 1});
  const Exported planes(permute(grey, {0, 3, 1, 2}));
  CHECK(planes.values() == nhwc.const_data_ptr());
  CHECK(planes.tensor_json() == R"({"shape":[1,4,6]})");
  const Exported turned(permute(grey, {0, 2, 3, 1}));
  CHECK(turned.values() == nhwc.const_data_ptr());
  CHECK(turned.tensor_json() == R"({"shape":[4,1,6],"permutation":[2,1,0]})");
  CHECK(Exported(permute(reshape(nhwc, {8, 1, 1, 6}), {0, 3, 1, 2})).tensor_json() ==
        R"({"shape":[6,1,1]})");
  CHECK(Exported(permute(zeros({2, 0, 3, 4}), {0, 3, 1, 2})).tensor_json() ==
        R"({"shape":[4,0,3]})");
}

TEST_CASE("to_arrow: what Arrow cannot have is refused, and the structs are as before") {
  float data[12] = {};
  ArrowArray array{};
  ArrowSchema schema{};
  array.length = schema.flags = 77;
  const auto refuses = [&](const TensorPtr& t, const char* words) {
    RAISES(NotSupported, words, to_arrow(t, &array, &schema));
    CHECK(try_to_arrow(t, &array, &schema) == Error::NotSupported);
    CHECK(array.length == 77);
    CHECK(schema.flags == 77);
  };
  refuses(make_tensor_ptr(1.0f), "to_arrow: the tensor has no dimensions");
  refuses(from_blob(data, {3}, {2}), "not contiguous");
  refuses(from_blob(data + 11, {3}, {-1}), "not contiguous");
  refuses(from_blob(data, {3, 2}, {3, 1}), "gaps");
  refuses(from_blob(data, {3, 2}, {0, 1}), "gaps");
  refuses(zeros({2}, ScalarType::Bool), "view_as_type(t, ScalarType::Byte)");
  refuses(zeros({2}, ScalarType::BFloat16), "Arrow has no arrays of BFloat16");
  refuses(zeros({2, 2}, ScalarType::ComplexFloat), "Arrow has no arrays of ComplexFloat");
  refuses(from_blob(data, {0, 65536, 32768}), "2^31 - 1");
  refuses(from_blob(data, {2, int64_t{1} << 31, 0}), "2^31 - 1");
  refuses(for_blob(data, {2}).device("cuda").make_tensor_ptr(), "the tensor is on cuda:0");
  RAISES(InvalidState, "undefined", to_arrow(TensorPtr(), &array, &schema));
  RAISES(InvalidState, "placeholder", to_arrow(make_tensor_ptr({2}, nullptr), &array, &schema));
  RAISES(InvalidArgument, "is null", to_arrow(zeros({2}), nullptr, &schema));
  RAISES(InvalidArgument, "is null", to_arrow(zeros({2}), &array, nullptr));
  CHECK(array.length == 77);
}

TEST_CASE("to_arrow: a child that is moved out outlives its parent") {
  Calls calls;
  float data[6] = {0, 1, 2, 3, 4, 5};
  ArrowArray child{};
  ArrowSchema type{};
  {
    const TensorPtr t = from_blob(data, {2, 3}, ScalarType::Float, calls.deleter());
    Exported made(*t);
    child = *made.array.children[0];
    made.array.children[0]->release = nullptr;
    type = *made.schema.children[0];
    made.schema.children[0]->release = nullptr;
  }
  CHECK(calls.count == 0);
  CHECK(child.length == 6);
  CHECK(static_cast<const float*>(child.buffers[1])[5] == 5);
  CHECK(std::string(type.format) == "f");
  child.release(&child);
  type.release(&type);
  CHECK(child.release == nullptr);
  CHECK(calls.count == 1);
}

}  // namespace arrow_export_test
