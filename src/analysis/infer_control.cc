// Which shape do tuples, calls, loops and asynchronous pairs have?
#include <algorithm>

#include "src/analysis/inference_context.h"

namespace hlokit::inference {

Result<ShapeId> InferTuple(const Context& c) { return c.shapes.Tuple(c.input.operands); }

Result<ShapeId> InferGetTupleElement(const Context& c) {
  ShapeId tuple = c.operand(0);
  if (!c.shapes.IsTuple(tuple)) {
    return Fail("get-tuple-element needs a tuple, not {}", c.Text(tuple));
  }
  int64_t index = c.Int(AttrKind::kIndex);
  if (index < 0 || index >= c.shapes.element_count(tuple)) {
    return Fail("index {} is out of range for {}", index, c.Text(tuple));
  }
  return c.shapes.element(tuple, static_cast<uint32_t>(index));
}

Result<ShapeId> InferCall(const Context& c) {
  ASSIGN_OR_RETURN(Callee callee, GetCallee(c, 0));
  TRY(ExpectParameters(c, callee, c.input.operands));
  return callee.root;
}

Result<ShapeId> InferWhile(const Context& c) {
  ASSIGN_OR_RETURN(Callee body, GetCallee(c, 0));
  ASSIGN_OR_RETURN(Callee condition, GetCallee(c, 1));
  TRY(ExpectParameters(c, body, c.input.operands));
  TRY(ExpectParameters(c, condition, c.input.operands));
  if (!c.IsScalar(condition.root, ElementType::kPred)) {
    return Fail("the condition {} must give pred[], not {}", c.module.name(condition.id),
                c.Text(condition.root));
  }
  if (!c.shapes.Compatible(body.root, c.operand(0))) {
    return Fail("the body {} gives {}, but the loop carries {}", c.module.name(body.id),
                c.Text(body.root), c.Text(c.operand(0)));
  }
  return body.root;
}

Result<ShapeId> InferConditional(const Context& c) {
  size_t branches = c.Callees().size();
  if (branches == 0) return Fail("conditional needs at least one branch");
  if (c.operand_count() != branches + 1) {
    return Fail("conditional has {} branches, but {} operands after the selector", branches,
                c.operand_count() == 0 ? 0 : c.operand_count() - 1);
  }
  bool pred = c.IsScalar(c.operand(0), ElementType::kPred);
  if (!pred && !c.IsScalar(c.operand(0), ElementType::kS32)) {
    return Fail("the selector of conditional must be pred[] or s32[], not {}",
                c.Text(c.operand(0)));
  }
  if (pred && branches != 2)
    return Fail("conditional on pred[] needs 2 branches, not {}", branches);
  ShapeId result;
  for (size_t i = 0; i < branches; ++i) {
    ASSIGN_OR_RETURN(Callee branch, GetCallee(c, i));
    if (branch.parameters.size() != 1) {
      return Fail("branch {} must have 1 parameter, it has {}", c.module.name(branch.id),
                  branch.parameters.size());
    }
    if (!c.shapes.Compatible(branch.parameters[0], c.operand(i + 1))) {
      return Fail("operand {} is {}, but branch {} takes {}", i + 1, c.Text(c.operand(i + 1)),
                  c.module.name(branch.id), c.Text(branch.parameters[0]));
    }
    if (i == 0) result = branch.root;
    if (!c.shapes.Compatible(result, branch.root)) {
      return Fail("the branches give different shapes: {} and {}", c.Text(result),
                  c.Text(branch.root));
    }
  }
  return result;
}

Result<ShapeId> InferFusion(const Context& c) {
  if (c.Callees().size() != 1)
    return Fail("fusion calls {} computations, not 1", c.Callees().size());
  return InferCall(c);
}

Result<ShapeId> InferAfterAll(const Context& c) {
  for (size_t i = 0; i < c.operand_count(); ++i) {
    if (c.type(i) != ElementType::kToken) {
      return Fail("operand {} of after-all must be a token, not {}", i, c.Text(c.operand(i)));
    }
  }
  return c.shapes.Token();
}

Result<ShapeId> InferAddDependency(const Context& c) {
  if (c.type(1) != ElementType::kToken) {
    return Fail("operand 1 of add-dependency must be a token, not {}", c.Text(c.operand(1)));
  }
  return c.operand(0);
}

Result<ShapeId> InferCopyStart(const Context& c) {
  ShapeId results[] = {c.operand(0), c.operand(0),
                       c.Array(ElementType::kU32, std::span<const int64_t>())};
  return c.shapes.Tuple(results);
}

Result<ShapeId> InferCopyDone(const Context& c) {
  ShapeId pair = c.operand(0);
  if (!c.shapes.IsTuple(pair) || c.shapes.element_count(pair) < 2) {
    return Fail("operand 0 of copy-done must be (destination, source, context), not {}",
                c.Text(pair));
  }
  if (!c.shapes.Compatible(c.shapes.element(pair, 0), c.shapes.element(pair, 1))) {
    return Fail("source and destination of copy-done differ: {}", c.Text(pair));
  }
  return c.shapes.element(pair, 0);
}

namespace {

/// ((parameters…), result, …) of an asynchronous instruction.
Status ExpectAsyncTuple(const Context& c, ShapeId shape) {
  if (c.shapes.IsTuple(shape) && c.shapes.element_count(shape) >= 2 &&
      c.shapes.IsTuple(c.shapes.element(shape, 0))) {
    return {};
  }
  return Fail("{} needs the shape ((operands), result, …), not {}", OpcodeText(c.input.opcode),
              c.Text(shape));
}

}  // namespace

Result<ShapeId> InferAsyncStart(const Context& c) {
  ShapeId declared = c.input.declared;
  TRY(ExpectAsyncTuple(c, declared));
  ASSIGN_OR_RETURN(Callee callee, GetCallee(c, 0));
  TRY(ExpectParameters(c, callee, c.input.operands));
  std::vector<ShapeId> results = {c.shapes.Tuple(callee.parameters), callee.root};
  for (uint32_t i = 2; i < c.shapes.element_count(declared); ++i) {
    results.push_back(c.shapes.element(declared, i));
  }
  return c.shapes.Tuple(results);
}

Result<ShapeId> InferAsyncUpdate(const Context& c) {
  if (c.operand_count() != 1)
    return Fail("async-update takes one operand, not {}", c.operand_count());
  TRY(ExpectAsyncTuple(c, c.operand(0)));
  return c.operand(0);
}

Result<ShapeId> InferAsyncDone(const Context& c) {
  TRY(ExpectAsyncTuple(c, c.operand(0)));
  return c.shapes.element(c.operand(0), 1);
}

namespace {

Status ExpectToken(const Context& c, size_t i) {
  if (c.type(i) == ElementType::kToken) return {};
  return Fail("operand {} of {} must be a token, not {}", i, OpcodeText(c.input.opcode),
              c.Text(c.operand(i)));
}

/// Element `index` of a tuple; fails when there is none.
Result<ShapeId> Member(const Context& c, ShapeId tuple, uint32_t index) {
  if (c.shapes.IsTuple(tuple) && index < c.shapes.element_count(tuple)) {
    return c.shapes.element(tuple, index);
  }
  return Fail("{} has no element {}, which {} needs", c.Text(tuple), index,
              OpcodeText(c.input.opcode));
}

}  // namespace

Result<ShapeId> InferHostTransfer(const Context& c) {
  ShapeId context = c.Array(ElementType::kU32, std::span<const int64_t>());
  ShapeId token = c.shapes.Token();
  ShapeId data;
  switch (c.input.opcode) {
    case Opcode::kSend: {
      TRY(ExpectToken(c, 1));
      ShapeId results[] = {c.operand(0), context, token};
      return c.shapes.Tuple(results);
    }
    case Opcode::kRecv: {
      TRY(ExpectToken(c, 0));
      ASSIGN_OR_RETURN(data, Member(c, c.input.declared, 0));
      ShapeId results[] = {data, context, token};
      return c.shapes.Tuple(results);
    }
    case Opcode::kInfeed: {
      TRY(ExpectToken(c, 0));
      ASSIGN_OR_RETURN(data, Member(c, c.input.declared, 0));
      break;
    }
    case Opcode::kRecvDone: {
      ASSIGN_OR_RETURN(data, Member(c, c.operand(0), 0));
      break;
    }
    case Opcode::kOutfeed: {
      TRY(ExpectToken(c, 1));
      const Attr* sent = c.Find(AttrKind::kOutfeedShape);
      if (sent != nullptr && !c.shapes.Compatible(ShapeId(sent->low), c.operand(0))) {
        return Fail("outfeed_shape is {}, but the operand {}", c.Text(ShapeId(sent->low)),
                    c.Text(c.operand(0)));
      }
      return token;
    }
    default:  // send-done
      return token;
  }
  ShapeId results[] = {data, token};
  return c.shapes.Tuple(results);
}

}  // namespace hlokit::inference
