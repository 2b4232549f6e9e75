// SPDX-License-Identifier: MIT
#include "tenon/interop/files/file_writer.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#if defined(__linux__)
#include <sys/xattr.h>
#endif
#include <unistd.h>

#include "interop/files.h"
#include "support/catch.h"
#include "tenon/tenon.h"
#include "tenon/tensor/values.h"

namespace file_writer_test {

using namespace tenon;
using namespace tests;
using tenon::detail::FileBlock;
using tenon::detail::OutputFile;
using tenon::detail::Progress;

namespace {

Error write_text(const std::string& path, const std::string& text,
                 FileWrite how = FileWrite::Replace) {
  const FileBlock blocks[] = {{text.data(), text.size()}};
  return detail::write_file(path.c_str(), blocks, how);
}

struct stat status_of(const std::string& path) {
  struct stat status {};
  REQUIRE(::stat(path.c_str(), &status) == 0);
  return status;
}

constexpr uid_t kOther = 65534;  // nobody

/// For its lifetime this process, which is root's, is somebody else's.
struct AsOther {
  AsOther() {
    REQUIRE(::setegid(kOther) == 0);
    REQUIRE(::seteuid(kOther) == 0);
  }
  ~AsOther() {
    CHECK(::seteuid(0) == 0);
    CHECK(::setegid(0) == 0);
  }
};

std::string text_of(const std::string& path) {
  const std::vector<uint8_t> bytes = file_bytes(path);
  return std::string(bytes.begin(), bytes.end());
}

}  // namespace

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
TEST_CASE("file: a replaced file keeps its owner and group where the system lets") {
  if (::geteuid() != 0) return;  // nobody else may give files away
  const TempFolder folder;
  const std::string path = folder / "out";
  put_file(path, {'1'});
  REQUIRE(::chown(path.c_str(), kOther, 100) == 0);
  REQUIRE(::chmod(path.c_str(), 0640) == 0);
  REQUIRE(write_text(path, "2") == Error::Ok);
  const struct stat kept = status_of(path);
  CHECK(kept.st_uid == kOther);
  CHECK(kept.st_gid == 100);
  CHECK((kept.st_mode & 07777) == 0640);
  CHECK(text_of(path) == "2");

  // Who may not give it away becomes its owner. A group that cannot be kept loses what it could do.
  REQUIRE(::chown(path.c_str(), 0, 0) == 0);
  REQUIRE(::chmod(path.c_str(), 0664) == 0);
  REQUIRE(::chmod((folder / "").c_str(), 0777) == 0);
  {
    const AsOther other;
    REQUIRE(write_text(path, "3") == Error::Ok);
  }
  const struct stat lost = status_of(path);
  CHECK(lost.st_uid == kOther);
  CHECK(lost.st_gid == kOther);
  CHECK((lost.st_mode & 07777) == 0644);
  CHECK(text_of(path) == "3");

  // Nor does anybody who was in a group that might do less than everybody.
  REQUIRE(::chown(path.c_str(), 0, 0) == 0);
  REQUIRE(::chmod(path.c_str(), 0604) == 0);
  {
    const AsOther other;
    REQUIRE(write_text(path, "4") == Error::Ok);
  }
  CHECK((status_of(path).st_mode & 07777) == 0600);
}

TEST_CASE("file: nobody else may open the new file before it has the old one's permissions") {
  const TempFolder folder;
  put_file(folder / "out", {'1'});
  REQUIRE(::chmod((folder / "out").c_str(), 0600) == 0);
  OutputFile file;
  REQUIRE(file.open((folder / "out").c_str()) == Error::Ok);
  for (const std::string& name : folder.names()) {
    CHECK((status_of(folder / name).st_mode & 0777) == 0600);
  }
}

#if defined(__linux__)
TEST_CASE("file: a replaced file keeps its access control list, and gets none of the folder's") {
  const TempFolder folder;
  const std::string path = folder / "out";
  put_file(path, {'1'});
  constexpr const char* kList = "system.posix_acl_access";
  // The version, and of each entry its kind, permissions and user: the owner, user 1, the group,
  // the mask, others.
  const uint32_t kinds[] = {0x01, 0x02, 0x04, 0x10, 0x20};
  const uint32_t rights[] = {6, 4, 0, 4, 0};
  std::vector<uint8_t> list = {2, 0, 0, 0};
  for (size_t i = 0; i < 5; ++i) {
    for (const uint32_t field : {kinds[i] | rights[i] << 16, i == 1 ? 1u : 0xffffffffu}) {
      for (int shift = 0; shift < 32; shift += 8) {
        list.push_back(static_cast<uint8_t>(field >> shift));
      }
    }
  }
  if (::setxattr(path.c_str(), kList, list.data(), list.size(), 0) != 0) return;  // ENOTSUP
  CHECK((status_of(path).st_mode & 0777) == 0640);
  REQUIRE(write_text(path, "2") == Error::Ok);
  std::vector<uint8_t> found(list.size());
  CHECK(::getxattr(path.c_str(), kList, found.data(), found.size()) ==
        static_cast<ssize_t>(list.size()));
  CHECK(found == list);
  CHECK((status_of(path).st_mode & 0777) == 0640);

  REQUIRE(::setxattr((folder / "").c_str(), "system.posix_acl_default", list.data(), list.size(),
                     0) == 0);
  put_file(folder / "plain", {'1'});
  REQUIRE(::removexattr((folder / "plain").c_str(), kList) == 0);
  REQUIRE(write_text(folder / "plain", "2") == Error::Ok);
  CHECK(::getxattr((folder / "plain").c_str(), kList, nullptr, 0) == -1);
}
#endif

// A promise of docs/guarantees.md.
TEST_CASE("file: written in place it stays the same file, with its other names") {
  const TempFolder folder;
  const std::string path = folder / "out";
  put_file(path, {'l', 'o', 'n', 'g', 'e', 'r'});
  REQUIRE(::chmod(path.c_str(), 0604) == 0);
  std::filesystem::create_hard_link(path, folder / "name");
  std::filesystem::create_symlink("out", folder / "link");
  const struct stat before = status_of(path);
  for (const std::string& to : {path, folder / "link"}) {
    const std::string text = to == path ? "1" : "2";
    REQUIRE(write_text(to, text, FileWrite::InPlace) == Error::Ok);
    CHECK(text_of(folder / "name") == text);
    CHECK(status_of(path).st_ino == before.st_ino);
    CHECK(status_of(path).st_mode == before.st_mode);
  }
  CHECK(std::filesystem::is_symlink(folder / "link"));
  REQUIRE(write_text(folder / "new", "3", FileWrite::InPlace) == Error::Ok);
  CHECK(text_of(folder / "new") == "3");
  REQUIRE(write_text(path, "4") == Error::Ok);  // replaced: the other name keeps the old one
  CHECK(text_of(folder / "name") == "2");
  CHECK(folder.names().size() == 4);
}

TEST_CASE("file: where it cannot be replaced the error names writing in place, which can be done") {
  if (::geteuid() != 0) return;
  const TempFolder folder;
  const std::string path = folder / "out";
  put_file(path, {'1'});
  REQUIRE(::chmod(path.c_str(), 0666) == 0);
  for (const mode_t mode : {mode_t{0755}, mode_t{01777}}) {  // the latter as /tmp
    REQUIRE(::chmod((folder / "").c_str(), mode) == 0);
    const AsOther other;
    RETURNS(AccessFailed,
            mode == 0755
                ? "cannot create a file in its folder: Permission denied; FileWrite::InPlace"
                : "cannot replace it: Operation not permitted; FileWrite::InPlace",
            write_text(path, "no"));
    CHECK(text_of(path) == (mode == 0755 ? "1" : "2"));
    CHECK(write_text(path, "2", FileWrite::InPlace) == Error::Ok);
  }
  CHECK(text_of(path) == "2");
  CHECK(folder.names().size() == 1);
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

TEST_CASE("file writer: a tensor gets the bytes after its own, and its size back after an error") {
  const auto bytes = empty({2}, ScalarType::Byte, TensorShapeDynamism::DYNAMIC_UNBOUND);
  REQUIRE(fill_(bytes, 7) == Error::Ok);
  Progress silent;
  {
    OutputFile file;
    REQUIRE(file.open(bytes) == Error::Ok);
    REQUIRE(file.write("abc", 3, silent) == Error::Ok);
  }
  CHECK(bytes->numel() == 2);
  OutputFile file;
  REQUIRE(file.open(bytes) == Error::Ok);
  REQUIRE(file.write("abc", 3, silent) == Error::Ok);
  REQUIRE(file.seek(1) == Error::Ok);
  REQUIRE(file.put("X", 1) == Error::Ok);
  CHECK(file.tell() == 2);
  REQUIRE(file.commit(true) == Error::Ok);
  CHECK(to_vector<uint8_t>(bytes) == std::vector<uint8_t>{7, 7, 'a', 'X', 'c'});
}

TEST_CASE("file writer: what is not a row of bytes, read-only or too small is refused unchanged") {
  const auto write = [](const TensorPtr& to) {
    const FileBlock blocks[] = {{"abc", 3}};
    return detail::write_file(to, blocks);
  };
  RETURNS(InvalidState, "the tensor to write to is undefined", write(nullptr));
  RETURNS(InvalidArgument, "is Float of sizes {0} on cpu; expected a 1-d tensor of Byte on cpu",
          write(empty({0}, ScalarType::Float, TensorShapeDynamism::DYNAMIC_UNBOUND)));
  RETURNS(InvalidArgument, "is Byte of sizes {2, 0} on cpu",
          write(empty({2, 0}, ScalarType::Byte)));
  const auto bound = empty({4}, ScalarType::Byte);
  RETURNS(InvalidArgument, "this DYNAMIC_BOUND tensor has room for 4", write(bound));
  CHECK(bound->numel() == 4);
  const uint8_t constant[] = {1};
  RETURNS(InvalidState, "read-only", write(from_blob(constant, {0})));
  // Within the memory that it has, a tensor that was lent grows too.
  uint8_t room[4] = {};
  const auto lent = from_blob(room, {4});
  REQUIRE(resize_tensor(lent, {1}) == Error::Ok);
  CHECK(write(lent) == Error::Ok);
  CHECK(room[3] == 'c');
}

TEST_CASE("file writer: a tensor that is resized or lent meanwhile ends the writing") {
  const auto bytes = empty({0}, ScalarType::Byte, TensorShapeDynamism::DYNAMIC_UNBOUND);
  OutputFile file;
  Progress silent;
  REQUIRE(file.open(bytes) == Error::Ok);
  REQUIRE(file.write("abc", 3, silent) == Error::Ok);
  REQUIRE(resize_tensor(bytes, {1}) == Error::Ok);
  RETURNS(InvalidState, "the tensor was resized while it was written", file.write("d", 1, silent));
  RETURNS(InvalidState, "the tensor was resized while it was written", file.commit(true));
  const auto view = make_tensor_ptr(*bytes);
  OutputFile other;
  REQUIRE(other.open(bytes) == Error::Ok);
  const std::string text(size_t{1} << 12, 'x');
  RETURNS(InUse, "", other.write(text.data(), text.size(), silent));
  CHECK(bytes->numel() == 1);
}

TEST_CASE("file writer: memory that the host cannot write, or that went, is an error") {
  const FileBlock blocks[] = {{"abc", 3}};
  const auto placeholder = from_blob(nullptr, {100}, ScalarType::Byte);
  REQUIRE(resize_tensor(placeholder, {0}) == Error::Ok);
  RETURNS(InvalidState, "the tensor to write to has no memory",
          detail::write_file(placeholder, blocks));
  CHECK(placeholder->numel() == 0);
  uint8_t room[8] = {};
  const auto lent = from_blob(room, {8});
  REQUIRE(resize_tensor(lent, {0}) == Error::Ok);
  Progress silent;
  OutputFile file;
  REQUIRE(file.open(lent) == Error::Ok);
  REQUIRE(file.write("abc", 3, silent) == Error::Ok);
  lent->unsafeGetTensorImpl()->set_data(nullptr);
  RETURNS(InvalidState, "the tensor to write to has no memory", file.write("d", 1, silent));
}

TEST_CASE("file writer: a function gets the bytes in order, and its error ends the writing") {
  std::string text;
  const auto append = [&](const void* bytes, size_t count) {
    text.append(static_cast<const char*>(bytes), count);
    return text.size() > 10 ? Error::AccessFailed : Error::Ok;
  };
  const auto write = [](const detail::FileTarget& to, const std::string& what) {
    const FileBlock blocks[] = {{what.data(), what.size()}, {"-", 1}};
    return detail::write_file(to, blocks);
  };
  CHECK(write(append, "abc") == Error::Ok);
  CHECK(text == "abc-");
  RETURNS(AccessFailed, "the function that receives the bytes: ", write(append, "0123456789"));
  CHECK(text == "abc-0123456789");
  RETURNS(InvalidArgument, "the function that receives the bytes is empty",
          detail::FileTarget(WriteFunction()).check());
#if TENON_HAS_EXCEPTIONS
  const auto throws = [](const void*, size_t) -> Error { throw std::runtime_error("no socket"); };
  const Error error = write(throws, "abc");
  CHECK(error != Error::Ok);
  CHECK(contains(last_error_message(), "no socket"));
#endif
}

TEST_CASE("file writer: a function gets what was put when it is flushed, and no byte twice") {
  std::string text;
  const detail::FileTarget to([&](const void* bytes, size_t count) {
    text.append(static_cast<const char*>(bytes), count);
    return Error::Ok;
  });
  OutputFile file;
  REQUIRE(file.open(to) == Error::Ok);
  CHECK(file.can_seek());
  REQUIRE(file.put("abc", 3) == Error::Ok);
  REQUIRE(file.seek(0) == Error::Ok);
  REQUIRE(file.put("X", 1) == Error::Ok);
  CHECK(text.empty());
  REQUIRE(file.seek(3) == Error::Ok);
  REQUIRE(file.flush() == Error::Ok);
  CHECK(text == "Xbc");
  RETURNS(Internal, "byte 2 of the file has already been passed to the function", file.seek(2));
  REQUIRE(file.put("d", 1) == Error::Ok);
  REQUIRE(file.commit(false) == Error::Ok);
  CHECK(text == "Xbcd");
}

TEST_CASE("file writer: a function gets a MiB at most") {
  std::vector<size_t> counts;
  const detail::FileTarget to([&](const void*, size_t count) {
    counts.push_back(count);
    return Error::Ok;
  });
  const std::string text((size_t{5} << 19) + 1, 'x');
  OutputFile file;
  REQUIRE(file.open(to) == Error::Ok);
  REQUIRE(file.put(text.data(), text.size()) == Error::Ok);
  REQUIRE(file.commit(false) == Error::Ok);
  CHECK(counts == std::vector<size_t>{size_t{1} << 20, size_t{1} << 20, (size_t{1} << 19) + 1});
}

}  // namespace file_writer_test
