// Step 3: which parts of the result do not own their memory, and which constants and parameters lie
// in buffers that others write?
#include <algorithm>
#include <map>
#include <unordered_map>

#include "hlokit/simplify.h"
#include "src/copy_insertion/deep_copy.h"
#include "src/copy_insertion/groups.h"
#include "src/copy_insertion/sharing.h"
#include "src/copy_insertion/steps.h"

namespace hlokit::copies {
namespace {

class SpecialCopies {
 public:
  SpecialCopies(const Steps& steps, const Calls& calls, const Dataflow& flow)
      : steps_(steps), module_(steps.module), calls_(calls), flow_(flow), groups_(module_, flow) {}
  void Run();

 private:
  struct Wanted {
    NodeSet nodes;
    std::map<uint32_t, std::pair<LifetimeCause, InstId>> causes;  // by node
  };
  void Want(InstId inst, uint32_t node, LifetimeCause cause, InstId subject);
  void FindAliasedParts();
  bool IsReadOnly(ValueId value) const;
  void FindWritten();
  void CheckValue(ValueId value);
  static uint64_t Key(uint32_t group, InstId inst) { return (uint64_t{group} << 32) | inst.value; }
  void CheckEntryRoot();
  void Insert();

  const Steps& steps_;
  Module& module_;
  const Calls& calls_;
  const Dataflow& flow_;
  Groups groups_;
  std::unordered_map<uint64_t, std::vector<ValueId>> written_;  // by group and instruction
  std::vector<uint8_t> aliased_parameter_;                  // by place, of parameters of the entry
  std::vector<uint8_t> aliased_output_;                     // by node of the entry root
  std::map<std::pair<uint32_t, uint32_t>, Wanted> wanted_;  // by computation and instruction
};

void SpecialCopies::Want(InstId inst, uint32_t node, LifetimeCause cause, InstId subject) {
  const ShapePool& shapes = module_.shapes();
  ShapeId part = shapes.Subshape(module_.shape(inst), node);
  if (calls_.IsAsync(module_.computation_of(inst)) || shapes[part].is_buffer) return;
  Wanted& wanted = wanted_[{module_.computation_of(inst).value, inst.value}];
  if (wanted.nodes.empty()) wanted.nodes.assign(flow_.place_count(inst), 0);
  wanted.nodes[node] = 1;
  wanted.causes.emplace(node, std::make_pair(cause, subject));
}

void SpecialCopies::FindAliasedParts() {
  const ShapePool& shapes = module_.shapes();
  const ComputationData& entry = module_.computation(module_.entry());
  aliased_output_.assign(flow_.place_count(entry.root), 0);
  for (const InputOutputAlias& alias : module_.config().input_output_alias) {
    uint64_t number = static_cast<uint64_t>(alias.parameter_number);
    if (number >= entry.parameters.size()) continue;
    InstId parameter = entry.parameters[number];
    std::optional<uint32_t> from =
        shapes.PreorderOf(module_.shape(parameter), alias.parameter_index);
    std::optional<uint32_t> to = shapes.PreorderOf(module_.shape(entry.root), alias.output_index);
    Place place = from ? flow_.place(parameter, *from) : 0;
    if (from && place >= aliased_parameter_.size()) aliased_parameter_.resize(place + 1, 0);
    if (from) aliased_parameter_[place] = 1;
    if (to) aliased_output_[*to] = 1;
  }
}

/// A constant, or a part of an entry parameter that the result does not take over.
bool SpecialCopies::IsReadOnly(ValueId id) const {
  const Value& value = flow_.value(id);
  if (module_.opcode(value.inst) == Opcode::kConstant) return true;
  if (module_.opcode(value.inst) != Opcode::kParameter ||
      module_.computation_of(value.inst) != module_.entry()) {
    return false;
  }
  Place place = flow_.place(value.inst, value.node);
  return place >= aliased_parameter_.size() || !aliased_parameter_[place];
}

void SpecialCopies::CheckValue(ValueId id) {
  std::span<const ValueId> members = groups_.members(groups_.GroupOf(id));
  if (members.size() < 2) return;
  const Value& value = flow_.value(id);
  if (IsReadOnly(id)) Want(value.inst, value.node, LifetimeCause::kReadOnlyValue, value.inst);
  for (const Use& use : flow_.uses(id)) {
    auto written = written_.find(Key(groups_.GroupOf(id), use.inst));
    if (written == written_.end()) continue;
    for (ValueId other : written->second) {
      if (other == id || CanShare(module_, use, flow_.value(other).node)) continue;
      if (module_.IsCustomCall(use.inst, "Pin")) continue;  // that is what it is for
      Want(module_.operand(use.inst, use.operand), use.node, LifetimeCause::kCannotShareUse,
           use.inst);
    }
  }
}

/// Which values of one buffer does one instruction define?
void SpecialCopies::FindWritten() {
  for (uint32_t group = 0; group < groups_.count(); ++group) {
    if (groups_.members(group).size() < 2) continue;
    for (ValueId value : groups_.members(group)) {
      written_[Key(group, flow_.value(value).inst)].push_back(value);
    }
  }
}

void SpecialCopies::CheckEntryRoot() {
  const ShapePool& shapes = module_.shapes();
  InstId root = module_.computation(module_.entry()).root;
  std::vector<ShapeId> subshapes = shapes.Subshapes(module_.shape(root));
  std::map<uint32_t, uint32_t> seen;  // group -> node
  for (uint32_t node = 0; node < subshapes.size(); ++node) {
    ValueId value = flow_.ValueAt(root, node);
    auto [first, fresh] = seen.emplace(groups_.GroupOf(value), node);
    if (!fresh) {
      uint32_t target = aliased_output_[node] ? first->second : node;
      Want(root, target, LifetimeCause::kRepeatedResult, root);
    }
    if (IsReadOnly(value))
      Want(root, node, LifetimeCause::kReadOnlyResult, flow_.value(value).inst);
  }
}

void SpecialCopies::Insert() {
  Rewriter rewriter(module_, steps_.log);
  for (auto& [number, wanted] : wanted_) {
    InstId inst{number.second};
    std::span<const InstId> all = module_.users(inst);
    std::vector<InstId> users(all.begin(), all.end());
    DeepCopied copied = DeepCopy(rewriter, inst, wanted.nodes);
    rewriter.ReplaceUsesBy(users, inst, copied.result);
    ComputationData& owner = module_.computation(module_.computation_of(inst));
    if (owner.root == inst) owner.root = copied.result;
    for (const auto& [node, why] : wanted.causes) {
      if (copied.copies[node].valid()) {
        steps_.Note(copied.copies[node], why.first, why.second, node);
      }
    }
  }
}

void SpecialCopies::Run() {
  FindAliasedParts();
  FindWritten();
  for (ValueId value = 0; value < flow_.value_count(); ++value) CheckValue(value);
  CheckEntryRoot();
  Insert();
}

}  // namespace

Status AddSpecialCopies(const Steps& steps) {
  {
    Calls calls(steps.module);
    ASSIGN_OR_RETURN(Dataflow flow, Dataflow::Make(steps.module, calls));
    SpecialCopies(steps, calls, flow).Run();
  }
  SimplifyTuples(steps.module, false, steps.log);
  RemoveDeadCode(steps.module, steps.log);
  return {};
}

}  // namespace hlokit::copies
