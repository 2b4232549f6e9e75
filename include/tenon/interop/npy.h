// SPDX-License-Identifier: MIT
// read_npy, from_npy, write_npy, to_npy: read and write tensors in NumPy's .npy format.
//
// Format versions 1.0 to 3.0, C and Fortran order, both byte orders; the dtypes b1 i1 i2 i4 i8 u1
// u2 u4 u8 f2 f4 f8 c8 c16 in all spellings; other dtypes as bytes. Source: numpy.load, numpy.save.
#pragma once

#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "tenon/interop/files/file_writer.h"
#include "tenon/interop/files/named_tensor.h"
#include "tenon/interop/files/npy_reader.h"
#include "tenon/kernels/copy_elements.h"
#include "tenon/tensor/location.h"

TENON_BEGIN_NAMESPACE

namespace detail {

/// The content of a file to write.
struct NpyImage {
  char header[kNpyHeaderRoom];
  size_t header_size = 0;
  HostBytes elements;
};

/// Finds the dtype as which a tensor is written.
inline Error find_npy_type(const TensorArg& tensor, NpyType& type) noexcept {
  TENON_TRY(check_defined(tensor, "the tensor"));
  const ScalarType wanted = fields(tensor).type;
  type = {"", ScalarType::Undefined};
  for (const NpyType& known : kNpyTypes) {
    if (known.type == wanted) type = known;
  }
  // numpy.save() writes ml_dtypes' arrays as bytes, too.
  if (type.type != wanted && isFloatingType(wanted)) {
    type = {elementSize(wanted) == 1 ? "V1" : "V2", wanted};
  }
  if (type.type == wanted) return Error::Ok;
  return fail(Error::NotSupported, "NumPy has no dtype ", wanted,
              "; convert it with to(t, ScalarType::ComplexFloat)");
}

inline Error make_npy_image(const TensorArg& tensor, NpyImage& image) noexcept {
  NpyType type;
  TENON_TRY(find_npy_type(tensor, type));
  const TensorFields& from = fields(tensor);
  const Layout& layout = from.layout;
  LocationWithLists there;
  TENON_TRY(find_location(from, "the tensor", there));
  TENON_TRY(there.keep_lists());  // a backend's code may change the tensor's own lists
  TENON_TRY(image.elements.hold.hold(tensor));
  const ArrayRef<int64_t> sizes = there.view.sizes;
  const size_t rank = sizes.size();
  DimOrderType reversed[kMaxDims];
  for (size_t d = 0; d < rank; ++d) reversed[d] = static_cast<DimOrderType>(rank - 1 - d);
  const bool is_on_host = there.backend == nullptr;
  const bool contiguous = is_on_host && layout.is_contiguous();
  const bool fortran_order =
      is_on_host && !contiguous && is_dense(sizes, layout.strides(), {reversed, rank});
  if (contiguous || fortran_order) {
    image.elements.data = from.data;
    image.elements.nbytes = from.nbytes();
  } else {
    TENON_TRY(copy_to_host(from, there, image.elements));
  }
  image.header_size = format_npy_header(type, fortran_order, sizes, image.header);
  return Error::Ok;
}

/// return_to_user(); on success sets `offset`, unless it is null, to the array's end.
template <class Out>
Out finish_npy(const char* function, Error error, NewTensor& new_tensor, size_t* offset,
               size_t end) {
  Out out = return_to_user<Out>(function, error, new_tensor);
  if constexpr (IsResult<Out>::value) {
    if (!out.ok()) return out;
  }
  if (offset != nullptr) *offset = end;
  return out;
}

}  // namespace detail

namespace detail {  // function objects

template <class Out>
struct ReadNpy {
  const char* function;

