// SPDX-License-Identifier: MIT
// .npy files: any bytes, and files made of parts of which some are wrong; read from memory, from a file and mapped. A
// correct file has the expected elements. What was read is written and read again.
#include <cstdint>
#include <string>

#include <sys/mman.h>
#include <unistd.h>

#include <tenon/exchange/binary.h>
#include <tenon/interop/npy.h>

#include "naive.h"

using namespace tenon;
using fuzz::Bytes;
using fuzz::Numbers;

namespace {

/// A file without a name, of which only the content changes from one input to the next.
struct File {
  int descriptor = ::memfd_create("npy", MFD_CLOEXEC);
  std::string path = "/proc/self/fd/" + std::to_string(descriptor);

  void set(const uint8_t* data, size_t size) const {
    FUZZ_CHECK(::ftruncate(descriptor, 0) == 0);
    FUZZ_CHECK(::pwrite(descriptor, data, size, 0) == static_cast<ssize_t>(size));
  }
  Bytes content() const {
    Bytes bytes(static_cast<size_t>(::lseek(descriptor, 0, SEEK_END)));
    FUZZ_CHECK(::pread(descriptor, bytes.data(), bytes.size(), 0) ==
               static_cast<ssize_t>(bytes.size()));
    return bytes;
  }
};

/// What reading a file is expected to give, if that is known.
struct Expected {
  bool known = false;
  bool valid = false;
  ScalarType type = ScalarType::Undefined;
  Numbers sizes;
  Bytes elements;  // in row-major order
};

struct Dtype {
  const char* code;
  ScalarType type;
};
constexpr Dtype kDtypes[] = {
    {"b1", ScalarType::Bool},         {"i1", ScalarType::Char},          {"i2", ScalarType::Short},
    {"i4", ScalarType::Int},          {"i8", ScalarType::Long},          {"u1", ScalarType::Byte},
    {"u2", ScalarType::UInt16},       {"u4", ScalarType::UInt32},        {"u8", ScalarType::UInt64},
    {"f2", ScalarType::Half},         {"f4", ScalarType::Float},         {"f8", ScalarType::Double},
    {"c8", ScalarType::ComplexFloat}, {"c16", ScalarType::ComplexDouble}};

/// The bytes of a row-major or column-major array as elements of this host in row-major order.
Bytes read_elements(const Bytes& data, const Numbers& sizes, bool fortran, bool swapped,
                    const fuzz::NaiveType& type) {
  Numbers strides = fuzz::dense_strides(sizes);
  if (fortran) {
    strides = fuzz::dense_strides(Numbers(sizes.rbegin(), sizes.rend()));
    std::reverse(strides.begin(), strides.end());
  }
  Bytes elements = fuzz::gather(data.data(), sizes, strides, type);
  for (size_t i = 0; swapped && i < elements.size(); i += static_cast<size_t>(type.number)) {
    std::reverse(elements.begin() + static_cast<int64_t>(i),
                 elements.begin() + static_cast<int64_t>(i) + type.number);
  }
  return elements;
}

/// A file that is correct, or has some wrong parts.
Bytes make_file(fuzz::Input& in, Expected& expected) {
  expected.known = expected.valid = true;
  const auto spoil = [&] {
    const bool spoilt = in.choose(24) == 23;
    if (spoilt) expected.known = false;
    return spoilt;
  };
  const Dtype& dtype = kDtypes[in.choose(std::size(kDtypes))];
  const fuzz::NaiveType& type = *fuzz::find_type(dtype.type);
  const char order = "<>|="[in.choose(4)];
  const char quote = in.choose(4) == 0 ? '"' : '\'';
  const bool fortran = in.flip();
  expected.type = dtype.type;
  expected.sizes = fuzz::take_sizes(in);
  const fuzz::NaiveShape shape =
      fuzz::compute(expected.sizes, fuzz::dense_strides(expected.sizes), type.size);
  expected.valid = shape.valid;

  const auto key = [&](const char* name) { return quote + std::string(name) + quote + ": "; };
  std::string fields[3];
  fields[0] = key("descr") + quote + order + dtype.code + quote;
  fields[1] = key("fortran_order") + (fortran ? "True" : "False");
  fields[2] = key("shape") + "(";
  for (size_t d = 0; d < expected.sizes.size(); ++d) {
    fields[2] += (d == 0 ? "" : ", ") + std::to_string(expected.sizes[d]);
    if (in.choose(32) == 31) fields[2] += 'L';
  }
  fields[2] += expected.sizes.size() == 1 ? ",)" : ")";
  const size_t first = in.choose(3);
  std::string text = "{";
  for (size_t i = 0; i < 3; ++i) {
    text += fields[(first + i) % 3];
    if (i < 2 || in.flip()) text += ", ";
  }
  text += "}";
  text.append(in.choose(80), ' ');
  text += '\n';
  while (spoil()) {
    const size_t at = in.take<uint16_t>() % text.size();
    const size_t what = in.choose(3);
    if (what == 0) text[at] = in.take<char>();
    if (what == 1) text.insert(at, 1, in.take<char>());
    if (what == 2 && text.size() > 1) text.erase(at, 1);
  }

  const auto version = static_cast<uint8_t>(1 + in.choose(3));
  uint32_t length = static_cast<uint32_t>(text.size());
  if (spoil())
    length = in.flip() ? length + static_cast<uint32_t>(in.choose(5)) - 2 : in.take<uint32_t>();
  Bytes file = {0x93, 'N', 'U', 'M', 'P', 'Y', version, 0};
  if (spoil()) file[in.choose(8)] = in.take<uint8_t>();
  for (int i = 0; i < (version == 1 ? 2 : 4); ++i) {
    file.push_back(static_cast<uint8_t>(length >> (8 * i)));
  }
  file.insert(file.end(), text.begin(), text.end());

  const auto wanted = static_cast<uint64_t>(shape.numel) * static_cast<uint64_t>(type.size);
  const bool fits = shape.valid && wanted <= 4096;
  Bytes data(fits ? static_cast<size_t>(wanted) : 64);
  const uint8_t seed = in.take<uint8_t>();
  for (size_t i = 0; i < data.size(); ++i) data[i] = static_cast<uint8_t>(i * 41 + seed);
  if (fits) {
    expected.elements =
        read_elements(data, expected.sizes, fortran, order == '>' && type.size > 1, type);
  }
  expected.valid = expected.valid && fits;
  const size_t change = in.choose(8);
  if (change == 6) data.resize(data.size() + in.choose(20), 0x77);  // which is ignored
  if (change == 7 && !data.empty()) {
    data.resize(data.size() - 1 - in.choose(data.size()));
    expected.valid = false;
  }
  file.insert(file.end(), data.begin(), data.end());
  return file;
}

void check_equal(const Tensor& a, const Tensor& b) {
  FUZZ_CHECK(a.sizes() == b.sizes() && a.scalar_type() == b.scalar_type());
  FUZZ_CHECK(to_binary(a) == to_binary(b));
}

}  // namespace

