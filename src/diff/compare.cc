// In what do two paired computations differ? Nothing here looks at hashes of instructions: what
// matching found is checked value by value.
#include "src/diff/compare.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "fmt/format.h"

namespace hlokit {

Comparer::Comparer(const Side& a, const Side& b, const ModuleMatch& match,
                   const DiffOptions& options, ModuleDiff* diff)
    : a_(a), b_(b), match_(match), options_(options), diff_(diff) {
  partner_of_a_.resize(a.module().instruction_count());
  partner_of_b_.resize(b.module().instruction_count());
  rerouted_a_.resize(a.module().instruction_count());
  rerouted_b_.resize(b.module().instruction_count());
}

void Comparer::Compare(const ComputationPair& pair) {
  for (auto [x, y] : pair.instructions) {
    partner_of_a_[x.value] = y;
    partner_of_b_[y.value] = x;
  }
  MarkRerouted(a_, pair.a, partner_of_a_, &rerouted_a_);
  MarkRerouted(b_, pair.b, partner_of_b_, &rerouted_b_);
  for (auto [x, y] : pair.instructions) ComparePair(x, y);
  CompareRoot(pair);
  CompareSchedule(pair);
  // What a variant lacks is still there, in the partner of the other one.
  if (pair.kind != ComputationPair::Kind::kVariantOfA) {
    CollectUnmatched(a_, pair.a, partner_of_a_, &diff_->vanished, &diff_->plumbing_removed,
                     &diff_->removed);
  }
  if (pair.kind != ComputationPair::Kind::kVariantOfB) {
    CollectUnmatched(b_, pair.b, partner_of_b_, &diff_->appeared, &diff_->plumbing_added,
                     &diff_->added);
  }
  for (auto [x, y] : pair.instructions) {
    partner_of_a_[x.value] = {};
    partner_of_b_[y.value] = {};
  }
  diff_->matched_instructions += pair.instructions.size();
}

void Comparer::ComparePair(InstId a, InstId b) {
  InstructionChange change{.before = a, .after = b};
  const Module& before = a_.module();
  const Module& after = b_.module();
  change.opcode =
      before.opcode(a) != after.opcode(b) ||
      before.TextAttr(a, AttrKind::kUnknownOpcode) != after.TextAttr(b, AttrKind::kUnknownOpcode);
  if (a_.BareKey(before.shape(a)) != b_.BareKey(after.shape(b))) {
    change.shape = true;
  } else if (a_.FullKey(before.shape(a)) != b_.FullKey(after.shape(b))) {
    CompareLayouts(a, b);
  }
  CompareOperands(a, b, &change);
  if (!change.opcode) CompareAttributes(a, b, &change);
  if (change.opcode || change.shape || change.operand_count || !change.operands.empty() ||
      !change.attributes.empty()) {
    diff_->changed.push_back(std::move(change));
  }
}

void Comparer::CompareLayouts(InstId a, InstId b) {
  std::vector<ShapeId> before = a_.module().shapes().Subshapes(a_.module().shape(a));
  std::vector<ShapeId> after = b_.module().shapes().Subshapes(b_.module().shape(b));
  for (uint32_t i = 0; i < before.size(); ++i) {
    if (!a_.module().shapes().IsArray(before[i])) continue;
    if (a_.FullKey(before[i]) != b_.FullKey(after[i])) diff_->layouts.push_back({a, b, i});
  }
}

// ---- operands ----

void Comparer::MarkRerouted(const Side& side, CompId computation,
                            const std::vector<InstId>& partner,
                            std::vector<uint8_t>* rerouted) const {
  const Module& module = side.module();
  for (InstId id : side.Order(computation)) {
    uint8_t& mark = (*rerouted)[id.value];
    mark = 0;
    if (!side.IsPlumbing(id)) continue;
    mark = !partner[id.value].valid();
    for (InstId operand : module.operands(id)) mark |= (*rerouted)[operand.value];
    if (module.opcode(id) != Opcode::kGetTupleElement) continue;
    // A known tuple may have copied this element.
    InstId tuple = side.Source(module.operand(id, 0));
    if (module.opcode(tuple) != Opcode::kTuple) continue;
    uint32_t index = static_cast<uint32_t>(module.tuple_index(id));
    if (index < module.operand_count(tuple)) {
      mark |= (*rerouted)[module.operand(tuple, index).value];
    }
  }
}

bool Comparer::SameValue(InstId a, InstId b) const {
  if (partner_of_a_[a.value] == b) return true;
  if (partner_of_a_[a_.Source(a).value] != b_.Source(b)) return false;
  return rerouted_a_[a.value] || rerouted_b_[b.value];
}

void Comparer::CompareOperands(InstId a, InstId b, InstructionChange* change) const {
  std::span<const InstId> before = a_.module().operands(a);
  std::span<const InstId> after = b_.module().operands(b);
  change->operand_count = before.size() != after.size();
  for (size_t k = 0; k < std::min(before.size(), after.size()); ++k) {
    if (!SameValue(before[k], after[k])) change->operands.push_back(static_cast<uint32_t>(k));
  }
}

void Comparer::CompareRoot(const ComputationPair& pair) {
  InstId a = a_.module().computation(pair.a).root;
  InstId b = b_.module().computation(pair.b).root;
  if (!SameValue(a, b)) diff_->changed.push_back({.before = a, .after = b, .root = true});
}

// ---- attributes ----

bool Comparer::IsCompared(const Attr& attr) const {
  if (attr.kind == AttrKind::kUnknownOpcode) return false;  // part of the opcode
  return options_.metadata || attr.kind != AttrKind::kMetadata;
}

void Comparer::CompareAttributes(InstId a, InstId b, InstructionChange* change) const {
  auto compared = [&](const Side& side, InstId id) {
    std::vector<Attr> out;
    for (const Attr& attr : side.module().attributes(id)) {
      if (IsCompared(attr)) out.push_back(attr);
    }
    return out;
  };
  // Both lists are in printing order. Unknown attributes may occur several times.
  std::vector<Attr> before = compared(a_, a);
  std::vector<Attr> after = compared(b_, b);
  auto note = [&](AttrKind kind) {
    if (change->attributes.empty() || change->attributes.back() != kind) {
      change->attributes.push_back(kind);
    }
  };
  Opcode opcode = a_.module().opcode(a);
  size_t i = 0, j = 0;
  while (i < before.size() || j < after.size()) {
    int rank_a = i < before.size() ? AttributeRank(opcode, before[i].kind) : 1 << 20;
    int rank_b = j < after.size() ? AttributeRank(opcode, after[j].kind) : 1 << 20;
    if (rank_a < rank_b) {
      note(before[i++].kind);
    } else if (rank_b < rank_a) {
      note(after[j++].kind);
    } else {
      if (before[i].kind != after[j].kind) {
        note(before[i].kind);
        note(after[j].kind);
      } else if (!SameAttribute(before[i], after[j])) {
        note(before[i].kind);
      }
      ++i;
      ++j;
    }
  }
}

bool Comparer::SameAttribute(const Attr& a, const Attr& b) const {
  const Module& before = a_.module();
  const Module& after = b_.module();
  AttrType type = Info(a.kind).type;
  if (IsText(type)) return before.str(a.text()) == after.str(b.text());
  if (IsIntegerList(type)) return std::ranges::equal(before.ints(a), after.ints(b));
  switch (type) {
    case AttrType::kShape:
      return a_.FullKey(ShapeId(a.low)) == b_.FullKey(ShapeId(b.low));
    case AttrType::kShapeList:
      return std::ranges::equal(before.refs(a), after.refs(b), [&](uint32_t x, uint32_t y) {
        return a_.FullKey(ShapeId(x)) == b_.FullKey(ShapeId(y));
      });
    case AttrType::kComputationList:
      return SameCallees(a, b);
    case AttrType::kInstructionList:
      return SamePredecessors(a, b);
    case AttrType::kLiteral:
      return SameLiteral(LiteralId(a.low), LiteralId(b.low));
    default:
      return a.integer() == b.integer();
  }
}

/// Computations that are compared elsewhere, or that are equal though each has another partner.
bool Comparer::SameCallees(const Attr& a, const Attr& b) const {
  return std::ranges::equal(a_.module().refs(a), b_.module().refs(b), [&](uint32_t x, uint32_t y) {
    return match_.compared.contains(PairKey(CompId(x), CompId(y))) ||
           a_.Exact(CompId(x)) == b_.Exact(CompId(y));
  });
}

bool Comparer::SamePredecessors(const Attr& a, const Attr& b) const {
  std::unordered_set<uint32_t> before;
  for (uint32_t id : a_.module().refs(a)) before.insert(partner_of_a_[id].value);
  std::span<const uint32_t> after = b_.module().refs(b);
  return before.size() == after.size() &&
         std::ranges::all_of(after, [&](uint32_t id) { return before.contains(id); });
}

bool Comparer::SameLiteral(LiteralId a, LiteralId b) const {
  std::vector<std::pair<LiteralId, LiteralId>> stack = {{a, b}};
  while (!stack.empty()) {
    auto [x, y] = stack.back();
    stack.pop_back();
    const LiteralData& before = a_.module().literal(x);
    const LiteralData& after = b_.module().literal(y);
    if (before.elided != after.elided || before.elements.size() != after.elements.size() ||
        a_.BareKey(before.shape) != b_.BareKey(after.shape) ||
        !std::ranges::equal(a_.module().literal_bytes(x), b_.module().literal_bytes(y))) {
      return false;
    }
    for (size_t i = 0; i < before.elements.size(); ++i) {
      stack.emplace_back(before.elements[i], after.elements[i]);
    }
  }
  return true;
}

void Comparer::CompareSchedule(const ComputationPair& pair) {
  if (!a_.module().config().is_scheduled || !b_.module().config().is_scheduled) return;
  std::unordered_map<uint32_t, size_t> place;
  std::span<const InstId> list = b_.module().computation(pair.b).instructions;
  for (size_t i = 0; i < list.size(); ++i) place[list[i].value] = i;
  size_t last = 0;
  for (InstId id : a_.module().computation(pair.a).instructions) {
    InstId partner = partner_of_a_[id.value];
    if (a_.module().IsDead(id) || !partner.valid()) continue;
    size_t at = place.at(partner.value);
    if (at < last) {
      diff_->header.push_back(fmt::format("schedule of %{}", b_.module().name(pair.b)));
      return;
    }
    last = at;
  }
}

// ---- what only one side has ----

namespace {

/// Appends the wanted copies with their first users: one walk over all operands, since a user may
/// be a tuple of thousands of copies.
template <typename Wanted>
void AppendCopies(const Side& side, CompId computation, Wanted&& wanted,
                  std::vector<CopyChange>* out) {
  const Module& module = side.module();
  std::unordered_map<uint32_t, size_t> places;
  for (InstId id : side.Order(computation)) {
    for (uint32_t k = 0; !places.empty() && k < module.operand_count(id); ++k) {
      auto place = places.find(module.operand(id, k).value);
      if (place == places.end()) continue;
      (*out)[place->second].consumer = id;
      (*out)[place->second].operand = k;
      places.erase(place);
    }
    if (module.opcode(id) != Opcode::kCopy || !wanted(id)) continue;
    places.emplace(id.value, out->size());
    out->push_back({.copy = id, .bytes = module.shapes().LogicalBytes(module.shape(id))});
  }
}

}  // namespace

void Comparer::CollectCopies(const Side& side, CompId computation,
                             std::vector<CopyChange>* out) const {
  AppendCopies(
      side, computation, [](InstId) { return true; }, out);
}

/// A tuple or get-tuple-element without partner is plumbing too when only plumbing reads it.
void Comparer::CollectUnmatched(const Side& side, CompId computation,
                                const std::vector<InstId>& partner, std::vector<CopyChange>* copies,
                                std::vector<InstId>* plumbing, std::vector<InstId>* others) const {
  const Module& module = side.module();
  std::span<const InstId> order = side.Order(computation);
  std::unordered_set<uint32_t> is_plumbing;
  for (size_t i = order.size(); i-- > 0;) {
    InstId id = order[i];
    if (partner[id.value].valid()) continue;
    bool passes_on = side.IsPlumbing(id);
    if (!passes_on && module.opcode(id) == Opcode::kGetTupleElement) {
      std::span<const InstId> users = module.users(id);
      passes_on = !users.empty() && std::ranges::all_of(users, [&](InstId user) {
        return is_plumbing.contains(user.value);
      });
    }
    if (passes_on) is_plumbing.insert(id.value);
  }
  AppendCopies(
      side, computation, [&](InstId id) { return !partner[id.value].valid(); }, copies);
  for (InstId id : order) {
    if (partner[id.value].valid() || module.opcode(id) == Opcode::kCopy) continue;
    (is_plumbing.contains(id.value) ? plumbing : others)->push_back(id);
  }
}

}  // namespace hlokit
