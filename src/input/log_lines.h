// What do the lines of a log look like?
#ifndef HLOKIT_SRC_INPUT_LOG_LINES_H_
#define HLOKIT_SRC_INPUT_LOG_LINES_H_

#include <string_view>

namespace hlokit {

/// Length of a prefix such as "I0521 12:04:45.883483    1509 service.cc:186] " at the start of a
/// line; 0 when there is none.
size_t LogPrefixLength(std::string_view line);

/// "*** Begin NAME ***" with or without a log prefix: the name. Empty when it is no such line.
std::string_view BlockBeginName(std::string_view line);
/// Is this the line "*** End NAME ***" for a block?
bool IsBlockEnd(std::string_view line, std::string_view name);

/// Offset of the first line that begins a block.
size_t FindBlockBegin(std::string_view text);
/// Does the first line that is not blank have a log prefix?
bool HasLogPrefix(std::string_view text);
/// Does some line behind the first one start with "HloModule "?
bool HasModuleLine(std::string_view text);

/// Cuts the next line, without its end, off the front of `rest`.
std::string_view NextLine(std::string_view* rest);

}  // namespace hlokit

#endif  // HLOKIT_SRC_INPUT_LOG_LINES_H_
