// SPDX-License-Identifier: MIT
#include "tenon/interop/npy.h"

#include "interop/files.h"
#include "support/catch.h"
#include "tenon/kernels/byte_order.h"
#include "tenon/tenon.h"
#include "tensor/helpers.h"

#if TENON_HAS_POSIX_FILES && defined(__linux__)
#include <sys/resource.h>
#endif

namespace npy_test {

using namespace tenon;
using namespace tests;

namespace {

/// What make_data.py put into each file, in row-major order.
constexpr int kValues[2][3] = {{0, 1, 2}, {3, 100, 127}};

template <class T>
bool has_value(const T& element, int value) {
  if constexpr (tenon::detail::IsComplexLike<T>::value) {
    using V = typename T::value_type;
    return element.real() == static_cast<V>(value) && element.imag() == static_cast<V>(-value);
  } else {
    return element == static_cast<T>(value);
  }
}

/// Whether the tensor is what make_data.py wrote.
template <class T>
void check_data_file(const TensorPtr& tensor) {
  REQUIRE(tensor->scalar_type() == CppTypeToScalarType<T>::value);
  REQUIRE(tensor->sizes() == Dims({2, 3}));
  const auto elements = accessor<T, 2>(tensor);
  for (int i = 0; i < 2; ++i) {
    for (int j = 0; j < 3; ++j) CHECK(has_value(elements[i][j], kValues[i][j]));
  }
}

/// Calls f(code, TypeTag) for every dtype.
template <class F>
void for_each_dtype(F&& f) {
  for (const tenon::detail::NpyType& type : tenon::detail::kNpyTypes) {
    INFO(type.code);
    own::visit(
        type.type, [&](auto tag) { f(std::string(type.code), tag); }, [] { FAIL(); });
  }
}

/// A file with this dict and these bytes of elements, unpadded.
std::vector<uint8_t> npy(const std::string& dict, const std::vector<uint8_t>& data = {}) {
  std::vector<uint8_t> bytes = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0};
  bytes.push_back(static_cast<uint8_t>(dict.size() & 0xff));
  bytes.push_back(static_cast<uint8_t>(dict.size() >> 8));
  bytes.insert(bytes.end(), dict.begin(), dict.end());
  bytes.insert(bytes.end(), data.begin(), data.end());
  return bytes;
}
std::string dict(const std::string& descr, const std::string& shape) {
  return "{'descr': '" + descr + "', 'fortran_order': False, 'shape': " + shape + "}";
}

TensorPtr from_bytes_of(const std::vector<uint8_t>& bytes) {
  return from_npy(bytes.data(), bytes.size());
}

/// What is read of the tensor's file.
TensorPtr written(const TensorPtr& tensor) { return from_bytes_of(to_npy(tensor)); }

/// A path in a folder that goes away.
struct NpyFile {
  TempFolder folder;
  std::string path = folder / "x.npy";
};

}  // namespace

TEST_CASE("read_npy: numbers that NumPy wrote, of every dtype") {
  for_each_dtype([](const std::string& code, auto tag) {
    using T = typename decltype(tag)::type;
    const TensorPtr tensor = read_npy(data_path("c_" + code + ".npy"));
    check_data_file<T>(tensor);
    CHECK(tensor->is_contiguous());
    CHECK(shape_dynamism(tensor) == TensorShapeDynamism::DYNAMIC_BOUND);
  });
}

TEST_CASE("read_npy: numbers with the highest byte first, and formats 2.0 and 3.0") {
  check_data_file<uint16_t>(read_npy(data_path("big_u2.npy")));
  check_data_file<int32_t>(read_npy(data_path("big_i4.npy")));
  check_data_file<double>(read_npy(data_path("big_f8.npy")));
  check_data_file<complex<float>>(read_npy(data_path("big_c8.npy")));
  check_data_file<complex<double>>(read_npy(data_path("big_c16.npy")));
  check_data_file<uint32_t>(read_npy(data_path("big_fortran_u4.npy")));
  check_data_file<float>(read_npy(data_path("v2.npy")));
  check_data_file<float>(read_npy(data_path("v3.npy")));
}

