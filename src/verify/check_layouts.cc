// Are layouts changed only where that is allowed? hlo-verifier.md sections 4.2, 4.3 and 4.6.
#include <algorithm>

#include "src/verify/checker.h"
#include "src/verify/physical_order.h"

namespace hlokit {
namespace {

constexpr int64_t kFastSpace = 1;
constexpr int64_t kHostSpace = 5;

bool IgnoresElementSize(Opcode opcode) {
  return opcode == Opcode::kConvert || opcode == Opcode::kCompare || opcode == Opcode::kIsFinite ||
         opcode == Opcode::kScatter;
}

}  // namespace

void Checker::CheckLayouts(InstId id) {
  if (!options_.layout_sensitive) return;
  Opcode opcode = module_.opcode(id);
  ShapeId shape = module_.shape(id);
  if (opcode == Opcode::kBitcast) CheckBitcast(id);
  if (options_.opcodes_keep_layouts && Info(opcode).layout_rule == LayoutRule::kKeeps)
    CheckLayoutKept(id);
  if (opcode == Opcode::kScan && module_.IntAttr(id, AttrKind::kIsAssociative) == 0) {
    Report(id, DiagId::kScanNotExpanded,
           "a scan that is not associative must be expanded before layouts "
           "are fixed");
  }
  bool movable = opcode == Opcode::kReshape && IsArray(shape) &&
                 !callers_[module_.computation_of(id).value].fusion.valid();
  if (movable && options_.reshape_is_bitcast && shapes_.layout(shape).valid() &&
      shapes_.layout(operand_shapes_[0]).valid() && !Has(shape, kHasBrokenOrder) &&
      !Has(operand_shapes_[0], kHasBrokenOrder) &&
      !IsReshapeBitcast(shapes_, operand_shapes_[0], shape)) {
    Report(id, DiagId::kReshapeMovesData, "the reshape from {} to {} moves elements",
           Text(operand_shapes_[0]), Text(shape));
    Help("give the reshape the order of its operand and copy afterwards");
  }
  if (options_.strict_layouts && opcode == Opcode::kCopy && shape == operand_shapes_[0]) {
    ReportWarning(id, DiagId::kUselessCopy, "the copy has the shape and layout of its operand");
  }
}

/// Through copies.
bool Checker::SourceIsConstant(InstId id) const {
  while (module_.opcode(id) == Opcode::kCopy) id = module_.operand(id, 0);
  return module_.opcode(id) == Opcode::kConstant;
}

void Checker::CheckBitcast(InstId id) {
  ShapeId from = operand_shapes_[0];
  ShapeId to = module_.shape(id);
  int64_t from_bytes = shapes_.LogicalBytes(from);
  int64_t to_bytes = shapes_.LogicalBytes(to);
  auto same_data = [&] {
    if (!IsArray(from) || !IsArray(to) || shapes_[from].has_dynamic || shapes_[to].has_dynamic)
      return false;
    // Both products stay far below the limits of double for sizes that exist.
    return static_cast<double>(shapes_.ElementCount(from)) * Info(shapes_.type(from)).bits ==
           static_cast<double>(shapes_.ElementCount(to)) * Info(shapes_.type(to)).bits;
  };
  if (from_bytes != to_bytes && !(options_.allow_bitcast_to_have_different_size && same_data())) {
    Report(id, DiagId::kBitcastSize, "a bitcast cannot make {} bytes ({}) out of {} bytes ({})",
           to_bytes, Text(to), from_bytes, Text(from));
    return;
  }
  if (Has(from, kHasHostMemory) != Has(to, kHasHostMemory) &&
      !SourceIsConstant(module_.operand(id, 0))) {
    Report(id, DiagId::kBitcastMemory, "a bitcast cannot move {} to {}", Text(from), Text(to));
    Help("use a copy between host and device memory");
    return;
  }
  if (options_.strict_layouts) CheckStrictBitcast(id);
}

void Checker::CheckStrictBitcast(InstId id) {
  ShapeId from = operand_shapes_[0];
  ShapeId to = module_.shape(id);
  for (ShapeId shape : {from, to}) {
    if (!IsArray(shape) || !shapes_.layout(shape).valid() || Has(shape, kHasBrokenOrder) ||
        Has(shape, kHasWrongLayoutRank)) {
      return;
    }
  }
  // Another width is another question: then only the bytes count.
  if (Info(shapes_.type(from)).bits != Info(shapes_.type(to)).bits) return;
  if (IsReshapeBitcast(shapes_, from, to) || IsTransposeBitcast(shapes_, from, to)) return;
  Report(id, DiagId::kBitcastMovesData,
         "{} is neither a reshape nor a transposition of {} in place", Text(to), Text(from));
  Help("use a copy, a reshape or a transpose");
}

void Checker::CheckLayoutKept(InstId id) {
  Opcode opcode = module_.opcode(id);
  ShapeId shape = module_.shape(id);
  if (!IsArray(shape) || !shapes_.layout(shape).valid()) return;
  LayoutId layout = shapes_.layout(shape);
  bool slice = opcode == Opcode::kDynamicSlice;
  bool update = opcode == Opcode::kDynamicUpdateSlice;
  for (size_t i = 0; i < operand_shapes_.size(); ++i) {
    ShapeId operand = operand_shapes_[i];
    if (!IsArray(operand) || shapes_.rank(operand) != shapes_.rank(shape)) continue;
    LayoutId other = shapes_.layout(operand);
    if (!other.valid() || other == layout) continue;
    LayoutExtras left = shapes_.extras(layout);
    LayoutExtras right = shapes_.extras(other);
    int64_t to_space = left.memory_space;
    int64_t from_space = right.memory_space;
    left.tiles.clear();
    right.tiles.clear();
    left.memory_space = right.memory_space = 0;
    if (IgnoresElementSize(opcode) || (opcode == Opcode::kSelect && i == 0)) {
      left.element_size_in_bits = right.element_size_in_bits = 0;
    }
    if (!shapes_.SameOrder(layout, other) || left != right) {
      Report(id, DiagId::kLayoutChanged, "{} cannot change the layout of operand {} from {} to {}",
             OpcodeText(opcode), i, shapes_.LayoutText(other), shapes_.LayoutText(layout));
      Help("insert a copy, or let layout assignment run again");
      return;
    }
    if (from_space == to_space || (!slice && !update)) continue;
    bool wrong = from_space == kFastSpace || to_space == kFastSpace ||
                 (slice && to_space == kHostSpace) || (update && from_space == kHostSpace);
    if (wrong) {
      Report(id, DiagId::kMemorySpaceChanged,
             "{} cannot move operand {} from memory space {} to {}", OpcodeText(opcode), i,
             from_space, to_space);
      return;
    }
  }
}

}  // namespace hlokit
