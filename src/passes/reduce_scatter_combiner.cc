// Puts independent reduce-scatters that do the same into one with a tuple result.
// Only recognised reductions (add, multiply, minimum, maximum, and, or) are touched.
#include "fmt/format.h"
#include "src/passes/passes.h"
#include "src/passes/shared/combine.h"

namespace hlokit {
namespace {

bool IsRecognisedReduction(const Module& module, InstId root) {
  switch (module.opcode(root)) {
    case Opcode::kAdd:
    case Opcode::kMultiply:
    case Opcode::kMinimum:
    case Opcode::kMaximum:
      break;
    case Opcode::kAnd:
    case Opcode::kOr:
      if (module.shapes().type(module.shape(root)) == ElementType::kPred) break;
      return false;
    default:
      return false;
  }
  if (module.shapes().ElementCount(module.shape(root)) != 1) return false;
  InstId a = module.operand(root, 0), b = module.operand(root, 1);
  return a != b && module.opcode(a) == Opcode::kParameter && module.opcode(b) == Opcode::kParameter;
}

std::optional<std::string> Key(const KeyInput& input) {
  const Module& module = input.module;
  std::optional<std::string> key = ReductionKey(input);
  if (!key || !IsRecognisedReduction(module, PlainReduction(module, input.inst)))
    return std::nullopt;
  std::span<const int64_t> dimensions = module.dimensions(input.inst);
  *key += fmt::format(" dim={}",
                      input.setup.by_dim && !dimensions.empty() ? dimensions[0] : int64_t{-1});
  return key;
}

class ReduceScatterCombiner : public Pass {
 public:
  std::string_view name() const override { return "reduce-scatter-combiner"; }
  Result<bool> Run(Module& module, PassContext& context) override {
    return CombineCollectives(module, SetupFromOptions(Opcode::kReduceScatter, context.options),
                              Key, context);
  }
};

}  // namespace

const PassInfo kReduceScatterCombiner = {
    .make = MakePass<ReduceScatterCombiner>,
    .summary = "put independent reduce-scatters that do the same into one",
    .help =
        "As all-reduce-combiner, for reduce-scatter. With by-dim=false members may differ in the "
        "scatter "
        "dimension: the most frequent one wins, the others are renumbered by bitcasts (layouts "
        "must be set).",
    .options = DimensionCombinerOptions(),
};

}  // namespace hlokit
