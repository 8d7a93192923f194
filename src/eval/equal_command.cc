// hlokit equal: do two modules compute the same?
#include <algorithm>
#include <memory>

#include "hlokit/equal.h"
#include "hlokit/verifier.h"
#include "nlohmann/json.hpp"
#include "src/cli/common.h"
#include "src/eval/commands.h"

namespace hlokit::cli {
namespace {

using Json = nlohmann::ordered_json;

struct State {
  InputOptions left, right;
  EqualOptions options;
  std::string strict = "none";
  int64_t replicas = 0;
  Format format = Format::kText;
};

Json DifferenceJson(const Difference& difference) {
  return {{"leaf", difference.leaf},
          {"element", difference.element},
          {"left", difference.left},
          {"right", difference.right}};
}

Json ReportJson(const State& state, const EqualReport& report) {
  Json mismatches = Json::array();
  for (const EqualMismatch& m : report.mismatches) {
    Json row = {{"inputs", InputRuleName(m.rule)},
                {"seed", m.seed},
                {"device", m.device},
                {"difference", DifferenceJson(m.difference)},
                {"index", m.element}};
    if (!m.right_instruction.empty()) {
      row["parting"] = {{"left", m.left_instruction},
                        {"right", m.right_instruction},
                        {"matched_by", m.matched_by},
                        {"difference", DifferenceJson(m.parting)}};
    }
    mismatches.push_back(std::move(row));
  }
  return {{"schema", "hlokit.equal/1"},    {"left", state.left.path},
          {"right", state.right.path},     {"equal", report.equal},
          {"bit_equal", report.bit_equal}, {"runs", report.runs},
          {"made_up", report.stand_ins},   {"mismatches", std::move(mismatches)}};
}

int Run(State& state) {
  const std::string second = state.right.path;
  state.right = state.left;
  state.right.path = second;
  state.options.strict_left = state.strict == "a" || state.strict == "both";
  state.options.strict_right = state.strict == "b" || state.strict == "both";
  Result<Module> left = Load(state.left);
  if (!left) return Report(left.error(), state.left.path);
  Result<Module> right = Load(state.right);
  if (!right) return Report(right.error(), state.right.path);
  if (Status sound = VerifyModule(*left); !sound) return Report(sound.error(), state.left.path);
  if (Status sound = VerifyModule(*right); !sound) return Report(sound.error(), state.right.path);
  const int64_t partitions = std::clamp<int64_t>(left->config().num_partitions, 1, 1 << 16);
  if (state.replicas > 0) state.options.devices = state.replicas * partitions;
  Result<EqualReport> report = CompareModules(*left, *right, state.options);
  if (!report) return Report(report.error(), "");
  const int code = state.format == Format::kJson ? EmitJson(ReportJson(state, *report))
                                                 : Emit(EqualText(*report));
  return code == 0 && !report->equal ? static_cast<int>(ExitCode::kCheckFailed) : code;
}

}  // namespace

void RegisterEqual(CLI::App& app, int& exit_code) {
  std::shared_ptr<State> state = std::make_shared<State>();
  CLI::App* command =
      app.add_subcommand("equal", "do two modules compute the same values? tried with inputs");
  command->footer(
      "Examples:\n  hlokit equal before.txt after.txt\n"
      "  hlokit assign module.txt | hlokit equal --strict-layouts b module.txt -\n"
      "  hlokit equal --seeds 20 --ulps 4 mine.txt theirs.txt\n"
      "Exit codes: 0 when they agree on all inputs, 1 when they do not.");
  command->add_option("A", state->left.path, "the first module; - reads standard input")
      ->required();
  command->add_option("B", state->right.path, "the second module")->required();
  command
      ->add_option("--input-format", state->left.format,
                   "auto, text, proto, pbtxt or log; auto looks at the contents")
      ->check(CLI::IsMember({"auto", "text", "proto", "pbtxt", "log"}));
  command
      ->add_option(
          "--seeds", state->options.seeds,
          "sets of inputs: the first with distinct elements, the second with extreme ones, "
          "the rest random")
      ->check(CLI::Range(1, 100000));
  command->add_option("--first-seed", state->options.first_seed, "number of the first set");
  command
      ->add_option("--ulps", state->options.ulps,
                   "how far floats may be apart when a module computes with floats")
      ->check(CLI::NonNegativeNumber);
  command
      ->add_option("--strict-layouts", state->strict,
                   "read bytes in the order that each shape says: none, a, b or both")
      ->check(CLI::IsMember({"none", "a", "b", "both"}));
  command->add_option("--replicas", state->replicas, "replicas to simulate")
      ->check(CLI::Range(1, 4096));
  RegisterFormat(*command, &state->format);
  command->add_option("--max-bytes", state->options.max_bytes, "most memory for values");
  command->add_option("--max-work", state->options.max_work, "most elements to compute");
  command->callback([state, &exit_code] { exit_code = Run(*state); });
}

}  // namespace hlokit::cli
