// SPDX-License-Identifier: MIT
// Conformance cases: random small programs, run in a backend's memory and on the host.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tenon/config.h"
#include "tenon/tensor/transfer.h"
#include "tenon/tensor/clone.h"
#include "tenon/tensor/copy.h"
#include "tenon/tensor/creators.h"
#include "tenon/tensor/random.h"
#include "tenon/tensor/resize.h"
#include "tenon/tensor/sequence.h"
#include "tenon/tensor/view.h"
#include "tenon/testing/trial.h"
#include "tenon/testing/twin.h"

TENON_BEGIN_NAMESPACE
namespace testing {

/// Random views of a tensor, one after another, the same for both twins.
class RandomCut {
 public:
  RandomCut(Dice& dice, Dims sizes) {
    for (int64_t i = dice.between(0, 3); i > 0 && !sizes.empty(); --i) {
      const auto rank = static_cast<int64_t>(sizes.size());
      Step step{dice.between(0, 3), dice.between(0, rank - 1), 0, 0, 1};
      const auto d = static_cast<size_t>(step.dim);
      if (step.kind == 0) {
        step.a = dice.between(0, sizes[d]);
        step.b = dice.between(step.a, sizes[d]);
        step.c = dice.between(1, 3);
        sizes[d] = (step.b - step.a + step.c - 1) / step.c;
      } else if (step.kind == 2) {
        step.a = dice.between(0, rank - 1);
        std::swap(sizes[d], sizes[static_cast<size_t>(step.a)]);
      } else if (step.kind == 3) {
        if (sizes[d] == 0) continue;
        step.a = dice.between(0, sizes[d] - 1);
        Dims left;
        for (size_t k = 0; k < sizes.size(); ++k) {
          if (k != d) left.push_back(sizes[k]);
        }
        sizes = left;
      }
      steps_.push_back(step);
    }
    sizes_ = sizes;
  }

  Tensor of(const Tensor& base) const {
    Tensor t = base;
    for (const Step& step : steps_) {
      switch (step.kind) {
        case 0: t = slice(t, step.dim, step.a, step.b, step.c); break;
        case 1: t = reversed(t, {step.dim}); break;
        case 2: t = transpose(t, step.dim, step.a); break;
        default: t = select(t, step.dim, step.a); break;
      }
    }
    return t;
  }
  const Dims& sizes() const noexcept { return sizes_; }

 private:
  struct Step {
    int64_t kind, dim, a, b, c;
  };
  std::vector<Step> steps_;
  Dims sizes_;
};

/// Three tensors to which random things happen, in both memories at once.
class RandomProgram {
 public:
  RandomProgram(Trial& trial, uint64_t seed) : trial_(trial), seed_(seed), dice_{seed} {}

  /// False once the two differ.
  bool run(int steps) {
    for (Twin& twin : tensors_) {
      twin = make();
      if (!twin) return false;
    }
    for (step_ = 0; step_ < steps; ++step_) {
      if (!do_something()) return false;
    }
    return true;
  }

 private:
  bool do_something() {
    Twin& twin = tensors_[dice_.between(0, 2)];
    const RandomCut cut(dice_, as_view(twin.here).sizes);
    switch (dice_.between(0, 8)) {
      case 0: {
        twin = make();
        return twin && trial_.check_same(name("a creator"), twin.there, twin.here);
      }
      case 1: {
        const int64_t value = dice_.between(0, 50);
        return both("fill_", twin, [&](const Tensor& t) { return fill_(cut.of(t), value); });
      }
      case 2: {
        const auto offset = static_cast<uint64_t>(dice_.between(0, 100));
        return both("uniform_", twin, [&](const Tensor& t) {
          Generator generator(seed_, offset);
          return uniform_(cut.of(t), 0, 60, generator);
        });
      }
      case 3: return resize(twin);
      case 4: return replace_by_clone(twin, cut);
      case 5: return go_around(twin);
      default: return copy_from_another(twin, cut);
    }
  }

