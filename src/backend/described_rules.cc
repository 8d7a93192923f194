// What does a machine that a device file describes ask of layout assignment? A table of demands,
// and one loop over it.
#include <algorithm>
#include <unordered_map>

#include "fmt/format.h"
#include "src/analysis/attribute_values.h"
#include "src/backend/demands.h"
#include "src/backend/rules.h"

namespace hlokit::backend {
namespace {

/// Rule numbers are those of the demands, from 1.
class DemandBook final : public LayoutRuleBook {
 public:
  explicit DemandBook(std::shared_ptr<const Device> device) : device_(std::move(device)) {}

  BackendRuleText Describe(const Module&, uint16_t rule, InstId) const override {
    if (rule == 0 || rule > device_->demands.size()) return {};
    const Demand& demand = device_->demands[rule - 1];
    BackendRuleText text{.id = demand.id, .sentence = demand.reason};
    if (text.sentence.empty()) {
      text.sentence = fmt::format("{} asks for {}", device_->name,
                                  demand.order ? DemandKindName(*demand.order) : "a layout");
    }
    text.link = device_->documentation.empty() ? fmt::format("{}:{}", device_->file, demand.line)
                                               : device_->documentation;
    return text;
  }

 private:
  std::shared_ptr<const Device> device_;
};

class DescribedRules final : public LayoutRules {
 public:
  explicit DescribedRules(std::shared_ptr<const Device> device) : device_(std::move(device)) {
    for (uint32_t i = 0; i < device_->demands.size(); ++i) {
      const std::optional<Opcode>& opcode = device_->demands[i].opcode;
      if (opcode) {
        by_opcode_[static_cast<size_t>(*opcode)].push_back(i);
      } else {
        for (std::vector<uint32_t>& list : by_opcode_) list.push_back(i);
      }
    }
  }
  std::shared_ptr<const LayoutRuleBook> rule_book() const override {
    return std::make_shared<const DemandBook>(device_);
  }

  /// Instruction by instruction as they are listed; at each the demands as the file lists them.
  Status AddBackendConstraints(LayoutServices& services, CompId computation) const override {
    const Module& module = services.module();
    for (InstId instruction : module.computation(computation).instructions) {
      for (uint32_t i : by_opcode_[static_cast<size_t>(module.opcode(instruction))]) {
        TRY(Apply(services, instruction, i));
      }
    }
    return {};
  }

 private:
  Status Apply(LayoutServices& services, InstId instruction, uint32_t number) const;
  static bool FitsValue(const ShapePool& shapes, const Demand& demand, ShapeId value);

  std::shared_ptr<const Device> device_;
  std::vector<uint32_t> by_opcode_[kOpcodeCount + 1];
};

bool DescribedRules::FitsValue(const ShapePool& shapes, const Demand& demand, ShapeId value) {
  if (!shapes.IsArray(value) || shapes.rank(value) == 0) return false;
  uint32_t rank = shapes.rank(value);
  if (rank < demand.min_rank.value_or(1) || rank > demand.max_rank.value_or(UINT32_MAX)) {
    return false;
  }
  return demand.types.empty() || std::find(demand.types.begin(), demand.types.end(),
                                           shapes.type(value)) != demand.types.end();
}

/// The order that a demand asks of one value; invalid when it cannot apply to it. `role`: 0 and 1
/// are operands, 2 the result; images of a convolution have other dimension numbers at each.
LayoutId OrderOf(const Module& module, InstId instruction, const Demand& demand, ShapeId value,
                 uint32_t role) {
  ShapePool& shapes = module.mutable_shapes();
  uint32_t rank = shapes.rank(value);
  int64_t dimension = demand.dimension < 0 ? demand.dimension + rank : demand.dimension;
  if (!demand.order) return {};
  switch (*demand.order) {
    case DemandKind::kRowMajor:
      return shapes.DescendingLayout(rank);
    case DemandKind::kColumnMajor:
      return ColumnMajor(shapes, rank);
    case DemandKind::kDimensionMinor:
      return WithDimensionMinor(shapes, value, dimension);
    case DemandKind::kDimensionMajor:
      return WithDimensionMajor(shapes, value, dimension);
    case DemandKind::kNchw:
      return ConvolutionArrayLayout(module, instruction, ConvLayout::kNchw, role, rank);
    case DemandKind::kNhwc:
      return ConvolutionArrayLayout(module, instruction, ConvLayout::kNhwc, role, rank);
  }
  return {};
}

LayoutId LayoutFor(const Module& module, InstId instruction, const Demand& demand, ShapeId value,
                   uint32_t role) {
  ShapePool& shapes = module.mutable_shapes();
  LayoutId order = OrderOf(module, instruction, demand, value, role);
  if (!order.valid()) return order;
  LayoutExtras extras;
  extras.tiles = demand.tiles;
  // A tile of more dimensions than the array has does not fit it.
  std::erase_if(extras.tiles,
                [&](const std::vector<int64_t>& tile) { return tile.size() > shapes.rank(value); });
  extras.tail_padding_alignment = demand.tail_padding_alignment;
  extras.memory_space = demand.memory_space.value_or(0);
  return extras.IsDefault() ? order : shapes.WithExtras(order, extras);
}

Status DescribedRules::Apply(LayoutServices& services, InstId instruction, uint32_t number) const {
  const Demand& demand = device_->demands[number];
  const Module& module = services.module();
  const ShapePool& shapes = module.shapes();
  if (!demand.custom_call_target.empty() &&
      !module.IsCustomCall(instruction, demand.custom_call_target)) {
    return {};
  }
  constexpr uint32_t kResultRole = 2;
  Demands demands(services, instruction, static_cast<uint16_t>(number + 1));
  demands.Strength(demand.mandatory);
  if (demand.result) {
    std::vector<ShapeId> parts = shapes.Subshapes(module.shape(instruction));
    for (uint32_t i = 0; i < parts.size(); ++i) {
      // What is only passed on belongs to the instruction that made it.
      if (!FitsValue(shapes, demand, parts[i]) || !services.DefinesBuffer(instruction, i)) continue;
      TRY(demands.Part(i, LayoutFor(module, instruction, demand, parts[i], kResultRole)));
    }
  }
  auto apply_to_operand = [&](uint32_t k) -> Status {
    if (k >= module.operand_count(instruction) || services.IsForwarded(instruction, k)) return {};
    ShapeId value = module.shape(module.operand(instruction, k));
    if (!FitsValue(shapes, demand, value)) return {};
    return demands.Operand(k, LayoutFor(module, instruction, demand, value, k));
  };
  if (demand.all_operands) {
    for (uint32_t k = 0; k < module.operand_count(instruction); ++k) TRY(apply_to_operand(k));
  }
  for (uint32_t k : demand.operands) TRY(apply_to_operand(k));
  return {};
}

}  // namespace

std::unique_ptr<LayoutRules> MakeDescribedRules(std::shared_ptr<const Device> device) {
  return std::make_unique<DescribedRules>(std::move(device));
}

}  // namespace hlokit::backend
