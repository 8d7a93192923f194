// Can the module run in its schedule? hlo-verifier.md sections 2 (item 9) and 5.6.
#include <algorithm>
#include <map>

#include "hlokit/attribute_text.h"
#include "src/analysis/attribute_values.h"
#include "src/verify/checker.h"

namespace hlokit {

/// The instruction list of a computation is its schedule.
void Checker::CheckSchedule() {
  if (!module_.config().is_scheduled) return;
  std::vector<uint8_t> done(module_.instruction_count(), 0);
  for (CompId comp : module_.computation_order()) {
    if (module_.computation(comp).dead || callers_[comp.value].fusion.valid()) continue;
    for (InstId id : module_.computation(comp).instructions) {
      if (module_.IsDead(id)) continue;
      InstId late;
      for (InstId operand : module_.operands(id)) {
        if (done[operand.value] == 0) late = operand;
      }
      for (InstId before : module_.control_predecessors(id)) {
        if (done[before.value] == 0) late = before;
      }
      if (late.valid()) {
        Report(id, DiagId::kScheduleOrder, "it is scheduled before %{}, which it needs",
               Name(late));
      }
      done[id.value] = 1;
    }
  }
}

namespace {

using Pairs = std::vector<std::vector<int64_t>>;

bool IsBlockingCollective(Opcode opcode) {
  switch (opcode) {
    case Opcode::kAllGather:
    case Opcode::kAllGatherStart:
    case Opcode::kAllReduce:
    case Opcode::kAllReduceStart:
    case Opcode::kAllToAll:
    case Opcode::kCollectiveBroadcast:
    case Opcode::kCollectivePermute:
    case Opcode::kCollectivePermuteStart:
    case Opcode::kRaggedAllToAll:
    case Opcode::kReduceScatter:
      return true;
    default:
      return false;
  }
}

/// One device is source or target twice, or the pairs lead around in a circle.
bool Conflict(const Pairs& a, const Pairs& b) {
  std::map<int64_t, int64_t> next;
  std::map<int64_t, int> targets;
  for (const Pairs* pairs : {&a, &b}) {
    for (const std::vector<int64_t>& pair : *pairs) {
      if (pair.size() != 2) continue;
      if (!next.try_emplace(pair[0], pair[1]).second || targets[pair[1]]++ > 0) return true;
    }
  }
  // Sources and targets are unique, so a circle shows as a walk that comes back.
  std::map<int64_t, int64_t> seen;  // device -> start of the walk
  for (const auto& [start, first] : next) {
    int64_t at = start;
    while (next.contains(at) && !seen.contains(at)) {
      seen[at] = start;
      at = next[at];
    }
    auto known = seen.find(at);
    if (known != seen.end() && known->second == start) return true;
  }
  return false;
}

}  // namespace

void Checker::CheckDeadlocks() {
  if (!module_.config().is_scheduled) return;
  for (CompId comp : module_.computation_order()) {
    if (module_.computation(comp).dead || callers_[comp.value].fusion.valid()) continue;
    // A send waits for a recv and the other way round; in between nothing may block.
    InstId pending;
    Pairs pending_pairs;
    for (InstId id : module_.computation(comp).instructions) {
      if (module_.IsDead(id)) continue;
      Opcode opcode = module_.opcode(id);
      if (pending.valid() && IsBlockingCollective(opcode)) {
        Report(id, DiagId::kDeadlock, "a collective stands between %{} and its partner",
               Name(pending));
        return;
      }
      if (opcode != Opcode::kSend && opcode != Opcode::kRecv) continue;
      if (module_.IntAttr(id, AttrKind::kIsHostTransfer) != 0) continue;
      TextFields fields =
          ParseFrontendAttributes(module_.TextAttr(id, AttrKind::kFrontendAttributes));
      if (FindField(fields, "_xla_send_recv_pipeline") != nullptr) continue;
      const std::string* text = FindField(fields, "_xla_send_recv_source_target_pairs");
      Pairs pairs = text == nullptr ? Pairs{} : DecodeIntLists(*text).value_or(Pairs{});
      if (!pending.valid()) {
        pending = id;
        pending_pairs = std::move(pairs);
      } else if (module_.opcode(pending) != opcode) {
        pending = {};
      } else if (Conflict(pending_pairs, pairs)) {
        Report(id, DiagId::kDeadlock,
               "it follows %{} with conflicting or cyclic source-target pairs", Name(pending));
        return;
      }
    }
    if (pending.valid()) Report(pending, DiagId::kDeadlock, "its partner never comes");
  }
}

void Checker::CheckNamesUnchanged() {
  ForEach([&](InstId id) {
    std::string_view metadata = module_.TextAttr(id, AttrKind::kMetadata);
    if (metadata.find("scheduling_name") == std::string_view::npos) return;
    TextFields fields = ParseMetadata(metadata);
    const std::string* wanted = FindField(fields, "scheduling_name");
    if (wanted == nullptr || wanted->empty()) return;
    std::string_view name = Name(id);
    if (name == *wanted) return;
    if (name.starts_with(*wanted)) {
      std::string_view suffix = name.substr(wanted->size());
      if (suffix.starts_with(".remat") || suffix.starts_with(".clone")) return;
    }
    Report(id, DiagId::kNameChanged, "its metadata recorded the name {}", *wanted);
  });
}

}  // namespace hlokit
