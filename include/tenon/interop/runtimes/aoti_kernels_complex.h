// SPDX-License-Identifier: MIT
// PyTorch's operators on complex tensors. There are no C functions for them, and AOTInductor
// generates no code for complex tensors: models call the operators by name through
// interop/aoti_proxy.h. Most refuse real elements, for which models have generated code.
#pragma once

#include "tenon/interop/runtimes/aoti_kernels_elementwise.h"
#include "tenon/interop/runtimes/aoti_kernels_operators.h"
#include "tenon/interop/runtimes/torch_stable_aten_numbers.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// All operators compute in this type, so that each loop is compiled once.
using AtenComplex = std::complex<double>;

inline Error add_operand(const EValue& value, Elementwise& job) {
  Tensor read;
  TENON_TRY(read_operand(value, read));
  job.add(read);
  return Error::Ok;
}
inline Error give(Elementwise& job, AtenOut& out) {
  TENON_TRY(job.finish());
  return give(job.result(), out);
}
inline Error check_complex(ScalarType type) {
  if (isComplexType(type)) return Error::Ok;
  return fail(Error::NotSupported, "the elements have type ", type, ", expected a complex type");
}

// --- Element by element -------------------------------------------------------------------------

struct ComplexFunction {
  const char* name;
  AtenComplex (*compute)(AtenComplex z);
};
inline constexpr double kLn2 = 0.693147180559945309417;
inline constexpr ComplexFunction kComplexFunctions[] = {
    {"_conj", [](AtenComplex z) { return std::conj(z); }},
    {"_conj_physical", [](AtenComplex z) { return std::conj(z); }},
    {"acos", [](AtenComplex z) { return std::acos(z); }},
    {"acosh", [](AtenComplex z) { return std::acosh(z); }},
    {"asin", [](AtenComplex z) { return std::asin(z); }},
    {"asinh", [](AtenComplex z) { return std::asinh(z); }},
    {"atan", [](AtenComplex z) { return std::atan(z); }},
    {"atanh", [](AtenComplex z) { return std::atanh(z); }},
    {"cos", [](AtenComplex z) { return std::cos(z); }},
    {"cosh", [](AtenComplex z) { return std::cosh(z); }},
    {"exp", [](AtenComplex z) { return std::exp(z); }},
    {"exp2", [](AtenComplex z) { return std::exp(z * kLn2); }},
    {"expm1",
     [](AtenComplex z) {
       const double half = std::sin(z.imag() / 2);
       const double less = std::expm1(z.real());
       return AtenComplex(less - 2 * half * half * (less + 1),
                          std::exp(z.real()) * std::sin(z.imag()));
     }},
    {"log", [](AtenComplex z) { return std::log(z); }},
    {"log10", [](AtenComplex z) { return std::log10(z); }},
    {"log1p",
     [](AtenComplex z) {
       const double x = z.real();
       const double y = z.imag();
       const bool is_small = std::abs(x) < 0.5 && std::abs(y) < 0.5;
       const double length =
           is_small ? std::log1p(x * (2 + x) + y * y) / 2 : std::log(std::hypot(1 + x, y));
       return AtenComplex(length, std::atan2(y, 1 + x));
     }},
    {"log2", [](AtenComplex z) { return std::log(z) / kLn2; }},
    {"neg", [](AtenComplex z) { return -z; }},
    {"reciprocal", [](AtenComplex z) { return 1.0 / z; }},
    {"rsqrt", [](AtenComplex z) { return 1.0 / std::sqrt(z); }},
    {"sigmoid", [](AtenComplex z) { return 1.0 / (1.0 + std::exp(-z)); }},
    {"sin", [](AtenComplex z) { return std::sin(z); }},
    {"sinh", [](AtenComplex z) { return std::sinh(z); }},
    {"sqrt", [](AtenComplex z) { return std::sqrt(z); }},
    {"tan", [](AtenComplex z) { return std::tan(z); }},
    {"tanh", [](AtenComplex z) { return std::tanh(z); }},
};
inline Error run_complex_function(const ComplexFunction& function, AtenIn in, AtenOut& out) {
  Elementwise job;
  TENON_TRY(add_operand(in[0], job));
  const ScalarType type = job.type(0);
  TENON_TRY(check_complex(type));
  TENON_TRY(job.begin(ScalarType::ComplexDouble, type));
  if (type == ScalarType::ComplexDouble) {
    job.compute<AtenComplex, AtenComplex>(function.compute);
  } else {
    job.compute<std::complex<float>, AtenComplex>(
        [&](AtenComplex z) { return std::complex<float>(function.compute(z)); });
  }
  return give(job, out);
}

