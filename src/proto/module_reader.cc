// How is an HloModuleProto read: header fields, computations, schedule? (hlo-proto.md sections 3,
// 4, 9)
#include "module_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "hlokit/printer.h"
#include "module_writer.h"
#include "names.h"
#include "schema.h"

namespace hlokit::proto {

ModuleReader::ModuleReader(std::string file, const ProtoReadOptions& options,
                           std::vector<Diagnostic>* warnings)
    : options_(options), warnings_(warnings), text_(&payloads_), buffer_(4096) {
  file_ref_ = module_.text().Adopt(std::move(file));
  file_ = module_.str(file_ref_);
}

std::string ModuleReader::Where(const char* at) const {
  std::string out;
  if (!instruction_name_.empty()) {
    out += fmt::format(" (instruction '{}'", instruction_name_.substr(0, 100));
    if (computation_.valid())
      out += fmt::format(" of '{}'", module_.name(computation_).substr(0, 100));
    out += ')';
  } else if (computation_.valid()) {
    out += fmt::format(" (computation '{}')", module_.name(computation_).substr(0, 100));
  }
  if (options_.offsets_in_messages && at >= file_.data() && at <= file_.data() + file_.size()) {
    out += fmt::format(", byte {}", at - file_.data());
  }
  return out;
}

bool ModuleReader::Fail(DiagId id, const char* at, std::string message, std::string help) {
  if (!error_.diagnostics.empty()) return false;
  error_.exit_code = ExitCode::kCannotParse;
  error_.diagnostics.push_back(
      {.id = id, .message = std::move(message) + Where(at), .help = std::move(help)});
  return false;
}

bool ModuleReader::FailWire(const WireProblem& problem) {
  return Fail(DiagId::kProtoBroken, problem.at, problem.what,
              "the file is damaged or cut off, or it is no protobuf of an HLO module");
}

void ModuleReader::Warn(DiagId id, const char* at, std::string message, std::string help) {
  if (warnings_ == nullptr) return;
  warnings_->push_back({.id = id,
                        .severity = Severity::kWarning,
                        .message = std::move(message) + Where(at),
                        .help = std::move(help)});
}

bool ModuleReader::Ints(const WireField& field, std::vector<int64_t>* out) {
  if (ForEachVarint(field, [&](uint64_t v) { out->push_back(AsInt64(v)); })) return true;
  return Fail(DiagId::kProtoBroken, field.raw.data(), "a list of numbers is broken");
}

Result<Module> ModuleReader::Read(size_t begin, size_t size) {
  if (!ReadModule(file_.substr(begin, size))) return std::unexpected(std::move(error_));
  return std::move(module_);
}

bool ModuleReader::ScanModule(std::string_view bytes) {
  // Several occurrences of a message are one message.
  auto merge = [&](std::string_view* into, std::string_view more, bool again) {
    if (again) {
      std::string& all = merged_.emplace_back(*into);
      all += more;
      *into = all;
    } else {
      *into = more;
    }
  };
  uint32_t seen = 0;
  WireReader reader(bytes);
  WireField field;
  while (reader.Next(&field)) {
    bool again = field.number < 32 && ((seen >> field.number) & 1) != 0;
    if (field.type == kVarint) {
      if (field.number == 6) entry_id_ = AsInt64(field.value);
      continue;
    }
    if (field.type != kBytesType) continue;
    if (field.number < 32) seen |= 1u << field.number;
    switch (field.number) {
      case 1:
        name_ = field.bytes;
        break;
      case 2:
        entry_name_ = field.bytes;
        break;
      case 3:
        computations_.push_back(field.bytes);
        break;
      case 4:
        merge(&host_shape_, field.bytes, again);
        has_host_shape_ = true;
        break;
      case 7:
        merge(&schedule_, field.bytes, again);
        has_schedule_ = true;
        break;
      case 8:
        merge(&aliases_, field.bytes, again);
        break;
      case 17:
        merge(&frames_, field.bytes, again);
        break;
      case 18:
        merge(&donors_, field.bytes, again);
        break;
      case 19:
        merge(&frontend_, field.bytes, again);
        break;
      case 20:
        merge(&recovery_, field.bytes, again);
        break;
      case 22:
        payloads_.push_back(field.bytes);
        break;
      default:
        break;
    }
  }
  return reader.problem().what == nullptr || FailWire(reader.problem());
}

bool ModuleReader::ReadModule(std::string_view bytes) {
  if (!ScanModule(bytes)) return false;
  ModuleConfig& config = module_.config();
  config.name = std::string(name_);
  if (computations_.empty()) {
    return Fail(DiagId::kProtoMissingField, bytes.data(), "the module has no computations");
  }
  if (!has_host_shape_) {
    return Fail(DiagId::kProtoMissingField, bytes.data(), "the module has no host_program_shape");
  }
  module_.Reserve(bytes.size() / 160);
  instruction_names_.Reserve(bytes.size() / 160);
  parts_.resize(computations_.size());
  for (size_t i = 0; i < computations_.size(); ++i) {
    if (!ReadComputation(i)) return false;
  }
  computation_ = {};
  instruction_name_ = {};
  auto entry = computation_by_id_.find(entry_id_);
  if (entry == computation_by_id_.end()) {
    return Fail(DiagId::kProtoBadId, bytes.data(),
                fmt::format("no computation has the id {} of the entry", entry_id_));
  }
  module_.set_entry(entry->second);
  if (!ReadHostProgramShape(host_shape_) || !ReadAliases(aliases_) || !ReadDonors(donors_) ||
      !ReadStackFrames(frames_) || !ReadRecoveryTable(recovery_)) {
    return false;
  }
  buffer_.Truncate(0);
  if (!text_.FrontendAttributes(frontend_, &buffer_)) return TextFailed();
  if (buffer_.size() > 2) config.frontend_attributes = std::string(buffer_.View(0));
  FindFusions();
  if (has_schedule_ && !ReadSchedule(schedule_)) return false;
  std::vector<CompId> order = ComputationPostOrder(module_);
  if (order.size() == module_.computation_order().size())
    module_.mutable_computation_order() = order;
  std::shared_ptr<ProtoExtras> extras = std::make_shared<ProtoExtras>();
  config.proto_extras = extras;
  bool in_order = true;
  for (uint32_t i = 0; i < order.size(); ++i) in_order &= order[i].value == i;
  if (!ids_are_dense_ || !in_order) {
    for (const ComputationParts& parts : parts_) extras->computation_ids.push_back(parts.id);
  }
  if (!locals_are_dense_) {
    for (const ComputationParts& parts : parts_) {
      for (uint32_t i = 0; i < parts.count; ++i) {
        extras->local_ids.push_back(
            static_cast<int32_t>(parts.locals.empty() ? i : parts.locals[i]));
      }
    }
  }
  KeepInstructionExtras();
  KeepComputationExtras();
  KeepModuleExtras(bytes);
  if (extras->empty()) config.proto_extras = nullptr;
  return true;
}

// ---- header ----

bool ModuleReader::ReadHostProgramShape(std::string_view bytes) {
  ComputationLayout layout;
  WireReader reader(bytes);
  WireField field;
  std::string result;
  bool has_result = false;
  while (reader.Next(&field)) {
    if (field.type != kBytesType) continue;
    if (field.number == 1) {
      ShapeId shape;
      if (!Shape(field.bytes, &shape)) return false;
      layout.parameters.push_back(shape);
    } else if (field.number == 2) {
      result += field.bytes;
      has_result = true;
    }
  }
  if (reader.problem().what != nullptr) return FailWire(reader.problem());
  if (!has_result) {
    return Fail(DiagId::kProtoMissingField, bytes.data(), "host_program_shape has no result");
  }
  ShapeReader shape_reader(&module_.shapes());
  layout.result = shape_reader.Read(result);
  if (!layout.result.valid()) {
    return Fail(DiagId::kProtoBadValue, bytes.data(),
                "host_program_shape: " + shape_reader.problem().what);
  }
  size_t parameters = module_.computation(module_.entry()).parameters.size();
  if (layout.parameters.size() != parameters) {
    return Fail(DiagId::kProtoBadValue, bytes.data(),
                fmt::format("host_program_shape has {} parameters, the entry computation {}",
                            layout.parameters.size(), parameters));
  }
  module_.config().entry_computation_layout = std::move(layout);
  module_.config().entry_computation_layout_given = true;
  return true;
}

bool ModuleReader::ReadAliases(std::string_view bytes) {
  WireReader reader(bytes);
  WireField entry;
  while (reader.Next(&entry)) {
    if (entry.number != 1 || entry.type != kBytesType) continue;
    InputOutputAlias alias;
    alias.kind = AliasKind::kMust;  // every kind but MAY_ALIAS, also when it is absent
    WireReader inner(entry.bytes);
    WireField field;
    while (inner.Next(&field)) {
      if (field.number == 1 && !Ints(field, &alias.output_index)) return false;
      if (field.number == 2 && field.type == kVarint) alias.parameter_number = AsInt64(field.value);
      if (field.number == 3 && !Ints(field, &alias.parameter_index)) return false;
      if (field.number == 4 && field.type == kVarint)
        alias.kind = field.value == 1 ? AliasKind::kMay : AliasKind::kMust;
    }
    if (inner.problem().what != nullptr) return FailWire(inner.problem());
    const ComputationLayout& layout = *module_.config().entry_computation_layout;
    const ShapePool& shapes = module_.shapes();
    bool ok = alias.parameter_number >= 0 &&
              static_cast<size_t>(alias.parameter_number) < layout.parameters.size() &&
              shapes.PreorderOf(layout.result, alias.output_index).has_value() &&
              shapes.PreorderOf(layout.parameters[alias.parameter_number], alias.parameter_index)
                  .has_value();
    if (!ok) {
      return Fail(
          DiagId::kProtoBadValue, entry.raw.data(),
          "an entry of input_output_alias names a parameter or tuple index that does not exist");
    }
    module_.config().input_output_alias.push_back(std::move(alias));
  }
  if (reader.problem().what != nullptr) return FailWire(reader.problem());
  std::vector<InputOutputAlias>& all = module_.config().input_output_alias;
  std::stable_sort(all.begin(), all.end(),
                   [](const InputOutputAlias& a, const InputOutputAlias& b) {
                     return a.output_index < b.output_index;  // pre-order
                   });
  for (size_t i = 1; i < all.size(); ++i) {
    if (all[i].output_index == all[i - 1].output_index) {
      return Fail(DiagId::kProtoBadValue, bytes.data(),
                  "two entries of input_output_alias have the same output index");
    }
  }
  return true;
}

bool ModuleReader::ReadDonors(std::string_view bytes) {
  WireReader reader(bytes);
  WireField entry;
  while (reader.Next(&entry)) {
    if (entry.number != 1 || entry.type != kBytesType) continue;
    BufferDonor donor;
    WireReader inner(entry.bytes);
    WireField field;
    while (inner.Next(&field)) {
      if (field.number == 1 && field.type == kVarint) donor.parameter_number = AsInt64(field.value);
      if (field.number == 2 && !Ints(field, &donor.parameter_index)) return false;
    }
    if (inner.problem().what != nullptr) return FailWire(inner.problem());
    module_.config().buffer_donors.push_back(std::move(donor));
  }
  if (reader.problem().what != nullptr) return FailWire(reader.problem());
  std::vector<BufferDonor>& all = module_.config().buffer_donors;
  std::stable_sort(all.begin(), all.end(), [](const BufferDonor& a, const BufferDonor& b) {
    return std::tie(a.parameter_number, a.parameter_index) <
           std::tie(b.parameter_number, b.parameter_index);
  });
  return true;
}

bool ModuleReader::ReadFileLocation(std::string_view bytes, FileLocation* out) {
  int32_t* const targets[] = {nullptr,      &out->file_name_id, &out->function_name_id, &out->line,
                              &out->column, &out->end_line,     &out->end_column};
  WireReader reader(bytes);
  WireField field;
  while (reader.Next(&field)) {
    if (field.number < std::size(targets) && field.type == kVarint)
      *targets[field.number] = AsInt32(field.value);
  }
  return reader.problem().what == nullptr || FailWire(reader.problem());
}

bool ModuleReader::ReadStackFrames(std::string_view bytes) {
  StackFrameIndex& index = module_.config().stack_frame_index;
  WireReader reader(bytes);
  WireField field;
  while (reader.Next(&field)) {
    if (field.type != kBytesType) continue;
    switch (field.number) {
      case 1:
        index.file_names.emplace_back(field.bytes);
        break;
      case 2:
        index.function_names.emplace_back(field.bytes);
        break;
      case 3:
        if (!ReadFileLocation(field.bytes, &index.file_locations.emplace_back())) return false;
        break;
      case 4: {
        StackFrame& frame = index.stack_frames.emplace_back();
        WireReader inner(field.bytes);
        WireField part;
        while (inner.Next(&part)) {
          if (part.number == 1 && part.type == kVarint)
            frame.file_location_id = AsInt32(part.value);
          if (part.number == 2 && part.type == kVarint) frame.parent_frame_id = AsInt32(part.value);
        }
        if (inner.problem().what != nullptr) return FailWire(inner.problem());
        break;
      }
      default:
        break;
    }
  }
  return reader.problem().what == nullptr || FailWire(reader.problem());
}

bool ModuleReader::ReadRecoveryTable(std::string_view bytes) {
  if (bytes.empty()) return true;
  buffer_.Truncate(0);
  WireReader reader(bytes);
  WireField entry;
  while (reader.Next(&entry)) {
    if (entry.number != 1 || entry.type != kBytesType) continue;
    std::string_view parts[3];
    bool present[3] = {};
    WireReader inner(entry.bytes);
    WireField field;
    while (inner.Next(&field)) {
      if (field.number > 3 || field.type != kBytesType) continue;
      parts[field.number - 1] = field.bytes;
      present[field.number - 1] = true;
    }
    if (inner.problem().what != nullptr) return FailWire(inner.problem());
    if (!RecoveryEntryText(parts, present, &text_, &buffer_)) return TextFailed();
  }
  if (reader.problem().what != nullptr) return FailWire(reader.problem());
  module_.config().origin_recovery_table = std::string(buffer_.View(0));
  return true;
}

// ---- computations ----

bool ModuleReader::ScanComputation(std::string_view bytes, ComputationParts* parts,
                                   std::vector<std::string_view>* instructions) {
  parts->bytes = bytes;
  WireReader reader(bytes);
  WireField field;
  while (reader.Next(&field)) {
    bool is_bytes = field.type == kBytesType;
    bool is_number = field.type == kVarint;
    if (field.number == 2 && is_bytes) {
      instructions->push_back(field.bytes);
    } else if (field.number == 1 && is_bytes) {
      parts->name = field.bytes;
    } else if (field.number == 5 && is_number) {
      parts->id = AsInt64(field.value);
    } else if (field.number == 6 && is_number) {
      parts->root_id = AsInt64(field.value);
    } else if (field.number == 7 && is_number) {
      parts->is_fusion = field.value != 0;
    } else if (field.number == 8 && is_bytes) {
      parts->thread = field.bytes;
    } else if (field.number != 4) {
      parts->unknown = true;
    }
  }
  return reader.problem().what == nullptr || FailWire(reader.problem());
}

/// Sorts instructions by local id (stored order) and fills the tables that resolve ids.
bool ModuleReader::OrderInstructions(ComputationParts* parts,
                                     std::vector<std::string_view>* instructions) {
  size_t count = instructions->size();
  std::vector<uint32_t> local(count);
  if (options_.renumber) parts->full_ids.resize(count);
  for (size_t i = 0; i < count; ++i) {
    WireReader reader((*instructions)[i]);
    WireField field;
    int64_t id = 0;
    while (reader.Next(&field)) {
      if (field.number == 35 && field.type == kVarint) id = AsInt64(field.value);
    }
    if (reader.problem().what != nullptr) return FailWire(reader.problem());
    if (id < 0 || (id & 0x80000000) != 0) {
      return Fail(DiagId::kProtoBadId, (*instructions)[i].data(),
                  fmt::format("an instruction has the id {}", id));
    }
    local[i] = static_cast<uint32_t>(id);
    if (options_.renumber) parts->full_ids[i] = id;
  }
  file_position_.resize(count);
  std::iota(file_position_.begin(), file_position_.end(), 0);
  if (!options_.renumber && !std::is_sorted(local.begin(), local.end())) {
    std::stable_sort(file_position_.begin(), file_position_.end(),
                     [&](uint32_t a, uint32_t b) { return local[a] < local[b]; });
    std::vector<std::string_view> sorted(count);
    for (size_t i = 0; i < count; ++i) sorted[i] = (*instructions)[file_position_[i]];
    *instructions = std::move(sorted);
  }
  std::vector<uint32_t> by_rank(count);
  for (size_t i = 0; i < count; ++i) by_rank[i] = local[file_position_[i]];
  parts->count = static_cast<uint32_t>(count);
  // Dense ids are looked up in a table, others by binary search, so that ids cannot ask for memory.
  uint32_t largest = count == 0 ? 0 : *std::max_element(local.begin(), local.end());
  rank_by_local_.clear();
  locals_.clear();
  bool dense = largest < 4 * count + 1024;
  if (dense) {
    rank_by_local_.assign(largest + size_t{1}, InstId::kNone);
    for (size_t i = 0; i < count; ++i) {
      uint32_t& slot = rank_by_local_[by_rank[i]];
      if (slot != InstId::kNone) {
        return Fail(DiagId::kProtoBadId, (*instructions)[i].data(),
                    fmt::format("two instructions have the local id {}", by_rank[i]));
      }
      slot = static_cast<uint32_t>(i);
    }
  } else {
    // With renumbering the ranks are file order; ids this sparse are then refused.
    if (options_.renumber && !std::is_sorted(by_rank.begin(), by_rank.end())) {
      return Fail(DiagId::kProtoBadId, parts->bytes.data(),
                  "the ids of the instructions are too far apart");
    }
    for (size_t i = 1; i < count; ++i) {
      if (by_rank[i] == by_rank[i - 1]) {
        return Fail(DiagId::kProtoBadId, (*instructions)[i].data(),
                    fmt::format("two instructions have the local id {}", by_rank[i]));
      }
    }
    locals_ = by_rank;
  }
  bool counted = true;
  for (size_t i = 0; i < count && counted; ++i) counted = by_rank[i] == i;
  if (!counted && !options_.renumber) {
    parts->locals = std::move(by_rank);
    locals_are_dense_ = false;
  }
  return true;
}

bool ModuleReader::ReadComputation(size_t index) {
  ComputationParts& parts = parts_[index];
  std::vector<std::string_view> instructions;
  computation_ = {};
  instruction_name_ = {};
  if (!ScanComputation(computations_[index], &parts, &instructions)) return false;
  const char* at = computations_[index].data();
  if (parts.name.empty()) return Fail(DiagId::kProtoMissingField, at, "a computation has no name");
  StrRef name =
      IsLegalName(parts.name) ? Ref(parts.name) : module_.text().Append(SanitisedName(parts.name));
  parts.unknown |= name.length != parts.name.size() || module_.str(name) != parts.name;
  computation_ = module_.AddComputation(name);
  std::string_view kept = module_.str(name);
  if (computation_names_.Find(kept) != nullptr) {
    return Fail(DiagId::kProtoDuplicateName, at,
                fmt::format("two computations have the name '{}'", kept));
  }
  computation_names_.Insert(kept, 0);
  if (parts.id < 0 || parts.id >= 0x7fffffff) {
    return Fail(DiagId::kProtoBadId, at, fmt::format("a computation has the id {}", parts.id));
  }
  if (computation_by_id_.count(parts.id) != 0) {
    return Fail(DiagId::kProtoBadId, at, fmt::format("two computations have the id {}", parts.id));
  }
  ids_are_dense_ &= parts.id == static_cast<int64_t>(index);
  if (instructions.empty())
    return Fail(DiagId::kProtoMissingField, at, "a computation has no instructions");
  if (!OrderInstructions(&parts, &instructions)) return false;
  first_inst_ = module_.instruction_count();
  parts.first_instruction = first_inst_;
  for (current_rank_ = 0; current_rank_ < instructions.size(); ++current_rank_) {
    if (!ReadInstruction(instructions[current_rank_], computation_)) return false;
  }
  instruction_name_ = {};
  if (!FinishComputation(index)) return false;
  computation_by_id_.emplace(parts.id, computation_);
  return true;
}

bool ModuleReader::FinishComputation(size_t index) {
  ComputationParts& parts = parts_[index];
  ComputationData& data = module_.computation(computation_);
  data.root = Resolve(parts.root_id);
  if (!data.root.valid()) {
    return Fail(DiagId::kProtoBadId, parts.bytes.data(),
                fmt::format("the root id {} names no instruction", parts.root_id));
  }
  if (!parts.thread.empty() && parts.thread != "main") data.execution_thread = Ref(parts.thread);
  for (InstId id : data.instructions) {
    if (module_.opcode(id) == Opcode::kParameter) data.parameters.push_back(id);
  }
  std::vector<InstId> by_number(data.parameters.size());
  for (InstId id : data.parameters) {
    int64_t number = module_.parameter_number(id);
    bool ok =
        number >= 0 && static_cast<size_t>(number) < by_number.size() && !by_number[number].valid();
    if (!ok) {
      return Fail(DiagId::kProtoBadValue, parts.bytes.data(),
                  fmt::format("parameter number {} of '{}' is taken or leaves a gap", number,
                              module_.name(id)),
                  "parameters are numbered 0, 1, 2, …");
    }
    by_number[number] = id;
  }
  data.parameters = std::move(by_number);
  return true;
}

// ---- schedule ----

void ModuleReader::FindFusions() {
  is_fusion_body_.assign(module_.computation_count(), 0);
  for (uint32_t i = 0; i < module_.instruction_count(); ++i) {
    if (module_.opcode(InstId(i)) != Opcode::kFusion) continue;
    for (CompId callee : module_.called_computations(InstId(i))) is_fusion_body_[callee.value] = 1;
  }
}

bool ModuleReader::ReadSchedule(std::string_view bytes) {
  module_.config().is_scheduled = true;
  std::vector<uint8_t> scheduled(module_.computation_count());
  WireReader reader(bytes);
  WireField entry;
  while (reader.Next(&entry)) {
    if (entry.number != 1 || entry.type != kBytesType) continue;
    int64_t key = 0;
    std::string value;
    WireReader inner(entry.bytes);
    WireField field;
    while (inner.Next(&field)) {
      if (field.number == 1 && field.type == kVarint) key = AsInt64(field.value);
      if (field.number == 2 && field.type == kBytesType) value += field.bytes;
    }
    if (inner.problem().what != nullptr) return FailWire(inner.problem());
    auto it = computation_by_id_.find(key);
    if (it == computation_by_id_.end()) continue;  // ignored, as the reference does
    const ComputationParts& parts = parts_[it->second.value];
    std::vector<int64_t> ids;
    WireReader sequence(value);
    while (sequence.Next(&field)) {
      if (field.number == 1 && !Ints(field, &ids)) return false;
    }
    if (sequence.problem().what != nullptr) {
      return Fail(DiagId::kProtoBadSchedule, entry.raw.data(),
                  "a sequence of the schedule is broken");
    }
    std::vector<InstId> order;
    std::unordered_map<int64_t, uint32_t> by_full_id;
    for (uint32_t i = 0; i < parts.full_ids.size(); ++i) by_full_id.emplace(parts.full_ids[i], i);
    for (int64_t id : ids) {
      uint32_t rank = static_cast<uint32_t>(id);
      if (options_.renumber) {
        auto found = by_full_id.find(id);
        rank = found == by_full_id.end() ? parts.count : found->second;
      } else if (!parts.locals.empty()) {
        auto found = std::lower_bound(parts.locals.begin(), parts.locals.end(), rank);
        bool known = found != parts.locals.end() && *found == rank;
        rank = known ? static_cast<uint32_t>(found - parts.locals.begin()) : parts.count;
      }
      if (rank >= parts.count) {
        return Fail(DiagId::kProtoBadSchedule, entry.raw.data(),
                    fmt::format("the schedule of '{}' names the id {}, which no instruction has",
                                parts.name, id));
      }
      order.push_back(InstId(parts.first_instruction + rank));
    }
    if (!CheckSequence(it->second, order)) return false;
    scheduled[it->second.value] = 1;
    module_.computation(it->second).instructions = std::move(order);
  }
  if (reader.problem().what != nullptr) return FailWire(reader.problem());
  for (uint32_t i = 0; i < scheduled.size(); ++i) {
    if (scheduled[i] || is_fusion_body_[i]) continue;
    return Fail(DiagId::kProtoBadSchedule, bytes.data(),
                fmt::format("the schedule has no sequence for '{}'", module_.name(CompId(i))));
  }
  return true;
}

/// Every instruction once, behind what it needs.
bool ModuleReader::CheckSequence(CompId computation, const std::vector<InstId>& order) {
  const ComputationParts& parts = parts_[computation.value];
  std::vector<uint8_t> done(parts.count);
  auto fail = [&](InstId id, std::string_view what) {
    return Fail(DiagId::kProtoBadSchedule, parts.bytes.data(),
                fmt::format("the schedule of '{}' {} '{}'", parts.name, what, module_.name(id)));
  };
  for (InstId id : order) {
    if (done[id.value - parts.first_instruction] != 0) return fail(id, "lists twice");
    for (InstId needed : module_.operands(id)) {
      if (done[needed.value - parts.first_instruction] == 0)
        return fail(id, "lists before its operands");
    }
    for (InstId needed : module_.control_predecessors(id)) {
      if (done[needed.value - parts.first_instruction] == 0)
        return fail(id, "lists before its control predecessors");
    }
    done[id.value - parts.first_instruction] = 1;
  }
  for (uint32_t i = 0; i < parts.count; ++i) {
    if (done[i] == 0) return fail(InstId(parts.first_instruction + i), "leaves out");
  }
  return true;
}

// ---- what the module has no place for ----

void ModuleReader::KeepInstructionExtras() {
  if (lossy_instructions_.empty()) return;
  ProtoExtras& extras = const_cast<ProtoExtras&>(*module_.config().proto_extras);
  ModuleWriter writer(module_);
  constexpr uint64_t kIds =
      uint64_t{1} << 35 | uint64_t{1} << 36 | uint64_t{1} << 37 | uint64_t{1} << 38;
  std::string fresh;
  for (const auto& [id, raw] : lossy_instructions_) {
    fresh.clear();
    writer.AppendInstruction(id, &fresh);
    ProtoExtraFields fields = CompareFields(raw, fresh, kIds);
    if (!fields.empty()) extras.instructions.emplace(id.value, std::move(fields));
  }
}

void ModuleReader::KeepComputationExtras() {
  ProtoExtras& extras = const_cast<ProtoExtras&>(*module_.config().proto_extras);
  for (uint32_t i = 0; i < parts_.size(); ++i) {
    const ComputationParts& parts = parts_[i];
    if (!parts.unknown && parts.is_fusion == (is_fusion_body_[i] != 0)) continue;
    ModuleWriter writer(module_);
    std::string fresh;
    writer.AppendComputationHeader(CompId(i), &fresh);
    // Instructions, derived shapes and ids are written anew.
    ProtoExtraFields fields = CompareFields(parts.bytes, fresh, 1 << 2 | 1 << 4 | 1 << 5 | 1 << 6);
    if (!fields.empty()) extras.computations.emplace(i, std::move(fields));
  }
}

void ModuleReader::KeepModuleExtras(std::string_view bytes) {
  ProtoExtras& extras = const_cast<ProtoExtras&>(*module_.config().proto_extras);
  ModuleWriter writer(module_);
  std::string fresh;
  writer.AppendModuleHeader(&fresh);
  extras.module = CompareFields(bytes, fresh, 1 << 2 | 1 << 3 | 1 << 6 | 1 << 7);
}

}  // namespace hlokit::proto
