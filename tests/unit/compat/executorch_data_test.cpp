// SPDX-License-Identifier: MIT
#include "tenon/compat/executorch_data.h"

#include <thread>

#include "../interop/files.h"
#include "captured_log.h"
#include "support/catch.h"

namespace executorch_data_test {

using namespace executorch::extension;
using namespace executorch::runtime;
using executorch::runtime::Error, executorch::runtime::Result;
using tests::contains, tests::log_of, tests::TempFolder;

namespace {

struct Freed {
  int times = 0;
  void* data = nullptr;
  size_t size = 0;
};
void note(void* context, void* data, size_t size) {
  auto* const freed = static_cast<Freed*>(context);
  *freed = {freed->times + 1, data, size};
}

std::string text_of(const Result<FreeableBuffer>& bytes) {
  REQUIRE(bytes.ok());
  return std::string(static_cast<const char*>(bytes->data()), bytes->size());
}

bool is_aligned(const void* p, size_t alignment) {
  return p != nullptr && reinterpret_cast<uintptr_t>(p) % alignment == 0;
}

// A client's loader: of a text, whole or with its end missing.
class TextLoader final : public DataLoader {
 public:
  explicit TextLoader(std::string text, size_t missing = 0)
      : text_(std::move(text)), missing_(missing) {}
  Result<FreeableBuffer> load(size_t offset, size_t size,
                              const DataLoader::SegmentInfo& info) const override {
    if (info.segment_type == SegmentInfo::Type::Backend) return Error::NotSupported;
    return FreeableBuffer(text_.data() + offset, size - missing_, nullptr);
  }
  Result<size_t> size() const override { return text_.size(); }

