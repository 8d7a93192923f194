// ragged-all-to-all: which rows go where, when every member of a group sends as many as it likes?
#include <algorithm>
#include <cstring>

#include "src/eval/handlers.h"
#include "src/eval/lanes.h"
#include "src/eval/value_handlers.h"

namespace hlokit::eval {
namespace {

/// The operands of one device. A row is what one index of dimension 0 names.
struct Party {
  std::vector<std::shared_ptr<Storage>> keep;
  ArrayView input;
  std::vector<int64_t> input_offsets, send_sizes, output_offsets, recv_sizes;  // one per peer
  std::shared_ptr<Storage> result;
  ArrayView output;
};

Result<ArrayView> ViewOf(Engine& e, const Frame& frame, InstId id, uint32_t operand, size_t lane,
                         Party* party) {
  const Value& value = e.Operand(frame, id, operand)[lane];
  if (!e.shapes().IsArray(value.shape)) return e.Refuse(id, "an operand is no array");
  ASSIGN_OR_RETURN(std::shared_ptr<Storage> bytes, e.Logical(id, value));
  party->keep.push_back(bytes);
  return e.View(value, *bytes);
}

Result<Party> PartyOf(Engine& e, const Frame& frame, InstId id, size_t lane) {
  Party party;
  ASSIGN_OR_RETURN(party.input, ViewOf(e, frame, id, 0, lane, &party));
  ASSIGN_OR_RETURN(const ArrayView before, ViewOf(e, frame, id, 1, lane, &party));
  std::vector<int64_t>* lists[] = {&party.input_offsets, &party.send_sizes, &party.output_offsets,
                                   &party.recv_sizes};
  for (uint32_t i = 0; i < 4; ++i) {
    ASSIGN_OR_RETURN(const ArrayView list, ViewOf(e, frame, id, 2 + i, lane, &party));
    for (int64_t k = 0; k < list.count; ++k) lists[i]->push_back(IntegerAt(list, k));
  }
  const uint64_t bytes = static_cast<uint64_t>(before.count * before.width());
  ASSIGN_OR_RETURN(party.result, e.Allocate(id, bytes));
  std::copy(before.data, before.data + bytes, party.result->data());
  party.output = {before.type, before.sizes, party.result->data(), before.count};
  return party;
}

/// Sends rows of one member to another, `to` and `from` being their places in the group. True when
/// the numbers had to be changed: what happens then is not specified.
bool SendRows(const Party& sender, const Party& receiver, size_t from, size_t to) {
  const int64_t in_rows = sender.input.sizes[0], out_rows = receiver.output.sizes[0];
  const int64_t size = std::clamp<int64_t>(sender.send_sizes[to], 0, std::min(in_rows, out_rows));
  const int64_t at = ClampStart(sender.input_offsets[to], in_rows, size);
  const int64_t target = ClampStart(sender.output_offsets[to], out_rows, size);
  if (size > 0 && sender.input.count > 0) {
    const int64_t row = sender.input.count / in_rows * sender.input.width();
    std::memcpy(receiver.output.data + target * row, sender.input.data + at * row,
                static_cast<size_t>(size * row));
  }
  const bool moved =
      size > 0 && (at != sender.input_offsets[to] || target != sender.output_offsets[to]);
  return moved || size != sender.send_sizes[to] || size != receiver.recv_sizes[from];
}

}  // namespace

Status RaggedAllToAll(Engine& e, Frame& frame, InstId id, DeviceValues* out) {
  ASSIGN_OR_RETURN(const std::vector<std::vector<size_t>> groups, LanesOf(e, frame, id));
  const ShapeId shape = e.module().shape(id);
  if (!e.shapes().IsArray(shape)) return e.Refuse(id, "the result is no array");
  std::vector<Party> parties;
  for (size_t lane = 0; lane < frame.devices.size(); ++lane) {
    ASSIGN_OR_RETURN(Party party, PartyOf(e, frame, id, lane));
    const ArrayView input = party.input, output = party.output;
    if (input.type != output.type || input.rank() == 0 || input.rank() != output.rank() ||
        !std::ranges::equal(input.sizes.subspan(1), output.sizes.subspan(1)) ||
        output.count != e.shapes().ElementCount(shape)) {
      return e.Refuse(id, "rows of the operands and the result differ");
    }
    TRY(e.AddWork(id, output.count));
    parties.push_back(std::move(party));
  }
  for (const std::vector<size_t>& group : groups) {
    for (size_t from = 0; from < group.size(); ++from) {
      for (size_t to = 0; to < group.size(); ++to) {
        const Party &sender = parties[group[from]], &receiver = parties[group[to]];
        for (const std::vector<int64_t>* list : {&sender.input_offsets, &sender.send_sizes,
                                                 &sender.output_offsets, &receiver.recv_sizes}) {
          if (list->size() != group.size()) return WrongGroupSize(e, id, group.size());
        }
        if (SendRows(sender, receiver, from, to)) {
          e.NoteStandIn(id,
                        "offsets or sizes do not fit the arrays or each other; "
                        "they are limited, recv_sizes are not read");
        }
      }
    }
  }
  out->resize(parties.size());
  for (size_t lane = 0; lane < parties.size(); ++lane) {
    ASSIGN_OR_RETURN((*out)[lane], e.Store(id, shape, std::move(parties[lane].result)));
  }
  return {};
}

}  // namespace hlokit::eval
