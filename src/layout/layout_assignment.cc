// What happens in layout assignment, in which order? This file is the table of contents of the
// pass; each step has a file of its own (layout-assignment.md section 3.1).
#include "hlokit/layout_assignment.h"

#include <string>

#include "src/layout/engine.h"

namespace hlokit {
namespace layout {

Engine::Engine(Module& module, const LayoutAssignmentOptions& options)
    : module_(module),
      shapes_(module.shapes()),
      options_(options),
      base_rules_(LayoutRules::Options{.row_reduction = options.row_reduction}),
      rules_(options.rules != nullptr ? *options.rules : base_rules_),
      trace_(options.trace) {
  if (tracing()) trace_->SetRuleBook(rules_.rule_book());
}

Result<LayoutAssignmentReport> Engine::Run() {
  module_.RemoveDead();
  // The graph as the pass sees it, and everything that is known before the first constraint.
  bool ok = CheckEntryLayout() && AddPreparatoryCopies() && SeparateConditionalBranches() &&
            CollectInstructions() && OrderComputations() && ComputePointsTo();
  if (ok) ConstraintOf(module_.entry());

  // At least two rounds: the first lets layouts flow, the second pins what the first has found.
  for (bool changed = true; ok && (changed || cur_ < 2);) {
    StartRound();
    for (CompId computation : visiting_) ok = ok && RunComputation(computation);
    ++cur_;
    changed = false;
    ok = ok && SettleInputOutputAliases(&changed);
  }
  report_.rounds = static_cast<uint32_t>(cur_);

  // The constraints of the last round become layouts; where they disagree there will be copies.
  for (CompId computation : visiting_) ok = ok && AssignComputation(computation);
  ok = ok && WriteEntryLayoutBack();
  if (tracing()) HandOverTables();
  if (!ok) return std::unexpected(std::move(*error_));
  return std::move(report_);
}

}  // namespace layout

Result<LayoutAssignmentReport> AssignLayouts(Module& module,
                                             const LayoutAssignmentOptions& options) {
  return layout::Engine(module, options).Run();
}

std::vector<Diagnostic> Warnings(const Module& module, const LayoutAssignmentReport& report) {
  std::vector<Diagnostic> warnings;
  for (InstId bitcast : report.changed_bitcasts) {
    warnings.push_back(
        {.id = DiagId::kReferenceQuirk,
         .severity = Severity::kWarning,
         .message = "bitcast " + std::string(module.name(bitcast)) +
                    " in a fusion reads other elements than before: the layouts around it changed, "
                    "as XLA writes it",
         .help =
             "run layout assignment before fusion, or turn bitcasts in fusions into reshapes and "
             "transposes"});
  }
  return warnings;
}

}  // namespace hlokit
