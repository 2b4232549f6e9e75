// SPDX-License-Identifier: MIT
// no_exceptions PART: checks one part of tenon built without exceptions, RTTI and guarded statics.
#include <cstdio>
#include <cstring>
#include <string>

#include <tenon/module/function_module.h>
#include <tenon/module/runtimes.h>
#include <tenon/tenon.h>

#include "support/child.h"

using namespace tenon;

static_assert(TENON_HAS_EXCEPTIONS == 0, "this program must be built with -fno-exceptions");

#define CHECK_TEXT(actual, expected) CHECK(std::string(actual) == (expected))

static void handler(Error error, const char* message) noexcept {
  std::fprintf(stderr, "%s|%s", toString(error), message);
}

// A promise of docs/guarantees.md.
static void check_try_forms() {
  auto made = tenon::try_make_tensor_ptr({2, 2}, {1.0f, 2.0f, 3.0f, 4.0f});
  CHECK(made.ok());
  CHECK((*made)->accessor<float, 2>()[1][0] == 3.0f);

  auto counted = tenon::try_arange(3);
  CHECK(counted.ok());
  CHECK((*counted)->data<int64_t>()[2] == 2);

  tenon::Generator generator(0);
  auto random = tenon::try_rand({4}, generator);
  CHECK(random.ok());
  CHECK((*random)->data<float>()[0] == 0x6627e8 / 16777216.0f);
  CHECK_TEXT(tenon::try_randint(3, 3, {2}).message(), "try_randint: [3, 3) holds no integers");

  auto copy = tenon::try_clone_tensor_ptr(*made, tenon::ScalarType::Double);
  CHECK(copy.ok());
  CHECK((*copy)->accessor<double, 2>()[1][1] == 4.0);

  auto row = tenon::try_slice(*made, 0, 1, 2);
  CHECK(row.ok());
  CHECK(row->const_data_ptr<float>()[1] == 4.0f);
  auto no_row = tenon::try_slice(*made, 5, 0, 1);
  CHECK(no_row.error() == Error::OutOfBounds);
  CHECK_TEXT(no_row.message(),
             "try_slice: dimension 5 is out of range for a tensor of 2 dimensions");
  CHECK(tenon::try_contiguous(tenon::transpose(*made, 0, 1))->const_data_ptr<float>()[1] == 3.0f);
  CHECK(tenon::try_to(*made, tenon::ScalarType::Half).ok());
  CHECK(tenon::try_to(*made, tenon::ScalarType::Int).error() == Error::InvalidType);

  // A wrong type, rank or argument does not end the program.
  const TensorPtr& t = *made;
  CHECK(tenon::try_data<float>(t)->size() == 4);
  CHECK_TEXT(tenon::try_data<int>(t).message(),
             "try_data: asked for Int, but the tensor's dtype is Float");
  CHECK_TEXT((tenon::try_accessor<float, 3>(t).message()),
             "try_accessor: asked for 3 dimensions, the tensor has 2");
  CHECK(tenon::try_item<float>(t).error() == Error::InvalidArgument);
  CHECK(tenon::try_const_data_ptr<int>(t).error() == Error::InvalidType);
  CHECK(tenon::try_mutable_data_ptr<int>(t).error() == Error::InvalidType);
  CHECK(tenon::try_const_data_ptr(tenon::Tensor()).error() == Error::InvalidState);
  CHECK(tenon::try_plan_copy(t, tenon::Tensor()).error() == Error::InvalidState);
  CHECK(tenon::try_backend_for(tenon::Device("cuda:7")).error() == Error::NotFound);
  CHECK(tenon::try_data<int>(t).value_or(tenon::Span<int>()).empty());
  CHECK(tenon::try_item<float>(t).transform([](float x) { return 2 * x; }).error() ==
        Error::InvalidArgument);
  const auto sum = [](const TensorPtr& of) -> tenon::Result<float> {
    TENON_ASSIGN(const auto rows, tenon::try_accessor<float, 2>(of));
    float total = 0;
    for (auto numbers : rows) {
      for (const float x : numbers) total += x;
    }
    return total;
  };
  CHECK(sum(t).value() == 10);
  CHECK_TEXT(sum(*copy).message(),
             "try_accessor: asked for Float, but the tensor's dtype is Double");

  int deleted = 0;
  float data[2] = {};
  {
    auto borrowed = tenon::try_from_blob(data, {2}, tenon::ScalarType::Float,
                                         [&](void* p) { deleted += p == data; });
    CHECK(borrowed.ok());
    CHECK(deleted == 0);
  }
  CHECK(deleted == 1);

  auto refused = tenon::try_from_blob(data, {-1}, tenon::ScalarType::Float,
                                      [&](void* p) { deleted += p == data; });
  CHECK(!refused);
  CHECK(refused.error() == Error::InvalidArgument);
  CHECK_TEXT(refused.message(), "try_from_blob: size -1 of dimension 0 is negative in sizes {-1}");
  CHECK(deleted == 2);
}

