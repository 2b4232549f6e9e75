// SPDX-License-Identifier: MIT
// Attention, as torch computes it on the CPU: scores, their softmax, weighted sums of values.
#pragma once

#include <cmath>
#include <limits>

#include "tenon/interop/runtimes/aoti_kernel_tools.h"
#include "tenon/kernels/dispatch.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// The number of columns that attention's kernels process together. In a row they take 128 bytes, a
/// multiple of the vector size of each instruction set.
template <class T>
inline constexpr int64_t kPanel = static_cast<int64_t>(128 / sizeof(T));

/// Rounds `count` up to a multiple of `group`: whole panels, or groups of rows.
constexpr int64_t round_up(int64_t count, int64_t group) noexcept {
  return (count + group - 1) / group * group;
}

/// c = a * b, for groups of 4 rows and panels of columns. Panel p of b begins at p * b_panel.
template <class T>
struct PanelProduct {
  int64_t rows, columns, depth;
  const T* a;
  int64_t a_stride;
  const T* b;
  int64_t b_panel, b_stride;
  T* c;
  int64_t c_stride;

  template <size_t kBytes>
  static TENON_INLINE_IN_TARGET void body(const PanelProduct& p) noexcept {
    using V = Vector<T, kBytes>;
    constexpr auto kLanes = static_cast<int64_t>(kBytes / sizeof(T));
    for (int64_t column = 0; column < p.columns; column += 2 * kLanes) {
      const T* const b = p.b + column / kPanel<T> * p.b_panel + column % kPanel<T>;
      for (int64_t row = 0; row < p.rows; row += 4) {
        const T* const a = p.a + row * p.a_stride;
        V sums[4][2] = {};
        for (int64_t k = 0; k < p.depth; ++k) {
          V left;
          V right;
          load(left, b + k * p.b_stride);
          load(right, b + k * p.b_stride + kLanes);
          for (int64_t r = 0; r < 4; ++r) {
            sums[r][0] += a[r * p.a_stride + k] * left;
            sums[r][1] += a[r * p.a_stride + k] * right;
          }
        }
        for (int64_t r = 0; r < 4; ++r) {
          const int64_t at = (row + r) * p.c_stride + column;
          store(p.c + at, sums[r][0]);
          store(p.c + (at + kLanes), sums[r][1]);
        }
      }
    }
  }
  TENON_VECTORIZE static void run(Baseline, const PanelProduct* p) noexcept {
    body<TENON_PORTABLE ? sizeof(T) : 16>(*p);
  }
#if TENON_HAS_VARIANTS
  TENON_VECTORIZE TENON_TARGET_AVX2 static void run(Avx2, const PanelProduct* p) noexcept {
    body<32>(*p);
  }
  TENON_VECTORIZE TENON_TARGET_AVX512 static void run(Avx512, const PanelProduct* p) noexcept {
    body<64>(*p);
  }
#endif
};

/// Computes the scores of a few rows of queries: packing the keys into panels would take longer.
template <class T>
struct KeyProducts {
  int64_t rows, keys, width;
  const T* queries;
  const T* key;  // the elements of a key are contiguous
  int64_t key_stride;
  T* scores;
  int64_t score_stride;

  template <size_t kBytes>
  static TENON_INLINE_IN_TARGET void body(const KeyProducts& p) noexcept {
    using V = Vector<T, kBytes>;
    constexpr auto kLanes = static_cast<int64_t>(kBytes / sizeof(T));
    const int64_t whole = p.width / kLanes * kLanes;
    for (int64_t row = 0; row < p.rows; ++row) {
      const T* const query = p.queries + row * p.width;
      for (int64_t j = 0; j < p.keys; ++j) {
        const T* const key = p.key + j * p.key_stride;
        V sums = {};
        for (int64_t e = 0; e < whole; e += kLanes) {
          V left;
          V right;
          load(left, query + e);
          load(right, key + e);
          sums += left * right;
        }
        T lanes[static_cast<size_t>(kLanes)];
        store(lanes, sums);
        T sum = 0;
        for (const T lane : lanes) sum += lane;
        for (int64_t e = whole; e < p.width; ++e) sum += query[e] * key[e];
        p.scores[row * p.score_stride + j] = sum;
      }
    }
  }
  TENON_VECTORIZE static void run(Baseline, const KeyProducts* p) noexcept {
    body<TENON_PORTABLE ? sizeof(T) : 16>(*p);
  }
#if TENON_HAS_VARIANTS
  TENON_VECTORIZE TENON_TARGET_AVX2 static void run(Avx2, const KeyProducts* p) noexcept {
    body<32>(*p);
  }
#endif
};

