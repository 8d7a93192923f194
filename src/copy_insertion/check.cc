// Does the module have the structure that copy insertion relies on?
//
// Less than the verifier asks, so that modules with problems that do not matter here pass. What is
// checked here is what would be read out of range, or walked for ever.
#include "fmt/format.h"
#include "hlokit/printer.h"
#include "src/copy_insertion/steps.h"

namespace hlokit::copies {
namespace {

Status Broken(std::string message) {
  return MakeError(ExitCode::kVerifyFailed, DiagId::kInvariantBroken, std::move(message),
                   "run 'hlokit verify' on the module");
}

/// Operands and callees that the control-flow opcodes must have.
bool CallFits(const Module& module, InstId inst) {
  std::span<const CompId> callees = module.called_computations(inst);
  uint32_t operands = module.operand_count(inst);
  switch (module.opcode(inst)) {
    case Opcode::kWhile:
      return operands == 1 && callees.size() == 2 &&
             module.computation(callees[0]).parameters.size() == 1 &&
             module.computation(callees[1]).parameters.size() == 1;
    case Opcode::kConditional:
      for (CompId branch : callees) {
        if (module.computation(branch).parameters.size() != 1) return false;
      }
      return operands == callees.size() + 1;
    case Opcode::kCall:
    case Opcode::kFusion:
      return callees.size() == 1 && module.computation(callees[0]).parameters.size() == operands;
    case Opcode::kScatter:
    case Opcode::kDynamicUpdateSlice:
    case Opcode::kTriangularSolve:
      return operands >= 2;
    case Opcode::kTuple:
      return module.shapes().IsTuple(module.shape(inst));
    default: {
      int arity = Info(module.opcode(inst)).arity;
      return arity == kVariadic || operands == static_cast<uint32_t>(arity) ||
             module.opcode(inst) == Opcode::kParameter;
    }
  }
}

}  // namespace

Status CheckStructure(const Module& module) {
  std::vector<uint32_t> rank(module.instruction_count(), 0);
  for (CompId computation : module.computation_order()) {
    if (!module.computation(computation).root.valid()) {
      return Broken(fmt::format("%{} has no root", module.name(computation)));
    }
    uint32_t next = 1;
    for (InstId inst : InstructionPostOrder(module, computation)) {
      rank[inst.value] = next++;
      if (!CallFits(module, inst)) {
        return Broken(fmt::format("%{} has other operands or computations than a {} needs",
                                  module.name(inst), OpcodeText(module.opcode(inst))));
      }
      for (InstId operand : module.operands(inst)) {
        if (rank[operand.value] == 0) {
          return Broken(fmt::format("%{} depends on itself", module.name(inst)));
        }
      }
    }
  }
  // A circle of calls: somebody is called before it has a number.
  std::vector<uint8_t> seen(module.computation_count(), 0);
  for (CompId computation : ComputationPostOrder(module)) {
    for (InstId inst : module.computation(computation).instructions) {
      for (CompId callee : module.called_computations(inst)) {
        if (!seen[callee.value]) {
          return Broken(fmt::format("%{} calls itself", module.name(callee)));
        }
      }
    }
    seen[computation.value] = 1;
  }
  return {};
}

}  // namespace hlokit::copies
