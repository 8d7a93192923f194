// What may the rules of a backend ask of the engine? (section 12)
#include "src/layout/engine.h"

namespace hlokit::layout {
namespace {

Strength Absolute(const LayoutStrength& strength, int cur) {
  return {strength.mandatory, strength.dfs, strength.priority.value_or(cur)};
}

Why Asked(InstId at, const LayoutStrength& strength) {
  return {.rule = TraceRule::kBackend, .at = at, .backend_rule = strength.rule};
}

}  // namespace

/// The error stays in the engine too, so that a hook that drops it does not hide it.
Status Engine::Outcome(bool ok) {
  if (ok) return {};
  return std::unexpected(*error_);
}

Status Engine::SetBufferLayout(LayoutId layout, InstId definer, uint32_t index,
                               LayoutStrength strength) {
  if (index >= SubshapeCount(definer) || buffers_[BufferAt(definer, index)].definer != definer) {
    return Outcome(Fail(DiagId::kLayoutNotDefined,
                        Quote(definer) + " defines no buffer at this place of its output"));
  }
  return Outcome(SetBuffer(BufferAt(definer, index), layout, Absolute(strength, cur_), InstId(),
                           Asked(definer, strength)));
}

Status Engine::SetOperandLayout(ShapeId shape, InstId instruction, uint32_t operand,
                                LayoutStrength strength) {
  return Outcome(SetOperandShape(instruction, operand, shape, Absolute(strength, cur_),
                                 Asked(instruction, strength)));
}

Status Engine::SetArrayOperandLayout(LayoutId layout, InstId instruction, uint32_t operand,
                                     LayoutStrength strength) {
  return Outcome(SetOperand(info(instruction).first_operand + operand, instruction, layout,
                            Absolute(strength, cur_), Asked(instruction, strength)));
}

Status Engine::SetInstructionLayout(ShapeId shape, InstId instruction, LayoutStrength strength,
                                    bool allow_alias) {
  return Outcome(SetInstruction(shape, instruction, Absolute(strength, cur_), allow_alias,
                                Asked(instruction, strength)));
}

Status Engine::SetInstructionLayout(LayoutId layout, InstId instruction, LayoutStrength strength) {
  const InstInfo& own = info(instruction);
  if (!own.IsArray() && own.opcode != Opcode::kSort && own.opcode != Opcode::kReduce &&
      own.opcode != Opcode::kReduceWindow) {
    return Outcome(Fail(DiagId::kLayoutNotAnArray,
                        Quote(instruction) + " has a tuple output and cannot get one layout"));
  }
  Strength absolute = Absolute(strength, cur_);
  if (absolute.priority < 0) absolute.priority = cur_;
  absolute.dfs = true;
  for (uint32_t i = 0; i < SubshapeCount(instruction); ++i) {
    const Buffer& buffer = buffers_[BufferAt(instruction, i)];
    if (buffer.definer != instruction || buffer.rank == kNotAnArray) continue;
    if (!SetBuffer(BufferAt(instruction, i), layout, absolute, InstId(),
                   Asked(instruction, strength))) {
      return Outcome(false);
    }
  }
  return {};
}

std::vector<LayoutServices::Use> Engine::Uses(InstId value) const {
  std::vector<Use> out;
  for (uint32_t i = uses_begin_[value.value]; i < uses_begin_[value.value + 1]; ++i) {
    InstId user = operand_users_[uses_[i]];
    out.push_back({user, uses_[i] - info(user).first_operand});
  }
  return out;
}

LayoutId Engine::BufferLayout(InstId instruction, uint32_t index) const {
  return buffer_constraints_[BufferAt(instruction, index)].layout;
}

ShapeId Engine::OperandShape(InstId instruction, uint32_t operand) const {
  uint32_t position = info(instruction).first_operand + operand;
  if ((operand_constraints_[position].flags & kExists) == 0) return {};
  return OperandConstraintShape(position, instruction);
}

bool Engine::IsForwarded(InstId instruction, uint32_t operand) const {
  uint32_t position = info(instruction).first_operand + operand;
  return (operand_constraints_[position].operand_flags & kForwarded) != 0;
}

bool Engine::DefinesBuffer(InstId instruction, uint32_t index) const {
  return index < SubshapeCount(instruction) &&
         buffers_[BufferAt(instruction, index)].definer == instruction;
}

}  // namespace hlokit::layout
