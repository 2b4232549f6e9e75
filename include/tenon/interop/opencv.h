// SPDX-License-Identifier: MIT
// from_mat, to_mat: convert between OpenCV's cv::Mat and tensors, which share the memory.
#pragma once

#include "tenon/config.h"

#if !TENON_HAS_EXCEPTIONS || !__has_include(<opencv2/core.hpp>)
#error "tenon: interop/opencv.h needs OpenCV's <opencv2/core.hpp>, and exceptions"
#endif
#include <opencv2/core.hpp>

#include <climits>

#include "tenon/interop/libraries/host_access.h"
#include "tenon/tensor/tensor_ptr_maker.h"

TENON_BEGIN_NAMESPACE

/// Whether the channels of a cv::Mat are the tensor's last dimension.
enum class MatChannels : uint8_t {
  /// As in OpenCV for Python. from_mat: if there are several channels. to_mat: if the tensor has
  /// three dimensions.
  Auto,
  Always,  ///< even if there is a single channel
  Never,   ///< the Mat has one channel
};

namespace detail {

template <>
inline constexpr bool is_nothrow_movable_v<cv::Mat> = true;

inline constexpr int kMatMaxDims = 32;  // CV_MAX_DIM of OpenCV's C headers
inline constexpr int kMatDepths = 8;    // of OpenCV 4
inline constexpr ScalarType kMatTypes[kMatDepths] = {
    ScalarType::Byte, ScalarType::Char,  ScalarType::UInt16, ScalarType::Short,
    ScalarType::Int,  ScalarType::Float, ScalarType::Double, ScalarType::Half};
static_assert(CV_8U == 0 && CV_8S == 1 && CV_16U == 2 && CV_16S == 3 && CV_32S == 4 &&
              CV_32F == 5 && CV_64F == 6 && CV_16F == 7);

#if defined(__clang__)
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wc11-extensions"  // of CV_XADD, OpenCV's atomic sum
#endif
/// A tensor's deleter that adds 1 to the reference count of a Mat's memory. If a UMat owns the
/// memory, it adds 1 to the UMat's count too, since the UMat may be dropped first.
struct KeepMat {
  explicit KeepMat(const cv::Mat& mat) noexcept
      : record(mat.u), is_mapped(CV_XADD(&record->urefcount, 0) > 0) {
    const_cast<cv::Mat&>(mat).addref();  // changes only the count of the memory
    if (is_mapped) CV_XADD(&record->urefcount, 1);
  }
  KeepMat(KeepMat&& other) noexcept
      : record(std::exchange(other.record, nullptr)), is_mapped(other.is_mapped) {}
  ~KeepMat() {
    if (record == nullptr) return;
    {
      cv::Mat mat;
      mat.u = record;  // the destructor of `mat` releases the memory
    }
    if (is_mapped && CV_XADD(&record->urefcount, -1) == 1 && CV_XADD(&record->refcount, 0) == 0) {
      record->currAllocator->deallocate(record);
    }
  }
  void operator()(void*) const noexcept {}

  cv::UMatData* record;
  bool is_mapped;
};
#if defined(__clang__)
#pragma clang diagnostic pop
#endif

inline Error describe_mat(const cv::Mat& mat, MatChannels channels, ScalarType& type, Dims& sizes,
                          Dims& strides) noexcept {
  if (mat.dims == 0) {
    return fail(
        Error::InvalidState,
        "the cv::Mat has no dimensions, as after cv::imread() of a file that it cannot read");
  }
  if (mat.depth() >= kMatDepths) {
    return fail(Error::NotSupported, "tenon has no dtype for the cv::Mat's depth ", mat.depth());
  }
  type = kMatTypes[mat.depth()];
  const size_t size = mat.elemSize1();
  for (int d = 0; d < mat.dims; ++d) {
    const size_t step = mat.step.p[d];
    if (step % size != 0) {
      return fail(Error::InvalidArgument, "the cv::Mat's step of dimension ", d, " is ", step,
                  " bytes, which is not a multiple of the ", size, " bytes of an element");
    }
    sizes.push_back(mat.size.p[d]);
    strides.push_back(static_cast<int64_t>(step / size));
  }
  const int count = mat.channels();
  if (channels == MatChannels::Never && count != 1) {
    return fail(Error::InvalidArgument, "the cv::Mat has ", count,
                " channels; MatChannels::Never requires a single channel");
  }
  if (count != 1 || channels == MatChannels::Always) {
    sizes.push_back(count);
    strides.push_back(1);
  }
  return Error::Ok;
}

/// OpenCV's record of a tensor's memory, to which Mats over the memory refer; and the record's
/// allocator, which releases the record and the memory. OpenCV's Python binding has such an
/// allocator too.
struct LentMat final : cv::MatAllocator {
  LentMat(void* data, size_t nbytes, MemoryHold&& held) : record(this), hold(std::move(held)) {
    record.data = record.origdata = static_cast<uchar*>(data);
    record.size = nbytes;
    record.refcount = 1;
  }
  // Never called: no Mat allocates with this allocator.
  cv::UMatData* allocate(int, const int*, int, void*, size_t*, cv::AccessFlag,
                         cv::UMatUsageFlags) const override {
    return nullptr;
  }
  bool allocate(cv::UMatData*, cv::AccessFlag, cv::UMatUsageFlags) const override { return false; }
  void deallocate(cv::UMatData*) const override {
    if (record.refcount == 0 && record.urefcount == 0) delete this;
  }

