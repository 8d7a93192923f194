// What does a file hold? Decided by its contents, never by its name (docs/reference/formats.md).
#include <algorithm>

#include "hlokit/input.h"
#include "src/input/log_lines.h"

namespace hlokit {
namespace {

constexpr std::string_view kNames[] = {"auto", "text", "proto", "pbtxt", "log"};

/// Control characters do not occur in text; a proto has some among its first bytes (tags, lengths).
bool LooksBinary(std::string_view contents) {
  for (char c : contents.substr(0, 4096)) {
    unsigned char u = static_cast<unsigned char>(c);
    if (u < 0x20 && c != '\n' && c != '\r' && c != '\t' && c != '\f' && c != '\v' && c != '\x1b')
      return true;
  }
  return false;
}

/// Skips white space and comments of HLO text and of text protos.
std::string_view SkipBlank(std::string_view text) {
  while (!text.empty()) {
    if (text.starts_with("//") || text.starts_with("#")) {
      text.remove_prefix(std::min(text.find('\n'), text.size()));
    } else if (text.starts_with("/*")) {
      size_t end = text.find("*/");
      text.remove_prefix(end == std::string_view::npos ? text.size() : end + 2);
    } else if (text[0] == ' ' || text[0] == '\n' || text[0] == '\r' || text[0] == '\t') {
      text.remove_prefix(1);
    } else {
      break;
    }
  }
  return text;
}

}  // namespace

std::string_view InputFormatName(InputFormat format) { return kNames[static_cast<size_t>(format)]; }

std::optional<InputFormat> InputFormatFromName(std::string_view name) {
  const std::string_view* found = std::find(std::begin(kNames), std::end(kNames), name);
  if (found == std::end(kNames)) return std::nullopt;
  return static_cast<InputFormat>(found - std::begin(kNames));
}

InputFormat DetectFormat(std::string_view contents) {
  if (LooksBinary(contents)) {
    return DetectProto(contents).has_value() ? InputFormat::kProto : InputFormat::kAuto;
  }
  if (contents.starts_with("\xef\xbb\xbf")) contents.remove_prefix(3);
  std::string_view start = SkipBlank(contents);
  if (start.starts_with("HloModule")) {
    // Text that goes on after its module with another block is a log all the same.
    return FindBlockBegin(contents) != std::string_view::npos ? InputFormat::kLog
                                                              : InputFormat::kText;
  }
  if (std::optional<ProtoKind> kind = DetectPbtxt(contents); kind.has_value())
    return InputFormat::kPbtxt;
  if (FindBlockBegin(contents) != std::string_view::npos) return InputFormat::kLog;
  if (HasLogPrefix(contents) || HasModuleLine(contents)) return InputFormat::kLog;
  return start.empty() ? InputFormat::kAuto : InputFormat::kText;
}

}  // namespace hlokit
