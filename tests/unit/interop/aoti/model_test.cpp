// SPDX-License-Identifier: MIT
#include "tenon/interop/aoti/model.h"

#include "interop/aoti/models.h"

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

}  // namespace aoti_model_test
