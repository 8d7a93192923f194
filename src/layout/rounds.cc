// What is done with one computation in one round? (sections 3.1 step 8 and 3.3)
#include <algorithm>

#include "src/layout/engine.h"

namespace hlokit::layout {

/// Operand and buffer constraints live for one round; computation constraints, the list of
/// mismatching branches, the channels and the entry layout live on.
void Engine::StartRound() {
  for (uint32_t b = 0; b < buffers_.size(); ++b) {
    buffer_constraints_[b] = {};
    if (buffers_[b].rank != kNotAnArray) buffer_constraints_[b].flags = kFree;
  }
  for (OperandConstraint& c : operand_constraints_) c.flags = 0;
  sweeps_.clear();
  settled_ = true;
  if (tracing()) {
    std::fill(buffer_events_.begin(), buffer_events_.end(), kNoEvent);
    std::fill(operand_events_.begin(), operand_events_.end(), kNoEvent);
    RecordMarker(TraceEventKind::kRound, CompId());
  }
}

bool Engine::RunComputation(CompId computation) {
  current_ = computation;
  if (tracing()) RecordMarker(TraceEventKind::kComputation, computation);
  ConstraintOf(computation);
  HLOKIT_LAYOUT_CHECK(AddMandatoryConstraints(computation));
  cause_ = kNoEvent;
  if (Status status = rules_.AddBackendConstraints(*this, computation); !status) {
    return Fail(std::move(status).error());
  }
  HLOKIT_LAYOUT_CHECK(!error_.has_value());
  HLOKIT_LAYOUT_CHECK(ConstrainCustomCalls(computation));
  HLOKIT_LAYOUT_CHECK(Propagate());
  HLOKIT_LAYOUT_CHECK(GiveDefaults(computation));
  HLOKIT_LAYOUT_CHECK(UpdateComputationLayouts(computation));
  return RecordChannels(computation);
}

}  // namespace hlokit::layout
