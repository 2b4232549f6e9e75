// SPDX-License-Identifier: MIT
// Elements as bytes: to_binary, from_binary, from_bytes, assign and copy_to with bytes and with blobs, for any sizes,
// strides and types. Every memory is a block of its own of exactly the needed size.
#include <cstdint>
#include <memory>
#include <utility>

#include <tenon/exchange/assign.h>
#include <tenon/exchange/binary.h>
#include <tenon/exchange/blob.h>
#include <tenon/tensor/clone.h>
#include <tenon/tensor/tensor_ptr.h>

#include "backend/helpers.h"
#include "naive.h"

using namespace tenon;
using fuzz::Bytes;
using fuzz::Numbers;

namespace {

constexpr int64_t kMost = 4096;  // elements, and bytes of a memory

/// Elements in a memory of exactly what they reach.
struct Strided {
  const fuzz::NaiveType* type;
  Numbers sizes;
  Numbers strides;
  fuzz::NaiveShape shape;
  std::unique_ptr<fuzz::Block> memory;  // null where the shape is none, or a large one
  uint8_t* first = nullptr;

  Strided(fuzz::Input& in, const fuzz::NaiveType& type_, Numbers sizes_)
      : type(&type_), sizes(std::move(sizes_)), strides(fuzz::take_strides(in, sizes)) {
    shape = fuzz::compute(sizes, strides, type->size);
    const fuzz::Wide reach = fuzz::Wide{shape.highest} - shape.lowest + 1;
    if (!shape.valid || shape.numel > kMost || reach * type->size > kMost) return;
    memory =
        std::make_unique<fuzz::Block>(static_cast<size_t>(reach * type->size), in.take<uint8_t>());
    first = memory->data() - shape.lowest * type->size;
  }

