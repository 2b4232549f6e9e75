// SPDX-License-Identifier: MIT
#include "tenon/interop/gguf.h"

#include <cerrno>
#include <thread>

#include "allocation/failures.h"
#include "interop/files.h"
#include "interop/files/gguf/content.h"
#include "tenon/tenon.h"

namespace gguf_test {

using namespace tenon;
using namespace tests;

namespace {

struct Saved {
  TempFolder folder;
  std::string path = folder / "x.gguf";

  void put(const std::string& file) const { put_file(path, {file.begin(), file.end()}); }
  Gguf open(const GgufContent& content) const {
    put(content.bytes());
    Result<Gguf> opened = Gguf::open(path);
    INFO(opened.message());
    REQUIRE(opened.ok());
    return *opened;
  }
};

GgufContent part_of(uint16_t part, uint16_t count, const std::string& tensor, int32_t total) {
  return {{gguf_key("split.no", Kind::Uint16, little(part)),
           gguf_key("split.count", Kind::Uint16, little(count)),
           gguf_key("split.tensors.count", Kind::Int32, little(total)),
           gguf_key("name", Kind::String, gguf_text("of " + tensor))},
          {gguf_tensor(tensor, {4}, 24, 0)},
          size_t{4} + part};
}

}  // namespace

TEST_CASE("gguf: numbers have their dtype, the fastest dimension is last") {
  const Saved saved;
  const Gguf file = saved.open({{},
                                {gguf_tensor("w", {3, 2}, 0, 0), gguf_tensor("i", {2}, 25, 32),
                                 gguf_tensor("b", {1, 2}, 30, 64), gguf_tensor("s", {}, 27, 96),
                                 gguf_tensor("none", {4, 0}, 28, 0)},
                                104});
  CHECK(file.size() == 5);
  const TensorPtr w = file.get("w").value();
  CHECK(w->scalar_type() == ScalarType::Float);
  CHECK(w->sizes() == Dims{2, 3});
  CHECK(w->strides() == Dims{3, 1});
  CHECK(to_binary(w).size() == 24);
  const TensorPtr i = file.get("i").value();
  CHECK(values<int16_t>(*i) == std::vector<int16_t>{0x2120, 0x2322});
  CHECK(file.get("b").value()->scalar_type() == ScalarType::BFloat16);
  CHECK(file.get("b").value()->sizes() == Dims{2, 1});
  CHECK(item<int64_t>(*file.get("s")) == 0x6766656463626160);
  CHECK(file.get("none").value()->sizes() == Dims{0, 4});
  CHECK(file.get(1).value()->sizes() == Dims{2});
  CHECK(file.find("w")->sizes == Dims{2, 3});
  CHECK(&file.infos()[1] == file.find("i"));
}

TEST_CASE("gguf: quantised tensors are the bytes of their rows") {
  const Saved saved;
  const Gguf file = saved.open({{},
                                {gguf_tensor("q", {64, 2, 1}, 2, 0),
                                 gguf_tensor("k", {256}, 12, 96), gguf_tensor("new", {64}, 31, 0)},
                                240});
  const TensorPtr q = file.get("q").value();
  CHECK(q->scalar_type() == ScalarType::Byte);
  CHECK(q->sizes() == Dims{1, 2, 36});
  CHECK(values<uint8_t>(*q)[35] == 35);
  const GgufInfo& info = *file.find("q");
  CHECK(info.sizes == Dims{1, 2, 64});
  CHECK((info.dtype == "Q4_0" && info.block_size == 32 && info.block_nbytes == 18));
  CHECK(file.get("k").value()->sizes() == Dims{144});
  CHECK(values<uint8_t>(*file.get("k"))[0] == 96);
  CHECK(file.find("new")->dtype == "type 31");
  RETURNS(NotSupported, "Gguf::get: tensor \"new\": ggml's type 31 is not a type that tenon knows",
          Error(file.get("new")));
}

TEST_CASE("gguf: metadata has its values by key") {
  const Saved saved;
  const Gguf file = saved.open(
      {{gguf_key("u8", Kind::Uint8, "\xff"), gguf_key("i8", Kind::Int8, "\xff"),
        gguf_key("u16", Kind::Uint16, little(uint16_t{65535})),
        gguf_key("i16", Kind::Int16, little(int16_t{-2})),
        gguf_key("u32", Kind::Uint32, little(uint32_t{4294967295})),
        gguf_key("i32", Kind::Int32, little(int32_t{-3})),
        gguf_key("f32", Kind::Float32, little(1.5f)), gguf_key("true", Kind::Bool, "\2"),
        gguf_key("false", Kind::Bool, std::string(1, '\0')),
        gguf_key("text", Kind::String, gguf_text("Llama")),
        gguf_key("u64", Kind::Uint64, little(uint64_t{INT64_MAX})),
        gguf_key("huge", Kind::Uint64, little(UINT64_MAX)),
        gguf_key("i64", Kind::Int64, little(INT64_MIN)),
        gguf_key("f64", Kind::Float64, little(-0.25)),
        gguf_key("numbers", Kind::Array, gguf_array(Kind::Int32, 2, little(7) + little(-8))),
        gguf_key("flags", Kind::Array, gguf_array(Kind::Bool, 3, std::string("\0\1\2", 3))),
        gguf_key("none", Kind::Array, gguf_array(Kind::Float32, 0, "")),
        gguf_key("texts", Kind::Array,
                 gguf_array(Kind::String, 3, gguf_text("a") + gguf_text("") + gguf_text("b c")))},
       {}});
  const auto get = [&](const char* key) { return file.get_metadata(key).value(); };
  CHECK(get("u8").toInt() == 255);
  CHECK(get("i8").toInt() == -1);
  CHECK(get("u16").toInt() == 65535);
  CHECK(get("i16").toInt() == -2);
  CHECK(get("u32").toInt() == 4294967295);
  CHECK(get("i32").toInt() == -3);
  CHECK(get("f32").toDouble() == 1.5);
  CHECK(get("true").toBool());
  CHECK_FALSE(get("false").toBool());
  CHECK(get("text").toString() == "Llama");
  CHECK(get("u64").toInt() == INT64_MAX);
  CHECK(get("i64").toInt() == INT64_MIN);
  CHECK(get("f64").toDouble() == -0.25);
  CHECK(values<int32_t>(get("numbers").toTensor()) == Ints{7, -8});
  CHECK(to_binary(get("flags").toTensor()) == std::vector<uint8_t>{0, 1, 1});
  CHECK(get("none").toTensor().sizes() == Dims{0});
  CHECK(fill_(get("numbers").toTensor(), 1) == Error::Ok);  // a copy
  CHECK(file.get_texts("texts").value() == std::vector<std::string_view>{"a", "", "b c"});
  CHECK(file.get_texts("text").value() == std::vector<std::string_view>{"Llama"});
  CHECK(file.metadata().size() == 18);
  CHECK(file.find_metadata("texts")->count == 3);
  CHECK(file.find_metadata("no") == nullptr);
  RETURNS(NotSupported,
          "Gguf::get_metadata: key \"huge\": 18446744073709551615 does not fit an Int",
          Error(file.get_metadata("huge")));
  CHECK(file.get_metadata("texts").value().toStringList().size() == 3);
  RETURNS(InvalidType, "Gguf::get_texts: key \"numbers\": it is an array of INT32, expected texts",
          Error(file.get_texts("numbers")));
  RETURNS(InvalidType, "key \"u8\": it is UINT8, expected texts", Error(file.get_texts("u8")));
  RETURNS(NotFound, "Gguf::get_metadata: key \"no\": it is not among the 18 keys",
          Error(file.get_metadata("no")));
  RETURNS(NotFound, "Gguf::get_texts: key \"no\"", Error(file.get_texts("no")));
}

TEST_CASE("gguf: a file in memory is opened without a copy, and kept") {
  const std::string bytes = GgufContent{{}, {gguf_tensor("a", {2}, 26, 0)}, 8}.bytes();
  int owners = 1;
  TensorPtr a;
  {
    const auto content = static_cast<int64_t>(bytes.size());
    const TensorPtr file = from_blob(const_cast<char*>(bytes.data()), {content}, ScalarType::Byte,
                                     [&](void*) { --owners; });
    const Gguf opened = Gguf::open(file).value();
    CHECK(opened.find("a")->nbytes == 8);
    a = opened.get("a").value();
  }
  CHECK(owners == 1);
  CHECK(const_data_ptr(a) == bytes.data() + bytes.size() - 8);
  CHECK(item<int32_t>(select(a, 0, 0)) == 0x03020100);
  a.reset();
  CHECK(owners == 0);
  // Where the memory itself is not aligned, numbers are copied.
  const std::string moved = "x" + bytes;
  const Gguf file = Gguf::open(Blob::of(static_cast<const void*>(moved.data() + 1),
                                        {static_cast<int64_t>(bytes.size())}, ScalarType::Byte))
                        .value();
  CHECK(file.find("a")->is_copied);
  CHECK(values<int32_t>(*file.get("a")) == Ints{0x03020100, 0x07060504});
  RETURNS(InvalidState, "Gguf::open: ", Error(Gguf::open(Tensor())));
}

TEST_CASE("gguf: what is not there is an error") {
  const Saved saved;
  RETURNS(NotFound, "Gguf::open: " + saved.path + ": cannot open", Error(Gguf::open(saved.path)));
  RETURNS(InvalidArgument, "the path is null", Error(Gguf::open(nullptr)));
  saved.put("");
  RETURNS(InvalidArgument, saved.path + ": not a GGUF file", Error(Gguf::open(saved.path)));
  const Gguf file = saved.open({{}, {gguf_tensor("a", {1}, 24, 0)}, 1});
  RETURNS(NotFound, "Gguf::get: there is no tensor \"b\" among the 1", Error(file.get("b")));
  RETURNS(OutOfBounds, "Gguf::get: tensor 1 of 1", Error(file.get(1)));
  CHECK(file.find("b") == nullptr);
  saved.put(
      GgufContent{{}, {gguf_tensor("a", {1}, 24, 0), gguf_tensor("a", {1}, 24, 1)}, 2}.bytes());
  RETURNS(InvalidArgument, "tensors 0 and 1 are both named \"a\"", Error(Gguf::open(saved.path)));
  const Gguf none;
  CHECK(none.size() == 0);
  CHECK(none.find("a") == nullptr);
  CHECK(none.metadata().empty());
  CHECK(none.find_metadata("a") == nullptr);
  CHECK(none.get("a").error() == Error::NotFound);
  CHECK(none.get_metadata("a").error() == Error::NotFound);
  CHECK(none.get_texts("a").error() == Error::NotFound);
}

TEST_CASE("gguf: a model in several files is opened by any of them") {
  const TempFolder folder;
  const auto put = [&](int part, const GgufContent& content) {
    const std::string path = folder / ("model-0000" + std::to_string(part + 1) + "-of-00003.gguf");
    const std::string bytes = content.bytes();
    put_file(path, {bytes.begin(), bytes.end()});
    return path;
  };
  const std::string first = put(0, part_of(0, 3, "a", 3));
  const std::string second = put(1, part_of(1, 3, "b", 3));
  RETURNS(NotFound, first + ": part 3 of 3: cannot open", Error(Gguf::open(first)));
  put(2, part_of(2, 3, "c", 3));
  for (const std::string& path : {first, second}) {
    const Gguf model = Gguf::open(path).value();
    CHECK(model.size() == 3);
    CHECK(model.infos()[2].name == "c");
    CHECK(model.find("b")->file == 1);
    CHECK(values<int8_t>(*model.get("b")) == std::vector<int8_t>{0, 1, 2, 3});
    CHECK(model.get_metadata("name").value().toString() == "of a");
  }
  // Alone, and named otherwise.
  const std::string bytes = part_of(1, 3, "b", 3).bytes();
  const std::string other = folder / "other.gguf";
  put_file(other, {bytes.begin(), bytes.end()});
  const Gguf alone = Gguf::open(other).value();
  CHECK(alone.size() == 1);
  RETURNS(NotFound,
          "there is no tensor \"a\" among the 1; the file is part 2 of 3, whose names end with "
          "-00002-of-00003.gguf",
          Error(alone.get("a")));
  RETURNS(NotFound, "; the file is part 2 of 3", Error(alone.get_metadata("llama.block_count")));
  // Parts that do not belong together.
  put(2, part_of(1, 3, "c", 3));
  RETURNS(InvalidArgument, "part 3 of 3: its metadata says that it is part 2 of 3",
          Error(Gguf::open(first)));
  put(2, part_of(2, 3, "a", 3));
  RETURNS(InvalidArgument, "tensors 0 and 2 are both named \"a\"", Error(Gguf::open(first)));
  put(2, part_of(2, 3, "c", 4));
  put(0, part_of(0, 3, "a", 4));
  RETURNS(InvalidArgument, "the parts have 3 tensors, but split.tensors.count is 4",
          Error(Gguf::open(first)));
  put(2, {{}, {}});
  RETURNS(InvalidArgument, "part 3 of 3: its metadata says that it is part 1 of 0",
          Error(Gguf::open(first)));
}

// A promise of docs/guarantees.md.
TEST_CASE("gguf: opening a vocabulary takes no memory for its texts") {
  std::string texts;
  constexpr uint64_t kCount = 20'000;
  for (uint64_t i = 0; i < kCount; ++i) texts += gguf_text("token " + std::to_string(i));
  const std::string bytes = GgufContent{
      {gguf_key("tokens", Kind::Array, gguf_array(Kind::String, kCount, texts))},
      {}}.bytes();
  const Blob blob = Blob::of(static_cast<const void*>(bytes.data()),
                             {static_cast<int64_t>(bytes.size())}, ScalarType::Byte);
  start_counting();
  const Gguf file = Gguf::open(blob).value();
  stop_counting();
  CHECK(allocations() < 20);
  const std::vector<std::string_view> tokens = file.get_texts("tokens").value();
  REQUIRE(tokens.size() == kCount);
  CHECK(tokens[19'999] == "token 19999");
  CHECK((tokens[0].data() > bytes.data() && tokens[0].data() < bytes.data() + 100));
}

TEST_CASE("gguf: a file leaves errno as it was") {
  const Saved saved;
  errno = 123;
  static_cast<void>(saved.open({{}, {gguf_tensor("a", {1}, 24, 0)}, 1}).get("a"));
  static_cast<void>(Gguf::open(saved.folder / "no"));
  CHECK(errno == 123);
}

TEST_CASE("gguf: any threads may use a file", "[threads][Gguf][GgufInfo][GgufEntry]") {
  const Saved saved;
  const Gguf file = saved.open({{gguf_key("k", Kind::Uint32, little(5u))},
                                {gguf_tensor("a", {2}, 26, 0), gguf_tensor("b", {2}, 26, 32)},
                                40});
  std::vector<std::thread> threads;
  std::vector<int> wrong(4);
  for (size_t k = 0; k < wrong.size(); ++k) {
    threads.emplace_back([&, k] {
      const Gguf copy = file;
      for (int i = 0; i < 50; ++i) {
        const Result<TensorPtr> t = copy.get(i % 2 == 0 ? "a" : "b");
        wrong[k] += t.ok() && (*t)->size(0) == copy.find("a")->sizes[0] ? 0 : 1;
        wrong[k] += copy.get_metadata(copy.metadata()[0].key).value().toInt() == 5 ? 0 : 1;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == std::vector<int>(4));
}

TEST_CASE("gguf: each allocation may fail") {
  const TempFolder folder;
  const std::string path = folder / "x-00001-of-00002.gguf";
  for (const uint16_t i : {uint16_t{0}, uint16_t{1}}) {
    const std::string bytes = part_of(i, 2, i == 0 ? "a" : "b", 2).bytes();
    put_file(folder / ("x-0000" + std::to_string(i + 1) + "-of-00002.gguf"),
             {bytes.begin(), bytes.end()});
  }
  fail_each("Gguf::open", recovers(), [&] { return Gguf::open(path).error(); });
  const Saved saved;
  const Gguf file =
      saved.open({{gguf_key("n", Kind::Array, gguf_array(Kind::Int32, 2, little(7) + little(-8))),
                   gguf_key("s", Kind::String, gguf_text("a text"))},
                  {gguf_tensor("a", {2}, 26, 0)},
                  8});
  fail_each("Gguf::get", recovers(), [&] { return file.get("a"); });
  fail_each("Gguf::get_metadata", recovers(), [&] { return file.get_metadata("n").error(); });
  fail_each("Gguf::get_metadata", recovers(), [&] { return file.get_metadata("s").error(); });
  fail_each("Gguf::get_texts", recovers(), [&] { return file.get_texts("s").error(); });
}

}  // namespace gguf_test
