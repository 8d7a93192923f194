#ifndef HLOKIT_SRC_PRINT_MODULE_PRINTER_H_
#define HLOKIT_SRC_PRINT_MODULE_PRINTER_H_

#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "hlokit/module.h"
#include "hlokit/printer.h"
#include "src/print/text_buffer.h"

namespace hlokit {

/// Is it worth to keep the text of each shape? Not for a single instruction.
enum class ShapeCache : bool { kOff, kOn };

/// Prints one module, or parts of it, into one buffer.
class ModulePrinter {
 public:
  ModulePrinter(const Module& module, const PrintOptions& options, size_t expected_size,
                ShapeCache cache)
      : module_(module), options_(options), cache_(cache), out_(expected_size) {}

  void AppendModule();
  /// One line without indentation, ROOT and line break. `indent` is where inlined bodies start.
  void AppendInstruction(InstId id, int indent);
  std::string Take() { return out_.Take(); }

 private:
  // module_printer.cc: header, tables, computations.
  void AppendHeader();
  void AppendEntryLayout(const ComputationLayout& layout);
  void AppendStackFrameIndex();
  void AppendComputation(CompId id, const std::vector<InstId>& order);
  void AppendComputationHead(CompId id);
  void AppendComputationTail(CompId id);
  void AppendLines(CompId id, const std::vector<InstId>& order);
  void AppendShape(ShapeId id, bool with_layout);

  // instruction_text.cc: everything up to the closing parenthesis.
  void AppendName(InstId id);
  void AppendOperand(InstId id);
  void AppendOperands(InstId id);
  void AppendOpcode(InstId id);
  void AppendConstant(InstId id);
  bool IsHidden(InstId id) const;
  CompId WrappedComputation(InstId async);
  InstId SugaredInstruction(InstId async);
  InstId SugaredRoot(CompId computation);

  // attribute_text.cc: everything behind it.
  void AppendAttributes(InstId id, int indent);
  void AppendSugaredAttributes(InstId start, InstId wrapped, int indent);
  void AppendAttribute(InstId id, const Attr& attr, int indent);
  bool IsShown(InstId id, const Attr& attr) const;
  void AppendValue(const Attr& attr);
  void AppendTextValue(const Attr& attr, std::string_view text);
  void AppendList(const Attr& attr);
  void AppendWindow(std::span<const int64_t> window);
  void AppendPadding(std::span<const int64_t> padding);
  void AppendRanges(std::span<const int64_t> ranges);
  void AppendAliasing(std::span<const int64_t> code);
  void AppendCalledComputations(InstId id, int indent);
  void AppendCalled(CompId id, int indent);
  void AppendCalledList(std::span<const CompId> calls, int indent);

  // canonical.cc: names by first appearance, bodies in place, expanded groups.
  uint32_t CanonicalNumber(InstId id);
  void RememberBodies();
  void AppendBlock(CompId id, int indent);

  const Module& module_;
  const PrintOptions options_;
  const ShapeCache cache_;
  TextBuffer out_;

  // Text of shapes, by shape id, with and without layout.
  struct CachedText {
    uint32_t offset = 0, length = 0;
  };
  std::string shape_text_;
  std::vector<CachedText> shape_cache_[2];

  // With async sugar: async op -> its computation; computation -> the one instruction in it.
  std::unordered_map<uint32_t, CompId> wrapped_;
  std::unordered_map<uint32_t, InstId> sugared_root_;
  std::vector<uint32_t> canonical_;  // instruction -> N of tmp_N
  std::vector<InstId> named_;        // instructions with an N in this computation
  std::vector<std::string> bodies_;  // by computation: "{…}" without indentation
  size_t body_bytes_ = 0;
};

/// The text of a sharding without its metadata.
std::string WithoutShardingMetadata(std::string_view sharding);

/// Replica groups written as an iota ([2,4]<=[8]) as a list ({{0,1,2,3},{4,5,6,7}}); every other
/// form unchanged.
std::string ExpandedReplicaGroups(std::string_view groups);

}  // namespace hlokit

#endif  // HLOKIT_SRC_PRINT_MODULE_PRINTER_H_
