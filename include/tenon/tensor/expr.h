// SPDX-License-Identifier: MIT
// ExprBackend: records the creator call of a tensor, and computes elements when they are read.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "tenon/kernels/random_elements.h"
#include "tenon/tensor/clone.h"
#include "tenon/tensor/format_numbers.h"
#include "tenon/tensor/random.h"
#include "tenon/tensor/sequence.h"

#if !TENON_HEAP || !TENON_HAS_THREADS
#error "tenon/tensor/expr.h: ExprBackend needs the heap and threads"
#endif

TENON_BEGIN_NAMESPACE

/// The creator that made the elements.
enum class ExpressionKind : uint8_t {
  Empty,     ///< never written; reads as zeros
  Constant,  ///< one value
  Eye,       ///< ones on the main diagonal
  Iota,      ///< the index of each element
  Uniform,   ///< random numbers
  Normal,    ///< normal random numbers
  Data,      ///< bytes, written by the host or computed before a partial write
};

/// The name, such as "Uniform".
constexpr const char* toString(ExpressionKind kind) noexcept {
  constexpr const char* kNames[] = {"Empty",   "Constant", "Eye", "Iota",
                                    "Uniform", "Normal",   "Data"};
  const auto index = static_cast<size_t>(kind);
  return index < sizeof kNames / sizeof *kNames ? kNames[index] : "unknown";
}

/// The creator call that made a tensor's elements, which are row-major. Immutable.
/// Ownership: keeps its bytes alive, but no tensor.
/// Source: Nx.Defn.Expr.
struct Expression {
  ExpressionKind kind = ExpressionKind::Empty;  ///< which of the creators
  ScalarType type = ScalarType::Undefined;      ///< the dtype
  Dims sizes{};                                 ///< of the tensor
  unsigned char element[16] = {};      ///< Constant: the bytes of an element; value() is the number
  OptionalIndex axis = none;           ///< Iota: the dimension that counts; none: row-major index
  double parameters[2] = {0, 1};       ///< Uniform: [min, max). Normal: mean, standard deviation
  Generator::State start{};            ///< Uniform, Normal: the seed, and the offset of element 0
  std::shared_ptr<const void> data{};  ///< Data: the elements

  /// The value of a Constant.
  own::Scalar value() const noexcept {
    return detail::load_scalar(detail::own_type(type), static_cast<const void*>(element));
  }
  /// The number of elements.
  int64_t numel() const noexcept {
    int64_t count = 1;
    for (int64_t size : sizes) count *= size;
    return count;
  }
};
/// Shared, because a tensor and its copies have the same expression.
using ExpressionPtr = std::shared_ptr<const Expression>;

namespace detail {

/// The first made-up address. 64-bit processors fault on these addresses.
inline constexpr bool kWideAddresses = sizeof(void*) == 8;
inline constexpr uintptr_t kFirstMadeUp = kWideAddresses ? 0x7e7e000000000000u : 0x00010000u;
inline constexpr uintptr_t kEndOfMadeUp = kWideAddresses ? 0x7eff000000000000u : 0x7fff0000u;

TENON_TEMPLATE_INLINE Error plan_random(const Expression& node, RandomPlan& plan) {
  const ScalarType type = own_type(node.type);
  const double* const p = node.parameters;
  return node.kind == ExpressionKind::Uniform ? plan_uniform(plan, type, p[0], p[1])
                                              : plan_normal(plan, type, p[0], p[1]);
}

/// Writes elements [first, first + count) to host memory, bit for bit those of the CPU's creators.
TENON_TEMPLATE_INLINE Error evaluate(const Expression& node, int64_t first, int64_t count,
                                     unsigned char* out) {
  const ScalarType type = own_type(node.type);
  const size_t size = elementSize(type);
  const size_t nbytes = static_cast<size_t>(count) * size;
  switch (node.kind) {
    case ExpressionKind::Empty:  // its `element` is zeros
    case ExpressionKind::Constant: fill_rows({out, node.element, nbytes, size}); break;
    case ExpressionKind::Data:
      std::memcpy(out,
                  static_cast<const char*>(node.data.get()) + static_cast<size_t>(first) * size,
                  nbytes);
      break;
    case ExpressionKind::Eye:
    case ExpressionKind::Iota: {
      int64_t inner = 1;              // elements per index along the axis
      int64_t length = node.numel();  // indices before they repeat
      if (node.kind == ExpressionKind::Eye || node.axis.has_value()) {
        const auto axis = static_cast<size_t>(node.axis.value_or(1));
        length = node.sizes[axis];
        for (size_t d = axis + 1; d < node.sizes.size(); ++d) inner *= node.sizes[d];
      }
      int64_t exact[64];
      for (int64_t i = first, end = first + count; i < end;) {
        int64_t n = 0;
        for (; n < 64 && i < end; ++n, ++i) {
          const int64_t index = i / inner % length;
          exact[n] = node.kind == ExpressionKind::Iota ? index : index == i / length;
        }
        store_exact(type, out, n, ScalarType::Long, exact);
        out += static_cast<size_t>(n) * size;
      }
      break;
    }
    case ExpressionKind::Uniform:
    case ExpressionKind::Normal: {
      RandomPlan plan;
      TENON_TRY(plan_random(node, plan));
      random_elements(plan, node.start.seed, node.start.offset + static_cast<uint64_t>(first),
                      count, out);
      break;
    }
  }
  return Error::Ok;
}

constexpr bool is_random(ExpressionKind kind) noexcept {
  return kind == ExpressionKind::Uniform || kind == ExpressionKind::Normal;
}

}  // namespace detail

