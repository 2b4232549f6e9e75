// SPDX-License-Identifier: MIT
// What MPI calls things: its errors as tenon's, and datatypes for elements, shapes and slabs.
#pragma once

#if !__has_include(<mpi.h>)
#error "tenon: interop/mpi.h needs MPI's <mpi.h> in the include path; mpicxx has it there"
#endif

// Without the C++ bindings that MPI-3 took away: they are a library more, full of warnings.
#if !defined(OMPI_SKIP_MPICXX)
#define OMPI_SKIP_MPICXX 1
#endif
#if !defined(MPICH_SKIP_MPICXX)
#define MPICH_SKIP_MPICXX 1
#endif
#include <mpi.h>

#include <climits>
#include <utility>

#include "tenon/core/layout.h"
#include "tenon/core/scalar_type.h"
#include "tenon/kernels/copy_plan.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// The kind of error that an error class of MPI's is here.
constexpr Error own_mpi_error(int error_class) noexcept {
  switch (error_class) {
    case MPI_SUCCESS: return Error::Ok;
    case MPI_ERR_TAG:
    case MPI_ERR_ARG:
    case MPI_ERR_TYPE:
    case MPI_ERR_RANK:
    case MPI_ERR_TRUNCATE: return Error::InvalidArgument;
    case MPI_ERR_RMA_SYNC: return Error::InvalidState;
    case MPI_ERR_UNSUPPORTED_OPERATION: return Error::NotSupported;
    case MPI_ERR_NO_MEM: return Error::OutOfMemory;
    default: return Error::AccessFailed;  // of the network or the other rank
  }
}

/// The error of a code that a function of MPI's returned, with the message "MPI: <its text>".
TENON_COLD inline Error fail_mpi(int code) noexcept {
  int error_class = MPI_ERR_UNKNOWN;
  MPI_Error_class(code, &error_class);
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, text, &length);
  return fail(own_mpi_error(error_class), "MPI: ", static_cast<const char*>(text));
}
inline Error check_mpi(int code) noexcept {
  return TENON_UNLIKELY(code != MPI_SUCCESS) ? fail_mpi(code) : Error::Ok;
}

inline bool is_mpi_finalized() noexcept {
  int is_finalized = 0;
  MPI_Finalized(&is_finalized);
  return is_finalized != 0;
}
inline Error check_mpi_runs() noexcept {
  int is_initialized = 0;
  MPI_Initialized(&is_initialized);
  if (TENON_UNLIKELY(is_initialized == 0)) {
    return fail(Error::InvalidState, "MPI is not initialised yet; the program calls MPI_Init");
  }
  if (TENON_UNLIKELY(is_mpi_finalized())) {
    return fail(Error::InvalidState, "MPI is finalised already");
  }
  return Error::Ok;
}

/// MPI's own type for an element. Where it has none: an unsigned integer of the same size, which
/// moves the bits.
inline MPI_Datatype mpi_element(ScalarType type) noexcept {
  switch (type) {
    case ScalarType::Char: return MPI_INT8_T;
    case ScalarType::Short: return MPI_INT16_T;
    case ScalarType::Int: return MPI_INT32_T;
    case ScalarType::Long: return MPI_INT64_T;
    case ScalarType::Float: return MPI_FLOAT;
    case ScalarType::Double: return MPI_DOUBLE;
    case ScalarType::ComplexFloat: return MPI_C_FLOAT_COMPLEX;
    case ScalarType::ComplexDouble: return MPI_C_DOUBLE_COMPLEX;
    case ScalarType::Bool: return MPI_C_BOOL;
    default: break;
  }
  const size_t size = elementSize(type);
  return size == 1   ? MPI_UINT8_T
         : size == 2 ? MPI_UINT16_T
         : size == 4 ? MPI_UINT32_T
                     : MPI_UINT64_T;
}

/// Owns a handle of MPI's.
template <class Handle, int (*kFree)(Handle*)>
class MpiOwner {
 public:
  MpiOwner() noexcept = default;
  explicit MpiOwner(Handle made) noexcept : handle_(made), owns_(true) {}
  MpiOwner(MpiOwner&& other) noexcept { *this = std::move(other); }
  MpiOwner& operator=(MpiOwner&& other) noexcept {
    std::swap(handle_, other.handle_);
    std::swap(owns_, other.owns_);
    return *this;
  }
  ~MpiOwner() {
    if (owns_ && !is_mpi_finalized()) kFree(&handle_);
  }
  explicit operator bool() const noexcept { return owns_; }
  Handle get() const noexcept { return handle_; }

