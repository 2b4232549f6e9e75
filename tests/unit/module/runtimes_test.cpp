// SPDX-License-Identifier: MIT
// Which runtime runs a file, what its maker is given and may do, and what its errors become.
#include "tenon/module/runtimes.h"

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <thread>

#include "support/catch.h"
#include "tenon/module/function_module.h"
#include "tenon/tenon.h"

namespace runtimes_test {

using namespace tenon;

namespace {

// Made before the list of makers, and destroyed after what static objects of that time would be.
struct OpensAtExit {
  ~OpensAtExit() {
    if (!open_module("early.model").ok()) std::abort();
  }
} opens_at_exit;

ModuleMaker giving(int64_t value) {
  return [value](const ModelFile&) {
    return std::make_shared<FunctionModule>([value](Span<const EValue>) { return EValue(value); });
  };
}
const bool kIsRegisteredEarly = register_runtime("early.model", giving(1));

/// What the module opened for a path gives; the error's text if there is none.
std::string opened(const std::string& path) {
  const auto module = open_module(path);
  if (!module) return module.message();
  return std::to_string((*module)->forward().value()[0].toInt());
}

/// Registers makers that are gone at its end.
class Registered {
 public:
  Registered(std::initializer_list<std::pair<const char*, ModuleMaker>> makers) {
    for (const auto& [suffix, make] : makers) {
      REQUIRE(register_runtime(suffix, make));
      suffixes_.emplace_back(suffix);
    }
  }
  Registered(const Registered&) = delete;
  Registered& operator=(const Registered&) = delete;
  ~Registered() {
    for (const std::string& suffix : suffixes_) register_runtime(suffix, nullptr);
  }

 private:
  std::vector<std::string> suffixes_;
};

class Made : public Module {
 public:
  std::string path;
  Tensor bytes;

