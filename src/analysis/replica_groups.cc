// Which devices does a collective connect?
#include <algorithm>

#include "src/analysis/attribute_values.h"
#include "src/analysis/text_scanner.h"

namespace hlokit {

std::optional<std::vector<std::vector<int64_t>>> DecodeIntLists(std::string_view text) {
  TextScanner scan(text);
  std::vector<std::vector<int64_t>> lists;
  if (!scan.Eat("{")) return std::nullopt;
  if (scan.Eat("}")) return lists;
  do {
    if (!scan.Eat("{") || !scan.EatInts("}", &lists.emplace_back())) return std::nullopt;
  } while (scan.Eat(","));
  if (!scan.Eat("}") || !scan.AtEnd()) return std::nullopt;
  return lists;
}

namespace {

std::optional<ReplicaGroups> DecodeList(std::string_view text) {
  std::optional<std::vector<std::vector<int64_t>>> lists = DecodeIntLists(text);
  if (!lists) return std::nullopt;
  ReplicaGroups groups;
  groups.lists = std::move(*lists);
  groups.group_count = static_cast<int64_t>(groups.lists.size());
  for (const std::vector<int64_t>& list : groups.lists)
    groups.total += static_cast<int64_t>(list.size());
  if (!groups.lists.empty()) groups.group_size = static_cast<int64_t>(groups.lists[0].size());
  return groups;
}

/// [groups,devices]<=[dims]T(permutation)
std::optional<ReplicaGroups> DecodeIota(std::string_view text) {
  TextScanner scan(text);
  std::vector<int64_t> shape;
  std::vector<int64_t> dims;
  std::vector<int64_t> permutation;
  if (!scan.Eat("[") || !scan.EatInts("]", &shape) || shape.size() != 2) return std::nullopt;
  if (!scan.Eat("<=") || !scan.Eat("[") || !scan.EatInts("]", &dims)) return std::nullopt;
  if (scan.Eat("T(") && !scan.EatInts(")", &permutation)) return std::nullopt;
  int64_t total = 1;
  for (int64_t dim : dims) {
    if (dim < 1) return std::nullopt;
    total = SaturatingProduct(total, dim);
  }
  if (shape[0] < 1 || shape[1] < 1 || SaturatingProduct(shape[0], shape[1]) != total)
    return std::nullopt;
  if (!permutation.empty()) {
    // Anything but a permutation would name devices twice.
    std::vector<int64_t> sorted = permutation;
    std::ranges::sort(sorted);
    if (sorted.size() != dims.size()) return std::nullopt;
    for (size_t i = 0; i < sorted.size(); ++i) {
      if (sorted[i] != static_cast<int64_t>(i)) return std::nullopt;
    }
  }
  ReplicaGroups groups;
  groups.is_list = false;
  groups.group_count = shape[0];
  groups.group_size = shape[1];
  groups.total = total;
  return groups;
}

/// mesh['x'=2,'y'=4], device_ids=(…) {'y'}
std::optional<ReplicaGroups> DecodeMesh(std::string_view text) {
  TextScanner scan(text);
  if (!scan.Eat("mesh[")) return std::nullopt;
  std::vector<std::pair<std::string_view, int64_t>> axes;
  ReplicaGroups groups;
  groups.is_list = false;
  groups.total = 1;
  groups.group_size = 1;
  do {
    std::string_view name;
    int64_t size;
    if (!scan.EatQuoted(&name) || !scan.Eat("=") || !scan.EatInt(&size) || size < 1)
      return std::nullopt;
    axes.emplace_back(name, size);
    groups.total = SaturatingProduct(groups.total, size);
  } while (scan.Eat(","));
  if (!scan.Eat("]")) return std::nullopt;
  size_t brace = scan.rest().find('{');
  if (brace == std::string_view::npos) return std::nullopt;
  scan = TextScanner(scan.rest().substr(brace + 1));
  do {
    std::string_view name;
    int64_t size = 0;
    int64_t before;
    if (!scan.EatQuoted(&name)) return std::nullopt;
    for (const auto& [axis, axis_size] : axes) {
      if (axis == name) size = axis_size;
    }
    if (scan.Eat(":(") && (!scan.EatInt(&before) || !scan.Eat(")") || !scan.EatInt(&size))) {
      return std::nullopt;
    }
    if (size < 1) return std::nullopt;
    groups.group_size = SaturatingProduct(groups.group_size, size);
  } while (scan.Eat(","));
  if (!scan.Eat("}") || groups.total % groups.group_size != 0) return std::nullopt;
  groups.group_count = groups.total / groups.group_size;
  return groups;
}

}  // namespace

std::optional<ReplicaGroups> DecodeReplicaGroups(std::string_view text) {
  if (text.empty()) return ReplicaGroups{};
  if (text[0] == '{') return DecodeList(text);
  return text[0] == '[' ? DecodeIota(text) : DecodeMesh(text);
}

std::optional<GroupMode> GroupModeOf(const Module& module, InstId id) {
  bool has_channel = module.HasAttr(id, AttrKind::kChannelId);
  bool global = module.IntAttr(id, AttrKind::kUseGlobalDeviceIds) != 0;
  switch (module.opcode(id)) {
    case Opcode::kAllGather:
    case Opcode::kAllGatherStart:
    case Opcode::kAllReduce:
    case Opcode::kAllReduceStart:
    case Opcode::kReduceScatter:
      if (!has_channel) return global ? std::nullopt : std::optional(GroupMode::kCrossReplica);
      return global ? GroupMode::kFlattenedId : GroupMode::kCrossReplicaAndPartition;
    default:
      return has_channel ? GroupMode::kCrossPartition : GroupMode::kCrossReplica;
  }
}

int64_t SubgroupSize(const ReplicaGroups& groups, GroupMode mode, const ModuleConfig& config) {
  switch (mode) {
    case GroupMode::kCrossReplica:
      return groups.empty() ? config.replica_count : groups.group_size;
    case GroupMode::kCrossReplicaAndPartition:
      return SaturatingProduct(groups.empty() ? config.replica_count : groups.group_size,
                               config.num_partitions);
    case GroupMode::kCrossPartition:
      return groups.empty() ? config.num_partitions : groups.group_size;
    case GroupMode::kFlattenedId:
      return groups.empty() ? SaturatingProduct(config.replica_count, config.num_partitions)
                            : groups.group_size;
  }
  return 1;
}

}  // namespace hlokit
