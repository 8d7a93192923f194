// Which buffers may a value be? (sections 1.4 and 1.5)
//
// Every place (pre-order number) of every output has one points-to entry: a buffer number. An
// instruction that passes its operand on, or a part of it, shares the entries of its operand, so a
// get-tuple-element costs nothing. The one place that may hold several buffers (an async-start with
// two aliases) keeps the others in more_buffers_.
#include <algorithm>

#include "src/layout/engine.h"

namespace hlokit::layout {
namespace {

/// More entries than this are refused: text can name them much faster than memory can hold them.
constexpr size_t kMaxEntries = size_t{1} << 27;

}  // namespace

uint32_t Engine::NewBuffer(InstId definer, uint32_t index, ShapeId shape) {
  Buffer buffer{.definer = definer, .index = index, .shape = shape};
  if (shapes_.IsArray(shape)) buffer.rank = shapes_.rank(shape);
  buffers_.push_back(buffer);
  return static_cast<uint32_t>(buffers_.size()) - 1;
}

/// Starts the entries of an instruction, none of them filled.
bool Engine::ReserveEntries(InstId inst, uint32_t count) {
  if (points_to_.size() + count > kMaxEntries) {
    return Fail(DiagId::kLayoutTooLarge,
                "the tuples of the module have too many elements in sum, at " + Quote(inst),
                "hlokit handles at most 134,217,728 tuple elements over all instructions");
  }
  infos_[inst.value].points_to = static_cast<uint32_t>(points_to_.size());
  points_to_.resize(points_to_.size() + count, kNone);
  return true;
}

/// Entries `to`… of the instruction := entries that begin at the absolute position `from`.
bool Engine::MapEntries(InstId inst, uint32_t to, uint32_t from, uint32_t count) {
  uint32_t begin = infos_[inst.value].points_to + to;
  for (uint32_t i = 0; i < count; ++i) points_to_[begin + i] = points_to_[from + i];
  for (uint32_t i = 0; !more_buffers_.empty() && i < count; ++i) {
    if (auto more = more_buffers_.find(from + i); more != more_buffers_.end()) {
      std::vector<uint32_t> list = more->second;
      more_buffers_[begin + i] = std::move(list);
    }
  }
  return true;
}

/// The output is the part of an operand that begins at pre-order number `offset`.
bool Engine::ShareEntries(InstId inst, InstId operand, uint32_t offset) {
  if (offset + SubshapeCount(inst) > SubshapeCount(operand) ||
      shapes_[shapes_.Subshape(module_.shape(operand), offset)].static_bare !=
          shapes_[module_.shape(inst)].static_bare) {
    return Fail(DiagId::kLayoutStructure,
                "the shape of " + Quote(inst) + " is not that of the part of " + Quote(operand) +
                    " that it passes on",
                "run 'hlokit verify' on the module", ExitCode::kVerifyFailed);
  }
  infos_[inst.value].points_to = infos_[operand.value].points_to + offset;
  return true;
}

/// The entries of one instruction; its operands have theirs.
bool Engine::PointsToOf(InstId inst) {
  ShapeId shape = module_.shape(inst);
  uint32_t count = SubshapeCount(inst);
  uint32_t operand_count = OperandCount(inst);
  auto misfit = [&] {
    return Fail(DiagId::kLayoutStructure,
                "the shape of " + Quote(inst) + " does not fit its operands",
                "run 'hlokit verify' on the module", ExitCode::kVerifyFailed);
  };
  auto element = [&](uint32_t i) { return shapes_.element(shape, i); };
  auto same = [&](ShapeId a, ShapeId b) {
    return shapes_[a].subshape_count == shapes_[b].subshape_count;
  };
  // Parts of the output that are parts of operands: (to, operand, offset in it, count).
  struct Part {
    uint32_t to, operand, from, count;
  };
  std::vector<Part> parts;
  switch (info(inst).opcode) {
    case Opcode::kGetTupleElement: {
      if (operand_count != 1) return misfit();
      InstId tuple = Operand(inst, 0);
      ShapeId tuple_shape = module_.shape(tuple);
      int64_t index = module_.tuple_index(inst);
      if (!shapes_.IsTuple(tuple_shape) || index < 0 ||
          index >= shapes_.element_count(tuple_shape)) {
        return misfit();
      }
      return ShareEntries(inst, tuple,
                          shapes_.element_offset(tuple_shape, static_cast<uint32_t>(index)));
    }
    case Opcode::kDomain:
    case Opcode::kAddDependency:
    case Opcode::kOptimizationBarrier:
    case Opcode::kAsyncUpdate:
      if (operand_count == 0) return misfit();
      return ShareEntries(inst, Operand(inst, 0), 0);
    case Opcode::kAsyncDone:
    case Opcode::kCopyDone: {
      uint32_t part = info(inst).opcode == Opcode::kAsyncDone ? 1 : 0;
      if (operand_count == 0) return misfit();
      ShapeId start = module_.shape(Operand(inst, 0));
      if (!shapes_.IsTuple(start) || shapes_.element_count(start) <= part) return misfit();
      return ShareEntries(inst, Operand(inst, 0), shapes_.element_offset(start, part));
    }
    case Opcode::kTuple:
      if (!shapes_.IsTuple(shape) || shapes_.element_count(shape) != operand_count) return misfit();
      for (uint32_t k = 0; k < operand_count; ++k) {
        ShapeId operand = module_.shape(Operand(inst, k));
        if (!same(element(k), operand)) return misfit();
        parts.push_back({shapes_.element_offset(shape, k), k, 0, shapes_[operand].subshape_count});
      }
      break;
    case Opcode::kCopy:
      if (operand_count != 1 || !same(shape, module_.shape(Operand(inst, 0)))) return misfit();
      if (count > 1) parts.push_back({1, 0, 1, count - 1});
      break;
    case Opcode::kSend:
      if (!shapes_.IsTuple(shape) || shapes_.element_count(shape) == 0 || operand_count == 0 ||
          !same(element(0), module_.shape(Operand(inst, 0)))) {
        return misfit();
      }
      parts.push_back({1, 0, 0, shapes_[element(0)].subshape_count});
      break;
    case Opcode::kRecvDone: {
      if (operand_count == 0) return misfit();
      ShapeId start = module_.shape(Operand(inst, 0));
      if (!shapes_.IsTuple(shape) || shapes_.element_count(shape) == 0 || !shapes_.IsTuple(start) ||
          shapes_.element_count(start) == 0 || !same(element(0), shapes_.element(start, 0))) {
        return misfit();
      }
      parts.push_back({1, 0, 1, shapes_[element(0)].subshape_count});
      break;
    }
    case Opcode::kCopyStart:
      if (!shapes_.IsTuple(shape) || shapes_.element_count(shape) < 2 || operand_count == 0 ||
          !same(element(1), module_.shape(Operand(inst, 0)))) {
        return misfit();
      }
      parts.push_back({shapes_.element_offset(shape, 1), 0, 0, shapes_[element(1)].subshape_count});
      break;
    case Opcode::kAsyncStart: {
      if (!shapes_.IsTuple(shape) || shapes_.element_count(shape) < 2) return misfit();
      ShapeId inputs = element(0);
      if (!shapes_.IsTuple(inputs) || shapes_.element_count(inputs) != operand_count)
        return misfit();
      for (uint32_t k = 0; k < operand_count; ++k) {
        ShapeId operand = module_.shape(Operand(inst, k));
        if (!same(shapes_.element(inputs, k), operand)) return misfit();
        parts.push_back(
            {1 + shapes_.element_offset(inputs, k), k, 0, shapes_[operand].subshape_count});
      }
      [[fallthrough]];
    }
    case Opcode::kFusion:
      for (const OperandAlias& alias : module_.output_to_operand_aliasing(inst)) {
        if (alias.operand_number < 0 || alias.operand_number >= operand_count) return misfit();
        uint32_t k = static_cast<uint32_t>(alias.operand_number);
        std::optional<uint32_t> to = shapes_.PreorderOf(shape, alias.output_index);
        std::optional<uint32_t> from =
            shapes_.PreorderOf(module_.shape(Operand(inst, k)), alias.operand_index);
        if (!to || !from) return misfit();
        parts.push_back({*to, k, *from, 1});
      }
      break;
    default:
      break;
  }
  if (!ReserveEntries(inst, count)) return false;
  uint32_t begin = infos_[inst.value].points_to;
  for (const Part& part : parts) {
    uint32_t from = info(Operand(inst, part.operand)).points_to + part.from;
    if (part.count == 1 && points_to_[begin + part.to] != kNone) {
      more_buffers_[begin + part.to].push_back(points_to_[from]);
      continue;
    }
    MapEntries(inst, part.to, from, part.count);
  }
  // Everything else is a buffer of its own.
  if (count == 1) {
    if (points_to_[begin] == kNone) points_to_[begin] = NewBuffer(inst, 0, shape);
    return true;
  }
  subshapes_.clear();
  shapes_.AppendSubshapes(shape, &subshapes_);
  for (uint32_t i = 0; i < count; ++i) {
    if (points_to_[begin + i] == kNone) points_to_[begin + i] = NewBuffer(inst, i, subshapes_[i]);
  }
  return true;
}

bool Engine::ComputePointsTo() {
  points_to_.reserve(module_.instruction_count());
  post_orders_.reserve(module_.instruction_count());
  buffers_.reserve(module_.instruction_count());
  for (CompId computation : visiting_) {
    ComputationState& state = computations_[computation.value];
    state.first_buffer = static_cast<uint32_t>(buffers_.size());
    HLOKIT_LAYOUT_CHECK(BufferOrder(computation, &order_) && StoreOrder(computation, order_));
    for (InstId inst : order_) {
      if (info(inst).opcode == Opcode::kBitcast) {
        return Fail(DiagId::kLayoutBitcast,
                    Quote(inst) + " is a bitcast: this module comes from after layout assignment",
                    "give the module from before the layout passes, or turn bitcasts back into "
                    "reshapes and transposes");
      }
      HLOKIT_LAYOUT_CHECK(PointsToOf(inst));
    }
    state.end_buffer = static_cast<uint32_t>(buffers_.size());
    ComputeForwarding(computation);
  }
  if (buffers_.size() > kKeyNumberMask) {
    return Fail(DiagId::kLayoutTooLarge, "the module has too many buffers");
  }
  buffer_constraints_.assign(buffers_.size(), {});
  if (tracing()) buffer_events_.assign(buffers_.size(), kNoEvent);
  ComputeBufferAliases();
  CollectInPostOrder();
  return true;
}

/// Which array operands are also in the output of their user. (Tuple operands are never asked for.)
void Engine::ComputeForwarding(CompId computation) {
  forwarding_mark_.resize(buffers_.size(), InstId());
  for (InstId inst : module_.computation(computation).instructions) {
    bool own_outputs = false;
    switch (info(inst).opcode) {
      case Opcode::kDomain:
      case Opcode::kAddDependency:
      case Opcode::kOptimizationBarrier:
      case Opcode::kAsyncUpdate:
      case Opcode::kTuple:
      case Opcode::kSend:
      case Opcode::kCopyStart:
      case Opcode::kAsyncStart:
        break;
      case Opcode::kFusion:
        own_outputs = !info(inst).Has(kHasOutputAliases);
        break;
      default:
        own_outputs = true;  // or the operand is a tuple
    }
    uint32_t count = OperandCount(inst);
    if (own_outputs || count == 0) continue;
    bool marked = false;
    for (uint32_t k = 0; k < count; ++k) {
      InstId op = Operand(inst, k);
      if (!info(op).IsArray()) continue;
      if (!marked) {
        for (uint32_t i = 0; i < SubshapeCount(inst); ++i) {
          forwarding_mark_[BufferAt(inst, i)] = inst;
          if (const std::vector<uint32_t>* more = MoreBuffersAt(inst, i)) {
            for (uint32_t b : *more) forwarding_mark_[b] = inst;
          }
        }
        marked = true;
      }
      bool forwarded = forwarding_mark_[BufferAt(op)] == inst;
      if (const std::vector<uint32_t>* more = MoreBuffersAt(op, 0)) {
        for (uint32_t b : *more) forwarded = forwarded || forwarding_mark_[b] == inst;
      }
      if (forwarded) operand_constraints_[info(inst).first_operand + k].operand_flags |= kForwarded;
    }
  }
}

/// For each buffer the instructions with an array output that may be it, in instruction-list order.
void Engine::ComputeBufferAliases() {
  alias_begin_.assign(buffers_.size() + 2, 0);
  auto each = [&](auto&& action) {
    for (CompId computation : visiting_) {
      for (InstId inst : module_.computation(computation).instructions) {
        if (!info(inst).IsArray()) continue;
        action(BufferAt(inst), inst);
        if (const std::vector<uint32_t>* more = MoreBuffersAt(inst, 0)) {
          for (uint32_t b : *more) action(b, inst);
        }
      }
    }
  };
  each([&](uint32_t buffer, InstId) { ++alias_begin_[buffer + 2]; });
  for (uint32_t b = 2; b < alias_begin_.size(); ++b) alias_begin_[b] += alias_begin_[b - 1];
  aliases_.resize(alias_begin_.back());
  each([&](uint32_t buffer, InstId inst) { aliases_[alias_begin_[buffer + 1]++] = inst; });
  alias_begin_.pop_back();
  forwarding_mark_ = {};
}

/// Constrained custom calls and all-reduces with channels are handled in post-order.
void Engine::CollectInPostOrder() {
  for (CompId computation : visiting_) {
    ComputationState& state = computations_[computation.value];
    for (InstId inst : StoredPostOrder(computation)) {
      if (info(inst).Has(kConstrainedCustomCall)) state.constrained_custom_calls.push_back(inst);
      if (IsChannelAllReduce(inst)) state.channel_all_reduces.push_back(inst);
    }
  }
}

}  // namespace hlokit::layout
