// SPDX-License-Identifier: MIT
#include "tenon/interop/shm.h"

#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <future>
#include <random>

#include "interop/files.h"
#include "support/catch.h"
#include "tenon/tenon.h"
#include "tensor/helpers.h"

namespace shm_test {

using namespace tenon;
using namespace tests;

namespace {

/// A name of this test's, which is removed at its end whatever happens.
class Name {
 public:
  Name() {
    static int count = 0;
    name_ = "/tenon-test-" + std::to_string(::getpid()) + "-" + std::to_string(++count);
  }
  ~Name() { ::unlink(path().c_str()); }
  operator std::string() const { return name_; }
  operator std::string_view() const { return name_; }
  std::string path() const { return "/dev/shm" + name_; }
  bool exists() const { return ::access(path().c_str(), F_OK) == 0; }

 private:
  std::string name_;
};

/// A child process that runs f, and ends with what that returns; 99 if it throws.
class Child {
 public:
  template <class F>
  explicit Child(const F& f) : id_(::fork()) {
    REQUIRE(id_ >= 0);
    if (id_ != 0) return;
    ::alarm(60);
    int status = 99;
    try {
      status = f();
    } catch (const std::exception& e) {
      std::fprintf(stderr, "in a child: %s\n", e.what());
    }
    ::_exit(status);
  }
  Child(Child&& other) noexcept : id_(std::exchange(other.id_, 0)) {}
  Child& operator=(Child&&) = delete;
  ~Child() {
    if (id_ <= 0) return;
    kill();
    wait();
  }
  void kill() const { ::kill(id_, SIGKILL); }
  /// The exit's status, or 1000 and the signal that ended it.
  int wait() {
    int status = 0;
    if (::waitpid(std::exchange(id_, 0), &status, 0) < 0) return -1;
    return WIFSIGNALED(status) ? 1000 + WTERMSIG(status) : WEXITSTATUS(status);
  }

 private:
  pid_t id_;
};

/// One byte after another, between processes that were forked.
class Pipe {
 public:
  Pipe() { REQUIRE(::pipe(ends_) == 0); }
  ~Pipe() {
    ::close(ends_[0]);
    ::close(ends_[1]);
  }
  void put(int count = 1) const {
    for (int i = 0; i < count; ++i) static_cast<void>(!::write(ends_[1], "x", 1));
  }
  void get() const {
    char byte = 0;
    static_cast<void>(!::read(ends_[0], &byte, 1));
  }

 private:
  int ends_[2];
};

/// How many descriptors are open.
size_t count_descriptors() {
  size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    static_cast<void>(entry);
    ++count;
  }
  return count;
}
/// Whether any mapping has this in its line: a name's path, or "memfd:tenon".
bool has_mapping(const std::string& text) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.find(text) != std::string::npos) return true;
  }
  return false;
}

