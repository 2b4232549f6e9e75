// SPDX-License-Identifier: MIT
// Conformance cases: tensors in a backend's memory from one to another, to bytes and text, resized,
// lent and let go of.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tenon/backend/calls.h"
#include "tenon/backend/registry.h"
#include "tenon/config.h"
#include "tenon/exchange/assign.h"
#include "tenon/exchange/binary.h"
#include "tenon/exchange/blob.h"
#include "tenon/tensor/transfer.h"
#include "tenon/tensor/copy.h"
#include "tenon/tensor/format.h"
#include "tenon/tensor/resize.h"
#include "tenon/tensor/tensor_ptr.h"
#include "tenon/testing/creator_cases.h"
#include "tenon/testing/memory_cases.h"
#include "tenon/testing/trial.h"
#include "tenon/testing/twin.h"

TENON_BEGIN_NAMESPACE
namespace testing {

/// Whether the backend's memory is the host's heap, in which all tensors are that name no other.
inline bool is_host_heap(const Trial& trial) {
  return detail::unless_host_heap(&trial.backend()) == nullptr;
}

inline void clones_are_alike(Trial& trial) {
  for (const NamedView& view : kViews) {
    for (ScalarType type : {ScalarType::Byte, ScalarType::Float}) {
      const Twin twin = random_twin(trial, base_sizes(), type);
      if (!twin) return;
      const Tensor here = view.of(*twin.here);
      const Tensor there = view.of(*twin.there);
      const std::string what = text_of({toString(type), ", ", view.name});
      check_creator_like(trial, "clone_tensor_ptr of " + what, here, there,
                         [](const TensorArg& source) { return try_clone_tensor_ptr(source); });
      check_creator_like(
          trial, "clone_tensor_ptr as Double of " + what, here, there,
          [](const TensorArg& source) { return try_clone_tensor_ptr(source, ScalarType::Double); });
      const Tensor dense = contiguous(there);
      trial.check(dense.is_contiguous(), {"contiguous of ", what.c_str(), ": is not"});
      if (check_shape(trial, "contiguous of " + what, dense, contiguous(here))) {
        trial.check_same("contiguous of " + what, dense, here);
      }
      trial.check_same("to(Short, Saturate) of " + what,
                       to(there, ScalarType::Short, CastMode::Saturate),
                       to(here, ScalarType::Short, CastMode::Saturate));
    }
  }
}

/// A tensor that grows keeps its elements and stays with the backend.
inline void growing_keeps_elements(Trial& trial) {
  const auto grow = [](int64_t from, int64_t rows) {
    return [from, rows](const Tensor& base) {
      Tensor t = base;
      const Error error = resize_tensor(t, {rows, 5});
      return error != Error::Ok || rows <= from ? error : fill_(narrow(t, 0, from, rows - from), 3);
    };
  };
  for (ScalarType type : kTypeOfEachSize) {
    const Twin twin = random_twin(trial, {3, 5}, type, 0, TensorShapeDynamism::DYNAMIC);
    const std::string name = toString(type);
    check_both(trial, "resize to 7 rows, " + name, twin, grow(3, 7));
    check_both(trial, "resize to 2 rows, " + name, twin, grow(7, 2));
    check_both(trial, "resize to 400 rows, " + name, twin, grow(2, 400));
    check_both(trial, "reserve, " + name, twin, [](const Tensor& base) {
      Tensor t = base;
      return reserve_tensor(t, 40000);
    });
    check_both(trial, "resize to no rows, " + name, twin, grow(400, 0));
    if (twin) check_lives_there(trial, "a resized tensor", twin.there);
  }
  const Twin twin = random_twin(trial, {3, 5}, ScalarType::Int, 0, TensorShapeDynamism::DYNAMIC);
  if (!twin) return;
  const Tensor borrower = select(twin.there, 0, 0);
  trial.check_refused("resize while a view is alive", Error::InUse, "view",
                      resize_tensor(*twin.there, {100, 5}));
  trial.check_same("after a resize that was refused", twin.there, twin.here);
}

/// A view keeps the memory and is written through.
inline void views_share_memory(Trial& trial) {
  Twin twin = random_twin(trial, {6, 7}, ScalarType::Int);
  if (!twin) return;
  const Tensor here = reversed(slice(twin.here, 1, 1, 7, 2), {0});
  const Tensor there = reversed(slice(twin.there, 1, 1, 7, 2), {0});
  check_lives_there(trial, "a view", there);
  check_both(trial, "fill_ of the tensor", twin, [](const Tensor& t) { return fill_(t, 9); });
  trial.check_same("a view after fill_ of its tensor", there, here);
  trial.check_ok("fill_ of a view, on the host", fill_(select(here, 0, 1), 4));
  trial.check_ok("fill_ of a view", fill_(select(there, 0, 1), 4));
  trial.check_same("a tensor after fill_ of its view", twin.there, twin.here);
  twin = Twin();
  trial.check_same("a view whose tensor is gone", there, here);
}

inline void transfers_move(Trial& trial) {
  const Twin twin = random_twin(trial, {5, 3}, ScalarType::Float);
  if (!twin) return;
  const void* const data = as_view(twin.there).data;
  TensorPtr same = trial.check_made("backend_transfer to where it is",
                                    try_backend_transfer(twin.there, trial.backend()));
  if (same == nullptr) return;
  trial.check(as_view(same).data == data && as_view(twin.there).data == data,
              {"backend_transfer to where it is: expected the same tensor"});
  if (is_host_heap(trial)) return;
  {
    const Tensor view = select(same, 0, 1);
    trial.check_refused("backend_transfer while a view is alive", Error::InUse, "views",
                        try_backend_transfer(same, host_backend()));
    trial.check_same("after a transfer that was refused", twin.there, twin.here);
  }
  const TensorPtr moved =
      trial.check_made("backend_transfer to the host", try_backend_transfer(same, host_backend()));
  if (moved == nullptr) return;
  trial.check(device(moved).is_cpu(),
              {"backend_transfer to the host: expected a tensor on the CPU"});
  trial.check_same("backend_transfer to the host", moved, twin.here);
  trial.check_refused("copy_ from a tensor that was transferred", Error::InvalidState,
                      "was deallocated", copy_(twin.here, twin.there));
  const TensorPtr back = trial.check_made("backend_transfer from the host",
                                          try_backend_transfer(moved, trial.backend()));
  if (back == nullptr) return;
  check_lives_there(trial, "backend_transfer from the host", back);
  trial.check_same("backend_transfer there and back", back, twin.here);
}

inline void deallocation_is_final(Trial& trial) {
  const Twin twin = random_twin(trial, {5, 3}, ScalarType::Float);
  if (!twin) return;
  const auto deallocate = [&](Deallocation expected) {
    const Deallocation found = backend_deallocate(twin.there);
    trial.check(found == expected,
                {"backend_deallocate: expected ", toString(expected), ", found ", toString(found)});
  };
  {
    const Tensor view = select(twin.there, 0, 1);
    deallocate(Deallocation::InUse);
    trial.check_same("after backend_deallocate found it in use", twin.there, twin.here);
  }
  deallocate(Deallocation::Ok);
  deallocate(Deallocation::AlreadyDeallocated);
  const std::string name =
      text_of({"Float {5, 3} on ", trial.backend().device(), ", was deallocated"});
  const char* const word = name.c_str();
  const Error error = Error::InvalidState;
  const TensorPtr& gone = twin.there;
  trial.check_refused("copy_ from a deallocated tensor", error, word, copy_(twin.here, gone));
  trial.check_refused("copy_ to a deallocated tensor", error, word, copy_(gone, twin.here));
  trial.check_refused("fill_ of a deallocated tensor", error, word, fill_(gone, 1));
  trial.check_refused("clone of a deallocated tensor", error, word, try_clone_tensor_ptr(gone));
  trial.check_refused("backend_copy of a deallocated tensor", error, word,
                      try_backend_copy(gone, host_backend()));
  trial.check(to_string(gone).find("deallocated") != std::string::npos,
              {"to_string of a deallocated tensor: found ", to_string(gone).c_str()});
}

inline void foreign_memory_is_exchanged(Trial& trial) {
  for (const NamedView& view : kViews) {
    const Twin base = random_twin(trial, base_sizes(), ScalarType::Float);
    if (!base) return;
    const std::string where = std::string(", ") + view.name;
    const Dims sizes = as_view(view.of(*base.here)).sizes;
    const auto count = static_cast<size_t>(numel_of(as_view(view.of(*base.here))));
    std::vector<float> values(count + 1);
    for (size_t i = 0; i < count; ++i) values[i] = static_cast<float>(i) + 0.5f;
    check_both(trial, "assign of bytes" + where, base, [&](const Tensor& t) {
      return assign(view.of(t), values.data(), count * sizeof(float));
    });
    std::vector<int32_t> ints(count + 1, 77);
    const Blob blob{ints.data(), sizes, {}, ScalarType::Int};
    check_both(trial, "assign of a blob of Int" + where, base,
               [&](const Tensor& t) { return assign(view.of(t), blob); });
    Blob halves{nullptr, sizes, {}, ScalarType::Half};
    std::vector<uint16_t> here(count + 1);
    std::vector<uint16_t> there(count + 1);
    halves.data = here.data();
    trial.check_ok("copy_to a blob, on the host", copy_to(view.of(*base.here), halves));
    halves.data = there.data();
    trial.check_ok("copy_to a blob", copy_to(view.of(*base.there), halves));
    trial.check(here == there, {"copy_to a blob of Half", where.c_str(), ": the bytes differ"});
  }
}

/// Memory of the backend's that came as a pointer stays with whoever lent it.
inline void lent_memory_is_used(Trial& trial) {
  TrialBlock block(trial.backend(), 6 * sizeof(int32_t));
  if (block.data() == nullptr) return trial.fail("found no memory for 24 bytes");
  const TensorPtr values =
      trial.check_made("iota", try_iota({2, 3}, ScalarType::Int, host_backend()));
  const TensorPtr t = trial.check_made("make_tensor_ptr of a pointer",
                                       try_make_tensor_ptr({2, 3}, static_cast<void*>(block.data()),
                                                           ScalarType::Int, trial.backend()));
  if (values == nullptr || t == nullptr) return;
  trial.check(as_view(t).data == block.data(), {"make_tensor_ptr of a pointer: expected that one"});
  trial.check_ok("copy_ to lent memory", copy_(t, values));
  trial.check_same("lent memory", t, values);
}

/// While the backend is registered, blobs of its memory need not say whose it is.
inline void registered_memory_is_found(Trial& trial) {
  Backend& backend = trial.backend();
  if (backend.device().is_cpu() || detail::find_backend(backend.device()) != nullptr) return;
  const Twin twin = random_twin(trial, {4, 5}, ScalarType::Int);
  if (!twin) return;
  const Blob blob = to_blob(twin.there);
  const TensorPtr target =
      trial.check_made("zeros", try_zeros({4, 5}, ScalarType::Int, host_backend()));
  if (target == nullptr) return;
  if (!backend.device().is_host_accessible()) {
    trial.check_refused("assign of a blob while no backend is registered", Error::NotSupported,
                        "no backend is registered", assign(target, blob));
  }
  struct Registration {
    explicit Registration(Backend& registered) : backend(registered) { register_backend(backend); }
    ~Registration() { static_cast<void>(detail::remove_from_registry(backend)); }
    Backend& backend;
  };
  const Registration registration(backend);
  trial.check_ok("assign of a blob", assign(target, blob));
  trial.check_same("assign of a blob", target, twin.here);
  const TensorPtr borrowed = trial.check_made("from_blob", try_from_blob(blob));
  if (borrowed == nullptr) return;
  trial.check_same("from_blob", borrowed, twin.here);
  trial.check_ok("fill_ of memory from a blob", fill_(select(borrowed, 0, 2), 8));
  trial.check_ok("fill_ on the host", fill_(select(twin.here, 0, 2), 8));
  trial.check_same("memory that a blob shares", twin.there, twin.here);
}

inline void binary_is_limited(Trial& trial) {
  for (const NamedView& view : kViews) {
    for (ScalarType type : {ScalarType::Short, ScalarType::Bool, ScalarType::ComplexFloat}) {
      const Twin twin = random_twin(trial, base_sizes(), type);
      if (!twin) return;
      for (int64_t limit : {int64_t{0}, int64_t{1}, int64_t{7}, int64_t{33}, kAllElements}) {
        const bool same =
            to_binary(view.of(*twin.there), limit) == to_binary(view.of(*twin.here), limit);
        trial.check(same, {"to_binary of ", toString(type), ", ", view.name, ", limit ", limit,
                           ": expected the bytes of the host's"});
      }
    }
  }
}

/// The text is the host's, but for the last line, which names the device, unless the backend's own
/// inspect() writes it.
inline void text_is_the_hosts(Trial& trial) {
  const auto check = [&](const std::string& what, const Tensor& there, const Tensor& here) {
    std::string own_text;
    const bool has_own = detail::ask_unblamed([&] {
                           return trial.base().inspect(as_view(there), 10, own_text);
                         }) != Error::NotSupported;
    const std::string found = to_string(there);
    const std::string expected = to_string(here);
    const size_t last = expected.find_last_of('\n');
    const std::string head = expected.substr(0, last + 1);
    const std::string shape = expected.substr(last + 1, expected.find('}', last) - last);
    const std::string last_line = found.substr(found.find_last_of('\n') + 1);
    trial.check(last_line.compare(0, shape.size(), shape) == 0,
                {what.c_str(), ": expected a last line with ", shape.c_str(), ", found ",
                 last_line.c_str()});
    trial.check(has_own || found.compare(0, head.size(), head) == 0,
                {what.c_str(), ": expected the host's ", head.c_str(), "found ", found.c_str()});
  };
  const Twin small = random_twin(trial, base_sizes(), ScalarType::Float);
  if (!small) return;
  for (const NamedView& view : kViews) {
    check(text_of({"to_string of ", view.name}), view.of(*small.there), view.of(*small.here));
  }
  const Twin large = random_twin(trial, {60, 40, 5}, ScalarType::Short);
  if (!large) return;
  check("to_string of a large tensor", *large.there, *large.here);
  check("to_string of a large tensor, permuted", permute(large.there, {2, 0, 1}),
        permute(large.here, {2, 0, 1}));
  check("to_string of a large tensor, reversed", reversed(large.there, {0, 1}),
        reversed(large.here, {0, 1}));
}

/// The host gets typed pointers to what it reaches, and to nothing else.
inline void host_pointers_are_guarded(Trial& trial) {
  const Twin twin = random_twin(trial, {3, 4}, ScalarType::Float);
  if (!twin) return;
  const Backend& backend = trial.backend();
  if (backend.device().is_host_accessible() && !backend.is_opaque()) {
    const float* const found = const_data_ptr<float>(twin.there);
    const float* const expected = const_data_ptr<float>(twin.here);
    for (size_t i = 0; i < 12; ++i) {
      if (found[i] == expected[i]) continue;
      trial.check(false, {"const_data_ptr<float>: element ", i, ": expected ", expected[i],
                          ", found ", found[i]});
    }
    return;
  }
#if TENON_HAS_EXCEPTIONS
  const auto check_raises = [&](const char* what, const auto& action) {
    try {
      action();
      trial.check(false, {what, ": expected NotSupported, found a way to the memory"});
    } catch (const Exception& e) {
      trial.check(e.error() == Error::NotSupported,
                  {what, ": expected NotSupported, found ", toString(e.error()), ", ", e.what()});
    }
  };
  check_raises("const_data_ptr<float>", [&] { return const_data_ptr<float>(twin.there); });
  check_raises("mutable_data_ptr<float>", [&] { return mutable_data_ptr<float>(twin.there); });
  check_raises("data<float>", [&] { return data<float>(twin.there); });
  check_raises("accessor", [&] { return accessor<float, 2>(twin.there)[0][0]; });
  check_raises("item", [&] { return item<float>(narrow(narrow(twin.there, 0, 0, 1), 1, 0, 1)); });
#endif
}

}  // namespace testing
TENON_END_NAMESPACE
