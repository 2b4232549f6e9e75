// SPDX-License-Identifier: MIT
#include "tenon/tensor/make.h"

#include <string>
#include <utility>
#include <vector>

#include "backend/helpers.h"
#include "support/catch.h"
#include "tenon/tenon.h"
#include "tensor/helpers.h"

using namespace tenon;
using tests::Calls;
using tests::MinimalBackend;
namespace detail = tenon::detail;

namespace {

// A creator's last step, which says whether it was for a backend.
template <class Out>
Out make_empty(Backend* backend, bool& in_backend) {
  if (backend != nullptr) detail::enlist(*backend);
  detail::Making asked{tenon::own::ScalarType::Float, tenon::TensorShapeDynamism::DYNAMIC_BOUND};
  asked.backend = backend;
  return detail::create<Out>("make_empty", asked, [&](const auto& making, auto& made) noexcept {
    in_backend = making.backend != nullptr;
    return detail::make_owned({2, 3}, {}, {}, making, detail::Contents::Uninitialized,
                              made.draft());
  });
}

detail::BackendState* known(Backend& backend) { return detail::known_state(backend); }

class Listener final : public tenon::HostMemoryBackend {
 public:
  const char* name() const noexcept override { return "listener"; }
  void* allocate(size_t nbytes, size_t alignment) noexcept override {
    return refuses ? nullptr : heap_.allocate(nbytes, alignment);
  }
  void deallocate(void* p, size_t nbytes) noexcept override { heap_.deallocate(p, nbytes); }
  void on_made(const tenon::MadeTensor& tensor) noexcept override {
    ++made;
    function = tensor.function;
  }

  bool refuses = false;
  int made = 0;
  std::string function;

 private:
  tenon::CpuBackend heap_;
};

}  // namespace

TEST_CASE("create: without a backend the tensor is on the host's heap") {
  bool in_backend = true;
  const TensorPtr t = make_empty<TensorPtr>(nullptr, in_backend);
  CHECK_FALSE(in_backend);
  CHECK(&tenon::backend_of(t) == &tenon::default_backend());
}

TEST_CASE("create: a backend gives the memory, and is told of the tensor by the function's name") {
  Listener listener;
  bool in_backend = false;
  const TensorPtr t = make_empty<TensorPtr>(&listener, in_backend);
  CHECK(in_backend);
  CHECK(&tenon::backend_of(t) == &listener);
  CHECK(listener.made == 1);
  CHECK(listener.function == "make_empty");
}

TEST_CASE("create: an error has the function's name, as an Exception or in a Result") {
  Listener listener;
  listener.refuses = true;
  bool in_backend = false;
  CHECK_ERROR(Error::OutOfMemory, "make_empty: backend listener has no memory for 24 bytes",
              make_empty<TensorPtr>(&listener, in_backend));
  const auto result = make_empty<Result<TensorPtr>>(&listener, in_backend);
  CHECK(result.error() == Error::OutOfMemory);
  CHECK(listener.made == 0);
  CHECK(listener.live_blocks() == 0);
}

TEST_CASE("Made: what was committed is what finish() returns") {
  detail::Made<TensorPtr> made;
  const detail::Making asked{tenon::own::ScalarType::Int, tenon::TensorShapeDynamism::STATIC};
  REQUIRE(detail::make_owned({4}, {}, {}, asked, detail::Contents::Zero, made.draft()) ==
          Error::Ok);
  REQUIRE(made.commit() == Error::Ok);
  const TensorPtr t = made.finish("made", Error::Ok);
  CHECK(t->scalar_type() == ScalarType::Int);
  CHECK(tests::values<int32_t>(t) == std::vector<int32_t>(4));
}

TEST_CASE("make_from_pointer: after a failure the caller still has the deleter") {
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

TEST_CASE("make_from_pointer: after a success the impl has it") {
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

TEST_CASE("take_backend_memory: the draft is the backend's, and owns its memory") {
  MinimalBackend backend;
  {
    tenon::detail::ImplFields made;
    REQUIRE(tenon::detail::take_backend_memory(backend, known(backend), 24, made) == Error::Ok);
    CHECK(made.data != nullptr);
    CHECK(made.device == backend.device());
    CHECK(made.opaque);
    CHECK_FALSE(made.is_host_accessible());
    CHECK(made.ownership == tenon::Ownership::Owned);
    CHECK(made.backend == tenon::detail::BackendAccess::state(backend));
    CHECK(backend.used() == 24);
  }
  CHECK(backend.used() == 0);
}

TEST_CASE("take_backend_memory: 0 bytes are none, and count nevertheless") {
  MinimalBackend backend;
  tenon::detail::ImplFields made;
  REQUIRE(tenon::detail::take_backend_memory(backend, known(backend), 0, made) == Error::Ok);
  CHECK(made.data == nullptr);
  CHECK(backend.live_blocks() == 1);
  CHECK(backend.calls["allocate"] == 0);
}

TEST_CASE("take_backend_memory: a template takes none") {
  tenon::TemplateBackend backend;
  tenon::detail::ImplFields made;
  REQUIRE(tenon::detail::take_backend_memory(backend, known(backend), 1000, made) == Error::Ok);
  CHECK(made.data == nullptr);
  CHECK(made.is_template());
  CHECK(backend.live_blocks() == 1);
}
