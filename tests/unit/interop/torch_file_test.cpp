// SPDX-License-Identifier: MIT
// Built by files/torch/CMakeLists.txt; PyTorch's own files are in files/torch/test_torch_file.py.
#include "tenon/interop/torch_file.h"

#include <fstream>
#include <random>
#include <thread>

#include "allocation/failures.h"
#include "interop/files.h"
#include "interop/files/torch/pickles.h"
#include "tenon/exchange/packed.h"

#if !defined(TENON_MUTANTS)
#define TENON_MUTANTS 5000
#endif

namespace torch_file_test {

using namespace tenon;
using namespace tests;

namespace {

bool has(const std::string& message, const std::string& part) {
  INFO(message);
  return message.find(part) != std::string::npos;
}
Result<TorchFile> open(const std::string& bytes) { return TorchFile::open(memory(bytes)); }
TorchFile opened(const std::string& object) {
  Result<TorchFile> made = open(file(object));
  INFO(made.message());
  REQUIRE(made.ok());
  return *made;
}
std::string message(const std::string& object) {
  const Result<TorchFile> made = open(file(object));
  REQUIRE_FALSE(made.ok());
  return made.message();
}

}  // namespace

TEST_CASE("torch_file: tensors of one storage share memory, and keep their strides") {
  const TorchFile from =
      opened(dict({text("w"), tensor(storage("0", 6, "FloatStorage"), 0, {2, 3}, {3, 1}), text("t"),
                   tensor(storage("0", 6, "FloatStorage"), 0, {3, 2}, {1, 3}), text("e"),
                   tensor(storage("0", 6, "FloatStorage"), 4, {5, 2}, {0, 1})}));
  REQUIRE(from.size() == 3);
  const TensorPtr w = from.get("w").value();
  const TensorPtr t = from.get("t").value();
  const TensorPtr e = from.get("e").value();
  CHECK(t->const_data_ptr() == w->const_data_ptr());
  CHECK(t->strides() == ArrayRef<int64_t>({1, 3}));
  CHECK(e->strides() == ArrayRef<int64_t>({0, 1}));
  CHECK(e->const_data_ptr<float>() == w->const_data_ptr<float>() + 4);
  CHECK(w->const_data_ptr<float>()[5] == 6);
  CHECK(from.find("e")->nbytes == 40);
  CHECK(from.find("e")->offset == from.find("w")->offset + 16);
  CHECK(std::string(from.find("e")->dtype) == "float32");
  CHECK(from.find("x") == nullptr);
}

TEST_CASE("torch_file: numbers at an odd address are copied, with their strides") {
  const TensorPtr bytes =
      memory("x" + file(tensor(storage("0", 6, "FloatStorage"), 1, {2, 2}, {1, 3})));
  const TorchFile from = TorchFile::open(slice(bytes, 0, 1, bytes->numel())).value();
  CHECK(from.infos()[0].is_copied);
  const TensorPtr got = from.get(0).value();
  CHECK(got->strides() == ArrayRef<int64_t>({1, 3}));
  CHECK(got->const_data_ptr<float>()[3] == 5);
  CHECK(reinterpret_cast<uintptr_t>(got->const_data_ptr()) % 4 == 0);
}

TEST_CASE("torch_file: names are joined by dots, and under() takes a part") {
  const TorchFile from = opened(dict(
      {text("model"), dict({text("fc.weight"), floats(), integer(3), list({floats(), floats()})}),
       text("epoch"), integer(7), text("m"),
       dict({text("lr"), text("x"), text("names"), list({text("a"), text("b")})})}));
  CHECK(from.find("model.fc.weight") != nullptr);
  CHECK(from.find("model.3.1") != nullptr);
  CHECK(from.value_names() == std::vector<std::string>{"epoch", "m.lr", "m.names"});
  const TorchFile model = from.under("model").value();
  CHECK(model.size() == 3);
  CHECK(model.infos()[0].name == "fc.weight");
  CHECK(model.get("3.0").ok());
  CHECK(from.under("m").value().value("lr").value().toString() == "x");
  const EValue names = from.value("m.names").value();
  REQUIRE(names.isStringList());
  CHECK(names.toStringList()[1] == "b");
  CHECK(from.under("mod").error() == Error::NotFound);
  CHECK(TorchFile().under("a").error() == Error::NotFound);
}

TEST_CASE("torch_file: two of one name are both listed, and refused by name alone") {
  const TorchFile from =
      opened(dict({text("a.b"), floats(), text("a"), dict({text("b"), floats()})}));
  CHECK(from.size() == 2);
  CHECK(from.get("a.b").error() == Error::InvalidArgument);
  CHECK(has(from.get("a.b").message(), "tensors 0 and 1 are both named \"a.b\"; ask by index"));
  CHECK(from.get(1).ok());
  CHECK(from.get(2).error() == Error::OutOfBounds);
  CHECK(from.get("c").error() == Error::NotFound);
}

TEST_CASE("torch_file: a tensor asked for as a value is said to be one, and the reverse") {
  const TorchFile from = opened(dict({text("t"), floats(), text("n"), integer(3)}));
  CHECK(from.value("t").error() == Error::NotFound);
  CHECK(has(from.value("t").message(),
            "there is no value \"t\" among the 1; it is a tensor: use get()"));
  CHECK(from.get("n").error() == Error::NotFound);
  CHECK(has(from.get("n").message(),
            "there is no tensor \"n\" among the 1; it is a value: use value()"));
  CHECK_FALSE(has(from.get("x").message(), "; it is"));
}

TEST_CASE("torch_file: packed numbers are bytes, with PyTorch's sizes, and unpack") {
  const TorchFile from = opened(dict({text("w"), bytes_as("float4_e2m1fn_x2", {2, 4}, {4, 1}),
                                      text("s"), bytes_as("float8_e8m0fnu", {3}, {1}), text("b"),
                                      bytes_as("bits8", {3}, {1}), text("f"), floats()}));
  const TorchTensorInfo& pairs = *from.find("w");
  CHECK(pairs.packed == PackedType::Float4_e2m1fn);
  CHECK(pairs.type == ScalarType::Byte);
  CHECK(pairs.sizes == Dims({2, 4}));
  CHECK(from.find("s")->packed == PackedType::Float8_e8m0fnu);
  CHECK(from.find("b")->packed == PackedType::Undefined);
  CHECK(from.find("f")->packed == PackedType::Undefined);
  const TensorPtr numbers = unpack(from.get("w").value(), pairs.packed);
  CHECK(numbers->sizes() == ArrayRef<int64_t>({2, 8}));
  if (!detail::host_is_big_endian()) {  // 1.0f ends with 0x3f
    CHECK(numbers->const_data_ptr<float>()[6] == -6);
    CHECK(numbers->const_data_ptr<float>()[7] == 1.5f);
  }
  CHECK(unpack(from.get("s").value(), from.find("s")->packed)->sizes() == ArrayRef<int64_t>({3}));
}

TEST_CASE(
    "torch_file: dtypes and classes that tensors here lack are values, and refused as tensors") {
  const TorchFile from =
      opened(dict({text("dt"), global("torch", "int4"), text("w"), floats(), text("i"),
                   bytes_as("int4", {3}, {1}), text("k"), global("torch.sparse", "FloatTensor")}));
  CHECK(from.value("dt").value().toString() == "torch.int4");
  CHECK(from.get("w").ok());
  CHECK(has(from.get("i").message(), "tenon has no such dtype; save x.view(torch.uint8)"));
  CHECK(from.value("k").error() == Error::NotSupported);
}

TEST_CASE("torch_file: a CUDA storage is read as the host's") {
  for (const char* const module : {"torch", "torch.cuda"}) {
    const TorchFile from =
        opened(tensor(storage("0", 6, "FloatStorage", module, "cuda:0"), 1, {2}, {2}));
    CHECK(from.infos()[0].storage == "0");
    CHECK(from.get(0).value()->const_data_ptr<float>()[2] == 4);
  }
}

TEST_CASE("torch_file: an empty storage, which may begin at any byte") {
  const std::string bytes =
      archive({{"a/data.pkl", pickle(tensor(storage("0", 0, "FloatStorage"), 0, {0}, {1}))},
               {"a/data/0", ""}});
  CHECK(open(bytes).value().get(0).value()->numel() == 0);
}

// A promise of docs/guarantees.md.
TEST_CASE("torch_file: a pickle of more than 256 MiB is refused") {
  constexpr uint64_t kSize = (uint64_t{1} << 28) + 1;
  const TempFolder folder;
  // An archive of an entry of one byte, at 64, of which a hole makes many.
  std::string bytes = archive({{"a/data.pkl", "N"}});
  const auto patch = [&](size_t at, uint64_t value) { bytes.replace(at, 4, number(value, 4)); };
  patch(65 + 20, kSize);
  patch(65 + 24, kSize);
  patch(bytes.size() - 6, 64 + kSize);
  std::ofstream out(folder / "large.pt", std::ios::binary);
  out.write(bytes.data(), 64);
  out.seekp(static_cast<std::streamoff>(64 + kSize));
  out.write(bytes.data() + 65, static_cast<std::streamsize>(bytes.size() - 65));
  out.close();
  const Result<TorchFile> made = TorchFile::open(folder / "large.pt");
  CHECK(made.error() == Error::NotSupported);
  CHECK(has(made.message(), "data.pkl: it has 268435457 bytes, expected at most 268435456"));
}

// A promise of docs/guarantees.md.
TEST_CASE("torch_file: a file's sizes take no memory before they are checked") {
  if (!heap_is_counted()) return;
  const std::string hostile[] = {
      file(tensor(storage("0", INT64_MAX, "FloatStorage"), 0, {INT64_MAX}, {1})),
      file("X\xff\xff\xff\xff"), file("\x8d" + number(INT64_MAX, 8)), file("\x8b" + number(~0u, 4)),
      file("Nr\xff\xff\xff\x7f")};
  for (const std::string& bytes : hostile) {
    const TensorPtr content = memory(bytes);
    start_counting();
    const Error error = TorchFile::open(content).error();
    stop_counting();
    CHECK(error == Error::InvalidArgument);
    CHECK(allocations() < 100);
  }
  // Values in few blocks: their count costs no allocation each.
  std::string many;
  for (int i = 0; i < 20'000; ++i) many += integer(i);
  const TensorPtr content = memory(file(dict({text("n"), "](" + many + "e", text("w"), floats()})));
  start_counting();
  const Error error = TorchFile::open(content).error();
  stop_counting();
  CHECK(error == Error::Ok);
  CHECK(allocations() < 150);
}

// A promise of docs/guarantees.md.
TEST_CASE("torch_file: what reaches beyond a storage is refused, with the tensor") {
  const std::string of = storage("0", 6, "FloatStorage");
  CHECK(
      has(message(dict({text("w"), tensor(of, 0, {7}, {1})})),
          "tensor \"w\": sizes {7}, strides {1} from element 0 reach beyond its storage, 24 bytes "
          "from byte "));
  CHECK(has(message(dict({text("w"), tensor(storage("0", 7, "FloatStorage"), 0, {1}, {1})})),
            "tensor \"w\": elements 0 to 6 reach beyond its storage, 24 bytes from byte "));
  for (const std::string& object :
       {tensor(of, 1, {6}, {1}), tensor(of, -1, {2}, {1}), tensor(of, 0, {2}, {-1}),
        tensor(of, INT64_MAX, {1}, {1}), tensor(of, 0, {INT64_MAX}, {1}),
        tensor(of, 0, {3}, {INT64_MAX}), tensor(of, 0, {-1}, {1}),
        tensor(of, 0, {INT64_MAX, INT64_MAX}, {0, 0}),
        tensor(storage("0", 7, "FloatStorage"), 0, {1}, {1}),
        tensor(storage("0", INT64_MAX, "DoubleStorage"), 0, {1}, {1}),
        tensor(storage("1", 6, "FloatStorage"), 0, {1}, {1})}) {
    CHECK(open(file(object)).error() == Error::InvalidArgument);
  }
  CHECK(opened(tensor(of, 3, {3, 1}, {1, INT64_MAX})).get(0).ok());
  CHECK(opened(tensor(of, 100, {0, 2}, {2, 1})).get(0).ok());
}

// A promise of docs/guarantees.md.
TEST_CASE("torch_file: lists that grow after a tensor was made of them change nothing of it") {
  const std::string made = global("torch._utils", "_rebuild_tensor_v2") +
                           tuple({storage("0", 6, "FloatStorage"), integer(0), "h\x05", "h\x06",
                                  "\x89", global("collections", "OrderedDict") + ")R"}) +
                           "R";
  const std::string more = "h\x05(" + integer(1000000) + integer(1000000) + "e";
  const TorchFile grown =
      opened("(" + list({integer(4)}) + "q\x05" + list({integer(1)}) + "q\x06" + made + more + "t");
  REQUIRE(grown.size() == 1);
  CHECK(grown.infos()[0].sizes == Dims{4});
  CHECK(grown.infos()[0].strides == Dims{1});
  CHECK(grown.get(0).value()->numel() == 4);
}

TEST_CASE("torch_file: a long key of a storage is refused, since each tensor would copy it") {
  CHECK(has(message(tensor(storage(std::string(256, 'k'), 6, "FloatStorage"), 0, {1}, {1})),
            "a storage's key has 256 bytes, expected at most 255"));
}

// A promise of docs/guarantees.md.
TEST_CASE("torch_file: any other class or function is refused by its name, at its byte") {
  const std::string made = message(global("posix", "system") + tuple({text("true")}) + "R");
  CHECK(has(made, "the file makes a `posix.system` (byte 66)"));
  CHECK(has(made, "torch.save(model.state_dict(), path)"));
  CHECK(open(file(text("os") + text("system") + "\x93")).error() == Error::NotSupported);
  CHECK(open(file(global("torch", "load"))).error() == Error::NotSupported);
  CHECK(open(file(global("torch.storage", "_load_from_bytes"))).error() == Error::NotSupported);
}

TEST_CASE("torch_file: a file of another kind is named for what it is") {
  const auto named = [](const std::string& bytes) { return std::string(open(bytes).message()); };
  CHECK(has(named(archive({{"m/data.pkl", ""}, {"m/code/a.py", ""}, {"m/constants.pkl", ""}})),
            "a TorchScript archive"));
  CHECK(has(named(archive({{"m/data/aotinductor/model/a.so", ""}, {"m/archive_format", "pt2"}})),
            "an AOTInductor package"));
  CHECK(has(named(archive({{"m/models/model.json", ""}, {"m/archive_format", "pt2"}})),
            "a program of torch.export"));
  CHECK(has(named(archive({{"m/version", "3"}, {"m/byteorder", "little"}})),
            "the archive has no data.pkl: torch.save did not finish"));
  CHECK(has(named(archive({{"a.npy", ""}})), "; expected a file of torch.save"));
  CHECK(has(named("GGUF" + number(3, 20)), "interop/gguf.h opens it"));
  CHECK(has(named(number(2, 8) + "{}"), "interop/safetensors.h opens it"));
  CHECK(has(named(number(0, 4) + "ET12" + number(0, 20)), "ExecuTorchModule"));
  std::string tar(512, '\0');
  tar.replace(0, 8, "sys_info").replace(257, 5, "ustar");
  CHECK(has(named(tar),
            "a tar archive, as the first versions of PyTorch wrote; in Python "
            "torch.save(torch.load(path, weights_only=False), path)"));
  CHECK(has(named("hello"),
            "not a file of torch.save (5 bytes): neither a zip archive nor the "
            "form before PyTorch 1.6"));
  CHECK(has(named(""), "not a file of torch.save"));
}

// A promise of docs/guarantees.md.
TEST_CASE("torch_file: containers in themselves, or in many others, are refused") {
  // A list that is in itself; a level of two each of the one below.
  CHECK(has(message("]q\x01h\x01"
                    "ah\x01"
                    "a"),
            "more than 100 containers are nested"));
  std::string doubling = floats() + "q" + std::string(1, '\0');
  for (char i = 0; i < 60; ++i) {
    const std::string get = std::string("h") + i;
    doubling += "](" + get + get + "e" + "q" + std::string(1, static_cast<char>(i + 1));
  }
  CHECK(has(message("(" + doubling + "t"), "the names take more than"));
  std::string deep;
  for (int i = 0; i < 200; ++i) deep += "]";
  for (int i = 0; i < 199; ++i) deep += "a";
  CHECK(has(message(deep), "more than 100 containers are nested"));
}

// A promise of docs/guarantees.md.
TEST_CASE("torch_file: a mutated file gives tensors or errors") {
  const std::string whole =
      file(dict({text("model"), dict({text("w"), floats(), text("p"), integer(3)}), text("l"),
                 list({integer(1), "N", text("a")}), text("t"), "h\0", text("f"),
                 "G\x3f\xf0" + number(0, 6)}));
  const std::string object = dict({text("w"), floats(), text("n"), integers({1, 2})});
  const std::string old = pickle(
                              "\x8a\x0al\xfc\x9c"
                              "F\xf9 j\xa8P\x19") +
                          pickle("M\xe9\x03") + pickle("}") + pickle(object) +
                          pickle(list({text("0")})) + number(6, 8) + std::string(24, '\1');
  REQUIRE(open(old).ok());
  std::mt19937 random(7);
  for (const std::string& from : {file(object), whole, old}) {
    for (int i = 0; i < TENON_MUTANTS; ++i) {
      std::string bytes = from;
      for (unsigned k = random() % 4 + 1; k > 0; --k) {
        bytes[random() % bytes.size()] = static_cast<char>(random());
      }
      if (random() % 8 == 0) bytes.resize(random() % bytes.size());
      const Result<TorchFile> made = open(bytes);
      if (!made.ok()) continue;
      for (size_t k = 0; k < made->size(); ++k) {
        const Result<TensorPtr> got = made->get(k);
        if (got.ok() && (*got)->numel() < 100) {
          static_cast<void>(clone_tensor_ptr(*got));
        }
      }
      for (const std::string& name : made->value_names()) static_cast<void>(made->value(name));
    }
  }
}

TEST_CASE("torch_file: threads read one file", "[threads][TorchFile][TorchTensorInfo]") {
  const TorchFile from = opened(dict({text("w"), floats(), text("n"), integer(3)}));
  std::vector<std::thread> threads;
  std::vector<int> wrong(4);
  for (size_t k = 0; k < wrong.size(); ++k) {
    threads.emplace_back([&, k] {
      const TorchFile copy = from;
      for (int i = 0; i < 50; ++i) {
        const Result<TensorPtr> got = copy.get("w");
        const bool is_right = got.ok() && (*got)->const_data_ptr<float>()[5] == 6 &&
                              copy.find("w")->nbytes == 24 && copy.value("n")->toInt() == 3;
        wrong[k] += is_right ? 0 : 1;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == std::vector<int>(4));
}

TEST_CASE("torch_file: each allocation may fail") {
  const TensorPtr bytes = memory(file(dict({text("w"), floats(), text("n"), text("x")})));
  fail_each("TorchFile::open", recovers(), [&] {
    Result<TorchFile> made = TorchFile::open(bytes);
    if (!made.ok()) return made.error();
    if (const Result<TensorPtr> got = made->get("w"); !got.ok()) return got.error();
    return made->value("n").error();
  });
}

}  // namespace torch_file_test
