// What do two modules not have in common? Describe both, pair what belongs together, compare the
// pairs, list the rest.
#include "hlokit/diff.h"

#include <algorithm>

#include "src/diff/compare.h"
#include "src/diff/match.h"
#include "src/diff/side.h"

namespace hlokit {
namespace {

void CompareEntryShape(const Side& a, const Side& b, ShapeId before, ShapeId after,
                       std::optional<uint32_t> parameter, ModuleDiff* diff) {
  if (a.BareKey(before) != b.BareKey(after) || a.FullKey(before) == b.FullKey(after)) return;
  const ShapePool& shapes_a = a.module().shapes();
  const ShapePool& shapes_b = b.module().shapes();
  std::vector<ShapeId> nodes_a = shapes_a.Subshapes(before);
  std::vector<ShapeId> nodes_b = shapes_b.Subshapes(after);
  auto text = [](const ShapePool& shapes, ShapeId leaf) {
    LayoutId layout = shapes.layout(leaf);
    return layout.valid() ? shapes.LayoutText(layout) : std::string("unset");
  };
  for (uint32_t i = 0; i < nodes_a.size(); ++i) {
    if (!shapes_a.IsArray(nodes_a[i]) || a.FullKey(nodes_a[i]) == b.FullKey(nodes_b[i])) continue;
    diff->entry_layouts.push_back(
        {parameter, i, text(shapes_a, nodes_a[i]), text(shapes_b, nodes_b[i])});
  }
}

/// Parameters that only one entry has show up as instructions.
void CompareEntryLayouts(const Side& a, const Side& b, ModuleDiff* diff) {
  const std::optional<ComputationLayout>& before = a.module().config().entry_computation_layout;
  const std::optional<ComputationLayout>& after = b.module().config().entry_computation_layout;
  if (before.has_value() != after.has_value()) diff->header.push_back("entry_computation_layout");
  if (!before || !after) return;
  size_t count = std::min(before->parameters.size(), after->parameters.size());
  for (size_t i = 0; i < count; ++i) {
    CompareEntryShape(a, b, before->parameters[i], after->parameters[i], static_cast<uint32_t>(i),
                      diff);
  }
  CompareEntryShape(a, b, before->result, after->result, std::nullopt, diff);
}

bool SameFrames(const StackFrameIndex& a, const StackFrameIndex& b) {
  return a.file_names == b.file_names && a.function_names == b.function_names &&
         a.file_locations == b.file_locations && a.stack_frames == b.stack_frames;
}

/// The name of the module does not count.
void CompareHeaders(const Module& before, const Module& after, const DiffOptions& options,
                    ModuleDiff* diff) {
  const ModuleConfig& a = before.config();
  const ModuleConfig& b = after.config();
  auto field = [&](std::string_view name, bool same) {
    if (!same) diff->header.emplace_back(name);
  };
  field("is_scheduled", a.is_scheduled == b.is_scheduled);
  field("input_output_alias",
        std::ranges::equal(a.input_output_alias, b.input_output_alias,
                           [](const InputOutputAlias& x, const InputOutputAlias& y) {
                             return x.output_index == y.output_index && x.kind == y.kind &&
                                    x.parameter_number == y.parameter_number &&
                                    x.parameter_index == y.parameter_index;
                           }));
  field("buffer_donor", std::ranges::equal(a.buffer_donors, b.buffer_donors,
                                           [](const BufferDonor& x, const BufferDonor& y) {
                                             return x.parameter_number == y.parameter_number &&
                                                    x.parameter_index == y.parameter_index;
                                           }));
  field("alias_passthrough_params", a.alias_passthrough_params == b.alias_passthrough_params);
  field("allow_spmd_sharding_propagation_to_parameters",
        a.allow_spmd_sharding_propagation_to_parameters ==
            b.allow_spmd_sharding_propagation_to_parameters);
  field("allow_spmd_sharding_propagation_to_output",
        a.allow_spmd_sharding_propagation_to_output == b.allow_spmd_sharding_propagation_to_output);
  field("replica_count", a.replica_count == b.replica_count);
  field("num_partitions", a.num_partitions == b.num_partitions);
  field("frontend_attributes", a.frontend_attributes == b.frontend_attributes);
  field("origin_recovery_table", a.origin_recovery_table == b.origin_recovery_table);
  if (options.metadata) {
    field("stack frames", SameFrames(a.stack_frame_index, b.stack_frame_index));
  }
}

/// Computations without a partner. Copies inside count as copies, unless the computation is a
/// variant and was compared.
void CollectComputations(const Side& side, const std::vector<CompId>& partners,
                         const std::vector<CompId>& variants, const Comparer& comparer,
                         std::vector<ComputationChange>* out, std::vector<CopyChange>* copies) {
  for (CompId id : side.module().computation_order()) {
    CompId variant_of = variants[id.value];
    if (partners[id.value].valid() && !variant_of.valid()) continue;
    out->push_back({id, variant_of});
    if (!variant_of.valid()) comparer.CollectCopies(side, id, copies);
  }
}

void CompareThreads(const Module& a, const Module& b, const ComputationPair& pair,
                    ModuleDiff* diff) {
  if (a.execution_thread(pair.a) == b.execution_thread(pair.b)) return;
  diff->header.push_back("execution_thread of %" + std::string(b.name(pair.b)));
}

int64_t TotalBytes(const std::vector<CopyChange>& copies) {
  int64_t total = 0;
  for (const CopyChange& copy : copies) {
    if (__builtin_add_overflow(total, copy.bytes, &total)) return INT64_MAX;
  }
  return total;
}

}  // namespace

ModuleDiff DiffModules(const Module& before, const Module& after, const DiffOptions& options) {
  KeyTable keys;
  Side a(before, keys);
  Side b(after, keys);
  ModuleMatch match = MatchModules(a, b);
  ModuleDiff diff;
  CompareHeaders(before, after, options, &diff);
  CompareEntryLayouts(a, b, &diff);
  Comparer comparer(a, b, match, options, &diff);
  std::vector<CompId> variants_a(before.computation_count()), variants_b(after.computation_count());
  for (const ComputationPair& pair : match.pairs) {
    comparer.Compare(pair);
    CompareThreads(before, after, pair, &diff);
    if (pair.kind == ComputationPair::Kind::kVariantOfA) variants_b[pair.b.value] = pair.a;
    if (pair.kind == ComputationPair::Kind::kVariantOfB) variants_a[pair.a.value] = pair.b;
    if (pair.kind == ComputationPair::Kind::kPartners) ++diff.matched_computations;
  }
  CollectComputations(a, match.of_a, variants_a, comparer, &diff.computations_removed,
                      &diff.vanished);
  CollectComputations(b, match.of_b, variants_b, comparer, &diff.computations_added,
                      &diff.appeared);
  diff.appeared_bytes = TotalBytes(diff.appeared);
  diff.vanished_bytes = TotalBytes(diff.vanished);
  return diff;
}

}  // namespace hlokit
