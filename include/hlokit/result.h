#ifndef HLOKIT_RESULT_H_
#define HLOKIT_RESULT_H_

#include <expected>
#include <string>
#include <utility>
#include <vector>

#include "hlokit/diagnostic.h"

namespace hlokit {

/// Why an operation failed: at least one diagnostic, and the exit code that a program should end
/// with.
struct Error {
  ExitCode exit_code = ExitCode::kInternal;
  std::vector<Diagnostic> diagnostics;
};

template <typename T>
using Result = std::expected<T, Error>;
using Status = std::expected<void, Error>;

/// An error with one diagnostic and no place.
std::unexpected<Error> MakeError(ExitCode exit_code, DiagId id, std::string message,
                                 std::string help = "");

/// All diagnostics of an error, one after the other.
std::string FormatError(const Error& error, std::string_view file_name = "");

}  // namespace hlokit

#define HLOKIT_CONCAT_INNER(a, b) a##b
#define HLOKIT_CONCAT(a, b) HLOKIT_CONCAT_INNER(a, b)
/// TRY(expression of type Status): returns its error from the enclosing function.
#define TRY(expression)                                      \
  do {                                                       \
    if (auto try_status = (expression); !try_status) {       \
      return std::unexpected(std::move(try_status).error()); \
    }                                                        \
  } while (false)
/// ASSIGN_OR_RETURN(declaration, expression of type Result<T>)
#define ASSIGN_OR_RETURN(declaration, expression)                                \
  auto HLOKIT_CONCAT(result_, __LINE__) = (expression);                          \
  if (!HLOKIT_CONCAT(result_, __LINE__)) {                                       \
    return std::unexpected(std::move(HLOKIT_CONCAT(result_, __LINE__)).error()); \
  }                                                                              \
  declaration = std::move(*HLOKIT_CONCAT(result_, __LINE__))

#endif  // HLOKIT_RESULT_H_