 protected:
  size_t count_methods() const noexcept override { return 0; }
  const char* name_of(size_t) const noexcept override { return ""; }
  Error prepare(size_t, MethodMeta&) override { return Error::Ok; }
  Error invoke(size_t, Span<const EValue>, Outputs&) override { return Error::Ok; }
};
class OfFiles : public Made {
 public:
  explicit OfFiles(std::string from) {
    if (from == "broken.made") throw std::runtime_error("it broke");
    path = std::move(from);
  }
};
class OfBytes : public OfFiles {
 public:
  using OfFiles::OfFiles;
  explicit OfBytes(const TensorArg& program) : OfFiles("in memory") { bytes = program.tensor(); }
};

}  // namespace

TEST_CASE("runtimes: one may be registered before main, and used after it") {
  CHECK(kIsRegisteredEarly);
  CHECK(opened("early.model") == "1");
  CHECK(opened("folder/early.model") == "1");
}

// A promise of docs/guarantees.md.
TEST_CASE("runtimes: the longest suffix that is registered takes a file, the empty one the rest") {
  const Registered all{{".b", giving(1)}, {".a.b", giving(2)}, {"c.b", giving(3)}, {"", giving(4)}};
  CHECK(opened("x.b") == "1");
  CHECK(opened(".b") == "1");
  CHECK(opened("x.a.b") == "2");
  CHECK(opened("abc.b") == "3");
  CHECK(opened("c.b") == "3");
  CHECK(opened("b") == "4");    // shorter than a suffix
  CHECK(opened("x.B") == "4");  // case matters
  CHECK(opened("x.b/y") == "4");
  CHECK(opened("") == "4");
  CHECK(opened(std::string("x\0.b", 4)) == "1");
}

TEST_CASE("runtimes: a file that none runs is an error with the suffixes that are registered") {
  CHECK(opened("x.b") ==
        "open_module: no runtime is registered for \"x.b\"; registered: \"early.model\"");
  const Registered two{{".z", giving(1)}, {".a", giving(2)}};
  const auto none = open_module("x.b");
  CHECK(none.error() == Error::NotSupported);
  CHECK(none.message() ==
        std::string("open_module: no runtime is registered for \"x.b\"; registered: \".a\", "
                    "\".z\", \"early.model\""));
  CHECK(open_module("").error() == Error::NotSupported);
  REQUIRE(register_runtime("early.model", nullptr));
  REQUIRE(register_runtime(".a", nullptr));
  REQUIRE(register_runtime(".z", nullptr));
  REQUIRE(register_runtime(".never", ModuleMaker()));
  CHECK(opened("x.a") == "open_module: no runtime is registered for \"x.a\"; registered: none");
  REQUIRE(register_runtime("early.model", giving(1)));
}

TEST_CASE("runtimes: the last maker of a suffix replaces the others, which are dropped") {
  const auto held = std::make_shared<int>(5);
  {
    const Registered first{
        {".b", [held, make = giving(1)](const ModelFile& f) { return make(f); }}};
    CHECK(held.use_count() == 2);
    CHECK(opened("x.b") == "1");
    REQUIRE(register_runtime(".b", giving(2)));
    CHECK(held.use_count() == 1);
    CHECK(opened("x.b") == "2");
  }
  CHECK(open_module("x.b").error() == Error::NotSupported);
}

TEST_CASE("runtimes: a maker is given all that the file says") {
  ModelFile seen;
  const Registered one{{".b", [&](const ModelFile& file) {
                          seen = file;
                          return std::make_shared<OfFiles>(file.path);
                        }}};
  REQUIRE(open_module(std::filesystem::path("folder") / "x.b").ok());
  CHECK(seen.path == (std::filesystem::path("folder") / "x.b").string());
  CHECK_FALSE(seen.bytes.defined());
  CHECK(seen.data_files.empty());
  CHECK_FALSE(seen.map);
  CHECK_FALSE(seen.share_arenas);
  const Tensor bytes = *zeros({3}, ScalarType::Byte);
  REQUIRE(open_module({"x.b", bytes, {"one.ptd", "two.ptd"}, true, true}).ok());
  CHECK(seen.bytes.const_data_ptr() == bytes.const_data_ptr());
  CHECK(seen.data_files == std::vector<std::string>{"one.ptd", "two.ptd"});
  CHECK(seen.map);
  CHECK(seen.share_arenas);
  REQUIRE(open_module({"y.b"}).ok());
  CHECK(seen.path == "y.b");
  REQUIRE(open_module({"z.b", {}}).ok());
  CHECK(seen.path == "z.b");
}

TEST_CASE(
    "runtimes: a class is made of a path, or of bytes if it takes them, never of data files") {
  const Registered none{{".made", nullptr}, {".bytes", nullptr}};
  REQUIRE(register_runtime<OfFiles>(".made"));
  REQUIRE(register_runtime<OfBytes>(".bytes"));
  const Tensor bytes = *zeros({3}, ScalarType::Byte);
  const auto path_of = [](const auto& module) { return static_cast<Made&>(**module).path; };
  CHECK(path_of(open_module("x.made")) == "x.made");
  CHECK(path_of(open_module("x.bytes")) == "x.bytes");
  const auto in_memory = open_module({"x.bytes", bytes});
  CHECK(path_of(in_memory) == "in memory");
  CHECK(static_cast<Made&>(**in_memory).bytes.const_data_ptr() == bytes.const_data_ptr());
  RETURNS(NotSupported, "open_module: the runtime of \"x.made\" takes no program in memory",
          open_module({"x.made", bytes}).error());
  RETURNS(NotSupported, "open_module: the runtime of \"x.bytes\" takes no data files",
          open_module({"x.bytes", bytes, {"one.ptd"}}).error());
  RETURNS(Internal, "open_module: it broke", open_module("broken.made").error());
}

// A promise of docs/guarantees.md.
TEST_CASE("runtimes: what a maker throws or reports is the error, and nothing else is") {
  int which = 0;
  const Registered one{{".b", [&](const ModelFile&) -> std::shared_ptr<Module> {
                          if (which == 0) throw std::runtime_error("it broke");
                          if (which == 1) throw 5;
                          if (which == 2) static_cast<void>(zeros({-1}));
                          if (which == 3)
                            static_cast<void>(set_error(Error::NotFound, "no weights"));
                          if (which == 4) static_cast<void>(set_error(Error::Ok));
                          if (which == 5) throw std::bad_alloc();
                          return nullptr;
                        }}};
  static_cast<void>(set_error(Error::AccessFailed, "an older one"));
  RETURNS(Internal, "open_module: it broke", open_module("x.b").error());
  which = 1;
  RETURNS(Internal, "open_module: it threw something that is not a std::exception",
          open_module("x.b").error());
  which = 2;
  RETURNS(InvalidArgument, "open_module: zeros: size -1 of dimension 0 is negative",
          open_module("x.b").error());
  which = 3;
  RETURNS(NotFound, "open_module: no weights", open_module("x.b").error());
  which = 4;
  RETURNS(InvalidState, "open_module: the runtime made no module", open_module("x.b").error());
  which = 5;
  CHECK(open_module("x.b").error() == Error::OutOfMemory);
  which = 6;
  RETURNS(InvalidState, "open_module: the runtime made no module", open_module("x.b").error());
}

TEST_CASE("runtimes: opening a module leaves the thread's last error as it was") {
  const Registered one{{".b", giving(1)}};
  const Error before = set_error(Error::AccessFailed, "an older one");
  REQUIRE(open_module("x.b").ok());
  CHECK(last_error_message(before) == std::string("an older one"));
}

// A promise of docs/guarantees.md.
TEST_CASE("runtimes: a maker may register, replace, remove and open, itself too") {
  const Registered all{
      {".b", giving(1)},
      {".outer",
       [](const ModelFile& file) {
         const std::string inner = file.path.substr(0, file.path.size() - 6);
         return open_module(inner).value();
       }},
      {".once", [held = std::make_shared<int>(7)](const ModelFile&) -> std::shared_ptr<Module> {
         REQUIRE(register_runtime(".once", nullptr));
         REQUIRE(register_runtime(".once", giving(*held)));  // this one is running still
         return open_module("x.once").value();
       }}};
  CHECK(opened("x.b.outer") == "1");
  CHECK(opened("x.b.outer.outer") == "1");
  CHECK(open_module("x.c.outer").error() == Error::NotSupported);
  CHECK(opened("x.once") == "7");
  CHECK(opened("x.once") == "7");
}

TEST_CASE("runtimes: copies and destructors of a maker may register, too") {
  struct Meddler {
    std::shared_ptr<int> token = std::make_shared<int>();
    Meddler() = default;
    Meddler(const Meddler& other) : token(other.token) { meddle(); }
    Meddler& operator=(const Meddler&) = delete;
    ~Meddler() { meddle(); }
    static void meddle() {
      static_cast<void>(register_runtime(".meddled", nullptr));
      static_cast<void>(open_module("x.meddled"));
    }
    std::shared_ptr<Module> operator()(const ModelFile& file) const { return giving(3)(file); }
  };
  const std::weak_ptr<int> token = [] {
    Meddler meddler;
    REQUIRE(register_runtime(".b", meddler));
    return std::weak_ptr<int>(meddler.token);
  }();
  CHECK(opened("x.b") == "3");
  CHECK_FALSE(token.expired());
  REQUIRE(register_runtime(".b", giving(4)));
  CHECK(token.expired());
  REQUIRE(register_runtime(".b", Meddler()));
  REQUIRE(register_runtime(".b", nullptr));
  CHECK(open_module("x.b").error() == Error::NotSupported);
}

// A promise of docs/guarantees.md.
TEST_CASE("threads: modules are opened while runtimes are registered, replaced and removed",
          "[threads][register_runtime][open_module][ModuleMaker]") {
  const Registered one{{".stays", giving(5)}};
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([t, &wrong] {
      const std::string suffix = ".own" + std::to_string(t);
      for (int64_t i = 0; i < 200; ++i) {
        if (!register_runtime(suffix, giving(i)) || !register_runtime(".shared", giving(9)))
          ++wrong;
        if (opened("x" + suffix) != std::to_string(i)) ++wrong;
        if (opened("x.shared") != "9" || opened("x.stays") != "5") ++wrong;
        if (!register_runtime(suffix, nullptr)) ++wrong;
        if (open_module("x" + suffix).error() != Error::NotSupported) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
  REQUIRE(register_runtime(".shared", nullptr));
}

}  // namespace runtimes_test
