// In which line and column of its source text does an instruction stand?
#include "hlokit/source_map.h"

#include <algorithm>

namespace hlokit {

void SourceMap::FindLines() {
  if (!line_starts_.empty()) return;
  text_ = module_->source_text();
  line_starts_.push_back(0);
  for (size_t at = text_.find('\n'); at != std::string_view::npos; at = text_.find('\n', at + 1)) {
    line_starts_.push_back(static_cast<uint32_t>(at + 1));
  }
}

SourceLocation SourceMap::Location(uint32_t offset) {
  FindLines();
  if (offset == Module::kNoOffset || offset >= text_.size()) return {};
  auto next = std::ranges::upper_bound(line_starts_, offset);
  return {static_cast<uint32_t>(next - line_starts_.begin()), offset - *(next - 1) + 1};
}

std::string_view SourceMap::Line(uint32_t line) {
  FindLines();
  if (line == 0 || line > line_starts_.size()) return {};
  uint32_t begin = line_starts_[line - 1];
  size_t end = line < line_starts_.size() ? line_starts_[line] - 1 : text_.size();
  return text_.substr(begin, end - begin);
}

}  // namespace hlokit
