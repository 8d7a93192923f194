// In which spellings may flags of hlo-opt be written?
#include "tools/hlo_opt/arguments.h"

#include <algorithm>

#include "fmt/format.h"
#include "hlokit/file.h"

namespace hlokit {

std::string NormalizeArgument(std::string_view argument) {
  if (argument.size() < 3 || argument[0] != '-') return std::string(argument);
  std::string_view rest = argument.substr(argument[1] == '-' ? 2 : 1);
  if (rest.empty() || rest.front() == '-') return std::string(argument);
  size_t equal = std::min(rest.find('='), rest.size());
  std::string name(rest.substr(0, equal));
  if (!name.starts_with("xla_")) std::replace(name.begin(), name.end(), '_', '-');
  return fmt::format("--{}{}", name, rest.substr(equal));
}

std::vector<std::string> SplitFlagText(std::string_view text) {
  std::vector<std::string> words;
  bool inside = false;
  char quote = 0;
  for (char c : text) {
    if (quote == 0 && (c == ' ' || c == '\t' || c == '\n')) {
      inside = false;
      continue;
    }
    if (!inside) words.emplace_back();
    inside = true;
    if (c == quote) {
      quote = 0;
    } else if (quote == 0 && (c == '"' || c == '\'')) {
      quote = c;
    } else {
      words.back() += c;
    }
  }
  return words;
}

Result<std::vector<std::string>> ReadDebugOptions(const std::string& path) {
  ASSIGN_OR_RETURN(std::string text, ReadFile(path, size_t{1} << 24));
  std::vector<std::string> flags;
  size_t line_number = 0;
  for (size_t begin = 0; begin < text.size();) {
    size_t end = std::min(text.find('\n', begin), text.size());
    std::string_view line = std::string_view(text).substr(begin, end - begin);
    begin = end + 1;
    ++line_number;
    auto trim = [](std::string_view s) {
      while (!s.empty() && (s.front() == ' ' || s.front() == '\t')) s.remove_prefix(1);
      while (!s.empty() && (s.back() == ' ' || s.back() == '\t' || s.back() == '\r'))
        s.remove_suffix(1);
      return s;
    };
    line = trim(line);
    if (line.empty() || line.front() == '#') continue;
    size_t colon = line.find(':');
    if (colon == line.npos) {
      return MakeError(ExitCode::kUsage, DiagId::kUsageError,
                       fmt::format("{}:{}: expected \"name: value\"", path, line_number),
                       "write one debug option per line");
    }
    std::string_view value = trim(line.substr(colon + 1));
    if (value.size() >= 2 && value.front() == '"' && value.back() == '"') {
      value = value.substr(1, value.size() - 2);
    }
    flags.push_back(fmt::format("--{}={}", trim(line.substr(0, colon)), value));
  }
  return flags;
}

}  // namespace hlokit