/// The expression in a line: "Uniform(0, 1) Float {2, 3}".
TENON_TEMPLATE_INLINE std::string to_string(const Expression& expression) {
  const double* const p = expression.parameters;
  std::string text = toString(expression.kind);
  if (expression.kind == ExpressionKind::Constant) {
    detail::append_text(text, '(', expression.value(), ')');
  } else if (expression.kind == ExpressionKind::Iota && expression.axis.has_value()) {
    detail::append_text(text, "(axis ", expression.axis.value_or(0), ')');
  } else if (detail::is_random(expression.kind)) {
    detail::append_text(text, '(', p[0], ", ", p[1], ')');
  }
  detail::append_text(text, ' ', toString(expression.type), ' ', expression.sizes);
  return text;
}

namespace detail {

/// Appends a node in Graphviz's language.
TENON_TEMPLATE_INLINE void append_dot(const Expression& node, size_t number, std::string& out) {
  append_text(out, "  n", number, " [label=\"", to_string(node).c_str());
  if (is_random(node.kind)) {
    append_text(out, "\\nseed ", node.start.seed, ", offset ", node.start.offset);
  }
  out += "\"];\n";
}
TENON_TEMPLATE_INLINE std::string dot_of(const std::string& body) {
  return "digraph expression {\n  node [shape=box, fontname=\"monospace\"];\n" + body + "}\n";
}

}  // namespace detail

/// Records creators instead of computing elements: full, zeros, ones, eye, iota, uniform and normal
/// make an Expression, and a clone shares its source's. expression(t) returns the Expression,
/// materialize(t, backend) repeats the call in another backend, to_dot(t) draws it.
///
/// Each read computes, on the host, the elements that are read; they equal those of the CPU's
/// creators. Writing to a part of a tensor first computes all of it; from then on it is Data.
/// Addresses are not backed by memory, and each is used once, so an unwritten tensor costs the same
/// at any size.
/// Errors: OutOfMemory. Creators with strides, and conversions, are recorded as Data.
/// Threads: any; a mutex is held while elements are computed.
/// Source: Nx.Defn.Expr.
class TENON_EXPORT ExprBackend : public Backend {
 public:
  /// A backend without memory.
  ExprBackend() noexcept { detail::BackendAccess::kind(*this) = detail::BackendKind::Expr; }

  const char* name() const noexcept override { return "expr"; }
  Device device() const noexcept override { return Device(DeviceType::Expr); }
  bool is_opaque() const noexcept override { return false; }

