// SPDX-License-Identifier: MIT
// The functions of Tenon.Native, one for each of its stubs. Work on elements moves to a dirty
// scheduler where it is long.
#include <tenon/tensor/expr.h>

#include <algorithm>
#include <stdexcept>
#include <utility>
#include <vector>

#include "tensors.h"

using tenon::Blob;
using tenon::Generator;
using tenon::ScalarType;

namespace {

/// Up to so many bytes the BEAM keeps a binary in its process, and copies it.
constexpr size_t kHeapBinary = 64;

/// Bytes by their addresses.
struct Range {
  uintptr_t begin;
  size_t size;
  bool contains(const Range& other) const noexcept {
    return other.begin >= begin && other.begin - begin <= size &&
           other.size <= size - (other.begin - begin);
  }
};

/// All that a blob's sizes and strides reach.
Range range_of(const Blob& blob) {
  const size_t size = blob.nbytes();
  const tenon::ViewWithLists view = blob.as_view();
  uint64_t below = 0;  // element 0, where strides are negative
  for (size_t d = 0; size != 0 && d < view.sizes.size(); ++d) {
    const int64_t last = (view.sizes[d] - 1) * view.strides[d];
    if (last < 0) below += uint64_t{0} - static_cast<uint64_t>(last);
  }
  below *= elementSize(view.type);
  const auto at = reinterpret_cast<uintptr_t>(blob.data);
  if (below > at || size > UINTPTR_MAX - (at - below)) {
    throw std::invalid_argument("the pointer, the shape and the strides reach beyond all memory");
  }
  return {at - below, size};
}

bool is_aligned(const void* p, ScalarType type) {
  const auto alignment = [](auto tag) { return alignof(typename decltype(tag)::type); };
  const size_t n = tenon::visit(type, alignment, [] { return size_t{1}; });
  return reinterpret_cast<uintptr_t>(p) % n == 0;
}

/// Of a tensor whose elements lie one after the other in memory that stays as it is.
ERL_NIF_TERM share_first_bytes(const Call& call, HeldPtr held, size_t nbytes) {
  const void* const first = held->tensor.const_data_ptr();
  const Held& root = held->root == nullptr ? *held : *held->root;
  ErlNifBinary bytes;
  if (root.binary == nullptr || !root.binary->get_binary(bytes)) {
    return make_shared_binary(call, std::move(held), first, nbytes);
  }
  // The binary itself, so that there is no chain of binaries over tensors over binaries.
  const ERL_NIF_TERM whole = enif_make_copy(call.env, root.binary->term);
  if (nbytes == bytes.size) return whole;
  const auto begin = static_cast<const unsigned char*>(first) - bytes.data;
  return enif_make_sub_binary(call.env, whole, static_cast<size_t>(begin), nbytes);
}

/// Keeps a binary whose bytes stay where they are. Null for one in its process's memory, which is
/// copied, and for one that begins within a byte, whose bytes are a copy until the call returns.
std::shared_ptr<const KeptTerm> keep_bytes(ERL_NIF_TERM term, const ErlNifBinary& bytes) {
  auto kept = keep(term);
  ErlNifBinary same;
  return kept->get_binary(same) && same.data == bytes.data ? kept : nullptr;
}

ERL_NIF_TERM describe(const Call& call, const void* data, tenon::ArrayRef<int64_t> sizes,
                      tenon::ArrayRef<int64_t> strides, ScalarType type) {
  return enif_make_tuple4(call.env, enif_make_uint64(call.env, reinterpret_cast<uintptr_t>(data)),
                          make_dims(call.env, sizes), make_dims(call.env, strides),
                          enif_make_int(call.env, static_cast<int>(type)));
}

}  // namespace

