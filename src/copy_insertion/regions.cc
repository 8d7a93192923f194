// Can the values of two buffers take turns in one, when not only whole lists but single values are
// compared, and edges may be added?
#include "src/copy_insertion/regions.h"

#include <algorithm>

#include "src/copy_insertion/in_place.h"

namespace hlokit::copies {

/// One read or write per use and definition.
bool Regions::Affordable(const BufferList& source, const BufferList& result) {
  if (left_ < 0) return true;
  auto size = [](const BufferList& list) {
    uint64_t sum = list.values.size();
    for (const LiveValue& value : list.values) sum += value.uses.size();
    return sum;
  };
  uint64_t source_size = size(source), result_size = size(result);
  uint64_t left = static_cast<uint64_t>(left_);
  if (source_size > left / result_size) return false;
  left_ -= static_cast<int64_t>(source_size * result_size);
  return true;
}

bool Regions::Before(const LiveValue& a, const LiveValue& b) {
  Conflict ignored;
  return order_.LiveRangeBefore(a.value, a.parts, a.uses, b.value, &ignored);
}

bool Regions::BeforeWithEdges(const LiveValue& a, const LiveValue& b) {
  size_t known = edges_.size();
  order_.Collect(&edges_);
  bool before = Before(a, b);
  order_.Collect(nullptr);
  if (!before) edges_.resize(known);
  return before;
}

bool Regions::AllBefore(std::span<const LiveValue> first, std::span<const LiveValue> last) {
  for (const LiveValue& a : first) {
    for (const LiveValue& b : last) {
      if (!BeforeWithEdges(a, b)) return false;
    }
  }
  return true;
}

/// Puts two lists into one, so that whatever comes earlier in it is dead before what comes later is
/// written. An order that holds already goes before one that needs edges.
bool Regions::Interleave(std::span<const LiveValue> first, std::span<const LiveValue> second,
                         std::vector<ValueId>* list) {
  enum : uint8_t { kFirst = 1, kSecond = 2 };
  std::vector<uint8_t> ways(first.size() * second.size());
  auto way = [&](size_t i, size_t j) -> uint8_t& { return ways[i * second.size() + j]; };
  for (size_t i = 0; i < first.size(); ++i) {
    for (size_t j = 0; j < second.size(); ++j) {
      uint8_t possible =
          (Before(first[i], second[j]) ? kFirst : 0) | (Before(second[j], first[i]) ? kSecond : 0);
      if (possible == 0 && BeforeWithEdges(first[i], second[j])) possible = kFirst;
      if (possible == 0 && BeforeWithEdges(second[j], first[i])) possible = kSecond;
      if (possible == 0) return false;
      way(i, j) = possible;
    }
  }
  size_t i = 0, j = 0;
  while (i < first.size() || j < second.size()) {
    bool take_first = i < first.size(), take_second = j < second.size();
    for (size_t k = j; k < second.size() && take_first; ++k) take_first = way(i, k) & kFirst;
    for (size_t k = i; k < first.size() && take_second; ++k) take_second = way(k, j) & kSecond;
    if (!take_first && !take_second) return false;
    list->push_back(take_first ? first[i++].value : second[j++].value);
  }
  return true;
}

/// Would an edge begin or end at an instruction that updates the copied value in place?
bool Regions::TouchUpdates(const LiveValue& source, const LiveValue& result) const {
  for (const LiveValue* value : {&source, &result}) {
    for (const Use& use : value->uses) {
      auto touches = [&](const OrderEdge& edge) {
        return edge.before == use.inst || edge.after == use.inst;
      };
      if (!std::any_of(edges_.begin(), edges_.end(), touches)) continue;
      for (const InPlacePair& pair : InPlacePairs(module_, use.inst)) {
        if (pair.operand == use.operand && pair.from == use.node) return true;
      }
    }
  }
  return false;
}

std::optional<Regions::Joined> Regions::Join(InstId copy, const BufferList& source,
                                             const BufferList& result) {
  if (left_ == 0 || module_.opcode(module_.operand(copy, 0)) == Opcode::kBroadcast) return {};
  if (!Affordable(source, result)) return {};
  // The copy is no reader: it will be gone.
  std::vector<Use> uses(source.middle().uses.begin(), source.middle().uses.end());
  std::erase_if(uses, [&](const Use& use) { return use.inst == copy; });
  const LiveValue from{source.middle().value, source.middle().parts, uses};
  const LiveValue& to = result.middle();
  auto before = [](const BufferList& list) { return std::span(list.values).first(list.at); };
  auto behind = [](const BufferList& list) { return std::span(list.values).subspan(list.at + 1); };

  edges_.clear();
  Joined joined;
  if (!AllBefore(before(result), {&from, 1}) || !AllBefore(before(source), behind(result)) ||
      !AllBefore({&from, 1}, behind(result)) || !AllBefore({&to, 1}, behind(source)) ||
      !Interleave(before(result), before(source), &joined.list)) {
    return {};
  }
  joined.list.push_back(from.value);
  joined.list.push_back(to.value);
  if (!Interleave(behind(result), behind(source), &joined.list)) return {};
  if (TouchUpdates(from, to) || !order_.AddEdges(edges_)) return {};
  joined.edges = edges_;
  return joined;
}

}  // namespace hlokit::copies
