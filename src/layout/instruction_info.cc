// What does the pass need to know about each instruction, and in which order does it visit the
// computations?
#include <algorithm>

#include "src/layout/engine.h"

namespace hlokit::layout {
namespace {

/// From how many operands on a second sweep over them is avoided (propagate_operand.cc).
constexpr uint32_t kWideOperandCount = 16;

/// What is known of the ranks in a shape.
enum LowRank : uint8_t { kNotKnown, kLow, kHigh };

bool IsConstrainedCollective(const Module& module, InstId inst) {
  switch (module.opcode(inst)) {
    case Opcode::kAllReduce:
    case Opcode::kAllReduceStart:
    case Opcode::kReduceScatter:
    case Opcode::kAllGather:
    case Opcode::kAllGatherStart:
    case Opcode::kAllToAll:
    case Opcode::kRaggedAllToAll:
    case Opcode::kCollectiveBroadcast:
      return module.IntAttr(inst, AttrKind::kConstrainLayout) != 0;
    default:
      return false;
  }
}

/// Section 8, "propagates depth first".
bool PropagatesDepthFirst(const Module& module, InstId inst) {
  const ShapePool& shapes = module.shapes();
  switch (module.opcode(inst)) {
    case Opcode::kGather:
    case Opcode::kScatter:
    case Opcode::kTranspose:
      return true;
    case Opcode::kFusion:
      return module.IntAttr(inst, AttrKind::kFusionKind) == static_cast<int>(FusionKind::kCustom);
    case Opcode::kReshape: {
      ShapeId operand = module.shape(module.operand(inst, 0));
      if (!shapes.IsArray(operand) || !shapes.IsArray(module.shape(inst))) return false;
      return shapes.rank(operand) == 1 ||
             MerelyInsertsOrDeletesUnitDimensions(shapes.sizes(operand),
                                                  shapes.sizes(module.shape(inst)));
    }
    default:
      return false;
  }
}

bool HasLowRank(const ShapePool& shapes, ShapeId shape) {
  if (!shapes.IsTuple(shape)) return shapes.rank(shape) <= 1;
  for (ShapeId node : shapes.Subshapes(shape)) {
    if (shapes.rank(node) > 1) return false;
  }
  return true;
}

}  // namespace

/// What the rules say about the instruction. The base rules look at nothing but the opcode, except
/// for custom calls, so that they are asked once per opcode.
uint32_t Engine::PolicyFlags(InstId inst) {
  Opcode opcode = module_.opcode(inst);
  bool by_opcode = options_.rules == nullptr && opcode != Opcode::kCustomCall;
  std::optional<uint32_t>& known = policies_[static_cast<size_t>(opcode)];
  if (by_opcode && known.has_value()) return *known;
  uint32_t flags = 0;
  if (!rules_.MayChangeLayout(module_, inst)) flags |= kKeepsLayout;
  if (rules_.OperandAlwaysPropagatesForward(module_, inst)) flags |= kForward;
  if (rules_.OperandAlwaysPropagatesToSiblings(module_, inst)) flags |= kSiblings;
  if (rules_.OutputAlwaysPropagatesToOperands(module_, inst)) flags |= kToOperands;
  known = flags;
  return flags;
}

bool Engine::CollectInstructions() {
  uint32_t count = module_.instruction_count();
  original_instructions_ = count;
  infos_.assign(count + 1, {});
  uint64_t positions = 0;
  for (uint32_t i = 0; i < count; ++i) {
    infos_[i].first_operand = static_cast<uint32_t>(positions);
    if (!module_.IsDead(InstId(i))) positions += module_.operand_count(InstId(i));
  }
  infos_[count].first_operand = static_cast<uint32_t>(positions);
  if (positions > kKeyNumberMask || count > kKeyNumberMask) {
    return Fail(DiagId::kLayoutTooLarge, "the module has too many operands",
                "at most 1,073,741,823 operands can be handled");
  }
  operands_.resize(positions);
  operand_users_.resize(positions);
  operand_constraints_.assign(positions, {});
  if (tracing()) operand_events_.assign(positions, kNoEvent);

  low_rank_.assign(shapes_.shape_count(), kNotKnown);
  for (CompId computation : module_.computation_order()) {
    for (InstId inst : module_.computation(computation).instructions) {
      DescribeInstruction(inst);
      HLOKIT_LAYOUT_CHECK(CollectOperands(inst, computation));
    }
  }
  CollectUses();
  CollectAliasPairs();
  return true;
}

void Engine::DescribeInstruction(InstId inst) {
  InstInfo& i = infos_[inst.value];
  i.opcode = module_.opcode(inst);
  ShapeId shape = module_.shape(inst);
  if (shapes_.IsArray(shape)) i.rank = shapes_.rank(shape);
  uint8_t& low = low_rank_[shape.value];
  if (low == kNotKnown) low = HasLowRank(shapes_, shape) ? kLow : kHigh;
  uint32_t operand_count = module_.operand_count(inst);
  uint32_t flags = PolicyFlags(inst);
  if (shapes_.IsTuple(shape)) flags |= kIsTuple;
  if (low == kLow) flags |= kLowRank;
  if (operand_count != 0 && PropagatesDepthFirst(module_, inst)) flags |= kDepthFirst;
  if (IsConstrainedCollective(module_, inst)) flags |= kConstrainedCollective;
  if (i.opcode == Opcode::kCustomCall && module_.IsLayoutConstrainedCustomCall(inst)) {
    flags |= kConstrainedCustomCall;
  }
  if (operand_count >= kWideOperandCount) flags |= kWide;
  i.flags = static_cast<uint16_t>(i.flags | flags);  // a successor may have left its flag already
  for (InstId predecessor : module_.control_predecessors(inst)) {
    i.flags |= kHasControlPredecessors;
    infos_[predecessor.value].flags |= kHasControlSuccessors;
  }
}

bool Engine::CollectOperands(InstId inst, CompId computation) {
  const InstInfo& i = infos_[inst.value];
  std::span<const InstId> operands = module_.operands(inst);
  bool demotable_reshape = i.opcode == Opcode::kReshape && !operands.empty() &&
                           module_.opcode(operands[0]) == Opcode::kDynamicSlice;
  for (uint32_t k = 0; k < operands.size(); ++k) {
    uint32_t p = i.first_operand + k;
    operands_[p] = operands[k];
    operand_users_[p] = inst;
    if (module_.computation_of(operands[k]) != computation) {
      return Fail(
          DiagId::kLayoutStructure,
          "operand " + std::to_string(k) + " of " + Quote(inst) + " belongs to another computation",
          "", ExitCode::kVerifyFailed);
    }
    bool demotable = demotable_reshape || (i.opcode == Opcode::kDynamicUpdateSlice && k > 0);
    if (demotable) operand_constraints_[p].operand_flags |= kDemotable;
  }
  return true;
}

/// The uses of each instruction: users in user order, of each its operand numbers ascending.
void Engine::CollectUses() {
  uint32_t count = original_instructions_;
  uses_begin_.assign(count + 2, 0);
  for (InstId used : operands_) ++uses_begin_[used.value + 2];
  for (uint32_t i = 2; i < count + 2; ++i) uses_begin_[i] += uses_begin_[i - 1];
  uses_.resize(operands_.size());
  for (uint32_t p = 0; p < operands_.size(); ++p) uses_[uses_begin_[operands_[p].value + 1]++] = p;
  uses_begin_.pop_back();
  // Positions ascend with the number of the user; that is the user order of a parsed module. Where
  // an earlier edit has changed the order, the list is sorted by it.
  std::unordered_map<uint32_t, uint32_t> rank;
  for (uint32_t i = 0; i < count; ++i) {
    if (uses_begin_[i + 1] - uses_begin_[i] < 2) continue;
    std::span<const InstId> users = module_.users(InstId(i));
    if (std::is_sorted(users.begin(), users.end())) continue;
    rank.clear();
    for (uint32_t at = 0; at < users.size(); ++at) rank.emplace(users[at].value, at);
    std::stable_sort(uses_.begin() + uses_begin_[i], uses_.begin() + uses_begin_[i + 1],
                     [&](uint32_t a, uint32_t b) {
                       return rank[operand_users_[a].value] < rank[operand_users_[b].value];
                     });
  }
}

void Engine::CollectAliasPairs() {
  for (CompId computation : module_.computation_order()) {
    for (InstId inst : module_.computation(computation).instructions) {
      Opcode opcode = infos_[inst.value].opcode;
      if (opcode != Opcode::kFusion && opcode != Opcode::kCall && opcode != Opcode::kCustomCall) {
        continue;
      }
      uint32_t number = 0;
      for (const OperandAlias& alias : module_.output_to_operand_aliasing(inst)) {
        AliasPair pair{.instruction = inst, .pair = number++};
        std::optional<uint32_t> output =
            shapes_.PreorderOf(module_.shape(inst), alias.output_index);
        pair.output = output.value_or(kNone);
        pair.operand = static_cast<uint32_t>(alias.operand_number);
        if (pair.operand >= OperandCount(inst)) continue;
        pair.operand_index =
            shapes_.PreorderOf(module_.shape(Operand(inst, pair.operand)), alias.operand_index)
                .value_or(kNone);
        pairs_by_output_.push_back(pair);
        infos_[inst.value].flags |= kHasOutputAliases;
      }
    }
  }
  pairs_by_operand_ = pairs_by_output_;
  auto key = [](const AliasPair& a, uint32_t part) {
    return std::make_tuple(a.instruction.value, part, a.pair);
  };
  std::sort(
      pairs_by_output_.begin(), pairs_by_output_.end(),
      [&](const AliasPair& a, const AliasPair& b) { return key(a, a.output) < key(b, b.output); });
  std::sort(pairs_by_operand_.begin(), pairs_by_operand_.end(),
            [&](const AliasPair& a, const AliasPair& b) {
              return key(a, a.operand) < key(b, b.operand);
            });
}

/// Opcodes that take a computation, and unknown ones. Saves a look at the attributes of the others.
bool MayCall(Opcode opcode) {
  static const std::array<bool, kOpcodeCount + 1> table = [] {
    std::array<bool, kOpcodeCount + 1> may_call{};
    for (int i = 0; i < kOpcodeCount; ++i) {
      for (const AttrSpec& spec : OpcodeAttributes(static_cast<Opcode>(i))) {
        AttrType type = Info(spec.kind).type;
        may_call[i] =
            may_call[i] || type == AttrType::kComputation || type == AttrType::kComputationList;
      }
    }
    may_call[kOpcodeCount] = true;
    return may_call;
  }();
  return table[static_cast<size_t>(opcode)];
}

/// Section 3.2: callees before callers, otherwise as stored; clones just before their caller.
bool Engine::OrderComputations() {
  uint32_t count = module_.computation_count();
  computations_.assign(count, {});
  std::vector<uint8_t> fusion_body(count), is_called(count);
  std::vector<uint32_t> caller_count(count);
  std::vector<std::vector<CompId>> callees(count);
  std::vector<InstId> last_caller(count);
  for (CompId computation : module_.computation_order()) {
    std::vector<CompId>& list = callees[computation.value];
    for (InstId inst : module_.computation(computation).instructions) {
      if (!MayCall(infos_[inst.value].opcode)) continue;
      for (CompId callee : module_.called_computations(inst)) {
        list.push_back(callee);
        if (infos_[inst.value].opcode == Opcode::kFusion) fusion_body[callee.value] = 1;
        if (last_caller[callee.value] != inst) ++caller_count[callee.value];
        last_caller[callee.value] = inst;
      }
    }
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
  }
  bool any_loop = false;
  for (uint32_t c = 0; c < count; ++c) {
    computations_[c].loop_body =
        caller_count[c] == 1 && infos_[last_caller[c].value].opcode == Opcode::kWhile;
    any_loop = any_loop || computations_[c].loop_body;
  }
  if (any_loop) CollectBackEdges();

  enum : uint8_t { kNew, kOpen, kDone };
  std::vector<uint8_t> state(count, kNew);
  std::vector<std::pair<CompId, uint32_t>> stack;
  for (CompId root : module_.computation_order()) {
    if (state[root.value] != kNew) continue;
    state[root.value] = kOpen;
    stack.emplace_back(root, 0);
    while (!stack.empty()) {
      auto& [computation, next] = stack.back();
      if (next < callees[computation.value].size()) {
        CompId callee = callees[computation.value][next++];
        if (state[callee.value] == kDone) continue;
        if (state[callee.value] == kOpen) {
          return Fail(DiagId::kLayoutCycle, Quote(callee) + " calls itself",
                      "computations must not be recursive", ExitCode::kVerifyFailed);
        }
        state[callee.value] = kOpen;
        stack.emplace_back(callee, 0);
        continue;
      }
      state[computation.value] = kDone;
      if (!fusion_body[computation.value]) visiting_.push_back(computation);
      stack.pop_back();
    }
  }
  if (options_.reverse_order) std::reverse(visiting_.begin(), visiting_.end());
  return true;
}

/// For the bodies of loops: the first operand number at which the root tuple uses an instruction.
void Engine::CollectBackEdges() {
  root_slot_.assign(original_instructions_, kNone);
  for (CompId computation : module_.computation_order()) {
    if (!computations_[computation.value].loop_body) continue;
    InstId root = module_.computation(computation).root;
    if (infos_[root.value].opcode != Opcode::kTuple) continue;
    for (uint32_t k = OperandCount(root); k-- > 0;) root_slot_[Operand(root, k).value] = k;
  }
}

}  // namespace hlokit::layout
