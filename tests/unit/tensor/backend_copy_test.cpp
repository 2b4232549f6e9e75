// SPDX-License-Identifier: MIT
// Copies between memories: the host's, one backend's and another's.
#include "backend/helpers.h"
#include "support/catch.h"
#include "tenon/tenon.h"
#include "tensor/helpers.h"

namespace backend_copy_test {

using namespace tenon;
using namespace tests;

namespace {

constexpr auto kInt = ScalarType::Int;

template <class T>
std::vector<T> fetched(const TensorArg& t) {
  return tests::values<T>(backend_copy(t, host_backend()));
}

/// 0 … 5 as 2 rows of 3.
template <class... Backend>
TensorPtr matrix(Backend&... backend) {
  return make_tensor_ptr({2, 3}, {0, 1, 2, 3, 4, 5}, backend...);
}

/// Backends of two devices, with two rows of three in the memory of one.
struct Two {
  CountingBackend a{"a", Device(DeviceType::ExtDev, 0)};
  CountingBackend b{"b", Device(DeviceType::ExtDev, 1)};
  TensorPtr from = matrix(a);
  TensorPtr to = zeros({2, 3}, kInt, b);
};

/// Copies a view of a backend's row there and back, and counts the bytes that move.
struct Part {
  const char* name;
  int64_t numel;
  std::function<Tensor(const Tensor&)> view;
  size_t uploaded, kept, downloaded;  // `kept`: fetched before, to be stored again
};
void check_part(const Part& part) {
  INFO(part.name);
  MinimalBackend b;
  const TensorPtr there = arange(part.numel, kInt, b);
  const TensorPtr twin = arange(part.numel, kInt);
  const Tensor view = part.view(*there);
  const TensorPtr source = randint(0, 1000, view.sizes(), Generator(1));
  const TensorPtr back = zeros(view.sizes(), kInt);
  b.uploaded = b.downloaded = 0;
  CHECK(copy_(view, source) == Error::Ok);
  CHECK(b.uploaded == part.uploaded);
  CHECK(b.downloaded == part.kept);
  CHECK(copy_(part.view(*twin), source) == Error::Ok);
  CHECK(fetched<int32_t>(there) == values<int32_t>(twin));
  b.downloaded = 0;
  CHECK(copy_(back, view) == Error::Ok);
  CHECK(b.downloaded == part.downloaded);
  CHECK(values<int32_t>(back) == values<int32_t>(source));
  CHECK(b.faults == 0);
}

}  // namespace

TEST_CASE("copy_: rows are moved one by one, or with what is between them, which stays") {
  const auto every = [](int64_t step) {
    return [step](const Tensor& t) { return slice(t, 0, 0, t.numel(), step); };
  };
  std::vector<Part> parts{
      {"two rows", 40,
       [](const Tensor& t) {
         return as_strided(t, {2, 2}, {20, 1});
       },
       16, 0, 16},
      {"many short rows", 300, every(3), 298 * 4, 298 * 4, 298 * 4},
      {"rows far apart", 20000, every(1000), 80, 0, 80},
      {"all, transposed", 6,
       [](const Tensor& t) {
         return transpose(view(t, {2, 3}), 0, 1);
       },
       24, 0, 24},
      {"8 dimensions", 256,
       [](const Tensor& t) {
         return permute(view(t, Vector(8, 2)), {7, 6, 5, 4, 3, 2, 1, 0});
       },
       1024, 0, 1024},
  };
  if (!TENON_ATEN_MODE) {
    parts.push_back({"all, reversed", 6, [](const Tensor& t) { return flip(t, {0}); }, 24, 0, 24});
    parts.push_back({"some, reversed", 6,
                     [](const Tensor& t) { return flip(slice(t, 0, 1, 6, 2), {0}); }, 12, 0, 12});
  }
  for (const Part& part : parts) check_part(part);
}

TEST_CASE("copy_: a source is broadcast to the backend's tensor, and from it") {
  for (const bool knows : {true, false}) {
    CountingBackend b;
    if (!knows) b.set_all(Answer::NotSupported);
    const TensorPtr there = zeros({2, 3}, kInt, b);
    CHECK(copy_(there, make_tensor_ptr({1, 2, 3})) == Error::Ok);
    CHECK(fetched<int32_t>(there) == Ints{1, 2, 3, 1, 2, 3});
    const TensorPtr here = zeros({2, 3}, kInt);
    b.downloaded = 0;
    CHECK(copy_(here, tenon::select(there, 0, 0)) == Error::Ok);
    CHECK(values<int32_t>(here) == Ints{1, 2, 3, 1, 2, 3});
    CHECK(b.downloaded == (knows ? 0 : 12));
  }
}

TEST_CASE("copy_: of two backends the destination's is asked, then the source's, else the host") {
  Two two;
  const Tensor turned = transpose(two.from, 0, 1);
  const TensorPtr to = zeros({3, 2}, ScalarType::Long, two.b);
  two.b.will["copy"] = Answer::Fails;
  RETURNS(AccessFailed, "backend b failed in copy", copy_(to, turned));
  CHECK(two.a.calls["copy"] == 0);
  two.b.will["copy"] = Answer::NotSupported;
  two.a.will["copy"] = Answer::Fails;
  RETURNS(AccessFailed, "backend a failed in copy", copy_(to, turned));
  two.a.will["copy"] = Answer::NotSupported;
  CHECK(copy_(to, turned) == Error::Ok);
  CHECK(fetched<int64_t>(to) == Longs{0, 3, 1, 4, 2, 5});
  two.a.downloaded = 0;
  CHECK(copy_(two.to, two.from) == Error::Ok);
  CHECK(two.a.downloaded == 24);
  CHECK(fetched<int32_t>(two.to) == Ints{0, 1, 2, 3, 4, 5});
  CHECK(two.a.faults + two.b.faults == 0);
}

TEST_CASE("copy_: large blocks go between backends in pieces") {
  Two two;
  two.a.set_all(Answer::NotSupported);
  two.b.set_all(Answer::NotSupported);
  const int64_t numel = (int64_t{9} << 20) / 4;  // 9 MiB: two pieces of 4, one of 1
  const TensorPtr from = arange(numel, kInt, two.a);
  const TensorPtr to = empty({numel}, kInt, two.b);
  two.a.calls.clear();
  CHECK(copy_(to, from) == Error::Ok);
  CHECK(two.a.calls["copy_to_host"] == 3);
  CHECK(two.b.calls["copy_from_host"] == 3);
  bool same = true;
  for (int64_t i = 0; i < numel; i += 4093) {
    same = same && two.b.get<int32_t>(const_data_ptr(to), i) == static_cast<int32_t>(i);
  }
  CHECK(same);
}

TEST_CASE("copy_: errors of the backends are reported with name and operation") {
  CountingBackend b;
  const TensorPtr there = zeros({2, 3}, kInt, b);
  const TensorPtr here = zeros({3, 2}, kInt);
  const Tensor turned = transpose(here, 0, 1);
  const Tensor columns = slice(there, 1, 0, 3, 2);
  const auto check = [&](const char* operation, Answer answer, Error error, const char* words,
                         const TensorArg& dst, const TensorArg& src) {
    b.will[operation] = answer;
    CHECK_RETURNS(error, std::string("copy_: backend counting failed in ") + operation + words,
                  copy_(dst, src));
    b.will[operation] = Answer::NotSupported;
  };
  check("copy", Answer::Fails, Error::AccessFailed, ": the cable is out", turned, there);
  check("copy_to_host", Answer::Throws, Error::Internal, ": thrown on the way", turned, there);
  check("copy_within", Answer::Fails, Error::AccessFailed, "", zeros({2, 3}, kInt, b), there);
  b.will["copy_to_host"] = Answer::Does;
  check("copy_from_host", Answer::Fails, Error::AccessFailed, "", columns, zeros({2, 2}, kInt));
  CHECK(values<int32_t>(here) == Ints(6, 0));
}

}  // namespace backend_copy_test
