// Which copies have one cause, what do they cost together, and which change removes them?
#include <algorithm>
#include <map>

#include "fmt/format.h"
#include "hlokit/explain.h"

namespace hlokit {
namespace {

/// What makes two copies rows of one cause: both demands start at the same places, and the copies
/// change the same thing.
struct CauseKey {
  OriginKind winning, losing;
  uint32_t winning_at, losing_at;
  CopyChange copy_class;
  auto operator<=>(const CauseKey&) const = default;
};

CopyChange ClassOf(const ShapePool& shapes, const AddedArrayCopy& copy) {
  auto space = [&](LayoutId layout) {
    return layout.valid() ? shapes.extras(layout).memory_space : 0;
  };
  if (space(copy.from) == space(copy.to)) return CopyChange::kLayout;
  return shapes.SameOrder(copy.from, copy.to) ? CopyChange::kMemorySpace : CopyChange::kBoth;
}

/// A number for the place where a demand starts; copies whose value merely has the default layout
/// belong together whatever the value is, and so do all demands that one rule of a backend makes
/// with the same words.
uint32_t PlaceOf(const Origin& origin, std::map<std::string, uint32_t>* sentences) {
  if (origin.kind == OriginKind::kDefault) return 0;
  if (!origin.rule.empty()) {
    return sentences->emplace(origin.description, sentences->size()).first->second;
  }
  return origin.instruction.valid() ? origin.instruction.value : origin.hop.event;
}

struct WayOut {
  std::string text;
  std::vector<std::string> flags;
};

/// The change at one end of the disagreement that would make it agree.
std::optional<WayOut> WayOutAt(const Module& module, const Origin& origin, LayoutId other) {
  std::string layout = module.shapes().LayoutText(other);
  switch (origin.kind) {
    case OriginKind::kEntryParameter:
      return WayOut{fmt::format("let the pass choose the layout of parameter {}: --unpin {}",
                                origin.parameter, origin.parameter),
                    {"--unpin", std::to_string(origin.parameter)}};
    case OriginKind::kEntryResult:
      return WayOut{"let the pass choose the layout of the result: --unpin-result",
                    {"--unpin-result"}};
    case OriginKind::kCustomCall:
      return WayOut{fmt::format("let %{} accept {} (operand_layout_constraints)",
                                module.name(origin.instruction), layout),
                    {}};
    case OriginKind::kCollective:
      return WayOut{fmt::format("drop constrain_layout of %{}", module.name(origin.instruction)),
                    {}};
    case OriginKind::kOutfeed:
    case OriginKind::kInfeed:
      return WayOut{fmt::format("write {} at %{}", layout, module.name(origin.instruction)), {}};
    default:
      return std::nullopt;
  }
}

}  // namespace

Explanation Explain(const Module& module, const LayoutAssignmentReport& report,
                    const LayoutTrace& trace, uint64_t copies_in_input) {
  Explanation out;
  out.copies_in_input = copies_in_input;
  const ShapePool& shapes = module.shapes();
  for (InstId parameter : module.computation(module.entry()).parameters) {
    out.parameter_bytes += shapes.LogicalBytes(module.shape(parameter));
  }
  std::vector<Executions> executions = CountExecutions(module);
  std::map<CauseKey, uint32_t> known;
  std::map<std::string, uint32_t> sentences;
  RootFinder roots(trace);
  auto origin_of = [&](CauseHop hop) {
    return DescribeOrigin(module, trace, hop.event == kNoEvent ? hop : roots.Root(hop));
  };
  for (uint32_t added = 0; added < report.copies.size(); ++added) {
    const AddedCopy& copy = report.copies[added];
    if (copy.reason == CopyReason::kPreparatory) {
      out.preparatory_copies += copy.part_count;
      continue;
    }
    for (uint32_t part = copy.first_part; part < copy.first_part + copy.part_count; ++part) {
      const AddedArrayCopy& array = report.parts[part];
      Origin winning = origin_of(array.winning);
      Origin losing = origin_of(array.losing);
      CopyChange copy_class = ClassOf(shapes, array);
      CauseKey key{winning.kind, losing.kind, PlaceOf(winning, &sentences),
                   PlaceOf(losing, &sentences), copy_class};
      auto [entry, fresh] = known.try_emplace(key, static_cast<uint32_t>(out.causes.size()));
      if (fresh) {
        Cause& cause = out.causes.emplace_back();
        cause.copy_class = copy_class;
        // The entry layouts are the user's own to change; what an instruction declares comes
        // second.
        std::optional<WayOut> way = WayOutAt(module, losing, array.to);
        std::optional<WayOut> other = WayOutAt(module, winning, array.from);
        if (!way || (way->flags.empty() && other && !other->flags.empty())) way = other;
        if (way) {
          cause.way_out = way->text;
          cause.flags = way->flags;
        }
        cause.winning = std::move(winning);
        cause.losing = std::move(losing);
      }
      Cause& cause = out.causes[entry->second];
      ExplainedCopy explained{.part = part, .added = added, .cause = entry->second};
      ShapeId shape = module.shape(array.copy);
      explained.logical_bytes = shapes.LogicalBytes(shape);
      explained.padded_bytes =
          std::max(shapes.PaddedBytes(shape),
                   shapes.PaddedBytes(module.shape(module.operand(array.copy, 0))));
      Executions runs = executions[copy.computation.value];
      int64_t times = std::max<int64_t>(runs.count, 1);
      auto add = [times](int64_t& sum, int64_t bytes) {
        int64_t moved;
        if (__builtin_mul_overflow(bytes, times, &moved) ||
            __builtin_add_overflow(sum, moved, &sum)) {
          sum = std::numeric_limits<int64_t>::max();
        }
      };
      add(cause.logical_bytes, explained.logical_bytes);
      add(cause.padded_bytes, explained.padded_bytes);
      add(out.logical_bytes, explained.logical_bytes);
      add(out.padded_bytes, explained.padded_bytes);
      cause.multiplier = std::max(cause.multiplier, times);
      cause.multiplier_known = cause.multiplier_known && runs.known;
      cause.copies.push_back(static_cast<uint32_t>(out.copies.size()));
      out.copies.push_back(explained);
    }
  }
  // Most bytes first; ties in the order of insertion.
  std::vector<uint32_t> order(out.causes.size());
  for (uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return out.causes[a].padded_bytes > out.causes[b].padded_bytes;
  });
  std::vector<Cause> sorted;
  for (uint32_t i : order) {
    sorted.push_back(std::move(out.causes[i]));
    sorted.back().id = fmt::format("C{}", sorted.size());
    for (uint32_t copy : sorted.back().copies)
      out.copies[copy].cause = static_cast<uint32_t>(sorted.size() - 1);
  }
  out.causes = std::move(sorted);
  return out;
}

}  // namespace hlokit
