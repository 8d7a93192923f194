// Which lanes (devices of a frame) exchange values in a collective, and what do they hand on?
#include "src/eval/lanes.h"

#include <algorithm>

#include "fmt/format.h"
#include "src/eval/device_groups.h"

namespace hlokit::eval {

Result<size_t> LaneOf(const Engine& e, const Frame& frame, InstId id, int64_t device) {
  const auto at = std::find(frame.devices.begin(), frame.devices.end(), device);
  if (device >= 0 && device < e.device_count() && at != frame.devices.end()) {
    return static_cast<size_t>(at - frame.devices.begin());
  }
  std::unexpected<Error> error =
      e.Refuse(id, fmt::format("device {} takes part, {} are simulated", device, e.device_count()),
               DiagId::kCollectiveDeviceMissing);
  error.error().diagnostics[0].help = "--replicas N simulates more";
  return error;
}

Result<std::vector<std::vector<size_t>>> LanesOf(Engine& e, const Frame& frame, InstId id) {
  const std::optional<std::vector<std::vector<int64_t>>> groups =
      DeviceGroups(e.module(), id, e.device_count());
  if (!groups) return e.Refuse(id, "replica groups of this form are not known");
  std::vector<std::vector<size_t>> lanes;
  for (const std::vector<int64_t>& group : *groups) {
    std::vector<size_t>& members = lanes.emplace_back();
    for (int64_t device : group) {
      ASSIGN_OR_RETURN(const size_t lane, LaneOf(e, frame, id, device));
      members.push_back(lane);
    }
  }
  return lanes;
}

std::unexpected<Error> WrongGroupSize(const Engine& e, InstId id, size_t members) {
  std::unexpected<Error> error =
      e.Refuse(id, fmt::format("a group has {} members, which does not fit the sizes", members),
               DiagId::kDeviceMissing);
  error.error().diagnostics[0].help = "--replicas N simulates another number of devices";
  return error;
}

namespace {

bool IsStart(Opcode opcode) {
  return opcode == Opcode::kAllGatherStart || opcode == Opcode::kCollectivePermuteStart;
}

}  // namespace

Result<ShapeId> ResultShape(const Engine& e, InstId id) {
  const ShapeId shape = e.module().shape(id);
  if (!IsStart(e.module().opcode(id))) return shape;
  if (!e.shapes().IsTuple(shape) || e.shapes().element_count(shape) < 2) {
    return e.Refuse(id, "the result is not (operand, result, …)");
  }
  return e.shapes().element(shape, 1);
}

ShapeId OutputShape(const Engine& e, ShapeId shape, uint32_t i, size_t operands) {
  const bool tuple =
      e.shapes().IsTuple(shape) && (operands > 1 || e.shapes().element_count(shape) == 1);
  return tuple ? e.shapes().element(shape, i) : shape;
}

void Join(const Engine& e, ShapeId shape, std::vector<std::vector<Value>> results,
          DeviceValues* out) {
  out->resize(results.size());
  for (size_t lane = 0; lane < out->size(); ++lane) {
    (*out)[lane] = e.shapes().IsTuple(shape) ? e.Tuple(shape, std::move(results[lane]))
                                             : std::move(results[lane][0]);
  }
}

Status WrapStart(Engine& e, const Frame& frame, InstId id, uint32_t inputs, DeviceValues* results) {
  if (!IsStart(e.module().opcode(id))) return {};
  const ShapeId shape = e.module().shape(id), first = e.shapes().element(shape, 0);
  // One input that is a tuple itself is the first element as it is.
  const bool tuple =
      e.shapes().IsTuple(first) &&
      !(inputs == 1 && e.shapes().IsTuple(e.module().shape(e.module().operand(id, 0))));
  for (size_t lane = 0; lane < results->size(); ++lane) {
    std::vector<Value> passed;
    for (uint32_t i = 0; i < inputs; ++i) {
      const ShapeId wanted = tuple ? e.shapes().element(first, i) : first;
      ASSIGN_OR_RETURN(Value value, e.PassOn(id, e.Operand(frame, id, i)[lane], wanted));
      passed.push_back(std::move(value));
    }
    std::vector<Value> elements;
    elements.push_back(tuple ? e.Tuple(first, std::move(passed)) : std::move(passed[0]));
    elements.push_back(std::move((*results)[lane]));
    for (uint32_t i = 2; i < e.shapes().element_count(shape); ++i) {
      ASSIGN_OR_RETURN(Value context, e.Zero(id, e.shapes().element(shape, i)));
      elements.push_back(std::move(context));
    }
    (*results)[lane] = e.Tuple(shape, std::move(elements));
  }
  return {};
}

}  // namespace hlokit::eval
