// SPDX-License-Identifier: MIT
#include "tenon/interop/runtimes/aoti_model.h"

#include "allocation/counting_malloc.h"
#include "interop/runtimes/aoti/models.h"

namespace aoti_model_test {

using namespace tenon;
using namespace tests;

TEST_CASE("AotiModel: copies share the model, which goes with the last of them") {
  AotiModel none;
  CHECK(!none.is_loaded());
  AotiModel model = AotiModel::load(model_path("fake_model")).value();
  CHECK(model.is_loaded());
  AotiModel other = model;
  give_bias(model);
  model = AotiModel();
  CHECK(other.constants().value()[1].is_described);
}

TEST_CASE("AotiModel: a path without a slash is a file in this folder") {
  TempFolder folder;
  put_file(folder / "here.so", file_bytes(model_path("fake_model")));
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder / "");
  const Error error = AotiModel::load("here.so").error();
  std::filesystem::current_path(before);
  CHECK(error == Error::Ok);
}

TEST_CASE("AotiModel: whichever allocation fails, loading and set_constants are errors") {
  if (!heap_is_counted()) return;
  // Open throughout: glibc ends the program where it has no memory for a library's thread_local data.
  const std::string path = model_path("fake_model");
  AotiModel open = AotiModel::load(path).value();
  give_bias(open);
  const std::vector<AotiConstant> bias = {{"layer.bias", *zeros({4})}};
  const AotiOptions options;
  int failed = 0;
  for (int64_t n = 1;; ++n) {
    {
      start_counting(n);
      Result<AotiModel> model = AotiModel::load(path, options);
      Error error = model.error();
      if (error == Error::Ok) error = model->set_constants(bias);
      stop_counting();
      if (error == Error::Ok && failures() == 0) break;
      failed += error != Error::Ok ? 1 : 0;
    }
  }
  CHECK(failed > 20);
  CHECK(AotiModel::load(path).error() == Error::Ok);
}

}  // namespace aoti_model_test
