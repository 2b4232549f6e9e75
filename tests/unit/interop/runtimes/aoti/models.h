// SPDX-License-Identifier: MIT
// The models of these tests, and packages of them.
#pragma once

#include <minizip/zip.h>

#include "interop/files.h"
#include "interop/runtimes/aoti/fake_model.h"
#include "tenon/interop/aoti.h"
#include "tenon/tenon.h"

namespace tests {

inline std::string model_path(const std::string& name) {
  return std::string(TENON_AOTI_MODELS) + "/" + name + ".so";
}

/// An input of `rows` rows of 4, of which fake_model.cpp reads what to do.
inline tenon::TensorPtr input_for(Does does, int64_t rows = 2) {
  tenon::TensorPtr x = tenon::ones({rows, 4});
  x->mutable_data_ptr<float>()[0] = static_cast<float>(does);
  return x;
}

/// Gives the constant that has no value at first one: {0, 0, 0, 0}.
template <class Model>
void give_bias(Model& model) {
  REQUIRE(model.set_constants({{"layer.bias", *tenon::zeros({4})}}) == tenon::Error::Ok);
}

/// A model whose library has no source beside it, with tensors that are row-major.
inline tenon::AotiModel load_without_source(const std::string& copy) {
  put_file(copy, file_bytes(model_path("fake_model")));
  tenon::AotiOptions options;
  options.assume_row_major = true;
  return tenon::AotiModel::load(copy, options).value();
}

struct Entry {
  std::string name;
  std::vector<uint8_t> bytes;
};
inline std::vector<uint8_t> bytes_of(const std::string& text) { return {text.begin(), text.end()}; }

/// Writes a package as torch does: entries that are stored, without compression.
inline void write_package(const std::string& path, const std::vector<Entry>& entries,
                          int level = 0) {
  const zipFile zip = zipOpen64(path.c_str(), APPEND_STATUS_CREATE);
  REQUIRE(zip != nullptr);
  for (const Entry& entry : entries) {
    const zip_fileinfo info{};
    REQUIRE(zipOpenNewFileInZip64(zip, entry.name.c_str(), &info, nullptr, 0, nullptr, 0, nullptr,
                                  level == 0 ? 0 : Z_DEFLATED, level, 1) == ZIP_OK);
    REQUIRE(zipWriteInFileInZip(zip, entry.bytes.data(),
                                static_cast<unsigned>(entry.bytes.size())) == ZIP_OK);
    REQUIRE(zipCloseFileInZip(zip) == ZIP_OK);
  }
  REQUIRE(zipClose(zip, nullptr) == ZIP_OK);
}
/// What lies beside the fake model's library.
inline std::string fake_source() {
  const std::vector<uint8_t> bytes = file_bytes(std::string(TENON_AOTI_MODELS) + "/fake_model.cpp");
  return {bytes.begin(), bytes.end()};
}
/// The fake model's, with this description of its tensors, and this source.
inline std::vector<Entry> fake_package(const std::string& inputs = "x float32 batch<=8 4",
                                       const std::string& source = fake_source(),
                                       const std::string& second_output = "z float32 *") {
  const std::string folder = "fake/data/aotinductor/model/";
  return {{folder + "a.wrapper.cpp", bytes_of(source)},
          {folder + "a.wrapper_metadata.json",
           bytes_of("{\"AOTI_DEVICE_KEY\": \"cpu\", \"tenon_inputs\": \"" + inputs +
                    "\", \"tenon_outputs\": \"y float32 batch<=8 4; " + second_output + "\"}")},
          {folder + "a.wrapper.so", file_bytes(model_path("fake_model"))},
          {"fake/version", bytes_of("1")}};
}

}  // namespace tests
