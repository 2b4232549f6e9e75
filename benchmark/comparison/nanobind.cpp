// SPDX-License-Identifier: MIT
//
// A module, since an ndarray needs an interpreter. Owned memory is a capsule's, which is the owner of views too.

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>

#include "rows.h"

namespace nb = nanobind;

namespace {

using Array = nb::ndarray<float, nb::ndim<2>>;

nb::capsule owner_of(float* memory) {
  return nb::capsule(memory, [](void* p) noexcept { delete[] static_cast<float*>(p); });
}

Array zeros(std::size_t height, std::size_t width) {
  float* const memory = new float[height * width]();
  return Array(memory, {height, width}, owner_of(memory));
}

int run(std::vector<std::string> arguments) {
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  const int argc = static_cast<int>(arguments.size());
  float data[6] = {1, 2, 3, 4, 5, 6};
  if (rows::asks_for_wrong_shape(argc, argv.data())) {
    return rows::wrong_shape([&] { return static_cast<std::int64_t>(Array(data, {4, 2}).size()); });
  }
  rows::have_had_two_threads();
  bench::Suite suite(argc, argv.data());

  suite.add("borrow", [&] { return Array(data, {2, 3}); });
  suite.add("zeros/2x3", [] { return zeros(2, 3); });
  suite.add("zeros/1024x1024", [] { return zeros(rows::kSide, rows::kSide); });

  float* const memory = new float[rows::kNumel]();
  const nb::capsule owner = owner_of(memory);
  const Array matrix(memory, {rows::kSide, rows::kSide}, owner);
  const auto transpose = [&] {
    return Array(matrix.data(), {matrix.shape(1), matrix.shape(0)}, owner,
                 {matrix.stride(1), matrix.stride(0)});
  };
  suite.add("share", [&] { return Array(matrix); });
  suite.add("transpose", transpose);

  std::vector<float> values = rows::numbers(rows::kReads);
  const Array read(values.data(), {rows::kReadRows, rows::kReadColumns});
  const auto sum = [&] {
    const auto at = read.view();
    float total = 0;
    for (std::size_t i = 0; i < at.shape(0); ++i) {
      for (std::size_t j = 0; j < at.shape(1); ++j) total += at(i, j);
    }
    return total;
  };
  suite.add("read", sum);
  // Out to an object of Python's that has __dlpack__, and in from it.
  suite.add("dlpack", [&] { return nb::cast<Array>(nb::cast(read, nb::rv_policy::reference)); });

  rows::require_zeros(zeros(rows::kSide, rows::kSide).data(), rows::kNumel);
  bench::require(transpose().stride(1) == rows::kSide);
  bench::require(sum() == rows::kReadSum);
  return suite.run();
}

}  // namespace

NB_MODULE(comparison_nanobind, m) { m.def("run", run); }
