// SPDX-License-Identifier: MIT
// Conversions between ONNX Runtime's errors, dtypes and values and tenon's.
#pragma once

#if !__has_include(<onnxruntime_c_api.h>)
#error "tenon: interop/onnxruntime.h needs ONNX Runtime's <onnxruntime_c_api.h> in the include path"
#endif

#include <onnxruntime_c_api.h>

#include <memory>
#include <string_view>
#include <vector>

#include "tenon/module/tensor_spec.h"
#include "tenon/tensor/make.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// ONNX Runtime's functions; null if the library is older than its header.
/// Cost: a call and a comparison.
inline const OrtApi* onnx_api() noexcept { return OrtGetApiBase()->GetApi(ORT_API_VERSION); }

/// tenon's error for a code: InvalidArgument for a broken model; NotSupported for a failed run, for
/// which ONNX Runtime has no more specific codes.
constexpr Error own_error(OrtErrorCode code) noexcept {
  switch (static_cast<int>(code)) {  // as an enum, -Wswitch-enum asks for all
    case ORT_OK: return Error::Ok;
    case ORT_INVALID_ARGUMENT:
    case ORT_NO_MODEL:
    case ORT_INVALID_PROTOBUF:
    case ORT_INVALID_GRAPH: return Error::InvalidArgument;
    case ORT_NO_SUCHFILE: return Error::NotFound;
    case ORT_MODEL_LOADED: return Error::InvalidState;
    default: return Error::NotSupported;
  }
}

/// Ok, or the error of a call's status with the message "ONNX Runtime: <its text>".
/// Ownership: releases the status.
inline Error check_onnx(OrtStatus* status) noexcept {
  if (status == nullptr) return Error::Ok;
  const OrtApi& api = *onnx_api();
  const Error error =
      fail(own_error(api.GetErrorCode(status)), "ONNX Runtime: ", api.GetErrorMessage(status));
  api.ReleaseStatus(status);
  return error;
}

struct OnnxRelease {
  void operator()(OrtEnv* object) const noexcept { onnx_api()->ReleaseEnv(object); }
  void operator()(OrtMemoryInfo* object) const noexcept { onnx_api()->ReleaseMemoryInfo(object); }
  void operator()(OrtSession* object) const noexcept { onnx_api()->ReleaseSession(object); }
  void operator()(OrtTypeInfo* object) const noexcept { onnx_api()->ReleaseTypeInfo(object); }
  void operator()(OrtTensorTypeAndShapeInfo* object) const noexcept {
    onnx_api()->ReleaseTensorTypeAndShapeInfo(object);
  }
  void operator()(OrtValue* object) const noexcept { onnx_api()->ReleaseValue(object); }
};

/// Owns an object of ONNX Runtime.
template <class T>
using OnnxHandle = std::unique_ptr<T, OnnxRelease>;

/// An output argument of a function that makes an object: `Create(…, MadeOnnx(handle))`.
/// Source: std::out_ptr.
template <class T>
class MadeOnnx {
 public:
  explicit MadeOnnx(OnnxHandle<T>& handle) noexcept : handle_(handle) {}
  ~MadeOnnx() { handle_.reset(object_); }
  operator T**() noexcept { return &object_; }

 private:
  OnnxHandle<T>& handle_;
  T* object_ = nullptr;
};

/// tenon's dtypes by ONNX Runtime's numbers; Undefined if either lacks the type. ONNX Runtime's
/// header has numbers for complex types, but there are no tensors of these types.
inline constexpr ScalarType kOnnxTypes[] = {ScalarType::Undefined,     ScalarType::Float,
                                            ScalarType::Byte,          ScalarType::Char,
                                            ScalarType::UInt16,        ScalarType::Short,
                                            ScalarType::Int,           ScalarType::Long,
                                            ScalarType::Undefined,  // a text
                                            ScalarType::Bool,          ScalarType::Half,
                                            ScalarType::Double,        ScalarType::UInt32,
                                            ScalarType::UInt64,        ScalarType::Undefined,
                                            ScalarType::Undefined,     ScalarType::BFloat16,
                                            ScalarType::Float8_e4m3fn, ScalarType::Float8_e4m3fnuz,
                                            ScalarType::Float8_e5m2,   ScalarType::Float8_e5m2fnuz};
