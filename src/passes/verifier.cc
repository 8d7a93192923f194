// Checks the module and changes nothing.
// The runner also calls the verifier between passes when asked to (--verify-each).
#include "src/passes/passes.h"

namespace hlokit {
namespace {

class Verifier : public Pass {
 public:
  std::string_view name() const override { return "verifier"; }
  Result<bool> Run(Module& module, PassContext&) override {
    TRY(VerifyForPasses(module));
    return false;
  }
};

}  // namespace

const PassInfo kVerifier = {
    .make = MakePass<Verifier>,
    .summary = "check the module and change nothing",
    .help = "Fails with what is wrong. XLA's name for it, hlo-verifier, works in filters.",
};

}  // namespace hlokit
