// SPDX-License-Identifier: MIT
// Maps MPI's errors to tenon's; finds MPI's datatypes for elements, and the operations that combine
// elements.
#pragma once

#if !__has_include(<mpi.h>)
#error "tenon: interop/mpi.h needs MPI's <mpi.h> in the include path; mpicxx has it there"
#endif

// Leaves out MPI's C++ bindings, which MPI-3 removed: they need another library, and cause
// warnings.
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

TENON_BEGIN_NAMESPACE
namespace mpi {

/// How the elements of all ranks are combined. For Bool, Sum and Max are "or", Product and Min are
/// "and". Half, BFloat16, Float8 and ComplexHalf are combined as Float or ComplexFloat, and rounded
/// once. Whether Min and Max of a NaN and a number are NaN is up to MPI, and may differ with the
/// ranks.
/// Source: MPI_SUM, MPI_PROD, MPI_MIN, MPI_MAX.
enum class Op : uint8_t {
  Sum,      ///< their sum; "or" of Bool
  Product,  ///< their product; "and" of Bool
  Min,      ///< the least; "and" of Bool
  Max,      ///< the largest; "or" of Bool
};

}  // namespace mpi
namespace detail {

/// Maps an error class of MPI to tenon's error.
constexpr Error own_mpi_error(int error_class) noexcept {
  switch (error_class) {
    case MPI_SUCCESS: return Error::Ok;
    case MPI_ERR_TAG:
    case MPI_ERR_TRUNCATE: return Error::InvalidArgument;
    case MPI_ERR_RMA_SYNC: return Error::InvalidState;
    case MPI_ERR_UNSUPPORTED_OPERATION: return Error::NotSupported;
    case MPI_ERR_NO_MEM: return Error::OutOfMemory;
    default: return Error::AccessFailed;  // an error of the network or of another rank
  }
}

/// Fails with the error for a code that an MPI function returned; the message is "MPI: " and MPI's
/// text.
TENON_COLD inline Error fail_mpi(int code) noexcept {
  int error_class = MPI_ERR_UNKNOWN;
  MPI_Error_class(code, &error_class);
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, text, &length);
  return fail(own_mpi_error(error_class), "MPI: ", static_cast<const char*>(text));
}
inline Error check_mpi(int code) noexcept {
  return code != MPI_SUCCESS ? fail_mpi(code) : Error::Ok;
}

inline bool is_mpi_finalized() noexcept {
  int is_finalized = 0;
  MPI_Finalized(&is_finalized);
  return is_finalized != 0;
}
inline Error check_mpi_runs() noexcept {
  int is_initialized = 0;
  MPI_Initialized(&is_initialized);
  if (is_initialized == 0) {
    return fail(Error::InvalidState, "MPI is not initialised yet; the program calls MPI_Init");
  }
  if (!is_mpi_finalized()) return Error::Ok;
  return fail(Error::InvalidState, "MPI is finalised already");
}

/// MPI's datatype for an element; if MPI has none, an unsigned integer type of the same size, which
/// moves the bits unchanged.
inline MPI_Datatype mpi_element(ScalarType type) noexcept {
  switch (number_of(type)) {
    case number_of(ScalarType::Char): return MPI_INT8_T;
    case number_of(ScalarType::Short): return MPI_INT16_T;
    case number_of(ScalarType::Int): return MPI_INT32_T;
    case number_of(ScalarType::Long): return MPI_INT64_T;
    case number_of(ScalarType::Float): return MPI_FLOAT;
    case number_of(ScalarType::Double): return MPI_DOUBLE;
    case number_of(ScalarType::ComplexFloat): return MPI_C_FLOAT_COMPLEX;
    case number_of(ScalarType::ComplexDouble): return MPI_C_DOUBLE_COMPLEX;
    case number_of(ScalarType::Bool): return MPI_C_BOOL;
    default: break;
  }
  const size_t size = elementSize(type);
  return size == 1   ? MPI_UINT8_T
         : size == 2 ? MPI_UINT16_T
         : size == 4 ? MPI_UINT32_T
                     : MPI_UINT64_T;
}

/// Owns a handle of MPI.
template <class Handle, int (*kFree)(Handle*)>
class MpiHandle {
 public:
  MpiHandle() noexcept = default;
  explicit MpiHandle(Handle made) noexcept : handle_(made), owns_(true) {}
  MpiHandle(MpiHandle&& other) noexcept
      : handle_(other.handle_), owns_(std::exchange(other.owns_, false)) {}
  MpiHandle& operator=(MpiHandle other) noexcept {
    std::swap(handle_, other.handle_);
    std::swap(owns_, other.owns_);
    return *this;
  }
  ~MpiHandle() { static_cast<void>(free()); }
  /// Frees the handle. False if MPI fails to free it.
  bool free() noexcept {
    return !std::exchange(owns_, false) || is_mpi_finalized() || kFree(&handle_) == MPI_SUCCESS;
  }
  explicit operator bool() const noexcept { return owns_; }
  Handle get() const noexcept { return handle_; }

 private:
  Handle handle_{};
  bool owns_ = false;
};
using MpiType = MpiHandle<MPI_Datatype, &MPI_Type_free>;

