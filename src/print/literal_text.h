#ifndef HLOKIT_SRC_PRINT_LITERAL_TEXT_H_
#define HLOKIT_SRC_PRINT_LITERAL_TEXT_H_

#include "hlokit/module.h"
#include "src/print/text_buffer.h"

namespace hlokit {

/// Arrays of at most this many elements are printed when large constants are off.
inline constexpr int64_t kSmallConstantElements = 10;

enum class LiteralShapes : uint8_t {
  kNone,      ///< value only, as in constant(…)
  kOnLeaves,  ///< each leaf with its shape in front, as in literal=…
};

/// The value of a literal on one line (hlo-text.md section 5.1), whatever its size. A value that is
/// not known (elided) is written {...}.
void AppendLiteral(const Module& module, LiteralId id, LiteralShapes shapes, TextBuffer* out);

/// Does a constant show its value when large constants are off?
bool IsSmallConstant(const Module& module, LiteralId id);
/// The stricter rule of the fingerprint options: integers, or all elements 0, or all 1.
bool IsPlainConstant(const Module& module, LiteralId id);

}  // namespace hlokit

#endif  // HLOKIT_SRC_PRINT_LITERAL_TEXT_H_
