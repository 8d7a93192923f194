// call, fusion, while, conditional, scan, async-start: who runs which computation how often?
#include <algorithm>
#include <cstring>

#include "src/eval/handlers.h"
#include "src/eval/strided.h"
#include "src/eval/value_handlers.h"

namespace hlokit::eval {
namespace {

Status PassOnAll(Engine& e, InstId id, ShapeId shape, DeviceValues* values) {
  for (Value& value : *values) {
    ASSIGN_OR_RETURN(value, e.PassOn(id, value, shape));
  }
  return {};
}

/// The first element of a pred or integer array.
Result<int64_t> Scalar(Engine& e, InstId id, const Value& value) {
  ASSIGN_OR_RETURN(std::shared_ptr<Storage> bytes, e.Logical(id, value));
  return IntegerAt(e.View(value, *bytes), 0);
}

DeviceValues Pick(const DeviceValues& values, std::span<const size_t> lanes) {
  DeviceValues out;
  for (size_t lane : lanes) out.push_back(values[lane]);
  return out;
}

std::vector<uint32_t> DevicesOf(const Frame& frame, std::span<const size_t> lanes) {
  std::vector<uint32_t> devices;
  for (size_t lane : lanes) devices.push_back(frame.devices[lane]);
  return devices;
}

std::vector<DeviceValues> Operands(Engine& e, const Frame& frame, InstId id) {
  std::vector<DeviceValues> arguments;
  for (uint32_t i = 0; i < e.module().operand_count(id); ++i) {
    arguments.push_back(e.Operand(frame, id, i));
  }
  return arguments;
}

}  // namespace

Status Call(Engine& e, Frame& frame, InstId id, DeviceValues* out) {
  const std::vector<DeviceValues> arguments = Operands(e, frame, id);
  TRY(e.Run(e.module().called_computations(id)[0], frame.devices, arguments, out));
  return PassOnAll(e, id, e.module().shape(id), out);
}

Status While(Engine& e, Frame& frame, InstId id, DeviceValues* out) {
  const std::span<const CompId> callees = e.module().called_computations(id);
  const CompId body = callees[0], condition = callees[1];
  *out = e.Operand(frame, id, 0);
  std::vector<size_t> running(frame.devices.size());
  for (size_t lane = 0; lane < running.size(); ++lane) running[lane] = lane;
  while (!running.empty()) {
    TRY(e.AddWork(id, 1));
    std::vector<DeviceValues> state = {Pick(*out, running)};
    std::vector<uint32_t> devices = DevicesOf(frame, running);
    DeviceValues answers;
    TRY(e.Run(condition, devices, state, &answers));
    std::vector<size_t> next;
    for (size_t i = 0; i < running.size(); ++i) {
      ASSIGN_OR_RETURN(const int64_t answer, Scalar(e, id, answers[i]));
      if (answer != 0) next.push_back(running[i]);
    }
    if (next.empty()) break;
    if (next.size() != running.size()) {
      state[0] = Pick(*out, next);
      devices = DevicesOf(frame, next);
    }
    for (size_t lane : next) (*out)[lane] = Value();
    DeviceValues results;
    TRY(e.Run(body, devices, state, &results));
    for (size_t i = 0; i < next.size(); ++i) (*out)[next[i]] = std::move(results[i]);
    running = std::move(next);
  }
  return PassOnAll(e, id, e.module().shape(id), out);
}

Status Conditional(Engine& e, Frame& frame, InstId id, DeviceValues* out) {
  const std::span<const CompId> branches = e.module().called_computations(id);
  const bool is_pred =
      e.shapes().type(e.module().shape(e.module().operand(id, 0))) == ElementType::kPred;
  const DeviceValues& chosen = e.Operand(frame, id, 0);
  std::vector<std::vector<size_t>> lanes(branches.size());
  for (size_t lane = 0; lane < chosen.size(); ++lane) {
    ASSIGN_OR_RETURN(int64_t index, Scalar(e, id, chosen[lane]));
    if (is_pred) index = index != 0 ? 0 : 1;
    // Numbers without a branch take the last one.
    if (index < 0 || index >= static_cast<int64_t>(branches.size())) {
      index = static_cast<int64_t>(branches.size()) - 1;
    }
    lanes[static_cast<size_t>(index)].push_back(lane);
  }
  out->resize(frame.devices.size());
  for (size_t branch = 0; branch < branches.size(); ++branch) {
    if (lanes[branch].empty()) continue;
    const std::vector<DeviceValues> arguments = {
        Pick(e.Operand(frame, id, static_cast<uint32_t>(branch) + 1), lanes[branch])};
    DeviceValues results;
    TRY(e.Run(branches[branch], DevicesOf(frame, lanes[branch]), arguments, &results));
    for (size_t i = 0; i < results.size(); ++i) (*out)[lanes[branch][i]] = std::move(results[i]);
  }
  return PassOnAll(e, id, e.module().shape(id), out);
}

namespace {

/// Reads or writes slice `step` along a dimension of a row-major array.
void MoveSlice(const ArrayView& array, int64_t dimension, int64_t step, std::byte* slice,
               bool read) {
  const std::vector<int64_t> strides = RowMajorStrides(array.sizes);
  std::vector<int64_t> sizes(array.sizes.begin(), array.sizes.end());
  sizes.erase(sizes.begin() + dimension);
  std::vector<int64_t> outer = strides;
  outer.erase(outer.begin() + dimension);
  std::byte* base = array.data + step * strides[dimension] * array.width();
  const std::vector<int64_t> dense = RowMajorStrides(sizes);
  read ? MoveBox(array.width(), sizes, base, outer, slice, dense)
       : MoveBox(array.width(), sizes, slice, dense, base, outer);
}

/// One scan on one device.
Result<Value> ScanOne(Engine& e, Frame& frame, InstId id, size_t lane) {
  const Module& module = e.module();
  const ShapePool& shapes = e.shapes();
  const CompId step_computation = module.called_computations(id)[0];
  const std::span<const InstId> parameters = module.computation(step_computation).parameters;
  const size_t carries = static_cast<size_t>(module.IntAttr(id, AttrKind::kNumCarries));
  const size_t operands = module.operand_count(id);
  const int64_t dimension = module.dimensions(id)[0];
  if (carries > operands || parameters.size() != operands || !shapes.IsTuple(module.shape(id))) {
    return e.Refuse(id, "the computation does not fit the operands");
  }
  const size_t inputs = operands - carries;
  std::vector<ShapeId> leaves;
  for (uint32_t i = 0; i < shapes.element_count(module.shape(id)); ++i) {
    leaves.push_back(shapes.element(module.shape(id), i));
  }
  if (leaves.size() < carries) return e.Refuse(id, "the result has too few elements");
  const size_t outputs = leaves.size() - carries;
  std::vector<std::shared_ptr<Storage>> in, out;
  int64_t steps = -1;
  for (size_t i = 0; i < inputs; ++i) {
    const Value& value = e.Operand(frame, id, static_cast<uint32_t>(i))[lane];
    ASSIGN_OR_RETURN(std::shared_ptr<Storage> bytes, e.Logical(id, value));
    in.push_back(std::move(bytes));
    steps = shapes.sizes(value.shape)[dimension];
  }
  for (size_t i = 0; i < outputs; ++i) {
    const int64_t count = shapes.ElementCount(leaves[i]);
    ASSIGN_OR_RETURN(
        std::shared_ptr<Storage> bytes,
        e.Allocate(id, static_cast<uint64_t>(count * StorageBytes(shapes.type(leaves[i])))));
    out.push_back(std::move(bytes));
    if (steps < 0) steps = shapes.sizes(leaves[i])[dimension];
  }
  std::vector<Value> state;
  for (size_t i = inputs; i < operands; ++i) {
    state.push_back(e.Operand(frame, id, static_cast<uint32_t>(i))[lane]);
  }
  const bool reverse = module.IntAttr(id, AttrKind::kIsReverse) != 0;
  for (int64_t n = 0; n < steps; ++n) {
    const int64_t step = reverse ? steps - 1 - n : n;
    std::vector<DeviceValues> arguments;
    for (size_t i = 0; i < inputs; ++i) {
      const Value& value = e.Operand(frame, id, static_cast<uint32_t>(i))[lane];
      const ArrayView view = e.View(value, *in[i]);
      const ShapeId slice_shape = module.shape(parameters[i]);
      if (!shapes.IsArray(slice_shape) || shapes.type(slice_shape) != view.type ||
          shapes.ElementCount(slice_shape) * steps != view.count) {
        return e.Refuse(id, "the computation does not fit the operands");
      }
      std::vector<std::byte> slice(static_cast<size_t>(view.count / steps * view.width()));
      MoveSlice(view, dimension, step, slice.data(), true);
      ASSIGN_OR_RETURN(Value argument, e.Store(id, slice_shape, slice.data()));
      arguments.push_back({std::move(argument)});
    }
    for (const Value& carry : state) arguments.push_back({carry});
    DeviceValues result;
    TRY(e.Run(step_computation, frame.devices.subspan(lane, 1), arguments, &result));
    if (result[0].elements == nullptr || result[0].elements->size() != leaves.size()) {
      return e.Refuse(id, "the computation does not fit the result");
    }
    for (size_t i = 0; i < outputs; ++i) {
      const Value& slice = (*result[0].elements)[i];
      ASSIGN_OR_RETURN(std::shared_ptr<Storage> bytes, e.Logical(id, slice));
      const ArrayView view{shapes.type(leaves[i]), shapes.sizes(leaves[i]), out[i]->data(),
                           shapes.ElementCount(leaves[i])};
      if (bytes->size() * static_cast<uint64_t>(steps) != out[i]->size()) {
        return e.Refuse(id, "the computation does not fit the result");
      }
      MoveSlice(view, dimension, step, bytes->data(), false);
    }
    for (size_t i = 0; i < carries; ++i) state[i] = (*result[0].elements)[outputs + i];
  }
  std::vector<Value> elements;
  for (size_t i = 0; i < outputs; ++i) {
    ASSIGN_OR_RETURN(Value value, e.Store(id, leaves[i], std::move(out[i])));
    elements.push_back(std::move(value));
  }
  for (size_t i = 0; i < carries; ++i) {
    ASSIGN_OR_RETURN(Value value, e.Relayout(id, state[i], leaves[outputs + i]));
    elements.push_back(std::move(value));
  }
  return e.Tuple(module.shape(id), std::move(elements));
}

}  // namespace

Status Scan(Engine& e, Frame& frame, InstId id, DeviceValues* out) {
  out->resize(frame.devices.size());
  for (size_t lane = 0; lane < out->size(); ++lane) {
    ASSIGN_OR_RETURN((*out)[lane], ScanOne(e, frame, id, lane));
  }
  return {};
}

Status AsyncStart(Engine& e, Frame& frame, InstId id, DeviceValues* out) {
  const ShapePool& shapes = e.shapes();
  const ShapeId shape = e.module().shape(id);
  if (!shapes.IsTuple(shape) || shapes.element_count(shape) < 2 ||
      !shapes.IsTuple(shapes.element(shape, 0))) {
    return e.Refuse(id, "the result is not ((operands), result, …)");
  }
  const std::vector<DeviceValues> arguments = Operands(e, frame, id);
  DeviceValues results;
  TRY(e.Run(e.module().called_computations(id)[0], frame.devices, arguments, &results));
  TRY(PassOnAll(e, id, shapes.element(shape, 1), &results));
  out->resize(frame.devices.size());
  for (size_t lane = 0; lane < out->size(); ++lane) {
    std::vector<Value> operands;
    const ShapeId operand_tuple = shapes.element(shape, 0);
    for (uint32_t i = 0; i < arguments.size(); ++i) {
      ASSIGN_OR_RETURN(Value value,
                       e.PassOn(id, arguments[i][lane], shapes.element(operand_tuple, i)));
      operands.push_back(std::move(value));
    }
    std::vector<Value> elements = {e.Tuple(operand_tuple, std::move(operands)),
                                   std::move(results[lane])};
    for (uint32_t i = 2; i < shapes.element_count(shape); ++i) {
      ASSIGN_OR_RETURN(Value context, e.Zero(id, shapes.element(shape, i)));
      elements.push_back(std::move(context));
    }
    (*out)[lane] = e.Tuple(shape, std::move(elements));
  }
  return {};
}

}  // namespace hlokit::eval