// A promise of docs/guarantees.md.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const File file;
  fuzz::Input in(data, size);
  const bool use_file = in.choose(4) == 0;
  Expected expected;
  Bytes bytes;
  if (in.choose(4) == 0) {
    bytes.assign(in.data(), in.data() + in.size());
  } else {
    bytes = make_file(in, expected);
  }
  const fuzz::Block block(bytes.data(), bytes.size());
  const Result<TensorPtr> read = try_from_npy(block.data(), block.size());
  FUZZ_CHECK(block.copy() == bytes);
  FUZZ_CHECK(!expected.known || read.ok() == expected.valid);
  FUZZ_CHECK(read.ok() || (read.error() != Error::Internal && *read.message() != '\0'));
  if (use_file) {
    file.set(bytes.data(), bytes.size());
    for (const NpyMemory memory : {NpyMemory::Copy, NpyMemory::Map}) {
      const Result<TensorPtr> other = try_read_npy(file.path, memory);
      FUZZ_CHECK(other.error() == read.error());
      if (read.ok()) check_equal(**other, **read);
    }
    FUZZ_CHECK(file.content() == bytes);  // Map is private
  }
  // With any type given it is a tensor of that type, or an error; and the end lies in the file.
  const ScalarType given = kDtypes[bytes.size() % std::size(kDtypes)].type;
  size_t end = 0;
  const Result<TensorPtr> raw = try_from_npy(block.data(), block.size(), given, &end);
  FUZZ_CHECK(raw.ok() ? (*raw)->scalar_type() == given && end <= block.size() : end == 0);
  FUZZ_CHECK(raw.ok() || (raw.error() != Error::Internal && *raw.message() != '\0'));
  if (raw.ok()) FUZZ_CHECK(to_binary(*raw).size() == (*raw)->nbytes());
  if (!read.ok()) return 0;

  const Tensor& tensor = **read;
  const Bytes elements = to_binary(tensor);
  if (expected.known) {
    FUZZ_CHECK(tensor.scalar_type() == expected.type && tensor.sizes().vec() == expected.sizes);
    FUZZ_CHECK(elements == expected.elements);
  }
  FUZZ_CHECK(tensor.is_contiguous() || tensor.stride(0) == 1 || tensor.size(0) == 1);
  const Bytes written = to_npy(tensor);
  const TensorPtr again = from_npy(written.data(), written.size());
  check_equal(*again, tensor);
  FUZZ_CHECK(to_npy(again) == written);
  if (use_file) {
    FUZZ_CHECK(write_npy(file.path, tensor) == Error::Ok && file.content() == written);
  }
  return 0;
}
