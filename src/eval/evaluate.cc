// The door: inputs in, the value of the entry computation out.
#include <algorithm>

#include "fmt/format.h"
#include "hlokit/eval.h"
#include "src/eval/engine.h"

namespace hlokit {
namespace {

using eval::DeviceValues;
using eval::Engine;
using eval::Value;

std::unexpected<Error> BadInput(std::string message) {
  return MakeError(ExitCode::kUsage, DiagId::kBadEvalInput, std::move(message));
}

/// The shape in which a caller hands over or expects a value: the entry layout of the module when
/// layouts are strict and it is set, else the shape of the instruction.
ShapeId OutsideShape(const Engine& engine, InstId id, ShapeId entry_layout) {
  const ShapeId own = engine.module().shape(id);
  if (!engine.options().strict_layouts || !entry_layout.valid()) return own;
  const ShapePool& shapes = engine.shapes();
  return shapes[entry_layout].fully_set && shapes.Compatible(own, entry_layout) ? entry_layout
                                                                                : own;
}

/// The value of one parameter from its leaves, starting at *next.
Result<Value> ParameterValue(Engine& engine, InstId parameter, ShapeId shape,
                             const HostLeaves& leaves, size_t* next) {
  const ShapePool& shapes = engine.shapes();
  std::vector<Value> values;
  for (ShapeId leaf : shapes.Subshapes(shape)) {
    if (shapes.IsTuple(leaf)) continue;
    if (*next == leaves.size()) return BadInput("there are fewer inputs than leaves of parameters");
    const HostArray& array = leaves[(*next)++];
    if (!shapes.IsArray(leaf)) {
      values.push_back({leaf, nullptr, nullptr});
      continue;
    }
    const std::span<const int64_t> sizes = shapes.sizes(leaf);
    if (array.type != shapes.type(leaf) ||
        !std::equal(sizes.begin(), sizes.end(), array.sizes.begin(), array.sizes.end()) ||
        static_cast<int64_t>(array.bytes.size()) !=
            shapes.ElementCount(leaf) * StorageBytes(array.type)) {
      return BadInput(fmt::format("input {} for {} must be {}", *next - 1,
                                  engine.module().name(parameter), shapes.Text(leaf, false)));
    }
    ASSIGN_OR_RETURN(Value value, engine.Store(parameter, leaf, array.bytes.data()));
    values.push_back(std::move(value));
  }
  return engine.FromLeaves(shape, values);
}

Result<HostLeaves> ToHost(Engine& engine, InstId id, const Value& value) {
  std::vector<Value> leaves;
  Engine::AppendLeaves(value, &leaves);
  HostLeaves out;
  for (const Value& leaf : leaves) {
    HostArray array{engine.shapes().type(leaf.shape), {}, {}};
    if (engine.shapes().IsArray(leaf.shape)) {
      const std::span<const int64_t> sizes = engine.shapes().sizes(leaf.shape);
      array.sizes.assign(sizes.begin(), sizes.end());
      ASSIGN_OR_RETURN(const std::shared_ptr<eval::Storage> bytes, engine.Logical(id, leaf));
      array.bytes.assign(bytes->data(), bytes->data() + bytes->size());
    }
    out.push_back(std::move(array));
  }
  return out;
}

}  // namespace

Result<std::vector<HostLeaves>> Evaluate(const Module& module, std::span<const HostLeaves> inputs,
                                         const EvalOptions& options) {
  Engine engine(module, options);
  const ComputationData& entry = module.computation(module.entry());
  const size_t devices = static_cast<size_t>(engine.device_count());
  if (inputs.size() != 1 && inputs.size() != devices) {
    return BadInput(
        fmt::format("there are inputs for {} devices, not 1 or {}", inputs.size(), devices));
  }
  const ComputationLayout outside =
      module.config().entry_computation_layout.value_or(ComputationLayout());
  std::vector<uint32_t> numbers(devices);
  std::vector<DeviceValues> arguments(entry.parameters.size());
  for (size_t device = 0; device < devices; ++device) {
    numbers[device] = static_cast<uint32_t>(device);
    const HostLeaves& leaves = inputs[inputs.size() == 1 ? 0 : device];
    size_t next = 0;
    for (size_t i = 0; i < entry.parameters.size(); ++i) {
      const InstId parameter = entry.parameters[i];
      const ShapeId layout = i < outside.parameters.size() ? outside.parameters[i] : ShapeId();
      ASSIGN_OR_RETURN(Value value,
                       ParameterValue(engine, parameter, OutsideShape(engine, parameter, layout),
                                      leaves, &next));
      arguments[i].push_back(std::move(value));
    }
    if (next != leaves.size()) return BadInput("there are more inputs than leaves of parameters");
  }
  const ShapeId wanted = OutsideShape(engine, entry.root, outside.result);
  DeviceValues results;
  TRY(engine.Run(module.entry(), numbers, arguments, &results));
  std::vector<HostLeaves> out;
  for (Value& result : results) {
    ASSIGN_OR_RETURN(result, engine.PassOn(entry.root, result, wanted));
    ASSIGN_OR_RETURN(HostLeaves leaves, ToHost(engine, entry.root, result));
    out.push_back(std::move(leaves));
  }
  return out;
}

}  // namespace hlokit
