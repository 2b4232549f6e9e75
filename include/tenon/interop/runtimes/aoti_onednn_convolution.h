// SPDX-License-Identifier: MIT
// Convolutions of 1 to 3 spatial dimensions, transposed ones too, by oneDNN.
#pragma once

#include <unordered_map>
#include <utility>

#include "tenon/interop/runtimes/aoti_onednn_matrix_product.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// Whether a tensor of rank 4 has its channels innermost, as c10 decides that.
/// Source: c10::is_channels_last_strides_2d_s4.
inline bool has_channels_last(const Layout& layout) noexcept {
  if (layout.rank() != 4 || layout.strides()[1] == 0) return false;
  int64_t least = 0;
  for (const size_t d : {size_t{1}, size_t{3}, size_t{2}, size_t{0}}) {
    const int64_t size = layout.sizes()[d];
    const int64_t stride = layout.strides()[d];
    if (size == 0 || stride < least || (d == 0 && least == layout.strides()[1])) return false;
    least = stride * (size > 1 ? size : 1);
  }
  return true;
}

/// One convolution, checked. Lists have one number for each spatial dimension.
struct OnednnConvolution {
  Tensor* input = nullptr;
  Tensor* weight = nullptr;
  Tensor* bias = nullptr;  // null: none
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

  /// A list of one number is for all dimensions.
  Error read(const char* name, const int64_t* values, int64_t count, int64_t least,
             dnnl::memory::dims& list) const {
    const size_t rank = layout_of(input).rank() - 2;
    if (values == nullptr || (count != 1 && count != static_cast<int64_t>(rank))) {
      return fail(Error::InvalidArgument, name, " has ", count, " numbers, expected ", rank);
    }
    for (size_t d = 0; d < rank; ++d) {
      const int64_t value = values[count == 1 ? 0 : d];
      if (value < least) {
        return fail(Error::InvalidArgument, name, ' ', value, ", expected at least ", least);
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
      return fail(Error::InvalidArgument, "an input of sizes ", in, " and weights of sizes ", w,
                  " in ", groups, " groups");
    }
    for (const Tensor* tensor : {weight, bias}) {
      if (tensor != nullptr && fields(TensorArg(*tensor)).type != type) {
        return fail(Error::InvalidType, "an input of ", type, " and weights of ",
                    fields(TensorArg(*tensor)).type);
      }
    }
    if (bias != nullptr && layout_of(bias).sizes() != Dims{made}) {
      return fail(Error::InvalidArgument, "a bias of sizes ", layout_of(bias).sizes(),
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
      if (room < 0 && !transposed) sizes[d + 2] = 0;
      if (sizes[d + 2] <= 0 || w[d + 2] <= 0) {
        return fail(Error::InvalidArgument, "weights of sizes ", w,
                    " are too large for an input of ", "sizes ", in);
      }
    }
    return Error::Ok;
  }

  /// The output as libtorch would make it, whose strides the model's code relies on.
  Error make_output(Tensor& made) const noexcept {
    AotiShape shape;
    shape.type = fields(TensorArg(*input)).type;
    TENON_TRY(output_sizes(shape.sizes));
    shape.strides = shape.sizes;
    const bool last = has_channels_last(layout_of(input)) || has_channels_last(layout_of(weight));
    int64_t distance = 1;
    for (size_t i = shape.sizes.size(); i-- > 0;) {
      const size_t order[] = {0, 2, 3, 1};  // of channels last, from the outermost
      const size_t d = last ? order[i] : i;
      shape.strides[d] = distance;
      distance *= std::max<int64_t>(shape.sizes[d], 1);
    }
    return aoti_empty(shape, made);
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

  /// Computes into a tensor of make_output()'s. Throws dnnl::error.
  template <class Primitive>
  void run(const Tensor& output, dnnl::algorithm algorithm) const {
    const auto source = describe(*input);
    const auto weights = describe_weights();
    const auto biases = bias == nullptr ? dnnl::memory::desc() : describe(*bias);
    const auto target = describe(output);
    dnnl::memory::dims gaps = dilation;
    dnnl::memory::dims end = padding;
    for (size_t d = 0; d < spatial(); ++d) {
      gaps[d] -= 1;
      if (transposed) end[d] -= output_padding[d];
    }
    const auto kind = dnnl::prop_kind::forward_inference;
#if DNNL_VERSION_MAJOR >= 3
    const typename Primitive::primitive_desc plan(onednn_engine(), kind, algorithm,
                                                  any_order(source), any_order(weights), biases,
                                                  any_order(target), stride, gaps, padding, end);
#else
    const typename Primitive::primitive_desc plan(
        typename Primitive::desc(kind, algorithm, any_order(source), any_order(weights), biases,
                                 any_order(target), stride, gaps, padding, end),
        onednn_engine());
#endif
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
    if (bias != nullptr) memories.emplace(DNNL_ARG_BIAS, memory_of(*bias, biases));
    Primitive(plan).execute(stream, memories);
    if (result.get_data_handle() != to.get_data_handle()) {
      dnnl::reorder(result, to).execute(stream, result, to);
    }
    stream.wait();
  }
};

}  // namespace detail
TENON_END_NAMESPACE
