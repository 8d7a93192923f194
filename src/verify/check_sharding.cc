// Does a sharding fit its shape and the devices there are?
#include <algorithm>

#include "src/analysis/attribute_values.h"
#include "src/verify/checker.h"

namespace hlokit {

std::string Checker::ShardingProblem(ShapeId shape, std::string_view text,
                                     int64_t device_limit) const {
  using Kind = ShardingValue::Kind;
  std::optional<ShardingValue> value = DecodeSharding(text);
  if (!value) return "";  // the reader looks after the form
  if (value->kind == Kind::kMaximal) {
    if (value->device < 0 || value->device >= device_limit) {
      return fmt::format("device {} does not exist", value->device);
    }
    return "";
  }
  if (value->kind != Kind::kTiled) return "";
  size_t data_rank =
      value->tile.size() - std::min<size_t>(value->tile.size(), value->subgroup_dims);
  if (!IsArray(shape) || data_rank != shapes_.rank(shape)) {
    return fmt::format("it cuts {} dimensions, but {} has {}", data_rank, Text(shape),
                       shapes_.rank(shape));
  }
  int64_t count = value->DeviceCount();
  if (count < 2) return "it uses a single device; write maximal or replicated";
  if (value->iota_dims.empty()) {
    if (static_cast<int64_t>(value->devices.size()) != count) {
      return fmt::format("it lists {} devices for {} shards", value->devices.size(), count);
    }
    std::vector<int64_t> sorted = value->devices;
    std::ranges::sort(sorted);
    if (sorted.front() < 0 || sorted.back() >= device_limit) {
      return fmt::format("device {} does not exist",
                         sorted.front() < 0 ? sorted.front() : sorted.back());
    }
    auto twice = std::ranges::adjacent_find(sorted);
    if (twice != sorted.end()) return fmt::format("device {} occurs twice", *twice);
  } else if (count > device_limit) {
    return fmt::format("device {} does not exist", count - 1);
  }
  return "";
}

void Checker::CheckSharding(InstId id) {
  // Device numbers are known only when the module says how many partitions there are.
  int64_t partitions = module_.config().num_partitions;
  int64_t limit = options_.sharding_device_numbers && partitions > 1 ? partitions : INT64_MAX;
  ShapeId shape = module_.shape(id);
  bool is_tuple = false;
  std::vector<std::string_view> members =
      SplitSharding(module_.TextAttr(id, AttrKind::kSharding), &is_tuple);
  std::vector<ShapeId> leaves;
  for (ShapeId node : shapes_.Subshapes(shape)) {
    if (!shapes_.IsTuple(node)) leaves.push_back(node);
  }
  if (is_tuple != shapes_.IsTuple(shape)) {
    Report(id, DiagId::kShardingWrong, "the sharding is {}, but the shape is {}",
           is_tuple ? "a tuple" : "not a tuple", Text(shape));
    return;
  }
  if (is_tuple && members.size() != leaves.size() && !(leaves.empty() && members.size() == 1)) {
    Report(id, DiagId::kShardingWrong, "the sharding has {} members, but {} has {} leaves",
           members.size(), Text(shape), leaves.size());
    return;
  }
  for (size_t i = 0; i < std::min(members.size(), leaves.size()); ++i) {
    std::string problem = ShardingProblem(leaves[i], members[i], limit);
    if (problem.empty()) continue;
    Report(id, DiagId::kShardingWrong, "sharding {} is wrong: {}",
           ShardingWithoutMetadata(members[i]), problem);
    return;
  }
}

namespace {

/// The devices of a tiled sharding in row-major order of the tiles; nothing when there are too
/// many.
std::vector<int64_t> Devices(const ShardingValue& value) {
  constexpr int64_t kMost = 1 << 16;
  if (value.iota_dims.empty()) return value.devices;
  int64_t count = value.DeviceCount();
  if (count > kMost) return {};
  size_t rank = value.iota_dims.size();
  std::vector<int64_t> permutation = value.permutation;
  for (size_t i = permutation.size(); i < rank; ++i) permutation.push_back(static_cast<int64_t>(i));
  // Strides of the iota, then counted in the permuted order.
  std::vector<int64_t> strides(rank, 1);
  for (size_t i = rank; i-- > 1;) strides[i - 1] = strides[i] * value.iota_dims[i];
  std::vector<int64_t> out;
  std::vector<int64_t> index(rank, 0);
  for (int64_t n = 0; n < count; ++n) {
    int64_t device = 0;
    for (size_t i = 0; i < rank; ++i)
      device += index[i] * strides[static_cast<size_t>(permutation[i])];
    out.push_back(device);
    for (size_t i = rank; i-- > 0;) {
      if (++index[i] < value.iota_dims[static_cast<size_t>(permutation[i])]) break;
      index[i] = 0;
    }
  }
  return out;
}

}  // namespace

bool Checker::SameSharding(std::string_view a, std::string_view b) {
  if (a == b) return true;
  bool a_tuple = false;
  bool b_tuple = false;
  std::vector<std::string_view> left = SplitSharding(a, &a_tuple);
  std::vector<std::string_view> right = SplitSharding(b, &b_tuple);
  if (a_tuple != b_tuple || left.size() != right.size()) return false;
  for (size_t i = 0; i < left.size(); ++i) {
    if (left[i] == right[i]) continue;
    std::optional<ShardingValue> x = DecodeSharding(left[i]);
    std::optional<ShardingValue> y = DecodeSharding(right[i]);
    // Named shardings and what cannot be decoded compare as text.
    if (!x || !y || x->kind != y->kind || x->kind == ShardingValue::Kind::kNamed) return false;
    if (x->device != y->device || x->tile != y->tile || x->subgroup_dims != y->subgroup_dims)
      return false;
    if (Devices(*x) != Devices(*y)) return false;
  }
  return true;
}

}  // namespace hlokit
