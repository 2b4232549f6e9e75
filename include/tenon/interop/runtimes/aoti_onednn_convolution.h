// SPDX-License-Identifier: MIT
// Convolutions of 1 to 3 spatial dimensions, also transposed ones, by oneDNN; by plain loops if
// oneDNN lacks them.
#pragma once

#include <unordered_map>
#include <utility>

#include "tenon/interop/runtimes/aoti_channels_last.h"
#include "tenon/interop/runtimes/aoti_onednn_matrix_product.h"
#include "tenon/interop/runtimes/aoti_plain_convolution.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// The checked arguments of a convolution. Lists have a number for each spatial dimension.
struct OnednnConvolution {
  Tensor* input = nullptr;
  Tensor* weight = nullptr;
  Tensor* bias = nullptr;  // null if there is none
  dnnl::memory::dims stride;
  dnnl::memory::dims padding;
  dnnl::memory::dims dilation;
  dnnl::memory::dims output_padding;
  bool transposed = false;
  int64_t groups = 1;

  const Layout& layout_of(const Tensor* tensor) const noexcept {
    return fields(TensorArg(*tensor)).layout;
  }
  size_t spatial() const noexcept { return stride.size(); }

  /// Reads a list of numbers. A single number applies to all dimensions.
  Error read(const char* name, const int64_t* values, int64_t count, int64_t least,
             dnnl::memory::dims& list) const {
    const size_t rank = layout_of(input).rank() - 2;
    if (values == nullptr || (count != 1 && count != static_cast<int64_t>(rank))) {
      return fail(Error::InvalidArgument, name, " has ", count, " numbers, expected ", rank);
    }
    for (size_t d = 0; d < rank; ++d) {
      const int64_t value = values[count == 1 ? 0 : d];
      if (value < least) {
        return fail(Error::InvalidArgument, name, " has ", value, ", expected at least ", least);
      }
      if (value > INT32_MAX) {  // so that no position overflows
        return fail(Error::InvalidArgument, name, " has ", value, ", expected at most ", INT32_MAX);
      }
      list.push_back(value);
    }
    return Error::Ok;
  }

  Error check() const noexcept {
    const Dims& in = layout_of(input).sizes();
    const Dims& w = layout_of(weight).sizes();
    const ScalarType type = fields(TensorArg(*input)).type;
    int64_t grouped = 0;
    const bool fits = groups >= 1 && multiply(w[1], groups, grouped);
    const int64_t channels = transposed ? w[0] : grouped;
    const int64_t made = transposed ? grouped : w[0];
    if (!fits || w[0] % groups != 0 || in[1] != channels) {
      return fail(Error::InvalidArgument, "an input of sizes ", in,
                  " does not fit weights of sizes ", w, " in ", groups, " groups");
    }
    for (const Tensor* tensor : {weight, bias}) {
      if (tensor != nullptr && fields(TensorArg(*tensor)).type != type) {
        return fail(Error::InvalidType, "the input has type ", type, ", the ",
                    tensor == bias ? "bias" : "weights", " type ", fields(TensorArg(*tensor)).type,
                    ", expected one type");
      }
    }
    if (bias != nullptr && layout_of(bias).sizes() != Dims{made}) {
      return fail(Error::InvalidArgument, "the bias has sizes ", layout_of(bias).sizes(),
                  ", expected ", Dims{made});
    }
    return Error::Ok;
  }

  Error output_sizes(Dims& sizes) const noexcept {
    const Dims& in = layout_of(input).sizes();
    const Dims& w = layout_of(weight).sizes();
    sizes = in;
    sizes[1] = transposed ? w[1] * groups : w[0];
    for (size_t d = 0; d < spatial(); ++d) {
      const int64_t reach = dilation[d] * (w[d + 2] - 1);
      const int64_t room = in[d + 2] + 2 * padding[d] - reach - 1;
      sizes[d + 2] =
          transposed ? (in[d + 2] - 1) * stride[d] - 2 * padding[d] + reach + output_padding[d] + 1
                     : room / stride[d] + 1;
      if (transposed && layout_of(input).numel != 0 &&
          output_padding[d] >= (std::max)(stride[d], dilation[d])) {
        return fail(Error::InvalidArgument, "output_padding has ", output_padding[d],
                    ", expected less than the stride ", stride[d], " or the dilation ",
                    dilation[d]);
      }
      if ((transposed ? sizes[d + 2] : room) < 0 || w[d + 2] <= 0) {
        return fail(Error::InvalidArgument, "weights of sizes ", w,
                    " are too large for an input of sizes ", in);
      }
    }
    return Error::Ok;
  }

