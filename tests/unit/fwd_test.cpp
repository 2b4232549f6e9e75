// SPDX-License-Identifier: MIT
// The declarations alone, as a header of a program has them; then the headers, which agree.
#include "tenon/fwd.h"

#include <memory>
#include <utility>

namespace fwd_test {

int64_t count(const tenon::Tensor& tensor);
int64_t count(const tenon::TensorPtr& tensor);
int64_t count(const tenon::Blob& blob);
tenon::Error change(tenon::TensorArg tensor, tenon::ScalarType type, tenon::CastMode mode);
tenon::Result<tenon::TensorPtr> make(tenon::ArrayRef<int64_t> sizes, tenon::Device device);

/// Holds a TensorPtr; its special members are where Tensor is complete.
class Holder {
 public:
  explicit Holder(tenon::TensorPtr tensor) noexcept;
  Holder(Holder&&) noexcept;
  Holder& operator=(Holder&&) noexcept;
  ~Holder();
  const tenon::Tensor& tensor() const { return *tensor_; }

 private:
  tenon::TensorPtr tensor_;
};
struct Rest {
  tenon::TensorImplPtr impl;
  tenon::Backend* backend;
  tenon::Error error;
  tenon::DeviceType type;
};

/// A TensorPtr by value, passed on.
tenon::TensorPtr pass(tenon::TensorPtr tensor);

}  // namespace fwd_test

#include "support/catch.h"
#include "tenon/backend/pmr.h"
#include "tenon/backend/pool.h"
#include "tenon/backend/strided_copy.h"
#include "tenon/backend/tracking.h"
#include "tenon/module/function_module.h"
#include "tenon/tenon.h"
#include "tenon/tensor/expr.h"
#include "tenon/tensor/values.h"

namespace fwd_test {

using namespace tenon;

Holder::Holder(TensorPtr tensor) noexcept : tensor_(std::move(tensor)) {}
Holder::Holder(Holder&&) noexcept = default;
Holder& Holder::operator=(Holder&&) noexcept = default;
Holder::~Holder() = default;

int64_t count(const Tensor& tensor) { return tensor.numel(); }
int64_t count(const TensorPtr& tensor) { return tensor->numel(); }
int64_t count(const Blob& blob) { return blob.sizes[0]; }
Error change(TensorArg tensor, ScalarType type, CastMode mode) {
  return copy_(tensor, to(ones({2}), type, mode), mode);
}
Result<TensorPtr> make(ArrayRef<int64_t> sizes, Device device) {
  if (!device.is_cpu()) return Error::NotSupported;
  return try_zeros(sizes);
}
TensorPtr pass(TensorPtr tensor) { return tensor; }

// A promise of docs/guarantees.md.
TEST_CASE("fwd.h: what a program declares by it is what the headers define") {
  const auto t = zeros({2, 3});
  CHECK(count(*t) == 6);
  CHECK(count(t) == 6);
  CHECK(count(to_blob(t)) == 2);
  const auto pair = zeros({2});
  CHECK(change(pair, ScalarType::Int, CastMode::Truncate) == Error::Ok);
  CHECK(data<float>(pair)[1] == 1.0f);
  const int64_t sizes[] = {2, 2};
  CHECK(make(sizes, Device()).value()->numel() == 4);
  CHECK(make(sizes, "cuda").error() == Error::NotSupported);
}

// A promise of docs/guarantees.md.
TEST_CASE("fwd.h: a class may hold a TensorPtr, which is dropped by the library's deleter, once") {
  int released = 0;
  {
    float memory[2] = {1, 2};
    Holder first(from_blob(memory, {2}, ScalarType::Float, [&](void*) { ++released; }));
    Holder second(std::move(first));
    CHECK(data<float>(second.tensor())[1] == 2.0f);
    second = Holder(pass(zeros({4})));
    CHECK(released == 1);
    CHECK(second.tensor().numel() == 4);
  }
  CHECK(released == 1);
}

}  // namespace fwd_test