TEST_CASE("read_npy: a 0-d array is a STATIC tensor, an empty one has no elements") {
  const TensorPtr scalar = read_npy(data_path("scalar.npy"));
  CHECK(scalar->dim() == 0);
  CHECK(item<double>(scalar) == 2.5);
  CHECK(shape_dynamism(scalar) == TensorShapeDynamism::STATIC);

  const TensorPtr empty_one = read_npy(data_path("empty.npy"));
  CHECK(empty_one->sizes() == Dims({0, 3}));
  CHECK(empty_one->numel() == 0);

  const TensorPtr one = read_npy(data_path("one_dimension.npy"));
  CHECK(one->sizes() == Dims({5}));
  CHECK(accessor<int64_t, 1>(one)[4] == 12349);
}

TEST_CASE("npy_info: a header of any dtype is told, without elements") {
  const struct {
    const char* name;
    const char* dtype;
    own::ScalarType type;
    Dims sizes;
  } rows[] = {
      {"c_f4.npy", "<f4", own::ScalarType::Float, {2, 3}},
      {"big_f8.npy", ">f8", own::ScalarType::Double, {2, 3}},
      {"text.npy", "<U7", own::ScalarType::Undefined, {2}},
      {"bytes.npy", "|S2", own::ScalarType::Undefined, {2}},
      {"object.npy", "|O", own::ScalarType::Undefined, {2}},
      {"structured.npy",
       "[('pixel', '|u1', (3,)), ('depth', '<f4')]",
       own::ScalarType::Undefined,
       {2}},
  };
  for (const auto& row : rows) {
    INFO(row.name);
    const Result<NpyInfo> info = npy_info(data_path(row.name));
    REQUIRE(info.ok());
    CHECK(info->dtype == row.dtype);
    CHECK(info->type == tenon::detail::public_type(row.type));
    CHECK(info->sizes == row.sizes);
    // In the other byte order.
    const char other = tenon::detail::host_is_big_endian() ? '<' : '>';
    CHECK(info->is_copied == (info->sizes.size() == 2 && row.dtype[0] == other));
  }
  const NpyFile two;
  const std::vector<uint8_t> one = npy(dict("<U3", "(2,)"), std::vector<uint8_t>(24));
  std::vector<uint8_t> both = npy("{'descr': ('<f4', (2,)), 'fortran_order': True, 'shape': ()}");
  const size_t begin = both.size();
  both.insert(both.end(), one.begin(), one.end());
  put_file(two.path, both);
  CHECK(npy_info(two.path)->dtype == "('<f4', (2,))");
  CHECK(npy_info(two.path, begin)->dtype == "<U3");
  CHECK(npy_info(two.path, begin)->nbytes == 24);
  put_file(two.path, std::vector<uint8_t>(one.begin(), one.end() - 1));
  RETURNS(InvalidArgument,
          "npy_info: " + two.path + ": sizes {2, 12} of Byte need 24 bytes of data",
          Error(npy_info(two.path)));
  for (const char* wrong : {"{'descr': ]", "{'descr': ('<f4'", "{'descr': None", "{'descr': "}) {
    INFO(wrong);
    put_file(two.path, npy(wrong));
    RETURNS(InvalidArgument, "expected a dtype in the header", Error(npy_info(two.path)));
  }
  RETURNS(NotFound, "npy_info: ", Error(npy_info(two.folder / "no")));
  RETURNS(InvalidArgument, "npy_info: the path is empty", Error(npy_info("")));
}

TEST_CASE("to_npy: the bytes are those that NumPy writes") {
  std::vector<std::string> names = {"fortran_f4", "fortran_3d", "scalar", "empty", "one_dimension"};
  for_each_dtype([&](const std::string& code, auto) { names.push_back("c_" + code); });
  for (const std::string& name : names) {
    INFO(name);
    const std::string path = data_path(name + ".npy");
    const TensorPtr tensor = read_npy(path);
    Bytes expected = file_bytes(path);
    if (tenon::detail::host_is_big_endian()) {  // where NumPy writes '>' and swapped numbers
      const size_t header = 10u + expected[8];
      std::replace(expected.begin(), expected.begin() + 40, uint8_t{'<'}, uint8_t{'>'});
      tenon::detail::swap_byte_order(
          expected.data() + header, expected.size() - header,
          tenon::detail::number_size(tenon::detail::own_type(tensor->scalar_type())));
    }
    CHECK(to_npy(tensor) == expected);
  }
}

