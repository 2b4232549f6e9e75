// SPDX-License-Identifier: MIT
// The bytes that are written, and what is refused. torch/test_matrix.py has PyTorch read files.
#include "tenon/interop/files/torch_writer.h"

#include "allocation/failures.h"
#include "interop/files.h"
#include "tenon/interop/files/npz_reader.h"
#include "tenon/tenon.h"

namespace torch_writer_test {

using namespace tenon;
using namespace tests;

namespace {

/// The files of an archive, by name, in its order.
struct Archive {
  Bytes bytes;
  std::vector<detail::ZipEntry> entries;

  explicit Archive(Bytes content) : bytes(std::move(content)) {
    detail::ZipReader zip;
    REQUIRE(zip.open(bytes.data(), bytes.size()) == Error::Ok);
    REQUIRE(zip.list(entries) == Error::Ok);
    for (detail::ZipEntry& entry : entries) {
      INFO(entry.name);
      REQUIRE(detail::locate_zip_entry(bytes.data(), bytes.size(), entry) == Error::Ok);
      CHECK(entry.method == 0);
      CHECK(entry.data % 64 == 0);
    }
  }
  std::string operator[](const std::string& name) const {
    for (const detail::ZipEntry& entry : entries) {
      if (entry.name != "archive/" + name) continue;
      const auto begin = bytes.begin() + static_cast<ptrdiff_t>(entry.data);
      return std::string(begin, begin + static_cast<ptrdiff_t>(entry.size));
    }
    FAIL("there is no " << name);
    return "";
  }
  std::string names() const {
    std::string all;
    for (const detail::ZipEntry& entry : entries) all += entry.name + " ";
    return all;
  }
};

Archive write(const std::vector<NamedTensor>& tensors) {
  Bytes bytes;
  REQUIRE(write_torch_file(
              [&](const void* data, size_t count) {
                const auto* const begin = static_cast<const uint8_t*>(data);
                bytes.insert(bytes.end(), begin, begin + count);
                return Error::Ok;
              },
              tensors) == Error::Ok);
  return Archive(bytes);
}

std::string text(const TensorPtr& t) {
  const Bytes bytes = to_binary(t);
  return std::string(bytes.begin(), bytes.end());
}

/// The pickle's part for {2, 3} and so on: numbers of one byte.
std::string tuple(const std::vector<int>& numbers) {
  std::string code = "(";
  for (const int number : numbers) (code += 'K') += static_cast<char>(number);
  return code + "t";
}

}  // namespace

TEST_CASE("torch writer: every dtype has a name") {
#define TENON_DETAIL_WRITES(T, name) \
  CHECK(write({{"t", zeros({2}, ScalarType::name)}})["data/0"].size() == 2 * sizeof(T));
  TENON_FORALL_SCALAR_TYPES(TENON_DETAIL_WRITES)
#undef TENON_DETAIL_WRITES
}

TEST_CASE("torch writer: integers of each width") {
  detail::TorchPickle pickle;
  for (const int64_t value : {int64_t{0}, int64_t{255}, int64_t{256}, int64_t{-1},
                              int64_t{INT32_MAX}, int64_t{INT32_MAX} + 1, int64_t{INT64_MIN}}) {
    pickle.add_integer(value);
  }
  using namespace std::string_literals;
  CHECK(pickle.bytes ==
        "\x80\2K\0K\xffJ\0\1\0\0J\xff\xff\xff\xffJ\xff\xff\xff\x7f"
        "\x8a\x08\0\0\0\x80\0\0\0\0\x8a\x08\0\0\0\0\0\0\0\x80"s);
}

TEST_CASE("torch writer: dense strides stay, others become row-major") {
  const TensorPtr m = make_tensor_ptr({2, 3}, {1.0f, 2.0f, 3.0f, 4.0f, 5.0f, 6.0f});
  const auto with_strides = [&](const Dims& sizes, const Dims& strides) {
    return from_blob(mutable_data_ptr(m), sizes, strides);
  };
  struct Case {
    Tensor tensor;
    std::vector<int> sizes, strides;
    size_t nbytes;
  };
  const Case cases[] = {
      {*m, {2, 3}, {3, 1}, 24},
      {transpose(m, 0, 1), {3, 2}, {1, 3}, 24},
      {expand(m, {2, 2, 3}), {2, 2, 3}, {6, 3, 1}, 48},
      {slice(m, 1, 0, 3, 2), {2, 2}, {2, 1}, 16},
      {select(m, 1, 1), {2}, {1}, 8},
      {*full({}, 3), {}, {}, 4},
      {*zeros({0, 3}), {0, 3}, {3, 1}, 0},
      {*zeros({3, 0}), {3, 0}, {1, 1}, 0},
      {*with_strides({3, 1, 2}, {1, -7, 3}), {3, 1, 2}, {1, 1, 3}, 24},
      {*with_strides({1, 6}, {-7, 1}), {1, 6}, {6, 1}, 24},
  };
  for (const Case& one : cases) {
    const Archive archive = write({{"t", one.tensor}});
    const std::string wanted = "tQK" + std::string(1, '\0') + tuple(one.sizes) + tuple(one.strides);
    CHECK(archive["data.pkl"].find(wanted) != std::string::npos);
    CHECK(archive["data/0"].size() == one.nbytes);
    if (!one.tensor.is_contiguous() && one.strides == std::vector<int>{1, 3}) {
      CHECK(archive["data/0"] == text(m));  // as it lies in memory
    }
  }
}

TEST_CASE("torch writer: tensors over the same bytes share a storage") {
  const TensorPtr m = ones({2, 3});
  const TensorPtr none = zeros({0});
  const Archive archive = write({{"a", m},
                                 {"b", ones({2, 3})},
                                 {"tied", m},
                                 {"turned", transpose(m, 0, 1)},
                                 {"part", select(m, 0, 0)},
                                 {"bits", from_blob(mutable_data_ptr(m), {2, 3}, ScalarType::Int)},
                                 {"none", none},
                                 {"nothing", none}});
  CHECK(archive.entries.size() == 3 + 6);
  const std::string pickle = archive["data.pkl"];
  size_t uses = 0;
  const std::string first(
      "X\1\0\0\0"
      "0",
      6);
  for (size_t at = pickle.find(first); at != pickle.npos; at = pickle.find(first, at + 1)) ++uses;
  CHECK(uses == 3);
}

TEST_CASE("torch writer: a path, a tensor and a function get the same bytes") {
  const TempFolder folder;
  const std::string path = folder / "x.pt";
  const std::vector<NamedTensor> tensors = {{"a", arange(1000)}, {"b", ones({2, 3})}};
  uint64_t last = 0;
  REQUIRE(write_torch_file(path, tensors, [&](uint64_t done, uint64_t total) {
            CHECK(total == 8000 + 24);
            CHECK(done > last);
            last = done;
          }) == Error::Ok);
  CHECK(last == 8024);
  const TensorPtr bytes = empty({0}, ScalarType::Byte, TensorShapeDynamism::DYNAMIC_UNBOUND);
  REQUIRE(write_torch_file(bytes, tensors) == Error::Ok);
  CHECK(to_binary(bytes) == file_bytes(path));
  CHECK(write(tensors).bytes == file_bytes(path));
  CHECK(folder.names().size() == 1);
}

// A promise of docs/guarantees.md.
TEST_CASE("torch writer: what cannot be written is refused, and the old file stays") {
  const TempFolder folder;
  const std::string path = folder / "x.pt";
  put_file(path, {'o', 'l', 'd'});
  const TensorPtr t = ones({2});
  for (const FileWrite how : {FileWrite::Replace, FileWrite::InPlace}) {
    const auto put = [&](const std::vector<NamedTensor>& tensors) {
      return write_torch_file(path, tensors, {}, how);
    };
    RETURNS(InvalidArgument, "write_torch_file: " + path + ": two tensors are named \"a\"",
            put({{"a", t}, {"a", t}}));
    RETURNS(InvalidArgument, "is not UTF-8", put({{"\xff", t}}));
    RETURNS(InvalidState, "tensor \"b\": it is undefined", put({{"a", t}, {"b", TensorPtr()}}));
    RETURNS(InvalidState, "tensor \"p\": it is a placeholder",
            put({{"p", from_blob(nullptr, {2})}}));
  }
  RETURNS(Internal, "tensor \"a\": on_progress: enough",
          write_torch_file(path, {{"a", t}},
                           [](uint64_t, uint64_t) { throw std::runtime_error("enough"); }));
  RETURNS(InvalidArgument, "the path is null", write_torch_file(nullptr, {{"a", t}}));
  CHECK(file_bytes(path) == Bytes{'o', 'l', 'd'});
  CHECK(folder.names().size() == 1);
}

TEST_CASE("torch writer: as many tensors as minizip writes files") {
  std::vector<NamedTensor> tensors;
  const TensorPtr t = zeros({0});
  for (int i = 0; i < 65531; ++i) tensors.emplace_back(std::to_string(i), t);
  CHECK(write(tensors).entries.size() == 65534);
  tensors.emplace_back("more", t);
  const WriteFunction ignore = [](const void*, size_t) { return Error::Ok; };
  RETURNS(NotSupported, "65532 storages, expected at most 65531",
          write_torch_file(ignore, tensors));
}

TEST_CASE("torch writer: on_progress may drop the tensors, and resizes none while it is written") {
  const TempFolder folder;
  const std::string path = folder / "x.pt";
  constexpr int kCount = 3'000'000;
  const TensorPtr a = full({kCount}, 1, ScalarType::Float, TensorShapeDynamism::DYNAMIC_UNBOUND);
  const TensorPtr b = full({kCount}, 2, ScalarType::Float, TensorShapeDynamism::DYNAMIC_UNBOUND);
  std::vector<NamedTensor> tensors = {{"a", a}, {"b", full({kCount}, 2)}};
  int calls = 0;
  REQUIRE(write_torch_file(path, tensors, [&](uint64_t, uint64_t) {
            if (++calls != 1) return;
            CHECK(resize_tensor(*a, {8 * kCount}) == Error::InUse);
            tensors.clear();
            tensors.shrink_to_fit();
          }) == Error::Ok);
  CHECK(calls >= 2);
  CHECK(Archive(file_bytes(path))["data/1"] == text(full({kCount}, 2)));
  RETURNS(InvalidState, "tensor \"b\": it was resized",
          write_torch_file(path, {{"a", a}, {"b", b}},
                           [&](uint64_t, uint64_t) { static_cast<void>(resize_tensor(*b, {1})); }));
}

TEST_CASE("torch writer: a backend's memory is copied, dense strides stay") {
  CountingBackend gpu;
  const TensorPtr m = make_tensor_ptr({2, 3}, {1.0f, 2.0f, 3.0f, 4.0f, 5.0f, 6.0f});
  const TensorPtr there = clone_tensor_ptr(m, gpu);
  const Archive archive = write({{"t", transpose(there, 0, 1)}, {"tied", there}});
  CHECK(archive["data/0"] == text(m));
  CHECK(archive["data/1"] == text(m));
  CHECK(archive["data.pkl"].find(tuple({3, 2}) + tuple({1, 3})) != std::string::npos);
}

}  // namespace torch_writer_test
