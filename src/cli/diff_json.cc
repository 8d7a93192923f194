// The differences of two modules as JSON: every single one, schema/hlokit.diff.1.schema.json.
#include "nlohmann/json.hpp"
#include "src/cli/diff_output.h"

namespace hlokit::cli {
namespace {

using Json = nlohmann::ordered_json;

std::string OpcodeName(const Module& module, InstId id) {
  Opcode opcode = module.opcode(id);
  return std::string(opcode == Opcode::kUnknown ? module.TextAttr(id, AttrKind::kUnknownOpcode)
                                                : OpcodeText(opcode));
}

/// Null when it is not set.
Json LayoutJson(const ShapePool& shapes, LayoutId layout) {
  return layout.valid() ? Json(shapes.LayoutText(layout)) : Json(nullptr);
}

Json EntryLayoutsJson(const Module& before, const ModuleDiff& diff) {
  Json rows = Json::array();
  auto layout = [](const std::string& text) {
    return text == "unset" ? Json(nullptr) : Json(text);
  };
  for (const EntryLayoutChange& change : diff.entry_layouts) {
    const ComputationLayout& entry = *before.config().entry_computation_layout;
    Json row = Json::object();
    if (change.parameter) row["parameter"] = *change.parameter;
    ShapeId shape = change.parameter ? entry.parameters[*change.parameter] : entry.result;
    row["index"] = before.shapes().IndexOf(shape, change.leaf);
    row["before"] = layout(change.before);
    row["after"] = layout(change.after);
    rows.push_back(std::move(row));
  }
  return rows;
}

Json LayoutsJson(const Module& before, const Module& after, const ModuleDiff& diff) {
  Json rows = Json::array();
  for (const LayoutChange& change : diff.layouts) {
    const ShapePool& shapes = before.shapes();
    ShapeId a = shapes.Subshape(before.shape(change.before), change.leaf);
    ShapeId b = after.shapes().Subshape(after.shape(change.after), change.leaf);
    rows.push_back({{"computation", after.name(after.computation_of(change.after))},
                    {"instruction_before", before.name(change.before)},
                    {"instruction_after", after.name(change.after)},
                    {"opcode", OpcodeName(after, change.after)},
                    {"index", shapes.IndexOf(before.shape(change.before), change.leaf)},
                    {"shape", shapes.Text(a, false)},
                    {"before", LayoutJson(shapes, shapes.layout(a))},
                    {"after", LayoutJson(after.shapes(), after.shapes().layout(b))},
                    {"bytes", shapes.LogicalBytes(a)}});
  }
  return rows;
}

Json CopiesJson(const Module& module, const std::vector<CopyChange>& copies) {
  Json rows = Json::array();
  for (const CopyChange& copy : copies) {
    InstId source = module.operand(copy.copy, 0);
    Json row = {{"computation", module.name(module.computation_of(copy.copy))},
                {"copy", module.name(copy.copy)},
                {"source", module.name(source)},
                {"from", module.shapes().Text(module.shape(source))},
                {"to", module.shapes().Text(module.shape(copy.copy))},
                {"bytes", copy.bytes}};
    if (copy.consumer.valid()) {
      row["consumer"] = module.name(copy.consumer);
      row["operand"] = copy.operand;
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

Json InstructionsJson(const Module& module, const std::vector<InstId>& ids) {
  Json rows = Json::array();
  for (InstId id : ids) {
    rows.push_back({{"computation", module.name(module.computation_of(id))},
                    {"instruction", module.name(id)},
                    {"opcode", OpcodeName(module, id)},
                    {"shape", module.shapes().Text(module.shape(id))}});
  }
  return rows;
}

Json ComputationsJson(const Module& module, const Module& other,
                      const std::vector<ComputationChange>& changes) {
  Json rows = Json::array();
  for (const ComputationChange& change : changes) {
    Json row = {{"computation", module.name(change.computation)},
                {"instructions", module.computation(change.computation).instructions.size()}};
    if (change.variant_of.valid()) row["same_as"] = other.name(change.variant_of);
    rows.push_back(std::move(row));
  }
  return rows;
}

Json ChangesJson(const Module& before, const Module& after, const ModuleDiff& diff) {
  Json rows = Json::array();
  for (const InstructionChange& change : diff.changed) {
    Json attributes = Json::array();
    for (AttrKind kind : change.attributes) attributes.push_back(DiffAttributeName(kind));
    rows.push_back({{"computation", after.name(after.computation_of(change.after))},
                    {"instruction_before", before.name(change.before)},
                    {"instruction_after", after.name(change.after)},
                    {"root", change.root},
                    {"opcode", change.opcode},
                    {"shape", change.shape},
                    {"operand_count", change.operand_count},
                    {"operands", change.operands},
                    {"attributes", attributes}});
  }
  return rows;
}

}  // namespace

Json DiffJson(const Module& before, const Module& after, const ModuleDiff& diff) {
  return {{"schema", "hlokit.diff/1"},
          {"module_before", before.config().name},
          {"module_after", after.config().name},
          {"equal", diff.IsEmpty()},
          {"structure_equal", diff.StructureIsEqual()},
          {"matched_instructions", diff.matched_instructions},
          {"matched_computations", diff.matched_computations},
          {"entry_layouts", EntryLayoutsJson(before, diff)},
          {"layouts", LayoutsJson(before, after, diff)},
          {"copies_appeared", CopiesJson(after, diff.appeared)},
          {"copies_appeared_bytes", diff.appeared_bytes},
          {"copies_vanished", CopiesJson(before, diff.vanished)},
          {"copies_vanished_bytes", diff.vanished_bytes},
          {"plumbing_added", InstructionsJson(after, diff.plumbing_added)},
          {"plumbing_removed", InstructionsJson(before, diff.plumbing_removed)},
          {"changed", ChangesJson(before, after, diff)},
          {"added", InstructionsJson(after, diff.added)},
          {"removed", InstructionsJson(before, diff.removed)},
          {"computations_added", ComputationsJson(after, before, diff.computations_added)},
          {"computations_removed", ComputationsJson(before, after, diff.computations_removed)},
          {"header", diff.header}};
}

}  // namespace hlokit::cli
