// Which passes and pipelines exist?
#include <algorithm>

#include "hlokit/pass.h"
#include "src/passes/passes.h"

namespace hlokit {
namespace {

constexpr const PassInfo* kInfos[] = {
#define HLOKIT_PASS(symbol) &symbol,
#include "src/passes/passes.def"
};

constexpr PipelineInfo kPipelines[] = {
    {"neuron-layout",
     "the layout passes of the Neuron tool in its order: normalise early, force the root, relax, "
     "combine",
     "io-layout-normalization,aws_neuron_ensure_descending_layout_in_root,"
     "aws_neuron_relax_collectives_layout_constraint,all-gather-combiner,reduce-scatter-combiner,"
     "all-reduce-combiner"},
};

/// Each pass is built once to be asked for its name.
std::vector<RegisteredPass> BuildRegistry() {
  std::vector<RegisteredPass> passes;
  for (const PassInfo* info : kInfos) passes.push_back({std::string(info->make()->name()), info});
  std::sort(passes.begin(), passes.end(),
            [](const RegisteredPass& a, const RegisteredPass& b) { return a.name < b.name; });
  return passes;
}

}  // namespace

std::span<const RegisteredPass> RegisteredPasses() {
  static const std::vector<RegisteredPass>& passes =
      *new std::vector<RegisteredPass>(BuildRegistry());
  return passes;
}

const RegisteredPass* FindPass(std::string_view name) {
  for (const RegisteredPass& pass : RegisteredPasses()) {
    if (pass.name == name) return &pass;
  }
  return nullptr;
}

std::span<const PipelineInfo> RegisteredPipelines() { return kPipelines; }

const PipelineInfo* FindPipeline(std::string_view name) {
  for (const PipelineInfo& pipeline : kPipelines) {
    if (pipeline.name == name) return &pipeline;
  }
  return nullptr;
}

}  // namespace hlokit
