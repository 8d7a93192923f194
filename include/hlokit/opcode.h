#ifndef HLOKIT_OPCODE_H_
#define HLOKIT_OPCODE_H_

#include <cstdint>
#include <string_view>

namespace hlokit {

/// The 133 opcodes of hlo-text.md section 9, and kUnknown for opcodes that hlokit keeps without
/// understanding them (their name is in the attribute kUnknownOpcode).
enum class Opcode : uint8_t {
#define HLOKIT_OPCODE(id, text, arity, inferable, layout) id,
#include "hlokit/opcodes.def"
  kUnknown,
};

inline constexpr int kVariadic = -1;

/// May operands of the output's rank have another layout than the output?
enum class LayoutRule : uint8_t { kKeeps, kChanges, kDepends };

struct OpcodeInfo {
  std::string_view text;  ///< as in HLO text, for instance "get-tuple-element"
  int8_t arity;           ///< number of operands or kVariadic
  bool inferable;         ///< the result type may be omitted in text
  LayoutRule layout_rule;
};

inline constexpr OpcodeInfo kOpcodes[] = {
#define HLOKIT_OPCODE(id, text, arity, inferable, layout) \
  {text, arity, inferable, LayoutRule::layout},
#include "hlokit/opcodes.def"
    {"unknown", kVariadic, false, LayoutRule::kChanges},
};
inline constexpr int kOpcodeCount = static_cast<int>(Opcode::kUnknown);

constexpr const OpcodeInfo& Info(Opcode opcode) { return kOpcodes[static_cast<int>(opcode)]; }
constexpr std::string_view OpcodeText(Opcode opcode) { return Info(opcode).text; }
/// kUnknown when the word is no opcode.
Opcode OpcodeFromText(std::string_view word);

}  // namespace hlokit

#endif  // HLOKIT_OPCODE_H_
