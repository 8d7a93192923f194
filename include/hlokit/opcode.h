#ifndef HLOKIT_OPCODE_H_
#define HLOKIT_OPCODE_H_

#include <cstdint>
#include <string_view>

namespace hlokit {

/// The 133 opcodes of hlo-text.md section 9, and kUnknown for opcodes that hlokit keeps without
/// understanding them (their name is in the attribute kUnknownOpcode).
enum class Opcode : uint8_t {
#define HLOKIT_OPCODE(id, text, arity, inferable, layout, elements) id,
#include "hlokit/opcodes.def"
  kUnknown,
};

inline constexpr int kVariadic = -1;

/// May operands of the output's rank have another layout than the output?
enum class LayoutRule : uint8_t { kKeeps, kChanges, kDepends };

/// What does the opcode do element by element?
enum class Elements : uint8_t {
  kNo,
  kFunction,    ///< a function of one element that is computed to some accuracy (result_accuracy)
  kUnary,       ///< another operation on one element
  kConversion,  ///< one element in another form: convert, copy, …
  kBinary,      ///< two elements of one type
  kMixed,       ///< two elements; the types of operands and result differ
  kTernary,     ///< clamp, select: some operands may be scalars
};

struct OpcodeInfo {
  std::string_view text;  ///< as in HLO text, for instance "get-tuple-element"
  int8_t arity;           ///< number of operands or kVariadic
  bool inferable;         ///< the result type may be omitted in text
  LayoutRule layout_rule;
  Elements elements;
};

inline constexpr OpcodeInfo kOpcodes[] = {
#define HLOKIT_OPCODE(id, text, arity, inferable, layout, elements) \
  {text, arity, inferable, LayoutRule::layout, Elements::elements},
#include "hlokit/opcodes.def"
    {"unknown", kVariadic, false, LayoutRule::kChanges, Elements::kNo},
};
inline constexpr int kOpcodeCount = static_cast<int>(Opcode::kUnknown);

constexpr const OpcodeInfo& Info(Opcode opcode) { return kOpcodes[static_cast<int>(opcode)]; }
constexpr std::string_view OpcodeText(Opcode opcode) { return Info(opcode).text; }
/// One operand, whose elements are computed with: neither converted nor moved.
constexpr bool IsUnary(Opcode opcode) {
  return Info(opcode).elements == Elements::kFunction || Info(opcode).elements == Elements::kUnary;
}
/// Two operands, element by element.
constexpr bool IsElementwiseBinary(Opcode opcode) {
  return Info(opcode).elements == Elements::kBinary || Info(opcode).elements == Elements::kMixed;
}
constexpr bool TakesResultAccuracy(Opcode opcode) {
  return Info(opcode).elements == Elements::kFunction;
}
/// kUnknown when the word is no opcode.
Opcode OpcodeFromText(std::string_view word);

}  // namespace hlokit

#endif  // HLOKIT_OPCODE_H_
