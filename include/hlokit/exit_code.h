#ifndef HLOKIT_EXIT_CODE_H_
#define HLOKIT_EXIT_CODE_H_

namespace hlokit {

/// The exit codes of every hlokit program. The drop-in tools keep the codes of what they replace.
enum class ExitCode : int {
  kOk = 0,            ///< done
  kCheckFailed = 1,   ///< a check said no (diff found differences, verify refused, …)
  kUsage = 2,         ///< the command line is wrong
  kCannotParse = 3,   ///< the input is not what it should be
  kUnsupported = 4,   ///< understood, but not possible (a bitcast before layout assignment, …)
  kVerifyFailed = 5,  ///< a pass produced or met an inconsistent module
  kIo = 6,            ///< reading or writing failed
  kLimit = 7,         ///< --max-memory or --timeout was reached
  kInternal = 70,     ///< a bug of ours
};

}  // namespace hlokit

#endif  // HLOKIT_EXIT_CODE_H_
