// Which layout on the other side makes a reshape move no data? (section 6.3)
#include <algorithm>

#include "hlokit/layout_rules.h"
#include "src/layout/small_list.h"

namespace hlokit {
namespace {

using layout::SmallList;

struct Boundary {
  size_t source, target;
};

/// The shortest consecutive groups of equal products, as boundaries of both size lists.
void CommonGroups(std::span<const int64_t> a, std::span<const int64_t> b,
                  SmallList<Boundary>* bounds) {
  if (std::equal(a.begin(), a.end(), b.begin(), b.end())) {
    for (size_t i = 0; i <= a.size(); ++i) bounds->push_back({i, i});
    return;
  }
  size_t i = 0;
  for (; i < a.size() && i < b.size() && a[i] == b[i]; ++i) bounds->push_back({i, i});
  size_t j = i;
  // Products wrap around; sizes that overflow never get this far.
  auto product = [](std::span<const int64_t> sizes, size_t from) {
    uint64_t p = 1;
    for (size_t k = from; k < sizes.size(); ++k) p *= static_cast<uint64_t>(sizes[k]);
    return p;
  };
  auto one_group = [&] {
    bounds->clear();
    bounds->push_back({0, 0});
    bounds->push_back({a.size(), b.size()});
  };
  uint64_t rest = product(a, i);
  if (rest != product(b, j)) return one_group();
  if (rest == 0) {
    bounds->push_back({i, j});
    bounds->push_back({a.size(), b.size()});
    return;
  }
  uint64_t left = 1;
  uint64_t right = 1;
  while (true) {
    if (left == right &&
        (bounds->empty() || i > bounds->back().source || j > bounds->back().target)) {
      bounds->push_back({i, j});
    }
    bool more_left = i < a.size();
    bool more_right = j < b.size();
    if (!more_left && !more_right) return;
    // The side with the smaller product advances; of equal products the side with the smaller next
    // size, both when these are equal.
    bool advance_left =
        more_left && (left < right || (left == right && (!more_right || a[i] <= b[j])));
    bool advance_right =
        more_right && (right < left || (left == right && (!more_left || b[j] <= a[i])));
    if (!advance_left && !advance_right) return one_group();  // only products that wrapped around
    if (advance_left) left *= static_cast<uint64_t>(a[i++]);
    if (advance_right) right *= static_cast<uint64_t>(b[j++]);
  }
}

/// Sizes without ones, and for each remaining dimension its number before.
void WithoutOnes(std::span<const int64_t> sizes, SmallList<int64_t>* kept,
                 SmallList<int64_t>* numbers) {
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] == 1) continue;
    kept->push_back(sizes[d]);
    numbers->push_back(static_cast<int64_t>(d));
  }
}

/// Sizes have no ones.
bool AlignGroups(std::span<const int64_t> source, std::span<const int64_t> order,
                 std::span<const int64_t> target, std::vector<int64_t>* aligned) {
  SmallList<Boundary> bounds(source.size() + target.size() + 2);
  CommonGroups(source, target, &bounds);
  SmallList<size_t> group(source.size(), 0);  // of each source dimension
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
  SmallList<int64_t> source_numbers(source.size());
  SmallList<int64_t> target_numbers(target.size());
  SmallList<int64_t> small_source(source.size());
  SmallList<int64_t> small_target(target.size());
  WithoutOnes(source, &small_source, &source_numbers);
  WithoutOnes(target, &small_target, &target_numbers);
  SmallList<int64_t> renumbered(source.size(), -1);
  for (size_t d = 0; d < source_numbers.size(); ++d) {
    renumbered[static_cast<size_t>(source_numbers[d])] = static_cast<int64_t>(d);
  }
  SmallList<int64_t> small_order(order.size());
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
  SmallList<Boundary> bounds(before.size() + after.size() + 2);
  CommonGroups(before, after, &bounds);
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

LayoutId KeepDimensions(ShapePool& shapes, LayoutId layout, std::span<const int64_t> kept) {
  std::span<const int64_t> order = shapes.minor_to_major(layout);
  size_t rank = order.size();
  SmallList<int64_t> number(rank, -1);  // new number of each kept dimension
  for (int64_t d : kept) {
    if (d >= 0 && d < static_cast<int64_t>(rank)) number[static_cast<size_t>(d)] = 0;
  }
  int64_t next = 0;
  for (int64_t& n : number) {
    if (n == 0) n = next++;
  }
  SmallList<int64_t> remaining(rank);
  for (int64_t d : order) {
    if (number[static_cast<size_t>(d)] >= 0) remaining.push_back(number[static_cast<size_t>(d)]);
  }
  if (shapes.order(layout) == layout) return shapes.Layout(remaining);
  // A split configuration moves with its physical position, counted from the most major one.
  SmallList<int64_t> physical(rank, -1);
  int64_t position = 0;
  for (size_t i = rank; i-- > 0;) {
    if (number[static_cast<size_t>(order[i])] >= 0) physical[rank - 1 - i] = position++;
  }
  LayoutExtras extras = shapes.extras(layout);
  std::vector<SplitConfig> splits;
  for (SplitConfig split : extras.splits) {
    if (split.dimension < 0 || split.dimension >= static_cast<int64_t>(rank)) continue;
    int64_t moved = physical[static_cast<size_t>(split.dimension)];
    if (moved < 0) continue;
    split.dimension = moved;
    splits.push_back(std::move(split));
  }
  extras.splits = std::move(splits);
  return shapes.Layout(remaining, extras);
}

}  // namespace hlokit
