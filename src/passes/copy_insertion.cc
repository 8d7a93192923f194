// Adds the copies without which buffers could not be assigned, and removes the copies that are not
// needed. Wanted right before buffers are assigned; needs a flat call graph.
#include "hlokit/copy_insertion.h"

#include "src/passes/passes.h"

namespace hlokit {
namespace {

constexpr Invariant kRequires[] = {Invariant::kFlatCallGraph};

class CopyInsertion : public Pass {
 public:
  std::string_view name() const override { return "copy-insertion"; }
  Result<bool> Run(Module& module, PassContext& context) override {
    TRY(InsertCopies(module, {.log = context.log}));
    return true;
  }
};

}  // namespace

const PassInfo kCopyInsertion = {
    .make = MakePass<CopyInsertion>,
    .summary = "add the copies that live ranges need, remove those that nothing needs",
    .help =
        "Run it after flatten-call-graph, as the last rewriting pass. Copies go where an update in "
        "place could meet a value that is still needed, where a constant or parameter would be "
        "written, and where parts of the result would share memory. Copies whose source and result "
        "can take turns in one buffer go, whoever made them; copies that change a layout stay. "
        "Reports a change always, as XLA does.",
    .requires_invariants = kRequires,
    .reports_partially = true,
};

}  // namespace hlokit
