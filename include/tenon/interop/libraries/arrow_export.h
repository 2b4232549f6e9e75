// SPDX-License-Identifier: MIT
// to_arrow: exports a tensor's memory as an array of Arrow's C data interface.
#pragma once

#include <atomic>

#include "tenon/interop/libraries/arrow_types.h"
#include "tenon/interop/libraries/host_access.h"
#include "tenon/tensor/copy.h"

TENON_BEGIN_NAMESPACE

/// The Arrow type of a tensor of two dimensions or more.
enum class ArrowForm : uint8_t {
  Tensors,  ///< an array of the extension type arrow.fixed_shape_tensor
  Lists,    ///< fixed-size lists in fixed-size lists, which more libraries know
};

namespace detail {

/// The block that all structs of an export share. A consumer may move a child out and keep it
/// longer than its parent, so `users` counts every struct that is not released.
struct ArrowBlock {
  std::atomic<int64_t> users{0};
  MemoryHold hold;

  void remove_user() noexcept {
    if (users.fetch_sub(1) != 1) return;
    this->~ArrowBlock();
    heap_release(this);
  }
};

template <class T>
void release_arrow(T* self) noexcept {
  for (int64_t i = 0; i < self->n_children; ++i) {
    T* const child = self->children[i];
    if (child->release != nullptr) child->release(child);
  }
  self->release = nullptr;
  static_cast<ArrowBlock*>(self->private_data)->remove_user();
}

/// Makes a chain of structs, each the only child of the struct before it; `root` is the first. The
/// other structs are in the block, and `nodes` points to them; `room` more bytes follow them in the
/// block.
template <class T>
Error make_arrow_chain(size_t length, size_t room, T& root, T** nodes, char*& more) noexcept {
  const size_t children = length - 1;
  const size_t chain = children * (sizeof(T) + sizeof(T*));
  auto* const bytes = static_cast<char*>(heap_allocate(sizeof(ArrowBlock) + chain + room));
  if (bytes == nullptr) {
    return fail(Error::OutOfMemory, TENON_OUT_OF_MEMORY " for the export");
  }
  auto* const block = ::new (static_cast<void*>(bytes)) ArrowBlock;
  auto* const others = static_cast<T*>(static_cast<void*>(block + 1));
  auto* const pointers = static_cast<T**>(static_cast<void*>(others + children));
  for (size_t i = 0; i < length; ++i) {
    nodes[i] = i == 0 ? &root : ::new (static_cast<void*>(others + i - 1)) T;
    *nodes[i] = T{};
    nodes[i]->release = &release_arrow<T>;
    nodes[i]->private_data = block;
    ++block->users;
    if (i == 0) continue;
    pointers[i - 1] = nodes[i];
    nodes[i - 1]->n_children = 1;
    nodes[i - 1]->children = pointers + i - 1;
  }
  more = static_cast<char*>(static_cast<void*>(pointers + children));
  return Error::Ok;
}

/// A tensor's layout in Arrow's terms: nested lists, or tensors of one shape.
struct ArrowLayout {
  int64_t widths[kMaxDims];  // sizes of the lists, outermost first
  size_t lists = 0;
  bool is_tensor = false;
  bool is_ambiguous = false;  // whether readers may take the permutation for its inverse
  ArrowTensorShape tensor;
};

TENON_TEMPLATE_INLINE Error describe_for_arrow(const TensorFields& from, ArrowForm form,
                                               ArrowPermutation meaning,
                                               ArrowLayout& made) noexcept {
  const Layout& layout = from.layout;
  const size_t rank = layout.rank();
  if (arrow_format_of(from.type) == '\0') {
    return fail(Error::NotSupported, "Arrow has no arrays of ", from.type,
                from.type == ScalarType::Bool
                    ? ", only of eight packed in a byte; view_as_type(t, ScalarType::Byte) has the "
                      "same memory"
                    : "; clone_tensor_ptr(t, ScalarType::Float) makes a copy");
  }
  if (rank == 0) {
    return fail(Error::NotSupported,
                "the tensor has no dimensions, but an Arrow array needs a length; reshape(t, {1}) "
                "has length 1");
  }
  made.is_tensor = rank > 1 && form == ArrowForm::Tensors;
  // The other dimensions must be dense within a row. For ArrowForm::Tensors, they may have any
  // order in memory.
  Dims order;
  for (size_t d = 1; d < rank; ++d) order.push_back(static_cast<int64_t>(d));
  TENON_TRY(check_dims("sizes", order));
  if (made.is_tensor && layout.numel != 0) {
    // Dimensions of size 1 keep their place, whatever their strides are.
    size_t next = 1;
    for (const size_t d : layout.dim_order()) {
      if (d == 0 || layout.sizes()[d] == 1) continue;
      while (layout.sizes()[next] == 1) ++next;
      order[next++ - 1] = static_cast<int64_t>(d);
    }
  }
  int64_t numel = 1;
  bool is_dense = true;
  for (size_t i = rank; i-- > 0;) {
    const size_t d = i == 0 ? 0 : static_cast<size_t>(order[i - 1]);
    const int64_t size = layout.sizes()[d];
    is_dense = is_dense && (size <= 1 || layout.numel == 0 || layout.strides()[d] == numel);
    if (i != 0 && (size > INT32_MAX || !multiply(numel, size, numel) || numel > INT32_MAX)) {
      return fail(Error::NotSupported, "sizes ", layout.sizes(),
                  " have more elements in a list than Arrow allows, 2^31 - 1");
    }
  }
  if (!is_dense) {
    return fail(Error::NotSupported, "strides ", layout.strides(), " of sizes ", layout.sizes(),
                made.is_tensor ? " have gaps, or another dimension before the first"
                               : " are not contiguous",
                "; contiguous(t) makes a copy");
  }
  if (!made.is_tensor) {
    for (size_t d = 1; d < rank; ++d) made.widths[made.lists++] = layout.sizes()[d];
    return Error::Ok;
  }
  made.widths[made.lists++] = numel;
  bool is_permuted = false;
  made.tensor.permutation = order;  // overwritten below by the inverse
  TENON_TRY(check_dims("sizes", made.tensor.permutation));
  for (size_t i = 0; i < order.size(); ++i) {
    made.tensor.shape.push_back(layout.sizes()[static_cast<size_t>(order[i])]);
    made.tensor.permutation[static_cast<size_t>(order[i]) - 1] = static_cast<int64_t>(i);
    is_permuted = is_permuted || order[i] != static_cast<int64_t>(i) + 1;
  }
  TENON_TRY(check_dims("sizes", made.tensor.shape));
  if (!is_permuted) {
    made.tensor.permutation = Dims();
  } else if (!is_own_inverse(made.tensor.permutation)) {
    made.is_ambiguous = meaning == ArrowPermutation::Unambiguous;
    if (meaning == ArrowPermutation::Pyarrow) {
      for (size_t i = 0; i < order.size(); ++i) made.tensor.permutation[i] = order[i] - 1;
    }
  }
  return Error::Ok;
}

/// Writes a tensor to the two structs. `name`: the schema's name, which is copied.
TENON_TEMPLATE_INLINE Error make_arrow(const TensorArg& tensor, ArrowForm form,
                                       ArrowPermutation meaning, ArrowArray* array,
                                       ArrowSchema* schema, std::string_view name = {}) noexcept {
  if (array == nullptr || schema == nullptr) {
    return fail(Error::InvalidArgument, "the ArrowArray or the ArrowSchema is null");
  }
  TENON_TRY(check_host_access(tensor));
  ArrowLayout layout;
  TENON_TRY(describe_for_arrow(fields(tensor), form, meaning, layout));
  Tensor copied;
  if (layout.is_ambiguous) {
    Result<Tensor> made = contiguous<Result<Tensor>>("contiguous", tensor);
    TENON_TRY(made);
    copied = *std::move(made);
    layout = ArrowLayout();
    TENON_TRY(describe_for_arrow(fields(TensorArg(copied)), form, meaning, layout));
  }
  const TensorArg source(copied.defined() ? copied : tensor.tensor());
  const TensorFields& from = fields(source);
  constexpr size_t kFormatRoom = 16;  // "+w:2147483647"
  const size_t length = layout.lists + 1;
  const size_t metadata = layout.is_tensor ? arrow_tensor_room(layout.tensor.shape.size()) : 0;
  ArrowHold<ArrowSchema> type(nullptr);
  ArrowHold<ArrowArray> values(nullptr);
  ArrowSchema* types[kMaxDims];
  ArrowArray* arrays[kMaxDims];
  char* text = nullptr;
  char* buffers = nullptr;
  TENON_TRY(make_arrow_chain(length, length * kFormatRoom + metadata + name.size() + 1, type.value,
                             types, text));
  TENON_TRY(make_arrow_chain(length, length * 2 * sizeof(void*), values.value, arrays, buffers));
  TENON_TRY(static_cast<ArrowBlock*>(values.value.private_data)->hold.hold(source));
  int64_t count = from.layout.sizes()[0];
  for (size_t i = 0; i < length; ++i) {
    const bool is_list = i < layout.lists;
    types[i]->name = "item";
    types[i]->flags = ARROW_FLAG_NULLABLE;  // as most producers set it
    types[i]->format = text + i * kFormatRoom;
    Message format(text + i * kFormatRoom, kFormatRoom);
    arrays[i]->length = count;
    arrays[i]->n_buffers = is_list ? 1 : 2;
    auto* const pair = static_cast<const void**>(static_cast<void*>(buffers)) + 2 * i;
    pair[0] = nullptr;  // no validity bitmap: there are no nulls
    pair[1] = from.data;
    arrays[i]->buffers = pair;
    if (is_list) {
      format.put("+w:");
      format.put_signed(layout.widths[i]);
      count *= layout.widths[i];
    } else {
      format.put(arrow_format_of(from.type));
    }
  }
  if (layout.is_tensor) {
    char* const bytes = text + length * kFormatRoom;
    write_arrow_tensor(layout.tensor, bytes, metadata);
    type.value.metadata = bytes;
  }
  char* const own_name = text + length * kFormatRoom + metadata;
  if (!name.empty()) std::memcpy(own_name, name.data(), name.size());
  own_name[name.size()] = '\0';
  type.value.name = own_name;
  *schema = std::exchange(type.value, ArrowSchema{});
  *array = std::exchange(values.value, ArrowArray{});
  return Error::Ok;
}

/// Makes `root` a struct with `count` children, which the caller sets. The children are in the
/// root's block, followed by `room` more bytes.
template <class T>
Error make_arrow_struct(size_t count, size_t room, T& root, T*& children, char*& more) noexcept {
  const size_t each = sizeof(T) + sizeof(T*);
  if (count > (SIZE_MAX / 2 - sizeof(ArrowBlock) - room) / each) {
    return fail(Error::OutOfMemory, TENON_OUT_OF_MEMORY " for the export");
  }
  auto* const bytes = static_cast<char*>(heap_allocate(sizeof(ArrowBlock) + count * each + room));
  if (bytes == nullptr) {
    return fail(Error::OutOfMemory, TENON_OUT_OF_MEMORY " for the export");
  }
  auto* const block = ::new (static_cast<void*>(bytes)) ArrowBlock;
  children = static_cast<T*>(static_cast<void*>(block + 1));
  root = T{};
  root.children = static_cast<T**>(static_cast<void*>(children + count));
  for (size_t i = 0; i < count; ++i) {
    root.children[i] = ::new (static_cast<void*>(children + i)) T{};
  }
  root.n_children = static_cast<int64_t>(count);
  root.release = &release_arrow<T>;
  root.private_data = block;
  ++block->users;
  more = static_cast<char*>(static_cast<void*>(root.children + count));
  return Error::Ok;
}

}  // namespace detail

