// SPDX-License-Identifier: MIT
// Built by npz/CMakeLists.txt; NumPy's own files are in npz/test_npz.py.
#include "tenon/interop/npz.h"

#include <random>
#include <thread>

#include "allocation/failures.h"
#include "interop/files.h"
#include "tenon/tenon.h"

#if !defined(TENON_MUTANTS)
#define TENON_MUTANTS 5000
#endif

namespace npz_test {

using namespace tenon;
using namespace tests;

namespace {

struct Saved {
  TempFolder folder;
  std::string path = folder / "x.npz";

  NpzFile open() const {
    Result<NpzFile> opened = NpzFile::open(path);
    INFO(opened.message());
    REQUIRE(opened.ok());
    return *opened;
  }
};

constexpr NpzPacking kPackings[] = {NpzPacking::Store, NpzPacking::Deflate};

}  // namespace

TEST_CASE("npz: what was written is read, of every dtype, by name and in order") {
  const Saved saved;
  for (const NpzPacking packing : kPackings) {
    std::vector<NamedTensor> tensors;
    for (const detail::NpyType& type : detail::kNpyTypes) {
      const Bytes bytes(32, 1);
      tensors.emplace_back(
          type.code, from_binary(bytes, {2, static_cast<int64_t>(16 / elementSize(type.type))},
                                 detail::public_type(type.type)));
    }
    tensors.emplace_back("turned", transpose(make_tensor_ptr({2, 3}, {1, 2, 3, 4, 5, 6}), 0, 1));
    tensors.emplace_back("none", zeros({0, 3}));
    REQUIRE(write_npz(saved.path, tensors, packing) == Error::Ok);
    const NpzFile file = saved.open();
    REQUIRE(file.size() == tensors.size());
    for (size_t i = 0; i < tensors.size(); ++i) {
      const Tensor& wanted = tensors[i].tensor;
      const NpzInfo& info = file.infos()[i];
      INFO(info.name);
      CHECK(info.name == tensors[i].name);
      CHECK(info.type == wanted.scalar_type());
      CHECK(info.sizes == Dims(wanted.sizes()));
      CHECK(info.nbytes == 128 + wanted.nbytes());
      CHECK(info.is_deflated == (packing == NpzPacking::Deflate));
      for (const NpyMemory memory : {NpyMemory::Copy, NpyMemory::Map}) {
        const TensorPtr read = file.get(info.name, memory).value();
        CHECK(read->scalar_type() == wanted.scalar_type());
        CHECK(read->sizes() == wanted.sizes());
        CHECK(to_binary(read) == to_binary(wanted));
        CHECK(is_readonly(read) == (memory == NpyMemory::Map));
        const bool is_mapped = memory == NpyMemory::Map && !info.is_copied && wanted.numel() != 0;
        CHECK((ownership(read) == Ownership::Adopted) == is_mapped);
      }
      CHECK(info.is_copied == (packing == NpzPacking::Deflate && wanted.numel() != 0));
    }
  }
}

TEST_CASE("npz: a stored array is mapped at a multiple of 64 bytes, and keeps the mapping") {
  const Saved saved;
  std::vector<NamedTensor> tensors;
  for (size_t n = 1; n < 70; ++n)
    tensors.emplace_back(std::string(n, 'a'), full({static_cast<int64_t>(n)}, n));
  REQUIRE(write_npz(saved.path, tensors) == Error::Ok);
  std::vector<TensorPtr> read;
  {
    const NpzFile file = saved.open();
    for (const NpzInfo& info : file.infos())
      read.push_back(file.get(info.name, NpyMemory::Map).value());
  }
  for (size_t n = 1; n < 70; ++n) {
    const void* const data = const_data_ptr(read[n - 1]);
    CHECK(reinterpret_cast<uintptr_t>(data) % 64 == 0);
    CHECK(const_data_ptr<float>(read[n - 1])[n - 1] == static_cast<float>(n));
#if defined(__linux__)
    CHECK(is_mapped(saved.path, data));
#endif
  }
}

TEST_CASE("npz: dtypes that NumPy lacks are read with a type") {
  const Saved saved;
  REQUIRE(write_npz(saved.path, {{"b", full({2}, 1.5, ScalarType::BFloat16)}}) == Error::Ok);
  const NpzFile file = saved.open();
  CHECK(file.infos()[0].type == ScalarType::Undefined);
  RETURNS(NotSupported, "NpzFile::get: array \"b\": dtype <V2", Error(file.get("b")));
  const TensorPtr b = file.get("b", ScalarType::BFloat16).value();
  CHECK(values<float>(to(b, ScalarType::Float)) == Floats{1.5f, 1.5f});
  RETURNS(InvalidType, "NpzFile::get: ", Error(file.get("b", ScalarType::Undefined)));
}

TEST_CASE("npz: a file that is not an archive, or lacks the array, is an error") {
  const Saved saved;
  RETURNS(NotFound, "NpzFile::open: " + saved.path + ": cannot open",
          Error(NpzFile::open(saved.path)));
  RETURNS(InvalidArgument, "the path is null", Error(NpzFile::open(nullptr)));
  for (const Bytes& bytes : {Bytes(), Bytes(10, 'x'), to_npy(ones({1}))}) {
    put_file(saved.path, bytes);
    RETURNS(InvalidArgument, "the zip archive is cut or broken: there is no end of its directory",
            Error(NpzFile::open(saved.path)));
  }
  REQUIRE(write_npz(saved.path, {}) == Error::Ok);
  CHECK(saved.open().size() == 0);
  RETURNS(NotFound, "NpzFile::get: array \"a\": there is none among the 0",
          Error(saved.open().get("a")));
  const NpzFile none;
  CHECK(none.size() == 0);
  CHECK(none.find("a") == nullptr);
  CHECK(none.get("a").error() == Error::NotFound);
}

TEST_CASE("npz: changed bytes are found by the checksum, unless the array is mapped") {
  const Saved saved;
  for (const NpzPacking packing : kPackings) {
    REQUIRE(write_npz(saved.path, {{"a", arange(1000)}}, packing) == Error::Ok);
    Bytes bytes = file_bytes(saved.path);
    bytes[bytes.size() / 2] ^= 1;
    put_file(saved.path, bytes);
    const NpzFile file = saved.open();
    RETURNS(InvalidArgument, "NpzFile::get: array \"a\": the zip archive is cut or broken",
            Error(file.get("a")));
    CHECK(file.get("a", NpyMemory::Map).ok() == (packing == NpzPacking::Store));
  }
}

TEST_CASE("write_npz: what an archive cannot name is refused, and the old file stays") {
  const Saved saved;
  put_file(saved.path, {'o', 'l', 'd'});
  const TensorPtr t = ones({2});
  RETURNS(InvalidArgument, "write_npz: " + saved.path + ": two tensors are named \"a\"",
          write_npz(saved.path, {{"a", t}, {"a", t}}));
  RETURNS(InvalidArgument, "is empty, longer than 60000", write_npz(saved.path, {{"", t}}));
  RETURNS(InvalidArgument, "is empty, longer than 60000",
          write_npz(saved.path, {{std::string(60001, 'x'), t}}));
  RETURNS(InvalidArgument, "is empty, longer than 60000",
          write_npz(saved.path, {{std::string("a\0b", 3), t}}));
  RETURNS(InvalidArgument, "is not UTF-8", write_npz(saved.path, {{"\xff", t}}));
  for (const NpzPacking packing : kPackings) {
    RETURNS(InvalidState, "array \"b\": the tensor is undefined",
            write_npz(saved.path, {{"a", t}, {"b", TensorPtr()}}, packing));
    RETURNS(NotSupported, "array \"b\": NumPy has no dtype ComplexHalf",
            write_npz(saved.path, {{"a", t}, {"b", zeros({1}, ScalarType::ComplexHalf)}}, packing));
    const ProgressFunction stop = [](uint64_t, uint64_t) { throw std::runtime_error("enough"); };
    RETURNS(Internal, "array \"a\": on_progress: enough",
            write_npz(saved.path, {{"a", t}}, packing, stop));
  }
  CHECK(file_bytes(saved.path) == Bytes{'o', 'l', 'd'});
  CHECK(saved.folder.names().size() == 1);
}

TEST_CASE("write_npz: 65534 arrays are read again, more are refused") {
  const Saved saved;
  std::vector<NamedTensor> tensors;
  const TensorPtr t = zeros({0});
  for (int i = 0; i < 65534; ++i) tensors.emplace_back(std::to_string(i), t);
  REQUIRE(write_npz(saved.path, tensors) == Error::Ok);
  CHECK(saved.open().size() == 65534);
  tensors.emplace_back("more", t);
  RETURNS(NotSupported, ": 65535 arrays, expected at most 65534", write_npz(saved.path, tensors));
  CHECK(saved.open().size() == 65534);
}

TEST_CASE("npz: progress goes up to the elements' bytes, and to the file's when it is read") {
  const Saved saved;
  for (const NpzPacking packing : kPackings) {
    uint64_t last = 0;
    uint64_t end = 12'000'000 + 4;
    const ProgressFunction note = [&](uint64_t done, uint64_t total) {
      CHECK(done > last);
      CHECK(total == end);
      last = done;
    };
    REQUIRE(write_npz(saved.path, {{"a", ones({3'000'000})}, {"b", ones({1})}}, packing, note) ==
            Error::Ok);
    CHECK(last == end);
    last = 0;
    end = 12'000'128;
    REQUIRE(saved.open().get("a", NpyMemory::Copy, note).ok());
    CHECK(last == end);
    const ProgressFunction stop = [](uint64_t, uint64_t) { throw std::runtime_error("enough"); };
    RETURNS(Internal, "on_progress: enough", Error(saved.open().get("a", NpyMemory::Copy, stop)));
  }
}

TEST_CASE("write_npz: on_progress may drop the tensors, and resizes none while it is written") {
  const Saved saved;
  constexpr int kCount = 3'000'000;
  const TensorPtr a = full({kCount}, 1, ScalarType::Float, TensorShapeDynamism::DYNAMIC_UNBOUND);
  const TensorPtr b = full({kCount}, 2, ScalarType::Float, TensorShapeDynamism::DYNAMIC_UNBOUND);
  for (const NpzPacking packing : kPackings) {
    std::vector<NamedTensor> tensors = {{"a", a}, {"b", full({kCount}, 2)}};
    int calls = 0;
    REQUIRE(write_npz(saved.path, tensors, packing, [&](uint64_t, uint64_t) {
              if (++calls == 1) {
                CHECK(resize_tensor(*a, {8 * kCount}) == Error::InUse);
                tensors.clear();
                tensors.shrink_to_fit();
              }
            }) == Error::Ok);
    CHECK(calls >= 2);
    CHECK(values<float>(*saved.open().get("b").value()) == Floats(kCount, 2));
  }
  RETURNS(InvalidState, "array \"b\": it was resized",
          write_npz(saved.path, {{"a", a}, {"b", b}}, NpzPacking::Store,
                    [&](uint64_t, uint64_t) { static_cast<void>(resize_tensor(*b, {1})); }));
}

// A promise of docs/guarantees.md.
TEST_CASE("npz: a mutated archive gives tensors or errors") {
  const Saved saved;
  std::vector<Bytes> wholes;
  for (const NpzPacking packing : kPackings) {
    REQUIRE(write_npz(saved.path, {{"a", arange(40)}, {"bc", ones({2, 3})}}, packing) == Error::Ok);
    wholes.push_back(file_bytes(saved.path));
  }
  std::mt19937 random(1);
  const auto below = [&](size_t n) { return static_cast<size_t>(random()) % n; };
  int opened = 0;
  int read = 0;
  for (int i = 0; i < TENON_MUTANTS; ++i) {
    Bytes bytes = wholes[below(2)];
    for (size_t k = 1 + below(3); k > 0; --k) {
      size_t at = below(bytes.size());
      if (below(2) == 0)
        at = bytes.size() - 1 - below(std::min<size_t>(bytes.size(), 170));  // the directory
      switch (below(8)) {
        case 0: bytes.resize(at + 1); break;
        case 1: bytes.erase(bytes.begin() + static_cast<ptrdiff_t>(at)); break;
        case 2:
          bytes.insert(bytes.begin() + static_cast<ptrdiff_t>(at), static_cast<uint8_t>(random()));
          break;
        case 3: bytes[at] = 0xff; break;
        default: bytes[at] = static_cast<uint8_t>(random());
      }
      if (bytes.empty()) bytes.push_back(0);
    }
    put_file(saved.path, bytes);
    const Result<NpzFile> file = NpzFile::open(saved.path);
    if (!file.ok()) {
      REQUIRE((file.error() == Error::InvalidArgument && *file.message() != '\0'));
      continue;
    }
    ++opened;
    for (const NpzInfo& info : file->infos()) {
      for (const NpyMemory memory : {NpyMemory::Copy, NpyMemory::Map}) {
        const Result<TensorPtr> tensor = file->get(info.name, memory);
        if (tensor.ok()) {
          ++read;
          REQUIRE(to_binary(*tensor).size() == (*tensor)->nbytes());
        } else {
          REQUIRE((tensor.error() != Error::Internal && *tensor.message() != '\0'));
        }
      }
    }
  }
  CHECK(opened > TENON_MUTANTS / 20);
  CHECK(read > TENON_MUTANTS / 20);
}

TEST_CASE("npz: a file leaves errno as it was") {
  const Saved saved;
  errno = 123;
  REQUIRE(write_npz(saved.path, {{"a", ones({1})}}, NpzPacking::Deflate) == Error::Ok);
  static_cast<void>(saved.open().get("a"));
  static_cast<void>(NpzFile::open(saved.folder / "no"));
  CHECK(errno == 123);
}

TEST_CASE("npz: any threads may use a file", "[threads][NpzFile][NpzInfo]") {
  const Saved saved;
  for (const NpzPacking packing : kPackings) {
    std::vector<NamedTensor> tensors;
    for (int i = 0; i < 20; ++i) tensors.emplace_back(std::to_string(i), full({10}, i));
    REQUIRE(write_npz(saved.path, tensors, packing) == Error::Ok);
    const NpzFile file = saved.open();
    std::vector<std::thread> threads;
    std::vector<int> wrong(4);
    for (size_t k = 0; k < wrong.size(); ++k) {
      threads.emplace_back([&, k] {
        for (int i = 0; i < 20; ++i) {
          const Result<TensorPtr> t = file.get(std::to_string(i));
          wrong[k] += t.ok() && const_data_ptr<float>(*t)[9] == static_cast<float>(i) ? 0 : 1;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    CHECK(wrong == std::vector<int>(4));
  }
}

// Not of writing: minizip does not survive when one of its own fails.
TEST_CASE("npz: each allocation of reading may fail") {
  const Saved saved;
  const Tensor t = *ones({4});
  const std::vector<NamedTensor> tensors = {{"a", t}, {"b", transpose(ones({2, 3}), 0, 1)}};
  const std::string path = saved.path;
  for (const NpzPacking packing : kPackings) {
    REQUIRE(write_npz(path, tensors, packing) == Error::Ok);
    fail_each("NpzFile::open", recovers(), [&] { return NpzFile::open(path).error(); });
    const NpzFile file = saved.open();
    fail_each("get", recovers(), [&] { return file.get("b"); });
  }
}

TEST_CASE("npz: arrays of more than 4 GiB", "[.large]") {  // 5 GiB on the disk
  const Saved saved;
  const TensorPtr big = zeros({5, 1 << 30}, ScalarType::Byte);
  REQUIRE(write_npz(saved.path, {{"big", big}, {"a", ones({3})}}) == Error::Ok);
  const NpzFile file = saved.open();
  CHECK(file.get("big", NpyMemory::Map).value()->numel() == int64_t{5} << 30);
  CHECK(values<float>(*file.get("a").value()) == Floats{1, 1, 1});
  CHECK_FALSE(file.find("a")->is_copied);
}

}  // namespace npz_test
