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
void Engine::MapEntries(InstId inst, uint32_t to, uint32_t from, uint32_t count) {
  uint32_t begin = infos_[inst.value].points_to + to;
  for (uint32_t i = 0; i < count; ++i) points_to_[begin + i] = points_to_[from + i];
  for (uint32_t i = 0; !more_buffers_.empty() && i < count; ++i) {
    if (auto more = more_buffers_.find(from + i); more != more_buffers_.end()) {
      std::vector<uint32_t> list = more->second;
      more_buffers_[begin + i] = std::move(list);
    }
  }
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
  std::optional<uint32_t> whole;
  HLOKIT_LAYOUT_CHECK(FindPassedOnWhole(inst, &whole));
  if (whole.has_value()) return ShareEntries(inst, Operand(inst, 0), *whole);
  parts_.clear();
  HLOKIT_LAYOUT_CHECK(FindPassedOnParts(inst));
  uint32_t count = SubshapeCount(inst);
  HLOKIT_LAYOUT_CHECK(ReserveEntries(inst, count));
  uint32_t begin = infos_[inst.value].points_to;
  for (const PassedOnPart& part : parts_) {
    uint32_t from = info(Operand(inst, part.operand)).points_to + part.from;
    if (part.count == 1 && points_to_[begin + part.to] != kNone) {
      more_buffers_[begin + part.to].push_back(points_to_[from]);
      continue;
    }
    MapEntries(inst, part.to, from, part.count);
  }
  // Everything else is a buffer of its own.
  ShapeId shape = module_.shape(inst);
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