  /// Reads an array of a .npy file. From C order the tensor is contiguous; from Fortran order its
  /// dim order is reversed; no element is moved. The tensor is DYNAMIC_BOUND. The file may name the
  /// dtype by any name or code that numpy.dtype() takes.
  ///
  /// `memory`: Map maps the file instead of copying the elements.
  /// `offset`: the array's position in the file, in bytes; null for 0. It is set to the array's
  /// end, where another array may follow. After an error it is unchanged.
  /// Ownership: copies the elements, unless NpyMemory::Map is given. In the copy, bytes of a Bool
  /// other than 0 and 1 become 1.
  /// Errors: NotFound; AccessFailed (it cannot be opened or read; a folder, a pipe); NotSupported
  /// (structured, object, text, date and void dtypes, long double; other versions of the format;
  /// .npz); InvalidArgument (a malformed header; more than kMaxDims sizes; less data than the sizes
  /// need; an offset at the end of the file or beyond); OutOfMemory.
  /// Cost: O(bytes); if mapped, O(header).
  /// Source: numpy.load; Map is its mmap_mode "c".
  Out operator()(const FilePath& path, NpyMemory memory = NpyMemory::Copy,
                 size_t* offset = nullptr) const {
    return read(path, ScalarType::Undefined, memory, offset);
  }
  /// Reads an array whose dtype NumPy or tenon lacks: reinterprets the bytes as `type`.
  ///
  /// In files of ml_dtypes' arrays, BFloat16 is <V2 and the Float8 types are <V1. Read datetime64
  /// as Long. If the file's elements are larger than those of `type`, as texts and structures are,
  /// a last dimension is added. Elements of equal size are converted to the host's byte order.
  /// Errors, besides: InvalidType (`type` is Undefined; tenon has the file's dtype and it is not
  /// `type`, nor an unsigned integer of the same size, as which other programs write BFloat16);
  /// InvalidArgument (the size of the file's elements is not a multiple of the size of `type`);
  /// NotSupported (object dtypes; long double under its machine-dependent names `longdouble` and
  /// `g`; NumPy writes it as <f16, which is read as bytes).
  Out operator()(const FilePath& path, tenon::ScalarType type, NpyMemory memory = NpyMemory::Copy,
                 size_t* offset = nullptr) const {
    const Error error = check_type(own_type(type));
    if (error != Error::Ok) return return_to_user<Out>(function, error);
    return read(path, own_type(type), memory, offset);
  }

 private:
  Out read(const FilePath& path, ScalarType type, NpyMemory memory, size_t* offset) const {
    NewTensor new_tensor;
    InputFile file;
    size_t end = 0;
    Error error = path.check();
    if (error == Error::Ok) {
      error = file.open(path.c_str());
      if (error == Error::Ok) {
        const size_t begin = offset != nullptr ? *offset : 0;
        NpyFileSource source(file, begin);
        error = read_npy(source, memory, type, end, new_tensor);
      }
      if (error != Error::Ok) error = path.add_context(error);
    }
    return finish_npy<Out>(function, error, new_tensor, offset, end);
  }
};

template <class Out>
struct FromNpy {
  const char* function;

  /// Reads the content of a .npy file from memory. If `type` is given, reinterprets the elements'
  /// bytes as `type`.
  /// Ownership: copies.
  /// Errors: those of read_npy(), except NotFound and AccessFailed.
  /// Cost: O(bytes).
  Out operator()(const void* bytes, size_t nbytes, size_t* offset = nullptr) const {
    return read(bytes, nbytes, ScalarType::Undefined, offset);
  }
  Out operator()(const void* bytes, size_t nbytes, tenon::ScalarType type,
                 size_t* offset = nullptr) const {
    const Error error = check_type(own_type(type));
    if (error != Error::Ok) return return_to_user<Out>(function, error);
    return read(bytes, nbytes, own_type(type), offset);
  }

 private:
  Out read(const void* bytes, size_t nbytes, ScalarType type, size_t* offset) const {
    NewTensor new_tensor;
    if (bytes == nullptr && nbytes != 0) {
      return return_to_user<Out>(
          function, fail(Error::InvalidArgument, "the pointer to ", nbytes, " bytes is null"));
    }
    size_t end = 0;
    NpyBytesSource source(bytes, nbytes, offset != nullptr ? *offset : 0);
    const Error error = read_npy(source, NpyMemory::Copy, type, end, new_tensor);
    return finish_npy<Out>(function, error, new_tensor, offset, end);
  }
};

}  // namespace detail

inline constexpr detail::ReadNpy<TensorPtr> read_npy{"read_npy"};
inline constexpr detail::FromNpy<TensorPtr> from_npy{"from_npy"};
inline constexpr detail::ReadNpy<Result<TensorPtr>> try_read_npy{"try_read_npy"};
inline constexpr detail::FromNpy<Result<TensorPtr>> try_from_npy{"try_from_npy"};

/// The header of a .npy file.
/// Threads: as a plain value.
struct NpyInfo {
  /// The dtype's name in the file: "<f4", "<U3", "[('x', '<f4'), ('y', '<i2')]".
  std::string dtype;
  /// Undefined if read_npy() needs a type, or refuses the dtype.
  ScalarType type = ScalarType::Undefined;
  Dims sizes;           ///< in elements of the file's dtype
  uint64_t nbytes = 0;  ///< of the elements; 0 for objects and other dtypes of unknown size
  /// Whether read_npy() copies even with NpyMemory::Map: the numbers are misaligned, or in the
  /// other byte order.
  bool is_copied = false;
};

