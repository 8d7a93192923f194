// What does the verifier say between passes?
#include "hlokit/pass.h"
#ifdef HLOKIT_HAS_VERIFIER
#include "hlokit/verifier.h"
#endif

namespace hlokit {

Status VerifyForPasses(const Module& module) {
#ifdef HLOKIT_HAS_VERIFIER
  return VerifyModule(module);
#else
  (void)module;
  return MakeError(ExitCode::kUnsupported, DiagId::kOtherPassFailure,
                   "this build has no verifier", "leave --verify-each and the pass verifier out");
#endif
}

}  // namespace hlokit
