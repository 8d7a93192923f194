// What does one demand of a device file say?
#include <limits>

#include "src/backend/object_reader.h"

namespace hlokit::backend {
namespace {

class DemandReader final : public ObjectReader {
 public:
  using ObjectReader::ObjectReader;
  Demand Read(int32_t object);

 private:
  void Id(int32_t at) { demand_.id = node(at).text; }
  void Reason(int32_t at) { demand_.reason = node(at).text; }
  void ReadOpcode(int32_t at);
  void Target(int32_t at) { demand_.custom_call_target = node(at).text; }
  void Types(int32_t at);
  void Rank(int32_t at);
  void Operands(int32_t at);
  void ResultPlace(int32_t at) { demand_.result = node(at).integer != 0; }
  void Order(int32_t at);
  void Dimension(int32_t at);
  void Tiles(int32_t at);
  void TailAlignment(int32_t at);
  void MemorySpace(int32_t at);
  void Strength(int32_t at);
  void CheckDemand(int32_t at);
  void CheckPlaces(int32_t at);
  void Contradiction(int32_t object, std::string_view key, std::string message, std::string help);

  Demand demand_;
};

Demand DemandReader::Read(int32_t object) {
  constexpr Key<DemandReader> kKeys[] = {
      {"id", JsonKind::kString, &DemandReader::Id},
      {"reason", JsonKind::kString, &DemandReader::Reason},
      {"opcode", JsonKind::kString, &DemandReader::ReadOpcode},
      {"target", JsonKind::kString, &DemandReader::Target},
      {"types", JsonKind::kArray, &DemandReader::Types},
      {"rank", JsonKind::kNull, &DemandReader::Rank},
      {"operands", JsonKind::kNull, &DemandReader::Operands},
      {"result", JsonKind::kBool, &DemandReader::ResultPlace},
      {"order", JsonKind::kString, &DemandReader::Order},
      {"dimension", JsonKind::kInteger, &DemandReader::Dimension},
      {"tiles", JsonKind::kArray, &DemandReader::Tiles},
      {"tail_padding_alignment", JsonKind::kInteger, &DemandReader::TailAlignment},
      {"memory_space", JsonKind::kInteger, &DemandReader::MemorySpace},
      {"strength", JsonKind::kString, &DemandReader::Strength},
  };
  SourceLocation place = json_.LocationOf(node(object).offset);
  demand_.line = place.line;
  demand_.column = place.column;
  ReadObject(object, kKeys);
  CheckDemand(object);
  CheckPlaces(object);
  return std::move(demand_);
}

void DemandReader::ReadOpcode(int32_t at) {
  demand_.opcode = OpcodeFromText(node(at).text);
  if (demand_.opcode != Opcode::kUnknown) return;
  std::vector<std::string_view> names;
  for (int i = 0; i < kOpcodeCount; ++i) names.push_back(OpcodeText(static_cast<Opcode>(i)));
  Problem(DiagId::kDeviceFileValue, at,
          fmt::format("there is no opcode {}", JsonQuote(node(at).text)),
          DidYouMean(node(at).text, names, "leave the key out for every opcode"));
}

void DemandReader::Types(int32_t at) {
  for (int32_t item = node(at).first; item >= 0; item = node(item).next) {
    if (!IsKind(item, JsonKind::kString)) continue;
    ElementType type = ElementTypeFromText(node(item).text);
    if (IsArrayType(type)) {
      demand_.types.push_back(type);
    } else {
      Problem(DiagId::kDeviceFileValue, item,
              fmt::format("there is no element type {}", JsonQuote(node(item).text)),
              "f32, bf16, s8, …");
    }
  }
}

/// 4, or [2, 4] for 2 to 4.
void DemandReader::Rank(int32_t at) {
  constexpr int64_t kMostRank = 1000;
  if (node(at).kind == JsonKind::kInteger) {
    std::optional<int64_t> rank = Integer(at, 1, kMostRank);
    if (rank) demand_.min_rank = demand_.max_rank = static_cast<uint32_t>(*rank);
    return;
  }
  if (!IsKind(at, JsonKind::kArray)) return;
  if (node(at).children != 2) {
    Problem(DiagId::kDeviceFileValue, at, "\"rank\" is a number, or [least, most]");
    return;
  }
  int32_t first = node(at).first;
  std::optional<int64_t> least = Integer(first, 1, kMostRank);
  std::optional<int64_t> most = Integer(node(first).next, 1, kMostRank);
  if (!least || !most) return;
  if (*least > *most) {
    Problem(DiagId::kDeviceContradiction, at,
            fmt::format("no rank is at least {} and at most {}", *least, *most),
            "write the smaller one first");
  }
  demand_.min_rank = static_cast<uint32_t>(*least);
  demand_.max_rank = static_cast<uint32_t>(*most);
}

/// "all", or a list of operand numbers.
void DemandReader::Operands(int32_t at) {
  constexpr int64_t kMostOperand = std::numeric_limits<int32_t>::max();
  if (node(at).kind == JsonKind::kString && node(at).text == "all") {
    demand_.all_operands = true;
    return;
  }
  if (!IsKind(at, JsonKind::kArray)) return;
  for (int32_t item = node(at).first; item >= 0; item = node(item).next) {
    std::optional<int64_t> number = Integer(item, 0, kMostOperand);
    if (number) demand_.operands.push_back(static_cast<uint32_t>(*number));
  }
}

void DemandReader::Order(int32_t at) {
  demand_.order = DemandKindFromName(node(at).text);
  if (demand_.order) return;
  Problem(DiagId::kDeviceFileValue, at,
          fmt::format("there is no order {}", JsonQuote(node(at).text)),
          "row-major, column-major, dimension-minor, dimension-major, nchw or nhwc");
}

void DemandReader::Dimension(int32_t at) {
  constexpr int64_t kMost = 1000;
  if (std::optional<int64_t> number = Integer(at, -kMost, kMost)) demand_.dimension = *number;
}

void DemandReader::Tiles(int32_t at) {
  constexpr int64_t kMostSize = int64_t{1} << 30;
  for (int32_t item = node(at).first; item >= 0; item = node(item).next) {
    if (!IsKind(item, JsonKind::kArray)) continue;
    std::vector<int64_t>& tile = demand_.tiles.emplace_back();
    for (int32_t size = node(item).first; size >= 0; size = node(size).next) {
      if (std::optional<int64_t> value = Integer(size, 1, kMostSize)) tile.push_back(*value);
    }
    if (tile.empty()) Problem(DiagId::kDeviceFileValue, item, "a tile needs at least one size");
  }
}

void DemandReader::TailAlignment(int32_t at) {
  constexpr int64_t kMost = int64_t{1} << 30;
  if (std::optional<int64_t> value = Integer(at, 1, kMost)) demand_.tail_padding_alignment = *value;
}

void DemandReader::MemorySpace(int32_t at) {
  constexpr int64_t kMost = 1000;
  if (std::optional<int64_t> value = Integer(at, 0, kMost)) demand_.memory_space = *value;
}

void DemandReader::Strength(int32_t at) {
  demand_.mandatory = node(at).text != "wish";
  if (node(at).text == "must" || node(at).text == "wish") return;
  Problem(DiagId::kDeviceFileValue, at,
          fmt::format("there is no strength {}", JsonQuote(node(at).text)), "must or wish");
}

void DemandReader::Contradiction(int32_t object, std::string_view key, std::string message,
                                 std::string help) {
  int32_t place = json_.Find(object, key);
  Problem(DiagId::kDeviceContradiction, place < 0 ? object : place, std::move(message),
          std::move(help));
}

/// What contradicts itself within one demand.
void DemandReader::CheckDemand(int32_t at) {
  Require(at, "id");
  Require(at, "order");
  bool moves_dimension =
      demand_.order == DemandKind::kDimensionMinor || demand_.order == DemandKind::kDimensionMajor;
  bool has_dimension = json_.Find(at, "dimension") >= 0;
  if (moves_dimension && !has_dimension) Require(at, "dimension");
  if (!moves_dimension && has_dimension) {
    Contradiction(at, "dimension", "\"dimension\" has no meaning for this order",
                  "it belongs to dimension-minor and dimension-major");
  }
  if (moves_dimension && demand_.max_rank) {
    int64_t most = *demand_.max_rank;
    if (demand_.dimension >= most || demand_.dimension < -most) {
      Contradiction(at, "dimension",
                    fmt::format("no array of at most {} dimensions has a dimension {}", most,
                                demand_.dimension),
                    "dimensions count from 0, or from -1 backwards");
    }
  }
  bool image = demand_.order == DemandKind::kNchw || demand_.order == DemandKind::kNhwc;
  if (image && demand_.opcode != Opcode::kConvolution && demand_.opcode != Opcode::kCustomCall) {
    Contradiction(at, "order", "nchw and nhwc speak of the dim_labels of a convolution",
                  "add \"opcode\": \"convolution\"");
  }
  if (!demand_.custom_call_target.empty() && demand_.opcode != Opcode::kCustomCall) {
    Contradiction(at, "target", "only custom calls have a target",
                  "add \"opcode\": \"custom-call\"");
  }
}

void DemandReader::CheckPlaces(int32_t at) {
  if (demand_.all_operands || !demand_.operands.empty() || demand_.result) return;
  if (json_.Find(at, "operands") < 0 && json_.Find(at, "result") < 0) {
    demand_.all_operands = demand_.result = true;
    return;
  }
  Contradiction(at, "operands", "this demand applies nowhere: no operand and not the result",
                "leave \"operands\" and \"result\" out for both");
}

}  // namespace

Demand ReadDemand(const JsonDocument& json, int32_t object, const std::string& file,
                  std::vector<Diagnostic>* errors) {
  return DemandReader(json, file, errors).Read(object);
}

}  // namespace hlokit::backend
