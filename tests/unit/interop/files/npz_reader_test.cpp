// SPDX-License-Identifier: MIT
#include "tenon/interop/files/npz_reader.h"

#include "interop/files.h"
#include "tenon/interop/npz.h"
#include "tenon/tenon.h"

namespace npz_reader_test {

using namespace tenon;
using namespace tests;
using tenon::detail::ZipEntry;
using tenon::detail::ZipReader;

namespace {

Bytes archive(NpzPacking packing) {
  const TempFolder folder;
  REQUIRE(write_npz(folder / "x", {{"a", zeros({100})}, {"b", ones({1})}}, packing) == Error::Ok);
  return file_bytes(folder / "x");
}

}  // namespace

TEST_CASE("zip reader: sizes that cannot be are refused before memory is asked for") {
  const Bytes bytes = archive(NpzPacking::Deflate);
  ZipReader zip;
  REQUIRE(zip.open(bytes.data(), bytes.size()) == Error::Ok);
  std::vector<ZipEntry> entries;
  REQUIRE(zip.list(entries) == Error::Ok);
  const auto locate = [&](ZipEntry& entry) {
    return detail::locate_zip_entry(bytes.data(), bytes.size(), entry);
  };
  ZipEntry bomb = entries[0];
  bomb.size = uint64_t{1} << 40;
  RETURNS(InvalidArgument, "it cannot have 1099511627776 bytes, packed to", locate(bomb));
  ZipEntry stored = entries[0];
  stored.method = 0;
  RETURNS(InvalidArgument, "it cannot have 528 bytes, packed to", locate(stored));
  ZipEntry longer = entries[0];
  longer.packed = bytes.size() + 1;
  RETURNS(InvalidArgument, "of an archive of", locate(longer));
  ZipEntry secret = entries[0];
  secret.is_encrypted = true;
  RETURNS(NotSupported, "it is encrypted", locate(secret));
  ZipEntry other = entries[0];
  other.method = 14;
  RETURNS(NotSupported, "it is packed by method 14, expected 0 (stored) or 8 (deflated)",
          locate(other));
}

}  // namespace npz_reader_test
