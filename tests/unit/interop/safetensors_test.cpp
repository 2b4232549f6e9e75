// SPDX-License-Identifier: MIT
// Built by safetensors/CMakeLists.txt; the package's own files are in safetensors/test_safetensors.py.
#include "tenon/interop/safetensors.h"

#include <sys/stat.h>

#include <thread>

#include "allocation/failures.h"
#include "interop/files.h"
#include "interop/files/safetensors/headers.h"
#include "tenon/tenon.h"

namespace safetensors_test {

using namespace tenon;
using namespace tests;

namespace {

struct Saved {
  TempFolder folder;
  std::string path = folder / "x.safetensors";

  void put(const std::string& file) const { put_file(path, {file.begin(), file.end()}); }
  SafeTensors open() const {
    Result<SafeTensors> opened = SafeTensors::open(path);
    INFO(opened.message());
    REQUIRE(opened.ok());
    return *opened;
  }
};

}  // namespace

TEST_CASE("safetensors: what was written is read, of every dtype that the format has") {
  const Saved saved;
  std::vector<NamedTensor> tensors;
  for (const detail::SafeTensorsDtype& dtype : detail::kSafeTensorsDtypes) {
    if (dtype.type == own::ScalarType::Undefined) continue;
    const Bytes bytes = {1, 0, 1, 1, 0, 1, 0, 0, 1, 1, 1, 0, 0, 0, 1, 0};
    const auto count = static_cast<int64_t>(bytes.size() * 8 / dtype.bits);
    tensors.emplace_back(dtype.name, from_binary(bytes, {count}, detail::public_type(dtype.type)));
  }
  REQUIRE(write_safetensors(saved.path, tensors, {{"made by", "a test"}}) == Error::Ok);
  const SafeTensors file = saved.open();
  CHECK(file.size() == 18);
  CHECK(file.metadata() == std::map<std::string, std::string>{{"made by", "a test"}});
  for (const NamedTensor& tensor : tensors) {
    INFO(tensor.name);
    const TensorPtr read = file.get(tensor.name).value();
    CHECK(read->scalar_type() == tensor.tensor.scalar_type());
    CHECK(read->sizes() == tensor.tensor.sizes());
    CHECK(to_binary(read) == to_binary(tensor.tensor));
    CHECK_FALSE(file.find(tensor.name)->is_copied);
  }
}

TEST_CASE("safetensors: a file in memory is the one on the disk, and tensors are over the bytes") {
  const Saved saved;
  const std::vector<NamedTensor> tensors = {{"a", make_tensor_ptr({2}, {1, 2})}, {"b", ones({3})}};
  REQUIRE(write_safetensors(saved.path, tensors, {{"k", "v"}}) == Error::Ok);
  auto bytes = empty({0}, ScalarType::Byte, TensorShapeDynamism::DYNAMIC_UNBOUND);
  REQUIRE(write_safetensors(bytes, tensors, {{"k", "v"}}) == Error::Ok);
  CHECK(values<uint8_t>(*bytes) == file_bytes(saved.path));
  Bytes sent;
  REQUIRE(write_safetensors(
              [&](const void* data, size_t count) {
                const auto* const first = static_cast<const uint8_t*>(data);
                sent.insert(sent.end(), first, first + count);
                return Error::Ok;
              },
              tensors, {{"k", "v"}}) == Error::Ok);
  CHECK(sent == file_bytes(saved.path));

  const auto* const begin = static_cast<const char*>(const_data_ptr(bytes));
  TensorPtr a;
  {
    const SafeTensors file = SafeTensors::open(bytes).value();
    bytes.reset();
    a = file.get("a").value();
    CHECK(const_data_ptr(a) == begin + file.find("a")->offset);
  }
  CHECK(is_readonly(a));
  CHECK(values<int32_t>(*a) == std::vector<int32_t>{1, 2});

  // At an address where no number may be.
  sent.insert(sent.begin(), 0);
  const SafeTensors moved =
      SafeTensors::open(Blob::of(sent.data() + 1, {static_cast<int64_t>(sent.size()) - 1})).value();
  CHECK(moved.find("a")->is_copied);
  CHECK(values<int32_t>(**moved.get("a")) == std::vector<int32_t>{1, 2});
  FAILS(InvalidArgument, "SafeTensors::open: not a safetensors file: it has 3 bytes",
        SafeTensors::open(Blob::of(sent.data(), {3})));
}

TEST_CASE("safetensors: a misaligned tensor is copied, and it says so") {
  const Saved saved;
  std::string json =
      "{" + entry("a", "U8", "[1]", "[0,1]") + "," + entry("b", "I16", "[2]", "[1,5]") + "}";
  json.append(8 - json.size() % 8, ' ');
  saved.put(safetensors_file(json, 5));
  const SafeTensors file = saved.open();
  CHECK_FALSE(file.infos()[0].is_copied);
  CHECK(file.infos()[1].is_copied);
  const TensorPtr b = file.get("b").value();
  CHECK(values<int16_t>(*b) == std::vector<int16_t>{0x0201, 0x0403});
  CHECK(ownership(b) == Ownership::Owned);
  CHECK(is_readonly(b));
}

// A promise of docs/guarantees.md.
TEST_CASE("safetensors: packed numbers are had as their bytes, mapped, also at odd offsets") {
  const struct {
    const char* dtype;
    const char* shape;
    PackedType type;
    Longs sizes;
  } rows[] = {
      {"F4", "[2,4]", PackedType::Float4_e2m1fn, {2, 2}},
      {"F4", "[2,3]", PackedType::Float4_e2m1fn, {3}},
      {"F4", "[4,1]", PackedType::Float4_e2m1fn, {2}},
      {"F4", "[0,3]", PackedType::Float4_e2m1fn, {0}},
      {"F4", "[3,0]", PackedType::Float4_e2m1fn, {3, 0}},
      {"F6_E2M3", "[2,8]", PackedType::Float6_e2m3fn, {2, 6}},
      {"F6_E3M2", "[2,2]", PackedType::Float6_e3m2fn, {3}},
      {"F8_E8M0", "[]", PackedType::Float8_e8m0fnu, {}},
      {"F8_E8M0", "[3,1]", PackedType::Float8_e8m0fnu, {3, 1}},
      {"F4", "[1,1,1,1,1,1,1,6]", PackedType::Float4_e2m1fn, {1, 1, 1, 1, 1, 1, 1, 3}},
  };
  const Saved saved;
  std::string json = "{" + entry("first", "U8", "[1]", "[0,1]");
  size_t end = 1;
  std::vector<size_t> begins;
  for (size_t i = 0; i < std::size(rows); ++i) {
    begins.push_back(end);
    end += static_cast<size_t>(std::accumulate(rows[i].sizes.begin(), rows[i].sizes.end(),
                                               int64_t{1}, std::multiplies<>()));
    json += "," + entry(std::to_string(i), rows[i].dtype, rows[i].shape,
                        "[" + std::to_string(begins[i]) + "," + std::to_string(end) + "]");
  }
  saved.put(safetensors_file(json + "}", end));
  const SafeTensors file = saved.open();
  const Bytes bytes = file_bytes(saved.path);
  for (size_t i = 0; i < std::size(rows); ++i) {
    CAPTURE(i, rows[i].dtype, rows[i].shape);
    const SafeTensorInfo& info = *file.find(std::to_string(i));
    CHECK(info.packed == rows[i].type);
    CHECK(info.type == ScalarType::Undefined);
    CHECK_FALSE(info.is_copied);
    const TensorPtr t = file.get(info.name).value();
    CHECK(t->scalar_type() == ScalarType::Byte);
    CHECK(Longs(t->sizes().begin(), t->sizes().end()) == rows[i].sizes);
    CHECK(t->nbytes() == info.nbytes);
    CHECK(is_readonly(t));
    if (t->numel() == 0) continue;
    CHECK(const_data_ptr<uint8_t>(t) - const_data_ptr<uint8_t>(*file.get("first")) ==
          static_cast<ptrdiff_t>(begins[i]));
    const auto at = bytes.begin() + static_cast<ptrdiff_t>(info.offset);
    CHECK(to_binary(t) == Bytes(at, at + static_cast<ptrdiff_t>(info.nbytes)));
  }
  CHECK(file.find("first")->packed == PackedType::Undefined);
}

TEST_CASE("safetensors: what is not there is an error") {
  const Saved saved;
  RETURNS(NotFound, "SafeTensors::open: " + saved.path + ": cannot open",
          Error(SafeTensors::open(saved.path)));
  RETURNS(AccessFailed, "not a regular file", Error(SafeTensors::open(saved.folder / "")));
  RETURNS(InvalidArgument, "the path is null", Error(SafeTensors::open(nullptr)));
  saved.put("");
  RETURNS(InvalidArgument, saved.path + ": not a safetensors file",
          Error(SafeTensors::open(saved.path)));
  saved.put(safetensors_file(
      "{" + entry("a", "F4", "[2]", "[0,1]") + "," + entry("b", "U8", "[]", "[1,2]") + "}", 2));
  const SafeTensors file = saved.open();
  RETURNS(NotFound, "SafeTensors::get: there is no tensor \"c\" among the 2", Error(file.get("c")));
  RETURNS(OutOfBounds, "SafeTensors::get: tensor 2 of 2", Error(file.get(2)));
  CHECK(item<uint8_t>(*file.get(1)) == 1);
  CHECK(file.find("c") == nullptr);
  const std::string twice = entry("a", "U8", "[0]", "[0,0]");
  saved.put(safetensors_file("{" + twice + "," + twice + "}"));
  RETURNS(InvalidArgument, "tensor \"a\" is there twice", Error(SafeTensors::open(saved.path)));
  const SafeTensors none;
  CHECK(none.size() == 0);
  CHECK(none.find("a") == nullptr);
  CHECK(none.metadata().empty());
  CHECK(none.get("a").error() == Error::NotFound);
}

TEST_CASE("safetensors: another kind of file is named, with what to do about it") {
  const Saved saved;
  const struct {
    std::string bytes;
    const char* words;
  } rows[] = {
      {std::string("GGUF\3\0\0\0\1\0\0\0", 12), "a GGUF file; expected a safetensors file"},
      {std::string("\x1f\x8b\x08\0\0", 5),
       "a gzip file; expected a safetensors file; unpack it first"},
      {"PK\3\4" + std::string(26, '\0') + "a/b", "a zip archive, as .npz files are"},
      {std::string(257, 'a') + "ustar", "a tar archive"},
      {std::string("\x80\2}q\0.", 6), "a Python pickle"},
      {"{\"metadata\": {}}", "a text of JSON"},
      {"version https://git-lfs.github.com/spec/v1\noid", "a pointer of Git LFS"},
      {safetensors_file("{} ", 0).substr(0, 10), "the header's length, at offset 0, is 3"},  // cut
  };
  for (const auto& row : rows) {
    INFO(row.words);
    saved.put(row.bytes);
    CHECK_RETURNS(Error::InvalidArgument, row.words, Error(SafeTensors::open(saved.path)));
  }
  const std::string index = saved.folder / "model.safetensors.index.json";
  put_file(index, {'P', 'K', 3, 4});
  RETURNS(InvalidArgument, "a zip archive, as .npz files are; expected an index of safetensors",
          Error(SafeTensors::open(index)));
}

TEST_CASE("safetensors: a model in several files is opened by its index") {
  const TempFolder folder;
  const std::string index = folder / "model.safetensors.index.json";
  const auto put_index = [&](const std::string& map) {
    const std::string text = "{\"metadata\":{\"total_size\":1},\"weight_map\":{" + map + "}}";
    put_file(index, {text.begin(), text.end()});
  };
  REQUIRE(write_safetensors(folder / "1.safetensors", {{"a", full({1}, 1)}, {"c", full({1}, 3)}},
                            {{"k", "first"}}) == Error::Ok);
  REQUIRE(write_safetensors(folder / "2.safetensors", {{"b", full({1}, 2)}, {"c", full({1}, 4)}},
                            {{"k", "second"}, {"l", ""}}) == Error::Ok);
  put_index(R"("a":"1.safetensors","b":"2.safetensors","c":"2.safetensors")");
  const SafeTensors model = SafeTensors::open(index).value();
  CHECK(model.size() == 3);
  CHECK(item<float>(*model.get("a")) == 1);
  CHECK(item<float>(*model.get("b")) == 2);
  CHECK(item<float>(*model.get("c")) == 4);
  CHECK(model.find("a")->file == 0);
  CHECK(model.find("c")->file == 1);
  CHECK(model.metadata() == std::map<std::string, std::string>{{"k", "first"}, {"l", ""}});

  const std::string packed = safetensors_file("{" + entry("w", "F4", "[2,2]", "[0,2]") + "}", 2);
  put_file(folder / "2.safetensors", {packed.begin(), packed.end()});
  put_index(R"("a":"1.safetensors","w":"2.safetensors")");
  const SafeTensors quantized = SafeTensors::open(index).value();
  CHECK(quantized.find("w")->packed == PackedType::Float4_e2m1fn);
  CHECK(values<uint8_t>(*quantized.get("w")) == Bytes(packed.end() - 2, packed.end()));

  put_index(R"("d":"1.safetensors")");
  RETURNS(InvalidArgument, "weight_map: there is no tensor \"d\" in 1.safetensors",
          Error(SafeTensors::open(index)));
  put_index(R"("a":"3.safetensors")");
  RETURNS(NotFound, index + ": 3.safetensors: cannot open", Error(SafeTensors::open(index)));
  put_index(R"("a":"../1.safetensors")");
  RETURNS(InvalidArgument, "expected the name of a file beside the index",
          Error(SafeTensors::open(index)));
  put_file(index, {});
  RETURNS(InvalidArgument, "model.safetensors.index.json: ", Error(SafeTensors::open(index)));
}

// A promise of docs/guarantees.md.
TEST_CASE("write_safetensors: one that fails leaves the old file and no other behind") {
  const Saved saved;
  saved.put("old");
  const TensorPtr t = ones({100});
  RETURNS(InvalidState, "write_safetensors: " + saved.path + ": tensor \"b\": it is undefined",
          write_safetensors(saved.path, {{"a", t}, {"b", TensorPtr()}}));
  const ProgressFunction stop = [](uint64_t, uint64_t) { throw std::runtime_error("enough"); };
  RETURNS(Internal, "tensor \"b\": on_progress: enough",
          write_safetensors(saved.path, {{"a", t}, {"b", t}}, {}, stop));
  FailingBackend gpu;
  const TensorPtr far = make_tensor_ptr({2}, {1, 2}, gpu);
  injection = {Fault::Backend, 1, 0, 0};
  CHECK(write_safetensors(saved.path, {{"a", t}, {"far", far}}) != Error::Ok);
  injection = {};
  CHECK(file_bytes(saved.path) == Bytes{'o', 'l', 'd'});
  CHECK(saved.folder.names().size() == 1);
}

TEST_CASE("write_safetensors: in place, the file keeps its other names") {
  const Saved saved;
  const std::string path = saved.path;
  put_file(path, {'o', 'l', 'd'});
  std::filesystem::create_hard_link(path, saved.folder / "name");
  CHECK(write_safetensors(path, {{"a", TensorPtr()}}, {}, {}, FileWrite::InPlace) ==
        Error::InvalidState);
  CHECK(file_bytes(path) == std::vector<uint8_t>{'o', 'l', 'd'});
  REQUIRE(write_safetensors(path, {{"a", ones({2})}}, {}, {}, FileWrite::InPlace) == Error::Ok);
  CHECK(item<float>(select(SafeTensors::open(saved.folder / "name")->get("a").value(), 0, 1)) == 1);
}

TEST_CASE("write_safetensors: on_progress may drop the tensors, and resizes none while written") {
  const Saved saved;
  constexpr int kCount = 3'000'000;
  const TensorPtr a = full({kCount}, 1, ScalarType::Float, TensorShapeDynamism::DYNAMIC_UNBOUND);
  const TensorPtr b = full({kCount}, 2, ScalarType::Float, TensorShapeDynamism::DYNAMIC_UNBOUND);
  std::vector<NamedTensor> tensors = {{"a", a}, {"b", full({kCount}, 2)}};
  int calls = 0;
  REQUIRE(write_safetensors(saved.path, tensors, {}, [&](uint64_t, uint64_t) {
            if (++calls == 1) {
              CHECK(resize_tensor(*a, {8 * kCount}) == Error::InUse);
              tensors.clear();
              tensors.shrink_to_fit();
            }
          }) == Error::Ok);
  CHECK(calls >= 2);
  CHECK(values<float>(*saved.open().get("b").value()) == Floats(kCount, 2));
  tensors = {{"a", a}, {"b", b}};
  RETURNS(InvalidState, "tensor \"b\": it was resized",
          write_safetensors(saved.path, tensors, {}, [&](uint64_t, uint64_t) {
            static_cast<void>(resize_tensor(*b, {1}));
          }));
}

TEST_CASE("safetensors: a file leaves errno as it was") {
  const Saved saved;
  errno = 123;
  REQUIRE(write_safetensors(saved.path, {{"a", ones({1})}}) == Error::Ok);
  static_cast<void>(saved.open().get("a"));
  static_cast<void>(SafeTensors::open(saved.folder / "no"));
  CHECK(errno == 123);
}

TEST_CASE("safetensors: any threads may use a file",
          "[threads][SafeTensors][SafeTensorInfo][NamedTensor]") {
  const Saved saved;
  std::vector<NamedTensor> tensors;
  for (int i = 0; i < 50; ++i) tensors.emplace_back(std::to_string(i), full({10}, i));
  REQUIRE(write_safetensors(saved.path, tensors) == Error::Ok);
  const SafeTensors file = saved.open();
  std::vector<std::thread> threads;
  std::vector<int> wrong(4);
  for (size_t k = 0; k < wrong.size(); ++k) {
    threads.emplace_back([&, k] {
      const SafeTensors copy = file;
      for (int i = 0; i < 50; ++i) {
        const Result<TensorPtr> t = copy.get(std::to_string(i));
        wrong[k] += t.ok() && const_data_ptr<float>(*t)[9] == static_cast<float>(i) ? 0 : 1;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == std::vector<int>(4));
}

TEST_CASE("safetensors: each allocation may fail; a file that is being written stays as it was") {
  const Saved saved;
  const Tensor t = *ones({4});
  const std::vector<NamedTensor> tensors = {{"a", t}, {"b", transpose(ones({2, 3}), 0, 1)}};
  REQUIRE(write_safetensors(saved.path, tensors, {{"k", "v"}}) == Error::Ok);
  const std::string path = saved.path;
  const std::map<std::string, std::string> metadata = {{"k", "v"}};
  fail_each("SafeTensors::open", recovers(), [&] { return SafeTensors::open(path).error(); });
  const SafeTensors file = saved.open();
  fail_each("get", recovers(), [&] { return file.get("a"); });
  const Bytes before = file_bytes(path);
  fail_each("write_safetensors", recovers(), [&] {
    const Error error = write_safetensors(path, tensors, metadata);
    const Uncounted uncounted;
    return file_bytes(path) == before ? error : Error::Internal;
  });
}

}  // namespace safetensors_test
