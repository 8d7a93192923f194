// Which layouts do the instructions inside a fusion get? (section 10.8)
#include "src/layout/engine.h"

namespace hlokit::layout {

/// `shape` with the layouts of `layouts`; both are built alike.
bool Engine::TakeLayouts(InstId inst, ShapeId layouts) {
  ShapeId shape = module_.shape(inst);
  if (shapes_[shape].bare == shapes_[layouts].bare) {
    module_.set_shape(inst, layouts);
    return true;
  }
  HLOKIT_LAYOUT_CHECK(CheckSameStructure(shape, layouts, inst));
  std::vector<LayoutId> by_preorder;
  for (ShapeId node : shapes_.Subshapes(layouts)) by_preorder.push_back(shapes_.layout(node));
  module_.set_shape(inst, shapes_.WithLeafLayouts(shape, by_preorder));
  return true;
}

bool Engine::AssignFusionBody(InstId fusion) {
  std::span<const CompId> called = module_.called_computations(fusion);
  if (called.empty()) return true;
  CompId body = called[0];
  bool custom =
      module_.IntAttr(fusion, AttrKind::kFusionKind) == static_cast<int>(FusionKind::kCustom);
  std::vector<InstId> order;
  HLOKIT_LAYOUT_CHECK(PostOrder(body, &order));
  InstId root = module_.computation(body).root;
  for (InstId inst : order) {
    Opcode opcode = info(inst).opcode;
    if (opcode == Opcode::kParameter) {
      uint32_t number = static_cast<uint32_t>(module_.parameter_number(inst));
      if (number >= module_.operand_count(fusion)) {
        return Fail(DiagId::kLayoutOperandCount,
                    Quote(fusion) + " has fewer operands than its body has parameters", "",
                    ExitCode::kVerifyFailed);
      }
      HLOKIT_LAYOUT_CHECK(TakeLayouts(inst, module_.shape(module_.operand(fusion, number))));
    } else if (inst == root) {
      HLOKIT_LAYOUT_CHECK(TakeLayouts(inst, module_.shape(fusion)));
    } else if (opcode == Opcode::kGetTupleElement) {
      ShapeId tuple = module_.shape(Operand(inst, 0));
      uint32_t index = static_cast<uint32_t>(module_.tuple_index(inst));
      if (shapes_.IsTuple(tuple) && index < shapes_.element_count(tuple)) {
        HLOKIT_LAYOUT_CHECK(TakeLayouts(inst, shapes_.element(tuple, index)));
      }
    } else if (opcode == Opcode::kConstant) {
      // The layout of its literal is the one that is written at it.
      module_.set_shape(inst, shapes_.FillMissingLayouts(module_.shape(inst)));
    } else if (opcode != Opcode::kInfeed && !custom) {
      module_.set_shape(inst, shapes_.ClearLayouts(module_.shape(inst)));
    }
  }
  return true;
}

}  // namespace hlokit::layout
