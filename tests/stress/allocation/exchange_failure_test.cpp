// SPDX-License-Identifier: MIT
// Blobs, DLPack, binaries, .npy files and shared memory with what they allocate and call failing.
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <memory_resource>
#include <sstream>

#include "allocation/failures.h"
#include "tenon/backend/pmr.h"
#include "tenon/exchange/dlpack_packed.h"
#include "tenon/interop/npy.h"
#include "tenon/interop/shm.h"
#include "tenon/ostream.h"

namespace exchange_failure_test {

using namespace tenon;
using namespace tests;

TEST_CASE("out of memory: blobs drop their owners once, and borrow nothing") {
  const auto flat = make_tensor_ptr({1, 2});
  const auto deep = make_tensor_ptr(kDeep, {1});
  FAIL_EACH(to_blob(flat));
  FAIL_EACH(to_blob(deep));
  FAIL_EACH(to_owned_blob(flat));
  FAIL_EACH(to_owned_blob(deep));
  CHECK(flat->use_count() == 1);
  CHECK(deep->use_count() == 1);
  CHECK_FALSE(detail::fields(flat).borrows.any());
  CHECK_FALSE(detail::fields(deep).borrows.any());
  FAIL_EACH_OF("Blob::from_byte_strides",
               Blob::from_byte_strides(blob, kDeep, kDeep, ScalarType::Float));
  FAIL_EACH_OF("Blob::of", Blob::of(blob, kDeep).sizes.error());
  FAIL_EACH_OF("Blob::byte_strides", (Blob::of(blob, kDeep).byte_strides()));
  Calls calls;
  PmrBackend backend(std::pmr::new_delete_resource());
  const auto shared = std::make_shared<int>(1);
  for (const Dims& sizes : {Dims{2, 3}, Dims(kDeep)}) {
    const Blob lent = Blob::of(blob, sizes);
    FAIL_EACH(from_blob(lent));
    Blob owned = lent;
    owned.owner = shared;
    FAIL_EACH(from_blob(owned, backend));
    FAIL_EACH_WITH(Expected(calls, 1), from_blob(lent, LargeOwner(calls)));
  }
  CHECK(shared.use_count() == 1);
  CHECK(backend.live_blocks() == 0);
}

// A promise of docs/guarantees.md.
TEST_CASE("out of memory: from_dlpack runs the deleter once") {
  Calls calls;
  alignas(8) static unsigned char memory[64] = {};
  int64_t numbers[2][8] = {{1, 1, 1, 1, 1, 1, 2, 3}, {99, 99, 99, 99, 99, 99, 1, 2}};
  for (const int rank : {2, 8}) {
    for (const int offset : {0, 1}) {
      dlpack::DLManagedTensorVersioned lent{
          {1, 3},
          &calls,
          [](dlpack::DLManagedTensorVersioned* self) {
            static_cast<Calls*>(self->manager_ctx)->deleter()(nullptr);
          },
          0,
          {memory + offset,
           {1, 0},
           rank,
           {0, 32, 1},
           numbers[0] + 8 - rank,
           numbers[1] + 8 - rank,
           0}};
      FAIL_EACH_WITH(Expected(calls, 1), from_dlpack(&lent));
      FAIL_EACH_WITH(Expected(calls, 1), from_dlpack(&lent, true));
      lent.dl_tensor.dtype = {17, 4, 2};
      FAIL_EACH_WITH(Expected(calls, 1), from_dlpack_packed(&lent));
      FAIL_EACH_WITH(Expected(calls, 1), try_from_dlpack_packed(&lent));
    }
  }
}

TEST_CASE("out of memory: to_binary and to_string raise, from_binary makes nothing") {
  const auto t = make_tensor_ptr({2, 3}, {1, 2, 3, 4, 5, 6});
  const auto deep = make_tensor_ptr({2, 1, 1, 1, 1, 1, 1, 2}, {1, 2, 3, 4});
  const Tensor turned = transpose(deep, 0, 7);
  FAIL_EACH_WITH(Foreign{1}, to_binary(t));
  FAIL_EACH_WITH(Foreign{1}, to_binary(turned, 3));
  static const std::vector<uint8_t> bytes(24);
  FAIL_EACH(from_binary(bytes, {2, 3}, ScalarType::Int));
  FAIL_EACH(try_from_binary(bytes.data(), 4, kDeep, ScalarType::Int));
  FAIL_EACH_WITH(Foreign{100}, tenon::to_string(t));
  FAIL_EACH_WITH(Foreign{100}, tenon::to_string(turned));
}

// A promise of docs/guarantees.md.
TEST_CASE("out of memory: .npy files are read and written whole, or not at all") {
  const std::string path = "failing.npy";
  const auto t = make_tensor_ptr({2, 3}, {1, 2, 3, 4, 5, 6});
  const auto deep = make_tensor_ptr(kDeep, {1});
  const Tensor turned = flip(t, {0});
  const std::vector<uint8_t> bytes = to_npy(t);
  const std::vector<uint8_t> deep_bytes = to_npy(deep);
  const auto content = [&] {
    std::ifstream file(path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  const Unchanged given(t, deep, bytes);
  FAIL_EACH_WITH(Foreign{1}, to_npy(t));
  FAIL_EACH_WITH(Foreign{1}, to_npy(turned));
  FAIL_EACH(try_to_npy(turned));
  FAIL_EACH(from_npy(bytes.data(), bytes.size()));
  FAIL_EACH(try_from_npy(deep_bytes.data(), deep_bytes.size()));
  size_t offset = 0;
  FAIL_EACH(try_from_npy(bytes.data(), bytes.size(), ScalarType::Int, &(offset = 0)));
  CHECK(offset == bytes.size());
  REQUIRE(write_npy(path.c_str(), deep) == Error::Ok);
  const std::string before = content();
  // The file as well stays as it was: a new one is put in its place. stdio does without a buffer.
  const auto number = [&] {
    struct stat status = {};
    return ::stat(path.c_str(), &status) == 0 ? status.st_ino : 0;
  };
  fail_each("write_npy", recovers(), [&] {
    std::FILE* open_file = nullptr;
    ino_t old_number = 0;
    {
      const Uncounted uncounted;
      std::ofstream(path, std::ios::binary) << before;
      old_number = number();
      open_file = std::fopen(path.c_str(), "rb");  // so that its number is not used again
    }
    const Error error = write_npy(path.c_str(), turned);
    const Uncounted uncounted;
    std::fclose(open_file);
    if (error == Error::Ok) return number() != old_number ? error : Error::Internal;
    return number() == old_number && content() == before ? error : Error::Internal;
  });
  REQUIRE(write_npy(path.c_str(), deep) == Error::Ok);
  fail_each("read_npy", recovers(), [&] { return read_npy(path.c_str()); });
  fail_each("try_read_npy", recovers(), [&] { return try_read_npy(path.c_str()); });
  fail_each("npy_info", recovers(), [&] { return npy_info(path.c_str()); });
  fail_each("mapped", recovers(), [&] { return try_read_npy(path.c_str(), NpyMemory::Map); });
  std::remove(path.c_str());
  std::ifstream aside(".tenon-" + std::to_string(::getpid()) + "-0.tmp");
  CHECK_FALSE(aside.is_open());
}

// A promise of docs/guarantees.md.
TEST_CASE("out of memory: shared memory is made and attached whole, or no name is left") {
  if (::access("/dev/shm", W_OK) != 0) {
    WARN("not tried: /dev/shm cannot be written to");
    return;
  }
  const std::string name = "/tenon-failing-" + std::to_string(::getpid());
  const std::string path = "/dev/shm" + name;
  const auto exists = [&] { return ::access(path.c_str(), F_OK) == 0; };
  FAIL_EACH(shm_create(name, {2, 3}, ScalarType::Int));
  FAIL_EACH(try_shm_create(name, kDeep, ScalarType::Int));
  FAIL_EACH(shm_create({2, 3}, ScalarType::Int));
  FAIL_EACH(try_shm_create(kDeep, ScalarType::Int));
  CHECK_FALSE(exists());
  {
    const TensorPtr t = shm_create(name, {2, 3}, ScalarType::Int);
    const TensorPtr deep = shm_create(kDeep, ScalarType::Int);
    const Unchanged given(t, deep);
    FAIL_EACH(shm_attach(name));
    FAIL_EACH(try_shm_attach(name));
    FAIL_EACH(shm_attach(shm_fd(deep)));
    FAIL_EACH(try_shm_attach(shm_fd(deep), ShmAccess::ReadWrite));
    CHECK(exists());
  }
  CHECK_FALSE(exists());
  // Of a name that was abandoned.
  fail_each("try_shm_create(name)", Expected(), [&] {
    {
      const Uncounted uncounted;
      const TensorPtr t = shm_create(name + "-", {2}, ScalarType::Int);
      static_cast<void>(::link((path + "-").c_str(), path.c_str()));
    }
    return try_shm_create(name, {2, 3}, ScalarType::Int);
  });
  CHECK_FALSE(exists());
}

}  // namespace exchange_failure_test
