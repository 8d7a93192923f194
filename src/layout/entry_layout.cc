// What becomes of the layouts that were given for the entry? (sections 3.1 step 4, 3.5 and 10.6)
#include <algorithm>

#include "fmt/format.h"
#include "src/layout/engine.h"

namespace hlokit::layout {

bool Engine::CheckEntryLayout() {
  if (!module_.entry().valid()) {
    return Fail(DiagId::kLayoutEntryMismatch, "the module has no entry computation", "",
                ExitCode::kCannotParse);
  }
  const ComputationData& entry = module_.computation(module_.entry());
  if (options_.entry_layout.has_value()) {
    given_entry_ = *options_.entry_layout;
  } else if (module_.config().entry_computation_layout.has_value()) {
    given_entry_ = *module_.config().entry_computation_layout;
  } else {
    for (InstId p : entry.parameters) given_entry_.parameters.push_back(module_.shape(p));
    given_entry_.result = module_.shape(entry.root);
  }
  auto mismatch = [&](std::string what) {
    return Fail(DiagId::kLayoutEntryMismatch, std::move(what),
                "correct entry_computation_layout or --entry-layouts", ExitCode::kCannotParse);
  };
  if (given_entry_.parameters.size() != entry.parameters.size()) {
    return mismatch(fmt::format("the entry layout has {} parameters, the entry computation has {}",
                                given_entry_.parameters.size(), entry.parameters.size()));
  }
  auto check = [&](const std::string& name, ShapeId* given, InstId inst) {
    if (!shapes_.Compatible(*given, module_.shape(inst))) {
      return mismatch(fmt::format("the entry layout has {} for {}, which is {}",
                                  shapes_.Text(*given, false), name,
                                  shapes_.Text(module_.shape(inst), false)));
    }
    std::vector<ShapeId> nodes = shapes_.Subshapes(*given);
    std::vector<LayoutId> layouts;
    for (ShapeId node : nodes) {
      LayoutId layout = shapes_.layout(node);
      if (layout.valid()) HLOKIT_LAYOUT_CHECK(CheckLayout(layout, node, inst));
      // Scalars always carry the empty layout.
      bool scalar = shapes_.IsArray(node) && shapes_.rank(node) == 0 && !layout.valid();
      layouts.push_back(scalar ? shapes_.DescendingLayout(0) : layout);
    }
    *given = shapes_.WithLeafLayouts(*given, layouts);
    return true;
  };
  for (uint32_t p = 0; p < entry.parameters.size(); ++p) {
    HLOKIT_LAYOUT_CHECK(
        check(fmt::format("parameter {}", p), &given_entry_.parameters[p], entry.parameters[p]));
  }
  HLOKIT_LAYOUT_CHECK(check("the result", &given_entry_.result, entry.root));
  entry_object_ = given_entry_;
  return true;
}

/// A parameter and a result leaf that share memory must agree; the one that was given decides.
bool Engine::SettleInputOutputAliases(bool* changed) {
  std::vector<InputOutputAlias> aliases = module_.config().input_output_alias;
  std::stable_sort(aliases.begin(), aliases.end(),
                   [](const InputOutputAlias& a, const InputOutputAlias& b) {
                     return a.output_index < b.output_index;
                   });
  const ComputationData& entry = module_.computation(module_.entry());
  ComputationState& state = computations_[module_.entry().value];
  std::string unsettled;
  for (const InputOutputAlias& alias : aliases) {
    if (alias.parameter_number < 0 ||
        alias.parameter_number >= static_cast<int64_t>(entry.parameters.size())) {
      continue;
    }
    uint32_t number = static_cast<uint32_t>(alias.parameter_number);
    InstId parameter = entry.parameters[number];
    std::optional<uint32_t> in =
        shapes_.PreorderOf(module_.shape(parameter), alias.parameter_index);
    std::optional<uint32_t> out = shapes_.PreorderOf(module_.shape(entry.root), alias.output_index);
    if (!in || !out) continue;
    ShapeId in_leaf = shapes_.Subshape(given_entry_.parameters[number], *in);
    ShapeId out_leaf = shapes_.Subshape(given_entry_.result, *out);
    if (!shapes_.IsArray(in_leaf) || !shapes_.IsArray(out_leaf)) continue;
    bool in_given = shapes_.layout(in_leaf).valid();
    bool out_given = shapes_.layout(out_leaf).valid();
    if (in_given && out_given) continue;
    LayoutId in_layout = InferLayout(parameter, *in);
    LayoutId out_layout = in_layout.valid() ? InferLayout(entry.root, *out) : LayoutId();
    if (!out_layout.valid()) return false;
    if (shapes_.SameOrder(in_layout, out_layout)) continue;
    *changed = true;
    LayoutId chosen = in_given ? in_layout : out_layout;
    HLOKIT_LAYOUT_CHECK(CheckLayout(chosen, in_leaf, parameter) &&
                        CheckLayout(chosen, out_leaf, entry.root));
    EventId cause =
        in_given ? BufferEvent(BufferAt(parameter, *in)) : BufferEvent(BufferAt(entry.root, *out));
    auto replace = [&](ShapeId shape, uint32_t at) {
      ShapeId leaf = shapes_.Subshape(shape, at);
      return shapes_.WithSubshape(shape, at, shapes_.WithLayout(leaf, chosen));
    };
    auto write = [&](uint32_t which, uint32_t at, ShapeId* object) {
      ShapeId shape = replace(*object, at);
      if (shape != *object) settled_ = false;
      *object = shape;
      ShapeId constraint = ComputationShape(state, which);
      std::vector<EventId> parents(tracing() ? shapes_[constraint].subshape_count : 0, kNoEvent);
      if (tracing()) parents[at] = cause;
      SetComputationLeaves(module_.entry(), which, replace(constraint, at), TraceRule::kAlias,
                           which == kResultIndex ? entry.root : parameter,
                           ComputationEvent(state, which), parents);
    };
    write(number, *in, &entry_object_.parameters[number]);
    write(kResultIndex, *out, &entry_object_.result);
    unsettled = fmt::format("{} gets {}, {} gets {}, and they share memory (input_output_alias)",
                            Place(parameter, *in), shapes_.LayoutText(in_layout),
                            Place(entry.root, *out), shapes_.LayoutText(out_layout));
  }
  // A round that changed nothing else will be followed by one just like it.
  if (*changed && settled_ && cur_ >= 2) {
    return Fail(
        DiagId::kLayoutAliasUnsettled, unsettled,
        "give both sides a layout in the entry layout, or remove the demand inside the module "
        "that fixes one of them");
  }
  return true;
}

/// The memory spaces of the leaves of `before` that have a layout, in the layouts of `shape`.
ShapeId Engine::RestoreMemorySpaces(ShapeId shape, ShapeId before) {
  std::vector<ShapeId> nodes = shapes_.Subshapes(shape);
  std::vector<ShapeId> old = shapes_.Subshapes(before);
  std::vector<LayoutId> layouts;
  for (size_t i = 0; i < nodes.size(); ++i) {
    LayoutId layout = shapes_.layout(nodes[i]);
    LayoutId previous = shapes_.layout(old[i]);
    if (layout.valid() && previous.valid() &&
        shapes_.extras(previous).memory_space != shapes_.extras(layout).memory_space) {
      LayoutExtras extras = shapes_.extras(layout);
      extras.memory_space = shapes_.extras(previous).memory_space;
      layout = shapes_.WithExtras(layout, extras);
    }
    layouts.push_back(layout);
  }
  return shapes_.WithLeafLayouts(shape, layouts);
}

bool Engine::WriteEntryLayoutBack() {
  const ComputationData& entry = module_.computation(module_.entry());
  for (uint32_t p = 0; p < entry.parameters.size(); ++p) {
    ShapeId& object = entry_object_.parameters[p];
    ShapeId actual = module_.shape(entry.parameters[p]);
    bool needs_assignment = false;
    std::vector<ShapeId> given = shapes_.Subshapes(object);
    std::vector<ShapeId> have = shapes_.Subshapes(actual);
    for (uint32_t i = 0; i < given.size(); ++i) {
      if (shapes_.IsTuple(given[i])) continue;
      LayoutId layout = shapes_.layout(given[i]);
      if (!layout.valid()) {
        needs_assignment = true;
      } else if (!shapes_.SameOrder(layout, shapes_.layout(have[i]))) {
        return Fail(
            DiagId::kLayoutEntryChanged,
            fmt::format("{} was given layout {} but has {}", Place(entry.parameters[p], i),
                        shapes_.LayoutText(layout), shapes_.LayoutText(shapes_.layout(have[i]))),
            "please report this module", ExitCode::kVerifyFailed);
      }
    }
    if (needs_assignment) object = RestoreMemorySpaces(actual, object);
  }
  ShapeId root = module_.shape(entry.root);
  if (!shapes_[entry_object_.result].fully_set) {
    entry_object_.result = RestoreMemorySpaces(root, entry_object_.result);
  } else if (!shapes_.SameShapeAndOrder(entry_object_.result, root, /*strict=*/false)) {
    return Fail(DiagId::kLayoutEntryChanged,
                fmt::format("the result was given as {} but is {}",
                            shapes_.Text(entry_object_.result), shapes_.Text(root)),
                "please report this module", ExitCode::kVerifyFailed);
  }
  module_.config().entry_computation_layout = entry_object_;
  return true;
}

}  // namespace hlokit::layout
