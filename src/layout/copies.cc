// How is a value copied into another layout? (section 10.4)
#include <string>
#include <vector>

#include "hlokit/attribute_text.h"
#include "src/layout/engine.h"

namespace hlokit::layout {
namespace {

/// The device of a sharding that names one ordinary device ("{maximal device=3}"), else -1.
int64_t SingleDevice(std::string_view sharding) {
  int64_t device = -1;
  for (std::string_view member : ShardingMembers(sharding)) {
    size_t at = std::string_view::npos;
    for (std::string_view key : {"{maximal device=", "{maximal_mesh[device_id="}) {
      if (member.starts_with(key)) at = key.size();
    }
    if (at == std::string_view::npos || at >= member.size() || member[at] < '0' ||
        member[at] > '9') {
      return -1;
    }
    int64_t number = 0;
    for (; at < member.size() && member[at] >= '0' && member[at] <= '9'; ++at) {
      if (number < (int64_t{1} << 58)) number = number * 10 + (member[at] - '0');
    }
    if (device != -1 && device != number) return -1;
    device = number;
  }
  return device;
}

bool IsTupleSharding(std::string_view text) { return text.starts_with("{{") || text == "{}"; }

}  // namespace

/// What an added instruction takes over from the value it stands for. `element` >= 0: `to` is that
/// element of the tuple `from`.
void Engine::TakeAttributes(InstId from, InstId to, int64_t element) {
  std::vector<Attr> attrs;
  for (const Attr& attr : module_.attributes(from)) {
    if (attr.kind == AttrKind::kMetadata || attr.kind == AttrKind::kFrontendAttributes ||
        attr.kind == AttrKind::kSharding) {
      attrs.push_back(attr);
    }
  }
  if (attrs.empty()) return;
  for (const Attr& attr : module_.attributes(to)) attrs.push_back(attr);
  for (size_t i = 0; i < attrs.size(); ++i) {
    if (attrs[i].kind != AttrKind::kSharding) continue;
    std::string sharding(module_.str(attrs[i].text()));
    if (element >= 0 && IsTupleSharding(sharding)) {
      // Members are leaves of the tuple, in order.
      ShapeId tuple = module_.shape(from);
      std::vector<std::string_view> members = ShardingMembers(sharding);
      size_t first = 0;
      for (uint32_t e = 0; e < element; ++e) first += shapes_[shapes_.element(tuple, e)].leaf_count;
      ShapeId part = shapes_.element(tuple, static_cast<uint32_t>(element));
      size_t count = shapes_[part].leaf_count;
      std::vector<std::string> kept;
      for (size_t m = first; m < first + count && m < members.size(); ++m) {
        kept.emplace_back(members[m]);
      }
      sharding = shapes_.IsTuple(part) ? TupleShardingText(kept) : kept.empty() ? "" : kept[0];
    }
    if (sharding.empty() || SingleDevice(sharding) >= 0) {
      attrs.erase(attrs.begin() + static_cast<std::ptrdiff_t>(i));
    } else if (sharding != module_.str(attrs[i].text())) {
      attrs[i] = module_.TextAttribute(AttrKind::kSharding, sharding);
    }
    break;
  }
  module_.SetAttributes(to, attrs);
}

InstId Engine::AddArrayCopy(InstId value, ShapeId wanted, uint32_t leaf) {
  CompId computation = module_.computation_of(value);
  LayoutId from = shapes_.layout(module_.shape(value));
  LayoutId to = shapes_.layout(wanted);
  ShapeId shape = shapes_.WithLayout(module_.shape(value), to);
  InstId copy = module_.AddInstruction(computation, Opcode::kCopy, shape, {&value, 1},
                                       module_.UniqueInstructionName("copy"));
  TakeAttributes(value, copy, -1);
  AddedArrayCopy part{.copy = copy, .leaf = leaf, .from = from, .to = to};
  if (tracing()) {
    part.losing = {BufferEvent(BufferAt(copy_definer_, leaf)), 0};
    if (copy_winning_.event != kNoEvent) {
      part.winning = trace_->Resolve({copy_winning_.event, copy_winning_.leaf + leaf});
    }
  }
  report_.parts.push_back(part);
  return copy;
}

/// A copy of `value` with the layouts of `wanted`; tuples are taken apart, and what has the right
/// layout already is used as it is.
InstId Engine::CopyWithLayout(InstId value, ShapeId wanted) {
  struct Level {
    InstId value;
    ShapeId wanted;
    uint32_t leaf;            // pre-order number of this tuple in the whole shape
    int64_t element_of = -1;  // the number that its get-tuple-element has
    std::vector<InstId> elements;
  };
  std::vector<Level> stack;
  InstId done;  // the result of the last level that was finished
  auto enter = [&](InstId v, ShapeId w, uint32_t leaf) -> bool {
    if (shapes_.IsArray(w)) {
      done = AddArrayCopy(v, w, leaf);
      return true;
    }
    if (!shapes_.IsTuple(w)) {
      return Fail(DiagId::kLayoutCannotCopy, Quote(v) + " is neither an array nor a tuple");
    }
    stack.push_back({.value = v, .wanted = w, .leaf = leaf, .elements = {}});
    return true;
  };
  if (!enter(value, wanted, 0)) return {};
  while (!stack.empty()) {
    CompId computation = module_.computation_of(stack.back().value);
    Level& top = stack.back();
    if (done.valid()) {
      top.elements.push_back(done);
      done = InstId();
    }
    uint32_t count = shapes_.element_count(top.wanted);
    if (top.elements.size() == count) {
      // The shape of its elements, with all layouts as wanted.
      InstId tuple = module_.AddInstruction(computation, Opcode::kTuple,
                                            shapes_.ClearLayouts(module_.shape(top.value)),
                                            top.elements, module_.UniqueInstructionName("tuple"));
      if (!TakeLayouts(tuple, top.wanted)) return {};
      TakeAttributes(top.value, tuple, -1);
      stack.pop_back();
      done = tuple;
      continue;
    }
    uint32_t i = static_cast<uint32_t>(top.elements.size());
    ShapeId tuple_shape = module_.shape(top.value);
    ShapeId have = shapes_.element(tuple_shape, i);
    ShapeId want = shapes_.element(top.wanted, i);
    InstId element =
        module_.AddInstruction(computation, Opcode::kGetTupleElement, have, {&top.value, 1},
                               module_.UniqueInstructionName("get-tuple-element"));
    module_.SetAttr(element, Attr::Integer(AttrKind::kIndex, i));
    if (shapes_.SameShapeAndOrder(want, have, /*strict=*/true)) {
      top.elements.push_back(element);
      continue;
    }
    TakeAttributes(top.value, element, i);
    if (!enter(element, want, top.leaf + shapes_.element_offset(tuple_shape, i))) return {};
  }
  return done;
}

// ---- the report ----

void Engine::StartCopy(CopyReason reason, InstId source, InstId consumer, uint32_t operand,
                       ShapeId old_shape, ShapeId new_shape) {
  report_.copies.push_back({.reason = reason,
                            .computation = module_.computation_of(source),
                            .source = source,
                            .consumer = consumer,
                            .operand = operand,
                            .old_shape = old_shape,
                            .new_shape = new_shape,
                            .first_part = static_cast<uint32_t>(report_.parts.size())});
}

void Engine::FinishCopy(InstId top) {
  AddedCopy& copy = report_.copies.back();
  copy.top = top;
  copy.part_count = static_cast<uint32_t>(report_.parts.size()) - copy.first_part;
}

}  // namespace hlokit::layout
