// SPDX-License-Identifier: MIT
#include "tenon/interop/file_writer.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "interop/files.h"
#include "support/catch.h"

namespace file_writer_test {

using namespace tenon;
using namespace tests;
using tenon::detail::FileBlock;
using tenon::detail::OutputFile;
using tenon::detail::Progress;

namespace {

Error write_text(const std::string& path, const std::string& text) {
  const FileBlock blocks[] = {{text.data(), text.size()}};
  return detail::write_file(path.c_str(), blocks);
}

std::string text_of(const std::string& path) {
  const std::vector<uint8_t> bytes = file_bytes(path);
  return std::string(bytes.begin(), bytes.end());
}

}  // namespace

TEST_CASE("file: blocks are written one after the other, empty ones too") {
  const TempFolder folder;
  const std::string path = folder / "out";
  const FileBlock blocks[] = {{"ab", 2}, {nullptr, 0}, {"cde", 3}};
  REQUIRE(detail::write_file(path.c_str(), blocks) == Error::Ok);
  CHECK(text_of(path) == "abcde");
  CHECK(folder.names() == std::vector<std::string>{"out"});
}

TEST_CASE("file: a written file has the permissions of a new one, a replaced one keeps its own") {
  const TempFolder folder;
  const std::string path = folder / "out";
  const mode_t mask = ::umask(027);
  REQUIRE(write_text(path, "1") == Error::Ok);
  ::umask(mask);
  struct stat status;
  REQUIRE(::stat(path.c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0640);
  REQUIRE(::chmod(path.c_str(), 0604) == 0);
  REQUIRE(write_text(path, "2") == Error::Ok);
  REQUIRE(::stat(path.c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0604);
}

TEST_CASE("file: a symbolic link stays, and is followed, also to a file that is not there yet") {
  const TempFolder folder;
  std::filesystem::create_symlink("real", folder / "link");
  for (const char* text : {"first", "second"}) {
    REQUIRE(write_text(folder / "link", text) == Error::Ok);
    CHECK(std::filesystem::is_symlink(folder / "link"));
    CHECK(text_of(folder / "real") == text);
  }
  std::filesystem::create_symlink("none/file", folder / "broken");
  RETURNS(AccessFailed, "cannot open: No such file or directory",
          write_text(folder / "broken", "new"));
  CHECK(std::filesystem::is_symlink(folder / "broken"));
  std::filesystem::create_symlink("loop", folder / "loop");
  RETURNS(AccessFailed, "Too many levels of symbolic links", write_text(folder / "loop", "new"));
}

// A promise of docs/guarantees.md.
TEST_CASE("file: a write that fails halfway leaves the old file whole and no other behind") {
  const TempFolder folder;
  const std::string path = folder / "out";
  REQUIRE(write_text(path, "old") == Error::Ok);
  rlimit before;
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &before) == 0);
  const auto handler = ::signal(SIGXFSZ, SIG_IGN);
  const rlimit small = {4096, before.rlim_max};
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &small) == 0);
  std::string texts[2];
  Error errors[2];
  for (int i = 0; i < 2; ++i) {  // in the middle; at the end, of what the C library keeps back
    errors[i] = write_text(path, std::string(i == 0 ? 100000 : 4097, 'x'));
    texts[i] = last_error_message();
  }
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &before) == 0);
  ::signal(SIGXFSZ, handler);
  for (int i = 0; i < 2; ++i) {
    CHECK(errors[i] == Error::AccessFailed);
    CHECK(texts[i] == "cannot write: File too large");
  }
  CHECK(text_of(path) == "old");
  CHECK(folder.names() == std::vector<std::string>{"out"});
}

TEST_CASE("file: names left by a process that died are passed over") {
  const TempFolder folder;
  for (int i = 0; i < 3; ++i) {
    put_file(folder / (".tenon-" + std::to_string(::getpid()) + "-" + std::to_string(i) + ".tmp"),
             {'x'});
  }
  REQUIRE(write_text(folder / "out", "new") == Error::Ok);
  CHECK(text_of(folder / "out") == "new");
  CHECK(folder.names().size() == 4);
}

