// Do callers and callees agree exactly? hlo-verifier.md sections 4.5 and 5.1.
#include <algorithm>

#include "src/analysis/attribute_values.h"
#include "src/verify/checker.h"

namespace hlokit {

/// The shape rules compared without layouts; here layouts count, in layout-sensitive mode.
void Checker::CheckBoundary(InstId id, CompId callee, std::span<const ShapeId> operands,
                            ShapeId result) {
  const ComputationData& data = module_.computation(callee);
  size_t count = std::min(operands.size(), data.parameters.size());
  for (size_t i = 0; i < count; ++i) {
    ShapeId parameter = module_.shape(data.parameters[i]);
    if (Same(operands[i], parameter) || !shapes_.Compatible(operands[i], parameter)) continue;
    Report(id, DiagId::kCallBoundary, "operand {} is {}, but parameter {} of %{} is {}", i,
           Text(operands[i]), i, Name(callee), Text(parameter));
    Help("insert a copy in front of the call, or give the parameter the layout of the operand");
  }
  if (!result.valid()) return;
  ShapeId root = module_.shape(data.root);
  if (Same(root, result) || !shapes_.Compatible(root, result)) return;
  Report(id, DiagId::kCallBoundary, "the result is {}, but the root %{} of %{} is {}", Text(result),
         Name(data.root), Name(callee), Text(root));
  Help("insert a copy before the root");
}

void Checker::CheckCall(InstId id) {
  std::span<const CompId> callees = module_.called_computations(id);
  std::vector<ShapeId> operands;
  for (InstId operand : module_.operands(id)) operands.push_back(module_.shape(operand));
  ShapeId result = module_.shape(id);
  std::vector<InstId> same;
  switch (module_.opcode(id)) {
    case Opcode::kWhile:
      for (size_t i = 0; i < 2 && i < callees.size(); ++i) {
        if (options_.layout_sensitive) {
          CheckBoundary(id, callees[i], operands, ShapeId());
        }
        const ComputationData& data = module_.computation(callees[i]);
        if (!data.parameters.empty()) same.push_back(data.parameters[0]);
        if (i == 0) same.push_back(data.root);
      }
      CheckConsistentSharding(id, same);
      return;
    case Opcode::kConditional:
      for (size_t i = 0; i < callees.size() && i + 1 < operands.size(); ++i) {
        if (options_.layout_sensitive) {
          // The first branch is what shape inference looks at.
          CheckBoundary(id, callees[i], std::span(operands).subspan(i + 1, 1),
                        i == 0 ? ShapeId() : result);
        }
        same.push_back(module_.computation(callees[i]).root);
      }
      CheckConsistentSharding(id, same);
      return;
    default:
      if (options_.layout_sensitive && !callees.empty())
        CheckBoundary(id, callees[0], operands, ShapeId());
      if (module_.opcode(id) == Opcode::kCall &&
          module_.HasAttr(id, AttrKind::kOutputToOperandAliasing)) {
        Report(id, DiagId::kOperandAliasing, "a call cannot alias its operands");
      }
  }
}

void Checker::CheckConsistentSharding(InstId id, std::span<const InstId> same) {
  std::string_view first = module_.TextAttr(id, AttrKind::kSharding);
  InstId owner = id;
  for (InstId other : same) {
    std::string_view sharding = module_.TextAttr(other, AttrKind::kSharding);
    if (sharding.empty()) continue;
    if (first.empty()) {
      first = sharding;
      owner = other;
    } else if (!SameSharding(first, sharding)) {
      Report(id, DiagId::kShardingConflict, "%{} has sharding {}, but %{} has {}", Name(owner),
             first, Name(other), sharding);
      return;
    }
  }
}

void Checker::CheckCallThreads(InstId id) {
  switch (module_.opcode(id)) {
    case Opcode::kAsyncStart:  // its computation may run elsewhere
    case Opcode::kAsyncUpdate:
    case Opcode::kAsyncDone:
      return;
    default:
      break;
  }
  std::string_view thread = module_.execution_thread(module_.computation_of(id));
  for (CompId callee : module_.called_computations(id)) {
    if (module_.execution_thread(callee) == thread) continue;
    Report(id, DiagId::kThreadMismatch, "%{} runs on thread \"{}\", the caller on \"{}\"",
           Name(callee), module_.execution_thread(callee), thread);
  }
}

bool Checker::HasSideEffect(InstId id) const {
  switch (module_.opcode(id)) {
    case Opcode::kSend:
    case Opcode::kSendDone:
    case Opcode::kRecv:
    case Opcode::kRecvDone:
    case Opcode::kRng:
    case Opcode::kRngGetAndUpdateState:
    case Opcode::kInfeed:
    case Opcode::kOutfeed:
      return true;
    case Opcode::kAllReduce:
    case Opcode::kAllReduceStart:
    case Opcode::kAllGather:
    case Opcode::kReduceScatter:
      return module_.IntAttr(id, AttrKind::kConstrainLayout) != 0;
    case Opcode::kCustomCall:
      return module_.IntAttr(id, AttrKind::kCustomCallHasSideEffect) != 0;
    default:
      return false;
  }
}

void Checker::CheckFusionBodies() {
  for (CompId comp : module_.computation_order()) {
    if (!module_.computation(comp).dead && callers_[comp.value].fusion.valid())
      CheckFusionBody(comp);
  }
}

void Checker::CheckFusionBody(CompId body) {
  const ComputationData& data = module_.computation(body);
  for (InstId id : data.instructions) {
    if (module_.IsDead(id)) continue;
    bool used = !module_.users(id).empty();
    if (id == data.root) {
      if (used) Report(id, DiagId::kFusionBody, "the root of a fusion cannot have users");
    } else if (!used && !HasSideEffect(id)) {
      Report(id, DiagId::kFusionBody,
             "an instruction of a fusion that is not the root must have users");
      Help("remove the dead instruction");
    }
  }
}

}  // namespace hlokit
