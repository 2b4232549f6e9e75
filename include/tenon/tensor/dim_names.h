// SPDX-License-Identifier: MIT
// Meta tensors, which have a type and a shape but no data, with names of their dimensions.
#pragma once

#include "tenon/tensor/make.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// The names of a meta tensor's dimensions, stored as its deleter's callable.
struct DimNames {
  std::vector<std::string> names;
  void operator()(void*) const noexcept {}
};
template <>
inline constexpr const char* deleter_name_v<DimNames> = "DimNames";

TENON_TEMPLATE_INLINE Error make_template(const Dims& sizes, ScalarType type,
                                          std::vector<std::string>&& names,
                                          NewTensor& new_tensor) noexcept {
  TENON_TRY(check_dims("sizes", sizes));
  if (!names.empty() && names.size() != sizes.size()) {
    return fail(Error::InvalidArgument, names.size(), " names were given for sizes ", sizes);
  }
  for (size_t i = 0; i < names.size(); ++i) {
    for (size_t k = 0; k < i; ++k) {
      if (!names[i].empty() && names[i] == names[k]) {
        return fail(Error::InvalidArgument, "dimensions ", k, " and ", i, " are both named \"",
                    names[i].c_str(), '"');
      }
    }
  }
  Deleter keep;
  if (!names.empty()) keep = Deleter(nullptr, DimNames{std::move(names)});
  CreateOptions opts(type, TensorShapeDynamism::STATIC);
  opts.device = DeviceType::Meta;
  TENON_TRY(borrow_checked(nullptr, sizes, {}, {}, opts, &keep, new_tensor));
  fields(new_tensor).ownership = Ownership::Owned;
  return Error::Ok;
}

}  // namespace detail

namespace detail {  // function objects

template <class Out>
struct MakeTemplate {
  const char* function;

  /// A STATIC meta tensor, such as a description of the input that a model expects. `names` may
  /// name the dimensions; "" stands for no name.
  /// Ownership: there are no elements.
  /// Errors: InvalidArgument (an invalid shape, see make_tensor_ptr(); a number of names that is
  /// neither 0 nor the rank; a name given twice), InvalidType (Undefined), OutOfMemory.
  /// Cost: one allocation, and those of the names.
  /// Source: Nx.template.
  Out operator()(const Dims& sizes, tenon::ScalarType type,
                 std::vector<std::string> names = {}) const {
    NewTensor new_tensor;
    const Error error = make_template(sizes, own_type(type), std::move(names), new_tensor);
    return return_to_user<Out>(function, error, new_tensor);
  }
};

}  // namespace detail

inline constexpr detail::MakeTemplate<TensorPtr> make_template{"make_template"};
inline constexpr detail::MakeTemplate<Result<TensorPtr>> try_make_template{"try_make_template"};

/// The names that make_template() was given. All other tensors, views of such a tensor included,
/// have no names.
/// Errors: InvalidState for an undefined tensor.
/// Source: Nx.names.
TENON_TEMPLATE_INLINE std::vector<std::string> dim_names(ConstTensorArg t) {
  detail::raise_if("dim_names", detail::check_metadata(t, "the tensor"));
  Deleter* const kept = detail::deleter_of(t);
  detail::DimNames* const names = kept == nullptr ? nullptr : kept->target<detail::DimNames>();
  return names == nullptr ? std::vector<std::string>() : names->names;
}

TENON_END_NAMESPACE
