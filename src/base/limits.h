#ifndef HLOKIT_SRC_BASE_LIMITS_H_
#define HLOKIT_SRC_BASE_LIMITS_H_

#include <string>

namespace hlokit {

/// Sets the limits that every program starts with: nine tenths of the memory of the machine, no
/// limit on time. Beyond a limit the process says so on standard error and ends with
/// ExitCode::kLimit.
void StartWithDefaultLimits();

/// --max-memory: a number with an optional K, M, G or T (powers of 1024); 0 = no limit. Counts what
/// the process allocates, not files that it maps. Empty = fine, else what is wrong with the text.
std::string SetMemoryLimit(const std::string& text);

/// --timeout: seconds of wall-clock time, fractions allowed; 0 = no limit. Returns as above.
std::string SetTimeLimit(const std::string& text);

}  // namespace hlokit

#endif  // HLOKIT_SRC_BASE_LIMITS_H_