/// Constants with which the exponential function is computed in a floating type.
template <class T>
struct ExpNumbers {
  using Bits = uint64_t;
  static constexpr T kLeast = -708;                 // smaller arguments give 0
  static constexpr T kRounding = 6755399441055744;  // 1.5 * 2^52: adding it removes the fraction
  static constexpr T kLn2High = 0.693145751953125;
  static constexpr T kLn2Low = 1.42860682030941723212e-6;
  static constexpr int kTerms = 13;
  static constexpr int kMantissa = 52;
  static constexpr Bits kBias = 1023;
};
template <>
struct ExpNumbers<float> {
  using Bits = uint32_t;
  static constexpr float kLeast = -87;
  static constexpr float kRounding = 12582912;  // 1.5 * 2^23
  static constexpr float kLn2High = 0.693359375f;
  static constexpr float kLn2Low = -2.12194440e-4f;
  static constexpr int kTerms = 7;
  static constexpr int kMantissa = 23;
  static constexpr Bits kBias = 127;
};

/// Replaces the scores of a row by exp(score - largest score). The row's length is a multiple of a
/// panel.
template <class T>
struct RowExponentials {
  T* row;
  int64_t count;
  T largest;
  T sum;

  template <size_t kBytes>
  static TENON_INLINE_IN_TARGET void body(RowExponentials& x) noexcept {
    TENON_NO_CONTRACTION
    using Numbers = ExpNumbers<T>;
    using V = Vector<T, kBytes>;
    using B = Vector<typename Numbers::Bits, kBytes>;
    constexpr auto kLanes = static_cast<int64_t>(kBytes / sizeof(T));
    V largest = V{} - std::numeric_limits<T>::infinity();
    for (int64_t i = 0; i < x.count; i += kLanes) {
      V value;
      load(value, x.row + i);
      largest = value > largest ? value : largest;
    }
    T lanes[static_cast<size_t>(kLanes)];
    store(lanes, largest);
    x.largest = lanes[0];
    for (int64_t i = 1; i < kLanes; ++i) x.largest = lanes[i] > x.largest ? lanes[i] : x.largest;
    // If a row is masked completely, all its exponentials are 0.
    if (x.largest == -std::numeric_limits<T>::infinity()) x.largest = 0;
    V sums = {};
    for (int64_t i = 0; i < x.count; i += kLanes) {
      V value;
      load(value, x.row + i);
      value -= x.largest;
      const V moved = value * T(1.44269504088896340736) + Numbers::kRounding;
      const V whole = moved - Numbers::kRounding;
      const V rest = (value - whole * Numbers::kLn2High) - whole * Numbers::kLn2Low;
      V series = V{} + 1;
      for (int k = Numbers::kTerms; k > 0; --k) series = series * rest * (T(1) / T(k)) + 1;
      B bits;
      std::memcpy(&bits, &moved, sizeof bits);
      bits = (bits + Numbers::kBias) << Numbers::kMantissa;
      V power;
      std::memcpy(&power, &bits, sizeof power);
      const V product = series * power;
      const V result = value < Numbers::kLeast ? V{} : product;
      store(x.row + i, result);
      sums += result;
    }
    store(lanes, sums);
    x.sum = 0;
    for (const T lane : lanes) x.sum += lane;
  }
  TENON_VECTORIZE_EXACT static void run(Baseline, RowExponentials* x) noexcept {
    body<TENON_PORTABLE ? sizeof(T) : 16>(*x);
  }
#if TENON_HAS_VARIANTS
  TENON_VECTORIZE_EXACT TENON_TARGET_AVX2 static void run(Avx2, RowExponentials* x) noexcept {
    body<32>(*x);
  }
  TENON_VECTORIZE_EXACT TENON_TARGET_AVX512 static void run(Avx512, RowExponentials* x) noexcept {
    body<64>(*x);
  }
#endif
};

