// What does a sharding say? Only what a check of its form needs.
#include "src/analysis/attribute_values.h"
#include "src/analysis/text_scanner.h"

namespace hlokit {
namespace {

/// As many numbers as tiles, permuted by a permutation.
bool IsSoundIota(const ShardingValue& value) {
  int64_t count = 1;
  for (int64_t dim : value.iota_dims) {
    if (dim < 1) return false;
    count = SaturatingProduct(count, dim);
  }
  if (count != value.DeviceCount() || count == INT64_MAX) return false;
  std::vector<uint8_t> seen(value.iota_dims.size(), 0);
  for (int64_t d : value.permutation) {
    if (d < 0 || d >= static_cast<int64_t>(seen.size()) || seen[static_cast<size_t>(d)]++ != 0)
      return false;
  }
  return value.permutation.empty() || value.permutation.size() == seen.size();
}

/// [2,2]0,1,2,3 or [2,2]<=[2,2]T(1,0)
bool EatTiles(TextScanner& scan, ShardingValue* value) {
  if (!scan.Eat("[") || !scan.EatInts("]", &value->tile)) return false;
  if (scan.Eat("<=")) {
    if (!scan.Eat("[") || !scan.EatInts("]", &value->iota_dims)) return false;
    if (scan.Eat("T(") && !scan.EatInts(")", &value->permutation)) return false;
    return IsSoundIota(*value);
  }
  do {
    int64_t device;
    if (!scan.EatInt(&device)) return false;
    value->devices.push_back(device);
  } while (scan.Eat(","));
  return true;
}

/// last_tile_dims={manual, replicated}
bool EatSubgroups(TextScanner& scan, ShardingValue* value) {
  if (!scan.Eat("{")) return false;
  if (scan.Eat("}")) return true;
  do {
    if (!scan.Eat("maximal") && !scan.Eat("replicated") && !scan.Eat("manual") &&
        !scan.Eat("unreduced")) {
      return false;
    }
    ++value->subgroup_dims;
  } while (scan.Eat(","));
  return scan.Eat("}");
}

}  // namespace

int64_t ShardingValue::DeviceCount() const {
  int64_t count = 1;
  for (int64_t size : tile) count = SaturatingProduct(count, size < 0 ? 0 : size);
  return count;
}

std::optional<ShardingValue> DecodeSharding(std::string_view text) {
  using Kind = ShardingValue::Kind;
  ShardingValue value;
  TextScanner scan(text);
  if (!scan.Eat("{")) return std::nullopt;
  if (scan.Eat("mesh[") || scan.Eat("maximal_mesh[")) {
    value.kind = Kind::kNamed;
    return value;
  }
  int64_t ignored;
  while (!scan.Eat("}")) {
    // Longer words first: "replicated" does not start another word, "manual" neither.
    if (scan.Eat("replicated")) {
      value.kind = Kind::kReplicated;
    } else if (scan.Eat("maximal")) {
      value.kind = Kind::kMaximal;
    } else if (scan.Eat("manual")) {
      value.kind = Kind::kManual;
    } else if (scan.Eat("unknown")) {
      value.kind = Kind::kUnknown;
    } else if (scan.Eat("unreduced")) {
      value.kind = Kind::kUnreduced;
    } else if (scan.Eat("device=")) {
      if (!scan.EatInt(&value.device)) return std::nullopt;
    } else if (scan.Eat("devices=")) {
      value.kind = Kind::kTiled;
      if (!EatTiles(scan, &value)) return std::nullopt;
    } else if (scan.Eat("last_tile_dim_replicate")) {
      value.subgroup_dims = 1;
    } else if (scan.Eat("last_tile_dims=")) {
      if (!EatSubgroups(scan, &value)) return std::nullopt;
    } else if (scan.Eat("shard_as") || scan.Eat("shard_like")) {
      if (!scan.EatInt(&ignored)) return std::nullopt;
    } else if (scan.Eat("metadata=")) {
      if (!scan.Eat("{") || !scan.SkipToClosingBrace()) return std::nullopt;
    } else {
      return std::nullopt;
    }
  }
  return value;
}

std::vector<std::string_view> SplitSharding(std::string_view text, bool* is_tuple) {
  std::vector<std::string_view> members;
  TextScanner scan(text);
  *is_tuple = false;
  if (!scan.Eat("{")) return {text};
  if (scan.Eat("}")) {
    *is_tuple = true;
    return members;
  }
  while (scan.Eat("{")) {
    *is_tuple = true;
    const char* begin = scan.rest().data() - 1;
    if (!scan.SkipToClosingBrace()) break;
    members.emplace_back(begin, static_cast<size_t>(scan.rest().data() - begin));
    if (!scan.Eat(",")) break;
  }
  if (!*is_tuple) return {text};
  return members;
}

std::string_view ShardingWithoutMetadata(std::string_view text) {
  size_t at = text.find(" metadata=");
  return at == std::string_view::npos ? text : text.substr(0, at);
}

}  // namespace hlokit
