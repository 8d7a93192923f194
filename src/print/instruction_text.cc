// How is an instruction written, up to the parenthesis that closes its operands?
#include <array>

#include "src/print/literal_text.h"
#include "src/print/module_printer.h"

namespace hlokit {
namespace {

/// " add(" and so on: an opcode with all that surrounds it.
constexpr std::string_view kOpcodeText[] = {
#define HLOKIT_OPCODE(id, text, arity, inferable, layout, elements) " " text "(",
#include "hlokit/opcodes.def"
};

/// Opcodes with start and done forms of their own: sugar would be mistaken for those.
bool HasOwnAsyncForm(Opcode opcode) {
  switch (opcode) {
    case Opcode::kAllGather:
    case Opcode::kAllReduce:
    case Opcode::kCollectivePermute:
    case Opcode::kCopy:
    case Opcode::kRecv:
    case Opcode::kSend:
      return true;
    default:
      return false;
  }
}

std::string_view AsyncSuffix(Opcode opcode) {
  switch (opcode) {
    case Opcode::kAsyncStart:
      return "-start";
    case Opcode::kAsyncUpdate:
      return "-update";
    default:
      return "-done";
  }
}

bool IsAsync(Opcode opcode) {
  return opcode == Opcode::kAsyncStart || opcode == Opcode::kAsyncUpdate ||
         opcode == Opcode::kAsyncDone;
}

}  // namespace

void ModulePrinter::AppendInstruction(InstId id, int indent) {
  AppendName(id);
  out_.Append(" = ");
  AppendShape(module_.shape(id), options_.layouts);
  AppendOpcode(id);
  const Opcode opcode = module_.opcode(id);
  if (opcode == Opcode::kParameter) {
    out_.AppendInteger(module_.parameter_number(id));
  } else if (opcode == Opcode::kConstant) {
    AppendConstant(id);
  } else {
    AppendOperands(id);
  }
  out_.Append(')');
  AppendAttributes(id, indent);
}

void ModulePrinter::AppendName(InstId id) {
  if (options_.canonical_names) {
    out_.Append(options_.percent ? "%tmp_" : "tmp_");
    return out_.AppendUnsigned(CanonicalNumber(id));
  }
  if (options_.percent) out_.Append('%');
  out_.Append(module_.name(id));
}

void ModulePrinter::AppendOpcode(InstId id) {
  const Opcode opcode = module_.opcode(id);
  if (options_.async_sugar && IsAsync(opcode)) {
    if (InstId wrapped = SugaredInstruction(id); wrapped.valid()) {
      out_.Append(' ');
      out_.Append(OpcodeText(module_.opcode(wrapped)));
      out_.Append(AsyncSuffix(opcode));
      return out_.Append('(');
    }
  }
  if (opcode != Opcode::kUnknown) return out_.Append(kOpcodeText[static_cast<int>(opcode)]);
  out_.Append(' ');
  out_.Append(module_.TextAttr(id, AttrKind::kUnknownOpcode));
  out_.Append('(');
}

void ModulePrinter::AppendConstant(InstId id) {
  const Attr* attr = module_.FindAttr(id, AttrKind::kConstantLiteral);
  if (attr == nullptr) return out_.Append("{...}");
  const LiteralId literal(attr->low);
  const bool shown = options_.plain_constants_only
                         ? IsPlainConstant(module_, literal)
                         : options_.large_constants || IsSmallConstant(module_, literal);
  if (!shown) return out_.Append("{...}");
  AppendLiteral(module_, literal, LiteralShapes::kNone, &out_);
}

void ModulePrinter::AppendOperands(InstId id) {
  const std::span<const InstId> operands = module_.operands(id);
  for (size_t i = 0; i < operands.size(); ++i) {
    if (i != 0) {
      if (options_.index_comments && i % 5 == 0) {
        out_.Append(", /*index=");
        out_.AppendUnsigned(i);
        out_.Append("*/");
      } else {
        out_.Append(", ");
      }
    }
    AppendOperand(operands[i]);
  }
}

void ModulePrinter::AppendOperand(InstId id) {
  if (options_.operand_shapes) {
    AppendShape(module_.shape(id), options_.layouts);
    out_.Append(' ');
  }
  if (!IsHidden(id)) return AppendName(id);
  std::vector<int64_t> indices;
  for (; IsHidden(id); id = module_.operand(id, 0)) indices.push_back(module_.tuple_index(id));
  AppendName(id);
  for (size_t i = indices.size(); i-- > 0;) {
    out_.Append('#');
    out_.AppendInteger(indices[i]);
  }
}

/// With compact tuple access, get-tuple-element instructions have no line of their own.
bool ModulePrinter::IsHidden(InstId id) const {
  return options_.compact_gte && module_.opcode(id) == Opcode::kGetTupleElement &&
         module_.operand_count(id) == 1 && !module_.IsRoot(id);
}

/// The computation that an async op belongs to: update and done ask their operand.
CompId ModulePrinter::WrappedComputation(InstId async) {
  std::vector<uint32_t> chain;
  CompId found;
  for (InstId id = async; IsAsync(module_.opcode(id)); id = module_.operand(id, 0)) {
    if (auto known = wrapped_.find(id.value); known != wrapped_.end()) {
      found = known->second;
      break;
    }
    chain.push_back(id.value);
    if (module_.opcode(id) == Opcode::kAsyncStart) {
      const std::span<const CompId> calls = module_.called_computations(id);
      if (!calls.empty()) found = calls[0];
      break;
    }
    if (module_.operand_count(id) == 0) break;
  }
  for (uint32_t id : chain) wrapped_.emplace(id, found);
  return found;
}

/// The instruction that an async op is printed as, or nothing when it must stay as it is.
InstId ModulePrinter::SugaredInstruction(InstId async) {
  const CompId computation = WrappedComputation(async);
  return computation.valid() ? SugaredRoot(computation) : InstId();
}

/// The root of a computation of parameters and one other instruction that sugar can name.
InstId ModulePrinter::SugaredRoot(CompId computation) {
  auto [entry, is_new] = sugared_root_.try_emplace(computation.value);
  if (!is_new) return entry->second;
  const InstId root = module_.computation(computation).root;
  if (!root.valid() || module_.opcode(root) == Opcode::kParameter ||
      module_.opcode(root) == Opcode::kUnknown || HasOwnAsyncForm(module_.opcode(root))) {
    return {};
  }
  for (InstId id : module_.computation(computation).instructions) {
    if (id != root && module_.opcode(id) != Opcode::kParameter && !module_.IsDead(id)) return {};
  }
  return entry->second = root;
}

}  // namespace hlokit