  /// Whether an output padding is as large as the stride. oneDNN lacks such convolutions, and
  /// libtorch does not call it for them.
  bool has_large_output_padding() const noexcept {
    for (size_t d = 0; d < output_padding.size(); ++d) {
      if (output_padding[d] >= stride[d]) return true;
    }
    return false;
  }
  /// Whether libtorch's output has channels last.
  bool makes_channels_last() const noexcept {
    const Layout& x = layout_of(input);
    const Layout& w = layout_of(weight);
    if (spatial() == 1) {  // libtorch computes in two dimensions, from a copy if the input has gaps
      const auto is_last = [](const Dims& sizes, const Dims& strides) {
        return has_channels_last({sizes[0], sizes[1], 1, sizes[2]},
                                 {strides[0], strides[1], sizes[2] * strides[2], strides[2]});
      };
      return (x.is_contiguous() && is_last(x.sizes(), x.strides())) ||
             is_last(w.sizes(), w.strides());
    }
    if (spatial() == 3) {  // only if libtorch uses oneDNN; source: at::native, use_mkldnn
      const ScalarType type = fields(TensorArg(*input)).type;
      const Dims& in = x.sizes();
      const bool is_large = groups > 1 || (w.sizes()[3] > 3 && w.sizes()[4] > 3) || in[0] > 1 ||
                            in[0] * in[1] * in[2] * in[3] > 20480;
      if (type != ScalarType::BFloat16 && (type != ScalarType::Float || !is_large)) return false;
      if (has_large_output_padding()) return false;
    }
    return has_channels_last(x.sizes(), x.strides()) || has_channels_last(w.sizes(), w.strides());
  }

  /// Makes an output with libtorch's strides, on which the model's code relies.
  Error make_output(Tensor& made) const {
    AotiShape shape;
    shape.type = fields(TensorArg(*input)).type;
    TENON_TRY(output_sizes(shape.sizes));
    shape.strides = row_major_strides(shape.sizes);
    if (makes_channels_last()) set_channels_last(shape.sizes, 1, shape.strides);
    return aoti_empty(shape, made);
  }

  /// Computes the convolution into a tensor from make_output().
  Error run(const Tensor& output) const {
    const ScalarType type = fields(TensorArg(output)).type;
    if (onednn_type(type) == dnnl::memory::data_type::undef || has_large_output_padding()) {
      return run_plain(output);
    }
    // oneDNN 2.6 takes four times as long for transposed convolutions of BFloat16 as of Float.
    if (transposed && type != ScalarType::Float) return run_as_float(output);
    Tensor b;
    if (bias != nullptr) TENON_TRY(make_dense(*bias, type, b));
    const bool ran = transposed ? run_onednn<dnnl::deconvolution_forward>(
                                      output, b, dnnl::algorithm::deconvolution_direct)
                                : run_onednn<dnnl::convolution_forward>(
                                      output, b, dnnl::algorithm::convolution_direct);
    if (ran) return Error::Ok;
    return type == ScalarType::Float ? run_plain(output) : run_as_float(output);
  }

 private:
  Error run_plain(const Tensor& output) const {
    const TensorFields& to = fields(TensorArg(output));
    TENON_TRY(check_product_type(to.type));
    if (isComplexType(to.type)) {
      return fail(Error::NotSupported, "a convolution of ", to.type,
                  " tensors is not supported, as in torch; export convolutions of the real and the "
                  "imaginary parts");
    }
    const ScalarType type = computed_type(to.type);
    Tensor x;
    Tensor w;
    Tensor b;
    TENON_TRY(make_dense(*input, type, x));
    TENON_TRY(make_dense(*weight, type, w));
    if (bias != nullptr) TENON_TRY(make_dense(*bias, type, b));
    AotiResult result;
    TENON_TRY(result.use(output, type));
    PlainConvolution job;
    job.batches = x.sizes()[0];
    job.groups = groups;
    job.inputs = x.sizes()[1] / groups;
    job.outputs = to.layout.sizes()[1] / groups;
    job.transposed = transposed;
    for (size_t d = 0; d < spatial(); ++d) {
      const size_t last = d + 3 - spatial();
      job.in[last] = x.sizes()[d + 2];
      job.kernel[last] = w.sizes()[d + 2];
      job.out[last] = to.layout.sizes()[d + 2];
      job.stride[last] = stride[d];
      job.padding[last] = padding[d];
      job.dilation[last] = dilation[d];
    }
    TENON_TRY(on_product_type(type, [&](auto zero) {
      using T = decltype(zero);
      job.run(dense_data<T>(x), dense_data<T>(w), bias != nullptr ? dense_data<T>(b) : nullptr,
              result.data<T>());
      return Error::Ok;
    }));
    return result.finish();
  }
  Error run_as_float(const Tensor& output) const {
    OnednnConvolution job = *this;
    Tensor x;
    Tensor w;
    Tensor b;
    TENON_TRY(make_dense(*input, ScalarType::Float, x));
    TENON_TRY(make_dense(*weight, ScalarType::Float, w));
    if (bias != nullptr) TENON_TRY(make_dense(*bias, ScalarType::Float, b));
    job.input = &x;
    job.weight = &w;
    if (bias != nullptr) job.bias = &b;
    AotiResult result;
    TENON_TRY(result.use(output, ScalarType::Float));
    TENON_TRY(job.run(result.work()));
    return result.finish();
  }

