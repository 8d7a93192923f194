#ifndef HLOKIT_ATTRIBUTE_TEXT_H_
#define HLOKIT_ATTRIBUTE_TEXT_H_

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hlokit {

/// Attributes that a module keeps as canonical text ("{…}"), taken apart and put together again.
/// All functions expect what the reader stored; text of another form gives fewer fields, never a
/// crash.

/// Fields in order. Values of strings are unescaped; raw braces and numbers stay as written.
using TextFields = std::vector<std::pair<std::string, std::string>>;

/// hlo-text.md section 8.14: {key="value",key={raw}}.
TextFields ParseFrontendAttributes(std::string_view text);
/// Sorted by key; empty text when there are no fields.
std::string FrontendAttributesText(TextFields fields);

/// hlo-text.md section 8.13: {op_name="…" source_line=3 …}.
TextFields ParseMetadata(std::string_view text);
/// In the printing order of section 8.13, empty values left out; empty text when nothing is left.
std::string MetadataText(const TextFields& fields);
/// The value of a field, or nothing.
const std::string* FindField(const TextFields& fields, std::string_view name);

/// The members of a tuple sharding "{{…}, {…}}", or the whole text when it is a single sharding.
std::vector<std::string_view> ShardingMembers(std::string_view text);
/// Joins single shardings to a tuple sharding, with an index comment before members 5, 10, …
std::string TupleShardingText(std::span<const std::string> members);

/// hlo-text.md section 11.5: contents of a string as printed between quotes, and back.
std::string EscapeText(std::string_view bytes);
std::string UnescapeText(std::string_view escaped);

}  // namespace hlokit

#endif  // HLOKIT_ATTRIBUTE_TEXT_H_
