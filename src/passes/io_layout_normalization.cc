// Makes the entry computation speak the default layout: constants are moved, everything else is
// stamped. "Changed" tells about the constants only; stamped shapes are not reported (the contract
// of the tool).
#include "fmt/format.h"
#include "hlokit/printer.h"
#include "hlokit/rewriter.h"
#include "src/passes/passes.h"
#include "src/passes/shared/descending.h"
#include "src/passes/shared/literals.h"
#include "src/passes/shared/permute_shape.h"

namespace hlokit {
namespace {

class IoLayoutNormalization : public Pass {
 public:
  std::string_view name() const override { return "io-layout-normalization"; }
  Result<bool> Run(Module& module, PassContext& context) override;
};

// ---- what stamping does behind the user's back ----

bool IsPlainDefault(ShapePool& shapes, ShapeId shape) {
  return FreshDefaultLayouts(shapes, shape) == shapes.FillMissingLayouts(shape);
}

struct Findings {
  size_t count = 0;
  std::string first;
  void Add(std::string_view name) {
    if (count++ == 0) first = name;
  }
};

void WarnAboutEntryLayout(Module& module, PassContext& context) {
  const ComputationLayout& layout = *module.config().entry_computation_layout;
  Findings leaves;
  auto look = [&](ShapeId shape, const std::string& what) {
    if (!IsPlainDefault(module.shapes(), shape)) leaves.Add(what);
  };
  for (size_t i = 0; i < layout.parameters.size(); ++i) {
    look(layout.parameters[i], fmt::format("parameter {}", i));
  }
  look(layout.result, "the result");
  if (leaves.count == 0) return;
  context.Warn(
      DiagId::kStampedEntryLayout,
      fmt::format(
          "entry_computation_layout asks for another layout than the default one at {} place{} "
          "(first: {}); the instructions are stamped with the default layout all the same",
          leaves.count, leaves.count == 1 ? "" : "s", leaves.first),
      "whoever runs the module must hand in and take out descending data");
}

/// Bitcasts are defined by physical order, so stamping changes their value; tiles and the like get
/// lost.
void WarnAboutInstructions(Module& module, PassContext& context) {
  ShapePool& shapes = module.shapes();
  Findings bitcasts, details, pinned;
  for (InstId inst : module.computation(module.entry()).instructions) {
    ShapeId shape = module.shape(inst);
    bool plain = IsPlainDefault(shapes, shape);
    if (!plain && shapes.ClearLayouts(shape) != shape &&
        shapes.WithDefaultLayouts(shape) != FreshDefaultLayouts(shapes, shape)) {
      details.Add(module.name(inst));
    }
    switch (module.opcode(inst)) {
      case Opcode::kBitcast:
        if (!plain || !IsPlainDefault(shapes, module.shape(module.operand(inst, 0)))) {
          bitcasts.Add(module.name(inst));
        }
        break;
      case Opcode::kCustomCall:
        if (!plain && module.IsLayoutConstrainedCustomCall(inst)) pinned.Add(module.name(inst));
        break;
      case Opcode::kInfeed:
      case Opcode::kRecv:
        if (!plain) pinned.Add(module.name(inst));
        break;
      default:
        if (!plain && module.IntAttr(inst, AttrKind::kConstrainLayout) != 0) {
          pinned.Add(module.name(inst));
        }
    }
  }
  auto warn = [&](const Findings& found, DiagId id, std::string_view what, std::string_view help) {
    if (found.count == 0) return;
    context.Warn(id, fmt::format("{} {} (first: {})", found.count, what, found.first),
                 std::string(help));
  };
  warn(bitcasts, DiagId::kStampedBitcast,
       "bitcast(s) between layouts that are not the default: stamping changes which element they "
       "read",
       "run this pass before any pass that makes bitcasts, or run layout-normalization instead");
  warn(pinned, DiagId::kStampedEntryLayout,
       "instruction(s) whose layout is agreed with somebody outside are stamped",
       "custom calls, infeeds and constrained collectives must expect descending data");
  warn(details, DiagId::kStampedDetails,
       "instruction(s) lose tiles, a memory space or an element size",
       "run this pass before memory spaces and tiles are assigned");
}

// ---- sweep 1: constants ----

/// A constant with the same bytes and the dimensions in physical order.
Result<InstId> AddPhysicalConstant(Rewriter& rewriter, InstId constant,
                                   const std::vector<int64_t>& order) {
  Module& module = rewriter.module();
  ShapePool& shapes = module.shapes();
  ShapeId physical =
      FreshDefaultLayouts(shapes, PermuteDimensions(shapes, module.shape(constant), order));
  ASSIGN_OR_RETURN(LiteralId literal, PermuteLiteral(module, module.literal_of(constant), order));
  Attr attr = module.IdAttribute(AttrKind::kConstantLiteral, literal.value);
  InstId inst =
      rewriter.Add(module.computation_of(constant), Opcode::kConstant, physical, {}, {&attr, 1});
  rewriter.CopyMetadata(constant, inst);
  return inst;
}

Status CanonicalizeConstant(Rewriter& rewriter, InstId constant) {
  Module& module = rewriter.module();
  ShapePool& shapes = module.shapes();
  LayoutId layout = shapes.layout(module.shape(constant));
  if (!layout.valid() || IsDescending(shapes, layout)) return {};
  if (std::string problem = shapes.LayoutProblem(module.shape(constant), layout);
      !problem.empty()) {
    return MakeError(ExitCode::kUnsupported, DiagId::kInvariantBroken,
                     fmt::format("{}: {}", module.name(constant), problem),
                     "write a layout that lists each dimension once");
  }
  std::vector<int64_t> order = PhysicalOrder(shapes, layout);
  ASSIGN_OR_RETURN(InstId physical, AddPhysicalConstant(rewriter, constant, order));
  Attr dimensions = module.IntsAttribute(AttrKind::kDimensions, InversePermutation(order));
  InstId transpose =
      rewriter.AddUnary(Opcode::kTranspose, module.shape(constant), physical, {&dimensions, 1});
  rewriter.CopyMetadata(constant, transpose);
  rewriter.ReplaceUses(constant, transpose);
  return {};
}

Result<bool> IoLayoutNormalization::Run(Module& module, PassContext& context) {
  if (!module.config().entry_computation_layout) {
    return MakeError(ExitCode::kUnsupported, DiagId::kNoEntryLayout,
                     "Check failed: entry_computation_layout_.has_value(): the module has no "
                     "entry_computation_layout",
                     "add entry_computation_layout={(…)->…} to the HloModule line");
  }
  WarnAboutEntryLayout(module, context);
  WarnAboutInstructions(module, context);
  Rewriter rewriter(module, context.log);
  CompId entry = module.entry();
  for (InstId inst : InstructionPostOrder(module, entry)) {
    if (module.opcode(inst) == Opcode::kConstant) TRY(CanonicalizeConstant(rewriter, inst));
  }
  bool changed = rewriter.changed();
  for (InstId inst : module.computation(entry).instructions) {
    rewriter.SetShape(inst, FreshDefaultLayouts(module.shapes(), module.shape(inst)));
  }
  return changed;
}

}  // namespace

const PassInfo kIoLayoutNormalization = {
    .make = MakePass<IoLayoutNormalization>,
    .summary =
        "move constants to descending storage and stamp default layouts on the entry computation",
    .help =
        "Sweep 1: a constant that is not stored descending is replaced by a descending constant of "
        "its physical "
        "dimensions and a transpose that gives back the logical view; the old constant stays, "
        "unused. Sweep 2: every "
        "instruction of the entry gets the default layout, tuples leaf by leaf; tiles and memory "
        "spaces go. "
        "Reports a change for sweep 1 only. Warns about bitcasts and pinned layouts, whose meaning "
        "changes.",
    .reports_partially = true,
};

}  // namespace hlokit