/// Reads the header of a .npy file of any dtype, but no elements. `offset`: the array's position in
/// the file, in bytes.
/// Errors: those of read_npy(), except those about dtypes.
/// Source: numpy.lib.format.read_array_header_1_0.
inline Result<NpyInfo> npy_info(const detail::FilePath& path, size_t offset = 0) noexcept {
  NpyInfo info;
  Error error = path.check();
  if (error == Error::Ok) {
    error = detail::call_safely([&] {
      detail::InputFile file;
      TENON_TRY(file.open(path.c_str()));
      detail::NpyFileSource source(file, offset);
      detail::NpyDescription found;
      TENON_TRY(detail::describe_npy(source, found));
      info = {std::move(found.dtype), detail::public_type(found.type), found.sizes, found.nbytes,
              found.nbytes != 0 && !found.is_usable};
      return Error::Ok;
    });
    if (error == Error::Ok) return info;
    error = path.add_context(error);
  }
  return detail::add_context("npy_info", error);
}

/// Writes a tensor to a .npy file, as numpy.save does: in format 1.0 and the host's byte order; the
/// elements begin at a multiple of 64 bytes. Contiguous tensors, and tensors in Fortran order, are
/// written without a copy; other tensors are copied to row-major order first.
///
/// `to`: a path; or a 1-d Byte tensor, to which the file's bytes are appended (it is resized, so
/// beyond its capacity it must be DYNAMIC_UNBOUND); or a WriteFunction that receives the bytes.
/// After an error the tensor has its old size, unless other code resized it meanwhile.
///
/// Ownership: reads the tensor. An existing file is replaced once the new file is complete: after
/// an error the old file is unchanged, and tensors that map it keep its content. With
/// FileWrite::InPlace, the existing file is overwritten. (Devices, pipes, and files on systems
/// without POSIX are always written in place.) BFloat16 is written as <V2 and a Float8 type as <V1,
/// as numpy.save() writes ml_dtypes' arrays: pass read_npy() the type; in NumPy, take a view:
/// numpy.load(path).view(ml_dtypes.bfloat16).
/// Errors: NotSupported (ComplexHalf; memory that the host cannot read); InvalidState (undefined; a
/// placeholder); AccessFailed (with the system's text); OutOfMemory; if `to` is a tensor,
/// InvalidArgument (not 1-d of Byte on the CPU) and those of resize_tensor(); if `to` is a
/// function, the error that it returns.
[[nodiscard]] inline Error write_npy(const detail::FileTarget& to, ConstTensorArg tensor,
                                     FileWrite how = FileWrite::Replace) noexcept {
  detail::NpyImage image;
  Error error = to.check();
  if (error == Error::Ok) {
    error = detail::make_npy_image(tensor, image);
    const detail::FileBlock blocks[] = {{image.header, image.header_size},
                                        {image.elements.data, image.elements.nbytes}};
    if (error == Error::Ok) error = detail::write_file(to, blocks, how);
    if (error == Error::Ok) return error;
    error = to.add_context(error);
  }
  return detail::add_context("write_npy", error);
}

namespace detail {

inline Error write_npy_bytes(const TensorArg& tensor, std::vector<uint8_t>& bytes) {
  NpyImage image;
  TENON_TRY(make_npy_image(tensor, image));
  const HostBytes& elements = image.elements;
  bytes.resize(image.header_size + elements.nbytes);
  std::memcpy(bytes.data(), image.header, image.header_size);
  if (elements.nbytes != 0) {
    std::memcpy(bytes.data() + image.header_size, elements.data, elements.nbytes);
  }
  return Error::Ok;
}

}  // namespace detail

/// Returns the bytes of the file that write_npy() writes. The try_ form returns a Result.
/// Errors, raised: those of write_npy() except AccessFailed; std::bad_alloc.
inline std::vector<uint8_t> to_npy(ConstTensorArg tensor) {
  std::vector<uint8_t> bytes;
  detail::raise_if("to_npy", detail::write_npy_bytes(tensor, bytes));
  return bytes;
}
inline Result<std::vector<uint8_t>> try_to_npy(ConstTensorArg tensor) noexcept {
  std::vector<uint8_t> bytes;
  const Error error = detail::call_safely([&] { return detail::write_npy_bytes(tensor, bytes); });
  TENON_TRY(detail::add_context_if("try_to_npy", error));
  return bytes;
}

TENON_END_NAMESPACE