  cv::UMatData record;
  MemoryHold hold;
};

struct MatHeader {
  int type = 0;
  int dims = 2;
  int sizes[kMatMaxDims] = {1, 1};
  size_t steps[kMatMaxDims];
};

TENON_COLD inline Error fail_mat_stride(const Layout& layout, size_t d, const char* why) noexcept {
  return fail(Error::NotSupported, "strides ", layout.strides(), " of sizes ", layout.sizes(), why,
              d, "; contiguous(t) makes a copy, permute(t, dims) changes the order");
}

inline Error describe_for_mat(const TensorArg& source, MatChannels channels, MatHeader& made,
                              MemoryHold& hold) noexcept {
  TENON_TRY(check_host_access(source));
  const TensorFields& from = fields(source);
  if (from.readonly) {
    return fail(Error::NotSupported,
                "the tensor is read-only, but a cv::Mat cannot be; clone_tensor_ptr() makes a "
                "writable copy");
  }
  int depth = 0;
  while (depth < kMatDepths && kMatTypes[depth] != from.type) ++depth;
  if (depth == kMatDepths) {
    return fail(Error::NotSupported, "a cv::Mat cannot have elements of ", from.type,
                "; clone_tensor_ptr(t, ScalarType::Int) or Double makes a copy; for Bool, use "
                "view_as_type(t, ScalarType::Byte)");
  }
  const Layout& layout = from.layout;
  const ArrayRef<int64_t> sizes = layout.sizes();
  size_t rank = sizes.size();  // without the channels
  int64_t count = 1;
  if (channels == MatChannels::Always || (channels == MatChannels::Auto && rank == 3)) {
    if (rank == 0 || sizes[rank - 1] < 1 || sizes[rank - 1] > CV_CN_MAX) {
      return fail(Error::InvalidArgument, "sizes ", sizes, " do not end with a size of 1 to ",
                  CV_CN_MAX,
                  ", the number of channels; MatChannels::Never makes a Mat of one channel");
    }
    count = sizes[--rank];
    if (count > 1 && layout.numel != 0 && layout.strides()[rank] != 1) {
      return fail_mat_stride(layout, rank, ": a cv::Mat's channels are neighbours, not dimension ");
    }
  }
  if (rank > kMatMaxDims) {
    return fail(Error::NotSupported, rank, " dimensions, but a cv::Mat has at most ", kMatMaxDims);
  }
  const auto element = static_cast<int64_t>(elementSize(from.type));
  int64_t least = count * element;  // the smallest allowed step of dimension d, in bytes
  made.type = CV_MAKETYPE(depth, static_cast<int>(count));
  if (rank > 2) made.dims = static_cast<int>(rank);
  made.steps[0] = made.steps[1] = static_cast<size_t>(least);
  for (size_t d = rank; d-- > 0;) {
    const bool is_free = sizes[d] <= 1 || layout.numel == 0;
    const int64_t step = is_free ? least : layout.strides()[d] * element;
    // A tensor of one dimension becomes a column, whose elements need not be adjacent.
    if (step < least || (step != least && rank > 1 && d + 1 == rank)) {
      return fail_mat_stride(
          layout, d, ": a cv::Mat is in row-major order without gaps in rows, not dimension ");
    }
    if (sizes[d] > INT_MAX) {
      return fail(Error::NotSupported, "sizes ", sizes, ", but those of a cv::Mat are int");
    }
    if (!multiply(step, sizes[d] == 0 ? 1 : sizes[d], least)) least = INT64_MAX;
    made.sizes[d] = static_cast<int>(sizes[d]);
    made.steps[d] = static_cast<size_t>(step);
  }
  return hold.hold(source);
}

inline Error make_mat(const TensorArg& tensor, MatChannels channels, cv::Mat& made) noexcept {
  MatHeader h;
  MemoryHold hold;
  TENON_TRY(describe_for_mat(tensor, channels, h, hold));
  const TensorFields& from = fields(tensor);
  try {
    made = h.dims == 2 ? cv::Mat(h.sizes[0], h.sizes[1], h.type, from.data, h.steps[0])  // faster
                       : cv::Mat(h.dims, h.sizes, h.type, from.data, h.steps);
    if (hold.tensor() != nullptr) {
      const size_t nbytes =
          static_cast<size_t>(from.layout.required_span_size()) * elementSize(from.type);
      made.u = &(new LentMat(from.data, nbytes, std::move(hold)))->record;
    }
    return Error::Ok;
  } catch (const std::exception&) {  // OpenCV's checks were all done before: memory ran out
    return fail(Error::OutOfMemory, TENON_OUT_OF_MEMORY " for the cv::Mat");
  }
}

}  // namespace detail

