// SPDX-License-Identifier: MIT
// Calls leave the state of the C library and the processor as it was: errno, the locale, the
// rounding mode, floating-point flags, signal handlers, threads. Registers: tests/builds/registers.
#include <tenon/backend/pool.h>
#include <tenon/backend/tracking.h>
#include <tenon/module/function_module.h>
#include <tenon/tenon.h>
#include <tenon/tensor/values.h>

#include <cerrno>
#include <cfenv>
#include <clocale>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#if defined(__linux__)
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#endif

using namespace tenon;

namespace {

int failures = 0;

/// Flags that no call sets, unless it is given a signalling NaN. As in C++ a result that is rounded,
/// overflows or underflows sets FE_INEXACT, FE_OVERFLOW or FE_UNDERFLOW.
#if defined(__x86_64__)
constexpr int kFlags = FE_INVALID | FE_DIVBYZERO;
#else
constexpr int kFlags = 0;
#endif
#if defined(__clang__)
constexpr bool kIsClang = true;
#else
constexpr bool kIsClang = false;
#endif

/// Runs a call with an unusual errno and no flags set, and compares both afterwards.
template <class Call>
void check(const std::string& name, const Call& call, int other_errno = 77,
           int flags_watched = kFlags) {
  errno = 77;
  std::feclearexcept(FE_ALL_EXCEPT);
  call();
  if (errno != 77 && errno != other_errno) {
    std::printf("%s: errno became %d\n", name.c_str(), errno);
    ++failures;
  }
  if (const int flags = std::fetestexcept(flags_watched); flags != 0) {
    std::printf("%s: floating-point flags %#x\n", name.c_str(), static_cast<unsigned>(flags));
    ++failures;
  }
}

int count_threads() {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task"))
    count += !entry.path().empty();
  return count;
}

constexpr double kNotNumbers[] = {std::numeric_limits<double>::infinity(),
                                  -std::numeric_limits<double>::infinity(),
                                  std::numeric_limits<double>::quiet_NaN()};
constexpr ScalarType kTypes[] = {
#define NAME(cpp_type, name) ScalarType::name,
    TENON_FORALL_SCALAR_TYPES(NAME)
#undef NAME
};

/// Drops results.
template <class... T>
void drop(T&&...) {}

/// Numbers at the limits of all types, more than a vector register holds.
TensorPtr numbers() {
  using Limits = std::numeric_limits<double>;
  std::vector<double> values = {0.0,   -0.0,   0.5,   -1.5,  255.7, 256,    65504,
                                70000, -70000, 3e9,   -3e9,  1e19,  -1e19,  1e38,
                                -1e38, 1e39,   -1e39, 1e300, 1e-8,  -1e-40, 1e-310};
  values.insert(values.end(), std::begin(kNotNumbers), std::end(kNotNumbers));
  values.push_back(Limits::max());
  values.push_back(Limits::denorm_min());
  for (size_t i = 0; i < 3 * 26; ++i) values.push_back(values[i]);
  return make_tensor_ptr(values);
}

void check_conversions() {
  const TensorPtr doubles = numbers();
  const TensorPtr floats = make_tensor_ptr(to(doubles, ScalarType::Float, CastMode::Saturate));
  for (const ScalarType from : kTypes) {
    for (const Tensor& source : {*doubles, *floats}) {
      const Tensor in = to(source, from, CastMode::Saturate);
      for (const ScalarType type : kTypes) {
        for (const CastMode mode : {CastMode::Checked, CastMode::Truncate, CastMode::Saturate}) {
          const TensorPtr out = empty(in.sizes(), type);
          // Clang assumes that nobody reads flags: it converts floats that are out of range before it
          // looks whether they are.
          const bool is_hoisted = mode == CastMode::Truncate && !isIntegralType(from, true);
          check(
              std::string(toString(from)) + " to " + toString(type) + ", mode " +
                  std::to_string(static_cast<int>(mode)),
              [&] { drop(copy_(out, in, mode)); }, 77,
              kIsClang && is_hoisted && isIntegralType(type, false) ? 0 : kFlags);
        }
      }
    }
  }
}

/// Numbers that the target holds are not rounded.
void check_exact_conversions() {
  const TensorPtr wholes = make_tensor_ptr({0.0, 1.0, -128.0, 127.0});
  const TensorPtr ends = make_tensor_ptr({-2147483648.0, 2147483520.0});
  for (const ScalarType from : kTypes) {
    for (const ScalarType type : kTypes) {
      for (const Tensor& numbers : {*wholes, *ends}) {
        const Tensor in = to(numbers, from, CastMode::Saturate);
        if (!equal(numbers, to(in, ScalarType::Double, CastMode::Saturate))) continue;
        if (!equal(numbers,
                   to(to(in, type, CastMode::Saturate), ScalarType::Double, CastMode::Saturate))) {
          continue;
        }
        for (const CastMode mode : {CastMode::Truncate, CastMode::Saturate}) {
          const TensorPtr out = empty(in.sizes(), type);
          check(
              std::string(toString(from)) + " to " + toString(type) + ", exact",
              [&] { drop(copy_(out, in, mode)); }, 77, kFlags == 0 ? 0 : kFlags | FE_INEXACT);
        }
      }
    }
  }
}

void check_calls() {
  for (const ScalarType type : kTypes) {
    const std::string of = std::string(" of ") + toString(type);
    check("full" + of, [&] { drop(full({100}, 1, type), try_full({100}, 1e300, type)); });
    check("rand, randn" + of, [&] { drop(rand({1000}, type), randn({1000}, type)); });
    check("to_string" + of, [&] { drop(to_string(to(numbers(), type, CastMode::Saturate))); });
  }
  check("randint, uniform, normal", [] {
    drop(randint(-5, 1 << 30, {1000}), uniform(-1e30, 1e30, {1000}));
    drop(normal(0, 1e30, {1000}, ScalarType::Int));
  });
  check("arange", [] { drop(arange(0.0, 10.0, 0.1)); });
  for (const double a : kNotNumbers) {
    for (const double b : {0.0, 1.0, 1e300, a, -a}) {
      const std::string of = " of " + std::to_string(a) + " and " + std::to_string(b);
      const TensorPtr t = zeros({3});
      check("arange" + of,
            [&] { drop(try_arange(a, b), try_arange(b, a), try_arange(0.0, b, a)); });
      check("uniform" + of,
            [&] { drop(try_uniform(a, b, {3}), try_uniform(b, a, {3}), uniform_(t, b, a)); });
      check("normal" + of,
            [&] { drop(try_normal(a, b, {3}), try_normal(b, a, {3}), normal_(t, b, a)); });
      for (const ScalarType type : kTypes) {
        check("full, Scalar" + of, [&] {
          const Scalar scalar(complex<double>(a, b));
          drop(try_full({3}, a, type), try_full({3}, scalar, type));
          drop(try_full({3}, complex<double>(b, a), type));
          drop(scalar.fits<int64_t>(), scalar.fits<float>());
        });
      }
    }
  }
  check("resize", [] {
    TensorPtr t = zeros({10}, ScalarType::Float, TensorShapeDynamism::DYNAMIC);
    drop(resize_tensor_ptr(t, {20}), resize_tensor_ptr(t, {1, 5}));
  });
  check(
      "more memory than there is",
      [] {
        drop(try_empty({int64_t{1} << 50}), try_zeros({int64_t{1} << 58}));
        TensorPtr t = zeros({100}, ScalarType::Byte, TensorShapeDynamism::DYNAMIC);
        drop(resize_tensor_ptr(t, {int64_t{1} << 50}));
      },
      ENOMEM);  // which malloc sets
  check("a normalised image", [] {
    Normalize normalize;
    normalize.stddev = {1e-30f};
    drop(copy_(empty({3, 100}), ones({3, 100}, ScalarType::Byte), normalize));
  });
  check("exchange, views, and tensors of tensors", [] {
    const TensorPtr t = iota({4, 4}, ScalarType::Float);
    drop(from_dlpack(to_dlpack(t)), from_blob(to_blob(t)));
    drop(from_binary(to_binary(t), {4, 4}, ScalarType::Float));
    drop(cat({transpose(t, 0, 1), *t}), contiguous(flip(t, {0})), try_select(t, 0, 9));
  });
  check("backends", [] {
    alignas(64) unsigned char memory[4096];
    ArenaBackend arena(memory, sizeof memory);
    PoolBackend pool(host_backend());
    TrackingBackend tracking(pool);
    const TensorPtr t = ones({10, 10}, tracking);
    drop(try_zeros({10000}, arena), backend_transfer(backend_copy(t, arena), pool));
    drop(tracking.leak_report());
  });
  check("a module", [] {
    FunctionModule module([](Span<const EValue> in) { return std::vector<EValue>{in[0]}; });
    drop(module.forward(zeros({3})), module.run("nothing"));
  });
}

void handle(int) {}
/// A sanitizer has handlers of its own.
std::vector<void (*)(int)> handlers() {
  std::vector<void (*)(int)> found;
  for (int signal = 1; signal < 32; ++signal) {
    struct sigaction action = {};
    sigaction(signal, nullptr, &action);
    found.push_back(action.sa_handler);
  }
  return found;
}

/// errno where the kernel refuses madvise(), as one without huge pages does, and getrandom(), as an
/// old one and some sandboxes do. The filter stays: last.
void check_refused_calls() {
#if defined(__linux__) && defined(SYS_getrandom)
  sock_filter code[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
                        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_madvise, 0, 1),
                        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EINVAL),
                        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getrandom, 0, 1),
                        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
                        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  sock_fprog program{sizeof code / sizeof *code, code};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
    return;
  }
  check("empty, without huge pages", [] { drop(empty({4 << 20})); });
  check("a backend's memory, without huge pages",
        [] { host_backend().deallocate(host_backend().allocate(16 << 20, 64), 16 << 20); });
  // Of a new thread, which has no seed yet.
  std::thread([] { check("rand, without entropy", [] { drop(rand({4})); }); }).join();
#endif
}

}  // namespace

int main() {
  // None as a program begins with, which a call might set again.
  std::setlocale(LC_ALL, "C.UTF-8");
  const std::string locale = std::setlocale(LC_ALL, nullptr);
  for (const int signal : {SIGTERM, SIGINT, SIGPIPE, SIGUSR1, SIGALRM, SIGCHLD, SIGXFSZ}) {
    std::signal(signal, &handle);
  }
  const auto handlers_before = handlers();
  const int threads = count_threads();
  for (const int rounding : {FE_TONEAREST, FE_UPWARD}) {
    std::fesetround(rounding);
    check_calls();
    check_conversions();
    check_exact_conversions();
    if (std::fegetround() != rounding) {
      std::puts("the rounding mode was changed");
      ++failures;
    }
  }
  if (locale != std::setlocale(LC_ALL, nullptr)) {
    std::puts("the locale was changed");
    ++failures;
  }
  if (handlers() != handlers_before) {
    std::puts("a signal's handler was changed");
    ++failures;
  }
  if (count_threads() != threads) {
    std::puts("a thread was started");
    ++failures;
  }
  check_refused_calls();
  return failures == 0 ? 0 : 1;
}
