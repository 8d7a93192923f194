// collective-permute: what does each device get from which other one?
#include <algorithm>

#include "src/analysis/attribute_values.h"
#include "src/eval/device_groups.h"
#include "src/eval/handlers.h"
#include "src/eval/lanes.h"
#include "src/eval/strided.h"
#include "src/eval/value_handlers.h"

namespace hlokit::eval {
namespace {

/// For every lane the lane that sends to it, or nothing.
Result<std::vector<std::optional<size_t>>> Senders(const Engine& e, const Frame& frame, InstId id) {
  const Module& module = e.module();
  const std::optional<std::vector<std::vector<int64_t>>> pairs =
      DecodeIntLists(module.TextAttr(id, AttrKind::kSourceTargetPairs));
  if (!pairs) return e.Refuse(id, "source_target_pairs are malformed");
  // Numbers are partitions when there is a channel and more than one partition, else replicas.
  const int64_t partitions = PartitionCount(module, e.device_count());
  const bool by_partition = partitions > 1 && module.HasAttr(id, AttrKind::kChannelId);
  std::vector<std::optional<size_t>> senders(frame.devices.size());
  for (size_t lane = 0; lane < senders.size(); ++lane) {
    const int64_t device = frame.devices[lane];
    const int64_t own = by_partition ? device % partitions : device / partitions;
    for (const std::vector<int64_t>& pair : *pairs) {
      if (pair.size() != 2 || pair[1] != own) continue;
      const int64_t from = by_partition ? device / partitions * partitions + pair[0]
                                        : pair[0] * partitions + device % partitions;
      ASSIGN_OR_RETURN(senders[lane], LaneOf(e, frame, id, from));
    }
  }
  return senders;
}

/// The elements of all leaves, one after the other.
Result<std::vector<int64_t>> IntegersOf(Engine& e, InstId id, const Value& value) {
  std::vector<Value> leaves;
  Engine::AppendLeaves(value, &leaves);
  std::vector<int64_t> integers;
  for (const Value& leaf : leaves) {
    if (!e.shapes().IsArray(leaf.shape)) return e.Refuse(id, "a start index is no array");
    ASSIGN_OR_RETURN(const std::shared_ptr<Storage> bytes, e.Logical(id, leaf));
    const ArrayView view = e.View(leaf, *bytes);
    for (int64_t i = 0; i < view.count; ++i) integers.push_back(IntegerAt(view, i));
  }
  return integers;
}

/// Where slices start in one buffer of a device, all numbers of a slice side by side.
struct Starts {
  std::vector<int64_t> input, output;
};

/// The offset of a slice that is moved to where it fits, in elements.
int64_t OffsetOf(std::span<const int64_t> starts, std::span<const int64_t> sizes,
                 std::span<const int64_t> slice) {
  const std::vector<int64_t> strides = RowMajorStrides(sizes);
  int64_t offset = 0;
  for (size_t d = 0; d < sizes.size(); ++d) {
    offset += ClampStart(starts[d], sizes[d], slice[d]) * strides[d];
  }
  return offset;
}

/// Writes slices of `input` (at the sender's starts) over `output` (at the receiver's).
Status MoveSlices(OpContext& c, const ArrayView& input, const ArrayView& output,
                  const Starts& sender, const Starts& receiver,
                  std::span<const std::vector<int64_t>> slices) {
  const size_t rank = output.sizes.size();
  if (input.type != output.type || input.sizes.size() != rank ||
      sender.input.size() != slices.size() * rank ||
      receiver.output.size() != slices.size() * rank) {
    return c.Refuse("slices and start indices do not fit the arrays");
  }
  for (size_t i = 0; i < slices.size(); ++i) {
    const std::span<const int64_t> slice = slices[i];
    for (size_t d = 0; d < rank; ++d) {
      if (slice.size() != rank || slice[d] < 0 || slice[d] > input.sizes[d] ||
          slice[d] > output.sizes[d]) {
        return c.Refuse("a slice does not fit its array");
      }
    }
    const std::span<const int64_t> from = std::span(sender.input).subspan(i * rank, rank);
    const std::span<const int64_t> to = std::span(receiver.output).subspan(i * rank, rank);
    MoveBox(input.width(), slice, input.data + OffsetOf(from, input.sizes, slice) * input.width(),
            RowMajorStrides(input.sizes),
            output.data + OffsetOf(to, output.sizes, slice) * output.width(),
            RowMajorStrides(output.sizes));
  }
  return {};
}

/// Element i of a tuple of buffers; the buffer itself when there is only one.
const Value& BufferOf(const Value& value, bool tuple, uint32_t i) {
  return tuple ? (*value.elements)[i] : value;
}

/// The form with operands (input, output, starts in the input, starts in the output): the result is
/// the output of the device, with slices of the sender's input in it.
Status PermuteSlices(Engine& e, Frame& frame, InstId id, ShapeId shape, DeviceValues* out) {
  const std::optional<std::vector<std::vector<int64_t>>> sizes =
      DecodeIntLists(e.module().TextAttr(id, AttrKind::kCollectiveSliceSizes));
  if (!sizes || e.module().operand_count(id) != 4) return e.Refuse(id, "slice_sizes are malformed");
  ASSIGN_OR_RETURN(const std::vector<std::optional<size_t>> senders, Senders(e, frame, id));
  const bool tuple = e.shapes().IsTuple(shape);
  const uint32_t buffers = tuple ? e.shapes().element_count(shape) : 1;
  for (uint32_t operand = 0; operand < 4; ++operand) {
    const Value& value = e.Operand(frame, id, operand)[0];
    if (tuple && (value.elements == nullptr || value.elements->size() != buffers)) {
      return e.Refuse(id, "operands and result differ in their number of buffers");
    }
  }
  std::span<const std::vector<int64_t>> left = *sizes;
  std::vector<std::vector<Value>> results(frame.devices.size());
  for (uint32_t i = 0; i < buffers; ++i) {
    const ShapeId leaf = tuple ? e.shapes().element(shape, i) : shape;
    if (!e.shapes().IsArray(leaf)) return e.Refuse(id, "a result is no array");
    const auto part = [&](uint32_t operand, size_t lane) -> const Value& {
      return BufferOf(e.Operand(frame, id, operand)[lane], tuple, i);
    };
    std::vector<Starts> starts(frame.devices.size());
    for (size_t lane = 0; lane < starts.size(); ++lane) {
      ASSIGN_OR_RETURN(starts[lane].input, IntegersOf(e, id, part(2, lane)));
      ASSIGN_OR_RETURN(starts[lane].output, IntegersOf(e, id, part(3, lane)));
    }
    // As many slices as there are start indices; a single buffer takes all.
    const size_t rank = std::max<size_t>(e.shapes().sizes(leaf).size(), 1);
    const size_t count = tuple ? starts[0].output.size() / rank : left.size();
    if (count > left.size()) return e.Refuse(id, "there are fewer slice_sizes than start indices");
    for (size_t lane = 0; lane < frame.devices.size(); ++lane) {
      OpContext c{e, e.module(), id, frame.devices[lane], {}, {}};
      const Value& own = part(1, lane);
      if (!e.shapes().Compatible(own.shape, leaf)) {
        return e.Refuse(id, "the result has another shape than operand 1");
      }
      ASSIGN_OR_RETURN(Value value, e.Relayout(id, own, leaf));
      if (senders[lane]) {
        const Value& sent = part(0, *senders[lane]);
        if (!e.shapes().IsArray(sent.shape)) return e.Refuse(id, "an operand is no array");
        ASSIGN_OR_RETURN(const std::shared_ptr<Storage> input, e.Logical(id, sent));
        ASSIGN_OR_RETURN(const std::shared_ptr<Storage> before, e.Logical(id, own));
        ASSIGN_OR_RETURN(std::shared_ptr<Storage> after, e.Allocate(id, before->size()));
        std::copy(before->data(), before->data() + before->size(), after->data());
        TRY(e.AddWork(id, e.shapes().ElementCount(leaf)));
        TRY(MoveSlices(c, e.View(sent, *input), e.View(value, *after), starts[*senders[lane]],
                       starts[lane], left.first(count)));
        ASSIGN_OR_RETURN(value, e.Store(id, leaf, std::move(after)));
      }
      results[lane].push_back(std::move(value));
    }
    left = left.subspan(count);
  }
  Join(e, shape, std::move(results), out);
  return WrapStart(e, frame, id, 1, out);
}

}  // namespace

Status CollectivePermute(Engine& e, Frame& frame, InstId id, DeviceValues* out) {
  ASSIGN_OR_RETURN(const ShapeId shape, ResultShape(e, id));
  if (e.module().HasAttr(id, AttrKind::kCollectiveSliceSizes)) {
    return PermuteSlices(e, frame, id, shape, out);
  }
  ASSIGN_OR_RETURN(const std::vector<std::optional<size_t>> senders, Senders(e, frame, id));
  const uint32_t operands = e.module().operand_count(id);
  std::vector<std::vector<Value>> results(frame.devices.size());
  for (size_t lane = 0; lane < frame.devices.size(); ++lane) {
    for (uint32_t i = 0; i < operands; ++i) {
      const ShapeId leaf = OutputShape(e, shape, i, operands);
      Result<Value> value = senders[lane]
                                ? e.Relayout(id, e.Operand(frame, id, i)[*senders[lane]], leaf)
                                : e.Zero(id, leaf);
      if (!value) return std::unexpected(std::move(value).error());
      results[lane].push_back(std::move(*value));
    }
  }
  Join(e, shape, std::move(results), out);
  return WrapStart(e, frame, id, operands, out);
}

}  // namespace hlokit::eval
