// Which lanes (devices of a frame) exchange values in a collective, and what do they hand on?
#ifndef HLOKIT_SRC_EVAL_LANES_H_
#define HLOKIT_SRC_EVAL_LANES_H_

#include <vector>

#include "src/eval/engine.h"

namespace hlokit::eval {

/// The lane of a device; an error when it does not run this code.
Result<size_t> LaneOf(const Engine& e, const Frame& frame, InstId id, int64_t device);
/// The replica groups as lanes.
Result<std::vector<std::vector<size_t>>> LanesOf(Engine& e, const Frame& frame, InstId id);
/// A group whose size does not go with the shapes.
std::unexpected<Error> WrongGroupSize(const Engine& e, InstId id, size_t members);

/// The shape of the result proper: of a start op its element 1.
Result<ShapeId> ResultShape(const Engine& e, InstId id);
/// The shape of output `i` of an instruction with one result per operand.
ShapeId OutputShape(const Engine& e, ShapeId shape, uint32_t i, size_t operands);
/// Results per lane and operand, joined to a value of `shape`.
void Join(const Engine& e, ShapeId shape, std::vector<std::vector<Value>> results,
          DeviceValues* out);
/// The results of a start op whose done op takes element 1 become (inputs, results, contexts…);
/// others stay as they are. Of `inputs` operands the first element is made.
Status WrapStart(Engine& e, const Frame& frame, InstId id, uint32_t inputs, DeviceValues* results);

}  // namespace hlokit::eval

#endif  // HLOKIT_SRC_EVAL_LANES_H_
