// How does one instruction become a module of its own?
#include "hlokit/extract.h"

#include <string>
#include <vector>

#include "fmt/format.h"
#include "src/extract/selection.h"
#include "src/extract/transfer.h"

namespace hlokit {
namespace {

class Extractor {
 public:
  Extractor(const Module& module, Selection selection)
      : module_(module),
        selection_(std::move(selection)),
        out_(Module::SharingPools(module)),
        transfer_(module, out_) {}

  Module Run() {
    CopyHeader();
    OpenComputations();
    CopyComputations();
    BuildEntry();
    SetEntryLayout();
    NameParts();
    out_.ShrinkToFit();
    return std::move(out_);
  }

 private:
  Role role(InstId id) const { return selection_.roles[id.value]; }

  void CopyHeader() {
    const ModuleConfig& from = module_.config();
    ModuleConfig& to = out_.config();
    to.name = fmt::format("{}.{}", from.name, module_.name(selection_.root));
    to.is_scheduled = from.is_scheduled;
    to.replica_count = from.replica_count;
    to.num_partitions = from.num_partitions;
    to.frontend_attributes = from.frontend_attributes;
    to.stack_frame_index = from.stack_frame_index;  // metadata refers to it
  }

  /// Opens the entry and every computation that it needs, in stored order.
  void OpenComputations() {
    std::vector<uint8_t> needed(module_.computation_count(), 0);
    std::vector<CompId> stack;
    auto need = [&](InstId id) {
      for (CompId callee : module_.called_computations(id)) {
        if (needed[callee.value]) continue;
        needed[callee.value] = 1;
        stack.push_back(callee);
      }
    };
    needed[selection_.computation.value] = 1;
    for (InstId id : module_.computation(selection_.computation).instructions) {
      if (role(id) == Role::kKept) need(id);
    }
    while (!stack.empty()) {
      CompId next = stack.back();
      stack.pop_back();
      for (InstId id : module_.computation(next).instructions) {
        if (!module_.IsDead(id)) need(id);
      }
    }
    for (CompId computation : module_.computation_order()) {
      if (!needed[computation.value]) continue;
      transfer_.Open(computation);
      opened_.push_back(computation);
    }
    entry_ = transfer_.Mapped(selection_.computation);
    out_.set_entry(entry_);
  }

  void CopyComputations() {
    for (CompId computation : opened_) {
      if (computation != selection_.computation) transfer_.CopyAll(computation);
    }
  }

  /// Instructions keep their places in the list, so a schedule stays one.
  void BuildEntry() {
    const ComputationData& data = module_.computation(selection_.computation);
    for (InstId parameter : data.parameters) {
      if (role(parameter) != Role::kOutside) AddParameter(parameter);
    }
    for (InstId id : data.instructions) {
      if (module_.IsDead(id) || module_.opcode(id) == Opcode::kParameter) continue;
      if (role(id) == Role::kKept) transfer_.Begin(id);
      if (role(id) == Role::kStandIn) AddStandIn(id);
    }
    for (InstId id : data.instructions) {
      if (role(id) == Role::kKept && module_.opcode(id) != Opcode::kParameter) transfer_.Finish(id);
    }
    out_.computation(entry_).root = transfer_.Mapped(selection_.root);
  }

  /// A parameter of the computation. Inside a loop it may hold what no entry takes.
  void AddParameter(InstId parameter) {
    if (NeedsParts(module_.shape(parameter))) return AddStandIn(parameter);
    InstId fresh = AddEntryParameter(module_.shape(parameter), module_.name_ref(parameter));
    std::vector<Attr> attrs;
    for (const Attr& attr : module_.attributes(parameter)) {
      if (attr.kind == AttrKind::kParameterNumber || attr.kind == AttrKind::kControlPredecessors) {
        continue;
      }
      attrs.push_back(transfer_.Translate(attr));
    }
    Decorate(fresh, std::move(attrs));
    transfer_.Map(parameter, fresh);
    originals_.emplace_back(parameter, fresh);
  }

  InstId AddEntryParameter(ShapeId shape, StrRef name) {
    InstId fresh = out_.AddInstruction(entry_, Opcode::kParameter, shape, {}, name);
    std::vector<InstId>& parameters = out_.computation(entry_).parameters;
    out_.SetAttr(
        fresh, Attr::Integer(AttrKind::kParameterNumber, static_cast<int64_t>(parameters.size())));
    parameters.push_back(fresh);
    return fresh;
  }

  void Decorate(InstId fresh, std::vector<Attr> attrs) {
    std::span<const Attr> own = out_.attributes(fresh);
    attrs.insert(attrs.begin(), own.begin(), own.end());
    out_.SetAttributes(fresh, attrs);
  }

