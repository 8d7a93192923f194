// In which arrangement does the convolution library of a GPU read and write its arrays?
// (sections 4.1 to 4.4)
#include <algorithm>
#include <array>

#include "fmt/format.h"
#include "src/analysis/attribute_values.h"
#include "src/backend/demands.h"
#include "src/backend/gpu_run.h"

namespace hlokit {
namespace {

bool IsEightBitFloat(ElementType type) { return IsFloating(type) && Info(type).bits == 8; }
bool IsHalf(ElementType type) { return type == ElementType::kF16 || type == ElementType::kBf16; }
bool IsHopperOrNewer(const Device& device) {
  return device.vendor == Vendor::kCuda && device.compute_capability.AtLeast(9, 0);
}

/// The AMD families whose library can work on NHWC: MI100, MI200, MI300.
bool IsNhwcCapable(std::string_view gfx) {
  constexpr std::string_view kFamilies[] = {"gfx908", "gfx90a", "gfx942", "gfx950"};
  // "gfx90a:sramecc+:xnack-" is a gfx90a.
  std::string_view family = gfx.substr(0, gfx.find(':'));
  return std::find(std::begin(kFamilies), std::end(kFamilies), family) != std::end(kFamilies);
}

struct ConvRow {
  bool (*applies)(const Device& device, const ConvFacts& facts);
  ConvChoice choice;
};

/// Section 4.2: the first row that applies.
constexpr ConvRow kConvRows[] = {
    {[](const Device&, const ConvFacts& f) {
       return f.type == ElementType::kS8 && f.spatial_dims == 2 && f.operand_rank == 5;
     },
     {ConvLayout::kNchwVectC, "H1", "s8 images of rank 5 hold vectors of features"}},
    {[](const Device&, const ConvFacts& f) { return IsIntegral(f.type); },
     {ConvLayout::kNhwc, "H2", "integer convolutions are always channels last"}},
    {[](const Device&, const ConvFacts& f) { return IsEightBitFloat(f.type); },
     {ConvLayout::kNhwc, "H3", "8-bit float convolutions are always channels last"}},
    {[](const Device& d, const ConvFacts&) { return d.flags.force_conv_nchw; },
     {ConvLayout::kNchw, "H4", "xla_gpu_force_conv_nchw is set"}},
    {[](const Device& d, const ConvFacts&) { return d.flags.force_conv_nhwc; },
     {ConvLayout::kNhwc, "H5", "xla_gpu_force_conv_nhwc is set"}},
    {[](const Device& d, const ConvFacts& f) {
       return IsHopperOrNewer(d) && f.type == ElementType::kF64;
     },
     {ConvLayout::kNchw, "H6", "from capability 9.0 on, f64 stays channels first"}},
    {[](const Device& d, const ConvFacts& f) { return IsHopperOrNewer(d) && f.spatial_dims > 2; },
     {ConvLayout::kNchw, "H7",
      "from capability 9.0 on, three spatial dimensions and more stay channels first"}},
    {[](const Device& d, const ConvFacts&) { return IsHopperOrNewer(d); },
     {ConvLayout::kNhwc, "H8", "from capability 9.0 on, everything else is channels last"}},
    {[](const Device& d, const ConvFacts& f) {
       return d.vendor == Vendor::kCuda && IsHalf(f.type) && f.result_rank == 4 &&
              d.compute_capability.AtLeast(7, 0);
     },
     {ConvLayout::kNhwc, "H9",
      "tensor cores of capability 7.0 to 8.x take half precision images of rank 4 channels last"}},
    {[](const Device& d, const ConvFacts&) { return d.vendor == Vendor::kCuda; },
     {ConvLayout::kNchw, "H10", "below capability 9.0 everything else is channels first"}},
    {[](const Device& d, const ConvFacts& f) {
       return d.vendor == Vendor::kRocm && IsHalf(f.type) && f.result_rank == 4 &&
              d.flags.rocm_nhwc && IsNhwcCapable(d.gfx);
     },
     {ConvLayout::kNhwc, "H11", "TF_USE_ROCM_NHWC is set and this architecture can do it"}},
    {[](const Device& d, const ConvFacts&) { return d.vendor == Vendor::kRocm; },
     {ConvLayout::kNchw, "H12", "everything else on AMD devices is channels first"}},
    {[](const Device&, const ConvFacts&) { return true; },
     {ConvLayout::kNhwc, "H13", "convolutions on devices of other makers are channels last"}},
};

}  // namespace

const ConvChoice& ChooseConvLayout(const Device& device, const ConvFacts& facts) {
  const ConvRow* row = std::begin(kConvRows);
  while (!row->applies(device, facts)) ++row;  // the last one always does
  return row->choice;
}

namespace backend {
namespace {

/// Who an array of a convolution is.
enum class Role : uint8_t { kInput, kFilter, kOutput };

/// The targets of the convolution library and who their arrays are: operand 0, operand 1, result.
struct ConvTarget {
  std::string_view name;
  std::array<Role, 3> roles;
  bool has_side_input = false;  ///< with four operands the last one looks like the output
  bool is_graph = false;        ///< every further operand that is no scalar looks like the output
};
constexpr std::array kForwardRoles = {Role::kInput, Role::kFilter, Role::kOutput};
constexpr ConvTarget kConvTargets[] = {
    {.name = "__cudnn$convForward", .roles = kForwardRoles},
    {.name = "__cudnn$convBackwardInput", .roles = {Role::kOutput, Role::kFilter, Role::kInput}},
    {.name = "__cudnn$convBackwardFilter", .roles = {Role::kInput, Role::kOutput, Role::kFilter}},
    {.name = "__cudnn$convBiasActivationForward", .roles = kForwardRoles, .has_side_input = true},
    {.name = "__cudnn$convForwardGraph", .roles = kForwardRoles, .is_graph = true},
};

const ConvTarget* FindTarget(const Module& module, InstId call) {
  for (const ConvTarget& target : kConvTargets) {
    if (module.IsCustomCall(call, target.name)) return &target;
  }
  return nullptr;
}

/// Section 4.1: first, spatial and feature dimensions as an order from slow to fast. `rank` is that
/// of the array; a dimension that nobody names is the vector of features.
LayoutId Arrange(ShapePool& shapes, ConvLayout layout, int64_t first, int64_t feature,
                 std::span<const int64_t> spatial, uint32_t rank) {
  std::vector<int64_t> order = {first};
  if (layout != ConvLayout::kNhwc) order.push_back(feature);
  order.insert(order.end(), spatial.begin(), spatial.end());
  if (layout == ConvLayout::kNhwc) order.push_back(feature);
  if (layout == ConvLayout::kNchwVectC) {
    int64_t vector = 0;
    while (std::find(order.begin(), order.end(), vector) != order.end()) ++vector;
    order.push_back(vector);
  }
  if (order.size() != rank) return {};
  return FromMajorToMinor(shapes, order);
}

LayoutId LayoutOf(ShapePool& shapes, ConvLayout layout, Role role, const ConvolutionDims& dims,
                  uint32_t rank) {
  switch (role) {
    case Role::kInput:
      return Arrange(shapes, layout, dims.input_batch, dims.input_feature, dims.input_spatial,
                     rank);
    case Role::kFilter:
      return Arrange(shapes, layout, dims.kernel_output, dims.kernel_input, dims.kernel_spatial,
                     rank);
    case Role::kOutput:
      return Arrange(shapes, layout, dims.output_batch, dims.output_feature, dims.output_spatial,
                     rank);
  }
  return {};
}

std::unexpected<Error> Refuse(const Module& module, InstId at, std::string message,
                              std::string help) {
  return MakeError(ExitCode::kUnsupported, DiagId::kBackendRefuses,
                   fmt::format("'{}': {}", module.name(at), message), std::move(help));
}

Result<ConvolutionDims> DimsOf(const Module& module, InstId convolution) {
  std::optional<ConvolutionDims> dims =
      DecodeDimLabels(module.TextAttr(convolution, AttrKind::kDimLabels));
  if (!dims) {
    return Refuse(module, convolution, "a convolution without readable dim_labels",
                  "run 'hlokit verify' on the module");
  }
  return *std::move(dims);
}

/// Section 4.4: the roles that the convolution has for the library, not for the HLO.
void RestoreRoles(ConvolutionDims* dims, int64_t kind) {
  enum : int64_t { kUnset, kForward, kWeightGradient, kDataGradient };
  if (kind == kWeightGradient || kind == kDataGradient) {
    std::swap(dims->kernel_input, dims->kernel_output);
  }
  if (kind == kWeightGradient) {
    std::swap(dims->input_batch, dims->input_feature);
    std::swap(dims->output_batch, dims->output_feature);
  }
}

uint32_t RankOfOperand(const Module& module, InstId instruction, uint32_t operand) {
  return module.shapes().rank(module.shape(module.operand(instruction, operand)));
}

}  // namespace

bool IsConvolutionCall(const Module& module, InstId call) {
  return FindTarget(module, call) != nullptr;
}

BackendRule RuleOf(ConvLayout layout) {
  switch (layout) {
    case ConvLayout::kNchw:
      return BackendRule::kGpuConvNchw;
    case ConvLayout::kNhwc:
      return BackendRule::kGpuConvNhwc;
    case ConvLayout::kNchwVectC:
      break;
  }
  return BackendRule::kGpuConvVectC;
}

LayoutId ConvolutionArrayLayout(const Module& module, InstId convolution, ConvLayout layout,
                                uint32_t role, uint32_t rank) {
  std::optional<ConvolutionDims> dims =
      DecodeDimLabels(module.TextAttr(convolution, AttrKind::kDimLabels));
  if (!dims || role >= kForwardRoles.size()) return {};
  return LayoutOf(module.mutable_shapes(), layout, kForwardRoles[role], *dims, rank);
}

ConvFacts FactsOfConvolution(const Module& module, InstId convolution) {
  ConvFacts facts;
  const ShapePool& shapes = module.shapes();
  if (module.operand_count(convolution) == 0) return facts;
  ShapeId input = module.shape(module.operand(convolution, 0));
  ShapeId result = module.shape(convolution);
  if (shapes.IsTuple(result) && shapes.element_count(result) != 0) {
    result = shapes.element(result, 0);
  }
  facts.type = shapes.type(input);
  facts.operand_rank = shapes.rank(input);
  facts.result_rank = shapes.rank(result);
  std::optional<ConvolutionDims> dims =
      DecodeDimLabels(module.TextAttr(convolution, AttrKind::kDimLabels));
  if (dims) facts.spatial_dims = static_cast<int>(dims->input_spatial.size());
  return facts;
}

Status ConstrainConvolutionCall(GpuRun& run, InstId call) {
  const Module& module = run.services.module();
  ShapePool& shapes = module.mutable_shapes();
  const ConvTarget& target = *FindTarget(module, call);
  uint32_t operands = module.operand_count(call);
  ShapeId result = module.shape(call);
  if (operands < 2 || !shapes.IsTuple(result) || shapes.element_count(result) == 0) {
    return Refuse(module, call, "a convolution call needs two operands and a tuple as result",
                  "the result is (value, scratch)");
  }
  if (operands > 2 && !target.is_graph && !target.has_side_input) {
    return Refuse(module, call, fmt::format("{} takes two operands, not {}", target.name, operands),
                  "bias and side input belong to __cudnn$convBiasActivationForward");
  }
  ASSIGN_OR_RETURN(ConvolutionDims dims, DimsOf(module, call));
  ConvLayout layout = ChooseConvLayout(run.device, FactsOfConvolution(module, call)).layout;
  Demands demands(run.services, call, RuleOf(layout));
  auto of_role = [&](Role role, uint32_t rank) {
    return LayoutOf(shapes, layout, role, dims, rank);
  };
  for (uint32_t k = 0; k < 2; ++k) {
    TRY(demands.Operand(k, of_role(target.roles[k], RankOfOperand(module, call, k))));
  }
  TRY(demands.Part(1, of_role(target.roles[2], shapes.rank(shapes.element(result, 0)))));
  // Operand 2 of the bias-activation form is the bias, which has one dimension.
  uint32_t next = target.is_graph ? 2 : target.has_side_input && operands == 4 ? 3 : operands;
  for (uint32_t k = next; k < operands; ++k) {
    uint32_t rank = RankOfOperand(module, call, k);
    if (rank != 0) TRY(demands.Operand(k, of_role(Role::kOutput, rank)));
  }
  return {};
}

Status ConstrainRawConvolution(GpuRun& run, InstId convolution) {
  const Module& module = run.services.module();
  ShapePool& shapes = module.mutable_shapes();
  int64_t kind = module.IntAttr(convolution, AttrKind::kConvolutionKind);
  if (kind == 0) {
    return Refuse(module, convolution,
                  "xla_gpu_experimental_enable_conv_fusion needs convolutions with a kind",
                  "write convolution_kind=fprop, wgrad or dgrad at it, or leave the flag out");
  }
  if (module.operand_count(convolution) < 2) return {};
  ASSIGN_OR_RETURN(ConvolutionDims dims, DimsOf(module, convolution));
  RestoreRoles(&dims, kind);
  ConvLayout layout = ChooseConvLayout(run.device, FactsOfConvolution(module, convolution)).layout;
  Demands demands(run.services, convolution, RuleOf(layout));
  for (uint32_t k = 0; k < 2; ++k) {
    TRY(demands.Operand(k, LayoutOf(shapes, layout, k == 0 ? Role::kInput : Role::kFilter, dims,
                                    RankOfOperand(module, convolution, k))));
  }
  return demands.Output(
      LayoutOf(shapes, layout, Role::kOutput, dims, shapes.rank(module.shape(convolution))));
}

}  // namespace backend
}  // namespace hlokit
