// Where do the operands of dots come from? (section 4.5, "packed" and "AUTO chain")
#include "src/backend/dot_operand_origins.h"

#include <algorithm>

namespace hlokit::backend {
namespace {

bool IsPackedType(ElementType type) {
  return Info(type).kind != ElementKind::kOther && type != ElementType::kPred &&
         Info(type).bits < 8;
}

bool IsElementwiseUnary(Opcode opcode) {
  return IsUnary(opcode) || Info(opcode).elements == Elements::kConversion;
}

}  // namespace

/// Operands come before their users, so one walk knows what their operands are.
void DotOperandOrigins::Fill() {
  filled_ = true;
  for (InstId value : services_.PostOrder(computation_)) {
    if (FindPacked(value)) packed_.insert(value.value);
    if (computation_ == module_.entry() && FindFree(value)) free_.insert(value.value);
  }
}

bool DotOperandOrigins::FindPacked(InstId value) const {
  if (IsPackedType(module_.shapes().type(module_.shape(value)))) return true;
  std::span<const InstId> operands = module_.operands(value);
  bool looks_through =
      operands.size() == 1 || (operands.size() == 2 && IsElementwiseBinary(module_.opcode(value)));
  return looks_through && std::any_of(operands.begin(), operands.end(), [&](InstId operand) {
           return packed_.contains(operand.value);
         });
}

bool DotOperandOrigins::FindFree(InstId value) const {
  Opcode opcode = module_.opcode(value);
  std::span<const InstId> operands = module_.operands(value);
  if (opcode == Opcode::kParameter) {
    const ShapePool& shapes = module_.shapes();
    const ComputationLayout& entry = services_.entry_layout();
    size_t number = static_cast<size_t>(module_.parameter_number(value));
    if (number >= entry.parameters.size()) return false;
    std::vector<ShapeId> parts = shapes.Subshapes(entry.parameters[number]);
    return std::none_of(parts.begin(), parts.end(), [&](ShapeId part) {
      return shapes.IsArray(part) && shapes.layout(part).valid();
    });
  }
  bool looks_through = opcode == Opcode::kConcatenate || opcode == Opcode::kTranspose ||
                       opcode == Opcode::kReshape || IsElementwiseUnary(opcode);
  return looks_through && std::any_of(operands.begin(), operands.end(), [&](InstId operand) {
           return free_.contains(operand.value);
         });
}

}  // namespace hlokit::backend
