// SPDX-License-Identifier: MIT
// The functions of Tenon.Native, one for each of its stubs. Work on elements moves to a dirty
// scheduler where it is long.
#include <tenon/tensor/expr.h>

#include <algorithm>
#include <iterator>
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
  const tenon::TensorView view = blob.as_view();
  uint64_t below = 0;
  for (size_t d = 0; size != 0 && d < view.sizes.size(); ++d) {
    if (view.strides[d] >= 0) continue;
    below += static_cast<uint64_t>(view.sizes[d] - 1) *
             (uint64_t{0} - static_cast<uint64_t>(view.strides[d]));
  }
  below *= elementSize(view.type);
  const auto at = reinterpret_cast<uintptr_t>(blob.data);
  if (below > at || size > UINTPTR_MAX - (at - below)) {
    throw std::invalid_argument("the pointer, the shape and the strides reach beyond all memory");
  }
  return {at - below, size};
}

bool is_aligned(const void* p, ScalarType type) {
  const size_t alignment = tenon::visit(
      type, [](auto tag) { return alignof(typename decltype(tag)::type); },
      [] { return size_t{1}; });
  return reinterpret_cast<uintptr_t>(p) % alignment == 0;
}

/// What begins the arguments of all that make tensors: backend, type, shape.
struct Target {
  explicit Target(const Call& call)
      : home(get_home(call, call.argv[0])),
        type(get_type(call, call.argv[1])),
        sizes(get_dims(call, "the shape", call.argv[2])) {}

  tenon::Backend& backend() const noexcept { return *home->backend; }
  /// To be written. Of a shape that is an error, any number.
  double nbytes() const {
    if (!home->is_host()) return 0;
    auto count = static_cast<double>(elementSize(type));
    for (const int64_t size : sizes) count *= static_cast<double>(size);
    return count;
  }
  ERL_NIF_TERM finish(const Call& call, const tenon::TensorPtr& made) const {
    return make_tensor(call.env, std::make_shared<Held>(Held{home, {}, {}, false, *made}));
  }

  std::shared_ptr<const Home> home;
  ScalarType type;
  tenon::Dims sizes;
};

/// The numbers of a seed from their beginning; without one, what comes next on this thread.
struct Seed {
  Seed(const Call& call, ERL_NIF_TERM term)
      : is_given(!is_nil(term)), own(is_given ? get_unsigned(call, "the seed", term) : 0) {}
  Generator& generator() noexcept { return is_given ? own : tenon::default_generator(); }

  bool is_given;
  Generator own;
};

}  // namespace

namespace nif {

static ERL_NIF_TERM arena(const Call& call) {
  const int64_t nbytes = get_integer(call, "the size", call.argv[0], 0);
  auto backend = std::make_unique<SharedArena>(static_cast<size_t>(nbytes));
  const SharedArena* const made = backend.get();
  return make_home(call.env, std::make_shared<Home>(Home{{}, std::move(backend), made, nullptr}));
}

static ERL_NIF_TERM tracking(const Call& call) {
  auto inner = get_home(call, call.argv[0]);
  auto backend = std::make_unique<tenon::TrackingBackend>(*inner->backend);
  // No timeline, which would grow with every tensor: there is nothing here that draws it.
  tenon::check(backend->init({{"max_events", 0}}));
  const tenon::TrackingBackend* const made = backend.get();
  return make_home(
      call.env, std::make_shared<Home>(Home{std::move(inner), std::move(backend), nullptr, made}));
}

static ERL_NIF_TERM statistics(const Call& call) {
  const auto home = get_home(call, call.argv[0]);
  std::vector<std::pair<const char*, uint64_t>> figures;
  if (home->arena != nullptr) {
    const SharedArena::Figures now = home->arena->figures();
    figures = {{"used", now.used}, {"high_water", now.high_water}, {"capacity", now.capacity}};
  } else if (home->tracking != nullptr) {
    const tenon::TrackingBackend& now = *home->tracking;
    figures = {{"live_bytes", now.live_bytes()},
               {"peak_bytes", now.peak_bytes()},
               {"total_bytes", now.total_bytes()},
               {"live_count", static_cast<uint64_t>(now.live_count())},
               {"total_count", static_cast<uint64_t>(now.total_count())}};
  } else {
    refuse("the backend", call.argv[0], "that of an arena or a tracker");
  }
  ERL_NIF_TERM map = enif_make_new_map(call.env);
  for (const auto& [name, value] : figures) {
    enif_make_map_put(call.env, map, make_atom(call.env, name), enif_make_uint64(call.env, value),
                      &map);
  }
  return map;
}

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
  if (!is_nil(call.argv[3])) axis = get_integer(call, "the axis", call.argv[3], INT64_MIN);
  if (call.is_long(to.nbytes())) return call.reschedule();
  return to.finish(call, tenon::iota(to.sizes, axis, to.type, to.backend()));
}

