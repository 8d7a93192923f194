#ifndef HLOKIT_SHAPE_INFERENCE_H_
#define HLOKIT_SHAPE_INFERENCE_H_

#include <span>

#include "hlokit/module.h"
#include "hlokit/result.h"

namespace hlokit {

/// What the shape rules look at. The instruction itself need not exist yet.
struct InferenceInput {
  Opcode opcode = Opcode::kUnknown;
  std::span<const ShapeId> operands;  ///< shapes of the operands
  /// Attributes in any order; lists lie in the pools of the module. Called computations come as
  /// kCalledComputations and must be complete (parameters and root known).
  std::span<const Attr> attributes;
  /// The result shape that was written down; invalid when there is none. Opcodes whose result does
  /// not follow from the operands alone (reshape, convert, iota, all-gather, …) take their sizes or
  /// type from it and check it. Ignored where the operands say everything.
  ShapeId declared;
};

/// The result shape that an instruction must have (hlo-verifier.md section 3). New shapes get
/// {n-1,…,0} layouts; what is passed through keeps its layout. Layouts never make inference fail.
/// Without `declared` only the opcodes marked inferable in opcodes.def give a shape (opt-barrier is
/// the exception: it never does). Mixed float precisions are allowed; the wider one wins.
/// Fails with kVerifyFailed and one plain sentence without name or place of the instruction.
Result<ShapeId> InferShape(const Module& module, const InferenceInput& input);

/// The same from operands, for the reader: no declared shape.
Result<ShapeId> InferShape(const Module& module, Opcode opcode, std::span<const InstId> operands,
                           std::span<const Attr> attributes);

}  // namespace hlokit

#endif  // HLOKIT_SHAPE_INFERENCE_H_
