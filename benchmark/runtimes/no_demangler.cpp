// SPDX-License-Identifier: MIT
//
// libstdc++ names the type of an exception that nobody caught, for which it has a demangler: a sixth
// of a program that is linked statically. This definition takes the place of the library's.
#include <cstdlib>

namespace __gnu_cxx {
void __verbose_terminate_handler();
void __verbose_terminate_handler() { std::abort(); }
}  // namespace __gnu_cxx
