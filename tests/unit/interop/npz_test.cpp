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

/// A file in an archive that is made by hand.
struct Item {
  std::string name;
  std::string bytes;     // as they lie in the archive
  std::string own_name;  // in its header
  size_t size;           // unpacked
  bool is_deflated;
  ptrdiff_t place;  // where the directory says that it is; -1 for where it is

  Item(const std::string& named, const Bytes& stored)
      : name(named),
        bytes(stored.begin(), stored.end()),
        own_name(named),
        size(bytes.size()),
        is_deflated(false),
        place(-1) {}
};

void append_number(std::string& out, uint64_t value, int count) {
  for (int i = 0; i < count; ++i) out += static_cast<char>(value >> (8 * i));
}
void append_zip_header(std::string& out, const Item& item, bool in_directory) {
  out += in_directory ? std::string("PK\1\2\x14\0", 6) : std::string("PK\3\4", 4);
  append_number(out, 20, 2);
  append_number(out, 0, 2);
  append_number(out, item.is_deflated ? 8 : 0, 2);
  append_number(out, 33 << 16, 4);
  append_number(
      out, ::crc32_z(0, reinterpret_cast<const Bytef*>(item.bytes.data()), item.bytes.size()), 4);
  append_number(out, item.bytes.size(), 4);
  append_number(out, item.size, 4);
  append_number(out, item.name.size(), 2);
  append_number(out, 0, 2);
}
Bytes make_zip(const std::vector<Item>& items) {
  std::string out;
  std::string directory;
  for (const Item& item : items) {
    append_zip_header(directory, item, true);
    directory.append(10, '\0');
    append_number(directory, item.place >= 0 ? static_cast<size_t>(item.place) : out.size(), 4);
    directory += item.name;
    append_zip_header(out, item, false);
    out += item.own_name + item.bytes;
  }
  const size_t begin = out.size();
  out += directory + std::string("PK\5\6\0\0\0\0", 8);
  append_number(out, items.size(), 2);
  append_number(out, items.size(), 2);
  append_number(out, directory.size(), 4);
  append_number(out, begin, 4);
  append_number(out, 0, 2);
  return Bytes(out.begin(), out.end());
}

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

TEST_CASE("npz: an archive in memory is the file's, and its arrays are over the bytes") {
  const Saved saved;
  const std::vector<NamedTensor> tensors = {{"a", make_tensor_ptr({2}, {1.0, 2.0})},
                                            {"b", transpose(ones({2, 3}), 0, 1)}};
  for (const NpzPacking packing : kPackings) {
    REQUIRE(write_npz(saved.path, tensors, packing) == Error::Ok);
    auto archive = empty({0}, ScalarType::Byte, TensorShapeDynamism::DYNAMIC_UNBOUND);
    REQUIRE(write_npz(archive, tensors, packing) == Error::Ok);
    Bytes sent;
    REQUIRE(write_npz(
                [&](const void* bytes, size_t count) {
                  const auto* const first = static_cast<const uint8_t*>(bytes);
                  sent.insert(sent.end(), first, first + count);
                  return Error::Ok;
                },
                tensors, packing) == Error::Ok);
    CHECK(values<uint8_t>(*archive) == file_bytes(saved.path));
    CHECK(sent == file_bytes(saved.path));
    const auto* const begin = static_cast<const char*>(const_data_ptr(archive));
    const int64_t size = archive->numel();
    const NpzFile file = NpzFile::open(archive).value();
    archive.reset();
    const TensorPtr a = file.get("a", NpyMemory::Map).value();
    CHECK(values<double>(*a) == std::vector<double>{1, 2});
    CHECK(is_readonly(a));
    const auto* const data = static_cast<const char*>(const_data_ptr(a));
    CHECK((data >= begin && data < begin + size) == (packing == NpzPacking::Store));
  }
}

