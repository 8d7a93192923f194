// Does every instruction find in its buffers what it is to read?
#include "tests/proof/buffer_run.h"

#include <random>
#include <span>
#include <unordered_map>
#include <vector>

#include "fmt/format.h"
#include "src/copy_insertion/calls.h"
#include "src/copy_insertion/dataflow.h"
#include "src/copy_insertion/groups.h"
#include "src/copy_insertion/in_place.h"
#include "src/copy_insertion/sharing.h"

namespace hlokit {
namespace {

using copies::Calls;
using copies::Dataflow;
using copies::Groups;
using copies::Use;
using copies::Value;
using copies::ValueId;

using Token = uint64_t;
using Tokens = std::vector<Token>;  // by node of a shape; those of tuples mean nothing
constexpr int64_t kMaxSteps = 20000;

class Runner {
 public:
  Runner(const Module& module, const Calls& calls, const Dataflow& flow, uint64_t seed)
      : module_(module), calls_(calls), flow_(flow), groups_(module, flow), random_(seed) {}
  BufferRun Run();

 private:
  /// What the instructions of one run of a computation stand for.
  using Frame = std::unordered_map<uint32_t, Tokens>;

  bool IsArray(InstId inst, uint32_t node) const {
    const ShapePool& shapes = module_.shapes();
    return shapes.IsArray(shapes.Subshape(module_.shape(inst), node));
  }
  uint32_t GroupAt(InstId inst, uint32_t node) const {
    return groups_.GroupOf(flow_.ValueAt(inst, node));
  }
  bool Stop() const { return run_.gave_up || !run_.problem.empty(); }
  std::vector<InstId> RandomOrder(CompId computation);
  void WriteConstants();
  Tokens RunComputation(CompId computation, std::span<const Tokens> arguments);
  void Step(InstId inst, Frame& frame);
  void Check(InstId reader, InstId inst, uint32_t node, Token expected);
  void CheckReads(InstId inst, const Frame& frame);
  bool UpdatesInPlace(InstId inst, uint32_t operand, uint32_t from, uint32_t to) const;
  void CheckSharing(InstId inst);
  void Define(InstId inst, Frame& frame);
  Tokens RunWhile(InstId inst, const Frame& frame);
  static Tokens Part(const Tokens& all, size_t begin, size_t size) {
    return Tokens(all.begin() + static_cast<int64_t>(begin),
                  all.begin() + static_cast<int64_t>(begin + size));
  }