  void* allocate(size_t nbytes, size_t alignment) noexcept override {
    const Lock lock(mutex_);
    // Searches from `at` on. Addresses are reused only after all were used, so that stale ones are
    // detected.
    const auto find_room = [&](uintptr_t at) -> uintptr_t {
      at += (uintptr_t{0} - at) % alignment;
      auto block = blocks_.upper_bound(at);
      if (block != blocks_.begin()) --block;  // the previous block may end beyond `at`
      for (; block != blocks_.end() && block->first < at + nbytes; ++block) {
        const uintptr_t end = block->first + block->second.nbytes;
        if (end > at) at = end + (uintptr_t{0} - end) % alignment;
      }
      return at <= detail::kEndOfMadeUp && nbytes <= detail::kEndOfMadeUp - at ? at : 0;
    };
    uintptr_t address = find_room(next_);
    if (address == 0) address = find_room(detail::kFirstMadeUp);
    if (address == 0) return nullptr;
    const Error error = detail::call_safely([&] {
      const auto byte = detail::public_type(detail::ScalarType::Byte);
      Expression node{ExpressionKind::Empty, byte, {nbytes}};
      auto made = std::make_shared<const Expression>(std::move(node));
      blocks_.emplace(address, Block{nbytes, std::move(made), nullptr});
      return Error::Ok;
    });
    if (error != Error::Ok) return nullptr;
    if (address >= next_) next_ = address + nbytes;
    return reinterpret_cast<void*>(address);
  }
  void deallocate(void* p, size_t) noexcept override {
    const Lock lock(mutex_);
    blocks_.erase(reinterpret_cast<uintptr_t>(p));
  }

  Error copy_from_host(void* dst, const void* src, size_t nbytes) override {
    const Lock lock(mutex_);
    const Range to = find_range(dst, nbytes);
    TENON_TRY(to.error());
    TENON_TRY(prepare_write(to));
    std::memcpy(to.block->own + to.offset, src, nbytes);
    return Error::Ok;
  }
  Error copy_to_host(void* dst, const void* src, size_t nbytes) override {
    const Lock lock(mutex_);
    const Range from = find_range(src, nbytes);
    TENON_TRY(from.error());
    return read(from, static_cast<unsigned char*>(dst));
  }
  Error copy_within(void* dst, const void* src, size_t nbytes) override {
    const Lock lock(mutex_);
    const Range to = find_range(dst, nbytes);
    TENON_TRY(to.error());
    const Range from = find_range(src, nbytes);
    TENON_TRY(from.error());
    if (to.is_whole() && from.is_whole()) {
      to.block->node = from.block->node;
      to.block->own = from.block->own = nullptr;
      return Error::Ok;
    }
    TENON_TRY(prepare_write(to));
    return read(from, to.block->own + to.offset);
  }
  Error synchronize() override { return Error::Ok; }

