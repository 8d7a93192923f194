// Which value lies at every place of every instruction, and who uses it?
//
// A place is one node of the shape tree of one instruction; places are numbered consecutively. A
// value is what one instruction defines at one place. Where two values can meet (a while loop, a
// conditional) a value of its own is defined, a merge, so that every place holds exactly one value.
// The analysis is a snapshot: edits of the module do not change it.
#ifndef HLOKIT_SRC_COPY_INSERTION_DATAFLOW_H_
#define HLOKIT_SRC_COPY_INSERTION_DATAFLOW_H_

#include <cstdint>
#include <span>
#include <vector>

#include "hlokit/module.h"
#include "hlokit/result.h"
#include "src/copy_insertion/calls.h"

namespace hlokit::copies {

using Place = uint32_t;
using ValueId = uint32_t;
inline constexpr uint32_t kNone = 0xffffffffu;

struct Value {
  InstId inst;    ///< the instruction that defines it
  uint32_t node;  ///< pre-order number in the shape of the instruction
  bool merge;     ///< several values may reach this place
  bool live_out;  ///< it lies in the result of the entry computation
};

/// One use: `inst` reads the value at node `node` of its operand number `operand`.
struct Use {
  InstId inst;
  uint32_t operand;
  uint32_t node;
};

class Dataflow {
 public:
  /// Fails with kUnsupported (P017) when the tuples of the module have too many elements in sum.
  static Result<Dataflow> Make(const Module& module, const Calls& calls);

  Place first_place(InstId inst) const { return first_place_[inst.value]; }
  Place place(InstId inst, uint32_t node) const { return first_place_[inst.value] + node; }
  uint32_t place_count(InstId inst) const { return place_count_[inst.value]; }
  ValueId ValueAt(Place place) const { return value_at_[place]; }
  ValueId ValueAt(InstId inst, uint32_t node = 0) const { return value_at_[place(inst, node)]; }
  /// Was the instruction there when the analysis was made?
  bool Knows(InstId inst) const { return inst.value < first_place_.size(); }

  uint32_t value_count() const { return static_cast<uint32_t>(values_.size()); }
  const Value& value(ValueId id) const { return values_[id]; }
  /// Places that hold the value, ascending.
  std::span<const Place> places(ValueId id) const {
    return {places_.data() + places_begin_[id], places_begin_[id + 1] - places_begin_[id]};
  }
  InstId InstructionOf(Place place) const { return instruction_of_[place]; }
  uint32_t NodeOf(Place place) const { return place - first_place_[InstructionOf(place).value]; }
  std::span<const Use> uses(ValueId id) const {
    return {uses_.data() + uses_begin_[id], uses_begin_[id + 1] - uses_begin_[id]};
  }
  /// Does the value lie in the result of this computation?
  bool LiveOutOf(ValueId id, CompId computation) const;
  bool LiveOutOfAny(ValueId id) const { return live_out_begin_[id] != live_out_begin_[id + 1]; }

 private:
  Dataflow() = default;
  friend class DataflowBuilder;

  std::vector<Place> first_place_;      // by instruction
  std::vector<uint32_t> place_count_;   // by instruction
  std::vector<InstId> instruction_of_;  // by place
  std::vector<ValueId> value_at_;       // by place
  std::vector<Value> values_;
  std::vector<uint32_t> places_begin_;  // by value, one more
  std::vector<Place> places_;
  std::vector<uint32_t> uses_begin_;  // by value, one more
  std::vector<Use> uses_;
  // Computations whose result holds the value.
  std::vector<uint32_t> live_out_begin_;
  std::vector<CompId> live_out_;
};

}  // namespace hlokit::copies

#endif  // HLOKIT_SRC_COPY_INSERTION_DATAFLOW_H_
