// How is a value copied leaf by leaf?
#include "src/copy_insertion/deep_copy.h"

namespace hlokit::copies {
namespace {

/// One tuple that is being taken apart.
struct Frame {
  InstId tuple;
  uint32_t node;
  std::vector<InstId> elements;
};

}  // namespace

NodeSet AllNodes(const Module& module, InstId inst) {
  return NodeSet(module.shapes()[module.shape(inst)].subshape_count, 1);
}

bool AnyLeaf(const Module& module, InstId inst, const NodeSet& nodes) {
  const ShapePool& shapes = module.shapes();
  std::vector<ShapeId> subshapes = shapes.Subshapes(module.shape(inst));
  for (size_t i = 0; i < subshapes.size(); ++i) {
    if (nodes[i] && !shapes.IsTuple(subshapes[i])) return true;
  }
  return false;
}

DeepCopied DeepCopy(Rewriter& rewriter, InstId inst, const NodeSet& nodes) {
  const Module& module = rewriter.module();
  const ShapePool& shapes = module.shapes();
  CompId computation = module.computation_of(inst);
  DeepCopied out;
  out.copies.resize(nodes.size());
  std::vector<Frame> stack;
  // Gives `value`, which lies at `node`, to the tuple around it, or opens it when it is a tuple.
  InstId done;
  auto enter = [&](InstId value, uint32_t node) {
    ShapeId shape = module.shape(value);
    if (shapes.IsTuple(shape)) {
      stack.push_back({value, node, {}});
      return;
    }
    done = value;
    if (!nodes[node] || !shapes.IsArray(shape) || shapes[shape].is_buffer) return;
    done = rewriter.Add(computation, Opcode::kCopy, shape, {&value, 1});
    out.copies[node] = done;
  };
  enter(inst, 0);
  while (!stack.empty()) {
    if (done.valid()) stack.back().elements.push_back(done);
    done = InstId();
    Frame& frame = stack.back();
    ShapeId shape = module.shape(frame.tuple);
    uint32_t next = static_cast<uint32_t>(frame.elements.size());
    if (next < shapes.element_count(shape)) {
      InstId element = rewriter.AddElement(frame.tuple, next, shapes.element(shape, next));
      enter(element, frame.node + shapes.element_offset(shape, next));
      continue;
    }
    done = rewriter.Add(computation, Opcode::kTuple, shape, frame.elements);
    stack.pop_back();
  }
  out.result = done;
  return out;
}

}  // namespace hlokit::copies
