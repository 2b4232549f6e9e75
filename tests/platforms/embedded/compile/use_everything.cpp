// SPDX-License-Identifier: MIT
// A use of each group of functions in tenon.h and of the other headers that a microcontroller can
// have, to be compiled and linked for one. With a heap it runs, too: the exit code is the number of
// checks that failed.
#include <tenon/module/function_module.h>
#include <tenon/tenon.h>
#if TENON_HEAP
#include <tenon/backend/pmr.h>
#include <tenon/backend/pool.h>
#endif

using namespace tenon;

static int failures = 0;
static void expect(bool is_true) { failures += is_true ? 0 : 1; }

/// Takes what a try_ function returned; the program ends where there is none.
template <class T>
static T take(Result<T> result) {
  expect(result.ok());
  return std::move(result).value();
}

static void use_stack_tensors() {
  SizesType sizes[] = {2, 3};
  float data[] = {1, 2, 3, 4, 5, 6};
  TensorImpl impl(ScalarType::Float, 2, sizes, data);
  Tensor tensor(&impl);
  expect(tensor.accessor<float, 2>()[1][2] == 6);
  expect(tensor.size(-1) == 3 && tensor.nbytes() == 24 && tensor.is_contiguous());
  expect(tensor.data<float>()[4] == 5 && tensor.const_data_ptr<float>()[0] == 1);
  impl.set_data(nullptr);
  expect(!impl.has_data());
  expect(!TensorImpl(ScalarType::Float, 0, nullptr, data).is_readonly());
}

static void use_creators() {
  expect(zeros({2, 3})->data<float>()[5] == 0);
  expect(take(try_full({4}, 7, ScalarType::Byte))->data<uint8_t>()[3] == 7);
  const TensorPtr like = take(try_ones_like(zeros({2}, ScalarType::ComplexDouble)));
  expect(like->const_data_ptr<complex<double>>()[1].real() == 1);
  expect(empty_strided({2, 2}, {1, 2}, ScalarType::Double)->strides()[1] == 2);
  expect(arange(5)->data<int64_t>()[4] == 4);
  expect(arange(0, 1, 0.25)->data<float>()[3] == 0.75f);
  expect(eye(3)->accessor<float, 2>()[2][2] == 1);
  expect(iota({2, 2}, 1, ScalarType::Int)->accessor<int32_t, 2>()[1][1] == 1);
  expect(scalar_tensor(2.5)->item<double>() == 2.5);
  expect(make_tensor_ptr({2, 2}, {1, 2, 3, 4}, ScalarType::Half)->dtype() == ScalarType::Half);
  expect(try_zeros({-1}).error() == Error::InvalidArgument);
  expect(*last_error_message() != '\0');
  float data[4] = {1, 2, 3, 4};
  int released = 0;
  take(try_from_blob(data, {4}, ScalarType::Float, [&](void*) { ++released; })).reset();
  expect(released == 1);
  const TensorPtr built = for_blob(data, {2, 2}).strides({1, 2}).make_tensor_ptr();
  expect(built->accessor<float, 2>()[0][1] == 3);
}

static void use_views() {
  const TensorPtr t = arange(24, ScalarType::Int);
  const Tensor cube = reshape(t, {2, 3, 4});
  expect(select(cube, 0, 1).accessor<int32_t, 2>()[2][3] == 23);
  expect(take(try_slice(cube, 2, 0, 4, 2)).size(2) == 2);
  expect(narrow(transpose(cube, 0, 2), 0, 1, 2).size(0) == 2);
  expect(permute(cube, {2, 0, 1}).size(0) == 4);
  expect(squeeze(unsqueeze(cube, 0), 0).dim() == 3);
  expect(expand(slice(t, 0, 0, 1), {5}).stride(0) == 0);
  expect(flip(t, {0}).accessor<int32_t, 1>()[0] == 23);
  expect(flatten(cube).numel() == 24);
  expect(as_strided(t, {2, 2}, {1, 1}, 3).accessor<int32_t, 2>()[1][1] == 5);
  expect(view_as_type(t, ScalarType::Byte).numel() == 96);
  expect(cat({t, t})->numel() == 48);
  expect(stack({t, t, t})->size(0) == 3);
  const auto parts = split(cube, 2, 1);
  expect(parts.size() == 2 && parts[1].size(1) == 1);
  expect(chunk(t, 5).size() == 5);
  expect(unbind(cube).size() == 2);
}

