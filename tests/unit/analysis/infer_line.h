// Runs shape inference on one instruction line.
#ifndef HLOKIT_TESTS_UNIT_ANALYSIS_INFER_LINE_H_
#define HLOKIT_TESTS_UNIT_ANALYSIS_INFER_LINE_H_

#include <string>

#include "hlokit/reader.h"
#include "hlokit/shape_inference.h"

namespace hlokit {

/// The shape that the last instruction of a text must have, or the message why it has none. The
/// text is a single instruction ("r = f32[] add(f32[2] a, f32[2] b)") or whole computations. The
/// declared shape is withheld unless `with_declared`.
inline std::string Infer(const std::string& text, bool with_declared = false) {
  Result<Module> module = ReadText(text);
  if (!module) return "cannot read: " + FormatError(module.error());
  InstId root = module->computation(module->entry()).root;
  std::vector<ShapeId> operands;
  for (InstId operand : module->operands(root)) operands.push_back(module->shape(operand));
  Result<ShapeId> shape =
      InferShape(*module, {.opcode = module->opcode(root),
                           .operands = operands,
                           .attributes = module->attributes(root),
                           .declared = with_declared ? module->shape(root) : ShapeId()});
  return shape ? module->shapes().Text(*shape) : shape.error().diagnostics[0].message;
}

/// A reducer of two scalars of a type, to be put in front of an entry computation.
inline std::string Reducer(const std::string& type, const std::string& name = "red") {
  return name + " {\n a = " + type + "[] parameter(0)\n b = " + type +
         "[] parameter(1)\n ROOT c = " + type + "[] add(a, b)\n}\n";
}

}  // namespace hlokit

#endif  // HLOKIT_TESTS_UNIT_ANALYSIS_INFER_LINE_H_