namespace nif {

static ERL_NIF_TERM arena(const Call& call) {
  const uint64_t nbytes = get_unsigned(call, "the size", call.argv[0]);
  auto backend = std::make_unique<SharedArena>(nbytes);
  const SharedArena* const made = backend.get();
  return make_home(call, {nullptr, std::move(backend), made});
}

static ERL_NIF_TERM tracking(const Call& call) {
  HomePtr inner = get_home(call, call.argv[0]);
  int depth = 0;  // each adds to the stack of a call
  for (const Home* home = inner.get(); home != nullptr; home = home->inner.get()) ++depth;
  if (depth > 64) refuse("the backend", call.argv[0], "at most 64 trackers around each other");
  auto backend = std::make_unique<tenon::TrackingBackend>(*inner->backend);
  // No timeline, which would grow with every tensor: there is nothing here that draws it.
  tenon::check(backend->init({{"max_events", 0}}));
  const tenon::TrackingBackend* const made = backend.get();
  return make_home(call, {std::move(inner), std::move(backend), nullptr, made});
}

/// Of an arena [used, high water, capacity]; of a tracker [live bytes, peak bytes, total bytes,
/// live count, total count].
static ERL_NIF_TERM statistics(const Call& call) {
  const HomePtr home = get_home(call, call.argv[0]);
  if (home->arena != nullptr) return make_dims(call.env, home->arena->statistics());
  const tenon::TrackingBackend* const now = home->tracking;
  if (now == nullptr) refuse("the backend", call.argv[0], "that of an arena or a tracker");
  return make_dims(call.env, tenon::Dims{now->live_bytes(), now->peak_bytes(), now->total_bytes(),
                                         now->live_count(), now->total_count()});
}

// The creators' first arguments are those of a Target: backend, type, shape.

static ERL_NIF_TERM constant(const Call& call) {
  const Target to(call);
  const tenon::Scalar value = get_scalar(call, "the constant", call.argv[3]);
  if (call.is_long(to.nbytes())) return call.reschedule();
  return to.finish(call, tenon::full(to.sizes, value, to.type, to.backend()));
}

static ERL_NIF_TERM eye(const Call& call) {
  const Target to(call);
  if (to.sizes.size() != 2) refuse("the shape", call.argv[2], "that of a matrix");
  if (call.is_long(to.nbytes())) return call.reschedule();
  return to.finish(call, tenon::eye(to.sizes[0], to.sizes[1], to.type, to.backend()));
}

static ERL_NIF_TERM iota(const Call& call) {
  const Target to(call);
  tenon::OptionalIndex axis = tenon::none;
  if (!is_nil(call.argv[3])) axis = get_integer(call, "the axis", call.argv[3]);
  if (call.is_long(to.nbytes())) return call.reschedule();
  return to.finish(call, tenon::iota(to.sizes, axis, to.type, to.backend()));
}

static ERL_NIF_TERM random_uniform(const Call& call) {
  const Target to(call);
  Generator numbers(get_unsigned(call, "the seed", call.argv[5]));
  if (call.is_long(to.nbytes())) return call.reschedule();
  if (isIntegralType(to.type, true)) {
    const int64_t low = get_integer(call, "the minimum", call.argv[3]);
    const int64_t high = get_integer(call, "the maximum", call.argv[4]);
    return to.finish(call, tenon::randint(low, high, to.sizes, to.type, numbers, to.backend()));
  }
  const double low = get_double(call, "the minimum", call.argv[3]);
  const double high = get_double(call, "the maximum", call.argv[4]);
  return to.finish(call, tenon::uniform(low, high, to.sizes, to.type, numbers, to.backend()));
}

static ERL_NIF_TERM random_normal(const Call& call) {
  const Target to(call);
  const double mean = get_double(call, "the mean", call.argv[3]);
  const double deviation = get_double(call, "the standard deviation", call.argv[4]);
  Generator numbers(get_unsigned(call, "the seed", call.argv[5]));
  if (call.is_long(to.nbytes())) return call.reschedule();
  return to.finish(call, tenon::normal(mean, deviation, to.sizes, to.type, numbers, to.backend()));
}

static ERL_NIF_TERM from_binary(const Call& call) {
  const Target to(call);
  const ErlNifBinary bytes = get_binary(call, call.argv[3]);
  // On the heap the binary's own bytes do; other backends have memory of their own.
  if (to.home == cpu_home() && bytes.size > kHeapBinary && is_aligned(bytes.data, to.type) &&
      static_cast<double>(bytes.size) == to.nbytes()) {
    if (auto kept = keep_bytes(call.argv[3], bytes)) {
      const unsigned char* const data = bytes.data;  // to const: read-only
      const Blob blob = Blob::of(data, to.sizes, to.type, kept);
      return make_tensor(call, {to.home, *tenon::from_blob(blob), nullptr, std::move(kept)});
    }
  }
  if (call.is_long(static_cast<double>(bytes.size))) return call.reschedule();
  return to.finish(call,
                   tenon::from_binary(bytes.data, bytes.size, to.sizes, to.type, to.backend()));
}

static ERL_NIF_TERM to_binary(const Call& call) {
  const HeldPtr held = get_held(call, call.argv[0]);
  const tenon::Tensor& t = held->tensor;
  const int64_t limit = get_integer(call, "the limit", call.argv[1]);
  const int64_t count = std::clamp<int64_t>(limit, 0, t.numel());
  const size_t nbytes = static_cast<size_t>(count) * t.element_size();
  if (nbytes > kHeapBinary && held->is_host() && !held->is_trusted && t.is_contiguous()) {
    return share_first_bytes(call, held, nbytes);
  }
  if (call.is_long(static_cast<double>(nbytes))) return call.reschedule();
  std::vector<uint8_t> bytes = tenon::to_binary(t, limit);
  if (nbytes <= kHeapBinary) return make_binary(call.env, bytes.data(), nbytes);
  const auto copy = tenon::make_tensor_ptr({nbytes}, std::move(bytes), ScalarType::Byte);
  auto shared = std::make_shared<const Held>(Held{cpu_home(), *copy});
  return make_shared_binary(call, std::move(shared), copy->const_data_ptr(), nbytes);
}

static ERL_NIF_TERM to_blob(const Call& call) {
  ErlNifBinary bytes;
  if (enif_inspect_binary(call.env, call.argv[0], &bytes)) {
    if (keep_bytes(call.argv[0], bytes) == nullptr) {
      throw std::invalid_argument(
          "the bytes may move: the binary has 64 or fewer, or begins within a byte");
    }
    return describe(call, bytes.data, tenon::Dims{bytes.size}, tenon::Dims{1}, ScalarType::Byte);
  }
  const HeldPtr held = get_held(call, call.argv[0]);
  const tenon::Tensor& t = held->tensor;
  if (!held->is_host()) throw std::invalid_argument("the tensor has no memory");
  return describe(call, t.const_data_ptr(), t.sizes(), t.strides(), t.scalar_type());
}

static ERL_NIF_TERM from_blob(const Call& call) {
  const auto address = static_cast<uintptr_t>(get_unsigned(call, "the pointer", call.argv[0]));
  Blob blob{reinterpret_cast<void*>(address), get_dims(call, "the shape", call.argv[1])};
  if (!is_nil(call.argv[2])) blob.strides = get_dims(call, "the strides", call.argv[2]);
  blob.dtype = get_type(call, call.argv[3]);
  const Range asked = range_of(blob);
  if (asked.size != 0 && (address == 0 || !is_aligned(blob.data, blob.dtype))) {
    refuse("the pointer", call.argv[0], "an address that is a multiple of the element's alignment");
  }
  Held made{cpu_home(), {}};
  const auto owners = std::make_shared<std::vector<std::shared_ptr<const void>>>();
  bool is_inside = true;
  ERL_NIF_TERM whose = call.argv[4];  // of the tensors, or else this list
  ERL_NIF_TERM owner = 0;
  for (ERL_NIF_TERM rest = whose; enif_get_list_cell(call.env, rest, &owner, &rest);) {
    const HeldPtr held = get_held(call, owner);
    // Not the tensor itself, which may be a view of another: so there is no chain of them.
    const HeldPtr root = held->root == nullptr ? held : held->root;
    owners->push_back(root);
    if (!held->is_host() || !range_of(tenon::to_blob(held->tensor)).contains(asked)) {
      is_inside = false;
    } else if (made.root == nullptr) {  // else it is the one before
      made.home = held->home;
      made.root = root;
      whose = owner;
    }
  }
  for (ERL_NIF_TERM rest = call.argv[5]; enif_get_list_cell(call.env, rest, &owner, &rest);) {
    const auto kept = keep(owner);
    owners->push_back(kept);
    ErlNifBinary bytes;
    if (!kept->get_binary(bytes)) continue;
    const bool is_in = Range{reinterpret_cast<uintptr_t>(bytes.data), bytes.size}.contains(asked);
    if (is_in) made.binary = kept;
    is_inside &= is_in;
  }
  const bool is_known = made.root != nullptr || made.binary != nullptr;
  if (!is_inside && !is_known && asked.size != 0) {
    throw std::invalid_argument(
        "the memory is not inside of the tensor or binary that is its owner; one that is kept for "
        "another reason is given in a tuple");
  }
  made.is_trusted = !is_known || (made.root != nullptr && made.root->is_trusted);
  blob.readonly = true;
  blob.owner = owners;
  made.tensor = *tenon::from_blob(std::move(blob));
  return enif_make_tuple2(call.env, make_tensor(call, std::move(made)), whose);
}

static ERL_NIF_TERM to_flat_list(const Call& call) {
  const HeldPtr held = get_held(call, call.argv[0]);
  const int64_t limit = get_integer(call, "the limit", call.argv[1]);
  const auto count = static_cast<double>(std::min(limit, held->tensor.numel()));
  if (call.is_long(16 * count)) return call.reschedule();  // a list's cell
  const std::vector<uint8_t> bytes = tenon::to_binary(held->tensor, limit);
  const size_t size = held->tensor.element_size();
  ERL_NIF_TERM list = enif_make_list(call.env, 0);
  for (size_t at = bytes.size(); at != 0; at -= size) {
    list = enif_make_list_cell(
        call.env, make_element(call.env, held->tensor.scalar_type(), &bytes[at - size]), list);
  }
  return list;
}

/// Of both functions that make a tensor in a backend's memory of another: tensor, backend.
template <class Copy>
ERL_NIF_TERM make_copy(const Call& call, const Copy& copy) {
  const HeldPtr held = get_held(call, call.argv[0]);
  HomePtr home = get_home(call, call.argv[1]);
  if (call.is_long(held->nbytes())) return call.reschedule();
  const tenon::TensorPtr made = copy(held->tensor, *home->backend);
  return make_tensor(call, {std::move(home), *made});
}
static ERL_NIF_TERM backend_copy(const Call& call) {
  return make_copy(call, [](const auto& t, auto& to) { return tenon::backend_copy(t, to); });
}
static ERL_NIF_TERM materialize(const Call& call) {
  return make_copy(call, [](const auto& t, auto& to) { return tenon::materialize(t, to); });
}

static ERL_NIF_TERM lives_in(const Call& call) {
  const bool is_there = get_held(call, call.argv[0])->home == get_home(call, call.argv[1]);
  return enif_make_atom(call.env, is_there ? "true" : "false");
}

static ERL_NIF_TERM backend_deallocate(const Call& call) { return drop_tensor(call, call.argv[0]); }

static ERL_NIF_TERM expression(const Call& call) {
  return make_text(call.env, to_string(*tenon::expression(get_held(call, call.argv[0])->tensor)));
}

static ERL_NIF_TERM to_dot(const Call& call) {
  return make_text(call.env, tenon::to_dot(get_held(call, call.argv[0])->tensor));
}

}  // namespace nif