static_assert(ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E5M2FNUZ == std::size(kOnnxTypes) - 1);

inline Error to_onnx(ScalarType from, ONNXTensorElementDataType& to) noexcept {
  for (size_t i = 0; i < std::size(kOnnxTypes); ++i) {
    to = static_cast<ONNXTensorElementDataType>(i);
    if (kOnnxTypes[i] == from) return Error::Ok;
  }
  return fail(Error::NotSupported, "ONNX Runtime has no tensors of ", from);
}

inline Error from_onnx(ONNXTensorElementDataType from, ScalarType& to) noexcept {
  to = from < std::size(kOnnxTypes) ? kOnnxTypes[from] : ScalarType::Undefined;
  if (to != ScalarType::Undefined) return Error::Ok;
  return fail(Error::NotSupported, "tenon has no dtype for ONNX's element type ",
              static_cast<int>(from),
              from == ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING ? ", texts" : "");
}

/// The sizes of a tensor; -1 stands for an open size.
inline Error read_onnx_sizes(const OrtTensorTypeAndShapeInfo& info, Dims& sizes) noexcept {
  size_t rank = 0;
  TENON_TRY(check_onnx(onnx_api()->GetDimensionsCount(&info, &rank)));
  if (!sizes.resize_for_overwrite(rank)) return check_dims("sizes", sizes);
  return check_onnx(onnx_api()->GetDimensions(&info, sizes.data(), rank));
}
/// The sizes and the element type.
inline Error read_onnx_shape(const OrtTensorTypeAndShapeInfo& info, ScalarType& type,
                             Dims& sizes) noexcept {
  ONNXTensorElementDataType theirs = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
  TENON_TRY(check_onnx(onnx_api()->GetTensorElementType(&info, &theirs)));
  TENON_TRY(from_onnx(theirs, type));
  return read_onnx_sizes(info, sizes);
}

/// The sizes of a tensor of these texts, by its spec. If one size is open, it follows from the
/// number of texts. For a single text all open sizes are 1, for no texts they are 0. If the spec
/// has no sizes (unknown rank), a single text has rank 0 and a list rank 1.
/// Errors: InvalidArgument.
inline Error size_texts(const TensorSpec& spec, size_t count, bool is_list, Dims& sizes) noexcept {
  const auto total = static_cast<int64_t>(count);
  if (spec.sizes.empty()) {
    sizes = is_list ? Dims{total} : Dims{};
    return Error::Ok;
  }
  sizes = spec.sizes;
  TENON_TRY(check_dims("sizes", sizes));
  int64_t known = 1;  // check_spec() has checked that the product does not overflow
  size_t open = 0;
  for (const int64_t size : sizes) {
    open += size < 0 ? 1u : 0u;
    known *= size < 0 ? 1 : size;
  }
  if (open > 1 && total > 1) {
    return fail(Error::InvalidArgument, count, " texts can be a tensor of sizes ", sizes,
                " in several ways; describe_inputs() can fix more of the sizes");
  }
  const int64_t left = open == 0 ? 1 : known == 0 || total < known ? 0 : total / known;
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] < 0) sizes[d] = left;
  }
  if (known * left != total) {
    return fail(Error::InvalidArgument, "the number of texts is ", count, ", expected ",
                open == 0 ? "" : "a multiple of ", known, " for a tensor of sizes ", spec.sizes);
  }
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (allows(spec, d, sizes[d])) continue;
    return fail(Error::InvalidArgument, "dimension ", Numbered{d, spec.names[d]}, " is ", sizes[d],
                ", expected at most ", limit_of(spec, d));
  }
  return Error::Ok;
}

