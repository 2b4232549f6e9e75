// SPDX-License-Identifier: MIT
#include "tenon/tensor/new_tensor.h"

#include "support/catch.h"
#include "tenon/tensor/creators.h"
#include "tenon/tensor/resize.h"
#include "tensor/helpers.h"

namespace new_tensor_test {

using namespace tenon;
using namespace tests;

TEST_CASE("draft: the impl and its data share a block up to a limit, aligned on both sides") {
  const auto limit = static_cast<int64_t>(detail::kMaxInlineBytes);
  for (int64_t nbytes : {int64_t{0}, int64_t{1}, int64_t{64}, limit, limit + 1, int64_t{100000}}) {
    CAPTURE(nbytes);
    const TensorPtr t = zeros({nbytes}, ScalarType::Byte);
    CHECK(is_aligned(t, 64));
    ATEN_LACKS(CHECK(static_cast<bool>(detail::fields(t).deleter) == (nbytes > limit));)
    CHECK(values<uint8_t>(t) == Bytes(static_cast<size_t>(nbytes)));
  }
}

#if !TENON_ATEN_MODE  // where a TensorImplPtr is no std::shared_ptr
#endif

}  // namespace new_tensor_test
