// In which order are the instructions of each computation executed, and is that order possible?
// (hlo-proto.md sections 3 and 4)
#include <fmt/format.h>

#include <algorithm>

#include "module_reader.h"

namespace hlokit::proto {

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

}  // namespace hlokit::proto