 private:
  Handle handle_{};
  bool owns_ = false;
};
using MpiType = MpiOwner<MPI_Datatype, &MPI_Type_free>;

/// Makes `count` blocks, `stride` bytes apart, of `block` consecutive `inner`s. MPI counts in int:
/// more of them are pieces, a type of types. So are those at a stride of -1 byte, which Open MPI
/// takes for no stride at all (opal_datatype_add, of version 4.1).
inline Error repeat_mpi_type(MPI_Datatype inner, int block, int64_t count, MPI_Aint stride,
                             MpiType& made) noexcept {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  const int64_t length = stride == -1 && count > 1 ? 2 : INT_MAX;  // of a piece
  if (TENON_UNLIKELY(count > INT_MAX || length == 2)) {
    MpiType piece;
    MpiType pieces;
    MpiType rest;
    if (length == 2) {
      const MPI_Aint both[] = {0, -1};
      TENON_TRY(check_mpi(MPI_Type_create_hindexed_block(2, block, both, inner, &type)));
      piece = MpiType(type);
    } else {
      TENON_TRY(repeat_mpi_type(inner, block, length, stride, piece));
    }
    TENON_TRY(repeat_mpi_type(piece.get(), 1, count / length, stride * length, pieces));
    TENON_TRY(repeat_mpi_type(inner, block, count % length, stride, rest));
    const int ones[] = {1, 1};
    const MPI_Aint at[] = {0, stride * (count - count % length)};
    const MPI_Datatype types[] = {pieces.get(), rest.get()};
    TENON_TRY(check_mpi(MPI_Type_create_struct(2, ones, at, types, &type)));
  } else {
    const int n = static_cast<int>(count);
    TENON_TRY(check_mpi(MPI_Type_create_hvector(n, block, stride, inner, &type)));
  }
  made = MpiType(type);
  return Error::Ok;
}

/// Makes the type of a shape's elements in row-major order, relative to element 0. The shape has
/// elements, which its extent was checked for. Strides of any sign: MPI's displacements have one
/// too, and what is sent may share memory.
inline Error make_mpi_shape(ArrayRef<int64_t> sizes, ArrayRef<int64_t> strides, ScalarType type,
                            MpiType& made) noexcept {
  struct Dim {
    int64_t size;
    int64_t stride;
  };
  // Without sizes of 1, and neighbours that lie like one merged.
  Dim dims[kMaxLongDims];
  size_t rank = 0;
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] == 1) continue;
    if (rank != 0 && dims[rank - 1].stride == strides[d] * sizes[d]) {
      dims[rank - 1] = {dims[rank - 1].size * sizes[d], strides[d]};
    } else {
      dims[rank++] = {sizes[d], strides[d]};
    }
  }
  const auto element_size = static_cast<MPI_Aint>(elementSize(type));
  MPI_Datatype inner = mpi_element(type);
  int block = 1;
  if (rank > 1 && dims[rank - 1].stride == 1 && dims[rank - 1].size <= INT_MAX) {
    block = static_cast<int>(dims[--rank].size);
  }
  if (rank == 0) dims[rank++] = {1, 1};
  for (; rank > 0; --rank) {
    const Dim& dim = dims[rank - 1];
    MpiType outer;
    TENON_TRY(repeat_mpi_type(inner, block, dim.size, dim.stride * element_size, outer));
    made = std::move(outer);
    inner = made.get();
    block = 1;
  }
  return Error::Ok;
}

/// Makes the type ready for use.
inline Error commit_mpi_type(const MpiType& type) noexcept {
  MPI_Datatype handle = type.get();
  return check_mpi(MPI_Type_commit(&handle));
}

/// Changes the type's extent, the bytes from one to the next: lower bound 0, so that the next one's
/// element 0 is as far away, backward where it is negative.
inline Error resize_mpi_type(MPI_Aint extent, MpiType& type) noexcept {
  MPI_Datatype resized = MPI_DATATYPE_NULL;
  TENON_TRY(check_mpi(MPI_Type_create_resized(type.get(), 0, extent, &resized)));
  type = MpiType(resized);
  return Error::Ok;
}

}  // namespace detail
TENON_END_NAMESPACE
