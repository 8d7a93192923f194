// Does an array collapse to a batch of matrices without moving data?
#include "src/backend/matrix_groups.h"

namespace hlokit::backend {
namespace {

enum Group : uint8_t { kBatch, kRows, kColumns, kGroupCount };

/// The whole group stands at `at`, fastest dimension first.
bool Follows(std::span<const int64_t> order, size_t at, std::span<const int64_t> group) {
  if (group.empty() || order.size() - at < group.size()) return false;
  for (size_t i = 0; i < group.size(); ++i) {
    if (order[at + i] != group[group.size() - 1 - i]) return false;
  }
  return true;
}

}  // namespace

bool CollapsesToMatrices(std::span<const int64_t> order, const MatrixGroups& groups) {
  const std::span<const int64_t> members[kGroupCount] = {groups.batch, groups.rows, groups.columns};
  bool seen[kGroupCount] = {};
  Group found[kGroupCount];  // fastest first
  int count = 0;
  for (size_t at = 0; at < order.size();) {
    Group next = kGroupCount;
    for (Group group : {kRows, kColumns, kBatch}) {
      if (!members[group].empty() && members[group].back() == order[at]) {
        next = group;
        break;
      }
    }
    if (next == kGroupCount || seen[next] || !Follows(order, at, members[next])) return false;
    seen[next] = true;
    found[count++] = next;
    at += members[next].size();
  }
  // Groups without dimensions are the slowest ones, wherever that matters.
  for (Group group : {kColumns, kRows, kBatch}) {
    if (!seen[group]) found[count++] = group;
  }
  return found[0] != kBatch;
}

}  // namespace hlokit::backend
