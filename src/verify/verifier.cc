// What does the verifier check, and in which order? hlo-verifier.md section 2.
#include "hlokit/verifier.h"

#include "src/verify/checker.h"

namespace hlokit {

Checker::Checker(const Module& module, const VerifierOptions& options)
    : module_(module), shapes_(module.mutable_shapes()), options_(options), source_map_(module) {
  if (options_.strict_layouts) options_.layout_sensitive = true;
}

std::vector<VerifierFinding> Checker::Run() {
  CheckModule();
  CheckReferences();
  if (HasErrors()) return std::move(findings_);  // the rest would follow broken references
  structure_is_sound_ = true;
  CheckNoCycles();
  CheckNoRecursion();
  if (HasErrors()) return std::move(findings_);
  CheckNames();
  FindCallers();
  ComputeShapeFacts();
  CheckAsyncPairs();
  CheckChannels();
  if (options_.names_unchanged) CheckNamesUnchanged();
  CheckShapes();
  CheckInstructions();
  CheckFusionBodies();
  CheckAsyncComputations();
  CheckBuffers();
  CheckEntryLayout();
  CheckSchedule();
  if (options_.no_collective_deadlocks) CheckDeadlocks();
  CheckAliases();
  CheckDonors();
  CheckAllReduceMix();
  if (finding_count_ > findings_.size()) {
    AddFinding({}, {}, DiagId::kMoreFindings, Severity::kNote,
               fmt::format("{} more problems are not shown", finding_count_ - findings_.size()));
  }
  return std::move(findings_);
}

std::vector<VerifierFinding> FindProblems(const Module& module, const VerifierOptions& options) {
  return Checker(module, options).Run();
}

Status VerifyModule(const Module& module, const VerifierOptions& options) {
  Error error{.exit_code = ExitCode::kVerifyFailed, .diagnostics = {}};
  bool failed = false;
  for (VerifierFinding& finding : FindProblems(module, options)) {
    failed |= finding.diagnostic.severity == Severity::kError;
    error.diagnostics.push_back(std::move(finding.diagnostic));
  }
  if (failed) return std::unexpected(std::move(error));
  return {};
}

}  // namespace hlokit
