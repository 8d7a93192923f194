// What is the text of a sharding, given its message? (hlo-text.md section 8.12, hlo-proto.md
// section 8)
#include <fmt/format.h>

#include <algorithm>

#include "attribute_text.h"
#include "shape_wire.h"
#include "src/print/value_text.h"

namespace hlokit::proto {
namespace {

enum ShardingType : uint64_t {
  kReplicated = 0,
  kMaximal = 1,
  kTuple = 2,
  kOther = 3,
  kManual = 4,
  kUnknown = 5,
  kUnreduced = 6,
};
constexpr std::string_view kTypeNames[] = {"replicated", "maximal", "",         "",
                                           "manual",     "unknown", "unreduced"};

/// Product of sizes, or -1 when one is below 1 or the product too large.
int64_t Product(const std::vector<int64_t>& sizes) {
  int64_t product = 1;
  for (int64_t size : sizes) {
    if (size < 1 || __builtin_mul_overflow(product, size, &product)) return -1;
  }
  return product;
}

}  // namespace

struct AttributeText::Mesh {
  struct Axis {
    std::string_view name;
    int64_t size = 0;
  };
  std::vector<Axis> axes;
  std::vector<int64_t> device_ids;
  bool has_iota = false;
  std::vector<int64_t> reshape;
  std::vector<int64_t> perm;
};

struct AttributeText::Tile {
  uint64_t type = kReplicated;
  std::vector<int64_t> dims;
  std::vector<int64_t> devices;
  std::vector<int64_t> reshape;
  std::vector<int64_t> perm;
  bool replicate_last = false;
  std::vector<int64_t> last_types;
  bool is_group = false;
  int64_t group_id = 0;
  int64_t group_type = 0;
  std::vector<std::string_view> members;
  std::vector<std::string_view> metadata;
  std::string_view named;
  bool has_named = false;
};

bool AttributeText::ReadTile(std::string_view bytes, Tile* tile) {
  WireReader reader(bytes);
  WireField field;
  while (reader.Next(&field)) {
    bool number = field.type == kVarint;
    bool message = field.type == kBytesType;
    std::vector<int64_t>* list = nullptr;
    switch (field.number) {
      case 1:
        if (number) tile->type = field.value;
        break;
      case 3:
        list = &tile->dims;
        break;
      case 4:
        list = &tile->devices;
        break;
      case 5:
        if (message) tile->members.push_back(field.bytes);
        break;
      case 6:
        if (number) tile->replicate_last = field.value != 0;
        break;
      case 7:
        if (message) tile->metadata.push_back(field.bytes);
        break;
      case 8:
        list = &tile->last_types;
        break;
      case 9:
        list = &tile->reshape;
        break;
      case 10:
        list = &tile->perm;
        break;
      case 11:
        if (number) tile->is_group = field.value != 0;
        break;
      case 12:
        if (number) tile->group_id = AsInt64(field.value);
        break;
      case 13:
        if (number) tile->group_type = AsInt64(field.value);
        break;
      case 14:
        if (message) {
          tile->named = field.bytes;
          tile->has_named = true;
        }
        break;
      default:
        break;
    }
    if (list != nullptr && !Ints(field, list)) return false;
  }
  return Done(reader);
}

bool AttributeText::CheckTile(const Tile& tile, const char* at) {
  if (tile.type == kMaximal) {
    if (tile.devices.size() != 1) return Fail(at, "a maximal sharding names one device");
    return true;
  }
  if (tile.type != kOther) return true;
  int64_t count = Product(tile.dims);
  if (tile.dims.empty() || count < 1)
    return Fail(at, "a tile sharding has tile counts below 1, or none");
  if (tile.reshape.empty()) {
    if (static_cast<int64_t>(tile.devices.size()) != count) {
      return Fail(at, fmt::format("a tile sharding has {} tiles and {} devices", count,
                                  tile.devices.size()));
    }
  } else if (!tile.devices.empty() || Product(tile.reshape) != count) {
    return Fail(at, "the iota list of a tile sharding does not have one device per tile");
  }
  if (tile.replicate_last && !tile.last_types.empty()) {
    return Fail(at, "a tile sharding has two kinds of sub-group dimensions");
  }
  if (tile.last_types.size() > tile.dims.size()) {
    return Fail(at, "a tile sharding has more sub-groups than dimensions");
  }
  return true;
}

void AttributeText::AppendTile(const Tile& tile, TextBuffer* out) {
  out->Append("devices=[");
  AppendIntList(tile.dims, out);
  out->Append(']');
  if (tile.reshape.empty()) {
    AppendIntList(tile.devices, out);
  } else {
    out->Append("<=[");
    AppendIntList(tile.reshape, out);
    out->Append(']');
    if (tile.reshape.size() > 1) {
      out->Append("T(");
      AppendIntList(tile.perm, out);
      out->Append(')');
    }
  }
  if (tile.replicate_last) out->Append(" last_tile_dim_replicate");
  if (tile.last_types.empty()) return;
  out->Append(" last_tile_dims={");
  for (size_t i = 0; i < tile.last_types.size(); ++i) {
    if (i != 0) out->Append(", ");
    uint64_t type = static_cast<uint64_t>(tile.last_types[i]);
    out->Append(type < std::size(kTypeNames) ? kTypeNames[type] : "");
  }
  out->Append('}');
}

bool AttributeText::AppendMetadataList(const std::vector<std::string_view>& metadata,
                                       TextBuffer* out) {
  if (metadata.empty()) return true;
  out->Append(metadata.size() == 1 ? " metadata=" : " metadata={");
  for (size_t i = 0; i < metadata.size(); ++i) {
    if (i != 0) out->Append(", ");
    bool shown;
    if (!Metadata(metadata[i], out, &shown)) return false;
    if (!shown) out->Append("{}");
  }
  if (metadata.size() > 1) out->Append('}');
  return true;
}

bool AttributeText::Sharding(std::string_view bytes, TextBuffer* out) {
  return SingleSharding(bytes, 0, out);
}

bool AttributeText::SingleSharding(std::string_view bytes, int depth, TextBuffer* out) {
  Tile tile;
  if (!ReadTile(bytes, &tile)) return false;
  if (tile.has_named) return NamedSharding(tile.named, out);
  if (tile.type == kTuple) {
    if (depth > 0) return Fail(bytes.data(), "a tuple sharding is a member of another one");
    out->Append('{');
    for (size_t i = 0; i < tile.members.size(); ++i) {
      if (i != 0) out->Append(i % 5 == 0 ? fmt::format(", /*index={}*/", i) : ", ");
      if (!SingleSharding(tile.members[i], depth + 1, out)) return false;
    }
    out->Append('}');
    return true;
  }
  if (tile.type > kUnreduced)
    return Fail(bytes.data(), fmt::format("a sharding has the unknown type {}", tile.type));
  if (!CheckTile(tile, bytes.data())) return false;
  for (int64_t type : tile.last_types) {
    if (type != kReplicated && type != kMaximal && type != kManual && type != kUnreduced) {
      return Fail(bytes.data(),
                  fmt::format("a sub-group of a sharding has the unknown type {}", type));
    }
  }
  out->Append('{');
  if (tile.type == kOther && Product(tile.dims) == 1) {
    out->Append("replicated");  // one device holds everything
  } else if (tile.type == kOther) {
    if (!tile.reshape.empty() && !CanonicalIota(&tile.reshape, &tile.perm)) {
      return Fail(bytes.data(), "the dimensions of an iota device list and their order do not fit");
    }
    AppendTile(tile, out);
  } else if (tile.type == kMaximal) {
    out->Append("maximal device=");
    out->AppendInteger(tile.devices[0]);
  } else {
    out->Append(kTypeNames[tile.type]);
  }
  if (tile.is_group) {
    out->Append(tile.group_type == 0 ? " shard_as " : " shard_like ");
    out->AppendInteger(tile.group_id);
  }
  if (!AppendMetadataList(tile.metadata, out)) return false;
  out->Append('}');
  return true;
}

// ---- meshes ----

bool AttributeText::ReadMesh(std::string_view bytes, Mesh* mesh) {
  WireReader reader(bytes);
  WireField field;
  while (reader.Next(&field)) {
    if (field.number == 1 && field.type == kBytesType) {
      Mesh::Axis& axis = mesh->axes.emplace_back();
      WireReader inner(field.bytes);
      WireField part;
      while (inner.Next(&part)) {
        if (part.number == 1 && part.type == kBytesType) axis.name = part.bytes;
        if (part.number == 2 && part.type == kVarint) axis.size = AsInt64(part.value);
      }
      if (!Done(inner)) return false;
      if (axis.size < 1) return Fail(field.raw.data(), "an axis of a mesh has a size below 1");
    } else if (field.number == 2) {
      if (!Ints(field, &mesh->device_ids)) return false;
    } else if (field.number == 3 && field.type == kBytesType) {
      mesh->has_iota = true;
      WireReader inner(field.bytes);
      WireField part;
      while (inner.Next(&part)) {
        if (part.number == 1 && !Ints(part, &mesh->reshape)) return false;
        if (part.number == 2 && !Ints(part, &mesh->perm)) return false;
      }
      if (!Done(inner)) return false;
    }
  }
  return Done(reader);
}

bool AttributeText::AppendMesh(const Mesh& mesh, TextBuffer* out) {
  if (mesh.axes.empty() && mesh.device_ids.size() == 1) {
    out->Append("maximal_mesh[device_id=");
    out->AppendInteger(mesh.device_ids[0]);
    out->Append(']');
    return true;
  }
  out->Append("mesh[");
  for (size_t i = 0; i < mesh.axes.size(); ++i) {
    if (i != 0) out->Append(',');
    out->Append('\'');
    out->Append(mesh.axes[i].name);
    out->Append("'=");
    out->AppendInteger(mesh.axes[i].size);
  }
  out->Append(']');
  if (!mesh.device_ids.empty()) {
    out->Append(", device_ids=(");
    AppendIntList(mesh.device_ids, out);
    out->Append(')');
  } else if (mesh.has_iota) {
    out->Append(", device_ids=([");
    AppendIntList(mesh.reshape, out);
    out->Append(']');
    if (mesh.perm.size() > 1) {
      out->Append("T(");
      AppendIntList(mesh.perm, out);
      out->Append(')');
    }
    out->Append(')');
  }
  return true;
}

bool AttributeText::AppendAxis(const Mesh& mesh, std::string_view bytes, TextBuffer* out) {
  uint64_t index = 0;
  bool has_part = false;
  int64_t before = 0;
  int64_t size = 0;
  WireReader reader(bytes);
  WireField field;
  while (reader.Next(&field)) {
    if (field.number == 1 && field.type == kVarint) index = field.value;
    if (field.number != 2 || field.type != kBytesType) continue;
    has_part = true;
    WireReader inner(field.bytes);
    WireField part;
    while (inner.Next(&part)) {
      if (part.number == 1 && part.type == kVarint) before = AsInt64(part.value);
      if (part.number == 2 && part.type == kVarint) size = AsInt64(part.value);
    }
    if (!Done(inner)) return false;
  }
  if (!Done(reader)) return false;
  if (index >= mesh.axes.size())
    return Fail(bytes.data(), fmt::format("axis {} is not in its mesh", index));
  out->Append('\'');
  out->Append(mesh.axes[index].name);
  out->Append('\'');
  if (has_part) {
    out->Append(":(");
    out->AppendInteger(before);
    out->Append(')');
    out->AppendInteger(size);
  }
  return true;
}

bool AttributeText::AppendAxes(const Mesh& mesh, const std::vector<std::string_view>& axes,
                               TextBuffer* out) {
  out->Append('{');
  for (size_t i = 0; i < axes.size(); ++i) {
    if (i != 0) out->Append(',');
    if (!AppendAxis(mesh, axes[i], out)) return false;
  }
  out->Append('}');
  return true;
}

bool AttributeText::AppendDimension(const Mesh& mesh, std::string_view bytes, TextBuffer* out) {
  bool closed = false;
  bool first = true;
  out->Append('{');
  WireReader reader(bytes);
  WireField field;
  while (reader.Next(&field)) {
    if (field.number == 2 && field.type == kVarint) closed = field.value != 0;
    if (field.number != 1 || field.type != kBytesType) continue;
    if (!first) out->Append(", ");
    first = false;
    if (!AppendAxis(mesh, field.bytes, out)) return false;
  }
  if (!Done(reader)) return false;
  if (!closed) out->Append(first ? "?" : ", ?");
  out->Append('}');
  return true;
}

bool AttributeText::NamedSharding(std::string_view bytes, TextBuffer* out) {
  Mesh mesh;
  std::vector<std::string_view> dimensions;
  std::vector<std::string_view> replicated;
  std::vector<std::string_view> unreduced;
  std::vector<std::string_view> manual;
  std::vector<std::string_view> metadata;
  WireReader reader(bytes);
  WireField field;
  while (reader.Next(&field)) {
    if (field.type != kBytesType) continue;
    if (field.number == 2 && !ReadMesh(field.bytes, &mesh)) return false;
    if (field.number == 3) dimensions.push_back(field.bytes);
    if (field.number == 4) replicated.push_back(field.bytes);
    if (field.number == 5) unreduced.push_back(field.bytes);
    if (field.number == 6) metadata.push_back(field.bytes);
    if (field.number == 7) manual.push_back(field.bytes);
  }
  if (!Done(reader)) return false;
  out->Append('{');
  if (!AppendMesh(mesh, out)) return false;
  if (!(mesh.axes.empty() && mesh.device_ids.size() == 1)) {
    out->Append(", [");
    for (size_t i = 0; i < dimensions.size(); ++i) {
      if (i != 0) out->Append(", ");
      if (!AppendDimension(mesh, dimensions[i], out)) return false;
    }
    out->Append(']');
    const std::pair<std::string_view, const std::vector<std::string_view>*> lists[] = {
        {", replicated=", &replicated}, {", unreduced=", &unreduced}, {", manual=", &manual}};
    for (const auto& [name, axes] : lists) {
      if (axes->empty()) continue;
      out->Append(name);
      if (!AppendAxes(mesh, *axes, out)) return false;
    }
  }
  if (!metadata.empty()) {
    out->Append(',');
    if (!AppendMetadataList(metadata, out)) return false;
  }
  out->Append('}');
  return true;
}

bool AttributeText::MeshGroups(std::string_view bytes, TextBuffer* out) {
  Mesh mesh;
  std::vector<std::string_view> axes;
  WireReader reader(bytes);
  WireField field;
  while (reader.Next(&field)) {
    if (field.type != kBytesType) continue;
    if (field.number == 1 && !ReadMesh(field.bytes, &mesh)) return false;
    if (field.number == 2) axes.push_back(field.bytes);
  }
  if (!Done(reader) || !AppendMesh(mesh, out)) return false;
  out->Append(' ');
  return AppendAxes(mesh, axes, out);
}

}  // namespace hlokit::proto
