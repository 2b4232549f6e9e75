// SPDX-License-Identifier: MIT
// Copies between memories: the host's, one backend's and another's.
#include "backend/helpers.h"
#include "support/catch.h"
#include "tenon/tenon.h"
#include "tensor/helpers.h"

using namespace tenon;
using namespace tests;

namespace {

template <class T>
std::vector<T> fetched(const TensorArg& t) {
  return tests::values<T>(backend_copy(t, host_backend()));
}

/// 0 … 5 as 2 rows of 3.
template <class... Backend>
TensorPtr matrix(Backend&... backend) {
  return make_tensor_ptr({2, 3}, {0, 1, 2, 3, 4, 5}, backend...);
}

}  // namespace

TEST_CASE("copy_: to a backend and from it, as blocks") {
  CountingBackend b;
  const TensorPtr there = zeros({2, 3}, ScalarType::Int, b);
  const TensorPtr here = zeros({2, 3}, ScalarType::Int);
  CHECK(copy_(there, matrix()) == Error::Ok);
  CHECK(copy_(here, there) == Error::Ok);
  CHECK(tests::values<int32_t>(here) == Ints{0, 1, 2, 3, 4, 5});
  CHECK(b.calls["copy"] == 0);  // bytes are enough
  CHECK(b.calls["copy_from_host"] == 1);
  CHECK(b.calls["copy_to_host"] == 1);
}

TEST_CASE("copy_: at other strides the backend is asked first, with both views") {
  CountingBackend b;
  const TensorPtr there = zeros({3, 2}, ScalarType::Int, b);
  const TensorPtr source = matrix();
  const Tensor turned = transpose(source, 0, 1);
  b.calls.clear();
  b.uploaded = 0;
  CHECK(copy_(there, turned) == Error::Ok);
  CHECK(b.calls["copy"] == 1);
  CHECK(b.uploaded == 0);
  CHECK(b.last.data == const_data_ptr(there));
  CHECK(b.last.sizes == Longs{3, 2});
  CHECK(b.last.source == Device());
  CHECK(fetched<int32_t>(there) == Ints{0, 3, 1, 4, 2, 5});
}

TEST_CASE("copy_: a backend that knows no strides gets bytes, and keeps those between them") {
  for (const bool knows : {true, false}) {
    CountingBackend b;
    if (!knows) b.set_all(Answer::NotSupported);
    const TensorPtr there = full({2, 4}, 9, ScalarType::Int, b);
    CHECK(copy_(slice(there, 1, 0, 4, 2), make_tensor_ptr({2, 2}, {1, 2, 3, 4})) == Error::Ok);
    CHECK(fetched<int32_t>(there) == Ints{1, 9, 2, 9, 3, 9, 4, 9});
    const TensorPtr here = full({2, 4}, 7, ScalarType::Int);
    CHECK(copy_(slice(here, 1, 1, 4, 2), slice(there, 1, 0, 4, 2)) == Error::Ok);
    CHECK(tests::values<int32_t>(here) == Ints{7, 1, 7, 2, 7, 3, 7, 4});
    CHECK(b.faults == 0);
  }
}

TEST_CASE("copy_: types are converted on either way, by the backend or for it") {
  for (const bool knows : {true, false}) {
    CountingBackend b;
    if (!knows) b.set_all(Answer::NotSupported);
    const TensorPtr there = zeros({2, 3}, b);
    CHECK(copy_(there, matrix()) == Error::Ok);
    CHECK(b.calls["copy"] == 1);
    CHECK(fetched<float>(there) == Floats{0, 1, 2, 3, 4, 5});
    const TensorPtr here = zeros({2, 3}, ScalarType::Int);
    RETURNS(InvalidType, "copy_: values of Float cannot be cast to Int", copy_(here, there));
    CHECK(copy_(here, there, CastMode::Truncate) == Error::Ok);
    CHECK(b.last.mode == CastMode::Truncate);
    CHECK(tests::values<int32_t>(here) == Ints{0, 1, 2, 3, 4, 5});
  }
}

TEST_CASE("copy_: within a backend a block is its own to copy, strides it is asked for") {
  CountingBackend b;
  const TensorPtr from = matrix(b);
  const TensorPtr to = zeros({2, 3}, ScalarType::Int, b);
  b.uploaded = 0;
  CHECK(copy_(to, from) == Error::Ok);
  CHECK(b.calls["copy_within"] == 1);
  CHECK(fetched<int32_t>(to) == Ints{0, 1, 2, 3, 4, 5});
  const TensorPtr turned = zeros({3, 2}, ScalarType::Int, b);
  for (const Answer answer : {Answer::Does, Answer::NotSupported}) {
    b.will["copy"] = answer;
    b.calls.clear();
    CHECK(zero_(turned) == Error::Ok);
    CHECK(copy_(turned, transpose(from, 0, 1)) == Error::Ok);
    CHECK(b.calls["copy"] == 1);
    CHECK(fetched<int32_t>(turned) == Ints{0, 3, 1, 4, 2, 5});
  }
  CHECK(b.faults == 0);
}

