// Step 1: where could an update in place meet a value that is still needed?
//
// Generous on purpose: what is not needed goes in step 2. The analysis is made once, before the
// first copy.
#include <algorithm>

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
  void AddForEntryAliases();
  /// Everybody who read `from` before reads `to` now; the root too when `from` was it.
  void Redirect(std::span<const InstId> users, InstId from, InstId to);
  DeepCopied CopyRoot(CompId computation, const NodeSet& nodes, CopyCause cause, InstId subject);
  DeepCopied CopyParameter(InstId parameter, const NodeSet& nodes, CopyCause cause,
                           InstId subject);
  void NoteAll(const DeepCopied& copied, CopyCause cause, InstId subject);

  const Steps& steps_;
  Module& module_;
  Rewriter& rewriter_;
  const Calls& calls_;
  const Dataflow& flow_;
};

void CopyAdder::NoteAll(const DeepCopied& copied, CopyCause cause, InstId subject) {
  for (uint32_t node = 0; node < copied.copies.size(); ++node) {
    if (copied.copies[node].valid()) steps_.Note(copied.copies[node], cause, subject, node);
  }
}

void CopyAdder::Redirect(std::span<const InstId> users, InstId from, InstId to) {
  rewriter_.ReplaceUsesBy(users, from, to);
}

DeepCopied CopyAdder::CopyRoot(CompId computation, const NodeSet& nodes, CopyCause cause,
                               InstId subject) {
  DeepCopied copied = DeepCopy(rewriter_, module_.computation(computation).root, nodes);
  module_.computation(computation).root = copied.result;
  NoteAll(copied, cause, subject);
  return copied;
}

DeepCopied CopyAdder::CopyParameter(InstId parameter, const NodeSet& nodes, CopyCause cause,
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
    uint32_t i = 0;
    while (i + 1 < shapes.element_count(shape) && shapes.element_offset(shape, i + 1) <= node) ++i;
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
  NoteAll(init, CopyCause::kLoopInit, inst);
  rewriter_.SetOperand(inst, 0, init.result);
  DeepCopied in = CopyParameter(parameter, nodes, CopyCause::kLoopParameter, inst);
  DeepCopied out = CopyRoot(body, nodes, CopyCause::kLoopResult, inst);
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
  for (CompId branch : branches) CopyRoot(branch, nodes, CopyCause::kBranchResult, inst);
}

// ---- in place ----

void CopyAdder::AddForInPlace(InstId inst) {
  std::vector<InPlacePair> pairs = InPlacePairs(module_, inst);
  std::vector<uint32_t> done;
  for (const InPlacePair& pair : pairs) {
    if (std::find(done.begin(), done.end(), pair.operand) != done.end()) continue;
    done.push_back(pair.operand);
    InstId operand = module_.operand(inst, pair.operand);
    DeepCopied copied = DeepCopy(rewriter_, operand, AllNodes(module_, operand));
    NoteAll(copied, CopyCause::kInPlaceOperand, inst);
    rewriter_.SetOperand(inst, pair.operand, copied.result);
  }
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
    in[i] = CopyParameter(parameters[i], in_nodes[i], CopyCause::kAliasedInput, parameters[i]);
    if (module_.computation(module_.entry()).root == parameters[i]) {
      module_.computation(module_.entry()).root = in[i].result;
    }
  }
  DeepCopied out = CopyRoot(module_.entry(), out_nodes, CopyCause::kAliasedOutput, root);
  for (const Edge& edge : edges) {
    InstId from = in[edge.parameter].copies[edge.from], to = out.copies[edge.to];
    if (from.valid() && to.valid()) rewriter_.AddControlEdge(from, to);
  }
}

Status CopyAdder::Run() {
  for (CompId computation : std::vector<CompId>(module_.computation_order())) {
    if (calls_.IsFused(computation) || calls_.IsAsync(computation)) continue;
    for (InstId inst : InstructionPostOrder(module_, computation)) {
      switch (module_.opcode(inst)) {
        case Opcode::kWhile:
          AddForWhile(inst);
          break;
        case Opcode::kConditional:
          AddForConditional(inst);
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