namespace {

extern ErlNifFunc functions[];

/// The function that the BEAM calls: nothing is thrown out of it.
template <ERL_NIF_TERM (*kBody)(const Call&)>
ERL_NIF_TERM run(ErlNifEnv* env, int, const ERL_NIF_TERM* argv) noexcept {
  const ErlNifFunc* function = functions;
  while (function->fptr != &run<kBody>) ++function;
  const Call call{env, argv, function};
  try {
    return kBody(call);
  } catch (...) {
    return raise(call);
  }
}

ErlNifFunc functions[] = {{"arena", 1, &run<nif::arena>, 0},
                          {"tracking", 1, &run<nif::tracking>, 0},
                          {"statistics", 1, &run<nif::statistics>, 0},
                          {"constant", 4, &run<nif::constant>, 0},
                          {"eye", 3, &run<nif::eye>, 0},
                          {"iota", 4, &run<nif::iota>, 0},
                          {"random_uniform", 6, &run<nif::random_uniform>, 0},
                          {"random_normal", 6, &run<nif::random_normal>, 0},
                          {"from_binary", 4, &run<nif::from_binary>, 0},
                          {"to_binary", 2, &run<nif::to_binary>, 0},
                          {"to_flat_list", 2, &run<nif::to_flat_list>, 0},
                          {"backend_copy", 2, &run<nif::backend_copy>, 0},
                          {"lives_in", 2, &run<nif::lives_in>, 0},
                          {"backend_deallocate", 1, &run<nif::backend_deallocate>, 0},
                          {"materialize", 2, &run<nif::materialize>, 0},
                          {"expression", 1, &run<nif::expression>, 0},
                          {"to_dot", 1, &run<nif::to_dot>, 0},
                          {"to_blob", 1, &run<nif::to_blob>, 0},
                          {"from_blob", 6, &run<nif::from_blob>, 0}};

int load(ErlNifEnv* env, void**, ERL_NIF_TERM) {
  make_atoms(env);
  return open_resource_types(env) ? 0 : 1;
}
/// The module is loaded once more, while its tensors live.
int upgrade(ErlNifEnv* env, void**, void**, ERL_NIF_TERM) { return load(env, nullptr, 0); }

}  // namespace

// Nothing is to be done when it is unloaded: the library stays, since tensors' deleters are in it.
ERL_NIF_INIT(Elixir.Tenon.Native, functions, load, nullptr, upgrade, nullptr)