  /// Tokens and buffers do not come from outside.
  bool NeedsParts(ShapeId shape) const {
    for (ShapeId node : module_.shapes().Subshapes(shape)) {
      if (IsMade(node)) return true;
    }
    return false;
  }
  bool IsMade(ShapeId shape) const {
    return module_.shapes()[shape].is_buffer || module_.shapes().type(shape) == ElementType::kToken;
  }

  /// The value of an instruction that was cut off.
  void AddStandIn(InstId id) {
    ShapeId shape = module_.shape(id);
    InstId fresh = NeedsParts(shape) ? AddParts(shape, module_.name_ref(id))
                                     : AddEntryParameter(shape, module_.name_ref(id));
    std::vector<Attr> kept;
    for (const Attr& attr : module_.attributes(id)) {
      if (attr.kind == AttrKind::kMetadata || attr.kind == AttrKind::kSharding) {
        kept.push_back(transfer_.Translate(attr));
      }
    }
    Decorate(fresh, std::move(kept));
    transfer_.Map(id, fresh);
  }

  /// A value that holds tokens or buffers: a tuple of parameters and of what is made here.
  InstId AddParts(ShapeId shape, StrRef name) {
    const ShapePool& shapes = module_.shapes();
    std::vector<ShapeId> nodes = shapes.Subshapes(shape);
    std::vector<InstId> made(nodes.size());
    for (size_t i = 0; i < nodes.size(); ++i) {
      if (!shapes.IsTuple(nodes[i])) made[i] = AddLeaf(nodes[i], name);
    }
    for (size_t i = nodes.size(); i-- > 0;) {
      if (!shapes.IsTuple(nodes[i])) continue;
      std::vector<InstId> elements;
      for (uint32_t k = 0; k < shapes.element_count(nodes[i]); ++k) {
        elements.push_back(made[i + shapes.element_offset(nodes[i], k)]);
      }
      made[i] = out_.AddInstruction(entry_, Opcode::kTuple, nodes[i], elements, name);
    }
    for (size_t i = 1; i < made.size(); ++i) parts_.push_back(made[i]);
    return made[0];
  }

  InstId AddLeaf(ShapeId shape, StrRef name) {
    if (module_.shapes().type(shape) == ElementType::kToken) {
      return out_.AddInstruction(entry_, Opcode::kAfterAll, shape, {}, name);
    }
    if (!IsMade(shape)) return AddEntryParameter(shape, name);
    InstId fresh = out_.AddInstruction(entry_, Opcode::kCustomCall, shape, {}, name);
    out_.SetAttr(fresh, out_.TextAttribute(AttrKind::kCustomCallTarget, "CreateBuffer"));
    return fresh;
  }

  void SetEntryLayout() {
    const ComputationData& entry = out_.computation(entry_);
    ComputationLayout layout;
    for (InstId parameter : entry.parameters) layout.parameters.push_back(out_.shape(parameter));
    layout.result = out_.shape(entry.root);
    const std::optional<ComputationLayout>& before = module_.config().entry_computation_layout;
    if (selection_.computation == module_.entry() && before) {
      for (auto [original, fresh] : originals_) {
        size_t from = static_cast<size_t>(module_.parameter_number(original));
        size_t to = static_cast<size_t>(out_.parameter_number(fresh));
        if (from < before->parameters.size()) layout.parameters[to] = before->parameters[from];
      }
      if (module_.IsRoot(selection_.root)) layout.result = before->result;
    }
    out_.config().entry_computation_layout = std::move(layout);
    out_.config().entry_computation_layout_given = true;
  }

  /// Parts of a value get numbers behind its name. Last, when all names that stay are there.
  void NameParts() {
    for (InstId part : parts_) {
      StrRef name = out_.UniqueInstructionName(out_.name(part));
      out_.set_name(part, name);
    }
  }

  const Module& module_;
  Selection selection_;
  Module out_;
  Transfer transfer_;
  std::vector<CompId> opened_;
  CompId entry_;
  std::vector<std::pair<InstId, InstId>> originals_;  // parameters that stayed parameters
  std::vector<InstId> parts_;
};

}  // namespace

Result<Module> ExtractInstruction(const Module& module, InstId instruction,
                                  const ExtractOptions& options) {
  Selection selection = Select(module, instruction, options);
  if (selection.unfinished) {
    return MakeError(
        ExitCode::kUsage, DiagId::kUsageError,
        fmt::format("%{} starts what another computation ends, so it cannot stand alone",
                    module.name(selection.root)),
        "extract an operand of it, or the async-start that calls its computation");
  }
  return Extractor(module, std::move(selection)).Run();
}

}  // namespace hlokit
