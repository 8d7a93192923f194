// What does the CPU backend ask of layout assignment? (section 2.1)
#include <algorithm>
#include <unordered_map>

#include "src/backend/demands.h"
#include "src/backend/rules.h"

namespace hlokit::backend {
namespace {

class CpuRules final : public LayoutRules {
 public:
  explicit CpuRules(std::shared_ptr<const Device> device) : device_(std::move(device)) {}
  std::shared_ptr<const LayoutRuleBook> rule_book() const override { return MakeRuleBook(device_); }
  Status AddBackendConstraints(LayoutServices& services, CompId computation) const override;

 private:
  std::shared_ptr<const Device> device_;
};

/// The instructions of one computation in one round.
class CpuConstraints {
 public:
  CpuConstraints(LayoutServices& services, const Device& device)
      : services_(services), module_(services.module()), device_(device) {}
  Status Constrain(InstId instruction);

 private:
  std::optional<uint32_t> ColumnMajorConstant(InstId instruction);
  bool OnlyReadColumnByColumn(InstId constant) const;
  Status RowMajorThroughout(InstId instruction, BackendRule rule) const;
  Status CollectiveDimensionMajor(InstId collective, BackendRule rule) const;
  Status RowMajorOperands(InstId instruction) const;

  LayoutServices& services_;
  const Module& module_;
  const Device& device_;
  std::unordered_map<uint32_t, bool> constants_;  // by InstId: only read column by column
};

/// The first row of the table of section 2.1 that fits.
Status CpuConstraints::Constrain(InstId instruction) {
  Opcode opcode = module_.opcode(instruction);
  if (opcode == Opcode::kConvolution && MayBecomeEigenConvolution(module_, instruction, device_)) {
    return RowMajorThroughout(instruction, BackendRule::kCpuConvolution);
  }
  if (opcode == Opcode::kDot && DotNeedsRowMajor(module_, instruction)) {
    return RowMajorThroughout(instruction, BackendRule::kCpuDot);
  }
  if (module_.IsCustomCall(instruction, "TopK")) {
    return RowMajorThroughout(instruction, BackendRule::kCpuTopK);
  }
  if (std::optional<uint32_t> operand = ColumnMajorConstant(instruction)) {
    ShapePool& shapes = module_.mutable_shapes();
    uint32_t rank = shapes.rank(module_.shape(module_.operand(instruction, *operand)));
    return Demands(services_, instruction, BackendRule::kCpuConstantColumnMajor)
        .Operand(*operand, ColumnMajor(shapes, rank));
  }
  if (opcode == Opcode::kReduceScatter) {
    return CollectiveDimensionMajor(instruction, BackendRule::kCpuReduceScatter);
  }
  if (opcode == Opcode::kAllGather) {
    return CollectiveDimensionMajor(instruction, BackendRule::kCpuAllGather);
  }
  return RowMajorOperands(instruction);
}

Status CpuConstraints::RowMajorThroughout(InstId instruction, BackendRule rule) const {
  Demands demands(services_, instruction, rule);
  TRY(demands.RowMajorOutput());
  return demands.AllOperandsRowMajor();
}

std::optional<uint32_t> CpuConstraints::ColumnMajorConstant(InstId instruction) {
  std::optional<uint32_t> operand = ProfitableColumnMajorOperand(module_, instruction);
  if (!operand || *operand >= module_.operand_count(instruction)) return std::nullopt;
  InstId constant = module_.operand(instruction, *operand);
  if (module_.opcode(constant) != Opcode::kConstant) return std::nullopt;
  auto [known, fresh] = constants_.try_emplace(constant.value, false);
  if (fresh) known->second = OnlyReadColumnByColumn(constant);
  return known->second ? operand : std::nullopt;
}

bool CpuConstraints::OnlyReadColumnByColumn(InstId constant) const {
  for (InstId user : module_.users(constant)) {
    std::optional<uint32_t> operand = ProfitableColumnMajorOperand(module_, user);
    std::span<const InstId> operands = module_.operands(user);
    if (!operand || *operand >= operands.size() || operands[*operand] != constant ||
        std::count(operands.begin(), operands.end(), constant) != 1) {
      return false;
    }
  }
  return true;
}

Status CpuConstraints::CollectiveDimensionMajor(InstId collective, BackendRule rule) const {
  std::span<const int64_t> dimension = module_.dimensions(collective);
  if (dimension.empty()) return {};
  return Demands(services_, collective, rule)
      .Output(WithDimensionMajorEverywhere(module_.mutable_shapes(), module_.shape(collective),
                                           dimension[0]));
}

Status CpuConstraints::RowMajorOperands(InstId instruction) const {
  Demands demands(services_, instruction, BackendRule::kCpuRowMajorOperand);
  for (uint32_t k = 0; k < module_.operand_count(instruction); ++k) {
    if (!demands.HasArrayOperand(k) || services_.OperandShape(instruction, k).valid() ||
        services_.IsForwarded(instruction, k)) {
      continue;
    }
    TRY(demands.RowMajorOperand(k));
  }
  return {};
}

Status CpuRules::AddBackendConstraints(LayoutServices& services, CompId computation) const {
  CpuConstraints constraints(services, *device_);
  for (InstId instruction : services.module().computation(computation).instructions) {
    TRY(constraints.Constrain(instruction));
  }
  return {};
}

}  // namespace

std::unique_ptr<LayoutRules> MakeCpuRules(std::shared_ptr<const Device> device) {
  return std::make_unique<CpuRules>(std::move(device));
}

}  // namespace hlokit::backend
