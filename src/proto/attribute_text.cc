// What is the canonical text of metadata, frontend attributes, replica groups and the like, given
// their messages? Shardings are in sharding_text.cc.
#include "attribute_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <map>

#include "src/print/value_text.h"

namespace hlokit::proto {

void AppendIntList(std::span<const int64_t> values, TextBuffer* out) {
  for (size_t i = 0; i < values.size(); ++i) {
    if (i != 0) out->Append(',');
    out->AppendInteger(values[i]);
  }
}

bool AttributeText::Ints(const WireField& field, std::vector<int64_t>* out) {
  if (ForEachVarint(field, [&](uint64_t v) { out->push_back(AsInt64(v)); })) return true;
  return Fail(field.raw.data(), "a list of numbers is broken");
}

bool AttributeText::PayloadBytes(std::string_view bytes, std::string_view* out) {
  WireReader reader(bytes);
  WireField field;
  while (reader.Next(&field)) {
    if (field.number == 1 && field.type == kBytesType) {
      *out = field.bytes;
    } else if (field.number == 2 && field.type == kVarint) {
      if (field.value >= payloads_->size()) {
        return Fail(field.raw.data(), fmt::format("payload {} is asked for, the module has {}",
                                                  field.value, payloads_->size()));
      }
      *out = (*payloads_)[field.value];
      lossy_ = true;
    } else {
      lossy_ = true;
    }
  }
  return Done(reader);
}

bool AttributeText::Metadata(std::string_view bytes, TextBuffer* out, bool* shown) {
  // Strings by the position of their field in the text; numbers likewise.
  std::array<std::string_view, 21> text{};
  std::array<int32_t, 21> number{};
  std::vector<int64_t> profile_types;
  WireReader reader(bytes);
  WireField field;
  constexpr uint32_t kStrings = 1u << 1 | 1u << 2 | 1u << 3 | 1u << 12 | 1u << 16;
  constexpr uint32_t kNumbers = 1u << 4 | 1u << 15 | 1u << 17 | 1u << 18 | 1u << 19;
  while (reader.Next(&field)) {
    if (field.number <= 20 && ((kStrings >> field.number) & 1) != 0 && field.type == kBytesType) {
      text[field.number] = field.bytes;
    } else if (field.number <= 20 && ((kNumbers >> field.number) & 1) != 0 &&
               field.type == kVarint) {
      number[field.number] = AsInt32(field.value);
    } else if (field.number == 5) {
      if (!Ints(field, &profile_types)) return false;
    } else if (field.number == 20 && field.type == kBytesType) {
      if (!PayloadBytes(field.bytes, &text[20])) return false;
    } else {
      lossy_ = true;
    }
  }
  if (!Done(reader)) return false;
  *shown = !text[1].empty() || !text[2].empty() || !text[3].empty() || !text[16].empty() ||
           number[15] != 0 || !text[20].empty();
  if (!*shown) {
    lossy_ |= !bytes.empty();
    return true;
  }
  out->Append('{');
  bool first = true;
  auto name = [&](std::string_view key) {
    if (!first) out->Append(' ');
    first = false;
    out->Append(key);
  };
  auto quoted = [&](std::string_view key, std::string_view value) {
    if (value.empty()) return;
    name(key);
    AppendQuoted(value, out);
  };
  auto plain = [&](std::string_view key, int32_t value) {
    if (value == 0) return;
    name(key);
    out->AppendInteger(value);
  };
  quoted("op_type=", text[1]);
  quoted("op_name=", text[2]);
  quoted("source_file=", text[3]);
  plain("source_line=", number[4]);
  plain("source_end_line=", number[17]);
  plain("source_column=", number[18]);
  plain("source_end_column=", number[19]);
  if (!profile_types.empty()) {
    name("profile_type={");
    AppendIntList(profile_types, out);
    out->Append('}');
  }
  quoted("deduplicated_name=", text[12]);
  if (!text[16].empty()) {
    name("scheduling_name=\"");
    out->Append(text[16]);
    out->Append('"');
    lossy_ |= text[16].find_first_of("\"\\") != std::string_view::npos;
  }
  plain("stack_frame_id=", number[15]);
  quoted("metadata_payload=", text[20]);
  out->Append('}');
  return true;
}

bool AttributeText::FrontendAttributes(std::string_view bytes, TextBuffer* out) {
  pairs_.clear();
  WireReader reader(bytes);
  WireField entry;
  while (reader.Next(&entry)) {
    if (entry.number != 1 || entry.type != kBytesType) {
      lossy_ = true;
      continue;
    }
    std::string_view key;
    std::string_view value;
    WireReader inner(entry.bytes);
    WireField field;
    while (inner.Next(&field)) {
      if (field.number == 1 && field.type == kBytesType) {
        key = field.bytes;
      } else if (field.number == 2 && field.type == kBytesType) {
        value = field.bytes;
      } else {
        lossy_ = true;
      }
    }
    if (!Done(inner)) return false;
    pairs_.emplace_back(key, value);
  }
  if (!Done(reader)) return false;
  std::stable_sort(pairs_.begin(), pairs_.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  out->Append('{');
  bool first = true;
  for (size_t i = 0; i < pairs_.size(); ++i) {
    if (i + 1 < pairs_.size() && pairs_[i].first == pairs_[i + 1].first)
      continue;  // the last one wins
    if (!first) out->Append(',');
    first = false;
    out->Append(pairs_[i].first);
    out->Append('=');
    if (IsBareBraces(pairs_[i].second)) {
      out->Append(pairs_[i].second);
    } else {
      AppendQuoted(pairs_[i].second, out);
    }
  }
  out->Append('}');
  return true;
}

bool AttributeText::Statistics(std::string_view bytes, TextBuffer* out) {
  int64_t index = 0;
  std::vector<std::pair<std::string_view, double>> values;
  WireReader reader(bytes);
  WireField field;
  while (reader.Next(&field)) {
    if (field.number == 1 && field.type == kVarint) {
      index = AsInt64(field.value);
    } else if (field.number == 2 && field.type == kBytesType) {
      std::string_view name;
      double value = 0;
      WireReader inner(field.bytes);
      WireField part;
      while (inner.Next(&part)) {
        if (part.number == 1 && part.type == kBytesType) name = part.bytes;
        if (part.number == 2 && part.type == kFixed64) value = std::bit_cast<double>(part.value);
      }
      if (!Done(inner)) return false;
      values.emplace_back(name, value);
    }
  }
  if (!Done(reader)) return false;
  if (values.empty()) return true;
  out->Append("{visualizing_index=");
  out->AppendInteger(index);
  for (const auto& [name, value] : values) {
    out->Append(',');
    out->Append(name);
    out->Append('=');
    AppendGeneral(value, 6, out);
  }
  out->Append('}');
  return true;
}

bool AttributeText::OriginArray(std::string_view bytes, TextBuffer* out) {
  std::string_view name;
  std::vector<int64_t> index;
  WireReader reader(bytes);
  WireField field;
  while (reader.Next(&field)) {
    if (field.number == 1 && field.type == kBytesType) name = field.bytes;
    if (field.number == 2 && !Ints(field, &index)) return false;
  }
  if (!Done(reader)) return false;
  AppendQuoted(name, out);
  if (index.empty()) return true;
  out->Append(" {");
  AppendIntList(index, out);
  out->Append('}');
  return true;
}

bool AttributeText::Origin(std::string_view bytes, TextBuffer* out) {
  struct Leaf {
    std::vector<int64_t> index;
    std::string_view array;
    bool has_array = false;
  };
  std::vector<Leaf> leaves;
  bool synthetic = false;
  WireReader reader(bytes);
  WireField field;
  while (reader.Next(&field)) {
    if (field.number == 2 && field.type == kVarint) synthetic = field.value != 0;
    if (field.number != 1 || field.type != kBytesType) continue;
    Leaf& leaf = leaves.emplace_back();
    WireReader inner(field.bytes);
    WireField part;
    while (inner.Next(&part)) {
      if (part.number == 1 && !Ints(part, &leaf.index)) return false;
      if (part.number == 2 && part.type == kBytesType) {
        leaf.array = part.bytes;
        leaf.has_array = true;
      }
    }
    if (!Done(inner)) return false;
  }
  if (!Done(reader)) return false;
  if (synthetic) {
    out->Append("{[synthetic_call]}");
    return true;
  }
  if (leaves.empty()) return true;
  // Leaves in pre-order; between two of them as many brackets close and open as their paths differ.
  std::sort(leaves.begin(), leaves.end(),
            [](const Leaf& a, const Leaf& b) { return a.index < b.index; });
  out->Append('{');
  std::vector<int64_t> path;
  bool opened = false;
  for (const Leaf& leaf : leaves) {
    size_t common = 0;
    while (common < path.size() && common < leaf.index.size() && path[common] == leaf.index[common])
      ++common;
    if (!opened) {
      for (size_t i = 0; i < leaf.index.size(); ++i) out->Append('(');
    } else {
      for (size_t i = common + 1; i < path.size(); ++i) out->Append(')');
      out->Append(", ");
      for (size_t i = common + 1; i < leaf.index.size(); ++i) out->Append('(');
    }
    opened = true;
    path = leaf.index;
    out->Append('{');
    if (leaf.has_array && !OriginArray(leaf.array, out)) return false;
    out->Append('}');
  }
  for (size_t i = 0; i < path.size(); ++i) out->Append(')');
  out->Append('}');
  return true;
}

bool AttributeText::ResultAccuracy(std::string_view bytes, TextBuffer* out) {
  WireReader reader(bytes);
  WireField field;
  bool highest = false;
  bool has_tolerance = false;
  double absolute = 0;
  double relative = 0;
  int64_t ulps = 0;
  while (reader.Next(&field)) {
    if (field.number == 1 && field.type == kVarint) {
      highest = field.value == 1;
      if (field.value > 1) return Fail(field.raw.data(), "a result accuracy has an unknown mode");
    } else if (field.number == 2 && field.type == kBytesType) {
      has_tolerance = true;
      WireReader inner(field.bytes);
      WireField part;
      while (inner.Next(&part)) {
        if (part.number == 1 && part.type == kFixed64) absolute = std::bit_cast<double>(part.value);
        if (part.number == 2 && part.type == kFixed64) relative = std::bit_cast<double>(part.value);
        if (part.number == 3 && part.type == kVarint) ulps = AsInt64(part.value);
      }
      if (!Done(inner)) return false;
    }
  }
  if (!Done(reader)) return false;
  if (!has_tolerance) {
    if (highest) out->Append("{mode=highest}");
    return true;
  }
  if (absolute < 0 || relative < 0 || ulps < 0) {
    return Fail(bytes.data(), "a tolerance of a result accuracy is negative");
  }
  out->Append("{tolerance={atol=");
  AppendGeneral(absolute, 6, out);
  out->Append(",rtol=");
  AppendGeneral(relative, 6, out);
  out->Append(",ulps=");
  out->AppendInteger(ulps);
  out->Append("}}");
  return true;
}

bool AttributeText::Sparsity(std::string_view bytes, TextBuffer* out) {
  WireReader reader(bytes);
  WireField field;
  std::array<std::array<int64_t, 5>, 3> sides{};
  std::array<bool, 3> present{};
  while (reader.Next(&field)) {
    if ((field.number != 1 && field.number != 2) || field.type != kBytesType) continue;
    present[field.number] = true;
    WireReader inner(field.bytes);
    WireField part;
    while (inner.Next(&part)) {
      if (part.number <= 4 && part.type == kVarint)
        sides[field.number][part.number] = AsInt64(part.value);
    }
    if (!Done(inner)) return false;
  }
  if (!Done(reader)) return false;
  out->Append('{');
  for (int side : {1, 2}) {
    if (!present[side]) continue;
    if (side == 2 && present[1]) out->Append(' ');
    const std::array<int64_t, 5>& s = sides[side];
    out->Append(fmt::format("{}={{sparsity={}x{} dimension={} stride={}}}",
                            side == 1 ? "lhs" : "rhs", s[1], s[2], s[3], s[4]));
  }
  out->Append('}');
  return true;
}

bool AttributeText::DimLabels(std::string_view bytes, TextBuffer* out) {
  // Positions of b, f and the spatial dimensions per side; rhs uses i and o.
  std::array<int64_t, 13> single{};
  std::array<std::vector<int64_t>, 13> spatial;
  WireReader reader(bytes);
  WireField field;
  while (reader.Next(&field)) {
    if (field.number == 6 || field.number == 11 || field.number == 12) {
      if (!Ints(field, &spatial[field.number])) return false;
    } else if (field.number < single.size() && field.type == kVarint) {
      single[field.number] = AsInt64(field.value);
    }
  }
  if (!Done(reader)) return false;
  auto side = [&](std::array<std::pair<char, int64_t>, 2> named,
                  const std::vector<int64_t>& positions) {
    int64_t size = 0;
    auto check = [&](int64_t at) {
      size = std::max(size, at + 1);
      return at >= 0 && at < 1000;
    };
    for (auto [label, at] : named) {
      if (!check(at)) return false;
    }
    for (int64_t at : positions) {
      if (!check(at)) return false;
    }
    std::string text(size, '?');
    for (auto [label, at] : named) text[at] = label;
    for (size_t i = 0; i < positions.size(); ++i) {
      text[positions[i]] = i < 10 ? static_cast<char>('0' + i) : '?';
    }
    out->Append(text);
    return true;
  };
  if (!side({{{'b', single[7]}, {'f', single[8]}}}, spatial[11]))
    return Fail(bytes.data(), "a convolution dimension is out of range");
  out->Append('_');
  if (!side({{{'i', single[3]}, {'o', single[4]}}}, spatial[6]))
    return Fail(bytes.data(), "a convolution dimension is out of range");
  out->Append("->");
  if (!side({{{'b', single[9]}, {'f', single[10]}}}, spatial[12]))
    return Fail(bytes.data(), "a convolution dimension is out of range");
  return true;
}

bool AttributeText::GroupList(std::span<const std::string_view> groups, TextBuffer* out) {
  out->Append('{');
  std::vector<int64_t> ids;
  for (size_t i = 0; i < groups.size(); ++i) {
    ids.clear();
    WireReader reader(groups[i]);
    WireField field;
    while (reader.Next(&field)) {
      if (field.number != 1) {
        lossy_ = true;
      } else if (!Ints(field, &ids)) {
        return false;
      }
    }
    if (!Done(reader)) return false;
    if (i != 0) out->Append(',');
    out->Append('{');
    AppendIntList(ids, out);
    out->Append('}');
  }
  out->Append('}');
  return true;
}

bool AttributeText::DeviceList(std::string_view bytes, TextBuffer* out) {
  std::vector<std::string_view> groups;
  WireReader reader(bytes);
  WireField field;
  while (reader.Next(&field)) {
    if (field.number == 1 && field.type == kBytesType) {
      groups.push_back(field.bytes);
    } else {
      lossy_ = true;
    }
  }
  return Done(reader) && GroupList(groups, out);
}

bool CanonicalIota(std::vector<int64_t>* dims, std::vector<int64_t>* perm) {
  std::vector<bool> seen(dims->size());
  if (perm->size() != dims->size()) return false;
  for (int64_t entry : *perm) {
    if (entry < 0 || static_cast<size_t>(entry) >= dims->size() || seen[entry]) return false;
    seen[entry] = true;
  }
  for (int64_t size : *dims) {
    if (size <= 0) return false;
  }
  // Dimensions of size 1 go, then runs that stay adjacent and in order become one. One pass is
  // enough: a merge of two runs never makes two others adjacent.
  std::vector<int64_t> order;
  for (int64_t entry : *perm) {
    if ((*dims)[entry] != 1) order.push_back(entry);
  }
  std::vector<int64_t> kept = order;
  std::sort(kept.begin(), kept.end());
  auto rank_of = [&](int64_t entry) {
    return std::lower_bound(kept.begin(), kept.end(), entry) - kept.begin();
  };
  struct Run {
    int64_t first;  // rank of its first dimension
    int64_t size;
  };
  std::vector<Run> runs;
  int64_t last = -2;
  for (int64_t entry : order) {
    int64_t rank = rank_of(entry);
    if (!runs.empty() && rank == last + 1) {
      runs.back().size *= (*dims)[entry];
    } else {
      runs.push_back({rank, (*dims)[entry]});
    }
    last = rank;
  }
  if (runs.empty()) {
    *dims = {1};
    *perm = {0};
    return true;
  }
  std::vector<int64_t> firsts;
  for (const Run& run : runs) firsts.push_back(run.first);
  std::sort(firsts.begin(), firsts.end());
  dims->assign(runs.size(), 1);
  perm->clear();
  for (const Run& run : runs) {
    int64_t position = std::lower_bound(firsts.begin(), firsts.end(), run.first) - firsts.begin();
    (*dims)[position] = run.size;
    perm->push_back(position);
  }
  return true;
}

bool AttributeText::IotaGroups(std::string_view bytes, TextBuffer* out) {
  int64_t groups = 0;
  int64_t devices = 0;
  std::vector<int64_t> dims;
  std::vector<int64_t> perm;
  WireReader reader(bytes);
  WireField field;
  while (reader.Next(&field)) {
    if (field.number == 1 && field.type == kVarint) {
      groups = AsInt64(field.value);
    } else if (field.number == 2 && field.type == kVarint) {
      devices = AsInt64(field.value);
    } else if (field.number == 3) {
      if (!Ints(field, &dims)) return false;
    } else if (field.number == 4) {
      if (!Ints(field, &perm)) return false;
    } else {
      lossy_ = true;
    }
  }
  if (!Done(reader)) return false;
  std::vector<int64_t> dims_before = dims;
  if (!CanonicalIota(&dims, &perm)) {
    return Fail(bytes.data(), "the dimensions of an iota device list and their order do not fit");
  }
  lossy_ |= dims != dims_before;
  out->Append('[');
  out->AppendInteger(groups);
  out->Append(',');
  out->AppendInteger(devices);
  out->Append("]<=[");
  AppendIntList(dims, out);
  out->Append(']');
  if (dims.size() > 1) {
    out->Append("T(");
    AppendIntList(perm, out);
    out->Append(')');
  }
  return true;
}

}  // namespace hlokit::proto
