// SPDX-License-Identifier: MIT
#include "tenon/interop/files/torch_archive.h"

#include "interop/files/torch/pickles.h"
#include "support/catch.h"

namespace torch_archive_test {

using namespace tenon;
using namespace tests;

TEST_CASE("torch_archive: a byte order that is neither is refused") {
  detail::TorchArchive made;
  const auto bytes = memory(archive({{"a/data.pkl", pickle("N")}, {"a/byteorder", "middle"}}));
  CHECK(made.open(detail::FileContent(bytes)) == Error::InvalidArgument);
  CHECK(std::string(last_error_message()).find("byteorder is \"middle\"") != std::string::npos);
}

TEST_CASE("torch_archive: the old form ends where its sizes say, or is refused") {
  const std::string magic = pickle(
      "\x8a\x0al\xfc\x9c"
      "F\xf9 j\xa8P\x19");
  const std::string head = magic + pickle("M\xe9\x03") + pickle("}") + pickle(floats());
  const auto open = [](const std::string& bytes) {
    detail::TorchArchive made;
    return made.open(detail::FileContent(memory(bytes)));
  };
  CHECK(open(head + pickle(list({text("0")})) + number(6, 8) + std::string(24, 'a')) == Error::Ok);
  CHECK(open(head + pickle(list({text("0")})) + number(7, 8) + std::string(24, 'a')) ==
        Error::InvalidArgument);
  CHECK(open(head + pickle(list({text("0")})) + number(~uint64_t{0}, 8)) == Error::InvalidArgument);
  CHECK(open(head + pickle(list({text("0")}))) == Error::InvalidArgument);
  CHECK(open(head + pickle(list({text("1")})) + number(6, 8)) == Error::InvalidArgument);
  CHECK(open(head + pickle("N")) == Error::InvalidArgument);
  CHECK(open(magic + pickle("M\xe8\x03") + pickle("}")) == Error::NotSupported);
}

}  // namespace torch_archive_test
