// Which collectives are put together into one?
#include "src/passes/shared/combine.h"

#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "fmt/format.h"
#include "hlokit/printer.h"
#include "src/passes/shared/combine_rewrite.h"
#include "src/passes/shared/replica_groups.h"

namespace hlokit {
namespace {

constexpr OptionSpec kCommonOptions[] = {
    {"key", OptionType::kChoice, "neuron", "which collectives count as equal", "neuron|stock"},
    {"bytes", OptionType::kInt, "1073741824",
     "largest sum of result bytes; zero or less: no combining"},
    {"count", OptionType::kInt, "256", "largest number of members; zero or less: no combining"},
    {"groups", OptionType::kText, "", "combine only collectives with these replica groups"},
    {"by-dim", OptionType::kBool, "true", "combine only collectives with the same dimension"},
    {"neuron-fsdp", OptionType::kBool, "false", "leave the bodies of while loops alone"},
};
constexpr size_t kWithoutDimension = 4;

/// Candidates may come from text that nobody verified: what the rewriting relies on is checked
/// here.
bool IsPlausible(const Module& module, const CombinerSetup& setup, InstId inst) {
  if (module.operand_count(inst) != 1) return true;  // never combined, but part of the order
  const ShapePool& shapes = module.shapes();
  ShapeId from = module.shape(module.operand(inst, 0)), to = module.shape(inst);
  if (!shapes.IsArray(from) || !shapes.IsArray(to) || shapes.rank(from) != shapes.rank(to)) {
    return false;
  }
  for (ShapeId shape : {from, to}) {
    LayoutId layout = shapes.layout(shape);
    if (layout.valid() && !shapes.LayoutProblem(shape, layout).empty()) return false;
  }
  if (setup.opcode == Opcode::kAllReduce) return true;
  std::span<const int64_t> dimensions = module.dimensions(inst);
  return dimensions.size() == 1 && dimensions[0] >= 0 && dimensions[0] < shapes.rank(to);
}

/// One computation while it is being combined.
class Sweeper {
 public:
  Sweeper(Rewriter& rewriter, const CombinerSetup& setup, const KeyFunction& key,
          CompId computation)
      : rewriter_(rewriter), module_(rewriter.module()), setup_(setup), computation_(computation) {
    DomainMap domains(module_, computation);
    for (InstId inst : module_.computation(computation).instructions) {
      if (module_.opcode(inst) != setup.opcode || !IsPlausible(module_, setup, inst)) continue;
      std::optional<std::string> text = key({module_, rewriter, domains, setup, inst});
      if (!text) continue;
      uint32_t group =
          group_numbers_.try_emplace(*text, static_cast<uint32_t>(group_numbers_.size()))
              .first->second;
      groups_.emplace(inst.value, group);
      group_sizes_.resize(group_numbers_.size(), 0);
      ++group_sizes_[group];
    }
  }

  void Run() {
    if (groups_.size() < 2) return;
    std::vector<InstId> order = InstructionPostOrder(module_, computation_);
    size_t start = 0;
    while (!groups_.empty()) {
      std::vector<InstId> chosen = Sweep(order, &start);
      if (chosen.size() < 2) continue;
      ReplaceByCombined(rewriter_, setup_, chosen);
      if (groups_.size() < 2) return;
      order = InstructionPostOrder(module_, computation_);
      start = 0;
    }
  }

 private:
  /// One group from the first candidate on. Instructions that depend on a chosen one are marked on
  /// the way: in post-order everything an instruction depends on comes before it.
  std::vector<InstId> Sweep(const std::vector<InstId>& order, size_t* start) {
    while (*start < order.size() && !groups_.contains(order[*start].value)) ++*start;
    std::vector<InstId> chosen;
    std::unordered_set<uint32_t> dependent;
    uint32_t group = 0;
    int64_t bytes = 0;
    for (size_t i = *start; i < order.size(); ++i) {
      InstId inst = order[i];
      bool depends = !chosen.empty() && DependsOnChosen(inst, dependent);
      if (depends) dependent.insert(inst.value);
      auto found = groups_.find(inst.value);
      if (found == groups_.end()) continue;
      if (chosen.empty()) group = found->second;
      if (found->second != group) continue;
      int64_t size = module_.shapes().LogicalBytes(module_.shape(inst));
      if (module_.operand_count(inst) != 1 || size > setup_.bytes) {
        Forget(found);
        if (chosen.empty() || group_sizes_[group] != 0) continue;
        break;
      }
      if (size > setup_.bytes - bytes || depends) break;
      chosen.push_back(inst);
      dependent.insert(inst.value);
      bytes += size;
      Forget(found);
      if (static_cast<int64_t>(chosen.size()) >= setup_.count || group_sizes_[group] == 0) break;
    }
    return chosen;
  }