TEST_CASE(
    "npz: bytes that are no archive are refused without a path, and a failed write is undone") {
  FAILS(InvalidArgument, "NpzFile::open: a .npy file; expected an .npz file",
        NpzFile::open(Blob::of(reinterpret_cast<const uint8_t*>("\x93NUMPY...."), {10})));
  FAILS(InvalidState, "NpzFile::open: the source tensor is undefined", NpzFile::open(TensorPtr()));
  const auto bytes = empty({3}, ScalarType::Byte, TensorShapeDynamism::DYNAMIC_UNBOUND);
#if TENON_HAS_EXCEPTIONS
  RETURNS(Internal, "write_npz: array \"a\": on_progress: mine",
          write_npz(bytes, {{"a", ones({3})}}, NpzPacking::Store, [&](uint64_t, uint64_t) {
            check(resize_tensor(bytes, {3}));
            throw std::runtime_error("mine");
          }));
  CHECK(bytes->numel() == 3);
#endif
  RETURNS(AccessFailed, "write_npz: array \"a\": the function that receives the bytes: ",
          write_npz([](const void*, size_t) { return Error::AccessFailed; }, {{"a", ones({3})}}));
  RETURNS(InvalidState, "the tensor was resized while it was written",
          write_npz(bytes, {{"a", ones({3})}}, NpzPacking::Store,
                    [&](uint64_t, uint64_t) { check(resize_tensor(bytes, {1})); }));
  CHECK(bytes->numel() == 1);
}

TEST_CASE("npz: dtypes that NumPy lacks are read with a type") {
  const Saved saved;
  REQUIRE(write_npz(saved.path, {{"b", full({2}, 1.5, ScalarType::BFloat16)}}) == Error::Ok);
  const NpzFile file = saved.open();
  CHECK(file.infos()[0].type == ScalarType::Undefined);
  CHECK(file.infos()[0].dtype == (detail::host_is_big_endian() ? ">V2" : "<V2"));
  CHECK(file.infos()[0].sizes == Dims({2}));
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
    RETURNS(InvalidArgument,
            bytes.size() > 10
                ? "a .npy file; expected an .npz file"
                : "the zip archive is cut or broken: there is no end of its directory",
            Error(NpzFile::open(saved.path)));
  }
  REQUIRE(write_npz(saved.path, {}) == Error::Ok);
  CHECK(saved.open().size() == 0);
  RETURNS(NotFound, "NpzFile::get: array \"a\": it is not among the 0 arrays",
          Error(saved.open().get("a")));
  const NpzFile none;
  CHECK(none.size() == 0);
  CHECK(none.find("a") == nullptr);
  CHECK(none.get("a").error() == Error::NotFound);
}

TEST_CASE("npz: arrays are had by their number too") {
  const Saved saved;
  REQUIRE(write_npz(saved.path, {{"b", full({2}, 1)}, {"a", full({3}, 2)}}) == Error::Ok);
  const NpzFile file = saved.open();
  for (size_t i = 0; i < 2; ++i) {
    const TensorPtr t = file.get(i).value();
    CHECK(t->size(0) == static_cast<int64_t>(i + 2));
    CHECK(file.find(file.infos()[i].name) == &file.infos()[i]);
  }
  CHECK(is_readonly(file.get(0, NpyMemory::Map).value()));
  CHECK(file.get(1, ScalarType::Byte).error() == Error::InvalidType);
  RETURNS(OutOfBounds, "NpzFile::get: array 2 of 2", Error(file.get(2)));
  RETURNS(OutOfBounds, "NpzFile::get: array 0 of 0", Error(NpzFile().get(0)));
  CHECK(file.find("") == nullptr);
  RETURNS(OutOfBounds, "array 5 of 2", Error(file.get(5, ScalarType::Byte)));
  for (const std::string_view empty : {std::string_view(), std::string_view("")}) {
    RETURNS(NotFound, "array \"\": it is not among the 2 arrays", Error(file.get(empty)));
  }
}

