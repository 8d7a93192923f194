// Step 1: where could an update in place meet a value that is still needed?
//
// Generous on purpose: what is not needed goes in step 2. The analysis is made once, before the
// first copy.
#include <algorithm>

#include "hlokit/attribute_text.h"
#include "hlokit/printer.h"
#include "hlokit/simplify.h"
#include "src/copy_insertion/deep_copy.h"
#include "src/copy_insertion/in_place.h"
#include "src/copy_insertion/steps.h"
#include "src/copy_insertion/transfers.h"

namespace hlokit::copies {
namespace {

class CopyAdder {
 public:
  CopyAdder(const Steps& steps, Rewriter& rewriter, const Calls& calls, const Dataflow& flow)
      : steps_(steps), module_(steps.module), rewriter_(rewriter), calls_(calls), flow_(flow) {}
  Status Run();

 private:
  void AddForWhile(InstId inst);
  NodeSet LoopNodes(InstId inst) const;
  void AddForConditional(InstId inst);
  void AddForInPlace(InstId inst);
  std::vector<uint32_t> UpdatedOperands(InstId inst) const;
  bool IsDisjoint(InstId inst) const;
  void AddForEntryAliases();
  Status AddForTransfer(InstId start);
  InstId PipelinedDone(InstId start) const;
  void AddForPipeline(InstId start, InstId done);
  /// Everybody who read `from` before reads `to` now; the root too when `from` was it.
  void Redirect(std::span<const InstId> users, InstId from, InstId to);
  DeepCopied CopyRoot(CompId computation, const NodeSet& nodes, LifetimeCause cause,
                      InstId subject);
  DeepCopied CopyParameter(InstId parameter, const NodeSet& nodes, LifetimeCause cause,
                           InstId subject);
  void NoteAll(const DeepCopied& copied, LifetimeCause cause, InstId subject);

