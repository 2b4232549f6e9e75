// SPDX-License-Identifier: MIT
#include "tenon/interop/files/file.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "interop/files.h"
#include "support/catch.h"

namespace file_test {

using namespace tenon;
using namespace tests;
using tenon::detail::FileBytes;
using tenon::detail::FilePath;
using tenon::detail::InputFile;

TEST_CASE("file: a path may be a literal, a string or a std::filesystem::path") {
  CHECK(std::string(FilePath("a/b").c_str()) == "a/b");
  const std::string text = "a/c";
  CHECK(std::string(FilePath(text).c_str()) == "a/c");
  const std::filesystem::path path = "a/d";
  CHECK(std::string(FilePath(path).c_str()) == "a/d");
  struct Text {
    const char* text;
    const char* c_str() const { return text; }
  };
  CHECK(std::string(FilePath(Text{"a/f"}).c_str()) == "a/f");
  CHECK(FilePath(Text{"a/f"}).check() == Error::Ok);
  RETURNS(InvalidArgument, "the path is null", FilePath(Text{nullptr}).check());
  RETURNS(InvalidArgument, "the path is null", FilePath(nullptr).check());
  RETURNS(InvalidArgument, "the path is empty", FilePath("").check());
  const std::string zero("a/e\0.bak", 8);
  RETURNS(InvalidArgument, "the path contains a null character", FilePath(zero).check());
  const std::filesystem::path zero_path = zero;
  RETURNS(InvalidArgument, "the path contains a null character", FilePath(zero_path).check());
}

TEST_CASE("file: an error shows the end of a long path, and the reason after it") {
  const std::string path = std::string(1000, 'x') + "/the_name.npy";
  const std::string shown = "..." + path.substr(path.size() - 200) + ": full";
  RETURNS(AccessFailed, shown,
          FilePath(path).add_context(detail::fail(Error::AccessFailed, "full")));
  CHECK(std::string(last_error_message()) == shown);
}

TEST_CASE("file: reading reports what is missing, no file, or has become shorter") {
  const TempFolder folder;
  const auto open = [](const std::string& path) { return InputFile().open(path.c_str()); };
  RETURNS(NotFound, "cannot open: No such file or directory", open(folder / "in"));
  RETURNS(AccessFailed, "not a regular file", open(folder / ""));

  put_file(folder / "in", {'a', 'b', 'c', 'd'});
  InputFile file;
  REQUIRE(file.open((folder / "in").c_str()) == Error::Ok);
  CHECK(file.size() == 4);
  char text[3] = {};
  REQUIRE(file.read(2, text, 2) == Error::Ok);
  CHECK(std::string(text) == "cd");
  RETURNS(AccessFailed, "became shorter", file.read(2, text, 3));
#if TENON_HAS_POSIX_FILES
  REQUIRE(::mkfifo((folder / "pipe").c_str(), 0600) == 0);  // nobody waits for its writer
  RETURNS(AccessFailed, "not a regular file", open(folder / "pipe"));
#endif
}

TEST_CASE("file: a whole file's bytes are its mapping, which cannot be written to") {
  const TempFolder folder;
  put_file(folder / "in", {'a', 'b', 'c'});
  FileBytes bytes;
  REQUIRE(bytes.open((folder / "in").c_str()) == Error::Ok);
  CHECK(bytes.size == 3);
  CHECK(std::string(bytes.data, bytes.data + 3) == "abc");
#if defined(__linux__)
  CHECK(is_mapped(folder / "in", bytes.data));
  const void* const before = bytes.data;
  bytes.release.reset();
  CHECK_FALSE(is_mapped(folder / "in", before));
#endif
  put_file(folder / "empty", {});
  FileBytes none;
  REQUIRE(none.open((folder / "empty").c_str()) == Error::Ok);
  CHECK(none.size == 0);
  RETURNS(NotFound, "cannot open", FileBytes().open((folder / "no").c_str()));
}

TEST_CASE("file: text out of a file is shown without what a terminal takes for a command") {
  CHECK(std::string(detail::ShownText("a\x1b[0mb\n").text) == "a?[0mb?");
  CHECK(std::string(detail::ShownText(std::string(61, 'x')).text) == std::string(60, 'x') + "...");
}

}  // namespace file_test
