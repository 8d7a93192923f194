// Puts independent all-gathers over the same groups into one with a tuple result.
// The stock key lets element types mix and does not look at control edges; the Neuron key separates
// both.
#include "fmt/format.h"
#include "src/passes/passes.h"
#include "src/passes/shared/combine.h"
#include "src/passes/shared/replica_groups.h"

namespace hlokit {
namespace {

std::optional<std::string> Key(const KeyInput& input) {
  const Module& module = input.module;
  std::span<const int64_t> dimensions = module.dimensions(input.inst);
  std::string key =
      fmt::format("dim={} domain={} channel={} ids={} groups={}",
                  input.setup.by_dim && !dimensions.empty() ? dimensions[0] : int64_t{-1},
                  input.domains.id(input.inst), module.HasAttr(input.inst, AttrKind::kChannelId),
                  module.IntAttr(input.inst, AttrKind::kUseGlobalDeviceIds),
                  ReplicaGroupsKey(module.TextAttr(input.inst, AttrKind::kReplicaGroups)));
  if (input.setup.stock) return key;
  // An all-gather with control edges could be combined but not removed: leave it alone.
  if (input.rewriter.HasControlEdges(input.inst)) return std::nullopt;
  ShapeId shape = module.shape(input.inst);
  return key + fmt::format(" dtype={} constrained={}", Info(module.shapes().type(shape)).text,
                           module.IntAttr(input.inst, AttrKind::kConstrainLayout));
}

class AllGatherCombiner : public Pass {
 public:
  std::string_view name() const override { return "all-gather-combiner"; }
  Result<bool> Run(Module& module, PassContext& context) override {
    return CombineCollectives(module, SetupFromOptions(Opcode::kAllGather, context.options), Key,
                              context);
  }
};

}  // namespace

const PassInfo kAllGatherCombiner = {
    .make = MakePass<AllGatherCombiner>,
    .summary = "put independent all-gathers over the same groups into one",
    .help =
        "As all-reduce-combiner, for all-gather. With by-dim=false members may differ in the "
        "gather "
        "dimension: the most frequent one wins, the others are renumbered by bitcasts (layouts "
        "must be set).",
    .options = DimensionCombinerOptions(),
};

}  // namespace hlokit