  const Steps& steps_;
  Module& module_;
  Rewriter& rewriter_;
  const Calls& calls_;
  const Dataflow& flow_;
};

void CopyAdder::NoteAll(const DeepCopied& copied, LifetimeCause cause, InstId subject) {
  for (uint32_t node = 0; node < copied.copies.size(); ++node) {
    if (copied.copies[node].valid()) steps_.Note(copied.copies[node], cause, subject, node);
  }
}

void CopyAdder::Redirect(std::span<const InstId> users, InstId from, InstId to) {
  rewriter_.ReplaceUsesBy(users, from, to);
}

DeepCopied CopyAdder::CopyRoot(CompId computation, const NodeSet& nodes, LifetimeCause cause,
                               InstId subject) {
  DeepCopied copied = DeepCopy(rewriter_, module_.computation(computation).root, nodes);
  module_.computation(computation).root = copied.result;
  NoteAll(copied, cause, subject);
  return copied;
}

DeepCopied CopyAdder::CopyParameter(InstId parameter, const NodeSet& nodes, LifetimeCause cause,
                                    InstId subject) {
  std::span<const InstId> all = module_.users(parameter);
  std::vector<InstId> users(all.begin(), all.end());
  DeepCopied copied = DeepCopy(rewriter_, parameter, nodes);
  Redirect(users, parameter, copied.result);
  NoteAll(copied, cause, subject);
  return copied;
}

// ---- while ----

/// The instruction that puts the given node into a tuple, seen through tuples of tuples.
InstId Element(const Module& module, InstId inst, uint32_t node) {
  const ShapePool& shapes = module.shapes();
  while (module.opcode(inst) == Opcode::kTuple && node != 0) {
    ShapeId shape = module.shape(inst);
    uint32_t i = 0, end = shapes.element_count(shape);
    while (end - i > 1) {  // the last element that begins at or before the node
      uint32_t middle = i + (end - i) / 2;
      (shapes.element_offset(shape, middle) <= node ? i : end) = middle;
    }
    node -= shapes.element_offset(shape, i);
    inst = module.operand(inst, i);
  }
  return inst;
}

/// The parts of the state that need copies: those that the body does not just pass through.
NodeSet CopyAdder::LoopNodes(InstId inst) const {
  const ShapePool& shapes = module_.shapes();
  InstId init = module_.operand(inst, 0);
  std::vector<ShapeId> subshapes = shapes.Subshapes(module_.shape(inst));
  NodeSet nodes(subshapes.size(), 0);
  for (uint32_t node = 0; node < nodes.size(); ++node) {
    if (!shapes.IsArray(subshapes[node]) || shapes[subshapes[node]].is_buffer) continue;
    if (StartsTransfer(module_.opcode(Element(module_, init, node)))) continue;
    nodes[node] = flow_.ValueAt(inst, node) != flow_.ValueAt(init, node);
  }
  return nodes;
}

void CopyAdder::AddForWhile(InstId inst) {
  NodeSet nodes = LoopNodes(inst);
  if (!AnyLeaf(module_, inst, nodes)) return;
  CompId body = module_.called_computations(inst)[0];
  InstId parameter = module_.computation(body).parameters[0];
  DeepCopied init = DeepCopy(rewriter_, module_.operand(inst, 0), nodes);
  NoteAll(init, LifetimeCause::kLoopInit, inst);
  rewriter_.SetOperand(inst, 0, init.result);
  DeepCopied in = CopyParameter(parameter, nodes, LifetimeCause::kLoopParameter, inst);
  DeepCopied out = CopyRoot(body, nodes, LifetimeCause::kLoopResult, inst);
  for (uint32_t node = 0; node < nodes.size(); ++node) {
    if (in.copies[node].valid() && out.copies[node].valid()) {
      rewriter_.AddControlEdge(in.copies[node], out.copies[node]);
    }
  }
}

// ---- conditional ----

void CopyAdder::AddForConditional(InstId inst) {
  NodeSet nodes(flow_.place_count(inst), 0);
  for (uint32_t node = 0; node < nodes.size(); ++node) {
    const Value& value = flow_.value(flow_.ValueAt(inst, node));
    nodes[node] = value.merge && value.inst == inst;
  }
  if (!AnyLeaf(module_, inst, nodes)) return;
  const std::span<const CompId> called = module_.called_computations(inst);
  const std::vector<CompId> branches(called.begin(), called.end());
  for (CompId branch : branches) CopyRoot(branch, nodes, LifetimeCause::kBranchResult, inst);
}

// ---- in place ----

/// Operands that are updated in place, each once. An async-start that says nothing itself updates
/// what the instruction that it wraps updates.
std::vector<uint32_t> CopyAdder::UpdatedOperands(InstId inst) const {
  std::vector<uint32_t> out;
  auto add = [&](uint32_t operand) {
    if (std::find(out.begin(), out.end(), operand) == out.end()) out.push_back(operand);
  };
  for (const InPlacePair& pair : InPlacePairs(module_, inst)) add(pair.operand);
  if (!out.empty() || module_.opcode(inst) != Opcode::kAsyncStart ||
      module_.called_computations(inst).empty()) {
    return out;
  }
  InstId wrapped = module_.computation(module_.called_computations(inst)[0]).root;
  for (const InPlacePair& pair : InPlacePairs(module_, wrapped)) {
    InstId operand = module_.operand(wrapped, pair.operand);
    if (module_.opcode(operand) != Opcode::kParameter) continue;
    uint64_t number = static_cast<uint64_t>(module_.parameter_number(operand));
    if (number < module_.operand_count(inst)) add(static_cast<uint32_t>(number));
  }
  return out;
}

/// Does the instruction say that it writes other parts of its operands than it reads?
/// (copy-insertion.md A.3, "other ops")
bool CopyAdder::IsDisjoint(InstId inst) const {
  if (steps_.disjoint_attribute.empty()) return false;
  return FindField(ParseFrontendAttributes(module_.TextAttr(inst, AttrKind::kFrontendAttributes)),
                   steps_.disjoint_attribute) != nullptr;
}

void CopyAdder::AddForInPlace(InstId inst) {
  const std::vector<uint32_t> updated = UpdatedOperands(inst);
  const bool disjoint = !updated.empty() && IsDisjoint(inst);
  for (uint32_t number : updated) {
    InstId operand = module_.operand(inst, number);
    std::span<const InstId> users = module_.users(operand);
    if (disjoint &&
        std::all_of(users.begin(), users.end(), [&](InstId user) { return user == inst; })) {
      continue;
    }
    DeepCopied copied = DeepCopy(rewriter_, operand, AllNodes(module_, operand));
    NoteAll(copied, LifetimeCause::kInPlaceOperand, inst);
    rewriter_.SetOperand(inst, number, copied.result);
  }
}

// ---- transfers ----

/// A send, recv or copy-start that a loop body leaves in its state, and whose end stands in the
/// next round: that end. Invalid when it is not so.
InstId CopyAdder::PipelinedDone(InstId start) const {
  CompId body = module_.computation_of(start);
  InstId loop = calls_.caller(body);
  if (!loop.valid() || module_.opcode(loop) != Opcode::kWhile || calls_.callee_number(body) != 0)
    return {};
  InstId root = module_.computation(body).root;
  if (module_.opcode(root) != Opcode::kTuple) return {};
  std::span<const InstId> elements = module_.operands(root);
  size_t index = std::find(elements.begin(), elements.end(), start) - elements.begin();
  if (index == elements.size()) return {};
  for (InstId part : module_.users(module_.computation(body).parameters[0])) {
    if (module_.opcode(part) != Opcode::kGetTupleElement ||
        module_.tuple_index(part) != static_cast<int64_t>(index)) {
      continue;
    }
    for (InstId user : module_.users(part)) {
      if (EndsTransfer(module_.opcode(user))) return user;
    }
  }
  return {};
}

/// The end of the last round's transfer comes before the start of this round's, and what it yields
/// is copied before the buffer is used again.
void CopyAdder::AddForPipeline(InstId start, InstId done) {
  InstId operand = module_.operand(start, 0);
  DeepCopied before = DeepCopy(rewriter_, operand, AllNodes(module_, operand));
  NoteAll(before, LifetimeCause::kPipelinedStart, start);
  rewriter_.SetOperand(start, 0, before.result);
  for (InstId copy : before.copies) {
    if (copy.valid()) rewriter_.AddControlEdge(done, copy);
  }
  rewriter_.AddControlEdge(done, start);
  std::span<const InstId> all = module_.users(done);
  std::vector<InstId> users(all.begin(), all.end());
  DeepCopied after = DeepCopy(rewriter_, done, AllNodes(module_, done));
  NoteAll(after, LifetimeCause::kPipelinedDone, done);
  Redirect(users, done, after.result);
  for (InstId copy : after.copies) {
    if (copy.valid()) rewriter_.AddControlEdge(copy, start);
  }
}

Status CopyAdder::AddForTransfer(InstId start) {
  std::span<const InstId> users = module_.users(start);
  if (users.empty() || (users.size() == 1 && EndsTransfer(module_.opcode(users[0])))) return {};
  if (users.size() > 1) {
    return MakeError(
        ExitCode::kUnsupported, DiagId::kInvariantBroken,
        "%" + std::string(module_.name(start)) + " starts a transfer and has more than one user",
        "its only user must be the instruction that ends it, or a tuple");
  }
  if (InstId done = PipelinedDone(start); done.valid()) {
    AddForPipeline(start, done);
    return {};
  }
  std::span<const InstId> next = module_.users(users[0]);
  if (module_.opcode(users[0]) != Opcode::kTuple || next.size() != 1 ||
      module_.opcode(next[0]) != Opcode::kWhile) {
    return {};
  }
  InstId operand = module_.operand(start, 0);
  DeepCopied copied = DeepCopy(rewriter_, operand, AllNodes(module_, operand));
  NoteAll(copied, LifetimeCause::kPipelinedStart, start);
  rewriter_.SetOperand(start, 0, copied.result);
  return {};
}

// ---- entry aliases ----

void CopyAdder::AddForEntryAliases() {
  const ShapePool& shapes = module_.shapes();
  const ComputationData& entry = module_.computation(module_.entry());
  const std::vector<InstId> parameters = entry.parameters;
  InstId root = entry.root;
  std::vector<NodeSet> in_nodes(parameters.size());
  NodeSet out_nodes(shapes[module_.shape(root)].subshape_count, 0);
  struct Edge {
    size_t parameter;
    uint32_t from, to;
  };
  std::vector<Edge> edges;
  for (const InputOutputAlias& alias : module_.config().input_output_alias) {
    uint64_t number = static_cast<uint64_t>(alias.parameter_number);
    if (number >= parameters.size()) continue;
    ShapeId shape = module_.shape(parameters[number]);
    std::optional<uint32_t> from = shapes.PreorderOf(shape, alias.parameter_index);
    std::optional<uint32_t> to = shapes.PreorderOf(module_.shape(root), alias.output_index);
    if (!from || !to) continue;
    if (in_nodes[number].empty()) in_nodes[number].assign(shapes[shape].subshape_count, 0);
    in_nodes[number][*from] = 1;
    out_nodes[*to] = 1;
    edges.push_back({number, *from, *to});
  }
  if (edges.empty()) return;
  std::vector<DeepCopied> in(parameters.size());
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (in_nodes[i].empty()) continue;
    in[i] = CopyParameter(parameters[i], in_nodes[i], LifetimeCause::kAliasedInput, parameters[i]);
    if (module_.computation(module_.entry()).root == parameters[i]) {
      module_.computation(module_.entry()).root = in[i].result;
    }
  }
  DeepCopied out = CopyRoot(module_.entry(), out_nodes, LifetimeCause::kAliasedOutput, root);
  for (const Edge& edge : edges) {
    InstId from = in[edge.parameter].copies[edge.from], to = out.copies[edge.to];
    if (from.valid() && to.valid()) rewriter_.AddControlEdge(from, to);
  }
}

Status CopyAdder::Run() {
  for (CompId computation : module_.walk_order()) {
    if (calls_.IsFused(computation) || calls_.IsAsync(computation)) continue;
    for (InstId inst : InstructionPostOrder(module_, computation)) {
      switch (module_.opcode(inst)) {
        case Opcode::kWhile:
          AddForWhile(inst);
          break;
        case Opcode::kConditional:
          AddForConditional(inst);
          break;
        case Opcode::kSend:
        case Opcode::kRecv:
        case Opcode::kCopyStart:
          TRY(AddForTransfer(inst));
          break;
        default:
          AddForInPlace(inst);
          break;
      }
    }
  }
  AddForEntryAliases();
  return {};
}

}  // namespace

Status AddCopies(const Steps& steps) {
  {
    Calls calls(steps.module);
    ASSIGN_OR_RETURN(Dataflow flow, Dataflow::Make(steps.module, calls));
    Rewriter rewriter(steps.module, steps.log);
    TRY(CopyAdder(steps, rewriter, calls, flow).Run());
  }
  SimplifyTuples(steps.module, false, steps.log);
  RemoveDeadCode(steps.module, steps.log);
  return {};
}

}  // namespace hlokit::copies
