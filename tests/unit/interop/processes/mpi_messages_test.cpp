// SPDX-License-Identifier: MIT
#include "tenon/interop/processes/mpi_messages.h"

#include <future>

#include "backend/helpers.h"
#include "interop/processes/mpi/ranks.h"
#include "support/calls.h"

namespace mpi_messages_test {

using namespace tenon;
using mpi::Request;
using tests::laid;
using tests::Lay;
using tests::next;
using tests::previous;
using tests::world;

namespace {

void barrier() { MPI_Barrier(world().get()); }

}  // namespace

TEST_CASE("Request: messages of all layouts go round, waited for in any order") {
  for (const Lay from : tests::kLays) {
    for (const Lay to : tests::kLays) {
      const Tensor out = laid({3, 4, 2}, from);
      const Tensor in = laid({3, 4, 2}, to);
      tests::fill_with(out, tests::numbers(world().rank()));
      Request receive = *world().irecv(in, previous(), 5);
      Request send = *world().isend(out, next(), 5);
      CHECK(!send.is_done());
      REQUIRE(send.wait() == Error::Ok);
      REQUIRE(receive.wait() == Error::Ok);
      CHECK(receive.is_done());
      CHECK(tests::has(in, tests::numbers(previous())));
      CHECK(receive.wait() == Error::Ok);  // nothing under way
    }
  }
}

TEST_CASE("Request: test says when it is done") {
  const TensorPtr in = zeros({2});
  Request receive = *world().irecv(in, previous(), 6);
  CHECK(!*receive.test());
  barrier();
  const TensorPtr out = ones({2});
  REQUIRE(world().send(out, next(), 6) == Error::Ok);
  while (!*receive.test()) {
  }
  CHECK(receive.is_done());
  CHECK(in->const_data_ptr<float>()[1] == 1.0f);
  CHECK(*receive.test());
  CHECK(*Request().test());
}

// A promise of docs/guarantees.md.
TEST_CASE("Request: keeps its tensor alive until it is waited for, which neither grows nor goes") {
  tests::Calls calls;
  float memory[4] = {};
  TensorPtr t = from_blob(memory, {4}, ScalarType::Float, calls.deleter());
  Request receive = *world().irecv(t, previous(), 7);
  TensorPtr grows = make_tensor_ptr({2}, {1.0f, 2.0f}, TensorShapeDynamism::DYNAMIC);
  Request other = *world().irecv(grows, previous(), 8);
  RETURNS(InUse, "", resize_tensor_ptr(grows, {100}));
  t.reset();
  CHECK(calls.count == 0);
  barrier();
  REQUIRE(world().send(full({4}, 3.0f), next(), 7) == Error::Ok);
  REQUIRE(world().send(full({2}, 5.0f), next(), 8) == Error::Ok);
  REQUIRE(receive.wait() == Error::Ok);
  REQUIRE(other.wait() == Error::Ok);
  CHECK(calls.count == 1);
  CHECK(memory[3] == 3.0f);
  CHECK(resize_tensor_ptr(grows, {100}) == Error::Ok);
}

// A promise of docs/guarantees.md.
TEST_CASE("Request: a dropped receive is cancelled, and takes no later message") {
  const TensorPtr dropped = zeros({2});
  const TensorPtr kept = zeros({2});
  {
    const Result<Request> receive = world().irecv(dropped, previous(), 9);
    REQUIRE(receive.ok());
  }
  barrier();
  REQUIRE(world().isend(ones({2}), next(), 9)->wait() == Error::Ok);
  REQUIRE(world().recv(kept, previous(), 9) == Error::Ok);
  CHECK(dropped->const_data_ptr<float>()[0] == 0.0f);
  CHECK(kept->const_data_ptr<float>()[0] == 1.0f);
}

// A promise of docs/guarantees.md.
TEST_CASE("Request: a dropped send is waited for: the message arrives whole") {
  // Too large to be copied by MPI: the receiver takes it from the tensor.
  const int64_t n = 1 << 20;
  const TensorPtr in = zeros({n}, ScalarType::Int);
  Request receive = *world().irecv(in, previous(), 10);
  {
    const TensorPtr out = full({n}, world().rank(), ScalarType::Int);
    const Result<Request> send = world().isend(out, next(), 10);
    REQUIRE(send.ok());
  }
  REQUIRE(receive.wait() == Error::Ok);
  CHECK(in->const_data_ptr<int32_t>()[n - 1] == previous());
}

TEST_CASE("Request: moves; one that is assigned to drops what it was of") {
  const TensorPtr a = zeros({2});
  const TensorPtr b = zeros({2});
  Request first = *world().irecv(a, previous(), 11);
  Request moved = std::move(first);
  CHECK(first.is_done());  // NOLINT(bugprone-use-after-move)
  moved = *world().irecv(b, previous(), 11);
  barrier();
  REQUIRE(world().send(ones({2}), next(), 11) == Error::Ok);
  REQUIRE(moved.wait() == Error::Ok);
  CHECK(a->const_data_ptr<float>()[0] == 0.0f);
  CHECK(b->const_data_ptr<float>()[0] == 1.0f);
}

TEST_CASE("Request: a message of another size than the tensor is an error of recv and of wait") {
  const TensorPtr four = ones({4});
  Request sends[] = {*world().isend(four, next(), 12), *world().isend(four, next(), 13),
                     *world().isend(four, next(), 1), *world().isend(four, next(), 2),
                     *world().isend(ones({3}, ScalarType::Byte), next(), 3)};
  const TensorPtr three = zeros({3});
  const TensorPtr five = zeros({5});
  Request shorter = *world().irecv(five, previous(), 12);
  Request longer = *world().irecv(three, previous(), 13);
  RETURNS(InvalidArgument, "wait: the message from rank ", shorter.wait());
  CHECK(tests::contains(last_error_message(), "has 4 elements, but the tensor has 5"));
  RETURNS(InvalidArgument, "wait: MPI: ", longer.wait());
  CHECK(longer.is_done());
  RETURNS(InvalidArgument, "has 4 elements, but the tensor has 5",
          world().recv(five, previous(), 1));
  RETURNS(InvalidArgument, "recv: MPI: ", world().recv(three, previous(), 2));
  RETURNS(InvalidArgument, "is not a whole number of elements of Float",
          world().recv(three, previous(), 3));
  for (Request& send : sends) CHECK(send.wait() == Error::Ok);
}

TEST_CASE("Request: one that was begun on one thread may be waited for on another",
          "[threads][Request]") {
  int level = 0;
  MPI_Query_thread(&level);
  if (level < MPI_THREAD_SERIALIZED) return;
  const TensorPtr in = zeros({2});
  Request receive = *world().irecv(in, previous(), 19);
  const TensorPtr out = ones({2});
  Request send = *world().isend(out, next(), 19);
  CHECK(std::async(std::launch::async, [&] { return receive.wait(); }).get() == Error::Ok);
  CHECK(send.wait() == Error::Ok);
  CHECK(in->const_data_ptr<float>()[1] == 1.0f);
}

}  // namespace mpi_messages_test
