// SPDX-License-Identifier: MIT
// Prints what it does with tenon, of the module (IMPORTS), of the headers (INCLUDES), or of both.
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <limits>
#include <memory>  // for == of a TensorPtr
#include <memory_resource>
#include <string>
#include <vector>

#if defined(INCLUDES)
#include <tenon/backend/pmr.h>
#include <tenon/backend/pool.h>
#include <tenon/backend/tracking.h>
#include <tenon/interop/npy.h>
#include <tenon/module/function_module.h>
#include <tenon/ostream.h>
#include <tenon/tenon.h>
#include <tenon/tensor/expr.h>
#include <tenon/tensor/values.h>
#endif
#if defined(IMPORTS)
import tenon;
#endif

// Of headers.cpp, which includes them.
tenon::TensorPtr counted_by_headers();
std::string text_by_headers(const tenon::Tensor& tensor);
tenon::Backend* host_backend_of_headers();
void throw_by_headers();

namespace {

using namespace tenon;

void make() {
  const TensorPtr batch = make_tensor_ptr({2, 3}, {1.0f, 2.0f, 3.0f, 4.0f, 5.0f, 6.0f});
  std::cout << batch << *batch << batch->scalar_type() << batch->sizes() << Dims{2, 3}
            << Device(DeviceType::CUDA, 1) << Scalar(0.5) << complex<float>(1, 2) << '\n'
            << eye(2) << arange(4) << full({3}, 7, ScalarType::Half) << randn({3}, Generator(5))
            << (batch != nullptr) << promoteTypes(ScalarType::Int, ScalarType::Half)
            << std::numeric_limits<Half>::max() << '\n';
}

void borrow() {
  std::vector<int64_t> numbers{0, 1, 2, 3, 4, 5};
  int released = 0;
  {
    const auto columns =
        from_blob(numbers.data(), {3, 2}, {1, 3}, ScalarType::Long, [&](void*) { ++released; });
    const auto maker = for_blob(numbers.data(), {6}).dim_order({0}).make_tensor_ptr();
    numbers[4] = 40;
    std::cout << columns << maker << released;
  }
  std::cout << released << '\n';
}

void view_and_copy() {
  const Tensor square = reshape(arange(6, ScalarType::Float), {2, 3});
  const Tensor turned = transpose(square, 0, 1);
  std::cout << turned << turned.strides() << select(square, 0, 1) << slice(square, 1, 0, 3, 2)
            << accessor<float, 2>(turned)[2][1] << data<float>(square)[1]
            << item<float>(select(select(square, 0, 1), 0, 2)) << cat({square, square}, 1);
  for (const Tensor& row : split(square, 1)) std::cout << row << ';';
  std::cout << '\n';
  const TensorPtr copy = zeros({2, 3}, ScalarType::Double);
  std::cout << copy_(copy, square) << copy << to(square, ScalarType::Half)
            << allclose(copy, to(square, ScalarType::Double)) << to_vector<float>(turned).at(1)
            << (square.sizes() == turned.sizes()) << square.is_contiguous() << '\n';
}

void fail() {
  std::cout << try_zeros({-1}).error() << last_error_message() << '\n';
  try {
    view(zeros({2, 3}), {4, 2});
  } catch (const Exception& e) {
    std::cout << e.error() << e.what() << '\n';
  }
  try {
    throw_by_headers();
  } catch (const Exception& e) {  // one type in both files
    std::cout << e.error() << e.what() << '\n';
  }
  const TensorPtr small = zeros({2, 2});
  std::cout << resize_tensor_ptr(small, {9, 9}) << last_error_message() << '\n';
}

void exchange() {
  const TensorPtr source = arange(3);
  DLPackPtr exported(to_dlpack(source));
  std::cout << exported->dl_tensor.ndim << (exported->dl_tensor.dtype.code == dlpack::kDLInt)
            << check_dlpack(exported.get()).size();
  const TensorPtr imported = from_dlpack(std::move(exported));
  data<int64_t>(source)[1] = 11;
  const Blob blob = to_blob(source);
  std::cout << imported << blob.sizes << blob.nbytes() << from_blob(blob) << '\n';
}

void use_backends() {
  alignas(64) std::byte memory[4096];
  ArenaBackend arena(memory, sizeof memory);
  TrackingBackend tracking(arena);
  {
    const BackendScope scope(tracking);
    const TensorPtr twos = full({4, 4}, 2.0f);
    std::cout << tracking.live_count() << mean_std(twos).mean << backend_of(twos).name();
  }
  PmrBackend resource(std::pmr::new_delete_resource());
  PoolBackend pool(host_backend());
  ExprBackend expressions;
  const TensorPtr later = backend_transfer(arange(2), expressions);
  std::cout << backend_copy(arange(2), resource) << backend_copy(arange(2), pool)
            << materialize(later, host_backend()) << to_dot(later).empty() << '\n';
}

void run_a_model() {
  FunctionModule doubled(
      [](Span<const EValue> inputs) { return EValue(inputs[0].toDouble() * 2); });
  std::cout << doubled.forward({1.5})->at(0).toDouble() << doubled.forward({true}).message()
            << '\n';
}

// What is made in one file is used in the other.
void pass_between_files() {
  const TensorPtr theirs = counted_by_headers();
  std::cout << theirs << text_by_headers(*theirs) << (&host_backend() == host_backend_of_headers())
            << '\n';
}

}  // namespace

int main() {
  std::cout << std::boolalpha;
  make();
  borrow();
  view_and_copy();
  fail();
  exchange();
  use_backends();
  run_a_model();
  pass_between_files();
}