  Error constant(const TensorView& out, const void* element) override {
    Expression node{ExpressionKind::Constant};
    std::memcpy(node.element, element, elementSize(detail::own_type(out.type)));
    return record(out, std::move(node));
  }
  Error eye(const TensorView& out) override {
    if (out.sizes.size() != 2) {
      return set_error(Error::InvalidArgument, "only a matrix has a diagonal");
    }
    return record(out, Expression{ExpressionKind::Eye});
  }
  Error iota(const TensorView& out, OptionalIndex axis) override {
    if (axis.has_value() && static_cast<uint64_t>(axis.value_or(0)) >= out.sizes.size()) {
      return set_error(Error::OutOfBounds, "there is no such axis");
    }
    Expression node{ExpressionKind::Iota};
    node.axis = axis;
    return record(out, std::move(node));
  }
  Error random_uniform(const TensorView& out, double min, double max,
                       const Generator::State& start) override {
    return record_random(out, ExpressionKind::Uniform, min, max, start);
  }
  Error random_normal(const TensorView& out, double mu, double sigma,
                      const Generator::State& start) override {
    return record_random(out, ExpressionKind::Normal, mu, sigma, start);
  }
  /// Appends the expression, not the elements: "Uniform(0, 1) Float {2, 3}".
  Error inspect(const TensorView& in, int64_t, std::string& text) override {
    ExpressionPtr found;
    TENON_TRY(find(in, false, found));
    text += to_string(*found);
    return Error::Ok;
  }
  /// Finds the expression of a view: the creator's, if it made exactly these elements, else Data,
  /// which has no bytes if they would have to be gathered. With `is_kept` the expression may
  /// outlive this call.
  /// Errors: InvalidArgument for a view that is not within one block of this backend.
  // Virtual, so that it runs in the library that made the backend: a block keeps the expression.
  virtual Error find(const TensorView& in, bool is_kept, ExpressionPtr& found) {
    const auto made = std::make_shared<Expression>();
    made->type = in.type;
    made->sizes = in.sizes;
    TENON_TRY(detail::check_dims("sizes", made->sizes));
    found = made;
    if (made->numel() == 0) return Error::Ok;
    made->kind = ExpressionKind::Data;
    const detail::ByteRange bytes = detail::byte_range(in);
    const Lock lock(mutex_);
    const auto* const begin = reinterpret_cast<const void*>(bytes.begin);
    const Range range = find_range(begin, bytes.end - bytes.begin);
    TENON_TRY(range.error());
    Block& block = *range.block;
    if (is_kept) block.own = nullptr;
    const Expression& node = *block.node;
    const size_t size = elementSize(detail::own_type(in.type));
    const bool is_row_major = is_contiguous(in.sizes, in.strides);
    const bool is_whole = is_row_major && range.is_whole();
    const bool is_alike = node.type == in.type && range.offset % size == 0;
    if (is_whole && is_alike && node.sizes == in.sizes) {
      found = block.node;
      return Error::Ok;
    }
    const ExpressionKind kind = node.kind;
    // Whether two nodes differ only in type, sizes and first element.
    const bool is_flat_iota = kind == ExpressionKind::Iota && !node.axis.has_value();
    const bool is_same =
        kind == ExpressionKind::Empty || (kind == ExpressionKind::Data && is_row_major) ||
        (is_alike && (kind == ExpressionKind::Constant ||
                      (detail::is_random(kind) && is_row_major) || (is_flat_iota && is_whole)));
    if (!is_same) return Error::Ok;
    Dims sizes = std::move(made->sizes);
    *made = node;
    made->type = in.type;
    made->sizes = std::move(sizes);
    made->start.offset += range.offset / size;
    if (node.data != nullptr) {
      made->data = {node.data, static_cast<const char*>(node.data.get()) + range.offset};
    }
    if (is_whole) block.node = made;  // cached
    return Error::Ok;
  }

 private:
  using Lock = std::lock_guard<std::mutex>;
  struct Block {
    size_t nbytes;
    ExpressionPtr node;  // the expression of all elements
    unsigned char* own;  // the bytes of a Data to which nothing else refers
  };
  /// Bytes of a block; empty after an error.
  struct Range {
    Block* block = nullptr;
    size_t offset = 0;
    size_t nbytes = 0;
    Error error() const noexcept { return block != nullptr ? Error::Ok : Error::InvalidArgument; }
    bool is_whole() const noexcept { return nbytes == block->nbytes; }
  };

  // Called with the lock held.