/// Exports a tensor to the two structs. A tensor of one dimension becomes an array of numbers; a
/// tensor of more dimensions becomes an array of tensors or of lists, whose length is the tensor's
/// first size. In ArrowForm::Tensors the other dimensions may have any order in memory, which the
/// type's permutation describes. Readers disagree on permutations that differ from their inverse,
/// such as that of {n, h, w, c} permuted to {n, c, h, w}: a tensor with such a permutation is
/// copied to row-major order, unless `meaning` chooses how the permutation is written.
///
/// Ownership: overwrites the structs without releasing their content. The array shares the tensor's
/// memory: until the array is released, the memory stays alive and the tensor cannot grow (InUse).
/// Children may be moved out, as Arrow's specification allows. Consumers assume that an array is
/// constant: do not write to the tensor meanwhile. After an error the structs are unchanged.
/// Errors: InvalidArgument (a null pointer; data that is not aligned); InvalidState (undefined; a
/// placeholder); NotSupported (no dimensions; Bool, which Arrow packs eight in a byte; BFloat16,
/// Float8 and complex types; strides with gaps, or in ArrowForm::Lists any that are not contiguous;
/// 2^31 elements or more in a row; memory that the host cannot reach); OutOfMemory.
/// Threads: the release callbacks may run on any thread.
/// Cost: two allocations, and a copy if one is made. Source: arrow::ExportArray.
inline void to_arrow(const TensorArg& tensor, ArrowArray* array, ArrowSchema* schema,
                     ArrowForm form = ArrowForm::Tensors,
                     ArrowPermutation meaning = ArrowPermutation::Unambiguous) {
  detail::raise_if("to_arrow", detail::make_arrow(tensor, form, meaning, array, schema));
}
[[nodiscard]] inline Error try_to_arrow(
    const TensorArg& tensor, ArrowArray* array, ArrowSchema* schema,
    ArrowForm form = ArrowForm::Tensors,
    ArrowPermutation meaning = ArrowPermutation::Unambiguous) noexcept {
  return detail::add_context_if("try_to_arrow",
                                detail::make_arrow(tensor, form, meaning, array, schema));
}

TENON_END_NAMESPACE