namespace detail {  // function objects

template <class Out>
struct FromMat {
  const char* function;

  /// Makes a tensor over a Mat's memory. Its sizes are the Mat's sizes and, depending on
  /// `channels`, the number of channels: by default a BGR image is {rows, columns, 3}, a grey image
  /// {rows, columns}. Padded rows and parts of a Mat keep their strides. An argument that converts
  /// to a Mat, such as MatExpr, is converted first.
  ///
  /// Ownership: the tensor adds 1 to the memory's reference count, and so keeps the memory alive,
  /// also that of a mapped UMat. Mat and tensor see each other's writes, even if the Mat is const.
  /// If a Mat has no reference count (`mat.u` is null), its memory is borrowed: a Mat over a
  /// caller's pointer, or over the vector or Matx of an InputArray. To keep such memory, clone()
  /// the Mat first.
  /// Errors: InvalidState (no dimensions, as after a failed imread); NotSupported (a depth that
  /// OpenCV 4 lacks); InvalidArgument (several channels with MatChannels::Never; a step that is not
  /// a multiple of the element size); OutOfMemory.
  /// Threads: as for cv::Mat; the last of the Mats and tensors over the memory may be dropped on
  /// any thread.
  /// Cost: one allocation. Source: cv2's conversion to NumPy's arrays.
  Out operator()(const cv::Mat& mat, MatChannels channels = MatChannels::Auto) const {
    auto type = ScalarType::Undefined;
    Dims sizes, strides;
    NewTensor new_tensor;
    Error error = describe_mat(mat, channels, type, sizes, strides);
    if (error == Error::Ok) {
      Deleter keep = mat.u == nullptr ? Deleter() : Deleter(nullptr, KeepMat(mat));
      error = borrow_checked(DataPtr(static_cast<void*>(mat.data)), sizes, {}, strides,
                             CreateOptions(type), &keep, new_tensor);
    }
    return return_to_user<Out>(function, error, new_tensor);
  }
  template <class UMatNeedsGetMatOrCopyTo,
            std::enable_if_t<std::is_same_v<UMatNeedsGetMatOrCopyTo, cv::UMat>, int> = 0>
  Out operator()(const UMatNeedsGetMatOrCopyTo&, MatChannels = MatChannels::Auto) const
      TENON_MISTAKE(
          "a cv::UMat may be in a device's memory: u.copyTo(mat) copies it; "
          "from_mat(u.getMat(cv::ACCESS_RW)) maps it for as long as the tensor lives");
  template <class InputArrayNeedsGetMat,
            std::enable_if_t<std::is_base_of_v<cv::_InputArray, InputArrayNeedsGetMat>, int> = 0>
  Out operator()(const InputArrayNeedsGetMat&, MatChannels = MatChannels::Auto) const TENON_MISTAKE(
      "from_mat(array.getMat()) shares a Mat's memory, and borrows that of a vector or Matx, "
      "which has to outlive the tensor; from_mat(array.getMat().clone()) copies it");
};

}  // namespace detail

inline constexpr detail::FromMat<TensorPtr> from_mat{"from_mat"};
inline constexpr detail::FromMat<Result<TensorPtr>> try_from_mat{"try_from_mat"};

/// Makes a Mat over a tensor's memory. Depending on `channels`, the tensor's last dimension becomes
/// the Mat's channels. A tensor with one more dimension becomes a column, a tensor with none a Mat
/// of one row and one column. Padded rows keep their strides. The try_ form returns a Result.
///
/// Ownership: the Mat shares the memory. While any Mat over it exists, the memory stays alive and
/// the tensor cannot grow (InUse). If create() of the Mat changes its sizes, OpenCV allocates new
/// memory. The memory of a tensor over a raw TensorImpl* is borrowed: the caller keeps it alive.
/// Each conversion back and forth adds an owner.
/// Errors: NotSupported (a read-only tensor; memory that the host cannot reach; a dtype that OpenCV
/// 4 lacks: Bool, Long, UInt32, UInt64, BFloat16, Float8 and complex types; strides that are 0,
/// negative or not in row-major order; elements of a row, or channels, that are not adjacent; more
/// than 32 dimensions; sizes that int cannot hold); InvalidArgument (not 1 to CV_CN_MAX channels;
/// data that is not aligned); InvalidState (undefined; a placeholder); OutOfMemory.
/// Threads: as for cv::Mat; the last Mat over the memory may be dropped on any thread.
/// Cost: one allocation; two for more than two dimensions. Source: cv2's conversion of arrays.
inline cv::Mat to_mat(const TensorArg& tensor, MatChannels channels = MatChannels::Auto) {
  cv::Mat made;
  detail::raise_if("to_mat", detail::make_mat(tensor, channels, made));
  return made;
}
inline Result<cv::Mat> try_to_mat(const TensorArg& tensor,
                                  MatChannels channels = MatChannels::Auto) noexcept {
  cv::Mat made;
  TENON_TRY(detail::add_context_if("try_to_mat", detail::make_mat(tensor, channels, made)));
  return made;
}

TENON_END_NAMESPACE