  Twin make() {
    Dims sizes;
    for (int64_t d = dice_.between(0, 4); d > 0; --d) sizes.push_back(dice_.between(1, 6));
    const ScalarType type = kTypeOfEachSize[dice_.between(1, 4)];
    const int64_t kind = dice_.between(0, 4);
    const auto offset = static_cast<uint64_t>(dice_.between(0, 9));
    const auto dynamism = TensorShapeDynamism::DYNAMIC;
    const auto made = [&](Backend& backend) {
      Generator generator(seed_, offset);
      Result<TensorPtr> result =
          kind == 0   ? try_full(sizes, 3, type, dynamism, backend)
          : kind == 1 ? try_zeros(sizes, type, dynamism, backend)
          : kind == 2 ? try_rand(sizes, type, dynamism, generator, backend)
          : kind == 3 ? try_randint(0, 100, sizes, type, dynamism, generator, backend)
                      : try_iota(sizes, ScalarType::Long, dynamism, backend);
      return trial_.check_made(name("a creator"), std::move(result));
    };
    Twin twin;
    twin.here = made(host_backend());
    twin.there = made(trial_.backend());
    return twin;
  }

  /// To one dimension, in which the elements stay in order.
  bool resize(Twin& twin) {
    const TensorView before = as_view(twin.here);
    const int64_t count = dice_.between(0, 100);
    const int64_t kept = numel_of(before);
    if (before.sizes.empty() || !twin.here->is_contiguous()) return true;
    return both("resize_tensor", twin, [&](const Tensor& base) {
      Tensor t = base;
      const Error error = resize_tensor(t, {count});
      return error != Error::Ok || count <= kept ? error
                                                 : fill_(narrow(t, 0, kept, count - kept), 1);
    });
  }

  bool replace_by_clone(Twin& twin, const RandomCut& cut) {
    const auto clone = [&](const TensorPtr& t) {
      return trial_.check_made(name("clone_tensor_ptr"), try_clone_tensor_ptr(cut.of(*t)));
    };
    Twin copy{clone(twin.here), clone(twin.there)};
    twin = std::move(copy);
    return twin && trial_.check_same(name("clone_tensor_ptr"), twin.there, twin.here);
  }

  bool go_around(Twin& twin) {
    TensorPtr host = trial_.check_made(name("backend_transfer to the host"),
                                       try_backend_transfer(twin.there, host_backend()));
    if (host == nullptr || !trial_.check_same(name("backend_transfer"), host, twin.here)) {
      return false;
    }
    twin.there = trial_.check_made(name("backend_transfer from the host"),
                                   try_backend_transfer(host, trial_.backend()));
    return twin && trial_.check_same(name("backend_transfer"), twin.there, twin.here);
  }

  bool copy_from_another(Twin& twin, const RandomCut& cut) {
    const RandomView from(dice_, cut.sizes(), true);
    const ScalarType type =
        dice_.between(0, 1) == 0 ? as_view(twin.here).type : kTypeOfEachSize[dice_.between(0, 4)];
    const Twin source = random_twin(trial_, from.base_sizes(), type, seed_);
    if (!source) return false;
    const bool from_there = dice_.between(0, 2) != 0;
    return both("copy_", twin, [&](const Tensor& t) {
      const bool is_there = &t == twin.there.get();
      const TensorPtr& chosen = is_there && from_there ? source.there : source.here;
      return copy_(cut.of(t), from.of(*chosen), CastMode::Saturate);
    });
  }

  template <class Action>
  bool both(const char* what, const Twin& twin, const Action& action) {
    return check_both(trial_, name(what), twin, action);
  }
  std::string name(const char* what) const {
    return text_of({"program of seed ", seed_, ", step ", step_, ", ", what});
  }

  Trial& trial_;
  uint64_t seed_;
  Dice dice_;
  int step_ = 0;
  Twin tensors_[3];
};

inline void programs_run_alike(Trial& trial) {
  for (int i = 0; i < trial.traits().rounds; ++i) {
    RandomProgram program(trial, trial.traits().seed + static_cast<uint64_t>(i));
    if (!program.run(40)) return;
  }
}

}  // namespace testing
TENON_END_NAMESPACE
