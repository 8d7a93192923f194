// Which value lies at every place of every instruction, and who uses it?
//
// Most places either define a value or hold what another place holds, which the opcode alone
// decides: those form chains that end at a definition or at a merge. What is left is a small graph
// of merges, solved optimistically: a merge starts without a value, and becomes a value of its own
// only when two different ones reach it.
#include "src/copy_insertion/dataflow.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "fmt/format.h"

namespace hlokit::copies {
namespace {

/// More places than this are refused: text can name them much faster than memory can hold them.
constexpr uint64_t kMaxPlaces = uint64_t{1} << 27;

/// Does the instruction read this node of its operand? Instructions that only pass the operand on
/// do not.
bool Reads(Opcode opcode, uint32_t node) {
  switch (opcode) {
    case Opcode::kGetTupleElement:
    case Opcode::kCopy:
      return node == 0;
    case Opcode::kTuple:
    case Opcode::kDomain:
      return false;
    default:
      return true;
  }
}

}  // namespace

class DataflowBuilder {
 public:
  DataflowBuilder(const Module& module, const Calls& calls)
      : module_(module), shapes_(module.shapes()), calls_(calls) {}
  Result<Dataflow> Build();

 private:
  struct Merge {
    Place place;
    std::vector<Place> inputs;
  };

  Status NumberPlaces();
  void Connect(InstId inst);
  void ConnectElements(InstId inst);
  void ConnectAsyncStart(InstId inst);
  void ConnectParameter(InstId inst);
  void ConnectWhile(InstId inst);
  void ConnectConditional(InstId inst);
  void Forward(InstId to, uint32_t to_node, InstId from, uint32_t from_node);
  void ForwardAll(InstId to, InstId from) { Forward(to, 0, from, 0); }
  void MergeAll(InstId to, std::span<const InstId> from);
  uint32_t Offset(ShapeId shape, uint32_t element) const;
  Place Terminal(Place place);
  void SolveMerges();
  bool SolveRound(std::vector<Place>& value, std::vector<uint8_t>& conflict);
  void MakeValues();
  void CollectUses();
  void CollectUsesOf(Place place);
  struct Readers {
    std::vector<Use> top;   // who reads node 0
    std::vector<Use> deep;  // who reads every node
  };
  const Readers& ReadersOf(InstId inst);
  std::vector<uint32_t> OperandsThatAre(InstId user, InstId operand);
  void CollectLiveOut();

