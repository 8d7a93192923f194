#ifndef HLOKIT_READER_H_
#define HLOKIT_READER_H_

#include <string>
#include <string_view>
#include <vector>

#include "hlokit/module.h"
#include "hlokit/result.h"

namespace hlokit {

struct ReadOptions {
  /// Unknown opcodes and attributes are errors instead of being kept with a warning.
  bool strict = false;
  /// Shapes of instructions without a layout get {n-1,…,0} (hlo-text.md section 4).
  bool fill_missing_layouts = true;
  /// At most this many errors are reported for one text.
  int max_errors = 20;
};

/// Reads HLO text (hlo-text.md): a module with or without header, or a single instruction. Takes
/// over the text: names and echoed attributes stay byte ranges of it. Warnings go to `warnings`
/// when it is given. Fails with kCannotParse and one diagnostic per problem, in text order.
Result<Module> ReadText(std::string text, const ReadOptions& options = {},
                        std::vector<Diagnostic>* warnings = nullptr);

/// Reads a shape alone, for instance "(f32[2,3]{1,0}, pred[])", into the pool of `module`.
Result<ShapeId> ReadShape(std::string_view text, Module& module);

/// Reads "(shape, shape) -> shape"; leaves without layout stay unset, and the word `unset` in the
/// place of a shape leaves that whole shape as in `like` but without layouts.
Result<ComputationLayout> ReadComputationLayout(std::string_view text, Module& module,
                                                const ComputationLayout& like);

}  // namespace hlokit

#endif  // HLOKIT_READER_H_