static ERL_NIF_TERM random_uniform(const Call& call) {
  const Target to(call);
  Seed seed(call, call.argv[5]);
  if (isIntegralType(to.type, true)) {
    const int64_t low = get_integer(call, "the minimum", call.argv[3], INT64_MIN);
    const int64_t high = get_integer(call, "the maximum", call.argv[4], INT64_MIN);
    if (call.is_long(to.nbytes())) return call.reschedule();
    return to.finish(call,
                     tenon::randint(low, high, to.sizes, to.type, seed.generator(), to.backend()));
  }
  const double low = get_double(call, "the minimum", call.argv[3]);
  const double high = get_double(call, "the maximum", call.argv[4]);
  if (call.is_long(to.nbytes())) return call.reschedule();
  return to.finish(call,
                   tenon::uniform(low, high, to.sizes, to.type, seed.generator(), to.backend()));
}

static ERL_NIF_TERM random_normal(const Call& call) {
  const Target to(call);
  const double mean = get_double(call, "the mean", call.argv[3]);
  const double deviation = get_double(call, "the standard deviation", call.argv[4]);
  Seed seed(call, call.argv[5]);
  if (call.is_long(to.nbytes())) return call.reschedule();
  return to.finish(
      call, tenon::normal(mean, deviation, to.sizes, to.type, seed.generator(), to.backend()));
}

static ERL_NIF_TERM from_binary(const Call& call) {
  const Target to(call);
  ErlNifBinary bytes;
  if (!enif_inspect_binary(call.env, call.argv[3], &bytes)) {
    refuse("the binary", call.argv[3], "a binary");
  }
  // On the heap the binary's own bytes do; other backends have memory of their own.
  if (to.home == cpu_home() && static_cast<double>(bytes.size) == to.nbytes()) {
    auto kept = keep(call.argv[3]);
    enif_inspect_binary(kept->env, kept->term, &bytes);
    if (is_aligned(bytes.data, to.type)) {
      const Blob blob{bytes.data, to.sizes, {}, to.type, {}, 0, true, kept};
      return make_tensor(call.env,
                         std::make_shared<Held>(
                             Held{to.home, {}, std::move(kept), false, *tenon::from_blob(blob)}));
    }
    enif_inspect_binary(call.env, call.argv[3], &bytes);
  }
  if (call.is_long(static_cast<double>(bytes.size))) return call.reschedule();
  return to.finish(call,
                   tenon::from_binary(bytes.data, bytes.size, to.sizes, to.type, to.backend()));
}

/// The first bytes of a tensor whose elements lie one after the other in memory that stays as it
/// is.
static ERL_NIF_TERM share_bytes(const Call& call, HeldPtr held, size_t nbytes) {
  const auto* const first = static_cast<const unsigned char*>(held->tensor.const_data_ptr());
  const Held& root = held->root == nullptr ? *held : *held->root;
  if (root.binary == nullptr) return make_shared_binary(call.env, std::move(held), first, nbytes);
  // The binary itself, so that there is no chain of binaries over tensors over binaries.
  ErlNifBinary bytes;
  enif_inspect_binary(root.binary->env, root.binary->term, &bytes);
  const ERL_NIF_TERM whole = enif_make_copy(call.env, root.binary->term);
  if (nbytes == bytes.size) return whole;
  return enif_make_sub_binary(call.env, whole, static_cast<size_t>(first - bytes.data), nbytes);
}

