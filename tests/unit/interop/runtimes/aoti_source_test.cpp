// SPDX-License-Identifier: MIT
// Lines as torch 2.15 writes them.
#include "tenon/interop/runtimes/aoti_source.h"

#include "support/catch.h"

namespace aoti_source_test {

using namespace tenon;
using namespace tests;

namespace {

ValueSpec read(const std::string& source, const char* name = "arg0_1") {
  ValueSpec spec(name, ValueKind::Tensor);
  REQUIRE(detail::read_source_input(source, 0, spec) == Error::Ok);
  CHECK(spec.name() == std::string(name));
  return spec;
}
std::string asserts(const std::string& sizes, const std::string& strides) {
  return "    if (_check_aoti_runtime_check_inputs_env()) { assert_size_stride(arg0_1, {" + sizes +
         "}, {" + strides + "}, \"input\"); }\n";
}
Dims order_of(const std::string& sizes, const std::string& strides) {
  const ValueSpec spec = read(asserts(sizes, strides));
  CHECK(spec.is_described);
  CHECK(spec.tensor.strides.empty());
  return spec.tensor.dim_order;
}

// Of an input that no kernel reads: its check alone.
const char* const kCheck = R"(
AOTI_NOINLINE static void check_input_0(
    AtenTensorHandle* input_handles
) {
    int32_t arg0_1_expected_dtype = aoti_torch_dtype_bfloat16();
    auto arg0_1_size = arg0_1.sizes();
    if (arg0_1_size[0] < 2) {
        << arg0_1_size[0] << "\n";
    }
    if (3 != arg0_1_size[1]) {
    }
    auto arg0_1_stride = arg0_1.strides();
    if (1 != arg0_1_stride[0]) {
    }
    if (15 != arg0_1_stride[1]) {
    }
}
AOTI_NOINLINE static void check_input_1(
    if (7 != arg1_1_stride[2]) {
}
)";

}  // namespace

TEST_CASE("aoti source: fixed strides are those of the assertion") {
  const ValueSpec fixed = read(asserts("4L, 3L, 5L", "15L, 1L, 3L"));
  CHECK(fixed.tensor.sizes == Dims{4, 3, 5});
  CHECK(fixed.tensor.strides == Dims{15, 1, 3});
  CHECK(fixed.tensor.type == ScalarType::Undefined);
  const ValueSpec batch = read(asserts("s97, 3L, 8L, 8L", "192L, 1L, 24L, 3L"));
  CHECK(batch.tensor.sizes == Dims{-1, 3, 8, 8});
  CHECK(batch.tensor.strides == Dims{192, 1, 24, 3});
  CHECK(read(asserts("4L, 6L", "0L, 1L")).tensor.strides == Dims{0, 1});
  const ValueSpec number = read(asserts("", ""));
  CHECK(number.is_described);
  CHECK(number.tensor.sizes.empty());
}

TEST_CASE("aoti source: strides that depend on sizes are a dim order, if the tensor is dense") {
  CHECK(order_of("s97, 3L, s69, s41", "3L*s41*s69, 1L, 3L*s41, 3L") == Dims{0, 2, 3, 1});
  CHECK(order_of("s97, 3L, s69, s41", "3L*s41*s69, s41*s69, s41, 1L") == Dims{0, 1, 2, 3});
  CHECK(order_of("2L, s20, 2L*s98", "1L, 2L, 2L*s20") == Dims{2, 1, 0});
  CHECK(order_of("1L, s20, s98", "7L, 1L, s20") == Dims{0, 2, 1});
  CHECK(order_of("s20, s98", "1L, 2L*s20").empty());
  CHECK(order_of("s20, s98", "1L, s98").empty());
  CHECK(order_of("s20, s98", "1L, s20 + 1L").empty());
  CHECK(order_of("s20, 4L", "1L, static_cast<int64_t>(s20)").empty());
  CHECK(order_of("s1, s2, s3, s4, s5, s6, s7, s8, s9", "1, s1, 1, 1, 1, 1, 1, 1, 1").empty());
}

TEST_CASE("aoti source: a stride that the library reads from the input may have any value") {
  const std::string source = asserts("s97, s98", "s92, 1L");
  CHECK(read(source).tensor.strides.empty());
  CHECK(read("    int64_t s92 = arg0_1_stride[0];\n" + source).tensor.strides == Dims{-1, 1});
  CHECK(read("    int64_t s92 = arg1_1_stride[0];\n" + source).tensor.strides.empty());
}

TEST_CASE("aoti source: without an assertion the library's check tells what is fixed") {
  const ValueSpec spec = read(kCheck);
  CHECK(spec.tensor.type == ScalarType::BFloat16);
  CHECK(spec.tensor.sizes == Dims{-1, 3});
  CHECK(spec.tensor.strides == Dims{1, 15});
  std::string open = kCheck;
  open.replace(open.find("15 != arg0_1_stride[1]"), 2, "no");
  CHECK(read(open).tensor.sizes == Dims{-1, 3});
  CHECK(read(open).tensor.strides.empty());
  CHECK(read(kCheck + asserts("s9, 3L", "3L, 1L")).tensor.strides == Dims{3, 1});
}

TEST_CASE("aoti source: an input that the library writes to") {
  CHECK(!detail::is_source_tensor_written("k((const float*)(arg0_1.data_ptr()))", "arg0_1"));
  CHECK(detail::is_source_tensor_written(
      "k((const float*)(arg0_1.data_ptr()), (float*)(arg0_1.data_ptr()))", "arg0_1"));
  CHECK(!detail::is_source_tensor_written("k((float*)(arg0_1.data_ptr()))", "arg0"));
  CHECK(detail::is_source_tensor_written("(aoti_torch_copy_(arg1_1, buf0, 0))", "arg1_1"));
  CHECK(!detail::is_source_tensor_written("*)(arg0_1.data_ptr())", "arg1_1"));
}

TEST_CASE("aoti source: a constant's sizes and strides") {
  const char* const source =
      "    constants_info_[1].shape = {5, 7};\n    constants_info_[1].stride = {1, 5};\n"
      "    constants_info_[2].shape = {};\n    constants_info_[2].stride = {};\n"
      "    constants_info_[3].shape = {5, 7};\n    constants_info_[3].stride = {1};\n";
  Dims sizes;
  Dims strides;
  REQUIRE(detail::read_source_constant(source, 1, sizes, strides));
  CHECK(sizes == Dims{5, 7});
  CHECK(strides == Dims{1, 5});
  REQUIRE(detail::read_source_constant(source, 2, sizes, strides));
  CHECK(sizes.empty());
  CHECK(!detail::read_source_constant(source, 3, sizes, strides));
  CHECK(!detail::read_source_constant(source, 0, sizes, strides));
}

}  // namespace aoti_source_test
