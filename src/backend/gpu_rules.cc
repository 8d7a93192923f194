// What does the GPU backend ask of layout assignment? (sections 1.4 and 4)
#include <algorithm>

#include "fmt/format.h"
#include "src/backend/demands.h"
#include "src/backend/gpu_run.h"

namespace hlokit::backend {
namespace {

// ---- rules that fit into a few lines; the others have files of their own ----

Status ConstrainRaggedDot(GpuRun& run, InstId dot) {
  // Operand 2 holds the sizes of the groups, in any order.
  Demands demands(run.services, dot, BackendRule::kGpuRaggedDot);
  TRY(demands.RowMajorOperand(0));
  TRY(demands.RowMajorOperand(1));
  return demands.RowMajorOutput();
}

Status ConstrainTranspose(GpuRun& run, InstId transpose) {
  return ConstrainTransposeOfDot(run, transpose);
}

Status ConstrainFft(GpuRun& run, InstId fft) {
  Demands demands(run.services, fft, BackendRule::kGpuFft);
  TRY(demands.RowMajorOperand(0));
  return demands.RowMajorOutput();
}

Status ConstrainSort(GpuRun& run, InstId sort) {
  const Module& module = run.services.module();
  ShapePool& shapes = module.mutable_shapes();
  if (module.operand_count(sort) == 0 || shapes.rank(module.shape(module.operand(sort, 0))) <= 1) {
    return {};
  }
  Demands demands(run.services, sort, BackendRule::kGpuSort);
  TRY(demands.AllOperandsRowMajor());
  std::vector<ShapeId> parts = shapes.Subshapes(module.shape(sort));
  for (uint32_t i = 0; i < parts.size(); ++i) {
    if (!shapes.IsArray(parts[i])) continue;
    TRY(demands.Part(i, shapes.DescendingLayout(shapes.rank(parts[i]))));
  }
  return {};
}

Status ConstrainTopK(GpuRun& run, InstId call) {
  const Module& module = run.services.module();
  ShapePool& shapes = module.mutable_shapes();
  if (module.operand_count(call) == 0) return {};
  uint32_t rank = shapes.rank(module.shape(module.operand(call, 0)));
  Demands demands(run.services, call, BackendRule::kGpuTopK);
  std::vector<ShapeId> parts = shapes.Subshapes(module.shape(call));
  for (uint32_t i = 0; i < parts.size(); ++i) {
    if (!shapes.IsArray(parts[i]) || shapes.rank(parts[i]) != rank) continue;
    TRY(demands.Part(i, shapes.DescendingLayout(rank)));
  }
  return {};
}

Status ConstrainBitcastConvert(GpuRun& run, InstId convert) {
  const Module& module = run.services.module();
  ShapePool& shapes = module.mutable_shapes();
  if (module.operand_count(convert) == 0) return {};
  ShapeId operand = module.shape(module.operand(convert, 0));
  ShapeId result = module.shape(convert);
  uint32_t operand_rank = shapes.rank(operand);
  uint32_t result_rank = shapes.rank(result);
  if (operand_rank == result_rank) return {};
  bool operand_is_larger = operand_rank > result_rank;
  ShapeId larger = operand_is_larger ? operand : result;
  int64_t last = static_cast<int64_t>(shapes.rank(larger)) - 1;
  LayoutId large = WithDimensionMinor(shapes, larger, last);
  if (!large.valid()) return {};
  std::vector<int64_t> kept;
  for (int64_t d = 0; d < last; ++d) kept.push_back(d);
  LayoutId small = KeepDimensions(shapes, large, kept);
  Demands demands(run.services, convert, BackendRule::kGpuBitcastConvert);
  TRY(demands.Operand(0, operand_is_larger ? large : small));
  return demands.Output(operand_is_larger ? small : large);
}

Status ConstrainTriangularSolve(GpuRun& run, InstId solve) {
  const Module& module = run.services.module();
  ShapePool& shapes = module.mutable_shapes();
  Demands demands(run.services, solve, BackendRule::kGpuTriangularSolve);
  for (uint32_t k = 0; k < 2 && k < module.operand_count(solve); ++k) {
    TRY(demands.Operand(k, Fortran(shapes, module.shape(module.operand(solve, k)))));
  }
  return demands.Output(Fortran(shapes, module.shape(solve)));
}

/// `dimension` of the output becomes the slowest one.
Status DimensionMajor(GpuRun& run, InstId collective, int64_t dimension, BackendRule rule) {
  const Module& module = run.services.module();
  return Demands(run.services, collective, rule)
      .Output(WithDimensionMajorEverywhere(module.mutable_shapes(), module.shape(collective),
                                           dimension));
}

template <BackendRule rule>
Status ConstrainCollective(GpuRun& run, InstId collective) {
  std::span<const int64_t> dimension = run.services.module().dimensions(collective);
  // An all-to-all of a tuple exchanges whole arrays and cuts none of them.
  if (dimension.empty()) return {};
  return DimensionMajor(run, collective, dimension[0], rule);
}

Status ConstrainRaggedAllToAll(GpuRun& run, InstId collective) {
  return DimensionMajor(run, collective, 0, BackendRule::kGpuRaggedAllToAll);
}

Status ConstrainSend(GpuRun& run, InstId send) {
  if (run.services.module().operand_count(send) == 0) return {};
  // The pass has put a copy in front of every send.
  InstId copy = run.services.module().operand(send, 0);
  Demands demands(run.services, copy, BackendRule::kGpuSend);
  TRY(demands.RowMajorOutput());
  return demands.RowMajorOperand(0);
}

Status ConstrainRecv(GpuRun& run, InstId recv) {
  return Demands(run.services, recv, BackendRule::kGpuRecv).RowMajorOutput();
}

Status ConstrainHostMove(GpuRun& run, InstId call) {
  Demands demands(run.services, call, BackendRule::kGpuHostMove);
  TRY(demands.RowMajorOperand(0));
  return demands.RowMajorOutput();
}

// ---- computations that run on the host ----

constexpr std::string_view kHostThread = "host";

/// The computation behind an async operation that runs on the host; invalid when there is none.
CompId HostComputation(const Module& module, InstId async) {
  // The start knows the computation; its update and done follow the chain of operands.
  while (module.called_computations(async).empty()) {
    Opcode opcode = module.opcode(async);
    bool follows = opcode == Opcode::kAsyncDone || opcode == Opcode::kAsyncUpdate;
    if (!follows || module.operand_count(async) == 0) return {};
    async = module.operand(async, 0);
  }
  CompId called = module.to_apply(async);
  return module.execution_thread(called) == kHostThread ? called : CompId();
}

Status ConstrainAsyncStart(GpuRun& run, InstId start) {
  const Module& module = run.services.module();
  ShapePool& shapes = module.mutable_shapes();
  CompId called = HostComputation(module, start);
  ShapeId shape = shapes.ClearLayouts(module.shape(start));
  if (!called.valid() || !shapes.IsTuple(shape) || shapes.element_count(shape) < 2) return {};
  const ComputationData& computation = module.computation(called);
  std::vector<ShapeId> parts;
  for (InstId parameter : computation.parameters) parts.push_back(module.shape(parameter));
  std::vector<ShapeId> elements = {shapes.Tuple(parts), module.shape(computation.root)};
  for (uint32_t i = 2; i < shapes.element_count(shape); ++i) {
    elements.push_back(shapes.element(shape, i));
  }
  return Demands(run.services, start, BackendRule::kGpuHostCall)
      .Output(shapes.Tuple(elements), /*allow_alias=*/true);
}

Status ConstrainAsyncDone(GpuRun& run, InstId done) {
  const Module& module = run.services.module();
  CompId called = HostComputation(module, done);
  if (!called.valid()) return {};
  return Demands(run.services, done, BackendRule::kGpuHostCall)
      .Output(module.shape(module.computation(called).root), /*allow_alias=*/true);
}

// ---- custom calls ----

/// The targets of the matrix library; they come after layout assignment.
bool IsMatrixCall(const Module& module, InstId call) {
  return module.TextAttr(call, AttrKind::kCustomCallTarget).starts_with("__cublas$lt$matmul");
}

Status ConstrainCustomCall(GpuRun& run, InstId call) {
  const Module& module = run.services.module();
  if (IsConvolutionCall(module, call)) return ConstrainConvolutionCall(run, call);
  std::string_view target = module.TextAttr(call, AttrKind::kCustomCallTarget);
  if (target == "__gpu$TopK") return ConstrainTopK(run, call);
  if (target == "__cub$DeviceRadixSortUnassignedScratchSize") {
    return ConstrainSort(run, call);
  }
  if (target == "MoveToHost" || target == "MoveToDevice") return ConstrainHostMove(run, call);
  if (IsMatrixCall(module, call)) {
    return MakeError(
        ExitCode::kUnsupported, DiagId::kBackendRefuses,
        fmt::format("'{}' calls the matrix library ({}) before layouts are assigned",
                    module.name(call), target),
        "run layout assignment on the module as it was before its dots became custom calls");
  }
  return {};
}

Status ConstrainConvolution(GpuRun& run, InstId convolution) {
  if (!run.device.flags.conv_fusion) return {};
  return ConstrainRawConvolution(run, convolution);
}

// ---- the table ----

struct OpcodeRule {
  Opcode opcode;
  Status (*constrain)(GpuRun& run, InstId instruction);
};
constexpr OpcodeRule kOpcodeRules[] = {
    {Opcode::kConvolution, ConstrainConvolution},
    {Opcode::kCustomCall, ConstrainCustomCall},
    {Opcode::kDot, ConstrainDot},
    {Opcode::kRaggedDot, ConstrainRaggedDot},
    {Opcode::kTranspose, ConstrainTranspose},
    {Opcode::kFft, ConstrainFft},
    {Opcode::kSort, ConstrainSort},
    {Opcode::kBitcastConvert, ConstrainBitcastConvert},
    {Opcode::kTriangularSolve, ConstrainTriangularSolve},
    {Opcode::kReduceScatter, ConstrainCollective<BackendRule::kGpuReduceScatter>},
    {Opcode::kAllGather, ConstrainCollective<BackendRule::kGpuAllGather>},
    {Opcode::kAllToAll, ConstrainCollective<BackendRule::kGpuAllToAll>},
    {Opcode::kRaggedAllToAll, ConstrainRaggedAllToAll},
    {Opcode::kSend, ConstrainSend},
    {Opcode::kRecv, ConstrainRecv},
    {Opcode::kAsyncStart, ConstrainAsyncStart},
    {Opcode::kAsyncDone, ConstrainAsyncDone},
};

class GpuRules final : public LayoutRules {
 public:
  explicit GpuRules(std::shared_ptr<const Device> device) : device_(std::move(device)) {}
  std::shared_ptr<const LayoutRuleBook> rule_book() const override { return MakeRuleBook(device_); }

