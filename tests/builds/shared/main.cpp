// SPDX-License-Identifier: MIT
// The program: a thread's generator, its last error, its default backend and the registry of backends
// are one object each, from wherever they are asked for; what a library has made is known for what it
// is; and a library with a tenon of another version, or built with other switches, keeps to itself.
#include <cstring>
#include <thread>

#include <tenon/module/runtimes.h>
#include <tenon/tenon.h>
#include <tenon/tensor/expr.h>

#include "../odr/check.h"
#include "library.h"

static const void* generator() {
  const void* const here = &tenon::default_generator();
  ODR_CHECK(first::generator() == here);
  ODR_CHECK(second::generator() == here);
  return here;
}

// A promise of docs/guarantees.md.
static void check_sequence() {
  tenon::manual_seed(3);
  // Elements of one sequence, taken here and there.
  ODR_CHECK(first::take() == 0);
  ODR_CHECK(tenon::default_generator().advance(5) == 1);
  ODR_CHECK(second::take() == 6);
  ODR_CHECK(first::take() == 7);
  second::seed(7);
  ODR_CHECK(tenon::default_generator().seed() == 7);
  ODR_CHECK(first::take() == 0);
  tenon::manual_seed(8);
  ODR_CHECK(second::take() == 0);
}

// A promise of docs/guarantees.md.
static void check_registry() {
  using tenon::Device;
  using tenon::DeviceType;
  first::register_device(1);
  second::register_device(2);
  const void* const one = &tenon::backend_for(Device(DeviceType::ExtDev, 1));
  const void* const two = &tenon::backend_for(Device(DeviceType::ExtDev, 2));
  ODR_CHECK(one != two);
  ODR_CHECK(first::find(1) == one && second::find(1) == one);
  ODR_CHECK(first::find(2) == two && second::find(2) == two);
  ODR_CHECK(second::find(3) == nullptr);
  ODR_CHECK(first::current() == &tenon::default_backend());
  {
    tenon::BackendScope scope(tenon::backend_for(Device(DeviceType::ExtDev, 2)));
    ODR_CHECK(first::current() == two && second::current() == two);
  }
  ODR_CHECK(second::current() == &tenon::default_backend());
  // An error of the library's backend is told here, in its words.
  auto t = tenon::zeros({2}, tenon::backend_for(Device(DeviceType::ExtDev, 1)));
  ODR_CHECK(!tenon::try_backend_copy(t, tenon::default_backend()).ok());
  ODR_CHECK(std::strstr(tenon::last_error_message(), "it is far away") != nullptr);
  ODR_CHECK(std::strcmp(first::message(), tenon::last_error_message()) == 0);
  first::unregister_device();
  ODR_CHECK(second::find(1) == nullptr);
  // The second library's stays registered to the end, and so does a tensor in its memory.
  second::keep_tensor();
}

// A promise of docs/guarantees.md.
static void check_runtimes() {
  first::register_runtime(".one");
  ODR_CHECK(second::can_open("x.one") && !second::can_open("x.two"));
  ODR_CHECK(tenon::open_module("model.one").value()->forward().value()[0].toInt() == 9);
  ODR_CHECK(!newer::can_open("x.one") && !wider::can_open("x.one"));
  second::unregister_runtime(".one");
  ODR_CHECK(!first::can_open("x.one"));
}

// A promise of docs/guarantees.md.
static void check_types() {
  tenon::TensorPtr t;
  first::make_template(&t);
  ODR_CHECK(tenon::dim_names(t).size() == 2);
  second::make_expression(&t);
  ODR_CHECK(tenon::to_string(*tenon::expression(t)) == "Constant(1) Float {2, 3}");
  t = nullptr;
  bool caught = false;
  try {
    second::fail();
  } catch (const tenon::Exception& e) {
    caught = e.error() == tenon::Error::InvalidArgument;
  }
  ODR_CHECK(caught);
}

// A promise of docs/guarantees.md.
static void check_others() {
  tenon::manual_seed(3);
  newer::seed(4);
  wider::seed(5);
  ODR_CHECK(newer::generator() != &tenon::default_generator());
  ODR_CHECK(wider::generator() != &tenon::default_generator());
  ODR_CHECK(newer::generator() != wider::generator());
  ODR_CHECK(tenon::default_generator().seed() == 3);
  newer::register_device(1);
  wider::register_device(3);
  ODR_CHECK(first::find(1) == nullptr && first::find(3) == nullptr);
  newer::unregister_device();
  wider::unregister_device();
  ODR_CHECK(newer::current() != &tenon::default_backend());
  ODR_CHECK(wider::current() != &tenon::default_backend());

  // A Blob goes from one to the other by DLPack's C struct.
  ODR_CHECK(newer::sum(wider::lend()) == 21 && wider::released() == 1);
  ODR_CHECK(first::sum(newer::lend()) == 21 && newer::released() == 1);
  ODR_CHECK(newer::sum(tenon::to_dlpack(tenon::ones({3, 4}))) == 12);
}

static int reports = 0;
static tenon::TensorPtr late_tensor;  // dropped after main(), maybe after the backend

int main() {
  tenon::set_failure_handler([](tenon::Error, const char*) noexcept { ++reports; });
  check_registry();
  check_runtimes();
  check_types();
  check_others();
  late_tensor = tenon::zeros({3}, tenon::backend_for(tenon::Device(tenon::DeviceType::ExtDev, 2)));
  const void* const here = generator();
  check_sequence();
  const void* there = nullptr;
  std::thread([&] {
    // The libraries ask first: they do not depend on the program's having made it.
    there = second::generator();
    ODR_CHECK(generator() == there);
    check_sequence();
  }).join();
  ODR_CHECK(there != here);
  ODR_CHECK(generator() == here);
}
