// SPDX-License-Identifier: MIT
// compat's Module without exceptions, in a program that takes the log: a failed check goes to the
// failure handler.
#include <tenon/compat/executorch_module.h>
#include <tenon/module/function_module.h>

#include "support/child.h"

static_assert(TENON_HAS_EXCEPTIONS == 0, "this program must be built with -fno-exceptions");

static std::string logged;

#if TENON_DETAIL_ET_HAS_HOOK
void et_pal_emit_log_message(et_timestamp_t timestamp, et_pal_log_level_t level,
                             const char* filename, const char* function, size_t line,
                             const char* message, size_t length) {
  CHECK(timestamp != 0);
  CHECK(std::strlen(message) == length);
  logged += static_cast<char>(level);
  logged += std::string("|") + filename + "|" + function + "|" + std::to_string(line) + "|" +
            std::string(message, length) + "\n";
}
#endif

static void handler(tenon::Error error, const char* message) noexcept {
  std::fprintf(stderr, "%s%s|%s", logged.c_str(), tenon::toString(error), message);
}

static void check_even(int n) noexcept { ET_CHECK_MSG(n % 2 == 0, "%d is odd", n); }

static void check_log() {
  using executorch::runtime::Error, executorch::runtime::EValue;
  const std::string line = std::to_string(__LINE__ + 1);
  ET_LOG(Info, "%d%%", 7);
  CHECK(logged == "I|log_hook.cpp|check_log|" + line + "|7%\n");
  logged.clear();
  ET_LOG(Debug, "not at this level");
  CHECK(logged.empty());
  ET_LOG(Error, "%s", std::string(5000, 'x').c_str());
  CHECK(logged.size() > 1000 && logged.size() < 1100);

  executorch::extension::Module module(std::make_shared<tenon::FunctionModule>(
      [](tenon::Span<const EValue> in) { return std::vector<EValue>{in[0].toInt() + 1}; }));
  CHECK(module.forward(EValue(2))->at(0).toInt() == 3);
  logged.clear();
  CHECK(module.execute("none").error() == Error::InvalidArgument);
  CHECK(logged.find("E|tenon||0|load_method: there is no method \"none\"") == 0);
}

// A promise of docs/guarantees.md.
static void check_failures() {
  tenon::set_failure_handler(&handler);
  logged.clear();
  Death death = death_of([] { check_even(3); });
  CHECK(death.aborted());
  CHECK(death.text.find("F|log_hook.cpp|check_even|") ==
        (TENON_DETAIL_ET_HAS_HOOK ? 0 : std::string::npos));
  CHECK(death.text.find("assert failed (n % 2 == 0): 3 is odd\nInvalidState|") !=
        std::string::npos);
  death = death_of([] { executorch::runtime::runtime_abort(); });
  CHECK(death.aborted());
  CHECK(death.text.find("InvalidState|runtime_abort() was called") == 0);
}

int main() {
  if (TENON_DETAIL_ET_HAS_HOOK) check_log();
  check_failures();
  return failures == 0 ? 0 : 1;
}