  /// Users before operands, so that the operation nearest to the root is queued first.
  Status AddBackendConstraints(LayoutServices& services, CompId computation) const override {
    GpuRun run{services, *device_, DotOperandOrigins(services, computation)};
    std::span<const InstId> order = services.PostOrder(computation);
    for (size_t i = order.size(); i-- > 0;) {
      Opcode opcode = services.module().opcode(order[i]);
      const OpcodeRule* rule =
          std::find_if(std::begin(kOpcodeRules), std::end(kOpcodeRules),
                       [&](const OpcodeRule& candidate) { return candidate.opcode == opcode; });
      if (rule != std::end(kOpcodeRules)) TRY(rule->constrain(run, order[i]));
    }
    return {};
  }

  bool MayChangeLayout(const Module& module, InstId instruction) const override {
    return LayoutRules::MayChangeLayout(module, instruction) &&
           !module.IsCustomCall(instruction, "__gpu$TopK");
  }

  bool PropagateReductionToOperand(const Module& module, InstId reduce) const override {
    constexpr int64_t kWorthwhileElements = 32;
    std::span<const int64_t> sizes = module.shapes().sizes(module.shape(module.operand(reduce, 0)));
    int64_t reduced = 1;
    for (int64_t d : module.dimensions(reduce)) {
      if (d < 0 || d >= static_cast<int64_t>(sizes.size())) return false;
      if (__builtin_mul_overflow(reduced, sizes[static_cast<size_t>(d)], &reduced)) return true;
    }
    return reduced >= kWorthwhileElements;
  }