  Bytes elements() const { return fuzz::gather(first, sizes, strides, *type); }
  bool is_dense() const { return strides == fuzz::dense_strides(sizes); }
  /// What the memory would be with these elements.
  Bytes with(const Bytes& elements) const {
    Bytes bytes = memory->copy();
    const int64_t start = -shape.lowest * type->size;
    auto from = elements.begin();
    fuzz::for_each_offset(sizes, strides, [&](int64_t at) {
      std::copy_n(from, type->size, bytes.begin() + start + at * type->size);
      from += type->size;
    });
    return bytes;
  }
};

ScalarType take_any_type(fuzz::Input& in) {
  if (in.choose(16) == 0) return static_cast<ScalarType>(in.take<int8_t>());
  return fuzz::take_type(in).type;
}

/// A count of bytes: the right one, or another near it.
size_t take_count(fuzz::Input& in, int64_t right) {
  const size_t kind = in.choose(8);
  if (kind < 6 || right > kMost) return right > kMost ? in.choose(64) : static_cast<size_t>(right);
  return kind == 6 ? static_cast<size_t>(right) + 1 + in.choose(20)
                   : static_cast<size_t>(right) - in.choose(static_cast<size_t>(right) + 1);
}

void normalize_bools(const fuzz::NaiveType& type, Bytes& bytes) {
  for (uint8_t& byte : bytes) {
    if (type.type == ScalarType::Bool && byte > 1) byte = 1;
  }
}

void run_to_binary(fuzz::Input& in, const Strided& source) {
  const TensorPtr tensor = from_blob(source.first, source.sizes, source.strides, source.type->type);
  const int64_t limit = in.flip() ? kAllElements : fuzz::take_number(in);
  const Bytes before = source.memory->copy();
  Bytes bytes;
  try {
    bytes = to_binary(tensor, limit);
  } catch (const Exception& e) {
    FUZZ_CHECK(limit < 0 && e.error() == Error::InvalidArgument);
    return;
  }
  FUZZ_CHECK(limit >= 0);
  Bytes expected = source.elements();
  const int64_t count = std::min(limit, source.shape.numel);
  expected.resize(static_cast<size_t>(count * source.type->size));
  FUZZ_CHECK(bytes == expected && source.memory->copy() == before);
  static tests::MinimalBackend device;
  FUZZ_CHECK(to_binary(backend_copy(tensor, device), limit) == bytes && device.faults == 0);
  if (count != source.shape.numel) return;
  const TensorPtr again = from_binary(bytes, source.sizes, source.type->type);
  FUZZ_CHECK(again->is_contiguous() && to_binary(again) == bytes);
  const TensorPtr there = from_binary(bytes, source.sizes, source.type->type, device);
  FUZZ_CHECK(to_binary(there) == bytes && device.faults == 0);
}

void run_from_bytes(fuzz::Input& in) {
  const ScalarType asked = take_any_type(in);
  const fuzz::NaiveType* const type = fuzz::find_type(asked);
  const Numbers sizes = fuzz::take_sizes(in);
  const int64_t size = type == nullptr ? 1 : type->size;
  const fuzz::NaiveShape shape = fuzz::compute(sizes, fuzz::dense_strides(sizes), size);
  const size_t count = take_count(in, shape.valid ? shape.numel * size : 0);
  const fuzz::Block given(count, in.take<uint8_t>());
  const bool valid =
      type != nullptr && shape.valid && count == static_cast<uint64_t>(shape.numel * size);
  const auto dynamism = static_cast<TensorShapeDynamism>(in.choose(3));
  const Result<TensorPtr> made =
      in.flip() ? try_from_bytes(sizes, given.copy(), asked, dynamism)
                : try_from_binary(count == 0 && in.flip() ? nullptr : given.data(), count, sizes,
                                  asked, dynamism);
  FUZZ_CHECK(made.ok() == valid);
  if (!valid) return;
  Bytes expected = given.copy();
  normalize_bools(*type, expected);
  FUZZ_CHECK((*made)->sizes().vec() == sizes && to_binary(*made) == expected);
}

void run_bytes(fuzz::Input& in, const Strided& memory) {
  const TensorPtr tensor = from_blob(memory.first, memory.sizes, memory.strides, memory.type->type);
  const int64_t right = memory.shape.numel * memory.type->size;
  const size_t count = take_count(in, right);
  const bool is_right = count == static_cast<uint64_t>(right);
  const fuzz::Block block(count, in.take<uint8_t>());
  const Bytes old = memory.memory->copy();
  const Bytes bytes = block.copy();
  void* const data = count == 0 && in.flip() ? nullptr : block.data();
  if (in.flip()) {
    const Error error = copy_to(tensor, data, count);
    FUZZ_CHECK((error == Error::Ok) == is_right && memory.memory->copy() == old);
    Bytes written = block.copy();
    normalize_bools(*memory.type, written);
    FUZZ_CHECK(error == Error::Ok ? written == memory.elements() : block.copy() == bytes);
    return;
  }
  const bool can = can_assign(tensor, data, count);
  const Error error = assign(tensor, data, count);
  FUZZ_CHECK(can == (error == Error::Ok) && block.copy() == bytes);
  const bool overlaps = fuzz::overlaps(memory.sizes, memory.strides);
  FUZZ_CHECK(error != Error::Ok || (is_right && !overlaps));
  FUZZ_CHECK(error == Error::Ok || !is_right || !memory.is_dense());
  FUZZ_CHECK(error == Error::Ok || memory.memory->copy() == old);
  if (error != Error::Ok) return;
  Bytes expected = memory.with(bytes);
  Bytes found = memory.memory->copy();
  normalize_bools(*memory.type, expected);
  normalize_bools(*memory.type, found);
  FUZZ_CHECK(found == expected);
}

void run_blob(fuzz::Input& in, const Strided& memory) {
  const fuzz::NaiveType& type = in.choose(3) == 0 ? fuzz::take_type(in) : *memory.type;
  const Strided other(in, type, in.choose(4) == 0 ? fuzz::take_sizes(in) : memory.sizes);
  Blob blob{other.first, other.sizes, other.strides, type.type};
  const uint8_t odd = in.choose(2) == 0 ? uint8_t{0} : in.take<uint8_t>();
  if ((odd & 1) != 0) blob.dtype = take_any_type(in);
  if ((odd & 2) != 0)
    blob.element_size = in.flip() ? static_cast<size_t>(type.size) : in.choose(20);
  if ((odd & 4) != 0) blob.readonly = true;
  if ((odd & 8) != 0) blob.device = in.flip() ? Device("cuda:1") : Device("cuda_host");
  if ((odd & 16) != 0 && in.flip()) blob.data = nullptr;
  if ((odd & 32) != 0 && other.is_dense()) blob.strides = {};
  if ((odd & 64) != 0) blob.strides = fuzz::take_sizes(in);
  const fuzz::NaiveType* const claimed = fuzz::find_type(blob.dtype);
  const Numbers strides(blob.strides.begin(), blob.strides.end());
  bool valid =
      claimed != nullptr &&
      (blob.element_size == 0 || blob.element_size == static_cast<size_t>(claimed->size)) &&
      other.sizes.size() <= 64 && strides.size() <= 64 &&
      (strides.empty() || strides.size() == other.sizes.size());
  fuzz::NaiveShape shape;
  if (valid) {
    shape = fuzz::compute(other.sizes, strides.empty() ? fuzz::dense_strides(other.sizes) : strides,
                          claimed->size);
    valid = shape.valid;
  }
  size_t nbytes = 0;
  try {
    nbytes = blob.nbytes();
    FUZZ_CHECK(valid && blob.as_view().sizes.size() == other.sizes.size());
    FUZZ_CHECK(nbytes ==
               static_cast<size_t>((fuzz::Wide{shape.highest} - shape.lowest + 1) * claimed->size));
  } catch (const Exception&) {
    FUZZ_CHECK(!valid);
  }

  const TensorPtr tensor = from_blob(memory.first, memory.sizes, memory.strides, memory.type->type);
  const auto mode = static_cast<CastMode>(in.choose(3));
  const bool can = can_assign(tensor, blob, mode);
  FUZZ_CHECK(!can || (valid && other.sizes == memory.sizes && blob.device != Device("cuda:1")));
  FUZZ_CHECK(!can || blob.data != nullptr || memory.shape.numel == 0);
  const bool to = in.flip();
  // A blob with strides or a type that its memory was not made for would reach outside of it.
  if (valid && (other.memory == nullptr || (odd & 65) != 0)) return;
  const Bytes mine = memory.memory->copy();
  const Bytes theirs = other.memory == nullptr ? Bytes() : other.memory->copy();
  const Error error = to ? copy_to(tensor, blob, mode) : assign(tensor, blob, mode);
  FUZZ_CHECK(to || can == (error == Error::Ok));
  const Strided& dst = to ? other : memory;
  const Strided& src = to ? memory : other;
  const Bytes& source_before = to ? mine : theirs;
  const Bytes& before = to ? theirs : mine;
  FUZZ_CHECK(src.memory == nullptr || src.memory->copy() == source_before);
  if (error != Error::Ok) {
    FUZZ_CHECK(dst.memory == nullptr || dst.memory->copy() == before);
    return;
  }
  FUZZ_CHECK(valid && !(to && blob.readonly) && !fuzz::overlaps(dst.sizes, dst.strides));
  // What lies between the elements stays; the elements are what was to be written.
  const Bytes written = dst.elements();
  if (dst.type == src.type) {
    FUZZ_CHECK(written == src.elements());
  } else {
    FUZZ_CHECK(mode != CastMode::Checked || canCast(src.type->type, dst.type->type));
  }
  const Bytes zeros(written.size(), 0);
  const Bytes gaps = dst.with(zeros);
  std::copy(before.begin(), before.end(), dst.memory->data());
  FUZZ_CHECK(dst.with(zeros) == gaps);
}

}  // namespace

// A promise of docs/guarantees.md.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::Input in(data, size);
  const size_t what = in.choose(5);
  if (what < 2) {
    run_from_bytes(in);
    return 0;
  }
  const fuzz::NaiveType& type = fuzz::take_type(in);
  const Strided memory(in, type, fuzz::take_sizes(in));
  if (memory.memory == nullptr) {
    uint8_t byte = 0;
    const Result<TensorPtr> tensor = try_from_blob(&byte, memory.sizes, memory.strides, type.type);
    FUZZ_CHECK(tensor.ok() == memory.shape.valid);
    return 0;
  }
  if (what == 2) run_to_binary(in, memory);
  if (what == 3) run_bytes(in, memory);
  if (what == 4) run_blob(in, memory);
  return 0;
}
