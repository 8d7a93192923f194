// Collectives among the members of a group: what does each member get?
#include <cstring>

#include "src/eval/device_groups.h"
#include "src/eval/function.h"
#include "src/eval/lanes.h"
#include "src/eval/strided.h"
#include "src/eval/value_handlers.h"

namespace hlokit::eval {
namespace {

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
  Join(e, shape, std::move(results), out);
  return {};
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
  return WrapStart(e, frame, id, e.module().operand_count(id), out);
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
  Join(e, shape, std::move(results), out);
  return {};
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
                       if (target.count == 0) continue;
                       std::memcpy(target.data, in[0].data,
                                   static_cast<size_t>(target.count * target.width()));
                     }
                     return {};
                   });
}

}  // namespace hlokit::eval
