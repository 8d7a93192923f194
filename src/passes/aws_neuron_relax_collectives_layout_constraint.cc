// Takes constrain_layout off every all-reduce, and changes nothing else.
// An expander in the sense of the Neuron tool: the matcher asks for all-reduce only, the
// replacement is the same instruction with one bit flipped, so it is edited in place.
#include "hlokit/rewriter.h"
#include "src/passes/passes.h"

namespace hlokit {
namespace {

class RelaxCollectivesLayoutConstraint : public Pass {
 public:
  std::string_view name() const override {
    return "aws_neuron_relax_collectives_layout_constraint";
  }
  Result<bool> Run(Module& module, PassContext& context) override {
    Rewriter rewriter(module, context.log);
    for (CompId computation : module.computation_order()) {
      for (InstId inst : module.computation(computation).instructions) {
        if (module.opcode(inst) != Opcode::kAllReduce ||
            module.IntAttr(inst, AttrKind::kConstrainLayout) == 0) {
          continue;
        }
        module.RemoveAttr(inst, AttrKind::kConstrainLayout);
        rewriter.NoteChanged(inst);
      }
    }
    return rewriter.changed();
  }
};

}  // namespace

const PassInfo kAwsNeuronRelaxCollectivesLayoutConstraint = {
    .make = MakePass<RelaxCollectivesLayoutConstraint>,
    .summary = "take constrain_layout off every all-reduce, so that the combiner may merge them",
    .help =
        "All-reduce only: constrained all-gathers, reduce-scatters and all others keep the flag. "
        "Groups, channel "
        "id, use_global_device_ids, reduction, metadata and everything else stay as they are.",
};

}  // namespace hlokit
