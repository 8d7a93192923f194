// Moves physical order from layouts into logical dimensions: every value gets a descending layout, and a
// bitcast where old users need the old view. Bytes stay where they are, copies become transposes.
#include "hlokit/printer.h"
#include "src/passes/normalization/normalizer.h"
#include "src/passes/passes.h"

namespace hlokit {
namespace {

constexpr Invariant kRequires[] = {Invariant::kLayoutsSet};
constexpr Invariant kEnsures[] = {Invariant::kLayoutsSet};

class LayoutNormalization : public Pass {
 public:
  std::string_view name() const override { return "layout-normalization"; }
  Result<bool> Run(Module& module, PassContext& context) override {
    Rewriter rewriter(module, context.log);
    const std::vector<CompId> order = module.computation_order();
    for (CompId computation : order) {
      Normalizer normalizer(rewriter);
      for (InstId inst : InstructionPostOrder(module, computation)) {
        if (!module.IsDead(inst)) TRY(normalizer.Visit(inst));
      }
    }
    return rewriter.changed();
  }
};

}  // namespace

const PassInfo kLayoutNormalization = {
    .make = MakePass<LayoutNormalization>,
    .summary = "turn non-descending layouts into permuted dimensions and bitcasts",
    .help =
        "Run it after layout-assignment. Elementwise and reordering operations work on physical dimensions, "
        "a copy becomes a transpose. Operations without a rule (dot, reduce, fusion, …) keep their layouts; "
        "their users read a pair of bitcasts. Reshapes must move nothing.",
    .requires_invariants = kRequires,
    .ensures_invariants = kEnsures,
};

}  // namespace hlokit