/// A tensor of rank 4 with the strides of batch, head, row and column. The stride of a dimension
/// that is broadcast is 0.
template <class T>
struct Heads {
  const T* data = nullptr;
  int64_t strides[4] = {};

  Heads() = default;
  explicit Heads(const Tensor& tensor) noexcept : data(dense_data<T>(tensor)) {
    const size_t rank = tensor.strides().size();  // a mask may have rank 2
    for (size_t d = 0; d < rank; ++d) {
      strides[4 - rank + d] = tensor.sizes()[d] == 1 ? 0 : tensor.strides()[d];
    }
  }
  const T* at(int64_t batch, int64_t head, int64_t row) const noexcept {
    return data + batch * strides[0] + head * strides[1] + row * strides[2];
  }
};

/// The checked arguments of attention, in the computed type.
struct Attention {
  ScalarType type = ScalarType::Undefined;
  Tensor query, key, value;
  Tensor mask;  // added to the scores; undefined if there is none
  bool is_causal = false;
  double scale = 1;

  int64_t batches() const noexcept { return query.sizes()[0]; }
  int64_t heads() const noexcept { return query.sizes()[1]; }
  int64_t rows() const noexcept { return query.sizes()[2]; }
  int64_t width() const noexcept { return query.sizes()[3]; }
  int64_t keys() const noexcept { return key.sizes()[2]; }
  /// The number of query heads that share a key head.
  int64_t group() const noexcept { return key.sizes()[1] == 0 ? 1 : heads() / key.sizes()[1]; }

  Error read(AtenTensorHandle handle, const char* name, Tensor& read) const {
    TENON_TRY(read_aoti(handle, name, read));
    if (read.dim() != 4 || !isFloatingType(read.scalar_type())) {
      return fail(Error::InvalidArgument, name, " has type ", read.scalar_type(), " and sizes ",
                  read.sizes(),
                  ", expected a floating type and rank 4: batches, heads, rows, columns");
    }
    return Error::Ok;
  }
  Error check() const {
    const ArrayRef<int64_t> q = query.sizes();
    const ArrayRef<int64_t> k = key.sizes();
    const ArrayRef<int64_t> v = value.sizes();
    for (const Tensor* other : {&key, &value}) {
      if (other->scalar_type() == query.scalar_type()) continue;
      return fail(Error::InvalidType, "the query has type ", query.scalar_type(),
                  ", the key or the value ", other->scalar_type(), ", expected one type");
    }
    // several query heads may share a key head
    const bool is_shared = k[1] != 0 && q[1] % k[1] == 0;
    if (k == v && q[0] == k[0] && q[3] == k[3] && (is_shared || q[1] == 0)) return Error::Ok;
    return fail(Error::InvalidArgument, "the query has sizes ", q, ", the key ", k, ", the value ",
                v, ", which do not fit");
  }
  Error read_mask(AtenTensorHandle handle) {
    TENON_TRY(read_aoti(handle, "attn_mask", mask));
    const int64_t expected[] = {batches(), heads(), rows(), keys()};
    const auto rank = static_cast<size_t>(mask.dim());
    bool fits = (rank == 2 || rank == 4) &&
                (mask.scalar_type() == type || mask.scalar_type() == ScalarType::Float);
    for (size_t d = 0; d < rank && fits; ++d) {
      fits = mask.sizes()[d] == 1 || mask.sizes()[d] == expected[4 - rank + d];
    }
    if (fits) return to_computed(mask);
    return fail(Error::InvalidArgument, "the mask has type ", mask.scalar_type(), " and sizes ",
                mask.sizes(), ", expected ", type, " and sizes ", Dims(ArrayRef<int64_t>(expected)),
                "; the first two sizes may be missing, and each size may be 1");
  }
  /// Converts a tensor to the computed type. A tensor of that type keeps its strides.
  Error to_computed(Tensor& tensor) const {
    if (tensor.scalar_type() == computed_type(type)) return Error::Ok;
    const Tensor given = tensor;
    return make_dense(given, computed_type(type), tensor);
  }
};

