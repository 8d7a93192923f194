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

/// The layout by which the bytes of an array are found; arrays without one are read descending.
struct Places {
  LayoutId order;
  LayoutExtras extras;
  Places(ShapePool& shapes, ShapeId array) : order(shapes.layout(array)) {
    if (!order.valid()) order = shapes.DescendingLayout(shapes.rank(array));
    extras = shapes.extras(order);
    extras.memory_space = 0;
  }
  bool IsSame(const ShapePool& shapes, const Places& other) const {
    return shapes.SameOrder(order, other.order) && extras == other.extras;
  }
};

/// Bitcasts say which bytes they read; with another layout around them they read other elements.
void Engine::NoteChangedBitcast(InstId bitcast, ShapeId operand_before, ShapeId before) {
  const ShapeId operand = module_.shape(module_.operand(bitcast, 0));
  const ShapeId after = module_.shape(bitcast);
  if (!shapes_.IsArray(operand) || !shapes_.IsArray(after)) return;
  if (Places(shapes_, operand).IsSame(shapes_, Places(shapes_, operand_before)) &&
      Places(shapes_, after).IsSame(shapes_, Places(shapes_, before))) {
    return;
  }
  report_.changed_bitcasts.push_back(bitcast);
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
  struct Bitcast {
    InstId inst;
    ShapeId operand_before, before;
  };
  std::vector<Bitcast> bitcasts;
  for (InstId inst : order) {
    if (info(inst).opcode != Opcode::kBitcast) continue;
    bitcasts.push_back({inst, module_.shape(module_.operand(inst, 0)), module_.shape(inst)});
  }
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
  for (const Bitcast& bitcast : bitcasts) {
    NoteChangedBitcast(bitcast.inst, bitcast.operand_before, bitcast.before);
  }
  return true;
}

}  // namespace hlokit::layout