  const Module& module_;
  const Calls& calls_;
  const Dataflow& flow_;
  Groups groups_;
  std::mt19937_64 random_;
  std::unordered_map<uint32_t, Token> buffers_;     // by group
  std::unordered_map<uint32_t, Tokens> constants_;  // by instruction
  Token next_ = 1;
  int64_t steps_ = 0;
  BufferRun run_;
};

/// Constants are there from the start.
void Runner::WriteConstants() {
  for (CompId computation : module_.computation_order()) {
    if (!calls_.RunsOnItsOwn(computation)) continue;
    for (InstId inst : module_.computation(computation).instructions) {
      if (module_.opcode(inst) != Opcode::kConstant) continue;
      Tokens& tokens = constants_[inst.value];
      for (uint32_t node = 0; node < flow_.place_count(inst); ++node) {
        tokens.push_back(buffers_[GroupAt(inst, node)] = next_++);
      }
    }
  }
}

std::vector<InstId> Runner::RandomOrder(CompId computation) {
  const std::vector<InstId>& list = module_.computation(computation).instructions;
  if (module_.config().is_scheduled) return list;
  std::unordered_map<uint32_t, uint32_t> waits;
  std::unordered_map<uint32_t, std::vector<InstId>> next;
  std::vector<InstId> ready, order;
  for (InstId inst : list) {
    auto after = [&](InstId other) {
      ++waits[inst.value];
      next[other.value].push_back(inst);
    };
    for (InstId operand : module_.operands(inst)) after(operand);
    for (InstId other : module_.control_predecessors(inst)) after(other);
    if (waits[inst.value] == 0) ready.push_back(inst);
  }
  while (!ready.empty()) {
    std::swap(ready[random_() % ready.size()], ready.back());
    InstId inst = ready.back();
    ready.pop_back();
    order.push_back(inst);
    for (InstId other : next[inst.value]) {
      if (--waits[other.value] == 0) ready.push_back(other);
    }
  }
  if (order.size() != list.size()) {
    run_.problem = fmt::format("%{} has a circle of edges", module_.name(computation));
  }
  return order;
}

void Runner::Check(InstId reader, InstId inst, uint32_t node, Token expected) {
  if (!IsArray(inst, node) || Stop()) return;
  ++run_.reads;
  if (buffers_[GroupAt(inst, node)] == expected) return;
  run_.problem = fmt::format("%{} reads node {} of %{}, which was overwritten",
                             module_.name(reader), node, module_.name(inst));
}

/// Tuples and the like pass on what they do not read.
void Runner::CheckReads(InstId inst, const Frame& frame) {
  switch (module_.opcode(inst)) {
    case Opcode::kTuple:
    case Opcode::kGetTupleElement:
    case Opcode::kBitcast:
    case Opcode::kDomain:
    case Opcode::kOptimizationBarrier:
    case Opcode::kAddDependency:
      return;
    default:
      break;
  }
  const bool shallow = module_.opcode(inst) == Opcode::kCopy;  // of a tuple: its table only
  for (InstId operand : module_.operands(inst)) {
    const Tokens& tokens = frame.at(operand.value);
    const size_t count = shallow ? 1 : tokens.size();
    for (uint32_t node = 0; node < count; ++node) Check(inst, operand, node, tokens[node]);
  }
}

bool Runner::UpdatesInPlace(InstId inst, uint32_t operand, uint32_t from, uint32_t to) const {
  for (const copies::InPlacePair& pair : copies::InPlacePairs(module_, inst)) {
    if (pair.operand == operand && pair.from == from && pair.to == to) return true;
  }
  return false;
}

/// An instruction that writes where it reads must be able to.
void Runner::CheckSharing(InstId inst) {
  if (!module_.called_computations(inst).empty() && module_.opcode(inst) != Opcode::kFusion) return;
  for (uint32_t to = 0; to < flow_.place_count(inst); ++to) {
    if (flow_.value(flow_.ValueAt(inst, to)).inst != inst || !IsArray(inst, to)) continue;
    for (uint32_t i = 0; i < module_.operand_count(inst); ++i) {
      InstId operand = module_.operand(inst, i);
      for (uint32_t from = 0; from < flow_.place_count(operand); ++from) {
        if (!IsArray(operand, from) || GroupAt(operand, from) != GroupAt(inst, to)) continue;
        if (flow_.ValueAt(operand, from) == flow_.ValueAt(inst, to)) continue;
        if (UpdatesInPlace(inst, i, from, to)) continue;
        if (copies::CanShare(module_, Use{inst, i, from}, to)) continue;
        if (module_.IsCustomCall(inst, "Pin")) continue;
        run_.problem =
            fmt::format("%{} cannot write over %{}", module_.name(inst), module_.name(operand));
      }
    }
  }
}

/// New tokens for the values that the instruction defines, those of the operands elsewhere.
void Runner::Define(InstId inst, Frame& frame) {
  Tokens tokens(flow_.place_count(inst), 0);
  std::unordered_map<ValueId, Token> known;
  for (InstId operand : module_.operands(inst)) {
    const Tokens& read = frame.at(operand.value);
    for (uint32_t node = 0; node < read.size(); ++node) {
      known[flow_.ValueAt(operand, node)] = read[node];
    }
  }
  for (uint32_t node = 0; node < tokens.size(); ++node) {
    ValueId value = flow_.ValueAt(inst, node);
    if (flow_.value(value).inst != inst) {
      tokens[node] = known[value];
    } else if (module_.opcode(inst) == Opcode::kConstant) {
      tokens[node] = constants_[inst.value][node];
    } else {
      bool copies = module_.opcode(inst) == Opcode::kCopy;
      tokens[node] = copies ? frame.at(module_.operand(inst, 0).value)[node] : next_++;
      if (IsArray(inst, node)) buffers_[GroupAt(inst, node)] = tokens[node];
    }
  }
  frame[inst.value] = std::move(tokens);
}

Tokens Runner::RunWhile(InstId inst, const Frame& frame) {
  Tokens state = frame.at(module_.operand(inst, 0).value);
  const std::vector<CompId> callees(module_.called_computations(inst).begin(),
                                    module_.called_computations(inst).end());
  for (uint64_t rounds = random_() % 4;; --rounds) {
    RunComputation(callees[1], {&state, 1});
    if (rounds == 0 || Stop()) return state;
    state = RunComputation(callees[0], {&state, 1});
  }
}

void Runner::Step(InstId inst, Frame& frame) {
  CheckReads(inst, frame);
  CheckSharing(inst);
  std::span<const CompId> callees = module_.called_computations(inst);
  switch (module_.opcode(inst)) {
    case Opcode::kWhile:
      frame[inst.value] = RunWhile(inst, frame);
      return;
    case Opcode::kConditional: {
      uint32_t branch = static_cast<uint32_t>(random_() % callees.size());
      const Tokens argument = frame.at(module_.operand(inst, branch + 1).value);
      frame[inst.value] = RunComputation(callees[branch], {&argument, 1});
      return;
    }
    case Opcode::kCall: {
      std::vector<Tokens> arguments;
      for (InstId operand : module_.operands(inst)) arguments.push_back(frame.at(operand.value));
      frame[inst.value] = RunComputation(callees[0], arguments);
      return;
    }
    default:
      return Define(inst, frame);
  }
}

Tokens Runner::RunComputation(CompId computation, std::span<const Tokens> arguments) {
  Frame frame;
  const ComputationData& data = module_.computation(computation);
  for (size_t i = 0; i < data.parameters.size(); ++i) {
    if (i < arguments.size()) frame[data.parameters[i].value] = arguments[i];
  }
  for (InstId inst : RandomOrder(computation)) {
    if (++steps_ > kMaxSteps) run_.gave_up = true;
    if (Stop()) return Tokens(flow_.place_count(data.root), 0);
    if (!frame.contains(inst.value)) Step(inst, frame);
  }
  if (Stop()) return Tokens(flow_.place_count(data.root), 0);
  const Tokens& result = frame.at(data.root.value);
  for (uint32_t node = 0; node < result.size(); ++node) {
    Check(data.root, data.root, node, result[node]);
  }
  return result;
}

BufferRun Runner::Run() {
  WriteConstants();
  std::vector<Tokens> arguments;
  for (InstId parameter : module_.computation(module_.entry()).parameters) {
    Tokens tokens(flow_.place_count(parameter));
    for (uint32_t node = 0; node < tokens.size(); ++node) {
      tokens[node] = next_++;
      if (IsArray(parameter, node)) buffers_[GroupAt(parameter, node)] = tokens[node];
    }
    arguments.push_back(std::move(tokens));
  }
  RunComputation(module_.entry(), arguments);
  return run_;
}

}  // namespace

Result<BufferRun> RunInBuffers(const Module& module, uint64_t seed) {
  Calls calls(module);
  ASSIGN_OR_RETURN(Dataflow flow, Dataflow::Make(module, calls));
  for (CompId computation : module.computation_order()) {
    if (calls.IsAsync(computation)) return BufferRun{.gave_up = true};
  }
  return Runner(module, calls, flow, seed).Run();
}

}  // namespace hlokit
