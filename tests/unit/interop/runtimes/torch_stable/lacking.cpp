// SPDX-License-Identifier: MIT
// A library that calls a function which nobody has.
extern "C" int torch_function_of_the_future();
extern "C" int call_it() { return torch_function_of_the_future(); }
