// SPDX-License-Identifier: MIT
// Random programs of make, view, share, resize, clone, write and drop, against a model in which a
// tensor's memory is a std::vector.
#include "support/catch.h"
#include "tenon/tenon.h"
#include "tensor/helpers.h"

namespace model_test {

using namespace tenon;
using namespace tests;

namespace {

// What ATen does not have: negative strides, and a dim order that says more than the strides.
constexpr int64_t kLeastStride = TENON_ATEN_MODE ? 0 : -4;
constexpr bool kHasDimOrder = !TENON_ATEN_MODE;

constexpr int32_t kUnknown = -1;  // an element that nobody wrote yet

// Memory with its releases.
struct Memory {
  Ints elements;
  Calls calls;
  bool counted = false;        // whether a deleter of ours is to run
  bool expected_gone = false;  // growth released it
};

int64_t product(const Vector& sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), int64_t{1}, std::multiplies<>());
}

// What a TensorImpl is: shape over memory.
struct Model {
  std::shared_ptr<Memory> memory;
  Vector sizes, strides;
  int64_t offset = 0;
  int64_t capacity = 0;
  TensorShapeDynamism dynamism = TensorShapeDynamism::DYNAMIC_BOUND;
  Ownership ownership = Ownership::Owned;
  std::shared_ptr<Model> base;  // of a view
  int views = 0;

  ~Model() {
    if (base != nullptr) --base->views;
  }
  int64_t numel() const { return product(sizes); }
  // The offsets of the elements in row-major order of the indices.
  Vector offsets() const { return element_offsets(sizes, strides, offset); }
  // From element 0 to the end of those above it.
  int64_t reach() const {
    int64_t end = 0;
    for (int64_t at : offsets()) end = std::max(end, at - offset + 1);
    return end;
  }
};

struct Entry {
  TensorPtr tensor;
  std::shared_ptr<Model> model;
};

class Program {
 public:
  explicit Program(uint64_t seed) : random_{seed} {}

  // The first step after which tensors and models differ, described; empty if none.
  std::string run(int steps) {
    for (step_ = 0; step_ < steps && trouble_.empty(); ++step_) {
      const int64_t action = entries_.empty() ? 0 : random_.between(0, 9);
      if (action <= 1 && entries_.size() < 12) {
        make();
      } else if (action == 2 && entries_.size() < 12) {
        view();
      } else if (action == 3 && entries_.size() < 12) {
        share();
      } else if (action == 4 && entries_.size() < 12) {
        clone();
      } else if (action <= 6) {
        resize();
      } else if (action == 7) {
        write();
      } else {
        drop();
      }
      check();
    }
    while (!entries_.empty()) drop();
    check();
    return trouble_;
  }
  int grown() const { return grown_; }
  int refused() const { return refused_; }

 private:
  void fail(const std::string& what) {
    if (trouble_.empty()) trouble_ = "step " + std::to_string(step_) + ": " + what;
  }
  size_t any() {
    return static_cast<size_t>(random_.between(0, static_cast<int64_t>(entries_.size()) - 1));
  }
  Vector any_sizes(int64_t rank) {
    Vector sizes(static_cast<size_t>(rank));
    for (int64_t& size : sizes) size = random_.between(0, 20) == 0 ? 0 : random_.between(1, 4);
    return sizes;
  }
  void remember(TensorPtr tensor, std::shared_ptr<Model> model) {
    entries_.push_back(Entry{std::move(tensor), std::move(model)});
  }

  void make() {
    auto model = std::make_shared<Model>();
    model->memory = std::make_shared<Memory>();
    memories_.push_back(model->memory);
    Memory& memory = *model->memory;
    model->sizes = any_sizes(random_.between(1, random_.between(0, 9) == 0 ? 8 : 3));
    while (model->numel() > 400) model->sizes.pop_back();
    model->strides = dense_strides(model->sizes, row_major(model->sizes.size()));
    model->dynamism = static_cast<TensorShapeDynamism>(random_.between(0, 2));
    model->capacity = model->numel();
    const auto count = static_cast<size_t>(model->numel());
    for (size_t i = 0; i < count; ++i) memory.elements.push_back(next_++);
    switch (random_.between(0, 2)) {
      case 0:
        remember(make_tensor_ptr(model->sizes, memory.elements, ScalarType::Int, model->dynamism),
                 model);
        break;
      case 1:
        model->ownership = Ownership::Adopted;
        remember(
            make_tensor_ptr(model->sizes, Ints(memory.elements), ScalarType::Int, model->dynamism),
            model);
        break;
      default: {
        model->ownership = Ownership::Adopted;
        memory.counted = true;
        auto* buffer = new Ints(memory.elements);
        Calls* const calls = &memory.calls;
        remember(from_blob(
                     buffer->data(), model->sizes, ScalarType::Int,
                     [buffer, calls](void* p) {
                       calls->deleter()(p);
                       if (p == buffer->data()) delete buffer;
                     },
                     model->dynamism),
                 model);
      }
    }
  }

