// SPDX-License-Identifier: MIT
#include "tenon/interop/runtimes/aoti_library.h"

#include "interop/runtimes/aoti/models.h"

namespace aoti_library_test {

using namespace tenon;
using namespace tests;
using tenon::detail::AotiBytes;
using tenon::detail::AotiNeeds;

namespace {

Error load(const std::string& path) { return AotiModel::load(path).error(); }

Error read_needs(const std::vector<uint8_t>& bytes, AotiNeeds& needs) {
  AotiBytes file;
  file.data = reinterpret_cast<const char*>(bytes.data());
  file.size = bytes.size();
  return detail::read_aoti_needs(file, needs);
}

}  // namespace

TEST_CASE("aoti library: functions that nobody provides are all named before its code runs") {
  RETURNS(NotSupported,
          "nobody provides 2 functions that the model calls: aoti_torch_cpu_first_missing, "
          "aoti_torch_cpu_second_missing; ",
          load(model_path("fake_model_missing")));
  CHECK(AotiModel::missing_functions(model_path("fake_model_missing")).value() ==
        Texts{"aoti_torch_cpu_first_missing", "aoti_torch_cpu_second_missing"});
  CHECK(AotiModel::missing_functions(model_path("fake_model")).value().empty());
  RETURNS(NotFound, "missing_functions: no.so: cannot open",
          AotiModel::missing_functions("no.so").error());
}

TEST_CASE("aoti library: operators that the proxy executor would run are missing") {
  RETURNS(
      NotSupported,
      "nobody provides 1 function that the model calls: aoti_torch_proxy_executor_call_function; "
      "include headers that may have them, in one file of the program: interop/aoti_proxy.h; see ",
      load(model_path("fake_model_proxy")));
}

TEST_CASE("aoti library: the header that may have a missing function is named") {
  const bool has_kernels = detail::has_aoti_function("aoti_torch_cpu_cumsum");
  CHECK(detail::header_of("aoti_torch_cpu_x") == std::string(has_kernels ? "" : "aoti_kernels.h"));
  for (const char* const header : {"aoti_onednn.h", "aoti_fft.h", "aoti_proxy.h"}) {
    const std::string path = std::string(TENON_INTEROP_HEADERS) + "/" + header;
    if (!std::filesystem::exists(path)) continue;
    const std::vector<uint8_t> bytes = file_bytes(path);
    const std::string text(bytes.begin(), bytes.end());
    const std::string begin = "AOTITorchError aoti_torch_";
    size_t count = 0;
    for (size_t at = text.find(begin); at != std::string::npos; at = text.find(begin, at + 1)) {
      const size_t name = at + begin.size() - 11;
      const std::string function = text.substr(name, text.find('(', name) - name);
      INFO(function);
      CHECK(detail::header_of(function) == std::string(header));
      ++count;
    }
    CHECK(count > 0);
  }
}

TEST_CASE("aoti library: more names than an error's text has room for are said to be more") {
  std::vector<uint8_t> bytes = file_bytes(model_path("fake_model"));
  // All functions get names that nobody has.
  const std::string from = "aoti_torch_";
  for (auto at = bytes.begin();;) {
    at = std::search(at, bytes.end(), from.begin(), from.end());
    if (at == bytes.end()) break;
    at[5] = 'T';
  }
  TempFolder folder;
  put_file(folder / "renamed.so", bytes);
  RETURNS(NotSupported, " and others, which AotiModel::missing_functions() lists; ",
          load(folder / "renamed.so"));
  CHECK(AotiModel::missing_functions(folder / "renamed.so").value().size() == 11);
}

TEST_CASE("aoti library: one that is linked to libtorch is refused") {
  RETURNS(
      NotSupported,
      "it is linked to libtorch_fake.so; export the model with aot_inductor.link_libtorch False",
      load(model_path("fake_model_torch")));
}

TEST_CASE("aoti library: a library that AOTInductor did not make is refused") {
  RETURNS(InvalidArgument, "the library has no AOTInductorModelContainerCreateWithDevice",
          load(model_path("fake_model_other")));
}

TEST_CASE("aoti library: what is not a library is refused") {
  TempFolder folder;
  for (const char* text : {"", "P", "int main() {}",
                           "\x7f"
                           "ELF",
                           "\x7f"
                           "ELF\x02\x01\x01 and no more"}) {
    put_file(folder / "text.so", bytes_of(text));
    RETURNS(InvalidArgument, "text.so: it is not a shared library of 64 bits",
            load(folder / "text.so"));
  }
  RETURNS(AccessFailed, "not a regular file", load(folder / ""));
}

TEST_CASE("aoti library: one for another processor is refused") {
  std::vector<uint8_t> bytes = file_bytes(model_path("fake_model"));
  bytes[18] = 0xf3;  // e_machine: RISC-V
  bytes[19] = 0;
  TempFolder folder;
  put_file(folder / "riscv.so", bytes);
  RETURNS(NotSupported, "it is for another processor: ELF machine 243", load(folder / "riscv.so"));
}

TEST_CASE("aoti library: tables with any wrong byte are read without harm") {
  std::vector<uint8_t> bytes = file_bytes(model_path("fake_model"));
  uint64_t sections = 0;
  std::memcpy(&sections, bytes.data() + 40, sizeof sections);
  size_t refused = 0;
  for (size_t at = 0; at < bytes.size(); ++at) {
    if (at == 64) at = static_cast<size_t>(sections);  // behind the header
    for (const uint8_t wrong : {uint8_t{0}, uint8_t{0xff}}) {
      const uint8_t right = std::exchange(bytes[at], wrong);
      AotiNeeds needs;
      refused += read_needs(bytes, needs) != Error::Ok ? 1 : 0;
      bytes[at] = right;
    }
  }
  CHECK(refused > 0);
}

}  // namespace aoti_library_test
