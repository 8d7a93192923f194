// Can an instruction write its result over one of its operands?
#include "src/copy_insertion/sharing.h"

#include <algorithm>

#include "src/copy_insertion/in_place.h"

namespace hlokit::copies {
namespace {

bool IsElementwiseOpcode(Opcode opcode) {
  return opcode == Opcode::kMap || Info(opcode).elements != Elements::kNo;
}

uint32_t CountUses(const Module& module, InstId inst, InstId operand) {
  std::span<const InstId> all = module.operands(inst);
  return static_cast<uint32_t>(std::count(all.begin(), all.end(), operand));
}

/// Sizes of the operand are those of the result: nothing is repeated.
bool ElementwiseOn(const Module& module, InstId inst, uint32_t operand) {
  if (module.opcode(inst) == Opcode::kDynamicUpdateSlice) return operand == 0;
  if (!IsElementwiseOpcode(module.opcode(inst))) return false;
  const ShapePool& shapes = module.shapes();
  ShapeId from = module.shape(module.operand(inst, operand)), to = module.shape(inst);
  return shapes.IsArray(from) && shapes.IsArray(to) &&
         std::ranges::equal(shapes.sizes(from), shapes.sizes(to));
}

/// All instructions that the parameter flows into, at any distance, are elementwise or tuples.
bool FlowsElementwise(const Module& module, InstId parameter) {
  std::vector<InstId> work = {parameter};
  std::vector<InstId> seen;
  std::vector<uint8_t> marked;
  auto mark = [&](InstId inst) {
    if (inst.value >= marked.size()) marked.resize(inst.value + 1, 0);
    if (marked[inst.value]) return;
    marked[inst.value] = 1;
    work.push_back(inst);
  };
  while (!work.empty()) {
    InstId at = work.back();
    work.pop_back();
    for (InstId user : module.users(at)) {
      if (module.opcode(user) != Opcode::kTuple) {
        for (uint32_t i = 0; i < module.operand_count(user); ++i) {
          if (module.operand(user, i) == at && !ElementwiseOn(module, user, i)) return false;
        }
      }
      mark(user);
    }
  }
  return true;
}

bool FusionCanShare(const Module& module, const Use& use) {
  CompId body = module.to_apply(use.inst);
  if (use.operand >= module.computation(body).parameters.size()) return false;
  InstId parameter = module.computation(body).parameters[use.operand];
  FusionKind kind = static_cast<FusionKind>(module.IntAttr(use.inst, AttrKind::kFusionKind));
  if (kind == FusionKind::kLoop || kind == FusionKind::kInput) {
    return FlowsElementwise(module, parameter);
  }
  InstId root = module.computation(body).root;
  if (kind != FusionKind::kOutput || module.opcode(root) != Opcode::kAdd) return false;
  for (uint32_t i = 0; i < 2; ++i) {
    Opcode product = module.opcode(module.operand(root, i));
    if (product != Opcode::kDot && product != Opcode::kConvolution) continue;
    if (module.operand(root, 1 - i) == parameter && module.users(parameter).size() == 1)
      return true;
  }
  return false;
}

bool SortCanShare(const Module& module, const Use& use, InstId operand, uint32_t node) {
  if (module.users(operand).size() != 1) return false;
  if (module.operand_count(use.inst) == 1) return true;
  const ShapePool& shapes = module.shapes();
  ShapeId shape = module.shape(use.inst);
  return CountUses(module, use.inst, operand) == 1 && shapes.IsTuple(shape) &&
         use.operand < shapes.element_count(shape) &&
         shapes.element_offset(shape, use.operand) == node;
}

/// The call and one elementwise root of the callee are the only readers.
bool CallCanShare(const Module& module, const Use& use, InstId operand) {
  CompId callee = module.to_apply(use.inst);
  if (use.operand >= module.computation(callee).parameters.size()) return false;
  if (module.users(operand).size() != 1) return false;
  InstId parameter = module.computation(callee).parameters[use.operand];
  InstId root = module.computation(callee).root;
  std::span<const InstId> users = module.users(parameter);
  if (users.size() != 1 || users[0] != root) return false;
  if (CountUses(module, root, parameter) != 1) return false;
  for (uint32_t i = 0; i < module.operand_count(root); ++i) {
    if (module.operand(root, i) == parameter && !ElementwiseOn(module, root, i)) return false;
  }
  return true;
}

}  // namespace

bool CanShare(const Module& module, const Use& use, uint32_t node) {
  const ShapePool& shapes = module.shapes();
  InstId operand = module.operand(use.inst, use.operand);
  Opcode opcode = module.opcode(use.inst);
  if (module.opcode(operand) == Opcode::kConstant) return false;
  if (shapes.Subshape(module.shape(operand), use.node) !=
      shapes.Subshape(module.shape(use.inst), node)) {
    return false;
  }
  for (const InPlacePair& pair : InPlacePairs(module, use.inst)) {
    if (module.operand(use.inst, pair.operand) == operand && pair.from == use.node &&
        pair.to == node) {
      return true;
    }
  }
  switch (opcode) {
    case Opcode::kFusion:
      return FusionCanShare(module, use);
    case Opcode::kWhile:
    case Opcode::kConditional:
      return true;
    case Opcode::kDynamicUpdateSlice:
    case Opcode::kScatter:
    case Opcode::kSetDimensionSize:
      return module.operand(use.inst, 0) == operand && CountUses(module, use.inst, operand) == 1;
    case Opcode::kTriangularSolve:
      return module.operand(use.inst, 1) == operand && CountUses(module, use.inst, operand) == 1;
    case Opcode::kSort:
      return SortCanShare(module, use, operand, node);
    case Opcode::kCall:
      return CallCanShare(module, use, operand);
    default:
      return ElementwiseOn(module, use.inst, use.operand);
  }
}

}  // namespace hlokit::copies