TEST_CASE("file: a device, and a file without a name, are written in place") {
  CHECK(write_text("/dev/null", "gone") == Error::Ok);
#if defined(__linux__)
  RETURNS(AccessFailed, "cannot write: No space left on device", write_text("/dev/full", "x"));
#endif
  if (::access("/proc/self/fd", X_OK) != 0) return;
  const TempFolder folder;
  const std::string gone = folder / "gone";
  const int descriptor = ::open(gone.c_str(), O_CREAT | O_RDWR, 0600);
  REQUIRE(descriptor >= 0);
  REQUIRE(::unlink(gone.c_str()) == 0);
  const std::string path = "/proc/self/fd/" + std::to_string(descriptor);
  CHECK(write_text(path, "new") == Error::Ok);
  CHECK(text_of(path) == "new");
  CHECK(folder.names().empty());
  CHECK(::close(descriptor) == 0);
}

TEST_CASE("file: where no file can be made the error says why") {
  const TempFolder folder;
  put_file(folder / "file", {'x'});
  RETURNS(AccessFailed, "cannot create a file in its folder: No such file or directory",
          write_text(folder / "none/out", "x"));
  RETURNS(AccessFailed, "Not a directory", write_text(folder / "file/out", "x"));
  RETURNS(AccessFailed, "cannot open: Is a directory", write_text(folder / "", "x"));
}

TEST_CASE("file: what is not committed changes nothing, and leaves nothing behind") {
  const TempFolder folder;
  const std::string path = folder / "out";
  put_file(folder / "out", {'o', 'l', 'd'});
  Progress silent;
  {
    OutputFile file;
    REQUIRE(file.open(path.c_str()) == Error::Ok);
    REQUIRE(file.write("new text", 8, silent) == Error::Ok);
    CHECK(folder.names().size() == 2);
  }
  CHECK(text_of(folder / "out") == "old");
  CHECK(folder.names() == std::vector<std::string>{"out"});
  for (const bool durable : {false, true}) {
    OutputFile file;
    REQUIRE(file.open(path.c_str()) == Error::Ok);
    REQUIRE(file.write("new", 3, silent) == Error::Ok);
    REQUIRE(file.commit(durable) == Error::Ok);
    CHECK(text_of(folder / "out") == "new");
  }
  CHECK(folder.names() == std::vector<std::string>{"out"});
}

TEST_CASE("file: progress is told after each part, and what it throws is an error") {
  const TempFolder folder;
  const std::string path = folder / "out";
  const std::string text(2 * Progress::kPart + 5, 'x');
  std::vector<std::pair<uint64_t, uint64_t>> calls;
  const tenon::ProgressFunction note = [&](uint64_t done, uint64_t total) {
    calls.emplace_back(done, total);
  };
  OutputFile file;
  Progress progress(note, text.size());
  REQUIRE(file.open(path.c_str()) == Error::Ok);
  REQUIRE(file.write(text.data(), text.size(), progress) == Error::Ok);
  REQUIRE(file.commit(false) == Error::Ok);
  CHECK(calls == std::vector<std::pair<uint64_t, uint64_t>>{{Progress::kPart, text.size()},
                                                            {2 * Progress::kPart, text.size()},
                                                            {text.size(), text.size()}});
  CHECK(text_of(folder / "out") == text);

  const tenon::ProgressFunction stop = [](uint64_t, uint64_t) { throw std::runtime_error("stop"); };
  OutputFile other;
  Progress stopped(stop, 1);
  REQUIRE(other.open(path.c_str()) == Error::Ok);
  RETURNS(Internal, "on_progress: stop", other.write("x", 1, stopped));
}

}  // namespace file_writer_test