TEST_CASE("npz: headers are read when they are asked for") {
  const Saved saved;
  Item broken("a.npy", to_npy(ones({4})));
  broken.bytes[3] = 'x';
  Item none("b.npy", {});
  none.own_name = "c.npy";
  put_file(saved.path, make_zip({broken, none, Item("c.npy", to_npy(ones({5})))}));
  const NpzFile file = saved.open();
  CHECK(file.get("c").value()->numel() == 5);
  CHECK(file.find("c")->dtype == (detail::host_is_big_endian() ? ">f4" : "<f4"));
  CHECK(file.find("c")->sizes == Dims({5}));
  REQUIRE(file.infos().size() == 3);
  CHECK(file.infos()[0].dtype.empty());
  CHECK(file.infos()[0].type == ScalarType::Undefined);
  RETURNS(InvalidArgument, "array \"a\": not a .npy file", Error(file.get(0)));
  RETURNS(InvalidArgument, "array \"b\": its header, at offset ", Error(file.get(1)));
}

// A promise of docs/guarantees.md.
TEST_CASE(
    "npz: files over one another, or over the directory, are refused as by Python's zipfile") {
  const Saved saved;
  const Bytes array = to_npy(ones({4}));
  const auto open = [&](const std::vector<Item>& items) {
    put_file(saved.path, make_zip(items));
    return saved.open();
  };
  Item same("b.npy", {});
  same.place = 0;
  same.size = array.size();
  same.bytes.assign(array.begin(), array.end());
  const NpzFile one = open({Item("a.npy", array), same});  // two names of one file
  RETURNS(InvalidArgument, "array \"a\": its 144 bytes, at offset 35, overlap the next file",
          Error(one.get("a")));
  RETURNS(InvalidArgument, "array \"b\": its header, at offset 0, has another file's name",
          Error(one.get("b")));
  CHECK(one.infos()[0].dtype.empty());

  const Bytes inner = make_zip({Item("b.npy", array)});  // in the elements of another
  const TensorPtr outer =
      from_binary(inner, {static_cast<int64_t>(inner.size())}, ScalarType::Byte);
  Item nested("b.npy", array);
  nested.place = 30 + 5 + 128;
  const NpzFile quine = open({Item("a.npy", to_npy(outer)), nested});
  RETURNS(InvalidArgument, "overlap the next file", Error(quine.get("a")));
  RETURNS(InvalidArgument, "overlap the next file", Error(quine.get("a", NpyMemory::Map)));

  Bytes whole = make_zip({Item("a.npy", array)});
  for (const size_t at :
       {size_t{18}, size_t{22}, whole.size() - 22 - 51 + 20, whole.size() - 22 - 51 + 24}) {
    ++whole[at];  // the sizes: one more
  }
  put_file(saved.path, whole);
  RETURNS(InvalidArgument, "or its directory", Error(saved.open().get("a")));
}

// A promise of docs/guarantees.md.
TEST_CASE("npz: a header may not unpack to far more than its bytes") {
  std::string text = "{'descr': '|u1', 'fortran_order': False, 'shape': (1,), }";
  const size_t size = size_t{1} << 20;
  text.resize(size, ' ');
  std::string file("\x93NUMPY\2\0", 8);
  append_number(file, size, 4);
  file += text + '\7';
  Item bomb("a.npy", Bytes(2048));
  z_stream deflating = {};
  REQUIRE(::deflateInit2(&deflating, 9, Z_DEFLATED, -MAX_WBITS, 9, Z_DEFAULT_STRATEGY) == Z_OK);
  deflating.next_in = reinterpret_cast<Bytef*>(&file[0]);
  deflating.avail_in = static_cast<uInt>(file.size());
  deflating.next_out = reinterpret_cast<Bytef*>(&bomb.bytes[0]);
  deflating.avail_out = static_cast<uInt>(bomb.bytes.size());
  REQUIRE(::deflate(&deflating, Z_FINISH) == Z_STREAM_END);
  bomb.bytes.resize(deflating.total_out);
  ::deflateEnd(&deflating);
  bomb.is_deflated = true;
  bomb.size = file.size();
  const Saved saved;
  put_file(saved.path, make_zip({bomb}));
  RETURNS(InvalidArgument, "the header has 1048576 bytes; expected at most",
          Error(saved.open().get(0)));
  CHECK(saved.open().infos()[0].dtype.empty());
}