/// Checks that ONNX Runtime can use a tensor's memory.
inline Error check_for_onnx(const TensorFields& tensor) noexcept {
  TENON_TRY(check_has_data(tensor));
  if (!tensor.is_host_accessible()) return fail_host_access(tensor);
  if (!tensor.layout.is_contiguous()) {
    return fail(Error::NotSupported, "strides ", tensor.layout.strides(), " of sizes ",
                tensor.layout.sizes(),
                " are not contiguous, but ONNX Runtime's have to be; contiguous() makes a copy");
  }
  return Error::Ok;
}

/// ONNX Runtime's values of one call. They use a tensor's memory, or ONNX Runtime made them.
/// Ownership: releases the values.
class OnnxValues {
 public:
  explicit OnnxValues(size_t count) : values_(count), lent_(count) {}
  OnnxValues(const OnnxValues&) = delete;
  OnnxValues& operator=(const OnnxValues&) = delete;
  ~OnnxValues() {
    for (OrtValue* const value : values_) {
      if (value != nullptr) onnx_api()->ReleaseValue(value);
    }
  }

  OrtValue** data() noexcept { return values_.data(); }
  /// Whether value i uses a tensor's memory.
  bool is_lent(size_t i) const noexcept { return lent_[i]; }
  OnnxHandle<OrtValue> take(size_t i) noexcept {
    return OnnxHandle<OrtValue>(std::exchange(values_[i], nullptr));
  }

  /// Makes value i over the memory of a tensor, which must outlive the value. Does not check
  /// whether the tensor is read-only.
  /// Errors: those of check_for_onnx(); NotSupported for a dtype that the library lacks.
  /// Source: OrtApi::CreateTensorWithDataAsOrtValue.
  Error lend(size_t i, const OrtMemoryInfo& host, const TensorArg& source) noexcept {
    TENON_TRY(check_defined(source, "the tensor"));
    const TensorFields& tensor = fields(source);
    TENON_TRY(check_for_onnx(tensor));
    ONNXTensorElementDataType type = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
    TENON_TRY(to_onnx(tensor.type, type));
    const ArrayRef<int64_t> sizes = tensor.layout.sizes();
    TENON_TRY(check_onnx(onnx_api()->CreateTensorWithDataAsOrtValue(
        &host, tensor.data, tensor.nbytes(), sizes.data(), sizes.size(), type, &values_[i])));
    lent_[i] = true;
    return Error::Ok;
  }
  /// Makes value i a tensor of copies of these texts, in row-major order.
  /// Source: OrtApi::CreateTensorAsOrtValue.
  Error make(size_t i, ArrayRef<std::string_view> texts, const Dims& sizes) noexcept {
    OrtAllocator* allocator = nullptr;  // the library's
    TENON_TRY(check_onnx(onnx_api()->GetAllocatorWithDefaultOptions(&allocator)));
    TENON_TRY(check_onnx(onnx_api()->CreateTensorAsOrtValue(
        allocator, sizes.data(), sizes.size(), ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING, &values_[i])));
    for (size_t k = 0; k < texts.size(); ++k) {
      char* to = nullptr;  // FillStringTensor() would end a text at its first zero
      TENON_TRY(check_onnx(
          onnx_api()->GetResizedStringTensorElementBuffer(values_[i], k, texts[k].size(), &to)));
      texts[k].copy(to, texts[k].size());
    }
    return Error::Ok;
  }
  /// Makes value i a sequence of these tensors.
  /// Errors: also NotSupported for an empty list, since ONNX Runtime makes no empty sequence.
  /// Source: OrtApi::CreateValue.
  Error lend(size_t i, const OrtMemoryInfo& host, ArrayRef<Tensor> sources) {
    if (sources.empty()) {
      return fail(Error::NotSupported, "ONNX Runtime takes no empty list of tensors");
    }
    OnnxValues elements(sources.size());
    for (size_t k = 0; k < sources.size(); ++k) {
      TENON_TRY(add_context_if("element", k, "", elements.lend(k, host, sources[k])));
    }
    TENON_TRY(check_onnx(
        onnx_api()->CreateValue(elements.data(), sources.size(), ONNX_TYPE_SEQUENCE, &values_[i])));
    lent_[i] = true;
    return Error::Ok;
  }