  void view() {
    const size_t from = any();
    const Entry& source = entries_[from];
    const Model& old = *source.model;
    const Vector reached = old.offsets();
    const int64_t low =
        reached.empty() ? old.offset : *std::min_element(reached.begin(), reached.end());
    const int64_t high =
        reached.empty() ? low - 1 : *std::max_element(reached.begin(), reached.end());
    auto model = std::make_shared<Model>();
    model->sizes = any_sizes(random_.between(1, 3));
    for (size_t d = 0; d < model->sizes.size(); ++d) {
      model->strides.push_back(random_.between(kLeastStride, 8));
    }
    const int64_t offset = random_.between(-4, 20);
    model->offset = old.offset + offset;
    bool fits = true;
    for (int64_t at : model->offsets()) fits = fits && at >= low && at <= high;
    if (model->numel() == 0) fits = model->offset >= low && model->offset <= high + 1;
    auto made = try_make_tensor_ptr(source.tensor, model->sizes, {}, model->strides, offset);
    if (made.ok() != fits) return fail("a view " + std::string(made.message()));
    if (!fits) {
      ++refused_;
      if (made.error() != Error::OutOfBounds) fail(made.message());
      return;
    }
    model->memory = old.memory;
    model->dynamism = old.dynamism;
    model->ownership = Ownership::View;
    model->base = old.base != nullptr ? old.base : source.model;
    ++model->base->views;
    model->capacity = std::min(model->reach(), model->numel());
    remember(std::move(*made), model);
  }

  void share() {
    const size_t from = any();
    remember(make_tensor_ptr(entries_[from].tensor), entries_[from].model);
  }

  void clone() {
    const size_t from = any();
    const Model& old = *entries_[from].model;
    TensorPtr made = clone_tensor_ptr(entries_[from].tensor);
    auto model = std::make_shared<Model>();
    model->memory = std::make_shared<Memory>();
    memories_.push_back(model->memory);
    model->sizes = old.sizes;
    model->strides = tests::strides(made);
    model->dynamism = old.dynamism;
    model->capacity = old.numel();
    const Vector from_offsets = old.offsets();
    const Vector to_offsets = model->offsets();
    model->memory->elements.resize(to_offsets.size());
    for (size_t i = 0; i < to_offsets.size(); ++i) {
      const auto to = static_cast<size_t>(to_offsets[i]);
      if (to >= to_offsets.size()) return fail("a clone that is not dense");
      model->memory->elements[to] = old.memory->elements[static_cast<size_t>(from_offsets[i])];
    }
    remember(std::move(made), model);
  }

