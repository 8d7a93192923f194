// How is a module written: order, ids, header fields? (hlo-proto.md sections 3 to 5)
#include "module_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "recovery_table.h"
#include "schema.h"
#include "shape_wire.h"
#include "src/print/order.h"
#include "text_to_wire.h"

namespace hlokit::proto {

ModuleWriter::ModuleWriter(const Module& module)
    : module_(module),
      fusion_bodies_(FusionBodies(module)),
      computation_id_(module.computation_count()),
      local_id_(module.instruction_count()) {}

int64_t ModuleWriter::FullId(InstId id) const {
  int64_t computation = computation_id_[module_.computation_of(id).value];
  return computation << 32 | local_id_[id.value];
}

/// Callees before callers; where that leaves a choice, the order of the file or text that the
/// module was read from.
void ModuleWriter::OrderComputations() {
  const ProtoExtras* extras = module_.config().proto_extras.get();
  bool by_number = extras != nullptr && !extras->computation_ids.empty();
  std::vector<uint32_t> priority(module_.computation_count());
  std::vector<uint32_t> waiting(module_.computation_count());  // for how many calls
  std::vector<std::vector<CompId>> callers(module_.computation_count());
  uint32_t position = 0;
  for (CompId id : module_.computation_order()) {
    priority[id.value] = by_number ? id.value : position++;
    for (InstId inst : module_.computation(id).instructions) {
      if (module_.IsDead(inst)) continue;
      for (CompId callee : module_.called_computations(inst)) {
        callers[callee.value].push_back(id);
        ++waiting[id.value];
      }
    }
  }
  auto later = [&](CompId a, CompId b) { return priority[a.value] > priority[b.value]; };
  std::vector<CompId> ready;  // a heap
  for (CompId id : module_.computation_order()) {
    if (waiting[id.value] == 0 && !module_.computation(id).dead) ready.push_back(id);
  }
  std::make_heap(ready.begin(), ready.end(), later);
  while (!ready.empty()) {
    std::pop_heap(ready.begin(), ready.end(), later);
    CompId id = ready.back();
    ready.pop_back();
    file_order_.push_back(id);
    for (CompId caller : callers[id.value]) {
      if (--waiting[caller.value] != 0) continue;
      ready.push_back(caller);
      std::push_heap(ready.begin(), ready.end(), later);
    }
  }
}

void ModuleWriter::NumberComputations() {
  OrderComputations();
  const ProtoExtras* extras = module_.config().proto_extras.get();
  if (extras == nullptr || extras->computation_ids.empty()) {
    int64_t next = 0;
    for (CompId id : module_.computation_order()) computation_id_[id.value] = next++;
    return;
  }
  // Computations from the file keep their ids; new ones get the numbers behind the largest.
  const std::vector<int64_t>& kept = extras->computation_ids;
  int64_t next = *std::max_element(kept.begin(), kept.end()) + 1;
  for (CompId id : module_.computation_order()) {
    computation_id_[id.value] = id.value < kept.size() ? kept[id.value] : next++;
  }
}

void ModuleWriter::NumberInstructions(CompId id) {
  const std::vector<InstId>& stored = module_.computation(id).instructions;
  std::vector<InstId> order;
  for (InstId inst : stored) {
    if (!module_.IsDead(inst)) order.push_back(inst);
  }
  // With a schedule the list is the order of execution; ids tell the order of creation then.
  if (module_.config().is_scheduled && !fusion_bodies_[id.value])
    std::sort(order.begin(), order.end());
  const ProtoExtras* extras = module_.config().proto_extras.get();
  if (extras != nullptr && !extras->local_ids.empty()) {
    std::vector<uint32_t> kept;
    uint32_t next = 0;
    for (InstId inst : order) {
      bool from_file = inst.value < extras->local_ids.size();
      kept.push_back(from_file ? static_cast<uint32_t>(extras->local_ids[inst.value]) : next);
      next = std::max(next, kept.back() + 1);
    }
    if (std::is_sorted(kept.begin(), kept.end()) &&
        std::adjacent_find(kept.begin(), kept.end()) == kept.end()) {
      for (size_t i = 0; i < order.size(); ++i) local_id_[order[i].value] = kept[i];
      return;
    }
  }
  for (size_t i = 0; i < order.size(); ++i) local_id_[order[i].value] = static_cast<uint32_t>(i);
}

namespace {

bool KnownInInstruction(uint32_t number) {
  return FindField(MessageId::HloInstructionProto, number) != nullptr;
}
bool KnownInComputation(uint32_t number) {
  return FindField(MessageId::HloComputationProto, number) != nullptr;
}
// Fields that the module has no place for stay, whatever else was edited.
bool NeverKnown(uint32_t) { return false; }

}  // namespace

bool ModuleWriter::AppendComputation(CompId id, std::string* out) {
  const ProtoExtras* extras = module_.config().proto_extras.get();
  InstructionOrder order(module_);
  WireWriter w(out);
  w.Bytes(1, module_.name(id));
  for (InstId inst : order.PostOrder(id)) {
    instruction_bytes_.clear();
    if (!AppendInstruction(inst, &instruction_bytes_)) return false;
    if (extras != nullptr) {
      if (auto it = extras->instructions.find(inst.value); it != extras->instructions.end()) {
        instruction_bytes_ = MergeExtras(instruction_bytes_, it->second, KnownInInstruction);
      }
    }
    w.PresentBytes(2, instruction_bytes_);
  }
  AppendProgramShape(id, &w);
  w.Int(5, computation_id_[id.value]);
  w.Int(6, FullId(module_.computation(id).root));
  std::string tail;
  WireWriter tail_writer(&tail);
  tail_writer.Bool(7, fusion_bodies_[id.value]);
  tail_writer.Bytes(8, module_.str(module_.computation(id).execution_thread));
  out->append(tail);
  return true;
}

void ModuleWriter::AppendComputationHeader(CompId id, std::string* out) {
  WireWriter w(out);
  w.Bytes(1, module_.name(id));
  w.Bool(7, fusion_bodies_[id.value]);
  w.Bytes(8, module_.str(module_.computation(id).execution_thread));
}

void ModuleWriter::AppendProgramShape(CompId id, WireWriter* w) {
  const ComputationData& data = module_.computation(id);
  size_t begin = w->Open(4);
  for (InstId parameter : data.parameters) {
    size_t shape = w->Open(1);
    AppendShape(module_.shapes(), module_.shape(parameter), &w->out());
    w->Close(shape);
  }
  size_t result = w->Open(2);
  AppendShape(module_.shapes(), module_.shape(data.root), &w->out());
  w->Close(result);
  for (InstId parameter : data.parameters) w->PresentBytes(3, module_.name(parameter));
  w->Close(begin);
}

void ModuleWriter::AppendHostProgramShape(WireWriter* w) {
  ComputationLayout layout;
  if (module_.config().entry_computation_layout.has_value()) {
    layout = *module_.config().entry_computation_layout;
  } else {
    const ComputationData& entry = module_.computation(module_.entry());
    for (InstId parameter : entry.parameters) layout.parameters.push_back(module_.shape(parameter));
    layout.result = module_.shape(entry.root);
  }
  size_t begin = w->Open(4);
  for (ShapeId parameter : layout.parameters) {
    size_t shape = w->Open(1);
    AppendShape(module_.shapes(), parameter, &w->out());
    w->Close(shape);
  }
  size_t result = w->Open(2);
  AppendShape(module_.shapes(), layout.result, &w->out());
  w->Close(result);
  for (size_t i = 0; i < layout.parameters.size(); ++i) w->Bytes(3, "p" + std::to_string(i));
  w->Close(begin);
}

void ModuleWriter::AppendAliases(WireWriter* w) {
  size_t begin = w->Open(8);
  for (const InputOutputAlias& alias : module_.config().input_output_alias) {
    size_t entry = w->Open(1);
    w->Packed(1, alias.output_index);
    w->Int(2, alias.parameter_number);
    w->Packed(3, alias.parameter_index);
    w->Int(4, alias.kind == AliasKind::kMay ? 1 : 2);
    w->Close(entry);
  }
  w->Close(begin);
}

void ModuleWriter::AppendDonors(WireWriter* w) {
  size_t begin = w->Open(18);
  for (const BufferDonor& donor : module_.config().buffer_donors) {
    size_t entry = w->Open(1);
    w->Int(1, donor.parameter_number);
    w->Packed(2, donor.parameter_index);
    w->Close(entry);
  }
  w->Close(begin);
}

void ModuleWriter::AppendStackFrames(WireWriter* w) {
  const StackFrameIndex& index = module_.config().stack_frame_index;
  if (index.stack_frames.empty() && index.file_names.empty() && index.file_locations.empty())
    return;
  size_t begin = w->Open(17);
  for (const std::string& name : index.file_names) w->PresentBytes(1, name);
  for (const std::string& name : index.function_names) w->PresentBytes(2, name);
  for (const FileLocation& location : index.file_locations) {
    size_t at = w->Open(3);
    w->Int(1, location.file_name_id);
    w->Int(2, location.function_name_id);
    w->Int(3, location.line);
    w->Int(4, location.column);
    w->Int(5, location.end_line);
    w->Int(6, location.end_column);
    w->Close(at);
  }
  for (const StackFrame& frame : index.stack_frames) {
    size_t at = w->Open(4);
    w->Int(1, frame.file_location_id);
    w->Int(2, frame.parent_frame_id);
    w->Close(at);
  }
  w->Close(begin);
}

bool ModuleWriter::AppendRecoveryTable(WireWriter* w) {
  const std::string& text = module_.config().origin_recovery_table;
  if (text.empty()) return true;
  size_t begin = w->Open(20);
  bool ok = AppendRecoveryProto(text, &w->out());
  w->Close(begin);
  return ok || Fail("the origin_recovery_table has no proto form");
}

void ModuleWriter::AppendSchedule(WireWriter* w) {
  std::map<int64_t, CompId> by_id;
  for (CompId id : module_.computation_order()) {
    if (!module_.computation(id).dead && !fusion_bodies_[id.value])
      by_id[computation_id_[id.value]] = id;
  }
  size_t schedule = w->Open(7);
  for (const auto& [key, id] : by_id) {
    size_t entry = w->Open(1);
    w->Present(1, key);  // both parts of a map entry are always written
    size_t value = w->Open(2);
    std::vector<int64_t> ids;
    for (InstId inst : module_.computation(id).instructions) {
      if (!module_.IsDead(inst)) ids.push_back(FullId(inst));
    }
    w->Packed(1, ids);
    w->Close(value);
    w->Close(entry);
  }
  w->Close(schedule);
}

void ModuleWriter::AppendModuleHeader(std::string* out) {
  const ModuleConfig& config = module_.config();
  WireWriter w(out);
  w.Bytes(1, config.name);
  AppendHostProgramShape(&w);
  AppendAliases(&w);
  AppendStackFrames(&w);
  AppendDonors(&w);
  size_t frontend = w.Open(19);
  if (!config.frontend_attributes.empty() &&
      !AppendFrontendProto(config.frontend_attributes, out)) {
    Fail("the frontend_attributes of the module have no proto form");
  }
  w.Close(frontend);
  AppendRecoveryTable(&w);
}

bool ModuleWriter::Append(std::string* out) {
  NumberComputations();
  for (CompId id : file_order_) NumberInstructions(id);
  const ProtoExtras* extras = module_.config().proto_extras.get();
  std::string header;
  AppendModuleHeader(&header);
  if (extras != nullptr && !extras->module.empty())
    header = MergeExtras(header, extras->module, NeverKnown);
  // Fields up to 3 go in front of the rest of the header, 6 and 7 in between.
  WireReader reader(header);
  WireField field;
  WireWriter w(out);
  enum { kNames, kBody, kIds, kDone } stage = kNames;
  auto advance = [&](uint32_t number) {
    if (stage == kNames && number > 1) {
      w.Bytes(2, module_.name(module_.entry()));
      stage = kBody;
    }
    if (stage == kBody && number > 3) {
      std::string computation;
      for (CompId id : file_order_) {
        computation.clear();
        if (!AppendComputation(id, &computation)) return false;
        if (extras != nullptr) {
          if (auto it = extras->computations.find(id.value); it != extras->computations.end()) {
            computation = MergeExtras(computation, it->second, KnownInComputation);
          }
        }
        w.PresentBytes(3, computation);
      }
      stage = kIds;
    }
    if (stage == kIds && number > 6) {
      w.Int(6, computation_id_[module_.entry().value]);
      if (module_.config().is_scheduled) AppendSchedule(&w);
      stage = kDone;
    }
    return true;
  };
  while (reader.Next(&field)) {
    if (!advance(field.number)) return false;
    out->append(field.raw);
  }
  return advance(0xffffffffu) && problem_.empty();
}

}  // namespace hlokit::proto