  void Forget(std::unordered_map<uint32_t, uint32_t>::iterator candidate) {
    --group_sizes_[candidate->second];
    groups_.erase(candidate);
  }

  bool DependsOnChosen(InstId inst, const std::unordered_set<uint32_t>& dependent) const {
    for (InstId operand : module_.operands(inst)) {
      if (dependent.contains(operand.value)) return true;
    }
    for (InstId before : module_.control_predecessors(inst)) {
      if (dependent.contains(before.value)) return true;
    }
    return false;
  }

  Rewriter& rewriter_;
  Module& module_;
  const CombinerSetup& setup_;
  CompId computation_;
  std::unordered_map<std::string, uint32_t> group_numbers_;
  std::vector<uint32_t> group_sizes_;              // candidates left, by group
  std::unordered_map<uint32_t, uint32_t> groups_;  // candidate -> group
};

/// Section 5: one constrained collective of the opcode anywhere stops the pass.
bool HasConstrained(const Module& module, Opcode opcode) {
  for (CompId computation : module.computation_order()) {
    for (InstId inst : module.computation(computation).instructions) {
      if (module.opcode(inst) == opcode && module.IntAttr(inst, AttrKind::kConstrainLayout) != 0) {
        return true;
      }
    }
  }
  return false;
}

/// By computation: is it the body of a fusion; is it the body of a while loop?
struct Roles {
  std::vector<uint8_t> fusion, while_body;
  explicit Roles(const Module& module)
      : fusion(module.computation_count()), while_body(module.computation_count()) {
    for (CompId computation : module.computation_order()) {
      for (InstId inst : module.computation(computation).instructions) {
        std::span<const CompId> called = module.called_computations(inst);
        if (called.empty()) continue;
        if (module.opcode(inst) == Opcode::kFusion) fusion[called[0].value] = 1;
        if (module.opcode(inst) == Opcode::kWhile) while_body[called[0].value] = 1;
      }
    }
  }
};

}  // namespace

std::span<const OptionSpec> AllReduceCombinerOptions() {
  return std::span(kCommonOptions).first(kWithoutDimension);
}
std::span<const OptionSpec> DimensionCombinerOptions() { return kCommonOptions; }

CombinerSetup SetupFromOptions(Opcode opcode, const PassOptions& options) {
  CombinerSetup setup{.opcode = opcode};
  setup.bytes = options.Int("bytes");
  setup.count = options.Int("count");
  setup.stock = options.Text("key") == "stock";
  if (!options.Text("groups").empty()) setup.groups = ReplicaGroupsKey(options.Text("groups"));
  if (opcode != Opcode::kAllReduce) {
    setup.by_dim = options.Bool("by-dim");
    setup.skip_while_bodies = options.Bool("neuron-fsdp");
  }
  return setup;
}

InstId PlainReduction(const Module& module, InstId collective) {
  std::span<const CompId> called = module.called_computations(collective);
  if (called.size() != 1) return {};
  const ComputationData& reduction = module.computation(called[0]);
  if (reduction.instructions.size() != 3 || reduction.parameters.size() != 2) return {};
  return reduction.root;
}

std::optional<std::string> ReductionKey(const KeyInput& input) {
  const Module& module = input.module;
  if (input.rewriter.HasControlEdges(input.inst)) return std::nullopt;
  InstId root = PlainReduction(module, input.inst);
  if (!root.valid()) return std::nullopt;
  return fmt::format("{} {} domain={} channel={} ids={} groups={}", OpcodeText(module.opcode(root)),
                     Info(module.shapes().type(module.shape(root))).text,
                     input.domains.id(input.inst), module.HasAttr(input.inst, AttrKind::kChannelId),
                     module.IntAttr(input.inst, AttrKind::kUseGlobalDeviceIds),
                     ReplicaGroupsKey(module.TextAttr(input.inst, AttrKind::kReplicaGroups)));
}

Result<bool> CombineCollectives(Module& module, const CombinerSetup& setup, const KeyFunction& key,
                                PassContext& context) {
  if (setup.bytes <= 0 || setup.count <= 0 || HasConstrained(module, setup.opcode)) return false;
  Roles roles(module);
  KeyFunction filtered = [&](const KeyInput& input) -> std::optional<std::string> {
    if (!setup.groups.empty() &&
        ReplicaGroupsKey(module.TextAttr(input.inst, AttrKind::kReplicaGroups)) != setup.groups) {
      return std::nullopt;
    }
    return key(input);
  };
  Rewriter rewriter(module, context.log);
  const std::vector<CompId> order = module.computation_order();
  for (CompId computation : order) {
    if (roles.fusion[computation.value]) continue;
    if (setup.skip_while_bodies && roles.while_body[computation.value]) continue;
    Sweeper(rewriter, setup, filtered, computation).Run();
  }
  return rewriter.changed();
}

}  // namespace hlokit
