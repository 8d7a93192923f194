// Makes the entry hand out every leaf of its root tuple in descending layout, by copies.
// Parameters are only checked: they are the caller's business. Nothing is removed.
#include <unordered_map>

#include "fmt/format.h"
#include "hlokit/rewriter.h"
#include "src/passes/passes.h"
#include "src/passes/shared/descending.h"
#include "src/passes/shared/permute_shape.h"

namespace hlokit {
namespace {

class EnsureDescendingLayoutInRoot : public Pass {
 public:
  std::string_view name() const override { return "aws_neuron_ensure_descending_layout_in_root"; }
  Result<bool> Run(Module& module, PassContext& context) override;
};

std::unexpected<Error> Invalid(DiagId id, std::string message, std::string help) {
  return MakeError(ExitCode::kUnsupported, id, std::move(message), std::move(help));
}

Status CheckParameters(const Module& module) {
  const ShapePool& shapes = module.shapes();
  for (InstId inst : module.computation(module.entry()).instructions) {
    if (module.opcode(inst) != Opcode::kParameter) continue;
    LayoutId layout = shapes.layout(module.shape(inst));
    if (layout.valid() && !IsDescending(shapes, layout)) {
      return Invalid(
          DiagId::kParameterNotDescending,
          fmt::format("layout of parameter {} is not MonotonicWithDim0Major", module.name(inst)),
          fmt::format("its shape is {}; hand the parameter in with layout {{n-1,...,1,0}}",
                      shapes.Text(module.shape(inst))));
    }
  }
  return {};
}

/// Is the layout that the module promises already the default one everywhere?
bool EntryLayoutIsDefault(Module& module) {
  if (!module.config().entry_computation_layout) return false;
  const ComputationLayout& given = *module.config().entry_computation_layout;
  ComputationLayout trial = given;
  for (ShapeId& shape : trial.parameters) shape = FreshDefaultLayouts(module.shapes(), shape);
  trial.result = FreshDefaultLayouts(module.shapes(), trial.result);
  return trial == given;
}

Result<bool> EnsureDescendingLayoutInRoot::Run(Module& module, PassContext& context) {
  TRY(CheckParameters(module));
  if (EntryLayoutIsDefault(module)) return false;
  CompId entry = module.entry();
  InstId root = module.computation(entry).root;
  ShapePool& shapes = module.shapes();
  if (!shapes.IsTuple(module.shape(root))) {
    return Invalid(DiagId::kRootNotTuple,
                   fmt::format("root of computation {} is not a tuple", module.name(entry)),
                   "wrap the result into a tuple");
  }
  // The operands are looked at as the elements of the tuple, so the root has to build it itself.
  if (module.opcode(root) != Opcode::kTuple) {
    return Invalid(DiagId::kRootNotTuple,
                   fmt::format("root {} of computation {} returns a tuple but does not build it",
                               module.name(root), module.name(entry)),
                   "take it apart and build a tuple at the root");
  }
  for (InstId operand : module.operands(root)) {
    if (!shapes.IsTuple(module.shape(operand))) continue;
    return Invalid(DiagId::kRootNotTuple,
                   fmt::format("root of computation {} contains nested tuple", module.name(entry)),
                   "return a flat tuple");
  }
  Rewriter rewriter(module, context.log);
  std::unordered_map<uint32_t, InstId> copies;  // one per distinct operand
  for (uint32_t i = 0; i < module.operand_count(root); ++i) {
    InstId operand = module.operand(root, i);
    ShapeId descending = FreshDefaultLayouts(shapes, module.shape(operand));
    if (!shapes.IsArray(descending) || descending == module.shape(operand)) continue;
    auto [copy, missing] = copies.try_emplace(operand.value);
    if (missing) {
      copy->second = rewriter.AddUnary(Opcode::kCopy, descending, operand);
      rewriter.CopyMetadata(operand, copy->second);
    }
    rewriter.SetOperand(root, i, copy->second);
  }
  if (rewriter.changed()) {
    std::vector<ShapeId> elements;
    for (InstId operand : module.operands(root)) elements.push_back(module.shape(operand));
    rewriter.SetShape(root, shapes.Tuple(elements));
  }
  return rewriter.changed();
}

}  // namespace

const PassInfo kAwsNeuronEnsureDescendingLayoutInRoot = {
    .make = MakePass<EnsureDescendingLayoutInRoot>,
    .summary = "copy the leaves of the entry's root tuple that are not in descending layout",
    .help =
        "Entry parameters must be descending already. Nothing happens when the entry layout of the "
        "module is the "
        "default one. Otherwise the root must be a flat tuple; each distinct operand whose shape "
        "is not the "
        "plain descending one gets one copy. Nothing is removed.",
};

}  // namespace hlokit