TEST_CASE("copy_: a source is broadcast to the backend's tensor") {
  for (const bool knows : {true, false}) {
    CountingBackend b;
    if (!knows) b.set_all(Answer::NotSupported);
    const TensorPtr there = zeros({2, 3}, ScalarType::Int, b);
    CHECK(copy_(there, make_tensor_ptr({1, 2, 3})) == Error::Ok);
    CHECK(fetched<int32_t>(there) == Ints{1, 2, 3, 1, 2, 3});
    CHECK(copy_(there, make_tensor_ptr(8, b)) == Error::Ok);
    CHECK(fetched<int32_t>(there) == Ints{8, 8, 8, 8, 8, 8});
  }
}

TEST_CASE("copy_: between two backends that do not know each other it goes by the host") {
  MinimalBackend a("a", Device(DeviceType::ExtDev, 0));
  MinimalBackend b("b", Device(DeviceType::ExtDev, 1));
  const TensorPtr from = matrix(a);
  const TensorPtr to = zeros({2, 3}, ScalarType::Int, b);
  CHECK(copy_(to, from) == Error::Ok);
  CHECK(a.downloaded == 24);
  CHECK(fetched<int32_t>(to) == Ints{0, 1, 2, 3, 4, 5});
  const TensorPtr turned = zeros({3, 2}, ScalarType::Long, b);
  CHECK(copy_(turned, transpose(from, 0, 1)) == Error::Ok);
  CHECK(fetched<int64_t>(turned) == Longs{0, 3, 1, 4, 2, 5});
  CHECK(fill_(to, 9) == Error::Ok);
  CHECK(copy_(tenon::select(to, 1, 2), tenon::select(from, 1, 0)) == Error::Ok);
  CHECK(fetched<int32_t>(to) == Ints{9, 9, 0, 9, 9, 3});
  CHECK(a.faults + b.faults == 0);
}

TEST_CASE("copy_: two backends of one device are strangers all the same") {
  CountingBackend a("a");
  CountingBackend b("b");
  const TensorPtr from = matrix(a);
  const TensorPtr to = zeros({3, 2}, ScalarType::Int, b);
  CHECK(copy_(to, transpose(from, 0, 1)) == Error::Ok);
  CHECK(a.calls["copy"] + b.calls["copy"] == 0);
  CHECK(fetched<int32_t>(to) == Ints{0, 3, 1, 4, 2, 5});
  CHECK(a.faults + b.faults == 0);
}

namespace {

/// Copies from another backend, whose memory it can reach.
class Neighbour : public CountingBackend {
 public:
  explicit Neighbour(MinimalBackend& other)
      : CountingBackend("neighbour", Device(DeviceType::ExtDev, 1)), other_(other) {}
  Error copy(const TensorView& dst, const TensorView& src, CastMode) override {
    ++calls["copy"];
    const bool to_me = dst.device == device() && src.device == other_.device();
    const bool from_me = src.device == device() && dst.device == other_.device();
    if (!to_me && !from_me) return Error::NotSupported;
    MinimalBackend& from = to_me ? other_ : *this;
    MinimalBackend& to = to_me ? static_cast<MinimalBackend&>(*this) : other_;
    std::vector<double> numbers;
    tests::for_each_element(src, [&](int64_t, const auto&, const void* p) {
      numbers.push_back(tests::read_number(src.type, from.at(p, 4)));
    });
    tests::for_each_element(dst, [&](int64_t i, const auto&, const void* p) {
      tests::write_number(dst.type, to.at(p, 4), numbers[static_cast<size_t>(i)]);
    });
    return Error::Ok;
  }

 private:
  MinimalBackend& other_;
};

}  // namespace

TEST_CASE("copy_: a backend that knows the other copies by itself, in both directions") {
  MinimalBackend a;
  Neighbour b(a);
  const TensorPtr from = matrix(a);
  const TensorPtr to = zeros({2, 3}, ScalarType::Int, b);
  CHECK(copy_(to, from) == Error::Ok);
  CHECK(b.calls["copy"] == 1);
  const TensorPtr back = zeros({3, 2}, a);
  CHECK(copy_(back, transpose(to, 0, 1)) == Error::Ok);
  CHECK(b.calls["copy"] == 2);
  CHECK(a.downloaded == 0);
  CHECK(fetched<float>(back) == Floats{0, 3, 1, 4, 2, 5});
}

