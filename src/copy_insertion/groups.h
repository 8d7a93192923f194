// Which values must live in the same memory?
#ifndef HLOKIT_SRC_COPY_INSERTION_GROUPS_H_
#define HLOKIT_SRC_COPY_INSERTION_GROUPS_H_

#include <span>
#include <vector>

#include "src/copy_insertion/dataflow.h"

namespace hlokit::copies {

/// Groups are numbered in the order of their first values.
class Groups {
 public:
  Groups(const Module& module, const Dataflow& flow);
  uint32_t count() const { return static_cast<uint32_t>(begin_.size()) - 1; }
  uint32_t GroupOf(ValueId value) const { return group_[value]; }
  std::span<const ValueId> members(uint32_t group) const {
    return {members_.data() + begin_[group], begin_[group + 1] - begin_[group]};
  }

 private:
  ValueId Find(ValueId value);
  void Union(ValueId a, ValueId b);
  void UnionNodes(const Dataflow& flow, InstId a, InstId b);
  void UnionInstruction(const Module& module, const Dataflow& flow, InstId inst);
  void UnionEntryAliases(const Module& module, const Dataflow& flow);
  void Number();

  std::vector<ValueId> parent_;
  std::vector<uint32_t> group_;
  std::vector<uint32_t> begin_;
  std::vector<ValueId> members_;
};

}  // namespace hlokit::copies

#endif  // HLOKIT_SRC_COPY_INSERTION_GROUPS_H_