  void resize() {
    Entry& entry = entries_[any()];
    Model& model = *entry.model;
    Vector target = any_sizes(random_.between(0, 1) == 0 ? static_cast<int64_t>(model.sizes.size())
                                                         : random_.between(1, 8));
    if (random_.between(0, 30) == 0) target[0] = -1;
    const int64_t numel = product(target);
    const bool negative = std::count(target.begin(), target.end(), -1) != 0;
    const bool same = target == model.sizes;
    const bool grows = numel > model.capacity;
    Error expected = Error::Ok;
    if (model.dynamism == TensorShapeDynamism::STATIC) {
      expected = Error::NotSupported;
    } else if (negative) {
      expected = Error::InvalidArgument;
    } else if (same) {
      expected = Error::Ok;
    } else if (grows && model.dynamism == TensorShapeDynamism::DYNAMIC_BOUND) {
      expected = Error::InvalidArgument;
    } else if (grows && model.ownership == Ownership::View) {
      expected = Error::NotSupported;
    } else if (grows && model.views > 0) {
      expected = Error::InUse;
    }
    const tests::State before(*entry.tensor);
    const Error error = resize_tensor_ptr(entry.tensor, target);
    if (error != expected) return fail(std::string("resize gives ") + toString(error));
    if (error != Error::Ok) {
      ++refused_;
      if (!(tests::State(*entry.tensor) == before)) fail("a refused resize changed the tensor");
      return;
    }
    if (same) return;
    if (grows) {
      ++grown_;
      auto memory = std::make_shared<Memory>();
      memories_.push_back(memory);
      memory->elements.assign(static_cast<size_t>(numel), kUnknown);
      const auto kept = static_cast<ptrdiff_t>(std::min(model.offset + model.reach(), numel));
      std::copy_n(model.memory->elements.begin(), kept, memory->elements.begin());
      model.memory->expected_gone = true;
      model.memory = memory;
      model.ownership = Ownership::Owned;
      model.capacity = numel > 2 * model.capacity ? numel : 2 * model.capacity;
    }
    // The order of a view's or clone's dimensions may not be row-major: the strides must be dense
    // in the order that they had.
    const bool kept = target.size() == model.sizes.size();
    const Vector order = kept ? before.dim_order : row_major(target.size());
    if ((kHasDimOrder || !kept) && tests::dim_order(entry.tensor) != order) {
      return fail("a resize with another dim order");
    }
    model.sizes = target;
    model.strides = dense_strides(target, order);
    // Room that was reserved by growth has elements that nobody wrote.
    Memory& memory = *model.memory;
    const auto room = static_cast<size_t>(model.capacity);
    if (model.base == nullptr && memory.elements.size() < room) {
      memory.elements.resize(room, kUnknown);
    }
  }

  void write() {
    const Entry& entry = entries_[any()];
    const Vector offsets = entry.model->offsets();
    if (offsets.empty()) return;
    const auto which =
        static_cast<size_t>(random_.between(0, static_cast<int64_t>(offsets.size()) - 1));
    const int32_t value = next_++;
    mutable_data_ptr<int32_t>(entry.tensor)[offsets[which] - entry.model->offset] = value;
    entry.model->memory->elements[static_cast<size_t>(offsets[which])] = value;
  }

  void drop() {
    const size_t which = any();
    entries_.erase(entries_.begin() + static_cast<std::ptrdiff_t>(which));
  }

  void check() {
    for (const Entry& entry : entries_) {
      const Model& model = *entry.model;
      if (tests::sizes(entry.tensor) != model.sizes) fail("sizes differ");
      if (tests::strides(entry.tensor) != model.strides) fail("strides differ");
      if (entry.tensor->numel() != model.numel()) fail("numel differs");
      if (ownership(entry.tensor) != model.ownership) fail("ownership differs");
      const auto* data = const_data_ptr<int32_t>(entry.tensor);
      for (int64_t at : model.offsets()) {
        const int32_t expected = model.memory->elements[static_cast<size_t>(at)];
        if (expected != kUnknown && data[at - model.offset] != expected) fail("a value differs");
      }
    }
    for (const auto& memory : memories_) {
      // A model or a view of it still refers to memory that is in use.
      const bool in_use = memory.use_count() > 1 && !memory->expected_gone;
      const int expected = memory->counted && !in_use ? 1 : 0;
      if (memory->calls.count != expected) fail("a deleter ran too often, too early or not at all");
    }
  }

  Rng random_;
  int step_ = 0;
  int grown_ = 0;
  int refused_ = 0;
  int32_t next_ = 1;
  std::string trouble_;
  std::vector<std::shared_ptr<Memory>> memories_;
  std::vector<Entry> entries_;
};

}  // namespace

// A promise of docs/guarantees.md.
TEST_CASE("model: random programs behave as if every tensor's memory were a std::vector") {
  int grown = 0;
  int refused = 0;
  for (uint64_t seed = 1; seed <= 24; ++seed) {
    Program program(seed);
    const std::string trouble = program.run(200);
    INFO("seed " << seed << ", " << trouble);
    CHECK(trouble.empty());
    grown += program.grown();
    refused += program.refused();
  }
  CHECK(grown > 50);
  CHECK(refused > 200);
}

}  // namespace model_test
