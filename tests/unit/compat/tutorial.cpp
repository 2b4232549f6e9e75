// SPDX-License-Identifier: MIT
// A program in the words of ExecuTorch's tensor extension. It is built against ExecuTorch and
// against tenon; both must print the same.
#ifdef TUTORIAL_ON_EXECUTORCH
#include <executorch/extension/tensor/tensor.h>
#include <executorch/runtime/platform/runtime.h>
#else
#include "tenon/compat/executorch.h"
#endif

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <utility>
#include <vector>

using namespace ::executorch::extension;
using executorch::aten::ScalarType;
using executorch::aten::TensorShapeDynamism;
using executorch::runtime::Error;

namespace {

void print_shape(const char* name, const executorch::aten::Tensor& tensor) {
  std::printf("%s: type %d, dynamism %d, numel %lld, nbytes %llu, sizes", name,
              static_cast<int>(tensor.scalar_type()), static_cast<int>(tensor.shape_dynamism()),
              static_cast<long long>(tensor.numel()),
              static_cast<unsigned long long>(tensor.nbytes()));
  for (auto size : tensor.sizes()) std::printf(" %lld", static_cast<long long>(size));
  std::printf(", strides");
  for (auto stride : tensor.strides()) std::printf(" %lld", static_cast<long long>(stride));
  std::printf(", order");
  for (auto d : tensor.dim_order()) std::printf(" %d", static_cast<int>(d));
}

void print(const char* name, const executorch::aten::Tensor& tensor) {
  print_shape(name, tensor);
  std::printf(", bytes");
  const auto* bytes = static_cast<const unsigned char*>(tensor.const_data_ptr());
  for (size_t i = 0; bytes != nullptr && i < tensor.nbytes(); ++i) std::printf(" %02x", bytes[i]);
  std::printf("\n");
}

// The last element, by a function of any accessor.
template <class T, ssize_t N>
T corner(TensorAccessor<T, N> accessor) {
  if constexpr (N == 1) {
    return accessor[accessor.size(0) - 1];
  } else {
    return corner(accessor[accessor.size(0) - 1]);
  }
}

// Which numbers they are is each library's own affair; not how many are in [low, high), nor whether
// they differ.
template <class T>
void print_random(const char* name, const executorch::aten::Tensor& tensor, T low, T high) {
  print_shape(name, tensor);
  const T* values = tensor.const_data_ptr<T>();
  int in_range = 0;
  bool differ = false;
  for (int i = 0; i < static_cast<int>(tensor.numel()); ++i) {
    if (values[i] >= low && values[i] < high) ++in_range;
    if (values[i] != values[0]) differ = true;
  }
  std::printf(", %d in range, %s\n", in_range, differ ? "different" : "equal");
}

void print_resize(const char* name, TensorPtr& tensor,
                  const std::vector<executorch::aten::SizesType>& sizes) {
  const bool ok = resize_tensor_ptr(tensor, sizes) == Error::Ok;
  std::printf("resize: %s\n", ok ? "ok" : "refused");
  print(name, *tensor);
}

}  // namespace