TEST_CASE("write_npy: Fortran order is written as it is, other strides row by row") {
  float values[24];
  for (int i = 0; i < 24; ++i) values[i] = static_cast<float>(i);
  const struct {
    Longs sizes;
    Longs strides;
    Longs written;
    float last;
  } rows[] = {{{2, 3}, {1, 2}, {1, 2}, 5},
              {{2, 3}, {8, 2}, {3, 1}, 12},
              {{2, 3}, {0, 1}, {3, 1}, 2},
              // Neither order, although without gaps: the middle dimension is the innermost.
              {{2, 3, 4}, {12, 1, 3}, {12, 4, 1}, 23}};
  for (const auto& row : rows) {
    CAPTURE(row.strides);
    const TensorPtr back = written(from_blob(values, row.sizes, row.strides));
    CHECK(back->strides() == Dims(row.written));
    CHECK(static_cast<const float*>(const_data_ptr(back))[back->numel() - 1] == row.last);
  }
}

TEST_CASE("write_npy: negative strides are written row by row", "[plain]") {
  float values[6] = {0, 1, 2, 3, 4, 5};
  const TensorPtr reversed = written(from_blob(values + 5, {2, 3}, {-3, -1}));
  CHECK(tests::values<float>(reversed) == Floats{5, 4, 3, 2, 1, 0});
}

TEST_CASE("npy: bfloat16 and float8 are read with the type given, and written as ml_dtypes") {
  const auto numbers = [](const TensorPtr& t) {
    return tests::values<float>(to(t, ScalarType::Float));
  };
  const struct {
    const char* name;
    ScalarType type;
  } rows[] = {{"bfloat16.npy", ScalarType::BFloat16},
              {"float8_e4m3fn.npy", ScalarType::Float8_e4m3fn}};
  for (const auto& row : rows) {
    const std::string path = data_path(row.name);
    const TensorPtr tensor = read_npy(path, row.type);
    CHECK(tensor->scalar_type() == row.type);
    CHECK(tensor->sizes() == Dims({2, 3}));
    CHECK(numbers(tensor) == Floats{0, 1, 2, 3, 96, -448});
    const Bytes bytes = file_bytes(path);
    CHECK(numbers(from_npy(bytes.data(), bytes.size(), row.type)) == numbers(tensor));
    if (!tenon::detail::host_is_big_endian()) CHECK(to_npy(tensor) == bytes);
    RAISES(
        NotSupported,
        std::string("; to read its bytes pass a type, such as ScalarType::") + toString(row.type),
        read_npy(path));
  }
  const TensorPtr bits = read_npy(data_path("bfloat16_bits.npy"), ScalarType::BFloat16);
  CHECK(numbers(bits) == Floats{1.5f, -2});
  for (const ScalarType type :
       {ScalarType::Float8_e5m2, ScalarType::Float8_e5m2fnuz, ScalarType::Float8_e4m3fnuz}) {
    const Bytes bytes = to_npy(full({2}, 1.5, type));
    CHECK(std::string(bytes.begin() + 10, bytes.begin() + 25).substr(0, 14) ==
          "{'descr': '" + std::string(tenon::detail::host_is_big_endian() ? ">V1" : "<V1"));
    CHECK(numbers(from_npy(bytes.data(), bytes.size(), type)) == Floats{1.5f, 1.5f});
  }
  RAISES(InvalidType, "read_npy: Undefined is not", read_npy("x", ScalarType::Undefined));
  RAISES(InvalidType, "from_npy: Undefined is not", from_npy("", 0, ScalarType::Undefined));
}

