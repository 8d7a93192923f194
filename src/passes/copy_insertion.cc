// Adds the copies without which buffers could not be assigned, and removes the copies that are not
// needed. Wanted right before buffers are assigned; needs a flat call graph.
#include "hlokit/copy_insertion.h"

#include "src/passes/passes.h"

namespace hlokit {
namespace {

constexpr Invariant kRequires[] = {Invariant::kFlatCallGraph};
constexpr OptionSpec kOptions[] = {
    {"region-analysis-limit", OptionType::kInt, "0",
     "look a second time, value by value, at copies that would stay, and add control edges where "
     "an order makes a copy needless: 0 never, -1 always, N until N pairs of reads and writes were "
     "compared"},
    {"disjoint-attribute", OptionType::kText, "",
     "the frontend attribute of instructions that write other parts of an operand than they read: "
     "such an operand is not copied when nobody else reads it"},
};

class CopyInsertion : public Pass {
 public:
  std::string_view name() const override { return "copy-insertion"; }
  Result<bool> Run(Module& module, PassContext& context) override {
    const PassOptions& options = context.options;
    TRY(InsertCopies(module, {.log = context.log,
                              .region_analysis_limit = options.Int("region-analysis-limit"),
                              .disjoint_attribute = options.Text("disjoint-attribute")}));
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
    .options = kOptions,
    .requires_invariants = kRequires,
    .reports_partially = true,
};

}  // namespace hlokit
