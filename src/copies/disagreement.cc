// Who fixed the layout that a copy reads, and who asks for the one that it writes?
//
// Seen from the module as it is: up from the operand and down from the result, through everything
// that hands its layout on, to the first instruction that has a reason of its own.
#include <algorithm>

#include "fmt/format.h"
#include "src/copies/classifier.h"
#include "src/copies/index_map.h"

namespace hlokit {
namespace {

/// Chains are cut here: nobody reads more.
constexpr size_t kMostSteps = 64;

std::string Named(const Module& module, InstId inst) {
  return fmt::format("%{} ({})", module.name(inst), OpcodeText(module.opcode(inst)));
}

/// A reason to have a layout that does not come from a neighbour; empty for what hands it on.
std::string OwnReason(const CopyContext& context, InstId inst) {
  const Module& module = context.module();
  CompId computation = module.computation_of(inst);
  switch (module.opcode(inst)) {
    case Opcode::kParameter:
      if (computation == module.entry()) {
        return fmt::format("the entry layout of parameter {} (%{})", module.parameter_number(inst),
                           module.name(inst));
      }
      if (context.LoopOf(computation).valid()) {
        return fmt::format("the state of loop %{}, as its body %{} gets it",
                           module.name(context.LoopOf(computation)), module.name(computation));
      }
      return fmt::format("parameter {} of %{}", module.parameter_number(inst),
                         module.name(computation));
    case Opcode::kDot:
    case Opcode::kConvolution:
      return fmt::format("{}, whose kernel writes in this order", Named(module, inst));
    case Opcode::kCustomCall:
      return fmt::format(
          "{} to \"{}\"{}", Named(module, inst), module.TextAttr(inst, AttrKind::kCustomCallTarget),
          module.IsLayoutConstrainedCustomCall(inst) ? ", which declares its layouts" : "");
    default:
      break;
  }
  if (IsElementByElement(module, inst)) return "";
  switch (module.opcode(inst)) {
    case Opcode::kCopy:
      if (SameOrder(module.shapes(), module.shape(inst), module.shape(module.operand(inst, 0))))
        return "";
      return Named(module, inst);
    case Opcode::kGetTupleElement:
    case Opcode::kTuple:
    case Opcode::kBitcast:
    case Opcode::kSlice:
    case Opcode::kPad:
    case Opcode::kDynamicSlice:
    case Opcode::kDynamicUpdateSlice:
    case Opcode::kConcatenate:
    case Opcode::kReverse:
    case Opcode::kOptimizationBarrier:
    case Opcode::kCopyDone:
    case Opcode::kCopyStart:
      return "";
    default:
      return Named(module, inst);
  }
}

InstId Above(const Module& module, InstId inst) {
  if (module.operand_count(inst) == 0) return {};
  InstId from = module.operand(inst, 0);
  if (module.opcode(inst) == Opcode::kGetTupleElement && module.opcode(from) == Opcode::kTuple) {
    uint64_t index = static_cast<uint64_t>(module.tuple_index(inst));
    if (index < module.operand_count(from)) {
      return module.operand(from, static_cast<uint32_t>(index));
    }
  }
  return from;
}

/// What a reader that has an opinion wants; empty for what hands the layout on.
std::string Demand(const Module& module, InstId user, uint32_t operand) {
  std::string place = fmt::format("operand {} of {}", operand, Named(module, user));
  switch (module.opcode(user)) {
    case Opcode::kDot:
    case Opcode::kConvolution:
      return place + ", whose kernel reads in this order";
    case Opcode::kCustomCall:
      return fmt::format("{} to \"{}\"", place, module.TextAttr(user, AttrKind::kCustomCallTarget));
    case Opcode::kAllGather:
    case Opcode::kAllToAll:
    case Opcode::kReduceScatter: {
      std::span<const int64_t> dims = module.dimensions(user);
      return dims.empty() ? place : fmt::format("{} along dimension {}", place, dims[0]);
    }
    case Opcode::kBitcast:
    case Opcode::kTuple:
    case Opcode::kGetTupleElement:
    case Opcode::kOptimizationBarrier:
    case Opcode::kCopyDone:
      return "";
    default:
      return IsElementByElement(module, user) ? "" : place;
  }
}

}  // namespace

void TellDisagreement(const CopyContext& context, ClassifiedCopy& copy) {
  const Module& module = context.module();
  InstId at = Above(module, copy.inst);
  while (at.valid()) {
    copy.upstream.push_back(at);
    copy.has = OwnReason(context, at);
    copy.has_shape = module.shape(at);
    if (!copy.has.empty() || copy.upstream.size() == kMostSteps) break;
    at = Above(module, at);
  }
  at = copy.inst;
  while (copy.downstream.size() < kMostSteps) {
    copy.wants_shape = module.shape(at);
    if (module.IsRoot(at)) {
      copy.wants = module.computation_of(at) == module.entry()
                       ? "the entry layout of the result"
                       : fmt::format("the result of %{}", module.name(module.computation_of(at)));
      break;
    }
    std::span<const InstId> users = module.users(at);
    if (users.empty()) break;
    InstId user = users[0];
    std::span<const InstId> all = module.operands(user);
    uint32_t operand = static_cast<uint32_t>(std::find(all.begin(), all.end(), at) - all.begin());
    copy.downstream.push_back(user);
    copy.wants = Demand(module, user, operand);
    if (!copy.wants.empty()) break;
    at = user;
  }
}

}  // namespace hlokit
