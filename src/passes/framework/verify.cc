// What does the verifier say between passes?
#include "hlokit/pass.h"
#include "hlokit/verifier.h"

namespace hlokit {

Status VerifyForPasses(const Module& module) { return VerifyModule(module); }

}  // namespace hlokit
