// Runs layout assignment as a pass: every instruction gets its layouts, copies settle
// disagreements.
#include "hlokit/layout_assignment.h"

#include <sstream>

#include "hlokit/backend.h"
#include "hlokit/reader.h"
#include "src/passes/passes.h"

namespace hlokit {
namespace {

constexpr Invariant kEnsures[] = {Invariant::kLayoutsSet, Invariant::kEntryLayout};
constexpr OptionSpec kOptions[] = {
    {"backend", OptionType::kText, "", "whose rules apply: generic (default), cpu or gpu"},
    {"device", OptionType::kText, "", "the device: sm_80, gfx90a, …; `hlokit devices` lists all"},
    {"device-file", OptionType::kText, "", "a device described in JSON"},
    {"xla-flags", OptionType::kText, "",
     "\"NAME=VALUE NAME=VALUE\": flags that change layout rules"},
    {"entry-layouts", OptionType::kText, "",
     "\"unset\": the pass chooses; or \"(shape, shape)->shape\"; default: what the module says"},
    {"reverse", OptionType::kBool, "false", "callers before callees"},
    {"channel-table", OptionType::kBool, "true", "collectives with a channel id agree on a layout"},
    {"row-reduction", OptionType::kBool, "false", "the row reduction rule of the base pass"},
};

class LayoutAssignment : public Pass {
 public:
  std::string_view name() const override { return "layout-assignment"; }
  Result<bool> Run(Module& module, PassContext& context) override;
};

Result<Device> DeviceOf(PassContext& context) {
  const PassOptions& options = context.options;
  BackendChoice choice{.backend = options.Text("backend"),
                       .device = options.Text("device"),
                       .device_file = options.Text("device-file")};
  std::istringstream flags(options.Text("xla-flags"));
  for (std::string flag; flags >> flag;) choice.flags.push_back(flag);
  std::vector<Diagnostic> warnings;
  ASSIGN_OR_RETURN(Device device, ChooseDevice(choice, &warnings));
  if (context.warnings != nullptr) {
    context.warnings->insert(context.warnings->end(), warnings.begin(), warnings.end());
  }
  return device;
}

/// Every leaf is free but scalars, whose empty layout is the only one there is.
ShapeId WithFreeLeaves(ShapePool& shapes, ShapeId shape) {
  std::vector<LayoutId> layouts;
  for (ShapeId part : shapes.Subshapes(shape)) {
    bool scalar = shapes.IsArray(part) && shapes.rank(part) == 0;
    layouts.push_back(scalar ? shapes.DescendingLayout(0) : LayoutId());
  }
  return shapes.WithLeafLayouts(shape, layouts);
}

Result<std::optional<ComputationLayout>> EntryLayouts(Module& module, const PassOptions& options) {
  const std::string& text = options.Text("entry-layouts");
  std::optional<ComputationLayout> layout = module.config().entry_computation_layout;
  if (text.empty() || !layout) return layout;
  if (text != "unset") {
    ASSIGN_OR_RETURN(ComputationLayout given, ReadComputationLayout(text, module, *layout));
    return given;
  }
  for (ShapeId& shape : layout->parameters) shape = WithFreeLeaves(module.shapes(), shape);
  layout->result = WithFreeLeaves(module.shapes(), layout->result);
  return layout;
}

Result<bool> LayoutAssignment::Run(Module& module, PassContext& context) {
  ASSIGN_OR_RETURN(Device device, DeviceOf(context));
  std::unique_ptr<LayoutRules> rules = MakeLayoutRules(device);
  LayoutAssignmentOptions options;
  options.rules = rules.get();
  options.reverse_order = context.options.Bool("reverse");
  options.channel_table = context.options.Bool("channel-table");
  options.row_reduction = context.options.Bool("row-reduction");
  ASSIGN_OR_RETURN(options.entry_layout, EntryLayouts(module, context.options));
  ASSIGN_OR_RETURN(LayoutAssignmentReport report, AssignLayouts(module, options));
  if (context.warnings != nullptr) {
    for (Diagnostic& warning : Warnings(module, report)) {
      context.warnings->push_back(std::move(warning));
    }
  }
  if (context.log != nullptr) {
    for (const AddedCopy& copy : report.copies) {
      context.log->edits.push_back({Edit::Kind::kAdded, copy.top, {}});
    }
  }
  return true;
}

}  // namespace

const PassInfo kLayoutAssignment = {
    .make = MakePass<LayoutAssignment>,
    .summary = "give every instruction its layouts, with copies where demands disagree",
    .help =
        "The pass of XLA, exactly: by itself, or with the rules of a backend and a device. Always "
        "reports a change, as the reference does.",
    .options = kOptions,
    .ensures_invariants = kEnsures,
};

}  // namespace hlokit
