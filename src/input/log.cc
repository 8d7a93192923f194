// Where are the modules in the output of a program? Between "*** Begin …" and "*** End …" lines, or
// pasted in behind some line; every line may have a log prefix in front.
#include <algorithm>

#include "hlokit/input.h"
#include "src/input/log_lines.h"

namespace hlokit {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

/// Takes n digits off the front.
bool EatDigits(std::string_view* text, size_t least, size_t most) {
  size_t n = 0;
  while (n < text->size() && n < most && IsDigit((*text)[n])) ++n;
  text->remove_prefix(n);
  return n >= least;
}

bool Eat(std::string_view* text, std::string_view what) {
  if (!text->starts_with(what)) return false;
  text->remove_prefix(what.size());
  return true;
}

std::string_view TrimRight(std::string_view line) {
  while (!line.empty() && (line.back() == ' ' || line.back() == '\r' || line.back() == '\t'))
    line.remove_suffix(1);
  return line;
}

/// Removes the prefix of a line, if it has one.
std::string_view WithoutPrefix(std::string_view line) { return line.substr(LogPrefixLength(line)); }

/// A module that was pasted into a log has no end mark: it goes on as long as its lines look like
/// it.
class PastedModule {
 public:
  /// Does this line still belong to the module?
  bool Takes(std::string_view line) {
    std::string_view text = TrimRight(line);
    std::string_view content = text;
    while (!content.empty() && (content.front() == ' ' || content.front() == '\t'))
      content.remove_prefix(1);
    if (inside_) {
      if (text.starts_with("}")) inside_ = false;
      return true;
    }
    if (content.empty() || content.starts_with("//")) return true;
    if (content == "FileNames" || content == "FunctionNames" || content == "FileLocations" ||
        content == "StackFrames") {
      return true;
    }
    if (IsDigit(content[0]) && !seen_computation_) return true;  // a row of such a table
    bool begins = content.ends_with("{") && content.find(" = ") == std::string_view::npos;
    if (begins) {
      inside_ = true;
      seen_computation_ = true;
    }
    return begins;
  }

 private:
  bool inside_ = false;
  bool seen_computation_ = false;
};

}  // namespace

size_t LogPrefixLength(std::string_view line) {
  // Letter, month and day, or a whole date; time; thread; file:line].
  std::string_view rest = line.substr(0, 300);
  if (rest.size() < 20) return 0;
  bool letter = std::string_view("IWEFDV").find(rest[0]) != std::string_view::npos;
  if (letter) {
    rest.remove_prefix(1);
    if (!EatDigits(&rest, 4, 8)) return 0;
  } else if (!(EatDigits(&rest, 4, 4) && Eat(&rest, "-") && EatDigits(&rest, 2, 2) &&
               Eat(&rest, "-") && EatDigits(&rest, 2, 2))) {
    return 0;
  }
  if (!Eat(&rest, " ")) return 0;
  if (!(EatDigits(&rest, 2, 2) && Eat(&rest, ":") && EatDigits(&rest, 2, 2) && Eat(&rest, ":") &&
        EatDigits(&rest, 2, 2))) {
    return 0;
  }
  if (Eat(&rest, ".")) EatDigits(&rest, 1, 9);
  size_t bracket = rest.find("] ");
  bool empty_line = bracket == std::string_view::npos && rest.ends_with("]");
  if (bracket == std::string_view::npos && !empty_line) return 0;
  std::string_view place = empty_line ? rest.substr(0, rest.size() - 1) : rest.substr(0, bracket);
  // …file.cc:123
  size_t colon = place.rfind(':');
  if (colon == std::string_view::npos || colon + 1 == place.size()) return 0;
  for (char c : place.substr(colon + 1)) {
    if (!IsDigit(c)) return 0;
  }
  size_t left = rest.size() - (empty_line ? rest.size() : bracket + 2);
  return std::min(line.size(), size_t{300}) - left;
}

std::string_view BlockBeginName(std::string_view line) {
  std::string_view text = TrimRight(WithoutPrefix(line));
  if (!Eat(&text, "*** Begin ") || !text.ends_with(" ***")) return {};
  text.remove_suffix(4);
  return text;
}

bool IsBlockEnd(std::string_view line, std::string_view name) {
  std::string_view text = TrimRight(WithoutPrefix(line));
  return Eat(&text, "*** End ") && text.starts_with(name) &&
         text.substr(name.size()).starts_with(" ***");
}

std::string_view NextLine(std::string_view* rest) {
  size_t end = rest->find('\n');
  std::string_view line = rest->substr(0, end);
  rest->remove_prefix(end == std::string_view::npos ? rest->size() : end + 1);
  return line;
}

size_t FindBlockBegin(std::string_view text) {
  for (size_t at = text.find("*** Begin "); at != std::string_view::npos;
       at = text.find("*** Begin ", at + 1)) {
    size_t begin = text.substr(0, at).rfind('\n');
    begin = begin == std::string_view::npos ? 0 : begin + 1;
    std::string_view line = text.substr(begin, text.find('\n', at) - begin);
    if (!BlockBeginName(line).empty()) return begin;
  }
  return std::string_view::npos;
}

bool HasLogPrefix(std::string_view text) {
  while (!text.empty()) {
    std::string_view line = NextLine(&text);
    if (!TrimRight(line).empty()) return LogPrefixLength(line) != 0;
  }
  return false;
}

bool HasModuleLine(std::string_view text) {
  return text.find("\nHloModule ") != std::string_view::npos ||
         text.find("] HloModule ") != std::string_view::npos;
}

std::vector<LogBlock> ExtractLogBlocks(std::string_view log) {
  std::vector<LogBlock> out;
  bool blocks = FindBlockBegin(log) != std::string_view::npos;
  std::string_view rest = log;
  while (!rest.empty()) {
    std::string_view line = NextLine(&rest);
    if (blocks) {
      std::string_view name = BlockBeginName(line);
      if (name.empty()) continue;
      LogBlock& block = out.emplace_back();
      block.name = std::string(name);
      while (!rest.empty()) {
        std::string_view inner = NextLine(&rest);
        if (IsBlockEnd(inner, name)) break;
        block.contents += WithoutPrefix(inner);
        block.contents += '\n';
      }
      continue;
    }
    std::string_view text = WithoutPrefix(line);
    if (!text.starts_with("HloModule ")) continue;
    LogBlock& block = out.emplace_back();
    PastedModule module;
    block.contents = std::string(text) + "\n";
    while (!rest.empty()) {
      std::string_view before = rest;
      std::string_view inner = WithoutPrefix(NextLine(&rest));
      if (!module.Takes(inner)) {
        rest = before;
        break;
      }
      block.contents += inner;
      block.contents += '\n';
    }
  }
  return out;
}

}  // namespace hlokit
