// What do the checks of the verifier share? The module, the options, the findings, who calls whom.
#ifndef HLOKIT_SRC_VERIFY_CHECKER_H_
#define HLOKIT_SRC_VERIFY_CHECKER_H_

#include <string>
#include <string_view>
#include <vector>

#include "fmt/format.h"
#include "hlokit/source_map.h"
#include "hlokit/verifier.h"

namespace hlokit {

class Checker {
 public:
  Checker(const Module& module, const VerifierOptions& options);

  /// All checks in order; see verifier.cc.
  std::vector<VerifierFinding> Run();

 private:
  // ---- findings (findings.cc) ----
  template <typename... Args>
  void Report(InstId inst, DiagId id, fmt::format_string<Args...> format, Args&&... args) {
    AddInstructionFinding(inst, id, Severity::kError,
                          fmt::format(format, std::forward<Args>(args)...));
  }
  template <typename... Args>
  void ReportWarning(InstId inst, DiagId id, fmt::format_string<Args...> format, Args&&... args) {
    AddInstructionFinding(inst, id, Severity::kWarning,
                          fmt::format(format, std::forward<Args>(args)...));
  }
  template <typename... Args>
  void ReportComputation(CompId comp, DiagId id, fmt::format_string<Args...> format,
                         Args&&... args) {
    AddFinding({}, comp, id, Severity::kError, fmt::format(format, std::forward<Args>(args)...));
  }
  template <typename... Args>
  void ReportModule(DiagId id, fmt::format_string<Args...> format, Args&&... args) {
    AddFinding({}, {}, id, Severity::kError, fmt::format(format, std::forward<Args>(args)...));
  }
  /// Help for the last finding.
  void Help(std::string text);
  void AddInstructionFinding(InstId inst, DiagId id, Severity severity, std::string message);
  void AddFinding(InstId inst, CompId comp, DiagId id, Severity severity, std::string message);
  void FillLocation(InstId inst, Diagnostic* diagnostic);
  bool HasErrors() const { return error_count_ != 0; }

  // ---- helpers ----
  std::string Text(ShapeId shape) const { return shapes_.Text(shape, options_.layout_sensitive); }
  std::string_view Name(InstId id) const { return module_.name(id); }
  std::string_view Name(CompId id) const { return module_.name(id); }
  bool IsArray(ShapeId id) const { return shapes_.IsArray(id); }
  /// Compatible; in layout-sensitive mode with equal layouts too. Dynamic flags are not compared.
  bool Same(ShapeId a, ShapeId b) const;
  bool SameIgnoringMemorySpace(ShapeId a, ShapeId b) const;
  /// Calls `check` for every live instruction.
  template <typename Function>
  void ForEach(Function check) {
    for (CompId comp : module_.computation_order()) {
      if (module_.computation(comp).dead) continue;
      for (InstId id : module_.computation(comp).instructions) {
        if (!module_.IsDead(id)) check(id);
      }
    }
  }
  /// The node of a shape at an index path, or invalid.
  ShapeId ShapeAt(ShapeId shape, std::span<const int64_t> index) const;
  static std::string IndexText(std::span<const int64_t> index);

  // ---- check_structure.cc: references, lists, names ----
  void CheckModule();
  void CheckReferences();
  void CheckComputationLists(CompId comp, std::vector<uint8_t>* listed);
  void CheckParameters(CompId comp);
  void CheckReferencesOf(InstId id);
  void CheckInstructionReference(InstId id, InstId used, std::string_view role);
  void CheckCalleeCount(InstId id);
  void CheckNames();
  // ---- check_circles.cc ----
  void CheckNoCycles();
  bool IsInOrder(CompId comp, std::vector<uint8_t>* state) const;
  void FindCycle(CompId comp, std::vector<uint8_t>* state);
  void CheckNoRecursion();

  void FindCallers();