/// The keys and values of one head, packed for the products.
template <class T>
struct AttentionHead {
  std::vector<T> keys;  // panels of kPanel keys; row e of a panel has element e of each key
  // rows that are padded to whole panels; empty if the values already are whole panels
  std::vector<T> value_memory;
  const T* values = nullptr;
  int64_t value_stride = 0;

  void pack_keys(const Attention& a, const Heads<T>& key, int64_t batch, int64_t head) {
    const int64_t width = a.width();
    keys.assign(static_cast<size_t>(width * round_up(a.keys(), kPanel<T>)), T(0));
    for (int64_t j = 0; j < a.keys(); ++j) {
      const T* const from = key.at(batch, head, j);
      T* const to = keys.data() + j / kPanel<T> * kPanel<T> * width + j % kPanel<T>;
      for (int64_t e = 0; e < width; ++e) to[e * kPanel<T>] = from[e * key.strides[3]];
    }
  }
  void pack_values(const Attention& a, const Heads<T>& value, int64_t batch, int64_t head) {
    const int64_t width = a.width();
    values = value.at(batch, head, 0);
    value_stride = value.strides[2];
    if (width % kPanel<T> == 0 && value.strides[3] == 1) return;
    value_stride = round_up(width, kPanel<T>);
    value_memory.assign(static_cast<size_t>(value_stride * a.keys()), T(0));
    for (int64_t j = 0; j < a.keys(); ++j) {
      const T* const from = value.at(batch, head, j);
      T* const to = value_memory.data() + j * value_stride;
      for (int64_t e = 0; e < width; ++e) to[e] = from[e * value.strides[3]];
    }
    values = value_memory.data();
  }
};

/// Attention of dense results: out[b][h][i] = softmax(query[b][h][i] * keys + mask) * values, and
/// the logarithm of each softmax's divisor.
template <class T>
void attend(const Attention& a, T* out, T* logarithms) {
  // rows of queries that are computed together, so that keys are read once for all
  constexpr int64_t kRows = 32;
  constexpr T kMasked = -std::numeric_limits<T>::infinity();
  const Heads<T> query(a.query);
  const Heads<T> key(a.key);
  const Heads<T> value(a.value);
  const Heads<T> mask = a.mask.defined() ? Heads<T>(a.mask) : Heads<T>();
  const int64_t width = a.width();
  const int64_t row_width = round_up(width, kPanel<T>);
  const int64_t score_width = round_up(a.keys(), kPanel<T>);
  std::vector<T> queries(static_cast<size_t>(kRows * width));
  std::vector<T> scores(static_cast<size_t>(kRows * score_width));
  std::vector<T> sums(static_cast<size_t>(kRows * row_width));
  AttentionHead<T> packed;
  const bool has_few_rows = a.rows() < 4 && key.strides[3] == 1;
  for (int64_t b = 0; b < a.batches(); ++b) {
    for (int64_t h = 0; h < a.heads(); ++h) {
      if (h % a.group() == 0) {
        packed.pack_values(a, value, b, h / a.group());
        if (!has_few_rows) packed.pack_keys(a, key, b, h / a.group());
      }
      for (int64_t first = 0; first < a.rows(); first += kRows) {
        const int64_t rows = (std::min)(kRows, a.rows() - first);
        for (int64_t i = 0; i < rows; ++i) {
          const T* const from = query.at(b, h, first + i);
          for (int64_t e = 0; e < width; ++e) {
            queries[static_cast<size_t>(i * width + e)] =
                from[e * query.strides[3]] * static_cast<T>(a.scale);
          }
        }
        const int64_t keys = a.is_causal ? (std::min)(a.keys(), first + rows) : a.keys();
        const int64_t columns = round_up(keys, kPanel<T>);
        if (has_few_rows) {
          const KeyProducts<T> score = {rows,
                                        keys,
                                        width,
                                        queries.data(),
                                        key.at(b, h / a.group(), 0),
                                        key.strides[2],
                                        scores.data(),
                                        score_width};
          dispatch<KeyProducts<T>, kHasVariants>(&score);
        } else {
          const PanelProduct<T> score = {
              round_up(rows, 4),  columns,           width,     queries.data(), width,
              packed.keys.data(), width * kPanel<T>, kPanel<T>, scores.data(),  score_width};
          dispatch<PanelProduct<T>, kHasVariants>(&score);
        }
        RowExponentials<T> exponentials[kRows];
        for (int64_t i = 0; i < rows; ++i) {
          T* const row = scores.data() + i * score_width;
          for (int64_t j = 0; j < keys && mask.data != nullptr; ++j) {
            row[j] += mask.at(b, h, first + i)[j * mask.strides[3]];
          }
          const int64_t end = a.is_causal ? (std::min)(keys, first + i + 1) : keys;
          std::fill(row + end, row + columns, kMasked);
          exponentials[i] = {row, columns, 0, 0};
          dispatch<RowExponentials<T>, kHasVariants>(&exponentials[i]);
        }
        const PanelProduct<T> weighted = {round_up(rows, 4), row_width,           keys,
                                          scores.data(),     score_width,         packed.values,
                                          kPanel<T>,         packed.value_stride, sums.data(),
                                          row_width};
        dispatch<PanelProduct<T>, kHasVariants>(&weighted);
        for (int64_t i = 0; i < rows; ++i) {
          const T sum = exponentials[i].sum == 0 ? T(1) : exponentials[i].sum;
          const T factor = 1 / sum;
          for (int64_t e = 0; e < width; ++e)
            *out++ = sums[static_cast<size_t>(i * row_width + e)] * factor;
          *logarithms++ = exponentials[i].largest + std::log(sum);
        }
      }
    }
  }
}

