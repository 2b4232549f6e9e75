// SPDX-License-Identifier: MIT
#include "tenon/tensor/made.h"

#include <string>
#include <type_traits>
#include <vector>

#include "support/catch.h"
#include "tenon/tenon.h"
#include "tensor/helpers.h"

using namespace tenon;
namespace detail = tenon::detail;

namespace {

// A creator's last step, which says whether it was for a backend.
template <class Out>
Out make_empty(Backend* backend, bool& in_backend) {
  return detail::create<Out>(
      "make_empty", tenon::own::ScalarType::Float, tenon::TensorShapeDynamism::DYNAMIC_BOUND,
      backend, [&](const auto& making, auto& made) noexcept {
        using Where = std::decay_t<decltype(making.where)>;
        in_backend = std::is_same_v<Where, detail::InBackend>;
        return detail::make_owned({2, 3}, {}, {}, making, detail::Contents::Uninitialized,
                                  made.draft());
      });
}

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
  const detail::Making<detail::OnHost> making{
      tenon::own::ScalarType::Int, tenon::TensorShapeDynamism::STATIC, {}};
  REQUIRE(detail::make_owned({4}, {}, {}, making, detail::Contents::Zero, made.draft()) ==
          Error::Ok);
  REQUIRE(made.commit() == Error::Ok);
  const TensorPtr t = made.finish("made", Error::Ok);
  CHECK(t->scalar_type() == ScalarType::Int);
  CHECK(tests::values<int32_t>(t) == std::vector<int32_t>(4));
}
