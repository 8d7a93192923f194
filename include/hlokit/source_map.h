#ifndef HLOKIT_SOURCE_MAP_H_
#define HLOKIT_SOURCE_MAP_H_

#include <string_view>
#include <vector>

#include "hlokit/diagnostic.h"
#include "hlokit/module.h"

namespace hlokit {

/// Lines and columns of the text that a module was read from. Made in linear time on first use,
/// then O(log lines) per question. The module must outlive it.
class SourceMap {
 public:
  explicit SourceMap(const Module& module) : module_(&module) {}

  /// Place of a byte offset (Module::source_offset); line 0 when there is no such place.
  SourceLocation Location(uint32_t offset);
  /// Place of an instruction; line 0 for one that a pass made.
  SourceLocation Location(InstId id) { return Location(module_->source_offset(id)); }
  /// The text of a line (1-based) without its line break; empty when there is none.
  std::string_view Line(uint32_t line);

 private:
  void FindLines();

  const Module* module_;
  std::string_view text_;
  std::vector<uint32_t> line_starts_;
};

}  // namespace hlokit

#endif  // HLOKIT_SOURCE_MAP_H_
