// Removes instructions whose value nobody needs, and computations that nobody calls.
// Instructions with an effect of their own (send, infeed, rng, …) and parameters stay.
#include "hlokit/simplify.h"
#include "src/passes/passes.h"

namespace hlokit {
namespace {

class Dce : public Pass {
 public:
  std::string_view name() const override { return "dce"; }
  Result<bool> Run(Module& module, PassContext& context) override {
    return RemoveDeadCode(module, context.log);
  }
};

}  // namespace

const PassInfo kDce = {
    .make = MakePass<Dce>,
    .summary = "remove instructions and computations that nobody needs",
    .help =
        "An instruction goes when it has no users, is not the root, is no parameter, carries no "
        "control edge "
        "and has no effect of its own. Then computations that the entry does not reach go.",
};

}  // namespace hlokit
