// SPDX-License-Identifier: MIT
#include "tenon/interop/runtimes/aoti_package.h"

#include <random>

#include "allocation/counting_malloc.h"
#include "interop/runtimes/aoti/models.h"

namespace aoti_package_test {

using namespace tenon;
using namespace tests;
using tenon::detail::AotiPackage;

namespace {

// $TMPDIR for a scope, and what is left there.
class TemporaryFolder {
 public:
  TemporaryFolder() { ::setenv("TMPDIR", (folder_ / "").c_str(), 1); }
  ~TemporaryFolder() { ::unsetenv("TMPDIR"); }
  size_t files() const { return folder_.names().size(); }

 private:
  TempFolder folder_;
};

}  // namespace

TEST_CASE("aoti package: the model's library lies in a private file, of which nothing is left") {
  TempFolder folder;
  const std::string path = folder / "fake.pt2";
  write_package(path, fake_package());
  const TemporaryFolder temporary;
  {
    AotiPackage package;
    REQUIRE(detail::read_aoti_package(path.c_str(), "model", package) == Error::Ok);
    const bool has_name = !contains(package.library.path(), "/proc/self/fd/");
    CHECK(temporary.files() == (has_name ? 1 : 0));
    CHECK(file_bytes(package.library.path()) == file_bytes(model_path("fake_model")));
    struct stat status;
    REQUIRE(::stat(package.library.path(), &status) == 0);
    CHECK((status.st_mode & 0777) == 0600);
    CHECK(contains(package.metadata, "\"AOTI_DEVICE_KEY\": \"cpu\""));
    CHECK(package.weights.empty());
  }
  CHECK(temporary.files() == 0);
  CHECK(AotiModel::load(path).error() == Error::Ok);
  CHECK(temporary.files() == 0);
}

TEST_CASE("aoti package: a file without a name is not taken for an older one") {
  TempFolder folder;
  const std::string path = folder / "fake.pt2";
  std::vector<Entry> entries = fake_package();
  write_package(path, entries);
  AotiModule first(AotiModel::load(path).value());
  give_bias(first);
  // Another library, whose descriptor has the first one's number.
  const std::string name = "output1";
  std::vector<uint8_t>& library = entries[2].bytes;
  const auto at = std::search(library.begin(), library.end(), name.begin(), name.end());
  REQUIRE(at != library.end());
  at[6] = '2';
  entries[1].bytes = bytes_of("{}");
  write_package(path, entries);
  AotiModule second(AotiModel::load(path).value());
  CHECK(second.method_meta()->outputs[1].tensor.name == "output2");
  CHECK(first.forward(*input_for(Does::NoSecondOutput)).ok());
}

TEST_CASE("aoti package: what cannot be in the file is refused before it is unpacked") {
  TempFolder folder;
  const std::string path = folder / "bomb.pt2";
  const TemporaryFolder temporary;
  const auto broken = "the package is cut or broken";
  const std::vector<Entry> zeros = {
      {"a/data/aotinductor/model/a_weights.blob", std::vector<uint8_t>(size_t{1} << 22)}};
  write_package(path, zeros, 9);
  std::vector<uint8_t> bytes = file_bytes(path);
  REQUIRE(bytes.size() * 500 < zeros[0].bytes.size());
  RETURNS(InvalidArgument,
          "the package unpacks to more than 100 times its " + std::to_string(bytes.size()),
          AotiModel::load(path).error());
  CHECK(AotiModel::missing_functions(path).error() == Error::InvalidArgument);
  // Of the entry in the directory: 10 its method, 20 its size in the file, 24 unpacked.
  const std::string mark = "PK\1\2";
  const auto entry = [&] {
    return std::search(bytes.begin(), bytes.end(), mark.begin(), mark.end());
  };
  SECTION("more bytes than the file has") {
    std::fill_n(entry() + 20, 4, uint8_t{0x7f});
    put_file(path, bytes);
    RETURNS(InvalidArgument, broken, AotiModel::load(path).error());
  }
  SECTION("a stored entry of another size") {
    write_package(path, {{"a/data/aotinductor/model/a_weights.blob", bytes_of("weights")}});
    bytes = file_bytes(path);
    entry()[24] += 1;
    put_file(path, bytes);
    RETURNS(InvalidArgument, broken, AotiModel::load(path).error());
  }
  SECTION("a packed entry that has less than it says") {
    write_package(path, {{"a/data/aotinductor/model/a_weights.blob", bytes_of("weights")}}, 9);
    bytes = file_bytes(path);
    entry()[24] += 1;
    put_file(path, bytes);
    RETURNS(InvalidArgument, broken, AotiModel::load(path).error());
  }
  SECTION("a second of what there is once") {
    std::vector<Entry> entries = fake_package();
    entries.push_back(entries[2]);
    entries.back().name = "fake/data/aotinductor/model/b.wrapper.so";
    write_package(path, entries);
    RETURNS(InvalidArgument, "the package has a second fake/data/aotinductor/model/b.wrapper.so",
            AotiModel::load(path).error());
    entries.pop_back();
    entries.push_back(entries[2]);
    entries.back().name = "fake/data/aotinductor/model/b.wrapper.cpp";
    write_package(path, entries);
    RETURNS(InvalidArgument, "the package has a second fake/data/aotinductor/model/b.wrapper.cpp",
            AotiModel::load(path).error());
  }
  CHECK(temporary.files() == 0);
}

TEST_CASE("aoti package: weights beside the library are loaded") {
  const float scale[] = {3, 3, 3, 3};
  std::vector<uint8_t> weights(32);  // and the bias, which it does not read
  std::memcpy(weights.data(), scale, sizeof scale);
  TempFolder folder;
  std::string path = folder / "fake.pt2";
  std::vector<Entry> entries = fake_package();
  SECTION("in a package") {
    entries.push_back({"fake/data/aotinductor/model/a.wrapper_weights.blob", weights});
    write_package(path, entries);
  }
  SECTION("in a compressed package") {
    entries.push_back({"fake/data/aotinductor/model/a.wrapper_weights.blob", weights});
    write_package(path, entries, 6);
  }
  SECTION("in a file") {
    path = folder / "a.wrapper.so";
    put_file(path, entries[2].bytes);
    put_file(folder / "a.wrapper_weights.blob", weights);
    put_file(folder / "a.wrapper.cpp", entries[0].bytes);
  }
  AotiModel model = AotiModel::load(path).value();
  give_bias(model);
  AotiModule module(model);
  CHECK(module.forward(*ones({1, 4}))->at(0).toTensor().const_data_ptr<float>()[1] == 3);
}

TEST_CASE("aoti package: weights that are too few are refused before the library reads them") {
  TempFolder folder;
  const std::string path = folder / "a.wrapper.so";
  put_file(path, file_bytes(model_path("fake_model")));
  put_file(folder / "a.wrapper_weights.blob", std::vector<uint8_t>(31));
  RETURNS(InvalidArgument, "the weights have 31 bytes, but the model's constants have 32",
          AotiModel::load(path).error());
}

TEST_CASE("aoti package: a model is chosen by its name") {
  TempFolder folder;
  const std::string path = folder / "two.pt2";
  std::vector<Entry> entries = fake_package();
  for (Entry& entry : entries) {
    const size_t at = entry.name.find("/model/");
    if (at != std::string::npos) entry.name.replace(at, 7, "/encoder/");
  }
  write_package(path, entries);
  RETURNS(NotFound, "the package has no model \"model\"; it has the model encoder",
          AotiModel::load(path).error());
  AotiOptions options;
  options.model = "encoder";
  CHECK(AotiModel::load(path, options).error() == Error::Ok);
  write_package(path, {{"readme.txt", bytes_of("hello")}});
  RETURNS(NotFound, "the package has no model \"model\"", AotiModel::load(path).error());
}

TEST_CASE("aoti package: no folder for the temporary file is an error") {
  TempFolder folder;
  const std::string path = folder / "fake.pt2";
  write_package(path, fake_package());
  ::setenv("TMPDIR", "/nowhere/at/all", 1);
  RETURNS(AccessFailed,
          "fake.pt2: cannot create a temporary file: ", AotiModel::load(path).error());
  ::unsetenv("TMPDIR");
}

TEST_CASE("aoti package: whichever allocation fails, unpacking is an error and leaves no file") {
  if (!heap_is_counted()) return;
  TempFolder folder;
  const std::string path = folder / "fake.pt2";
  write_package(path, fake_package());
  const TemporaryFolder temporary;
  int failed = 0;
  for (int64_t n = 1;; ++n) {
    AotiPackage package;
    const std::string name = "model";
    start_counting(n);
    const Error error =
        detail::call_safely([&] { return detail::read_aoti_package(path.c_str(), name, package); });
    stop_counting();
    if (failures() == 0) break;
    // The C library reads without a buffer where it has no memory for one.
    if (error == Error::Ok) {
      CHECK(file_bytes(package.library.path()) == file_bytes(model_path("fake_model")));
    }
    failed += error != Error::Ok ? 1 : 0;
  }
  CHECK(failed > 5);
  CHECK(temporary.files() == 0);
}

// Its checksum keeps a changed library from being run. The sanitizers see what reads beyond an end.
TEST_CASE("aoti package: whatever bytes and texts are changed, that is an error or no harm") {
  constexpr int kRuns = 300;
  TempFolder folder;
  const std::string path = folder / "fake.pt2";
  const std::vector<Entry> whole =
      fake_package("x float32 1<=batch<=8 4 strides=4,1", fake_source(), "z float32 2*batch");
  write_package(path, whole);
  const std::vector<uint8_t> package = file_bytes(path);
  const std::vector<uint8_t>& library = whole[2].bytes;
  std::mt19937 random(1);
  const auto below = [&](size_t count) { return random() % count; };
  const std::string words[] = {"<=",   "*",       "=",  ";",  " ",        "9223372036854775807",
                               "-1",   "{",       "\"", "\\", "strides=", "order=1,0",
                               "none", "Double=", "0",  "+",  "\n"};
  const auto change = [&](std::vector<uint8_t>& bytes, size_t begin) {
    for (size_t n = 1 + below(3); n > 0 && bytes.size() > begin; --n) {
      const auto at = bytes.begin() + static_cast<ptrdiff_t>(begin + below(bytes.size() - begin));
      const std::string& word = words[below(std::size(words))];
      switch (below(4)) {
        case 0: *at = static_cast<uint8_t>(random()); break;
        case 1: *at = static_cast<uint8_t>(*at ^ 1U << below(8)); break;
        case 2: bytes.insert(at, word.begin(), word.end()); break;
        default:
          bytes.erase(at,
                      at + static_cast<ptrdiff_t>(below(static_cast<size_t>(bytes.end() - at))));
          break;
      }
    }
  };
  int loaded = 0;
  int refused = 0;
  for (int run = 0; run < kRuns; ++run) {
    INFO(run);
    if (run % 4 == 0) {  // the library's tables: read, never loaded
      std::vector<uint8_t> changed = library;
      const size_t tables = changed.size() - sizeof(Elf64_Shdr) * 24;
      change(changed, below(2) == 0 ? 0 : tables);
      detail::AotiNeeds needs;
      detail::AotiBytes bytes;
      bytes.data = reinterpret_cast<const char*>(changed.data());
      bytes.size = changed.size();
      const Error error = detail::read_aoti_needs(bytes, needs);
      CHECK(
          (error == Error::Ok || error == Error::InvalidArgument || error == Error::NotSupported));
      continue;
    }
    if (run % 4 == 1) {  // the archive: mostly its directory, behind the library
      std::vector<uint8_t> changed = package;
      change(changed, below(3) == 0 ? 0 : changed.size() - 600);
      put_file(path, changed);
    } else {
      std::vector<Entry> changed = whole;
      change(changed[run % 4 == 2 ? 0 : 1].bytes, 0);
      write_package(path, changed);
    }
    Result<AotiModel> model = AotiModel::load(path);
    if (!model.ok()) {
      ++refused;
      continue;
    }
    ++loaded;
    AotiModule module(*model);
    if (module.set_constants({{"layer.bias", *zeros({4})}}) != Error::Ok) continue;
    static_cast<void>(module.run("forward", *input_for(Does::NoSecondOutput)));
  }
  CHECK(loaded > kRuns / 20);
  CHECK(refused > kRuns / 20);
}

}  // namespace aoti_package_test
