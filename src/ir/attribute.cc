// Which attributes does an opcode take, and in which order are they printed?
#include "hlokit/attribute.h"

#include <array>
#include <vector>

namespace hlokit {
namespace {

struct Row {
  Opcode opcode;
  AttrSpec spec;
};

constexpr Row kRows[] = {
#define ROW(opcode, attribute, required) {Opcode::opcode, {AttrKind::attribute, required}},
#include "opcode_attributes.def"
};

/// The rows regrouped by opcode.
struct ByOpcode {
  std::array<AttrSpec, std::size(kRows)> specs{};
  std::array<uint16_t, kOpcodeCount + 2> begin{};
};

constexpr ByOpcode Group() {
  ByOpcode out;
  uint16_t at = 0;
  for (int opcode = 0; opcode <= kOpcodeCount; ++opcode) {
    out.begin[opcode] = at;
    for (const Row& row : kRows) {
      if (static_cast<int>(row.opcode) == opcode) out.specs[at++] = row.spec;
    }
  }
  out.begin[kOpcodeCount + 1] = at;
  return out;
}

constexpr ByOpcode kByOpcode = Group();

constexpr AttrKind kCommon[] = {
    AttrKind::kSharding,   AttrKind::kFrontendAttributes, AttrKind::kControlPredecessors,
    AttrKind::kStatistics, AttrKind::kResultAccuracy,     AttrKind::kOrigin,
    AttrKind::kMetadata,   AttrKind::kBackendConfig,
};

constexpr std::string_view kApiVersions[] = {
    "API_VERSION_UNSPECIFIED", "API_VERSION_ORIGINAL", "API_VERSION_STATUS_RETURNING",
    "API_VERSION_STATUS_RETURNING_UNIFIED", "API_VERSION_TYPED_FFI"};
constexpr std::string_view kModes[] = {"cross_replica", "cross_partition",
                                       "cross_replica_and_partition", "flattened_id"};
constexpr std::string_view kComparisonTypes[] = {"FLOAT", "TOTALORDER", "SIGNED", "UNSIGNED"};
constexpr std::string_view kConvolutionKinds[] = {"unset", "fprop", "wgrad", "dgrad"};
constexpr std::string_view kSchedules[] = {"SCHEDULE_NONE", "SCHEDULE_LATEST", "SCHEDULE_EARLIEST"};
constexpr std::string_view kDirections[] = {"EQ", "NE", "GE", "GT", "LE", "LT"};
constexpr std::string_view kDistributions[] = {"rng_invalid", "rng_uniform", "rng_normal"};
constexpr std::string_view kDotAlgorithms[] = {"unset",
                                               "dot_any_f8_any_f8_f32",
                                               "dot_any_f8_any_f8_f32_fast_accum",
                                               "dot_f16_f16_f16",
                                               "dot_f16_f16_f32",
                                               "dot_bf16_bf16_bf16",
                                               "dot_bf16_bf16_f32",
                                               "dot_bf16_bf16_f32_x3",
                                               "dot_bf16_bf16_f32_x6",
                                               "dot_bf16_bf16_f32_x9",
                                               "dot_tf32_tf32_f32",
                                               "dot_tf32_tf32_f32_x3",
                                               "dot_f32_f32_f32",
                                               "dot_f64_f64_f64"};
constexpr std::string_view kFftTypes[] = {"FFT", "IFFT", "RFFT", "IRFFT"};
constexpr std::string_view kFusionKinds[] = {"kLoop", "kInput", "kOutput", "kCustom"};
constexpr std::string_view kPaddingTypes[] = {"PADDING_INVALID", "PADDING_VALID", "PADDING_SAME"};
constexpr std::string_view kRngAlgorithms[] = {"rng_default", "rng_three_fry", "rng_philox"};
constexpr std::string_view kTransposes[] = {"TRANSPOSE_INVALID", "NO_TRANSPOSE", "TRANSPOSE",
                                            "ADJOINT"};
constexpr std::string_view kPrecisions[] = {"default", "high", "highest"};

}  // namespace

std::span<const std::string_view> EnumNames(AttrType type) {
  switch (type) {
    case AttrType::kApiVersion:
      return kApiVersions;
    case AttrType::kCollectiveMode:
      return kModes;
    case AttrType::kComparisonType:
      return kComparisonTypes;
    case AttrType::kConvolutionKind:
      return kConvolutionKinds;
    case AttrType::kCustomCallSchedule:
      return kSchedules;
    case AttrType::kDirection:
      return kDirections;
    case AttrType::kDistribution:
      return kDistributions;
    case AttrType::kDotAlgorithm:
      return kDotAlgorithms;
    case AttrType::kFftType:
      return kFftTypes;
    case AttrType::kFusionKind:
      return kFusionKinds;
    case AttrType::kPaddingType:
      return kPaddingTypes;
    case AttrType::kRngAlgorithm:
      return kRngAlgorithms;
    case AttrType::kTransposeA:
      return kTransposes;
    default:
      return {};
  }
}

bool EnumIgnoresCase(AttrType type) {
  switch (type) {
    case AttrType::kApiVersion:
    case AttrType::kCustomCallSchedule:
    case AttrType::kDistribution:
    case AttrType::kDotAlgorithm:
    case AttrType::kRngAlgorithm:
      return true;
    default:
      return false;
  }
}

std::span<const std::string_view> PrecisionNames() { return kPrecisions; }

std::span<const AttrSpec> OpcodeAttributes(Opcode opcode) {
  int i = static_cast<int>(opcode);
  return {kByOpcode.specs.data() + kByOpcode.begin[i],
          static_cast<size_t>(kByOpcode.begin[i + 1] - kByOpcode.begin[i])};
}

std::span<const AttrKind> CommonAttributes() { return kCommon; }

int AttributeRank(Opcode opcode, AttrKind kind) {
  constexpr int kCalledRank = 100;
  constexpr int kCommonRank = 200;
  if (Info(kind).text.empty()) return kind == AttrKind::kUnknownAttribute ? 300 : -1;
  std::span<const AttrSpec> specs = OpcodeAttributes(opcode);
  if (kind == AttrKind::kIsComposite) return kCalledRank + 1;
  if (kind != AttrKind::kCalledComputations) {
    for (size_t i = 0; i < specs.size(); ++i) {
      if (specs[i].kind == kind) return static_cast<int>(i);
    }
  }
  if (kind == AttrKind::kResultAccuracy) return kCommonRank + 4;
  if (Info(kind).type == AttrType::kComputation || Info(kind).type == AttrType::kComputationList) {
    return kCalledRank;
  }
  for (size_t i = 0; i < std::size(kCommon); ++i) {
    if (kCommon[i] == kind) return kCommonRank + static_cast<int>(i);
  }
  return 299;
}

}  // namespace hlokit