/// What zeros({-1}) must say: the text of its try_ form under its own name.
static std::string text_of_zeros() {
  const std::string text = tenon::try_zeros({-1}).message();
  CHECK_TEXT(text.substr(0, 11), "try_zeros: ");
  return text.substr(4);
}

// A promise of docs/guarantees.md.
static void check_handler() {
  CHECK(tenon::set_failure_handler(&handler) == nullptr);
  const Death of_creator = death_of([] { static_cast<void>(tenon::zeros({-1})); });
  CHECK(of_creator.aborted());
  CHECK_TEXT(of_creator.text, "InvalidArgument|" + text_of_zeros());

  // A result that nobody checked.
  const Death of_result = death_of([] { static_cast<void>(tenon::try_zeros({-1}).value()); });
  CHECK(of_result.aborted());
  CHECK_TEXT(of_result.text, "InvalidArgument|try_" + text_of_zeros());

  // An error that was returned.
  const Death of_check = death_of([] { tenon::check(tenon::fill_(tenon::Tensor(), 1)); });
  CHECK(of_check.aborted());
  CHECK_TEXT(of_check.text, "InvalidState|fill_: the tensor is undefined");

  CHECK(tenon::set_failure_handler(nullptr) == &handler);
}

static void check_default_handler() {
  const Death death = death_of([] { static_cast<void>(tenon::zeros({-1})); });
  CHECK(death.aborted());
  CHECK_TEXT(death.text, text_of_zeros() + "\n");
}

static void check_undefined_tensor() {
  const Death of_member = death_of([] { static_cast<void>(tenon::Tensor().numel()); });
  CHECK(of_member.aborted());
  CHECK_TEXT(of_member.text, "numel: the tensor is undefined\n");

  const Death of_type =
      death_of([] { static_cast<void>(tenon::scalar_tensor(1)->data_ptr<int>()); });
  CHECK(of_type.aborted());
  CHECK_TEXT(of_type.text, "data_ptr: asked for Int, but the tensor's dtype is Float\n");

  // The tools of this file: a child that ends well has not aborted.
  CHECK(!death_of([] {}).aborted());
}

static const bool is_registered = register_runtime(".five", [](const ModelFile&) {
  return std::make_shared<FunctionModule>([](Span<const EValue>) { return EValue(5); });
});
static void check_runtimes() {
  CHECK(is_registered);
  const auto module = open_module("x.five");
  CHECK(module.ok());
  CHECK((*module)->forward().value()[0].toInt() == 5);
  CHECK((*module)->unload_method() == Error::Ok);
  CHECK(register_runtime(".none", [](const ModelFile&) { return std::shared_ptr<Module>(); }));
  CHECK_TEXT(open_module("x.none").message(), "open_module: the runtime made no module");
  CHECK_TEXT(
      open_module("x.six").message(),
      "open_module: no runtime is registered for \"x.six\"; registered: \".five\", \".none\"");
}

int main(int argc, char** argv) {
  const struct {
    const char* name;
    void (*check)();
  } parts[] = {
      {"try_forms", &check_try_forms},
      {"handler", &check_handler},
      {"default_handler", &check_default_handler},
      {"undefined_tensor", &check_undefined_tensor},
      {"runtimes", &check_runtimes},
  };
  for (const auto& part : parts) {
    if (argc == 2 && std::strcmp(argv[1], part.name) == 0) {
      part.check();
      return failures == 0 ? 0 : 1;
    }
  }
  std::fprintf(stderr, "usage: no_exceptions PART\n");
  return 2;
}
