// Do the references of a module lead somewhere, and do its lists agree? Everything else relies on
// it.
#include <algorithm>
#include <functional>

#include "src/verify/checker.h"

namespace hlokit {

void Checker::CheckModule() {
  if (module_.config().name.empty())
    ReportModule(DiagId::kModuleWithoutName, "the module has no name");
  CompId entry = module_.entry();
  if (!entry.valid() || entry.value >= module_.computation_count()) {
    ReportModule(DiagId::kBrokenEntry, "the module has no entry computation");
    return;
  }
  if (module_.computation(entry).dead ||
      std::ranges::find(module_.computation_order(), entry) == module_.computation_order().end()) {
    ReportComputation(entry, DiagId::kBrokenEntry, "the entry computation was removed");
  }
}

void Checker::CheckReferences() {
  if (HasErrors()) return;
  std::vector<uint8_t> listed(module_.instruction_count(), 0);
  for (CompId comp : module_.computation_order()) {
    if (!comp.valid() || comp.value >= module_.computation_count()) {
      ReportModule(DiagId::kBrokenReference, "computation number {} does not exist", comp.value);
      return;
    }
    if (!module_.computation(comp).dead) CheckComputationLists(comp, &listed);
  }
  for (uint32_t i = 0; i < module_.instruction_count(); ++i) {
    InstId id(i);
    if (module_.IsDead(id) || listed[i] != 0) continue;
    CompId comp = module_.computation_of(id);
    if (comp.value < module_.computation_count() && module_.computation(comp).dead) continue;
    Report(id, DiagId::kBrokenList, "the instruction is in no list of instructions");
  }
  if (HasErrors()) return;
  ForEach([&](InstId id) { CheckReferencesOf(id); });
}

void Checker::CheckComputationLists(CompId comp, std::vector<uint8_t>* listed) {
  const ComputationData& data = module_.computation(comp);
  for (InstId id : data.instructions) {
    if (!id.valid() || id.value >= module_.instruction_count()) {
      ReportComputation(comp, DiagId::kBrokenReference, "instruction number {} does not exist",
                        id.value);
      return;
    }
    if (module_.IsDead(id)) continue;
    if ((*listed)[id.value]++ != 0 || module_.computation_of(id) != comp) {
      ReportComputation(comp, DiagId::kBrokenList,
                        "%{} is listed twice or in the wrong computation", Name(id));
      return;
    }
  }
  if (!data.root.valid() || data.root.value >= module_.instruction_count() ||
      module_.IsDead(data.root) || module_.computation_of(data.root) != comp) {
    ReportComputation(comp, DiagId::kBrokenList, "the root is missing or not in the computation");
  }
  CheckParameters(comp);
}

void Checker::CheckParameters(CompId comp) {
  const ComputationData& data = module_.computation(comp);
  size_t count = 0;
  for (InstId id : data.instructions) {
    count += !module_.IsDead(id) && module_.opcode(id) == Opcode::kParameter ? 1 : 0;
  }
  if (count != data.parameters.size()) {
    ReportComputation(comp, DiagId::kBrokenList, "there are {} parameters, but {} are listed",
                      count, data.parameters.size());
    return;
  }
  for (size_t i = 0; i < count; ++i) {
    InstId id = data.parameters[i];
    if (!id.valid() || id.value >= module_.instruction_count() || module_.IsDead(id) ||
        module_.computation_of(id) != comp || module_.opcode(id) != Opcode::kParameter ||
        module_.parameter_number(id) != static_cast<int64_t>(i)) {
      ReportComputation(comp, DiagId::kBrokenList, "parameter {} is not where it should be", i);
    }
  }
}

void Checker::CheckInstructionReference(InstId id, InstId used, std::string_view role) {
  if (!used.valid() || used.value >= module_.instruction_count()) {
    Report(id, DiagId::kBrokenReference, "{} number {} does not exist", role, used.value);
  } else if (module_.IsDead(used)) {
    Report(id, DiagId::kBrokenReference, "{} %{} was removed", role, Name(used));
  } else if (module_.computation_of(used) != module_.computation_of(id)) {
    Report(id, DiagId::kForeignOperand, "{} %{} belongs to %{}", role, Name(used),
           Name(module_.computation_of(used)));
  }
}

void Checker::CheckReferencesOf(InstId id) {
  for (InstId operand : module_.operands(id)) CheckInstructionReference(id, operand, "operand");
  if (!module_.shape(id).valid() || module_.shape(id).value >= shapes_.shape_count()) {
    Report(id, DiagId::kBrokenReference, "the instruction has no shape");
  }
  for (const Attr& attr : module_.attributes(id)) {
    if (attr.kind == AttrKind::kControlPredecessors) {
      for (InstId used : module_.control_predecessors(id)) {
        CheckInstructionReference(id, used, "control predecessor");
      }
    } else if (attr.kind == AttrKind::kCalledComputations) {
      for (uint32_t callee : module_.refs(attr)) {
        if (callee >= module_.computation_count() || module_.computation(CompId(callee)).dead) {
          Report(id, DiagId::kBrokenReference,
                 "a called computation does not exist or was removed");
        }
      }
    }
  }
  CheckCalleeCount(id);
}

void Checker::CheckCalleeCount(InstId id) {
  size_t least = 0;
  size_t most = 0;
  switch (module_.opcode(id)) {
    case Opcode::kWhile:
    case Opcode::kSelectAndScatter:
      least = most = 2;
      break;
    case Opcode::kConditional:
      least = 1;
      most = SIZE_MAX;
      break;
    case Opcode::kAllReduce:
    case Opcode::kAllReduceStart:
    case Opcode::kAsyncStart:
    case Opcode::kCall:
    case Opcode::kFusion:
    case Opcode::kMap:
    case Opcode::kReduce:
    case Opcode::kReduceScatter:
    case Opcode::kReduceWindow:
    case Opcode::kScan:
    case Opcode::kScatter:
    case Opcode::kSort:
      least = most = 1;
      break;
    case Opcode::kAsyncUpdate:
    case Opcode::kAsyncDone:
      most = 1;
      break;
    case Opcode::kCustomCall:
    case Opcode::kUnknown:
      most = SIZE_MAX;
      break;
    default:
      break;
  }
  size_t count = module_.called_computations(id).size();
  if (count < least || count > most) {
    Report(id, DiagId::kCalleeCount, "{} calls {} computations; it needs {}",
           OpcodeText(module_.opcode(id)), count,
           most == SIZE_MAX ? "at least 1" : std::to_string(least == most ? least : most));
  }
}

namespace {

/// Names seen so far, by hash; slots hold number + 1.
class NameTable {
 public:
  explicit NameTable(size_t count) {
    size_t size = 16;
    while (size < 2 * count) size *= 2;
    slots_.assign(size, 0);
  }
  /// The number that this name already has, or `number` after adding it.
  template <typename NameOf>
  uint32_t FindOrAdd(std::string_view name, uint32_t number, NameOf name_of) {
    size_t mask = slots_.size() - 1;
    size_t at = std::hash<std::string_view>()(name) & mask;
    while (slots_[at] != 0) {
      if (name_of(slots_[at] - 1) == name) return slots_[at] - 1;
      at = (at + 1) & mask;
    }
    slots_[at] = number + 1;
    return number;
  }

