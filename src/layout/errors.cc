// How are places of a module named in messages?
#include <utility>

#include "fmt/format.h"
#include "hlokit/source_map.h"
#include "src/layout/engine.h"

namespace hlokit::layout {

bool Engine::Fail(DiagId id, std::string message, std::string help, ExitCode code) {
  Error error = MakeError(code, id, std::move(message), std::move(help)).error();
  // The first instruction that the message names is where the reader should look. (Arguments are
  // evaluated in no particular order, so the order of the quotes says nothing.)
  Diagnostic& diagnostic = error.diagnostics[0];
  InstId first;
  size_t first_at = std::string::npos;
  for (InstId inst : std::exchange(quoted_, {})) {
    size_t at = diagnostic.message.find(fmt::format("'{}'", module_.name(inst)));
    if (at < first_at) {
      first = inst;
      first_at = at;
    }
  }
  if (first.valid()) {
    SourceMap map(module_);
    diagnostic.location = map.Location(first);
    diagnostic.source_line = map.Line(diagnostic.location.line);
  }
  return Fail(std::move(error));
}

/// The first error is the one that is told.
bool Engine::Fail(Error error) {
  if (!error_.has_value()) error_ = std::move(error);
  return false;
}

std::string Engine::Quote(InstId inst) const {
  if (!inst.valid()) return "no instruction";
  quoted_.push_back(inst);
  return fmt::format("'{}' ({})", module_.name(inst), OpcodeText(module_.opcode(inst)));
}

std::string Engine::Quote(CompId computation) const {
  return fmt::format("computation '{}'", module_.name(computation));
}

std::string Engine::Place(InstId inst, uint32_t index) const {
  std::string out = Quote(inst);
  if (index == 0) return out;
  out += " at {";
  bool first = true;
  for (uint32_t i : shapes_.IndexOf(module_.shape(inst), index)) {
    if (!first) out += ',';
    first = false;
    out += std::to_string(i);
  }
  return out + '}';
}

}  // namespace hlokit::layout
