// Which demands of a device file meet at one place, and which of them holds?
#include <algorithm>
#include <map>

#include "src/backend/object_reader.h"

namespace hlokit::backend {
namespace {

/// Pairs that are reported one by one.
constexpr size_t kMostMeetings = 20;

template <typename T>
bool Intersect(const std::vector<T>& a, const std::vector<T>& b) {
  return std::any_of(a.begin(), a.end(),
                     [&](const T& x) { return std::find(b.begin(), b.end(), x) != b.end(); });
}

bool SameInstructions(const Demand& a, const Demand& b) {
  if (a.opcode && b.opcode && *a.opcode != *b.opcode) return false;
  if (!a.custom_call_target.empty() && !b.custom_call_target.empty() &&
      a.custom_call_target != b.custom_call_target) {
    return false;
  }
  if (!a.types.empty() && !b.types.empty() && !Intersect(a.types, b.types)) return false;
  return a.min_rank.value_or(1) <= b.max_rank.value_or(UINT32_MAX) &&
         b.min_rank.value_or(1) <= a.max_rank.value_or(UINT32_MAX);
}

/// "the result", "operand 1", or empty where the two never meet.
std::string SharedPlace(const Demand& a, const Demand& b) {
  if (a.result && b.result) return "the result";
  if (a.all_operands && b.all_operands) return "the operands";
  const std::vector<uint32_t>& named = a.all_operands ? b.operands : a.operands;
  for (uint32_t k : named) {
    bool shared = a.all_operands || b.all_operands ||
                  std::find(b.operands.begin(), b.operands.end(), k) != b.operands.end();
    if (shared) return fmt::format("operand {}", k);
  }
  return "";
}

std::string OrderText(const Demand& demand) {
  bool moves =
      demand.order == DemandKind::kDimensionMinor || demand.order == DemandKind::kDimensionMajor;
  std::string_view name = demand.order ? DemandKindName(*demand.order) : "no order";
  return moves ? fmt::format("{} {}", name, demand.dimension) : std::string(name);
}

/// The outcome of two requests, the earlier one first (layout-assignment.md section 2.4).
const Demand& Winner(const Demand& earlier, const Demand& later) {
  return later.mandatory ? later : earlier;
}

std::string MeetingText(const Demand& earlier, const Demand& later, const std::string& place) {
  std::string where = place;
  std::optional<Opcode> opcode = earlier.opcode ? earlier.opcode : later.opcode;
  if (opcode) where += fmt::format(" of {}", OpcodeText(*opcode));
  std::string text =
      fmt::format("{} asks {} for {}, and {} (line {}) for {}", JsonQuote(later.id), where,
                  OrderText(later), JsonQuote(earlier.id), earlier.line, OrderText(earlier));
  if (OrderText(earlier) != OrderText(later)) {
    return text + fmt::format(": {} holds", JsonQuote(Winner(earlier, later).id));
  }
  return text + fmt::format(", with other tiles or another memory space: those of {} stay",
                            JsonQuote(earlier.id));
}

/// The later demand asks for an order only, or for the same tiles and memory space: nothing is
/// lost.
bool KeepsExtras(const Demand& earlier, const Demand& later) {
  bool plain = later.tiles.empty() && later.tail_padding_alignment == 1 && !later.memory_space;
  return plain || (earlier.tiles == later.tiles && earlier.memory_space == later.memory_space &&
                   earlier.tail_padding_alignment == later.tail_padding_alignment);
}

}  // namespace

void CheckDemands(const JsonDocument& json, std::span<const int32_t> nodes,
                  std::span<const Demand> demands, const std::string& file,
                  std::vector<Diagnostic>* errors, std::vector<Diagnostic>* warnings) {
  auto report = [&](std::vector<Diagnostic>* to, DiagId id, Severity severity, size_t demand,
                    std::string message, std::string help) {
    if (to == nullptr) return;
    to->push_back(json.At(id, severity, nodes[demand], std::move(message), std::move(help)));
    to->back().file = file;
  };
  std::map<std::string_view, size_t> ids;
  size_t meetings = 0;
  for (size_t later = 0; later < demands.size(); ++later) {
    const Demand& b = demands[later];
    auto [known, fresh] = ids.emplace(b.id, later);
    if (!fresh && !b.id.empty()) {
      report(errors, DiagId::kDeviceContradiction, Severity::kError, later,
             fmt::format("the demand {} stands twice, at line {} too", JsonQuote(b.id),
                         demands[known->second].line),
             "every demand needs an id of its own: reports name it");
    }
    for (size_t earlier = 0; earlier < later; ++earlier) {
      const Demand& a = demands[earlier];
      if (!SameInstructions(a, b)) continue;
      std::string place = SharedPlace(a, b);
      if (place.empty() || (OrderText(a) == OrderText(b) && KeepsExtras(a, b))) continue;
      if (++meetings > kMostMeetings) continue;
      report(warnings, DiagId::kDeviceRulesMeet, Severity::kWarning, later,
             MeetingText(a, b, place),
             "a must beats a wish, a later must an earlier one, an earlier wish a later one");
    }
  }
  if (meetings > kMostMeetings) {
    report(warnings, DiagId::kDeviceRulesMeet, Severity::kWarning, demands.size() - 1,
           fmt::format("{} more pairs of demands meet", meetings - kMostMeetings), "");
  }
}

}  // namespace hlokit::backend
