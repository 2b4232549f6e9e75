// SPDX-License-Identifier: MIT
// The dtype that a pointer says, and what may be taken as another.
#include "tenon/core/data_ptr.h"

#include <string>
#include <type_traits>

#include "support/catch.h"

namespace data_ptr_test {

using namespace tenon;
using tenon::detail::DataPtr;

// Only pointers to elements and to bytes are data.
static_assert(std::is_convertible_v<float*, DataPtr>);
static_assert(std::is_convertible_v<const void*, DataPtr>);
static_assert(std::is_convertible_v<std::nullptr_t, DataPtr>);
static_assert(!std::is_convertible_v<float**, DataPtr>);
static_assert(!std::is_convertible_v<std::string*, DataPtr>);
static_assert(!std::is_convertible_v<void (*)(), DataPtr>);
static_assert(!std::is_convertible_v<int, DataPtr>);
static_assert(!std::is_constructible_v<DataPtr, void*, int>);

TEST_CASE("DataPtr: void and bytes may be of any dtype, nullptr is a placeholder") {
  unsigned char bytes[4] = {};
  for (const DataPtr data :
       {DataPtr(bytes), DataPtr(reinterpret_cast<char*>(bytes)),
        DataPtr(reinterpret_cast<std::byte*>(bytes)), DataPtr(static_cast<void*>(bytes))}) {
    CHECK(data.is_raw());
    CHECK(data.get() == bytes);
    CHECK_FALSE(data.is_placeholder());
  }
  CHECK(DataPtr(bytes).type() == own::ScalarType::Byte);
  CHECK(DataPtr(static_cast<const void*>(bytes)).is_readonly());
  CHECK(DataPtr(static_cast<void*>(bytes), true).is_readonly());
  CHECK(DataPtr(nullptr).is_placeholder());
  CHECK(DataPtr(nullptr).get() == nullptr);
}

}  // namespace data_ptr_test
