// How are places of a module named in messages?
#include <utility>

#include "fmt/format.h"
#include "src/layout/engine.h"

namespace hlokit::layout {

bool Engine::Fail(DiagId id, std::string message, std::string help, ExitCode code) {
  return Fail(MakeError(code, id, std::move(message), std::move(help)).error());
}

/// The first error is the one that is told.
bool Engine::Fail(Error error) {
  if (!error_.has_value()) error_ = std::move(error);
  return false;
}

std::string Engine::Quote(InstId inst) const {
  if (!inst.valid()) return "no instruction";
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
