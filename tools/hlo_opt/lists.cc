// What does hlo-opt say about the passes that it has?
#include "tools/hlo_opt/lists.h"

#include "fmt/format.h"
#include "hlokit/pass.h"

namespace hlokit {
namespace {

std::string OptionText(const OptionSpec& option) {
  std::string_view kind = option.type == OptionType::kBool     ? "true|false"
                          : option.type == OptionType::kInt    ? "N"
                          : option.type == OptionType::kChoice ? option.choices
                                                               : std::string_view("TEXT");
  std::string fallback =
      option.fallback.empty() ? std::string() : fmt::format(" (default {})", option.fallback);
  return fmt::format("{}={}: {}{}", option.name, kind, option.help, fallback);
}

/// Text broken at blanks after at most 90 characters.
std::string Wrapped(std::string_view text) {
  constexpr size_t kWidth = 90;
  std::string out;
  while (!text.empty()) {
    size_t end = text.size() <= kWidth ? text.size() : text.rfind(' ', kWidth);
    if (end == text.npos || end == 0) end = text.size();
    out += fmt::format("  {}\n", text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

}  // namespace

std::string PassNamesLine() {
  std::string out;
  for (const RegisteredPass& pass : RegisteredPasses()) {
    if (!out.empty()) out += ',';
    out += pass.name;
  }
  return out + "\n";
}

std::string PassTable() {
  std::string out = "Passes:\n";
  for (const RegisteredPass& pass : RegisteredPasses()) {
    out += fmt::format("  {}: {}\n", pass.name, pass.info->summary);
    for (const OptionSpec& option : pass.info->options) {
      out += fmt::format("      {}\n", OptionText(option));
    }
  }
  out += "Pipelines:\n";
  for (const PipelineInfo& pipeline : RegisteredPipelines()) {
    out += fmt::format("  {}: {}\n      {}\n", pipeline.name, pipeline.summary, pipeline.passes);
  }
  out += "Known from the Neuron tool, not implemented:\n";
  for (const NeuronPassName& name : NeuronPassNames()) {
    if (FindPass(name.name) == nullptr) out += fmt::format("  {}\n", name.name);
  }
  return out;
}

Result<std::string> PassHelp(std::string_view name) {
  if (const PipelineInfo* pipeline = FindPipeline(name)) {
    return fmt::format("{}: {}\n\n  The same as --passes={}\n", name, pipeline->summary,
                       pipeline->passes);
  }
  const RegisteredPass* pass = FindPass(name);
  if (pass == nullptr) {
    ASSIGN_OR_RETURN(Pipeline unused, ParsePipeline(name));  // words the error
    return PassTable();
  }
  std::string out =
      fmt::format("{}: {}\n\n{}", name, pass->info->summary, Wrapped(pass->info->help));
  if (int number = NeuronPassNumber(name)) {
    out += fmt::format("\n  Number {} in the registry of the Neuron tool.\n", number);
  }
  auto list = [&](std::string_view title, std::span<const Invariant> invariants) {
    for (Invariant invariant : invariants)
      out += fmt::format("\n  {}: {}\n", title, InvariantText(invariant));
  };
  list("Needs", pass->info->requires_invariants);
  list("Leaves behind", pass->info->ensures_invariants);
  if (!pass->info->options.empty()) out += "\nOptions:\n";
  for (const OptionSpec& option : pass->info->options)
    out += fmt::format("  {}\n", OptionText(option));
  return out;
}

}  // namespace hlokit
