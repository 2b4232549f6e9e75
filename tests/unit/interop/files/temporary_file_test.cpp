// SPDX-License-Identifier: MIT
#include "tenon/interop/files/temporary_file.h"

#include <sys/stat.h>

#include "interop/files.h"
#include "support/catch.h"

namespace temporary_file_test {

using namespace tenon;
using namespace tests;

TEST_CASE("temporary file: with a name or without, it is this user's and goes with the object") {
  for (const bool may_be_nameless : {true, false}) {
    std::string path;
    {
      detail::TemporaryFile file;
      REQUIRE(file.create(may_be_nameless) == Error::Ok);
      path = file.path();
      REQUIRE(file.write("abc", 3) == Error::Ok);
      CHECK(file_bytes(path) == std::vector<uint8_t>{'a', 'b', 'c'});
      struct stat status {};
      REQUIRE(::stat(path.c_str(), &status) == 0);
      CHECK((status.st_mode & 0777) == 0600);
    }
    CHECK(::access(path.c_str(), F_OK) != 0);
  }
}

}  // namespace temporary_file_test
