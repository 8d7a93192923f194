// What stops a file that is made to eat all memory, or a command that takes for ever?
#include "src/base/limits.h"

#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <csignal>
#include <cstdint>
#include <new>
#include <optional>
#include <string>
#include <string_view>

#include "fmt/format.h"
#include "hlokit/diagnostic.h"
#include "hlokit/exit_code.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HLOKIT_SANITIZED
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define HLOKIT_SANITIZED
#endif
#endif

namespace hlokit {
namespace {

/// Made beforehand: when they are needed, nothing may be allocated any more.
struct Messages {
  std::string memory = Text(DiagId::kMemoryLimit, "the memory limit is reached",
                            "--max-memory SIZE (for instance 8G, 0 for no limit) sets another one");
  std::string time =
      Text(DiagId::kTimeLimit, "the time limit is reached", "--timeout SECONDS sets another one");

  static std::string Text(DiagId id, std::string_view what, std::string_view help) {
    return fmt::format("error: {} [{}]\n  help: {}\n", what, DiagCode(id), help);
  }
};

const Messages& TheMessages() {
  static const Messages messages;
  return messages;
}

[[noreturn]] void EndWith(const std::string& message) {
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, message.data(), message.size());
  _exit(static_cast<int>(ExitCode::kLimit));
}

void OutOfMemory() { EndWith(TheMessages().memory); }

void OutOfTime(int /*signal*/) { EndWith(TheMessages().time); }

/// Only what is written to counts: private memory, not mapped files.
void LimitMemory(uint64_t bytes) {
#ifdef HLOKIT_SANITIZED
  static_cast<void>(bytes);  // sanitizers reserve more address space than any limit
#else
  rlimit limit{};
  if (getrlimit(RLIMIT_DATA, &limit) != 0) return;
  const rlim_t wanted = bytes == 0 ? RLIM_INFINITY : static_cast<rlim_t>(bytes);
  limit.rlim_cur = std::min(wanted, limit.rlim_max);
  setrlimit(RLIMIT_DATA, &limit);
#endif
}

std::optional<double> Number(const std::string& text, std::string_view* rest) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || !std::isfinite(value) || value < 0) return std::nullopt;
  *rest = std::string_view(end, static_cast<size_t>(text.data() + text.size() - end));
  return value;
}

}  // namespace

void StartWithDefaultLimits() {
  TheMessages();
  std::set_new_handler(OutOfMemory);
  // A machine that swaps is of no use to anybody: nine tenths of what it has.
  const uint64_t memory = static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) *
                          static_cast<uint64_t>(sysconf(_SC_PAGE_SIZE));
  LimitMemory(memory / 10 * 9);
}

std::string SetMemoryLimit(const std::string& text) {
  std::string_view unit;
  const std::optional<double> number = Number(text, &unit);
  constexpr std::string_view kUnits = "KMGT";
  const size_t power = unit.empty() ? 0 : kUnits.find(unit[0]) + 1;
  if (!number || unit.size() > 1 || (power == 0 && !unit.empty())) {
    return "'" + text + "' is no size; write for instance 500M or 8G";
  }
  const double bytes = std::ldexp(*number, static_cast<int>(10 * power));
  if (bytes >= 1e18) return "'" + text + "' is more than any machine has";
  LimitMemory(static_cast<uint64_t>(std::ceil(bytes)));  // less than a byte is not "no limit"
  return "";
}

std::string SetTimeLimit(const std::string& text) {
  std::string_view rest;
  const std::optional<double> seconds = Number(text, &rest);
  if (!seconds || !rest.empty() || *seconds > 1e9) {
    return "'" + text + "' is no number of seconds; write for instance 30";
  }
  std::signal(SIGALRM, OutOfTime);
  itimerval timer{};
  timer.it_value.tv_sec = static_cast<time_t>(*seconds);
  timer.it_value.tv_usec = static_cast<suseconds_t>((*seconds - std::floor(*seconds)) * 1e6);
  if (*seconds > 0 && timer.it_value.tv_sec == 0 && timer.it_value.tv_usec == 0) {
    timer.it_value.tv_usec = 1;  // zero would turn the timer off
  }
  setitimer(ITIMER_REAL, &timer, nullptr);
  return "";
}

}  // namespace hlokit
