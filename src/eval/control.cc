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

Status Fusion(Engine& e, Frame& frame, InstId id, DeviceValues* out) {
  const std::vector<DeviceValues> arguments = Operands(e, frame, id);
  TRY(e.RunFused(e.module().called_computations(id)[0], frame.devices, arguments, out));
  // The result is stored in the layout of the fusion.
  for (Value& value : *out) {
    ASSIGN_OR_RETURN(value, e.Relayout(id, value, e.module().shape(id)));
  }
  return {};
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

/// One scan on one device: inputs are cut into slices, carries go from step to step. Both are
/// handed to the computation as values, not as bytes: layout assignment makes no demand on its
/// parameters, since a scan is rewritten into a loop before or behind it.
class ScanRun {
 public:
  ScanRun(Engine& e, Frame& frame, InstId id, size_t lane)
      : e_(e), frame_(frame), id_(id), lane_(lane), module_(e.module()), shapes_(e.shapes()) {}
  Result<Value> Run() {
    TRY(Prepare());
    const bool reverse = module_.IntAttr(id_, AttrKind::kIsReverse) != 0;
    for (int64_t n = 0; n < steps_; ++n) TRY(Step(reverse ? steps_ - 1 - n : n));
    std::vector<Value> elements;
    for (size_t i = 0; i < out_.size(); ++i) {
      ASSIGN_OR_RETURN(Value value, e_.Store(id_, leaves_[i], std::move(out_[i])));
      elements.push_back(std::move(value));
    }
    for (size_t i = 0; i < state_.size(); ++i) {
      ASSIGN_OR_RETURN(Value value, e_.Relayout(id_, state_[i], leaves_[out_.size() + i]));
      elements.push_back(std::move(value));
    }
    return e_.Tuple(module_.shape(id_), std::move(elements));
  }

 private:
  const Value& Operand(size_t i) const {
    return e_.Operand(frame_, id_, static_cast<uint32_t>(i))[lane_];
  }

  Status Prepare() {
    computation_ = module_.called_computations(id_)[0];
    const size_t carries = static_cast<size_t>(module_.IntAttr(id_, AttrKind::kNumCarries));
    const size_t operands = module_.operand_count(id_);
    const ShapeId shape = module_.shape(id_);
    if (carries > operands || !shapes_.IsTuple(shape) || shapes_.element_count(shape) < carries ||
        module_.computation(computation_).parameters.size() != operands) {
      return e_.Refuse(id_, "the computation does not fit the operands");
    }
    dimension_ = module_.dimensions(id_)[0];
    for (uint32_t i = 0; i < shapes_.element_count(shape); ++i) {
      leaves_.push_back(shapes_.element(shape, i));
    }
    for (size_t i = 0; i < operands - carries; ++i) {
      ASSIGN_OR_RETURN(std::shared_ptr<Storage> bytes, e_.Logical(id_, Operand(i)));
      in_.push_back(std::move(bytes));
      steps_ = shapes_.sizes(Operand(i).shape)[dimension_];
    }
    for (size_t i = 0; i < leaves_.size() - carries; ++i) {
      const int64_t bytes =
          shapes_.ElementCount(leaves_[i]) * StorageBytes(shapes_.type(leaves_[i]));
      ASSIGN_OR_RETURN(std::shared_ptr<Storage> made,
                       e_.Allocate(id_, static_cast<uint64_t>(bytes)));
      out_.push_back(std::move(made));
      if (steps_ < 0) steps_ = shapes_.sizes(leaves_[i])[dimension_];
    }
    for (size_t i = operands - carries; i < operands; ++i) state_.push_back(Operand(i));
    return {};
  }

  Result<Value> Slice(size_t i, int64_t step) {
    const ArrayView view = e_.View(Operand(i), *in_[i]);
    const ShapeId shape = module_.shape(module_.computation(computation_).parameters[i]);
    if (!shapes_.IsArray(shape) || shapes_.type(shape) != view.type ||
        shapes_.ElementCount(shape) * steps_ != view.count) {
      return e_.Refuse(id_, "the computation does not fit the operands");
    }
    std::vector<std::byte> slice(static_cast<size_t>(view.count / steps_ * view.width()));
    MoveSlice(view, dimension_, step, slice.data(), true);
    return e_.Store(id_, shape, slice.data());
  }

  Status Step(int64_t step) {
    std::vector<DeviceValues> arguments;
    for (size_t i = 0; i < in_.size(); ++i) {
      ASSIGN_OR_RETURN(Value slice, Slice(i, step));
      arguments.push_back({std::move(slice)});
    }
    for (size_t i = 0; i < state_.size(); ++i) {
      const InstId parameter = module_.computation(computation_).parameters[in_.size() + i];
      ASSIGN_OR_RETURN(Value carry, e_.Relayout(id_, state_[i], module_.shape(parameter)));
      arguments.push_back({std::move(carry)});
    }
    DeviceValues result;
    TRY(e_.Run(computation_, frame_.devices.subspan(lane_, 1), arguments, &result));
    if (result[0].elements == nullptr || result[0].elements->size() != leaves_.size()) {
      return e_.Refuse(id_, "the computation does not fit the result");
    }
    for (size_t i = 0; i < out_.size(); ++i) {
      ASSIGN_OR_RETURN(std::shared_ptr<Storage> bytes, e_.Logical(id_, (*result[0].elements)[i]));
      if (bytes->size() * static_cast<uint64_t>(steps_) != out_[i]->size()) {
        return e_.Refuse(id_, "the computation does not fit the result");
      }
      const ArrayView view{shapes_.type(leaves_[i]), shapes_.sizes(leaves_[i]), out_[i]->data(),
                           shapes_.ElementCount(leaves_[i])};
      MoveSlice(view, dimension_, step, bytes->data(), false);
    }
    for (size_t i = 0; i < state_.size(); ++i) {
      state_[i] = (*result[0].elements)[out_.size() + i];
    }
    return {};
  }

  Engine& e_;
  Frame& frame_;
  InstId id_;
  size_t lane_;
  const Module& module_;
  const ShapePool& shapes_;
  CompId computation_;
  int64_t dimension_ = 0, steps_ = -1;
  std::vector<ShapeId> leaves_;                     // outputs, then carries
  std::vector<std::shared_ptr<Storage>> in_, out_;  // row-major
  std::vector<Value> state_;
};

}  // namespace

Status Scan(Engine& e, Frame& frame, InstId id, DeviceValues* out) {
  out->resize(frame.devices.size());
  for (size_t lane = 0; lane < out->size(); ++lane) {
    ASSIGN_OR_RETURN((*out)[lane], ScanRun(e, frame, id, lane).Run());
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
