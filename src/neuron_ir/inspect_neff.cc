// What does a wrapped module contain: payload, mask, transposes?
#include <algorithm>
#include <charconv>
#include <map>

#include "fmt/format.h"
#include "hlokit/attribute_text.h"
#include "hlokit/neff_wrapper.h"
#include "src/neuron_ir/entry_inputs.h"

namespace hlokit {
namespace {

/// The custom call of the entry that carries the NEFF.
Result<InstId> FindCustomCall(const Module& module) {
  InstId found;
  for (InstId id : module.computation(module.entry()).instructions) {
    if (module.IsDead(id) || !module.IsCustomCall(id, kNeffTarget)) continue;
    if (found.valid()) {
      return MakeError(ExitCode::kCheckFailed, DiagId::kBadInputValue,
                       fmt::format("the entry has more than one custom call to {}: %{} and %{}",
                                   kNeffTarget, module.name(found), module.name(id)));
    }
    found = id;
  }
  if (found.valid()) return found;
  return MakeError(
      ExitCode::kCheckFailed, DiagId::kBadInputValue,
      fmt::format("the entry has no custom call to {}: this is no wrapped module", kNeffTarget),
      "hlo-neff-wrapper writes wrapped modules");
}

/// The transform of a computation in one of its two forms: parameter, reshape, transpose, and
/// perhaps a reshape back.
std::optional<IoTranspose> TransformOf(const Module& module, CompId id) {
  const ComputationData& data = module.computation(id);
  if (data.parameters.size() != 1) return std::nullopt;
  const auto live = std::count_if(data.instructions.begin(), data.instructions.end(),
                                  [&](InstId inst) { return !module.IsDead(inst); });
  InstId at = data.root;
  const bool back = module.opcode(at) == Opcode::kReshape;
  if (live != (back ? 4 : 3)) return std::nullopt;
  if (back && module.operand_count(at) == 1) at = module.operand(at, 0);
  if (module.opcode(at) != Opcode::kTranspose || module.operand_count(at) != 1) return std::nullopt;
  const InstId folded = module.operand(at, 0);
  if (module.opcode(folded) != Opcode::kReshape || module.operand_count(folded) != 1 ||
      module.operand(folded, 0) != data.parameters[0]) {
    return std::nullopt;
  }
  IoTranspose spec;
  const std::span<const int64_t> sizes = module.shapes().sizes(module.shape(folded));
  const std::span<const int64_t> axes = module.dimensions(at);
  spec.reshape.assign(sizes.begin(), sizes.end());
  spec.transpose.assign(axes.begin(), axes.end());
  return spec;
}

std::vector<std::string> SplitAtCommas(std::string_view text) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const size_t comma = text.find(',');
    parts.emplace_back(text.substr(0, comma));
    text = comma == std::string_view::npos ? "" : text.substr(comma + 1);
  }
  return parts;
}

class Inspector {
 public:
  explicit Inspector(const Module& module) : module_(module) {}

  Result<WrappedNeff> Run() {
    ASSIGN_OR_RETURN(result_.custom_call, FindCustomCall(module_));
    result_.payload = module_.TextAttr(result_.custom_call, AttrKind::kBackendConfig);
    if (result_.payload.empty()) Note("the payload is empty");
    TRY(ReadOperands());
    ReadAttributes();
    CompareForms();
    return std::move(result_);
  }

 private:
  void Note(std::string text) { result_.notes.push_back(std::move(text)); }

