// SPDX-License-Identifier: MIT
//
// Plain loops that know a layout, as programs have them: what bench_grid measures tenon beside.
// grid_loops.cpp is compiled twice: for any processor of the kind, and for this one.

#ifndef TENON_TESTS_BENCHMARK_GRID_LOOPS_H_
#define TENON_TESTS_BENCHMARK_GRID_LOOPS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

// Enumerators alone: the linker must not take a function of tenon that was compiled for this
// processor.
enum class Number {
  Byte,
  Char,
  Bool,
  UInt16,
  Short,
  Half,
  BFloat16,
  Int,
  Float,
  Long,
  Double,
  ComplexFloat,
  ComplexDouble
};

/// Three dimensions or more, the outermost first; strides in elements.
struct Nest {
  std::vector<int64_t> sizes, to, from;
};

using Loop = void (*)(void* to, const void* from, const Nest& nest);

/// Of two dense arrays.
struct Scans {
  bool (*equal)(const void* a, const void* b, int64_t count);
  void (*min_max)(const void* values, int64_t count, void* least, void* largest);
};

/// All that copy such a nest; none for a conversion that C++ has not.
std::vector<Loop> find_loops(Number from, Number to, const Nest& nest);
std::vector<Loop> find_native_loops(Number from, Number to, const Nest& nest);
Scans find_scans(Number type);
Scans find_native_scans(Number type);

#endif  // TENON_TESTS_BENCHMARK_GRID_LOOPS_H_
