// How do calls, loops and conditionals agree with the computations that they call? (4.2 and 4.3)
#include "fmt/format.h"
#include "src/layout/engine.h"

namespace hlokit::layout {

bool Engine::CheckCompatible(ShapeId a, ShapeId b, InstId where) {
  if (shapes_.Compatible(a, b)) return true;
  return Fail(DiagId::kLayoutIncompatibleShape,
              fmt::format("at {}: {} and {} must have one layout and are not compatible",
                          Quote(where), shapes_.Text(a, false), shapes_.Text(b, false)),
              "run 'hlokit verify' on the module", ExitCode::kVerifyFailed);
}

bool Engine::ConstrainCall(InstId inst) {
  std::span<const CompId> called = module_.called_computations(inst);
  if (called.empty() || !computations_[called[0].value].created) return true;
  const ComputationState& callee = computations_[called[0].value];
  Why why{TraceRule::kCall, inst};
  cause_ = callee.result_event;
  ShapeId result = rules_.UnShardedShape(module_, inst, callee.layout.result, -1);
  HLOKIT_LAYOUT_CHECK(SetInstruction(result, inst, Mandatory(), false, why));
  if (OperandCount(inst) != callee.layout.parameters.size()) {
    return Fail(DiagId::kLayoutOperandCount,
                fmt::format("{} has {} operands, the computation that it calls has {} parameters",
                            Quote(inst), OperandCount(inst), callee.layout.parameters.size()),
                "run 'hlokit verify' on the module", ExitCode::kVerifyFailed);
  }
  for (uint32_t k = 0; k < OperandCount(inst); ++k) {
    cause_ = ComputationEvent(callee, k);
    ShapeId wanted = rules_.UnShardedShape(module_, inst, callee.layout.parameters[k], k);
    HLOKIT_LAYOUT_CHECK(SetOperandShape(inst, k, wanted, Mandatory(), why));
  }
  return true;
}

bool Engine::ConstrainWhile(InstId inst) {
  std::span<const CompId> called = module_.called_computations(inst);
  if (called.size() != 2 || !computations_[called[0].value].created) return true;
  CompId body = called[0];
  CompId condition = called[1];
  ConstraintOf(condition);
  ComputationState& b = computations_[body.value];
  ComputationState& c = computations_[condition.value];
  if (b.layout.parameters.size() != 1 || c.layout.parameters.size() != 1) {
    return Fail(DiagId::kLayoutOperandCount,
                "the body and the condition of " + Quote(inst) + " must have one parameter each",
                "run 'hlokit verify' on the module", ExitCode::kVerifyFailed);
  }
  HLOKIT_LAYOUT_CHECK(CheckCompatible(b.layout.result, b.layout.parameters[0], inst));
  HLOKIT_LAYOUT_CHECK(CheckCompatible(b.layout.parameters[0], c.layout.parameters[0], inst));
  if (!IdenticalShapes(b.layout.result, b.layout.parameters[0])) {
    SetComputationShape(body, 0, b.layout.result, TraceRule::kWhile, inst, b.result_event);
    b.priority = cur_ + 2;
    b.result_set = b.parameters_set = true;
  }
  if (!IdenticalShapes(b.layout.parameters[0], c.layout.parameters[0])) {
    SetComputationShape(condition, 0, b.layout.parameters[0], TraceRule::kWhile, inst,
                        ComputationEvent(b, 0));
    c.priority = cur_ + 2;
    c.result_set = c.parameters_set = true;
  }
  Why why{TraceRule::kWhile, inst};
  cause_ = b.result_event;
  ShapeId state = b.layout.result;
  return SetOperandShape(inst, 0, state, Mandatory(), why) &&
         SetInstruction(state, inst, Mandatory(), false, why);
}

/// Every compared field of the layouts is equal; dynamic flags are ignored. Layouts are interned,
/// so equal fields are equal ids, but for the metadata prefix, which nothing compares.
bool Engine::IdenticalShapes(ShapeId a, ShapeId b) {
  if (a == b) return true;
  if (!shapes_.Compatible(a, b)) return false;
  auto same = [&](LayoutId x, LayoutId y) {
    if (x == y || !x.valid() || !y.valid()) return x == y;
    if (!shapes_.SameOrder(x, y)) return false;
    LayoutExtras left = shapes_.extras(x);
    left.dynamic_shape_metadata_prefix_bytes =
        shapes_.extras(y).dynamic_shape_metadata_prefix_bytes;
    return left == shapes_.extras(y);
  };
  std::vector<ShapeId> left = shapes_.Subshapes(a);
  std::vector<ShapeId> right = shapes_.Subshapes(b);
  for (size_t i = 0; i < left.size(); ++i) {
    if (!same(shapes_.layout(left[i]), shapes_.layout(right[i]))) return false;
  }
  return true;
}

bool Engine::ConstrainConditional(InstId inst) {
  std::span<const CompId> called = module_.called_computations(inst);
  if (called.empty() || !computations_[called[0].value].created) return true;
  std::vector<CompId> branches(called.begin(), called.end());
  if (OperandCount(inst) != branches.size() + 1) {
    return Fail(DiagId::kLayoutOperandCount,
                fmt::format("{} has {} branches and {} operands", Quote(inst), branches.size(),
                            OperandCount(inst)),
                "run 'hlokit verify' on the module", ExitCode::kVerifyFailed);
  }
  // The largest branch that takes something decides.
  uint32_t preferred = 0;
  size_t most = 0;
  for (uint32_t k = 0; k < branches.size(); ++k) {
    size_t size = module_.computation(branches[k]).instructions.size();
    ShapeId operand = module_.shape(Operand(inst, k + 1));
    bool empty_tuple = shapes_.IsTuple(operand) && shapes_.element_count(operand) == 0;
    if (size > most && !empty_tuple) {
      most = size;
      preferred = k;
    }
    if (ConstraintOf(branches[k]).layout.parameters.size() != 1) {
      return Fail(DiagId::kLayoutBranchParameters,
                  fmt::format("branch {} of {} has {} parameters", k, Quote(inst),
                              computations_[branches[k].value].layout.parameters.size()),
                  "run 'hlokit verify' on the module", ExitCode::kVerifyFailed);
    }
  }
  const ComputationState& chosen = computations_[branches[preferred].value];
  ShapeId result = chosen.layout.result;
  EventId result_event = chosen.result_event;
  Why why{TraceRule::kConditional, inst};
  for (uint32_t k = 0; k < branches.size(); ++k) {
    ComputationState& branch = computations_[branches[k].value];
    HLOKIT_LAYOUT_CHECK(CheckCompatible(branch.layout.result, result, inst));
    if (shapes_.SameShapeAndOrder(branch.layout.result, result, /*strict=*/false)) {
      cause_ = ComputationEvent(branch, 0);
      HLOKIT_LAYOUT_CHECK(
          SetOperandShape(inst, k + 1, branch.layout.parameters[0], Mandatory(), why));
      continue;
    }
    if (branch.mismatched) {
      return Fail(
          DiagId::kLayoutBranchTwice,
          fmt::format("{} is a branch of {} and must change its result, but that was decided "
                      "already: it is used as a branch more than once",
                      Quote(branches[k]), Quote(inst)),
          "give each use a copy of the computation");
    }
    branch.mismatched = true;
    branch.wanted_result = result;
    branch.wanted_result_event = result_event;
    settled_ = false;
  }
  cause_ = ComputationEvent(chosen, 0);
  HLOKIT_LAYOUT_CHECK(
      SetOperandShape(inst, preferred + 1, chosen.layout.parameters[0], Mandatory(), why));
  cause_ = result_event;
  return SetInstruction(result, inst, Mandatory(), false, why);
}

}  // namespace hlokit::layout
