// What does a user need to show a failing pass to somebody else?
#include "fmt/format.h"
#include "hlokit/file.h"
#include "hlokit/pass_observers.h"

namespace hlokit {

void ReproducerObserver::Failed(const Module* before, const PipelineStep& step,
                                const Error& error) {
  if (before == nullptr) return;
  std::string text = fmt::format("// RUN: hlo-opt %s --verify-each --passes='{}{}'\n",
                                 step.pass->name, step.options.ToText());
  for (const Diagnostic& diagnostic : error.diagnostics) {
    std::string_view rest = diagnostic.message;
    text += fmt::format("// {}: ", DiagCode(diagnostic.id));
    for (char c : rest) text += c == '\n' ? std::string("\n// ") : std::string(1, c);
    text += '\n';
  }
  PrintOptions print;
  print.large_constants = true;
  text += PrintModule(*before, print);
  Status status = WriteFile(path_, text);
  written_ = status.has_value();
  if (!status) problem_ = FormatError(status.error());
}

}  // namespace hlokit
