// hlokit io-transposes suggest: which transposes on the host would save work in each step?
#include <cstdio>
#include <memory>

#include "fmt/format.h"
#include "hlokit/attribute_text.h"
#include "hlokit/file.h"
#include "nlohmann/json.hpp"
#include "src/base/json.h"
#include "src/cli/common.h"
#include "src/neuron_ir/commands.h"
#include "src/neuron_ir/suggest.h"

namespace hlokit {
namespace {

struct State {
  cli::InputOptions input;
  cli::Format format = cli::Format::kText;
  std::vector<size_t> weights;
  size_t most_runs = SuggestOptions{}.most_runs;
  std::string output;
};

std::string Text(const Module& module, const Suggestions& suggestions) {
  std::string out;
  if (suggestions.found.empty()) {
    out += "no transpose of a parameter on the host would save work\n";
  } else {
    std::vector<std::vector<std::string>> rows = {
        {"saved per step", "parameter", "name", "shape", "reshape", "transpose", "why"}};
    const ComputationData& entry = module.computation(module.entry());
    for (const Suggestion& one : suggestions.found) {
      rows.push_back({cli::HumanBytes(one.bytes_saved), std::to_string(one.parameter),
                      EscapeText(one.spec.input_name),
                      module.shapes().Text(module.shape(entry.parameters[one.parameter]), false),
                      JsonList(one.spec.reshape), JsonList(one.spec.transpose), one.reason});
    }
    out += cli::Table(rows, "rrlllll");
  }
  out += fmt::format(
      "copies of layout assignment: {} per step, {} with the suggestions about copies\n",
      cli::HumanBytes(suggestions.copy_bytes_before),
      cli::HumanBytes(suggestions.copy_bytes_after));
  for (const std::string& note : suggestions.notes) out += fmt::format("note: {}\n", note);
  return out;
}

nlohmann::ordered_json Json(const Suggestions& suggestions) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const Suggestion& one : suggestions.found) {
    nlohmann::ordered_json row;
    row["parameter"] = one.parameter;
    row["input_name"] = one.spec.input_name;
    row["reshape"] = one.spec.reshape;
    row["transpose"] = one.spec.transpose;
    row["bytes_saved"] = one.bytes_saved;
    row["ops_saved"] = one.ops_saved;
    row["from"] = one.from_copies ? "copies" : "transposes";
    row["reason"] = one.reason;
    rows.push_back(std::move(row));
  }
  nlohmann::ordered_json document;
  document["schema"] = "hlokit.io-transposes-suggest/1";
  document["suggestions"] = std::move(rows);
  document["copy_bytes_before"] = suggestions.copy_bytes_before;
  document["copy_bytes_after"] = suggestions.copy_bytes_after;
  document["notes"] = suggestions.notes;
  return document;
}

int Run(const State& state) {
  const Result<Module> module = cli::Load(state.input);
  if (!module) return cli::Report(module.error(), state.input.path);
  const Result<Suggestions> suggestions =
      SuggestIoTransposes(*module, {.weights = state.weights, .most_runs = state.most_runs});
  if (!suggestions) return cli::Report(suggestions.error(), state.input.path);
  if (!state.output.empty()) {
    std::vector<IoTranspose> specs;
    for (const Suggestion& one : suggestions->found) specs.push_back(one.spec);
    return cli::Emit(WriteIoTransposes(specs), state.output);
  }
  return state.format == cli::Format::kJson ? cli::EmitJson(Json(*suggestions))
                                            : cli::Emit(Text(*module, *suggestions));
}

}  // namespace

void RegisterIoTransposesSuggest(CLI::App& group, int& exit_code) {
  std::shared_ptr<State> state = std::make_shared<State>();
  CLI::App* command =
      group.add_subcommand("suggest", "which transposes on the host would save work in each step");
  command->footer(
      "Examples:\n"
      "  hlokit io-transposes suggest graph.hlo\n"
      "  hlokit io-transposes suggest graph.hlo --weights 3,4,7 -o io_transposes.json\n"
      "A suggestion is not a prediction of what the vendor's compiler does.");
  state->input.Register(*command);
  cli::RegisterFormat(*command, &state->format);
  command->add_option("--weights", state->weights, "numbers of the parameters to look at")
      ->delimiter(',');
  command->add_option("--most-runs", state->most_runs,
                      "parameters tried, those with most bytes first");
  command->add_option("-o,--output", state->output,
                      "write io_transposes.json instead; - is standard output");
  command->callback([state, &exit_code] { exit_code = Run(*state); });
}

}  // namespace hlokit
