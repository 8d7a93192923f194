// Where does an element of a result lie in an operand?
//
// Elements are numbered by their place in memory (of the elements; padding left out). An index map
// writes the number of an element of the result in mixed radix, from most to least major digit, and
// says for each digit which step in the operand it makes. Chains of transposes, copies, bitcasts
// and elementwise operations compose.
#ifndef HLOKIT_SRC_COPIES_INDEX_MAP_H_
#define HLOKIT_SRC_COPIES_INDEX_MAP_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "hlokit/module.h"

namespace hlokit {

struct Digit {
  int64_t size;
  int64_t step;
};

class IndexMap {
 public:
  /// The map of an array onto itself.
  static IndexMap Identity(int64_t elements);
  /// Behind this map, an instruction whose result has `dims[k]`-sized dimensions at `from` steps
  /// reads its operand at `to` steps. False when the digits do not fit (the map is unchanged then).
  bool Step(std::vector<Digit> from, const std::vector<int64_t>& to);
  /// Neighbouring digits that make one step are one digit.
  void Merge();
  bool IsIdentity() const {
    return digits_.empty() || (digits_.size() == 1 && digits_[0].step == 1);
  }
  /// The innermost digit of the result is the innermost one of the operand.
  bool KeepsRows() const { return digits_.empty() || digits_.back().step == 1; }
  /// For each digit, from major to minor, its rank among the digits of the operand.
  std::vector<uint32_t> Permutation() const;

 private:
  std::vector<Digit> digits_;
};

/// Steps of the dimensions of an array in memory, by dimension; without layout: row-major.
std::vector<int64_t> StepsOf(const Module& module, ShapeId array);

/// Goes from an instruction to one operand, when it only moves elements or computes them one by
/// one. False for other opcodes.
bool StepThrough(const Module& module, InstId inst, uint32_t operand, IndexMap& map);

/// Does the opcode compute each element of the result from the same element of its operands?
bool IsElementByElement(const Module& module, InstId inst);

}  // namespace hlokit

#endif  // HLOKIT_SRC_COPIES_INDEX_MAP_H_