 private:
  std::string text_;
  size_t missing_;
};

}  // namespace

// A promise of docs/guarantees.md.
TEST_CASE("executorch: FreeableBuffer frees once, where it was moved to") {
  char bytes[8] = {};
  Freed freed;
  {
    FreeableBuffer from(bytes, 8, &note, &freed);
    FreeableBuffer to(std::move(from));
    CHECK(from.data() == nullptr);
    CHECK(from.size() == 0);
    from.Free();
    CHECK(freed.times == 0);
    CHECK(to.data() == bytes);
    CHECK(*to.data_safe() == bytes);
    CHECK(to.size() == 8);
    to.Free();
    CHECK(freed.times == 1);
    CHECK(freed.data == bytes);
    CHECK(freed.size == 8);
    to.Free();
    CHECK(to.data() == nullptr);
    CHECK(to.size() == 0);
  }
  CHECK(freed.times == 1);
  { FreeableBuffer buffer(bytes, 3, &note, &freed); }
  CHECK(freed.times == 2);
  CHECK(freed.size == 3);
  { FreeableBuffer nothing(nullptr, 0, &note, &freed); }
  { FreeableBuffer borrowed(bytes, 8, nullptr); }
  CHECK(FreeableBuffer().data() == nullptr);
  CHECK(freed.times == 2);
}

TEST_CASE("executorch: FileDataLoader and MmapDataLoader read parts of a file") {
  const TempFolder folder;
  const std::string path = folder / "0123456789.bin";
  tests::put_file(path, {'0', '1', '2', '3', '4', '5', '6', '7', '8', '9'});
  auto file = FileDataLoader::from(path.c_str());
  auto mapped = MmapDataLoader::from(path.c_str(), MmapDataLoader::MlockConfig::NoMlock);
  REQUIRE(file.ok());
  REQUIRE(mapped.ok());
  CHECK(!file->maps());
  CHECK(mapped->maps());
  for (const DataLoader* loader :
       {static_cast<const DataLoader*>(&*file), static_cast<const DataLoader*>(&*mapped)}) {
    const DataLoader::SegmentInfo info(DataLoader::SegmentInfo::Type::Program);
    CHECK(loader->path() == path);
    CHECK(*loader->size() == 10);
    CHECK(text_of(loader->load(0, 10, info)) == "0123456789");
    CHECK(text_of(loader->load(9, 1, info)) == "9");
    CHECK(loader->load(10, 0, info)->data() == nullptr);
    CHECK(loader->load(3, 0, info)->size() == 0);
    char text[4] = {};
    CHECK(loader->load_into(2, 3, info, text) == Error::Ok);
    CHECK(std::string(text) == "234");
    CHECK(loader->load_into(10, 0, info, nullptr) == Error::Ok);
    CHECK(loader->load_into(0, 1, info, nullptr) == Error::InvalidArgument);
    const std::pair<size_t, size_t> wrong[] = {
        {0, 11}, {10, 1}, {11, 0}, {SIZE_MAX, 1}, {1, SIZE_MAX}, {SIZE_MAX, SIZE_MAX}, {5, 6}};
    for (const auto& range : wrong) {
      const std::string log = log_of([&] {
        CHECK(loader->load(range.first, range.second, info).error() == Error::InvalidArgument);
        CHECK(loader->load_into(range.first, range.second, info, text) == Error::InvalidArgument);
      });
      CHECK(contains(log, path));
    }
  }
  for (const size_t alignment : {1u, 16u, 4096u}) {
    const auto aligned = FileDataLoader::from(path.c_str(), alignment);
    REQUIRE(aligned.ok());
    const auto bytes = aligned->load(1, 9);
    CHECK(text_of(bytes) == "123456789");
    CHECK(is_aligned(bytes->data(), alignment));
  }
  log_of([&] {
    CHECK(FileDataLoader::from(path.c_str(), 0).error() == Error::InvalidArgument);
    CHECK(FileDataLoader::from(path.c_str(), 48).error() == Error::InvalidArgument);
  });
  std::vector<std::thread> threads;
  std::array<bool, 4> same{};
  for (size_t i = 0; i < same.size(); ++i) {
    threads.emplace_back([&, i] {
      char text[10];
      const DataLoader::SegmentInfo info;
      same[i] = file->load_into(0, 10, info, text) == Error::Ok && text[9] == '9';
    });
  }
  for (auto& thread : threads) thread.join();
  CHECK(std::count(same.begin(), same.end(), true) == 4);
  const FileDataLoader moved = std::move(*FileDataLoader::from(path.c_str()));
  CHECK(*moved.size() == 10);
}

// A promise of docs/guarantees.md.
TEST_CASE("executorch: a file that is missing, empty or became shorter") {
  const TempFolder folder;
  const std::string path = folder / "file";
  const std::string log = log_of([&] {
    CHECK(FileDataLoader::from(path.c_str()).error() == Error::AccessFailed);
    CHECK(MmapDataLoader::from(path.c_str()).error() == Error::AccessFailed);
    CHECK(FileDataLoader::from(folder.operator/("").c_str()).error() == Error::AccessFailed);
    CHECK(FileDataLoader::from("").error() == Error::AccessFailed);
    CHECK(FileDataLoader::from(nullptr).error() == Error::InvalidArgument);
    CHECK(MmapDataLoader::from(nullptr).error() == Error::InvalidArgument);
  });
  CHECK(contains(log, "/file: cannot open: No such file"));
  CHECK(contains(log, "not a regular file"));

  tests::put_file(path, {});
  const auto loader = FileDataLoader::from(path.c_str());
  REQUIRE(loader.ok());
  CHECK(*loader->size() == 0);
  CHECK(loader->load(0, 0)->size() == 0);
  log_of([&] { CHECK(loader->load(0, 1).error() == Error::InvalidArgument); });
  tests::put_file(path, {1, 2, 3});
  CHECK(loader->load(0, 3)->size() == 3);
  std::filesystem::resize_file(path, 2);
  log_of([&] { CHECK(loader->load(0, 3).error() == Error::InvalidArgument); });
  std::filesystem::remove(path);
  log_of([&] {
    CHECK(loader->load(0, 0).error() == Error::AccessFailed);
    CHECK(loader->size().error() == Error::AccessFailed);
    CHECK(loader->load_into(0, 0, {}, nullptr) == Error::AccessFailed);
  });
}

TEST_CASE("executorch: BufferDataLoader borrows, and a client's loader may be short") {
  const char text[] = "0123456789";
  const BufferDataLoader loader(text, 10);
  CHECK(*loader.size() == 10);
  CHECK(loader.path() == nullptr);
  CHECK(loader.load(4, 6)->data() == text + 4);
  CHECK(text_of(loader.load(4, 6)) == "456789");
  CHECK(loader.load(10, 0).ok());
  char part[4] = {};
  CHECK(loader.load_into(1, 3, {}, part) == Error::Ok);
  CHECK(loader.load_into(1, 3, {}, nullptr) == Error::InvalidArgument);
  CHECK(std::string(part) == "123");
  const std::pair<size_t, size_t> wrong[] = {
      {0, 11}, {10, 1}, {11, 0}, {SIZE_MAX, 1}, {1, SIZE_MAX}};
  for (const auto& range : wrong) {
    log_of([&] {
      CHECK(loader.load(range.first, range.second).error() == Error::InvalidArgument);
      CHECK(loader.load_into(range.first, range.second, {}, part) == Error::InvalidArgument);
    });
  }
  CHECK(BufferDataLoader(nullptr, 0).load(0, 0)->size() == 0);

  const DataLoader::SegmentInfo backend(DataLoader::SegmentInfo::Type::Backend, 2, "text");
  CHECK(backend.segment_index == 2);
  CHECK(TextLoader("abc").load_into(0, 3, {}, part) == Error::Ok);
  CHECK(std::string(part) == "abc");
  CHECK(TextLoader("abc").load_into(0, 3, backend, part) == Error::NotSupported);
  CHECK(contains(log_of([&] {
                   CHECK(TextLoader("abc", 1).load_into(0, 3, {}, part) ==
                         Error::InvalidExternalData);
                 }),
                 "2 bytes, expected 3"));
}

}  // namespace executorch_data_test
