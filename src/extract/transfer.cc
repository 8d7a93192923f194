// How does an instruction come into another module? Literals and lists are copied, ids translated.
#include "src/extract/transfer.h"

#include <algorithm>
#include <cstring>

namespace hlokit {

CompId Transfer::Open(CompId computation) {
  const ComputationData& data = from_.computation(computation);
  CompId fresh = to_.AddComputation(data.name);
  to_.computation(fresh).execution_thread = data.execution_thread;
  computations_[computation.value] = fresh;
  return fresh;
}

InstId Transfer::Begin(InstId instruction) {
  InstId fresh =
      to_.AddInstruction(Mapped(from_.computation_of(instruction)), from_.opcode(instruction),
                         from_.shape(instruction), {}, from_.name_ref(instruction));
  Map(instruction, fresh);
  return fresh;
}

void Transfer::Finish(InstId instruction) {
  InstId fresh = Mapped(instruction);
  std::vector<InstId> operands;
  for (InstId operand : from_.operands(instruction)) operands.push_back(Mapped(operand));
  if (!operands.empty()) to_.SetOperands(fresh, operands);
  std::vector<Attr> attrs;
  for (const Attr& attr : from_.attributes(instruction)) {
    Attr translated = Translate(attr);
    if (attr.kind == AttrKind::kControlPredecessors && translated.high == 0) continue;
    attrs.push_back(translated);
  }
  if (!attrs.empty()) to_.SetAttributes(fresh, attrs);
}

void Transfer::CopyAll(CompId computation) {
  const ComputationData& data = from_.computation(computation);
  for (InstId id : data.instructions) {
    if (!from_.IsDead(id)) Begin(id);
  }
  for (InstId id : data.instructions) {
    if (!from_.IsDead(id)) Finish(id);
  }
  ComputationData& fresh = to_.computation(Mapped(computation));
  for (InstId parameter : data.parameters) fresh.parameters.push_back(Mapped(parameter));
  fresh.root = Mapped(data.root);
}

Attr Transfer::Translate(const Attr& attr) {
  AttrType type = Info(attr.kind).type;
  if (IsIntegerList(type)) return to_.IntsAttribute(attr.kind, from_.ints(attr));
  if (IsReferenceList(type) || attr.kind == AttrKind::kCalledComputations) {
    return TranslateReferences(attr);
  }
  if (type == AttrType::kLiteral) {
    return {attr.kind, TranslateLiteral(LiteralId(attr.low)).value, attr.high};
  }
  return attr;  // numbers, text and shapes
}

Attr Transfer::TranslateReferences(const Attr& attr) {
  AttrType type = Info(attr.kind).type;
  std::vector<uint32_t> values;
  for (uint32_t value : from_.refs(attr)) {
    if (type == AttrType::kInstructionList) {
      value = Mapped(InstId(value)).value;
      if (value == InstId::kNone) continue;
    } else if (type == AttrType::kComputationList) {
      value = Mapped(CompId(value)).value;
    }
    values.push_back(value);
  }
  return to_.RefsAttribute(attr.kind, values);
}

LiteralId Transfer::TranslateLiteral(LiteralId literal) {
  if (auto known = literals_.find(literal.value); known != literals_.end()) return known->second;
  // Members before tuples, without recursion.
  std::vector<LiteralId> stack = {literal};
  while (!stack.empty()) {
    LiteralId next = stack.back();
    const LiteralData& data = from_.literal(next);
    size_t before = stack.size();
    for (LiteralId element : data.elements) {
      if (!literals_.contains(element.value)) stack.push_back(element);
    }
    if (stack.size() != before) continue;
    stack.pop_back();
    if (literals_.contains(next.value)) continue;
    LiteralData copy{.shape = data.shape, .elided = data.elided};
    for (LiteralId element : data.elements) copy.elements.push_back(literals_.at(element.value));
    LiteralId fresh = to_.AddLiteral(std::move(copy));
    std::span<const std::byte> bytes = from_.literal_bytes(next);
    if (!bytes.empty()) {
      std::ranges::copy(bytes, to_.AllocateLiteralBytes(fresh, bytes.size()).begin());
    }
    literals_.emplace(next.value, fresh);
  }
  return literals_.at(literal.value);
}

}  // namespace hlokit
