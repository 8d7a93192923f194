// How does one collective with many operands replace many collectives?
#include "src/passes/shared/combine_rewrite.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <set>

#include "hlokit/attribute_text.h"
#include "src/passes/shared/permute_shape.h"

namespace hlokit {
namespace {

int64_t Dimension(const Module& module, InstId inst) {
  std::span<const int64_t> dimensions = module.dimensions(inst);
  return dimensions.empty() ? 0 : dimensions[0];
}

/// The most frequent dimension, the lowest on a tie; 0 when some member has too few dimensions for
/// it.
int64_t CommonDimension(const Module& module, std::span<const InstId> members) {
  std::map<int64_t, size_t> votes;
  int64_t smallest_rank = std::numeric_limits<int64_t>::max();
  for (InstId member : members) {
    ++votes[Dimension(module, member)];
    smallest_rank = std::min<int64_t>(smallest_rank, module.shapes().rank(module.shape(member)));
  }
  int64_t best = votes.begin()->first;
  for (auto [dimension, count] : votes) {
    if (count > votes[best]) best = dimension;
  }
  return best < smallest_rank ? best : 0;
}

/// "a/x", "a/y" become "a/(x:y)" (section 4.4).
std::string MergeNames(const std::vector<std::string>& names) {
  if (names.size() == 1) return names[0];
  size_t common = names[0].size();
  for (const std::string& name : names) {
    auto [a, b] = std::mismatch(names[0].begin(), names[0].end(), name.begin(), name.end());
    common = std::min<size_t>(common, static_cast<size_t>(a - names[0].begin()));
  }
  size_t slash = common == 0 ? std::string::npos : names[0].rfind('/', common - 1);
  size_t prefix = slash == std::string::npos ? 0 : slash + 1;
  if (std::all_of(names.begin(), names.end(), [&](const auto& name) { return name == names[0]; })) {
    return names[0];
  }
  std::string out = names[0].substr(0, prefix) + "(";
  for (size_t i = 0; i < names.size(); ++i) {
    if (i != 0) out += ':';
    out += names[i].substr(prefix);
  }
  return out + ")";
}

void SetField(TextFields* fields, std::string_view name, std::string value) {
  for (auto& field : *fields) {
    if (field.first == name) {
      field.second = std::move(value);
      return;
    }
  }
  fields->emplace_back(name, std::move(value));
}

std::string MergedMetadata(const Module& module, std::span<const InstId> members) {
  TextFields base = ParseMetadata(module.TextAttr(members[0], AttrKind::kMetadata));
  std::string locations;
  std::vector<std::string> names;
  for (InstId member : members) {
    TextFields fields = ParseMetadata(module.TextAttr(member, AttrKind::kMetadata));
    const std::string* file = FindField(fields, "source_file");
    if (file != nullptr && !file->empty()) {
      const std::string* line = FindField(fields, "source_line");
      if (!locations.empty()) locations += ',';
      locations += *file + ":" + (line == nullptr ? "0" : *line);
    }
    const std::string* name = FindField(fields, "op_name");
    if (name != nullptr && !name->empty()) names.push_back(*name);
  }
  if (!locations.empty()) {
    SetField(&base, "source_file", locations);
    SetField(&base, "source_line", "0");
    SetField(&base, "source_end_line", "0");
  }
  if (!names.empty()) SetField(&base, "op_name", MergeNames(names));
  return MetadataText(base);
}

std::string MergedFrontendAttributes(const Module& module, std::span<const InstId> members) {
  std::map<std::string, std::set<std::string>> values;
  for (InstId member : members) {
    for (auto& [name, value] :
         ParseFrontendAttributes(module.TextAttr(member, AttrKind::kFrontendAttributes))) {
      values[name].insert(value);
    }
  }
  TextFields merged;
  for (auto& [name, set] : values) {
    std::string joined;
    for (const std::string& value : set) joined += (joined.empty() ? "" : ",") + value;
    merged.emplace_back(name, joined);
  }
  return FrontendAttributesText(std::move(merged));
}

/// One sharding per member where any has one (missing ones count as replicated); a reduce-scatter
/// keeps that of the first member.
std::string MergedSharding(const Module& module, std::span<const InstId> members) {
  if (module.opcode(members[0]) == Opcode::kReduceScatter) {
    return std::string(module.TextAttr(members[0], AttrKind::kSharding));
  }
  bool any = false;
  std::vector<std::string> parts;
  for (InstId member : members) {
    std::string_view text = module.TextAttr(member, AttrKind::kSharding);
    any |= !text.empty();
    parts.emplace_back(text.empty() ? "{replicated}" : text);
  }
  return any ? TupleShardingText(parts) : std::string();
}

/// Groups, channel, device ids and reduction of the first member; not constrained.
std::vector<Attr> CombinedAttributes(Module& module, std::span<const InstId> members,
                                     int64_t dimension) {
  std::vector<Attr> attrs;
  for (AttrKind kind : {AttrKind::kChannelId, AttrKind::kReplicaGroups, AttrKind::kMode,
                        AttrKind::kUseGlobalDeviceIds, AttrKind::kCalledComputations}) {
    if (const Attr* attr = module.FindAttr(members[0], kind)) attrs.push_back(*attr);
  }
  for (Attr& attr : attrs) {
    if (attr.kind == AttrKind::kCalledComputations) {
      attr = module.RefsAttribute(attr.kind, module.refs(attr));
    }
  }
  if (module.opcode(members[0]) != Opcode::kAllReduce) {
    attrs.push_back(module.IntsAttribute(AttrKind::kDimensions, {&dimension, 1}));
  }
  auto add_text = [&](AttrKind kind, const std::string& text) {
    if (!text.empty()) attrs.push_back(module.TextAttribute(kind, text));
  };
  add_text(AttrKind::kMetadata, MergedMetadata(module, members));
  add_text(AttrKind::kFrontendAttributes, MergedFrontendAttributes(module, members));
  add_text(AttrKind::kSharding, MergedSharding(module, members));
  return attrs;
}

/// Identity with two dimensions exchanged.
std::vector<int64_t> Exchange(uint32_t rank, int64_t a, int64_t b) {
  std::vector<int64_t> permutation(rank);
  std::iota(permutation.begin(), permutation.end(), 0);
  std::swap(permutation[static_cast<size_t>(a)], permutation[static_cast<size_t>(b)]);
  return permutation;
}

}  // namespace

void ReplaceByCombined(Rewriter& rewriter, const CombinerSetup& setup,
                       std::span<const InstId> members) {
  Module& module = rewriter.module();
  ShapePool& shapes = module.shapes();
  bool has_dimension = setup.opcode != Opcode::kAllReduce;
  int64_t common = has_dimension ? CommonDimension(module, members) : 0;
  std::vector<InstId> operands;
  std::vector<ShapeId> elements;
  std::vector<bool> permuted_back;
  for (InstId member : members) {
    InstId operand = module.operand(member, 0);
    ShapeId element = has_dimension ? module.shape(member) : module.shape(operand);
    int64_t own = Dimension(module, member);
    permuted_back.push_back(has_dimension && own != common);
    if (permuted_back.back()) {
      std::vector<int64_t> exchange = Exchange(shapes.rank(element), own, common);
      ShapeId permuted = PermuteDimensions(shapes, module.shape(operand), exchange);
      operand = rewriter.AddUnary(Opcode::kBitcast, permuted, operand);
      element = PermuteDimensions(shapes, element, exchange);
    }
    operands.push_back(operand);
    elements.push_back(element);
  }
  InstId combined =
      rewriter.Add(module.computation_of(members.back()), setup.opcode, shapes.Tuple(elements),
                   operands, CombinedAttributes(module, members, common));
  for (uint32_t i = 0; i < members.size(); ++i) {
    InstId value =
        rewriter.AddElement(combined, i, has_dimension ? elements[i] : module.shape(members[i]));
    if (permuted_back[i]) {
      value = rewriter.AddUnary(Opcode::kBitcast, module.shape(members[i]), value);
    }
    rewriter.Replace(members[i], value, Rewriter::ControlEdges::kRefuse);
  }
}

}  // namespace hlokit
