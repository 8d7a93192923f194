// Which devices exchange data? A device is replica * partitions + partition.
#include "src/eval/device_groups.h"

#include <algorithm>
#include <numeric>

#include "hlokit/eval.h"
#include "src/analysis/attribute_values.h"
#include "src/eval/compact_groups.h"

namespace hlokit::eval {
namespace {

std::optional<std::vector<std::vector<int64_t>>> WrittenGroups(const Module& module, InstId id) {
  const std::string_view text = module.TextAttr(id, AttrKind::kReplicaGroups);
  if (text.empty()) return std::vector<std::vector<int64_t>>();
  std::optional<ReplicaGroups> groups = DecodeReplicaGroups(text);
  if (!groups) return std::nullopt;
  if (groups->is_list) return std::move(groups->lists);
  return ExpandCompactGroups(text);
}

bool TellsDevicesApart(Opcode opcode) {
  switch (opcode) {
    case Opcode::kAllGather:
    case Opcode::kAllGatherStart:
    case Opcode::kAllReduce:
    case Opcode::kAllReduceStart:
    case Opcode::kAllToAll:
    case Opcode::kCollectiveBroadcast:
    case Opcode::kCollectivePermute:
    case Opcode::kCollectivePermuteStart:
    case Opcode::kPartitionId:
    case Opcode::kRaggedAllToAll:
    case Opcode::kReduceScatter:
    case Opcode::kReplicaId:
      return true;
    default:
      return false;
  }
}

}  // namespace

int64_t PartitionCount(const Module& module, int64_t devices) {
  const int64_t partitions = module.config().num_partitions;
  return partitions > 0 && devices % partitions == 0 ? partitions : 1;
}

std::optional<std::vector<std::vector<int64_t>>> DeviceGroups(const Module& module, InstId id,
                                                              int64_t devices) {
  std::optional<std::vector<std::vector<int64_t>>> written = WrittenGroups(module, id);
  const std::optional<GroupMode> known_mode = GroupModeOf(module, id);
  if (!written || !known_mode) return std::nullopt;
  const int64_t partitions = PartitionCount(module, devices), replicas = devices / partitions;
  // With one partition a channel changes nothing: numbers are replicas.
  const GroupMode mode = partitions == 1 ? GroupMode::kCrossReplica : *known_mode;
  if (written->empty()) {
    const int64_t all = mode == GroupMode::kFlattenedId      ? devices
                        : mode == GroupMode::kCrossPartition ? partitions
                                                             : replicas;
    written->emplace_back(static_cast<size_t>(all));
    std::iota(written->back().begin(), written->back().end(), 0);
  }
  std::vector<std::vector<int64_t>> groups;
  for (const std::vector<int64_t>& members : *written) {
    switch (mode) {
      case GroupMode::kFlattenedId:
        groups.push_back(members);
        break;
      case GroupMode::kCrossReplica:
        for (int64_t partition = 0; partition < partitions; ++partition) {
          std::vector<int64_t>& group = groups.emplace_back();
          for (int64_t replica : members) group.push_back(replica * partitions + partition);
        }
        break;
      case GroupMode::kCrossPartition:
        for (int64_t replica = 0; replica < replicas; ++replica) {
          std::vector<int64_t>& group = groups.emplace_back();
          for (int64_t partition : members) group.push_back(replica * partitions + partition);
        }
        break;
      case GroupMode::kCrossReplicaAndPartition: {
        std::vector<int64_t>& group = groups.emplace_back();
        for (int64_t partition = 0; partition < partitions; ++partition) {
          for (int64_t replica : members) group.push_back(replica * partitions + partition);
        }
        break;
      }
    }
  }
  return groups;
}

}  // namespace hlokit::eval

namespace hlokit {

int64_t DeviceCount(const Module& module) {
  int64_t named = 0;
  bool apart = false;
  for (CompId computation : module.computation_order()) {
    for (InstId id : module.computation(computation).instructions) {
      if (!eval::TellsDevicesApart(module.opcode(id))) continue;
      apart = true;
      std::optional<std::vector<std::vector<int64_t>>> groups = eval::WrittenGroups(module, id);
      if (module.HasAttr(id, AttrKind::kSourceTargetPairs)) {
        groups = DecodeIntLists(module.TextAttr(id, AttrKind::kSourceTargetPairs));
      }
      if (!groups) continue;
      for (const std::vector<int64_t>& group : *groups) {
        for (int64_t member : group) named = std::max(named, member + 1);
      }
    }
  }
  if (!apart) return 1;
  const int64_t replicas = std::clamp<int64_t>(module.config().replica_count, 1, 1 << 16);
  const int64_t partitions = std::clamp<int64_t>(module.config().num_partitions, 1, 1 << 16);
  return std::min<int64_t>(std::max(replicas * partitions, partitions == 1 ? named : 1), 1 << 16);
}

}  // namespace hlokit
