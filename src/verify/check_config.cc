// Does the header of the module fit its entry computation? hlo-verifier.md sections 4.4 and 5.5.
#include <algorithm>
#include <set>

#include "src/verify/checker.h"

namespace hlokit {

namespace {

/// What the entry layout promises: tiles, tail padding and memory space are not compared.
ShapeId ForEntry(ShapePool& shapes, ShapeId shape) {
  if (shapes.IsArray(shape)) {
    LayoutId layout = shapes.layout(shape);
    if (!layout.valid() || shapes.extras(layout).IsDefault()) return shape;
    LayoutExtras extras = shapes.extras(layout);
    extras.tiles.clear();
    extras.tail_padding_alignment = 1;
    extras.memory_space = 0;
    return shapes.WithLayout(shape, shapes.WithExtras(layout, extras));
  }
  return shape;
}

}  // namespace

bool Checker::FitsEntryLayout(ShapeId actual, ShapeId promised) const {
  if (actual == promised) return true;
  if (!shapes_.Compatible(actual, promised)) return false;
  if (!options_.layout_sensitive) return true;
  std::vector<ShapeId> left = shapes_.Subshapes(actual);
  std::vector<ShapeId> right = shapes_.Subshapes(promised);
  for (size_t i = 0; i < left.size(); ++i) {
    // An unset leaf promises nothing.
    if (!IsArray(right[i]) || !shapes_.layout(right[i]).valid()) continue;
    if (shapes_.layout(ForEntry(shapes_, left[i])) != shapes_.layout(ForEntry(shapes_, right[i])))
      return false;
  }
  return true;
}

void Checker::CheckEntryLayout() {
  const std::optional<ComputationLayout>& layout = module_.config().entry_computation_layout;
  if (!layout) return;
  const ComputationData& entry = module_.computation(module_.entry());
  if (layout->parameters.size() != entry.parameters.size()) {
    ReportModule(DiagId::kEntryLayout, "entry_computation_layout has {} parameters, the entry {}",
                 layout->parameters.size(), entry.parameters.size());
    return;
  }
  for (size_t i = 0; i < entry.parameters.size(); ++i) {
    ShapeId shape = module_.shape(entry.parameters[i]);
    if (FitsEntryLayout(shape, layout->parameters[i])) continue;
    Report(entry.parameters[i], DiagId::kEntryLayout,
           "entry_computation_layout says {}, the parameter is {}", Text(layout->parameters[i]),
           Text(shape));
  }
  if (!FitsEntryLayout(module_.shape(entry.root), layout->result)) {
    Report(entry.root, DiagId::kEntryLayout, "entry_computation_layout says {}, the root is {}",
           Text(layout->result), Text(module_.shape(entry.root)));
  }
  for (const InputOutputAlias& alias : module_.config().input_output_alias) {
    if (alias.kind != AliasKind::kMust || alias.parameter_number < 0 ||
        alias.parameter_number >= static_cast<int64_t>(layout->parameters.size())) {
      continue;
    }
    ShapeId output = ShapeAt(layout->result, alias.output_index);
    ShapeId parameter = ShapeAt(layout->parameters[static_cast<size_t>(alias.parameter_number)],
                                alias.parameter_index);
    if (!output.valid() || !parameter.valid() || output == parameter) continue;
    // Leaves whose layout is still free get the same one later.
    bool free = !shapes_[output].fully_set || !shapes_[parameter].fully_set;
    if (free && shapes_.Compatible(output, parameter)) continue;
    ReportModule(DiagId::kMustAlias,
                 "output {} is {}, but must alias parameter {} at {}, which is {}",
                 IndexText(alias.output_index), shapes_.Text(output), alias.parameter_number,
                 IndexText(alias.parameter_index), shapes_.Text(parameter));
  }
}

void Checker::CheckAliases() {
  const ComputationData& entry = module_.computation(module_.entry());
  ShapeId result = module_.shape(entry.root);
  std::set<std::vector<int64_t>> outputs;
  std::set<std::pair<int64_t, std::vector<int64_t>>> parameters;
  for (const InputOutputAlias& alias : module_.config().input_output_alias) {
    ShapeId output = ShapeAt(result, alias.output_index);
    if (!output.valid() || !IsArray(output)) {
      ReportModule(DiagId::kInputOutputAlias, "input_output_alias: the result has no array at {}",
                   IndexText(alias.output_index));
      continue;
    }
    if (alias.parameter_number < 0 ||
        alias.parameter_number >= static_cast<int64_t>(entry.parameters.size())) {
      ReportModule(DiagId::kInputOutputAlias, "input_output_alias: there is no parameter {}",
                   alias.parameter_number);
      continue;
    }
    ShapeId whole = module_.shape(entry.parameters[static_cast<size_t>(alias.parameter_number)]);
    ShapeId parameter = ShapeAt(whole, alias.parameter_index);
    if (!parameter.valid() || !IsArray(parameter)) {
      ReportModule(DiagId::kInputOutputAlias, "input_output_alias: parameter {} has no array at {}",
                   alias.parameter_number, IndexText(alias.parameter_index));
      continue;
    }
    if (!outputs.insert(alias.output_index).second) {
      ReportModule(DiagId::kInputOutputAlias, "input_output_alias names output {} twice",
                   IndexText(alias.output_index));
    }
    if (!parameters.emplace(alias.parameter_number, alias.parameter_index).second) {
      ReportModule(DiagId::kInputOutputAlias, "input_output_alias names parameter {} at {} twice",
                   alias.parameter_number, IndexText(alias.parameter_index));
    }
    if (options_.layout_sensitive &&
        shapes_.LogicalBytes(output) != shapes_.LogicalBytes(parameter)) {
      ReportModule(
          DiagId::kInputOutputAlias, "input_output_alias: output {} is {}, parameter {} is {}",
          IndexText(alias.output_index), Text(output), alias.parameter_number, Text(parameter));
    }
  }
}

void Checker::CheckDonors() {
  const ComputationData& entry = module_.computation(module_.entry());
  std::set<std::pair<int64_t, std::vector<int64_t>>> aliased;
  for (const InputOutputAlias& alias : module_.config().input_output_alias) {
    aliased.emplace(alias.parameter_number, alias.parameter_index);
  }
  for (const BufferDonor& donor : module_.config().buffer_donors) {
    bool exists = donor.parameter_number >= 0 &&
                  donor.parameter_number < static_cast<int64_t>(entry.parameters.size());
    ShapeId parameter;
    if (exists) {
      ShapeId whole = module_.shape(entry.parameters[static_cast<size_t>(donor.parameter_number)]);
      parameter = ShapeAt(whole, donor.parameter_index);
    }
    if (!parameter.valid() || !IsArray(parameter)) {
      ReportModule(DiagId::kBufferDonorWrong, "buffer_donor: there is no array {} of parameter {}",
                   IndexText(donor.parameter_index), donor.parameter_number);
    } else if (aliased.contains({donor.parameter_number, donor.parameter_index})) {
      ReportModule(DiagId::kBufferDonorWrong, "buffer_donor: {} of parameter {} is aliased already",
                   IndexText(donor.parameter_index), donor.parameter_number);
    }
  }
}

}  // namespace hlokit