 private:
  std::vector<uint32_t> slots_;
};

}  // namespace

void Checker::CheckNames() {
  NameTable instructions(module_.instruction_count());
  ForEach([&](InstId id) {
    InstId first(
        instructions.FindOrAdd(Name(id), id.value, [&](uint32_t i) { return Name(InstId(i)); }));
    if (first != id) {
      Report(id, DiagId::kDuplicateName, "%{} in %{} has the same name", Name(first),
             Name(module_.computation_of(first)));
    }
  });
  NameTable computations(module_.computation_count());
  for (CompId comp : module_.computation_order()) {
    CompId first(computations.FindOrAdd(Name(comp), comp.value,
                                        [&](uint32_t i) { return Name(CompId(i)); }));
    if (first != comp) {
      ReportComputation(comp, DiagId::kDuplicateName, "another computation has the same name");
    }
  }
}

void Checker::FindCallers() {
  callers_.assign(module_.computation_count(), {});
  ForEach([&](InstId id) {
    Opcode opcode = module_.opcode(id);
    for (CompId callee : module_.called_computations(id)) {
      Callers& callers = callers_[callee.value];
      ++callers.count;
      if (opcode == Opcode::kFusion) callers.fusion = id;
      if (opcode == Opcode::kAsyncStart) callers.async = id;
    }
  });
  if (InstId fusion = callers_[module_.entry().value].fusion; fusion.valid()) {
    Report(fusion, DiagId::kBrokenEntry, "the fusion calls the entry computation");
  }
}

}  // namespace hlokit