 private:
  std::vector<OrtValue*> values_;
  std::vector<bool> lent_;
};

/// Makes a tensor over the memory of a value that ONNX Runtime made.
///
/// Ownership: the tensor keeps the value and the environment alive.
/// Errors: NotSupported for a value that is not a tensor, or has a dtype that tenon lacks;
/// OutOfMemory.
inline Error adopt_from_onnx(OnnxHandle<OrtValue> value, std::shared_ptr<OrtEnv> environment,
                             Tensor& tensor) noexcept {
  int is_tensor = 0;
  if (value != nullptr) TENON_TRY(check_onnx(onnx_api()->IsTensor(value.get(), &is_tensor)));
  if (is_tensor == 0) return fail(Error::NotSupported, "it is not a tensor");
  OnnxHandle<OrtTensorTypeAndShapeInfo> info;
  TENON_TRY(check_onnx(onnx_api()->GetTensorTypeAndShape(value.get(), MadeOnnx(info))));
  ScalarType type = ScalarType::Undefined;
  Dims sizes;
  TENON_TRY(read_onnx_shape(*info, type, sizes));
  void* data = nullptr;
  TENON_TRY(check_onnx(onnx_api()->GetTensorMutableData(value.get(), &data)));
  // Releases the value before the environment.
  Deleter release(data, [environment = std::move(environment),
                         kept = std::move(value)](void*) mutable noexcept { kept.reset(); });
  NewTensor new_tensor;
  TENON_TRY(borrow_checked(data, sizes, {}, {}, CreateOptions(type), &release, new_tensor));
  return make_first_handle(new_tensor, tensor);
}

/// Copies the elements of a tensor of texts: to a String if there is one, else to a StringList.
inline Error copy_texts_from_onnx(OnnxHandle<OrtValue> value, EValue& to, Dims& sizes) {
  OnnxHandle<OrtTensorTypeAndShapeInfo> info;
  TENON_TRY(check_onnx(onnx_api()->GetTensorTypeAndShape(value.get(), MadeOnnx(info))));
  TENON_TRY(read_onnx_sizes(*info, sizes));
  size_t count = 0;
  TENON_TRY(check_onnx(onnx_api()->GetTensorShapeElementCount(info.get(), &count)));
  size_t size = 0;
  TENON_TRY(check_onnx(onnx_api()->GetStringTensorDataLength(value.get(), &size)));
  const std::unique_ptr<char[]> characters(new char[size + 1]);
  std::vector<size_t> offsets(count + 1, size);
  if (count != 0) {
    TENON_TRY(check_onnx(onnx_api()->GetStringTensorContent(value.get(), characters.get(), size,
                                                            offsets.data(), count)));
  }
  value.reset();  // before they are copied, since long texts may fill the memory
  std::vector<std::string_view> texts(count);
  for (size_t i = 0; i < count; ++i) {
    texts[i] = {characters.get() + offsets[i], offsets[i + 1] - offsets[i]};
  }
  to = count == 1 ? EValue(texts[0]) : EValue(texts);
  return Error::Ok;
}

/// Converts a value of ONNX Runtime to a Tensor, a TensorList (a sequence), texts or None (an
/// absent optional).
///
/// Sets `text_sizes` for texts.
/// Ownership: as adopt_from_onnx(); copies texts; ONNX Runtime copies the elements of a sequence.
inline Error take_from_onnx(OnnxHandle<OrtValue> value, ValueKind kind,
                            const std::shared_ptr<OrtEnv>& environment, EValue& to,
                            Dims& text_sizes) {
  int is_there = 0;
  if (value != nullptr) TENON_TRY(check_onnx(onnx_api()->HasValue(value.get(), &is_there)));
  if (is_there == 0) return Error::Ok;
  if (kind == ValueKind::Tensor) {
    to = Tensor();
    return adopt_from_onnx(std::move(value), environment, to.toTensor());
  }
  if (kind == ValueKind::StringList) return copy_texts_from_onnx(std::move(value), to, text_sizes);
  OrtAllocator* allocator = nullptr;  // the library's
  TENON_TRY(check_onnx(onnx_api()->GetAllocatorWithDefaultOptions(&allocator)));
  size_t count = 0;
  TENON_TRY(check_onnx(onnx_api()->GetValueCount(value.get(), &count)));
  std::vector<Tensor> tensors(count);
  for (size_t i = 0; i < count; ++i) {
    OnnxHandle<OrtValue> element;
    TENON_TRY(check_onnx(
        onnx_api()->GetValue(value.get(), static_cast<int>(i), allocator, MadeOnnx(element))));
    TENON_TRY(add_context_if("element", i, "",
                             adopt_from_onnx(std::move(element), environment, tensors[i])));
  }
  to = EValue(tensors);
  return Error::Ok;
}

