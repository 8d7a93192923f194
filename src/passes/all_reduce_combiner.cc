// Puts independent all-reduces that do the same into one with a tuple result.
// The Neuron key adds the element type as text; the stock key leaves instructions with a scheduling
// group alone.
#include "fmt/format.h"
#include "hlokit/attribute_text.h"
#include "src/passes/passes.h"
#include "src/passes/shared/combine.h"

namespace hlokit {
namespace {

constexpr std::string_view kSchedulingGroup = "_scheduling_group_id";

std::optional<std::string> Key(const KeyInput& input) {
  const Module& module = input.module;
  std::string_view frontend = module.TextAttr(input.inst, AttrKind::kFrontendAttributes);
  if (!frontend.empty() &&
      FindField(ParseFrontendAttributes(frontend), kSchedulingGroup) != nullptr) {
    return std::nullopt;
  }
  std::optional<std::string> key = ReductionKey(input);
  if (key && !input.setup.stock) {
    *key += fmt::format(" dtype={}", Info(module.shapes().type(module.shape(input.inst))).text);
  }
  return key;
}

class AllReduceCombiner : public Pass {
 public:
  std::string_view name() const override { return "all-reduce-combiner"; }
  Result<bool> Run(Module& module, PassContext& context) override {
    return CombineCollectives(module, SetupFromOptions(Opcode::kAllReduce, context.options), Key,
                              context);
  }
};

}  // namespace

const PassInfo kAllReduceCombiner = {
    .make = MakePass<AllReduceCombiner>,
    .summary = "put independent all-reduces that do the same into one",
    .help =
        "Members have the same reduction, replica groups and flags, do not depend on each other, "
        "carry no "
        "control edge, and stay together under the limits on bytes and count. One all-reduce with "
        "constrain_layout anywhere in the module stops the pass.",
    .options = AllReduceCombinerOptions(),
};

}  // namespace hlokit
