// Which operands does an instruction update in place?
#include "src/copy_insertion/in_place.h"

#include <algorithm>

namespace hlokit::copies {
namespace {

class PairFinder {
 public:
  PairFinder(const Module& module, InstId inst)
      : module_(module), shapes_(module.shapes()), inst_(inst), shape_(module.shape(inst)) {}
  std::vector<InPlacePair> Find();

 private:
  void Add(uint32_t operand, uint32_t from, uint32_t to);
  /// operand 0 ↔ the result when `operands` is 1, else operand i ↔ {i}.
  void AddOneOrElements(uint32_t operands);
  void AddAnnotated();
  void AddPermuteInPlace(bool start);
  void AddFused();
  void AddFusedOutput(InstId root, uint32_t to);
  uint32_t ElementOffset(ShapeId shape, uint32_t element) const;

  const Module& module_;
  const ShapePool& shapes_;
  InstId inst_;
  ShapeId shape_;
  std::vector<InPlacePair> pairs_;
};

constexpr uint32_t kNoNode = 0xffffffffu;

uint32_t PairFinder::ElementOffset(ShapeId shape, uint32_t element) const {
  if (!shapes_.IsTuple(shape) || element >= shapes_.element_count(shape)) return kNoNode;
  return shapes_.element_offset(shape, element);
}

void PairFinder::Add(uint32_t operand, uint32_t from, uint32_t to) {
  if (operand >= module_.operand_count(inst_) || to == kNoNode || from == kNoNode) return;
  if (to >= shapes_[shape_].subshape_count) return;
  if (from >= shapes_[module_.shape(module_.operand(inst_, operand))].subshape_count) return;
  pairs_.push_back({operand, from, to});
}

void PairFinder::AddOneOrElements(uint32_t operands) {
  if (operands == 1) return Add(0, 0, 0);
  for (uint32_t i = 0; i < operands; ++i) Add(i, 0, ElementOffset(shape_, i));
}

void PairFinder::AddAnnotated() {
  for (const OperandAlias& alias : module_.output_to_operand_aliasing(inst_)) {
    uint64_t operand = static_cast<uint64_t>(alias.operand_number);
    if (operand >= module_.operand_count(inst_)) continue;
    std::optional<uint32_t> from = shapes_.PreorderOf(
        module_.shape(module_.operand(inst_, static_cast<uint32_t>(operand))), alias.operand_index);
    std::optional<uint32_t> to = shapes_.PreorderOf(shape_, alias.output_index);
    if (from && to) Add(static_cast<uint32_t>(operand), *from, *to);
  }
}

/// Four operands (input, output, starts of both): the output is written in place.
void PairFinder::AddPermuteInPlace(bool start) {
  if (module_.operand_count(inst_) != 4) return;
  uint32_t to = start ? ElementOffset(shape_, 1) : 0;
  ShapeId output = module_.shape(module_.operand(inst_, 1));
  if (to == kNoNode) return;
  if (!shapes_.IsTuple(output)) return Add(1, 0, to);
  ShapeId result = shapes_.Subshape(shape_, to);
  for (uint32_t i = 0; i < shapes_.element_count(output); ++i) {
    uint32_t offset = ElementOffset(result, i);
    if (offset != kNoNode) Add(1, ElementOffset(output, i), to + offset);
  }
}

/// The root, or one element of the root tuple, of a fusion: an in-place update of a parameter?
void PairFinder::AddFusedOutput(InstId root, uint32_t to) {
  while (module_.opcode(root) == Opcode::kBitcast) root = module_.operand(root, 0);
  if (module_.opcode(root) == Opcode::kFusion || module_.opcode(root) == Opcode::kTuple) return;
  for (const InPlacePair& pair : InPlacePairs(module_, root)) {
    if (pair.from != 0 || pair.to != 0) continue;
    InstId at = module_.operand(root, pair.operand);
    while (module_.opcode(at) == Opcode::kBitcast) at = module_.operand(at, 0);
    if (module_.opcode(at) != Opcode::kParameter) continue;
    Add(static_cast<uint32_t>(module_.parameter_number(at)), 0, to);
  }
}

void PairFinder::AddFused() {
  InstId root = module_.computation(module_.to_apply(inst_)).root;
  if (module_.opcode(root) != Opcode::kTuple) return AddFusedOutput(root, 0);
  for (uint32_t i = 0; i < module_.operand_count(root); ++i) {
    uint32_t to = ElementOffset(shape_, i);
    if (to != kNoNode) AddFusedOutput(module_.operand(root, i), to);
  }
}

std::vector<InPlacePair> PairFinder::Find() {
  switch (module_.opcode(inst_)) {
    case Opcode::kDynamicUpdateSlice:
    case Opcode::kSetDimensionSize:
      Add(0, 0, 0);
      break;
    case Opcode::kScatter:
      AddOneOrElements((module_.operand_count(inst_) - 1) / 2);
      break;
    case Opcode::kAllReduceStart:
      AddOneOrElements(module_.operand_count(inst_));
      break;
    case Opcode::kRaggedAllToAll:
      Add(1, 0, 0);
      break;
    case Opcode::kCollectivePermute:
      AddPermuteInPlace(false);
      break;
    case Opcode::kCollectivePermuteStart:
      AddPermuteInPlace(true);
      break;
    case Opcode::kCustomCall:
    case Opcode::kAsyncStart:
      AddAnnotated();
      break;
    case Opcode::kFusion:
      AddAnnotated();
      AddFused();
      break;
    default:
      break;
  }
  return std::move(pairs_);
}

}  // namespace

std::vector<InPlacePair> InPlacePairs(const Module& module, InstId inst) {
  return PairFinder(module, inst).Find();
}

}  // namespace hlokit::copies
