// SPDX-License-Identifier: MIT
#include "tenon/core/error.h"

#include <cerrno>

#include "support/catch.h"

namespace keep_errno_test {

TEST_CASE("KeepErrno: errno is as it was at the end of its scope, whatever a call sets") {
  errno = 77;
  {
    const tenon::detail::KeepErrno keep;
    errno = EINVAL;
    CHECK(keep.before == 77);
  }
  CHECK(errno == 77);
  errno = 0;
}

}  // namespace keep_errno_test
