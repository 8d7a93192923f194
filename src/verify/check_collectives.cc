// Do the groups of a collective fit the devices and the shapes? hlo-verifier.md section 3.
#include <algorithm>

#include "src/analysis/attribute_values.h"
#include "src/verify/checker.h"

namespace hlokit {
namespace {

bool IsAllReduce(Opcode opcode) {
  return opcode == Opcode::kAllReduce || opcode == Opcode::kAllReduceStart;
}

bool IsPermute(Opcode opcode) {
  return opcode == Opcode::kCollectivePermute || opcode == Opcode::kCollectivePermuteStart;
}

}  // namespace

void Checker::CheckCollective(InstId id) {
  Opcode opcode = module_.opcode(id);
  std::optional<GroupMode> mode = GroupModeOf(module_, id);
  if (!mode) {
    Report(id, DiagId::kChannelIdWrong, "use_global_device_ids needs a channel_id");
    return;
  }
  const Attr* channel = module_.FindAttr(id, AttrKind::kChannelId);
  if (IsAllReduce(opcode) && channel != nullptr && channel->integer() <= 0) {
    Report(id, DiagId::kChannelIdWrong, "channel_id must be positive, not {}", channel->integer());
  }
  if (IsPermute(opcode)) {
    CheckPermutePairs(id);
    return;
  }
  if (options_.check_replica_groups) CheckGroupNumbers(id);
  std::optional<ReplicaGroups> groups =
      DecodeReplicaGroups(module_.TextAttr(id, AttrKind::kReplicaGroups));
  if (groups) CheckShardCount(id, SubgroupSize(*groups, *mode, module_.config()));
}

void Checker::CheckGroupNumbers(InstId id) {
  GroupMode mode = *GroupModeOf(module_, id);
  std::optional<ReplicaGroups> groups =
      DecodeReplicaGroups(module_.TextAttr(id, AttrKind::kReplicaGroups));
  if (!groups) {
    Report(id, DiagId::kReplicaGroupsWrong,
           "the replica groups {} name devices twice or not at all",
           module_.TextAttr(id, AttrKind::kReplicaGroups));
    return;
  }
  if (groups->empty()) {
    if (mode == GroupMode::kFlattenedId) {
      Report(id, DiagId::kReplicaGroupsWrong, "use_global_device_ids needs replica groups");
    }
    return;
  }
  std::vector<uint8_t> seen(groups->is_list ? static_cast<size_t>(groups->total) : 0, 0);
  bool uniform = true;
  for (const std::vector<int64_t>& group : groups->lists) {
    if (group.empty()) {
      Report(id, DiagId::kReplicaGroupsWrong, "a replica group is empty");
      return;
    }
    uniform &= static_cast<int64_t>(group.size()) == groups->group_size;
    for (int64_t device : group) {
      if (device < 0 || device >= groups->total) {
        Report(id, DiagId::kReplicaGroupsWrong,
               "the {} members of the replica groups must be 0 to {}, not {}", groups->total,
               groups->total - 1, device);
        return;
      }
      if (seen[static_cast<size_t>(device)]++ != 0) {
        Report(id, DiagId::kReplicaGroupsWrong, "the replica groups name {} twice", device);
        return;
      }
    }
  }
  if (!uniform && !IsAllReduce(module_.opcode(id))) {
    Report(id, DiagId::kReplicaGroupsWrong, "the replica groups differ in size");
  }
  const ModuleConfig& config = module_.config();
  int64_t devices =
      mode == GroupMode::kCrossPartition ? config.num_partitions : config.replica_count;
  if (mode == GroupMode::kFlattenedId) {
    __extension__ __int128 product =
        static_cast<__int128>(config.replica_count) * config.num_partitions;
    devices = product > INT64_MAX ? INT64_MAX : static_cast<int64_t>(product);
  }
  if (devices != 1 && devices != groups->total) {
    Report(id, DiagId::kReplicaGroupsWrong,
           "the replica groups have {} members, but there are {} {}", groups->total, devices,
           mode == GroupMode::kCrossPartition ? "partitions"
           : mode == GroupMode::kFlattenedId  ? "devices"
                                              : "replicas");
  }
}

void Checker::CheckShardCount(InstId id, int64_t subgroup) {
  Opcode opcode = module_.opcode(id);
  if (module_.operand_count(id) == 0) return;
  ShapeId in = module_.shape(module_.operand(id, 0));
  if (!IsArray(in)) return;
  if (opcode == Opcode::kAllToAll && module_.dimensions(id).empty()) {
    if (static_cast<int64_t>(module_.operand_count(id)) != subgroup) {
      Report(id, DiagId::kShardCount, "there are {} operands, but groups of {}",
             module_.operand_count(id), subgroup);
    }
    return;
  }
  std::span<const int64_t> dims = module_.dimensions(id);
  if (dims.empty() || dims[0] < 0 || dims[0] >= shapes_.rank(in)) return;  // reported as V001
  size_t dimension = static_cast<size_t>(dims[0]);
  int64_t in_size = shapes_.sizes(in)[dimension];
  if (opcode == Opcode::kAllToAll) {
    if (in_size != kUnboundedSize && subgroup > 0 && in_size % subgroup != 0) {
      Report(id, DiagId::kShardCount, "dimension {} of {} cannot be cut into {} parts", dimension,
             Text(in), subgroup);
    }
    return;
  }
  bool gather = opcode == Opcode::kAllGather || opcode == Opcode::kAllGatherStart;
  if (!gather && opcode != Opcode::kReduceScatter) return;
  ShapeId out = module_.shape(id);
  if (opcode == Opcode::kAllGatherStart && shapes_.IsTuple(out) && shapes_.element_count(out) > 1) {
    out = shapes_.element(out, 1);
  }
  if (shapes_.IsTuple(out) && shapes_.element_count(out) > 0) out = shapes_.element(out, 0);
  if (!IsArray(out) || shapes_.rank(out) != shapes_.rank(in) || subgroup == 1) return;
  int64_t small = gather ? in_size : shapes_.sizes(out)[dimension];
  int64_t large = gather ? shapes_.sizes(out)[dimension] : in_size;
  if (small <= 0 || large <= 0) return;  // nothing can be counted
  int64_t shards = large / small + (large % small != 0 ? 1 : 0);
  if (shards != subgroup) {
    Report(id, DiagId::kShardCount, "{} and {} make {} shards, but the groups have {} members",
           Text(in), Text(out), shards, subgroup);
  }
}

void Checker::CheckPermutePairs(InstId id) {
  std::optional<std::vector<std::vector<int64_t>>> pairs =
      DecodeIntLists(module_.TextAttr(id, AttrKind::kSourceTargetPairs));
  if (!pairs) return;
  bool across_partitions = module_.HasAttr(id, AttrKind::kChannelId);
  int64_t limit =
      across_partitions ? module_.config().num_partitions : module_.config().replica_count;
  std::vector<int64_t> sides[2];
  for (const std::vector<int64_t>& pair : *pairs) {
    if (pair.size() != 2) {
      Report(id, DiagId::kSourceTargetPairsWrong, "a source-target pair has {} members",
             pair.size());
      return;
    }
    for (size_t side : {0, 1}) {
      if (pair[side] < 0 || (limit != 1 && pair[side] >= limit)) {
        Report(id, DiagId::kSourceTargetPairsWrong, "{} is not one of the {} {}", pair[side], limit,
               across_partitions ? "partitions" : "replicas");
        return;
      }
      sides[side].push_back(pair[side]);
    }
  }
  for (size_t side : {0, 1}) {
    std::ranges::sort(sides[side]);
    auto twice = std::ranges::adjacent_find(sides[side]);
    if (twice != sides[side].end()) {
      Report(id, DiagId::kSourceTargetPairsWrong, "{} is a {} twice", *twice,
             side == 0 ? "source" : "target");
    }
  }
}

void Checker::CheckAllReduceMix() {
  InstId constrained;
  InstId free;
  ForEach([&](InstId id) {
    if (!IsAllReduce(module_.opcode(id))) return;
    InstId& slot = module_.IntAttr(id, AttrKind::kConstrainLayout) != 0 ? constrained : free;
    if (!slot.valid()) slot = id;
  });
  if (constrained.valid() && free.valid()) {
    Report(free, DiagId::kAllReduceMix, "%{} constrains its layout, this all-reduce does not",
           Name(constrained));
    Help("give constrain_layout to all of them or to none");
  }
}

}  // namespace hlokit