  Range find_range(const void* p, size_t nbytes) {
    const auto begin = reinterpret_cast<uintptr_t>(p);
    auto found = blocks_.upper_bound(begin);
    if (found != blocks_.begin()) {
      --found;
      const size_t offset = begin - found->first;
      const size_t size = found->second.nbytes;
      if (offset <= size && nbytes <= size - offset) return {&found->second, offset, nbytes};
    }
    static_cast<void>(
        detail::fail(Error::InvalidArgument, nbytes, " bytes are not in this backend's memory"));
    return {};
  }
  static Error read(const Range& range, unsigned char* out) {
    const Expression& node = *range.block->node;
    const size_t size = elementSize(detail::own_type(node.type));
    const auto first = static_cast<int64_t>(range.offset / size);
    const auto end = static_cast<int64_t>((range.offset + range.nbytes + size - 1) / size);
    if (range.offset % size == 0 && range.nbytes % size == 0) {
      return detail::evaluate(node, first, end - first, out);
    }
    std::vector<unsigned char> elements(static_cast<size_t>(end - first) * size);
    TENON_TRY(detail::evaluate(node, first, end - first, elements.data()));
    std::memcpy(out, &elements[range.offset % size], range.nbytes);
    return Error::Ok;
  }
  /// Allocates the block's bytes, and fills them with the block's elements unless all will be
  /// overwritten.
  static Error prepare_write(const Range& range) {
    Block& block = *range.block;
    if (block.own != nullptr) return Error::Ok;
    const detail::Allocation memory = detail::allocate(block.nbytes);
    if (memory.data == nullptr) {
      return detail::fail(Error::OutOfMemory, "out of memory for ", block.nbytes,
                          " bytes of an expression");
    }
    const std::shared_ptr<void> data(memory.data,
                                     [base = memory.base](void*) { detail::heap_release(base); });
    auto* const bytes = static_cast<unsigned char*>(memory.data);
    if (!range.is_whole()) TENON_TRY(read({&block, 0, block.nbytes}, bytes));
    Expression made{ExpressionKind::Data, block.node->type, block.node->sizes};
    TENON_TRY(detail::check_dims("sizes", made.sizes));
    made.data = data;
    block.node = std::make_shared<const Expression>(std::move(made));
    block.own = bytes;
    return Error::Ok;
  }
  /// Sets a block's node to a creator's. For a part of a block returns NotSupported, so that the
  /// host writes it.
  Error record(const TensorView& out, Expression&& node) {
    node.type = out.type;
    node.sizes = out.sizes;
    TENON_TRY(detail::check_dims("sizes", node.sizes));
    const size_t nbytes =
        static_cast<size_t>(node.numel()) * elementSize(detail::own_type(out.type));
    if (nbytes == 0) return Error::Ok;
    if (!is_contiguous(out.sizes, out.strides)) return Error::NotSupported;
    const Lock lock(mutex_);
    const Range range = find_range(out.data, nbytes);
    TENON_TRY(range.error());
    if (!range.is_whole()) return Error::NotSupported;
    range.block->node = std::make_shared<const Expression>(std::move(node));
    range.block->own = nullptr;
    return Error::Ok;
  }
  Error record_random(const TensorView& out, ExpressionKind kind, double a, double b,
                      const Generator::State& start) {
    Expression node{kind, out.type, out.sizes, {}, none, {a, b}, start};
    detail::RandomPlan plan;
    TENON_TRY(detail::plan_random(node, plan));  // checks the arguments now
    return record(out, std::move(node));
  }

  std::mutex mutex_;
  std::map<uintptr_t, Block> blocks_;
  uintptr_t next_ = detail::kFirstMadeUp;
};

namespace detail {

TENON_TEMPLATE_INLINE Error find_expression(const TensorArg& tensor,
                                            ExpressionPtr& found) noexcept {
  TENON_TRY(check_defined(tensor, "the tensor"));
  MemoryLocation location;
  TENON_TRY(find_location(fields(tensor), "the tensor", location));
  Backend* const backend = location.backend;
  if (backend == nullptr || BackendAccess::kind(*backend) != BackendKind::Expr) {
    return fail(Error::NotSupported, "the tensor is in memory of backend ",
                backend == nullptr ? "cpu" : backend->name(),
                ", which keeps no expressions; an ExprBackend does");
  }
  return call_backend(*backend, "expression", [&] {
    return static_cast<ExprBackend*>(backend)->find(location.view, true, found);
  });
}

/// Finds a tensor's expression, and copies the bytes if it is Data.
TENON_TEMPLATE_INLINE Error get_expression(const TensorArg& tensor, ExpressionPtr& found) noexcept {
  TENON_TRY(find_expression(tensor, found));
  if (found->kind != ExpressionKind::Data || found->data != nullptr) return Error::Ok;
  return call_safely([&]() -> Error {
    TENON_ASSIGN(TensorPtr made_rows, try_empty(found->sizes, found->type, host_backend()));
    const std::shared_ptr<Tensor> rows = std::move(made_rows);
    TENON_TRY(copy_(*rows, tensor.tensor()));
    const auto made = std::make_shared<Expression>(*found);
    TENON_TRY(check_dims("sizes", made->sizes));
    made->data = {rows, fields(*rows).data};
    found = made;
    return Error::Ok;
  });
}

/// Repeats the call that an expression records; copies Data.
TENON_TEMPLATE_INLINE Result<TensorPtr> repeat(const Expression& e, const TensorArg& tensor,
                                               Backend& backend) {
  const TensorShapeDynamism dynamism = fields(tensor).dynamism;
  Generator generator(e.start.seed, e.start.offset);
  const double* const p = e.parameters;
  constexpr Creator<Result<TensorPtr>, Filled, Scalar> kFull{"try_full"};  // with own::Scalar
  switch (e.kind) {
    case ExpressionKind::Empty: return try_zeros(e.sizes, e.type, dynamism, backend);
    case ExpressionKind::Constant: return kFull(e.sizes, e.value(), e.type, dynamism, backend);
    case ExpressionKind::Eye: return try_eye(e.sizes[0], e.sizes[1], e.type, dynamism, backend);
    case ExpressionKind::Iota: return try_iota(e.sizes, e.axis, e.type, dynamism, backend);
    case ExpressionKind::Uniform:
      return try_uniform(p[0], p[1], e.sizes, e.type, dynamism, generator, backend);
    case ExpressionKind::Normal:
      return try_normal(p[0], p[1], e.sizes, e.type, dynamism, generator, backend);
    case ExpressionKind::Data: break;
  }
  return try_backend_copy(tensor, backend);
}

TENON_TEMPLATE_INLINE Result<TensorPtr> materialize(const char* function, const TensorArg& tensor,
                                                    Backend& backend) {
  ExpressionPtr found;
  const Error error = find_expression(tensor, found);
  if (error != Error::Ok) return add_context(function, error);
  Result<TensorPtr> made = repeat(*found, tensor, backend);
  return made.ok() ? std::move(made) : fail(made.error(), function, ": ", made.message());
}

}  // namespace detail

