// What does a module look like once its entry is one custom call that carries a NEFF?
#include <algorithm>
#include <map>
#include <memory>

#include "fmt/format.h"
#include "hlokit/attribute_text.h"
#include "hlokit/neff_wrapper.h"
#include "src/extract/transfer.h"
#include "src/neuron_ir/entry_inputs.h"
#include "src/proto/extras.h"

namespace hlokit {
namespace {

// A serialised proto may not be larger than 2 GiB; the rest of the module needs room too.
constexpr size_t kMaxNeffBytes = (size_t{2} << 30) - (size_t{64} << 20);

/// A parameter, or a constant that the artefact wants as an input.
struct Input {
  InstId original;
  std::string name;
  const IoTranspose* spec = nullptr;
};

bool IsZeroSized(const Module& module, InstId id) {
  const ShapeId shape = module.shape(id);
  return module.shapes().IsArray(shape) && !module.shapes()[shape].has_dynamic &&
         module.shapes().ElementCount(shape) == 0;
}

class Wrapper {
 public:
  Wrapper(const Module& module, const NeffWrapperOptions& options, std::vector<Input> inputs)
      : module_(module),
        options_(options),
        inputs_(std::move(inputs)),
        out_(Module::SharingPools(module)),
        transfer_(module, out_) {}

  Module Run(std::string_view neff) {
    CopyHeader();
    const std::vector<CompId> transforms = OpenTransforms();
    BuildEntry(transforms);
    AddCustomCall(neff);
    NameParts();
    out_.ShrinkToFit();
    return std::move(out_);
  }

 private:
  const ComputationData& old_entry() const { return module_.computation(module_.entry()); }

  void CopyHeader() {
    out_.config() = module_.config();
    // Ids of instructions and computations are new; what the file said about the module stays.
    if (const ProtoExtras* extras = module_.config().proto_extras.get(); extras != nullptr) {
      std::shared_ptr<ProtoExtras> kept = std::make_shared<ProtoExtras>();
      kept->module = extras->module;
      out_.config().proto_extras = std::move(kept);
    }
  }

  /// One computation per transposed input, in front of the entry: parameter, reshape, transpose and
  /// on request the reshape back.
  std::vector<CompId> OpenTransforms() {
    std::vector<CompId> transforms(inputs_.size());
    if (!options_.calls) return transforms;
    for (size_t i = 0; i < inputs_.size(); ++i) {
      if (inputs_[i].spec == nullptr) continue;
      transforms[i] = AddTransform(module_.shape(inputs_[i].original), *inputs_[i].spec);
    }
    return transforms;
  }

  CompId AddTransform(ShapeId shape, const IoTranspose& spec) {
    ShapePool& shapes = out_.shapes();
    const ElementType type = shapes.type(shape);
    std::vector<int64_t> moved(spec.reshape.size());
    for (size_t i = 0; i < moved.size(); ++i) moved[i] = spec.reshape[spec.transpose[i]];
    const LayoutId layout = LayoutFor(shape, static_cast<uint32_t>(moved.size()));
    const CompId id = out_.AddComputation({});
    const InstId parameter = Add(id, Opcode::kParameter, shape, {}, "param");
    out_.SetAttr(parameter, Attr::Integer(AttrKind::kParameterNumber, 0));
    const InstId folded = Add(id, Opcode::kReshape, shapes.Array(type, spec.reshape, layout),
                              {&parameter, 1}, "reshape");
    const InstId permuted =
        Add(id, Opcode::kTranspose, shapes.Array(type, moved, layout), {&folded, 1}, "transpose");
    out_.SetAttr(permuted, out_.IntsAttribute(AttrKind::kDimensions, spec.transpose));
    InstId root = permuted;
    if (options_.reshape_back) root = Add(id, Opcode::kReshape, shape, {&permuted, 1}, "reshape");
    out_.computation(id).parameters = {parameter};
    out_.computation(id).root = root;
    return id;
  }

  /// Row-major, and only where the parameter has a layout too; details such as the size of packed
  /// elements are those of the parameter, tiles are not.
  LayoutId LayoutFor(ShapeId parameter, uint32_t rank) {
    ShapePool& shapes = out_.shapes();
    const LayoutId layout = shapes.layout(parameter);
    if (!layout.valid()) return layout;
    LayoutExtras extras;
    extras.element_size_in_bits = shapes.extras(layout).element_size_in_bits;
    return shapes.WithExtras(shapes.DescendingLayout(rank), extras);
  }

