// How does a module change when a parameter arrives already transposed?
#include "src/neuron_ir/apply.h"

#include <algorithm>
#include <set>

#include "fmt/format.h"
#include "src/base/json.h"
#include "src/neuron_ir/entry_inputs.h"

namespace hlokit {
namespace {

std::unexpected<Error> Refuse(ExitCode exit_code, Diagnostic diagnostic) {
  return std::unexpected(Error{exit_code, {std::move(diagnostic)}});
}

/// What ties the shape of a parameter to something else; empty when nothing does.
std::string Tie(const Module& module, InstId parameter, int64_t number) {
  for (const InputOutputAlias& alias : module.config().input_output_alias) {
    if (alias.parameter_number == number) return "shares its buffer with an output";
  }
  for (const BufferDonor& donor : module.config().buffer_donors) {
    if (donor.parameter_number == number) return "is donated";
  }
  const std::string_view sharding = module.TextAttr(parameter, AttrKind::kSharding);
  if (!sharding.empty() && sharding != "{replicated}") return "is sharded";
  return "";
}

/// The parameter number of each spec.
Result<std::vector<size_t>> CheckAll(const Module& module, std::span<const IoTranspose> specs) {
  if (module.config().is_scheduled && !specs.empty()) {
    return MakeError(ExitCode::kUnsupported, DiagId::kBadInputValue,
                     "the module is scheduled: new instructions have no place in its schedule",
                     "apply transposes to the module before scheduling");
  }
  ASSIGN_OR_RETURN(const EntryInputs inputs, EntryInputs::Of(module));
  const std::vector<InstId>& parameters = module.computation(module.entry()).parameters;
  std::vector<size_t> numbers;
  std::set<size_t> seen;
  for (const IoTranspose& spec : specs) {
    const std::optional<size_t> number = inputs.Find(spec.input_name);
    if (!number) return Refuse(ExitCode::kCheckFailed, NoSuchInput(spec, inputs));
    if (std::optional<Diagnostic> problem = SpecProblem(module, parameters[*number], spec))
      return Refuse(ExitCode::kCheckFailed, std::move(*problem));
    if (!seen.insert(*number).second) {
      return Refuse(
          ExitCode::kCheckFailed,
          {.id = DiagId::kDuplicateIoTranspose,
           .message = fmt::format("[NCC_IIOT001] Duplicate io_transpose found for input: {}",
                                  spec.input_name),
           .location = spec.location});
    }
    const std::string tie = Tie(module, parameters[*number], static_cast<int64_t>(*number));
    if (!tie.empty()) {
      return Refuse(ExitCode::kUnsupported,
                    {.id = DiagId::kBadInputValue,
                     .message = fmt::format("the input {} {}: it has to keep its shape",
                                            JsonQuote(spec.input_name), tie),
                     .location = spec.location});
    }
    numbers.push_back(*number);
  }
  return numbers;
}

void ApplyOne(Module& module, size_t number, const IoTranspose& spec) {
  ShapePool& shapes = module.shapes();
  const CompId entry = module.entry();
  const InstId parameter = module.computation(entry).parameters[number];
  const ShapeId old_shape = module.shape(parameter);
  const ElementType type = shapes.type(old_shape);
  const size_t rank = spec.reshape.size();
  std::vector<int64_t> moved(rank), inverse(rank);
  for (size_t i = 0; i < rank; ++i) {
    moved[i] = spec.reshape[spec.transpose[i]];
    inverse[spec.transpose[i]] = static_cast<int64_t>(i);
  }
  LayoutId layout;
  if (shapes.layout(old_shape).valid()) {
    LayoutExtras extras;
    extras.element_size_in_bits = shapes.extras(shapes.layout(old_shape)).element_size_in_bits;
    layout = shapes.WithExtras(shapes.DescendingLayout(static_cast<uint32_t>(rank)), extras);
  }
  const ShapeId folded = shapes.Array(type, spec.reshape, layout);
  const bool same = shapes.Compatible(folded, old_shape);
  // The last instruction of the way back takes over all users first; then the parameter may change.
  const InstId back = module.AddInstruction(
      entry, same ? Opcode::kTranspose : Opcode::kReshape, old_shape, {&parameter, 1},
      module.UniqueInstructionName(same ? "transpose" : "reshape"));
  module.ReplaceAllUsesWith(parameter, back);
  InstId transpose = back;
  if (!same) {
    transpose = module.AddInstruction(entry, Opcode::kTranspose, folded, {&parameter, 1},
                                      module.UniqueInstructionName("transpose"));
    module.SetOperand(back, 0, transpose);
  }
  module.SetAttr(transpose, module.IntsAttribute(AttrKind::kDimensions, inverse));
  module.RemoveAttr(parameter, AttrKind::kOrigin);
  const ShapeId new_shape = shapes.Array(type, moved, layout);
  module.set_shape(parameter, new_shape);
  if (module.config().entry_computation_layout.has_value())
    module.config().entry_computation_layout->parameters[number] = new_shape;
}

}  // namespace

Status ApplyIoTransposes(Module& module, std::span<const IoTranspose> specs) {
  ASSIGN_OR_RETURN(const std::vector<size_t> numbers, CheckAll(module, specs));
  for (size_t i = 0; i < specs.size(); ++i) ApplyOne(module, numbers[i], specs[i]);
  return {};
}

}  // namespace hlokit
