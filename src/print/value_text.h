#ifndef HLOKIT_SRC_PRINT_VALUE_TEXT_H_
#define HLOKIT_SRC_PRINT_VALUE_TEXT_H_

#include <cstdint>
#include <string_view>

#include "hlokit/element_type.h"
#include "src/print/text_buffer.h"

namespace hlokit {

/// The text of C's "%.*g".
void AppendGeneral(double value, int digits, TextBuffer* out);

/// One element of a real floating type as in literals (hlo-text.md section 5.1).
void AppendFloat(ElementType type, uint64_t bits, TextBuffer* out);

/// The contents of a quoted string, escaped (section 11.5, item 4).
void AppendEscaped(std::string_view text, TextBuffer* out);
/// The same with quotes around it.
void AppendQuoted(std::string_view text, TextBuffer* out);

/// Can a value stand without quotes (section 11.5, item 5)? A trailing comment asks for quotes,
/// since it would swallow the rest of the line when the text is read again.
bool IsBareBraces(std::string_view text);

}  // namespace hlokit

#endif  // HLOKIT_SRC_PRINT_VALUE_TEXT_H_