static void use_copies() {
  const ScalarType types[] = {ScalarType::Byte,        ScalarType::Long,     ScalarType::Half,
                              ScalarType::Float,       ScalarType::BFloat16, ScalarType::Double,
                              ScalarType::ComplexFloat};
  const TensorPtr bytes = full({3, 5}, 9, ScalarType::Byte);
  for (const ScalarType type : types) {
    const TensorPtr other = zeros({3, 5}, type);
    expect(copy_(other, bytes, CastMode::Truncate) == Error::Ok);
    expect(copy_(transpose(zeros({5, 3}), 0, 1), other, CastMode::Truncate) == Error::Ok);
  }
  expect(copy_(zeros({2, 3, 5}), bytes, {0.5f, {1}, {2}, 0}) == Error::Ok);
  expect(take(try_clone_tensor_ptr(bytes, ScalarType::Double))->data<double>()[14] == 9);
  expect(contiguous(transpose(bytes, 0, 1)).is_contiguous());
  expect(to(bytes, ScalarType::Int).data<int32_t>()[0] == 9);
  expect(fill_(bytes, 3) == Error::Ok && zero_(bytes) == Error::Ok);
  expect(plan_copy(bytes, bytes).nbytes == 15);
  // At an odd address, which Cortex-M0+ cannot read as one word.
  unsigned char odd[4 * 4 + 1] = {};
  const TensorPtr words = make_tensor_ptr({4}, {1, 2, 3, 4}, ScalarType::Int);
  expect(copy_to(words, odd + 1, 16) == Error::Ok && odd[1 + 4] == 2);
  expect(assign(zeros({4}, ScalarType::Int), odd + 1, 16) == Error::Ok);
}

static void use_random() {
  Generator generator(1);
  const ScalarType types[] = {ScalarType::Float, ScalarType::Double, ScalarType::Half};
  for (const ScalarType type : types) {
    expect(rand({7}, generator, type)->numel() == 7);
    expect(randn({3, 5}, generator, type)->numel() == 15);
  }
  expect(take(try_randint(0, 10, {8}, generator))->data<int32_t>()[7] < 10);
  const TensorPtr noise = zeros({16});
  expect(uniform_(noise, -1, 1) == Error::Ok && normal_(noise, 0, 2) == Error::Ok);
  manual_seed(5);
  expect(default_generator().seed() == 5);
}

static void use_resize() {
  TensorPtr t = zeros({2, 3}, TensorShapeDynamism::DYNAMIC_UNBOUND);
  expect(resize_tensor_ptr(t, {3, 2}) == Error::Ok);
  expect(resize_tensor_ptr(t, {50, 2}) == Error::Ok);
  expect(reserve_tensor_ptr(t, 1000) == Error::Ok);
  expect(resize_tensor_ptr(t, {-1}) == Error::InvalidArgument);
}

static void use_exchange() {
  const TensorPtr t = make_tensor_ptr({2, 2}, {1.0f, 2.0f, 3.0f, 4.0f});
  const Blob blob = take(try_to_blob(t));
  expect(accessor<const float, 2>(blob)[1][0] == 3);
  expect(from_blob(blob)->numel() == 4);
  expect(assign(zeros({2, 2}), blob) == Error::Ok && can_assign(t, blob));
  expect(copy_to(t, take(try_to_owned_blob(t))) == Error::Ok);
  const TensorPtr back = take(try_from_dlpack(take(try_to_dlpack(t))));
  expect(back->is_alias_of(*back) && back->data<float>()[3] == 4);
  const DLPackLegacyPtr legacy(take(try_to_dlpack_legacy(t)));
}

static void use_text() {
  expect(!to_string(arange(0, 1, 0.25)).empty());
  expect(!to_string(zeros({2, 2}, ScalarType::ComplexFloat)).empty());
  expect(!to_string(full({2}, 300, ScalarType::Int)).empty());
  expect(to_binary(zeros({3})).size() == 12);
  expect(Device("cpu").to_string() == "cpu");
}

static void use_module() {
  FunctionModule module([](Span<const EValue> inputs, Span<EValue> outputs) -> Error {
    expect(inputs[1].toInt() == 4);
    return copy_(outputs[0].toTensor(), inputs[0].toTensor());
  });
  const TensorPtr in = ones({3});
  const TensorPtr out = zeros({3});
  expect(module.set_input(in, 0) == Error::Ok && module.set_input(EValue(4), 1) == Error::Ok);
  expect(module.set_output(out, 0) == Error::Ok);
  expect(module.run() == Error::Ok);
  expect(out->data<float>()[2] == 1);
  FunctionModule simple([](Span<const EValue> v) { return std::vector<EValue>{v[0]}; });
  expect(simple.forward({EValue(4)}).ok());
}

static void use_all() {
  use_stack_tensors();
  use_creators();
  use_views();
  use_copies();
  use_random();
  use_resize();
  use_exchange();
  use_text();
  use_module();
}

int main() {
#if TENON_HEAP
  use_all();
  PmrBackend pmr;
  PoolBackend pool(pmr);
  expect(zeros({9}, pool)->numel() == 9);
#endif
  alignas(64) static unsigned char memory[48 * 1024];
  ArenaBackend arena(memory, sizeof memory);
  const BackendScope scope(arena);
  expect(backend_copy(zeros({2}), arena)->numel() == 2);
  use_all();
  return failures;
}
