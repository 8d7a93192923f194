// Which layout on the other side makes a reshape move no data? (section 6.3)
#include <algorithm>

#include "hlokit/layout_rules.h"

namespace hlokit {
namespace {

struct Boundary {
  size_t source, target;
};

/// The shortest consecutive groups of equal products, as boundaries of both size lists.
std::vector<Boundary> CommonGroups(std::span<const int64_t> a, std::span<const int64_t> b) {
  std::vector<Boundary> bounds;
  if (std::equal(a.begin(), a.end(), b.begin(), b.end())) {
    for (size_t i = 0; i <= a.size(); ++i) bounds.push_back({i, i});
    return bounds;
  }
  size_t i = 0;
  for (; i < a.size() && i < b.size() && a[i] == b[i]; ++i) bounds.push_back({i, i});
  size_t j = i;
  // Products wrap around like those of the reference do; sizes that overflow never get this far.
  auto product = [](std::span<const int64_t> sizes, size_t from) {
    uint64_t p = 1;
    for (size_t k = from; k < sizes.size(); ++k) p *= static_cast<uint64_t>(sizes[k]);
    return p;
  };
  uint64_t rest = product(a, i);
  if (rest != product(b, j)) return {{0, 0}, {a.size(), b.size()}};
  if (rest == 0) {
    bounds.push_back({i, j});
    bounds.push_back({a.size(), b.size()});
    return bounds;
  }
  uint64_t left = 1;
  uint64_t right = 1;
  while (true) {
    if (left == right && (bounds.empty() || i > bounds.back().source || j > bounds.back().target)) {
      bounds.push_back({i, j});
    }
    if (i == a.size() && j == b.size()) return bounds;
    bool more_left = i < a.size();
    bool more_right = j < b.size();
    bool advance_left = left < right;
    bool advance_right = right < left;
    if (left == right) {
      // Equal products: the smaller next size goes first; a list that is used up does not move.
      advance_left = more_left && (!more_right || a[i] <= b[j]);
      advance_right = more_right && (!more_left || b[j] <= a[i]);
    }
    if (advance_left && more_left) left *= static_cast<uint64_t>(a[i++]);
    if (advance_right && more_right) right *= static_cast<uint64_t>(b[j++]);
    if ((advance_left && !more_left && !advance_right) ||
        (advance_right && !more_right && !advance_left)) {
      // Only products that wrapped around get here.
      return {{0, 0}, {a.size(), b.size()}};
    }
  }
}

/// Sizes without ones, and for each remaining dimension its number before.
std::vector<int64_t> WithoutOnes(std::span<const int64_t> sizes, std::vector<int64_t>* numbers) {
  std::vector<int64_t> kept;
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] == 1) continue;
    kept.push_back(sizes[d]);
    numbers->push_back(static_cast<int64_t>(d));
  }
  return kept;
}

/// Sizes have no ones.
bool AlignGroups(std::span<const int64_t> source, std::span<const int64_t> order,
                 std::span<const int64_t> target, std::vector<int64_t>* aligned) {
  std::vector<Boundary> bounds = CommonGroups(source, target);
  std::vector<size_t> group(source.size());  // of each source dimension
  for (size_t g = 0; g + 1 < bounds.size(); ++g) {
    for (size_t d = bounds[g].source; d < bounds[g + 1].source; ++d) group[d] = g;
  }
  for (size_t at = 0; at < order.size();) {
    size_t g = group[static_cast<size_t>(order[at])];
    // From minor to major a group must stand in descending order without a gap.
    for (size_t d = bounds[g + 1].source; d-- > bounds[g].source; ++at) {
      if (at == order.size() || order[at] != static_cast<int64_t>(d)) return false;
    }
    for (size_t d = bounds[g + 1].target; d-- > bounds[g].target;) {
      aligned->push_back(static_cast<int64_t>(d));
    }
  }
  return aligned->size() == target.size();
}

}  // namespace

bool AlignLayout(std::span<const int64_t> source, std::span<const int64_t> order,
                 std::span<const int64_t> target, std::vector<int64_t>* aligned) {
  aligned->clear();
  std::vector<int64_t> source_numbers;
  std::vector<int64_t> target_numbers;
  std::vector<int64_t> small_source = WithoutOnes(source, &source_numbers);
  std::vector<int64_t> small_target = WithoutOnes(target, &target_numbers);
  std::vector<int64_t> renumbered(source.size(), -1);
  for (size_t d = 0; d < source_numbers.size(); ++d) {
    renumbered[static_cast<size_t>(source_numbers[d])] = static_cast<int64_t>(d);
  }
  std::vector<int64_t> small_order;
  for (int64_t d : order) {
    int64_t number = renumbered[static_cast<size_t>(d)];
    if (number >= 0) small_order.push_back(number);
  }
  if (!AlignGroups(small_source, small_order, small_target, aligned)) return false;
  for (int64_t& d : *aligned) d = target_numbers[static_cast<size_t>(d)];
  for (size_t d = target.size(); d-- > 0;) {
    if (target[d] == 1) aligned->push_back(static_cast<int64_t>(d));
  }
  return true;
}

bool MerelyInsertsOrDeletesUnitDimensions(std::span<const int64_t> before,
                                          std::span<const int64_t> after) {
  std::vector<Boundary> bounds = CommonGroups(before, after);
  for (size_t g = 0; g + 1 < bounds.size(); ++g) {
    size_t left = bounds[g + 1].source - bounds[g].source;
    size_t right = bounds[g + 1].target - bounds[g].target;
    if (left == 1 && right == 1) continue;  // unmodified
    for (size_t d = bounds[g].source; d < bounds[g + 1].source; ++d) {
      if (before[d] > 1) return false;
    }
    for (size_t d = bounds[g].target; d < bounds[g + 1].target; ++d) {
      if (after[d] > 1) return false;
    }
  }
  return true;
}

LayoutId DeleteDimensions(ShapePool& shapes, LayoutId layout, const std::vector<bool>& deleted) {
  std::span<const int64_t> order = shapes.minor_to_major(layout);
  std::vector<int64_t> number(deleted.size());  // new number of each kept dimension
  int64_t next = 0;
  for (size_t d = 0; d < deleted.size(); ++d) {
    number[d] = next;
    if (!deleted[d]) ++next;
  }
  std::vector<int64_t> kept;
  std::vector<int64_t> physical(order.size());  // new physical position (0 = most major), or -1
  for (size_t i = 0; i < order.size(); ++i) {
    size_t d = static_cast<size_t>(order[i]);
    if (!deleted[d]) kept.push_back(number[d]);
  }
  int64_t position = 0;
  for (size_t i = order.size(); i-- > 0;) {
    bool gone = deleted[static_cast<size_t>(order[i])];
    physical[order.size() - 1 - i] = gone ? -1 : position++;
  }
  if (shapes.order(layout) == layout) return shapes.Layout(kept);
  LayoutExtras extras = shapes.extras(layout);
  std::vector<SplitConfig> splits;
  for (SplitConfig split : extras.splits) {
    if (split.dimension < 0 || split.dimension >= static_cast<int64_t>(physical.size())) continue;
    int64_t moved = physical[static_cast<size_t>(split.dimension)];
    if (moved < 0) continue;
    split.dimension = moved;
    splits.push_back(std::move(split));
  }
  extras.splits = std::move(splits);
  return shapes.Layout(kept, extras);
}

}  // namespace hlokit