TEST_CASE_METHOD(NpyFile, "read_npy: structures, dates and texts are bytes of the type given") {
  // np.zeros(2, [("pixel", "<u1", (3,)), ("depth", "<f4")])
  const TensorPtr structured = read_npy(data_path("structured.npy"), ScalarType::Byte);
  CHECK(structured->sizes() == Dims({2, 7}));
  CHECK(tests::values<uint8_t>(structured) == Bytes(14, 0));
  const TensorPtr date = read_npy(data_path("date.npy"), ScalarType::Long);  // 2026-11-21, in days
  CHECK(date->sizes() == Dims({1}));
  CHECK(data<int64_t>(date)[0] == 20778);
  const TensorPtr text = read_npy(data_path("bytes.npy"), ScalarType::Byte);
  CHECK(text->sizes() == Dims({2, 2}));
  CHECK(tests::values<uint8_t>(text) == Bytes{'a', 'b', 'c', 0});

  // Two rows and three columns, by columns, each of two shorts, the highest byte first or last.
  std::string header = "{'descr': [('x', '>i2'), ('y', '<i2')], 'fortran_order': True, ";
  header += "'shape': (2, 3)}";
  header.resize(118, ' ');
  Bytes bytes(24);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i);
  put_file(path, npy(header, bytes));
  for (const NpyMemory memory : {NpyMemory::Copy, NpyMemory::Map}) {
    const TensorPtr t = read_npy(path, ScalarType::Byte, memory);
    CHECK(t->sizes() == Dims({2, 3, 4}));
    CHECK(t->strides() == Dims({4, 8, 1}));
    CHECK((accessor<uint8_t, 3>(t)[1][2][3] == 23));
    CHECK((accessor<uint8_t, 3>(t)[1][0][0] == 4));
  }

  // One structure without sizes.
  const std::string one =
      "{'descr': [('x', '<i2'), ('y', '<i2')], 'fortran_order': False, 'shape': ()}";
  const Bytes numbers = npy(one, {1, 0, 2, 0});
  const TensorPtr pair = from_npy(numbers.data(), numbers.size(), ScalarType::Short);
  CHECK(pair->sizes() == Dims({2}));
  CHECK(pair->nbytes() == 4);
}

TEST_CASE_METHOD(NpyFile, "npy: an offset is where an array begins, and is set to where it ends") {
  const std::string file = data_path("two_arrays.npy");  // as numpy.save() to an open file writes
  const Bytes bytes = file_bytes(file);
  for (const NpyMemory memory : {NpyMemory::Copy, NpyMemory::Map}) {
    size_t offset = 0;
    CHECK(tests::values<int32_t>(read_npy(file, memory, &offset)) == Ints{0, 1, 2});
    CHECK(offset == 128 + 12);
    const TensorPtr second = read_npy(file, memory, &offset);
    CHECK(second->sizes() == Dims({2, 1}));
    CHECK(tests::values<double>(second) == std::vector<double>{0.5, 2.5});
    CHECK(offset == bytes.size());
    RAISES(InvalidArgument, "there is no array at offset 284, where the bytes end",
           read_npy(file, memory, &offset));
    CHECK(offset == bytes.size());
  }
  size_t offset = 140;
  CHECK(tests::values<double>(from_npy(bytes.data(), bytes.size(), &offset))[1] == 2.5);
  CHECK(offset == bytes.size());
  offset = 1;
  RAISES(InvalidArgument, "the first bytes are not", from_npy(bytes.data(), bytes.size(), &offset));
  CHECK(offset == 1);
  offset = bytes.size() + 1;
  const auto beyond = try_from_npy(bytes.data(), bytes.size(), &offset);
  CHECK(std::string(beyond.message()) == "try_from_npy: the offset 285 lies beyond the 284 bytes");
  CHECK(offset == bytes.size() + 1);
  offset = SIZE_MAX;
  CHECK(try_read_npy(file, NpyMemory::Copy, &offset).error() == Error::InvalidArgument);

  // Where the second lies at a multiple of its size, it is mapped too.
  Bytes both = to_npy(arange(4));
  const Bytes next = to_npy(make_tensor_ptr({7, 8}));
  both.insert(both.end(), next.begin(), next.end());
  put_file(path, both);
  offset = both.size() - next.size();
  const TensorPtr mapped = read_npy(path, ScalarType::Int, NpyMemory::Map, &offset);
  CHECK(tests::values<int32_t>(mapped) == Ints{7, 8});
  CHECK(offset == both.size());
}

