// The table of original values: rows of text on one side, messages on the other (hlo-text.md
// section 8.16).
#ifndef HLOKIT_SRC_PROTO_RECOVERY_TABLE_H_
#define HLOKIT_SRC_PROTO_RECOVERY_TABLE_H_

#include <string>
#include <string_view>

#include "attribute_text.h"

namespace hlokit::proto {

/// One row; `parts` are the old value, the new value and the module, where present.
bool RecoveryEntryText(const std::string_view (&parts)[3], const bool (&present)[3],
                       AttributeText* text, TextBuffer* out);
/// Payload of an OriginalValueRecoveryTableProto from the text between the braces.
bool AppendRecoveryProto(std::string_view text, std::string* out);

}  // namespace hlokit::proto

#endif  // HLOKIT_SRC_PROTO_RECOVERY_TABLE_H_
