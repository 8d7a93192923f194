// Are buffers made, passed and written as they may be? hlo-verifier.md section 5.4.
#include <algorithm>

#include "src/verify/checker.h"

namespace hlokit {
namespace {

bool MayHoldBuffers(Opcode opcode) {
  switch (opcode) {
    case Opcode::kAsyncDone:
    case Opcode::kAsyncStart:
    case Opcode::kAsyncUpdate:
    case Opcode::kCall:
    case Opcode::kCustomCall:
    case Opcode::kDynamicUpdateSlice:
    case Opcode::kGetTupleElement:
    case Opcode::kParameter:
    case Opcode::kTuple:
    case Opcode::kUnknown:
    case Opcode::kWhile:
      return true;
    default:
      return false;
  }
}

}  // namespace

void Checker::CheckBuffers() {
  if (std::ranges::none_of(facts_, [](uint8_t facts) { return (facts & kHasBuffer) != 0; })) return;
  ForEach([&](InstId id) { CheckBufferInstruction(id); });
}

void Checker::CheckBufferInstruction(InstId id) {
  Opcode opcode = module_.opcode(id);
  bool gives = Has(module_.shape(id), kHasBuffer);
  bool takes = std::ranges::any_of(module_.operands(id), [&](InstId operand) {
    return Has(module_.shape(operand), kHasBuffer);
  });
  if (gives && !MayHoldBuffers(opcode)) {
    Report(id, DiagId::kBufferShape, "{} cannot give a buffer ({})", OpcodeText(opcode),
           Text(module_.shape(id)));
  } else if (gives && opcode == Opcode::kParameter &&
             module_.computation_of(id) == module_.entry()) {
    Report(id, DiagId::kBufferShape, "a parameter of the entry cannot be a buffer ({})",
           Text(module_.shape(id)));
  } else if (takes && !MayHoldBuffers(opcode)) {
    Report(id, DiagId::kBufferShape, "{} cannot take a buffer", OpcodeText(opcode));
  }
  if (opcode == Opcode::kCustomCall && (gives || takes)) CheckBufferCall(id);
  if (gives) CheckBufferWriters(id);
}

void Checker::CheckBufferCall(InstId id) {
  std::string_view target = module_.TextAttr(id, AttrKind::kCustomCallTarget);
  std::vector<OperandAlias> aliases = module_.output_to_operand_aliasing(id);
  ShapeId shape = module_.shape(id);
  size_t operands = module_.operand_count(id);
  ShapeId first = operands == 0 ? ShapeId() : module_.shape(module_.operand(id, 0));
  auto is_buffer = [&](ShapeId s) { return s.valid() && IsArray(s) && shapes_[s].is_buffer; };
  auto is_plain = [&](ShapeId s) { return s.valid() && IsArray(s) && !shapes_[s].is_buffer; };
  auto same_array = [&](ShapeId a, ShapeId b) {
    return shapes_.type(a) == shapes_.type(b) &&
           std::ranges::equal(shapes_.sizes(a), shapes_.sizes(b)) &&
           (!options_.layout_sensitive || shapes_.layout(a) == shapes_.layout(b));
  };
  if (target == "CreateBuffer") {
    if (operands != 0 || !is_buffer(shape)) {
      Report(id, DiagId::kBufferCall, "CreateBuffer takes no operand and gives a buffer");
    }
    return;
  }
  if (target == "Pin") {
    if (operands != 1 || !is_plain(first) || !is_buffer(shape) || !same_array(first, shape)) {
      Report(id, DiagId::kBufferCall, "Pin makes a buffer out of one array of the same shape");
    } else if (aliases.size() != 1) {
      Report(id, DiagId::kBufferCall, "Pin must alias its operand once, not {} times",
             aliases.size());
    }
    return;
  }
  if (target == "Unpin") {
    if (operands != 1 || !is_buffer(first) || !is_plain(shape) || !same_array(first, shape)) {
      Report(id, DiagId::kBufferCall, "Unpin makes an array out of one buffer of the same shape");
    }
    return;
  }
  // How often each node of the result and of the operands is aliased, by pre-order number.
  std::vector<uint32_t> results(shapes_[shape].subshape_count, 0);
  std::vector<std::vector<uint32_t>> used(operands);
  for (uint32_t i = 0; i < operands; ++i) {
    used[i].assign(shapes_[module_.shape(module_.operand(id, i))].subshape_count, 0);
  }
  for (const OperandAlias& alias : aliases) {
    std::optional<uint32_t> output = shapes_.PreorderOf(shape, alias.output_index);
    if (output) ++results[*output];
    if (alias.operand_number < 0 || alias.operand_number >= static_cast<int64_t>(operands))
      continue;
    uint32_t number = static_cast<uint32_t>(alias.operand_number);
    std::optional<uint32_t> part =
        shapes_.PreorderOf(module_.shape(module_.operand(id, number)), alias.operand_index);
    if (part) ++used[number][*part];
  }
  auto check = [&](ShapeId whole, std::span<const uint32_t> counts, std::string_view what) {
    std::vector<ShapeId> nodes = shapes_.Subshapes(whole);
    for (size_t i = 0; i < nodes.size(); ++i) {
      if (!is_buffer(nodes[i]) || counts[i] == 1) continue;
      Report(id, DiagId::kBufferCall, "a buffer of the {} must be aliased once, not {} times", what,
             counts[i]);
      return;
    }
  };
  check(shape, results, "result");
  for (uint32_t i = 0; i < operands; ++i) {
    check(module_.shape(module_.operand(id, i)), used[i], "operands");
  }
}

void Checker::CheckBufferWriters(InstId id) {
  if (!IsArray(module_.shape(id))) return;
  size_t writers = 0;
  for (InstId user : module_.users(id)) {
    Opcode opcode = module_.opcode(user);
    if (opcode == Opcode::kDynamicUpdateSlice) {
      writers += module_.operand(user, 0) == id ? 1 : 0;
    } else if (opcode == Opcode::kCustomCall) {
      writers += module_.TextAttr(user, AttrKind::kCustomCallTarget) == "Unpin" ? 0 : 1;
    }
  }
  if (writers > 1) {
    Report(id, DiagId::kBufferWriters, "{} instructions write this buffer; only one may", writers);
  }
}

}  // namespace hlokit
