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

namespace {

constexpr uint32_t kIdNumber = 35;

/// The id of an instruction, 0 when it has none. Only skips over everything else, since all
/// instructions are walked over once more later. False for bytes that need a closer look.
bool FindId(std::string_view bytes, int64_t* id) {
  const uint8_t* at = reinterpret_cast<const uint8_t*>(bytes.data());
  const uint8_t* end = at + bytes.size();
  auto varint = [&](uint64_t* value) {
    uint64_t out = 0;
    for (int shift = 0; shift < 63 && at != end; shift += 7) {
      uint8_t byte = *at++;
      out |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) {
        *value = out;
        return true;
      }
    }
    return false;
  };
  *id = 0;
  while (at != end) {
    uint64_t tag;
    uint64_t value;
    if (!varint(&tag)) return false;
    switch (tag & 7) {
      case kVarint:
        if (!varint(&value)) return false;
        if (tag == (kIdNumber << 3 | kVarint)) *id = AsInt64(value);
        break;
      case kBytesType:
        if (!varint(&value) || value > static_cast<uint64_t>(end - at)) return false;
        at += value;
        break;
      case kFixed32:
        if (end - at < 4) return false;
        at += 4;
        break;
      default:
        return false;
    }
  }
  return true;
}

}  // namespace

/// Sorts instructions by local id (stored order) and fills the tables that resolve ids.
bool ModuleReader::OrderInstructions(ComputationParts* parts,
                                     std::vector<std::string_view>* instructions) {
  size_t count = instructions->size();
  std::vector<uint32_t> local(count);
  if (options_.renumber) parts->full_ids.resize(count);
  for (size_t i = 0; i < count; ++i) {
    int64_t id = 0;
    if (!FindId((*instructions)[i], &id)) {
      // Something is wrong or unusual: the careful reader finds out.
      WireReader reader((*instructions)[i]);
      WireField field;
      while (reader.Next(&field)) {
        if (field.number == kIdNumber && field.type == kVarint) id = AsInt64(field.value);
      }
      if (reader.problem().what != nullptr) return FailWire(reader.problem());
    }
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
