// The public face of the text reader.
#include "hlokit/reader.h"

#include <algorithm>

#include "fmt/format.h"
#include "src/read/parser.h"

namespace hlokit {
namespace {

std::unexpected<Error> ParseError(read::Parser& parser, const ReadOptions& options) {
  Error error{.exit_code = ExitCode::kCannotParse, .diagnostics = std::move(parser.diagnostics())};
  if (static_cast<int>(error.diagnostics.size()) > options.max_errors) {
    error.diagnostics.resize(options.max_errors);
  }
  if (static_cast<int>(error.diagnostics.size()) == options.max_errors && options.max_errors > 1) {
    error.diagnostics.push_back({.id = DiagId::kTooManyErrors,
                                 .severity = Severity::kNote,
                                 .message = "there may be more errors; these are the first"});
  }
  return std::unexpected(std::move(error));
}

}  // namespace

Result<Module> ReadText(std::string text, const ReadOptions& options,
                        std::vector<Diagnostic>* warnings) {
  if (text.size() >= TextArena::kMaxBytes) {
    return MakeError(ExitCode::kCannotParse, DiagId::kInputTooLarge,
                     "the text is larger than 4 GiB");
  }
  read::Parser parser(std::move(text), options);
  bool ok = parser.ParseInput();
  if (warnings != nullptr) *warnings = std::move(parser.warnings());
  if (!ok) return ParseError(parser, options);
  Module module = parser.TakeModule();
  module.ShrinkToFit();
  return module;
}

Result<ShapeId> ReadShape(std::string_view text, Module& module) {
  ReadOptions options;
  read::Parser parser(std::string(text), options, module);
  ShapeId shape;
  if (!parser.ParseShapeOnly(&shape)) return ParseError(parser, options);
  return shape;
}

Result<ComputationLayout> ReadComputationLayout(std::string_view text, Module& module,
                                                const ComputationLayout& like) {
  ReadOptions options;
  read::Parser parser(std::string(text), options, module);
  ComputationLayout layout;
  if (!parser.ParseComputationLayoutOnly(like, &layout)) return ParseError(parser, options);
  return layout;
}

}  // namespace hlokit
