#ifndef HLOKIT_ATTRIBUTE_H_
#define HLOKIT_ATTRIBUTE_H_

#include <cstdint>
#include <span>
#include <string_view>

#include "hlokit/id.h"
#include "hlokit/opcode.h"

namespace hlokit {

/// Every attribute of attributes.def. Called computations of all opcodes are stored as ONE
/// attribute kCalledComputations, in this order: while = body, condition; conditional = branches
/// (true, false for a pred); select-and-scatter = select, scatter; others as written.
enum class AttrKind : uint8_t {
#define HLOKIT_ATTRIBUTE(id, text, type) id,
#include "hlokit/attributes.def"
};

/// How a value is written in text, and which fields of Attr hold it.
///   integer()            kInt, kInt32, kBool, all enums (index into EnumNames), kFloat (bits of a
///   double) text()               kString (unescaped bytes), kBackendConfig (unescaped bytes),
///   kUnknown
///                        ("name=value" as written), and the kinds that are kept as canonical text:
///                        kIntListList, kDimLabels, kReplicaGroups, kSharding, kMetadata,
///                        kFrontendAttributes, kOrigin, kStatistics, kResultAccuracy, kDomain,
///                        kSparsity
///   list in ints()       kIntList; kBoolList; kPrecisionList (enum numbers); kRanges (start,
///   limit,
///                        stride per dimension); kPadding (low, high, interior per dimension);
///                        kWindow (kWindowFields numbers per dimension); kAliasing (encoded, see
///                        Module::output_to_operand_aliasing)
///   list in refs()       kComputationList, kInstructionList, kShapeList
///   id()                 kShape, kLiteral, kComputation
enum class AttrType : uint8_t {
  kInt,
  kInt32,
  kBool,
  kFloat,
  // enums
  kApiVersion,
  kCollectiveMode,
  kComparisonType,
  kConvolutionKind,
  kCustomCallSchedule,
  kDirection,
  kDistribution,
  kDotAlgorithm,
  kFftType,
  kFusionKind,
  kPaddingType,
  kRngAlgorithm,
  kTransposeA,
  // text
  kString,
  kBackendConfig,
  kUnknown,
  kIntListList,
  kDimLabels,
  kReplicaGroups,
  kSharding,
  kMetadata,
  kFrontendAttributes,
  kOrigin,
  kStatistics,
  kResultAccuracy,
  kDomain,
  kSparsity,
  // integers
  kIntList,
  kBoolList,
  kPrecisionList,
  kRanges,
  kPadding,
  kWindow,
  kAliasing,
  // ids
  kComputationList,
  kInstructionList,
  kShapeList,
  kShape,
  kLiteral,
  kComputation,
};

struct AttrInfo {
  std::string_view text;  ///< name in HLO text; empty for what is not written as an attribute
  AttrType type;
};

inline constexpr AttrInfo kAttributes[] = {
#define HLOKIT_ATTRIBUTE(id, text, type) {text, AttrType::type},
#include "hlokit/attributes.def"
};
inline constexpr int kAttributeCount = sizeof(kAttributes) / sizeof(kAttributes[0]);

constexpr const AttrInfo& Info(AttrKind kind) { return kAttributes[static_cast<int>(kind)]; }

constexpr bool IsEnum(AttrType type) {
  return type >= AttrType::kApiVersion && type <= AttrType::kTransposeA;
}
constexpr bool IsText(AttrType type) {
  return type >= AttrType::kString && type <= AttrType::kSparsity;
}
constexpr bool IsIntegerList(AttrType type) {
  return type >= AttrType::kIntList && type <= AttrType::kAliasing;
}
constexpr bool IsReferenceList(AttrType type) {
  return type >= AttrType::kComputationList && type <= AttrType::kShapeList;
}

/// The names of an enum type in the order of their numbers, as printed.
std::span<const std::string_view> EnumNames(AttrType type);
/// Whether upper and lower case are the same on input.
bool EnumIgnoresCase(AttrType type);
/// The names of kPrecisionList entries: default, high, highest.
std::span<const std::string_view> PrecisionNames();

// Enum numbers that code asks for by name; order = EnumNames.
enum class ComparisonDirection : uint8_t { kEq, kNe, kGe, kGt, kLe, kLt };
enum class ComparisonType : uint8_t { kFloat, kTotalOrder, kSigned, kUnsigned };
enum class FusionKind : uint8_t { kLoop, kInput, kOutput, kCustom };

/// Numbers per dimension of a kWindow value, in this order.
enum WindowField : uint8_t {
  kWindowSize,
  kWindowStride,
  kWindowPadLow,
  kWindowPadHigh,
  kWindowBaseDilation,    // lhs_dilate
  kWindowWindowDilation,  // rhs_dilate
  kWindowReversal,
  kWindowFields
};

/// One attribute of one instruction; lists live in pools of the module.
struct Attr {
  AttrKind kind = AttrKind::kUnknownAttribute;
  uint32_t low = 0;
  uint32_t high = 0;

  int64_t integer() const {
    return static_cast<int64_t>(low | (static_cast<uint64_t>(high) << 32));
  }
  StrRef text() const { return {low, high}; }
  static Attr Integer(AttrKind kind, int64_t value) {
    uint64_t bits = static_cast<uint64_t>(value);
    return {kind, static_cast<uint32_t>(bits), static_cast<uint32_t>(bits >> 32)};
  }
  static Attr Text(AttrKind kind, StrRef ref) { return {kind, ref.offset, ref.length}; }
};

/// One row of the table of attributes that an opcode takes, in printing order.
struct AttrSpec {
  AttrKind kind;
  bool required;
};
/// The attributes that only this opcode takes, in the order in which they are printed.
std::span<const AttrSpec> OpcodeAttributes(Opcode opcode);
/// The attributes that every instruction takes, in printing order (after the ones above).
std::span<const AttrKind> CommonAttributes();
/// Position of an attribute in the printed line of an opcode; attributes of an instruction are
/// stored in ascending rank.
int AttributeRank(Opcode opcode, AttrKind kind);

}  // namespace hlokit

#endif  // HLOKIT_ATTRIBUTE_H_
