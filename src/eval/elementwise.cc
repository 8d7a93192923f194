// Element by element: all operands have the sizes of the result.
#include <algorithm>

#include "src/eval/element_op.h"
#include "src/eval/function.h"
#include "src/eval/handlers.h"
#include "src/eval/native.h"
#include "src/eval/strided.h"

namespace hlokit::eval {

Status Elementwise(OpContext& c) {
  const std::optional<ElementOp> op = ElementOp::Make(c.module, c.id);
  if (!op) {
    return c.Refuse(std::string("not known for ") +
                    std::string(c.in.empty() ? "no operand" : Info(c.in[0].type).text));
  }
  const int64_t count = c.out[0].count;
  const std::byte* in[3] = {};
  std::vector<std::byte> spread[3];
  for (size_t i = 0; i < c.in.size(); ++i) {
    if (c.in[i].type != op->in_type(static_cast<int>(i)))
      return c.Refuse("an operand has another type");
    in[i] = c.in[i].data;
    if (c.in[i].count == count) continue;
    // The limits of clamp and the predicate of select may be scalars.
    if (c.in[i].rank() != 0) return c.Refuse("an operand has other sizes than the result");
    const size_t width = static_cast<size_t>(c.in[i].width());
    spread[i].resize(static_cast<size_t>(count) * width);
    Fill({c.in[i].type, {}, spread[i].data(), count}, in[i]);
    in[i] = spread[i].data();
  }
  op->Run(in, c.out[0].data, count);
  return {};
}

Status Map(OpContext& c) {
  ASSIGN_OR_RETURN(Function function, Function::Make(c, c.module.to_apply(c.id)));
  if (function.parameters() != c.in.size() || function.results() != 1) {
    return c.Refuse("the computation does not fit the operands");
  }
  std::vector<const std::byte*> in;
  for (size_t i = 0; i < c.in.size(); ++i) {
    if (c.in[i].type != function.parameter_type(i) || c.in[i].count != c.out[0].count) {
      return c.Refuse("the computation does not fit the operands");
    }
    in.push_back(c.in[i].data);
  }
  if (function.result_type(0) != c.out[0].type) return c.Refuse("the result has another type");
  std::byte* out = c.out[0].data;
  return function.Apply(in, {&out, 1}, c.out[0].count);
}

}  // namespace hlokit::eval