  LayoutId ChooseOperandLayout(const Module& module, LayoutId output_layout, InstId instruction,
                               uint32_t operand) const override {
    if (module.opcode(instruction) == Opcode::kReshape) {
      LayoutId aligned = AlignGpuReshape(module, output_layout, module.shape(instruction),
                                         module.shape(module.operand(instruction, operand)));
      if (aligned.valid()) return aligned;
    }
    return LayoutRules::ChooseOperandLayout(module, output_layout, instruction, operand);
  }

  LayoutId ChooseOutputLayout(const Module& module, LayoutId operand_layout, InstId user,
                              uint32_t operand) const override {
    if (module.opcode(user) == Opcode::kReshape) {
      LayoutId aligned = AlignGpuReshape(
          module, operand_layout, module.shape(module.operand(user, operand)), module.shape(user));
      if (aligned.valid()) return aligned;
    }
    return LayoutRules::ChooseOutputLayout(module, operand_layout, user, operand);
  }

  /// The base rules choose no operand of a reduce, and another layout where a reshape has
  /// dimensions of size 1 (sections 1.4 and 4.9).
  uint16_t RuleOfChoice(const Module& module, const Choice& choice) const override {
    const Opcode opcode = module.opcode(choice.instruction);
    if (opcode == Opcode::kReduce) {
      return choice.of_operand ? static_cast<uint16_t>(BackendRule::kGpuRowReduction) : 0;
    }
    if (opcode != Opcode::kReshape) return 0;
    LayoutId base = choice.of_operand
                        ? LayoutRules::ChooseOperandLayout(module, choice.known, choice.instruction,
                                                           choice.operand)
                        : LayoutRules::ChooseOutputLayout(module, choice.known, choice.instruction,
                                                          choice.operand);
    return base == choice.chosen ? 0 : static_cast<uint16_t>(BackendRule::kGpuReshape);
  }

 private:
  std::shared_ptr<const Device> device_;
};

}  // namespace

std::unique_ptr<LayoutRules> MakeGpuRules(std::shared_ptr<const Device> device) {
  return std::make_unique<GpuRules>(std::move(device));
}

}  // namespace hlokit::backend
