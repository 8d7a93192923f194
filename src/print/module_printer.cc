// How is a module written: header, stack frame tables, computations (hlo-text.md sections 11.1 and
// 11.2)?
#include "src/print/module_printer.h"

#include <algorithm>

#include "src/print/order.h"
#include "src/print/value_text.h"

namespace hlokit {
namespace {

/// Bytes to start with; most lines of real modules are between 80 and 250 bytes long.
size_t ExpectedSize(const Module& module) {
  return 4096 + size_t{192} * module.instruction_count() + size_t{128} * module.computation_count();
}

void AppendIndex(std::span<const int64_t> index, TextBuffer* out) {
  out->Append('{');
  for (size_t i = 0; i < index.size(); ++i) {
    if (i != 0) out->Append(',');
    out->AppendInteger(index[i]);
  }
  out->Append('}');
}

void AppendAliases(const std::vector<InputOutputAlias>& aliases, TextBuffer* out) {
  // Pre-order of the tuple tree of the result is the order of the paths.
  std::vector<const InputOutputAlias*> sorted;
  for (const InputOutputAlias& alias : aliases) sorted.push_back(&alias);
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const InputOutputAlias* a, const InputOutputAlias* b) {
                     return a->output_index < b->output_index;
                   });
  out->Append(", input_output_alias={ ");
  for (size_t i = 0; i < sorted.size(); ++i) {
    if (i != 0) out->Append(", ");
    AppendIndex(sorted[i]->output_index, out);
    out->Append(": (");
    out->AppendInteger(sorted[i]->parameter_number);
    out->Append(", ");
    AppendIndex(sorted[i]->parameter_index, out);
    out->Append(sorted[i]->kind == AliasKind::kMust ? ", must-alias)" : ", may-alias)");
  }
  out->Append(" }");
}

void AppendDonors(const std::vector<BufferDonor>& donors, TextBuffer* out) {
  std::vector<const BufferDonor*> sorted;
  for (const BufferDonor& donor : donors) sorted.push_back(&donor);
  std::stable_sort(sorted.begin(), sorted.end(), [](const BufferDonor* a, const BufferDonor* b) {
    if (a->parameter_number != b->parameter_number)
      return a->parameter_number < b->parameter_number;
    return a->parameter_index < b->parameter_index;
  });
  out->Append(", buffer_donor={ ");
  for (size_t i = 0; i < sorted.size(); ++i) {
    out->Append(i == 0 ? "(" : ", (");
    out->AppendInteger(sorted[i]->parameter_number);
    out->Append(", ");
    AppendIndex(sorted[i]->parameter_index, out);
    out->Append(')');
  }
  out->Append(" }");
}

/// A list of flags, left out when it is exactly one `false`.
void AppendFlags(std::string_view name, const std::vector<bool>& flags, TextBuffer* out) {
  if (flags.size() == 1 && !flags[0]) return;
  out->Append(name);
  for (size_t i = 0; i < flags.size(); ++i) {
    if (i != 0) out->Append(',');
    out->Append(flags[i] ? "true" : "false");
  }
  out->Append('}');
}

void AppendNames(std::string_view title, const std::vector<std::string>& names, TextBuffer* out) {
  out->Append(title);
  for (size_t i = 0; i < names.size(); ++i) {
    out->AppendUnsigned(i + 1);
    out->Append(' ');
    AppendQuoted(names[i], out);
    out->Append('\n');
  }
}

}  // namespace

void ModulePrinter::AppendModule() {
  if (options_.inline_computations) RememberBodies();
  AppendHeader();
  InstructionOrder instructions(module_);
  const bool scheduled = module_.config().is_scheduled;
  const std::vector<bool> fusion_bodies =
      scheduled ? FusionBodies(module_) : std::vector<bool>(module_.computation_count(), true);
  std::vector<bool> sugared(module_.computation_count(), false);
  const std::vector<CompId> order = options_.topological_order
                                        ? ComputationTopologicalOrder(module_)
                                        : ComputationPostOrder(module_);
  if (options_.async_sugar) {
    for (CompId id : order) {
      for (InstId start : module_.computation(id).instructions) {
        if (module_.opcode(start) != Opcode::kAsyncStart || module_.IsDead(start)) continue;
        if (SugaredInstruction(start).valid()) sugared[WrappedComputation(start).value] = true;
      }
    }
  }
  for (CompId id : order) {
    if (sugared[id.value]) continue;
    AppendComputation(
        id, fusion_bodies[id.value] ? instructions.PostOrder(id) : instructions.Stored(id));
    out_.Append("\n\n");
  }
}

void ModulePrinter::AppendHeader() {
  const ModuleConfig& config = module_.config();
  out_.Append("HloModule ");
  if (options_.module_name) out_.Append(config.name);
  if (config.is_scheduled) out_.Append(", is_scheduled=true");
  if (!config.input_output_alias.empty()) AppendAliases(config.input_output_alias, &out_);
  if (!config.buffer_donors.empty()) AppendDonors(config.buffer_donors, &out_);
  if (config.alias_passthrough_params) out_.Append(", alias_passthrough_params=true");
  if (config.entry_computation_layout) AppendEntryLayout(*config.entry_computation_layout);
  AppendFlags(", allow_spmd_sharding_propagation_to_parameters={",
              config.allow_spmd_sharding_propagation_to_parameters, &out_);
  AppendFlags(", allow_spmd_sharding_propagation_to_output={",
              config.allow_spmd_sharding_propagation_to_output, &out_);
  if (config.replica_count != 1) {
    out_.Append(", replica_count=");
    out_.AppendInteger(config.replica_count);
  }
  if (config.num_partitions != 1) {
    out_.Append(", num_partitions=");
    out_.AppendInteger(config.num_partitions);
  }
  if (!config.frontend_attributes.empty()) {
    out_.Append(", frontend_attributes=");
    out_.Append(config.frontend_attributes);
  }
  if (!config.origin_recovery_table.empty()) {
    out_.Append(", origin_recovery_table={\n");
    out_.Append(config.origin_recovery_table);
    out_.Append("}\n");
  }
  out_.Append("\n\n");
  if (options_.metadata && !config.stack_frame_index.stack_frames.empty()) AppendStackFrameIndex();
}

