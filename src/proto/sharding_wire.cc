// Which message belongs to the text of a sharding? (hlo-text.md section 8.12, hlo-proto.md section
// 8)
#include <algorithm>

#include "text_to_wire.h"

namespace hlokit::proto {
namespace {

struct TypeName {
  std::string_view name;
  int64_t number;
};
constexpr TypeName kSimpleTypes[] = {
    {"replicated", 0}, {"manual", 4}, {"unknown", 5}, {"unreduced", 6}};
constexpr TypeName kSubTypes[] = {
    {"replicated", 0}, {"maximal", 1}, {"manual", 4}, {"unreduced", 6}};

/// "metadata={…}" or "metadata={{…}, {…}}" as fields with this number.
bool AppendMetadataList(TextCursor* cursor, uint32_t number, WireWriter* w) {
  std::string_view value;
  if (!cursor->Braces(&value)) return false;
  std::vector<std::string_view> records;
  if (value.starts_with("{{")) {
    TextCursor inner(value.substr(1));
    while (!inner.Eat("}")) {
      inner.Eat(",");
      inner.SkipBlanks();
      if (!inner.Braces(&records.emplace_back())) return false;
    }
  } else {
    records.push_back(value);
  }
  for (std::string_view record : records) {
    size_t begin = w->Open(number);
    if (!AppendMetadataProto(record, &w->out())) return false;
    w->Close(begin);
  }
  return true;
}

bool AppendTile(TextCursor* cursor, WireWriter* w) {
  int64_t type = -1;
  std::vector<int64_t> dims;
  std::vector<int64_t> devices;
  std::vector<int64_t> reshape;
  std::vector<int64_t> perm;
  std::vector<int64_t> last_types;
  bool replicate_last = false;
  bool is_group = false;
  int64_t group_id = 0;
  int64_t group_type = 0;
  std::string metadata;
  WireWriter metadata_writer(&metadata);
  while (!cursor->Eat("}")) {
    cursor->SkipBlanks();
    if (cursor->Eat("devices=[")) {
      type = 3;
      if (!cursor->Ints(&dims) || !cursor->Eat("]")) return false;
      if (cursor->Eat("<=[")) {
        if (!cursor->Ints(&reshape) || !cursor->Eat("]")) return false;
        if (cursor->Eat("T(")) {
          if (!cursor->Ints(&perm) || !cursor->Eat(")")) return false;
        } else {
          perm = {0};
        }
      } else if (!cursor->Ints(&devices)) {
        return false;
      }
    } else if (cursor->Eat("maximal")) {
      type = 1;
      devices.resize(1);
      cursor->SkipBlanks();
      if (!cursor->Eat("device=") || !cursor->Int(&devices[0])) return false;
    } else if (cursor->Eat("last_tile_dim_replicate")) {
      replicate_last = true;
    } else if (cursor->Eat("last_tile_dims={")) {
      while (!cursor->Eat("}")) {
        cursor->Eat(",");
        cursor->SkipBlanks();
        const TypeName* sub = std::find_if(std::begin(kSubTypes), std::end(kSubTypes),
                                           [&](const TypeName& t) { return cursor->Eat(t.name); });
        if (sub == std::end(kSubTypes)) return false;
        last_types.push_back(sub->number);
      }
    } else if (cursor->Eat("shard_as ") || cursor->Rest().starts_with("shard_like ")) {
      is_group = true;
      group_type = cursor->Eat("shard_like ") ? 1 : 0;
      if (!cursor->Int(&group_id)) return false;
    } else if (cursor->Eat("metadata=")) {
      if (!AppendMetadataList(cursor, 7, &metadata_writer)) return false;
    } else {
      const TypeName* simple = std::find_if(std::begin(kSimpleTypes), std::end(kSimpleTypes),
                                            [&](const TypeName& t) { return cursor->Eat(t.name); });
      if (simple == std::end(kSimpleTypes)) return false;
      type = simple->number;
    }
  }
  if (type < 0) return false;
  w->Int(1, type);
  w->Packed(3, dims);
  w->Packed(4, devices);
  w->Bool(6, replicate_last);
  w->out() += metadata;
  w->Packed(8, last_types);
  w->Packed(9, reshape);
  w->Packed(10, perm);
  w->Bool(11, is_group);
  w->Int(12, group_id);
  w->Int(13, group_type);
  return true;
}

bool AppendAxisList(TextCursor* cursor, const std::vector<std::string>& axes, uint32_t number,
                    WireWriter* w) {
  if (!cursor->Eat("{")) return false;
  while (!cursor->Eat("}")) {
    cursor->Eat(",");
    cursor->SkipBlanks();
    size_t axis = w->Open(number);
    if (!AppendAxisProto(cursor, axes, &w->out())) return false;
    w->Close(axis);
  }
  return true;
}

bool AppendDimensionSharding(TextCursor* cursor, const std::vector<std::string>& axes,
                             WireWriter* w) {
  if (!cursor->Eat("{")) return false;
  size_t dimension = w->Open(3);
  bool closed = true;
  while (!cursor->Eat("}")) {
    cursor->Eat(",");
    cursor->SkipBlanks();
    if (cursor->Eat("?")) {
      closed = false;
      continue;
    }
    size_t axis = w->Open(1);
    if (!AppendAxisProto(cursor, axes, &w->out())) return false;
    w->Close(axis);
  }
  w->Bool(2, closed);
  w->Close(dimension);
  return true;
}

/// Behind the '{', up to and including the '}'.
bool AppendNamed(TextCursor* cursor, WireWriter* w) {
  size_t named = w->Open(14);
  std::vector<std::string> axes;
  size_t mesh = w->Open(2);
  if (!AppendMeshProto(cursor, &axes, &w->out())) return false;
  w->Close(mesh);
  // Lists come in the order of their fields, apart from the metadata in front of `manual`.
  std::string manual;
  WireWriter manual_writer(&manual);
  while (!cursor->Eat("}")) {
    cursor->Eat(",");
    cursor->SkipBlanks();
    if (cursor->Eat("[")) {
      while (!cursor->Eat("]")) {
        cursor->Eat(",");
        cursor->SkipBlanks();
        if (!AppendDimensionSharding(cursor, axes, w)) return false;
      }
    } else if (cursor->Eat("replicated=")) {
      if (!AppendAxisList(cursor, axes, 4, w)) return false;
    } else if (cursor->Eat("unreduced=")) {
      if (!AppendAxisList(cursor, axes, 5, w)) return false;
    } else if (cursor->Eat("manual=")) {
      if (!AppendAxisList(cursor, axes, 7, &manual_writer)) return false;
    } else if (cursor->Eat("metadata=")) {
      if (!AppendMetadataList(cursor, 6, w)) return false;
    } else {
      return false;
    }
  }
  w->out() += manual;
  w->Close(named);
  return true;
}

bool AppendSingle(TextCursor* cursor, WireWriter* w) {
  if (!cursor->Eat("{")) return false;
  std::string_view rest = cursor->Rest();
  if (rest.starts_with("mesh[") || rest.starts_with("maximal_mesh[")) return AppendNamed(cursor, w);
  return AppendTile(cursor, w);
}

}  // namespace

bool AppendMeshProto(TextCursor* cursor, std::vector<std::string>* axes, std::string* out) {
  WireWriter w(out);
  int64_t value;
  if (cursor->Eat("maximal_mesh[device_id=")) {
    if (!cursor->Int(&value) || !cursor->Eat("]")) return false;
    w.Packed(2, std::vector<int64_t>{value});
    return true;
  }
  if (!cursor->Eat("mesh[")) return false;
  while (!cursor->Eat("]")) {
    cursor->Eat(",");
    cursor->SkipBlanks();
    if (!cursor->Quoted(&axes->emplace_back()) || !cursor->Eat("=") || !cursor->Int(&value))
      return false;
    size_t axis = w.Open(1);
    w.Bytes(1, axes->back());
    w.Int(2, value);
    w.Close(axis);
  }
  if (!cursor->Eat(", device_ids=(") && !cursor->Eat(",device_ids=(")) return true;
  std::vector<int64_t> list;
  if (!cursor->Eat("[")) {
    if (!cursor->Ints(&list) || !cursor->Eat(")")) return false;
    w.Packed(2, list);
    return true;
  }
  std::vector<int64_t> perm = {0};
  if (!cursor->Ints(&list) || !cursor->Eat("]")) return false;
  if (cursor->Eat("T(") && (!cursor->Ints(&perm) || !cursor->Eat(")"))) return false;
  if (!cursor->Eat(")")) return false;
  size_t iota = w.Open(3);
  w.Packed(1, list);
  w.Packed(2, perm);
  w.Close(iota);
  return true;
}

bool AppendAxisProto(TextCursor* cursor, const std::vector<std::string>& axes, std::string* out) {
  std::string name;
  if (!cursor->Quoted(&name)) return false;
  size_t index = std::find(axes.begin(), axes.end(), name) - axes.begin();
  if (index == axes.size()) return false;
  WireWriter w(out);
  w.Int(1, static_cast<int64_t>(index));
  if (!cursor->Eat(":(")) return true;
  int64_t before;
  int64_t size;
  if (!cursor->Int(&before) || !cursor->Eat(")") || !cursor->Int(&size)) return false;
  size_t part = w.Open(2);
  w.Int(1, before);
  w.Int(2, size);
  w.Close(part);
  return true;
}

bool AppendShardingProto(std::string_view text, std::string* out) {
  TextCursor cursor(text);
  WireWriter w(out);
  bool is_tuple = text.starts_with("{{") || text == "{}";
  if (!is_tuple) return AppendSingle(&cursor, &w) && cursor.AtEnd();
  cursor.Eat("{");
  w.Int(1, 2);
  while (!cursor.Eat("}")) {
    cursor.Eat(",");
    cursor.SkipBlanks();
    if (cursor.Eat("/*index=")) {
      std::string_view skipped;
      if (!cursor.RawUntil('/', &skipped) || !cursor.Eat("/")) return false;
    }
    size_t member = w.Open(5);
    if (!AppendSingle(&cursor, &w)) return false;
    w.Close(member);
  }
  return cursor.AtEnd();
}

}  // namespace hlokit::proto
