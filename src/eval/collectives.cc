// Collectives among the simulated devices: who is in a group, and what does each member get?
#include <algorithm>
#include <charconv>
#include <cstring>

#include "fmt/format.h"
#include "src/analysis/attribute_values.h"
#include "src/eval/device_groups.h"
#include "src/eval/function.h"
#include "src/eval/strided.h"
#include "src/eval/value_handlers.h"

namespace hlokit::eval {
namespace {

/// Groups as lanes of the frame.
Result<std::vector<std::vector<size_t>>> LanesOf(Engine& e, const Frame& frame, InstId id) {
  std::optional<std::vector<std::vector<int64_t>>> groups =
      DeviceGroups(e.module(), id, e.device_count());
  if (!groups) return e.Refuse(id, "replica groups of this form are not known");
  std::vector<std::vector<size_t>> lanes;
  for (const std::vector<int64_t>& group : *groups) {
    std::vector<size_t>& members = lanes.emplace_back();
    for (int64_t device : group) {
      const auto at = std::find(frame.devices.begin(), frame.devices.end(), device);
      if (device < 0 || device >= e.device_count() || at == frame.devices.end()) {
        std::unexpected<Error> error = e.Refuse(
            id, fmt::format("device {} takes part, {} are simulated", device, e.device_count()),
            DiagId::kCollectiveDeviceMissing);
        error.error().diagnostics[0].help = "--replicas N simulates more";
        return error;
      }
      members.push_back(static_cast<size_t>(at - frame.devices.begin()));
    }
  }
  return lanes;
}

/// A group whose size does not go with the shapes.
std::unexpected<Error> WrongGroupSize(const Engine& e, InstId id, size_t members) {
  std::unexpected<Error> error =
      e.Refuse(id, fmt::format("a group has {} members, which does not fit the sizes", members),
               DiagId::kDeviceMissing);
  error.error().diagnostics[0].help = "--replicas N simulates another number of devices";
  return error;
}

/// The shape of output `i` of an instruction with one result per operand.
ShapeId OutputShape(const Engine& e, ShapeId shape, uint32_t i, size_t operands) {
  const bool tuple =
      e.shapes().IsTuple(shape) && (operands > 1 || e.shapes().element_count(shape) == 1);
  return tuple ? e.shapes().element(shape, i) : shape;
}

/// One operand on all devices, row-major.
struct Spread {
  std::vector<std::shared_ptr<Storage>> keep;
  std::vector<ArrayView> views;
};
Result<Spread> SpreadOf(Engine& e, const Frame& frame, InstId id, uint32_t operand) {
  Spread spread;
  for (const Value& value : e.Operand(frame, id, operand)) {
    if (!e.shapes().IsArray(value.shape)) return e.Refuse(id, "an operand is no array");
    ASSIGN_OR_RETURN(std::shared_ptr<Storage> bytes, e.Logical(id, value));
    spread.views.push_back(e.View(value, *bytes));
    spread.keep.push_back(std::move(bytes));
  }
  return spread;
}

/// Results per lane and operand, joined to what the instruction gives.
Status Join(Engine& e, const Frame& frame, InstId id, ShapeId shape,
            std::vector<std::vector<Value>> results, DeviceValues* out) {
  (void)id;
  out->resize(frame.devices.size());
  for (size_t lane = 0; lane < out->size(); ++lane) {
    (*out)[lane] = e.shapes().IsTuple(shape) ? e.Tuple(shape, std::move(results[lane]))
                                             : std::move(results[lane][0]);
  }
  return {};
}

/// Runs `compute` for every operand and group. It fills out[k] (row-major, of the output shape)
/// for member k from the members' inputs.
template <typename Compute>
Status ForGroups(Engine& e, Frame& frame, InstId id, ShapeId shape, DeviceValues* out,
                 Compute compute) {
  ASSIGN_OR_RETURN(const std::vector<std::vector<size_t>> groups, LanesOf(e, frame, id));
  const uint32_t operands = e.module().operand_count(id);
  std::vector<std::vector<Value>> results(frame.devices.size());
  for (uint32_t i = 0; i < operands; ++i) {
    const ShapeId leaf = OutputShape(e, shape, i, operands);
    if (!e.shapes().IsArray(leaf)) return e.Refuse(id, "a result is no array");
    ASSIGN_OR_RETURN(const Spread spread, SpreadOf(e, frame, id, i));
    const int64_t count = e.shapes().ElementCount(leaf);
    const uint64_t bytes = static_cast<uint64_t>(count * StorageBytes(e.shapes().type(leaf)));
    std::vector<std::shared_ptr<Storage>> made;
    for (size_t lane = 0; lane < frame.devices.size(); ++lane) {
      ASSIGN_OR_RETURN(std::shared_ptr<Storage> storage, e.Allocate(id, bytes));
      made.push_back(std::move(storage));
    }
    for (const std::vector<size_t>& group : groups) {
      std::vector<ArrayView> in, to;
      for (size_t lane : group) {
        in.push_back(spread.views[lane]);
        to.push_back({e.shapes().type(leaf), e.shapes().sizes(leaf), made[lane]->data(), count});
        TRY(e.AddWork(id, count));
      }
      TRY(compute(in, to));
    }
    for (size_t lane = 0; lane < made.size(); ++lane) {
      ASSIGN_OR_RETURN(Value value, e.Store(id, leaf, std::move(made[lane])));
      results[lane].push_back(std::move(value));
    }
  }
  return Join(e, frame, id, shape, std::move(results), out);
}

/// Adds up the members' inputs in group order into a buffer.
Status Combine(OpContext& c, Function& function, std::span<const ArrayView> in,
               std::vector<std::byte>* total) {
  const ElementType type = in[0].type;
  if (function.parameters() != 2 || function.results() != 1 || function.parameter_type(0) != type ||
      function.parameter_type(1) != type || function.result_type(0) != type) {
    return c.Refuse("the computation does not fit the operands");
  }
  total->assign(in[0].data, in[0].data + in[0].count * in[0].width());
  for (size_t member = 1; member < in.size(); ++member) {
    const std::byte* arguments[2] = {total->data(), in[member].data};
    std::byte* result = total->data();
    TRY(function.Apply(arguments, {&result, 1}, in[0].count));
  }
  return {};
}

/// Part `index` of `parts` along a dimension.
void MovePart(const ArrayView& whole, const ArrayView& part, int64_t dimension, int64_t index,
              bool read) {
  const std::vector<int64_t> strides = RowMajorStrides(whole.sizes);
  std::byte* base = whole.data + index * part.sizes[dimension] * strides[dimension] * whole.width();
  const std::vector<int64_t> dense = RowMajorStrides(part.sizes);
  read ? MoveBox(whole.width(), part.sizes, base, strides, part.data, dense)
       : MoveBox(whole.width(), part.sizes, part.data, dense, base, strides);
}

/// (operands, results) for the start form of a collective whose done op takes element 1.
Status WrapStart(Engine& e, Frame& frame, InstId id, ShapeId shape, DeviceValues* results) {
  const uint32_t operands = e.module().operand_count(id);
  for (size_t lane = 0; lane < results->size(); ++lane) {
    std::vector<Value> inputs;
    const ShapeId first = e.shapes().element(shape, 0);
    for (uint32_t i = 0; i < operands; ++i) {
      const ShapeId wanted = e.shapes().IsTuple(first) ? e.shapes().element(first, i) : first;
      ASSIGN_OR_RETURN(Value value, e.PassOn(id, e.Operand(frame, id, i)[lane], wanted));
      inputs.push_back(std::move(value));
    }
    std::vector<Value> elements;
    elements.push_back(e.shapes().IsTuple(first) ? e.Tuple(first, std::move(inputs))
                                                 : std::move(inputs[0]));
    elements.push_back(std::move((*results)[lane]));
    for (uint32_t i = 2; i < e.shapes().element_count(shape); ++i) {
      ASSIGN_OR_RETURN(Value context, e.Zero(id, e.shapes().element(shape, i)));
      elements.push_back(std::move(context));
    }
    (*results)[lane] = e.Tuple(shape, std::move(elements));
  }
  return {};
}

bool IsStart(Opcode opcode) {
  return opcode == Opcode::kAllGatherStart || opcode == Opcode::kCollectivePermuteStart;
}

/// The shape of the result proper: of a start op its element 1.
Result<ShapeId> ResultShape(Engine& e, InstId id) {
  const ShapeId shape = e.module().shape(id);
  if (!IsStart(e.module().opcode(id))) return shape;
  if (!e.shapes().IsTuple(shape) || e.shapes().element_count(shape) < 2) {
    return e.Refuse(id, "the result is not (operand, result, …)");
  }
  return e.shapes().element(shape, 1);
}

Status Finish(Engine& e, Frame& frame, InstId id, DeviceValues* out) {
  return IsStart(e.module().opcode(id)) ? WrapStart(e, frame, id, e.module().shape(id), out)
                                        : Status();
}

}  // namespace

Status DeviceId(Engine& e, Frame& frame, InstId id, DeviceValues* out) {
  out->resize(frame.devices.size());
  const int64_t partitions = PartitionCount(e.module(), e.device_count());
  for (size_t lane = 0; lane < out->size(); ++lane) {
    const int64_t device = frame.devices[lane];
    const uint32_t number = static_cast<uint32_t>(
        e.module().opcode(id) == Opcode::kPartitionId ? device % partitions : device / partitions);
    ASSIGN_OR_RETURN((*out)[lane], e.Store(id, e.module().shape(id),
                                           reinterpret_cast<const std::byte*>(&number)));
  }
  return {};
}

Status AllReduce(Engine& e, Frame& frame, InstId id, DeviceValues* out) {
  OpContext c{e, e.module(), id, frame.devices[0], {}, {}};
  ASSIGN_OR_RETURN(Function function, Function::Make(c, e.module().called_computations(id)[0]));
  return ForGroups(e, frame, id, e.module().shape(id), out,
                   [&](std::span<const ArrayView> in, std::span<const ArrayView> to) -> Status {
                     if (in[0].count != to[0].count) return c.Refuse("the result has other sizes");
                     std::vector<std::byte> total;
                     TRY(Combine(c, function, in, &total));
                     for (const ArrayView& target : to) {
                       std::copy(total.begin(), total.end(), target.data);
                     }
                     return {};
                   });
}

Status ReduceScatter(Engine& e, Frame& frame, InstId id, DeviceValues* out) {
  OpContext c{e, e.module(), id, frame.devices[0], {}, {}};
  ASSIGN_OR_RETURN(Function function, Function::Make(c, e.module().called_computations(id)[0]));
  const int64_t dimension = e.module().dimensions(id)[0];
  return ForGroups(e, frame, id, e.module().shape(id), out,
                   [&](std::span<const ArrayView> in, std::span<const ArrayView> to) -> Status {
                     if (to[0].count * static_cast<int64_t>(in.size()) != in[0].count) {
                       return WrongGroupSize(e, id, in.size());
                     }
                     std::vector<std::byte> total;
                     TRY(Combine(c, function, in, &total));
                     const ArrayView whole{in[0].type, in[0].sizes, total.data(), in[0].count};
                     for (size_t member = 0; member < to.size(); ++member) {
                       MovePart(whole, to[member], dimension, static_cast<int64_t>(member), true);
                     }
                     return {};
                   });
}

Status AllGather(Engine& e, Frame& frame, InstId id, DeviceValues* out) {
  ASSIGN_OR_RETURN(const ShapeId shape, ResultShape(e, id));
  const int64_t dimension = e.module().dimensions(id)[0];
  TRY(ForGroups(e, frame, id, shape, out,
                [&](std::span<const ArrayView> in, std::span<const ArrayView> to) -> Status {
                  if (in[0].count * static_cast<int64_t>(in.size()) != to[0].count) {
                    return WrongGroupSize(e, id, in.size());
                  }
                  for (const ArrayView& target : to) {
                    for (size_t member = 0; member < in.size(); ++member) {
                      MovePart(target, in[member], dimension, static_cast<int64_t>(member), false);
                    }
                  }
                  return {};
                }));
  return Finish(e, frame, id, out);
}

namespace {

/// The form without a dimension: operand k of member j goes to member k as its result j.
Status AllToAllTuple(Engine& e, Frame& frame, InstId id, DeviceValues* out) {
  ASSIGN_OR_RETURN(const std::vector<std::vector<size_t>> groups, LanesOf(e, frame, id));
  const ShapeId shape = e.module().shape(id);
  const uint32_t operands = e.module().operand_count(id);
  std::vector<std::vector<Value>> results(frame.devices.size());
  for (const std::vector<size_t>& group : groups) {
    if (group.size() != operands || !e.shapes().IsTuple(shape)) {
      return e.Refuse(id, "needs one operand per member of a group");
    }
    for (size_t member = 0; member < group.size(); ++member) {
      for (size_t from = 0; from < group.size(); ++from) {
        const Value& value = e.Operand(frame, id, static_cast<uint32_t>(member))[group[from]];
        ASSIGN_OR_RETURN(
            Value moved,
            e.Relayout(id, value, e.shapes().element(shape, static_cast<uint32_t>(from))));
        results[group[member]].push_back(std::move(moved));
      }
    }
  }
  for (std::vector<Value>& result : results) {
    for (uint32_t i = static_cast<uint32_t>(result.size()); i < operands; ++i) {
      ASSIGN_OR_RETURN(Value zero, e.Zero(id, e.shapes().element(shape, i)));
      result.push_back(std::move(zero));
    }
  }
  return Join(e, frame, id, shape, std::move(results), out);
}

}  // namespace

Status AllToAll(Engine& e, Frame& frame, InstId id, DeviceValues* out) {
  const std::span<const int64_t> dimensions = e.module().dimensions(id);
  if (dimensions.empty()) return AllToAllTuple(e, frame, id, out);
  const int64_t dimension = dimensions[0];
  return ForGroups(
      e, frame, id, e.module().shape(id), out,
      [&](std::span<const ArrayView> in, std::span<const ArrayView> to) -> Status {
        const int64_t members = static_cast<int64_t>(in.size());
        if (in[0].sizes[dimension] % members != 0) return WrongGroupSize(e, id, in.size());
        std::vector<int64_t> sizes(in[0].sizes.begin(), in[0].sizes.end());
        sizes[dimension] /= members;
        std::vector<std::byte> buffer(static_cast<size_t>(in[0].count / members * in[0].width()));
        const ArrayView part{in[0].type, sizes, buffer.data(), in[0].count / members};
        for (int64_t target = 0; target < members; ++target) {
          for (int64_t from = 0; from < members; ++from) {
            MovePart(in[static_cast<size_t>(from)], part, dimension, target, true);
            MovePart(to[static_cast<size_t>(target)], part, dimension, from, false);
          }
        }
        return {};
      });
}

Status CollectiveBroadcast(Engine& e, Frame& frame, InstId id, DeviceValues* out) {
  return ForGroups(e, frame, id, e.module().shape(id), out,
                   [&](std::span<const ArrayView> in, std::span<const ArrayView> to) -> Status {
                     for (const ArrayView& target : to) {
                       std::memcpy(target.data, in[0].data,
                                   static_cast<size_t>(target.count * target.width()));
                     }
                     return {};
                   });
}

Status CollectivePermute(Engine& e, Frame& frame, InstId id, DeviceValues* out) {
  const Module& module = e.module();
  ASSIGN_OR_RETURN(const ShapeId shape, ResultShape(e, id));
  if (module.HasAttr(id, AttrKind::kCollectiveSliceSizes)) {
    return e.Refuse(id, "the form that updates slices is not known");
  }
  std::optional<std::vector<std::vector<int64_t>>> pairs =
      DecodeIntLists(module.TextAttr(id, AttrKind::kSourceTargetPairs));
  if (!pairs) return e.Refuse(id, "source_target_pairs are malformed");
  // Numbers are partitions when there is a channel and more than one partition, else replicas.
  const int64_t partitions = PartitionCount(module, e.device_count());
  const bool by_partition = partitions > 1 && module.HasAttr(id, AttrKind::kChannelId);
  const uint32_t operands = module.operand_count(id);
  std::vector<std::vector<Value>> results(frame.devices.size());
  for (size_t lane = 0; lane < frame.devices.size(); ++lane) {
    const int64_t device = frame.devices[lane];
    const int64_t own = by_partition ? device % partitions : device / partitions;
    size_t source = frame.devices.size();
    for (const std::vector<int64_t>& pair : *pairs) {
      if (pair.size() != 2 || pair[1] != own) continue;
      const int64_t from = by_partition ? device / partitions * partitions + pair[0]
                                        : pair[0] * partitions + device % partitions;
      const auto at = std::find(frame.devices.begin(), frame.devices.end(), from);
      if (at == frame.devices.end()) {
        return e.Refuse(
            id, fmt::format("device {} takes part, {} are simulated", from, e.device_count()),
            DiagId::kCollectiveDeviceMissing);
      }
      source = static_cast<size_t>(at - frame.devices.begin());
    }
    for (uint32_t i = 0; i < operands; ++i) {
      const ShapeId leaf = OutputShape(e, shape, i, operands);
      Result<Value> value = source == frame.devices.size()
                                ? e.Zero(id, leaf)
                                : e.Relayout(id, e.Operand(frame, id, i)[source], leaf);
      if (!value) return std::unexpected(std::move(value).error());
      results[lane].push_back(std::move(*value));
    }
  }
  TRY(Join(e, frame, id, shape, std::move(results), out));
  return Finish(e, frame, id, out);
}

}  // namespace hlokit::eval