TEST_CASE("write_npy: what NumPy lacks, or what has no data, is refused, and no file is made") {
  const TempFolder folder;
  const std::string path = folder / "out.npy";
  const TensorPtr tensor = zeros({2}, ScalarType::ComplexHalf);
  RETURNS(NotSupported,
          "NumPy has no dtype ComplexHalf; convert it with to(t, ScalarType::ComplexFloat)",
          write_npy(path, tensor));
  RAISES(NotSupported, "to_npy: NumPy has no dtype", to_npy(tensor));
  RETURNS(InvalidState, "write_npy: " + path + ": the tensor is undefined",
          write_npy(path, TensorPtr()));
  RETURNS(InvalidState, "undefined", write_npy(path, Tensor()));
  RAISES(InvalidState, "to_npy: the tensor is undefined", to_npy(Tensor()));
  FAILS(InvalidState, "try_to_npy: the tensor is undefined", try_to_npy(Tensor()));
  CHECK(*try_to_npy(zeros({2})) == to_npy(zeros({2})));
  RETURNS(InvalidState, "placeholder", write_npy(path, from_blob(nullptr, {2})));
  int value = 0;
  RETURNS(NotSupported, "the tensor is on cuda:0, which the host cannot reach",
          write_npy(path, for_blob(&value, {1}).device(DeviceType::CUDA).make_tensor()));
  RETURNS(InvalidArgument, "write_npy: the path is null", write_npy(nullptr, zeros({1})));
  CHECK(folder.names().empty());
}

TEST_CASE_METHOD(NpyFile,
                 "npy: files that cannot be written or read are errors with path and reason") {
  const TensorPtr tensor = zeros({4});
  const std::string missing = folder / "none/x.npy";
  RETURNS(AccessFailed, "write_npy: " + missing + ": ", write_npy(missing, tensor));
  RETURNS(AccessFailed, "No such file or directory", write_npy(missing.c_str(), *tensor));
  const std::string text = ": " + missing + ": cannot open: No such file or directory";
  RAISES(NotFound, "read_npy" + text, read_npy(missing));
  RAISES(AccessFailed, "read_npy: " + (folder / ""), read_npy(folder / ""));
  RAISES(InvalidArgument, "read_npy: the path is null", read_npy(nullptr));
  RETURNS(NotFound, "try_read_npy" + text, try_read_npy(missing.c_str()).error());
}

#if TENON_HAS_POSIX_FILES && defined(__linux__)
TEST_CASE_METHOD(NpyFile,
                 "read_npy: with Map aligned numbers are mapped, and unmapped by the deleter") {
  REQUIRE(write_npy(path, arange(6)) == Error::Ok);
  TensorPtr tensor = read_npy(path, NpyMemory::Map);
  const void* const data = const_data_ptr(tensor);
  CHECK(ownership(tensor) == Ownership::Adopted);
  CHECK(tests::is_mapped(path, data));
  TensorPtr view = make_tensor_ptr(*tensor, {2, 3});
  tensor.reset();
  CHECK(tests::is_mapped(path, data));
  CHECK(accessor<int64_t, 2>(view)[1][2] == 5);
  view.reset();
  CHECK_FALSE(tests::is_mapped(path, data));
}

TEST_CASE_METHOD(NpyFile,
                 "read_npy: with Map data at any multiple of the number's size is mapped") {
  // NumPy aligned to 16 bytes before 1.14.
  std::string header = dict("<c16", "(1,)");
  header.resize(80 - 10 - 8, ' ');
  put_file(path, npy(header, std::vector<uint8_t>(16)));
  CHECK(tests::is_mapped(path, const_data_ptr(read_npy(path, NpyMemory::Map))) ==
        !tenon::detail::host_is_big_endian());
}

TEST_CASE_METHOD(NpyFile, "read_npy: writes to a mapped tensor stay its own") {
  REQUIRE(write_npy(path, arange(6)) == Error::Ok);
  const std::vector<uint8_t> before = file_bytes(path);
  const TensorPtr tensor = read_npy(path, NpyMemory::Map);
  const TensorPtr other = read_npy(path, NpyMemory::Map);
  REQUIRE_FALSE(is_readonly(tensor));
  for (int64_t& value : data<int64_t>(tensor)) value = -1;
  CHECK(accessor<int64_t, 1>(other)[5] == 5);
  CHECK(file_bytes(path) == before);
}

#endif