void ModulePrinter::AppendEntryLayout(const ComputationLayout& layout) {
  out_.Append(", entry_computation_layout={(");
  for (size_t i = 0; i < layout.parameters.size(); ++i) {
    if (i != 0) out_.Append(", ");
    if (i != 0 && i % 5 == 0) {
      out_.Append("/*index=");
      out_.AppendUnsigned(i);
      out_.Append("*/");
    }
    AppendShape(layout.parameters[i], /*with_layout=*/true);
  }
  out_.Append(")->");
  if (layout.result.valid()) AppendShape(layout.result, /*with_layout=*/true);
  out_.Append('}');
}

void ModulePrinter::AppendStackFrameIndex() {
  const StackFrameIndex& index = module_.config().stack_frame_index;
  AppendNames("FileNames\n", index.file_names, &out_);
  AppendNames("\nFunctionNames\n", index.function_names, &out_);
  out_.Append("\nFileLocations\n");
  const auto field = [&](std::string_view name, int64_t value) {
    out_.Append(name);
    out_.AppendInteger(value);
  };
  for (size_t i = 0; i < index.file_locations.size(); ++i) {
    const FileLocation& location = index.file_locations[i];
    out_.AppendUnsigned(i + 1);
    field(" {file_name_id=", location.file_name_id);
    field(" function_name_id=", location.function_name_id);
    field(" line=", location.line);
    field(" end_line=", location.end_line);
    field(" column=", location.column);
    field(" end_column=", location.end_column);
    out_.Append("}\n");
  }
  out_.Append("\nStackFrames\n");
  for (size_t i = 0; i < index.stack_frames.size(); ++i) {
    out_.AppendUnsigned(i + 1);
    field(" {file_location_id=", index.stack_frames[i].file_location_id);
    field(" parent_frame_id=", int64_t{index.stack_frames[i].parent_frame_id} + 1);
    out_.Append("}\n");
  }
  out_.Append("\n\n");
}

void ModulePrinter::AppendComputation(CompId id, const std::vector<InstId>& order) {
  AppendComputationHead(id);
  if (options_.inline_computations && !bodies_[id.value].empty()) {
    out_.Append(bodies_[id.value]);
  } else {
    out_.Append("{\n");
    AppendLines(id, order);
    out_.Append('}');
  }
  AppendComputationTail(id);
}

void ModulePrinter::AppendComputationHead(CompId id) {
  const ComputationData& computation = module_.computation(id);
  if (id == module_.entry()) out_.Append("ENTRY ");
  if (options_.computation_names) {
    if (options_.percent) out_.Append('%');
    out_.Append(module_.name(id));
    out_.Append(' ');
  }
  if (!options_.signature) return;
  out_.Append('(');
  for (size_t i = 0; i < computation.parameters.size(); ++i) {
    if (i != 0) out_.Append(", ");
    const InstId parameter = computation.parameters[i];
    if (!parameter.valid()) continue;
    out_.Append(module_.name(parameter));
    out_.Append(": ");
    AppendShape(module_.shape(parameter), /*with_layout=*/false);
  }
  out_.Append(") -> ");
  if (computation.root.valid()) AppendShape(module_.shape(computation.root), /*with_layout=*/false);
  out_.Append(' ');
}

void ModulePrinter::AppendComputationTail(CompId id) {
  const std::string_view thread = module_.execution_thread(id);
  if (thread == "main") return;
  out_.Append(", execution_thread=");
  AppendQuoted(thread, &out_);
}

void ModulePrinter::AppendLines(CompId id, const std::vector<InstId>& order) {
  constexpr int kIndent = 2;
  for (InstId instruction : named_) canonical_[instruction.value] = 0xffffffffu;
  named_.clear();
  const InstId root = module_.computation(id).root;
  for (InstId instruction : order) {
    if (IsHidden(instruction)) continue;
    out_.Append(instruction == root ? "  ROOT " : "  ");
    AppendInstruction(instruction, kIndent);
    out_.Append('\n');
  }
}

void ModulePrinter::AppendShape(ShapeId id, bool with_layout) {
  if (cache_ == ShapeCache::kOff) {
    shape_text_.clear();
    module_.shapes().AppendText(id, with_layout, &shape_text_);
    return out_.Append(shape_text_);
  }
  std::vector<CachedText>& cache = shape_cache_[with_layout ? 1 : 0];
  if (id.value >= cache.size()) cache.resize(module_.shapes().shape_count());
  CachedText& text = cache[id.value];
  if (text.length == 0) {
    text.offset = static_cast<uint32_t>(shape_text_.size());
    module_.shapes().AppendText(id, with_layout, &shape_text_);
    text.length = static_cast<uint32_t>(shape_text_.size() - text.offset);
  }
  out_.Append(std::string_view(shape_text_).substr(text.offset, text.length));
}

std::string PrintModule(const Module& module, const PrintOptions& options) {
  ModulePrinter printer(module, options, ExpectedSize(module), ShapeCache::kOn);
  printer.AppendModule();
  return printer.Take();
}

std::string PrintInstruction(const Module& module, InstId id, const PrintOptions& options) {
  ModulePrinter printer(module, options, 256, ShapeCache::kOff);
  printer.AppendInstruction(id, /*indent=*/0);
  return printer.Take();
}

}  // namespace hlokit