static ERL_NIF_TERM to_binary(const Call& call) {
  const HeldPtr held = get_held(call, call.argv[0]);
  const int64_t limit = get_integer(call, "the limit", call.argv[1], 0);
  const tenon::Tensor& t = held->tensor;
  const auto count = static_cast<size_t>(std::min(limit, t.numel()));
  const size_t nbytes = count * t.element_size();
  if (nbytes > kHeapBinary && held->is_host() && !held->is_trusted && t.is_contiguous()) {
    return share_bytes(call, held, nbytes);
  }
  if (call.is_long(static_cast<double>(nbytes))) return call.reschedule();
  std::vector<uint8_t> bytes = tenon::to_binary(t, limit);
  if (bytes.size() <= kHeapBinary) {
    return make_text(call.env, std::string(bytes.begin(), bytes.end()));
  }
  const auto copy = tenon::make_tensor_ptr({nbytes}, std::move(bytes), ScalarType::Byte);
  return make_shared_binary(call.env,
                            std::make_shared<Held>(Held{cpu_home(), {}, {}, false, *copy}),
                            copy->const_data_ptr(), nbytes);
}

static ERL_NIF_TERM to_flat_list(const Call& call) {
  const HeldPtr held = get_held(call, call.argv[0]);
  const int64_t limit = get_integer(call, "the limit", call.argv[1], 0);
  const auto count = static_cast<double>(std::min(limit, held->tensor.numel()));
  if (call.is_long(16 * count)) return call.reschedule();  // a list's cell
  const std::vector<uint8_t> bytes = tenon::to_binary(held->tensor, limit);
  const ScalarType type = held->tensor.scalar_type();
  const size_t size = elementSize(type);
  ERL_NIF_TERM list = enif_make_list(call.env, 0);
  for (size_t at = bytes.size(); at != 0; at -= size) {
    const ERL_NIF_TERM element = make_element(call.env, type, &bytes[at - size]);
    list = enif_make_list_cell(call.env, element, list);
  }
  return list;
}

static ERL_NIF_TERM expression(const Call& call) {
  return make_text(call.env, to_string(*tenon::expression(get_held(call, call.argv[0])->tensor)));
}

static ERL_NIF_TERM backend_copy(const Call& call) {
  const HeldPtr held = get_held(call, call.argv[0]);
  const auto home = get_home(call, call.argv[1]);
  if (call.is_long(held->nbytes())) return call.reschedule();
  const auto copy = tenon::backend_copy(held->tensor, *home->backend);
  return make_tensor(call.env, std::make_shared<Held>(Held{home, {}, {}, false, *copy}));
}

static ERL_NIF_TERM lives_in(const Call& call) {
  const bool is_there = get_held(call, call.argv[0])->home == get_home(call, call.argv[1]);
  return make_atom(call.env, is_there ? "true" : "false");
}

static ERL_NIF_TERM backend_deallocate(const Call& call) { return drop_tensor(call, call.argv[0]); }

static ERL_NIF_TERM materialize(const Call& call) {
  const HeldPtr held = get_held(call, call.argv[0]);
  const auto home = get_home(call, call.argv[1]);
  if (call.is_long(held->nbytes())) return call.reschedule();
  const auto made = tenon::materialize(held->tensor, *home->backend);
  return make_tensor(call.env, std::make_shared<Held>(Held{home, {}, {}, false, *made}));
}

static ERL_NIF_TERM to_dot(const Call& call) {
  return make_text(call.env, tenon::to_dot(get_held(call, call.argv[0])->tensor));
}

/// {pointer, shape, strides, type, element's size}
static ERL_NIF_TERM to_blob(const Call& call) {
  const HeldPtr held = get_held(call, call.argv[0]);
  const tenon::Tensor& t = held->tensor;
  if (!held->is_host()) {
    refuse("the tensor", call.argv[0],
           "one with memory, as in the CPU's, an arena's or a tracker's");
  }
  const auto address = reinterpret_cast<uintptr_t>(t.const_data_ptr());
  return enif_make_tuple5(call.env, enif_make_uint64(call.env, address),
                          make_tuple(call.env, t.sizes()), make_list(call.env, t.strides()),
                          make_type(call.env, t.scalar_type()),
                          enif_make_uint64(call.env, t.element_size()));
}

/// {pointer, size} of a binary's bytes.
static ERL_NIF_TERM binary_bytes(const Call& call) {
  ErlNifBinary bytes;
  ErlNifBinary copied;
  if (!enif_inspect_binary(call.env, call.argv[0], &bytes)) {
    refuse("the binary", call.argv[0], "a binary");
  }
  const auto kept = keep(call.argv[0]);
  enif_inspect_binary(kept->env, kept->term, &copied);
  if (bytes.data != copied.data) {
    throw std::invalid_argument(
        "the binary lies in the memory of its process, which moves it; one of more than 64 bytes "
        "does not");
  }
  return enif_make_tuple2(call.env,
                          enif_make_uint64(call.env, reinterpret_cast<uintptr_t>(bytes.data)),
                          enif_make_uint64(call.env, bytes.size));
}