/// The expression of a tensor of an ExprBackend. A view's expression describes the elements that
/// the view shows. The try_ form returns a Result.
///
/// Ownership: the expression does not change when the tensor does.
/// Errors: InvalidState (an undefined or deallocated tensor, a placeholder), NotSupported (a tensor
/// of another backend), OutOfMemory.
TENON_TEMPLATE_INLINE ExpressionPtr expression(const TensorArg& tensor) {
  ExpressionPtr found;
  detail::raise_if("expression", detail::get_expression(tensor, found));
  return found;
}
TENON_TEMPLATE_INLINE Result<ExpressionPtr> try_expression(const TensorArg& tensor) noexcept {
  ExpressionPtr found;
  TENON_TRY(detail::add_context_if("try_expression", detail::get_expression(tensor, found)));
  return found;
}

/// Makes a tensor of an ExprBackend again in another backend's memory: calls the recorded creator
/// there, or copies Data. Elements never written become zeros.
///
/// Ownership: owns its memory. Type, sizes and dynamism are the source's.
/// Errors: expression()'s, and the creator's.
/// Source: Nx.Defn.jit, applied to an Nx.Defn.Expr.
TENON_TEMPLATE_INLINE TensorPtr materialize(const TensorArg& tensor, Backend& backend) {
  return detail::materialize("materialize", tensor, backend).value();
}
TENON_TEMPLATE_INLINE Result<TensorPtr> try_materialize(const TensorArg& tensor, Backend& backend) {
  return detail::materialize("try_materialize", tensor, backend);
}

/// An expression in Graphviz's language.
TENON_TEMPLATE_INLINE std::string to_dot(const Expression& expression) {
  std::string body;
  detail::append_dot(expression, 0, body);
  return detail::dot_of(body);
}

/// Draws tensors as ellipses, with their expressions; a shared expression is drawn once.
/// Errors: those of expression().
TENON_TEMPLATE_INLINE std::string to_dot(std::initializer_list<TensorArg> tensors) {
  std::string body;
  std::vector<ExpressionPtr> nodes;
  size_t index = 0;
  for (const TensorArg& tensor : tensors) {
    ExpressionPtr found;
    detail::raise_if("to_dot", detail::get_expression(tensor, found));
    size_t number = 0;
    while (number < nodes.size() && nodes[number] != found) ++number;
    if (number == nodes.size()) {
      detail::append_dot(*found, number, body);
      nodes.push_back(std::move(found));
    }
    detail::append_text(body, "  t", index, " [shape=ellipse, label=\"tensor");
    if (tensors.size() != 1) detail::append_text(body, ' ', index);
    detail::append_text(body, "\"];\n  n", number, " -> t", index++, ";\n");
  }
  return detail::dot_of(body);
}
TENON_TEMPLATE_INLINE std::string to_dot(const TensorArg& tensor) { return to_dot({tensor}); }

TENON_END_NAMESPACE