TEST_CASE_METHOD(NpyFile, "read_npy: misaligned numbers are read into memory of the tensor's own") {
  for (size_t pad = 0; pad < 4; ++pad) {
    std::string header = dict("<f4", "(2,)") + std::string(pad, ' ');
    std::vector<uint8_t> file = npy(header, {0, 0, 0x80, 0x3f, 0, 0, 0x20, 0x40});
    put_file(path, file);
    const TensorPtr tensor = read_npy(path, NpyMemory::Map);
    CHECK(is_aligned(tensor, 4));
    CHECK(accessor<float, 1>(tensor)[0] == 1.0f);
    CHECK(accessor<float, 1>(tensor)[1] == 2.5f);
    if ((10 + header.size()) % 4 != 0) CHECK(ownership(tensor) == Ownership::Owned);
  }
}

TEST_CASE_METHOD(NpyFile, "read_npy: any byte but 0 of a bool is true; a copy has a 1 for it") {
  put_file(path, npy(dict("|b1", "(4,)"), {0, 1, 2, 255}));
  const TensorPtr tensors[] = {read_npy(path), read_npy(path, ScalarType::Bool),
                               from_bytes_of(file_bytes(path))};
  for (const TensorPtr& tensor : tensors) {
    const auto* bytes = static_cast<const uint8_t*>(const_data_ptr(tensor));
    CHECK(std::vector<uint8_t>(bytes, bytes + 4) == std::vector<uint8_t>{0, 1, 1, 1});
  }
  const TensorPtr mapped = read_npy(path, NpyMemory::Map);
  CHECK(to_string(mapped) == "[False  True  True  True]\nBool {4}");
  CHECK(tests::values<int32_t>(to(mapped, ScalarType::Int)) == Ints{0, 1, 1, 1});
  CHECK(file_bytes(path).back() == 255);
}

#if TENON_HAS_POSIX_FILES && defined(__linux__)
#endif

// A promise of docs/guarantees.md.
TEST_CASE("from_npy: bytes after the array are left alone, missing ones are an error") {
  std::vector<uint8_t> bytes = file_bytes(data_path("c_i4.npy"));
  bytes.push_back(0);
  check_data_file<int32_t>(from_bytes_of(bytes));
  bytes.resize(bytes.size() - 2);
  RAISES(InvalidArgument,
         "from_npy: sizes {2, 3} of Int need 24 bytes of data, but only 23 follow the header",
         from_bytes_of(bytes));
  RAISES(InvalidArgument, "from_npy: the pointer to 9 bytes is null", from_npy(nullptr, 9));
  RAISES(InvalidArgument, "from_npy: the header is cut off after 0 bytes", from_npy(nullptr, 0));
}

TEST_CASE_METHOD(NpyFile,
                 "read_npy: a shape beyond the file or the address space is an error, at no cost") {
  const auto refused = [&](const char* descr, const std::string& shape, const std::string& words) {
    INFO(shape);
    const std::vector<uint8_t> bytes = npy(dict(descr, shape), {0});
    put_file(path, bytes);
    RAISES(InvalidArgument, "read_npy: " + path + ": ", read_npy(path));
    RAISES(InvalidArgument, words, read_npy(path));
    RAISES(InvalidArgument, words, from_bytes_of(bytes));
  };
  refused("|u1", "(2,)", "sizes {2} of Byte need 2 bytes of data, but only 1 follow the header");
  refused("<f8", "()", "sizes {} of Double need 8 bytes of data, but only 1");
  const std::string most = std::to_string(PTRDIFF_MAX);
  refused("|u1", "(" + most + ",)", "need " + most + " bytes");
  const std::string half = std::to_string(PTRDIFF_MAX / 2 + 1);
  const std::string eighth = std::to_string(PTRDIFF_MAX / 8 + 1);
  refused("<f4", "(" + half + ",)", "overflow the address space");
  refused("<c16", "(" + eighth + ", 2)", "overflow the address space");
  refused("|u1", "(" + half + ", 2)", "overflows ");
  refused("|u1", "(0, " + half + ", 2)", "overflows ");
}

// A promise of docs/guarantees.md.
TEST_CASE("npy: files leave errno as it was") {
  const std::string path = "npy_errno.npy";
  errno = 77;
  REQUIRE(write_npy(path, zeros({2})) == Error::Ok);
  CHECK(read_npy(path)->numel() == 2);
  CHECK(try_read_npy("npy_errno_missing.npy").error() == Error::NotFound);
  CHECK(errno == 77);
  std::remove(path.c_str());
}

}  // namespace npy_test
