// What does one of the two modules look like? Every instruction gets hashes of itself and of all
// that stands above it, computations those of their instructions; callees and operands come first.
#include "src/diff/side.h"

#include "hlokit/printer.h"
#include "src/diff/hash.h"

namespace hlokit {
namespace {

constexpr uint32_t kNoKey = 0xffffffffu;

}  // namespace

bool IsDecoration(AttrKind kind) {
  switch (kind) {
    case AttrKind::kBackendConfig:
    case AttrKind::kControlPredecessors:
    case AttrKind::kFrontendAttributes:
    case AttrKind::kMetadata:
    case AttrKind::kOrigin:
    case AttrKind::kResultAccuracy:
    case AttrKind::kSharding:
    case AttrKind::kStatistics:
      return true;
    default:
      return false;
  }
}

std::string_view OpName(const Module& module, InstId id) {
  constexpr std::string_view kField = "op_name=\"";
  std::string_view text = module.TextAttr(id, AttrKind::kMetadata);
  size_t at = text.find(kField);
  if (at == std::string_view::npos) return {};
  text.remove_prefix(at + kField.size());
  size_t end = 0;
  while (end < text.size() && text[end] != '"') end += text[end] == '\\' ? 2 : 1;
  return text.substr(0, end);
}

Side::Side(const Module& module, KeyTable& keys) : module_(module), keys_(keys) {
  size_t instructions = module.instruction_count();
  for (uint32_t i = 0; i < instructions; ++i) origin_.push_back(InstId(i));
  source_ = origin_;
  local_.resize(instructions);
  value_.resize(instructions);
  own_.resize(instructions);
  exact_.resize(instructions);
  order_.resize(module.computation_count());
  content_.resize(module.computation_count());
  exact_content_.resize(module.computation_count());
  for (CompId computation : ComputationPostOrder(module)) Describe(computation);
  CollectUses();
}

namespace {

uint32_t& KeySlot(std::vector<uint32_t>* keys, ShapeId shape) {
  if (shape.value >= keys->size()) keys->resize(shape.value + 1, kNoKey);
  return (*keys)[shape.value];
}

}  // namespace

uint32_t Side::BareKey(ShapeId shape) const {
  shape = module_.shapes()[shape].bare;
  uint32_t& key = KeySlot(&bare_keys_, shape);
  if (key == kNoKey) key = keys_.Key(module_.shapes().Text(shape, false));
  return key;
}

uint32_t Side::FullKey(ShapeId shape) const {
  uint32_t& key = KeySlot(&full_keys_, shape);
  // A prefix keeps texts without layouts apart from shapes whose layouts are unset.
  if (key == kNoKey) key = keys_.Key("=" + module_.shapes().Text(shape, true));
  return key;
}

void Side::Describe(CompId computation) {
  std::vector<InstId>& order = order_[computation.value];
  order = InstructionPostOrder(module_, computation);
  // Sums: the order of what nothing depends on does not count. Neither do get-tuple-elements:
  // taking a tuple apart to copy a part of it adds some.
  uint64_t values = 0, exact = 0;
  for (InstId id : order) {
    DescribeInstruction(id);
    if (!IsPlumbing(id) && module_.opcode(id) != Opcode::kGetTupleElement) {
      values += Scramble(value_[id.value]);
    }
    exact += Scramble(exact_[id.value]);
  }
  InstId root = module_.computation(computation).root;
  content_[computation.value] = Mix(Mix(1, value_[root.value]), values);
  exact_content_[computation.value] = Mix(Mix(2, exact_[root.value]), exact);
}

void Side::DescribeInstruction(InstId id) {
  origin_[id.value] = FindOrigin(id);
  source_[id.value] = FindSource(id);
  uint64_t local = LocalHash(id);
  uint64_t own = local;
  uint64_t exact = Mix(local, FullKey(module_.shape(id)));
  for (InstId operand : module_.operands(id)) {
    own = Mix(own, value_[operand.value]);
    exact = Mix(exact, exact_[operand.value]);
  }
  local_[id.value] = local;
  own_[id.value] = own;
  exact_[id.value] = exact;
  value_[id.value] = IsPlumbing(id) ? value_[source_[id.value].value] : own;
}

/// Behind copies, and behind tuples that list all elements of one value in order, which is how
/// layout assignment copies a part of a tuple.
InstId Side::FindOrigin(InstId id) const {
  uint32_t count = module_.operand_count(id);
  if (module_.opcode(id) == Opcode::kCopy && count == 1) {
    return origin_[module_.operand(id, 0).value];
  }
  if (module_.opcode(id) != Opcode::kTuple) return id;
  InstId whole;
  for (uint32_t k = 0; k < count; ++k) {
    InstId element = origin_[module_.operand(id, k).value];
    if (module_.opcode(element) != Opcode::kGetTupleElement || module_.tuple_index(element) != k) {
      return id;
    }
    InstId from = origin_[module_.operand(element, 0).value];
    if (k != 0 && from != whole) return id;
    whole = from;
  }
  if (!whole.valid() || BareKey(module_.shape(whole)) != BareKey(module_.shape(id))) return id;
  return whole;
}

InstId Side::FindSource(InstId id) const {
  InstId origin = origin_[id.value];
  if (origin != id) return Source(origin);
  if (module_.opcode(id) != Opcode::kGetTupleElement) return id;
  InstId tuple = origin_[module_.operand(id, 0).value];
  int64_t index = module_.tuple_index(id);
  if (module_.opcode(tuple) != Opcode::kTuple || index < 0 ||
      index >= module_.operand_count(tuple)) {
    return id;
  }
  return Source(module_.operand(tuple, static_cast<uint32_t>(index)));
}

uint64_t Side::LocalHash(InstId id) const {
  uint64_t hash = Mix(static_cast<uint64_t>(module_.opcode(id)), BareKey(module_.shape(id)));
  hash = Mix(hash, module_.operand_count(id));
  for (const Attr& attr : module_.attributes(id)) {
    if (!IsDecoration(attr.kind))
      hash = AttrHash(Mix(hash, static_cast<uint64_t>(attr.kind)), attr);
  }
  return hash;
}

uint64_t Side::AttrHash(uint64_t hash, const Attr& attr) const {
  AttrType type = Info(attr.kind).type;
  if (IsText(type)) return MixText(hash, module_.str(attr.text()));
  if (IsIntegerList(type)) {
    std::span<const int64_t> values = module_.ints(attr);
    return MixBytes(hash, values.data(), values.size_bytes());
  }
  if (type == AttrType::kComputationList) {
    for (uint32_t callee : module_.refs(attr)) hash = Mix(hash, content_[callee]);
    return hash;
  }
  if (type == AttrType::kShapeList) {
    for (uint32_t shape : module_.refs(attr)) hash = Mix(hash, BareKey(ShapeId(shape)));
    return hash;
  }
  if (type == AttrType::kShape) return Mix(hash, BareKey(ShapeId(attr.low)));
  if (type == AttrType::kLiteral) return LiteralHash(hash, LiteralId(attr.low));
  return Mix(hash, static_cast<uint64_t>(attr.integer()));
}

uint64_t Side::LiteralHash(uint64_t hash, LiteralId literal) const {
  std::vector<LiteralId> stack = {literal};
  while (!stack.empty()) {
    LiteralId next = stack.back();
    stack.pop_back();
    const LiteralData& data = module_.literal(next);
    std::span<const std::byte> bytes = module_.literal_bytes(next);
    hash = Mix(hash, data.elided ? 1 : data.elements.size());
    hash = MixBytes(hash, bytes.data(), bytes.size());
    stack.insert(stack.end(), data.elements.begin(), data.elements.end());
  }
  return hash;
}

void Side::CollectUses() {
  use_begin_.assign(source_.size() + 1, 0);
  auto for_each_use = [&](auto&& visit) {
    for (const std::vector<InstId>& order : order_) {
      for (InstId id : order) {
        if (IsPlumbing(id)) continue;
        for (uint32_t k = 0; k < module_.operand_count(id); ++k) {
          visit(Source(module_.operand(id, k)), Use{id, k});
        }
      }
    }
  };
  for_each_use([&](InstId source, Use) { ++use_begin_[source.value + 1]; });
  for (size_t i = 1; i < use_begin_.size(); ++i) use_begin_[i] += use_begin_[i - 1];
  uses_.resize(use_begin_.back());
  std::vector<uint32_t> next(use_begin_.begin(), use_begin_.end() - 1);
  for_each_use([&](InstId source, Use use) { uses_[next[source.value]++] = use; });
}

}  // namespace hlokit
