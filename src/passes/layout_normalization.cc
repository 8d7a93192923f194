// Moves physical order from layouts into logical dimensions: every value gets a descending layout,
// and a bitcast where old users need the old view. Bytes stay where they are, copies become
// transposes.
#include <algorithm>

#include "src/passes/normalization/normalizer.h"
#include "src/passes/passes.h"

namespace hlokit {
namespace {

constexpr Invariant kRequires[] = {Invariant::kLayoutsSet};
constexpr Invariant kEnsures[] = {Invariant::kLayoutsSet};
constexpr OptionSpec kOptions[] = {
    {"reference-quirks", OptionType::kBool, "true",
     "write what XLA writes also where that is wrong (a scatter with an implied index vector "
     "dimension)"},
};

/// Visits a computation depth first, operands before users. Operands are read when a user is
/// reached, so a bitcast that replaced a value is visited too when a later user finds it in its
/// place.
class Walk {
 public:
  Walk(Rewriter& rewriter, const NormalizerOptions& options, CompId computation)
      : rewriter_(rewriter),
        module_(rewriter.module()),
        computation_(computation),
        normalizer_(rewriter, options) {}

  Status Run() {
    InstId root = module_.computation(computation_).root;
    std::vector<InstId> ends;
    for (InstId inst : module_.computation(computation_).instructions) {
      if (inst != root && module_.users(inst).empty() &&
          rewriter_.control_successors(inst).empty()) {
        ends.push_back(inst);
      }
    }
    ends.push_back(root);
    for (InstId end : ends) TRY(Visit(end));
    return {};
  }

 private:
  enum State : uint8_t { kNew, kOpen, kDone };

  State& state(InstId inst) {
    if (inst.value >= states_.size()) states_.resize(module_.instruction_count(), kNew);
    return states_[inst.value];
  }

  Status Visit(InstId end) {
    std::vector<InstId> stack = {end};
    while (!stack.empty()) {
      InstId inst = stack.back();
      if (state(inst) != kNew || module_.IsDead(inst)) {
        stack.pop_back();
        if (state(inst) == kOpen && !module_.IsDead(inst)) TRY(normalizer_.Visit(inst));
        state(inst) = kDone;
        continue;
      }
      state(inst) = kOpen;
      size_t first = stack.size();
      for (InstId operand : module_.operands(inst)) {
        if (state(operand) == kNew) stack.push_back(operand);
      }
      for (InstId before : module_.control_predecessors(inst)) {
        if (state(before) == kNew) stack.push_back(before);
      }
      std::reverse(stack.begin() + static_cast<std::ptrdiff_t>(first), stack.end());
    }
    return {};
  }

  Rewriter& rewriter_;
  Module& module_;
  CompId computation_;
  Normalizer normalizer_;
  std::vector<State> states_;
};

class LayoutNormalization : public Pass {
 public:
  std::string_view name() const override { return "layout-normalization"; }
  Result<bool> Run(Module& module, PassContext& context) override {
    Rewriter rewriter(module, context.log);
    const std::vector<CompId> order = module.computation_order();
    std::vector<uint8_t> fused(module.computation_count(), 0);
    for (CompId computation : order) {
      for (InstId inst : module.computation(computation).instructions) {
        if (module.opcode(inst) != Opcode::kFusion) continue;
        for (CompId body : module.called_computations(inst)) fused[body.value] = 1;
      }
    }
    NormalizerOptions options;
    options.reference_quirks = context.options.Bool("reference-quirks");
    options.context = &context;
    for (CompId computation : order) {
      if (!fused[computation.value]) TRY(Walk(rewriter, options, computation).Run());
    }
    return rewriter.changed();
  }
};

}  // namespace

const PassInfo kLayoutNormalization = {
    .make = MakePass<LayoutNormalization>,
    .summary = "turn non-descending layouts into permuted dimensions and bitcasts",
    .help =
        "Run it after layout-assignment. Elementwise and reordering operations work on physical "
        "dimensions, "
        "a copy becomes a transpose. Operations without a rule (dot, reduce, fusion, …) keep their "
        "layouts; "
        "their users read a pair of bitcasts. Reshapes must move nothing. Bodies of fusions stay "
        "as they are.",
    .options = kOptions,
    .requires_invariants = kRequires,
    .ensures_invariants = kEnsures,
};

}  // namespace hlokit
