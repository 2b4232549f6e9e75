// SPDX-License-Identifier: MIT
// What npz_test.cpp cannot see: how an archive says that a file is larger than 4 GiB, or could be.
#include "tenon/interop/files/npz_writer.h"

#include "interop/files.h"

namespace npz_writer_test {

using namespace tenon;
using namespace tests;

TEST_CASE("zip writer: stored entries are aligned, also those with room for 64-bit sizes") {
  const TempFolder folder;
  const std::string path = folder / "x.zip";
  for (const uint64_t size : {uint64_t{3}, uint64_t{1} << 33}) {
    detail::OutputFile file;
    detail::ZipWriter zip;
    REQUIRE(file.open(path.c_str()) == Error::Ok);
    REQUIRE(zip.open(file) == Error::Ok);
    for (const char* name : {"a", "longer"}) {
      REQUIRE(zip.begin(name, size, false) == Error::Ok);
      REQUIRE(zip.write("xyz", 3, nullptr) == Error::Ok);
      REQUIRE(zip.end() == Error::Ok);
    }
    REQUIRE(zip.finish() == Error::Ok);
    REQUIRE(file.commit(false) == Error::Ok);
    const Bytes bytes = file_bytes(path);
    const std::string text(bytes.begin(), bytes.end());
    const size_t first = text.find("xyz");
    const size_t second = text.find("xyz", first + 1);
    CHECK(first % 64 == 0);
    CHECK(second % 64 == 0);
    CHECK(second - first <= 192);
    // The version that is needed to unpack: 4.5 for 64-bit sizes.
    CHECK(bytes[4] == (size > UINT32_MAX ? 45 : 20));
  }
}

#if defined(__linux__)
TEST_CASE("zip writer: where the device is full the error says so") {
  for (const size_t size : {size_t{3}, size_t{100000}}) {  // of 3, seeking writes
    detail::OutputFile file;
    detail::ZipWriter zip;
    REQUIRE(file.open("/dev/full") == Error::Ok);
    REQUIRE(zip.open(file) == Error::Ok);
    const std::string text(size, 'x');
    Error error = zip.begin("a", text.size(), false);
    if (error == Error::Ok) error = zip.write(text.data(), text.size(), nullptr);
    if (error == Error::Ok) error = zip.end();
    if (error == Error::Ok) error = zip.finish();
    if (error == Error::Ok) error = file.commit(false);
    RETURNS(AccessFailed, std::string("cannot write: ") + std::strerror(ENOSPC), error);
  }
}

TEST_CASE("zip writer: a pipe is refused before anything is written") {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  {
    detail::OutputFile file;
    detail::ZipWriter zip;
    REQUIRE(file.open(("/proc/self/fd/" + std::to_string(ends[1])).c_str()) == Error::Ok);
    RETURNS(AccessFailed, "cannot seek in it: ", zip.open(file));
  }
  ::close(ends[1]);
  char byte;
  CHECK(::read(ends[0], &byte, 1) == 0);
  ::close(ends[0]);
}
#endif

}  // namespace npz_writer_test