inline Error run_complex(AtenIn in, AtenOut& out) {
  Elementwise job;
  TENON_TRY(add_operand(in[0], job));
  TENON_TRY(add_operand(in[1], job));
  const ScalarType type = job.type(0);
  const ScalarType result = isComplexType(type) ? ScalarType::Undefined : complex_type_of(type);
  if (type != job.type(1) || result == ScalarType::Undefined) {
    return fail(Error::InvalidArgument, "the elements have types ", type, " and ", job.type(1),
                ", expected Half, Float or Double for both");
  }
  TENON_TRY(job.begin(type, result));
  TENON_TRY(on_floating_type(type, [&](auto zero) {
    using T = decltype(zero);
    job.compute<std::complex<T>, T>([](T real, T imag) { return std::complex<T>(real, imag); });
    return Error::Ok;
  }));
  return give(job, out);
}
/// eq and ne, of two tensors or a tensor and a number.
inline Error run_equal(AtenIn in, AtenOut& out, bool wanted) {
  Elementwise job;
  TENON_TRY(add_operand(in[0], job));
  AtenComplex number;
  if (in[1].isTensor()) {
    TENON_TRY(add_operand(in[1], job));
  } else {
    number = in[1].toScalar().to<double>();
  }
  TENON_TRY(check_complex(job.common_type()));
  TENON_TRY(job.begin(ScalarType::ComplexDouble, ScalarType::Bool));
  if (in[1].isTensor()) {
    job.compute<int64_t, AtenComplex>(
        [&](AtenComplex a, AtenComplex b) { return static_cast<int64_t>((a == b) == wanted); });
  } else {
    job.compute<int64_t, AtenComplex>(
        [&](AtenComplex a) { return static_cast<int64_t>((a == number) == wanted); });
  }
  return give(job, out);
}
/// isnan and isinf.
inline Error run_test(AtenIn in, AtenOut& out, bool (*test)(AtenComplex z)) {
  Elementwise job;
  TENON_TRY(add_operand(in[0], job));
  TENON_TRY(check_complex(job.type(0)));
  TENON_TRY(job.begin(ScalarType::ComplexDouble, ScalarType::Bool));
  job.compute<int64_t, AtenComplex>([&](AtenComplex z) { return int64_t{test(z)}; });
  return give(job, out);
}

// --- Reductions and products --------------------------------------------------------------------

enum class ComplexReduction { Mean, Prod };

