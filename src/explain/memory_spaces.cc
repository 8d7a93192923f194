// What moves between memory spaces, and what of the entry lives outside of device memory?
// (backend-hooks.md section 4.7) Looked at before layouts are assigned: the pass works with memory
// space 0 and gives most values new layouts.
#include "fmt/format.h"
#include "hlokit/explain.h"

namespace hlokit {
namespace {

constexpr int64_t kDevice = 0, kHost = 5;

int64_t SpaceOf(const ShapePool& shapes, ShapeId array) {
  LayoutId layout = shapes.layout(array);
  return layout.valid() ? shapes.extras(layout).memory_space : kDevice;
}

class Finder {
 public:
  explicit Finder(const Module& module)
      : module_(module), shapes_(module.shapes()), executions_(CountExecutions(module)) {}

  void Look(InstId instruction) {
    switch (module_.opcode(instruction)) {
      case Opcode::kCopy:
        LookAtCopy(instruction, module_.shape(instruction));
        break;
      case Opcode::kCopyStart: {
        // (destination, source, context)
        ShapeId shape = module_.shape(instruction);
        if (shapes_.IsTuple(shape) && shapes_.element_count(shape) != 0) {
          LookAtCopy(instruction, shapes_.element(shape, 0));
        }
        break;
      }
      case Opcode::kCustomCall:
        if (module_.IsCustomCall(instruction, "MoveToHost")) Move(instruction, kDevice, kHost);
        if (module_.IsCustomCall(instruction, "MoveToDevice")) Move(instruction, kHost, kDevice);
        break;
      default:
        break;
    }
  }

  std::vector<SpaceTransfer> Take() { return std::move(found_); }

 private:
  void LookAtCopy(InstId copy, ShapeId to_shape) {
    if (module_.operand_count(copy) == 0) return;
    std::vector<ShapeId> from = shapes_.Subshapes(module_.shape(module_.operand(copy, 0)));
    std::vector<ShapeId> to = shapes_.Subshapes(to_shape);
    for (uint32_t i = 0; i < from.size() && i < to.size(); ++i) {
      if (!shapes_.IsArray(from[i]) || !shapes_.IsArray(to[i])) continue;
      int64_t from_space = SpaceOf(shapes_, from[i]);
      int64_t to_space = SpaceOf(shapes_, to[i]);
      if (from_space == to_space) continue;
      LayoutId before = shapes_.layout(from[i]), after = shapes_.layout(to[i]);
      bool reorders = before.valid() && after.valid() && !shapes_.SameOrder(before, after);
      Add(copy, i, to[i], from_space, to_space, reorders);
    }
  }

  void Move(InstId call, int64_t from, int64_t to) {
    std::vector<ShapeId> parts = shapes_.Subshapes(module_.shape(call));
    for (uint32_t i = 0; i < parts.size(); ++i) {
      if (shapes_.IsArray(parts[i])) Add(call, i, parts[i], from, to, /*reorders=*/false);
    }
  }

  void Add(InstId instruction, uint32_t leaf, ShapeId array, int64_t from, int64_t to,
           bool reorders) {
    const Executions& runs = executions_[module_.computation_of(instruction).value];
    found_.push_back({.instruction = instruction,
                      .leaf = leaf,
                      .from = from,
                      .to = to,
                      .bytes = shapes_.LogicalBytes(array),
                      .multiplier = std::max<int64_t>(runs.count, 1),
                      .multiplier_known = runs.known,
                      .reorders = reorders});
  }

  const Module& module_;
  const ShapePool& shapes_;
  std::vector<Executions> executions_;
  std::vector<SpaceTransfer> found_;
};

void AppendPins(const ShapePool& shapes, ShapeId shape, int64_t parameter,
                std::vector<SpacePin>* out) {
  std::vector<ShapeId> parts = shapes.Subshapes(shape);
  for (uint32_t i = 0; i < parts.size(); ++i) {
    if (!shapes.IsArray(parts[i])) continue;
    int64_t space = SpaceOf(shapes, parts[i]);
    if (space != kDevice) out->push_back({.parameter = parameter, .leaf = i, .space = space});
  }
}

}  // namespace

std::string_view CopyChangeName(CopyChange copy_class) {
  constexpr std::string_view kNames[] = {"layout", "memory-space", "layout-and-memory-space"};
  return kNames[static_cast<size_t>(copy_class)];
}

std::string MemorySpaceName(int64_t space) {
  struct Row {
    int64_t space;
    std::string_view name;
  };
  constexpr Row kRows[] = {
      {kDevice, "device"}, {1, "on-chip"}, {kHost, "host"}, {6, "unpinned host"}};
  for (const Row& row : kRows) {
    if (row.space == space) return std::string(row.name);
  }
  return fmt::format("memory space {}", space);
}

MemorySpaces FindMemorySpaces(const Module& module) {
  MemorySpaces out;
  if (const std::optional<ComputationLayout>& entry = module.config().entry_computation_layout) {
    for (size_t p = 0; p < entry->parameters.size(); ++p) {
      AppendPins(module.shapes(), entry->parameters[p], static_cast<int64_t>(p), &out.entry);
    }
    AppendPins(module.shapes(), entry->result, -1, &out.entry);
  }
  Finder finder(module);
  for (CompId computation : module.computation_order()) {
    for (InstId instruction : module.computation(computation).instructions) {
      finder.Look(instruction);
    }
  }
  out.transfers = finder.Take();
  return out;
}

}  // namespace hlokit
