// What do the attributes mean that are kept as text? Decoded on demand, with linear effort.
#ifndef HLOKIT_SRC_ANALYSIS_ATTRIBUTE_VALUES_H_
#define HLOKIT_SRC_ANALYSIS_ATTRIBUTE_VALUES_H_

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "hlokit/module.h"

namespace hlokit {

/// dim_labels (hlo-text.md section 8.7): the dimension number of each role. Roles that do not occur
/// are -1; a spatial vector has one entry per spatial number.
struct ConvolutionDims {
  int64_t input_batch = -1, input_feature = -1;
  int64_t kernel_input = -1, kernel_output = -1;
  int64_t output_batch = -1, output_feature = -1;
  std::vector<int64_t> input_spatial, kernel_spatial, output_spatial;
};
/// Nothing when the text is no legal dim_labels value.
std::optional<ConvolutionDims> DecodeDimLabels(std::string_view text);

/// {{0,1},{2,3}}: source_target_pairs, slice_sizes. Nothing when malformed.
std::optional<std::vector<std::vector<int64_t>>> DecodeIntLists(std::string_view text);

/// replica_groups (hlo-text.md section 8.11) without listing the members of the compact forms.
struct ReplicaGroups {
  /// The list form; empty for the compact forms.
  std::vector<std::vector<int64_t>> lists;
  bool is_list = true;
  int64_t group_count = 0;
  int64_t group_size = 0;  ///< members of the first group
  int64_t total = 0;       ///< members of all groups
  bool empty() const { return group_count == 0; }
};
std::optional<ReplicaGroups> DecodeReplicaGroups(std::string_view text);

/// How the numbers in replica groups count (hlo-verifier.md section 3).
enum class GroupMode : uint8_t {
  kCrossReplica,
  kCrossPartition,
  kCrossReplicaAndPartition,
  kFlattenedId
};
/// Nothing when use_global_device_ids is set without a channel.
std::optional<GroupMode> GroupModeOf(const Module& module, InstId id);
/// Devices that exchange data with each other.
int64_t SubgroupSize(const ReplicaGroups& groups, GroupMode mode, const ModuleConfig& config);

/// One sharding without braces of a tuple (hlo-text.md section 8.12).
struct ShardingValue {
  enum class Kind : uint8_t {
    kReplicated,
    kMaximal,
    kManual,
    kUnknown,
    kUnreduced,
    kTiled,
    kNamed
  };
  Kind kind = Kind::kReplicated;
  int64_t device = -1;               ///< of kMaximal
  std::vector<int64_t> tile;         ///< of kTiled: shards per dimension, subgroups last
  uint32_t subgroup_dims = 0;        ///< entries of `tile` that stand for no dimension of the array
  std::vector<int64_t> devices;      ///< of kTiled in list form
  std::vector<int64_t> iota_dims;    ///< of kTiled in compact form
  std::vector<int64_t> permutation;  ///< of kTiled in compact form; may be empty
  int64_t DeviceCount() const;       ///< product of `tile`, saturated
};
std::optional<ShardingValue> DecodeSharding(std::string_view text);
/// The members of "{{…}, {…}}"; a single sharding gives one member, with *is_tuple false.
std::vector<std::string_view> SplitSharding(std::string_view text, bool* is_tuple);
/// The text without a metadata={…} part.
std::string_view ShardingWithoutMetadata(std::string_view text);

}  // namespace hlokit

#endif  // HLOKIT_SRC_ANALYSIS_ATTRIBUTE_VALUES_H_
