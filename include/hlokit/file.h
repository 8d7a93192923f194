#ifndef HLOKIT_FILE_H_
#define HLOKIT_FILE_H_

#include <string>
#include <string_view>

#include "hlokit/result.h"

namespace hlokit {

/// Reads a whole file; "-" is standard input. Fails with kIo on directories and unreadable paths,
/// and on inputs of more than `max_bytes`.
Result<std::string> ReadFile(const std::string& path, size_t max_bytes = size_t{4} << 30);

/// Writes a whole file; "-" is standard output. A regular file is written under a temporary name in
/// the same folder, flushed to disk, then renamed, so that a reader sees the old or the new
/// contents only.
Status WriteFile(const std::string& path, std::string_view contents);

}  // namespace hlokit

#endif  // HLOKIT_FILE_H_
