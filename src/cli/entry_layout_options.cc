// Which entry layouts does the user want? --entry-layouts, --pin, --unpin, --unpin-result.
#include <charconv>

#include "fmt/format.h"
#include "src/cli/common.h"

namespace hlokit::cli {
namespace {

std::unexpected<Error> UsageError(std::string message, std::string help) {
  return MakeError(ExitCode::kUsage, DiagId::kBadEntryLayout, std::move(message), std::move(help));
}

/// Every leaf without a layout, except scalars, which always carry the empty one.
ShapeId Unset(ShapePool& shapes, ShapeId shape) {
  std::vector<LayoutId> leaves;
  for (ShapeId leaf : shapes.Subshapes(shape)) {
    leaves.push_back(shapes.IsArray(leaf) && shapes.rank(leaf) == 0 ? shapes.Layout({})
                                                                    : LayoutId());
  }
  return shapes.WithLeafLayouts(shape, leaves);
}

/// "3" or "3.0.1": a parameter and a tuple path in it.
Result<std::pair<size_t, uint32_t>> ParsePlace(std::string_view text, const Module& module,
                                               const ComputationLayout& layout) {
  std::vector<int64_t> numbers;
  const char* p = text.data();
  const char* end = p + text.size();
  while (true) {
    int64_t number = 0;
    auto [stop, error] = std::from_chars(p, end, number);
    if (error != std::errc() || number < 0) {
      return UsageError(fmt::format("'{}' is no parameter number", text),
                        "write 3, or 3.0.1 for a part of a tuple");
    }
    numbers.push_back(number);
    if (stop == end) break;
    if (*stop != '.')
      return UsageError(fmt::format("'{}' is no parameter number", text),
                        "write 3, or 3.0.1 for a part of a tuple");
    p = stop + 1;
  }
  if (numbers[0] >= static_cast<int64_t>(layout.parameters.size())) {
    return UsageError(
        fmt::format("there is no parameter {}", numbers[0]),
        fmt::format("the entry has {} parameter(s), numbered from 0", layout.parameters.size()));
  }
  std::optional<uint32_t> preorder = module.shapes().PreorderOf(
      layout.parameters[numbers[0]], std::span<const int64_t>(numbers).subspan(1));
  if (!preorder)
    return UsageError(fmt::format("parameter {} has no part '{}'", numbers[0], text), "");
  return std::make_pair(static_cast<size_t>(numbers[0]), *preorder);
}

/// The value of --entry-layouts, checked against the entry of the module.
Result<ComputationLayout> ParseEntryLayouts(const std::string& text, Module& module,
                                            const ComputationLayout& current) {
  constexpr std::string_view kHelp = "write '(f32[6,10]{1,0}, unset) -> unset', or 'unset' for all";
  Result<ComputationLayout> layout = ReadComputationLayout(text, module, current);
  if (!layout) {
    const Diagnostic& first = layout.error().diagnostics.at(0);
    return UsageError(
        fmt::format("--entry-layouts, column {}: {}", first.location.column, first.message),
        std::string(kHelp));
  }
  const ShapePool& shapes = module.shapes();
  const ComputationData& entry = module.computation(module.entry());
  if (layout->parameters.size() != entry.parameters.size()) {
    return UsageError(fmt::format("--entry-layouts has {} parameter(s), the entry has {}",
                                  layout->parameters.size(), entry.parameters.size()),
                      std::string(kHelp));
  }
  for (size_t i = 0; i <= entry.parameters.size(); ++i) {
    bool result = i == entry.parameters.size();
    ShapeId given = result ? layout->result : layout->parameters[i];
    ShapeId actual = module.shape(result ? entry.root : entry.parameters[i]);
    if (!shapes.Compatible(given, actual)) {
      return UsageError(
          fmt::format("--entry-layouts has {} for {}, which is {}", shapes.Text(given, false),
                      result ? "the result" : fmt::format("parameter {}", i),
                      shapes.Text(actual, false)),
          std::string(kHelp));
    }
  }
  return layout;
}

}  // namespace

void AssignOptions::Register(CLI::App& app) {
  entry_layouts_option = app.add_option(
      "--entry-layouts", entry_layouts,
      "'(f32[6,10]{1,0}, unset) -> unset', or 'unset' for all: overrides the header");
  app.add_option("--unpin", unpin, "parameters (or parts: 3.0.1) whose layout the pass may choose")
      ->delimiter(',');
  app.add_option("--pin", pin, "N={0,1}: gives parameter N (or its part N.i.j) this layout");
  app.add_flag("--unpin-result", unpin_result, "the pass may choose the layout of the result");
  app.add_flag("--reverse", reverse, "callers before callees");
  app.add_flag("--no-channel-table", no_channel_table, "no table of channel layouts is supplied");
  app.add_flag("--row-reduction", row_reduction,
               "reductions ask for operands whose rows they reduce (generic backend)");
  backend.Register(app);
}

Result<ComputationLayout> AssignOptions::EntryLayout(Module& module) const {
  ShapePool& shapes = module.shapes();
  ComputationLayout layout = *module.config().entry_computation_layout;
  if (entry_layouts == "unset") {
    for (ShapeId& parameter : layout.parameters) parameter = Unset(shapes, parameter);
    layout.result = Unset(shapes, layout.result);
  } else if (entry_layouts_given()) {
    ASSIGN_OR_RETURN(layout, ParseEntryLayouts(entry_layouts, module, layout));
  }
  for (const std::string& text : unpin) {
    ASSIGN_OR_RETURN(auto place, ParsePlace(text, module, layout));
    ShapeId& parameter = layout.parameters[place.first];
    parameter = shapes.WithSubshape(parameter, place.second,
                                    Unset(shapes, shapes.Subshape(parameter, place.second)));
  }
  for (const std::string& text : pin) {
    size_t equals = text.find('=');
    if (equals == std::string::npos)
      return UsageError(fmt::format("--pin {} has no '='", text), "write --pin 0={0,1}");
    ASSIGN_OR_RETURN(auto place,
                     ParsePlace(std::string_view(text).substr(0, equals), module, layout));
    ShapeId& parameter = layout.parameters[place.first];
    ShapeId leaf = shapes.Subshape(parameter, place.second);
    if (!shapes.IsArray(leaf)) {
      return UsageError(fmt::format("--pin {}: this part is no array", text),
                        "name a part of the tuple: --pin 0.1={0,1}");
    }
    Result<ShapeId> pinned = ReadShape(shapes.Text(leaf, false) + text.substr(equals + 1), module);
    std::string problem =
        pinned ? shapes.LayoutProblem(leaf, shapes.layout(*pinned)) : "the layout cannot be read";
    if (!problem.empty())
      return UsageError(fmt::format("--pin {}: {}", text, problem), "write --pin 0={0,1}");
    parameter = shapes.WithSubshape(parameter, place.second, *pinned);
  }
  if (unpin_result) layout.result = Unset(shapes, layout.result);
  return layout;
}

Result<PreparedAssignment> AssignOptions::Build(Module& module, bool quiet) const {
  PreparedAssignment prepared;
  ASSIGN_OR_RETURN(prepared.device, backend.Choose(quiet));
  if (row_reduction && prepared.device.backend != Backend::kGeneric) {
    return MakeError(ExitCode::kUsage, DiagId::kUsageError,
                     "--row-reduction is an option of the generic backend",
                     "other backends decide it themselves");
  }
  ASSIGN_OR_RETURN(ComputationLayout layout, EntryLayout(module));
  prepared.rules = MakeLayoutRules(prepared.device);
  LayoutAssignmentOptions& options = prepared.options;
  options.rules = prepared.rules.get();
  options.reverse_order = reverse;
  options.channel_table = !no_channel_table;
  options.row_reduction = row_reduction;
  options.entry_layout = std::move(layout);
  return prepared;
}

}  // namespace hlokit::cli
