// SPDX-License-Identifier: MIT
// DLPack structs of any content, with a version and without. The memory is as large as the shape says, where that is a
// valid one of the host's; else there is none, or none that can be read.
#include <cstdint>
#include <cstring>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

#include <tenon/exchange/binary.h>
#include <tenon/exchange/dlpack.h>
#include <tenon/tensor/access.h>
#include <tenon/tensor/copy.h>
#include <tenon/tensor/resize.h>

#include "naive.h"

using namespace tenon;
using fuzz::Bytes;
using fuzz::Numbers;
using tenon::detail::Optional;

namespace {

// Limits of what is made or copied.
constexpr int64_t kMostBytes = 4096;
constexpr int64_t kMostElements = 4096;

/// DLPack's codes and bits of tenon's types, written out once more.
constexpr struct {
  uint8_t code;
  uint8_t bits;
  ScalarType type;
} kCodes[] = {{0, 8, ScalarType::Char},
              {0, 16, ScalarType::Short},
              {0, 32, ScalarType::Int},
              {0, 64, ScalarType::Long},
              {1, 8, ScalarType::Byte},
              {1, 16, ScalarType::UInt16},
              {1, 32, ScalarType::UInt32},
              {1, 64, ScalarType::UInt64},
              {2, 16, ScalarType::Half},
              {2, 32, ScalarType::Float},
              {2, 64, ScalarType::Double},
              {4, 16, ScalarType::BFloat16},
              {5, 32, ScalarType::ComplexHalf},
              {5, 64, ScalarType::ComplexFloat},
              {5, 128, ScalarType::ComplexDouble},
              {6, 8, ScalarType::Bool},
              {10, 8, ScalarType::Float8_e4m3fn},
              {11, 8, ScalarType::Float8_e4m3fnuz},
              {12, 8, ScalarType::Float8_e5m2},
              {13, 8, ScalarType::Float8_e5m2fnuz}};
const fuzz::NaiveType* find_type(const tenon::dlpack::DLDataType& dtype) {
  for (const auto& row : kCodes) {
    if (dtype.lanes == 1 && row.code == dtype.code && row.bits == dtype.bits) {
      return fuzz::find_type(row.type);
    }
  }
  return nullptr;
}

bool is_host(int32_t device) { return device == 1 || device == 3 || device == 11 || device == 13; }
bool has_handles(int32_t device) {
  return device == 4 || device == 7 || device == 8 || device == 15;
}
bool is_device(int32_t device) {
  return (device >= 1 && device <= 4) || (device >= 7 && device <= 18);
}

/// All that a struct points to, which its deleter frees.
struct Producer {
  std::unique_ptr<int64_t[]> shape;
  std::unique_ptr<int64_t[]> strides;
  std::unique_ptr<fuzz::Block> memory;
};
int releases = 0;

template <class Managed>
void release(Managed* self) {
  ++releases;
  delete static_cast<Producer*>(self->manager_ctx);
  delete self;
}

/// A struct, and what it means.
template <class Managed>
struct Made {
  Managed* managed;
  bool valid;                   // what check_dlpack() and from_dlpack() are to find
  const fuzz::NaiveType* type;  // these where it is valid
  Numbers sizes;
  Numbers strides;
  fuzz::NaiveShape shape;
  uint8_t* first;                        // element 0, or what stands for it
  fuzz::Block* memory;                   // null where there is none to read
  std::unique_ptr<Producer> unreleased;  // where there is no deleter
  std::unique_ptr<Managed> unreleased_struct;
};

std::unique_ptr<int64_t[]> array_of(const Numbers& values) {
  std::unique_ptr<int64_t[]> array(new int64_t[values.size()]);
  std::copy(values.begin(), values.end(), array.get());
  return array;
}

template <class Managed>
Made<Managed> make(fuzz::Input& in) {
  constexpr bool kVersioned = std::is_same_v<Managed, tenon::dlpack::DLManagedTensorVersioned>;
  Made<Managed> made{};
  auto producer = std::make_unique<Producer>();
  auto managed = std::make_unique<Managed>();
  dlpack::DLTensor& t = managed->dl_tensor;

  const uint8_t odd = in.take<uint8_t>();  // each bit lets one kind of thing go wrong
  const auto& row = kCodes[in.choose(std::size(kCodes))];
  t.dtype = {row.code, row.bits, 1};
  if ((odd & 1) != 0) t.dtype = {in.take<uint8_t>(), in.take<uint8_t>(), in.take<uint16_t>()};
  t.device = {1, 0};
  if ((odd & 2) != 0) {
    t.device = {static_cast<int32_t>(in.choose(21)), static_cast<int32_t>(in.choose(4)) - 1};
    if (in.choose(16) == 0) t.device.device_type = in.take<int32_t>();
    if (in.choose(16) == 0) t.device.device_id = in.take<int32_t>();
  }
  made.sizes = fuzz::take_sizes(in);
  made.strides = fuzz::take_strides(in, made.sizes);
  t.ndim = static_cast<int32_t>(made.sizes.size());
  bool has_strides = true;
  if ((odd & 4) != 0) {
    has_strides = in.flip();
    if (in.choose(4) == 0) {
      const int32_t ndim = in.take<int32_t>();
      // Not one that is valid but larger than the arrays: nobody could detect it.
      t.ndim = ndim > t.ndim && ndim <= 64 ? -ndim : ndim;
    }
  }
  const bool has_rank = t.ndim >= 0 && t.ndim <= 64;
  if (has_rank) {
    made.sizes.resize(static_cast<size_t>(t.ndim));
    made.strides.resize(made.sizes.size());
  }
  const bool has_shape = (odd & 8) == 0 || in.flip();
  if (!has_strides) made.strides = fuzz::dense_strides(made.sizes);
  // Without sizes there may be null or anything.
  if (has_shape) producer->shape = array_of(made.sizes);
  if (has_strides) producer->strides = array_of(made.strides);
  t.shape = producer->shape.get();
  t.strides = producer->strides.get();

  made.type = find_type(t.dtype);
  const int64_t element_size = made.type == nullptr ? 1 : made.type->size;
  made.valid = made.type != nullptr && is_device(t.device.device_type) &&
               (t.device.device_id >= 0 || is_host(t.device.device_type)) && has_rank &&
               (has_shape || t.ndim == 0);
  if (made.valid) made.shape = fuzz::compute(made.sizes, made.strides, element_size);
  made.valid = made.valid && made.shape.valid;

  uint64_t offset = 0;
  if ((odd & 16) != 0) {
    const uint64_t kOffsets[] = {1, 2, 4, 8, 16, 4096, uint64_t{1} << 40, INT64_MAX, UINT64_MAX};
    offset = in.choose(8) == 0 ? in.take<uint64_t>() : kOffsets[in.choose(std::size(kOffsets))];
  }
  t.byte_offset = offset;
  uintptr_t address = 0x10000;  // of nothing that can be read
  const bool wants_null = (odd & 32) != 0 && in.flip();
  const size_t misaligned = (odd & 32) != 0 ? in.choose(9) : 0;
  if (made.valid && is_host(t.device.device_type)) {
    const fuzz::Wide reach = fuzz::Wide{made.shape.highest} - made.shape.lowest + 1;
    const fuzz::Wide nbytes = reach * element_size;
    const bool fits = nbytes <= kMostBytes && made.shape.numel <= kMostElements;
    const auto room = static_cast<size_t>(nbytes);
    if (fits && !wants_null) {
      producer->memory = std::make_unique<fuzz::Block>(room + misaligned, in.take<uint8_t>());
      made.memory = producer->memory.get();
      address = reinterpret_cast<uintptr_t>(made.memory->data()) + misaligned -
                static_cast<uintptr_t>(made.shape.lowest * element_size);
    }
  } else {
    address += misaligned;
  }
  const uintptr_t data = wants_null                          ? 0
                         : has_handles(t.device.device_type) ? address
                                                             : address - offset;
  t.data = reinterpret_cast<void*>(data);
  made.first = data == 0 ? nullptr : reinterpret_cast<uint8_t*>(data + offset);
  if (offset > PTRDIFF_MAX || offset > UINTPTR_MAX - data) made.valid = false;
  if (data == 0 && made.shape.numel != 0) made.valid = false;

  if constexpr (kVersioned) {
    managed->version = {1, (odd & 64) != 0 ? in.take<uint32_t>() : 3};
    if ((odd & 128) != 0) {
      managed->flags = in.flip() ? in.choose(4) : in.take<uint64_t>();
      if (in.choose(4) == 0) {
        managed->version.major =
            in.flip() ? static_cast<uint32_t>(in.choose(4)) : in.take<uint32_t>();
      }
    }
    if (managed->version.major != 1) {
      // Of this struct only the deleter may be used.
      made.valid = false;
      std::memset(static_cast<void*>(&t), 0x5a, sizeof t);
    }
  }
  if ((odd & 64) != 0 && in.flip()) {
    made.unreleased = std::move(producer);
    made.unreleased_struct = std::move(managed);
    made.managed = made.unreleased_struct.get();
  } else {
    managed->deleter = &release<Managed>;
    managed->manager_ctx = producer.release();
    made.managed = managed.release();
  }
  return made;
}

Bytes elements_of(const Tensor& t) { return to_binary(t); }

template <class Managed>
Managed* export_as(const Tensor& t) {
  if constexpr (std::is_same_v<Managed, tenon::dlpack::DLManagedTensorVersioned>) {
    return to_dlpack(t);
  } else {
    return to_dlpack_legacy(t, LegacyReadOnly::Drop);
  }
}

/// Exports what was imported: the struct says the same, and so does what is imported from it.
template <class Managed>
void go_round(const Tensor& t, const Bytes* elements) {
  Managed* const out = export_as<Managed>(t);
  FUZZ_CHECK(check_dlpack(out).empty());
  const dlpack::DLTensor& d = out->dl_tensor;
  const Numbers sizes(d.shape, d.shape + d.ndim);
  const Numbers strides(d.strides, d.strides + d.ndim);
  FUZZ_CHECK(sizes == t.sizes().vec() && strides == t.strides().vec());
  FUZZ_CHECK(find_type(d.dtype)->type == t.scalar_type());
  FUZZ_CHECK(d.device.device_type == static_cast<int32_t>(t.device().type()));
  if (t.numel() != 0) {
    FUZZ_CHECK(static_cast<const char*>(d.data) + d.byte_offset == const_data_ptr(t));
  }
  if constexpr (std::is_same_v<Managed, tenon::dlpack::DLManagedTensorVersioned>) {
    FUZZ_CHECK(out->version.major == 1 &&
               (out->flags & dlpack::kDLPackReadOnly) == t.is_readonly());
  }
  const TensorPtr again = from_dlpack(out, false);
  FUZZ_CHECK(again->sizes() == t.sizes() && again->strides() == t.strides());
  FUZZ_CHECK(elements == nullptr || elements_of(*again) == *elements);
}

template <class Managed>
void run(fuzz::Input& in) {
  releases = 0;
  Made<Managed> made = make<Managed>(in);
  Managed* const managed = made.managed;
  const int due = managed->deleter != nullptr ? 1 : 0;
  bool readonly = false;
  if constexpr (std::is_same_v<Managed, tenon::dlpack::DLManagedTensorVersioned>) {
    readonly = (managed->flags & 1) != 0;
  }
  const dlpack::DLTensor t = managed->dl_tensor;

  unsigned char before[sizeof(Managed)];
  std::memcpy(before, managed, sizeof before);
  const std::vector<DLPackViolation> violations = check_dlpack(std::as_const(managed));
  FUZZ_CHECK(std::memcmp(before, managed, sizeof before) == 0 && releases == 0);
  FUZZ_CHECK(violations.empty() == made.valid);
  for (const DLPackViolation& violation : violations) {
    FUZZ_CHECK(violation.error != Error::Ok && !violation.message.empty());
  }

  Bytes elements;
  if (made.memory != nullptr) {
    elements = fuzz::gather(made.first, made.sizes, made.strides, *made.type);
  }
  // Without memory nothing can be copied.
  const bool can_copy = made.memory != nullptr ||
                        (made.valid && made.shape.numel == 0 && is_host(t.device.device_type));
  const size_t choice = in.choose(3);
  Optional<bool> copy = none;
  if (!can_copy || choice == 1) copy = false;
  if (can_copy && choice == 2) copy = true;
  Optional<Device> asked = none;
  const Device kDevices[] = {"cpu", "cuda:1", "cuda_host", "opencl"};
  if (in.choose(4) == 0) asked = kDevices[in.choose(std::size(kDevices))];
  const auto dynamism = static_cast<TensorShapeDynamism>(in.choose(3));

  Result<TensorPtr> result = in.flip()
                                 ? try_from_dlpack(managed, copy, asked, dynamism)
                                 : try_from_dlpack(std::unique_ptr<Managed, DLPackDeleter>(managed),
                                                   copy, asked, dynamism);
  if (!made.valid) {
    FUZZ_CHECK(!result.ok() && result.error() == violations.front().error && releases == due);
    return;
  }
  // What check_dlpack() does not say: copies that are not allowed or not possible, and handles' offsets.
  const int32_t kind = t.device.device_type;
  const Device device(static_cast<DeviceType>(kind), is_host(kind) ? 0 : t.device.device_id);
  const Device there = asked.value_or(device);
  const bool moves = there != device;
  const bool aligned =
      reinterpret_cast<uintptr_t>(made.first) % static_cast<uintptr_t>(made.type->number) == 0 ||
      made.shape.numel == 0 || has_handles(kind);
  const bool must_copy = copy.value_or(false) || moves || !aligned;
  bool refused = (must_copy && !copy.value_or(true)) || (must_copy && !is_host(kind)) ||
                 (must_copy && asked.has_value() && !there.is_cpu());
  if (has_handles(kind) && t.data != nullptr && t.byte_offset != 0) {
    const auto offset = static_cast<fuzz::Wide>(t.byte_offset);
    refused |= offset % made.type->size != 0 || offset / made.type->size + made.shape.lowest < 0 ||
               offset + fuzz::Wide{made.shape.highest + 1} * made.type->size > PTRDIFF_MAX;
  }
  FUZZ_CHECK(result.ok() == !refused);
  if (refused) {
    FUZZ_CHECK(releases == due);
    return;
  }
  FUZZ_CHECK(releases == (must_copy ? due : 0));
  Tensor tensor = **result;
  *result = nullptr;
  FUZZ_CHECK(tensor.sizes().vec() == made.sizes && tensor.numel() == made.shape.numel);
  FUZZ_CHECK(tensor.scalar_type() == made.type->type);
  // Nobody says where a copy goes: to the heap, as there is no backend of the device.
  FUZZ_CHECK(tensor.device() == (must_copy && !asked.has_value() ? Device() : there));
  FUZZ_CHECK(tensor.is_readonly() == (readonly && !must_copy));
  if (!must_copy) {
    FUZZ_CHECK(tensor.strides().vec() == made.strides);
    FUZZ_CHECK(const_data_ptr(tensor) == made.first);
  }
  const Bytes* const known = can_copy ? &elements : nullptr;
  FUZZ_CHECK(known == nullptr || elements_of(tensor) == *known);
  go_round<tenon::dlpack::DLManagedTensorVersioned>(tensor, known);
  go_round<tenon::dlpack::DLManagedTensor>(tensor, known);
  if (!must_copy && made.memory != nullptr) {
    // What lies between the elements is not ours.
    const Bytes old = made.memory->copy();
    const Error error = zero_(tensor);
    const bool refuses = readonly || fuzz::overlaps(made.sizes, made.strides);
    FUZZ_CHECK(!refuses || error != Error::Ok);
    Bytes expected = old;
    if (error == Error::Ok) {
      const auto start = static_cast<int64_t>(made.first - made.memory->data());
      fuzz::for_each_offset(made.sizes, made.strides, [&](int64_t at) {
        std::fill_n(expected.begin() + start + at * made.type->size, made.type->size, uint8_t{0});
      });
    }
    FUZZ_CHECK(made.memory->copy() == expected);
  }
  // The last to keep the struct is an export.
  DLPackPtr exported(to_dlpack(tensor));
  tensor = Tensor();
  FUZZ_CHECK(must_copy || releases == 0);
  exported.reset();
  FUZZ_CHECK(releases == due);
}

}  // namespace

// A promise of docs/guarantees.md.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::Input in(data, size);
  if (in.flip()) {
    run<tenon::dlpack::DLManagedTensor>(in);
  } else {
    run<tenon::dlpack::DLManagedTensorVersioned>(in);
  }
  return 0;
}