int main() {
  executorch::runtime::runtime_init();

  // Values and lists.
  print("list", *make_tensor_ptr({2, 3}, {1.0f, 2.0f, 3.0f, 4.0f, 5.0f, 6.0f}));
  print("ordered list", *make_tensor_ptr({2, 2}, {1.0f, 2.0f, 3.0f, 4.0f}, {1, 0}, {1, 2}));
  print("scalar", *make_tensor_ptr(3.14));
  print("int scalar", *make_tensor_ptr(42));
  print("flat cast", *make_tensor_ptr({1, 2, 3, 4, 5, 6}, ScalarType::Double));
  print("typed list", *make_tensor_ptr<int8_t>({1, -2, 3}, ScalarType::Long));
  print("half", *make_tensor_ptr(std::vector<float>{1.5f, -0.1f, 65504.0f}, ScalarType::Half));
  print("bfloat16",
        *make_tensor_ptr({2}, std::vector<float>{1.1f, 3.0f}, {}, {}, ScalarType::BFloat16));
  print("wrapped", *make_tensor_ptr(std::vector<int64_t>{10000000000, -1}, ScalarType::Int));
  print("empty", *make_tensor_ptr({0, 5}, std::vector<float>()));

  // The element type, and its ScalarType, spelled out.
  const std::vector<float> floats = {1, 2, 3, 4, 5, 6};
  const std::vector<executorch::aten::StridesType> by_rows = {3, 1};
  print("typed vector", *make_tensor_ptr<float>({2, 3}, floats));
  print("typed longs", *make_tensor_ptr<int64_t>({3}, std::vector<int64_t>{1, 2, 3}));
  print("typed moved", *make_tensor_ptr<float>({2, 3}, std::vector<float>(floats)));
  print("typed flat", *make_tensor_ptr<float>(floats));
  print("typed cast", *make_tensor_ptr<float>(std::vector<float>{1, 2}, ScalarType::Double));
  print("typed, all of it",
        *make_tensor_ptr<float>({2, 3}, floats, {0, 1}, {3, 1}, ScalarType::Double,
                                TensorShapeDynamism::STATIC));
  print("typed strides", *make_tensor_ptr<float>({2, 3}, floats, {}, by_rows));
  print("typed shape cast", *make_tensor_ptr<float>({2, 3}, floats, {}, {}, ScalarType::Double));
  print("two types", *make_tensor_ptr<float, ScalarType::Float>({2}, {1, 2}));
  print("two types flat", *make_tensor_ptr<float, ScalarType::Float>({1.0f, 2.0f}));
  print("typed list of one", *make_tensor_ptr<int32_t>({3}));
  print("unsigned", *make_tensor_ptr({3}, {1.0f, 2.9f, 3.0f}, {0}, {1}, ScalarType::UInt32));
  print("unsigned flat", *make_tensor_ptr(std::vector<double>{7.5, 65535}, ScalarType::UInt16));
  print("typed bytes", *make_tensor_ptr<uint8_t>({3}, std::vector<uint8_t>{1, 2, 3}));

  // Containers and bytes.
  std::vector<uint8_t> bytes(24);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i);
  print("bytes", *make_tensor_ptr({2, 3}, bytes, ScalarType::Int));
  print("byte tensor", *make_tensor_ptr(bytes));
  print("moved bytes", *make_tensor_ptr({3}, std::move(bytes), ScalarType::Double));

  // Borrowed memory.
  float data[24];
  for (int i = 0; i < 24; ++i) data[i] = static_cast<float>(i);
  print("pointer", *make_tensor_ptr({4, 6}, data));
  print("transposed", *make_tensor_ptr({4, 6}, data, {1, 0}, {1, 4}));
  print("strides alone", *make_tensor_ptr({2, 3, 4}, data, {}, {1, 2, 6}));
  print("order alone", *make_tensor_ptr({2, 3, 4}, data, {2, 0, 1}, {}));
  print("size one", *from_blob(data, {1, 2, 2}, {10, 2, 1}));
  print("blob", *from_blob(data, {3, 2}, ScalarType::Float));
  print("reinterpreted", *from_blob(data, {2}, ScalarType::Long));
  print("rank 0", *make_tensor_ptr({}, data));
  print("maker", *for_blob(data, {2, 3}, ScalarType::Float)
                      .dim_order({1, 0})
                      .dynamism(TensorShapeDynamism::STATIC)
                      .make_tensor_ptr());
  print("placeholder", *make_tensor_ptr({2, 2}, nullptr));

  // Where the memory is. Memory goes to a device and back only where there is one.
  const executorch::aten::Device cpu(executorch::aten::DeviceType::CPU);
  print("blob there",
        *from_blob(data, {3, 2}, ScalarType::Float, cpu, TensorShapeDynamism::STATIC));
  print("strided blob there",
        *from_blob(data, {2, 2}, {2, 1}, ScalarType::Float, cpu, TensorShapeDynamism::STATIC));
  print("pointer there",
        *make_tensor_ptr({3, 2}, data, ScalarType::Float, cpu, TensorShapeDynamism::STATIC));
  print("maker there", *for_blob(data, {3, 2}, ScalarType::Float).device(cpu).make_tensor_ptr());
  const auto to_device = [](const TensorPtr& tensor, executorch::aten::Device device) {
    return TensorPtr(clone_tensor_ptr_to(tensor, device));
  };
  static_cast<void>(to_device);

  // Deleters.
  int deleted = 0;
  const std::function<void(void*)> deleter = [&deleted](void* p) {
    ++deleted;
    delete[] static_cast<double*>(p);
  };
  for_blob(new double[6], {2, 3}, ScalarType::Double)
      .deleter(std::function<void(void*)>(deleter))
      .make_tensor_ptr();
  from_blob(new double[6], {2, 3}, ScalarType::Double, executorch::aten::DeviceType::CPU,
            std::function<void(void*)>(deleter));
  std::printf("deleted: %d\n", deleted);

  // Creators.
  print("full", *full({2, 2}, 42.0f));
  print("full int", *full({2, 2}, 7, ScalarType::Int));
  print("zeros", *zeros({2}, ScalarType::Half));
  print("ones", *ones({2}, ScalarType::Bool));
  print("scalar tensor", *scalar_tensor(5, ScalarType::Short));
  print("full strided", *full_strided({2, 3}, {1, 2}, 3));
  auto base = make_tensor_ptr({2, 3}, {1.0f, 2.0f, 3.0f, 4.0f, 5.0f, 6.0f}, {1, 0}, {1, 2});
  print("ones like", *ones_like(base, ScalarType::Long));
  print("full like", *full_like(base, 2.5));

  TensorPtr (*const creator)(std::vector<executorch::aten::SizesType>, ScalarType,
                             TensorShapeDynamism) = &zeros;
  print("by address", *creator({2, 3}, ScalarType::Int, TensorShapeDynamism::STATIC));
  print("empty of a vector", *empty(std::vector<executorch::aten::SizesType>{0, 3}));

  // Random creators. Normal numbers beyond 6 come once in 500 million.
  const auto static_shape = TensorShapeDynamism::STATIC;
  print_random<float>("rand", *rand({4, 5}), 0, 1);
  print_random<double>("rand double", *rand({4, 5}, ScalarType::Double, static_shape), 0, 1);
  print_random<float>("rand strided", *rand_strided({4, 5}, {1, 4}), 0, 1);
  print_random<float>("rand like", *rand_like(base), 0, 1);
  print_random<double>("rand like double", *rand_like(base, ScalarType::Double), 0, 1);
  print("rand int", *rand({4, 5}, ScalarType::Int));
  print("rand empty", *rand({0, 5}));
  print_random<float>("rand rank 0", *rand({}), 0, 1);
  print_random<float>("randn", *randn({4, 5}), -6, 6);
  print_random<double>("randn double", *randn({4, 5}, ScalarType::Double), -6, 6);
  print_random<int64_t>("randn long", *randn({40, 50}, ScalarType::Long, static_shape), -6, 7);
  print_random<float>("randn strided", *randn_strided({4, 5}, {5, 1}), -6, 6);
  print_random<float>("randn like", *randn_like(base), -6, 6);
  print_random<int32_t>("randint", *randint(-3, 50, {4, 5}), -3, 50);
  print_random<uint8_t>("randint byte", *randint(200, 255, {40}, ScalarType::Byte), 200, 255);
  print_random<float>("randint float", *randint(10, 99, {4, 5}, ScalarType::Float), 10, 99);
  print_random<int32_t>("randint strided", *randint_strided(0, 99, {4, 5}, {1, 4}), 0, 99);
  print_random<float>("randint like", *randint_like(base, 0, 1000), 0, 1000);
  print_random<int64_t>("randint long", *randint_like(base, 0, 99, ScalarType::Long), 0, 99);
  print("randint of one", *randint(7, 8, {2, 2}, ScalarType::Short, static_shape));

  // Views and clones.
  print("view", *make_tensor_ptr(*base));
  print("flat view", *make_tensor_ptr(*base, {6}));
  auto other = make_tensor_ptr(base);
  print_resize("resized view", other, {1, 3});
  print("its source", *base);
  print("clone", *clone_tensor_ptr(base));
  print("clone cast", *clone_tensor_ptr(*base, ScalarType::Double));
  print("clone to unsigned", *clone_tensor_ptr(base, ScalarType::UInt64));
  print("clone of nothing", *clone_tensor_ptr(make_tensor_ptr({2, 2}, nullptr), ScalarType::Int));

  // Resizing.
  auto tensor = make_tensor_ptr({2, 3}, std::vector<int32_t>{1, 2, 3, 4, 5, 6});
  print_resize("resized", tensor, {3, 2});
  print_resize("shrunk", tensor, {1, 3});
  print_resize("back", tensor, {2, 3});
  print_resize("too large", tensor, {4, 4});
  print_resize("of another rank", tensor, {6});
  auto fixed = make_tensor_ptr({2, 2}, std::vector<float>{1, 2, 3, 4}, {}, {}, ScalarType::Float,
                               TensorShapeDynamism::STATIC);
  print_resize("static, same sizes", fixed, {2, 2});
  print_resize("static", fixed, {4, 1});

  // Accessors.
  auto matrix = from_blob(data, {4, 6});
  auto accessor = make_tensor_accessor<float, 2>(*matrix);
  std::printf("accessor: %g\n", static_cast<double>(accessor.get()[2][3]));
  std::printf("corner: %g\n", static_cast<double>(corner(accessor.get())));
  std::printf("wrong rank: %d\n", static_cast<int>(make_tensor_accessor<float, 3>(*fixed).ok()));

  // Other names.
  matrix->set_data(data + 4);
  std::printf("set_data: %g, device %d, %d\n",
              static_cast<double>(matrix->const_data_ptr<float>()[0]),
              matrix->device_type() == executorch::runtime::etensor::DeviceType::CPU,
              static_cast<int>(matrix->device_index()));
  std::printf("data_ptr: %d\n", matrix->mutable_data_ptr() == data + 4);
  const executorch::aten::TensorList none;
  const executorch::runtime::ArrayRef<int> no_ints;
  const executorch::aten::optional<int> no_int = executorch::aten::nullopt;
  std::printf("names: %d %d %d %d %u %s\n", static_cast<int>(none.size()),
              static_cast<int>(no_ints.size()), no_int.has_value(),
              static_cast<int>(ScalarType::QInt8), static_cast<unsigned>(Error::InvalidProgram),
              to_string(Error::InvalidProgram));
  std::printf("error: %u\n",
              static_cast<unsigned>(make_tensor_accessor<double, 2>(*matrix).error()));
}