/// pointer, shape, strides or nil, type, element's size or nil, owners: a list.
static ERL_NIF_TERM from_blob(const Call& call) {
  const uint64_t address = get_unsigned(call, "the pointer", call.argv[0]);
  Blob blob{reinterpret_cast<void*>(static_cast<uintptr_t>(address)),
            get_dims(call, "the shape", call.argv[1])};
  if (!is_nil(call.argv[2])) blob.strides = get_dims(call, "the strides", call.argv[2]);
  blob.dtype = get_type(call, call.argv[3]);
  if (!is_nil(call.argv[4]))
    blob.element_size = get_unsigned(call, "the element_size", call.argv[4]);
  const Range asked = range_of(blob);
  if (asked.size != 0 && (address == 0 || !is_aligned(blob.data, blob.dtype))) {
    refuse("the pointer", call.argv[0], "an address that is a multiple of the element's alignment");
  }

  Held made{cpu_home(), {}, {}, true, {}};
  const auto owners = std::make_shared<std::vector<std::shared_ptr<const void>>>();
  const char* outside = nullptr;
  ERL_NIF_TERM owner = 0;
  for (ERL_NIF_TERM rest = call.argv[5]; enif_get_list_cell(call.env, rest, &owner, &rest);) {
    ErlNifBinary bytes;
    if (const HeldPtr held = find_held(call, owner)) {
      const bool is_inside =
          held->is_host() && range_of(tenon::to_blob(held->tensor)).contains(asked);
      if (!is_inside) outside = "tensor";
      if (is_inside && made.root == nullptr) {
        made.home = held->home;
        made.is_trusted = held->is_trusted;
        // Not the tensor itself, which may be a view of its own: so there is no chain of them.
        made.root = held->root == nullptr ? held : held->root;
      }
      owners->push_back(held->root == nullptr ? held : held->root);
      continue;
    }
    auto kept = keep(owner);
    if (enif_inspect_binary(kept->env, kept->term, &bytes)) {
      const Range all{reinterpret_cast<uintptr_t>(bytes.data), bytes.size};
      if (all.contains(asked)) {
        blob.readonly = true;
        made.is_trusted = false;
        made.binary = kept;
      } else {
        outside = "binary";
      }
    }
    owners->push_back(std::move(kept));
  }
  if (made.root == nullptr && made.binary == nullptr && outside != nullptr && asked.size != 0) {
    throw std::invalid_argument(std::string("the memory is not inside of the ") + outside +
                                " that is its owner; one that is kept for another reason is given "
                                "in a tuple");
  }
  blob.owner = owners;
  made.tensor = *tenon::from_blob(std::move(blob));
  return make_tensor(call.env, std::make_shared<Held>(std::move(made)));
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
                          {"expression", 1, &run<nif::expression>, 0},
                          {"backend_copy", 2, &run<nif::backend_copy>, 0},
                          {"lives_in", 2, &run<nif::lives_in>, 0},
                          {"backend_deallocate", 1, &run<nif::backend_deallocate>, 0},
                          {"materialize", 2, &run<nif::materialize>, 0},
                          {"to_dot", 1, &run<nif::to_dot>, 0},
                          {"to_blob", 1, &run<nif::to_blob>, 0},
                          {"binary_bytes", 1, &run<nif::binary_bytes>, 0},
                          {"from_blob", 6, &run<nif::from_blob>, 0}};

int load(ErlNifEnv* env, void**, ERL_NIF_TERM) {
  make_atoms(env);
  return open_resource_types(env) ? 0 : 1;
}
/// The module is loaded once more, while its tensors live.
int upgrade(ErlNifEnv* env, void**, void**, ERL_NIF_TERM) { return load(env, nullptr, 0); }
/// There is nothing to release. The library itself stays: tensors' deleters are in it.
void unload(ErlNifEnv*, void*) {}

}  // namespace

ERL_NIF_INIT(Elixir.Tenon.Native, functions, load, nullptr, upgrade, unload)
