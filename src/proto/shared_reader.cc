// Which attributes that many opcodes share does an instruction get: called computations, device
// lists, literals, shardings, metadata, configuration?
#include <fmt/format.h>

#include <algorithm>

#include "hlokit/reader.h"
#include "module_reader.h"
#include "text_to_wire.h"

namespace hlokit::proto {
namespace {

/// Called computations that an opcode must have; -1 = any number.
int CallCount(Opcode opcode) {
  switch (opcode) {
    case Opcode::kWhile:
    case Opcode::kSelectAndScatter:
      return 2;
    case Opcode::kCall:
    case Opcode::kMap:
    case Opcode::kReduce:
    case Opcode::kReduceWindow:
    case Opcode::kSort:
    case Opcode::kScan:
    case Opcode::kScatter:
    case Opcode::kAllReduce:
    case Opcode::kAllReduceStart:
    case Opcode::kReduceScatter:
    case Opcode::kFusion:
    case Opcode::kAsyncStart:
      return 1;
    case Opcode::kCustomCall:
    case Opcode::kConditional:
    case Opcode::kAsyncUpdate:
    case Opcode::kAsyncDone:
    case Opcode::kUnknown:
      return -1;
    default:
      return 0;
  }
}

}  // namespace

bool ModuleReader::ReadLiteralAttribute(AttrKind kind, ShapeId declared) {
  LiteralId literal;
  if (!fields_.Has(8)) {
    if (kind != AttrKind::kConstantLiteral) return true;
    LiteralData data;
    data.shape = module_.shapes()[declared].static_bare;
    data.elided = true;
    literal = module_.AddLiteral(std::move(data));
  } else {
    LiteralProblem problem;
    if (!ReadLiteral(fields_.Message(8), declared, &module_, &literal, &lossy_, &problem)) {
      return Fail(problem.broken ? DiagId::kProtoBroken : DiagId::kProtoBadLiteral, problem.at,
                  problem.what);
    }
  }
  attrs_.push_back({kind, literal.value, 0});
  return true;
}

bool ModuleReader::ReadChannel() {
  int64_t channel = fields_.Int(26);
  int64_t old = fields_.Int(45);
  if (channel > 0 && old > 0) {
    return Fail(DiagId::kProtoBadValue, instruction_bytes_.data(),
                "channel_id and all_reduce_id are both set");
  }
  if (channel < 0 || old != 0) lossy_ = true;
  if (channel <= 0) channel = old;
  if (channel > 0) AddInt(AttrKind::kChannelId, channel);
  return true;
}

bool ModuleReader::ReadReplicaGroups() {
  buffer_.Truncate(0);
  bool ok = true;
  text_.ClearLossy();
  bool legacy = fields_.Has(49);
  if (fields_.Has(92)) {
    ok = text_.IotaGroups(fields_.Message(92), &buffer_);
  } else if (fields_.Has(93)) {
    ok = text_.MeshGroups(fields_.Message(93), &buffer_);
    lossy_ = true;
  } else if (legacy) {
    std::vector<std::string_view> groups;
    fields_.ForEach(49, [&](const WireField& field) {
      groups.push_back(field.bytes);
      return true;
    });
    ok = text_.GroupList(groups, &buffer_);
    lossy_ = true;
  } else {
    ok = text_.DeviceList(fields_.Message(87), &buffer_);
  }
  if (!ok) return TextFailed();
  lossy_ |= text_.lossy();
  attrs_.push_back(module_.TextAttribute(AttrKind::kReplicaGroups, buffer_.View(0)));
  return true;
}

bool ModuleReader::ReadText(AttrKind kind, uint32_t number,
                            bool (AttributeText::*convert)(std::string_view, TextBuffer*)) {
  if (!fields_.Take(number)) return true;
  buffer_.Truncate(0);
  text_.ClearLossy();
  if (!(text_.*convert)(fields_.Message(number), &buffer_)) return TextFailed();
  lossy_ |= text_.lossy();
  if (buffer_.size() != 0) attrs_.push_back(module_.TextAttribute(kind, buffer_.View(0)));
  return true;
}

bool ModuleReader::ReadCalls(Opcode opcode) {
  if (!fields_.Has(38)) refs_.clear();
  if (!fields_.Ints(38, &ints_))
    return Fail(DiagId::kProtoBroken, instruction_bytes_.data(), "a list is broken");
  refs_.clear();
  for (int64_t id : ints_) {
    auto it = computation_by_id_.find(id);
    if (it == computation_by_id_.end()) {
      return Fail(DiagId::kProtoBadId, instruction_bytes_.data(),
                  fmt::format("id {} names no computation that stands before its caller", id),
                  "computations stand behind those that they call");
    }
    refs_.push_back(it->second.value);
  }
  int wanted = CallCount(opcode);
  if (wanted >= 0 && static_cast<size_t>(wanted) != refs_.size()) {
    return Fail(DiagId::kProtoBadValue, instruction_bytes_.data(),
                fmt::format("'{}' calls {} computation(s), not {}", OpcodeText(opcode), wanted,
                            refs_.size()));
  }
  if (opcode == Opcode::kConditional && refs_.size() + 1 != operands_.size()) {
    return Fail(DiagId::kProtoBadValue, instruction_bytes_.data(),
                fmt::format("a conditional has {} branches and {} operands", refs_.size(),
                            operands_.size()));
  }
  if (opcode == Opcode::kAsyncUpdate || opcode == Opcode::kAsyncDone) {
    // They may name what their start names; a module keeps that with the start only.
    InstId start = operands_.empty() ? InstId() : operands_[0];
    bool is_chain = start.valid() && (module_.opcode(start) == Opcode::kAsyncStart ||
                                      module_.opcode(start) == Opcode::kAsyncUpdate);
    if (!is_chain) {
      return Fail(
          DiagId::kProtoBadValue, instruction_bytes_.data(),
          fmt::format("the operand of '{}' is no async-start or async-update", OpcodeText(opcode)));
    }
    while (module_.opcode(start) == Opcode::kAsyncUpdate) start = module_.operand(start, 0);
    std::span<const CompId> calls = module_.called_computations(start);
    if (!refs_.empty() && (refs_.size() != 1 || calls.size() != 1 || calls[0].value != refs_[0])) {
      return Fail(
          DiagId::kProtoBadValue, instruction_bytes_.data(),
          fmt::format("'{}' calls another computation than its async-start", OpcodeText(opcode)));
    }
    return true;
  }
  if (!refs_.empty()) attrs_.push_back(module_.RefsAttribute(AttrKind::kCalledComputations, refs_));
  if (opcode == Opcode::kCall && fields_.Bool(89)) AddInt(AttrKind::kIsComposite, 1);
  return true;
}

bool ModuleReader::ReadCommon(Opcode opcode, ShapeId) {
  (void)opcode;
  if (fields_.Has(40) && !ReadSharding()) return false;
  if (std::string_view bytes = fields_.Message(68); !bytes.empty()) {
    KnownText text;
    if (const KnownText* known = frontends_.Find(bytes); known != nullptr) {
      text = *known;
    } else {
      buffer_.Truncate(0);
      text_.ClearLossy();
      if (!text_.FrontendAttributes(bytes, &buffer_)) return TextFailed();
      text = {module_.text().Append(buffer_.View(0)), text_.lossy()};
      if (IsInFile(bytes)) frontends_.Insert(bytes, text);
    }
    lossy_ |= text.lossy;
    if (text.text.length > 2)
      attrs_.push_back(Attr::Text(AttrKind::kFrontendAttributes, text.text));
  }
  if (fields_.Has(37)) {
    std::vector<InstId> predecessors;
    if (!ResolveOperands(37, &predecessors)) return false;
    refs_.clear();
    for (InstId id : predecessors) {
      if (std::find(refs_.begin(), refs_.end(), id.value) == refs_.end()) refs_.push_back(id.value);
    }
    if (!refs_.empty())
      attrs_.push_back(module_.RefsAttribute(AttrKind::kControlPredecessors, refs_));
  }
  // Rare ones: text may not show all of them, so their bytes are always compared (see extras.h).
  if (fields_.Has(82) && !fields_.Message(82).empty()) {
    lossy_ = true;
    if (!ReadText(AttrKind::kStatistics, 82, &AttributeText::Statistics)) return false;
  }
  if (fields_.Has(91)) {
    lossy_ = true;
    if (!ReadText(AttrKind::kResultAccuracy, 91, &AttributeText::ResultAccuracy)) return false;
  }
  if (fields_.Has(88)) {
    lossy_ = true;
    if (!ReadText(AttrKind::kOrigin, 88, &AttributeText::Origin)) return false;
  }
  return ReadMetadata() && ReadBackendConfig();
}

bool ModuleReader::ReadMetadata() {
  std::string_view bytes = fields_.Message(7);
  if (bytes.empty()) return true;
  buffer_.Truncate(0);
  text_.ClearLossy();
  bool shown;
  if (!text_.Metadata(bytes, &buffer_, &shown)) return TextFailed();
  lossy_ |= text_.lossy();
  if (shown) attrs_.push_back(module_.TextAttribute(AttrKind::kMetadata, buffer_.View(0)));
  return true;
}

bool ModuleReader::ReadBackendConfig() {
  std::string_view config = fields_.Bytes(43);
  if (fields_.Has(99)) {
    lossy_ = true;
    config = {};
    if (!text_.PayloadBytes(fields_.Message(99), &config)) return TextFailed();
  }
  if (!config.empty()) attrs_.push_back(Attr::Text(AttrKind::kBackendConfig, Ref(config)));
  return true;
}

bool ModuleReader::ShardingText(std::string_view bytes, StrRef* out) {
  if (const KnownText* known = shardings_.Find(bytes); known != nullptr) {
    *out = known->text;
    lossy_ |= known->lossy;
    return true;
  }
  buffer_.Truncate(0);
  if (!text_.Sharding(bytes, &buffer_)) return TextFailed();
  std::string text(buffer_.View(0));
  // Tile shardings have several spellings; the reader of text knows which one is canonical.
  if (text.find("devices=") != std::string::npos &&
      text.find("last_tile_dim") != std::string::npos) {
    Result<Module> probe = hlokit::ReadText("ROOT x = f32[] parameter(0), sharding=" + text);
    if (!probe)
      return Fail(DiagId::kProtoBadValue, bytes.data(),
                  "a sharding makes no sense: " + text.substr(0, 200));
    InstId root = probe->computation(probe->entry()).root;
    text = probe->TextAttr(root, AttrKind::kSharding);
  }
  *out = module_.text().Append(text);
  scratch_.clear();
  bool lossy = !AppendShardingProto(text, &scratch_) || scratch_ != bytes;
  lossy_ |= lossy;
  if (IsInFile(bytes)) shardings_.Insert(bytes, {*out, lossy});
  return true;
}

bool ModuleReader::ReadSharding() {
  StrRef text;
  if (!ShardingText(fields_.Message(40), &text)) return false;
  attrs_.push_back(Attr::Text(AttrKind::kSharding, text));
  return true;
}

bool ModuleReader::ReadDomain() {
  StrRef entry;
  StrRef exit;
  fields_.Take(54);
  fields_.Take(55);
  // Crossed: the operand's side is `entry` in the proto and `exit` in text.
  if (!ShardingText(fields_.Message(55), &entry)) return false;
  if (!ShardingText(fields_.Message(54), &exit)) return false;
  lossy_ = true;
  std::string text = fmt::format("{{kind=\"sharding\", entry={}, exit={}}}", module_.str(entry),
                                 module_.str(exit));
  attrs_.push_back(module_.TextAttribute(AttrKind::kDomain, text));
  return true;
}

}  // namespace hlokit::proto