  static dnnl::memory::desc describe(const Tensor& tensor) {
    const TensorFields& t = fields(TensorArg(tensor));
    return {{t.layout.sizes().begin(), t.layout.sizes().end()},
            onednn_type(t.type),
            {t.layout.strides().begin(), t.layout.strides().end()}};
  }
  static dnnl::memory::desc any_order(const dnnl::memory::desc& of) {
#if DNNL_VERSION_MAJOR >= 3
    return {of.get_dims(), of.get_data_type(), dnnl::memory::format_tag::any};
#else
    return {of.dims(), of.data_type(), dnnl::memory::format_tag::any};
#endif
  }
  static dnnl::memory memory_of(const Tensor& tensor, const dnnl::memory::desc& description) {
    return {description, onednn_engine(), fields(TensorArg(tensor)).data};
  }

  /// The weights in oneDNN's order of dimensions: groups first, and outputs before inputs.
  dnnl::memory::desc describe_weights() const {
    const Layout& layout = layout_of(weight);
    Dims sizes = layout.sizes();
    Dims strides = layout.strides();
    const int64_t group_size = sizes[0] / groups;
    const int64_t group_stride = group_size * strides[0];
    sizes[0] = group_size;
    if (transposed) {
      std::swap(sizes[0], sizes[1]);
      std::swap(strides[0], strides[1]);
    }
    dnnl::memory::dims all_sizes(sizes.begin(), sizes.end());
    dnnl::memory::dims all_strides(strides.begin(), strides.end());
    if (groups > 1) {
      all_sizes.insert(all_sizes.begin(), groups);
      all_strides.insert(all_strides.begin(), group_stride);
    }
    return {all_sizes, onednn_type(fields(TensorArg(*weight)).type), all_strides};
  }

  /// Returns false if oneDNN lacks the convolution. Throws dnnl::error.
  template <class Primitive>
  bool run_onednn(const Tensor& output, const Tensor& dense_bias, dnnl::algorithm algorithm) const {
    const auto source = describe(*input);
    const auto weights = describe_weights();
    const auto biases = bias == nullptr ? dnnl::memory::desc() : describe(dense_bias);
    const auto target = describe(output);
    dnnl::memory::dims gaps = dilation;
    dnnl::memory::dims end = padding;
    for (size_t d = 0; d < spatial(); ++d) {
      gaps[d] -= 1;
      if (transposed) end[d] -= output_padding[d];
    }
    const auto kind = dnnl::prop_kind::forward_inference;
#if DNNL_VERSION_MAJOR >= 3
    const typename Primitive::primitive_desc plan(
        onednn_engine(), kind, algorithm, any_order(source), any_order(weights), biases,
        any_order(target), stride, gaps, padding, end, dnnl::primitive_attr(), true);
#else
    const typename Primitive::primitive_desc plan(
        typename Primitive::desc(kind, algorithm, any_order(source), any_order(weights), biases,
                                 any_order(target), stride, gaps, padding, end),
        onednn_engine(), true);
#endif
    if (!plan) return false;
    dnnl::stream& stream = onednn_stream();
    const auto reordered = [&](dnnl::memory given, const dnnl::memory::desc& wanted) {
      if (given.get_desc() == wanted) return given;
      dnnl::memory made(wanted, onednn_engine());
      dnnl::reorder(given, made).execute(stream, given, made);
      return made;
    };
    dnnl::memory to = memory_of(output, target);
    dnnl::memory result = to;
    if (plan.dst_desc() != target) result = dnnl::memory(plan.dst_desc(), onednn_engine());
    std::unordered_map<int, dnnl::memory> memories = {
        {DNNL_ARG_SRC, reordered(memory_of(*input, source), plan.src_desc())},
        {DNNL_ARG_WEIGHTS, reordered(memory_of(*weight, weights), plan.weights_desc())},
        {DNNL_ARG_DST, result}};
    if (bias != nullptr) memories.emplace(DNNL_ARG_BIAS, memory_of(dense_bias, biases));
    Primitive(plan).execute(stream, memories);
    if (result.get_data_handle() != to.get_data_handle()) {
      dnnl::reorder(result, to).execute(stream, result, to);
    }
    stream.wait();
    return true;
  }
};

}  // namespace detail
TENON_END_NAMESPACE