/// Describes an input or output, or with `is_element` an element of a sequence, in a spec that
/// already has the name.
/// Errors: NotSupported unless it is a tensor of texts or of a dtype that tenon has, or a sequence
/// of tensors of such a dtype.
inline Error describe_onnx(const OrtTypeInfo& info, ValueSpec& spec, bool is_element = false) {
  ONNXType kind = ONNX_TYPE_UNKNOWN;
  TENON_TRY(check_onnx(onnx_api()->GetOnnxTypeFromTypeInfo(&info, &kind)));
  OnnxHandle<OrtTypeInfo> inner;
  if (kind == ONNX_TYPE_OPTIONAL) {
    const OrtOptionalTypeInfo* optional = nullptr;  // a part of `info`
    TENON_TRY(check_onnx(onnx_api()->CastTypeInfoToOptionalTypeInfo(&info, &optional)));
    TENON_TRY(check_onnx(onnx_api()->GetOptionalContainedTypeInfo(optional, MadeOnnx(inner))));
    spec.is_optional = true;
    return describe_onnx(*inner, spec, is_element);
  }
  if (kind == ONNX_TYPE_SEQUENCE && !is_element) {
    const OrtSequenceTypeInfo* sequence = nullptr;  // a part of `info`
    TENON_TRY(check_onnx(onnx_api()->CastTypeInfoToSequenceTypeInfo(&info, &sequence)));
    TENON_TRY(check_onnx(onnx_api()->GetSequenceElementType(sequence, MadeOnnx(inner))));
    spec.kind = ValueKind::TensorList;
    ValueSpec element(ValueKind::Tensor);
    return describe_onnx(*inner, element, true);
  }
  if (kind != ONNX_TYPE_TENSOR) {
    return fail(Error::NotSupported, is_element ? "each element" : "it", " is of ONNX type ",
                static_cast<int>(kind),
                kind == ONNX_TYPE_MAP        ? ", a map"
                : kind == ONNX_TYPE_SEQUENCE ? ", a sequence"
                                             : "",
                ", which an EValue cannot be");
  }
  const OrtTensorTypeAndShapeInfo* tensor = nullptr;  // a part of `info`
  TENON_TRY(check_onnx(onnx_api()->CastTypeInfoToTensorInfo(&info, &tensor)));
  ONNXTensorElementDataType theirs = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
  TENON_TRY(check_onnx(onnx_api()->GetTensorElementType(tensor, &theirs)));
  ScalarType type = ScalarType::Undefined;
  if (theirs != ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING) {
    TENON_TRY(from_onnx(theirs, type));
  } else if (is_element) {
    return fail(Error::NotSupported,
                "each element is a tensor of texts, which an EValue cannot be");
  } else {
    spec.kind = ValueKind::StringList;
  }
  TENON_TRY(read_onnx_sizes(*tensor, spec.tensor.sizes));
  spec.tensor.type = public_type(type);
  if (spec.tensor.sizes.empty()) return Error::Ok;
  std::vector<const char*> symbols(spec.tensor.sizes.size());
  TENON_TRY(check_onnx(onnx_api()->GetSymbolicDimensions(tensor, symbols.data(), symbols.size())));
  spec.tensor.names = NameList(symbols);
  spec.is_described = true;
  return check_spec(spec.tensor);
}

}  // namespace detail
TENON_END_NAMESPACE