TEST_CASE("copy_: errors of the backends are reported with name and operation") {
  CountingBackend b;
  const TensorPtr there = zeros({2, 3}, ScalarType::Int, b);
  const TensorPtr here = zeros({3, 2}, ScalarType::Int);
  const Tensor turned = transpose(here, 0, 1);
  b.will["copy"] = Answer::Fails;
  RETURNS(AccessFailed, "copy_: backend counting failed in copy: the cable is out",
          copy_(turned, there));
  b.will["copy"] = Answer::NotSupported;
  b.will["copy_to_host"] = Answer::Throws;
  RETURNS(Internal, "copy_: backend counting failed in copy_to_host: thrown on the way",
          copy_(turned, there));
  b.will["copy_within"] = Answer::Fails;
  const TensorPtr other = zeros({2, 3}, ScalarType::Int, b);
  RETURNS(AccessFailed, "copy_: backend counting failed in copy_within", copy_(other, there));
  CHECK(tests::values<int32_t>(here) == Ints(6, 0));
}

TEST_CASE("copy_: memories of one backend that overlap go by way of the host") {
  CountingBackend b;
  const TensorPtr t = arange(6, ScalarType::Int, b);
  CHECK(copy_(slice(t, 0, 1, 6), slice(t, 0, 0, 5)) == Error::Ok);
  CHECK(fetched<int32_t>(t) == Ints{0, 0, 1, 2, 3, 4});
  RETURNS(NotSupported, "copy_: the tensors overlap, which needs a temporary of",
          copy_(slice(t, 0, 1, 6), slice(t, 0, 0, 5), CopyPolicy::NoTemporary));
  const Tensor square = view(slice(t, 0, 0, 4), {2, 2});
  CHECK(copy_(square, transpose(square, 0, 1)) == Error::Ok);
  CHECK(fetched<int32_t>(t) == Ints{0, 1, 0, 2, 3, 4});
  b.calls.clear();
  CHECK(copy_(t, t) == Error::Ok);
  CHECK(b.calls.empty());  // nothing to do
}

TEST_CASE("copy_: large blocks go between backends in pieces") {
  MinimalBackend a("a", Device(DeviceType::ExtDev, 0));
  MinimalBackend b("b", Device(DeviceType::ExtDev, 1));
  const int64_t numel = (int64_t{9} << 20) / 4;  // 9 MiB: two pieces of 4, one of 1
  const TensorPtr from = arange(numel, ScalarType::Int, a);
  const TensorPtr to = empty({numel}, ScalarType::Int, b);
  a.calls.clear();
  CHECK(copy_(to, from) == Error::Ok);
  CHECK(a.calls["copy_to_host"] == 3);
  CHECK(b.calls["copy_from_host"] == 3);
  bool same = true;
  for (int64_t i = 0; i < numel; i += 4093) {
    same = same && b.get<int32_t>(const_data_ptr(to), i) == static_cast<int32_t>(i);
  }
  CHECK(same);
}

TEST_CASE("assign and copy_to: plain memory and blobs, strided and converting") {
  MinimalBackend b;
  const TensorPtr t = zeros({2, 3}, b);
  const float data[6] = {1, 2, 3, 4, 5, 6};
  CHECK(assign(t, data, sizeof data) == Error::Ok);
  float back[6] = {};
  CHECK(copy_to(transpose(t, 0, 1), back, sizeof back) == Error::Ok);
  CHECK(Floats(back, back + 6) == Floats{1, 4, 2, 5, 3, 6});
  int32_t padded[8] = {1, 2, 3, -1, 4, 5, 6, -1};
  CHECK(assign(t, Blob{padded, {2, 3}, {4, 1}, ScalarType::Int}) == Error::Ok);
  CHECK(fetched<float>(t) == Floats{1, 2, 3, 4, 5, 6});
  double wide[6] = {};
  CHECK(copy_to(t, Blob{wide, {2, 3}, {1, 2}, ScalarType::Double}) == Error::Ok);
  CHECK(std::vector<double>(wide, wide + 6) == std::vector<double>{1, 4, 2, 5, 3, 6});
  CHECK(b.faults == 0);
}

TEST_CASE("assign and copy_to: a blob on a device is its registered backend's") {
  MinimalBackend b;
  void* const p = b.allocate(8, 64);
  const Blob blob{p, {2}, {}, ScalarType::Float, b.device()};
  const TensorPtr t = make_tensor_ptr({3.f, 4.f});
  RETURNS(NotSupported,
          "copy_to: the blob is on ext_dev:0, which the host cannot reach; no backend is "
          "registered for it",
          copy_to(t, blob));
  register_backend(b);
  CHECK(copy_to(t, blob) == Error::Ok);
  CHECK(b.get<float>(p, 1) == 4.f);
  const TensorPtr there = zeros({2}, b);
  CHECK(can_assign(there, blob));
  CHECK(assign(there, blob) == Error::Ok);
  CHECK(fetched<float>(there) == Floats{3, 4});
  const TensorPtr over = from_blob(blob);
  CHECK(fetched<float>(over) == Floats{3, 4});
  CHECK(&backend_of(over) == &b);
  CHECK(&backend_of(zeros_like(over)) == &b);
  b.deallocate(p, 8);
}
