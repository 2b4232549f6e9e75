// SPDX-License-Identifier: MIT
// Files in all modes of error handling in one program with tenon::compiled, which is built in one of
// them: the others compile their own functions.
#include <initializer_list>

#include "check.h"

double plain();
double without_exceptions();
double without_texts();
double without_both();

int main() {
  for (double (*part)() : {&plain, &without_exceptions, &without_texts, &without_both}) {
    const double sum = part();
    ODR_CHECK(sum > 21.999 && sum < 22.001);
  }
}