inline Error reduce_complex(const EValue& tensor, ArrayRef<int64_t> dims, bool keeps,
                            const EValue& dtype, ComplexReduction kind, AtenOut& out) {
  Tensor from;
  AtenReduction reduction;
  AotiResult result;
  ScalarType type = ScalarType::Undefined;
  TENON_TRY(read_operand(tensor, from));
  TENON_TRY(read_dtype(dtype, from.scalar_type(), type));
  TENON_TRY(check_complex(type));
  TENON_TRY(reduction.read(from, dims, keeps, ScalarType::ComplexDouble));
  TENON_TRY(result.make(reduction.sizes, type, ScalarType::ComplexDouble));
  const AtenComplex* row = dense_data<AtenComplex>(reduction.rows);
  for (int64_t i = 0; i < reduction.count; ++i, row += reduction.length) {
    AtenComplex made = kind == ComplexReduction::Prod ? 1 : 0;
    for (int64_t k = 0; k < reduction.length; ++k) {
      made = kind == ComplexReduction::Prod ? made * row[k] : made + row[k];
    }
    if (kind == ComplexReduction::Mean) made /= static_cast<double>(reduction.length);
    result.data<AtenComplex>()[i] = made;
  }
  return give(result, out);
}
inline ArrayRef<int64_t> dims_of(const EValue& value) {
  return value.isNone() ? ArrayRef<int64_t>() : value.toIntList();
}
/// The variance: the mean of squared distances from the mean, with torch's correction.
inline Error run_complex_variance(AtenIn in, AtenOut& out) {
  Tensor from;
  AtenReduction reduction;
  AotiResult result;
  TENON_TRY(read_operand(in[0], from));
  TENON_TRY(check_complex(from.scalar_type()));
  const double less = in[2].isNone() ? 1 : in[2].toScalar().to<double>();
  TENON_TRY(reduction.read(from, dims_of(in[1]), in[3].toBool(), ScalarType::ComplexDouble));
  TENON_TRY(result.make(reduction.sizes, real_type_of(from.scalar_type()), ScalarType::Double));
  const AtenComplex* row = dense_data<AtenComplex>(reduction.rows);
  const auto count = static_cast<double>(reduction.length);
  for (int64_t i = 0; i < reduction.count; ++i, row += reduction.length) {
    AtenComplex mean;
    double sum = 0;
    for (int64_t k = 0; k < reduction.length; ++k) mean += row[k] / count;
    for (int64_t k = 0; k < reduction.length; ++k) sum += std::norm(row[k] - mean);
    result.data<double>()[i] = sum / (std::max)(count - less, 0.0);
  }
  return give(result, out);
}

inline Error run_bmm(AtenIn in, AtenOut& out) {
  const Tensor& a = in[0].toTensor();
  const Tensor& b = in[1].toTensor();
  if (a.defined() && b.defined() &&
      (a.dim() != 3 || b.dim() != 3 || a.sizes()[0] != b.sizes()[0])) {
    return fail(Error::InvalidArgument, "the batches have sizes ", a.sizes(), " and ", b.sizes(),
                ", expected rank 3 and equal numbers of matrices");
  }
  return aten_matmul(a, b, Tensor(), out);
}
/// addmm and baddbmm: beta * self + alpha * product. If beta is 0, self is not read.
inline Error run_added_product(AtenIn in, AtenOut& out, bool is_batch) {
  Tensor added;
  TENON_TRY(read_operand(in[0], added));
  TENON_TRY(check_complex(added.scalar_type()));
  const EValue factors[] = {in[1], in[2]};
  TENON_TRY(is_batch ? run_bmm(factors, out) : aten_mm(factors, out));
  const Tensor product = out[0].toTensor();
  if (product.scalar_type() != added.scalar_type()) {
    return fail(Error::InvalidType, "self has type ", added.scalar_type(),
                ", expected the product's type ", product.scalar_type());
  }
  const double beta = in[3].toScalar().to<double>();
  const double alpha = in[4].toScalar().to<double>();
  TENON_ASSIGN(added, try_expand(added, product.sizes()));
  TENON_TRY(make_dense(added, computed_type(added.scalar_type()), added));
  AotiResult result;
  TENON_TRY(result.use(product, added.scalar_type()));
  TENON_TRY(result.copy_from(product));
  const auto add = [&](auto zero) {
    using Part = decltype(zero);
    auto* const to = result.data<Part>();
    const auto* const from = dense_data<Part>(added);
    for (int64_t i = 0; i < 2 * product.numel(); ++i) {
      const double summand = beta == 0 ? 0 : beta * double{from[i]};
      to[i] = static_cast<Part>(summand + alpha * double{to[i]});
    }
    return Error::Ok;
  };
  TENON_TRY(on_floating_type(real_type_of(added.scalar_type()), add));
  return result.finish();
}

// --- The list -----------------------------------------------------------------------------------

