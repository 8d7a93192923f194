// Which tuples are built only to be taken apart again?
#include <vector>

#include "hlokit/printer.h"
#include "hlokit/simplify.h"

namespace hlokit {
namespace {

/// x, when the tuple puts all elements of x together again in order.
InstId WholeTuple(const Module& module, InstId tuple) {
  std::span<const InstId> parts = module.operands(tuple);
  if (parts.empty() || module.opcode(parts[0]) != Opcode::kGetTupleElement) return {};
  InstId source = module.operand(parts[0], 0);
  if (!module.shapes().Compatible(module.shape(source), module.shape(tuple))) return {};
  for (uint32_t i = 0; i < parts.size(); ++i) {
    if (module.opcode(parts[i]) != Opcode::kGetTupleElement ||
        module.operand(parts[i], 0) != source || module.tuple_index(parts[i]) != i) {
      return {};
    }
  }
  return source;
}

/// The element that a get-tuple-element of a tuple reads.
InstId ReadElement(const Module& module, InstId inst) {
  InstId tuple = module.operand(inst, 0);
  if (module.opcode(tuple) != Opcode::kTuple) return {};
  uint64_t index = static_cast<uint64_t>(module.tuple_index(inst));
  return index < module.operand_count(tuple) ? module.operand(tuple, index) : InstId();
}

}  // namespace

bool SimplifyTuples(Module& module, bool skip_entry, EditLog::Group* log) {
  Rewriter rewriter(module, log);
  const std::vector<CompId> order = module.computation_order();
  for (CompId computation : order) {
    if (skip_entry && computation == module.entry()) continue;
    for (InstId inst : InstructionPostOrder(module, computation)) {
      if (module.IsDead(inst)) continue;
      InstId replacement;
      if (module.opcode(inst) == Opcode::kTuple) replacement = WholeTuple(module, inst);
      if (module.opcode(inst) == Opcode::kGetTupleElement) replacement = ReadElement(module, inst);
      if (replacement.valid()) rewriter.Replace(inst, replacement);
    }
  }
  return rewriter.changed();
}

}  // namespace hlokit
