// SPDX-License-Identifier: MIT
#include "tenon/tensor/make_impl.h"

#include <cstdint>
#include <utility>

#include "support/catch.h"
#include "tensor/helpers.h"

using tenon::Deleter;
using tenon::Device;
using tenon::Error;
using tenon::ScalarType;
using tenon::TensorImplPtr;
using tenon::TensorShapeDynamism;
using tenon::TypeArg;
using tests::Calls;
namespace detail = tenon::detail;

TEST_CASE("make_impl: the impl and its data share a block up to a limit, aligned on both sides") {
  bool right = true;
  for (size_t nbytes : {size_t{0}, size_t{1}, size_t{64}, detail::kMaxInlineBytes,
                        detail::kMaxInlineBytes + 1, size_t{100000}}) {
    TensorImplPtr impl;
    REQUIRE(detail::new_owned_impl(nbytes, detail::Contents::Zero, impl) == Error::Ok);
    const auto* data = static_cast<const unsigned char*>(detail::fields(impl).data);
    right = right && reinterpret_cast<uintptr_t>(data) % 64 == 0;
    for (size_t i = 0; i < nbytes; ++i) right = right && data[i] == 0;
    const bool inside =
        static_cast<bool>(detail::fields(impl).deleter) == (nbytes > detail::kMaxInlineBytes);
    right = right && inside;
  }
  CHECK(right);
}

TEST_CASE("make_impl: after a failure the caller still has the deleter") {
  Calls calls;
  float data[1] = {};
  {
    Deleter deleter(data, calls.deleter());
    TensorImplPtr impl;
    CHECK(detail::make_from_pointer(data, {-1}, {}, {}, TypeArg::deduced(),
                                    TensorShapeDynamism::DYNAMIC_BOUND, Device(), deleter,
                                    impl) == Error::InvalidArgument);
    impl.reset();
    CHECK(calls.count == 0);
    CHECK(static_cast<bool>(deleter));
  }
  CHECK(calls.count == 1);
}

TEST_CASE("make_impl: after a success the impl has it") {
  Calls calls;
  float data[1] = {};
  Deleter deleter(data, calls.deleter());
  TensorImplPtr impl;
  REQUIRE(detail::make_from_pointer(data, {1}, {}, {}, TypeArg::deduced(),
                                    TensorShapeDynamism::DYNAMIC_BOUND, Device(), deleter,
                                    impl) == Error::Ok);
  CHECK_FALSE(static_cast<bool>(deleter));
  impl.reset();
  CHECK(calls.count == 1);
}

TEST_CASE("make_impl: weak pointers to an impl work, and outlive it") {
  TensorImplPtr impl;
  REQUIRE(detail::new_owned_impl(16, detail::Contents::Zero, impl) == Error::Ok);
  std::weak_ptr<tenon::TensorImpl> weak = impl;
  CHECK(weak.lock() == impl);
  impl.reset();
  CHECK(weak.expired());
}
