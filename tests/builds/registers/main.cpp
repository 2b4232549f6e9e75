// SPDX-License-Identifier: MIT
// After every public function that runs vector kernels, the upper halves of the vector registers are
// zero again: while they are not, SSE code such as the C library's exp() takes many times as long.
//
// Without Catch2, so that nothing runs between a call and the question. Exit status 77: skipped.
// QEMU's user mode has no AVX-512, so that level is tested where the processor has it.
#include <cstdio>
#include <cstring>

#include "tenon/tenon.h"

#if TENON_HAS_AVX2
#include <cpuid.h>

using namespace tenon;

namespace {

/// XGETBV with ECX 1: what is not in its initial state. Bit 2: upper halves of YMM registers, bit
/// 6: of the lower ZMM ones.
bool upper_halves_in_use() {
  unsigned low;
  unsigned high;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(1) : "memory");
  return (low & 0x44u) != 0;
}
void clear_upper_halves() {
  asm volatile("vzeroupper" ::
                   : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9",
                     "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15", "memory");
}

bool processor_can_say() {
  unsigned a;
  unsigned b;
  unsigned c;
  unsigned d;
  return __get_cpuid_count(0xd, 1, &a, &b, &c, &d) != 0 && (a & 4u) != 0;
}

int checks = 0;
int failures = 0;

/// A function of its own: what the compiler vectorises of it by itself, it clears at the end.
template <class Call>
TENON_NOINLINE void run(const Call& call) {
  call();
}

/// Runs `call` and asks; a call that fails the test does not hide the next one.
template <class Call>
void check(const char* name, const char* type, int64_t size, const Call& call) {
  clear_upper_halves();
  run(call);
  const bool in_use = upper_halves_in_use();
  clear_upper_halves();
  ++checks;
  if (!in_use) return;
  if (++failures > 40) return;
  std::printf("%s of %lld %s leaves upper halves in use, instruction set %d\n", name,
              static_cast<long long>(size), type, static_cast<int>(detail::isa()));
}

constexpr ScalarType kTypes[] = {
    ScalarType::Byte,        ScalarType::Char,   ScalarType::Short,       ScalarType::Int,
    ScalarType::Long,        ScalarType::UInt64, ScalarType::Half,        ScalarType::BFloat16,
    ScalarType::Float,       ScalarType::Double, ScalarType::Float8_e5m2, ScalarType::Bool,
    ScalarType::ComplexFloat};

void check_creators(int64_t n, ScalarType type) {
  const char* name = toString(type);
  Generator generator(7, static_cast<uint64_t>(n % 5));
  check("full", name, n, [&] { full({n}, 1, type); });
  check("zeros", name, n, [&] { zeros({n}, type); });
  check("rand", name, n, [&] { rand({n}, generator, type); });
  check("randn", name, n, [&] { randn({n}, generator, type); });
  check("randint", name, n, [&] { randint(0, 2, {n}, generator, type); });
  if (type == ScalarType::Long || type == ScalarType::Double) {
    check("wide randint", name, n, [&] { randint(0, 1ll << 40, {n}, generator, type); });
  }
  auto tensor = empty({n}, type);
  check("fill_", name, n, [&] { (void)fill_(tensor, 1); });
  check("zero_", name, n, [&] { (void)zero_(tensor); });
  check("uniform_", name, n, [&] { (void)uniform_(tensor, 0, 1, generator); });
  check("normal_", name, n, [&] { (void)normal_(tensor, 0, 1, generator); });
  check("random_", name, n, [&] { (void)random_(tensor, 0, 2, generator); });
}

void check_copies(int64_t n, ScalarType type) {
  const char* name = toString(type);
  auto rows = ones({n, 5}, type);
  auto pixels = ones({n, 3}, type);
  auto planes = ones({3, n}, type);
  auto other = empty({5, n}, type);
  check("clone", name, n, [&] { clone_tensor_ptr(rows); });
  check("contiguous of transpose", name, n, [&] { contiguous(transpose(rows, 0, 1)); });
  check("pixels to planes", name, n, [&] { contiguous(transpose(pixels, 0, 1)); });
  check("planes to pixels", name, n, [&] { contiguous(transpose(planes, 0, 1)); });
  check("copy_ transposed", name, n, [&] { (void)copy_(transpose(other, 0, 1), rows); });
  check("copy_ of columns", name, n,
        [&] { (void)copy_(select(pixels, 1, 0), select(rows, 1, 2)); });
  auto square = ones({n % 140 + 1, n % 140 + 1}, type);
  check("contiguous of a square's transpose", name, n,
        [&] { contiguous(transpose(square, 0, 1)); });
}

void check_casts(int64_t n, ScalarType from) {
  auto source = ones({n}, from);
  auto columns = ones({7, n}, from);
  for (const ScalarType to_type : kTypes) {
    char name[64];
    std::snprintf(name, sizeof name, "%s to %s", toString(from), toString(to_type));
    check("to, Truncate,", name, n, [&] { to(source, to_type, CastMode::Truncate); });
    check("to, Saturate,", name, n, [&] { to(source, to_type, CastMode::Saturate); });
    if (!canCast(from, to_type)) continue;
    check("clone_tensor_ptr", name, n, [&] { clone_tensor_ptr(source, to_type); });
    auto target = empty({n, 7}, to_type);
    check("copy_ transposed", name, n, [&] { (void)copy_(target, transpose(columns, 0, 1)); });
    if (isComplexType(from) || !isFloatingType(to_type)) continue;
    const Normalize normalize{0.5f, {1, 2, 3, 4, 5, 6, 7}, {3}, 1};
    check("copy_ normalised", name, n,
          [&] { (void)copy_(target, transpose(columns, 0, 1), normalize); });
  }
}

}  // namespace

// A promise of docs/guarantees.md.
int main() {
  if (!processor_can_say()) {
    std::puts("skipped: this processor has no XGETBV that tells which registers are in use");
    return 77;
  }
  const detail::Isa best = detail::detect_isa();
  if (best == detail::Isa::Baseline) {
    std::puts("skipped: this processor has no AVX2");
    return 77;
  }
  // The question works: something that is in use is seen.
  asm volatile("vpcmpeqd %%ymm0, %%ymm0, %%ymm0" ::: "xmm0");
  if (!upper_halves_in_use()) {
    std::puts("upper halves that were just written are not seen");
    return 1;
  }
  clear_upper_halves();
  if (best < detail::Isa::Avx512) std::puts("without AVX-512, which this processor has not");
  for (int level = 0; level <= static_cast<int>(best); ++level) {
    detail::isa() = static_cast<detail::Isa>(level);
    for (int64_t n = 1; n <= 700; n += n < 140 ? 1 : 37) {
      for (const ScalarType type : kTypes) {
        check_creators(n, type);
        check_copies(n, type);
        if (n % 7 == 1) check_casts(n, type);
      }
    }
  }
  std::printf("%d calls, %d of which left upper halves in use\n", checks, failures);
  return failures == 0 ? 0 : 1;
}
#else
int main() {
  std::puts("skipped: no AVX here");
  return 77;
}
#endif