  const Module& module_;
  const ShapePool& shapes_;
  const Calls& calls_;
  Dataflow flow_;
  std::vector<Place> source_;           // by place: where its value comes from, kNone = here
  std::vector<uint32_t> merge_number_;  // by place
  std::vector<Merge> merges_;
  std::vector<std::vector<uint32_t>> readers_;        // merges that have this merge as an input
  std::unordered_map<uint32_t, Readers> readers_of_;  // by instruction
  static constexpr size_t kWide = 32;
  std::unordered_set<uint32_t> wide_;
  std::unordered_map<uint64_t, std::vector<uint32_t>> wide_operands_;  // user, operand -> numbers
};

// ---- places and where they get their value from ----

Status DataflowBuilder::NumberPlaces() {
  flow_.first_place_.assign(module_.instruction_count(), 0);
  flow_.place_count_.assign(module_.instruction_count(), 0);
  uint64_t count = 0;
  for (CompId computation : module_.walk_order()) {
    for (InstId inst : module_.computation(computation).instructions) {
      uint32_t nodes = shapes_[module_.shape(inst)].subshape_count;
      flow_.first_place_[inst.value] = static_cast<uint32_t>(count);
      flow_.place_count_[inst.value] = nodes;
      count += nodes;
      if (count > kMaxPlaces) {
        return MakeError(
            ExitCode::kUnsupported, DiagId::kTooLarge,
            fmt::format("the tuples of the module have more than {} elements in sum", kMaxPlaces),
            "split the module, or pass fewer values through tuples of tuples");
      }
      flow_.instruction_of_.insert(flow_.instruction_of_.end(), nodes, inst);
    }
  }
  source_.assign(count, kNone);
  merge_number_.assign(count, kNone);
  return {};
}

/// The pre-order number of an element; kNone when there is none.
uint32_t DataflowBuilder::Offset(ShapeId shape, uint32_t element) const {
  if (!shapes_.IsTuple(shape) || element >= shapes_.element_count(shape)) return kNone;
  return shapes_.element_offset(shape, element);
}

/// The subtree of `to` at `to_node` holds what the subtree of `from` at `from_node` holds. Shapes
/// that do not fit (a module that nobody verified) leave the rest defined by `to`.
void DataflowBuilder::Forward(InstId to, uint32_t to_node, InstId from, uint32_t from_node) {
  if (to_node >= flow_.place_count(to) || from_node >= flow_.place_count(from)) return;
  uint32_t to_size = shapes_[shapes_.Subshape(module_.shape(to), to_node)].subshape_count;
  uint32_t from_size = shapes_[shapes_.Subshape(module_.shape(from), from_node)].subshape_count;
  if (to_size != from_size) return;
  for (uint32_t i = 0; i < to_size; ++i) {
    source_[flow_.place(to, to_node + i)] = flow_.place(from, from_node + i);
  }
}

void DataflowBuilder::MergeAll(InstId to, std::span<const InstId> from) {
  for (InstId one : from) {
    if (flow_.place_count(one) != flow_.place_count(to)) return;
  }
  if (from.empty()) return;
  for (uint32_t i = 0; i < flow_.place_count(to); ++i) {
    Place place = flow_.place(to, i);
    merge_number_[place] = static_cast<uint32_t>(merges_.size());
    merges_.push_back({place, {}});
    for (InstId one : from) merges_.back().inputs.push_back(flow_.place(one, i));
  }
}

void DataflowBuilder::ConnectElements(InstId inst) {
  ShapeId shape = module_.shape(inst);
  for (uint32_t i = 0; i < module_.operand_count(inst); ++i) {
    uint32_t offset = Offset(shape, i);
    if (offset != kNone) Forward(inst, offset, module_.operand(inst, i), 0);
  }
}

/// (operands), result, …: the operands lie in element 0, the result is that of the wrapped
/// computation.
void DataflowBuilder::ConnectAsyncStart(InstId inst) {
  ShapeId shape = module_.shape(inst);
  uint32_t inputs = Offset(shape, 0), result = Offset(shape, 1);
  if (inputs != kNone && shapes_.IsTuple(shapes_.element(shape, 0))) {
    for (uint32_t i = 0; i < module_.operand_count(inst); ++i) {
      uint32_t offset = Offset(shapes_.element(shape, 0), i);
      if (offset != kNone) Forward(inst, inputs + offset, module_.operand(inst, i), 0);
    }
  }
  std::span<const CompId> callees = module_.called_computations(inst);
  if (result != kNone && !callees.empty()) {
    Forward(inst, result, module_.computation(callees[0]).root, 0);
  }
}

/// Parameters of computations that run on their own hold what the caller passes.
void DataflowBuilder::ConnectParameter(InstId inst) {
  CompId computation = module_.computation_of(inst);
  InstId caller = calls_.caller(computation);
  if (!caller.valid() || !calls_.RunsOnItsOwn(computation)) return;
  uint64_t number = static_cast<uint64_t>(module_.parameter_number(inst));
  switch (module_.opcode(caller)) {
    case Opcode::kCall:
    case Opcode::kAsyncStart:
      if (number < module_.operand_count(caller)) ForwardAll(inst, module_.operand(caller, number));
      return;
    case Opcode::kConditional: {
      uint32_t operand = calls_.callee_number(computation) + 1;
      if (operand < module_.operand_count(caller))
        ForwardAll(inst, module_.operand(caller, operand));
      return;
    }
    case Opcode::kWhile: {
      InstId inputs[] = {module_.operand(caller, 0),
                         module_.computation(module_.called_computations(caller)[0]).root};
      MergeAll(inst, inputs);
      return;
    }
    default:
      return;
  }
}

void DataflowBuilder::ConnectWhile(InstId inst) {
  InstId inputs[] = {module_.operand(inst, 0),
                     module_.computation(module_.called_computations(inst)[0]).root};
  MergeAll(inst, inputs);
}

void DataflowBuilder::ConnectConditional(InstId inst) {
  std::vector<InstId> roots;
  for (CompId branch : module_.called_computations(inst)) {
    roots.push_back(module_.computation(branch).root);
  }
  MergeAll(inst, roots);
}

void DataflowBuilder::Connect(InstId inst) {
  ShapeId shape = module_.shape(inst);
  InstId operand = module_.operand_count(inst) > 0 ? module_.operand(inst, 0) : InstId();
  auto from_element = [&](uint32_t element) {
    uint32_t offset = Offset(module_.shape(operand), element);
    return offset;
  };
  switch (module_.opcode(inst)) {
    case Opcode::kBitcast:
    case Opcode::kOptimizationBarrier:
    case Opcode::kDomain:
    case Opcode::kAddDependency:
    case Opcode::kAllReduceDone:
    case Opcode::kAsyncUpdate:
      ForwardAll(inst, operand);
      return;
    case Opcode::kGetTupleElement:
      Forward(inst, 0, operand, from_element(static_cast<uint32_t>(module_.tuple_index(inst))));
      return;
    case Opcode::kTuple:
      ConnectElements(inst);
      return;
    case Opcode::kCopy:
      if (flow_.place_count(inst) == flow_.place_count(operand)) {
        ForwardAll(inst, operand);
        source_[flow_.place(inst, 0)] = kNone;
      }
      return;
    case Opcode::kCopyStart:
      if (Offset(shape, 1) != kNone) Forward(inst, Offset(shape, 1), operand, 0);
      return;
    case Opcode::kSend:
      if (Offset(shape, 0) != kNone) Forward(inst, Offset(shape, 0), operand, 0);
      return;
    case Opcode::kAllGatherStart:
    case Opcode::kCollectivePermuteStart: {
      uint32_t offset = Offset(shape, 0);
      if (offset == kNone) return;
      if (module_.operand_count(inst) == 1) return Forward(inst, offset, operand, 0);
      ShapeId inputs = shapes_.element(shape, 0);
      for (uint32_t i = 0; i < module_.operand_count(inst); ++i) {
        uint32_t inner = Offset(inputs, i);
        if (inner != kNone) Forward(inst, offset + inner, module_.operand(inst, i), 0);
      }
      return;
    }
    case Opcode::kCopyDone:
      Forward(inst, 0, operand, from_element(0));
      return;
    case Opcode::kAllGatherDone:
    case Opcode::kCollectivePermuteDone:
    case Opcode::kAsyncDone:
      Forward(inst, 0, operand, from_element(1));
      return;
    case Opcode::kRecvDone:
      if (Offset(shape, 0) != kNone) Forward(inst, Offset(shape, 0), operand, from_element(0));
      return;
    case Opcode::kAsyncStart:
      return ConnectAsyncStart(inst);
    case Opcode::kCall:
      ForwardAll(inst, module_.computation(module_.to_apply(inst)).root);
      return;
    case Opcode::kParameter:
      return ConnectParameter(inst);
    case Opcode::kWhile:
      return ConnectWhile(inst);
    case Opcode::kConditional:
      return ConnectConditional(inst);
    default:
      return;
  }
}

/// The definition or merge that a chain of forwarding places ends at; shortens the chain.
Place DataflowBuilder::Terminal(Place place) {
  Place end = place;
  while (source_[end] != kNone) end = source_[end];
  while (source_[place] != kNone) {
    Place next = source_[place];
    source_[place] = end;
    place = next;
  }
  return end;
}

// ---- merges ----

/// One optimistic round with the merges of `conflict` as values of their own. Returns whether new
/// ones were found. `value` is by merge: the place that defines what it holds.
bool DataflowBuilder::SolveRound(std::vector<Place>& value, std::vector<uint8_t>& conflict) {
  bool found = false;
  std::vector<uint32_t> work;
  value.assign(merges_.size(), kNone);
  for (uint32_t i = 0; i < merges_.size(); ++i) {
    if (conflict[i]) value[i] = merges_[i].place;
    work.push_back(i);
  }
  for (size_t at = 0; at < work.size(); ++at) {
    uint32_t merge = work[at];
    if (conflict[merge]) continue;
    for (Place input : merges_[merge].inputs) {
      uint32_t number = merge_number_[input];
      Place incoming = number == kNone ? input : value[number];
      if (incoming == kNone || incoming == value[merge]) continue;
      if (value[merge] != kNone) {
        conflict[merge] = 1;
        found = true;
        break;
      }
      value[merge] = incoming;
      for (uint32_t reader : readers_[merge]) work.push_back(reader);
    }
  }
  return found;
}

void DataflowBuilder::SolveMerges() {
  readers_.resize(merges_.size());
  for (uint32_t i = 0; i < merges_.size(); ++i) {
    for (Place& input : merges_[i].inputs) {
      input = Terminal(input);
      if (merge_number_[input] != kNone) readers_[merge_number_[input]].push_back(i);
    }
  }
  std::vector<Place> value;
  std::vector<uint8_t> conflict(merges_.size(), 0);
  while (SolveRound(value, conflict)) {
  }
  for (uint32_t i = 0; i < merges_.size(); ++i) {
    // A merge that nothing reaches is a value of its own too.
    if (conflict[i] || value[i] == kNone) continue;
    source_[merges_[i].place] = value[i];
    merge_number_[merges_[i].place] = kNone;
  }
}

// ---- values ----

void DataflowBuilder::MakeValues() {
  std::vector<ValueId>& at = flow_.value_at_;
  at.assign(source_.size(), kNone);
  for (Place place = 0; place < source_.size(); ++place) {
    if (source_[place] != kNone) continue;
    at[place] = static_cast<ValueId>(flow_.values_.size());
    flow_.values_.push_back(
        {flow_.instruction_of_[place], flow_.NodeOf(place), merge_number_[place] != kNone, false});
  }
  std::vector<uint32_t>& begin = flow_.places_begin_;
  begin.assign(flow_.values_.size() + 1, 0);
  for (Place place = 0; place < source_.size(); ++place) {
    at[place] = at[Terminal(place)];
    ++begin[at[place] + 1];
  }
  for (size_t i = 1; i < begin.size(); ++i) begin[i] += begin[i - 1];
  flow_.places_.resize(source_.size());
  std::vector<uint32_t> next(begin.begin(), begin.end() - 1);
  for (Place place = 0; place < source_.size(); ++place) flow_.places_[next[at[place]]++] = place;
}

/// For each value: place by place, the one that defines it first, user by user.
void DataflowBuilder::CollectUses() {
  flow_.uses_begin_.assign(1, 0);
  for (ValueId value = 0; value < flow_.values_.size(); ++value) {
    const Value& data = flow_.values_[value];
    Place definition = flow_.place(data.inst, data.node);
    CollectUsesOf(definition);
    std::vector<Place> rest(flow_.places(value).begin(), flow_.places(value).end());
    std::stable_sort(rest.begin(), rest.end(), [&](Place a, Place b) {
      return calls_.depth(module_.computation_of(flow_.InstructionOf(a))) <
             calls_.depth(module_.computation_of(flow_.InstructionOf(b)));
    });
    for (Place place : rest) {
      if (place != definition) CollectUsesOf(place);
    }
    flow_.uses_begin_.push_back(static_cast<uint32_t>(flow_.uses_.size()));
  }
}

/// The readers of an instruction, computed once for all its places: a state of thousands of
/// elements has as many users that read only one of them.
const DataflowBuilder::Readers& DataflowBuilder::ReadersOf(InstId inst) {
  auto [entry, fresh] = readers_of_.try_emplace(inst.value);
  Readers& readers = entry->second;
  if (!fresh) return readers;
  for (InstId user : module_.users(inst)) {
    Opcode opcode = module_.opcode(user);
    if (!Reads(opcode, 0)) continue;
    bool deep = Reads(opcode, 1);
    for (uint32_t i : OperandsThatAre(user, inst)) {
      readers.top.push_back({user, i, 0});
      if (deep) readers.deep.push_back({user, i, 0});
    }
  }
  return readers;
}

/// Operand numbers of `user` that are `operand`; of wide instructions through a table.
std::vector<uint32_t> DataflowBuilder::OperandsThatAre(InstId user, InstId operand) {
  std::vector<uint32_t> out;
  std::span<const InstId> all = module_.operands(user);
  if (all.size() < kWide) {
    for (uint32_t i = 0; i < all.size(); ++i) {
      if (all[i] == operand) out.push_back(i);
    }
    return out;
  }
  if (wide_.insert(user.value).second) {
    for (uint32_t i = 0; i < all.size(); ++i) {
      wide_operands_[(uint64_t{user.value} << 32) | all[i].value].push_back(i);
    }
  }
  return wide_operands_[(uint64_t{user.value} << 32) | operand.value];
}

void DataflowBuilder::CollectUsesOf(Place place) {
  InstId inst = flow_.instruction_of_[place];
  uint32_t node = flow_.NodeOf(place);
  const Readers& readers = ReadersOf(inst);
  for (Use use : node == 0 ? readers.top : readers.deep) {
    use.node = node;
    flow_.uses_.push_back(use);
  }
}

void DataflowBuilder::CollectLiveOut() {
  std::vector<std::pair<ValueId, CompId>> pairs;
  for (CompId computation : module_.computation_order()) {
    InstId root = module_.computation(computation).root;
    for (uint32_t node = 0; node < flow_.place_count(root); ++node) {
      ValueId value = flow_.ValueAt(root, node);
      pairs.emplace_back(value, computation);
      if (computation == module_.entry()) flow_.values_[value].live_out = true;
    }
  }
  std::sort(pairs.begin(), pairs.end());
  pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
  flow_.live_out_begin_.assign(flow_.values_.size() + 1, 0);
  for (const auto& [value, computation] : pairs) {
    ++flow_.live_out_begin_[value + 1];
    flow_.live_out_.push_back(computation);
  }
  for (size_t i = 1; i < flow_.live_out_begin_.size(); ++i) {
    flow_.live_out_begin_[i] += flow_.live_out_begin_[i - 1];
  }
}

bool Dataflow::LiveOutOf(ValueId id, CompId computation) const {
  auto begin = live_out_.begin() + live_out_begin_[id];
  auto end = live_out_.begin() + live_out_begin_[id + 1];
  return std::binary_search(begin, end, computation);
}

Result<Dataflow> DataflowBuilder::Build() {
  TRY(NumberPlaces());
  for (CompId computation : module_.computation_order()) {
    for (InstId inst : module_.computation(computation).instructions) Connect(inst);
  }
  SolveMerges();
  MakeValues();
  CollectUses();
  CollectLiveOut();
  return std::move(flow_);
}

Result<Dataflow> Dataflow::Make(const Module& module, const Calls& calls) {
  return DataflowBuilder(module, calls).Build();
}

}  // namespace hlokit::copies
