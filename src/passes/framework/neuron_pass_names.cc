// Which pass names does the Neuron tool register (neuron-passes.md section 1)?
#include <algorithm>
#include <array>

#include "hlokit/pass.h"
#include "src/base/edit_distance.h"

namespace hlokit {
namespace {

/// In registration order; true = an expander (a matcher and a replacement under one shared driver).
constexpr NeuronPassName kNames[] = {
    {"tuple-simplifier", false},
    {"call-inliner", false},
    {"dce", false},
    {"stub", false},
    {"legalize-intrinsics", false},
    {"legalize-aws-neuron-arg-max", false},
    {"legalize-softmax", false},
    {"legalize-topk", false},
    {"legalize-quantize-mx", false},
    {"legalize-scaled-matmul", false},
    {"convert-collectives-to-custom-call", false},
    {"legalize-cpu-cc-ops", false},
    {"legalize-compare", false},
    {"remove-passthrough-outputs", false},
    {"remove-gradiant-outputs", false},
    {"partition-embeding-ops", false},
    {"eliminate-redundant-compare", false},
    {"fuse-send-recv", false},
    {"lower-argminmax-custom-call", false},
    {"config-lowering", false},
    {"metadata-naming", false},
    {"hilo-conditional-to-select", false},
    {"io-layout-normalization", false},
    {"replace-minimum-constant", false},
    {"unroll-while-loop", false},
    {"decompose-cc-ops", false},
    {"simplify-concat", false},
    {"fuse-reduce-scatter", false},
    {"opt-barrier-removal", false},
    {"canonicalize-boundary-marker", false},
    {"boundary-marker-removal", false},
    {"trivial-cc-removal", false},
    {"collective-token-removal", false},
    {"unpack-nested-aws-ntwsr", false},
    {"transform-variadic-reduce", false},
    {"emit-offloaded-dropout", false},
    {"lower-to-custom-native-kernel", false},
    {"decompose-attention", false},
    {"inline-weights", false},
    {"replace-rng", false},
    {"native-to-custom-softmax-dx", false},
    {"native-to-custom-softmax", false},
    {"add-logit-output", false},
    {"remove-aliases", false},
    {"add-must-aliases", false},
    {"add-may-aliases", false},
    {"flip-must-aliases", false},
    {"flip-may-aliases", false},
    {"legalize-types-for-infergoldens", false},
    {"legalize-ccops-for-tensorizer", false},
    {"batch-norm-training-upcast", false},
    {"inject-numerical-errors", false},
    {"preprocess-kernels-for-simulation", false},
    {"convert-inputs-to-optimal-shape", false},
    {"dynamic-slice-transpose", true},
    {"lower-to-nki-kernels", false},
    {"convert-fs-patterns-to-cc", false},
    {"collective-stream-id-checker", false},
    {"rewrite-module-dtype", false},
    {"upcast-all-to-fp32", false},
    {"preserve-control-deps", false},
    {"neuron-hlo-inst-comb", false},
    {"neuron_looped_einsum_replacer", true},
    {"neuron_looped_einsum_token_replacer", true},
    {"aws_neuron_default_metadata", true},
    {"aws_neuron_common_instruction_elimination", false},
    {"aws_neuron_resolve_self_comparison", true},
    {"neuron-int-matmul-downcast", true},
    {"legalize-device-assignment", false},
    {"inject-prints", false},
    {"aws_neuron_ensure_descending_layout_in_root", false},
    {"aws_neuron_alias_to_must_alias", false},
    {"aws_neuron_buffer_donation_to_alias", false},
    {"aws_neuron_decompose_scalar_reduce", true},
    {"aws_neuron_relax_collectives_layout_constraint", true},
    {"neuron-preprocess-kernel-duplicate-remover", false},
    {"all-gather-combiner", false},
    {"reduce-scatter-combiner", false},
    {"all-reduce-combiner", false},
    {"neuron-dus-ds-index-simplifier", false},
    {"aws_neuron_collective_stream_id_injector", false},
    {"neuron_unique_channel_id_enforcer", false},
    {"neuron-rematerialize-large-broadcast", false},
    {"neuron-token-threading-repeated", false},
    {"token_threading_analyzer", false},
    {"collective-permute-to-all-gather", false},
    {"dynamic-slice-mover", false},
    {"aws_neuron_decompose_int_all_reduce", true},
    {"aws_neuron_delete_permute", true},
    {"aws_neuron_constant_slice_clamp_simplifier", true},
    {"neuron-rematerialize-large-allgather", false},
    {"aws_neuron_flip_all_gather_dynamic_slice", true},
    {"rewrite_scatter_partition", true},
    {"aws_neuron_rewrite_collective_permute", true},
    {"aws_neuron_rewrite_all_gather_reduce", true},
    {"aws_neuron_flip_all_gather_convert", true},
    {"aws_neuron_flip_all_gather_reshape", true},
    {"aws_neuron_flip_all_gathers_binary", true},
    {"aws_neuron_rewrite_all_reduce_dynamic_slice", true},
    {"aws_neuron_rewrite_all_reduce_dynamic_slice_multiple_groups", true},
    {"neuron-while-loop-all-reduce-code-motion", false},
    {"aws_neuron_flip_reduce_convert_add", true},
    {"neuron_move_reduce_scatter_while_loop", false},
    {"aws_neuron_flip_reduce_scatter_transpose", true},
    {"neuron_move_all_gather_while_loop", false},
    {"neuron_all_gather_duplicate_remover", false},
    {"slice-of-concat-optimizer", false},
    {"neuron_repeated_dus_to_concat", false},
    {"aws_neuron_constant_slice_convert_canonicalizer", true},
    {"aws_neuron_dynamic_slice_reshape_canonicalizer", true},
    {"aws_neuron_rewrite_all_gather_trip_count", true},
    {"while_loop_unroller", false},
};
static_assert(std::size(kNames) == 112);

}  // namespace

std::span<const NeuronPassName> NeuronPassNames() { return kNames; }

int NeuronPassNumber(std::string_view name) {
  for (size_t i = 0; i < std::size(kNames); ++i) {
    if (kNames[i].name == name) return static_cast<int>(i) + 1;
  }
  return 0;
}

std::string NearestName(std::string_view wanted, std::span<const std::string_view> names) {
  std::string_view best;
  size_t best_distance = std::max<size_t>(2, wanted.size() / 3) + 1;
  if (wanted.size() > 200) return {};
  for (std::string_view name : names) {
    size_t distance = EditDistance(wanted, name);
    if (distance < best_distance) {
      best_distance = distance;
      best = name;
    }
  }
  return std::string(best);
}

std::string NearestPassName(std::string_view wanted) {
  std::vector<std::string_view> names;
  for (const RegisteredPass& pass : RegisteredPasses()) names.push_back(pass.name);
  for (const PipelineInfo& pipeline : RegisteredPipelines()) names.push_back(pipeline.name);
  for (const NeuronPassName& pass : kNames) names.push_back(pass.name);
  return NearestName(wanted, names);
}

}  // namespace hlokit