/// A memfd with these bytes.
int make_memfd(const std::vector<unsigned char>& bytes, int seals) {
  const int fd = ::memfd_create("hostile", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  REQUIRE(fd >= 0);
  REQUIRE(::write(fd, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
  REQUIRE((seals == 0 || ::fcntl(fd, F_ADD_SEALS, seals) == 0));
  return fd;
}
std::vector<unsigned char> bytes_of(int fd) {
  std::vector<unsigned char> bytes(static_cast<size_t>(::lseek(fd, 0, SEEK_END)));
  REQUIRE(::pread(fd, bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()));
  return bytes;
}

/// Whether the memory of a tensor has its name, as it has while that tensor lives.
bool has_name(const TensorPtr& t) {
  struct stat status;
  return ::fstat(shm_fd(t), &status) == 0 && status.st_nlink == 1;
}

constexpr auto kWrite = ShmAccess::ReadWrite;

/// A child that has made {7, 8, 9} of this name, and waits to be killed.
Child begin_owner(const Name& name) {
  const Pipe made;
  Child owner([&] {
    const TensorPtr t = shm_create(name, {3}, ScalarType::Int);
    for (int i = 0; i < 3; ++i) t->mutable_data_ptr<int32_t>()[i] = 7 + i;
    made.put();
    for (;;) ::pause();
    return 0;
  });
  made.get();
  return owner;
}

/// Leaves a name without an owner, as a process does that ends without destructors.
void abandon(const std::string& name, int32_t count = 3, mode_t mode = 0600) {
  CHECK(Child([&] {
          static_cast<void>(shm_create(name, {count}, ScalarType::Byte, {}, mode).release());
          return 0;
        }).wait() == 0);
}

/// Whether f returns 0 where this process may give itself a /dev/shm of five pages, in a child.
template <class F>
bool holds_in_five_pages(const F& f) {
  const int status = Child([&] {
                       const bool may =
                           ::unshare(CLONE_NEWNS) == 0 &&
                           ::mount("", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                           ::mount("tmpfs", "/dev/shm", "tmpfs", 0, "size=20480") == 0;
                       return may ? f() : 77;
                     }).wait();
  return status == 0 || status == 77;
}

/// Makes, attaches and drops tensors of a name at random. Returns what went wrong, or 0.
int use_at_random(const Name& name, unsigned seed, bool forks) {
  constexpr int64_t kCount = 1000;
  std::mt19937 random(seed);
  TensorPtr mine;
  for (int n = 0; n < 3000; ++n) {
    if (mine != nullptr && !has_name(mine)) return 4;
    switch (random() % 4) {
      case 0: {
        Result<TensorPtr> made = try_shm_create(name, {kCount}, ScalarType::Long);
        if (!made.ok() && made.error() != Error::InUse) return 1;
        if (made.ok()) mine = std::move(*made);
        break;
      }
      case 1: mine.reset(); break;
      case 2: {
        Result<TensorPtr> found = try_shm_attach(name, kWrite);
        if (!found.ok() && found.error() != Error::NotFound) return 2;
        if (found.ok() && (*found)->numel() != kCount) return 3;
        if (found.ok() && !has_name(*found)) return 5;
        if (found.ok()) mine = std::move(*found);
        break;
      }
      default:
        // A process that ends at once, with a tensor.
        if (!forks || random() % 20 != 0) break;
        Child([&] {
          Result<TensorPtr> found = try_shm_attach(name);
          ::kill(::getpid(), SIGKILL);
          return 0;
        }).wait();
    }
  }
  return 0;
}

}  // namespace

TEST_CASE("shm_create: another process attaches, and both see what either writes") {
  const Name name;
  for (const bool by_name : {true, false}) {
    const TensorPtr t = by_name ? shm_create(name, {2, 3}, ScalarType::Float)
                                : shm_create({2, 3}, ScalarType::Float);
    CHECK(values<float>(t) == Floats{0, 0, 0, 0, 0, 0});
    CHECK(ownership(t) == Ownership::Adopted);
    CHECK_FALSE(is_readonly(t));
    CHECK(reinterpret_cast<uintptr_t>(t->const_data_ptr()) % 4096 == 0);
    t->mutable_data_ptr<float>()[4] = 1.5f;
    Child child([&] {
      const int descriptor = ::dup(shm_fd(t));
      const TensorPtr theirs = by_name ? shm_attach(name, kWrite) : shm_attach(descriptor, kWrite);
      ::close(descriptor);  // the tensor has its own
      if (theirs->sizes() != Dims({2, 3}) || theirs->const_data_ptr<float>()[4] != 1.5f) return 1;
      theirs->mutable_data_ptr<float>()[0] = -2;
      return shm_fd(theirs) != descriptor ? 0 : 2;
    });
    CHECK(child.wait() == 0);
    CHECK(values<float>(t) == Floats{-2, 0, 0, 0, 1.5f, 0});
    CHECK(name.exists() == by_name);
  }
}

TEST_CASE("shm_create: every dtype, strides, no elements, a number and 64 dimensions arrive") {
  for (int i = 0; i < static_cast<int>(ScalarType::Undefined); ++i) {
    const auto type = static_cast<ScalarType>(i);
    if (detail::check_type(type) != Error::Ok) continue;
    const TensorPtr t = shm_create({3}, type);
    const TensorPtr theirs = shm_attach(shm_fd(t));
    CHECK(theirs->scalar_type() == type);
    CHECK(theirs->nbytes() == 3 * elementSize(type));
  }
  const struct {
    Vector sizes;
    Vector strides;
  } rows[] = {{{2, 3}, {1, 2}},
              {{2, 3}, {8, 1}},
              {{0, 5}, {5, 1}},
              {{}, {}},
              {Vector(64, 1), Vector(64, 1)}};
  for (const auto& row : rows) {
    const TensorPtr t = shm_create(row.sizes, ScalarType::Short, row.strides);
    const TensorPtr theirs = shm_attach(shm_fd(t));
    CHECK(sizes(theirs) == row.sizes);
    CHECK(strides(theirs) == row.strides);
    CHECK(tests::dim_order(theirs) == tests::dim_order(t));
  }
}

TEST_CASE("shm_create: the name and permissions are a file's in /dev/shm, by default its user's") {
  const Name name;
  const mode_t mask = ::umask(022);
  struct stat status;
  {
    const TensorPtr t = shm_create(name, {3}, ScalarType::Int);
    REQUIRE(::stat(name.path().c_str(), &status) == 0);
    CHECK((status.st_mode & 0777) == 0600);
    CHECK(status.st_size == 4096 + 12);
  }
  const TensorPtr t = shm_create(name, {3}, ScalarType::Int, {}, 0666);
  ::umask(mask);
  REQUIRE(::stat(name.path().c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0644);
}

TEST_CASE("shm: an owner finds out that it is the last whatever the permissions are") {
  const Name name;
  Child child([&] {
    if (::geteuid() == 0 && ::setuid(65534) != 0) return 1;
    for (const mode_t mode : {0u, 0200u, 0600u}) {
      for (const mode_t taken : {0u, 0700u}) {
        ::umask(taken);
        static_cast<void>(shm_create(name, {3}, ScalarType::Int, {}, mode));
        if (name.exists()) return 2;
      }
    }
    return 0;
  });
  CHECK(child.wait() == 0);
}

TEST_CASE("shm: an abandoned name of another user is NotFound, and stays") {
  if (::geteuid() != 0) return;
  const Name name;
  const mode_t mask = ::umask(0);
  abandon(name, 3, 0666);
  ::umask(mask);
  Child child([&] {
    if (::setuid(65534) != 0) return 1;
    if (try_shm_attach(name).error() != Error::NotFound || !name.exists()) return 2;
    return try_shm_create(name, {3}, ScalarType::Int).error() == Error::InUse ? 0 : 3;
  });
  CHECK(child.wait() == 0);
  RAISES(NotFound, "it was abandoned by processes that ended", shm_attach(name));
  CHECK_FALSE(name.exists());
}

// A promise of docs/guarantees.md.
TEST_CASE("shm: a read-only tensor refuses to be written to, and its memory faults") {
  const Name name;
  const TensorPtr t = shm_create(name, {3}, ScalarType::Int);
  const TensorPtr by_name = shm_attach(name);
  const TensorPtr anonymous = shm_create({3}, ScalarType::Int);
  const TensorPtr by_descriptor = shm_attach(shm_fd(anonymous));
  for (const TensorPtr& theirs : {std::cref(by_name), std::cref(by_descriptor)}) {
    CHECK(is_readonly(theirs));
    RAISES(InvalidState, "read-only", theirs->mutable_data_ptr<int32_t>());
    CHECK(fill_(theirs, 1) == Error::InvalidState);
    Child child([&] {
      ::signal(SIGSEGV, SIG_DFL);
      *const_cast<volatile int32_t*>(theirs->const_data_ptr<int32_t>()) = 1;
      return 0;
    });
    CHECK(child.wait() == 1000 + SIGSEGV);
  }
  CHECK(values<int32_t>(t) == Ints{0, 0, 0});
}

TEST_CASE("shm_attach: a descriptor has to be open for that access, and be of such memory") {
  const TensorPtr t = shm_create({2}, ScalarType::Long);
  const std::string path = "/proc/self/fd/" + std::to_string(shm_fd(t));
  const int writes = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  RAISES(AccessFailed, "cannot read it: Bad file descriptor", shm_attach(writes));
  ::close(writes);
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  REQUIRE(descriptor >= 0);
  CHECK(is_readonly(shm_attach(descriptor)));
  RAISES(AccessFailed, "shm_attach: descriptor " + std::to_string(descriptor) + ": cannot map it",
         shm_attach(descriptor, kWrite));
  ::close(descriptor);
  RAISES(AccessFailed, "shm_attach: descriptor -1: cannot duplicate it", shm_attach(-1));
  const int socket = ::socket(AF_UNIX, SOCK_STREAM, 0);
  RAISES(InvalidArgument, "not sealed", shm_attach(socket));
  ::close(socket);
  const int empty_file = make_memfd({}, F_SEAL_SHRINK);
  RAISES(InvalidArgument, "too short for the header", shm_attach(empty_file));
  ::close(empty_file);
}

// A promise of docs/guarantees.md.
TEST_CASE("shm: the name goes with the last tensor of it, in whatever order they go") {
  for (const bool creator_first : {true, false}) {
    const Name name;
    TensorPtr t = shm_create(name, {3}, ScalarType::Int);
    TensorPtr other = shm_attach(name, kWrite);
    Tensor view = slice(other, 0, 1, 3);
    t->mutable_data_ptr<int32_t>()[2] = 4;
    if (creator_first) t.reset();
    other.reset();
    CHECK(name.exists());
    if (!creator_first) {
      view = Tensor();
      CHECK(name.exists());
      t.reset();
    } else {
      CHECK(view.const_data_ptr<int32_t>()[1] == 4);
      CHECK(shm_attach(name)->numel() == 3);
      view = Tensor();
    }
    CHECK_FALSE(name.exists());
    CHECK_FALSE(has_mapping(name.path()));
    RAISES(NotFound, "shm_attach: " + name.path() + ": there is no such memory", shm_attach(name));
  }
}

// A promise of docs/guarantees.md.
TEST_CASE("shm: memory outlives an owner that is killed, and its name goes with the last one") {
  const Name name;
  Child owner = begin_owner(name);
  TensorPtr t = shm_attach(name);
  owner.kill();
  CHECK(owner.wait() == 1000 + SIGKILL);
  CHECK(values<int32_t>(t) == Ints{7, 8, 9});
  CHECK(values<int32_t>(shm_attach(name)) == Ints{7, 8, 9});
  CHECK(name.exists());
  t.reset();
  CHECK_FALSE(name.exists());
}

// A promise of docs/guarantees.md.
TEST_CASE("shm: what the last owner left is removed or replaced, but not what has an owner") {
  for (const int use : {0, 1, 2}) {
    const Name name;
    Child owner = begin_owner(name);
    RAISES(InUse, "shm_create: " + name.path() + ": the name is taken: it has an owner",
           shm_create(name, {1}, ScalarType::Int));
    CHECK(values<int32_t>(shm_attach(name)) == Ints{7, 8, 9});
    owner.kill();
    owner.wait();
    CHECK(name.exists());
    if (use == 2) {
      const TensorPtr t = shm_create(name, {2}, ScalarType::Int);
      CHECK(values<int32_t>(shm_attach(name)) == Ints{0, 0});
    } else {
      RAISES(NotFound, "it was abandoned",
             shm_attach(name, use == 1 ? kWrite : ShmAccess::ReadOnly));
    }
    CHECK_FALSE(name.exists());
  }
}

// A promise of docs/guarantees.md.
TEST_CASE("shm: processes make, attach, drop and are killed at random: nobody sees half a tensor") {
  const Name name;
  std::vector<Child> children;
  for (unsigned i = 0; i < 4; ++i) {
    children.emplace_back([&] { return use_at_random(name, i, true); });
  }
  for (Child& child : children) CHECK(child.wait() == 0);
  CHECK(try_shm_attach(name).error() == Error::NotFound);
  CHECK_FALSE(name.exists());
  // Threads do as processes do.
  std::vector<std::future<int>> threads;
  for (unsigned i = 0; i < 4; ++i) {
    threads.push_back(std::async(std::launch::async, use_at_random, std::cref(name), i, false));
  }
  for (std::future<int>& thread : threads) CHECK(thread.get() == 0);
  CHECK_FALSE(name.exists());
}

TEST_CASE("shm: a name that another program removed may be used anew; each memory is its own") {
  const Name name;
  TensorPtr old = shm_create(name, {3}, ScalarType::Int);
  REQUIRE(::shm_unlink(std::string(name).c_str()) == 0);
  RAISES(NotFound, "no such memory", shm_attach(name));
  const TensorPtr t = shm_create(name, {2}, ScalarType::Int);
  t->mutable_data_ptr<int32_t>()[0] = 1;
  CHECK(values<int32_t>(old) == Ints{0, 0, 0});
  old.reset();
  CHECK(name.exists());
  CHECK(values<int32_t>(shm_attach(name)) == Ints{1, 0});
}

// A promise of docs/guarantees.md.
TEST_CASE("shm: after fork() parent and child own one tensor each; the name goes with the last") {
  for (const bool child_first : {true, false}) {
    const Name name;
    const Pipe parent_dropped;
    TensorPtr t = shm_create(name, {3}, ScalarType::Int);
    Child child([&] {
      if (!child_first) parent_dropped.get();
      if (!name.exists()) return 1;
      t->mutable_data_ptr<int32_t>()[1] = 6;
      t.reset();
      return name.exists() == child_first ? 0 : 2;
    });
    if (child_first) {
      CHECK(child.wait() == 0);
      CHECK(values<int32_t>(shm_attach(name)) == Ints{0, 6, 0});
      CHECK(Child([] { return 0; }).wait() == 0);  // which ends without dropping it
    }
    t.reset();
    parent_dropped.put();
    if (!child_first) CHECK(child.wait() == 0);
    CHECK_FALSE(name.exists());
  }
}

TEST_CASE("shm: names that are none are errors, also those with a zero in them") {
  const std::string longest = "/" + std::string(255, 'x');
  for (const std::string& name :
       {std::string(), std::string("/"), std::string("xy"), std::string("//"), std::string("/a/b"),
        std::string("/."), std::string("/.."), longest + "x", std::string("/a\0b", 4)}) {
    CAPTURE(name);
    RAISES(InvalidArgument, "expected \"/\" and 1 to 255 others",
           shm_create(name, {3}, ScalarType::Int));
    RAISES(InvalidArgument, "shm_attach: ", shm_attach(name));
  }
  const char* const null = nullptr;
  RAISES(InvalidArgument, "the name has 0 characters", shm_create(null, {3}, ScalarType::Int));
  RAISES(InvalidArgument, "the name has 0 characters", shm_attach(null));
  // In whatever order the arguments are evaluated.
  const auto failing = [] {
    static_cast<void>(try_make_tensor_ptr({-5}, Vector{1}));
    return Vector{3};
  };
  RAISES(InvalidArgument, "the name has 1 characters", shm_create("x", failing(), ScalarType::Int));
  ::unlink(("/dev/shm" + longest).c_str());
  const TensorPtr t = shm_create(longest, {3}, ScalarType::Int);
  CHECK(shm_attach(longest.c_str())->numel() == 3);
  CHECK(shm_attach(std::string_view(longest))->numel() == 3);
}

// A promise of docs/guarantees.md.
TEST_CASE("shm: the memory of other programs is neither a tensor nor replaced") {
  const Name name;
  for (const std::string& content :
       {std::string(), std::string(100, 'x'), std::string(8192, '\0')}) {
    put_file(name.path(), std::vector<uint8_t>(content.begin(), content.end()));
    RAISES(InvalidArgument, "the header of a tensor", shm_attach(name));
    RAISES(InUse, "the name is taken: ", shm_create(name, {3}, ScalarType::Int));
    CHECK(file_bytes(name.path()).size() == content.size());
  }
  ::unlink(name.path().c_str());
  std::filesystem::create_symlink("/etc/passwd", name.path());
  RAISES(AccessFailed, "cannot open it", shm_attach(name));
  RAISES(InUse, "the name is taken: cannot open it", shm_create(name, {3}, ScalarType::Int));
  ::unlink(name.path().c_str());
  REQUIRE(::mkfifo(name.path().c_str(), 0600) == 0);  // nobody waits for its writer
  RAISES(AccessFailed, "cannot read it: Illegal seek", shm_attach(name));
  ::unlink(name.path().c_str());
  REQUIRE(::mkdir(name.path().c_str(), 0700) == 0);
  RAISES(AccessFailed, "cannot read it: Is a directory", shm_attach(name));
  RAISES(AccessFailed, "cannot open it", shm_attach(name, kWrite));
  ::rmdir(name.path().c_str());
}

// A promise of docs/guarantees.md.
TEST_CASE("shm: what is written to the header later does not matter to those who attached before") {
  const Name name;
  const TensorPtr t = shm_create(name, {2, 3}, ScalarType::Int);
  const TensorPtr theirs = shm_attach(name);
  const std::vector<unsigned char> wrong(1056);
  REQUIRE(::pwrite(shm_fd(t), wrong.data(), wrong.size(), 0) == 1056);
  CHECK(theirs->sizes() == Dims({2, 3}));
  CHECK(values<int32_t>(theirs) == Ints{0, 0, 0, 0, 0, 0});
  RAISES(InvalidArgument, "the header of a tensor", shm_attach(name));
}

// A promise of docs/guarantees.md.
TEST_CASE("shm: memory without a name cannot be shortened, and what can be is refused") {
  const TensorPtr t = shm_create({1000}, ScalarType::Int);
  const TensorPtr theirs = shm_attach(shm_fd(t), kWrite);
  for (const off_t length : {0, 4096, 100000}) {
    CHECK(::ftruncate(shm_fd(theirs), length) == -1);
    CHECK(errno == EPERM);
  }
  CHECK(::ftruncate(shm_fd(t), 0) == -1);
  const int fd = make_memfd(bytes_of(shm_fd(t)), 0);
  RAISES(InvalidArgument, "descriptor " + std::to_string(fd) + ": not sealed against shrinking",
         shm_attach(fd));
  ::close(fd);
  const Name name;
  const TensorPtr named = shm_create(name, {3}, ScalarType::Int);
  RAISES(InvalidArgument, "not sealed against shrinking", shm_attach(shm_fd(named)));
  CHECK(name.exists());
}

// A promise of docs/guarantees.md.
TEST_CASE("shm: a descriptor that only reads stays one in another user's hands") {
  const TensorPtr t = shm_create({2}, ScalarType::Long);
  const auto path = [](int descriptor) { return "/proc/self/fd/" + std::to_string(descriptor); };
  const int descriptor = ::open(path(shm_fd(t)).c_str(), O_RDONLY | O_CLOEXEC);
  REQUIRE(descriptor >= 0);
  struct stat status;
  REQUIRE(::fstat(descriptor, &status) == 0);
  CHECK((status.st_mode & 0777) == 0600);
  if (::geteuid() == 0) {
    Child child([&] {
      if (::setuid(65534) != 0 || ::prctl(PR_SET_DUMPABLE, 1) != 0) return 1;  // to see its /proc
      if (shm_attach(descriptor)->numel() != 2) return 2;
      return ::open(path(descriptor).c_str(), O_RDWR | O_CLOEXEC) < 0 && errno == EACCES ? 0 : 3;
    });
    CHECK(child.wait() == 0);
  }
  ::close(descriptor);
}

TEST_CASE("shm_attach: a file that another process keeps locked is InUse, after a while") {
  const Name name;
  abandon(name);
  const int fd = ::open(name.path().c_str(), O_RDWR | O_CLOEXEC);
  REQUIRE(::flock(fd, LOCK_EX | LOCK_NB) == 0);
  RAISES(InUse, "another process keeps it locked", shm_attach(name));
  RAISES(InUse, "the name is taken: another process keeps it locked",
         shm_create(name, {3}, ScalarType::Int));
  ::close(fd);
  RAISES(NotFound, "abandoned", shm_attach(name));
}

TEST_CASE("shm_create: dtypes, sizes and strides that are none leave nothing") {
  const Name name;
  const size_t before = count_descriptors();
  RAISES(InvalidType, "", shm_create(name, {3}, ScalarType::Undefined));
  RAISES(InvalidArgument, "is negative", shm_create(name, {-1}, ScalarType::Int));
  RAISES(InvalidArgument, "is negative", shm_create({-1}, ScalarType::Int));
  RAISES(InvalidArgument, "overflow", shm_create({INT64_MAX, 2}, ScalarType::Int));
  RAISES(InvalidArgument, "differ in length", shm_create({3, 2}, ScalarType::Int, {1}));
  RAISES(InvalidArgument, "may overlap", shm_create(name, {3, 2}, ScalarType::Int, {1, 1}));
  RAISES(InvalidArgument, "are negative", shm_create({3}, ScalarType::Int, {-1}));
  RAISES(OutOfMemory, "cannot reserve the memory in /dev/shm: No space left on device",
         shm_create(name, {int64_t{1} << 50}, ScalarType::Byte));
  RAISES(OutOfMemory, "shm_create: cannot ", shm_create({int64_t{1} << 60}, ScalarType::Byte));
  CHECK_FALSE(name.exists());
  CHECK(count_descriptors() == before);
}

TEST_CASE("shm_create: signals, as a profiler sends them, do not keep it from reserving memory") {
  const Name name;
  Child child([&] {
    ::signal(SIGALRM, [](int) {});
    const itimerval often = {{0, 500}, {0, 500}};  // microseconds
    if (::setitimer(ITIMER_REAL, &often, nullptr) != 0) return 1;
    const TensorPtr t = shm_create(name, {32 << 20}, ScalarType::Byte);
    return t->numel() == 32 << 20 ? 0 : 2;
  });
  CHECK(child.wait() == 0);
}

TEST_CASE("shm_create: fills /dev/shm to its last page, also with what it replaces") {
  CHECK(holds_in_five_pages([] {
    if (try_shm_create("/x", {16385}, ScalarType::Byte).error() != Error::OutOfMemory) return 1;
    if (fill_(shm_create("/x", {16384}, ScalarType::Byte), 1) != Error::Ok) return 2;
    abandon("/x", 16384);
    const TensorPtr t = shm_create("/x", {16380}, ScalarType::Byte);
    if (shm_attach("/x")->numel() != 16380) return 3;
    return try_shm_create("/x", {16384}, ScalarType::Byte).error() == Error::InUse ? 0 : 4;
  }));
}

TEST_CASE("shm: everything is released, and errno is left as it was") {
  const Name name;
  const size_t before = count_descriptors();
  errno = 77;
  {
    const TensorPtr t = shm_create(name, {3}, ScalarType::Int);
    const TensorPtr theirs = shm_attach(name);
    const TensorPtr anonymous = shm_create({3}, ScalarType::Int);
    const TensorPtr again = shm_attach(shm_fd(anonymous));
    CHECK(errno == 77);
    CHECK_FALSE(try_shm_create(name, {3}, ScalarType::Int).ok());
    CHECK_FALSE(try_shm_attach("/tenon-test-none").ok());
    CHECK_FALSE(try_shm_attach(-1).ok());
    CHECK(errno == 77);
    CHECK(count_descriptors() == before + 4);
    CHECK(has_mapping("memfd:tenon"));
  }
  CHECK(errno == 77);
  CHECK(count_descriptors() == before);
  CHECK_FALSE(has_mapping("memfd:tenon"));
  CHECK_FALSE(has_mapping("/dev/shm"));
}

TEST_CASE("shm: the name goes with the last tensor of it when no more files can be opened") {
  const Name name;
  Child child([&] {
    TensorPtr t = shm_create(name, {3}, ScalarType::Int);
    const rlimit few = {static_cast<rlim_t>(shm_fd(t)) + 1, 1000};
    if (::setrlimit(RLIMIT_NOFILE, &few) != 0) return 1;
    while (::dup(0) >= 0) {
    }
    if (try_shm_attach(name).error() != Error::AccessFailed) return 2;
    if (try_shm_create({3}, ScalarType::Int).error() != Error::AccessFailed) return 3;
    t.reset();
    return name.exists() ? 4 : 0;
  });
  CHECK(child.wait() == 0);
}

TEST_CASE("shm_fd: is of the tensors of this header alone; errors name the function") {
  RAISES(InvalidArgument, "shm_fd: neither shm_create() nor", shm_fd(zeros({3})));
  RAISES(InvalidState, "shm_fd: the tensor is undefined", shm_fd(Tensor()));
  const TensorPtr t = shm_create({2, 3}, ScalarType::Int);
  RAISES(InvalidArgument, "shm_fd: ", shm_fd(select(t, 0, 1)));
  CHECK(shm_fd(make_tensor_ptr(t)) == shm_fd(t));
  CHECK(*try_shm_fd(t) == shm_fd(t));
  const Name name;
  const TensorPtr named = shm_create(name, {3}, ScalarType::Int);
  FAILS(InUse, "try_shm_create: /dev/shm/", try_shm_create(name, {3}, ScalarType::Int));
  FAILS(AccessFailed, "try_shm_attach: descriptor -1", try_shm_attach(-1));
  FAILS(InvalidArgument, "try_shm_fd: neither shm_create() nor", try_shm_fd(zeros({3})));
  FAILS(InvalidState, "try_shm_fd: the tensor is undefined", try_shm_fd(Tensor()));
}

}  // namespace shm_test