#pragma GCC visibility push(default)
extern "C" {

AOTITorchError aoti_torch_cpu__scaled_dot_product_flash_attention_for_cpu(
    AtenTensorHandle query, AtenTensorHandle key, AtenTensorHandle value, double dropout_p,
    int32_t is_causal, AtenTensorHandle* attn_mask, double* scale, AtenTensorHandle* ret0,
    AtenTensorHandle* ret1) {
  return aoti_answer(__func__, [&] {
    Attention a;
    if (dropout_p > 0) {
      return fail(Error::NotSupported, "dropout_p is ", dropout_p,
                  ", expected 0: models in eval mode ", "do not drop elements");
    }
    TENON_TRY(a.read(query, "the query", a.query));
    TENON_TRY(a.read(key, "the key", a.key));
    TENON_TRY(a.read(value, "the value", a.value));
    TENON_TRY(a.check());
    a.type = a.query.scalar_type();
    a.is_causal = is_causal != 0;
    a.scale = scale != nullptr ? *scale : 1 / std::sqrt(static_cast<double>(a.width()));
    if (attn_mask != nullptr) TENON_TRY(a.read_mask(*attn_mask));
    const Tensor given = a.query;
    for (Tensor* tensor : {&a.query, &a.key, &a.value}) TENON_TRY(a.to_computed(*tensor));
    AotiResult result;
    AotiResult logarithms;
    TENON_TRY(result.make_like(given, a.type, computed_type(a.type)));
    // torch lays the result out in the order batches, rows, heads.
    AotiShape shape;
    shape.type = computed_type(a.type);
    shape.sizes = {a.batches(), a.heads(), a.rows()};
    shape.strides = {a.rows() * a.heads(), 1, a.heads()};
    TENON_TRY(logarithms.make(shape, shape.type));
    on_floating_type(a.type, [&](auto zero) {
      using T = decltype(zero);
      attend<T>(a, result.data<T>(), logarithms.data<T>());
    });
    return finish_all({{&result, ret0}, {&logarithms, ret1}});
  });
}

}  // extern "C"
#pragma GCC visibility pop

}  // namespace detail
TENON_END_NAMESPACE