inline constexpr AtenOperator kComplexOperators[] = {
    {"aten::complex(Tensor real, Tensor imag) -> Tensor", run_complex},
    {"aten::div.Tensor(Tensor self, Tensor other) -> Tensor",
     [](AtenIn in, AtenOut& out) {
       return aten_binary(in[0].toTensor(), in[1].toTensor(), AtenBinary::Divide, 1, out);
     }},
    {"aten::sub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
     [](AtenIn in, AtenOut& out) {
       return aten_binary(in[0].toTensor(), in[1].toTensor(), AtenBinary::Subtract,
                          in[2].toScalar().to<double>(), out);
     }},
    {"aten::eq.Tensor(Tensor self, Tensor other) -> Tensor",
     [](AtenIn in, AtenOut& out) { return run_equal(in, out, true); }},
    {"aten::eq.Scalar(Tensor self, Scalar other) -> Tensor",
     [](AtenIn in, AtenOut& out) { return run_equal(in, out, true); }},
    {"aten::ne.Tensor(Tensor self, Tensor other) -> Tensor",
     [](AtenIn in, AtenOut& out) { return run_equal(in, out, false); }},
    {"aten::ne.Scalar(Tensor self, Scalar other) -> Tensor",
     [](AtenIn in, AtenOut& out) { return run_equal(in, out, false); }},
    {"aten::isinf(Tensor self) -> Tensor",
     [](AtenIn in, AtenOut& out) {
       return run_test(in, out,
                       [](AtenComplex z) { return std::isinf(z.real()) || std::isinf(z.imag()); });
     }},
    {"aten::isnan(Tensor self) -> Tensor",
     [](AtenIn in, AtenOut& out) {
       return run_test(in, out, [](AtenComplex z) { return z != z; });
     }},
    {"aten::sum(Tensor self, *, ScalarType? dtype=None) -> Tensor",
     [](AtenIn in, AtenOut& out) {
       const EValue all[] = {in[0], None(), false, in[1]};
       return aten_sum(all, out);
     }},
    {"aten::sum.dim_IntList(Tensor self, int[]? dim, bool keepdim=False, *, ScalarType? "
     "dtype=None) -> Tensor",
     aten_sum},
    {"aten::mean(Tensor self, *, ScalarType? dtype=None) -> Tensor",
     [](AtenIn in, AtenOut& out) {
       return reduce_complex(in[0], {}, false, in[1], ComplexReduction::Mean, out);
     }},
    {"aten::mean.dim(Tensor self, int[]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> "
     "Tensor",
     [](AtenIn in, AtenOut& out) {
       return reduce_complex(in[0], dims_of(in[1]), in[2].toBool(), in[3], ComplexReduction::Mean,
                             out);
     }},
    {"aten::prod(Tensor self, *, ScalarType? dtype=None) -> Tensor",
     [](AtenIn in, AtenOut& out) {
       return reduce_complex(in[0], {}, false, in[1], ComplexReduction::Prod, out);
     }},
    {"aten::prod.dim_int(Tensor self, int dim, bool keepdim=False, *, ScalarType? dtype=None) -> "
     "Tensor",
     [](AtenIn in, AtenOut& out) {
       const int64_t dim = in[1].toInt();
       return reduce_complex(in[0], ArrayRef<int64_t>(&dim, 1), in[2].toBool(), in[3],
                             ComplexReduction::Prod, out);
     }},
    {"aten::var.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool "
     "keepdim=False) -> Tensor",
     run_complex_variance},
    {"aten::mm(Tensor self, Tensor mat2) -> Tensor", aten_mm},
    {"aten::bmm(Tensor self, Tensor mat2) -> Tensor", run_bmm},
    {"aten::addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> "
     "Tensor",
     [](AtenIn in, AtenOut& out) { return run_added_product(in, out, false); }},
    {"aten::baddbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) "
     "-> Tensor",
     [](AtenIn in, AtenOut& out) { return run_added_product(in, out, true); }},
};
inline Error provide_complex_operators() {
  for (const ComplexFunction& each : kComplexFunctions) {
    const std::string schema = std::string("aten::") + each.name + "(Tensor self) -> Tensor";
    TENON_TRY(provide_operator(
        schema, [&each](AtenIn in, AtenOut& out) { return run_complex_function(each, in, out); }));
  }
  return provide_operators(kComplexOperators);
}

}  // namespace detail
TENON_END_NAMESPACE