TEST_CASE("npz: another kind of file is named") {
  const Saved saved;
  put_file(saved.path, {0x1f, 0x8b, 8, 0, 0});
  RETURNS(InvalidArgument, saved.path + ": a gzip file; expected an .npz file; unpack it first",
          Error(NpzFile::open(saved.path)));
  put_file(saved.path, make_zip({Item("a/data.pkl", {0x80, 2, '}'})}));
  RETURNS(InvalidArgument, ": a PyTorch file (a zip archive); expected an .npz file",
          Error(NpzFile::open(saved.path)));
  put_file(saved.path, make_zip({Item("note.txt", {'1'})}));
  RETURNS(InvalidArgument,
          ": a zip archive, as .npz files are; expected an .npz file, of .npy files",
          Error(NpzFile::open(saved.path)));
  // Beside an array.
  put_file(saved.path, make_zip({Item("a/data.pkl", {0x80, 2, '}'}), Item("b.npy", {'1'})}));
  RETURNS(InvalidArgument, "array \"a/data.pkl\": a Python pickle; expected a .npy file",
          Error(saved.open().get(0)));
}

TEST_CASE("write_npz: in place, an array that cannot be written leaves the old file whole") {
  const Saved saved;
  put_file(saved.path, {'o', 'l', 'd'});
  std::filesystem::create_hard_link(saved.path, saved.folder / "name");
  const std::vector<NamedTensor> wrong = {{"a", ones({1})}, {"b", TensorPtr()}};
  for (const NpzPacking packing : kPackings) {
    RETURNS(InvalidState, "array \"b\"",
            write_npz(saved.path, wrong, packing, {}, FileWrite::InPlace));
    CHECK(file_bytes(saved.path) == Bytes{'o', 'l', 'd'});
  }
  for (const NpzPacking packing : kPackings) {
    REQUIRE(write_npz(saved.path, {{"a", arange(5)}}, packing, {}, FileWrite::InPlace) ==
            Error::Ok);
    CHECK(NpzFile::open(saved.folder / "name").value().get("a").value()->numel() == 5);
  }
  CHECK(saved.folder.names().size() == 2);
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
  const NpzFile file = saved.open();
  REQUIRE(file.infos().size() == 65534);
  for (const NpzInfo& info : file.infos()) {  // each in no more than log(65534) steps
    REQUIRE(file.find(info.name) == &info);
  }
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
    const auto size = static_cast<int64_t>(bytes.size());
    if (i % 8 == 0) put_file(saved.path, bytes);
    const Result<NpzFile> file =
        i % 8 == 0 ? NpzFile::open(saved.path) : NpzFile::open(Blob::of(bytes.data(), {size}));
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
          const NpzInfo* const info = k % 2 == 0 ? file.find(std::to_string(i)) : nullptr;
          wrong[k] += info == nullptr || info->sizes == Dims({10}) ? 0 : 1;
          if (k == 3) wrong[k] += file.infos()[static_cast<size_t>(i)].dtype.empty() ? 1 : 0;
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
    fail_each("infos", recovers(), [&] {  // what there is no memory for has no dtype
      const Result<NpzFile> again = NpzFile::open(path);
      if (!again.ok()) return again.error();
      const auto infos = again->infos();
      if (*infos[0].dtype.c_str() == '\0' || *infos[1].dtype.c_str() == '\0') {
        return Error::OutOfMemory;
      }
      return infos[0].sizes == Dims({4}) && infos[1].sizes == Dims({3, 2}) ? Error::Ok
                                                                           : Error::Internal;
    });
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
