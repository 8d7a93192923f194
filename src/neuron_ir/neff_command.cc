// hlokit neff inspect: what is in a wrapped module, and what does it do to a weight?
#include <cstdio>
#include <memory>

#include "fmt/format.h"
#include "hlokit/attribute_text.h"
#include "hlokit/file.h"
#include "hlokit/input.h"
#include "hlokit/neff_wrapper.h"
#include "hlokit/npy.h"
#include "nlohmann/json.hpp"
#include "src/base/json.h"
#include "src/cli/common.h"
#include "src/neuron/checksum.h"
#include "src/neuron_ir/commands.h"
#include "src/tensor/tensor_io.h"

namespace hlokit {
namespace {

struct State {
  cli::InputOptions input;
  cli::Format format = cli::Format::kText;
  std::string payload, specs;
  std::string apply, npy, output;
};

const IoTranspose* SpecOf(const NeffInput& input) {
  if (input.call) return &*input.call;
  return input.attribute ? &*input.attribute : nullptr;
}

std::string HashOf(const WrappedNeff& neff) {
  return ChecksumOf(std::as_bytes(std::span(neff.payload.data(), neff.payload.size())));
}

std::string Text(const Module& module, const WrappedNeff& neff) {
  const ShapePool& shapes = module.shapes();
  std::string out =
      fmt::format("module {}\ncustom call %{}: {}\npayload: {} bytes, checksum {}\n\n",
                  module.config().name, module.name(neff.custom_call),
                  shapes.Text(module.shape(neff.custom_call)), neff.payload.size(), HashOf(neff));
  std::vector<std::vector<std::string>> rows = {
      {"parameter", "name", "shape", "valid", "reshape", "transpose", "received as"}};
  for (const NeffInput& input : neff.inputs) {
    const IoTranspose* spec = SpecOf(input);
    rows.push_back(
        {input.parameter < 0 ? "-" : std::to_string(input.parameter), EscapeText(input.name),
         shapes.Text(input.shape), input.valid.empty() ? "-" : input.valid,
         spec == nullptr ? "-" : JsonList(spec->reshape),
         spec == nullptr ? "-" : JsonList(spec->transpose), shapes.Text(input.received)});
  }
  out += neff.inputs.empty() ? "no inputs\n" : cli::Table(rows, "rllllll");
  if (neff.valid_inputs.find_first_not_of("01,") != std::string::npos)
    out += fmt::format("valid_inputs: {}\n", EscapeText(neff.valid_inputs));
  for (const std::string& note : neff.notes) out += fmt::format("note: {}\n", note);
  return out;
}

nlohmann::ordered_json SpecJson(const std::optional<IoTranspose>& spec) {
  if (!spec) return nullptr;
  return {{"reshape", spec->reshape}, {"transpose", spec->transpose}};
}

nlohmann::ordered_json Json(const Module& module, const WrappedNeff& neff) {
  const ShapePool& shapes = module.shapes();
  nlohmann::ordered_json inputs = nlohmann::ordered_json::array();
  for (const NeffInput& input : neff.inputs) {
    nlohmann::ordered_json row;
    row["parameter"] = input.parameter;
    row["name"] = input.name;
    row["shape"] = shapes.Text(input.shape);
    row["received"] = shapes.Text(input.received);
    row["valid"] = input.valid;
    row["computation"] = input.computation;
    row["call"] = SpecJson(input.call);
    row["attribute"] = SpecJson(input.attribute);
    inputs.push_back(std::move(row));
  }
  nlohmann::ordered_json document;
  document["schema"] = "hlokit.neff-inspect/1";
  document["module"] = module.config().name;
  document["custom_call"] = module.name(neff.custom_call);
  document["result"] = shapes.Text(module.shape(neff.custom_call));
  document["payload_bytes"] = neff.payload.size();
  document["payload_checksum"] = HashOf(neff);
  document["valid_inputs"] = neff.valid_inputs;
  document["required_transpose"] = neff.required_transpose;
  document["inputs"] = std::move(inputs);
  document["notes"] = neff.notes;
  return document;
}

/// The input that a user names by name or number.
Result<const NeffInput*> FindInput(const WrappedNeff& neff, const std::string& name) {
  for (const NeffInput& input : neff.inputs) {
    if (input.name == name) return &input;
  }
  for (const NeffInput& input : neff.inputs) {
    if (input.parameter >= 0 && std::to_string(input.parameter) == name) return &input;
  }
  return MakeError(ExitCode::kUsage, DiagId::kUsageError,
                   fmt::format("there is no input '{}'", EscapeText(name)),
                   "run the command without --apply to see the inputs");
}

/// The array that the device gets: transposed, and of the shape that the NEFF receives.
Status Apply(const State& state, const Module& module, const WrappedNeff& neff) {
  ASSIGN_OR_RETURN(const NeffInput* input, FindInput(neff, state.apply));
  const IoTranspose* spec = SpecOf(*input);
  if (spec == nullptr) {
    return MakeError(ExitCode::kCheckFailed, DiagId::kMissingInput,
                     fmt::format("the input '{}' is not transposed", EscapeText(state.apply)));
  }
  ASSIGN_OR_RETURN(const NpyFile file, NpyFile::Open(state.npy));
  const std::span<const int64_t> sizes = module.shapes().sizes(input->shape);
  if (!std::equal(sizes.begin(), sizes.end(), file.array().shape.begin(),
                  file.array().shape.end())) {
    return MakeError(
        ExitCode::kCheckFailed, DiagId::kBadInputValue,
        fmt::format("{} has the shape {}, the input is {}", state.npy, JsonList(file.array().shape),
                    module.shapes().Text(input->shape, false)));
  }
  ASSIGN_OR_RETURN(const TransposedArray moved,
                   TransposedArray::Make(file.array(), file.data(), spec->reshape, spec->transpose,
                                         static_cast<int64_t>(file.array().item_bytes) * 8));
  ArrayInfo info = moved.info();
  const std::span<const int64_t> received = module.shapes().sizes(input->received);
  // With the attribute alone the operand is the parameter: the transposed shape says more then.
  if (input->call) info.shape.assign(received.begin(), received.end());
  return WriteNpyFile(state.output, info, [&](const ByteSink& sink) { return moved.Write(sink); });
}

Status Extras(const State& state, const Module& module, const WrappedNeff& neff) {
  if (!state.payload.empty()) TRY(WriteFile(state.payload, neff.payload));
  if (!state.specs.empty()) {
    std::vector<IoTranspose> specs;
    for (const NeffInput& input : neff.inputs) {
      if (const IoTranspose* spec = SpecOf(input)) specs.push_back(*spec);
    }
    TRY(WriteFile(state.specs, WriteIoTransposes(specs)));
  }
  if (!state.apply.empty()) TRY(Apply(state, module, neff));
  return {};
}

int Run(const State& state) {
  if (!state.apply.empty() && (state.npy.empty() || state.output.empty())) {
    std::fputs("hlokit neff inspect: --apply needs --npy IN.npy and -o OUT.npy\n", stderr);
    return static_cast<int>(ExitCode::kUsage);
  }
  const Result<Module> module = cli::Load(state.input);
  if (!module) return cli::Report(module.error(), state.input.path);
  const Result<WrappedNeff> neff = InspectNeff(*module);
  if (!neff) return cli::Report(neff.error(), state.input.path);
  const Status extras = Extras(state, *module, *neff);
  if (!extras) return cli::Report(extras.error(), "");
  if (!state.payload.empty() || !state.specs.empty() || !state.apply.empty())
    return static_cast<int>(ExitCode::kOk);
  return state.format == cli::Format::kJson ? cli::EmitJson(Json(*module, *neff))
                                            : cli::Emit(Text(*module, *neff));
}

}  // namespace

void RegisterNeff(CLI::App& app, int& exit_code) {
  CLI::App* group = app.add_subcommand("neff", "modules that hlo-neff-wrapper writes");
  group->require_subcommand(1);
  std::shared_ptr<State> state = std::make_shared<State>();
  CLI::App* command = group->add_subcommand("inspect", "what is in a wrapped module");
  command->footer(
      "Examples:\n"
      "  hlokit neff inspect wrapped_neff.hlo\n"
      "  hlokit neff inspect wrapped_neff.hlo --payload graph.neff\n"
      "  hlokit neff inspect wrapped_neff.hlo --specs io_transposes.json\n"
      "  hlokit neff inspect wrapped_neff.hlo --apply w --npy w.npy -o moved.npy\n"
      "With --payload, --specs or --apply nothing is printed. The checksum tells payloads apart; "
      "it "
      "is not\ncryptographic.");
  state->input.Register(*command);
  cli::RegisterFormat(*command, &state->format);
  command->add_option("--payload", state->payload,
                      "write the NEFF to a file; - is standard output");
  command->add_option("--specs", state->specs, "write the transposes as io_transposes.json");
  command->add_option("--apply", state->apply,
                      "name or number of an input: transpose a .npy file as the module says");
  command->add_option("--npy", state->npy, "with --apply: the array of that input");
  command->add_option("-o,--output", state->output, "with --apply: the .npy file to write");
  command->callback([state, &exit_code] { exit_code = Run(*state); });
}

}  // namespace hlokit