  /// Parameters in order, each with its call right behind it: readers count parameters to pair
  /// them.
  void BuildEntry(std::span<const CompId> transforms) {
    entry_ = transfer_.Open(module_.entry());
    out_.set_entry(entry_);
    for (size_t i = 0; i < inputs_.size(); ++i) {
      const InstId original = inputs_[i].original;
      InstId operand = transfer_.Begin(original);
      transfer_.Finish(original);
      out_.RemoveAttr(operand, AttrKind::kControlPredecessors);
      if (module_.opcode(original) == Opcode::kParameter)
        out_.computation(entry_).parameters.push_back(operand);
      if (transforms[i].valid()) operand = AddCall(operand, transforms[i], i);
      operands_.push_back(operand);
    }
  }

  InstId AddCall(InstId parameter, CompId transform, size_t number) {
    const ShapeId shape = out_.shape(out_.computation(transform).root);
    const InstId call = Add(entry_, Opcode::kCall, shape, {&parameter, 1}, "io_transpose");
    out_.SetAttr(call, out_.RefsAttribute(AttrKind::kCalledComputations, {{transform.value}}));
    out_.SetAttr(
        call, out_.TextAttribute(
                  AttrKind::kFrontendAttributes,
                  FrontendAttributesText({{"transposable_weight_idx", std::to_string(number)}})));
    return call;
  }

  /// The root keeps its name unless that is the name of an input.
  void AddCustomCall(std::string_view neff) {
    const InstId old_root = old_entry().root;
    const ShapeId shape = module_.shape(old_root);
    const bool taken = transfer_.Mapped(old_root).valid();
    const bool apart = options_.tuple_elements && module_.shapes().IsTuple(shape);
    const InstId call = Add(entry_, Opcode::kCustomCall, shape, operands_, "custom-call");
    out_.SetAttr(call, out_.TextAttribute(AttrKind::kCustomCallTarget, kNeffTarget));
    out_.SetAttr(call, out_.TextAttribute(AttrKind::kBackendConfig, neff));
    if (options_.api_version != 1)
      out_.SetAttr(call, Attr::Integer(AttrKind::kApiVersion, options_.api_version));
    const InstId root = apart ? TakeApart(call, shape) : call;
    for (AttrKind kind : {AttrKind::kSharding, AttrKind::kMetadata}) {
      // The sharding belongs to the value that the module returns.
      const Attr* attr = taken ? nullptr : module_.FindAttr(old_root, kind);
      if (attr != nullptr) out_.SetAttr(kind == AttrKind::kSharding ? root : call, *attr);
    }
    SetFrontendAttributes(call,
                          taken ? "" : module_.TextAttr(old_root, AttrKind::kFrontendAttributes));
    out_.computation(entry_).root = root;
    if (taken) return;
    out_.set_name(root, module_.name_ref(old_root));
    std::erase_if(unnamed_, [&](const auto& pair) { return pair.first == root; });
  }

  InstId TakeApart(InstId call, ShapeId shape) {
    std::vector<InstId> elements;
    for (uint32_t i = 0; i < module_.shapes().element_count(shape); ++i) {
      elements.push_back(Add(entry_, Opcode::kGetTupleElement, module_.shapes().element(shape, i),
                             {&call, 1}, "get-tuple-element"));
      out_.SetAttr(elements.back(), Attr::Integer(AttrKind::kIndex, i));
    }
    return Add(entry_, Opcode::kTuple, shape, elements, "tuple");
  }

  /// Those of the old root (neff_output_names), with ours added.
  void SetFrontendAttributes(InstId call, std::string_view old) {
    TextFields fields = ParseFrontendAttributes(old);
    std::erase_if(fields, [](const auto& field) {
      return field.first == "valid_inputs" || field.first == "required_transpose";
    });
    std::string valid;
    std::vector<IoTranspose> specs;
    for (const Input& input : inputs_) {
      if (input.spec != nullptr) {
        specs.push_back(*input.spec);
        specs.back().input_name = input.name;
      }
      if (!options_.mask && input.spec == nullptr) continue;
      if (!valid.empty()) valid += ',';
      valid += !options_.mask ? input.name : IsZeroSized(module_, input.original) ? "0" : "1";
    }
    fields.emplace_back("valid_inputs", valid);
    if (options_.attribute && !specs.empty()) {
      std::string text = WriteIoTransposes(specs);
      std::erase(text, '\n');
      fields.emplace_back("required_transpose", text);
    }
    out_.SetAttr(call, out_.TextAttribute(AttrKind::kFrontendAttributes,
                                          FrontendAttributesText(std::move(fields))));
  }