/// Returns how many elements from element 0 on, in row-major order, are consecutive in memory. They
/// are those of the dimensions from `first` on.
inline int64_t consecutive_elements(const Layout& layout, size_t& first) noexcept {
  int64_t n = 1;
  first = layout.rank();
  while (first > 0 && (layout.sizes()[first - 1] == 1 || layout.strides()[first - 1] == n)) {
    n *= layout.sizes()[--first];
  }
  return n;
}

/// Whether MPI should walk the strides itself. MPI is many times slower than copy_ if fewer than 64
/// bytes are consecutive; and Open MPI 4.1 ignores a stride of -1 byte (opal_datatype_add).
inline bool suits_mpi(const Layout& layout, size_t element_size) noexcept {
  const auto nbytes = static_cast<int64_t>(element_size);
  size_t d = 0;
  bool suits = consecutive_elements(layout, d) * nbytes >= 64;
  while (d > 0) suits = layout.strides()[--d] * nbytes != -1 && suits;
  return suits;
}

/// Elements as MPI's functions take them: `count` of `type`.
struct MpiElements {
  int count = 0;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MpiType made;  // owns `type`, if it is not a basic type

  /// Describes n consecutive elements. MPI counts in int: for more elements, makes a datatype of
  /// several pieces.
  Error describe(ScalarType element, int64_t n) noexcept {
    if (n <= INT_MAX) {
      count = static_cast<int>(n);
      type = mpi_element(element);
      return Error::Ok;
    }
    TENON_TRY(make_run(element, n));
    return use_made();
  }

  /// Describes the elements of a layout in row-major order, relative to element 0. Precondition:
  /// numel > 0, extent checked. Negative and overlapping strides are fine: MPI displacements are
  /// signed, send buffers may alias.
  Error describe(ScalarType element, const Layout& layout) noexcept {
    const ArrayRef<int64_t> sizes = layout.sizes();
    const ArrayRef<int64_t> strides = layout.strides();
    size_t d = 0;
    TENON_TRY(make_run(element, consecutive_elements(layout, d)));
    while (d > 0) {
      int64_t n = sizes[--d];
      const int64_t stride = strides[d];
      // Merges adjacent dimensions.
      while (d > 0 && strides[d - 1] == n * stride) n *= sizes[--d];
      if (n > INT_MAX) {
        return fail(Error::NotSupported, n, " rows of elements are more than MPI can count");
      }
      const MPI_Aint step = stride * static_cast<int64_t>(elementSize(element));
      TENON_TRY(
          check_mpi(MPI_Type_create_hvector(static_cast<int>(n), 1, step, made.get(), &type)));
      made = MpiType(type);
    }
    return use_made();
  }

 private:
  Error make_run(ScalarType element, int64_t n) noexcept {
    const MPI_Datatype one = mpi_element(element);
    const int piece = n < INT_MAX ? static_cast<int>(n) : INT_MAX;
    TENON_TRY(check_mpi(MPI_Type_contiguous(piece, one, &type)));
    made = MpiType(type);
    if (n <= INT_MAX) return Error::Ok;
    const int counts[] = {static_cast<int>(n / piece), static_cast<int>(n % piece)};
    const MPI_Aint at[] = {0, n / piece * piece * static_cast<int64_t>(elementSize(element))};
    const MPI_Datatype types[] = {made.get(), one};
    TENON_TRY(check_mpi(MPI_Type_create_struct(2, counts, at, types, &type)));
    made = MpiType(type);
    return Error::Ok;
  }
  Error use_made() noexcept {
    count = 1;
    type = made.get();
    return check_mpi(MPI_Type_commit(&type));
  }
};

constexpr const char* toString(mpi::Op op) noexcept {
  return name_at("Sum\0Product\0Min\0Max\0unknown",
                 op <= mpi::Op::Max ? static_cast<size_t>(op) : 4);
}

/// The dtype in which elements are combined: MPI has no operations for the small floats.
constexpr ScalarType reduced_as(ScalarType type) noexcept {
  if (type == ScalarType::ComplexHalf) return ScalarType::ComplexFloat;
  return isFloatingType(type) && elementSize(type) < 4 ? ScalarType::Float : type;
}

/// Finds MPI's operation.
/// Errors: InvalidType (complex elements have no order), InvalidArgument (an unknown Op).
inline Error find_operation(ScalarType type, mpi::Op op, MPI_Op& found) noexcept {
  if (op > mpi::Op::Max) {
    return fail(Error::InvalidArgument, "Op number ", static_cast<int>(op), " does not exist");
  }
  if (isComplexType(type) && op >= mpi::Op::Min) {
    return fail(Error::InvalidType, toString(op), " of ", type, ": complex numbers have no order");
  }
  const MPI_Op ops[] = {MPI_SUM, MPI_PROD, MPI_MIN, MPI_MAX};
  const MPI_Op ops_of_bool[] = {MPI_LOR, MPI_LAND, MPI_LAND, MPI_LOR};
  found = (type == ScalarType::Bool ? ops_of_bool : ops)[static_cast<size_t>(op)];
  return Error::Ok;
}

}  // namespace detail
TENON_END_NAMESPACE
