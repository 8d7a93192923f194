// Which changes make a module smaller?
#include "src/reduce/edits.h"

#include <algorithm>
#include <vector>

#include "hlokit/extract.h"
#include "hlokit/printer.h"
#include "hlokit/simplify.h"

namespace hlokit::reduce {
namespace {

constexpr AttrKind kDescriptive[] = {AttrKind::kMetadata,           AttrKind::kFrontendAttributes,
                                     AttrKind::kBackendConfig,      AttrKind::kSharding,
                                     AttrKind::kStatistics,         AttrKind::kOrigin,
                                     AttrKind::kControlPredecessors};

std::vector<CompId> CalledComputations(const Module& module) {
  std::vector<CompId> out;
  for (CompId computation : module.computation_order()) {
    if (computation != module.entry()) out.push_back(computation);
  }
  return out;
}

/// Values of the entry that could come from outside, the last ones first: cutting those takes most
/// along.
std::vector<InstId> Cuttable(const Module& module) {
  std::vector<InstId> out;
  const ComputationData& entry = module.computation(module.entry());
  for (InstId inst : InstructionPostOrder(module, module.entry())) {
    if (module.opcode(inst) == Opcode::kParameter || inst == entry.root) continue;
    const ShapePool& shapes = module.shapes();
    ShapeId shape = module.shape(inst);
    if (shapes[shape].is_buffer || module.users(inst).empty()) continue;
    out.push_back(inst);
  }
  std::reverse(out.begin(), out.end());
  return out;
}

/// Instructions that have an operand of their own shape.
std::vector<InstId> Bypassable(const Module& module) {
  std::vector<InstId> out;
  for (CompId computation : module.computation_order()) {
    for (InstId inst : module.computation(computation).instructions) {
      if (module.opcode(inst) == Opcode::kCopy) continue;
      for (InstId operand : module.operands(inst)) {
        if (module.shape(operand) != module.shape(inst)) continue;
        out.push_back(inst);
        break;
      }
    }
  }
  return out;
}

std::vector<InstId> UnusedParameters(const Module& module) {
  std::vector<InstId> out;
  for (InstId parameter : module.computation(module.entry()).parameters) {
    if (module.users(parameter).empty() && !module.IsRoot(parameter)) out.push_back(parameter);
  }
  return out;
}

bool SetResult(Module& module, InstId root) {
  ComputationData& entry = module.computation(module.entry());
  entry.root = root;
  module.config().input_output_alias.clear();
  ComputationLayout& layout = *module.config().entry_computation_layout;
  layout.result = module.shape(root);
  return true;
}

bool DropResults(Module& module, size_t begin, size_t end) {
  InstId root = module.computation(module.entry()).root;
  std::span<const InstId> all = module.operands(root);
  if (module.opcode(root) != Opcode::kTuple) {
    // One operand after the other becomes the result.
    if (end != begin + 1) return false;
    return SetResult(module, all[begin]);
  }
  if (end - begin == all.size()) return false;
  std::vector<InstId> kept(all.begin(), all.end());
  kept.erase(kept.begin() + static_cast<ptrdiff_t>(begin),
             kept.begin() + static_cast<ptrdiff_t>(end));
  if (kept.size() == 1) return SetResult(module, kept[0]);
  std::vector<ShapeId> shapes, results;
  ComputationLayout& layout = *module.config().entry_computation_layout;
  for (uint32_t i = 0; i < all.size(); ++i) {
    if (i >= begin && i < end) continue;
    shapes.push_back(module.shapes().element(module.shape(root), i));
    results.push_back(module.shapes().IsTuple(layout.result)
                          ? module.shapes().element(layout.result, i)
                          : shapes.back());
  }
  InstId tuple =
      module.AddInstruction(module.entry(), Opcode::kTuple, module.shapes().Tuple(shapes), kept,
                            module.UniqueInstructionName("result"));
  SetResult(module, tuple);
  layout.result = module.shapes().Tuple(results);
  return true;
}

/// Pairs of an element of the result tuple and one of its operands.
std::vector<std::pair<uint32_t, InstId>> Descents(const Module& module) {
  std::vector<std::pair<uint32_t, InstId>> out;
  InstId root = module.computation(module.entry()).root;
  if (module.opcode(root) != Opcode::kTuple) return out;
  for (uint32_t i = 0; i < module.operand_count(root); ++i) {
    for (InstId operand : module.operands(module.operand(root, i))) out.emplace_back(i, operand);
  }
  return out;
}

bool Descend(Module& module, size_t target) {
  InstId root = module.computation(module.entry()).root;
  auto [element, operand] = Descents(module)[target];
  std::span<const InstId> all = module.operands(root);
  std::vector<InstId> elements(all.begin(), all.end());
  elements[element] = operand;
  std::vector<ShapeId> shapes, results;
  ComputationLayout& layout = *module.config().entry_computation_layout;
  for (uint32_t i = 0; i < elements.size(); ++i) {
    shapes.push_back(module.shape(elements[i]));
    bool keep = i != element && module.shapes().IsTuple(layout.result);
    results.push_back(keep ? module.shapes().element(layout.result, i) : shapes.back());
  }
  InstId tuple =
      module.AddInstruction(module.entry(), Opcode::kTuple, module.shapes().Tuple(shapes), elements,
                            module.UniqueInstructionName("result"));
  SetResult(module, tuple);
  layout.result = module.shapes().Tuple(results);
  return true;
}

/// The value comes from outside, under its own name.
void Cut(Module& module, InstId inst) {
  ComputationData& entry = module.computation(module.entry());
  StrRef name = module.name_ref(inst);
  module.set_name(inst, module.UniqueInstructionName("cut"));
  InstId parameter =
      module.AddInstruction(module.entry(), Opcode::kParameter, module.shape(inst), {}, name);
  int64_t number = static_cast<int64_t>(entry.parameters.size());
  module.SetAttr(parameter, Attr::Integer(AttrKind::kParameterNumber, number));
  entry.parameters.push_back(parameter);
  module.config().entry_computation_layout->parameters.push_back(module.shape(inst));
  std::vector<bool>& spread = module.config().allow_spmd_sharding_propagation_to_parameters;
  if (spread.size() > 1) spread.push_back(false);
  module.ReplaceAllUsesWith(inst, parameter);
}

void Bypass(Module& module, InstId inst) {
  for (InstId operand : module.operands(inst)) {
    if (module.shape(operand) != module.shape(inst)) continue;
    module.ReplaceAllUsesWith(inst, operand);
    return;
  }
}

/// Takes parameters out and renumbers the others.
void DropParameters(Module& module, std::span<const InstId> dropped) {
  ComputationData& entry = module.computation(module.entry());
  ComputationLayout& layout = *module.config().entry_computation_layout;
  std::vector<InstId> kept;
  std::vector<ShapeId> shapes;
  std::vector<bool> spread;
  const std::vector<bool>& old_spread =
      module.config().allow_spmd_sharding_propagation_to_parameters;
  for (size_t i = 0; i < entry.parameters.size(); ++i) {
    InstId parameter = entry.parameters[i];
    if (std::find(dropped.begin(), dropped.end(), parameter) != dropped.end()) {
      module.MarkDead(parameter);
      continue;
    }
    module.SetAttr(parameter,
                   Attr::Integer(AttrKind::kParameterNumber, static_cast<int64_t>(kept.size())));
    kept.push_back(parameter);
    if (i < layout.parameters.size()) shapes.push_back(layout.parameters[i]);
    if (old_spread.size() > 1 && i < old_spread.size()) spread.push_back(old_spread[i]);
  }
  entry.parameters = kept;
  layout.parameters = shapes;
  if (old_spread.size() > 1)
    module.config().allow_spmd_sharding_propagation_to_parameters =
        spread.empty() ? std::vector<bool>{false} : spread;
  module.config().input_output_alias.clear();
  module.config().buffer_donors.clear();
  module.RemoveDead();
}

void DropAttribute(Module& module, AttrKind kind) {
  for (CompId computation : module.computation_order()) {
    for (InstId inst : module.computation(computation).instructions) {
      if (module.HasAttr(inst, kind)) module.RemoveAttr(inst, kind);
    }
  }
  if (kind == AttrKind::kMetadata) module.config().stack_frame_index = {};
}

/// False when the edit cannot be made.
bool Edit(Module& module, EditKind kind, size_t begin, size_t end) {
  switch (kind) {
    case EditKind::kExtract:
      return false;  // makes a new module, see ApplyEdit
    case EditKind::kHeader:
      module.config().input_output_alias.clear();
      module.config().buffer_donors.clear();
      module.config().frontend_attributes.clear();
      module.config().origin_recovery_table.clear();
      return true;
    case EditKind::kAttributes:
      for (size_t i = begin; i < end; ++i) DropAttribute(module, kDescriptive[i]);
      return true;
    case EditKind::kResults:
      return DropResults(module, begin, end);
    case EditKind::kDescend:
      return end == begin + 1 && Descend(module, begin);
    case EditKind::kCut: {
      std::vector<InstId> targets = Cuttable(module);
      for (size_t i = begin; i < end; ++i) Cut(module, targets[i]);
      return true;
    }
    case EditKind::kBypass: {
      std::vector<InstId> targets = Bypassable(module);
      for (size_t i = begin; i < end; ++i) Bypass(module, targets[i]);
      return true;
    }
    case EditKind::kParameters: {
      std::vector<InstId> targets = UnusedParameters(module);
      DropParameters(module, std::span(targets).subspan(begin, end - begin));
      return true;
    }
  }
  return false;
}

/// Cut values whose operands nobody needs, and parameters that came to nothing.
void CleanUp(Module& module, size_t parameters_before) {
  RemoveDeadCode(module);
  std::vector<InstId> unused;
  const std::vector<InstId>& parameters = module.computation(module.entry()).parameters;
  for (size_t i = parameters_before; i < parameters.size(); ++i) {
    if (module.users(parameters[i]).empty() && !module.IsRoot(parameters[i]))
      unused.push_back(parameters[i]);
  }
  if (!unused.empty()) DropParameters(module, unused);
}

}  // namespace

size_t CountTargets(const Module& module, EditKind kind) {
  switch (kind) {
    case EditKind::kExtract:
      return CalledComputations(module).size();
    case EditKind::kHeader:
      return 1;
    case EditKind::kAttributes:
      return std::size(kDescriptive);
    case EditKind::kResults:
      return module.operand_count(module.computation(module.entry()).root);
    case EditKind::kDescend:
      return Descents(module).size();
    case EditKind::kCut:
      return Cuttable(module).size();
    case EditKind::kBypass:
      return Bypassable(module).size();
    case EditKind::kParameters:
      return UnusedParameters(module).size();
  }
  return 0;
}

uint64_t CostOf(const Module& module) {
  uint64_t cost = 0;
  for (CompId computation : module.computation_order()) {
    cost += 16;
    for (InstId inst : module.computation(computation).instructions) {
      cost += module.opcode(inst) == Opcode::kParameter ? 8 : 32;
      for (AttrKind kind : kDescriptive) cost += module.HasAttr(inst, kind);
    }
  }
  const ModuleConfig& config = module.config();
  return cost + config.input_output_alias.size() + config.buffer_donors.size() +
         !config.frontend_attributes.empty() + !config.origin_recovery_table.empty();
}

std::optional<Module> ApplyEdit(const Module& module, EditKind kind, size_t begin, size_t end) {
  std::optional<Module> out;
  if (kind == EditKind::kExtract) {
    if (end != begin + 1) return std::nullopt;
    CompId computation = CalledComputations(module)[begin];
    Result<Module> extracted = ExtractInstruction(module, module.computation(computation).root, {});
    if (!extracted) return std::nullopt;
    out = std::move(*extracted);
  } else {
    out = module;
    if (!out->config().entry_computation_layout) return std::nullopt;
    size_t parameters = out->computation(out->entry()).parameters.size();
    if (!Edit(*out, kind, begin, end)) return std::nullopt;
    if (kind != EditKind::kParameters) CleanUp(*out, parameters);
  }
  if (CostOf(*out) >= CostOf(module)) return std::nullopt;
  return out;
}

}  // namespace hlokit::reduce
