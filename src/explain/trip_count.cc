// How often does a computation run? Loop multipliers for the price of a copy.
#include <charconv>
#include <cstring>

#include "hlokit/explain.h"
#include "hlokit/printer.h"

namespace hlokit {
namespace {

/// "known_trip_count":{"n":"12"} in a backend config.
std::optional<int64_t> KnownTripCount(std::string_view config) {
  size_t at = config.find("known_trip_count");
  if (at == std::string_view::npos) return std::nullopt;
  at = config.find("\"n\"", at);
  if (at == std::string_view::npos) return std::nullopt;
  at = config.find_first_of("0123456789", at);
  if (at == std::string_view::npos) return std::nullopt;
  int64_t count = 0;
  std::from_chars_result end =
      std::from_chars(config.data() + at, config.data() + config.size(), count);
  if (end.ec != std::errc()) return std::nullopt;
  return count;
}

/// The value of an integer scalar constant, also behind copies, converts and bitcasts.
std::optional<int64_t> ScalarConstant(const Module& module, InstId id) {
  for (int hops = 0; hops < 8; ++hops) {
    Opcode opcode = module.opcode(id);
    if (opcode == Opcode::kCopy || opcode == Opcode::kConvert || opcode == Opcode::kBitcast) {
      id = module.operand(id, 0);
      continue;
    }
    break;
  }
  if (module.opcode(id) != Opcode::kConstant) return std::nullopt;
  ShapeId shape = module.shape(id);
  if (!module.shapes().IsArray(shape) || module.shapes().rank(shape) != 0 ||
      !IsIntegral(module.shapes().type(shape))) {
    return std::nullopt;
  }
  LiteralId literal = module.literal_of(id);
  if (module.literal(literal).elided) return std::nullopt;
  std::span<const std::byte> bytes = module.literal_bytes(literal);
  if (bytes.empty() || bytes.size() > 8) return std::nullopt;
  uint64_t bits = 0;
  std::memcpy(&bits, bytes.data(), bytes.size());
  if (Info(module.shapes().type(shape)).kind == ElementKind::kSigned && bytes.size() < 8) {
    int shift = 64 - 8 * static_cast<int>(bytes.size());
    return static_cast<int64_t>(bits << shift) >> shift;
  }
  return static_cast<int64_t>(bits);
}

/// The element number when `id` is get-tuple-element of parameter 0 of its computation.
std::optional<int64_t> ElementOfParameter(const Module& module, InstId id) {
  while (module.opcode(id) == Opcode::kCopy) id = module.operand(id, 0);
  if (module.opcode(id) != Opcode::kGetTupleElement) return std::nullopt;
  if (module.opcode(module.operand(id, 0)) != Opcode::kParameter) return std::nullopt;
  return module.tuple_index(id);
}

/// The loop `for (i = start; i < limit; i += step)` in its usual form.
std::optional<int64_t> CountedLoop(const Module& module, InstId loop) {
  std::span<const CompId> called = module.called_computations(loop);
  InstId condition = module.computation(called[1]).root;
  if (module.opcode(condition) != Opcode::kCompare) return std::nullopt;
  ComparisonDirection direction =
      static_cast<ComparisonDirection>(module.IntAttr(condition, AttrKind::kDirection));
  if (direction != ComparisonDirection::kLt && direction != ComparisonDirection::kLe)
    return std::nullopt;
  std::optional<int64_t> counter = ElementOfParameter(module, module.operand(condition, 0));
  std::optional<int64_t> limit = ScalarConstant(module, module.operand(condition, 1));
  if (!counter || !limit) return std::nullopt;
  InstId body = module.computation(called[0]).root;
  if (module.opcode(body) != Opcode::kTuple || *counter >= module.operand_count(body))
    return std::nullopt;
  InstId next = module.operand(body, static_cast<uint32_t>(*counter));
  while (module.opcode(next) == Opcode::kCopy) next = module.operand(next, 0);
  if (module.opcode(next) != Opcode::kAdd) return std::nullopt;
  std::optional<int64_t> step;
  for (uint32_t i = 0; i < 2; ++i) {
    std::optional<int64_t> element = ElementOfParameter(module, module.operand(next, i));
    if (element == counter) step = ScalarConstant(module, module.operand(next, 1 - i));
  }
  if (!step || *step <= 0) return std::nullopt;
  InstId state = module.operand(loop, 0);
  if (module.opcode(state) != Opcode::kTuple) return std::nullopt;
  std::optional<int64_t> start =
      ScalarConstant(module, module.operand(state, static_cast<uint32_t>(*counter)));
  if (!start) return std::nullopt;
  __int128 span =
      static_cast<__int128>(*limit) - *start + (direction == ComparisonDirection::kLe ? 1 : 0);
  if (span <= 0) return 0;
  return static_cast<int64_t>((span + *step - 1) / *step);
}

int64_t SaturatingMultiply(int64_t a, int64_t b) {
  int64_t out;
  return __builtin_mul_overflow(a, b, &out) ? std::numeric_limits<int64_t>::max() : out;
}

int64_t SaturatingAdd(int64_t a, int64_t b) {
  int64_t out;
  return __builtin_add_overflow(a, b, &out) ? std::numeric_limits<int64_t>::max() : out;
}

}  // namespace

std::vector<Executions> CountExecutions(const Module& module) {
  std::vector<Executions> out(module.computation_count(), {0, true});
  out[module.entry().value] = {1, true};
  std::vector<CompId> order = ComputationPostOrder(module);
  // Callers first.
  for (size_t i = order.size(); i-- > 0;) {
    Executions caller = out[order[i].value];
    if (caller.count == 0) continue;
    for (InstId id : module.computation(order[i]).instructions) {
      std::span<const CompId> called = module.called_computations(id);
      if (called.empty()) continue;
      Executions own = caller;
      if (module.opcode(id) == Opcode::kWhile) {
        std::optional<int64_t> trips =
            KnownTripCount(module.TextAttr(id, AttrKind::kBackendConfig));
        if (!trips) trips = CountedLoop(module, id);
        if (trips) {
          own.count = SaturatingMultiply(own.count, *trips);
        } else {
          own.known = false;
        }
      }
      for (CompId callee : called) {
        Executions& slot = out[callee.value];
        slot.count = SaturatingAdd(slot.count, own.count);
        slot.known = slot.known && own.known;
      }
    }
  }
  return out;
}

}  // namespace hlokit
