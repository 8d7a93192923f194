// Which parameter does an entry of io_transposes.json mean, and does the transpose fit it?
#include "src/neuron_ir/entry_inputs.h"

#include <algorithm>

#include "fmt/format.h"
#include "hlokit/attribute_text.h"
#include "src/base/json.h"

namespace hlokit {
namespace {

constexpr std::string_view kNameKey = "neff_input_names";

/// Empty when the instruction does not carry the attribute.
std::string NameAttribute(const Module& module, InstId id) {
  const std::string_view text = module.TextAttr(id, AttrKind::kFrontendAttributes);
  if (text.find(kNameKey) == std::string_view::npos) return "";
  const TextFields fields = ParseFrontendAttributes(text);
  const std::string* name = FindField(fields, kNameKey);
  return name == nullptr ? "" : *name;
}

/// The product of sizes; nothing when it does not fit into 64 bits.
std::optional<int64_t> Product(const std::vector<int64_t>& sizes) {
  int64_t product = 1;
  if (std::find(sizes.begin(), sizes.end(), 0) != sizes.end()) return 0;
  for (int64_t size : sizes) {
    if (size < 0 || __builtin_mul_overflow(product, size, &product)) return std::nullopt;
  }
  return product;
}

bool IsPermutation(const IoTranspose& spec) {
  std::vector<bool> seen(spec.reshape.size());
  if (spec.transpose.size() != seen.size()) return false;
  for (int64_t axis : spec.transpose) {
    if (axis < 0 || axis >= static_cast<int64_t>(seen.size()) || seen[axis]) return false;
    seen[axis] = true;
  }
  return true;
}

}  // namespace

std::string FrontendName(const Module& module, InstId id) {
  std::string name = NameAttribute(module, id);
  return name.empty() ? std::string(module.name(id)) : name;
}

bool HasFrontendName(const Module& module, InstId id) { return !NameAttribute(module, id).empty(); }

Result<EntryInputs> EntryInputs::Of(const Module& module) {
  EntryInputs inputs;
  const std::vector<InstId>& parameters = module.computation(module.entry()).parameters;
  for (size_t number = 0; number < parameters.size(); ++number) {
    const std::string attribute = NameAttribute(module, parameters[number]);
    inputs.by_instruction_name_.emplace(module.name(parameters[number]), number);
    inputs.names_.push_back(attribute.empty() ? std::string(module.name(parameters[number]))
                                              : attribute);
    if (attribute.empty()) continue;
    const auto [known, fresh] = inputs.by_frontend_name_.emplace(attribute, number);
    if (fresh) continue;
    return MakeError(ExitCode::kCheckFailed, DiagId::kMissingInput,
                     fmt::format("parameters {} and {} both carry neff_input_names={}",
                                 known->second, number, JsonQuote(attribute)),
                     "give every parameter a name of its own");
  }
  return inputs;
}

std::optional<size_t> EntryInputs::Find(std::string_view name) const {
  if (const auto it = by_frontend_name_.find(name); it != by_frontend_name_.end())
    return it->second;
  if (const auto it = by_instruction_name_.find(name); it != by_instruction_name_.end())
    return it->second;
  return std::nullopt;
}

std::optional<Diagnostic> SpecProblem(const Module& module, InstId parameter,
                                      const IoTranspose& spec) {
  const ShapePool& shapes = module.shapes();
  const ShapeId shape = module.shape(parameter);
  Diagnostic problem{.id = DiagId::kBadInputValue, .location = spec.location};
  if (!shapes.IsArray(shape) || shapes[shape].has_dynamic || shapes[shape].is_buffer) {
    problem.message = fmt::format("the input {} is no array of fixed size: {}",
                                  JsonQuote(spec.input_name), shapes.Text(shape, false));
    problem.help = "only arrays whose sizes are known can be transposed on the host";
    return problem;
  }
  if (!IsPermutation(spec)) {
    problem.id = DiagId::kBadIoTranspose;
    problem.message =
        fmt::format("{} is not a permutation of the {} axes of reshape {}",
                    JsonList(spec.transpose), spec.reshape.size(), JsonList(spec.reshape));
    return problem;
  }
  const std::optional<int64_t> product = Product(spec.reshape);
  const int64_t elements = shapes.ElementCount(shape);
  if (product == elements) return std::nullopt;
  problem.id = DiagId::kIoReshapeMismatch;
  problem.message = fmt::format(
      "[NCC_IHNW003] Reshape size mismatch for input: {} (reshape {} holds {} elements, "
      "{} holds {})",
      spec.input_name, JsonList(spec.reshape),
      product ? std::to_string(*product) : "more than 2^63", shapes.Text(shape, false), elements);
  problem.help = "the product of reshape has to be the number of elements of the parameter";
  return problem;
}

Diagnostic NoSuchInput(const IoTranspose& spec, const EntryInputs& inputs) {
  std::string known;
  constexpr size_t kMost = 8;
  for (size_t i = 0; i < inputs.names().size() && i < kMost; ++i) {
    known += (i == 0 ? "" : ", ") + inputs.names()[i];
  }
  if (inputs.names().size() > kMost) known += ", …";
  return {.id = DiagId::kMissingInput,
          .message = fmt::format("the module has no input {}", JsonQuote(spec.input_name)),
          .location = spec.location,
          .help = known.empty() ? "the entry has no parameters" : "its inputs are: " + known};
}

}  // namespace hlokit
