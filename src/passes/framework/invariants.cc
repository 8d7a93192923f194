// What may a pass rely on, and is it so?
#include <vector>

#include "fmt/format.h"
#include "hlokit/pass.h"
#include "src/passes/shared/call_graph.h"

namespace hlokit {
namespace {

std::unexpected<Error> Broken(std::string message, std::string help) {
  return MakeError(ExitCode::kUnsupported, DiagId::kInvariantBroken, std::move(message),
                   std::move(help));
}

/// Every distinct shape is looked at once.
Status CheckLayoutsSet(const Module& module) {
  const ShapePool& shapes = module.shapes();
  std::vector<uint8_t> good(shapes.shape_count(), 0);
  std::vector<uint8_t> fused(module.computation_count(), 0);
  for (CompId computation : module.computation_order()) {
    for (InstId inst : module.computation(computation).instructions) {
      if (module.opcode(inst) != Opcode::kFusion) continue;
      for (CompId body : module.called_computations(inst)) fused[body.value] = 1;
    }
  }
  for (CompId computation : module.computation_order()) {
    if (fused[computation.value]) continue;  // layout assignment leaves bodies of fusions open
    for (InstId inst : module.computation(computation).instructions) {
      ShapeId shape = module.shape(inst);
      if (good[shape.value]) continue;
      // Tokens and opaque values have no layout; only arrays count.
      for (ShapeId part : shapes.Subshapes(shape)) {
        if (!shapes.IsArray(part)) continue;
        if (!shapes.layout(part).valid()) {
          return Broken(
              fmt::format("{} has no layout: {}", module.name(inst), shapes.Text(shape)),
              "run layout-assignment first, or read the module with missing layouts filled in");
        }
        if (std::string problem = shapes.LayoutProblem(part, shapes.layout(part));
            !problem.empty()) {
          return Broken(fmt::format("{}: {}", module.name(inst), problem),
                        "write a layout that lists each dimension once");
        }
      }
      good[shape.value] = 1;
    }
  }
  return {};
}

Status CheckFlat(const Module& module) {
  CallGraph graph(module);
  for (CompId computation : module.computation_order()) {
    if (graph.context(computation) == CallContext::kBoth ||
        (graph.context(computation) == CallContext::kControlFlow &&
         graph.callers(computation).size() > 1)) {
      return Broken(fmt::format("the call graph is not flat: {} is called from {} places",
                                module.name(computation), graph.callers(computation).size()),
                    "run flatten-call-graph first");
    }
  }
  return {};
}

}  // namespace

std::string_view InvariantText(Invariant invariant) {
  switch (invariant) {
    case Invariant::kEntryLayout:
      return "the module has an entry_computation_layout";
    case Invariant::kLayoutsSet:
      return "every array outside fusions has a layout";
    case Invariant::kFlatCallGraph:
      return "every computation called from control flow has one call site";
  }
  return "";
}

Status CheckInvariant(const Module& module, Invariant invariant) {
  switch (invariant) {
    case Invariant::kEntryLayout:
      if (module.config().entry_computation_layout.has_value()) return {};
      return Broken("the module has no entry_computation_layout", "add one to the HloModule line");
    case Invariant::kLayoutsSet:
      return CheckLayoutsSet(module);
    case Invariant::kFlatCallGraph:
      return CheckFlat(module);
  }
  return {};
}

}  // namespace hlokit
