// SPDX-License-Identifier: MIT
// What npz_test.cpp cannot see: the first bytes are had twice, and the whole entry is the array.
#include "tenon/interop/files/npz_reader.h"

#include "interop/files.h"
#include "tenon/interop/npz.h"
#include "tenon/tenon.h"

namespace npz_source_test {

using namespace tenon;
using namespace tests;

TEST_CASE("zip source: reads forward, but the first bytes again") {
  const TempFolder folder;
  for (const NpzPacking packing : {NpzPacking::Store, NpzPacking::Deflate}) {
    REQUIRE(write_npz(folder / "x", {{"a", arange(3)}}, packing) == Error::Ok);
    const Bytes wanted = to_npy(arange(3));
    const Bytes bytes = file_bytes(folder / "x");
    detail::FileBytes archive;
    archive.data = bytes.data();
    archive.size = bytes.size();
    detail::ZipReader zip;
    REQUIRE(zip.open(bytes.data(), bytes.size()) == Error::Ok);
    std::vector<detail::ZipEntry> entries;
    REQUIRE(zip.list(entries) == Error::Ok);
    detail::ZipSource source(entries[0], archive, nullptr, {});
    REQUIRE(source.enter() == Error::Ok);
    Bytes read(wanted.size());
    REQUIRE(source.read(0, read.data(), 12) == Error::Ok);
    REQUIRE(source.read(0, read.data(), 3) == Error::Ok);
    REQUIRE(source.read(10, read.data() + 10, wanted.size() - 10) == Error::Ok);
    CHECK(read == wanted);
    CHECK(source.finish(source.begin + wanted.size()) == Error::Ok);
    detail::ZipSource again(entries[0], archive, nullptr, {});
    REQUIRE(again.enter() == Error::Ok);
    RETURNS(InvalidArgument, "the array ends at byte 128, but its file in the archive has 152",
            again.finish(again.begin + 128));
  }
}

}  // namespace npz_source_test