  // ---- shape_facts.cc: what is known about a shape once and for all ----
  enum ShapeFact : uint8_t {
    kHasUnbounded = 1,
    kHasWrongLayoutRank = 2,
    kHasHostMemory = 4,
    kHasBuffer = 8,
    kHasBrokenOrder = 16,
    kHasBigElementSize = 32,  // an element size in the layout of a type of 8 bits or more
  };
  void ComputeShapeFacts();
  bool Has(ShapeId shape, ShapeFact fact) const { return (facts_[shape.value] & fact) != 0; }
  uint8_t FactsOfArray(ShapeId shape) const;

  // ---- check_shapes.cc ----
  void CheckShapes();
  void CheckShape(InstId id);
  void CheckShapeFacts(InstId id);
  bool ShapeMatches(InstId id, ShapeId expected) const;
  bool CopyMatches(InstId id, ShapeId expected) const;
  void CheckMixedPrecision(InstId id);
  void CheckImplicitBroadcast(InstId id);
  void CheckReducerPrecision(InstId id);

  // ---- check_layouts.cc ----
  void CheckLayouts(InstId id);
  void CheckBitcast(InstId id);
  void CheckLayoutKept(InstId id);
  void CheckStrictBitcast(InstId id);
  bool SourceIsConstant(InstId id) const;

  // ---- check_instructions.cc: what single opcodes ask for ----
  void CheckInstructions();
  void CheckInstruction(InstId id);
  void CheckCompare(InstId id);
  void CheckCustomCall(InstId id);
  void CheckOperandAliasing(InstId id);
  void CheckComposite(InstId id);
  void CheckOrigin(InstId id);

  // ---- check_calls.cc: callers and callees ----
  void CheckCall(InstId id);
  void CheckBoundary(InstId id, CompId callee, std::span<const ShapeId> operands, ShapeId result);
  void CheckFusionBodies();
  void CheckFusionBody(CompId body);
  void CheckCallThreads(InstId id);
  void CheckConsistentSharding(InstId id, std::span<const InstId> same);
  bool HasSideEffect(InstId id) const;

  // ---- check_collectives.cc ----
  void CheckCollective(InstId id);
  void CheckShardCount(InstId id, int64_t subgroup);
  void CheckGroupNumbers(InstId id);
  void CheckPermutePairs(InstId id);
  void CheckAllReduceMix();

  // ---- check_async.cc ----
  void CheckAsyncPairs();
  void CheckAsyncStart(InstId id);
  void CheckAsyncDone(InstId id);
  void CheckAsyncComputations();
  static bool IsTransferOrCollective(Opcode opcode);
  void CheckAsyncThreads(InstId id);
  void CheckChannels();

  // ---- check_buffers.cc ----
  void CheckBuffers();
  void CheckBufferInstruction(InstId id);
  void CheckBufferCall(InstId id);
  void CheckBufferWriters(InstId id);

  // ---- check_config.cc ----
  void CheckEntryLayout();
  bool FitsEntryLayout(ShapeId actual, ShapeId promised) const;
  void CheckAliases();
  void CheckDonors();

  // ---- check_schedule.cc ----
  void CheckSchedule();
  void CheckDeadlocks();
  void CheckNamesUnchanged();

  // ---- check_sharding.cc ----
  void CheckSharding(InstId id);
  static bool SameSharding(std::string_view a, std::string_view b);
  std::string ShardingProblem(ShapeId shape, std::string_view text, int64_t device_limit) const;

  const Module& module_;
  ShapePool& shapes_;
  VerifierOptions options_;
  std::vector<VerifierFinding> findings_;
  bool structure_is_sound_ = false;
  size_t error_count_ = 0;
  size_t finding_count_ = 0;  // also those that were not kept
  SourceMap source_map_;

  /// How a computation is called.
  struct Callers {
    uint32_t count = 0;
    InstId fusion;  // one of each kind
    InstId async;
  };
  std::vector<Callers> callers_;         // by CompId
  std::vector<uint8_t> facts_;           // by ShapeId
  std::vector<ShapeId> operand_shapes_;  // scratch of CheckShape
};

}  // namespace hlokit

#endif  // HLOKIT_SRC_VERIFY_CHECKER_H_
