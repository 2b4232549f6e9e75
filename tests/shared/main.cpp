// SPDX-License-Identifier: MIT
// The program: a thread's generator is one object, from wherever it is asked for.
#include <thread>

#include <tenon/tenon.h>

#include "../odr/check.h"
#include "library.h"

static const void* generator() {
  const void* const here = &tenon::default_generator();
  ODR_CHECK(first::generator() == here);
  ODR_CHECK(second::generator() == here);
  return here;
}

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

int main() {
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
