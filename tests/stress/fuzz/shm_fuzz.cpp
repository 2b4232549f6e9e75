// SPDX-License-Identifier: MIT
// Shared memory: any bytes, and headers of which some parts are wrong, before memory of any length. What is attached
// has the elements of a model, which lie in the memory.
#include <algorithm>
#include <cstdint>
#include <cstring>

#include <sys/mman.h>
#include <unistd.h>

#include <tenon/exchange/binary.h>
#include <tenon/interop/shm.h>

#include "naive.h"

using namespace tenon;
using fuzz::Bytes;
using fuzz::Numbers;

namespace {

constexpr size_t kOffset = 4096;

/// A header, and whether it is right before that many bytes of elements, where that is known.
detail::ShmHeader take_header(fuzz::Input& in, uint64_t room, bool& known, bool& valid) {
  const fuzz::NaiveType& type = fuzz::take_type(in);
  const Numbers sizes = fuzz::take_sizes(in);
  const Numbers strides = in.flip() ? fuzz::dense_strides(sizes) : fuzz::take_strides(in, sizes);
  detail::ShmHeader header;
  header.type = static_cast<int32_t>(type.type);
  header.rank = sizes.size();
  for (size_t d = 0; d < sizes.size() && d < kMaxDims; ++d) {
    header.sizes[d] = sizes[d];
    header.strides[d] = strides[d];
  }
  const fuzz::NaiveShape shape = fuzz::compute(sizes, strides, type.size);
  const fuzz::Wide reach = (fuzz::Wide{shape.highest} + 1) * type.size;
  valid = sizes.size() <= kMaxDims && shape.valid && shape.lowest >= 0 &&
          (shape.numel == 0 || reach <= fuzz::Wide{room});
  // Strides that do not nest may be refused although they keep the elements apart.
  known = !valid || strides == fuzz::dense_strides(sizes);
  if (valid && shape.numel <= 4096 && fuzz::overlaps(sizes, strides)) {
    known = true;
    valid = false;
  }
  const size_t wrong = in.choose(16);
  if (wrong == 1) header.magic[in.choose(8)] ^= 1;
  if (wrong == 2) header.version ^= 1u + in.take<uint16_t>();
  if (wrong == 3) header.offset ^= 1u + in.take<uint16_t>();
  if (wrong == 4) header.rank = kMaxDims + 1 + in.take<uint32_t>();
  if (wrong == 5) header.type = 1000 + in.take<uint16_t>();
  if (wrong >= 1 && wrong <= 5) {
    known = true;
    valid = false;
  }
  return header;
}

}  // namespace

// A promise of docs/guarantees.md.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::Input in(data, size);
  bool known = false;
  bool valid = false;
  Bytes bytes(in.take<uint16_t>() % (2 * kOffset) + (in.flip() ? kOffset : 0), in.take<uint8_t>());
  if (in.choose(4) == 0) {
    std::copy_n(in.data(), std::min(in.size(), bytes.size()), bytes.data());
  } else {
    const uint64_t room = bytes.size() < kOffset ? 0 : bytes.size() - kOffset;
    const detail::ShmHeader header = take_header(in, room, known, valid);
    if (bytes.size() < kOffset) {
      known = true;
      valid = false;
    }
    if (!bytes.empty()) {
      std::memcpy(bytes.data(), &header, std::min(sizeof header, bytes.size()));
    }
  }
  for (size_t i = kOffset; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(bytes[i] + i % 2);

  const int fd = ::memfd_create("shm", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  FUZZ_CHECK(fd >= 0 &&
             ::write(fd, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
  FUZZ_CHECK(::fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK) == 0);
  const Result<TensorPtr> found = try_shm_attach(fd);
  ::close(fd);
  FUZZ_CHECK(!known || found.ok() == valid);
  FUZZ_CHECK(found.ok() || (found.error() != Error::Internal && *found.message() != '\0'));
  if (!found.ok()) return 0;
  const Tensor& tensor = **found;
  FUZZ_CHECK(tensor.is_readonly());
  const fuzz::NaiveType& type = *fuzz::find_type(tensor.scalar_type());
  const Bytes expected =
      fuzz::gather(bytes.data() + kOffset, tensor.sizes().vec(), tensor.strides().vec(), type);
  if (type.type != ScalarType::Bool) FUZZ_CHECK(to_binary(tensor) == expected);
  FUZZ_CHECK(expected.size() == tensor.nbytes());
  return 0;
}