  Status ReadOperands() {
    for (InstId operand : module_.operands(result_.custom_call)) {
      NeffInput input{.received = module_.shape(operand)};
      InstId value = operand;
      if (module_.opcode(operand) == Opcode::kCall && module_.operand_count(operand) == 1 &&
          !module_.called_computations(operand).empty()) {
        value = module_.operand(operand, 0);
        ReadCall(operand, value, input);
      }
      input.name = FrontendName(module_, value);
      input.shape = module_.shape(value);
      if (module_.opcode(value) == Opcode::kParameter) {
        input.parameter = module_.parameter_number(value);
        if (input.call && !transposed_.emplace(input.parameter, input.computation).second) {
          return MakeError(
              ExitCode::kCheckFailed, DiagId::kDuplicateIoTranspose,
              fmt::format("parameter {} is transposed by two calls: {} and {}", input.parameter,
                          transposed_[input.parameter], input.computation),
              "readers of wrapped modules would take one of the two");
        }
      }
      result_.inputs.push_back(std::move(input));
    }
    return {};
  }

  void ReadCall(InstId call, InstId value, NeffInput& input) {
    const CompId callee = module_.to_apply(call);
    input.computation = module_.name(callee);
    input.call = TransformOf(module_, callee);
    if (!input.call) {
      Note(
          fmt::format("%{} is not parameter, reshape, transpose (and reshape)", input.computation));
      return;
    }
    input.call->input_name = FrontendName(module_, value);
    const TextFields fields =
        ParseFrontendAttributes(module_.TextAttr(call, AttrKind::kFrontendAttributes));
    const std::string* number = FindField(fields, "transposable_weight_idx");
    if (number == nullptr) {
      Note(fmt::format("%{} carries no transposable_weight_idx", module_.name(call)));
    } else if (module_.opcode(value) != Opcode::kParameter ||
               *number != std::to_string(module_.parameter_number(value))) {
      Note(fmt::format("%{} says transposable_weight_idx={}, but its operand is %{}",
                       module_.name(call), EscapeText(*number), module_.name(value)));
    }
  }

  void ReadAttributes() {
    const TextFields fields = ParseFrontendAttributes(
        module_.TextAttr(result_.custom_call, AttrKind::kFrontendAttributes));
    if (const std::string* text = FindField(fields, "valid_inputs")) ReadMask(*text);
    if (const std::string* text = FindField(fields, "required_transpose")) ReadRequired(*text);
  }

  void ReadMask(const std::string& text) {
    result_.valid_inputs = text;
    const std::vector<std::string> parts = SplitAtCommas(text);
    const bool mask = std::all_of(parts.begin(), parts.end(), [](const std::string& part) {
      return part == "0" || part == "1";
    });
    if (!mask) return;  // a list of names
    if (parts.size() != result_.inputs.size()) {
      Note(fmt::format("valid_inputs has {} entries, the custom call {} operands", parts.size(),
                       result_.inputs.size()));
    }
    for (size_t i = 0; i < std::min(parts.size(), result_.inputs.size()); ++i)
      result_.inputs[i].valid = parts[i];
  }

  void ReadRequired(const std::string& text) {
    result_.required_transpose = text;
    Result<IoTransposes> specs = ParseIoTransposes(text);
    if (!specs) {
      Note("required_transpose is not in a known form");
      return;
    }
    std::map<std::string, NeffInput*> by_name;
    for (NeffInput& input : result_.inputs) by_name.emplace(input.name, &input);
    for (IoTranspose& spec : specs->entries) {
      const auto found = by_name.find(spec.input_name);
      if (found == by_name.end()) {
        Note(fmt::format("required_transpose names '{}', which is no input",
                         EscapeText(spec.input_name)));
      } else {
        found->second->attribute = std::move(spec);
      }
    }
  }

  /// A module may tell transposes in two ways; then both have to say the same.
  void CompareForms() {
    for (const NeffInput& input : result_.inputs) {
      if (!input.call || !input.attribute) continue;
      if (input.call->reshape == input.attribute->reshape &&
          input.call->transpose == input.attribute->transpose) {
        continue;
      }
      Note(fmt::format("the call and required_transpose move '{}' differently", input.name));
    }
  }

  const Module& module_;
  WrappedNeff result_;
  std::map<int64_t, std::string> transposed_;
};

}  // namespace

Result<WrappedNeff> InspectNeff(const Module& module) { return Inspector(module).Run(); }

}  // namespace hlokit