  InstId Add(CompId computation, Opcode opcode, ShapeId shape, std::span<const InstId> operands,
             const char* name) {
    const InstId id = out_.AddInstruction(computation, opcode, shape, operands, {});
    unnamed_.emplace_back(id, name);
    return id;
  }

  /// At the end, when all names that have to stay are known.
  void NameParts() {
    for (const auto& [id, name] : unnamed_) out_.set_name(id, out_.UniqueInstructionName(name));
    for (CompId id : out_.computation_order()) {
      if (id != entry_) out_.computation(id).name = out_.UniqueComputationName("io_transpose");
    }
  }

  const Module& module_;
  const NeffWrapperOptions& options_;
  std::vector<Input> inputs_;
  Module out_;
  Transfer transfer_;
  CompId entry_;
  std::vector<InstId> operands_;
  std::vector<std::pair<InstId, const char*>> unnamed_;
};

std::unexpected<Error> Fail(Diagnostic diagnostic) {
  return std::unexpected(Error{ExitCode::kCheckFailed, {std::move(diagnostic)}});
}

/// Parameters in order, then marked constants.
std::vector<Input> CollectInputs(const Module& module, const EntryInputs& names,
                                 const NeffWrapperOptions& options) {
  std::vector<Input> inputs;
  const ComputationData& entry = module.computation(module.entry());
  for (size_t i = 0; i < entry.parameters.size(); ++i)
    inputs.push_back({entry.parameters[i], names.names()[i]});
  if (!options.constant_inputs) return inputs;
  for (InstId id : entry.instructions) {
    if (module.IsDead(id) || module.opcode(id) != Opcode::kConstant) continue;
    if (HasFrontendName(module, id)) inputs.push_back({id, FrontendName(module, id)});
  }
  return inputs;
}

/// Gives every transpose to its parameter.
Status Distribute(const Module& module, const EntryInputs& names,
                  std::span<const IoTranspose> specs, std::vector<Input>& inputs) {
  for (const IoTranspose& spec : specs) {
    const std::optional<size_t> number = names.Find(spec.input_name);
    if (!number) {
      Diagnostic problem = NoSuchInput(spec, names);
      const bool constant = std::any_of(inputs.begin(), inputs.end(), [&](const Input& input) {
        return input.name == spec.input_name;
      });
      if (constant) {
        problem.message =
            fmt::format("the input '{}' is a constant, not a parameter", spec.input_name);
        problem.help = "constants cannot be transposed on the host: remove the entry";
      }
      return Fail(std::move(problem));
    }
    Input& input = inputs[*number];
    if (std::optional<Diagnostic> problem = SpecProblem(module, input.original, spec))
      return Fail(std::move(*problem));
    if (input.spec != nullptr) {
      return Fail({.id = DiagId::kDuplicateIoTranspose,
                   .message = fmt::format(
                       "[NCC_IIOT001] Duplicate io_transpose found for input: {}", spec.input_name),
                   .location = spec.location,
                   .help = "keep one entry per input"});
    }
    input.spec = &spec;
  }
  return {};
}

}  // namespace

Result<std::optional<Module>> WrapNeff(const Module& module, std::string_view neff,
                                       std::span<const IoTranspose> specs,
                                       const NeffWrapperOptions& options) {
  ASSIGN_OR_RETURN(const EntryInputs names, EntryInputs::Of(module));
  std::vector<Input> inputs = CollectInputs(module, names, options);
  TRY(Distribute(module, names, specs, inputs));
  if (neff.size() > kMaxNeffBytes) {
    return Fail({.id = DiagId::kInputTooLarge,
                 .message = fmt::format("the NEFF has {} bytes; a proto holds at most 2 GiB",
                                        neff.size())});
  }
  const bool needed =
      !specs.empty() || std::any_of(inputs.begin(), inputs.end(), [&](const Input& input) {
        return IsZeroSized(module, input.original);
      });
  if (!needed) return std::nullopt;
  return Wrapper(module, options, std::move(inputs)).Run(neff);
}

}  // namespace hlokit
